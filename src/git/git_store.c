/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_store.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "git/git_packfile.h"
#include "git/git_zlib.h"

/* How deep alternates of alternates are followed, as git does; longest loose object; what deflate expands at most. */
enum { ALTERNATES_DEPTH = 5, LOOSE_HEAD = 40, INFLATE_RATIO = 1032 };
#define LOOSE_BYTES_MAX ((uint64_t)1 << 40)

/* What was found by one look at the folders; immutable, shared by reads that run. */
struct listing {
    atomic_uint refs;
    const grebe_allocator *a;
    struct buf folders; /* char * each: ".../objects", the repository's own first */
    struct buf packs;   /* struct repo_packfile * each */
    grebe_error broken; /* the first index that could not be read; status GREBE_OK: all could */
};

struct repo_store {
    grebe_context *ctx;
    const grebe_allocator *a;
    struct io_store *files;
    char *objects;
    pthread_mutex_t mutex;   /* of `listing` */
    struct listing *listing; /* NULL: not looked yet */
    atomic_uint writing;     /* number of the latest repo_store_begin() */
};

static size_t n_folders(const struct listing *l) { return l->folders.len / sizeof(char *); }
static const char *folder_at(const struct listing *l, size_t i) { return ((char **)(void *)l->folders.data)[i]; }
static size_t n_packs(const struct listing *l) { return l->packs.len / sizeof(struct repo_packfile *); }
static struct repo_packfile *pack_at(const struct listing *l, size_t i)
{
    return ((struct repo_packfile **)(void *)l->packs.data)[i];
}

/* ---- listing ---- */

static void listing_drop(struct listing *l)
{
    if (l == NULL || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < n_folders(l); i++) {
        str_free(l->a, ((char **)(void *)l->folders.data)[i]);
    }
    for (size_t i = 0; i < n_packs(l); i++) {
        repo_packfile_drop(pack_at(l, i));
    }
    buf_release(&l->folders);
    buf_release(&l->packs);
    mem_free(l->a, l, sizeof *l);
}

static grebe_status add_folder(struct listing *l, const char *path, size_t len, grebe_error *err)
{
    for (size_t i = 0; i < n_folders(l); i++) {
        if (strlen(folder_at(l, i)) == len && memcmp(folder_at(l, i), path, len) == 0) {
            return GREBE_OK;
        }
    }
    char *copy = str_copy_len(l->a, path, len);
    if (copy == NULL) {
        return mem_fail(err, len, "a path");
    }
    grebe_status st = buf_put(&l->folders, &copy, sizeof copy, err);
    if (st != GREBE_OK) {
        str_free(l->a, copy);
    }
    return st;
}

/* One line each: a path, from the folder of objects if it is relative; '#' begins a comment. */
static grebe_status add_alternates(struct repo_store *s, struct listing *l, const char *objects, grebe_error *err)
{
    struct buf path = BUF_INIT(s->a);
    struct region *text = NULL;
    grebe_status st = buf_printf(&path, err, "%s/info/alternates", objects);
    if (st == GREBE_OK && access(buf_text(&path), F_OK) == 0) {
        st = io_read_all(s->files, buf_text(&path), 1 << 20, &text, NULL, err);
    }
    const char *at = text != NULL ? (const char *)text->data : NULL;
    const char *end = text != NULL ? at + text->len : NULL;
    while (st == GREBE_OK && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((line_end != NULL ? line_end : end) - at);
        if (n > 0 && at[0] != '#') {
            buf_clear(&path);
            if (at[0] != '/') {
                st = buf_printf(&path, err, "%s/", objects);
            }
            if (st == GREBE_OK) {
                st = buf_put(&path, at, n, err);
            }
            while (path.len > 1 && path.data[path.len - 1] == '/') {
                path.len--;
            }
            if (st == GREBE_OK) {
                st = add_folder(l, (const char *)path.data, path.len, err);
            }
        }
        at += n + 1;
    }
    region_drop(text);
    buf_release(&path);
    return st;
}

struct pack_scan {
    struct repo_store *store;
    struct listing *listing;
    const struct listing *before; /* packs that are open already; NULL: none */
    struct buf path;
    size_t folder_len;
};

