/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a data set as memory wants them. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "hdf5/hdf5_internal.h"

enum { CONVERT_BYTES = 1 << 20 };

static size_t memory_bytes(const struct hdf5_data *d, enum hdf5_memory memory)
{
    return memory == HDF5_RAW ? d->size : memory == HDF5_AS_F32 ? 4 : 8;
}

static void fill_rows(const struct hdf5_entry *e, unsigned char *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(dst + i * e->d.size, e->s.fill, e->d.size);
    }
}

/* The rows of one line of chunks: [begin, begin + n) lie in it. */
static grebe_status read_chunk_rows(struct hdf5_file *f, const struct hdf5_entry *e, uint64_t line, uint64_t begin,
                                    uint64_t n, unsigned char *dst, struct buf *values, struct buf *scratch,
                                    grebe_error *err)
{
    const struct hdf5_stored *s = &e->s;
    size_t size = e->d.size, row = (size_t)e->d.shape[1] * size, chunk_row = (size_t)s->chunk[1] * size;
    size_t bytes = (size_t)s->chunk[0] * chunk_row;
    for (uint64_t j = 0; j < s->grid[1]; j++) {
        const struct hdf5_chunk *c = &s->chunks[line * s->grid[1] + j];
        size_t columns = (size_t)min_u64(s->chunk[1], e->d.shape[1] - j * s->chunk[1]) * size;
        grebe_status st = GREBE_OK;
        if (c->at == HDF5_NOWHERE) {
            fill_rows(e, values->data, bytes / size);
        } else {
            st = hdf5_chunk_read(f, e, c, bytes, values->data, scratch, err);
        }
        if (st != GREBE_OK) {
            return error_wrap(err, st, "chunk of row %llu", (unsigned long long)(line * s->chunk[0]));
        }
        for (size_t i = 0; i < n; i++) {
            memcpy(dst + i * row + j * chunk_row, values->data + (size_t)(begin - line * s->chunk[0] + i) * chunk_row, columns);
        }
    }
    return GREBE_OK;
}

static grebe_status read_chunks(struct hdf5_file *f, struct hdf5_entry *e, uint64_t begin, uint64_t n, unsigned char *dst,
                                grebe_error *err)
{
    struct buf values = BUF_INIT(f->ctx->a), scratch = BUF_INIT(f->ctx->a);
    size_t row = (size_t)e->d.shape[1] * e->d.size;
    pthread_mutex_lock(&f->lock);
    grebe_status st = hdf5_chunks_load(f, e, err);
    pthread_mutex_unlock(&f->lock);
    if (st == GREBE_OK) {
        st = buf_reserve(&values, (size_t)(e->s.chunk[0] * e->s.chunk[1]) * e->d.size, err);
    }
    for (uint64_t at = 0; at < n && st == GREBE_OK;) {
        uint64_t line = (begin + at) / e->s.chunk[0], m = min_u64(n - at, (line + 1) * e->s.chunk[0] - begin - at);
        st = read_chunk_rows(f, e, line, begin + at, m, dst + at * row, &values, &scratch, err);
        at += m;
    }
    buf_release(&values);
    buf_release(&scratch);
    return st == GREBE_OK ? GREBE_OK : error_wrap(err, st, "%s", e->d.name);
}

/* Stored elements, little endian. */
static grebe_status read_stored(struct hdf5_file *f, struct hdf5_entry *e, uint64_t begin, uint64_t n, void *dst,
                                grebe_error *err)
{
    const struct hdf5_data *d = &e->d;
    size_t row = (size_t)d->shape[1] * d->size;
    grebe_status st = GREBE_OK;
    if (d->chunk_rows > 0) {
        st = read_chunks(f, e, begin, n, dst, err);
    } else if (d->offset != HDF5_NOWHERE) {
        st = io_read(f->bytes, d->offset + begin * row, dst, (size_t)n * row, err);
    } else { /* room was never given to it */
        fill_rows(e, dst, (size_t)(n * d->shape[1]));
    }
    if (st == GREBE_OK && d->is_big_endian) {
        swap_elements(dst, (size_t)(n * d->shape[1]), d->size);
    }
    return st;
}

