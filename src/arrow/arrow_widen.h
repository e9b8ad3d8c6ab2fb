/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_ARROW_WIDEN_H
#define GREBE_ARROW_ARROW_WIDEN_H

/* Which change of type keeps every value, and the parts that carry it out. */

#include "arrow/array_select.h"

enum widen_rule {
    WIDEN_NO = 0,
    WIDEN_SAME,    /* one layout: copied */
    WIDEN_NULL,    /* all null */
    WIDEN_DECODE,  /* dictionary to its values */
    WIDEN_INDICES, /* dictionary to dictionary */
    WIDEN_RUNS,    /* run-end encoded to its values */
    WIDEN_NUMBER,  /* integers and floats */
    WIDEN_SCALE,   /* units of time: multiplied, with a check */
    WIDEN_DECIMAL,
    WIDEN_BYTES,   /* strings and binaries between layouts */
    WIDEN_LIST,
    WIDEN_STRUCT
};

struct widen {
    const grebe_allocator *a;
    struct array_shared *shared; /* unchanged nodes are views of it; NULL: copied */
    grebe_error *err;
};

enum widen_rule widen_rule_of(const struct ArrowSchema *from, const struct ArrowSchema *to,
                              const struct arrow_type *f, const struct arrow_type *t);

/** Rows [begin, begin + n) of array, by its offset, as the type `to`. */
grebe_status widen_node(const struct widen *w, const struct ArrowSchema *from,
                        const struct ArrowSchema *to, const struct ArrowArray *array,
                        int64_t begin, int64_t n, int depth, struct ArrowArray *out);

/** Validity of the rows, copied into buffer 0 of out; null_count is set. */
grebe_status widen_validity(const struct widen *w, const struct arrow_type *t,
                            const struct ArrowArray *array, int64_t begin, int64_t n,
                            struct ArrowArray *out);

/* Leaves: out is made whole. */
grebe_status widen_numbers(const struct widen *w, const struct arrow_type *f,
                           const struct arrow_type *t, const struct ArrowArray *array,
                           int64_t begin, int64_t n, struct ArrowArray *out);
grebe_status widen_scale(const struct widen *w, const struct arrow_type *f,
                         const struct arrow_type *t, const struct ArrowArray *array,
                         int64_t begin, int64_t n, struct ArrowArray *out);
grebe_status widen_decimals(const struct widen *w, const struct arrow_type *f,
                            const struct arrow_type *t, const struct ArrowArray *array,
                            int64_t begin, int64_t n, struct ArrowArray *out);
grebe_status widen_bytes(const struct widen *w, const struct arrow_type *f,
                         const struct arrow_type *t, const struct ArrowArray *array,
                         int64_t begin, int64_t n, struct ArrowArray *out);

#endif
