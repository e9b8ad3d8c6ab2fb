/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/half.h"
#include "base/utf8.h"

/*
 * Bounds as bytes, and the column index. A zero minimum of floats is written as -0, a zero maximum
 * as +0 (parquet.thrift, TypeDefinedOrder).
 */

/* ---- bounds as bytes ---- */

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
    case PW_ORDER_F16: store_le16(bytes, half_from_float((float)v)); return buf_put(dst, bytes, 2, err);
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
    const unsigned char *s = pw_value_at(c, at, &len);
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
            const int low = pw_bound_compare(c, &before->bounds, &p->bounds, false);
            const int high = pw_bound_compare(c, &before->bounds, &p->bounds, true);

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
    GREBE_TRY(pw_page_bounds(c, config, s, err));
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
