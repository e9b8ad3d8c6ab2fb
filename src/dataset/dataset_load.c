/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_internal.h"

#include <string.h>

#include "base/context_internal.h"
#include "dataset/dataset_state.h"
#include "dataset/fingerprint.h"

struct grebe_dataset_dict {
    grebe_context *ctx;
    size_t n;
    char **names;
    grebe_dataset **sets;
};

/* ---- dicts ---- */

size_t grebe_dataset_dict_len(const grebe_dataset_dict *dict)
{
    return dict->n;
}
const char *grebe_dataset_dict_name(const grebe_dataset_dict *dict, size_t i)
{
    return dict->names[i];
}
const grebe_dataset *grebe_dataset_dict_get(const grebe_dataset_dict *dict, size_t i)
{
    return dict->sets[i];
}

static void dict_release(grebe_dataset_dict *dict, bool has_sets)
{
    const grebe_allocator *a = dict->ctx->a;
    for (size_t i = 0; i < dict->n; i++) {
        str_free(a, dict->names != NULL ? dict->names[i] : NULL);
        if (has_sets) {
            grebe_dataset_free(dict->sets[i]);
        }
    }
    mem_free(a, dict->names, dict->n * sizeof *dict->names);
    mem_free(a, dict->sets, dict->n * sizeof *dict->sets);
    mem_free(a, dict, sizeof *dict);
}

void grebe_dataset_dict_free(grebe_dataset_dict *dict)
{
    if (dict != NULL) {
        dict_release(dict, true);
    }
}

grebe_status dataset_dict_new(grebe_context *ctx, const char *const *names, grebe_dataset **sets, size_t n,
                              grebe_dataset_dict **out, grebe_error *err)
{
    *out = NULL;
    grebe_dataset_dict *d = mem_alloc_zero(ctx->a, sizeof *d);
    if (d == NULL) {
        return mem_fail(err, sizeof *d, "data sets");
    }
    d->ctx = ctx;
    d->n = n;
    d->names = mem_alloc_zero(ctx->a, n * sizeof *d->names);
    d->sets = mem_alloc_zero(ctx->a, n * sizeof *d->sets);
    bool is_short = d->names == NULL || d->sets == NULL;
    for (size_t i = 0; i < n && !is_short; i++) {
        d->names[i] = str_copy(ctx->a, names[i]);
        is_short = d->names[i] == NULL;
    }
    if (is_short) {
        dict_release(d, false);
        return mem_fail(err, n * sizeof *d->sets, "data sets");
    }
    for (size_t i = 0; i < n; i++) {
        d->sets[i] = sets[i];
        sets[i] = NULL;
    }
    *out = d;
    return GREBE_OK;
}

/* ---- one data set ---- */

/* A JSON file of the folder. */
static grebe_status read_text(struct io_store *store, const char *folder, const char *name, struct region **out,
                              grebe_error *err)
{
    enum { JSON_MAX = 256 << 20 };
    struct buf path = BUF_INIT(store->ctx->a);
    grebe_status st = buf_printf(&path, err, "%s/%s", folder, name);
    if (st == GREBE_OK) {
        const char *text = buf_text(&path);
        st = text != NULL ? io_read_all(store, text, JSON_MAX, out, NULL, err) : mem_fail(err, path.len, name);
    }
    buf_release(&path);
    return st;
}

static grebe_status has_file(struct io_store *store, const char *folder, const char *name, bool *out, grebe_error *err)
{
    struct buf path = BUF_INIT(store->ctx->a);
    struct io_info info;
    grebe_status st = buf_printf(&path, err, "%s/%s", folder, name);
    const char *text = st == GREBE_OK ? buf_text(&path) : NULL;
    st = st == GREBE_OK && text == NULL ? mem_fail(err, path.len, name) : st;
    *out = st == GREBE_OK && io_stat(store, text, &info, NULL) == GREBE_OK && info.kind == IO_FILE;
    buf_release(&path);
    return st;
}

/* Paths of the state's files. */
static grebe_status paths_of(struct arena *ar, const char *folder, const struct saved_state *state, const char ***out,
                             grebe_error *err)
{
    size_t n_folder = strlen(folder);
    const char **paths = arena_array(ar, state->n_files + 1, sizeof *paths);
    for (size_t i = 0; paths != NULL && i < state->n_files; i++) {
        size_t n = strlen(state->files[i]);
        char *p = arena_alloc(ar, n_folder + n + 2);
        if (p == NULL) {
            return mem_fail(err, n_folder + n + 2, "a path");
        }
        memcpy(p, folder, n_folder);
        p[n_folder] = '/';
        memcpy(p + n_folder + 1, state->files[i], n + 1);
        paths[i] = p;
    }
    *out = paths;
    return paths == NULL ? mem_fail(err, state->n_files * sizeof *paths, "paths") : GREBE_OK;
}

/* No files: no rows, as old versions saved them; the features say which columns. */
static grebe_status load_nothing(grebe_context *ctx, struct saved_info *info, const struct saved_state *state,
                                 grebe_dataset **out, grebe_error *err)
{
    grebe_dataset *ds = NULL;
    if (info->features == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "state.json names no files, dataset_info.json no features");
    }
    grebe_status st = dataset_of_batches(ctx, info->features, NULL, 0, &ds, err);
    if (st == GREBE_OK) {
        info->features = NULL;
        grebe_dataset_labels labels = { NULL, state->split, info->info_json, state->fingerprint };
        st = grebe_dataset_with(ds, &labels, out, err);
    }
    grebe_dataset_free(ds);
    return st;
}

