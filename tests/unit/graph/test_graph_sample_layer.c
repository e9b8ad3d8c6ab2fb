/* SPDX-License-Identifier: Apache-2.0 */
/* Layer-dependent sampling: recorded picks of typed graphs, two seeds that blend, sources that are taken several times. */

#include <float.h>
#include <math.h>

#include "graph_case.h"

/* One node with d neighbours, the other nodes, of which it alone has edges. */
struct star {
    int64_t *indptr, *indices;
    struct graph_csc g;
    struct graph_picks picks;
};

static void star_new(struct star *s, int64_t degree)
{
    *s = (struct star){ calloc((size_t)degree + 2, sizeof(int64_t)), calloc((size_t)degree, sizeof(int64_t)), { 0 }, { { 0 }, { 0 }, { 0 } } };
    s->indptr[degree + 1] = degree; /* the last node */
    for (int64_t i = 0; i < degree; i++) {
        s->indices[i] = i;
    }
    s->g = small_graph(s->indptr, degree + 1, s->indices);
}

static void star_free(struct star *s)
{
    graph_picks_release(ctx->a, &s->picks);
    free(s->indptr);
    free(s->indices);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Edges of the star's node, ascending. */
static void star_sample(struct star *s, const struct graph_sampling *how)
{
    int64_t node = s->g.n_nodes - 1;
    assert_ok(graph_sample(&s->g, &node, NULL, 1, how, 1, &s->picks, &err));
    qsort(s->picks.edges.v, (size_t)s->picks.edges.n, sizeof(int64_t), by_value);
}

static void assert_picks(const struct star *s, const int64_t *expected, int64_t n)
{
    assert_int_equal(s->picks.edges.n, n);
    assert_memory_equal(s->picks.edges.v, expected, (size_t)n * sizeof *expected);
}

/* ---- recorded ---- */

static void open_golden_graph(struct graph_csc *g, struct arena *ar, const struct json_value *c, struct graph_array lists[3])
{
    static const char *const node_types[] = { "a", "b" }, *const edge_types[] = { "b:x:a", "b:y:a" };
    static const int32_t ends[][2] = { { 1, 0 }, { 1, 0 } };
    lists[0] = ints(json_get(c, "indptr"));
    lists[1] = ints(json_get(c, "indices"));
    lists[2] = ints(json_get(c, "node_type_offset"));
    struct graph_array types = ints(json_get(c, "type_per_edge"));
    uint8_t *narrow = arena_alloc_zero(ar, (size_t)types.n);
    for (int64_t i = 0; i < types.n; i++) {
        narrow[i] = (uint8_t)types.v[i];
    }
    *g = small_graph(lists[0].v, lists[0].n - 1, lists[1].v);
    g->n_node_types = 2;
    g->n_edge_types = 2;
    g->node_types = node_types;
    g->edge_types = edge_types;
    g->edge_ends = ends;
    g->node_type_offset = lists[2].v;
    g->type_per_edge = (struct tensor){ .type = ARRAY_U8, .rank = 1, .shape = { (uint64_t)types.n }, .strides = { 1 },
                                        .n_values = (uint64_t)types.n, .data = narrow, .is_packed = true };
    free_ints(&types);
}

/* Pairs of source and edge by column, each column sorted by edge; edges[i] behind indices[i]. */
static void assert_columns(const struct graph_relation *r, const int64_t *sources, const struct json_value *csc,
                           const struct json_value *edge_ids)
{
    struct graph_array indices = ints(json_get(csc, "indices")), edges = ints(edge_ids);
    assert_ints("indptr", r->indptr.v, r->indptr.n, json_get(csc, "indptr"));
    assert_int_equal(edges.n, r->edges.n);
    for (int64_t c = 0; c + 1 < r->indptr.n; c++) {
        for (int64_t i = r->indptr.v[c]; i < r->indptr.v[c + 1]; i++) {
            int64_t n_found = 0;
            for (int64_t j = r->indptr.v[c]; j < r->indptr.v[c + 1]; j++) {
                n_found += edges.v[j] == r->edges.v[i] && indices.v[j] == sources[i];
            }
            if (n_found != 1) {
                fail_msg("column %lld: edge %lld from %lld is not what was recorded", (long long)c, (long long)r->edges.v[i],
                         (long long)sources[i]);
            }
        }
    }
    free_ints(&indices);
    free_ints(&edges);
}

static void test_graph_layer__typed_graph__recorded_picks(void **state)
{
    (void)state;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *golden = json_get(read_json(&ar, TEST_DATA "/data/graphbolt/golden.json"), "labor_hetero");
    const struct json_value *cases = json_get(golden, "cases");
    struct graph_array lists[3], seeds = ints(json_get(json_get(golden, "seeds"), "a"));
    struct graph_csc g;
    int64_t key;
    assert_true(json_i64(json_get(golden, "random_seed"), &key));
    open_golden_graph(&g, &ar, golden, lists);
    for (size_t i = 0; i < cases->n; i++) {
        const struct json_value *c = &cases->items[i];
        struct graph_array fanouts = ints(json_get(c, "fanouts"));
        struct graph_hops hops = { .n_layers = 1, .hop = { .fanouts = fanouts.v, .n_fanouts = (size_t)fanouts.n, .is_by_source = true,
                                                           .key = (uint64_t)key } };
        struct graph_batch *b;
        struct graph_scratch *s;
        assert_ok(graph_batch_new(&g, &b, &err));
        assert_ok(graph_scratch_new(&g, &s, &err));
        graph_batch_begin(b, s);
        assert_ok(graph_batch_add(b, s, 0, seeds.v, NULL, seeds.n, false, NULL, &err));
        assert_ok(graph_batch_sample(b, s, &hops, 1, &err));
        graph_batch_finish(b);
        for (size_t r = 0; r < 2; r++) {
            struct graph_array sources = source_ids(b, 0, r);
            assert_columns(&b->layers[0].relations[r], sources.v, json_get(json_get(c, "csc"), g.edge_types[r]),
                           json_get(json_get(c, "edge_ids"), g.edge_types[r]));
            free_ints(&sources);
        }
        graph_batch_free(b);
        graph_scratch_free(s);
        free_ints(&fanouts);
    }
    assert_int_equal(cases->n, 5);
    for (size_t i = 0; i < 3; i++) {
        free_ints(&lists[i]);
    }
    free_ints(&seeds);
    arena_release(&ar);
}

/* ---- two seeds ---- */

static void test_graph_blend__two_seeds__recorded_picks(void **state)
{
    static const struct { uint64_t keys[2]; float contribution; int64_t expected[5]; } table[] = {
        { { 42, 43 }, 0.25f, { 2, 3, 13, 15, 19 } }, { { 42, 43 }, 0.0f, { 3, 7, 13, 15, 19 } },
        { { 42, 42 }, 0.7f, { 0, 4, 8, 16, 18 } },   { { 0, 0 }, 0.0f, { 1, 7, 14, 17, 18 } },
        { { 1, 1 }, 0.5f, { 2, 7, 12, 15, 18 } },    { { 1234567890123, 1234567890123 }, 1.0f, { 2, 14, 15, 16, 19 } },
    };
    struct star s;
    int64_t fanout = 5;
    (void)state;
    star_new(&s, 20);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct graph_blend b = graph_blend_of(table[i].keys[0], table[i].keys[1], table[i].contribution);
        struct graph_sampling how = { .fanouts = &fanout, .n_fanouts = 1, .is_by_source = true, .blend = &b };
        star_sample(&s, &how);
        assert_picks(&s, table[i].expected, 5);
    }
    star_free(&s);
}

