/* SPDX-License-Identifier: Apache-2.0 */
/* A data set as HDF5, laid out as VSAG writes it: attributes and data sets in a fixed order, nothing that differs by time. */
#include <string.h>

#include "ann/ann_dataset.h"
#include "base/checked.h"
#include "base/endian.h"
#include "hdf5/hdf5_file.h"

enum { BLOCK_BYTES = 4 << 20 };

struct ann_writer {
    struct hdf5_writer *w;
    const struct ann_dataset *d;
    const struct call *call;
    struct buf block;
    grebe_progress progress;
};

static grebe_status step(struct ann_writer *w, uint64_t bytes, grebe_error *err)
{
    w->progress.bytes_done += bytes;
    if (w->call->progress != NULL) {
        w->call->progress(w->call->progress_ctx, &w->progress);
    }
    return call_check(w->call, err);
}

/* A whole data set that is in memory as it will be stored. columns 0: rank 1. */
static grebe_status write_plain(struct ann_writer *w, const char *name, enum hdf5_class cls, unsigned size, uint64_t rows,
                                uint64_t columns, const void *values, grebe_error *err)
{
    const unsigned char *p = values;
    grebe_status st = hdf5_write_begin(w->w, name, cls, size, rows, columns, err);
    size_t row = (size_t)(columns == 0 ? 1 : columns) * size;
    uint64_t n = max_size(BLOCK_BYTES / row, 1);
    for (uint64_t at = 0; at < rows && st == GREBE_OK; at += n) {
        uint64_t m = min_u64(n, rows - at);
        st = hdf5_write_rows(w->w, at, m, p + at * row, err);
        if (st == GREBE_OK) {
            st = step(w, m * row, err);
        }
    }
    return st == GREBE_OK ? hdf5_write_end(w->w, err) : st;
}

/* Rows that are written as they are held, in memory or read by blocks. */
static grebe_status write_rows(struct ann_writer *w, const char *name, enum hdf5_class cls, unsigned size,
                               const struct ann_vectors *v, grebe_error *err)
{
    struct ann_rows rows = ann_rows_of(v);
    size_t row = (size_t)v->dim * size;
    uint64_t n = ann_block_rows(&rows, w->call);
    grebe_status st = GREBE_OK;
    if (rows.read == NULL) {
        return write_plain(w, name, cls, size, v->n, v->dim, v->dense, err);
    }
    buf_clear(&w->block);
    GREBE_TRY(buf_reserve(&w->block, (size_t)n * row, err));
    GREBE_TRY(hdf5_write_begin(w->w, name, cls, size, v->n, v->dim, err));
    for (uint64_t at = 0; at < v->n; at += n) {
        uint64_t m = min_u64(n, v->n - at);
        GREBE_TRY(rows.read(rows.arg, at, m, w->block.data, err));
        GREBE_TRY(hdf5_write_rows(w->w, at, m, w->block.data, err));
        GREBE_TRY(step(w, m * row, err));
    }
    st = hdf5_write_end(w->w, err);
out:
    return st;
}

/* Packed bits as bytes 0 and 1. */
static grebe_status write_bits(struct ann_writer *w, const char *name, const struct ann_vectors *v, grebe_error *err)
{
    size_t packed = vector_row_bytes(VECTOR_BIT, v->dim);
    uint64_t n = max_size(BLOCK_BYTES / max_size(v->dim, 1), 1);
    struct ann_rows rows = ann_rows_of(v);
    struct buf read = BUF_INIT(w->d->ctx->a);
    grebe_status st = buf_reserve(&read, rows.read != NULL ? (size_t)min_u64(n, v->n) * packed : 1, err);
    st = st == GREBE_OK ? hdf5_write_begin(w->w, name, HDF5_BOOL, 1, v->n, v->dim, err) : st;
    for (uint64_t at = 0; at < v->n && st == GREBE_OK; at += n) {
        uint64_t m = min_u64(n, v->n - at);
        const void *p = NULL;
        buf_clear(&w->block);
        st = buf_put_zero(&w->block, (size_t)m * v->dim, err);
        st = st == GREBE_OK ? ann_rows_get(&rows, at, m, read.data, &p, err) : st;
        for (size_t i = 0; i < m && st == GREBE_OK; i++) {
            const unsigned char *bits = (const unsigned char *)p + i * packed;
            for (size_t j = 0; j < v->dim; j++) {
                w->block.data[i * v->dim + j] = bits[j / 8] >> (7 - j % 8) & 1;
            }
        }
        if (st == GREBE_OK) {
            st = hdf5_write_rows(w->w, at, m, w->block.data, err);
        }
        if (st == GREBE_OK) {
            st = step(w, m * v->dim, err);
        }
    }
    buf_release(&read);
    return st == GREBE_OK ? hdf5_write_end(w->w, err) : st;
}

