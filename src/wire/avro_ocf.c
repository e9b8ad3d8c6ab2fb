/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/avro.h"

#include <assert.h>
#include <string.h>

#include "codec/codec_compress.h"

static const unsigned char ocf_magic[4] = { 'O', 'b', 'j', 1 };
enum { SYNC_LEN = 16, METADATA_MAX = 4096 };

bool avro_ocf_sniff(const void *bytes, size_t len)
{
    return len >= sizeof ocf_magic && memcmp(bytes, ocf_magic, sizeof ocf_magic) == 0;
}

static bool bytes_are(struct avro_bytes b, const char *text)
{
    return b.len == strlen(text) && (b.len == 0 || memcmp(b.data, text, b.len) == 0);
}

static grebe_status read_metadata(struct avro_reader *r, struct arena *arena,
                                  struct avro_ocf *out, grebe_error *err)
{
    size_t capacity = 0;
    for (;;) {
        size_t n = 0;
        grebe_status st = avro_read_block(r, &n, err);
        if (st != GREBE_OK || n == 0) {
            return st;
        }
        if (n > METADATA_MAX - out->n_metadata) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "header of %zu entries, at most %d are read",
                              out->n_metadata + n, METADATA_MAX);
        }
        if (out->n_metadata + n > capacity) {
            capacity = out->n_metadata + n;
            struct avro_pair *grown = arena_array(arena, capacity, sizeof *grown);
            if (grown == NULL) {
                return mem_fail(err, capacity * sizeof *grown, "header entries");
            }
            if (out->n_metadata > 0) {
                memcpy(grown, out->metadata, out->n_metadata * sizeof *grown);
            }
            out->metadata = grown;
        }
        for (size_t i = 0; i < n; i++) {
            struct avro_pair *pair = &out->metadata[out->n_metadata];
            st = avro_read_bytes(r, &pair->key, err);
            if (st == GREBE_OK) {
                st = avro_read_bytes(r, &pair->value, err);
            }
            if (st != GREBE_OK) {
                return st;
            }
            out->n_metadata++;
        }
    }
}

static grebe_status read_body(struct avro_reader *r, bool is_deflate, size_t limit,
                              struct buf *inflated, struct avro_ocf *out, grebe_error *err)
{
    int64_t len = 0;
    const unsigned char *body = NULL;
    grebe_status st = avro_read_long(r, &out->n_records, err);
    if (st == GREBE_OK) {
        st = avro_read_long(r, &len, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (out->n_records < 1 || len < 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "expected a block of at least 1 record, found %lld in %lld bytes",
                          (long long)out->n_records, (long long)len);
    }
    uint64_t base = r->base + r->at;
    st = (uint64_t)len > SIZE_MAX ? avro_read_raw(r, SIZE_MAX, &body, err)
                                  : avro_read_raw(r, (size_t)len, &body, err);
    if (st != GREBE_OK) {
        return st;
    }
    out->body = (struct avro_reader){ body, (size_t)len, 0, base, 0 };
    if (is_deflate) {
        st = codec_inflate(body, (size_t)len, false, limit, inflated, err);
        if (st != GREBE_OK) {
            return error_wrap(err, st, "block at offset %llu", (unsigned long long)base);
        }
        out->body = (struct avro_reader){ inflated->data, inflated->len, 0, 0, 0 };
    }
    return GREBE_OK;
}

grebe_status avro_ocf_read(const void *bytes, size_t len, size_t limit, struct arena *arena,
                           struct buf *inflated, struct avro_ocf *out, grebe_error *err)
{
    struct avro_reader r = { bytes, len, 0, 0, 0 };
    const unsigned char *sync = NULL;
    bool is_deflate = false;
    *out = (struct avro_ocf){ 0 };
    if (!avro_ocf_sniff(bytes, len)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected the magic bytes of an Avro container "
                          "file, found %s in %zu bytes", len < 4 ? "too few" : "others", len);
    }
    r.at = sizeof ocf_magic;
    grebe_status st = read_metadata(&r, arena, out, err);
    if (st == GREBE_OK) {
        st = avro_read_raw(&r, SYNC_LEN, &sync, err);
    }
    if (st != GREBE_OK) {
        return error_wrap(err, st, "header");
    }
    bool has_schema = false;
    for (size_t i = 0; i < out->n_metadata; i++) {
        const struct avro_pair *pair = &out->metadata[i];
        if (bytes_are(pair->key, "avro.schema")) {
            out->schema = pair->value;
            has_schema = true;
        } else if (bytes_are(pair->key, "avro.codec") && bytes_are(pair->value, "deflate")) {
            is_deflate = true;
        } else if (bytes_are(pair->key, "avro.codec") && !bytes_are(pair->value, "null") &&
                   pair->value.len > 0) {
            char name[64];
            return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "avro codec \"%s\"",
                              error_quote(name, sizeof name, pair->value.data, pair->value.len));
        }
    }
    if (!has_schema) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "header: expected avro.schema, found none");
    }
    st = read_body(&r, is_deflate, limit, inflated, out, err);
    if (st == GREBE_OK) {
        out->has_trailing = avro_remaining(&r) != SYNC_LEN ||
                            memcmp(r.data + r.at, sync, SYNC_LEN) != 0;
    }
    return st;
}

grebe_status avro_ocf_write(struct buf *dst, const char *schema, size_t schema_len,
                            const struct avro_pair *extra, size_t n_extra,
                            const unsigned char sync[16], int64_t n_records, const void *body,
                            size_t body_len, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    assert(n_records >= 1 && n_extra + 2 <= METADATA_MAX);
    GREBE_TRY(buf_put(dst, ocf_magic, sizeof ocf_magic, err));
    GREBE_TRY(avro_write_long(dst, (int64_t)n_extra + 2, err));
    GREBE_TRY(avro_write_text(dst, "avro.codec", err));
    GREBE_TRY(avro_write_text(dst, "null", err));
    GREBE_TRY(avro_write_text(dst, "avro.schema", err));
    GREBE_TRY(avro_write_bytes(dst, schema, schema_len, err));
    for (size_t i = 0; i < n_extra; i++) {
        GREBE_TRY(avro_write_bytes(dst, extra[i].key.data, extra[i].key.len, err));
        GREBE_TRY(avro_write_bytes(dst, extra[i].value.data, extra[i].value.len, err));
    }
    GREBE_TRY(buf_put_byte(dst, 0, err));
    GREBE_TRY(buf_put(dst, sync, SYNC_LEN, err));
    GREBE_TRY(avro_write_long(dst, n_records, err));
    GREBE_TRY(avro_write_long(dst, (int64_t)body_len, err));
    if (body_len > 0) {
        GREBE_TRY(buf_put(dst, body, body_len, err));
    }
    GREBE_TRY(buf_put(dst, sync, SYNC_LEN, err));
out:
    return st;
}
