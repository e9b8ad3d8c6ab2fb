/* SPDX-License-Identifier: Apache-2.0 */
/* grebe search, grebe index: the nearest rows of a table, and what makes finding them fast. */
#include "search.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "out.h"
#include "rows.h"

/* ---- index build | list | drop ---- */

int cmd_index_build(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_column_index_options o = GREBE_COLUMN_INDEX_OPTIONS_INIT;
    grebe_txn_options txn;
    grebe_table *table = NULL, *made = NULL;
    grebe_status st = GREBE_OK;
    const char *column = opt_get(cli, "column");
    if (column == NULL) {
        return out_usage(cli, "expected --column with the name of a column of vectors");
    }
    if (opt_has(cli, "kind")) {
        st = grebe_ann_index_kind_parse(opt_get(cli, "kind"), &o.kind, &err);
    }
    if (st == GREBE_OK && opt_has(cli, "metric")) {
        st = grebe_metric_parse(opt_get(cli, "metric"), &o.metric, &err);
    }
    if (st != GREBE_OK) {
        return out_error(cli, "index build", &err);
    }
    o.params = (const char *const *)cli->positional + 1;
    o.n_params = cli->n_positional - 1;
    o.call = &cli->call;
    int code = txn_options_from(cli, &txn);
    o.txn = &txn;
    code = code != 0 ? code : open_table(cli, cli->positional[0], &table);
    if (code == 0) {
        st = grebe_table_build_index(table, column, &o, &made, &err);
        code = st != GREBE_OK ? out_error(cli, "index build", &err) : 0;
    }
    if (code == 0) {
        report_table(cli, made);
    }
    grebe_table_close(table);
    grebe_table_close(made);
    return code;
}

int cmd_index_list(struct cli *cli)
{
    static const char *const columns[] = { "column:text", "name:text", "type:text", "rows:int", "bytes:int", "path:text", NULL };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *table = NULL;
    grebe_table_info *info = NULL;
    int code = open_table(cli, cli->positional[0], &table);
    if (code != 0) {
        return code;
    }
    if (grebe_table_info_get(table, &info, &err) != GREBE_OK) {
        code = out_error(cli, "index list", &err);
    } else {
        struct rows *rows = rows_new(columns);
        for (size_t i = 0; i < info->n_indexes; i++) {
            const grebe_index_info *x = &info->indexes[i];
            rows_text(rows, x->column_name);
            rows_text(rows, x->index_name);
            rows_text(rows, x->index_type);
            rows_int(rows, x->n_rows);
            rows_int(rows, (int64_t)x->size_bytes);
            rows_text(rows, x->path);
        }
        code = rows_print(cli, rows);
    }
    grebe_table_info_free(info);
    grebe_table_close(table);
    return code;
}

int cmd_index_drop(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn_options txn;
    grebe_table *table = NULL, *made = NULL;
    if (!opt_has(cli, "column")) {
        return out_usage(cli, "expected --column with the name of a column");
    }
    int code = txn_options_from(cli, &txn);
    code = code != 0 ? code : open_table(cli, cli->positional[0], &table);
    if (code == 0 && grebe_table_drop_index(table, opt_get(cli, "column"), &txn, &made, &err) != GREBE_OK) {
        code = out_error(cli, "index drop", &err);
    }
    if (code == 0) {
        report_table(cli, made);
    }
    grebe_table_close(table);
    grebe_table_close(made);
    return code;
}

/* ---- search ---- */

