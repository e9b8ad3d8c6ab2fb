/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants
 *  1. Dense: slots[node] >= base exactly if the node has a row in this batch, and then slots[node] - base is it. base
 *     grows by the rows, and codes, that the batch before had, so that nothing is cleared between batches.
 *  2. Hashed: a slot is empty exactly if its key is 0; at most half of the slots are used.
 */
#include "graph/graph_map.h"

#include <string.h>

#include "base/rng.h"

enum { AHEAD = 64, BLOCK = 1024 };
#define ROWS_MAX INT64_C(0x7fffffff)

struct graph_map {
    const grebe_allocator *a;
    int64_t n_nodes;
    int64_t n_rows; /* most rows of any type in this batch, codes included */
    /* dense */
    uint32_t *slots;
    uint32_t base;
    /* hashed */
    int64_t *keys; /* node + 1 */
    uint32_t *values;
    size_t n_slots, n_used;
};

grebe_status graph_map_new(const grebe_allocator *a, int64_t n_nodes, int64_t dense_max, struct graph_map **out, grebe_error *err)
{
    struct graph_map *map = mem_alloc_zero(a, sizeof *map);
    *out = NULL;
    if (map == NULL) {
        return mem_fail(err, sizeof *map, "rows of nodes");
    }
    map->a = a;
    map->n_nodes = n_nodes;
    map->base = 1;
    if (n_nodes <= dense_max) {
        size_t size = ((size_t)n_nodes + 1) * sizeof *map->slots;
        map->slots = mem_alloc(a, size);
        if (map->slots == NULL) {
            mem_free(a, map, sizeof *map);
            return mem_fail(err, size, "rows of nodes");
        }
        mem_wish_large_pages(map->slots, size); /* before a page is touched */
        memset(map->slots, 0, size);
    }
    *out = map;
    return GREBE_OK;
}

static void free_table(struct graph_map *map)
{
    mem_free(map->a, map->keys, map->n_slots * sizeof *map->keys);
    mem_free(map->a, map->values, map->n_slots * sizeof *map->values);
}

void graph_map_free(struct graph_map *map)
{
    if (map != NULL) {
        if (map->slots != NULL) {
            mem_free(map->a, map->slots, ((size_t)map->n_nodes + 1) * sizeof *map->slots);
        }
        free_table(map);
        mem_free(map->a, map, sizeof *map);
    }
}

void graph_map_begin(struct graph_map *map)
{
    if (map->slots != NULL) {
        if ((int64_t)map->base + map->n_rows > ROWS_MAX) {
            memset(map->slots, 0, ((size_t)map->n_nodes + 1) * sizeof *map->slots);
            map->base = 1;
        } else {
            map->base += (uint32_t)map->n_rows;
        }
    } else if (map->n_used > 0) {
        memset(map->keys, 0, map->n_slots * sizeof *map->keys);
        map->n_used = 0;
    }
    map->n_rows = 0;
}

/* The slot of a node, or the empty one where it would be. */
static size_t find_slot(const int64_t *keys, size_t n_slots, int64_t node)
{
    size_t at = (size_t)rng_mix((uint64_t)node) & (n_slots - 1);
    while (keys[at] != 0 && keys[at] != node + 1) {
        at = (at + 1) & (n_slots - 1);
    }
    return at;
}

/* Room for BLOCK more nodes. */
static grebe_status table_room(struct graph_map *map, grebe_error *err)
{
    if ((map->n_used + BLOCK) * 2 <= map->n_slots) {
        return GREBE_OK;
    }
    size_t n = max_size(map->n_slots * 2, BLOCK * 4);
    int64_t *keys = mem_alloc_zero(map->a, n * sizeof *keys);
    uint32_t *values = mem_alloc(map->a, n * sizeof *values);
    if (keys == NULL || values == NULL) {
        mem_free(map->a, keys, n * sizeof *keys);
        mem_free(map->a, values, n * sizeof *values);
        return mem_fail(err, n * (sizeof *keys + sizeof *values), "rows of nodes");
    }
    for (size_t i = 0; i < map->n_slots; i++) {
        if (map->keys[i] != 0) {
            size_t at = find_slot(keys, n, map->keys[i] - 1);
            keys[at] = map->keys[i];
            values[at] = map->values[i];
        }
    }
    free_table(map);
    map->keys = keys;
    map->values = values;
    map->n_slots = n;
    return GREBE_OK;
}

