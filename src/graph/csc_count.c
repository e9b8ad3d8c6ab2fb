/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/csc_count.h"

#include <stdatomic.h>
#include <string.h>

#include "base/checked.h"

enum { COUNTERS_MAX = 16 };

struct counting {
    struct csc_build *b;
    size_t *block_begin;            /* of each file among the blocks of all; shape [edge types + 1] */
    int64_t *counts[COUNTERS_MAX];  /* of each worker, shape [n_nodes + 1]; the first is `ends` itself */
    bool is_shared;                 /* all workers count in `ends` */
    atomic_size_t next; /* block */
    atomic_bool is_wrong;
};

/* Destinations of a chunk; false: one is not a node of the type. */
static inline bool count_chunk(const unsigned char *destinations, size_t width, size_t n, uint64_t bound,
                               bool is_shared, int64_t *counts)
{
    bool is_inside = true;
    if (width == 4) {
        const int32_t *v = (const int32_t *)(const void *)destinations;
        for (size_t k = 0; k < n; k++) {
            is_inside &= (uint64_t)(int64_t)v[k] < bound;
        }
    } else {
        const int64_t *v = (const int64_t *)(const void *)destinations;
        for (size_t k = 0; k < n; k++) {
            is_inside &= (uint64_t)v[k] < bound;
        }
    }
    for (size_t k = 0; is_inside && k < n; k++) {
        int64_t v = width == 4 ? ((const int32_t *)(const void *)destinations)[k]
                               : ((const int64_t *)(const void *)destinations)[k];
        if ((uint64_t)v >= bound) { /* the file is being written to */
            return false;
        }
        if (is_shared) {
            __atomic_fetch_add(&counts[v], 1, __ATOMIC_RELAXED);
        } else {
            counts[v]++;
        }
    }
    return is_inside;
}

static bool count_block(struct counting *c, size_t type, size_t block, int64_t *counts)
{
    const struct graph_edges *e = &c->b->files[type];
    struct graph_edge_view v = graph_edges_view(e, block);
    bool is_right = true;
    counts += c->b->destination_offset[type] + 1;
    for (size_t at = 0; at < v.n && is_right; at += CSC_CHUNK_EDGES) {
        size_t n = min_size(CSC_CHUNK_EDGES, v.n - at);
        is_right = v.width == 4 ? count_chunk(v.destinations + at * 4, 4, n, (uint64_t)e->n_destinations, c->is_shared,
                                              counts)
                                : count_chunk(v.destinations + at * 8, 8, n, (uint64_t)e->n_destinations, c->is_shared,
                                              counts);
    }
    graph_edges_forget(e, &v);
    return is_right;
}

static grebe_status work(void *arg, size_t worker, grebe_error *err)
{
    struct counting *c = arg;
    size_t all = c->block_begin[c->b->m->n_edges], type = 0;
    for (;;) {
        size_t block = atomic_fetch_add(&c->next, 1);
        if (block >= all || atomic_load(&c->is_wrong)) {
            return GREBE_OK;
        }
        while (block >= c->block_begin[type + 1]) {
            type++;
        }
        if (!count_block(c, type, block - c->block_begin[type], c->is_shared ? c->b->ends : c->counts[worker])) {
            atomic_store(&c->is_wrong, true);
        }
        grebe_status st = call_check(&c->b->options.call, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
}

grebe_status csc_explain(const struct csc_build *b, grebe_error *err)
{
    for (size_t i = 0; i < b->m->n_edges; i++) {
        grebe_status st = graph_edges_check(&b->files[i], &b->options.call, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: a file of edges changed while it was read", b->m->shown);
}

uint64_t csc_budget(const struct csc_build *b, uint64_t wanted)
{
    enum { USUAL = 128 << 20, PARTS = 8 };
    uint64_t limit = b->options.call.memory_limit_bytes;
    if (limit != UINT64_MAX) {
        return limit;
    }
    /* more would spare reading the files again, which costs less than lists that are wider than the caches */
    return wanted / PARTS > USUAL ? wanted / PARTS : USUAL;
}

/* Counters for each worker where there is room for them. */
static size_t make_counters(struct counting *c)
{
    struct csc_build *b = c->b;
    size_t bytes = ((size_t)b->n_nodes + 1) * sizeof *b->ends, threads = b->options.call.threads, n = 1;
    size_t n_workers = min_size(min_size(threads > 0 ? threads : 1, COUNTERS_MAX), c->block_begin[b->m->n_edges]);
    n_workers = max_size(n_workers, 1);
    c->counts[0] = b->ends;
    bool is_room = bytes <= csc_budget(b, 0) / n_workers;
    while (is_room && n < n_workers) {
        c->counts[n] = mem_alloc_zero(b->m->ctx->a, bytes);
        if (c->counts[n] == NULL) {
            break;
        }
        n++;
    }
    c->is_shared = n < n_workers;
    return n_workers;
}

/* The counts of all workers, and of them where each list ends. */
static void sum_up(struct counting *c, size_t n_workers)
{
    struct csc_build *b = c->b;
    for (size_t i = 1; i < n_workers && !c->is_shared; i++) {
        for (int64_t v = 1; v <= b->n_nodes; v++) {
            b->ends[v] += c->counts[i][v];
        }
    }
    for (int64_t v = 0; v < b->n_nodes; v++) {
        b->ends[v + 1] += b->ends[v];
    }
}

grebe_status csc_count(struct csc_build *b, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct graph_metadata *m = b->m;
    struct counting c = { .b = b };
    size_t n_workers = 0;
    c.block_begin = arena_array(&b->m->arena, m->n_edges + 1, sizeof *c.block_begin);
    if (c.block_begin == NULL) {
        return mem_fail(err, (m->n_edges + 1) * sizeof *c.block_begin, m->shown);
    }
    for (size_t i = 0; i < m->n_edges; i++) {
        c.block_begin[i + 1] = c.block_begin[i] + b->files[i].n_blocks;
    }
    n_workers = make_counters(&c);
    GREBE_TRY(parallel_for(m->ctx->pool, (uint32_t)n_workers, n_workers, work, &c, b->options.call.cancel, err));
    if (c.is_wrong) {
        st = csc_explain(b, err);
        goto out;
    }
    sum_up(&c, n_workers);
out:
    for (size_t i = 1; i < COUNTERS_MAX; i++) {
        mem_free(m->ctx->a, c.counts[i], c.counts[i] != NULL ? ((size_t)b->n_nodes + 1) * sizeof *b->ends : 0);
    }
    return st;
}
