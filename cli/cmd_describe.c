/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "ann.h"
#include "opt.h"
#include "out.h"
#include "rows.h"

static bool is_json(const struct cli *cli)
{
    return cli->format == GREBE_PRINT_JSON || cli->format == GREBE_PRINT_JSONL;
}

/* ---- schema ---- */

static int print_schema_rows(struct cli *cli, const struct ArrowSchema *schema)
{
    static const char *const columns[] = { "name:text", "type:text", "nullable:bool", NULL };
    struct rows *r = rows_new(columns);
    for (int64_t i = 0; i < schema->n_children; i++) {
        char type[512];
        const struct ArrowSchema *field = schema->children[i];
        grebe_type_name(cli->ctx, field, type, sizeof type);
        rows_text(r, field->name);
        rows_text(r, type);
        rows_bool(r, (field->flags & ARROW_FLAG_NULLABLE) != 0);
    }
    return rows_print(cli, r);
}

int cmd_schema(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema = { 0 };
    grebe_source *source = NULL;
    int code = open_sources(cli, cli->positional, cli->n_positional, &source);
    if (code == 0) {
        grebe_status st = grebe_source_schema(source, &schema, &err);
        if (st == GREBE_OK && is_json(cli)) {
            st = grebe_schema_print_json(cli->ctx, &schema, out_write, cli, &err);
            out_printf("\n");
        } else if (st == GREBE_OK) {
            code = print_schema_rows(cli, &schema);
        }
        code = st == GREBE_OK ? code : out_error(cli, "schema", &err);
    }
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    grebe_source_close(source);
    return code;
}

/* ---- stats ---- */

int cmd_stats(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    int code = scan_options_from(cli, &o);
    if (opt_has(cli, "cast")) {
        return out_usage(cli, "--cast: statistics are of the values as they are stored");
    }
    code = code != 0 ? code : open_sources(cli, cli->positional, cli->n_positional, &source);
    if (code == 0) {
        grebe_status st = grebe_source_stats(source, &o, &rows, &err);
        code = st == GREBE_OK ? out_rows(cli, &rows) : out_error(cli, "stats", &err);
    }
    grebe_source_close(source);
    return code;
}

/* ---- info ---- */

static void json_names(const char *const *names, size_t n)
{
    out_printf("[");
    for (size_t i = 0; i < n; i++) {
        out_printf(i == 0 ? "" : ",");
        out_json_text(names[i]);
    }
    out_printf("]");
}

static void json_group(const grebe_group_info *g)
{
    out_printf("{\"format\":");
    out_json_text(g->format);
    out_printf(",\"columns\":");
    json_names(g->columns, g->n_columns);
    out_printf(",\"rows\":%lld,\"bytes\":%llu,\"files\":[", (long long)g->n_rows,
               (unsigned long long)g->size_bytes);
    for (size_t i = 0; i < g->n_files; i++) {
        const grebe_file_info *f = &g->files[i];
        out_printf("%s{\"path\":", i == 0 ? "" : ",");
        out_json_text(f->path);
        out_printf(",\"row_begin\":%lld,\"row_end\":%lld,\"file_row_begin\":%lld,\"bytes\":%llu}",
                   (long long)f->row_begin, (long long)f->row_end, (long long)f->file_row_begin,
                   (unsigned long long)f->size_bytes);
    }
    out_printf("]}");
}