/* Without a branch on whether a node is new, which nothing could predict: each is written behind the rows, and stays there if it is. */
static void rows_dense(struct graph_map *map, const int64_t *nodes, int64_t n, struct graph_array *rows, int64_t *position)
{
    uint32_t *slots = map->slots, base = map->base, next = base + (uint32_t)rows->n;
    int64_t *row_nodes = rows->v + rows->n;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&slots[nodes[i + AHEAD < n ? i + AHEAD : i]], 1);
        int64_t node = nodes[i];
        uint32_t value = slots[node], is_new = (value - base) >> 31; /* base and rows are below 2^31 */
        value ^= (value ^ next) & (0 - is_new);
        slots[node] = value;
        *row_nodes = node;
        row_nodes += is_new;
        next += is_new;
        position[i] = (int64_t)(value - base);
    }
    rows->n = (int64_t)(next - base);
}

static grebe_status rows_hashed(struct graph_map *map, const int64_t *nodes, int64_t n, struct graph_array *rows, int64_t *position,
                                grebe_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0) {
            grebe_status st = table_room(map, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        if (i + AHEAD < n) {
            __builtin_prefetch(&map->keys[(size_t)rng_mix((uint64_t)nodes[i + AHEAD]) & (map->n_slots - 1)], 1);
        }
        int64_t node = nodes[i];
        size_t at = find_slot(map->keys, map->n_slots, node);
        if (map->keys[at] == 0) {
            map->keys[at] = node + 1;
            map->values[at] = (uint32_t)rows->n;
            map->n_used++;
            rows->v[rows->n++] = node;
        }
        position[i] = map->values[at];
    }
    return GREBE_OK;
}

static grebe_status limit_rows(int64_t n, grebe_error *err)
{
    return n > ROWS_MAX ? GREBE_FAIL(err, GREBE_ELIMIT, "a batch with up to %lld nodes: at most 2^31 - 1 are possible", (long long)n)
                        : GREBE_OK;
}

grebe_status graph_map_rows(struct graph_map *map, const int64_t *nodes, int64_t n, struct graph_array *rows, int64_t *position,
                            grebe_error *err)
{
    grebe_status st;
    GREBE_TRY(limit_rows(rows->n + n, err));
    GREBE_TRY(graph_array_room(map->a, rows, rows->n + n, err));
    if (map->slots != NULL) {
        rows_dense(map, nodes, n, rows, position);
    } else {
        GREBE_TRY(rows_hashed(map, nodes, n, rows, position, err));
    }
    map->n_rows = max_i64(map->n_rows, rows->n);
out:
    return st;
}

grebe_status graph_map_keep(struct graph_map *map, const struct graph_array *rows, grebe_error *err)
{
    grebe_status st = limit_rows(rows->n, err);
    for (int64_t i = 0; i < rows->n && st == GREBE_OK; i++) {
        int64_t node = rows->v[i];
        if (map->slots != NULL) {
            if (map->slots[node] < map->base) {
                map->slots[node] = map->base + (uint32_t)i;
            }
            continue;
        }
        if (i % BLOCK == 0) {
            st = table_room(map, err);
            if (st != GREBE_OK) {
                break;
            }
        }
        size_t at = find_slot(map->keys, map->n_slots, node);
        if (map->keys[at] == 0) {
            map->keys[at] = node + 1;
            map->values[at] = (uint32_t)i;
            map->n_used++;
        }
    }
    map->n_rows = max_i64(map->n_rows, rows->n);
    return st;
}

bool graph_map_can_mark(const struct graph_map *map, int64_t n_rows, int64_t n)
{
    return map->slots != NULL && n <= ROWS_MAX - n_rows;
}

void graph_map_begin_marks(struct graph_map *map, int64_t n_rows, int64_t n) { map->n_rows = max_i64(map->n_rows, n_rows + n); }

void graph_map_prefetch(const struct graph_map *map, const uint32_t *nodes, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&map->slots[nodes[i]], 1);
        __asm__ volatile("" : : "r"(&map->slots[nodes[i]])); /* as in graph_prefetch() */
    }
}

int64_t graph_map_mark(struct graph_map *map, uint32_t *nodes, int64_t n, int64_t first_code)
{
    uint32_t *slots = map->slots, base = map->base, next = base + (uint32_t)first_code, n_new = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t node = nodes[i], value = slots[node], is_new = (value - base) >> 31; /* as in rows_dense() */
        value ^= (value ^ (next + (uint32_t)i)) & (0 - is_new);
        slots[node] = value;
        n_new += is_new;
        nodes[i] = value - base;
    }
    return n_new;
}

void graph_map_put(struct graph_map *map, const int64_t *nodes, int64_t n, int64_t first_row)
{
    uint32_t value = map->base + (uint32_t)first_row;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&map->slots[nodes[i + AHEAD < n ? i + AHEAD : i]], 1);
        map->slots[nodes[i]] = value + (uint32_t)i;
    }
}
