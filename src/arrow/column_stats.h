/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_COLUMN_STATS_H
#define GREBE_ARROW_COLUMN_STATS_H

/*
 * What a column's values are like, gathered batch by batch in constant memory. Lists and vectors are
 * looked at element by element. Distinct values are estimated (HyperLogLog, Flajolet 2007, 4096
 * registers: about 1.6 % off; small counts by linear counting).
 */

#include "arrow/arrow_array.h"

enum { STATS_REGISTERS = 4096 };

struct column_stats {
    const struct ArrowSchema *schema; /* borrowed */
    struct ArrowSchema plain;         /* of the values looked at: no dictionaries, elements of lists */
    bool is_ordered;                  /* min and max mean something */
    bool is_numeric;                  /* mean and deviation do */
    bool has_elements;                /* a list or a vector */
    int64_t n_rows, n_nulls;
    int64_t n_values; /* looked at: elements of lists, neither null nor NaN */
    int64_t n_nans;
    struct ArrowArray min, max; /* of one row each, of type plain; released: there is none */
    double mean, m2;            /* Welford 1962 */
    uint8_t registers[STATS_REGISTERS];
};

/** @param schema Of the column; borrowed until column_stats_release(). */
grebe_status column_stats_init(const grebe_allocator *a, const struct ArrowSchema *schema,
                               struct column_stats *out, grebe_error *err);
/** @param array A whole column of a batch. Borrowed for the call. */
grebe_status column_stats_add(const grebe_allocator *a, struct column_stats *s,
                              const struct ArrowArray *array, grebe_error *err);
/** Estimated number of distinct values. */
double column_stats_distinct(const struct column_stats *s);
/** Sample standard deviation; NaN below two values. */
double column_stats_deviation(const struct column_stats *s);
void column_stats_release(struct column_stats *s);

#endif
