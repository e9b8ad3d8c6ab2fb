/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_simd.h"

#include <stdio.h>
#include <stdlib.h>

#include "codec/bitpack.h"
#include "codec/dictionary.h"
#include "codec/stream_split.h"
#include "test_support.h"

/* Every variant that the machine has, against the scalar one, in memory of exactly the size
 * (so that the address sanitizer sees a byte too far). */

static const struct codec_kernels *variant(int level)
{
    return codec_kernels_of((enum cpu_simd)level);
}

static void *random_bytes(size_t n, uint64_t *seed)
{
    uint8_t *p = malloc(n == 0 ? 1 : n);

    for (size_t i = 0; i < n; i++) {
        p[i] = (uint8_t)test_random(seed);
    }
    return p;
}

static void check_unpack(const struct codec_kernels *k, unsigned width, size_t n, uint64_t *seed)
{
    const size_t len = (size_t)bitpack_bytes(n, width);
    uint8_t *src = random_bytes(len, seed);
    uint32_t *x = malloc(n * 4 + 1), *y = malloc(n * 4 + 1);

    codec_kernels_scalar.unpack_u32(src, len, width, x, n);
    k->unpack_u32(src, len, width, y, n);
    assert_memory_equal(x, y, n * 4);
    free(src);
    free(x);
    free(y);
}

static void check_prefix(const struct codec_kernels *k, size_t n, uint64_t *seed)
{
    uint32_t *v = random_bytes(n * 4, seed);
    uint32_t *x = malloc(n * 4 + 1), *y = malloc(n * 4 + 1);
    uint64_t *v8 = random_bytes(n * 8, seed);
    uint64_t *x8 = malloc(n * 8 + 1), *y8 = malloc(n * 8 + 1);
    uint64_t min = test_random(seed), a = test_random(seed), b = a;
    uint32_t a4 = (uint32_t)a, b4 = a4;

    memcpy(x, v, n * 4);
    memcpy(y, v, n * 4);
    codec_kernels_scalar.prefix_u32(x, n, (uint32_t)min, &a4);
    k->prefix_u32(y, n, (uint32_t)min, &b4);
    assert_int_equal(a4, b4);
    assert_memory_equal(x, y, n * 4);

    memcpy(x8, v8, n * 8);
    memcpy(y8, v8, n * 8);
    codec_kernels_scalar.prefix_u64(x8, n, min, &a);
    k->prefix_u64(y8, n, min, &b);
    assert_true(a == b);
    assert_memory_equal(x8, y8, n * 8);

    codec_kernels_scalar.prefix_widen(v, n, min, &a, x8);
    k->prefix_widen(v, n, min, &b, y8);
    assert_true(a == b);
    assert_memory_equal(x8, y8, n * 8);
    assert_int_equal(codec_kernels_scalar.max_u32(v, n), k->max_u32(v, n));
    free(v);
    free(x);
    free(y);
    free(v8);
    free(x8);
    free(y8);
}

static void check_streams(const struct codec_kernels *k, size_t n, uint64_t *seed)
{
    uint8_t *src = random_bytes(n * 8, seed);
    uint8_t *src4 = malloc(n * 4 + 1);
    uint8_t *x = malloc(n * 8 + 1), *y = malloc(n * 8 + 1);

    memcpy(src4, src, n * 4);
    codec_kernels_scalar.join4(src4, n, x);
    k->join4(src4, n, y);
    assert_memory_equal(x, y, n * 4);
    k->split4(x, n, y);
    assert_memory_equal(src4, y, n * 4);
    codec_kernels_scalar.split4(x, n, y);
    assert_memory_equal(src4, y, n * 4);
    codec_kernels_scalar.join8(src, n, x);
    k->join8(src, n, y);
    assert_memory_equal(x, y, n * 8);
    k->split8(x, n, y);
    assert_memory_equal(src, y, n * 8);
    free(src);
    free(src4);
    free(x);
    free(y);
}

static void check_gather(const struct codec_kernels *k, size_t n, uint64_t *seed)
{
    const size_t n_dict = 1 + test_random(seed) % 500;
    uint64_t *dict = random_bytes(n_dict * 8, seed);
    uint32_t *index = malloc(n * 4 + 1);
    uint64_t *x = malloc(n * 8 + 1), *y = malloc(n * 8 + 1);

    for (size_t i = 0; i < n; i++) {
        index[i] = (uint32_t)(test_random(seed) % n_dict);
    }
    codec_kernels_scalar.gather_u64(dict, index, n, x);
    k->gather_u64(dict, index, n, y);
    assert_memory_equal(x, y, n * 8);
    codec_kernels_scalar.gather_u32((uint32_t *)dict, index, n, (uint32_t *)x);
    k->gather_u32((uint32_t *)dict, index, n, (uint32_t *)y);
    assert_memory_equal(x, y, n * 4);
    free(dict);
    free(index);
    free(x);
    free(y);
}

static void test_kernels__every_variant__same_bits_as_scalar(void **state)
{
    uint64_t seed = test_seed();
    int n_run = 0, n_skipped = 0;

    (void)state;
    for (int level = CPU_AVX2; level <= CPU_AVX512; level++) {
        const struct codec_kernels *k = variant(level);

        if (k == NULL) {
            n_skipped++;
            continue;
        }
        n_run++;
        for (size_t n = 0; n <= 300; n++) {
            for (unsigned width = 0; width <= 32; width++) {
                check_unpack(k, width, n, &seed);
            }
            check_prefix(k, n, &seed);
            check_streams(k, n, &seed);
            check_gather(k, n, &seed);
        }
        for (unsigned width = 0; width <= 32; width++) {
            check_unpack(k, width, 100003, &seed);
        }
        check_prefix(k, 100003, &seed);
        check_streams(k, 100003, &seed);
        check_gather(k, 100003, &seed);
    }
    print_message("variants run: %d, skipped (not on this machine): %d\n", n_run, n_skipped);
}

