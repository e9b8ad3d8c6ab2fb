/* SPDX-License-Identifier: Apache-2.0 */
/* The public object: sources shuffled, cut and joined. What is done to rows: iterable_apply.c; reading:
 * iterable_iterator.c. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"

grebe_status iterable_new(grebe_context *ctx, const grebe_iterable *like, struct node *root, struct features *features,
                          bool is_typed, grebe_iterable **out, grebe_error *err)
{
    struct buf json = BUF_INIT(ctx->a);
    grebe_iterable *it = mem_alloc_zero(ctx->a, sizeof *it);
    grebe_status st = GREBE_OK;
    if (it == NULL) {
        st = mem_fail(err, sizeof *it, "a stream");
        goto out;
    }
    if (features != NULL) {
        GREBE_TRY(features_to_json(features, -1, 0, &json, err));
        it->features_json = str_copy_len(ctx->a, (const char *)json.data, json.len);
        if (it->features_json == NULL) {
            st = mem_fail(err, json.len, "features");
            goto out;
        }
    }
    if (like != NULL) {
        it->rank = like->rank;
        it->world = like->world;
        it->how = like->how;
        it->worker = like->worker;
        it->n_workers = like->n_workers;
        it->is_formatted = like->is_formatted;
    }
    atomic_init(&it->refs, 1);
    it->ctx = ctx;
    it->root = root;
    it->features = features;
    it->is_typed = is_typed;
    *out = it;
out:
    buf_release(&json);
    if (st != GREBE_OK) {
        if (it != NULL) {
            str_free(ctx->a, it->features_json);
        }
        mem_free(ctx->a, it, sizeof *it);
        node_drop(root);
        features_free(features);
        *out = NULL;
    }
    return st;
}

grebe_iterable *grebe_iterable_keep(const grebe_iterable *it)
{
    grebe_iterable *shared = (grebe_iterable *)(uintptr_t)it; /* only the count changes */
    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void grebe_iterable_free(grebe_iterable *it)
{
    if (it == NULL || atomic_fetch_sub_explicit(&it->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    node_drop(it->root);
    features_free(it->features);
    str_free(it->ctx->a, it->features_json);
    mem_free(it->ctx->a, it, sizeof *it);
}

int64_t grebe_iterable_num_shards(const grebe_iterable *it)
{
    int64_t n = node_n_shards(it->root);
    if (it->world > 0 && (it->how == GREBE_NODE_SHARDS || (it->how == GREBE_NODE_AUTO && n % it->world == 0))) {
        n = shard_run_of(n, it->world, it->rank, false).count;
    }
    return it->n_workers > 0 ? shard_run_of(n, it->n_workers, it->worker, false).count : n;
}
int64_t grebe_iterable_epoch(const grebe_iterable *it)
{
    return it->epoch;
}
const char *grebe_iterable_features(const grebe_iterable *it)
{
    return it->features_json;
}

/* A copy of the features; NULL stays NULL. */
static grebe_status same_features(const grebe_iterable *it, struct features **out, grebe_error *err)
{
    *out = NULL;
    return it->features == NULL
               ? GREBE_OK
               : features_from_json(it->ctx->a, it->features_json, strlen(it->features_json), out, err);
}

/* Another tree over the same columns. root: moved in, also on failure. */
static grebe_status same_columns(const grebe_iterable *it, grebe_status st, struct node *root, grebe_iterable **out,
                                 grebe_error *err)
{
    struct features *features = NULL;
    *out = NULL;
    if (st == GREBE_OK) {
        st = same_features(it, &features, err);
    }
    if (st != GREBE_OK) {
        node_drop(root);
        return st;
    }
    return iterable_new(it->ctx, it, root, features, it->is_typed, out, err);
}

/* ---- shuffle ---- */

grebe_status iterable_seed(grebe_context *ctx, grebe_seed seed, struct pcg64 *out, grebe_error *err)
{
    uint32_t drawn[4];
    if (seed.n == 0) {
        grebe_status st = context_random(ctx, drawn, sizeof drawn, err);
        if (st != GREBE_OK) {
            return st;
        }
        seed = (grebe_seed){ drawn, 4 };
    }
    return pcg64_seed(ctx->a, seed.words, seed.n, out, err);
}

grebe_status grebe_iterable_shuffle(const grebe_iterable *it, const grebe_iterable_shuffle_options *options,
                                    grebe_iterable **out, grebe_error *err)
{
    grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    struct pcg64 g;
    struct node *root = node_keep(it->root), *next = NULL;
    grebe_status st = GREBE_OK;
    *out = NULL;
    GREBE_TRY(options_copy(&o, sizeof o, options, err));
    int64_t n = o.buffer_rows != 0 ? o.buffer_rows : 1000, groups = o.max_input_shards != 0 ? o.max_input_shards : 10;
    if (n < 1 || groups < 1) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "a shuffle needs a buffer of 1 row or more, and 1 shard or more in it");
        goto out;
    }
    GREBE_TRY(iterable_seed(it->ctx, o.seed, &g, err));
    if (node_is_shufflable(root)) {
        GREBE_TRY(node_shuffle(root, &g, &next, err));
        node_drop(root);
        root = next;
    } else {
        groups = 1; /* shards below a take keep their order */
    }
    if (node_yields_tables(root)) {
        GREBE_TRY(rebatch_new(root, max_i64(1, n / groups), &next, err));
        node_drop(root);
        root = next;
    }
    if (groups > 1) {
        GREBE_TRY(groups_new(root, groups, &next, err));
        node_drop(root);
        root = next;
    }
    next = NULL;
    st = buffer_new(root, n, &g, &next, err);
    st = same_columns(it, st, next, out, err);
out:
    node_drop(root);
    return st;
}

