/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that are being made: what killed processes left of them is swept, what others make is not. */
#include "io/io_draft.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_fixture.h"
#include "test_support.h"

static grebe_error err;

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static void in_folder(const struct fixture *f, const char *name, char *dst, size_t room)
{
    assert_true(snprintf(dst, room, "%s/%s", f->folder, name) < (int)room);
}

static void put_into(const char *folder, const char *name)
{
    char path[800];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, "x", 1);
}

/* A process that has begun a folder with a file in it, and waits. @param folder Where it is. */
static pid_t begin_elsewhere(const struct fixture *f, const char *path, char *folder, size_t room)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct io_store *store = NULL;
        struct io_draft d = IO_DRAFT_INIT;
        bool is_ok = io_local_new(f->ctx, &store, &err) == GREBE_OK && io_draft_begin(store, path, &d, &err) == GREBE_OK;
        if (is_ok) {
            put_into(d.folder, "file");
            is_ok = write(ends[1], d.folder, strlen(d.folder) + 1) > 0;
        }
        close(ends[1]);
        while (is_ok) {
            pause();
        }
        _exit(1);
    }
    close(ends[1]);
    assert_true(read(ends[0], folder, room) > 1);
    close(ends[0]);
    return pid;
}

static void kill_and_wait(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_draft__of_a_killed_process__is_swept_by_the_next(void **state)
{
    struct fixture *f = *state;
    struct io_store *store = NULL;
    struct io_draft d = IO_DRAFT_INIT;
    char path[600], other[600], left[700], left_of_other[700], same_name[700];
    in_folder(f, "out", path, sizeof path);
    in_folder(f, "outer", other, sizeof other);
    in_folder(f, "out.tmp-0123456789abcde", same_name, sizeof same_name); /* a digit short: nobody's but the user's */
    assert_int_equal(mkdir(same_name, 0777), 0);
    assert_ok(io_local_new(f->ctx, &store, &err));
    const pid_t first = begin_elsewhere(f, path, left, sizeof left), second = begin_elsewhere(f, other, left_of_other, sizeof left_of_other);
    assert_true(is_there(left));

    assert_ok(io_draft_begin(store, path, &d, &err)); /* while it lives it stays */
    assert_true(is_there(left) && is_there(d.folder));
    io_draft_end(&d);
    io_draft_end(&d);
    assert_true(is_there(left));

    kill_and_wait(first);
    kill_and_wait(second);
    assert_true(is_there(left) && is_there(left_of_other));
    assert_ok(io_draft_begin(store, path, &d, &err));
    assert_false(is_there(left));
    assert_true(is_there(left_of_other) && is_there(same_name) && is_there(d.folder));
    put_into(d.folder, "file");
    assert_ok(io_draft_publish(&d, path, false, &err));
    io_draft_end(&d);
    in_folder(f, "out/file", left, sizeof left);
    assert_true(is_there(left));
    io_store_free(store);
}

static void test_draft__published_over_a_folder__takes_its_place(void **state)
{
    struct fixture *f = *state;
    struct io_store *store = NULL;
    struct io_draft d = IO_DRAFT_INIT;
    char path[600], made[700], old[700], new[700], folder[700];
    in_folder(f, "a/b/out", path, sizeof path);
    in_folder(f, "a/b/out/old", old, sizeof old);
    in_folder(f, "a/b/out/new", new, sizeof new);
    assert_ok(io_local_new(f->ctx, &store, &err));
    assert_ok(io_draft_begin(store, path, &d, &err)); /* folders above it are made */
    put_into(d.folder, "old");
    assert_ok(io_draft_publish(&d, path, true, &err));
    io_draft_end(&d);
    assert_true(is_there(old));

    assert_ok(io_draft_begin(store, path, &d, &err));
    snprintf(made, sizeof made, "%s", d.folder);
    put_into(d.folder, "new");
    assert_ok(io_draft_publish(&d, path, false, &err));
    io_draft_end(&d);
    assert_true(is_there(new) && !is_there(old) && !is_there(made));

    assert_ok(io_draft_begin(store, path, &d, &err)); /* one that is given up leaves what was there */
    snprintf(folder, sizeof folder, "%s", d.folder);
    put_into(d.folder, "newer");
    io_draft_end(&d);
    assert_true(is_there(new) && !is_there(folder));
    io_store_free(store);
}

static void test_draft__published_where_nothing_may_be_lost__takes_an_empty_folder_alone(void **state)
{
    struct fixture *f = *state;
    struct io_store *store = NULL;
    struct io_draft d = IO_DRAFT_INIT;
    char path[600], mine[700], made[700], link[600];
    in_folder(f, "out", path, sizeof path);
    in_folder(f, "out/mine", mine, sizeof mine);
    in_folder(f, "out/made", made, sizeof made);
    in_folder(f, "link", link, sizeof link);
    assert_ok(io_local_new(f->ctx, &store, &err));
    assert_ok(io_draft_begin(store, path, &d, &err));
    put_into(d.folder, "made");
    assert_int_equal(mkdir(path, 0777), 0); /* while it is made */
    put_into(path, "mine");
    assert_fails(io_draft_publish_new(&d, path, false, &err), GREBE_EEXISTS, "came there meanwhile");
    assert_true(is_there(mine) && is_there(d.folder));
    assert_int_equal(unlink(mine), 0);
    assert_int_equal(symlink("nowhere", link), 0);
    assert_fails(io_draft_publish_new(&d, link, false, &err), GREBE_EEXISTS, "came there meanwhile");
    assert_int_equal(unlink(link), 0);
    assert_ok(io_draft_publish_new(&d, path, true, &err));
    io_draft_end(&d);
    assert_true(is_there(made));
    io_store_free(store);
}

static void test_draft__several_at_once__have_folders_of_their_own(void **state)
{
    struct fixture *f = *state;
    struct io_store *store = NULL;
    struct io_draft d[3] = { IO_DRAFT_INIT, IO_DRAFT_INIT, IO_DRAFT_INIT };
    char path[600];
    in_folder(f, "out", path, sizeof path);
    assert_ok(io_local_new(f->ctx, &store, &err));
    for (size_t i = 0; i < 3; i++) { /* of one process, too */
        assert_ok(io_draft_begin(store, path, &d[i], &err));
    }
    for (size_t i = 0; i < 3; i++) {
        assert_true(is_there(d[i].folder));
    }
    for (size_t i = 0; i < 3; i++) {
        io_draft_end(&d[i]);
    }
    assert_int_equal(rmdir(f->folder), 0); /* nothing is left */
    assert_int_equal(mkdir(f->folder, 0777), 0);
    io_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_draft__of_a_killed_process__is_swept_by_the_next, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_draft__published_over_a_folder__takes_its_place, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_draft__published_where_nothing_may_be_lost__takes_an_empty_folder_alone, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_draft__several_at_once__have_folders_of_their_own, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
