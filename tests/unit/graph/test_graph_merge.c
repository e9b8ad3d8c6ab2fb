/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the sources of a hop, given by many threads: those that one thread gives. */
#include "graph/graph_merge.h"

#include "graph_case.h"

static const uint32_t all_threads[] = { 1, 2, 3, 8 };

/* ---- rows alone ---- */

enum { NODES = 200000, MOST = 150000, KEPT = 3000 };

struct lists {
    struct graph_map *map;
    struct graph_array rows;
    int64_t *nodes; /* shape [MOST] */
};

static struct lists lists_new(void)
{
    struct lists l = { .nodes = calloc(MOST, sizeof *l.nodes) };
    assert_non_null(l.nodes);
    assert_ok(graph_map_new(ctx->a, NODES, NODES, &l.map, &err));
    return l;
}

static void lists_free(struct lists *l)
{
    graph_map_free(l->map);
    graph_array_release(ctx->a, &l->rows);
    free(l->nodes);
}

static grebe_status merge(struct graph_merge *m, const grebe_allocator *a, struct lists *l, int64_t n, bool is_last, uint32_t threads)
{
    grebe_status st = graph_merge_begin(m, a, n, &err);
    for (int64_t at = 0; at < n && st == GREBE_OK; at += GRAPH_MERGE_BLOCK) {
        graph_merge_deal(m, (size_t)(at / GRAPH_MERGE_BLOCK), l->nodes + at, min_i64(GRAPH_MERGE_BLOCK, n - at));
    }
    return st == GREBE_OK ? graph_merge_rows(m, a, l->map, l->nodes, n, is_last, threads, ctx->pool, &l->rows, &err) : st;
}

/* Of `kinds` nodes, half of them from a few; strides of lines, too, and one node alone. */
static void draw_nodes(uint64_t *seed, int64_t kinds, int64_t stride, int64_t *nodes, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = test_random(seed);
        nodes[i] = (int64_t)(x >> 8) % (x % 2 == 0 ? kinds : kinds / 50 + 1) * stride % NODES;
    }
}

static void assert_same_lists(const struct lists *a, const struct lists *b, int64_t n)
{
    assert_int_equal(a->rows.n, b->rows.n);
    assert_memory_equal(a->rows.v, b->rows.v, (size_t)a->rows.n * sizeof(int64_t));
    if (n > 0) {
        assert_memory_equal(a->nodes, b->nodes, (size_t)n * sizeof(int64_t));
    }
}

/* Seeds, of which some are there twice, then hops; every other batch ends with a hop that the map need not remember. */
static void check_batches(uint32_t threads, uint64_t seed)
{
    static const int64_t sizes[] = { MOST, GRAPH_MERGE_BLOCK, 1, 0, 5 * GRAPH_MERGE_BLOCK + 1, 65537 },
                         kinds[] = { NODES, 100, 1, 9000, 40000, NODES }, strides[] = { 1, 1, 77, 16, 1, 512 };
    struct lists one = lists_new(), many = lists_new();
    struct graph_merge m = { 0 };
    for (size_t batch = 0; batch < 6; batch++) {
        struct lists *both[] = { &one, &many };
        int64_t kept[KEPT];
        draw_nodes(&seed, kinds[batch], strides[batch], kept, KEPT);
        for (size_t i = 0; i < 2; i++) {
            graph_map_begin(both[i]->map);
            assert_ok(graph_array_room(ctx->a, &both[i]->rows, KEPT, &err));
            memcpy(both[i]->rows.v, kept, sizeof kept);
            both[i]->rows.n = KEPT;
            assert_ok(graph_map_keep(both[i]->map, &both[i]->rows, &err));
        }
        for (size_t hop = 0; hop < 3; hop++) {
            int64_t n = sizes[(batch + hop) % 6];
            draw_nodes(&seed, kinds[batch], strides[batch], one.nodes, n);
            memcpy(many.nodes, one.nodes, (size_t)n * sizeof *one.nodes);
            assert_ok(graph_map_rows(one.map, one.nodes, n, &one.rows, one.nodes, &err));
            if (hop == 1) { /* what was merged is known to who goes on alone */
                assert_ok(graph_map_rows(many.map, many.nodes, n, &many.rows, many.nodes, &err));
            } else {
                assert_ok(merge(&m, ctx->a, &many, n, hop == 2 && batch % 2 == 0, threads));
            }
            assert_same_lists(&one, &many, n);
        }
    }
    graph_merge_release(ctx->a, &m);
    lists_free(&one);
    lists_free(&many);
}

