/* SPDX-License-Identifier: Apache-2.0 */
/* Several children whose rows (or tables) are taken in turn or as drawn, and the groups of shards below a shuffle. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

/* ---- the node. mode: grebe_stop; is_set: with probabilities (held) and rng ---- */

struct chances {
    struct held held;
    const grebe_allocator *a;
    size_t n;
    double *cdf; /* shape [n]; behind it whether each has a chance at all, as 0 or 1 */
};

static void chances_free(struct held *h)
{
    struct chances *c = (struct chances *)h;
    mem_free(c->a, c->cdf, 2 * c->n * sizeof *c->cdf);
    mem_free(c->a, c, sizeof *c);
}

static int64_t cycle_n_shards(const struct node *n)
{
    int64_t least = n->n_kids == 0 ? 0 : INT64_MAX;
    for (size_t i = 0; i < n->n_kids; i++) {
        least = min_i64(least, node_n_shards(n->kids[i]));
    }
    return least;
}

static bool cycle_yields_tables(const struct node *n)
{
    bool all = true;
    for (size_t i = 0; i < n->n_kids; i++) {
        all = all && node_yields_tables(n->kids[i]);
    }
    return all;
}

static grebe_status cycle_shuffle(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err)
{
    grebe_status st = node_shuffle_kids(n, g, out, err);
    if (st == GREBE_OK && n->is_set) {
        (*out)->rng = *g; /* the children's generator is the node's, too */
    }
    return st;
}

static grebe_status cycle_part(const struct node *n, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                               grebe_error *err)
{
    int64_t n_shards = node_n_shards(n);
    size_t n_kids = takers >= n_shards && i >= n_shards ? 0 : n->n_kids; /* nothing is left for takers beyond the shards */
    return node_part_kids(n, n_kids, takers < n_shards ? takers : n_shards, i, is_contiguous, out, err);
}

static void cycle_shift(struct node *n, int64_t value)
{
    if (n->is_set) {
        rng_shift(&n->rng, value);
    }
}

static grebe_status cycle_describe(const struct node *n, struct buf *dst, grebe_error *err)
{
    const struct chances *c = (const struct chances *)n->held;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; c != NULL && i < c->n && st == GREBE_OK; i++) {
        st = buf_printf(dst, err, " %.17g", c->cdf[i]);
    }
    return st;
}

/* ---- reading ---- */

struct cycle_reader {
    struct reader base;
    struct node *node;
    struct reader **kids; /* shape [node->n_kids] */
    bool *is_exhausted;   /* shape [node->n_kids] */
    int64_t *unit;        /* rows of a unit of each; shape [node->n_kids] */
    size_t next;          /* whose turn it is, without probabilities */
    struct pcg64 rng;
    /* a batch that is being put together */
    struct buf sources; /* struct rows */
    struct buf picks;   /* struct pick */
    int32_t *newest;    /* of each child: its last source; -1: none. Shape [node->n_kids] */
};

static bool counts(const struct node *n, size_t i)
{
    const struct chances *c = (const struct chances *)n->held;
    return c == NULL || c->cdf[c->n + i] > 0;
}

/* Whether the rule says that nothing more is read. A child that is never drawn does not hold up the others. */
static bool is_at_end(const struct cycle_reader *c)
{
    bool is_any = false, is_all = true;
    for (size_t i = 0; i < c->node->n_kids; i++) {
        if (counts(c->node, i)) {
            is_any = is_any || c->is_exhausted[i];
            is_all = is_all && c->is_exhausted[i];
        }
    }
    return c->node->mode == GREBE_STOP_FIRST_EXHAUSTED ? is_any : is_all;
}

static void clear_parts(struct cycle_reader *c)
{
    struct rows *sources = (struct rows *)(void *)c->sources.data;
    for (size_t i = 0; i < c->sources.len / sizeof *sources; i++) {
        rows_release(&sources[i]);
    }
    buf_clear(&c->sources);
    buf_clear(&c->picks);
    for (size_t i = 0; i < c->node->n_kids; i++) {
        c->newest[i] = -1;
    }
}

/* Up to n rows of child i that wait in it are picked; *n is what is still to be picked. */
static grebe_status pick_waiting(struct cycle_reader *c, size_t i, int64_t *n, grebe_error *err)
{
    struct reader *kid = c->kids[i];
    struct rows *newest = c->newest[i] >= 0 ? &((struct rows *)(void *)c->sources.data)[c->newest[i]] : NULL;
    if (newest == NULL || newest->data != kid->pending.data || newest->begin != kid->pending.begin) {
        struct rows whole = rows_view(&kid->pending, 0, kid->pending.n);
        grebe_status st = buf_put(&c->sources, &whole, sizeof whole, err);
        if (st != GREBE_OK) {
            rows_release(&whole);
            return st;
        }
        c->newest[i] = (int32_t)(c->sources.len / sizeof whole - 1);
    }
    int64_t step = min_i64(*n, kid->pending.n - kid->given);
    struct pick p = { c->newest[i], (int32_t)step, kid->given };
    kid->given += step;
    *n -= step;
    return buf_put(&c->picks, &p, sizeof p, err);
}