/* The numbers of two seeds are uniform for any contribution, and go from those of one to those of the other. */
static void test_graph_blend__numbers__uniform_and_steady(void **state)
{
    enum { N = 20000, CELLS = 20 };
    float before[N];
    (void)state;
    for (int step = 0; step <= 10; step++) {
        struct graph_blend b = graph_blend_of(7, 8, (float)step / 10);
        int64_t counts[CELLS] = { 0 };
        double moved = 0, statistic = 0;
        for (int i = 0; i < N; i++) {
            float x = graph_blend_number(&b, (uint64_t)i);
            assert_true(x >= 0.0f && x <= 1.0f);
            counts[x < 1.0f ? (int)(x * CELLS) : CELLS - 1]++;
            moved += step > 0 ? fabs((double)(x - before[i])) : 0;
            before[i] = x;
        }
        for (int i = 0; i < CELLS; i++) {
            statistic += ((double)counts[i] - N / CELLS) * ((double)counts[i] - N / CELLS) / (N / CELLS);
        }
        assert_true(statistic < 63.7);    /* chi-square, 19 degrees of freedom, once in a million */
        assert_true(moved < 0.06 * N);    /* by two independent numbers it would be a third */
        assert_true(step == 0 || moved > 0.02 * N);
    }
}

/* Batches in succession share most of their neighbours, and those far apart do not; all layers may have the same numbers. */
static void test_graph_batch__dependent_batches__picks_drift(void **state)
{
    int64_t fanouts[] = { 5, 5 }, seed = 200, reached[200] = { 0 }, n_reached = 0, n_shared = 0;
    bool was_there[201] = { false };
    struct star star;
    (void)state;
    star_new(&star, 200);
    for (int layer_dependency = 0; layer_dependency < 2; layer_dependency++) {
        struct graph_hops hops = { .n_layers = 2, .hop = { .fanouts = fanouts, .n_fanouts = 1, .is_by_source = true },
                                   .batch_dependency = 100, .layer_dependency = layer_dependency != 0 };
        struct graph_batch *b;
        struct graph_scratch *s;
        assert_ok(graph_batch_new(&star.g, &b, &err));
        assert_ok(graph_scratch_new(&star.g, &s, &err));
        for (uint64_t i = 0; i < 300; i++) {
            hops.hop.key = 1000 + i;
            graph_batch_begin(b, s);
            assert_ok(graph_batch_add(b, s, 0, &seed, NULL, 1, false, NULL, &err));
            assert_ok(graph_batch_sample(b, s, &hops, 1, &err));
            /* the seed is a column of both hops: 5 of the near one, and 5 of the far one, which are new unless layers depend */
            int64_t n_near = b->layers[1].n_rows[0], n_far = b->layers[0].n_rows[0], shared = 0;
            assert_int_equal(n_near, 6);
            assert_true(layer_dependency ? n_far == n_near : n_far >= n_near);
            n_shared += layer_dependency ? 0 : n_far - n_near; /* here: new nodes of the far hop */
            bool is_there[201] = { false };
            for (int64_t j = 1; j < n_near; j++) {
                int64_t node = b->nodes[0].v[j];
                is_there[node] = true;
                shared += was_there[node];
                n_reached += reached[node]++ == 0;
            }
            assert_true(i == 0 || shared >= 3);
            memcpy(was_there, is_there, sizeof was_there);
        }
        graph_batch_free(b);
        graph_scratch_free(s);
    }
    assert_true(n_shared > 300);
    assert_true(n_reached > 20 && n_reached < 100); /* 600 independent batches would reach all */
    star_free(&star);
}

