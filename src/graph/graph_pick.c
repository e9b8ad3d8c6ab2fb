/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_pick.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/graph_random.h"
#include "graph/graph_smallest.h"

enum { MASK_MAX = 64, LINEAR_MAX = 24 };

/* What can be picked: edges [begin, begin + n), or those of a list. */
struct candidates {
    int64_t begin, n;
    const int64_t *list; /* NULL: all */
};

static inline int64_t candidate(const struct candidates *c, int64_t i)
{
    return c->list == NULL ? c->begin + i : c->list[i];
}

/* ---- uniform, without replacement: Floyd 1987 ---- */

static int64_t floyd_mask(const struct candidates *c, uint64_t key, int64_t k, int64_t *out)
{
    uint64_t taken = 0;
    for (int64_t i = 0; i < k; i++) {
        int64_t last = c->n - k + i;
        uint64_t t = graph_below(graph_draw(key, (uint64_t)i), (uint64_t)last + 1);
        taken |= (taken >> t & 1) != 0 ? UINT64_C(1) << last : UINT64_C(1) << t;
    }
    for (int64_t i = 0; taken != 0; taken &= taken - 1) {
        out[i++] = candidate(c, __builtin_ctzll(taken));
    }
    return k;
}

static int64_t floyd_linear(const struct candidates *c, uint64_t key, int64_t k, int64_t *out)
{
    int64_t taken[LINEAR_MAX];
    for (int64_t i = 0; i < k; i++) {
        int64_t last = c->n - k + i;
        int64_t t = (int64_t)graph_below(graph_draw(key, (uint64_t)i), (uint64_t)last + 1);
        bool is_taken = false;
        for (int64_t j = 0; j < i; j++) {
            is_taken |= taken[j] == t;
        }
        taken[i] = is_taken ? last : t;
        out[i] = candidate(c, taken[i]);
    }
    return k;
}

/* A set of positions: a power of two of slots, at least twice as many as there will be; 0 is empty. */
static bool set_add(int64_t *slots, uint64_t mask, int64_t position)
{
    uint64_t at = rng_mix((uint64_t)position) & mask;
    for (; slots[at] != 0; at = (at + 1) & mask) {
        if (slots[at] == position + 1) {
            return false;
        }
    }
    slots[at] = position + 1;
    return true;
}

static grebe_status floyd_hash(struct graph_picker *p, const struct candidates *c, uint64_t key, int64_t k, int64_t *out,
                               grebe_error *err)
{
    int64_t n_slots = 64;
    while (n_slots < 2 * k) {
        n_slots *= 2;
    }
    grebe_status st = graph_array_room(p->g->ctx->a, &p->table, n_slots, err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(p->table.v, 0, (size_t)n_slots * sizeof *p->table.v);
    for (int64_t i = 0; i < k; i++) {
        int64_t last = c->n - k + i;
        int64_t t = (int64_t)graph_below(graph_draw(key, (uint64_t)i), (uint64_t)last + 1);
        if (!set_add(p->table.v, (uint64_t)n_slots - 1, t)) {
            t = last;
            set_add(p->table.v, (uint64_t)n_slots - 1, t);
        }
        out[i] = candidate(c, t);
    }
    return GREBE_OK;
}

/* ---- everything, and with replacement ---- */

static int64_t take_all(const struct graph_weights *w, const struct candidates *c, int64_t *out)
{
    int64_t k = 0;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t edge = candidate(c, i);
        out[k] = edge;
        k += w == NULL || graph_weight(w, edge) > 0.0;
    }
    return k;
}

static double sum_weights(const struct graph_weights *w, const struct candidates *c, double scale, double *sums, int64_t *last)
{
    double sum = 0.0;
    for (int64_t i = 0; i < c->n; i++) {
        double weight = graph_weight(w, candidate(c, i)) * scale;
        sum += weight;
        sums[i] = sum;
        *last = weight > 0.0 ? i : *last;
    }
    return sum;
}

