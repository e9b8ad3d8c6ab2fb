/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_SCHEMA_UNION_H
#define GREBE_ARROW_SCHEMA_UNION_H

/* One schema for rows of several: fields by name, each of a type that the types of all widen to. */

#include "arrow/arrow_array.h"

/**
 * Take the fields of `more` into *all. A field that one of the two lacks becomes nullable; fields of
 * both get the type that keeps the values of both (array_widen); where neither type widens to
 * the other, two numbers meet in the smallest integer or float type that holds both. Structs
 * unite field by field. New fields come behind the known ones.
 *
 * @param all  Struct type, replaced on success. Unchanged on failure.
 * @param more Struct type. Borrowed.
 * @return GREBE_OK; GREBE_ESCHEMA naming field, expected and found type; GREBE_ENOMEM.
 */
grebe_status schema_unite(const grebe_allocator *a, struct ArrowSchema *all,
                          const struct ArrowSchema *more, grebe_error *err);

#endif
