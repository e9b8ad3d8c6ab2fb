/* SPDX-License-Identifier: Apache-2.0 */
/* Files of edges, and the lists by destination that are made of them. */
#include "graph/graph_edges.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/csc_build.h"
#include "graph/graph_dataset.h"
#include "graph/graph_types.h"
#include "grebe/graph.h"
#include "test_fixture.h"
#include "test_support.h"

static void put(struct fixture *f, const char *name, const void *bytes, size_t n)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    test_write_file(path, bytes, n);
}

static void put_text(struct fixture *f, const char *name, const char *text)
{
    put(f, name, text, strlen(text));
}

static grebe_status preprocess(struct fixture *f, const grebe_graph_options *o, grebe_error *err)
{
    return grebe_graph_preprocess(f->ctx, f->folder, o, NULL, err);
}

static void assert_lists(struct fixture *f, int64_t n_nodes, const int64_t *indptr, const int64_t *indices,
                         const int64_t *edge_ids)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    const struct graph_csc *c = graph_dataset_csc(g);
    assert_int_equal(c->n_nodes, n_nodes);
    for (int64_t i = 0; i <= n_nodes; i++) {
        assert_int_equal(graph_id(&c->indptr, i), indptr[i]);
    }
    for (int64_t i = 0; i < c->n_edges; i++) {
        assert_int_equal(graph_id(&c->indices, i), indices[i]);
    }
    const struct graph_attribute *ids = graph_edge_attribute(c, "_ORIGINAL_EDGE_ID");
    assert_non_null(ids);
    for (int64_t i = 0; i < c->n_edges; i++) {
        int64_t id = -1;
        assert_ok(tensor_read_i64(&ids->values, (uint64_t)i, 1, &id, &err));
        assert_int_equal(id, edge_ids[i]);
    }
    size_t n_errors = 1;
    assert_ok(grebe_graph_verify(g, NULL, &n_errors, &err));
    assert_int_equal(n_errors, 0);
    grebe_graph_close(g);
}

static const char one[] = "graph:\n  nodes: [{num: 4}]\n  edges: [{format: csv, path: e.csv}]\n";

static void test_csc__multi_edges_and_isolated_nodes__are_kept_in_order(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    put_text(f, "metadata.yaml", one);
    put_text(f, "e.csv", "0,1\n0,1\n2,1\n1,0\n0,1\n");
    assert_ok(preprocess(f, NULL, &err));
    assert_lists(f, 4, (const int64_t[]){ 0, 1, 5, 5, 5 }, (const int64_t[]){ 1, 0, 0, 2, 0 },
                 (const int64_t[]){ 3, 0, 1, 2, 4 });
}

static void test_csv__what_is_two_integers__is_read(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
        "0,1\n2,3\n",
        "0,1\r\n2,3\r\n",
        "0,1\r2,3\r",
        "0,1\n2,3",
        "\xef\xbb\xbf"
        "0,1\n2,3\n",
        "\n0,1\n\n\n2,3\n\n",
        "0, 1\n 2,3 \n",
        "\"0\",\"1\"\n\"2\",3\n",
        "+0,1\n002,0003\n",
        "0 , 1\n  \n2 , 3\n",
        "0,1\r\n\r\n2,3",
    };
    put_text(f, "metadata.yaml", one);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        put_text(f, "e.csv", texts[i]);
        assert_ok(preprocess(f, NULL, &err));
        assert_lists(f, 4, (const int64_t[]){ 0, 0, 1, 1, 2 }, (const int64_t[]){ 0, 2 }, (const int64_t[]){ 0, 1 });
    }
    grebe_error err = GREBE_ERROR_INIT;
    put_text(f, "e.csv", "");
    assert_ok(preprocess(f, NULL, &err));
    assert_lists(f, 4, (const int64_t[]){ 0, 0, 0, 0, 0 }, NULL, NULL);
    static const struct {
        const char *text;
        char separator;
        bool has_header;
    } with[] = {
        { "0\t1\n2\t3\n", '\t', false },
        { "0 1\n2  3\n", ' ', false },
        { "0;1\n2;3", ';', false },
        { "src,dst\n0,1\n2,3\n", 0, true },
        { "\xef\xbb\xbfsrc dst\r\n0 1\r\n2 3\r\n", ' ', true },
    };
    for (size_t i = 0; i < sizeof with / sizeof with[0]; i++) {
        grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
        o.csv_separator = with[i].separator;
        o.csv_has_header = with[i].has_header;
        put_text(f, "e.csv", with[i].text);
        assert_ok(preprocess(f, &o, &err));
        assert_lists(f, 4, (const int64_t[]){ 0, 0, 1, 1, 2 }, (const int64_t[]){ 0, 2 }, (const int64_t[]){ 0, 1 });
    }
}

