/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a graph's init makes of columns. Each stands under a temporary name until all that is made has been checked, and then they
 * get their names one after another. Whatever fails before the end: what was there is as it was, and nothing of ours is left.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "grebe/graph_init_internal.h"

/* ---- places ---- */

grebe_status graph_init_join(struct graph_initing *k, const char *name, const char **out, grebe_error *err)
{
    struct buf b = BUF_INIT(k->ctx->a);
    grebe_status st = path_join(&b, k->dir, name, err);
    *out = st == GREBE_OK ? arena_str(&k->ar, (const char *)b.data, b.len) : NULL;
    st = st == GREBE_OK && *out == NULL ? mem_fail(err, b.len, name) : st;
    buf_release(&b);
    return st;
}

grebe_status graph_init_folder(struct graph_initing *k, const char *path, grebe_error *err)
{
    struct io_info info;
    if (io_stat(k->store, path, &info, NULL) == GREBE_OK) {
        return io_make_folders(k->store, path, false, err); /* which says so if it is a file */
    }
    grebe_status st = io_make_folders(k->store, path, false, err);
    if (st == GREBE_OK) {
        assert(k->n_folders < GRAPH_INIT_FOLDERS_MAX);
        k->folders[k->n_folders++] = path;
    }
    return st;
}

/* Whether a path that was given, or what stands before its '#', is that file. */
static bool is_file(struct graph_initing *k, const char *given, const struct io_identity *id)
{
    struct io_info info;
    const char *hash = strchr(given, '#');
    if (io_stat(k->store, given, &info, NULL) == GREBE_OK) {
        return io_identity_equal(&info.id, id);
    }
    char *file = hash != NULL ? str_copy_len(k->ctx->a, given, (size_t)(hash - given)) : NULL;
    const bool is_same = file != NULL && io_stat(k->store, file, &info, NULL) == GREBE_OK && io_identity_equal(&info.id, id);
    str_free(k->ctx->a, file);
    return is_same;
}

/* A file that is to be read must not be replaced, by whatever name it was given. */
static grebe_status check_target(struct graph_initing *k, const char *path, grebe_error *err)
{
    const grebe_graph_init_options *o = &k->options;
    const size_t n = o->n_edges + o->n_features + o->n_sets;
    struct io_info info;
    if (io_stat(k->store, path, &info, NULL) != GREBE_OK) {
        return GREBE_OK; /* if there is one that cannot be looked at, its name cannot be given again, either */
    }
    if (!o->is_replaced) {
        return GREBE_FAIL(err, GREBE_EEXISTS, "%s: is there already", path);
    }
    for (size_t i = 0; i < n; i++) {
        const char *given = i < o->n_edges                   ? o->edges[i].path
                            : i < o->n_edges + o->n_features ? o->features[i - o->n_edges].path
                                                             : o->sets[i - o->n_edges - o->n_features].path;
        if (is_file(k, given, &info.id)) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%s: would be replaced, and is one of the files that are given, as %s", path, given);
        }
    }
    return GREBE_OK;
}

/* ---- drafts ---- */

grebe_status graph_init_draft(struct graph_initing *k, const char *folder, size_t i, const char **shown, struct io_writer **out,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char *path = NULL;
    char name[64];
    if (k->drafts == NULL) {
        const size_t most = k->options.n_edges + k->options.n_sets;
        k->drafts = arena_array(&k->ar, most, sizeof *k->drafts);
        if (k->drafts == NULL) {
            return mem_fail(err, most * sizeof *k->drafts, folder);
        }
    }
    struct graph_init_draft *d = &k->drafts[k->n_drafts];
    snprintf(name, sizeof name, "%.30s/%zu.npy", folder, i);
    d->shown = arena_str(&k->ar, name, strlen(name));
    if (d->shown == NULL) {
        return mem_fail(err, sizeof name, folder);
    }
    GREBE_TRY(graph_init_join(k, folder, &path, err));
    GREBE_TRY(graph_init_join(k, name, &d->path, err));
    GREBE_TRY(check_target(k, d->path, err));
    if (k->n_drafts == 0 || strncmp(k->drafts[k->n_drafts - 1].shown, name, strlen(folder) + 1) != 0) {
        GREBE_TRY(graph_init_folder(k, path, err));
    }
    GREBE_TRY(io_create(k->store, d->path, false, &d->file, err));
    k->n_drafts++;
    *shown = d->shown;
    *out = d->file;
out:
    return st;
}

const char *graph_init_draft_of(const struct graph_initing *k, const char *shown)
{
    for (size_t i = 0; i < k->n_drafts; i++) {
        if (strcmp(k->drafts[i].shown, shown) == 0) {
            return io_writer_local_path(k->drafts[i].file);
        }
    }
    return NULL;
}

grebe_status graph_init_publish(struct graph_initing *k, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < k->n_drafts && st == GREBE_OK; i++) {
        st = io_writer_publish(k->drafts[i].file, k->options.is_replaced, err);
        k->drafts[i].is_ours = st == GREBE_OK && !k->options.is_replaced;
    }
    return st;
}

static void remove_one(struct graph_initing *k, const char *path)
{
    if (io_remove(k->store, path, NULL) != GREBE_OK) {
        context_log(k->ctx, GREBE_LOG_WARNING, "%s: cannot be removed", path);
    }
}

void graph_init_end(struct graph_initing *k, bool is_kept)
{
    for (size_t i = 0; i < k->n_drafts; i++) {
        io_writer_free(k->drafts[i].file);
        if (!is_kept && k->drafts[i].is_ours) {
            remove_one(k, k->drafts[i].path);
        }
    }
    k->n_drafts = 0;
    while (!is_kept && k->n_folders > 0) {
        remove_one(k, k->folders[--k->n_folders]);
    }
}
