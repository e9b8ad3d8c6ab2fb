/* SPDX-License-Identifier: Apache-2.0 */
/* Searching lists of terms: sums of a window choose rows, their values rank them. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "index/index_found.h"
#include "index/sparse_query.h"

enum { CANDIDATES_MIN = 40, PIECES_PER_THREAD = 4, ROWS_SHARE = 50 };

/* One call; the pieces are runs of queries. */
struct work {
    struct sparse_index *x;
    const struct vector_sparse *queries;
    const struct index_search *s;
    const struct sparse_params *params;
    size_t candidates, per_piece;
    bool is_by_rows; /* few rows may be found: each is ranked */
    uint32_t *positions;
    float *distances;
};

/* A worker's memory: the k best by value, and the best by sums. */
struct worker {
    const grebe_allocator *a;
    struct sparse_query q;
    struct topk best, rough;
    size_t best_room, rough_room;
};

static void worker_release(struct worker *w)
{
    sparse_query_release(&w->q);
    mem_free(w->a, w->best.items, w->best_room * sizeof(struct topk_item));
    mem_free(w->a, w->rough.items, w->rough_room * sizeof(struct topk_item));
}

static grebe_status worker_init(struct worker *w, const grebe_allocator *a, size_t k, size_t candidates,
                                grebe_error *err)
{
    memset(w, 0, sizeof *w);
    w->a = a;
    w->best_room = topk_capacity(k);
    w->rough_room = topk_capacity(candidates);
    grebe_status st = sparse_query_init(&w->q, a, err);
    if (st == GREBE_OK) {
        w->best.items = mem_alloc(a, w->best_room * sizeof(struct topk_item));
        w->rough.items = mem_alloc(a, w->rough_room * sizeof(struct topk_item));
        st = w->best.items != NULL && w->rough.items != NULL
                 ? GREBE_OK
                 : mem_fail(err, w->rough_room * sizeof(struct topk_item), "candidates");
    }
    if (st != GREBE_OK) {
        worker_release(w);
    }
    return st;
}

static bool is_allowed(const struct sparse_index *x, const struct index_filter *f, uint32_t r)
{
    return r < x->rows.n && !index_bits_has(&x->removed, r) && index_filter_has(f, r);
}

/* Largest sum that cannot reach the score; scores within `error` of it can. */
static int16_t sum_below(const struct sparse_query *q, float score, float error)
{
    float sum = floorf((score - error) * q->unit) - 1.0f;
    return !(sum > -32768.0f) ? INT16_MIN : sum > 32767.0f ? INT16_MAX : (int16_t)sum;
}

static grebe_status rank(struct worker *w, const struct sparse_index *x, uint32_t r, grebe_error *err)
{
    float value = sparse_query_rank(&w->q, &x->rows, r);
    if (isnan(value)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "row %u: expected its values inside the index, found them outside", r);
    }
    topk_push(&w->best, value, r);
    return GREBE_OK;
}

static grebe_status rank_all(struct worker *w, const struct sparse_index *x, const struct topk_item *items, size_t n,
                             grebe_error *err)
{
    enum { AHEAD = 2 };
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && i < AHEAD; i++) {
        sparse_query_prefetch(&x->rows, items[i].id);
    }
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        if (i + AHEAD < n) {
            sparse_query_prefetch(&x->rows, items[i + AHEAD].id);
        }
        st = rank(w, x, items[i].id, err);
    }
    return st;
}

/* Rows of the window whose sums are above `limit`, to the rough candidates; the limit rises with them. */
static void collect(struct worker *w, const struct sparse_index *x, const struct index_filter *f, size_t window,
                    int16_t limit)
{
    struct sparse_query *q = &w->q;
    size_t n = x->windows[window].n_rows, at = 0;
    uint32_t first = (uint32_t)(window * SPARSE_WINDOW_ROWS);
    float per_sum = q->unit > 0 ? 1.0f / q->unit : 0;
    while (at < n) {
        size_t found = q->kernels->above(q->sums, at, n, limit, q->hits, SPARSE_HITS, &at);
        for (size_t i = 0; i < found; i++) {
            uint32_t r = first + q->hits[i];
            if (is_allowed(x, f, r)) {
                topk_push(&w->rough, -(float)q->sums[q->hits[i]] * per_sum, r);
            }
        }
        if (w->rough.limit < INFINITY) { /* an equal sum of a later row does not enter */
            int16_t risen = sum_below(q, -w->rough.limit, 0);
            limit = risen > limit ? risen : limit;
        }
    }
}

/* ---- the approximate form: the best sums of all windows, ranked at the end ---- */

