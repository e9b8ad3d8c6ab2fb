/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling by time on random graphs: which neighbours may be taken, and how many are. */

#include "graph_case.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_sample__random_times__only_what_is_old_enough),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
