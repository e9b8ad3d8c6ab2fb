/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_EXPR_EXPR_EVAL_H
#define GREBE_EXPR_EXPR_EVAL_H

/*
 * Evaluation goes over the rows in chunks that stay in the first-level cache; every node has a
 * vector for one chunk, allocated once per call.
 */

#include "expr/expr_compare.h"

enum {
    EVAL_CHUNK = 1024,
    EVAL_CHUNK_MIN = 64,          /* chunks are multiples of it, so that vectors stay aligned */
    EVAL_BLOCK_AIM = 16 << 20     /* smaller chunks, before the vectors of all nodes take more */
};

/** The values of a node for one chunk. */
struct vec {
    const void *data;     /* by domain: tri-state bytes, int64, uint64, double, decimal256, arrow_bytes */
    void *own;            /* where values are put that do not lie ready in the column */
    uint8_t *valid_bytes; /* 1 or 0 per row; not used by tri-states */
    const uint8_t *valid; /* valid_bytes, or NULL: no null in this chunk */
    char *text;           /* made by lower and upper */
    size_t text_capacity;
    bool is_filled;       /* literals: once is enough */
};

struct eval {
    const struct expr *e;
    const struct ArrowArray *const *columns;
    int64_t begin; /* first row of the chunk */
    int64_t n;     /* rows in it */
    size_t chunk;  /* most rows of one */
    const struct compare_kernels *compare;
    struct vec *vecs;
    void *block;   /* all vectors */
    size_t block_len;
    int64_t *rows; /* scratch of one chunk */
    grebe_error *err;
};

static inline struct vec *vec_of(const struct eval *ev, const struct expr_node *node)
{
    return &ev->vecs[node->slot];
}

/** One value; is_null is set where there is none. */
void vec_scalar(const struct eval *ev, const struct expr_node *node, int64_t i,
                struct scalar *out);

grebe_status eval_node(struct eval *ev, const struct expr_node *node);
/** OP_COLUMN */
grebe_status eval_column(struct eval *ev, const struct expr_node *node);
/** OP_ARITH, OP_NEGATE; kids are evaluated. */
grebe_status eval_arith(struct eval *ev, const struct expr_node *node);
/** OP_CALL; kids are evaluated. */
grebe_status eval_call(struct eval *ev, const struct expr_node *node);
/** Rows null in the kid become null in the node; data is copied by the caller. */
void eval_take_validity(const struct eval *ev, const struct expr_node *node,
                        const struct expr_node *kid);

/** Vectors for chunks of up to `length` rows; eval_end() frees them, after a failure too. */
grebe_status eval_begin(struct eval *ev, int64_t length);
void eval_end(struct eval *ev);

#endif
