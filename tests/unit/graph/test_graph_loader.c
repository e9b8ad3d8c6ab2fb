/* SPDX-License-Identifier: Apache-2.0 */
/* Samplers and loaders as callers use them, on data sets that DGL preprocessed. */

#include "grebe/graph_sample.h"

#include "graph/graph_dataset.h"
#include "graph/graph_order.h"
#include "graph/graph_rows.h"
#include "graph_case.h"

static grebe_graph *open_set(const char *name)
{
    char path[600];
    grebe_graph *g;
    snprintf(path, sizeof path, TEST_DATA "/data/graphbolt/cases/%s/dgl_preprocessed", name);
    assert_ok(grebe_graph_open(ctx, path, &g, &err));
    return g;
}

/* One number for all that a batch holds. */
static uint64_t mix_in(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    }
    return h;
}

static uint64_t digest(const grebe_graph *g, const grebe_graph_batch *b)
{
    grebe_graph_info info;
    uint64_t h = 7;
    grebe_graph_get_info(g, &info);
    for (size_t t = 0; t < (info.n_node_types == 0 ? 1 : info.n_node_types); t++) {
        int64_t n;
        const int64_t *nodes = grebe_graph_batch_nodes(b, t, &n);
        h = mix_in(h, nodes, (size_t)n * sizeof *nodes);
    }
    for (size_t l = 0; l < grebe_graph_batch_n_layers(b); l++) {
        for (size_t e = 0; e < (info.n_edge_types == 0 ? 1 : info.n_edge_types); e++) {
            grebe_graph_relation r;
            grebe_graph_batch_relation(b, l, e, &r);
            h = mix_in(h, r.indptr, (size_t)(r.n_columns + 1) * 8);
            h = mix_in(h, r.indices, (size_t)r.n_edges * 8);
            h = mix_in(h, r.edges, (size_t)r.n_edges * 8);
        }
    }
    return h;
}

struct epochs {
    uint64_t digests[3][32];
    int64_t n;
};

static void run_epochs(const grebe_graph *g, grebe_graph_loader_options o, struct epochs *out)
{
    grebe_graph_loader *l;
    const grebe_graph_batch *b;
    grebe_status st = GREBE_OK;
    assert_ok(grebe_graph_loader_new(g, &o, &l, &err));
    out->n = grebe_graph_loader_n_batches(l);
    assert_true(out->n <= 32);
    for (uint64_t e = 0; e < 3; e++) {
        assert_int_equal(grebe_graph_loader_epoch(l), e);
        for (int64_t i = 0; (st = grebe_graph_loader_next(l, &b, &err)) == GREBE_OK; i++) {
            assert_true(i < out->n);
            out->digests[e][i] = digest(g, b);
        }
        if (st != GREBE_END) {
            fail_msg("%s", err.message);
        }
    }
    grebe_graph_loader_free(l);
}

static const int64_t two_three[] = { 2, 3 };

static void test_graph_loader__any_threads_and_ahead__the_same_batches(void **state)
{
    static const char *const names[] = { "hetero_mix", "homo_csv", "homo_attr" };
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        grebe_graph *g = open_set(names[k]);
        for (int method = 0; method < 4; method++) { /* neighbours; layers, which may depend on one another, as batches may */
            grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
            grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
            struct epochs one, many;
            s.fanouts = two_three;
            s.n_layers = 2;
            s.method = method == 0 ? GREBE_GRAPH_NEIGHBORS : GREBE_GRAPH_LAYER;
            s.with_replacement = method == 2;
            s.layer_dependency = method == 3;
            s.batch_dependency = method == 3 ? 4 : 0;
            o.sampling = &s;
            o.batch_size = 2;
            o.is_shuffled = true;
            o.seed = 11;
            o.threads = 1;
            run_epochs(g, o, &one);
            assert_true(one.n >= 3);
            for (uint32_t i = 0; i < 6; i++) {
                o.threads = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 8;
                o.ahead = i < 3 ? 0 : 5;
                run_epochs(g, o, &many);
                assert_memory_equal(one.digests[0], many.digests[0], (size_t)one.n * 8);
                assert_memory_equal(one.digests[1], many.digests[1], (size_t)one.n * 8);
                assert_memory_equal(one.digests[2], many.digests[2], (size_t)one.n * 8);
            }
            assert_true(memcmp(one.digests[0], one.digests[1], (size_t)one.n * 8) != 0); /* epochs differ */
        }
        grebe_graph_close(g);
    }
}

