/* SPDX-License-Identifier: Apache-2.0 */
/* References are files of one line, or lines of packed-refs; what is loose counts. memmem has a GNU name. */
#define _GNU_SOURCE
#include "git/git_repo.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/git_library.h"

enum { NAME_MAX_BYTES = 128, LOOSE_BYTES_MAX = 256 };
#define PACKED_BYTES_MAX ((uint64_t)1 << 31)

grebe_status repo_name_check(const char *name, grebe_error *err)
{
    size_t n = strlen(name);
    char text[160];
    error_quote(text, sizeof text, name, n);
    if (n == 0 || n > NAME_MAX_BYTES) {
        return GREBE_FAIL(err, GREBE_EINVAL, "collection name \"%s\": expected 1 to %d bytes, found %zu", text,
                          NAME_MAX_BYTES, n);
    }
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        bool is_good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
                       c == '_' || c == '-';
        if (!is_good) {
            return GREBE_FAIL(err, GREBE_EINVAL, "collection name \"%s\": expected letters, digits, '.', '_' and '-'",
                              text);
        }
    }
    if (name[0] == '.' || name[n - 1] == '.' || strstr(name, "..") != NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "collection name \"%s\": expected no '.' at either end and no \"..\"",
                          text);
    }
    if (n >= 5 && strcmp(name + n - 5, ".lock") == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "collection name \"%s\": Git keeps names that end in \".lock\" for itself",
                          text);
    }
    return GREBE_OK;
}

grebe_status repo_ref_name(const char *name, char out[REPO_REF_MAX], grebe_error *err)
{
    grebe_status st = repo_name_check(name, err);
    if (st == GREBE_OK) {
        memcpy(out, REPO_REFS, sizeof REPO_REFS);
        strcat(out, name);
    }
    return st;
}

/* ---- reading ---- */

/* As packed-refs has them: "<40 hex> <name>\n". Finds the line whose name begins with `name` and then `end`. */
static bool find_packed(const struct region *text, const char *name, char end, struct repo_oid *out)
{
    char key[REPO_REF_MAX + 64];
    int n = snprintf(key, sizeof key, " %s%c", name, end);
    if (text == NULL || n < 0 || (size_t)n >= sizeof key) {
        return false;
    }
    const char *begin = (const char *)text->data;
    const char *stop = begin + text->len;
    for (const char *at = begin; (at = memmem(at, (size_t)(stop - at), key, (size_t)n)) != NULL; at++) {
        size_t before = (size_t)(at - begin);
        if (before >= REPO_OID_HEX && (before == REPO_OID_HEX || at[-REPO_OID_HEX - 1] == '\n') &&
            repo_oid_from_hex(at - REPO_OID_HEX, REPO_OID_HEX, out)) {
            return true;
        }
    }
    return false;
}

grebe_status repo_ref_packed(struct repo *r, struct region **out, grebe_error *err)
{
    struct buf path = BUF_INIT(r->a);
    struct io_store *files = NULL;
    *out = NULL;
    grebe_status st = buf_printf(&path, err, "%s/packed-refs", r->common);
    if (st == GREBE_OK && access(buf_text(&path), F_OK) == 0) {
        st = io_local_new(r->ctx, &files, err);
        if (st == GREBE_OK) {
            st = io_read_all(files, buf_text(&path), PACKED_BYTES_MAX, out, NULL, err);
        }
        io_store_free(files);
        st = st == GREBE_ENOTFOUND ? GREBE_OK : st;
    }
    buf_release(&path);
    return st;
}

/* The first bytes of a loose reference; *n 0: there is none (an empty file is none either, as for git while it is
 * written). */
static grebe_status read_loose(struct repo *r, const char *ref, char text[LOOSE_BYTES_MAX], size_t *n,
                               grebe_error *err)
{
    struct buf path = BUF_INIT(r->a);
    grebe_status st = buf_printf(&path, err, "%s/%s", r->common, ref);
    *n = 0;
    if (st == GREBE_OK) {
        int fd = open(buf_text(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t got = fd < 0 ? -1 : read(fd, text, LOOSE_BYTES_MAX);
        int failed = errno;
        if (fd >= 0) {
            close(fd);
        }
        if (got >= 0) {
            *n = (size_t)got;
        } else if (failed != ENOENT && failed != ENOTDIR && failed != EISDIR) {
            st = GREBE_FAIL_SYS(err, GREBE_EIO, failed, "%s: cannot read", buf_text(&path));
        }
    }
    buf_release(&path);
    return st;
}

grebe_status repo_ref_value(struct repo *r, const char *ref, bool *is_there, struct repo_oid *out, grebe_error *err)
{
    char text[LOOSE_BYTES_MAX];
    size_t n = 0;
    struct region *packed = NULL;
    git_repository *git = NULL;
    git_oid id;
    *is_there = false;
    grebe_status st = read_loose(r, ref, text, &n, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (n == 0) {
        st = repo_ref_packed(r, &packed, err);
        *is_there = st == GREBE_OK && find_packed(packed, ref, '\n', out);
        region_drop(packed);
        return st;
    }
    if (n >= REPO_OID_HEX && (n == REPO_OID_HEX || isspace((unsigned char)text[REPO_OID_HEX])) &&
        repo_oid_from_hex(text, REPO_OID_HEX, out)) {
        *is_there = true;
        return GREBE_OK;
    }
    if (n < 4 || memcmp(text, "ref:", 4) != 0) {
        char shown[80];
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected 40 hex digits, found \"%s\"", ref,
                          error_quote(shown, sizeof shown, text, n < 48 ? n : 48));
    }
    st = repo_git(r, &git, err); /* a name for another name: rare enough for libgit2 */
    if (st != GREBE_OK) {
        return st;
    }
    int code = r->api.reference_name_to_id(&id, git, ref);
    if (code < 0 && code != GIT_ENOTFOUND) {
        return repo_git_fail(r, err, code, "%s", ref);
    }
    *is_there = code == 0;
    *out = repo_oid_of_git(&id);
    return GREBE_OK;
}

static grebe_status read_oid(struct repo *r, const char *name, const char *ref, struct repo_oid *out,
                             grebe_error *err)
{
    bool is_there = false;
    grebe_status st = repo_ref_value(r, ref, &is_there, out, err);
    if (st == GREBE_OK && !is_there) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "no collection \"%s\" in %s", name, r->path);
    }
    return st;
}

