/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_JSON_H
#define GREBE_TEXT_TEXT_JSON_H

/* JSON lines, and one array of objects, as rows (docs/format/text.md). */

#include "text/text_input.h"

struct text_json_options {
    bool is_lines; /* a record is a line; else objects follow each other with any white space */
    const struct ArrowSchema *schema; /* fields that have given types, borrowed for the call; NULL: none */
    bool is_schema_loose; /* fields of the schema that never occur, or cannot, are passed over */
    bool is_by_tree; /* every block is read by trees: for tests, which compare */
    struct text_sizes sizes;
};

#define TEXT_JSON_OPTIONS_INIT   \
    (struct text_json_options)   \
    {                            \
        .is_lines = true         \
    }

/**
 * Infer the types, as text_csv_open does. Text that begins with '[' is one array of objects,
 * whatever the options say.
 *
 * @return GREBE_OK; GREBE_ECORRUPT with name:line:column (no JSON, a row that is no object, a value that
 *         does not fit the type inferred); GREBE_ELIMIT; GREBE_EIO.
 */
grebe_status text_json_open(grebe_context *ctx, const struct text_input *in,
                            const struct text_json_options *o, struct ArrowArrayStream *out,
                            grebe_error *err);

#endif
