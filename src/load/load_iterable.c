/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/dataset_load.h"

#include <stdatomic.h>
#include <string.h>

#include "iterable/iterable_internal.h"
#include "load/load_plan.h"
#include "load/load_split.h"
#include "load/load_verify.h"

struct grebe_iterable_dict {
    grebe_context *ctx;
    char **names;
    grebe_iterable **its;
    size_t n, capacity;
};

/** What the streams of one call read with; the last of them frees it. */
struct stream_owner {
    atomic_uint refs;
    struct load_plan *plan;
    struct builder *builder;
};

static void owner_drop(void *arg)
{
    struct stream_owner *o = arg;
    if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1) {
        const grebe_allocator *a = o->plan->ctx->a;
        builder_free(o->builder);
        load_plan_free(o->plan);
        mem_free(a, o, sizeof *o);
    }
}

/* ---- the dict ---- */

size_t grebe_iterable_dict_len(const grebe_iterable_dict *dict) { return dict->n; }
const char *grebe_iterable_dict_name(const grebe_iterable_dict *dict, size_t i) { return dict->names[i]; }
const grebe_iterable *grebe_iterable_dict_get(const grebe_iterable_dict *dict, size_t i) { return dict->its[i]; }

void grebe_iterable_dict_free(grebe_iterable_dict *dict)
{
    if (dict == NULL) {
        return;
    }
    const grebe_allocator *a = dict->ctx->a;
    for (size_t i = 0; i < dict->n; i++) {
        str_free(a, dict->names[i]);
        grebe_iterable_free(dict->its[i]);
    }
    mem_free(a, dict->names, dict->capacity * sizeof *dict->names);
    mem_free(a, dict->its, dict->capacity * sizeof *dict->its);
    mem_free(a, dict, sizeof *dict);
}

static grebe_status dict_new(grebe_context *ctx, size_t capacity, grebe_iterable_dict **out, grebe_error *err)
{
    grebe_iterable_dict *d = mem_alloc_zero(ctx->a, sizeof *d);
    *out = d;
    if (d == NULL) {
        return mem_fail(err, sizeof *d, "streams");
    }
    d->ctx = ctx;
    d->capacity = capacity;
    d->names = mem_alloc_zero(ctx->a, capacity * sizeof *d->names);
    d->its = mem_alloc_zero(ctx->a, capacity * sizeof *d->its);
    if (d->names == NULL || d->its == NULL) {
        grebe_iterable_dict_free(d);
        *out = NULL;
        return mem_fail(err, capacity * sizeof *d->its, "streams");
    }
    return GREBE_OK;
}

/* it: moved in, also on failure. */
static grebe_status dict_put(grebe_iterable_dict *d, const char *name, grebe_iterable *it, grebe_error *err)
{
    char *copy = str_copy(d->ctx->a, name);
    if (copy == NULL) {
        grebe_iterable_free(it);
        return mem_fail(err, strlen(name), "streams");
    }
    d->names[d->n] = copy;
    d->its[d->n++] = it;
    return GREBE_OK;
}

/* ---- streams ---- */

static grebe_status stream_of_split(struct stream_owner *o, size_t split, grebe_iterable **out, grebe_error *err)
{
    struct iterable_files files = { .builder = o->builder,
                                    .split = split,
                                    .n_files = o->plan->files.splits[split].files.n,
                                    .are_features_given = o->plan->features != NULL,
                                    .free = owner_drop,
                                    .arg = o };
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return iterable_of_files(&files, out, err);
}