/* ---- fewer, more, other shards ---- */

grebe_status grebe_iterable_skip(const grebe_iterable *it, int64_t n, grebe_iterable **out, grebe_error *err)
{
    struct node *root = NULL;
    grebe_status st = limit_new(it->root, n, false, it->world == 0, &root, err);
    return same_columns(it, st, root, out, err);
}

grebe_status grebe_iterable_take(const grebe_iterable *it, int64_t n, grebe_iterable **out, grebe_error *err)
{
    struct node *root = NULL;
    grebe_status st = limit_new(it->root, n, true, it->world == 0, &root, err);
    return same_columns(it, st, root, out, err);
}

grebe_status grebe_iterable_repeat(const grebe_iterable *it, int64_t n, grebe_iterable **out, grebe_error *err)
{
    struct node *root = NULL;
    grebe_status st = repeat_new(it->root, n, &root, err);
    return same_columns(it, st, root, out, err);
}

static grebe_status check_part(const char *what, int64_t i, int64_t n, grebe_error *err)
{
    return n >= 1 && i >= 0 && i < n
               ? GREBE_OK
               : GREBE_FAIL(err, GREBE_EINVAL, "%s %lld of %lld is not there", what, (long long)i, (long long)n);
}

grebe_status grebe_iterable_shard(const grebe_iterable *it, int64_t n, int64_t index, bool is_contiguous,
                                  grebe_iterable **out, grebe_error *err)
{
    struct node *root = NULL;
    grebe_status st = check_part("shard", index, n, err);
    if (st == GREBE_OK) {
        st = node_part(it->root, n, index, is_contiguous, &root, err);
    }
    return same_columns(it, st, root, out, err);
}

grebe_status grebe_iterable_reshard(const grebe_iterable *it, grebe_iterable **out, grebe_error *err)
{
    struct node *root = NULL;
    grebe_status st = node_reshard(it->root, &root, err);
    return same_columns(it, st, root, out, err);
}

/* The same stream for somebody else. */
static grebe_status same_stream(const grebe_iterable *it, grebe_iterable **out, grebe_error *err)
{
    return same_columns(it, GREBE_OK, node_keep(it->root), out, err);
}

grebe_status grebe_iterable_split_by_node(const grebe_iterable *it, int64_t rank, int64_t world, grebe_node_split how,
                                          grebe_iterable **out, grebe_error *err)
{
    *out = NULL;
    grebe_status st = check_part("node", rank, world, err);
    int64_t all = world;
    if (st == GREBE_OK && it->world > 0 && !checked_mul_i64(world, it->world, &all)) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "too many nodes");
    }
    if (st == GREBE_OK && how == GREBE_NODE_SHARDS && node_n_shards(it->root) < all) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%lld shards cannot be split among %lld nodes",
                        (long long)node_n_shards(it->root), (long long)all);
    }
    if (st == GREBE_OK) {
        st = same_stream(it, out, err);
    }
    if (st == GREBE_OK) {
        (*out)->rank = it->world > 0 ? world * it->rank + rank : rank;
        (*out)->world = all;
        (*out)->how = how;
    }
    return st;
}

