/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TESTS_DATASET_CASE_H
#define GREBE_TESTS_DATASET_CASE_H

/* What tests of data sets share: rows as lines, data sets made of a few numbers. */

#include "arrow/arrow_stream.h"
#include "dataset/dataset_internal.h"
#include "test_fixture.h"
#include "test_rows_json.h"
#include "test_support.h"
#include "wire/json.h"

#define CASES TEST_DATA "/data/hfdatasets/"

/** All rows, one line each; batches of batch_rows. Free with buf_release(). */
static inline struct buf lines_of(const grebe_dataset *ds, int64_t batch_rows)
{
    grebe_error err;
    struct buf text = BUF_INIT(mem_system());
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray rows;
    grebe_status st;
    assert_ok(grebe_dataset_scan(ds, NULL, 0, batch_rows, NULL, &stream, &err));
    assert_ok(stream_schema(&stream, &schema, &err));
    while ((st = stream_next(&stream, &rows, &err)) == GREBE_OK) {
        assert_ok(array_check(&schema, &rows, true, &err));
        for (int64_t i = 0; i < rows.length; i++) {
            put_value(&text, &schema, &rows, i);
            assert_ok(buf_put_byte(&text, '\n', &err));
        }
        array_release(&rows);
    }
    if (st != GREBE_END) {
        fail_msg("%s", err.message);
    }
    schema_release(&schema);
    stream_release(&stream);
    assert_non_null(buf_text(&text));
    return text;
}

static inline void assert_lines(const grebe_dataset *ds, const char *expected)
{
    struct buf text = lines_of(ds, 0);
    assert_string_equal(buf_text(&text), expected);
    buf_release(&text);
}

static inline void assert_same_rows(const grebe_dataset *x, const grebe_dataset *y)
{
    struct buf a = lines_of(x, 0), b = lines_of(y, 7);
    assert_string_equal(buf_text(&a), buf_text(&b));
    buf_release(&a);
    buf_release(&b);
}

/** {id: int64, text: string, label: int64}: id i, text "t<i>", label i % 10; in memory, batches of batch_rows. */
static inline grebe_dataset *made_set(grebe_context *ctx, int64_t n, int64_t batch_rows)
{
    grebe_error err;
    const grebe_allocator *a = mem_system();
    struct ArrowSchema schema;
    struct ArrowArrayStream stream;
    grebe_dataset *ds = NULL;
    size_t n_batches = (size_t)((n + batch_rows - 1) / batch_rows);
    struct ArrowArray *batches = calloc(n_batches + 1, sizeof *batches);
    assert_ok(schema_new(a, "+s", "", false, 3, &schema, &err));
    assert_ok(schema_new(a, "l", "id", true, 0, schema.children[0], &err));
    assert_ok(schema_new(a, "u", "text", true, 0, schema.children[1], &err));
    assert_ok(schema_new(a, "l", "label", true, 0, schema.children[2], &err));
    for (size_t b = 0; b < n_batches; b++) {
        int64_t begin = (int64_t)b * batch_rows, len = n - begin < batch_rows ? n - begin : batch_rows;
        struct ArrowArray c[3];
        void *id = NULL, *label = NULL, *offsets = NULL, *bytes = NULL;
        assert_ok(array_new(a, len, 2, 0, &c[0], &err));
        assert_ok(array_new(a, len, 3, 0, &c[1], &err));
        assert_ok(array_new(a, len, 2, 0, &c[2], &err));
        assert_ok(array_alloc_buffer(a, &c[0], 1, (size_t)len * 8, &id, &err));
        assert_ok(array_alloc_buffer(a, &c[2], 1, (size_t)len * 8, &label, &err));
        assert_ok(array_alloc_buffer(a, &c[1], 1, (size_t)(len + 1) * 4, &offsets, &err));
        assert_ok(array_alloc_buffer(a, &c[1], 2, (size_t)len * 24, &bytes, &err));
        int32_t at = 0;
        ((int32_t *)offsets)[0] = 0;
        for (int64_t i = 0; i < len; i++) {
            ((int64_t *)id)[i] = begin + i;
            ((int64_t *)label)[i] = (begin + i) % 10;
            at += snprintf((char *)bytes + at, 24, "t%lld", (long long)(begin + i));
            ((int32_t *)offsets)[i + 1] = at;
        }
        assert_ok(array_struct(a, len, c, 3, &batches[b], &err));
    }
    assert_ok(stream_from_batches(a, &schema, batches, n_batches, &stream, &err));
    assert_ok(grebe_dataset_of_rows(ctx, &stream, NULL, &ds, &err));
    schema_release(&schema);
    free(batches);
    return ds;
}

/** made_set() in a file of its own; path: its folder. */
static inline grebe_dataset *saved_set(struct fixture *f, int64_t n, char path[300])
{
    grebe_error err;
    grebe_dataset_dict *dict = NULL;
    grebe_dataset *ds = made_set(f->ctx, n, 16);
    snprintf(path, 300, "%s/saved", f->folder);
    assert_ok(grebe_dataset_save_to_disk(ds, path, NULL, &err));
    grebe_dataset_free(ds);
    assert_ok(grebe_dataset_load_from_disk(f->ctx, path, NULL, &dict, &err));
    ds = grebe_dataset_keep(grebe_dataset_dict_get(dict, 0));
    grebe_dataset_dict_free(dict);
    return ds;
}

