/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four passes. Nodes are dealt out to shards, by block (deal). Each shard goes through its nodes in the order of their edges and
 * gives a code to each that is new (mark). How many were new, by block and added up, says which rows those of a block get (place).
 * Last, the other edges of new nodes copy the row of the first (repeat).
 *
 * Invariants
 *  1. In each pass a slot of the map, and an entry, is written by one thread.
 *  2. A code is n_before + the place of an entry; less than n_before is a row. Entries of one shard stand in the order of their
 *     edges, so that the code of a node is the entry of its first edge.
 *  3. Between place and repeat entries hold rows where an edge is the first of its node, and a place of `nodes` holds a row,
 *     or ~ the entry that holds it.
 */
#include "graph/graph_merge.h"

/* A line of slots has one shard: threads do not write to one line. */
enum { SHARD_BITS = 5, SHARDS = 1 << SHARD_BITS, LINE_NODES = 16, THREADS_MIN = 5, BLOCKS_MIN = 16 };

/* Of each block: where its shards begin among its entries; new nodes by shard; the first row of its new nodes. */
enum { BEGINS = 0, NEW = SHARDS + 1, FIRST_ROW = NEW + SHARDS, RUN_FIELDS = FIRST_ROW + 1 };

struct merging {
    struct graph_merge *m;
    struct graph_map *map;
    int64_t *nodes, n;
    int64_t n_before;
    size_t n_blocks;
    struct graph_array *rows;
    bool is_last;
};

/* Of all bits of the line: lines that have some in common, be it in their lowest bits, share few places of a cache. */
static size_t shard_of(int64_t node) { return (uint32_t)((uint32_t)node / LINE_NODES * UINT32_C(0x9e3779b1)) >> (32 - SHARD_BITS); }
static size_t blocks_of(int64_t n) { return (size_t)((n + GRAPH_MERGE_BLOCK - 1) / GRAPH_MERGE_BLOCK); }
static int64_t *runs_of(const struct graph_merge *m, size_t block) { return m->runs.v + block * RUN_FIELDS; }
static uint32_t *entries_of(const struct graph_merge *m, size_t block) { return (uint32_t *)m->entries.v + block * GRAPH_MERGE_BLOCK; }

bool graph_merge_pays(const struct graph_map *map, const struct graph_array *rows, int64_t n, uint32_t threads)
{
    return threads >= THREADS_MIN && n >= (int64_t)BLOCKS_MIN * GRAPH_MERGE_BLOCK && graph_map_can_mark(map, rows->n, n);
}

grebe_status graph_merge_begin(struct graph_merge *m, const grebe_allocator *a, int64_t n, grebe_error *err)
{
    grebe_status st;
    GREBE_TRY(graph_array_room(a, &m->entries, (n + 1) / 2, err));
    GREBE_TRY(graph_array_room(a, &m->runs, (int64_t)blocks_of(n) * RUN_FIELDS, err));
out:
    return st;
}

void graph_merge_deal(struct graph_merge *m, size_t block, const int64_t *nodes, int64_t n)
{
    int64_t *begins = runs_of(m, block) + BEGINS;
    uint32_t *entries = entries_of(m, block), ends[SHARDS] = { 0 }, at = 0;
    for (int64_t i = 0; i < n; i++) {
        ends[shard_of(nodes[i])]++;
    }
    for (size_t s = 0; s < SHARDS; s++) {
        uint32_t count = ends[s];
        begins[s] = at;
        ends[s] = at;
        at += count;
    }
    begins[SHARDS] = at;
    for (int64_t i = 0; i < n; i++) {
        entries[ends[shard_of(nodes[i])]++] = (uint32_t)nodes[i];
    }
}

static grebe_status mark_shard(void *arg, size_t shard, grebe_error *err)
{
    const struct merging *x = arg;
    (void)err;
    for (size_t block = 0; block < x->n_blocks; block++) {
        int64_t *run = runs_of(x->m, block), begin = run[BEGINS + shard], n = run[BEGINS + shard + 1] - begin;
        if (block + 1 < x->n_blocks) {
            const int64_t *next = runs_of(x->m, block + 1) + BEGINS + shard;
            graph_map_prefetch(x->map, entries_of(x->m, block + 1) + next[0], next[1] - next[0]);
        }
        int64_t first_code = x->n_before + (int64_t)block * GRAPH_MERGE_BLOCK + begin;
        run[NEW + shard] = graph_map_mark(x->map, entries_of(x->m, block) + begin, n, first_code);
    }
    return GREBE_OK;
}

