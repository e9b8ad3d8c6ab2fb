/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants
 *  1. Slots [0, n_used) hold rows; `table` has exactly their ids, at most half full.
 *  2. The used slots are one list from the oldest to the newest; `hand` is one of them, or NONE: begin at the oldest.
 */
#include "graph/graph_rows.h"

#include <string.h>

#include "base/rng.h"
#include "graph/graph_array.h"

#define NONE UINT32_MAX

/* Neighbours in the order in which rows came. */
struct link {
    uint32_t newer, older;
};

struct graph_row_cache {
    grebe_context *ctx;
    const struct tensor *t;
    size_t row_bytes;
    size_t n_slots, n_used;
    uint32_t hand, oldest, newest;
    struct link *links;    /* by slot */
    unsigned char *rows;   /* shape [n_slots][row_bytes] */
    int64_t *ids;          /* by slot */
    unsigned char *visited;
    size_t n_table;
    uint32_t *table;       /* slot + 1; 0: empty */
    struct graph_array missed, positions;
    struct graph_row_counts counts;
};

grebe_status graph_row_cache_new(grebe_context *ctx, const struct tensor *t, uint64_t bytes, struct graph_row_cache **out, grebe_error *err)
{
    struct graph_row_cache *c = mem_alloc_zero(ctx->a, sizeof *c);
    *out = NULL;
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "a cache of rows");
    }
    c->ctx = ctx;
    c->t = t;
    c->row_bytes = graph_row_bytes(t);
    c->hand = c->oldest = c->newest = NONE;
    uint64_t per_row = c->row_bytes + sizeof *c->ids + sizeof *c->links + 1 + 4 * sizeof *c->table;
    uint64_t rows = t->rank == 0 ? 1 : min_u64(bytes / per_row, t->shape[0]);
    c->n_slots = (size_t)min_u64(rows == 0 ? 1 : rows, UINT32_MAX / 4);
    for (c->n_table = 16; c->n_table < 2 * c->n_slots;) {
        c->n_table *= 2;
    }
    c->rows = mem_alloc(ctx->a, c->n_slots * c->row_bytes);
    c->ids = mem_alloc(ctx->a, c->n_slots * sizeof *c->ids);
    c->links = mem_alloc(ctx->a, c->n_slots * sizeof *c->links);
    c->visited = mem_alloc_zero(ctx->a, c->n_slots);
    c->table = mem_alloc_zero(ctx->a, c->n_table * sizeof *c->table);
    if (c->rows == NULL || c->ids == NULL || c->links == NULL || c->visited == NULL || c->table == NULL) {
        grebe_status st = mem_fail(err, c->n_slots * c->row_bytes, "a cache of rows");
        graph_row_cache_free(c);
        return st;
    }
    *out = c;
    return GREBE_OK;
}

void graph_row_cache_free(struct graph_row_cache *c)
{
    if (c != NULL) {
        const grebe_allocator *a = c->ctx->a;
        if (c->rows != NULL) {
            mem_free(a, c->rows, c->n_slots * c->row_bytes);
        }
        mem_free(a, c->ids, c->n_slots * sizeof *c->ids);
        mem_free(a, c->links, c->n_slots * sizeof *c->links);
        if (c->visited != NULL) {
            mem_free(a, c->visited, c->n_slots);
        }
        mem_free(a, c->table, c->n_table * sizeof *c->table);
        graph_array_release(a, &c->missed);
        graph_array_release(a, &c->positions);
        mem_free(a, c, sizeof *c);
    }
}

static size_t find(const struct graph_row_cache *c, int64_t id)
{
    size_t at = (size_t)rng_mix((uint64_t)id) & (c->n_table - 1);
    while (c->table[at] != 0 && c->ids[c->table[at] - 1] != id) {
        at = (at + 1) & (c->n_table - 1);
    }
    return at;
}

