/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes at one collection, processes that are killed, locks of others, git gc at the same time. */
#include "vdb_api_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DIM = 4 };

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* In a child: one upsert of one point after the other. 0, or what went wrong. */
static int put_one_by_one(const char *path, uint64_t begin, uint64_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    grebe_vdb *vdb = NULL;
    grebe_status st = context_new(NULL, &ctx, &err);
    st = st == GREBE_OK ? grebe_vdb_open(ctx, path, GREBE_VDB_EXISTING, &vdb, &err) : st;
    for (uint64_t id = begin; id < begin + n && st == GREBE_OK; id++) {
        struct text t = make_lines(id, 1, DIM, 6);
        st = put_lines(vdb, "c", &t, 1, &err);
        free(t.data);
    }
    if (st != GREBE_OK) {
        fprintf(stderr, "%s: %s\n", grebe_status_name(st), err.message);
    }
    grebe_vdb_close(vdb);
    context_free(ctx);
    return st == GREBE_OK ? 0 : 1;
}

static void assert_ended_well(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_processes__eight_at_once__nothing_lost(void **state)
{
    (void)state;
    enum { PROCESSES = 8, EACH = 25 };
    struct api_fixture f;
    char root[41], want[41];
    pid_t children[PROCESSES];
    clean_root(PROCESSES * EACH, DIM, 6, want);
    api_fixture_open(&f);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            _exit(put_one_by_one(f.path, (uint64_t)i * EACH, EACH));
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        assert_ended_well(children[i]);
    }
    root_of(f.vdb, "c", root);
    assert_string_equal(root, want);
    assert_int_equal(run_shell("test $(git -C '%s' rev-list --count refs/git-vdb/collections/c) = %d", f.path, PROCESSES * EACH + 1), 0);
    assert_valid(f.vdb, "c");
    api_fixture_close(&f);
}

static void test_lock__of_somebody_else__conflict_in_a_second(void **state)
{
    (void)state;
    struct api_fixture f;
    char lock[700];
    api_fixture_open(&f);
    put_points(f.vdb, "c", 0, 5, DIM, 6, 10);
    snprintf(lock, sizeof lock, "%s/refs/git-vdb/collections/c.lock", f.path);
    test_write_file(lock, "", 0);
    for (int i = 0; i < 2; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_vdb_result *r = NULL;
        struct text t = make_lines(5, 1, DIM, 6);
        double begin = seconds_now();
        grebe_vdb_select s = GREBE_VDB_SELECT_INIT;
        static const char *const ids[] = { "1" };
        s.ids = ids;
        s.n_ids = 1;
        grebe_status st = i == 0 ? put_lines(f.vdb, "c", &t, 1, &err) : grebe_vdb_delete(f.vdb, "c", &s, NULL, &r, &err);
        double took = seconds_now() - begin;
        assert_int_equal(st, GREBE_ECONFLICT);
        assert_non_null(strstr(err.message, "lock"));
        assert_true(took > 0.3 && took < 20); /* about a second where the machine is idle */
        free(t.data);
    }
    assert_int_equal(count_of(f.vdb, "c"), 5);
    assert_int_equal(unlink(lock), 0);
    put_points(f.vdb, "c", 5, 1, DIM, 6, 1);
    assert_int_equal(count_of(f.vdb, "c"), 6);
    api_fixture_close(&f);
}

/* ---- killed ---- */

static void nap_us(long us)
{
    struct timespec t = { 0, us * 1000 };
    nanosleep(&t, NULL);
}

