/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_widen.h"

#include <assert.h>

#include "base/checked.h"
#include "base/half.h"

grebe_status widen_validity(const struct widen *w, const struct arrow_type *t,
                            const struct ArrowArray *array, int64_t begin, int64_t n,
                            struct ArrowArray *out)
{
    const uint8_t *bits = arrow_validity(array, t->kind);
    out->null_count = 0;
    if (bits == NULL || n == 0) {
        return GREBE_OK;
    }
    int64_t n_valid = bitmap_count(bits, array->offset + begin, n);
    if (n_valid == n) {
        return GREBE_OK;
    }
    void *p = NULL;
    size_t len = bitmap_bytes(n);
    grebe_status st = array_alloc_buffer(w->a, out, 0, len, &p, w->err);
    if (st == GREBE_OK) {
        memset(p, 0, len);
        bitmap_copy(p, 0, bits, array->offset + begin, n);
        out->null_count = n - n_valid;
    }
    return st;
}

/* An array of fixed width with validity done and room for values. */
static grebe_status begin_fixed(const struct widen *w, const struct arrow_type *f, size_t width,
                                const struct ArrowArray *array, int64_t begin, int64_t n,
                                struct ArrowArray *out, void **values)
{
    size_t len = 0;
    memset(out, 0, sizeof *out);
    if (!checked_mul_size((size_t)n, width, &len)) {
        return GREBE_FAIL(w->err, GREBE_ELIMIT, "%lld values of %zu bytes do not fit in memory",
                          (long long)n, width);
    }
    grebe_status st = array_new(w->a, n, 2, 0, out, w->err);
    if (st == GREBE_OK) {
        st = widen_validity(w, f, array, begin, n, out);
    }
    if (st == GREBE_OK) {
        st = array_alloc_buffer(w->a, out, 1, len, values, w->err);
    }
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static bool is_integer(enum arrow_kind kind) { return kind >= ARROW_INT8 && kind <= ARROW_UINT64; }

static double float_value(const void *values, enum arrow_kind kind, int64_t i)
{
    const char *p = values;
    float f;
    double d;
    uint16_t h;
    switch (kind) {
    case ARROW_FLOAT16: memcpy(&h, p + 2 * i, 2); return (double)half_to_float(h);
    case ARROW_FLOAT32: memcpy(&f, p + 4 * i, 4); return (double)f;
    case ARROW_FLOAT64: memcpy(&d, p + 8 * i, 8); return d;
    default: return (double)arrow_load_int(values, kind, i); /* at most 32 bits: exact */
    }
}

grebe_status widen_numbers(const struct widen *w, const struct arrow_type *f,
                           const struct arrow_type *t, const struct ArrowArray *array,
                           int64_t begin, int64_t n, struct ArrowArray *out)
{
    void *p = NULL;
    size_t width = (size_t)t->byte_width;
    grebe_status st = begin_fixed(w, f, width, array, begin, n, out, &p);
    if (st != GREBE_OK) {
        return st;
    }
    char *dst = p;
    const void *src = array->buffers[1];
    begin += array->offset;
    for (int64_t i = 0; i < n; i++, dst += width) {
        if (is_integer(t->kind)) {
            int64_t v = arrow_load_int(src, f->kind, begin + i);
            memcpy(dst, &v, width); /* little-endian hosts: the low bytes */
        } else if (t->kind == ARROW_FLOAT64) {
            double v = float_value(src, f->kind, begin + i);
            memcpy(dst, &v, sizeof v);
        } else {
            float v = (float)float_value(src, f->kind, begin + i);
            memcpy(dst, &v, sizeof v);
        }
    }
    return GREBE_OK;
}

static int64_t load_time(const void *values, int32_t width, int64_t i)
{
    return width == 4 ? load_i32_at(values, i) : load_i64_at(values, i);
}

/* Units of a day: DATE32 counts days, everything else a unit of a second. */
static int64_t units_per(const struct arrow_type *f, const struct arrow_type *t)
{
    static const int64_t per_second[] = { 1, 1000, 1000000, 1000000000 };
    if (f->kind == ARROW_DATE32) {
        return t->kind == ARROW_DATE32 ? 1 : INT64_C(86400) * per_second[t->unit];
    }
    return per_second[t->unit] / per_second[f->unit];
}

grebe_status widen_scale(const struct widen *w, const struct arrow_type *f,
                         const struct arrow_type *t, const struct ArrowArray *array,
                         int64_t begin, int64_t n, struct ArrowArray *out)
{
    void *p = NULL;
    grebe_status st = begin_fixed(w, f, (size_t)t->byte_width, array, begin, n, out, &p);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t factor = units_per(f, t);
    const uint8_t *bits = arrow_validity(array, f->kind);
    for (int64_t i = 0; i < n; i++) {
        int64_t slot = array->offset + begin + i;
        int64_t v = 0;
        if (bits != NULL && !bit_get(bits, slot)) {
            store_offset(p, t->byte_width, i, 0);
            continue;
        }
        int64_t old = load_time(array->buffers[1], f->byte_width, slot);
        if (!checked_mul_i64(old, factor, &v) ||
            (t->byte_width == 4 && (v < INT32_MIN || v > INT32_MAX))) {
            array_release(out);
            return GREBE_FAIL(w->err, GREBE_ESCHEMA,
                              "row %lld: %lld does not fit the finer unit of time",
                              (long long)(begin + i), (long long)old);
        }
        store_offset(p, t->byte_width, i, v);
    }
    return GREBE_OK;
}

/* ---- decimals: 256 bits, little-endian limbs, two's complement ---- */

static void load_decimal(const char *p, int32_t width, uint64_t limbs[4])
{
    memset(limbs, (p[width - 1] & 0x80) != 0 ? 0xff : 0, 32);
    memcpy(limbs, p, (size_t)width);
}

static void times_ten(uint64_t limbs[4])
{
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t low = (limbs[i] & UINT32_MAX) * 10 + carry;
        uint64_t high = (limbs[i] >> 32) * 10 + (low >> 32);
        limbs[i] = (low & UINT32_MAX) | high << 32;
        carry = high >> 32;
    }
}

