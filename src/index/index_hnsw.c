/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind `hnsw`, in the words of its users: M, ef_construction, ef. A walk over the rows themselves. The upper levels
 * of the original are replaced by the entries of the flat graph, which are nearer and cheaper
 * (docs/internals/graph_index.md).
 */
#include "index/graph_index.h"

struct hnsw_options {
    struct graph_options graph;
    uint32_t m;
};

static const char *const quants[] = { "none", "sq8", NULL };
static const char *const reranks[] = { "f32", NULL };

static const struct index_param build_params[] = {
    { "M", INDEX_PARAM_UINT, offsetof(struct hnsw_options, m), 2, GRAPH_WIDTH_MAX / 2, 16, NULL,
      "half of the links that a row has at most" },
    { "ef_construction", INDEX_PARAM_UINT, offsetof(struct hnsw_options, graph.ef_construction), 8, 4096, 200, NULL,
      "pool of the walk that finds a new row's neighbours" },
    { "quant", INDEX_PARAM_CHOICE, offsetof(struct hnsw_options, graph.quant), 0, 1, GRAPH_QUANT_NONE, quants,
      "codes that are walked over" },
    { "rerank", INDEX_PARAM_CHOICE, offsetof(struct hnsw_options, graph.has_no_rows), 0, 0, 0, reranks,
      "rows for the last ranking" },
    { "seed", INDEX_PARAM_UINT, offsetof(struct hnsw_options, graph.seed), 0, UINT32_MAX, 1, NULL,
      "of the order of insertion" },
};

static const struct index_param search_params[] = {
    { "ef", INDEX_PARAM_UINT, offsetof(struct graph_search_options, ef), 1, INDEX_ROWS_MAX, 96, NULL,
      "pool of the walk" },
};

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

static grebe_status hnsw_create(grebe_context *ctx, const struct index_config *config, struct index **out,
                                grebe_error *err)
{
    struct hnsw_options o = { 0 };
    struct graph_index *x = NULL;
    *out = NULL;
    grebe_status st = index_params_fill(build_params, N_OF(build_params), config->params, config->n_params, &o, err);
    if (st == GREBE_OK) {
        o.graph.degree = 2 * o.m;
        o.graph.alpha = 1;
        st = graph_index_new(ctx, config, &index_hnsw_ops, &o.graph, search_params, N_OF(search_params), &x, err);
    }
    *out = x == NULL ? NULL : &x->head;
    return st;
}

static grebe_status hnsw_load(grebe_context *ctx, const struct index_config *config, struct index_file *file,
                               struct index **out, grebe_error *err)
{
    return graph_index_load(ctx, config, &index_hnsw_ops, search_params, N_OF(search_params), file, out, err);
}

const struct index_ops index_hnsw_ops = { .name = "hnsw",
                                          .kind = INDEX_HNSW,
                                          .create = hnsw_create,
                                          .free = graph_index_free,
                                          .add = graph_index_add,
                                          .remove = graph_index_remove,
                                          .search = graph_index_search,
                                          .range = graph_index_range,
                                          .save = graph_index_save,
                                          .load = hnsw_load,
                                          .info = graph_index_info,
                                           .removed = graph_index_removed };
