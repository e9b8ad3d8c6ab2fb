/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/distance.h"

#include <math.h>
#include <stdlib.h>

#include "base/half.h"
#include "test_support.h"

/* Every variant, metric and type against sums in long double, in memory of exactly the size (so that the address
 * sanitizer sees a byte too far), rows unaligned and at odd strides. */

enum { N_ROWS = 7 };

static const enum vector_metric dense_metrics[] = {VECTOR_EUCLIDEAN, VECTOR_L2SQ, VECTOR_IP, VECTOR_COSINE};
static const enum vector_metric bit_metrics[] = {VECTOR_HAMMING, VECTOR_JACCARD};

static float random_component(uint64_t *seed)
{
    return (float)((int64_t)(test_random(seed) >> 40) - (1 << 23)) * 0x1p-22f;
}

static void put(enum vector_elem elem, unsigned char *row, size_t i, uint64_t *seed)
{
    const float v = random_component(seed);
    const uint16_t half = half_from_float(v);
    uint32_t bits;
    uint16_t top;

    memcpy(&bits, &v, 4);
    top = (uint16_t)(bits >> 16);
    switch (elem) {
    case VECTOR_F32:
        memcpy(row + 4 * i, &v, 4);
        break;
    case VECTOR_F16:
        memcpy(row + 2 * i, &half, 2);
        break;
    case VECTOR_BF16:
        memcpy(row + 2 * i, &top, 2);
        break;
    default:
        row[i] = (uint8_t)test_random(seed);
        break;
    }
}

static long double component(enum vector_elem elem, const unsigned char *row, size_t i)
{
    uint16_t h;
    uint32_t bits;
    float v;

    switch (elem) {
    case VECTOR_F32:
        memcpy(&v, row + 4 * i, 4);
        return v;
    case VECTOR_F16:
        memcpy(&h, row + 2 * i, 2);
        return half_to_float(h);
    case VECTOR_BF16:
        memcpy(&h, row + 2 * i, 2);
        bits = (uint32_t)h << 16;
        memcpy(&v, &bits, 4);
        return v;
    case VECTOR_I8:
        return (int8_t)row[i];
    case VECTOR_U8:
        return row[i];
    default:
        return row[i / 8] >> (7 - i % 8) & 1;
    }
}

/* What the kernel gives, and the sum of magnitudes that its error is measured with. */
static long double oracle(enum vector_metric metric, enum vector_elem elem, const unsigned char *a,
                          const unsigned char *b, uint32_t dim, long double *scale)
{
    long double sum = 0, both = 0, either = 0;

    *scale = 0;
    for (uint32_t i = 0; i < dim; i++) {
        const long double x = component(elem, a, i), y = component(elem, b, i);
        const long double term = metric <= VECTOR_L2SQ ? (x - y) * (x - y) : -(x * y);

        both += x != 0 && y != 0;
        either += x != 0 || y != 0;
        sum += term;
        *scale += fabsl(term);
    }
    if (metric == VECTOR_HAMMING) {
        return either - both;
    }
    if (metric == VECTOR_JACCARD) {
        return either == 0 ? 1 : 1 - both / either;
    }
    return sum;
}

static void check_value(enum vector_metric metric, enum vector_elem elem, const unsigned char *q,
                        const unsigned char *row, uint32_t dim, float found)
{
    long double scale;
    const long double expected = oracle(metric, elem, q, row, dim, &scale);
    long double tolerance = 0;

    if (elem <= VECTOR_BF16) {
        tolerance = scale * dim * 0x1p-24L + 1e-30L;
    } else if (metric == VECTOR_JACCARD || expected > 0x1p24L || expected < -0x1p24L) {
        assert_true((float)expected == found); /* the integer is exact, the result its nearest float */
        return;
    }
    if (!(fabsl((long double)found - expected) <= tolerance)) {
        fail_msg("metric %d, element %d, dim %u: expected %.9Lg, found %.9g", (int)metric, (int)elem, dim, expected,
                 (double)found);
    }
}

