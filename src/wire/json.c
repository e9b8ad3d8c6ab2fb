/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "wire/json_escape.h"

struct parser {
    struct arena *ar;
    const char *p, *end;
    const char *line_begin;
    uint32_t line;
    const char *mark; /* a place of this line whose column is known, so that counting goes on there */
    uint32_t mark_column;
    struct buf stack;   /* members of the open arrays and objects (a key of NULL in arrays) */
    struct buf scratch; /* a string being decoded */
    grebe_error *err;
    const char *name; /* of the text: "x.json:" or "JSON at " */
    const char *colon;
};

static uint32_t column_of(const struct parser *ps, const char *at)
{
    bool is_behind = ps->mark >= ps->line_begin && ps->mark <= at;
    uint32_t column = is_behind ? ps->mark_column : 1;
    for (const char *p = is_behind ? ps->mark : ps->line_begin; p < at; p++) {
        column += ((unsigned char)*p & 0xc0) != 0x80;
    }
    return column;
}

static grebe_status fail_at(const struct parser *ps, const char *at, const char *expected)
{
    char found[32];
    if (at >= ps->end) {
        return GREBE_FAIL(ps->err, GREBE_ECORRUPT, "%s%s%u:%u: expected %s, found the end",
                          ps->name, ps->colon, ps->line, column_of(ps, at), expected);
    }
    size_t n = utf8_char_len(at, (size_t)(ps->end - at));
    return GREBE_FAIL(ps->err, GREBE_ECORRUPT, "%s%s%u:%u: expected %s, found '%s'", ps->name,
                      ps->colon, ps->line, column_of(ps, at), expected,
                      error_quote(found, sizeof found, at, n > 0 ? n : 1));
}

static grebe_status no_memory(const struct parser *ps, size_t n)
{
    return mem_fail(ps->err, n, "JSON");
}

static void skip_space(struct parser *ps)
{
    for (; ps->p < ps->end; ps->p++) {
        if (*ps->p == '\n') {
            ps->line++;
            ps->line_begin = ps->p + 1;
        } else if (*ps->p != ' ' && *ps->p != '\t' && *ps->p != '\r') {
            return;
        }
    }
}

/* ---- strings ---- */

/* ps->p is behind "\u"; moves behind the digits (of both halves of a pair). */
static grebe_status unicode_escape(struct parser *ps)
{
    uint32_t c = 0;
    char bytes[4];
    const char *expected = json_unicode_escape(&ps->p, ps->end, &c);
    return expected != NULL ? fail_at(ps, ps->p, expected)
                            : buf_put(&ps->scratch, bytes, utf8_put(bytes, c), ps->err);
}

static grebe_status escape(struct parser *ps)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    ps->p++;
    if (ps->p < ps->end && *ps->p == 'u') {
        ps->p++;
        return unicode_escape(ps);
    }
    const char *found = ps->p < ps->end && *ps->p != '\0' ? strchr(letters, *ps->p) : NULL;
    if (found == NULL) {
        return fail_at(ps, ps->p, "an escape (\" \\ / b f n r t u)");
    }
    ps->p++;
    return buf_put_byte(&ps->scratch, (uint8_t)values[found - letters], ps->err);
}

static grebe_status parse_string(struct parser *ps, const char **text, size_t *len)
{
    const char *begin = ++ps->p;
    buf_clear(&ps->scratch);
    for (;;) {
        const char *run = ps->p;
        while (ps->p < ps->end && *ps->p != '"' && *ps->p != '\\' &&
               (unsigned char)*ps->p >= 0x20) {
            ps->p++;
        }
        size_t n = (size_t)(ps->p - run);
        size_t valid = utf8_valid_prefix(run, n);
        if (valid < n) {
            return fail_at(ps, run + valid, "UTF-8");
        }
        bool is_whole = run == begin && ps->p < ps->end && *ps->p == '"';
        if (!is_whole) {
            grebe_status st = buf_put(&ps->scratch, run, n, ps->err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        if (ps->p == ps->end || (unsigned char)*ps->p < 0x20) {
            return fail_at(ps, ps->p, "'\"' at the end of a string");
        }
        if (*ps->p == '"') {
            ps->p++;
            *len = is_whole ? n : ps->scratch.len;
            *text = arena_str(ps->ar, is_whole ? run : (const char *)ps->scratch.data, *len);
            return *text != NULL ? GREBE_OK : no_memory(ps, *len);
        }
        grebe_status st = escape(ps);
        if (st != GREBE_OK) {
            return st;
        }
    }
}

/* ---- numbers and words ---- */

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9') {
        p++;
    }
    return p;
}

