/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_value.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/arrow_internal.h"
#include "base/base64.h"
#include "base/endian.h"
#include "base/half.h"
#include "base/number.h"
#include "wire/json.h"

grebe_status text_column_init(const grebe_allocator *a, const struct ArrowSchema *schema,
                              struct text_column *out, grebe_error *err)
{
    memset(out, 0, sizeof *out);
    grebe_status st = arrow_type_of(schema, &out->type, err);
    out->schema = schema;
    if (st != GREBE_OK) {
        return st;
    }
    struct key_value extension;
    out->is_uuid = out->type.kind == ARROW_FIXED_BINARY && out->type.byte_width == 16 &&
                   schema_metadata_find(schema, "ARROW:extension:name", &extension) &&
                   extension.value_len == 10 && memcmp(extension.value, "arrow.uuid", 10) == 0;
    /* A dictionary is child 0 for printing; a dictionary has no children of its own. */
    out->n_children = out->type.is_dictionary ? 1 : (size_t)schema->n_children;
    out->children = mem_alloc_zero(a, out->n_children * sizeof *out->children);
    if (out->children == NULL) {
        out->n_children = 0;
        return mem_fail(err, out->n_children * sizeof *out->children, "columns");
    }
    for (size_t i = 0; i < out->n_children && st == GREBE_OK; i++) {
        const struct ArrowSchema *child =
            out->type.is_dictionary ? schema->dictionary : schema->children[i];
        st = text_column_init(a, child, &out->children[i], err);
    }
    if (st != GREBE_OK) {
        text_column_release(a, out);
    }
    return st;
}

void text_column_release(const grebe_allocator *a, struct text_column *c)
{
    for (size_t i = 0; i < c->n_children; i++) {
        text_column_release(a, &c->children[i]);
    }
    mem_free(a, c->children, c->n_children * sizeof *c->children);
    memset(c, 0, sizeof *c);
}

static grebe_status put_float(struct buf *dst, double v, float narrow, bool is_narrow, bool is_json,
                              grebe_error *err)
{
    char text[NUMBER_TEXT_MAX];
    if (isfinite(v)) {
        size_t n = is_narrow ? number_put_float(text, narrow, &number_style_json)
                             : number_put_double(text, v, &number_style_json);
        return buf_put(dst, text, n, err);
    }
    if (is_json) {
        return buf_put_text(dst, isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"", err);
    }
    return buf_put_text(dst, isnan(v) ? "NaN" : v > 0 ? "inf" : "-inf", err);
}

static grebe_status put_quoted(struct buf *dst, const char *text, size_t n, bool is_json,
                               grebe_error *err)
{
    return is_json ? json_put_string(dst, text, n, err) : buf_put(dst, text, n, err);
}

static grebe_status put_uuid(struct buf *dst, const char *p, bool is_json, grebe_error *err)
{
    static const char hex[] = "0123456789abcdef";
    char text[40];
    size_t n = 0;
    for (size_t i = 0; i < 16; i++) {
        unsigned char c = (unsigned char)p[i];
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text[n++] = '-';
        }
        text[n++] = hex[c >> 4];
        text[n++] = hex[c & 15];
    }
    return put_quoted(dst, text, n, is_json, err);
}

static grebe_status put_binary(struct buf *dst, const char *p, size_t len, bool is_json,
                               grebe_error *err)
{
    static const char hex[] = "0123456789abcdef";
    grebe_status st = GREBE_OK;
    if (is_json) {
        GREBE_TRY(buf_put_byte(dst, '"', err));
        GREBE_TRY(base64_encode(dst, p, len, err));
        return buf_put_byte(dst, '"', err);
    }
    GREBE_TRY(buf_reserve(dst, 2 * len, err));
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)p[i];
        dst->data[dst->len++] = (unsigned char)hex[c >> 4];
        dst->data[dst->len++] = (unsigned char)hex[c & 15];
    }
out:
    return st;
}

