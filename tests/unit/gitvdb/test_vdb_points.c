/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gitvdb/vdb_points.h"

/* A line in a block of exactly its size, so that a sanitizer sees reads behind it. */
static grebe_status add_line(struct vdb_points *p, const char *line, grebe_error *err)
{
    size_t len = strlen(line);
    char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, line, len);
    grebe_status st = vdb_points_add_line(p, copy, len, err);
    free(copy);
    return st;
}

static void check_payload(const struct vdb_points *p, size_t i, const char *expected)
{
    size_t len = 0;
    const char *payload = vdb_points_payload(p, i, &len);
    if (len != strlen(expected) || memcmp(payload, expected, len) != 0) {
        fail_msg("point %zu: expected %s, found %.*s", i, expected, (int)len, payload);
    }
}

static void test_points__lines__ids_vectors_payloads(void **state)
{
    (void)state;
    struct vdb_points p;
    grebe_error err = GREBE_ERROR_INIT;
    vdb_points_init(&p, mem_system());
    assert_ok(add_line(&p, "{\"id\":\"a\",\"vector\":[1,-0.5,2e-1],\"payload\":{\"word\":\"x\"}}", &err));
    assert_ok(
        add_line(&p,
                 " { \"payload\" : { \"b\" : 1E2 , \"a\" : \"\\u00e9\" } , \"x\":[{}], \"vector\" : [ 0.25 , 0 ,-0 ]"
                 " , \"id\" : 18446744073709551615 } ",
                 &err));
    assert_ok(add_line(&p, "[\"\\u0062\",[12345.678,0.1234567890123456789,-7]]", &err));
    assert_ok(add_line(&p, "[7,[1,2,3],{\"z\":1,\"z\":2}]", &err));
    assert_ok(
        add_line(&p, "{\"\\u0069d\":\"\",\"vector\":[16777217,-16777219,18446744073709551615],\"payload\":{}}", &err));
    assert_ok(add_line(&p, "{\"id\":1,\"vector\":[1e38,1e39,-1e39]}", &err)); /* found by vdb_points_check() */
    assert_int_equal(p.n, 6);
    assert_int_equal(p.dim, 3);
    static const float expected[] = { 1,     -0.5f,      0.2f,        0.25f,     0,
                                      -0.0f, 12345.678f, 0.12345679f, -7,        1,
                                      2,     3,          16777216,    -16777220, 18446744073709551616.0f };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_memory_equal(&p.vectors[i], &expected[i], sizeof(float));
    }
    assert_true(isinf(p.vectors[16]) && isinf(p.vectors[17]));
    struct vdb_id id = vdb_points_id(&p, 0);
    assert_true(!id.is_number && id.len == 1 && id.text[0] == 'a');
    id = vdb_points_id(&p, 1);
    assert_true(id.is_number && id.number == UINT64_MAX);
    id = vdb_points_id(&p, 2);
    assert_true(!id.is_number && id.len == 1 && id.text[0] == 'b');
    id = vdb_points_id(&p, 4);
    assert_true(!id.is_number && id.len == 0);
    check_payload(&p, 0, "{\"word\":\"x\"}");
    check_payload(&p, 1, "{\"a\":\"\xc3\xa9\",\"b\":100.0}");
    check_payload(&p, 2, "{}");
    check_payload(&p, 3, "{\"z\":2}");
    check_payload(&p, 5, "{}");
    assert_fails(vdb_points_check(&p, &err), GREBE_EINVAL, "id 1: component 1: expected a finite");
    vdb_points_clear(&p);
    assert_int_equal(p.dim, 3);
    assert_ok(vdb_points_check(&p, &err));
    vdb_points_release(&p);
}

static void test_points__floats_in_payloads__read_by_the_formats_rule(void **state)
{
    (void)state;
    struct vdb_points p;
    grebe_error err = GREBE_ERROR_INIT;
    vdb_points_init(&p, mem_system());
    /* canonical under right rounding only: must not be copied as it is */
    assert_ok(add_line(&p, "{\"id\":1,\"vector\":[1],\"payload\":{\"f\":1.2345678901234567e+20}}", &err));
    check_payload(&p, 0, "{\"f\":1.2345678901234568e+20}");
    assert_ok(add_line(&p, "{\"id\":1,\"vector\":[1],\"payload\":{\"f\":0.99955335555768920}}", &err));
    check_payload(&p, 1, "{\"f\":0.9995533555576893}");
    vdb_points_release(&p);
}

