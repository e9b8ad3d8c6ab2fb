/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_repo.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "git/git_discover.h"
#include "git/git_library.h"

/* ---- errors of libgit2 ---- */

static grebe_status status_of_git(int code, const git_error *e)
{
    switch (code) {
    case GIT_ENOTFOUND: return GREBE_ENOTFOUND;
    case GIT_EEXISTS: return GREBE_EEXISTS;
    case GIT_EAMBIGUOUS:
    case GIT_EINVALIDSPEC:
    case GIT_EINVALID: return GREBE_EINVAL;
    case GIT_ELOCKED:
    case GIT_EMODIFIED:
    case GIT_ENONFASTFORWARD: return GREBE_ECONFLICT;
    case GIT_EAUTH:
    case GIT_ECERTIFICATE:
    case GIT_EOWNER: return GREBE_EAUTH;
    case GIT_EMISMATCH: return GREBE_ECORRUPT;
    default: break;
    }
    switch (e == NULL ? GIT_ERROR_NONE : e->klass) {
    case GIT_ERROR_NOMEMORY: return GREBE_ENOMEM;
    case GIT_ERROR_NET:
    case GIT_ERROR_HTTP:
    case GIT_ERROR_SSH:
    case GIT_ERROR_SSL: return GREBE_ENETWORK;
    case GIT_ERROR_ODB:
    case GIT_ERROR_ZLIB:
    case GIT_ERROR_OBJECT:
    case GIT_ERROR_TREE:
    case GIT_ERROR_INDEXER: return GREBE_ECORRUPT;
    default: return GREBE_EIO;
    }
}

grebe_status repo_git_fail(const struct repo *r, grebe_error *err, int code, const char *fmt, ...)
{
    const git_error *e = r->api.error_last();
    grebe_status st = status_of_git(code, e);
    char what[256], why[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    const char *text = e != NULL && e->message != NULL ? e->message : "libgit2 gave no reason";
    error_quote(why, sizeof why, text, strlen(text));
    st = GREBE_FAIL(err, st, "%s: %s", what, why);
    if (code == GIT_ELOCKED && err != NULL) {
        err->flags |= GREBE_ERROR_RETRYABLE;
        err->sys = EEXIST; /* as git_ref_write.c says it */
    }
    return st;
}

/* ---- open ---- */

/* "not there", "empty" and "something else in it" of a path that is to become a repository. */
static grebe_status check_free(const char *path, grebe_error *err)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        if (errno == ENOENT) {
            return GREBE_OK;
        }
        return GREBE_FAIL_SYS(err, errno == ENOTDIR ? GREBE_EINVAL : status_from_errno(errno), errno,
                              "%s: expected a repository, an empty folder or nothing", path);
    }
    grebe_status st = GREBE_OK;
    const struct dirent *e = NULL;
    while (st == GREBE_OK && (e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            char name[64];
            st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a repository or an empty folder, found \"%s\" in it", path,
                            error_quote(name, sizeof name, e->d_name, strlen(e->d_name)));
        }
    }
    closedir(dir);
    return st;
}

static grebe_status make_repository(struct repo *r, enum repo_mode mode, grebe_error *err)
{
    /* `init` may be asked for in a folder that holds files already, as git's own */
    if (mode == REPO_CREATE) {
        grebe_status st = check_free(r->path, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    git_repository_init_options options;
    r->api.repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
    options.flags = GIT_REPOSITORY_INIT_MKDIR | GIT_REPOSITORY_INIT_MKPATH;
    if (mode != REPO_INIT) {
        options.flags |= GIT_REPOSITORY_INIT_BARE;
    }
    int code = r->api.repository_init_ext(&r->git, r->path, &options);
    return code < 0 ? repo_git_fail(r, err, code, "%s: cannot make a repository", r->path) : GREBE_OK;
}

static grebe_status open_failed(const struct repo *r, int code, grebe_error *err)
{
    const char *path = r->path;
    const git_error *e = r->api.error_last();
    struct stat info;
    if (code == GIT_ENOTFOUND && stat(path, &info) == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a Git repository, found a %s without one", path,
                          S_ISDIR(info.st_mode) ? "folder" : "file");
    }
    if (e != NULL && e->message != NULL &&
        (strstr(e->message, "unsupported extension") != NULL ||
         strstr(e->message, "unsupported repository version") != NULL)) {
        char why[200];
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: %s", path,
                          error_quote(why, sizeof why, e->message, strlen(e->message)));
    }
    return repo_git_fail(r, err, code, "%s: cannot open the repository", path);
}

/* Ids of objects are 20 bytes everywhere in the room. */
static grebe_status check_format(struct repo *r, grebe_error *err)
{
    git_config *config = NULL;
    git_config_entry *entry = NULL;
    grebe_status st = GREBE_OK;
    int code = r->api.repository_config_snapshot(&config, r->git);
    if (code < 0) {
        return repo_git_fail(r, err, code, "%s: cannot read the configuration", r->path);
    }
    if (r->api.config_get_entry(&entry, config, "extensions.objectformat") == 0 && strcmp(entry->value, "sha1") != 0) {
        char name[40];
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: expected a repository of SHA-1 objects, found \"%s\"", r->path,
                        error_quote(name, sizeof name, entry->value, strlen(entry->value)));
    }
    r->api.config_entry_free(entry);
    r->api.config_free(config);
    return st;
}

