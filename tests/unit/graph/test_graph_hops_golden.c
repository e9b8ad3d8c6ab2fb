/* SPDX-License-Identifier: Apache-2.0 */
/* One hop of small graphs of GraphBolt's own tests: in-edges, rows of nodes, numbers of edges, with the values that they expect. */

#include "graph/graph_minibatch.h"
#include "graph_toy.h"

/* Destinations are the first rows, and each pair of rows is an edge of the graph. */
static void assert_pairs(const struct toy *t, const struct run *r, size_t type, size_t from, size_t to)
{
    struct graph_edge_index x = { 0 };
    assert_ok(graph_edge_index_of(r->b, type, &x, &err));
    assert_int_equal(x.sources.n, x.targets.n);
    for (int64_t i = 0; i < x.sources.n; i++) {
        int64_t n_found = 0, source = r->b->nodes[from].v[x.sources.v[i]], target = r->b->nodes[to].v[x.targets.v[i]];
        assert_true(x.targets.v[i] < r->b->layers[0].n_columns[to]);
        assert_true(x.sources.v[i] < r->b->layers[0].n_rows[from]);
        source += t->g.n_node_types == 0 ? 0 : t->offsets[from];
        target += t->g.n_node_types == 0 ? 0 : t->offsets[to];
        for (int64_t e = t->indptr[target]; e < t->indptr[target + 1]; e++) {
            n_found += t->indices[e] == source && x.edges.v[i] == e;
        }
        assert_int_equal(n_found, 1);
    }
    assert_int_equal(x.per_hop.n, 1);
    assert_int_equal(x.per_hop.v[0], x.sources.n);
    graph_edge_index_release(ctx, &x);
}

/* ---- rows of nodes ---- */

static const int64_t c_columns[] = { 1, 3, 5, 2, 6 }, c_indptr[] = { 0, 2, 4, 6, 7, 11 },
                     c_indices[] = { 2, 3, 1, 4, 5, 2, 5, 1, 4, 4, 6 };

