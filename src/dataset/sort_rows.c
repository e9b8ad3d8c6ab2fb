/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers become words whose order as unsigned integers is theirs, and are sorted by radix, least digit first; digits
 * that are the same everywhere cost one look. Texts are merged, compared by their first eight bytes before all of them.
 */
#include "dataset/sort_rows.h"

#include <string.h>

#include "arrow/arrow_internal.h"
#include "base/endian.h"
#include "base/half.h"

enum { DIGIT_BITS = 11, N_DIGITS = 6, N_BUCKETS = 1 << DIGIT_BITS };

struct keyed {
    uint64_t key;
    int64_t row;
};

/* Classes of values, in the order in which they stand. */
enum value_class { CLASS_NULL_FIRST = 0, CLASS_NAN_FIRST = 1, CLASS_VALUE = 2, CLASS_NAN = 3, CLASS_NULL = 4 };

grebe_status sort_check_type(const struct ArrowSchema *schema, grebe_error *err)
{
    struct arrow_type t;
    grebe_status st = arrow_type_of(schema, &t, err);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_known =
        !t.is_dictionary && (t.kind <= ARROW_DURATION || (t.kind >= ARROW_DECIMAL32 && t.kind <= ARROW_DECIMAL256));
    return is_known ? GREBE_OK
                    : GREBE_FAIL(err, GREBE_EUNSUPPORTED, "column \"%.64s\": values of its type have no order",
                                 schema->name);
}

/* ---- numbers ---- */

