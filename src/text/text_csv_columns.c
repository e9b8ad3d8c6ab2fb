/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of one column: their types, and an array of them. */
#include "text/text_csv_internal.h"

#include <string.h>

bool csv_is_null(const struct csv_split *s, struct csv_cell c)
{
    if (c.is_quoted) {
        return false;
    }
    if (s->o->nulls == NULL) {
        return c.len == 0;
    }
    for (size_t i = 0; i < s->o->n_nulls; i++) {
        if (strlen(s->o->nulls[i]) == c.len &&
            memcmp(s->o->nulls[i], s->block->data + c.begin, c.len) == 0) {
            return true;
        }
    }
    return false;
}

size_t csv_copy_text(char *dst, const char *data, struct csv_cell c)
{
    if (!c.is_escaped) {
        memcpy(dst, data + c.begin, c.len);
        return c.len;
    }
    size_t n = 0;
    for (size_t i = 0; i < c.len; i++) {
        dst[n++] = data[c.begin + i];
        i += data[c.begin + i] == '"'; /* the second of two */
    }
    return n;
}

void csv_infer_column(const struct csv_split *s, size_t n_rows, size_t n_columns, size_t i,
                      unsigned *types, bool *is_seen)
{
    const struct csv_cell *cells = s->cells.cells;
    for (size_t row = 0; row < n_rows && *types != 0; row++) {
        struct csv_cell c = cells[row * n_columns + i];
        if (!csv_is_null(s, c)) {
            *types &= c.is_escaped ? 0 : text_types_of(s->block->data + c.begin, c.len);
            *is_seen = true;
        }
    }
}

static grebe_status fail_value(const struct csv_split *s, struct csv_cell c, unsigned type,
                               const char *column_name, grebe_error *err)
{
    char place[512], found[80], column[80];
    text_place(place, s->name, s->block, c.begin);
    error_quote(found, sizeof found, s->block->data + c.begin, c.len);
    error_quote(column, sizeof column, column_name, strlen(column_name));
    return GREBE_FAIL(err, GREBE_ECORRUPT,
                      "%s: column \"%s\": expected %s, as the first rows are, found \"%s\"", place,
                      column, text_type_name(type), found);
}

/* One value to slot `row` of data. */
static bool store_value(unsigned type, const char *text, size_t len, void *data, size_t row)
{
    bool truth = false;
    switch (type) {
    case TEXT_BOOL:
        if (!text_to_bool(text, len, &truth)) {
            return false;
        }
        if (truth) {
            bit_set(data, (int64_t)row);
        }
        return true;
    case TEXT_INT64: return text_to_i64(text, len, (int64_t *)data + row);
    case TEXT_UINT64: return text_to_u64(text, len, (uint64_t *)data + row);
    case TEXT_DOUBLE: return text_to_double(text, len, (double *)data + row);
    case TEXT_DATE: return text_to_date(text, len, (int32_t *)data + row);
    case TEXT_TIMESTAMP: return text_to_timestamp(text, len, false, (int64_t *)data + row);
    default: return text_to_timestamp(text, len, true, (int64_t *)data + row);
    }
}

static grebe_status build_strings(const grebe_allocator *a, const struct csv_split *s,
                                  size_t n_rows, size_t n_columns, size_t i,
                                  struct ArrowArray *out, grebe_error *err)
{
    const struct csv_cell *cells = s->cells.cells;
    void *p = NULL;
    size_t total = 0;
    for (size_t row = 0; row < n_rows; row++) {
        total += cells[row * n_columns + i].len; /* a block is less than 2^31 bytes */
    }
    grebe_status st = array_alloc_buffer(a, out, 1, (n_rows + 1) * sizeof(int32_t), &p, err);
    if (st != GREBE_OK) {
        return st;
    }
    int32_t *offsets = p;
    st = array_alloc_buffer(a, out, 2, total, &p, err);
    if (st != GREBE_OK) {
        return st;
    }
    char *text = p;
    size_t at = 0;
    for (size_t row = 0; row < n_rows; row++) {
        struct csv_cell c = cells[row * n_columns + i];
        offsets[row] = (int32_t)at;
        if (c.is_quoted || !csv_is_null(s, c)) {
            at += csv_copy_text(text + at, s->block->data, c);
        }
    }
    offsets[n_rows] = (int32_t)at;
    return GREBE_OK;
}

static grebe_status build_values(const grebe_allocator *a, const struct csv_split *s,
                                 size_t n_rows, size_t n_columns, size_t i, unsigned type,
                                 const char *column_name, struct ArrowArray *out,
                                 grebe_error *err)
{
    void *data = NULL;
    size_t bytes = type == TEXT_BOOL   ? bitmap_bytes((int64_t)n_rows)
                   : type == TEXT_DATE ? n_rows * sizeof(int32_t)
                                       : n_rows * sizeof(int64_t);
    grebe_status st = array_alloc_buffer(a, out, 1, bytes, &data, err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(data, 0, bytes);
    for (size_t row = 0; row < n_rows; row++) {
        struct csv_cell c = s->cells.cells[row * n_columns + i];
        if (!csv_is_null(s, c) &&
            (c.is_escaped || !store_value(type, s->block->data + c.begin, c.len, data, row))) {
            return fail_value(s, c, type, column_name, err);
        }
    }
    return GREBE_OK;
}

static grebe_status build_validity(const grebe_allocator *a, const struct csv_split *s,
                                   size_t n_rows, size_t n_columns, size_t i,
                                   struct ArrowArray *out, grebe_error *err)
{
    const struct csv_cell *cells = s->cells.cells;
    void *bits = NULL;
    size_t n_nulls = 0;
    for (size_t row = 0; row < n_rows; row++) {
        n_nulls += csv_is_null(s, cells[row * n_columns + i]);
    }
    out->null_count = (int64_t)n_nulls;
    if (n_nulls == 0) {
        return GREBE_OK;
    }
    grebe_status st = array_alloc_buffer(a, out, 0, bitmap_bytes((int64_t)n_rows), &bits, err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(bits, 0, bitmap_bytes((int64_t)n_rows));
    for (size_t row = 0; row < n_rows; row++) {
        if (!csv_is_null(s, cells[row * n_columns + i])) {
            bit_set(bits, (int64_t)row);
        }
    }
    return GREBE_OK;
}

grebe_status csv_build_column(const grebe_allocator *a, const struct csv_split *s, size_t n_rows,
                              size_t n_columns, size_t i, unsigned type, const char *column_name,
                              struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(array_new(a, (int64_t)n_rows, type == 0 ? 3 : 2, 0, out, err));
    GREBE_TRY(build_validity(a, s, n_rows, n_columns, i, out, err));
    st = type == 0 ? build_strings(a, s, n_rows, n_columns, i, out, err)
                   : build_values(a, s, n_rows, n_columns, i, type, column_name, out, err);
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}
