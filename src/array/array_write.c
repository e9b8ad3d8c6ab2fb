/* SPDX-License-Identifier: Apache-2.0 */
/* Writing array files: equal rows, equal bytes; a name appears when everything is there. */
#include "array/array_internal.h"
#include "base/checked.h"
#include "base/endian.h"

struct array_writer {
    grebe_context *ctx;
    struct io_store *store;
    struct io_writer *to;
    enum array_kind kind;
    enum array_type type;
    uint64_t rows, columns, n_done;
};

static grebe_status open_writer(grebe_context *ctx, const char *path, struct array_writer **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct array_writer *w = mem_alloc_zero(ctx->a, sizeof *w);
    *out = NULL;
    if (w == NULL) {
        return mem_fail(err, sizeof *w, path);
    }
    w->ctx = ctx;
    GREBE_TRY(io_local_new(ctx, &w->store, err));
    GREBE_TRY(io_create(w->store, path, false, &w->to, err));
    *out = w;
    w = NULL;
out:
    array_writer_close(w);
    return st;
}

static grebe_status write_head(struct array_writer *w, grebe_error *err)
{
    unsigned char head[16];
    struct buf text = BUF_INIT(w->ctx->a);
    grebe_status st = GREBE_OK;
    if (w->kind == ARRAY_NPY) {
        st = array_npy_header(&text, w->type, w->rows, w->columns, err);
        if (st == GREBE_OK) {
            st = io_write(w->to, text.data, text.len, err);
        }
    } else if (w->kind == ARRAY_BIN && w->rows > UINT32_MAX) {
        store_le64(head, w->rows);
        store_le64(head + 8, w->columns);
        st = io_write(w->to, head, 16, err);
    } else if (w->kind == ARRAY_BIN || w->kind == ARRAY_KNN) {
        store_le32(head, (uint32_t)w->rows);
        store_le32(head + 4, (uint32_t)w->columns);
        st = io_write(w->to, head, 8, err);
    }
    buf_release(&text);
    return st;
}

static grebe_status check_kind(const char *path, enum array_kind kind, enum array_type type, uint64_t rows,
                               uint64_t columns, grebe_error *err)
{
    bool is_vecs = kind == ARRAY_FVECS || kind == ARRAY_IVECS || kind == ARRAY_BVECS;
    enum array_type expected = kind == ARRAY_FVECS ? ARRAY_F32 : kind == ARRAY_BVECS ? ARRAY_U8 : ARRAY_I32;
    if (!is_vecs && kind != ARRAY_NPY && kind != ARRAY_BIN && kind != ARRAY_KNN) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected npy, fvecs, ivecs, bvecs, bin or knn", path);
    }
    if (is_vecs && type != expected) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: %s: expected %s, found %s", path, array_kind_name(kind, type),
                          array_type_name(expected), array_type_name(type));
    }
    if ((kind != ARRAY_NPY && columns == 0) || (kind != ARRAY_NPY && columns > ARRAY_COLUMNS_MAX) ||
        (!is_vecs && rows == UINT64_MAX) || (kind == ARRAY_KNN && rows > UINT32_MAX)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected known rows and from 1 to %d columns, found %llu", path,
                          ARRAY_COLUMNS_MAX, (unsigned long long)columns);
    }
    return GREBE_OK;
}

grebe_status array_writer_open(grebe_context *ctx, const char *path, enum array_kind kind, enum array_type type,
                               uint64_t rows, uint64_t columns, struct array_writer **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct array_writer *w = NULL;
    *out = NULL;
    GREBE_TRY(check_kind(path, kind, type, rows, columns, err));
    GREBE_TRY(open_writer(ctx, path, &w, err));
    w->kind = kind;
    w->type = kind == ARRAY_KNN ? ARRAY_I32 : type;
    w->rows = rows;
    w->columns = columns;
    GREBE_TRY(write_head(w, err));
    *out = w;
    w = NULL;
out:
    array_writer_close(w);
    return st;
}

