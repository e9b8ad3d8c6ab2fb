/* SPDX-License-Identifier: Apache-2.0 */
/* The fast ways against the plain ones: masks, and numbers eight digits at a time. */
#include "text/text_scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "test_support.h"
#include "text/text_type.h"

static void test_scan__any_text__every_position_once(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    const struct text_set set = { { ',', '\n', '\r', '"', ',' } };
    for (size_t len = 0; len < 9000; len += len < 300 ? 1 : 997) {
        char *text = malloc(len + 1); /* of its exact size, for the sanitizers */
        struct text_scan s;
        assert_non_null(text);
        for (size_t i = 0; i < len; i++) {
            text[i] = "ab,\n\r\"\x80\0"[test_random(&seed) % 8];
        }
        text_scan_init(&s, text, len, &set);
        for (size_t i = 0; i < len; i++) {
            if (text[i] == ',' || text[i] == '\n' || text[i] == '\r' || text[i] == '"') {
                assert_int_equal(text_scan_next(&s), i);
            }
        }
        assert_int_equal(text_scan_next(&s), len);
        assert_int_equal(text_scan_next(&s), len);
        free(text);
    }
}

static void test_scan__kernels__same_masks(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    const struct text_set set = { { ';', '\n', '\r', '\'', '\\' } };
    char text[64 * 8];
    uint64_t plain[8], fast[8];
    text_masks_fn avx2 = text_masks_avx2();
    if (avx2 == NULL || text_masks_best() != avx2) {
        skip();
    }
    for (int round = 0; round < 1000; round++) {
        for (size_t i = 0; i < sizeof text; i++) {
            uint64_t r = test_random(&seed);
            text[i] = r % 3 == 0 ? set.chars[r / 3 % 5] : (char)(r >> 8);
        }
        text_masks_scalar(&set, text, 8, plain);
        avx2(&set, text, 8, fast);
        assert_memory_equal(plain, fast, sizeof plain);
    }
}

/* A number in some form, right or wrong. */
static size_t some_number(uint64_t *seed, char *dst)
{
    size_t n = 0;
    uint64_t r = test_random(seed);
    if (r % 3 == 0) {
        dst[n++] = '-';
    }
    for (uint64_t k = test_random(seed) % 21; k > 0; k--) {
        dst[n++] = (char)('0' + test_random(seed) % 10);
    }
    if (r >> 8 & 1) {
        dst[n++] = '.';
        for (uint64_t k = test_random(seed) % 20; k > 0; k--) {
            dst[n++] = (char)('0' + test_random(seed) % 10);
        }
    }
    if ((r >> 16) % 4 == 0) {
        n += (size_t)snprintf(dst + n, 8, "e%d", (int)(test_random(seed) % 700) - 350);
    }
    if ((r >> 24) % 16 == 0 && n > 0) {
        dst[test_random(seed) % n] = "x-+. "[r >> 32 & 3];
    }
    return n;
}

static void test_number__any_text__as_the_plain_way(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 200000; round++) {
        char buffer[64], *text;
        int64_t i = 0, i_plain = 0;
        uint64_t u = 0, u_plain = 0;
        double d = 0, d_plain = 0;
        bool is_integer = false, has_exponent = false;
        size_t len = some_number(&seed, buffer);
        text = malloc(len + 1);
        assert_non_null(text);
        memcpy(text, buffer, len);
        bool is_plain = text_is_canonical(text, len);
        bool is_i64 = is_plain && number_parse_i64(text, len, &i_plain);
        bool is_u64 = is_plain && number_parse_u64(text, len, &u_plain);
        assert_int_equal(text_to_i64(text, len, &i), is_i64);
        assert_int_equal(text_to_u64(text, len, &u), is_u64);
        assert_true(!is_i64 || i == i_plain);
        assert_true(!is_u64 || u == u_plain);
        if (text_to_double(text, len, &d)) {
            assert_true(text_is_decimal(text, len, &is_integer, &has_exponent));
            assert_true(number_parse_double(text, len, &d_plain));
            assert_memory_equal(&d, &d_plain, sizeof d);
        } else if (text_is_decimal(text, len, &is_integer, &has_exponent) && !is_integer) {
            assert_true(number_parse_double(text, len, &d_plain) && isinf(d_plain));
        }
        /* types that fit, and only those */
        unsigned types = len > 0 ? text_types_of(text, len) : 0;
        assert_int_equal((types & TEXT_INT64) != 0, is_i64);
        assert_int_equal((types & TEXT_UINT64) != 0, is_u64);
        assert_int_equal((types & TEXT_DOUBLE) != 0, len > 0 && text_to_double(text, len, &d));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan__any_text__every_position_once),
        cmocka_unit_test(test_scan__kernels__same_masks),
        cmocka_unit_test(test_number__any_text__as_the_plain_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
