/* SPDX-License-Identifier: Apache-2.0 */
#include "text_case.h"

#include "text/text_json.h"

static grebe_status open_json(grebe_context *ctx, const struct text_input *in, const void *options,
                              struct ArrowArrayStream *out, grebe_error *err)
{
    return text_json_open(ctx, in, options, out, err);
}

static void gives_as(bool is_lines, const char *text, const char *expected)
{
    struct text_json_options o = { .is_lines = is_lines, .sizes = { .block_bytes = 0, .sample_bytes = 0 } }, small = { .is_lines = is_lines, .sizes = { .block_bytes = 24, .sample_bytes = 0 } },
                             tiny = { .is_lines = is_lines, .sizes = { .block_bytes = 1, .sample_bytes = 0 } };
    const void *options[] = { &o, &small, &tiny };
    case_gives(open_json, options, 3, text, strlen(text), expected);
}

static void gives(const char *text, const char *expected) { gives_as(true, text, expected); }

static void fails_as(bool is_lines, const char *text, grebe_status st, const char *fragment)
{
    struct text_json_options o = { .is_lines = is_lines, .sizes = { .block_bytes = 0, .sample_bytes = 0 } };
    case_fails(open_json, &o, text, strlen(text), st, fragment);
}

static void fails(const char *text, const char *fragment)
{
    fails_as(true, text, GREBE_ECORRUPT, fragment);
}

static void test_json__lines__rows(void **state)
{
    (void)state;
    const char *rows = "a:int64,b:string\n{\"a\":1,\"b\":\"x\"}\n{\"a\":null,\"b\":\"y\"}\n{\"a\":3,\"b\":null}\n";
    gives("{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\"}\n{\"b\":null,\"a\":3}\n", rows);
    gives("{\"a\":1,\"b\":\"x\"}\n\n{\"b\":\"y\"}\r\n  \n{ \"a\" : 3 }", rows);
    gives("\xef\xbb\xbf{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\"}\n{\"a\":3,\"a\":null,\"a\":3}\n", rows);
    gives("[{\"a\":1,\"b\":\"x\"},{\"b\":\"y\"},{\"a\":3}]", rows);
    gives_as(false, " [ {\"a\":1,\"b\":\"x\"}\n ,\n {\"b\":\"y\"}, {\"a\":3}\n ] \n", rows);
    gives_as(false, "{\"a\":1,\n\"b\":\"x\"}\n{\"b\":\"y\"} {\"a\":\n3\n}\n", rows);
    gives_as(false, "{\"a\":1,\"b\":\"x\"}{\"b\":\"y\"}{\"a\":3}", rows);
    gives_as(false, "{\"s\":\"a\\\"]},{\\\\\"}\n{\"s\":\"[\"}",
             "s:string\n{\"s\":\"a\\\"]},{\\\\\"}\n{\"s\":\"[\"}\n");
}

static void test_json__types__widen_without_loss(void **state)
{
    (void)state;
    gives("{\"v\":true}\n{\"v\":null}\n", "v:bool\n{\"v\":true}\n{\"v\":null}\n");
    gives("{\"v\":1}\n{\"v\":2.5}\n", "v:double\n{\"v\":1.0}\n{\"v\":2.5}\n");
    gives("{\"v\":18446744073709551615}\n{\"v\":1}\n", "v:uint64\n{\"v\":18446744073709551615}\n{\"v\":1}\n");
    gives("{\"v\":18446744073709551616}\n{\"v\":1}\n", "v:string\n{\"v\":\"18446744073709551616\"}\n{\"v\":\"1\"}\n");
    gives("{\"v\":9007199254740993}\n{\"v\":1.5}\n", "v:string\n{\"v\":\"9007199254740993\"}\n{\"v\":\"1.5\"}\n");
    gives("{\"v\":1}\n{\"v\":\"x\"}\n", "v:string\n{\"v\":\"1\"}\n{\"v\":\"\\\"x\\\"\"}\n");
    gives("{\"v\":1}\n{\"v\":{\"a\":[1,\"\\u00e4\"]}}\n",
          "v:string\n{\"v\":\"1\"}\n{\"v\":\"{\\\"a\\\":[1,\\\"\xc3\xa4\\\"]}\"}\n");
    gives("{\"v\":\"007\"}\n{\"v\":\"2024-01-01\"}\n", "v:string\n{\"v\":\"007\"}\n{\"v\":\"2024-01-01\"}\n");
    gives("{\"v\":null}\n{}\n", "v:null\n{\"v\":null}\n{\"v\":null}\n");
    gives("{\"v\":{}}\n", "v:string\n{\"v\":\"{}\"}\n");
    /* As JSON output has them. */
    gives("{\"v\":1.5}\n{\"v\":\"NaN\"}\n{\"v\":\"-Infinity\"}\n",
          "v:double\n{\"v\":1.5}\n{\"v\":\"NaN\"}\n{\"v\":\"-Infinity\"}\n");
    gives("{\"v\":\"NaN\"}\n", "v:string\n{\"v\":\"NaN\"}\n");
}

