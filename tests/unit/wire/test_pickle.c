/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/pickle.h"

#include <stdlib.h>

#include "test_support.h"

static bool allows(void *arg, const char *module, size_t module_len, const char *name, size_t name_len)
{
    (void)arg;
    (void)name;
    (void)name_len;
    return module_len == 4 && memcmp(module, "good", 4) == 0;
}

static grebe_error err;

static grebe_status parse(struct arena *ar, const char *bytes, size_t len, const struct pickle_value **out)
{
    return pickle_parse(ar, "x.pkl", bytes, len, allows, NULL, out, &err);
}

static void test_pickle__values_of_every_kind(void **state)
{
    /* pickle.dumps({"a": [1, -2, 2.5, None, True], "b": (b"xy", "ß"), "n": 10**15}, 4), by hand in protocol 2 and 4 opcodes */
    static const char text[] = "\x80\x04}(\x8c\x01" "a](K\x01J\xfe\xff\xff\xffG\x40\x04\0\0\0\0\0\0N\x88" "e\x8c\x01" "b" "C\x02xy"
                               "\x8c\x02\xc3\x9f\x86\x8c\x01n\x8a\x07\x00\x80\xc6\xa4\x7e\x8d\x03u.";
    struct arena ar = ARENA_INIT(mem_system());
    const struct pickle_value *v = NULL;
    (void)state;
    assert_ok(parse(&ar, text, sizeof text - 1, &v));
    const struct pickle_value *a = pickle_get(v, "a"), *b = pickle_get(v, "b");
    assert_int_equal(a->n, 5);
    assert_int_equal(a->items[0]->integer, 1);
    assert_int_equal(a->items[1]->integer, -2);
    assert_true(a->items[2]->real == 2.5);
    assert_int_equal(a->items[3]->type, PICKLE_NONE);
    assert_true(a->items[4]->boolean);
    assert_int_equal(b->type, PICKLE_TUPLE);
    assert_int_equal(b->items[0]->type, PICKLE_BYTES);
    assert_string_equal(b->items[1]->text, "ß");
    assert_int_equal(pickle_get(v, "n")->integer, 1000000000000000);
    assert_null(pickle_get(v, "z"));
    arena_release(&ar);
}

/* A tuple of nothing is the first that is made, before there is anything on the stack; UBSan looks at its addresses. */
static void test_pickle__an_empty_tuple_first(void **state)
{
    static const char text[] = "\x80\x02).";
    struct arena ar = ARENA_INIT(mem_system());
    const struct pickle_value *v = NULL;
    (void)state;
    assert_ok(parse(&ar, text, sizeof text - 1, &v));
    assert_int_equal(v->type, PICKLE_TUPLE);
    assert_int_equal(v->n, 0);
    arena_release(&ar);
}

static void test_pickle__calls_are_told_and_not_made(void **state)
{
    static const char text[] = "\x80\x02" "cgood\nthing\nq\0K\x07\x85Rq\1}X\x01\0\0\0kh\1sb.";
    struct arena ar = ARENA_INIT(mem_system());
    const struct pickle_value *v = NULL;
    (void)state;
    /* an object with a state in which it stands itself: values that hold each other */
    assert_fails(parse(&ar, text, sizeof text - 1, &v), GREBE_ELIMIT, "hold each other");
    static const char plain[] = "\x80\x02" "cgood\nthing\nK\x07\x85R}X\x01\0\0\0kK\1sb.";
    assert_ok(parse(&ar, plain, sizeof plain - 1, &v));
    assert_non_null(pickle_call(v, "good thing", 1));
    assert_int_equal(pickle_call(v, "good thing", 1)[0]->integer, 7);
    assert_null(pickle_call(v, "good thing", 2));
    assert_int_equal(pickle_get(v->state, "k")->integer, 1);
    arena_release(&ar);
}

