/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What opening a data set does not look at: the lists, the checksums, and every file that the metadata names.
 *
 * Checksums and lists are looked at on many threads, which tell nothing: what is wrong is looked at again by the caller's, in order,
 * so that the same is told for any number of threads.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "archive/archive.h"
#include "base/checked.h"
#include "base/pool.h"
#include "graph/graph_dataset.h"
#include "graph/graph_degrees.h"
#include "graph/graph_preprocess.h"
#include "graph/graph_types.h"
#include "graph/graph_verify_ids.h"

enum { BLOCK_NODES = 4096 };

struct verifying {
    const struct grebe_graph *g;
    grebe_graph_options options;
    struct call call;
    size_t n_errors;
};

static void tell(struct verifying *v, const char *file, const char *field, grebe_status status, const char *fmt, ...)
    GREBE_PRINTF(5, 6);

static void tell(struct verifying *v, const char *file, const char *field, grebe_status status, const char *fmt, ...)
{
    char message[700];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    v->n_errors++;
    if (v->options.on_problem != NULL) {
        grebe_graph_problem p = { sizeof p, true, status, file, 0, 0, field, message };
        v->options.on_problem(v->options.problem_arg, &p);
    }
}

/* ---- the graph ---- */

static grebe_status run(const struct verifying *v, size_t n, pool_fn fn, void *arg, grebe_error *err)
{
    return parallel_for(v->call.threads > 1 ? v->g->ctx->pool : NULL, v->call.threads, n, fn, arg, v->call.cancel, err);
}

struct members {
    const struct archive *zip;
    bool *is_wrong; /* shape [zip->n] */
};

static grebe_status read_member(void *arg, size_t i, grebe_error *err)
{
    const struct members *x = arg;
    struct region *content = NULL;
    grebe_status st = archive_read(x->zip, i, UINT64_MAX, &content, err);
    region_drop(content);
    x->is_wrong[i] = st != GREBE_OK;
    return st == GREBE_ENOMEM ? st : GREBE_OK;
}

static grebe_status verify_members(struct verifying *v, const char *path, const struct archive *zip, grebe_error *err)
{
    const grebe_allocator *a = v->g->ctx->a;
    struct members x = { zip, mem_alloc_zero(a, zip->n * sizeof *x.is_wrong) };
    if (x.is_wrong == NULL) {
        return mem_fail(err, zip->n, "members of an archive");
    }
    grebe_status st = run(v, zip->n, read_member, &x, err);
    for (size_t i = 0; i < zip->n && st == GREBE_OK; i++) {
        grebe_error failed = GREBE_ERROR_INIT;
        struct region *content = NULL;
        grebe_status found = x.is_wrong[i] ? archive_read(zip, i, UINT64_MAX, &content, &failed) : GREBE_OK;
        region_drop(content);
        if (found == GREBE_ENOMEM) {
            st = mem_fail(err, (size_t)zip->members[i].size, path);
        } else if (found != GREBE_OK) {
            tell(v, path, zip->members[i].name, found, "%s", failed.message);
        }
    }
    mem_free(a, x.is_wrong, zip->n * sizeof *x.is_wrong);
    return st;
}

static grebe_status verify_checksums(struct verifying *v, const char *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = NULL;
    struct io_file *file = NULL;
    struct region *map = NULL;
    struct archive *zip = NULL;
    GREBE_TRY(io_local_new(v->g->ctx, &store, err));
    GREBE_TRY(io_open(store, path, &file, err));
    GREBE_TRY(file->ops->map(file, &map, err));
    GREBE_TRY(archive_open(v->g->ctx->a, map, &zip, err));
    GREBE_TRY(verify_members(v, path, zip, err));
out:
    archive_free(zip);
    region_drop(map);
    io_close(file);
    io_store_free(store);
    return st;
}

static int64_t type_of_node(const struct graph_csc *c, int64_t node)
{
    size_t low = 0, high = c->n_node_types; /* the last type that begins at the node or before */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (c->node_type_offset[middle] <= node) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (int64_t)low;
}

