/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling by time on random graphs: which neighbours may be taken, and how many are. */

#include "graph_case.h"

#include <time.h>

enum { NODES = 60, EDGES = 2500, TYPES = 3, SEEDS = 40 };

/* Multigraph with times of nodes and edges from 0 to 19, and weights of which a third is 0; edges of a node in order of their types. */
struct dated {
    struct graph_csc g;
    int64_t indptr[NODES + 1], indices[EDGES], of_nodes[NODES], of_edges[EDGES], offsets[2];
    uint8_t types[EDGES];
    float weights[EDGES];
    int32_t ends[TYPES][2];
    const char *names[1], *relations[TYPES];
};

static int by_target_and_type(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void dated_new(struct dated *d, uint64_t *seed, bool is_typed)
{
    uint64_t keys[EDGES];
    memset(d, 0, sizeof *d);
    for (size_t i = 0; i < EDGES; i++) {
        uint64_t x = test_random(seed);
        uint64_t target = (x >> 8 & 1) != 0 ? x % NODES : 0; /* node 0 has half of them */
        keys[i] = target << 32 | (x >> 16) % TYPES << 16 | i;
        d->of_edges[i] = (int64_t)(test_random(seed) % 20);
        d->weights[i] = test_random(seed) % 3 == 0 ? 0.0f : (float)(1 + test_random(seed) % 5);
    }
    qsort(keys, EDGES, sizeof *keys, by_target_and_type);
    for (size_t i = 0; i < EDGES; i++) {
        d->indptr[(keys[i] >> 32) + 1]++;
        d->types[i] = (uint8_t)(keys[i] >> 16 & 0xff);
        d->indices[i] = (int64_t)(test_random(seed) % NODES);
    }
    for (size_t i = 0; i < NODES; i++) {
        d->indptr[i + 1] += d->indptr[i];
        d->of_nodes[i] = (int64_t)(test_random(seed) % 20);
    }
    d->g = small_graph(d->indptr, NODES, d->indices);
    if (is_typed) {
        d->offsets[1] = NODES;
        d->names[0] = "n";
        d->relations[0] = "n:a:n";
        d->relations[1] = "n:b:n";
        d->relations[2] = "n:c:n";
        d->g.n_node_types = 1;
        d->g.n_edge_types = TYPES;
        d->g.node_types = d->names;
        d->g.edge_types = d->relations;
        d->g.edge_ends = (const int32_t (*)[2])d->ends;
        d->g.node_type_offset = d->offsets;
        d->g.type_per_edge = tensor_1d(ARRAY_U8, d->types, EDGES);
    }
}

/* The rule, said once more: older than the seed, and within the window before it. */
static bool is_allowed(const struct dated *d, const struct graph_sampling *how, int64_t edge, int64_t seed_time)
{
    const struct graph_times *t = how->times;
    int64_t times[2] = { t->of_nodes != NULL ? t->of_nodes[d->indices[edge]] : seed_time - 1,
                         t->of_edges != NULL ? t->of_edges[edge] : seed_time - 1 };
    for (int i = 0; i < 2; i++) {
        if (times[i] >= seed_time || (t->has_window && times[i] <= seed_time - t->window)) {
            return false;
        }
    }
    return how->weights == NULL || d->weights[edge] > 0.0f;
}

static void check_node(const struct dated *d, const struct graph_sampling *how, int64_t node, int64_t time, const int64_t *edges, int64_t n)
{
    int64_t allowed[TYPES] = { 0 }, taken[TYPES] = { 0 };
    bool by_type = how->n_fanouts > 1, seen[EDGES] = { false };
    for (int64_t e = d->indptr[node]; e < d->indptr[node + 1]; e++) {
        allowed[by_type ? d->types[e] : 0] += is_allowed(d, how, e, time);
    }
    for (int64_t i = 0; i < n; i++) {
        assert_true(edges[i] >= d->indptr[node] && edges[i] < d->indptr[node + 1]);
        assert_true(is_allowed(d, how, edges[i], time));
        assert_true(!seen[edges[i]] || (how->with_replacement && how->fanouts[by_type ? d->types[edges[i]] : 0] != GRAPH_FANOUT_ALL));
        seen[edges[i]] = true;
        taken[by_type ? d->types[edges[i]] : 0]++;
    }
    for (size_t t = 0; t < how->n_fanouts; t++) {
        int64_t f = how->fanouts[t], a = allowed[t];
        int64_t expected = a == 0 ? 0 : f == GRAPH_FANOUT_ALL ? a : how->with_replacement ? f : f < a ? f : a;
        if (taken[t] != expected) {
            fail_msg("node %lld, type %zu: %lld taken, expected %lld of %lld", (long long)node, t, (long long)taken[t], (long long)expected,
                     (long long)a);
        }
    }
}

static void test_graph_sample__random_times__only_what_is_old_enough(void **state)
{
    static const int64_t fanouts[][TYPES] = { { 1, 2, 3 }, { 7, -1, 0 }, { -1, -1, -1 }, { 2000, 1, 40 } };
    struct dated *d = calloc(1, sizeof *d);
    uint64_t seed = test_seed();
    int64_t n_edges = 0;
    (void)state;
    for (uint64_t round = 0; round < 384; round++) {
        int64_t nodes[SEEDS], times[SEEDS];
        struct graph_picks picks = { 0 };
        struct graph_weights w;
        dated_new(d, &seed, round % 2 == 1);
        struct tensor values = tensor_1d(ARRAY_F32, d->weights, EDGES);
        assert_ok(graph_weights_of(&d->g, &values, true, &w, &err));
        struct graph_times t = { .of_nodes = round / 2 % 3 != 1 ? d->of_nodes : NULL, .of_edges = round / 2 % 3 != 0 ? d->of_edges : NULL,
                                 .has_window = round / 6 % 2 == 1, .window = 1 + (int64_t)(round % 7) };
        struct graph_sampling how = { .fanouts = fanouts[round / 12 % 4], .n_fanouts = round % 2 == 1 && round / 48 % 2 == 0 ? TYPES : 1,
                                      .with_replacement = round / 96 % 2 == 1, .is_by_source = round / 192 == 1, .times = &t,
                                      .weights = round / 24 % 2 == 1 ? &w : NULL, .key = round };
        for (int i = 0; i < SEEDS; i++) {
            nodes[i] = i == 0 ? 0 : (int64_t)(test_random(&seed) % NODES);
            times[i] = (int64_t)(test_random(&seed) % 24);
        }
        assert_ok(graph_sample(&d->g, nodes, times, SEEDS, &how, 1, &picks, &err));
        for (int i = 0; i < SEEDS; i++) {
            check_node(d, &how, nodes[i], times[i], picks.edges.v + picks.offsets.v[i], picks.offsets.v[i + 1] - picks.offsets.v[i]);
        }
        n_edges += picks.edges.n;
        graph_weights_release(&w);
        graph_picks_release(ctx->a, &picks);
    }
    assert_true(n_edges > 100000);
    free(d);
}

enum { STAR = 100000, STAR_AGE = 1000, ROUNDS = 15 };

/* Everybody is a neighbour of node 0; an edge is as old as the node at its other end, so that either times allow the same. */
struct star {
    struct graph_csc g;
    int64_t indptr[STAR + 1], indices[STAR], of_nodes[STAR], of_edges[STAR];
};

static struct star *star_new(void)
{
    struct star *s = calloc(1, sizeof *s);
    uint64_t seed = test_seed();
    for (size_t i = 0; i < STAR; i++) {
        s->of_nodes[i] = (int64_t)(test_random(&seed) % STAR_AGE);
        s->indptr[i + 1] = STAR;
    }
    for (size_t i = 0; i < STAR; i++) {
        s->indices[i] = (int64_t)(test_random(&seed) % STAR);
        s->of_edges[i] = s->of_nodes[s->indices[i]];
    }
    s->g = small_graph(s->indptr, STAR, s->indices);
    return s;
}

static double cpu_seconds(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Neighbours of node 0 before `time`; seconds of the processor. */
static double sample_star(const struct star *s, const struct graph_times *times, int64_t fanout, int64_t time, struct graph_picks *picks)
{
    const int64_t node = 0;
    struct graph_sampling how = { .fanouts = &fanout, .n_fanouts = 1, .times = times, .key = 7 };
    double begin = cpu_seconds();
    assert_ok(graph_sample(&s->g, &node, &time, 1, &how, 1, picks, &err));
    return cpu_seconds() - begin;
}

static void test_graph_sample__times_of_100000_edges__all_and_only_the_old(void **state)
{
    struct star *s = star_new();
    struct graph_times by_node = { .of_nodes = s->of_nodes }, by_edge = { .of_edges = s->of_edges };
    (void)state;
    for (int64_t time = 0; time <= STAR_AGE; time += STAR_AGE / 4) {
        struct graph_picks picks[2];
        int64_t n = 0;
        memset(picks, 0, sizeof picks);
        sample_star(s, &by_node, GRAPH_FANOUT_ALL, time, &picks[0]);
        sample_star(s, &by_edge, GRAPH_FANOUT_ALL, time, &picks[1]);
        for (int64_t e = 0; e < STAR; e++) {
            if (s->of_edges[e] < time) {
                assert_true(n < picks[0].edges.n && picks[0].edges.v[n] == e);
                n++;
            }
        }
        assert_int_equal(picks[0].edges.n, n);
        assert_int_equal(picks[1].edges.n, n);
        assert_true(n == 0 || memcmp(picks[0].edges.v, picks[1].edges.v, (size_t)n * sizeof *picks[0].edges.v) == 0);
        graph_picks_release(ctx->a, &picks[0]);
        graph_picks_release(ctx->a, &picks[1]);
    }
    free(s);
}

/* The least of many rounds, taken in turns, of the processor's time: what else runs on the machine does not count. */
static void test_graph_sample__times_of_100000_edges__twice_those_of_nodes_at_most(void **state)
{
    static const int64_t fanouts[] = { 10, GRAPH_FANOUT_ALL };
    struct star *s = star_new();
    struct graph_times by_node = { .of_nodes = s->of_nodes }, by_edge = { .of_edges = s->of_edges };
    struct graph_picks picks = { 0 };
    (void)state;
    for (size_t f = 0; f < 2; f++) {
        double node = 1e9, edge = 1e9;
        for (int i = 0; i < ROUNDS; i++) {
            double x = sample_star(s, &by_node, fanouts[f], STAR_AGE / 2, &picks), y = sample_star(s, &by_edge, fanouts[f], STAR_AGE / 2, &picks);
            node = x < node ? x : node;
            edge = y < edge ? y : edge;
        }
        if (edge > 2 * node) {
            fail_msg("fanout %lld: %.3f ms by times of edges, %.3f ms by times of nodes", (long long)fanouts[f], 1e3 * edge, 1e3 * node);
        }
    }
    graph_picks_release(ctx->a, &picks);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_sample__random_times__only_what_is_old_enough),
        cmocka_unit_test(test_graph_sample__times_of_100000_edges__all_and_only_the_old),
        cmocka_unit_test(test_graph_sample__times_of_100000_edges__twice_those_of_nodes_at_most),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
