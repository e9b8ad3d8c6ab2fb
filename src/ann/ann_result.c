/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "array/array_file.h"
#include "base/checked.h"
#include "base/endian.h"
#include "hdf5/hdf5_file.h"
#include "io/io.h"

/* What deflate can make of a byte: more elements than that cannot have been stored. */
enum { INFLATE_MAX = 1032, BLOCK_IDS = 1 << 16 };

void ann_result_init(struct ann_result *r, grebe_context *ctx)
{
    *r = (struct ann_result){ .ctx = ctx, .count = NAN, .build_seconds = NAN, .best_search_seconds = NAN,
                              .index_kb = NAN, .candidates = NAN, .run_count = NAN };
}

void ann_result_release(struct ann_result *r)
{
    size_t n = (size_t)(r->n * r->width);
    mem_free(r->ctx->a, r->ids, n * sizeof *r->ids);
    mem_free(r->ctx->a, r->distances, n * sizeof *r->distances);
    mem_free(r->ctx->a, r->times, (size_t)r->n * sizeof *r->times);
    ann_result_init(r, r->ctx);
}

grebe_status ann_result_alloc(struct ann_result *r, uint64_t n, uint64_t width, bool has_distances, bool has_times,
                              grebe_error *err)
{
    uint64_t total = 0, bytes = 0;
    if (!checked_mul_u64(n, width, &total) || !checked_mul_u64(total, sizeof *r->ids, &bytes) || bytes > SIZE_MAX / 4) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "results: %" PRIu64 " queries of %" PRIu64 " ids are beyond any memory", n, width);
    }
    r->n = n;
    r->width = width;
    r->ids = mem_alloc(r->ctx->a, (size_t)total * sizeof *r->ids);
    r->distances = has_distances ? mem_alloc(r->ctx->a, (size_t)total * sizeof *r->distances) : NULL;
    r->times = has_times ? mem_alloc(r->ctx->a, (size_t)n * sizeof *r->times) : NULL;
    bool is_short = r->ids == NULL || (has_distances && r->distances == NULL) || (has_times && r->times == NULL);
    return is_short ? mem_fail(err, (size_t)bytes, "results") : GREBE_OK;
}

/* ---- HDF5 ---- */

static grebe_status check_data(const char *path, const struct hdf5_data *d, unsigned rank, uint64_t rows, uint64_t columns,
                               grebe_error *err)
{
    if (d->trouble_status != GREBE_OK) {
        return GREBE_FAIL(err, d->trouble_status, "%s: %s: %s", path, d->name, d->trouble);
    }
    if (d->rank != rank) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected %u dimension%s, found %u", path, d->name, rank,
                          rank == 1 ? "" : "s", d->rank);
    }
    if (d->shape[0] != rows || d->shape[1] != columns) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected %" PRIu64 " x %" PRIu64 ", found %" PRIu64 " x %" PRIu64,
                          path, d->name, rows, columns, d->shape[0], d->shape[1]);
    }
    return GREBE_OK;
}

/* Memory is asked for by numbers of the file: they must fit what it stores, and the caller's limit. */
static grebe_status check_amount(const char *path, const struct hdf5_data *d, const struct call *call, grebe_error *err)
{
    uint64_t n = 0, bytes = 0, most = 0;
    bool fits = checked_mul_u64(d->shape[0], d->shape[1], &n) && checked_mul_u64(n, 16, &bytes);
    fits = fits && (!checked_mul_u64(d->storage_bytes, INFLATE_MAX, &most) || n <= most);
    if (!fits) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: claims %" PRIu64 " x %" PRIu64 " ids, stores %" PRIu64 " bytes",
                          path, d->name, d->shape[0], d->shape[1], d->storage_bytes);
    }
    if (bytes > call->memory_limit_bytes) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %s: needs %" PRIu64 " bytes, the limit is %" PRIu64, path, d->name, bytes,
                          call->memory_limit_bytes);
    }
    return GREBE_OK;
}

static grebe_status read_text(const grebe_allocator *a, struct hdf5_file *f, const char *name, char *dst, size_t room,
                              grebe_error *err)
{
    struct buf text = BUF_INIT(a);
    grebe_status st = hdf5_text(f, name, &text, NULL, err);
    if (st == GREBE_OK) {
        snprintf(dst, room, "%.*s", (int)min_size(text.len, room - 1), text.len == 0 ? "" : (const char *)text.data);
    }
    buf_release(&text);
    return st == GREBE_ENOMEM ? st : GREBE_OK; /* what is not there, or another thing, is not known */
}

