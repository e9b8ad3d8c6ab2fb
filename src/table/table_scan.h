/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_TABLE_SCAN_H
#define GREBE_TABLE_TABLE_SCAN_H

/*
 * The machine behind scan, count and explain: which rows are looked at (scan_rows.c), chunks
 * read ahead on the pool (scan_chunks.c), batches cut out of them (table_scan.c).
 */

#include "base/pool.h"
#include "expr/expr.h"
#include "table/table_internal.h"

/** Rows [begin, end) of the table that are looked at: a predicate could not rule them out. */
struct segment {
    int64_t begin, end;
};

/** Where one group of the plan stands. */
struct cursor {
    size_t group;           /* of the table */
    struct data_file *file; /* the one opened last; NULL: none */
    size_t segment;         /* next chunk lies in this segment … */
    int64_t next_row;       /* … and begins here */
    struct chunk *first, *last; /* read, or being read; in row order */
};

/** A piece of one file being read: part of a chunk of the file. */
struct chunk {
    struct task task; /* first; must not move */
    struct scan *scan;
    struct data_file *file;
    size_t plan_group;
    int64_t row_begin, row_end; /* rows of the table */
    uint32_t threads;
    uint64_t cost_bytes;
    bool is_read;               /* the task was waited for */
    struct array_shared *rows;  /* its result */
    struct chunk *next;
};

/*
 * Invariants: all cursors walk the same segments; the chunks of a cursor are adjacent within a
 * segment; the heads of all cursors cover `pos` whenever scan_step gives rows.
 */
struct scan {
    grebe_table *table; /* one reference */
    struct call call;
    struct plan plan;
    struct expr *where; /* NULL: none, or not to be applied */
    size_t n_where;      /* the last columns of the plan */

    int64_t row_begin, row_end; /* rows of the table */
    int64_t batch_rows;
    int64_t n_left; /* of the limit */

    struct segment *segments; /* found so far, shape [n_segments] */
    size_t n_segments, segments_capacity;
    int64_t pruned_to; /* rows before this are in segments or ruled out */
    struct data_file **prune_files; /* shape [plan.n_groups]: files of the predicate's columns */

    struct cursor *cursors; /* shape [plan.n_groups] */
    size_t n_ahead;         /* chunks started and not consumed */
    uint64_t ahead_bytes;

    int64_t pos; /* next row to give */
    size_t pos_segment;
    struct ArrowArray *current; /* shape [plan.n_groups]: rows of the step */
};

/**
 * @param t       Borrowed; one reference is taken.
 * @param is_count Only the predicate's columns are wanted.
 */
grebe_status scan_new(const grebe_table *t, const grebe_scan_options *options, bool is_count,
                      struct scan **out, grebe_error *err);
void scan_free(struct scan *s); /* NULL accepted */

/**
 * The next rows: s->current[g] holds `*n` rows of each group from table row *begin on.
 *
 * @return GREBE_OK; GREBE_END.
 */
grebe_status scan_step(struct scan *s, int64_t *begin, int64_t *n, grebe_error *err);

/** For which rows of the step the predicate is true; keep: shape [bitmap_bytes(n)]. */
grebe_status scan_eval(const struct scan *s, int64_t n, uint8_t *keep, int64_t *n_true,
                       grebe_error *err);

/** Segment i, found when it is not known yet. GREBE_END: there is none. scan_rows.c */
grebe_status scan_segment(struct scan *s, size_t i, struct segment *out, grebe_error *err);

/** The file of the group that holds the row, kept in *file until another one is needed. */
grebe_status scan_file_at(const struct scan *s, size_t group, int64_t row,
                          struct data_file **file, grebe_error *err);

/** End, in rows of the table, of the chunk that holds the row, at most limit. */
int64_t scan_chunk_end(const struct data_file *f, int64_t row, int64_t limit);

/** Begin of a cursor's next chunk; INT64_MAX: no more. scan_chunks.c */
grebe_status cursor_peek(struct scan *s, struct cursor *c, int64_t *out, grebe_error *err);
/** Start reading ahead as far as the limits allow. */
grebe_status scan_read_ahead(struct scan *s, grebe_error *err);
/** Wait for a chunk. */
grebe_status chunk_wait(struct chunk *c, grebe_error *err);
/** Drop the head of a cursor. */
void cursor_pop(struct scan *s, struct cursor *c);

#endif