/* ---- with replacement ---- */

static void test_graph_layer__with_replacement__smallest_of_all_numbers(void **state)
{
    enum { DEGREE = 40 };
    static const int64_t fanouts[] = { 1, 5, 16, 17, 60, 200 };
    float weights[DEGREE];
    struct star s;
    (void)state;
    star_new(&s, DEGREE);
    for (int i = 0; i < DEGREE; i++) {
        weights[i] = i % 4 == 0 ? 0.0f : (float)(i % 7 + 1);
    }
    struct tensor t = { .type = ARRAY_F32, .rank = 1, .shape = { DEGREE }, .strides = { 1 }, .n_values = DEGREE,
                        .data = (const unsigned char *)weights, .is_packed = true };
    struct graph_weights w;
    assert_ok(graph_weights_of(&s.g, &t, true, &w, &err));
    for (size_t k = 0; k < 24; k++) {
        int64_t fanout = fanouts[k % 6], n = 0, *expected = calloc(DEGREE * 200, sizeof *expected);
        uint64_t *keys = calloc(DEGREE * 200, sizeof *keys);
        bool weighted = k / 6 % 2 == 1;
        struct graph_blend b = graph_blend_of(k, k + k / 12, 0.5f);
        for (int64_t i = 0; i < DEGREE; i++) { /* every number of every source, and no race */
            float remaining = 1.0f;
            for (int64_t j = 0; j < fanout; j++) {
                float u = graph_blend_number(&b, (uint64_t)(i + j * (DEGREE + 1))), power = 1.0f / (float)(fanout - j);
                float step = remaining * (1.0f - (float)pow((double)(1.0f - u), (double)power));
                remaining -= step;
                if (!weighted || weights[i] > 0.0f) {
                    keys[n++] = graph_rank_key(weighted ? (1.0f - remaining) / weights[i] : 1.0f - remaining, i);
                }
            }
        }
        qsort(keys, (size_t)n, sizeof *keys, by_value);
        for (int64_t i = 0; i < fanout; i++) {
            expected[i] = (int64_t)(keys[i] & UINT32_MAX);
        }
        qsort(expected, (size_t)fanout, sizeof *expected, by_value);
        struct graph_sampling how = { .fanouts = &fanout, .n_fanouts = 1, .is_by_source = true, .with_replacement = true,
                                      .weights = weighted ? &w : NULL, .key = k, .blend = k / 12 == 1 ? &b : NULL };
        star_sample(&s, &how);
        assert_picks(&s, expected, fanout);
        free(expected);
        free(keys);
    }
    graph_weights_release(&w);
    star_free(&s);
}