static grebe_status find_split(const struct load_plan *p, const struct split_term *t, size_t *out, grebe_error *err)
{
    if (t->is_sliced || t->has_rounding) {
        return GREBE_FAIL(err, GREBE_EINVAL, "split \"%s\": of streams only whole splits are read", p->options.split);
    }
    struct split_size *sizes = mem_alloc(p->ctx->a, (p->files.n + 1) * sizeof *sizes);
    struct split_range r = { 0, 0, 0 };
    if (sizes == NULL) {
        return mem_fail(err, p->files.n * sizeof *sizes, "splits");
    }
    for (size_t i = 0; i < p->files.n; i++) {
        sizes[i] = (struct split_size){ p->files.splits[i].split, 0 };
    }
    grebe_status st = split_resolve(t, sizes, p->files.n, &r, err);
    mem_free(p->ctx->a, sizes, (p->files.n + 1) * sizeof *sizes);
    *out = r.split;
    return st;
}

/* "train+test", "all": one stream after another. */
static grebe_status stream_of_spec(struct stream_owner *o, const struct split_spec *spec, grebe_iterable **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct load_plan *p = o->plan;
    size_t n = spec->is_all ? p->files.n : spec->n, n_made = 0;
    grebe_iterable **parts = arena_array(&p->arena, n, sizeof *parts);
    *out = NULL;
    if (parts == NULL) {
        return mem_fail(err, n * sizeof *parts, "streams");
    }
    for (; n_made < n; n_made++) {
        size_t split = n_made;
        if (!spec->is_all) {
            GREBE_TRY(find_split(p, &spec->terms[n_made], &split, err));
        }
        GREBE_TRY(stream_of_split(o, split, &parts[n_made], err));
    }
    if (n == 1) {
        *out = parts[0];
        n_made = 0;
    } else {
        st = grebe_iterable_concatenate((const grebe_iterable *const *)parts, n, 0, out, err);
    }
out:
    for (size_t i = 0; i < n_made; i++) {
        grebe_iterable_free(parts[i]);
    }
    return st;
}

static grebe_status fill_dict(struct stream_owner *o, grebe_iterable_dict *d, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct load_plan *p = o->plan;
    grebe_iterable *it = NULL;
    for (size_t i = 0; p->options.split == NULL && i < p->files.n; i++) {
        GREBE_TRY(stream_of_split(o, i, &it, err));
        GREBE_TRY(dict_put(d, p->files.splits[i].split, it, err));
    }
    if (p->options.split != NULL) {
        struct split_spec spec;
        GREBE_TRY(split_parse(&p->arena, p->options.split, &spec, err));
        GREBE_TRY(stream_of_spec(o, &spec, &it, err));
        st = dict_put(d, p->options.split, it, err);
    }
out:
    return st;
}

grebe_status grebe_iterable_load(grebe_context *ctx, const char *path, const grebe_load_options *options,
                                 grebe_iterable_dict **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct load_plan *p = NULL;
    struct stream_owner *o = NULL;
    grebe_iterable_dict *d = NULL;
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && out != NULL);
    *out = NULL;
    GREBE_TRY(load_plan_new(ctx, path, options, &p, err));
    if (p->options.n_jobs > 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "n_jobs: a stream is read where it is used");
        goto out;
    }
    o = mem_alloc_zero(ctx->a, sizeof *o);
    if (o == NULL) {
        st = mem_fail(err, sizeof *o, "streams");
        goto out;
    }
    atomic_init(&o->refs, 1);
    o->plan = p;
    p = NULL;
    GREBE_TRY(load_plan_builder(o->plan, NULL, &o->builder, err));
    if (o->plan->kind->knows_features) {
        GREBE_TRY(builder_infer(o->builder, err));
    }
    if (load_is_verified(o->plan)) {
        struct builder *inner = o->builder;
        GREBE_TRY(load_verify_names(o->plan, err));
        o->builder = NULL;
        GREBE_TRY(load_verified_builder(o->plan, inner, &o->builder, err));
    }
    GREBE_TRY(dict_new(ctx, o->plan->files.n + 1, &d, err));
    GREBE_TRY(fill_dict(o, d, err));
    *out = d;
    d = NULL;
out:
    grebe_iterable_dict_free(d);
    if (o != NULL) {
        owner_drop(o);
    }
    load_plan_free(p);
    return st;
}
