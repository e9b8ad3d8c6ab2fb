/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_TABLE_SCAN_H
#define GREBE_TABLE_TABLE_SCAN_H

/*
 * The machine behind scan, count and explain: which rows are looked at (scan_rows.c), batches
 * (table_scan.c). Without a predicate, chunks of every column group are read ahead on the pool
 * and cut at common edges (scan_chunks.c). With one, the unit is a piece: the predicate's columns
 * of one chunk, or of a part of a long one, are read and evaluated, then the other columns of the rows that
 * remain (scan_piece.c, scan_filter.c).
 */

#include "base/pool.h"
#include "expr/expr.h"
#include "table/table_internal.h"

/** Rows [begin, end) of the table that are looked at: a predicate could not rule them out. */
struct segment {
    int64_t begin, end;
    int64_t window_end; /* segments of one window lie in one chunk of each group of the predicate */
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

/**
 * Candidates of one window, or some of a long one's, on their way to batches. What the task makes belongs to it until it was
 * waited for, and to the stream's thread afterwards. Candidates are counted from 0 on.
 */
struct piece {
    struct task task; /* first; must not move */
    struct scan *scan;
    struct segment *spans; /* rows that are candidates, ascending, shape [n_spans] */
    size_t n_spans, n_spans_allocated;
    int64_t n_rows;           /* candidates */
    int64_t n_wanted;         /* the limit when it was started: no more matches are needed */
    struct data_file **files; /* shape [n groups of the predicate] */
    uint32_t threads;
    uint64_t cost_bytes;
    bool is_done; /* the task was waited for */
    uint8_t *keep; /* a bit for each candidate */
    int64_t n_kept;
    struct ArrowArray *where;   /* by group of the predicate: its columns of all candidates */
    int64_t part_begin, part_end; /* candidates whose rows are in `rows` */
    struct array_shared *rows;  /* output columns of the kept ones among them; NULL: not made yet */
    int64_t pos;                /* next candidate to give … */
    int64_t given;              /* … and how many rows of `rows` were given */
    struct piece *next;
};

/** Where an output column of a scan with a predicate is taken from. */
struct output_source {
    bool is_of_where; /* from a piece's `where`, else from the late columns */
    int plan_group;   /* of that plan; -1: none, or the row id */
    int at;
};

/*
 * Invariants: all cursors walk the same segments; the chunks of a cursor are adjacent within a
 * segment; the heads of all cursors cover `pos` whenever scan_step gives rows.
 */
struct scan {
    grebe_table *table; /* one reference */
    struct call call;
    struct plan plan;   /* all columns that are read */
    bool is_count;
    int64_t row_begin, row_end; /* rows of the table */
    int64_t batch_rows;
    int64_t n_left; /* of the limit */

    struct segment *segments; /* found so far, shape [n_segments] */
    size_t n_segments, segments_capacity;
    int64_t pruned_to; /* rows before this are in segments or ruled out */

    /* With a predicate. */
    struct expr *where;      /* NULL: none, or not to be applied */
    struct plan where_plan;  /* its columns, in the order of expr_columns */
    struct plan late_plan;   /* output columns that are not among them */
    struct output_source *sources;  /* shape [plan.n_output] */
    struct data_file **prune_files; /* shape [where_plan.n_groups]: those opened last */
    struct data_file **late_files;  /* shape [late_plan.n_groups] */
    size_t next_segment;            /* of the next piece: what is left of it */
    int64_t piece_rows;             /* candidates of one piece, about */
    struct piece *first_piece, *last_piece;

    /* Without one. */
    struct cursor *cursors; /* shape [plan.n_groups] */
    int64_t pos;            /* next row to give */
    size_t pos_segment;
    struct ArrowArray *current; /* shape [plan.n_groups]: rows of the step */

    size_t n_ahead; /* chunks or pieces started and not consumed */
    uint64_t ahead_bytes;
};

/**
 * @param t       Borrowed; one reference is taken.
 * @param is_count Only the predicate's columns are wanted.
 */
grebe_status scan_new(const grebe_table *t, const grebe_scan_options *options, bool is_count,
                      struct scan **out, grebe_error *err);
void scan_free(struct scan *s); /* NULL accepted */

/**
 * The next rows of a scan without a predicate: s->current[g] holds `*n` rows of each group from table row *begin on.
 *
 * @return GREBE_OK; GREBE_END.
 */
grebe_status scan_step(struct scan *s, int64_t *begin, int64_t *n, grebe_error *err);

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
/** Wait for a cursor's first chunk, which gets shorter when its rows are too many for one array. */
grebe_status cursor_wait(struct scan *s, struct cursor *cursor, grebe_error *err);
/** Drop the head of a cursor. */
void cursor_pop(struct scan *s, struct cursor *c);

/** The next batch of a scan with a predicate. GREBE_END. scan_filter.c */
grebe_status scan_filtered_next(struct scan *s, struct ArrowArray *out, grebe_error *err);
/** How many rows all pieces that remain keep. */
grebe_status scan_filtered_count(struct scan *s, int64_t *out, grebe_error *err);
/** Drop the first piece. */
void piece_pop(struct scan *s);

/** The task of a piece: read, evaluate, and make the first part. scan_piece.c */
grebe_status piece_run(void *piece, grebe_error *err);
/** The output rows of kept candidates from `begin` on, as many as memory allows, into p->rows. */
grebe_status piece_make_part(struct piece *p, int64_t begin, const struct call *call,
                             grebe_error *err);
/** Drop what the task made and what the piece holds. */
void piece_free(struct piece *p);

#endif