static void test_bitpack__all_widths__round_trip(void **state)
{
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    for (unsigned width = 0; width <= 64; width++) {
        for (size_t n = 0; n <= 300; n += 1 + n / 40) {
            struct buf b = BUF_INIT(mem_system());
            uint64_t *v = malloc(n * 8 + 1), *w = malloc(n * 8 + 1);
            uint32_t *v4 = malloc(n * 4 + 1), *w4 = malloc(n * 4 + 1);

            for (size_t i = 0; i < n; i++) {
                v[i] = width == 0 ? 0 : test_random(&seed) >> (64 - width);
                v4[i] = (uint32_t)v[i];
            }
            assert_ok(bitpack_pack_u64(&b, v, n, width, &err));
            assert_int_equal(b.len, bitpack_bytes(n, width));
            uint8_t *exact = malloc(b.len + 1);
            exact = realloc(exact, b.len == 0 ? 1 : b.len);
            if (b.len > 0) {
                memcpy(exact, b.data, b.len);
            }
            bitpack_unpack_u64(exact, b.len, width, w, n);
            assert_memory_equal(v, w, n * 8);
            if (width <= 32) {
                struct buf b4 = BUF_INIT(mem_system());

                assert_ok(bitpack_pack_u32(&b4, v4, n, width, &err));
                assert_int_equal(b4.len, b.len);
                if (b.len > 0) {
                    assert_memory_equal(b4.data, b.data, b.len);
                }
                bitpack_unpack_u32(exact, b.len, width, w4, n);
                assert_memory_equal(v4, w4, n * 4);
                buf_release(&b4);
            }
            free(exact);
            free(v);
            free(w);
            free(v4);
            free(w4);
            buf_release(&b);
        }
    }
}

static void test_bitpack__three_bits__bytes_of_the_specification(void **state)
{
    /* Encodings.md: 0..7 in 3 bits are 0x88 0xC6 0xFA */
    const uint32_t v[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint8_t expected[3] = {0x88, 0xC6, 0xFA};
    struct buf b = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    assert_ok(bitpack_pack_u32(&b, v, 8, 3, &err));
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.data, expected, 3);
    buf_release(&b);
}

static void test_bits__any_begin__copied_and_padded(void **state)
{
    uint64_t seed = test_seed();
    uint8_t src[40];

    (void)state;
    for (size_t i = 0; i < sizeof src; i++) {
        src[i] = (uint8_t)test_random(&seed);
    }
    for (size_t begin = 0; begin < 20; begin++) {
        for (size_t n = 0; n <= 8 * sizeof src - begin; n++) {
            uint8_t dst[41];

            memset(dst, 0xAA, sizeof dst);
            bitpack_copy_bits(dst, src, begin, n);
            for (size_t i = 0; i < (n + 7) / 8 * 8; i++) {
                const int bit = dst[i / 8] >> (i % 8) & 1;
                const size_t at = begin + i;

                assert_int_equal(bit, i < n ? src[at / 8] >> (at % 8) & 1 : 0);
            }
            assert_int_equal(dst[(n + 7) / 8], 0xAA);
        }
    }
}

static void test_stream_split__any_width__round_trip(void **state)
{
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    const size_t widths[] = {1, 2, 3, 4, 5, 8, 12, 16};

    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        for (size_t n = 0; n < 100; n++) {
            const size_t len = n * widths[w];
            uint8_t *v = random_bytes(len, &seed);
            uint8_t *split = malloc(len + 1), *back = malloc(len + 1);

            stream_split_encode(v, widths[w], split, n);
            assert_ok(stream_split_decode(split, len, widths[w], back, n, &err));
            assert_memory_equal(v, back, len);
            free(v);
            free(split);
            free(back);
        }
    }
    assert_fails(stream_split_decode("abc", 3, 2, NULL, 1, &err), GREBE_ECORRUPT, "found 3");
    assert_fails(stream_split_decode("abc", 3, 8, NULL, SIZE_MAX / 2, &err), GREBE_ECORRUPT, "");
}

static void test_dictionary__index_too_large__corrupt(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    const uint32_t index[3] = {0, 2, 1};
    const char entries[] = "aaabbbccc";
    char out[9];

    (void)state;
    assert_ok(dictionary_check(index, 3, 3, &err));
    assert_fails(dictionary_check(index, 3, 2, &err), GREBE_ECORRUPT, "found 2");
    assert_fails(dictionary_check(index, 3, 0, &err), GREBE_ECORRUPT, "found 2");
    assert_ok(dictionary_check(index, 0, 0, &err));
    dictionary_gather(entries, 3, index, 3, out);
    assert_memory_equal(out, "aaacccbbb", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels__every_variant__same_bits_as_scalar),
        cmocka_unit_test(test_bitpack__all_widths__round_trip),
        cmocka_unit_test(test_bitpack__three_bits__bytes_of_the_specification),
        cmocka_unit_test(test_bits__any_begin__copied_and_padded),
        cmocka_unit_test(test_stream_split__any_width__round_trip),
        cmocka_unit_test(test_dictionary__index_too_large__corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