static grebe_status draw_by_weight(struct graph_picker *p, const struct candidates *c, uint64_t key, int64_t k, int64_t *out,
                                   int64_t *n_out, grebe_error *err)
{
    grebe_status st = graph_array_room(p->g->ctx->a, &p->table, c->n, err);
    if (st != GREBE_OK) {
        return st;
    }
    double *sums = (double *)(void *)p->table.v;
    int64_t last = -1;
    double sum = sum_weights(p->how->weights, c, 1.0, sums, &last);
    if (isinf(sum)) {
        sum = sum_weights(p->how->weights, c, 0x1p-64, sums, &last); /* lists are shorter than 2^64 */
    } else if (sum < 0x1p-900) {
        sum = sum_weights(p->how->weights, c, 0x1p+512, sums, &last);
    }
    *n_out = last < 0 ? 0 : k;
    for (int64_t i = 0; i < *n_out; i++) {
        /* the first sum above x; x is below the whole but for rounding */
        double x = (1.0 - graph_unit(graph_draw(key, (uint64_t)i))) * sum;
        int64_t low = 0, high = last;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (sums[middle] > x) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        out[i] = candidate(c, low);
    }
    return GREBE_OK;
}

static int64_t draw_alike(const struct candidates *c, uint64_t key, int64_t k, int64_t *out)
{
    for (int64_t i = 0; i < k; i++) {
        out[i] = candidate(c, (int64_t)graph_below(graph_draw(key, (uint64_t)i), (uint64_t)c->n));
    }
    return k;
}

/* ---- one list ---- */

static grebe_status keep_old(struct graph_picker *p, const struct graph_run *run, struct candidates *c, grebe_error *err)
{
    const struct graph_times *t = p->how->times;
    grebe_status st = graph_array_room(p->g->ctx->a, &p->allowed, run->n, err);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t n = 0, after; /* the window may begin before the first time that there is */
    bool has_begin = t->has_window && !__builtin_sub_overflow(run->time, t->window, &after);
    if (!has_begin) {
        after = INT64_MIN;
    }
    for (int64_t e = run->begin; e < run->begin + run->n; e++) {
        bool is_old = true;
        if (t->of_edges != NULL) {
            int64_t at = t->of_edges[e];
            is_old = at < run->time && (!has_begin || at > after);
        }
        if (is_old && t->of_nodes != NULL) {
            int64_t at = t->of_nodes[graph_id(&p->g->indices, e)];
            is_old = at < run->time && (!has_begin || at > after);
        }
        p->allowed.v[n] = e;
        n += is_old;
    }
    *c = (struct candidates){ 0, n, p->allowed.v };
    return GREBE_OK;
}

/* ---- the k smallest ranks, in float32, ties by position ---- */

enum { CHUNK = 64 };

/* Values of a long list that are needed two chunks from now. */
static inline void prefetch_chunk(const void *values, size_t width, const struct candidates *c, int64_t first)
{
    if (c->list == NULL && c->n - first > 2 * CHUNK) {
        graph_prefetch((const char *)values + (size_t)(c->begin + first + 2 * CHUNK) * width, CHUNK * width);
    }
}

/* Of any number above 0, by the logarithm that draws have on every machine. */
static double log2_of(double x)
{
    int exponent = 0;
    double fraction = frexp(x, &exponent);
    return exponent - graph_exponential(fraction) * 1.4426950408889634;
}

/* Ranks of weights of any size: logarithms, which float32 holds where it does not hold the quotients. */
static void rank_by_logarithm(const struct graph_weights *w, const struct candidates *c, uint64_t key, struct graph_smallest *s)
{
    for (int64_t i = 0; i < c->n; i++) {
        double weight = graph_weight(w, candidate(c, i)), e = graph_exponential(graph_unit(graph_draw(key, (uint64_t)i)));
        if (weight > 0.0) {
            graph_smallest_add(s, graph_rank_key((float)(4096.0 + log2_of(e > 0x1p-60 ? e : 0x1p-60) - log2_of(weight)), i));
        }
    }
}