static grebe_status read_attributes(struct hdf5_file *f, struct ann_result *r, grebe_error *err)
{
    const struct { const char *name; double *to; } numbers[] = {
        { "count", &r->count }, { "build_time", &r->build_seconds }, { "best_search_time", &r->best_search_seconds },
        { "index_size", &r->index_kb }, { "candidates", &r->candidates }, { "run_count", &r->run_count },
    };
    double is_batch = 0;
    grebe_status st = GREBE_OK;
    GREBE_TRY(read_text(r->ctx->a, f, "algo", r->algo, sizeof r->algo, err));
    GREBE_TRY(read_text(r->ctx->a, f, "name", r->name, sizeof r->name, err));
    GREBE_TRY(read_text(r->ctx->a, f, "dataset", r->dataset, sizeof r->dataset, err));
    GREBE_TRY(read_text(r->ctx->a, f, "distance", r->distance, sizeof r->distance, err));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (hdf5_real(f, numbers[i].name, numbers[i].to, NULL) == GREBE_ENOMEM) {
            return mem_fail(err, sizeof(double), "results");
        }
    }
    r->is_batch = hdf5_real(f, "batch_mode", &is_batch, NULL) == GREBE_OK && is_batch != 0;
out:
    return st;
}

static grebe_status read_hdf5(grebe_context *ctx, const char *path, const struct call *call, struct ann_result *out,
                              grebe_error *err)
{
    struct hdf5_file *f = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(hdf5_open(ctx, path, &f, err));
    const struct hdf5_data *ids = hdf5_find(f, "neighbors"), *distances = hdf5_find(f, "distances"),
                           *times = hdf5_find(f, "times");
    if (ids == NULL) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a data set \"neighbors\", found none", path);
        goto out;
    }
    GREBE_TRY(check_data(path, ids, 2, ids->shape[0], ids->shape[1], err));
    GREBE_TRY(check_amount(path, ids, call, err));
    if (distances != NULL) {
        GREBE_TRY(check_data(path, distances, 2, ids->shape[0], ids->shape[1], err));
    }
    if (times != NULL) {
        GREBE_TRY(check_data(path, times, 1, ids->shape[0], 1, err));
    }
    GREBE_TRY(ann_result_alloc(out, ids->shape[0], ids->shape[1], distances != NULL, times != NULL, err));
    GREBE_TRY(hdf5_read(f, ids, 0, out->n, HDF5_AS_I64, out->ids, err));
    if (distances != NULL) {
        GREBE_TRY(hdf5_read(f, distances, 0, out->n, HDF5_AS_F32, out->distances, err));
    }
    if (times != NULL) {
        GREBE_TRY(hdf5_read(f, times, 0, out->n, HDF5_AS_F64, out->times, err));
        for (uint64_t i = 0; i < out->n; i++) {
            if (!(out->times[i] >= 0) || isinf(out->times[i])) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: times[%llu]: expected seconds, found %g", path,
                                (unsigned long long)i, out->times[i]);
                goto out;
            }
        }
    }
    GREBE_TRY(read_attributes(f, out, err));
out:
    hdf5_close(f);
    return st;
}

/* ---- arrays ---- */

static int64_t id_at(enum array_type type, const unsigned char *p)
{
    switch (type) {
    case ARRAY_I8: return (int8_t)p[0];
    case ARRAY_U8: return p[0];
    case ARRAY_I16: return (int16_t)load_le16(p);
    case ARRAY_U16: return load_le16(p);
    case ARRAY_I32: return (int32_t)load_le32(p);
    case ARRAY_U32: return load_le32(p);
    default: return (int64_t)load_le64(p); /* beyond int64: negative, which is no row */
    }
}

static grebe_status read_ids(struct array_file *f, const struct array_info *info, struct ann_result *out, grebe_error *err)
{
    size_t bytes = array_type_bytes(info->type), row = (size_t)info->columns * bytes;
    uint64_t block = max_size(BLOCK_IDS / (size_t)(info->columns == 0 ? 1 : info->columns), 1);
    grebe_status st = GREBE_OK;
    unsigned char *raw = mem_alloc(out->ctx->a, (size_t)block * row);
    if (raw == NULL) {
        return mem_fail(err, (size_t)block * row, "results");
    }
    for (uint64_t at = 0; st == GREBE_OK && at < out->n; at += block) {
        uint64_t n = min_u64(block, out->n - at);
        st = array_read(f, at, n, raw, err);
        for (uint64_t i = 0; st == GREBE_OK && i < n * info->columns; i++) {
            out->ids[at * info->columns + i] = id_at(info->type, raw + i * bytes);
        }
    }
    mem_free(out->ctx->a, raw, (size_t)block * row);
    return st;
}

