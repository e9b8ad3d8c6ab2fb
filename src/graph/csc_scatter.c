/* SPDX-License-Identifier: Apache-2.0 */
/* The second pass: each edge to its place in the list of its destination. */
#include <string.h>

#include "base/checked.h"
#include "graph/csc_build.h"

enum { WAVE_MAX = 16 /* blocks that are in memory at once */ };

/* A block that was read, of one type. */
struct wave_block {
    int64_t *sources, *destinations;
    size_t n;
    size_t type;  /* id */
    size_t block; /* of the file */
    int64_t row;  /* in the file of the type */
};

struct scatter {
    struct csc_build *b;
    struct csc_range range;
    int64_t node_begin, node_end;
    int64_t *source_offset, *destination_offset; /* by edge type id */
    struct wave_block *wave;
    size_t wave_room, n_wave;
    int64_t *parts; /* shape [n_parts + 1]: destinations of each thread */
    size_t n_parts;
};

static size_t bytes_per_edge(const struct csc_build *b)
{
    size_t n = tensor_type_bytes(b->indices_type) + (b->options.has_edge_ids ? tensor_type_bytes(b->indptr_type) : 0) +
               (b->type_type >= 0 ? tensor_type_bytes(b->type_type) : 0);
    for (size_t i = 0; i < b->n_moved; i++) {
        n += b->columns[i].width;
    }
    return n;
}

static int64_t edges_in_memory(const struct csc_build *b)
{
    uint64_t limit = b->options.call.memory_limit_bytes;
    if (limit == UINT64_MAX) {
        return INT64_MAX;
    }
    uint64_t edges = limit / bytes_per_edge(b);
    return edges < 1 ? 1 : edges > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)edges;
}

bool csc_is_one_range(const struct csc_build *b)
{
    return b->n_edges <= edges_in_memory(b);
}

static void put_integer(unsigned char *dst, int64_t at, int type, int64_t v)
{
    switch (tensor_type_bytes(type)) {
    case 1: dst[at] = (unsigned char)v; break;
    case 2: ((int16_t *)(void *)dst)[at] = (int16_t)v; break;
    case 4: ((int32_t *)(void *)dst)[at] = (int32_t)v; break;
    default: ((int64_t *)(void *)dst)[at] = v; break;
    }
}

/* ---- one wave ---- */

static grebe_status read_block(void *arg, size_t i, grebe_error *err)
{
    struct scatter *s = arg;
    struct wave_block *w = &s->wave[i];
    grebe_status st = graph_edges_read(&s->b->files[w->type], w->block, w->sources, w->destinations, &w->n, err);
    int64_t bounds[2] = { s->source_offset[w->type], s->destination_offset[w->type] };
    for (size_t k = 0; st == GREBE_OK && k < w->n; k++) {
        w->sources[k] += bounds[0];
        w->destinations[k] += bounds[1];
    }
    return st;
}

/* The edges of the wave whose destinations are those of one part, in the order of the files. */
static grebe_status place_part(void *arg, size_t part, grebe_error *err)
{
    struct scatter *s = arg;
    struct csc_build *b = s->b;
    const struct csc_range *range = &s->range;
    const uint64_t begin = (uint64_t)s->parts[part], n = (uint64_t)(s->parts[part + 1] - s->parts[part]);
    const uint64_t n_range = (uint64_t)(range->edge_end - range->edge_begin);
    int64_t *ends = b->ends;
    for (size_t i = 0; i < s->n_wave; i++) {
        const struct wave_block *w = &s->wave[i];
        for (size_t k = 0; k < w->n; k++) {
            int64_t v = w->destinations[k];
            if ((uint64_t)v - begin >= n) {
                continue;
            }
            int64_t at = ends[v]++ - range->edge_begin;
            if ((uint64_t)at >= n_range) { /* more edges than were counted */
                return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: changed while it was read", b->files[w->type].path);
            }
            put_integer(range->indices, at, b->indices_type, w->sources[k]);
            if (range->edge_ids != NULL) {
                put_integer(range->edge_ids, at, b->indptr_type, w->row + (int64_t)k);
            }
            if (range->types != NULL) {
                put_integer(range->types, at, b->type_type, (int64_t)w->type);
            }
            for (size_t c = 0; c < b->n_moved; c++) {
                size_t width = b->columns[c].width;
                memcpy(range->columns[c] + (size_t)at * width,
                       b->columns[c].parts[w->type].data + (size_t)(w->row + (int64_t)k) * width, width);
            }
        }
    }
    return GREBE_OK;
}