/* With all layers and batches alike, a seed that comes again has the same neighbours; that is of layers alone. */
static void test_graph_sampler__dependency__of_layers_alone(void **state)
{
    static const int64_t fanouts[] = { 2, 2 };
    grebe_graph *g = open_set("homo_attr");
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_sampler *sampler;
    const grebe_graph_batch *b;
    int64_t ids[] = { 0, 0 }, n_alike = 0, before[2] = { -1, -1 };
    grebe_graph_seeds seeds = { NULL, ids, 2, NULL };
    (void)state;
    s.fanouts = fanouts;
    s.n_layers = 2;
    s.batch_dependency = 50;
    assert_fails(grebe_graph_sampler_new(g, &s, 1, &sampler, &err), GREBE_EINVAL, "layer-dependent");
    s.batch_dependency = 0;
    s.layer_dependency = true;
    assert_fails(grebe_graph_sampler_new(g, &s, 1, &sampler, &err), GREBE_EINVAL, "layer-dependent");
    s.method = GREBE_GRAPH_LAYER;
    s.batch_dependency = 50;
    assert_ok(grebe_graph_sampler_new(g, &s, 1, &sampler, &err));
    for (uint64_t i = 0; i < 400; i++) {
        grebe_graph_relation near, far;
        assert_ok(grebe_graph_sampler_run(sampler, &seeds, 1, 100 + i, &b, &err));
        grebe_graph_batch_relation(b, 1, 0, &near);
        grebe_graph_batch_relation(b, 0, 0, &far);
        assert_true(near.n_edges == 4 && near.indptr[1] == 2 && far.indptr[1] == 2);
        assert_memory_equal(near.edges, near.edges + 2, 2 * sizeof(int64_t));
        assert_memory_equal(near.edges, far.edges, 2 * sizeof(int64_t)); /* the seed is a column of both layers */
        n_alike += near.edges[0] == before[0] && near.edges[1] == before[1];
        memcpy(before, near.edges, sizeof before);
    }
    if (n_alike < 300 || n_alike > 395) {
        fail_msg("%d of 399 runs as the one before", (int)n_alike);
    }
    grebe_graph_sampler_free(sampler);
    grebe_graph_close(g);
}

static void test_graph_loader__broken_off__the_same_epoch_again(void **state)
{
    grebe_graph *g = open_set("homo_csv");
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *l;
    const grebe_graph_batch *b;
    uint64_t first, other;
    (void)state;
    s.fanouts = two_three;
    s.n_layers = 2;
    o.sampling = &s;
    o.batch_size = 2;
    o.is_shuffled = true;
    o.threads = 3;
    assert_ok(grebe_graph_loader_new(g, &o, &l, &err));
    assert_ok(grebe_graph_loader_next(l, &b, &err));
    first = digest(g, b);
    assert_ok(grebe_graph_loader_next(l, &b, &err));
    assert_ok(grebe_graph_loader_begin(l, grebe_graph_loader_epoch(l), &err));
    assert_ok(grebe_graph_loader_next(l, &b, &err));
    assert_true(digest(g, b) == first);
    assert_ok(grebe_graph_loader_begin(l, 5, &err));
    assert_ok(grebe_graph_loader_next(l, &b, &err));
    other = digest(g, b);
    assert_true(other != first);
    assert_ok(grebe_graph_loader_begin(l, 0, &err));
    assert_ok(grebe_graph_loader_next(l, &b, &err));
    assert_true(digest(g, b) == first);
    grebe_graph_loader_free(l);
    grebe_graph_close(g);
}

