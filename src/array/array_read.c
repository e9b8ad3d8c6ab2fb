/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of array files, packed and little endian, with every number checked that a place is made of. */
#include <string.h>

#include "array/array_internal.h"
#include "base/checked.h"
#include "base/endian.h"

enum { BLOCK_BYTES = 1 << 20 };

static grebe_status check_range(const struct array_file *f, uint64_t begin, uint64_t n, uint64_t rows, grebe_error *err)
{
    return range_fits_u64(begin, n, rows)
               ? GREBE_OK
               : GREBE_FAIL(err, GREBE_EINVAL, "%s: expected rows below %llu, found %llu to %llu", f->bytes->path,
                            (unsigned long long)rows, (unsigned long long)begin, (unsigned long long)(begin + n));
}

/* fvecs and their kin: the lengths are checked and left out. */
static grebe_status read_records(struct array_file *f, uint64_t begin, uint64_t n, unsigned char *dst, grebe_error *err)
{
    size_t row = (size_t)f->info.columns * array_type_bytes(f->info.type), record = f->row_head + row;
    struct buf block = BUF_INIT(f->ctx->a);
    grebe_status st = GREBE_OK;
    uint64_t step = max_size(BLOCK_BYTES / record, 1);
    GREBE_TRY(buf_reserve(&block, (size_t)min_u64(step, n) * record, err));
    for (uint64_t at = 0; at < n; at += step) {
        uint64_t m = min_u64(step, n - at);
        GREBE_TRY(io_read(f->bytes, (begin + at) * record, block.data, (size_t)m * record, err));
        for (size_t i = 0; i < m; i++, dst += row) {
            const unsigned char *p = block.data + i * record;
            if (load_le32(p) != f->info.columns) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: vector %llu: expected %llu components, found %lld",
                                f->bytes->path, array_kind_name(f->info.kind, f->info.type),
                                (unsigned long long)(begin + at + i), (unsigned long long)f->info.columns,
                                (long long)(int32_t)load_le32(p));
                goto out;
            }
            memcpy(dst, p + f->row_head, row);
        }
    }
out:
    buf_release(&block);
    return st;
}

/* Fortran order: the rows' part of each column, put across. */
static grebe_status read_columns(struct array_file *f, uint64_t begin, uint64_t n, unsigned char *dst, grebe_error *err)
{
    size_t size = array_type_bytes(f->info.type), row = (size_t)f->info.columns * size;
    struct buf block = BUF_INIT(f->ctx->a);
    grebe_status st = GREBE_OK;
    uint64_t step = min_u64(n, BLOCK_BYTES / size);
    GREBE_TRY(buf_reserve(&block, (size_t)step * size, err));
    for (uint64_t at = 0; at < n; at += step) {
        size_t m = (size_t)min_u64(step, n - at);
        for (uint64_t c = 0; c < f->info.columns; c++) {
            GREBE_TRY(io_read(f->bytes, f->offset + (c * f->info.rows + begin + at) * size, block.data, m * size, err));
            for (size_t i = 0; i < m; i++) {
                memcpy(dst + (at + i) * row + c * size, block.data + i * size, size);
            }
        }
    }
out:
    buf_release(&block);
    return st;
}

grebe_status array_read(struct array_file *f, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    size_t size = array_type_bytes(f->info.type);
    uint64_t rows = f->info.kind == ARRAY_MULTI ? f->info.n_values : f->info.rows;
    grebe_status st = check_range(f, begin, n, rows, err);
    if (st != GREBE_OK || n == 0 || f->info.columns == 0) {
        return st;
    }
    if (f->info.kind == ARRAY_CSR || f->info.kind == ARRAY_RANGE) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: %s has no dense rows", f->bytes->path,
                          array_kind_name(f->info.kind, f->info.type));
    }
    if (f->row_head > 0) {
        st = read_records(f, begin, n, dst, err);
    } else if (f->is_by_column) {
        st = read_columns(f, begin, n, dst, err);
    } else {
        uint64_t at = f->offset + (f->info.kind == ARRAY_MULTI ? 4 * f->info.rows : 0);
        size_t row = (size_t)f->info.columns * size;
        st = io_read(f->bytes, at + begin * row, dst, (size_t)n * row, err);
    }
    if (st == GREBE_OK && f->is_big_endian) {
        swap_elements(dst, (size_t)(n * f->info.columns), size);
    }
    return st;
}

