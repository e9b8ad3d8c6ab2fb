/* SPDX-License-Identifier: Apache-2.0 */
/* Two hops from nodes, links and hyperlinks, edges left out, negatives: small graphs of GraphBolt's own tests with the values that they expect. */

#include "graph/graph_minibatch.h"
#include "graph_toy.h"

/* ---- layers ---- */

static void open_l(struct toy *t, bool is_m)
{
    toy_begin(t, 0, (const int64_t[]){ 8 }, NULL, 0, NULL, NULL);
    if (is_m) {
        toy_edges(t, 0, (const int64_t[]){ 5, 0, 1, 5, 6, 7, 2, 2, 4 }, (const int64_t[]){ 0, 1, 2, 2, 2, 2, 3, 4, 4 }, 9, NULL);
    } else {
        toy_edges(t, 0, (const int64_t[]){ 5, 0, 6, 7, 2, 2, 4 }, (const int64_t[]){ 0, 1, 2, 2, 3, 4, 4 }, 7, NULL);
    }
    toy_end(t);
}

/* Two hops from links of one part: fanouts of 2, which cover every degree but those of graph M. */
struct links {
    struct tensor columns[2];
    struct graph_item_part part;
    struct graph_items items;
    struct graph_recipe recipe;
    struct graph_minibatch *m;
};

static const int64_t two_by_two[] = { 2, 2, 2, 2 };

static void links_begin(struct links *l, const struct toy *t, const char *type, const int64_t *links, int64_t n, int64_t arity,
                        bool keeps_duplicates)
{
    static const char *const names[] = { "seeds", "timestamp" };
    memset(l, 0, sizeof *l);
    l->columns[0] = (struct tensor){ .type = ARRAY_I64, .rank = 2, .shape = { (uint64_t)n, (uint64_t)arity }, .strides = { arity, 1 },
                                     .n_values = (uint64_t)(n * arity), .data = (const unsigned char *)links, .is_packed = true };
    l->part = (struct graph_item_part){ type, n, l->columns };
    l->items = (struct graph_items){ names, 1, &l->part, 1 };
    l->recipe = (struct graph_recipe){ .g = &t->g, .items = &l->items,
                                       .hops = { .n_layers = 2, .hop = { .fanouts = two_by_two, .n_fanouts = 1 },
                                                 .keeps_duplicates = keeps_duplicates } };
}

static const struct graph_batch *links_make(struct links *l)
{
    struct graph_epoch e;
    struct graph_share share = { .batch_size = l->part.n };
    assert_ok(graph_minibatch_new(&l->recipe, &l->m, &err));
    assert_ok(graph_epoch_begin(ctx, &l->items, share, false, 0, &e, &err));
    assert_ok(graph_minibatch_make(l->m, &e, 0, 0, 1, &err));
    graph_epoch_end(&e);
    return l->m->graph;
}

static void assert_layers_of_l(const struct graph_batch *b)
{
    RELATION(b, 0, 0, V(0, 1, 2, 4, 4, 6), V(3, 4, 4, 2, 5, 6));
    ROWS(b, 0, 0, 0, 3, 4, 5, 2, 6, 7);
    COLUMNS(b, 0, 0, 0, 3, 4, 5, 2);
    RELATION(b, 1, 0, V(0, 1, 2, 4), V(3, 4, 4, 2));
    ROWS(b, 1, 0, 0, 3, 4, 5, 2);
    COLUMNS(b, 1, 0, 0, 3, 4);
}

