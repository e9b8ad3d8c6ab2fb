/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_ARRAY_SELECT_H
#define GREBE_ARROW_ARRAY_SELECT_H

/*
 * Copying chosen rows of one or several arrays into a new one: the engine below gather, filter
 * and concat. A selection names rows of one source, one by one or in ranges; a node's output
 * is the selections one after another.
 */

#include "arrow/arrow_internal.h"

/** Rows [begin, begin + len); begin -1: len rows that are there in no source (null). */
struct row_range {
    int64_t begin, len;
};

struct selection {
    const struct ArrowArray *src;
    const int64_t *rows;            /* shape [n], or NULL: ranges are given */
    const struct row_range *ranges; /* shape [n] */
    size_t n;
    int64_t base;  /* added to every row that is not -1; src->offset comes on top */
    bool has_fill; /* a -1 may be among them */
};

/** One node being copied. */
struct select {
    const grebe_allocator *a;
    const struct selection *sels;
    size_t n_sels;
    int64_t n_rows; /* of all selections */
    bool is_fill_valid; /* rows at -1 are zeros and not null: below a null vector, say */
    int depth;
    grebe_error *err;
};

/** Range i of a selection, base added. */
static inline struct row_range selection_range(const struct selection *s, size_t i)
{
    struct row_range r = { 0, 1 };
    if (s->rows != NULL) {
        r.begin = s->rows[i];
    } else {
        r = s->ranges[i];
    }
    if (r.begin >= 0) {
        r.begin += s->base;
    }
    return r;
}

/** Selections for a child, one per selection of the parent. */
struct child_select {
    struct select s;
    struct selection *sels;    /* owned, shape [s.n_sels] */
    struct row_range *ranges;  /* owned, NULL: the parent's are used */
    size_t ranges_capacity, n_ranges;
};

grebe_status child_select_new(const struct select *parent, size_t ranges_capacity,
                              struct child_select *out);
/** Add a range to the selection being built, joined with the one before where it continues it. */
void child_select_put(struct child_select *c, size_t *n_in_selection, int64_t begin, int64_t len);
void child_select_release(struct child_select *c);
/** Ranges in all selections. */
size_t select_range_count(const struct select *s);

grebe_status select_node(const struct select *s, const struct ArrowSchema *schema,
                         struct ArrowArray *out);

/* Parts by layout; `out` has its buffers and children made, but for views. */
grebe_status select_validity(const struct select *s, struct ArrowArray *out);
grebe_status select_bytes(const struct select *s, const struct arrow_type *t,
                          struct ArrowArray *out);
grebe_status select_views(const struct select *s, const struct arrow_type *t,
                          struct ArrowArray *out);
grebe_status select_list(const struct select *s, const struct ArrowSchema *schema,
                         const struct arrow_type *t, struct ArrowArray *out);
grebe_status select_list_view(const struct select *s, const struct ArrowSchema *schema,
                              const struct arrow_type *t, struct ArrowArray *out);
grebe_status select_fixed_list(const struct select *s, const struct ArrowSchema *schema,
                               const struct arrow_type *t, struct ArrowArray *out);
grebe_status select_struct(const struct select *s, const struct ArrowSchema *schema,
                           struct ArrowArray *out);
grebe_status select_union(const struct select *s, const struct ArrowSchema *schema,
                          const struct arrow_type *t, struct ArrowArray *out);
grebe_status select_runs(const struct select *s, const struct ArrowSchema *schema,
                         struct ArrowArray *out);
grebe_status select_dictionary(const struct select *s, const struct ArrowSchema *schema,
                               const struct arrow_type *t, struct ArrowArray *out);
/** Values of `width` bytes in buffer i of the sources, into buffer i of out. */
grebe_status select_fixed(const struct select *s, int64_t i, size_t width, struct ArrowArray *out);

#endif
