/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_EXPR_BOUNDS_H
#define GREBE_EXPR_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bounds of one column in one chunk, as far as the file tells. */
struct column_bounds {
    bool has_min, has_max;         /* the value buffers below are set */
    bool is_min_exact, is_max_exact;
    bool has_null_count;
    int64_t null_count;            /* of n_values */
    bool has_nan_count;
    int64_t nan_count;
    int64_t n_values;              /* rows, for a flat column */
    /* Little-endian value of the column's Arrow type (bool: one byte), or bytes of a string or
     * binary; borrowed from the reader. */
    const void *min, *max;
    size_t min_len, max_len;
};

#endif
