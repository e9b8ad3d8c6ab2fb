/* SPDX-License-Identifier: Apache-2.0 */
#include "array/array_format.h"

#include "array/array_file.h"
#include "array/array_format_write.h"
#include "array/tensor_rows.h"
#include "source/matrix_reader.h"

static grebe_status read_rows(void *file, size_t column, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    if (array_info(file)->kind != ARRAY_KNN) {
        return array_read(file, begin, n, dst, err);
    }
    return array_read_knn(file, begin, n, column == 0 ? dst : NULL, column == 1 ? dst : NULL, err);
}

static void close_file(void *file) { array_close(file); }

static grebe_status open_kind(struct io_store *store, const char *path, enum array_kind kind,
                              const struct file_format *format, struct format_reader **out, grebe_error *err)
{
    struct array_file *f = NULL;
    const unsigned char *row_0 = NULL;
    struct io_info stat;
    *out = NULL;
    grebe_status st = array_open_in(store, path, kind, &f, err);
    if (st != GREBE_OK) {
        return st;
    }
    const struct array_info *info = array_info(f);
    const struct region *map = array_map(f, &row_0);
    struct matrix m = { .n_columns = 1, .n_rows = info->rows, .map = (struct region *)(uintptr_t)map, .read = read_rows,
                        .close = close_file, .file = f };
    m.columns[0] = (struct matrix_column){ "vector", tensor_arrow_format((int)info->type), true, info->columns, row_0 };
    if (info->rank < 2) {
        m.columns[0].name = "value";
        m.columns[0].is_list = false;
    }
    if (info->kind == ARRAY_KNN) {
        m.n_columns = 2;
        m.columns[0].name = "ids";
        m.columns[1] = (struct matrix_column){ "distances", 'f', true, info->columns, NULL };
    }
    if (info->kind == ARRAY_CSR || info->kind == ARRAY_MULTI || info->kind == ARRAY_RANGE) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: %s has no rows of one length (grebe ann make reads it)", path,
                        array_kind_name(info->kind, info->type));
        goto out;
    }
    GREBE_TRY(io_stat(store, path, &stat, err));
    m.file_size_bytes = stat.id.size_bytes;
    GREBE_TRY(matrix_reader_new(store->ctx, format, &m, out, err));
    f = NULL;
out:
    array_close(f);
    return st;
}

static grebe_status npy_open(struct io_store *store, const char *path, const struct file_hints *hints,
                             struct format_reader **out, grebe_error *err)
{
    struct tensor t;
    (void)hints;
    /* more than two dimensions: what array files do not have. A file that is no tensor gets the messages of array files. */
    if (tensor_open(store->ctx, path, &t, NULL) == GREBE_OK) {
        if (t.rank > 2) {
            grebe_status st = tensor_reader_new(store->ctx, &npy_format, &t, t.region->len, out, err);
            tensor_release(&t);
            return st;
        }
        tensor_release(&t);
    }
    return open_kind(store, path, ARRAY_NPY, &npy_format, out, err);
}

static grebe_status vecs_open(struct io_store *store, const char *path, const struct file_hints *hints,
                              struct format_reader **out, grebe_error *err)
{
    (void)hints;
    return open_kind(store, path, ARRAY_UNKNOWN, &vecs_format, out, err);
}

static bool npy_sniff(const unsigned char *head, size_t head_len, const unsigned char *tail, size_t tail_len)
{
    (void)tail;
    (void)tail_len;
    return array_is_npy(head, head_len);
}

static bool vecs_sniff(const unsigned char *head, size_t head_len, const unsigned char *tail, size_t tail_len)
{
    (void)head; /* numbers without a signature: only the name says what they are */
    (void)head_len;
    (void)tail;
    (void)tail_len;
    return false;
}

static const char *const npy_extensions[] = { "npy", NULL };
static const char *const vecs_extensions[] = { "fvecs",  "ivecs",  "bvecs",  "fbin",   "f32bin", "u8bin",  "bbin",
                                               "i8bin",  "ibin",   "i32bin", "f16bin", "hbin",   "dbin",   "f64bin",
                                               "u32bin", "i64bin", "u64bin", "gt",     "knn",    "csr",    "spmat",
                                               "multi",  "rangeres", NULL };

const struct file_format npy_format = {
    .name = "npy",
    .extensions = npy_extensions,
    .sniff = npy_sniff,
    .open = npy_open,
    .create = array_format_create,
};

const struct file_format vecs_format = {
    .name = "vecs",
    .extensions = vecs_extensions,
    .is_known_by_name = true,
    .sniff = vecs_sniff,
    .open = vecs_open,
    .create = array_format_create,
};
