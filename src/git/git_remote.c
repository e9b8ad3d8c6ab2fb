/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_repo.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/git_library.h"

/* What the callbacks of libgit2 are told, and tell. */
struct transfer {
    struct repo *r;
    const char *ref;
    unsigned n_asked;  /* for credentials: each kind is tried once */
    char refused[200]; /* why the other side did not take the reference; "" */
};

static int give_credentials(git_credential **out, const char *url, const char *user, unsigned allowed, void *arg)
{
    struct transfer *t = arg;
    struct repo *r = t->r;
    (void)url;
    /* A user in the address is handed over by libgit2 itself; what is left without asking anybody is the agent of ssh.
     */
    if ((allowed & GIT_CREDENTIAL_SSH_KEY) != 0 && t->n_asked++ == 0) {
        return r->api.credential_ssh_key_from_agent(out, user != NULL ? user : "git");
    }
    if ((allowed & GIT_CREDENTIAL_USERNAME) != 0 && t->n_asked++ < 2) {
        return r->api.credential_username_new(out, user != NULL ? user : "git");
    }
    r->api.error_set_str(GIT_ERROR_NET, "the remote asks for credentials, and no agent of ssh has any that it takes");
    return GIT_EAUTH;
}

static int note_status(const char *ref, const char *status, void *arg)
{
    struct transfer *t = arg;
    if (status != NULL && strcmp(ref, t->ref) == 0) {
        error_quote(t->refused, sizeof t->refused, status, strlen(status));
    }
    return 0;
}

static void set_callbacks(git_remote_callbacks *c, struct transfer *t)
{
    struct repo *r = t->r;
    r->api.remote_init_callbacks(c, GIT_REMOTE_CALLBACKS_VERSION);
    c->credentials = give_credentials;
    c->push_update_reference = note_status;
    c->payload = t;
}

static bool is_place(const char *remote)
{
    struct stat info;
    return strchr(remote, ':') != NULL || stat(remote, &info) == 0;
}

/* A remote of the configuration, or else a path or an address. *is_named says which. */
static grebe_status find_remote(struct repo *r, const char *remote, git_remote **out, bool *is_named,
                                grebe_error *err)
{
    char shown[160];
    error_quote(shown, sizeof shown, remote, strlen(remote));
    git_repository *git = NULL;
    grebe_status st = repo_git(r, &git, err);
    if (st != GREBE_OK) {
        return st;
    }
    int code = r->api.remote_lookup(out, git, remote);
    *is_named = code == 0;
    if ((code == GIT_ENOTFOUND || code == GIT_EINVALIDSPEC) && is_place(remote)) {
        code = r->api.remote_create_anonymous(out, git, remote);
    } else if (code == GIT_ENOTFOUND || code == GIT_EINVALIDSPEC) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "no remote \"%s\" in %s, and no repository of this path", shown,
                          r->path);
    }
    return code < 0 ? repo_git_fail(r, err, code, "remote \"%s\"", shown) : GREBE_OK;
}

/* ---- tracking references ---- */

enum { PLACE_NAME_MAX = 60 };

/* A path or an address as part of a reference's name: what may not stand in one becomes '-', without a user and password, the end of
 * what is too long. */
static void place_name(const char *place, char out[PLACE_NAME_MAX + 1])
{
    const char *host = strstr(place, "://");
    host = host == NULL ? place : host + 3;
    const char *at = memchr(host, '@', strcspn(host, "/"));
    size_t n = 0;
    for (const char *c = at == NULL ? host : at + 1; *c != '\0'; c++) {
        bool is_dot = *c == '.', is_plain = isalnum((unsigned char)*c) || *c == '_' || *c == '-';
        char put = is_plain || (is_dot && n != 0 && out[n - 1] != '.') ? *c : '-';
        if (n == 0 && !isalnum((unsigned char)put)) {
            continue; /* no '.' or '-' in front */
        }
        if (put == '-' && (out[n - 1] == '-' || out[n - 1] == '.')) {
            continue;
        }
        if (n == PLACE_NAME_MAX) {
            memmove(out, out + 1, --n);
        }
        out[n++] = put;
    }
    while (n != 0 && (out[n - 1] == '.' || out[n - 1] == '-')) {
        n--;
    }
    out[n] = '\0';
    size_t first = strspn(out, ".-"); /* a cut may lie there */
    memmove(out, out + first, n - first + 1);
    n -= first;
    if (n > 5 && strcmp(out + n - 5, ".lock") == 0) {
        out[n - 5] = '-';
    }
    if (n == 0) {
        strcpy(out, "remote");
    }
}

