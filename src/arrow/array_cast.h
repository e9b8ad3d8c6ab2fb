/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_ARRAY_CAST_H
#define GREBE_ARROW_ARRAY_CAST_H

/*
 * Changes of type that a value may not survive: every value is looked at, and the first that does not
 * fit is named with its row. Casts that cannot fail are array_widen's.
 *
 * Numbers: integers, floats, decimals and bools among each other. An integer must be in range, a
 * fraction must not be lost, a decimal must have the digits; floats and decimals become the nearest
 * float (a finite value must stay finite), an integer becomes a float only when it is one. Bool: not 0.
 * Times: dates, timestamps, times of day and durations to other units when nothing is lost (a timestamp to a
 * date or a time of day keeps the part asked for; a zone is a label, values are UTC). Integers are the
 * raw counts of days or units.
 */

#include "arrow/arrow_array.h"

/** Whether array_cast knows the pair of types. */
bool array_cast_knows(const struct ArrowSchema *from, const struct ArrowSchema *to);

/**
 * @param first_row Added to rows in messages.
 * @return GREBE_OK; GREBE_ESCHEMA ("row 17: 300 does not fit int8", or a pair of types that is not known);
 *         GREBE_ENOMEM.
 */
grebe_status array_cast(const grebe_allocator *a, const struct ArrowSchema *from,
                        const struct ArrowSchema *to, const struct ArrowArray *array,
                        int64_t first_row, struct ArrowArray *out, grebe_error *err);

#endif