static grebe_status parse_number(struct parser *ps, struct json_value *out)
{
    const char *begin = ps->p;
    const char *p = begin + (*begin == '-');
    const char *digits = p;
    p = skip_digits(p, ps->end);
    if (p == digits) {
        return fail_at(ps, p, "a digit");
    }
    if (*digits == '0' && p > digits + 1) {
        return fail_at(ps, digits + 1, "no digit after a leading 0");
    }
    if (p < ps->end && *p == '.') {
        const char *fraction = ++p;
        p = skip_digits(p, ps->end);
        if (p == fraction) {
            return fail_at(ps, p, "a digit");
        }
    }
    if (p < ps->end && (*p | 0x20) == 'e') {
        p++;
        if (p < ps->end && (*p == '+' || *p == '-')) {
            p++;
        }
        const char *exponent = p;
        p = skip_digits(p, ps->end);
        if (p == exponent) {
            return fail_at(ps, p, "a digit");
        }
    }
    out->type = JSON_NUMBER;
    out->n = (size_t)(p - begin);
    out->text = arena_str(ps->ar, begin, out->n);
    ps->p = p;
    return out->text != NULL ? GREBE_OK : no_memory(ps, out->n);
}

static bool parse_word(struct parser *ps, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(ps->end - ps->p) < n || memcmp(ps->p, word, n) != 0) {
        return false;
    }
    ps->p += n;
    return true;
}

/* ---- arrays and objects ---- */

static grebe_status parse_value(struct parser *ps, int depth, struct json_value *out);

/* Values since `begin` of the stack as elements or members of out. */
static grebe_status take_stack(struct parser *ps, size_t begin, bool is_object,
                               struct json_value *out)
{
    const struct json_member *from =
        ps->stack.data == NULL ? NULL : (const struct json_member *)(void *)(ps->stack.data + begin);
    out->n = (ps->stack.len - begin) / sizeof *from;
    ps->stack.len = begin;
    if (is_object) {
        struct json_member *members = arena_array(ps->ar, out->n, sizeof *members);
        if (members == NULL) {
            return no_memory(ps, out->n * sizeof *members);
        }
        if (out->n > 0) {
            memcpy(members, from, out->n * sizeof *members);
        }
        out->members = members;
        return GREBE_OK;
    }
    struct json_value *items = arena_array(ps->ar, out->n, sizeof *items);
    if (items == NULL) {
        return no_memory(ps, out->n * sizeof *items);
    }
    for (size_t i = 0; i < out->n; i++) {
        items[i] = from[i].value;
    }
    out->items = items;
    return GREBE_OK;
}

static grebe_status parse_key(struct parser *ps, struct json_member *m)
{
    if (ps->p == ps->end || *ps->p != '"') {
        return fail_at(ps, ps->p, "'\"' before a key");
    }
    grebe_status st = parse_string(ps, &m->key, &m->key_len);
    if (st != GREBE_OK) {
        return st;
    }
    skip_space(ps);
    if (ps->p == ps->end || *ps->p != ':') {
        return fail_at(ps, ps->p, "':'");
    }
    ps->p++;
    skip_space(ps);
    return GREBE_OK;
}

