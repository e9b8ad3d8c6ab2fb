/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_levels.h"

#include <assert.h>
#include <string.h>

#include "codec/bitpack.h"
#include "codec/rle_hybrid.h"

static grebe_status too_high(const struct pq_levels *l, uint32_t level, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "level %u, the highest possible is %u", level, l->max);
}

/* Encodings.md, "Bit-packed (Deprecated)": most significant bit first. */
static grebe_status decode_msb(const struct pq_levels *l, uint8_t *out, grebe_error *err)
{
    unsigned width = pq_level_width(l->max);
    if (((uint64_t)l->n * width + 7) / 8 > l->len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%zu bytes of bit-packed levels, %u entries", l->len,
                          l->n);
    }
    uint64_t at = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        unsigned v = 0;
        for (unsigned b = 0; b < width; b++, at++) {
            v = v << 1 | ((unsigned)l->bytes[at / 8] >> (7 - at % 8) & 1u);
        }
        if (v > l->max) {
            return too_high(l, v, err);
        }
        out[i] = (uint8_t)v;
    }
    return GREBE_OK;
}

static grebe_status unpack(const struct pq_levels *l, const struct rle_run *run, unsigned width,
                           uint8_t *out, grebe_error *err)
{
    uint32_t block[256]; /* 256 values of any width end on a byte */
    for (uint64_t i = 0; i < run->count; i += 256) {
        size_t n = run->count - i < 256 ? (size_t)(run->count - i) : 256;
        size_t skip = (size_t)(i * width / 8);
        bitpack_unpack_u32(run->packed + skip, run->packed_len - skip, width, block, n);
        uint32_t high = 0;
        for (size_t k = 0; k < n; k++) {
            high = block[k] > high ? block[k] : high;
            out[i + k] = (uint8_t)block[k];
        }
        if (high > l->max) {
            return too_high(l, high, err);
        }
    }
    return GREBE_OK;
}