static void test_graph_merge__random_nodes__rows_of_one_thread(void **state)
{
    uint64_t seed = test_seed();
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        check_batches(all_threads[t], seed + t);
    }
}

static void test_graph_merge__allocations_fail__next_batch_is_right(void **state)
{
    (void)state;
    for (size_t at = 1, n_failed = 0;; at++) {
        struct lists one = lists_new(), many = lists_new();
        struct graph_merge m = { 0 };
        struct test_allocator t;
        uint64_t seed = at;
        test_allocator_init(&t);
        t.fail_at = at;
        draw_nodes(&seed, NODES, 1, many.nodes, MOST);
        memcpy(one.nodes, many.nodes, MOST * sizeof *one.nodes);
        grebe_status st = merge(&m, &t.a, &many, MOST, true, 8);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        n_failed += st != GREBE_OK;
        t.fail_at = 0;
        if (st != GREBE_OK) { /* its codes mean nothing to the next */
            many.rows.n = 0;
            graph_map_begin(many.map);
            memcpy(many.nodes, one.nodes, MOST * sizeof *one.nodes);
            assert_ok(merge(&m, &t.a, &many, MOST, false, 8));
        }
        assert_ok(graph_map_rows(one.map, one.nodes, MOST, &one.rows, one.nodes, &err));
        assert_same_lists(&one, &many, MOST);
        graph_merge_release(&t.a, &m);
        graph_array_release(&t.a, &many.rows);
        assert_int_equal(t.n_live, 0);
        lists_free(&one);
        lists_free(&many);
        if (st == GREBE_OK) {
            assert_int_equal(n_failed, 3); /* entries, runs, rows */
            break;
        }
    }
}

static void test_graph_merge_pays__few_threads_or_edges__no(void **state)
{
    struct graph_map *dense, *hashed;
    struct graph_array rows = { .n = 10 };
    int64_t n = INT64_C(1) << 20;
    (void)state;
    assert_ok(graph_map_new(ctx->a, NODES, NODES, &dense, &err));
    assert_ok(graph_map_new(ctx->a, NODES, 0, &hashed, &err));
    assert_true(graph_merge_pays(dense, &rows, n, 8));
    assert_false(graph_merge_pays(dense, &rows, n, 2));
    assert_false(graph_merge_pays(dense, &rows, 1000, 8));
    assert_false(graph_merge_pays(hashed, &rows, n, 8));
    assert_true(graph_merge_pays(dense, &rows, (INT64_C(1) << 31) - 11, 8)); /* rows and codes are below 2^31 */
    assert_false(graph_merge_pays(dense, &rows, (INT64_C(1) << 31) - 10, 8));
    graph_map_free(dense);
    graph_map_free(hashed);
}

/* ---- batches ---- */

enum { FIRST_TYPE = 12000, GRAPH_NODES = 30000, DEGREE = 24, SEEDS = 900 };

struct graph {
    struct graph_csc g;
    int64_t indptr[GRAPH_NODES + 1];
    int32_t indices[GRAPH_NODES * DEGREE], ids[GRAPH_NODES * DEGREE];
    uint8_t types[GRAPH_NODES * DEGREE];
    struct graph_attribute attribute;
};

static struct tensor column(int type, const void *data, int64_t n)
{
    return (struct tensor){ .type = type, .rank = 1, .shape = { (uint64_t)n }, .strides = { 1 }, .n_values = (uint64_t)n, .data = data,
                            .is_packed = true };
}

