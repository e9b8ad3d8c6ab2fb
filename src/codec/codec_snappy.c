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
    const uint8_t *from = op - offset;
    size_t done = 0;
    if (offset < 8) { /* a short pattern: eight bytes of it, then at a distance that is a multiple */
        for (; done < 8; done++) {
            op[done] = from[done];
        }
        from = op + 8 - offset * ((7 + offset) / offset);
    }
    for (; done < len; done += 8, from += 8) {
        copy8(op + done, from);
    }
}

/* By tag: the length in the low 8 bits (0: a literal whose length follows), bits 8 to 10 of the offset
 * in their places, above them how many bytes of offset follow. */
static const uint16_t elements[256] = {
    0x0001, 0x0804, 0x1001, 0x2001, 0x0002, 0x0805, 0x1002, 0x2002,
    0x0003, 0x0806, 0x1003, 0x2003, 0x0004, 0x0807, 0x1004, 0x2004,
    0x0005, 0x0808, 0x1005, 0x2005, 0x0006, 0x0809, 0x1006, 0x2006,
    0x0007, 0x080a, 0x1007, 0x2007, 0x0008, 0x080b, 0x1008, 0x2008,
    0x0009, 0x0904, 0x1009, 0x2009, 0x000a, 0x0905, 0x100a, 0x200a,
    0x000b, 0x0906, 0x100b, 0x200b, 0x000c, 0x0907, 0x100c, 0x200c,
    0x000d, 0x0908, 0x100d, 0x200d, 0x000e, 0x0909, 0x100e, 0x200e,
    0x000f, 0x090a, 0x100f, 0x200f, 0x0010, 0x090b, 0x1010, 0x2010,
    0x0011, 0x0a04, 0x1011, 0x2011, 0x0012, 0x0a05, 0x1012, 0x2012,
    0x0013, 0x0a06, 0x1013, 0x2013, 0x0014, 0x0a07, 0x1014, 0x2014,
    0x0015, 0x0a08, 0x1015, 0x2015, 0x0016, 0x0a09, 0x1016, 0x2016,
    0x0017, 0x0a0a, 0x1017, 0x2017, 0x0018, 0x0a0b, 0x1018, 0x2018,
    0x0019, 0x0b04, 0x1019, 0x2019, 0x001a, 0x0b05, 0x101a, 0x201a,
    0x001b, 0x0b06, 0x101b, 0x201b, 0x001c, 0x0b07, 0x101c, 0x201c,
    0x001d, 0x0b08, 0x101d, 0x201d, 0x001e, 0x0b09, 0x101e, 0x201e,
    0x001f, 0x0b0a, 0x101f, 0x201f, 0x0020, 0x0b0b, 0x1020, 0x2020,
    0x0021, 0x0c04, 0x1021, 0x2021, 0x0022, 0x0c05, 0x1022, 0x2022,
    0x0023, 0x0c06, 0x1023, 0x2023, 0x0024, 0x0c07, 0x1024, 0x2024,
    0x0025, 0x0c08, 0x1025, 0x2025, 0x0026, 0x0c09, 0x1026, 0x2026,
    0x0027, 0x0c0a, 0x1027, 0x2027, 0x0028, 0x0c0b, 0x1028, 0x2028,
    0x0029, 0x0d04, 0x1029, 0x2029, 0x002a, 0x0d05, 0x102a, 0x202a,
    0x002b, 0x0d06, 0x102b, 0x202b, 0x002c, 0x0d07, 0x102c, 0x202c,
    0x002d, 0x0d08, 0x102d, 0x202d, 0x002e, 0x0d09, 0x102e, 0x202e,
    0x002f, 0x0d0a, 0x102f, 0x202f, 0x0030, 0x0d0b, 0x1030, 0x2030,
    0x0031, 0x0e04, 0x1031, 0x2031, 0x0032, 0x0e05, 0x1032, 0x2032,
    0x0033, 0x0e06, 0x1033, 0x2033, 0x0034, 0x0e07, 0x1034, 0x2034,
    0x0035, 0x0e08, 0x1035, 0x2035, 0x0036, 0x0e09, 0x1036, 0x2036,
    0x0037, 0x0e0a, 0x1037, 0x2037, 0x0038, 0x0e0b, 0x1038, 0x2038,
    0x0039, 0x0f04, 0x1039, 0x2039, 0x003a, 0x0f05, 0x103a, 0x203a,
    0x003b, 0x0f06, 0x103b, 0x203b, 0x003c, 0x0f07, 0x103c, 0x203c,
    0x0000, 0x0f08, 0x103d, 0x203d, 0x0000, 0x0f09, 0x103e, 0x203e,
    0x0000, 0x0f0a, 0x103f, 0x203f, 0x0000, 0x0f0b, 0x1040, 0x2040,
};

