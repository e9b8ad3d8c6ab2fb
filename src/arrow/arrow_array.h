/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_ARROW_ARRAY_H
#define GREBE_ARROW_ARROW_ARRAY_H

/*
 * Arrays over struct ArrowArray. An array made here owns its tree: buffers are views into
 * regions and hold one reference each, release drops them. Rows travel as struct arrays with
 * offset 0 and no top-level nulls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arrow/arrow_schema.h"
#include "base/region.h"

/**
 * An array with empty buffers and n_children empty (released) children.
 *
 * @param out Owned; release with array_release(). Empty on failure. null_count is 0.
 */
grebe_status array_new(const grebe_allocator *a, int64_t length, int64_t n_buffers,
                       int64_t n_children, struct ArrowArray *out, grebe_error *err);

/** Set buffer i of an array that array_new made. `owner` (one reference, may be NULL) is moved in. */
void array_set_buffer(struct ArrowArray *array, int64_t i, const void *data,
                      struct region *owner);

/** Allocate buffer i: len zeroed... bytes are NOT zeroed; aligned to 64, 64 readable bytes behind. */
grebe_status array_alloc_buffer(const grebe_allocator *a, struct ArrowArray *array, int64_t i,
                                size_t len, void **data, grebe_error *err);

/** A dictionary for an array that array_new made; moved in on success. */
grebe_status array_set_dictionary(const grebe_allocator *a, struct ArrowArray *array,
                                  struct ArrowArray *dictionary, grebe_error *err);

void array_release(struct ArrowArray *array);
void array_move(struct ArrowArray *dst, struct ArrowArray *src);

/**
 * Structural check against a schema: buffer and child counts, lengths, offsets monotone and
 * inside, validity sizes are the caller's word (the C interface has no sizes).
 *
 * @param is_deep Also every offset, dictionary index, union type id and UTF-8.
 * @return GREBE_OK; GREBE_ECORRUPT naming field and row.
 */
grebe_status array_check(const struct ArrowSchema *schema, const struct ArrowArray *array,
                         bool is_deep, grebe_error *err);

/** An array that several slices share. */
struct array_shared;

/** `array` is moved in on success. @param out One reference; array_shared_drop(). */
grebe_status array_share(const grebe_allocator *a, struct ArrowArray *array,
                         struct array_shared **out, grebe_error *err);
struct array_shared *array_shared_keep(struct array_shared *s);
void array_shared_drop(struct array_shared *s);
const struct ArrowArray *array_shared_get(const struct array_shared *s);
/** The array itself, for the holder of the only reference; s is gone. */
void array_shared_take_back(struct array_shared *s, struct ArrowArray *out);

/**
 * Rows [begin, begin + length) without copying; the slice keeps the shared array alive. Of a
 * struct array the children are sliced, its own offset is 0 (top-level validity must be NULL;
 * every child as long as the struct).
 */
grebe_status array_slice(struct array_shared *s, int64_t begin, int64_t length,
                         struct ArrowArray *out, grebe_error *err);

/** As array_slice for any node inside the shared array (a child, say), by its offset and length. */
grebe_status array_view(struct array_shared *s, const struct ArrowArray *node, int64_t begin,
                        int64_t length, struct ArrowArray *out, grebe_error *err);

/** The region behind buffer i of an array made here; NULL: foreign, a slice, or without owner. */
struct region *array_buffer_owner(const struct ArrowArray *array, int64_t i);

/**
 * Rows as the library wants them: a struct array with offset 0, no top-level nulls and children
 * of its own length. Costs nothing when it is so already.
 *
 * @param schema Struct type of the rows.
 * @param array  Any producer's array; moved in on success.
 * @return GREBE_OK; GREBE_ESCHEMA (no struct, or top-level nulls); GREBE_ECORRUPT (array_check).
 */
grebe_status array_import_rows(const grebe_allocator *a, const struct ArrowSchema *schema,
                               struct ArrowArray *array, struct ArrowArray *out,
                               grebe_error *err);

/** A struct array from columns[0..n), which are moved in on success. */
grebe_status array_struct(const grebe_allocator *a, int64_t length, struct ArrowArray *columns,
                          size_t n, struct ArrowArray *out, grebe_error *err);

/**
 * Bytes that rows [begin, begin + n) take in memory: their values, offsets and validity bits.
 *
 * @param schema A checked type. @param begin The array's offset is not yet added.
 */
int64_t array_bytes(const struct ArrowSchema *schema, const struct ArrowArray *array,
                    int64_t begin, int64_t n);

