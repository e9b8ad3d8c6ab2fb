/* SPDX-License-Identifier: Apache-2.0 */
/* Streams one after the other, and streams side by side. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

/* ---- one after the other ---- */

static int64_t chain_n_shards(const struct node *n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n->n_kids; i++) {
        sum += node_n_shards(n->kids[i]);
    }
    return sum;
}

static bool all_yield_tables(const struct node *n)
{
    bool all = true;
    for (size_t i = 0; i < n->n_kids; i++) {
        all = all && node_yields_tables(n->kids[i]);
    }
    return all;
}

/* Its shards are those of the children, one by one: a take inside of one child does not hold up the others. */
static bool chain_is_shufflable(const struct node *n)
{
    (void)n;
    return true;
}

/* Each shard of each child as a stream of its own: struct node *, owned. */
static grebe_status single_shards(const struct node *n, struct buf *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n->n_kids; i++) {
        int64_t k = node_n_shards(n->kids[i]);
        for (int64_t j = 0; j < k; j++) {
            struct node *one = NULL;
            st = node_part(n->kids[i], k, j, true, &one, err);
            if (st == GREBE_OK) {
                st = buf_put(out, &one, sizeof one, err);
            }
            if (st != GREBE_OK) {
                node_drop(one);
                return st;
            }
        }
    }
    return st;
}

static const struct node_ops chain_ops;

/* A chain of some of the single shards. */
static grebe_status chain_of(const struct node *n, const int64_t *order, int64_t count, struct buf *singles,
                             struct node **out, grebe_error *err)
{
    struct node **all = (struct node **)(void *)singles->data, **kids = NULL;
    grebe_status st =
        mem_alloc_bounded(n->ctx->a, (uint64_t)count, sizeof *kids, (uint64_t)count, "shards", (void **)&kids, err);
    if (st == GREBE_OK) {
        for (int64_t i = 0; i < count; i++) {
            kids[i] = all[order[i]];
        }
        st = node_new(n->ctx, &chain_ops, kids, (size_t)count, out, err);
        mem_free(n->ctx->a, kids, (size_t)count * sizeof *kids);
    }
    return st;
}

/* g: shuffled; NULL: the run. */
static grebe_status chain_choose(const struct node *n, const struct pcg64 *g, struct shard_run run, struct node **out,
                                 grebe_error *err)
{
    struct buf singles = BUF_INIT(n->ctx->a);
    int64_t *order = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(single_shards(n, &singles, err));
    GREBE_TRY(mem_alloc_bounded(n->ctx->a, (uint64_t)run.count, sizeof *order, (uint64_t)run.count, "shards",
                                (void **)&order, err));
    for (int64_t i = 0; i < run.count; i++) {
        order[i] = run.first + i * run.step;
    }
    if (g != NULL) {
        struct pcg64 own = *g;
        pcg64_shuffle(&own, order, run.count);
    }
    st = chain_of(n, order, run.count, &singles, out, err);
out:
    for (size_t i = 0; i < singles.len / sizeof(struct node *); i++) {
        node_drop(((struct node **)(void *)singles.data)[i]);
    }
    buf_release(&singles);
    mem_free(n->ctx->a, order, (size_t)run.count * sizeof *order);
    return st;
}

static grebe_status chain_shuffle(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err)
{
    return chain_choose(n, g, (struct shard_run){ 0, 1, node_n_shards(n) }, out, err);
}

static grebe_status chain_part(const struct node *n, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                               grebe_error *err)
{
    return chain_choose(n, NULL, shard_run_of(node_n_shards(n), takers, i, is_contiguous), out, err);
}

struct chain_reader {
    struct reader base;
    struct node *node;
    struct reader *kid; /* of child `at`; NULL: not opened */
    size_t at;
};

static grebe_status open_child(struct chain_reader *c, grebe_error *err)
{
    return c->kid != NULL || c->at == c->node->n_kids ? GREBE_OK
                                                      : node_open(c->node->kids[c->at], &c->base.env, &c->kid, err);
}

static void close_child(struct chain_reader *c)
{
    reader_free(c->kid);
    c->kid = NULL;
}

static grebe_status chain_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct chain_reader *c = (struct chain_reader *)r;
    while (c->at < c->node->n_kids) {
        grebe_status st = open_child(c, err);
        if (st == GREBE_OK) {
            st = reader_next(c->kid, want, INT64_MAX, out, err);
        }
        if (st != GREBE_END) {
            return st;
        }
        close_child(c);
        c->at++;
    }
    return GREBE_END;
}

static grebe_status chain_save(struct reader *r, struct mark **out, grebe_error *err)
{
    struct chain_reader *c = (struct chain_reader *)r;
    struct mark_builder b = MARK_BUILDER_INIT(r->env.ctx->a);
    grebe_status st = GREBE_OK;
    GREBE_TRY(open_child(c, err));
    GREBE_TRY(mark_put(&b, (int64_t)c->at, err));
    if (c->kid != NULL) {
        GREBE_TRY(place_put(&b, c->kid, err));
    }
    st = mark_finish(&b, out, err);
out:
    mark_builder_release(&b);
    return st;
}

