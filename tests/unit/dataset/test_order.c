/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/order.h"

#include "test_sha256.h"
#include "test_support.h"
#include "wire/json.h"

#include <stdlib.h>

/* Splits and interleavings of tests/data/hfdatasets/order/map_style.json. */

#define CASES_MAX 1024

/* Row i of source k has the id 100 k + i. */
static int64_t id_of(int64_t row, const int64_t *lengths, size_t n)
{
    int64_t k = 0;
    while ((size_t)k < n && row >= lengths[k]) {
        row -= lengths[k++];
    }
    return 100 * k + row;
}

static void assert_order(const struct json_value *expected, const int64_t *got, size_t n, size_t case_i)
{
    const struct json_value *order = json_get(expected, "order"), *digest = json_get(expected, "sha256_i64le");
    if (order == NULL) {
        char hex[65];
        test_sha256(got, n * sizeof *got, hex);
        if (digest == NULL || !json_is_text(digest, hex)) {
            fail_msg("case %zu: another digest of %zu rows", case_i, n);
        }
        return;
    }
    if (order->n != n) {
        fail_msg("case %zu: %zu rows, expected %zu", case_i, n, order->n);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t want = 0;
        assert_true(json_i64(&order->items[i], &want));
        if (want != got[i]) {
            fail_msg("case %zu, row %zu: %lld, expected %lld", case_i, i, (long long)got[i], (long long)want);
        }
    }
}

static struct pcg64 seed_of(const struct json_value *v)
{
    struct pcg64 g;
    uint64_t seed = 0;
    json_u64(v, &seed);
    pcg64_seed_u64(seed, &g);
    return g;
}

static bool is_refused(const struct json_value *c)
{
    const struct json_value *ours = json_get(c, "ours");
    return json_get(ours != NULL ? ours : c, "error") != NULL;
}

/* Whole numbers are rows, others fractions. */
static void size_of(const struct json_value *v, double *fraction, int64_t *rows)
{
    if (v == NULL || v->type != JSON_NUMBER) {
        return;
    }
    if (strpbrk(v->text, ".e") != NULL) {
        assert_true(json_double(v, fraction));
    } else {
        assert_true(json_i64(v, rows));
    }
}

static bool check_split(const struct json_value *c, size_t case_i)
{
    const struct json_value *args = json_get(c, "args"), *labels = json_get(c, "labels"),
                            *shuffle = json_get(args, "shuffle");
    const struct json_value *test_size = json_get(args, "test_size");
    grebe_split_options o = GREBE_SPLIT_OPTIONS_INIT;
    int64_t n = 0, n_train, n_test, values[4096];
    grebe_error err = GREBE_ERROR_INIT;
    assert_true(json_i64(json_get(c, "n"), &n));
    size_of(test_size, &o.test_fraction, &o.test_rows);
    size_of(json_get(args, "train_size"), &o.train_fraction, &o.train_rows);
    if ((test_size != NULL && test_size->type == JSON_STRING) || (shuffle != NULL && !shuffle->boolean)) {
        return false; /* no such argument here: a text; in order is nothing to draw */
    }
    if (test_size != NULL && test_size->type == JSON_NUMBER && test_size->text[0] == '-') {
        return false; /* negative means not given */
    }
    struct buf train = BUF_INIT(mem_system()), test = BUF_INIT(mem_system());
    struct pcg64 g = seed_of(json_get(args, "seed"));
    grebe_status st = order_split_sizes(&o, n, &n_train, &n_test, &err);
    if (st == GREBE_OK && json_get(args, "stratify_by_column") != NULL) {
        assert_true(labels->n <= 4096);
        for (size_t i = 0; i < labels->n; i++) {
            values[i] = INT64_MIN;
            json_i64(&labels->items[i], &values[i]);
        }
        st = order_split_stratified(mem_system(), &g, values, n, n_train, n_test, &train, &test, &err);
    } else if (st == GREBE_OK) {
        st = order_split(&g, n, n_train, n_test, &train, &test, &err);
    }
    if (is_refused(c)) {
        if (st != GREBE_EINVAL) {
            fail_msg("case %zu: not refused", case_i);
        }
    } else {
        if (st != GREBE_OK) {
            fail_msg("case %zu: %s", case_i, err.message);
        }
        assert_order(json_get(c, "train"), (const int64_t *)(const void *)train.data, train.len / 8, case_i);
        assert_order(json_get(c, "test"), (const int64_t *)(const void *)test.data, test.len / 8, case_i);
    }
    buf_release(&train);
    buf_release(&test);
    return true;
}