/* Whether one that was taken has a rank that float32 does not hold: such ranks are alike, or nearly so. */
static bool is_beyond_floats(const struct graph_smallest *s)
{
    if (s->limit == UINT64_MAX) {
        return false; /* all are taken */
    }
    uint64_t least = s->keys[0];
    for (int64_t i = 1; i < s->k; i++) {
        least = s->keys[i] < least ? s->keys[i] : least;
    }
    struct graph_smallest first = { .limit = least };
    return isinf(graph_smallest_limit(s)) || graph_smallest_limit(&first) < FLT_MIN;
}

/* Exact sampling one after another with the weights: the k smallest of Exp(1) / weight (Efraimidis and Spirakis 2006). */
static void rank_by_weight(const struct graph_weights *w, const struct candidates *c, uint64_t key, struct graph_smallest *s)
{
    double u[CHUNK], weight[CHUNK];
    uint64_t keys[CHUNK];
    int64_t at[CHUNK];
    for (int64_t first = 0; first < c->n; first += CHUNK) {
        int64_t end = min_i64(first + CHUNK, c->n), n = 0;
        double limit = graph_smallest_limit(s);
        prefetch_chunk(w->values, graph_weights_width(w), c, first);
        /* -log(u) >= 1 - u: most of a long list need no logarithm */
        for (int64_t i = first; i < end; i++) {
            u[n] = graph_unit(graph_draw(key, (uint64_t)i));
            weight[n] = graph_weight(w, candidate(c, i));
            at[n] = i;
            n += weight[n] > 0.0 && 1.0 - u[n] <= limit * weight[n];
        }
        for (int64_t i = 0; i < n; i++) { /* apart from what follows, whose branches would hold it up */
            keys[i] = graph_rank_key((float)(graph_exponential(u[i]) / weight[i]), at[i]);
        }
        for (int64_t i = 0; i < n; i++) {
            graph_smallest_add(s, keys[i]);
        }
    }
}

/* Numbers of the sources, the same for every list that they are in. */
static void rank_by_source(const struct graph_csc *g, const struct graph_weights *w, const struct candidates *c, uint64_t key,
                           struct graph_smallest *s)
{
    uint64_t keys[CHUNK];
    for (int64_t first = 0; first < c->n; first += CHUNK) {
        int64_t end = min_i64(first + CHUNK, c->n), n = 0;
        uint64_t limit = s->limit;
        prefetch_chunk(g->indices.data, g->indices.is_wide ? 8 : 4, c, first);
        if (w != NULL) {
            prefetch_chunk(w->values, graph_weights_width(w), c, first);
        }
        for (int64_t i = first; i < end; i++) {
            int64_t edge = candidate(c, i);
            float r = graph_source_number(key, graph_id(&g->indices, edge));
            if (w != NULL) {
                r = graph_source_rank(r, graph_weight(w, edge), w->type == GRAPH_WEIGHTS_F64);
            }
            keys[n] = graph_rank_key(r, i);
            n += keys[n] < limit && r < INFINITY;
        }
        for (int64_t i = 0; i < n; i++) {
            graph_smallest_add(s, keys[i]);
        }
    }
}

/* The same with two seeds. */
static void rank_by_blend(const struct graph_csc *g, const struct graph_sampling *how, const struct candidates *c,
                          struct graph_smallest *s)
{
    const struct graph_weights *w = how->weights;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t edge = candidate(c, i);
        double weight = w == NULL ? 1.0 : graph_weight(w, edge);
        float r = graph_blend_number(how->blend, (uint64_t)graph_id(&g->indices, edge));
        r = graph_source_rank(r, weight, w != NULL && w->type == GRAPH_WEIGHTS_F64);
        if (r < INFINITY) {
            graph_smallest_add(s, graph_rank_key(r, i));
        }
    }
}