static grebe_status add_pack(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    struct pack_scan *scan = arg;
    size_t n = strlen(name);
    (void)kind;
    if (n < 9 || memcmp(name, "pack-", 5) != 0 || strcmp(name + n - 4, ".idx") != 0) {
        return GREBE_OK;
    }
    struct repo_packfile *p = NULL;
    scan->path.len = scan->folder_len;
    grebe_status st = buf_put(&scan->path, name, n - 4, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; scan->before != NULL && i < n_packs(scan->before); i++) {
        struct repo_packfile *known = pack_at(scan->before, i);
        if (strlen(known->stem) == scan->path.len && memcmp(known->stem, scan->path.data, scan->path.len) == 0) {
            atomic_fetch_add_explicit(&known->refs, 1, memory_order_relaxed);
            p = known;
        }
    }
    if (p == NULL) {
        grebe_error e = GREBE_ERROR_INIT;
        st = repo_packfile_open(scan->store->files, (const char *)scan->path.data, scan->path.len, &p, &e);
        if (st == GREBE_ENOTFOUND) {
            return GREBE_OK; /* gone since it was listed */
        }
        if (st == GREBE_ECORRUPT) { /* the other packs are as good as before; an object that is not found says why */
            if (scan->listing->broken.status == GREBE_OK) {
                scan->listing->broken = e;
            }
            return GREBE_OK;
        }
        if (st != GREBE_OK && err != NULL) {
            *err = e;
        }
    }
    if (st == GREBE_OK) {
        st = buf_put(&scan->listing->packs, &p, sizeof p, err);
        if (st != GREBE_OK) {
            repo_packfile_drop(p);
        }
    }
    return st;
}

static grebe_status add_packs(struct repo_store *s, struct listing *l, const struct listing *before, const char *objects,
                              grebe_error *err)
{
    struct pack_scan scan = { s, l, before, BUF_INIT(s->a), 0 };
    struct buf folder = BUF_INIT(s->a);
    grebe_status st = buf_printf(&folder, err, "%s/pack", objects);
    if (st == GREBE_OK) {
        st = buf_printf(&scan.path, err, "%s/pack/", objects);
        scan.folder_len = scan.path.len;
    }
    if (st == GREBE_OK) {
        st = io_list(s->files, buf_text(&folder), add_pack, &scan, err);
        if (st == GREBE_ENOTFOUND) { /* no folder of packs, or an alternate that is not there */
            st = GREBE_OK;
        }
    }
    buf_release(&scan.path);
    buf_release(&folder);
    return st;
}

static grebe_status list_all(struct repo_store *s, const struct listing *before, struct listing **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct listing *l = mem_alloc_zero(s->a, sizeof *l);
    if (l == NULL) {
        return mem_fail(err, sizeof *l, "a list of packs");
    }
    atomic_init(&l->refs, 1);
    l->a = s->a;
    l->folders = BUF_INIT(s->a);
    l->packs = BUF_INIT(s->a);
    GREBE_TRY(add_folder(l, s->objects, strlen(s->objects), err));
    size_t first = 0;
    for (int depth = 0; depth < ALTERNATES_DEPTH && first < n_folders(l); depth++) {
        size_t end = n_folders(l);
        for (; first < end; first++) {
            GREBE_TRY(add_alternates(s, l, folder_at(l, first), err));
        }
    }
    for (size_t i = 0; i < n_folders(l); i++) {
        GREBE_TRY(add_packs(s, l, before, folder_at(l, i), err));
    }
    *out = l;
    l = NULL;
out:
    listing_drop(l);
    return st;
}

/* @param stale List anew unless that happened since this one (NULL: only if nothing is listed). @param out One
 * reference. */
static grebe_status take_listing(struct repo_store *s, const struct listing *stale, struct listing **out,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    pthread_mutex_lock(&s->mutex);
    if (s->listing == NULL || s->listing == stale) {
        struct listing *fresh = NULL;
        st = list_all(s, s->listing, &fresh, err);
        if (st == GREBE_OK) {
            listing_drop(s->listing);
            s->listing = fresh;
        }
    }
    *out = NULL;
    if (st == GREBE_OK) {
        atomic_fetch_add_explicit(&s->listing->refs, 1, memory_order_relaxed);
        *out = s->listing;
    }
    pthread_mutex_unlock(&s->mutex);
    return st;
}