grebe_status array_read_knn(struct array_file *f, uint64_t begin, uint64_t n, int32_t *ids, float *distances,
                            grebe_error *err)
{
    bool is_range = f->info.kind == ARRAY_RANGE;
    uint64_t rows = is_range ? f->info.n_values : f->info.rows, columns = is_range ? 1 : f->info.columns;
    uint64_t at = f->offset + (is_range ? 4 * f->info.rows : 0);
    grebe_status st = check_range(f, begin, n, rows, err);
    if (st == GREBE_OK && !is_range && f->info.kind != ARRAY_KNN) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: %s has no ids with distances", f->bytes->path,
                        array_kind_name(f->info.kind, f->info.type));
    }
    if (st == GREBE_OK && ids != NULL) {
        st = io_read(f->bytes, at + begin * columns * 4, ids, (size_t)(n * columns * 4), err);
    }
    if (st == GREBE_OK && distances != NULL) {
        st = io_read(f->bytes, at + (rows + begin) * columns * 4, distances, (size_t)(n * columns * 4), err);
    }
    return st;
}

grebe_status array_read_counts(struct array_file *f, uint64_t begin, uint64_t n, uint32_t *counts, grebe_error *err)
{
    grebe_status st = check_range(f, begin, n, f->info.rows, err);
    if (st == GREBE_OK && f->info.kind != ARRAY_MULTI && f->info.kind != ARRAY_RANGE) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: %s has no counts", f->bytes->path,
                        array_kind_name(f->info.kind, f->info.type));
    }
    return st != GREBE_OK ? st : io_read(f->bytes, f->offset + begin * 4, counts, (size_t)n * 4, err);
}

grebe_status array_read_csr(struct array_file *f, uint64_t begin, uint64_t n, int64_t *offsets, uint32_t *terms,
                            float *values, grebe_error *err)
{
    grebe_status st = check_range(f, begin, n, f->info.rows, err);
    if (st == GREBE_OK && f->info.kind != ARRAY_CSR) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: %s has no sparse rows", f->bytes->path,
                        array_kind_name(f->info.kind, f->info.type));
    }
    if (st == GREBE_OK) {
        st = io_read(f->bytes, f->offset + begin * 8, offsets, (size_t)(n + 1) * 8, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    int64_t first = offsets[0];
    if (first < 0 || (uint64_t)first > f->info.n_values) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: csr: row %llu begins at %lld of %llu values", f->bytes->path,
                          (unsigned long long)begin, (long long)first, (unsigned long long)f->info.n_values);
    }
    for (uint64_t i = 0; i <= n; i++) {
        if ((uint64_t)offsets[i] > f->info.n_values || (i > 0 && offsets[i] - first < offsets[i - 1])) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: csr: row %llu ends at %lld, expected %lld to %llu", f->bytes->path,
                              (unsigned long long)(begin + i - 1), (long long)offsets[i],
                              (long long)(offsets[i - 1] + first), (unsigned long long)f->info.n_values);
        }
        offsets[i] -= first;
    }
    uint64_t n_values = (uint64_t)offsets[n], at = f->offset + (f->info.rows + 1) * 8;
    if (terms != NULL && n_values > 0) {
        st = io_read(f->bytes, at + (uint64_t)first * 4, terms, (size_t)n_values * 4, err);
        for (uint64_t i = 0; i < n_values && st == GREBE_OK; i++) {
            if (terms[i] >= f->n_terms) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: csr: value %llu: expected a column below %llu, found %lld",
                                f->bytes->path, (unsigned long long)first + i, (unsigned long long)f->n_terms,
                                (long long)(int32_t)terms[i]);
            }
        }
    }
    if (st == GREBE_OK && values != NULL && n_values > 0) {
        st = io_read(f->bytes, at + (f->info.n_values + (uint64_t)first) * 4, values, (size_t)n_values * 4, err);
    }
    return st;
}
