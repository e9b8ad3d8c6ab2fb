/* SPDX-License-Identifier: Apache-2.0 */
#include "git_test.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* libgit2 1.5.1 leaks in git_regexp_match() for each key of the configuration that is no url.*.insteadOf, once a
 * remote. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libpcre2\n"; }

/* The blob "f" of the root of some commit reads as this text. */
static void assert_text(struct repo *r, const struct repo_oid *root, const char *text)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct repo_tree t;
    struct region *region = NULL;
    const unsigned char *bytes = NULL;
    size_t len = 0;
    assert_ok(repo_tree_read(r, root, &t, &err));
    const struct repo_tree_entry *e = repo_tree_find(&t, "f");
    assert_non_null(e);
    assert_null(repo_tree_find(&t, "g"));
    assert_ok(repo_object_read(r, &e->oid, REPO_BLOB, &region, &bytes, &len, &err));
    assert_int_equal(len, strlen(text));
    assert_memory_equal(bytes, text, len);
    region_drop(region);
    repo_tree_release(&t);
}

static void test_repo__modes_of_open__take_make_or_refuse(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo *r = NULL;
    char path[600];
    git_fixture_open(&f, REPO_CREATE);
    assert_true(repo_is_bare(f.repo));
    assert_string_equal(repo_path(f.repo), f.path);
    assert_fsck(f.path);

    snprintf(path, sizeof path, "%s/none", f.folder);
    assert_fails(repo_open(f.ctx, path, REPO_EXISTING, &r, &err), GREBE_ENOTFOUND, "none");
    assert_null(r);
    assert_int_equal(run_shell("test ! -e '%s'", path), 0);

    snprintf(path, sizeof path, "%s/work", f.folder);
    assert_ok(repo_open(f.ctx, path, REPO_INIT, &r, &err));
    assert_false(repo_is_bare(r));
    repo_close(r);
    for (int mode = REPO_EXISTING; mode <= REPO_INIT_BARE; mode++) { /* whatever is there is taken as it is */
        assert_ok(repo_open(f.ctx, path, (enum repo_mode)mode, &r, &err));
        assert_false(repo_is_bare(r));
        repo_close(r);
    }
    snprintf(path, sizeof path, "%s/work/.git", f.folder);
    assert_ok(repo_open(f.ctx, path, REPO_EXISTING, &r, &err));
    repo_close(r);
    r = NULL;

    /* no search upwards: a folder inside a repository is a folder */
    snprintf(path, sizeof path, "%s/work/sub", f.folder);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_fails(repo_open(f.ctx, path, REPO_EXISTING, &r, &err), GREBE_EINVAL, "without one");
    assert_ok(repo_open(f.ctx, path, REPO_CREATE, &r, &err)); /* an empty folder becomes one */
    assert_true(repo_is_bare(r));
    repo_close(r);
    r = NULL;

    snprintf(path, sizeof path, "%s/things", f.folder);
    assert_int_equal(run_shell("mkdir '%s' && touch '%s/x'", path, path), 0);
    assert_fails(repo_open(f.ctx, path, REPO_CREATE, &r, &err), GREBE_EINVAL, "found \"x\"");
    assert_fails(repo_open(f.ctx, path, REPO_EXISTING, &r, &err), GREBE_EINVAL, "folder without one");
    assert_int_equal(run_shell("test \"$(ls -A '%s')\" = x", path), 0);
    snprintf(path, sizeof path, "%s/things/x", f.folder);
    assert_fails(repo_open(f.ctx, path, REPO_CREATE, &r, &err), GREBE_EINVAL, "x");
    assert_fails(repo_open(f.ctx, path, REPO_EXISTING, &r, &err), GREBE_EINVAL, "file without one");

    snprintf(path, sizeof path, "%s/sha256", f.folder);
    assert_int_equal(run_shell("git init -q --bare --object-format=sha256 '%s' 2>/dev/null", path), 0);
    assert_fails(repo_open(f.ctx, path, REPO_EXISTING, &r, &err), GREBE_EUNSUPPORTED, "sha256");
    assert_int_equal(run_shell("git -C '%s' config extensions.objectformat sha1", path), 0);
    assert_ok(repo_open(f.ctx, path, REPO_EXISTING, &r, &err));
    repo_close(r);
    r = NULL;
    assert_int_equal(run_shell("git -C '%s' config extensions.fromthefuture 1", path), 0);
    assert_fails(repo_open(f.ctx, path, REPO_EXISTING, &r, &err), GREBE_EUNSUPPORTED, "fromthefuture");
    git_fixture_close(&f);
}

