/* SPDX-License-Identifier: Apache-2.0 */
/* Saving and opening an index: what all kinds have in common in the file (docs/format/index.md). */
#include "index/index_api.h"

#include <string.h>

#include "vector/distance.h"

static grebe_status save_ids(const struct index_ids *t, struct index_writer *w, grebe_error *err)
{
    const int64_t *ids = index_ids_array(t);
    grebe_status st = index_writer_uint(w, "n_ids", t->n, err);
    if (st == GREBE_OK && ids != NULL) {
        st = index_writer_section(w, "ids", ids, t->n * sizeof *ids, err);
    }
    return st;
}

grebe_status grebe_ann_index_save(grebe_ann_index *index, const char *path, bool durable, grebe_error *err)
{
    GREBE_CHECK_ARG(err, index != NULL && path != NULL);
    struct index_writer *w = NULL;
    const struct index_config *c = &index->ix->config;
    struct index_info info = { 0 };
    grebe_status st = GREBE_OK;
    index->ix->ops->info(index->ix, &info);
    GREBE_TRY(index_writer_open(index->ctx, path, durable, &w, err));
    GREBE_TRY(index_writer_uint(w, "kind", (uint64_t)c->kind, err));
    GREBE_TRY(index_writer_uint(w, "metric", (uint64_t)c->metric, err));
    GREBE_TRY(index_writer_uint(w, "elem", (uint64_t)c->elem, err));
    GREBE_TRY(index_writer_uint(w, "dim", info.dim, err));
    GREBE_TRY(save_ids(&index->ids, w, err));
    GREBE_TRY(index->ix->ops->save(index->ix, w, err));
    st = index_writer_finish(w, err);
out:
    index_writer_close(w);
    return st == GREBE_OK ? st : error_wrap(err, st, "saving index %s", path);
}

static grebe_status load_ids(struct index_ids *t, const struct index_file *f, uint64_t rows, grebe_error *err)
{
    uint64_t n = 0, len = 0;
    const void *data = NULL;
    grebe_status st = index_file_uint(f, "n_ids", rows, rows, &n, err);
    if (st != GREBE_OK) {
        return st;
    }
    t->n = (size_t)n;
    if (index_file_has(f, "ids")) {
        st = index_file_section(f, "ids", n * sizeof(int64_t), &data, &len, err);
        if (st != GREBE_OK) {
            return st;
        }
        index_ids_map(t, data, (size_t)n);
    }
    return GREBE_OK;
}

static grebe_status load_config(const struct index_file *f, struct index_config *c, grebe_error *err)
{
    uint64_t kind = 0, metric = 0, elem = 0, dim = 0;
    grebe_status st = GREBE_OK;
    GREBE_TRY(index_file_uint(f, "kind", 0, INDEX_N_KINDS - 1, &kind, err));
    GREBE_TRY(index_file_uint(f, "metric", 0, VECTOR_JACCARD, &metric, err));
    GREBE_TRY(index_file_uint(f, "elem", 0, VECTOR_BIT, &elem, err));
    GREBE_TRY(index_file_uint(f, "dim", 0, UINT32_MAX, &dim, err));
    *c = (struct index_config){ .kind = (enum index_kind)kind, .metric = (enum vector_metric)metric,
                                .elem = (enum vector_elem)elem, .dim = (uint32_t)dim };
    if (index_ops_of(c->kind) == NULL ||
        (c->kind != INDEX_SPARSE && vector_distance_ops(c->metric, c->elem) == NULL) ||
        (c->kind == INDEX_SPARSE && (c->metric != VECTOR_IP || c->elem != VECTOR_F32))) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected a metric that the element type has, found %s over %s",
                        vector_metric_name(c->metric), vector_elem_name(c->elem));
    }
out:
    return st;
}

grebe_status grebe_ann_index_open(grebe_context *ctx, const char *path, bool deep, grebe_ann_index **out,
                                  grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && out != NULL);
    struct index_config config = { 0 };
    struct index_info info = { 0 };
    grebe_status st = GREBE_OK;
    *out = NULL;
    grebe_ann_index *x = mem_alloc_zero(ctx->a, sizeof *x);
    if (x == NULL) {
        return mem_fail(err, sizeof *x, "index");
    }
    x->ctx = ctx;
    pthread_mutex_init(&x->lock, NULL);
    index_ids_init(&x->ids, ctx->a);
    GREBE_TRY(index_file_open(ctx, path, deep, &x->file, err));
    GREBE_TRY(load_config(x->file, &config, err));
    GREBE_TRY(index_ops_of(config.kind)->load(ctx, &config, x->file, &x->ix, err));
    x->ix->ops->info(x->ix, &info);
    x->ids.removed = x->ix->ops->removed(x->ix);
    GREBE_TRY(load_ids(&x->ids, x->file, info.rows + info.removed, err));
    *out = x;
    x = NULL;
out:
    grebe_ann_index_close(x);
    return st == GREBE_OK ? st : error_wrap(err, st, "index %s", path);
}