grebe_status repo_store_open(grebe_context *ctx, const char *objects, struct repo_store **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct repo_store *s = mem_alloc_zero(ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a store of objects");
    }
    s->ctx = ctx;
    s->a = ctx->a;
    pthread_mutex_init(&s->mutex, NULL);
    s->objects = str_copy(ctx->a, objects);
    if (s->objects == NULL) {
        st = mem_fail(err, strlen(objects), "a path");
        goto out;
    }
    GREBE_TRY(io_local_new(ctx, &s->files, err));
    *out = s;
    s = NULL;
out:
    repo_store_close(s);
    return st;
}

void repo_store_close(struct repo_store *s)
{
    if (s == NULL) {
        return;
    }
    listing_drop(s->listing);
    io_store_free(s->files);
    str_free(s->a, s->objects);
    pthread_mutex_destroy(&s->mutex);
    mem_free(s->a, s, sizeof *s);
}

grebe_status repo_store_refresh(struct repo_store *s, grebe_error *err)
{
    struct listing *l = NULL;
    pthread_mutex_lock(&s->mutex);
    const struct listing *stale = s->listing;
    pthread_mutex_unlock(&s->mutex);
    grebe_status st = take_listing(s, stale, &l, err);
    listing_drop(l);
    return st;
}

/* ---- loose objects ---- */

static grebe_status loose_path(struct buf *path, const char *folder, const struct repo_oid *oid, grebe_error *err)
{
    char hex[REPO_OID_HEX + 1];
    repo_oid_hex(oid, hex);
    buf_clear(path);
    return buf_printf(path, err, "%s/%.2s/%s", folder, hex, hex + 2);
}

/* "<type> <len>\0": *head is its length. */
static bool parse_head(const unsigned char *p, size_t n, enum repo_object *type, uint64_t *size, size_t *head)
{
    for (int t = REPO_COMMIT; t <= REPO_TAG; t++) {
        const char *name = repo_object_name((enum repo_object)t);
        size_t i = strlen(name);
        if (n <= i || memcmp(p, name, i) != 0 || p[i] != ' ') {
            continue;
        }
        uint64_t v = 0;
        for (i++; i < n && p[i] >= '0' && p[i] <= '9' && v < LOOSE_BYTES_MAX; i++) {
            v = v * 10 + (uint64_t)(p[i] - '0');
        }
        *type = (enum repo_object)t;
        *size = v;
        *head = i + 1;
        return i < n && p[i] == '\0' && p[i - 1] != ' ';
    }
    return false;
}

static grebe_status read_loose(struct repo_store *s, const char *path, enum repo_object *type, uint64_t *size,
                               struct region **out, grebe_error *err)
{
    unsigned char head[LOOSE_HEAD];
    struct region *file = NULL, *whole = NULL, *object = NULL;
    size_t got = 0, n_head = 0;
    grebe_status st = io_read_all(s->files, path, LOOSE_BYTES_MAX, &file, NULL, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_TRY(repo_inflate_head(s->a, file->data, file->len, head, sizeof head, &got, err));
    if (!parse_head(head, got, type, size, &n_head)) {
        char shown[64];
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected type and length of an object, found \"%s\"",
                        error_quote(shown, sizeof shown, head, min_size(got, 12)));
        goto out;
    }
    if (out == NULL) {
        goto out;
    }
    if (*size / INFLATE_RATIO > file->len) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected a length that %zu bytes can hold, found %llu", file->len,
                        (unsigned long long)*size);
        goto out;
    }
    GREBE_TRY(region_new(s->a, n_head + (size_t)*size, &whole, err));
    GREBE_TRY(repo_inflate(s->a, file->data, file->len, whole->data, whole->len, NULL, err));
    /* moved to the beginning of its region, which is aligned */
    GREBE_TRY(region_new(s->a, (size_t)*size, &object, err));
    memcpy(object->data, whole->data + n_head, (size_t)*size);
    *out = object;
out:
    region_drop(file);
    region_drop(whole);
    return st == GREBE_OK ? st : error_wrap(err, st, "%s", path);
}

/* ---- objects ---- */

static grebe_status check_hash(const struct repo_oid *oid, enum repo_object type, struct region **object,
                               grebe_error *err)
{
    struct repo_oid found;
    repo_oid_of(type, (*object)->data, (*object)->len, &found);
    if (repo_oid_equal(&found, oid)) {
        return GREBE_OK;
    }
    char hex[REPO_OID_HEX + 1];
    repo_oid_hex(&found, hex);
    region_drop(*object);
    *object = NULL;
    return GREBE_FAIL(err, GREBE_ECORRUPT, "its bytes have the hash %s", hex);
}

