/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/utf8.h"

/*
 * Arrow values as Parquet's physical ones, which a chunk keeps as PLAIN has them (fixed width)
 * or as end offsets and bytes. Hosts are little-endian (checked at build time by the library).
 */

static grebe_status fail_value(const struct pw_node *node, const char *what, int64_t value,
                               grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%s\": %s %lld does not fit its Parquet type",
                      node->name, what, (long long)value);
}

/* ---- fixed width ---- */

static void put_decimal(const unsigned char *src, size_t src_len, unsigned char *dst,
                        size_t dst_len)
{
    const unsigned char sign = (src[src_len - 1] & 0x80) != 0 ? 0xff : 0;

    for (size_t i = 0; i < dst_len; i++) {
        const size_t from = dst_len - 1 - i;

        dst[i] = from < src_len ? src[from] : sign;
    }
}

/* Days of a date64, which counts milliseconds. */
static int64_t days_of(int64_t ms)
{
    const int64_t day = 86400000;

    return ms / day - (ms % day < 0);
}

#define WIDEN(type)                                              \
    do {                                                         \
        const type *v = (const type *)(const void *)data;        \
        int32_t *out = (int32_t *)(void *)dst;                   \
                                                                 \
        for (int64_t i = 0; i < n; i++) {                        \
            out[i] = v[i];                                       \
        }                                                        \
        return GREBE_OK;                                         \
    } while (0)

static grebe_status put_dates(const struct pw_node *node, const int64_t *ms, int64_t n,
                              int32_t *dst, grebe_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t days = days_of(ms[i]);

        if (days < INT32_MIN || days > INT32_MAX) {
            return fail_value(node, "date", days, err);
        }
        dst[i] = (int32_t)days;
    }
    return GREBE_OK;
}

/* Seconds become milliseconds. */
static grebe_status put_times(const struct pw_node *node, const int32_t *seconds, int64_t n,
                              int32_t *dst, grebe_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t ms = (int64_t)seconds[i] * 1000;

        if (ms < INT32_MIN || ms > INT32_MAX) {
            return fail_value(node, "time", ms, err);
        }
        dst[i] = (int32_t)ms;
    }
    return GREBE_OK;
}

static grebe_status put_timestamps(const struct pw_node *node, const int64_t *seconds, int64_t n,
                                   int64_t *dst, grebe_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        if (!checked_mul_i64(seconds[i], 1000, &dst[i])) {
            return fail_value(node, "timestamp", seconds[i], err);
        }
    }
    return GREBE_OK;
}

/* Decimals of `from` bytes as integers of `width`: what is cut off must be the sign alone. */
static grebe_status put_int_decimals(const struct pw_node *node, const unsigned char *data,
                                     size_t from, int64_t n, unsigned char *dst, uint32_t width,
                                     grebe_error *err)
{
    uint64_t lost = 0;

    for (int64_t i = 0; i < n; i++) {
        const unsigned char *src = data + (size_t)i * from;
        const int64_t v = from == 4 ? (int32_t)load_le32(src) : (int64_t)load_le64(src);
        const uint64_t sign = v < 0 ? UINT64_MAX : 0;

        for (size_t k = 8; k < from; k += 8) {
            lost |= load_le64(src + k) ^ sign;
        }
        if (width == 4) {
            lost |= (uint64_t)(v ^ (int32_t)v);
            store_le32(dst + 4 * i, (uint32_t)v);
        } else {
            store_le64(dst + 8 * i, (uint64_t)v);
        }
    }
    return lost == 0 ? GREBE_OK
                     : GREBE_FAIL(err, GREBE_ESCHEMA,
                                  "column \"%s\": a decimal has more digits than its precision of %d",
                                  node->name, node->type.precision);
}

