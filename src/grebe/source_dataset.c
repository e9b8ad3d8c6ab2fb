/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/source_dataset.h"

#include <string.h>

#include "grebe/source_internal.h"

struct source_dataset {
    grebe_context *ctx;
    grebe_dataset *ds;
};

static bool has_file(struct io_store *store, const char *folder, size_t len, const char *name)
{
    char path[4096];
    struct io_info info;
    size_t n = strlen(name);
    if (len + n + 2 > sizeof path) {
        return false;
    }
    memcpy(path, folder, len);
    path[len] = '/';
    memcpy(path + len + 1, name, n + 1);
    return io_stat(store, path, &info, NULL) == GREBE_OK && info.kind == IO_FILE;
}

/* Length of the folder in uri; *split: what is behind '#', or NULL. 0: no data set. */
static size_t folder_len(struct io_store *store, const char *uri, const char **split)
{
    size_t whole = strlen(uri);
    const char *hash = strrchr(uri, '#');
    size_t lens[2] = { whole, hash == NULL ? 0 : (size_t)(hash - uri) };
    for (int i = 0; i < 2; i++) {
        if (lens[i] > 0 &&
            (has_file(store, uri, lens[i], "state.json") || has_file(store, uri, lens[i], "dataset_dict.json"))) {
            *split = i == 0 ? NULL : hash + 1;
            return lens[i];
        }
    }
    return 0;
}

bool source_is_dataset(struct io_store *store, const char *uri)
{
    const char *split = NULL;
    return folder_len(store, uri, &split) > 0;
}

static grebe_status choose_split(const grebe_dataset_dict *dict, const char *folder, const char *split,
                                 const grebe_dataset **out, grebe_error *err)
{
    char names[256] = "";
    size_t n = grebe_dataset_dict_len(dict);
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *name = grebe_dataset_dict_name(dict, i);
        if (split == NULL ? n == 1 : strcmp(name, split) == 0) {
            *out = grebe_dataset_dict_get(dict, i);
            return GREBE_OK;
        }
        if (strlen(names) + strlen(name) + 3 < sizeof names) {
            strcat(names, i > 0 ? ", " : "");
            strcat(names, name);
        }
    }
    return split == NULL
               ? GREBE_FAIL(err, GREBE_EINVAL, "%s: expected one split, %s#SPLIT, of: %s", folder, folder, names)
               : GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: expected a split of: %s, found \"%s\"", folder, names, split);
}

grebe_status source_dataset_open(grebe_context *ctx, struct io_store *store, const char *uri,
                                 struct source_dataset **out, grebe_error *err)
{
    const char *split = NULL;
    const grebe_dataset *ds = NULL;
    grebe_dataset_dict *dict = NULL;
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct source_dataset *d = mem_alloc_zero(ctx->a, sizeof *d);
    char *folder = str_copy_len(ctx->a, uri, folder_len(store, uri, &split));
    if (d == NULL || folder == NULL) {
        st = mem_fail(err, sizeof *d, uri);
        goto out;
    }
    GREBE_TRY(grebe_dataset_load_from_disk(ctx, folder, NULL, &dict, err));
    GREBE_TRY(choose_split(dict, folder, split, &ds, err));
    d->ctx = ctx;
    d->ds = grebe_dataset_keep(ds);
    *out = d;
    d = NULL;
out:
    grebe_dataset_dict_free(dict);
    str_free(ctx->a, folder);
    mem_free(ctx->a, d, sizeof *d);
    return st;
}

void source_dataset_close(struct source_dataset *d)
{
    if (d != NULL) {
        grebe_dataset_free(d->ds);
        mem_free(d->ctx->a, d, sizeof *d);
    }
}

int64_t source_dataset_rows(const struct source_dataset *d)
{
    grebe_dataset_info info;
    grebe_dataset_get_info(d->ds, &info);
    return info.n_rows;
}

/* Without what the file says of features: rows of any source have plain schemas. */
grebe_status source_dataset_schema(struct source_dataset *d, struct ArrowSchema *out, grebe_error *err)
{
    struct ArrowArrayStream rows = { 0 };
    grebe_status st = grebe_dataset_scan(d->ds, NULL, 0, 0, NULL, &rows, err);
    st = st == GREBE_OK ? stream_schema(&rows, out, err) : st;
    stream_release(&rows);
    return st;
}

/* The columns that are there, of those asked for: all of them when one is not, for whoever names it. */
static bool are_known(const grebe_dataset_info *info, const grebe_scan_options *o)
{
    for (size_t i = 0; i < o->n_columns; i++) {
        size_t k = 0;
        while (k < info->n_columns && strcmp(info->columns[k], o->columns[i]) != 0) {
            k++;
        }
        if (k == info->n_columns) {
            return false;
        }
    }
    return true;
}

grebe_status source_dataset_scan(struct source_dataset *d, const grebe_scan_options *options,
                                 struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream rows = { 0 };
    grebe_dataset_info info;
    grebe_dataset_get_info(d->ds, &info);
    grebe_status st = options == NULL ? GREBE_OK : options_copy(&o, sizeof o, options, err);
    if (st == GREBE_OK) {
        bool is_chosen = o.columns != NULL && o.n_columns > 0 && o.where == NULL && are_known(&info, &o);
        st =
            grebe_dataset_scan(d->ds, is_chosen ? o.columns : NULL, is_chosen ? o.n_columns : 0, 0, o.call, &rows, err);
    }
    st = st == GREBE_OK ? select_stream(d->ctx, &rows, &o, out, err) : st;
    stream_release(&rows);
    return st;
}
