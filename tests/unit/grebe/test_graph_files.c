/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs from files, to files and as rows, where memory runs out at each allocation in turn, and where edge ids are wrong. */
#include "grebe/graph_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/graph_dataset.h"
#include "grebe/graph_parts.h"
#include "grebe/source.h"
#include "test_support.h"

static grebe_error err;

static grebe_context *context_with(struct test_allocator *t)
{
    grebe_context *ctx = NULL;
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    test_allocator_init(t);
    o.allocator = &t->a;
    o.threads = 1;
    assert_ok(grebe_context_new(&o, &ctx, &err));
    return ctx;
}

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static grebe_status export_case(grebe_context *ctx, const char *dest, const char *format)
{
    grebe_graph_export_options o = GREBE_GRAPH_EXPORT_OPTIONS_INIT;
    o.file_format = format;
    return grebe_graph_export(ctx, TEST_DATA "/data/graphbolt/cases/hetero_attr/dgl_preprocessed", dest, &o, &err);
}

static void test_export__each_allocation_fails__nothing_stays(void **state)
{
    (void)state;
    static const char *const formats[] = { NULL, "csv" };
    for (size_t f = 0; f < 2; f++) {
        char *folder = test_folder_new(), dest[600];
        grebe_status st = GREBE_ENOMEM;
        snprintf(dest, sizeof dest, "%s/out", folder);
        for (size_t n = 1; st != GREBE_OK; n = n < 400 ? n + 1 : n + n / 8) {
            struct test_allocator t;
            grebe_context *ctx = context_with(&t);
            t.fail_at = t.n_calls + n;
            st = export_case(ctx, dest, formats[f]);
            assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
            assert_int_equal(is_there(dest), st == GREBE_OK);
            grebe_context_free(ctx);
            assert_int_equal(t.n_live, 0);
        }
        test_folder_remove(folder);
    }
}

static void test_export__place_that_cannot_be_taken__refused_at_once(void **state)
{
    (void)state;
    char *folder = test_folder_new(), dest[600], target[600], here[1000];
    struct test_allocator t;
    struct stat info;
    grebe_context *ctx = context_with(&t);
    snprintf(dest, sizeof dest, "%s/out", folder);
    snprintf(target, sizeof target, "%s/disk", folder);
    assert_int_equal(symlink(target, dest), 0);
    assert_fails(export_case(ctx, dest, NULL), GREBE_EEXISTS, "a link that leads to nothing");
    assert_int_equal(mkdir(target, 0777), 0); /* it leads to an empty folder now: that is filled, the link stays */
    assert_ok(export_case(ctx, dest, NULL));
    assert_int_equal(lstat(dest, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    snprintf(dest, sizeof dest, "%s/out/metadata.yaml", folder);
    assert_true(is_there(dest));
    snprintf(dest, sizeof dest, "%s/empty", folder);
    assert_int_equal(mkdir(dest, 0777), 0);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(dest), 0);
    const grebe_status st = export_case(ctx, ".", NULL);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(st, GREBE_EINVAL);
    assert_non_null(strstr(err.message, "expected the name of a folder"));
    assert_int_equal(rmdir(dest), 0); /* nothing was made in it */
    grebe_context_free(ctx);
    assert_int_equal(t.n_live, 0);
    test_folder_remove(folder);
}

/* Without edge ids the edges come in another order than the rows of their features. */
static void test_export__edge_features_without_edge_ids__refused(void **state)
{
    (void)state;
    char *folder = test_folder_new(), dest[600];
    struct test_allocator t;
    grebe_context *ctx = context_with(&t);
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph_export_options e = GREBE_GRAPH_EXPORT_OPTIONS_INIT;
    snprintf(dest, sizeof dest, "%s/out", folder);
    o.out = folder;
    o.edge_ids = GREBE_GRAPH_EDGE_IDS_DROPPED;
    assert_ok(grebe_graph_preprocess(ctx, TEST_DATA "/data/graphbolt/cases/homo_csv/raw", &o, NULL, &err));
    static const char *const formats[] = { NULL, "csv", "parquet", "jsonl", "arrow" };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        e.file_format = formats[i];
        assert_fails(grebe_graph_export(ctx, folder, dest, &e, &err), GREBE_ESCHEMA, "without original edge ids");
        assert_false(is_there(dest));
    }
    e.file_format = NULL;
    o.edge_ids = GREBE_GRAPH_EDGE_IDS_FOR_FEATURES;
    assert_ok(grebe_graph_preprocess(ctx, TEST_DATA "/data/graphbolt/cases/homo_csv/raw", &o, NULL, &err));
    assert_ok(grebe_graph_export(ctx, folder, dest, &e, &err));
    grebe_context_free(ctx);
    assert_int_equal(t.n_live, 0);
    test_folder_remove(folder);
}

