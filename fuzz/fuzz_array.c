/* SPDX-License-Identifier: Apache-2.0 */
/* An array file from any bytes; the first byte says what its name ends in. Rows read whole and one by one must agree, allocations be bounded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/array_file.h"
#include "base/context_internal.h"
#include "bounded_memory.h"
#include "fuzz_require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUES_MAX = 1 << 20 };

static void read_dense(struct array_file *f, const struct array_info *info)
{
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t rows = info->kind == ARRAY_MULTI ? info->n_values : info->rows;
    if (info->columns == 0 || info->columns > VALUES_MAX || rows > VALUES_MAX / info->columns) {
        return;
    }
    size_t row = (size_t)info->columns * array_type_bytes(info->type);
    unsigned char *whole = malloc((size_t)rows * row + 1), *one = malloc(row + 1);
    require(whole != NULL && one != NULL);
    grebe_status st = array_read(f, 0, rows, whole, &err);
    require(st == GREBE_OK || err.message[0] != '\0');
    for (uint64_t i = 0; st == GREBE_OK && i < rows && i < 64; i++) {
        require(array_read(f, i, 1, one, &err) == GREBE_OK && memcmp(one, whole + i * row, row) == 0);
    }
    const unsigned char *row_0 = NULL;
    if (st == GREBE_OK && array_map(f, &row_0) != NULL) {
        require(memcmp(row_0, whole, (size_t)rows * row) == 0);
    }
    free(whole);
    free(one);
}

static void read_csr(struct array_file *f, const struct array_info *info)
{
    grebe_error err = GREBE_ERROR_INIT;
    if (info->rows > VALUES_MAX || info->n_values > VALUES_MAX) {
        return;
    }
    int64_t *offsets = malloc((size_t)(info->rows + 1) * 8);
    uint32_t *terms = malloc((size_t)info->n_values * 4 + 1);
    float *values = malloc((size_t)info->n_values * 4 + 1);
    require(offsets != NULL && terms != NULL && values != NULL);
    if (array_read_csr(f, 0, info->rows, offsets, terms, values, &err) == GREBE_OK) {
        require(offsets[0] == 0 && offsets[info->rows] == (int64_t)info->n_values);
    }
    free(offsets);
    free(terms);
    free(values);
}

static void read_pairs(struct array_file *f, const struct array_info *info)
{
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t n = info->kind == ARRAY_KNN ? info->rows * info->columns : info->n_values;
    if (n > VALUES_MAX) {
        return;
    }
    int32_t *ids = malloc((size_t)n * 4 + 1);
    float *distances = malloc((size_t)n * 4 + 1);
    require(ids != NULL && distances != NULL);
    require(array_read_knn(f, 0, info->kind == ARRAY_KNN ? info->rows : n, ids, distances, &err) == GREBE_OK);
    free(ids);
    free(distances);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const endings[] = { "npy", "fvecs", "ivecs", "bvecs", "fbin", "u8bin", "ibin", "dbin", "csr", "multi",
                                           "rangeres", "gt", "bin" };
    static grebe_context *ctx; /* one for all inputs */
    struct io_store *store = NULL;
    struct io_writer *w = NULL;
    struct array_file *f = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    char path[32];
    if (size == 0) {
        return 0;
    }
    snprintf(path, sizeof path, "f.%s", endings[data[0] % (sizeof endings / sizeof endings[0])]);
    grebe_context_options o = { .struct_size = sizeof o, .threads = 1, .open_files_max = UINT32_MAX, .allocator = &bounded_memory()->allocator };
    require(ctx != NULL || context_new(&o, &ctx, NULL) == GREBE_OK);
    require(io_memory_new(ctx, &store, NULL) == GREBE_OK);
    require(io_create(store, path, false, &w, NULL) == GREBE_OK);
    require(io_write(w, data + 1, size - 1, NULL) == GREBE_OK);
    require(io_writer_publish(w, true, NULL) == GREBE_OK);
    io_writer_free(w);
    bounded_memory()->most_bytes = bounded_bytes(size);
    if (array_open_in(store, path, ARRAY_UNKNOWN, &f, &err) == GREBE_OK) {
        const struct array_info *info = array_info(f);
        if (info->kind == ARRAY_CSR) {
            read_csr(f, info);
        } else if (info->kind == ARRAY_KNN || info->kind == ARRAY_RANGE) {
            read_pairs(f, info);
        } else {
            read_dense(f, info);
        }
    } else {
        require(err.message[0] != '\0');
    }
    array_close(f);
    bounded_memory()->most_bytes = SIZE_MAX;
    io_store_free(store);
    return 0;
}
