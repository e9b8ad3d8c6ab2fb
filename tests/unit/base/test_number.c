/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/half.h"
#include "base/number.h"

static const char *print_double(double v, const struct number_style *style)
{
    static char text[NUMBER_TEXT_MAX];
    text[number_put_double(text, v, style)] = '\0';
    return text;
}

static const char *print_float(float v)
{
    static char text[NUMBER_TEXT_MAX];
    text[number_put_float(text, v, &number_style_json)] = '\0';
    return text;
}

static void test_number__known_doubles__printed_shortest(void **state)
{
    (void)state;
    const struct number_style *json = &number_style_json;
    const struct number_style *python = &number_style_python;
    assert_string_equal(print_double(1.0, json), "1.0");
    assert_string_equal(print_double(-0.0, json), "-0.0");
    assert_string_equal(print_double(0.1, json), "0.1");
    assert_string_equal(print_double(1e15, json), "1000000000000000.0");
    assert_string_equal(print_double(1e16, json), "1e16");
    assert_string_equal(print_double(1e16, python), "1e+16");
    assert_string_equal(print_double(1e-5, json), "0.00001");
    assert_string_equal(print_double(1e-5, python), "1e-05");
    assert_string_equal(print_double(1.5e-6, json), "1.5e-6");
    assert_string_equal(print_double(0.0001, python), "0.0001");
    assert_string_equal(print_double(5e-324, json), "5e-324");
    assert_string_equal(print_double(1.7976931348623157e308, json), "1.7976931348623157e308");
    assert_string_equal(print_double(2.2250738585072014e-308, json), "2.2250738585072014e-308");
    assert_string_equal(print_double(9007199254740993.0, json), "9007199254740992.0");
    assert_string_equal(print_double(123456.789, json), "123456.789");
    assert_string_equal(print_double(9.5367431640625e-07, json), "9.5367431640625e-7");
    assert_string_equal(print_double((double)INFINITY, json), "inf");
    assert_string_equal(print_double(-(double)INFINITY, json), "-inf");
    assert_string_equal(print_double((double)NAN, json), "nan");
    assert_string_equal(print_float(0.1f), "0.1");
    assert_string_equal(print_float(3.4028235e38f), "3.4028235e38");
    assert_string_equal(print_float(1e-45f), "1e-45");
    assert_string_equal(print_float(16777216.0f), "16777216.0");
    assert_string_equal(print_float(0.3f), "0.3");
}

static void check_double(uint64_t bits)
{
    double v;
    double back;
    char text[NUMBER_TEXT_MAX];
    memcpy(&v, &bits, sizeof v);
    if (isnan(v)) {
        return;
    }
    size_t n = number_put_double(text, v, &number_style_json);
    text[n] = '\0';
    assert_true(number_parse_double(text, n, &back));
    assert_memory_equal(&back, &v, sizeof v);
    back = strtod(text, NULL);
    assert_memory_equal(&back, &v, sizeof v);
    /* No shorter decimal reads back: the digits printf finds with one less do not. */
    int n_digits = 0;
    bool is_leading = true;
    for (const char *p = text; *p != '\0' && *p != 'e'; p++) {
        is_leading = is_leading && (*p == '0' || *p == '.' || *p == '-');
        n_digits += !is_leading && *p != '.';
    }
    if (n_digits > 1 && !isinf(v) && strstr(text, "0.0") == NULL && strchr(text, 'e') != NULL) {
        char shorter[64];
        snprintf(shorter, sizeof shorter, "%.*e", n_digits - 2, v);
        assert_true(strtod(shorter, NULL) != v);
    }
    /* 17 and 25 digits, as other programs write them. */
    char wide[64];
    snprintf(wide, sizeof wide, "%.24e", v);
    assert_true(number_parse_double(wide, strlen(wide), &back));
    assert_memory_equal(&back, &v, sizeof v);
}

static void check_float(uint32_t bits)
{
    float v;
    float back;
    char text[NUMBER_TEXT_MAX];
    memcpy(&v, &bits, sizeof v);
    if (isnan(v)) {
        return;
    }
    size_t n = number_put_float(text, v, &number_style_json);
    text[n] = '\0';
    assert_true(number_parse_float(text, n, &back));
    assert_memory_equal(&back, &v, sizeof v);
    back = strtof(text, NULL);
    assert_memory_equal(&back, &v, sizeof v);
}

static void test_number__random_bits__read_back(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = test_random(&seed);
        check_double(bits);
        check_float((uint32_t)bits);
        double small = (double)(int64_t)(bits >> 40) / 1000.0;
        memcpy(&bits, &small, sizeof bits);
        check_double(bits);
    }
    for (uint64_t exponent = 0; exponent < 0x7ff; exponent++) {
        check_double(exponent << 52);
        check_double((exponent << 52) + 1);
        check_double((exponent << 52) - 1);
    }
    for (uint32_t exponent = 0; exponent < 0xff; exponent++) {
        check_float(exponent << 23);
        check_float((exponent << 23) + 1);
        check_float((exponent << 23) - 1);
    }
}

