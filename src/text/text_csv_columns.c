/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of one column: their types, and an array of them. */
#include "text/text_csv_internal.h"

#include <string.h>

#include "text/text_given.h"

bool csv_is_null_word(const struct text_csv_options *o, const char *text, size_t len)
{
    for (size_t i = 0; i < o->n_nulls; i++) {
        if (strlen(o->nulls[i]) == len && memcmp(o->nulls[i], text, len) == 0) {
            return true;
        }
    }
    return csv_escapes_all(o, o->delimiter) && csv_is_escaped_null(text, len);
}

/* What stands behind a backslash, as MySQL and PostgreSQL write it. */
static char character_of(char c)
{
    switch (c) {
    case '0': return '\0';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return c;
    }
}

size_t csv_copy_text(const struct text_csv_options *o, char *dst, const char *data,
                     struct csv_cell c)
{
    const char *s = data + c.begin;
    size_t n = 0;
    if (!c.is_escaped) {
        memcpy(dst, s, c.len);
        return c.len;
    }
    for (size_t i = 0; i < c.len; i++) {
        bool is_escape = o->escape != 0 && s[i] == o->escape && i + 1 < c.len;
        if (is_escape && o->escape == '\\' && o->quote != '\\') {
            dst[n++] = character_of(s[++i]);
            continue;
        }
        /* A quote inside of quotes is the second of two, else it would have ended the field. */
        i += is_escape || (c.is_quoted && s[i] == o->quote);
        dst[n++] = s[i];
    }
    return n;
}

/* Numbers with a comma are told by it; the longest one that is looked at. */
enum { NUMBER_MAX = 400 };

/* Whether all points stand between groups of three digits: 1.234.567,89 but not 12.34 or 0.123. */
static bool has_groups(const char *text, size_t len)
{
    size_t sign = text[0] == '-', at = sign, n_groups = 0;
    size_t first = text_digits(text + at, len - at);
    if (first == 0 || first > 3 || text[at] == '0') {
        return false;
    }
    for (at += first; at < len && text[at] == '.'; at += 4, n_groups++) {
        if (text_digits(text + at + 1, len - at - 1) != 3) {
            return false;
        }
    }
    return n_groups > 0 && (at == len || text[at] == ',') && memchr(text + at, '.', len - at) == NULL;
}

/* The text as types see it, *len of it: a comma is a point, and a point is none, or parts thousands. */
static const char *with_point(const char *text, struct csv_cell c, char dst[NUMBER_MAX], size_t *len)
{
    *len = c.len;
    if (c.len >= NUMBER_MAX || c.len == 0) {
        return text;
    }
    char first = text[0];
    bool is_number = (first >= '0' && first <= '9') || first == '-' || first == ',' || first == '.';
    if (!is_number || memchr(text, '-', c.len) > (const void *)text || memchr(text, ':', c.len)) {
        return text; /* dates and times have no comma */
    }
    bool is_grouped = memchr(text, '.', c.len) != NULL && has_groups(text, c.len);
    *len = 0;
    for (size_t i = 0; i < c.len; i++) {
        dst[*len] = text[i] == ',' ? '.' : text[i] == '.' ? '_' : text[i];
        *len += !is_grouped || text[i] != '.';
    }
    return dst;
}

static inline const char *seen_text(const struct csv_split *s, struct csv_cell c,
                                    char dst[NUMBER_MAX], size_t *len)
{
    const char *text = s->block->data + c.begin;
    *len = c.len;
    return s->o->is_decimal_comma ? with_point(text, c, dst, len) : text;
}

void csv_infer_column(const struct csv_split *s, size_t n_rows, size_t n_columns, size_t i,
                      unsigned *types, bool *is_seen)
{
    const struct csv_cell *cells = s->cells.cells + i;
    char number[NUMBER_MAX];
    size_t len = 0;
    for (size_t row = 0; row < n_rows && *types != 0; row++, cells += n_columns) {
        if (!csv_is_null(s, *cells)) {
            const char *text = seen_text(s, *cells, number, &len);
            *types &= cells->is_escaped ? 0 : text_types_of(text, len);
            *is_seen = true;
        }
    }
}

