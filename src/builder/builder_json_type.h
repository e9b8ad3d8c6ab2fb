/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_JSON_TYPE_H
#define GREBE_BUILDER_BUILDER_JSON_TYPE_H

/*
 * What the values of one place in JSON have looked like, by the rules of the json loader (docs/format/dataset_kinds.md),
 * and the shape that text/json_table.h reads them with. Invariant: until something varies (`is_json`) all objects of a
 * place have the keys of the first one.
 */

#include "feature/features.h"
#include "text/json_shape.h"

enum {
    JSON_SAW_NULL = 1,
    JSON_SAW_BOOL = 2,
    JSON_SAW_INT = 4,
    JSON_SAW_FLOAT = 8,   /* or an integer beyond int64 */
    JSON_SAW_SPECIAL = 16, /* NaN, Infinity, -Infinity as bare words */
    JSON_SAW_STRING = 32,
    JSON_SAW_OBJECT = 64,
    JSON_SAW_ARRAY = 128
};

struct json_kinds_field;

struct json_kinds {
    unsigned seen;
    bool is_no_time; /* a string that is no point in time */
    bool is_json;    /* objects whose keys vary */
    struct json_kinds_field *first, *last;
    size_t n_fields, n_first; /* keys of the first object */
    struct json_kinds_field **table; /* by hash, once there are many; shape [mask + 1] */
    size_t mask;
    uint64_t n_objects;
    struct json_kinds *item;
};

struct json_kinds_field {
    const char *name;
    size_t len;
    uint64_t last_object; /* the number of the object that had it last, from 1 */
    struct json_kinds type;
    struct json_kinds_field *next;
};

/** What looks at values. */
struct json_see {
    struct arena *ar;
    struct buf scratch;
};

/** Take in the value at the cursor. GREBE_ECORRUPT (no JSON, a repeated key), without a place: the cursor is where it is.
 */
grebe_status json_kinds_see(struct json_see *s, struct json_kinds *t, struct json_cursor *c, int depth, grebe_error *err);

/** The value at the cursor is passed over; false: it is no JSON. */
bool json_skip_value(struct json_cursor *c, int depth);

/** Whether the text is a date or a date and time of whole seconds, with a zone or without; seconds since the epoch. */
bool json_time(const char *s, size_t len, int64_t *seconds);

/** Null places of t take what `more` has there. */
grebe_status json_kinds_widen(struct arena *ar, struct json_kinds *t, const struct json_kinds *more, grebe_error *err);
bool json_kinds_has_nulls(const struct json_kinds *t);

/** How the types of a block are decided. */
struct json_resolve {
    struct arena *ar;
    bool is_mixed_json; /* values of several kinds, and objects whose keys vary, become JSON; else an error, and all keys */
    bool has_times;     /* written: some strings are points in time */
    bool has_special;   /* written: NaN or Infinity stand in the text as bare words */
    size_t n_leaves;    /* written */
};

/**
 * The shape to read with, and the type of rows.
 *
 * @param like  What is wanted in the same place: its Json is read as JSON. NULL: nothing.
 * @param shape Initialised by the call.
 * @return GREBE_OK; GREBE_ECORRUPT (values of several kinds).
 */
grebe_status json_kinds_resolve(struct json_resolve *r, const struct json_kinds *t, const struct feature *like, int depth,
                               const char *name, struct json_shape *shape, grebe_error *err);

/** The shape in which values of the feature mostly come. What comes otherwise is read again by the types that it has. */
grebe_status json_shape_of_feature(struct json_resolve *r, const struct feature *f, struct json_shape *shape,
                                   grebe_error *err);

/** The type of rows that have the shape: as json_shape_schema, with the extension of Json, and points in time. */
grebe_status json_rows_schema(const grebe_allocator *a, const struct json_shape *s, const char *name,
                              struct ArrowSchema *out, grebe_error *err);
/** Strings that are points in time become them; array: of the shape's layout, taken over. */
grebe_status json_rows_times(const grebe_allocator *a, const struct json_shape *s, struct ArrowArray *array,
                             grebe_error *err);

#endif
