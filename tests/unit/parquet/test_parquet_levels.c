/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_levels.h"

#include "codec/rle_hybrid.h"
#include "test_support.h"

enum { N_MAX = 20000 };

static struct pq_levels encode(struct buf *b, const uint32_t *values, uint32_t n, unsigned max)
{
    grebe_error err = GREBE_ERROR_INIT;
    buf_clear(b);
    assert_ok(rle_encode_u32(b, values, n, pq_level_width(max), &err));
    return (struct pq_levels){ .bytes = b->data, .len = b->len, .n = n, .max = (uint8_t)max };
}

static void test_levels__random__decoded(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(mem_system());
    uint64_t seed = test_seed();
    uint32_t values[2000];
    uint8_t out[2000];
    for (int round = 0; round < 300; round++) {
        grebe_error err = GREBE_ERROR_INIT;
        unsigned max = 1 + (unsigned)(test_random(&seed) % 9);
        uint32_t n = (uint32_t)(test_random(&seed) % 2000), n_zero = 0, found_zero = 0;
        unsigned run = (unsigned)(test_random(&seed) % 40) + 1;
        uint32_t value = 0;
        bool is_first_zero = false;
        for (uint32_t i = 0; i < n; i++) {
            if (test_random(&seed) % run == 0) {
                value = (uint32_t)(test_random(&seed) % (max + 1));
            }
            values[i] = value;
            n_zero += value == 0;
        }
        struct pq_levels l = encode(&b, values, n, max);
        assert_ok(pq_levels_decode(&l, out, &err));
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(out[i], values[i]);
        }
        assert_ok(pq_levels_count_zero(&l, &found_zero, &is_first_zero, &err));
        assert_int_equal(found_zero, n_zero);
        if (n > 0) {
            assert_int_equal(is_first_zero, values[0] == 0);
        }
    }
    buf_release(&b);
}

static void test_levels__above_max_or_cut__corrupt(void **state)
{
    (void)state;
    static const uint8_t too_high[] = { 0x0a, 0x03 };        /* 5 times level 3 */
    static const uint8_t packed_high[] = { 0x03, 0xff, 0xff }; /* 8 times level 3 */
    grebe_error err = GREBE_ERROR_INIT;
    uint8_t out[8];
    struct pq_levels l = { .bytes = too_high, .len = 2, .n = 5, .max = 2 };
    assert_fails(pq_levels_decode(&l, out, &err), GREBE_ECORRUPT, "level 3, the highest");
    l = (struct pq_levels){ .bytes = packed_high, .len = 3, .n = 8, .max = 2 };
    assert_fails(pq_levels_decode(&l, out, &err), GREBE_ECORRUPT, "level 3, the highest");
    l.len = 2;
    assert_int_equal(pq_levels_decode(&l, out, &err), GREBE_ECORRUPT);
    l.len = 0;
    assert_int_equal(pq_levels_decode(&l, out, &err), GREBE_ECORRUPT);
}

static void test_levels__msb_packed__decoded(void **state)
{
    (void)state;
    /* "Bit-packed (Deprecated)" of Encodings.md: 1..7 in 3 bits: 00000101 00111001 01110111 */
    static const uint8_t bytes[] = { 0x05, 0x39, 0x77 };
    grebe_error err = GREBE_ERROR_INIT;
    uint8_t out[8];
    struct pq_levels l = { .bytes = bytes, .len = 3, .n = 8, .max = 7, .is_msb_packed = true };
    assert_ok(pq_levels_decode(&l, out, &err));
    for (int i = 0; i < 8; i++) {
        assert_int_equal(out[i], i);
    }
    l.len = 2;
    assert_int_equal(pq_levels_decode(&l, out, &err), GREBE_ECORRUPT);
}

static uint32_t make_lists(uint32_t *values, uint32_t n_lists, uint32_t len)
{
    for (uint32_t i = 0; i < n_lists * len; i++) {
        values[i] = i % len != 0;
    }
    return n_lists * len;
}

