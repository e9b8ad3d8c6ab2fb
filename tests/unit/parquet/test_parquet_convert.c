/* SPDX-License-Identifier: Apache-2.0 */
/* Decimals of every stored width, many at once, against one at a time. */
#include "parquet/parquet_column.h"

#include <stdlib.h>

#include "test_support.h"

static void check_width(enum pq_convert convert, int32_t width_in, int32_t width_out, size_t n,
                        uint64_t *seed)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct pq_node node = { .convert = convert, .width_in = width_in, .width_out = width_out };
    size_t w = (size_t)width_in, to = (size_t)width_out;
    unsigned char *src = malloc(n * w), *dst = malloc(n * to), one[32], swapped[16];
    for (size_t i = 0; i < n * w; i++) { /* extremes among random ones */
        uint64_t v = test_random(seed);
        src[i] = (unsigned char)(v % 4 == 0 ? 0 : v % 4 == 1 ? 0xff : v % 4 == 2 ? 0x80 : v >> 8);
    }
    assert_ok(pq_convert_values(&node, src, dst, n, &err));
    for (size_t i = 0; i < n; i++) {
        const unsigned char *v = src + i * w;
        if (convert == PQ_CONVERT_SIGN_EXTEND) {
            for (size_t k = 0; k < w; k++) {
                swapped[k] = v[w - 1 - k];
            }
            v = swapped;
        }
        assert_ok(pq_convert_decimal(v, w, one, to, &err));
        assert_memory_equal(dst + i * to, one, to);
    }
    free(src);
    free(dst);
}

static void test_convert__decimals_of_every_width__as_one_by_one(void **state)
{
    uint64_t seed = test_seed();
    (void)state;
    for (int32_t w = 1; w <= 16; w++) {
        for (size_t n = 1; n <= 40; n++) { /* the last ones go another way than the first */
            check_width(PQ_CONVERT_DECIMAL_BE, w, 16, n, &seed);
        }
        check_width(PQ_CONVERT_DECIMAL_BE, w, 32, 20, &seed);
    }
    static const int32_t stored[] = { 4, 8 };
    for (int i = 0; i < 2; i++) {
        check_width(PQ_CONVERT_SIGN_EXTEND, stored[i], 16, 33, &seed);
        check_width(PQ_CONVERT_SIGN_EXTEND, stored[i], 32, 33, &seed);
    }
    check_width(PQ_CONVERT_SIGN_EXTEND, 4, 8, 33, &seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convert__decimals_of_every_width__as_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
