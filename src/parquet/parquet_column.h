/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_COLUMN_H
#define GREBE_PARQUET_PARQUET_COLUMN_H

/*
 * Rows of one leaf column, decoded: what reading a range and taking single rows have in common.
 * Rows are asked for as ascending runs; a range is one run, a take is many short ones.
 *
 * The output has one of three modes:
 *   FLAT    one entry a row; nulls in a bitmap, made when the first null is seen
 *   LISTS   lists that all have list_len elements, none of them null, and null lists: one entry
 *           a row, no levels are kept
 *   LEVELS  repetition and definition levels of every entry, for everything else
 * LISTS turns into LEVELS when a page does not fit it. Values are kept one after another
 * without room for nulls; assembly makes the room.
 */

#include <stdatomic.h>

#include "arrow/arrow_array.h"
#include "parquet/parquet_page.h"

/** Rows (of a row group) or values (of a page): [begin, begin + n). */
struct pq_run {
    int64_t begin, n;
};

enum pq_out_mode { PQ_OUT_FLAT, PQ_OUT_LISTS, PQ_OUT_LEVELS };

/** A heap block that grows until it becomes an Arrow buffer. */
struct pq_block {
    struct region *region; /* NULL: empty */
    size_t len;            /* bytes used */
};

/** What all outputs of one call may take together, charged before memory is asked for. */
struct pq_budget {
    uint64_t limit_bytes;
    atomic_uint_fast64_t taken_bytes;
};
/** GREBE_ELIMIT when too little is left. */
grebe_status pq_budget_take(struct pq_budget *b, uint64_t bytes, grebe_error *err);
void pq_budget_return(struct pq_budget *b, uint64_t bytes);

struct pq_out {
    const grebe_allocator *a;
    struct pq_budget *budget;
    const struct pq_leaf *leaf;
    const struct pq_node *node;
    enum pq_out_mode mode;
    uint64_t limit_bytes;   /* of each block */
    int64_t n_rows;
    int64_t n_entries;      /* FLAT, LISTS: rows; LEVELS: levels */
    int64_t n_values;       /* not null */
    int64_t rows_expected;  /* what will be asked for in all: sizes the blocks */
    uint32_t list_len;      /* LISTS; 0 while no list was seen */
    int offset_width;       /* 4 or 8 for byte strings, else 0 */
    struct pq_block values; /* fixed width, bits, or the bytes of strings */
    struct pq_block offsets; /* n_values + 1 of them */
    struct pq_block validity; /* FLAT, LISTS; empty while no null was seen */
    struct pq_block rep, def; /* LEVELS; rep stays empty where max_rep is 0 */
    /* FLAT, LISTS: all values as they lie in the file, instead of `values`. */
    const unsigned char *view;
    struct region *view_owner;
};

void pq_out_init(struct pq_out *o, const grebe_allocator *a, const struct pq_leaf *leaf,
                 int64_t rows_expected, uint64_t limit_bytes, struct pq_budget *budget);
void pq_out_release(struct pq_out *o);

/** Bytes that the blocks hold. */
uint64_t pq_out_bytes(const struct pq_out *o);

/** Room for bytes more in the block. GREBE_ELIMIT beyond the limit of the output. */
grebe_status pq_block_reserve(struct pq_out *o, struct pq_block *b, uint64_t bytes,
                              grebe_error *err);

/** Append the rows of `from`, which is left with unspecified content. */
grebe_status pq_out_append(struct pq_out *o, const struct pq_out *from, grebe_error *err);
/** Keep levels from now on (and for what is there). */
grebe_status pq_out_to_levels(struct pq_out *o, grebe_error *err);
/** n more rows are valid (bits NULL) or as the n bits from bit `begin` say. */
grebe_status pq_out_add_validity(struct pq_out *o, const uint8_t *bits, int64_t begin, int64_t n,
                                 grebe_error *err);

/* ---- values: parquet_values.c ---- */

/** Dictionary of one chunk, decoded when it is first needed. */
struct pq_dictionary {
    bool is_loaded;
    uint32_t n;
    struct region *values;  /* fixed: converted, width_out each; strings: bytes */
    struct region *offsets; /* strings: int32, shape [n + 1] */
};
void pq_dictionary_release(struct pq_dictionary *d);

/**
 * Append the runs of a page's values.
 *
 * @param n_present Values that the page must hold (entries that are not null).
 * @param runs      Ascending, within [0, n_present).
 */
grebe_status pq_values_append(const struct pq_chunk_data *c, struct pq_dictionary *dictionary,
                              const struct pq_page *page, const unsigned char *values,
                              size_t values_len, uint32_t n_present, const struct pq_run *runs,
                              size_t n_runs, struct pq_scratch *s, struct pq_out *out,
                              grebe_error *err);

/** Append n stored values of fixed width, converted. */
grebe_status pq_values_append_fixed(struct pq_out *out, const unsigned char *src, int64_t n,
                                    grebe_error *err);

/** src to dst, n values; src is PLAIN. GREBE_ESCHEMA: a value that the Arrow type cannot hold. */
grebe_status pq_convert_values(const struct pq_node *node, const unsigned char *src, void *dst,
                               size_t n, grebe_error *err);
/** Decimals of any length, big-endian, to width bytes little-endian. */
grebe_status pq_convert_decimal(const unsigned char *src, size_t len, unsigned char *dst,
                                size_t width, grebe_error *err);

/* ---- rows: parquet_column.c ---- */

/**
 * Append rows of one chunk.
 *
 * @param runs       Rows of the row group, begins ascending.
 * @param may_view   The output may become a view of the file (it is empty and this is all).
 */
grebe_status pq_column_append(struct pq_reader *r, size_t chunk, uint32_t leaf,
                              const struct pq_run *runs, size_t n_runs, bool may_view,
                              struct pq_scratch *s, struct pq_out *out, grebe_error *err);

/* ---- arrays: parquet_assemble.c ---- */

/**
 * The Arrow array of a top-level field.
 *
 * @param outs   By leaf, from node->leaf_begin; emptied.
 * @param schema The field's.
 */
grebe_status pq_assemble(const grebe_allocator *a, const struct pq_node *node,
                         const struct ArrowSchema *schema, struct pq_out *outs, int64_t n_rows,
                         struct ArrowArray *out, grebe_error *err);

#endif