static grebe_status read_knn(struct array_file *f, struct ann_result *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t bytes = (size_t)out->width * sizeof(int32_t);
    int32_t *row = mem_alloc(out->ctx->a, bytes);
    if (row == NULL) {
        return mem_fail(err, bytes, "results");
    }
    for (uint64_t q = 0; st == GREBE_OK && q < out->n; q++) {
        st = array_read_knn(f, q, 1, row, out->distances + q * out->width, err);
        for (uint64_t i = 0; st == GREBE_OK && i < out->width; i++) {
            out->ids[q * out->width + i] = row[i];
        }
    }
    mem_free(out->ctx->a, row, bytes);
    return st;
}

static grebe_status read_array(grebe_context *ctx, const char *path, const struct call *call, struct ann_result *out,
                               grebe_error *err)
{
    struct array_file *f = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(array_open(ctx, path, ARRAY_UNKNOWN, &f, err));
    const struct array_info *info = array_info(f);
    bool is_knn = info->kind == ARRAY_KNN;
    bool is_ids = info->kind == ARRAY_NPY || info->kind == ARRAY_IVECS || info->kind == ARRAY_BIN;
    if (!is_knn && (!is_ids || info->type < ARRAY_I8 || info->type > ARRAY_U64)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected ids of neighbours, found %s of %s", path,
                        array_kind_name(info->kind, info->type), array_type_name(info->type));
        goto out;
    }
    if (info->columns > 0 && info->rows > call->memory_limit_bytes / 16 / info->columns) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: %" PRIu64 " x %" PRIu64 " ids are above the limit of %" PRIu64 " bytes", path,
                        info->rows, info->columns, call->memory_limit_bytes);
        goto out;
    }
    GREBE_TRY(ann_result_alloc(out, info->rows, info->columns, is_knn, false, err));
    GREBE_TRY(is_knn ? read_knn(f, out, err) : read_ids(f, info, out, err));
out:
    array_close(f);
    return st;
}

grebe_status ann_result_read(grebe_context *ctx, const char *path, const struct call *call, struct ann_result *out,
                             grebe_error *err)
{
    struct io_store *store = NULL;
    struct io_file *f = NULL;
    unsigned char head[8] = { 0 };
    size_t n = 0;
    grebe_status st = GREBE_OK;
    enum array_kind kind = ARRAY_UNKNOWN;
    enum array_type type = ARRAY_I32;
    ann_result_init(out, ctx);
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(io_open(store, path, &f, err));
    if (f->id.size_bytes >= sizeof head) {
        n = sizeof head;
        GREBE_TRY(io_read(f, 0, head, n, err));
    }
    bool is_named = array_kind_of_name(path, &kind, &type);
    bool is_hdf5 = hdf5_has_signature(head, n) || (!is_named && !array_is_npy(head, n));
    st = is_hdf5 ? read_hdf5(ctx, path, call, out, err) : read_array(ctx, path, call, out, err);
out:
    io_close(f);
    io_store_free(store);
    return st;
}

/* ---- writing ---- */

static void put_float(unsigned char *dst, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    store_le32(dst, bits);
}

static grebe_status as_int32(const struct ann_result *r, unsigned char *dst, grebe_error *err)
{
    for (uint64_t i = 0; i < r->n * r->width; i++) {
        if (r->ids[i] > INT32_MAX || r->ids[i] < -1) {
            return GREBE_FAIL(err, GREBE_EINVAL, "results: query %" PRIu64 ": id %" PRId64 " is none of 32 bits", i / r->width,
                              r->ids[i]);
        }
        store_le32(dst + 4 * i, (uint32_t)r->ids[i]);
    }
    return GREBE_OK;
}

static grebe_status put_rows(struct hdf5_writer *w, const char *name, enum hdf5_class cls, uint64_t n, uint64_t columns,
                             const void *values, grebe_error *err)
{
    grebe_status st = hdf5_write_begin(w, name, cls, 4, n, columns, err);
    st = st == GREBE_OK ? hdf5_write_rows(w, 0, n, values, err) : st;
    return st == GREBE_OK ? hdf5_write_end(w, err) : st;
}

