/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_CSV_H
#define GREBE_BUILDER_BUILDER_CSV_H

/*
 * CSV as pandas.read_csv reads it (docs/format/dataset_kinds.md): tokens by the states of its C parser, types of a chunk of
 * rows from all of its values.
 */

#include "builder/builder_text.h"

enum csv_bad { CSV_BAD_ERROR, CSV_BAD_WARN, CSV_BAD_SKIP };

/** How text is cut into fields. A character that is 0 means nothing. */
struct csv_format {
    char delimiter, quote, escape, comment, terminator;
    bool is_white;          /* any run of blanks and tabs delimits */
    bool is_double;         /* two quotes in a quoted field are one */
    bool is_space_skipped;  /* behind delimiters */
    bool is_blank_kept;     /* lines without anything are rows */
    unsigned char stops[256]; /* what ends a plain run of a field */
};

/** A set of texts, short ones mostly. */
struct csv_words {
    const char **items; /* shape [n], borrowed */
    size_t *lens;
    size_t n, capacity, len_max;
    bool has_first[256]; /* first bytes of them */
    bool has_empty;
};
bool csv_words_have(const struct csv_words *w, const char *p, size_t len);

/** NA spellings of one column; the default ones are in them. */
struct csv_na {
    const char *column; /* NULL: of all columns */
    struct csv_words words;
    double *numbers;    /* shape [n_numbers]: what they are as numbers */
    size_t n_numbers;
};

struct csv_options {
    struct csv_format format;
    struct builder_encoding encoding;
    int64_t header;         /* row of names; -1: none */
    const struct json_value *names, *index_col, *usecols, *skip_list; /* NULL: none */
    bool is_index_off;      /* index_col false */
    int64_t skip_rows, skip_footer, n_rows /* -1: all */, chunk_rows;
    struct csv_na *na;      /* shape [n_na]; the first is of all columns */
    size_t n_na;
    bool is_na_off;
    char thousands, decimal;
    struct csv_words true_words, false_words;
    enum csv_bad on_bad;
};

/** @param ar Holds what is made. */
grebe_status csv_read_options(const struct builder_base *b, struct arena *ar, struct csv_options *out, grebe_error *err);

/* ---- tokens: builder_csv_tokens.c ---- */

struct csv_field {
    uint64_t at;        /* in the text, or in the copies */
    uint32_t len;
    bool is_copied;     /* quotes or escapes were undone */
};

/** Rows of fields; text is borrowed. */
struct csv_chunk {
    const char *text;
    struct buf fields; /* struct csv_field */
    struct buf rows;   /* size_t: the first field of each row */
    struct buf copies;
};

static inline size_t csv_chunk_rows(const struct csv_chunk *c) { return c->rows.len / sizeof(size_t); }
static inline size_t csv_row_begin(const struct csv_chunk *c, size_t row)
{
    return ((const size_t *)(const void *)c->rows.data)[row];
}
static inline size_t csv_row_end(const struct csv_chunk *c, size_t row)
{
    return row + 1 < csv_chunk_rows(c) ? csv_row_begin(c, row + 1) : c->fields.len / sizeof(struct csv_field);
}
/** Field i of a row; false: the row is shorter. */
static inline bool csv_field_at(const struct csv_chunk *c, size_t row, size_t i, const char **p, size_t *len)
{
    size_t at = csv_row_begin(c, row) + i;
    if (at >= csv_row_end(c, row)) {
        return false;
    }
    const struct csv_field *f = (const struct csv_field *)(const void *)c->fields.data + at;
    const char *base = f->is_copied ? (const char *)c->copies.data : c->text;
    *p = base != NULL ? base + f->at : ""; /* nothing was copied yet, and so is the field */
    *len = f->len;
    return true;
}

enum csv_line { CSV_ROW, CSV_NOTHING, CSV_MORE, CSV_END, CSV_OPEN_QUOTE, CSV_OPEN_ESCAPE };

/**
 * One line of data[at, len), its fields put behind those of the chunk, whose text is data.
 *
 * @param is_last Nothing follows data + len; else a line that may go on is CSV_MORE, and nothing was taken.
 * @param used Written: bytes.
 */
grebe_status csv_take_line(const struct csv_format *f, const char *data, size_t len, size_t at, bool is_last,
                           struct csv_chunk *c, size_t *used, enum csv_line *what, grebe_error *err);
/** One physical line without its fields, whatever it is. */
enum csv_line csv_skip_line(const struct csv_format *f, const char *data, size_t len, size_t at, bool is_last,
                            size_t *used);

void csv_chunk_release(struct csv_chunk *c);
void csv_chunk_clear(struct csv_chunk *c, size_t n_rows);

/* ---- columns: builder_csv_columns.c ---- */

enum csv_type { CSV_ALL_NA, CSV_INT64, CSV_UINT64, CSV_DOUBLE, CSV_BOOL, CSV_TEXT };

/** A column of the file that is read. */
struct csv_column {
    const char *name;
    size_t at;            /* of its field in a row */
    bool is_given;        /* `wanted` is how it is read */
    enum csv_type wanted;
    const struct csv_na *na;
};

const char *csv_type_format(enum csv_type t);
/** The column's values of all rows of the chunk, and what they are. GREBE_ECORRUPT; with names of row and column. */
grebe_status csv_read_column(const grebe_allocator *a, const struct csv_options *o, const struct csv_chunk *c,
                             const struct csv_column *column, enum csv_type *type, struct ArrowArray *out,
                             grebe_error *err);

/* ---- a file: builder_csv_file.c ---- */

struct csv_file {
    const struct csv_options *o;
    struct builder_base *b;
    struct arena arena;        /* of names */
    struct text_reader reader;
    bool is_plain;
    struct csv_column *columns; /* shape [n]: those read, the index behind the others */
    size_t n;
    size_t n_fields;           /* a row has at most */
    uint64_t first_at;         /* of the first row */
    int64_t row;               /* the next */
    int64_t n_rows;            /* at most; -1: all */
    int64_t line;              /* lines so far, for skip_list */
    struct csv_chunk chunk;
};

/** Header read, reader at the first row or the place. Release in any case. */
grebe_status csv_file_open(struct builder_base *b, const struct csv_options *o, struct region *bytes, const char *name,
                           struct shard_place place, struct csv_file *out, grebe_error *err);
void csv_file_release(struct csv_file *f);
/** Tokens of the next rows, in f->chunk; GREBE_END. */
grebe_status csv_file_chunk(struct csv_file *f, grebe_error *err);
/** The chunk's columns as rows. @param types Written, shape [n]; may be NULL. */
grebe_status csv_file_rows(struct csv_file *f, enum csv_type *types, struct ArrowSchema *schema, struct ArrowArray *out,
                           grebe_error *err);

/* ---- which columns it has: builder_csv_names.c ---- */

/** Names of the n columns that have one: given, of the header row `row` of the chunk, or numbers. @param names Shape [n], written. */
grebe_status csv_make_names(struct csv_file *f, bool has_header, size_t row, size_t n, const char **names, grebe_error *err);
/** Columns with names, then those of the index, which are the first n_leading fields where rows have more fields than names. */
grebe_status csv_choose_columns(struct csv_file *f, const char *const *names, size_t n_names, size_t n_leading,
                                grebe_error *err);

#endif
