/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_column.h"

#include <string.h>

#include "base/endian.h"

static void narrow(const unsigned char *src, int32_t width_in, unsigned char *dst,
                   int32_t width_out, size_t n)
{
    /* Little-endian: the low bytes come first. */
    if (width_in == 4 && width_out == 1) {
        for (size_t i = 0; i < n; i++) {
            dst[i] = src[4 * i];
        }
    } else if (width_in == 4 && width_out == 2) {
        for (size_t i = 0; i < n; i++) {
            memcpy(dst + 2 * i, src + 4 * i, 2);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            memcpy(dst + i * (size_t)width_out, src + i * (size_t)width_in, (size_t)width_out);
        }
    }
}

static void sign_extend(const unsigned char *src, int32_t width_in, unsigned char *dst,
                        int32_t width_out, size_t n)
{
    size_t common = (size_t)(width_in < width_out ? width_in : width_out);
    if (width_out == 16) { /* decimals in integers, of 4 or 8 bytes */
        for (size_t i = 0; i < n; i++) {
            int64_t low = width_in == 4 ? (int64_t)(int32_t)load_le32(src + 4 * i)
                                        : (int64_t)load_le64(src + 8 * i);
            int64_t high = low < 0 ? -1 : 0;
            memcpy(dst + 16 * i, &low, 8);
            memcpy(dst + 16 * i + 8, &high, 8);
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const unsigned char *s = src + i * (size_t)width_in;
        unsigned char *d = dst + i * (size_t)width_out;
        memcpy(d, s, common);
        memset(d + common, s[width_in - 1] & 0x80 ? 0xff : 0, (size_t)width_out - common);
    }
}

grebe_status pq_convert_decimal(const unsigned char *src, size_t len, unsigned char *dst,
                                size_t width, grebe_error *err)
{
    unsigned char fill = len > 0 && (src[0] & 0x80) ? 0xff : 0;
    /* Leading bytes beyond the width may only repeat the sign. */
    while (len > width) {
        if (src[0] != fill || (len == width + 1 && (src[1] & 0x80) != (fill & 0x80))) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "a decimal of %zu bytes does not fit %zu", len,
                              width);
        }
        src++;
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        dst[i] = src[len - 1 - i];
    }
    memset(dst + len, fill, width - len);
    return GREBE_OK;
}

/* Big-endian decimals of w bytes, 1 to 16, as 16 bytes little-endian: one or two loads each, which for the
 * last values would go beyond the end. Gives back how many were done. */
static size_t decimals_be_16(const unsigned char *src, size_t w, unsigned char *dst, size_t n)
{
    size_t load = w <= 8 ? 8 : 16;
    size_t spare = (load - w + w - 1) / w; /* values whose loads end beyond the input */
    size_t n_fast = n > spare ? n - spare : 0;
    if (w <= 8) {
        unsigned shift = 64 - 8 * (unsigned)w;
        for (size_t i = 0; i < n_fast; i++) {
            int64_t low = (int64_t)__builtin_bswap64(load_le64(src + i * w)) >> shift;
            int64_t high = low < 0 ? -1 : 0;
            memcpy(dst + 16 * i, &low, 8);
            memcpy(dst + 16 * i + 8, &high, 8);
        }
        return n_fast;
    }
    unsigned shift = 128 - 8 * (unsigned)w; /* 0 to 56 */
    for (size_t i = 0; i < n_fast; i++) {
        int64_t high = (int64_t)__builtin_bswap64(load_le64(src + i * w));
        uint64_t low = __builtin_bswap64(load_le64(src + i * w + 8));
        if (shift > 0) {
            low = low >> shift | (uint64_t)high << (64 - shift);
            high >>= shift;
        }
        memcpy(dst + 16 * i, &low, 8);
        memcpy(dst + 16 * i + 8, &high, 8);
    }
    return n_fast;
}

static grebe_status decimals_be(const struct pq_node *node, const unsigned char *src,
                                unsigned char *dst, size_t n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t w = (size_t)node->width_in, to = (size_t)node->width_out;
    size_t i = to == 16 && w > 0 && w <= 16 ? decimals_be_16(src, w, dst, n) : 0;
    for (; i < n && st == GREBE_OK; i++) {
        st = pq_convert_decimal(src + i * w, w, dst + i * to, to, err);
    }
    return st;
}

/* 8 bytes nanoseconds of the day, 4 bytes Julian day. */
static grebe_status int96_to_time(const unsigned char *src, unsigned char *dst, size_t n,
                                  bool is_us, grebe_error *err)
{
    enum { EPOCH_JULIAN_DAY = 2440588 };
    const int64_t per_day = is_us ? INT64_C(86400000000) : INT64_C(86400000000000);
    for (size_t i = 0; i < n; i++) {
        int64_t ns = (int64_t)load_le64(src + 12 * i);
        int64_t day = (int32_t)load_le32(src + 12 * i + 8);
        int64_t v = 0;
        if (is_us) {
            /* Modulo 2^64, as Spark splits and joins them: its years beyond 262143 come out right. */
            v = (int64_t)((uint64_t)(day - EPOCH_JULIAN_DAY) * (uint64_t)per_day +
                          (uint64_t)(ns / 1000 - (ns % 1000 < 0)));
        } else if (__builtin_mul_overflow(day - EPOCH_JULIAN_DAY, per_day, &v) ||
                   __builtin_add_overflow(v, ns, &v)) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "INT96 timestamp of Julian day %lld does not fit 64-bit nanoseconds",
                              (long long)day);
        }
        memcpy(dst + 8 * i, &v, 8);
    }
    return GREBE_OK;
}

/* Rounds towards minus infinity, so that times before 1970 stay in their second. */
static int64_t floor_div(int64_t v, int64_t by)
{
    int64_t q = v / by;
    return q - (v % by < 0);
}

static void scale_times(enum pq_convert convert, const unsigned char *src, unsigned char *dst,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (convert == PQ_CONVERT_MS_TO_S_64) {
            int64_t v = floor_div((int64_t)load_le64(src + 8 * i), 1000);
            memcpy(dst + 8 * i, &v, 8);
        } else if (convert == PQ_CONVERT_MS_TO_S_32) {
            int32_t v = (int32_t)floor_div((int32_t)load_le32(src + 4 * i), 1000);
            memcpy(dst + 4 * i, &v, 4);
        } else {
            int64_t v = (int64_t)(int32_t)load_le32(src + 4 * i) * 86400000;
            memcpy(dst + 8 * i, &v, 8);
        }
    }
}

grebe_status pq_convert_values(const struct pq_node *node, const unsigned char *src, void *dst,
                               size_t n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (n == 0) {
        return GREBE_OK;
    }
    switch (node->convert) {
    case PQ_CONVERT_COPY: memcpy(dst, src, n * (size_t)node->width_in); break;
    case PQ_CONVERT_NARROW: narrow(src, node->width_in, dst, node->width_out, n); break;
    case PQ_CONVERT_SIGN_EXTEND: sign_extend(src, node->width_in, dst, node->width_out, n); break;
    case PQ_CONVERT_INT96: st = int96_to_time(src, dst, n, false, err); break;
    case PQ_CONVERT_INT96_US: st = int96_to_time(src, dst, n, true, err); break;
    case PQ_CONVERT_DECIMAL_BE: st = decimals_be(node, src, dst, n, err); break;
    default: scale_times(node->convert, src, dst, n); break;
    }
    return st;
}