/* Settings that libgit2 has once for the whole process: the same values each time, so that it does not matter who
 * writes them. */
static void set_options(const struct repo *r)
{
    static const char *extensions[] = { "objectformat", "worktreeconfig", "preciousobjects", "partialclone" };
    r->api.libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
    r->api.libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
    r->api.libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, sizeof extensions / sizeof extensions[0]);
}

static grebe_status start_git(struct repo *r, grebe_error *err)
{
    if (!r->is_git_started) {
        grebe_status st = git_api_load(&r->api, err);
        if (st != GREBE_OK) {
            return st;
        }
        int code = r->api.libgit2_init();
        if (code < 0) {
            git_api_unload(&r->api);
            return GREBE_FAIL(err, GREBE_EIO, "libgit2 cannot start");
        }
        if (code == 1) {
            set_options(r);
        }
        r->is_git_started = true;
    }
    return GREBE_OK;
}

grebe_status repo_git(struct repo *r, git_repository **out, grebe_error *err)
{
    *out = NULL;
    pthread_mutex_lock(&r->mutex);
    grebe_status st = start_git(r, err);
    if (st == GREBE_OK && r->git == NULL) {
        int code = r->api.repository_open_ext(&r->git, r->git_dir, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);
        if (code < 0) {
            st = open_failed(r, code, err);
        }
    }
    *out = r->git;
    pthread_mutex_unlock(&r->mutex);
    return st;
}

static grebe_status set_path(struct repo *r, char **dst, const char *path, const char *rest, grebe_error *err)
{
    struct buf b = BUF_INIT(r->a);
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    grebe_status st = buf_put(&b, path, n, err);
    if (st == GREBE_OK) {
        st = buf_put_text(&b, rest, err);
    }
    if (st == GREBE_OK) {
        *dst = str_copy_len(r->a, (const char *)b.data, b.len);
        st = *dst == NULL ? mem_fail(err, b.len, "a path") : GREBE_OK;
    }
    buf_release(&b);
    return st;
}

/* Open or make it with libgit2: whatever repo_discover() did not know. */
static grebe_status open_with_git(struct repo *r, enum repo_mode mode, grebe_error *err)
{
    grebe_status st = start_git(r, err);
    if (st != GREBE_OK) {
        return st;
    }
    int code = r->api.repository_open_ext(&r->git, r->path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);
    if (code == GIT_ENOTFOUND && mode != REPO_EXISTING) {
        st = make_repository(r, mode, err);
    } else if (code < 0) {
        st = open_failed(r, code, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_TRY(check_format(r, err));
    r->is_bare = r->api.repository_is_bare(r->git) != 0;
    GREBE_TRY(set_path(r, &r->git_dir, r->api.repository_path(r->git), "", err));
    st = set_path(r, &r->common, r->api.repository_commondir(r->git), "", err);
out:
    return st;
}

grebe_status repo_open(grebe_context *ctx, const char *path, enum repo_mode mode, struct repo **out,
                           grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf folder = BUF_INIT(ctx->a);
    bool is_found = false;
    struct stat info;
    assert(path != NULL && out != NULL);
    *out = NULL;
    struct repo *r = mem_alloc_zero(ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "a repository");
    }
    r->ctx = ctx;
    r->a = ctx->a;
    pthread_mutex_init(&r->mutex, NULL);
    r->path = str_copy(r->a, path);
    if (r->path == NULL) {
        st = mem_fail(err, strlen(path), path);
        goto out;
    }
    if (mode == REPO_EXISTING && stat(path, &info) != 0) {
        st = GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: no repository", path);
        goto out;
    }
    GREBE_TRY(repo_discover(path, &folder, &r->is_bare, &is_found, err));
    if (is_found) {
        GREBE_TRY(set_path(r, &r->git_dir, buf_text(&folder), "", err));
        GREBE_TRY(set_path(r, &r->common, r->git_dir, "", err));
    } else {
        GREBE_TRY(open_with_git(r, mode, err));
    }
    GREBE_TRY(set_path(r, &r->objects, r->common, "/objects", err));
    GREBE_TRY(repo_store_open(ctx, r->objects, &r->store, err));
    *out = r;
    r = NULL;
out:
    buf_release(&folder);
    repo_close(r);
    return st;
}

void repo_close(struct repo *r)
{
    if (r == NULL) {
        return;
    }
    repo_store_close(r->store);
    if (r->is_git_started) {
        r->api.repository_free(r->git);
        r->api.libgit2_shutdown();
        git_api_unload(&r->api);
    }
    pthread_mutex_destroy(&r->mutex);
    str_free(r->a, r->objects);
    str_free(r->a, r->common);
    str_free(r->a, r->git_dir);
    str_free(r->a, r->path);
    mem_free(r->a, r, sizeof *r);
}

bool repo_is_bare(const struct repo *r) { return r->is_bare; }

const char *repo_path(const struct repo *r) { return r->path; }

grebe_status repo_refresh(struct repo *r, grebe_error *err)
{
    /* libgit2 looks again by itself when it does not find an object */
    return repo_store_refresh(r->store, err);
}
