/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow/ipc.h"
#include "expr/expr.h"

static void end_free(struct region *r) { free(r->end_ctx); }

/* tests/golden/expr/rows.arrows */
struct rows {
    struct ArrowSchema schema;
    struct ArrowArray batch;
};

static int load_rows(void **state)
{
    static struct rows rows;
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    struct region *r = NULL;
    struct ArrowArrayStream stream;
    unsigned char *bytes = test_read_file(TEST_DATA "/golden/expr/rows.arrows", &len);
    assert_ok(region_wrap(mem_system(), bytes, len, end_free, bytes, &r, &err));
    assert_ok(ipc_stream_of_region(mem_system(), r, &stream, &err));
    region_drop(r);
    assert_ok(stream_schema(&stream, &rows.schema, &err));
    assert_ok(stream_next(&stream, &rows.batch, &err));
    stream_release(&stream);
    *state = &rows;
    return 0;
}

static int free_rows(void **state)
{
    struct rows *rows = *state;
    schema_release(&rows->schema);
    array_release(&rows->batch);
    return 0;
}

static grebe_status run(const struct rows *rows, const char *text, uint8_t *keep, grebe_error *err)
{
    struct expr *e = NULL;
    int64_t n_true = 0;
    grebe_status st = expr_parse(mem_system(), text, &e, err);
    if (st == GREBE_OK) {
        st = expr_bind(e, &rows->schema, err);
    }
    if (st == GREBE_OK) {
        st = expr_eval_rows(e, &rows->batch, keep, &n_true, err);
    }
    if (st == GREBE_OK) {
        assert_int_equal(n_true, bitmap_count(keep, 0, rows->batch.length));
    }
    expr_free(e);
    return st;
}

/* Rows (of eight) for which the condition is true, as "0,3,5". */
static void expect(const struct rows *rows, const char *text, const char *expected)
{
    grebe_error err = GREBE_ERROR_INIT;
    uint8_t keep[8] = { 0 };
    char got[64] = "";
    grebe_status st = run(rows, text, keep, &err);
    if (st != GREBE_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    for (int i = 0; i < rows->batch.length; i++) {
        if (bit_get(keep, i)) {
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d",
                     got[0] != '\0' ? "," : "", i);
        }
    }
    if (strcmp(got, expected) != 0) {
        fail_msg("%s: rows %s, expected %s", text, got, expected);
    }
}

static void expect_failure(const struct rows *rows, const char *text, grebe_status status,
                           const char *fragment)
{
    grebe_error err = GREBE_ERROR_INIT;
    uint8_t keep[8];
    grebe_status st = run(rows, text, keep, &err);
    if (st != status || strstr(err.message, fragment) == NULL) {
        fail_msg("%s: %s \"%s\", expected %s \"%s\"", text, grebe_status_name(st), err.message,
                 grebe_status_name(status), fragment);
    }
}

static void test_expr__comparisons__three_valued(void **state)
{
    const struct rows *r = *state;
    /* i: 1, 2, null, -4, 5, 9223372036854775807, -9223372036854775808, 0 */
    expect(r, "i = 1", "0");
    expect(r, "i == 1", "0");
    expect(r, "i <> 1", "1,3,4,5,6,7");
    expect(r, "i != 1", "1,3,4,5,6,7");
    expect(r, "not i = 1", "1,3,4,5,6,7");
    expect(r, "i < 0", "3,6");
    expect(r, "0 > i", "3,6");
    expect(r, "i >= 5", "4,5");
    expect(r, "i is null", "2");
    expect(r, "i is not null", "0,1,3,4,5,6,7");
    expect(r, "i = null", "");
    expect(r, "(i = null) is null", "0,1,2,3,4,5,6,7");
    expect(r, "i > 0 and i < 5", "0,1");
    expect(r, "i = 1 or i = 2 or i is null", "0,1,2");
    expect(r, "(i > 0) is not true", "2,3,6,7");
    expect(r, "(i > 0) is false", "3,6,7");
    expect(r, "i in (1, 5, 0)", "0,4,7");
    expect(r, "i in (1, 5, 0, 77, 78, 79)", "0,4,7");
    expect(r, "i not in (1, 5, 0)", "1,3,5,6");
    expect(r, "i not in (1, null)", "");
    expect(r, "i not in (1, 2, 3, 4, 5, null)", "");
    expect(r, "i in (1, null)", "0");
    expect(r, "i between 0 and 2", "0,1,7");
    expect(r, "i not between 0 and 2", "3,4,5,6");
    expect(r, "i between null and 2", "");
    expect(r, "i not between null and 2", "4,5");
    expect(r, "true", "0,1,2,3,4,5,6,7");
    expect(r, "false or null", "");
    expect(r, "null", "");
    expect(r, "flag", "0,3,6");
    expect(r, "not flag", "1,4,7");
    expect(r, "flag = false", "1,4,7");
    expect(r, "flag is null", "2,5");
}

