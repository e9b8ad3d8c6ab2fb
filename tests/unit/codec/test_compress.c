/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_compress.h"

#include <stdlib.h>

#include "test_support.h"

static const enum codec_id written[] = {CODEC_NONE,    CODEC_SNAPPY,  CODEC_GZIP,
                                        CODEC_DEFLATE, CODEC_LZ4_RAW, CODEC_ZSTD,
                                        CODEC_BROTLI};
enum { N_WRITTEN = sizeof written / sizeof written[0] };

static void *exact_copy(const void *bytes, size_t n)
{
    void *p = malloc(n == 0 ? 1 : n);

    if (n > 0) {
        memcpy(p, bytes, n);
    }
    return p;
}

static void fill(uint8_t *v, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = (uint8_t)(test_random(seed) % 7 + (i & 32));
    }
}

static void test_compress__every_codec__round_trip_and_exact_length(void **state)
{
    uint64_t seed = test_seed();
    static uint8_t v[70000], w[70001];
    const size_t lengths[] = {0, 1, 2, 100, 65536, 70000};
    grebe_error err = GREBE_ERROR_INIT;
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());

    (void)state;
    fill(v, sizeof v, &seed);
    for (size_t c = 0; c < N_WRITTEN; c++) {
        if (!codec_is_available(written[c], true)) {
            continue;
        }
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            struct buf b = BUF_INIT(mem_system());
            const size_t n = lengths[k];

            assert_ok(codec_compress(written[c], CODEC_LEVEL_DEFAULT, v, n, &b, &ws, &err));
            uint8_t *bytes = exact_copy(b.data, b.len);
            memset(w, 0xAA, sizeof w);
            assert_ok(codec_decompress(written[c], bytes, b.len, w, n, &ws, &err));
            assert_memory_equal(v, w, n);
            assert_int_equal(w[n], 0xAA);
            assert_int_equal(codec_decompress(written[c], bytes, b.len, w, n + 1, &ws, &err),
                             GREBE_ECORRUPT);
            if (n > 0) {
                assert_int_equal(codec_decompress(written[c], bytes, b.len, w, n - 1, &ws, &err),
                                 GREBE_ECORRUPT);
                assert_int_equal(codec_decompress(written[c], bytes, b.len - 1, w, n, &ws, &err),
                                 GREBE_ECORRUPT);
            }
            free(bytes);
            buf_release(&b);
        }
    }
    codec_workspace_release(&ws);
}

static void test_decompress__damaged__error_or_right_length(void **state)
{
    uint64_t seed = test_seed();
    uint8_t v[300], w[300];
    grebe_error err = GREBE_ERROR_INIT;
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());
    enum codec_id ids[N_WRITTEN + 1];

    (void)state;
    memcpy(ids, written, sizeof written);
    ids[N_WRITTEN] = CODEC_LZ4_HADOOP;
    fill(v, sizeof v, &seed);
    for (size_t c = 0; c <= N_WRITTEN; c++) {
        struct buf b = BUF_INIT(mem_system());
        const enum codec_id out = ids[c] == CODEC_LZ4_HADOOP ? CODEC_LZ4_RAW : ids[c];

        if (!codec_is_available(out, true)) {
            continue;
        }
        assert_ok(codec_compress(out, CODEC_LEVEL_DEFAULT, v, sizeof v, &b, &ws, &err));
        for (size_t cut = 0; cut < b.len; cut++) {
            uint8_t *part = exact_copy(b.data, cut);

            assert_int_equal(codec_decompress(ids[c], part, cut, w, sizeof w, &ws, &err),
                             GREBE_ECORRUPT);
            free(part);
        }
        for (int round = 0; round < 3000; round++) {
            uint8_t *bad = exact_copy(b.data, b.len);
            grebe_status st;

            bad[test_random(&seed) % b.len] = (uint8_t)test_random(&seed);
            st = codec_decompress(ids[c], bad, b.len, w, sizeof w, &ws, &err);
            assert_true(st == GREBE_OK || st == GREBE_ECORRUPT);
            free(bad);
        }
        buf_release(&b);
    }
    codec_workspace_release(&ws);
}

