/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/column_stats.h"

#include <math.h>

#include "arrow/arrow_internal.h"
#include "base/decimal.h"
#include "base/half.h"
#include "base/hash.h"

/* ---- what kind of column ---- */

static bool is_list(enum arrow_kind k)
{
    return k == ARROW_LIST || k == ARROW_LARGE_LIST || k == ARROW_FIXED_LIST;
}

static bool is_number(enum arrow_kind k)
{
    return k == ARROW_BOOL || (k >= ARROW_INT8 && k <= ARROW_FLOAT64) ||
           (k >= ARROW_DECIMAL32 && k <= ARROW_DECIMAL256);
}

static bool is_bytes(enum arrow_kind k)
{
    return arrow_kind_is_bytes(k) || arrow_kind_is_view(k) || k == ARROW_FIXED_BINARY;
}

static bool is_clock(enum arrow_kind k) { return k >= ARROW_DATE32 && k <= ARROW_DURATION; }

grebe_status column_stats_init(const grebe_allocator *a, const struct ArrowSchema *schema,
                               struct column_stats *out, grebe_error *err)
{
    struct arrow_type t;
    struct ArrowSchema whole = { 0 };
    memset(out, 0, sizeof *out);
    out->schema = schema;
    grebe_status st = schema_copy_plain(a, schema, &whole, err);
    if (st == GREBE_OK) {
        st = arrow_type_of(&whole, &t, err);
    }
    if (st == GREBE_OK && is_list(t.kind)) {
        out->has_elements = true;
        st = schema_copy(a, whole.children[0], &out->plain, err);
        schema_release(&whole);
        st = st == GREBE_OK ? arrow_type_of(&out->plain, &t, err) : st;
    } else {
        schema_move(&out->plain, &whole);
    }
    if (st != GREBE_OK) {
        schema_release(&whole);
        column_stats_release(out);
        return st;
    }
    out->is_numeric = is_number(t.kind);
    out->is_ordered = out->is_numeric || is_bytes(t.kind) || is_clock(t.kind);
    return GREBE_OK;
}

void column_stats_release(struct column_stats *s)
{
    array_release(&s->min);
    array_release(&s->max);
    schema_release(&s->plain);
}

/* ---- values ---- */

static double real_at(const struct arrow_type *t, const char *values, int64_t i)
{
    uint16_t half;
    float single;
    double d;
    switch (t->kind) {
    case ARROW_FLOAT16: memcpy(&half, values + 2 * i, 2); return (double)half_to_float(half);
    case ARROW_FLOAT32: memcpy(&single, values + 4 * i, 4); return (double)single;
    default: memcpy(&d, values + 8 * i, 8); return d;
    }
}

static bool is_real(enum arrow_kind k) { return k >= ARROW_FLOAT16 && k <= ARROW_FLOAT64; }
static bool is_decimal(enum arrow_kind k) { return k >= ARROW_DECIMAL32 && k <= ARROW_DECIMAL256; }

/* Slot i with the offset added. */
static int64_t integer_at(const struct arrow_type *t, const void *values, int64_t i)
{
    if (t->kind == ARROW_BOOL) {
        return bit_get(values, i);
    }
    if (t->kind >= ARROW_INT8 && t->kind <= ARROW_UINT64) {
        return arrow_load_int(values, t->kind, i);
    }
    return t->byte_width == 4 ? load_i32_at(values, i) : load_i64_at(values, i);
}

static uint64_t unsigned_at(const void *values, int64_t i)
{
    uint64_t v;
    memcpy(&v, (const char *)values + 8 * i, 8);
    return v;
}

