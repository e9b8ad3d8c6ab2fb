/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_CSV_INTERNAL_H
#define GREBE_TEXT_TEXT_CSV_INTERNAL_H

#include "text/json_table.h"
#include "text/text_builder.h"
#include "text/text_csv.h"
#include "text/text_scan.h"
#include "text/text_wave.h"
#include "text/text_type.h"

/** Where a field lies in its block, without its outer quotes. */
struct csv_cell {
    uint32_t begin;
    uint32_t len : 30;
    uint32_t is_quoted : 1;
    uint32_t is_escaped : 1; /* has doubled or escaped quotes */
};

/** Where a field begins that a ragged row does not have. */
static const uint32_t CSV_MISSING = UINT32_MAX;

/** What is known of a column. */
struct csv_column {
    unsigned types; /* all that fit; after inference one bit, or 0 */
    bool is_seen;   /* false after inference: a column of nulls */
    const struct json_shape *given; /* its type is given: what was found does not matter; NULL: it is not */
};

/** A column being filled. */
struct csv_filled {
    struct text_builder b;
    struct json_table table; /* of a list or struct, which is JSON text */
    bool is_nested;
};

/** Columns that a file may have. */
enum { CSV_COLUMNS_MAX = 1 << 16 };

/** Values of one block, those that ragged rows do not have counted: they must not take memory and time without end. */
enum { CSV_VALUES_MAX = 1 << 24 };

/** Fields that are split before columns are made of them: they and their text stay in the cache. */
enum { CSV_CELLS_AIM = 16384 };

/** Fields, row after row. */
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
    size_t at; /* where the next record begins */
    struct text_scan scan;
    struct csv_cells cells;
    size_t n_ragged; /* rows that were filled or cut */
    size_t n_rows;   /* so far */
};

/** Text_cut_fn; arg is the text_csv_options with the delimiter set. */
size_t csv_cut(void *arg, const char *data, size_t len, bool is_last);

void csv_split_init(struct csv_split *s, const grebe_allocator *a, const struct text_csv_options *o,
                    const char *name, const struct text_block *block);
void csv_split_release(struct csv_split *s);

/**
 * Append the fields of the next record. An empty line is a record of one field; comments are none.
 *
 * @param n_fields Written; 0 at the end of the block.
 * @param begin    Written: where the record begins.
 */
grebe_status csv_next_record(struct csv_split *s, size_t *n_fields, size_t *begin,
                             grebe_error *err);

/**
 * The next rows, up to about CSV_CELLS_AIM fields, in the place of the ones before: each of n_columns fields,
 * shorter ones filled or refused, empty lines skipped.
 *
 * @param n_rows Written; 0 at the end of the block.
 */
grebe_status csv_split_rows(struct csv_split *s, size_t n_columns, size_t *n_rows,
                            grebe_error *err);

/** The delimiter of a single column: the unit separator, which no text has. */
static const char CSV_NO_DELIMITER = '\x1f';

/** The delimiter that the first lines show; CSV_NO_DELIMITER: there is one column. */
char csv_sniff_delimiter(const struct text_csv_options *o, const char *data, size_t len);

/** Whether a text with escapes is the null of databases. */
static inline bool csv_is_escaped_null(const char *text, size_t len)
{
    return len == 2 && text[0] == '\\' && text[1] == 'N';
}

/** Whether the unquoted text is one of those that mean null. */
bool csv_is_null_word(const struct text_csv_options *o, const char *text, size_t len);

/** A backslash escapes outside of quotes, too, as databases write it. */
static inline bool csv_escapes_all(const struct text_csv_options *o, char delimiter)
{
    return o->escape == '\\' && o->quote != '\\' && delimiter != '\\';
}

/** Whether the cell is a null. */
static inline bool csv_is_null(const struct csv_split *s, struct csv_cell c)
{
    if (s->o->nulls == NULL) {
        return c.len == 0 && !c.is_quoted;
    }
    return c.begin == CSV_MISSING ||
           (!c.is_quoted && csv_is_null_word(s->o, s->block->data + c.begin, c.len));
}

/** Append the field's text, escapes undone. dst has room for c.len; gives the length. */
size_t csv_copy_text(const struct text_csv_options *o, char *dst, const char *data,
                     struct csv_cell c);

/** AND the types of all values of column i into *types; *is_seen: it has a value. */
void csv_infer_column(const struct csv_split *s, size_t n_rows, size_t n_columns, size_t i,
                      unsigned *types, bool *is_seen);

grebe_status csv_filled_init(struct csv_filled *f, const grebe_allocator *a,
                             const struct csv_column *column, grebe_error *err);
void csv_filled_release(struct csv_filled *f);
/** Room for so many more rows; of lists and structs there is always some. */
grebe_status csv_filled_reserve(struct csv_filled *f, size_t n_rows, grebe_error *err);
/** Column i of the rows split behind what is there. */
grebe_status csv_append_column(struct csv_filled *f, const struct csv_split *s, size_t n_rows,
                               size_t n_columns, size_t i, const struct csv_column *column,
                               const char *column_name, grebe_error *err);
grebe_status csv_filled_finish(struct csv_filled *f, const char *name, struct ArrowArray *out,
                               grebe_error *err);

/** The stream of a file. */
struct csv_stream {
    struct text_wave wave; /* first: text_slot.owner is it, too */
    struct text_csv_options o;
    struct ArrowSchema schema;
    struct ArrowSchema given; /* columns of given types; perhaps none */
    struct ArrowSchema read;  /* what blocks are built as; none: as the schema */
    struct arena arena;       /* of the given types */
    struct csv_column *columns;  /* shape [n_columns] */
    struct csv_column *findings; /* of each slot while types are inferred, [n_slots][n_columns] */
    size_t n_columns;
};

/**
 * Skip what is not looked at, and read the first record that is no empty line: how many columns, and their names.
 * With header AUTO what it is is decided, with no delimiter which one.
 */
grebe_status csv_read_header(struct csv_stream *s, grebe_error *err);

#endif
