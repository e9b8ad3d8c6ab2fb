/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_items.h"

#include <string.h>

#include "graph/graph_random.h"
#include "graph/graph_rows.h"

int64_t graph_items_count(const struct graph_items *set)
{
    int64_t n = 0;
    for (size_t i = 0; i < set->n_parts; i++) {
        n += set->parts[i].n;
    }
    return n;
}

grebe_status graph_items_check(const struct graph_items *set, grebe_error *err)
{
    for (size_t i = 0; i < set->n_parts; i++) {
        const struct graph_item_part *part = &set->parts[i];
        if (part->columns == NULL && set->n_columns != 1) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "%zu names for a set of numbers, which has one column", set->n_columns);
        }
        for (size_t j = 0; part->columns != NULL && j < set->n_columns; j++) {
            const struct tensor *t = &part->columns[j];
            if (t->rank == 0 || t->shape[0] != (uint64_t)part->n) {
                return GREBE_FAIL(err, GREBE_ESCHEMA, "column %zu has %llu items, expected %lld", j,
                                  (unsigned long long)(t->rank == 0 ? 0 : t->shape[0]), (long long)part->n);
            }
        }
        if (set->n_parts > 1 && part->type == NULL) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "a set of several kinds of items, of which one has no type");
        }
    }
    return GREBE_OK;
}

grebe_status graph_item_batch_new(grebe_context *ctx, size_t n_parts, struct graph_item_batch *out, grebe_error *err)
{
    *out = (struct graph_item_batch){ mem_alloc_zero(ctx->a, (n_parts + 1) * sizeof *out->rows), n_parts };
    return out->rows == NULL ? mem_fail(err, n_parts * sizeof *out->rows, "a batch of items") : GREBE_OK;
}

void graph_item_batch_release(grebe_context *ctx, struct graph_item_batch *b)
{
    for (size_t i = 0; b->rows != NULL && i < b->n_parts; i++) {
        graph_array_release(ctx->a, &b->rows[i]);
    }
    mem_free(ctx->a, b->rows, (b->n_parts + 1) * sizeof *b->rows);
    *b = (struct graph_item_batch){ 0 };
}

/* ---- an epoch ---- */

static grebe_status check_share(const struct graph_share *s, grebe_error *err)
{
    if (s->batch_size < 1) {
        return GREBE_FAIL(err, GREBE_EINVAL, "batch size %lld: expected at least 1", (long long)s->batch_size);
    }
    if (s->n_replicas < 0 || s->rank < 0 || s->rank >= max_i64(s->n_replicas, 1)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "rank %lld of %lld processes", (long long)s->rank, (long long)s->n_replicas);
    }
    if (s->n_workers < 0 || s->worker < 0 || s->worker >= max_i64(s->n_workers, 1)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "worker %lld of %lld", (long long)s->worker, (long long)s->n_workers);
    }
    int64_t product;
    if (__builtin_mul_overflow(s->batch_size, max_i64(s->n_replicas, 1), &product) ||
        __builtin_mul_overflow(product, max_i64(s->n_workers, 1), &product)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "batch size %lld is too large", (long long)s->batch_size);
    }
    return GREBE_OK;
}

grebe_status graph_epoch_begin(grebe_context *ctx, const struct graph_items *set, struct graph_share share, bool is_shuffled,
                               uint64_t seed, struct graph_epoch *out, grebe_error *err)
{
    grebe_status st;
    *out = (struct graph_epoch){ .ctx = ctx, .set = set, .total = graph_items_count(set), .batch_size = share.batch_size,
                                 .is_shuffled = is_shuffled };
    GREBE_TRY(check_share(&share, err));
    share.total = out->total;
    out->range = graph_range_of(&share);
    out->n_batches = out->range.output / share.batch_size + (out->range.output % share.batch_size != 0);
    out->part_begins = mem_alloc_zero(ctx->a, (set->n_parts + 1) * sizeof *out->part_begins);
    if (out->part_begins == NULL) {
        st = mem_fail(err, (set->n_parts + 1) * sizeof *out->part_begins, "an epoch");
        goto out;
    }
    for (size_t i = 0; i < set->n_parts; i++) {
        out->part_begins[i + 1] = out->part_begins[i] + set->parts[i].n;
    }
    if (is_shuffled && out->total > 0) {
        bool is_wide = out->total > INT32_MAX;
        size_t size = (size_t)out->total * (is_wide ? sizeof(int64_t) : sizeof(int32_t));
        void *order = mem_alloc(ctx->a, size);
        if (order == NULL) {
            st = mem_fail(err, size, "the order of an epoch");
            goto out;
        }
        if (is_wide) {
            out->order_wide = order;
            graph_order_shuffled(seed, out->total, order);
        } else {
            out->order = order;
            graph_order_shuffled_32(seed, (int32_t)out->total, order);
        }
    }
out:
    if (st != GREBE_OK) {
        graph_epoch_end(out);
    }
    return st;
}

