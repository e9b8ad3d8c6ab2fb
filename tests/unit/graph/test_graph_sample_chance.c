/* SPDX-License-Identifier: Apache-2.0 */
/* Draws against the probabilities of tests/data/graphbolt/facts.json: a right sampler stays below the bound of one in a million. */

#include <math.h>

#include "graph_case.h"

#include "graph/graph_random.h"

/* One node with d neighbours 1 … d, or several such nodes. */
struct star {
    int64_t *indptr, *indices;
    float *weights;
    struct graph_csc g;
    struct tensor weight_tensor;
    struct graph_weights w;
    struct graph_picks picks;
};

static void star_new(struct star *s, int64_t degree, const struct json_value *weights)
{
    *s = (struct star){ 0 };
    int64_t n_nodes = degree + 1;
    s->indptr = calloc((size_t)n_nodes + 1, sizeof *s->indptr);
    s->indices = calloc((size_t)degree, sizeof *s->indices);
    s->weights = calloc((size_t)degree, sizeof *s->weights);
    for (int64_t i = 1; i <= n_nodes; i++) {
        s->indptr[i] = degree;
    }
    for (int64_t i = 0; i < degree; i++) {
        s->indices[i] = i + 1;
        if (weights != NULL) {
            double w;
            assert_true(json_double(&weights->items[i], &w));
            s->weights[i] = (float)w;
        }
    }
    s->g = small_graph(s->indptr, n_nodes, s->indices);
    s->weight_tensor = (struct tensor){ .type = ARRAY_F32, .rank = 1, .shape = { (uint64_t)degree }, .strides = { 1 },
                                        .n_values = (uint64_t)degree, .data = (unsigned char *)s->weights, .is_packed = true };
    assert_ok(graph_weights_of(&s->g, &s->weight_tensor, true, &s->w, &err));
}

static void star_free(struct star *s)
{
    graph_weights_release(&s->w);
    graph_picks_release(ctx->a, &s->picks);
    free(s->indptr);
    free(s->indices);
    free(s->weights);
}

