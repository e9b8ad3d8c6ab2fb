/* SPDX-License-Identifier: Apache-2.0 */
/* What init does to files that are there, and what it leaves when it fails: nothing. */
#include "grebe/graph_files.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array/tensor.h"
#include "io/io_lock.h"
#include "test_support.h"

static grebe_error err;
static const char *const ends[] = { "a", "b" }, *const label[] = { "b" };

/* ---- cancelling at the n-th look at the token, by the linker's --wrap ---- */

static size_t n_looks, cancel_at;

grebe_status __real_call_check(const struct call *call, grebe_error *e);
grebe_status __wrap_call_check(const struct call *call, grebe_error *e);
grebe_status __wrap_call_check(const struct call *call, grebe_error *e)
{
    if (call->cancel != NULL && ++n_looks == cancel_at) {
        grebe_cancel_set((grebe_cancel *)(uintptr_t)call->cancel);
    }
    return __real_call_check(call, e);
}

/* ---- a data set of a table t.csv ---- */

struct fixture {
    grebe_context *ctx;
    char *folder, dir[500], table[500];
    grebe_graph_edge_file edges;
    grebe_graph_set_file sets[2];
    grebe_graph_node_count nodes;
    grebe_graph_init_options o;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){ .folder = test_folder_new(), .o = GREBE_GRAPH_INIT_OPTIONS_INIT };
    snprintf(f.dir, sizeof f.dir, "%s/g", f.folder);
    snprintf(f.table, sizeof f.table, "%s/t.csv", f.folder);
    test_write_file(f.table, "a,b\n0,1\n5,1\n", 12);
    f.edges = (grebe_graph_edge_file){ NULL, f.table, "a", "b" };
    f.sets[0] = (grebe_graph_set_file){ GREBE_GRAPH_TRAIN, NULL, "seeds", f.table, ends, 2 };
    f.sets[1] = (grebe_graph_set_file){ GREBE_GRAPH_TRAIN, NULL, "labels", f.table, label, 1 };
    f.nodes = (grebe_graph_node_count){ NULL, 6 };
    f.o.edges = &f.edges;
    f.o.n_edges = 1;
    f.o.sets = f.sets;
    f.o.n_sets = 2;
    f.o.nodes = &f.nodes;
    f.o.n_nodes = 1;
    *state = &f;
    return grebe_context_new(NULL, &f.ctx, &err) == GREBE_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    grebe_context_free(f->ctx);
    test_folder_remove(f->folder);
    return 0;
}

static const char *place(const struct fixture *f, const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    return path;
}

static bool is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static void make_folder(const struct fixture *f, const char *name) { assert_int_equal(mkdir(place(f, name), 0777), 0); }

static void assert_holds(const char *path, const char *text)
{
    size_t len = 0;
    unsigned char *bytes = test_read_file(path, &len);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(bytes, text, len);
    free(bytes);
}

/* A file of ids as users have them: shape [2], values 1 and 0. */
static void put_seeds(const struct fixture *f, const char *path)
{
    static const int64_t values[] = { 1, 0 };
    static const uint64_t shape[] = { 2 };
    struct buf head = BUF_INIT(f->ctx->a);
    assert_ok(tensor_npy_header(&head, ARRAY_I64, shape, 1, &err));
    assert_ok(buf_put(&head, values, sizeof values, &err));
    test_write_file(path, head.data, head.len);
    buf_release(&head);
}

static int64_t value_of(const struct fixture *f, const char *name, uint64_t row)
{
    struct tensor t;
    int64_t value[2] = { -1, -1 };
    assert_ok(tensor_open(f->ctx, place(f, name), &t, &err));
    assert_ok(tensor_read_i64(&t, row, 1, value, &err));
    tensor_release(&t);
    return value[0];
}

/* ---- files that are there ---- */

static void test_init__names_are_taken__files_stay(void **state)
{
    struct fixture *f = *state;
    static const char *const taken[] = { "edges/0.npy", "sets/0.npy", "sets/1.npy" };
    make_folder(f, "");
    make_folder(f, "edges");
    make_folder(f, "sets");
    for (size_t i = 0; i < 3; i++) {
        test_write_file(place(f, taken[i]), "mine", 4);
        assert_fails(grebe_graph_init(f->ctx, f->dir, &f->o, &err), GREBE_EEXISTS, taken[i]);
        assert_holds(place(f, taken[i]), "mine");
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(is_there(place(f, taken[k])), k == i);
        }
        assert_false(is_there(place(f, "metadata.yaml")));
        f->o.is_replaced = true;
        assert_ok(grebe_graph_init(f->ctx, f->dir, &f->o, &err));
        f->o.is_replaced = false;
        assert_int_equal(value_of(f, taken[i], 1), i == 0 || i == 2 ? 1 : 5);
        assert_int_equal(unlink(place(f, "metadata.yaml")), 0);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(unlink(place(f, taken[k])), 0);
        }
    }
}

