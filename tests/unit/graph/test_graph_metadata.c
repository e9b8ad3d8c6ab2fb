/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata that is wrong, or looks so: what is told, and where. */
#include "graph/graph_metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "grebe/graph.h"
#include "graph_json.h"
#include "test_fixture.h"
#include "test_support.h"

struct told {
    char text[20000]; /* "line:column field: message" a line */
    size_t n, n_errors;
    uint64_t lines[64];
};

static void tell(void *arg, const grebe_graph_problem *p)
{
    struct told *t = arg;
    size_t len = strlen(t->text);
    snprintf(t->text + len, sizeof t->text - len, "%s%llu:%llu %s: %s\n", p->is_error ? "" : "warning ",
             (unsigned long long)p->line, (unsigned long long)p->column, p->field, p->message);
    t->n_errors += p->is_error ? 1 : 0;
    if (t->n < 64) {
        t->lines[t->n++] = p->line;
    }
}

static void put_file(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, bytes, n);
}

/* A line of bad.jsonl as a folder. */
static void make_case(struct fixture *f, const struct json_value *c, size_t number, char *folder, size_t room)
{
    const struct json_value *metadata = json_get(c, "metadata"), *files = json_get(c, "files");
    snprintf(folder, room, "%s/%zu", f->folder, number);
    mkdir(folder, 0777);
    put_file(folder, "metadata.yaml", metadata->text, metadata->n);
    for (size_t i = 0; i < files->n; i++) {
        const struct json_value *text = json_get(&files->members[i].value, "text"),
                                *coded = json_get(&files->members[i].value, "base64");
        if (text != NULL) {
            put_file(folder, files->members[i].key, text->text, text->n);
        } else {
            struct buf b = BUF_INIT(f->ctx->a);
            grebe_error err = GREBE_ERROR_INIT;
            assert_ok(base64_decode(&b, coded->text, coded->n, &err));
            put_file(folder, files->members[i].key, b.data, b.len);
            buf_release(&b);
        }
    }
}

/* A line that is wanted is that of a problem, or is named in one. */
static bool names_line(const struct told *t, uint64_t line)
{
    char text[40], place[40];
    for (size_t i = 0; i < t->n; i++) {
        if (t->lines[i] == line) {
            return true;
        }
    }
    snprintf(text, sizeof text, "line %llu", (unsigned long long)line);
    snprintf(place, sizeof place, ":%llu:", (unsigned long long)line);
    return strstr(t->text, text) != NULL || strstr(t->text, place) != NULL;
}

static void check_place(const char *name, const struct json_value *want, const struct told *t)
{
    uint64_t line = 0;
    const struct json_value *lines = json_get(want, "lines"), *at = json_get(want, "at");
    if (json_u64(json_get(want, "line"), &line) && !names_line(t, line)) {
        fail_msg("%s: line %llu is not named in: %s", name, (unsigned long long)line, t->text);
    }
    for (size_t i = 0; lines != NULL && i < lines->n; i++) {
        assert_true(json_u64(&lines->items[i], &line));
        if (!names_line(t, line)) {
            fail_msg("%s: line %llu is not named in: %s", name, (unsigned long long)line, t->text);
        }
    }
    if (at != NULL && strstr(t->text, json_get(at, "file")->text) == NULL) {
        fail_msg("%s: the file is not named in: %s", name, t->text);
    }
    static const char *const keys[] = { "row %s", "edge %s", "node %s", "bound is %s" }, *const fields[] = {
        "row", "column", "value", "bound"
    };
    for (size_t i = 0; at != NULL && i < 4; i++) {
        char text[60];
        const struct json_value *v = json_get(at, fields[i]);
        snprintf(text, sizeof text, "%.*s%s", (int)(strlen(keys[i]) - 2), keys[i], v != NULL ? v->text : "");
        if (v != NULL && strstr(t->text, text) == NULL) {
            fail_msg("%s: \"%s\" is not in: %s", name, text, t->text);
        }
    }
}

