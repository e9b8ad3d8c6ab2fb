/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_VDB_GIT_TEST_H
#define GREBE_TEST_VDB_GIT_TEST_H

/* What the tests of repositories share: a folder, a repository in it, and git itself as the judge. */

#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "git/git_repo.h"

struct git_fixture {
    grebe_context *ctx;
    char *folder;
    char path[512]; /* of a bare repository */
    struct repo *repo;
};

/** Exit status of a shell command; %s is the folder or what else is given. */
static inline int run_shell(const char *fmt, ...) GREBE_PRINTF(1, 2);
static inline int run_shell(const char *fmt, ...)
{
    char command[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    int rc = system(command);
    return rc == -1 ? -1 : rc >> 8 | (rc & 127);
}

static inline void git_fixture_open(struct git_fixture *f, enum repo_mode mode)
{
    grebe_error err = GREBE_ERROR_INIT;
    memset(f, 0, sizeof *f);
    assert_ok(context_new(NULL, &f->ctx, &err));
    f->folder = test_folder_new();
    snprintf(f->path, sizeof f->path, "%s/r.git", f->folder);
    assert_ok(repo_open(f->ctx, f->path, mode, &f->repo, &err));
}

static inline void git_fixture_close(struct git_fixture *f)
{
    repo_close(f->repo);
    test_folder_remove(f->folder);
    context_free(f->ctx);
}

static inline void git_fixture_reopen(struct git_fixture *f)
{
    grebe_error err = GREBE_ERROR_INIT;
    repo_close(f->repo);
    f->repo = NULL;
    assert_ok(repo_open(f->ctx, f->path, REPO_EXISTING, &f->repo, &err));
}

/** git's own check of everything finds nothing. */
static inline void assert_fsck(const char *path)
{
    assert_int_equal(run_shell("git -C '%s' fsck --strict --full >'%s/fsck.txt' 2>&1 || { cat '%s/fsck.txt'; false; }",
                               path, path, path),
                     0);
}

/** One commit with one file "f" of this text, published; the reference is not touched. */
static inline void put_commit(struct repo *r, const char *text, const struct repo_oid *parent,
                              struct repo_oid *commit, struct repo_oid *root)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct repo_pack *p = NULL;
    struct buf tree = BUF_INIT(mem_system());
    struct repo_tree_entry e = { 0100644, "f", { { 0 } } };
    assert_ok(repo_pack_begin(r, &p, &err));
    assert_ok(repo_pack_add(p, REPO_BLOB, text, strlen(text), -1, &e.oid, &err));
    assert_ok(repo_tree_encode(&e, 1, &tree, &err));
    assert_ok(repo_pack_add(p, REPO_TREE, tree.data, tree.len, -1, root, &err));
    assert_ok(repo_commit_add(p, root, &parent, parent != NULL, text, commit, &err));
    assert_ok(repo_pack_publish(p, &err));
    repo_pack_free(p);
    buf_release(&tree);
}

/* A file larger than this cannot be written in this process until the limit is taken back. */
static inline void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
