/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "test_support.h"

/* Bytes that come `step` at a time; a failure after `fail_at` of them, when it is not 0. */
struct input {
    const uint8_t *data;
    size_t len, at, step, fail_at;
};

static grebe_status read_input(void *arg, void *dst, size_t len, size_t *got, grebe_error *err)
{
    struct input *in = arg;
    if (in->fail_at != 0 && in->at >= in->fail_at) {
        return GREBE_FAIL(err, GREBE_EIO, "the disk is gone");
    }
    *got = in->len - in->at < len ? in->len - in->at : len;
    *got = *got < in->step ? *got : in->step;
    if (*got > 0) {
        memcpy(dst, in->data + in->at, *got);
    }
    in->at += *got;
    return GREBE_OK;
}

static const enum codec_id ids[] = { CODEC_GZIP, CODEC_ZSTD };

/* All of the content, `room` bytes at a time. */
static grebe_status expand(const grebe_allocator *a, enum codec_id id, struct input *in, size_t room,
                           struct buf *out, grebe_error *err)
{
    struct codec_stream *s = NULL;
    grebe_status st = GREBE_OK;
    size_t got = 1;
    GREBE_TRY(codec_stream_new(a, id, read_input, in, &s, err));
    while (got > 0) {
        GREBE_TRY(buf_reserve(out, room, err));
        GREBE_TRY(codec_stream_read(s, out->data + out->len, room, &got, err));
        assert_true(got <= room);
        out->len += got;
    }
    /* the end stays the end */
    GREBE_TRY(codec_stream_read(s, out->data, room, &got, err));
    assert_int_equal(got, 0);
out:
    codec_stream_free(s);
    return st;
}

/* Members or frames of these lengths, one after another; plain: what they hold. */
static void make(enum codec_id id, const size_t *lengths, size_t n, struct buf *plain,
                 struct buf *packed)
{
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());
    for (size_t i = 0; i < n; i++) {
        size_t begin = plain->len;
        for (size_t k = 0; k < lengths[i]; k++) {
            assert_ok(buf_put_byte(plain, (uint8_t)(test_random(&seed) % 5 + (k & 64)), &err));
        }
        assert_ok(codec_compress(id, CODEC_LEVEL_DEFAULT, plain->data + begin, lengths[i], packed, &ws,
                                 &err));
    }
    codec_workspace_release(&ws);
}

static void test_codec_stream__members_in_any_pieces__whole_content(void **state)
{
    (void)state;
    static const size_t lengths[] = { 10, 0, 100000, 1 }, steps[] = { 1, 3, 4096, SIZE_MAX },
                        rooms[] = { 1, 1000, 1 << 20 };
    for (size_t c = 0; c < 2; c++) {
        struct buf plain = BUF_INIT(mem_system()), packed = BUF_INIT(mem_system());
        make(ids[c], lengths, 4, &plain, &packed);
        assert_int_equal(codec_stream_sniff(packed.data, packed.len), ids[c]);
        for (size_t i = 0; i < 12; i++) {
            grebe_error err = GREBE_ERROR_INIT;
            struct input in = { packed.data, packed.len, 0, steps[i % 4], 0 };
            struct buf out = BUF_INIT(mem_system());
            assert_ok(expand(mem_system(), ids[c], &in, rooms[i / 4], &out, &err));
            assert_int_equal(out.len, plain.len);
            assert_memory_equal(out.data, plain.data, plain.len);
            buf_release(&out);
        }
        buf_release(&plain);
        buf_release(&packed);
    }
}

static void test_codec_stream__cut_anywhere__corrupt_or_fewer_members(void **state)
{
    (void)state;
    static const size_t lengths[] = { 60, 40 };
    for (size_t c = 0; c < 2; c++) {
        struct buf plain = BUF_INIT(mem_system()), packed = BUF_INIT(mem_system());
        make(ids[c], lengths, 1, &plain, &packed);
        size_t first = packed.len;
        make(ids[c], lengths + 1, 1, &plain, &packed);
        for (size_t n = 1; n < packed.len; n++) {
            grebe_error err = GREBE_ERROR_INIT;
            uint8_t *exact = malloc(n);
            struct input in = { exact, n, 0, 7, 0 };
            struct buf out = BUF_INIT(mem_system());
            memcpy(exact, packed.data, n);
            grebe_status st = expand(mem_system(), ids[c], &in, 64, &out, &err);
            assert_int_equal(st, n == first ? GREBE_OK : GREBE_ECORRUPT);
            assert_true(n == first || strstr(err.message, "stream at byte") != NULL ||
                        strstr(err.message, "ends early") != NULL);
            assert_true(out.len <= plain.len && (out.len == 0 || memcmp(out.data, plain.data, out.len) == 0));
            buf_release(&out);
            free(exact);
        }
        buf_release(&plain);
        buf_release(&packed);
    }
}