grebe_status widen_decimals(const struct widen *w, const struct arrow_type *f,
                            const struct arrow_type *t, const struct ArrowArray *array,
                            int64_t begin, int64_t n, struct ArrowArray *out)
{
    void *p = NULL;
    grebe_status st = begin_fixed(w, f, (size_t)t->byte_width, array, begin, n, out, &p);
    if (st != GREBE_OK) {
        return st;
    }
    /* The rule saw to it that precision - scale does not shrink, so the product fits. */
    char *dst = p;
    const char *src = (const char *)array->buffers[1];
    for (int64_t i = 0; i < n; i++, dst += t->byte_width) {
        uint64_t limbs[4];
        load_decimal(src + (array->offset + begin + i) * f->byte_width, f->byte_width, limbs);
        for (int32_t k = f->scale; k < t->scale; k++) {
            times_ten(limbs);
        }
        memcpy(dst, limbs, (size_t)t->byte_width);
    }
    return GREBE_OK;
}

/* ---- strings and binaries between layouts ---- */

static grebe_status bytes_to_views(const struct widen *w, const struct arrow_type *f,
                                   const struct ArrowArray *array, int64_t begin, int64_t n,
                                   struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    const uint8_t *bits = arrow_validity(array, f->kind);
    int64_t total = 0;
    void *p = NULL;
    void *data = NULL;
    void *sizes = NULL;

    for (int64_t i = 0; i < n; i++) {
        struct arrow_bytes b = { "", 0 };
        if (bits == NULL || bit_get(bits, array->offset + begin + i)) {
            b = arrow_bytes_at(array, f->kind, f->byte_width, begin + i);
        }
        total += b.len > ARROW_VIEW_INLINE_MAX ? b.len : 0;
    }
    if (total > INT32_MAX) {
        return GREBE_FAIL(w->err, GREBE_ELIMIT, "%lld bytes in one array of views",
                          (long long)total);
    }
    GREBE_TRY(array_new(w->a, n, 4, 0, out, w->err));
    GREBE_TRY(widen_validity(w, f, array, begin, n, out));
    GREBE_TRY(array_alloc_buffer(w->a, out, 1, (size_t)n * sizeof(struct arrow_view), &p, w->err));
    GREBE_TRY(array_alloc_buffer(w->a, out, 2, (size_t)total, &data, w->err));
    GREBE_TRY(array_alloc_buffer(w->a, out, 3, 8, &sizes, w->err));
    memcpy(sizes, &total, 8);
    char *view = p;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++, view += sizeof(struct arrow_view)) {
        memset(view, 0, sizeof(struct arrow_view));
        if (bits != NULL && !bit_get(bits, array->offset + begin + i)) {
            continue;
        }
        struct arrow_bytes b = arrow_bytes_at(array, f->kind, f->byte_width, begin + i);
        if (b.len <= ARROW_VIEW_INLINE_MAX) {
            int32_t len = (int32_t)b.len;
            memcpy(view, &len, 4);
            memcpy(view + 4, b.p, (size_t)b.len);
            continue;
        }
        struct arrow_view v = { (int32_t)b.len, 0, 0, (int32_t)at };
        memcpy(&v.prefix, b.p, 4);
        memcpy(view, &v, sizeof v);
        memcpy((char *)data + at, b.p, (size_t)b.len);
        at += b.len;
    }