/* Kept batches are what they were when they were given, whatever is made and given back meanwhile. */
static void test_graph_batch_keep__loader_goes_on__untouched(void **state)
{
    enum { BATCHES = 3 };
    grebe_graph *g = open_set("homo_csv"); /* train: 6 items */
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    struct epochs expected;
    (void)state;
    s.fanouts = two_three;
    s.n_layers = 2;
    o.sampling = &s;
    o.batch_size = 2;
    o.is_shuffled = true;
    for (uint32_t threads = 1; threads < 4; threads++) {
        grebe_graph_loader *l;
        const grebe_graph_batch *b;
        grebe_graph_batch *kept[3][BATCHES], *other;
        o.threads = threads;
        run_epochs(g, o, &expected);
        assert_int_equal(expected.n, BATCHES);
        assert_ok(grebe_graph_loader_new(g, &o, &l, &err));
        for (int e = 0; e < 3; e++) {
            for (int i = 0; i < BATCHES; i++) {
                assert_ok(grebe_graph_loader_next(l, &b, &err));
                assert_ok(grebe_graph_batch_keep(b, &kept[e][i], &err));
                assert_fails(grebe_graph_batch_keep(b, &other, &err), GREBE_EINVAL, "batch");
                assert_fails(grebe_graph_batch_keep(kept[e][i], &other, &err), GREBE_EINVAL, "is_kept");
                if (e == 2) { /* memory of the first epoch is used again in the third */
                    grebe_graph_batch_free(kept[0][BATCHES - 1 - i]);
                }
            }
            assert_int_equal(grebe_graph_loader_next(l, &b, &err), GREBE_END);
        }
        for (int e = 1; e < 3; e++) {
            for (int i = 0; i < BATCHES; i++) {
                assert_true(digest(g, kept[e][i]) == expected.digests[e][i]);
                grebe_graph_batch_free(kept[e][i]);
            }
        }
        grebe_graph_batch_free(NULL);
        grebe_graph_loader_free(l);
    }
    grebe_graph_close(g);
}

static void test_graph_batch_keep__sampler_goes_on__untouched(void **state)
{
    enum { RUNS = 6 };
    grebe_graph *g = open_set("hetero_attr");
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_sampler *sampler;
    const grebe_graph_batch *b;
    grebe_graph_batch *kept[RUNS];
    grebe_graph_edge_index x;
    const int64_t ids[] = { 0, 1, 2 };
    grebe_graph_seeds seeds = { "u", ids, 3, NULL };
    uint64_t digests[RUNS];
    (void)state;
    s.fanouts = two_three;
    s.n_layers = 2;
    assert_ok(grebe_graph_sampler_new(g, &s, 2, &sampler, &err));
    for (uint64_t i = 0; i < RUNS; i++) {
        assert_ok(grebe_graph_sampler_run(sampler, &seeds, 1, i, &b, &err));
        digests[i] = digest(g, b);
        assert_ok(grebe_graph_batch_edge_index(b, 0, &x, &err)); /* goes along */
        assert_ok(grebe_graph_batch_keep(b, &kept[i], &err));
        assert_true(digest(g, kept[i]) == digests[i]);
    }
    for (size_t i = 0; i < RUNS; i++) {
        assert_true(digest(g, kept[i]) == digests[i]);
        assert_ok(grebe_graph_batch_edge_index(kept[i], 0, &x, &err));
        grebe_graph_batch_free(kept[i]);
    }
    assert_ok(grebe_graph_sampler_run(sampler, &seeds, 1, 0, &b, &err));
    assert_true(digest(g, b) == digests[0]);
    grebe_graph_sampler_free(sampler);
    grebe_graph_close(g);
}

/* Without sampling and fetches a batch is its items and seeds. */
static void test_graph_loader__nothing_sampled__items_and_seeds(void **state)
{
    grebe_graph *g = open_set("homo_csv");
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *l;
    const grebe_graph_batch *b;
    grebe_graph_batch_items items;
    int64_t n;
    int32_t seeds[4]; /* of the file */
    (void)state;
    o.batch_size = 4;
    assert_ok(grebe_graph_loader_new(g, &o, &l, &err));
    assert_ok(grebe_graph_loader_next(l, &b, &err));
    assert_ok(grebe_graph_batch_part(b, 0, &items, &err));
    assert_int_equal(items.n_items, 4);
    assert_int_equal(items.n_seeds, 4);
    assert_null(items.rows);
    assert_ok(grebe_graph_batch_column(b, 0, 0, seeds, &err));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(items.seeds[i], seeds[i]);
    }
    assert_non_null(grebe_graph_batch_nodes(b, 0, &n));
    assert_int_equal(n, 0);
    grebe_graph_loader_free(l);
    grebe_graph_close(g);
}

