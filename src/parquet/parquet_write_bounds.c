/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/half.h"

/* Smallest and largest values of pages and chunks, by the order of the column. NaN takes no part. */

#define INTEGER_BOUNDS(type, member)                                       \
    do {                                                                   \
        const type *v = (const type *)(const void *)c->values.data;        \
        type low = v[begin], high = v[begin];                              \
        for (int64_t i = begin + 1; i < end; i++) {                        \
            low = v[i] < low ? v[i] : low;                                 \
            high = v[i] > high ? v[i] : high;                              \
        }                                                                  \
        out->min.member = low;                                             \
        out->max.member = high;                                            \
        out->has = true;                                                   \
    } while (0)

static double float_at(const struct pw_chunk *c, int64_t i)
{
    switch (c->leaf->order) {
    case PW_ORDER_F16: return (double)half_to_float(load_le16(c->values.data + 2 * i));
    case PW_ORDER_F32: return (double)((const float *)(const void *)c->values.data)[i];
    default: return ((const double *)(const void *)c->values.data)[i];
    }
}

static void float_bounds(const struct pw_chunk *c, int64_t begin, int64_t end,
                         struct pw_bounds *out)
{
    double low = (double)INFINITY;
    double high = -(double)INFINITY;

    for (int64_t i = begin; i < end; i++) {
        const double v = float_at(c, i);

        out->n_nan += v != v;
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    out->has = out->n_nan < end - begin;
    out->min.f = low;
    out->max.f = high;
}

static int compare_at(const struct pw_chunk *c, int64_t x, int64_t y)
{
    size_t x_len = 0;
    size_t y_len = 0;
    const unsigned char *xs = pw_value_at(c, x, &x_len);
    const unsigned char *ys = pw_value_at(c, y, &y_len);
    const size_t shorter = min_size(x_len, y_len);
    int order = 0;

    if (c->leaf->order == PW_ORDER_DECIMAL && ((xs[0] ^ ys[0]) & 0x80) != 0) {
        return (xs[0] & 0x80) != 0 ? -1 : 1; /* big-endian two's complement: the sign decides */
    }
    order = shorter > 0 ? memcmp(xs, ys, shorter) : 0;
    return order != 0 ? order : (x_len > y_len) - (x_len < y_len);
}

/* The first eight bytes as a number of the same order; only ties need the whole values. */
static uint64_t prefix_at(const struct pw_chunk *c, int64_t i)
{
    size_t len = 0;
    const unsigned char *v = pw_value_at(c, i, &len);
    uint64_t prefix = 0;

    if (len >= 8) {
        prefix = __builtin_bswap64(load_le64(v));
    } else {
        for (size_t k = 0; k < len; k++) {
            prefix |= (uint64_t)v[k] << (56 - 8 * k);
        }
    }
    return c->leaf->order == PW_ORDER_DECIMAL ? prefix ^ (uint64_t)1 << 63 : prefix;
}

static void byte_bounds(const struct pw_chunk *c, int64_t begin, int64_t end,
                        struct pw_bounds *out)
{
    uint64_t low = prefix_at(c, begin);
    uint64_t high = low;

