/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_verify.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

bool load_is_verified(const struct load_plan *p)
{
    return p->info != NULL && p->info->has_splits && p->info->n_splits > 0 && !p->options.skip_verification;
}

static const struct load_split_info *recorded(const struct load_info *info, const char *name)
{
    for (size_t i = 0; i < info->n_splits; i++) {
        if (strcmp(info->splits[i].name, name) == 0) {
            return &info->splits[i];
        }
    }
    return NULL;
}

grebe_status load_verify_names(const struct load_plan *p, grebe_error *err)
{
    if (!load_is_verified(p)) {
        return GREBE_OK;
    }
    for (size_t i = 0; i < p->info->n_splits; i++) {
        size_t k = 0;
        while (k < p->files.n && strcmp(p->files.splits[k].split, p->info->splits[i].name) != 0) {
            k++;
        }
        if (k == p->files.n) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "split \"%s\" is recorded, but has no files", p->info->splits[i].name);
        }
    }
    for (size_t k = 0; k < p->files.n; k++) {
        if (recorded(p->info, p->files.splits[k].split) == NULL) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "split \"%s\" is not among the recorded ones", p->files.splits[k].split);
        }
    }
    return GREBE_OK;
}

static grebe_status verify_rows(const struct load_plan *p, const char *split, int64_t n_rows, grebe_error *err)
{
    const struct load_split_info *r = recorded(p->info, split);
    if (r != NULL && r->n_rows >= 0 && r->n_rows != n_rows) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "split \"%s\": recorded with %" PRId64 " rows, found %" PRId64, split, r->n_rows,
                          n_rows);
    }
    return GREBE_OK;
}

grebe_status load_verify(const struct load_plan *p, const struct prepared_split *splits, size_t n, grebe_error *err)
{
    grebe_status st = load_verify_names(p, err);
    for (size_t i = 0; st == GREBE_OK && load_is_verified(p) && i < n; i++) {
        st = verify_rows(p, splits[i].name, splits[i].n_rows, err);
    }
    return st;
}

/* ---- streams ---- */

struct verified {
    struct builder b;
    struct builder *inner;
    const struct load_plan *p;
    pthread_mutex_t lock; /* of rows */
    int64_t **rows;       /* of each file of each split; -1: not yet read to its end; in the plan's arena */
};

struct counted {
    struct verified *v;
    struct shard_reader inner;
    size_t split, file;
    bool is_whole;
};

static grebe_status count_rows(struct counted *c, int64_t n, grebe_error *err)
{
    struct verified *v = c->v;
    const struct load_split_files *split = &v->p->files.splits[c->split];
    int64_t sum = 0;
    bool is_known = true;
    pthread_mutex_lock(&v->lock);
    v->rows[c->split][c->file] = n;
    for (size_t i = 0; i < split->files.n; i++) {
        int64_t rows = v->rows[c->split][i];
        is_known = is_known && rows >= 0;
        sum += rows;
    }
    pthread_mutex_unlock(&v->lock);
    return is_known ? verify_rows(v->p, split->split, sum, err) : GREBE_OK;
}

static grebe_status counted_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct counted *c = self;
    grebe_status st = c->inner.ops->next(c->inner.self, schema, out, err);
    if (st == GREBE_END && c->is_whole) {
        grebe_status verified = count_rows(c, c->inner.ops->next_row(c->inner.self), err);
        st = verified == GREBE_OK ? st : verified;
    }
    return st;
}

static struct shard_place counted_place(void *self)
{
    struct counted *c = self;
    return c->inner.ops->place(c->inner.self);
}

static int64_t counted_row(void *self)
{
    struct counted *c = self;
    return c->inner.ops->next_row(c->inner.self);
}

static void counted_free(void *self)
{
    struct counted *c = self;
    shard_reader_free(&c->inner);
    mem_free(c->v->b.ctx->a, c, sizeof *c);
}

static const struct shard_reader_ops counted_ops = { counted_next, counted_place, counted_row, counted_free, NULL };

static grebe_status verified_read(struct builder *b, size_t split, size_t file, int64_t part, struct shard_place place,
                                  struct shard_reader *out, grebe_error *err)
{
    struct verified *v = (struct verified *)b;
    struct counted *c = mem_alloc_zero(b->ctx->a, sizeof *c);
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "a reader");
    }
    *c = (struct counted){ .v = v, .split = split, .file = file, .is_whole = part < 0 };
    grebe_status st = v->inner->ops->read(v->inner, split, file, part, place, &c->inner, err);
    if (st != GREBE_OK) {
        mem_free(b->ctx->a, c, sizeof *c);
        return st;
    }
    *out = (struct shard_reader){ &counted_ops, c };
    return GREBE_OK;
}

static grebe_status verified_parts(struct builder *b, size_t split, size_t file, int64_t *n, grebe_error *err)
{
    struct verified *v = (struct verified *)b;
    return v->inner->ops->parts_of_file(v->inner, split, file, n, err);
}

static void verified_free(struct builder *b)
{
    struct verified *v = (struct verified *)b;
    builder_free(v->inner);
    pthread_mutex_destroy(&v->lock);
    mem_free(b->ctx->a, v, sizeof *v);
}

static const struct builder_ops verified_ops = { NULL, verified_parts, verified_read, verified_free, NULL };

static grebe_status make_counters(const struct load_plan *p, struct arena *ar, int64_t ***out, grebe_error *err)
{
    *out = arena_array(ar, p->files.n, sizeof **out);
    for (size_t i = 0; *out != NULL && i < p->files.n; i++) {
        size_t n = p->files.splits[i].files.n;
        int64_t *rows = arena_array(ar, n, sizeof *rows);
        (*out)[i] = rows;
        for (size_t k = 0; rows != NULL && k < n; k++) {
            rows[k] = -1;
        }
        *out = rows != NULL ? *out : NULL;
    }
    return *out != NULL ? GREBE_OK : mem_fail(err, p->files.n * sizeof **out, "numbers of rows");
}

grebe_status load_verified_builder(struct load_plan *p, struct builder *inner, struct builder **out, grebe_error *err)
{
    struct verified *v = mem_alloc_zero(p->ctx->a, sizeof *v);
    *out = NULL;
    if (v == NULL || pthread_mutex_init(&v->lock, NULL) != 0) {
        mem_free(p->ctx->a, v, v != NULL ? sizeof *v : 0);
        builder_free(inner);
        return mem_fail(err, sizeof *v, "a loader");
    }
    v->b = (struct builder){ &verified_ops, inner->kind, inner->ctx, inner->features };
    v->inner = inner;
    v->p = p;
    grebe_status st = make_counters(p, &p->arena, &v->rows, err);
    if (st != GREBE_OK) {
        verified_free(&v->b);
        return st;
    }
    *out = &v->b;
    return GREBE_OK;
}
