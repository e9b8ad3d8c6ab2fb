/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_schema.h"

#include <assert.h>
#include <string.h>

#include "arrow/arrow_schema_internal.h"
#include "arrow/type_text.h"

/* Recursive descent over the text of a type; depth is bounded by ARROW_DEPTH_MAX. */
struct parser {
    const grebe_allocator *a;
    const char *text, *p;
    grebe_error *err;
};

/* Children read so far, before their parent can be made. */
struct children {
    struct ArrowSchema *items;
    size_t n, capacity;
};

static grebe_status parse_type(struct parser *ps, const char *name, bool is_nullable, int depth,
                               struct ArrowSchema *out);

static grebe_status fail(const struct parser *ps, const char *at, const char *expected)
{
    char found[48];
    size_t len = strlen(at);
    return GREBE_FAIL(ps->err, GREBE_EINVAL, "type at column %zu: expected %s, found %s%s%s",
                      (size_t)(at - ps->text) + 1, expected, len > 0 ? "\"" : "",
                      len > 0 ? error_quote(found, sizeof found, at, len < 24 ? len : 24)
                              : "the end",
                      len > 0 ? "\"" : "");
}

static void skip_space(struct parser *ps)
{
    while (*ps->p == ' ' || *ps->p == '\t' || *ps->p == '\n') {
        ps->p++;
    }
}

static bool accept(struct parser *ps, char c)
{
    skip_space(ps);
    if (*ps->p != c) {
        return false;
    }
    ps->p++;
    return true;
}