/* What the message of a line that is refused, or warned of, must say. */
static const char *const said[][2] = {
    { "empty file", "the file is empty: a section \"graph\" is needed" },
    { "no graph section", "the section \"graph\" is missing" },
    { "num missing", "graph.nodes[0].num: num is required" },
    { "num is text", "num must be an integer; 1e3 is a text in YAML 1.1" },
    { "num negative", "num must not be negative, found -1" },
    { "num too small", "e.npy: row 0, edge 2: node 3, the bound is 2" },
    { "edge format torch", "graph.edges[0].format: expected csv or numpy" },
    { "edge type of two parts", "source:relation:destination, found a:b" },
    { "edge type of four parts", "source:relation:destination, found a:x:y:b" },
    { "edge type with unknown end", "node type zz is not declared; known are a, b" },
    { "edge type read as a sexagesimal number", "1:2:3 is the number 3723 in YAML 1.1; taken as the text \"1:2:3\": quote it" },
    { "node type twice", "node type a is declared twice" },
    { "edge type twice", "edge type a:x:b is declared twice" },
    { "typed node, untyped edge", "an edge type is needed because nodes have types" },
    { "missing data file", "nope.npy does not exist" },
    { "feature rows differ from node count", "3 rows, the graph has 4 nodes" },
    { "in_memory is a number", "in_memory is true or false, found 2" },
    { "in_memory misspelt", "did you mean in_memory? Kept as metadata" },
    { "domain in capitals", "domain is node or edge, found Node" },
    { "object array", "expected numbers or bool, found the type '|O'" },
    { "two untyped sets", "only one set may be there, and alone, when it has no type" },
    { "arrays of a set differ in length", "seeds has 3 items, labels has 4" },
    { "set without data", "data is required" },
    { "mapping key twice", "a key that is there already: num, on line 4" },
    { "two mistakes at once", "num must not be negative, found -3" },
    { "csv: three columns", "e.csv:1: line 1 has 3 fields, 2 are wanted" },
    { "csv: header line", "e.csv:1: the first field is not an integer: \"src\"" },
    { "csv: ragged line", "e.csv:2: line 2 has 3 fields" },
    { "csv: missing value", "e.csv:2: the second field is empty" },
    { "csv: decimals", "e.csv:1: the first field is not an integer: \"0.0\"" },
    { "csv: tabs", "line 1 has 1 field, 2 are wanted; separated by tabs?" },
    { "csv: larger than int64", "e.csv:1: the second field does not fit 64 bits" },
    { "csv: out of range", "e.csv:2: column 1: node 4, the bound is 4" },
    { "csv: negative", "e.csv:2: column 1: node -1" },
    { "npy edges float32", "edges must be integers, found float32" },
    { "npy edges float64", "edges must be integers, found float64" },
    { "npy edges bool", "edges must be integers, found bool" },
    { "npy edges transposed", "the shape is (5, 2), (2, edges) is wanted: transpose it" },
};

static void check_words(const char *name, const char *status, const struct told *t)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        if (strcmp(said[i][0], name) == 0) {
            n++;
            if (strstr(t->text, said[i][1]) == NULL) {
                fail_msg("%s: \"%s\" is not in: %s", name, said[i][1], t->text);
            }
        }
    }
    assert_int_equal(n, strcmp(status, "ok") == 0 ? 0 : 1); /* every such line is in the table */
    if (n == 0 && t->n > 0) {
        fail_msg("%s: nothing is wrong, found: %s", name, t->text);
    }
}

/* The edges by destination, in their order. */
static void check_edges(struct fixture *f, const char *folder, const struct json_value *edges)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    grebe_graph_info info;
    int64_t k = 0;
    assert_ok(grebe_graph_open(f->ctx, folder, &g, &err));
    grebe_graph_get_info(g, &info);
    assert_int_equal(info.n_edges, edges->items[0].n);
    for (int64_t v = 0; v < info.n_nodes; v++) {
        assert_int_equal(((const int32_t *)info.indptr.data)[v], k);
        for (size_t i = 0; i < edges->items[0].n; i++) {
            int64_t source = -1, destination = -1;
            assert_true(json_i64(&edges->items[0].items[i], &source) &&
                        json_i64(&edges->items[1].items[i], &destination));
            if (destination == v) {
                assert_int_equal(((const int32_t *)info.indices.data)[k], source);
                k++;
            }
        }
    }
    assert_int_equal(k, info.n_edges);
    grebe_graph_close(g);
}