static void info_json(const char *path, const char *format, const grebe_table_info *t)
{
    out_printf("{\"path\":");
    out_json_text(path);
    out_printf(",\"format\":");
    out_json_text(format);
    out_printf(",\"version\":%lld,\"rows\":%lld,\"next_row_id\":%lld,\"bytes\":%llu,"
               "\"has_stored_schema\":%s,\"manifest\":{\"encoding\":",
               (long long)t->version, (long long)t->n_rows, (long long)t->next_row_id,
               (unsigned long long)t->data_bytes, t->has_stored_schema ? "true" : "false");
    out_json_text(t->encoding);
    out_printf(",\"bytes\":%llu},\"groups\":[", (unsigned long long)t->manifest_bytes);
    for (size_t i = 0; i < t->n_groups; i++) {
        out_printf(i == 0 ? "" : ",");
        json_group(&t->groups[i]);
    }
    out_printf("],\"delta_logs\":[");
    for (size_t i = 0; i < t->n_delta_logs; i++) {
        out_printf("%s{\"path\":", i == 0 ? "" : ",");
        out_json_text(t->delta_logs[i].path);
        out_printf(",\"type\":%d,\"entries\":%lld}", (int)t->delta_logs[i].type,
                   (long long)t->delta_logs[i].n_entries);
    }
    out_printf("],\"indexes\":[");
    for (size_t i = 0; i < t->n_indexes; i++) {
        const grebe_index_info *x = &t->indexes[i];
        out_printf("%s{\"column\":", i == 0 ? "" : ",");
        out_json_text(x->column_name);
        out_printf(",\"name\":");
        out_json_text(x->index_name);
        out_printf(",\"type\":");
        out_json_text(x->index_type);
        out_printf(",\"path\":");
        out_json_text(x->path);
        out_printf(",\"id\":%lld,\"rows\":%lld,\"bytes\":%llu}", (long long)x->index_id,
                   (long long)x->n_rows, (unsigned long long)x->size_bytes);
    }
    out_printf("],\"stats\":[");
    for (size_t i = 0; i < t->n_stats; i++) {
        out_printf("%s{\"key\":", i == 0 ? "" : ",");
        out_json_text(t->stats[i].key);
        out_printf(",\"paths\":");
        json_names(t->stats[i].paths, t->stats[i].n_paths);
        out_printf("}");
    }
    out_printf("]}\n");
}

static int info_rows(struct cli *cli, const grebe_table_info *t)
{
    static const char *const columns[] = { "group:int", "columns:text",  "format:text",
                                           "path:text", "row_begin:int", "row_end:int",
                                           "bytes:int", NULL };
    struct rows *r = rows_new(columns);
    for (size_t g = 0; g < t->n_groups; g++) {
        char names[4096];
        size_t len = 0;
        names[0] = '\0';
        for (size_t i = 0; i < t->groups[g].n_columns && len < sizeof names; i++) {
            int n = snprintf(names + len, sizeof names - len, "%s%s", i == 0 ? "" : ",",
                             t->groups[g].columns[i]);
            len += n > 0 ? (size_t)n : 0;
        }
        for (size_t i = 0; i < t->groups[g].n_files; i++) {
            const grebe_file_info *f = &t->groups[g].files[i];
            rows_int(r, (int64_t)g);
            rows_text(r, names);
            rows_text(r, t->groups[g].format);
            rows_text(r, f->path);
            rows_int(r, f->row_begin);
            rows_int(r, f->row_end);
            rows_int(r, f->size_bytes > INT64_MAX ? INT64_MAX : (int64_t)f->size_bytes);
        }
    }
    return rows_print(cli, r);
}