static void test_graph_loader__last_batches__counts(void **state)
{
    grebe_graph *g = open_set("homo_csv"); /* train 6 items, test 0 */
    static const struct { grebe_graph_set set; int64_t batch, n; bool drop; } cases[] = {
        { GREBE_GRAPH_TRAIN, 4, 2, false }, { GREBE_GRAPH_TRAIN, 4, 1, true }, { GREBE_GRAPH_TRAIN, 100, 1, false },
        { GREBE_GRAPH_TRAIN, 100, 0, true }, { GREBE_GRAPH_TEST, 3, 0, false }, { GREBE_GRAPH_TRAIN, INT64_MAX, 1, false } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
        grebe_graph_loader *l;
        const grebe_graph_batch *b;
        o.set = cases[i].set;
        o.batch_size = cases[i].batch;
        o.drop_last = cases[i].drop;
        assert_ok(grebe_graph_loader_new(g, &o, &l, &err));
        assert_int_equal(grebe_graph_loader_n_batches(l), cases[i].n);
        for (int64_t j = 0; j < cases[i].n; j++) {
            assert_ok(grebe_graph_loader_next(l, &b, &err));
        }
        assert_int_equal(grebe_graph_loader_next(l, &b, &err), GREBE_END);
        grebe_graph_loader_free(l);
    }
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *l;
    o.batch_size = 0;
    assert_fails(grebe_graph_loader_new(g, &o, &l, &err), GREBE_EINVAL, "batch size 0");
    o.batch_size = 2;
    o.task = 77;
    assert_fails(grebe_graph_loader_new(g, &o, &l, &err), GREBE_ENOTFOUND, "task 77");
    grebe_graph_close(g);
}

/* Edge features of each layer are those of the sampled edges; a cache gives the same rows. */
static void test_graph_loader__features__rows_of_nodes_and_edges(void **state)
{
    grebe_graph *g = open_set("homo_attr");
    grebe_graph_fetch fetches[] = { { "edge", NULL, "rowno", 0 }, { "edge", NULL, "rowno", 1024 } };
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *l;
    const grebe_graph_batch *b;
    uint64_t hits, misses, evictions;
    int64_t n_rows = 0;
    (void)state;
    s.fanouts = two_three;
    s.n_layers = 2;
    s.weights = "weight";
    o.sampling = &s;
    o.batch_size = 4;
    o.fetches = fetches;
    o.n_fetches = 2;
    assert_ok(grebe_graph_loader_new(g, &o, &l, &err));
    for (int64_t i = 0; i < grebe_graph_loader_n_batches(l); i++) {
        assert_ok(grebe_graph_loader_next(l, &b, &err));
        for (size_t layer = 0; layer < 2; layer++) {
            grebe_graph_relation r;
            grebe_graph_rows rows;
            grebe_graph_batch_relation(b, layer, 0, &r);
            for (size_t f = 0; f < 2; f++) {
                assert_ok(grebe_graph_batch_rows(b, f, layer, &rows, &err));
                assert_int_equal(rows.n, r.n_edges);
                assert_int_equal(rows.row_bytes, 8);
                assert_memory_equal(rows.data, r.edges, (size_t)r.n_edges * 8); /* rowno of a row is its number */
            }
            n_rows += r.n_edges;
        }
        grebe_graph_rows rows;
        assert_fails(grebe_graph_batch_rows(b, 0, 2, &rows, &err), GREBE_EINVAL, "layer");
    }
    grebe_graph_loader_cache_counts(l, 1, &hits, &misses, &evictions);
    assert_int_equal(hits + misses, n_rows);
    assert_true(hits > 0 && evictions > 0);
    grebe_graph_loader_free(l);
    fetches[0].name = "no such";
    assert_fails(grebe_graph_loader_new(g, &o, &l, &err), GREBE_ENOTFOUND, "no such");
    grebe_graph_close(g);
}

