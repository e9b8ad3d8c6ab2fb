/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_AVRO_H
#define GREBE_WIRE_AVRO_H

/*
 * Avro binary encoding: the primitives (Avro specification 1.11, "Binary Encoding") and the
 * object container file around them ("Object Container Files"). No IO.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"

/** Longest string or bytes value that is accepted. */
enum { AVRO_STRING_MAX = 16 << 20 };

/** A run of input bytes and how far it is read. Plain value. */
struct avro_reader {
    const unsigned char *data; /* borrowed */
    size_t len;
    size_t at;
    uint64_t base; /* offset of data[0] in the file, for messages */
    uint64_t n_skipped; /* values that avro_skip passed over */
};

/** Bytes of the input (or of an arena, then with a NUL behind them). */
struct avro_bytes {
    const char *data;
    size_t len;
};

static inline size_t avro_remaining(const struct avro_reader *r) { return r->len - r->at; }

/* All of these fail with GREBE_ECORRUPT and the offset when the bytes end or make no sense. */

grebe_status avro_read_long(struct avro_reader *r, int64_t *out, grebe_error *err);
grebe_status avro_read_int(struct avro_reader *r, int32_t *out, grebe_error *err);
/** Length-prefixed bytes, borrowed from the input; GREBE_ELIMIT beyond AVRO_STRING_MAX. */
grebe_status avro_read_bytes(struct avro_reader *r, struct avro_bytes *out, grebe_error *err);
/** n bytes, borrowed from the input. */
grebe_status avro_read_raw(struct avro_reader *r, size_t n, const unsigned char **out,
                           grebe_error *err);

/**
 * Head of the next block of an array or map.
 *
 * @param n Items in the block; 0: the collection ends. Never more than the bytes that remain: an
 *          item that takes no byte occurs in nothing we read.
 */
grebe_status avro_read_block(struct avro_reader *r, size_t *n, grebe_error *err);

grebe_status avro_write_long(struct buf *dst, int64_t v, grebe_error *err);
grebe_status avro_write_bytes(struct buf *dst, const void *bytes, size_t len, grebe_error *err);
static inline grebe_status avro_write_text(struct buf *dst, const char *text, grebe_error *err)
{
    return avro_write_bytes(dst, text, strlen(text), err);
}

/* ---- object container files: avro_ocf.c ---- */

struct avro_pair {
    struct avro_bytes key, value;
};

/** The header of a container file and its first block. Everything is borrowed from the file's
 *  bytes, or from `inflated`, which the caller releases. */
struct avro_ocf {
    struct avro_pair *metadata; /* shape [n_metadata], in the arena */
    size_t n_metadata;
    struct avro_bytes schema;
    int64_t n_records;       /* of the first block, >= 1 */
    struct avro_reader body; /* of the first block */
    bool has_trailing;       /* bytes follow the first block, or its sync marker is not right */
};

/** Whether the bytes start like a container file. */
bool avro_ocf_sniff(const void *bytes, size_t len);

/**
 * Read header and first block. Codecs null (also when none is named) and deflate.
 *
 * @param inflated Receives the block when it is compressed; at most limit bytes.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (codec, named); GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status avro_ocf_read(const void *bytes, size_t len, size_t limit, struct arena *arena,
                           struct buf *inflated, struct avro_ocf *out, grebe_error *err);

/**
 * Append a container file of one block, codec null.
 *
 * @param extra Metadata entries after avro.codec and avro.schema, shape [n_extra].
 * @param sync  Shape [16].
 */
grebe_status avro_ocf_write(struct buf *dst, const char *schema, size_t schema_len,
                            const struct avro_pair *extra, size_t n_extra,
                            const unsigned char sync[16], int64_t n_records, const void *body,
                            size_t body_len, grebe_error *err);

#endif
