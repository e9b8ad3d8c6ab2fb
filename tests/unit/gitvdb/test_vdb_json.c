/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "gitvdb/vdb_json.h"

static grebe_status parse(struct arena *ar, const char *text, size_t len, const struct vdb_value **out,
                          grebe_error *err)
{
    /* a block of exactly this size, so that a sanitizer sees reads behind it */
    char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, text, len);
    grebe_status st = vdb_json_parse(ar, copy, len, out, err);
    free(copy);
    return st;
}

/* The canonical form of a text, or "error". */
static const char *canonical(struct arena *ar, struct buf *dst, const char *text, size_t len)
{
    const struct vdb_value *v = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    buf_clear(dst);
    if (parse(ar, text, len, &v, &err) != GREBE_OK) {
        assert_int_equal(err.status, GREBE_EINVAL);
        return "error";
    }
    assert_ok(vdb_json_put(dst, v, &err));
    return buf_text(dst);
}

/* The next field of tab-separated text, ended by a NUL in place of its tab or line feed. */
static char *field(char **p)
{
    char *begin = *p;
    *p += strcspn(*p, "\t\n");
    *(*p)++ = '\0';
    return begin;
}

static char *read_golden(const char *name, size_t *len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/golden/gitvdb/%s", TEST_DATA, name);
    return (char *)test_read_file(path, len);
}

static void check_canonical_text(const char *text, bool is_unstable)
{
    char object[4096];
    int n = snprintf(object, sizeof object, "{\"k\":%s}", text);
    char *exact = malloc((size_t)n);
    memcpy(exact, object, (size_t)n);
    if (!vdb_json_is_canonical_object(exact, (size_t)n)) {
        fail_msg("not canonical: %s", object);
    }
    if (vdb_json_is_unstable(exact, (size_t)n) != is_unstable) {
        fail_msg("%s is %s", object, is_unstable ? "unstable" : "stable");
    }
    for (size_t cut = 0; cut < (size_t)n; cut++) {
        assert_false(vdb_json_is_canonical_object(exact, cut));
    }
    free(exact);
}

static void test_json__golden_numbers__as_the_reference(void **state)
{
    (void)state;
    size_t len = 0;
    size_t n_unstable = 0;
    char *golden = read_golden("numbers.tsv", &len);
    struct buf dst = BUF_INIT(mem_system());
    for (char *p = golden; p < golden + len;) {
        struct arena ar = ARENA_INIT(mem_system());
        char *text = field(&p);
        char *expected = field(&p);
        const char *found = canonical(&ar, &dst, text, strlen(text));
        if (strcmp(found, expected) != 0) {
            fail_msg("%s: expected %s, found %s", text, expected, found);
        }
        if (strcmp(expected, "error") != 0) {
            bool is_unstable = strcmp(canonical(&ar, &dst, expected, strlen(expected)), expected) != 0;
            check_canonical_text(expected, is_unstable);
            n_unstable += is_unstable;
            if (strcmp(text, expected) != 0) { /* any other spelling is refused, but for what rounds right */
                char object[512];
                double right = strtod(text, NULL);
                double rounded = strtod(expected, NULL);
                int n = snprintf(object, sizeof object, "{\"k\":%s}", text);
                if (right == rounded) {
                    assert_false(vdb_json_is_canonical_object(object, (size_t)n));
                }
            }
        }
        arena_release(&ar);
    }
    assert_in_range(n_unstable, 50, 1000); /* the file has both kinds */
    buf_release(&dst);
    free(golden);
}

static void test_json__golden_values__as_the_reference(void **state)
{
    (void)state;
    size_t len = 0;
    char *golden = read_golden("values.tsv", &len);
    struct buf dst = BUF_INIT(mem_system());
    for (char *p = golden; p < golden + len;) {
        struct arena ar = ARENA_INIT(mem_system());
        char *text = field(&p);
        char *expected = field(&p);
        bool is_unstable = *field(&p) == '1';
        const char *found = canonical(&ar, &dst, text, strlen(text));
        if (strcmp(found, expected) != 0) {
            fail_msg("%s: expected %s, found %s", text, expected, found);
        }
        if (strcmp(expected, "error") != 0) {
            check_canonical_text(expected, is_unstable);
        }
        arena_release(&ar);
    }
    buf_release(&dst);
    free(golden);
}

