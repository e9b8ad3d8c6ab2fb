/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ITERABLE_ITERABLE_ROWS_H
#define GREBE_ITERABLE_ITERABLE_ROWS_H

/* Batches as readers pass them on: views of shared arrays, with the type of the rows. Nothing is copied to cut one. */

#include <stdatomic.h>

#include "arrow/arrow_array.h"

/** A schema that batches share. */
struct rows_type {
    atomic_uint refs;
    const grebe_allocator *a;
    struct ArrowSchema schema; /* struct */
};
/** schema is moved in on success. */
grebe_status rows_type_new(const grebe_allocator *a, struct ArrowSchema *schema, struct rows_type **out,
                           grebe_error *err);
struct rows_type *rows_type_keep(struct rows_type *t); /* NULL accepted */
void rows_type_drop(struct rows_type *t);              /* NULL accepted */

/** Rows [begin, begin + n) of an array. Owns a reference of both. Empty: data NULL, n 0. */
struct rows {
    struct rows_type *type;
    struct array_shared *data;
    int64_t begin, n;
};
void rows_release(struct rows *r);
void rows_move(struct rows *dst, struct rows *src);
/** Rows [begin, begin + n) of r. */
struct rows rows_view(const struct rows *r, int64_t begin, int64_t n);
/** type: a reference is taken. array: moved in, also on failure. */
grebe_status rows_of(const grebe_allocator *a, struct rows_type *type, struct ArrowArray *array, struct rows *out,
                     grebe_error *err);
/** As an array of its own, offset 0. */
grebe_status rows_array(const struct rows *r, struct ArrowArray *out, grebe_error *err);

/** n rows of a source, from `begin` of its view on. */
struct pick {
    int32_t source;
    int32_t n;
    int64_t begin;
};
/**
 * Picked rows one after another; a view where they are consecutive rows of one source. Sources of different types meet
 * in the type that holds both, columns by name.
 *
 * @param picks Shape [n]; neighbours are joined in place.
 * @return GREBE_OK; GREBE_ESCHEMA (types that do not meet); GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status rows_pick(const grebe_allocator *a, const struct rows *sources, size_t n_sources, struct pick *picks,
                       size_t n, struct rows *out, grebe_error *err);
/** Whole sources one after another. n >= 1. */
grebe_status rows_join(const grebe_allocator *a, const struct rows *sources, size_t n, struct rows *out,
                       grebe_error *err);

#endif