static grebe_status expect(struct parser *ps, char c)
{
    char expected[4] = { '\'', c, '\'', '\0' };
    return accept(ps, c) ? GREBE_OK : fail(ps, ps->p, expected);
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the word stands here, whole and in any case; moves behind it. */
static bool accept_word(struct parser *ps, const char *word)
{
    skip_space(ps);
    size_t n = strlen(word);
    for (size_t i = 0; i < n; i++) {
        char c = ps->p[i];
        if ((c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c) != word[i]) {
            return false;
        }
    }
    if (is_word_char(ps->p[n])) {
        return false;
    }
    ps->p += n;
    return true;
}

static grebe_status parse_int(struct parser *ps, int32_t *out)
{
    skip_space(ps);
    const char *begin = ps->p;
    bool is_negative = *ps->p == '-';
    ps->p += is_negative;
    int64_t v = 0;
    if (*ps->p < '0' || *ps->p > '9') {
        return fail(ps, begin, "a number");
    }
    for (; *ps->p >= '0' && *ps->p <= '9'; ps->p++) {
        v = v * 10 + (*ps->p - '0');
        if (v > INT32_MAX) {
            return fail(ps, begin, "a number of at most 2147483647");
        }
    }
    *out = (int32_t)(is_negative ? -v : v);
    return GREBE_OK;
}

/* A plain or quoted name. */
static grebe_status parse_name(struct parser *ps, struct buf *out)
{
    grebe_status st = GREBE_OK;
    skip_space(ps);
    buf_clear(out);
    if (*ps->p == '"') {
        for (ps->p++; *ps->p != '"' && st == GREBE_OK; ps->p++) {
            ps->p += *ps->p == '\\';
            if (*ps->p == '\0') {
                return fail(ps, ps->p, "'\"' at the end of a name");
            }
            st = buf_put_byte(out, (uint8_t)*ps->p, ps->err);
        }
        ps->p += st == GREBE_OK;
    } else {
        const char *begin = ps->p;
        while (is_word_char(*ps->p) || (unsigned char)*ps->p >= 0x80) {
            ps->p++;
        }
        if (!type_text_is_plain_name(begin, (size_t)(ps->p - begin))) {
            return fail(ps, begin, "a name");
        }
        st = buf_put(out, begin, (size_t)(ps->p - begin), ps->err);
    }
    if (st == GREBE_OK && buf_text(out) == NULL) {
        st = mem_fail(ps->err, out->len, "a name");
    }
    return st;
}

/* Whether "name:" stands here; p stays. */
static bool is_field_ahead(const struct parser *ps)
{
    const char *p = ps->p;
    while (*p == ' ') {
        p++;
    }
    if (*p == '"') {
        for (p++; *p != '"'; p++) {
            p += *p == '\\';
            if (*p == '\0') {
                return false;
            }
        }
        p++;
    } else {
        while (is_word_char(*p) || (unsigned char)*p >= 0x80) {
            p++;
        }
    }
    while (*p == ' ') {
        p++;
    }
    return *p == ':';
}

static bool accept_not_null(struct parser *ps)
{
    const char *begin = ps->p;
    if (accept_word(ps, "not") && accept_word(ps, "null")) {
        return true;
    }
    ps->p = begin;
    return false;
}

/* "name: type [not null]" */
static grebe_status parse_field(struct parser *ps, int depth, struct ArrowSchema *out)
{
    grebe_status st = GREBE_OK;
    struct buf name = BUF_INIT(ps->a);

    memset(out, 0, sizeof *out);
    GREBE_TRY(parse_name(ps, &name));
    GREBE_TRY(expect(ps, ':'));
    GREBE_TRY(parse_type(ps, buf_text(&name), true, depth + 1, out));
    if (accept_not_null(ps)) {
        out->flags &= ~ARROW_FLAG_NULLABLE;
    }
out:
    buf_release(&name);
    return st;
}

/* A field, or a type with a usual name. */
static grebe_status parse_element(struct parser *ps, const char *usual, bool is_nullable,
                                  int depth, struct ArrowSchema *out)
{
    if (is_field_ahead(ps)) {
        return parse_field(ps, depth, out);
    }
    grebe_status st = parse_type(ps, usual, is_nullable, depth + 1, out);
    if (st == GREBE_OK && accept_not_null(ps)) {
        out->flags &= ~ARROW_FLAG_NULLABLE;
    }
    return st;
}

static grebe_status push_child(struct parser *ps, struct children *c, struct ArrowSchema *child)
{
    if (c->n == c->capacity) {
        size_t capacity = c->capacity * 2 + 8;
        struct ArrowSchema *items = mem_resize(ps->a, c->items, c->capacity * sizeof *items,
                                               capacity * sizeof *items);
        if (items == NULL) {
            schema_release(child);
            return mem_fail(ps->err, capacity * sizeof *items, "fields");
        }
        c->items = items;
        c->capacity = capacity;
    }
    schema_move(&c->items[c->n++], child);
    return GREBE_OK;
}

static void children_release(const struct parser *ps, struct children *c)
{
    for (size_t i = 0; i < c->n; i++) {
        schema_release(&c->items[i]);
    }
    mem_free(ps->a, c->items, c->capacity * sizeof *c->items);
}

static grebe_status make_parent(struct parser *ps, const char *format, const char *name,
                                bool is_nullable, struct children *c, struct ArrowSchema *out)
{
    grebe_status st = schema_new(ps->a, format, name, is_nullable, (int64_t)c->n, out, ps->err);
    for (size_t i = 0; i < c->n && st == GREBE_OK; i++) {
        schema_move(out->children[i], &c->items[i]);
    }
    return st;
}

/* "<field, field, …>"; with ids: "=id" behind each, appended to ids as "id,id". */
static grebe_status parse_fields(struct parser *ps, int depth, struct children *c,
                                 struct buf *ids)
{
    grebe_status st = expect(ps, '<');
    if (st != GREBE_OK || accept(ps, '>')) {
        return st;
    }
    do {
        struct ArrowSchema field;
        int32_t id = 0;
        GREBE_TRY(parse_field(ps, depth, &field));
        GREBE_TRY(push_child(ps, c, &field));
        if (ids != NULL) {
            GREBE_TRY(expect(ps, '='));
            GREBE_TRY(parse_int(ps, &id));
            GREBE_TRY(buf_printf(ids, ps->err, c->n > 1 ? ",%d" : "%d", (int)id));
        }
    } while (accept(ps, ','));
    st = expect(ps, '>');
out:
    return st;
}

struct target {
    const char *name;
    bool is_nullable;
    int depth;
    struct ArrowSchema *out;
};

static grebe_status parse_list(struct parser *ps, const char *format, const struct target *t)
{
    grebe_status st = GREBE_OK;
    struct children c = { NULL, 0, 0 };
    struct ArrowSchema element;
    struct buf text = BUF_INIT(ps->a);

    memset(&element, 0, sizeof element);
    GREBE_TRY(expect(ps, '<'));
    GREBE_TRY(parse_element(ps, "item", true, t->depth, &element));
    GREBE_TRY(push_child(ps, &c, &element));
    if (strcmp(format, "+w:") == 0) {
        int32_t size = 0;
        bool is_inside = accept(ps, ','); /* fixed_size_list<float, 128> */
        if (!is_inside) {
            GREBE_TRY(expect(ps, '>'));
            GREBE_TRY(expect(ps, '['));
        }
        skip_space(ps);
        const char *at = ps->p;
        GREBE_TRY(parse_int(ps, &size));
        if (size < 0) {
            st = fail(ps, at, "a length of at least 0");
            goto out;
        }
        GREBE_TRY(expect(ps, is_inside ? '>' : ']'));
        GREBE_TRY(buf_printf(&text, ps->err, "+w:%d", (int)size));
        st = make_parent(ps, (const char *)text.data, t->name, t->is_nullable, &c, t->out);
    } else {
        GREBE_TRY(expect(ps, '>'));
        st = make_parent(ps, format, t->name, t->is_nullable, &c, t->out);
    }
out:
    schema_release(&element);
    children_release(ps, &c);
    buf_release(&text);
    return st;
}

static grebe_status parse_struct(struct parser *ps, const char *format, const struct target *t)
{
    grebe_status st = GREBE_OK;
    struct children c = { NULL, 0, 0 };
    struct buf text = BUF_INIT(ps->a);
    bool is_union = format[1] == 'u';

    GREBE_TRY(buf_put_text(&text, format, ps->err));
    GREBE_TRY(parse_fields(ps, t->depth, &c, is_union ? &text : NULL));
    if (buf_text(&text) == NULL) {
        st = mem_fail(ps->err, text.len, "a format");
        goto out;
    }
    GREBE_TRY(make_parent(ps, buf_text(&text), t->name, t->is_nullable, &c, t->out));
out:
    children_release(ps, &c);
    buf_release(&text);
    return st;
}

static grebe_status parse_map(struct parser *ps, const struct target *t)
{
    grebe_status st = GREBE_OK;
    struct children c = { NULL, 0, 0 };
    struct children pair = { NULL, 0, 0 };
    struct ArrowSchema field;

    GREBE_TRY(expect(ps, '<'));
    if (is_field_ahead(ps)) {
        GREBE_TRY(parse_field(ps, t->depth, &field));
        GREBE_TRY(push_child(ps, &c, &field));
    } else {
        GREBE_TRY(parse_type(ps, "key", false, t->depth + 2, &field));
        GREBE_TRY(push_child(ps, &pair, &field));
        GREBE_TRY(expect(ps, ','));
        GREBE_TRY(parse_element(ps, "value", true, t->depth + 1, &field));
        GREBE_TRY(push_child(ps, &pair, &field));
        GREBE_TRY(make_parent(ps, "+s", "entries", false, &pair, &field));
        GREBE_TRY(push_child(ps, &c, &field));
    }
    bool is_sorted = accept(ps, ',');
    if (is_sorted && !accept_word(ps, "keys_sorted")) {
        st = fail(ps, ps->p, "keys_sorted");
        goto out;
    }
    GREBE_TRY(expect(ps, '>'));
    GREBE_TRY(make_parent(ps, "+m", t->name, t->is_nullable, &c, t->out));
    if (is_sorted) {
        t->out->flags |= ARROW_FLAG_MAP_KEYS_SORTED;
    }
out:
    children_release(ps, &c);
    children_release(ps, &pair);
    return st;
}

/* dictionary<values=T, indices=I[, ordered=0|1]> */
static grebe_status parse_dictionary(struct parser *ps, const struct target *t)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema values;
    int32_t ordered = 0;

    memset(&values, 0, sizeof values);
    GREBE_TRY(expect(ps, '<'));
    if (!accept_word(ps, "values")) {
        st = fail(ps, ps->p, "values=");
        goto out;
    }
    GREBE_TRY(expect(ps, '='));
    GREBE_TRY(parse_type(ps, "", true, t->depth + 1, &values));
    if (accept(ps, ',') && !accept_word(ps, "indices")) {
        st = fail(ps, ps->p, "indices=");
        goto out;
    }
    GREBE_TRY(expect(ps, '='));
    skip_space(ps);
    const char *at = ps->p;
    GREBE_TRY(parse_type(ps, t->name, t->is_nullable, t->depth + 1, t->out));
    if (strchr("cCsSiIlL", t->out->format[0]) == NULL || t->out->format[1] != '\0') {
        st = fail(ps, at, "an integer type");
        goto out;
    }
    if (accept(ps, ',')) {
        if (!accept_word(ps, "ordered")) {
            st = fail(ps, ps->p, "ordered=");
            goto out;
        }
        GREBE_TRY(expect(ps, '='));
        GREBE_TRY(parse_int(ps, &ordered));
    }
    GREBE_TRY(expect(ps, '>'));
    t->out->flags |= ordered != 0 ? ARROW_FLAG_DICTIONARY_ORDERED : 0;
    GREBE_TRY(schema_set_dictionary(ps->a, t->out, &values, ps->err));
out:
    schema_release(&values);
    return st;
}