/* In a graph of several types too, edge ids are rows of the edge file: the feature "rowno" of a row is its number. */
static void test_graph_feature_read__sampled_edges_of_a_type__their_rows(void **state)
{
    static const int64_t fanouts[] = { 4 };
    grebe_graph *g = open_set("hetero_attr");
    const struct graph_csc *csc = graph_dataset_csc(g);
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_sampler *sampler;
    const grebe_graph_batch *b;
    grebe_graph_relation r;
    int64_t ids[45], rows[400];
    size_t feature = graph_dataset_find_feature(g, GRAPH_EDGE, "u:likes:v", "rowno"), type = 0;
    (void)state;
    for (int64_t i = 0; i < 45; i++) {
        ids[i] = i;
    }
    grebe_graph_seeds seeds = { "v", ids, 45, NULL };
    while (strcmp(csc->edge_types[type], "u:likes:v") != 0) {
        type++;
    }
    s.fanouts = fanouts;
    s.n_layers = 1;
    assert_ok(grebe_graph_sampler_new(g, &s, 1, &sampler, &err));
    assert_ok(grebe_graph_sampler_run(sampler, &seeds, 1, 3, &b, &err));
    grebe_graph_batch_relation(b, 0, type, &r);
    assert_true(r.n_columns == 45 && r.n_edges > 40 && r.n_edges <= 400);
    assert_ok(grebe_graph_feature_read(g, feature, r.edges, r.n_edges, 1, rows, &err));
    assert_memory_equal(rows, r.edges, (size_t)r.n_edges * sizeof *rows);
    ids[0] = 400;
    assert_fails(grebe_graph_feature_read(g, feature, ids, 1, 1, rows, &err), GREBE_EINVAL, "row 400");
    grebe_graph_sampler_free(sampler);
    grebe_graph_close(g);
}

static void test_graph_batch__pyg__edges_refer_to_rows(void **state)
{
    static const char *const names[] = { "homo_csv", "hetero_attr" };
    static const int64_t all[] = { -1, -1 };
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        grebe_graph *g = open_set(names[k]);
        const struct graph_csc *csc = graph_dataset_csc(g);
        grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
        grebe_graph_sampler *sampler;
        const grebe_graph_batch *b;
        int64_t ids[] = { 0, 3, 1 }, per_hop[3], n;
        grebe_graph_seeds seeds = { k == 0 ? NULL : "u", ids, 3, NULL };
        s.fanouts = all;
        s.n_layers = 2;
        assert_ok(grebe_graph_sampler_new(g, &s, 1, &sampler, &err));
        assert_ok(grebe_graph_sampler_run(sampler, &seeds, 1, 4, &b, &err));
        const int64_t *nodes = grebe_graph_batch_nodes(b, 0, &n);
        assert_memory_equal(nodes, ids, sizeof ids);
        for (size_t t = 0; t < graph_n_node_types(csc); t++) {
            grebe_graph_batch_nodes(b, t, &n);
            grebe_graph_batch_nodes_per_hop(b, t, per_hop);
            assert_int_equal(per_hop[0] + per_hop[1] + per_hop[2], n);
            assert_int_equal(per_hop[0], t == 0 ? 3 : 0);
        }
        int64_t total = 0;
        for (size_t e = 0; e < graph_n_edge_types(csc); e++) {
            grebe_graph_edge_index x;
            int64_t n_sources, n_targets;
            grebe_graph_batch_nodes(b, graph_edge_source_type(csc, e), &n_sources);
            grebe_graph_batch_nodes(b, graph_edge_target_type(csc, e), &n_targets);
            assert_ok(grebe_graph_batch_edge_index(b, e, &x, &err));
            assert_int_equal(x.per_hop[0] + x.per_hop[1], x.n_edges);
            for (int64_t i = 0; i < x.n_edges; i++) {
                assert_true(x.sources[i] >= 0 && x.sources[i] < n_sources && x.targets[i] >= 0 && x.targets[i] < n_targets);
            }
            total += x.n_edges;
        }
        assert_int_equal(total, grebe_graph_batch_n_edges(b));
        assert_true(total > 0);
        ids[1] = 1000000;
        assert_fails(grebe_graph_sampler_run(sampler, &seeds, 1, 4, &b, &err), GREBE_EINVAL, "1000000");
        seeds.type = "no";
        ids[1] = 0;
        if (k == 1) {
            assert_fails(grebe_graph_sampler_run(sampler, &seeds, 1, 4, &b, &err), GREBE_EINVAL, "\"no\"");
        }
        grebe_graph_sampler_free(sampler);
        s.weights = "absent";
        assert_fails(grebe_graph_sampler_new(g, &s, 1, &sampler, &err), GREBE_ENOTFOUND, "graph.feature_data");
        grebe_graph_close(g);
    }
}

