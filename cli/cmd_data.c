/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe data load`, `info`, `save`, `export`. */
#include "data.h"

#include <stdio.h>
#include <string.h>

#include "opt.h"
#include "out.h"
#include "rows.h"

/* ---- what there is, one row a split ---- */

static const char *const columns_of_sets[] = { "split:text",    "rows:int",         "columns:int", "bytes:int",
                                               "features:text", "fingerprint:text", "files:text",  NULL };
static const char *const columns_of_streams[] = { "split:text", "shards:int", "features:text", NULL };

/* Names of files with blanks between them. */
static const char *join_files(struct cli *cli, const grebe_dataset_info *info)
{
    size_t len = 1;
    for (size_t i = 0; i < info->n_files; i++) {
        len += strlen(info->files[i]) + 1;
    }
    char *all = cli_alloc(cli, len, 1);
    for (size_t i = 0; i < info->n_files; i++) {
        strcat(all, i > 0 ? " " : "");
        strcat(all, info->files[i]);
    }
    return all;
}

static int add_set(struct cli *cli, struct rows *rows, const char *name, const grebe_dataset *ds)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_dataset_info info;
    int64_t bytes = 0;
    if (grebe_dataset_num_bytes(ds, &bytes, &err) != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    grebe_dataset_get_info(ds, &info);
    rows_text(rows, name[0] != '\0' ? name : info.split);
    rows_int(rows, info.n_rows);
    rows_int(rows, (int64_t)info.n_columns);
    rows_int(rows, bytes);
    rows_text(rows, info.features);
    rows_text(rows, info.fingerprint);
    rows_text(rows, join_files(cli, &info));
    return 0;
}

static int print_sets(struct cli *cli, const struct data_source *s)
{
    struct rows *rows = rows_new(columns_of_sets);
    int code = s->rows != NULL ? add_set(cli, rows, "", s->rows) : 0;
    size_t n = s->dict != NULL ? grebe_dataset_dict_len(s->dict) : 0;
    for (size_t i = 0; i < n && code == 0; i++) {
        const char *name = grebe_dataset_dict_name(s->dict, i);
        if (s->split == NULL || strcmp(s->split, name) == 0) {
            code = add_set(cli, rows, name, grebe_dataset_dict_get(s->dict, i));
        }
    }
    if (code != 0) {
        rows_drop(rows);
        return code;
    }
    return rows_print(cli, rows);
}

static int print_streams(struct cli *cli, const char *path, const grebe_load_options *o)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable_dict *dict = NULL;
    if (grebe_iterable_load(cli->ctx, path, o, &dict, &err) != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    struct rows *rows = rows_new(columns_of_streams);
    for (size_t i = 0; i < grebe_iterable_dict_len(dict); i++) {
        const grebe_iterable *it = grebe_iterable_dict_get(dict, i);
        rows_text(rows, grebe_iterable_dict_name(dict, i));
        rows_int(rows, grebe_iterable_num_shards(it));
        rows_text(rows, grebe_iterable_features(it));
    }
    grebe_iterable_dict_free(dict);
    return rows_print(cli, rows);
}

int cmd_data_load(struct cli *cli)
{
    grebe_load_options o;
    struct data_source s;
    const char *uri = cli->positional[0], *path = NULL, *folder = NULL, *split = NULL;
    int code = data_load_options(cli, uri, &o, &path);
    if (code != 0) {
        return code;
    }
    bool is_saved = data_is_saved(cli, uri, &folder, &split);
    if (opt_has(cli, "streaming")) {
        return path == NULL || is_saved ? out_usage(cli, "--streaming: files, a folder of files or a format")
                                        : print_streams(cli, path, &o);
    }
    if (path == NULL && !is_saved) {
        grebe_error err = GREBE_ERROR_INIT;
        err.status = GREBE_ENOTFOUND;
        snprintf(
            err.message, sizeof err.message,
            "%.400s: expected a folder or file of data, or a format (csv, json, parquet, arrow, text, imagefolder, …)",
            uri);
        return out_error(cli, "data load", &err);
    }
    code = data_open(cli, uri, &s);
    code = code != 0 ? code : print_sets(cli, &s);
    data_close(&s);
    return code;
}

int cmd_data_info(struct cli *cli)
{
    grebe_load_options o;
    struct data_source s;
    const char *uri = cli->positional[0], *path = NULL, *folder = NULL, *split = NULL;
    int code = data_load_options(cli, uri, &o, &path);
    if (code == 0 && path != NULL && !data_is_saved(cli, uri, &folder, &split)) {
        return print_streams(cli, path, &o); /* nothing is prepared to tell what there is */
    }
    if (code == 0) {
        code = data_open(cli, uri, &s);
        code = code != 0 ? code : print_sets(cli, &s);
        data_close(&s);
    }
    return code;
}

/* ---- save, export ---- */

/* All splits, where none is named and there are several. */
static int save_all(struct cli *cli, const grebe_dataset_dict *dict, const char *dest)
{
    size_t n = grebe_dataset_dict_len(dict);
    const char **names = cli_alloc(cli, n, sizeof *names);
    const grebe_dataset **sets = cli_alloc(cli, n, sizeof *sets);
    for (size_t i = 0; i < n; i++) {
        names[i] = grebe_dataset_dict_name(dict, i);
        sets[i] = grebe_dataset_dict_get(dict, i);
    }
    return data_write_dict(cli, names, sets, n, dest);
}

int cmd_data_save(struct cli *cli)
{
    struct data_source s;
    const grebe_dataset *ds = NULL;
    int code = data_open(cli, cli->positional[0], &s);
    if (code == 0 && s.dict != NULL && s.split == NULL && grebe_dataset_dict_len(s.dict) > 1) {
        code = save_all(cli, s.dict, cli->positional[1]);
    } else {
        code = code != 0 ? code : data_one(cli, cli->positional[0], &s, &ds);
        code = code != 0 ? code : data_write(cli, ds, cli->positional[1]);
    }
    data_close(&s);
    return code;
}

int cmd_data_export(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct data_source s;
    const grebe_dataset *ds = NULL;
    struct ArrowArrayStream rows = { 0 };
    grebe_write_options write = GREBE_WRITE_OPTIONS_INIT;
    const char **columns = NULL;
    size_t n_columns = 0;
    int64_t n_rows = 0;
    write.call = &cli->call;
    int code = data_open(cli, cli->positional[0], &s);
    code = code != 0 ? code : data_one(cli, cli->positional[0], &s, &ds);
    if (code == 0 && opt_has(cli, "columns")) {
        code = split_names(cli, opt_get(cli, "columns"), &columns, &n_columns);
    }
    if (code == 0) {
        grebe_status st = grebe_dataset_scan(ds, columns, n_columns, 0, &cli->call, &rows, &err);
        st = st == GREBE_OK ? grebe_write_file(cli->ctx, cli->positional[1], &rows, &write, false, &n_rows, &err) : st;
        code = st == GREBE_OK ? 0 : out_error(cli, "data export", &err);
    }
    if (code == 0) {
        out_note(cli, "%s: %lld rows", cli->positional[1], (long long)n_rows);
    }
    data_close(&s);
    return code;
}