static void test_points__many_numbers__as_the_general_reader(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct vdb_points p;
    grebe_error err = GREBE_ERROR_INIT;
    vdb_points_init(&p, mem_system());
    for (int round = 0; round < 3000; round++) {
        char line[512] = "{\"id\":1,\"vector\":[";
        char list[256] = "[";
        for (int i = 0; i < 5; i++) {
            char number[64];
            double v = ((double)test_random(&seed) / 9.2e18 - 1) * pow(10, (double)(test_random(&seed) % 24) - 12);
            const char *form = i == 0 ? "%.*g" : i == 1 ? "%.*f" : "%.*f";
            if (i > 1) {
                v = fmod(v, 100);
            }
            snprintf(number, sizeof number, form, (int)(test_random(&seed) % 20) + (i > 0), v);
            strcat(list, i > 0 ? "," : "");
            strcat(list, number);
        }
        strcat(list, "]");
        strcat(line, list + 1);
        strcat(line, "}");
        vdb_points_clear(&p);
        assert_ok(add_line(&p, line, &err));
        float *expected = NULL;
        size_t n = 0;
        assert_ok(vdb_vector_from_text(mem_system(), list, strlen(list), &expected, &n, &err));
        assert_int_equal(n, 5);
        if (memcmp(p.vectors, expected, 5 * sizeof *expected) != 0) {
            fail_msg("%s", list);
        }
        mem_free(mem_system(), expected, n * sizeof *expected);
    }
    vdb_points_release(&p);
}

static void test_points__bad_lines__place_and_no_trace(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "column 1: expected an object with id, vector and payload, found the end" },
        { "7", "column 1: expected an object" },
        { "{}", "without id" },
        { "{\"id\":1}", "without vector" },
        { "{\"vector\":[1,2]}", "without id" },
        { "{\"id\":1,\"vector\":[1,2],\"id\":2}", "once each" },
        { "{\"id\":1,\"vector\":[1,2],\"vector\":[1,2]}", "once each" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":{},\"payload\":{}}", "once each" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":null}", "column 34: expected an object as payload" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":[]}", "an object as payload" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":{\"a\":01}}", "leading 0" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":{\"a\":1e400}}", "range" },
        { "{\"id\":-1,\"vector\":[1,2]}", "found a negative integer" },
        { "{\"id\":1.0,\"vector\":[1,2]}", "found a fractional number" },
        { "{\"id\":null,\"vector\":[1,2]}", "found null" },
        { "{\"id\":1,\"vector\":[]}", "column 19: expected a number, found ']'" },
        { "{\"id\":1,\"vector\":[1]}", "id 1: expected a vector of 2 components, found 1" },
        { "{\"id\":\"q\\\"\",\"vector\":[1,2,3]}", "expected a vector of 2 components, found 3" },
        { "{\"id\":1,\"vector\":[1,null]}", "expected a number, found 'n'" },
        { "{\"id\":1,\"vector\":[1,\"2\"]}", "expected a number" },
        { "{\"id\":1,\"vector\":[1,2,]}", "expected a number" },
        { "{\"id\":1,\"vector\":[01.5,2]}", "leading 0" },
        { "{\"id\":1,\"vector\":[1.,2]}", "expected a digit" },
        { "{\"id\":1,\"vector\":[.5,2]}", "expected a number" },
        { "{\"id\":1,\"vector\":[1e400,2]}", "range" },
        { "{\"id\":1,\"vector\":[1 2]}", "expected ',' or ']'" },
        { "{\"id\":1,\"vector\":\"x\"}", "an array of numbers" },
        { "{\"id\":1,\"vector\":[1,2]", "expected ',' or '}', found the end" },
        { "{\"id\":1,\"vector\":[1,2", "expected ',' or ']', found the end" },
        { "{\"id\":1,\"vector\":[1,2]}x", "the end of the line" },
        { "{\"id\":1,\"vector\":[1,2],}", "before a key" },
        { "{\"id\":\"a", "at the end of a string" },
        { "[1,[1,2],{},4]", "only" },
        { "[1]", "without vector" },
        { "[1,[1,2],]", "an object as payload" },
        { "\xef\xbb\xbf{\"id\":1,\"vector\":[1,2]}", "column 1" },
        { "{\"id\":\"\xff\",\"vector\":[1,2]}", "UTF-8" },
    };
    struct vdb_points p;
    grebe_error err = GREBE_ERROR_INIT;
    vdb_points_init(&p, mem_system());
    for (int round = 0; round < 2; round++) {
        p.dim = 2;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            assert_fails(add_line(&p, cases[i][0], &err), GREBE_EINVAL, cases[i][1]);
            assert_int_equal(p.n, (size_t)round);
            assert_int_equal(p.ids.len, round * 3);
            assert_int_equal(p.payloads.len, round * 2);
        }
        assert_ok(add_line(&p, "[\"p\",[1,2]]", &err));
    }
    vdb_points_release(&p);
    /* a line that fails does not choose the dimension */
    assert_fails(add_line(&p, "{\"id\":1,\"vector\":[1,2,3],\"payload\":7}", &err), GREBE_EINVAL, "payload");
    assert_int_equal(p.dim, 0);
    assert_ok(add_line(&p, "{\"id\":1,\"vector\":[1,2]}", &err));
    assert_int_equal(p.dim, 2);
    vdb_points_release(&p);
}

