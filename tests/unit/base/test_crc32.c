/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/hash.h"

#include "test_support.h"

/* The definition, bit by bit. */
static uint32_t slow_crc32(uint32_t crc, const unsigned char *p, size_t len)
{
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

static void test_crc32__known_values(void **state)
{
    (void)state;
    assert_int_equal(hash_crc32(0, "", 0), 0);
    assert_int_equal(hash_crc32(0, "123456789", 9), 0xcbf43926u); /* the check value of CRC-32 */
}

static void test_crc32__every_length_and_start__as_defined(void **state)
{
    (void)state;
    unsigned char bytes[1200];
    uint64_t seed = test_seed();
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)test_random(&seed);
    }
    for (size_t len = 0; len <= 1100; len++) {
        size_t at = len % 17;
        uint32_t start = len % 3 == 0 ? 0 : (uint32_t)test_random(&seed);
        assert_int_equal(hash_crc32(start, bytes + at, len), slow_crc32(start, bytes + at, len));
    }
    /* in two parts */
    uint32_t whole = hash_crc32(0, bytes, 1000);
    for (size_t cut = 0; cut <= 1000; cut += 7) {
        assert_int_equal(hash_crc32(hash_crc32(0, bytes, cut), bytes + cut, 1000 - cut), whole);
        assert_int_equal(hash_crc32_join(hash_crc32(0, bytes, cut), hash_crc32(0, bytes + cut, 1000 - cut), 1000 - cut), whole);
    }
}

/* More zeros than one step of the joining has. */
static void test_crc32__joined_behind_3_gib_of_zeros__is_that_of_all(void **state)
{
    (void)state;
    enum { PIECE = 1 << 26, PIECES = 48 };
    unsigned char *zeros = calloc(1, PIECE);
    uint32_t one = hash_crc32(0, zeros, PIECE), first = hash_crc32(0, "head", 4), whole = first, all = 0;
    for (int i = 0; i < PIECES; i++) {
        whole = hash_crc32(whole, zeros, PIECE);
        all = hash_crc32_join(all, one, PIECE);
    }
    free(zeros);
    assert_int_equal(hash_crc32_join(first, all, (uint64_t)PIECE * PIECES), whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc32__joined_behind_3_gib_of_zeros__is_that_of_all),
        cmocka_unit_test(test_crc32__known_values),
        cmocka_unit_test(test_crc32__every_length_and_start__as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
