/* SPDX-License-Identifier: Apache-2.0 */
/* How many neighbours are picked, which may be, rows of batches, and what is refused; small graphs by hand. */

#include <math.h>

#include "graph/graph_minibatch.h"
#include "graph/graph_random.h"
#include "graph_case.h"

/* GraphBolt's tests: two types of nodes, two of edges. */
static const int64_t h_indptr[] = { 0, 2, 4, 6, 7, 9 }, h_indices[] = { 2, 4, 2, 3, 0, 1, 1, 0, 1 }, h_offset[] = { 0, 2, 5 };
static const uint8_t h_types[] = { 1, 1, 1, 1, 0, 0, 0, 0, 0 };
static const int64_t h10_indptr[] = { 0, 2, 4, 6, 8, 10 }, h10_indices[] = { 2, 4, 2, 3, 0, 1, 1, 0, 0, 1 };
static const uint8_t h10_types[] = { 1, 1, 1, 1, 0, 0, 0, 0, 0, 0 };
static const char *const h_nodes[] = { "n1", "n2" }, *const h_edges[] = { "n1:e1:n2", "n2:e2:n1" };
static const int32_t h_ends[][2] = { { 0, 1 }, { 1, 0 } };

static struct graph_csc typed_graph(const int64_t *indptr, const int64_t *indices, const uint8_t *types)
{
    struct graph_csc g = small_graph(indptr, 5, indices);
    g.n_node_types = 2;
    g.n_edge_types = 2;
    g.node_types = h_nodes;
    g.edge_types = h_edges;
    g.edge_ends = h_ends;
    g.node_type_offset = h_offset;
    g.type_per_edge = tensor_1d(ARRAY_U8, types, indptr[5]);
    return g;
}

static void test_graph_sample__fanouts__as_many_as_the_table_says(void **state)
{
    static const struct { int64_t fanouts[2]; size_t n; bool replace; int64_t e1, e2; } table[] = {
        { { 0 }, 1, false, 0, 0 }, { { 1 }, 1, false, 1, 1 }, { { 2 }, 1, false, 2, 2 }, { { 4 }, 1, false, 2, 2 },
        { { -1 }, 1, false, 2, 2 }, { { 0, 0 }, 2, false, 0, 0 }, { { 1, 0 }, 2, false, 1, 0 }, { { 0, 1 }, 2, false, 0, 1 },
        { { 1, 1 }, 2, false, 1, 1 }, { { 2, 1 }, 2, false, 2, 1 }, { { -1, -1 }, 2, false, 2, 2 }, { { 4 }, 1, true, 4, 4 },
        { { 4, 4 }, 2, true, 4, 4 }, { { -1 }, 1, true, 2, 2 },
    };
    struct graph_csc g = typed_graph(h_indptr, h_indices, h_types);
    int64_t zero = 0;
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct graph_hops hops = { .n_layers = 1, .hop = { .fanouts = table[i].fanouts, .n_fanouts = table[i].n,
                                                           .with_replacement = table[i].replace } };
        struct run r = run_new(&g);
        assert_ok(graph_batch_add(r.b, r.s, 0, &zero, NULL, 1, false, NULL, &err));
        assert_ok(graph_batch_add(r.b, r.s, 1, &zero, NULL, 1, false, NULL, &err));
        assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
        assert_int_equal(r.b->layers[0].relations[0].edges.n, table[i].e1);
        assert_int_equal(r.b->layers[0].relations[1].edges.n, table[i].e2);
        run_free(&r);
    }
}