static grebe_status chain_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct chain_reader *c = (struct chain_reader *)r;
    close_child(c);
    c->at = 0;
    if (m == NULL) {
        return GREBE_OK;
    }
    if (m->n_words < 1 || m->words[0] < 0 || m->words[0] > (int64_t)c->node->n_kids) {
        return mark_fail(err, "a source that is not there");
    }
    c->at = (size_t)m->words[0];
    grebe_status st = open_child(c, err);
    return st != GREBE_OK || c->kid == NULL ? st : place_get(c->kid, m, 0, 1, err);
}

static void chain_free(struct reader *r)
{
    struct chain_reader *c = (struct chain_reader *)r;
    close_child(c);
    node_drop(c->node);
    reader_dealloc(r, sizeof *c);
}

static const struct reader_ops chain_reader_ops = { chain_produce, chain_save, chain_load, chain_free };

static grebe_status chain_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    grebe_status st = reader_alloc(sizeof(struct chain_reader), &chain_reader_ops, env, out, err);
    if (st == GREBE_OK) {
        ((struct chain_reader *)*out)->node = node_keep((struct node *)(uintptr_t)n);
    }
    return st;
}

static const struct node_ops chain_ops = {
    .name = "chain",
    .n_shards = chain_n_shards,
    .yields_tables = all_yield_tables,
    .is_shufflable = chain_is_shufflable,
    .shuffle = chain_shuffle,
    .part = chain_part,
    .open = chain_open,
};

grebe_status chain_new(grebe_context *ctx, struct node *const *kids, size_t n, struct node **out, grebe_error *err)
{
    return node_new(ctx, &chain_ops, kids, n, out, err);
}

/* ---- side by side: one shard ---- */

static int64_t beside_n_shards(const struct node *n)
{
    (void)n;
    return 1;
}

static grebe_status beside_shuffle(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err)
{
    (void)g; /* rows that belong together stay together */
    (void)err;
    *out = node_keep((struct node *)(uintptr_t)n);
    return GREBE_OK;
}

static grebe_status beside_part(const struct node *n, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                                grebe_error *err)
{
    (void)takers;
    (void)is_contiguous;
    if (i > 0) {
        return chain_new(n->ctx, NULL, 0, out, err);
    }
    *out = node_keep((struct node *)(uintptr_t)n);
    return GREBE_OK;
}

struct beside_reader {
    struct reader base;
    struct node *node;
    struct reader **kids;
    struct rows_type **from; /* types that `type` was made of; shape [n_kids] */
    struct rows_type *type;
};

/* The columns of all. */
static grebe_status beside_type(struct beside_reader *b, const struct rows *parts, grebe_error *err)
{
    const grebe_allocator *a = b->base.env.ctx->a;
    struct buf fields = BUF_INIT(a);
    struct ArrowSchema all = { 0 };
    bool is_same = b->type != NULL;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < b->node->n_kids; i++) {
        is_same = is_same && b->from[i] == parts[i].type;
    }
    if (is_same) {
        return GREBE_OK;
    }
    for (size_t i = 0; i < b->node->n_kids; i++) {
        const struct ArrowSchema *s = &parts[i].type->schema;
        rows_type_drop(b->from[i]);
        b->from[i] = rows_type_keep(parts[i].type);
        GREBE_TRY(buf_put(&fields, s->children, (size_t)s->n_children * sizeof *s->children, err));
    }
    size_t n = fields.len / sizeof(struct ArrowSchema *);
    const struct ArrowSchema *const *list = (const struct ArrowSchema *const *)(const void *)fields.data;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(list[i]->name, list[k]->name) == 0) {
                st = GREBE_FAIL(err, GREBE_ESCHEMA, "two streams side by side have a column \"%s\"", list[i]->name);
                goto out;
            }
        }
    }
    GREBE_TRY(schema_struct(a, list, n, &all, err));
    rows_type_drop(b->type);
    b->type = NULL;
    GREBE_TRY(rows_type_new(a, &all, &b->type, err));
out:
    schema_release(&all);
    buf_release(&fields);
    return st;
}