/* "[0.5, -1, 2e-3]" or "0.5,-1,2e-3" as float32. Exit code. */
static int parse_vector(struct cli *cli, const char *text, float **out, size_t *n)
{
    static const char space[] = " \t\n";
    size_t room = strlen(text) / 2 + 2;
    const char *p = text + strspn(text, space);
    bool is_bracketed = *p == '[', is_whole = false;
    *out = cli_alloc(cli, room, sizeof **out);
    *n = 0;
    for (p += is_bracketed; *n < room; p++) {
        char *end = NULL;
        float v = strtof(p, &end);
        if (end == p || !isfinite(v) || memchr(p, 'x', (size_t)(end - p)) != NULL) {
            break;
        }
        (*out)[(*n)++] = v;
        p = end + strspn(end, space);
        is_whole = *p != ',';
        if (is_whole) {
            break;
        }
    }
    is_whole = is_whole && (!is_bracketed || *p == ']');
    p += is_whole && is_bracketed;
    p += strspn(p, space);
    if (!is_whole || *p != '\0') {
        return out_usage(cli, "--vector: expected numbers such as [0.5, -1], found \"%.40s\" after %zu numbers", p, *n);
    }
    return 0;
}

/* Queries from --vector or --query-from. Exit code. @param keep To be freed by grebe_vector_rows_free(). */
static int take_queries(struct cli *cli, grebe_vector_rows *keep)
{
    grebe_error err = GREBE_ERROR_INIT;
    const char *from = opt_get(cli, "query-from");
    memset(keep, 0, sizeof *keep);
    if ((from != NULL) == opt_has(cli, "vector")) {
        return out_usage(cli, "expected --vector JSON or --query-from SOURCE");
    }
    if (from == NULL) {
        float *values = NULL;
        size_t n = 0;
        int code = parse_vector(cli, opt_get(cli, "vector"), &values, &n);
        keep->vectors = (grebe_vectors)GREBE_VECTORS_INIT;
        keep->vectors.rows = 1;
        keep->vectors.dim = (uint32_t)n;
        keep->vectors.data = values;
        return code;
    }
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    int code = open_source(cli, from, &source);
    if (code == 0 && grebe_source_scan(source, NULL, &rows, &err) != GREBE_OK) {
        code = out_error(cli, from, &err);
    }
    if (code == 0 && grebe_vector_rows_read(cli->ctx, &rows, opt_get(cli, "query-column"), keep, &err) != GREBE_OK) {
        code = out_error(cli, from, &err);
    }
    grebe_source_close(source);
    return code;
}

int cmd_search(struct cli *cli)
{
    enum { PARAMS_MAX = 32 };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_search_options o = GREBE_TABLE_SEARCH_OPTIONS_INIT;
    grebe_vector_rows queries;
    grebe_table *table = NULL;
    struct ArrowArrayStream rows = { 0 };
    const char *params[PARAMS_MAX], *column = opt_get(cli, "column");
    int64_t k = 10;
    if (column == NULL) {
        return out_usage(cli, "expected --column with the name of a column of vectors");
    }
    int code = opt_int(cli, "k", 0, INT32_MAX, &k);
    if (code == 0 && opt_has(cli, "columns")) {
        const char **names = NULL;
        code = split_names(cli, opt_get(cli, "columns"), &names, &o.n_columns);
        o.columns = names;
    }
    o.has_metric = opt_has(cli, "metric");
    if (code == 0 && o.has_metric && grebe_metric_parse(opt_get(cli, "metric"), &o.metric, &err) != GREBE_OK) {
        code = out_error(cli, "search", &err);
    }
    for (; code == 0 && o.n_params < PARAMS_MAX && opt_nth(cli, "param", o.n_params) != NULL; o.n_params++) {
        params[o.n_params] = opt_nth(cli, "param", o.n_params);
    }
    o.params = params;
    o.where = opt_get(cli, "where");
    o.is_exact = opt_has(cli, "exact");
    o.call = &cli->call;
    code = code != 0 ? code : take_queries(cli, &queries);
    if (code != 0) {
        return code;
    }
    code = open_table(cli, cli->positional[0], &table);
    if (code == 0 && grebe_table_search(table, column, &queries.vectors, (size_t)k, &o, &rows, &err) != GREBE_OK) {
        code = out_error(cli, "search", &err);
    }
    code = code != 0 ? code : out_rows(cli, &rows);
    grebe_vector_rows_free(&queries);
    grebe_table_close(table);
    return code;
}
