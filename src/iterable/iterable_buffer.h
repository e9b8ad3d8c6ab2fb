/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ITERABLE_ITERABLE_BUFFER_H
#define GREBE_ITERABLE_ITERABLE_BUFFER_H

/* The buffer of a shuffle, shared by what fills it and what saves it. */

#include "iterable/iterable_internal.h"

/* One row in the buffer. */
struct entry {
    int64_t number; /* in the child's stream */
    int32_t begin;  /* in its source */
    int32_t source;
};

/* Rows [first, first + n) of the child's stream, and where the child stood before them. */
struct segment {
    int64_t first, n;
    struct place place;
};

struct buffer_reader {
    struct reader base;
    struct node *node;
    struct reader *kid;
    int64_t unit;
    bool are_whole; /* the child ends its batches where its units end */
    struct pcg64 rng;
    int64_t next_number;
    struct buf entries; /* struct entry: permuted; those before `given` went out */
    int64_t given, end; /* those before end go out in this round */
    struct buf sources; /* struct rows */
    struct buf segments;
    struct mark *round; /* the state before this round; NULL: not made yet */
};

enum { BOUNDARY_WORDS = 4 + MARK_RNG_WORDS, SEGMENT_WORDS = 3 };

static inline struct entry *entries_of(const struct buffer_reader *b)
{
    return (struct entry *)(void *)b->entries.data;
}
static inline int64_t n_entries(const struct buffer_reader *b)
{
    return (int64_t)(b->entries.len / sizeof(struct entry));
}
static inline struct rows *sources_of(const struct buffer_reader *b)
{
    return (struct rows *)(void *)b->sources.data;
}
static inline size_t n_sources(const struct buffer_reader *b)
{
    return b->sources.len / sizeof(struct rows);
}
static inline struct segment *segments_of(const struct buffer_reader *b)
{
    return (struct segment *)(void *)b->segments.data;
}
static inline size_t n_segments(const struct buffer_reader *b)
{
    return b->segments.len / sizeof(struct segment);
}

/** The state between two rounds: rows that stay, and from where they can be read again. */
grebe_status buffer_save_boundary(struct buffer_reader *b, struct mark **out, grebe_error *err);
/** The rows of such a state, in their order; the counts of m were looked at. The child stands anywhere afterwards. */
grebe_status buffer_load_entries(struct buffer_reader *b, const struct mark *m, grebe_error *err);

#endif
