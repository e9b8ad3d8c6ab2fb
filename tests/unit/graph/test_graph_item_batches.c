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
        cmocka_unit_test(test_graph_negatives__recorded_fact__destinations_are_uniform),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
