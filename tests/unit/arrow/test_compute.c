/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_test_data.h"

#include "arrow/arrow_internal.h"

static void test_gather__golden_rows__as_pyarrow_builds_them(void **state)
{
    (void)state;
    static const int64_t rows[] = { 22, 0, 3, 3, 1, -1, 7, 7, 7, 8, 9, 10, 21, -1, 5 };
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema;
    struct ArrowSchema expected_schema;
    struct ArrowArray batch;
    struct ArrowArray expected;
    read_golden("all_types.arrows", &schema, &batch);
    read_golden("all_types_take.arrows", &expected_schema, &expected);
    for (int64_t i = 0; i < schema.n_children; i++) {
        struct ArrowArray got;
        assert_ok(array_gather(mem_system(), schema.children[i], batch.children[i], rows, 15, &got,
                               &err));
        assert_ok(array_check(schema.children[i], &got, true, &err));
        if (!array_equal(schema.children[i], &got, expected.children[i])) {
            fail_msg("column %s differs", schema.children[i]->name);
        }
        array_release(&got);
    }
    array_release(&batch);
    array_release(&expected);
    schema_release(&schema);
    schema_release(&expected_schema);
}

/* For each golden batch: filter, gather of the kept rows and concat of kept slices agree. */
static void test_compute__three_ways__agree(void **state)
{
    (void)state;
    static const char *const names[] = { "all_types.arrows", "unions_runs.arrows",
                                         "polars.arrows" };
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t seed = test_seed();
    for (int round = 0; round < 60; round++) {
        struct ArrowSchema schema;
        struct ArrowArray batch;
        struct ArrowArray slice;
        struct array_shared *shared = NULL;
        read_golden(names[round % 3], &schema, &batch);
        int64_t begin = (int64_t)(test_random(&seed) % (uint64_t)batch.length);
        int64_t n = (int64_t)(test_random(&seed) % (uint64_t)(batch.length - begin + 1));
        assert_ok(array_share(mem_system(), &batch, &shared, &err));
        assert_ok(array_slice(shared, begin, n, &slice, &err));
        assert_ok(array_check(&schema, &slice, true, &err));

        uint8_t keep[8] = { 0 };
        int64_t rows[64];
        int64_t n_rows = 0;
        struct ArrowArray parts[64];
        const struct ArrowArray *part_list[64];
        uint64_t density = test_random(&seed) % 4;
        struct array_shared *shared_slice = NULL;
        struct ArrowArray filtered;
        struct ArrowArray gathered;
        struct ArrowArray joined;
        for (int64_t i = 0; i < n; i++) {
            if (test_random(&seed) % 4 <= density) {
                bit_set(keep, i);
                rows[n_rows++] = i;
            }
        }
        assert_ok(array_filter(mem_system(), &schema, &slice, keep, &filtered, &err));
        assert_ok(array_gather(mem_system(), &schema, &slice, rows, n_rows, &gathered, &err));
        assert_ok(array_check(&schema, &filtered, true, &err));
        assert_ok(array_check(&schema, &gathered, true, &err));
        assert_int_equal(filtered.length, n_rows);
        assert_true(array_equal(&schema, &filtered, &gathered));
        assert_ok(array_share(mem_system(), &slice, &shared_slice, &err));
        assert_ok(array_slice(shared_slice, 0, 0, &parts[0], &err));
        part_list[0] = &parts[0];
        for (int64_t i = 0; i < n_rows; i++) {
            assert_ok(array_slice(shared_slice, rows[i], 1, &parts[i + 1], &err));
            part_list[i + 1] = &parts[i + 1];
        }
        assert_ok(array_concat(mem_system(), &schema, part_list, (size_t)n_rows + 1, &joined,
                               &err));
        assert_ok(array_check(&schema, &joined, true, &err));
        assert_true(array_equal(&schema, &filtered, &joined));
        for (int64_t i = 0; i <= n_rows; i++) {
            array_release(&parts[i]);
        }
        array_shared_drop(shared_slice);
        array_shared_drop(shared);
        array_release(&filtered);
        array_release(&gathered);
        array_release(&joined);
        schema_release(&schema);
    }
}

