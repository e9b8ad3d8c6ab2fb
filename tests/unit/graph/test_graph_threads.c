/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of many blocks, on any number of threads: what is sampled, its rows and their order are the same. */
#include "graph/graph_stages.h"
#include "graph_case.h"

/* ---- stages ---- */

enum { PIECES = 500 };

struct pieces {
    int64_t made[PIECES], taken[PIECES], n_taken;
    size_t make_fails_at, take_fails_at; /* PIECES: never */
};

static grebe_status make_piece(void *arg, size_t i, grebe_error *e)
{
    struct pieces *p = arg;
    if (i == p->make_fails_at) {
        return GREBE_FAIL(e, GREBE_EIO, "piece %zu", i);
    }
    uint64_t seed = i;
    for (uint64_t k = 0, n = test_random(&seed) % 2000; k < n; k++) { /* pieces of unequal length */
        p->made[i] += (int64_t)(test_random(&seed) & 1);
    }
    p->made[i] = (int64_t)i + 1;
    return GREBE_OK;
}

static grebe_status take_piece(void *arg, size_t i, grebe_error *e)
{
    struct pieces *p = arg;
    if (i == p->take_fails_at) {
        return GREBE_FAIL(e, GREBE_ECORRUPT, "taken %zu", i);
    }
    p->taken[p->n_taken++] = p->made[i];
    return GREBE_OK;
}

static void assert_taken(const struct pieces *p, int64_t n)
{
    assert_int_equal(p->n_taken, n);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(p->taken[i], i + 1);
    }
}

static void test_graph_stages__any_threads__taken_in_order(void **state)
{
    static const uint32_t threads[] = { 1, 2, 8 };
    (void)state;
    for (size_t t = 0; t < 3; t++) {
        for (int round = 0; round < 20; round++) {
            struct pieces p = { .make_fails_at = PIECES, .take_fails_at = PIECES };
            assert_ok(graph_stages(ctx->a, ctx->pool, threads[t], PIECES, make_piece, take_piece, &p, &err));
            assert_taken(&p, PIECES);
        }
    }
    struct pieces none = { .make_fails_at = PIECES, .take_fails_at = PIECES };
    assert_ok(graph_stages(ctx->a, ctx->pool, 2, 0, make_piece, take_piece, &none, &err));
    assert_taken(&none, 0);
}

static void test_graph_stages__failures__the_lowest_and_nothing_behind_it(void **state)
{
    static const uint32_t threads[] = { 1, 2, 8 };
    (void)state;
    for (size_t t = 0; t < 3; t++) {
        for (int round = 0; round < 20; round++) {
            struct pieces p = { .make_fails_at = 200, .take_fails_at = PIECES };
            assert_fails(graph_stages(ctx->a, ctx->pool, threads[t], PIECES, make_piece, take_piece, &p, &err), GREBE_EIO, "piece 200");
            assert_taken(&p, 200);
            p = (struct pieces){ .make_fails_at = 300, .take_fails_at = 100 };
            assert_fails(graph_stages(ctx->a, ctx->pool, threads[t], PIECES, make_piece, take_piece, &p, &err), GREBE_ECORRUPT,
                         "taken 100");
            assert_taken(&p, 100);
        }
    }
}

/* ---- batches ---- */

enum { NODES = 30000, MOST_EDGES = 20 * NODES, SEEDS = 700 };

struct large {
    struct graph_csc g;
    int64_t indptr[NODES + 1], indices[MOST_EDGES], ids[MOST_EDGES];
    float weights[MOST_EDGES];
    struct graph_attribute attributes[2];
};

static struct tensor column(int type, const void *data, int64_t n)
{
    return (struct tensor){ .type = type, .rank = 1, .shape = { (uint64_t)n }, .strides = { 1 }, .n_values = (uint64_t)n, .data = data,
                            .is_packed = true };
}

/* Lists of 0 to 39 sources; a third of the weights are 0. */
static struct large *large_graph(void)
{
    struct large *l = calloc(1, sizeof *l);
    uint64_t seed = 12;
    int64_t n = 0;
    assert_non_null(l);
    for (int64_t v = 0; v < NODES; v++) {
        int64_t degree = (int64_t)(test_random(&seed) % 40);
        for (int64_t i = 0; i < degree && n < MOST_EDGES; i++, n++) {
            uint64_t x = test_random(&seed);
            l->indices[n] = (int64_t)(x % (x % 2 == 0 ? NODES : 500));
            l->ids[n] = (n * 7919 + 1) % 1000003;
            l->weights[n] = x % 3 == 1 ? 0.0f : 1.0f + (float)(x >> 40);
        }
        l->indptr[v + 1] = n;
    }
    l->attributes[0] = (struct graph_attribute){ "_ORIGINAL_EDGE_ID", column(ARRAY_I64, l->ids, n) };
    l->attributes[1] = (struct graph_attribute){ "weight", column(ARRAY_F32, l->weights, n) };
    l->g = (struct graph_csc){ .ctx = ctx, .n_nodes = NODES, .n_edges = n, .indptr = { l->indptr, true }, .indices = { l->indices, true },
                               .edge_attributes = l->attributes, .n_edge_attributes = 2 };
    return l;
}

static void assert_same(const struct graph_array *a, const struct graph_array *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->v, b->v, (size_t)a->n * sizeof *a->v);
}

