/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_topk.h"

#include <assert.h>
#include <stdlib.h>

#include "base/checked.h"

/* So many hits more than the limit are kept before the worst are dropped: dropping costs O(1) for each that came. */
enum { SLACK_MIN = 32 };

/* Ties may be more than the limit: dropping comes again when there are twice as many as were kept. */
static size_t prune_point(size_t kept)
{
    return kept > SIZE_MAX / 4 ? SIZE_MAX : kept + max_size(kept, SLACK_MIN);
}

void vdb_topk_init(struct vdb_topk *t, const grebe_allocator *a, size_t limit, _Atomic uint64_t *floor)
{
    *t = (struct vdb_topk){ .a = a, .limit = limit, .floor = floor };
    t->prune_at = prune_point(limit);
}

static void swap_hits(struct vdb_hit *a, struct vdb_hit *b)
{
    const struct vdb_hit kept = *a;
    *a = *b;
    *b = kept;
}

/* Key of the rank-th best (from 0); items are reordered. Three ways, so that many equal keys cost nothing. */
static uint64_t select_key(struct vdb_hit *items, size_t n, size_t rank)
{
    size_t begin = 0, end = n;

    assert(rank < n);
    for (;;) {
        const uint64_t pivot = vdb_score_key(items[begin + (end - begin) / 2].score);
        size_t above = begin, below = end, i = begin; /* [begin, above) > pivot, [above, i) equal, [below, end) < */
        while (i < below) {
            const uint64_t key = vdb_score_key(items[i].score);
            if (key > pivot) {
                swap_hits(items + above++, items + i++);
            } else if (key < pivot) {
                swap_hits(items + i, items + --below);
            } else {
                i++;
            }
        }
        if (rank < above) {
            end = above;
        } else if (rank >= below) {
            begin = below;
        } else {
            return pivot;
        }
    }
}

static void raise_floor(_Atomic uint64_t *floor, uint64_t key)
{
    uint64_t seen = atomic_load_explicit(floor, memory_order_relaxed);

    while (seen < key &&
           !atomic_compare_exchange_weak_explicit(floor, &seen, key, memory_order_relaxed, memory_order_relaxed)) {
    }
}

void vdb_topk_prune(struct vdb_topk *t)
{
    size_t kept = 0;

    if (t->limit > 0 && t->n >= t->limit) {
        raise_floor(t->floor, select_key(t->items, t->n, t->limit - 1));
    }
    const uint64_t floor = atomic_load_explicit(t->floor, memory_order_relaxed);
    for (size_t i = 0; i < t->n; i++) {
        if (vdb_score_key(t->items[i].score) >= floor) {
            t->items[kept++] = t->items[i];
        }
    }
    t->n = kept;
    t->prune_at = prune_point(max_size(kept, t->limit));
}

static grebe_status grow(struct vdb_topk *t, grebe_error *err)
{
    const size_t capacity = max_size(64, t->capacity * 2);

    if (capacity > SIZE_MAX / sizeof *t->items) {
        return mem_fail(err, SIZE_MAX, "hits");
    }
    struct vdb_hit *items = mem_resize(t->a, t->items, t->capacity * sizeof *items, capacity * sizeof *items);
    if (items == NULL) {
        return mem_fail(err, capacity * sizeof *items, "hits");
    }
    t->items = items;
    t->capacity = capacity;
    return GREBE_OK;
}

