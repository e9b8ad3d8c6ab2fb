/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/topk.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/cpu.h"
#include "vector/topk_internal.h"

/*
 * Items are ordered as one 64-bit number: the distance's bits made ascending, then the id. While something is selected
 * or sorted the array holds these keys in place of the items (both have 8 bytes).
 */

_Static_assert(sizeof(struct topk_item) == sizeof(uint64_t), "an item and its key take the same room");

enum {
    INSERTION_MAX = 24,
    SORTED_MAX = 32 /* up to this k the items are kept in order: each one that enters lowers the limit at once */
};

static uint64_t key_of(struct topk_item item)
{
    const float d = item.distance + 0.0f; /* -0 is 0 */
    uint32_t bits;

    memcpy(&bits, &d, sizeof bits);
    if (isnan(d)) {
        bits = UINT32_MAX;
    } else {
        bits ^= bits >> 31 != 0 ? UINT32_MAX : (uint32_t)1 << 31;
    }
    return (uint64_t)bits << 32 | item.id;
}

static struct topk_item item_of(uint64_t key)
{
    struct topk_item item = {NAN, (uint32_t)key};
    uint32_t bits = (uint32_t)(key >> 32);

    if (bits != UINT32_MAX) {
        bits ^= bits >> 31 != 0 ? (uint32_t)1 << 31 : UINT32_MAX;
        memcpy(&item.distance, &bits, sizeof bits);
    }
    return item;
}

static void to_keys(struct topk_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = key_of(items[i]);

        memcpy(items + i, &key, sizeof key);
    }
}

static void to_items(struct topk_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t key;

        memcpy(&key, items + i, sizeof key);
        items[i] = item_of(key);
    }
}

static uint64_t key_at(const struct topk_item *keys, size_t i)
{
    uint64_t key;

    memcpy(&key, keys + i, sizeof key);
    return key;
}

static void key_put(struct topk_item *keys, size_t i, uint64_t key) { memcpy(keys + i, &key, sizeof key); }

static void sort_insertion(struct topk_item *keys, size_t begin, size_t end)
{
    for (size_t i = begin + 1; i < end; i++) {
        const uint64_t key = key_at(keys, i);
        size_t j = i;

        for (; j > begin && key_at(keys, j - 1) > key; j--) {
            key_put(keys, j, key_at(keys, j - 1));
        }
        key_put(keys, j, key);
    }
}

/* Hoare's partition; [begin, *left) <= pivot <= [*right, end), what lies between equals the pivot. */
static void split(struct topk_item *keys, size_t begin, size_t end, uint64_t *random, size_t *left, size_t *right)
{
    size_t i = begin, j = end - 1;
    uint64_t pivot;

    /* a fixed sequence: no order of arrival that is known beforehand makes all splits bad */
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    pivot = key_at(keys, begin + (size_t)(*random >> 33) % (end - begin));
    while (i <= j) {
        while (key_at(keys, i) < pivot) {
            i++;
        }
        while (key_at(keys, j) > pivot) {
            j--;
        }
        if (i <= j) {
            const uint64_t t = key_at(keys, i);

            key_put(keys, i, key_at(keys, j));
            key_put(keys, j, t);
            i++;
            if (j == begin) {
                *left = begin;
                *right = i;
                return;
            }
            j--;
        }
    }
    *left = j + 1;
    *right = i;
}

/* The k smallest of n keys come first, in any order. */
static void select_keys(struct topk_item *keys, size_t n, size_t k)
{
    size_t begin = 0, end = n;
    uint64_t random = n;

    while (end - begin > INSERTION_MAX) {
        size_t left, right;

        split(keys, begin, end, &random, &left, &right);
        if (k <= left) {
            end = left;
        } else if (k >= right) {
            begin = right;
        } else {
            return;
        }
    }
    sort_insertion(keys, begin, end);
}

static void sort_keys(struct topk_item *keys, size_t n)
{
    size_t stack[2 * 64]; /* the larger part waits: at most log2(n) of them */
    size_t depth = 0, begin = 0, end = n;
    uint64_t random = n;

    for (;;) {
        while (end - begin > INSERTION_MAX) {
            size_t left, right;

            split(keys, begin, end, &random, &left, &right);
            if (left - begin > end - right) {
                stack[depth++] = begin;
                stack[depth++] = left;
                begin = right;
            } else {
                stack[depth++] = right;
                stack[depth++] = end;
                end = left;
            }
        }
        sort_insertion(keys, begin, end);
        if (depth == 0) {
            return;
        }
        end = stack[--depth];
        begin = stack[--depth];
    }
}

size_t topk_capacity(size_t k) { return 2 * k + 64; }