/* A node with six neighbours, of which a mask lets some through; each type of weights. */
static void test_graph_sample__weights__count_only_what_can_be_picked(void **state)
{
    static const int64_t indptr[] = { 0, 6, 6, 6, 6, 6, 6, 6 }, indices[] = { 1, 2, 3, 4, 5, 6 };
    static const uint8_t mask[] = { 1, 0, 0, 1, 0, 1 }, none[] = { 0, 0, 0, 0, 0, 0 };
    static const float f32[] = { 1, 0, 0, 1, 0, 1 };
    static const double f64[] = { 1, 0, 0, 1, 0, 1 };
    static const uint16_t f16[] = { 0x3c00, 0, 0, 0x3c00, 0, 0x3c00 }, bf16[] = { 0x3f80, 0, 0, 0x3f80, 0, 0x3f80 };
    static const struct { int type; const void *data; int64_t valid; } kinds[] = {
        { ARRAY_BOOL, mask, 3 }, { ARRAY_U8, none, 0 }, { ARRAY_F32, f32, 3 }, { ARRAY_F64, f64, 3 }, { ARRAY_F16, f16, 3 },
        { ARRAY_BF16, bf16, 3 } };
    static const int64_t fanouts[] = { 2, 3, 4, 7, -1, 0 };
    struct graph_csc g = small_graph(indptr, 7, indices);
    struct graph_picks picks = { 0 };
    int64_t node = 0;
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct tensor t = tensor_1d(kinds[k].type, kinds[k].data, 6);
        struct graph_weights w;
        assert_ok(graph_weights_of(&g, &t, true, &w, &err));
        for (size_t i = 0; i < 24; i++) {
            int64_t f = fanouts[i % 6], valid = kinds[k].valid;
            struct graph_sampling how = { .fanouts = &f, .n_fanouts = 1, .weights = &w, .with_replacement = i / 6 % 2 == 1,
                                          .is_by_source = i / 12 == 1, .key = i };
            int64_t expected = valid == 0 ? 0 : f == -1 ? valid : how.with_replacement ? f : f < valid ? f : valid;
            assert_ok(graph_sample(&g, &node, NULL, 1, &how, 1, &picks, &err));
            assert_int_equal(picks.edges.n, expected);
            for (int64_t j = 0; j < picks.edges.n; j++) {
                assert_true(mask[picks.edges.v[j]]);
            }
        }
        graph_weights_release(&w);
    }
    graph_picks_release(ctx->a, &picks);
}

static void test_graph_weights__no_numbers__first_edge_is_named(void **state)
{
    static const int64_t indptr[] = { 0, 3, 3 }, indices[] = { 1, 1, 1 };
    static const float bad[][3] = { { 1, NAN, -1 }, { 1, -0.5f, 1 }, { 0, INFINITY, 1 } };
    static const int32_t whole[] = { 1, 2, 3 };
    struct graph_csc g = small_graph(indptr, 2, indices);
    struct graph_weights w;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct tensor t = tensor_1d(ARRAY_F32, bad[i], 3);
        assert_fails(graph_weights_of(&g, &t, true, &w, &err), GREBE_EINVAL, "edge 1");
        assert_ok(graph_weights_of(&g, &t, false, &w, &err));
        graph_weights_release(&w);
    }
    static const double bad_double[][3] = { { 1, 1, NAN }, { 1, 1, -1e-300 }, { 1, 1, INFINITY } };
    static const uint16_t bad_half[][3] = { { 0x3c00, 0, 0x7e00 }, { 0x3c00, 0, 0x8001 }, { 0x3c00, 0, 0x7c00 } };
    static const uint16_t bad_brain[][3] = { { 0x3f80, 0, 0x7fc0 }, { 0x3f80, 0, 0xbf80 }, { 0x3f80, 0, 0x7f80 } };
    for (size_t i = 0; i < 9; i++) {
        const void *values = i < 3 ? (const void *)bad_double[i] : i < 6 ? (const void *)bad_half[i - 3] : (const void *)bad_brain[i - 6];
        struct tensor x = tensor_1d(i < 3 ? ARRAY_F64 : i < 6 ? ARRAY_F16 : ARRAY_BF16, values, 3);
        assert_fails(graph_weights_of(&g, &x, true, &w, &err), GREBE_EINVAL, "edge 2");
    }
    struct tensor t = tensor_1d(ARRAY_I32, whole, 3);
    assert_fails(graph_weights_of(&g, &t, true, &w, &err), GREBE_ESCHEMA, "int32");
    t = tensor_1d(ARRAY_F32, bad[0], 2);
    assert_fails(graph_weights_of(&g, &t, true, &w, &err), GREBE_ESCHEMA, "[3]");
}

