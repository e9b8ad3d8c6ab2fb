/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_CSV_H
#define GREBE_TEXT_TEXT_CSV_H

/* CSV and TSV as rows: RFC 4180 and what is made in its name (docs/format/text.md). */

#include "text/text_input.h"

/** The first line. */
enum text_header {
    TEXT_HEADER_YES,  /* has the names of the columns */
    TEXT_HEADER_NO,   /* is a row; columns are column_1, … */
    TEXT_HEADER_AUTO, /* has names unless it has a number, date or truth value */
};

/** Rows that have another number of fields than the first line. */
enum text_ragged {
    TEXT_RAGGED_ERROR,
    TEXT_RAGGED_FILL, /* missing fields are null, fields too many are left out */
    TEXT_RAGGED_DROP, /* the row is left out */
};

/** How the text is laid out. */
struct text_csv_options {
    char delimiter;            /* 0: , tab ; or | as the first lines show */
    char quote;                /* 0: no field is quoted */
    char escape;               /* inside quotes, before a quote; 0 or the quote: doubling alone */
    char comment;              /* lines that begin with it are left out; 0: none */
    enum text_header header;
    enum text_ragged ragged;
    bool is_decimal_comma;     /* 1,5 is a number, 1.5 is none */
    bool is_trimmed;           /* blanks around unquoted fields do not count */
    uint64_t skip_lines;       /* in front of the first line */
    const char *const *nulls;  /* unquoted texts that mean null; NULL: the empty text */
    size_t n_nulls;
    const struct ArrowSchema *schema; /* columns that have given types, borrowed for the call; NULL: none */
    bool is_schema_loose;      /* columns of the schema that are not there, or cannot be, are passed over */
    struct text_sizes sizes;
};

#define TEXT_CSV_OPTIONS_INIT         \
    (struct text_csv_options)         \
    {                                 \
        .quote = '"'                  \
    }

/**
 * Read the header and infer the types: of a map from all of it, of anything else from its first
 * sample_bytes.
 *
 * @param in   Its reader is moved in on success.
 * @param o    Borrowed for the call; NULL: defaults.
 * @param out  Owned. Read once; may outlive everything but ctx.
 * @return GREBE_OK; GREBE_ECORRUPT with name:line:column (ragged row, open quote, no UTF-8, a value that does
 *         not fit the type inferred); GREBE_ELIMIT; GREBE_EIO.
 */
grebe_status text_csv_open(grebe_context *ctx, const struct text_input *in,
                           const struct text_csv_options *o, struct ArrowArrayStream *out,
                           grebe_error *err);

#endif