static void check_case(struct fixture *f, const struct json_value *c, size_t number)
{
    char folder[600], made[700];
    struct told *t = calloc(1, sizeof *t);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    const struct json_value *want = json_get(c, "want");
    const char *name = json_get(c, "name")->text, *status = json_get(want, "status")->text;
    size_t n_errors = 0;
    make_case(f, c, number, folder, sizeof folder);
    o.on_problem = tell;
    o.problem_arg = t;
    o.is_deep = true;
    assert_ok(grebe_graph_check(f->ctx, folder, &o, &n_errors, &err));
    assert_int_equal(n_errors, t->n_errors);
    check_place(name, want, t);
    check_words(name, status, t);
    if (strcmp(status, "error") == 0 ? n_errors == 0 : n_errors > 0) {
        fail_msg("%s: expected %s, found %s", name, status, t->text);
    }
    if (strcmp(status, "warning") == 0) {
        assert_true(t->n > 0);
        o.is_strict = true;
        assert_ok(grebe_graph_check(f->ctx, folder, &o, &n_errors, &err));
        assert_true(n_errors > 0);
        o.is_strict = false;
    }
    grebe_status st = grebe_graph_preprocess(f->ctx, folder, &o, NULL, &err);
    assert_int_equal(st == GREBE_OK, strcmp(status, "error") != 0);
    snprintf(made, sizeof made, "%s/preprocessed", folder);
    assert_int_equal(access(made, F_OK) == 0, st == GREBE_OK); /* nothing is written of what is wrong */
    if (st == GREBE_OK && json_get(want, "edges") != NULL) {
        check_edges(f, folder, json_get(want, "edges"));
    }
    free(t);
}

static void test_check__bad_metadata__is_told_with_its_place(void **state)
{
    struct fixture *f = *state;
    char path[600];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/data/graphbolt/bad.jsonl", TEST_DATA);
    unsigned char *text = test_read_file(path, &n);
    size_t at = 0, number = 0;
    while (at < n) {
        const unsigned char *end = memchr(text + at, '\n', n - at);
        size_t len = end != NULL ? (size_t)(end - (text + at)) : n - at;
        struct arena ar = ARENA_INIT(f->ctx->a);
        const struct json_value *c = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        assert_ok(json_parse(&ar, (const char *)text + at, len, &c, &err));
        check_case(f, c, number++);
        arena_release(&ar);
        at += len + 1;
    }
    assert_int_equal(number, 60);
    free(text);
}

static const char five[] =
    "dataset_name: t\ngraph:\n  nodes:\n  - type: a\n    num: -4\n  - type: b\n    num: 1.5\n  edges:\n  - type: "
    "'a:x:c'\n"
    "    format: csv\n    path: nope.csv\nfeature_data:\n- domain: Node\n  type: a\n  name: x\n  format: numpy\n"
    "  path: no.npy\n";

static struct told *check_text(struct fixture *f, const char *text, size_t *n_errors)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    struct told *t = calloc(1, sizeof *t);
    put_file(f->folder, "metadata.yaml", text, strlen(text));
    o.on_problem = tell;
    o.problem_arg = t;
    assert_ok(grebe_graph_check(f->ctx, f->folder, &o, n_errors, &err));
    return t;
}

static void test_check__several_mistakes__are_told_in_one_run(void **state)
{
    size_t n = 0;
    struct told *t = check_text(*state, five, &n);
    static const char *const wanted[] = { "5:10 graph.nodes[0].num",      "7:10 graph.nodes[1].num",
                                          "9:11 graph.edges[0].type",     "11:11 graph.edges[0].path",
                                          "13:11 feature_data[0].domain", "17:9 feature_data[0].path" };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (strstr(t->text, wanted[i]) == NULL) {
            fail_msg("%s is not in: %s", wanted[i], t->text);
        }
    }
    assert_int_equal(n, 6);
    free(t);
}

