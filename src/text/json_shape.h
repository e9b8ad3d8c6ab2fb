/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_JSON_SHAPE_H
#define GREBE_TEXT_JSON_SHAPE_H

/*
 * What JSON values of one place have looked like so far, and the Arrow type that holds them
 * all. A shape lives in an arena; shapes of several blocks are merged in the order of the text.
 */

#include "arrow/arrow_array.h"
#include "text/text_type.h"
#include "wire/json.h"

enum json_seen {
    JSON_SEEN_SCALAR = 1,  /* a number or a truth value: `types` has which fit */
    JSON_SEEN_STRING = 2,
    JSON_SEEN_SPECIAL = 4, /* "NaN", "Infinity", "-Infinity": how JSON output has them */
    JSON_SEEN_OBJECT = 8,
    JSON_SEEN_ARRAY = 16
};

/** What a shape comes to: json_shape_resolve. */
enum json_form { JSON_FORM_NULL, JSON_FORM_VALUE, JSON_FORM_STRUCT, JSON_FORM_LIST, JSON_FORM_TEXT };

struct json_field;

struct json_shape {
    unsigned seen, types;
    struct json_field *first, *last;
    size_t n_fields;
    struct json_shape *item;
    enum json_form form;
    unsigned type; /* JSON_FORM_VALUE: one bit of enum text_type, 0: string */
};

struct json_field {
    const char *name; /* in the arena, NUL-terminated */
    size_t len;
    size_t index; /* of its shape's fields */
    struct json_shape shape;
    struct json_field *next;
};

/** Fields of one struct. */
enum { JSON_FIELDS_MAX = 16384 };

void json_shape_init(struct json_shape *s);

/** Take in one value. GREBE_OK; GREBE_ELIMIT (fields), GREBE_ENOMEM. */
grebe_status json_shape_add(struct arena *ar, struct json_shape *s, const struct json_value *v,
                            grebe_error *err);
/** Take in what another one has seen; nothing of it is kept. */
grebe_status json_shape_merge(struct arena *ar, struct json_shape *s, const struct json_shape *from,
                              grebe_error *err);

/** Decide form and type at every depth; adds the leaves up. */
void json_shape_resolve(struct json_shape *s, int depth, size_t *n_leaves);

/** The field of that name, looked for first at `hint` (may be NULL). */
struct json_field *json_shape_field(const struct json_shape *s, const char *name, size_t len,
                                    struct json_field *hint);

/** Schema of a resolved shape. */
grebe_status json_shape_schema(const grebe_allocator *a, const struct json_shape *s,
                               const char *name, struct ArrowSchema *out, grebe_error *err);

/**
 * Values as an array of the resolved shape.
 *
 * @param name   Of the input, for messages.
 * @param values Shape [n]; NULL: missing.
 * @return also GREBE_ECORRUPT naming the place of a value that does not fit.
 */
grebe_status json_build(const grebe_allocator *a, const char *name, const struct json_shape *s,
                        const struct json_value *const *values, size_t n, struct ArrowArray *out,
                        grebe_error *err);

#endif