/* Numbers, times and bytes; slot i counts from the start of the buffers. */
static grebe_status put_scalar(struct buf *dst, const struct arrow_type *t,
                               const struct ArrowArray *array, int64_t i, bool is_json,
                               grebe_error *err)
{
    char text[TEXT_DECIMAL_MAX];
    const char *values = array->n_buffers > 1 ? array->buffers[1] : NULL;
    size_t n = 0;
    switch (t->kind) {
    case ARROW_BOOL:
        return buf_put_text(dst, bit_get((const uint8_t *)values, i) ? "true" : "false", err);
    case ARROW_UINT64: {
        uint64_t v;
        memcpy(&v, values + i * 8, 8);
        n = number_put_u64(text, v);
        return buf_put(dst, text, n, err);
    }
    case ARROW_FLOAT16: {
        uint16_t h;
        memcpy(&h, values + i * 2, 2);
        float f = half_to_float(h);
        return put_float(dst, (double)f, f, true, is_json, err);
    }
    case ARROW_FLOAT32: {
        float f;
        memcpy(&f, values + i * 4, 4);
        return put_float(dst, (double)f, f, true, is_json, err);
    }
    case ARROW_FLOAT64: {
        double d;
        memcpy(&d, values + i * 8, 8);
        return put_float(dst, d, 0, false, is_json, err);
    }
    case ARROW_DATE32: n = text_date(text, load_i32_at(values, i)); break;
    case ARROW_DATE64: n = text_timestamp(text, load_i64_at(values, i), ARROW_MILLI, false); break;
    case ARROW_TIME32: n = text_time_of_day(text, load_i32_at(values, i), t->unit); break;
    case ARROW_TIME64: n = text_time_of_day(text, load_i64_at(values, i), t->unit); break;
    case ARROW_TIMESTAMP:
        n = text_timestamp(text, load_i64_at(values, i), t->unit, t->timezone[0] != '\0');
        break;
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256: {
        size_t width = t->kind == ARROW_DECIMAL32 ? 4 : t->kind == ARROW_DECIMAL64 ? 8
                       : t->kind == ARROW_DECIMAL128 ? 16 : 32;
        n = text_decimal(text, values + i * (int64_t)width, width, t->scale);
        return buf_put(dst, text, n, err);
    }
    case ARROW_INTERVAL_MONTHS: return buf_printf(dst, err, is_json ? "\"%d months\"" : "%d months", load_i32_at(values, i));
    case ARROW_INTERVAL_DAY_TIME:
        return buf_printf(dst, err, is_json ? "\"%d days %d ms\"" : "%d days %d ms",
                          load_i32_at(values, 2 * i), load_i32_at(values, 2 * i + 1));
    case ARROW_INTERVAL_MONTH_DAY_NANO:
        return buf_printf(dst, err, is_json ? "\"%d months %d days %lld ns\"" : "%d months %d days %lld ns",
                          load_i32_at(values, 4 * i), load_i32_at(values, 4 * i + 1),
                          (long long)load_i64_at(values, 2 * i + 1));
    default: /* integers and durations */
        n = number_put_i64(text, t->kind == ARROW_DURATION ? load_i64_at(values, i)
                                                           : arrow_load_int(values, t->kind, i));
        return buf_put(dst, text, n, err);
    }
    return put_quoted(dst, text, n, is_json, err);
}

enum { LIST_TEXT_MAX = 512 << 20 };

static grebe_status put_list(struct buf *dst, const struct text_column *c,
                             const struct ArrowArray *items, int64_t begin, int64_t end,
                             grebe_error *err)
{
    const size_t text_begin = dst->len;
    grebe_status st = buf_put_byte(dst, '[', err);
    for (int64_t k = begin; st == GREBE_OK && k < end; k++) {
        if (k > begin) {
            st = buf_put_byte(dst, ',', err);
        }
        if (dst->len - text_begin > LIST_TEXT_MAX) { /* elements that share bytes, or have none */
            return GREBE_FAIL(err, GREBE_ELIMIT,
                              "column \"%s\": a list of %lld elements takes more than %d bytes as text",
                              c->schema->name, (long long)(end - begin), LIST_TEXT_MAX);
        }
        if (st == GREBE_OK) {
            st = text_put_json(dst, &c->children[0], items, k, err);
        }
    }
    return st == GREBE_OK ? buf_put_byte(dst, ']', err) : st;
}

static grebe_status put_struct(struct buf *dst, const struct text_column *c,
                               const struct ArrowArray *array, int64_t slot, grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, '{', err);
    for (size_t k = 0; st == GREBE_OK && k < c->n_children; k++) {
        const char *name = c->children[k].schema->name;
        if (k > 0) {
            st = buf_put_byte(dst, ',', err);
        }
        if (st == GREBE_OK) {
            st = json_put_string(dst, name, strlen(name), err);
        }
        if (st == GREBE_OK) {
            st = buf_put_byte(dst, ':', err);
        }
        if (st == GREBE_OK) {
            st = text_put_json(dst, &c->children[k], array->children[k], slot, err);
        }
    }
    return st == GREBE_OK ? buf_put_byte(dst, '}', err) : st;
}

static grebe_status put_union(struct buf *dst, const struct text_column *c,
                              const struct ArrowArray *array, int64_t slot, grebe_error *err)
{
    /* "+ud:0,5,7": the child of a type id is its place in the list. */
    int8_t id = ((const int8_t *)array->buffers[0])[slot];
    const char *ids = c->schema->format + 4;
    for (size_t k = 0; k < c->n_children; k++) {
        char *end = NULL;
        long this_id = strtol(ids, &end, 10);
        if (this_id == id) {
            int64_t at = c->type.kind == ARROW_DENSE_UNION ? load_i32_at(array->buffers[1], slot)
                                                           : slot;
            return text_put_json(dst, &c->children[k], array->children[k], at, err);
        }
        ids = *end == ',' ? end + 1 : end;
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "union \"%s\": expected one of the type ids %s, found %d",
                      c->schema->name, c->schema->format + 4, id);
}