static void check_forms(enum cpu_simd level, enum vector_metric metric, enum vector_elem elem, uint32_t dim,
                        size_t gap, uint64_t *seed)
{
    const struct vector_distance_ops *ops = vector_distance_ops_of(level, metric, elem);
    const size_t bytes = vector_row_bytes(elem, dim), stride = bytes + gap;
    unsigned char *rows = malloc(stride * (N_ROWS - 1) + bytes), *query = malloc(bytes + 1);
    const uint32_t ids[N_ROWS] = {6, 0, 3, 3, 5, 1, 2};
    float many[N_ROWS], gathered[N_ROWS], four[4];
    const void *const four_rows[4] = {rows + stride, rows + 5 * stride, rows, rows + 6 * stride};

    assert_non_null(ops);
    memset(rows, 0, stride * (N_ROWS - 1) + bytes);
    for (size_t r = 0; r < N_ROWS; r++) {
        for (size_t i = 0; i < (elem == VECTOR_BIT ? bytes : dim); i++) {
            put(elem, rows + r * stride, i, seed);
        }
    }
    for (size_t i = 0; i < (elem == VECTOR_BIT ? bytes : dim); i++) {
        put(elem, query + 1, i, seed);
    }
    ops->many(query + 1, rows, stride, N_ROWS, dim, many);
    ops->gather(query + 1, rows, stride, ids, N_ROWS, dim, gathered);
    ops->four(query + 1, four_rows, dim, four);
    for (size_t r = 0; r < N_ROWS; r++) {
        check_value(metric, elem, query + 1, rows + r * stride, dim, many[r]);
        assert_memory_equal(&gathered[r], &many[ids[r]], sizeof(float));
    }
    assert_memory_equal(&four[0], &many[1], sizeof(float));
    assert_memory_equal(&four[1], &many[5], sizeof(float));
    assert_memory_equal(&four[2], &many[0], sizeof(float));
    assert_memory_equal(&four[3], &many[6], sizeof(float));
    free(rows);
    free(query);
}

static void check_dim(uint32_t dim, uint64_t *seed)
{
    for (int level = CPU_SCALAR; level <= CPU_AVX512; level++) {
        if (!cpu_simd_has((enum cpu_simd)level)) {
            continue;
        }
        for (size_t m = 0; m < 4; m++) {
            for (int elem = VECTOR_F32; elem <= VECTOR_U8; elem++) {
                check_forms((enum cpu_simd)level, dense_metrics[m], (enum vector_elem)elem, dim, dim % 3, seed);
            }
        }
        for (size_t m = 0; m < 2; m++) {
            check_forms((enum cpu_simd)level, bit_metrics[m], VECTOR_BIT, dim, dim % 3, seed);
        }
    }
}

static void test_distance__every_variant_and_dim__float64_sums(void **state)
{
    uint64_t seed = test_seed();

    (void)state;
    for (uint32_t dim = 1; dim <= 130; dim++) {
        check_dim(dim, &seed);
    }
    check_dim(768, &seed);
    check_dim(1536, &seed);
    check_dim(1543, &seed);
}

static void test_distance__largest_integers__exact(void **state)
{
    const uint32_t dim = VECTOR_INT_DIM_MAX;
    unsigned char *low = malloc(dim), *high = malloc(dim);

    (void)state;
    memset(low, 0, dim);
    memset(high, 0xff, dim);
    for (int level = CPU_SCALAR; level <= CPU_AVX512; level++) {
        float out;

        if (!cpu_simd_has((enum cpu_simd)level)) {
            continue;
        }
        vector_distance_ops_of((enum cpu_simd)level, VECTOR_L2SQ, VECTOR_U8)->many(low, high, dim, 1, dim, &out);
        assert_true(out == (float)((int64_t)dim * 65025));
        vector_distance_ops_of((enum cpu_simd)level, VECTOR_IP, VECTOR_U8)->many(high, high, dim, 1, dim, &out);
        assert_true(out == -(float)((int64_t)dim * 65025));
        memset(low, 0x80, dim);
        memset(high, 0x7f, dim);
        vector_distance_ops_of((enum cpu_simd)level, VECTOR_L2SQ, VECTOR_I8)->many(low, high, dim, 1, dim, &out);
        assert_true(out == (float)((int64_t)dim * 65025));
        vector_distance_ops_of((enum cpu_simd)level, VECTOR_IP, VECTOR_I8)->many(low, low, dim, 1, dim, &out);
        assert_true(out == -(float)((int64_t)dim * 16384));
        memset(low, 0, dim);
        memset(high, 0xff, dim);
    }
    free(low);
    free(high);
}