void topk_init(struct topk *t, size_t k, struct topk_item *items, size_t capacity)
{
    assert(capacity >= k);
    *t = (struct topk){.items = items, .n = 0, .k = k, .capacity = capacity, .limit = k == 0 ? -INFINITY : INFINITY};
}

static void shrink(struct topk *t)
{
    uint64_t worst = 0;

    if (t->n <= t->k) {
        return;
    }
    to_keys(t->items, t->n);
    select_keys(t->items, t->n, t->k);
    t->n = t->k;
    for (size_t i = 0; i < t->n; i++) {
        worst = key_at(t->items, i) > worst ? key_at(t->items, i) : worst;
    }
    to_items(t->items, t->n);
    t->limit = item_of(worst).distance;
    if (isnan(t->limit)) {
        t->limit = INFINITY; /* NaNs still compete by id */
    }
}

static bool is_before(struct topk_item a, struct topk_item b)
{
    if (isnan(a.distance) || isnan(b.distance)) {
        return isnan(b.distance) && (!isnan(a.distance) || a.id < b.id);
    }
    return a.distance < b.distance || (a.distance == b.distance && a.id < b.id);
}

static void push_sorted(struct topk *t, struct topk_item item)
{
    size_t i = t->n;

    if (t->n == t->k) {
        if (t->k == 0 || !is_before(item, t->items[t->k - 1])) {
            return;
        }
        i--;
    } else {
        t->n++;
    }
    /* NaNs stand last: behind the first comparison that fails there is none */
    for (; i > 0 && isnan(t->items[i - 1].distance) && is_before(item, t->items[i - 1]); i--) {
        t->items[i] = t->items[i - 1];
    }
    for (; i > 0 && t->items[i - 1].distance > item.distance; i--) {
        t->items[i] = t->items[i - 1];
    }
    for (; i > 0 && t->items[i - 1].distance == item.distance && t->items[i - 1].id > item.id; i--) {
        t->items[i] = t->items[i - 1];
    }
    t->items[i] = item;
    if (t->n == t->k) {
        const float last = t->items[t->k - 1].distance;

        t->limit = isnan(last) ? INFINITY : last; /* NaNs still compete by id */
    }
}

/* There is room for exactly k: the new one takes the place of the farthest. */
static void replace_worst(struct topk *t, struct topk_item item)
{
    size_t worst = 0;

    for (size_t i = 1; i < t->n; i++) {
        worst = is_before(t->items[worst], t->items[i]) ? i : worst;
    }
    if (is_before(item, t->items[worst])) {
        t->items[worst] = item;
    }
    for (size_t i = 0; i < t->n; i++) {
        worst = is_before(t->items[worst], t->items[i]) ? i : worst;
    }
    t->limit = isnan(t->items[worst].distance) ? INFINITY : t->items[worst].distance;
}

static void push(struct topk *t, float distance, uint32_t id)
{
    if (t->k <= SORTED_MAX) {
        push_sorted(t, (struct topk_item){distance, id});
        return;
    }
    if (t->n == t->capacity) {
        shrink(t);
        if (distance > t->limit) {
            return;
        }
        if (t->n == t->capacity) {
            replace_worst(t, (struct topk_item){distance, id});
            return;
        }
    }
    t->items[t->n++] = (struct topk_item){distance, id};
}

void topk_push(struct topk *t, float distance, uint32_t id)
{
    if (distance <= t->limit || t->limit == INFINITY) {
        push(t, distance, id);
    }
}

static size_t next_scalar(const float *distances, size_t at, size_t n, float limit)
{
    if (limit == INFINITY) {
        return at;
    }
    while (at < n && !(distances[at] <= limit)) {
        at++;
    }
    return at;
}

void topk_push_many(struct topk *t, const float *distances, size_t n, uint32_t first)
{
    topk_next_fn next = cpu_simd_level() >= CPU_AVX2 ? topk_next_avx2() : NULL;

    if (next == NULL) {
        next = next_scalar;
    }
    for (size_t i = next(distances, 0, n, t->limit); i < n; i = next(distances, i + 1, n, t->limit)) {
        push(t, distances[i], first + (uint32_t)i);
    }
}

/* Whoever replaced the items may have left them in another order. */
static bool is_sorted(const struct topk *t)
{
    for (size_t i = 1; i < t->n; i++) {
        if (!is_before(t->items[i - 1], t->items[i])) {
            return false;
        }
    }
    return true;
}

size_t topk_select(struct topk *t)
{
    shrink(t);
    return t->n;
}

size_t topk_finish(struct topk *t)
{
    shrink(t);
    if (t->k > SORTED_MAX || !is_sorted(t)) {
        to_keys(t->items, t->n);
        sort_keys(t->items, t->n);
        to_items(t->items, t->n);
    }
    return t->n;
}