static void test_csv__what_is_not__is_refused_with_its_line(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text;
        const char *wanted;
    } cases[] = {
        { "src,dst\n0,1\n", "e.csv:1: the first field is not an integer" },
        { "7,0,1\n7,1,2\n", "e.csv:1: line 1 has 3 fields" },
        { "0,1\n0,1,2,3\n", "e.csv:2: line 2 has 4 fields" },
        { "0,1\n2,3,1\n", "e.csv:2: line 2 has 3 fields" },
        { "0,1\n2,\n", "e.csv:2: the second field is empty" },
        { "0,1\n,2\n", "e.csv:2: the first field is empty" },
        { "0.0,1.0\n", "e.csv:1: the first field is not an integer" },
        { "0,1,\n", "e.csv:1: line 1 has 3 fields" },
        { "0x1,2\n", "e.csv:1: the first field is not" },
        { "1_0,2\n", "e.csv:1: the first field is not" },
        { "0,1\n# no\n", "e.csv:2: line 2 has 1 field" },
        { "0,1\n2\n", "e.csv:2: line 2 has 1 field" },
        { "nan,1\n", "e.csv:1: the first field is not" },
        { "0\t1\n", "separated by tabs" },
        { "0 1\n", "separated by spaces" },
        { "0,99999999999999999999\n", "does not fit" },
        { "0,1\n-1,2\n", "e.csv:2: column 1: node -1, the bound is 4" },
        { "0,1\r\n0,1\r\n2,4\r\n", "e.csv:3: column 2: node 4, the bound is 4" },
        { "\n\n4,0\n", "e.csv:3: column 1: node 4, the bound is 4" },
        { "\"0,1\n", "e.csv:1" },
        { "0,1 x\n", "e.csv:1: the second field is not" },
        { "0,1\r0,9\r", "e.csv:2: column 2: node 9" },
        { "+,1\n", "e.csv:1: the first field" },
        { "0,1\n-\n2,3\n", "e.csv:2: line 2 has 1 field" },
        { "0,1\n+\n2,3\n", "e.csv:2: line 2 has 1 field" },
        { "0,1\n\"\"\n2,3\n", "e.csv:2: line 2 has 1 field" },
        { "0,1\n\"-\"\r\n2,3\n", "e.csv:2: line 2 has 1 field" },
        { "0,1\n - ", "e.csv:2: line 2 has 1 field" },
        { "0,1\n\"\",3\n", "e.csv:2: the first field is not an integer" },
        { "0,1\n2,-\n", "e.csv:2: the second field is not an integer" },
        { "0,1\n2,\"\"\n", "e.csv:2: the second field is not an integer" },
        { "0,1\n2,  \n", "e.csv:2: the second field is empty" },
    };
    char made[700];
    put_text(f, "metadata.yaml", one);
    snprintf(made, sizeof made, "%s/preprocessed", f->folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        put_text(f, "e.csv", cases[i].text);
        assert_fails(preprocess(f, NULL, &err), GREBE_ECORRUPT, cases[i].wanted);
        assert_true(access(made, F_OK) != 0);
    }
    grebe_error err = GREBE_ERROR_INIT;
    put(f, "e.csv", "0,\0001\n", 6);
    assert_fails(preprocess(f, NULL, &err), GREBE_ECORRUPT, "e.csv:1");
}

static void test_csv__a_separator_that_cannot_be__refused(void **state)
{
    struct fixture *f = *state;
    static const char separators[] = "059+-\"\r\n";
    put_text(f, "metadata.yaml", one);
    put_text(f, "e.csv", "0,1\n");
    for (size_t i = 0; separators[i] != '\0'; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
        o.csv_separator = separators[i];
        assert_fails(preprocess(f, &o, &err), GREBE_EINVAL, "csv_separator: expected a character that is not part of a number");
        assert_fails(grebe_graph_check(f->ctx, f->folder, &o, NULL, &err), GREBE_EINVAL, "csv_separator");
    }
}

