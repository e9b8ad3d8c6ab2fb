/* SPDX-License-Identifier: Apache-2.0 */
/* The node of everything that is done to rows batch by batch. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

/* node: held: struct batch_step; is_typed: rows come as tables where the child has them */

static struct batch_step *step_of(const struct node *n)
{
    return (struct batch_step *)n->held;
}

static bool apply_yields_tables(const struct node *n)
{
    return !step_of(n)->is_by_row && node_yields_tables(n->kids[0]);
}

static grebe_status apply_describe(const struct node *n, struct buf *dst, grebe_error *err)
{
    const struct batch_step *s = step_of(n);
    grebe_status st =
        buf_printf(dst, err, " %s %lld %d %d", s->name, (long long)s->batch_rows, s->is_last_dropped, s->is_by_row);
    return st != GREBE_OK || s->describe == NULL ? st : s->describe(s, dst, err);
}

struct apply_reader {
    struct reader base;
    struct node *node;
    struct reader *kid;
    struct rows_type *type; /* of the last rows that came out */
    int64_t first;          /* rows of the child so far */
};

/* Rows of one call. */
static grebe_status read_input(struct apply_reader *p, int64_t want, struct rows *in, grebe_error *err)
{
    const struct batch_step *s = step_of(p->node);
    grebe_status st = s->batch_rows == 0 ? reader_next(p->kid, want, READ_ROWS_MAX, in, err)
                                         : reader_read(p->kid, s->batch_rows, in, err);
    if (st == GREBE_OK && s->is_last_dropped && in->n < s->batch_rows) {
        rows_release(in);
        return GREBE_END;
    }
    return st;
}

static grebe_status apply_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct apply_reader *p = (struct apply_reader *)r;
    struct batch_step *s = step_of(p->node);
    for (;;) {
        struct rows in = { 0 };
        grebe_status st = read_input(p, want, &in, err);
        if (st == GREBE_OK) {
            st = s->run(s, r->env.ctx, &in, p->first, out, err);
            p->first += in.n;
            rows_release(&in);
        }
        if (st != GREBE_OK) {
            rows_release(out);
            return st;
        }
        if (out->n == 0) {
            rows_release(out);
            continue;
        }
        if (p->type != NULL && p->type != out->type && schema_equal(&p->type->schema, &out->type->schema, 0)) {
            rows_type_drop(out->type);
            out->type = rows_type_keep(p->type);
        } else if (p->type != out->type) {
            rows_type_drop(p->type);
            p->type = rows_type_keep(out->type);
        }
        return GREBE_OK;
    }
}

static grebe_status apply_save(struct reader *r, struct mark **out, grebe_error *err)
{
    struct apply_reader *p = (struct apply_reader *)r;
    struct mark_builder b = MARK_BUILDER_INIT(r->env.ctx->a);
    grebe_status st = GREBE_OK;
    GREBE_TRY(mark_put(&b, p->first, err));
    GREBE_TRY(place_put(&b, p->kid, err));
    st = mark_finish(&b, out, err);
out:
    mark_builder_release(&b);
    return st;
}

static grebe_status apply_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct apply_reader *p = (struct apply_reader *)r;
    if (m == NULL) {
        p->first = 0;
        return reader_load(p->kid, NULL, 0, err);
    }
    grebe_status st = mark_expect(m, 2, 1, err);
    if (st == GREBE_OK && (m->words[0] < 0 || m->words[0] > MARK_ROWS_MAX)) {
        st = mark_fail(err, "a number of rows out of range");
    }
    if (st == GREBE_OK) {
        p->first = m->words[0];
        st = place_get(p->kid, m, 0, 1, err);
    }
    return st;
}

static void apply_free(struct reader *r)
{
    struct apply_reader *p = (struct apply_reader *)r;
    rows_type_drop(p->type);
    reader_free(p->kid);
    node_drop(p->node);
    reader_dealloc(r, sizeof *p);
}

static const struct reader_ops apply_reader_ops = { apply_produce, apply_save, apply_load, apply_free };

static grebe_status apply_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    struct reading below = *env;
    below.are_tables = node_yields_tables(n->kids[0]) && (n->is_typed || env->are_tables);
    grebe_status st = reader_alloc(sizeof(struct apply_reader), &apply_reader_ops, env, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct apply_reader *p = (struct apply_reader *)*out;
    p->node = node_keep((struct node *)(uintptr_t)n);
    st = node_open(n->kids[0], &below, &p->kid, err);
    if (st != GREBE_OK) {
        reader_free(*out);
        *out = NULL;
    }
    return st;
}

static const struct node_ops apply_ops = {
    .name = "apply", .yields_tables = apply_yields_tables, .describe = apply_describe, .open = apply_open
};

grebe_status apply_new(struct node *kid, struct batch_step *self, bool is_typed, struct node **out, grebe_error *err)
{
    grebe_status st = node_new(kid->ctx, &apply_ops, &kid, 1, out, err);
    if (st != GREBE_OK) {
        held_drop(&self->held);
        return st;
    }
    (*out)->held = &self->held;
    (*out)->is_typed = is_typed;
    return GREBE_OK;
}