/* Empties a place of the table; what stood behind it because of it moves up. */
static void forget(struct graph_row_cache *c, int64_t id)
{
    size_t mask = c->n_table - 1, hole = find(c, id);
    for (size_t at = (hole + 1) & mask; c->table[at] != 0; at = (at + 1) & mask) {
        size_t home = (size_t)rng_mix((uint64_t)c->ids[c->table[at] - 1]) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            c->table[hole] = c->table[at];
            hole = at;
        }
    }
    c->table[hole] = 0;
}

/* The oldest row from the hand on that was not asked for since the hand came by. */
static uint32_t evict(struct graph_row_cache *c)
{
    uint32_t at = c->hand == NONE ? c->oldest : c->hand;
    while (c->visited[at]) {
        c->visited[at] = 0;
        at = c->links[at].newer == NONE ? c->oldest : c->links[at].newer;
    }
    struct link l = c->links[at];
    c->hand = l.newer;
    *(l.newer == NONE ? &c->newest : &c->links[l.newer].older) = l.older;
    *(l.older == NONE ? &c->oldest : &c->links[l.older].newer) = l.newer;
    forget(c, c->ids[at]);
    c->counts.evictions++;
    return at;
}

static uint32_t take_slot(struct graph_row_cache *c)
{
    uint32_t slot = c->n_used < c->n_slots ? (uint32_t)c->n_used++ : evict(c);
    c->links[slot] = (struct link){ NONE, c->newest };
    *(c->newest == NONE ? &c->oldest : &c->links[c->newest].newer) = slot;
    c->newest = slot;
    return slot;
}

static void keep(struct graph_row_cache *c, int64_t id, const unsigned char *row)
{
    size_t at = find(c, id);
    if (c->table[at] != 0) {
        c->visited[c->table[at] - 1] = 1; /* twice in one call */
        return;
    }
    uint32_t slot = take_slot(c);
    at = find(c, id); /* something may have moved */
    c->ids[slot] = id;
    c->visited[slot] = 0;
    c->table[at] = slot + 1;
    memcpy(c->rows + (size_t)slot * c->row_bytes, row, c->row_bytes);
}

grebe_status graph_row_cache_gather(struct graph_row_cache *c, const int64_t *ids, int64_t n, uint32_t threads, void *dst,
                                    grebe_error *err)
{
    const grebe_allocator *a = c->ctx->a;
    unsigned char *rows = NULL, *to = dst;
    int64_t n_missed = 0;
    grebe_status st;
    GREBE_TRY(graph_array_room(a, &c->missed, n, err));
    GREBE_TRY(graph_array_room(a, &c->positions, n, err));
    for (int64_t i = 0; i < n; i++) {
        uint32_t slot = c->table[find(c, ids[i])];
        if (slot == 0) {
            c->missed.v[n_missed] = ids[i];
            c->positions.v[n_missed++] = i;
        } else {
            c->visited[slot - 1] = 1;
            memcpy(to + (size_t)i * c->row_bytes, c->rows + (size_t)(slot - 1) * c->row_bytes, c->row_bytes);
        }
    }
    if (n_missed > 0) {
        rows = mem_alloc(a, (size_t)n_missed * c->row_bytes);
        if (rows == NULL) {
            st = mem_fail(err, (size_t)n_missed * c->row_bytes, "rows that are read");
            goto out;
        }
        GREBE_TRY(graph_rows_gather(c->ctx, c->t, c->missed.v, n_missed, true, threads, rows, err));
    }
    for (int64_t i = 0; i < n_missed; i++) {
        memcpy(to + (size_t)c->positions.v[i] * c->row_bytes, rows + (size_t)i * c->row_bytes, c->row_bytes);
        keep(c, c->missed.v[i], rows + (size_t)i * c->row_bytes);
    }
    c->counts.hits += (uint64_t)(n - n_missed);
    c->counts.misses += (uint64_t)n_missed;
out:
    if (rows != NULL) {
        mem_free(a, rows, (size_t)n_missed * c->row_bytes);
    }
    return st;
}

struct graph_row_counts graph_row_cache_counts(const struct graph_row_cache *c) { return c->counts; }