static void test_decompress__hadoop_frames__joined(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());
    struct buf b = BUF_INIT(mem_system()), block = BUF_INIT(mem_system());
    char w[12];

    (void)state;
    if (!codec_is_available(CODEC_LZ4_RAW, true)) {
        skip();
    }
    for (int i = 0; i < 2; i++) {
        const uint8_t head[8] = {0, 0, 0, 6, 0, 0, 0, 0};

        buf_clear(&block);
        assert_ok(codec_compress(CODEC_LZ4_RAW, 0, i == 0 ? "abcdef" : "ghijkl", 6, &block, &ws,
                                 &err));
        assert_ok(buf_put(&b, head, 8, &err));
        b.data[b.len - 1] = (uint8_t)block.len;
        assert_ok(buf_put(&b, block.data, block.len, &err));
    }
    assert_ok(codec_decompress(CODEC_LZ4_HADOOP, b.data, b.len, w, 12, &ws, &err));
    assert_memory_equal(w, "abcdefghijkl", 12);
    buf_release(&b);
    buf_release(&block);
    codec_workspace_release(&ws);
}

static void test_inflate__growing__limit_and_members(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());
    struct buf raw = BUF_INIT(mem_system()), two = BUF_INIT(mem_system());
    struct buf out = BUF_INIT(mem_system());
    static uint8_t v[100000], w[200000];

    (void)state;
    assert_ok(codec_compress(CODEC_DEFLATE, 9, v, sizeof v, &raw, &ws, &err));
    assert_ok(codec_inflate(raw.data, raw.len, false, sizeof v, &out, &err));
    assert_int_equal(out.len, sizeof v);
    assert_memory_equal(out.data, v, sizeof v);
    buf_clear(&out);
    assert_fails(codec_inflate(raw.data, raw.len, false, sizeof v - 1, &out, &err), GREBE_ELIMIT,
                 "99999");
    buf_clear(&out);
    assert_fails(codec_inflate(raw.data, raw.len - 1, false, sizeof v, &out, &err),
                 GREBE_ECORRUPT, "");
    assert_fails(codec_inflate("", 0, false, 10, &out, &err), GREBE_ECORRUPT, "");
    assert_fails(codec_inflate(NULL, 0, true, 10, &out, &err), GREBE_ECORRUPT, "");
    assert_ok(buf_put(&raw, "xxxxx", 5, &err));
    assert_fails(codec_inflate(raw.data, raw.len, false, sizeof v, &out, &err), GREBE_ECORRUPT,
                 "ends at byte");
    /* gzip: concatenated members are one stream; garbage behind is an error */
    assert_ok(codec_compress(CODEC_GZIP, 1, v, sizeof v, &two, &ws, &err));
    assert_ok(codec_compress(CODEC_GZIP, 1, v, sizeof v, &two, &ws, &err));
    assert_ok(codec_decompress(CODEC_GZIP, two.data, two.len, w, sizeof w, &ws, &err));
    assert_ok(buf_put(&two, "garbage", 7, &err));
    assert_int_equal(codec_decompress(CODEC_GZIP, two.data, two.len, w, sizeof w, &ws, &err),
                     GREBE_ECORRUPT);
    buf_release(&raw);
    buf_release(&two);
    buf_release(&out);
    codec_workspace_release(&ws);
}

static void test_zstd_expand__unknown_length__limit_and_cut(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());
    struct buf b = BUF_INIT(mem_system()), out = BUF_INIT(mem_system());
    static uint8_t v[400000];

    (void)state;
    assert_ok(codec_compress(CODEC_ZSTD, 1, v, sizeof v, &b, &ws, &err));
    assert_ok(codec_compress(CODEC_ZSTD, 1, "tail", 4, &b, &ws, &err));
    assert_ok(codec_zstd_expand(b.data, b.len, sizeof v + 4, &out, &ws, &err));
    assert_int_equal(out.len, sizeof v + 4);
    assert_memory_equal(out.data + sizeof v, "tail", 4);
    buf_clear(&out);
    assert_fails(codec_zstd_expand(b.data, b.len, sizeof v, &out, &ws, &err), GREBE_ELIMIT,
                 "400000");
    buf_clear(&out);
    assert_fails(codec_zstd_expand(b.data, b.len - 1, SIZE_MAX, &out, &ws, &err), GREBE_ECORRUPT,
                 "early");
    buf_release(&b);
    buf_release(&out);
    codec_workspace_release(&ws);
}