static void test_repo__packed_by_git__still_read_by_those_who_had_it_open(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid commits[4], roots[4], got, root;
    struct arena ar = ARENA_INIT(mem_system());
    struct repo_commit c;
    char text[16];
    git_fixture_open(&f, REPO_CREATE);
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "v%d", i);
        put_commit(f.repo, text, i > 0 ? &commits[i - 1] : NULL, &commits[i], &roots[i]);
        assert_ok(repo_ref_update(f.repo, "a", i > 0 ? &commits[i - 1] : NULL, &commits[i], &err));
    }
    /* four packs become one, references too; what was listed before is gone */
    assert_int_equal(
        run_shell("git -C '%s' gc -q --prune=now && test $(ls '%s'/objects/pack/*.pack | wc -l) = 1", f.path, f.path),
        0);
    assert_ok(repo_ref_read(f.repo, "a", &got, &root, &err));
    assert_true(repo_oid_equal(&got, &commits[3]) && repo_oid_equal(&root, &roots[3]));
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "v%d", i);
        assert_text(f.repo, &roots[i], text);
        assert_ok(repo_commit_read(f.repo, &commits[i], &ar, &c, &err));
        assert_string_equal(c.message, text);
        assert_true(c.has_parent == (i > 0) && c.time_seconds > 1000000000);
    }
    assert_int_equal(run_shell("git -C '%s' multi-pack-index write 2>/dev/null", f.path), 0);
    git_fixture_reopen(&f);
    assert_text(f.repo, &roots[1], "v1");
    /* indexes of version 1, and of version 2 with offsets of 64 bits */
    static const char *const versions[] = { "1", "2,0x20" };
    for (int k = 0; k < 2; k++) {
        assert_int_equal(
            run_shell("cd '%s/objects/pack' && rm -f multi-pack-index && p=$(echo *.pack) && chmod u+w * && "
                      "git index-pack --index-version=%s $p >/dev/null",
                      f.path, versions[k]),
            0);
        git_fixture_reopen(&f);
        for (int i = 0; i < 4; i++) {
            snprintf(text, sizeof text, "v%d", i);
            assert_text(f.repo, &roots[i], text);
        }
    }
    /* copies by git: clone, bundle */
    assert_int_equal(
        run_shell(
            "cd '%s' && git clone -q --mirror . ../mirror 2>/dev/null && git -C ../mirror fsck --strict 2>/dev/null && "
            "git bundle create -q ../all.bundle refs/git-vdb/collections/a && git bundle verify -q ../all.bundle "
            "2>/dev/null",
            f.path),
        0);
    /* packs taken apart into loose objects */
    assert_int_equal(
        run_shell("cd '%s' && mv objects/pack/*.pack x && rm -f objects/pack/* && git unpack-objects -q <x", f.path),
        0);
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "v%d", i);
        assert_text(f.repo, &roots[i], text);
    }
    /* and our own gc */
    assert_fails(repo_gc(f.repo, -1, &err), GREBE_EINVAL, "-1");
    assert_ok(repo_gc(f.repo, 1209600, &err));
    assert_int_equal(
        run_shell("test $(ls '%s'/objects/pack/*.pack | wc -l) = 1 && test ! -e '%s'/objects/[0-9a-f][0-9a-f]", f.path,
                  f.path),
        0);
    assert_text(f.repo, &roots[0], "v0");
    arena_release(&ar);
    git_fixture_close(&f);
}

