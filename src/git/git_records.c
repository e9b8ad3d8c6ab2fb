/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_records.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/checked.h"
#include "base/endian.h"
#include "git/git_huffman.h"

enum {
    PIECE = 65535, /* bytes of a block: a stored one has no more, RFC 1951 3.2.4 */
    MATCH_MIN = 3,
    MATCH_MAX = 257, /* 258 has a code of its own, not worth a case */
    END = 256,       /* symbol behind the last token of a block */
    LITERALS = 286,
    DISTANCES = 30,
    LENGTH_CODES = 19,
    LENGTH_CODE_BITS = 7,
    FIXED_MAX = 48, /* so few bytes never pay for codes of their own */
    FIXED_TRY = 512 /* and more always do */
};

/* Kinds of blocks, as they are written. */
enum { STORED, FIXED, OWN };

/* A symbol that stands for a range of numbers, and the bits that tell which. */
struct symbol {
    unsigned symbol, n_extra, extra;
};

static unsigned log2_of(unsigned x) { return 31 - (unsigned)__builtin_clz(x); }

static struct symbol length_symbol(unsigned len)
{
    unsigned x = len - MATCH_MIN;
    if (x < 8) {
        return (struct symbol){ 257 + x, 0, 0 };
    }
    unsigned n = log2_of(x) - 2;
    return (struct symbol){ 257 + 4 * n + (x >> n), n, x & ((1u << n) - 1) };
}

static struct symbol distance_symbol(unsigned distance)
{
    unsigned x = distance - 1;
    if (x < 4) {
        return (struct symbol){ x, 0, 0 };
    }
    unsigned n = log2_of(x) - 1;
    return (struct symbol){ 2 * n + (x >> n), n, x & ((1u << n) - 1) };
}

/* ---- bits ---- */

struct bits {
    unsigned char *out; /* the next byte */
    uint64_t held;
    unsigned n; /* bits held, below 8 between calls of flush */
};

static inline void put(struct bits *b, uint64_t bits, unsigned n)
{
    b->held |= bits << b->n;
    b->n += n;
}

/* Room for 56 bits after it. Writes 8 bytes, of which only whole ones count. */
static inline void flush(struct bits *b)
{
    store_le64(b->out, b->held);
    b->out += b->n >> 3;
    b->held >>= b->n & ~7u;
    b->n &= 7;
}

static void align(struct bits *b)
{
    b->n = (b->n + 7) & ~7u;
    flush(b);
}

/* ---- one block ---- */

struct block {
    const unsigned char *bytes; /* the whole object */
    size_t start, end;
    unsigned stride;
    bool is_last;
    uint16_t *tokens; /* a byte, or 256 and the length of a match; not used without a stride */
    size_t n_tokens;
    uint32_t literal_counts[REPO_HUFFMAN_SYMBOLS]; /* the fixed code has two symbols that nothing uses */
    uint32_t distance_counts[DISTANCES];
    struct repo_huffman literals, distances, lengths;
    struct symbol runs[LITERALS + DISTANCES]; /* the lengths of both codes as symbols of `lengths` */
    size_t n_runs;
};

static unsigned match_at(const struct block *k, size_t at)
{
    size_t most = min_size(k->end - at, MATCH_MAX), n = 0;
    const unsigned char *x = k->bytes + at, *y = x - k->stride;
    while (n + 8 <= most) {
        uint64_t differs = load_le64(x + n) ^ load_le64(y + n);
        if (differs != 0) {
            return (unsigned)(n + (size_t)(__builtin_ctzll(differs) >> 3));
        }
        n += 8;
    }
    while (n < most && x[n] == y[n]) {
        n++;
    }
    return (unsigned)n;
}

static void count_symbols(struct block *k)
{
    memset(k->literal_counts, 0, sizeof k->literal_counts);
    memset(k->distance_counts, 0, sizeof k->distance_counts);
    k->literal_counts[END] = 1;
    k->n_tokens = 0;
    if (k->stride == 0) {
        for (size_t i = k->start; i < k->end; i++) {
            k->literal_counts[k->bytes[i]]++;
        }
        return;
    }
    uint32_t matches = 0;
    for (size_t i = k->start; i < k->end;) {
        unsigned len = i < k->stride ? 0 : match_at(k, i);
        if (len >= MATCH_MIN) {
            k->tokens[k->n_tokens++] = (uint16_t)(256 + len);
            k->literal_counts[length_symbol(len).symbol]++;
            matches++;
            i += len;
        } else {
            k->tokens[k->n_tokens++] = k->bytes[i];
            k->literal_counts[k->bytes[i]]++;
            i++;
        }
    }
    k->distance_counts[distance_symbol(k->stride).symbol] = matches;
}

