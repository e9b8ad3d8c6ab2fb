/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second pass: each edge to its place in the list of its destination. Ranges of destinations are independent: a
 * worker takes one, goes over all files and keeps the edges of the range, so that no two threads write to one list and
 * a list is filled in the order of the files.
 *
 * Of a chunk of edges those of the range are picked first, without branches; then the places of all are taken; then
 * each array is written to. So that many of the writes, which go far and wide, are under way at once.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/checked.h"
#include "graph/csc_build.h"
#include "graph/csc_count.h"

enum { ARRAYS = 3 /* indices, edge ids, types; then columns */ };

/* What one thread works with. */
struct worker {
    struct region **regions; /* shape [ARRAYS + n_moved]; NULL: not there, or not had yet */
    struct csc_range range;
    uint32_t *picked; /* of the chunk; shape [CSC_CHUNK_EDGES] */
    size_t *places;   /* in the range */
    int64_t n_placed; /* edges of the range */
};

struct scatter {
    struct csc_build *b;
    csc_range_fn fn;
    void *arg;
    struct worker *workers;
    size_t n_workers;
    atomic_size_t next; /* range */
    atomic_bool is_wrong;
};

/* Bytes of a value of array i. 0: the graph has no such array. */
static size_t width_of(const struct csc_build *b, size_t i)
{
    return i == 0   ? tensor_type_bytes(b->indices_type)
           : i == 1 ? (b->options.has_edge_ids ? tensor_type_bytes(b->indptr_type) : 0)
           : i == 2 ? (b->type_type >= 0 ? tensor_type_bytes(b->type_type) : 0)
                    : b->columns[i - ARRAYS].width;
}

/* ---- a chunk ---- */

/* A chunk of edges of one file. */
struct chunk {
    const unsigned char *sources, *destinations;
    size_t n, type;
    uint64_t low, n_low; /* destinations that are of the range: [low, low + n_low) */
    int64_t row;         /* of the first in the file */
};

static inline int64_t id_at(const unsigned char *ids, size_t i, size_t width)
{
    return width == 4 ? ((const int32_t *)(const void *)ids)[i] : ((const int64_t *)(const void *)ids)[i];
}

static inline size_t pick(const struct chunk *c, size_t width, uint32_t *picked)
{
    size_t n = 0;
    for (size_t k = 0; k < c->n; k++) {
        picked[n] = (uint32_t)k;
        n += (uint64_t)id_at(c->destinations, k, width) - c->low < c->n_low;
    }
    return n;
}

/* Takes the places of picked edges. False: more edges than were counted. */
static inline bool take_places(const struct worker *w, const struct chunk *c, size_t width, size_t n, int64_t *ends)
{
    const uint64_t begin = (uint64_t)w->range.at.edge_begin, all = (uint64_t)w->range.at.edge_end - begin;
    bool is_inside = true;
    for (size_t k = 0; k < n; k++) {
        uint64_t v = (uint64_t)id_at(c->destinations, w->picked[k], width);
        if (v - c->low >= c->n_low) { /* the file is being written to */
            return false;
        }
        uint64_t at = (uint64_t)ends[v]++ - begin;
        is_inside &= at < all;
        w->places[k] = (size_t)at;
    }
    return is_inside;
}

static inline bool put_sources(const struct worker *w, const struct chunk *c, size_t width, size_t n, int64_t offset,
                               uint64_t bound, bool is_narrow)
{
    bool is_inside = true;
    int32_t *narrow = (int32_t *)(void *)w->range.indices;
    int64_t *wide = (int64_t *)(void *)w->range.indices;
    for (size_t k = 0; k < n; k++) {
        int64_t v = id_at(c->sources, w->picked[k], width);
        is_inside &= (uint64_t)v < bound;
        if (is_narrow) {
            narrow[w->places[k]] = (int32_t)((uint64_t)v + (uint64_t)offset);
        } else {
            wide[w->places[k]] = (int64_t)((uint64_t)v + (uint64_t)offset);
        }
    }
    return is_inside;
}

