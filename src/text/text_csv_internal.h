/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_CSV_INTERNAL_H
#define GREBE_TEXT_TEXT_CSV_INTERNAL_H

#include "text/text_csv.h"
#include "text/text_type.h"

/** Where a field lies in its block, without its outer quotes. */
struct csv_cell {
    uint32_t begin;
    uint32_t len : 30;
    uint32_t is_quoted : 1;
    uint32_t is_escaped : 1; /* has doubled quotes */
};

/** Columns that a file may have. */
enum { CSV_COLUMNS_MAX = 1 << 16 };

/** Fields of a block, row after row. */
struct csv_cells {
    const grebe_allocator *a;
    struct csv_cell *cells;
    size_t n, capacity;
};

/** A block being split. */
struct csv_split {
    const struct text_csv_options *o;
    const char *name;
    const struct text_block *block;
    size_t at;
    struct csv_cells cells;
};

/** Text_cut_fn; arg is the text_csv_options with the delimiter set. */
size_t csv_cut(void *arg, const char *data, size_t len, bool is_last);

/**
 * Append the fields of the next record. An empty line is a record of one field.
 *
 * @param n_fields Written; 0 at the end of the block.
 * @param begin    Written: where the record begins.
 */
grebe_status csv_next_record(struct csv_split *s, size_t *n_fields, size_t *begin,
                             grebe_error *err);

/** All records, each of n_columns fields: shorter ones filled or refused, empty lines skipped. */
grebe_status csv_split_block(struct csv_split *s, size_t n_columns, size_t *n_rows,
                             grebe_error *err);
void csv_split_release(struct csv_split *s);

/** The delimiter that the first lines show. */
char csv_sniff_delimiter(const char *data, size_t len);

/** Whether the cell is a null. */
bool csv_is_null(const struct csv_split *s, struct csv_cell c);

/** Append the field's text, doubled quotes made one. dst has room for c.len; gives the length. */
size_t csv_copy_text(char *dst, const char *data, struct csv_cell c);

/** AND the types of all values of column i into *types; *is_seen: it has a value. */
void csv_infer_column(const struct csv_split *s, size_t n_rows, size_t n_columns, size_t i,
                      unsigned *types, bool *is_seen);

/** Column i as an array of the type (one bit of enum text_type, 0: string). */
grebe_status csv_build_column(const grebe_allocator *a, const struct csv_split *s, size_t n_rows,
                              size_t n_columns, size_t i, unsigned type, const char *column_name,
                              struct ArrowArray *out, grebe_error *err);

#endif