static void test_graph_sample__all_with_replacement__each_once(void **state)
{
    int64_t indptr[] = { 0, 100, 100 }, indices[100], node = 0, f = GRAPH_FANOUT_ALL;
    struct graph_picks picks = { 0 };
    (void)state;
    for (int64_t i = 0; i < 100; i++) {
        indices[i] = 1;
    }
    struct graph_csc g = small_graph(indptr, 2, indices);
    struct graph_sampling how = { .fanouts = &f, .n_fanouts = 1, .with_replacement = true };
    assert_ok(graph_sample(&g, &node, NULL, 1, &how, 1, &picks, &err));
    assert_int_equal(picks.edges.n, 100);
    for (int64_t i = 0; i < 100; i++) {
        assert_int_equal(picks.edges.v[i], i);
    }
    graph_picks_release(ctx->a, &picks);
}

/* Long lists by every way of picking: distinct, in range, the same from many threads as from one. */
static void test_graph_sample__long_lists__distinct_and_the_same_by_any_thread(void **state)
{
    enum { NODES = 3000, DEGREE = 2000 };
    static const int64_t fanouts[] = { 1, 24, 25, 100, 1999, 2000, 5000 };
    int64_t *indptr = calloc(NODES + 1, sizeof *indptr), *indices = calloc(DEGREE, sizeof *indices);
    int64_t *nodes = calloc(NODES, sizeof *nodes);
    struct graph_picks one = { 0 }, many = { 0 };
    (void)state;
    for (int64_t i = 1; i <= NODES; i++) {
        indptr[i] = DEGREE; /* all edges lead to node 0 */
    }
    struct graph_csc g = small_graph(indptr, NODES, indices);
    for (size_t k = 0; k < 7; k++) {
        struct graph_sampling how = { .fanouts = &fanouts[k], .n_fanouts = 1, .key = 5 };
        assert_ok(graph_sample(&g, nodes, NULL, NODES, &how, 1, &one, &err));
        for (uint32_t threads = 2; threads <= 8; threads += 6) {
            assert_ok(graph_sample(&g, nodes, NULL, NODES, &how, threads, &many, &err));
            assert_int_equal(one.edges.n, many.edges.n);
            assert_memory_equal(one.edges.v, many.edges.v, (size_t)one.edges.n * sizeof(int64_t));
            assert_memory_equal(one.offsets.v, many.offsets.v, (NODES + 1) * sizeof(int64_t));
        }
        int64_t expected = fanouts[k] < DEGREE ? fanouts[k] : DEGREE;
        for (int64_t i = 0; i < 40; i++) {
            bool seen[DEGREE] = { false };
            assert_int_equal(one.offsets.v[i + 1] - one.offsets.v[i], expected);
            for (int64_t j = one.offsets.v[i]; j < one.offsets.v[i + 1]; j++) {
                assert_true(one.edges.v[j] >= 0 && one.edges.v[j] < DEGREE && !seen[one.edges.v[j]]);
                seen[one.edges.v[j]] = true;
            }
        }
    }
    graph_picks_release(ctx->a, &one);
    graph_picks_release(ctx->a, &many);
    free(indptr);
    free(indices);
    free(nodes);
}

