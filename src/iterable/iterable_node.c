/* SPDX-License-Identifier: Apache-2.0 */
/* The tree: what is the same for all kinds of nodes. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

void held_keep(struct held *h)
{
    if (h != NULL) {
        atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    }
}

void held_drop(struct held *h)
{
    if (h != NULL && atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) == 1) {
        h->free(h);
    }
}

/* ---- life ---- */

grebe_status node_new(grebe_context *ctx, const struct node_ops *ops, struct node *const *kids, size_t n,
                      struct node **out, grebe_error *err)
{
    struct node *x = mem_alloc_zero(ctx->a, sizeof *x);
    if (x == NULL) {
        return mem_fail(err, sizeof *x, "a stream");
    }
    atomic_init(&x->refs, 1);
    x->ctx = ctx;
    x->ops = ops;
    if (n > 0) {
        x->kids = mem_alloc_zero(ctx->a, n * sizeof *x->kids);
        if (x->kids == NULL) {
            node_drop(x);
            return mem_fail(err, n * sizeof *x->kids, "a stream");
        }
    }
    for (size_t i = 0; i < n; i++) {
        x->kids[i] = node_keep(kids[i]);
        x->depth = kids[i]->depth >= x->depth ? kids[i]->depth + 1 : x->depth;
    }
    x->n_kids = n;
    if (x->depth > NODE_DEPTH_MAX) {
        node_drop(x);
        return GREBE_FAIL(err, GREBE_ELIMIT, "a stream of more than %d steps", NODE_DEPTH_MAX);
    }
    *out = x;
    return GREBE_OK;
}

grebe_status node_with_kids(const struct node *n, struct node **kids, size_t n_kids, struct node **out,
                            grebe_error *err)
{
    grebe_status st = node_new(n->ctx, n->ops, kids, n_kids, out, err);
    for (size_t i = 0; i < n_kids; i++) {
        node_drop(kids[i]);
    }
    if (st == GREBE_OK) {
        struct node *x = *out;
        x->rows = n->rows;
        x->at = n->at;
        x->is_set = n->is_set;
        x->is_typed = n->is_typed;
        x->mode = n->mode;
        x->rng = n->rng;
        x->held = n->held;
        held_keep(x->held);
    }
    return st;
}