static grebe_status add_rows(const struct merging *x, const grebe_allocator *a, grebe_error *err)
{
    int64_t n_rows = x->n_before;
    for (size_t block = 0; block < x->n_blocks; block++) {
        int64_t *run = runs_of(x->m, block);
        run[FIRST_ROW] = n_rows;
        for (size_t s = 0; s < SHARDS; s++) {
            n_rows += run[NEW + s];
        }
    }
    grebe_status st = graph_array_room(a, x->rows, n_rows, err);
    if (st == GREBE_OK) {
        x->rows->n = n_rows;
    }
    return st;
}

/* All bits for 1, none for 0. */
static int64_t mask_of(uint64_t bit) { return (int64_t)(0 - bit); }

static void append(int64_t *rows, const uint32_t *nodes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = nodes[i];
    }
}

/* Without a branch on what is new, as in graph_map_rows(). */
static grebe_status place_block(void *arg, size_t block, grebe_error *err)
{
    const struct merging *x = arg;
    int64_t begin = (int64_t)block * GRAPH_MERGE_BLOCK, n = min_i64(GRAPH_MERGE_BLOCK, x->n - begin), *nodes = x->nodes + begin;
    const int64_t *run = runs_of(x->m, block);
    uint32_t *entries = entries_of(x->m, block), ends[SHARDS], fresh[GRAPH_MERGE_BLOCK], n_new = 0;
    uint32_t first_row = (uint32_t)run[FIRST_ROW];
    int64_t n_before = x->n_before;
    (void)err;
    for (size_t s = 0; s < SHARDS; s++) {
        ends[s] = (uint32_t)run[BEGINS + s];
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t node = (uint32_t)nodes[i], at = ends[shard_of(node)]++, row = first_row + n_new;
        int64_t code = entries[at], first = code - n_before, is_row = mask_of((uint64_t)first >> 63);
        uint64_t differs = (uint64_t)(first - begin - at);
        int64_t is_new = ~mask_of((differs | (0 - differs)) >> 63);
        int64_t known = (code & is_row) | (~first & ~is_row);
        fresh[n_new] = node;
        entries[at] = row; /* read by those that repeat the first alone */
        nodes[i] = known ^ ((known ^ row) & is_new);
        n_new -= (uint32_t)is_new;
    }
    int64_t *rows = x->rows->v + first_row;
    append(rows, fresh, n_new);
    if (!x->is_last) {
        graph_map_put(x->map, rows, n_new, first_row);
    }
    return GREBE_OK;
}

static grebe_status repeat_block(void *arg, size_t block, grebe_error *err)
{
    const struct merging *x = arg;
    const uint32_t *entries = entries_of(x->m, 0);
    int64_t begin = (int64_t)block * GRAPH_MERGE_BLOCK, n = min_i64(GRAPH_MERGE_BLOCK, x->n - begin), *nodes = x->nodes + begin;
    (void)err;
    for (int64_t i = 0; i < n; i++) {
        int64_t is_repeated = mask_of((uint64_t)nodes[i] >> 63);
        int64_t row = entries[~nodes[i] & is_repeated];
        nodes[i] ^= (nodes[i] ^ row) & is_repeated;
    }
    return GREBE_OK;
}

grebe_status graph_merge_rows(struct graph_merge *m, const grebe_allocator *a, struct graph_map *map, int64_t *nodes, int64_t n,
                              bool is_last, uint32_t threads, struct pool *pool, struct graph_array *rows, grebe_error *err)
{
    struct merging x = { .m = m, .map = map, .nodes = nodes, .n = n, .n_before = rows->n, .n_blocks = blocks_of(n), .rows = rows,
                         .is_last = is_last };
    grebe_status st;
    graph_map_begin_marks(map, x.n_before, n);
    GREBE_TRY(parallel_for(pool, threads, SHARDS, mark_shard, &x, NULL, err));
    GREBE_TRY(add_rows(&x, a, err));
    GREBE_TRY(parallel_for(pool, threads, x.n_blocks, place_block, &x, NULL, err));
    GREBE_TRY(parallel_for(pool, threads, x.n_blocks, repeat_block, &x, NULL, err));
out:
    return st;
}

void graph_merge_release(const grebe_allocator *a, struct graph_merge *m)
{
    graph_array_release(a, &m->entries);
    graph_array_release(a, &m->runs);
}
