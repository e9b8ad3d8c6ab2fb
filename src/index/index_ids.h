/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_IDS_H
#define GREBE_INDEX_INDEX_IDS_H

/*
 * Callers' ids and positions. While every id is its position nothing is stored. A table from id to position is made
 * when it is first asked for (removing, filters by id, adding more rows).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index/index_bits.h"

struct index_ids {
    const grebe_allocator *a;
    int64_t *ids;        /* shape [n]; NULL: every id is its position */
    const int64_t *mapped; /* of a mapped file; NULL: none */
    size_t n, capacity;
    uint32_t *slots;     /* positions + 1 by hash; 0: empty; NULL: not made */
    size_t n_slots;
    const struct index_bits *removed; /* of the index, borrowed; NULL: nothing is */
};

void index_ids_init(struct index_ids *t, const grebe_allocator *a);
void index_ids_release(struct index_ids *t); /* idempotent */
/** Borrowed ids of n rows from a mapped file. */
void index_ids_map(struct index_ids *t, const int64_t *ids, size_t n);
/** @param ids NULL: the positions. GREBE_EEXISTS names the id; then nothing was added. */
grebe_status index_ids_add(struct index_ids *t, const int64_t *ids, size_t n, grebe_error *err);
/** Take back the last rows down to n. */
void index_ids_cut(struct index_ids *t, size_t n);
/**
 * Make the table from ids to positions, if it is not there: index_ids_find() needs it. The caller locks where several
 * threads search. GREBE_ECORRUPT: an id comes twice.
 */
grebe_status index_ids_prepare(struct index_ids *t, grebe_error *err);
bool index_ids_is_removed(const struct index_ids *t, uint32_t position);
/** Position of an id; UINT32_MAX: not there, or removed. */
uint32_t index_ids_find(const struct index_ids *t, int64_t id);

static inline int64_t index_ids_at(const struct index_ids *t, uint32_t position)
{
    return t->mapped != NULL ? t->mapped[position] : t->ids != NULL ? t->ids[position] : (int64_t)position;
}

/** The array, or NULL when every id is its position. */
static inline const int64_t *index_ids_array(const struct index_ids *t)
{
    return t->mapped != NULL ? t->mapped : t->ids;
}

#endif
