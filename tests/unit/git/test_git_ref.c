/* SPDX-License-Identifier: Apache-2.0 */
#include "git_test.h"

#include <sys/wait.h>
#include <unistd.h>

static void test_ref__life_of_a_collection__seen_by_git(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid c1, c2, r1, r2, got, root;
    char hex[REPO_OID_HEX + 1];
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "one", NULL, &c1, &r1);
    put_commit(f.repo, "two", &c1, &c2, &r2);
    assert_fails(repo_ref_read(f.repo, "a", &got, &root, &err), GREBE_ENOTFOUND, "no collection \"a\"");
    assert_fails(repo_ref_update(f.repo, "a", &c1, &c2, &err), GREBE_ECONFLICT, "\"a\"");
    assert_ok(repo_ref_update(f.repo, "a", NULL, &c1, &err));
    assert_fails(repo_ref_update(f.repo, "a", NULL, &c2, &err), GREBE_EEXISTS, "exists already");
    assert_fails(repo_ref_update(f.repo, "a", &c2, &c1, &err), GREBE_ECONFLICT, "changed by somebody else");
    assert_int_equal(err.flags & GREBE_ERROR_RETRYABLE, 0);
    assert_ok(repo_ref_update(f.repo, "a", &c1, &c2, &err));
    assert_ok(repo_ref_read(f.repo, "a", &got, &root, &err));
    assert_true(repo_oid_equal(&got, &c2) && repo_oid_equal(&root, &r2));
    repo_oid_hex(&c2, hex);
    assert_int_equal(run_shell("test $(git -C '%s' rev-parse refs/git-vdb/collections/a) = %s", f.path, hex), 0);
    assert_int_equal(run_shell("test ! -e '%s/logs' && test -z \"$(find '%s' -name '*.lock')\"", f.path, f.path), 0);

    /* packed references, alone and with a loose one in front */
    assert_ok(repo_ref_update(f.repo, "b", NULL, &c1, &err));
    assert_int_equal(
        run_shell("git -C '%s' pack-refs --all --prune && test ! -e '%s/refs/git-vdb/collections/a'", f.path, f.path),
        0);
    assert_ok(repo_ref_read(f.repo, "a", &got, &root, &err));
    assert_true(repo_oid_equal(&got, &c2));
    assert_fails(repo_ref_update(f.repo, "a", NULL, &c1, &err), GREBE_EEXISTS, "exists already");
    assert_fails(repo_ref_update(f.repo, "a", &c1, &c2, &err), GREBE_ECONFLICT, "changed");
    assert_ok(repo_ref_update(f.repo, "a", &c2, &c1, &err));
    assert_ok(repo_ref_read(f.repo, "a", &got, &root, &err));
    assert_true(repo_oid_equal(&got, &c1));

    /* lists: bytes in order, others' names left out */
    assert_ok(repo_ref_update(f.repo, "B", NULL, &c1, &err));
    assert_ok(repo_ref_update(f.repo, "a.b-c_9", NULL, &c1, &err));
    repo_oid_hex(&c1, hex);
    assert_int_equal(run_shell("git -C '%s' update-ref refs/git-vdb/collections/x/y %s", f.path, hex), 0);
    struct arena ar = ARENA_INIT(mem_system());
    const char *const *names = NULL;
    size_t n = 0;
    assert_ok(repo_ref_list(f.repo, &ar, &names, &n, &err));
    assert_int_equal(n, 4);
    assert_string_equal(names[0], "B");
    assert_string_equal(names[1], "a");
    assert_string_equal(names[2], "a.b-c_9");
    assert_string_equal(names[3], "b");
    arena_release(&ar);

    /* removed: from the packed ones too */
    assert_fails(repo_ref_delete(f.repo, "a", &c2, &err), GREBE_ECONFLICT, "changed");
    assert_ok(repo_ref_delete(f.repo, "a", &c1, &err));
    assert_fails(repo_ref_read(f.repo, "a", &got, &root, &err), GREBE_ENOTFOUND, "\"a\"");
    assert_fails(repo_ref_delete(f.repo, "a", &c1, &err), GREBE_ENOTFOUND, "\"a\"");
    assert_int_equal(run_shell("git -C '%s' rev-parse -q --verify refs/git-vdb/collections/a >/dev/null", f.path), 1);
    assert_ok(repo_ref_read(f.repo, "b", &got, &root, &err));
    assert_ok(repo_ref_update(f.repo, "a", NULL, &c2, &err));
    assert_fsck(f.path);
    git_fixture_close(&f);
}

