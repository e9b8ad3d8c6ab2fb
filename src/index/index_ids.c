/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_ids.h"

#include <inttypes.h>
#include <string.h>

#include "base/rng.h"

void index_ids_init(struct index_ids *t, const grebe_allocator *a)
{
    *t = (struct index_ids){ .a = a };
}

static void drop_slots(struct index_ids *t)
{
    mem_free(t->a, t->slots, t->n_slots * sizeof *t->slots);
    t->slots = NULL;
    t->n_slots = 0;
}

void index_ids_release(struct index_ids *t)
{
    drop_slots(t);
    mem_free(t->a, t->ids, t->capacity * sizeof *t->ids);
    *t = (struct index_ids){ .a = t->a };
}

void index_ids_map(struct index_ids *t, const int64_t *ids, size_t n)
{
    t->mapped = ids;
    t->n = n;
}

static size_t slot_of(int64_t id, size_t n_slots)
{
    return (size_t)rng_mix((uint64_t)id) & (n_slots - 1); /* neighbours are spread over the table */
}

static bool insert(struct index_ids *t, int64_t id, uint32_t position)
{
    size_t i = slot_of(id, t->n_slots);
    for (; t->slots[i] != 0; i = (i + 1) & (t->n_slots - 1)) {
        uint32_t other = t->slots[i] - 1;
        if (index_ids_at(t, other) == id && !index_ids_is_removed(t, other)) {
            return index_ids_is_removed(t, position); /* a removed row gives way to one that is there */
        }
        if (index_ids_at(t, other) == id) {
            break;
        }
    }
    t->slots[i] = position + 1;
    return true;
}

/* A table for n ids that is at most half full, with the ids [0, t->n) in it. */
static grebe_status make_slots(struct index_ids *t, size_t n, grebe_error *err)
{
    size_t want = 16;
    while (want < 2 * n) {
        want *= 2;
    }
    drop_slots(t);
    t->slots = mem_alloc_zero(t->a, want * sizeof *t->slots);
    if (t->slots == NULL) {
        return mem_fail(err, want * sizeof *t->slots, "table of ids");
    }
    t->n_slots = want;
    for (size_t i = 0; i < t->n; i++) {
        if (!insert(t, index_ids_at(t, (uint32_t)i), (uint32_t)i)) {
            int64_t id = index_ids_at(t, (uint32_t)i);
            drop_slots(t);
            return GREBE_FAIL(err, GREBE_ECORRUPT, "ids[%zu]: expected an id that comes once, found %" PRId64 " again", i,
                              id);
        }
    }
    return GREBE_OK;
}

grebe_status index_ids_prepare(struct index_ids *t, grebe_error *err)
{
    return index_ids_array(t) == NULL || t->slots != NULL ? GREBE_OK : make_slots(t, t->n, err);
}

/* Own memory for n ids, with those that are there already in it. */
static grebe_status reserve(struct index_ids *t, size_t n, grebe_error *err)
{
    if (t->ids != NULL && n <= t->capacity) {
        return GREBE_OK;
    }
    size_t capacity = t->capacity + t->capacity / 2;
    capacity = capacity < n ? n : capacity;
    int64_t *ids = mem_resize(t->a, t->ids, t->capacity * sizeof *ids, capacity * sizeof *ids);
    if (ids == NULL) {
        return mem_fail(err, capacity * sizeof *ids, "ids");
    }
    if (t->ids == NULL) {
        for (size_t i = 0; i < t->n; i++) {
            ids[i] = index_ids_at(t, (uint32_t)i);
        }
    }
    t->ids = ids;
    t->capacity = capacity;
    t->mapped = NULL;
    return GREBE_OK;
}

grebe_status index_ids_add(struct index_ids *t, const int64_t *ids, size_t n, grebe_error *err)
{
    size_t before = t->n;
    if (ids == NULL && index_ids_array(t) == NULL) {
        t->n += n;
        return GREBE_OK;
    }
    grebe_status st = reserve(t, before + n, err);
    if (st == GREBE_OK && (t->slots == NULL || t->n_slots < 2 * (before + n))) {
        st = make_slots(t, before + n, err);
    }
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        int64_t id = ids != NULL ? ids[i] : (int64_t)(before + i);
        t->ids[t->n] = id;
        if (!insert(t, id, (uint32_t)t->n)) {
            index_ids_cut(t, before);
            return GREBE_FAIL(err, GREBE_EEXISTS, "ids[%zu]: expected an id that is not there yet, found %" PRId64, i, id);
        }
        t->n++;
    }
    return st;
}

void index_ids_cut(struct index_ids *t, size_t n)
{
    if (n < t->n) {
        t->n = n;
        drop_slots(t);
    }
}

bool index_ids_is_removed(const struct index_ids *t, uint32_t position)
{
    return t->removed != NULL && index_bits_has(t->removed, position);
}

uint32_t index_ids_find(const struct index_ids *t, int64_t id)
{
    if (t->slots == NULL) {
        bool is_there = id >= 0 && (uint64_t)id < t->n && !index_ids_is_removed(t, (uint32_t)id);
        return is_there ? (uint32_t)id : UINT32_MAX;
    }
    for (size_t i = slot_of(id, t->n_slots); t->slots[i] != 0; i = (i + 1) & (t->n_slots - 1)) {
        if (index_ids_at(t, t->slots[i] - 1) == id) {
            return index_ids_is_removed(t, t->slots[i] - 1) ? UINT32_MAX : t->slots[i] - 1;
        }
    }
    return UINT32_MAX;
}
