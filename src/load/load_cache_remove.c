/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/dataset_load.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/io_folder.h"
#include "io/io_lock.h"
#include "load/load_cache.h"
#include "load/load_plan.h"

/* A temporary file younger than this may be one that somebody is writing. */
static const int64_t TEMPORARY_AGE_US = INT64_C(3600) * 1000000;

static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* ---- what is to go ---- */

static bool is_wanted(const struct cache_entry *e, const char *below, const grebe_cache_remove_options *o, int64_t now)
{
    return is_below(e->path, below) && (!o->is_unfinished_only || e->kind == CACHE_UNFINISHED) &&
           (o->older_than_us < 0 || now - e->used_us >= o->older_than_us) &&
           (e->kind != CACHE_UNFINISHED || e->is_folder || now - e->modified_us >= TEMPORARY_AGE_US);
}

static int by_use(const void *x, const void *y)
{
    const struct cache_entry *a = *(const struct cache_entry *const *)x, *b = *(const struct cache_entry *const *)y;
    if (a->used_us != b->used_us) {
        return a->used_us < b->used_us ? -1 : 1;
    }
    return strcmp(b->path, a->path); /* what lies in a folder before the folder */
}

static grebe_status choose(struct arena *ar, struct cache_entries *all, const char *below, const grebe_cache_remove_options *o,
                           int64_t now, grebe_error *err)
{
    int64_t total = 0;
    struct cache_entry **oldest = arena_array(ar, all->n, sizeof *oldest);
    if (oldest == NULL) {
        return mem_fail(err, all->n * sizeof *oldest, "the cache's content");
    }
    for (size_t i = 0; i < all->n; i++) {
        oldest[i] = &all->items[i];
        total += all->items[i].bytes;
    }
    if (all->n > 0) {
        qsort(oldest, all->n, sizeof *oldest, by_use);
    }
    for (size_t i = 0; i < all->n; i++) {
        struct cache_entry *e = oldest[i];
        if (!is_wanted(e, below, o, now) || (o->max_bytes >= 0 && total <= o->max_bytes)) {
            continue;
        }
        e->reason = e->kind == CACHE_UNFINISHED ? "unfinished"
                    : o->max_bytes >= 0         ? "too many bytes"
                    : o->older_than_us >= 0     ? "not used for long"
                                                : "asked for";
        total -= e->bytes;
    }
    return GREBE_OK;
}

/* ---- removal ---- */

/* The folder that is prepared and its lock: of "x.incomplete" those of "x". */
static grebe_status remove_folder(struct io_store *store, struct cache_entry *e, struct buf *path, grebe_error *err)
{
    struct io_lock lock = IO_LOCK_INIT;
    bool got = false;
    size_t len = strlen(e->path), tail = strlen(".incomplete");
    if (e->kind == CACHE_UNFINISHED && len > tail) {
        len -= tail;
    }
    buf_clear(path);
    grebe_status st = buf_printf(path, err, "%.*s_builder.lock", (int)len, e->path);
    const char *lock_path = st == GREBE_OK ? buf_text(path) : NULL;
    if (st == GREBE_OK && lock_path == NULL) {
        st = mem_fail(err, path->len, "a path");
    }
    if (st == GREBE_OK) {
        st = io_lock_try(&lock, lock_path, &got, err);
    }
    if (st == GREBE_OK && !got) { /* somebody is at work there */
        e->reason = NULL;
        return GREBE_OK;
    }
    if (st == GREBE_OK) {
        st = io_folder_remove(store, e->path, err);
        if (st == GREBE_OK) {
            (void)unlink(lock_path); /* while it is held: whoever waits for it looks again */
        }
    }
    io_lock_drop(&lock);
    return st;
}

/* Folders above that are empty now; the first that is not ends it. */
static void remove_empty(struct io_store *store, const char *cache, const char *path, struct buf *scratch)
{
    buf_clear(scratch);
    if (buf_put_text(scratch, path, NULL) != GREBE_OK || buf_text(scratch) == NULL) {
        return;
    }
    for (;;) {
        char *slash = strrchr((char *)scratch->data, '/');
        if (slash == NULL || (size_t)(slash - (char *)scratch->data) <= strlen(cache)) {
            return;
        }
        *slash = '\0';
        if (io_remove(store, (const char *)scratch->data, NULL) != GREBE_OK) {
            return;
        }
    }
}

static grebe_status remove_entry(struct io_store *store, const char *cache, struct cache_entry *e, struct buf *scratch,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (e->is_folder) {
        st = remove_folder(store, e, scratch, err);
    } else {
        st = io_remove(store, e->path, err);
        st = st == GREBE_ENOTFOUND ? GREBE_OK : st; /* it went with its folder, or somebody else was faster */
    }
    if (st == GREBE_OK && e->reason != NULL) {
        remove_empty(store, cache, e->path, scratch);
    }
    return st;
}

grebe_status grebe_cache_remove(grebe_context *ctx, const char *cache_dir, const grebe_cache_remove_options *options,
                                struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_cache_remove_options o = GREBE_CACHE_REMOVE_OPTIONS_INIT;
    struct arena ar;
    struct io_store *store = NULL;
    struct buf scratch;
    const char *cache = NULL, *below = NULL;
    struct cache_entries entries;
    GREBE_CHECK_ARG(err, ctx != NULL && out != NULL);
    memset(out, 0, sizeof *out);
    ar = ARENA_INIT(ctx->a);
    scratch = BUF_INIT(ctx->a);
    GREBE_TRY(options_copy(&o, sizeof o, options, err));
    GREBE_TRY(io_local_new(ctx, &store, err));
    if (cache_dir != NULL && cache_dir[0] == '\0') {
        st = GREBE_FAIL(err, GREBE_EINVAL, "the folder of the cache is an empty text");
        goto out;
    }
    GREBE_TRY(load_cache_folder(&ar, cache_dir, &cache, err));
    below = cache;
    if (o.path != NULL) {
        if (o.path[0] == '\0') { /* a variable that was not set, rather than "all" */
            st = GREBE_FAIL(err, GREBE_EINVAL, "the path of what is to go from the cache is empty");
            goto out;
        }
        GREBE_TRY(load_cache_folder(&ar, o.path, &below, err));
        if (!is_below(below, cache)) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "%s: does not lie in the cache %s", below, cache);
            goto out;
        }
    }
    GREBE_TRY(cache_find(&ar, ctx, store, cache, &entries, err));
    GREBE_TRY(choose(&ar, &entries, below, &o, context_now_us(ctx), err));
    for (size_t i = 0; !o.is_dry_run && i < entries.n; i++) {
        if (entries.items[i].reason != NULL) {
            GREBE_TRY(remove_entry(store, cache, &entries.items[i], &scratch, err));
        }
    }
    st = cache_rows(ctx, &entries, true, out, err);
out:
    buf_release(&scratch);
    io_store_free(store);
    arena_release(&ar);
    return st;
}
