/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_SPARSE_LISTS_H
#define GREBE_INDEX_SPARSE_LISTS_H

/*
 * Lists of rows by term, cut into windows of 65,536 rows: a row of a list is 16 bits, its value a code of 8 bits, and
 * the sums of a window fit the second cache. A window is one block of memory, the same in a file:
 *
 *     terms u32 [n_terms]    ascending
 *     begin u32 [n_terms+1]  of the term's postings
 *     scale f32 [n_terms]    largest absolute value of the term in the window
 *     rows  u16 [n_postings] ascending within a term
 *     codes u8  [n_postings] value / scale * 255, or (is_signed, a negative value is in the window) i8, * 127
 *
 * each part at a multiple of 64 bytes, 64 bytes behind the last.
 */

#include "base/alloc.h"
#include "vector/vector_types.h"

enum { SPARSE_WINDOW_ROWS = 65536 };

struct sparse_window {
    uint32_t n_rows, n_terms, n_postings;
    bool is_signed;
    const uint32_t *terms, *begin;
    const float *scale;
    const uint16_t *rows;
    const uint8_t *codes;
    void *owned; /* NULL: of a mapped file */
    size_t bytes;
};

/** Bytes of a window's block; 0 when they do not fit size_t. */
size_t sparse_window_bytes(uint32_t n_terms, uint32_t n_postings);
/** Point the parts of w (its counts are set) into a block of that many bytes. */
void sparse_window_attach(struct sparse_window *w, const void *block);

/**
 * The lists of rows [0, rows->n), at most SPARSE_WINDOW_ROWS. Values are finite.
 * @return GREBE_OK; GREBE_ELIMIT (2^32 postings); GREBE_ENOMEM.
 */
grebe_status sparse_window_build(const grebe_allocator *a, const struct vector_sparse *rows, struct sparse_window *out,
                                 grebe_error *err);
void sparse_window_release(struct sparse_window *w, const grebe_allocator *a); /* idempotent */

/** The list of a term as [*begin, *end), searching terms from *from on (queries ascend); false: none.
 *  GREBE_ECORRUPT counts as an empty list, *is_bad is set. */
bool sparse_window_find(const struct sparse_window *w, uint32_t term, uint32_t *from, uint32_t *begin, uint32_t *end,
                        bool *is_bad);

#endif
