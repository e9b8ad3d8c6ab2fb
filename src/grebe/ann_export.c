/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a data set as array files. */
#include <string.h>

#include "array/array_file.h"
#include "base/checked.h"
#include "grebe/ann_data.h"

enum { BLOCK = 4096 };

/* Values in memory, or rows that are not, as a file of the kind that the name tells. columns 0: one dimension. */
static grebe_status export_array(grebe_context *ctx, const char *path, enum array_type type, uint64_t rows,
                                 uint64_t columns, const void *values, const struct ann_rows *by_rows, bool is_durable,
                                 grebe_error *err)
{
    struct buf block = BUF_INIT(ctx->a);
    enum array_kind kind = ARRAY_UNKNOWN;
    enum array_type named = type;
    struct array_writer *w = NULL;
    grebe_status st = GREBE_OK;
    if (!array_kind_of_name(path, &kind, &named) || kind == ARRAY_CSR || kind == ARRAY_MULTI || kind == ARRAY_RANGE ||
        (kind == ARRAY_KNN)) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: expected a name that ends in .npy, .fvecs, .ivecs, .bvecs, .fbin, "
                          ".u8bin, .i8bin or .ibin", path);
    }
    if ((kind != ARRAY_NPY && named != type) || (kind != ARRAY_NPY && columns == 0)) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: %s holds rows of %s, found %s%s", path, array_kind_name(kind, named),
                          array_type_name(named), array_type_name(type), columns == 0 ? ", one a row" : "");
    }
    GREBE_TRY(array_writer_open(ctx, path, kind, type, rows, columns, &w, err));
    if (by_rows == NULL) {
        GREBE_TRY(array_write(w, values, rows, err));
    } else {
        struct call call = call_options_resolve(ctx, NULL);
        uint64_t n = ann_block_rows(by_rows, &call);
        GREBE_TRY(buf_reserve(&block, (size_t)n * vector_row_bytes(by_rows->elem, by_rows->dim), err));
        for (uint64_t at = 0; at < rows; at += n) {
            uint64_t m = min_u64(n, rows - at);
            GREBE_TRY(by_rows->read(by_rows->arg, at, m, block.data, err));
            GREBE_TRY(array_write(w, block.data, m, err));
        }
    }
    st = array_writer_finish(w, is_durable, err);
out:
    array_writer_close(w);
    buf_release(&block);
    return st;
}

static grebe_status export_side(const struct ann_dataset *d, const struct ann_vectors *v, const char *path, bool is_durable,
                                grebe_error *err)
{
    static const enum array_type elems[] = { [VECTOR_F32] = ARRAY_F32, [VECTOR_F16] = ARRAY_F16, [VECTOR_BF16] = ARRAY_BF16,
                                             [VECTOR_I8] = ARRAY_I8,   [VECTOR_U8] = ARRAY_U8,   [VECTOR_BIT] = ARRAY_U8,
                                             [VECTOR_F64] = ARRAY_F64 };
    enum array_kind kind = ARRAY_UNKNOWN;
    enum array_type type = ARRAY_F32;
    bool is_named = array_kind_of_name(path, &kind, &type);
    if (d->layout == ANN_SPARSE || d->layout == ANN_MULTI) {
        enum array_kind needed = d->layout == ANN_SPARSE ? ARRAY_CSR : ARRAY_MULTI;
        uint64_t n_terms = 0;
        if (!is_named || kind != needed) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected a name that ends in .%s for %s", path,
                              needed == ARRAY_CSR ? "csr" : "multi", needed == ARRAY_CSR ? "sparse rows" : "documents");
        }
        if (d->layout == ANN_MULTI) {
            return array_write_multi(d->ctx, path, v->n, v->dim, v->offsets, v->dense, is_durable, err);
        }
        for (int64_t i = 0; i < d->train.offsets[d->train.n]; i++) { /* as many columns in the queries as in the base */
            n_terms = d->train.terms[i] >= n_terms ? (uint64_t)d->train.terms[i] + 1 : n_terms;
        }
        for (int64_t i = 0; i < v->offsets[v->n]; i++) {
            n_terms = v->terms[i] >= n_terms ? (uint64_t)v->terms[i] + 1 : n_terms;
        }
        return array_write_csr(d->ctx, path, v->n, n_terms, v->offsets, v->terms, v->values, is_durable, err);
    }
    if (d->layout == ANN_SETS) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: sets have no array file", path);
    }
    uint64_t columns = v->elem == VECTOR_BIT ? vector_row_bytes(VECTOR_BIT, v->dim) : v->dim;
    return export_array(d->ctx, path, elems[v->elem], v->n, columns, v->dense, v->rows.read != NULL ? &v->rows : NULL,
                        is_durable, err);
}

