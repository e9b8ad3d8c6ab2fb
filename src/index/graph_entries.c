/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_entries.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUPED_MIN = 256, /* fewer entries are measured one and all */
    GROUPS_READ = 8,
    NEAREST_MAX = 16,
    PIECE = 256
};

static uint32_t wanted(uint32_t n)
{
    double e = 2 * sqrt((double)n);
    return e < 1 ? 1 : e > GRAPH_ENTRIES_MAX ? GRAPH_ENTRIES_MAX : (uint32_t)e;
}

static void copy_row(struct graph_entries *e, const struct graph_codes *c, uint32_t i)
{
    memcpy(e->rows + (size_t)i * e->stride, c->rows + (size_t)e->ids[i] * e->stride, e->stride);
}

static size_t pivot_bytes(const struct graph_entries *e)
{
    return GRAPH_PIVOTS_MAX * e->stride;
}

grebe_status graph_entries_reserve(struct graph_entries *e, const struct graph_codes *c, uint32_t n, grebe_error *err)
{
    size_t room = wanted(n);
    if (room <= e->room) {
        return GREBE_OK;
    }
    struct graph_entries more = { .room = room, .stride = c->stride };
    more.ids = mem_alloc(c->a, room * sizeof *more.ids);
    more.rows = mem_alloc_aligned(c->a, room * more.stride, MEM_ALIGN_VECTOR);
    more.pivots = mem_alloc_aligned(c->a, pivot_bytes(&more), MEM_ALIGN_VECTOR);
    if (more.ids == NULL || more.rows == NULL || more.pivots == NULL) {
        graph_entries_release(&more, c->a);
        return mem_fail(err, room * c->stride, "the entries of a graph");
    }
    graph_entries_copy(&more, c, e);
    graph_entries_release(e, c->a);
    *e = more;
    return GREBE_OK;
}

void graph_entries_release(struct graph_entries *e, const grebe_allocator *a)
{
    mem_free(a, e->ids, e->room * sizeof *e->ids);
    if (e->rows != NULL) {
        mem_free_aligned(a, e->rows, e->room * e->stride, MEM_ALIGN_VECTOR);
    }
    if (e->pivots != NULL) {
        mem_free_aligned(a, e->pivots, pivot_bytes(e), MEM_ALIGN_VECTOR);
    }
    *e = (struct graph_entries){ 0 };
}

void graph_entries_add(struct graph_entries *e, const struct graph_codes *c, const uint32_t *ids, uint32_t n_ids,
                       uint32_t n)
{
    for (uint32_t i = 0; i < n_ids && e->n < wanted(n); i++, e->n++) {
        assert(e->n < e->room);
        e->ids[e->n] = ids[i];
        copy_row(e, c, e->n);
    }
}

void graph_entries_refresh(struct graph_entries *e, const struct graph_codes *c)
{
    for (uint32_t i = 0; i < e->n; i++) {
        copy_row(e, c, i);
    }
    e->n_groups = 0;
    e->first[0] = 0;
}

void graph_entries_cut(struct graph_entries *e, const struct graph_codes *c, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        if (e->ids[i] < n) {
            e->ids[kept++] = e->ids[i];
        }
    }
    e->n = kept;
    graph_entries_refresh(e, c);
}

void graph_entries_copy(struct graph_entries *e, const struct graph_codes *c, const struct graph_entries *from)
{
    assert(from->n <= e->room);
    if (from->n > 0) {
        memcpy(e->ids, from->ids, from->n * sizeof *e->ids);
    }
    e->n = from->n;
    graph_entries_refresh(e, c);
}

bool graph_entries_are_loose(const struct graph_entries *e)
{
    uint32_t loose = e->n - e->first[e->n_groups];
    return loose > GROUPED_MIN && loose > e->n / 4;
}

/* An entry on its way into a group. */
struct member {
    uint32_t group, id, from; /* from: its place before */
    float d;
};