/* Where the remote's version of a collection is kept. */
static grebe_status tracking_ref(const char *remote, bool is_named, const char *name, struct buf *out, grebe_error *err)
{
    char place[PLACE_NAME_MAX + 1];
    if (!is_named) {
        place_name(remote, place);
    }
    grebe_status st = buf_printf(out, err, REPO_REMOTE_REFS "%s/%s", is_named ? remote : place, name);
    return st == GREBE_OK ? buf_put_byte(out, '\0', err) : st;
}

/* ---- push ---- */

static grebe_status push_behind(const char *name, const char *remote, bool is_named, const grebe_allocator *a,
                                grebe_error *err)
{
    struct buf tracking = BUF_INIT(a);
    char shown[160];
    grebe_status st = tracking_ref(remote, is_named, name, &tracking, err);
    if (st == GREBE_OK) {
        st = GREBE_FAIL(err, GREBE_ECONFLICT,
                        "not a fast-forward: the remote has commits of collection \"%s\" that are not here; next: "
                        "grebe vdb pull %s %s, and if that is refused: grebe vdb merge %s %s",
                        name, name, error_quote(shown, sizeof shown, remote, strlen(remote)), name, buf_text(&tracking));
    }
    buf_release(&tracking);
    return st;
}

grebe_status repo_push(struct repo *r, const char *name, const char *remote, grebe_error *err)
{
    char ref[REPO_REF_MAX];
    char spec[2 * REPO_REF_MAX + 2];
    struct repo_oid commit, root;
    git_remote *to = NULL;
    git_push_options options;
    bool is_named = false;
    grebe_status st = GREBE_OK;

    GREBE_TRY(repo_ref_name(name, ref, err));
    GREBE_TRY(repo_ref_read(r, name, &commit, &root, err)); /* a reference that is not there says so, not the remote */
    GREBE_TRY(find_remote(r, remote, &to, &is_named, err));
    struct transfer t = { .r = r, .ref = ref };
    r->api.push_options_init(&options, GIT_PUSH_OPTIONS_VERSION);
    set_callbacks(&options.callbacks, &t);
    strcpy(spec, ref);
    strcat(spec, ":");
    strcat(spec, ref);
    char *specs[] = { spec };
    git_strarray list = { specs, 1 };
    int code = r->api.remote_push(to, &list, &options);
    if (code == GIT_ENONFASTFORWARD || strstr(t.refused, "fast-forward") != NULL) {
        st = push_behind(name, remote, is_named, r->a, err);
    } else if (code < 0) {
        st = repo_git_fail(r, err, code, "push of \"%s\"", name);
    } else if (t.refused[0] != '\0') {
        st = GREBE_FAIL(err, GREBE_ECONFLICT, "push of \"%s\": the remote refused it: %s", name, t.refused);
    }
out:
    if (to != NULL) {
        r->api.remote_free(to);
    }
    return st;
}

/* ---- pull ---- */

/* Tip of the collection at the other side, which is connected. */
static grebe_status find_tip(struct repo *r, git_remote *from, const char *name, const char *ref,
                             struct repo_oid *out, grebe_error *err)
{
    const git_remote_head **heads = NULL;
    size_t n = 0;
    int code = r->api.remote_ls(&heads, &n, from);
    if (code < 0) {
        return repo_git_fail(r, err, code, "pull of \"%s\"", name);
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(heads[i]->name, ref) == 0) {
            *out = repo_oid_of_git(&heads[i]->oid);
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_ENOTFOUND, "the remote has no collection \"%s\"", name);
}

/* libgit2 empties FETCH_HEAD even where it writes nothing to it. */
static grebe_status fetch_head_path(struct repo *r, struct buf *out, bool *is_there, grebe_error *err)
{
    struct stat info;
    grebe_status st = buf_printf(out, err, "%s/FETCH_HEAD", r->git_dir);
    st = st == GREBE_OK ? buf_put_byte(out, '\0', err) : st;
    *is_there = st == GREBE_OK && stat(buf_text(out), &info) == 0;
    return st;
}

