/* SPDX-License-Identifier: Apache-2.0 */
/* What preprocessing leaves alone, when it runs again, that its result does not depend on how it was run, and what
 * cannot be broken. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/graph_dataset.h"
#include "graph/graph_types.h"
#include "graph_data.h"

static void test_preprocess__threads_and_memory__do_not_change_a_byte(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    unsigned char *first = NULL;
    size_t n_first = 0;
    make_data(f, 300000, 5000, 700);
    static const struct {
        uint32_t threads;
        uint64_t memory;
    } ways[] = { { 1, 0 }, { 2, 0 }, { 8, 0 }, { 1, 1 << 20 }, { 8, 3 << 20 }, { 3, 1 << 23 } };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char path[700];
        grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
        grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
        size_t n = 0;
        call.threads = ways[i].threads;
        call.memory_limit_bytes = ways[i].memory;
        o.call = &call;
        o.force = GREBE_GRAPH_ALWAYS;
        assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
        path_in(f, "preprocessed/fused_csc_sampling_graph.pt", path, sizeof path);
        unsigned char *bytes = test_read_file(path, &n);
        if (first == NULL) {
            first = bytes;
            n_first = n;
            continue;
        }
        assert_int_equal(n, n_first);
        assert_true(memcmp(bytes, first, n) == 0);
        free(bytes);
    }
    free(first);
}

static void test_preprocess__attributes__go_with_their_edges(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    size_t n_errors = 1;
    make_data(f, 5000, 300, 40);
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err));
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    const struct graph_csc *c = graph_dataset_csc(g);
    const int32_t *ids = (const int32_t *)(const void *)graph_edge_attribute(c, "_ORIGINAL_EDGE_ID")->values.data;
    const int64_t *w = (const int64_t *)(const void *)graph_edge_attribute(c, "w")->values.data;
    for (int64_t i = 0; i < c->n_edges; i++) {
        int file = c->edge_types[graph_edge_type_at(c, i)][3] - '0'; /* "a:r0:b" */
        assert_true(w[i] == file * 100000000 + ids[i]);
    }
    assert_ok(grebe_graph_verify(g, NULL, &n_errors, &err));
    assert_int_equal(n_errors, 0);
    grebe_graph_close(g);
}

static const char small[] =
    "graph:\n  nodes: [{num: 3}]\n  edges: [{format: csv, path: e.csv}]\nfeature_data:\n"
    "- {domain: node, name: x, format: numpy, path: concept/adapt.npy}\n"
    "- {domain: node, name: y, format: torch, path: f.pt}\n- {domain: node, name: z, format: numpy, path: f.npy}\n"
    "tasks:\n- train_set:\n  - data: [{name: seeds, format: numpy, path: %s}]\n";

/* A small data set with names that could be mixed up. */
static void make_small(struct fixture *f, const char *seeds)
{
    char text[2000], path[700], from[700];
    size_t n = 0;
    const float x[] = { 1, 2, 3 };
    const int64_t s[] = { 2, 0, 1 };
    path_in(f, "concept", path, sizeof path);
    mkdir(path, 0777);
    snprintf(from, sizeof from, "%s/data/graphbolt/pt/transposed_3x2.pt", TEST_DATA);
    unsigned char *pt = test_read_file(from, &n);
    put(f, "f.pt", pt, n);
    free(pt);
    put_npy(f, "concept/adapt.npy", ARRAY_F32, (uint64_t[]){ 3 }, 1, x, sizeof x);
    put_npy(f, "f.npy", ARRAY_F32, (uint64_t[]){ 3, 1 }, 2, x, sizeof x);
    put_npy(f, "s.npy", ARRAY_I64, (uint64_t[]){ 3 }, 1, s, sizeof s);
    put(f, "e.csv", "0,1\n2,1\n", 8);
    int len = snprintf(text, sizeof text, small, seeds);
    put(f, "metadata.yaml", text, (size_t)len);
}