/* bfloat16 is no type that HDF5 files have: float32 holds every value. */
static grebe_status write_bfloat(struct ann_writer *w, const char *name, const struct ann_vectors *v, grebe_error *err)
{
    size_t row = vector_row_bytes(VECTOR_BF16, v->dim);
    grebe_status st = hdf5_write_begin(w->w, name, HDF5_FLOAT, 4, v->n, v->dim, err);
    buf_clear(&w->block);
    if (st == GREBE_OK) {
        st = buf_put_zero(&w->block, (size_t)v->dim * sizeof(float), err);
    }
    for (uint64_t i = 0; i < v->n && st == GREBE_OK; i++) {
        vector_to_f32(VECTOR_BF16, (const unsigned char *)v->dense + i * row, v->dim, (float *)(void *)w->block.data);
        st = hdf5_write_rows(w->w, i, 1, w->block.data, err);
    }
    return st == GREBE_OK ? hdf5_write_end(w->w, err) : st;
}

static grebe_status write_dense(struct ann_writer *w, const char *name, const struct ann_vectors *v, grebe_error *err)
{
    switch (v->elem) {
    case VECTOR_F32: return write_rows(w, name, HDF5_FLOAT, 4, v, err);
    case VECTOR_F16: return write_rows(w, name, HDF5_FLOAT, 2, v, err);
    case VECTOR_F64: return write_rows(w, name, HDF5_FLOAT, 8, v, err);
    case VECTOR_I8: return write_rows(w, name, HDF5_INT, 1, v, err);
    case VECTOR_U8: return write_rows(w, name, HDF5_UINT, 1, v, err);
    case VECTOR_BIT: return write_bits(w, name, v, err);
    case VECTOR_BF16: return write_bfloat(w, name, v, err);
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "%s: element type %d", name, (int)v->elem);
}

/* Records of a count, ids, and values (NULL: none), and where each begins. */
static grebe_status write_records(struct ann_writer *w, const char *name, const char *offsets, uint64_t n,
                                  const int64_t *at, const uint32_t *terms, const float *values, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t width = values == NULL ? 4 : 8;
    uint64_t bytes = 4 * n + (uint64_t)at[n] * width, done = 0, block_at = 0;
    struct buf places = BUF_INIT(w->d->ctx->a);
    buf_clear(&w->block);
    GREBE_TRY(buf_put(&places, &done, sizeof done, err));
    GREBE_TRY(hdf5_write_begin(w->w, name, HDF5_INT, 1, bytes, 0, err));
    for (uint64_t i = 0; i < n; i++) {
        size_t count = (size_t)(at[i + 1] - at[i]);
        unsigned char head[4];
        store_le32(head, (uint32_t)count);
        GREBE_TRY(buf_put(&w->block, head, sizeof head, err));
        if (count > 0) {
            GREBE_TRY(buf_put(&w->block, terms + at[i], count * 4, err));
        }
        if (count > 0 && values != NULL) {
            GREBE_TRY(buf_put(&w->block, values + at[i], count * 4, err));
        }
        done += 4 + count * width;
        GREBE_TRY(buf_put(&places, &done, sizeof done, err));
        if (w->block.len >= BLOCK_BYTES || i + 1 == n) {
            GREBE_TRY(hdf5_write_rows(w->w, block_at, w->block.len, w->block.data, err));
            GREBE_TRY(step(w, w->block.len, err));
            block_at += w->block.len;
            buf_clear(&w->block);
        }
    }
    GREBE_TRY(hdf5_write_end(w->w, err));
    st = write_plain(w, offsets, HDF5_UINT, 8, n + 1, 0, places.data, err);
out:
    buf_release(&places);
    return st;
}

