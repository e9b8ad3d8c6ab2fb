/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_array.h"

#include <assert.h>

#include "arrow/array_select.h"
#include "base/checked.h"
#include "base/endian.h"

grebe_status array_gather(const grebe_allocator *a, const struct ArrowSchema *schema,
                          const struct ArrowArray *array, const int64_t *rows, int64_t n,
                          struct ArrowArray *out, grebe_error *err)
{
    bool has_fill = false;
    for (int64_t i = 0; i < n; i++) {
        assert(rows[i] >= -1 && rows[i] < array->length);
        has_fill = has_fill || rows[i] < 0;
    }
    static const int64_t no_rows[1] = { 0 };
    struct selection sel = { array, rows != NULL ? rows : no_rows, NULL, (size_t)n, 0, has_fill };
    struct select s = { a, &sel, 1, n, false, 0, err };
    return select_node(&s, schema, out);
}

/* Runs of ones in keep, appended to ranges. */
static grebe_status keep_ranges(const grebe_allocator *a, const uint8_t *keep, int64_t length,
                                struct row_range **out, size_t *out_len, size_t *n_ranges,
                                grebe_error *err)
{
    struct row_range *ranges = NULL;
    size_t capacity = 0;
    size_t n = 0;
    *out = NULL;
    *out_len = 0;
    *n_ranges = 0;
    for (int64_t i = 0; i < length;) {
        if ((i & 63) == 0 && length - i >= 64 && load_le64(keep + (i >> 3)) == 0) {
            i += 64;
            continue;
        }
        if (!bit_get(keep, i)) {
            i++;
            continue;
        }
        int64_t begin = i;
        while (i < length && bit_get(keep, i)) {
            bool is_full_word = (i & 63) == 0 && length - i >= 64 &&
                                load_le64(keep + (i >> 3)) == UINT64_MAX;
            i += is_full_word ? 64 : 1;
        }
        if (n == capacity) {
            size_t grown = capacity * 2 + 64;
            struct row_range *p = mem_resize(a, ranges, capacity * sizeof *p, grown * sizeof *p);
            if (p == NULL) {
                mem_free(a, ranges, capacity * sizeof *ranges);
                return mem_fail(err, grown * sizeof *p, "ranges of rows");
            }
            ranges = p;
            capacity = grown;
        }
        ranges[n++] = (struct row_range){ begin, i - begin };
    }
    *out = ranges;
    *out_len = capacity * sizeof *ranges;
    *n_ranges = n;
    return GREBE_OK;
}

/* Short runs cost more as ranges than row by row. */
static grebe_status filter_by_rows(const grebe_allocator *a, const struct ArrowSchema *schema,
                                   const struct ArrowArray *array, const struct row_range *ranges,
                                   size_t n_ranges, int64_t n_rows, struct ArrowArray *out,
                                   grebe_error *err)
{
    size_t len = (size_t)n_rows * sizeof(int64_t);
    int64_t *rows = mem_alloc(a, len);
    if (rows == NULL) {
        return mem_fail(err, len, "row numbers");
    }
    int64_t *p = rows;
    for (size_t i = 0; i < n_ranges; i++) {
        for (int64_t k = 0; k < ranges[i].len; k++) {
            *p++ = ranges[i].begin + k;
        }
    }
    struct selection sel = { array, rows, NULL, (size_t)n_rows, 0, false };
    struct select s = { a, &sel, 1, n_rows, false, 0, err };
    grebe_status st = select_node(&s, schema, out);
    mem_free(a, rows, len);
    return st;
}

grebe_status array_filter(const grebe_allocator *a, const struct ArrowSchema *schema,
                          const struct ArrowArray *array, const uint8_t *keep,
                          struct ArrowArray *out, grebe_error *err)
{
    enum { SHORT_RUN_MAX = 4 };
    struct row_range *ranges = NULL;
    size_t ranges_len = 0;
    size_t n_ranges = 0;

    memset(out, 0, sizeof *out);
    grebe_status st = keep_ranges(a, keep, array->length, &ranges, &ranges_len, &n_ranges, err);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t n_rows = bitmap_count(keep, 0, array->length);
    if (n_rows > 0 && n_rows <= (int64_t)n_ranges * SHORT_RUN_MAX) {
        st = filter_by_rows(a, schema, array, ranges, n_ranges, n_rows, out, err);
    } else {
        struct selection sel = { array, NULL, ranges, n_ranges, 0, false };
        struct select s = { a, &sel, 1, n_rows, false, 0, err };
        st = select_node(&s, schema, out);
    }
    mem_free(a, ranges, ranges_len);
    return st;
}

grebe_status array_concat(const grebe_allocator *a, const struct ArrowSchema *schema,
                          const struct ArrowArray *const *arrays, size_t n,
                          struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct selection *sels = NULL;
    struct row_range *ranges = NULL;
    int64_t n_rows = 0;

    assert(n >= 1);
    memset(out, 0, sizeof *out);
    sels = mem_alloc_zero(a, n * sizeof *sels);
    ranges = mem_alloc_zero(a, n * sizeof *ranges);
    if (sels == NULL || ranges == NULL) {
        st = mem_fail(err, n * sizeof *sels, "selections");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        ranges[i] = (struct row_range){ 0, arrays[i]->length };
        sels[i] = (struct selection){ arrays[i], NULL, &ranges[i], 1, 0, false };
        if (!checked_add_i64(n_rows, arrays[i]->length, &n_rows)) {
            st = GREBE_FAIL(err, GREBE_ELIMIT, "more rows than 64 bits count");
            goto out;
        }
    }
    struct select s = { a, sels, n, n_rows, false, 0, err };
    GREBE_TRY(select_node(&s, schema, out));
out:
    mem_free(a, sels, n * sizeof *sels);
    mem_free(a, ranges, n * sizeof *ranges);
    return st;
}
