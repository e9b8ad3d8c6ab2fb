/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of sets of two types as GraphBolt makes them, and where negatives lead to. */

#include "graph/graph_items.h"
#include "graph/graph_random.h"
#include "graph_case.h"

struct wanted {
    int64_t user[4], n_user, item[4], n_item;
};

static void check_batches(bool is_shuffled, uint64_t seed, int64_t batch_size, bool drop_last, const struct wanted *wanted, int64_t n)
{
    static const char *const names[] = { "seeds" };
    struct graph_item_part parts[] = { { "user", 5, NULL }, { "item", 6, NULL } };
    struct graph_items items = { names, 1, parts, 2 };
    struct graph_share share = { .batch_size = batch_size, .drop_last = drop_last };
    struct graph_item_batch b;
    struct graph_epoch e;
    assert_ok(graph_epoch_begin(ctx, &items, share, is_shuffled, seed, &e, &err));
    assert_ok(graph_item_batch_new(ctx, 2, &b, &err));
    assert_int_equal(e.n_batches, n);
    for (int64_t i = 0; i < n; i++) {
        assert_ok(graph_epoch_batch(&e, i, &b, &err));
        assert_list("user", b.rows[0].v, b.rows[0].n, wanted[i].user, (size_t)wanted[i].n_user);
        assert_list("item", b.rows[1].v, b.rows[1].n, wanted[i].item, (size_t)wanted[i].n_item);
    }
    graph_item_batch_release(ctx, &b);
    graph_epoch_end(&e);
}

static void test_graph_items__two_types__batches_cross_from_one_to_the_other(void **state)
{
    static const struct wanted in_order[] = { { { 0, 1, 2, 3 }, 4, { 0 }, 0 }, { { 4 }, 1, { 0, 1, 2 }, 3 }, { { 0 }, 0, { 3, 4, 5 }, 3 } };
    static const struct wanted shuffled[] = { { { 3, 0, 2 }, 3, { 4 }, 1 }, { { 4 }, 1, { 0, 3, 5 }, 3 }, { { 1 }, 1, { 2, 1 }, 2 } };
    (void)state;
    check_batches(false, 0, 4, false, in_order, 3);
    check_batches(false, 0, 4, true, in_order, 2);
    check_batches(true, 7, 4, false, shuffled, 3);
    check_batches(true, 7, 4, true, shuffled, 2);
}

/* 103 items by one or four, in order or not, with or without a short last batch: numbers, and each item once. */
static void test_graph_items__103_items__batches_of_every_shape(void **state)
{
    static const char *const names[] = { "seeds" };
    struct graph_item_part part = { NULL, 103, NULL };
    struct graph_items items = { names, 1, &part, 1 };
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        bool is_shuffled = (kind & 1) != 0, drop_last = (kind & 2) != 0, is_in_order = true;
        int64_t batch_size = (kind & 4) != 0 ? 4 : 1, seen[103] = { 0 }, n = 0, last = -1;
        int64_t n_wanted = batch_size == 1 ? 103 : drop_last ? 25 : 26;
        struct graph_share share = { .batch_size = batch_size, .drop_last = drop_last };
        struct graph_item_batch b;
        struct graph_epoch e;
        assert_ok(graph_epoch_begin(ctx, &items, share, is_shuffled, 3, &e, &err));
        assert_ok(graph_item_batch_new(ctx, 1, &b, &err));
        assert_int_equal(e.n_batches, n_wanted);
        for (int64_t i = 0; i < e.n_batches; i++) {
            assert_ok(graph_epoch_batch(&e, i, &b, &err));
            assert_int_equal(b.rows[0].n, i == 25 && batch_size == 4 ? 3 : batch_size);
            for (int64_t j = 0; j < b.rows[0].n; j++, n++) {
                assert_true(b.rows[0].v[j] >= 0 && b.rows[0].v[j] < 103 && seen[b.rows[0].v[j]]++ == 0);
                is_in_order = is_in_order && b.rows[0].v[j] == last + 1;
                last = b.rows[0].v[j];
            }
        }
        assert_int_equal(n, drop_last && batch_size == 4 ? 100 : 103);
        assert_int_equal(is_in_order, !is_shuffled);
        graph_item_batch_release(ctx, &b);
        graph_epoch_end(&e);
    }
}

/* Statistic of destinations against the bound of one in a million, and each source as often as it is asked for, in order. */
static void test_graph_negatives__recorded_fact__destinations_are_uniform(void **state)
{
    (void)state;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *facts = read_json(&ar, TEST_DATA "/data/graphbolt/facts.json");
    size_t n_checked = 0;
    for (size_t i = 0; i < facts->n; i++) {
        const struct json_value *fact = &facts->items[i];
        int64_t nodes, n, ratio, counts[50] = { 0 };
        double statistic = 0, bound = 0;
        if (!json_is_text(json_get(fact, "kind"), "uniform negative edges, destination")) {
            continue;
        }
        assert_true(json_i64(json_get(fact, "nodes"), &nodes) && json_i64(json_get(fact, "positives"), &n) &&
                    json_i64(json_get(fact, "ratio"), &ratio) && json_double(json_get(json_get(fact, "reject_above"), "p=1e-6"), &bound));
        assert_int_equal(nodes, 50);
        int64_t *pairs = calloc((size_t)n, 2 * sizeof *pairs), *out = calloc((size_t)(n * (1 + ratio)), 2 * sizeof *out);
        for (int64_t j = 0; j < n; j++) {
            pairs[2 * j] = 3 * j;
            pairs[2 * j + 1] = j % nodes;
        }
        graph_negatives(pairs, n, ratio, nodes, graph_draw(7, 0), out);
        assert_memory_equal(out, pairs, (size_t)n * 2 * sizeof *out);
        for (int64_t j = 0; j < n * ratio; j++) {
            assert_int_equal(out[2 * (n + j)], 3 * (j / ratio));
            assert_true(out[2 * (n + j) + 1] >= 0 && out[2 * (n + j) + 1] < nodes);
            counts[out[2 * (n + j) + 1]]++;
        }
        double mean = (double)(n * ratio) / (double)nodes;
        for (int64_t j = 0; j < nodes; j++) {
            statistic += ((double)counts[j] - mean) * ((double)counts[j] - mean) / mean;
        }
        assert_true(statistic < bound);
        free(pairs);
        free(out);
        n_checked++;
    }
    assert_int_equal(n_checked, 1);
    arena_release(&ar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_items__two_types__batches_cross_from_one_to_the_other),
        cmocka_unit_test(test_graph_items__103_items__batches_of_every_shape),
        cmocka_unit_test(test_graph_negatives__recorded_fact__destinations_are_uniform),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