static void test_points__depth_of_payload__126_in_a_line(void **state)
{
    (void)state;
    struct vdb_points p;
    grebe_error err = GREBE_ERROR_INIT;
    vdb_points_init(&p, mem_system());
    for (size_t depth = 126; depth <= 127; depth++) { /* of the payload; the line is one more */
        char line[400];
        size_t n = (size_t)snprintf(line, sizeof line, "{\"id\":1,\"vector\":[1],\"payload\":{\"\":");
        memset(line + n, '[', depth - 1);
        memset(line + n + depth - 1, ']', depth - 1);
        strcpy(line + n + 2 * (depth - 1), "}}");
        assert_int_equal(add_line(&p, line, &err), depth == 126 ? GREBE_OK : GREBE_EINVAL);
    }
    vdb_points_release(&p);
}

static void test_points_add__checks(void **state)
{
    (void)state;
    struct vdb_points p;
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_id id = { false, 0, "x", 1 };
    float v[] = { 1, 2, NAN };
    vdb_points_init(&p, mem_system());
    assert_fails(vdb_points_add(&p, &id, v, 3, NULL, 0, &err), GREBE_EINVAL, "id \"x\": component 2");
    assert_fails(vdb_points_add(&p, &id, v, 0, NULL, 0, &err), GREBE_EINVAL, "id \"x\": expected a vector");
    assert_int_equal(p.dim, 0);
    for (size_t i = 0; i < 1000; i++) {
        id = (struct vdb_id){ true, i, NULL, 0 };
        v[0] = (float)i;
        assert_ok(vdb_points_add(&p, &id, v, 2, "{\"a\":1}", 7, &err));
    }
    assert_fails(vdb_points_add(&p, &id, v, 1, NULL, 0, &err), GREBE_EINVAL, "id 999: expected a vector of 2");
    for (size_t i = 0; i < 1000; i++) {
        id = vdb_points_id(&p, i);
        assert_true(id.is_number && id.number == i && p.vectors[2 * i] == (float)i && p.vectors[2 * i + 1] == 2);
        check_payload(&p, i, "{\"a\":1}");
    }
    vdb_points_release(&p);
}

static void test_points__no_memory__clean_failure(void **state)
{
    (void)state;
    bool is_done = false;
    for (size_t fail_at = 1; !is_done; fail_at++) {
        struct test_allocator t;
        test_allocator_init(&t);
        t.fail_at = fail_at;
        struct vdb_points p;
        grebe_error err = GREBE_ERROR_INIT;
        grebe_status st = GREBE_OK;
        vdb_points_init(&p, &t.a);
        size_t n = 0;
        for (; st == GREBE_OK && n < 20; n++) {
            st = add_line(&p, "{\"id\":\"\\u0041\",\"vector\":[1,2.5],\"payload\":{\"b\":1,\"a\":[{}]},\"q\":[1]}",
                          &err);
        }
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        assert_int_equal(p.n, st == GREBE_OK ? 20 : n - 1);
        is_done = st == GREBE_OK;
        vdb_points_release(&p);
        assert_int_equal(t.n_live, 0);
    }
}

/* ---- lines ---- */

struct pieces {
    const char *text;
    size_t len, at, step;
    int sys;
};

