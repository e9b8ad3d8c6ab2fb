/* SPDX-License-Identifier: Apache-2.0 */
/* Searching through the door: filters become bits of positions, positions become ids. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "index/index_api.h"

/* A filter as the kinds see it. `owned` are words made here. */
struct filter_bits {
    struct index_filter filter;
    uint64_t *owned;
    size_t n_words;
};

static grebe_status filter_of_ids(struct grebe_ann_index *x, const grebe_ann_index_search_options *o, struct filter_bits *out,
                                  grebe_error *err)
{
    pthread_mutex_lock(&x->lock); /* other threads may search: one of them makes the table, all read it */
    grebe_status st = index_ids_prepare(&x->ids, err);
    pthread_mutex_unlock(&x->lock);
    if (st != GREBE_OK) {
        return st;
    }
    out->n_words = (x->ids.n + 63) / 64 + 1;
    out->owned = mem_alloc_zero(x->ctx->a, out->n_words * sizeof *out->owned);
    if (out->owned == NULL) {
        return mem_fail(err, out->n_words * sizeof *out->owned, "filter of ids");
    }
    uint64_t n_set = 0;
    for (size_t i = 0; i < o->n_ids; i++) {
        uint32_t p = index_ids_find(&x->ids, o->ids[i]);
        if (p != UINT32_MAX) {
            n_set += ((out->owned[p / 64] >> (p % 64)) & 1) == 0;
            out->owned[p / 64] |= UINT64_C(1) << (p % 64);
        }
    }
    out->filter = (struct index_filter){ out->owned, x->ids.n, n_set };
    return GREBE_OK;
}

/* Bits of the caller cover fewer or more positions than there are rows: a copy has exactly these. */
static grebe_status filter_of_bits(struct grebe_ann_index *x, const grebe_ann_index_search_options *o, struct filter_bits *out,
                                   grebe_error *err)
{
    size_t n = x->ids.n, given = min_size((size_t)min_u64(o->allow_bits, SIZE_MAX), n);
    const uint64_t *words = o->allow;
    if (given < n) {
        out->n_words = (n + 63) / 64 + 1;
        out->owned = mem_alloc_zero(x->ctx->a, out->n_words * sizeof *out->owned);
        if (out->owned == NULL) {
            return mem_fail(err, out->n_words * sizeof *out->owned, "filter");
        }
        memcpy(out->owned, o->allow, (given + 63) / 64 * sizeof *words);
        if (given % 64 != 0) {
            out->owned[given / 64] &= (UINT64_C(1) << (given % 64)) - 1;
        }
        words = out->owned;
    }
    uint64_t n_set = 0;
    for (size_t i = 0; i < n / 64; i++) {
        n_set += (uint64_t)__builtin_popcountll(words[i]);
    }
    if (n % 64 != 0) {
        n_set += (uint64_t)__builtin_popcountll(words[n / 64] & ((UINT64_C(1) << (n % 64)) - 1));
    }
    out->filter = (struct index_filter){ words, n, n_set };
    return GREBE_OK;
}

static grebe_status take_options(struct grebe_ann_index *x, const grebe_ann_index_search_options *given, size_t k,
                                 struct index_search *out, struct filter_bits *bits, grebe_error *err)
{
    grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    grebe_status st = options_copy(&o, sizeof o, given, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (o.allow != NULL && o.ids != NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "filter: expected bits or ids, found both");
    }
    if (o.ids != NULL) {
        st = filter_of_ids(x, &o, bits, err);
    } else if (o.allow != NULL) {
        st = filter_of_bits(x, &o, bits, err);
    }
    *out = (struct index_search){ .k = k, .params = o.params, .n_params = o.n_params, .filter = bits->filter,
                                  .call = call_options_resolve(x->ctx, &o.call) };
    return st;
}

static void release_bits(struct grebe_ann_index *x, struct filter_bits *bits)
{
    mem_free(x->ctx->a, bits->owned, bits->n_words * sizeof *bits->owned);
}

static void positions_to_ids(const struct index_ids *t, const uint32_t *positions, size_t n, int64_t *ids)
{
    const int64_t *known = index_ids_array(t);
    for (size_t i = 0; i < n; i++) {
        ids[i] = positions[i] == UINT32_MAX ? -1 : known != NULL ? known[positions[i]] : (int64_t)positions[i];
    }
}

static void nothing_found(size_t n, int64_t *ids, float *distances)
{
    for (size_t i = 0; i < n; i++) {
        ids[i] = -1;
        distances[i] = INFINITY;
    }
}

