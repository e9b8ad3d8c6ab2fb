/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole HDF5 file from any bytes: every data set is read whole and in parts, which must agree; then as a benchmark data set,
 * which is checked when it can be loaded.
 */
#include <stdlib.h>
#include <string.h>

#include "ann/ann_internal.h"
#include "fuzz_require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUES_MAX = 1 << 20 };

static void listen(void *arg, enum ann_level level, const char *place, const char *message)
{
    (void)arg;
    (void)level;
    require(place[0] != '\0' && message[0] != '\0' && strchr(message, '\n') == NULL);
}

static void read_data(struct hdf5_file *f, const struct hdf5_data *d)
{
    grebe_error err = GREBE_ERROR_INIT;
    if (d->trouble_status != GREBE_OK || d->cls == HDF5_OTHER || d->cls == HDF5_STRING || d->rank > 2 || d->shape[1] == 0 ||
        d->shape[0] > VALUES_MAX / d->shape[1]) {
        return;
    }
    size_t n = (size_t)(d->shape[0] * d->shape[1]), row = (size_t)d->shape[1] * d->size;
    unsigned char *whole = malloc(n * 8 + 1), *part = malloc(n * 8 + 1);
    require(whole != NULL && part != NULL);
    grebe_status st = hdf5_read(f, d, 0, d->shape[0], HDF5_RAW, whole, &err);
    require(st == GREBE_OK || err.message[0] != '\0');
    for (uint64_t at = 0; st == GREBE_OK && at < d->shape[0] && at < 64; at += 3) {
        uint64_t m = d->shape[0] - at < 3 ? d->shape[0] - at : 3;
        require(hdf5_read(f, d, at, m, HDF5_RAW, part, &err) == GREBE_OK);
        require(memcmp(part, whole + at * row, (size_t)m * row) == 0);
    }
    (void)!hdf5_read(f, d, 0, d->shape[0], HDF5_AS_F64, part, &err);
    free(whole);
    free(part);
}

static void read_file(struct io_store *store)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct hdf5_file *f = NULL;
    struct buf text = BUF_INIT(store->ctx->a);
    int64_t n = 0;
    if (hdf5_open_in(store, "f.hdf5", &f, &err) != GREBE_OK) {
        require(err.message[0] != '\0');
        return;
    }
    for (size_t i = 0; i < hdf5_n_data(f) && i < 32; i++) {
        require(hdf5_find(f, hdf5_data_at(f, i)->name) != NULL);
        read_data(f, hdf5_data_at(f, i));
    }
    (void)!hdf5_text(f, "distance", &text, NULL, &err);
    (void)!hdf5_text(f, "type", &text, NULL, &err);
    (void)!hdf5_int(f, "multi_vector_dim", &n, &err);
    buf_release(&text);
    hdf5_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct io_writer *w = NULL;
    struct ann_dataset *d = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    require(context_new(NULL, &ctx, NULL) == GREBE_OK);
    require(io_memory_new(ctx, &store, NULL) == GREBE_OK);
    require(io_create(store, "f.hdf5", false, &w, NULL) == GREBE_OK);
    require(io_write(w, data, size, NULL) == GREBE_OK);
    require(io_writer_publish(w, true, NULL) == GREBE_OK);
    io_writer_free(w);
    read_file(store);
    struct call call = { .threads = 1, .memory_limit_bytes = 64 << 20 };
    struct ann_open_options o = { .allow_padding = true, .finding = listen, .store = store };
    if (ann_dataset_open(ctx, "f.hdf5", &o, &call, &d, &err) == GREBE_OK) {
        struct ann_checker c = { .d = d, .call = &call, .finding = listen };
        bool is_small = d->test.n * d->k < 4096 && d->train.n < 4096 && d->train.dim < 4096 &&
                        (d->train.offsets == NULL || d->train.offsets[d->train.n] < 4096) &&
                        (d->test.offsets == NULL || d->test.offsets[d->test.n] < 256);
        require(!is_small || ann_check_content(&c, &err) == GREBE_OK);
    } else {
        require(err.message[0] != '\0');
    }
    ann_dataset_free(d);
    io_store_free(store);
    context_free(ctx);
    return 0;
}