/* Labels of the table would be sets/1.npy, which is where the seeds are. */
static void test_init__target_is_given_as_source__refused(void **state)
{
    struct fixture *f = *state;
    char seeds[600], link_path[600];
    make_folder(f, "");
    make_folder(f, "sets");
    snprintf(seeds, sizeof seeds, "%s", place(f, "sets/1.npy"));
    snprintf(link_path, sizeof link_path, "%s", place(f, "link.npy"));
    put_seeds(f, seeds);
    assert_int_equal(symlink(seeds, link_path), 0);
    f->sets[0] = (grebe_graph_set_file){ GREBE_GRAPH_TRAIN, NULL, "seeds", seeds, NULL, 0 };
    assert_fails(grebe_graph_init(f->ctx, f->dir, &f->o, &err), GREBE_EEXISTS, "sets/1.npy: is there already");
    f->o.is_replaced = true;
    assert_fails(grebe_graph_init(f->ctx, f->dir, &f->o, &err), GREBE_EINVAL, "sets/1.npy: would be replaced");
    f->sets[0].path = link_path;
    assert_fails(grebe_graph_init(f->ctx, f->dir, &f->o, &err), GREBE_EINVAL, "link.npy");
    assert_int_equal(value_of(f, "sets/1.npy", 0), 1);
    assert_int_equal(value_of(f, "sets/1.npy", 1), 0);
    assert_false(is_there(place(f, "edges")));
    assert_int_equal(rename(seeds, link_path), 0);
    assert_ok(grebe_graph_init(f->ctx, f->dir, &f->o, &err));
    assert_int_equal(value_of(f, "link.npy", 0), 1);
}

/* ---- failures ---- */

static void test_init__id_beyond_nodes__nothing_stays(void **state)
{
    struct fixture *f = *state;
    f->nodes.num = 5;
    assert_fails(grebe_graph_init(f->ctx, f->dir, &f->o, &err), GREBE_ECORRUPT, "edges/0.npy");
    assert_null(strstr(err.message, ".tmp-"));
    assert_false(is_there(f->dir));
    char csv[600];
    snprintf(csv, sizeof csv, "%s/e.csv", f->folder);
    test_write_file(csv, "0,1\n2,1\n", 8);
    f->edges = (grebe_graph_edge_file){ NULL, csv, NULL, NULL };
    assert_fails(grebe_graph_init(f->ctx, f->dir, &f->o, &err), GREBE_ECORRUPT, "sets/0.npy");
    assert_null(strstr(err.message, ".tmp-"));
    assert_false(is_there(f->dir));
    make_folder(f, "");
    test_write_file(place(f, "other"), "mine", 4);
    assert_fails(grebe_graph_init(f->ctx, f->dir, &f->o, &err), GREBE_ECORRUPT, "sets/0.npy");
    assert_holds(place(f, "other"), "mine");
    assert_false(is_there(place(f, "sets")));
}

static void test_init__old_files_and_failure__they_stay(void **state)
{
    struct fixture *f = *state;
    assert_ok(grebe_graph_init(f->ctx, f->dir, &f->o, &err));
    test_write_file(f->table, "a,b\n4,4\n7,4\n", 12);
    f->o.is_replaced = true;
    assert_fails(grebe_graph_init(f->ctx, f->dir, &f->o, &err), GREBE_ECORRUPT, "edges/0.npy");
    assert_int_equal(value_of(f, "sets/0.npy", 1), 5);
    assert_int_equal(value_of(f, "sets/1.npy", 1), 1);
    assert_true(is_there(place(f, "metadata.yaml")));
}

static void test_init__cancelled_at_each_look__nothing_stays(void **state)
{
    struct fixture *f = *state;
    grebe_status st = GREBE_ECANCELLED;
    cancel_at = 0;
    while (st != GREBE_OK) {
        grebe_cancel *cancel = NULL;
        grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
        assert_ok(grebe_cancel_new(f->ctx, &cancel, &err));
        call.cancel = cancel;
        f->o.call = &call;
        n_looks = 0;
        cancel_at++;
        st = grebe_graph_init(f->ctx, f->dir, &f->o, &err);
        assert_true(st == GREBE_OK || st == GREBE_ECANCELLED);
        assert_int_equal(is_there(f->dir), st == GREBE_OK);
        grebe_cancel_free(cancel);
    }
    assert_true(cancel_at > 6); /* copies, edges, seeds, the end */
    assert_int_equal(value_of(f, "edges/0.npy", 0), 0);
    assert_int_equal(value_of(f, "sets/1.npy", 1), 1);
}

static void *init_with_force(void *arg)
{
    struct fixture *f = arg;
    grebe_error failed = GREBE_ERROR_INIT;
    f->o.is_replaced = true;
    return grebe_graph_init(f->ctx, f->dir, &f->o, &failed) == GREBE_OK ? f : NULL;
}

/* Who names its files keeps others from naming theirs between them. */
static void test_init__while_another_names_its_files__waits(void **state)
{
    struct fixture *f = *state;
    struct io_lock lock = IO_LOCK_INIT;
    struct call call = call_options_resolve(f->ctx, NULL);
    pthread_t other;
    void *done = NULL;
    assert_int_equal(mkdir(f->dir, 0777), 0);
    assert_ok(io_lock_take_folder(&lock, f->dir, &call, &err));
    assert_int_equal(pthread_create(&other, NULL, init_with_force, f), 0);
    usleep(300000);
    const bool is_early = is_there(place(f, "metadata.yaml")) || is_there(place(f, "sets/0.npy")) || is_there(place(f, "edges/0.npy"));
    io_lock_drop(&lock);
    assert_int_equal(pthread_join(other, &done), 0);
    assert_false(is_early);
    assert_ptr_equal(done, f);
    assert_true(is_there(place(f, "metadata.yaml")) && is_there(place(f, "sets/0.npy")));
}

#define INIT_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        INIT_TEST(test_init__names_are_taken__files_stay),
        INIT_TEST(test_init__target_is_given_as_source__refused),
        INIT_TEST(test_init__id_beyond_nodes__nothing_stays),
        INIT_TEST(test_init__old_files_and_failure__they_stay),
        INIT_TEST(test_init__cancelled_at_each_look__nothing_stays),
        INIT_TEST(test_init__while_another_names_its_files__waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