static void put_run(struct block *k, unsigned symbol, unsigned n_extra, unsigned extra, uint32_t *counts)
{
    k->runs[k->n_runs++] = (struct symbol){ symbol, n_extra, extra };
    counts[symbol]++;
}

/* The lengths of both codes, one behind the other: 16 repeats the last one, 17 and 18 are runs of zeros (RFC 1951 3.2.7). */
static void encode_lengths(struct block *k)
{
    uint8_t lens[LITERALS + DISTANCES];
    uint32_t counts[LENGTH_CODES] = { 0 };
    size_t n = k->literals.n + k->distances.n;
    memcpy(lens, k->literals.len, k->literals.n);
    memcpy(lens + k->literals.n, k->distances.len, k->distances.n);
    k->n_runs = 0;
    for (size_t i = 0; i < n;) {
        size_t run = 1;
        while (i + run < n && lens[i + run] == lens[i]) {
            run++;
        }
        i += run;
        if (lens[i - run] != 0) {
            put_run(k, lens[i - run], 0, 0, counts);
            run--;
        }
        while (run > 0) {
            size_t step = 1;
            if (lens[i - 1] == 0 && run >= 11) {
                step = min_size(run, 138);
                put_run(k, 18, 7, (unsigned)step - 11, counts);
            } else if (run >= 3) {
                step = min_size(run, lens[i - 1] == 0 ? 10 : 6);
                put_run(k, lens[i - 1] == 0 ? 17 : 16, lens[i - 1] == 0 ? 3 : 2, (unsigned)step - 3, counts);
            } else {
                put_run(k, lens[i - 1], 0, 0, counts);
            }
            run -= step;
        }
    }
    repo_huffman_make(counts, LENGTH_CODES, LENGTH_CODE_BITS, &k->lengths);
}

static const uint8_t length_order[LENGTH_CODES] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };

static unsigned n_length_codes(const struct block *k)
{
    unsigned n = LENGTH_CODES;
    while (n > 4 && k->lengths.len[length_order[n - 1]] == 0) {
        n--;
    }
    return n;
}

static size_t bits_of_codes(const struct block *k)
{
    size_t bits = 14 + 3 * (size_t)n_length_codes(k);
    for (size_t i = 0; i < k->n_runs; i++) {
        bits += k->lengths.len[k->runs[i].symbol] + k->runs[i].n_extra;
    }
    return bits;
}

static size_t bits_of_tokens(const struct block *k)
{
    size_t bits = 0;
    for (unsigned i = 0; i < k->literals.n && i < LITERALS; i++) { /* the fixed code has two symbols that nothing uses */
        unsigned extra = i < 265 ? 0 : (i - 261) / 4;
        bits += (size_t)k->literal_counts[i] * (k->literals.len[i] + extra);
    }
    for (unsigned i = 0; i < k->distances.n; i++) {
        unsigned extra = i < 4 ? 0 : i / 2 - 1;
        bits += (size_t)k->distance_counts[i] * (k->distances.len[i] + extra);
    }
    return bits;
}

static void write_stored(const struct block *k, struct bits *b)
{
    size_t n = k->end - k->start;
    put(b, k->is_last, 3);
    align(b);
    put(b, n | (~n & 0xffff) << 16, 32);
    flush(b);
    if (n > 0) {
        memcpy(b->out, k->bytes + k->start, n);
    }
    b->out += n;
}

static void write_codes(const struct block *k, struct bits *b)
{
    unsigned n = n_length_codes(k);
    put(b, k->literals.n - 257, 5);
    put(b, k->distances.n - 1, 5);
    put(b, n - 4, 4);
    for (unsigned i = 0; i < n; i++) {
        flush(b);
        put(b, k->lengths.len[length_order[i]], 3);
    }
    for (size_t i = 0; i < k->n_runs; i++) {
        flush(b);
        put(b, k->lengths.bits[k->runs[i].symbol], k->lengths.len[k->runs[i].symbol]);
        put(b, k->runs[i].extra, k->runs[i].n_extra);
    }
    flush(b);
}

