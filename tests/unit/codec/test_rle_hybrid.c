/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/rle_hybrid.h"

#include <stdlib.h>

#include "codec/bitpack.h"
#include "test_support.h"

static void *exact_copy(const void *bytes, size_t n)
{
    void *p = malloc(n == 0 ? 1 : n);

    if (n > 0) {
        memcpy(p, bytes, n);
    }
    return p;
}

static void check_bytes(const uint32_t *v, size_t n, unsigned width, const void *expected,
                        size_t len)
{
    struct buf b = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;

    assert_ok(rle_encode_u32(&b, v, n, width, &err));
    assert_int_equal(b.len, len);
    assert_memory_equal(b.data, expected, len);
    buf_release(&b);
}

static void test_rle_encode__known_values__bytes_of_arrow(void **state)
{
    uint32_t v[1000];

    (void)state;
    /* a run of 1000 threes at 2 bits: varint(2000), 03 */
    for (size_t i = 0; i < 1000; i++) {
        v[i] = 3;
    }
    check_bytes(v, 1000, 2, "\xd0\x0f\x03", 3);
    /* Encodings.md: 0..7 in 3 bits: one group */
    for (size_t i = 0; i < 8; i++) {
        v[i] = (uint32_t)i;
    }
    check_bytes(v, 8, 3, "\x03\x88\xc6\xfa", 4);
    /* the repetition levels of a list of 128 (parquet-rs, Arrow): 03 FE F0 01 01 */
    for (size_t i = 0; i < 128; i++) {
        v[i] = i > 0;
    }
    check_bytes(v, 128, 1, "\x03\xfe\xf0\x01\x01", 5);
    /* fewer than 8 values: one padded group, or one run if they are equal */
    v[0] = 1;
    v[1] = 0;
    check_bytes(v, 2, 1, "\x03\x01", 2);
    check_bytes(v, 1, 1, "\x02\x01", 2);
    check_bytes(v, 0, 1, "", 0);
}

typedef grebe_status (*encode_fn)(struct buf *dst, const uint32_t *values, size_t n,
                                  unsigned width, grebe_error *err);

static void check_round_trip(encode_fn encode, const uint32_t *v, size_t n, unsigned width)
{
    struct buf b = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    const uint32_t max = width == 32 ? UINT32_MAX : (1u << width) - 1;
    uint32_t *w = malloc(n * 4 + 1);
    size_t used = 0;

    assert_ok(encode(&b, v, n, width, &err));
    uint8_t *bytes = exact_copy(b.data, b.len);
    assert_ok(rle_decode_u32(bytes, b.len, width, max, w, n, &used, &err));
    assert_memory_equal(v, w, n * 4);
    if (width > 0) {
        assert_int_equal(used, b.len);
    }
    /* cut at every byte: an error or, where only padding is gone, the same values */
    for (size_t cut = 0; cut < b.len && b.len < 600; cut++) {
        uint8_t *part = exact_copy(b.data, cut);

        if (rle_decode_u32(part, cut, width, max, w, n, NULL, &err) == GREBE_OK) {
            assert_memory_equal(v, w, n * 4);
        }
        free(part);
    }
    free(bytes);
    free(w);
    buf_release(&b);
}

static void test_rle__random_runs__round_trip(void **state)
{
    uint64_t seed = test_seed();
    uint32_t v[5000];

    (void)state;
    for (unsigned width = 0; width <= 32; width++) {
        for (int round = 0; round < 12; round++) {
            const size_t n = round < 6 ? test_random(&seed) % 60 : test_random(&seed) % 5000;

            for (size_t i = 0; i < n;) {
                const uint64_t r = test_random(&seed);
                size_t run = r % 3 == 0 ? 1 + r / 8 % 50 : 1;
                const uint32_t value =
                    width == 0 ? 0 : (uint32_t)(test_random(&seed) >> (64 - width));

                while (run-- > 0 && i < n) {
                    v[i++] = value;
                }
            }
            check_round_trip(rle_encode_u32, v, n, width);
            check_round_trip(rle_encode_indices, v, n, width);
        }
    }
}

static void test_rle_encode_indices__known_values__long_runs(void **state)
{
    uint32_t v[4096];
    struct buf b = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    /* 4096 values of 12 bits that differ: one header of two bytes (512 groups), no more */
    for (size_t i = 0; i < 4096; i++) {
        v[i] = (uint32_t)(i * 1657 % 4096);
    }
    assert_ok(rle_encode_indices(&b, v, 4096, 12, &err));
    assert_int_equal(b.len, 2 + 4096 * 12 / 8);
    assert_memory_equal(b.data, "\x81\x08", 2);
    /* equal values: one run; a short run of them stays packed */
    buf_clear(&b);
    memset(v, 0, sizeof v);
    assert_ok(rle_encode_indices(&b, v, 4096, 12, &err));
    assert_int_equal(b.len, 2 + 2);
    buf_clear(&b);
    v[9] = 1;
    assert_ok(rle_encode_indices(&b, v, 40, 2, &err));
    assert_int_equal(b.len, 1 + 10);
    buf_clear(&b);
    assert_ok(rle_encode_indices(&b, v, 4096, 2, &err));
    assert_int_equal(b.len, 1 + 4 + 2 + 1);
    buf_clear(&b);
    assert_ok(rle_encode_indices(&b, v, 0, 2, &err));
    assert_int_equal(b.len, 0);
    buf_release(&b);
}