/* With replacement: a source may be among the smallest several times. */
static void race_by_source(const struct graph_csc *g, const struct graph_sampling *how, const struct candidates *c,
                           struct graph_smallest *s)
{
    struct graph_blend one = { { how->key, how->key }, { 1.0f, 0.0f } };
    const struct graph_weights *w = how->weights;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t edge = candidate(c, i);
        struct graph_runner r = { (uint64_t)graph_id(&g->indices, edge), w == NULL ? 1.0 : graph_weight(w, edge),
                                  w != NULL && w->type == GRAPH_WEIGHTS_F64 };
        graph_race(how->blend != NULL ? how->blend : &one, &r, i, g->n_nodes, s);
    }
}

static grebe_status pick_smallest(struct graph_picker *p, const struct candidates *c, const struct graph_run *run, int64_t *out,
                                  int64_t *n_out, grebe_error *err)
{
    const struct graph_sampling *how = p->how;
    struct graph_smallest s;
    grebe_status st;
    if (c->n > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "a node with %lld edges: at most 2^32 - 1 can be ranked", (long long)c->n);
    }
    GREBE_TRY(graph_array_room(p->g->ctx->a, &p->table, run->fanout, err));
    graph_smallest_begin(&s, (uint64_t *)p->table.v, run->fanout);
    if (how->is_by_source && how->with_replacement) {
        race_by_source(p->g, how, c, &s);
    } else if (how->is_by_source && how->blend != NULL) {
        rank_by_blend(p->g, how, c, &s);
    } else if (how->is_by_source) {
        rank_by_source(p->g, how->weights, c, how->key, &s);
    } else {
        rank_by_weight(how->weights, c, run->key, &s);
        if (is_beyond_floats(&s)) {
            graph_smallest_begin(&s, s.keys, s.k);
            rank_by_logarithm(how->weights, c, run->key, &s);
        }
    }
    if (s.keys[s.k - 1] == UINT64_MAX || s.keys[0] == UINT64_MAX) { /* fewer than k can be picked; with replacement: none can */
        *n_out = take_all(how->weights, c, out);
        return GREBE_OK;
    }
    for (int64_t i = 0; i < s.k; i++) {
        out[i] = candidate(c, (int64_t)(s.keys[i] & UINT32_MAX));
    }
    *n_out = s.k;
out:
    return st;
}

static grebe_status pick_some(struct graph_picker *p, const struct candidates *c, const struct graph_run *run, int64_t *out,
                              int64_t *n_out, grebe_error *err)
{
    const struct graph_sampling *how = p->how;
    int64_t k = run->fanout;
    if (how->with_replacement && !how->is_by_source) {
        if (how->weights != NULL) {
            return draw_by_weight(p, c, run->key, k, out, n_out, err);
        }
        *n_out = draw_alike(c, run->key, k, out);
        return GREBE_OK;
    }
    if (how->is_by_source || how->weights != NULL) {
        return pick_smallest(p, c, run, out, n_out, err);
    }
    *n_out = k;
    if (c->n <= MASK_MAX) {
        floyd_mask(c, run->key, k, out);
    } else if (k <= LINEAR_MAX) {
        floyd_linear(c, run->key, k, out);
    } else {
        return floyd_hash(p, c, run->key, k, out, err);
    }
    return GREBE_OK;
}

grebe_status graph_pick(struct graph_picker *p, const struct graph_run *run, int64_t *out, int64_t *n_out, grebe_error *err)
{
    struct candidates c = { run->begin, run->n, NULL };
    *n_out = 0;
    if (run->n == 0 || run->fanout == 0) {
        return GREBE_OK;
    }
    if (p->how->times != NULL) {
        grebe_status st = keep_old(p, run, &c, err);
        if (st != GREBE_OK || c.n == 0) {
            return st;
        }
    }
    if (run->fanout == GRAPH_FANOUT_ALL || (c.n <= run->fanout && !p->how->with_replacement)) {
        *n_out = take_all(p->how->weights, &c, out);
        return GREBE_OK;
    }
    return pick_some(p, &c, run, out, n_out, err);
}

void graph_picker_release(struct graph_picker *p)
{
    graph_array_release(p->g->ctx->a, &p->allowed);
    graph_array_release(p->g->ctx->a, &p->table);
}