static void test_repo__worktree_alternates_read_only__objects_are_found(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo *r = NULL;
    struct repo_oid c1, c2, r1, r2, got, root;
    char path[600];
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "one", NULL, &c1, &r1);
    assert_ok(repo_ref_update(f.repo, "a", NULL, &c1, &err));
    assert_int_equal(
        run_shell("cd '%s' && git update-ref refs/heads/m refs/git-vdb/collections/a && "
                  "git worktree add -q ../tree m 2>/dev/null && git clone -q --shared . ../shared 2>/dev/null",
                  f.path),
        0);
    snprintf(path, sizeof path, "%s/tree", f.folder);
    assert_ok(repo_open(f.ctx, path, REPO_EXISTING, &r, &err));
    assert_ok(repo_ref_read(r, "a", &got, &root, &err));
    assert_text(r, &root, "one");
    put_commit(r, "two", &c1, &c2, &r2); /* written into the repository that the tree belongs to */
    assert_ok(repo_ref_update(r, "a", &c1, &c2, &err));
    repo_close(r);
    assert_ok(repo_ref_read(f.repo, "a", &got, &root, &err));
    assert_true(repo_oid_equal(&got, &c2));

    snprintf(path, sizeof path, "%s/shared", f.folder);
    assert_ok(repo_open(f.ctx, path, REPO_EXISTING, &r, &err));
    assert_text(r, &r1, "one");
    assert_text(r, &r2, "two");
    assert_fails(repo_ref_read(r, "a", &got, &root, &err), GREBE_ENOTFOUND, "\"a\"");
    repo_close(r);

    /* reading leaves every file as it was */
    assert_int_equal(
        run_shell("cd '%s' && chmod -R a-w . && find . -printf '%%p %%T@ %%s\\n' | sort >../before", f.path), 0);
    git_fixture_reopen(&f);
    bool is_commit = false;
    assert_ok(repo_ref_read(f.repo, "a", &got, &root, &err));
    assert_ok(repo_revision(f.repo, "refs/git-vdb/collections/a~1", &is_commit, &got, &root, &err));
    assert_text(f.repo, &root, "one");
    assert_fails(repo_object_read(f.repo, &(struct repo_oid){ { 1 } }, REPO_BLOB, &(struct region *){ NULL },
                                 &(const unsigned char *){ NULL }, &(size_t){ 0 }, &err),
                 GREBE_ENOTFOUND, "no object 0100");
    assert_int_equal(
        run_shell("cd '%s' && find . -printf '%%p %%T@ %%s\\n' | sort | cmp - ../before && chmod -R u+w .", f.path), 0);
    git_fixture_close(&f);
}

static void test_revision__expressions__commit_tree_or_refused(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid c1, c2, r1, r2, got, root;
    bool is_commit = false;
    char hex[REPO_OID_HEX + 1], text[200];
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "one", NULL, &c1, &r1);
    put_commit(f.repo, "two", &c1, &c2, &r2);
    assert_ok(repo_ref_update(f.repo, "a", NULL, &c2, &err));
    repo_oid_hex(&c1, hex);
    const char *const of_first[] = { hex, "refs/git-vdb/collections/a~1", "refs/git-vdb/collections/a^" };
    for (size_t i = 0; i < 3; i++) {
        assert_ok(repo_revision(f.repo, of_first[i], &is_commit, &got, &root, &err));
        assert_true(is_commit && repo_oid_equal(&got, &c1) && repo_oid_equal(&root, &r1));
    }
    snprintf(text, sizeof text, "%.12s", hex);
    assert_ok(repo_revision(f.repo, text, &is_commit, &got, &root, &err));
    assert_true(repo_oid_equal(&root, &r1));
    assert_ok(repo_revision(f.repo, "refs/git-vdb/collections/a", &is_commit, &got, &root, &err));
    assert_true(is_commit && repo_oid_equal(&got, &c2) && repo_oid_equal(&root, &r2));
    repo_oid_hex(&r1, hex);
    assert_ok(repo_revision(f.repo, hex, &is_commit, &got, &root, &err));
    assert_true(!is_commit && repo_oid_equal(&root, &r1));
    assert_ok(repo_revision(f.repo, "refs/git-vdb/collections/a~1^{tree}", &is_commit, &got, &root, &err));
    assert_true(!is_commit && repo_oid_equal(&root, &r1));
    assert_fails(repo_revision(f.repo, "refs/git-vdb/collections/a:f", &is_commit, &got, &root, &err), GREBE_EINVAL,
                 "not a commit or tree");
    assert_int_equal(run_shell("git -C '%s' -c user.name=x -c user.email=y tag -a -m t t %s", f.path, hex), 0);
    assert_fails(repo_revision(f.repo, "t", &is_commit, &got, &root, &err), GREBE_EINVAL, "not a commit or tree");
    assert_fails(repo_revision(f.repo, "nothing", &is_commit, &got, &root, &err), GREBE_ENOTFOUND, "\"nothing\"");
    assert_fails(repo_revision(f.repo, "0000000000000000000000000000000000000001", &is_commit, &got, &root, &err),
                 GREBE_ENOTFOUND, "no object");
    assert_ok(repo_merge_base(f.repo, &c1, &c2, &got, &err));
    assert_true(repo_oid_equal(&got, &c1));
    struct repo_oid other, other_root;
    put_commit(f.repo, "elsewhere", NULL, &other, &other_root);
    assert_fails(repo_merge_base(f.repo, &c1, &other, &got, &err), GREBE_ENOTFOUND, "no common ancestor");
    git_fixture_close(&f);
}

