/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TESTS_BUILDER_CASE_H
#define GREBE_TESTS_BUILDER_CASE_H

/* Rows of a builder as lines of JSON, as the stored results have them (tests/data/hfdatasets/README.md). */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/decimal.h"
#include "base/number.h"
#include "builder/builder_internal.h"
#include "ipc/ipc_format.h"
#include "parquet/parquet_format.h"
#include "source/source.h"
#include "test_fixture.h"
#include "test_support.h"
#include "text/text_value.h"

static const struct file_format *const case_formats[] = { &parquet_format, &ipc_format, NULL };
static const struct source_registry case_registry = { case_formats };

/* ---- values ---- */

static grebe_status put_string(struct buf *dst, const char *s, size_t len)
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

static void put_double(struct buf *dst, double v)
{
    grebe_error err;
    char text[NUMBER_TEXT_MAX];
    if (isnan(v) || isinf(v)) {
        assert_ok(buf_printf(dst, &err, "\"%s\"", isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity"));
        return;
    }
    assert_ok(buf_put(dst, text, number_put_double(text, v, &number_style_python), &err));
}

static void put_bytes_value(struct buf *dst, const char *p, size_t len)
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

static int64_t int_at(const struct ArrowArray *array, enum arrow_kind kind, int64_t i)
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

static void put_value(struct buf *dst, const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t i)
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
    } else if (t.kind == ARROW_UINT64) {
        assert_ok(buf_printf(dst, &err, "%llu", (unsigned long long)int_at(array, t.kind, at)));
    } else {
        assert_ok(buf_printf(dst, &err, "%lld", (long long)int_at(array, t.kind, at)));
    }
}

/* ---- rows ---- */

struct case_rows {
    struct buf text;  /* lines */
    struct buf begin; /* size_t: where each line begins */
};

static size_t rows_n(const struct case_rows *r) { return r->begin.len / sizeof(size_t); }
static const char *rows_from(struct case_rows *r, size_t i)
{
    return i < rows_n(r) ? (const char *)r->text.data + ((size_t *)(void *)r->begin.data)[i] : "";
}

static inline void rows_release(struct case_rows *r)
{
    buf_release(&r->text);
    buf_release(&r->begin);
}

/** Rows of a reader, behind `skip` of them; the reader is freed. */
static inline grebe_status rows_of_reader(struct shard_reader *reader, int64_t skip, struct case_rows *out, grebe_error *failure)
{
    grebe_status st = GREBE_OK;
    while (st == GREBE_OK) {
        struct ArrowSchema schema = { 0 };
        struct ArrowArray rows = { 0 };
        grebe_error err;
        st = reader->ops->next(reader->self, &schema, &rows, failure);
        if (st == GREBE_OK && array_check(&schema, &rows, true, &err) != GREBE_OK) {
            fail_msg("invalid rows: %s", err.message);
        }
        for (int64_t i = 0; st == GREBE_OK && i < rows.length; i++) {
            if (skip > 0) {
                skip--;
                continue;
            }
            size_t at = out->text.len;
            assert_ok(buf_put(&out->begin, &at, sizeof at, &err));
            put_value(&out->text, &schema, &rows, i);
            assert_ok(buf_put_byte(&out->text, '\n', &err));
        }
        schema_release(&schema);
        array_release(&rows);
    }
    assert_non_null(buf_text(&out->text));
    shard_reader_free(reader);
    return st == GREBE_END ? GREBE_OK : st;
}

#define CASE_ROWS_INIT (struct case_rows){ BUF_INIT(mem_system()), BUF_INIT(mem_system()) }

/**
 * After every batch the place is taken, and the rest read again from it: equal to what the file has behind the row.
 */
static inline void check_places(struct builder *b, size_t split, size_t file)
{
    grebe_error err;
    struct case_rows all = CASE_ROWS_INIT;
    struct shard_reader reader = { 0 }, again = { 0 };
    assert_ok(b->ops->read(b, split, file, -1, (struct shard_place){ 0 }, &reader, &err));
    assert_ok(rows_of_reader(&reader, 0, &all, &err));
    assert_ok(b->ops->read(b, split, file, -1, (struct shard_place){ 0 }, &reader, &err));
    for (grebe_status st = GREBE_OK; st == GREBE_OK;) {
        struct ArrowSchema schema = { 0 };
        struct ArrowArray rows = { 0 };
        struct case_rows rest = CASE_ROWS_INIT;
        int64_t row = reader.ops->next_row(reader.self);
        struct shard_place place = reader.ops->place(reader.self);
        assert_true(place.row <= row && place.row >= 0);
        assert_ok(b->ops->read(b, split, file, -1, place, &again, &err));
        assert_int_equal(again.ops->next_row(again.self), place.row);
        assert_ok(rows_of_reader(&again, row - place.row, &rest, &err));
        if (rows_n(&rest) != rows_n(&all) - (size_t)row || strcmp(rows_from(&rest, 0), rows_from(&all, (size_t)row)) != 0) {
            fail_msg("place {%lld, %llu} before row %lld gives other rows", (long long)place.row,
                     (unsigned long long)place.at, (long long)row);
        }
        rows_release(&rest);
        st = reader.ops->next(reader.self, &schema, &rows, &err);
        schema_release(&schema);
        array_release(&rows);
        assert_true(st == GREBE_OK || st == GREBE_END);
    }
    shard_reader_free(&reader);
    rows_release(&all);
}

#endif