static void put_rows(const struct worker *w, size_t n, int64_t row, bool is_narrow)
{
    int32_t *narrow = (int32_t *)(void *)w->range.edge_ids;
    int64_t *wide = (int64_t *)(void *)w->range.edge_ids;
    for (size_t k = 0; k < n; k++) {
        int64_t v = row + (int64_t)w->picked[k];
        if (is_narrow) {
            narrow[w->places[k]] = (int32_t)v;
        } else {
            wide[w->places[k]] = v;
        }
    }
}

static void put_type(const struct worker *w, size_t n, size_t type, size_t width)
{
    unsigned char *types = w->range.types;
    for (size_t k = 0; k < n; k++) {
        switch (width) {
        case 1: types[w->places[k]] = (unsigned char)type; break;
        case 2: ((int16_t *)(void *)types)[w->places[k]] = (int16_t)type; break;
        case 4: ((int32_t *)(void *)types)[w->places[k]] = (int32_t)type; break;
        default: ((int64_t *)(void *)types)[w->places[k]] = (int64_t)type; break;
        }
    }
}

/* Rows of an attribute; `rows` begins with that of the chunk's first edge. */
static inline void put_values(const struct worker *w, size_t n, const unsigned char *rows, unsigned char *dst,
                              size_t width)
{
    for (size_t k = 0; k < n; k++) {
        memcpy(dst + w->places[k] * width, rows + (size_t)w->picked[k] * width, width);
    }
}

static void put_column(const struct worker *w, const struct chunk *c, size_t n, const struct csc_column *x,
                       unsigned char *dst)
{
    const unsigned char *rows = x->parts[c->type].data + (size_t)c->row * x->width;
    switch (x->width) { /* widths that are known make copies that are one instruction */
    case 1: put_values(w, n, rows, dst, 1); break;
    case 2: put_values(w, n, rows, dst, 2); break;
    case 4: put_values(w, n, rows, dst, 4); break;
    case 8: put_values(w, n, rows, dst, 8); break;
    default: put_values(w, n, rows, dst, x->width); break;
    }
}

/* False: the chunk holds what cannot be. */
static inline bool place_chunk(const struct scatter *s, struct worker *w, const struct chunk *c, size_t width)
{
    const struct csc_build *b = s->b;
    size_t n = pick(c, width, w->picked);
    w->n_placed += (int64_t)n;
    if (!take_places(w, c, width, n, b->ends + b->destination_offset[c->type])) {
        return false;
    }
    uint64_t bound = (uint64_t)b->files[c->type].n_sources;
    int64_t offset = b->source_offset[c->type];
    bool is_right = b->indices_type == ARRAY_I32 ? put_sources(w, c, width, n, offset, bound, true)
                                                 : put_sources(w, c, width, n, offset, bound, false);
    if (w->range.edge_ids != NULL) {
        put_rows(w, n, c->row, b->indptr_type == ARRAY_I32);
    }
    if (w->range.types != NULL) {
        put_type(w, n, c->type, tensor_type_bytes(b->type_type));
    }
    for (size_t i = 0; i < b->n_moved; i++) {
        put_column(w, c, n, &b->columns[i], w->range.columns[i]);
    }
    return is_right;
}

/* ---- a range ---- */

static void forget_columns(const struct csc_build *b, size_t type, int64_t row, size_t n)
{
    for (size_t i = 0; i < b->n_moved; i++) {
        const struct csc_column *x = &b->columns[i];
        if (x->copies[type] == NULL) {
            region_forget(x->parts[type].region, x->parts[type].data + (size_t)row * x->width, n * x->width);
        }
    }
}