struct node *node_keep(struct node *n)
{
    atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

void node_drop(struct node *n)
{
    if (n == NULL || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < n->n_kids; i++) {
        node_drop(n->kids[i]);
    }
    mem_free(n->ctx->a, n->kids, n->n_kids * sizeof *n->kids);
    mem_free(n->ctx->a, n->shards, (size_t)n->n_shards * sizeof *n->shards);
    held_drop(n->held);
    mem_free(n->ctx->a, n, sizeof *n);
}

/* ---- questions ---- */

int64_t node_n_shards(const struct node *n)
{
    return n->ops->n_shards != NULL ? n->ops->n_shards(n) : node_n_shards(n->kids[0]);
}

bool node_yields_tables(const struct node *n)
{
    return n->ops->yields_tables != NULL ? n->ops->yields_tables(n) : node_yields_tables(n->kids[0]);
}

bool node_is_shufflable(const struct node *n)
{
    if (n->ops->is_shufflable != NULL) {
        return n->ops->is_shufflable(n);
    }
    for (size_t i = 0; i < n->n_kids; i++) {
        if (!node_is_shufflable(n->kids[i])) {
            return false;
        }
    }
    return true;
}

struct shard_run shard_run_of(int64_t k, int64_t n, int64_t i, bool is_contiguous)
{
    if (!is_contiguous) {
        return (struct shard_run){ i, n, i < k ? (k - i - 1) / n + 1 : 0 };
    }
    int64_t each = k / n, more = k % n;
    return (struct shard_run){ each * i + (i < more ? i : more), 1, each + (i < more) };
}

void rng_shift(struct pcg64 *g, int64_t value)
{
    uint64_t seed = pcg64_integer(g, INT64_MAX);
    pcg64_seed_u64(seed >= (uint64_t)value ? seed - (uint64_t)value : seed + (uint64_t)value, g);
}

/* ---- new trees ---- */

enum change { CHANGE_SHUFFLE, CHANGE_PART, CHANGE_SHIFT, CHANGE_RESHARD };

struct change_of_tree {
    enum change what;
    const struct pcg64 *g;
    int64_t n, i;
    bool is_contiguous;
};

static grebe_status change_node(const struct node *n, const struct change_of_tree *c, struct node **out,
                                grebe_error *err);

/* A copy over the first `count` children, changed. */
static grebe_status change_kids(const struct node *n, size_t count, const struct change_of_tree *c, struct node **out,
                                grebe_error *err)
{
    size_t size = n->n_kids * sizeof(struct node *);
    struct node **kids = mem_alloc_zero(n->ctx->a, size);
    if (kids == NULL) {
        return mem_fail(err, size, "a stream");
    }
    grebe_status st = GREBE_OK;
    size_t made = 0;
    while (made < count && st == GREBE_OK) {
        st = change_node(n->kids[made], c, &kids[made], err);
        made += st == GREBE_OK;
    }
    if (st == GREBE_OK) {
        st = node_with_kids(n, kids, made, out, err);
    } else {
        while (made > 0) {
            node_drop(kids[--made]);
        }
    }
    mem_free(n->ctx->a, kids, size);
    return st;
}

static grebe_status change_node(const struct node *n, const struct change_of_tree *c, struct node **out,
                                grebe_error *err)
{
    *out = NULL;
    if (c->what == CHANGE_SHUFFLE && n->ops->shuffle != NULL) {
        return n->ops->shuffle(n, c->g, out, err);
    }
    if (c->what == CHANGE_PART && n->ops->part != NULL) {
        return n->ops->part(n, c->n, c->i, c->is_contiguous, out, err);
    }
    if (c->what == CHANGE_RESHARD && n->ops->reshard != NULL) {
        return n->ops->reshard(n, out, err);
    }
    if (n->n_kids == 0) {
        *out = node_keep((struct node *)(uintptr_t)n); /* a leaf that does not change; only its count does */
        return GREBE_OK;
    }
    grebe_status st = change_kids(n, n->n_kids, c, out, err);
    if (st == GREBE_OK && c->what == CHANGE_SHIFT && n->ops->shift != NULL) {
        n->ops->shift(*out, c->n);
    }
    return st;
}

grebe_status node_shuffle(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err)
{
    return change_node(n, &(struct change_of_tree){ CHANGE_SHUFFLE, g, 0, 0, false }, out, err);
}

grebe_status node_part(const struct node *n, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                       grebe_error *err)
{
    return change_node(n, &(struct change_of_tree){ CHANGE_PART, NULL, takers, i, is_contiguous }, out, err);
}

grebe_status node_shuffle_kids(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err)
{
    return change_kids(n, n->n_kids, &(struct change_of_tree){ CHANGE_SHUFFLE, g, 0, 0, false }, out, err);
}

grebe_status node_part_kids(const struct node *n, size_t count, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                            grebe_error *err)
{
    return change_kids(n, count, &(struct change_of_tree){ CHANGE_PART, NULL, takers, i, is_contiguous }, out, err);
}

grebe_status node_shift(const struct node *n, int64_t value, struct node **out, grebe_error *err)
{
    return change_node(n, &(struct change_of_tree){ CHANGE_SHIFT, NULL, value, 0, false }, out, err);
}

grebe_status node_reshard(const struct node *n, struct node **out, grebe_error *err)
{
    return change_node(n, &(struct change_of_tree){ CHANGE_RESHARD, NULL, 0, 0, false }, out, err);
}

/* ---- the signature ---- */

grebe_status node_describe(const struct node *n, struct buf *dst, grebe_error *err)
{
    grebe_status st = buf_printf(dst, err, "%s(%lld %lld %d %d %d", n->ops->name, (long long)n->rows, (long long)n->at,
                                 n->is_set, n->is_typed, n->mode);
    if (st == GREBE_OK) {
        st = buf_printf(dst, err, " %016llx%016llx", (unsigned long long)n->rng.state_high,
                        (unsigned long long)n->rng.state_low);
    }
    if (st == GREBE_OK && n->ops->describe != NULL) {
        st = n->ops->describe(n, dst, err);
    }
    for (size_t i = 0; i < n->n_kids && st == GREBE_OK; i++) {
        st = node_describe(n->kids[i], dst, err);
    }
    return st != GREBE_OK ? st : buf_put_byte(dst, ')', err);
}

grebe_status node_open(const struct node *n, const struct reading *r, struct reader **out, grebe_error *err)
{
    *out = NULL;
    return n->ops->open(n, r, out, err);
}
