/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a data set: from the file itself where they stand in one piece, else through the library as stored. */
#include "hdf5/hdf5_internal.h"

#include <stdio.h>

#include "base/checked.h"

enum { CONVERT_BYTES = 1 << 20 };

static size_t memory_bytes(const struct hdf5_data *d, enum hdf5_memory memory)
{
    return memory == HDF5_RAW ? d->size : memory == HDF5_AS_F32 ? 4 : 8;
}

/* Through the library, in the type of the file: it decodes chunks and converts nothing. */
static grebe_status read_library(struct hdf5_file *f, const struct hdf5_data *d, uint64_t begin, uint64_t n, void *dst,
                                 grebe_error *err)
{
    struct hdf5_api *api = &f->api;
    char why[160];
    bool is_done = false;
    hdf5_enter(api);
    hid_t data = api->Dopen2(f->id, d->name, H5P_DEFAULT);
    hid_t type = data < 0 ? -1 : api->Dget_type(data);
    hid_t space = data < 0 ? -1 : api->Dget_space(data);
    hsize_t start[2] = { begin, 0 }, count[2] = { n, d->shape[1] };
    hid_t memory = d->rank == 0 ? space : api->Screate_simple((int)d->rank, count, NULL);
    if (type >= 0 && space >= 0 && memory >= 0 && api->Tget_size(type) == d->size) {
        is_done = (d->rank == 0 || api->Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) &&
                  api->Dread(data, type, memory, space, H5P_DEFAULT, dst) >= 0;
    }
    if (!is_done) {
        hdf5_reason(api, why, sizeof why);
    }
    if (memory >= 0 && memory != space) {
        api->Sclose(memory);
    }
    if (space >= 0) {
        api->Sclose(space);
    }
    if (type >= 0) {
        api->Tclose(type);
    }
    if (data >= 0) {
        api->Dclose(data);
    }
    hdf5_leave(api);
    return is_done ? GREBE_OK
                   : GREBE_FAIL(err, GREBE_ECORRUPT, "%s: rows %llu to %llu cannot be read: %s", d->name,
                                (unsigned long long)begin, (unsigned long long)(begin + n), why);
}

/* Stored elements, little endian. */
static grebe_status read_stored(struct hdf5_file *f, const struct hdf5_data *d, uint64_t begin, uint64_t n, void *dst,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t row = (size_t)d->shape[1] * d->size;
    if (d->offset != UINT64_MAX) {
        st = io_read(f->bytes, d->offset + begin * row, dst, (size_t)n * row, err);
    } else {
        st = read_library(f, d, begin, n, dst, err);
    }
    if (st == GREBE_OK && d->is_big_endian) {
        hdf5_swap(dst, (size_t)(n * d->shape[1]), d->size);
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
        return GREBE_FAIL(err, d->trouble_status, "%s: %s", d->name, d->trouble);
    }
    if (d->cls == HDF5_STRING || d->cls == HDF5_OTHER || d->size == 0) {
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
    grebe_status st = check_read(d, begin, n, memory, err);
    if (st != GREBE_OK || n == 0 || d->shape[1] == 0) {
        return st;
    }
    if (is_same(d, memory)) {
        return read_stored(f, d, begin, n, dst, err);
    }
    size_t row = (size_t)d->shape[1] * d->size, out_row = (size_t)d->shape[1] * memory_bytes(d, memory);
    uint64_t rows = max_size(CONVERT_BYTES / row, 1);
    if (d->chunk_rows > 0) { /* a chunk is decoded whole whatever is taken of it */
        rows = max_size((size_t)(rows / d->chunk_rows * d->chunk_rows), (size_t)min_u64(d->chunk_rows, n));
    }
    rows = min_u64(rows, n);
    GREBE_TRY(buf_reserve(&block, (size_t)rows * row, err));
    for (uint64_t at = 0; at < n; at += rows) {
        uint64_t m = min_u64(rows, n - at);
        size_t bad = 0;
        GREBE_TRY(read_stored(f, d, begin + at, m, block.data, err));
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
