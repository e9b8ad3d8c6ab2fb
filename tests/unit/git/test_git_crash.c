/* SPDX-License-Identifier: Apache-2.0 */
/* Writers that are stopped: by a full disk, by a lack of memory, by a kill. What stays is the old state or the new one.
 */
#include "git_test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void test_pack__full_disk__nothing_stays(void **state)
{
    (void)state;
    enum { LEN = 300000 };
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid c1, root, oid;
    unsigned char *bytes = malloc(LEN);
    assert_non_null(bytes);
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "one", NULL, &c1, &root);
    assert_ok(repo_ref_update(f.repo, "a", NULL, &c1, &err));
    assert_int_equal(run_shell("find '%s' | sort >'%s/before'", f.path, f.folder), 0);
    signal(SIGXFSZ, SIG_IGN);
    /* in the middle of a pack, at its end, in its index, in the reference */
    static const rlim_t limits[] = { 1, 100000, 1048576, 2000000, 2100000, 12, 5, 40 };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct repo_pack *p = NULL;
        assert_ok(repo_pack_begin(f.repo, &p, &err));
        limit_files(limits[i]);
        grebe_status st = GREBE_OK;
        uint64_t seed = i;
        for (int k = 0; k < 8 && st == GREBE_OK; k++) {
            for (size_t j = 0; j + 8 <= LEN; j += 8) {
                uint64_t v = test_random(&seed);
                memcpy(bytes + j, &v, 8);
            }
            st = repo_pack_add(p, REPO_BLOB, bytes, LEN, 0, &oid, &err);
        }
        st = st == GREBE_OK ? repo_pack_publish(p, &err) : st;
        repo_pack_free(p);
        grebe_status ref = repo_ref_update(f.repo, "a", &c1, &oid, &err);
        limit_files(RLIM_INFINITY);
        assert_true(st == GREBE_ELIMIT || st == GREBE_EIO);
        assert_true(limits[i] > 41 || ref == GREBE_ELIMIT || ref == GREBE_EIO);
        if (ref == GREBE_OK) { /* the object of the reference does not matter here */
            assert_ok(repo_ref_update(f.repo, "a", &oid, &c1, &err));
        }
        assert_int_equal(run_shell("find '%s' | sort | cmp - '%s/before'", f.path, f.folder), 0);
    }
    /* a pack whose write failed stays failed */
    struct repo_pack *p = NULL;
    assert_ok(repo_pack_begin(f.repo, &p, &err));
    memset(bytes, 1, LEN);
    limit_files(1000);
    grebe_status st = GREBE_OK;
    for (int k = 0; k < 4 && st == GREBE_OK; k++) {
        bytes[k] = 7;
        st = repo_pack_add(p, REPO_BLOB, bytes, LEN, 0, &oid, &err);
    }
    limit_files(RLIM_INFINITY);
    assert_true(st != GREBE_OK);
    assert_fails(repo_pack_publish(p, &err), GREBE_EIO, "could not be written");
    repo_pack_free(p);
    free(bytes);
    assert_fsck(f.path);
    git_fixture_close(&f);
}

/* Writes commits with a few hundred kilobytes each until it is killed. */
static void write_for_ever(const char *path)
{
    enum { LEN = 60000 };
    static unsigned char bytes[LEN];
    grebe_context *ctx = NULL;
    struct repo *r = NULL;
    uint64_t seed = (uint64_t)getpid();
    if (context_new(NULL, &ctx, NULL) != GREBE_OK ||
        repo_open(ctx, path, REPO_EXISTING, &r, NULL) != GREBE_OK) {
        _exit(1);
    }
    for (int i = 0;; i++) {
        struct repo_oid old, root, commit;
        struct repo_pack *p = NULL;
        struct repo_tree_entry e[20];
        char names[20][16], text[20];
        struct buf tree = BUF_INIT(mem_system());
        grebe_status st = repo_ref_read(r, "a", &old, &root, NULL);
        st = st == GREBE_OK ? repo_pack_begin(r, &p, NULL) : st;
        for (int k = 0; k < 20 && st == GREBE_OK; k++) {
            for (size_t j = 0; j + 8 <= LEN; j += 8) {
                uint64_t v = test_random(&seed);
                memcpy(bytes + j, &v, 8);
            }
            snprintf(names[k], sizeof names[k], "%02d", k);
            e[k] = (struct repo_tree_entry){ 0100644, names[k], { { 0 } } };
            st = repo_pack_add(p, REPO_BLOB, bytes, LEN, -1, &e[k].oid, NULL);
        }
        const struct repo_oid *parent = &old;
        snprintf(text, sizeof text, "%d", i);
        st = st == GREBE_OK ? repo_tree_encode(e, 20, &tree, NULL) : st;
        st = st == GREBE_OK ? repo_pack_add(p, REPO_TREE, tree.data, tree.len, -1, &root, NULL) : st;
        st = st == GREBE_OK ? repo_commit_add(p, &root, &parent, 1, text, &commit, NULL) : st;
        st = st == GREBE_OK ? repo_pack_publish(p, NULL) : st;
        repo_pack_free(p);
        buf_release(&tree);
        st = st == GREBE_OK ? repo_ref_update(r, "a", &old, &commit, NULL) : st;
        if (st != GREBE_OK) {
            _exit(2);
        }
    }
}

