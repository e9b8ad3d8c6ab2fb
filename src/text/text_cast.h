/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_CAST_H
#define GREBE_TEXT_TEXT_CAST_H

/* Changes of type between text and everything that has a text; the rest is arrow/array_cast.h. */

#include "arrow/arrow_array.h"

/** Whether text_cast knows the pair: text to a scalar, a scalar to text, text and binary to each other. */
bool text_cast_knows(const struct ArrowSchema *from, const struct ArrowSchema *to);

/**
 * As text the values are what CSV has (docs/format/text.md); text is read as a column of CSV whose type
 * is given. Binary must be UTF-8 to become text.
 *
 * @param array     Checked, deep, when it came from outside.
 * @param first_row Added to rows in messages.
 * @return GREBE_OK; GREBE_ESCHEMA ("row 17: \"x\" is no int8", or a pair that is not known); GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status text_cast(const grebe_allocator *a, const struct ArrowSchema *from,
                       const struct ArrowSchema *to, const struct ArrowArray *array,
                       int64_t first_row, struct ArrowArray *out, grebe_error *err);

#endif