static void test_init__each_allocation_fails__no_metadata(void **state)
{
    (void)state;
    char *folder = test_folder_new(), csv[600], table[600], metadata[600], dir[600];
    grebe_status st = GREBE_ENOMEM;
    snprintf(dir, sizeof dir, "%s/g", folder);
    snprintf(csv, sizeof csv, "%s/e.csv", folder);
    snprintf(table, sizeof table, "%s/t.csv", folder);
    snprintf(metadata, sizeof metadata, "%s/g/metadata.yaml", folder);
    test_write_file(csv, "0,1\n2,1\n", 8);
    test_write_file(table, "a,b\n0,1\n5,1\n", 12);
    static const char *const ends[] = { "a", "b" }, *const label[] = { "b" };
    const grebe_graph_set_file sets[] = { { GREBE_GRAPH_TEST, "u:y:u", "seeds", table, ends, 2 },
                                          { GREBE_GRAPH_TEST, "u:y:u", "labels", table, label, 1 },
                                          { GREBE_GRAPH_TRAIN, "u:y:u", "seeds", table, ends, 2 } };
    static const grebe_graph_task_key keys[] = { { "name", "12x" }, { "num_classes", "12" } };
    const grebe_graph_edge_file edges[] = { { "u:x:v", csv, NULL, NULL }, { "u:y:u", table, "a", "b" } };
    for (size_t n = 1; st != GREBE_OK; n = n < 400 ? n + 1 : n + n / 8) {
        struct test_allocator t;
        grebe_context *ctx = context_with(&t);
        grebe_graph_init_options o = GREBE_GRAPH_INIT_OPTIONS_INIT;
        o.edges = edges;
        o.n_edges = 2;
        o.sets = sets;
        o.n_sets = 3;
        o.task_keys = keys;
        o.n_task_keys = 2;
        t.fail_at = t.n_calls + n;
        st = grebe_graph_init(ctx, dir, &o, &err);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        assert_int_equal(is_there(metadata), st == GREBE_OK);
        assert_int_equal(is_there(dir), st == GREBE_OK);
        grebe_context_free(ctx);
        assert_int_equal(t.n_live, 0);
    }
    size_t len = 0;
    unsigned char *text = test_read_file(metadata, &len);
    text = realloc(text, len + 1);
    text[len] = '\0';
    assert_non_null(strstr((char *)text, "- num: 6\n    type: u\n  - num: 2\n    type: v\n"));
    assert_non_null(strstr((char *)text, "tasks:\n- name: 12x\n  num_classes: 12\n"));
    free(text);
    test_folder_remove(folder);
}

static void test_init__sets_that_cannot_be__refused(void **state)
{
    (void)state;
    char *folder = test_folder_new(), csv[600], metadata[600];
    grebe_context *ctx = NULL;
    grebe_graph_init_options o = GREBE_GRAPH_INIT_OPTIONS_INIT;
    static const char *const columns[] = { "a", "b" }, *const text[] = { "t" };
    const grebe_graph_edge_file edges = { NULL, csv, "a", "b" };
    grebe_graph_set_file set = { GREBE_GRAPH_TRAIN, NULL, "seeds", csv, columns, 2 };
    static const grebe_graph_task_key key = { "name", "x" };
    assert_ok(grebe_context_new(NULL, &ctx, &err));
    snprintf(csv, sizeof csv, "%s/t.csv", folder);
    snprintf(metadata, sizeof metadata, "%s/metadata.yaml", folder);
    test_write_file(csv, "a,b,t\n0,1,x\n5,1,y\n", 18);
    o.edges = &edges;
    o.n_edges = 1;
    o.task_keys = &key;
    o.n_task_keys = 1;
    assert_fails(grebe_graph_init(ctx, folder, &o, &err), GREBE_EINVAL, "task: expected sets");
    o.sets = &set;
    o.n_sets = 1;
    set.columns = text;
    set.n_columns = 1;
    assert_fails(grebe_graph_init(ctx, folder, &o, &err), GREBE_ESCHEMA, "column \"t\": expected ids of nodes");
    set.columns = NULL;
    set.n_columns = 0;
    assert_fails(grebe_graph_init(ctx, folder, &o, &err), GREBE_EINVAL, "expected rows as npy or torch");
    set.columns = columns;
    set.n_columns = 2;
    const grebe_graph_node_count six = { NULL, 6 };
    o.nodes = &six;
    o.n_nodes = 1;
    assert_ok(grebe_graph_init(ctx, folder, &o, &err));
    assert_true(is_there(metadata));
    grebe_context_free(ctx);
    test_folder_remove(folder);
}