/* One unit of child i, and whether that was its last one. *n: rows of it. */
static grebe_status take_unit(struct cycle_reader *c, size_t i, int64_t want, int64_t *n, grebe_error *err)
{
    bool has = true, is_replaced = c->node->mode != GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT;
    int64_t left = c->unit[i];
    grebe_status st = GREBE_OK;
    while (left > 0 && has) {
        GREBE_TRY(reader_has_more(c->kids[i], want, &has, err));
        if (has) {
            GREBE_TRY(pick_waiting(c, i, &left, err));
        }
    }
    *n = c->unit[i] - left;
    if (has) {
        GREBE_TRY(reader_has_more(c->kids[i], want, &has, err));
    }
    if (!has) {
        c->is_exhausted[i] = true;
        if (is_replaced) {
            GREBE_TRY(reader_load(c->kids[i], NULL, 0, err));
        }
    }
out:
    return st;
}

static size_t draw(struct cycle_reader *c)
{
    if (c->node->is_set) {
        const struct chances *p = (const struct chances *)c->node->held;
        return pcg64_choose(&c->rng, p->cdf, p->n);
    }
    size_t i = c->next;
    c->next = (c->next + 1) % c->node->n_kids;
    return i;
}

static grebe_status cycle_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct cycle_reader *c = (struct cycle_reader *)r;
    bool is_without = c->node->mode == GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT;
    grebe_status st = GREBE_OK;
    int64_t got = 0;
    want = min_i64(want, READ_ROWS_MAX);
    clear_parts(c);
    while (got < want && c->node->n_kids > 0 && !is_at_end(c)) {
        size_t i = draw(c);
        int64_t n = 0;
        if (c->is_exhausted[i] && is_without) {
            continue;
        }
        GREBE_TRY(take_unit(c, i, max_i64(want / (int64_t)c->node->n_kids, 1), &n, err));
        got += n;
    }
    if (got == 0) {
        st = GREBE_END;
        goto out;
    }
    st = rows_pick(r->env.ctx->a, (struct rows *)(void *)c->sources.data, c->sources.len / sizeof *out,
                   (struct pick *)(void *)c->picks.data, c->picks.len / sizeof(struct pick), out, err);
out:
    clear_parts(c);
    return st;
}

static grebe_status cycle_save(struct reader *r, struct mark **out, grebe_error *err)
{
    struct cycle_reader *c = (struct cycle_reader *)r;
    struct mark_builder b = MARK_BUILDER_INIT(r->env.ctx->a);
    grebe_status st = mark_put(&b, (int64_t)c->next, err);
    GREBE_TRY(st);
    GREBE_TRY(mark_put_rng(&b, &c->rng, err));
    for (size_t i = 0; i < c->node->n_kids; i++) {
        GREBE_TRY(mark_put(&b, c->is_exhausted[i], err));
        GREBE_TRY(place_put(&b, c->kids[i], err));
    }
    st = mark_finish(&b, out, err);
out:
    mark_builder_release(&b);
    return st;
}

static grebe_status cycle_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct cycle_reader *c = (struct cycle_reader *)r;
    size_t n = c->node->n_kids, first = 1 + MARK_RNG_WORDS;
    grebe_status st = GREBE_OK;
    clear_parts(c);
    if (m != NULL) {
        GREBE_TRY(mark_expect(m, first + 2 * n, n, err));
        if (m->words[0] < 0 || (m->words[0] >= (int64_t)n && m->words[0] > 0)) {
            return mark_fail(err, "a source that is not there");
        }
        c->next = (size_t)m->words[0];
        if (c->node->is_set) {
            GREBE_TRY(mark_get_rng(m, 1, &c->rng, err));
        }
    } else {
        c->next = 0;
        c->rng = c->node->rng;
    }
    for (size_t i = 0; i < n; i++) {
        c->is_exhausted[i] = m != NULL && m->words[first + 2 * i] == 1;
        GREBE_TRY(m != NULL ? place_get(c->kids[i], m, i, first + 2 * i + 1, err)
                            : reader_load(c->kids[i], NULL, 0, err));
    }
out:
    return st;
}

static void cycle_reader_free(struct reader *r)
{
    struct cycle_reader *c = (struct cycle_reader *)r;
    const grebe_allocator *a = r->env.ctx->a;
    size_t n = c->node->n_kids;
    if (c->newest != NULL) {
        clear_parts(c);
    }
    for (size_t i = 0; c->kids != NULL && i < n; i++) {
        reader_free(c->kids[i]);
    }
    mem_free(a, c->kids, n * sizeof *c->kids);
    mem_free(a, c->is_exhausted, n * sizeof *c->is_exhausted);
    mem_free(a, c->unit, n * sizeof *c->unit);
    mem_free(a, c->newest, n * sizeof *c->newest);
    buf_release(&c->sources);
    buf_release(&c->picks);
    node_drop(c->node);
    reader_dealloc(r, sizeof *c);
}