static void test_preprocess__files_of_the_data_set__are_left_alone(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = { "metadata.yaml", "e.csv", "concept/adapt.npy", "f.pt", "f.npy", "s.npy" };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    grebe_graph_array a;
    grebe_graph_feature feature;
    char seeds[700], path[700], target[700];
    struct stat before[6], after;
    unsigned char *bytes[6];
    size_t n_bytes[6], n = 0;
    path_in(f, "s.npy", seeds, sizeof seeds); /* an absolute path */
    make_small(f, seeds);
    path_in(f, "f.npy", path, sizeof path); /* and a link */
    path_in(f, "elsewhere.npy", target, sizeof target);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    for (size_t i = 0; i < 6; i++) {
        path_in(f, names[i], path, sizeof path);
        chmod(path, 0444);
        assert_int_equal(stat(path, &before[i]), 0);
        bytes[i] = test_read_file(path, &n_bytes[i]);
    }
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err));
    for (size_t i = 0; i < 6; i++) {
        path_in(f, names[i], path, sizeof path);
        assert_int_equal(stat(path, &after), 0);
        assert_true(after.st_mtim.tv_sec == before[i].st_mtim.tv_sec &&
                    after.st_mtim.tv_nsec == before[i].st_mtim.tv_nsec && after.st_ino == before[i].st_ino &&
                    after.st_mode == before[i].st_mode);
        unsigned char *now = test_read_file(path, &n);
        assert_int_equal(n, n_bytes[i]);
        assert_memory_equal(now, bytes[i], n);
        free(now);
        free(bytes[i]);
    }
    path_in(f, "f.npy", path, sizeof path);
    assert_int_equal(lstat(path, &after), 0);
    assert_true(S_ISLNK(after.st_mode));
    path_in(f, "preprocessed/f.npy", path, sizeof path); /* a file of its own: a change of the source does not reach it */
    assert_int_equal(lstat(path, &after), 0);
    assert_true(S_ISREG(after.st_mode) && after.st_nlink == 1);
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    assert_ok(grebe_graph_get_feature(g, 0, &feature, &err));
    assert_non_null(strstr(feature.path, "preprocessed/concept/adapt.npy"));
    assert_ok(grebe_graph_feature_values(g, 1, &a, &err)); /* of f.pt, turned */
    assert_int_equal(a.rank, 2);
    assert_int_equal(a.shape[0], 3);
    assert_int_equal(a.shape[1], 2);
    assert_ok(grebe_graph_feature_values(g, 2, &a, &err)); /* of f.npy */
    assert_true(a.rank == 2 && a.shape[1] == 1 && ((const float *)a.data)[2] == 3.0f);
    const char *name = NULL;
    assert_ok(grebe_graph_set_values(g, 0, GREBE_GRAPH_TRAIN, 0, 0, &name, &a, &err));
    assert_string_equal(a.type, "int32");
    assert_true(((const int32_t *)a.data)[0] == 2);
    grebe_graph_close(g);
}

static void assert_made(struct fixture *f, const grebe_graph_options *o, bool is_reused, const char *reason)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_made made;
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, o, &made, &err));
    if (made.is_reused != is_reused || strstr(made.reason, reason) == NULL) {
        fail_msg("expected %s (%s), found %s (%s)", is_reused ? "reused" : "made", reason,
                 made.is_reused ? "reused" : "made", made.reason);
    }
}