struct told {
    size_t n;
    char last[300];
};

static void note(void *arg, const grebe_graph_problem *p)
{
    struct told *t = arg;
    t->n++;
    snprintf(t->last, sizeof t->last, "%s", p->message);
}

/* How many edges a text has is known late; those who listen are told all the same, and nothing twice. */
static void test_csv__rows_of_features_that_are_not_as_many__are_told(void **state)
{
    static const char text[] = "graph:\n  nodes: [{num: 4}]\n  edges: [{format: csv, path: e.csv}]\n  feature_data:\n"
                               "  - {domain: edge, name: w, format: numpy, path: w.npy}\ndataset_name: 12\n"
                               "feature_data:\n- {domain: edge, name: x, format: numpy, path: w.npy}\n";
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    struct told told = { 0 };
    struct buf b = BUF_INIT(f->ctx->a);
    o.on_problem = note;
    o.problem_arg = &told;
    put_text(f, "metadata.yaml", text);
    put_text(f, "e.csv", "0,1\n2,3\n");
    assert_ok(tensor_npy_header(&b, ARRAY_I64, (uint64_t[]){ 3 }, 1, &err));
    assert_ok(buf_put_zero(&b, 24, &err));
    put(f, "w.npy", b.data, b.len);
    buf_release(&b);
    assert_fails(preprocess(f, &o, &err), GREBE_ESCHEMA, "w.npy: 3 rows, the graph has 2 edges (and 1 more)");
    assert_int_equal(told.n, 3); /* a warning, the attribute, the feature */
    assert_string_equal(told.last, "w.npy: 3 rows, the graph has 2 edges");
    told.n = 0;
    o.allow_row_mismatch = true; /* of features alone */
    assert_fails(preprocess(f, &o, &err), GREBE_ESCHEMA, "w.npy: 3 rows, the graph has 2 edges");
    assert_int_equal(told.n, 1);
}

/* Lines far into a file of several blocks. */
static void test_csv__a_large_file__is_read_by_blocks(void **state)
{
    struct fixture *f = *state;
    enum { N = 700000 };
    char *text = malloc(N * 8 + 1), *p = text;
    grebe_error err = GREBE_ERROR_INIT;
    put_text(f, "metadata.yaml", one);
    for (int i = 0; i < N; i++) {
        p += sprintf(p, "%d,%d%s", i % 4, i % 3, i % 5 == 0 ? "\r\n" : "\n");
    }
    put(f, "e.csv", text, (size_t)(p - text));
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    call.threads = 4;
    o.call = &call;
    assert_ok(preprocess(f, &o, &err));
    grebe_graph *g = NULL;
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    const struct graph_csc *c = graph_dataset_csc(g);
    assert_int_equal(c->n_edges, N);
    const int32_t *ids = (const int32_t *)(const void *)graph_edge_attribute(c, "_ORIGINAL_EDGE_ID")->values.data;
    int64_t k = 0;
    for (int v = 0; v < 4; v++) {
        for (int i = v; v < 3 && i < N; i += 3, k++) {
            assert_true(ids[k] == i && graph_id(&c->indices, k) == i % 4);
        }
    }
    grebe_graph_close(g);
    p += sprintf(p, "3,4\n");
    put(f, "e.csv", text, (size_t)(p - text));
    assert_fails(preprocess(f, &o, &err), GREBE_ECORRUPT, "e.csv:700001: column 2: node 4");
    free(text);
}

/* ---- npy ---- */

static void put_npy(struct fixture *f, const char *name, const char *descr, const char *shape, bool is_fortran,
                    unsigned version, const void *values, size_t n)
{
    unsigned char head[128];
    unsigned skip = version == 1 ? 10 : 12;
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY", 6);
    head[6] = (unsigned char)version;
    head[7] = 0;
    head[8] = (unsigned char)(128 - skip);
    head[9] = 0;
    if (version > 1) {
        head[10] = head[11] = 0;
    }
    int len = snprintf((char *)head + skip, 128 - skip, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
                       is_fortran ? "True" : "False", shape);
    head[skip + (unsigned)len] = ' ';
    head[127] = '\n';
    unsigned char *all = malloc(128 + n);
    memcpy(all, head, 128);
    memcpy(all + 128, values, n);
    put(f, name, all, 128 + n);
    free(all);
}