static void test_graph_loader__link_seeds_with_times__each_end_has_that_of_its_pair(void **state)
{
    static const int64_t all[] = { -1 };
    grebe_graph *g = open_set("homo_attr");
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *l;
    const grebe_graph_batch *b;
    grebe_graph_batch_items items;
    const int64_t *edge_times = NULL;
    (void)state;
    const struct graph_attribute *a = graph_edge_attribute(graph_dataset_csc(g), "time");
    const struct graph_attribute *ids = graph_edge_attribute(graph_dataset_csc(g), "_ORIGINAL_EDGE_ID");
    assert_non_null(a);
    edge_times = (const int64_t *)(const void *)a->values.data;
    s.fanouts = all;
    s.n_layers = 1;
    s.edge_times = "time";
    o.sampling = &s;
    o.batch_size = 3;
    o.negative_ratio = 2;
    assert_ok(grebe_graph_loader_new(g, &o, &l, &err));
    assert_ok(grebe_graph_loader_next(l, &b, &err));
    assert_ok(grebe_graph_batch_part(b, 0, &items, &err));
    assert_int_equal(items.n_seeds, 9);
    assert_int_equal(items.n_positives, 3);
    assert_int_equal(items.arity, 2);
    for (int64_t i = 3; i < 9; i++) {
        assert_int_equal(items.times[i], items.times[(i - 3) / 2]);
    }
    grebe_graph_relation r;
    grebe_graph_batch_relation(b, 0, 0, &r);
    assert_int_equal(r.n_columns, 18);
    int64_t *by_row = calloc(r.n_edges == 0 ? 1 : 4096, sizeof *by_row);
    for (int64_t e = 0; e < graph_dataset_csc(g)->n_edges; e++) { /* times by row of the edge file */
        by_row[((const int32_t *)(const void *)ids->values.data)[e]] = edge_times[e];
    }
    for (int64_t c = 0; c < r.n_columns; c++) {
        assert_int_equal(items.rows[c], c);
        for (int64_t i = r.indptr[c]; i < r.indptr[c + 1]; i++) {
            assert_true(by_row[r.edges[i]] < items.times[c / 2]);
        }
    }
    free(by_row);
    grebe_graph_loader_free(l);
    grebe_graph_close(g);
}

static void test_graph_rows__ids_that_are_none__refused(void **state)
{
    static const float values[] = { 0, 1, 2, 3, 4, 5 };
    struct tensor t = { .type = ARRAY_F32, .rank = 2, .shape = { 3, 2 }, .strides = { 2, 1 }, .n_values = 6,
                        .data = (const unsigned char *)values, .is_packed = true };
    int64_t ids[] = { 2, 0, 2, 3 };
    float out[8];
    (void)state;
    assert_ok(graph_rows_gather(ctx, &t, ids, 3, false, 1, out, &err));
    assert_true(out[0] == 4 && out[3] == 1 && out[5] == 5);
    assert_fails(graph_rows_gather(ctx, &t, ids, 4, false, 1, out, &err), GREBE_EINVAL, "row 3");
    ids[0] = -1;
    assert_fails(graph_rows_gather(ctx, &t, ids, 3, false, 1, out, &err), GREBE_EINVAL, "row -1");
    assert_ok(graph_rows_gather(ctx, &t, ids, 0, false, 1, out, &err));
    t.strides[0] = 1; /* columns one behind the other: 3 x 2 of 2 x 3 */
    t.strides[1] = 3;
    t.is_packed = false;
    ids[0] = 1;
    assert_ok(graph_rows_gather(ctx, &t, ids, 2, true, 1, out, &err));
    assert_true(out[0] == 1 && out[1] == 4 && out[2] == 0 && out[3] == 3);
}