/* ---- leaves with parameters ---- */

static grebe_status parse_unit(struct parser *ps, const char *units, char *out)
{
    static const struct {
        const char *word;
        char letter;
    } words[] = { { "ms", 'm' }, { "us", 'u' }, { "ns", 'n' }, { "s", 's' } };
    skip_space(ps);
    const char *at = ps->p;
    for (size_t i = 0; i < 4; i++) {
        if (accept_word(ps, words[i].word)) {
            *out = words[i].letter;
            return strchr(units, *out) != NULL ? GREBE_OK : fail(ps, at, "a unit of this type");
        }
    }
    return fail(ps, at, "s, ms, us or ns");
}

static grebe_status leaf(struct parser *ps, const char *format, const struct target *t)
{
    return schema_new(ps->a, format, t->name, t->is_nullable, 0, t->out, ps->err);
}

/* time32[s|ms], time64[us|ns], duration[unit]; *unit is what stands without brackets */
static grebe_status parse_time(struct parser *ps, const char *prefix, const char *units,
                               char unit, const struct target *t)
{
    char format[8] = { prefix[0], prefix[1], '\0' };
    if (accept(ps, '[')) {
        grebe_status st = parse_unit(ps, units, &unit);
        if (st == GREBE_OK) {
            st = expect(ps, ']');
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    format[2] = unit;
    return leaf(ps, format, t);
}

static grebe_status parse_timestamp(struct parser *ps, const struct target *t)
{
    grebe_status st = GREBE_OK;
    struct buf zone = BUF_INIT(ps->a);
    struct buf format = BUF_INIT(ps->a);
    char unit = 'u';

    if (accept(ps, '[')) {
        GREBE_TRY(parse_unit(ps, "smun", &unit));
        if (accept(ps, ',')) {
            if (!accept_word(ps, "tz")) {
                st = fail(ps, ps->p, "tz=");
                goto out;
            }
            GREBE_TRY(expect(ps, '='));
            skip_space(ps);
            if (*ps->p == '"') {
                GREBE_TRY(parse_name(ps, &zone));
            } else {
                size_t n = strcspn(ps->p, "], \"");
                GREBE_TRY(buf_put(&zone, ps->p, n, ps->err));
                ps->p += n;
            }
        }
        GREBE_TRY(expect(ps, ']'));
    }
    GREBE_TRY(buf_printf(&format, ps->err, "ts%c:", unit));
    GREBE_TRY(buf_put(&format, zone.data, zone.len, ps->err));
    if (buf_text(&format) == NULL) {
        st = mem_fail(ps->err, format.len, "a format");
        goto out;
    }
    GREBE_TRY(leaf(ps, buf_text(&format), t));
out:
    buf_release(&zone);
    buf_release(&format);
    return st;
}

static grebe_status parse_decimal(struct parser *ps, int bits, int precision_max,
                                  const struct target *t)
{
    grebe_status st = GREBE_OK;
    struct buf format = BUF_INIT(ps->a);
    int32_t precision = 0;
    int32_t scale = 0;

    GREBE_TRY(expect(ps, '('));
    skip_space(ps);
    const char *at = ps->p;
    GREBE_TRY(parse_int(ps, &precision));
    if (precision < 1 || precision > precision_max) {
        st = fail(ps, at, "a precision that fits the width");
        goto out;
    }
    if (accept(ps, ',')) {
        skip_space(ps);
        at = ps->p;
        GREBE_TRY(parse_int(ps, &scale));
        if (scale < -1000 || scale > 1000) {
            st = fail(ps, at, "a scale from -1000 to 1000");
            goto out;
        }
    }
    GREBE_TRY(expect(ps, ')'));
    st = bits == 128 ? buf_printf(&format, ps->err, "d:%d,%d", (int)precision, (int)scale)
                     : buf_printf(&format, ps->err, "d:%d,%d,%d", (int)precision, (int)scale, bits);
    if (st == GREBE_OK) {
        st = leaf(ps, (const char *)format.data, t);
    }
out:
    buf_release(&format);
    return st;
}

static grebe_status parse_fixed_binary(struct parser *ps, const struct target *t)
{
    grebe_status st = GREBE_OK;
    struct buf format = BUF_INIT(ps->a);
    int32_t width = 0;
    char close = accept(ps, '(') ? ')' : ']';
    if (close == ']') {
        GREBE_TRY(expect(ps, '['));
    }
    skip_space(ps);
    const char *at = ps->p;
    GREBE_TRY(parse_int(ps, &width));
    if (width < 0) {
        st = fail(ps, at, "a width of at least 0");
        goto out;
    }
    GREBE_TRY(expect(ps, close));
    GREBE_TRY(buf_printf(&format, ps->err, "w:%d", (int)width));
    GREBE_TRY(leaf(ps, (const char *)format.data, t));
out:
    buf_release(&format);
    return st;
}

struct word_format {
    const char *word, *format;
};

static const struct word_format leaf_words[] = {
    { "null", "n" },          { "bool", "b" },          { "boolean", "b" },
    { "int8", "c" },          { "int16", "s" },         { "int32", "i" },
    { "int", "i" },           { "int64", "l" },         { "uint8", "C" },
    { "uint16", "S" },        { "uint32", "I" },        { "uint64", "L" },
    { "halffloat", "e" },     { "half_float", "e" },    { "float16", "e" },
    { "float", "f" },         { "float32", "f" },       { "double", "g" },
    { "float64", "g" },       { "string", "u" },        { "utf8", "u" },
    { "str", "u" },           { "large_string", "U" },  { "large_utf8", "U" },
    { "string_view", "vu" },  { "utf8_view", "vu" },    { "binary", "z" },
    { "bytes", "z" },         { "large_binary", "Z" },  { "binary_view", "vz" },
    { "month_interval", "tiM" },                        { "day_time_interval", "tiD" },
    { "month_day_nano_interval", "tin" },
};

static const struct word_format list_words[] = {
    { "list", "+l" },       { "large_list", "+L" },       { "list_view", "+vl" },
    { "large_list_view", "+vL" },                         { "fixed_size_list", "+w:" },
};

static const struct word_format struct_words[] = {
    { "struct", "+s" },
    { "run_end_encoded", "+r" },
    { "dense_union", "+ud:" },
    { "sparse_union", "+us:" },
};

static const char *word_at(struct parser *ps, const struct word_format *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (accept_word(ps, words[i].word)) {
            return words[i].format;
        }
    }
    return NULL;
}
#define WORD_AT(ps, words) word_at((ps), (words), sizeof(words) / sizeof((words)[0]))

static grebe_status parse_dates(struct parser *ps, const char *format, const char *unit,
                                const struct target *t)
{
    if (accept(ps, '[')) { /* date32[day], as pyarrow prints it */
        if (!accept_word(ps, unit)) {
            return fail(ps, ps->p, unit);
        }
        grebe_status st = expect(ps, ']');
        if (st != GREBE_OK) {
            return st;
        }
    }
    return leaf(ps, format, t);
}

static grebe_status parse_plain(struct parser *ps, const struct target *t)
{
    const char *at = ps->p;
    const char *format = WORD_AT(ps, leaf_words);
    if (format != NULL) {
        return leaf(ps, format, t);
    }
    if ((format = WORD_AT(ps, list_words)) != NULL) {
        return parse_list(ps, format, t);
    }
    if ((format = WORD_AT(ps, struct_words)) != NULL) {
        return parse_struct(ps, format, t);
    }
    if (accept_word(ps, "map")) {
        return parse_map(ps, t);
    }
    if (accept_word(ps, "dictionary")) {
        return parse_dictionary(ps, t);
    }
    if (accept_word(ps, "timestamp")) {
        return parse_timestamp(ps, t);
    }
    if (accept_word(ps, "date32") || accept_word(ps, "date")) {
        return parse_dates(ps, "tdD", "day", t);
    }
    if (accept_word(ps, "date64")) {
        return parse_dates(ps, "tdm", "ms", t);
    }
    if (accept_word(ps, "time32")) {
        return parse_time(ps, "tt", "sm", 'm', t);
    }
    if (accept_word(ps, "time64") || accept_word(ps, "time")) {
        return parse_time(ps, "tt", "un", 'u', t);
    }
    if (accept_word(ps, "duration")) {
        return parse_time(ps, "tD", "smun", 'u', t);
    }
    if (accept_word(ps, "decimal128") || accept_word(ps, "decimal")) {
        return parse_decimal(ps, 128, 38, t);
    }
    if (accept_word(ps, "decimal256")) {
        return parse_decimal(ps, 256, 76, t);
    }
    if (accept_word(ps, "decimal64")) {
        return parse_decimal(ps, 64, 18, t);
    }
    if (accept_word(ps, "decimal32")) {
        return parse_decimal(ps, 32, 9, t);
    }
    if (accept_word(ps, "fixed_size_binary")) {
        return parse_fixed_binary(ps, t);
    }
    return fail(ps, at, "the name of a type");
}

static grebe_status parse_type(struct parser *ps, const char *name, bool is_nullable, int depth,
                               struct ArrowSchema *out)
{
    memset(out, 0, sizeof *out);
    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(ps->err, GREBE_ELIMIT, "types are nested deeper than %d",
                          ARROW_DEPTH_MAX);
    }
    skip_space(ps);
    struct target t = { name, is_nullable, depth, out };
    grebe_status st = parse_plain(ps, &t);
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

grebe_status type_parse(const grebe_allocator *a, const char *text, const char *name,
                        bool is_nullable, struct ArrowSchema *out, grebe_error *err)
{
    struct parser ps = { a, text, text, err };
    grebe_status st = parse_type(&ps, name != NULL ? name : "", is_nullable, 0, out);
    if (st == GREBE_OK) {
        skip_space(&ps);
        if (*ps.p != '\0') {
            st = fail(&ps, ps.p, "the end");
        }
    }
    if (st == GREBE_OK) {
        st = schema_check(out, err);
        if (st == GREBE_ESCHEMA) {
            st = GREBE_EINVAL;
            if (err != NULL) {
                err->status = st;
            }
        }
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}
