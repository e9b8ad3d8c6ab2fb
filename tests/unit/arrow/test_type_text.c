/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/ipc.h"

static void round_trip(const char *text, const char *printed)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema s;
    struct ArrowSchema again;
    struct buf b = BUF_INIT(mem_system());
    assert_ok(type_parse(mem_system(), text, "x", true, &s, &err));
    assert_ok(type_print(&b, &s, &err));
    assert_string_equal(buf_text(&b), printed);
    assert_ok(type_parse(mem_system(), buf_text(&b), "x", true, &again, &err));
    assert_true(schema_equal(&s, &again, 0));
    schema_release(&s);
    schema_release(&again);
    buf_release(&b);
}

static void test_type_text__canonical__unchanged(void **state)
{
    (void)state;
    static const char *const types[] = {
        "null", "bool", "int8", "uint64", "halffloat", "float", "double", "string",
        "large_string", "string_view", "binary", "large_binary", "binary_view",
        "fixed_size_binary[16]", "date32", "date64", "time32[s]", "time32[ms]", "time64[us]",
        "time64[ns]", "timestamp[us]", "timestamp[ns, tz=Europe/Paris]",
        "timestamp[ms, tz=\"a b]\"]", "duration[s]", "month_interval", "day_time_interval",
        "month_day_nano_interval", "decimal32(9, 2)", "decimal64(18, 3)", "decimal128(10, -2)",
        "decimal256(76, 10)", "list<float>", "list<element: string>", "list<item: int8 not null>",
        "large_list<list<int32>>", "list_view<int8>", "large_list_view<int8>",
        "fixed_size_list<float>[128]", "fixed_size_list<element: halffloat not null>[3]",
        "struct<>", "struct<a: int32, b: string not null, \"odd \\\"name\\\"\": bool, \"0\": int8>",
        "map<string, int32>", "map<string, list<int8> not null, keys_sorted>",
        "map<key_value: struct<key: string not null, value: int32> not null>",
        "dictionary<values=string, indices=int32, ordered=0>",
        "dictionary<values=list<int8>, indices=uint8, ordered=1>",
        "dense_union<a: int32=0, b: string not null=5>", "sparse_union<a: int32=1>",
        "run_end_encoded<run_ends: int32 not null, values: string>",
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        round_trip(types[i], types[i]);
    }
}

static void test_type_text__synonyms__understood(void **state)
{
    (void)state;
    round_trip("Float32", "float");
    round_trip(" float64 ", "double");
    round_trip("utf8", "string");
    round_trip("INT", "int32");
    round_trip("timestamp", "timestamp[us]");
    round_trip("date32[day]", "date32");
    round_trip("decimal(5,1)", "decimal128(5, 1)");
    round_trip("fixed_size_list<float, 4>", "fixed_size_list<float>[4]");
    round_trip("struct < a : int8 , b:list< string >>", "struct<a: int8, b: list<string>>");
    round_trip("fixed_size_binary(4)", "fixed_size_binary[4]");
}

static void test_type_text__nonsense__column_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fragment;
    } cases[] = {
        { "", "column 1: expected the name of a type, found the end" },
        { "int33", "column 1" },
        { "list<int8", "column 10: expected '>'" },
        { "list<>", "column 6" },
        { "int8 x", "column 6: expected the end" },
        { "struct<a int8>", "column 10: expected ':'" },
        { "decimal128(39, 0)", "column 12" },
        { "time32[ns]", "column 8" },
        { "timestamp[h]", "s, ms, us or ns" },
        { "fixed_size_list<int8>[-1]", "at least 0" },
        { "fixed_size_list<int8>[99999999999]", "2147483647" },
        { "dictionary<values=int8, indices=string>", "an integer type" },
        { "run_end_encoded<a: int8>", "children" },
        { "dense_union<a: int8=200>", "unknown Arrow format" },
        { "struct<\"a", "name" },
    };
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_fails(type_parse(mem_system(), cases[i].text, "x", true, &s, &err), GREBE_EINVAL,
                     cases[i].fragment);
        assert_null(s.release);
    }
    char deep[2000];
    size_t n = 0;
    for (int i = 0; i < 200; i++) {
        memcpy(deep + n, "list<", 5);
        n += 5;
    }
    deep[n] = '\0';
    assert_fails(type_parse(mem_system(), deep, "x", true, &s, &err), GREBE_ELIMIT, "64");
}

static void test_schema_json__all_types__there_and_back(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    char path[512];
    size_t len = 0;
    struct ArrowSchema s;
    struct ArrowSchema back;
    struct buf b = BUF_INIT(mem_system());
    snprintf(path, sizeof path, "%s/golden/arrow/schema_all_types.ipc", TEST_DATA);
    unsigned char *bytes = test_read_file(path, &len);
    assert_ok(ipc_schema_decode(mem_system(), bytes, len, &s, &err));
    assert_ok(schema_to_json(&b, &s, &err));
    assert_ok(schema_from_json(mem_system(), (const char *)b.data, b.len, &back, &err));
    assert_true(schema_equal(&s, &back, 0));
    schema_release(&back);

    struct test_allocator t;
    test_allocator_init(&t);
    for (size_t n = 1;; n++) {
        struct buf text = BUF_INIT(&t.a);
        t.n_calls = 0;
        t.fail_at = n;
        grebe_status st = schema_from_json(&t.a, (const char *)b.data, b.len, &back, &err);
        if (st == GREBE_OK) {
            st = schema_to_json(&text, &back, &err);
        }
        schema_release(&back);
        buf_release(&text);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            break;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
    schema_release(&s);
    buf_release(&b);
    free(bytes);
}

static void test_schema_json__interfaces_example__read(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    const char *json =
        "{\"fields\":[{\"name\":\"id\",\"type\":\"int64\",\"nullable\":false,\"metadata\":{}},"
        "{\"name\":\"v\",\"type\":\"fixed_size_list<float>[128]\"}]}";
    struct ArrowSchema s;
    assert_ok(schema_from_json(mem_system(), json, strlen(json), &s, &err));
    assert_int_equal(s.n_children, 2);
    assert_false(s.children[0]->flags & ARROW_FLAG_NULLABLE);
    assert_true(s.children[1]->flags & ARROW_FLAG_NULLABLE);
    assert_string_equal(s.children[1]->format, "+w:128");
    struct buf b = BUF_INIT(mem_system());
    assert_ok(schema_to_json(&b, &s, &err));
    assert_string_equal(buf_text(&b),
                        "{\"fields\":[{\"name\":\"id\",\"type\":\"int64\",\"nullable\":false,"
                        "\"metadata\":{}},{\"name\":\"v\",\"type\":\"fixed_size_list<float>[128]\","
                        "\"nullable\":true,\"metadata\":{}}]}");
    buf_release(&b);
    schema_release(&s);
    json = "{\"fields\":[{\"name\":\"id\",\"type\":\"int65\"}]}";
    assert_fails(schema_from_json(mem_system(), json, strlen(json), &s, &err), GREBE_EINVAL,
                 "field \"id\"");
    json = "{\"fields\":[{\"name\":\"id\"}]}";
    assert_fails(schema_from_json(mem_system(), json, strlen(json), &s, &err), GREBE_ECORRUPT,
                 "\"type\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_type_text__canonical__unchanged),
        cmocka_unit_test(test_type_text__synonyms__understood),
        cmocka_unit_test(test_type_text__nonsense__column_is_named),
        cmocka_unit_test(test_schema_json__all_types__there_and_back),
        cmocka_unit_test(test_schema_json__interfaces_example__read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
