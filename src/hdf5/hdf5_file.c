/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a file, and what its root group holds. */
#include "hdf5/hdf5_file.h"

#include <stdlib.h>
#include <string.h>

#include "hdf5/hdf5_internal.h"

/* Names that none of ours has are passed over, as are members that are no data sets. */
static grebe_status list_one(void *arg, const char *name, uint64_t header, grebe_error *err)
{
    struct hdf5_file *f = arg;
    struct hdf5_entry e;
    bool is_data = false;
    size_t n = strlen(name);
    if (n == 0 || n >= sizeof e.d.name || strchr(name, '/') != NULL) {
        return GREBE_OK;
    }
    if (hdf5_n_data(f) >= HDF5_DATA_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %d data sets in the root group", HDF5_DATA_MAX);
    }
    for (size_t i = 0; i < n; i++) { /* names go into messages */
        if ((unsigned char)name[i] < ' ' || (unsigned char)name[i] == 0x7f) {
            return GREBE_OK;
        }
    }
    grebe_status st = hdf5_describe(f, name, header, &e, &is_data, err);
    return st != GREBE_OK || !is_data ? st : buf_put(&f->data, &e, sizeof e, err);
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct hdf5_entry *)x)->d.name, ((const struct hdf5_entry *)y)->d.name);
}

grebe_status hdf5_open(grebe_context *ctx, const char *path, struct hdf5_file **out, grebe_error *err)
{
    struct io_store *store = NULL;
    *out = NULL;
    grebe_status st = io_local_new(ctx, &store, err);
    if (st == GREBE_OK) {
        st = hdf5_open_in(store, path, out, err);
    }
    if (st == GREBE_OK) {
        (*out)->store = store;
        store = NULL;
    }
    io_store_free(store);
    return st;
}

grebe_status hdf5_open_in(struct io_store *store, const char *path, struct hdf5_file **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = store->ctx;
    *out = NULL;
    struct hdf5_file *f = mem_alloc_zero(ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, path);
    }
    f->ctx = ctx;
    f->data = BUF_INIT(ctx->a);
    pthread_mutex_init(&f->lock, NULL);
    GREBE_TRY(io_open(store, path, &f->bytes, err));
    st = hdf5_superblock_read(f, err);
    if (st == GREBE_OK) {
        st = hdf5_links(f, list_one, f, err);
    }
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s", path);
        goto out;
    }
    if (f->data.len > 0) {
        qsort(f->data.data, hdf5_n_data(f), sizeof(struct hdf5_entry), by_name);
    }
    *out = f;
    f = NULL;
out:
    hdf5_close(f);
    return st;
}

void hdf5_close(struct hdf5_file *f)
{
    if (f == NULL) {
        return;
    }
    for (size_t i = 0; i < hdf5_n_data(f); i++) {
        struct hdf5_stored *s = &((struct hdf5_entry *)(void *)f->data.data + i)->s;
        mem_free(f->ctx->a, s->chunks, (size_t)(s->grid[0] * s->grid[1]) * sizeof *s->chunks);
    }
    io_close(f->bytes);
    io_store_free(f->store);
    buf_release(&f->data);
    pthread_mutex_destroy(&f->lock);
    mem_free(f->ctx->a, f, sizeof *f);
}

size_t hdf5_n_data(const struct hdf5_file *f) { return f->data.len / sizeof(struct hdf5_entry); }

const struct hdf5_data *hdf5_data_at(const struct hdf5_file *f, size_t i)
{
    return &((const struct hdf5_entry *)(const void *)f->data.data + i)->d;
}

const struct hdf5_data *hdf5_find(const struct hdf5_file *f, const char *name)
{
    for (size_t i = 0; i < hdf5_n_data(f); i++) {
        if (strcmp(hdf5_data_at(f, i)->name, name) == 0) {
            return hdf5_data_at(f, i);
        }
    }
    return NULL;
}