/* The edges of one file that are of the range. */
static grebe_status place_file(struct scatter *s, struct worker *w, size_t type, grebe_error *err)
{
    const struct csc_build *b = s->b;
    const struct graph_edges *e = &b->files[type];
    int64_t offset = b->destination_offset[type], row = 0;
    int64_t low = max_i64(w->range.at.node_begin - offset, 0),
            high = min_i64(w->range.at.node_end - offset, e->n_destinations);
    for (size_t i = 0; low < high && i < e->n_blocks; i++) {
        struct graph_edge_view v = graph_edges_view(e, i);
        for (size_t at = 0; at < v.n; at += CSC_CHUNK_EDGES) {
            const struct chunk c = { v.sources + at * v.width,  v.destinations + at * v.width,
                                     min_size(CSC_CHUNK_EDGES, v.n - at), type,
                                     (uint64_t)low,             (uint64_t)(high - low),
                                     row + (int64_t)at };
            if (!(v.width == 4 ? place_chunk(s, w, &c, 4) : place_chunk(s, w, &c, 8))) {
                atomic_store(&s->is_wrong, true);
                return GREBE_OK; /* what is wrong is told by who started the workers */
            }
        }
        graph_edges_forget(e, &v);
        forget_columns(b, type, row, v.n);
        row += (int64_t)v.n;
        grebe_status st = call_check(&b->options.call, err);
        if (st != GREBE_OK || atomic_load(&s->is_wrong)) {
            return st;
        }
    }
    return GREBE_OK;
}

/* Room for all arrays of the range; what the worker had before is used again where it is enough. */
static grebe_status make_room(const struct scatter *s, struct worker *w, grebe_error *err)
{
    const struct csc_build *b = s->b;
    for (size_t i = 0; i < ARRAYS + b->n_moved; i++) {
        size_t bytes = 0, n = (size_t)(w->range.at.edge_end - w->range.at.edge_begin);
        if (!checked_mul_size(n, width_of(b, i), &bytes)) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %zu edges of one range are more bytes than memory can have",
                              b->m->shown, n);
        }
        if ((i > 0 && i < ARRAYS && width_of(b, i) == 0) ||
            (w->regions[i] != NULL && w->regions[i]->capacity >= bytes + 64)) {
            continue;
        }
        region_drop(w->regions[i]);
        grebe_status st = region_new(b->m->ctx->a, bytes, &w->regions[i], err);
        if (st != GREBE_OK) {
            return st;
        }
        mem_wish_large_pages(w->regions[i]->data, bytes);
    }
    unsigned char **arrays[ARRAYS] = { &w->range.indices, &w->range.edge_ids, &w->range.types };
    for (size_t i = 0; i < ARRAYS; i++) {
        *arrays[i] = w->regions[i] != NULL ? w->regions[i]->data : NULL;
    }
    for (size_t i = 0; i < b->n_moved; i++) {
        w->range.columns[i] = w->regions[ARRAYS + i]->data;
    }
    return GREBE_OK;
}

static grebe_status make_range(struct scatter *s, struct worker *w, size_t index, grebe_error *err)
{
    const struct csc_build *b = s->b;
    grebe_status st = GREBE_OK;
    w->range.index = index;
    w->range.at = b->ranges[index];
    w->n_placed = 0;
    GREBE_TRY(make_room(s, w, err));
    for (size_t type = 0; type < b->m->n_edges && !atomic_load(&s->is_wrong); type++) {
        GREBE_TRY(place_file(s, w, type, err));
    }
    if (w->n_placed != w->range.at.edge_end - w->range.at.edge_begin) {
        atomic_store(&s->is_wrong, true);
    }
    st = atomic_load(&s->is_wrong) ? GREBE_OK : s->fn(s->arg, &w->range, err);
out:
    return st;
}

static grebe_status work(void *arg, size_t i, grebe_error *err)
{
    struct scatter *s = arg;
    for (;;) {
        size_t index = atomic_fetch_add(&s->next, 1);
        if (index >= s->b->n_ranges || atomic_load(&s->is_wrong)) {
            return GREBE_OK;
        }
        grebe_status st = make_range(s, &s->workers[i], index, err);
        if (st != GREBE_OK) {
            atomic_store(&s->next, s->b->n_ranges);
            return st;
        }
    }
}

/* ---- all ---- */

