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
#include "test_rows_json.h"
#include "test_support.h"
#include "text/text_value.h"

static const struct file_format *const case_formats[] = { &parquet_format, &ipc_format, NULL };
static const struct source_registry case_registry = { case_formats };

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