static grebe_status parse_container(struct parser *ps, int depth, struct json_value *out)
{
    bool is_object = *ps->p == '{';
    char close = is_object ? '}' : ']';
    size_t begin = ps->stack.len;
    if (depth >= JSON_DEPTH_MAX) {
        return GREBE_FAIL(ps->err, GREBE_ELIMIT, "%s%s%u:%u: nested deeper than %d", ps->name,
                          ps->colon, ps->line, column_of(ps, ps->p), JSON_DEPTH_MAX);
    }
    out->type = is_object ? JSON_OBJECT : JSON_ARRAY;
    ps->p++;
    skip_space(ps);
    if (ps->p < ps->end && *ps->p == close) {
        ps->p++;
        return take_stack(ps, begin, is_object, out);
    }
    for (;;) {
        struct json_member m;
        memset(&m, 0, sizeof m);
        grebe_status st = is_object ? parse_key(ps, &m) : GREBE_OK;
        if (st == GREBE_OK) {
            st = parse_value(ps, depth + 1, &m.value);
        }
        if (st == GREBE_OK) {
            st = buf_put(&ps->stack, &m, sizeof m, ps->err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        skip_space(ps);
        if (ps->p < ps->end && *ps->p == close) {
            ps->p++;
            return take_stack(ps, begin, is_object, out);
        }
        if (ps->p == ps->end || *ps->p != ',') {
            return fail_at(ps, ps->p, is_object ? "',' or '}'" : "',' or ']'");
        }
        ps->p++;
        skip_space(ps);
    }
}

static grebe_status parse_value(struct parser *ps, int depth, struct json_value *out)
{
    memset(out, 0, sizeof *out);
    out->line = ps->line;
    out->column = column_of(ps, ps->p);
    ps->mark = ps->p;
    ps->mark_column = out->column;
    if (ps->p == ps->end) {
        return fail_at(ps, ps->p, "a value");
    }
    switch (*ps->p) {
    case '{':
    case '[': return parse_container(ps, depth, out);
    case '"': out->type = JSON_STRING; return parse_string(ps, &out->text, &out->n);
    case 't':
    case 'f':
        out->type = JSON_BOOL;
        out->boolean = *ps->p == 't';
        if (parse_word(ps, out->boolean ? "true" : "false")) {
            return GREBE_OK;
        }
        break;
    case 'n':
        if (parse_word(ps, "null")) {
            return GREBE_OK;
        }
        break;
    default:
        if (*ps->p == '-' || (*ps->p >= '0' && *ps->p <= '9')) {
            return parse_number(ps, out);
        }
    }
    return fail_at(ps, ps->p, "a value");
}

static grebe_status parse_root(struct parser *ps, size_t *used, const struct json_value **out)
{
    grebe_status st = GREBE_OK;
    const char *begin = ps->p;
    *out = NULL;
    struct json_value *root = arena_alloc(ps->ar, sizeof *root);
    if (root == NULL) {
        st = no_memory(ps, sizeof *root);
        goto out;
    }
    skip_space(ps);
    GREBE_TRY(parse_value(ps, 0, root));
    if (used != NULL) {
        *used = (size_t)(ps->p - begin);
        *out = root;
        goto out;
    }
    skip_space(ps);
    if (ps->p != ps->end) {
        st = fail_at(ps, ps->p, "the end");
        goto out;
    }
    *out = root;
out:
    buf_release(&ps->stack);
    buf_release(&ps->scratch);
    return st;
}

grebe_status json_parse_at(struct arena *ar, const char *text, size_t len,
                           const struct json_place *place, size_t *used,
                           const struct json_value **out, grebe_error *err)
{
    struct parser ps = { ar, text, text + len, text, place->line, text, place->column,
                         BUF_INIT(ar->a), BUF_INIT(ar->a), err, place->name, ":" };
    return parse_root(&ps, used, out);
}

grebe_status json_parse(struct arena *ar, const char *text, size_t len,
                        const struct json_value **out, grebe_error *err)
{
    size_t bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct parser ps = { ar, text + bom, text + len, text + bom, 1, text + bom, 1,
                         BUF_INIT(ar->a), BUF_INIT(ar->a), err, "JSON at ", "" };
    return parse_root(&ps, NULL, out);
}

/* ---- looking at values ---- */

const struct json_value *json_get(const struct json_value *v, const char *key)
{
    if (v == NULL || v->type != JSON_OBJECT) {
        return NULL;
    }
    size_t len = strlen(key);
    for (size_t i = v->n; i-- > 0;) {
        const struct json_member *m = &v->members[i];
        if (m->key_len == len && memcmp(m->key, key, len) == 0) {
            return &m->value;
        }
    }
    return NULL;
}

/* A number such as 1e3 or 5.0 as digits and zeros; false: a fraction, or too long. */
static bool plain_integer(const struct json_value *v, char *dst, size_t dst_len, size_t *len)
{
    double d = 0;
    if (memchr(v->text, '.', v->n) == NULL && memchr(v->text, 'e', v->n) == NULL &&
        memchr(v->text, 'E', v->n) == NULL) {
        if (v->n > dst_len) {
            return false;
        }
        memcpy(dst, v->text, v->n);
        *len = v->n;
        return true;
    }
    /* Written with a point or an exponent: exact as a double, or not taken for an integer. */
    if (!number_parse_double(v->text, v->n, &d) || d < -9007199254740992.0 ||
        d > 9007199254740992.0 || d != (double)(int64_t)d) {
        return false;
    }
    *len = number_put_i64(dst, (int64_t)d);
    return true;
}

bool json_i64(const struct json_value *v, int64_t *out)
{
    char text[NUMBER_TEXT_MAX];
    size_t len = 0;
    return v != NULL && v->type == JSON_NUMBER && plain_integer(v, text, sizeof text, &len) &&
           number_parse_i64(text, len, out);
}

bool json_u64(const struct json_value *v, uint64_t *out)
{
    char text[NUMBER_TEXT_MAX];
    size_t len = 0;
    if (v == NULL || v->type != JSON_NUMBER || !plain_integer(v, text, sizeof text, &len)) {
        return false;
    }
    if (len == 2 && memcmp(text, "-0", 2) == 0) {
        *out = 0;
        return true;
    }
    return number_parse_u64(text, len, out);
}

bool json_double(const struct json_value *v, double *out)
{
    return v != NULL && v->type == JSON_NUMBER && number_parse_double(v->text, v->n, out);
}

bool json_is_text(const struct json_value *v, const char *text)
{
    return v != NULL && v->type == JSON_STRING && strlen(text) == v->n &&
           memcmp(v->text, text, v->n) == 0;
}

const char *json_type_name(enum json_type type)
{
    static const char *const names[] = { "null", "true or false", "number",
                                         "string", "array", "object" };
    return names[type];
}

grebe_status json_expect(const struct json_value *v, const char *key, enum json_type type,
                         const struct json_value **out, grebe_error *err)
{
    *out = json_get(v, key);
    if (*out == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "JSON at %u:%u: expected a member \"%s\"",
                          v != NULL ? v->line : 1, v != NULL ? v->column : 1, key);
    }
    if ((*out)->type != type) {
        grebe_status st = GREBE_FAIL(err, GREBE_ECORRUPT,
                                     "JSON at %u:%u: \"%s\": expected %s, found %s", (*out)->line,
                                     (*out)->column, key, json_type_name(type),
                                     json_type_name((*out)->type));
        *out = NULL;
        return st;
    }
    return GREBE_OK;
}