static void test_json__golden_floats32__as_the_reference(void **state)
{
    (void)state;
    size_t len = 0;
    char *golden = read_golden("floats32.tsv", &len);
    struct buf dst = BUF_INIT(mem_system());
    for (char *p = golden; p < golden + len;) {
        uint32_t bits = (uint32_t)strtoul(field(&p), NULL, 16);
        char *expected = field(&p);
        grebe_error err = GREBE_ERROR_INIT;
        float f;
        memcpy(&f, &bits, sizeof f);
        struct vdb_value v = { .type = VDB_FLOAT32, .f = (double)f };
        buf_clear(&dst);
        assert_ok(vdb_json_put(&dst, &v, &err));
        assert_string_equal(buf_text(&dst), expected);
    }
    buf_release(&dst);
    free(golden);
}

static void test_json__strings_and_objects__canonical(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { " { \"z\" : [ null , true , false , \"\\u0001\\u000a\\\"\\\\\\/\x7f\\u20ac\\ud83d\\ude00\" ] } ",
          "{\"z\":[null,true,false,\"\\u0001\\n\\\"\\\\/\x7f\xe2\x82\xac\xf0\x9f\x98\x80\"]}" },
        { "{\"e\":1e-7,\"\xc3\xa9\":0.1,\"E\":-0}", "{\"E\":-0.0,\"e\":1e-7,\"\xc3\xa9\":0.1}" },
        { "{\"neg\":-5,\"n\":1,\"f\":1.0,\"big\":1e16}", "{\"big\":1e+16,\"f\":1.0,\"n\":1,\"neg\":-5}" },
        { "{\"\":{\"b\":1,\"a\":18446744073709551615,\"b\":2}}", "{\"\":{\"a\":18446744073709551615,\"b\":2}}" },
        { "{\"b\":1,\"a\":2,\"b\":3,\"\":4,\"a\":5,\"b\":6}", "{\"\":4,\"a\":5,\"b\":6}" },
        { "{\"\xf0\x9f\x98\x80\":1,\"\xef\xbf\xbd\":2}", "{\"\xef\xbf\xbd\":2,\"\xf0\x9f\x98\x80\":1}" },
        { "{\"a\\u0000b\":1,\"a\":2}", "{\"a\":2,\"a\\u0000b\":1}" },
        { "[]", "[]" },
        { "{}", "{}" },
        { "\"\\b\\f\\n\\r\\t\\u001F\"", "\"\\b\\f\\n\\r\\t\\u001f\"" },
    };
    struct buf dst = BUF_INIT(mem_system());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena ar = ARENA_INIT(mem_system());
        assert_string_equal(canonical(&ar, &dst, cases[i][0], strlen(cases[i][0])), cases[i][1]);
        check_canonical_text(cases[i][1], false);
        arena_release(&ar);
    }
    buf_release(&dst);
}