/* Of each list the first half comes from nodes a, the second from nodes b; a third of the sources are a few. */
static struct graph *graph_new(uint64_t seed, bool is_typed)
{
    static const char *const nodes[] = { "a", "b" }, *const edges[] = { "a:0:a", "b:1:a", "a:2:b", "b:3:b" };
    static const int32_t ends[][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 1, 1 } };
    static const int64_t offsets[] = { 0, FIRST_TYPE, GRAPH_NODES };
    struct graph *x = calloc(1, sizeof *x);
    int64_t n = 0;
    assert_non_null(x);
    for (int64_t v = 0; v < GRAPH_NODES; v++) {
        for (int64_t i = 0; i < DEGREE; i++, n++) {
            uint64_t r = test_random(&seed);
            int64_t type = i >= DEGREE / 2, count = offsets[type + 1] - offsets[type];
            x->indices[n] = (int32_t)(offsets[type] + (int64_t)(r >> 20) % (r % 3 == 0 ? 40 : count));
            x->types[n] = (uint8_t)(type + (v >= FIRST_TYPE ? 2 : 0));
            x->ids[n] = (int32_t)(n * 7 % (GRAPH_NODES * DEGREE));
        }
        x->indptr[v + 1] = n;
    }
    x->attribute = (struct graph_attribute){ "_ORIGINAL_EDGE_ID", column(ARRAY_I32, x->ids, n) };
    x->g = (struct graph_csc){ .ctx = ctx, .n_nodes = GRAPH_NODES, .n_edges = n, .indptr = { x->indptr, true },
                               .indices = { x->indices, false }, .edge_attributes = &x->attribute, .n_edge_attributes = 1 };
    if (is_typed) {
        x->g.n_node_types = 2;
        x->g.n_edge_types = 4;
        x->g.node_types = nodes;
        x->g.edge_types = edges;
        x->g.edge_ends = ends;
        x->g.node_type_offset = offsets;
        x->g.type_per_edge = column(ARRAY_U8, x->types, n);
    }
    return x;
}

/* Seeds of every type, each of them twice. */
static grebe_status sample(struct graph_batch *b, struct graph_scratch *s, int64_t fanout, uint32_t threads)
{
    int64_t fanouts[] = { fanout, fanout, fanout }, seeds[SEEDS];
    struct graph_hops hops = { .n_layers = 3, .hop = { .fanouts = fanouts, .n_fanouts = 1, .key = 4 } };
    grebe_status st = GREBE_OK;
    for (int64_t i = 0; i < SEEDS; i++) {
        seeds[i] = i / 2 * 13;
    }
    graph_batch_begin(b, s);
    for (size_t t = 0; t < b->n_node_types && st == GREBE_OK; t++) {
        st = graph_batch_add(b, s, t, seeds, NULL, SEEDS, false, NULL, &err);
    }
    return st == GREBE_OK ? graph_batch_sample(b, s, &hops, threads, &err) : st;
}

static void assert_same_array(const struct graph_array *a, const struct graph_array *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->v, b->v, (size_t)a->n * sizeof *a->v);
}

static void assert_same_batch(const struct graph_batch *a, const struct graph_batch *b)
{
    for (size_t t = 0; t < a->n_node_types; t++) {
        assert_same_array(&a->nodes[t], &b->nodes[t]);
    }
    for (size_t i = 0; i < a->n_layers; i++) {
        for (size_t r = 0; r < a->n_edge_types; r++) {
            const struct graph_relation *x = &a->layers[i].relations[r], *y = &b->layers[i].relations[r];
            assert_same_array(&x->indptr, &y->indptr);
            assert_same_array(&x->indices, &y->indices);
            assert_same_array(&x->edges, &y->edges);
        }
        assert_memory_equal(a->layers[i].n_rows, b->layers[i].n_rows, a->n_node_types * sizeof(int64_t));
    }
}

static void test_graph_batch__many_duplicates__the_same_on_any_threads(void **state)
{
    uint64_t seed = test_seed();
    (void)state;
    for (int is_typed = 0; is_typed < 2; is_typed++) {
        struct graph *x = graph_new(seed, is_typed != 0);
        struct graph_batch *b[4];
        struct graph_scratch *s[4];
        for (size_t t = 0; t < 4; t++) {
            assert_ok(graph_batch_new(&x->g, &b[t], &err));
            assert_ok(graph_scratch_new(&x->g, &s[t], &err));
        }
        for (int64_t round = 0; round < 3; round++) { /* all edges, few, all in the same memory */
            for (size_t t = 0; t < 4; t++) {
                assert_ok(sample(b[t], s[t], round == 1 ? 3 : -1, all_threads[t]));
                assert_same_batch(b[0], b[t]);
                assert_int_equal(s[t]->merge.entries.capacity > 0, all_threads[t] == 8); /* it is what is tested */
            }
        }
        for (size_t t = 0; t < 4; t++) {
            graph_batch_free(b[t]);
            graph_scratch_free(s[t]);
        }
        free(x);
    }
}

