/* SPDX-License-Identifier: Apache-2.0 */
/* The door to all indexes: what callers bring is checked here once, and ids are translated. */
#include "index/index_api.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "vector/distance.h"

static const char *const kind_names[INDEX_N_KINDS] = { "flat", "hnsw", "graph", "ivf", "sparse" };

const char *grebe_ann_index_kind_name(grebe_ann_index_kind kind)
{
    return (unsigned)kind < INDEX_N_KINDS ? kind_names[kind] : NULL;
}

grebe_status grebe_ann_index_kind_parse(const char *name, grebe_ann_index_kind *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, name != NULL && out != NULL);
    for (size_t i = 0; i < INDEX_N_KINDS; i++) {
        if (strcmp(name, kind_names[i]) == 0) {
            *out = (grebe_ann_index_kind)i;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "kind of index: expected flat, hnsw, graph, ivf or sparse, found \"%s\"", name);
}

grebe_status grebe_metric_parse(const char *name, grebe_metric *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, name != NULL && out != NULL);
    enum vector_metric metric = VECTOR_EUCLIDEAN;
    grebe_status st = vector_metric_parse(name, &metric, err);
    *out = (grebe_metric)metric;
    return st;
}

const char *grebe_metric_name(grebe_metric metric)
{
    return vector_metric_name((enum vector_metric)metric);
}

/* ---- making and closing ---- */

static grebe_status check_kind(grebe_ann_index_kind kind, grebe_metric metric, grebe_elem elem, grebe_error *err)
{
    bool is_bit = elem == GREBE_ELEM_BIT;
    if ((unsigned)kind >= INDEX_N_KINDS || index_ops_of((enum index_kind)kind) == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "kind of index: expected 0 to %d, found %d", INDEX_N_KINDS - 1, (int)kind);
    }
    if (vector_metric_name((enum vector_metric)metric) == NULL || vector_elem_name((enum vector_elem)elem) == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected a metric and an element type, found %d and %d", (int)metric,
                          (int)elem);
    }
    if (kind == GREBE_ANN_INDEX_SPARSE && (metric != GREBE_METRIC_IP || elem != GREBE_ELEM_F32)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "index of sparse rows: expected metric ip over float32, found %s over %s",
                          grebe_metric_name(metric), vector_elem_name((enum vector_elem)elem));
    }
    if (kind != GREBE_ANN_INDEX_SPARSE && (elem == GREBE_ELEM_F64 ||
        vector_distance_ops((enum vector_metric)metric, (enum vector_elem)elem) == NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "metric %s: expected %s, found %s", grebe_metric_name(metric),
                          is_bit ? "hamming or jaccard for bits" : "a type that it compares, such as float32",
                          vector_elem_name((enum vector_elem)elem));
    }
    return GREBE_OK;
}

grebe_status grebe_ann_index_new(grebe_context *ctx, grebe_ann_index_kind kind, grebe_metric metric, grebe_elem elem,
                             const char *const *params, size_t n_params, uint32_t threads, grebe_ann_index **out,
                             grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && out != NULL && (params != NULL || n_params == 0));
    *out = NULL;
    grebe_status st = check_kind(kind, metric, elem, err);
    if (st != GREBE_OK) {
        return st;
    }
    grebe_ann_index *x = mem_alloc_zero(ctx->a, sizeof *x);
    if (x == NULL) {
        return mem_fail(err, sizeof *x, "index");
    }
    x->ctx = ctx;
    pthread_mutex_init(&x->lock, NULL);
    index_ids_init(&x->ids, ctx->a);
    struct index_config config = { .kind = (enum index_kind)kind, .metric = (enum vector_metric)metric,
                                   .elem = (enum vector_elem)elem, .params = params, .n_params = n_params,
                                   .threads = threads };
    st = index_ops_of(config.kind)->create(ctx, &config, &x->ix, err);
    if (st != GREBE_OK) {
        grebe_ann_index_close(x);
        return st;
    }
    x->threads = threads;
    x->ids.removed = x->ix->ops->removed(x->ix);
    *out = x;
    return GREBE_OK;
}

void grebe_ann_index_close(grebe_ann_index *index)
{
    if (index != NULL) {
        if (index->ix != NULL) {
            index->ix->ops->free(index->ix);
        }
        index_ids_release(&index->ids);
        index_file_close(index->file);
        pthread_mutex_destroy(&index->lock);
        mem_free(index->ctx->a, index, sizeof *index);
    }
}

grebe_status grebe_ann_index_get_stats(const grebe_ann_index *index, grebe_ann_index_stats *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, index != NULL && out != NULL);
    struct index_info info = { 0 };
    index->ix->ops->info(index->ix, &info);
    const struct index_config *c = &index->ix->config;
    grebe_ann_index_stats full = { sizeof full, (grebe_ann_index_kind)c->kind, (grebe_metric)c->metric, (grebe_elem)c->elem,
                              info.dim, info.rows, info.removed, info.bytes_vectors, info.bytes_codes,
                              info.bytes_links, info.bytes_other };
    uint32_t size = out->struct_size;
    if (size < sizeof size || size > sizeof full) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: struct_size: expected %zu, found %u", __func__, sizeof full, size);
    }
    full.struct_size = size;
    memcpy(out, &full, size);
    return GREBE_OK;
}

/* ---- adding and removing ---- */

grebe_status grebe_ann_index_add(grebe_ann_index *index, const grebe_vectors *rows, const int64_t *ids,
                             const grebe_call_options *options, grebe_error *err)
{
    GREBE_CHECK_ARG(err, index != NULL && rows != NULL);
    struct index_input in = INDEX_INPUT_INIT(index->ctx->a);
    struct call call = call_options_resolve(index->ctx, options);
    if ((options == NULL || options->threads == 0) && index->threads != 0) {
        call.threads = index->threads;
    }
    size_t before = index->ids.n;
    grebe_status st = GREBE_OK;
    uint64_t n = rows->struct_size < offsetof(grebe_vectors, dim) ? 0 : rows->rows;
    if (n > INDEX_ROWS_MAX - before) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "rows: expected at most %d in an index, found %zu and %" PRIu64 " more",
                          INDEX_ROWS_MAX, before, n);
    }
    GREBE_TRY(index_input_take(index, rows, "row", &in, err));
    if (n == 0) {
        goto out;
    }
    GREBE_TRY(index_ids_add(&index->ids, ids, (size_t)n, err));
    st = index->ix->ops->add(index->ix, &in.rows, &call, err);
    if (st != GREBE_OK) {
        index_ids_cut(&index->ids, before);
    }
out:
    index_input_release(&in);
    return st;
}

grebe_status grebe_ann_index_remove(grebe_ann_index *index, const int64_t *ids, size_t n, size_t *n_removed, grebe_error *err)
{
    GREBE_CHECK_ARG(err, index != NULL && (ids != NULL || n == 0));
    size_t done = 0;
    grebe_status st = index_ids_prepare(&index->ids, err);
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        uint32_t position = index_ids_find(&index->ids, ids[i]);
        if (position == UINT32_MAX) {
            continue;
        }
        st = index->ix->ops->remove(index->ix, position, err);
        done += st == GREBE_OK;
    }
    if (n_removed != NULL) {
        *n_removed = done;
    }
    return st;
}