/* n values of one kind, from the first byte of their first one. */
static grebe_status put_converted(const struct pw_chunk *c, const struct pw_node *node,
                                  const unsigned char *data, int64_t n, unsigned char *dst,
                                  grebe_error *err)
{
    const uint32_t width = c->leaf->width;
    const size_t from = (size_t)node->type.byte_width;

    switch (node->type.kind) {
    case ARROW_INT8: WIDEN(int8_t);
    case ARROW_UINT8: WIDEN(uint8_t);
    case ARROW_INT16: WIDEN(int16_t);
    case ARROW_UINT16: WIDEN(uint16_t);
    case ARROW_DATE64:
        return put_dates(node, (const int64_t *)(const void *)data, n, (int32_t *)(void *)dst,
                         err);
    case ARROW_TIME32:
        return put_times(node, (const int32_t *)(const void *)data, n, (int32_t *)(void *)dst,
                         err);
    case ARROW_TIMESTAMP:
        return put_timestamps(node, (const int64_t *)(const void *)data, n,
                              (int64_t *)(void *)dst, err);
    default: break;
    }
    assert(node->type.kind >= ARROW_DECIMAL32 && node->type.kind <= ARROW_DECIMAL256);
    if (c->leaf->type != PQ_FIXED) {
        return put_int_decimals(node, data, from, n, dst, width, err);
    }
    for (int64_t i = 0; i < n; i++) {
        put_decimal(data + (size_t)i * from, from, dst + (size_t)i * width, width);
    }
    return GREBE_OK;
}

/* Whether the Arrow buffer's bytes are the Parquet bytes. */
static bool is_copied(const struct arrow_type *t)
{
    switch (t->kind) {
    case ARROW_INT8:
    case ARROW_UINT8:
    case ARROW_INT16:
    case ARROW_UINT16:
    case ARROW_DATE64:
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256: return false;
    case ARROW_TIME32:
    case ARROW_TIMESTAMP: return t->unit != ARROW_SECOND;
    default: return true;
    }
}

static grebe_status add_fixed(struct pw_chunk *c, const struct pw_node *node,
                              const struct ArrowArray *array, int64_t begin, int64_t n,
                              grebe_error *err)
{
    const uint32_t width = c->leaf->width;
    const unsigned char *data = array->buffers[1];
    const size_t len = (size_t)n * width;
    unsigned char *dst = NULL;
    grebe_status st = buf_reserve(&c->values, len, err);

    if (st != GREBE_OK) {
        return st;
    }
    dst = c->values.data + c->values.len;
    if (is_copied(&node->type)) {
        memcpy(dst, data + (size_t)begin * width, len);
    } else {
        st = put_converted(c, node, data + (size_t)begin * (size_t)node->type.byte_width, n, dst,
                           err);
    }
    if (st == GREBE_OK) {
        c->values.len += len;
        c->n_values += n;
    }
    return st;
}

static grebe_status add_bools(struct pw_chunk *c, const struct ArrowArray *array, int64_t begin,
                              int64_t n, grebe_error *err)
{
    grebe_status st = buf_reserve(&c->values, (size_t)n, err);

    if (st == GREBE_OK) {
        unsigned char *dst = c->values.data + c->values.len;

        for (int64_t i = 0; i < n; i++) {
            dst[i] = bit_get(array->buffers[1], begin + i);
        }
        c->values.len += (size_t)n;
        c->n_values += n;
    }
    return st;
}

/* ---- strings ---- */

static grebe_status put_string(struct pw_chunk *c, const void *bytes, size_t len,
                               grebe_error *err)
{
    int64_t end = 0;
    grebe_status st = GREBE_OK;

    if (len > INT32_MAX - 1024) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "column \"%s\": expected values below 2 GiB, found %zu bytes",
                          c->leaf->nodes[0].name, len);
    }
    if (len > 0) {
        st = buf_put(&c->values, bytes, len, err);
    }
    end = (int64_t)c->values.len;
    if (st == GREBE_OK) {
        st = buf_put(&c->ends, &end, sizeof end, err);
    }
    c->n_values += st == GREBE_OK;
    return st;
}

/* What offsets say of slots [begin, begin + n), as one run of bytes. */
static grebe_status add_string_run(struct pw_chunk *c, const struct ArrowArray *array,
                                   bool is_large, int64_t begin, int64_t n, grebe_error *err)
{
    const int32_t *o32 = array->buffers[1];
    const int64_t *o64 = array->buffers[1];
    const int64_t first = is_large ? o64[begin] : o32[begin];
    const int64_t last = is_large ? o64[begin + n] : o32[begin + n];
    const int64_t end = array->offset + array->length;
    const int64_t limit = is_large ? o64[end] : o32[end]; /* nobody says how long the buffer is */
    int64_t base = 0;
    int64_t *ends = NULL;
    grebe_status st = GREBE_OK;

    if (first < 0 || last < first || last > limit) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "column \"%s\": string offsets %lld to %lld",
                          c->leaf->nodes[0].name, (long long)first, (long long)last);
    }
    base = (int64_t)c->values.len - first;
    if (last > first) {
        GREBE_TRY(buf_put(&c->values, (const unsigned char *)array->buffers[2] + first,
                          (size_t)(last - first), err));
    }
    GREBE_TRY(buf_reserve(&c->ends, (size_t)n * sizeof *ends, err));
    ends = (int64_t *)(void *)(c->ends.data + c->ends.len);
    int64_t before = base + first;
    bool is_falling = false;
    for (int64_t i = 0; i < n; i++) {
        ends[i] = base + (is_large ? o64[begin + i + 1] : o32[begin + i + 1]);
        is_falling |= ends[i] < before;
        before = ends[i];
    }
    if (is_falling) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "column \"%s\": string offsets that decrease",
                        c->leaf->nodes[0].name);
        goto out;
    }
    c->ends.len += (size_t)n * sizeof *ends;
    c->n_values += n;
