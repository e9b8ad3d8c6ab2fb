/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "gitvdb/vdb_id.h"

static struct vdb_id text_id(const char *text)
{
    struct vdb_id id = { false, 0, text, strlen(text) };
    return id;
}

static struct vdb_id number_id(uint64_t number)
{
    struct vdb_id id = { true, number, NULL, 0 };
    return id;
}

static const char *hex_of(const struct vdb_id *id)
{
    static char hex[65];
    unsigned char digest[VDB_DIGEST_BYTES];
    vdb_id_digest(id, digest);
    for (size_t i = 0; i < VDB_DIGEST_BYTES; i++) {
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
    return hex;
}

static void test_id__order__strings_by_bytes_then_numbers(void **state)
{
    (void)state;
    struct vdb_id ids[] = { text_id(""),
                            text_id("1"),
                            text_id("a"),
                            text_id("ab"),
                            text_id("b"),
                            text_id("\xc3\xa9"),
                            text_id("\xef\xbf\xbd"),
                            text_id("\xf0\x9f\x98\x80"),
                            number_id(0),
                            number_id(1),
                            number_id(255),
                            number_id(256),
                            number_id(UINT64_MAX) };
    size_t n = sizeof ids / sizeof *ids;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            int order = vdb_id_compare(&ids[i], &ids[k]);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
}

static void test_id__digest_and_shard__as_the_original(void **state)
{
    (void)state;
    struct vdb_id old = text_id("old");
    assert_string_equal(hex_of(&old), "cea9cb3a720a82ffb5f92367224606b14e8628e5d89f7134ea2cbd63decf9c28");
    const struct {
        struct vdb_id id;
        uint32_t shard;
    } cases[] = { { text_id(""), 0x0a },           { text_id("1"), 0x3b }, { number_id(1), 0x19 },
                  { number_id(UINT64_MAX), 0x03 }, { text_id("a"), 0x13 }, { number_id(7), 0x3f } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char digest[VDB_DIGEST_BYTES];
        vdb_id_digest(&cases[i].id, digest);
        assert_int_equal(vdb_shard_of(digest), cases[i].shard);
    }
    unsigned char digest[VDB_DIGEST_BYTES];
    vdb_sha256("abc", 3, digest);
    assert_memory_equal(digest, "\xba\x78\x16\xbf\x8f\x01\xcf\xea", 8);
}

static void test_id__words__as_the_original(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        bool is_number;
        uint64_t number;
        const char *text;
    } cases[] = {
        { "42", true, 42, NULL },
        { "\"42\"", false, 0, "42" },
        { " 7 ", true, 7, NULL },
        { "007", false, 0, "007" },
        { "-1", false, 0, "-1" },
        { "-0", false, 0, "-0" },
        { "1.5", false, 0, "1.5" },
        { "1.0", false, 0, "1.0" },
        { "null", false, 0, "null" },
        { "18446744073709551615", true, UINT64_MAX, NULL },
        { "18446744073709551616", false, 0, "18446744073709551616" },
        { "\"\\u00e9\"", false, 0, "\xc3\xa9" },
        { "\"a", false, 0, "\"a" },
        { "[1]", false, 0, "[1]" },
        { "", false, 0, "" },
        { "\"\"", false, 0, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena ar = ARENA_INIT(mem_system());
        grebe_error err = GREBE_ERROR_INIT;
        struct vdb_id id;
        assert_ok(vdb_id_from_word(&ar, cases[i].word, strlen(cases[i].word), &id, &err));
        assert_int_equal(id.is_number, cases[i].is_number);
        if (cases[i].is_number) {
            assert_int_equal(id.number, cases[i].number);
        } else {
            assert_int_equal(id.len, strlen(cases[i].text));
            assert_memory_equal(id.text, cases[i].text, id.len);
        }
        struct vdb_value v = vdb_id_to_json(&id);
        struct vdb_id again;
        assert_ok(vdb_id_from_json(&v, &again, &err));
        assert_int_equal(vdb_id_compare(&id, &again), 0);
        arena_release(&ar);
    }
    struct arena ar = ARENA_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_id id;
    assert_fails(vdb_id_from_word(&ar, "a\xff", 2, &id, &err), GREBE_EINVAL, "UTF-8");
    struct vdb_value v = { .type = VDB_INT, .i = -1 };
    assert_fails(vdb_id_from_json(&v, &id, &err), GREBE_EINVAL, "found a negative integer");
    v.type = VDB_FLOAT;
    assert_fails(vdb_id_from_json(&v, &id, &err), GREBE_EINVAL, "found a fractional number");
    arena_release(&ar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id__order__strings_by_bytes_then_numbers),
        cmocka_unit_test(test_id__digest_and_shard__as_the_original),
        cmocka_unit_test(test_id__words__as_the_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
