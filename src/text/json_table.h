/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_JSON_TABLE_H
#define GREBE_TEXT_JSON_TABLE_H

/* Arrays of a resolved shape, filled from text without a tree. Gives what json_build gives for the tree. */

#include "text/json_shape.h"
#include "text/text_builder.h"

struct json_node;

struct json_table {
    struct arena arena;  /* of the nodes */
    struct arena values; /* of one value that becomes JSON text */
    struct buf scratch;
    struct json_node *root;
    size_t n_leaves;
    uint64_t missing_bytes; /* of the values that were missing and are filled in */
};

/** @param expected Rows, about. */
grebe_status json_table_init(struct json_table *t, const grebe_allocator *a,
                             const struct json_shape *shape, size_t n_leaves, grebe_error *err);
void json_table_release(struct json_table *t);

/** Rows so far. */
size_t json_table_rows(const struct json_table *t);

/** Room for about so many rows. */
grebe_status json_table_expect(struct json_table *t, size_t n_rows, grebe_error *err);

/** The object at the cursor, which comes to stand behind it. Also JSON_ODD: the table is of no more use. */
grebe_status json_table_put(struct json_table *t, struct json_cursor *c, grebe_error *err);

/** For a table of any shape: the text as one value; JSON_ODD: it is none, and the table of no more use. */
grebe_status json_table_put_text(struct json_table *t, const char *text, size_t len,
                                 grebe_error *err);
grebe_status json_table_put_null(struct json_table *t, grebe_error *err);

/** All rows as an array. Also GREBE_ELIMIT (missing values would take memory without end). */
grebe_status json_table_finish(struct json_table *t, const char *name, struct ArrowArray *out,
                               grebe_error *err);

#endif
