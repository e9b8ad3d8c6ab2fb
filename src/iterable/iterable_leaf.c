/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves: shards of a source, one after another. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

static int64_t leaf_n_shards(const struct node *n)
{
    return n->n_shards;
}

static struct shard_source *source_of(const struct node *n)
{
    return (struct shard_source *)n->held;
}

static bool leaf_yields_tables(const struct node *n)
{
    return source_of(n)->are_tables;
}

static const struct node_ops leaf_ops;

/* A leaf over shards of the same source: shard k is that at place first + k step of `from`, or number k where from is
 * NULL. */
static grebe_status leaf_of_shards(grebe_context *ctx, struct shard_source *source, const int64_t *from,
                                   struct shard_run run, struct node **out, grebe_error *err)
{
    grebe_status st = node_new(ctx, &leaf_ops, NULL, 0, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct node *n = *out;
    held_keep(&source->held);
    n->held = &source->held;
    n->shards = mem_alloc(ctx->a, (size_t)run.count * sizeof *n->shards);
    if (n->shards == NULL) {
        node_drop(n);
        *out = NULL;
        return mem_fail(err, (size_t)run.count * sizeof *n->shards, "shards");
    }
    n->n_shards = run.count;
    for (int64_t k = 0; k < run.count; k++) {
        int64_t at = run.first + k * run.step;
        n->shards[k] = from != NULL ? from[at] : at;
    }
    return GREBE_OK;
}

grebe_status leaf_new(grebe_context *ctx, struct shard_source *source, struct node **out, grebe_error *err)
{
    grebe_status st = leaf_of_shards(ctx, source, NULL, (struct shard_run){ 0, 1, source->n_shards }, out, err);
    held_drop(&source->held);
    return st;
}

static grebe_status leaf_shuffle(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err)
{
    grebe_status st =
        leaf_of_shards(n->ctx, source_of(n), n->shards, (struct shard_run){ 0, 1, n->n_shards }, out, err);
    if (st == GREBE_OK) {
        struct pcg64 own = *g;
        pcg64_shuffle(&own, (*out)->shards, n->n_shards);
    }
    return st;
}

static grebe_status leaf_part(const struct node *n, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                              grebe_error *err)
{
    return leaf_of_shards(n->ctx, source_of(n), n->shards, shard_run_of(n->n_shards, takers, i, is_contiguous), out,
                          err);
}

static grebe_status leaf_reshard(const struct node *n, struct node **out, grebe_error *err)
{
    struct shard_source *source = source_of(n), *cut = NULL;
    if (source->reshard == NULL) {
        return leaf_part(n, 1, 0, true, out, err);
    }
    grebe_status st = source->reshard(source, n->shards, n->n_shards, &cut, err);
    return st != GREBE_OK ? st : leaf_new(n->ctx, cut, out, err);
}

static grebe_status leaf_describe(const struct node *n, struct buf *dst, grebe_error *err)
{
    struct shard_source *source = source_of(n);
    grebe_status st = buf_printf(dst, err, " %s %lld:", source->name, (long long)source->n_shards);
    for (int64_t k = 0; k < n->n_shards && st == GREBE_OK; k++) {
        st = buf_printf(dst, err, " %lld", (long long)n->shards[k]);
    }
    if (st == GREBE_OK && source->describe != NULL) {
        st = source->describe(source, dst, err);
    }
    return st;
}

/* ---- reading ---- */

struct leaf_reader {
    struct reader base;
    struct node *node;
    struct shard_reader shard; /* ops NULL: not opened */
    int64_t at;                /* which of the node's shards */
    int64_t row;               /* of the shard: the next one to produce */
    struct shard_place place;  /* at or before it */
    struct rows_type *type;
};

static void close_shard(struct leaf_reader *l)
{
    if (l->shard.ops != NULL) {
        l->shard.ops->free(l->shard.self);
    }
    l->shard = (struct shard_reader){ 0 };
}

/* Rows as the shard has them, without those before l->row; *is_end at the end of the shard. */
static grebe_status shard_next(struct leaf_reader *l, struct rows *out, bool *is_end, grebe_error *err)
{
    const grebe_allocator *a = l->base.env.ctx->a;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray array = { 0 };
    struct rows all = { 0 };
    grebe_status st = l->shard.ops->next(l->shard.self, &schema, &array, err);
    if (st == GREBE_END) {
        *is_end = true;
        return GREBE_OK;
    }
    GREBE_TRY(st);
    if (l->type == NULL || !schema_equal(&l->type->schema, &schema, 0)) {
        rows_type_drop(l->type);
        l->type = NULL;
        GREBE_TRY(rows_type_new(a, &schema, &l->type, err));
    }
    int64_t end = l->shard.ops->next_row(l->shard.self), begin = end - array.length;
    GREBE_TRY(rows_of(a, l->type, &array, &all, err));
    if (end > l->row) {
        int64_t skipped = max_i64(l->row - begin, 0);
        *out = rows_view(&all, skipped, all.n - skipped);
        l->row = end;
        l->place = l->shard.ops->place(l->shard.self);
    }
out:
    rows_release(&all);
    array_release(&array);
    schema_release(&schema);
    return st;
}

/* The shard is open afterwards, and stands where the next row is when it can go there. */
static grebe_status open_shard(struct leaf_reader *l, grebe_error *err)
{
    struct shard_source *source = source_of(l->node);
    if (l->shard.ops != NULL) {
        return GREBE_OK;
    }
    grebe_status st = source->open(source, &l->base.env, l->node->shards[l->at], l->place, &l->shard, err);
    if (st == GREBE_OK && l->shard.ops->skip != NULL) {
        int64_t before = l->shard.ops->next_row(l->shard.self);
        if (before < l->row) {
            l->shard.ops->skip(l->shard.self, l->row - before);
        }
    }
    return st;
}

static grebe_status leaf_skip(struct reader *r, int64_t *n, grebe_error *err)
{
    struct leaf_reader *l = (struct leaf_reader *)r;
    if (l->at >= l->node->n_shards) {
        return GREBE_OK;
    }
    grebe_status st = open_shard(l, err);
    if (st == GREBE_OK && l->shard.ops->skip != NULL && l->shard.ops->next_row(l->shard.self) == l->row) {
        int64_t step = l->shard.ops->skip(l->shard.self, *n);
        *n -= step;
        l->row += step;
        l->place = l->shard.ops->place(l->shard.self);
    }
    return st;
}

static grebe_status leaf_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct leaf_reader *l = (struct leaf_reader *)r;
    (void)want;
    for (; l->at < l->node->n_shards; l->at++) {
        bool is_end = false;
        grebe_status opened = open_shard(l, err);
        if (opened != GREBE_OK) {
            return opened;
        }
        while (!is_end && out->n == 0) {
            rows_release(out);
            grebe_status st = call_check(&r->env.call, err);
            if (st == GREBE_OK) {
                st = shard_next(l, out, &is_end, err);
            }
            if (st != GREBE_OK) {
                return st;
            }
        }
        if (out->n > 0) {
            return GREBE_OK;
        }
        close_shard(l);
        l->row = 0;
        l->place = (struct shard_place){ 0, 0 };
    }
    return GREBE_END;
}

