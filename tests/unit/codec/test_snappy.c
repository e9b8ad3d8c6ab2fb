/* SPDX-License-Identifier: Apache-2.0 */
/* Snappy blocks made element by element, against an expansion that goes byte by byte. */
#include "codec/codec_snappy.h"

#include <stdlib.h>

#include "test_support.h"

enum { RAW_MAX = 20000, BLOCK_MAX = 60000 };

struct block {
    uint8_t bytes[BLOCK_MAX];
    size_t len;
    uint8_t raw[RAW_MAX]; /* what it stands for */
    size_t raw_len;
};

static void put(struct block *b, uint8_t v) { b->bytes[b->len++] = v; }

/* n_bytes: how many bytes the length takes behind the tag; 0: it is in the tag. */
static void put_literal(struct block *b, size_t len, unsigned n_bytes, uint64_t *seed)
{
    assert_true(len >= 1 && (n_bytes > 0 || len <= 60));
    put(b, (uint8_t)(n_bytes == 0 ? (len - 1) << 2 : (59 + n_bytes) << 2));
    for (unsigned i = 0; i < n_bytes; i++) {
        put(b, (uint8_t)((len - 1) >> (8 * i)));
    }
    for (size_t i = 0; i < len; i++) {
        uint8_t v = (uint8_t)test_random(seed);
        put(b, v);
        b->raw[b->raw_len++] = v;
    }
}

static void put_copy(struct block *b, unsigned kind, size_t offset, size_t len)
{
    if (kind == 1) {
        put(b, (uint8_t)(1 | (len - 4) << 2 | (offset >> 8) << 5));
        put(b, (uint8_t)offset);
    } else {
        put(b, (uint8_t)(kind | (len - 1) << 2));
        for (unsigned i = 0; i < (kind == 2 ? 2 : 4); i++) {
            put(b, (uint8_t)(offset >> (8 * i)));
        }
    }
    for (size_t i = 0; i < len; i++) {
        b->raw[b->raw_len] = b->raw[b->raw_len - offset];
        b->raw_len++;
    }
}

/* In memory of exactly the size: the sanitizer sees what goes beyond. */
static bool expand(const struct block *b, size_t cut, size_t raw_len, uint8_t **out)
{
    uint8_t head[5];
    size_t n = 0;
    for (size_t v = raw_len; n == 0 || v > 0; v >>= 7) {
        head[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    }
    size_t len = n + b->len - cut;
    uint8_t *src = malloc(len);
    uint64_t declared = 0;
    memcpy(src, head, n);
    memcpy(src + n, b->bytes, b->len - cut);
    *out = malloc(raw_len > 0 ? raw_len : 1);
    bool is_right = codec_snappy_expand(src, len, raw_len > 0 ? *out : NULL, raw_len, &declared);
    assert_int_equal(declared, raw_len);
    free(src);
    return is_right;
}

static void check(const struct block *b)
{
    uint8_t *out = NULL;
    assert_true(expand(b, 0, b->raw_len, &out));
    assert_memory_equal(out, b->raw, b->raw_len);
    free(out);
}

static void test_snappy__every_offset_and_length__as_byte_by_byte(void **state)
{
    uint64_t seed = test_seed();
    static struct block b;
    (void)state;
    for (unsigned kind = 1; kind <= 3; kind++) {
        for (size_t offset = 1; offset <= 80; offset++) {
            for (size_t len = kind == 1 ? 4 : 1; len <= (kind == 1 ? 11u : 64u); len++) {
                b.len = b.raw_len = 0;
                put_literal(&b, 60, 0, &seed);
                put_literal(&b, 40, 1, &seed);
                put_copy(&b, kind, offset, len);
                if (len % 2) { /* far from both ends, or at the very end */
                    put_literal(&b, 200, 1, &seed);
                }
                check(&b);
            }
        }
    }
}

static void random_block(struct block *b, uint64_t *seed)
{
    size_t n = 1 + test_random(seed) % 400;
    b->len = b->raw_len = 0;
    for (size_t i = 0; i < n && b->raw_len < RAW_MAX - 600; i++) {
        uint64_t form = test_random(seed) % 8;
        if (b->raw_len == 0 || form < 3) {
            unsigned n_bytes = form == 0 ? 1 + (unsigned)(test_random(seed) % 4) : 0;
            size_t most = n_bytes == 0 ? 60 : n_bytes == 1 ? 256 : 500;
            put_literal(b, 1 + test_random(seed) % most, n_bytes, seed);
            continue;
        }
        size_t reach = form < 6 && b->raw_len > 20 ? 20 : b->raw_len;
        size_t offset = 1 + test_random(seed) % reach;
        bool is_short = offset < 2048 && form % 2 == 0;
        size_t len = is_short ? 4 + test_random(seed) % 8 : 1 + test_random(seed) % 64;
        put_copy(b, is_short ? 1 : form == 7 ? 3 : 2, offset, len);
    }
}

static void test_snappy__random_blocks__right_cut_and_of_other_lengths(void **state)
{
    uint64_t seed = test_seed();
    static struct block b;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint8_t *out = NULL;
        random_block(&b, &seed);
        check(&b);
        assert_false(expand(&b, 1 + test_random(&seed) % b.len, b.raw_len, &out));
        free(out);
        assert_false(expand(&b, 0, b.raw_len + 1 + test_random(&seed) % 100, &out));
        free(out);
        assert_false(expand(&b, 0, b.raw_len - 1, &out));
        free(out);
    }
}

static void test_snappy__damaged__nothing_beyond_the_ends(void **state)
{
    uint64_t seed = test_seed();
    static struct block b;
    int n_refused = 0;
    (void)state;
    for (int round = 0; round < 4000; round++) {
        uint8_t *out = NULL;
        random_block(&b, &seed);
        for (uint64_t k = 1 + test_random(&seed) % 3; k > 0; k--) {
            b.bytes[test_random(&seed) % b.len] = (uint8_t)test_random(&seed);
        }
        n_refused += !expand(&b, 0, b.raw_len, &out);
        free(out);
    }
    assert_true(n_refused > 200);
}

static void test_snappy__offsets_that_cannot_be__refused(void **state)
{
    uint64_t seed = test_seed();
    static struct block b;
    static const size_t offsets[] = { 0, 101, 4000, 65535 };
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        for (unsigned kind = 2; kind <= 3; kind++) {
            uint8_t *out = NULL;
            b.len = b.raw_len = 0;
            put_literal(&b, 100, 1, &seed);
            put(&b, (uint8_t)(kind | 9 << 2));
            for (unsigned k = 0; k < (kind == 2 ? 2 : 4); k++) {
                put(&b, (uint8_t)(offsets[i] >> (8 * k)));
            }
            b.raw_len += 10;
            put_literal(&b, 200, 1, &seed);
            assert_false(expand(&b, 0, b.raw_len, &out));
            free(out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snappy__every_offset_and_length__as_byte_by_byte),
        cmocka_unit_test(test_snappy__random_blocks__right_cut_and_of_other_lengths),
        cmocka_unit_test(test_snappy__damaged__nothing_beyond_the_ends),
        cmocka_unit_test(test_snappy__offsets_that_cannot_be__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
