/* SPDX-License-Identifier: Apache-2.0 */
/* Files that make much of little: no piece of memory is above four times the file, or a block of an arena. And limits that are kept. */
#include "graph/graph_metadata.h"

#include <stdio.h>
#include <stdlib.h>

#include "array/tensor.h"
#include "base/buf.h"
#include "graph/graph_edges.h"
#include "grebe/graph.h"
#include "test_fixture.h"
#include "test_support.h"

enum { TIMES = 40000 };

#define GRAPH "graph:\n  nodes: [{num: 1}]\n  edges: [{format: csv, path: e.csv}]\n"

/* A text, one that is said many times, and the end. Problems or none: what counts is the memory. */
static const struct {
    const char *what, *begin, *again, *end;
} bombs[] = {
    { "a list of nothing", "graph:\n  nodes: [", "a,", "]\n" },
    { "items below each other", "graph:\n  nodes:\n", "  -\n", "" },
    { "nodes by alias", "x: &a {num: 1}\ngraph:\n  nodes: [", "*a,", "]\n" },
    { "edges by alias", "x: &a {format: csv, path: e.csv, type: 'a:b:a'}\ngraph:\n  nodes: [{num: 1, type: a}]\n  edges: [", "*a,", "]\n" },
    { "empty edges", "graph:\n  nodes: [{num: 1}]\n  edges: [", "{},", "]\n" },
    { "features by alias", "x: &a {domain: node, name: f, format: numpy, path: f}\n" GRAPH "feature_data: [", "*a,", "]\n" },
    { "attributes by alias", "x: &a {domain: node, name: f, format: numpy, path: x.npy}\ngraph:\n  nodes: [{num: 1}]\n"
      "  edges: [{format: csv, path: e.csv}]\n  feature_data: [", "*a,", "]\n" },
    { "empty features", GRAPH "feature_data: [", "{},", "]\n" },
    { "extra fields by alias", "x: &a {a: 1, b: 2, c: 3, d: 4}\n" GRAPH "feature_data: [", "{extra_fields: *a},", "]\n" },
    { "tasks by alias", "x: &a {train_set: []}\n" GRAPH "tasks: [", "*a,", "]\n" },
    { "empty tasks", GRAPH "tasks: [", "{},", "]\n" },
    { "sets by alias", "x: &a {data: []}\n" GRAPH "tasks: [{train_set: [", "*a,", "]}]\n" },
    { "items by alias", "x: &a {format: numpy, path: f}\n" GRAPH "tasks: [{train_set: [{data: [", "*a,", "]}]}]\n" },
    { "merged maps", "x: &a {format: csv, path: e.csv}\ngraph:\n  nodes: [{num: 1}]\n  edges: [", "{<<: *a},", "]\n" },
    { "one map merged", "x: &a {format: csv, path: e.csv}\n" GRAPH "y:\n  <<: [", "*a,", "]\n" },
    { "keys", GRAPH "y: {", "? a\n,", "}\n" },
    { "anchors", GRAPH "y: [", "&a 1,", "]\n" },
    { "one long text", GRAPH "y: \"", "aaaaaaaa", "\"\n" },
    { "one long plain text", GRAPH "dataset_name: ", "aaaaaaaa", "\n" },
    { "levels", GRAPH "y: ", "[", "\n" },
};

/* One float64. */
static const char npy[] = "\x93NUMPY\x01\0\x38\0{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}\n" "\0\0\0\0\0\0\0\0";

/* For the work of f under an allocator that counts. */
static size_t largest_of(struct fixture *f, void (*work)(struct fixture *f))
{
    const grebe_allocator *before = f->ctx->a;
    struct test_allocator a;
    test_allocator_init(&a);
    f->ctx->a = &a.a;
    work(f);
    f->ctx->a = before;
    assert_int_equal(a.n_live, 0);
    return a.largest_bytes;
}

static void check(struct fixture *f)
{
    size_t n = 0;
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(grebe_graph_check(f->ctx, f->folder, NULL, &n, &err));
}

static size_t put_text(const char *folder, const char *name, const char *begin, const char *again, const char *end)
{
    char path[600];
    const size_t n = strlen(again);
    size_t len = strlen(begin);
    char *text = malloc(len + TIMES * n + strlen(end) + 1);
    strcpy(text, begin);
    for (size_t i = 0; i < TIMES; i++, len += n) {
        memcpy(text + len, again, n);
    }
    strcpy(text + len, end);
    len += strlen(end);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, text, len);
    free(text);
    return len;
}

static void test_check__bombs_of_yaml__no_piece_above_four_times_the_file(void **state)
{
    struct fixture *f = *state;
    char path[600];
    put_text(f->folder, "e.csv", "", "0,0\n", "");
    snprintf(path, sizeof path, "%s/x.npy", f->folder);
    test_write_file(path, npy, sizeof npy - 1);
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        size_t len = put_text(f->folder, "metadata.yaml", bombs[i].begin, bombs[i].again, bombs[i].end), most = largest_of(f, check);
        if (most > 4 * len + ARENA_BLOCK_MAX) {
            fail_msg("%s, %zu bytes of YAML: %zu bytes at once", bombs[i].what, len, most);
        }
    }
}