static void test_graph_sample__times__strictly_older_and_within_the_window(void **state)
{
    enum { DEGREE = 5000 };
    int64_t indptr[] = { 0, DEGREE, DEGREE }, *indices = calloc(DEGREE, sizeof *indices), *times = calloc(DEGREE, sizeof *times);
    int64_t node = 0, seed_time = 1000, f = GRAPH_FANOUT_ALL, few = 7, node_times[] = { 0, 999 };
    struct graph_picks picks = { 0 };
    (void)state;
    for (int64_t i = 0; i < DEGREE; i++) {
        indices[i] = 1;
        times[i] = i;
    }
    struct graph_csc g = small_graph(indptr, 2, indices);
    struct graph_times t = { .of_edges = times };
    struct graph_sampling how = { .fanouts = &f, .n_fanouts = 1, .times = &t };
    assert_ok(graph_sample(&g, &node, &seed_time, 1, &how, 1, &picks, &err));
    assert_int_equal(picks.edges.n, 1000);
    t.has_window = true;
    t.window = 100;
    assert_ok(graph_sample(&g, &node, &seed_time, 1, &how, 1, &picks, &err));
    assert_int_equal(picks.edges.n, 99); /* 901 … 999 */
    assert_int_equal(picks.edges.v[0], 901);
    how.fanouts = &few;
    assert_ok(graph_sample(&g, &node, &seed_time, 1, &how, 1, &picks, &err));
    assert_int_equal(picks.edges.n, 7);
    for (int64_t i = 0; i < 7; i++) {
        assert_true(picks.edges.v[i] > 900 && picks.edges.v[i] < 1000);
    }
    t = (struct graph_times){ .of_nodes = node_times };
    assert_ok(graph_sample(&g, &node, &seed_time, 1, &how, 1, &picks, &err));
    assert_int_equal(picks.edges.n, 7);
    seed_time = 999;
    assert_ok(graph_sample(&g, &node, &seed_time, 1, &how, 1, &picks, &err));
    assert_int_equal(picks.edges.n, 0);
    seed_time = INT64_MIN;
    t.has_window = true;
    t.window = INT64_MAX;
    assert_ok(graph_sample(&g, &node, &seed_time, 1, &how, 1, &picks, &err));
    assert_int_equal(picks.edges.n, 0);
    assert_fails(graph_sample(&g, &node, NULL, 1, &how, 1, &picks, &err), GREBE_EINVAL, "time for each seed");
    graph_picks_release(ctx->a, &picks);
    free(indices);
    free(times);
}

static void test_graph_sample__what_is_none__refused(void **state)
{
    struct graph_csc g = typed_graph(h_indptr, h_indices, h_types), plain = small_graph(h_indptr, 5, h_indices);
    struct graph_picks picks = { 0 };
    int64_t bad[] = { 4, 5 }, negative = -1, local = 2, f[] = { -2, 1, 1 }, one = 1;
    (void)state;
    struct graph_sampling how = { .fanouts = &one, .n_fanouts = 1 };
    assert_fails(graph_sample(&plain, bad, NULL, 2, &how, 1, &picks, &err), GREBE_EINVAL, "node 5");
    assert_fails(graph_sample(&plain, &negative, NULL, 1, &how, 1, &picks, &err), GREBE_EINVAL, "node -1");
    how.fanouts = f;
    assert_fails(graph_sample(&plain, bad, NULL, 1, &how, 1, &picks, &err), GREBE_EINVAL, "-2");
    how.n_fanouts = 3;
    assert_fails(graph_sample(&g, bad, NULL, 1, &how, 1, &picks, &err), GREBE_EINVAL, "3 fanouts");
    struct run r = run_new(&g);
    assert_fails(graph_batch_add(r.b, r.s, 0, &local, NULL, 1, false, NULL, &err), GREBE_EINVAL, "type \"n1\"");
    run_free(&r);
    /* a graph that contradicts itself */
    int64_t down[] = { 0, 2, 1, 6, 7, 9 }, far_off[] = { 2, 4, 2, 3, 0, 1, 1, 0, 7 }, nodes[] = { 0, 1, 4 };
    struct graph_csc broken = small_graph(down, 5, h_indices);
    how = (struct graph_sampling){ .fanouts = &one, .n_fanouts = 1 };
    assert_fails(graph_sample(&broken, nodes, NULL, 3, &how, 1, &picks, &err), GREBE_ECORRUPT, "node 1");
    broken = small_graph(h_indptr, 5, far_off);
    int64_t all = -1;
    struct graph_hops hops = { .n_layers = 1, .hop = { .fanouts = &all, .n_fanouts = 1 } };
    r = run_new(&broken);
    assert_ok(graph_batch_add(r.b, r.s, 0, nodes, NULL, 3, false, NULL, &err));
    assert_fails(graph_batch_sample(r.b, r.s, &hops, 1, &err), GREBE_ECORRUPT, "node 7");
    run_free(&r);
    graph_picks_release(ctx->a, &picks);
}