/* The first good copy among those of one listing. */
static grebe_status read_listed(struct repo_store *s, const struct listing *l, const struct repo_oid *oid,
                                enum repo_object *type, uint64_t *size, struct region **out, grebe_error *err)
{
    grebe_status worst = GREBE_ENOTFOUND;
    struct buf path = BUF_INIT(s->a);
    for (size_t i = 0; i < n_packs(l) + n_folders(l); i++) {
        uint32_t at = 0;
        grebe_status st = GREBE_ENOTFOUND;
        if (i < n_packs(l)) {
            if (!repo_packfile_find(pack_at(l, i), oid, &at)) {
                continue;
            }
            st = repo_packfile_read(pack_at(l, i), s->files, at, type, size, out, err);
        } else {
            st = loose_path(&path, folder_at(l, i - n_packs(l)), oid, err);
            if (st == GREBE_OK && access(buf_text(&path), F_OK) != 0) {
                continue;
            }
            if (st == GREBE_OK) {
                st = read_loose(s, buf_text(&path), type, size, out, err);
            }
        }
        if (st == GREBE_OK && out != NULL) {
            st = check_hash(oid, *type, out, err);
        }
        if (st == GREBE_OK || st == GREBE_ENOMEM) {
            worst = st;
            break;
        }
        worst = st == GREBE_ENOTFOUND ? worst : st;
    }
    buf_release(&path);
    return worst;
}

grebe_status repo_store_read(struct repo_store *s, const struct repo_oid *oid, enum repo_object *type, uint64_t *size,
                            struct region **out, grebe_error *err)
{
    grebe_status st = GREBE_ENOTFOUND;
    struct listing *l = NULL;
    char hex[REPO_OID_HEX + 1];
    repo_oid_hex(oid, hex);
    if (out != NULL) {
        *out = NULL;
    }
    for (int tries = 0; tries < 2 && st == GREBE_ENOTFOUND; tries++) {
        struct listing *fresh = NULL;
        st = take_listing(s, l, &fresh, err);
        listing_drop(l);
        l = fresh;
        if (st == GREBE_OK) {
            st = read_listed(s, l, oid, type, size, out, err);
        }
    }
    grebe_error broken = GREBE_ERROR_INIT;
    if (l != NULL) {
        broken = l->broken;
    }
    listing_drop(l);
    if (st == GREBE_ENOTFOUND && broken.status != GREBE_OK) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "object %s: not found, and %s", hex, broken.message);
    }
    if (st == GREBE_ENOTFOUND) {
        return GREBE_FAIL(err, st, "no object %s", hex);
    }
    return repo_object_wrap(oid, st, err);
}

static bool make_young(const char *path) { return utimensat(AT_FDCWD, path, NULL, 0) == 0; }

static bool find_object(struct repo_store *s, const struct repo_oid *oid, bool is_touched)
{
    struct listing *l = NULL;
    struct buf path = BUF_INIT(s->a);
    bool found = false;
    if (take_listing(s, NULL, &l, NULL) != GREBE_OK) {
        return false;
    }
    for (size_t i = 0; i < n_packs(l) && !found; i++) {
        uint32_t at = 0;
        struct repo_packfile *p = pack_at(l, i);
        found = repo_packfile_find(p, oid, &at);
        if (found && is_touched && atomic_load(&p->touched_in) != atomic_load(&s->writing)) {
            buf_clear(&path);
            found = buf_printf(&path, NULL, "%s.pack", p->stem) == GREBE_OK && make_young(buf_text(&path));
            atomic_store(&p->touched_in, found ? atomic_load(&s->writing) : 0);
        }
    }
    for (size_t i = 0; i < n_folders(l) && !found; i++) {
        found = loose_path(&path, folder_at(l, i), oid, NULL) == GREBE_OK &&
                (is_touched ? make_young(buf_text(&path)) : access(buf_text(&path), F_OK) == 0);
    }
    buf_release(&path);
    listing_drop(l);
    return found;
}

bool repo_store_has(struct repo_store *s, const struct repo_oid *oid) { return find_object(s, oid, false); }
bool repo_store_touch(struct repo_store *s, const struct repo_oid *oid) { return find_object(s, oid, true); }

void repo_store_begin(struct repo_store *s) { atomic_fetch_add(&s->writing, 1); }
