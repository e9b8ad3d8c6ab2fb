/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_LEVELS_H
#define GREBE_PARQUET_PARQUET_LEVELS_H

/*
 * Repetition and definition levels of one page. The common cases are answered from the runs;
 * a level per entry is only made where nothing else helps.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct pq_levels {
    const uint8_t *bytes; /* without a length prefix; NULL when max is 0 */
    size_t len;
    uint32_t n;           /* entries */
    uint8_t max;
    bool is_msb_packed;   /* the deprecated BIT_PACKED encoding */
};

static inline unsigned pq_level_width(unsigned max)
{
    return max == 0 ? 0 : 32 - (unsigned)__builtin_clz(max);
}

/** One level per entry. out: shape [n]. GREBE_ECORRUPT: cut, or a level above max. */
grebe_status pq_levels_decode(const struct pq_levels *l, uint8_t *out, grebe_error *err);

/** Whether every entry is at max, as told by RLE runs alone: false may also mean "not known". */
bool pq_levels_are_max(const struct pq_levels *l);

/** Levels of max 1 as a bitmap; bits: shape [(n + 7) / 8]. */
grebe_status pq_levels_to_bits(const struct pq_levels *l, uint8_t *bits, grebe_error *err);

/** How many entries are 0 (rows that begin), and whether the first one is. */
grebe_status pq_levels_count_zero(const struct pq_levels *l, uint32_t *n_zero,
                                  bool *is_first_zero, grebe_error *err);

/**
 * Whether repetition levels of max 1 are those of lists that all have one length: 0 at every
 * multiple of it and 1 elsewhere. Cost: one compare over the bytes when they are periodic.
 *
 * @param list_len In: the length to test for, n must be a multiple of it; 0: found out.
 * @return false also for bytes that are no levels at all.
 */
bool pq_levels_are_periodic(const struct pq_levels *l, uint32_t *list_len);

#endif
