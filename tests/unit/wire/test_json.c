/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire/json.h"

static grebe_status parse(struct arena *ar, const char *text, const struct json_value **out,
                          grebe_error *err)
{
    return json_parse(ar, text, strlen(text), out, err);
}

static void test_json__all_kinds__read_exactly(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *v = NULL;
    assert_ok(parse(&ar,
                    "\xef\xbb\xbf { \"a\" : [1, -2.5e3, true,\n false, null, \"\\u00e9\\ud83d\\ude00"
                    "\\n\\/\\u0000x\"], \"big\": 18446744073709551615, \"min\":-9223372036854775808,"
                    "\"a2\": {}, \"dup\": 1, \"dup\": 2, \"e\": [] } ",
                    &v, &err));
    assert_int_equal(v->type, JSON_OBJECT);
    assert_int_equal(v->n, 7);
    const struct json_value *a = json_get(v, "a");
    assert_int_equal(a->n, 6);
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    assert_true(json_i64(&a->items[0], &i) && i == 1);
    assert_true(json_i64(&a->items[1], &i) && i == -2500);
    assert_true(json_double(&a->items[1], &d) && d == -2500.0);
    assert_true(a->items[2].boolean && !a->items[3].boolean);
    assert_int_equal(a->items[3].line, 2);
    assert_int_equal(a->items[3].column, 2);
    assert_int_equal(a->items[4].type, JSON_NULL);
    assert_int_equal(a->items[5].n, 2 + 4 + 1 + 1 + 1 + 1);
    assert_memory_equal(a->items[5].text, "\xc3\xa9\xf0\x9f\x98\x80\n/\0x", 10);
    assert_true(json_u64(json_get(v, "big"), &u) && u == UINT64_MAX);
    assert_false(json_i64(json_get(v, "big"), &i));
    assert_true(json_i64(json_get(v, "min"), &i) && i == INT64_MIN);
    assert_false(json_u64(json_get(v, "min"), &u));
    assert_true(json_i64(json_get(v, "dup"), &i) && i == 2);
    assert_null(json_get(v, "none"));
    const struct json_value *got = NULL;
    assert_fails(json_expect(v, "none", JSON_ARRAY, &got, &err), GREBE_ECORRUPT, "\"none\"");
    assert_fails(json_expect(v, "a", JSON_OBJECT, &got, &err), GREBE_ECORRUPT,
                 "expected object, found array");
    arena_release(&ar);
}

static void test_json__malformed__place_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fragment;
    } cases[] = {
        { "", "1:1: expected a value" },
        { "[1,]", "1:4: expected a value" },
        { "[1 2]", "1:4: expected ',' or ']'" },
        { "{\"a\":1,}", "1:8" },
        { "{a:1}", "1:2" },
        { "{\"a\" 1}", "1:6: expected ':'" },
        { "\n\n  nul", "3:3" },
        { "01", "1:2" },
        { "-", "1:2: expected a digit" },
        { "1.", "1:3" },
        { "1e", "1:3" },
        { "+1", "1:1" },
        { "\"abc", "1:5" },
        { "\"a\nb\"", "1:3" },
        { "\"\\x\"", "1:3" },
        { "\"\\u12g4\"", "1:4" },
        { "\"\\ud800\"", "second half" },
        { "\"\\udc00\"", "first half" },
        { "\"\xff\"", "UTF-8" },
        { "\"\xc0\x80\"", "UTF-8" },
        { "\"\xc3\xa9\" x", "1:5: expected the end" },
        { "NaN", "1:1" },
        { "'a'", "1:1" },
        { "[1]//", "1:4" },
    };
    struct arena ar = ARENA_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct json_value *v = NULL;
        assert_fails(parse(&ar, cases[i].text, &v, &err), GREBE_ECORRUPT, cases[i].fragment);
        assert_null(v);
    }
    char deep[400];
    memset(deep, '[', sizeof deep);
    const struct json_value *v = NULL;
    assert_fails(json_parse(&ar, deep, sizeof deep, &v, &err), GREBE_ELIMIT, "64");
    memset(deep + 64, ']', 64);
    assert_ok(json_parse(&ar, deep, 128, &v, &err));
    arena_release(&ar);
}

static void test_json__written__reads_back(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    struct json_writer w;
    json_begin(&w, &b, 0, &err);
    json_open_object(&w);
    json_key(&w, "a\"b");
    json_open_array(&w);
    json_int(&w, INT64_MIN);
    json_uint(&w, UINT64_MAX);
    json_real(&w, 0.1);
    json_real32(&w, 0.1f);
    json_real(&w, 1.0 / 0.0);
    json_bool(&w, true);
    json_null(&w);
    json_text_len(&w, "x\0\x1f\xff\xc3\xa9\n", 7);
    json_close_array(&w);
    json_key(&w, "o");
    json_open_object(&w);
    json_close_object(&w);
    json_close_object(&w);
    assert_ok(json_end(&w));
    assert_string_equal(buf_text(&b),
                        "{\"a\\\"b\":[-9223372036854775808,18446744073709551615,0.1,0.1,null,true,"
                        "null,\"x\\u0000\\u001f\xef\xbf\xbd\xc3\xa9\\n\"],\"o\":{}}");
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *v = NULL;
    assert_ok(json_parse(&ar, (const char *)b.data, b.len, &v, &err));
    arena_release(&ar);
    buf_clear(&b);
    json_begin(&w, &b, 2, &err);
    json_open_object(&w);
    json_key(&w, "k");
    json_open_array(&w);
    json_int(&w, 1);
    json_int(&w, 2);
    json_close_array(&w);
    json_close_object(&w);
    assert_ok(json_end(&w));
    assert_string_equal(buf_text(&b), "{\n  \"k\": [\n    1,\n    2\n  ]\n}");
    buf_release(&b);
}

static void test_json__cut_and_no_memory__clean(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    const char *text = "{\"a\":[1,2,{\"b\":\"\\u0041long string of some length\"}],\"c\":-1.5e-10}";
    for (size_t n = 0; n < strlen(text); n++) {
        struct arena ar = ARENA_INIT(mem_system());
        const struct json_value *v = NULL;
        char *copy = malloc(n + 1);
        memcpy(copy, text, n);
        assert_int_equal(json_parse(&ar, copy, n, &v, &err), GREBE_ECORRUPT);
        free(copy);
        arena_release(&ar);
    }
    struct test_allocator t;
    test_allocator_init(&t);
    for (size_t n = 1;; n++) {
        struct arena ar = ARENA_INIT(&t.a);
        const struct json_value *v = NULL;
        t.n_calls = 0;
        t.fail_at = n;
        grebe_status st = parse(&ar, text, &v, &err);
        arena_release(&ar);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            break;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json__all_kinds__read_exactly),
        cmocka_unit_test(test_json__malformed__place_is_named),
        cmocka_unit_test(test_json__written__reads_back),
        cmocka_unit_test(test_json__cut_and_no_memory__clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