/* Whether the memory type is what is stored. */
static bool is_same(const struct hdf5_data *d, enum hdf5_memory memory)
{
    return memory == HDF5_RAW || (memory == HDF5_AS_F32 && d->cls == HDF5_FLOAT && d->size == 4) ||
           (memory == HDF5_AS_F64 && d->cls == HDF5_FLOAT && d->size == 8) ||
           (memory == HDF5_AS_I64 && d->cls == HDF5_INT && d->size == 8);
}

static grebe_status check_read(const struct hdf5_data *d, uint64_t begin, uint64_t n, enum hdf5_memory memory,
                               grebe_error *err)
{
    if (d->trouble_status != GREBE_OK) {
        return GREBE_FAIL(err, d->trouble_status, "%s %s", d->name, d->trouble);
    }
    if (d->cls == HDF5_STRING || d->cls == HDF5_OTHER || d->size == 0 || d->size > HDF5_FILL_MAX) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected numbers, found %s", d->name, d->type_name);
    }
    if (d->rank > 2) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected rank 1 or 2, found rank %u", d->name, d->rank);
    }
    if (!range_fits_u64(begin, n, d->shape[0])) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected rows below %llu, found %llu to %llu", d->name,
                          (unsigned long long)d->shape[0], (unsigned long long)begin, (unsigned long long)(begin + n));
    }
    if (memory == HDF5_AS_I64 && (d->cls == HDF5_FLOAT || d->cls == HDF5_BFLOAT)) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected integers, found %s", d->name, d->type_name);
    }
    return GREBE_OK;
}

grebe_status hdf5_read(struct hdf5_file *f, const struct hdf5_data *d, uint64_t begin, uint64_t n,
                       enum hdf5_memory memory, void *dst, grebe_error *err)
{
    struct buf block = BUF_INIT(f->ctx->a);
    struct hdf5_entry *e = NULL;
    grebe_status st = check_read(d, begin, n, memory, err);
    if (st != GREBE_OK || n == 0 || d->shape[1] == 0) {
        return st;
    }
    for (size_t i = 0; i < hdf5_n_data(f) && e == NULL; i++) { /* the entry that d is the head of */
        struct hdf5_entry *one = (struct hdf5_entry *)(void *)f->data.data + i;
        e = &one->d == d ? one : NULL;
    }
    if (e == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a data set of this file", d->name);
    }
    if (is_same(d, memory)) {
        return read_stored(f, e, begin, n, dst, err);
    }
    size_t row = (size_t)d->shape[1] * d->size, out_row = (size_t)d->shape[1] * memory_bytes(d, memory);
    uint64_t rows = max_size(CONVERT_BYTES / row, 1);
    if (d->chunk_rows > 0) { /* a chunk is decoded whole whatever is taken of it */
        rows = rows > d->chunk_rows ? rows / d->chunk_rows * d->chunk_rows : d->chunk_rows;
    }
    rows = min_u64(rows, n);
    GREBE_TRY(buf_reserve(&block, (size_t)rows * row, err));
    for (uint64_t at = 0; at < n; at += rows) {
        uint64_t m = min_u64(rows, n - at);
        size_t bad = 0;
        GREBE_TRY(read_stored(f, e, begin + at, m, block.data, err));
        st = hdf5_convert(d, block.data, (size_t)(m * d->shape[1]), memory, (unsigned char *)dst + at * out_row, &bad, err);
        if (st != GREBE_OK) {
            uint64_t place = (begin + at) * d->shape[1] + bad;
            char column[32] = "";
            if (d->rank > 1) {
                snprintf(column, sizeof column, ",%llu", (unsigned long long)(place % d->shape[1]));
            }
            st = error_wrap(err, st, "%s[%llu%s]: expected a number below 2^63, found", d->name,
                            (unsigned long long)(place / d->shape[1]), column);
            goto out;
        }
    }
out:
    buf_release(&block);
    return st;
}
