/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "out.h"
#include "text_options.h"
#include "rows.h"

static bool has_column(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; schema != NULL && i < schema->n_children; i++) {
        if (strcmp(schema->children[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The types "null" in a type, itself and those it is made of. nodes NULL: they are counted only. */
static size_t find_nulls(struct ArrowSchema *schema, struct ArrowSchema **nodes)
{
    size_t n = strcmp(schema->format, "n") == 0;
    if (n > 0 && nodes != NULL) {
        nodes[0] = schema;
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        n += find_nulls(schema->children[i], nodes != NULL ? nodes + n : NULL);
    }
    return n;
}

/* The type with strings for nulls, as one types it; NULL: there is no null in it. */
static const char *without_nulls(struct cli *cli, struct ArrowSchema *column)
{
    size_t n = find_nulls(column, NULL);
    if (n == 0) {
        return NULL;
    }
    struct ArrowSchema **nodes = cli_alloc(cli, n, sizeof *nodes);
    const char **formats = cli_alloc(cli, n, sizeof *formats);
    find_nulls(column, nodes);
    for (size_t i = 0; i < n; i++) {
        formats[i] = nodes[i]->format;
        nodes[i]->format = "u";
    }
    size_t len = grebe_type_name(cli->ctx, column, NULL, 0);
    char *name = cli_alloc(cli, len + 1, 1);
    grebe_type_name(cli->ctx, column, name, len + 1);
    for (size_t i = 0; i < n; i++) {
        nodes[i]->format = formats[i];
    }
    return len > 0 ? name : NULL;
}

/*
 * Columns of text that have no value say nothing of their type, and one of nulls would never take a value: they
 * become strings, but for those of the table.
 */
static grebe_status type_empty_columns(struct cli *cli, const grebe_source *source,
                                       const struct ArrowSchema *table,
                                       struct ArrowArrayStream *rows, grebe_error *err)
{
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayStream typed = { 0 };
    size_t n = 0;
    if (!grebe_source_is_text(source)) {
        return GREBE_OK;
    }
    if (rows->get_schema(rows, &schema) != 0) {
        grebe_stream_error(rows, EIO, err);
        return err->status;
    }
    grebe_column_cast *casts = cli_alloc(cli, (size_t)schema.n_children + 1, sizeof *casts);
    for (int64_t i = 0; i < schema.n_children; i++) {
        struct ArrowSchema *column = schema.children[i];
        const char *type = has_column(table, column->name) ? NULL : without_nulls(cli, column);
        if (type != NULL) {
            casts[n++] = (grebe_column_cast){ column->name, type };
        }
    }
    grebe_status st = n > 0 ? grebe_rows_cast(cli->ctx, rows, casts, n, &typed, err) : GREBE_OK;
    if (st == GREBE_OK && n > 0) {
        *rows = typed;
    }
    schema.release(&schema);
    return st;
}

/*
 * Append every source to the transaction, then commit: one version whatever their number.
 *
 * @param types A struct schema, those of the table; empty: they become those of the first source.
 */
static int append_all(struct cli *cli, grebe_txn *txn, struct ArrowSchema *types,
                      const char *const *uris, size_t n_uris)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_write_options write;
    int code = write_options_from(cli, &write);
    for (size_t i = 0; code == 0 && i < n_uris; i++) {
        grebe_source *source = NULL;
        struct ArrowArrayStream rows = { 0 };
        grebe_scan_options scan;
        code = open_source_like(cli, uris[i], types, &source);
        code = code != 0 ? code : scan_options_from(cli, &scan);
        if (code == 0) {
            write.expected_rows = grebe_source_num_rows(source);
            grebe_status st = grebe_source_scan(source, &scan, &rows, &err);
            if (st == GREBE_OK) {
                st = type_empty_columns(cli, source, types, &rows, &err);
            }
            if (st == GREBE_OK && types->release == NULL && rows.get_schema(&rows, types) != 0) {
                types->release = NULL;
                grebe_stream_error(&rows, EIO, &err);
                st = err.status;
            }
            if (st == GREBE_OK) {
                st = grebe_txn_append(txn, &rows, &write, &err);
            }
            code = st == GREBE_OK ? 0 : out_error(cli, cli->cmd->name, &err);
        }
        if (rows.release != NULL) {
            rows.release(&rows);
        }
        grebe_source_close(source);
    }
    if (types->release != NULL) {
        types->release(types);
    }
    return code;
}

static int commit(struct cli *cli, grebe_txn *txn)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *made = NULL;
    if (grebe_txn_commit(txn, NULL, &made, &err) != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    report_table(cli, made);
    grebe_table_close(made);
    return 0;
}

static int create_from_schema(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayStream rows = { 0 };
    grebe_table_create_options create = GREBE_TABLE_CREATE_OPTIONS_INIT;
    grebe_write_options write;
    grebe_txn_options txn;
    grebe_table *made = NULL;
    int code = schema_option(cli, &schema);
    code = code != 0 ? code : write_options_from(cli, &write);
    code = code != 0 ? code : txn_options_from(cli, &txn);
    if (code == 0) {
        rows_empty_stream(&schema, &rows);
        create.is_not_durable = txn.is_not_durable;
        create.message = txn.message;
        create.write = &write;
        grebe_status st =
            grebe_table_create(cli->ctx, cli->positional[0], &rows, &create, &made, &err);
        code = st == GREBE_OK ? 0 : out_error(cli, "create", &err);
    }
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    if (code == 0) {
        report_table(cli, made);
    }
    grebe_table_close(made);
    return code;
}

int cmd_create(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_open_options open = GREBE_TABLE_OPEN_OPTIONS_INIT;
    grebe_txn_options options;
    struct ArrowSchema types = { 0 };
    grebe_table *table = NULL;
    grebe_txn *txn = NULL;
    const char *uri = cli->positional[0];

    if (!opt_has(cli, "schema") && !opt_has(cli, "from")) {
        return out_usage(cli, "expected --from SOURCE or --schema FILE");
    }
    if (!opt_has(cli, "from")) {
        return create_from_schema(cli);
    }
    /* --from takes one source; the words behind it are further ones: --from a b c */
    size_t n_from = 0;
    const char **sources = cli_alloc(cli, OPT_VALUES_MAX + cli->n_positional, sizeof *sources);
    for (; opt_nth(cli, "from", n_from) != NULL; n_from++) {
        sources[n_from] = opt_nth(cli, "from", n_from);
    }
    for (size_t i = 1; i < cli->n_positional; i++) {
        sources[n_from++] = cli->positional[i];
    }
    int code = txn_options_from(cli, &options);
    if (code != 0) {
        return code;
    }
    options.operation = "create";
    options.on_conflict = GREBE_ON_CONFLICT_FAIL;
    open.version = 0;
    grebe_status st = grebe_table_open(cli->ctx, uri, &open, &table, &err);
    int64_t latest = 0;
    if (st == GREBE_OK) {
        st = grebe_table_latest_version(table, &latest, &err);
    }
    if (st == GREBE_OK && latest > 0) {
        st = GREBE_EEXISTS;
        err.status = st;
        snprintf(err.message, sizeof err.message, "%.300s: expected no table, found version %lld",
                 uri, (long long)latest);
    }
    if (st == GREBE_OK) {
        st = grebe_txn_new(table, &options, &txn, &err);
    }
    code = st == GREBE_OK ? append_all(cli, txn, &types, sources, n_from)
                          : out_error(cli, "create", &err);
    code = code != 0 ? code : commit(cli, txn);
    grebe_txn_free(txn);
    grebe_table_close(table);
    return code;
}

int cmd_append(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn_options options;
    struct ArrowSchema types = { 0 };
    grebe_table *table = NULL;
    grebe_txn *txn = NULL;
    int code = txn_options_from(cli, &options);
    code = code != 0 ? code : open_table(cli, cli->positional[0], &table);
    if (code == 0 && (grebe_txn_new(table, &options, &txn, &err) != GREBE_OK ||
                      grebe_table_schema(table, &types, &err) != GREBE_OK)) {
        code = out_error(cli, "append", &err);
    }
    if (code == 0 && types.n_children == 0) {
        types.release(&types); /* the first rows bring the types */
    }
    code = code != 0 ? code
                     : append_all(cli, txn, &types, (const char *const *)cli->positional + 1,
                                  cli->n_positional - 1);
    code = code != 0 ? code : commit(cli, txn);
    grebe_txn_free(txn);
    grebe_table_close(table);
    return code;
}

/* Open the table, begin, let `change` add its operations, commit. */
static int change_columns(struct cli *cli, grebe_status (*change)(struct cli *cli, grebe_txn *txn,
                                                                  grebe_error *err))
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn_options options;
    grebe_table *table = NULL;
    grebe_txn *txn = NULL;
    int code = txn_options_from(cli, &options);
    code = code != 0 ? code : open_table(cli, cli->positional[0], &table);
    if (code == 0) {
        grebe_status st = grebe_txn_new(table, &options, &txn, &err);
        if (st == GREBE_OK) {
            st = change(cli, txn, &err);
        }
        code = st == GREBE_OK ? commit(cli, txn) : out_error(cli, cli->cmd->name, &err);
    }
    grebe_txn_free(txn);
    grebe_table_close(table);
    return code;
}

static grebe_status drop_columns(struct cli *cli, grebe_txn *txn, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 1; st == GREBE_OK && i < cli->n_positional; i++) {
        st = grebe_txn_drop_column(txn, cli->positional[i], err);
    }
    return st;
}

static grebe_status rename_column(struct cli *cli, grebe_txn *txn, grebe_error *err)
{
    return grebe_txn_rename_column(txn, cli->positional[1], cli->positional[2], err);
}

int cmd_drop_column(struct cli *cli) { return change_columns(cli, drop_columns); }

int cmd_rename_column(struct cli *cli) { return change_columns(cli, rename_column); }

int cmd_add_column(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn_options options;
    grebe_write_options write;
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    grebe_table *table = NULL;
    grebe_txn *txn = NULL;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    int64_t begin = 0, end = INT64_MAX;
    int code = txn_options_from(cli, &options);
    code = code != 0 ? code : write_options_from(cli, &write);
    code = code != 0 ? code : opt_range(cli, "rows", &begin, &end);
    if (code == 0 && opt_has(cli, "columns")) {
        const char **names = NULL;
        code = split_names(cli, opt_get(cli, "columns"), &names, &scan.n_columns);
        scan.columns = names;
    }
    code = code != 0 ? code : open_table(cli, cli->positional[0], &table);
    code = code != 0 ? code : open_source(cli, cli->positional[1], &source);
    if (code == 0) {
        scan.call = &cli->call;
        write.expected_rows = grebe_source_num_rows(source);
        grebe_status st = grebe_txn_new(table, &options, &txn, &err);
        if (st == GREBE_OK) {
            st = grebe_source_scan(source, &scan, &rows, &err);
        }
        if (st == GREBE_OK) {
            st = type_empty_columns(cli, source, NULL, &rows, &err);
        }
        if (st == GREBE_OK) {
            st = grebe_txn_add_columns(txn, &rows, begin, end, &write, &err);
        }
        code = st == GREBE_OK ? commit(cli, txn) : out_error(cli, "add-column", &err);
    }
    grebe_txn_free(txn);
    grebe_source_close(source);
    grebe_table_close(table);
    return code;
}

int cmd_tag(struct cli *cli)
{
    static const char *const columns[] = { "tag:text", "version:int", "time:text", "message:text",
                                           NULL };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *table = NULL;
    if (cli->n_positional == 1 && (opt_has(cli, "delete") || opt_has(cli, "message"))) {
        return out_usage(cli, "expected the name of a tag");
    }
    cli->is_for_inspection = true;
    int code = open_table(cli, cli->positional[0], &table);
    if (code != 0) {
        return code;
    }
    grebe_status st = GREBE_OK;
    if (cli->n_positional == 1) {
        grebe_tag_list *tags = NULL;
        st = grebe_table_tags(table, &tags, &err);
        if (st == GREBE_OK) {
            struct rows *r = rows_new(columns);
            for (size_t i = 0; i < tags->n; i++) {
                char time[40];
                rows_text(r, tags->tags[i].name);
                rows_int(r, tags->tags[i].version);
                rows_text(r, time_text(time, tags->tags[i].time_us));
                rows_text(r, tags->tags[i].message);
            }
            code = rows_print(cli, r);
        }
        grebe_tag_list_free(tags);
    } else if (opt_has(cli, "delete")) {
        st = grebe_table_tag_delete(table, cli->positional[1], &err);
    } else {
        char *name = cli->positional[1];
        char *at = strrchr(name, '@');
        int64_t version = grebe_table_version(table);
        if (at != NULL) {
            char *end = NULL;
            errno = 0;
            version = strtoll(at + 1, &end, 10);
            if (errno != 0 || end == at + 1 || *end != '\0' || version < 1) {
                grebe_table_close(table);
                return out_usage(cli, "expected NAME@VERSION, found \"%s\"", name);
            }
            *at = '\0';
        }
        st = grebe_table_tag(table, name, version, opt_get(cli, "message"), &err);
    }
    grebe_table_close(table);
    return st == GREBE_OK ? code : out_error(cli, "tag", &err);
}