static void test_compute__nulls__of_every_type(void **state)
{
    (void)state;
    static const char *const names[] = { "all_types.arrows", "unions_runs.arrows" };
    grebe_error err = GREBE_ERROR_INIT;
    for (int k = 0; k < 2; k++) {
        struct ArrowSchema schema;
        struct ArrowArray batch;
        read_golden(names[k], &schema, &batch);
        for (int64_t i = 0; i < schema.n_children; i++) {
            struct ArrowArray nulls;
            struct ArrowArray gathered;
            static const int64_t rows[] = { -1, -1, -1, -1, -1 };
            assert_ok(array_nulls(mem_system(), schema.children[i], 5, &nulls, &err));
            assert_ok(array_check(schema.children[i], &nulls, true, &err));
            assert_ok(array_gather(mem_system(), schema.children[i], batch.children[i], rows, 5,
                                   &gathered, &err));
            assert_true(array_equal(schema.children[i], &nulls, &gathered));
            array_release(&nulls);
            array_release(&gathered);
            assert_ok(array_nulls(mem_system(), schema.children[i], 0, &nulls, &err));
            array_release(&nulls);
        }
        array_release(&batch);
        schema_release(&schema);
    }
}

static void test_compute__no_memory__nothing_leaks(void **state)
{
    (void)state;
    static const char *const names[] = { "all_types.arrows", "unions_runs.arrows" };
    static const int64_t rows[] = { 1, 0, -1, 2, 2, 4 };
    struct test_allocator t;
    test_allocator_init(&t);
    for (int k = 0; k < 2; k++) {
        struct ArrowSchema schema;
        struct ArrowArray batch;
        read_golden(names[k], &schema, &batch);
        for (size_t n = 1;; n++) {
            grebe_error err = GREBE_ERROR_INIT;
            struct ArrowArray got;
            struct ArrowArray joined;
            memset(&joined, 0, sizeof joined);
            t.n_calls = 0;
            t.fail_at = n;
            grebe_status st = array_gather(&t.a, &schema, &batch, rows, 6, &got, &err);
            if (st == GREBE_OK) {
                const struct ArrowArray *two[2] = { &batch, &got };
                st = array_concat(&t.a, &schema, two, 2, &joined, &err);
            }
            array_release(&got);
            array_release(&joined);
            assert_int_equal(t.n_live, 0);
            if (st == GREBE_OK) {
                break;
            }
            assert_int_equal(st, GREBE_ENOMEM);
        }
        array_release(&batch);
        schema_release(&schema);
    }
}

static void test_bitmap__random_ranges__as_bit_by_bit(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 5000; round++) {
        uint8_t src[40];
        uint8_t dst[40];
        uint8_t expected[40];
        for (size_t i = 0; i < sizeof src; i++) {
            src[i] = (uint8_t)test_random(&seed);
            expected[i] = dst[i] = (uint8_t)test_random(&seed);
        }
        int64_t from = (int64_t)(test_random(&seed) % 160);
        int64_t to = (int64_t)(test_random(&seed) % 160);
        int64_t n = (int64_t)(test_random(&seed) % 160);
        int64_t ones = 0;
        bool value = round % 2;
        for (int64_t i = 0; i < n; i++) {
            ones += bit_get(src, from + i);
            (round % 3 == 0 ? value : bit_get(src, from + i)) ? bit_set(expected, to + i)
                                                              : bit_clear(expected, to + i);
        }
        assert_int_equal(bitmap_count(src, from, n), ones);
        if (round % 3 == 0) {
            bitmap_fill(dst, to, n, value);
        } else {
            bitmap_copy(dst, to, src, from, n);
        }
        assert_memory_equal(dst, expected, sizeof dst);
    }
}

/* ---- widening ---- */

static struct ArrowSchema type(const char *text)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema s;
    assert_ok(type_parse(mem_system(), text, "x", true, &s, &err));
    return s;
}

