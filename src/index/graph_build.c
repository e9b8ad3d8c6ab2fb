/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_build.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "index/graph_prune.h"

enum {
    BATCH_MIN = 256,
    BATCH_MAX = 2048,
    PIECE = 16,       /* rows of a batch that one thread takes at a time */
    LANES = 4,        /* walks that run together */
    LINK_PIECES = 64, /* parts of the links back */
    CANDIDATES_MAX = 512
};

struct back_link {
    uint32_t target, source;
};

struct builder {
    struct graph *g;
    uint32_t *sequence; /* new nodes in the order of insertion */
    uint32_t n_new, n_done;
    uint32_t begin, end; /* of the batch, in sequence */
    struct back_link *back, *back_other;
    size_t n_back, back_room;
    uint32_t keep_new, n_candidates;
};

static uint32_t *links_of(const struct graph *g, uint32_t id)
{
    return g->links_owned + (size_t)id * g->width;
}

static uint32_t count_links(const struct graph *g, uint32_t id)
{
    const uint32_t *l = links_of(g, id);
    uint32_t n = 0;
    while (n < g->options.degree && l[n] != UINT32_MAX) {
        n++;
    }
    return n;
}

static void put_links(struct graph *g, uint32_t id, const uint32_t *ids, size_t n)
{
    uint32_t *l = links_of(g, id);
    for (size_t i = 0; i < g->width; i++) {
        l[i] = i < n ? ids[i] : UINT32_MAX;
    }
}

/* Exact prune distances of `id` to the candidates. */
static void measure(const struct graph *g, uint32_t id, struct graph_candidate *c, size_t n)
{
    enum { STEP = 64 };
    uint32_t ids[STEP];
    float d[STEP];
    const struct index_store *s = &g->store;
    for (size_t i = 0; i < n; i += STEP) {
        size_t len = n - i < STEP ? n - i : STEP;
        for (size_t j = 0; j < len; j++) {
            ids[j] = c[i + j].id;
        }
        s->ops->gather(index_store_row(s, id), s->rows, s->stride, ids, len, s->dim, d);
        for (size_t j = 0; j < len; j++) {
            c[i + j].d = graph_prune_distance(s->metric, d[j]);
        }
    }
}

/* Rows of the batch itself that are nearer than `limit`: at most room. */
static size_t nearest_in_batch(const struct builder *b, uint32_t id, const void *query, float limit,
                               struct graph_candidate *out, size_t room)
{
    enum { STEP = 128 };
    const struct graph *g = b->g;
    float d[STEP];
    size_t n = 0;
    for (uint32_t i = b->begin; i < b->end; i += STEP) {
        uint32_t len = b->end - i < STEP ? b->end - i : STEP;
        g->codes.kernels.gather(query, g->codes.rows, g->codes.stride, b->sequence + i, len, g->codes.blocks, d);
        for (uint32_t j = 0; j < len; j++) {
            if (!(d[j] < limit) || b->sequence[i + j] == id) {
                continue;
            }
            size_t at = n < room ? n++ : n - 1;
            for (; at > 0 && d[j] < out[at - 1].d; at--) {
                out[at] = out[at - 1];
            }
            out[at] = (struct graph_candidate){ d[j], b->sequence[i + j] };
            limit = n == room ? out[n - 1].d : limit;
        }
    }
    return n;
}

static void choose_links(struct builder *b, uint32_t id, const struct graph_walk *w)
{
    struct graph *g = b->g;
    struct graph_candidate c[CANDIDATES_MAX];
    uint32_t kept[GRAPH_WIDTH_MAX];
    size_t n = w->n_pool < b->n_candidates ? w->n_pool : b->n_candidates;
    float limit = n == b->n_candidates ? w->pool_d[n - 1] : INFINITY;
    for (size_t i = 0; i < n; i++) {
        c[i].id = w->pool_id[i];
    }
    n += nearest_in_batch(b, id, w->query, limit, c + n, b->n_candidates / 2);
    measure(g, id, c, n);
    graph_candidates_sort(c, n);
    n = graph_prune(&g->store, (float)g->options.alpha, c, n, b->keep_new, b->keep_new / 4, kept);
    put_links(g, id, kept, n);
}

