/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader refuses, what it does after a failure, and how much memory it takes. */

#include "grebe/graph_sample.h"

#include "graph/graph_loader.h"
#include "graph_case.h"

static grebe_graph *made_with(const char *folder, grebe_graph_edge_ids ids, bool is_reused)
{
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph_made made;
    grebe_graph *g;
    o.out = folder;
    o.edge_ids = ids;
    assert_ok(grebe_graph_preprocess(ctx, TEST_DATA "/data/graphbolt/cases/homo_csv/raw", &o, &made, &err));
    assert_int_equal(made.is_reused, is_reused);
    assert_ok(grebe_graph_open(ctx, folder, &g, &err));
    return g;
}

/* Rows of a file of edges are found by the numbers of the edges in it, which are kept where they are needed. */
static void test_graph_loader__edge_features_without_edge_ids__refused(void **state)
{
    static const int64_t fanouts[] = { 2 };
    grebe_graph_fetch fetch = { "edge", NULL, "w", 0 };
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *l;
    char *folder = test_folder_new();
    (void)state;
    s.fanouts = fanouts;
    s.n_layers = 1;
    o.sampling = &s;
    o.fetches = &fetch;
    o.n_fetches = 1;
    grebe_graph *g = made_with(folder, GREBE_GRAPH_EDGE_IDS_DROPPED, false);
    assert_fails(grebe_graph_loader_new(g, &o, &l, &err), GREBE_ESCHEMA, "original edge ids");
    grebe_graph_close(g);
    g = made_with(folder, GREBE_GRAPH_EDGE_IDS_FOR_FEATURES, false);
    assert_ok(grebe_graph_loader_new(g, &o, &l, &err));
    grebe_graph_loader_free(l);
    grebe_graph_close(g);
    grebe_graph_close(made_with(folder, GREBE_GRAPH_EDGE_IDS_FOR_FEATURES, true));
    grebe_graph_close(made_with(folder, GREBE_GRAPH_EDGE_IDS_KEPT, true)); /* they were kept */
    grebe_graph_close(made_with(folder, GREBE_GRAPH_EDGE_IDS_DROPPED, false));
    test_folder_remove(folder);
}

static grebe_graph *open_set(const char *name)
{
    char path[600];
    grebe_graph *g;
    snprintf(path, sizeof path, TEST_DATA "/data/graphbolt/cases/%s/dgl_preprocessed", name);
    assert_ok(grebe_graph_open(ctx, path, &g, &err));
    return g;
}

static void test_graph_loader__options_that_do_not_fit__refused(void **state)
{
    static const int64_t three[] = { 1, 2, 3 }, less[] = { -2 };
    grebe_graph *g = open_set("hetero_mix");
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *l;
    grebe_graph_sampler *sampler;
    const grebe_graph_batch *b;
    (void)state;
    o.n_fetches = 1;
    assert_fails(grebe_graph_loader_new(g, &o, &l, &err), GREBE_EINVAL, "fetches");
    o.n_fetches = 0;
    o.n_reverse = 1;
    assert_fails(grebe_graph_loader_new(g, &o, &l, &err), GREBE_EINVAL, "reverse");
    o.n_reverse = 0;
    o.excludes_reverse = true; /* of which type the other direction is, nobody said */
    assert_fails(grebe_graph_loader_new(g, &o, &l, &err), GREBE_EINVAL, "reverse");
    o.excludes_reverse = false;
    o.sampling = &s;
    s.fanouts = three;
    s.n_layers = 1;
    s.n_fanouts = 3;
    if (grebe_graph_edge_type(g, 3) != NULL) { /* it has more types of edges */
        assert_fails(grebe_graph_loader_new(g, &o, &l, &err), GREBE_EINVAL, "3 fanouts");
        assert_fails(grebe_graph_sampler_new(g, &s, 1, &sampler, &err), GREBE_EINVAL, "3 fanouts");
    }
    s.fanouts = less;
    s.n_fanouts = 1;
    assert_fails(grebe_graph_sampler_new(g, &s, 1, &sampler, &err), GREBE_EINVAL, "fanout -2");
    s.fanouts = three;
    assert_ok(grebe_graph_sampler_new(g, &s, 1, &sampler, &err));
    assert_fails(grebe_graph_sampler_run(sampler, NULL, 1, 0, &b, &err), GREBE_EINVAL, "seeds");
    const int64_t ids[2] = { 0, 1 }, times[2] = { 5, 6 };
    grebe_graph_seeds seeds[2] = { { "paper", ids, 2, NULL }, { "paper", ids, 2, times } };
    assert_fails(grebe_graph_sampler_run(sampler, seeds, 2, 0, &b, &err), GREBE_EINVAL, "times for all or for none");
    seeds[0].times = times;
    seeds[1].times = NULL;
    assert_fails(grebe_graph_sampler_run(sampler, seeds, 2, 0, &b, &err), GREBE_EINVAL, "times for all or for none");
    seeds[1].times = times;
    assert_ok(grebe_graph_sampler_run(sampler, seeds, 2, 0, &b, &err));
    grebe_graph_sampler_free(sampler);
    grebe_graph_close(g);
}

