/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_JSON_H
#define GREBE_WIRE_JSON_H

/*
 * JSON (RFC 8259): a strict reader into a tree that lives in an arena, and a writer.
 * Integers are exact through the whole range of int64 and uint64; duplicate keys are kept.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum { JSON_DEPTH_MAX = 64 };

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_member;

struct json_value {
    enum json_type type;
    uint32_t line, column; /* of its first character, from 1; columns count characters */
    bool boolean;
    size_t n; /* bytes of text, elements, members */
    union {
        const char *text; /* string (decoded, NUL-terminated, may hold NULs) or number as written */
        const struct json_value *items;
        const struct json_member *members;
    };
};

struct json_member {
    const char *key; /* decoded, NUL-terminated */
    size_t key_len;
    struct json_value value;
};

/**
 * Read one value; nothing but white space may follow. A byte order mark is skipped.
 *
 * @param text Borrowed for the call: the tree copies what it needs into the arena.
 * @param out  In the arena.
 * @return GREBE_OK; GREBE_ECORRUPT with "line:column"; GREBE_ELIMIT (depth); GREBE_ENOMEM.
 */
grebe_status json_parse(struct arena *ar, const char *text, size_t len,
                        const struct json_value **out, grebe_error *err);

/** Where a value of a larger text begins; lines and columns from 1. */
struct json_place {
    const char *name; /* put before "line:column" in messages; borrowed */
    uint32_t line, column;
};

/**
 * As json_parse for a value inside a larger text, which has no byte order mark.
 *
 * @param used Written: bytes up to the end of the value, behind which anything may follow.
 *             NULL: nothing but white space may.
 */
grebe_status json_parse_at(struct arena *ar, const char *text, size_t len,
                           const struct json_place *place, size_t *used,
                           const struct json_value **out, grebe_error *err);

/** The last member with the key; NULL: there is none, or v is no object (or NULL). */
const struct json_value *json_get(const struct json_value *v, const char *key);

/** Whether a number is an integer in range, and which; "1.0" and "1e3" are integers too. */
bool json_i64(const struct json_value *v, int64_t *out);
bool json_u64(const struct json_value *v, uint64_t *out);
/** Any number, correctly rounded. */
bool json_double(const struct json_value *v, double *out);
/** Whether v is a string equal to text. */
bool json_is_text(const struct json_value *v, const char *text);

/** "null", "true or false", "number", "string", "array", "object". */
const char *json_type_name(enum json_type type);

/**
 * The member with the key, which must be there and of the type.
 *
 * @return GREBE_OK; GREBE_ECORRUPT with the place of the object or value.
 */
grebe_status json_expect(const struct json_value *v, const char *key, enum json_type type,
                         const struct json_value **out, grebe_error *err);

/* ---- writing ---- */

/** A quoted string; what is no UTF-8 becomes U+FFFD. */
grebe_status json_put_string(struct buf *dst, const char *s, size_t len, grebe_error *err);
grebe_status json_put_i64(struct buf *dst, int64_t v, grebe_error *err);
grebe_status json_put_u64(struct buf *dst, uint64_t v, grebe_error *err);
/** Fewest digits that read back; null for what JSON has no number for (NaN, infinities). */
grebe_status json_put_double(struct buf *dst, double v, grebe_error *err);
grebe_status json_put_float(struct buf *dst, float v, grebe_error *err);

/**
 * Commas and colons by themselves. The first failure stays in `status` and `err`; everything after
 * it does nothing, so that one check at json_end() is enough.
 */
struct json_writer {
    struct buf *dst;
    grebe_error *err;
    grebe_status status;
    int depth;
    int indent; /* spaces per level, 0: one line */
    bool has_key;
    bool has_items[JSON_DEPTH_MAX + 1];
};

void json_begin(struct json_writer *w, struct buf *dst, int indent, grebe_error *err);
void json_open_object(struct json_writer *w);
void json_close_object(struct json_writer *w);
void json_open_array(struct json_writer *w);
void json_close_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_key_len(struct json_writer *w, const char *key, size_t len);
void json_text(struct json_writer *w, const char *s);
void json_text_len(struct json_writer *w, const char *s, size_t len);
void json_int(struct json_writer *w, int64_t v);
void json_uint(struct json_writer *w, uint64_t v);
void json_real(struct json_writer *w, double v);
void json_real32(struct json_writer *w, float v);
void json_bool(struct json_writer *w, bool v);
void json_null(struct json_writer *w);
/** A value that is JSON already. */
void json_raw(struct json_writer *w, const char *s, size_t len);
/** GREBE_OK; the first failure. */
grebe_status json_end(struct json_writer *w);

#endif