static void test_widen__every_rule__by_types(void **state)
{
    (void)state;
    static const char *const yes[][2] = {
        { "int8", "int64" }, { "uint8", "int16" }, { "uint32", "uint64" }, { "uint32", "int64" },
        { "int16", "float" }, { "int32", "double" }, { "uint16", "float" }, { "float", "double" },
        { "halffloat", "float" }, { "string", "large_string" }, { "string_view", "string" },
        { "binary", "large_binary" }, { "fixed_size_binary[4]", "binary" }, { "date32", "date64" },
        { "time32[s]", "time64[ns]" }, { "timestamp[s, tz=UTC]", "timestamp[us, tz=UTC]" },
        { "duration[ms]", "duration[ns]" }, { "decimal32(5, 2)", "decimal128(10, 4)" },
        { "list<int32>", "large_list<int64>" }, { "list<float>", "fixed_size_list<float>[3]" },
        { "fixed_size_list<float>[3]", "list<double>" }, { "null", "struct<a: int8>" },
        { "dictionary<values=string, indices=int8>", "string" },
        { "dictionary<values=string, indices=int8>", "dictionary<values=string, indices=int32>" },
        { "run_end_encoded<run_ends: int32 not null, values: int8>", "int16" },
        { "struct<a: int8>", "struct<b: string, a: int16>" },
        { "map<string, int8>", "map<string, int64>" },
        { "list<element: int8>", "list<item: int8 not null>" },
    };
    static const char *const no[][2] = {
        { "int64", "int32" }, { "int64", "double" }, { "int32", "float" }, { "uint64", "int64" },
        { "int8", "uint8" }, { "double", "float" }, { "string", "binary" }, { "bool", "int8" },
        { "timestamp[us]", "timestamp[ms]" }, { "timestamp[us]", "timestamp[us, tz=UTC]" },
        { "decimal128(10, 2)", "decimal128(10, 4)" }, { "list<int64>", "list<int32>" },
        { "struct<a: int8, b: int8>", "struct<a: int8>" },
        { "struct<a: int8>", "struct<a: int8, b: int8 not null>" },
        { "fixed_size_list<float>[3]", "fixed_size_list<float>[4]" }, { "int8", "string" },
    };
    grebe_error err = GREBE_ERROR_INIT;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        struct ArrowSchema from = type(yes[i][0]);
        struct ArrowSchema to = type(yes[i][1]);
        struct ArrowArray nulls;
        struct ArrowArray wide;
        assert_ok(schema_widens(&from, &to, &err));
        assert_ok(array_nulls(mem_system(), &from, 3, &nulls, &err));
        assert_ok(array_widen(mem_system(), &from, &to, &nulls, &wide, &err));
        assert_ok(array_check(&to, &wide, true, &err));
        assert_int_equal(wide.length, 3);
        array_release(&nulls);
        array_release(&wide);
        schema_release(&from);
        schema_release(&to);
    }
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        struct ArrowSchema from = type(no[i][0]);
        struct ArrowSchema to = type(no[i][1]);
        if (schema_widens(&from, &to, &err) != GREBE_ESCHEMA) {
            fail_msg("%s must not widen to %s", no[i][0], no[i][1]);
        }
        schema_release(&from);
        schema_release(&to);
    }
}

/* All columns of the golden batch to other layouts and back: the same values. */
static void test_widen__there_and_back__same_values(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "string", "large_string" }, { "string", "string_view" }, { "large_string", "string" },
        { "string_view", "large_string" }, { "binary", "binary_view" },
        { "large_list", "list<string>" }, { "list", "large_list<int32>" },
        { "list_view", "list<int32>" }, { "large_list_view", "large_list<int32>" },
        { "vec", "list<float>" }, { "vec_str", "large_list<string>" },
    };
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct array_shared *shared = NULL;
    struct ArrowArray slice;
    read_golden("all_types.arrows", &schema, &batch);
    assert_ok(array_share(mem_system(), &batch, &shared, &err));
    assert_ok(array_slice(shared, 2, 20, &slice, &err));
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        int at = -1;
        struct ArrowArray wide;
        struct ArrowArray back;
        struct ArrowSchema to = type(pairs[i][1]);
        assert_ok(schema_find(&schema, pairs[i][0], &at, &err));
        const struct ArrowSchema *from = schema.children[at];
        assert_ok(array_widen(mem_system(), from, &to, slice.children[at], &wide, &err));
        assert_ok(array_check(&to, &wide, true, &err));
        if (strstr(pairs[i][0], "view") == NULL || strstr(pairs[i][0], "list") == NULL) {
            assert_ok(array_widen(mem_system(), &to, from, &wide, &back, &err));
            assert_ok(array_check(from, &back, true, &err));
            assert_true(array_equal(from, slice.children[at], &back));
            array_release(&back);
        }
        array_release(&wide);
        schema_release(&to);
    }
    array_release(&slice);
    array_shared_drop(shared);
    schema_release(&schema);
}