static void kill_now(pid_t child)
{
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static int import_lines(const char *path, uint64_t n, uint64_t batch)
{
    grebe_context *ctx = NULL;
    grebe_vdb *vdb = NULL;
    struct text t = make_lines(0, n, DIM, 6);
    grebe_status st = context_new(NULL, &ctx, NULL);
    st = st == GREBE_OK ? grebe_vdb_open(ctx, path, GREBE_VDB_EXISTING, &vdb, NULL) : st;
    st = st == GREBE_OK ? put_lines(vdb, "new", &t, batch, NULL) : st;
    return st == GREBE_OK ? 0 : 1;
}

static void test_killed__imports__whole_batches_or_no_collection(void **state)
{
    (void)state;
    enum { N = 3000, BATCH = 250 };
    struct api_fixture f;
    uint64_t seed = test_seed();
    int n_whole = 0, n_none = 0;
    char want[41], root[41];
    clean_root(N, DIM, 6, want);
    api_fixture_open(&f);
    put_points(f.vdb, "c", 0, 5, DIM, 6, 10);
    long most_us = 100000;
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            _exit(import_lines(f.path, N, BATCH));
        }
        nap_us((long)(test_random(&seed) % (uint64_t)most_us));
        kill_now(child);
        run_shell("rm -f '%s/refs/git-vdb/collections/new.lock'", f.path); /* as after a kill of git itself */
        grebe_error err = GREBE_ERROR_INIT;
        grebe_vdb_result *r = NULL;
        grebe_status st = grebe_vdb_info(f.vdb, "new", NULL, &r, &err);
        if (st == GREBE_ENOTFOUND) {
            n_none++;
            most_us += most_us < 900000 ? most_us / 10 : 0;
            continue;
        }
        assert_ok(st);
        uint64_t n = grebe_vdb_result_count(r);
        grebe_vdb_result_free(r);
        assert_true(n > 0 && n % BATCH == 0);
        assert_valid(f.vdb, "new");
        if (n == N) {
            n_whole++;
            most_us -= most_us / 5;
            root_of(f.vdb, "new", root);
            assert_string_equal(root, want);
        }
        assert_ok(grebe_vdb_drop(f.vdb, "new", &r, &err));
        grebe_vdb_result_free(r);
    }
    assert_true(n_none > 0);
    /* what the killed ones left does not disturb the next, and gc takes it away */
    put_points(f.vdb, "new", 0, N, DIM, 6, BATCH);
    root_of(f.vdb, "new", root);
    assert_string_equal(root, want);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    assert_ok(grebe_vdb_gc(f.vdb, 0, &r, &err));
    grebe_vdb_result_free(r);
    assert_valid(f.vdb, "new");
    api_fixture_close(&f);
    print_message("%d imports whole, %d not begun\n", n_whole, n_none);
}

static void test_killed__single_upserts__old_or_new(void **state)
{
    (void)state;
    struct api_fixture f;
    uint64_t seed = test_seed(), have = 20;
    api_fixture_open(&f);
    put_points(f.vdb, "c", 0, 20, DIM, 6, 10);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            _exit(put_one_by_one(f.path, have, 1000));
        }
        nap_us((long)(test_random(&seed) % 60000));
        kill_now(child);
        run_shell("rm -f '%s/refs/git-vdb/collections/c.lock'", f.path);
        uint64_t n = count_of(f.vdb, "c");
        assert_true(n >= have && n <= have + 1000);
        have = n;
        if (i % 10 == 9) {
            assert_valid(f.vdb, "c");
            assert_fsck(f.path);
        }
    }
    char root[41], want[41];
    root_of(f.vdb, "c", root);
    clean_root((size_t)have, DIM, 6, want);
    assert_string_equal(root, want);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    assert_ok(grebe_vdb_gc(f.vdb, 0, &r, &err));
    grebe_vdb_result_free(r);
    root_of(f.vdb, "c", root);
    assert_string_equal(root, want);
    api_fixture_close(&f);
}

/* ---- git gc ---- */

static void test_gc__of_git_meanwhile__nothing_lost(void **state)
{
    (void)state;
    enum { N = 60 };
    struct api_fixture f;
    char root[41], want[41];
    int status = 0, n_gc = 0;
    clean_root(N + 5, DIM, 6, want);
    api_fixture_open(&f);
    put_points(f.vdb, "c", 0, 5, DIM, 6, 10);
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        _exit(put_one_by_one(f.path, 5, N));
    }
    for (bool is_over = false; !is_over; n_gc++) {
        is_over = waitpid(writer, &status, WNOHANG) == writer;
        run_shell("git -C '%s' gc -q --prune=now >/dev/null 2>&1", f.path); /* may itself stumble over what is new */
        count_of(f.vdb, "c");
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(n_gc > 1);
    root_of(f.vdb, "c", root);
    assert_string_equal(root, want);
    assert_valid(f.vdb, "c");
    api_fixture_close(&f);
}

