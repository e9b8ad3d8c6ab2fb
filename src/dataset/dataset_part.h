/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_DATASET_PART_H
#define GREBE_DATASET_DATASET_PART_H

/*
 * What a table is made of: parts (a file, or batches in memory), and blocks that say which rows of which part stand
 * where. Columns of one layout (numbers, times, bools, texts) are looked at through *views*, which are found once per
 * batch.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "arrow/arrow_internal.h"
#include "dataset/dataset_table.h"

enum view_state {
    VIEW_UNKNOWN = 0,
    VIEW_RAW, /* places and lengths of buffers are good; offsets and texts were not looked at */
    VIEW_READY,
    VIEW_NONE
};

/** Buffers of one column of one batch, good as long as the part lives. */
struct column_view {
    const void *buffers[3];
    int64_t offset, null_count;
    int64_t n_bytes;          /* of buffers[2], at least: what the last offset says, checked against the file */
    atomic_int state;         /* enum view_state */
    atomic_llong n_looked_at; /* rows given out of a raw view: many of them pay for looking at all */
};

struct table_part {
    atomic_uint refs;
    grebe_context *ctx;
    struct rows_file *file;        /* NULL: in memory */
    struct array_shared **batches; /* shape [n_batches] */
    struct ArrowSchema schema;     /* of batches; with a file empty */
    size_t n_batches;
    int64_t *own_begin;
    const int64_t *batch_begin;           /* shape [n_batches + 1] */
    pthread_mutex_t lock;                 /* over making views */
    _Atomic(struct column_view *) *views; /* shape [columns]: shape [n_batches] or NULL */
};

const struct ArrowSchema *part_schema(const struct table_part *p);
static inline int64_t part_rows(const struct table_part *p)
{
    return p->batch_begin[p->n_batches];
}
/** rows_file moved in on success. */
grebe_status part_of_file(grebe_context *ctx, struct rows_file *file, struct table_part **out, grebe_error *err);
/** batches without rows are left out. Moved in on success. */
grebe_status part_of_batches(grebe_context *ctx, const struct ArrowSchema *schema, struct ArrowArray *batches, size_t n,
                             struct table_part **out, grebe_error *err);
struct table_part *part_keep(struct table_part *p);
void part_drop(struct table_part *p);

/** Batch of a row, found by the mean size of batches and then by halves. 0 <= row < part_rows. */
size_t part_batch_of(const struct table_part *p, int64_t row);

enum { SOURCE_STEPS_MAX = 16 };

/** Where a column of a block comes from. */
struct table_source {
    struct table_part *part; /* NULL: nulls */
    int64_t first_row;       /* of the block in the part */
    int32_t column;
    int32_t n_steps;
    int16_t steps[SOURCE_STEPS_MAX]; /* children of structs below the column */
};

/** Rows [begin, begin + n) of batch b as an array of its own. */
grebe_status source_read(const struct table_source *s, size_t batch, int64_t begin, int64_t n, struct ArrowArray *out,
                         grebe_error *err);
/**
 * The view of a batch; NULL with GREBE_OK: it has none.
 *
 * @param n_rows   So many rows of it are wanted: few of them do not have the whole batch checked.
 * @param is_raw   Set when the rows given out are the caller's to check: offsets with view_checks_offsets, texts with
 *                 array_check.
 */
grebe_status source_view(const struct table_source *s, size_t batch, int64_t n_rows, const struct column_view **out,
                         bool *is_raw, grebe_error *err);
/** Whether the offsets of rows [row, row + n) of a raw view of texts make sense. */
bool view_checks_offsets(const struct column_view *v, int width, int64_t row, int64_t n);
grebe_status view_bad_offsets(grebe_error *err, int64_t row);

struct table_block {
    int64_t n_rows;
    struct table_source *sources; /* shape [columns] */
};

struct dataset_table {
    atomic_uint refs;
    grebe_context *ctx;
    struct ArrowSchema schema;
    struct table_block *blocks;
    size_t n_blocks;
    int64_t *block_begin; /* shape [n_blocks + 1] */
    int32_t *alike;       /* shape [columns]: the first column that lies in the same parts at the same rows */
};

/** The block with the row. */
size_t table_block_of(const struct dataset_table *t, int64_t row);
/** An empty table with room for n blocks of the schema's columns; blocks[i].n_rows are set by the caller, then
 * table_seal. */
grebe_status dataset_table_make(grebe_context *ctx, const struct ArrowSchema *schema, size_t n_blocks,
                                struct dataset_table **out, grebe_error *err);
/** Counts rows. GREBE_ELIMIT. */
grebe_status table_seal(struct dataset_table *t, grebe_error *err);
/** dst becomes one more user of src's part. */
void source_copy(struct table_source *dst, const struct table_source *src);

/** How values of a column lie, for kernels over views. */
enum column_layout { LAYOUT_NESTED = 0, LAYOUT_FIXED, LAYOUT_BOOL, LAYOUT_BYTES32, LAYOUT_BYTES64 };
enum column_layout column_layout_of(const struct ArrowSchema *schema, int *width);

#endif
