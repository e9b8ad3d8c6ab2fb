/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pcg64.h"

#include "test_sha256.h"
#include "test_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* Every number here is numpy's (2.4.6, and 1.24.2 before it). */

static struct pcg64 seeded(uint64_t seed)
{
    struct pcg64 g;
    pcg64_seed_u64(seed, &g);
    return g;
}

static void assert_permutation(struct pcg64 g, int64_t n, const int64_t *expected, size_t shown)
{
    int64_t *rows = malloc((size_t)n * sizeof *rows);
    assert_non_null(rows);
    pcg64_permutation(&g, n, rows);
    for (size_t i = 0; i < shown; i++) {
        assert_int_equal(rows[i], expected[i]);
    }
    free(rows);
}

static void test_pcg64_seed__vectors__state_and_numbers(void **state)
{
    (void)state;
    struct pcg64 g = seeded(0);
    assert_true(g.state_high == UINT64_C(0x1aa1b5345996452d) && g.state_low == UINT64_C(0x09585eb7a69561e3));
    assert_true(g.inc_high == UINT64_C(0x418ddadb3af71a82) && g.inc_low == UINT64_C(0x588133bc447873a9));
    assert_true(pcg64_next64(&g) == UINT64_C(0xa30febcfd9c2825f));
    assert_true(pcg64_next64(&g) == UINT64_C(0x4510bdf882d9d721));
    assert_true(pcg64_next64(&g) == UINT64_C(0x0a7d3da94ecde8b8));
    g = seeded(42);
    assert_true(g.state_high == UINT64_C(0xcea44f6798798f2a) && g.state_low == UINT64_C(0xacbc7c9d68860ac8));
    assert_true(g.inc_high == UINT64_C(0xfa505436c9a8416e) && g.inc_low == UINT64_C(0x66caf2e28d25abff));
    assert_true(pcg64_next64(&g) == UINT64_C(0xc621fbcd16d92688));
    assert_true(pcg64_next64(&g) == UINT64_C(0x705a5661a791ffc1));
    assert_true(pcg64_next64(&g) == UINT64_C(0xdbcd12c26eda1624));
    g = seeded(42);
    assert_true(pcg64_double(&g) == 0.7739560485559633);
    assert_true(pcg64_double(&g) == 0.4388784397520523);
    assert_true(pcg64_double(&g) == 0.8585979199113825);
}

static void test_pcg64_next32__doubles_between__half_is_kept(void **state)
{
    (void)state;
    struct pcg64 g = seeded(42);
    assert_int_equal(pcg64_next32(&g), 0x16d92688);
    assert_true(pcg64_double(&g) == 0.4388784397520523);
    assert_int_equal(pcg64_next32(&g), 0xc621fbcd);
}

static void test_pcg64_integer__vectors__equal(void **state)
{
    (void)state;
    static const uint64_t tens[] = {0, 7, 6, 4, 4, 8, 0, 6, 2, 0, 5, 9}, fives[] = {4, 3, 2, 1, 1, 0, 0, 0, 0, 4, 3, 4},
                          thousands[] = {89, 773, 654, 438, 433, 858, 85, 697};
    struct pcg64 g = seeded(42);
    for (size_t i = 0; i < 12; i++) {
        assert_true(pcg64_integer(&g, 9) == tens[i]);
    }
    g = seeded(0);
    for (size_t i = 0; i < 12; i++) {
        assert_true(pcg64_integer(&g, 4) == fives[i]);
    }
    g = seeded(42);
    for (size_t i = 0; i < 8; i++) {
        assert_true(pcg64_integer(&g, 999) == thousands[i]);
    }
    g = seeded(42);
    assert_true(pcg64_integer(&g, INT64_MAX) == UINT64_C(7138484576005690180));
    assert_true(pcg64_integer(&g, INT64_MAX) == UINT64_C(4047939128787533792));
    g = seeded(42);
    assert_true(pcg64_integer(&g, UINT32_MAX) == UINT64_C(0x16d92688));
    assert_true(pcg64_integer(&g, 0) == 0);
    assert_true(pcg64_integer(&g, UINT32_MAX) == UINT64_C(0xc621fbcd));
    assert_true(pcg64_integer(&g, UINT64_MAX) == UINT64_C(0x705a5661a791ffc1));
}