static void test_number__hard_decimals__rounded_as_strtod(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "9007199254740993", "9007199254740992.99999999999999999999999999",
        "9007199254740993.00000000000000000000000000000000000000001",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "2.4703282292062327208299439634110764623241970352112e-324",
        "2.4703282292062327208299439634110764623241970352113e-324",
        "2.2250738585072011e-308", "2.2250738585072012e-308", "1.7976931348623158e308",
        "1.7976931348623159e308", "1e309", "1e-400", "0e99999999999", "1e-99999999999999999999",
        "00000000000000000000000000000000000000000001e10", "0.00000000000000000000000000000000001",
        "123456789012345678901234567890e-10", "8.5e22", "1e23", "-1.5E+3", ".5", "5.",
        "1090544144181609348671888949248", "1090544144181609348835077142190",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double mine = 0;
        assert_true(number_parse_double(texts[i], strlen(texts[i]), &mine));
        double theirs = strtod(texts[i], NULL);
        if (memcmp(&mine, &theirs, sizeof mine) != 0) {
            fail_msg("%s: %.17g, expected %.17g", texts[i], mine, theirs);
        }
        float f = 0;
        assert_true(number_parse_float(texts[i], strlen(texts[i]), &f));
        float g = strtof(texts[i], NULL);
        assert_memory_equal(&f, &g, sizeof f);
    }
}

/* Middles between neighbours, written out in full and nudged in the last place. */
static void test_number__middles__ties_to_even(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = test_random(&seed) & INT64_MAX;
        double v;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v) || v > 1e300) {
            continue;
        }
        uint64_t next_bits = bits + 1;
        double next;
        memcpy(&next, &next_bits, sizeof next);
        long double middle = ((long double)v + (long double)next) / 2;
        char text[1300];
        snprintf(text, sizeof text, "%.1100Lg", middle);
        double mine = 0;
        for (int nudge = 0; nudge < 2; nudge++) {
            assert_true(number_parse_double(text, strlen(text), &mine));
            double theirs = strtod(text, NULL);
            assert_memory_equal(&mine, &theirs, sizeof mine);
            char *e = strchr(text, 'e');
            if (e == NULL || strchr(text, '.') == NULL) {
                break;
            }
            memmove(e + 1, e, strlen(e) + 1);
            *e = '1';
        }
    }
}

static void test_number__not_numbers__refused(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "-", ".", "e5", "1e", "1e+", "1.2.3", "1 ", " 1",
                                         "0x10", "1,5", "infin", "nanx", "--1", "1_000" };
    double v;
    int64_t i;
    uint64_t u;
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        assert_false(number_parse_double(texts[k], strlen(texts[k]), &v));
        assert_false(number_parse_i64(texts[k], strlen(texts[k]), &i));
    }
    assert_true(number_parse_double("-Infinity", 9, &v) && isinf(v) && v < 0);
    assert_true(number_parse_double("NaN", 3, &v) && isnan(v));
    assert_true(number_parse_i64("-9223372036854775808", 20, &i) && i == INT64_MIN);
    assert_false(number_parse_i64("-9223372036854775809", 20, &i));
    assert_false(number_parse_i64("9223372036854775808", 19, &i));
    assert_true(number_parse_u64("18446744073709551615", 20, &u) && u == UINT64_MAX);
    assert_false(number_parse_u64("18446744073709551616", 20, &u));
    char text[NUMBER_TEXT_MAX];
    assert_int_equal(number_put_i64(text, INT64_MIN), 20);
    assert_memory_equal(text, "-9223372036854775808", 20);
}

static void test_half__all_values__there_and_back(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = half_to_float((uint16_t)h);
        if (isnan(f)) {
            assert_true((h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0);
            continue;
        }
        assert_int_equal(half_from_float(f), h);
    }
    assert_true(half_to_float(0x3c00) == 1.0f && half_to_float(1) == 0x1p-24f);
    assert_int_equal(half_from_float(65519.0f), 0x7bff);
    assert_int_equal(half_from_float(65520.0f), 0x7c00);
    assert_int_equal(half_from_float(1.0f + 0x1p-11f), 0x3c00);
    assert_int_equal(half_from_float(1.0f + 0x1.8p-11f), 0x3c01);
    assert_int_equal(half_from_float(0x1p-25f), 0);
    assert_int_equal(half_from_float(0x1.1p-25f), 1);
}

static void test_fixed__rounded_without_a_locale(void **state)
{
    static const struct { double v; int decimals; const char *text; } cases[] = {
        { 0, 2, "0.00" }, { -0.0, 1, "0.0" }, { 1.005, 1, "1.0" }, { 0.95, 1, "1.0" }, { -1.25, 1, "-1.3" }, { 12345.678, 2, "12345.68" },
        { -0.04, 1, "0.0" }, { 999.9999, 3, "1000.000" }, { 3, 0, "3" }, { 0.000000001, 9, "0.000000001" },
        { 1e300, 2, "1e300" }, { INFINITY, 1, "inf" },
    };
    char text[NUMBER_TEXT_MAX + 1];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text[number_put_fixed(text, cases[i].v, cases[i].decimals)] = '\0';
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed__rounded_without_a_locale),
        cmocka_unit_test(test_number__known_doubles__printed_shortest),
        cmocka_unit_test(test_number__random_bits__read_back),
        cmocka_unit_test(test_number__hard_decimals__rounded_as_strtod),
        cmocka_unit_test(test_number__middles__ties_to_even),
        cmocka_unit_test(test_number__not_numbers__refused),
        cmocka_unit_test(test_half__all_values__there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
