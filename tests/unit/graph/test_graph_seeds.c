/* SPDX-License-Identifier: Apache-2.0 */
/* Ids in sets that are no nodes: told by a deep check, and refused by preprocessing in the same words. */
#include <string.h>

#include "graph_data.h"

struct told {
    size_t n;
    grebe_status status;
    char message[4][300], field[4][100];
};

static void tell(void *arg, const grebe_graph_problem *p)
{
    struct told *t = arg;
    if (!p->is_error) {
        return; /* that a set without seeds cannot be sampled */
    }
    assert_true(t->n < 4);
    t->status = p->status;
    snprintf(t->message[t->n], sizeof t->message[0], "%s", p->message);
    snprintf(t->field[t->n], sizeof t->field[0], "%s", p->field);
    t->n++;
}

static const char untyped[] = "graph: {nodes: [{num: 5}], edges: [{format: csv, path: e.csv}]}\n";
static const char typed[] = "graph:\n  nodes: [{type: u, num: 3}, {type: v, num: 6}]\n"
                            "  edges: [{type: 'u:r:v', format: csv, path: e.csv}]\n";

/* One set of one column; `message` NULL: nothing is wrong. */
static void check_column(struct fixture *f, const char *graph, const char *type, const char *name, const uint64_t *shape,
                         unsigned rank, const int64_t *values, const char *message)
{
    char text[1000];
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    struct told told = { 0 };
    size_t n = 1, n_errors = 99;
    for (unsigned i = 0; i < rank; i++) {
        n *= shape[i];
    }
    snprintf(text, sizeof text, "%stasks:\n- validation_set:\n  - %s%s\n    data: [{name: %s, format: numpy, path: s.npy}]\n", graph,
             type != NULL ? "type: " : "type: null", type != NULL ? type : "", name);
    put(f, "metadata.yaml", text, strlen(text));
    put(f, "e.csv", "0,1\n", 4);
    put_npy(f, "s.npy", ARRAY_I64, shape, rank, values, n * sizeof *values);
    o.on_problem = tell;
    o.problem_arg = &told;
    assert_ok(grebe_graph_check(f->ctx, f->folder, &o, &n_errors, &err)); /* by headers alone nothing is found */
    assert_int_equal(n_errors, 0);
    told.n = 0;
    o.is_deep = true;
    assert_ok(grebe_graph_check(f->ctx, f->folder, &o, &n_errors, &err));
    assert_int_equal(n_errors, message != NULL ? 1 : 0);
    o.force = GREBE_GRAPH_ALWAYS;
    if (message == NULL) {
        assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
        return;
    }
    assert_string_equal(told.message[0], message);
    assert_string_equal(told.field[0], "tasks[0].validation_set[0].data[0].path");
    assert_int_equal(told.status, GREBE_ECORRUPT);
    told.n = 0;
    assert_fails(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err), GREBE_ECORRUPT, message);
}

static void test_seeds__that_are_no_nodes__are_told_with_row_value_and_bound(void **state)
{
    struct fixture *f = *state;
    static const uint64_t n3[] = { 3 }, n2x2[] = { 2, 2 }, n2x3[] = { 2, 3 }, n0[] = { 0 };
    check_column(f, untyped, NULL, "seeds", n3, 1, (const int64_t[]){ 4, 0, 4 }, NULL);
    check_column(f, untyped, NULL, "seeds", n0, 1, NULL, NULL);
    check_column(f, untyped, NULL, "seeds", n3, 1, (const int64_t[]){ 4, 5, -1 },
                 "s.npy: validation_set, seeds, row 1: node 5, the bound is 5");
    check_column(f, untyped, NULL, "seeds", n3, 1, (const int64_t[]){ 4, -1, 5 },
                 "s.npy: validation_set, seeds, row 1: node -1, the bound is 5");
    check_column(f, untyped, NULL, "seeds", n2x2, 2, (const int64_t[]){ 4, 0, 0, 7 },
                 "s.npy: validation_set, seeds, row 1, column 1: node 7, the bound is 5");
    check_column(f, untyped, NULL, "seed_nodes", n3, 1, (const int64_t[]){ 0, 0, INT64_MIN },
                 "s.npy: validation_set, seed_nodes, row 2: node -9223372036854775808, the bound is 5");
    check_column(f, untyped, NULL, "negative_srcs", n2x3, 2, (const int64_t[]){ 0, 1, 2, 3, 5, 9 },
                 "s.npy: validation_set, negative_srcs, row 1, column 1: node 5, the bound is 5");
    check_column(f, untyped, NULL, "labels", n3, 1, (const int64_t[]){ -1, 99, 7 }, NULL); /* are no nodes */
    check_column(f, untyped, NULL, "timestamp", n3, 1, (const int64_t[]){ -1, 99, 7 }, NULL);
}

