/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of plain values and of transforms, equal to those of the library (tests/data/hfdatasets/fingerprint). */
#include "dataset/fingerprint.h"

#include <stdio.h>

#include "test_fixture.h"
#include "test_support.h"
#include "wire/json_python.h"

#include <stdlib.h>

static const struct json_value *read_facts(struct arena *ar)
{
    grebe_error err;
    size_t len = 0;
    const struct json_value *v = NULL;
    unsigned char *text = test_read_file(TEST_DATA "/data/hfdatasets/fingerprint/facts.json", &len);
    assert_ok(json_parse(ar, (const char *)text, len, &v, &err));
    free(text);
    return v;
}

static void hashes_plain_values(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *hashes = json_get(read_facts(&ar), "hash");
    int n = 0;
    for (size_t i = 0; i < hashes->n; i++) {
        const struct json_value *value = json_get(&hashes->items[i], "value"), *h = json_get(&hashes->items[i], "h");
        struct buf text = BUF_INIT(mem_system());
        char out[17];
        if (value->type == JSON_STRING && value->n > 0 && value->text[0] == '(') {
            continue; /* tuples are no JSON */
        }
        assert_ok(json_python_value(&text, value, -1, 0, &err));
        assert_ok(grebe_fingerprint_value(f->ctx, buf_text(&text), out, &err));
        if (strcmp(out, h->text) != 0) {
            fail_msg("%.200s: %s, expected %s", buf_text(&text), out, h->text);
        }
        buf_release(&text);
        n++;
    }
    assert_true(n >= 30);
    arena_release(&ar);
}

static void fingerprints_calls(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    static const struct {
        const char *transform, *arguments, *expected;
    } calls[] = {
        { "shuffle", "{\"fingerprint_name\": \"new_fingerprint\", \"seed\": 42}", "098bc69bed2990d1" },
        { "shuffle", "{\"seed\": 42, \"fingerprint_name\": \"new_fingerprint\", \"keep_in_memory\": true}",
          "ad59dda924943856" },
        { "select", "{\"fingerprint_name\": \"new_fingerprint\", \"indices\": [0, 2]}", "7fef2f7672c762e0" },
        { "rename_column",
          "{\"fingerprint_name\": \"new_fingerprint\", \"new_column_name\": \"z\", \"original_column_name\": \"a\"}",
          "d4393b73ad6365fc" },
        { "remove_columns", "{\"fingerprint_name\": \"new_fingerprint\", \"column_names\": [\"a\", \"b\"]}",
          "d9823df4c81a2ba3" },
        { "train_test_split", "{\"fingerprint_name\": \"train_new_fingerprint\", \"seed\": 42, \"test_size\": 0.5}",
          "20fc500382288979" },
        { "set_format", "{\"type\": \"numpy\"}", "496d8b35de1aebb4" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char name[128], out[17];
        snprintf(name, sizeof name, "datasets.arrow_dataset.Dataset.%s", calls[i].transform);
        assert_ok(grebe_fingerprint(f->ctx, "0123456789abcdef", name, calls[i].arguments, out, &err));
        assert_string_equal(out, calls[i].expected);
    }
    char out[17];
    assert_fails(grebe_fingerprint(f->ctx, "0", "x", "[]", out, &err), GREBE_EINVAL, "object");
    assert_fails(grebe_fingerprint(f->ctx, "0", "x", "{", out, &err), GREBE_EINVAL, "");
    assert_fails(fingerprint_check("a/b", &err), GREBE_EINVAL, "a/b");
    assert_fails(fingerprint_check("", &err), GREBE_EINVAL, "64");
    assert_ok(fingerprint_check("0123456789abcdef", &err));
}

/* Numbers of any size, from JSON and from words, are the same pickle. */
static void pickles_large_numbers(void **state)
{
    (void)state;
    grebe_error err;
    static const struct {
        uint32_t words[3];
        size_t n;
        const char *digits;
    } numbers[] = { { { 255 }, 1, "255" },
                    { { 0, 1 }, 2, "4294967296" },
                    { { 0, 0x80000000 }, 2, "9223372036854775808" },
                    { { 0xffffffff, 0xffffffff }, 2, "18446744073709551615" },
                    { { 5, 0, 1 }, 3, "18446744073709551621" } };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct pickle x, y;
        struct json_value v = { .type = JSON_NUMBER, .n = strlen(numbers[i].digits), .text = numbers[i].digits };
        assert_ok(pickle_begin(&x, mem_system(), &err));
        assert_ok(pickle_begin(&y, mem_system(), &err));
        assert_ok(pickle_words(&x, numbers[i].words, numbers[i].n, &err));
        assert_ok(pickle_json(&y, &v, &err));
        assert_ok(pickle_end(&x, &err));
        assert_ok(pickle_end(&y, &err));
        assert_int_equal(x.out.len, y.out.len);
        assert_memory_equal(x.out.data, y.out.data, x.out.len);
        pickle_release(&x);
        pickle_release(&y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hashes_plain_values, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(fingerprints_calls, fixture_set_up, fixture_tear_down),
        cmocka_unit_test(pickles_large_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