/* The recorded lists of unique_and_compact, by an array and by a hash table. */
static void test_graph_map__recorded_lists__rows_by_first_appearance(void **state)
{
    static const int64_t ids[] = { 0, 5, 2, 7, 12, 7, 9, 5, 6, 2, 3, 4, 1, 0, 9 };
    (void)state;
    for (int64_t dense = 0; dense <= 100; dense += 100) {
        struct graph_map *map;
        struct graph_array rows = { 0 };
        int64_t position[15];
        assert_ok(graph_map_new(ctx->a, 20, dense, &map, &err));
        for (int round = 0; round < 3; round++) {
            graph_map_begin(map);
            rows.n = 0;
            assert_ok(graph_map_rows(map, ids, 15, &rows, position, &err));
            LIST("rows", rows.v, rows.n, 0, 5, 2, 7, 12, 9, 6, 3, 4, 1);
            LIST("position", position, 15, 0, 1, 2, 3, 4, 3, 5, 1, 6, 2, 7, 8, 9, 0, 5);
        }
        /* destinations stay as given, twice too */
        static const int64_t targets[] = { 3, 3, 2 }, sources[] = { 2, 9, 3 };
        graph_map_begin(map);
        rows.n = 3;
        memcpy(rows.v, targets, sizeof targets);
        assert_ok(graph_map_keep(map, &rows, &err));
        assert_ok(graph_map_rows(map, sources, 3, &rows, position, &err));
        LIST("rows", rows.v, rows.n, 3, 3, 2, 9);
        LIST("position", position, 3, 2, 3, 0);
        graph_array_release(ctx->a, &rows);
        graph_map_free(map);
    }
}

static void test_graph_map__many_nodes__hash_equals_array(void **state)
{
    enum { N = 20000 };
    struct graph_map *maps[2];
    struct graph_array rows[2] = { { 0 }, { 0 } };
    int64_t *nodes = calloc(N, sizeof *nodes), *a = calloc(N, sizeof *a), *b = calloc(N, sizeof *b);
    uint64_t seed = 3;
    (void)state;
    assert_ok(graph_map_new(ctx->a, 9000, 9000, &maps[0], &err));
    assert_ok(graph_map_new(ctx->a, 9000, 0, &maps[1], &err));
    for (int round = 0; round < 3; round++) {
        for (int64_t i = 0; i < N; i++) {
            nodes[i] = (int64_t)(test_random(&seed) % 9000);
        }
        for (int i = 0; i < 2; i++) {
            graph_map_begin(maps[i]);
            rows[i].n = 0;
            assert_ok(graph_map_rows(maps[i], nodes, N, &rows[i], i == 0 ? a : b, &err));
        }
        assert_int_equal(rows[0].n, rows[1].n);
        assert_memory_equal(a, b, N * sizeof *a);
        assert_memory_equal(rows[0].v, rows[1].v, (size_t)rows[0].n * sizeof *a);
    }
    for (int i = 0; i < 2; i++) {
        graph_array_release(ctx->a, &rows[i]);
        graph_map_free(maps[i]);
    }
    free(nodes);
    free(a);
    free(b);
}

