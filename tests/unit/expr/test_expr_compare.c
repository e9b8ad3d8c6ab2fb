/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison kernels: every variant gives what the operators of C give, for every length and alignment of the output. */
#include "expr/expr_compare.h"

#include <math.h>

#include "base/cpu.h"
#include "test_support.h"

enum { N = 300 };

static bool holds(enum compare_op op, int c, bool is_unordered)
{
    if (is_unordered) {
        return op == CMP_NE;
    }
    switch (op) {
    case CMP_EQ: return c == 0;
    case CMP_NE: return c != 0;
    case CMP_LT: return c < 0;
    case CMP_LE: return c <= 0;
    case CMP_GT: return c > 0;
    default: return c >= 0;
    }
}

static void check(const struct compare_kernels *k, enum compare_op op, size_t n)
{
    static const int64_t ints[] = { INT64_MIN, -1, 0, 1, 7, INT64_MAX };
    const double reals[] = { -INFINITY, -1.5, -0.0, 0.0, 7e300, INFINITY, (double)NAN };
    int64_t a[N] = { 0 }, b[N] = { 0 };
    uint64_t ua[N] = { 0 }, ub[N] = { 0 };
    double fa[N] = { 0 }, fb[N] = { 0 };
    uint8_t i64[N + 1], u64[N + 1], f64[N + 1];
    for (size_t i = 0; i < n; i++) {
        a[i] = ints[i % 6];
        b[i] = ints[i / 6 % 6];
        ua[i] = (uint64_t)a[i];
        ub[i] = (uint64_t)b[i];
        fa[i] = reals[i % 7];
        fb[i] = reals[i / 7 % 7];
    }
    i64[n] = u64[n] = f64[n] = 0xaa;
    k->i64(op, a, b, n, i64);
    k->u64(op, ua, ub, n, u64);
    k->f64(op, fa, fb, n, f64);
    for (size_t i = 0; i < n; i++) {
        bool is_nan = isnan(fa[i]) || isnan(fb[i]);
        assert_int_equal(i64[i], holds(op, (a[i] > b[i]) - (a[i] < b[i]), false) ? TRI_TRUE : TRI_FALSE);
        assert_int_equal(u64[i], holds(op, (ua[i] > ub[i]) - (ua[i] < ub[i]), false) ? TRI_TRUE : TRI_FALSE);
        assert_int_equal(f64[i], holds(op, (fa[i] > fb[i]) - (fa[i] < fb[i]), is_nan) ? TRI_TRUE : TRI_FALSE);
    }
    assert_true(i64[n] == 0xaa && u64[n] == 0xaa && f64[n] == 0xaa);
}

static void test_compare__every_variant__as_the_operators(void **state)
{
    (void)state;
    const struct compare_kernels *const variants[] = {
        compare_kernels_scalar(), cpu_simd_has(CPU_AVX2) ? compare_kernels_avx2() : NULL
    };
    for (size_t v = 0; v < 2; v++) {
        for (int op = CMP_EQ; op <= CMP_GE && variants[v] != NULL; op++) {
            for (size_t n = 0; n <= N; n += n < 70 ? 1 : 23) {
                check(variants[v], (enum compare_op)op, n);
            }
        }
    }
    assert_non_null(compare_kernels());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare__every_variant__as_the_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