static struct graph_batch *sample_large(const struct large *l, const struct graph_hops *hops, uint32_t threads)
{
    struct graph_batch *b;
    struct graph_scratch *s;
    int64_t seeds[SEEDS];
    for (int64_t i = 0; i < SEEDS; i++) {
        seeds[i] = i * 41 % NODES;
    }
    assert_ok(graph_batch_new(&l->g, &b, &err));
    assert_ok(graph_scratch_new(&l->g, &s, &err));
    graph_batch_begin(b, s);
    assert_ok(graph_batch_add(b, s, 0, seeds, NULL, SEEDS, false, NULL, &err));
    assert_ok(graph_batch_sample(b, s, hops, threads, &err));
    graph_batch_finish(b);
    graph_scratch_free(s);
    return b;
}

/* Every edge is one of the graph, and leads from its source to its column; rows are there once, in the order in which they were reached. */
static void assert_edges(const struct large *l, const struct graph_batch *b)
{
    int64_t *position = calloc(1000003, sizeof *position), *row = calloc(NODES, sizeof *row), n_rows = SEEDS;
    for (int64_t e = 0; e < l->g.n_edges; e++) {
        position[l->ids[e]] = e + 1;
    }
    for (int64_t i = 0; i < b->nodes[0].n; i++) {
        int64_t *at = &row[b->nodes[0].v[i]];
        assert_int_equal(*at, 0);
        *at = i + 1;
    }
    for (size_t k = b->n_layers; k-- > 0;) {
        const struct graph_relation *r = &b->layers[k].relations[0];
        for (int64_t c = 0; c + 1 < r->indptr.n; c++) {
            for (int64_t i = r->indptr.v[c]; i < r->indptr.v[c + 1]; i++) {
                int64_t e = position[r->edges.v[i]] - 1, node = b->nodes[0].v[c];
                assert_true(e >= l->indptr[node] && e < l->indptr[node + 1]);
                assert_int_equal(r->indices.v[i], row[l->indices[e]] - 1);
                assert_true(r->indices.v[i] <= n_rows); /* a new one is the next */
                n_rows += r->indices.v[i] == n_rows;
            }
        }
        assert_int_equal(b->layers[k].n_rows[0], n_rows);
    }
    free(position);
    free(row);
}

static void check_large(const struct large *l, const struct graph_hops *hops)
{
    static const uint32_t threads[] = { 2, 3, 8 };
    struct graph_batch *one = sample_large(l, hops, 1);
    assert_true(one->layers[0].relations[0].edges.n > 20000); /* many blocks */
    if (!hops->keeps_duplicates) {
        assert_edges(l, one);
    }
    for (size_t t = 0; t < 3; t++) {
        struct graph_batch *many = sample_large(l, hops, threads[t]);
        assert_same(&one->nodes[0], &many->nodes[0]);
        for (size_t i = 0; i < hops->n_layers; i++) {
            const struct graph_relation *a = &one->layers[i].relations[0], *b = &many->layers[i].relations[0];
            assert_same(&a->indptr, &b->indptr);
            assert_same(&a->indices, &b->indices);
            assert_same(&a->edges, &b->edges);
        }
        graph_batch_free(many);
    }
    graph_batch_free(one);
}

static void test_graph_batch__many_blocks__the_same_on_any_threads(void **state)
{
    static const int64_t fanouts[] = { 9, 9, 9 };
    struct large *l = large_graph();
    struct graph_weights weights;
    (void)state;
    assert_ok(graph_weights_of(&l->g, &l->attributes[1].values, true, &weights, &err));
    for (int is_by_source = 0; is_by_source < 2; is_by_source++) {
        for (int weighted = 0; weighted < 2; weighted++) {
            struct graph_hops hops = { .n_layers = 3, .hop = { .fanouts = fanouts, .n_fanouts = 1, .key = 5,
                                                              .is_by_source = is_by_source != 0,
                                                              .weights = weighted ? &weights : NULL } };
            check_large(l, &hops);
            hops.keeps_duplicates = true;
            check_large(l, &hops);
        }
    }
    graph_weights_release(&weights);
    free(l);
}

/* The broken node of the lowest block is the one that is named. */
static void test_graph_batch__broken_far_behind__named_on_any_threads(void **state)
{
    static const int64_t all = -1;
    struct large *l = large_graph();
    int64_t *seeds = calloc(NODES, sizeof *seeds), n = l->g.n_edges;
    struct graph_hops hops = { .n_layers = 1, .hop = { .fanouts = &all, .n_fanouts = 1 } };
    (void)state;
    for (int64_t i = 0; i < NODES; i++) {
        seeds[i] = i;
    }
    l->indices[n / 2] = NODES + 5;
    l->indices[n - 1] = -3;
    for (uint32_t threads = 1; threads < 9; threads += 3) {
        struct graph_batch *b;
        struct graph_scratch *s;
        assert_ok(graph_batch_new(&l->g, &b, &err));
        assert_ok(graph_scratch_new(&l->g, &s, &err));
        graph_batch_begin(b, s);
        assert_ok(graph_batch_add(b, s, 0, seeds, NULL, NODES, false, NULL, &err));
        assert_fails(graph_batch_sample(b, s, &hops, threads, &err), GREBE_ECORRUPT, "node 30005");
        int64_t was = l->indptr[20000];
        l->indptr[20000] = -1;
        assert_fails(graph_batch_sample(b, s, &hops, threads, &err), GREBE_ECORRUPT, "node 19999");
        l->indptr[20000] = was;
        graph_batch_free(b);
        graph_scratch_free(s);
    }
    free(seeds);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_stages__any_threads__taken_in_order),
        cmocka_unit_test(test_graph_stages__failures__the_lowest_and_nothing_behind_it),
        cmocka_unit_test(test_graph_batch__many_blocks__the_same_on_any_threads),
        cmocka_unit_test(test_graph_batch__broken_far_behind__named_on_any_threads),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
