/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/delta.h"

#include <stdio.h>
#include <stdlib.h>

#include "test_support.h"

static void *exact_copy(const void *bytes, size_t n)
{
    void *p = malloc(n == 0 ? 1 : n);

    if (n > 0) {
        memcpy(p, bytes, n);
    }
    return p;
}

static void check_i64(const int64_t *v, size_t n)
{
    struct buf b = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    int64_t *w = malloc(n * 8 + 8);
    size_t used = 0;
    uint64_t count = 0;

    assert_ok(delta_encode_i64(&b, v, n, &err));
    uint8_t *bytes = exact_copy(b.data, b.len);
    assert_ok(delta_count(bytes, b.len, &count, &err));
    assert_int_equal(count, n);
    assert_ok(delta_decode_i64(bytes, b.len, w, n, &used, &err));
    assert_memory_equal(v, w, n * 8);
    assert_int_equal(used, b.len);
    /* a prefix, without looking at the rest; the whole length all the same */
    assert_ok(delta_decode_i64(bytes, b.len, w, n / 2, NULL, &err));
    assert_memory_equal(v, w, n / 2 * 8);
    assert_ok(delta_decode_i64(bytes, b.len, w, n / 3, &used, &err));
    assert_int_equal(used, b.len);
    assert_fails(delta_decode_i64(bytes, b.len, w, n + 1, NULL, &err), GREBE_ECORRUPT, "values");
    for (size_t cut = 0; cut < b.len && b.len < 400; cut++) {
        uint8_t *part = exact_copy(b.data, cut);
        const grebe_status st = delta_decode_i64(part, cut, w, n, &used, &err);

        if (st == GREBE_OK) {
            assert_memory_equal(v, w, n * 8);
        } else {
            assert_int_equal(st, GREBE_ECORRUPT);
        }
        free(part);
    }
    free(bytes);
    free(w);
    buf_release(&b);
}

static void check_i32(const int32_t *v, size_t n)
{
    struct buf b = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    int32_t *w = malloc(n * 4 + 4);
    size_t used = 0;

    assert_ok(delta_encode_i32(&b, v, n, &err));
    uint8_t *bytes = exact_copy(b.data, b.len);
    assert_ok(delta_decode_i32(bytes, b.len, w, n, &used, &err));
    assert_memory_equal(v, w, n * 4);
    assert_int_equal(used, b.len);
    free(bytes);
    free(w);
    buf_release(&b);
}

static void test_delta__random__round_trip(void **state)
{
    uint64_t seed = test_seed();
    int64_t v[2000];
    int32_t v4[2000];

    (void)state;
    for (unsigned width = 0; width <= 64; width++) {
        const size_t lengths[] = {0, 1, 2, 32, 33, 128, 129, 130, 257, 300, 2000};

        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            for (size_t i = 0; i < lengths[k]; i++) {
                const uint64_t r = width == 0 ? 0 : test_random(&seed) >> (64 - width);

                v[i] = (int64_t)(r - (width == 0 ? 7 : (uint64_t)1 << (width - 1)));
                v4[i] = (int32_t)v[i];
            }
            check_i64(v, lengths[k]);
            check_i32(v4, lengths[k]);
        }
    }
    /* extremes: every difference wraps */
    for (size_t i = 0; i < 300; i++) {
        v[i] = i % 2 ? INT64_MIN : INT64_MAX;
        v4[i] = i % 2 ? INT32_MIN : INT32_MAX;
    }
    check_i64(v, 300);
    check_i32(v4, 300);
}

static void test_delta_encode__ascending_ids__bytes_as_arrow_writes_them(void **state)
{
    /* 0..4: block 128, 4 miniblocks, 5 values, first 0, min delta 1, widths 0 */
    const int64_t v[5] = {0, 1, 2, 3, 4};
    const char expected[] = "\x80\x01\x04\x05\x00\x02\x00\x00\x00\x00";
    struct buf b = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    assert_ok(delta_encode_i64(&b, v, 5, &err));
    assert_int_equal(b.len, sizeof expected - 1);
    assert_memory_equal(b.data, expected, b.len);
    buf_release(&b);
}