/* The first edge in the order of the columns is the one that is named. */
static void test_graph_batch__types_that_lead_elsewhere__the_first_is_named(void **state)
{
    struct graph *x = graph_new(2, true);
    (void)state;
    for (int64_t v = 0; v < GRAPH_NODES; v += 37) {
        x->types[v * DEGREE + 5] = v % 2 == 0 ? 77 : v >= FIRST_TYPE ? 1 : 2;
    }
    for (size_t t = 0; t < 4; t++) {
        struct graph_batch *b;
        struct graph_scratch *s;
        char first[64];
        int64_t seeds[SEEDS], all = -1;
        struct graph_hops hops = { .n_layers = 1, .hop = { .fanouts = &all, .n_fanouts = 1 } };
        assert_ok(graph_batch_new(&x->g, &b, &err));
        assert_ok(graph_scratch_new(&x->g, &s, &err));
        for (int is_second = 0; is_second < 2; is_second++) { /* first seeds whose lists are right */
            graph_batch_begin(b, s);
            for (int64_t i = 0; i < SEEDS; i++) {
                seeds[i] = is_second ? i * 13 : 1 + i % 270 * 37;
            }
            assert_ok(graph_batch_add(b, s, 0, seeds, NULL, is_second ? 0 : SEEDS, false, NULL, &err));
            assert_ok(graph_batch_add(b, s, 1, seeds, NULL, is_second ? SEEDS : 0, false, NULL, &err));
            if (!is_second) {
                assert_ok(graph_batch_sample(b, s, &hops, all_threads[t], &err));
                continue;
            }
            int64_t at = 0;
            while ((FIRST_TYPE + seeds[at]) % 37 != 0) {
                at++;
            }
            snprintf(first, sizeof first, "edge %d of the graph has type", (int)((FIRST_TYPE + seeds[at]) * DEGREE + 5));
            assert_fails(graph_batch_sample(b, s, &hops, all_threads[t], &err), GREBE_ECORRUPT, first);
        }
        graph_batch_free(b);
        graph_scratch_free(s);
    }
    free(x);
}

/* Allocations are made by the thread that samples. */
static void test_graph_batch__allocations_fail_on_many_threads__no_leak(void **state)
{
    struct graph *x = graph_new(1, true);
    const grebe_allocator *before = ctx->a;
    (void)state;
    for (size_t at = 1;; at++) {
        struct test_allocator t;
        struct graph_batch *b = NULL;
        struct graph_scratch *s = NULL;
        test_allocator_init(&t);
        t.fail_at = at;
        ctx->a = &t.a;
        grebe_status st = graph_batch_new(&x->g, &b, &err);
        st = st == GREBE_OK ? graph_scratch_new(&x->g, &s, &err) : st;
        st = st == GREBE_OK ? sample(b, s, -1, 8) : st;
        bool is_merged = s != NULL && s->merge.runs.capacity > 0;
        graph_batch_free(b);
        graph_scratch_free(s);
        ctx->a = before;
        assert_int_equal(t.n_live, 0);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        if (st == GREBE_OK) {
            assert_true(is_merged);
            break;
        }
    }
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_merge__random_nodes__rows_of_one_thread),
        cmocka_unit_test(test_graph_merge__allocations_fail__next_batch_is_right),
        cmocka_unit_test(test_graph_merge_pays__few_threads_or_edges__no),
        cmocka_unit_test(test_graph_batch__many_duplicates__the_same_on_any_threads),
        cmocka_unit_test(test_graph_batch__types_that_lead_elsewhere__the_first_is_named),
        cmocka_unit_test(test_graph_batch__allocations_fail_on_many_threads__no_leak),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