static void test_widen__rows__by_name_with_nulls_and_views(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArray wide;
    struct array_shared *shared = NULL;
    read_golden("all_types.arrows", &schema, &batch);
    struct ArrowSchema to;
    struct ArrowSchema fields[3];
    const struct ArrowSchema *list[3] = { &fields[0], &fields[1], &fields[2] };
    int columns[] = { 0, 0 };
    struct ArrowSchema from;
    assert_ok(schema_find(&schema, "int8", &columns[0], &err));
    assert_ok(schema_find(&schema, "vec", &columns[1], &err));
    assert_ok(schema_project(mem_system(), &schema, columns, 2, &from, &err));
    struct ArrowArray two[2];
    struct ArrowArray rows;
    array_move(&two[0], batch.children[columns[0]]);
    array_move(&two[1], batch.children[columns[1]]);
    int64_t length = batch.length;
    array_release(&batch);
    assert_ok(array_struct(mem_system(), length, two, 2, &rows, &err));
    assert_ok(type_parse(mem_system(), "fixed_size_list<float>[3]", "vec", true, &fields[0], &err));
    assert_ok(type_parse(mem_system(), "string", "new", true, &fields[1], &err));
    assert_ok(type_parse(mem_system(), "int32", "int8", true, &fields[2], &err));
    assert_ok(schema_struct(mem_system(), list, 3, &to, &err));
    const void *values = rows.children[1]->children[0]->buffers[1];
    assert_ok(array_share(mem_system(), &rows, &shared, &err));
    assert_ok(array_widen_shared(mem_system(), &from, &to, shared, &wide, &err));
    array_shared_drop(shared);
    assert_ok(array_check(&to, &wide, true, &err));
    assert_ptr_equal(wide.children[0]->children[0]->buffers[1], values); /* not copied */
    assert_int_equal(array_null_count(wide.children[1]), length);
    assert_int_equal(((const int32_t *)wide.children[2]->buffers[1])[1], -128);
    array_release(&wide);

    /* Nulls do not fit a field that is not nullable; the row is named. */
    to.children[2]->flags = 0;
    schema_release(&fields[0]);
    read_golden("all_types.arrows", &fields[0], &batch);
    array_move(&two[0], batch.children[columns[0]]);
    array_move(&two[1], batch.children[columns[1]]);
    array_release(&batch);
    assert_ok(array_struct(mem_system(), length, two, 2, &rows, &err));
    assert_fails(array_widen(mem_system(), &from, &to, &rows, &wide, &err), GREBE_ESCHEMA,
                 "field \"int8\": row 3 is null");
    array_release(&rows);
    schema_release(&fields[0]);
    schema_release(&fields[1]);
    schema_release(&fields[2]);
    schema_release(&from);
    schema_release(&to);
    schema_release(&schema);
}

static void test_import_rows__foreign_offset__moved_into_children(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArray rows;
    struct ArrowArray expected;
    struct array_shared *shared = NULL;
    read_golden("all_types.arrows", &schema, &batch);
    assert_ok(array_concat(mem_system(), &schema, (const struct ArrowArray *const[]){ &batch }, 1,
                           &rows, &err));
    assert_ok(array_share(mem_system(), &rows, &shared, &err));
    assert_ok(array_slice(shared, 3, 10, &expected, &err));
    batch.offset = 3;
    batch.length = 10;
    assert_ok(array_import_rows(mem_system(), &schema, &batch, &rows, &err));
    assert_null(batch.release);
    assert_int_equal(rows.offset, 0);
    assert_true(array_equal(&schema, &rows, &expected));
    array_release(&rows);
    array_release(&expected);
    array_shared_drop(shared);
    schema_release(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather__golden_rows__as_pyarrow_builds_them),
        cmocka_unit_test(test_compute__three_ways__agree),
        cmocka_unit_test(test_compute__nulls__of_every_type),
        cmocka_unit_test(test_compute__no_memory__nothing_leaks),
        cmocka_unit_test(test_bitmap__random_ranges__as_bit_by_bit),
        cmocka_unit_test(test_widen__every_rule__by_types),
        cmocka_unit_test(test_widen__there_and_back__same_values),
        cmocka_unit_test(test_widen__rows__by_name_with_nulls_and_views),
        cmocka_unit_test(test_import_rows__foreign_offset__moved_into_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