/* Columns of the parts, all of n rows, as one batch. */
static grebe_status join_columns(struct beside_reader *b, const struct rows *parts, int64_t n, struct rows *out,
                                 grebe_error *err)
{
    const grebe_allocator *a = b->base.env.ctx->a;
    struct buf columns = BUF_INIT(a);
    struct ArrowArray one = { 0 }, all = { 0 };
    grebe_status st = GREBE_OK;
    GREBE_TRY(beside_type(b, parts, err));
    for (size_t i = 0; i < b->node->n_kids; i++) {
        const struct ArrowArray *array = array_shared_get(parts[i].data);
        for (int64_t k = 0; k < array->n_children; k++) {
            GREBE_TRY(array_view(parts[i].data, array->children[k], parts[i].begin, n, &one, err));
            GREBE_TRY(buf_put(&columns, &one, sizeof one, err));
            memset(&one, 0, sizeof one);
        }
    }
    GREBE_TRY(array_struct(a, n, (struct ArrowArray *)(void *)columns.data, columns.len / sizeof one, &all, err));
    buf_clear(&columns);
    st = rows_of(a, b->type, &all, out, err);
out:
    array_release(&one);
    for (size_t i = 0; i < columns.len / sizeof one; i++) {
        array_release(&((struct ArrowArray *)(void *)columns.data)[i]);
    }
    buf_release(&columns);
    return st;
}

static grebe_status beside_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct beside_reader *b = (struct beside_reader *)r;
    size_t n_kids = b->node->n_kids, n_with_rows = 0, ended = 0;
    int64_t n = want;
    struct rows *parts = NULL;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n_kids; i++) {
        bool has = false;
        GREBE_TRY(reader_has_more(b->kids[i], want, &has, err));
        ended = has ? ended : i;
        n_with_rows += has;
        n = has ? min_i64(n, b->kids[i]->pending.n - b->kids[i]->given) : n;
    }
    if (n_with_rows == 0) {
        return GREBE_END;
    }
    if (n_with_rows < n_kids) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "of streams side by side, number %zu has fewer rows than the others",
                          ended);
    }
    GREBE_TRY(mem_alloc_bounded(r->env.ctx->a, n_kids, sizeof *parts, n_kids, "streams", (void **)&parts, err));
    for (size_t i = 0; i < n_kids; i++) {
        GREBE_TRY(reader_next(b->kids[i], n, n, &parts[i], err));
    }
    st = join_columns(b, parts, n, out, err);
out:
    for (size_t i = 0; parts != NULL && i < n_kids; i++) {
        rows_release(&parts[i]);
    }
    mem_free(r->env.ctx->a, parts, n_kids * sizeof *parts);
    return st;
}

static grebe_status beside_save(struct reader *r, struct mark **out, grebe_error *err)
{
    struct beside_reader *b = (struct beside_reader *)r;
    struct mark_builder m = MARK_BUILDER_INIT(r->env.ctx->a);
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < b->node->n_kids; i++) {
        GREBE_TRY(place_put(&m, b->kids[i], err));
    }
    st = mark_finish(&m, out, err);
out:
    mark_builder_release(&m);
    return st;
}

static grebe_status beside_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct beside_reader *b = (struct beside_reader *)r;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < b->node->n_kids && st == GREBE_OK; i++) {
        st = m != NULL ? place_get(b->kids[i], m, i, i, err) : reader_load(b->kids[i], NULL, 0, err);
    }
    return st;
}

static void beside_free(struct reader *r)
{
    struct beside_reader *b = (struct beside_reader *)r;
    const grebe_allocator *a = r->env.ctx->a;
    size_t n = b->node->n_kids;
    for (size_t i = 0; i < n && b->kids != NULL; i++) {
        reader_free(b->kids[i]);
    }
    for (size_t i = 0; i < n && b->from != NULL; i++) {
        rows_type_drop(b->from[i]);
    }
    rows_type_drop(b->type);
    mem_free(a, b->kids, n * sizeof *b->kids);
    mem_free(a, b->from, n * sizeof *b->from);
    node_drop(b->node);
    reader_dealloc(r, sizeof *b);
}

static const struct reader_ops beside_reader_ops = { beside_produce, beside_save, beside_load, beside_free };

static grebe_status beside_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    grebe_status st = reader_alloc(sizeof(struct beside_reader), &beside_reader_ops, env, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct beside_reader *b = (struct beside_reader *)*out;
    size_t size = n->n_kids * sizeof *b->kids;
    b->node = node_keep((struct node *)(uintptr_t)n);
    b->kids = mem_alloc_zero(env->ctx->a, size);
    b->from = mem_alloc_zero(env->ctx->a, n->n_kids * sizeof *b->from);
    st = b->kids == NULL || b->from == NULL ? mem_fail(err, size, "streams") : GREBE_OK;
    for (size_t i = 0; i < n->n_kids && st == GREBE_OK; i++) {
        st = node_open(n->kids[i], env, &b->kids[i], err);
    }
    if (st != GREBE_OK) {
        reader_free(*out);
        *out = NULL;
    }
    return st;
}

static const struct node_ops beside_ops = {
    .name = "beside",
    .n_shards = beside_n_shards,
    .yields_tables = all_yield_tables,
    .is_shufflable = chain_is_shufflable,
    .shuffle = beside_shuffle,
    .part = beside_part,
    .open = beside_open,
};

grebe_status beside_new(grebe_context *ctx, struct node *const *kids, size_t n, struct node **out, grebe_error *err)
{
    return node_new(ctx, &beside_ops, kids, n, out, err);
}