/* What one batch begins with, and how much it has of edges. */
static uint64_t digest(const grebe_graph_batch *b)
{
    int64_t n;
    const int64_t *nodes = grebe_graph_batch_nodes(b, 0, &n);
    uint64_t h = (uint64_t)grebe_graph_batch_n_edges(b);
    for (int64_t i = 0; i < n; i++) {
        h = (h ^ (uint64_t)nodes[i]) * UINT64_C(1099511628211);
    }
    return h;
}

/* Memory fails once, wherever: no batch of the epoch is lost, and none comes twice. */
static void test_graph_loader__memory_fails_once__the_batch_comes_with_the_next_call(void **state)
{
    enum { BATCHES_MAX = 64 };
    static const int64_t fanouts[] = { 3, 3 };
    grebe_graph *g = open_set("homo_attr");
    const grebe_allocator *before = ctx->a;
    grebe_graph_fetch fetch = { "edge", NULL, "rowno", 1024 };
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    uint64_t expected[BATCHES_MAX];
    size_t n_expected = 0, n_failed = 0;
    bool is_over = false;
    (void)state;
    s.fanouts = fanouts;
    s.n_layers = 2;
    o.sampling = &s;
    o.batch_size = 3;
    o.is_shuffled = true;
    o.threads = 1;
    o.ahead = 3;
    o.fetches = &fetch;
    o.n_fetches = 1;
    grebe_graph_loader *warm; /* arrays of the data set are opened, and stay */
    assert_ok(grebe_graph_loader_new(g, &o, &warm, &err));
    grebe_graph_loader_free(warm);
    for (size_t at = 0; !is_over; at++) { /* the first time it does not fail */
        struct test_allocator t;
        grebe_graph_loader *l;
        const grebe_graph_batch *b;
        grebe_status st;
        size_t n = 0;
        bool has_failed = false;
        test_allocator_init(&t);
        ctx->a = &t.a;
        assert_ok(grebe_graph_loader_new(g, &o, &l, &err));
        t.fail_at = at == 0 ? 0 : t.n_calls + at;
        while ((st = grebe_graph_loader_next(l, &b, &err)) != GREBE_END) {
            if (st != GREBE_OK) {
                assert_int_equal(st, GREBE_ENOMEM);
                assert_false(has_failed);
                t.fail_at = 0;
                has_failed = true;
                continue;
            }
            if (at == 0) {
                assert_true(n_expected < BATCHES_MAX);
                expected[n_expected++] = digest(b);
            }
            assert_true(n < n_expected && digest(b) == expected[n]);
            n++;
        }
        assert_int_equal(n, n_expected);
        n_failed += has_failed;
        is_over = at > 0 && !has_failed;
        grebe_graph_loader_free(l);
        assert_int_equal(t.n_live, 0);
        ctx->a = before;
    }
    assert_true(n_expected > 3 && n_failed > 10);
    grebe_graph_close(g);
}

/* Working memory of sampling goes with the threads, not with the batches that wait. */
static void test_graph_loader__many_ahead_of_a_large_graph__memory_of_few(void **state)
{
    enum { NODES = 2000000, ITEMS = 256, THREADS = 2 };
    static const char *const names[] = { "seeds" };
    int64_t *indptr = calloc(NODES + 1, sizeof *indptr), none = 0, fanout = 2;
    struct graph_csc g = small_graph(indptr, NODES, &none);
    struct graph_item_part part = { NULL, ITEMS, NULL };
    struct graph_items items = { names, 1, &part, 1 };
    struct graph_recipe recipe = { .g = &g, .items = &items, .hops = { .n_layers = 1, .hop = { .fanouts = &fanout, .n_fanouts = 1 } } };
    struct graph_loading loading = { .share = { .batch_size = 2 }, .threads = THREADS, .ahead = 64 };
    const grebe_allocator *before = ctx->a;
    struct test_allocator t;
    struct graph_loader *l;
    struct graph_minibatch *m;
    grebe_status st;
    int64_t n = 0;
    (void)state;
    test_allocator_init(&t);
    ctx->a = &t.a;
    assert_ok(graph_loader_new(&recipe, &loading, &l, &err));
    while ((st = graph_loader_next(l, &m, &err)) == GREBE_OK) {
        assert_int_equal(m->graph->nodes[0].n, 2);
        n++;
    }
    assert_int_equal(st, GREBE_END);
    assert_int_equal(n, ITEMS / 2);
    graph_loader_free(l);
    ctx->a = before;
    assert_int_equal(t.n_live, 0);
    if (t.peak_bytes > (THREADS + 1) * 8 * (size_t)NODES) { /* each of 65 would have 4 bytes a node: 520 MB */
        fail_msg("%zu bytes for %d batches ahead", t.peak_bytes, 64);
    }
    free(indptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_loader__edge_features_without_edge_ids__refused),
        cmocka_unit_test(test_graph_loader__options_that_do_not_fit__refused),
        cmocka_unit_test(test_graph_loader__memory_fails_once__the_batch_comes_with_the_next_call),
        cmocka_unit_test(test_graph_loader__many_ahead_of_a_large_graph__memory_of_few),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
