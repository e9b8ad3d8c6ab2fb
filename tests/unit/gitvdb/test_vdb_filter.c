/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "gitvdb/vdb_filter.h"

static grebe_status parse(const char *json, bool is_lenient, struct vdb_filter **out, grebe_error *err)
{
    size_t len = strlen(json);
    char *copy = malloc(len + 1); /* of its own, so that the filter is seen to keep nothing of it */
    memcpy(copy, json, len);
    grebe_status st = vdb_filter_parse(mem_system(), copy, len, is_lenient, out, err);
    free(copy);
    return st;
}

static bool matches(const struct vdb_filter *f, const struct vdb_id *id, const char *payload)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_filter_state *s = NULL;
    bool found = false;
    size_t len = strlen(payload);
    char *exact = malloc(len);
    memcpy(exact, payload, len);
    assert_ok(vdb_filter_state_new(f, &s, &err));
    assert_ok(vdb_filter_matches(f, s, id, exact, len, &found, &err));
    vdb_filter_state_free(s);
    free(exact);
    return found;
}

static char *field(char **p)
{
    char *begin = *p;
    *p += strcspn(*p, "\t\n");
    *(*p)++ = '\0';
    return begin;
}

enum { POINTS_MAX = 32 };

struct golden {
    char *text;
    struct arena ar;
    struct vdb_id ids[POINTS_MAX];
    const char *payloads[POINTS_MAX];
    size_t n;
};

/* The points of the file; gives back where its filters begin. */
static char *read_points(struct golden *g, char **end)
{
    char path[512];
    size_t len = 0;
    grebe_error err = GREBE_ERROR_INIT;
    snprintf(path, sizeof path, "%s/golden/gitvdb/filters.tsv", TEST_DATA);
    g->text = (char *)test_read_file(path, &len);
    g->ar = ARENA_INIT(mem_system());
    *end = g->text + len;
    char *p = g->text;
    for (g->n = 0; *p != '\n'; g->n++) {
        const struct vdb_value *v = NULL;
        assert_in_range(g->n, 0, POINTS_MAX - 1);
        char *id = field(&p);
        assert_ok(vdb_json_parse(&g->ar, id, strlen(id), &v, &err));
        assert_ok(vdb_id_from_json(v, &g->ids[g->n], &err));
        g->payloads[g->n] = field(&p);
        assert_true(vdb_json_is_canonical_object(g->payloads[g->n], strlen(g->payloads[g->n])));
    }
    return p + 1;
}

static void check_filter(const struct golden *g, const char *text, const char *expected, bool is_lenient)
{
    struct vdb_filter *f = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = parse(text, is_lenient, &f, &err);
    bool is_refused = strcmp(expected, "error") == 0;
    if (st == GREBE_EUNSUPPORTED) { /* a build without regular expressions */
        return;
    }
    if (st != GREBE_OK) {
        assert_int_equal(st, GREBE_EINVAL);
        assert_null(f);
        if (is_lenient && !is_refused) {
            fail_msg("%s: %s", text, err.message);
        }
        return;
    }
    if (is_refused) {
        fail_msg("%s: accepted", text);
    }
    for (size_t i = 0; i < g->n; i++) {
        if (matches(f, &g->ids[i], g->payloads[i]) != (expected[i] == '1')) {
            fail_msg("%s: %s: expected %c", text, g->payloads[i], expected[i]);
        }
    }
    vdb_filter_free(f);
}

static void test_filter__golden__as_the_reference(void **state)
{
    (void)state;
    struct golden g;
    char *end = NULL;
    size_t n = 0;
    for (char *p = read_points(&g, &end); p < end; n++) {
        char *text = field(&p);
        char *expected = field(&p);
        check_filter(&g, text, expected, true);
        check_filter(&g, text, expected, false); /* refuses more, and gives the same where it does not */
    }
    assert_in_range(n, 900, 2000);
    arena_release(&g.ar);
    free(g.text);
}