static void test_seeds__of_types__have_the_bounds_of_their_ends(void **state)
{
    struct fixture *f = *state;
    static const uint64_t n3[] = { 3 }, n2x2[] = { 2, 2 }, n2x3[] = { 2, 3 };
    check_column(f, typed, "v", "seeds", n3, 1, (const int64_t[]){ 5, 3, 0 }, NULL);
    check_column(f, typed, "u", "seeds", n3, 1, (const int64_t[]){ 2, 3, 0 },
                 "s.npy: validation_set, seeds, row 1: node 3, the bound is 3, the nodes of type u");
    check_column(f, typed, "'u:r:v'", "seeds", n2x2, 2, (const int64_t[]){ 2, 5, 0, 3 }, NULL);
    check_column(f, typed, "'u:r:v'", "node_pairs", n2x2, 2, (const int64_t[]){ 2, 5, 3, 6 },
                 "s.npy: validation_set, node_pairs, row 1, column 0: node 3, the bound is 3, the nodes of type u");
    check_column(f, typed, "'u:r:v'", "seeds", n2x2, 2, (const int64_t[]){ 2, 6, 3, 5 },
                 "s.npy: validation_set, seeds, row 0, column 1: node 6, the bound is 6, the nodes of type v");
    check_column(f, typed, "'v:u:v'", "seeds", n2x3, 2, (const int64_t[]){ 5, 2, 5, 5, 3, 5 },
                 "s.npy: validation_set, seeds, row 1, column 1: node 3, the bound is 3, the nodes of type u");
    check_column(f, typed, "'u:r:v'", "negative_dsts", n2x3, 2, (const int64_t[]){ 5, 4, 3, 2, 1, 6 },
                 "s.npy: validation_set, negative_dsts, row 1, column 2: node 6, the bound is 6, the nodes of type v");
    check_column(f, typed, "'u:r:v'", "negative_srcs", n2x3, 2, (const int64_t[]){ 0, 1, 2, 3, 1, 6 },
                 "s.npy: validation_set, negative_srcs, row 1, column 0: node 3, the bound is 3, the nodes of type u");
}

static void test_seeds__far_into_a_file__are_found(void **state)
{
    struct fixture *f = *state;
    enum { N = 300001 }; /* several chunks, the last one short */
    int64_t *ids = calloc(3 * N, sizeof *ids);
    const uint64_t shape[] = { N, 3 };
    ids[3 * (N - 1) + 2] = 5;
    check_column(f, untyped, NULL, "seeds", shape, 2, ids, "s.npy: validation_set, seeds, row 300000, column 2: node 5, the bound is 5");
    ids[3 * 43690 + 1] = 6; /* the last row of the first chunk that has room for it */
    check_column(f, untyped, NULL, "seeds", shape, 2, ids, "s.npy: validation_set, seeds, row 43690, column 1: node 6, the bound is 5");
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_seeds__that_are_no_nodes__are_told_with_row_value_and_bound, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_seeds__of_types__have_the_bounds_of_their_ends, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_seeds__far_into_a_file__are_found, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