static grebe_status leaf_save(struct reader *r, struct mark **out, grebe_error *err)
{
    struct leaf_reader *l = (struct leaf_reader *)r;
    struct mark_builder b = MARK_BUILDER_INIT(r->env.ctx->a);
    grebe_status st = mark_put(&b, l->at, err);
    if (st == GREBE_OK) {
        st = mark_put(&b, l->row, err);
    }
    if (st == GREBE_OK) {
        st = mark_put(&b, l->place.row, err);
    }
    if (st == GREBE_OK) {
        st = mark_put(&b, (int64_t)l->place.at, err);
    }
    if (st != GREBE_OK) {
        mark_builder_release(&b);
        return st;
    }
    return mark_finish(&b, out, err);
}

static grebe_status leaf_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct leaf_reader *l = (struct leaf_reader *)r;
    close_shard(l);
    l->at = l->row = 0;
    l->place = (struct shard_place){ 0, 0 };
    if (m == NULL) {
        return GREBE_OK;
    }
    grebe_status st = mark_expect(m, 4, 0, err);
    if (st != GREBE_OK) {
        return st;
    }
    const int64_t *w = m->words;
    if (w[0] < 0 || w[0] > l->node->n_shards || w[2] < 0 || w[1] < w[2] || w[1] > MARK_ROWS_MAX ||
        (w[0] == l->node->n_shards && w[1] != 0)) {
        return mark_fail(err, "a shard or row that is not there");
    }
    l->at = w[0];
    l->row = w[1];
    l->place = (struct shard_place){ w[2], (uint64_t)w[3] };
    return GREBE_OK;
}

static void leaf_free(struct reader *r)
{
    struct leaf_reader *l = (struct leaf_reader *)r;
    close_shard(l);
    rows_type_drop(l->type);
    node_drop(l->node);
    reader_dealloc(r, sizeof *l);
}

static const struct reader_ops leaf_reader_ops = { leaf_produce, leaf_save, leaf_load, leaf_free };

static grebe_status leaf_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    grebe_status st = reader_alloc(sizeof(struct leaf_reader), &leaf_reader_ops, env, out, err);
    if (st == GREBE_OK) {
        ((struct leaf_reader *)*out)->node = node_keep((struct node *)(uintptr_t)n);
        (*out)->skip = leaf_skip;
    }
    return st;
}

static bool leaf_is_shufflable(const struct node *n)
{
    (void)n;
    return true;
}

static const struct node_ops leaf_ops = {
    .name = "leaf",
    .n_shards = leaf_n_shards,
    .yields_tables = leaf_yields_tables,
    .is_shufflable = leaf_is_shufflable,
    .shuffle = leaf_shuffle,
    .part = leaf_part,
    .reshard = leaf_reshard,
    .describe = leaf_describe,
    .open = leaf_open,
};
