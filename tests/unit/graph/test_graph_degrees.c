/* SPDX-License-Identifier: Apache-2.0 */
/* Degrees of graphs that DGL preprocessed, beside those counted edge by edge; the picture of them. */

#include "grebe/graph_stats.h"

#include "graph/graph_dataset.h"
#include "graph/graph_degrees.h"
#include "graph_case.h"

static const char *const cases[] = { "hetero_mix", "homo_csv", "many_types", "one_named_type" };

static grebe_graph *open_set(const char *name)
{
    char path[600];
    grebe_graph *g;
    snprintf(path, sizeof path, TEST_DATA "/data/graphbolt/cases/%s/dgl_preprocessed", name);
    assert_ok(grebe_graph_open(ctx, path, &g, &err));
    return g;
}

static int compare(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static int64_t sorted_quantile(const int64_t *degrees, int64_t n, int64_t pct)
{
    return n == 0 ? 0 : degrees[(n * pct + 99) / 100 - 1];
}

static void assert_degrees(const grebe_graph_degrees *d, int64_t *degrees, int64_t n)
{
    int64_t sum = 0, zero = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += degrees[i];
        zero += degrees[i] == 0;
    }
    qsort(degrees, (size_t)n, sizeof *degrees, compare);
    assert_int_equal(d->n_nodes, n);
    assert_int_equal(d->n_zero, zero);
    assert_int_equal(d->min, n == 0 ? 0 : degrees[0]);
    assert_int_equal(d->max, n == 0 ? 0 : degrees[n - 1]);
    assert_int_equal(d->p50, sorted_quantile(degrees, n, 50));
    assert_int_equal(d->p90, sorted_quantile(degrees, n, 90));
    assert_int_equal(d->p99, sorted_quantile(degrees, n, 99));
    assert_true(d->mean * (double)n > (double)sum - 1e-6 && d->mean * (double)n < (double)sum + 1e-6);
}

static void test_edge_stats__every_type__as_counted_edge_by_edge(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        grebe_graph *g = open_set(cases[k]);
        const struct graph_csc *c = &g->csc;
        int64_t in[128], out[128], isolated[64], degree[128] = { 0 };
        for (int64_t v = 0; v < c->n_nodes; v++) {
            for (int64_t e = graph_id(&c->indptr, v); e < graph_id(&c->indptr, v + 1); e++) {
                degree[v]++;
                degree[graph_id(&c->indices, e)]++;
            }
        }
        assert_true(c->n_nodes <= 128 && graph_n_node_types(c) <= 64);
        assert_ok(grebe_graph_isolated_nodes(g, NULL, isolated, &err));
        for (size_t t = 0; t < graph_n_node_types(c); t++) {
            int64_t n = 0;
            for (int64_t v = 0; v < graph_type_count(c, t); v++) {
                n += degree[graph_type_begin(c, t) + v] == 0;
            }
            assert_int_equal(isolated[t], n);
        }
        for (size_t t = 0; t < graph_n_edge_types(c); t++) {
            grebe_graph_edge_stats s;
            const size_t from = graph_edge_source_type(c, t), to = graph_edge_target_type(c, t);
            int64_t n = 0, loops = 0;
            memset(in, 0, sizeof in);
            memset(out, 0, sizeof out);
            for (int64_t v = 0; v < c->n_nodes; v++) {
                for (int64_t e = graph_id(&c->indptr, v); e < graph_id(&c->indptr, v + 1); e++) {
                    if ((size_t)graph_edge_type_at(c, e) == t) {
                        in[v - graph_type_begin(c, to)]++;
                        out[graph_id(&c->indices, e) - graph_type_begin(c, from)]++;
                        loops += graph_id(&c->indices, e) == v;
                        n++;
                    }
                }
            }
            assert_ok(grebe_graph_get_edge_stats(g, t, NULL, &s, &err));
            assert_int_equal(s.n_edges, n);
            assert_int_equal(s.n_self_loops, loops);
            assert_degrees(&s.in, in, graph_type_count(c, to));
            assert_degrees(&s.out, out, graph_type_count(c, from));
        }
        grebe_graph_edge_stats s;
        assert_int_equal(grebe_graph_get_edge_stats(g, graph_n_edge_types(c), NULL, &s, &err), GREBE_EINVAL);
        grebe_graph_close(g);
    }
}

