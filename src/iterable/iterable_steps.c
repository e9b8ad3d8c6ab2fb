/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with one child that leave out or repeat rows: take, skip, every n-th, repeat; and tables of another size. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

/* A reader over one child with up to two numbers of its own. */
struct step_reader {
    struct reader base;
    struct node *node;
    struct reader *kid;
    int64_t count; /* take, skip: rows left; step: rows of the child so far, modulo n; repeat: passes that ended */
    bool has_rows; /* repeat: this pass had some */
};

static grebe_status step_save(struct reader *r, struct mark **out, grebe_error *err)
{
    struct step_reader *s = (struct step_reader *)r;
    struct mark_builder b = MARK_BUILDER_INIT(r->env.ctx->a);
    grebe_status st = mark_put(&b, s->count, err);
    if (st == GREBE_OK) {
        st = mark_put(&b, s->has_rows, err);
    }
    if (st == GREBE_OK) {
        st = place_put(&b, s->kid, err);
    }
    if (st != GREBE_OK) {
        mark_builder_release(&b);
        return st;
    }
    return mark_finish(&b, out, err);
}

static grebe_status load_kid(struct step_reader *s, const struct mark *m, int64_t first, int64_t most, grebe_error *err)
{
    if (m == NULL) {
        s->count = first;
        s->has_rows = false;
        return reader_load(s->kid, NULL, 0, err);
    }
    grebe_status st = mark_expect(m, 3, 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (m->words[0] < 0 || m->words[0] > most || m->words[1] < 0 || m->words[1] > 1) {
        return mark_fail(err, "a count out of range");
    }
    s->count = m->words[0];
    s->has_rows = m->words[1] == 1;
    return place_get(s->kid, m, 0, 2, err);
}

static void step_free(struct reader *r)
{
    struct step_reader *s = (struct step_reader *)r;
    reader_free(s->kid);
    node_drop(s->node);
    reader_dealloc(r, sizeof *s);
}

static grebe_status step_reader_open(const struct node *n, const struct reader_ops *ops, const struct reading *env,
                                     int64_t count, struct reader **out, grebe_error *err)
{
    grebe_status st = reader_alloc(sizeof(struct step_reader), ops, env, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct step_reader *s = (struct step_reader *)*out;
    s->node = node_keep((struct node *)(uintptr_t)n);
    s->count = count;
    st = node_open(n->kids[0], env, &s->kid, err);
    if (st != GREBE_OK) {
        reader_free(*out);
        *out = NULL;
    }
    return st;
}

/* ---- take and skip. node: rows; is_set: take; at: 1 where takers of shards share the rows ---- */

static grebe_status limit_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct step_reader *s = (struct step_reader *)r;
    if (!s->node->is_set) {
        grebe_status st = reader_skip(s->kid, &s->count, err);
        return st != GREBE_OK ? st : reader_next(s->kid, want, INT64_MAX, out, err);
    }
    if (s->count == 0) {
        return GREBE_END;
    }
    grebe_status st = reader_next(s->kid, min_i64(want, s->count), s->count, out, err);
    if (st == GREBE_OK) {
        s->count -= out->n;
    }
    return st;
}

static grebe_status limit_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct step_reader *s = (struct step_reader *)r;
    return load_kid(s, m, s->node->rows, s->node->rows, err);
}

static const struct reader_ops limit_reader_ops = { limit_produce, step_save, limit_load, step_free };

static grebe_status limit_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    return step_reader_open(n, &limit_reader_ops, env, n->rows, out, err);
}

static bool limit_is_shufflable(const struct node *n)
{
    (void)n;
    return false;
}

static grebe_status limit_shuffle(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err)
{
    (void)n;
    (void)g;
    (void)out;
    return GREBE_FAIL(err, GREBE_EINVAL, "sources below a take are not shuffled");
}

static grebe_status limit_part(const struct node *n, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                               grebe_error *err)
{
    struct node *kid = NULL;
    grebe_status st = node_part(n->kids[0], takers, i, is_contiguous, &kid, err);
    if (st == GREBE_OK) {
        st = node_with_kids(n, &kid, 1, out, err);
    }
    if (st == GREBE_OK && n->at == 1) {
        int64_t sharers = max_i64(min_i64(takers, node_n_shards(n)), 1);
        (*out)->rows = i < sharers ? n->rows / sharers + (i < n->rows % sharers) : 0;
    }
    return st;
}

static const struct node_ops limit_ops = {
    .name = "limit",
    .is_shufflable = limit_is_shufflable,
    .shuffle = limit_shuffle,
    .part = limit_part,
    .open = limit_open,
};

