/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_IVF_LISTS_H
#define GREBE_INDEX_IVF_LISTS_H

/* Codes of all rows, list by list, each list in whole blocks one behind the other. */

#include "index/index_bits.h"
#include "index/index_store.h"
#include "index/ivf_codes.h"

struct ivf_lists {
    const grebe_allocator *a;
    uint32_t n_lists;
    uint32_t *sizes;           /* rows of each list; shape [n_lists] */
    size_t *begin;             /* first block of each list; shape [n_lists + 1] */
    const uint32_t *positions; /* of the rows of a block; shape [blocks][IVF_BLOCK], UINT32_MAX: none */
    const float *bias;         /* the same shape */
    const uint8_t *codes;      /* shape [blocks][block_bytes] */
    void *owned;               /* these three; NULL: of a mapped file */
    size_t owned_bytes, block_bytes;
};

grebe_status ivf_lists_init(struct ivf_lists *l, const grebe_allocator *a, uint32_t n_lists, size_t block_bytes,
                            grebe_error *err);
void ivf_lists_release(struct ivf_lists *l); /* idempotent */

/**
 * Append the rows [first, first + n) of the store, in their order, to the ends of their lists. All arrays are laid out
 * anew; on failure nothing changes.
 *
 * @param lists Of these rows, shape [n].
 */
grebe_status ivf_lists_append(struct ivf_lists *l, grebe_context *ctx, const struct ivf_codes *codes,
                              const float *centroids, const struct index_store *store, uint64_t first,
                              const uint32_t *lists, size_t n, const struct call *call, grebe_error *err);

grebe_status ivf_lists_save(const struct ivf_lists *l, struct index_writer *w, grebe_error *err);
/** @param n Rows in all. */
grebe_status ivf_lists_load(struct ivf_lists *l, const struct index_file *f, uint64_t n, grebe_error *err);

static inline size_t ivf_lists_blocks(const struct ivf_lists *l) { return l->begin == NULL ? 0 : l->begin[l->n_lists]; }

#endif
