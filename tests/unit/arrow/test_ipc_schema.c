/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/ipc.h"
#include "base/endian.h"

static unsigned char *golden(const char *name, size_t *len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/golden/arrow/%s", TEST_DATA, name);
    return test_read_file(path, len);
}

static const struct ArrowSchema *field(const struct ArrowSchema *s, const char *name)
{
    grebe_error err = GREBE_ERROR_INIT;
    int i = -1;
    assert_ok(schema_find(s, name, &i, &err));
    return s->children[i];
}

static void test_ipc_schema__all_types_of_pyarrow__formats_and_metadata(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    unsigned char *bytes = golden("schema_all_types.ipc", &len);
    struct ArrowSchema s;
    assert_ok(ipc_schema_decode(mem_system(), bytes, len, &s, &err));
    static const char *const formats[] = {
        "n", "b", "c", "s", "i", "l", "C", "S", "I", "L", "e", "f", "g", "u", "U", "vu", "z", "Z",
        "vz", "w:16", "tdD", "tdm", "tts", "ttm", "ttu", "ttn", "tss:", "tsm:", "tsu:UTC",
        "tsn:Europe/Paris", "tDs", "tDm", "tDu", "tDn", "tin", "d:9,2,32", "d:18,3,64", "d:38,-5",
        "d:76,10,256", "+l", "+L", "+vl", "+vL", "+w:128", "+s", "+m", "+m", "c", "I",
        "+ud:3,7", "+us:0,1", "+r",
    };
    assert_int_equal(s.n_children, sizeof formats / sizeof formats[0]);
    for (int64_t i = 0; i < s.n_children; i++) {
        assert_string_equal(s.children[i]->format, formats[i]);
    }
    assert_false(s.children[1]->flags & ARROW_FLAG_NULLABLE);
    assert_true(s.children[2]->flags & ARROW_FLAG_NULLABLE);
    struct key_value kv;
    assert_true(schema_metadata_find(&s, "hello", &kv));
    assert_int_equal(kv.value_len, 5);
    assert_memory_equal(kv.value, "world", 5);
    assert_true(schema_metadata_find(&s, "empty", &kv));
    assert_int_equal(kv.value_len, 0);
    assert_true(schema_metadata_find(s.children[3], "PARQUET:field_id", &kv));
    assert_true(field(&s, "f46")->flags & ARROW_FLAG_MAP_KEYS_SORTED);
    const struct ArrowSchema *dict = field(&s, "f47");
    assert_true(dict->flags & ARROW_FLAG_DICTIONARY_ORDERED);
    assert_string_equal(dict->dictionary->format, "u");
    assert_string_equal(field(&s, "f48")->dictionary->children[0]->dictionary->format, "u");
    assert_string_equal(field(&s, "f40")->children[0]->name, "element");

    /* Our own encoding reads back as the same schema. */
    struct buf again = BUF_INIT(mem_system());
    struct ArrowSchema back;
    assert_ok(ipc_schema_encode(&again, &s, &err));
    assert_int_equal(load_le32(again.data), UINT32_MAX);
    assert_int_equal(load_le32(again.data + 4) % 8, 0);
    assert_int_equal(load_le32(again.data + 4) + 8, again.len);
    assert_ok(ipc_schema_decode(mem_system(), again.data, again.len, &back, &err));
    assert_true(schema_equal(&s, &back, 0));
    const char *out = getenv("GREBE_TEST_OUT");
    if (out != NULL) {
        test_write_file(out, again.data, again.len);
    }
    /* Before Arrow 0.15 the prefix was the length alone. */
    schema_release(&back);
    assert_ok(ipc_schema_decode(mem_system(), again.data + 4, again.len - 4, &back, &err));
    assert_true(schema_equal(&s, &back, 0));
    schema_release(&back);
    buf_release(&again);
    schema_release(&s);
    free(bytes);
}

static void test_ipc_schema__polars__read(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    unsigned char *bytes = golden("schema_polars.ipc", &len);
    struct ArrowSchema s;
    assert_ok(ipc_schema_decode(mem_system(), bytes, len, &s, &err));
    assert_int_equal(s.n_children, 5);
    assert_string_equal(field(&s, "a")->format, "l");
    assert_string_equal(field(&s, "ar")->format, "+w:2");
    assert_non_null(field(&s, "c")->dictionary);
    schema_release(&s);
    free(bytes);
}

static void test_ipc_schema__cut_and_flipped__refused_or_read(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    unsigned char *bytes = golden("schema_all_types.ipc", &len);
    struct ArrowSchema s;
    for (size_t n = 0; n < len; n++) {
        unsigned char *cut = malloc(n + 1);
        memcpy(cut, bytes, n);
        grebe_status st = ipc_schema_decode(mem_system(), cut, n, &s, &err);
        assert_int_not_equal(st, GREBE_OK);
        assert_null(s.release);
        free(cut);
    }
    uint64_t seed = test_seed();
    for (int round = 0; round < 20000; round++) {
        size_t at = test_random(&seed) % len;
        unsigned char old = bytes[at];
        static const unsigned char nasty[] = { 0, 0xff, 0x7f, 0x80, 1 };
        bytes[at] = round % 2 == 0 ? nasty[test_random(&seed) % 5] : (unsigned char)test_random(&seed);
        if (ipc_schema_decode(mem_system(), bytes, len, &s, &err) == GREBE_OK) {
            assert_ok(schema_check(&s, &err));
            schema_release(&s);
        }
        bytes[at] = old;
    }
    free(bytes);
}

static void test_ipc_schema__no_memory__nothing_leaks(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    unsigned char *bytes = golden("schema_all_types.ipc", &len);
    struct test_allocator t;
    test_allocator_init(&t);
    for (size_t n = 1;; n++) {
        struct ArrowSchema s;
        struct buf b = BUF_INIT(&t.a);
        t.n_calls = 0;
        t.fail_at = n;
        grebe_status st = ipc_schema_decode(&t.a, bytes, len, &s, &err);
        if (st == GREBE_OK) {
            st = ipc_schema_encode(&b, &s, &err);
        }
        schema_release(&s);
        buf_release(&b);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            assert_true(n > 100);
            break;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ipc_schema__all_types_of_pyarrow__formats_and_metadata),
        cmocka_unit_test(test_ipc_schema__polars__read),
        cmocka_unit_test(test_ipc_schema__cut_and_flipped__refused_or_read),
        cmocka_unit_test(test_ipc_schema__no_memory__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