/* A pack with one commit that nothing refers to yet; its file is there before it is published. */
static struct repo_pack *pack_of_commit(struct repo *repo, struct repo_oid *commit)
{
    enum { LEN = 3 << 20 };
    grebe_error err = GREBE_ERROR_INIT;
    struct repo_pack *p = NULL;
    struct repo_tree_entry e = { 0100644, "f", { { 0 } } };
    struct repo_oid root;
    struct buf tree = BUF_INIT(mem_system());
    unsigned char *bytes = malloc(LEN);
    uint64_t seed = 3;
    assert_non_null(bytes);
    for (size_t i = 0; i + 8 <= LEN; i += 8) {
        uint64_t v = test_random(&seed);
        memcpy(bytes + i, &v, 8);
    }
    assert_ok(repo_pack_begin(repo, &p, &err));
    assert_ok(repo_pack_add(p, REPO_BLOB, bytes, LEN, 0, &e.oid, &err));
    assert_ok(repo_tree_encode(&e, 1, &tree, &err));
    assert_ok(repo_pack_add(p, REPO_TREE, tree.data, tree.len, -1, &root, &err));
    assert_ok(repo_commit_add(p, &root, NULL, 0, "kept", commit, &err));
    buf_release(&tree);
    free(bytes);
    return p;
}

static void test_gc__before_the_reference_moves__pack_stays(void **state)
{
    (void)state;
    struct git_fixture f;
    struct repo_oid commit;
    grebe_error err = GREBE_ERROR_INIT;
    git_fixture_open(&f, REPO_CREATE);
    struct repo_pack *p = pack_of_commit(f.repo, &commit);
    assert_ok(repo_pack_publish(p, &err));
    assert_int_equal(run_shell("git -C '%s' gc -q --prune=now", f.path), 0);
    assert_ok(repo_ref_update(f.repo, "c", NULL, &commit, &err));
    repo_pack_free(p);
    assert_int_equal(run_shell("find '%s' -name '*.keep' | grep .", f.path), 1);
    assert_fsck(f.path);
    /* the keep file of a writer that was killed goes with the next collection, others' stay */
    assert_int_equal(run_shell("cd '%s'/objects/pack && printf 'grebe: until the reference is written\\n' >pack-a.keep && touch -d '1 hour ago' "
                               "pack-a.keep && cp -p pack-a.keep pack-b.keep && touch pack-b.keep && echo fetch >pack-c.keep && touch -d "
                               "'1 hour ago' pack-c.keep", f.path), 0);
    assert_ok(repo_gc(f.repo, 0, &err));
    assert_int_equal(run_shell("cd '%s'/objects/pack && test ! -e pack-a.keep && test -e pack-b.keep && test -e pack-c.keep", f.path), 0);
    git_fixture_close(&f);
}

static void test_gc__takes_the_unfinished_pack__written_anew(void **state)
{
    (void)state;
    struct git_fixture f;
    struct repo_oid commit;
    grebe_error err = GREBE_ERROR_INIT;
    git_fixture_open(&f, REPO_CREATE);
    struct repo_pack *p = pack_of_commit(f.repo, &commit);
    assert_int_equal(run_shell("ls '%s'/objects/pack/tmp_pack_* >/dev/null && git -C '%s' prune --expire=now && ! ls '%s'/objects/pack/tmp_pack_* "
                               "2>/dev/null", f.path, f.path, f.path), 0);
    assert_ok(repo_pack_publish(p, &err));
    assert_ok(repo_ref_update(f.repo, "c", NULL, &commit, &err));
    repo_pack_free(p);
    assert_fsck(f.path);
    git_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes__eight_at_once__nothing_lost),
        cmocka_unit_test(test_lock__of_somebody_else__conflict_in_a_second),
        cmocka_unit_test(test_killed__imports__whole_batches_or_no_collection),
        cmocka_unit_test(test_killed__single_upserts__old_or_new),
        cmocka_unit_test(test_gc__of_git_meanwhile__nothing_lost),
        cmocka_unit_test(test_gc__before_the_reference_moves__pack_stays),
        cmocka_unit_test(test_gc__takes_the_unfinished_pack__written_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
