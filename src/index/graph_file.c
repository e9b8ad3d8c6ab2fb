/* SPDX-License-Identifier: Apache-2.0 */
/* A graph in an index file (docs/format/index.md). */
#include "index/graph_index.h"

#include <string.h>

/* ---- save ---- */

static grebe_status save_fields(const struct graph *g, struct index_writer *w, grebe_error *err)
{
    const struct graph_options *o = &g->options;
    grebe_status st = GREBE_OK;
    GREBE_TRY(index_writer_uint(w, "degree", o->degree, err));
    GREBE_TRY(index_writer_uint(w, "efbuild", o->ef_construction, err));
    GREBE_TRY(index_writer_uint(w, "quant", o->quant, err));
    GREBE_TRY(index_writer_uint(w, "norows", o->has_no_rows, err));
    GREBE_TRY(index_writer_uint(w, "seed", o->seed, err));
    GREBE_TRY(index_writer_real(w, "alpha", o->alpha, err));
    GREBE_TRY(index_writer_uint(w, "nodes", g->n, err));
    GREBE_TRY(index_writer_uint(w, "entries", g->entries.n, err));
out:
    return st;
}

grebe_status graph_index_save(struct index *ix, struct index_writer *w, grebe_error *err)
{
    const struct graph *g = &((struct graph_index *)ix)->graph;
    grebe_status st = GREBE_OK;
    GREBE_TRY(save_fields(g, w, err));
    if (g->n == 0) {
        return GREBE_OK;
    }
    GREBE_TRY(index_writer_section(w, "entries", g->entries.ids, g->entries.n * sizeof *g->entries.ids, err));
    GREBE_TRY(index_writer_section(w, "entrows", g->entries.rows, (uint64_t)g->entries.n * g->entries.stride, err));
    GREBE_TRY(index_writer_section(w, "links", g->links, (uint64_t)g->n * g->width * sizeof *g->links, err));
    GREBE_TRY(graph_codes_save(&g->codes, w, err));
    if (!g->options.has_no_rows) {
        GREBE_TRY(index_store_save(&g->store, w, err));
    }
    GREBE_TRY(index_bits_save(&g->removed, "removed", w, err));
out:
    return st;
}

/* ---- load ---- */

static grebe_status read_options(const struct index_file *f, struct graph_options *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    uint64_t v = 0;
    *out = (struct graph_options){ 0 };
    GREBE_TRY(index_file_uint(f, "degree", 4, GRAPH_WIDTH_MAX, &v, err));
    out->degree = (uint32_t)v;
    GREBE_TRY(index_file_uint(f, "efbuild", 1, UINT16_MAX, &v, err));
    out->ef_construction = (uint32_t)v;
    GREBE_TRY(index_file_uint(f, "quant", 0, GRAPH_QUANT_SQ4, &v, err));
    out->quant = (uint32_t)v;
    GREBE_TRY(index_file_uint(f, "norows", 0, out->quant == GRAPH_QUANT_NONE ? 0 : 1, &v, err));
    out->has_no_rows = (uint32_t)v;
    GREBE_TRY(index_file_uint(f, "seed", 0, UINT32_MAX, &v, err));
    out->seed = (uint32_t)v;
    GREBE_TRY(index_file_real(f, "alpha", &out->alpha, err));
    if (!(out->alpha >= 1 && out->alpha <= 2)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: field alpha: expected 1 to 2, found %g", index_file_path(f),
                        out->alpha);
    }
out:
    return st;
}

static grebe_status load_entries(struct graph *g, const struct index_file *f, uint64_t n, uint64_t n_entries,
                                 grebe_error *err)
{
    const void *data = NULL;
    grebe_status st = index_file_section(f, "entries", n_entries * sizeof *g->entries.ids, &data, NULL, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = graph_entries_reserve(&g->entries, &g->codes, (uint32_t)n, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (n_entries > g->entries.room) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: field entries: expected at most %zu, found %llu",
                          index_file_path(f), g->entries.room, (unsigned long long)n_entries);
    }
    memcpy(g->entries.ids, data, (size_t)n_entries * sizeof *g->entries.ids);
    for (uint32_t i = 0; i < n_entries; i++) {
        uint32_t id = g->entries.ids[i];
        if (id >= n) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: section entries: expected a node below %llu, found %u at %u",
                              index_file_path(f), (unsigned long long)n, id, i);
        }
    }
    /* their code rows stand together in the file: no page is read for each of them */
    st = index_file_section(f, "entrows", n_entries * g->entries.stride, &data, NULL, err);
    if (st != GREBE_OK) {
        return st;
    }
    memcpy(g->entries.rows, data, (size_t)n_entries * g->entries.stride);
    g->entries.n = (uint32_t)n_entries;
    graph_entries_group(&g->entries, &g->codes);
    return GREBE_OK;
}

/* Fill a new, empty index from the file. */
static grebe_status fill(struct graph_index *x, const struct index_file *f, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph *g = &x->graph;
    const void *links = NULL;
    uint64_t n = 0, n_entries = 0;
    GREBE_TRY(index_file_uint(f, "nodes", 0, INDEX_ROWS_MAX, &n, err));
    GREBE_TRY(index_file_uint(f, "entries", n == 0 ? 0 : 1, n == 0 ? 0 : GRAPH_ENTRIES_MAX, &n_entries, err));
    if (n == 0) {
        return GREBE_OK;
    }
    if (g->a == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected rows of at least 1 component, found 0",
                          index_file_path(f));
    }
    GREBE_TRY(index_file_section(f, "links", n * g->width * sizeof *g->links, &links, NULL, err));
    if (!g->options.has_no_rows) {
        GREBE_TRY(index_store_load(&g->store, g->a, &x->head.config, f, n, err));
    }
    if (g->codes.quant == GRAPH_QUANT_NONE) {
        bool is_anew;
        GREBE_TRY(graph_codes_append(&g->codes, &g->store, &is_anew, err));
    } else {
        GREBE_TRY(graph_codes_load(&g->codes, f, n, err));
    }
    GREBE_TRY(load_entries(g, f, n, n_entries, err));
    GREBE_TRY(index_bits_load(&g->removed, "removed", f, n, err));
    g->links = links;
    g->file = f;
    g->n = (uint32_t)n;
out:
    return st;
}

/* Before anything is made of it: a wrong number here is the file's fault. */
static grebe_status check_config(const struct index_config *c, const struct index_file *f, grebe_error *err)
{
    uint32_t dim_max = index_dim_max(c->elem);
    if (c->dim > dim_max) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: rows of %u components: expected at most %u", index_file_path(f),
                          c->dim, dim_max);
    }
    if (vector_distance_ops(c->metric, c->elem) == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: no distance %d between rows of type %d", index_file_path(f),
                          (int)c->metric, (int)c->elem);
    }
    return GREBE_OK;
}

grebe_status graph_index_load(grebe_context *ctx, const struct index_config *config, const struct index_ops *ops,
                              const struct index_param *search_params, size_t n_search_params,
                              struct index_file *file, struct index **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_options o = { 0 };
    struct graph_index *x = NULL;
    *out = NULL;
    GREBE_TRY(check_config(config, file, err));
    GREBE_TRY(read_options(file, &o, err));
    GREBE_TRY(graph_index_new(ctx, config, ops, &o, search_params, n_search_params, &x, err));
    GREBE_TRY(fill(x, file, err));
    *out = &x->head;
    x = NULL;
out:
    graph_index_free(x == NULL ? NULL : &x->head);
    return st;
}