struct side_names {
    const char *vectors, *offsets, *tokens, *token_offsets, *multi, *counts, *sizes, *labels;
};

static const struct side_names side_names[2] = {
    { "train", "train_offsets", "train_token_sequences", "train_token_sequences_offsets", "train_multi_vectors",
      "train_vector_counts", "size_train", "train_labels" },
    { "test", "test_offsets", "test_token_sequences", "test_token_sequences_offsets", "test_multi_vectors",
      "test_vector_counts", "size_test", "test_labels" }
};

static grebe_status write_sparse(struct ann_writer *w, const struct side_names *names, const struct ann_vectors *v,
                                 grebe_error *err)
{
    for (uint64_t i = 0; i < v->n; i++) {
        for (int64_t j = v->offsets[i] + 1; j < v->offsets[i + 1]; j++) {
            if (v->terms[j] <= v->terms[j - 1]) {
                return GREBE_FAIL(err, GREBE_EINVAL, "%s: record %llu: expected ascending ids, found %u after %u",
                                  names->vectors, (unsigned long long)i, v->terms[j], v->terms[j - 1]);
            }
        }
    }
    grebe_status st = write_records(w, names->vectors, names->offsets, v->n, v->offsets, v->terms, v->values, err);
    if (st == GREBE_OK && v->token_offsets != NULL && v->token_offsets[v->n] > 0) {
        st = write_records(w, names->tokens, names->token_offsets, v->n, v->token_offsets, v->tokens, NULL, err);
    }
    return st;
}

/* The differences of offsets as `size` bytes each. */
static grebe_status write_sizes(struct ann_writer *w, const char *name, enum hdf5_class cls, unsigned size,
                                const struct ann_vectors *v, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    buf_clear(&w->block);
    for (uint64_t i = 0; i < v->n && st == GREBE_OK; i++) {
        unsigned char b[8];
        store_le64(b, (uint64_t)(v->offsets[i + 1] - v->offsets[i]));
        st = buf_put(&w->block, b, size, err);
    }
    return st == GREBE_OK ? write_plain(w, name, cls, size, v->n, 0, w->block.data, err) : st;
}

static grebe_status write_sets(struct ann_writer *w, const struct side_names *names, const struct ann_vectors *v,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    buf_clear(&w->block);
    for (int64_t i = 0; i < v->offsets[v->n] && st == GREBE_OK; i++) {
        uint64_t id = v->terms[i];
        st = buf_put(&w->block, &id, sizeof id, err);
    }
    if (st == GREBE_OK) {
        st = write_plain(w, names->vectors, HDF5_INT, 8, (uint64_t)v->offsets[v->n], 0, w->block.data, err);
    }
    return st == GREBE_OK ? write_sizes(w, names->sizes, HDF5_INT, 8, v, err) : st;
}

static grebe_status write_side(struct ann_writer *w, const struct side_names *names, const struct ann_vectors *v,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    switch (w->d->layout) {
    case ANN_SPARSE: return write_sparse(w, names, v, err);
    case ANN_SETS: return write_sets(w, names, v, err);
    case ANN_MULTI:
        st = write_plain(w, names->multi, HDF5_FLOAT, 4, (uint64_t)v->offsets[v->n], v->dim, v->dense, err);
        return st == GREBE_OK ? write_sizes(w, names->counts, HDF5_UINT, 4, v, err) : st;
    default: return write_dense(w, names->vectors, v, err);
    }
}