grebe_status grebe_ann_index_search(grebe_ann_index *index, const grebe_vectors *queries, size_t k,
                                const grebe_ann_index_search_options *options, int64_t *ids, float *distances,
                                grebe_error *err)
{
    GREBE_CHECK_ARG(err, index != NULL && queries != NULL);
    struct index_input in = INDEX_INPUT_INIT(index->ctx->a);
    struct index_search s = { 0 };
    struct filter_bits bits = { 0 };
    uint32_t few[256], *positions = few; /* one query allocates nothing */
    size_t n = 0;
    grebe_status st = GREBE_OK;
    GREBE_TRY(index_input_take(index, queries, "query", &in, err));
    if (!checked_mul_size((size_t)queries->rows, k, &n) || n > SIZE_MAX / sizeof(int64_t)) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "results: %zu queries with %zu rows each do not fit in memory",
                        (size_t)queries->rows, k);
        goto out;
    }
    GREBE_TRY(take_options(index, options, k, &s, &bits, err));
    if (n == 0) {
        goto out;
    }
    if (ids == NULL || distances == NULL) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected ids and distances, found NULL", __func__);
        goto out;
    }
    if (index->ids.n == 0) {
        nothing_found(n, ids, distances);
        goto out;
    }
    if (n > sizeof few / sizeof *few) {
        positions = mem_alloc(index->ctx->a, n * sizeof *positions);
        if (positions == NULL) {
            st = mem_fail(err, n * sizeof *positions, "results");
            goto out;
        }
    }
    GREBE_TRY(index->ix->ops->search(index->ix, &in.rows, &s, positions, distances, err));
    positions_to_ids(&index->ids, positions, n, ids);
out:
    if (positions != few) {
        mem_free(index->ctx->a, positions, n * sizeof *positions);
    }
    release_bits(index, &bits);
    index_input_release(&in);
    return st;
}

/* ---- within a radius ---- */

struct range_owner {
    const grebe_allocator *a;
    struct index_ranges ranges;
    int64_t *ids;
    size_t n_ids;
};

void grebe_ann_index_range_free(grebe_ann_index_range *range)
{
    struct range_owner *owner = range->owner;
    if (owner != NULL) {
        const grebe_allocator *a = owner->a;
        index_ranges_release(&owner->ranges);
        mem_free(a, owner->ids, owner->n_ids * sizeof *owner->ids);
        mem_free(a, owner, sizeof *owner);
    }
    memset(range, 0, sizeof *range);
}

static grebe_status range_ids(struct grebe_ann_index *x, struct range_owner *owner, grebe_error *err)
{
    owner->n_ids = owner->ranges.total;
    owner->ids = mem_alloc(owner->a, owner->n_ids * sizeof *owner->ids);
    if (owner->ids == NULL) {
        return mem_fail(err, owner->n_ids * sizeof *owner->ids, "ids of a range");
    }
    for (size_t i = 0; i < owner->n_ids; i++) {
        owner->ids[i] = index_ids_at(&x->ids, owner->ranges.positions[i]);
    }
    return GREBE_OK;
}

grebe_status grebe_ann_index_range_search(grebe_ann_index *index, const grebe_vectors *queries, float radius,
                                      const grebe_ann_index_search_options *options, grebe_ann_index_range *out,
                                      grebe_error *err)
{
    GREBE_CHECK_ARG(err, index != NULL && queries != NULL && out != NULL);
    struct index_input in = INDEX_INPUT_INIT(index->ctx->a);
    struct index_search s = { 0 };
    struct filter_bits bits = { 0 };
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    if (index->ix->ops->range == NULL) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "index of kind %s: it has no search within a radius",
                          index->ix->ops->name);
    }
    if (isnan(radius)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "radius: expected a number, found NaN");
    }
    struct range_owner *owner = mem_alloc_zero(index->ctx->a, sizeof *owner);
    if (owner == NULL) {
        return mem_fail(err, sizeof *owner, "range");
    }
    owner->a = owner->ranges.a = index->ctx->a;
    out->owner = owner;
    GREBE_TRY(index_input_take(index, queries, "query", &in, err));
    GREBE_TRY(take_options(index, options, 0, &s, &bits, err));
    GREBE_TRY(index->ix->ops->range(index->ix, &in.rows, radius, &s, &owner->ranges, err));
    GREBE_TRY(range_ids(index, owner, err));
    out->queries = queries->rows;
    out->offsets = owner->ranges.offsets;
    out->ids = owner->ids;
    out->distances = owner->ranges.distances;
out:
    if (st != GREBE_OK) {
        grebe_ann_index_range_free(out);
    }
    release_bits(index, &bits);
    index_input_release(&in);
    return st;
}