static void test_pcg64_shuffle__behind_integers__vector(void **state)
{
    (void)state;
    struct pcg64 g = seeded(42);
    uint64_t sum = 0;
    for (size_t i = 0; i < 1000; i++) {
        sum += pcg64_integer(&g, 4);
    }
    assert_int_equal(sum, 2011);
    int64_t rows[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const int64_t expected[] = {7, 5, 3, 2, 0, 8, 9, 1, 4, 6};
    pcg64_shuffle(&g, rows, 10);
    assert_memory_equal(rows, expected, sizeof expected);
}

static void test_pcg64_permutation__small__vectors(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed;
        int64_t rows[10];
    } cases[] = {
        {0, {4, 6, 2, 7, 3, 5, 9, 0, 8, 1}},
        {1, {8, 4, 7, 0, 1, 2, 5, 9, 6, 3}},
        {42, {5, 6, 0, 7, 3, 2, 4, 9, 1, 8}},
        {1234, {8, 9, 5, 0, 2, 6, 4, 7, 1, 3}},
        {UINT64_C(4294967301), {6, 7, 4, 2, 5, 0, 9, 8, 3, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_permutation(seeded(cases[i].seed), 10, cases[i].rows, 10);
    }
    static const int64_t thirty[] = {28, 5,  10, 11, 24, 9,  17, 12, 0, 25, 27, 3,  22, 8,  15,
                                     13, 2,  16, 21, 29, 7,  6,  4,  18, 14, 20, 23, 1,  19, 26};
    assert_permutation(seeded(1234), 30, thirty, 30);
    static const int64_t twenty[] = {15, 9, 14, 7, 12, 10, 6, 19};
    assert_permutation(seeded(42), 20, twenty, 8);
    struct pcg64 g = seeded(7), before = g;
    int64_t one = 0;
    pcg64_permutation(&g, 0, &one);
    pcg64_permutation(&g, 1, &one);
    assert_memory_equal(&g, &before, sizeof g);
}

/* Seeds of many words: default_rng(2**70 + 5), default_rng([1, 2, 3, 4, 5, 6]), default_rng([2**40, 7]). */
static void test_pcg64_seed__many_words__as_numpy(void **state)
{
    (void)state;
    static const struct {
        uint32_t words[6];
        size_t n;
        int64_t rows[10];
    } cases[] = {
        {{5u, 0u, 64u}, 3, {6, 3, 1, 2, 7, 8, 9, 5, 0, 4}},
        {{1u, 2u, 3u, 4u, 5u, 6u}, 6, {0, 9, 7, 8, 3, 6, 5, 4, 1, 2}},
        {{0u, 256u, 7u}, 3, {5, 7, 8, 4, 3, 2, 0, 1, 6, 9}},
        {{0u}, 1, {4, 6, 2, 7, 3, 5, 9, 0, 8, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pcg64 g;
        grebe_error err = GREBE_ERROR_INIT;
        assert_ok(pcg64_seed(mem_system(), cases[i].words, cases[i].n, &g, &err));
        assert_permutation(g, 10, cases[i].rows, 10);
    }
}

static void check_long(int64_t n, const int64_t first[5], const int64_t last[3], const char *digest)
{
    int64_t *rows = malloc((size_t)n * sizeof *rows);
    assert_non_null(rows);
    struct pcg64 g = seeded(42);
    clock_t begin = clock();
    pcg64_permutation(&g, n, rows);
    print_message("permutation of %lld: %.1f ms\n", (long long)n, (double)(clock() - begin) * 1e3 / CLOCKS_PER_SEC);
    assert_memory_equal(rows, first, 5 * sizeof *first);
    assert_memory_equal(rows + n - 3, last, 3 * sizeof *last);
    char hex[65];
    test_sha256(rows, (size_t)n * sizeof *rows, hex);
    assert_string_equal(hex, digest);
    free(rows);
}

static void test_pcg64_permutation__long__digests(void **state)
{
    (void)state;
    check_long(1000, (int64_t[]){978, 933, 859, 916, 127}, (int64_t[]){961, 973, 648},
               "9f551c62131b8c8bac0e9eed9d7a82dc1fbda75798054d6842f410082c746263");
    check_long(100000, (int64_t[]){45262, 49850, 30394, 90177, 95569}, (int64_t[]){5668, 22113, 75400},
               "337067d090e589bed0be84bfdecdd573a3b19e81194f0e861e4d85d0e7dea921");
    check_long(1000000, (int64_t[]){97305, 228106, 970098, 780379, 966161}, (int64_t[]){131009, 129997, 599688},
               "0676a5d2f53412cb00bed48fcc1cfba1ba1722e3b9aab7f9aac374b99765d2a6");
}

/* Slow and of 800 MB: only when asked for. */
static void test_pcg64_permutation__hundred_million__time(void **state)
{
    (void)state;
    if (getenv("GREBE_TEST_LONG") == NULL) {
        skip();
    }
    int64_t n = 100000000, *rows = aligned_alloc((size_t)1 << 21, ((size_t)n * sizeof *rows | 0x1fffff) + 1);
    assert_non_null(rows);
    madvise(rows, (size_t)n * sizeof *rows, MADV_HUGEPAGE); /* as the context's pool of large buffers does */
    struct pcg64 g = seeded(42);
    clock_t begin = clock();
    pcg64_permutation(&g, n, rows);
    print_message("permutation of 10^8: %.2f s\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (uint64_t)rows[i];
    }
    assert_true(sum == (uint64_t)n * (uint64_t)(n - 1) / 2);
    free(rows);
}

static void test_pcg64_choose__vector__and_what_are_no_probabilities(void **state)
{
    (void)state;
    static const double p[] = {0.7, 0.2, 0.1};
    static const size_t expected[] = {1, 0, 1, 0, 0, 2, 1, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 1, 0};
    double cdf[3];
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(pcg64_cdf(p, 3, cdf, &err));
    struct pcg64 g = seeded(42);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(pcg64_choose(&g, cdf, 3), expected[i]);
    }
    assert_fails(pcg64_cdf((double[]){0.5, 0.4}, 2, cdf, &err), GREBE_EINVAL, "sum to");
    assert_fails(pcg64_cdf((double[]){1.5, -0.5}, 2, cdf, &err), GREBE_EINVAL, "negative");
    assert_fails(pcg64_cdf((double[]){0.5, (double)NAN}, 2, cdf, &err), GREBE_EINVAL, "not a number");
    assert_fails(pcg64_cdf(p, 0, cdf, &err), GREBE_EINVAL, "sum to");
    assert_ok(pcg64_cdf((double[]){0.5, 0.5 + 1e-9}, 2, cdf, &err));
}

static void test_pcg64_choose_distinct__vectors__both_methods(void **state)
{
    (void)state;
    static const int64_t few[] = {4, 0, 5, 6}, few_of_many[] = {15476, 8777, 13090, 1784, 8660},
                         many[] = {9742, 18275, 6853, 10003, 11897, 10066};
    int64_t out[1000];
    grebe_error err = GREBE_ERROR_INIT;
    struct pcg64 g = seeded(42);
    assert_ok(pcg64_choose_distinct(mem_system(), &g, 10, 4, out, &err));
    assert_memory_equal(out, few, sizeof few);
    g = seeded(42);
    assert_ok(pcg64_choose_distinct(mem_system(), &g, 20000, 5, out, &err));
    assert_memory_equal(out, few_of_many, sizeof few_of_many);
    g = seeded(42);
    assert_ok(pcg64_choose_distinct(mem_system(), &g, 20000, 1000, out, &err));
    assert_memory_equal(out, many, sizeof many);
    assert_ok(pcg64_choose_distinct(mem_system(), &g, 5, 5, out, &err));
    int64_t sum = out[0] + out[1] + out[2] + out[3] + out[4];
    assert_int_equal(sum, 10);
    assert_ok(pcg64_choose_distinct(mem_system(), &g, 0, 0, out, &err));
    assert_fails(pcg64_choose_distinct(mem_system(), &g, 3, 4, out, &err), GREBE_EINVAL, "without repeating");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pcg64_seed__vectors__state_and_numbers),
        cmocka_unit_test(test_pcg64_next32__doubles_between__half_is_kept),
        cmocka_unit_test(test_pcg64_integer__vectors__equal),
        cmocka_unit_test(test_pcg64_shuffle__behind_integers__vector),
        cmocka_unit_test(test_pcg64_permutation__small__vectors),
        cmocka_unit_test(test_pcg64_seed__many_words__as_numpy),
        cmocka_unit_test(test_pcg64_permutation__long__digests),
        cmocka_unit_test(test_pcg64_permutation__hundred_million__time),
        cmocka_unit_test(test_pcg64_choose__vector__and_what_are_no_probabilities),
        cmocka_unit_test(test_pcg64_choose_distinct__vectors__both_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