static grebe_status fail_value(const struct csv_split *s, struct csv_cell c,
                               const struct csv_column *column, const char *column_name,
                               grebe_error *err)
{
    char place[512], found[80], name[80];
    const char *expected = column->given != NULL ? column->given->type_name
                           : !column->is_seen    ? "null"
                                                 : text_type_name(column->types);
    const char *why = column->given != NULL ? "as the schema has it" : "as the first rows are";
    text_place(place, s->name, s->block, c.begin);
    error_quote(found, sizeof found, s->block->data + c.begin, c.len);
    error_quote(name, sizeof name, column_name, strlen(column_name));
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: column \"%s\": expected %s, %s, found \"%s\"",
                      place, name, expected, why, found);
}

/* ---- filling ---- */

grebe_status csv_filled_init(struct csv_filled *f, const grebe_allocator *a,
                             const struct csv_column *c, grebe_error *err)
{
    const struct json_shape *given = c->given;
    enum text_builder_kind kind = !c->is_seen             ? TEXT_BUILDER_NULLS
                                  : c->types == 0         ? TEXT_BUILDER_TEXT
                                  : c->types == TEXT_BOOL ? TEXT_BUILDER_BITS
                                                          : TEXT_BUILDER_FIXED;
    size_t width = c->types == TEXT_DATE ? sizeof(int32_t) : sizeof(int64_t);
    if (given != NULL && given->form != JSON_FORM_VALUE && given->form != JSON_FORM_NULL) {
        f->is_nested = true;
        return json_table_init(&f->table, a, given, 1, err);
    }
    if (given != NULL) {
        kind = given->form == JSON_FORM_NULL ? TEXT_BUILDER_NULLS
               : given->type == 0            ? TEXT_BUILDER_TEXT
               : given->type == TEXT_BOOL    ? TEXT_BUILDER_BITS
                                             : TEXT_BUILDER_FIXED;
        width = (size_t)given->given.byte_width;
    }
    text_builder_init(&f->b, a, kind, width);
    return GREBE_OK;
}

void csv_filled_release(struct csv_filled *f)
{
    if (f->is_nested) {
        json_table_release(&f->table);
    } else {
        text_builder_release(&f->b);
    }
}

grebe_status csv_filled_reserve(struct csv_filled *f, size_t n_rows, grebe_error *err)
{
    return f->is_nested ? GREBE_OK : text_builder_reserve(&f->b, n_rows, err);
}

grebe_status csv_filled_finish(struct csv_filled *f, const char *name, struct ArrowArray *out,
                               grebe_error *err)
{
    return f->is_nested ? json_table_finish(&f->table, name, out, err)
                        : text_builder_finish(&f->b, 0, out, err);
}

/*
 * One value behind those of the builder, which has room. `left` bytes of text may be read: a number is taken
 * faster where what stands behind it ends it.
 */
static inline bool store_value(struct text_builder *b, unsigned type, const char *text, size_t len,
                               size_t left)
{
    bool truth = false;
    void *data = b->data;
    if (len == 0) {
        return false;
    }
    switch (type) {
    case TEXT_BOOL:
        if (!text_to_bool(text, len, &truth)) {
            return false;
        }
        if (truth) {
            bit_set(data, (int64_t)b->n);
        }
        return true;
    case TEXT_INT64:
        return text_take_i64(text, left, (int64_t *)data + b->n) == len ||
               text_to_i64(text, len, (int64_t *)data + b->n);
    case TEXT_UINT64: return text_to_u64(text, len, (uint64_t *)data + b->n);
    case TEXT_DOUBLE:
        return text_take_double(text, left, (double *)data + b->n) == len ||
               text_to_double(text, len, (double *)data + b->n);
    case TEXT_DATE: return text_to_date(text, len, (int32_t *)data + b->n);
    case TEXT_TIMESTAMP: return text_to_timestamp(text, len, false, (int64_t *)data + b->n);
    default: return text_to_timestamp(text, len, true, (int64_t *)data + b->n);
    }
}

