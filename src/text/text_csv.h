/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_CSV_H
#define GREBE_TEXT_TEXT_CSV_H

/* CSV and TSV as rows: RFC 4180 and what is made in its name (docs/format/text.md). */

#include "text/text_input.h"

/** How the text is laid out. */
struct text_csv_options {
    char delimiter;            /* 0: , tab ; or | as the first lines show */
    bool has_no_header;        /* the first line is a row; columns are column_1, … */
    bool is_ragged_allowed;    /* missing fields are null, fields too many are left out */
    const char *const *nulls;  /* unquoted texts that mean null; NULL: the empty text */
    size_t n_nulls;
    struct text_sizes sizes;
};

#define TEXT_CSV_OPTIONS_INIT         \
    (struct text_csv_options)         \
    {                                 \
        0, false, false, NULL, 0, { 0, 0 } \
    }

/**
 * Read the header and infer the types: of a map from all of it, of anything else from its first
 * sample_bytes.
 *
 * @param in   Its reader is moved in on success.
 * @param o    Borrowed for the life of the stream where it holds pointers; NULL: defaults.
 * @param out  Owned. Read once; may outlive everything but ctx.
 * @return GREBE_OK; GREBE_ECORRUPT with name:line:column (ragged row, open quote, no UTF-8, a value that does
 *         not fit the type inferred); GREBE_ELIMIT; GREBE_EIO.
 */
grebe_status text_csv_open(grebe_context *ctx, const struct text_input *in,
                           const struct text_csv_options *o, struct ArrowArrayStream *out,
                           grebe_error *err);

#endif