/**
 * The same in bits; is_arrow false: so that the parts of a batch add up to the whole, wherever it
 * was cut (no rounding, no offset behind the last, no bitmaps).
 */
int64_t array_bits(const struct ArrowSchema *schema, const struct ArrowArray *array,
                   int64_t begin, int64_t n, bool is_arrow);

/** An array of `length` nulls of the type. */
grebe_status array_nulls(const grebe_allocator *a, const struct ArrowSchema *schema,
                         int64_t length, struct ArrowArray *out, grebe_error *err);

/* ---- bitmaps: LSB first, bit 1 = valid ---- */

static inline bool bit_get(const uint8_t *bits, int64_t i)
{
    return (bits[i >> 3] >> (i & 7)) & 1;
}
static inline void bit_set(uint8_t *bits, int64_t i) { bits[i >> 3] |= (uint8_t)(1u << (i & 7)); }
static inline void bit_clear(uint8_t *bits, int64_t i)
{
    bits[i >> 3] &= (uint8_t) ~(1u << (i & 7));
}
static inline size_t bitmap_bytes(int64_t n_bits) { return (size_t)((n_bits + 7) / 8); }
/** Ones in bits [begin, begin + n). */
int64_t bitmap_count(const uint8_t *bits, int64_t begin, int64_t n);
/** Copy n bits; the bits of dst around them stay. */
void bitmap_copy(uint8_t *dst, int64_t dst_begin, const uint8_t *src, int64_t src_begin, int64_t n);
/** Set n bits to one value. */
void bitmap_fill(uint8_t *bits, int64_t begin, int64_t n, bool value);

/**
 * Whether slot i (before array->offset is added) is null by its validity bitmap. An array
 * without buffers and children is of null type. Unions and run-end-encoded arrays have no
 * bitmap and are never null themselves; a union whose null_count is not 0 is misread.
 */
bool array_is_null(const struct ArrowArray *array, int64_t i);
/** null_count, computed where it is -1; unions as above. */
int64_t array_null_count(const struct ArrowArray *array);

/* ---- compute: arrow_compute.c ---- */

/**
 * Rows by position, in the order given.
 *
 * @param rows Shape [n]; 0 <= row < array->length, or -1 for a null row. Duplicates allowed.
 */
grebe_status array_gather(const grebe_allocator *a, const struct ArrowSchema *schema,
                          const struct ArrowArray *array, const int64_t *rows, int64_t n,
                          struct ArrowArray *out, grebe_error *err);

/** Rows whose bit is set. keep: shape [array->length] bits. */
grebe_status array_filter(const grebe_allocator *a, const struct ArrowSchema *schema,
                          const struct ArrowArray *array, const uint8_t *keep,
                          struct ArrowArray *out, grebe_error *err);

/** One array after another; all of the same schema. Dictionaries are unified. n >= 1. */
grebe_status array_concat(const grebe_allocator *a, const struct ArrowSchema *schema,
                          const struct ArrowArray *const *arrays, size_t n,
                          struct ArrowArray *out, grebe_error *err);

/** Same logical values (nulls, list contents; floats by bits, so that NaN equals itself). */
bool array_equal(const struct ArrowSchema *schema, const struct ArrowArray *x,
                 const struct ArrowArray *y);

/**
 * Change the type where no value can change: integers to wider ones and to floats that hold them
 * all, float to double, strings and binaries between their layouts, lists between list,
 * large_list and fixed_size_list (when every length fits), time to finer units (when it fits),
 * decimals to larger ones, dictionaries and runs to their values, null to anything, element names;
 * nullable to non-null when no null is there. Structs match by field name: a missing nullable
 * field is filled with nulls, a field that is not expected is an error.
 *
 * @param array Checked (array_check, deep) when it came from outside.
 * @return GREBE_OK; GREBE_ESCHEMA with field, expected and found type, or row; GREBE_ELIMIT
 *         (32-bit offsets overflow).
 */
grebe_status array_widen(const grebe_allocator *a, const struct ArrowSchema *from,
                         const struct ArrowSchema *to, const struct ArrowArray *array,
                         struct ArrowArray *out, grebe_error *err);
/** As array_widen; what does not change is a view that keeps `shared` alive, and costs nothing. */
grebe_status array_widen_shared(const grebe_allocator *a, const struct ArrowSchema *from,
                                const struct ArrowSchema *to, struct array_shared *shared,
                                struct ArrowArray *out, grebe_error *err);
/** Whether array_widen can succeed for these types (list lengths aside). */
grebe_status schema_widens(const struct ArrowSchema *from, const struct ArrowSchema *to,
                           grebe_error *err);

#endif