static grebe_status search_rough(struct work *k, struct worker *w, grebe_error *err)
{
    struct sparse_index *x = k->x;
    for (size_t i = 0; i < x->n_windows; i++) {
        sparse_query_add(&w->q, &x->windows[i], k->params->query_prune);
        int16_t limit = w->rough.limit < INFINITY ? sum_below(&w->q, -w->rough.limit, 0) : INT16_MIN;
        collect(w, x, &k->s->filter, i, limit);
    }
    size_t n = topk_finish(&w->rough);
    return rank_all(w, x, w->rough.items, n, err);
}

/* ---- the exact form: whatever could still be among the k best, window by window ---- */

/* Sums in (limit, most]: rank them; `limit` rises as the k best get better. */
static grebe_status rank_between(struct work *k, struct worker *w, size_t window, int16_t limit, int16_t most,
                                 grebe_error *err)
{
    struct sparse_index *x = k->x;
    struct sparse_query *q = &w->q;
    size_t n = x->windows[window].n_rows, at = 0;
    uint32_t first = (uint32_t)(window * SPARSE_WINDOW_ROWS);
    grebe_status st = GREBE_OK;
    while (st == GREBE_OK && at < n) {
        size_t found = q->kernels->above(q->sums, at, n, limit, q->hits, SPARSE_HITS, &at);
        for (size_t i = 0; st == GREBE_OK && i < found; i++) {
            uint32_t r = first + q->hits[i];
            if (q->sums[q->hits[i]] <= most && is_allowed(x, &k->s->filter, r)) {
                st = rank(w, x, r, err);
            }
        }
        if (w->best.limit < INFINITY) {
            int16_t risen = sum_below(q, -w->best.limit, q->error);
            limit = risen > limit ? risen : limit;
        }
    }
    return st;
}

static grebe_status search_exact(struct work *k, struct worker *w, grebe_error *err)
{
    struct sparse_index *x = k->x;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; st == GREBE_OK && i < x->n_windows; i++) {
        struct sparse_query *q = &w->q;
        sparse_query_add(q, &x->windows[i], k->params->query_prune);
        int16_t limit = w->best.limit < INFINITY ? sum_below(q, -w->best.limit, q->error) : INT16_MIN;
        int16_t most = INT16_MAX;
        if (q->unit > 0) { /* a first few, so that the limit is near its end */
            topk_init(&w->rough, k->candidates, w->rough.items, w->rough_room);
            collect(w, x, &k->s->filter, i, limit);
            size_t n = topk_finish(&w->rough), whole = n;
            if (n == k->candidates) { /* of the last sum there may be more: it stays for the second pass */
                float last = w->rough.items[n - 1].distance;
                while (whole > 0 && w->rough.items[whole - 1].distance == last) {
                    whole--;
                }
                most = (int16_t)lrintf(-last * q->unit);
            } else {
                most = INT16_MIN;
            }
            st = rank_all(w, x, w->rough.items, whole, err);
            if (w->best.limit < INFINITY) {
                int16_t risen = sum_below(q, -w->best.limit, q->error);
                limit = risen > limit ? risen : limit;
            }
        }
        if (st == GREBE_OK && most > limit) {
            st = rank_between(k, w, i, limit, most, err);
        }
    }
    return st;
}

/* ---- few rows may be found ---- */

static grebe_status search_rows(struct work *k, struct worker *w, grebe_error *err)
{
    const struct index_filter *f = &k->s->filter;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; st == GREBE_OK && i < (size_t)((k->x->rows.n + 63) / 64); i++) {
        for (uint64_t word = f->words[i]; st == GREBE_OK && word != 0; word &= word - 1) {
            uint32_t r = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(word);
            if (is_allowed(k->x, f, r)) {
                st = rank(w, k->x, r, err);
            }
        }
    }
    return st;
}

static void write_results(const struct work *k, struct topk *best, size_t query)
{
    size_t n = topk_finish(best), width = k->s->k;
    uint32_t *positions = k->positions + query * width;
    float *distances = k->distances + query * width;
    for (size_t i = 0; i < width; i++) {
        positions[i] = i < n ? best->items[i].id : UINT32_MAX;
        distances[i] = i < n ? vector_metric_finish(VECTOR_IP, 0, best->items[i].distance) : INFINITY;
    }
}

static grebe_status search_piece(void *arg, size_t piece, grebe_error *err)
{
    struct work *k = arg;
    struct worker w;
    size_t begin = piece * k->per_piece, end = min_size(begin + k->per_piece, (size_t)k->queries->n);
    size_t most = min_size(k->s->k, (size_t)k->x->rows.n);
    grebe_status st = worker_init(&w, k->x->base.ctx->a, most, k->candidates, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = begin; st == GREBE_OK && i < end; i++) {
        st = call_check(&k->s->call, err);
        st = st == GREBE_OK ? sparse_query_set(&w.q, k->queries, i, err) : st;
        if (st != GREBE_OK) {
            break;
        }
        topk_init(&w.best, most, w.best.items, w.best_room);
        topk_init(&w.rough, k->candidates, w.rough.items, w.rough_room);
        st = k->is_by_rows ? search_rows(k, &w, err)
             : k->params->exact != 0 ? search_exact(k, &w, err) : search_rough(k, &w, err);
        if (st == GREBE_OK && w.q.is_bad) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "lists of terms: expected them inside their window, found one outside");
        }
        if (st == GREBE_OK) {
            write_results(k, &w.best, i);
        }
    }
    worker_release(&w);
    return st;
}