/* Rank of an increasing subset of 0 … n - 1 in lexicographic order. */
static int64_t subset_rank(const int64_t *v, int64_t k, int64_t n)
{
    int64_t rank = 0, next = 0;
    for (int64_t i = 0; i < k; i++) {
        for (; next < v[i]; next++) {
            int64_t ways = 1; /* of choosing k - i - 1 of the n - next - 1 behind */
            for (int64_t j = 0; j < k - i - 1; j++) {
                ways = ways * (n - next - 1 - j) / (j + 1);
            }
            rank += ways;
        }
        next++;
    }
    return rank;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static double number(const struct json_value *v, const char *key)
{
    double x = 0;
    assert_true(json_double(json_get(v, key), &x));
    return x;
}

/* No fewer than 10^5: what is expected does not depend on their number. */
static double draws_of(const struct json_value *fact)
{
    return fmax(number(fact, "draws"), 1e5);
}

/* Counts of one fact: of neighbours, or of whole subsets. */
static void draw(struct star *s, const struct json_value *fact, bool by_subset, int64_t *counts)
{
    const char *kind = json_get(fact, "kind")->text;
    int64_t fanout = (int64_t)number(fact, "fanout"), draws = (int64_t)draws_of(fact);
    int64_t degree = (int64_t)number(fact, "degree"), node = 0;
    struct graph_sampling how = { .fanouts = &fanout, .n_fanouts = 1, .with_replacement = strstr(kind, "with replacement") != NULL,
                                  .is_by_source = strstr(kind, "layer-dependent") != NULL,
                                  .weights = json_get(fact, "weights") == NULL ? NULL : &s->w };
    for (int64_t i = 0; i < draws; i++) {
        how.key = graph_draw(7, (uint64_t)i);
        assert_ok(graph_sample(&s->g, &node, NULL, 1, &how, 1, &s->picks, &err));
        assert_int_equal(s->picks.edges.n, fanout);
        if (!by_subset) {
            for (int64_t j = 0; j < fanout; j++) {
                counts[s->picks.edges.v[j]]++;
            }
            continue;
        }
        qsort(s->picks.edges.v, (size_t)fanout, sizeof(int64_t), by_value);
        counts[subset_rank(s->picks.edges.v, fanout, degree)]++;
    }
}

/* How often each neighbour is in a subset: within three standard deviations of what sampling one after another gives exactly. */
static void check_inclusion(const struct json_value *fact, const struct json_value *subsets, const int64_t *counts, double draws)
{
    const struct json_value *expected = json_get(fact, "inclusion_probability");
    int64_t found[16] = { 0 };
    assert_true(expected->n <= 16);
    for (size_t i = 0; i < subsets->n; i++) {
        struct graph_array v = ints(&subsets->items[i]);
        for (int64_t j = 0; j < v.n; j++) {
            found[v.v[j]] += counts[subset_rank(v.v, v.n, (int64_t)expected->n)];
        }
        free_ints(&v);
    }
    for (size_t i = 0; i < expected->n; i++) {
        double p = 0;
        assert_true(json_double(&expected->items[i], &p));
        assert_true(fabs((double)found[i] - draws * p) <= 3 * sqrt(draws * p * (1 - p)));
    }
}

static void check_fact(const struct json_value *fact)
{
    const char *kind = json_get(fact, "kind")->text;
    const struct json_value *weights = json_get(fact, "weights"), *expected = json_get(fact, "expected_probability");
    const struct json_value *subsets = json_get(fact, "subsets");
    int64_t degree = (int64_t)number(fact, "degree"), fanout = (int64_t)number(fact, "fanout");
    double draws = draws_of(fact), statistic = 0, freedom = number(fact, "degrees_of_freedom");
    bool by_subset = strstr(kind, "subset") != NULL, is_inclusion = strstr(kind, "inclusion") != NULL;
    int64_t n_cells = !by_subset ? degree : subsets != NULL ? (int64_t)subsets->n : (int64_t)freedom + 1;
    int64_t *counts = calloc(4096, sizeof *counts);
    struct star s;
    star_new(&s, degree, weights);
    draw(&s, fact, by_subset, counts);
    double n = is_inclusion || by_subset ? draws : draws * (double)fanout;
    for (int64_t i = 0; i < n_cells; i++) {
        double p = 0;
        assert_true(json_double(expected->type == JSON_ARRAY ? &expected->items[i] : expected, &p));
        int64_t cell = i;
        if (subsets != NULL) {
            struct graph_array v = ints(&subsets->items[i]);
            cell = subset_rank(v.v, v.n, degree);
            free_ints(&v);
        }
        if (p == 0.0) {
            assert_int_equal(counts[cell], 0);
            continue;
        }
        double off = (double)counts[cell] - n * p;
        statistic += off * off / (n * p * (is_inclusion ? 1.0 - p : 1.0));
    }
    if (subsets != NULL) {
        check_inclusion(fact, subsets, counts, draws);
    }
    if (is_inclusion) {
        statistic *= (double)(degree - 1) / (double)degree;
    }
    double bound = number(json_get(fact, "reject_above"), "p=1e-6");
    if (!(statistic <= bound)) {
        fail_msg("%s, %lld of %lld: statistic %g above %g", kind, (long long)fanout, (long long)degree, statistic, bound);
    }
    star_free(&s);
    free(counts);
}

static void test_graph_sample__facts__draws_have_the_stated_probabilities(void **state)
{
    (void)state;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *facts = read_json(&ar, TEST_DATA "/data/graphbolt/facts.json");
    size_t n = 0;
    for (size_t i = 0; i < facts->n; i++) {
        if (json_get(&facts->items[i], "fanout") != NULL && json_get(&facts->items[i], "draws") != NULL) {
            check_fact(&facts->items[i]);
            n++;
        }
    }
    assert_int_equal(n, 12);
    arena_release(&ar);
}

static void test_graph_sample__same_neighbours__layer_dependent_picks_are_the_same(void **state)
{
    (void)state;
    int64_t indptr[] = { 0, 30, 60, 90 }, indices[90], nodes[] = { 0, 1, 2 }, fanout = 5;
    for (int64_t i = 0; i < 90; i++) {
        indices[i] = i % 30;
    }
    struct graph_csc g = small_graph(indptr, 3, indices);
    struct graph_picks picks = { 0 };
    struct graph_sampling how = { .fanouts = &fanout, .n_fanouts = 1, .is_by_source = true, .key = 12 };
    assert_ok(graph_sample(&g, nodes, NULL, 3, &how, 1, &picks, &err));
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(picks.edges.v[i] + 30, picks.edges.v[5 + i]);
        assert_int_equal(picks.edges.v[i] + 60, picks.edges.v[10 + i]);
    }
    graph_picks_release(ctx->a, &picks);
}