static void test_json__nested__structs_and_lists(void **state)
{
    (void)state;
    gives("{\"s\":{\"x\":1,\"y\":[1,2]}}\n{\"s\":null}\n{\"s\":{\"z\":true,\"y\":[]}}\n{}\n",
          "s:struct<x: int64, y: list<int64>, z: bool>\n"
          "{\"s\":{\"x\":1,\"y\":[1,2],\"z\":null}}\n{\"s\":null}\n"
          "{\"s\":{\"x\":null,\"y\":[],\"z\":true}}\n{\"s\":null}\n");
    gives("{\"l\":[[1],[2.5,null],null]}\n{\"l\":[]}\n",
          "l:list<list<double>>\n{\"l\":[[1.0],[2.5,null],null]}\n{\"l\":[]}\n");
    gives("{\"l\":[{\"a\":1},{\"b\":\"x\"}]}\n",
          "l:list<struct<a: int64, b: string>>\n{\"l\":[{\"a\":1,\"b\":null},{\"a\":null,\"b\":\"x\"}]}\n");
    gives("{\"l\":[]}\n", "l:list<null>\n{\"l\":[]}\n");
}

static void test_json__deep__text_below_the_limit(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(mem_system()), got = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = case_context(NULL, 1);
    assert_ok(buf_put_text(&text, "{\"v\":", &err));
    for (int i = 0; i < 62; i++) {
        assert_ok(buf_put_byte(&text, '[', &err));
    }
    for (int i = 0; i < 62; i++) {
        assert_ok(buf_put_byte(&text, ']', &err));
    }
    assert_ok(buf_put_byte(&text, '}', &err));
    struct text_case c = { (char *)text.data, text.len, 0, 0, 0 };
    assert_ok(case_run(ctx, &c, open_json, NULL, &got, &err));
    context_free(ctx);
    buf_clear(&text);
    assert_ok(buf_put_text(&text, "{\"v\":", &err));
    for (int i = 0; i < 100000; i++) {
        assert_ok(buf_put_byte(&text, '[', &err));
    }
    case_fails(open_json, NULL, (char *)text.data, text.len, GREBE_ELIMIT, "nested deeper than 64");
    buf_release(&text);
    buf_release(&got);
}

static void test_json__no_records__no_columns(void **state)
{
    (void)state;
    static const char *const texts[] = { "", " \n\n", "[]", "\xef\xbb\xbf [ \n] \n" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        gives(texts[i], "\n");
    }
    fails("[", "x:1:2: expected ']', found the end");
    fails("[,]", "x:1:2: expected an object, found ','");
    case_memory(open_json, NULL, "[]", 2);
}