static grebe_status insert_piece(void *arg, size_t piece, grebe_error *err)
{
    struct builder *b = arg;
    struct graph *g = b->g;
    struct graph_view view = graph_view_of(g);
    struct graph_walk walks[LANES], *lanes[LANES];
    uint32_t starts[GRAPH_STARTS];
    uint32_t i = b->begin + (uint32_t)piece * PIECE;
    uint32_t end = i + PIECE < b->end ? i + PIECE : b->end;
    grebe_status st = graph_walks_take(g, walks, LANES, g->options.ef_construction, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (; i < end; i += LANES) {
        uint32_t n = end - i < LANES ? end - i : LANES;
        for (uint32_t j = 0; j < n; j++) {
            struct graph_walk *w = lanes[j] = &walks[j];
            const void *row = index_store_row(&g->store, b->sequence[i + j]);
            const void *query = graph_codes_query(&g->codes, g->store.elem, row, w->query_wide, w->query_code);
            w->watch = 0;
            w->patience = 0;
            graph_walk_begin(w, &view, query, g->options.ef_construction, 0, starts,
                             graph_entries_nearest(&g->entries, &g->codes, query, starts));
        }
        g->run(&view, lanes, n);
        for (uint32_t j = 0; j < n; j++) {
            if (walks[j].is_corrupt) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: a link leads out of the graph of %u nodes",
                                g->file == NULL ? "a graph" : index_file_path(g->file), g->n);
                goto out;
            }
            choose_links(b, b->sequence[i + j], &walks[j]);
        }
    }
out:
    graph_walks_give(g, walks, LANES);
    return st;
}

/* ---- links back ---- */

/* By target, sources in the order of the batch: a radix sort keeps it. */
static void sort_back(struct builder *b)
{
    enum { BITS = 11, BUCKETS = 1 << BITS };
    uint32_t counts[BUCKETS];
    for (unsigned shift = 0; shift < 33; shift += BITS) {
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < b->n_back; i++) {
            counts[b->back[i].target >> shift & (BUCKETS - 1)]++;
        }
        uint32_t sum = 0;
        for (size_t i = 0; i < BUCKETS; i++) {
            uint32_t c = counts[i];
            counts[i] = sum;
            sum += c;
        }
        for (size_t i = 0; i < b->n_back; i++) {
            b->back_other[counts[b->back[i].target >> shift & (BUCKETS - 1)]++] = b->back[i];
        }
        struct back_link *swap = b->back;
        b->back = b->back_other;
        b->back_other = swap;
    }
}

/* New links of one node, sources [0, n). */
static void link_back(struct graph *g, uint32_t target, const struct back_link *back, size_t n)
{
    enum { SOURCES_MAX = CANDIDATES_MAX - GRAPH_WIDTH_MAX };
    struct graph_candidate c[CANDIDATES_MAX];
    uint32_t kept[GRAPH_WIDTH_MAX];
    uint32_t *l = links_of(g, target);
    size_t m = count_links(g, target), total = m;
    for (size_t i = 0; i < m; i++) {
        c[i].id = l[i];
    }
    for (size_t i = 0; i < n && total < m + SOURCES_MAX; i++) {
        size_t j = 0;
        while (j < m && l[j] != back[i].source) {
            j++;
        }
        if (j == m) {
            c[total++].id = back[i].source;
        }
    }
    if (total <= g->options.degree) {
        for (size_t i = m; i < total; i++) {
            l[i] = c[i].id;
        }
        return;
    }
    measure(g, target, c, total);
    graph_candidates_sort(c, total);
    size_t k =
        graph_prune(&g->store, (float)g->options.alpha, c, total, g->options.degree, g->options.degree / 4, kept);
    put_links(g, target, kept, k);
}

static grebe_status link_piece(void *arg, size_t piece, grebe_error *err)
{
    (void)err;
    struct builder *b = arg;
    size_t i = b->n_back * piece / LINK_PIECES, end = b->n_back * (piece + 1) / LINK_PIECES;
    while (i > 0 && i < b->n_back && b->back[i].target == b->back[i - 1].target) {
        i++; /* the piece before has it */
    }
    while (i < end) {
        size_t n = 1;
        while (i + n < b->n_back && b->back[i + n].target == b->back[i].target) {
            n++;
        }
        link_back(b->g, b->back[i].target, b->back + i, n);
        i += n;
    }
    return GREBE_OK;
}