static grebe_status put_attributes(const struct ann_result *r, struct hdf5_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct { const char *name; double value; } reals[] = {
        { "best_search_time", r->best_search_seconds }, { "build_time", r->build_seconds }, { "index_size", r->index_kb },
        { "candidates", r->candidates },
    };
    GREBE_TRY(hdf5_write_text(w, "algo", r->algo, err));
    GREBE_TRY(hdf5_write_text(w, "dataset", r->dataset, err));
    GREBE_TRY(hdf5_write_text(w, "name", r->name, err));
    GREBE_TRY(hdf5_write_text(w, "distance", r->distance, err));
    GREBE_TRY(hdf5_write_int(w, "count", isnan(r->count) ? (int64_t)r->width : (int64_t)r->count, false, err));
    GREBE_TRY(hdf5_write_int(w, "batch_mode", r->is_batch, false, err));
    GREBE_TRY(hdf5_write_int(w, "run_count", isnan(r->run_count) ? 1 : (int64_t)r->run_count, false, err));
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        if (!isnan(reals[i].value)) {
            GREBE_TRY(hdf5_write_real(w, reals[i].name, reals[i].value, err));
        }
    }
out:
    return st;
}

static grebe_status write_hdf5(const struct ann_result *r, const char *path, unsigned char *words, grebe_error *err)
{
    struct hdf5_writer *w = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(hdf5_writer_open(r->ctx, path, &w, err));
    GREBE_TRY(put_attributes(r, w, err));
    if (r->times != NULL) {
        for (uint64_t i = 0; i < r->n; i++) {
            put_float(words + 4 * i, (float)r->times[i]);
        }
        GREBE_TRY(put_rows(w, "times", HDF5_FLOAT, r->n, 0, words, err));
    }
    GREBE_TRY(as_int32(r, words, err));
    GREBE_TRY(put_rows(w, "neighbors", HDF5_INT, r->n, r->width, words, err));
    if (r->distances != NULL) {
        for (uint64_t i = 0; i < r->n * r->width; i++) {
            put_float(words + 4 * i, r->distances[i]);
        }
        GREBE_TRY(put_rows(w, "distances", HDF5_FLOAT, r->n, r->width, words, err));
    }
    GREBE_TRY(hdf5_writer_finish(w, false, err));
out:
    hdf5_writer_close(w);
    return st;
}

static grebe_status write_array(const struct ann_result *r, const char *path, enum array_kind kind, unsigned char *words,
                                grebe_error *err)
{
    struct array_writer *w = NULL;
    grebe_status st = GREBE_OK;
    bool is_wide = kind == ARRAY_NPY;
    if (!is_wide) {
        GREBE_TRY(as_int32(r, words, err));
    }
    for (uint64_t i = 0; is_wide && i < r->n * r->width; i++) {
        store_le64(words + 8 * i, (uint64_t)r->ids[i]);
    }
    GREBE_TRY(array_writer_open(r->ctx, path, kind, is_wide ? ARRAY_I64 : ARRAY_I32, r->n, r->width, &w, err));
    GREBE_TRY(array_write(w, words, r->n, err));
    GREBE_TRY(array_writer_finish(w, false, err));
out:
    array_writer_close(w);
    return st;
}

grebe_status ann_result_write(const struct ann_result *r, const char *path, grebe_error *err)
{
    enum array_kind kind = ARRAY_UNKNOWN;
    enum array_type type = ARRAY_I32;
    const char *dot = strrchr(path, '.');
    bool is_hdf5 = dot != NULL && (strcmp(dot, ".hdf5") == 0 || strcmp(dot, ".h5") == 0);
    bool is_array = !is_hdf5 && array_kind_of_name(path, &kind, &type) &&
                    (kind == ARRAY_NPY || kind == ARRAY_IVECS || (kind == ARRAY_BIN && type == ARRAY_I32));
    if (!is_hdf5 && !is_array) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: results are written as .hdf5, .h5, .npy, .ivecs or .ibin", path);
    }
    size_t bytes = (size_t)(r->n * (r->width + 1)) * 8;
    unsigned char *words = mem_alloc(r->ctx->a, bytes);
    if (words == NULL) {
        return mem_fail(err, bytes, path);
    }
    grebe_status st = is_hdf5 ? write_hdf5(r, path, words, err) : write_array(r, path, kind, words, err);
    mem_free(r->ctx->a, words, bytes);
    return st;
}