static void test_preprocess__a_second_time__is_done_when_something_changed(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT, never = GREBE_GRAPH_OPTIONS_INIT;
    char path[800], here[1000];
    make_small(f, "s.npy");
    never.force = GREBE_GRAPH_NEVER;
    assert_made(f, &o, false, "it was not there");
    assert_made(f, &o, true, "nothing has changed");
    put(f, "stray.txt", "x", 1);
    assert_made(f, &o, true, "nothing has changed");
    put(f, "e.csv", "0,1\n2,1\n", 8); /* the same content at another time */
    assert_made(f, &o, true, "nothing has changed");
    put(f, "e.csv", "0,1\n1,1\n", 8);
    assert_made(f, &never, true, "what is there");
    assert_made(f, &o, false, "e.csv changed");
    o.without_cast = true;
    assert_made(f, &o, false, "option auto_cast changed");
    o.edge_ids = GREBE_GRAPH_EDGE_IDS_DROPPED;
    assert_made(f, &o, false, "option original_edge_ids changed");
    path_in(f, "preprocessed/f.npy", path, sizeof path);
    assert_int_equal(unlink(path), 0);
    assert_made(f, &o, false, "f.npy, which was made, is not there");
    o.force = GREBE_GRAPH_ALWAYS;
    assert_made(f, &o, false, "asked for");
    o.force = GREBE_GRAPH_IF_CHANGED;
    /* by another path */
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(f->folder), 0);
    grebe_graph_made made;
    grebe_status st = grebe_graph_preprocess(f->ctx, ".", &o, &made, &err);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(st, GREBE_OK);
    assert_true(made.is_reused);
    /* without what it was made of */
    path_in(f, "metadata.yaml", path, sizeof path);
    assert_int_equal(unlink(path), 0);
    assert_made(f, &o, true, "nothing it could be made of");
}

static void test_preprocess__a_failure__leaves_what_was_there(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    char path[800], command[900];
    make_small(f, "s.npy");
    assert_made(f, NULL, false, "it was not there");
    put(f, "e.csv", "0,1\n3,1\n", 8);
    assert_fails(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err), GREBE_ECORRUPT, "e.csv:2");
    path_in(f, "preprocessed/metadata.yaml", path, sizeof path);
    assert_int_equal(access(path, R_OK), 0);
    snprintf(command, sizeof command, "ls -d %s/preprocessed.tmp-* >%s/left 2>/dev/null; test ! -s %s/left", f->folder,
             f->folder, f->folder);
    assert_int_equal(system(command), 0);
}

static void test_preprocess__what_nobody_preprocessed__is_not_replaced(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    char path[800], thesis[800];
    struct stat info;
    make_small(f, "s.npy");
    path_in(f, "preprocessed", path, sizeof path);
    path_in(f, "preprocessed/thesis.txt", thesis, sizeof thesis);
    assert_int_equal(symlink("nowhere", path), 0); /* a disk that is not there now */
    assert_fails(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err), GREBE_EEXISTS, "a link that leads to nothing");
    assert_ok(grebe_graph_check(f->ctx, f->folder, NULL, NULL, &err));
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    put(f, "preprocessed/thesis.txt", "x", 1);
    assert_fails(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err), GREBE_EEXISTS, "without metadata.yaml");
    static const char *const metadata[] = { "a: 1\n", "graph: {nodes: [{num: 1}], edges: []}\n", "a: [\n", "" };
    for (size_t i = 0; i < sizeof metadata / sizeof metadata[0]; i++) {
        put(f, "preprocessed/metadata.yaml", metadata[i], strlen(metadata[i]));
        assert_fails(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err), GREBE_EEXISTS, "that were not preprocessed");
    }
    put(f, "preprocessed/manifest.json", "{\"tool\": \"other\"}", 17);
    assert_fails(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err), GREBE_EEXISTS, "that were not preprocessed");
    assert_int_equal(stat(thesis, &info), 0);
    put(f, "preprocessed/metadata.yaml", "graph_topology: {type: FusedCSCSamplingGraph, path: x}\n", 55); /* of DGL */
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err));
    put(f, "preprocessed/metadata.yaml", "a: 1\n", 5); /* beside a manifest */
    put(f, "e.csv", "0,1\n1,1\n", 8);
    assert_made(f, NULL, false, "e.csv changed");
    path_in(f, "preprocessed/manifest.json", path, sizeof path);
    assert_int_equal(unlink(path), 0);
    put(f, "preprocessed/metadata.yaml", "a: 1\n", 5);
    o.force = GREBE_GRAPH_ALWAYS;
    assert_made(f, &o, false, "asked for");
}