static void test_remote__push_and_pull__fast_forward_only(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo *other = NULL;
    struct repo_oid c1, c2, c3, r1, r2, r3, got, root;
    char path[600], url[620];
    git_fixture_open(&f, REPO_CREATE);
    snprintf(path, sizeof path, "%s/other.git", f.folder);
    snprintf(url, sizeof url, "file://%s", path);
    assert_ok(repo_open(f.ctx, path, REPO_CREATE, &other, &err));
    put_commit(f.repo, "one", NULL, &c1, &r1);
    assert_ok(repo_ref_update(f.repo, "a", NULL, &c1, &err));
    assert_fails(repo_push(f.repo, "a", "origin", &err), GREBE_ENOTFOUND, "no remote \"origin\"");
    assert_fails(repo_push(f.repo, "b", "origin", &err), GREBE_ENOTFOUND, "no collection \"b\"");
    assert_fails(repo_pull(f.repo, "a", "no such place", &root, &err), GREBE_ENOTFOUND, "no such place");
    assert_int_equal(run_shell("git -C '%s' remote add origin '%s' && git -C '%s' remote add origin '%s'", f.path, path,
                               path, f.path),
                     0);
    assert_ok(repo_push(f.repo, "a", "origin", &err));
    assert_ok(repo_ref_read(other, "a", &got, &root, &err));
    assert_true(repo_oid_equal(&got, &c1));
    assert_text(other, &root, "one");

    put_commit(f.repo, "two", &c1, &c2, &r2);
    assert_ok(repo_ref_update(f.repo, "a", &c1, &c2, &err));
    assert_ok(repo_pull(other, "a", "origin", &root, &err));
    assert_true(repo_oid_equal(&root, &r2));
    assert_ok(repo_ref_read(other, "a", &got, &root, &err));
    assert_true(repo_oid_equal(&got, &c2));
    assert_int_equal(run_shell("git -C '%s' rev-parse -q --verify refs/git-vdb/remotes/origin/a >/dev/null && "
                               "test ! -e '%s/logs'",
                               path, path),
                     0);
    assert_ok(repo_pull(other, "a", "origin", &root, &err)); /* nothing new */
    assert_fails(repo_pull(other, "b", "origin", &root, &err), GREBE_ENOTFOUND, "\"b\"");

    /* both sides go on: neither way is a fast-forward */
    put_commit(f.repo, "here", &c2, &c3, &r3);
    assert_ok(repo_ref_update(f.repo, "a", &c2, &c3, &err));
    put_commit(other, "there", &c2, &got, &root);
    assert_ok(repo_ref_update(other, "a", &c2, &got, &err));
    assert_fails(repo_push(f.repo, "a", "origin", &err), GREBE_ECONFLICT,
                 "next: grebe vdb pull a origin, and if that is refused: grebe vdb merge a refs/git-vdb/remotes/origin/a");
    assert_fails(repo_pull(f.repo, "a", "origin", &root, &err), GREBE_ECONFLICT,
                 "next: grebe vdb merge a refs/git-vdb/remotes/origin/a");
    assert_fails(repo_pull(f.repo, "a", url, &root, &err), GREBE_ECONFLICT, "next: grebe vdb merge a refs/git-vdb/remotes/");
    const char *tracking = strstr(err.message, "refs/git-vdb/remotes/"); /* it is there, as are its objects */
    assert_int_equal(run_shell("test $(git -C '%s' rev-parse %s) = $(git -C '%s' rev-parse refs/git-vdb/collections/a) && "
                               "test ! -e '%s/FETCH_HEAD'",
                               f.path, tracking, path, f.path),
                     0);
    assert_ok(repo_ref_read(f.repo, "a", &got, &root, &err));
    assert_true(repo_oid_equal(&got, &c3));
    repo_close(other);

    /* by path and by address, into an empty repository: the collection is created */
    for (int i = 0; i < 2; i++) {
        char third[600];
        snprintf(third, sizeof third, "%s/third%d.git", f.folder, i);
        assert_ok(repo_open(f.ctx, third, REPO_CREATE, &other, &err));
        assert_ok(repo_pull(other, "a", i == 0 ? path : url, &root, &err));
        assert_text(other, &root, "there");
        put_commit(other, "new", NULL, &got, &root);
        assert_ok(repo_ref_update(other, "n", NULL, &got, &err));
        assert_ok(repo_push(other, "n", i == 0 ? path : f.path, &err));
        assert_fsck(third);
        repo_close(other);
    }
    assert_fsck(f.path);
    assert_fsck(path);
    git_fixture_close(&f);
}