static grebe_status append_strings(struct text_builder *b, const struct csv_split *s,
                                   size_t n_rows, size_t n_columns, const struct csv_cell *cells,
                                   grebe_error *err)
{
    const char *data = s->block->data;
    const size_t block_len = s->block->len;
    size_t total = 0;
    for (size_t row = 0; row < n_rows; row++) {
        total += cells[row * n_columns].len; /* a block is less than 2^31 bytes */
    }
    grebe_status st = text_builder_reserve_text(b, total, err);
    for (size_t row = 0; st == GREBE_OK && row < n_rows; row++, cells += n_columns) {
        struct csv_cell c = *cells;
        if (csv_is_null(s, c)) {
            st = text_builder_put_nulls(b, 1, err);
            continue;
        }
        char *dst = b->chars + b->text_len;
        size_t len = c.len;
        if (c.is_escaped || c.len > TEXT_BUILDER_SLACK ||
            c.begin + (size_t)TEXT_BUILDER_SLACK > block_len) {
            len = csv_copy_text(s->o, dst, data, c);
        } else {
            memcpy(dst, data + c.begin, TEXT_BUILDER_SLACK); /* a fixed length is faster */
        }
        text_builder_end_text(b, len);
    }
    return st;
}

/* The text of a cell, escapes undone; in scratch where there are some. */
static grebe_status plain_text(const struct csv_split *s, struct csv_cell c, struct buf *scratch,
                               const char **text, size_t *len, grebe_error *err)
{
    *text = s->block->data + c.begin;
    *len = c.len;
    if (!c.is_escaped) {
        return GREBE_OK;
    }
    buf_clear(scratch);
    grebe_status st = buf_reserve(scratch, c.len, err);
    if (st == GREBE_OK) {
        *len = csv_copy_text(s->o, (char *)scratch->data, s->block->data, c);
        *text = (const char *)scratch->data;
    }
    return st;
}

static grebe_status append_nested(struct csv_filled *f, const struct csv_split *s, size_t n_rows,
                                  size_t n_columns, const struct csv_cell *cells,
                                  const struct csv_column *column, const char *column_name,
                                  grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf scratch = BUF_INIT(s->cells.a);
    for (size_t row = 0; st == GREBE_OK && row < n_rows; row++, cells += n_columns) {
        const char *text = NULL;
        size_t len = 0;
        if (csv_is_null(s, *cells)) {
            st = json_table_put_null(&f->table, err);
            continue;
        }
        st = plain_text(s, *cells, &scratch, &text, &len, err);
        if (st == GREBE_OK) {
            st = json_table_put_text(&f->table, text, len, err);
        }
        if (st == JSON_ODD) {
            st = fail_value(s, *cells, column, column_name, err);
        }
    }
    buf_release(&scratch);
    return st;
}

/* Values of a given type: looser forms than those that are inferred. */
static bool store_given(struct text_builder *b, const struct json_shape *given, const char *text,
                        size_t len)
{
    bool truth = false;
    if (b->kind == TEXT_BUILDER_BITS) {
        bool is_digit = len == 1 && (text[0] == '0' || text[0] == '1');
        if (!is_digit && !text_to_bool(text, len, &truth)) {
            return false;
        }
        if (truth || (is_digit && text[0] == '1')) {
            bit_set(b->data, (int64_t)b->n);
        }
        return true;
    }
    return text_given_store(&given->given, text, len, b->data + b->n * b->width);
}

grebe_status csv_append_column(struct csv_filled *f, const struct csv_split *s, size_t n_rows,
                               size_t n_columns, size_t i, const struct csv_column *column,
                               const char *column_name, grebe_error *err)
{
    const struct csv_cell *cells = s->cells.cells + i;
    struct text_builder *b = &f->b;
    char number[NUMBER_MAX];
    if (f->is_nested) {
        return append_nested(f, s, n_rows, n_columns, cells, column, column_name, err);
    }
    grebe_status st = text_builder_reserve(b, n_rows, err);
    if (st == GREBE_OK && b->kind == TEXT_BUILDER_TEXT) {
        return append_strings(b, s, n_rows, n_columns, cells, err);
    }
    for (size_t row = 0; st == GREBE_OK && row < n_rows; row++, cells += n_columns) {
        struct csv_cell c = *cells;
        if (csv_is_null(s, c)) {
            st = text_builder_put_nulls(b, 1, err);
            continue;
        }
        size_t len = 0;
        const char *text = seen_text(s, c, number, &len);
        size_t left = s->o->is_decimal_comma ? len : s->block->len - c.begin;
        bool is_well = !c.is_escaped && b->kind != TEXT_BUILDER_NULLS &&
                       (column->given != NULL ? store_given(b, column->given, text, len)
                                              : store_value(b, column->types, text, len, left));
        if (!is_well) {
            return fail_value(s, c, column, column_name, err);
        }
        text_builder_took(b);
    }
    return st;
}
