/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TESTS_TEST_ROWS_JSON_H
#define GREBE_TESTS_TEST_ROWS_JSON_H

/* Arrow values as JSON, as the stored results have them (tests/data/hfdatasets/README.md). For tests of rooms above
 * arrow. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow/arrow_internal.h"
#include "base/half.h"
#include "base/number.h"
#include "test_support.h"

/* ---- values ---- */

static inline grebe_status put_string(struct buf *dst, const char *s, size_t len)
{
    grebe_error err;
    grebe_status st = buf_put_byte(dst, '"', &err);
    for (size_t i = 0; i < len && st == GREBE_OK; i++) {
        unsigned char c = (unsigned char)s[i];
        static const char letters[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
        const char *found = c != 0 ? strchr(letters, (char)c) : NULL;
        st = found != NULL ? buf_printf(dst, &err, "\\%c", names[found - letters])
             : c < 0x20    ? buf_printf(dst, &err, "\\u%04x", c)
                           : buf_put_byte(dst, c, &err);
    }
    return st == GREBE_OK ? buf_put_byte(dst, '"', &err) : st;
}

static inline void put_double(struct buf *dst, double v)
{
    grebe_error err;
    char text[NUMBER_TEXT_MAX];
    if (isnan(v) || isinf(v)) {
        assert_ok(buf_printf(dst, &err, "\"%s\"", isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity"));
        return;
    }
    assert_ok(buf_put(dst, text, number_put_double(text, v, &number_style_python), &err));
}

static inline void put_bytes_value(struct buf *dst, const char *p, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    grebe_error err;
    assert_ok(buf_put_text(dst, "{\"$b64\": \"", &err));
    for (size_t i = 0; i < len; i += 3) {
        uint32_t v = (uint32_t)(unsigned char)p[i] << 16;
        v |= i + 1 < len ? (uint32_t)(unsigned char)p[i + 1] << 8 : 0;
        v |= i + 2 < len ? (uint32_t)(unsigned char)p[i + 2] : 0;
        char out[4] = { digits[v >> 18], digits[v >> 12 & 63], i + 1 < len ? digits[v >> 6 & 63] : '=',
                        i + 2 < len ? digits[v & 63] : '=' };
        assert_ok(buf_put(dst, out, 4, &err));
    }
    assert_ok(buf_put_text(dst, "\"}", &err));
}

static inline int64_t int_at(const struct ArrowArray *array, enum arrow_kind kind, int64_t i)
{
    const char *p = array->buffers[1];
    switch (kind) {
    case ARROW_INT8: return ((const int8_t *)p)[i];
    case ARROW_UINT8: return ((const uint8_t *)p)[i];
    case ARROW_INT16: return ((const int16_t *)(const void *)p)[i];
    case ARROW_UINT16: return ((const uint16_t *)(const void *)p)[i];
    case ARROW_INT32:
    case ARROW_DATE32:
    case ARROW_TIME32: return ((const int32_t *)(const void *)p)[i];
    case ARROW_UINT32: return ((const uint32_t *)(const void *)p)[i];
    default: return ((const int64_t *)(const void *)p)[i];
    }
}

/* Decimals of up to 128 bits, as text. */
static inline void put_decimal(struct buf *dst, const struct arrow_type *t, const void *p)
{
    grebe_error err;
    char digits[64], text[80];
    unsigned char bytes[32];
    memset(bytes, ((const unsigned char *)p)[t->byte_width - 1] & 0x80 ? 0xff : 0, sizeof bytes);
    memcpy(bytes, p, (size_t)t->byte_width);
    bool is_negative = (bytes[31] & 0x80) != 0;
    unsigned carry = 1;
    for (size_t i = 0; is_negative && i < 32; i++) {
        carry += (unsigned char)~bytes[i];
        bytes[i] = (unsigned char)carry;
        carry >>= 8;
    }
    size_t n = 0;
    for (bool is_zero = false; !is_zero && n < sizeof digits;) {
        unsigned rest = 0;
        is_zero = true;
        for (size_t i = 32; i-- > 0;) {
            rest = rest << 8 | bytes[i];
            bytes[i] = (unsigned char)(rest / 10);
            rest %= 10;
            is_zero = is_zero && bytes[i] == 0;
        }
        digits[n++] = (char)('0' + rest);
    }
    while (t->scale >= 0 && n <= (size_t)t->scale) {
        digits[n++] = '0';
    }
    size_t at = 0;
    if (is_negative) {
        text[at++] = '-';
    }
    for (size_t i = n; i-- > 0;) {
        text[at++] = digits[i];
        if (i == (size_t)t->scale && t->scale > 0) {
            text[at++] = '.';
        }
    }
    text[at] = 0;
    assert_ok(buf_printf(dst, &err, "\"%s\"", text));
}

static inline void put_value(struct buf *dst, const struct ArrowSchema *schema, const struct ArrowArray *array,
                             int64_t i)
{
    grebe_error err;
    struct arrow_type t;
    assert_ok(arrow_type_of(schema, &t, &err));
    const int64_t at = i + array->offset;
    if (t.kind == ARROW_NULL || array_is_null(array, i)) {
        assert_ok(buf_put_text(dst, "null", &err));
        return;
    }
    if (arrow_kind_is_bytes(t.kind) || arrow_kind_is_view(t.kind)) {
        const char *p = NULL;
        int64_t len = 0;
        if (arrow_kind_is_view(t.kind)) {
            const char *view = (const char *)array->buffers[1] + 16 * at;
            int32_t head[4];
            memcpy(head, view, 16);
            len = head[0];
            p = len <= 12 ? view + 4 : (const char *)array->buffers[2 + head[2]] + head[3];
        } else if (arrow_offset_width(t.kind) == 8) {
            const int64_t *o = array->buffers[1];
            p = (const char *)array->buffers[2] + o[at];
            len = o[at + 1] - o[at];
        } else {
            const int32_t *o = array->buffers[1];
            p = (const char *)array->buffers[2] + o[at];
            len = o[at + 1] - o[at];
        }
        if (arrow_kind_is_text(t.kind)) {
            assert_ok(put_string(dst, p, (size_t)len));
        } else {
            put_bytes_value(dst, p, (size_t)len);
        }
        return;
    }
    if (t.kind == ARROW_STRUCT) {
        for (int64_t k = 0; k < schema->n_children; k++) {
            assert_ok(buf_put_text(dst, k == 0 ? "{" : ", ", &err));
            assert_ok(put_string(dst, schema->children[k]->name, strlen(schema->children[k]->name)));
            assert_ok(buf_put_text(dst, ": ", &err));
            put_value(dst, schema->children[k], array->children[k], at);
        }
        assert_ok(buf_put_text(dst, schema->n_children == 0 ? "{}" : "}", &err));
        return;
    }
    if (t.kind == ARROW_LIST || t.kind == ARROW_LARGE_LIST || t.kind == ARROW_FIXED_LIST) {
        int64_t begin = at * t.list_size, end = begin + t.list_size;
        if (t.kind == ARROW_LIST) {
            begin = ((const int32_t *)array->buffers[1])[at];
            end = ((const int32_t *)array->buffers[1])[at + 1];
        } else if (t.kind == ARROW_LARGE_LIST) {
            begin = ((const int64_t *)array->buffers[1])[at];
            end = ((const int64_t *)array->buffers[1])[at + 1];
        }
        assert_ok(buf_put_text(dst, "[", &err));
        for (int64_t k = begin; k < end; k++) {
            assert_ok(buf_put_text(dst, k > begin ? ", " : "", &err));
            put_value(dst, schema->children[0], array->children[0], k);
        }
        assert_ok(buf_put_text(dst, "]", &err));
        return;
    }
    if (t.kind == ARROW_BOOL) {
        assert_ok(buf_put_text(dst, bit_get(array->buffers[1], at) ? "true" : "false", &err));
    } else if (t.kind == ARROW_FLOAT64) {
        put_double(dst, ((const double *)array->buffers[1])[at]);
    } else if (t.kind == ARROW_FLOAT32) {
        put_double(dst, (double)((const float *)array->buffers[1])[at]);
    } else if (t.kind == ARROW_FLOAT16) {
        put_double(dst, (double)half_to_float(((const uint16_t *)array->buffers[1])[at]));
    } else if (t.kind >= ARROW_DECIMAL32 && t.kind <= ARROW_DECIMAL256) {
        put_decimal(dst, &t, (const char *)array->buffers[1] + at * t.byte_width);
    } else if (t.kind == ARROW_FIXED_BINARY) {
        put_bytes_value(dst, (const char *)array->buffers[1] + at * t.byte_width, (size_t)t.byte_width);
    } else if (t.kind == ARROW_UINT64) {
        assert_ok(buf_printf(dst, &err, "%llu", (unsigned long long)int_at(array, t.kind, at)));
    } else {
        assert_ok(buf_printf(dst, &err, "%lld", (long long)int_at(array, t.kind, at)));
    }
}

#endif