/* Nested types, always as JSON. slot counts from the start of the buffers. */
static grebe_status put_nested(struct buf *dst, const struct text_column *c,
                               const struct ArrowArray *array, int64_t slot, grebe_error *err)
{
    const struct ArrowArray *items = array->n_children > 0 ? array->children[0] : NULL;
    switch (c->type.kind) {
    case ARROW_LIST:
    case ARROW_MAP:
        return put_list(dst, c, items, load_i32_at(array->buffers[1], slot),
                        load_i32_at(array->buffers[1], slot + 1), err);
    case ARROW_LARGE_LIST:
        return put_list(dst, c, items, load_i64_at(array->buffers[1], slot),
                        load_i64_at(array->buffers[1], slot + 1), err);
    case ARROW_LIST_VIEW: {
        int64_t begin = load_i32_at(array->buffers[1], slot);
        return put_list(dst, c, items, begin, begin + load_i32_at(array->buffers[2], slot), err);
    }
    case ARROW_LARGE_LIST_VIEW: {
        int64_t begin = load_i64_at(array->buffers[1], slot);
        return put_list(dst, c, items, begin, begin + load_i64_at(array->buffers[2], slot), err);
    }
    case ARROW_FIXED_LIST:
        return put_list(dst, c, items, slot * c->type.list_size, (slot + 1) * c->type.list_size, err);
    case ARROW_STRUCT: return put_struct(dst, c, array, slot, err);
    case ARROW_RUN_END_ENCODED: {
        int64_t run = arrow_run_of(items, c->children[0].type.kind, slot);
        return text_put_json(dst, &c->children[1], array->children[1], run, err);
    }
    default: return put_union(dst, c, array, slot, err);
    }
}

static bool is_nested(enum arrow_kind k) { return k >= ARROW_LIST && k <= ARROW_RUN_END_ENCODED; }

static grebe_status put_value(struct buf *dst, const struct text_column *c,
                              const struct ArrowArray *array, int64_t i, bool is_json,
                              bool *is_null, grebe_error *err)
{
    const struct arrow_type *t = &c->type;
    int64_t slot = i + array->offset;
    *is_null = array_is_null(array, i) || t->kind == ARROW_NULL;
    if (*is_null && t->kind != ARROW_RUN_END_ENCODED && !(t->kind == ARROW_DENSE_UNION ||
                                                          t->kind == ARROW_SPARSE_UNION)) {
        return GREBE_OK;
    }
    *is_null = false;
    if (t->is_dictionary) {
        int64_t index = arrow_load_int(array->buffers[1], t->kind, slot);
        if (index < 0 || index >= array->dictionary->length) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "column \"%s\", row %lld: expected a dictionary index below %lld, "
                              "found %lld", c->schema->name, (long long)i,
                              (long long)array->dictionary->length, (long long)index);
        }
        return put_value(dst, &c->children[0], array->dictionary, index, is_json, is_null, err);
    }
    if (is_nested(t->kind)) {
        return put_nested(dst, c, array, slot, err);
    }
    bool is_text = t->kind == ARROW_STRING || t->kind == ARROW_LARGE_STRING ||
                   t->kind == ARROW_STRING_VIEW;
    if (is_text || (t->kind >= ARROW_BINARY && t->kind <= ARROW_FIXED_BINARY)) {
        struct arrow_bytes b = arrow_bytes_at(array, t->kind, t->byte_width, i);
        if (c->is_uuid) {
            return put_uuid(dst, b.p, is_json, err);
        }
        return is_text ? put_quoted(dst, b.p, (size_t)b.len, is_json, err)
                       : put_binary(dst, b.p, (size_t)b.len, is_json, err);
    }
    return put_scalar(dst, t, array, slot, is_json, err);
}

grebe_status text_put_json(struct buf *dst, const struct text_column *c,
                           const struct ArrowArray *array, int64_t i, grebe_error *err)
{
    bool is_null = false;
    grebe_status st = put_value(dst, c, array, i, true, &is_null, err);
    return st == GREBE_OK && is_null ? buf_put_text(dst, "null", err) : st;
}

grebe_status text_put_plain(struct buf *dst, const struct text_column *c,
                            const struct ArrowArray *array, int64_t i, bool *is_null,
                            grebe_error *err)
{
    return put_value(dst, c, array, i, false, is_null, err);
}