static void info_text(const char *path, const char *format, const grebe_table_info *t)
{
    char size[16];
    out_printf("%s: %s", path, format);
    if (t->version > 0) {
        out_printf(", version %lld", (long long)t->version);
    }
    out_printf(", %lld rows, %s\n", (long long)t->n_rows, size_text(size, t->data_bytes));
    for (size_t g = 0; g < t->n_groups; g++) {
        const grebe_group_info *group = &t->groups[g];
        out_printf("group %zu (%s, %zu file%s, %s): ", g, group->format, group->n_files,
                   group->n_files == 1 ? "" : "s", size_text(size, group->size_bytes));
        for (size_t i = 0; i < group->n_columns; i++) {
            out_printf("%s%s", i == 0 ? "" : ", ", group->columns[i]);
        }
        out_printf("\n");
        for (size_t i = 0; i < group->n_files; i++) {
            const grebe_file_info *f = &group->files[i];
            out_printf("    rows %lld:%lld  %s  %s\n", (long long)f->row_begin,
                       (long long)f->row_end, size_text(size, f->size_bytes), f->path);
        }
    }
    for (size_t i = 0; i < t->n_delta_logs; i++) {
        out_printf("delete log %s: %lld entries\n", t->delta_logs[i].path,
                   (long long)t->delta_logs[i].n_entries);
    }
    for (size_t i = 0; i < t->n_indexes; i++) {
        out_printf("index %s on %s: %lld rows, %s\n", t->indexes[i].index_type,
                   t->indexes[i].column_name, (long long)t->indexes[i].n_rows,
                   size_text(size, t->indexes[i].size_bytes));
    }
    for (size_t i = 0; i < t->n_stats; i++) {
        out_printf("statistics %s: %zu file%s\n", t->stats[i].key, t->stats[i].n_paths,
                   t->stats[i].n_paths == 1 ? "" : "s");
    }
}

/* A collection has no files of its own: its rows are one group. */
static int info_collection(struct cli *cli, grebe_source *source)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema = { 0 };
    if (grebe_source_schema(source, &schema, &err) != GREBE_OK) {
        return out_error(cli, "info", &err);
    }
    const char **columns = cli_alloc(cli, (size_t)schema.n_children + 1, sizeof *columns);
    for (int64_t i = 0; i < schema.n_children; i++) {
        columns[i] = schema.children[i]->name;
    }
    const char *path = cli->positional[0], *format = grebe_source_format(source);
    grebe_group_info group = { .format = format, .columns = columns, .n_columns = (size_t)schema.n_children,
                               .n_rows = grebe_source_num_rows(source) };
    grebe_table_info info = { .n_rows = group.n_rows, .next_row_id = group.n_rows, .encoding = "git", .n_groups = 1,
                              .groups = &group };
    int code = 0;
    if (cli->format == GREBE_PRINT_TABLE) {
        out_printf("%s: %s, %lld rows: ", path, format, (long long)info.n_rows);
        for (size_t i = 0; i < group.n_columns; i++) {
            out_printf("%s%s", i == 0 ? "" : ", ", columns[i]);
        }
        out_printf("\n");
    } else if (cli->format == GREBE_PRINT_JSON) {
        info_json(path, format, &info);
    } else {
        code = info_rows(cli, &info);
    }
    schema.release(&schema);
    return code;
}

int cmd_info(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_source *source = NULL;
    grebe_table_info *t = NULL;
    cli->is_for_inspection = true;
    int code = ann_info(cli, cli->positional[0]);
    if (code >= 0) {
        return code;
    }
    code = open_source(cli, cli->positional[0], &source);
    if (code != 0) {
        return code;
    }
    const grebe_table *table = grebe_source_table(source);
    const char *format = grebe_source_format(source);
    if (table == NULL && grebe_source_num_rows(source) >= 0) {
        code = info_collection(cli, source);
    } else if (table == NULL) {
        err.status = GREBE_EUNSUPPORTED;
        snprintf(err.message, sizeof err.message, "%.300s: a stream of format %s tells nothing "
                 "before it is read", cli->positional[0], format);
        code = out_error(cli, "info", &err);
    } else if (grebe_table_info_get(table, &t, &err) != GREBE_OK) {
        code = out_error(cli, "info", &err);
    } else if (cli->format == GREBE_PRINT_TABLE) {
        info_text(cli->positional[0], format, t);
    } else if (cli->format == GREBE_PRINT_JSON) {
        info_json(cli->positional[0], format, t);
    } else {
        code = info_rows(cli, t);
    }
    grebe_table_info_free(t);
    grebe_source_close(source);
    return code;
}

/* ---- log ---- */

