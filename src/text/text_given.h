/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_GIVEN_H
#define GREBE_TEXT_TEXT_GIVEN_H

/*
 * Types that the caller gave. Text is read as the nearest type that is built here (a string for a large string, a
 * list for a vector), and widened to the one that was given when a block is done.
 */

#include "arrow/arrow_array.h"
#include "text/text_type.h"

/**
 * The type as which text is read. Everything is nullable.
 *
 * @return also GREBE_EUNSUPPORTED (binary, maps, unions, intervals), naming the field.
 */
grebe_status text_given_native(const grebe_allocator *a, const struct ArrowSchema *given,
                               struct ArrowSchema *out, grebe_error *err);

/** The fields of a struct schema whose types text can have. */
grebe_status text_given_possible(const grebe_allocator *a, const struct ArrowSchema *given,
                                 struct ArrowSchema *out, grebe_error *err);

/**
 * One value of a native type of fixed width. Other than with types that are inferred, a plus and zeros in front
 * do not matter, and a float takes the nearest number.
 *
 * @param dst Written, t->byte_width bytes. Not for bool.
 * @return Whether the text is such a value, in range.
 */
bool text_given_store(const struct arrow_type *t, const char *s, size_t len, void *dst);

#endif