static void test_graph_layers__nodes_links_and_hyperlinks__the_same_layers(void **state)
{
    struct links l;
    struct toy t;
    (void)state;
    open_l(&t, false);
    struct graph_hops hops = { .n_layers = 2, .hop = { .fanouts = two_by_two, .n_fanouts = 1 } };
    struct run r = run_new(&t.g);
    seeds(&r, 0, IDS(0, 3, 4));
    assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
    assert_layers_of_l(r.b);
    run_free(&r);
    links_begin(&l, &t, NULL, (const int64_t[]){ 0, 3, 4, 4 }, 2, 2, false);
    assert_layers_of_l(links_make(&l));
    LIST("compacted", l.m->compacted[0].v, 4, 0, 1, 2, 2);
    graph_minibatch_free(l.m);
    links_begin(&l, &t, NULL, (const int64_t[]){ 0, 3, 3, 4, 4, 4 }, 2, 3, false);
    assert_layers_of_l(links_make(&l));
    LIST("compacted", l.m->compacted[0].v, 6, 0, 1, 1, 2, 2, 2);
    graph_minibatch_free(l.m);
}

static void assert_row_counts(const struct graph_batch *b, int64_t outer, int64_t inner)
{
    assert_int_equal(b->layers[0].n_rows[0], outer);
    assert_int_equal(b->layers[1].n_rows[0], inner);
}