static void test_preprocess__out_of_a_folder_that_cannot_be_written__works(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph *g = NULL;
    size_t n_errors = 1;
    char *out = test_folder_new();
    make_small(f, "s.npy");
    o.out = out;
    assert_int_equal(chmod(f->folder, 0555), 0);
    assert_int_equal(chmod(out, 0777), 0);
    pid_t child = fork(); /* root may write anywhere: the work is done by somebody else */
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(2);
        }
        char path[800];
        path_in(f, "x", path, sizeof path);
        FILE *forbidden = fopen(path, "w");
        grebe_status st = forbidden == NULL ? grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err) : GREBE_EINVAL;
        st = st == GREBE_OK && chmod(out, 0555) != 0 && errno != EPERM ? GREBE_EIO : st;
        st = st == GREBE_OK ? grebe_graph_open(f->ctx, out, &g, &err) : st;
        st = st == GREBE_OK ? grebe_graph_verify(g, NULL, &n_errors, &err) : st;
        if (st != GREBE_OK) {
            fprintf(stderr, "%s\n", err.message);
        }
        _exit(st == GREBE_OK && n_errors == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(chmod(f->folder, 0755), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(chmod(out, 0555), 0);
    assert_ok(grebe_graph_open(f->ctx, out, &g, &err));
    grebe_graph_close(g);
    chmod(out, 0755);
    test_folder_remove(out);
}

/* A process that is killed at any moment leaves the old result or the new one. */
static void test_preprocess__killed_at_any_moment__leaves_a_whole_result(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    make_data(f, 20000, 300, 40);
    assert_made(f, NULL, false, "it was not there");
    for (int i = 0; i < 25; i++) {
        pid_t child = fork();
        if (child == 0) {
            grebe_context *ctx = NULL;
            grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
            o.force = GREBE_GRAPH_ALWAYS;
            if (context_new(NULL, &ctx, &err) == GREBE_OK) {
                for (int k = 0; k < 100; k++) {
                    o.without_cast = k % 2 == 0;
                    grebe_status st = grebe_graph_preprocess(ctx, f->folder, &o, NULL, &err);
                    (void)st;
                }
            }
            _exit(0);
        }
        usleep((useconds_t)(3000 + i * 1700));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        grebe_graph *g = NULL;
        size_t n_errors = 1;
        assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
        assert_ok(grebe_graph_verify(g, NULL, &n_errors, &err));
        assert_int_equal(n_errors, 0);
        grebe_graph_close(g);
    }
}

/* ---- bytes that are not as they were ---- */

static void test_open__any_byte_of_the_graph_changed__is_no_crash(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    char path[700];
    size_t n = 0, n_opened = 0;
    make_data(f, 30, 5, 4);
    assert_made(f, NULL, false, "it was not there");
    path_in(f, "preprocessed/fused_csc_sampling_graph.pt", path, sizeof path);
    unsigned char *bytes = test_read_file(path, &n);
    for (size_t i = 0; i < n; i++) {
        grebe_graph *g = NULL;
        unsigned char was = bytes[i];
        bytes[i] = (unsigned char)(was ^ (1u << (i % 8)));
        test_write_file(path, bytes, n);
        if (grebe_graph_open(f->ctx, f->folder, &g, &err) == GREBE_OK) {
            size_t n_errors = 0;
            grebe_status st = grebe_graph_verify(g, NULL, &n_errors, &err);
            (void)st;
            n_opened++;
            grebe_graph_close(g);
        }
        bytes[i] = was;
        if (i > 3000 && i < n - 3000) {
            i += 16; /* the directory and the pickle are at the ends */
        }
    }
    assert_true(n_opened > 0);
    for (size_t len = 0; len < n; len += 37) {
        grebe_graph *g = NULL;
        test_write_file(path, bytes, len);
        assert_true(grebe_graph_open(f->ctx, f->folder, &g, &err) != GREBE_OK);
    }
    free(bytes);
}

static void test_verify__values_that_cannot_be__are_told(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    size_t n = 0, n_errors = 0;
    char path[700];
    make_data(f, 30, 5, 4);
    assert_made(f, NULL, false, "it was not there");
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    const struct graph_csc *c = graph_dataset_csc(g);
    const int32_t *indices = (const int32_t *)c->indices.data;
    path_in(f, "preprocessed/fused_csc_sampling_graph.pt", path, sizeof path);
    unsigned char *bytes = test_read_file(path, &n);
    size_t at = 0; /* where indices lie */
    while (at + 90 * 4 <= n && memcmp(bytes + at, indices, 90 * 4) != 0) {
        at += 64;
    }
    assert_true(at + 90 * 4 <= n);
    grebe_graph_close(g);
    bytes[at + 3] = 0x7f;
    test_write_file(path, bytes, n);
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    assert_ok(grebe_graph_verify(g, NULL, &n_errors, &err));
    assert_int_equal(n_errors, 2); /* the checksum, the bound */
    grebe_graph_close(g);
    free(bytes);
}

/* Checks, makes, finds that nothing has changed, opens and verifies. */
static grebe_status use_all(grebe_context *ctx, const char *folder, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_graph *g = NULL;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph_made made = { 0 };
    o.is_deep = true;
    GREBE_TRY(grebe_graph_check(ctx, folder, &o, NULL, err));
    o.force = GREBE_GRAPH_ALWAYS;
    GREBE_TRY(grebe_graph_preprocess(ctx, folder, &o, NULL, err));
    o.force = GREBE_GRAPH_IF_CHANGED;
    GREBE_TRY(grebe_graph_preprocess(ctx, folder, &o, &made, err));
    assert_true(made.is_reused);
    GREBE_TRY(grebe_graph_open(ctx, folder, &g, err));
    GREBE_TRY(grebe_graph_verify(g, NULL, NULL, err));
out:
    grebe_graph_close(g);
    return st;
}

static void run_without_memory(struct fixture *f, grebe_error *told)
{
    grebe_error err = GREBE_ERROR_INIT;
    bool is_done = false;
    for (size_t i = 1; !is_done; i += 1 + i / 40) {
        struct test_allocator ta;
        grebe_context_options options = { .struct_size = sizeof options };
        grebe_context *ctx = NULL;
        test_allocator_init(&ta);
        options.allocator = &ta.a;
        options.threads = 1;
        assert_ok(context_new(&options, &ctx, &err));
        ta.fail_at = ta.n_calls + i;
        grebe_status st = use_all(ctx, f->folder, told);
        is_done = st == GREBE_OK;
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        assert_true(told == NULL || st == GREBE_OK || told->status == GREBE_ENOMEM);
        ta.fail_at = 0;
        context_free(ctx);
        assert_int_equal(ta.n_live, 0);
        assert_true(i < 100000);
    }
}

static void test_all__without_memory__fails_cleanly(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    make_small(f, "s.npy");
    run_without_memory(f, &err);
    run_without_memory(f, NULL); /* a caller need not want to be told */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_preprocess__threads_and_memory__do_not_change_a_byte, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__attributes__go_with_their_edges, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__files_of_the_data_set__are_left_alone, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__a_second_time__is_done_when_something_changed, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__a_failure__leaves_what_was_there, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__what_nobody_preprocessed__is_not_replaced, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__out_of_a_folder_that_cannot_be_written__works, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__killed_at_any_moment__leaves_a_whole_result, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_open__any_byte_of_the_graph_changed__is_no_crash, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_verify__values_that_cannot_be__are_told, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_all__without_memory__fails_cleanly, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