/* The end of the range that begins at a node: as many lists as fit, one at least. */
static int64_t range_end(const struct csc_build *b, int64_t begin, int64_t room)
{
    int64_t low = begin + 1, high = b->n_nodes; /* the last end whose lists fit */
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (b->ends[middle] - b->ends[begin] <= room) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

grebe_status csc_plan_ranges(struct csc_build *b, grebe_error *err)
{
    enum { EDGES_MIN = 1 << 16 /* fewer are not worth a thread */ };
    const uint64_t threads = b->options.call.threads > 0 ? b->options.call.threads : 1;
    uint64_t each = 0, all = 0;
    for (size_t i = 0; i < ARRAYS + b->n_moved; i++) {
        each += width_of(b, i);
    }
    bool is_large = !checked_mul_u64((uint64_t)b->n_edges, each, &all);
    uint64_t room = csc_budget(b, is_large ? UINT64_MAX : all) / threads / each;
    uint64_t share = ((uint64_t)b->n_edges + threads - 1) / threads;
    room = min_u64(room, share > EDGES_MIN ? share : EDGES_MIN);
    room = room < 1 ? 1 : room > (uint64_t)INT64_MAX / 2 ? (uint64_t)INT64_MAX / 2 : room;
    for (int pass = 0; pass < 2; pass++) { /* counted first */
        b->n_ranges = 0;
        for (int64_t v = 0, end = 0; v < b->n_nodes; v = end) {
            end = range_end(b, v, (int64_t)room);
            if (pass == 1) {
                b->ranges[b->n_ranges] = (struct csc_bounds){ v, end, b->ends[v], b->ends[end] };
            }
            b->n_ranges++;
        }
        if (pass == 0) {
            b->ranges = arena_array(&b->m->arena, b->n_ranges, sizeof *b->ranges);
            if (b->ranges == NULL) {
                return mem_fail(err, b->n_ranges * sizeof *b->ranges, b->m->shown);
            }
        }
    }
    return GREBE_OK;
}

static grebe_status make_workers(struct scatter *s, grebe_error *err)
{
    struct csc_build *b = s->b;
    struct arena *ar = &b->m->arena;
    s->n_workers = min_size(b->options.call.threads > 0 ? b->options.call.threads : 1, b->n_ranges);
    s->workers = arena_array(ar, s->n_workers, sizeof *s->workers);
    for (size_t i = 0; s->workers != NULL && i < s->n_workers; i++) {
        struct worker *w = &s->workers[i];
        w->regions = arena_array(ar, ARRAYS + b->n_moved, sizeof *w->regions);
        w->range.columns = arena_array(ar, b->n_moved, sizeof *w->range.columns);
        w->picked = arena_array(ar, CSC_CHUNK_EDGES, sizeof *w->picked);
        w->places = arena_array(ar, CSC_CHUNK_EDGES, sizeof *w->places);
        if (w->regions == NULL || w->range.columns == NULL || w->picked == NULL || w->places == NULL) {
            return mem_fail(err, CSC_CHUNK_EDGES * sizeof *w->places, b->m->shown);
        }
    }
    return s->workers != NULL ? GREBE_OK : mem_fail(err, s->n_workers * sizeof *s->workers, b->m->shown);
}

grebe_status csc_build_ranges(struct csc_build *b, csc_range_fn fn, void *arg, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct scatter s = { .b = b, .fn = fn, .arg = arg };
    GREBE_TRY(make_workers(&s, err));
    st = parallel_for(b->m->ctx->pool, (uint32_t)s.n_workers, s.n_workers, work, &s, b->options.call.cancel, err);
    st = st == GREBE_OK && s.is_wrong ? csc_explain(b, err) : st;
out:
    for (size_t i = 0; s.workers != NULL && i < s.n_workers; i++) {
        for (size_t k = 0; s.workers[i].regions != NULL && k < ARRAYS + b->n_moved; k++) {
            region_drop(s.workers[i].regions[k]);
        }
    }
    return st;
}
