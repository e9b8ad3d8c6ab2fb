/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_JSON_RECORDS_H
#define GREBE_TEXT_JSON_RECORDS_H

/* The objects of a block, one after another: lines, values with any space between, or elements of an array. */

#include "text/json_shape.h"
#include "text/json_table.h"
#include "text/text_wave.h"

enum json_layout { LAYOUT_LINES, LAYOUT_VALUES, LAYOUT_ARRAY };

struct json_stream {
    struct text_wave wave; /* first: text_slot.owner is it, too */
    enum json_layout layout;
    bool is_by_tree, is_schema_loose;
    bool is_trial; /* types of the first rows are tried on all of them */
    struct arena arena; /* of the shape */
    struct json_shape shape;
    size_t n_leaves;
    struct json_found *found; /* of each slot while the shape is inferred, [n_slots] */
    struct ArrowSchema schema;
    struct ArrowSchema given, native; /* fields of given types, as given and as read; perhaps none */
    struct ArrowSchema read;          /* what blocks are built as; none: as the schema */
};

struct json_found {
    struct arena arena;
    struct json_shape shape;
    size_t n_rows;
};

struct json_records;

/* Takes the object at r->at; `end` bounds it. With is_alone nothing but space may follow. */
typedef grebe_status (*object_fn)(struct json_records *r, size_t end, bool is_alone,
                                  grebe_error *err);

/* A block being read, record by record: into a shape, into a table, or into trees. */
struct json_records {
    const struct json_stream *s;
    struct text_slot *slot;
    object_fn object;
    struct json_found *found; /* of see_object */
    struct json_table *table; /* of put_object */
    struct buf scratch;
    struct arena arena; /* of the values */
    struct buf values;  /* const struct json_value * */
    size_t at, counted; /* lines before `counted` are in `line` */
    uint64_t line, column; /* of `counted` */
};

/** Where a block of JSON can be cut: behind the last value that ends at depth 0; inside an array: behind the comma after it. */
size_t json_cut_values(const char *data, size_t len, bool is_array);
/** Text_cut_fn; arg is the json_stream. */
size_t json_cut(void *arg, const char *data, size_t len, bool is_last);

/** object_fn: straight from the text, into the table or the shape found. Also JSON_ODD. */
grebe_status json_plain_object(struct json_records *r, size_t end, bool is_alone, grebe_error *err);
/** object_fn: as a tree, which knows its places. */
grebe_status json_tree_object(struct json_records *r, size_t end, bool is_alone, grebe_error *err);

/** All objects of the slot's block; r has `found` or `table`, the rest is set. Release it in any case. */
grebe_status json_read_block(struct json_records *r, struct text_slot *slot, object_fn object,
                             grebe_error *err);
void json_release_block(struct json_records *r);

/** The trees, shape [*n]. */
const struct json_value *const *json_values_of(const struct json_records *r, size_t *n);

#endif