static uint64_t double_key(double d)
{
    uint64_t bits;
    d += 0.0; /* one zero */
    memcpy(&bits, &d, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Word `part` (0: the lowest) of a value; *is_nan is set for one that is none. */
static uint64_t number_key(const struct arrow_type *t, const struct ArrowArray *array, int64_t i, int part,
                           bool *is_nan)
{
    const unsigned char *p = array->buffers[1];
    double d;
    int64_t at = array->offset + i;
    switch (t->kind) {
    case ARROW_BOOL: return bit_get(p, at);
    case ARROW_FLOAT16: d = (double)half_to_float(((const uint16_t *)(const void *)p)[at]); break;
    case ARROW_FLOAT32: {
        float f;
        memcpy(&f, p + at * 4, sizeof f);
        d = (double)f;
        break;
    }
    case ARROW_FLOAT64: memcpy(&d, p + at * 8, sizeof d); break;
    case ARROW_UINT64: return load_le64(p + at * 8);
    case ARROW_UINT8:
    case ARROW_UINT16:
    case ARROW_UINT32: return (uint64_t)arrow_load_int(p, t->kind, at);
    case ARROW_INT8:
    case ARROW_INT16:
    case ARROW_INT32:
    case ARROW_INT64: return (uint64_t)arrow_load_int(p, t->kind, at) ^ (uint64_t)1 << 63;
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256: {
        bool is_top = (part + 1) * 8 == t->byte_width;
        return load_le64(p + at * t->byte_width + part * 8) ^ (is_top ? (uint64_t)1 << 63 : 0);
    }
    default: { /* dates, times, durations, small decimals: signed integers of their width */
        int64_t v = t->byte_width == 4 ? load_i32_at(p, at) : load_i64_at(p, at);
        return (uint64_t)v ^ (uint64_t)1 << 63;
    }
    }
    *is_nan = d != d;
    return *is_nan ? 0 : double_key(d);
}

static int number_parts(const struct arrow_type *t)
{
    return t->kind == ARROW_DECIMAL128 ? 2 : t->kind == ARROW_DECIMAL256 ? 4 : 1;
}

/* One pass over all digits of the keys. */
static void radix(struct keyed *items, struct keyed *other, int64_t n, uint32_t (*counts)[N_BUCKETS])
{
    memset(counts, 0, sizeof(uint32_t[N_DIGITS][N_BUCKETS]));
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = items[i].key;
        for (int d = 0; d < N_DIGITS; d++) {
            counts[d][key >> d * DIGIT_BITS & (N_BUCKETS - 1)]++;
        }
    }
    struct keyed *from = items, *to = other;
    for (int d = 0; d < N_DIGITS && n > 0; d++) {
        if (counts[d][from[0].key >> d * DIGIT_BITS & (N_BUCKETS - 1)] == (uint32_t)n) {
            continue; /* the digit tells nothing */
        }
        uint32_t at = 0;
        for (int b = 0; b < N_BUCKETS; b++) {
            uint32_t count = counts[d][b];
            counts[d][b] = at;
            at += count;
        }
        for (int64_t i = 0; i < n; i++) {
            to[counts[d][from[i].key >> d * DIGIT_BITS & (N_BUCKETS - 1)]++] = from[i];
        }
        struct keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) {
        memcpy(items, from, (size_t)n * sizeof *items);
    }
}

/* Which keys the rows have: by row, word `part`. classes: written with the first part. */
static bool fill_keys(const struct sort_column *c, const struct arrow_type *t, int part, uint64_t *keys,
                      uint8_t *classes)
{
    bool has_classes = false;
    int64_t row = 0;
    for (size_t b = 0; b < c->n_batches; b++) {
        const struct ArrowArray *array = &c->batches[b];
        bool has_nulls = array_null_count(array) != 0;
        for (int64_t i = 0; i < array->length; i++, row++) {
            bool is_nan = false;
            if (has_nulls && array_is_null(array, i)) {
                keys[row] = 0;
                classes[row] = c->are_nulls_first ? CLASS_NULL_FIRST : CLASS_NULL;
                has_classes = true;
                continue;
            }
            uint64_t key = number_key(t, array, i, part, &is_nan);
            keys[row] = c->is_descending && !is_nan ? ~key : key;
            classes[row] = !is_nan ? CLASS_VALUE : c->are_nulls_first ? CLASS_NAN_FIRST : CLASS_NAN;
            has_classes = has_classes || is_nan;
        }
    }
    return has_classes;
}

struct scratch {
    uint64_t *keys;
    uint8_t *classes;
    struct keyed *items, *other;
    uint32_t (*counts)[N_BUCKETS];
};

static void sort_numbers(const struct sort_column *c, const struct arrow_type *t, const struct scratch *s,
                         int64_t *order)
{
    int64_t n = c->n_rows;
    bool has_classes = false;
    for (int part = 0; part < number_parts(t); part++) {
        has_classes = fill_keys(c, t, part, s->keys, s->classes);
        for (int64_t i = 0; i < n; i++) {
            s->items[i] = (struct keyed){ s->keys[order[i]], order[i] };
        }
        radix(s->items, s->other, n, s->counts);
        for (int64_t i = 0; i < n; i++) {
            order[i] = s->items[i].row;
        }
    }
    if (has_classes) {
        for (int64_t i = 0; i < n; i++) {
            s->items[i] = (struct keyed){ s->classes[order[i]], order[i] };
        }
        radix(s->items, s->other, n, s->counts);
        for (int64_t i = 0; i < n; i++) {
            order[i] = s->items[i].row;
        }
    }
}

/* ---- texts ---- */

struct text {
    struct arrow_bytes bytes;
    bool is_null;
};

/* -1, 0, 1 as x stands before, with, behind y. */
static int compare_texts(const struct sort_column *c, const struct text *x, const struct text *y)
{
    if (x->is_null || y->is_null) {
        int null_side = c->are_nulls_first ? -1 : 1;
        return x->is_null == y->is_null ? 0 : x->is_null ? null_side : -null_side;
    }
    int64_t len = x->bytes.len < y->bytes.len ? x->bytes.len : y->bytes.len;
    int by_bytes = len > 0 ? memcmp(x->bytes.p, y->bytes.p, (size_t)len) : 0;
    int outcome = by_bytes != 0 ? by_bytes : (x->bytes.len > y->bytes.len) - (x->bytes.len < y->bytes.len);
    return c->is_descending ? -outcome : outcome;
}

static uint64_t prefix_of(const struct text *t)
{
    unsigned char bytes[8] = { 0 };
    if (!t->is_null && t->bytes.len > 0) {
        memcpy(bytes, t->bytes.p, t->bytes.len < 8 ? (size_t)t->bytes.len : 8);
    }
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) {
        v = v << 8 | bytes[i];
    }
    return v;
}

static bool comes_first(const struct sort_column *c, const struct text *texts, const struct keyed *x,
                        const struct keyed *y)
{
    const struct text *a = &texts[x->row], *b = &texts[y->row];
    if (x->key != y->key && !a->is_null && !b->is_null) {
        return c->is_descending ? x->key > y->key : x->key < y->key;
    }
    return compare_texts(c, a, b) <= 0;
}