static void test_expr__numbers__exact(void **state)
{
    const struct rows *r = *state;
    expect(r, "i = 9223372036854775807", "5");
    expect(r, "i = 9223372036854775807.0", "5");
    expect(r, "i < 9223372036854775808", "0,1,3,4,5,6,7");
    expect(r, "i = 9223372036854775808", "");
    expect(r, "i > 9.223372036854775806e18", "5");
    expect(r, "i >= -9223372036854775808", "0,1,3,4,5,6,7");
    expect(r, "i < 1.5", "0,3,6,7");
    expect(r, "i = 1.0", "0");
    /* u: 0, 18446744073709551615, 9007199254740993, null, 5, 9223372036854775808, 1, 2 */
    expect(r, "u = 18446744073709551615", "1");
    expect(r, "u = 9007199254740993", "2");
    expect(r, "u = 9007199254740992", "");
    expect(r, "u > -1", "0,1,2,4,5,6,7");
    expect(r, "u = i", "4");
    expect(r, "u > i", "1,5,6,7");
    expect(r, "u = 9223372036854775808", "5");
    expect(r, "u < 1e30", "0,1,2,4,5,6,7");
    /* d: 0.1, NaN, -0.0, null, inf, 9007199254740992, -2.5, 9.223372036854775807e18 */
    expect(r, "d = 0.1", "0");
    expect(r, "d = 0", "2");
    expect(r, "d = d", "0,2,4,5,6,7");
    expect(r, "d <> d", "1");
    expect(r, "d < 0 or d >= 0", "0,2,4,5,6,7");
    expect(r, "not (d > 0)", "1,2,6");
    expect(r, "is_nan(d)", "1");
    expect(r, "d = 9007199254740993", "");
    expect(r, "d = 9007199254740992", "5");
    expect(r, "d = u", "");
    expect(r, "d > 1e308", "4");
    expect(r, "d in (0.1, 0, -2.5)", "0,2,6");
    /* f (float): as d; h (half) */
    expect(r, "f = 0.1", "0");
    expect(r, "f > 0.1", "4,5,7");
    expect(r, "h = 0.1", "0");
    /* m decimal(10, 2): 1.10, -0.05, null, 99999999.99, 0.00, 2.00, 3.14, -7.00 */
    expect(r, "m = 1.1", "0");
    expect(r, "m = 1.100", "0");
    expect(r, "m < 0", "1,7");
    expect(r, "m = 2", "5");
    expect(r, "m > 3.1399999999999999999999", "3,6");
    expect(r, "m between -0.05 and 1.1", "0,1,4");
    expect(r, "m in (3.14, -7)", "6,7");
    expect(r, "m = i", "");
    expect(r, "- m = 7", "7");
    expect(r, "abs(m) = 7", "7");
}