static void test_json__malformed__place_is_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "line 1 column 1: expected a value, found the end" },
        { "[1,]", "line 1 column 4: expected a value, found ']'" },
        { "[1 2]", "line 1 column 4: expected ',' or ']', found '2'" },
        { "{\"a\":1,}", "column 8: expected '\"' before a key" },
        { "{\"a\" 1}", "column 6: expected ':'" },
        { "\n\n  nul", "line 3 column 3: expected a value" },
        { "01", "column 2: expected no digit after a leading 0" },
        { "-", "column 2: expected a digit" },
        { "1.", "column 3: expected a digit" },
        { "1e+", "column 4: expected a digit" },
        { "1e400", "column 1: expected a number in the range" },
        { "\"abc", "column 5: expected '\"'" },
        { "\"a\nb\"", "column 3" },
        { "\"\\x\"", "column 3: expected an escape" },
        { "\"\\u12g4\"", "four hexadecimal digits" },
        { "\"\\ud800\"", "second half" },
        { "\"\\ud800\\u0041\"", "second half" },
        { "\"\\udc00\"", "first half" },
        { "\"12345678\xff\"", "column 10: expected UTF-8" },
        { "\"\xed\xa0\x80\"", "UTF-8" },
        { "1 2", "column 3: expected the end" },
        { "\xef\xbb\xbf{}", "column 1: expected a value" },
        { "[1,\xc2\xa0"
          "2]",
          "column 4" },
        { "NaN", "a value" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena ar = ARENA_INIT(mem_system());
        const struct vdb_value *v = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        assert_fails(parse(&ar, cases[i][0], strlen(cases[i][0]), &v, &err), GREBE_EINVAL, cases[i][1]);
        assert_null(v);
        arena_release(&ar);
    }
}

static void test_json__depth__127_containers(void **state)
{
    (void)state;
    char text[300];
    for (size_t depth = 127; depth <= 128; depth++) {
        struct arena ar = ARENA_INIT(mem_system());
        const struct vdb_value *v = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        size_t n = 0;
        n += (size_t)snprintf(text, sizeof text, "{\"\":");
        memset(text + n, '[', depth - 1);
        n += depth - 1;
        memset(text + n, ']', depth - 1);
        n += depth - 1;
        text[n++] = '}';
        assert_int_equal(parse(&ar, text, n, &v, &err), depth == 127 ? GREBE_OK : GREBE_EINVAL);
        assert_int_equal(vdb_json_is_canonical_object(text, n), depth == 127);
        arena_release(&ar);
    }
}

static void test_json__not_canonical__is_seen(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "{",
        "}",
        "[]",
        "null",
        "\"a\"",
        "{} ",
        " {}",
        "{ }",
        "{\"a\": 1}",
        "{\"a\":1,}",
        "{\"a\":1 }",
        "{\"b\":1,\"a\":2}",
        "{\"a\":1,\"a\":2}",
        "{\"a\\nb\":1,\"a\\tb\":2}",
        "{\"ab\":1,\"a\":2}",
        "{\"a\":01}",
        "{\"a\":1.50}",
        "{\"a\":1.00}",
        "{\"a\":1e5}",
        "{\"a\":1E-7}",
        "{\"a\":1e16}",
        "{\"a\":1e+016}",
        "{\"a\":-0}",
        "{\"a\":0.000001}",
        "{\"a\":0.00}",
        "{\"a\":1.0e-7}",
        "{\"a\":0.1e1}",
        "{\"a\":18446744073709551616}",
        "{\"a\":\"\\/\"}",
        "{\"a\":\"\\u0041\"}",
        "{\"a\":\"\\u000a\"}",
        "{\"a\":\"\\u001F\"}",
        "{\"a\":\"\\u00e9\"}",
        "{\"a\":\"\\u0008\"}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\\\"}",
        "{\"a\":tru}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1 ,2]}",
        "{\"a\":NaN}",
        "{\"a\":0.1000000000000000055}",
        "{\"a\":1.7976931348623157e308}",
        "{\"\\u00e9\":1}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (vdb_json_is_canonical_object(cases[i], strlen(cases[i]))) {
            fail_msg("canonical: %s", cases[i]);
        }
    }
    assert_true(vdb_json_is_canonical_object("{\"a\\tb\":1,\"a\\nb\":2}", 19));
}

static void test_json__unstable_float__canonical_under_right_rounding(void **state)
{
    (void)state;
    /* what the format makes of 123456789012345680000; read again it is …568e+20 */
    static const char stored[] = "{\"f\":1.2345678901234567e+20}";
    assert_true(vdb_json_is_canonical_object(stored, sizeof stored - 1));
    assert_true(vdb_json_is_unstable(stored, sizeof stored - 1));
    static const char stable[] = "{\"f\":1.7976931348623157e+308,\"g\":[0.1,{\"h\":\"1.2345678901234568e+20\"}]}";
    assert_true(vdb_json_is_canonical_object(stable, sizeof stable - 1));
    assert_false(vdb_json_is_unstable(stable, sizeof stable - 1));
}