static void put_npy_floats(struct fixture *f, const char *name)
{
    unsigned char bytes[128 + 16] = "\x93NUMPY\x01";
    memset(bytes + 10, ' ', 118);
    bytes[8] = 118;
    memcpy(bytes + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 57);
    bytes[127] = '\n';
    put_file(f->folder, name, bytes, sizeof bytes);
}

/* Where files are wrong, the values of others are looked at all the same, and each file is told of once. */
static void test_check_deep__wrong_files__all_are_told_in_one_run(void **state)
{
    static const char text[] = "graph:\n  nodes: [{num: 4}]\n  edges: [{format: csv, path: e.csv}]\n"
                               "feature_data: [{domain: node, name: x, format: numpy, path: x.npy}, {domain: node, name: y, format: numpy, path: no.npy}]\n"
                               "tasks: [{train_set: [{data: [{name: seeds, format: numpy, path: x.npy}]}]}]\n";
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    struct told *t = calloc(1, sizeof *t);
    size_t n = 0;
    put_file(f->folder, "e.csv", "0,1\n1,4\n", 8);
    put_npy_floats(f, "x.npy");
    put_file(f->folder, "metadata.yaml", text, sizeof text - 1);
    o.is_deep = true;
    o.on_problem = tell;
    o.problem_arg = t;
    assert_ok(grebe_graph_check(f->ctx, f->folder, &o, &n, &err));
    assert_non_null(strstr(t->text, "no.npy does not exist"));
    assert_non_null(strstr(t->text, "seeds"));
    assert_non_null(strstr(t->text, "e.csv:2: column 2: node 4, the bound is 4"));
    if (n != 3) {
        fail_msg("%zu errors: %s", n, t->text);
    }
    free(t);
}

static void test_check__anchors_and_merge_keys__are_followed(void **state)
{
    size_t n = 0;
    struct fixture *f = *state;
    put_file(f->folder, "e.csv", "0,1\n", 4);
    struct told *t =
        check_text(f, "x: &e {format: csv, path: e.csv}\ngraph:\n  nodes: [{num: 0x2}]\n  edges:\n  - <<: *e\n", &n);
    assert_string_equal(t->text, "");
    assert_int_equal(n, 0);
    free(t);
}

/* Nine aliases of nine aliases, ten levels deep: refused before it takes memory. */
static void test_check__alias_bomb__is_refused(void **state)
{
    size_t n = 0;
    struct fixture *f = *state;
    const grebe_allocator *before = f->ctx->a;
    struct test_allocator a;
    char text[1000] = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 10; i++) {
        char line[100];
        snprintf(line, sizeof line, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1,
                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        strcat(text, line);
    }
    test_allocator_init(&a);
    f->ctx->a = &a.a;
    struct told *t = check_text(f, text, &n);
    f->ctx->a = before;
    assert_int_equal(n, 1);
    assert_non_null(strstr(t->text, "limit"));
    assert_int_equal(a.n_live, 0);
    assert_true(a.peak_bytes < 10 << 20 && a.n_calls < 2000); /* the whole would be 3.5 thousand million values */
    free(t);
}

static void test_check__sets_that_do_not_fit__are_refused(void **state)
{
    size_t n = 0;
    struct fixture *f = *state;
    put_file(f->folder, "e.csv", "0,1\n", 4);
    struct told *t = check_text(
        f,
        "graph:\n  nodes: [{type: a, num: 2}]\n  edges: [{type: 'a:r:a', format: csv, path: e.csv}]\ntasks:\n"
        "- train_set:\n  - data: []\n  - type: a\n    data: []\n  test_set:\n  - type: a\n    data: []\n"
        "  - type: a\n    data: [{format: torch, path: e.csv, name: q}]\n",
        &n);
    assert_non_null(strstr(t->text, "7:5 tasks[0].train_set[1]: only one set"));
    assert_non_null(strstr(t->text, "tasks[0].test_set[1].type: a set of type a is there already, on line 10"));
    assert_non_null(strstr(t->text, "names of its items differ"));
    free(t);
}