static void test_npy__layouts_and_versions__are_read(void **state)
{
    struct fixture *f = *state;
    const int32_t rows[] = { 0, 2, 1, 3 }, columns[] = { 0, 1, 2, 3 };
    put_text(f, "metadata.yaml", "graph:\n  nodes: [{num: 4}]\n  edges: [{format: numpy, path: e.npy}]\n");
    for (unsigned version = 1; version <= 3; version++) {
        for (int fortran = 0; fortran < 2; fortran++) {
            grebe_error err = GREBE_ERROR_INIT;
            put_npy(f, "e.npy", "<i4", "(2, 2)", fortran == 1, version, fortran == 1 ? columns : rows, 16);
            assert_ok(preprocess(f, NULL, &err));
            assert_lists(f, 4, (const int64_t[]){ 0, 0, 1, 1, 2 }, (const int64_t[]){ 0, 2 },
                         (const int64_t[]){ 0, 1 });
        }
    }
    grebe_error err = GREBE_ERROR_INIT;
    const int32_t far[] = { 0, 2, 1, 4 };
    put_npy(f, "e.npy", "<i4", "(2, 2)", false, 1, far, 16);
    assert_fails(preprocess(f, NULL, &err), GREBE_ECORRUPT, "e.npy: row 1, edge 1: node 4, the bound is 4");
    put_npy(f, "e.npy", "<f4", "(2, 2)", false, 1, rows, 16);
    assert_fails(preprocess(f, NULL, &err), GREBE_ESCHEMA, "edges must be integers");
    put_npy(f, "e.npy", "<i4", "(1, 2)", false, 1, rows, 16);
    assert_fails(preprocess(f, NULL, &err), GREBE_ESCHEMA, "(2, edges) is wanted");
    put_npy(f, "e.npy", "<i4", "(2, 3)", false, 1, rows, 16);
    assert_fails(preprocess(f, NULL, &err), GREBE_ECORRUPT, "e.npy");
}

/* Integers that no id can be, and types that are no integers. */
static void test_npy__what_is_no_node__refused(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    const uint64_t beyond[] = { 0, 2, 1, UINT64_C(1) << 63 };
    const int64_t below[] = { 0, -1, 1, 3 };
    static const char *const others[] = { "|O", "|b1", "<f2", "<c8", "<U2", "|V8", "[('a', '<i4')]" };
    put_text(f, "metadata.yaml", "graph:\n  nodes: [{num: 4}]\n  edges: [{format: numpy, path: e.npy}]\n");
    put_npy(f, "e.npy", "<u8", "(2, 2)", false, 1, beyond, sizeof beyond);
    assert_fails(preprocess(f, NULL, &err), GREBE_ESCHEMA, "e.npy: row 1, from edge 0 on: value 1 is 9223372036854775808");
    put_npy(f, "e.npy", "<i8", "(2, 2)", false, 1, below, sizeof below);
    assert_fails(preprocess(f, NULL, &err), GREBE_ECORRUPT, "e.npy: row 0, edge 1: node -1, the bound is 4");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        put_npy(f, "e.npy", others[i], "(2, 2)", false, 1, beyond, sizeof beyond);
        grebe_status st = preprocess(f, NULL, &err);
        if (st == GREBE_OK || strstr(err.message, "e.npy") == NULL) {
            fail_msg("%s: status %d, %s", others[i], (int)st, err.message);
        }
    }
    static const char *const shapes[] = { "(4,)", "(2, 1, 2)", "(2, 3)", "(3, 2)" };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        put_npy(f, "e.npy", "<i8", shapes[i], false, 1, below, sizeof below);
        grebe_status st = preprocess(f, NULL, &err);
        if (st == GREBE_OK || strstr(err.message, "e.npy") == NULL) {
            fail_msg("%s: status %d, %s", shapes[i], (int)st, err.message);
        }
    }
}