/* Text with keys that stand in any order and a payload that is text. */
static void test_json_print__forms__as_the_original(void **state)
{
    (void)state;
    static const char payload[] = "{\"a\":[],\"b\":[1,{\"c\":\"x,{\\\"\"}],\"d\":{}}";
    struct vdb_member point[] = {
        { "id", 2, { .type = VDB_STRING, .s = { "p\n", 2 } } },
        { "vector", 6, { .type = VDB_FLOAT32, .f = (double)0.9938837f } },
        { "payload", 7, { .type = VDB_RAW, .s = { payload, sizeof payload - 1 } } },
    };
    struct vdb_value item = { .type = VDB_OBJECT, .object = { point, 3 } };
    struct vdb_value items[] = { item, item };
    struct vdb_member top[] = {
        { "root", 4, { .type = VDB_NULL } },
        { "points", 6, { .type = VDB_ARRAY, .array = { items, 1 } } },
        { "history", 7, { .type = VDB_ARRAY, .array = { NULL, 0 } } },
    };
    struct vdb_value v = { .type = VDB_OBJECT, .object = { top, 3 } };
    struct buf dst = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(vdb_json_print(&dst, &v, VDB_PRINT_JSON, &err));
    assert_string_equal(buf_text(&dst), "{\"root\":null,\"points\":[{\"id\":\"p\\n\",\"vector\":0.9938837,\"payload\":"
                                        "{\"a\":[],\"b\":[1,{\"c\":\"x,{\\\"\"}],\"d\":{}}}],\"history\":[]}\n");
    buf_clear(&dst);
    assert_ok(vdb_json_print(&dst, &v, VDB_PRINT_PRETTY, &err));
    assert_string_equal(buf_text(&dst), "{\n  \"root\": null,\n  \"points\": [\n    {\n      \"id\": \"p\\n\",\n"
                                        "      \"vector\": 0.9938837,\n      \"payload\": {\n        \"a\": [],\n"
                                        "        \"b\": [\n          1,\n          {\n            \"c\": \"x,{\\\"\"\n"
                                        "          }\n        ],\n        \"d\": {}\n      }\n    }\n  ],\n"
                                        "  \"history\": []\n}\n");
    buf_clear(&dst);
    assert_ok(vdb_json_print(&dst, &v, VDB_PRINT_LINES, &err));
    static const char line[] = "{\"id\":\"p\\n\",\"payload\":{\"a\":[],\"b\":[1,{\"c\":\"x,{\\\"\"}],\"d\":{}},"
                               "\"vector\":0.9938837289810181}\n";
    assert_string_equal(buf_text(&dst), line);
    buf_clear(&dst);
    top[1].value.array.n = 2;
    assert_ok(vdb_json_print(&dst, &v, VDB_PRINT_LINES, &err));
    assert_int_equal(dst.len, 2 * (sizeof line - 1));
    buf_clear(&dst);
    top[1].value.array.n = 0; /* no element, no line */
    assert_ok(vdb_json_print(&dst, &v, VDB_PRINT_LINES, &err));
    assert_int_equal(dst.len, 0);
    top[1].value.type = VDB_NULL;
    top[2].value.type = VDB_BOOL;
    assert_ok(vdb_json_print(&dst, &v, VDB_PRINT_LINES, &err));
    assert_string_equal(buf_text(&dst), "{\"history\":false,\"points\":null,\"root\":null}\n");
    buf_release(&dst);
}