static void test_json__damage__named_with_its_place(void **state)
{
    (void)state;
    fails("{}\n", "found no field");
    fails("{\"a\":1}\n{\"a\":}\n", "x:2:6: expected a value, found '}'");
    fails("{\"a\":1}\n\n {\"a\":1}}\n", "x:3:9: expected the end, found '}'");
    fails("{\"a\":1}\n7\n", "x:2:1: expected an object, found '7'");
    fails("{\"a\":1}\n{\"a\":\"\xff\"}\n", "x:2:7: ");
    fails("{\"a\":01}\n", "x:1:7: expected no digit after a leading 0");
    fails("{\"a\":1}\n{\"a\":1\n", "x:2:7: expected ',' or '}', found the end");
    fails("{\"a\\u0000b\":1}\n", "x:1:1: expected the name of a field, found a NUL in it");
    fails("[{\"a\":1}\n{\"a\":2}]", "x:2:1: expected ',' or ']', found '{'");
    fails("[{\"a\":1},\n", "x:2:1: expected ']', found the end");
    fails("[{\"a\":1}\n", "x:2:1: expected ',' or ']', found the end");
    fails("[{\"a\":1},]", "x:1:10: expected an object, found ']'");
    fails("[{\"a\":1}] {\"a\":1}", "x:1:11: expected the end, found '{'");
    fails("[{\"a\":\"\xc3\xa4\"},{\"a\":1}, {\"a\":}]", "x:1:26: expected a value, found '}'");
    fails("[1,2]", "x:1:2: expected an object, found '1'");
    fails_as(false, "{\"a\":1},{\"a\":1}", GREBE_ECORRUPT, "x:1:8: expected an object, found ','");
    fails_as(false, "{\"a\":1}\n{\"a\":\n\n[}", GREBE_ECORRUPT, "x:4:2: expected a value, found '}'");
}