/* Offsets of types are added in 64 bits, whatever the file has. */
static void test_npy__narrow_ids_behind_large_offsets__do_not_wrap(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    const int8_t ends[] = { 100, 1, 0, 2 };
    put_text(f, "metadata.yaml",
             "graph:\n  nodes: [{type: b, num: 120}, {type: a, num: 200}]\n"
             "  edges: [{type: 'b:r:b', format: numpy, path: e.npy}]\n");
    put_npy(f, "e.npy", "|i1", "(2, 2)", false, 1, ends, 4);
    assert_ok(preprocess(f, NULL, &err));
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    const struct graph_csc *c = graph_dataset_csc(g);
    assert_int_equal(c->n_edges, 2);
    assert_int_equal(graph_id(&c->indices, 0), 300);
    assert_int_equal(graph_id(&c->indices, 1), 201);
    assert_int_equal(graph_id(&c->indptr, 200), 0);
    assert_int_equal(graph_id(&c->indptr, 201), 1);
    assert_int_equal(graph_id(&c->indptr, 203), 2);
    grebe_graph_close(g);
}

static void test_torch__a_tensor_of_two_rows__is_read(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    size_t n = 0;
    char path[700];
    snprintf(path, sizeof path, "%s/data/graphbolt/pt/i64.pt", TEST_DATA);
    unsigned char *bytes = test_read_file(path, &n);
    put(f, "e.pt", bytes, n);
    put_text(f, "metadata.yaml", "graph:\n  nodes: [{num: 6}]\n  edges: [{format: torch, path: e.pt}]\n");
    assert_ok(preprocess(f, NULL, &err));
    assert_lists(f, 6, (const int64_t[]){ 0, 0, 0, 0, 1, 2, 3 }, (const int64_t[]){ 0, 1, 2 },
                 (const int64_t[]){ 0, 1, 2 });
    put_text(f, "metadata.yaml", "graph:\n  nodes: [{num: 6}]\n  edges: [{format: parquet, path: e.pt}]\n");
    assert_fails(preprocess(f, NULL, &err), GREBE_ESCHEMA, "3:20: graph.edges[0].format: expected csv or numpy");
    put_text(f, "metadata.yaml", "graph:\n  nodes: [{num: 6}]\n  edges: [{format: parquet, path: no}]\n");
    assert_fails(preprocess(f, NULL, &err), GREBE_ENOTFOUND, "no does not exist");
    free(bytes);
}

static void test_types__their_number__says_how_wide_ids_are(void **state)
{
    (void)state;
    assert_int_equal(csc_type_of_types(1), ARRAY_U8);
    assert_int_equal(csc_type_of_types(256), ARRAY_U8);
    assert_int_equal(csc_type_of_types(257), ARRAY_I16);
    assert_int_equal(csc_type_of_types(32768), ARRAY_I16);
    assert_int_equal(csc_type_of_types(32769), ARRAY_I32);
}

static void test_types__at_each_width__are_written_and_read(void **state)
{
    static const struct {
        int n, type;
    } cases[] = { { 256, ARRAY_U8 }, { 257, ARRAY_I16 }, { 32768, ARRAY_I16 }, { 32769, ARRAY_I32 } };
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    put_text(f, "e.csv", "0,1\n2,1\n");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        grebe_graph *g = NULL;
        const int n = cases[k].n;
        char *text = malloc((size_t)n * 60 + 100), *p = text;
        p += sprintf(p, "graph:\n  nodes: [{type: a, num: 3}]\n  edges:\n");
        for (int i = 0; i < n; i++) { /* in another order than that of their names */
            p += sprintf(p, "  - {type: 'a:r%05d:a', format: csv, path: e.csv}\n", n - 1 - i);
        }
        put_text(f, "metadata.yaml", text);
        assert_ok(preprocess(f, NULL, &err));
        assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
        const struct graph_csc *c = graph_dataset_csc(g);
        assert_int_equal(c->n_edges, 2 * n);
        assert_int_equal(c->type_per_edge.type, cases[k].type);
        assert_string_equal(c->edge_types[n - 1], n == 256 ? "a:r00255:a" : n == 257 ? "a:r00256:a" : n == 32768 ? "a:r32767:a" : "a:r32768:a");
        for (int64_t i = 0; i < 2 * n; i++) {
            assert_true(graph_edge_type_at(c, i) == i / 2);
        }
        grebe_graph_close(g);
        free(text);
    }
}