    out->has = true;
    out->min_at = out->max_at = begin;
    for (int64_t i = begin + 1; i < end; i++) {
        const uint64_t prefix = prefix_at(c, i);

        if (prefix < low || (prefix == low && compare_at(c, i, out->min_at) < 0)) {
            out->min_at = i;
            low = prefix;
        }
        if (prefix > high || (prefix == high && compare_at(c, i, out->max_at) > 0)) {
            out->max_at = i;
            high = prefix;
        }
    }
}

void pw_bounds_of(const struct pw_chunk *c, int64_t begin, int64_t end, struct pw_bounds *out)
{
    memset(out, 0, sizeof *out);
    if (begin == end) {
        return;
    }
    switch (c->leaf->order) {
    case PW_UNORDERED: return;
    case PW_ORDER_BOOL: INTEGER_BOUNDS(uint8_t, u); return;
    case PW_ORDER_I32: INTEGER_BOUNDS(int32_t, i); return;
    case PW_ORDER_U32: INTEGER_BOUNDS(uint32_t, u); return;
    case PW_ORDER_I64: INTEGER_BOUNDS(int64_t, i); return;
    case PW_ORDER_U64: INTEGER_BOUNDS(uint64_t, u); return;
    case PW_ORDER_F16:
    case PW_ORDER_F32:
    case PW_ORDER_F64: float_bounds(c, begin, end, out); return;
    case PW_ORDER_BYTES:
    case PW_ORDER_DECIMAL: break;
    }
    byte_bounds(c, begin, end, out);
}

/* Bounds of a page of strings that has a dictionary: every entry is looked at once. `seen`: a byte
 * an entry. */
static void entry_bounds(const struct pw_chunk *c, const struct pw_page *p,
                         const struct pw_scratch *s, uint8_t *seen, struct pw_bounds *out)
{
    const uint32_t *index = (const uint32_t *)(const void *)s->index.data;
    const int64_t *entries = (const int64_t *)(const void *)s->entries.data;
    const size_t n_entries = s->entries.len / sizeof *entries;

    memset(out, 0, sizeof *out);
    memset(seen, 0, n_entries);
    for (int64_t i = p->value_begin; i < p->value_begin + p->n_values; i++) {
        const uint32_t e = index[i];

        if (seen[e] != 0) {
            continue;
        }
        seen[e] = 1;
        if (!out->has) {
            out->has = true;
            out->min_at = out->max_at = entries[e];
        } else if (compare_at(c, entries[e], out->min_at) < 0) {
            out->min_at = entries[e];
        } else if (compare_at(c, entries[e], out->max_at) > 0) {
            out->max_at = entries[e];
        }
    }
}

int pw_bound_compare(const struct pw_chunk *c, const struct pw_bounds *x,
                         const struct pw_bounds *y, bool is_max)
{
    const union pw_number a = is_max ? x->max : x->min;
    const union pw_number b = is_max ? y->max : y->min;

    switch (c->leaf->order) {
    case PW_ORDER_I32:
    case PW_ORDER_I64: return (a.i > b.i) - (a.i < b.i);
    case PW_ORDER_BOOL:
    case PW_ORDER_U32:
    case PW_ORDER_U64: return (a.u > b.u) - (a.u < b.u);
    case PW_ORDER_F16:
    case PW_ORDER_F32:
    case PW_ORDER_F64: return (a.f > b.f) - (a.f < b.f);
    default: return compare_at(c, is_max ? x->max_at : x->min_at, is_max ? y->max_at : y->min_at);
    }
}

static void merge_bounds(const struct pw_chunk *c, struct pw_bounds *all,
                         const struct pw_bounds *page)
{
    const int64_t n_nan = all->n_nan + page->n_nan;

    if (page->has && !all->has) {
        *all = *page;
    } else if (page->has) {
        if (pw_bound_compare(c, page, all, false) < 0) {
            all->min = page->min;
            all->min_at = page->min_at;
        }
        if (pw_bound_compare(c, page, all, true) > 0) {
            all->max = page->max;
            all->max_at = page->max_at;
        }
    }
    all->n_nan = n_nan;
}

/* Whether bounds come from the dictionary that the scratch holds. */
static bool has_entries(const struct pw_chunk *c, const struct pw_config *config)
{
    return c->has_dictionary && !config->is_milvus && c->leaf->order >= PW_ORDER_BYTES;
}

grebe_status pw_page_bounds(struct pw_chunk *c, const struct pw_config *config,
                                struct pw_scratch *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    buf_clear(&s->piece);
    if (has_entries(c, config)) {
        GREBE_TRY(buf_reserve(&s->piece, s->entries.len / sizeof(int64_t) + 1, err));
    }
    for (size_t i = 0; i < pw_page_count(c); i++) {
        struct pw_page *p = pw_page_at(c, i);

        if (has_entries(c, config)) {
            entry_bounds(c, p, s, s->piece.data, &p->bounds);
        } else {
            pw_bounds_of(c, p->value_begin, p->value_begin + p->n_values, &p->bounds);
        }
        merge_bounds(c, &c->bounds, &p->bounds);
    }
out:
    return st;
}