static void test_part__each_allocation_fails__no_leak(void **state)
{
    (void)state;
    static const char uri[] = TEST_DATA "/data/graphbolt/cases/hetero_attr/dgl_preprocessed#";
    static const char *const parts[] = { "edges:u:x:v", "nothing" };
    grebe_graph *g = NULL;
    struct test_allocator t;
    struct graph_part part;
    char name[GRAPH_PART_ROOM], path[GRAPH_PART_ROOM + 200];
    grebe_context *ctx = context_with(&t);
    assert_ok(grebe_graph_open(ctx, TEST_DATA "/data/graphbolt/cases/hetero_attr/dgl_preprocessed", &g, &err));
    for (size_t k = 0; graph_part_at(g, k, &part, name); k++) {
        grebe_status st = GREBE_ENOMEM;
        snprintf(path, sizeof path, "%s%s", uri, name);
        for (size_t n = 1; st != GREBE_OK && st != GREBE_EUNSUPPORTED; n++) {
            struct test_allocator mine;
            grebe_context *other = context_with(&mine);
            grebe_source *source = NULL;
            int64_t n_rows = 0;
            mine.fail_at = mine.n_calls + n;
            st = grebe_source_open(other, path, NULL, &source, &err);
            st = st == GREBE_OK ? grebe_source_count(source, NULL, &n_rows, &err) : st;
            if (st == GREBE_OK && n_rows > 0) {
                const int64_t ids[] = { n_rows - 1, 0 };
                struct ArrowArray rows = { 0 };
                struct ArrowSchema schema = { 0 };
                st = grebe_source_take(source, ids, 2, NULL, &rows, &schema, &err);
                if (st == GREBE_OK) {
                    assert_int_equal(rows.length, 2);
                    rows.release(&rows);
                    schema.release(&schema);
                }
            }
            grebe_source_close(source);
            grebe_context_free(other);
            assert_int_equal(mine.n_live, 0);
        }
        assert_int_equal(st, GREBE_OK);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_fails(graph_part_find(g, "g", parts[i], &part, &err), GREBE_ENOTFOUND, "there are: ");
    }
    grebe_graph_close(g);
    grebe_context_free(ctx);
}

static void test_edges__ids_that_are_no_permutation__refused(void **state)
{
    (void)state;
    static int32_t indptr[] = { 0, 2, 3 }, indices[] = { 0, 1, 0 };
    static int64_t ids[] = { 0, 2, 2 };
    struct test_allocator t;
    grebe_context *ctx = context_with(&t);
    struct graph_attribute attribute = { "_ORIGINAL_EDGE_ID",
                                         { .type = ARRAY_I64, .rank = 1, .shape = { 3 }, .strides = { 1 }, .n_values = 3,
                                           .data = (unsigned char *)ids, .is_packed = true } };
    struct grebe_graph g = { .ctx = ctx,
                             .csc = { .ctx = ctx, .n_nodes = 2, .n_edges = 3, .indptr = { indptr, false }, .indices = { indices, false },
                                      .edge_attributes = &attribute, .n_edge_attributes = 1 } };
    const struct graph_part part = { .kind = GRAPH_PART_EDGES };
    struct matrix m;
    int64_t ends[3];
    const struct call call = call_options_resolve(ctx, NULL);
    assert_ok(graph_part_matrix(&g, false, &part, &call, &m, &err));
    assert_int_equal(m.n_rows, 3); /* ids are looked at when rows are */
    assert_fails(m.prepare(m.file, &call, &err), GREBE_ECORRUPT, "edge 2: expected ids 0 to 2, each once, found 2 again");
    ids[2] = 3;
    assert_fails(m.prepare(m.file, &call, &err), GREBE_ECORRUPT, "found 3");
    ids[2] = 1;
    assert_ok(m.prepare(m.file, &call, &err));
    assert_ok(m.read(m.file, 1, 0, 3, ends, &err));
    assert_true(ends[0] == 0 && ends[1] == 1 && ends[2] == 0); /* targets of edges 0, 1, 2: at positions 0, 2, 1 */
    indices[1] = 2;
    assert_fails(m.read(m.file, 0, 0, 3, ends, &err), GREBE_ECORRUPT, "edge 1: expected a source in [0, 2), found 2");
    m.close(m.file);
    grebe_context_free(ctx);
    assert_int_equal(t.n_live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_export__each_allocation_fails__nothing_stays),
        cmocka_unit_test(test_export__place_that_cannot_be_taken__refused_at_once),
        cmocka_unit_test(test_export__edge_features_without_edge_ids__refused),
        cmocka_unit_test(test_init__each_allocation_fails__no_metadata),
        cmocka_unit_test(test_init__sets_that_cannot_be__refused),
        cmocka_unit_test(test_part__each_allocation_fails__no_leak),
        cmocka_unit_test(test_edges__ids_that_are_no_permutation__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