static void test_json__behind_the_sample__refused_with_place(void **state)
{
    (void)state;
    static const struct {
        const char *line, *fragment;
    } cases[] = {
        { "{\"a\":\"x\"}\n", "x:30001:6: expected int64, as the first rows are, found x" },
        { "{\"a\":1.5}\n", "x:30001:6: expected int64, as the first rows are, found 1.5" },
        { "{\"b\":1}\n", "x:30001:6: expected the fields of the first rows, found \"b\"" },
        { "{\"n\":1}\n", "x:30001:6: expected null" },
        { "{\"s\":[]}\n", "x:30001:6: expected an object, as the first rows are, found array" },
        { "{\"l\":{}}\n", "x:30001:6: expected an array" },
        { "{\"t\":1}\n", "x:30001:6: expected a string" },
    };
    const struct text_json_options o = { .is_lines = true, .sizes = { .block_bytes = 0, .sample_bytes = 4096 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_context *ctx = case_context(NULL, 2);
        struct buf text = BUF_INIT(mem_system()), got = BUF_INIT(mem_system());
        for (int k = 0; k < 30000; k++) {
            assert_ok(buf_put_text(&text, "{\"a\":1,\"n\":null,\"s\":{\"x\":1},\"l\":[],\"t\":\"\"}\n",
                                   &err));
        }
        assert_ok(buf_put_text(&text, cases[i].line, &err));
        struct text_case c = { (char *)text.data, text.len, 0, 4096, 0 };
        assert_fails(case_run(ctx, &c, open_json, &o, &got, &err), GREBE_ECORRUPT,
                     cases[i].fragment);
        buf_release(&text);
        buf_release(&got);
        context_free(ctx);
    }
}

static void test_json__too_many_fields__limit(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    for (int i = 0; i <= 16384; i++) {
        assert_ok(buf_printf(&text, &err, "%s\"%d\":1", i == 0 ? "{" : ",", i));
    }
    assert_ok(buf_put_byte(&text, '}', &err));
    case_fails(open_json, NULL, (char *)text.data, text.len, GREBE_ELIMIT, "x:1:1: expected at most 16384");
    buf_release(&text);
}

/* Refused as lines and as values, before the memory is taken. */
static void refused_as_sparse(const struct buf *text)
{
    for (int is_lines = 0; is_lines < 2; is_lines++) {
        struct test_allocator t;
        grebe_error err = GREBE_ERROR_INIT;
        test_allocator_init(&t);
        grebe_context *ctx = case_context(&t.a, 1);
        struct buf got = BUF_INIT(ctx->a);
        struct text_case c = { (char *)text->data, text->len, 0, 0, 0 };
        struct text_json_options o = { .is_lines = is_lines != 0 };
        assert_fails(case_run(ctx, &c, open_json, &o, &got, &err), GREBE_ELIMIT,
                     "expected rows that have most of the");
        assert_true(t.peak_bytes < (size_t)600 << 20);
        buf_release(&got);
        context_free(ctx);
        assert_int_equal(t.n_live, 0);
    }
}

static void test_json__sparse_objects__refused_before_they_take_memory(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    for (int i = 0; i < 200000; i++) {
        assert_ok(buf_put_text(&text, "{}\n", &err));
    }
    for (int i = 0; i < 8000; i++) {
        assert_ok(buf_printf(&text, &err, "%s\"k%d\":1", i == 0 ? "{" : ",", i));
    }
    assert_ok(buf_put_text(&text, "}\n", &err));
    refused_as_sparse(&text);
    buf_clear(&text);
    for (int i = 0; i < 16000; i++) {
        assert_ok(buf_printf(&text, &err, "{\"k%d\":1}\n", i));
    }
    refused_as_sparse(&text);
    buf_release(&text);
}

static const char TRICKY[] = "{\"a\":1,\"s\":{\"x\":[1,null,2.5],\"y\":\"\\ud83d\\ude00\"}}\n\n"
                             "{\"s\":{\"x\":[],\"z\":{\"q\":[{\"w\":true}]}},\"a\":\"NaN\"}\r\n{\"b\":[1,\"a\"]}\n";
static const char ARRAY[] = "[{\"a\":1,\"l\":[\"]\",\"\\\"\"]},\n{\"a\":-2.5,\"l\":[]} , {}]\n";

static void test_json__every_truncation__read_or_refused(void **state)
{
    (void)state;
    for (int is_lines = 0; is_lines < 2; is_lines++) {
        struct text_json_options o = { .is_lines = is_lines != 0, .sizes = { .block_bytes = 0, .sample_bytes = 0 } }, small = { .is_lines = is_lines != 0, .sizes = { .block_bytes = 8, .sample_bytes = 0 } };
        case_truncations(open_json, &o, TRICKY, sizeof TRICKY - 1);
        case_truncations(open_json, &small, TRICKY, sizeof TRICKY - 1);
        case_truncations(open_json, &o, ARRAY, sizeof ARRAY - 1);
        case_truncations(open_json, &small, ARRAY, sizeof ARRAY - 1);
    }
}

static void test_json__no_memory__nothing_leaks(void **state)
{
    (void)state;
    case_memory(open_json, NULL, TRICKY, sizeof TRICKY - 1);
    case_memory(open_json, NULL, ARRAY, sizeof ARRAY - 1);
}

/* Calls for memory that reading the text takes. */
static size_t calls_for(const struct text_json_options *o, const char *text, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct test_allocator memory;
    struct buf got = BUF_INIT(mem_system());
    struct text_case c = { text, len, 0, 0, 0 };
    test_allocator_init(&memory);
    grebe_context *ctx = case_context(&memory.a, 1);
    assert_ok(case_run(ctx, &c, open_json, o, &got, &err));
    buf_release(&got);
    context_free(ctx);
    return memory.n_calls;
}

/* Ordinary rows are read straight from the text; whether a tree was made instead shows in what it asks for. */
static void test_json__plain_rows__no_tree(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct text_json_options plain = { .is_lines = true }, by_tree = { .is_lines = true, .is_by_tree = true };
    struct buf text = BUF_INIT(mem_system());
    for (int i = 0; i < 20000; i++) {
        assert_ok(buf_printf(&text, &err, "{\"id\":%d,\"price\":%d.5,\"word\":\"na\xc3\xafve\",\"tags\":[%d,2],\"ok\":true}\n", i,
                             i % 97, i % 5));
    }
    size_t n_plain = calls_for(&plain, (const char *)text.data, text.len);
    size_t n_tree = calls_for(&by_tree, (const char *)text.data, text.len);
    print_message("%zu calls for memory, by a tree %zu\n", n_plain, n_tree);
    assert_true(n_plain * 4 < n_tree);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json__plain_rows__no_tree),
        cmocka_unit_test(test_json__lines__rows),
        cmocka_unit_test(test_json__types__widen_without_loss),
        cmocka_unit_test(test_json__nested__structs_and_lists),
        cmocka_unit_test(test_json__deep__text_below_the_limit),
        cmocka_unit_test(test_json__no_records__no_columns),
        cmocka_unit_test(test_json__damage__named_with_its_place),
        cmocka_unit_test(test_json__behind_the_sample__refused_with_place),
        cmocka_unit_test(test_json__too_many_fields__limit),
        cmocka_unit_test(test_json__sparse_objects__refused_before_they_take_memory),
        cmocka_unit_test(test_json__every_truncation__read_or_refused),
        cmocka_unit_test(test_json__no_memory__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
