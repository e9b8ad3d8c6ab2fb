/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_JSON_SHAPE_H
#define GREBE_TEXT_JSON_SHAPE_H

/*
 * What JSON values of one place have looked like so far, and the Arrow type that holds them
 * all. A shape lives in an arena; shapes of several blocks are merged in the order of the text.
 */

#include "arrow/arrow_array.h"
#include "text/json_cursor.h"
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
    struct json_field **table; /* by the hash of the name, once there are many; shape [mask + 1] */
    size_t mask;
    struct json_shape *item;
    enum json_form form;
    unsigned type; /* JSON_FORM_VALUE: one bit of enum text_type, 0: string */
    bool is_given; /* by the caller: what was seen does not matter */
    bool is_bytes; /* a binary type of any length was given: text stands for bytes (text_bytes.h); type is 0 */
    struct arrow_type given;
    const char *format, *type_name; /* of the given type; in the arena */
};

struct json_field {
    const char *name; /* in the arena, NUL-terminated */
    size_t len;
    size_t index; /* of its shape's fields */
    /* The first bytes of the name with the quote behind it, as they stand in text; mask 0: the
     * name is not written as it is. */
    uint64_t head, head_mask;
    struct json_shape shape;
    struct json_field *next;
    struct json_field *guess; /* followed it in the object before; for the one thread that infers */
};

/** Values of one batch, the missing ones counted: sparse rows must not take memory without end. */
enum { JSON_VALUES_MAX = 1 << 26 };

/** Bytes that missing values of one batch take in arrays, nulls that were written not counted. */
enum { JSON_MISSING_BYTES_MAX = 1 << 28 };

/** Fields of one struct. */
enum { JSON_FIELDS_MAX = 16384 };

void json_shape_init(struct json_shape *s);

/**
 * Take in the value at the cursor, which comes to stand behind it.
 *
 * @param depth   Of the value, 0: a row.
 * @param scratch For names and texts with escapes.
 * @return also JSON_ODD.
 */
grebe_status json_shape_see(struct arena *ar, struct json_shape *s, struct json_cursor *c, int depth,
                            struct buf *scratch, grebe_error *err);

/** Whether the name of f in quotes stands at p; names of up to 7 bytes without a call. */
static inline bool json_field_is_at(const struct json_field *f, const char *p, const char *end)
{
    if (f->head_mask == 0 || (size_t)(end - p) < f->len + 2 || end - p < 9 || *p != '"' ||
        ((load_le64(p + 1) ^ f->head) & f->head_mask) != 0) {
        return false;
    }
    return f->len < 8 || (memcmp(p + 1 + 8, f->name + 8, f->len - 8) == 0 && p[1 + f->len] == '"');
}

/** The field of that name, added when there is none. @param hint May be NULL. */
grebe_status json_shape_field_of(struct arena *ar, struct json_shape *s, const char *name,
                                 size_t len, struct json_field *hint, struct json_field **out,
                                 grebe_error *err);

/** The shape of the items, made when there is none. */
grebe_status json_shape_need_item(struct arena *ar, struct json_shape *s, grebe_error *err);

/** Take in one value. GREBE_OK; GREBE_ELIMIT (fields), GREBE_ENOMEM. */
grebe_status json_shape_add(struct arena *ar, struct json_shape *s, const struct json_value *v,
                            grebe_error *err);
/** Take in what another one has seen; nothing of it is kept. */
grebe_status json_shape_merge(struct arena *ar, struct json_shape *s, const struct json_shape *from,
                              grebe_error *err);

/** Take the type of a native schema (text_given.h), whatever was seen. */
grebe_status json_shape_give(struct arena *ar, struct json_shape *s, const struct ArrowSchema *type,
                             grebe_error *err);
/** The fields of a struct schema are given their types, and added where none was seen. */
grebe_status json_shape_give_fields(struct arena *ar, struct json_shape *s,
                                    const struct ArrowSchema *fields, grebe_error *err);

/** Bytes that a value without content takes in the arrays of a resolved shape, fields below it not counted. */
size_t json_shape_slot_bytes(const struct json_shape *s);

/** Decide form and type at every depth; adds the leaves up. */
void json_shape_resolve(struct json_shape *s, int depth, size_t *n_leaves);

/** Whether a place of a resolved shape had objects, but none with a field. */
bool json_shape_has_empty(const struct json_shape *s);

/** The field of that name, looked for first at `hint` (may be NULL). */
struct json_field *json_shape_field(const struct json_shape *s, const char *name, size_t len,
                                    struct json_field *hint);

/** Schema of a resolved shape. */
grebe_status json_shape_schema(const grebe_allocator *a, const struct json_shape *s,
                               const char *name, struct ArrowSchema *out, grebe_error *err);

/**
 * Values as an array of the resolved shape.
 *
 * @param name     Of the input, for messages.
 * @param is_trial The shape comes from other rows: a key that comes twice in an object is refused as well,
 *                 as what its first value would make of the shape is not known.
 * @param values   Shape [n]; NULL: missing.
 * @return also GREBE_ECORRUPT naming the place of a value that does not fit.
 */
grebe_status json_build(const grebe_allocator *a, const char *name, const struct json_shape *s,
                        bool is_trial, const struct json_value *const *values, size_t n,
                        struct ArrowArray *out, grebe_error *err);

/** The value as JSON text, numbers as they were written. */
grebe_status json_put_value(struct buf *dst, const struct json_value *v, grebe_error *err);
/** How many arrays and objects it has inside each other. */
int json_value_depth(const struct json_value *v);

#endif
