/* SPDX-License-Identifier: Apache-2.0 */
/* Casts to features, against what the library `datasets` gives for the same arrays (tests/data/hfdatasets/features). */

#include <stdlib.h>

#include "arrow/arrow_stream.h"
#include "arrow/ipc.h"
#include "base/base64.h"
#include "feature/features.h"
#include "test_support.h"

static grebe_error err;

/* Rows of a stream of one batch. */
static void read_rows(const struct json_value *text, struct ArrowSchema *schema, struct ArrowArray *rows)
{
    struct buf bytes = BUF_INIT(mem_system());
    struct region *region = NULL;
    struct ArrowArrayStream stream;
    assert_ok(base64_decode(&bytes, text->text, text->n, &err));
    assert_ok(region_new(mem_system(), bytes.len, &region, &err));
    memcpy(region->data, bytes.data, bytes.len);
    assert_ok(ipc_stream_of_region(mem_system(), region, &stream, &err));
    assert_ok(stream_schema(&stream, schema, &err));
    assert_ok(stream_next(&stream, rows, &err));
    stream_release(&stream);
    region_drop(region);
    buf_release(&bytes);
}

static struct features *read_features(const struct json_value *tree)
{
    struct features *f = NULL;
    assert_ok(features_from_tree(mem_system(), tree, &f, &err));
    return f;
}


static void check_case(const struct json_value *c)
{
    struct ArrowSchema schema, expected_schema, ours_schema;
    struct ArrowArray rows, expected, out;
    const char *name = json_get(c, "name")->text;
    struct features *f = read_features(json_get(c, "features"));
    read_rows(json_get(c, "rows"), &schema, &rows);
    grebe_status st = features_cast(mem_system(), f, &schema, &rows, NULL, &out, &err);
    assert_null(rows.release);
    if (json_get(c, "error") != NULL) {
        if (st != GREBE_ESCHEMA) {
            fail_msg("%s: expected GREBE_ESCHEMA, found %d", name, (int)st);
        }
        assert_null(out.release);
        assert_non_null(strstr(err.message, "column \"x\""));
    } else {
        if (st != GREBE_OK) {
            fail_msg("%s: %s", name, err.message);
        }
        assert_ok(features_to_schema(mem_system(), f, &ours_schema, &err));
        assert_ok(array_check(&ours_schema, &out, true, &err));
        read_rows(json_get(c, "result"), &expected_schema, &expected);
        if (!schema_equal(&expected_schema, &ours_schema,
                          SCHEMA_EQUAL_IGNORE_METADATA | SCHEMA_EQUAL_IGNORE_CHILD_NAMES | SCHEMA_EQUAL_IGNORE_NULLABLE)) {
            fail_msg("%s: another type", name);
        }
        if (!array_equal(&ours_schema, &expected, &out)) {
            fail_msg("%s: other values", name);
        }
        schema_release(&ours_schema);
        schema_release(&expected_schema);
        array_release(&expected);
        array_release(&out);
    }
    schema_release(&schema);
    features_free(f);
}

static void test_feature_cast__stored_arrays__as_the_library(void **state)
{
    size_t len;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *tree, *cases;
    (void)state;
    unsigned char *text = test_read_file(TEST_DATA "/data/hfdatasets/features/casts.json", &len);
    assert_ok(json_parse(&ar, (char *)text, len, &tree, &err));
    cases = json_get(tree, "cases");
    assert_true(cases->n >= 40);
    for (size_t i = 0; i < cases->n; i++) {
        check_case(&cases->items[i]);
    }
    arena_release(&ar);
    free(text);
}

/* Slices and failing memory: the same cases through every path once more. */
static void test_feature_cast__allocations_fail__no_leak(void **state)
{
    size_t len;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *tree, *cases;
    (void)state;
    unsigned char *text = test_read_file(TEST_DATA "/data/hfdatasets/features/casts.json", &len);
    assert_ok(json_parse(&ar, (char *)text, len, &tree, &err));
    cases = json_get(tree, "cases");
    for (size_t i = 0; i < cases->n; i++) {
        for (size_t at = 1;; at++) {
            struct test_allocator t;
            struct ArrowSchema schema;
            struct ArrowArray rows, out = { 0 };
            struct features *f = read_features(json_get(&cases->items[i], "features"));
            test_allocator_init(&t);
            t.fail_at = at;
            read_rows(json_get(&cases->items[i], "rows"), &schema, &rows);
            grebe_status st = features_cast(&t.a, f, &schema, &rows, NULL, &out, &err);
            if (st == GREBE_OK) {
                array_release(&out);
            }
            assert_null(out.release);
            assert_null(rows.release);
            schema_release(&schema);
            features_free(f);
            assert_int_equal(t.n_live, 0);
            if (st != GREBE_ENOMEM) {
                break;
            }
        }
    }
    arena_release(&ar);
    free(text);
}