static int read_piece(void *ctx, void *dst, size_t len, size_t *got)
{
    struct pieces *s = ctx;
    size_t n = s->len - s->at;
    n = n > s->step ? s->step : n;
    n = n > len ? len : n;
    if (n == 0 && s->sys != 0) {
        return s->sys;
    }
    memcpy(dst, s->text + s->at, n);
    s->at += n;
    *got = n;
    return 0;
}

static void test_lines__ends_blanks_pieces(void **state)
{
    (void)state;
    static const char text[] = "a\r\n\n \t\xc2\xa0\xe2\x80\x83\xe3\x80\x80\r\n\rb\r\r\nlonger line\n\xe2\x80\xa6\nlast";
    static const struct {
        const char *line;
        uint64_t number;
    } expected[] = { { "a", 1 }, { "\rb\r", 4 }, { "longer line", 5 }, { "\xe2\x80\xa6", 6 }, { "last", 7 } };
    for (size_t step = 1; step < sizeof text; step++) {
        struct pieces source = { text, sizeof text - 1, 0, step, 0 };
        struct vdb_lines l;
        grebe_error err = GREBE_ERROR_INIT;
        const char *line = NULL;
        size_t len = 0;
        vdb_lines_init(&l, mem_system(), read_piece, &source, "x.jsonl");
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            assert_ok(vdb_lines_next(&l, &line, &len, &err));
            assert_non_null(line);
            assert_int_equal(len, strlen(expected[i].line));
            assert_memory_equal(line, expected[i].line, len);
            assert_int_equal(l.line, expected[i].number);
        }
        assert_ok(vdb_lines_next(&l, &line, &len, &err));
        assert_null(line);
        assert_ok(vdb_lines_next(&l, &line, &len, &err));
        assert_null(line);
        vdb_lines_release(&l);
    }
}

static void test_lines__long_line__whole(void **state)
{
    (void)state;
    enum { N = 3 << 20 };
    char *text = malloc(N + 3);
    memset(text, 'x', N);
    memcpy(text + N, "\ny\n", 3);
    struct pieces source = { text, N + 3, 0, 100001, 0 };
    struct vdb_lines l;
    grebe_error err = GREBE_ERROR_INIT;
    const char *line = NULL;
    size_t len = 0;
    vdb_lines_init(&l, mem_system(), read_piece, &source, "x");
    assert_ok(vdb_lines_next(&l, &line, &len, &err));
    assert_int_equal(len, N);
    assert_ok(vdb_lines_next(&l, &line, &len, &err));
    assert_true(len == 1 && *line == 'y');
    vdb_lines_release(&l);
    free(text);
}

static void test_lines__failures__named(void **state)
{
    (void)state;
    struct pieces source = { "a\nb\xff\n", 5, 0, 100, 0 };
    struct vdb_lines l;
    grebe_error err = GREBE_ERROR_INIT;
    const char *line = NULL;
    size_t len = 0;
    vdb_lines_init(&l, mem_system(), read_piece, &source, "x.jsonl");
    assert_ok(vdb_lines_next(&l, &line, &len, &err));
    assert_fails(vdb_lines_next(&l, &line, &len, &err), GREBE_EINVAL, "x.jsonl:2: byte 2: expected UTF-8");
    vdb_lines_release(&l);
    for (int i = 0; i < 2; i++) {
        struct pieces broken = { "a\nb", 3, 0, 100, i == 0 ? EIO : EINTR };
        vdb_lines_init(&l, mem_system(), read_piece, &broken, "x.jsonl");
        assert_ok(vdb_lines_next(&l, &line, &len, &err));
        assert_fails(vdb_lines_next(&l, &line, &len, &err), i == 0 ? GREBE_EIO : GREBE_ECANCELLED, "x.jsonl");
        vdb_lines_release(&l);
    }
}

/* ---- vectors on the command line ---- */