static void remove_if_empty(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && info.st_size == 0) {
        (void)unlink(path);
    }
}

/* Objects, and the tracking reference. */
static grebe_status fetch(struct repo *r, git_remote *from, const char *name, const char *ref, const char *tracking,
                          struct repo_oid *tip, grebe_error *err)
{
    git_fetch_options options;
    struct transfer t = { .r = r, .ref = ref };
    struct buf spec = BUF_INIT(r->a), head = BUF_INIT(r->a);
    bool has_head = true;
    grebe_status st = GREBE_OK;
    char *specs[1];
    git_strarray list = { specs, 1 };
    r->api.fetch_options_init(&options, GIT_FETCH_OPTIONS_VERSION);
    set_callbacks(&options.callbacks, &t);
    options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
    options.update_fetchhead = 0;
    int code = r->api.remote_connect(from, GIT_DIRECTION_FETCH, &options.callbacks, NULL, NULL);
    if (code < 0) {
        st = repo_git_fail(r, err, code, "pull of \"%s\"", name);
        goto out;
    }
    GREBE_TRY(find_tip(r, from, name, ref, tip, err));
    GREBE_TRY(fetch_head_path(r, &head, &has_head, err));
    GREBE_TRY(buf_printf(&spec, err, "+%s:%s", ref, tracking));
    GREBE_TRY(buf_put_byte(&spec, '\0', err));
    specs[0] = (char *)spec.data;
    code = r->api.remote_download(from, &list, &options);
    if (code == 0) {
        code = r->api.remote_update_tips(from, &options.callbacks, 0, GIT_REMOTE_DOWNLOAD_TAGS_NONE, NULL);
    }
    if (!has_head) {
        remove_if_empty(buf_text(&head));
    }
    if (code < 0) {
        st = repo_git_fail(r, err, code, "pull of \"%s\"", name);
    }
out:
    (void)r->api.remote_disconnect(from);
    buf_release(&spec);
    buf_release(&head);
    return st;
}

/* Whether `tip` has `commit` among its ancestors or is it. */
static grebe_status is_ahead(struct repo *r, const struct repo_oid *tip, const struct repo_oid *commit, bool *out,
                             grebe_error *err)
{
    struct repo_oid base;
    grebe_status st = repo_merge_base(r, tip, commit, &base, err);
    *out = st == GREBE_OK && repo_oid_equal(&base, commit);
    return st == GREBE_ENOTFOUND ? GREBE_OK : st;
}

grebe_status repo_pull(struct repo *r, const char *name, const char *remote, struct repo_oid *root, grebe_error *err)
{
    char ref[REPO_REF_MAX];
    git_remote *from = NULL;
    bool is_named = false, can_forward = false;
    struct repo_oid tip, old, old_root;
    struct repo_commit read;
    struct arena ar = ARENA_INIT(r->a);
    struct buf tracking = BUF_INIT(r->a);
    grebe_status st = GREBE_OK;

    GREBE_TRY(repo_ref_name(name, ref, err));
    GREBE_TRY(find_remote(r, remote, &from, &is_named, err));
    GREBE_TRY(tracking_ref(remote, is_named, name, &tracking, err));
    GREBE_TRY(fetch(r, from, name, ref, buf_text(&tracking), &tip, err));
    GREBE_TRY(repo_refresh(r, err));
    GREBE_TRY(repo_commit_read(r, &tip, &ar, &read, err));
    *root = read.root;
    st = repo_ref_read(r, name, &old, &old_root, err);
    if (st == GREBE_ENOTFOUND) {
        st = repo_ref_update(r, name, NULL, &tip, err);
        goto out;
    }
    if (st != GREBE_OK || repo_oid_equal(&old, &tip)) {
        goto out;
    }
    GREBE_TRY(is_ahead(r, &tip, &old, &can_forward, err));
    if (can_forward) {
        st = repo_ref_update(r, name, &old, &tip, err);
        goto out;
    }
    st = GREBE_FAIL(err, GREBE_ECONFLICT,
                    "not a fast-forward: collection \"%s\" has commits that the remote lacks; next: grebe vdb merge %s %s",
                    name, name, buf_text(&tracking));
out:
    buf_release(&tracking);
    if (from != NULL) {
        r->api.remote_free(from);
    }
    arena_release(&ar);
    return st;
}