static void test_codec__names__and_what_is_not_built_in(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());
    struct buf b = BUF_INIT(mem_system());
    enum codec_id id = CODEC_NONE;
    char w[4];

    (void)state;
    assert_true(codec_from_name("ZSTD", &id) && id == CODEC_ZSTD);
    assert_true(codec_from_name("lz4", &id) && id == CODEC_LZ4_RAW);
    assert_true(codec_from_name("none", &id) && id == CODEC_NONE);
    assert_false(codec_from_name("zip", &id));
    assert_string_equal(codec_name(CODEC_BROTLI), "brotli");
    assert_fails(codec_decompress(CODEC_BROTLI, "abcd", 4, w, 4, &ws, &err),
                 codec_is_available(CODEC_BROTLI, false) ? GREBE_ECORRUPT : GREBE_EUNSUPPORTED,
                 "brotli");
    assert_fails(codec_decompress(CODEC_LZO, "abcd", 4, w, 4, &ws, &err), GREBE_EUNSUPPORTED,
                 "lzo");
    assert_fails(codec_compress(CODEC_LZO, 0, "abcd", 4, &b, &ws, &err), GREBE_EUNSUPPORTED,
                 "lzo");
    assert_fails(codec_compress(CODEC_LZ4_HADOOP, 0, "abcd", 4, &b, &ws, &err),
                 GREBE_EUNSUPPORTED, "lz4_hadoop");
    assert_fails(codec_compress(CODEC_ZSTD, 100, "abcd", 4, &b, &ws, &err), GREBE_EINVAL,
                 "found 100");
    assert_fails(codec_compress(CODEC_GZIP, 10, "abcd", 4, &b, &ws, &err), GREBE_EINVAL,
                 "found 10");
    if (codec_is_available(CODEC_BROTLI, true)) {
        assert_fails(codec_compress(CODEC_BROTLI, 12, "abcd", 4, &b, &ws, &err), GREBE_EINVAL,
                     "found 12");
    }
    buf_release(&b);
    codec_workspace_release(&ws);
}

static grebe_status use_all(const grebe_allocator *a, enum codec_id id)
{
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(a);
    struct buf b = BUF_INIT(a);
    static uint8_t v[5000], w[5000];
    grebe_status st = codec_compress(id, CODEC_LEVEL_DEFAULT, v, sizeof v, &b, &ws, NULL);

    if (st == GREBE_OK) {
        st = codec_decompress(id, b.data, b.len, w, sizeof w, &ws, NULL);
    }
    buf_release(&b);
    codec_workspace_release(&ws);
    return st;
}

static void test_compress__no_memory__reported(void **state)
{
    (void)state;
    for (size_t c = 0; c < N_WRITTEN; c++) {
        if (!codec_is_available(written[c], true)) {
            continue;
        }
        for (size_t n = 1;; n++) {
            struct test_allocator t;
            grebe_status st;

            test_allocator_init(&t);
            t.fail_at = n;
            st = use_all(&t.a, written[c]);
            assert_int_equal(t.n_live, 0);
            if (st == GREBE_OK) {
                break;
            }
            assert_int_equal(st, GREBE_ENOMEM);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compress__every_codec__round_trip_and_exact_length),
        cmocka_unit_test(test_decompress__damaged__error_or_right_length),
        cmocka_unit_test(test_decompress__hadoop_frames__joined),
        cmocka_unit_test(test_inflate__growing__limit_and_members),
        cmocka_unit_test(test_zstd_expand__unknown_length__limit_and_cut),
        cmocka_unit_test(test_codec__names__and_what_is_not_built_in),
        cmocka_unit_test(test_compress__no_memory__reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