/* Many rows by page and by threads, and through a cache of some, as they stand. */
static void test_graph_rows__many__every_way_the_same(void **state)
{
    enum { ROWS = 50000, READ = 20000 };
    int64_t *values = calloc(ROWS * 5, sizeof *values), *ids = calloc(READ, sizeof *ids), *out = calloc(READ * 5, sizeof *out);
    struct tensor t = { .type = ARRAY_I64, .rank = 2, .shape = { ROWS, 5 }, .strides = { 5, 1 }, .n_values = ROWS * 5,
                        .data = (const unsigned char *)values, .is_packed = true };
    struct graph_row_cache *cache;
    uint64_t seed = 4;
    (void)state;
    for (int64_t i = 0; i < ROWS * 5; i++) {
        values[i] = i;
    }
    assert_ok(graph_row_cache_new(ctx, &t, 300000, &cache, &err));
    for (int round = 0; round < 6; round++) {
        for (int64_t i = 0; i < READ; i++) {
            uint64_t x = test_random(&seed);
            ids[i] = (int64_t)(x % 3 == 0 ? x % ROWS : x % 2000);
        }
        memset(out, 0, READ * 5 * sizeof *out);
        if (round < 3) {
            assert_ok(graph_rows_gather(ctx, &t, ids, READ, round > 0, round == 2 ? 3 : 1, out, &err));
        } else {
            assert_ok(graph_row_cache_gather(cache, ids, READ, 1, out, &err));
        }
        for (int64_t i = 0; i < READ * 5; i++) {
            assert_int_equal(out[i], ids[i / 5] * 5 + i % 5);
        }
    }
    struct graph_row_counts counts = graph_row_cache_counts(cache);
    if (counts.hits < READ || counts.evictions < 1000) {
        fail_msg("%d hits, %d evictions", (int)counts.hits, (int)counts.evictions);
    }
    graph_row_cache_free(cache);
    free(values);
    free(ids);
    free(out);
}

/* What is written past the caches, and what cannot be because of where it begins or of its length. */
static void test_graph_rows__larger_than_the_caches__the_same(void **state)
{
    enum { ROWS = 200000, READ = 250000 };
    int64_t *values = calloc(ROWS * 6, sizeof *values), *ids = calloc(READ, sizeof *ids);
    unsigned char *out = aligned_alloc(64, READ * 48 + 64);
    uint64_t seed = 9;
    (void)state;
    for (int64_t i = 0; i < ROWS * 6; i++) {
        values[i] = (int64_t)test_random(&seed);
    }
    for (int64_t i = 0; i < READ; i++) {
        ids[i] = (int64_t)(test_random(&seed) % ROWS);
    }
    for (uint64_t width = 5; width <= 6; width++) {
        struct tensor t = { .type = ARRAY_I64, .rank = 2, .shape = { ROWS, width }, .strides = { 6, 1 }, .n_values = ROWS * width,
                            .data = (const unsigned char *)values, .is_packed = width == 6 };
        for (size_t offset = 0; offset <= 8; offset += 8) {
            for (int how = 0; how < 4; how++) { /* threads, by page */
                memset(out, 0, READ * 48 + 64);
                assert_ok(graph_rows_gather(ctx, &t, ids, READ, how >= 2, how % 2 == 0 ? 1 : 3, out + offset, &err));
                for (int64_t i = 0; i < READ; i++) {
                    assert_memory_equal(out + offset + (size_t)i * width * 8, values + ids[i] * 6, width * 8);
                }
                assert_int_equal(out[offset + READ * width * 8], 0);
            }
        }
    }
    free(values);
    free(ids);
    free(out);
}

/* A block of numbers at a time, or one after another: the same orders, at every length around that of a block. */
static void test_graph_order__of_32_and_64_bits__the_same(void **state)
{
    enum { MOST = 100000 };
    static const int32_t lengths[] = { 1, 2, 3, 623, 624, 625, 626, 1248, 1249, 1250, MOST };
    int32_t *narrow = calloc(MOST, sizeof *narrow);
    int64_t *wide = calloc(MOST, sizeof *wide);
    (void)state;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        for (uint64_t seed = 0; seed < 4; seed++) {
            graph_order_shuffled_32(seed * 1000003, lengths[k], narrow);
            graph_order_shuffled(seed * 1000003, lengths[k], wide);
            for (int32_t i = 0; i < lengths[k]; i++) {
                assert_int_equal(narrow[i], wide[i]);
            }
        }
    }
    free(narrow);
    free(wide);
}