/* Everything below a tree, by our reader; counts trees and blobs. */
static void walk(struct repo *r, const struct repo_oid *oid, int depth, size_t *n)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct repo_tree t;
    assert_true(depth < 20);
    assert_ok(repo_tree_read(r, oid, &t, &err));
    (*n)++;
    for (size_t i = 0; i < t.n; i++) {
        if (repo_entry_is_tree(&t.entries[i])) {
            walk(r, &t.entries[i].oid, depth + 1, n);
            continue;
        }
        struct region *region = NULL;
        const unsigned char *bytes = NULL;
        size_t len = 0;
        assert_ok(repo_object_read(r, &t.entries[i].oid, REPO_BLOB, &region, &bytes, &len, &err));
        assert_int_equal((uintptr_t)bytes % MEM_ALIGN_VECTOR, 0);
        region_drop(region);
        (*n)++;
    }
    /* and the bytes of the tree come out again */
    struct buf b = BUF_INIT(mem_system());
    struct repo_oid again;
    assert_ok(repo_tree_encode(t.entries, t.n, &b, &err));
    repo_oid_of(REPO_TREE, b.data, b.len, &again);
    assert_true(repo_oid_equal(&again, oid));
    buf_release(&b);
    repo_tree_release(&t);
}

static void test_repo__golden_bundles__roots_of_all_commits(void **state)
{
    (void)state;
    static const char *const names[] = { "small-v2", "words-v2", "old-v1" };
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    size_t len = 0;
    unsigned char *expected = test_read_file(TEST_DATA "/golden/gitvdb/expected.json", &len);
    char *text = malloc(len + 1);
    assert_non_null(text);
    memcpy(text, expected, len);
    text[len] = '\0';
    git_fixture_open(&f, REPO_CREATE);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(run_shell("git -C '%s' fetch -q '%s/golden/gitvdb/%s.bundle' 'refs/*:refs/*' 2>/dev/null",
                                   f.path, TEST_DATA, names[i]),
                         0);
    }
    struct arena ar = ARENA_INIT(mem_system());
    const char *const *list = NULL;
    size_t n_list = 0, n_commits = 0, n_objects = 0;
    assert_ok(repo_ref_list(f.repo, &ar, &list, &n_list, &err));
    assert_true(n_list >= 3);
    for (size_t i = 0; i < n_list; i++) {
        struct repo_oid at, root;
        struct repo_commit c;
        assert_ok(repo_ref_read(f.repo, list[i], &at, &root, &err));
        do {
            char hex[REPO_OID_HEX + 1];
            assert_ok(repo_commit_read(f.repo, &at, &ar, &c, &err));
            repo_oid_hex(&c.root, hex);
            assert_non_null(strstr(text, hex));
            walk(f.repo, &c.root, 0, &n_objects);
            n_commits++;
            at = c.parent;
        } while (c.has_parent);
    }
    assert_true(n_commits >= 10 && n_objects > 500);
    arena_release(&ar);
    free(text);
    free(expected);
    git_fixture_close(&f);
}