static void collect_back(struct builder *b)
{
    b->n_back = 0;
    for (uint32_t i = b->begin; i < b->end; i++) {
        const uint32_t *l = links_of(b->g, b->sequence[i]);
        for (uint32_t j = 0; j < b->keep_new && l[j] != UINT32_MAX; j++) {
            b->back[b->n_back++] = (struct back_link){ l[j], b->sequence[i] };
        }
    }
    assert(b->n_back <= b->back_room);
}

/* ---- all of it ---- */

static grebe_status run_batches(struct builder *b, const struct call *call, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph *g = b->g;
    uint32_t old = g->n - b->n_new;
    for (b->begin = 0; st == GREBE_OK && b->begin < b->n_new; b->begin = b->end) {
        uint32_t size = (old + b->begin) / 8;
        size = size < BATCH_MIN ? BATCH_MIN : size > BATCH_MAX ? BATCH_MAX : size;
        b->end = b->n_new - b->begin < size ? b->n_new : b->begin + size;
        size_t pieces = (b->end - b->begin + PIECE - 1) / PIECE;
        st = parallel_for(g->ctx->pool, call->threads, pieces, insert_piece, b, call->cancel, err);
        if (st == GREBE_OK) {
            collect_back(b);
            sort_back(b);
            st = parallel_for(g->ctx->pool, call->threads, LINK_PIECES, link_piece, b, call->cancel, err);
        }
        graph_entries_add(&g->entries, &g->codes, b->sequence + b->begin, b->end - b->begin, old + b->end);
        if (graph_entries_are_loose(&g->entries)) {
            graph_entries_group(&g->entries, &g->codes);
        }
        if (call->progress != NULL) {
            grebe_progress p = { .phase = "graph", .rows_done = b->end, .rows_total = b->n_new };
            call->progress(call->progress_ctx, &p);
        }
    }
    return st;
}

/* Links of a file are checked now, once and for all. */
static grebe_status copy_links(const struct graph *g, uint32_t *dst, grebe_error *err)
{
    size_t total = (size_t)g->n * g->width;
    for (size_t i = 0; g->links_owned == NULL && i < total; i++) {
        if (g->links[i] >= g->n && g->links[i] != UINT32_MAX) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: section links: node %zu: expected a link below %u, found %u",
                              index_file_path(g->file), i / g->width, g->n, g->links[i]);
        }
    }
    if (total > 0) {
        memcpy(dst, g->links, total * sizeof *dst);
    }
    return GREBE_OK;
}

static grebe_status reserve_links(struct graph *g, uint32_t n, grebe_error *err)
{
    size_t needed = (size_t)n * g->width * sizeof(uint32_t);
    if (needed <= g->links_bytes) {
        return GREBE_OK;
    }
    size_t room = g->links_owned != NULL && needed < 2 * g->links_bytes ? 2 * g->links_bytes : needed;
    uint32_t *fresh = mem_alloc_aligned(g->a, room, MEM_ALIGN_VECTOR);
    if (fresh == NULL) {
        return mem_fail(err, room, "the links of a graph");
    }
    grebe_status st = copy_links(g, fresh, err);
    if (st != GREBE_OK) {
        mem_free_aligned(g->a, fresh, room, MEM_ALIGN_VECTOR);
        return st;
    }
    if (g->links_owned != NULL) {
        mem_free_aligned(g->a, g->links_owned, g->links_bytes, MEM_ALIGN_VECTOR);
    }
    g->links_owned = fresh;
    g->links_bytes = room;
    g->links = fresh;
    return GREBE_OK;
}

/*
 * A graph over the rows themselves is built by walks over codes all the same, when the new rows are many: half the
 * time. The codes and the entries' copies of them stand in the graph meanwhile.
 */