static void test_delta__example_of_the_specification__decoded(void **state)
{
    /* Encodings.md, example 2: 7,5,3,1,2,3,4,5 with min delta -2 and deltas 0,0,0,3,3,3,3 in 2
     * bits, padded to a miniblock of 32 */
    const uint8_t bytes[] = {0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 2, 0, 0, 0,
                             0xc0, 0x3f, 0,    0,    0,    0,    0, 0};
    const int32_t expected[8] = {7, 5, 3, 1, 2, 3, 4, 5};
    int32_t v[8];
    size_t used = 0;
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    assert_ok(delta_decode_i32(bytes, sizeof bytes, v, 8, &used, &err));
    assert_memory_equal(v, expected, sizeof v);
    assert_int_equal(used, sizeof bytes);
    /* widths of miniblocks beyond the count may hold anything */
    uint8_t garbage[sizeof bytes];
    memcpy(garbage, bytes, sizeof bytes);
    memset(garbage + 7, 0xff, 3);
    assert_ok(delta_decode_i32(garbage, sizeof bytes, v, 8, &used, &err));
    /* the padding of the last miniblock may be missing */
    assert_ok(delta_decode_i32(bytes, 12, v, 8, &used, &err));
    assert_memory_equal(v, expected, sizeof v);
    assert_int_equal(used, 12);
}

static void test_delta__hostile__corrupt(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    int32_t v[300];
    int64_t w[300];
    uint64_t seed = test_seed();
    size_t used = 0;

    (void)state;
    assert_fails(delta_decode_i32("", 0, v, 0, NULL, &err), GREBE_ECORRUPT, "cut");
    assert_fails(delta_decode_i32("\x00\x04\x05\x00", 4, v, 5, NULL, &err), GREBE_ECORRUPT,
                 "block size");
    assert_fails(delta_decode_i32("\x80\x01\x00\x05\x00", 5, v, 5, NULL, &err), GREBE_ECORRUPT,
                 "block size");
    assert_fails(delta_decode_i32("\x80\x01\x03\x05\x00", 5, v, 5, NULL, &err), GREBE_ECORRUPT,
                 "block size");
    assert_fails(delta_decode_i32("\x80\x80\x80\x80\x08\x04\x05\x00", 8, v, 5, NULL, &err),
                 GREBE_ECORRUPT, "block size");
    /* count 2^63 - 1 with nothing behind it; asked for none of it but for its end */
    assert_fails(delta_decode_i32("\x80\x01\x04\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00", 13, v, 0,
                                  &used, &err),
                 GREBE_ECORRUPT, "cut");
    assert_fails(delta_decode_i32("\x80\x01\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 14, v,
                                  0, &used, &err),
                 GREBE_ECORRUPT, "count");
    /* width 33 for 32-bit values */
    assert_fails(delta_decode_i32("\x80\x01\x04\x05\x00\x02\x21\x00\x00\x00zzzzzzzzzzzzzzzz", 26, v,
                                  5, NULL, &err),
                 GREBE_ECORRUPT, "found 33");
    for (int round = 0; round < 30000; round++) {
        uint8_t bytes[64] = "\x80\x01\x04";
        const size_t len = 3 + test_random(&seed) % 61;

        for (size_t i = 3; i < len; i++) {
            bytes[i] = (uint8_t)(test_random(&seed) % (i < 12 ? 40 : 256));
        }
        uint8_t *exact = exact_copy(bytes, len);
        const size_t n = test_random(&seed) % 40;
        grebe_status st = delta_decode_i32(exact, len, v, n, &used, &err);
        assert_true(st == GREBE_OK || st == GREBE_ECORRUPT);
        st = delta_decode_i64(exact, len, w, n, &used, &err);
        assert_true(st == GREBE_OK || st == GREBE_ECORRUPT);
        free(exact);
    }
}

static void make_strings(uint64_t *seed, int32_t *offsets, uint8_t *data, size_t n)
{
    size_t at = 0;

    offsets[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t before = i > 0 ? (size_t)(offsets[i] - offsets[i - 1]) : 0;
        const size_t keep = before > 0 ? test_random(seed) % (before + 1) : 0;
        const size_t more = test_random(seed) % 12;

        memmove(data + at, data + at - before, keep);
        for (size_t k = 0; k < more; k++) {
            data[at + keep + k] = (uint8_t)(test_random(seed) % 4 + 'a');
        }
        at += (keep + more) % 100;
        offsets[i + 1] = (int32_t)at;
    }
}