/* The list of a node; false: told, and enough. */
static bool verify_list(struct verifying *v, const char *path, int64_t node, int64_t begin, int64_t end)
{
    const struct graph_csc *c = &v->g->csc;
    int64_t last = 0, own = c->n_node_types > 0 ? type_of_node(c, node) : 0;
    for (int64_t i = begin; i < end; i++) {
        int64_t source = graph_id(&c->indices, i);
        if (source < 0 || source >= c->n_nodes) {
            tell(v, path, "indices", GREBE_ECORRUPT, "edge %lld: source %lld, the bound is %lld", (long long)i,
                 (long long)source, (long long)c->n_nodes);
            return false;
        }
        if (c->n_node_types == 0) {
            continue;
        }
        int64_t type = graph_edge_type_at(c, i);
        if (type < last || (size_t)type >= c->n_edge_types) {
            tell(v, path, "type_per_edge", GREBE_ECORRUPT, "edge %lld: type %lld behind %lld, the bound is %zu",
                 (long long)i, (long long)type, (long long)last, c->n_edge_types);
            return false;
        }
        last = type;
        int64_t from = c->edge_ends[type][0];
        bool is_right = source >= c->node_type_offset[from] && source < c->node_type_offset[from + 1] &&
                        node >= c->node_type_offset[c->edge_ends[type][1]] &&
                        node < c->node_type_offset[c->edge_ends[type][1] + 1];
        if (!is_right) {
            tell(v, path, "type_per_edge", GREBE_ECORRUPT,
                 "edge %lld from node %lld to %lld of type %s is not one of %s", (long long)i, (long long)source,
                 (long long)node, c->node_types[own], c->edge_types[type]);
            return false;
        }
    }
    return true;
}

/* The lists of a block of nodes; false: told, and enough. */
static bool verify_block(struct verifying *v, const char *path, size_t block)
{
    const struct graph_csc *c = &v->g->csc;
    int64_t first = (int64_t)block * BLOCK_NODES, last = min_i64(first + BLOCK_NODES, c->n_nodes);
    int64_t begin = first == 0 ? 0 : graph_id(&c->indptr, first);
    if (begin < 0 || begin > c->n_edges) {
        return false; /* a block before it ends there, so that nothing of this one is told */
    }
    for (int64_t i = first; i < last; i++) {
        int64_t end = graph_id(&c->indptr, i + 1);
        if (end < begin || end > c->n_edges) {
            tell(v, path, "indptr", GREBE_ECORRUPT, "node %lld: its list ends at %lld, begins at %lld of %lld edges",
                 (long long)i, (long long)end, (long long)begin, (long long)c->n_edges);
            return false;
        }
        if (!verify_list(v, path, i, begin, end)) {
            return false;
        }
        begin = end;
    }
    return true;
}

struct blocks {
    const struct verifying *v;
    const char *path;
    atomic_size_t first_wrong; /* SIZE_MAX: none */
};

static grebe_status look_at_block(void *arg, size_t i, grebe_error *err)
{
    struct blocks *x = arg;
    struct verifying quiet = { .g = x->v->g };
    if (verify_block(&quiet, x->path, i)) {
        return GREBE_OK;
    }
    size_t first = atomic_load_explicit(&x->first_wrong, memory_order_relaxed);
    while (i < first && !atomic_compare_exchange_weak_explicit(&x->first_wrong, &first, i, memory_order_relaxed, memory_order_relaxed)) {
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "lists from node %zu", i * BLOCK_NODES); /* no block behind it need be begun */
}

/* The first problem of the lists: what stands behind it may mean nothing. */
static grebe_status verify_lists(struct verifying *v, const char *path, grebe_error *err)
{
    struct blocks x = { .v = v, .path = path };
    atomic_init(&x.first_wrong, SIZE_MAX);
    grebe_error found = GREBE_ERROR_INIT;
    grebe_status st = run(v, (size_t)((v->g->csc.n_nodes + BLOCK_NODES - 1) / BLOCK_NODES), look_at_block, &x, &found);
    size_t first = atomic_load_explicit(&x.first_wrong, memory_order_relaxed);
    if (st == GREBE_ECORRUPT) {
        verify_block(v, path, first);
        return GREBE_OK;
    }
    return st != GREBE_OK ? error_copy(err, st, &found) : GREBE_OK;
}

/* ---- files ---- */

/* Rows that a feature must have; -1: not known. */
static int64_t rows_wanted(const struct verifying *v, const struct graph_feature_spec *f, const int64_t *edges)
{
    const struct graph_csc *c = &v->g->csc;
    if (c->ctx == NULL || f->domain == GRAPH_WHOLE) {
        return -1;
    }
    if (c->n_node_types == 0) {
        return f->domain == GRAPH_NODE ? c->n_nodes : c->n_edges;
    }
    size_t n = f->domain == GRAPH_NODE ? c->n_node_types : c->n_edge_types;
    const char *const *types = f->domain == GRAPH_NODE ? c->node_types : c->edge_types;
    for (size_t i = 0; f->type != NULL && i < n; i++) {
        if (strcmp(types[i], f->type) == 0) {
            return f->domain == GRAPH_NODE ? c->node_type_offset[i + 1] - c->node_type_offset[i] : edges[i];
        }
    }
    return -1;
}