/* Edges of the type that has id t: which, and how many, depends on t. */
static int edges_of_type(int t, int64_t ends[3][2])
{
    const int n = t % 3 + 1;
    for (int i = 0; i < n; i++) {
        ends[i][0] = (t / 3 + i) % 5;
        ends[i][1] = (t / 7 + 2 * i) % 4;
    }
    return n;
}

/*
 * Up to 2^16 types a record has the type beside the place of the edge, beyond it has a field of its own: both are compared with the
 * edges counted one by one, list by list, for one thread and, in ranges of little memory, for several.
 */
static void check_many_types(struct fixture *f, int n, uint32_t threads, uint64_t memory)
{
    enum { FILES = 420, NODES = 5, TARGETS = 4 }; /* files: 3 * 5 * 7 * 4, after which types have the same edges again */
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_graph *g = NULL;
    char *text = malloc((size_t)n * 64 + 200), *p = text;
    call.threads = threads;
    call.memory_limit_bytes = memory;
    o.call = &call;
    o.force = GREBE_GRAPH_ALWAYS;
    for (int i = 0; i < FILES; i++) {
        int64_t ends[3][2];
        char name[32], lines[100], *q = lines;
        const int n_edges = edges_of_type(i, ends);
        for (int k = 0; k < n_edges; k++) {
            q += sprintf(q, "%d,%d\n", (int)ends[k][0], (int)ends[k][1]);
        }
        sprintf(name, "e%d.csv", i);
        put_text(f, name, lines);
    }
    p += sprintf(p, "graph:\n  nodes: [{type: s, num: %d}, {type: d, num: %d}]\n  edges:\n", NODES, TARGETS);
    for (int i = n; i-- > 0;) { /* in another order than that of their names */
        p += sprintf(p, "  - {type: 's:r%06d:d', format: csv, path: e%d.csv}\n", i, i % FILES);
    }
    put_text(f, "metadata.yaml", text);
    assert_ok(preprocess(f, &o, &err));
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    const struct graph_csc *c = graph_dataset_csc(g);
    const struct graph_attribute *ids = graph_edge_attribute(c, "_ORIGINAL_EDGE_ID");
    assert_true(c->n_edge_types == (size_t)n && ids != NULL);
    assert_string_equal(c->node_types[0], "d"); /* has the first ids */
    int64_t at = 0;
    for (int64_t node = 0; node < TARGETS; node++) {
        assert_int_equal(graph_id(&c->indptr, node), at);
        for (int t = 0; t < n; t++) {
            int64_t ends[3][2], id = -1;
            const int n_edges = edges_of_type(t, ends);
            for (int k = 0; k < n_edges; k++) {
                if (ends[k][1] == node) {
                    assert_ok(tensor_read_i64(&ids->values, (uint64_t)at, 1, &id, &err));
                    assert_true(graph_id(&c->indices, at) == TARGETS + ends[k][0] && graph_edge_type_at(c, at) == t && id == k);
                    at++;
                }
            }
        }
    }
    for (int64_t node = TARGETS; node <= TARGETS + NODES; node++) {
        assert_int_equal(graph_id(&c->indptr, node), at);
    }
    assert_int_equal(c->n_edges, at);
    grebe_graph_close(g);
    free(text);
}

static void test_types__more_than_a_record_has_bits_for__are_those_that_were_counted(void **state)
{
    struct fixture *f = *state;
    check_many_types(f, 1 << 16, 1, 0);
    check_many_types(f, (1 << 16) + 1, 1, 0);
    check_many_types(f, (1 << 16) + 500, 3, 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_csc__multi_edges_and_isolated_nodes__are_kept_in_order, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_csv__what_is_two_integers__is_read, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_csv__what_is_not__is_refused_with_its_line, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_csv__a_separator_that_cannot_be__refused, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_csv__rows_of_features_that_are_not_as_many__are_told, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_csv__a_large_file__is_read_by_blocks, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_npy__layouts_and_versions__are_read, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_npy__what_is_no_node__refused, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_npy__narrow_ids_behind_large_offsets__do_not_wrap, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_torch__a_tensor_of_two_rows__is_read, fixture_set_up, fixture_tear_down),
        cmocka_unit_test(test_types__their_number__says_how_wide_ids_are),
        cmocka_unit_test_setup_teardown(test_types__at_each_width__are_written_and_read, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_types__more_than_a_record_has_bits_for__are_those_that_were_counted, fixture_set_up,
                                        fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