static bool is_worth_codes(const struct graph *g, uint32_t n_new)
{
    enum vector_metric m = g->store.metric;
    bool is_bits = m == VECTOR_HAMMING || m == VECTOR_JACCARD;
    return g->codes.quant == GRAPH_QUANT_NONE && !is_bits && n_new >= BATCH_MAX && n_new >= g->n / 4;
}

static grebe_status run_over_codes(struct builder *b, const struct call *call, grebe_error *err)
{
    struct graph *g = b->g;
    struct graph_codes codes, kept = g->codes;
    struct graph_entries entries = { 0 }, kept_entries = g->entries;
    bool is_anew;
    grebe_status st = graph_codes_init(&codes, &g->store, GRAPH_QUANT_SQ8, err);
    if (st == GREBE_OK) {
        st = graph_codes_append(&codes, &g->store, &is_anew, err);
    }
    if (st == GREBE_OK) {
        st = graph_entries_reserve(&entries, &codes, g->n, err);
    }
    if (st == GREBE_OK) {
        graph_entries_copy(&entries, &codes, &g->entries);
        g->codes = codes;
        g->entries = entries;
        st = run_batches(b, call, err);
        entries = g->entries;
        g->entries = kept_entries;
        g->codes = kept;
        graph_entries_copy(&g->entries, &g->codes, &entries);
    }
    graph_entries_release(&entries, g->a);
    graph_codes_release(&codes);
    return st;
}

/* Nodes from `n` on never were: the others lose their links to them. */
static void cut_back(struct graph *g, uint32_t n)
{
    for (uint32_t id = 0; id < n; id++) {
        uint32_t *l = links_of(g, id);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < g->width; i++) {
            if (l[i] < n) {
                l[kept++] = l[i];
            }
        }
        for (; kept < g->width; kept++) {
            l[kept] = UINT32_MAX;
        }
    }
    graph_entries_cut(&g->entries, &g->codes, n);
    g->n = n;
}

grebe_status graph_build(struct graph *g, const struct call *call, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    uint32_t old = g->n, total = (uint32_t)g->store.n;
    struct builder b = { .g = g, .n_new = total - old };
    assert(g->codes.n == total);
    if (b.n_new == 0) {
        return GREBE_OK;
    }
    b.keep_new = g->options.degree;
    b.n_candidates = 96;
    b.n_candidates = b.n_candidates < g->options.ef_construction ? b.n_candidates : g->options.ef_construction;
    b.back_room = (size_t)BATCH_MAX * b.keep_new;
    GREBE_TRY(reserve_links(g, total, err));
    GREBE_TRY(graph_entries_reserve(&g->entries, &g->codes, total, err));
    b.sequence = mem_alloc(g->a, b.n_new * sizeof *b.sequence);
    b.back = mem_alloc(g->a, b.back_room * sizeof *b.back);
    b.back_other = mem_alloc(g->a, b.back_room * sizeof *b.back);
    if (b.sequence == NULL || b.back == NULL || b.back_other == NULL) {
        st = mem_fail(err, b.n_new * sizeof *b.sequence + 2 * b.back_room * sizeof *b.back, "building a graph");
        goto out;
    }
    uint64_t state = g->options.seed;
    for (uint32_t i = 0; i < b.n_new; i++) { /* Fisher and Yates, inside out */
        uint32_t at = (uint32_t)(rng_next(&state) % (i + 1));
        if (at != i) {
            b.sequence[i] = b.sequence[at];
        }
        b.sequence[at] = old + i;
    }
    memset(g->links_owned + (size_t)old * g->width, 0xff, (size_t)b.n_new * g->width * sizeof(uint32_t));
    bool is_over_codes = is_worth_codes(g, b.n_new);
    g->n = total;
    st = is_over_codes ? run_over_codes(&b, call, err) : run_batches(&b, call, err);
    if (st != GREBE_OK) {
        cut_back(g, old);
    }
    graph_entries_group(&g->entries, &g->codes);
out:
    mem_free(g->a, b.sequence, b.n_new * sizeof *b.sequence);
    mem_free(g->a, b.back, b.back_room * sizeof *b.back);
    mem_free(g->a, b.back_other, b.back_room * sizeof *b.back);
    return st;
}