int cmd_log(struct cli *cli)
{
    static const char *const columns[] = { "version:int", "time:text",  "operation:text",
                                           "rows:int",    "groups:int", "files:int",
                                           "message:text", "writer:text", NULL };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *table = NULL;
    grebe_log *log = NULL;
    int64_t limit = 0;
    cli->is_for_inspection = true;
    int code = opt_int(cli, "limit", 0, INT64_MAX, &limit);
    code = code != 0 ? code : open_table(cli, cli->positional[0], &table);
    if (code == 0 && grebe_table_log(table, (size_t)limit, &log, &err) != GREBE_OK) {
        code = out_error(cli, "log", &err);
    }
    if (code == 0) {
        struct rows *r = rows_new(columns);
        for (size_t i = 0; i < log->n; i++) {
            const grebe_log_entry *e = &log->entries[i];
            char time[40];
            rows_int(r, e->version);
            rows_text(r, time_text(time, e->time_us));
            rows_text(r, e->operation[0] != '\0' ? e->operation : NULL);
            rows_int(r, e->n_rows < 0 ? INT64_MIN : e->n_rows);
            rows_int(r, (int64_t)e->n_groups);
            rows_int(r, (int64_t)e->n_files);
            rows_text(r, e->message[0] != '\0' ? e->message : NULL);
            rows_text(r, e->writer[0] != '\0' ? e->writer : NULL);
        }
        code = rows_print(cli, r);
    }
    grebe_log_free(log);
    grebe_table_close(table);
    return code;
}

/* ---- explain ---- */

static int explain_rows(struct cli *cli, const grebe_explain *x)
{
    static const char *const columns[] = {
        "group:int",   "path:text",       "format:text", "row_begin:int",   "row_end:int",
        "chunks:int",  "chunks_read:int", "bytes:int",   "bytes_read:int", NULL
    };
    struct rows *r = rows_new(columns);
    for (size_t i = 0; i < x->n_files; i++) {
        const grebe_explain_file *f = &x->files[i];
        rows_int(r, (int64_t)f->group);
        rows_text(r, f->path);
        rows_text(r, f->format);
        rows_int(r, f->row_begin);
        rows_int(r, f->row_end);
        rows_int(r, (int64_t)f->n_chunks);
        rows_int(r, (int64_t)f->n_chunks_read);
        rows_int(r, (int64_t)f->bytes_total);
        rows_int(r, (int64_t)f->bytes_read);
    }
    return rows_print(cli, r);
}

static void explain_json(const grebe_explain *x)
{
    out_printf("{\"where\":");
    out_json_text(x->where);
    out_printf(",\"groups\":%zu,\"groups_read\":%zu,\"chunks\":%zu,\"chunks_read\":%zu,"
               "\"rows\":%lld,\"bytes\":%llu,\"bytes_read\":%llu,\"files\":[",
               x->n_groups, x->n_groups_read, x->n_chunks, x->n_chunks_read, (long long)x->n_rows,
               (unsigned long long)x->bytes_total, (unsigned long long)x->bytes_read);
    for (size_t i = 0; i < x->n_files; i++) {
        const grebe_explain_file *f = &x->files[i];
        out_printf("%s{\"path\":", i == 0 ? "" : ",");
        out_json_text(f->path);
        out_printf(",\"format\":");
        out_json_text(f->format);
        out_printf(",\"group\":%zu,\"row_begin\":%lld,\"row_end\":%lld,\"chunks\":%zu,"
                   "\"chunks_read\":%zu,\"bytes\":%llu,\"bytes_read\":%llu}",
                   f->group, (long long)f->row_begin, (long long)f->row_end, f->n_chunks,
                   f->n_chunks_read, (unsigned long long)f->bytes_total,
                   (unsigned long long)f->bytes_read);
    }
    out_printf("]}\n");
}