static bool check_interleave(const struct json_value *c, size_t case_i)
{
    const struct json_value *lens = json_get(c, "lens"), *p = json_get(c, "probabilities"),
                            *rule = json_get(c, "stopping_strategy");
    int64_t lengths[8];
    double chances[8];
    grebe_error err = GREBE_ERROR_INIT;
    if (json_get(c, "id_rule") != NULL || (p->type == JSON_ARRAY && p->n != lens->n)) {
        return false; /* fewer probabilities than sources cannot be said here */
    }
    for (size_t k = 0; k < lens->n; k++) {
        assert_true(json_i64(&lens->items[k], &lengths[k]));
        if (p->type == JSON_ARRAY) {
            assert_true(json_double(&p->items[k], &chances[k]));
        }
    }
    grebe_stop stop = json_is_text(rule, "first_exhausted") ? GREBE_STOP_FIRST_EXHAUSTED
                      : json_is_text(rule, "all_exhausted") ? GREBE_STOP_ALL_EXHAUSTED
                                                            : GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT;
    struct buf rows = BUF_INIT(mem_system());
    struct pcg64 g = seed_of(json_get(c, "seed"));
    grebe_status st =
        order_interleave(mem_system(), &g, lengths, lens->n, p->type == JSON_ARRAY ? chances : NULL, stop, &rows, &err);
    if (is_refused(c)) {
        assert_int_equal(st, GREBE_EINVAL);
    } else {
        if (st != GREBE_OK) {
            fail_msg("case %zu: %s", case_i, err.message);
        }
        int64_t *ids = (int64_t *)(void *)rows.data;
        for (size_t i = 0; i < rows.len / 8; i++) {
            ids[i] = id_of(ids[i], lengths, lens->n);
        }
        const struct json_value *ours = json_get(c, "ours");
        assert_order(ours != NULL ? ours : c, ids, rows.len / 8, case_i);
    }
    buf_release(&rows);
    return true;
}

static void test_order__goldens__splits_and_interleavings_equal(void **state)
{
    (void)state;
    size_t len, n_splits = 0, n_interleaved = 0;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *top;
    unsigned char *text = test_read_file(TEST_DATA "/data/hfdatasets/order/map_style.json", &len);
    assert_ok(json_parse(&ar, (const char *)text, len, &top, &err));
    const struct json_value *cases = json_get(top, "cases");
    for (size_t i = 0; i < cases->n; i++) {
        const struct json_value *c = &cases->items[i];
        if (json_is_text(json_get(c, "op"), "train_test_split")) {
            n_splits += check_split(c, i);
        } else if (json_is_text(json_get(c, "op"), "interleave")) {
            n_interleaved += check_interleave(c, i);
        }
    }
    print_message("%zu splits, %zu interleavings\n", n_splits, n_interleaved);
    assert_in_range(n_splits, 70, 85);
    assert_in_range(n_interleaved, 120, 135);
    arena_release(&ar);
    free(text);
}

static void test_order_split_stratified__no_memory__fails_and_frees(void **state)
{
    (void)state;
    static const int64_t labels[] = { 0, 1, 0, 1, 0, 1, 0, 0, 2, 2, 0, 1 };
    bool is_done = false;
    for (size_t fail_at = 1; !is_done; fail_at++) {
        struct test_allocator t;
        test_allocator_init(&t);
        t.fail_at = fail_at;
        struct buf train = BUF_INIT(&t.a), test = BUF_INIT(&t.a);
        struct pcg64 g;
        grebe_error err = GREBE_ERROR_INIT;
        pcg64_seed_u64(0, &g);
        grebe_status st = order_split_stratified(&t.a, &g, labels, 12, 8, 4, &train, &test, &err);
        is_done = st == GREBE_OK;
        assert_true(is_done || st == GREBE_ENOMEM);
        buf_release(&train);
        buf_release(&test);
        assert_int_equal(t.n_live, 0);
        assert_true(fail_at < 100);
    }
}

static void test_order_split_sizes__arguments_that_contradict__are_named(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    int64_t train, test;
    grebe_split_options o = GREBE_SPLIT_OPTIONS_INIT;
    o.test_fraction = 0.5;
    o.test_rows = 3;
    assert_fails(order_split_sizes(&o, 10, &train, &test, &err), GREBE_EINVAL, "test_size is given as");
    o = (grebe_split_options)GREBE_SPLIT_OPTIONS_INIT;
    o.train_rows = 10;
    assert_fails(order_split_sizes(&o, 10, &train, &test, &err), GREBE_EINVAL, "train_size=10");
    o.train_rows = 4;
    assert_ok(order_split_sizes(&o, 10, &train, &test, &err));
    assert_int_equal(train, 4);
    assert_int_equal(test, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order__goldens__splits_and_interleavings_equal),
        cmocka_unit_test(test_order_split_stratified__no_memory__fails_and_frees),
        cmocka_unit_test(test_order_split_sizes__arguments_that_contradict__are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