static void test_vector__texts__as_the_original(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        float first;
        size_t n; /* 0: refused */
        const char *fragment;
    } cases[] = {
        { "1,2,3", 1, 3, NULL },
        { " .5 , +1,1. ,1e5", 0.5f, 4, NULL },
        { "[0.1, 2]", 0.1f, 2, NULL },
        { " [1]", 1, 1, NULL },
        { "{\"id\":1,\"vector\":[-0.0,1]}", -0.0f, 2, NULL },
        { "0.1", 0.1f, 1, NULL },
        { "", 0, 0, "component 0" },
        { "1,,2", 0, 0, "component 1: expected a number, found \"\"" },
        { "1,", 0, 0, "component 1" },
        { "nan", 0, 0, "finite" },
        { "1,inf", 0, 0, "component 1: expected a finite" },
        { "1e39", 0, 0, "finite" },
        { "[1e39]", 0, 0, "finite" },
        { "[]", 0, 0, "found 0" },
        { "0x10", 0, 0, "number" },
        { "[1,null]", 0, 0, "component 1: expected a number, found null" },
        { "{}", 0, 0, "an array of numbers" },
        { "{\"vector\":3}", 0, 0, "an array of numbers" },
        { "[1", 0, 0, "vector: line 1 column 3" },
        { "1 2", 0, 0, "number" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        float *v = NULL;
        size_t n = 0;
        size_t len = strlen(cases[i].text);
        if (cases[i].n == 0) {
            assert_fails(vdb_vector_from_text(mem_system(), cases[i].text, len, &v, &n, &err), GREBE_EINVAL,
                         cases[i].fragment);
            assert_null(v);
            continue;
        }
        assert_ok(vdb_vector_from_text(mem_system(), cases[i].text, len, &v, &n, &err));
        assert_int_equal(n, cases[i].n);
        assert_memory_equal(&v[0], &cases[i].first, sizeof *v);
        mem_free(mem_system(), v, n * sizeof *v);
    }
}

/* ---- lines that are rows ---- */

static grebe_status add_row(struct vdb_points *p, const struct vdb_line_form *form, const char *line, grebe_error *err)
{
    size_t len = strlen(line);
    char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, line, len);
    grebe_status st = vdb_points_add_row_line(p, form, copy, len, err);
    free(copy);
    return st;
}

static const struct vdb_line_form row_form = { "id", "vector", 2, 6, true };

static void test_rows__other_members__join_the_payload(void **state)
{
    (void)state;
    static const struct {
        const char *line, *payload;
    } cases[] = {
        { "{\"id\":1,\"vector\":[1,2]}", "{}" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":{\"b\":1}}", "{\"b\":1}" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":{\"b\" : 1}}", "{\"b\":1}" },
        { "{\"payload\":{\"b\":1},\"id\":1,\"vector\":[1,2]}", "{\"b\":1}" },
        { "{\"z\":[{}],\"id\":1,\"a\":1e2,\"vector\":[1,2]}", "{\"a\":100.0,\"z\":[{}]}" },
        { "{\"payload\":{\"b\":1,\"d\":2},\"id\":1,\"c\":null,\"vector\":[1,2],\"a\":true}",
          "{\"a\":true,\"b\":1,\"c\":null,\"d\":2}" },
        { "{\"id\":1,\"vector\":[1,2],\"a\":\"x\",\"payload\":{\"b\":1}}", "{\"a\":\"x\",\"b\":1}" },
        { "{\"id\":1,\"vector\":[1,2],\"a\":1,\"\\u0061\":2}", "{\"a\":2}" },
        { "{\"id\":1,\"vector\":[1,2],\"\":1,\"payload\":null}", "{\"\":1}" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":null}", "{}" },
        { "{\"id\":1,\"vector\":\"1, 2\",\"payload\":\"{\\\"t\\\":[1]}\"}", "{\"t\":[1]}" },
        { "[1,[1,2],{\"b\":1}]", "{\"b\":1}" },
        { "{\"id\":1,\"vector\":\"[1,2]\",\"payload\":{}}", "{}" },
    };
    struct vdb_points p;
    vdb_points_init(&p, mem_system());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        assert_ok(add_row(&p, &row_form, cases[i].line, &err));
        assert_int_equal(p.n, i + 1);
        check_payload(&p, i, cases[i].payload);
        assert_true(vdb_points_id(&p, i).number == 1 && p.vectors[2 * i] == 1 && p.vectors[2 * i + 1] == 2);
    }
    vdb_points_release(&p);
}