int cmd_explain(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_source *source = NULL;
    grebe_explain *x = NULL;
    grebe_scan_options o;
    char total[16], read[16];
    int code = scan_options_from(cli, &o);
    code = code != 0 ? code : open_sources(cli, cli->positional, cli->n_positional, &source);
    if (code != 0) {
        return code;
    }
    const grebe_table *table = grebe_source_table(source);
    if (table == NULL) {
        err.status = GREBE_EUNSUPPORTED;
        snprintf(err.message, sizeof err.message, "%.300s: a stream is read whole, from its "
                 "beginning to its end", cli->positional[0]);
        code = out_error(cli, "explain", &err);
    } else if (grebe_table_explain(table, &o, &x, &err) != GREBE_OK) {
        code = out_error(cli, "explain", &err);
    } else if (cli->format == GREBE_PRINT_JSON) {
        explain_json(x);
    } else if (cli->format != GREBE_PRINT_TABLE) {
        code = explain_rows(cli, x);
    } else {
        if (x->where[0] != '\0') {
            out_printf("where %s\n", x->where);
        }
        out_printf("column groups  %zu of %zu\nrow groups     %zu of %zu\nrows           %lld\n"
                   "bytes          %s of %s\n",
                   x->n_groups_read, x->n_groups, x->n_chunks_read, x->n_chunks,
                   (long long)x->n_rows, size_text(read, x->bytes_read),
                   size_text(total, x->bytes_total));
        code = explain_rows(cli, x);
    }
    grebe_explain_free(x);
    grebe_source_close(source);
    return code;
}

/* ---- check ---- */

struct findings {
    struct rows *rows;
    size_t n;
};

static void add_finding(void *arg, bool is_error, const char *place, const char *message)
{
    struct findings *f = arg;
    rows_text(f->rows, is_error ? "error" : "warning");
    rows_text(f->rows, place);
    rows_text(f->rows, message);
    f->n++;
}

/* Every row, also where their number is known without. */
static grebe_status read_through(grebe_source *source, grebe_error *err)
{
    struct ArrowArrayStream rows = { 0 };
    struct ArrowArray batch = { 0 };
    grebe_status st = grebe_source_scan(source, NULL, &rows, err);
    if (st != GREBE_OK) {
        return st;
    }
    int code;
    while ((code = rows.get_next(&rows, &batch)) == 0 && batch.release != NULL) {
        batch.release(&batch);
    }
    if (code != 0) {
        grebe_stream_error(&rows, code, err);
    }
    rows.release(&rows);
    return code == 0 ? GREBE_OK : err->status;
}

int cmd_check(struct cli *cli)
{
    static const char *const columns[] = { "severity:text", "place:text", "message:text", NULL };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_check_options o = GREBE_CHECK_OPTIONS_INIT;
    grebe_source *source = NULL;
    size_t n_errors = 0;
    cli->is_for_inspection = true;
    int code = open_source(cli, cli->positional[0], &source);
    if (code != 0) {
        return code;
    }
    struct findings f = { rows_new(columns), 0 };
    o.is_deep = opt_has(cli, "deep");
    o.on_finding = add_finding;
    o.arg = &f;
    o.call = &cli->call;
    grebe_status st = GREBE_OK;
    const grebe_table *table = grebe_source_table(source);
    if (table != NULL) {
        st = grebe_table_check(table, &o, &n_errors, &err);
    } else {
        st = read_through(source, &err); /* a stream is checked by reading it */
    }
    if (st != GREBE_OK) {
        code = out_error(cli, "check", &err);
    }
    if (f.n > 0 || cli->format != GREBE_PRINT_TABLE) {
        int printed = rows_print(cli, f.rows);
        code = code != 0 ? code : printed;
    } else if (code == 0) {
        out_printf("ok\n");
        rows_drop(f.rows);
    } else {
        rows_drop(f.rows);
    }
    grebe_source_close(source);
    return code != 0 ? code : n_errors > 0 ? EXIT_CODE_CORRUPT : 0;
}