static void read_edges(struct fixture *f)
{
    static int64_t ends[2][GRAPH_BLOCK_EDGES + 1];
    grebe_error err = GREBE_ERROR_INIT;
    char path[600];
    struct graph_metadata *m = NULL;
    struct graph_edges e = { 0 };
    snprintf(path, sizeof path, "%s/metadata.yaml", f->folder);
    assert_ok(graph_metadata_read(f->ctx, path, f->folder, GRAPH_RAW, false, &m, &err));
    assert_int_equal(m->n_errors, 0);
    grebe_status st = graph_edges_open(m, 0, &(struct graph_csv_options){ 0 }, &e, &err);
    for (size_t i = 0; st == GREBE_OK && i < e.n_blocks; i++) {
        size_t n = 0;
        st = graph_edges_read(&e, i, ends[0], ends[1], &n, &err);
    }
    graph_edges_close(&e);
    graph_metadata_free(m);
}

static void test_edges__texts_of_every_kind__no_piece_above_four_times_the_file(void **state)
{
    static const char *const lines[] = { "0,0\n", "\n", "0", "00000000,0\n", "0,0,0\n", "\r\n", "\"0\",\"0\"\n", "#", "," };
    struct fixture *f = *state;
    put_text(f->folder, "metadata.yaml", GRAPH, "", "");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        size_t len = put_text(f->folder, "e.csv", "", lines[i], ""), most = largest_of(f, read_edges);
        if (most > 4 * len + ARENA_BLOCK_MAX) {
            fail_msg("line %zu, %zu bytes: %zu bytes at once", i, len, most);
        }
    }
}

/* ---- limits ---- */

enum { WIDE_EDGES = 200, WIDE_NODES = 20, WIDE_BYTES = 160 << 10 };

static void preprocess_wide(struct fixture *f, uint64_t memory, uint32_t threads, struct test_allocator *a)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    const grebe_allocator *before = f->ctx->a;
    call.memory_limit_bytes = memory;
    call.threads = threads;
    o.call = &call;
    o.force = GREBE_GRAPH_ALWAYS;
    test_allocator_init(a);
    f->ctx->a = &a->a;
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
    f->ctx->a = before;
    assert_int_equal(a->n_live, 0);
}

/* Rows of which not even two fit the second cache: a piece is one edge, and memory is what was allowed. */
static void test_preprocess__wide_attributes__within_the_limit(void **state)
{
    static const char text[] = "graph:\n  nodes: [{num: 20}]\n  edges: [{format: csv, path: e.csv}]\n  feature_data:\n"
                               "  - {domain: edge, name: w, format: numpy, path: w.npy}\n";
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct test_allocator a;
    struct buf b = BUF_INIT(f->ctx->a);
    char path[600], lines[WIDE_EDGES * 8], *p = lines;
    unsigned char *all = NULL;
    size_t n_all = 0;
    assert_ok(tensor_npy_header(&b, ARRAY_U8, (uint64_t[]){ WIDE_EDGES, WIDE_BYTES }, 2, &err));
    for (int i = 0; i < WIDE_EDGES; i++) {
        p += sprintf(p, "%d,%d\n", i % 7, i * 11 % WIDE_NODES);
        for (int k = 0; k < WIDE_BYTES / 8; k++) {
            unsigned char v[8] = { (unsigned char)i, (unsigned char)k, (unsigned char)(k >> 8) };
            assert_ok(buf_put(&b, v, sizeof v, &err));
        }
    }
    snprintf(path, sizeof path, "%s/metadata.yaml", f->folder);
    test_write_file(path, text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/e.csv", f->folder);
    test_write_file(path, lines, (size_t)(p - lines));
    snprintf(path, sizeof path, "%s/w.npy", f->folder);
    test_write_file(path, b.data, b.len);
    buf_release(&b);
    static const struct {
        uint64_t memory;
        uint32_t threads;
    } ways[] = { { UINT64_MAX, 1 }, { 8 << 20, 1 }, { 16 << 20, 2 }, { 6 << 20, 1 } };
    snprintf(path, sizeof path, "%s/preprocessed/fused_csc_sampling_graph.pt", f->folder);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        size_t n = 0;
        preprocess_wide(f, ways[i].memory, ways[i].threads, &a);
        if (ways[i].memory != UINT64_MAX && a.peak_bytes > ways[i].memory + (256 << 10)) { /* and what does not depend on the edges */
            fail_msg("%zu bytes with a limit of %llu", a.peak_bytes, (unsigned long long)ways[i].memory);
        }
        unsigned char *bytes = test_read_file(path, &n);
        if (all != NULL) {
            assert_int_equal(n, n_all);
            assert_memory_equal(bytes, all, n);
            free(bytes);
        } else {
            all = bytes;
            n_all = n;
        }
    }
    free(all);
}

/* Two rows of 10^9 numbers in a file that has one. */
static void test_check__one_value_shown_many_times__refused(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    char text[900];
    snprintf(text, sizeof text, "%s/metadata.yaml", f->folder);
    char path[900];
    memcpy(path, text, sizeof path);
    snprintf(text, sizeof text, "graph:\n  nodes: [{num: 1}]\n  edges: [{format: torch, path: %s/data/graphbolt/pt/expanded.pt}]\n", TEST_DATA);
    test_write_file(path, text, strlen(text));
    assert_fails(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err), GREBE_ESCHEMA, "2000000000 values of which the file has but some");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_check__bombs_of_yaml__no_piece_above_four_times_the_file, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__wide_attributes__within_the_limit, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_check__one_value_shown_many_times__refused, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_edges__texts_of_every_kind__no_piece_above_four_times_the_file, fixture_set_up,
                                        fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