static void test_codec_stream__changed_bytes__never_more_than_a_refusal(void **state)
{
    (void)state;
    static const size_t lengths[] = { 200 };
    for (size_t c = 0; c < 2; c++) {
        struct buf plain = BUF_INIT(mem_system()), packed = BUF_INIT(mem_system());
        make(ids[c], lengths, 1, &plain, &packed);
        size_t n_refused = 0;
        for (size_t k = 0; k < packed.len; k++) {
            grebe_error err = GREBE_ERROR_INIT;
            struct input in = { packed.data, packed.len, 0, SIZE_MAX, 0 };
            struct buf out = BUF_INIT(mem_system());
            packed.data[k] ^= 0x55;
            grebe_status st = expand(mem_system(), ids[c], &in, 64, &out, &err);
            assert_true(st == GREBE_OK || st == GREBE_ECORRUPT || st == GREBE_ELIMIT);
            assert_true(st == GREBE_OK || err.message[0] != '\0');
            n_refused += st != GREBE_OK;
            packed.data[k] ^= 0x55;
            buf_release(&out);
        }
        assert_true(n_refused > packed.len / 2);
        buf_release(&plain);
        buf_release(&packed);
    }
}

static void test_codec_stream__failures__given_on(void **state)
{
    (void)state;
    static const size_t lengths[] = { 3000 };
    grebe_error err = GREBE_ERROR_INIT;
    struct codec_stream *none = NULL;
    struct buf out = BUF_INIT(mem_system());
    assert_int_equal(codec_stream_sniff("a,b\n", 4), CODEC_NONE);
    assert_int_equal(codec_stream_sniff("\x1f", 1), CODEC_NONE);
    assert_int_equal(codec_stream_sniff("", 0), CODEC_NONE);
    assert_fails(codec_stream_new(mem_system(), CODEC_SNAPPY, read_input, NULL, &none, &err),
                 GREBE_EUNSUPPORTED, "expected gzip, zstd, bzip2, xz");
    codec_stream_free(NULL);
    for (size_t c = 0; c < 2; c++) {
        struct buf plain = BUF_INIT(mem_system()), packed = BUF_INIT(mem_system());
        make(ids[c], lengths, 1, &plain, &packed);
        struct input in = { packed.data, packed.len, 0, 16, 32 };
        assert_fails(expand(mem_system(), ids[c], &in, 64, &out, &err), GREBE_EIO, "the disk is gone");
        bool is_done = false;
        for (size_t n = 1; !is_done; n++) {
            struct test_allocator t;
            test_allocator_init(&t);
            t.fail_at = n;
            in = (struct input){ packed.data, packed.len, 0, 16, 0 };
            buf_clear(&out);
            grebe_status st = expand(&t.a, ids[c], &in, 64, &out, &err);
            assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
            is_done = st == GREBE_OK;
            assert_int_equal(t.n_live, 0);
            assert_true(n < 10000);
        }
        assert_int_equal(out.len, 3000);
        buf_release(&plain);
        buf_release(&packed);
    }
    buf_release(&out);
}

/* As tapes and block devices leave it; anything else behind a member is an error. */
static void test_codec_stream__zeros_behind_gzip__ignored(void **state)
{
    (void)state;
    static const size_t lengths[] = { 500, 0 }, steps[] = { 1, 7, SIZE_MAX };
    grebe_error err = GREBE_ERROR_INIT;
    struct buf plain = BUF_INIT(mem_system()), packed = BUF_INIT(mem_system());
    make(CODEC_GZIP, lengths, 2, &plain, &packed);
    assert_ok(buf_put_zero(&packed, 300000, &err));
    for (size_t i = 0; i < 3; i++) {
        struct input in = { packed.data, packed.len, 0, steps[i], 0 };
        struct buf out = BUF_INIT(mem_system());
        assert_ok(expand(mem_system(), CODEC_GZIP, &in, 64, &out, &err));
        assert_int_equal(out.len, plain.len);
        assert_memory_equal(out.data, plain.data, plain.len);
        packed.data[packed.len - 1] = 1;
        in = (struct input){ packed.data, packed.len, 0, steps[i], 0 };
        assert_fails(expand(mem_system(), CODEC_GZIP, &in, 64, &out, &err), GREBE_ECORRUPT, "gzip stream at byte");
        packed.data[packed.len - 1] = 0;
        buf_release(&out);
    }
    struct input zeros = { packed.data + packed.len - 100, 100, 0, 7, 0 };
    assert_fails(expand(mem_system(), CODEC_GZIP, &zeros, 64, &plain, &err), GREBE_ECORRUPT, "gzip stream at byte");
    buf_release(&plain);
    buf_release(&packed);
}