/** The ids of all rows. Free with free(). */
static inline int64_t *ids_of(const grebe_dataset *ds, const char *column)
{
    grebe_error err;
    grebe_dataset_info info;
    struct ArrowArray rows;
    grebe_dataset_get_info(ds, &info);
    assert_ok(grebe_dataset_read(ds, 0, info.n_rows, &column, 1, &rows, &err));
    int64_t *out = malloc((size_t)info.n_rows * 8 + 8);
    for (int64_t i = 0; i < info.n_rows; i++) {
        out[i] = ((const int64_t *)rows.children[0]->buffers[1])[rows.children[0]->offset + i];
    }
    array_release(&rows);
    return out;
}

static inline void assert_ids(const grebe_dataset *ds, const int64_t *expected, size_t n)
{
    grebe_dataset_info info;
    grebe_dataset_get_info(ds, &info);
    assert_int_equal(info.n_rows, n);
    int64_t *got = ids_of(ds, "id");
    for (size_t i = 0; i < n; i++) {
        if (got[i] != expected[i]) {
            fail_msg("row %zu: %lld, expected %lld", i, (long long)got[i], (long long)expected[i]);
        }
    }
    free(got);
}

/* ---- columns of JSON values ---- */

static inline bool is_float_text(const struct json_value *v)
{
    return (v->type == JSON_NUMBER && strpbrk(v->text, ".eE") != NULL) || json_is_text(v, "NaN");
}

/** A column of n values: int64, double, bool or string by what is there; value(i) is items[i], or its member `key`. */
static inline void made_column(const struct json_value *items, size_t n, const char *key, struct ArrowSchema *schema,
                               struct ArrowArray *out)
{
    grebe_error err;
    const grebe_allocator *a = mem_system();
    const char *format = "u";
    void *bits = NULL, *p = NULL, *bytes = NULL;
    size_t total = 0;
    for (size_t i = n; i-- > 0;) {
        const struct json_value *v = key != NULL ? json_get(&items[i], key) : &items[i];
        format = v->type == JSON_BOOL                       ? "b"
                 : is_float_text(v)                         ? "g"
                 : v->type == JSON_NUMBER && *format != 'g' ? "l"
                                                            : format;
        total += v->type == JSON_STRING ? v->n : 0;
    }
    assert_ok(schema_new(a, format, key != NULL ? key : "v", true, 0, schema, &err));
    assert_ok(array_new(a, (int64_t)n, *format == 'u' ? 3 : 2, 0, out, &err));
    assert_ok(array_alloc_buffer(a, out, 0, bitmap_bytes((int64_t)n), &bits, &err));
    assert_ok(array_alloc_buffer(a, out, 1, (n + 1) * 8, &p, &err));
    memset(bits, 0, bitmap_bytes((int64_t)n));
    memset(p, 0, (n + 1) * 8);
    if (*format == 'u') {
        assert_ok(array_alloc_buffer(a, out, 2, total, &bytes, &err));
    }
    int32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct json_value *v = key != NULL ? json_get(&items[i], key) : &items[i];
        if (v->type == JSON_NULL) {
            out->null_count++;
        } else {
            bit_set(bits, (int64_t)i);
        }
        if (*format == 'u' && v->type == JSON_STRING) {
            memcpy((char *)bytes + at, v->text, v->n);
            at += (int32_t)v->n;
        } else if (*format == 'b' && v->boolean) {
            bit_set(p, (int64_t)i);
        } else if (*format == 'g' && v->type == JSON_NUMBER) {
            json_double(v, (double *)p + i);
        } else if (*format == 'g') {
            ((double *)p)[i] = (double)NAN;
        } else if (*format == 'l') {
            json_i64(v, (int64_t *)p + i);
        }
        if (*format == 'u') {
            ((int32_t *)p)[i + 1] = at;
        }
    }
}

/** Rows as objects, keys as in the first; or, with no objects, one column "v". */
static inline grebe_dataset *set_of_json(grebe_context *ctx, const struct json_value *rows)
{
    grebe_error err;
    const grebe_allocator *a = mem_system();
    struct ArrowSchema schema;
    struct ArrowArray columns[16], batch;
    struct ArrowArrayStream stream;
    grebe_dataset *ds = NULL;
    bool is_flat = rows->n == 0 || rows->items[0].type != JSON_OBJECT;
    size_t n = is_flat ? 1 : rows->items[0].n;
    assert_ok(schema_new(a, "+s", "", false, (int64_t)n, &schema, &err));
    for (size_t i = 0; i < n; i++) {
        made_column(rows->items, rows->n, is_flat ? NULL : rows->items[0].members[i].key, schema.children[i],
                    &columns[i]);
    }
    assert_ok(array_struct(a, (int64_t)rows->n, columns, n, &batch, &err));
    assert_ok(stream_from_batches(a, &schema, &batch, 1, &stream, &err));
    assert_ok(grebe_dataset_of_rows(ctx, &stream, NULL, &ds, &err));
    schema_release(&schema);
    return ds;
}

/** The same from text. */
static inline grebe_dataset *set_of_text(grebe_context *ctx, const char *json)
{
    grebe_error err;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *v = NULL;
    assert_ok(json_parse(&ar, json, strlen(json), &v, &err));
    grebe_dataset *ds = set_of_json(ctx, v);
    arena_release(&ar);
    return ds;
}

#endif
