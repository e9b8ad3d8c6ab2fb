/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of bloom filters, against a filter that Parquet's own project wrote. */
#include "parquet/parquet_bloom.h"

#include <stdlib.h>

#include "parquet/parquet_meta.h"
#include "test_support.h"

#define GOLDEN TEST_DATA "/golden/parquet/testing/"

static uint64_t hash_text(const char *s) { return pq_bloom_hash(s, strlen(s)); }

static void test_bloom__filter_of_parquet_testing__words_found(void **state)
{
    static const char *const inside[] = { "hello", "parquet", "bloom", "filter" };
    static const char *const outside[] = { "world", "x", "", "Hello", "filter " };
    grebe_error err = GREBE_ERROR_INIT;
    struct pq_bloom_header h;
    size_t len = 0, header_len = 0;
    (void)state;
    unsigned char *bytes = test_read_file(GOLDEN "bloom_filter.xxhash.bin", &len);
    assert_ok(pq_bloom_header_decode(bytes, len, &h, &header_len, &err));
    assert_true(h.is_usable);
    assert_int_equal(h.n_bytes, 1024);
    assert_int_equal(header_len + 1024, len);
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        assert_true(pq_bloom_probe(bytes + header_len, 1024, hash_text(inside[i])));
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        assert_false(pq_bloom_probe(bytes + header_len, 1024, hash_text(outside[i])));
    }
    free(bytes);
}

/* Made before the format had headers, with another hash: never taken for one of ours. */
static void test_bloom__filter_of_old__refused(void **state)
{
    struct pq_bloom_header h;
    size_t len = 0, header_len = 0;
    (void)state;
    unsigned char *bytes = test_read_file(GOLDEN "bloom_filter.bin", &len);
    grebe_status st = pq_bloom_header_decode(bytes, len, &h, &header_len, NULL);
    assert_true(st != GREBE_OK || !h.is_usable);
    free(bytes);
}

/* Algorithm, hash and compression each must be the one that is defined. */
static void test_bloom__header_of_another_kind__not_usable(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    /* i32 1024; three unions of one struct each, whose member number is the byte behind the tag */
    unsigned char bytes[] = { 0x15, 0x80, 0x10, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00,
                              0x1c, 0x1c, 0x00, 0x00, 0x00 };
    static const size_t members[] = { 4, 8, 12 };
    struct pq_bloom_header h;
    size_t header_len = 0;
    (void)state;
    assert_ok(pq_bloom_header_decode(bytes, sizeof bytes, &h, &header_len, &err));
    assert_true(h.is_usable);
    assert_int_equal(h.n_bytes, 1024);
    assert_int_equal(header_len, sizeof bytes);
    for (size_t i = 0; i < 3; i++) {
        bytes[members[i]] = 0x2c; /* member 2 */
        assert_ok(pq_bloom_header_decode(bytes, sizeof bytes, &h, &header_len, &err));
        assert_false(h.is_usable);
        bytes[members[i]] = 0x1c;
    }
    bytes[1] = 0x82; /* 1025 bytes: no whole blocks */
    assert_ok(pq_bloom_header_decode(bytes, sizeof bytes, &h, &header_len, &err));
    assert_false(h.is_usable);
}

static void test_bloom__a_million_values__rate_and_no_miss(void **state)
{
    enum { N = 1000000 };
    static const double rates[] = { 0.01, 0.05 };
    (void)state;
    for (size_t r = 0; r < 2; r++) {
        /* The size cap of the writer does not hold a million values: parts of a size that fits. */
        enum { PART = 50000 };
        size_t n_bytes = pq_bloom_size(PART, rates[r]);
        size_t n_false = 0, n_asked = 0;
        unsigned char *bits = malloc(n_bytes);
        for (uint64_t part = 0; part < N / PART; part++) {
            memset(bits, 0, n_bytes);
            for (uint64_t i = 0; i < PART; i++) {
                uint64_t v = part * PART + i;
                pq_bloom_insert(bits, n_bytes, pq_bloom_hash(&v, sizeof v));
            }
            for (uint64_t i = 0; i < PART; i++) {
                uint64_t v = part * PART + i;
                assert_true(pq_bloom_probe(bits, n_bytes, pq_bloom_hash(&v, sizeof v)));
                v += (uint64_t)1 << 40;
                n_false += pq_bloom_probe(bits, n_bytes, pq_bloom_hash(&v, sizeof v));
                n_asked++;
            }
        }
        assert_int_equal(n_asked, N);
        assert_true((double)n_false / N <= 1.5 * rates[r]);
        free(bits);
    }
}

static void test_bloom__sizes__powers_of_two_between_the_limits(void **state)
{
    (void)state;
    assert_int_equal(pq_bloom_size(0, 0.01), 32);
    assert_int_equal(pq_bloom_size(1, 0.01), 32);
    assert_int_equal(pq_bloom_size(UINT64_MAX, 0.01), PQ_BLOOM_WRITE_BYTES_MAX);
    for (uint64_t n = 1; n < (uint64_t)1 << 20; n = n * 3 + 1) {
        size_t bytes = pq_bloom_size(n, 0.01);
        assert_true(bytes >= 32 && (bytes & (bytes - 1)) == 0);
        assert_true(bytes <= pq_bloom_size(n, 0.001));
    }
}

static void test_bloom__block__all_that_a_probe_reads(void **state)
{
    uint64_t seed = test_seed();
    unsigned char bits[4096] = { 0 };
    (void)state;
    for (int i = 0; i < 500; i++) {
        uint64_t hash = test_random(&seed);
        pq_bloom_insert(bits, sizeof bits, hash);
        size_t at = pq_bloom_block(sizeof bits, hash);
        assert_true(at % PQ_BLOOM_BLOCK_BYTES == 0 && at + PQ_BLOOM_BLOCK_BYTES <= sizeof bits);
        uint64_t other = test_random(&seed);
        at = pq_bloom_block(sizeof bits, other);
        assert_int_equal(pq_bloom_probe(bits, sizeof bits, other),
                         pq_bloom_probe(bits + at, PQ_BLOOM_BLOCK_BYTES, other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bloom__filter_of_parquet_testing__words_found),
        cmocka_unit_test(test_bloom__filter_of_old__refused),
        cmocka_unit_test(test_bloom__header_of_another_kind__not_usable),
        cmocka_unit_test(test_bloom__a_million_values__rate_and_no_miss),
        cmocka_unit_test(test_bloom__sizes__powers_of_two_between_the_limits),
        cmocka_unit_test(test_bloom__block__all_that_a_probe_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