static void test_graph_batch__one_type__rows_by_first_appearance(void **state)
{
    struct toy t;
    (void)state;
    toy_begin(&t, 0, (const int64_t[]){ 7 }, NULL, 0, NULL, NULL);
    toy_columns(&t, 0, c_columns, 5, c_indptr, c_indices, NULL);
    toy_end(&t);
    struct run r = run_new(&t.g);
    seeds(&r, 0, c_columns, 5);
    sample_all(&r, 1, false);
    RELATION(r.b, 0, 0, V(0, 2, 4, 6, 7, 11), V(3, 1, 0, 5, 2, 3, 2, 0, 5, 5, 4));
    ROWS(r.b, 0, 0, 1, 3, 5, 2, 6, 4);
    graph_batch_begin(r.b, r.s);
    seeds(&r, 0, c_columns, 5);
    sample_all(&r, 1, true);
    RELATION(r.b, 0, 0, V(0, 2, 4, 6, 7, 11), V(5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    ROWS(r.b, 0, 0, 1, 3, 5, 2, 6, 2, 3, 1, 4, 5, 2, 5, 1, 4, 4, 6);
    run_free(&r);
}

static void test_graph_batch__three_types__rows_by_first_appearance(void **state)
{
    static const char *const names[] = { "n1", "n2", "n3" }, *const relations[] = { "n1:e1:n2", "n1:e2:n3", "n2:e3:n3" };
    static const int32_t ends[][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };
    static const int64_t n2[] = { 2, 4, 1, 3 }, n3[] = { 1, 3, 2, 7 };
    struct toy t;
    (void)state;
    toy_begin(&t, 3, (const int64_t[]){ 10, 8, 8 }, names, 3, relations, ends);
    toy_columns(&t, 0, n2, 4, (const int64_t[]){ 0, 3, 4, 7, 10 }, (const int64_t[]){ 1, 3, 4, 6, 2, 7, 9, 4, 2, 6 }, NULL);
    toy_columns(&t, 1, n3, 4, (const int64_t[]){ 0, 1, 4, 7, 10 }, (const int64_t[]){ 5, 2, 6, 4, 7, 2, 8, 1, 3, 0 }, NULL);
    toy_columns(&t, 2, n3, 4, (const int64_t[]){ 0, 2, 4, 6, 8 }, (const int64_t[]){ 2, 5, 4, 1, 4, 3, 6, 0 }, NULL);
    toy_end(&t);
    struct run r = run_new(&t.g);
    for (int keeps_duplicates = 0; keeps_duplicates < 2; keeps_duplicates++) {
        graph_batch_begin(r.b, r.s);
        seeds(&r, 1, n2, 4);
        seeds(&r, 2, n3, 4);
        sample_all(&r, 1, keeps_duplicates != 0);
        if (keeps_duplicates == 0) {
            RELATION(r.b, 0, 0, V(0, 3, 4, 7, 10), V(0, 1, 2, 3, 4, 5, 6, 2, 4, 3));
            RELATION(r.b, 0, 1, V(0, 1, 4, 7, 10), V(7, 4, 3, 2, 5, 4, 8, 0, 1, 9));
            RELATION(r.b, 0, 2, V(0, 2, 4, 6, 8), V(0, 4, 1, 2, 1, 3, 5, 6));
        } else {
            RELATION(r.b, 0, 0, V(0, 3, 4, 7, 10), V(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
            RELATION(r.b, 0, 1, V(0, 1, 4, 7, 10), V(10, 11, 12, 13, 14, 15, 16, 17, 18, 19));
            RELATION(r.b, 0, 2, V(0, 2, 4, 6, 8), V(4, 5, 6, 7, 8, 9, 10, 11));
        }
        graph_batch_finish(r.b);
        if (keeps_duplicates == 0) {
            ROWS(r.b, 0, 0, 1, 3, 4, 6, 2, 7, 9, 5, 8, 0);
            ROWS(r.b, 0, 1, 2, 4, 1, 3, 5, 6, 0);
        } else {
            ROWS(r.b, 0, 0, 1, 3, 4, 6, 2, 7, 9, 4, 2, 6, 5, 2, 6, 4, 7, 2, 8, 1, 3, 0);
            ROWS(r.b, 0, 1, 2, 4, 1, 3, 2, 5, 4, 1, 4, 3, 6, 0);
        }
        ROWS(r.b, 0, 2, 1, 3, 2, 7); /* a destination only: missing in GraphBolt's answer, not in ours */
        int64_t per_hop[2];
        graph_nodes_per_hop(r.b, 2, per_hop);
        LIST("nodes of each hop", per_hop, 2, 4, 0);
        assert_pairs(&t, &r, 1, 0, 2);
        assert_pairs(&t, &r, 2, 1, 2);
    }
    run_free(&r);
}

/* ---- in-edges ---- */

static const int64_t none[1];
static const char *const r_nodes[] = { "N0", "N1" }, *const r_relations[] = { "N0:R0:N0", "N0:R1:N1", "N1:R2:N0", "N1:R3:N1" };
static const int32_t r_ends[][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };
static const int64_t g12_indptr[] = { 0, 3, 5, 7, 9, 12 }, g12_indices[] = { 0, 1, 4, 2, 3, 0, 1, 1, 2, 0, 3, 4 };
static const uint8_t g12_types[] = { 0, 0, 2, 2, 2, 1, 1, 1, 3, 1, 3, 3 };
static const int64_t g14_indptr[] = { 0, 3, 5, 7, 9, 12, 14 }, g14_indices[] = { 0, 1, 4, 2, 3, 0, 5, 1, 2, 0, 3, 5, 1, 4 };
static const uint8_t g14_types[] = { 0, 0, 2, 0, 2, 0, 2, 1, 1, 1, 3, 3, 1, 3 };

static void test_graph_batch__all_in_edges__in_the_order_of_the_graph(void **state)
{
    struct toy t;
    (void)state;
    toy_begin(&t, 0, (const int64_t[]){ 5 }, NULL, 0, NULL, NULL);
    toy_arrays(&t, g12_indptr, g12_indices, NULL);
    struct run r = run_new(&t.g);
    seeds(&r, 0, IDS(4, 1, 3));
    sample_all(&r, 1, false);
    LIST("indptr", r.b->layers[0].relations[0].indptr.v, 4, 0, 3, 5, 7);
    assert_sources(&r, 0, 0, IDS(0, 3, 4, 2, 3, 1, 2));
    EDGES(r.b, 0, 0, 9, 10, 11, 3, 4, 7, 8);
    run_free(&r);
    /* one seed after another, and three at once */
    toy_begin(&t, 0, (const int64_t[]){ 6 }, NULL, 0, NULL, NULL);
    toy_arrays(&t, g14_indptr, g14_indices, NULL);
    static const struct { int64_t seed, n, sources[3]; } table[] = { { 0, 3, { 0, 1, 4 } }, { 5, 2, { 1, 4 } }, { 3, 2, { 1, 2 } } };
    r = run_new(&t.g);
    for (size_t i = 0; i < 3; i++) {
        graph_batch_begin(r.b, r.s);
        seeds(&r, 0, &table[i].seed, 1);
        sample_all(&r, 1, false);
        LIST("indptr", r.b->layers[0].relations[0].indptr.v, 2, 0, table[i].n);
        assert_sources(&r, 0, 0, table[i].sources, table[i].n);
    }
    graph_batch_begin(r.b, r.s);
    seeds(&r, 0, IDS(0, 5, 3));
    sample_all(&r, 1, false);
    EDGES(r.b, 0, 0, 0, 1, 2, 12, 13, 7, 8);
    run_free(&r);
}


static void test_graph_batch__all_in_edges_of_types__by_relation(void **state)
{
    struct toy t;
    (void)state;
    toy_begin(&t, 2, (const int64_t[]){ 2, 3 }, r_nodes, 4, r_relations, r_ends);
    toy_arrays(&t, g12_indptr, g12_indices, g12_types);
    struct run r = run_new(&t.g);
    seeds(&r, 0, IDS(1));
    seeds(&r, 1, IDS(2, 1));
    sample_all(&r, 1, false);
    graph_batch_finish(r.b);
    assert_relation(&r, 0, IDS(0, 0), none, 0, none);
    assert_relation(&r, 1, IDS(0, 1, 2), IDS(0, 1), (const int64_t[]){ 9, 7 });
    assert_relation(&r, 2, IDS(0, 2), IDS(0, 1), (const int64_t[]){ 3, 4 });
    assert_relation(&r, 3, IDS(0, 2, 3), IDS(1, 2, 0), (const int64_t[]){ 10, 11, 8 });
    run_free(&r);

    toy_begin(&t, 2, (const int64_t[]){ 3, 3 }, r_nodes, 4, r_relations, r_ends);
    toy_arrays(&t, g14_indptr, g14_indices, g14_types);
    r = run_new(&t.g);
    seeds(&r, 0, IDS(1, 0));
    sample_all(&r, 1, false);
    RELATION(r.b, 0, 0, V(0, 1, 3), V(2, 1, 0));
    RELATION(r.b, 0, 2, V(0, 1, 2), V(0, 1));
    assert_relation(&r, 1, IDS(0), none, 0, NULL);
    assert_relation(&r, 3, IDS(0), none, 0, NULL);
    graph_batch_begin(r.b, r.s);
    seeds(&r, 0, IDS(2));
    seeds(&r, 1, IDS(0));
    sample_all(&r, 1, false);
    RELATION(r.b, 0, 0, V(0, 1), V(1));
    RELATION(r.b, 0, 1, V(0, 2), V(2, 0));
    RELATION(r.b, 0, 2, V(0, 1), V(1));
    assert_relation(&r, 3, IDS(0, 0), none, 0, NULL);
    graph_batch_begin(r.b, r.s);
    seeds(&r, 1, IDS(2, 1));
    sample_all(&r, 1, false);
    RELATION(r.b, 0, 1, V(0, 1, 2), V(0, 1));
    RELATION(r.b, 0, 3, V(0, 1, 3), V(1, 2, 0));
    assert_relation(&r, 0, IDS(0), none, 0, NULL);
    assert_relation(&r, 2, IDS(0), none, 0, NULL);
    run_free(&r);
}

/* ---- which edges a hop takes ---- */

static void test_graph_batch__a_number_for_each_type__all_neighbours(void **state)
{
    static const int64_t all[] = { -1, -1 };
    struct graph_hops hops = { .n_layers = 1, .hop = { .fanouts = all, .n_fanouts = 2 } };
    struct toy t;
    (void)state;
    open_h(&t, h9_indptr, h9_indices, h9_types);
    struct run r = run_new(&t.g);
    seeds(&r, 0, IDS(0));
    seeds(&r, 1, IDS(0));
    assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
    graph_batch_finish(r.b);
    assert_relation(&r, 0, IDS(0, 2), IDS(0, 1), (const int64_t[]){ 4, 5 });
    assert_relation(&r, 1, IDS(0, 2), IDS(0, 2), (const int64_t[]){ 0, 1 });
    graph_batch_begin(r.b, r.s);
    seeds(&r, 0, IDS(0));
    assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
    graph_batch_finish(r.b);
    assert_relation(&r, 0, IDS(0), none, 0, none);
    assert_relation(&r, 1, IDS(0, 2), IDS(0, 2), NULL);
    run_free(&r);
}

static void test_graph_batch__original_ids__in_the_place_of_positions(void **state)
{
    static const int64_t ids[] = { 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 };
    struct toy t;
    (void)state;
    toy_begin(&t, 0, (const int64_t[]){ 5 }, NULL, 0, NULL, NULL);
    toy_arrays(&t, g12_indptr, g12_indices, NULL);
    memcpy(t.original, ids, sizeof ids);
    toy_use_original_ids(&t);
    struct run r = run_new(&t.g);
    seeds(&r, 0, IDS(1, 3, 4));
    sample_all(&r, 1, false);
    graph_batch_finish(r.b);
    EDGES(r.b, 0, 0, 8, 7, 4, 3, 2, 1, 0); /* of edges 3 4 7 8 9 10 11 */
    run_free(&r);
}

/* Weights and a mask: 6 edges of three nodes with replacement, 4 without, none where all weights are 0. */
static void test_graph_sample__weights_and_masks__numbers_of_edges(void **state)
{
    static const float weights[] = { 2.5f, 0, 8.4f, 0, 0.4f, 1.2f, 2.5f, 0, 8.4f, 0.5f, 0.4f, 1.2f }, zeros[12];
    static const uint8_t mask[] = { 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1 };
    struct toy t;
    (void)state;
    toy_begin(&t, 0, (const int64_t[]){ 5 }, NULL, 0, NULL, NULL);
    toy_arrays(&t, g12_indptr, g12_indices, NULL);
    struct tensor kinds[] = { tensor_1d(ARRAY_F32, weights, 12), tensor_1d(ARRAY_BOOL, mask, 12), tensor_1d(ARRAY_F32, zeros, 12) };
    for (size_t k = 0; k < 12; k++) {
        struct graph_picks picks = { 0 };
        struct graph_weights w;
        int64_t fanout = k % 3 == 2 ? 5 : 2;
        bool replaces = k / 3 % 2 == 1;
        assert_ok(graph_weights_of(&t.g, &kinds[k % 3], true, &w, &err));
        struct graph_sampling how = { .fanouts = &fanout, .n_fanouts = 1, .weights = &w, .with_replacement = replaces,
                                      .is_by_source = k >= 6, .key = k };
        assert_ok(graph_sample(&t.g, (const int64_t[]){ 1, 3, 4 }, NULL, 3, &how, 1, &picks, &err));
        assert_int_equal(picks.edges.n, k % 3 == 2 ? 0 : replaces ? 6 : 4);
        for (int64_t i = 0; i < picks.edges.n; i++) {
            assert_true(mask[picks.edges.v[i]]);
        }
        graph_weights_release(&w);
        graph_picks_release(ctx->a, &picks);
    }
}

/* Three types of three neighbours each, of which a mask lets 2, 3 and none through; each type has its own number. */
static void test_graph_sample__types_with_a_mask__numbers_of_each(void **state)
{
    static const char *const names[] = { "a", "b" }, *const relations[] = { "b:x:a", "b:y:a", "b:z:a" };
    static const int32_t ends[][2] = { { 1, 0 }, { 1, 0 }, { 1, 0 } };
    static const uint8_t mask[] = { 1, 1, 0, 1, 1, 1, 0, 0, 0 };
    static const struct { int64_t fanouts[3]; bool masked, replaces; int64_t n[3]; } table[] = {
        { { 1, 1, 1 }, true, false, { 1, 1, 0 } },  { { 2, 2, 2 }, true, false, { 2, 2, 0 } },   { { 5, 5, 5 }, true, false, { 2, 3, 0 } },
        { { -1, -1, -1 }, true, true, { 2, 3, 0 } }, { { 5, 4, 3 }, true, true, { 5, 4, 0 } },    { { -1, 1, 3 }, false, false, { 3, 1, 3 } },
        { { 2, -1, 4 }, false, false, { 2, 3, 3 } }, { { 2, -1, 4 }, false, true, { 2, 3, 4 } },
    };
    struct toy t;
    (void)state;
    toy_begin(&t, 2, (const int64_t[]){ 1, 9 }, names, 3, relations, ends);
    for (int64_t i = 0; i < 9; i++) {
        toy_edges(&t, (size_t)i / 3, &i, none, 1, NULL);
    }
    toy_end(&t);
    struct tensor values = tensor_1d(ARRAY_BOOL, mask, 9);
    struct graph_weights w;
    assert_ok(graph_weights_of(&t.g, &values, true, &w, &err));
    struct run r = run_new(&t.g);
    for (size_t k = 0; k < 2 * sizeof table / sizeof *table; k++) {
        size_t row = k / 2;
        struct graph_hops hops = { .n_layers = 1, .hop = { .fanouts = table[row].fanouts, .n_fanouts = 3, .is_by_source = k % 2 == 1,
                                                           .with_replacement = table[row].replaces, .key = k,
                                                           .weights = table[row].masked ? &w : NULL } };
        graph_batch_begin(r.b, r.s);
        seeds(&r, 0, IDS(0));
        assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
        for (size_t i = 0; i < 3; i++) {
            LIST("indptr", r.b->layers[0].relations[i].indptr.v, r.b->layers[0].relations[i].indptr.n, 0, table[row].n[i]);
        }
    }
    run_free(&r);
    graph_weights_release(&w);
}

/* ---- for layers of models ---- */

static void test_graph_batch__edge_index__rows_of_destinations_in_front(void **state)
{
    struct toy t;
    (void)state;
    toy_begin(&t, 0, (const int64_t[]){ 8 }, NULL, 0, NULL, NULL);
    toy_edges(&t, 0, (const int64_t[]){ 5, 0, 7, 7, 2, 4 }, (const int64_t[]){ 0, 1, 2, 2, 3, 4 }, 6, NULL);
    toy_end(&t);
    struct run r = run_new(&t.g);
    seeds(&r, 0, IDS(0, 1, 2, 3, 4));
    sample_all(&r, 1, false);
    graph_batch_finish(r.b);
    COLUMNS(r.b, 0, 0, 0, 1, 2, 3, 4);
    ROWS(r.b, 0, 0, 0, 1, 2, 3, 4, 5, 7);
    assert_int_equal(r.b->layers[0].relations[0].edges.n, 6);
    assert_pairs(&t, &r, 0, 0, 0);
    run_free(&r);
    open_h(&t, h10_indptr, h10_indices, h10_types);
    r = run_new(&t.g);
    seeds(&r, 0, IDS(1));
    seeds(&r, 1, IDS(1, 0));
    sample_all(&r, 1, false);
    graph_batch_finish(r.b);
    assert_pairs(&t, &r, 0, 0, 1);
    assert_pairs(&t, &r, 1, 1, 0);
    assert_relation(&r, 0, IDS(0, 2, 4), IDS(1, 0, 0, 1), (const int64_t[]){ 6, 7, 4, 5 });
    assert_relation(&r, 1, IDS(0, 2), IDS(0, 1), (const int64_t[]){ 2, 3 });
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_batch__one_type__rows_by_first_appearance),
        cmocka_unit_test(test_graph_batch__three_types__rows_by_first_appearance),
        cmocka_unit_test(test_graph_batch__all_in_edges__in_the_order_of_the_graph),
        cmocka_unit_test(test_graph_batch__all_in_edges_of_types__by_relation),
        cmocka_unit_test(test_graph_batch__a_number_for_each_type__all_neighbours),
        cmocka_unit_test(test_graph_batch__original_ids__in_the_place_of_positions),
        cmocka_unit_test(test_graph_sample__weights_and_masks__numbers_of_edges),
        cmocka_unit_test(test_graph_sample__types_with_a_mask__numbers_of_each),
        cmocka_unit_test(test_graph_batch__edge_index__rows_of_destinations_in_front),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