void graph_epoch_end(struct graph_epoch *e)
{
    if (e->ctx != NULL) {
        mem_free(e->ctx->a, e->order, (size_t)e->total * sizeof *e->order);
        mem_free(e->ctx->a, e->order_wide, (size_t)e->total * sizeof *e->order_wide);
        mem_free(e->ctx->a, e->part_begins, (e->set->n_parts + 1) * sizeof *e->part_begins);
    }
    *e = (struct graph_epoch){ 0 };
}

static inline int64_t item_at(const struct graph_epoch *e, int64_t i)
{
    return e->order != NULL ? e->order[i] : e->order_wide != NULL ? e->order_wide[i] : i;
}

grebe_status graph_epoch_batch(const struct graph_epoch *e, int64_t i, struct graph_item_batch *out, grebe_error *err)
{
    if (i < 0 || i >= e->n_batches) {
        return GREBE_FAIL(err, GREBE_EINVAL, "batch %lld of %lld", (long long)i, (long long)e->n_batches);
    }
    int64_t begin = e->range.begin + i * e->batch_size;
    int64_t end = min_i64(begin + e->batch_size, e->range.begin + e->range.output);
    for (size_t p = 0; p < e->set->n_parts; p++) {
        grebe_status st = graph_array_room(e->ctx->a, &out->rows[p], end - begin, err);
        if (st != GREBE_OK) {
            return st;
        }
        out->rows[p].n = 0;
    }
    if (e->set->n_parts == 1) {
        int64_t *rows = out->rows[0].v;
        for (int64_t j = begin; j < end; j++) {
            rows[j - begin] = item_at(e, j);
        }
        out->rows[0].n = end - begin;
        return GREBE_OK;
    }
    for (int64_t j = begin; j < end; j++) {
        int64_t item = item_at(e, j);
        size_t low = 0, high = e->set->n_parts; /* the last part that begins at or before the item; empty ones are passed over */
        while (low + 1 < high) {
            size_t middle = low + (high - low) / 2;
            if (e->part_begins[middle] <= item) {
                low = middle;
            } else {
                high = middle;
            }
        }
        out->rows[low].v[out->rows[low].n++] = item - e->part_begins[low];
    }
    return GREBE_OK;
}

/* ---- seeds ---- */