/* Lists of features and tasks that are null, empty or not there are the same. */
static void test_preprocess__null_empty_and_absent_lists__are_the_same(void **state)
{
    static const char *const values[] = { NULL, "null", "~", "", "[]" };
    struct fixture *f = *state;
    char text[400];
    put_file(f->folder, "e.csv", "0,1\n", 4);
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 5; j++) {
            grebe_error err = GREBE_ERROR_INIT;
            grebe_graph *g = NULL;
            grebe_graph_info info;
            size_t n = 0;
            int len = snprintf(text, sizeof text, "graph:\n  nodes: [{num: 2}]\n  edges: [{format: csv, path: e.csv}]\n");
            len += values[i] == NULL ? 0 : snprintf(text + len, sizeof text - (size_t)len, "feature_data: %s\n", values[i]);
            (void)(values[j] == NULL ? 0 : snprintf(text + len, sizeof text - (size_t)len, "tasks: %s\n", values[j]));
            struct told *t = check_text(f, text, &n);
            assert_string_equal(t->text, "");
            free(t);
            assert_ok(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err));
            assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
            grebe_graph_get_info(g, &info);
            assert_true(info.n_features == 0 && info.n_tasks == 0 && info.n_edges == 1);
            grebe_graph_close(g);
        }
    }
}

/* in_memory: true where it is not said, false where it is null; a key that looks like it is metadata, of the type that YAML gives it. */
static void test_preprocess__in_memory__absent_null_and_misspelt(void **state)
{
    static const struct { const char *line; bool is_in_memory; const char *metadata; } table[] = {
        { "", true, "{}" },
        { "in_memory: null", false, "{}" },
        { "in_memory: ~", false, "{}" },
        { "in_memory: false", false, "{}" },
        { "in_memory: \"true\"", true, "{}" },
        { "in_memory: yes", true, "{}" },
        { "in_memory: 0", false, "{}" },
        { "in_memmory: false", true, "{\"in_memmory\":false}" },
        { "units: cm\n  extra: {a: [1, 2.5, null], b: {c: yes}}\n  n: 010", true,
          "{\"units\":\"cm\",\"extra\":{\"a\":[1,2.5,null],\"b\":{\"c\":true}},\"n\":8}" },
    };
    struct fixture *f = *state;
    char text[600];
    put_file(f->folder, "e.csv", "0,1\n", 4);
    put_npy_floats(f, "x.npy");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_graph_feature x;
        grebe_graph *g = NULL;
        snprintf(text, sizeof text, "graph:\n  nodes: [{num: 4}]\n  edges: [{format: csv, path: e.csv}]\nfeature_data:\n"
                 "- domain: node\n  name: x\n  format: numpy\n  path: x.npy\n  %s\n", table[i].line);
        put_file(f->folder, "metadata.yaml", text, strlen(text));
        assert_ok(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err));
        assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
        assert_ok(grebe_graph_get_feature(g, 0, &x, &err));
        assert_int_equal(x.is_in_memory, table[i].is_in_memory);
        struct arena ar = ARENA_INIT(f->ctx->a);
        const struct json_value *expected = NULL;
        assert_ok(json_parse(&ar, table[i].metadata, strlen(table[i].metadata), &expected, &err));
        assert_json_text(&ar, x.metadata, expected);
        arena_release(&ar);
        grebe_graph_close(g);
    }
}

