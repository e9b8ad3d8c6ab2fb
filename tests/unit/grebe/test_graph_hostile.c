/* SPDX-License-Identifier: Apache-2.0 */
/* Files of graphs that are not as they should be, and all that can be asked of those that open. */
#include "grebe/graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "graph_use.h"
#include "test_fixture.h"
#include "test_support.h"

/* A data set that is the graph of a file alone. */
static grebe_status open_bytes(struct fixture *f, const unsigned char *bytes, size_t n, grebe_graph **out, grebe_error *err)
{
    static const char text[] = "graph_topology: {type: FusedCSCSamplingGraph, path: preprocessed/g.pt}\n";
    char path[700];
    snprintf(path, sizeof path, "%s/metadata.yaml", f->folder);
    test_write_file(path, text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/g.pt", f->folder);
    test_write_file(path, bytes, n);
    return grebe_graph_open(f->ctx, f->folder, out, err);
}

static unsigned char *bytes_of(const char *name, size_t *n)
{
    char path[700];
    snprintf(path, sizeof path, TEST_DATA "/data/graphbolt/%s.pt", name);
    return test_read_file(path, n);
}

static grebe_status open_file(struct fixture *f, const char *name, grebe_graph **out, grebe_error *err)
{
    size_t n = 0;
    unsigned char *bytes = bytes_of(name, &n);
    grebe_status st = open_bytes(f, bytes, n, out, err);
    free(bytes);
    return st;
}

static void test_open__edge_ids_of_another_shape_or_type__refused(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    assert_fails(open_file(f, "graphs/edge_ids_in_two_columns", &g, &err), GREBE_ECORRUPT,
                 "_ORIGINAL_EDGE_ID: expected one dimension of int32 or int64, found 2 of int64");
    assert_null(g);
    assert_fails(open_file(f, "graphs/edge_ids_of_floats", &g, &err), GREBE_ECORRUPT, "found 1 of float32");
    assert_null(g);
}

/* DGL writes graphs whose nodes have types and which have no edges; it writes those whose edges have none of the types, too. */
static void test_open__node_types_without_edge_types__only_without_edges(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    grebe_graph_info info;
    size_t n_errors = 1;
    assert_fails(open_file(f, "graphs/edges_without_types", &g, &err), GREBE_ECORRUPT,
                 "edge_type_to_id: expected the types of 2 edges, found none");
    assert_null(g);
    assert_ok(open_file(f, "graphs/types_without_edges", &g, &err));
    grebe_graph_get_info(g, &info);
    assert_int_equal(info.n_node_types, 2);
    assert_int_equal(info.n_edge_types, 0);
    assert_ok(grebe_graph_verify(g, NULL, &n_errors, &err));
    assert_int_equal(n_errors, 0);
    graph_use(g);
    static const int64_t fanouts[] = { 3 }, ids[] = { 2, 0 };
    grebe_graph_sampling how = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_sampler *s = NULL;
    const grebe_graph_batch *b = NULL;
    int64_t n = 0;
    how.fanouts = fanouts;
    how.n_layers = 1;
    assert_ok(grebe_graph_sampler_new(g, &how, 1, &s, &err));
    assert_ok(grebe_graph_sampler_run(s, &(grebe_graph_seeds){ "a", ids, 2, NULL }, 1, 1, &b, &err));
    assert_memory_equal(grebe_graph_batch_nodes(b, 0, &n), ids, sizeof ids);
    assert_true(n == 2 && grebe_graph_batch_n_edges(b) == 0);
    grebe_graph_sampler_free(s);
    grebe_graph_close(g);
}

static void note_field(void *arg, const grebe_graph_problem *p) { snprintf(arg, 200, "%s: %s", p->field, p->message); }

static void test_verify__a_type_of_more_than_32_bits__is_none_of_the_graph(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph *g = NULL;
    char told[200] = "";
    size_t n_errors = 0;
    int64_t counts[1];
    o.on_problem = note_field;
    o.problem_arg = told;
    assert_ok(open_file(f, "graphs/type_beyond_32_bits", &g, &err));
    assert_ok(grebe_graph_verify(g, &o, &n_errors, &err));
    assert_int_equal(n_errors, 1);
    assert_string_equal(told, "type_per_edge: edge 1: type 4294967296 behind 0, the bound is 1");
    assert_ok(grebe_graph_num_edges(g, NULL, counts, &err));
    assert_int_equal(counts[0], 1);
    graph_use(g);
    grebe_graph_close(g);
}

/* Bits of the pickle and of the directory, which stand at the ends, and of some of the arrays. */
static void test_open__any_byte_changed__no_use_of_the_graph_crashes(void **state)
{
    static const char *const names[] = { "cases/hetero_attr/dgl_preprocessed/fused_csc_sampling_graph", "graphs/type_beyond_32_bits",
                                         "graphs/types_without_edges" };
    struct fixture *f = *state;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        size_t n = 0, n_opened = 0;
        unsigned char *bytes = bytes_of(names[k], &n);
        for (size_t i = 0; i < n; i += i > 3000 && i < n - 3000 ? 29 : 1) {
            grebe_graph *g = NULL;
            const unsigned char was = bytes[i];
            bytes[i] = (unsigned char)(was ^ (1u << (i % 8)));
            if (open_bytes(f, bytes, n, &g, NULL) == GREBE_OK) {
                graph_use(g);
                n_opened++;
                grebe_graph_close(g);
            }
            bytes[i] = was;
        }
        assert_true(n_opened > 0);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open__edge_ids_of_another_shape_or_type__refused, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_open__node_types_without_edge_types__only_without_edges, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_verify__a_type_of_more_than_32_bits__is_none_of_the_graph, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_open__any_byte_changed__no_use_of_the_graph_crashes, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