static void test_filter__strict__names_the_place(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "{\"must\":[{\"key\":\"b\",\"range\":{\"gte\":\"1\"}}]}",
          "must[0].range.gte: expected a number, found a string" },
        { "{\"must\":[{}]}", "must[0]: expected a condition" },
        { "{\"should\":[{\"has_field\":\"a\"},{\"foo\":1}]}", "should[1]: expected a condition" },
        { "{\"foo\":1}", "filter: expected must, should or must_not" },
        { "{\"key\":\"a\",\"match\":{\"value\":1}}", "filter: expected must, should or must_not" },
        { "[]", "filter: expected an object with must, should or must_not, found an array" },
        { "3", "filter: expected an object" },
        { "{\"must\":{}}", "must: expected an array of conditions, found an object" },
        { "{\"must\":null}", "must: expected an array of conditions, found null" },
        { "{\"must\":[[]]}", "must[0]: expected an object, found an array" },
        { "{\"must\":[{\"must_not\":[{\"should\":3}]}]}", "must[0].must_not[0].should: expected an array" },
        { "{\"must\":[{\"has_field\":3}]}", "must[0].has_field: expected a string, found an integer" },
        { "{\"must\":[{\"has_field\":3,\"must\":[]}]}", "must[0].has_field: expected a string" },
        { "{\"must\":[{\"has_field\":\"a..b\"}]}", "must[0].has_field: expected a path" },
        { "{\"must\":[{\"has_field\":\"\"}]}", "must[0].has_field: expected a path" },
        { "{\"must\":[{\"key\":\".a\",\"match\":{\"value\":1}}]}", "must[0].key: expected a path" },
        { "{\"must\":[{\"key\":3,\"match\":{\"value\":1}}]}", "must[0].key: expected a string" },
        { "{\"must\":[{\"match\":{\"value\":1}}]}", "must[0].key: expected a string, found nothing" },
        { "{\"must\":[{\"any\":[1]}]}", "must[0].key: expected a string, found nothing" },
        { "{\"must\":[{\"key\":\"a\"}]}", "must[0]: expected match, range, any, none or contains beside key" },
        { "{\"must\":[{\"key\":\"a\",\"mtch\":{\"value\":1}}]}", "must[0]: expected match, range" },
        { "{\"must\":[{\"key\":\"a\",\"match\":1}]}",
          "must[0].match: expected an object with \"value\", found an integer" },
        { "{\"must\":[{\"key\":\"a\",\"match\":{\"x\":1}}]}", "must[0].match.value: expected a value, found nothing" },
        { "{\"must\":[{\"key\":\"a\",\"match\":{\"value\":[]}}]}", "must[0].match.value: expected a string, a number" },
        { "{\"must\":[{\"key\":\"a\",\"range\":[1]}]}", "must[0].range: expected an object" },
        { "{\"must\":[{\"key\":\"a\",\"any\":1}]}", "must[0].any: expected an array, found an integer" },
        { "{\"must\":[{\"key\":\"a\",\"any\":[]}]}", "must[0].any: expected at least one value" },
        { "{\"must\":[{\"key\":\"a\",\"none\":[1,{}]}]}", "must[0].none[1]: expected a string, a number" },
        { "{\"must\":[{\"key\":\"a\",\"contains\":[]}]}", "must[0].contains: expected a string, a number" },
        { "{\"must\":[{\"document_contains\":\"\"}]}", "must[0].document_contains: expected a text" },
        { "{\"must\":[{\"has_id\":[1,-1]}]}", "must[0].has_id[1]: expected a string or an integer" },
        { "{\"must\":[{\"has_id\":[]}]}", "must[0].has_id: expected at least one id" },
        { "{\"must\":[],\"must\":[]}", "each key once" },
        { "{\"must\":[{\"key\":\"a\",\"key\":\"b\",\"match\":{\"value\":1}}]}", "each key once" },
        { "{\"must\":[", "filter: line 1 column 10" },
        { "", "filter: line 1 column 1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vdb_filter *f = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        assert_fails(parse(cases[i][0], false, &f, &err), GREBE_EINVAL, cases[i][1]);
        assert_null(f);
    }
}

