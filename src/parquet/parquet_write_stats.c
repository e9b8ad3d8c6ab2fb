/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/utf8.h"

/*
 * Bounds of pages and chunks, by the order of the column. Floats: NaN takes no part, a zero
 * minimum is written as -0 and a zero maximum as +0 (parquet.thrift, TypeDefinedOrder).
 */

/* ---- finding the bounds ---- */

static double half_to_double(uint16_t h)
{
    const int exponent = h >> 10 & 31;
    const int fraction = h & 1023;
    double v = 0;

    if (exponent == 31) {
        v = fraction != 0 ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        v = ldexp(fraction, -24);
    } else {
        v = ldexp(1024 + fraction, exponent - 25);
    }
    return (h & 0x8000) != 0 ? -v : v;
}

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
    case PW_ORDER_F16: return half_to_double(load_le16(c->values.data + 2 * i));
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

static const unsigned char *value_bytes(const struct pw_chunk *c, int64_t i, size_t *len)
{
    if (c->leaf->store == PW_BYTES) {
        return pw_bytes_at(c, i, len);
    }
    *len = c->leaf->width;
    return c->values.data + (size_t)i * c->leaf->width;
}

static int compare_at(const struct pw_chunk *c, int64_t x, int64_t y)
{
    size_t x_len = 0;
    size_t y_len = 0;
    const unsigned char *xs = value_bytes(c, x, &x_len);
    const unsigned char *ys = value_bytes(c, y, &y_len);
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
    const unsigned char *v = value_bytes(c, i, &len);
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

    memset(out, 0, sizeof *out);
    memset(seen, 0, s->entries.len / sizeof *entries);
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

/* Order of one bound of two ranges. */
static int compare_bound(const struct pw_chunk *c, const struct pw_bounds *x,
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
        if (compare_bound(c, page, all, false) < 0) {
            all->min = page->min;
            all->min_at = page->min_at;
        }
        if (compare_bound(c, page, all, true) > 0) {
            all->max = page->max;
            all->max_at = page->max_at;
        }
    }
    all->n_nan = n_nan;
}

/* ---- bounds as bytes ---- */

static uint16_t double_to_half(double v)
{
    /* v is a half already: only its fields are put together. */
    const uint16_t sign = signbit(v) ? 0x8000 : 0;
    int exponent = 0;
    const double m = frexp(fabs(v), &exponent); /* |v| = m * 2^exponent, m in [0.5, 1) */

    if (v == 0) {
        return sign;
    }
    if (isinf(v)) {
        return (uint16_t)(sign | 0x7c00);
    }
    if (exponent < -13) {
        return (uint16_t)(sign | (uint16_t)ldexp(m, exponent + 24));
    }
    return (uint16_t)(sign | ((exponent + 14) << 10) | ((uint16_t)ldexp(m, 11) & 1023));
}

static grebe_status put_float(enum pw_order order, double v, bool is_max, struct buf *dst,
                              grebe_error *err)
{
    unsigned char bytes[8];
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    const float f = (float)v;

    if (v == 0) {
        v = is_max ? 0.0 : -0.0;
    }
    switch (order) {
    case PW_ORDER_F16: store_le16(bytes, double_to_half(v)); return buf_put(dst, bytes, 2, err);
    case PW_ORDER_F32: {
        const float zero = is_max ? 0.0f : -0.0f;

        memcpy(&u32, v == 0 ? &zero : &f, sizeof u32);
        store_le32(bytes, u32);
        return buf_put(dst, bytes, 4, err);
    }
    default:
        memcpy(&u64, &v, sizeof u64);
        store_le64(bytes, u64);
        return buf_put(dst, bytes, 8, err);
    }
}

/* The next larger string of at most cut_len bytes after every string with this prefix: its last
 * byte that can grow does; 0: there is none. */
static size_t increment_bytes(unsigned char *s, size_t len)
{
    while (len > 0 && s[len - 1] == 0xff) {
        len--;
    }
    if (len > 0) {
        s[len - 1]++;
    }
    return len;
}

/* The same for text: the last character that can grow becomes the next one of the same length
 * (code point order is byte order), so the result is text too. */
static size_t increment_text(unsigned char *s, size_t len)
{
    while (len > 0) {
        size_t begin = len - 1;

        while (begin > 0 && (s[begin] & 0xc0) == 0x80) {
            begin--;
        }
        for (size_t i = len; i > begin; i--) {
            unsigned char grown[4];
            const size_t n = len - begin;

            if (n > sizeof grown) {
                break;
            }
            memcpy(grown, s + begin, n);
            if (grown[i - 1 - begin] == 0xff) {
                continue;
            }
            grown[i - 1 - begin]++;
            for (size_t k = i - begin; k < n; k++) {
                grown[k] = 0x80;
            }
            if (utf8_char_len(grown, n) == n) {
                memcpy(s + begin, grown, n);
                return len;
            }
        }
        len = begin;
    }
    return 0;
}

static grebe_status put_string(const struct pw_chunk *c, int64_t at, bool is_max, size_t cut_len,
                               struct buf *dst, bool *is_exact, bool *has, grebe_error *err)
{
    const size_t begin = dst->len;
    size_t len = 0;
    const unsigned char *s = value_bytes(c, at, &len);
    grebe_status st = GREBE_OK;

