/* SPDX-License-Identifier: Apache-2.0 */
#include "iterable_fixture.h"

#include "test_sha256.h"

/* The orders of tests/data/hfdatasets/order: each of the library `datasets`. */

struct cases {
    struct arena arena;
    const struct json_value *list;
    grebe_context *ctx;
};

static void cases_open(struct cases *c, const char *name)
{
    char path[512];
    size_t len;
    grebe_error err = GREBE_ERROR_INIT;
    const struct json_value *top;
    snprintf(path, sizeof path, TEST_DATA "/data/hfdatasets/order/%s", name);
    unsigned char *text = test_read_file(path, &len);
    c->arena = ARENA_INIT(mem_system());
    assert_ok(json_parse(&c->arena, (const char *)text, len, &top, &err));
    c->list = json_get(top, "cases");
    assert_ok(context_new(NULL, &c->ctx, &err));
    free(text);
}

static void cases_close(struct cases *c)
{
    arena_release(&c->arena);
    context_free(c->ctx);
}

/* Numbers, or lists of them one after another. */
static size_t flatten(const struct json_value *v, int64_t *out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (v->items[i].type == JSON_ARRAY) {
            n += flatten(&v->items[i], out + n, max - n);
        } else {
            assert_true(n < max && json_i64(&v->items[i], &out[n]));
            n++;
        }
    }
    return n;
}

static bool is_equal(const struct json_value *c, const struct ids *got)
{
    const struct json_value *ids = json_get(c, "ids");
    if (got->n == 0) {
        return ids != NULL && ids->n == 0;
    }
    if (ids == NULL) {
        char hex[65];
        test_sha256(got->ids, got->n * sizeof *got->ids, hex);
        return json_is_text(json_get(c, "sha256_i64le"), hex);
    }
    static int64_t want[65536];
    size_t n = flatten(ids, want, 65536);
    return n == got->n && memcmp(want, got->ids, n * sizeof *want) == 0;
}

static void show(size_t i, const struct json_value *c, const struct ids *got)
{
    const struct json_value *ops = json_get(c, "ops");
    print_message("case %zu, leaf %s:", i, json_get(json_get(c, "source"), "leaf")->text);
    for (size_t k = 0; k < ops->n; k++) {
        print_message(" %s", ops->items[k].items[0].text);
    }
    print_message("\n  have %zu:", got->n);
    for (size_t k = 0; k < got->n && k < 24; k++) {
        print_message(" %lld", (long long)got->ids[k]);
    }
    print_message("\n");
}

static void test_iterable__stored_orders__equal(void **state)
{
    (void)state;
    struct cases c;
    size_t n_good = 0, n_bad = 0, n_refused = 0;
    cases_open(&c, "stream.json");
    for (size_t i = 0; i < c.list->n; i++) {
        const struct json_value *one = &c.list->items[i], *ours = json_get(one, "ours");
        struct ids got = { 0 };
        bool is_refused = false;
        if (json_get(one, "error") != NULL && ours == NULL) {
            n_refused++;
        }
        grebe_iterable *it = golden_stream(c.ctx, one, 3 + (int64_t)i % 7, &is_refused);
        int64_t batch = (int64_t)(i % 4) * 5;
        if (it != NULL) {
            if (ours == NULL) {
                assert_int_equal(grebe_iterable_num_shards(it), member_i64(one, "num_shards", -1));
            }
            ids_all(it, NULL, batch, &got);
            grebe_iterable_free(it);
        }
        if (json_get(one, "error") != NULL && ours == NULL ? is_refused : is_equal(ours != NULL ? ours : one, &got)) {
            n_good++;
        } else if (n_bad++ < 8) {
            show(i, one, &got);
        }
        free(got.ids);
    }
    print_message("%zu orders, %zu refused there, %zu differ\n", n_good, n_refused, n_bad);
    assert_int_equal(n_bad, 0);
    assert_in_range(n_good, 1500, 1600);
    cases_close(&c);
}

/* Sources of map_style.json: source k has the ids 100 k, … */
static void test_iterable_interleave__stored_orders__equal(void **state)
{
    (void)state;
    struct cases c;
    size_t n_good = 0;
    grebe_error err = GREBE_ERROR_INIT;
    cases_open(&c, "map_style.json");
    for (size_t i = 0; i < c.list->n; i++) {
        const struct json_value *one = &c.list->items[i], *lens = json_get(one, "lens"),
                                *p = json_get(one, "probabilities");
        if (!json_is_text(json_get(one, "op"), "interleave_stream")) {
            continue;
        }
        bool is_table = !json_is_text(json_get(one, "leaf"), "examples");
        grebe_iterable *its[8], *joined;
        double chances[8];
        uint32_t seed = (uint32_t)member_i64(one, "seed", 0);
        struct ids got = { 0 };
        for (size_t k = 0; k < lens->n; k++) {
            int64_t rows = 0;
            json_i64(&lens->items[k], &rows);
            struct id_source *s = calloc(1, sizeof *s);
            *s = (struct id_source){ .rows = { rows }, .first = { 100 * (int64_t)k }, .n = 1, .batch = 2 };
            assert_ok(grebe_iterable_of_function(c.ctx, id_shard, s, free, 1, is_table, ID_FEATURES, &its[k], &err));
            if (p->type == JSON_ARRAY) {
                json_double(&p->items[k], &chances[k]);
            }
        }
        assert_ok(grebe_iterable_interleave((const grebe_iterable *const *)its, lens->n,
                                            p->type == JSON_ARRAY ? chances : NULL, (grebe_seed){ &seed, 1 },
                                            stop_of(json_get(one, "stopping_strategy")), &joined, &err));
        ids_all(joined, NULL, 0, &got);
        const struct json_value *order = json_get(one, "order");
        int64_t want[4096];
        assert_non_null(order);
        for (size_t k = 0; k < order->n; k++) {
            json_i64(&order->items[k], &want[k]);
        }
        assert_ids("interleave_stream", &got, want, order->n);
        n_good++;
        free(got.ids);
        grebe_iterable_free(joined);
        for (size_t k = 0; k < lens->n; k++) {
            grebe_iterable_free(its[k]);
        }
    }
    assert_int_equal(n_good, 210);
    cases_close(&c);
}