static void write_bytes(const struct block *k, struct bits *b)
{
    const uint16_t *bits = k->literals.bits;
    const uint8_t *len = k->literals.len;
    size_t i = k->start;
    for (; i + 3 <= k->end; i += 3) { /* 45 bits and 7 that are held */
        const unsigned char *p = k->bytes + i;
        put(b, bits[p[0]], len[p[0]]);
        put(b, bits[p[1]], len[p[1]]);
        put(b, bits[p[2]], len[p[2]]);
        flush(b);
    }
    for (; i < k->end; i++) {
        put(b, bits[k->bytes[i]], len[k->bytes[i]]);
        flush(b);
    }
}

static void write_tokens(const struct block *k, struct bits *b)
{
    struct symbol d = distance_symbol(k->stride);
    for (size_t i = 0; i < k->n_tokens; i++) {
        unsigned t = k->tokens[i];
        if (t < 256) {
            put(b, k->literals.bits[t], k->literals.len[t]);
        } else { /* 15 + 5 + 15 + 13 bits and 7 that are held */
            struct symbol s = length_symbol(t - 256);
            put(b, k->literals.bits[s.symbol], k->literals.len[s.symbol]);
            put(b, s.extra, s.n_extra);
            put(b, k->distances.bits[d.symbol], k->distances.len[d.symbol]);
            put(b, d.extra, d.n_extra);
        }
        flush(b);
    }
}

/* The code that needs not to be written, RFC 1951 3.2.6. */
static void take_fixed_codes(struct block *k)
{
    uint8_t len[REPO_HUFFMAN_SYMBOLS];
    memset(len, 8, 144);
    memset(len + 144, 9, 112);
    memset(len + 256, 7, 24);
    memset(len + 280, 8, 8);
    repo_huffman_from(len, REPO_HUFFMAN_SYMBOLS, &k->literals);
    memset(len, 5, DISTANCES);
    repo_huffman_from(len, DISTANCES, &k->distances);
}

static size_t make_codes(struct block *k)
{
    repo_huffman_make(k->literal_counts, LITERALS, REPO_HUFFMAN_BITS, &k->literals);
    repo_huffman_make(k->distance_counts, DISTANCES, REPO_HUFFMAN_BITS, &k->distances);
    encode_lengths(k);
    return bits_of_codes(k) + bits_of_tokens(k);
}

/* Whichever of the three kinds of blocks is shortest. */
static void write_block(struct block *k, struct bits *b)
{
    size_t n = k->end - k->start, best = n * 8 + 32; /* of a stored one, without what aligns it */
    uint64_t type = STORED;
    count_symbols(k);
    if (n > FIXED_MAX && make_codes(k) < best) {
        best = bits_of_codes(k) + bits_of_tokens(k);
        type = OWN;
    }
    if (n <= FIXED_TRY) {
        take_fixed_codes(k);
        if (bits_of_tokens(k) < best) {
            type = FIXED;
        } else if (type == OWN) {
            make_codes(k);
        }
    }
    if (type == STORED) {
        write_stored(k, b);
        return;
    }
    put(b, (uint64_t)k->is_last | type << 1, 3);
    if (type == OWN) {
        write_codes(k, b);
    }
    if (k->stride == 0) {
        write_bytes(k, b);
    } else {
        write_tokens(k, b);
    }
    put(b, k->literals.bits[END], k->literals.len[END]);
    flush(b);
}

grebe_status repo_deflate_records(struct buf *scratch, const unsigned char *bytes, size_t len, size_t stride,
                                 struct buf *out, grebe_error *err)
{
    size_t n_blocks = len / PIECE + 1;
    assert(stride <= REPO_RECORDS_STRIDE_MAX);
    buf_clear(scratch);
    grebe_status st = buf_reserve(scratch, stride == 0 ? 0 : min_size(len, PIECE) * sizeof(uint16_t), err);
    st = st == GREBE_OK ? buf_reserve(out, 2 + len + n_blocks * 6 + 4 + 8, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    struct block k = { .bytes = bytes, .stride = (unsigned)stride, .tokens = (uint16_t *)(void *)scratch->data };
    struct bits b = { out->data + out->len, 0x0178, 16 };
    uLong sum = adler32(0, NULL, 0);
    flush(&b);
    do {
        k.end = k.start + min_size(len - k.start, PIECE);
        k.is_last = k.end == len;
        write_block(&k, &b);
        if (k.end > k.start) {
            sum = adler32(sum, bytes + k.start, (uInt)(k.end - k.start));
        }
        k.start = k.end;
    } while (!k.is_last);
    align(&b);
    for (int shift = 24; shift >= 0; shift -= 8) {
        *b.out++ = (unsigned char)(sum >> shift);
    }
    out->len = (size_t)(b.out - out->data);
    assert(out->len <= out->capacity);
    return GREBE_OK;
}