static grebe_status run_wave(struct scatter *s, int64_t *row, grebe_error *err)
{
    const struct call *call = &s->b->options.call;
    struct pool *pool = s->b->m->ctx->pool;
    grebe_status st = parallel_for(pool, call->threads, s->n_wave, read_block, s, call->cancel, err);
    for (size_t i = 0; i < s->n_wave && st == GREBE_OK; i++) {
        struct wave_block *w = &s->wave[i];
        if (w->block == 0) {
            *row = 0;
        }
        w->row = *row;
        *row += (int64_t)w->n;
        if (*row > s->b->edges_of[w->type]) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: changed while it was read", s->b->files[w->type].path);
        }
    }
    st = st == GREBE_OK ? parallel_for(pool, call->threads, s->n_parts, place_part, s, NULL, err) : st;
    for (size_t i = 0; call->memory_limit_bytes != UINT64_MAX && i < s->n_wave; i++) {
        const struct wave_block *w = &s->wave[i];
        for (size_t c = 0; c < s->b->n_moved && st == GREBE_OK; c++) {
            const struct csc_column *x = &s->b->columns[c];
            if (x->copies[w->type] == NULL) {
                region_forget(x->parts[w->type].region, x->parts[w->type].data + (size_t)w->row * x->width,
                              w->n * x->width);
            }
        }
    }
    return st;
}

/* ---- one range ---- */

/* Destinations shared out so that each thread has about as many edges. */
static void share_out(struct scatter *s)
{
    const int64_t *ends = s->b->ends;
    int64_t v = s->node_begin, all = s->range.edge_end - s->range.edge_begin;
    for (size_t i = 0; i < s->n_parts; i++) {
        int64_t wanted = s->range.edge_begin + (int64_t)((uint64_t)all / s->n_parts * i);
        int64_t low = v, high = s->node_end; /* the first node whose list begins at `wanted` or later */
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (ends[middle] < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        v = i == 0 ? s->node_begin : low;
        s->parts[i] = v;
    }
    s->parts[s->n_parts] = s->node_end;
}

static grebe_status make_range(struct scatter *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct csc_build *b = s->b;
    int64_t row = 0, placed = 0;
    share_out(s);
    s->n_wave = 0;
    for (size_t type = 0; type < b->m->n_edges; type++) {
        for (size_t i = 0; i < b->files[type].n_blocks; i++) {
            struct wave_block *w = &s->wave[s->n_wave++];
            w->type = type;
            w->block = i;
            if (s->n_wave == s->wave_room) {
                GREBE_TRY(run_wave(s, &row, err));
                s->n_wave = 0;
            }
        }
    }
    GREBE_TRY(run_wave(s, &row, err));
    /* each cursor stands at the end of its list now, if the files are what they were */
    placed = s->node_end > s->node_begin ? b->ends[s->node_end - 1] : s->range.edge_end;
    if (placed != s->range.edge_end) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: a file of edges changed while it was read", b->m->shown);
    }
out:
    return st;
}

/* ---- all ---- */

struct room {
    struct region *regions[3], **columns;
};

static grebe_status make_room(struct scatter *s, struct room *r, int64_t n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct csc_build *b = s->b;
    const grebe_allocator *a = b->m->ctx->a;
    GREBE_TRY(region_new(a, (size_t)n * tensor_type_bytes(b->indices_type), &r->regions[0], err));
    s->range.indices = r->regions[0]->data;
    if (b->options.has_edge_ids) {
        GREBE_TRY(region_new(a, (size_t)n * tensor_type_bytes(b->indptr_type), &r->regions[1], err));
        s->range.edge_ids = r->regions[1]->data;
    }
    if (b->type_type >= 0) {
        GREBE_TRY(region_new(a, (size_t)n * tensor_type_bytes(b->type_type), &r->regions[2], err));
        s->range.types = r->regions[2]->data;
    }
    for (size_t i = 0; i < b->n_moved; i++) {
        size_t bytes = 0;
        if (!checked_mul_size((size_t)n, b->columns[i].width, &bytes)) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "attribute %s: more bytes than memory can have", b->columns[i].name);
        }
        GREBE_TRY(region_new(a, bytes, &r->columns[i], err));
        s->range.columns[i] = r->columns[i]->data;
    }
out:
    return st;
}