/* Folders that are none, or have no metadata; and edge features whose rows could not be found afterwards. */
static void test_preprocess__paths_and_edge_ids__are_told(void **state)
{
    static const char text[] = "graph:\n  nodes: [{num: 4}]\n  edges: [{format: csv, path: e.csv}]\nfeature_data:\n"
                               "- {domain: edge, name: x, format: numpy, path: x.npy}\n";
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    struct told *t = calloc(1, sizeof *t);
    char path[700];
    size_t n = 0;
    assert_fails(grebe_graph_check(f->ctx, f->folder, NULL, &n, &err), GREBE_ENOTFOUND, "metadata.yaml");
    snprintf(path, sizeof path, "%s/nowhere", f->folder);
    assert_fails(grebe_graph_check(f->ctx, path, NULL, &n, &err), GREBE_ENOTFOUND, "nowhere");
    assert_fails(grebe_graph_preprocess(f->ctx, path, NULL, NULL, &err), GREBE_ENOTFOUND, "nowhere");
    put_file(f->folder, "e.csv", "0,1\n1,2\n2,3\n3,0\n", 16);
    put_npy_floats(f, "x.npy");
    put_file(f->folder, "metadata.yaml", text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/e.csv", f->folder);
    assert_fails(grebe_graph_check(f->ctx, path, NULL, &n, &err), GREBE_EINVAL, "expected the folder of a data set");
    o.on_problem = tell;
    o.problem_arg = t;
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
    assert_string_equal(t->text, "");
    o.edge_ids = GREBE_GRAPH_EDGE_IDS_DROPPED;
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
    assert_non_null(strstr(t->text, "cannot be found for sampled edges without original edge ids"));
    assert_int_equal(t->n_errors, 0);
    free(t);
}

static void test_yaml__scalars__are_those_of_python(void **state)
{
    static const struct {
        const char *text;
        enum graph_yaml_kind kind;
        int64_t integer;
    } cases[] = {
        { "010", GRAPH_YAML_INT, 8 },
        { "0x1F", GRAPH_YAML_INT, 31 },
        { "0b101", GRAPH_YAML_INT, 5 },
        { "1_000", GRAPH_YAML_INT, 1000 },
        { "1:2:3", GRAPH_YAML_INT, 3723 },
        { "-7", GRAPH_YAML_INT, -7 },
        { "08", GRAPH_YAML_TEXT, 0 },
        { "1e3", GRAPH_YAML_TEXT, 0 },
        { "1.0e+3", GRAPH_YAML_FLOAT, 0 },
        { "1.", GRAPH_YAML_FLOAT, 0 },
        { ".5", GRAPH_YAML_FLOAT, 0 },
        { ".inf", GRAPH_YAML_FLOAT, 0 },
        { "y", GRAPH_YAML_TEXT, 0 },
        { "On", GRAPH_YAML_BOOL, 0 },
        { "oN", GRAPH_YAML_TEXT, 0 },
        { "~", GRAPH_YAML_NULL, 0 },
        { "nULL", GRAPH_YAML_TEXT, 0 },
        { "A:a_b:B", GRAPH_YAML_TEXT, 0 },
        { "99999999999999999999", GRAPH_YAML_TEXT, 0 },
        { "1:60", GRAPH_YAML_TEXT, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct yaml_tree t = graph_yaml_plain(cases[i].text);
        struct graph_yaml_scalar x = graph_yaml_scalar_of(&t);
        if (x.kind != cases[i].kind || (x.kind == GRAPH_YAML_INT && x.integer != cases[i].integer)) {
            fail_msg("%s: kind %d, %lld", cases[i].text, (int)x.kind, (long long)x.integer);
        }
    }
}

/* What is written is read back as the same. */
static void test_yaml_dump__any_text__is_read_back(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
        "",     " ",    "a b", "no",   "1e3",  "1:2:3",  "2020-01-01", "a: b",
        "a #b", "- x",  "#",   "it's", "\"",   "\\",     "line\nline", "\xc3\xa9t\xc3\xa9",
        "~",    "null", "[",   "{}",   "&a",   "*a",     "!x",         "%",
        "@",    "`",    "=",   "a:",   ":a",   "tab\tx", "0x10",       ".5",
        "...",  "---",  "?",   "yes",  "x\x01"
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena ar = ARENA_INIT(f->ctx->a);
        struct buf b = BUF_INIT(f->ctx->a);
        grebe_error err = GREBE_ERROR_INIT;
        struct yaml_tree empty = { .type = YAML_TREE_MAP }, v = graph_yaml_text(texts[i]);
        const struct yaml_tree *map = graph_yaml_set(&ar, &empty, "k", &v), *back = NULL;
        assert_ok(graph_yaml_dump(&b, map, &err));
        assert_ok(yaml_tree_parse(&ar, "x", (const char *)b.data, b.len, &back, &err));
        const struct yaml_tree *found = yaml_tree_get(back, "k");
        assert_int_equal(graph_yaml_scalar_of(found).kind, GRAPH_YAML_TEXT);
        assert_string_equal(found->text, texts[i]);
        buf_release(&b);
        arena_release(&ar);
    }
}

/* A key of up to 1,100 bytes at every place that one may have: the form is that of PyYAML, and is read back. */
static void test_yaml_dump__long_keys__are_read_back(void **state)
{
    struct fixture *f = *state;
    static const struct {
        size_t n;
        const char *mark, *colon;
    } lengths[] = { { 122, "", ":" }, { 123, "? ", "\n:" }, { 1023, "? ", "\n:" }, { 1100, "? ", "\n:" } };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct arena ar = ARENA_INIT(f->ctx->a);
        struct buf given = BUF_INIT(f->ctx->a), made = BUF_INIT(f->ctx->a), again = BUF_INIT(f->ctx->a), want = BUF_INIT(f->ctx->a);
        grebe_error err = GREBE_ERROR_INIT;
        const struct yaml_tree *map = NULL, *back = NULL;
        char key[1200] = "";
        memset(key, 'k', lengths[i].n);
        assert_ok(buf_printf(&given, &err, "a:\n- ? %s\n  : {c: 1, d: [2]}\n  z: 3\n- [{? %s : {}}]\n? %s\n: [4, {e: 5}]\n", key, key, key));
        assert_ok(yaml_tree_parse(&ar, "x", (const char *)given.data, given.len, &map, &err));
        assert_ok(graph_yaml_dump(&made, map, &err));
        const bool is_long = lengths[i].mark[0] != '\0';
        assert_ok(buf_printf(&want, &err, "a:\n- %s%s%s%sc: 1\n    d:\n    - 2\n  z: 3\n- - %s%s%s%s {}\n", lengths[i].mark, key,
                             is_long ? "\n  :" : ":", is_long ? " " : "\n    ", lengths[i].mark, key, is_long ? "\n    :" : ":", ""));
        assert_ok(buf_printf(&want, &err, "%s%s%s%s- 4\n%s- e: 5\n", lengths[i].mark, key, lengths[i].colon, is_long ? " " : "\n",
                             is_long ? "  " : ""));
        assert_int_equal(made.len, want.len);
        assert_memory_equal(made.data, want.data, want.len);
        assert_ok(yaml_tree_parse(&ar, "x", (const char *)made.data, made.len, &back, &err));
        assert_ok(graph_yaml_dump(&again, back, &err));
        assert_int_equal(again.len, made.len);
        assert_memory_equal(again.data, made.data, made.len);
        assert_non_null(yaml_tree_get(back, key));
        buf_release(&given);
        buf_release(&made);
        buf_release(&again);
        buf_release(&want);
        arena_release(&ar);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_check__bad_metadata__is_told_with_its_place, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_check__several_mistakes__are_told_in_one_run, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_check__anchors_and_merge_keys__are_followed, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_check__alias_bomb__is_refused, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_check_deep__wrong_files__all_are_told_in_one_run, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_check__sets_that_do_not_fit__are_refused, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__null_empty_and_absent_lists__are_the_same, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__in_memory__absent_null_and_misspelt, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__paths_and_edge_ids__are_told, fixture_set_up, fixture_tear_down),
        cmocka_unit_test(test_yaml__scalars__are_those_of_python),
        cmocka_unit_test_setup_teardown(test_yaml_dump__any_text__is_read_back, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_yaml_dump__long_keys__are_read_back, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