static void test_json_equal__classes_and_zeros(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool is_equal;
    } cases[] = {
        { "0.0", "-0.0", true },
        { "0", "0.0", false },
        { "1", "1", true },
        { "1", "2", false },
        { "-1", "-1", true },
        { "-1", "1", false },
        { "[1]", "[1,2]", false },
        { "{\"a\":1,\"b\":-0}", "{\"b\":0.0,\"a\":1}", true },
        { "{\"a\":1}", "{\"b\":1}", false },
        { "{\"a\":1}", "{}", false },
        { "\"a\"", "\"a\"", true },
        { "\"a\"", "\"ab\"", false },
        { "null", "false", false },
        { "true", "true", true },
        { "[[],{}]", "[[],{}]", true },
        { "\"\"", "\"\"", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena ar = ARENA_INIT(mem_system());
        const struct vdb_value *a = NULL;
        const struct vdb_value *b = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        assert_ok(parse(&ar, cases[i].a, strlen(cases[i].a), &a, &err));
        assert_ok(parse(&ar, cases[i].b, strlen(cases[i].b), &b, &err));
        assert_int_equal(vdb_json_equal(a, b), cases[i].is_equal);
        assert_int_equal(vdb_json_equal(b, a), cases[i].is_equal);
        arena_release(&ar);
    }
}

static void test_json_payload_equal__as_the_trees(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool is_equal;
    } cases[] = {
        { "{}", "{}", true },
        { "{\"a\":0.0}", "{\"a\":-0.0}", true },
        { "{\"a\":[0.0,-0.0],\"b\":{\"c\":-0.0}}", "{\"a\":[-0.0,0.0],\"b\":{\"c\":0.0}}", true },
        { "{\"a\":\"0.0\"}", "{\"a\":\"-0.0\"}", false },
        { "{\"a\":\"\\\",0.0,\"}", "{\"a\":\"\\\",-0.0,\"}", false },
        { "{\"a\":\"\\\\\",\"b\":0.0}", "{\"a\":\"\\\\\",\"b\":-0.0}", true },
        { "{\"a\":0.05}", "{\"a\":-0.05}", false },
        { "{\"a\":0}", "{\"a\":-0.0}", false },
        { "{\"a\":1e-7}", "{\"a\":1e+7}", false },
        { "{\"a\":0.0}", "{\"a\":0.0,\"b\":1}", false },
        { "{\"a\":-5}", "{\"a\":0.0}", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena ar = ARENA_INIT(mem_system());
        const struct vdb_value *a = NULL;
        const struct vdb_value *b = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        const char *x = cases[i].a;
        const char *y = cases[i].b;
        assert_ok(parse(&ar, x, strlen(x), &a, &err));
        assert_ok(parse(&ar, y, strlen(y), &b, &err));
        assert_int_equal(vdb_json_equal(a, b), cases[i].is_equal);
        assert_int_equal(vdb_payload_equal(x, strlen(x), y, strlen(y)), cases[i].is_equal);
        assert_int_equal(vdb_payload_equal(y, strlen(y), x, strlen(x)), cases[i].is_equal);
        for (size_t cut = 0; cut < strlen(x); cut++) {
            assert_false(vdb_payload_equal(x, cut, y, strlen(y)));
        }
        arena_release(&ar);
    }
    /* stored floats that the format's rule would read as their neighbours are compared as they stand */
    assert_false(vdb_payload_equal("{\"f\":0.9995533555576893}", 24, "{\"f\":0.9995533555576892}", 24));
}

static void test_json__many_keys_backwards__sorted(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct buf text = BUF_INIT(mem_system());
    struct arena ar = ARENA_INIT(mem_system());
    const struct vdb_value *v = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(buf_put_byte(&text, '{', &err));
    for (int i = 0; i < N; i++) { /* each key twice */
        assert_ok(buf_printf(&text, &err, "%s\"%05d\":%d", i > 0 ? "," : "", (N - 1 - i) / 2, i));
    }
    assert_ok(buf_put_byte(&text, '}', &err));
    assert_ok(parse(&ar, (const char *)text.data, text.len, &v, &err));
    assert_int_equal(v->object.n, N / 2);
    for (size_t i = 0; i < N / 2; i++) {
        assert_int_equal(v->object.members[i].value.u, N - 1 - 2 * i); /* the last of the two */
    }
    assert_int_equal(vdb_json_get(v, "00007", 5)->u, N - 15);
    assert_null(vdb_json_get(v, "7", 1));
    arena_release(&ar);
    buf_release(&text);
}