/* Every stored place: the rest is exact, whatever the library gave. */
static void test_iterator_state__stored_places__rest_is_exact(void **state)
{
    (void)state;
    struct cases c;
    grebe_error err = GREBE_ERROR_INIT;
    cases_open(&c, "state.json");
    assert_in_range(c.list->n, 350, 800);
    for (size_t i = 0; i < c.list->n; i++) {
        const struct json_value *one = &c.list->items[i], *rest = json_get(one, "exact_rest");
        bool is_refused = false;
        grebe_iterable *it = golden_stream(c.ctx, one, 2 + (int64_t)i % 5, &is_refused);
        int64_t after = member_i64(one, "after", 0), want[512];
        struct ids got = { 0 };
        grebe_iterator *iter;
        assert_non_null(it);
        assert_ok(grebe_iterator_new(it, NULL, NULL, &iter, &err));
        for (int64_t k = 0; k < after; k++) {
            assert_true(ids_next(iter, 1, &got, &err));
        }
        char *text = state_text(iter, 0);
        grebe_iterator_free(iter);
        size_t n = flatten(rest, want, 512);
        for (int turn = 0; turn < 2; turn++) {
            got.n = 0;
            ids_all(it, text, turn == 0 ? 0 : 3, &got);
            char what[64];
            snprintf(what, sizeof what, "case %zu, turn %d", i, turn);
            assert_ids(what, &got, want, n);
        }
        free(text);
        free(got.ids);
        grebe_iterable_free(it);
    }
    cases_close(&c);
}

/* What the workers of a data loader read, on one node or of several. */
static grebe_iterable *worker_stream(grebe_context *ctx, const struct json_value *c)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct json_value *shards = json_get(c, "shards");
    bool is_table = json_is_text(json_get(c, "leaf"), "arrow");
    int64_t rows[64], world = member_i64(c, "world_size", 0), take = member_i64(c, "take", -1);
    grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    uint32_t seed = (uint32_t)member_i64(c, "seed", 0);
    grebe_iterable *next = NULL;
    for (size_t i = 0; i < shards->n; i++) {
        assert_true(json_i64(&shards->items[i], &rows[i]));
    }
    grebe_iterable *it = id_iterable(ctx, rows, (int64_t)shards->n, 3, is_table, true);
    o.seed = (grebe_seed){ &seed, 1 };
    o.buffer_rows = member_i64(c, "buffer_size", 0);
    o.max_input_shards = member_i64(c, "max_buffer_input_shards", 0);
    if (o.buffer_rows > 0) {
        assert_ok(grebe_iterable_shuffle(it, &o, &next, &err));
        it = then(it, next);
    }
    if (take >= 0) {
        assert_ok(grebe_iterable_take(it, take, &next, &err));
        it = then(it, next);
    }
    if (world > 0) {
        assert_ok(grebe_iterable_split_by_node(it, member_i64(c, "rank", 0), world, GREBE_NODE_AUTO, &next, &err));
        it = then(it, next);
    }
    assert_ok(grebe_iterable_set_epoch(it, member_i64(c, "epoch", 0), &next, &err));
    it = then(it, next);
    assert_ok(grebe_iterable_for_worker(it, member_i64(c, "worker", 0), member_i64(c, "num_workers", 0), &next, &err));
    return then(it, next);
}

static void test_iterable_for_worker__stored_orders__equal(void **state)
{
    (void)state;
    struct cases c;
    cases_open(&c, "workers.json");
    assert_in_range(c.list->n, 100, 300);
    for (size_t i = 0; i < c.list->n; i++) {
        struct ids got = { 0 };
        grebe_iterable *it = worker_stream(c.ctx, &c.list->items[i]);
        ids_all(it, NULL, 0, &got);
        if (!is_equal(&c.list->items[i], &got)) {
            fail_msg("case %zu: another order", i);
        }
        free(got.ids);
        grebe_iterable_free(it);
    }
    cases_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iterable__stored_orders__equal),
        cmocka_unit_test(test_iterable_interleave__stored_orders__equal),
        cmocka_unit_test(test_iterable_for_worker__stored_orders__equal),
        cmocka_unit_test(test_iterator_state__stored_places__rest_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