grebe_status array_write(struct array_writer *w, const void *rows, uint64_t n, grebe_error *err)
{
    const unsigned char *p = rows;
    size_t row = (size_t)(w->columns == 0 ? 1 : w->columns) * array_type_bytes(w->type);
    uint64_t most = w->kind == ARRAY_KNN ? 2 * w->rows : w->rows;
    unsigned char length[4];
    grebe_status st = GREBE_OK;
    if (!range_fits_u64(w->n_done, n, most)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected %llu rows, found more", w->to->path, (unsigned long long)most);
    }
    w->n_done += n;
    if (w->kind != ARRAY_FVECS && w->kind != ARRAY_IVECS && w->kind != ARRAY_BVECS) {
        return io_write(w->to, rows, (size_t)n * row, err);
    }
    store_le32(length, (uint32_t)w->columns);
    for (uint64_t i = 0; i < n && st == GREBE_OK; i++, p += row) {
        st = io_write(w->to, length, sizeof length, err);
        if (st == GREBE_OK) {
            st = io_write(w->to, p, row, err);
        }
    }
    return st;
}

grebe_status array_writer_finish(struct array_writer *w, bool is_durable, grebe_error *err)
{
    uint64_t expected = w->kind == ARRAY_KNN ? 2 * w->rows : w->rows;
    if (w->rows != UINT64_MAX && w->n_done != expected) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected %llu rows, found %llu", w->to->path,
                          (unsigned long long)expected, (unsigned long long)w->n_done);
    }
    w->to->is_durable = is_durable;
    return io_writer_publish(w->to, true, err);
}

void array_writer_close(struct array_writer *w)
{
    if (w != NULL) {
        io_writer_free(w->to);
        io_store_free(w->store);
        mem_free(w->ctx->a, w, sizeof *w);
    }
}

grebe_status array_write_csr(grebe_context *ctx, const char *path, uint64_t n, uint64_t n_terms, const int64_t *offsets,
                             const uint32_t *terms, const float *values, bool is_durable, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct array_writer *w = NULL;
    unsigned char head[24];
    size_t nnz = (size_t)offsets[n];
    GREBE_TRY(open_writer(ctx, path, &w, err));
    store_le64(head, n);
    store_le64(head + 8, n_terms);
    store_le64(head + 16, nnz);
    GREBE_TRY(io_write(w->to, head, sizeof head, err));
    GREBE_TRY(io_write(w->to, offsets, (size_t)(n + 1) * 8, err));
    if (nnz > 0) {
        GREBE_TRY(io_write(w->to, terms, nnz * 4, err));
        GREBE_TRY(io_write(w->to, values, nnz * 4, err));
    }
    w->to->is_durable = is_durable;
    st = io_writer_publish(w->to, true, err);
out:
    array_writer_close(w);
    return st;
}

grebe_status array_write_multi(grebe_context *ctx, const char *path, uint64_t n, uint32_t dim, const int64_t *offsets,
                               const float *vectors, bool is_durable, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct array_writer *w = NULL;
    unsigned char head[12];
    if (n > UINT32_MAX || offsets[n] > (int64_t)UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most 2^32 documents and vectors, found %llu and %lld", path,
                          (unsigned long long)n, (long long)offsets[n]);
    }
    GREBE_TRY(open_writer(ctx, path, &w, err));
    store_le32(head, (uint32_t)n);
    store_le32(head + 4, dim);
    store_le32(head + 8, (uint32_t)offsets[n]);
    GREBE_TRY(io_write(w->to, head, sizeof head, err));
    for (uint64_t i = 0; i < n; i++) {
        store_le32(head, (uint32_t)(offsets[i + 1] - offsets[i]));
        GREBE_TRY(io_write(w->to, head, 4, err));
    }
    if (offsets[n] > 0) {
        GREBE_TRY(io_write(w->to, vectors, (size_t)offsets[n] * dim * 4, err));
    }
    w->to->is_durable = is_durable;
    st = io_writer_publish(w->to, true, err);
out:
    array_writer_close(w);
    return st;
}