    *is_exact = len <= cut_len || c->leaf->store != PW_BYTES;
    if (!*is_exact) {
        len = cut_len;
        if (c->leaf->is_utf8) {
            while (len > 0 && (s[len] & 0xc0) == 0x80) {
                len--; /* back to the begin of a character */
            }
        }
    }
    st = buf_put(dst, s, len, err);
    if (st == GREBE_OK && !*is_exact && is_max) {
        len = c->leaf->is_utf8 ? increment_text(dst->data + begin, len)
                               : increment_bytes(dst->data + begin, len);
        dst->len = begin + len;
        *has = len > 0;
    }
    return st;
}

grebe_status pw_bound_bytes(const struct pw_chunk *c, const struct pw_bounds *b, bool is_max,
                            size_t cut_len, struct buf *dst, bool *is_exact, bool *has,
                            grebe_error *err)
{
    const union pw_number v = is_max ? b->max : b->min;
    unsigned char bytes[8];

    *is_exact = true;
    *has = b->has;
    if (!b->has) {
        return GREBE_OK;
    }
    store_le64(bytes, v.u);
    switch (c->leaf->order) {
    case PW_UNORDERED: *has = false; return GREBE_OK;
    case PW_ORDER_BOOL: return buf_put(dst, bytes, 1, err);
    case PW_ORDER_I32:
    case PW_ORDER_U32: return buf_put(dst, bytes, 4, err);
    case PW_ORDER_I64:
    case PW_ORDER_U64: return buf_put(dst, bytes, 8, err);
    case PW_ORDER_F16:
    case PW_ORDER_F32:
    case PW_ORDER_F64: return put_float(c->leaf->order, v.f, is_max, dst, err);
    case PW_ORDER_BYTES:
    case PW_ORDER_DECIMAL:
        return put_string(c, is_max ? b->max_at : b->min_at, is_max, cut_len, dst, is_exact, has,
                          err);
    }
    return GREBE_OK;
}

/* ---- column index ---- */

struct index_builder {
    struct pq_column_index index;
    struct arena ar;
    struct buf bytes;  /* all bounds, one after another */
    size_t *ends;      /* shape [2 n]: min, max of each page */
};

static grebe_status builder_init(struct index_builder *b, const struct pw_chunk *c,
                                 grebe_error *err)
{
    const size_t n = pw_page_count(c);
    struct pq_column_index *x = &b->index;

    memset(b, 0, sizeof *b);
    b->ar = ARENA_INIT(c->a);
    b->bytes = BUF_INIT(c->a);
    x->n = (uint32_t)n;
    x->null_pages = arena_array(&b->ar, n, sizeof *x->null_pages);
    x->min = arena_array(&b->ar, n, sizeof *x->min);
    x->max = arena_array(&b->ar, n, sizeof *x->max);
    x->null_counts = arena_array(&b->ar, n, sizeof *x->null_counts);
    b->ends = arena_array(&b->ar, 2 * n, sizeof *b->ends);
    if (x->null_pages == NULL || x->min == NULL || x->max == NULL || x->null_counts == NULL ||
        b->ends == NULL) {
        return mem_fail(err, n * sizeof *x->min, "column index");
    }
    return GREBE_OK;
}

static bool is_float(const struct pw_chunk *c)
{
    return c->leaf->order >= PW_ORDER_F16 && c->leaf->order <= PW_ORDER_F64;
}

/* Nulls, bounds and histograms of the pages. *is_legal false: no index may be written. */
static grebe_status fill_index(struct index_builder *b, const struct pw_chunk *c, bool *is_legal,
                               grebe_error *err)
{
    struct pq_column_index *x = &b->index;
    const size_t n = pw_page_count(c);
    const bool has_rep = c->leaf->max_rep > 0;
    const bool has_def = c->leaf->max_def > 1;
    grebe_status st = GREBE_OK;

    *is_legal = true;
    x->nan_counts = is_float(c) ? arena_array(&b->ar, n, sizeof *x->nan_counts) : NULL;
    x->n_repetition = has_rep ? (uint32_t)n * (c->leaf->max_rep + 1u) : 0;
    x->n_definition = (uint32_t)n * (c->leaf->max_def + 1u);
    x->repetition = arena_array(&b->ar, n * (c->leaf->max_rep + 1u), sizeof(int64_t));
    x->definition = arena_array(&b->ar, x->n_definition, sizeof(int64_t));
    if ((is_float(c) && x->nan_counts == NULL) || x->repetition == NULL || x->definition == NULL) {
        return mem_fail(err, n, "column index");
    }
    for (size_t i = 0; i < n && *is_legal; i++) {
        const struct pw_page *p = pw_page_at(c, i);
        bool is_exact = false;
        bool has_min = false;
        bool has_max = false;

        x->null_pages[i] = p->n_values == 0;
        x->null_counts[i] = p->n_slots - p->n_values;
        if (x->nan_counts != NULL) {
            x->nan_counts[i] = p->bounds.n_nan;
        }
        pw_levels_count(c, p, x->repetition + i * (c->leaf->max_rep + 1u),
                        x->definition + i * (c->leaf->max_def + 1u));
        st = pw_bound_bytes(c, &p->bounds, false, PW_BOUND_BYTES, &b->bytes, &is_exact, &has_min,
                            err);
        b->ends[2 * i] = b->bytes.len;
        if (st == GREBE_OK) {
            st = pw_bound_bytes(c, &p->bounds, true, PW_BOUND_BYTES, &b->bytes, &is_exact,
                                &has_max, err);
        }
        b->ends[2 * i + 1] = b->bytes.len;
        if (st != GREBE_OK) {
            return st;
        }
        *is_legal = p->n_values == 0 || (has_min && has_max);
    }
    if (!has_rep) {
        x->repetition = NULL;
    }
    if (!has_def && !has_rep) {
        x->definition = NULL;
        x->n_definition = 0;
    }
    return GREBE_OK;
}