/* The end of the range that begins at a node: as many lists as fit, one at least. */
static int64_t range_end(const struct csc_build *b, int64_t begin, int64_t room)
{
    int64_t v = begin + 1, n = b->n_nodes;
    int64_t low = v, high = n; /* the last end whose lists fit */
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (b->ends[middle] - b->ends[begin] <= room) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low > v ? low : v;
}

static grebe_status prepare(struct scatter *s, struct room *r, grebe_error *err)
{
    struct csc_build *b = s->b;
    struct graph_metadata *m = b->m;
    size_t n_threads = b->options.call.threads > 0 ? b->options.call.threads : 1;
    s->n_parts = min_size(n_threads, 64);
    s->wave_room = min_size(n_threads, WAVE_MAX);
    s->source_offset = arena_array(&m->arena, m->n_edges, sizeof *s->source_offset);
    s->destination_offset = arena_array(&m->arena, m->n_edges, sizeof *s->destination_offset);
    s->wave = arena_array(&m->arena, s->wave_room, sizeof *s->wave);
    s->parts = arena_array(&m->arena, s->n_parts + 1, sizeof *s->parts);
    s->range.columns = arena_array(&m->arena, b->n_moved, sizeof *s->range.columns);
    r->columns = arena_array(&m->arena, b->n_moved, sizeof *r->columns);
    if (s->source_offset == NULL || s->destination_offset == NULL || s->wave == NULL || s->parts == NULL ||
        s->range.columns == NULL || r->columns == NULL) {
        return mem_fail(err, m->n_edges * sizeof *s->source_offset, m->shown);
    }
    for (size_t i = 0; i < m->n_edges; i++) {
        const struct graph_edge_spec *e = &m->edges[b->edge_order[i]];
        for (size_t k = 0; k < m->n_nodes; k++) {
            s->source_offset[i] = b->node_order[k] == e->source ? b->node_offset[k] : s->source_offset[i];
            s->destination_offset[i] =
                b->node_order[k] == e->destination ? b->node_offset[k] : s->destination_offset[i];
        }
    }
    for (size_t i = 0; i < s->wave_room; i++) {
        s->wave[i].sources = mem_alloc(m->ctx->a, 2 * (GRAPH_BLOCK_EDGES + 1) * sizeof(int64_t));
        if (s->wave[i].sources == NULL) {
            return mem_fail(err, 2 * (GRAPH_BLOCK_EDGES + 1) * sizeof(int64_t), m->shown);
        }
        s->wave[i].destinations = s->wave[i].sources + GRAPH_BLOCK_EDGES + 1;
    }
    return GREBE_OK;
}

/* Of the cursors, which stand at the ends of their lists, indptr again. */
static void restore(struct csc_build *b)
{
    memmove(b->ends + 1, b->ends, (size_t)b->n_nodes * sizeof *b->ends);
    b->ends[0] = 0;
}

grebe_status csc_build_ranges(struct csc_build *b, csc_range_fn fn, void *arg, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct scatter s = { .b = b };
    struct room r = { 0 };
    int64_t room = edges_in_memory(b), most = 0;
    GREBE_TRY(prepare(&s, &r, err));
    for (int64_t v = 0; v < b->n_nodes; v = range_end(b, v, room)) {
        most = max_i64(most, b->ends[range_end(b, v, room)] - b->ends[v]);
    }
    GREBE_TRY(make_room(&s, &r, most, err));
    if (b->n_nodes == 0) {
        GREBE_TRY(fn(arg, &s.range, err));
    }
    for (int64_t v = 0; v < b->n_nodes; v = s.node_end) {
        s.node_begin = v;
        s.node_end = range_end(b, v, room);
        s.range.edge_begin = b->ends[v];
        s.range.edge_end = b->ends[s.node_end];
        GREBE_TRY(make_range(&s, err));
        if (s.node_end == b->n_nodes) {
            restore(b);
        }
        GREBE_TRY(fn(arg, &s.range, err));
    }
out:
    for (size_t i = 0; s.wave != NULL && i < s.wave_room; i++) {
        mem_free(b->m->ctx->a, s.wave[i].sources,
                 s.wave[i].sources != NULL ? 2 * (GRAPH_BLOCK_EDGES + 1) * sizeof(int64_t) : 0);
    }
    for (size_t i = 0; i < 3; i++) {
        region_drop(r.regions[i]);
    }
    for (size_t i = 0; r.columns != NULL && i < b->n_moved; i++) {
        region_drop(r.columns[i]);
    }
    return st;
}