static int compare_members(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

/* The nearest pivot of every entry; query and wide are room for a pivot as a query. */
static void assign(const struct graph_entries *e, const struct graph_codes *c, struct member *m, float *wide,
                   void *query)
{
    float d[PIECE];
    for (uint32_t p = 0; p < e->n_groups; p++) {
        const unsigned char *row = e->pivots + (size_t)p * e->stride;
        const void *q = row;
        if (c->quant != GRAPH_QUANT_NONE) {
            graph_codes_decode(c, row, wide);
            q = graph_codes_query(c, VECTOR_F32, wide, wide + c->dim, query);
        }
        for (uint32_t begin = 0; begin < e->n; begin += PIECE) {
            uint32_t len = e->n - begin < PIECE ? e->n - begin : PIECE;
            c->kernels.many(q, e->rows + (size_t)begin * e->stride, e->stride, len, c->blocks, d);
            for (uint32_t i = 0; i < len; i++) {
                if (p == 0 || d[i] < m[begin + i].d) {
                    m[begin + i].d = d[i];
                    m[begin + i].group = p;
                }
            }
        }
    }
}

/* Sort members, and entries with them. `rows`: room for all code rows. */
static void put_in_order(struct graph_entries *e, struct member *m, unsigned char *rows)
{
    qsort(m, e->n, sizeof *m, compare_members);
    memcpy(rows, e->rows, e->n * e->stride);
    for (uint32_t i = 0; i < e->n; i++) {
        e->ids[i] = m[i].id;
        memcpy(e->rows + (size_t)i * e->stride, rows + (size_t)m[i].from * e->stride, e->stride);
        m[i].from = i;
    }
}

static void make_groups(struct graph_entries *e, const struct graph_codes *c, struct member *m, unsigned char *rows,
                        float *wide, void *query)
{
    for (uint32_t i = 0; i < e->n; i++) {
        m[i] = (struct member){ .id = e->ids[i], .from = i };
    }
    put_in_order(e, m, rows); /* by id: the groups are to depend on the set alone */
    uint32_t groups = (uint32_t)sqrt((double)e->n);
    groups = groups < GRAPH_PIVOTS_MAX ? groups : GRAPH_PIVOTS_MAX;
    uint32_t step = e->n / groups;
    e->n_groups = groups;
    for (uint32_t p = 0; p < groups; p++) {
        memcpy(e->pivots + (size_t)p * e->stride, e->rows + (size_t)p * step * e->stride, e->stride);
    }
    assign(e, c, m, wide, query);
    put_in_order(e, m, rows);
    uint32_t at = 0;
    for (uint32_t p = 0; p <= groups; p++) {
        e->first[p] = at;
        while (p < groups && at < e->n && m[at].group == p) {
            at++;
        }
    }
    assert(at == e->n);
}

void graph_entries_group(struct graph_entries *e, const struct graph_codes *c)
{
    e->n_groups = 0;
    e->first[0] = 0;
    if (e->n < GROUPED_MIN) {
        return;
    }
    size_t bytes = e->n * sizeof(struct member), wide_bytes = 2 * c->dim * sizeof(float), rows_bytes = e->n * e->stride;
    struct member *m = mem_alloc(c->a, bytes);
    unsigned char *rows = mem_alloc(c->a, rows_bytes);
    float *wide = mem_alloc(c->a, wide_bytes);
    void *query = mem_alloc_aligned(c->a, c->query_bytes + 1, MEM_ALIGN_VECTOR);
    if (m != NULL && rows != NULL && wide != NULL && query != NULL) {
        make_groups(e, c, m, rows, wide, query);
    }
    mem_free(c->a, m, bytes);
    mem_free(c->a, rows, rows_bytes);
    mem_free(c->a, wide, wide_bytes);
    if (query != NULL) {
        mem_free_aligned(c->a, query, c->query_bytes + 1, MEM_ALIGN_VECTOR);
    }
}

/* The nearest of a stream, sorted. */
struct nearest {
    float d[NEAREST_MAX];
    uint32_t id[NEAREST_MAX], n, most;
};
_Static_assert(NEAREST_MAX >= (int)GRAPH_STARTS && NEAREST_MAX >= (int)GROUPS_READ, "room for both uses");

static void offer(struct nearest *best, const float *d, const uint32_t *ids, uint32_t first, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        if (best->n == best->most && !(d[i] < best->d[best->n - 1])) {
            continue;
        }
        uint32_t at = best->n < best->most ? best->n++ : best->n - 1;
        for (; at > 0 && d[i] < best->d[at - 1]; at--) {
            best->d[at] = best->d[at - 1];
            best->id[at] = best->id[at - 1];
        }
        best->d[at] = d[i];
        best->id[at] = ids == NULL ? first + i : ids[first + i];
    }
}

static void offer_range(const struct graph_entries *e, const struct graph_codes *c, const void *query, uint32_t begin,
                        uint32_t end, struct nearest *best)
{
    float d[PIECE];
    for (; begin < end; begin += PIECE) {
        uint32_t len = end - begin < PIECE ? end - begin : PIECE;
        c->kernels.many(query, e->rows + (size_t)begin * e->stride, e->stride, len, c->blocks, d);
        offer(best, d, e->ids, begin, len);
    }
}

uint32_t graph_entries_nearest(const struct graph_entries *e, const struct graph_codes *c, const void *query,
                               uint32_t *starts)
{
    struct nearest best = { .most = GRAPH_STARTS }, groups = { .most = GROUPS_READ };
    float d[GRAPH_PIVOTS_MAX];
    if (e->n_groups > 0) {
        c->kernels.many(query, e->pivots, e->stride, e->n_groups, c->blocks, d);
        offer(&groups, d, NULL, 0, e->n_groups);
    }
    for (uint32_t i = 0; i < groups.n; i++) {
        offer_range(e, c, query, e->first[groups.id[i]], e->first[groups.id[i] + 1], &best);
    }
    offer_range(e, c, query, e->first[e->n_groups], e->n, &best);
    for (uint32_t i = 0; i < groups.n && best.n == 0 && e->n > 0; i++) { /* the groups read were empty */
        best.id[best.n++] = e->ids[0];
    }
    memcpy(starts, best.id, best.n * sizeof *starts);
    return best.n;
}