/* -1, 0, 1; rows without the offset added. Neither is null or NaN. */
static int compare(const struct arrow_type *t, const struct ArrowArray *x, int64_t i,
                   const struct ArrowArray *y, int64_t j)
{
    if (is_bytes(t->kind)) {
        struct arrow_bytes p = arrow_bytes_at(x, t->kind, t->byte_width, i);
        struct arrow_bytes q = arrow_bytes_at(y, t->kind, t->byte_width, j);
        int64_t n = p.len < q.len ? p.len : q.len;
        int c = n > 0 ? memcmp(p.p, q.p, (size_t)n) : 0;
        return c != 0 ? c : (p.len > q.len) - (p.len < q.len);
    }
    i += x->offset;
    j += y->offset;
    if (is_real(t->kind)) {
        double p = real_at(t, x->buffers[1], i), q = real_at(t, y->buffers[1], j);
        return (p > q) - (p < q);
    }
    if (is_decimal(t->kind)) {
        struct decimal256 p = decimal_load((const char *)x->buffers[1] + t->byte_width * i, t->byte_width);
        struct decimal256 q = decimal_load((const char *)y->buffers[1] + t->byte_width * j, t->byte_width);
        return decimal_compare(p, t->scale, q, t->scale);
    }
    if (t->kind == ARROW_UINT64) {
        uint64_t p = unsigned_at(x->buffers[1], i), q = unsigned_at(y->buffers[1], j);
        return (p > q) - (p < q);
    }
    int64_t p = integer_at(t, x->buffers[1], i), q = integer_at(t, y->buffers[1], j);
    return (p > q) - (p < q);
}

/* As a number for mean and deviation. */
static double number_at(const struct arrow_type *t, const struct ArrowArray *array, int64_t i)
{
    i += array->offset;
    if (is_real(t->kind)) {
        return real_at(t, array->buffers[1], i);
    }
    if (is_decimal(t->kind)) {
        struct decimal256 v = decimal_load((const char *)array->buffers[1] + t->byte_width * i,
                                           t->byte_width);
        int64_t small;
        return decimal_store(&v, &small, 8) && t->scale >= 0 && t->scale <= 18
                   ? (double)small / pow(10, t->scale)
                   : decimal_to_double(&v, t->scale);
    }
    return t->kind == ARROW_UINT64 ? (double)unsigned_at(array->buffers[1], i)
                                   : (double)integer_at(t, array->buffers[1], i);
}

static uint64_t hash_at(const struct arrow_type *t, const struct ArrowArray *array, int64_t i)
{
    if (is_bytes(t->kind)) {
        struct arrow_bytes b = arrow_bytes_at(array, t->kind, t->byte_width, i);
        return hash_bytes(b.p, (size_t)b.len, 0);
    }
    if (t->kind == ARROW_BOOL) {
        unsigned char bit = bit_get(array->buffers[1], i + array->offset);
        return hash_bytes(&bit, 1, 0);
    }
    if (is_real(t->kind)) {
        double d = real_at(t, array->buffers[1], i + array->offset);
        d = d == 0 ? 0 : d; /* both zeros are one value */
        return hash_bytes(&d, sizeof d, 0);
    }
    return hash_bytes((const char *)array->buffers[1] + t->byte_width * (i + array->offset),
                      (size_t)t->byte_width, 0);
}

/* ---- gathering ---- */

static void add_hash(struct column_stats *s, uint64_t hash)
{
    uint32_t bucket = (uint32_t)(hash & (STATS_REGISTERS - 1));
    uint64_t rest = hash >> 12 | UINT64_C(1) << 52; /* a stop bit: at most 53 */
    uint8_t rank = (uint8_t)(__builtin_ctzll(rest) + 1);
    if (s->registers[bucket] < rank) {
        s->registers[bucket] = rank;
    }
}

double column_stats_distinct(const struct column_stats *s)
{
    const double m = STATS_REGISTERS;
    double sum = 0;
    int n_empty = 0;
    for (int i = 0; i < STATS_REGISTERS; i++) {
        sum += ldexp(1, -s->registers[i]);
        n_empty += s->registers[i] == 0;
    }
    double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (estimate <= 2.5 * m && n_empty > 0) {
        estimate = m * log(m / n_empty);
    }
    return estimate < (double)s->n_values ? estimate : (double)s->n_values;
}