/* Graph H10 of GraphBolt's tests: layers with and without merging, types that are only a destination. */
static void test_graph_layers__typed_graph__as_recorded(void **state)
{
    struct graph_csc g = typed_graph(h10_indptr, h10_indices, h10_types);
    int64_t seeds[] = { 0, 1 }, all[] = { -1, -1 };
    struct graph_hops hops = { .n_layers = 2, .hop = { .fanouts = all, .n_fanouts = 1 } };
    (void)state;
    struct run r = run_new(&g);
    assert_ok(graph_batch_add(r.b, r.s, 1, seeds, NULL, 2, false, NULL, &err));
    assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
    RELATION(r.b, 0, 0, V(0, 2, 4), V(0, 1, 1, 0));
    RELATION(r.b, 0, 1, V(0, 2, 4), V(0, 2, 0, 1));
    RELATION(r.b, 1, 0, V(0, 2, 4), V(0, 1, 1, 0));
    assert_int_equal(r.b->layers[1].relations[1].edges.n, 0);
    LIST("indptr", r.b->layers[1].relations[1].indptr.v, r.b->layers[1].relations[1].indptr.n, 0);
    assert_int_equal(r.b->layers[1].n_rows[1], 2); /* destinations alone, and there all the same */
    graph_batch_finish(r.b);
    LIST("n1", r.b->nodes[0].v, r.b->nodes[0].n, 0, 1);
    LIST("n2", r.b->nodes[1].v, r.b->nodes[1].n, 0, 1, 2);
    hops.keeps_duplicates = true;
    graph_batch_begin(r.b, r.s);
    assert_ok(graph_batch_add(r.b, r.s, 1, seeds, NULL, 2, false, NULL, &err));
    assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
    RELATION(r.b, 0, 0, V(0, 2, 4), V(4, 5, 6, 7));
    RELATION(r.b, 0, 1, V(0, 2, 4, 6, 8), V(2, 3, 4, 5, 6, 7, 8, 9));
    graph_batch_finish(r.b);
    LIST("n1", r.b->nodes[0].v, r.b->nodes[0].n, 0, 1, 1, 0, 0, 1, 1, 0);
    LIST("n2", r.b->nodes[1].v, r.b->nodes[1].n, 0, 1, 0, 2, 0, 1, 0, 1, 0, 2);
    run_free(&r);
}

/* Times of a node that was reached are those of the seed that reached it. */
static void test_graph_layers__times__go_on_with_the_seed(void **state)
{
    static const int64_t indptr[] = { 0, 0, 1, 2, 4 }, indices[] = { 0, 1, 2, 2 }, edge_times[] = { 5, 5, 5, 50 };
    struct graph_csc g = small_graph(indptr, 4, indices);
    int64_t seeds[] = { 3, 3 }, at[] = { 10, 100 }, all[] = { -1, -1, -1 };
    struct graph_times t = { .of_edges = edge_times };
    struct graph_hops hops = { .n_layers = 3, .hop = { .fanouts = all, .n_fanouts = 1, .times = &t }, .keeps_duplicates = true };
    (void)state;
    struct run r = run_new(&g);
    assert_ok(graph_batch_add(r.b, r.s, 0, seeds, at, 2, false, NULL, &err));
    assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
    LIST("nodes", r.b->nodes[0].v, r.b->layers[2].n_rows[0], 3, 3, 2, 2, 2);
    LIST("times", r.b->times[0].v, r.b->layers[2].n_rows[0], 10, 100, 10, 100, 100);
    hops.keeps_duplicates = false;
    assert_fails(graph_batch_sample(r.b, r.s, &hops, 1, &err), GREBE_EINVAL, "duplicates");
    run_free(&r);
}