static void test_delta_strings__random__round_trip(void **state)
{
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    static uint8_t data[200000];
    int32_t offsets[1001], back[1001], lengths[1000];
    const struct delta_strings_options o = {.output_limit = SIZE_MAX};

    (void)state;
    for (int round = 0; round < 40; round++) {
        const size_t n = test_random(&seed) % (round < 20 ? 10 : 1000);
        struct buf b = BUF_INIT(mem_system()), out = BUF_INIT(mem_system());
        const uint8_t *bytes = NULL;
        size_t used = 0;

        make_strings(&seed, offsets, data, n);
        assert_ok(delta_strings_encode(&b, offsets, data, n, &err));
        assert_ok(delta_strings_decode(b.data, b.len, &o, back, n, &out, &used, &err));
        assert_int_equal(used, b.len);
        assert_memory_equal(back, offsets, (n + 1) * 4);
        if (out.len > 0) {
            assert_memory_equal(out.data, data, out.len);
        }
        buf_clear(&b);
        for (size_t i = 0; i < n; i++) {
            lengths[i] = offsets[i + 1] - offsets[i];
        }
        assert_ok(delta_length_encode(&b, lengths, n, &err));
        assert_ok(buf_put(&b, data, (size_t)offsets[n], &err));
        assert_ok(delta_length_decode(b.data, b.len, back, n, &bytes, &used, &err));
        assert_int_equal(used, b.len);
        assert_memory_equal(back, offsets, (n + 1) * 4);
        assert_memory_equal(bytes, data, (size_t)offsets[n]);
        if (offsets[n] > 0) {
            assert_fails(delta_length_decode(b.data, b.len - 1, back, n, &bytes, &used, &err),
                         GREBE_ECORRUPT, "string");
        }
        buf_release(&b);
        buf_release(&out);
    }
}

static void test_delta_strings__bad_lengths__refused(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system()), out = BUF_INIT(mem_system());
    struct delta_strings_options o = {.output_limit = SIZE_MAX};
    const int32_t negative[2] = {3, -1}, prefixes[2] = {0, 3}, suffixes[2] = {2, 1};
    int32_t offsets[1001];
    const uint8_t *data = NULL;

    (void)state;
    assert_ok(delta_encode_i32(&b, negative, 2, &err));
    assert_ok(buf_put(&b, "abc", 3, &err));
    assert_fails(delta_length_decode(b.data, b.len, offsets, 2, &data, NULL, &err),
                 GREBE_ECORRUPT, "found -1");
    buf_clear(&b);
    assert_ok(delta_encode_i32(&b, prefixes, 2, &err));
    assert_ok(delta_encode_i32(&b, suffixes, 2, &err));
    assert_ok(buf_put(&b, "abc", 3, &err));
    assert_fails(delta_strings_decode(b.data, b.len, &o, offsets, 2, &out, NULL, &err),
                 GREBE_ECORRUPT, "prefix up to 2 bytes, found 3");
    o.previous = (const uint8_t *)"zz";
    o.previous_len = 2;
    assert_fails(delta_strings_decode(b.data, b.len, &o, offsets, 2, &out, NULL, &err),
                 GREBE_ECORRUPT, "prefix");
    /* a page of few bytes whose shared prefixes blow up */
    int32_t many_prefixes[1000], many_suffixes[1000] = {100};
    uint8_t hundred[100] = {0};
    for (size_t i = 0; i < 1000; i++) {
        many_prefixes[i] = i == 0 ? 0 : 100;
    }
    buf_clear(&b);
    assert_ok(delta_encode_i32(&b, many_prefixes, 1000, &err));
    assert_ok(delta_encode_i32(&b, many_suffixes, 1000, &err));
    assert_ok(buf_put(&b, hundred, 100, &err));
    o.output_limit = 99999;
    assert_fails(delta_strings_decode(b.data, b.len, &o, offsets, 1000, &out, NULL, &err),
                 GREBE_ELIMIT, "99999");
    o.output_limit = 100000;
    assert_ok(delta_strings_decode(b.data, b.len, &o, offsets, 1000, &out, NULL, &err));
    o.fixed_len = 100;
    assert_ok(delta_strings_decode(b.data, b.len, &o, offsets, 1000, &out, NULL, &err));
    o.fixed_len = 99;
    assert_fails(delta_strings_decode(b.data, b.len, &o, offsets, 1000, &out, NULL, &err),
                 GREBE_ECORRUPT, "expected 99 bytes, found 100");
    buf_release(&b);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delta__random__round_trip),
        cmocka_unit_test(test_delta_encode__ascending_ids__bytes_as_arrow_writes_them),
        cmocka_unit_test(test_delta__example_of_the_specification__decoded),
        cmocka_unit_test(test_delta__hostile__corrupt),
        cmocka_unit_test(test_delta_strings__random__round_trip),
        cmocka_unit_test(test_delta_strings__bad_lengths__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