static void test_filter__lenient__arrays_in_place_of_objects(void **state)
{
    (void)state;
    static const struct {
        const char *filter;
        bool of_1, of_2;
    } cases[] = {
        { "{\"must\":[{\"key\":\"n\",\"match\":[1]}]}", true, false },
        { "{\"must\":[{\"key\":\"n\",\"range\":[null,2,null,null]}]}", false, true },
        { "{\"must\":[{\"key\":\"n\",\"range\":[null,2]}]}", true, true },
        { "[[{\"key\":\"n\",\"match\":{\"value\":2}}]]", false, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vdb_filter *f = NULL;
        struct vdb_id id = { true, 1, NULL, 0 };
        grebe_error err = GREBE_ERROR_INIT;
        assert_int_equal(parse(cases[i].filter, false, &f, &err), GREBE_EINVAL);
        assert_ok(parse(cases[i].filter, true, &f, &err));
        assert_int_equal(matches(f, &id, "{\"n\":1}"), cases[i].of_1);
        assert_int_equal(matches(f, &id, "{\"n\":2}"), cases[i].of_2);
        vdb_filter_free(f);
    }
    struct vdb_filter *f = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    assert_fails(parse("[[],[],[],[]]", true, &f, &err), GREBE_EINVAL, "filter: expected an object");
}

static void test_filter__needs_payload__only_for_fields(void **state)
{
    (void)state;
    static const struct {
        const char *filter;
        bool needs;
    } cases[] = {
        { "{}", false },
        { "{\"must\":[]}", false },
        { "{\"must\":[{\"has_id\":[1]}],\"must_not\":[{\"should\":[{\"has_id\":[2]}]}]}", false },
        { "{\"must\":[{\"has_id\":[1]},{\"has_field\":\"a\"}]}", true },
        { "{\"must\":[{\"should\":[{\"document_contains\":\"x\"}]}]}", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vdb_filter *f = NULL;
        struct vdb_filter_state *s = NULL;
        struct vdb_id id = { true, 1, NULL, 0 };
        grebe_error err = GREBE_ERROR_INIT;
        bool found = false;
        assert_ok(parse(cases[i].filter, false, &f, &err));
        assert_int_equal(vdb_filter_needs_payload(f), cases[i].needs);
        if (!cases[i].needs) {
            assert_ok(vdb_filter_state_new(f, &s, &err));
            assert_ok(vdb_filter_matches(f, s, &id, NULL, 0, &found, &err));
            assert_true(found);
            vdb_filter_state_free(s);
        }
        vdb_filter_free(f);
    }
}

static void test_filter__unstable_float__compared_as_it_was_written(void **state)
{
    (void)state;
    /* the value that the filter's text stands for was stored as …893, which the format would read as …892 */
    struct vdb_filter *f = NULL;
    struct vdb_id id = { true, 1, NULL, 0 };
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(parse("{\"must\":[{\"key\":\"f\",\"match\":{\"value\":0.99955335555768920}}]}", false, &f, &err));
    assert_true(matches(f, &id, "{\"f\":0.9995533555576893}"));
    assert_false(matches(f, &id, "{\"f\":0.9995533555576892}"));
    vdb_filter_free(f);
}

static void test_filter__text_that_is_no_payload__never_read_past(void **state)
{
    (void)state;
    static const char filter[] = "{\"should\":[{\"key\":\"a.b\",\"match\":{\"value\":1}},{\"key\":\"c\",\"contains\":"
                                 "\"x\"},{\"key\":\"n\",\"range\":{}},"
                                 "{\"document_contains\":\"zzz\"},{\"key\":\"s\",\"any\":[\"q\"]}]}";
    static const char payload[] =
        "{\"a\":{\"b\":2},\"c\":[1,\"y\",[{}]],\"document\":\"a\\n\\u0001\\\\\",\"n\":\"-1.5e+20\",\"s\":\"\\\"\"}";
    struct vdb_filter *f = NULL;
    struct vdb_filter_state *s = NULL;
    struct vdb_id id = { true, 1, NULL, 0 };
    grebe_error err = GREBE_ERROR_INIT;
    size_t n_corrupt = 0;
    assert_ok(parse(filter, false, &f, &err));
    assert_ok(vdb_filter_state_new(f, &s, &err));
    uint64_t seed = test_seed();
    for (size_t round = 0; round < 4000; round++) {
        bool found = false;
        size_t len = round < sizeof payload ? round : sizeof payload - 1;
        char *text = malloc(len > 0 ? len : 1);
        memcpy(text, payload, len);
        if (round >= sizeof payload) {
            text[test_random(&seed) % len] = "\"\\{}[],:1x"[test_random(&seed) % 10];
        }
        grebe_status st = vdb_filter_matches(f, s, &id, text, len, &found, &err);
        assert_true(st == GREBE_OK || st == GREBE_ECORRUPT);
        n_corrupt += st != GREBE_OK;
        free(text);
    }
    assert_in_range(n_corrupt, 500, 4000);
    vdb_filter_state_free(s);
    vdb_filter_free(f);
}

#ifdef GREBE_HAVE_PCRE2
static void test_filter__regex__dialect_and_limits(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *payload;
        bool expected;
    } cases[] = {
        { "^b$", "{\"document\":\"b\\n\"}", false },
        { "(?m)^b$", "{\"document\":\"a\\nb\\n\"}", true },
        { "a.b", "{\"document\":\"a\\nb\"}", false },
        { "a.b", "{\"document\":\"a\\rb\"}", true },
        { "^\\\\w+$", "{\"document\":\"\xc3\xa9t\xc3\xa9\"}", true },
        { "(?i)\xc3\x89", "{\"document\":\"\xc3\xa9\"}", true },
        { "^.$", "{\"document\":\"\xf0\x9f\x98\x80\"}", true },
        { "\\\\p{Greek}", "{\"document\":\"\xce\xb1\"}", true },
        { "", "{\"document\":\"\"}", true },
        { "x", "{\"document\":7}", false },
        { "(?P<n>a)b", "{\"document\":\"ab\"}", true },
    };
    struct vdb_id id = { true, 1, NULL, 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[256];
        struct vdb_filter *f = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        snprintf(json, sizeof json, "{\"must\":[{\"document_regex\":\"%s\"}]}", cases[i].pattern);
        assert_ok(parse(json, false, &f, &err));
        assert_int_equal(matches(f, &id, cases[i].payload), cases[i].expected);
        vdb_filter_free(f);
    }
    struct vdb_filter *f = NULL;
    struct vdb_filter_state *s = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    bool found = false;
    assert_fails(parse("{\"must\":[{\"document_regex\":\"a(\"}]}", false, &f, &err), GREBE_EINVAL,
                 "must[0].document_regex: regular expression \"a(\": at byte 2");
    assert_ok(parse("{\"must\":[{\"document_regex\":\"(a+)+$\"}]}", false, &f, &err));
    assert_ok(vdb_filter_state_new(f, &s, &err));
    static const char slow[] = "{\"document\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"}";
    assert_fails(vdb_filter_matches(f, s, &id, slow, sizeof slow - 1, &found, &err), GREBE_ELIMIT, "document_regex");
    assert_false(found);
    static const char broken[] = "{\"document\":\"\xff\"}";
    assert_fails(vdb_filter_matches(f, s, &id, broken, sizeof broken - 1, &found, &err), GREBE_ECORRUPT, "UTF-8");
    vdb_filter_state_free(s);
    vdb_filter_free(f);
}
#else
static void test_filter__regex__not_in_this_build(void **state)
{
    (void)state;
    struct vdb_filter *f = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    assert_fails(parse("{\"must\":[{\"document_regex\":\"a\"}]}", false, &f, &err), GREBE_EUNSUPPORTED,
                 "must[0].document_regex: document_regex: this build has no PCRE2");
}
#endif