out:
    return st;
}

static grebe_status bytes_to_offsets(const struct widen *w, const struct arrow_type *f,
                                     const struct arrow_type *t, const struct ArrowArray *array,
                                     int64_t begin, int64_t n, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    const uint8_t *bits = arrow_validity(array, f->kind);
    int width = arrow_offset_width(t->kind);
    int64_t total = 0;
    size_t len = 0;
    void *offsets = NULL;
    void *data = NULL;

    if (!checked_mul_size((size_t)n + 1, (size_t)width, &len)) {
        return GREBE_FAIL(w->err, GREBE_ELIMIT, "%lld offsets do not fit in memory",
                          (long long)n);
    }
    GREBE_TRY(array_new(w->a, n, 3, 0, out, w->err));
    GREBE_TRY(widen_validity(w, f, array, begin, n, out));
    GREBE_TRY(array_alloc_buffer(w->a, out, 1, len, &offsets, w->err));
    store_offset(offsets, width, 0, 0);
    for (int64_t i = 0; i < n; i++) {
        if (bits == NULL || bit_get(bits, array->offset + begin + i)) {
            total += arrow_bytes_at(array, f->kind, f->byte_width, begin + i).len;
        }
        if (width == 4 && total > INT32_MAX) {
            st = GREBE_FAIL(w->err, GREBE_ELIMIT,
                            "row %lld: more than 2147483647 bytes in one array of %s",
                            (long long)(begin + i),
                            arrow_kind_is_text(t->kind) ? "string" : "binary");
            goto out;
        }
        store_offset(offsets, width, i + 1, total);
    }
    GREBE_TRY(array_alloc_buffer(w->a, out, 2, (size_t)total, &data, w->err));
    char *dst = data;
    for (int64_t i = 0; i < n; i++) {
        if (bits == NULL || bit_get(bits, array->offset + begin + i)) {
            struct arrow_bytes b = arrow_bytes_at(array, f->kind, f->byte_width, begin + i);
            memcpy(dst, b.p, (size_t)b.len);
            dst += b.len;
        }
    }
out:
    return st;
}

grebe_status widen_bytes(const struct widen *w, const struct arrow_type *f,
                         const struct arrow_type *t, const struct ArrowArray *array,
                         int64_t begin, int64_t n, struct ArrowArray *out)
{
    memset(out, 0, sizeof *out);
    grebe_status st = arrow_kind_is_view(t->kind)
                          ? bytes_to_views(w, f, array, begin, n, out)
                          : bytes_to_offsets(w, f, t, array, begin, n, out);
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}