/* Bottom-up merging; runs of 8 are made by insertion. */
static void merge_texts(const struct sort_column *c, const struct text *texts, struct keyed *items, struct keyed *other)
{
    enum { RUN = 8 };
    int64_t n = c->n_rows;
    for (int64_t begin = 0; begin < n; begin += RUN) {
        int64_t end = begin + RUN < n ? begin + RUN : n;
        for (int64_t i = begin + 1; i < end; i++) {
            struct keyed item = items[i];
            int64_t k = i;
            while (k > begin && !comes_first(c, texts, &items[k - 1], &item)) {
                items[k] = items[k - 1];
                k--;
            }
            items[k] = item;
        }
    }
    struct keyed *from = items, *to = other;
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            int64_t middle = begin + width < n ? begin + width : n, end = begin + 2 * width < n ? begin + 2 * width : n;
            int64_t i = begin, k = middle, at = begin;
            while (i < middle && k < end) {
                to[at++] = comes_first(c, texts, &from[i], &from[k]) ? from[i++] : from[k++];
            }
            memcpy(to + at, i < middle ? from + i : from + k, (size_t)(i < middle ? middle - i : end - k) * sizeof *to);
        }
        struct keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) {
        memcpy(items, from, (size_t)n * sizeof *items);
    }
}

static grebe_status sort_texts(const grebe_allocator *a, const struct sort_column *c, const struct arrow_type *t,
                               const struct scratch *s, int64_t *order, grebe_error *err)
{
    size_t len = (size_t)c->n_rows * sizeof(struct text);
    struct text *texts = mem_alloc(a, len);
    int64_t row = 0;
    if (texts == NULL) {
        return mem_fail(err, len, "texts to sort");
    }
    for (size_t b = 0; b < c->n_batches; b++) {
        const struct ArrowArray *array = &c->batches[b];
        for (int64_t i = 0; i < array->length; i++, row++) {
            texts[row].is_null = array_is_null(array, i);
            texts[row].bytes =
                texts[row].is_null ? (struct arrow_bytes){ "", 0 } : arrow_bytes_at(array, t->kind, t->byte_width, i);
        }
    }
    for (int64_t i = 0; i < c->n_rows; i++) {
        s->items[i] = (struct keyed){ prefix_of(&texts[order[i]]), order[i] };
    }
    merge_texts(c, texts, s->items, s->other);
    for (int64_t i = 0; i < c->n_rows; i++) {
        order[i] = s->items[i].row;
    }
    mem_free(a, texts, len);
    return GREBE_OK;
}

grebe_status sort_rows(const grebe_allocator *a, const struct sort_column *c, int64_t *order, grebe_error *err)
{
    struct arrow_type t;
    size_t n = (size_t)c->n_rows;
    grebe_status st = arrow_type_of(c->schema, &t, err);
    if (st != GREBE_OK || t.kind == ARROW_NULL) {
        return st;
    }
    if (n > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%zu rows: at most 2^32 - 1 are sorted", n);
    }
    struct scratch s = {
        .keys = mem_alloc(a, n * sizeof *s.keys),
        .classes = mem_alloc(a, n),
        .items = mem_alloc(a, n * sizeof *s.items),
        .other = mem_alloc(a, n * sizeof *s.other),
        .counts = mem_alloc(a, sizeof(uint32_t[N_DIGITS][N_BUCKETS])),
    };
    bool is_text = arrow_kind_is_bytes(t.kind) || arrow_kind_is_view(t.kind) || t.kind == ARROW_FIXED_BINARY;
    if (s.keys == NULL || s.classes == NULL || s.items == NULL || s.other == NULL || s.counts == NULL) {
        st = mem_fail(err, n * sizeof *s.items, "rows to sort");
    } else if (is_text) {
        st = sort_texts(a, c, &t, &s, order, err);
    } else {
        sort_numbers(c, &t, &s, order);
    }
    mem_free(a, s.keys, n * sizeof *s.keys);
    mem_free(a, s.classes, n);
    mem_free(a, s.items, n * sizeof *s.items);
    mem_free(a, s.other, n * sizeof *s.other);
    mem_free(a, s.counts, sizeof(uint32_t[N_DIGITS][N_BUCKETS]));
    return st;
}