/* Graph M, whose node 2 has four neighbours of which two are taken: which, is not known, and how many are. */
static void test_graph_layers__duplicates_kept__a_row_for_each_edge(void **state)
{
    static const int64_t times[8] = { 0 };
    struct links l;
    struct toy t;
    (void)state;
    open_l(&t, true);
    for (int with_times = 0; with_times < 2; with_times++) {
        struct graph_times at = { .of_nodes = times };
        int64_t columns[7];
        struct graph_hops hops = { .n_layers = 2, .hop = { .fanouts = two_by_two, .n_fanouts = 1, .times = with_times ? &at : NULL },
                                   .keeps_duplicates = true };
        struct run r = run_new(&t.g);
        assert_ok(graph_batch_add(r.b, r.s, 0, (const int64_t[]){ 0, 3, 4 }, (const int64_t[]){ 10, 10, 10 }, 3, false, NULL, &err));
        assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
        assert_row_counts(r.b, 17, 7);
        RELATION(r.b, 0, 0, V(0, 1, 2, 4, 4, 6, 8, 10), V(7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
        RELATION(r.b, 1, 0, V(0, 1, 2, 4), V(3, 4, 5, 6));
        memcpy(columns, r.b->nodes[0].v, sizeof columns);
        LIST("columns", columns, 7, 0, 3, 4, 5, 2, 2, 4);
        run_free(&r);
    }
    links_begin(&l, &t, NULL, (const int64_t[]){ 0, 1, 3, 5 }, 2, 2, true);
    assert_row_counts(links_make(&l), 13, 7);
    RELATION(l.m->graph, 0, 0, V(0, 1, 2, 3, 3, 3, 4, 6), V(7, 8, 9, 10, 11, 12));
    RELATION(l.m->graph, 1, 0, V(0, 1, 2, 3, 3), V(4, 5, 6));
    graph_minibatch_free(l.m);
    links_begin(&l, &t, NULL, (const int64_t[]){ 0, 1, 4, 3, 5, 6 }, 2, 3, true);
    assert_row_counts(links_make(&l), 23, 11);
    RELATION(l.m->graph, 0, 0, V(0, 1, 2, 4, 5, 5, 5, 5, 6, 8, 10, 12), V(11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22));
    RELATION(l.m->graph, 1, 0, V(0, 1, 2, 4, 5, 5, 5), V(6, 7, 8, 9, 10));
    graph_minibatch_free(l.m);
}

static void test_graph_layers__links_of_types__merged(void **state)
{
    struct links l;
    struct toy t;
    (void)state;
    open_h(&t, h10_indptr, h10_indices, h10_types);
    for (int is_hyper = 0; is_hyper < 2; is_hyper++) {
        static const int64_t link[] = { 0, 1, 0 };
        links_begin(&l, &t, is_hyper ? "n1:n2:n1" : "n1:e1:n2", link, 1, is_hyper ? 3 : 2, false);
        const struct graph_batch *b = links_make(&l);
        RELATION(b, 0, 0, V(0, 2, 4, 6), V(1, 0, 0, 1, 0, 1));
        RELATION(b, 0, 1, V(0, 2, 4), V(1, 2, 1, 0));
        RELATION(b, 1, 0, V(0, 2), V(1, 0));
        RELATION(b, 1, 1, V(0, 2), V(1, 2));
        ROWS(b, 0, 0, 0, 1);
        ROWS(b, 0, 1, 1, 0, 2);
        LIST("compacted", l.m->compacted[0].v, l.m->compacted[0].n - is_hyper, 0, 0);
        graph_minibatch_free(l.m);
    }
}

static void test_graph_layers__links_of_types__duplicates_kept(void **state)
{
    struct links l;
    struct toy t;
    (void)state;
    open_h(&t, h10_indptr, h10_indices, h10_types);
    links_begin(&l, &t, "n1:e1:n2", (const int64_t[]){ 0, 1 }, 1, 2, true);
    const struct graph_batch *b = links_make(&l);
    for (size_t type = 0; type < 2; type++) {
        RELATION(b, 0, type, V(0, 2, 4, 6), V(3, 4, 5, 6, 7, 8));
        RELATION(b, 1, type, V(0, 2), V(1, 2));
    }
    COLUMNS(b, 0, 0, 0, 1, 0);
    COLUMNS(b, 0, 1, 1, 0, 2);
    ROWS(b, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1);
    ROWS(b, 0, 1, 1, 0, 2, 0, 2, 0, 1, 0, 2);
    graph_minibatch_free(l.m);
    links_begin(&l, &t, "n2:n1:n2", (const int64_t[]){ 0, 1, 2 }, 1, 3, true);
    b = links_make(&l);
    RELATION(b, 0, 0, V(0, 2, 4, 6, 8), V(5, 6, 7, 8, 9, 10, 11, 12));
    RELATION(b, 0, 1, V(0, 2, 4, 6, 8, 10), V(4, 5, 6, 7, 8, 9, 10, 11, 12, 13));
    RELATION(b, 1, 0, V(0, 2, 4), V(1, 2, 3, 4));
    RELATION(b, 1, 1, V(0, 2), V(2, 3));
    ROWS(b, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0);
    ROWS(b, 0, 1, 0, 2, 0, 1, 0, 1, 0, 2, 0, 1, 0, 2, 0, 1);
    graph_minibatch_free(l.m);
}

static void test_graph_layers__a_number_for_each_type__edges_of_each(void **state)
{
    static const int64_t fanouts[] = { 2, 1, 2, 1 };
    struct toy t;
    (void)state;
    open_h(&t, h10_indptr, h10_indices, h10_types);
    for (int keeps_duplicates = 0; keeps_duplicates < 2; keeps_duplicates++) {
        struct graph_hops hops = { .n_layers = 2, .hop = { .fanouts = fanouts, .n_fanouts = 2 }, .keeps_duplicates = keeps_duplicates != 0 };
        struct run r = run_new(&t.g);
        seeds(&r, 0, IDS(0));
        seeds(&r, 1, IDS(1));
        assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
        assert_int_equal(r.b->layers[0].relations[0].edges.n, 4);
        assert_int_equal(r.b->layers[0].relations[1].edges.n, keeps_duplicates ? 3 : 2);
        assert_int_equal(r.b->layers[1].relations[0].edges.n, 2);
        assert_int_equal(r.b->layers[1].relations[1].edges.n, 1);
        run_free(&r);
    }
}

/* ---- edges left out ---- */

static void test_graph_exclude__one_type__pairs_are_gone(void **state)
{
    static const int64_t columns[] = { 10, 15, 11, 24, 9 };
    struct toy t;
    (void)state;
    for (int is_multi = 0; is_multi < 2; is_multi++) {
        int64_t source = is_multi ? 24 : 11, target = is_multi ? 11 : 9;
        struct graph_pairs pairs = { is_multi ? SIZE_MAX : 0, &source, &target, 1 };
        toy_begin(&t, 0, (const int64_t[]){ 25 }, NULL, 0, NULL, NULL);
        if (is_multi) {
            toy_columns(&t, 0, columns, 5, (const int64_t[]){ 0, 0, 1, 3, 3, 5 }, (const int64_t[]){ 10, 24, 24, 11, 11 },
                        (const int64_t[]){ 5, 9, 9, 10, 10 });
        } else {
            toy_columns(&t, 0, columns, 5, (const int64_t[]){ 0, 0, 1, 2, 2, 3 }, (const int64_t[]){ 10, 24, 11 },
                        (const int64_t[]){ 5, 9, 10 });
        }
        toy_end(&t);
        toy_use_original_ids(&t);
        struct run r = run_new(&t.g);
        seeds(&r, 0, columns, 5);
        sample_all(&r, 1, false);
        if (is_multi) {
            RELATION(r.b, 0, 0, V(0, 0, 1, 3, 3, 5), V(0, 3, 3, 2, 2));
        } else {
            RELATION(r.b, 0, 0, V(0, 0, 1, 2, 2, 3), V(0, 3, 2));
        }
        assert_ok(graph_batch_exclude(r.b, &pairs, 1, &err));
        graph_batch_finish(r.b);
        if (is_multi) {
            RELATION(r.b, 0, 0, V(0, 0, 1, 1, 1, 3), V(0, 2, 2));
            EDGES(r.b, 0, 0, 5, 10, 10);
        } else {
            RELATION(r.b, 0, 0, V(0, 0, 1, 2, 2, 2), V(0, 3));
            EDGES(r.b, 0, 0, 5, 9);
        }
        ROWS(r.b, 0, 0, 10, 15, 11, 24, 9);
        run_free(&r);
    }
}

static void test_graph_exclude__types__pairs_are_gone(void **state)
{
    static const char *const names[] = { "A", "B" }, *const relations[] = { "A:r:B" };
    static const int32_t ends[][2] = { { 0, 1 } };
    static const int64_t b_columns[] = { 10, 11, 12 };
    struct toy t;
    (void)state;
    for (int is_multi = 0; is_multi < 2; is_multi++) {
        toy_begin(&t, 2, (const int64_t[]){ 16, 13 }, names, 1, relations, ends);
        if (is_multi) {
            toy_columns(&t, 0, b_columns, 3, (const int64_t[]){ 0, 2, 4, 5 }, (const int64_t[]){ 15, 15, 14, 14, 13 },
                        (const int64_t[]){ 19, 19, 20, 20, 21 });
        } else {
            toy_columns(&t, 0, b_columns, 3, (const int64_t[]){ 0, 1, 2, 3 }, (const int64_t[]){ 15, 14, 13 },
                        (const int64_t[]){ 19, 20, 21 });
        }
        toy_end(&t);
        toy_use_original_ids(&t);
        struct run r = run_new(&t.g);
        seeds(&r, 0, IDS(13, 14, 15));
        seeds(&r, 1, b_columns, 3);
        sample_all(&r, 1, false);
        int64_t sources[] = { 15, 13 }, targets[] = { 16 + 10, 16 + 12 };
        struct graph_pairs pairs = { 0, sources, targets, 2 };
        if (is_multi) {
            RELATION(r.b, 0, 0, V(0, 2, 4, 5), V(2, 2, 1, 1, 0));
        } else {
            RELATION(r.b, 0, 0, V(0, 1, 2, 3), V(2, 1, 0));
        }
        assert_ok(graph_batch_exclude(r.b, &pairs, 1, &err));
        graph_batch_finish(r.b);
        if (is_multi) {
            RELATION(r.b, 0, 0, V(0, 0, 2, 2), V(1, 1));
            EDGES(r.b, 0, 0, 20, 20);
        } else {
            RELATION(r.b, 0, 0, V(0, 0, 1, 1), V(1));
            EDGES(r.b, 0, 0, 20);
        }
        ROWS(r.b, 0, 0, 13, 14, 15);
        run_free(&r);
    }
}

/* ---- negatives ---- */

static void test_graph_minibatch__negatives_of_types__sources_repeat(void **state)
{
    static const char *const names[] = { "seeds" };
    static const int64_t e1[] = { 0, 0, 1, 1 }, e2[] = { 0, 0, 1, 1, 2, 0 };
    struct tensor columns[2];
    struct toy t;
    (void)state;
    open_h(&t, h10_indptr, h10_indices, h10_types);
    for (int i = 0; i < 2; i++) {
        int64_t n = 2 + i;
        columns[i] = (struct tensor){ .type = ARRAY_I64, .rank = 2, .shape = { (uint64_t)n, 2 }, .strides = { 2, 1 },
                                      .n_values = (uint64_t)(2 * n), .data = (const unsigned char *)(i == 0 ? e1 : e2), .is_packed = true };
    }
    struct graph_item_part parts[] = { { "n1:e1:n2", 2, &columns[0] }, { "n2:e2:n1", 3, &columns[1] } };
    struct graph_items items = { names, 1, parts, 2 };
    struct graph_recipe recipe = { .g = &t.g, .items = &items, .hops = { .n_layers = 0 }, .negative_ratio = 2 };
    struct graph_share share = { .batch_size = 1 };
    struct graph_minibatch *m;
    struct graph_epoch e;
    assert_ok(graph_minibatch_new(&recipe, &m, &err));
    assert_ok(graph_epoch_begin(ctx, &items, share, false, 0, &e, &err));
    assert_int_equal(e.n_batches, 5);
    for (int64_t i = 0; i < 5; i++) {
        static const int64_t expected[] = { 0, 1, 0, 1, 2 };
        size_t part = i < 2 ? 0 : 1;
        assert_ok(graph_minibatch_make(m, &e, 0, i, 1, &err));
        assert_int_equal(m->seeds[part].n, 3);
        assert_int_equal(m->seeds[1 - part].n, 0);
        for (int64_t j = 1; j < 3; j++) {
            assert_int_equal(m->seeds[part].ids.v[2 * j], expected[i]);
            assert_true(m->seeds[part].ids.v[2 * j + 1] >= 0 && m->seeds[part].ids.v[2 * j + 1] < (part == 0 ? 3 : 2));
        }
    }
    graph_epoch_end(&e);
    graph_minibatch_free(m);
    /* seeds that are no pairs */
    struct links l;
    struct graph_epoch epoch;
    links_begin(&l, &t, "n1:n2:n1", (const int64_t[]){ 0, 1, 0 }, 1, 3, false);
    l.recipe.negative_ratio = 2;
    assert_ok(graph_minibatch_new(&l.recipe, &l.m, &err));
    assert_ok(graph_epoch_begin(ctx, &l.items, share, false, 0, &epoch, &err));
    assert_fails(graph_minibatch_make(l.m, &epoch, 0, 0, 1, &err), GREBE_EINVAL, "seeds of 3");
    graph_epoch_end(&epoch);
    graph_minibatch_free(l.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_layers__nodes_links_and_hyperlinks__the_same_layers),
        cmocka_unit_test(test_graph_layers__duplicates_kept__a_row_for_each_edge),
        cmocka_unit_test(test_graph_layers__links_of_types__merged),
        cmocka_unit_test(test_graph_layers__links_of_types__duplicates_kept),
        cmocka_unit_test(test_graph_layers__a_number_for_each_type__edges_of_each),
        cmocka_unit_test(test_graph_exclude__one_type__pairs_are_gone),
        cmocka_unit_test(test_graph_exclude__types__pairs_are_gone),
        cmocka_unit_test(test_graph_minibatch__negatives_of_types__sources_repeat),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