/* Graph L with links [[0,3],[4,4]]: seed edges are left out of every layer, rows stay. */
static void test_graph_exclude__recorded_links__edges_are_gone(void **state)
{
    static const int64_t indptr[] = { 0, 1, 2, 4, 5, 7, 7, 7, 7 }, indices[] = { 5, 0, 6, 7, 2, 2, 4 };
    struct graph_csc g = small_graph(indptr, 8, indices);
    int64_t nodes[] = { 0, 3, 4, 4 }, rows[4], sources[] = { 0, 4 }, targets[] = { 3, 4 }, all[] = { -1, -1 };
    struct graph_hops hops = { .n_layers = 2, .hop = { .fanouts = all, .n_fanouts = 1 } };
    (void)state;
    struct run r = run_new(&g);
    assert_ok(graph_batch_add(r.b, r.s, 0, nodes, NULL, 4, true, rows, &err));
    LIST("compacted", rows, 4, 0, 1, 2, 2);
    assert_ok(graph_batch_sample(r.b, r.s, &hops, 1, &err));
    RELATION(r.b, 0, 0, V(0, 1, 2, 4, 4, 6), V(3, 4, 4, 2, 5, 6));
    LIST("rows", r.b->nodes[0].v, r.b->nodes[0].n, 0, 3, 4, 5, 2, 6, 7);
    struct graph_pairs pairs = { 0, sources, targets, 2 };
    assert_ok(graph_batch_exclude(r.b, &pairs, 1, &err));
    RELATION(r.b, 0, 0, V(0, 1, 2, 3, 3, 5), V(3, 4, 4, 5, 6));
    LIST("edges", r.b->layers[0].relations[0].edges.v, 5, 0, 4, 5, 2, 3);
    RELATION(r.b, 1, 0, V(0, 1, 2, 3), V(3, 4, 4));
    LIST("edges", r.b->layers[1].relations[0].edges.v, 3, 0, 4, 5);
    assert_int_equal(r.b->nodes[0].n, 7);
    run_free(&r);
}

/* Seeds of five nodes of two types: rows by type, column by column; with times nothing is merged. */
static void test_graph_minibatch__hyperlinks__compacted_as_recorded(void **state)
{
    static const int32_t links[] = { 2, 0, 1, 1, 2, 0, 1, 1, 0, 0 };
    static const int64_t times[] = { 7, 8 };
    static const char *const names[] = { "seeds", "timestamp" };
    struct graph_csc g = typed_graph(h10_indptr, h10_indices, h10_types);
    struct tensor columns[] = { { .type = ARRAY_I32, .rank = 2, .shape = { 2, 5 }, .strides = { 5, 1 }, .n_values = 10,
                                  .data = (const unsigned char *)links, .is_packed = true },
                                tensor_1d(ARRAY_I64, times, 2) };
    struct graph_item_part part = { "n2:n1:n2:n1:n2", 2, columns };
    struct graph_items items = { names, 1, &part, 1 };
    int64_t all = -1;
    struct graph_recipe recipe = { .g = &g, .items = &items, .hops = { .n_layers = 1, .hop = { .fanouts = &all, .n_fanouts = 1 } } };
    struct graph_share share = { .batch_size = 2 };
    (void)state;
    for (int with_times = 0; with_times < 2; with_times++) {
        struct graph_minibatch *m;
        struct graph_epoch e;
        items.n_columns = with_times ? 2 : 1;
        assert_ok(graph_minibatch_new(&recipe, &m, &err));
        assert_ok(graph_epoch_begin(ctx, &items, share, false, 0, &e, &err));
        assert_ok(graph_minibatch_make(m, &e, 0, 0, 1, &err));
        if (with_times) {
            LIST("compacted", m->compacted[0].v, 10, 0, 0, 2, 2, 4, 1, 1, 3, 3, 5);
            LIST("times", m->graph->times[1].v, 6, 7, 8, 7, 8, 7, 8);
        } else {
            LIST("compacted", m->compacted[0].v, 10, 0, 0, 2, 1, 0, 1, 1, 2, 0, 1);
        }
        graph_epoch_end(&e);
        graph_minibatch_free(m);
    }
    /* a set without seeds: items alone, nothing to sample */
    static const char *const other_names[] = { "labels", NULL };
    struct graph_minibatch *m;
    struct graph_epoch e;
    items.names = other_names;
    assert_ok(graph_epoch_begin(ctx, &items, share, false, 0, &e, &err));
    assert_ok(graph_minibatch_new(&recipe, &m, &err));
    assert_fails(graph_minibatch_make(m, &e, 0, 0, 1, &err), GREBE_ESCHEMA, "seeds");
    graph_minibatch_free(m);
    recipe.hops.n_layers = 0;
    assert_ok(graph_minibatch_new(&recipe, &m, &err));
    assert_ok(graph_minibatch_make(m, &e, 0, 0, 1, &err));
    assert_null(m->scratch); /* nothing to sample */
    assert_int_equal(m->items.rows[0].n, 2);
    graph_minibatch_free(m);
    graph_epoch_end(&e);
    size_t types[GRAPH_ARITY_MAX];
    assert_ok(graph_seed_types(&g, "n1:e1:n2", 2, types, &err));
    assert_true(types[0] == 0 && types[1] == 1);
    assert_fails(graph_seed_types(&g, "n1:n2", 3, types, &err), GREBE_EINVAL, "2 parts");
    assert_fails(graph_seed_types(&g, "n1:n3", 2, types, &err), GREBE_EINVAL, "\"n3\"");
}