grebe_status sparse_search(struct sparse_index *x, const struct vector_sparse *queries, const struct index_search *s,
                           const struct sparse_params *params, uint32_t *positions, float *distances, grebe_error *err)
{
    struct work k = { x, queries, s, params, 0, 0, false, positions, distances };
    size_t rows = (size_t)x->rows.n, most = min_size(s->k, rows);
    size_t wanted = params->candidates != 0 ? params->candidates : max_size(2 * most, CANDIDATES_MIN);
    k.candidates = max_size(min_size(max_size(wanted, most), rows), 1);
    if (s->filter.words != NULL) { /* a row costs its values, a scan the query's share of all lists */
        k.is_by_rows = s->filter.n_set * ROWS_SHARE <= x->rows.n || s->filter.n_set <= k.candidates;
    }
    size_t pieces = min_size((size_t)queries->n, (size_t)s->call.threads * PIECES_PER_THREAD);
    pieces = s->call.threads <= 1 ? 1 : pieces;
    k.per_piece = ((size_t)queries->n + pieces - 1) / pieces;
    return parallel_for(x->base.ctx->pool, s->call.threads, ((size_t)queries->n + k.per_piece - 1) / k.per_piece,
                        search_piece, &k, s->call.cancel, err);
}

/* ---- within a radius ---- */

struct range_work {
    struct sparse_index *x;
    const struct vector_sparse *queries;
    const struct index_search *s;
    float radius;
    struct index_found *found; /* shape [queries->n] */
};

/* Every row of the window whose sum may stand for 1 - dot <= radius. */
static grebe_status range_window(const struct range_work *k, struct sparse_query *q, size_t window,
                                 struct index_found *out, grebe_error *err)
{
    const struct sparse_index *x = k->x;
    size_t n = x->windows[window].n_rows, at = 0;
    uint32_t first = (uint32_t)(window * SPARSE_WINDOW_ROWS);
    sparse_query_add(q, &x->windows[window], 0);
    int16_t limit = q->unit > 0 ? sum_below(q, 1.0f - k->radius, q->error) : INT16_MIN;
    while (at < n) {
        size_t found = q->kernels->above(q->sums, at, n, limit, q->hits, SPARSE_HITS, &at);
        grebe_status st = index_found_reserve(out, x->base.ctx->a, found, err);
        if (st != GREBE_OK) {
            return st;
        }
        for (size_t i = 0; i < found; i++) {
            uint32_t r = first + q->hits[i];
            float value = is_allowed(x, &k->s->filter, r) ? sparse_query_rank(q, &x->rows, r) : INFINITY;
            float distance = vector_metric_finish(VECTOR_IP, 0, value);
            q->is_bad |= isnan(value);
            if (distance <= k->radius && value != INFINITY) {
                out->items[out->n++] = (struct topk_item){ distance, r };
            }
        }
    }
    return GREBE_OK;
}

static grebe_status range_query(void *arg, size_t i, grebe_error *err)
{
    struct range_work *k = arg;
    struct sparse_query q;
    grebe_status st = sparse_query_init(&q, k->x->base.ctx->a, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = sparse_query_set(&q, k->queries, i, err);
    for (size_t w = 0; st == GREBE_OK && w < k->x->n_windows; w++) {
        st = range_window(k, &q, w, &k->found[i], err);
    }
    if (st == GREBE_OK && q.is_bad) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "sparse index: expected lists and rows inside it, found one outside");
    }
    index_found_sort(&k->found[i]);
    sparse_query_release(&q);
    return st;
}

grebe_status sparse_range(struct sparse_index *x, const struct vector_sparse *queries, float radius,
                          const struct index_search *s, struct index_ranges *out, grebe_error *err)
{
    const grebe_allocator *a = x->base.ctx->a;
    size_t n = (size_t)queries->n;
    struct range_work k = { x, queries, s, radius, mem_alloc_zero(a, n * sizeof *k.found) };
    *out = (struct index_ranges){ 0 };
    if (k.found == NULL) {
        return mem_fail(err, n * sizeof *k.found, "ranges");
    }
    grebe_status st = parallel_for(x->base.ctx->pool, s->call.threads, n, range_query, &k, s->call.cancel, err);
    st = st == GREBE_OK ? index_found_join(k.found, n, a, out, err) : st;
    for (size_t i = 0; i < n; i++) {
        index_found_release(&k.found[i], a);
    }
    mem_free(a, k.found, n * sizeof *k.found);
    return st;
}
