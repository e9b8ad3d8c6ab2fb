/* SPDX-License-Identifier: Apache-2.0 */
/* The kind `graph`: a walk over codes, then exact ranking. */
#include "index/graph_index.h"

static const char *const quants[] = { "none", "sq8", "sq4", NULL };
static const char *const reranks[] = { "f32", "none", NULL };

static const struct index_param build_params[] = {
    { "degree", INDEX_PARAM_UINT, offsetof(struct graph_options, degree), 4, GRAPH_WIDTH_MAX, 32, NULL,
      "links of a row at most" },
    { "ef_construction", INDEX_PARAM_UINT, offsetof(struct graph_options, ef_construction), 8, 4096, 128, NULL,
      "pool of the walk that finds a new row's neighbours" },
    { "alpha", INDEX_PARAM_REAL, offsetof(struct graph_options, alpha), 1, 2, 1.0, NULL,
      "above 1 more links in the same direction are kept" },
    { "quant", INDEX_PARAM_CHOICE, offsetof(struct graph_options, quant), 0, 2, GRAPH_QUANT_SQ8, quants,
      "codes that are walked over" },
    { "rerank", INDEX_PARAM_CHOICE, offsetof(struct graph_options, has_no_rows), 0, 1, 0, reranks,
      "rows for the last ranking; none: distances come from the codes" },
    { "seed", INDEX_PARAM_UINT, offsetof(struct graph_options, seed), 0, UINT32_MAX, 1, NULL,
      "of the order of insertion" },
};

static const struct index_param search_params[] = {
    { "ef", INDEX_PARAM_UINT, offsetof(struct graph_search_options, ef), 1, INDEX_ROWS_MAX, 96, NULL,
      "pool of the walk" },
    { "rerank", INDEX_PARAM_UINT, offsetof(struct graph_search_options, rerank), 0, INDEX_ROWS_MAX, 0, NULL,
      "rows that are ranked again; 0: the larger of 1.5 k and k + 8, with sq4 of 4k and 64" },
    { "patience", INDEX_PARAM_UINT, offsetof(struct graph_search_options, patience), 0, INDEX_ROWS_MAX, 0, NULL,
      "steps without a nearer k after which the walk ends; 0: no such end" },
};

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

static grebe_status graph_create(grebe_context *ctx, const struct index_config *config, struct index **out,
                                 grebe_error *err)
{
    struct graph_options o = { 0 };
    struct graph_index *x = NULL;
    *out = NULL;
    grebe_status st = index_params_fill(build_params, N_OF(build_params), config->params, config->n_params, &o, err);
    if (st == GREBE_OK) {
        st = graph_index_new(ctx, config, &index_graph_ops, &o, search_params, N_OF(search_params), &x, err);
    }
    *out = x == NULL ? NULL : &x->head;
    return st;
}

static grebe_status graph_load(grebe_context *ctx, const struct index_config *config, struct index_file *file,
                               struct index **out, grebe_error *err)
{
    return graph_index_load(ctx, config, &index_graph_ops, search_params, N_OF(search_params), file, out, err);
}

const struct index_ops index_graph_ops = { .name = "graph",
                                           .kind = INDEX_GRAPH,
                                           .create = graph_create,
                                           .free = graph_index_free,
                                           .add = graph_index_add,
                                           .remove = graph_index_remove,
                                           .search = graph_index_search,
                                           .range = graph_index_range,
                                           .save = graph_index_save,
                                           .load = graph_load,
                                           .info = graph_index_info,
                                           .removed = graph_index_removed };