static size_t column_named(const struct graph_items *set, const char *name)
{
    for (size_t i = 0; i < set->n_columns; i++) {
        if (set->names[i] != NULL && strcmp(set->names[i], name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

struct graph_item_roles graph_items_roles(const struct graph_items *set)
{
    struct graph_item_roles r = { column_named(set, "seeds"), SIZE_MAX, SIZE_MAX, column_named(set, "labels"),
                                  column_named(set, "indexes"), column_named(set, "timestamp") };
    if (r.seeds == SIZE_MAX) {
        r.seeds = column_named(set, "seed_nodes");
    }
    if (r.seeds == SIZE_MAX) {
        r.seeds = column_named(set, "node_pairs");
        r.negative_sources = column_named(set, "negative_srcs");
        r.negative_targets = column_named(set, "negative_dsts");
    }
    return r;
}

void graph_seeds_release(grebe_context *ctx, struct graph_seeds *s)
{
    graph_array_release(ctx->a, &s->ids);
    *s = (struct graph_seeds){ 0 };
}

const char *graph_seed_type_of(const char *type, int64_t arity, int64_t i, size_t *len)
{
    int64_t n_parts = 1;
    for (const char *p = type; *p != '\0'; p++) {
        n_parts += *p == ':';
    }
    *len = strlen(type);
    if (arity == 1) {
        return type; /* with colons, too */
    }
    if (n_parts != arity && n_parts != 2 * arity - 1) {
        return NULL;
    }
    for (int64_t skip = n_parts == arity ? i : 2 * i; skip > 0; skip--) {
        type = strchr(type, ':') + 1;
    }
    *len = strcspn(type, ":");
    return type;
}

static int64_t integer_at(const unsigned char *at, int type)
{
    switch (type) {
    case ARRAY_I8:
        return (signed char)*at;
    case ARRAY_U8:
        return *at;
    case ARRAY_I16: {
        int16_t x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    case ARRAY_U16: {
        uint16_t x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    case ARRAY_I32: {
        int32_t x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    case ARRAY_U32: {
        uint32_t x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    default: {
        int64_t x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    }
}

/* Rows of a column of integers, widened in place from the end. */
grebe_status graph_items_integers(grebe_context *ctx, const struct tensor *t, const struct graph_array *rows, int64_t *dst,
                                  grebe_error *err)
{
    size_t bytes = tensor_type_bytes(t->type);
    int64_t n = rows->n * (int64_t)(graph_row_bytes(t) / bytes);
    if (t->type < ARRAY_I8 || t->type > ARRAY_U64) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "expected integers, found %s", tensor_type_name(t->type));
    }
    grebe_status st = graph_rows_gather(ctx, t, rows->v, rows->n, false, 1, dst, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (int64_t i = n; i-- > 0 && t->type != ARRAY_I64;) {
        dst[i] = integer_at((const unsigned char *)dst + (size_t)i * bytes, t->type);
        if (t->type == ARRAY_U64 && dst[i] < 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%llu is no node and no time", (unsigned long long)dst[i]);
        }
    }
    return GREBE_OK;
}

static grebe_status width_of(const struct tensor *t, int64_t *width, grebe_error *err)
{
    if (t->rank < 1 || t->rank > 2) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "seeds have one or two dimensions, not %u", t->rank);
    }
    *width = t->rank == 1 ? 1 : (int64_t)t->shape[1];
    return GREBE_OK;
}

/* Pairs of the old names: one end of each given, the other that of its positive. */
static grebe_status add_old_negatives(grebe_context *ctx, const struct graph_item_part *part, const struct graph_item_roles *roles,
                                      const struct graph_array *rows, struct graph_seeds *s, grebe_error *err)
{
    int64_t ratio = 0, widths[2] = { 0, 0 };
    size_t columns[2] = { roles->negative_sources, roles->negative_targets };
    struct graph_array given[2] = { { 0 }, { 0 } };
    grebe_status st = GREBE_OK;
    for (int end = 0; end < 2; end++) {
        if (columns[end] != SIZE_MAX) {
            GREBE_TRY(width_of(&part->columns[columns[end]], &widths[end], err));
            if (ratio != 0 && widths[end] != ratio) {
                st = GREBE_FAIL(err, GREBE_ESCHEMA, "negative_srcs have %lld values for each pair, negative_dsts %lld",
                                (long long)ratio, (long long)widths[end]);
                goto out;
            }
            ratio = widths[end];
            GREBE_TRY(graph_array_room(ctx->a, &given[end], rows->n * ratio, err));
            st = graph_items_integers(ctx, &part->columns[columns[end]], rows, given[end].v, err);
            GREBE_TRY(error_wrap(err, st, "%s", end == 0 ? "negative_srcs" : "negative_dsts"));
        }
    }
    if (s->arity != 2) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "negatives of seeds that are no pairs");
        goto out;
    }
    int64_t n = s->n_positives;
    GREBE_TRY(graph_array_room(ctx->a, &s->ids, 2 * n * (1 + ratio), err));
    for (int64_t i = 0; i < n * ratio; i++) {
        for (int end = 0; end < 2; end++) {
            s->ids.v[2 * (n + i) + end] = given[end].v != NULL ? given[end].v[i] : s->ids.v[2 * (i / ratio) + end];
        }
    }
    s->ratio = ratio;
    s->n = n * (1 + ratio);
    s->ids.n = 2 * s->n;
out:
    graph_array_release(ctx->a, &given[0]);
    graph_array_release(ctx->a, &given[1]);
    return st;
}

grebe_status graph_seeds_of(grebe_context *ctx, const struct graph_items *set, const struct graph_item_roles *roles, size_t part,
                            const struct graph_array *rows, struct graph_seeds *out, grebe_error *err)
{
    const struct graph_item_part *p = &set->parts[part];
    const struct tensor *t = p->columns == NULL || roles->seeds == SIZE_MAX ? NULL : &p->columns[roles->seeds];
    grebe_status st = GREBE_OK;
    if (roles->seeds == SIZE_MAX) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "an item set without a column \"seeds\" cannot be sampled");
    }
    out->arity = 1;
    if (t != NULL) {
        GREBE_TRY(width_of(t, &out->arity, err));
    }
    out->n = rows->n;
    out->n_positives = rows->n;
    out->ratio = 0;
    GREBE_TRY(graph_array_room(ctx->a, &out->ids, rows->n * out->arity, err));
    out->ids.n = rows->n * out->arity;
    if (t == NULL) {
        memcpy(out->ids.v, rows->v, (size_t)rows->n * sizeof(int64_t));
    } else {
        GREBE_TRY(error_wrap(err, graph_items_integers(ctx, t, rows, out->ids.v, err), "seeds"));
    }
    if (t != NULL && (roles->negative_sources != SIZE_MAX || roles->negative_targets != SIZE_MAX)) {
        GREBE_TRY(add_old_negatives(ctx, p, roles, rows, out, err));
    }
out:
    return st;
}

/* ---- negatives ---- */

void graph_negatives(const int64_t *pairs, int64_t n, int64_t ratio, int64_t n_targets, uint64_t key, int64_t *out)
{
    if (n > 0) {
        memcpy(out, pairs, (size_t)n * 2 * sizeof *out);
    }
    int64_t *to = out + 2 * n;
    uint64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t source = pairs[2 * i];
        for (int64_t j = 0; j < ratio; j++, at++, to += 2) {
            to[0] = source;
            to[1] = (int64_t)graph_below(graph_draw(key, at), (uint64_t)n_targets);
        }
    }
}

void graph_negative_labels(int64_t n, int64_t ratio, float *labels, int64_t *indexes)
{
    for (int64_t i = 0; i < n * (1 + ratio); i++) {
        if (labels != NULL) {
            labels[i] = i < n ? 1.0f : 0.0f;
        }
        if (indexes != NULL) {
            indexes[i] = i < n ? i : (i - n) / ratio;
        }
    }
}