static grebe_status load_one(struct io_store *store, const char *folder, bool in_memory, grebe_dataset **out,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = store->ctx;
    struct region *state_text = NULL, *info_text = NULL;
    struct saved_state state = { 0 };
    struct saved_info info = { 0 };
    const char **paths = NULL;
    grebe_dataset *ds = NULL;
    bool has_state = false;
    *out = NULL;
    GREBE_TRY(read_text(store, folder, "state.json", &state_text, err));
    st = saved_state_read(ctx->a, (const char *)state_text->data, state_text->len, &state, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s/state.json", folder);
        goto out;
    }
    has_state = true;
    GREBE_TRY(read_text(store, folder, "dataset_info.json", &info_text, err));
    st = saved_info_read(ctx->a, (const char *)info_text->data, info_text->len, &info, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s/dataset_info.json", folder);
        goto out;
    }
    if (state.n_files == 0) {
        st = error_wrap(err, load_nothing(ctx, &info, &state, &ds, err), "%s", folder);
    } else {
        GREBE_TRY(paths_of(&state.arena, folder, &state, &paths, err));
        st = dataset_open_files(ctx, paths, state.n_files, info.features, in_memory, info.info_json, state.split,
                                state.fingerprint, &ds, err);
    }
    if (st != GREBE_OK) {
        goto out;
    }
    if (state.fingerprint != NULL) {
        st = fingerprint_check(state.fingerprint, err);
        if (st != GREBE_OK) {
            st = error_wrap(err, GREBE_ECORRUPT, "%s/state.json", folder);
            goto out;
        }
    }
    grebe_dataset_labels labels = { .format = &state.format, .fingerprint = ds->fingerprint };
    GREBE_TRY(grebe_dataset_with(ds, &labels, out, err));
out:
    grebe_dataset_free(ds);
    region_drop(state_text);
    region_drop(info_text);
    if (has_state) {
        saved_state_release(&state);
    }
    saved_info_release(ctx->a, &info);
    return st;
}

/* ---- folders ---- */

static grebe_status load_splits(struct io_store *store, const char *folder, bool in_memory, grebe_dataset_dict **out,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = store->ctx;
    struct region *text = NULL;
    struct arena ar = ARENA_INIT(ctx->a);
    const char *const *names = NULL;
    grebe_dataset **sets = NULL;
    struct buf path = BUF_INIT(ctx->a);
    size_t n = 0;
    GREBE_TRY(read_text(store, folder, "dataset_dict.json", &text, err));
    st = saved_splits_read(&ar, (const char *)text->data, text->len, &names, &n, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s/dataset_dict.json", folder);
        goto out;
    }
    sets = arena_array(&ar, n + 1, sizeof *sets);
    if (sets == NULL) {
        st = mem_fail(err, n * sizeof *sets, "splits");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        buf_clear(&path);
        GREBE_TRY(buf_printf(&path, err, "%s/%s", folder, names[i]));
        GREBE_TRY(buf_put_byte(&path, 0, err));
        GREBE_TRY(load_one(store, (const char *)path.data, in_memory, &sets[i], err));
    }
    GREBE_TRY(dataset_dict_new(ctx, names, sets, n, out, err));
out:
    for (size_t i = 0; sets != NULL && i < n; i++) {
        grebe_dataset_free(sets[i]);
    }
    buf_release(&path);
    arena_release(&ar);
    region_drop(text);
    return st;
}

grebe_status grebe_dataset_load_from_disk(grebe_context *ctx, const char *path,
                                          const grebe_dataset_open_options *options, grebe_dataset_dict **out,
                                          grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_dataset_open_options o = GREBE_DATASET_OPEN_OPTIONS_INIT;
    struct io_store *store = NULL;
    struct io_info info;
    char *folder = NULL;
    grebe_dataset *ds = NULL;
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && path[0] != '\0' && out != NULL);
    *out = NULL;
    GREBE_TRY(options_copy(&o, sizeof o, options, err));
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    folder = str_copy_len(ctx->a, path, len);
    if (folder == NULL) {
        st = mem_fail(err, len, path);
        goto out;
    }
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(io_stat(store, folder, &info, err));
    bool has_state = false, has_info = false, has_splits = false;
    GREBE_TRY(has_file(store, folder, "state.json", &has_state, err));
    GREBE_TRY(has_file(store, folder, "dataset_info.json", &has_info, err));
    GREBE_TRY(has_file(store, folder, "dataset_dict.json", &has_splits, err));
    if (has_state && has_info) {
        const char *no_name = "";
        GREBE_TRY(load_one(store, folder, o.keep_in_memory, &ds, err));
        GREBE_TRY(dataset_dict_new(ctx, &no_name, &ds, 1, out, err));
    } else if (has_splits) {
        GREBE_TRY(load_splits(store, folder, o.keep_in_memory, out, err));
    } else {
        st = GREBE_FAIL(
            err, GREBE_ENOTFOUND,
            "%s: neither a saved data set (state.json, dataset_info.json) nor splits of one (dataset_dict.json)",
            folder);
    }
out:
    grebe_dataset_free(ds);
    io_store_free(store);
    str_free(ctx->a, folder);
    return st;
}