static void test_expr__text__compared_and_matched(void **state)
{
    const struct rows *r = *state;
    /* s: 'abc', '', null, 'ABC', 'a%c', 'żółw', "it's", 'abcabc' */
    expect(r, "s = 'abc'", "0");
    expect(r, "s < 'b'", "0,1,3,4,7");
    expect(r, "s = 'it''s'", "6");
    expect(r, "s like 'a%'", "0,4,7");
    expect(r, "s like '%c'", "0,4,7");
    expect(r, "s like 'a_c'", "0,4");
    expect(r, "s like '____'", "5,6");
    expect(r, "s like 'a\\%c' escape '\\'", "4");
    expect(r, "s like 'a!%%' escape '!'", "4");
    expect(r, "s not like 'a%'", "1,3,5,6");
    expect(r, "s like ''", "1");
    expect(r, "s like '%'", "0,1,3,4,5,6,7");
    expect(r, "s like '%b%b%'", "7");
    expect(r, "s like null", "");
    expect(r, "lower(s) = 'abc'", "0,3");
    expect(r, "upper(s) in ('ABC', 'X', 'Y', 'Z', 'ABCABC')", "0,3,7");
    expect(r, "length(s) = 4", "5,6");
    expect(r, "starts_with(s, 'abc')", "0,7");
    expect(r, "ends_with(s, 'bc')", "0,7");
    expect(r, "contains(s, 'ca')", "7");
    expect(r, "contains(s, '')", "0,1,3,4,5,6,7");
    expect(r, "s in ('abc', 'x')", "0");
    expect(r, "s in ('abc', 'x', 'y', 'z', '')", "0,1");
    expect(r, "s between 'a' and 'abd'", "0,4,7");
    expect(r, "dict = 'red'", "0,3");
    expect(r, "dict in ('red', 'green')", "0,1,3,4");
    expect(r, "dict is null", "2");
    expect(r, "view like '%thirteen%'", "1");
    expect(r, "bin = x'00ff'", "0");
    expect(r, "bin < x'01'", "0,1");
    expect(r, "length(bin) = 2", "0");
}

static void test_expr__times__literals_cast(void **state)
{
    const struct rows *r = *state;
    /* ts (us, UTC): 2026-01-01 00:00:00, 1969-12-31 23:59:59.999999, null, then +1 day each */
    expect(r, "ts = '2026-01-01 00:00:00'", "0");
    expect(r, "ts = timestamp '2026-01-01T00:00:00Z'", "0");
    expect(r, "ts = '2026-01-01 01:00:00+01:00'", "0");
    expect(r, "ts = date '2026-01-01'", "0");
    expect(r, "ts < '1970-01-01'", "1");
    expect(r, "ts = '1969-12-31 23:59:59.999999'", "1");
    expect(r, "ts >= '1969-12-31 23:59:59.999999001' and ts < '1970-01-01'", "");
    expect(r, "ts between '2026-01-01' and '2026-01-03'", "0,3,4");
    expect(r, "day = '2026-01-02'", "1");
    expect(r, "day > date '2026-01-02' and day < timestamp '2026-01-04 12:00:00'", "3,4");
    expect(r, "day = ts", "0");
    expect(r, "clock >= '12:30'", "4,5,6,7");
    expect(r, "clock = '01:00:00.000'", "1");
}

static void test_expr__nested__paths(void **state)
{
    const struct rows *r = *state;
    expect(r, "st.a = 1", "1");
    expect(r, "st.a is null", "2,5");
    expect(r, "st is null", "5");
    expect(r, "st.\"odd name\" = 'x'", "0");
    expect(r, "li[0] = 0", "1,4,7");
    expect(r, "li[-1] = 1", "2,5");
    expect(r, "li[1] = 1", "2,5");
    expect(r, "length(li) = 2", "2,5");
    expect(r, "li is null", "6");
    expect(r, "vec[1] = 1.5", "1");
    expect(r, "length(vec) = 2", "0,1,2,3,4,5,6,7");
    expect(r, "\"100\" = 7", "7");
    expect(r, "dot.ted = 3", "3");
    expect(r, "\"dot.ted\" = 4", "4");
    expect(r, "runs = 2", "3,4,5");
}

