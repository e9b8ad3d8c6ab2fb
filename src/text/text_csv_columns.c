/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of one column: their types, and an array of them. */
#include "text/text_csv_internal.h"

#include <string.h>

bool csv_is_null_word(const struct text_csv_options *o, const char *text, size_t len)
{
    for (size_t i = 0; i < o->n_nulls; i++) {
        if (strlen(o->nulls[i]) == len && memcmp(o->nulls[i], text, len) == 0) {
            return true;
        }
    }
    return false;
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
        /* The quote is the second of two, else it would have ended the field. */
        i += s[i] == o->quote || (o->escape != 0 && s[i] == o->escape && i + 1 < c.len);
        dst[n++] = s[i];
    }
    return n;
}

/* Numbers with a comma are told by it; the longest one that is looked at. */
enum { NUMBER_MAX = 400 };

/* The text as types see it: a comma is a point, and a point is none. */
static const char *with_point(const char *text, struct csv_cell c, char dst[NUMBER_MAX])
{
    if (c.len >= NUMBER_MAX || c.len == 0) {
        return text;
    }
    char first = text[0];
    bool is_number = (first >= '0' && first <= '9') || first == '-' || first == ',' || first == '.';
    if (!is_number || memchr(text, '-', c.len) > (const void *)text || memchr(text, ':', c.len)) {
        return text; /* dates and times have no comma */
    }
    for (size_t i = 0; i < c.len; i++) {
        dst[i] = text[i] == ',' ? '.' : text[i] == '.' ? '_' : text[i];
    }
    return dst;
}

static inline const char *seen_text(const struct csv_split *s, struct csv_cell c,
                                    char dst[NUMBER_MAX])
{
    const char *text = s->block->data + c.begin;
    return s->o->is_decimal_comma ? with_point(text, c, dst) : text;
}

void csv_infer_column(const struct csv_split *s, size_t n_rows, size_t n_columns, size_t i,
                      unsigned *types, bool *is_seen)
{
    const struct csv_cell *cells = s->cells.cells + i;
    char number[NUMBER_MAX];
    for (size_t row = 0; row < n_rows && *types != 0; row++, cells += n_columns) {
        if (!csv_is_null(s, *cells)) {
            *types &= cells->is_escaped ? 0 : text_types_of(seen_text(s, *cells, number), cells->len);
            *is_seen = true;
        }
    }
}

static grebe_status fail_value(const struct csv_split *s, struct csv_cell c, const char *expected,
                               const char *column_name, grebe_error *err)
{
    char place[512], found[80], column[80];
    text_place(place, s->name, s->block, c.begin);
    error_quote(found, sizeof found, s->block->data + c.begin, c.len);
    error_quote(column, sizeof column, column_name, strlen(column_name));
    return GREBE_FAIL(err, GREBE_ECORRUPT,
                      "%s: column \"%s\": expected %s, as the first rows are, found \"%s\"", place,
                      column, expected, found);
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

grebe_status csv_append_column(struct text_builder *b, const struct csv_split *s, size_t n_rows,
                               size_t n_columns, size_t i, unsigned type, const char *column_name,
                               grebe_error *err)
{
    const struct csv_cell *cells = s->cells.cells + i;
    char number[NUMBER_MAX];
    grebe_status st = text_builder_reserve(b, n_rows, err);
    if (st == GREBE_OK && b->kind == TEXT_BUILDER_TEXT) {
        return append_strings(b, s, n_rows, n_columns, cells, err);
    }
    for (size_t row = 0; st == GREBE_OK && row < n_rows; row++, cells += n_columns) {
        struct csv_cell c = *cells;
        size_t left = s->o->is_decimal_comma ? c.len : s->block->len - c.begin;
        if (csv_is_null(s, c)) {
            st = text_builder_put_nulls(b, 1, err);
        } else if (c.is_escaped || b->kind == TEXT_BUILDER_NULLS ||
                   !store_value(b, type, seen_text(s, c, number), c.len, left)) {
            const char *expected = b->kind == TEXT_BUILDER_NULLS ? "null" : text_type_name(type);
            return fail_value(s, c, expected, column_name, err);
        } else {
            text_builder_took(b);
        }
    }
    return st;
}