static void test_pickle__what_is_wrong__named_with_its_offset(void **state)
{
#define CASE(text, st, words) { text, sizeof text - 1, st, words }
    static const struct { const char *bytes; size_t len; grebe_status st; const char *words; } bad[] = {
        CASE("", GREBE_ECORRUPT, "offset 0: it ends"),
        CASE("\x80\x02", GREBE_ECORRUPT, "offset 2: it ends"),
        CASE("\x80\x02.", GREBE_ECORRUPT, "a value is expected"),
        CASE("NN.", GREBE_ECORRUPT, "left on the stack"),
        CASE("(N.", GREBE_ECORRUPT, "left on the stack"),
        CASE("cos\nsystem\n.", GREBE_EUNSUPPORTED, "os system"),
        CASE("\x8c\x02os\x8c\x06system\x93.", GREBE_EUNSUPPORTED, "offset 12: the name"),
        CASE("I1\n.", GREBE_EUNSUPPORTED, "opcode 0x49"),
        CASE("X\xff\xff\xff\x7f" "a.", GREBE_ECORRUPT, "ends inside"),
        CASE("\x8c\x01\xff.", GREBE_ECORRUPT, "UTF-8"),
        CASE("\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01.", GREBE_EUNSUPPORTED, "64 bits"),
        CASE("h\5.", GREBE_ECORRUPT, "holds nothing"),
        CASE("Nr\xff\xff\xff\x7f.", GREBE_ECORRUPT, "a place in the memo"),
        CASE("]q\0h\0a.", GREBE_ELIMIT, "hold each other"),
        CASE("}(K\1u.", GREBE_ECORRUPT, "a key without a value"),
        CASE("K\1K\2R.", GREBE_ECORRUPT, "a call of something"),
        CASE("K\1}b.", GREBE_ECORRUPT, "no object"),
        CASE("\x85.", GREBE_ECORRUPT, "values are expected"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena ar = ARENA_INIT(mem_system());
        const struct pickle_value *v = NULL;
        assert_fails(parse(&ar, bad[i].bytes, bad[i].len, &v), bad[i].st, bad[i].words);
        assert_null(v);
        arena_release(&ar);
    }
}

static void test_pickle__no_memory__every_time(void **state)
{
    static const char text[] = "\x80\x04}(\x8c\x01" "a](K\x01K\2K\3K\4K\5e\x8c\x01" "b(NNNNtu.";
    (void)state;
    for (size_t n = 1; n < 100; n++) {
        struct test_allocator t;
        test_allocator_init(&t);
        t.fail_at = n;
        struct arena ar = ARENA_INIT(&t.a);
        const struct pickle_value *v = NULL;
        grebe_status st = parse(&ar, text, sizeof text - 1, &v);
        arena_release(&ar);
        assert_int_equal(t.live_bytes, 0);
        if (st == GREBE_OK) {
            return;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
    fail();
}

/* Pickles that make much of little: a piece of memory is at most four times the bytes, or a block of the arena. */
static void test_pickle__bombs__no_piece_above_four_times_the_bytes(void **state)
{
    static const struct {
        const char *begin, *again, *end;
        bool is_read;
    } bombs[] = {
        { "(", "N", "t.", false },              /* a tuple of None: a byte each */
        { "](", "N", "e.", false },             /* a list of them */
        { "]", "Na", ".", true },               /* one by one */
        { "", "(", "", false },                 /* marks */
        { "(", "K\x01", "t.", true },           /* a tuple of numbers: two bytes each */
        { "K\x01\x94", "\x94", ".", false },    /* the same into the memo again and again */
        { "K\x01", "0K\x01\x94", ".", true },
        { "}(", "K\x01N", "u.", false },        /* a dict at once: Python fills it a thousand pairs at a time */
        { "}", "(K\x01Nu", ".", true },
        { "}", ")\x85\x85N\x86\x30", ".", true }, /* tuples of tuples that nobody keeps */
    };
    enum { ROUNDS = 200000 };
    char *bytes = malloc(8 * ROUNDS + 16);
    (void)state;
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        struct test_allocator a;
        test_allocator_init(&a);
        struct arena ar = ARENA_INIT(&a.a);
        const struct pickle_value *v = NULL;
        size_t len = strlen(bombs[i].begin), n = strlen(bombs[i].again);
        memcpy(bytes, bombs[i].begin, len);
        for (size_t k = 0; k < ROUNDS; k++, len += n) {
            memcpy(bytes + len, bombs[i].again, n);
        }
        memcpy(bytes + len, bombs[i].end, strlen(bombs[i].end));
        len += strlen(bombs[i].end);
        grebe_status st = parse(&ar, bytes, len, &v);
        if ((st == GREBE_OK) != bombs[i].is_read || a.largest_bytes > 4 * len + ARENA_BLOCK_MAX) {
            fail_msg("bomb %zu of %zu bytes: %s, %zu bytes at once", i, len, st == GREBE_OK ? "read" : err.message, a.largest_bytes);
        }
        arena_release(&ar);
        assert_int_equal(a.n_live, 0);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pickle__values_of_every_kind),
        cmocka_unit_test(test_pickle__an_empty_tuple_first),
        cmocka_unit_test(test_pickle__calls_are_told_and_not_made),
        cmocka_unit_test(test_pickle__what_is_wrong__named_with_its_offset),
        cmocka_unit_test(test_pickle__bombs__no_piece_above_four_times_the_bytes),
        cmocka_unit_test(test_pickle__no_memory__every_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