static void test_rows__other_names__as_asked(void **state)
{
    (void)state;
    struct vdb_points p;
    grebe_error err = GREBE_ERROR_INIT;
    static const struct vdb_line_form form = { "key", "v", 3, 1, true };
    vdb_points_init(&p, mem_system());
    assert_ok(add_row(&p, &form, "{\"id\":7,\"v\":[1],\"vector\":[2,3],\"k\\u0065y\":\"x\"}", &err));
    assert_true(vdb_points_id(&p, 0).len == 1 && p.dim == 1 && p.vectors[0] == 1);
    check_payload(&p, 0, "{\"id\":7,\"vector\":[2,3]}");
    assert_fails(add_row(&p, &form, "{\"id\":7,\"v\":[1]}", &err), GREBE_EINVAL, "a point without key");
    assert_fails(add_row(&p, &form, "{\"key\":7,\"vector\":[1]}", &err), GREBE_EINVAL, "a point without v");
    vdb_points_release(&p);
}

static void test_rows__bad_lines__no_trace(void **state)
{
    (void)state;
    static const struct {
        const char *line, *fragment;
    } cases[] = {
        { "{\"id\":1,\"vector\":[1,2],\"a\":1,\"payload\":{\"a\":1}}", "found \"a\"" },
        { "{\"payload\":{\"a\":1},\"id\":1,\"vector\":[1,2],\"a\":1}", "found \"a\"" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":{},\"payload\":{}}", "once each" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":[1]}", "an object as payload" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":\"[1]\"}", "an object as payload" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":\"{\"}", "payload: line 1" },
        { "{\"id\":1,\"vector\":[1,2],\"payload\":", "column" },
        { "{\"id\":1,\"vector\":[1,2],\"a\":", "column" },
        { "{\"id\":1,\"vector\":[1,2],\"a\":01}", "column" },
        { "{\"id\":1,\"vector\":\"1,x\"}", "vector: component 1" },
        { "{\"id\":1,\"vector\":\"1\"}", "expected a vector of 2 components, found 1" },
        { "{\"id\":1,\"vector\":\"1,2,3\"}", "expected a vector of 2 components, found 3" },
        { "{\"id\":1,\"vector\":\"", "column" },
        { "{\"id\":1.5,\"vector\":[1,2],\"a\":1}", "id" },
    };
    struct vdb_points p;
    grebe_error err = GREBE_ERROR_INIT;
    vdb_points_init(&p, mem_system());
    assert_ok(add_row(&p, &row_form, "{\"id\":1,\"vector\":[1,2],\"a\":1}", &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(add_row(&p, &row_form, cases[i].line, &err), GREBE_EINVAL, cases[i].fragment);
        assert_int_equal(p.n, 1);
        assert_int_equal(p.payloads.len, 7);
    }
    vdb_points_release(&p);
}

static void test_rows__no_memory__clean_failure(void **state)
{
    (void)state;
    grebe_status st = GREBE_ENOMEM;
    for (size_t fail_at = 1; st != GREBE_OK; fail_at++) {
        struct test_allocator a;
        struct vdb_points p;
        test_allocator_init(&a);
        a.fail_at = fail_at;
        vdb_points_init(&p, &a.a);
        st = add_row(&p, &row_form,
                     "{\"id\":1,\"vector\":\"1,2\",\"a\":1,\"b\":[2],\"c\":{},\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,"
                     "\"i\":9,\"payload\":\"{\\\"p\\\":1}\"}",
                     NULL);
        assert_true(st == GREBE_OK || (st == GREBE_ENOMEM && p.n == 0));
        vdb_points_release(&p);
        assert_int_equal(a.n_live, 0);
        assert_true(fail_at < 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points__lines__ids_vectors_payloads),
        cmocka_unit_test(test_points__floats_in_payloads__read_by_the_formats_rule),
        cmocka_unit_test(test_points__many_numbers__as_the_general_reader),
        cmocka_unit_test(test_points__bad_lines__place_and_no_trace),
        cmocka_unit_test(test_points__depth_of_payload__126_in_a_line),
        cmocka_unit_test(test_points_add__checks),
        cmocka_unit_test(test_points__no_memory__clean_failure),
        cmocka_unit_test(test_lines__ends_blanks_pieces),
        cmocka_unit_test(test_lines__long_line__whole),
        cmocka_unit_test(test_lines__failures__named),
        cmocka_unit_test(test_vector__texts__as_the_original),
        cmocka_unit_test(test_rows__other_members__join_the_payload),
        cmocka_unit_test(test_rows__other_names__as_asked),
        cmocka_unit_test(test_rows__bad_lines__no_trace),
        cmocka_unit_test(test_rows__no_memory__clean_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