out:
    return st;
}

/*
 * Views: 16 bytes a slot; up to 12 bytes of content inside, else buffer number and offset. The
 * last buffer holds the sizes of those in between. NULL: outside of them.
 */
static const unsigned char *view_at(const struct ArrowArray *array, int64_t i, size_t *len)
{
    const unsigned char *view = (const unsigned char *)array->buffers[1] + 16 * i;
    const uint32_t n = load_le32(view);

    *len = n;
    if (n <= 12) {
        return view + 4;
    }
    const uint32_t number = load_le32(view + 8);
    const uint64_t end = (uint64_t)load_le32(view + 12) + n;
    const unsigned char *sizes = array->buffers[array->n_buffers - 1];
    const unsigned char *data = NULL;
    if (n <= INT32_MAX && (int64_t)number < array->n_buffers - 3 &&
        end <= load_le64(sizes + 8 * (size_t)number)) {
        data = array->buffers[2 + number];
    }
    return data == NULL ? NULL : data + load_le32(view + 12);
}

/* Every string of what was added last is UTF-8 of its own: the bytes as a whole are, and no
 * string begins inside a character. */
static grebe_status check_utf8(const struct pw_chunk *c, int64_t value_begin, grebe_error *err)
{
    const size_t begin = (size_t)(value_begin > 0 ? c->values.len -
                                  (size_t)pw_bytes_between(c, value_begin, c->n_values) : 0);
    const size_t len = c->values.len - begin;
    size_t n_valid = 0;

    if (len == 0) {
        return GREBE_OK;
    }
    n_valid = utf8_valid_prefix(c->values.data + begin, len);
    for (int64_t i = value_begin; i < c->n_values; i++) {
        size_t n = 0;
        const unsigned char *s = pw_bytes_at(c, i, &n);

        if (n > 0 && ((s[0] & 0xc0) == 0x80 || s + n > c->values.data + begin + n_valid)) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "column \"%s\": value %lld of the row group is no UTF-8",
                              c->leaf->nodes[0].name, (long long)i);
        }
    }
    return GREBE_OK;
}

static grebe_status add_bytes(struct pw_chunk *c, const struct pw_node *node,
                              const struct ArrowArray *array, int64_t begin, int64_t n,
                              grebe_error *err)
{
    const int64_t n_before = c->n_values;
    grebe_status st = GREBE_OK;

    switch (node->type.kind) {
    case ARROW_STRING:
    case ARROW_BINARY: st = add_string_run(c, array, false, begin, n, err); break;
    case ARROW_LARGE_STRING:
    case ARROW_LARGE_BINARY: st = add_string_run(c, array, true, begin, n, err); break;
    default:
        for (int64_t i = 0; i < n && st == GREBE_OK; i++) {
            size_t len = 0;
            const unsigned char *s = view_at(array, begin + i, &len);

            st = s != NULL ? put_string(c, s, len, err)
                           : GREBE_FAIL(err, GREBE_ECORRUPT,
                                        "column \"%s\": a view lies outside of its buffers",
                                        c->leaf->nodes[0].name);
        }
        break;
    }
    return st == GREBE_OK && c->leaf->is_utf8 ? check_utf8(c, n_before, err) : st;
}

/* ---- dictionary-encoded input ---- */