static struct features *features_of(const char *text)
{
    struct features *f = NULL;
    assert_ok(features_from_json(mem_system(), text, strlen(text), &f, &err));
    return f;
}

/* Rows {a: 0 … n - 1} of int64. */
static void numbers(int64_t n, struct ArrowSchema *schema, struct ArrowArray *rows)
{
    struct ArrowArray column;
    void *p;
    assert_ok(type_parse(mem_system(), "struct<a: int64>", "", false, schema, &err));
    assert_ok(array_new(mem_system(), n, 2, 0, &column, &err));
    assert_ok(array_alloc_buffer(mem_system(), &column, 1, (size_t)n * 8, &p, &err));
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)p)[i] = i;
    }
    assert_ok(array_struct(mem_system(), n, &column, 1, rows, &err));
}

static void test_features_cast__columns__missing_and_extra_by_option(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray rows, out;
    struct feature_cast_options o = { .is_missing_null = true };
    (void)state;
    struct features *f = features_of("{\"b\": {\"dtype\": \"string\", \"_type\": \"Value\"}, \"a\": {\"dtype\": \"int8\", \"_type\": \"Value\"}}");
    numbers(3, &schema, &rows);
    assert_fails(features_cast(mem_system(), f, &schema, &rows, NULL, &out, &err), GREBE_ESCHEMA, "column \"b\" is missing");
    schema_release(&schema);
    numbers(3, &schema, &rows);
    assert_ok(features_cast(mem_system(), f, &schema, &rows, &o, &out, &err));
    assert_int_equal(out.n_children, 2);
    assert_int_equal(array_null_count(out.children[0]), 3);
    assert_int_equal(((const int8_t *)out.children[1]->buffers[1])[2], 2);
    array_release(&out);
    features_free(f);

    f = features_of("{\"b\": {\"dtype\": \"string\", \"_type\": \"Value\"}}");
    schema_release(&schema);
    numbers(3, &schema, &rows);
    assert_fails(features_cast(mem_system(), f, &schema, &rows, &o, &out, &err), GREBE_ESCHEMA, "column \"a\" is not expected");
    schema_release(&schema);
    numbers(3, &schema, &rows);
    o.is_extra_dropped = true;
    assert_ok(features_cast(mem_system(), f, &schema, &rows, &o, &out, &err));
    assert_int_equal(out.n_children, 1);
    assert_int_equal(out.length, 3);
    array_release(&out);
    schema_release(&schema);
    features_free(f);
}

static void test_features_cast__same_types__buffers_are_shared(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray rows, out;
    (void)state;
    struct features *f = features_of("{\"a\": {\"dtype\": \"int64\", \"_type\": \"Value\"}}");
    numbers(5, &schema, &rows);
    const void *values = rows.children[0]->buffers[1];
    assert_ok(features_cast(mem_system(), f, &schema, &rows, NULL, &out, &err));
    assert_ptr_equal(out.children[0]->buffers[1], values);
    array_release(&out);
    features_free(f);
    f = features_of("{\"a\": {\"names\": [\"a\", \"b\", \"c\", \"d\"], \"_type\": \"ClassLabel\"}}");
    struct feature_cast_options o = { .first_row = 100 };
    schema_release(&schema);
    numbers(5, &schema, &rows);
    assert_fails(features_cast(mem_system(), f, &schema, &rows, &o, &out, &err), GREBE_ESCHEMA, "row 104: class label 4");
    features_free(f);
    schema_release(&schema);
}

static void test_features_cast__trial__numbers_stay_numbers(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray rows, out;
    struct feature_cast_options o = { .is_trial = true };
    (void)state;
    struct features *f = features_of("{\"a\": {\"dtype\": \"string\", \"_type\": \"Value\"}}");
    numbers(2, &schema, &rows);
    assert_fails(features_cast(mem_system(), f, &schema, &rows, &o, &out, &err), GREBE_ESCHEMA, "cannot cast int64 to string");
    schema_release(&schema);
    numbers(2, &schema, &rows);
    assert_ok(features_cast(mem_system(), f, &schema, &rows, NULL, &out, &err));
    array_release(&out);
    schema_release(&schema);
    features_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feature_cast__stored_arrays__as_the_library),
        cmocka_unit_test(test_feature_cast__allocations_fail__no_leak),
        cmocka_unit_test(test_features_cast__columns__missing_and_extra_by_option),
        cmocka_unit_test(test_features_cast__same_types__buffers_are_shared),
        cmocka_unit_test(test_features_cast__trial__numbers_stay_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
