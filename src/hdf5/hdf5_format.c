/* SPDX-License-Identifier: Apache-2.0 */
#include "hdf5/hdf5_format.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "hdf5/hdf5_file.h"
#include "source/matrix_reader.h"

enum { CHUNK_BYTES = 8 << 20 };

/* An open file and its data set. */
struct hdf5_rows {
    grebe_context *ctx;
    struct hdf5_file *f;
    const struct hdf5_data *d;
};

static char arrow_format(const struct hdf5_data *d)
{
    static const char ints[] = { 'c', 's', 'i', 'l' }, uints[] = { 'C', 'S', 'I', 'L' }, floats[] = { 0, 'e', 'f', 'g' };
    size_t log = d->size == 8 ? 3 : d->size == 4 ? 2 : d->size == 2 ? 1 : 0;
    switch (d->cls) {
    case HDF5_INT: return ints[log];
    case HDF5_UINT: return uints[log];
    case HDF5_FLOAT: return floats[log];
    case HDF5_BFLOAT: return 'f';
    case HDF5_BOOL: return 'b';
    default: return '\0';
    }
}

static grebe_status read_rows(void *file, size_t column, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    const struct hdf5_rows *r = file;
    (void)column;
    return hdf5_read(r->f, r->d, begin, n, r->d->cls == HDF5_BFLOAT ? HDF5_AS_F32 : HDF5_RAW, dst, err);
}

static void close_rows(void *file)
{
    struct hdf5_rows *r = file;
    hdf5_close(r->f);
    mem_free(r->ctx->a, r, sizeof *r);
}

static grebe_status no_name(const struct hdf5_file *f, const char *path, const char *found, grebe_error *err)
{
    char names[200];
    size_t len = 0;
    names[0] = '\0';
    for (size_t i = 0; i < hdf5_n_data(f) && len < sizeof names - 1; i++) {
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i == 0 ? "" : ", ", hdf5_data_at(f, i)->name);
    }
    if (found == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected %s#NAME, where NAME is one of %s", path, path,
                          len == 0 ? "no data set at all" : names);
    }
    return GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no data set \"%.64s\", there are %s", path, found, len == 0 ? "none" : names);
}

static grebe_status choose(struct hdf5_rows *r, const char *path, const char *name, grebe_error *err)
{
    size_t n = hdf5_n_data(r->f);
    r->d = name != NULL ? hdf5_find(r->f, name) : n == 1 ? hdf5_data_at(r->f, 0) : NULL;
    if (r->d == NULL) {
        return no_name(r->f, path, name, err);
    }
    if (r->d->trouble_status != GREBE_OK) {
        return GREBE_FAIL(err, r->d->trouble_status, "%s: %s %s", path, r->d->name, r->d->trouble);
    }
    if (arrow_format(r->d) == '\0' || r->d->rank > 2) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: %s: expected numbers of rank 1 or 2, found %s of rank %u", path,
                          r->d->name, r->d->type_name, r->d->rank);
    }
    return GREBE_OK;
}

static grebe_status hdf5_format_open(struct io_store *store, const char *path, const struct file_hints *hints,
                                     struct format_reader **out, grebe_error *err)
{
    grebe_context *ctx = store->ctx;
    grebe_status st = GREBE_OK;
    struct io_info info;
    const char *hash = NULL;
    char *file = NULL;
    struct hdf5_rows *r = NULL;
    (void)hints;
    *out = NULL;
    if (io_stat(store, path, &info, NULL) != GREBE_OK) { /* a name with '#' in it is a name first */
        hash = strrchr(path, '#');
    }
    file = hash == NULL ? str_copy(ctx->a, path) : str_copy_len(ctx->a, path, (size_t)(hash - path));
    r = mem_alloc_zero(ctx->a, sizeof *r);
    if (file == NULL || r == NULL) {
        st = mem_fail(err, strlen(path), path);
        goto out;
    }
    r->ctx = ctx;
    GREBE_TRY(io_stat(store, file, &info, err));
    GREBE_TRY(hdf5_open_in(store, file, &r->f, err));
    GREBE_TRY(choose(r, file, hash == NULL ? NULL : hash + 1, err));
    struct matrix m = { .n_columns = 1, .n_rows = r->d->shape[0], .file_size_bytes = info.id.size_bytes, .read = read_rows,
                        .close = close_rows, .file = r };
    bool is_list = r->d->rank == 2;
    m.columns[0] = (struct matrix_column){ is_list ? "vector" : "value", arrow_format(r->d), is_list, r->d->shape[1], NULL };
    if (r->d->chunk_rows > 0) { /* whole chunks of the file, so that each is decoded once */
        uint64_t row = max_size((size_t)r->d->shape[1] * r->d->size, 1), rows = CHUNK_BYTES / row;
        m.chunk_rows = rows > r->d->chunk_rows ? rows / r->d->chunk_rows * r->d->chunk_rows : r->d->chunk_rows;
    }
    GREBE_TRY(matrix_reader_new(ctx, &hdf5_format, &m, out, err));
    r = NULL;
out:
    if (r != NULL) {
        close_rows(r);
    }
    str_free(ctx->a, file);
    return st;
}

static bool hdf5_sniff(const unsigned char *head, size_t head_len, const unsigned char *tail, size_t tail_len)
{
    (void)tail;
    (void)tail_len;
    return hdf5_has_signature(head, head_len);
}

static const char *const extensions[] = { "hdf5", "h5", "he5", NULL };

const struct file_format hdf5_format = {
    .name = "hdf5",
    .extensions = extensions,
    .sniff = hdf5_sniff,
    .open = hdf5_format_open,
};