/* Recorded numbers of golden.json: the first output of the generator, and which edges that gives. */
static void test_graph_sample__layer_dependent__recorded_edges(void **state)
{
    (void)state;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *golden = read_json(&ar, TEST_DATA "/data/graphbolt/golden.json");
    const struct json_value *outputs = json_get(golden, "pcg32_first_output"), *cases = json_get(golden, "labor");
    for (size_t i = 0; i < outputs->n; i++) {
        struct graph_array v = ints(&outputs->items[i]);
        assert_int_equal(graph_pcg32_first((uint64_t)v.v[0], (uint64_t)v.v[1]), (uint32_t)v.v[2]);
        free_ints(&v);
    }
    for (size_t i = 0; i < cases->n; i++) {
        const struct json_value *c = &cases->items[i], *weights = json_get(c, "weights");
        struct graph_array neighbours = ints(json_get(c, "neighbors"));
        struct star s;
        int64_t fanout, key, node = 0;
        assert_true(json_i64(json_get(c, "fanout"), &fanout) && json_i64(json_get(c, "random_seed"), &key));
        star_new(&s, neighbours.n, weights->type == JSON_ARRAY ? weights : NULL);
        memcpy(s.indices, neighbours.v, (size_t)neighbours.n * sizeof(int64_t));
        struct graph_sampling how = { .fanouts = &fanout, .n_fanouts = 1, .is_by_source = true, .key = (uint64_t)key,
                                      .weights = weights->type == JSON_ARRAY ? &s.w : NULL };
        assert_ok(graph_sample(&s.g, &node, NULL, 1, &how, 1, &s.picks, &err));
        qsort(s.picks.edges.v, (size_t)s.picks.edges.n, sizeof(int64_t), by_value);
        assert_ints("edges", s.picks.edges.v, s.picks.edges.n, json_get(c, "sorted_edge_ids"));
        star_free(&s);
        free_ints(&neighbours);
    }
    assert_int_equal(cases->n, 12);
    arena_release(&ar);
}

/* Weights that float32, or their sum float64, does not hold: shares as of any others. */
static void test_graph_sample__weights_of_any_size__taken_by_their_shares(void **state)
{
    enum { N = 4, DRAWS = 20000 };
    static const struct {
        double weights[N];
        int64_t k;
        double share[N]; /* of the draws in which it is taken */
    } cases[] = {
        { { 1e-300, 1e-300, 1e-300, 1e-300 }, 1, { 0.25, 0.25, 0.25, 0.25 } },
        { { 1e-40, 1e-40, 1e-40, 1e-40 }, 1, { 0.25, 0.25, 0.25, 0.25 } },
        { { 5e307, 5e307, 5e307, 5e307 }, 1, { 0.25, 0.25, 0.25, 0.25 } },
        { { 4.9e-324, 4.9e-324, 4.9e-324, 4.9e-324 }, 1, { 0.25, 0.25, 0.25, 0.25 } },
        { { 1e300, 3e300, 0.0, 4e300 }, 1, { 0.125, 0.375, 0.0, 0.5 } },
        { { 1e-290, 3e-290, 4e-290, 0.0 }, 1, { 0.125, 0.375, 0.5, 0.0 } },
        { { 1.0, 1e-100, 1e-100, 1e-100 }, 2, { 1.0, 1.0 / 3, 1.0 / 3, 1.0 / 3 } },
        { { 1e100, 1.0, 1.0, 1.0 }, 2, { 1.0, 1.0 / 3, 1.0 / 3, 1.0 / 3 } },
        { { 1e-3, 1e-3, 1e-3, 1e-3 }, 1, { 0.25, 0.25, 0.25, 0.25 } },
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int with_replacement = 0; with_replacement < (cases[c].k == 1 ? 2 : 1); with_replacement++) {
            const int64_t indptr[N + 1] = { 0, N, N, N, N }, indices[N] = { 0, 1, 2, 3 }, node = 0;
            struct graph_csc g = small_graph(indptr, N, indices);
            struct tensor t = { .type = ARRAY_F64, .rank = 1, .shape = { N }, .strides = { 1 }, .n_values = N,
                                .data = (const unsigned char *)cases[c].weights, .is_packed = true };
            struct graph_weights w;
            struct graph_picks picks = { 0 };
            int64_t counts[N] = { 0 };
            assert_ok(graph_weights_of(&g, &t, true, &w, &err));
            for (uint64_t i = 0; i < DRAWS; i++) {
                struct graph_sampling how = { .fanouts = &cases[c].k, .n_fanouts = 1, .weights = &w, .with_replacement = with_replacement == 1,
                                              .key = 1000 + i };
                assert_ok(graph_sample(&g, &node, NULL, 1, &how, 1, &picks, &err));
                assert_int_equal(picks.edges.n, cases[c].k);
                for (int64_t k = 0; k < picks.edges.n; k++) {
                    counts[picks.edges.v[k]]++;
                }
            }
            for (size_t i = 0; i < N; i++) {
                double p = cases[c].share[i], found = (double)counts[i] / DRAWS;
                if (fabs(found - p) > 5 * sqrt(p * (1 - p) / DRAWS)) {
                    fail_msg("case %zu%s: edge %zu in %.4f of the draws, expected %.4f", c, with_replacement ? " with replacement" : "", i,
                             found, p);
                }
            }
            graph_picks_release(ctx->a, &picks);
            graph_weights_release(&w);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_sample__facts__draws_have_the_stated_probabilities),
        cmocka_unit_test(test_graph_sample__same_neighbours__layer_dependent_picks_are_the_same),
        cmocka_unit_test(test_graph_sample__layer_dependent__recorded_edges),
        cmocka_unit_test(test_graph_sample__weights_of_any_size__taken_by_their_shares),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