grebe_status grebe_iterable_for_worker(const grebe_iterable *it, int64_t id, int64_t n, grebe_iterable **out,
                                       grebe_error *err)
{
    *out = NULL;
    grebe_status st = check_part("worker", id, n, err);
    if (st == GREBE_OK) {
        st = same_stream(it, out, err);
    }
    if (st == GREBE_OK) {
        (*out)->epoch = it->epoch;
        (*out)->worker = id;
        (*out)->n_workers = n;
    }
    return st;
}

grebe_status grebe_iterable_set_epoch(const grebe_iterable *it, int64_t epoch, grebe_iterable **out, grebe_error *err)
{
    *out = NULL;
    if (epoch < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "epoch %lld is negative", (long long)epoch);
    }
    grebe_status st = same_stream(it, out, err);
    if (st == GREBE_OK) {
        (*out)->epoch = epoch;
    }
    return st;
}

grebe_status grebe_iterable_with_formatted(const grebe_iterable *it, bool is_formatted, grebe_iterable **out,
                                           grebe_error *err)
{
    grebe_status st = same_stream(it, out, err);
    if (st == GREBE_OK) {
        (*out)->is_formatted = is_formatted;
    }
    return st;
}

grebe_status grebe_iterable_prefetch(const grebe_iterable *it, int32_t batches, grebe_iterable **out, grebe_error *err)
{
    struct node *root = NULL;
    *out = NULL;
    if (batches < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%d batches cannot be read ahead", batches);
    }
    grebe_status st =
        batches == 0 ? (root = node_keep(it->root), GREBE_OK) : prefetch_new(it->root, batches, &root, err);
    return same_columns(it, st, root, out, err);
}

/* ---- one pass ---- */

grebe_status iterable_pass(const grebe_iterable *it, struct node **out, bool *are_tables, grebe_error *err)
{
    struct node *root = node_keep(it->root), *next = NULL;
    grebe_status st = GREBE_OK;
    if (it->epoch > 0) {
        if (node_is_shufflable(root)) {
            struct pcg64 g;
            pcg64_seed_u64((uint64_t)it->epoch, &g);
            GREBE_TRY(node_shuffle(root, &g, &next, err));
            node_drop(root);
            root = next;
        }
        GREBE_TRY(node_shift(root, it->epoch, &next, err));
        node_drop(root);
        root = next;
    }
    if (it->world > 0) {
        int64_t n = node_n_shards(root);
        if (it->how == GREBE_NODE_SHARDS && n < it->world) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "%lld shards cannot be split among %lld nodes", (long long)n,
                            (long long)it->world);
            goto out;
        }
        bool by_shards = it->how == GREBE_NODE_SHARDS || (it->how == GREBE_NODE_AUTO && n % it->world == 0);
        GREBE_TRY(by_shards ? node_part(root, it->world, it->rank, false, &next, err)
                            : step_new(root, it->world, it->rank, &next, err));
        node_drop(root);
        root = next;
    }
    if (it->n_workers > 0) {
        GREBE_TRY(node_part(root, it->n_workers, it->worker, false, &next, err));
        node_drop(root);
        root = next;
        GREBE_TRY(node_shift(root, it->worker, &next, err));
        node_drop(root);
        root = next;
    }
    *are_tables = node_yields_tables(root) && iterable_is_typed(it);
    *out = root;
    root = NULL;
out:
    node_drop(root);
    return st;
}

grebe_status iterable_resolve(const grebe_iterable *it, struct features **out, grebe_error *err)
{
    if (it->features != NULL) {
        return same_features(it, out, err);
    }
    const grebe_allocator *a = it->ctx->a;
    grebe_iterator *iter = NULL;
    struct ArrowArray rows = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_status st = GREBE_OK;
    *out = NULL;
    GREBE_TRY(grebe_iterator_new(it, NULL, NULL, &iter, err));
    GREBE_TRY(grebe_iterator_next(iter, 0, &rows, &schema, err));
    if (rows.release == NULL) {
        st = features_from_json(a, "{}", 2, out, err);
    } else {
        st = features_from_schema(a, &schema, true, out, err);
    }
out:
    array_release(&rows);
    schema_release(&schema);
    grebe_iterator_free(iter);
    return st;
}