/* Frames whose header asks for a window of 256 MiB (zstd --long=28), the second with its length: it would fit what is read. */
static void test_codec_stream__zstd_window_too_large__limit(void **state)
{
    (void)state;
    static const uint8_t unsized[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 0x01, 0x00, 0x00 };
    static const uint8_t sized[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x80, 18 << 3, 3, 0, 0, 0, 0x19, 0x00, 0x00, 'a', 'b', 'c' };
    static const size_t steps[] = { 1, SIZE_MAX };
    for (size_t i = 0; i < 4; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct input in = { i < 2 ? unsized : sized, i < 2 ? sizeof unsized : sizeof sized, 0, steps[i % 2], 0 };
        struct buf out = BUF_INIT(mem_system());
        assert_fails(expand(mem_system(), CODEC_ZSTD, &in, 64, &out, &err), GREBE_ELIMIT,
                     "zstd: expected a window of at most 134217728 bytes, found");
        assert_int_equal(strstr(err.message, "one of 268435456") != NULL, i % 2 == 1);
        buf_release(&out);
    }
}

/* Files of other programs, two streams each: whole in any pieces, refused when cut, no memory lost. */
static void test_codec_stream__other_formats__read(void **state)
{
    static const struct {
        const char *name;
        enum codec_id id;
    } files[] = { { "two.bz2", CODEC_BZIP2 }, { "two.xz", CODEC_XZ }, { "two.lz4", CODEC_LZ4_FRAME } };
    static const size_t steps[] = { 1, 13, SIZE_MAX };
    (void)state;
    size_t n_read = 0;
    grebe_error err = GREBE_ERROR_INIT;
    for (size_t k = 0; k < 3; k++) {
        char path[512];
        size_t len = 0;
        snprintf(path, sizeof path, TEST_DATA "/data/codec/%s", files[k].name);
        unsigned char *bytes = test_read_file(path, &len);
        struct codec_stream *s = NULL;
        struct input none = { NULL, 0, 0, 1, 0 };
        assert_int_equal(codec_stream_sniff(bytes, len), files[k].id);
        if (codec_stream_new(mem_system(), files[k].id, read_input, &none, &s, &err) == GREBE_EUNSUPPORTED) {
            free(bytes); /* not built in */
            continue;
        }
        codec_stream_free(s);
        n_read++;
        for (size_t i = 0; i < 3; i++) {
            struct input in = { bytes, len, 0, steps[i], 0 };
            struct buf out = BUF_INIT(mem_system());
            assert_ok(expand(mem_system(), files[k].id, &in, 100, &out, &err));
            assert_int_equal(out.len, 300 * (13 + 14));
            assert_memory_equal(out.data, "first member\nfirst", 18);
            assert_memory_equal(out.data + out.len - 20, "ember\nsecond member\n", 20);
            buf_release(&out);
        }
        for (size_t cut = 1; cut < len; cut++) {
            struct input in = { bytes, cut, 0, SIZE_MAX, 0 };
            struct buf out = BUF_INIT(mem_system());
            grebe_status st = expand(mem_system(), files[k].id, &in, 1000, &out, &err);
            assert_true(st == GREBE_ECORRUPT || (st == GREBE_OK && out.len == 300 * 13));
            buf_release(&out);
        }
        for (size_t i = 0; i < len; i++) {
            struct input in = { bytes, len, 0, SIZE_MAX, 0 };
            struct buf out = BUF_INIT(mem_system());
            bytes[i] ^= 0x41;
            grebe_status st = expand(mem_system(), files[k].id, &in, 1000, &out, &err);
            bytes[i] ^= 0x41;
            assert_true(st != GREBE_ENOMEM);
            buf_release(&out);
        }
        grebe_status st = GREBE_ENOMEM;
        for (size_t n = 1; st != GREBE_OK; n++) {
            struct test_allocator t;
            test_allocator_init(&t);
            t.fail_at = n;
            struct input in = { bytes, len, 0, SIZE_MAX, 0 };
            struct buf out = BUF_INIT(mem_system());
            st = expand(&t.a, files[k].id, &in, 1000, &out, &err);
            assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
            assert_int_equal(t.n_live, 0);
            assert_true(n < 1000);
            buf_release(&out);
        }
        free(bytes);
    }
    print_message("%zu of 3 formats are built in\n", n_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codec_stream__members_in_any_pieces__whole_content),
        cmocka_unit_test(test_codec_stream__cut_anywhere__corrupt_or_fewer_members),
        cmocka_unit_test(test_codec_stream__changed_bytes__never_more_than_a_refusal),
        cmocka_unit_test(test_codec_stream__failures__given_on),
        cmocka_unit_test(test_codec_stream__zeros_behind_gzip__ignored),
        cmocka_unit_test(test_codec_stream__zstd_window_too_large__limit),
        cmocka_unit_test(test_codec_stream__other_formats__read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
