/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_delta.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

enum { INSERT_MAX = 127, COPY_MAX = 0xffffff };

void repo_delta_init(struct repo_delta *d, const grebe_allocator *a) { *d = (struct repo_delta){ .bytes = BUF_INIT(a) }; }

void repo_delta_release(struct repo_delta *d) { buf_release(&d->bytes); }

static grebe_status put_length(struct buf *b, uint64_t v, grebe_error *err)
{
    unsigned char bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
        n++;
        v >>= 7;
    } while (v != 0);
    return buf_put(b, bytes, n, err);
}

grebe_status repo_delta_begin(struct repo_delta *d, uint64_t base_len, uint64_t result_len, grebe_error *err)
{
    if (base_len > UINT32_MAX || result_len > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "delta: expected objects below 4 GiB, found %llu and %llu bytes",
                          (unsigned long long)base_len, (unsigned long long)result_len);
    }
    buf_clear(&d->bytes);
    d->base_len = base_len;
    d->result_len = result_len;
    d->n_made = 0;
    d->copy_len = 0;
    d->insert_at = 0;
    grebe_status st = put_length(&d->bytes, base_len, err);
    return st == GREBE_OK ? put_length(&d->bytes, result_len, err) : st;
}

static grebe_status write_copy(struct repo_delta *d, grebe_error *err)
{
    while (d->copy_len > 0) {
        uint32_t len = (uint32_t)min_u64(d->copy_len, COPY_MAX);
        unsigned char bytes[8];
        unsigned char head = 0x80;
        size_t n = 1;
        for (unsigned i = 0; i < 4; i++) {
            unsigned char b = (unsigned char)(d->copy_offset >> (8 * i));
            if (b != 0) {
                head = (unsigned char)(head | 1u << i);
                bytes[n++] = b;
            }
        }
        for (unsigned i = 0; i < 3 && len != 0x10000; i++) { /* 65536 is what no size byte at all says */
            unsigned char b = (unsigned char)(len >> (8 * i));
            if (b != 0) {
                head = (unsigned char)(head | 0x10u << i);
                bytes[n++] = b;
            }
        }
        bytes[0] = head;
        grebe_status st = buf_put(&d->bytes, bytes, n, err);
        if (st != GREBE_OK) {
            return st;
        }
        d->copy_offset += len;
        d->copy_len -= len;
    }
    return GREBE_OK;
}

grebe_status repo_delta_copy(struct repo_delta *d, uint64_t offset, uint64_t len, grebe_error *err)
{
    assert(range_fits_u64(offset, len, d->base_len));
    d->n_made += len;
    if (len == 0) {
        return GREBE_OK;
    }
    d->insert_at = 0;
    if (d->copy_len > 0 && d->copy_offset + d->copy_len == offset) {
        d->copy_len += len;
        return GREBE_OK;
    }
    grebe_status st = write_copy(d, err);
    d->copy_offset = offset;
    d->copy_len = len;
    return st;
}

grebe_status repo_delta_insert(struct repo_delta *d, const void *bytes, size_t len, grebe_error *err)
{
    const unsigned char *p = bytes;
    d->n_made += len;
    grebe_status st = len > 0 ? write_copy(d, err) : GREBE_OK;
    while (st == GREBE_OK && len > 0) {
        if (d->insert_at == 0 || d->bytes.data[d->insert_at] == INSERT_MAX) {
            d->insert_at = d->bytes.len; /* never 0: two lengths stand before */
            st = buf_put_byte(&d->bytes, 0, err);
            if (st != GREBE_OK) {
                break;
            }
        }
        size_t n = min_size(len, (size_t)(INSERT_MAX - d->bytes.data[d->insert_at]));
        st = buf_put(&d->bytes, p, n, err);
        if (st == GREBE_OK) {
            d->bytes.data[d->insert_at] = (unsigned char)(d->bytes.data[d->insert_at] + n);
        }
        p += n;
        len -= n;
    }
    return st;
}

grebe_status repo_delta_end(struct repo_delta *d, const unsigned char **bytes, size_t *len, grebe_error *err)
{
    *bytes = NULL;
    *len = 0;
    grebe_status st = write_copy(d, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (d->n_made != d->result_len) {
        return GREBE_FAIL(err, GREBE_EINVAL, "delta: expected %llu bytes, found pieces of %llu",
                          (unsigned long long)d->result_len, (unsigned long long)d->n_made);
    }
    *bytes = d->bytes.data;
    *len = d->bytes.len;
    return GREBE_OK;
}

/* ---- reading ---- */

static bool get_length(const unsigned char *p, size_t len, size_t *at, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; *at < len && shift < 63; shift += 7) {
        unsigned char b = p[(*at)++];
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128) {
            *out = v;
            return true;
        }
    }
    return false;
}

grebe_status repo_delta_lengths(const unsigned char *delta, size_t len, uint64_t *base_len, uint64_t *result_len,
                               size_t *at, grebe_error *err)
{
    *at = 0;
    if (!get_length(delta, len, at, base_len) || !get_length(delta, len, at, result_len)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "delta: expected two lengths in %zu bytes", len);
    }
    return GREBE_OK;
}

/* Offset and size of a copy whose first byte is `head`. */
static bool get_copy(const unsigned char *p, size_t len, size_t *at, unsigned char head, size_t *offset, size_t *size)
{
    size_t v[2] = { 0, 0 };
    for (unsigned i = 0; i < 7; i++) {
        if ((head >> i & 1) == 0) {
            continue;
        }
        if (*at == len) {
            return false;
        }
        v[i / 4] |= (size_t)p[(*at)++] << (8 * (i % 4));
    }
    *offset = v[0];
    *size = v[1] == 0 ? 0x10000 : v[1];
    return true;
}

grebe_status repo_delta_apply(const unsigned char *delta, size_t len, const unsigned char *base, size_t base_len,
                             unsigned char *out, size_t out_len, grebe_error *err)
{
    uint64_t said_base = 0, said_result = 0;
    size_t at = 0;
    size_t made = 0;
    grebe_status st = repo_delta_lengths(delta, len, &said_base, &said_result, &at, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (said_base != base_len || said_result != out_len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "delta: expected a base of %llu bytes, found %zu",
                          (unsigned long long)said_base, base_len);
    }
    while (at < len) {
        size_t start = at;
        unsigned char head = delta[at++];
        size_t offset = 0, n = head;
        const unsigned char *from = NULL;
        if (head >= 128) {
            if (get_copy(delta, len, &at, head, &offset, &n) && range_fits_u64(offset, n, base_len)) {
                from = base + offset;
            }
        } else if (n > 0 && n <= len - at) {
            from = delta + at;
            at += n;
        }
        if (from == NULL || n > out_len - made) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "delta: byte %zu of %zu: a piece of %zu bytes does not fit", start,
                              len, n);
        }
        memcpy(out + made, from, n);
        made += n;
    }
    if (made != out_len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "delta: expected %zu bytes, found pieces of %zu", out_len, made);
    }
    return GREBE_OK;
}
