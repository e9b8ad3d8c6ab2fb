/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_walk.h"

#include <assert.h>
#include <math.h>

#include "index/graph_walk_loop.h"

enum { CLEAR_ALL_WORDS = 2048 }; /* up to 16 KiB of bits clearing all of them is cheaper than one by one */

graph_walk_fn graph_walk_of(enum cpu_simd level)
{
    if (!cpu_simd_has(level)) {
        return NULL;
    }
    return level >= CPU_AVX2 ? graph_walk_avx2() : run_walks;
}

static size_t pool_room(uint32_t keep)
{
    return ((size_t)keep + 7) / 8 * 8 + 8;
}

static void release_pool(struct graph_walk *w)
{
    mem_free_aligned(w->a, w->pool_d, pool_room(w->keep_room) * sizeof *w->pool_d, MEM_ALIGN_VECTOR);
    mem_free_aligned(w->a, w->pool_id, pool_room(w->keep_room) * sizeof *w->pool_id, MEM_ALIGN_VECTOR);
    w->pool_d = NULL;
    w->pool_id = NULL;
    w->keep_room = 0;
}

void graph_walk_release(struct graph_walk *w)
{
    if (w->a == NULL) {
        return;
    }
    if (w->keep_room != 0) {
        release_pool(w);
    }
    mem_free(w->a, w->visited, w->n_words * sizeof *w->visited);
    mem_free(w->a, w->seen, (GRAPH_SEEN_MAX + 2 * GRAPH_WIDTH_MAX) * sizeof *w->seen);
    mem_free(w->a, w->new_d, (GRAPH_WIDTH_MAX + 8) * sizeof *w->new_d);
    if (w->query_row != NULL) {
        mem_free_aligned(w->a, w->query_row, w->query_row_bytes, MEM_ALIGN_VECTOR);
    }
    if (w->query_code != NULL) {
        mem_free_aligned(w->a, w->query_code, w->query_code_bytes, MEM_ALIGN_VECTOR);
    }
    mem_free(w->a, w->query_wide, w->query_wide_n * sizeof *w->query_wide);
    *w = (struct graph_walk){ 0 };
}

static grebe_status reserve_pool(struct graph_walk *w, uint32_t keep, grebe_error *err)
{
    if (keep <= w->keep_room) {
        return GREBE_OK;
    }
    if (w->keep_room != 0) {
        release_pool(w);
    }
    size_t room = pool_room(keep);
    float *d = mem_alloc_aligned(w->a, room * sizeof *d, MEM_ALIGN_VECTOR);
    uint32_t *id = mem_alloc_aligned(w->a, room * sizeof *id, MEM_ALIGN_VECTOR);
    if (d == NULL || id == NULL) {
        if (d != NULL) {
            mem_free_aligned(w->a, d, room * sizeof *d, MEM_ALIGN_VECTOR);
        }
        if (id != NULL) {
            mem_free_aligned(w->a, id, room * sizeof *id, MEM_ALIGN_VECTOR);
        }
        return mem_fail(err, room * (sizeof *d + sizeof *id), "the pool of a walk");
    }
    w->pool_d = d;
    w->pool_id = id;
    w->keep_room = keep;
    return GREBE_OK;
}

grebe_status graph_walk_reserve(struct graph_walk *w, const grebe_allocator *a, uint32_t n, uint32_t keep,
                                size_t row_bytes, size_t code_bytes, uint32_t dim, grebe_error *err)
{
    size_t words = ((size_t)n + 63) / 64 + 1;
    w->a = a;
    if (words > w->n_words) {
        size_t room = w->n_words == 0 ? words : words + words / 4;
        uint64_t *bits = mem_alloc_zero(a, room * sizeof *bits);
        if (bits == NULL) {
            return mem_fail(err, room * sizeof *bits, "the visited nodes of a walk");
        }
        mem_free(a, w->visited, w->n_words * sizeof *bits);
        w->visited = bits;
        w->n_words = room;
        w->n_seen = 0;
        w->n_new = 0;
        w->is_seen_cut = false;
    }
    if (w->seen == NULL) {
        w->seen = mem_alloc(a, (GRAPH_SEEN_MAX + 2 * GRAPH_WIDTH_MAX) * sizeof *w->seen);
    }
    if (w->new_d == NULL) {
        w->new_d = mem_alloc(a, (GRAPH_WIDTH_MAX + 8) * sizeof *w->new_d);
    }
    if (w->query_row == NULL && row_bytes != 0) {
        w->query_row = mem_alloc_aligned(a, row_bytes, MEM_ALIGN_VECTOR);
        w->query_row_bytes = row_bytes;
    }
    if (w->query_code == NULL && code_bytes != 0) {
        w->query_code = mem_alloc_aligned(a, code_bytes, MEM_ALIGN_VECTOR);
        w->query_code_bytes = code_bytes;
    }
    if (w->query_wide == NULL && dim != 0) {
        w->query_wide = mem_alloc(a, dim * sizeof *w->query_wide);
        w->query_wide_n = w->query_wide == NULL ? 0 : dim;
    }
    if (w->seen == NULL || w->new_d == NULL || (row_bytes != 0 && w->query_row == NULL) ||
        (code_bytes != 0 && w->query_code == NULL) || (dim != 0 && w->query_wide == NULL)) {
        return mem_fail(err, row_bytes + code_bytes + dim * sizeof *w->query_wide, "a walk");
    }
    return reserve_pool(w, keep, err);
}

static void clear_visited(struct graph_walk *w, uint32_t n)
{
    size_t words = ((size_t)n + 63) / 64;
    if (w->is_seen_cut || words <= CLEAR_ALL_WORDS) {
        memset(w->visited, 0, words * sizeof *w->visited);
    } else {
        for (uint32_t i = 0; i < w->n_seen; i++) {
            w->visited[w->seen[i] >> 6] = 0;
        }
    }
    w->is_seen_cut = false;
    w->n_seen = 0;
    w->n_new = 0;
}

void graph_walk_begin(struct graph_walk *w, const struct graph_view *g, const void *query, uint32_t ef, uint32_t keep,
                      const uint32_t *starts, uint32_t n_starts)
{
    keep = keep < ef ? ef : keep;
    assert(ef >= 1 && keep <= w->keep_room && n_starts <= GRAPH_WIDTH_MAX);
    clear_visited(w, g->n);
    for (uint32_t i = 0; i < n_starts; i++) {
        uint32_t id = starts[i];
        assert(id < g->n);
        uint64_t bit = (uint64_t)1 << (id & 63);
        if ((w->visited[id >> 6] & bit) == 0) {
            w->visited[id >> 6] |= bit;
            w->seen[w->n_new++] = id;
            fetch(g->rows + (size_t)id * g->stride);
        }
    }
    size_t room = pool_room(keep);
    for (size_t i = 0; i < room; i++) {
        w->pool_d[i] = INFINITY;
    }
    w->query = query;
    w->ef = ef;
    w->keep = keep;
    w->n_pool = 0;
    w->cursor = 0;
    w->current = UINT32_MAX;
    w->n_expanded = 0;
    w->n_at_change = 0;
    w->is_corrupt = false;
}
