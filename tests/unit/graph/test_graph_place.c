/* SPDX-License-Identifier: Apache-2.0 */
/* Where the result of preprocessing goes, and what it may take the place of. */
#include <sys/stat.h>
#include <unistd.h>

#include "graph_data.h"

static bool is_there(struct fixture *f, const char *name)
{
    char path[700];
    struct stat info;
    path_in(f, name, path, sizeof path);
    return lstat(path, &info) == 0;
}

static void test_preprocess__what_nobody_preprocessed__is_not_replaced(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    char path[700];
    make_data(f, 50, 5, 4);
    path_in(f, "preprocessed", path, sizeof path);
    put(f, "preprocessed", "mine", 4);
    o.force = GREBE_GRAPH_ALWAYS;
    assert_fails(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err), GREBE_EEXISTS, "found a file");
    assert_true(is_there(f, "preprocessed"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    put(f, "preprocessed/thesis.txt", "mine", 4);
    assert_fails(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err), GREBE_EEXISTS, "files without metadata.yaml");
    assert_true(is_there(f, "preprocessed/thesis.txt"));
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
    assert_false(is_there(f, "preprocessed/thesis.txt"));
}

static void test_preprocess__an_empty_folder__is_replaced(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    char path[700];
    make_data(f, 50, 5, 4);
    path_in(f, "preprocessed", path, sizeof path);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err));
    assert_true(is_there(f, "preprocessed/manifest.json"));
}

/* The source would be removed with the folder, by whatever name it is reached. */
static void test_preprocess__a_source_in_the_result__is_refused(void **state)
{
    static const char *const names[] = { "preprocessed/w.npy",  "./x/../preprocessed/w.npy",  "x/link.npy",   "x/folder/w.npy",
                                         "%s/preprocessed/w.npy", "%s/./preprocessed//w.npy", "%s/x/link.npy", "%s/x/folder/w.npy" };
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    char text[1000], path[700];
    const int64_t e[] = { 0, 1, 1, 0 };
    o.force = GREBE_GRAPH_ALWAYS;
    path_in(f, "preprocessed", path, sizeof path);
    assert_int_equal(mkdir(path, 0755), 0);
    path_in(f, "x", path, sizeof path);
    assert_int_equal(mkdir(path, 0755), 0);
    path_in(f, "x/link.npy", path, sizeof path);
    assert_int_equal(symlink("../preprocessed/w.npy", path), 0);
    path_in(f, "x/folder", path, sizeof path);
    assert_int_equal(symlink("../preprocessed", path), 0);
    put_npy(f, "preprocessed/w.npy", ARRAY_I64, (uint64_t[]){ 2, 2 }, 2, e, sizeof e);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const bool is_absolute = names[i][0] == '%';
        int n = snprintf(text, sizeof text, "graph:\n  nodes: [{num: 2}]\n  edges: [{format: numpy, path: '%s%s'}]\n",
                         is_absolute ? f->folder : "", names[i] + (is_absolute ? 2 : 0));
        put(f, "metadata.yaml", text, (size_t)n);
        assert_fails(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err), GREBE_EINVAL,
                     "a source in the folder that would be replaced");
        assert_true(is_there(f, "preprocessed/w.npy"));
    }
}

static void test_preprocess__a_link_to_another_disk__stays_one(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    char link[700], away[700];
    struct stat info;
    make_data(f, 50, 5, 4);
    path_in(f, "preprocessed", link, sizeof link);
    path_in(f, "away", away, sizeof away);
    assert_int_equal(mkdir(away, 0755), 0);
    assert_int_equal(symlink(away, link), 0);
    o.force = GREBE_GRAPH_ALWAYS;
    for (int i = 0; i < 2; i++) {
        grebe_graph *g = NULL;
        assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
        assert_int_equal(lstat(link, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        assert_true(is_there(f, "away/manifest.json"));
        assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
        grebe_graph_close(g);
    }
}

/* What is mapped after the folder was made again is of another graph. */
static void test_open__made_again__arrays_of_two_graphs_are_not_mixed(void **state)
{
    static const char text[] = "graph:\n  nodes: [{num: 2}]\n  edges: [{format: numpy, path: e.npy}]\n"
                               "feature_data:\n- {domain: node, name: x, format: numpy, path: x.npy}\n"
                               "- {domain: node, name: y, format: numpy, path: x.npy}\n";
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph *g = NULL;
    grebe_graph_array a;
    const int64_t e[] = { 0, 1, 1, 0 }, old[] = { 3, 4 }, new[] = { 5, 6 };
    put(f, "metadata.yaml", text, sizeof text - 1);
    put_npy(f, "e.npy", ARRAY_I64, (uint64_t[]){ 2, 2 }, 2, e, sizeof e);
    put_npy(f, "x.npy", ARRAY_I64, (uint64_t[]){ 2, 1 }, 2, old, sizeof old);
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    assert_ok(grebe_graph_feature_values(g, 0, &a, &err));
    put_npy(f, "x.npy", ARRAY_I64, (uint64_t[]){ 2, 1 }, 2, new, sizeof new);
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
    assert_ok(grebe_graph_feature_values(g, 0, &a, &err));
    assert_memory_equal(a.data, old, sizeof old);
    assert_fails(grebe_graph_feature_values(g, 1, &a, &err), GREBE_ECORRUPT, "has been made again");
    assert_fails(grebe_graph_feature_values(g, 1, &a, &err), GREBE_ECORRUPT, "has been made again");
    grebe_graph_close(g);
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    assert_ok(grebe_graph_feature_values(g, 1, &a, &err));
    assert_memory_equal(a.data, new, sizeof new);
    grebe_graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_preprocess__what_nobody_preprocessed__is_not_replaced, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__an_empty_folder__is_replaced, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__a_source_in_the_result__is_refused, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__a_link_to_another_disk__stays_one, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_open__made_again__arrays_of_two_graphs_are_not_mixed, fixture_set_up,
                                        fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
