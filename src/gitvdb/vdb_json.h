/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_JSON_H
#define GREBE_GITVDB_VDB_JSON_H

/*
 * JSON whose bytes are part of a collection's identity (docs/format/gitvdb.md, "JSON"): three classes of numbers,
 * floats read by the format's own rule (one multiplication or division, not correctly rounded), objects with
 * unique keys in the order of their bytes, one way to print. It is not wire/json.h, which keeps numbers as written.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

/** Containers that may be open at once. */
enum { VDB_JSON_DEPTH_MAX = 127 };

enum vdb_json_type {
    VDB_NULL,
    VDB_BOOL,
    VDB_UINT,    /* not negative */
    VDB_INT,     /* negative */
    VDB_FLOAT,   /* finite */
    VDB_FLOAT32, /* output only: printed as a float of 32 bits, in lines (VDB_PRINT_LINES) as one of 64 */
    VDB_STRING,
    VDB_ARRAY,
    VDB_OBJECT,
    VDB_RAW /* output only: text that is canonical JSON already */
};

struct vdb_member;

struct vdb_value {
    enum vdb_json_type type;
    union {
        bool boolean;
        uint64_t u;
        int64_t i;
        double f;
        struct {
            const char *text; /* UTF-8, may hold NULs */
            size_t len;
        } s;
        struct {
            const struct vdb_value *items;
            size_t n;
        } array;
        struct {
            const struct vdb_member *members; /* a value that was read: sorted by key bytes, unique (the last won) */
            size_t n;
        } object;
    };
};

struct vdb_member {
    const char *key;
    size_t key_len;
    struct vdb_value value;
};

/**
 * Read one value; nothing but white space may follow.
 *
 * @param ar   Holds the value. text may be freed afterwards.
 * @return GREBE_OK; GREBE_EINVAL with "line L column C: expected …, found …" (callers that read from the
 *         repository turn it into GREBE_ECORRUPT); GREBE_ENOMEM.
 */
grebe_status vdb_json_parse(struct arena *ar, const char *text, size_t len, const struct vdb_value **out,
                            grebe_error *err);

/** Compact, keys as they stand in the value. */
grebe_status vdb_json_put(struct buf *dst, const struct vdb_value *v, grebe_error *err);

/** The forms of the command's output. */
enum vdb_print {
    VDB_PRINT_JSON,   /* one line, keys as they stand */
    VDB_PRINT_PRETTY, /* two blanks a level, keys as they stand */
    VDB_PRINT_LINES   /* keys sorted; one line for each element of the first of "points", "collections", "history",
                         "reports", "results" that is an array, else one line */
};
/** The whole output with its line feeds. */
grebe_status vdb_json_print(struct buf *dst, const struct vdb_value *v, enum vdb_print form, grebe_error *err);

/** Member of an object; NULL: there is none, or v is no object. */
const struct vdb_value *vdb_json_get(const struct vdb_value *v, const char *key, size_t key_len);

/** As a message names it: "a string", "an array". */
const char *vdb_json_type_name(enum vdb_json_type type);

/** As the format compares payloads: numbers are equal when class and value are (so -0.0 equals 0.0). */
bool vdb_json_equal(const struct vdb_value *a, const struct vdb_value *b);

/** The same of two canonical objects as text: all that may differ are the signs of zeros. Memory: none. */
bool vdb_payload_equal(const char *x, size_t x_len, const char *y, size_t y_len);

/**
 * Whether text is one object printed canonically, under the format's reading of floats or under correct rounding (other
 * writers store floats that the format's rule does not read back to themselves). Makes no tree; memory: none.
 */
bool vdb_json_is_canonical_object(const char *text, size_t len);

/** Whether any float in canonical text would be read back as another one: such a payload is unreadable to git-vdb 0.4.
 */
bool vdb_json_is_unstable(const char *text, size_t len);

/** Canonical text, but such floats with other digits, which the format's reader takes back to the stored ones (all but a few in a thousand). */
grebe_status vdb_json_put_readable(struct buf *dst, const char *text, size_t len, grebe_error *err);

#endif