static void test_distance__nan_inf_and_zero__propagate(void **state)
{
    (void)state;
    for (int level = CPU_SCALAR; level <= CPU_AVX512; level++) {
        for (uint32_t dim = 1; dim <= 40 && cpu_simd_has((enum cpu_simd)level); dim++) {
            const struct vector_distance_ops *l2 = vector_distance_ops_of((enum cpu_simd)level, VECTOR_L2SQ, VECTOR_F32);
            const struct vector_distance_ops *ip = vector_distance_ops_of((enum cpu_simd)level, VECTOR_IP, VECTOR_F32);

            for (uint32_t at = 0; at < dim; at++) {
                float q[40], row[40], out;

                for (uint32_t i = 0; i < dim; i++) {
                    q[i] = 1;
                    row[i] = 0;
                }
                ip->many(q, row, 0, 1, dim, &out);
                assert_true(out == 0);
                row[at] = NAN;
                l2->many(q, row, 0, 1, dim, &out);
                assert_true(isnan(out));
                ip->many(q, row, 0, 1, dim, &out);
                assert_true(isnan(out));
                row[at] = INFINITY;
                l2->many(q, row, 0, 1, dim, &out);
                assert_true(out == INFINITY);
                ip->many(q, row, 0, 1, dim, &out);
                assert_true(out == -INFINITY);
            }
        }
    }
}

static void test_distance_exact__all_types__long_double_sums(void **state)
{
    uint64_t seed = test_seed();

    (void)state;
    for (uint32_t dim = 1; dim <= 200; dim++) {
        for (int elem = VECTOR_F32; elem <= VECTOR_BIT; elem++) {
            unsigned char a[800], b[800];
            long double scale, aa, bb, l2, dot;

            for (size_t i = 0; i < dim; i++) {
                put((enum vector_elem)elem, a, i, &seed);
                put((enum vector_elem)elem, b, i, &seed);
            }
            if (elem == VECTOR_BIT) {
                assert_true(fabsl(vector_distance_exact(VECTOR_HAMMING, VECTOR_BIT, a, b, dim) -
                                  oracle(VECTOR_HAMMING, VECTOR_BIT, a, b, dim, &scale) / dim) < 1e-15L);
                assert_true(fabsl(vector_distance_exact(VECTOR_JACCARD, VECTOR_BIT, a, b, dim) -
                                  oracle(VECTOR_JACCARD, VECTOR_BIT, a, b, dim, &scale)) < 1e-15L);
                continue;
            }
            l2 = oracle(VECTOR_L2SQ, (enum vector_elem)elem, a, b, dim, &scale);
            assert_true(fabsl(vector_distance_exact(VECTOR_L2SQ, (enum vector_elem)elem, a, b, dim) - l2) <= l2 * 1e-14L);
            assert_true(fabsl(vector_distance_exact(VECTOR_EUCLIDEAN, (enum vector_elem)elem, a, b, dim) - sqrtl(l2)) <=
                        sqrtl(l2) * 1e-14L);
            dot = oracle(VECTOR_IP, (enum vector_elem)elem, a, b, dim, &scale);
            assert_true(fabsl(vector_distance_exact(VECTOR_IP, (enum vector_elem)elem, a, b, dim) - (1 + dot)) <=
                        (1 + scale) * 1e-14L);
            aa = -oracle(VECTOR_IP, (enum vector_elem)elem, a, a, dim, &scale);
            bb = -oracle(VECTOR_IP, (enum vector_elem)elem, b, b, dim, &scale);
            if (aa > 0 && bb > 0) {
                assert_true(fabsl(vector_distance_exact(VECTOR_COSINE, (enum vector_elem)elem, a, b, dim) -
                                  (1 + dot / sqrtl(aa * bb))) <= 1e-13L);
            }
        }
    }
    assert_true(vector_distance_exact(VECTOR_COSINE, VECTOR_F32, (const float[2]){0, 0}, (const float[2]){1, 2}, 2) == 1);
}

static void test_distance_ops__no_such_pair__null(void **state)
{
    (void)state;
    assert_null(vector_distance_ops(VECTOR_L2SQ, VECTOR_BIT));
    assert_null(vector_distance_ops(VECTOR_COSINE, VECTOR_BIT));
    assert_null(vector_distance_ops(VECTOR_HAMMING, VECTOR_U8));
    assert_null(vector_distance_ops(VECTOR_JACCARD, VECTOR_F32));
    assert_null(vector_distance_ops(VECTOR_IP, VECTOR_F64));
    assert_null(vector_distance_ops(VECTOR_IP, (enum vector_elem)77));
    assert_ptr_equal(vector_distance_ops(VECTOR_COSINE, VECTOR_F32), vector_distance_ops(VECTOR_IP, VECTOR_F32));
}

