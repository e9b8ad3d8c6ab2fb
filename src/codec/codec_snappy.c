/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snappy's raw format, reading. Source: format_description.txt of google/snappy. Distributions build
 * libsnappy so that every element is copied by a call of memmove; here elements are 16-byte loads
 * and stores wherever the ends are far enough.
 */
#include "codec/codec_snappy.h"

#include <string.h>

#include "base/endian.h"
#include "codec/varint.h"

enum { FAR = 64 }; /* an element that is no long literal has at most so many bytes */

static inline void copy16(uint8_t *dst, const uint8_t *src)
{
    uint8_t v[16];
    memcpy(v, src, 16);
    memcpy(dst, v, 16);
}

static inline void copy8(uint8_t *dst, const uint8_t *src)
{
    uint8_t v[8];
    memcpy(v, src, 8);
    memcpy(dst, v, 8);
}

/* len <= 64 bytes from 1 to 15 bytes before; 64 + 8 bytes may be written. */
static inline void copy_near(uint8_t *op, size_t offset, size_t len)
{
    static const uint8_t multiple[8] = { 0, 8, 8, 9, 8, 10, 12, 14 }; /* of the offset, 8 at least */
    const uint8_t *from = op - offset;
    size_t done = 0;
    if (offset < 8) { /* a short pattern: eight bytes of it, then from where it began before */
        for (; done < 8; done++) {
            op[done] = from[done];
        }
        from = op + 8 - multiple[offset];
    }
    for (; done < len; done += 8, from += 8) {
        copy8(op + done, from);
    }
}

/*
 * By tag: the length in the low 8 bits; above them what the offset of a copy has beyond its own bytes, less
 * NEAR, or 0 for a literal. RARE: a long literal, or an offset of four bytes.
 */
enum { NEAR = 16, RARE = INT32_MIN };
#define COPY(len, offset) (((offset) - NEAR) * 256 + (len))
#define FOUR(n)                                                                             \
    (n) < 60 ? (n) + 1 : RARE, COPY(((n) & 7) + 4, ((n) >> 3) * 256), COPY((n) + 1, 0), RARE
#define SIXTEEN(n) FOUR(n), FOUR((n) + 1), FOUR((n) + 2), FOUR((n) + 3)
#define SIXTY_FOUR(n) SIXTEEN(n), SIXTEEN((n) + 4), SIXTEEN((n) + 8), SIXTEEN((n) + 12)
static const int32_t elements[256] = { SIXTY_FOUR(0), SIXTY_FOUR(16), SIXTY_FOUR(32),
                                       SIXTY_FOUR(48) };

struct cursor {
    const uint8_t *ip, *ip_end;
    uint8_t *base, *op, *op_end;
};

/* One element by the book, up to the ends of both sides. */
static bool expand_one(struct cursor *c)
{
    uint8_t bytes[4] = { 0 };
    uint32_t tag = *c->ip++;
    uint32_t kind = tag & 3;
    size_t len = (kind == 1 ? 3 + (tag >> 2 & 7) : tag >> 2) + 1;
    size_t n = kind == 3 ? 4 : kind; /* bytes that follow the tag */
    if (kind == 0 && len > 60) {
        n = len - 60;
    }
    if ((size_t)(c->ip_end - c->ip) < n) {
        return false;
    }
    memcpy(bytes, c->ip, n);
    c->ip += n;
    if (kind == 0) {
        len = n == 0 ? len : (size_t)load_le32(bytes) + 1;
        if (len > (size_t)(c->ip_end - c->ip) || len > (size_t)(c->op_end - c->op)) {
            return false;
        }
        memcpy(c->op, c->ip, len);
        c->ip += len;
        c->op += len;
        return true;
    }
    size_t offset = (size_t)load_le32(bytes) + (kind == 1 ? (tag >> 5) * 256 : 0);
    if (offset - 1 >= (size_t)(c->op - c->base) || len > (size_t)(c->op_end - c->op)) {
        return false; /* before the beginning (0 wraps), or beyond the end */
    }
    for (size_t i = 0; i < len; i++, c->op++) {
        *c->op = *(c->op - offset);
    }
    return true;
}

/*
 * Elements while both ends are far. Which kind comes next cannot be foretold, so a literal is taken as a copy
 * from the input, without a branch. One compare finds everything that is not usual: what is RARE, copies
 * from closer than NEAR, and offsets that lead out of the output.
 */
static bool expand_far(struct cursor *c)
{
    static const uint32_t offset_mask[4] = { 0, 0xff, 0xffff, 0 };
    const uint8_t *ip = c->ip + 1; /* behind the tag */
    uint8_t *op = c->op;
    bool is_right = true;
    if (c->ip_end - c->ip <= FAR + 8 || c->op_end - op <= FAR + 16 || op - c->base < NEAR) {
        return true;
    }
    const uint8_t *ip_last = c->ip_end - (FAR + 8);
    const uint8_t *op_last = c->op_end - (FAR + 16);
    const uint8_t *near = c->base + NEAR;
    size_t tag = c->ip[0];
    while (ip <= ip_last && op < op_last) {
        size_t kind = tag & 3;
        int64_t e = elements[tag];
        size_t len = (size_t)e & 0xff;
        // cppcheck-suppress shiftNegativeLHS; arithmetic with every compiler that the build knows
        size_t beyond = (load_le32(ip) & offset_mask[kind]) + (size_t)(e >> 8); /* NEAR */
        size_t step = (tag >> 2) + 1;
        step = kind == 0 ? step : kind; /* the next tag is found by arithmetic, sooner than by a table */
        if (beyond > (size_t)(op - near)) {
            size_t offset = beyond + NEAR;
            if (e == RARE) {
                break;
            }
            if (offset - 1 >= NEAR - 1) {
                is_right = false;
                break;
            }
            copy_near(op, offset, len);
        } else {
            const uint8_t *from = op - NEAR - beyond;
            from = kind == 0 ? ip : from;
            copy16(op, from);
            if (len > 16) {
                copy16(op + 16, from + 16);
                copy16(op + 32, from + 32);
                copy16(op + 48, from + 48);
            }
        }
        op += len;
        tag = ip[step];
        ip += step + 1;
    }
    c->ip = ip - 1;
    c->op = op;
    return is_right;
}

static bool expand(struct cursor *c)
{
    while (c->ip < c->ip_end) {
        if (!expand_far(c) || !expand_one(c)) {
            return false;
        }
    }
    return c->op == c->op_end;
}

bool codec_snappy_expand(const void *src, size_t src_len, void *dst, size_t dst_len,
                         uint64_t *declared)
{
    const uint8_t *p = src;
    const uint8_t *end = p + src_len;
    uint8_t nothing = 0;
    uint8_t *to = dst_len > 0 ? dst : &nothing;
    if (!varint_read(&p, end, 5, declared) || *declared > UINT32_MAX) {
        *declared = dst_len;
        return false;
    }
    struct cursor c = { p, end, to, to, to + dst_len };
    return *declared == dst_len && expand(&c);
}