int64_t pw_index_at(enum arrow_kind kind, const struct ArrowArray *array, int64_t i)
{
    const unsigned char *data = array->buffers[1];

    switch (kind) {
    case ARROW_INT8: return ((const int8_t *)data)[i];
    case ARROW_UINT8: return data[i];
    case ARROW_INT16: return (int16_t)load_le16(data + 2 * i);
    case ARROW_UINT16: return load_le16(data + 2 * i);
    case ARROW_INT32: return (int32_t)load_le32(data + 4 * i);
    case ARROW_UINT32: return load_le32(data + 4 * i);
    default: return (int64_t)load_le64(data + 8 * i); /* beyond 2^63: negative, refused */
    }
}

static grebe_status fail_index(const struct pw_node *node, const struct ArrowArray *dict,
                               int64_t at, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT,
                      "column \"%s\": dictionary index: expected less than %lld, found %lld",
                      node->name, (long long)dict->length, (long long)at);
}

/* Entry `at` (offset added) of a dictionary with offsets. NULL: it lies outside. */
static const unsigned char *entry_at(const struct ArrowArray *dict, bool is_large, int64_t at,
                                     size_t *len)
{
    const int32_t *o32 = dict->buffers[1];
    const int64_t *o64 = dict->buffers[1];
    const int64_t end = dict->offset + dict->length;
    const int64_t from = is_large ? o64[at] : o32[at];
    const int64_t to = is_large ? o64[at + 1] : o32[at + 1];

    *len = (size_t)(to - from);
    if (from < 0 || to < from || to > (is_large ? o64[end] : o32[end])) {
        return NULL;
    }
    return dict->buffers[2] != NULL ? (const unsigned char *)dict->buffers[2] + from
                                    : (const unsigned char *)"";
}

/* Strings by their numbers; what UTF-8 there is is checked at once behind them. */
static grebe_status add_strings_by_index(struct pw_chunk *c, const struct pw_node *node,
                                         const struct ArrowArray *array, int64_t begin, int64_t n,
                                         grebe_error *err)
{
    const struct ArrowArray *dict = array->dictionary;
    const bool is_large = arrow_offset_width(node->type.kind) == 8;
    const int64_t n_before = c->n_values;
    grebe_status st = buf_reserve(&c->ends, (size_t)n * sizeof(int64_t), err);

    for (int64_t i = 0; i < n && st == GREBE_OK; i++) {
        const int64_t at = pw_index_at(node->index_kind, array, begin + i);
        size_t len = 0;

        if (at < 0 || at >= dict->length) {
            return fail_index(node, dict, at, err);
        }
        const unsigned char *s = entry_at(dict, is_large, dict->offset + at, &len);
        st = s != NULL ? put_string(c, s, len, err)
                       : GREBE_FAIL(err, GREBE_ECORRUPT, "column \"%s\": dictionary offsets",
                                    node->name);
    }
    return st == GREBE_OK && c->leaf->is_utf8 ? check_utf8(c, n_before, err) : st;
}

static grebe_status add_by_index(struct pw_chunk *c, const struct pw_node *node,
                                 const struct ArrowArray *array, int64_t begin, int64_t n,
                                 grebe_error *err)
{
    const struct ArrowArray *dict = array->dictionary;
    struct pw_node value = *node;
    grebe_status st = GREBE_OK;

    value.is_dictionary = false;
    for (int64_t i = 0; i < n && st == GREBE_OK; i++) {
        const int64_t at = pw_index_at(node->index_kind, array, begin + i);

        if (at < 0 || at >= dict->length) {
            return fail_index(node, dict, at, err);
        }
        st = pw_values_add(c, &value, dict, dict->offset + at, 1, err);
    }
    return st;
}

grebe_status pw_values_add(struct pw_chunk *c, const struct pw_node *node,
                           const struct ArrowArray *array, int64_t begin, int64_t n,
                           grebe_error *err)
{
    if (node->is_dictionary) {
        return arrow_offset_width(node->type.kind) > 0
                   ? add_strings_by_index(c, node, array, begin, n, err)
                   : add_by_index(c, node, array, begin, n, err);
    }
    switch (c->leaf->store) {
    case PW_BOOL: return add_bools(c, array, begin, n, err);
    case PW_FIXED: return add_fixed(c, node, array, begin, n, err);
    case PW_BYTES: return add_bytes(c, node, array, begin, n, err);
    }
    return GREBE_OK;
}

int64_t pw_bytes_between(const struct pw_chunk *c, int64_t begin, int64_t end)
{
    const int64_t *ends = (const int64_t *)(const void *)c->ends.data;

    return end == begin ? 0 : ends[end - 1] - (begin > 0 ? ends[begin - 1] : 0);
}