struct cursor {
    const uint8_t *ip, *ip_end;
    uint8_t *base, *op, *op_end;
};

/* One element by the book, up to the ends of both sides. */
static bool expand_one(struct cursor *c)
{
    uint8_t bytes[4] = { 0 };
    uint32_t tag = *c->ip++;
    size_t len = elements[tag] & 0xff;
    size_t n = len == 0 ? (tag >> 2) - 59 : elements[tag] >> 11;
    if ((size_t)(c->ip_end - c->ip) < n) {
        return false;
    }
    memcpy(bytes, c->ip, n);
    c->ip += n;
    if ((tag & 3) == 0) {
        len = len == 0 ? (size_t)load_le32(bytes) + 1 : len;
        if (len > (size_t)(c->ip_end - c->ip) || len > (size_t)(c->op_end - c->op)) {
            return false;
        }
        memcpy(c->op, c->ip, len);
        c->ip += len;
        c->op += len;
        return true;
    }
    size_t offset = load_le32(bytes) + (elements[tag] & 0x700u);
    if (offset - 1 >= (size_t)(c->op - c->base) || len > (size_t)(c->op_end - c->op)) {
        return false; /* before the beginning (0 wraps), or beyond the end */
    }
    for (size_t i = 0; i < len; i++, c->op++) {
        *c->op = *(c->op - offset);
    }
    return true;
}

/* Elements while both ends are far. Which kind comes next cannot be foretold, so a literal is taken as a
 * copy from the input, without a branch. */
static bool expand_far(struct cursor *c)
{
    static const uint32_t offset_mask[5] = { 0, 0xff, 0xffff, 0, 0xffffffff };
    const uint8_t *ip = c->ip;
    uint8_t *op = c->op;
    bool is_right = true;
    if (c->ip_end - ip <= FAR + 8 || c->op_end - op <= FAR + 16) {
        return true;
    }
    const uint8_t *ip_last = c->ip_end - (FAR + 8);
    const uint8_t *op_last = c->op_end - (FAR + 16);
    const uint8_t *base = c->base;
    while (ip < ip_last && op < op_last) {
        uint32_t tag = *ip;
        uint32_t e = elements[tag];
        size_t len = e & 0xff;
        size_t extra = e >> 11;
        if (len == 0) {
            break; /* a long literal */
        }
        ip++;
        size_t is_literal = (tag & 3) == 0;
        size_t offset = (load_le32(ip) & offset_mask[extra]) + (e & 0x700);
        if (offset > (size_t)(op - base) || offset + is_literal == 0) {
            is_right = false;
            break;
        }
        if (offset - 1 < 15) {
            copy_near(op, offset, len);
            ip += extra;
            op += len;
            continue;
        }
        uintptr_t all = (uintptr_t)0 - is_literal;
        const uint8_t *from = is_literal ? ip : op - offset;
        copy16(op, from);
        if (len > 16) {
            copy16(op + 16, from + 16);
            copy16(op + 32, from + 32);
            copy16(op + 48, from + 48);
        }
        ip += extra + (len & all);
        op += len;
    }
    c->ip = ip;
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