static void test_graph_layers__allocations_fail__no_leak(void **state)
{
    struct graph_csc g = typed_graph(h10_indptr, h10_indices, h10_types);
    int64_t seeds[] = { 0, 1, 2 }, fanouts[] = { 1, 1, 1, 1 };
    const grebe_allocator *before = ctx->a;
    (void)state;
    for (size_t at = 1;; at++) {
        struct test_allocator t;
        struct graph_batch *b = NULL;
        struct graph_scratch *s = NULL;
        struct graph_hops hops = { .n_layers = 2, .hop = { .fanouts = fanouts, .n_fanouts = 2 }, .keeps_duplicates = at % 2 == 0 };
        test_allocator_init(&t);
        t.fail_at = at;
        ctx->a = &t.a;
        grebe_status st = graph_batch_new(&g, &b, &err);
        st = st == GREBE_OK ? graph_scratch_new(&g, &s, &err) : st;
        if (st == GREBE_OK) {
            graph_batch_begin(b, s);
            st = graph_batch_add(b, s, 1, seeds, NULL, 3, at % 3 == 0, NULL, &err);
            st = st == GREBE_OK ? graph_batch_sample(b, s, &hops, 1, &err) : st;
            if (st == GREBE_OK) {
                graph_batch_finish(b);
            }
        }
        graph_batch_free(b);
        graph_scratch_free(s);
        assert_int_equal(t.n_live, 0);
        ctx->a = before;
        if (st == GREBE_OK && at > 60) {
            break;
        }
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
    }
}

static void test_graph_exponential__whole_range__as_the_logarithm(void **state)
{
    uint64_t seed = 9;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        double u = graph_unit(test_random(&seed) >> i % 40), expected = -log(u), found = graph_exponential(u);
        assert_true(fabs(found - expected) <= 1e-9 * expected);
    }
    assert_true(graph_exponential(1.0) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_sample__fanouts__as_many_as_the_table_says),
        cmocka_unit_test(test_graph_sample__weights__count_only_what_can_be_picked),
        cmocka_unit_test(test_graph_weights__no_numbers__first_edge_is_named),
        cmocka_unit_test(test_graph_sample__all_with_replacement__each_once),
        cmocka_unit_test(test_graph_sample__long_lists__distinct_and_the_same_by_any_thread),
        cmocka_unit_test(test_graph_sample__times__strictly_older_and_within_the_window),
        cmocka_unit_test(test_graph_sample__what_is_none__refused),
        cmocka_unit_test(test_graph_map__recorded_lists__rows_by_first_appearance),
        cmocka_unit_test(test_graph_map__many_nodes__hash_equals_array),
        cmocka_unit_test(test_graph_layers__typed_graph__as_recorded),
        cmocka_unit_test(test_graph_layers__times__go_on_with_the_seed),
        cmocka_unit_test(test_graph_exclude__recorded_links__edges_are_gone),
        cmocka_unit_test(test_graph_minibatch__hyperlinks__compacted_as_recorded),
        cmocka_unit_test(test_graph_layers__allocations_fail__no_leak),
        cmocka_unit_test(test_graph_exponential__whole_range__as_the_logarithm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
