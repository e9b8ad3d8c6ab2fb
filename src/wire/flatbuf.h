/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_FLATBUF_H
#define GREBE_WIRE_FLATBUF_H

/*
 * FlatBuffers without generated code. The reader checks every offset against the buffer; the
 * first fault is remembered, every later access gives its default, and flatbuf_status() tells.
 * So a decoder reads straight on and asks once before it trusts what it read.
 *
 * Slots are numbered as the fields of the .fbs table: 0, 1, 2, …; a union takes two.
 * Source: FlatBuffers "Internals" (format of tables, vtables, vectors).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct flatbuf {
    const unsigned char *data;
    size_t len;
    size_t budget;   /* tables that may still be opened: shared sub-tables cannot multiply work */
    const char *bad; /* static text of the first fault; NULL: none */
    size_t bad_at;
};

/** An opened table; pos 0: the field is absent (every getter then gives its default). */
struct flatbuf_table {
    size_t pos, vtable;
    uint16_t vtable_len, table_len;
};

/** A vector; pos 0: absent. Elements begin at data + pos; all n lie inside the buffer. */
struct flatbuf_vector {
    size_t pos;
    uint32_t n;
};

/** data is borrowed while the reader is used. */
void flatbuf_init(struct flatbuf *fb, const void *data, size_t len);
/** GREBE_OK; GREBE_ECORRUPT with the first fault and its offset. */
grebe_status flatbuf_status(const struct flatbuf *fb, grebe_error *err);
/** Remember a fault found by a decoder; the first one stays. `why` is a static text. */
void flatbuf_set_bad(struct flatbuf *fb, size_t at, const char *why);

struct flatbuf_table flatbuf_root(struct flatbuf *fb);
bool flatbuf_has(const struct flatbuf *fb, const struct flatbuf_table *t, int slot);
uint8_t flatbuf_u8(struct flatbuf *fb, const struct flatbuf_table *t, int slot, uint8_t missing);
int16_t flatbuf_i16(struct flatbuf *fb, const struct flatbuf_table *t, int slot, int16_t missing);
uint16_t flatbuf_u16(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                     uint16_t missing);
int32_t flatbuf_i32(struct flatbuf *fb, const struct flatbuf_table *t, int slot, int32_t missing);
uint32_t flatbuf_u32(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                     uint32_t missing);
int64_t flatbuf_i64(struct flatbuf *fb, const struct flatbuf_table *t, int slot, int64_t missing);
uint64_t flatbuf_u64(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                     uint64_t missing);
/** A struct of `size` bytes stored in the table; NULL: absent. */
const unsigned char *flatbuf_struct(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                                    size_t size);
struct flatbuf_table flatbuf_child(struct flatbuf *fb, const struct flatbuf_table *t, int slot);
/** elem_size: bytes of one element (4 for tables and strings). */
struct flatbuf_vector flatbuf_vector(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                                     size_t elem_size);
/** Bytes of a string, NUL not counted; NULL: absent, *len 0. Not checked for UTF-8. */
const char *flatbuf_string(struct flatbuf *fb, const struct flatbuf_table *t, int slot,
                           size_t *len);
/** Element i < n of a vector of tables, of strings. */
struct flatbuf_table flatbuf_vector_table(struct flatbuf *fb, const struct flatbuf_vector *v,
                                          uint32_t i);
const char *flatbuf_vector_string(struct flatbuf *fb, const struct flatbuf_vector *v, uint32_t i,
                                  size_t *len);

/* ---- writing, front to back: a parent first, its children behind it, then flatbuf_link ---- */

enum { FLATBUF_SLOTS_MAX = 32 };

/** One field of a table to be written. */
struct flatbuf_field {
    int slot;
    int width;      /* 1, 2, 4, 8; FLATBUF_OFFSET: to be linked */
    uint64_t value; /* little-endian bits; not used for offsets */
};
enum { FLATBUF_OFFSET = 0 };

/** The buffer, a struct buf that starts at a multiple of 8; offsets count from `base`. */
struct flatbuf_writer {
    struct buf *out;
    size_t base;
};

/** Begin: writes the root offset, which flatbuf_link(w, 0, table) sets. */
grebe_status flatbuf_writer_begin(struct flatbuf_writer *w, struct buf *out, grebe_error *err);

/**
 * A table with the fields given (others absent). Fields ascend by slot.
 *
 * @param at  Written, shape [n]: position of each field, for flatbuf_link.
 * @param pos Position of the table.
 */
grebe_status flatbuf_put_table(struct flatbuf_writer *w, const struct flatbuf_field *fields,
                               size_t n, size_t *at, size_t *pos, grebe_error *err);
grebe_status flatbuf_put_string(struct flatbuf_writer *w, const char *s, size_t len, size_t *pos,
                                grebe_error *err);
/** n offsets to be linked: element i is at *pos + 4 + 4 * i. */
grebe_status flatbuf_put_offsets(struct flatbuf_writer *w, size_t n, size_t *pos,
                                 grebe_error *err);
/** n elements of elem_size bytes with the alignment given; bytes NULL: zeros. */
grebe_status flatbuf_put_vector(struct flatbuf_writer *w, const void *bytes, size_t n,
                                size_t elem_size, size_t align, size_t *pos, grebe_error *err);
/** Make the offset field at `at` point to `target`, which lies behind it. */
void flatbuf_link(struct flatbuf_writer *w, size_t at, size_t target);

#endif
