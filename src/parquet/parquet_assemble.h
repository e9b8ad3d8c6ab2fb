/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_ASSEMBLE_H
#define GREBE_PARQUET_PARQUET_ASSEMBLE_H

/* What pq_assemble() is made of: parquet_assemble.c, parquet_assemble_leaf.c, parquet_assemble_nested.c. */

#include "parquet/parquet_column.h"

/** The arrays of one column in the making. */
struct pq_assembler {
    const grebe_allocator *a;
    struct pq_out *outs; /* by leaf */
    uint32_t leaf_begin; /* of outs[0] */
    grebe_error *err;
};

/** The first leaf of the node. */
static inline struct pq_out *pq_assembler_out(const struct pq_assembler *as,
                                              const struct pq_node *node)
{
    return &as->outs[node->leaf_begin - as->leaf_begin];
}

/* ---- parquet_assemble_leaf.c ---- */

/** Give the block to an array; an empty one becomes a buffer of its own. */
grebe_status pq_assemble_hand_over(const struct pq_assembler *as, struct pq_block *b,
                                   struct ArrowArray *array, int64_t i);

/** Make room for nulls: of n slots of `width` bytes, those with a bit get the n_values stored, in turn. */
grebe_status pq_assemble_spread(const struct pq_assembler *as, struct pq_out *o, size_t width,
                                const uint8_t *bits, int64_t n, int64_t n_values);

/** n slots of which n_values are not null; bits NULL: none is. `bits` is moved in. */
grebe_status pq_assemble_leaf(const struct pq_assembler *as, const struct pq_node *node, int64_t n,
                              struct pq_block *bits, struct ArrowArray *out);

/* ---- parquet_assemble_nested.c ---- */

/**
 * Bytes for the elements of n lists of fixed size. Null lists take room too, of a length that the file may
 * claim with nothing standing behind it.
 */
grebe_status pq_assemble_list_bytes(const struct pq_assembler *as, const struct pq_node *node,
                                    int64_t n, size_t element_bytes, uint64_t *out);

/** A column whose outputs all keep levels. */
grebe_status pq_assemble_nested(const struct pq_assembler *as, const struct pq_node *node,
                                const struct ArrowSchema *schema, int64_t n_rows,
                                struct ArrowArray *out);

#endif
