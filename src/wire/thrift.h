/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_THRIFT_H
#define GREBE_WIRE_THRIFT_H

/*
 * The Thrift compact protocol over a run of bytes, both ways.
 *
 * Reading never fails at once: the first fault is remembered, every later read gives 0 or
 * "nothing", and thrift_reader_check() tells the story at the end. So struct decoders are plain
 * loops. No count and no length is believed beyond the bytes that remain.
 *
 * Source: thrift-compact-protocol.md of Apache Thrift.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum thrift_type {
    THRIFT_STOP = 0,
    THRIFT_TRUE = 1, /* in a field header; a bool inside a list is a byte of its own */
    THRIFT_FALSE = 2,
    THRIFT_I8 = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_DOUBLE = 7,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_SET = 10,
    THRIFT_MAP = 11,
    THRIFT_STRUCT = 12,
    THRIFT_UUID = 13
};

/** Nesting that a skip follows; deeper is a fault. */
enum { THRIFT_DEPTH_MAX = 64 };

/* ---- reading ---- */

struct thrift_reader {
    const unsigned char *begin, *at, *end;
    const char *fault;   /* static string; NULL: all is well so far */
    size_t fault_offset; /* from begin */
    bool is_short;       /* the fault is that the bytes ended */
};

/** One field of a struct being read; {0} before the first. */
struct thrift_field {
    int32_t id;
    uint8_t type;
};

void thrift_reader_init(struct thrift_reader *r, const void *bytes, size_t len);

/** GREBE_OK; GREBE_ECORRUPT with what was wrong and the offset in the bytes. */
grebe_status thrift_reader_check(const struct thrift_reader *r, const char *what,
                                 grebe_error *err);

/** Remember a fault of the caller's own finding (the first one stays). */
void thrift_fault(struct thrift_reader *r, const char *fault);

static inline size_t thrift_consumed(const struct thrift_reader *r)
{
    return (size_t)(r->at - r->begin);
}

/** The next field's id and type; false at the end of the struct or after a fault. */
bool thrift_field_next(struct thrift_reader *r, struct thrift_field *f);

/* The value of the field f: true and *out when it has the wanted type. A value of another type
 * is skipped and gives false: private fields of other writers must not cost us our place. */
bool thrift_get_bool(struct thrift_reader *r, const struct thrift_field *f, bool *out);
/** i16, i32 and i64 are one another's; out of int32 is a fault. */
bool thrift_get_i32(struct thrift_reader *r, const struct thrift_field *f, int32_t *out);
bool thrift_get_i64(struct thrift_reader *r, const struct thrift_field *f, int64_t *out);
bool thrift_get_i8(struct thrift_reader *r, const struct thrift_field *f, int8_t *out);
bool thrift_get_double(struct thrift_reader *r, const struct thrift_field *f, double *out);
/** *bytes points into what is read. */
bool thrift_get_bytes(struct thrift_reader *r, const struct thrift_field *f,
                      const unsigned char **bytes, size_t *len);
/** true: the caller reads the fields of the struct up to its stop now. */
bool thrift_get_struct(struct thrift_reader *r, const struct thrift_field *f);
/**
 * true: n elements of type *elem follow, and the caller reads them all. `elem` is wanted on the
 * way in (THRIFT_I64 accepts all integers, THRIFT_TRUE both bools) and found on the way out.
 * n never exceeds the bytes that remain.
 */
bool thrift_get_list(struct thrift_reader *r, const struct thrift_field *f, uint8_t *elem,
                     uint32_t *n);

/* Elements of a list. */
bool thrift_elem_bool(struct thrift_reader *r);
int64_t thrift_elem_int(struct thrift_reader *r, uint8_t elem);
void thrift_elem_bytes(struct thrift_reader *r, const unsigned char **bytes, size_t *len);

/** Pass over a value of any type. */
void thrift_skip(struct thrift_reader *r, uint8_t type);

/* ---- writing ---- */

/** Appends to a buffer; the first failure stays, thrift_writer_finish() gives it. */
struct thrift_writer {
    struct buf *to;
    grebe_error *err;
    grebe_status status;
    unsigned depth;
    int32_t last_id[THRIFT_DEPTH_MAX];
};

/** Begins the outermost struct. err is borrowed until thrift_writer_finish(). */
void thrift_writer_init(struct thrift_writer *w, struct buf *to, grebe_error *err);
/** Ends the outermost struct. */
grebe_status thrift_writer_finish(struct thrift_writer *w);

/* Fields; ids ascend within a struct. */
void thrift_put_bool(struct thrift_writer *w, int32_t id, bool v);
void thrift_put_i8(struct thrift_writer *w, int32_t id, int8_t v);
void thrift_put_i16(struct thrift_writer *w, int32_t id, int16_t v);
void thrift_put_i32(struct thrift_writer *w, int32_t id, int32_t v);
void thrift_put_i64(struct thrift_writer *w, int32_t id, int64_t v);
void thrift_put_double(struct thrift_writer *w, int32_t id, double v);
void thrift_put_bytes(struct thrift_writer *w, int32_t id, const void *bytes, size_t len);
void thrift_put_struct(struct thrift_writer *w, int32_t id);
void thrift_put_list(struct thrift_writer *w, int32_t id, uint8_t elem, size_t n);
/** Ends a struct begun by thrift_put_struct or thrift_add_struct. */
void thrift_end_struct(struct thrift_writer *w);

/* Elements of a list. */
void thrift_add_bool(struct thrift_writer *w, bool v);
void thrift_add_i32(struct thrift_writer *w, int32_t v);
void thrift_add_i64(struct thrift_writer *w, int64_t v);
void thrift_add_bytes(struct thrift_writer *w, const void *bytes, size_t len);
void thrift_add_struct(struct thrift_writer *w);

#endif