static void test_rle_bits__any_begin__same_as_u32(void **state)
{
    uint64_t seed = test_seed();
    uint8_t bits[200], back[200];
    uint32_t v[1600];
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    for (int round = 0; round < 200; round++) {
        const size_t begin = test_random(&seed) % 70;
        const size_t n = test_random(&seed) % (1600 - begin);
        struct buf x = BUF_INIT(mem_system()), y = BUF_INIT(mem_system());

        memset(bits, round % 2 ? 0xff : 0, sizeof bits);
        for (int k = round % 5 * 10; k > 0; k--) {
            bits[test_random(&seed) % 200] = (uint8_t)test_random(&seed);
        }
        for (size_t i = 0; i < n; i++) {
            v[i] = bits[(begin + i) / 8] >> ((begin + i) % 8) & 1;
        }
        assert_ok(rle_encode_bits(&x, bits, begin, n, &err));
        assert_ok(rle_encode_u32(&y, v, n, 1, &err));
        assert_int_equal(x.len, y.len);
        if (x.len > 0) {
            assert_memory_equal(x.data, y.data, x.len);
        }
        assert_ok(rle_decode_bits(x.data, x.len, back, n, &err));
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(back[i / 8] >> (i % 8) & 1, v[i]);
        }
        buf_release(&x);
        buf_release(&y);
    }
    struct buf ones = BUF_INIT(mem_system());
    assert_ok(rle_encode_bits(&ones, NULL, 0, 128000, &err));
    assert_int_equal(ones.len, 4);
    assert_memory_equal(ones.data, "\x80\xd0\x0f\x01", 4);
    buf_release(&ones);
}

static void test_rle_next__big_run__not_expanded(void **state)
{
    struct rle_reader r;
    struct rle_run run;
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    rle_reader_init(&r, "\xfe\xff\xff\xff\x0f\x03", 6, 2, UINT64_MAX);
    assert_ok(rle_next(&r, &run, &err));
    assert_true(run.is_rle && run.value == 3 && run.count == 0x7fffffff);
    assert_fails(rle_next(&r, &run, &err), GREBE_ECORRUPT, "early");

    rle_reader_init(&r, "\x80\xd0\x0f\x03", 4, 2, 100);
    assert_ok(rle_next(&r, &run, &err));
    assert_int_equal(run.count, 100);
    assert_int_equal(rle_next(&r, &run, &err), GREBE_END);

    rle_reader_init(&r, NULL, 0, 0, 7);
    assert_ok(rle_next(&r, &run, &err));
    assert_true(run.is_rle && run.value == 0 && run.count == 7);
}

static void test_rle__hostile__corrupt(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    uint32_t v[64];
    uint64_t seed = test_seed();

    (void)state;
    /* value beyond the width; beyond the largest level; header longer than 32 bits; no input */
    assert_fails(rle_decode_u32("\x10\x04", 2, 2, 3, v, 8, NULL, &err), GREBE_ECORRUPT, "found 4");
    assert_fails(rle_decode_u32("\x10\x03", 2, 2, 2, v, 8, NULL, &err), GREBE_ECORRUPT,
                 "at most 2, found 3");
    assert_fails(rle_decode_u32("\x03\xff\xff", 3, 2, 2, v, 8, NULL, &err), GREBE_ECORRUPT,
                 "at most 2, found 3");
    assert_fails(rle_decode_u32("\xff\xff\xff\xff\xff\x01", 6, 2, 3, v, 8, NULL, &err),
                 GREBE_ECORRUPT, "early");
    assert_fails(rle_decode_u32("", 0, 2, 3, v, 8, NULL, &err), GREBE_ECORRUPT, "early");
    assert_fails(rle_decode_u32(NULL, 0, 2, 3, v, 8, NULL, &err), GREBE_ECORRUPT, "early");
    /* runs of no values alone never end in a loop */
    assert_fails(rle_decode_u32("\x00\x01\x00\x01\x01", 5, 2, 3, v, 8, NULL, &err), GREBE_ECORRUPT,
                 "early");
    /* groups without the bytes */
    assert_fails(rle_decode_u32("\xff\xff\xff\xff\x0f\x01", 6, 8, 255, v, 8, NULL, &err),
                 GREBE_ECORRUPT, "found 1");
    /* the padding of the last group may be missing */
    assert_ok(rle_decode_u32("\x03\x01\x02", 3, 8, 255, v, 2, NULL, &err));
    for (int round = 0; round < 20000; round++) {
        const size_t len = test_random(&seed) % 12;
        uint8_t *bytes = malloc(len + 1);
        bytes = realloc(bytes, len == 0 ? 1 : len);

        for (size_t i = 0; i < len; i++) {
            bytes[i] = (uint8_t)test_random(&seed);
        }
        const grebe_status st = rle_decode_u32(bytes, len, (unsigned)(test_random(&seed) % 33),
                                               UINT32_MAX, v, 64, NULL, &err);
        assert_true(st == GREBE_OK || st == GREBE_ECORRUPT);
        free(bytes);
    }
}

static void test_rle_encode__no_memory__reported(void **state)
{
    uint32_t v[3000];
    uint64_t seed = test_seed();

    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        v[i] = (uint32_t)test_random(&seed) & 0xffff;
    }
    for (size_t n = 1;; n++) {
        struct test_allocator t;
        struct buf b;
        grebe_status st;

        test_allocator_init(&t);
        t.fail_at = n;
        b = BUF_INIT(&t.a);
        st = rle_encode_u32(&b, v, 3000, 16, NULL);
        buf_release(&b);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            break;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rle_encode__known_values__bytes_of_arrow),
        cmocka_unit_test(test_rle__random_runs__round_trip),
        cmocka_unit_test(test_rle_encode_indices__known_values__long_runs),
        cmocka_unit_test(test_rle_bits__any_begin__same_as_u32),
        cmocka_unit_test(test_rle_next__big_run__not_expanded),
        cmocka_unit_test(test_rle__hostile__corrupt),
        cmocka_unit_test(test_rle_encode__no_memory__reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