static void test_filter__no_memory__clean_failure(void **state)
{
    (void)state;
    static const char text[] =
        "{\"must\":[{\"key\":\"a.b\",\"any\":[1,\"x\"]},{\"has_id\":[\"q\",1]},{\"document_contains\":\"\\n\"}],"
        "\"must_not\":[{\"should\":[{\"key\":\"c\",\"match\":{\"value\":\"z\"}}]}]}";
    static const char payload[] = "{\"a\":{\"b\":\"x\"},\"document\":\"long enough \\n to be decoded\"}";
    struct vdb_id id = { false, 0, "q", 1 };
    bool is_done = false;
    for (size_t fail_at = 1; !is_done; fail_at++) {
        struct test_allocator t;
        test_allocator_init(&t);
        t.fail_at = fail_at;
        struct vdb_filter *f = NULL;
        struct vdb_filter_state *s = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        bool found = false;
        grebe_status st = vdb_filter_parse(&t.a, text, sizeof text - 1, false, &f, &err);
        if (st == GREBE_OK) {
            st = vdb_filter_state_new(f, &s, &err);
        }
        if (st == GREBE_OK) {
            st = vdb_filter_matches(f, s, &id, payload, sizeof payload - 1, &found, &err);
        }
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        is_done = st == GREBE_OK;
        assert_int_equal(found, is_done);
        vdb_filter_state_free(s);
        vdb_filter_free(f);
        assert_int_equal(t.n_live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter__golden__as_the_reference),
        cmocka_unit_test(test_filter__strict__names_the_place),
        cmocka_unit_test(test_filter__lenient__arrays_in_place_of_objects),
        cmocka_unit_test(test_filter__needs_payload__only_for_fields),
        cmocka_unit_test(test_filter__unstable_float__compared_as_it_was_written),
        cmocka_unit_test(test_filter__text_that_is_no_payload__never_read_past),
#ifdef GREBE_HAVE_PCRE2
        cmocka_unit_test(test_filter__regex__dialect_and_limits),
#else
        cmocka_unit_test(test_filter__regex__not_in_this_build),
#endif
        cmocka_unit_test(test_filter__no_memory__clean_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