static void test_pack__killed_at_any_time__repository_is_sound(void **state)
{
    (void)state;
    enum { ROUNDS = 25 };
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid commit, root;
    uint64_t seed = test_seed();
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "first", NULL, &commit, &root);
    assert_ok(repo_ref_update(f.repo, "a", NULL, &commit, &err));
    fflush(NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();
        int status = 0;
        assert_true(pid >= 0);
        if (pid == 0) {
            write_for_ever(f.path);
        }
        struct timespec pause = { 0, (long)(test_random(&seed) % 60000000) };
        nanosleep(&pause, NULL);
        kill(pid, SIGKILL);
        assert_true(waitpid(pid, &status, 0) == pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        /* a lock that the dead one held is taken away by a person, as git says */
        assert_int_equal(run_shell("rm -f '%s/refs/git-vdb/collections/a.lock'", f.path), 0);
        assert_ok(repo_ref_read(f.repo, "a", &commit, &root, &err));
        struct repo_tree t;
        assert_ok(repo_tree_read(f.repo, &root, &t, &err));
        repo_tree_release(&t);
        if (i % 5 == 4) {
            assert_fsck(f.path);
        }
    }
    /* what they left behind goes away with git's own cleaning */
    assert_ok(repo_gc(f.repo, 0, &err));
    assert_int_equal(run_shell("test -z \"$(ls '%s/objects/pack' | grep tmp_)\"", f.path), 0);
    assert_ok(repo_ref_read(f.repo, "a", &commit, &root, &err));
    assert_fsck(f.path);
    git_fixture_close(&f);
}

/* Everything once: open, write, refer, list, read, change. */
static grebe_status work(const grebe_allocator *a, const char *path, grebe_error *err)
{
    grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_context *ctx = NULL;
    struct repo *r = NULL;
    struct repo_pack *p = NULL;
    struct arena ar = ARENA_INIT(a);
    struct buf tree = BUF_INIT(a);
    struct repo_tree t = { .a = a };
    struct region *region = NULL;
    const unsigned char *bytes = NULL;
    const char *const *names = NULL;
    struct repo_tree_entry e = { 0100644, "f", { { 0 } } };
    struct repo_oid root, commit, old, old_root;
    char text[40];
    size_t n = 0;
    grebe_status st = GREBE_OK;
    options.allocator = a;
    GREBE_TRY(context_new(&options, &ctx, err));
    GREBE_TRY(repo_open(ctx, path, REPO_EXISTING, &r, err));
    GREBE_TRY(repo_ref_read(r, "a", &old, &old_root, err));
    snprintf(text, sizeof text, "after %02x%02x%02x", old.bytes[0], old.bytes[1], old.bytes[2]);
    const struct repo_oid *parent = &old;
    GREBE_TRY(repo_pack_begin(r, &p, err));
    GREBE_TRY(repo_pack_add(p, REPO_BLOB, text, strlen(text), -1, &e.oid, err));
    GREBE_TRY(repo_tree_encode(&e, 1, &tree, err));
    GREBE_TRY(repo_pack_add(p, REPO_TREE, tree.data, tree.len, -1, &root, err));
    GREBE_TRY(repo_commit_add(p, &root, &parent, 1, "memory", &commit, err));
    GREBE_TRY(repo_pack_publish(p, err));
    GREBE_TRY(repo_ref_update(r, "a", &old, &commit, err));
    GREBE_TRY(repo_ref_list(r, &ar, &names, &n, err));
    GREBE_TRY(repo_tree_read(r, &root, &t, err));
    GREBE_TRY(repo_object_read(r, &t.entries[0].oid, REPO_BLOB, &region, &bytes, &n, err));
    st = n == strlen(text) && memcmp(bytes, text, n) == 0 ? GREBE_OK : GREBE_ECORRUPT;
out:
    region_drop(region);
    repo_tree_release(&t);
    arena_release(&ar);
    buf_release(&tree);
    repo_pack_free(p);
    repo_close(r);
    context_free(ctx);
    return st;
}

static void test_repo__no_memory_at_any_place__error_and_no_leak(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid commit, root;
    struct test_allocator t;
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "first", NULL, &commit, &root);
    assert_ok(repo_ref_update(f.repo, "a", NULL, &commit, &err));
    assert_int_equal(run_shell("git -C '%s' pack-refs --all && cp -r '%s' '%s/base'", f.path, f.path, f.folder), 0);
    size_t n = 1;
    for (;; n++) {
        assert_int_equal(run_shell("rm -rf '%s' && cp -r '%s/base' '%s'", f.path, f.folder, f.path), 0);
        test_allocator_init(&t);
        t.fail_at = n;
        grebe_status st = work(&t.a, f.path, &err);
        assert_int_equal(t.live_bytes, 0);
        if (st == GREBE_OK && t.n_calls < n) {
            break;
        }
        assert_true(st == GREBE_ENOMEM || st == GREBE_OK); /* a cache that cannot grow is no failure */
        assert_true(n < 5000);
        assert_int_equal(run_shell("test -z \"$(find '%s' -name 'tmp_*' -o -name '*.lock')\"", f.path), 0);
    }
    assert_true(n > 60);
    assert_fsck(f.path);
    git_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack__full_disk__nothing_stays),
        cmocka_unit_test(test_pack__killed_at_any_time__repository_is_sound),
        cmocka_unit_test(test_repo__no_memory_at_any_place__error_and_no_leak),
    };
    return cmocka_run_group_tests_name("vdb_crash", tests, NULL, NULL);
}