static void test_histogram__high_degrees__listed_in_order(void **state)
{
    (void)state;
    enum { N = 70000 };
    struct graph_degree_counts counts;
    static int32_t indptr[3], indices[2 * N + 3];
    struct graph_csc c = { .ctx = ctx, .n_nodes = 2, .n_edges = 2 * N + 3, .indptr = { indptr, false }, .indices = { indices, false } };
    struct call call = call_options_resolve(ctx, NULL);
    int64_t degree = -1, n = 0;
    indptr[1] = N;
    indptr[2] = 2 * N + 3;
    assert_ok(graph_degrees_count(&c, 0, &call, &counts, &err));
    assert_true(graph_histogram_next(&counts.in, -1, &degree, &n));
    assert_int_equal(degree, N);
    assert_true(graph_histogram_next(&counts.in, degree, &degree, &n));
    assert_int_equal(degree, N + 3);
    assert_int_equal(n, 1);
    assert_false(graph_histogram_next(&counts.in, degree, &degree, &n));
    assert_int_equal(counts.out.high[0], 2 * N + 3);
    assert_int_equal(counts.n_self_loops, N);
    graph_degrees_release(ctx->a, &counts);

    indices[N + 1] = 2;
    assert_int_equal(graph_degrees_count(&c, 0, &call, &counts, &err), GREBE_ECORRUPT);
    assert_non_null(strstr(err.message, "edge 70001: expected a source in [0, 2), found 2"));
    graph_degrees_release(ctx->a, &counts);
}

struct picture {
    char bytes[1 << 17];
    size_t len;
};

static int take(void *arg, const void *bytes, size_t len)
{
    struct picture *p = arg;
    assert_true(p->len + len < sizeof p->bytes);
    memcpy(p->bytes + p->len, bytes, len);
    p->len += len;
    p->bytes[p->len] = '\0';
    return 0;
}

static int refuse(void *arg, const void *bytes, size_t len)
{
    (void)arg;
    (void)bytes;
    (void)len;
    return 28; /* ENOSPC */
}

static void test_plot__largest_types__equal_bytes_each_time(void **state)
{
    (void)state;
    static struct picture first, second;
    grebe_graph *g = open_set("many_types"), *typed = open_set("hetero_mix"), *empty = NULL;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    char *folder = test_folder_new();
    o.out = folder;
    assert_ok(grebe_graph_preprocess(ctx, TEST_DATA "/data/graphbolt/cases/homo_no_edges/raw", &o, NULL, &err));
    assert_ok(grebe_graph_open(ctx, folder, &empty, &err));
    first.len = second.len = 0;
    assert_ok(grebe_graph_plot_degrees(typed, NULL, take, &first, &err));
    assert_ok(grebe_graph_plot_degrees(typed, NULL, take, &second, &err));
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.bytes, second.bytes, first.len);
    assert_non_null(strstr(first.bytes, "in paper:cites:paper"));
    assert_non_null(strstr(first.bytes, "out author:writes:paper"));
    assert_null(strstr(first.bytes, "inst:void:paper")); /* of no edge */
    first.len = 0;
    assert_ok(grebe_graph_plot_degrees(g, NULL, take, &first, &err));
    assert_non_null(strstr(first.bytes, "types with most edges"));
    assert_int_equal(grebe_graph_plot_degrees(empty, NULL, take, &first, &err), GREBE_EINVAL);
    assert_int_equal(grebe_graph_plot_degrees(typed, NULL, refuse, NULL, &err), GREBE_EIO);
    grebe_graph_close(g);
    grebe_graph_close(typed);
    grebe_graph_close(empty);
    test_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_edge_stats__every_type__as_counted_edge_by_edge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_histogram__high_degrees__listed_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plot__largest_types__equal_bytes_each_time, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