static int32_t boundary_order(const struct pw_chunk *c)
{
    const struct pw_page *before = NULL;
    bool is_ascending = true;
    bool is_descending = true;

    for (size_t i = 0; i < pw_page_count(c); i++) {
        const struct pw_page *p = pw_page_at(c, i);

        if (!p->bounds.has) {
            continue;
        }
        if (before != NULL) {
            const int low = compare_bound(c, &before->bounds, &p->bounds, false);
            const int high = compare_bound(c, &before->bounds, &p->bounds, true);

            is_ascending = is_ascending && low <= 0 && high <= 0;
            is_descending = is_descending && low >= 0 && high >= 0;
        }
        before = p;
    }
    return is_ascending ? PQ_ASCENDING : is_descending ? PQ_DESCENDING : PQ_UNORDERED;
}

static grebe_status put_column_index(struct pw_chunk *c, grebe_error *err)
{
    struct index_builder b;
    bool is_legal = false;
    size_t at = 0;
    grebe_status st = GREBE_OK;

    GREBE_TRY(builder_init(&b, c, err));
    GREBE_TRY(fill_index(&b, c, &is_legal, err));
    if (!is_legal) {
        goto out;
    }
    for (size_t i = 0; i < 2 * pw_page_count(c); i++) {
        struct pq_bytes *bound = i % 2 == 0 ? &b.index.min[i / 2] : &b.index.max[i / 2];

        bound->data = b.bytes.len > 0 ? b.bytes.data + at : (const unsigned char *)"";
        bound->len = b.ends[i] - at;
        at = b.ends[i];
    }
    b.index.boundary_order = boundary_order(c);
    GREBE_TRY(pq_column_index_encode(&b.index, &c->column_index, err));
out:
    buf_release(&b.bytes);
    arena_release(&b.ar);
    return st;
}

/* ---- the chunk ---- */

enum { MILVUS_BOUND_BYTES = 4096 }; /* Arrow leaves out a longer one */

/* Vectors and blobs have no order that means anything; milvus also leaves out Binary. */
static bool is_ordered(const struct pw_chunk *c, const struct pw_config *config)
{
    if (c->leaf->order == PW_UNORDERED || c->leaf->is_blob) {
        return false;
    }
    return config->is_milvus ? !(c->leaf->is_plain_binary && c->leaf->n_nodes == 1)
                             : c->mode != PW_VECTOR;
}

/* Whether bounds come from the dictionary that the scratch holds. */
static bool has_entries(const struct pw_chunk *c, const struct pw_config *config)
{
    return c->has_dictionary && !config->is_milvus && c->leaf->order >= PW_ORDER_BYTES;
}

static grebe_status page_bounds(struct pw_chunk *c, const struct pw_config *config,
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

grebe_status pw_chunk_statistics(struct pw_chunk *c, const struct pw_config *config,
                                 struct pw_scratch *s, grebe_error *err)
{
    const size_t cut_len = config->is_milvus ? SIZE_MAX : PW_BOUND_BYTES;
    grebe_status st = GREBE_OK;

    memset(&c->bounds, 0, sizeof c->bounds);
    c->unencoded_bytes = 0;
    for (size_t i = 0; i < pw_page_count(c); i++) {
        c->unencoded_bytes += pw_page_at(c, i)->unencoded_bytes;
    }
    c->has_min = c->has_max = false;
    if (config->is_without_statistics || !is_ordered(c, config)) {
        return GREBE_OK;
    }
    GREBE_TRY(page_bounds(c, config, s, err));
    GREBE_TRY(pw_bound_bytes(c, &c->bounds, false, cut_len, &c->min, &c->is_min_exact,
                             &c->has_min, err));
    GREBE_TRY(pw_bound_bytes(c, &c->bounds, true, cut_len, &c->max, &c->is_max_exact,
                             &c->has_max, err));
    if (config->is_milvus) {
        c->has_min = c->has_min && c->min.len <= MILVUS_BOUND_BYTES;
        c->has_max = c->has_max && c->max.len <= MILVUS_BOUND_BYTES;
    } else if (!config->is_without_page_index) {
        GREBE_TRY(put_column_index(c, err));
    }
out:
    return st;
}