/* Rows of one and of two numbers, of arrays with gaps. */
static void test_graph_rows__numbers__the_same(void **state)
{
    enum { ROWS = 700, READ = 9000 };
    int32_t values[ROWS * 5], out[READ * 4];
    int64_t *ids = calloc(READ, sizeof *ids);
    uint64_t seed = 10;
    (void)state;
    for (int i = 0; i < ROWS * 5; i++) {
        values[i] = (int32_t)test_random(&seed);
    }
    for (int64_t i = 0; i < READ; i++) {
        ids[i] = (int64_t)(test_random(&seed) % ROWS);
    }
    for (uint64_t width = 1; width <= 4; width++) {
        struct tensor t = { .type = ARRAY_I32, .rank = 2, .shape = { ROWS, width }, .strides = { 5, 1 }, .n_values = ROWS * width,
                            .data = (const unsigned char *)values };
        assert_ok(graph_rows_gather(ctx, &t, ids, READ, false, 1, out, &err));
        for (int64_t i = 0; i < READ; i++) {
            assert_memory_equal(out + (size_t)i * width, values + ids[i] * 5, width * 4);
        }
    }
    free(ids);
}

static void test_graph_loader__allocations_fail__no_leak(void **state)
{
    grebe_graph *g = open_set("hetero_mix");
    struct graph_csc *csc = (struct graph_csc *)(uintptr_t)graph_dataset_csc(g);
    const grebe_allocator *before = ctx->a;
    grebe_graph_sampling s = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_fetch fetch = { "node", "paper", "x", 100 };
    bool finished = false;
    (void)state;
    assert_true(csc->ctx == ctx);
    s.fanouts = two_three;
    s.n_layers = 2;
    o.sampling = &s;
    o.batch_size = 3;
    o.threads = 1;
    o.fetches = &fetch;
    o.n_fetches = 1;
    grebe_graph_loader *warm; /* arrays of the data set are opened, and stay */
    assert_ok(grebe_graph_loader_new(g, &o, &warm, &err));
    grebe_graph_loader_free(warm);
    for (size_t at = 1; !finished; at++) {
        struct test_allocator t;
        grebe_graph_loader *l = NULL;
        const grebe_graph_batch *b;
        test_allocator_init(&t);
        t.fail_at = at;
        ctx->a = &t.a;
        grebe_status st = grebe_graph_loader_new(g, &o, &l, &err);
        while (st == GREBE_OK) {
            st = grebe_graph_loader_next(l, &b, &err);
        }
        assert_true(st == GREBE_END || st == GREBE_ENOMEM);
        grebe_graph_loader_free(l);
        assert_int_equal(t.n_live, 0);
        ctx->a = before;
        finished = st == GREBE_END;
    }
    grebe_graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_loader__any_threads_and_ahead__the_same_batches),
        cmocka_unit_test(test_graph_sampler__dependency__of_layers_alone),
        cmocka_unit_test(test_graph_loader__broken_off__the_same_epoch_again),
        cmocka_unit_test(test_graph_batch_keep__loader_goes_on__untouched),
        cmocka_unit_test(test_graph_batch_keep__sampler_goes_on__untouched),
        cmocka_unit_test(test_graph_loader__nothing_sampled__items_and_seeds),
        cmocka_unit_test(test_graph_loader__last_batches__counts),
        cmocka_unit_test(test_graph_loader__features__rows_of_nodes_and_edges),
        cmocka_unit_test(test_graph_feature_read__sampled_edges_of_a_type__their_rows),
        cmocka_unit_test(test_graph_batch__pyg__edges_refer_to_rows),
        cmocka_unit_test(test_graph_loader__link_seeds_with_times__each_end_has_that_of_its_pair),
        cmocka_unit_test(test_graph_rows__ids_that_are_none__refused),
        cmocka_unit_test(test_graph_rows__many__every_way_the_same),
        cmocka_unit_test(test_graph_rows__larger_than_the_caches__the_same),
        cmocka_unit_test(test_graph_rows__numbers__the_same),
        cmocka_unit_test(test_graph_order__of_32_and_64_bits__the_same),
        cmocka_unit_test(test_graph_loader__allocations_fail__no_leak),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