grebe_status limit_new(struct node *kid, int64_t n, bool is_take, bool is_split, struct node **out, grebe_error *err)
{
    grebe_status st = node_new(kid->ctx, &limit_ops, &kid, 1, out, err);
    if (st == GREBE_OK) {
        (*out)->rows = n > 0 ? n : 0;
        (*out)->is_set = is_take;
        (*out)->at = is_split;
    }
    return st;
}

/* ---- each n-th row. node: rows: n; at: the first ---- */

static grebe_status stride_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct step_reader *s = (struct step_reader *)r;
    const grebe_allocator *a = r->env.ctx->a;
    int64_t n = s->node->rows;
    for (;;) {
        struct rows in = { 0 };
        int64_t wanted = want < READ_ROWS_MAX / n ? want * n : READ_ROWS_MAX;
        grebe_status st = reader_next(s->kid, wanted, READ_ROWS_MAX, &in, err);
        if (st != GREBE_OK) {
            return st;
        }
        int64_t first = (s->node->at - s->count + n) % n, count = first < in.n ? (in.n - first - 1) / n + 1 : 0;
        s->count = (s->count + in.n) % n;
        if (count > 0) {
            size_t size = (size_t)count * sizeof(struct pick);
            struct pick *picks = mem_alloc(a, size);
            if (picks == NULL) {
                rows_release(&in);
                return mem_fail(err, size, "rows");
            }
            for (int64_t i = 0; i < count; i++) {
                picks[i] = (struct pick){ 0, 1, first + i * n };
            }
            st = rows_pick(a, &in, 1, picks, (size_t)count, out, err);
            mem_free(a, picks, size);
        }
        rows_release(&in);
        if (st != GREBE_OK || count > 0) {
            return st;
        }
    }
}

static grebe_status stride_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct step_reader *s = (struct step_reader *)r;
    return load_kid(s, m, 0, s->node->rows - 1, err);
}

static const struct reader_ops stride_reader_ops = { stride_produce, step_save, stride_load, step_free };

static grebe_status stride_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    return step_reader_open(n, &stride_reader_ops, env, 0, out, err);
}

static const struct node_ops stride_ops = { .name = "step", .open = stride_open };

grebe_status step_new(struct node *kid, int64_t n, int64_t at, struct node **out, grebe_error *err)
{
    grebe_status st = node_new(kid->ctx, &stride_ops, &kid, 1, out, err);
    if (st == GREBE_OK) {
        (*out)->rows = n;
        (*out)->at = at;
    }
    return st;
}

/* ---- repeat. node: rows: times, negative: without end ---- */

static grebe_status repeat_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct step_reader *s = (struct step_reader *)r;
    int64_t times = s->node->rows;
    while (times < 0 || s->count < times) {
        grebe_status st = reader_next(s->kid, want, INT64_MAX, out, err);
        if (st != GREBE_END) {
            s->has_rows = s->has_rows || st == GREBE_OK;
            return st;
        }
        if (!s->has_rows) {
            return GREBE_END; /* a source without rows has none the next time either */
        }
        s->count++;
        s->has_rows = false;
        st = reader_load(s->kid, NULL, 0, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_END;
}

static grebe_status repeat_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct step_reader *s = (struct step_reader *)r;
    return load_kid(s, m, 0, s->node->rows < 0 ? INT64_MAX - 1 : s->node->rows, err);
}

static const struct reader_ops repeat_reader_ops = { repeat_produce, step_save, repeat_load, step_free };

static grebe_status repeat_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    return step_reader_open(n, &repeat_reader_ops, env, 0, out, err);
}

static const struct node_ops repeat_ops = { .name = "repeat", .open = repeat_open };

grebe_status repeat_new(struct node *kid, int64_t n, struct node **out, grebe_error *err)
{
    grebe_status st = node_new(kid->ctx, &repeat_ops, &kid, 1, out, err);
    if (st == GREBE_OK) {
        (*out)->rows = n;
    }
    return st;
}

/* ---- tables of another size. node: rows ---- */

/* Those that take units count rows themselves, so there is nothing to do. */
static grebe_status rebatch_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    return node_open(n->kids[0], env, out, err);
}

static const struct node_ops rebatch_ops = { .name = "tables", .open = rebatch_open };

grebe_status rebatch_new(struct node *kid, int64_t n, struct node **out, grebe_error *err)
{
    grebe_status st = node_new(kid->ctx, &rebatch_ops, &kid, 1, out, err);
    if (st == GREBE_OK) {
        (*out)->rows = n;
    }
    return st;
}

int64_t node_unit(const struct node *n, const struct reading *r)
{
    return r->are_tables && n->ops == &rebatch_ops ? n->rows : 1;
}