static void test_json__no_memory__clean_failure(void **state)
{
    (void)state;
    static const char text[] =
        "{\"b\":[1,2.5,\"\\n long text with an escape\",{\"x\":null}],\"a\":{\"c\":true},\"a\":[[[]]]}";
    bool is_done = false;
    for (size_t fail_at = 1; !is_done; fail_at++) {
        struct test_allocator t;
        test_allocator_init(&t);
        t.fail_at = fail_at;
        struct arena ar = ARENA_INIT(&t.a);
        struct buf dst = BUF_INIT(&t.a);
        const struct vdb_value *v = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        grebe_status st = vdb_json_parse(&ar, text, sizeof text - 1, &v, &err);
        if (st == GREBE_OK) {
            st = vdb_json_print(&dst, v, VDB_PRINT_PRETTY, &err);
        } else {
            assert_null(v);
        }
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        is_done = st == GREBE_OK;
        buf_release(&dst);
        arena_release(&ar);
        assert_int_equal(t.n_live, 0);
        assert_in_range(fail_at, 1, 100);
    }
}

/* Nearly any float, stored under correct rounding, is written so that the format's reader gives it back. */
static void test_readable__any_float__read_back(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    int n_changed = 0, n_missed = 0;
    for (int i = 0; i < 20000; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct arena ar = ARENA_INIT(mem_system());
        struct buf stored = BUF_INIT(mem_system()), out = BUF_INIT(mem_system());
        const struct vdb_value *back;
        uint64_t bits = test_random(&seed);
        double v;
        memcpy(&v, &bits, sizeof v);
        if (bits >> 52 == 0x7ff || bits >> 52 == 0xfff || (bits >> 52 & 0x7ff) < 60) {
            continue; /* no number, or one of the smallest, which are rounded three times */
        }
        struct vdb_value f = { .type = VDB_FLOAT, .f = v };
        assert_ok(buf_put_text(&stored, "{\"\\\"1e23\":[\"1e23\\\\\",", &err));
        assert_ok(vdb_json_put(&stored, &f, &err));
        assert_ok(buf_put_text(&stored, ",7]}", &err));
        assert_ok(vdb_json_put_readable(&out, (const char *)stored.data, stored.len, &err));
        assert_ok(vdb_json_parse(&ar, (const char *)out.data, out.len, &back, &err));
        const struct vdb_value *list = vdb_json_get(back, "\"1e23", 5);
        assert_non_null(list);
        assert_int_equal(list->array.n, 3);
        assert_int_equal(list->array.items[1].type, VDB_FLOAT);
        n_missed += memcmp(&list->array.items[1].f, &v, sizeof v) != 0;
        n_changed += out.len != stored.len || memcmp(out.data, stored.data, out.len) != 0;
        arena_release(&ar);
        buf_release(&stored);
        buf_release(&out);
    }
    assert_in_range(n_changed, 1000, 10000);
    assert_in_range(n_missed, 0, n_changed / 100); /* some have no spelling */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readable__any_float__read_back),
        cmocka_unit_test(test_json__golden_numbers__as_the_reference),
        cmocka_unit_test(test_json__golden_values__as_the_reference),
        cmocka_unit_test(test_json__golden_floats32__as_the_reference),
        cmocka_unit_test(test_json__strings_and_objects__canonical),
        cmocka_unit_test(test_json__malformed__place_is_named),
        cmocka_unit_test(test_json__depth__127_containers),
        cmocka_unit_test(test_json__not_canonical__is_seen),
        cmocka_unit_test(test_json__unstable_float__canonical_under_right_rounding),
        cmocka_unit_test(test_json_print__forms__as_the_original),
        cmocka_unit_test(test_json_equal__classes_and_zeros),
        cmocka_unit_test(test_json_payload_equal__as_the_trees),
        cmocka_unit_test(test_json__many_keys_backwards__sorted),
        cmocka_unit_test(test_json__no_memory__clean_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