static void test_expr__arithmetic__overflow_is_an_error(void **state)
{
    const struct rows *r = *state;
    expect(r, "j + 1 = 3", "2");
    expect(r, "j * j = 49", "7");
    expect(r, "j - 10 < -5", "0,1,2,3,4");
    expect(r, "j / 2 = 2.5", "5");
    expect(r, "j % 3 = 1", "1,4,7");
    expect(r, "-j % 3 = -1", "1,4,7");
    expect(r, "j % 0 is null", "0,1,2,3,4,5,6,7");
    expect(r, "j / 0 > 1", "1,2,3,4,5,6,7");
    expect(r, "2 + 3 * 4 = 14 and (2 + 3) * 4 = 20 and - - 1 = 1 and -2 - -2 = 0",
           "0,1,2,3,4,5,6,7");
    expect(r, "abs(j - 4) = 1", "3,5");
    expect(r, "d + 1 > 1e18", "4,7");
    expect(r, "u % 10 = 5", "1,4");
    expect_failure(r, "i + 1 > 0", GREBE_EINVAL, "row 5");
    expect_failure(r, "i - 1 > 0", GREBE_EINVAL, "row 6");
    expect_failure(r, "-i > 0", GREBE_EINVAL, "row 6");
    expect_failure(r, "u * 2 > 0", GREBE_EINVAL, "row 1");
    expect_failure(r, "u + 1 > 0", GREBE_EINVAL, "row 1");
    expect_failure(r, "abs(i) > 0", GREBE_EINVAL, "row 6");
}

static void test_expr__mistakes__named_with_their_place(void **state)
{
    const struct rows *r = *state;
    expect_failure(r, "", GREBE_EINVAL, "column 1: expected a value, found the end");
    expect_failure(r, "i =", GREBE_EINVAL, "column 4");
    expect_failure(r, "i = 1 2", GREBE_EINVAL, "column 7: expected and, or, or the end, found 2");
    expect_failure(r, "i = 'x", GREBE_EINVAL, "column 5");
    expect_failure(r, "i < 1 < 2", GREBE_EINVAL, "column 7");
    expect_failure(r, "i & 1", GREBE_EINVAL, "column 3: '&'");
    expect_failure(r, "i in ()", GREBE_EINVAL, "column 7");
    expect_failure(r, "i between 1", GREBE_EINVAL, "expected and");
    expect_failure(r, "i is 5", GREBE_EINVAL, "null, true or false");
    expect_failure(r, "(i = 1", GREBE_EINVAL, "expected ')'");
    expect_failure(r, "12abc = 1", GREBE_EINVAL, "quote names");
    expect_failure(r, "nope(i)", GREBE_EINVAL, "a function");
    expect_failure(r, "\"i = 1", GREBE_EINVAL, "closing");
    expect_failure(r, "żż = 1 ) ", GREBE_EINVAL, "column 8");
    expect_failure(r, "ii = 1", GREBE_ENOTFOUND, "column 1: no field \"ii\" (nearest: \"i\")");
    expect_failure(r, "st.b = 1", GREBE_ENOTFOUND, "no field \"b\"");
    expect_failure(r, "i.x = 1", GREBE_ESCHEMA, "only a struct");
    expect_failure(r, "i[0] = 1", GREBE_ESCHEMA, "only a list");
    expect_failure(r, "i = 'x'", GREBE_ESCHEMA, "int64 does not compare with string");
    expect_failure(r, "s = 5", GREBE_ESCHEMA, "string does not compare with integer");
    expect_failure(r, "flag = 1", GREBE_ESCHEMA, "bool");
    expect_failure(r, "i", GREBE_ESCHEMA, "expected true or false, found int64");
    expect_failure(r, "i and flag", GREBE_ESCHEMA, "expected a condition, found int64");
    expect_failure(r, "s + 1 = 2", GREBE_ESCHEMA, "expected a number, found string");
    expect_failure(r, "i like 'x'", GREBE_ESCHEMA, "expected a string, found int64");
    expect_failure(r, "ts = 'yesterday'", GREBE_EINVAL, "'yesterday' is no timestamp");
    expect_failure(r, "ts = '2026-02-30'", GREBE_EINVAL, "is no timestamp");
    expect_failure(r, "st = 1", GREBE_ESCHEMA, "does not compare");
    expect_failure(r, "length(i) = 1", GREBE_ESCHEMA, "a string, binary or list");
    char deep[5000];
    memset(deep, '(', 2000);
    deep[2000] = '\0';
    expect_failure(r, deep, GREBE_ELIMIT, "nested deeper than 128");
    deep[0] = '\0';
    for (int i = 0; i < 500; i++) {
        strcat(deep, "not ");
    }
    strcat(deep, "flag");
    expect_failure(r, deep, GREBE_ELIMIT, "nested deeper than 128");
    strcpy(deep, "i");
    for (int i = 0; i < 500; i++) {
        strcat(deep, "+i");
    }
    strcat(deep, "=1");
    expect_failure(r, deep, GREBE_ELIMIT, "nested deeper than 128");
    deep[0] = '\0';
    for (int i = 0; i < 900; i++) {
        strcat(deep, "abs(");
    }
    expect_failure(r, deep, GREBE_ELIMIT, "nested deeper than 128");
}