/* ids of 32 bits, all of them first, and distances when is_knn. */
static grebe_status export_ids(const struct ann_dataset *d, const char *path, enum array_kind kind, bool is_durable,
                               grebe_error *err)
{
    struct array_writer *w = NULL;
    grebe_status st = GREBE_OK;
    int32_t ids[BLOCK];
    GREBE_TRY(array_writer_open(d->ctx, path, kind, ARRAY_I32, d->test.n, d->k, &w, err));
    if (d->k > BLOCK) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most %d neighbours, found %llu", path, BLOCK, (unsigned long long)d->k);
        goto out;
    }
    for (uint64_t q = 0; q < d->test.n; q++) {
        for (uint64_t j = 0; j < d->k; j++) {
            int64_t id = d->neighbors[q * d->k + j];
            if (id > INT32_MAX) {
                st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: neighbors[%llu,%llu] = %lld does not fit 32 bits", path,
                                (unsigned long long)q, (unsigned long long)j, (long long)id);
                goto out;
            }
            ids[j] = (int32_t)id;
        }
        GREBE_TRY(array_write(w, ids, 1, err));
    }
    if (kind == ARRAY_KNN) {
        GREBE_TRY(array_write(w, d->distances, d->test.n, err));
    }
    st = array_writer_finish(w, is_durable, err);
out:
    array_writer_close(w);
    return st;
}

static grebe_status export_neighbors(const struct ann_dataset *d, const char *path, bool is_durable, grebe_error *err)
{
    enum array_kind kind = ARRAY_UNKNOWN;
    enum array_type type = ARRAY_I32;
    bool is_named = array_kind_of_name(path, &kind, &type);
    if (is_named && (kind == ARRAY_KNN || kind == ARRAY_IVECS || (kind == ARRAY_BIN && type == ARRAY_I32))) {
        return export_ids(d, path, kind, is_durable, err);
    }
    return export_array(d->ctx, path, ARRAY_I64, d->test.n, d->k, d->neighbors, NULL, is_durable, err);
}

grebe_status grebe_ann_export(grebe_context *ctx, const grebe_ann_content *content, grebe_ann_part part, const char *path,
                              bool is_durable, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && content != NULL && path != NULL);
    struct ann_dataset d;
    grebe_status st = ann_data_of_content(ctx, content, &d, err);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_truth = part == GREBE_ANN_PART_NEIGHBORS || part == GREBE_ANN_PART_DISTANCES;
    const struct ann_vectors *side = part == GREBE_ANN_PART_BASE || part == GREBE_ANN_PART_BASE_LABELS ? &d.train : &d.test;
    bool is_labels = part == GREBE_ANN_PART_BASE_LABELS || part == GREBE_ANN_PART_QUERY_LABELS;
    if ((is_truth && (d.neighbors == NULL || d.distances == NULL)) || (is_labels && side->labels == NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: the data set has no %s", path, is_truth ? "neighbours" : "labels");
    }
    switch (part) {
    case GREBE_ANN_PART_BASE:
    case GREBE_ANN_PART_QUERIES: return export_side(&d, side, path, is_durable, err);
    case GREBE_ANN_PART_NEIGHBORS: return export_neighbors(&d, path, is_durable, err);
    case GREBE_ANN_PART_DISTANCES: return export_array(ctx, path, ARRAY_F32, d.test.n, d.k, d.distances, NULL, is_durable, err);
    case GREBE_ANN_PART_BASE_LABELS:
    case GREBE_ANN_PART_QUERY_LABELS: return export_array(ctx, path, ARRAY_I64, side->n, 0, side->labels, NULL, is_durable, err);
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "%s: part %d", path, (int)part);
}