static void test_normalise__zero_and_unit(void **state)
{
    const float v[3] = {3, 0, -4}, zero[3] = {0, 0, 0}, huge[2] = {3e38f, 3e38f}, bad[2] = {NAN, 1};
    float out[3];

    (void)state;
    assert_true(vector_normalise(v, 3, out) == 5);
    assert_true(out[0] == 0.6f && out[1] == 0 && out[2] == -0.8f);
    assert_true(vector_normalise(zero, 3, out) == 0);
    assert_true(out[0] == 0 && out[2] == 0);
    assert_true(isinf(vector_normalise(huge, 2, out)));
    assert_true(fabsf(out[0] - 0.70710678f) < 1e-6f);
    assert_true(isnan(vector_normalise(bad, 2, out)));
}

static void test_to_f32__all_types(void **state)
{
    uint64_t seed = test_seed();
    float out[41];
    double doubles[3] = {1e300, -0.1, 2};

    (void)state;
    for (int elem = VECTOR_F32; elem <= VECTOR_U8; elem++) {
        for (size_t n = 0; n <= 40; n++) {
            unsigned char *src = malloc(vector_row_bytes((enum vector_elem)elem, 40) + 1);

            for (size_t i = 0; i < n; i++) {
                put((enum vector_elem)elem, src + 1, i, &seed);
            }
            out[n] = 77;
            vector_to_f32((enum vector_elem)elem, src + 1, n, out);
            for (size_t i = 0; i < n; i++) {
                assert_true((long double)out[i] == component((enum vector_elem)elem, src + 1, i));
            }
            assert_true(out[n] == 77);
            free(src);
        }
    }
    vector_to_f32(VECTOR_F64, doubles, 3, out);
    assert_true(isinf(out[0]) && out[1] == -0.1f && out[2] == 2);
}

static void test_half_to_f32__every_number(void **state)
{
    static uint16_t all[65536];
    static float out[65536];

    (void)state;
    for (size_t i = 0; i < 65536; i++) {
        all[i] = (uint16_t)i;
    }
    vector_to_f32(VECTOR_F16, all, 65536, out);
    for (size_t i = 0; i < 65536; i++) {
        const float expected = half_to_float((uint16_t)i);

        assert_true(isnan(expected) ? isnan(out[i]) : memcmp(&expected, &out[i], 4) == 0);
    }
}

static void test_metric__names_and_finish(void **state)
{
    grebe_error err = {0};
    enum vector_metric m;

    (void)state;
    for (int i = VECTOR_EUCLIDEAN; i <= VECTOR_JACCARD; i++) {
        assert_ok(vector_metric_parse(vector_metric_name((enum vector_metric)i), &m, &err));
        assert_int_equal(m, i);
    }
    assert_ok(vector_metric_parse("cosine", &m, &err));
    assert_int_equal(m, VECTOR_COSINE);
    assert_fails(vector_metric_parse("l1", &m, &err), GREBE_EINVAL, "angular");
    assert_fails(vector_metric_parse(NULL, &m, &err), GREBE_EINVAL, "angular");
    assert_null(vector_metric_name((enum vector_metric)6));
    assert_null(vector_elem_name((enum vector_elem)7));
    assert_true(vector_metric_finish(VECTOR_EUCLIDEAN, 3, 4) == 2);
    assert_true(vector_metric_finish(VECTOR_EUCLIDEAN, 3, -1e-9f) == 0);
    assert_true(vector_metric_finish(VECTOR_COSINE, 3, -0.0f) == 1);
    assert_true(vector_metric_finish(VECTOR_IP, 3, -3) == -2);
    assert_true(vector_metric_finish(VECTOR_HAMMING, 8, 2) == 0.25f);
    assert_int_equal(vector_row_bytes(VECTOR_BIT, 9), 2);
    assert_int_equal(vector_row_bytes((enum vector_elem)7, 9), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance__every_variant_and_dim__float64_sums),
        cmocka_unit_test(test_distance__largest_integers__exact),
        cmocka_unit_test(test_distance__nan_inf_and_zero__propagate),
        cmocka_unit_test(test_distance_exact__all_types__long_double_sums),
        cmocka_unit_test(test_distance_ops__no_such_pair__null),
        cmocka_unit_test(test_normalise__zero_and_unit),
        cmocka_unit_test(test_to_f32__all_types),
        cmocka_unit_test(test_half_to_f32__every_number),
        cmocka_unit_test(test_metric__names_and_finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