grebe_status vdb_topk_put(struct vdb_topk *t, const struct vdb_hit *hit, grebe_error *err)
{
    if (t->limit == 0 || vdb_score_key(hit->score) < atomic_load_explicit(t->floor, memory_order_relaxed)) {
        return GREBE_OK;
    }
    if (t->n >= t->prune_at) {
        vdb_topk_prune(t);
    }
    if (t->n == t->capacity) {
        grebe_status st = grow(t, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    t->items[t->n++] = *hit;
    return GREBE_OK;
}

grebe_status vdb_topk_merge(struct vdb_topk *t, const struct vdb_topk *from, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    for (size_t i = 0; st == GREBE_OK && i < from->n; i++) {
        st = vdb_topk_put(t, from->items + i, err);
    }
    return st;
}

void vdb_topk_release(struct vdb_topk *t)
{
    mem_free(t->a, t->items, t->capacity * sizeof *t->items);
    t->items = NULL;
    t->n = t->capacity = 0;
}

struct load {
    struct vdb_snapshot *s;
    uint32_t parts;
    uint32_t shards[VDB_SHARDS];
};

static grebe_status load_one(void *arg, size_t i, grebe_error *err)
{
    const struct load *l = arg;
    return vdb_snapshot_load(l->s, l->shards[i], l->parts, err);
}

grebe_status vdb_load_shards(struct vdb_snapshot *s, const struct vdb_work *work, uint64_t shards, uint32_t parts,
                             grebe_error *err)
{
    struct load l = { .s = s, .parts = parts };
    size_t n = 0;

    for (uint32_t shard = 0; shard < VDB_SHARDS; shard++) {
        if ((shards >> shard & 1) != 0) {
            l.shards[n++] = shard;
        }
    }
    return n == 0 ? GREBE_OK : parallel_for(work->pool, work->threads, n, load_one, &l, work->cancel, err);
}

/* What the last sort compares. */
struct ranked {
    uint64_t key;
    const struct vdb_rows *ids;
    struct vdb_hit hit;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->key != y->key) {
        return x->key > y->key ? -1 : 1;
    }
    const struct vdb_id x_id = vdb_rows_id(x->ids, x->hit.at.row);
    const struct vdb_id y_id = vdb_rows_id(y->ids, y->hit.at.row);
    return vdb_id_compare(&x_id, &y_id);
}

/* Puts the first n_first into the front, in any order (Hoare's selection): where all scores tie there may be many more. */
static void select_first(struct ranked *items, size_t n, size_t n_first)
{
    size_t begin = 0, end = n;

    while (begin < n_first && n_first < end && end - begin > 1) {
        /* not the last one, so that both sides of the split hold something */
        const struct ranked pivot = items[begin + (end - begin - 1) / 2];
        size_t left = begin, right = end - 1;
        for (;;) {
            while (compare_ranked(&items[left], &pivot) < 0) {
                left++;
            }
            while (compare_ranked(&pivot, &items[right]) < 0) {
                right--;
            }
            if (left >= right) {
                break;
            }
            const struct ranked kept = items[left];
            items[left++] = items[right];
            items[right--] = kept;
        }
        if (n_first <= right) {
            end = right + 1;
        } else {
            begin = right + 1;
        }
    }
}

/* Order the hits that are left, cut, and hand them over. */
static grebe_status rank(const struct vdb_topk *t, const struct vdb_snapshot *s, struct vdb_hit **hits, size_t *n,
                         grebe_error *err)
{
    struct ranked *ranked = mem_alloc(t->a, t->n * sizeof *ranked);
    struct vdb_hit *out = NULL;
    const size_t n_out = min_size(t->n, t->limit);
    grebe_status st = GREBE_OK;

    if (ranked == NULL) {
        return mem_fail(err, t->n * sizeof *ranked, "hits");
    }
    for (size_t i = 0; i < t->n; i++) {
        const struct vdb_hit *hit = t->items + i;
        ranked[i] = (struct ranked){ vdb_score_key(hit->score), &s->shards[hit->at.shard].ids, *hit };
    }
    select_first(ranked, t->n, n_out);
    qsort(ranked, n_out, sizeof *ranked, compare_ranked);
    out = mem_alloc(s->a, n_out * sizeof *out);
    if (out == NULL) {
        st = mem_fail(err, n_out * sizeof *out, "hits");
        goto out;
    }
    for (size_t i = 0; i < n_out; i++) {
        out[i] = ranked[i].hit;
    }
    *hits = out;
    *n = n_out;
out:
    mem_free(t->a, ranked, t->n * sizeof *ranked);
    return st;
}

grebe_status vdb_topk_finish(struct vdb_topk *t, struct vdb_snapshot *s, const struct vdb_work *work,
                             struct vdb_hit **hits, size_t *n, grebe_error *err)
{
    uint64_t shards = 0;

    *hits = NULL;
    *n = 0;
    if (t->limit == 0 || t->n == 0) {
        return GREBE_OK;
    }
    vdb_topk_prune(t);
    for (size_t i = 0; i < t->n; i++) {
        shards |= UINT64_C(1) << t->items[i].at.shard;
    }
    grebe_status st = vdb_load_shards(s, work, shards, VDB_PART_IDS, err);
    return st == GREBE_OK ? rank(t, s, hits, n, err) : st;
}