static void test_expr__printed__parses_to_the_same(void **state)
{
    const struct rows *r = *state;
    static const char *const texts[] = {
        "i = 1 and not (s like 'a%' escape '!') or \"100\" in (1, 2.5, null)",
        "i not between -1 and 2 * 3", "st.\"odd name\" = 'it''s' and li[-1] is not null",
        "bin = x'00ff' or ts > timestamp '2026-01-01' or day = date '2026-01-01'",
        "is_nan(d) and length(lower(s)) > 2 and flag is not false and - i < 0",
    };
    grebe_error err = GREBE_ERROR_INIT;
    (void)r;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct expr *e = NULL;
        struct expr *again = NULL;
        struct buf one = BUF_INIT(mem_system());
        struct buf two = BUF_INIT(mem_system());
        assert_ok(expr_parse(mem_system(), texts[i], &e, &err));
        assert_ok(expr_print(e, &one, &err));
        assert_ok(expr_parse(mem_system(), buf_text(&one), &again, &err));
        assert_ok(expr_print(again, &two, &err));
        assert_string_equal(buf_text(&one), buf_text(&two));
        expr_free(e);
        expr_free(again);
        buf_release(&one);
        buf_release(&two);
    }
}

static void test_expr__columns__top_level_and_ascending(void **state)
{
    const struct rows *r = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct expr *e = NULL;
    size_t n = 0;
    int flag = -1;
    int st = -1;
    assert_ok(schema_find(&r->schema, "flag", &flag, &err));
    assert_ok(schema_find(&r->schema, "st", &st, &err));
    assert_ok(expr_parse(mem_system(), "st.a = 1 or flag or st.a = 2", &e, &err));
    assert_ok(expr_bind(e, &r->schema, &err));
    const int *columns = expr_columns(e, &n);
    assert_int_equal(n, 2);
    assert_int_equal(columns[0], flag);
    assert_int_equal(columns[1], st);
    expr_free(e);
}

static void test_expr__no_memory__nothing_leaks(void **state)
{
    const struct rows *r = *state;
    struct test_allocator t;
    test_allocator_init(&t);
    for (size_t n = 1;; n++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct expr *e = NULL;
        uint8_t keep[1];
        t.n_calls = 0;
        t.fail_at = n;
        grebe_status st = expr_parse(
            &t.a, "(i in (1,2,3,4,5) or upper(s) = 'ABC') and st.a < 5 or dot.ted = 3", &e, &err);
        if (st == GREBE_OK) {
            st = expr_bind(e, &r->schema, &err);
        }
        if (st == GREBE_OK) {
            st = expr_eval_rows(e, &r->batch, keep, NULL, &err);
        }
        expr_free(e);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            break;
        }
        assert_true(st == GREBE_ENOMEM || st == GREBE_ENOTFOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expr__comparisons__three_valued),
        cmocka_unit_test(test_expr__numbers__exact),
        cmocka_unit_test(test_expr__text__compared_and_matched),
        cmocka_unit_test(test_expr__times__literals_cast),
        cmocka_unit_test(test_expr__nested__paths),
        cmocka_unit_test(test_expr__arithmetic__overflow_is_an_error),
        cmocka_unit_test(test_expr__mistakes__named_with_their_place),
        cmocka_unit_test(test_expr__printed__parses_to_the_same),
        cmocka_unit_test(test_expr__columns__top_level_and_ascending),
        cmocka_unit_test(test_expr__no_memory__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, load_rows, free_rows);
}