double column_stats_deviation(const struct column_stats *s)
{
    return s->n_values < 2 ? (double)NAN : sqrt(s->m2 / (double)(s->n_values - 1));
}

/* Keep row i of the array, when it is beyond what is kept (sign -1: smaller, 1: larger). */
static grebe_status keep(const grebe_allocator *a, const struct column_stats *s,
                         const struct arrow_type *t, const struct ArrowArray *array, int64_t i,
                         int sign, struct ArrowArray *kept, grebe_error *err)
{
    struct ArrowArray one;
    if (i < 0 || (kept->release != NULL && compare(t, array, i, kept, 0) * sign <= 0)) {
        return GREBE_OK;
    }
    grebe_status st = array_gather(a, &s->plain, array, &i, 1, &one, err);
    if (st == GREBE_OK) {
        array_release(kept);
        array_move(kept, &one);
    }
    return st;
}

/* Values [begin, end) of an array of the plain type. */
static grebe_status add_values(const grebe_allocator *a, struct column_stats *s,
                               const struct ArrowArray *array, int64_t begin, int64_t end,
                               grebe_error *err)
{
    struct arrow_type t;
    int64_t low = -1, high = -1;
    grebe_status st = arrow_type_of(&s->plain, &t, err);
    if (st != GREBE_OK || !s->is_ordered) {
        return st;
    }
    for (int64_t i = begin; i < end; i++) {
        if (array_is_null(array, i)) {
            continue;
        }
        if (s->is_numeric) {
            double v = number_at(&t, array, i);
            if (isnan(v)) {
                s->n_nans++;
                continue;
            }
            double delta = v - s->mean;
            s->mean += delta / (double)(s->n_values + 1);
            s->m2 += delta * (v - s->mean);
        }
        s->n_values++;
        low = low < 0 || compare(&t, array, i, array, low) < 0 ? i : low;
        high = high < 0 || compare(&t, array, i, array, high) > 0 ? i : high;
        add_hash(s, hash_at(&t, array, i));
    }
    st = keep(a, s, &t, array, low, -1, &s->min, err);
    return st == GREBE_OK ? keep(a, s, &t, array, high, 1, &s->max, err) : st;
}

/* Elements of each list that is there. */
static grebe_status add_elements(const grebe_allocator *a, struct column_stats *s,
                                 const struct arrow_type *t, const struct ArrowArray *array,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int width = arrow_offset_width(t->kind);
    for (int64_t i = 0; i < array->length && st == GREBE_OK;) {
        if (array_is_null(array, i)) {
            i++;
            continue;
        }
        int64_t first = i; /* neighbours that are there are one stretch of elements */
        while (i < array->length && !array_is_null(array, i)) {
            i++;
        }
        int64_t from = first + array->offset, to = i + array->offset;
        st = t->kind == ARROW_FIXED_LIST
                 ? add_values(a, s, array->children[0], from * t->list_size, to * t->list_size, err)
                 : add_values(a, s, array->children[0], load_offset(array->buffers[1], width, from),
                              load_offset(array->buffers[1], width, to), err);
    }
    return st;
}

grebe_status column_stats_add(const grebe_allocator *a, struct column_stats *s,
                              const struct ArrowArray *array, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema plain = { 0 };
    struct ArrowArray values = { 0 };
    struct arrow_type t;
    const struct ArrowArray *looked_at = array;
    s->n_rows += array->length;
    GREBE_TRY(schema_copy_plain(a, s->schema, &plain, err));
    GREBE_TRY(arrow_type_of(&plain, &t, err));
    if (!schema_equal(&plain, s->schema, 0)) {
        GREBE_TRY(array_widen(a, s->schema, &plain, array, &values, err));
        looked_at = &values;
    }
    s->n_nulls += t.kind == ARROW_NULL ? array->length : array_null_count(looked_at);
    st = s->has_elements ? add_elements(a, s, &t, looked_at, err)
                         : add_values(a, s, looked_at, 0, looked_at->length, err);
out:
    array_release(&values);
    schema_release(&plain);
    return st;
}
