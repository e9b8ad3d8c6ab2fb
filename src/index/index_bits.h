/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_BITS_H
#define GREBE_INDEX_INDEX_BITS_H

/* Which rows of an index were removed: a bit for each position, made when the first one is. */

#include "index/index.h"

struct index_bits {
    const grebe_allocator *a;
    uint64_t *words; /* NULL: no bit is set */
    size_t n_words;
    uint64_t n_set;
};

void index_bits_release(struct index_bits *b); /* idempotent */
/** Set the bit of a position. */
grebe_status index_bits_set(struct index_bits *b, uint32_t position, grebe_error *err);
grebe_status index_bits_save(const struct index_bits *b, const char *tag, struct index_writer *w, grebe_error *err);
/** No section of this name: no bit is set. GREBE_ECORRUPT: bits at or above n. */
grebe_status index_bits_load(struct index_bits *b, const char *tag, const struct index_file *f, uint64_t n,
                             grebe_error *err);

static inline bool index_bits_has(const struct index_bits *b, uint32_t position)
{
    return position / 64 < b->n_words && (b->words[position / 64] >> (position % 64) & 1) != 0;
}

static inline bool index_filter_has(const struct index_filter *f, uint32_t position)
{
    return f->words == NULL || (position < f->n_bits && (f->words[position / 64] >> (position % 64) & 1) != 0);
}

#endif