grebe_status repo_ref_read(struct repo *r, const char *name, struct repo_oid *commit, struct repo_oid *root,
                          grebe_error *err)
{
    char ref[REPO_REF_MAX];
    struct repo_commit read;
    grebe_status st = repo_ref_name(name, ref, err);
    if (st == GREBE_OK) {
        st = read_oid(r, name, ref, commit, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct arena ar = ARENA_INIT(r->a);
    st = repo_commit_read(r, commit, &ar, &read, err);
    if (st == GREBE_ENOTFOUND) { /* the reference is there: what it names must be */
        st = GREBE_ECORRUPT;
        if (err != NULL) {
            err->status = st;
        }
    }
    if (st == GREBE_OK) {
        *root = read.root;
    } else {
        st = error_wrap(err, st, "collection \"%s\"", name);
    }
    arena_release(&ar);
    return st;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds a name that can be a collection's; others belong to somebody else. */
static grebe_status add_name(struct arena *ar, struct buf *names, const char *name, size_t len, grebe_error *err)
{
    const char *copy = arena_str(ar, name, len);
    if (copy == NULL) {
        return mem_fail(err, len, "a name");
    }
    return repo_name_check(copy, NULL) == GREBE_OK ? buf_put(names, &copy, sizeof copy, err) : GREBE_OK;
}

static grebe_status list_loose(struct repo *r, struct arena *ar, struct buf *names, grebe_error *err)
{
    struct buf path = BUF_INIT(r->a);
    grebe_status st = buf_printf(&path, err, "%s/" REPO_REFS, r->common);
    DIR *dir = st == GREBE_OK ? opendir(buf_text(&path)) : NULL;
    if (st == GREBE_OK && dir == NULL && errno != ENOENT) {
        st = GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot list", buf_text(&path));
    }
    const struct dirent *e = NULL;
    size_t folder_len = path.len;
    while (st == GREBE_OK && dir != NULL && (e = readdir(dir)) != NULL) {
        struct stat info;
        path.len = folder_len;
        st = buf_printf(&path, err, "%s", e->d_name);
        if (st == GREBE_OK && stat(buf_text(&path), &info) == 0 && S_ISREG(info.st_mode)) {
            st = add_name(ar, names, e->d_name, strlen(e->d_name), err);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    buf_release(&path);
    return st;
}

static grebe_status list_packed(struct repo *r, struct arena *ar, struct buf *names, grebe_error *err)
{
    struct region *text = NULL;
    grebe_status st = repo_ref_packed(r, &text, err);
    const char *at = text != NULL ? (const char *)text->data : NULL;
    const char *stop = text != NULL ? at + text->len : NULL;
    const size_t n_prefix = strlen(REPO_REFS), n_head = REPO_OID_HEX + 1;
    while (st == GREBE_OK && at < stop) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        size_t n = (size_t)((end != NULL ? end : stop) - at);
        if (n > n_head + n_prefix && memcmp(at + n_head, REPO_REFS, n_prefix) == 0) {
            st = add_name(ar, names, at + n_head + n_prefix, n - n_head - n_prefix, err);
        }
        at += n + 1;
    }
    region_drop(text);
    return st;
}

grebe_status repo_ref_list(struct repo *r, struct arena *ar, const char *const **out, size_t *n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf names = BUF_INIT(r->a);
    *out = NULL;
    *n = 0;
    GREBE_TRY(list_loose(r, ar, &names, err));
    GREBE_TRY(list_packed(r, ar, &names, err));
    size_t n_all = names.len / sizeof(char *);
    const char **list = arena_array(ar, n_all + 1, sizeof *list);
    if (list == NULL) {
        st = mem_fail(err, names.len, "names");
        goto out;
    }
    if (n_all > 0) {
        qsort(names.data, n_all, sizeof *list, compare_text);
    }
    for (size_t i = 0; i < n_all; i++) { /* a name may be loose and packed */
        const char *name = ((const char **)(void *)names.data)[i];
        if (*n == 0 || strcmp(list[*n - 1], name) != 0) {
            list[(*n)++] = name;
        }
    }
    *out = list;
out:
    buf_release(&names);
    return st;
}

grebe_status repo_ref_check_free(struct repo *r, const char *ref, grebe_error *err)
{
    struct region *packed = NULL;
    struct repo_oid oid;
    grebe_status st = repo_ref_packed(r, &packed, err);
    if (st == GREBE_OK && find_packed(packed, ref, '/', &oid)) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "%s: there are references below this name", ref);
    }
    region_drop(packed);
    return st;
}