static void *read_many(void *arg)
{
    struct git_fixture *f = arg;
    for (int i = 0; i < 200; i++) {
        struct repo_oid commit, root;
        struct repo_tree t;
        grebe_error err = GREBE_ERROR_INIT;
        if (repo_ref_read(f->repo, "a", &commit, &root, &err) != GREBE_OK ||
            repo_tree_read(f->repo, &root, &t, &err) != GREBE_OK) {
            return "failed";
        }
        repo_tree_release(&t);
    }
    return NULL;
}

static void test_repo__threads_read_while_one_writes__all_find_their_objects(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    grebe_error err = GREBE_ERROR_INIT;
    struct git_fixture f;
    struct repo_oid old, commit, root;
    pthread_t threads[THREADS];
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "start", NULL, &old, &root);
    assert_ok(repo_ref_update(f.repo, "a", NULL, &old, &err));
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, &f), 0);
    }
    for (int i = 0; i < 20; i++) {
        char text[16];
        snprintf(text, sizeof text, "t%d", i);
        put_commit(f.repo, text, &old, &commit, &root);
        assert_ok(repo_ref_update(f.repo, "a", &old, &commit, &err));
        old = commit;
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    git_fixture_close(&f);
}

static void test_commit__source_date_epoch__same_id_everywhere(void **state)
{
    (void)state;
    struct git_fixture f;
    struct repo_oid c, root;
    char hex[REPO_OID_HEX + 1];
    setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
    git_fixture_open(&f, REPO_CREATE);
    put_commit(f.repo, "create collection x", NULL, &c, &root);
    unsetenv("SOURCE_DATE_EPOCH");
    repo_oid_hex(&c, hex);
    assert_int_equal(
        run_shell("cd '%s' && git cat-file commit %s >c && printf 'tree %%s\\nauthor git-vdb <git-vdb@localhost> "
                  "1700000000 +0000\\ncommitter git-vdb <git-vdb@localhost> 1700000000 +0000\\n\\n"
                  "create collection x' $(git rev-parse %s^{tree}) | cmp - c",
                  f.path, hex, hex),
        0);
    setenv("TZ", "XYZ-5:30", 1);
    tzset();
    put_commit(f.repo, "offset", &c, &c, &root);
    unsetenv("TZ");
    tzset();
    repo_oid_hex(&c, hex);
    assert_int_equal(
        run_shell("git -C '%s' cat-file commit %s | grep -q '^author git-vdb <git-vdb@localhost> [0-9]* +0530$'",
                  f.path, hex),
        0);
    git_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repo__modes_of_open__take_make_or_refuse),
        cmocka_unit_test(test_repo__packed_by_git__still_read_by_those_who_had_it_open),
        cmocka_unit_test(test_repo__worktree_alternates_read_only__objects_are_found),
        cmocka_unit_test(test_revision__expressions__commit_tree_or_refused),
        cmocka_unit_test(test_remote__push_and_pull__fast_forward_only),
        cmocka_unit_test(test_repo__golden_bundles__roots_of_all_commits),
        cmocka_unit_test(test_repo__threads_read_while_one_writes__all_find_their_objects),
        cmocka_unit_test(test_commit__source_date_epoch__same_id_everywhere),
    };
    return cmocka_run_group_tests_name("repo", tests, NULL, NULL);
}