static const struct reader_ops cycle_reader_ops = { cycle_produce, cycle_save, cycle_load, cycle_reader_free };

static grebe_status cycle_open(const struct node *node, const struct reading *env, struct reader **out,
                               grebe_error *err)
{
    const grebe_allocator *a = env->ctx->a;
    size_t n = node->n_kids;
    grebe_status st = reader_alloc(sizeof(struct cycle_reader), &cycle_reader_ops, env, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct cycle_reader *c = (struct cycle_reader *)*out;
    c->node = node_keep((struct node *)(uintptr_t)node);
    c->sources = c->picks = BUF_INIT(a);
    c->rng = node->rng;
    c->kids = mem_alloc_zero(a, n * sizeof *c->kids);
    c->is_exhausted = mem_alloc_zero(a, n * sizeof *c->is_exhausted);
    c->unit = mem_alloc_zero(a, n * sizeof *c->unit);
    c->newest = mem_alloc_zero(a, n * sizeof *c->newest);
    if (c->kids == NULL || c->is_exhausted == NULL || c->unit == NULL || c->newest == NULL) {
        st = mem_fail(err, n * sizeof *c->kids, "sources of a stream");
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        c->unit[i] = node_unit(node->kids[i], env);
        st = node_open(node->kids[i], env, &c->kids[i], err);
    }
    if (st != GREBE_OK) {
        reader_free(*out);
        *out = NULL;
    }
    return st;
}

static const struct node_ops cycle_ops = {
    .name = "cycle",
    .n_shards = cycle_n_shards,
    .yields_tables = cycle_yields_tables,
    .shuffle = cycle_shuffle,
    .part = cycle_part,
    .shift = cycle_shift,
    .describe = cycle_describe,
    .open = cycle_open,
};

static grebe_status chances_new(const grebe_allocator *a, const double *p, size_t n, struct held **out,
                                grebe_error *err)
{
    struct chances *c = mem_alloc_zero(a, sizeof *c);
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "probabilities");
    }
    atomic_init(&c->held.refs, 1);
    c->held.free = chances_free;
    c->a = a;
    c->n = n;
    c->cdf = mem_alloc(a, 2 * n * sizeof *c->cdf);
    grebe_status st =
        c->cdf == NULL ? mem_fail(err, 2 * n * sizeof *c->cdf, "probabilities") : pcg64_cdf(p, n, c->cdf, err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        c->cdf[n + i] = p[i] > 0;
    }
    if (st != GREBE_OK) {
        held_drop(&c->held);
        return st;
    }
    *out = &c->held;
    return GREBE_OK;
}

grebe_status cycle_new(grebe_context *ctx, struct node *const *kids, size_t n, const double *probabilities,
                       const struct pcg64 *g, grebe_stop stop, struct node **out, grebe_error *err)
{
    struct held *held = NULL;
    grebe_status st = probabilities != NULL ? chances_new(ctx->a, probabilities, n, &held, err) : GREBE_OK;
    if (st == GREBE_OK) {
        st = node_new(ctx, &cycle_ops, kids, n, out, err);
    }
    if (st != GREBE_OK) {
        held_drop(held);
        return st;
    }
    (*out)->mode = (int32_t)stop;
    (*out)->is_set = probabilities != NULL;
    (*out)->held = held;
    if (probabilities != NULL) {
        (*out)->rng = *g;
    }
    return GREBE_OK;
}

/* ---- groups of shards. rows: groups at most ---- */

/* The groups are made when reading begins: of the shards that this taker has then. */
static grebe_status groups_open(const struct node *node, const struct reading *env, struct reader **out,
                                grebe_error *err)
{
    const struct node *kid = node->kids[0];
    int64_t k = min_i64(node_n_shards(kid), node->rows);
    if (k <= 0) {
        return node_open(kid, env, out, err);
    }
    struct node **parts = NULL, *cycle = NULL;
    grebe_status st =
        mem_alloc_bounded(node->ctx->a, (uint64_t)k, sizeof *parts, (uint64_t)k, "groups", (void **)&parts, err);
    for (int64_t i = 0; i < k && st == GREBE_OK; i++) {
        st = node_part(kid, k, i, true, &parts[i], err);
    }
    if (st == GREBE_OK) {
        st = cycle_new(node->ctx, parts, (size_t)k, NULL, NULL, GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT, &cycle,
                       err);
    }
    if (st == GREBE_OK) {
        st = node_open(cycle, env, out, err);
    }
    for (int64_t i = 0; parts != NULL && i < k; i++) {
        node_drop(parts[i]);
    }
    node_drop(cycle);
    mem_free(node->ctx->a, parts, (size_t)k * sizeof *parts);
    return st;
}

static const struct node_ops groups_ops = { .name = "groups", .open = groups_open };

grebe_status groups_new(struct node *kid, int64_t n, struct node **out, grebe_error *err)
{
    grebe_status st = node_new(kid->ctx, &groups_ops, &kid, 1, out, err);
    if (st == GREBE_OK) {
        (*out)->rows = n;
    }
    return st;
}
