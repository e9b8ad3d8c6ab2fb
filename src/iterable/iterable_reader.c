/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same for all readers: rows that wait, and places in them. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

void place_release(struct place *p)
{
    mark_drop(p->mark);
    *p = (struct place){ 0 };
}

grebe_status reader_alloc(size_t size, const struct reader_ops *ops, const struct reading *env, struct reader **out,
                          grebe_error *err)
{
    struct reader *r = mem_alloc_zero(env->ctx->a, size);
    if (r == NULL) {
        return mem_fail(err, size, "a reader");
    }
    r->ops = ops;
    r->env = *env;
    *out = r;
    return GREBE_OK;
}

void reader_free(struct reader *r)
{
    if (r != NULL) {
        r->ops->free(r);
    }
}

static void forget(struct reader *r)
{
    rows_release(&r->pending);
    mark_drop(r->before);
    r->before = NULL;
    r->given = 0;
}

void reader_dealloc(struct reader *r, size_t size)
{
    forget(r);
    mem_free(r->env.ctx->a, r, size);
}

/* Rows wait afterwards, or GREBE_END. */
static grebe_status fill(struct reader *r, int64_t want, grebe_error *err)
{
    while (r->given >= r->pending.n) {
        forget(r);
        grebe_status st = call_check(&r->env.call, err);
        if (st == GREBE_OK) {
            st = r->ops->save(r, &r->before, err);
        }
        if (st == GREBE_OK) {
            st = r->ops->produce(r, max_i64(want, 1), &r->pending, err);
        }
        if (st != GREBE_OK) {
            forget(r);
            return st;
        }
    }
    return GREBE_OK;
}

grebe_status reader_has_more(struct reader *r, int64_t want, bool *has, grebe_error *err)
{
    grebe_status st = fill(r, want, err);
    *has = st == GREBE_OK;
    return st == GREBE_END ? GREBE_OK : st;
}

grebe_status reader_next(struct reader *r, int64_t want, int64_t max, struct rows *out, grebe_error *err)
{
    grebe_status st = fill(r, want, err);
    if (st == GREBE_OK) {
        int64_t n = min_i64(max, r->pending.n - r->given);
        *out = rows_view(&r->pending, r->given, n);
        r->given += n;
    }
    return st;
}

grebe_status reader_read(struct reader *r, int64_t n, struct rows *out, grebe_error *err)
{
    const grebe_allocator *a = r->env.ctx->a;
    struct buf parts = BUF_INIT(a);
    int64_t got = 0;
    grebe_status st = GREBE_OK;
    while (n < 0 || got < n) {
        struct rows part = { 0 };
        int64_t left = n < 0 ? INT64_MAX : n - got;
        st = reader_next(r, min_i64(left, READ_ROWS_MAX), left, &part, err);
        if (st == GREBE_END) {
            st = got > 0 ? GREBE_OK : st;
            break;
        }
        GREBE_TRY(st);
        got += part.n;
        if (part.n == n) {
            rows_move(out, &part); /* all at once, and this is the first */
            goto out;
        }
        st = buf_put(&parts, &part, sizeof part, err);
        if (st != GREBE_OK) {
            rows_release(&part);
            goto out;
        }
    }
    GREBE_TRY(st);
    st = rows_join(a, (struct rows *)(void *)parts.data, parts.len / sizeof *out, out, err);
out:
    for (size_t i = 0; i < parts.len / sizeof *out; i++) {
        rows_release(&((struct rows *)(void *)parts.data)[i]);
    }
    buf_release(&parts);
    return st;
}

grebe_status reader_skip(struct reader *r, int64_t *n, grebe_error *err)
{
    while (*n > 0) {
        grebe_status st = GREBE_OK;
        if (r->skip != NULL && r->given >= r->pending.n) {
            forget(r);
            st = r->skip(r, n, err);
        }
        if (*n == 0 && st == GREBE_OK) {
            break;
        }
        st = st == GREBE_OK ? fill(r, min_i64(*n, READ_ROWS_MAX), err) : st;
        if (st != GREBE_OK) {
            return st == GREBE_END ? GREBE_OK : st;
        }
        int64_t step = min_i64(*n, r->pending.n - r->given);
        r->given += step;
        *n -= step;
    }
    return GREBE_OK;
}

/* ---- places ---- */

grebe_status reader_place(struct reader *r, struct place *out, grebe_error *err)
{
    *out = (struct place){ 0 };
    if (r->given < r->pending.n) {
        *out = (struct place){ mark_keep(r->before), r->given };
        return GREBE_OK;
    }
    return r->ops->save(r, &out->mark, err);
}

grebe_status reader_load(struct reader *r, const struct mark *mark, int64_t given, grebe_error *err)
{
    forget(r);
    if (given < 0 || given > MARK_ROWS_MAX) {
        return mark_fail(err, "a number of rows out of range");
    }
    grebe_status st = r->ops->load(r, mark, err);
    if (st == GREBE_OK) {
        st = reader_skip(r, &given, err);
    }
    if (st == GREBE_OK && given > 0) {
        st = mark_fail(err, "the source has fewer rows than were read");
    }
    return st;
}

grebe_status place_put(struct mark_builder *b, struct reader *kid, grebe_error *err)
{
    struct place p;
    grebe_status st = reader_place(kid, &p, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = mark_put(b, p.given, err);
    if (st != GREBE_OK) {
        place_release(&p);
        return st;
    }
    return mark_put_kid(b, p.mark, err);
}

grebe_status place_get(struct reader *kid, const struct mark *m, size_t i, size_t w, grebe_error *err)
{
    if (i >= m->n_kids || w >= m->n_words) {
        return mark_fail(err, "another number of words");
    }
    return reader_load(kid, m->kids[i], m->words[w], err);
}