static void test_ref__lock_of_somebody_else__conflict_that_may_be_tried_again(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid c1, c2, root, got;
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "one", NULL, &c1, &root);
    put_commit(f.repo, "two", &c1, &c2, &root);
    assert_ok(repo_ref_update(f.repo, "a", NULL, &c1, &err));
    assert_int_equal(run_shell("touch '%s/refs/git-vdb/collections/a.lock'", f.path), 0);
    assert_fails(repo_ref_update(f.repo, "a", &c1, &c2, &err), GREBE_ECONFLICT, "lock");
    assert_true((err.flags & GREBE_ERROR_RETRYABLE) != 0);
    err = (grebe_error)GREBE_ERROR_INIT;
    assert_fails(repo_ref_delete(f.repo, "a", &c1, &err), GREBE_ECONFLICT, "lock");
    assert_true((err.flags & GREBE_ERROR_RETRYABLE) != 0);
    assert_ok(repo_ref_read(f.repo, "a", &got, &root, &err));
    assert_true(repo_oid_equal(&got, &c1));
    assert_int_equal(run_shell("rm '%s/refs/git-vdb/collections/a.lock'", f.path), 0);
    assert_ok(repo_ref_update(f.repo, "a", &c1, &c2, &err));
    git_fixture_close(&f);
}

static void test_ref__names__as_the_format_says(void **state)
{
    (void)state;
    static const char *const good[] = { "a", "A-z_0.9", "-", "_", "a.lockx", "x.loc" };
    static const char *const bad[] = { "", ".", ".a", "a.", "a..b", "a/b", "a b", "\xc3\xa9", "a.lock", "x@{y" };
    grebe_error err = GREBE_ERROR_INIT;
    char longest[130];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_ok(repo_name_check(good[i], &err));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_fails(repo_name_check(bad[i], &err), GREBE_EINVAL, "collection name");
    }
    memset(longest, 'a', sizeof longest);
    longest[128] = '\0';
    assert_ok(repo_name_check(longest, &err));
    longest[128] = 'a';
    longest[129] = '\0';
    assert_fails(repo_name_check(longest, &err), GREBE_EINVAL, "found 129");
}

/* A writer in a process of its own: reads, commits on top, tries again until it stands. */
static int add_commits(const char *path, int who, int n)
{
    grebe_context *ctx = NULL;
    struct repo *r = NULL;
    if (context_new(NULL, &ctx, NULL) != GREBE_OK ||
        repo_open(ctx, path, REPO_EXISTING, &r, NULL) != GREBE_OK) {
        return 1;
    }
    for (int i = 0; i < n; i++) {
        grebe_status st = GREBE_ECONFLICT;
        grebe_error err = GREBE_ERROR_INIT;
        for (int tries = 0; tries < 10000 && st == GREBE_ECONFLICT; tries++) {
            struct repo_oid old, root, commit;
            struct repo_pack *p = NULL;
            char text[40];
            snprintf(text, sizeof text, "commit %d of %d", i, who);
            const struct repo_oid *parent = &old;
            st = repo_ref_read(r, "race", &old, &root, &err);
            if (st == GREBE_OK) {
                st = repo_pack_begin(r, &p, &err);
            }
            if (st == GREBE_OK) {
                st = repo_commit_add(p, &root, &parent, 1, text, &commit, &err);
            }
            if (st == GREBE_OK) {
                st = repo_pack_publish(p, &err);
            }
            repo_pack_free(p);
            if (st == GREBE_OK) {
                st = repo_ref_update(r, "race", &old, &commit, &err);
            }
        }
        if (st != GREBE_OK) {
            fprintf(stderr, "writer %d: %s\n", who, err.message);
            return 2;
        }
    }
    repo_close(r);
    context_free(ctx);
    return 0;
}

static void test_ref__eight_processes_at_once__no_commit_is_lost(void **state)
{
    (void)state;
    enum { WRITERS = 8, COMMITS = 10 };
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid c1, root, got;
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "first", NULL, &c1, &root);
    assert_ok(repo_ref_update(f.repo, "race", NULL, &c1, &err));
    fflush(NULL);
    for (int i = 0; i < WRITERS; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            _exit(add_commits(f.path, i, COMMITS));
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_ok(repo_ref_read(f.repo, "race", &got, &root, &err));
    unsigned seen[WRITERS] = { 0 };
    struct arena ar = ARENA_INIT(mem_system());
    struct repo_commit c;
    size_t n = 0;
    for (;; got = c.parent, n++) {
        assert_ok(repo_commit_read(f.repo, &got, &ar, &c, &err));
        if (!c.has_parent) {
            break;
        }
        unsigned i = 0, who = 0;
        assert_int_equal(sscanf(c.message, "commit %u of %u", &i, &who), 2);
        assert_true(who < WRITERS && i < COMMITS && (seen[who] >> i & 1) == 0);
        seen[who] |= 1u << i;
    }
    assert_int_equal(n, WRITERS * COMMITS);
    arena_release(&ar);
    assert_fsck(f.path);
    git_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ref__life_of_a_collection__seen_by_git),
        cmocka_unit_test(test_ref__lock_of_somebody_else__conflict_that_may_be_tried_again),
        cmocka_unit_test(test_ref__names__as_the_format_says),
        cmocka_unit_test(test_ref__eight_processes_at_once__no_commit_is_lost),
    };
    return cmocka_run_group_tests_name("vdb_ref", tests, NULL, NULL);
}
