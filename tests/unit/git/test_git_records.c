/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer of streams makes is judged by zlib itself, checksum and all. */
#include "git/git_records.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "git/git_huffman.h"
#include "test_support.h"

static void assert_read_back(const struct buf *z, size_t start, const unsigned char *in, size_t n)
{
    unsigned char *out = malloc(n + 1);
    uLongf got = n + 1;
    assert_true(out != NULL);
    assert_int_equal(uncompress(out, &got, z->data + start, z->len - start), Z_OK);
    assert_int_equal(got, n);
    assert_memory_equal(out, in, n);
    free(out);
}

static void assert_round_trip(struct buf *scratch, const unsigned char *in, size_t n, size_t stride)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf z = BUF_INIT(mem_system());
    assert_ok(buf_put(&z, "before", 6, &err));
    assert_ok(repo_deflate_records(scratch, in, n, stride, &z, &err));
    assert_memory_equal(z.data, "before", 6);
    assert_true(z.len - 6 <= 2 + n + 6 * (n / 65535 + 1) + 4);
    assert_read_back(&z, 6, in, n);
    buf_release(&z);
}

/* Records of `stride` bytes in which about every `noise`-th byte differs from the record before. */
static void fill(uint64_t *seed, unsigned char *bytes, size_t n, size_t stride, uint64_t noise)
{
    for (size_t i = 0; i < n; i++) {
        bytes[i] = i >= stride && test_random(seed) % noise != 0 ? bytes[i - stride] : (unsigned char)test_random(seed);
    }
}

static void test_records__any_bytes__zlib_reads_them(void **state)
{
    (void)state;
    enum { MOST = 200000 };
    static const size_t strides[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 36, 100, 4097, 32768 };
    uint64_t seed = test_seed();
    struct buf scratch = BUF_INIT(mem_system());
    unsigned char *in = malloc(MOST);
    assert_true(in != NULL);
    for (int round = 0; round < 600; round++) {
        size_t stride = strides[(size_t)round % (sizeof strides / sizeof *strides)];
        size_t n = (size_t)(test_random(&seed) % (round % 20 == 0 ? MOST : round % 3 == 0 ? 100 : 3000));
        fill(&seed, in, n, stride == 0 ? 1 : stride, 1 + test_random(&seed) % 12);
        assert_round_trip(&scratch, in, n, stride);
    }
    free(in);
    buf_release(&scratch);
}

static void test_records__edges__zlib_reads_them(void **state)
{
    (void)state;
    static const size_t lens[] = { 0, 1, 2, 3, 47, 48, 49, 511, 512, 513, 65534, 65535, 65536, 131070, 131071, 140000 };
    static const size_t strides[] = { 0, 1, 6, 32768 };
    struct buf scratch = BUF_INIT(mem_system());
    unsigned char *in = malloc(140000);
    assert_true(in != NULL);
    for (int fill_with = 0; fill_with < 3; fill_with++) { /* one byte, all bytes, a step every 258 */
        for (size_t i = 0; i < 140000; i++) {
            in[i] = (unsigned char)(fill_with == 0 ? 0xff : fill_with == 1 ? i : i / 258);
        }
        for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
            for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
                assert_round_trip(&scratch, in, lens[i], strides[k]);
            }
        }
    }
    free(in);
    buf_release(&scratch);
}

static void test_records__postings_and_floats__smaller_than_zlib_or_close(void **state)
{
    (void)state;
    enum { N = 6000 };
    uint64_t seed = 7;
    grebe_error err = GREBE_ERROR_INIT;
    static unsigned char in[N], other[2 * N];
    struct buf scratch = BUF_INIT(mem_system()), z = BUF_INIT(mem_system());
    uLongf zlib_len = sizeof other;
    uint32_t row = 0;
    for (size_t i = 0; i < N; i += 6) { /* shard, row: 15 entries for each shard */
        row = i / 6 % 15 == 0 ? 0 : row;
        row += 1 + (uint32_t)(test_random(&seed) % 200);
        in[i] = (unsigned char)(i / 90);
        in[i + 2] = (unsigned char)row;
        in[i + 3] = (unsigned char)(row >> 8);
    }
    assert_int_equal(compress2(other, &zlib_len, in, N, 6), Z_OK);
    assert_ok(repo_deflate_records(&scratch, in, N, 6, &z, &err));
    assert_true(z.len * 100 < zlib_len * 98);
    assert_read_back(&z, 0, in, N);

    for (size_t i = 0; i < N; i += 4) {
        float x = (float)(test_random(&seed) % (1u << 24)) / (1u << 23) - 1;
        memcpy(in + i, &x, sizeof x);
    }
    zlib_len = sizeof other;
    buf_clear(&z);
    assert_int_equal(compress2(other, &zlib_len, in, N, 6), Z_OK);
    assert_ok(repo_deflate_records(&scratch, in, N, 0, &z, &err));
    assert_true(z.len * 100 < zlib_len * 102);
    assert_read_back(&z, 0, in, N);
    buf_release(&z);
    buf_release(&scratch);
}