static void verify_features(struct verifying *v, const int64_t *edges)
{
    const struct graph_metadata *m = v->g->metadata;
    for (size_t i = 0; i < m->n_features; i++) {
        const struct graph_feature_spec *f = &m->features[i];
        const struct tensor *t = NULL;
        grebe_error failed = GREBE_ERROR_INIT;
        grebe_status st = graph_dataset_feature(v->g, i, &t, &failed);
        if (st != GREBE_OK) {
            tell(v, m->shown, f->file.field, st, "%s", failed.message);
            continue;
        }
        int64_t wanted = rows_wanted(v, f, edges), rows = t->rank > 0 ? (int64_t)t->shape[0] : -1;
        if (rows < 0 || (wanted >= 0 && rows != wanted && !v->options.allow_row_mismatch)) {
            tell(v, m->shown, f->file.field, GREBE_ESCHEMA, "%s: %lld rows, the graph has %lld", f->file.path,
                 (long long)rows, (long long)wanted);
        }
    }
}

static void verify_sets(struct verifying *v)
{
    const struct graph_metadata *m = v->g->metadata;
    for (size_t i = 0; i < m->n_tasks; i++) {
        for (size_t s = 0; s < GRAPH_SETS; s++) {
            for (size_t p = 0; p < m->tasks[i].n_sets[s]; p++) {
                const struct graph_set_spec *set = &m->tasks[i].sets[s][p];
                uint64_t n = 0;
                for (size_t k = 0; k < set->n_items; k++) {
                    const struct tensor *t = NULL;
                    grebe_error failed = GREBE_ERROR_INIT;
                    grebe_status st = graph_dataset_set_array(v->g, i, s, p, k, &t, &failed);
                    const char *field = set->items[k].file.field;
                    if (st != GREBE_OK) {
                        tell(v, m->shown, field, st, "%s", failed.message);
                    } else if (t->rank == 0 || (k > 0 && n != t->shape[0])) {
                        tell(v, m->shown, field, GREBE_ESCHEMA, "%s: arrays of one set have as many items each",
                             set->items[k].file.path);
                    } else {
                        n = t->shape[0];
                    }
                }
            }
        }
    }
}

/* ---- ids ---- */

static grebe_status verify_ids(struct verifying *v, const int64_t *edges, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_metadata told = { 0 };
    char message[200];
    bool is_right = true;
    GREBE_TRY(graph_verify_edge_ids(v->g, edges, &v->call, &is_right, message, sizeof message, err));
    if (!is_right) {
        tell(v, v->g->path, GRAPH_EDGE_IDS, GREBE_ECORRUPT, "%s", message);
    }
    GREBE_TRY(graph_verify_seeds(v->g, &v->call, &told, err));
    for (const struct graph_problem *p = told.problems; p != NULL; p = p->next) {
        tell(v, p->file, p->field, p->status, "%s", p->message);
    }
out:
    graph_metadata_view_release(&told);
    return st;
}

grebe_status grebe_graph_verify(const grebe_graph *graph, const grebe_graph_options *options, size_t *n_errors,
                                grebe_error *err)
{
    GREBE_CHECK_ARG(err, graph != NULL);
    grebe_status st = GREBE_OK;
    struct verifying v = { .g = graph };
    const grebe_allocator *a = graph->ctx->a;
    const struct graph_csc *c = &graph->csc;
    size_t bytes = c->n_edge_types * sizeof(int64_t);
    int64_t *edges = mem_alloc_zero(a, bytes);
    if (edges == NULL) {
        return mem_fail(err, bytes, "counts of edges");
    }
    GREBE_TRY(graph_options_resolve(options, &v.options, err));
    v.call = call_options_resolve(graph->ctx, v.options.call);
    if (c->ctx != NULL) {
        GREBE_TRY(verify_checksums(&v, graph->path, err));
        GREBE_TRY(verify_lists(&v, graph->path, err));
        GREBE_TRY(graph_edges_count(c, &v.call, edges, err));
        if (v.n_errors == 0) { /* they mean something */
            GREBE_TRY(verify_ids(&v, edges, err));
        }
    }
    GREBE_TRY(call_check(&v.call, err));
    verify_features(&v, edges);
    GREBE_TRY(call_check(&v.call, err));
    verify_sets(&v);
    if (n_errors != NULL) {
        *n_errors = v.n_errors;
    }
out:
    mem_free(a, edges, bytes);
    return st;
}