static void test_periodic__lists_of_one_length__found(void **state)
{
    (void)state;
    static uint32_t values[N_MAX + 300];
    struct buf b = BUF_INIT(mem_system());
    for (uint32_t len = 1; len <= 300; len += len < 40 ? 1 : 37) {
        for (uint32_t n_lists = 1; n_lists * len <= N_MAX; n_lists = n_lists * 3 + 1) {
            uint32_t n = make_lists(values, n_lists, len);
            struct pq_levels l = encode(&b, values, n, 1);
            uint32_t found = 0;
            assert_true(pq_levels_are_periodic(&l, &found));
            assert_int_equal(found, len);
            found = len;
            assert_true(pq_levels_are_periodic(&l, &found));
            /* one list too short, the next too long */
            if (n_lists > 2 && len > 2) {
                uint32_t at = n_lists / 2 * len;
                values[at] = 1;
                values[at + 1] = 0;
                l = encode(&b, values, n, 1);
                found = len;
                assert_false(pq_levels_are_periodic(&l, &found));
                found = 0;
                assert_false(pq_levels_are_periodic(&l, &found));
            }
        }
    }
    buf_release(&b);
}

static void test_periodic__runs_as_the_writers_put_them__found(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    /* 128-d, period 5: one group 0,1x7, a run of 120 ones (Arrow, and ours) */
    static const uint8_t arrow[] = { 0x03, 0xfe, 0xf0, 0x01, 0x01 };
    for (int i = 0; i < 1000; i++) {
        assert_ok(buf_put(&b, arrow, sizeof arrow, &err));
    }
    struct pq_levels l = { .bytes = b.data, .len = b.len, .n = 128000, .max = 1 };
    uint32_t len = 128;
    assert_true(pq_levels_are_periodic(&l, &len));
    b.data[2502] = 0xee; /* another count in the middle */
    assert_false(pq_levels_are_periodic(&l, &len));
    b.data[2502] = 0xf0;
    b.data[4999] = 0; /* the last run's value */
    assert_false(pq_levels_are_periodic(&l, &len));
    buf_clear(&b);
    /* DuckDB: two vectors under one header, 32 groups */
    for (int i = 0; i < 500; i++) {
        assert_ok(buf_put_byte(&b, 0x41, &err));
        for (int k = 0; k < 32; k++) {
            assert_ok(buf_put_byte(&b, k % 16 == 0 ? 0xfe : 0xff, &err));
        }
    }
    l = (struct pq_levels){ .bytes = b.data, .len = b.len, .n = 128000, .max = 1 };
    assert_true(pq_levels_are_periodic(&l, &len));
    b.data[33 * 250 + 5] = 0xfd;
    assert_false(pq_levels_are_periodic(&l, &len));
    /* cut at every byte: never true, never a read behind the end */
    for (size_t n = 0; n < 200; n++) {
        uint8_t *cut = mem_alloc(mem_system(), n);
        memcpy(cut, b.data, n);
        l = (struct pq_levels){ .bytes = cut, .len = n, .n = 128000, .max = 1 };
        assert_false(pq_levels_are_periodic(&l, &len));
        mem_free(mem_system(), cut, n);
    }
    buf_release(&b);
}

static void test_are_max__single_run__true(void **state)
{
    (void)state;
    static uint32_t values[100];
    struct buf b = BUF_INIT(mem_system());
    for (int i = 0; i < 100; i++) {
        values[i] = 3;
    }
    struct pq_levels l = encode(&b, values, 100, 3);
    assert_true(pq_levels_are_max(&l));
    values[99] = 2;
    l = encode(&b, values, 100, 3);
    assert_false(pq_levels_are_max(&l));
    l.len = 0;
    assert_false(pq_levels_are_max(&l));
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels__random__decoded),
        cmocka_unit_test(test_levels__above_max_or_cut__corrupt),
        cmocka_unit_test(test_levels__msb_packed__decoded),
        cmocka_unit_test(test_periodic__lists_of_one_length__found),
        cmocka_unit_test(test_periodic__runs_as_the_writers_put_them__found),
        cmocka_unit_test(test_are_max__single_run__true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
