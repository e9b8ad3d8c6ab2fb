/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor from any bytes, npy or torch by content: rows read whole and one by one agree, integers too, and nothing that is allocated is
 * larger than the file justifies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array/tensor.h"
#include "base/context_internal.h"
#include "bounded_memory.h"
#include "fuzz_require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUES_MAX = 1 << 20 };

static void read_rows(const struct tensor *t)
{
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t rows = t->rank == 0 ? 1 : t->shape[0];
    if (t->n_values > VALUES_MAX || rows > VALUES_MAX) {
        return;
    }
    size_t bytes = (size_t)t->n_values * tensor_type_bytes(t->type), row = rows == 0 ? 0 : bytes / (size_t)rows;
    unsigned char *whole = malloc(bytes + 1), *one = malloc(row + 1);
    int64_t *wide = malloc((size_t)t->n_values * 8 + 1), *wide_one = malloc((rows == 0 ? 0 : (size_t)(t->n_values / rows)) * 8 + 1);
    require(whole != NULL && one != NULL && wide != NULL && wide_one != NULL);
    grebe_status st = tensor_read(t, 0, rows, whole, &err), st_wide = tensor_read_i64(t, 0, rows, wide, &err);
    for (uint64_t i = 0; i < rows && i < 64; i++) {
        if (st == GREBE_OK) {
            require(tensor_read(t, i, 1, one, &err) == GREBE_OK && memcmp(one, whole + i * row, row) == 0);
        }
        if (st_wide == GREBE_OK) {
            size_t n = (size_t)(t->n_values / rows);
            require(tensor_read_i64(t, i, 1, wide_one, &err) == GREBE_OK && memcmp(wide_one, wide + i * n, n * 8) == 0);
        }
    }
    free(whole);
    free(one);
    free(wide);
    free(wide_one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[200];
    static grebe_context *ctx;
    if (path[0] == '\0') {
        const char *temp = getenv("TMPDIR");
        grebe_context_options o = { .struct_size = sizeof o, .threads = 1, .open_files_max = UINT32_MAX, .allocator = &bounded_memory()->allocator };
        snprintf(path, sizeof path, "%s/fuzz_tensor.%ld", temp != NULL ? temp : "/tmp", (long)getpid());
        require(context_new(&o, &ctx, NULL) == GREBE_OK);
    }
    FILE *f = fopen(path, "wb");
    require(f != NULL && fwrite(data, 1, size, f) == size && fclose(f) == 0);
    bounded_memory()->most_bytes = bounded_bytes(size);
    grebe_error err = GREBE_ERROR_INIT;
    struct tensor t;
    if (tensor_open(ctx, path, &t, &err) == GREBE_OK) {
        read_rows(&t);
        tensor_release(&t);
    } else {
        require(err.message[0] != '\0');
    }
    bounded_memory()->most_bytes = SIZE_MAX;
    unlink(path);
    return 0;
}
