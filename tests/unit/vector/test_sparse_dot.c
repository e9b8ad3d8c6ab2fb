/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/sparse_dot.h"

#include <math.h>

#include "test_support.h"

static size_t random_row(uint64_t *seed, size_t max, uint32_t vocabulary, uint32_t *terms, float *values)
{
    const size_t n = test_random(seed) % (max + 1);
    size_t len = 0;

    for (uint32_t t = 0; t < vocabulary && len < n; t++) {
        if (test_random(seed) % 3 == 0) {
            terms[len] = t;
            values[len++] = (float)(int16_t)test_random(seed) / 77;
        }
    }
    return len;
}

static void test_sparse_dot__random_rows__sum_over_common_terms(void **state)
{
    enum { V = 200, MAX = 60 };
    uint64_t seed = test_seed();

    (void)state;
    for (int round = 0; round < 300; round++) {
        uint32_t at[MAX], bt[MAX];
        float av[MAX], bv[MAX], dense[V] = {0};
        const size_t an = random_row(&seed, MAX, V, at, av), bn = random_row(&seed, MAX, V, bt, bv);
        double sum = 0;

        for (size_t i = 0; i < an; i++) {
            dense[at[i]] = av[i];
        }
        for (size_t j = 0; j < bn; j++) {
            sum += (double)dense[bt[j]] * (double)bv[j];
        }
        assert_true(vector_sparse_dot(at, av, an, bt, bv, bn) == sum);
    }
}

static void test_sparse_dot__terms_twice__pair_one_to_one(void **state)
{
    const uint32_t row[2] = {3, 3}, once[1] = {3}, twice[2] = {3, 3};
    const float row_values[2] = {.25f, .5f}, ones[2] = {1, 1};

    (void)state;
    assert_true(vector_sparse_dot(once, ones, 1, row, row_values, 2) == .25f);
    assert_true(vector_sparse_dot(twice, ones, 2, row, row_values, 2) == .75f);
    assert_true(vector_sparse_dot(once, ones, 0, row, row_values, 2) == 0);
}

static void test_maxsim__golden_and_empty(void **state)
{
    const float q[4] = {1, 0, 0, 1}, d[4] = {1, 0, 0.6f, 0.8f};

    (void)state;
    assert_true(fabs(vector_maxsim(VECTOR_IP, q, 2, d, 2, 2) - 0.2) < 1e-7);
    assert_true(fabs(vector_maxsim(VECTOR_COSINE, q, 2, d, 2, 2) - 0.2) < 1e-7);
    assert_true(fabs(vector_maxsim(VECTOR_L2SQ, q, 2, d, 2, 2) - 0.4) < 1e-7);
    assert_true(fabs(vector_maxsim(VECTOR_EUCLIDEAN, q, 2, d, 2, 2) - sqrt(0.4)) < 1e-7);
    assert_true(isinf(vector_maxsim(VECTOR_IP, q, 2, d, 0, 2)));
    assert_true(vector_maxsim(VECTOR_IP, q, 0, d, 2, 2) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparse_dot__random_rows__sum_over_common_terms),
        cmocka_unit_test(test_sparse_dot__terms_twice__pair_one_to_one),
        cmocka_unit_test(test_maxsim__golden_and_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