/* Every neighbour as often as every other, some of them twice. */
static void test_graph_layer__with_replacement__all_neighbours_alike(void **state)
{
    enum { DEGREE = 7, DRAWS = 20000 };
    int64_t fanout = 4, counts[DEGREE] = { 0 }, n_twice = 0;
    double statistic = 0, mean = (double)DRAWS * 4 / DEGREE;
    struct star s;
    (void)state;
    star_new(&s, DEGREE);
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct graph_sampling how = { .fanouts = &fanout, .n_fanouts = 1, .is_by_source = true, .with_replacement = true,
                                      .key = graph_draw(3, i) };
        star_sample(&s, &how);
        assert_int_equal(s.picks.edges.n, 4);
        bool is_twice = false;
        for (int64_t j = 0; j < 4; j++) {
            counts[s.picks.edges.v[j]]++;
            is_twice |= j > 0 && s.picks.edges.v[j] == s.picks.edges.v[j - 1];
        }
        n_twice += is_twice;
    }
    for (int i = 0; i < DEGREE; i++) {
        statistic += ((double)counts[i] - mean) * ((double)counts[i] - mean) / mean;
    }
    assert_true(statistic < 38.3); /* chi-square, 6 degrees of freedom, once in a million; draws of one call are less than independent */
    /* 4 of 28 numbers are of 4 sources in 7 * 6 * 5 * 4 * 4^4 of 28 * 27 * 26 * 25 cases: all but 0.5624 */
    assert_true(fabs((double)n_twice / DRAWS - 0.5624) < 0.02);
    star_free(&s);
}

/* Weights so small that float32 holds no quotient are weights all the same, and no more edges are taken than there is room for. */
static void test_graph_layer__tiny_weights__can_be_picked(void **state)
{
    enum { DEGREE = 1000 };
    static const int64_t fanouts[] = { 3, 40 };
    float *weights = calloc(DEGREE, sizeof *weights);
    double *wide = calloc(DEGREE, sizeof *wide);
    struct star s;
    (void)state;
    star_new(&s, DEGREE);
    for (int i = 0; i < DEGREE; i++) {
        weights[i] = i < 900 ? FLT_TRUE_MIN : 0.0f;
        wide[i] = i < 900 ? 1e-300 : 0.0;
    }
    for (int kind = 0; kind < 2; kind++) {
        struct tensor t = { .type = kind == 0 ? ARRAY_F32 : ARRAY_F64, .rank = 1, .shape = { DEGREE }, .strides = { 1 }, .n_values = DEGREE,
                            .data = kind == 0 ? (const unsigned char *)weights : (const unsigned char *)wide, .is_packed = true };
        struct graph_blend b = graph_blend_of(1, 2, 0.5f);
        struct graph_weights w;
        assert_ok(graph_weights_of(&s.g, &t, true, &w, &err));
        for (size_t i = 0; i < 12; i++) {
            struct graph_sampling how = { .fanouts = &fanouts[i % 2], .n_fanouts = 1, .is_by_source = i / 2 % 3 != 0,
                                          .with_replacement = i >= 6, .weights = &w, .key = i, .blend = i / 2 % 3 == 2 ? &b : NULL };
            star_sample(&s, &how);
            assert_int_equal(s.picks.edges.n, fanouts[i % 2]);
            assert_true(s.picks.edges.v[0] >= 0 && s.picks.edges.v[s.picks.edges.n - 1] < 900);
        }
        graph_weights_release(&w);
    }
    free(weights);
    free(wide);
    star_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_layer__typed_graph__recorded_picks),
        cmocka_unit_test(test_graph_blend__two_seeds__recorded_picks),
        cmocka_unit_test(test_graph_blend__numbers__uniform_and_steady),
        cmocka_unit_test(test_graph_batch__dependent_batches__picks_drift),
        cmocka_unit_test(test_graph_layer__with_replacement__smallest_of_all_numbers),
        cmocka_unit_test(test_graph_layer__with_replacement__all_neighbours_alike),
        cmocka_unit_test(test_graph_layer__tiny_weights__can_be_picked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