/* Kraft's sum is exactly one, no code is too long, more frequent symbols have no longer codes. */
static void assert_code(const uint32_t *counts, unsigned n, unsigned most)
{
    struct repo_huffman h;
    uint32_t sum = 0;
    repo_huffman_make(counts, n, most, &h);
    assert_true(h.n <= n && h.n >= 2);
    for (unsigned i = 0; i < n; i++) {
        assert_true(h.len[i] <= most);
        assert_true(counts[i] == 0 || h.len[i] != 0);
        sum += h.len[i] == 0 ? 0 : 1u << (most - h.len[i]);
        for (unsigned k = 0; k < n; k++) {
            assert_true(counts[i] <= counts[k] || counts[k] == 0 || h.len[i] <= h.len[k]);
        }
    }
    assert_int_equal(sum, 1u << most);
}

static void test_huffman__any_counts__complete_and_limited(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    uint32_t counts[REPO_HUFFMAN_SYMBOLS];
    for (int round = 0; round < 400; round++) {
        unsigned n = 2 + (unsigned)(test_random(&seed) % (REPO_HUFFMAN_SYMBOLS - 1));
        unsigned least = 1;
        while (1u << least < n) {
            least++;
        }
        for (unsigned i = 0; i < n; i++) { /* steep ones are deeper than any limit */
            counts[i] = round % 3 == 0 ? (uint32_t)(test_random(&seed) % 4) : 1u << (test_random(&seed) % 16);
            counts[i] = round % 7 == 0 && i > 1 ? 0 : counts[i];
        }
        assert_code(counts, n, REPO_HUFFMAN_BITS);
        assert_code(counts, n, least + 1 > REPO_HUFFMAN_BITS ? REPO_HUFFMAN_BITS : least + 1);
        assert_code(counts, n, least);
    }
    uint32_t a = 1, b = 1;
    for (unsigned i = 0; i < 24; i++) { /* Fibonacci's numbers: as deep as can be */
        counts[i] = a;
        uint32_t next = a + b;
        a = b;
        b = next;
    }
    assert_code(counts, 24, REPO_HUFFMAN_BITS);
    assert_code(counts, 24, 7);
    memset(counts, 0, sizeof counts);
    assert_code(counts, 2, 1);
    counts[1] = 5;
    assert_code(counts, 30, 15);
}

static void test_records__no_memory__fails_and_leaves_out_as_it_was(void **state)
{
    (void)state;
    grebe_status st = GREBE_ENOMEM;
    unsigned char in[1000] = { 0 };
    for (size_t fail_at = 1; st != GREBE_OK; fail_at++) {
        struct test_allocator t;
        test_allocator_init(&t);
        t.fail_at = fail_at;
        struct buf scratch = BUF_INIT(&t.a), z = BUF_INIT(&t.a);
        st = repo_deflate_records(&scratch, in, sizeof in, 6, &z, NULL);
        assert_true(st == GREBE_OK || (st == GREBE_ENOMEM && z.len == 0));
        buf_release(&scratch);
        buf_release(&z);
        assert_int_equal(t.n_live, 0);
        assert_true(fail_at < 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records__any_bytes__zlib_reads_them),
        cmocka_unit_test(test_records__edges__zlib_reads_them),
        cmocka_unit_test(test_records__postings_and_floats__smaller_than_zlib_or_close),
        cmocka_unit_test(test_huffman__any_counts__complete_and_limited),
        cmocka_unit_test(test_records__no_memory__fails_and_leaves_out_as_it_was),
    };
    return cmocka_run_group_tests_name("repo_records", tests, NULL, NULL);
}
