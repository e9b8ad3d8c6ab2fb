/* SPDX-License-Identifier: Apache-2.0 */
/* Several streams as one: one after the other, side by side, in turn or as drawn. */
#include "iterable/iterable_internal.h"

#include <string.h>

/* Features of both: GREBE_ESCHEMA where they differ in more than that one knows no type. */
static grebe_status meet_features(const grebe_allocator *a, struct features **all, const struct features *more,
                                  grebe_error *err)
{
    struct features *joined = NULL;
    struct buf names = BUF_INIT(a);
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < more->top.n_fields; i++) {
        const struct feature *x = &more->top.fields[i], *known = features_find(*all, x->name);
        bool is_null = x->kind == FEATURE_VALUE && strcmp(x->dtype, "null") == 0;
        bool was_null = known != NULL && known->kind == FEATURE_VALUE && strcmp(known->dtype, "null") == 0;
        if (known != NULL && !is_null && !was_null && !feature_equal(x, known)) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%s\" has two types", x->name);
            goto out;
        }
        if (known == NULL || !is_null) {
            GREBE_TRY(buf_put(&names, &x->name, sizeof x->name, err));
        }
    }
    struct features *some = NULL;
    GREBE_TRY(features_project(a, more, (const char *const *)(const void *)names.data, NULL, names.len / sizeof(char *),
                               &some, err));
    st = features_merge(a, *all, some, &joined, err);
    features_free(some);
    GREBE_TRY(st);
    features_free(*all);
    *all = joined;
out:
    buf_release(&names);
    return st;
}

/* Nodes of the streams, cast to features that they share. kids: shape [n], written. */
static grebe_status unite(const grebe_iterable *const *its, size_t n, int32_t axis, struct node **kids,
                          struct features **all, grebe_error *err)
{
    const grebe_allocator *a = its[0]->ctx->a;
    struct features *one = NULL;
    grebe_status st = features_from_json(a, "{}", 2, all, err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = iterable_resolve(its[i], &one, err);
        for (size_t k = 0; st == GREBE_OK && axis == 1 && k < one->top.n_fields; k++) {
            if (features_find(*all, one->top.fields[k].name) != NULL) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "two streams side by side have a column \"%s\"",
                                one->top.fields[k].name);
            }
        }
        if (st == GREBE_OK) {
            st = meet_features(a, all, one, err);
        }
        features_free(one);
        one = NULL;
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        bool is_same = axis == 1 || (its[i]->features != NULL && feature_equal(&its[i]->features->top, &(*all)->top));
        if (is_same) {
            kids[i] = node_keep(its[i]->root);
        } else {
            st = cast_new(its[i]->root, *all, iterable_is_typed(its[i]), &kids[i], err);
        }
    }
    return st;
}

static grebe_status check_streams(const grebe_iterable *const *its, size_t n, grebe_error *err)
{
    if (n == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "no streams to join");
    }
    for (size_t i = 1; i < n; i++) {
        if (its[i]->world != its[0]->world || its[i]->rank != its[0]->rank || its[i]->n_workers != its[0]->n_workers) {
            return GREBE_FAIL(err, GREBE_EINVAL, "stream %zu is split among other nodes than the first", i);
        }
    }
    return GREBE_OK;
}

struct joining {
    int32_t axis; /* 0, 1; 2: interleave */
    const double *probabilities;
    const struct pcg64 *g;
    grebe_stop stop;
};

static grebe_status join_streams(const grebe_iterable *const *its, size_t n, const struct joining *j,
                                 grebe_iterable **out, grebe_error *err)
{
    *out = NULL;
    grebe_status st = check_streams(its, n, err);
    if (st != GREBE_OK) {
        return st;
    }
    grebe_context *ctx = its[0]->ctx;
    struct node **kids = mem_alloc_zero(ctx->a, n * sizeof *kids), *root = NULL;
    struct features *features = NULL;
    if (kids == NULL) {
        return mem_fail(err, n * sizeof *kids, "streams");
    }
    GREBE_TRY(unite(its, n, j->axis, kids, &features, err));
    if (j->axis == 2) {
        GREBE_TRY(cycle_new(ctx, kids, n, j->probabilities, j->g, j->stop, &root, err));
    } else {
        GREBE_TRY(j->axis == 0 ? chain_new(ctx, kids, n, &root, err) : beside_new(ctx, kids, n, &root, err));
    }
    st = iterable_new(ctx, its[0], root, features, true, out, err);
    features = NULL;
out:
    features_free(features);
    for (size_t i = 0; i < n; i++) {
        node_drop(kids[i]);
    }
    mem_free(ctx->a, kids, n * sizeof *kids);
    return st;
}

grebe_status grebe_iterable_concatenate(const grebe_iterable *const *its, size_t n, int32_t axis, grebe_iterable **out,
                                        grebe_error *err)
{
    if (axis != 0 && axis != 1) {
        *out = NULL;
        return GREBE_FAIL(err, GREBE_EINVAL, "axis %d: expected 0 or 1", axis);
    }
    return join_streams(its, n, &(struct joining){ axis, NULL, NULL, GREBE_STOP_FIRST_EXHAUSTED }, out, err);
}

grebe_status grebe_iterable_interleave(const grebe_iterable *const *its, size_t n, const double *probabilities,
                                       grebe_seed seed, grebe_stop stop, grebe_iterable **out, grebe_error *err)
{
    struct pcg64 g = { 0 };
    grebe_status st = check_streams(its, n, err);
    *out = NULL;
    if (st == GREBE_OK && probabilities != NULL) {
        st = iterable_seed(its[0]->ctx, seed, &g, err);
    }
    return st != GREBE_OK ? st : join_streams(its, n, &(struct joining){ 2, probabilities, &g, stop }, out, err);
}
