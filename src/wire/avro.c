/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/avro.h"

#include "codec/varint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static grebe_status fail_at(const struct avro_reader *r, grebe_error *err, const char *what,
                            const char *found)
{
    grebe_status st = GREBE_FAIL(err, GREBE_ECORRUPT, "offset %" PRIu64 ": expected %s, found %s",
                                 r->base + r->at, what, found);
    return error_at(err, st, r->base + r->at);
}

grebe_status avro_read_long(struct avro_reader *r, int64_t *out, grebe_error *err)
{
    uint64_t v = 0;
    size_t at = r->at;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (at >= r->len) {
            return fail_at(r, err, "a number", "the end of the bytes");
        }
        uint64_t byte = r->data[at++];
        if (shift == 63 && byte > 1) {
            break;
        }
        v |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            r->at = at;
            *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
            return GREBE_OK;
        }
    }
    return fail_at(r, err, "a number of at most 10 bytes and 64 bits", "a longer one");
}

grebe_status avro_read_int(struct avro_reader *r, int32_t *out, grebe_error *err)
{
    int64_t v = 0;
    size_t at = r->at;
    grebe_status st = avro_read_long(r, &v, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (v < INT32_MIN || v > INT32_MAX) {
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, v);
        r->at = at;
        return fail_at(r, err, "an int of 32 bits", text);
    }
    *out = (int32_t)v;
    return GREBE_OK;
}

grebe_status avro_read_raw(struct avro_reader *r, size_t n, const unsigned char **out,
                           grebe_error *err)
{
    assert(r->at <= r->len);
    if (n > avro_remaining(r)) {
        grebe_status st = GREBE_FAIL(err, GREBE_ECORRUPT,
                                     "offset %" PRIu64 ": expected %zu bytes, found %zu",
                                     r->base + r->at, n, avro_remaining(r));
        return error_at(err, st, r->base + r->at);
    }
    *out = r->data + r->at;
    r->at += n;
    return GREBE_OK;
}

grebe_status avro_read_bytes(struct avro_reader *r, struct avro_bytes *out, grebe_error *err)
{
    int64_t len = 0;
    size_t at = r->at;
    grebe_status st = avro_read_long(r, &len, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (len < 0 || (uint64_t)len > avro_remaining(r)) {
        char text[96];
        snprintf(text, sizeof text, "%" PRId64 " with %zu bytes left", len, avro_remaining(r));
        r->at = at;
        return fail_at(r, err, "a string length", text);
    }
    if (len > AVRO_STRING_MAX) {
        r->at = at;
        return GREBE_FAIL(err, GREBE_ELIMIT, "offset %" PRIu64 ": string of %" PRId64
                          " bytes, at most %d are read", r->base + at, len, AVRO_STRING_MAX);
    }
    const unsigned char *p = NULL;
    st = avro_read_raw(r, (size_t)len, &p, err);
    out->data = (const char *)p;
    out->len = (size_t)len;
    return st;
}

grebe_status avro_read_block(struct avro_reader *r, size_t *n, grebe_error *err)
{
    int64_t count = 0;
    size_t at = r->at;
    grebe_status st = avro_read_long(r, &count, err);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t size = 0;
    if (count < 0) { /* a byte size follows, for skipping; we walk the items all the same */
        st = avro_read_long(r, &size, err);
        if (st != GREBE_OK) {
            return st;
        }
        count = count == INT64_MIN ? INT64_MAX : -count;
    }
    if (size < 0 || (uint64_t)size > avro_remaining(r) || (uint64_t)count > avro_remaining(r)) {
        char text[96];
        snprintf(text, sizeof text, "%" PRId64 " with %zu bytes left", count, avro_remaining(r));
        r->at = at;
        return fail_at(r, err, "a number of items", text);
    }
    *n = (size_t)count;
    return GREBE_OK;
}

grebe_status avro_write_long(struct buf *dst, int64_t v, grebe_error *err)
{
    return varint_put(dst, zigzag_encode(v), err);
}

grebe_status avro_write_bytes(struct buf *dst, const void *bytes, size_t len, grebe_error *err)
{
    if (len > AVRO_STRING_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "string of %zu bytes, at most %d can be stored", len,
                          AVRO_STRING_MAX);
    }
    grebe_status st = avro_write_long(dst, (int64_t)len, err);
    if (st == GREBE_OK && len > 0) {
        st = buf_put(dst, bytes, len, err);
    }
    return st;
}