grebe_status pq_levels_decode(const struct pq_levels *l, uint8_t *out, grebe_error *err)
{
    unsigned width = pq_level_width(l->max);
    struct rle_reader r;
    struct rle_run run;
    grebe_status st = GREBE_OK;

    if (l->max == 0) {
        memset(out, 0, l->n);
        return GREBE_OK;
    }
    if (l->is_msb_packed) {
        return decode_msb(l, out, err);
    }
    rle_reader_init(&r, l->bytes, l->len, width, l->n);
    while ((st = rle_next(&r, &run, err)) == GREBE_OK) {
        if (run.is_rle) {
            if (run.value > l->max) {
                return too_high(l, run.value, err);
            }
            memset(out, (int)run.value, (size_t)run.count);
        } else {
            st = unpack(l, &run, width, out, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        out += run.count;
    }
    return st == GREBE_END ? GREBE_OK : st;
}

bool pq_levels_are_max(const struct pq_levels *l)
{
    struct rle_reader r;
    struct rle_run run;
    grebe_status st;
    if (l->max == 0 || l->n == 0) {
        return true;
    }
    if (l->is_msb_packed) {
        return false;
    }
    rle_reader_init(&r, l->bytes, l->len, pq_level_width(l->max), l->n);
    while ((st = rle_next(&r, &run, NULL)) == GREBE_OK) {
        if (!run.is_rle || run.value != l->max) {
            return false;
        }
    }
    return st == GREBE_END;
}

grebe_status pq_levels_to_bits(const struct pq_levels *l, uint8_t *bits, grebe_error *err)
{
    assert(l->max == 1);
    if (!l->is_msb_packed) {
        return rle_decode_bits(l->bytes, l->len, bits, l->n, err);
    }
    if (((uint64_t)l->n + 7) / 8 > l->len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%zu bytes of bit-packed levels, %u entries", l->len,
                          l->n);
    }
    memset(bits, 0, (l->n + 7) / 8);
    for (uint32_t i = 0; i < l->n; i++) {
        bits[i / 8] |= (uint8_t)((l->bytes[i / 8] >> (7 - i % 8) & 1) << i % 8);
    }
    return GREBE_OK;
}

static uint64_t count_ones(const uint8_t *bytes, uint64_t n_bits)
{
    uint64_t n = 0;
    uint64_t i = 0;
    for (; i + 64 <= n_bits; i += 64) {
        uint64_t word;
        memcpy(&word, bytes + i / 8, 8);
        n += (uint64_t)__builtin_popcountll(word);
    }
    for (; i < n_bits; i++) {
        n += bytes[i / 8] >> i % 8 & 1;
    }
    return n;
}

grebe_status pq_levels_count_zero(const struct pq_levels *l, uint32_t *n_zero, bool *is_first_zero,
                                  grebe_error *err)
{
    unsigned width = pq_level_width(l->max);
    struct rle_reader r;
    struct rle_run run;
    grebe_status st;
    bool is_first = true;

    *n_zero = 0;
    *is_first_zero = true;
    if (l->max == 0) {
        *n_zero = l->n;
        return GREBE_OK;
    }
    if (l->is_msb_packed) {
        uint8_t level;
        for (uint32_t i = 0; i < l->n; i++) {
            uint64_t bit = (uint64_t)i * width;
            if ((bit + width + 7) / 8 > l->len) {
                return GREBE_FAIL(err, GREBE_ECORRUPT, "%zu bytes of bit-packed levels, %u entries",
                                  l->len, l->n);
            }
            level = 0;
            for (unsigned b = 0; b < width; b++, bit++) {
                level = (uint8_t)(level << 1 | (l->bytes[bit / 8] >> (7 - bit % 8) & 1));
            }
            *n_zero += level == 0;
            *is_first_zero = i == 0 ? level == 0 : *is_first_zero;
        }
        return GREBE_OK;
    }
    rle_reader_init(&r, l->bytes, l->len, width, l->n);
    while ((st = rle_next(&r, &run, err)) == GREBE_OK) {
        uint32_t first = run.value;
        if (run.is_rle) {
            *n_zero += run.value == 0 ? (uint32_t)run.count : 0;
        } else if (width == 1) {
            first = run.packed[0] & 1;
            *n_zero += (uint32_t)(run.count - count_ones(run.packed, run.count));
        } else {
            uint32_t block[256];
            bitpack_unpack_u32(run.packed, run.packed_len, width, &first, 1);
            for (uint64_t i = 0; i < run.count; i += 256) {
                size_t n = run.count - i < 256 ? (size_t)(run.count - i) : 256;
                size_t skip = (size_t)(i * width / 8);
                bitpack_unpack_u32(run.packed + skip, run.packed_len - skip, width, block, n);
                for (size_t k = 0; k < n; k++) {
                    *n_zero += block[k] == 0;
                }
            }
        }
        *is_first_zero = is_first ? first == 0 : *is_first_zero;
        is_first = false;
    }
    return st == GREBE_END ? GREBE_OK : st;
}

/* ---- lists of one length ---- */

/* Whether bits [0, count) of a run that begins at entry `at` are 0 at multiples of len only. */
static bool bits_fit(const uint8_t *bits, uint64_t count, uint64_t at, uint64_t len)
{
    uint64_t zero = (at + len - 1) / len * len - at; /* the next one, from the run's start */
    for (uint64_t i = 0; i < count; i += 8) {
        unsigned n = count - i < 8 ? (unsigned)(count - i) : 8;
        unsigned expected = 0xff;
        while (zero < i + 8) {
            expected &= ~(1u << (zero - i));
            zero += len;
        }
        unsigned mask = 0xffu >> (8 - n);
        if (((bits[i / 8] ^ expected) & mask) != 0) {
            return false;
        }
    }
    return true;
}

static bool run_fits(const struct rle_run *run, uint64_t at, uint64_t len)
{
    uint64_t in_list = at % len;
    if (!run->is_rle) {
        return bits_fit(run->packed, run->count, at, len);
    }
    if (run->value == 0) {
        return in_list == 0 && (run->count == 1 || len == 1);
    }
    return run->value == 1 && in_list != 0 && run->count <= len - in_list;
}

/* Entries in front of the second 0; n when there is none; 0 when the levels make no sense. */
static uint32_t learn_list_len(const struct pq_levels *l)
{
    struct rle_reader r;
    struct rle_run run;
    uint64_t at = 0;
    grebe_status st;
    rle_reader_init(&r, l->bytes, l->len, 1, l->n);
    while ((st = rle_next(&r, &run, NULL)) == GREBE_OK) {
        if (run.is_rle) {
            if (run.value == 0 && at > 0) {
                return (uint32_t)at;
            }
            if (run.value == 0 && run.count > 1) {
                return 1;
            }
        } else {
            for (uint64_t i = 0; i < run.count; i++) {
                if ((run.packed[i / 8] >> i % 8 & 1) == 0 && at + i > 0) {
                    return (uint32_t)(at + i);
                }
            }
        }
        at += run.count;
    }
    return st == GREBE_END ? l->n : 0;
}

bool pq_levels_are_periodic(const struct pq_levels *l, uint32_t *list_len)
{
    struct rle_reader r;
    struct rle_run run;
    uint64_t at = 0;
    bool is_period_tried = false;
    grebe_status st;

    if (l->max != 1 || l->is_msb_packed || l->n == 0) {
        return false;
    }
    uint64_t len = *list_len != 0 ? *list_len : learn_list_len(l);
    if (len == 0 || l->n % len != 0) {
        return false;
    }
    *list_len = (uint32_t)len;
    rle_reader_init(&r, l->bytes, l->len, 1, l->n);
    while ((st = rle_next(&r, &run, NULL)) == GREBE_OK) {
        if (!run_fits(&run, at, len)) {
            return false;
        }
        at += run.count;
        if (!is_period_tried && at % len == 0 && at < l->n) {
            /* Whole lists in whole runs: if the bytes repeat, so do the lists. Runs begin at
             * the same places in every period, so the reader may go on behind the last one. */
            size_t period = (size_t)(r.p - l->bytes);
            uint64_t n_periods = l->n / at;
            is_period_tried = true;
            if (n_periods >= 2 && n_periods <= l->len / period &&
                memcmp(l->bytes, l->bytes + period, (size_t)(n_periods - 1) * period) == 0) {
                r.p = l->bytes + (size_t)n_periods * period;
                at *= n_periods;
                r.n_left = l->n - at;
            }
        }
    }
    return st == GREBE_END && at == l->n;
}