static grebe_status write_attributes(struct ann_writer *w, grebe_error *err)
{
    const struct ann_dataset *d = w->d;
    static const char *const types[] = { "dense", "sparse", "multi_vector", "sparse" };
    bool is_bits = d->train.elem == VECTOR_BIT || d->layout == ANN_SETS;
    grebe_status st = GREBE_OK;
    GREBE_TRY(hdf5_write_text(w->w, "type", types[d->layout], err));
    GREBE_TRY(hdf5_write_text(w->w, "distance", d->distance[0] != '\0' ? d->distance : vector_metric_name(d->metric), err));
    if (d->layout == ANN_MULTI) {
        GREBE_TRY(hdf5_write_int(w->w, "multi_vector_dim", d->train.dim, true, err));
        GREBE_TRY(hdf5_write_text(w->w, "aggregation", "maxsim", err));
        if (d->metric == VECTOR_EUCLIDEAN) {
            GREBE_TRY(hdf5_write_int(w->w, "l2_squared", d->is_maxsim_squared, false, err));
        }
    }
    if (is_bits) { /* files that ann-benchmarks alone reads */
        int64_t most = 0;
        for (int64_t i = 0; d->layout == ANN_SETS && i < d->train.offsets[d->train.n]; i++) {
            most = max_i64(most, (int64_t)d->train.terms[i] + 1);
        }
        GREBE_TRY(hdf5_write_int(w->w, "dimension", d->layout == ANN_SETS ? most : d->train.dim, false, err));
        GREBE_TRY(hdf5_write_text(w->w, "point_type", "bit", err));
    }
out:
    return st;
}

static grebe_status write_all(struct ann_writer *w, grebe_error *err)
{
    const struct ann_dataset *d = w->d;
    const struct ann_vectors *sides[2] = { &d->train, &d->test };
    grebe_status st = GREBE_OK;
    GREBE_TRY(write_attributes(w, err));
    for (int i = 0; i < 2; i++) {
        GREBE_TRY(write_side(w, &side_names[i], sides[i], err));
    }
    GREBE_TRY(write_plain(w, "neighbors", HDF5_INT, 8, d->test.n, d->k, d->neighbors, err));
    GREBE_TRY(write_plain(w, "distances", HDF5_FLOAT, 4, d->test.n, d->k, d->distances, err));
    for (int i = 0; i < 2 && d->train.labels != NULL; i++) {
        GREBE_TRY(write_plain(w, side_names[i].labels, HDF5_INT, 8, sides[i]->n, 0, sides[i]->labels, err));
    }
    if (d->valid_ratios != NULL) {
        st = write_plain(w, "valid_ratios", HDF5_FLOAT, 4, d->n_valid_ratios, 0, d->valid_ratios, err);
    }
out:
    return st;
}

/* What every reader refuses: ids of no row. */
static grebe_status check_truth(const struct ann_dataset *d, grebe_error *err)
{
    for (uint64_t i = 0; i < d->test.n * d->k; i++) {
        if (d->neighbors[i] < -1 || d->neighbors[i] >= (int64_t)d->train.n) {
            return GREBE_FAIL(err, GREBE_EINVAL, "neighbors[%llu,%llu]: expected a row below %llu, found %lld",
                              (unsigned long long)(i / d->k), (unsigned long long)(i % d->k),
                              (unsigned long long)d->train.n, (long long)d->neighbors[i]);
        }
    }
    return GREBE_OK;
}

grebe_status ann_dataset_write(const struct ann_dataset *d, const char *path, bool is_durable, const struct call *call,
                               grebe_error *err)
{
    struct call defaults = call_options_resolve(d->ctx, NULL);
    struct ann_writer w = { .d = d, .call = call != NULL ? call : &defaults, .block = BUF_INIT(d->ctx->a),
                            .progress = { "write", 0, 0, 0, 0 } };
    grebe_status st = GREBE_OK;
    if (d->neighbors == NULL || d->distances == NULL || d->k == 0 || d->train.n == 0 || d->test.n == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected vectors, queries, neighbours and distances", path);
    }
    if ((d->train.labels == NULL) != (d->test.labels == NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected labels of both sides or of none", path);
    }
    if (d->valid_ratios != NULL && d->train.labels == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected labels with valid_ratios", path);
    }
    GREBE_TRY(check_truth(d, err));
    GREBE_TRY(hdf5_writer_open(d->ctx, path, &w.w, err));
    GREBE_TRY(write_all(&w, err));
    st = hdf5_writer_finish(w.w, is_durable, err);
out:
    hdf5_writer_close(w.w);
    buf_release(&w.block);
    return st;
}
