/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe graph check`, `preprocess`, `verify`. */
#include <stdio.h>
#include <string.h>

#include "graph.h"
#include "opt.h"
#include "out.h"
#include "rows.h"

/* ---- problems ---- */

static const char *const columns_of_problems[] = { "level:text", "file:text",    "line:int", "column:int",
                                                   "field:text", "message:text", NULL };

struct problems {
    struct cli *cli;
    struct rows *rows; /* NULL: to standard error */
    size_t n;
};

static void tell(void *arg, const grebe_graph_problem *p)
{
    struct problems *all = arg;
    all->n++;
    if (all->rows != NULL) {
        rows_text(all->rows, p->is_error ? "error" : "warning");
        rows_text(all->rows, p->file);
        rows_int(all->rows, p->line > 0 ? (int64_t)p->line : INT64_MIN);
        rows_int(all->rows, p->column > 0 ? (int64_t)p->column : INT64_MIN);
        rows_text(all->rows, p->field[0] != '\0' ? p->field : NULL);
        rows_text(all->rows, p->message);
        return;
    }
    char place[64] = "";
    if (p->line > 0) {
        snprintf(place, sizeof place, ":%llu:%llu", (unsigned long long)p->line, (unsigned long long)p->column);
    }
    if (p->is_error || !all->cli->is_quiet) {
        fprintf(stderr, "%s%s: %s%s%s%s\n", p->file, place, p->is_error ? "" : "warning: ", p->field,
                p->field[0] != '\0' ? ": " : "", p->message);
    }
}

/* Text goes to standard error, line by line; other forms are rows on standard output. */
static void problems_begin(struct problems *p, struct cli *cli)
{
    *p = (struct problems){ .cli = cli };
    bool is_text = cli->format == GREBE_PRINT_TABLE;
    p->rows = is_text ? NULL : rows_new(columns_of_problems);
}

static void problems_drop(struct problems *p)
{
    if (p->rows != NULL) {
        rows_drop(p->rows);
    }
}

static int problems_end(struct problems *p, size_t n_errors)
{
    int code = p->rows != NULL ? rows_print(p->cli, p->rows) : 0;
    if (p->rows == NULL && n_errors == 0) {
        out_note(p->cli, "no errors%s", p->n > 0 ? ", see the warnings" : "");
    }
    return code != 0 ? code : n_errors > 0 ? EXIT_CODE_CORRUPT : 0;
}

static int graph_options(struct cli *cli, grebe_graph_options *o)
{
    const char *separator = opt_get(cli, "csv-sep");
    o->is_strict = opt_has(cli, "strict");
    o->allow_row_mismatch = opt_has(cli, "allow-row-mismatch");
    o->csv_has_header = opt_has(cli, "csv-header");
    o->call = &cli->call;
    if (separator != NULL) {
        bool is_tab = strcmp(separator, "\\t") == 0 || strcmp(separator, "tab") == 0;
        if (!is_tab && strlen(separator) != 1) {
            return out_usage(cli, "--csv-sep: expected one character, found %s", separator);
        }
        o->csv_separator = is_tab ? '\t' : separator[0];
    }
    return 0;
}

int cmd_graph_check(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    struct problems problems;
    size_t n_errors = 0;
    int code = graph_options(cli, &o);
    if (code != 0) {
        return code;
    }
    o.is_deep = opt_has(cli, "deep");
    problems_begin(&problems, cli);
    o.on_problem = tell;
    o.problem_arg = &problems;
    if (grebe_graph_check(cli->ctx, cli->positional[0], &o, &n_errors, &err) != GREBE_OK) {
        problems_drop(&problems);
        return out_error(cli, cli->cmd->name, &err);
    }
    return problems_end(&problems, n_errors);
}

int cmd_graph_preprocess(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph_made made;
    struct problems problems = { .cli = cli };
    int code = graph_options(cli, &o);
    code = code != 0 ? code : opt_durable(cli, &o.is_durable); /* off: what was preprocessed can be made again */
    if (code != 0) {
        return code;
    }
    if (opt_has(cli, "force") && opt_has(cli, "keep")) {
        return out_usage(cli, "--force, --keep: one of them at most");
    }
    o.out = opt_get(cli, "out");
    o.edge_ids = opt_has(cli, "no-original-edge-id") ? GREBE_GRAPH_EDGE_IDS_DROPPED : GREBE_GRAPH_EDGE_IDS_KEPT;
    o.without_cast = opt_has(cli, "no-cast");
    o.keep_attribute_order = opt_has(cli, "dgl-edge-attr-order");
    o.force = opt_has(cli, "force")  ? GREBE_GRAPH_ALWAYS
              : opt_has(cli, "keep") ? GREBE_GRAPH_NEVER
                                     : GREBE_GRAPH_IF_CHANGED;
    o.on_problem = tell;
    o.problem_arg = &problems;
    if (grebe_graph_preprocess(cli->ctx, cli->positional[0], &o, &made, &err) != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    out_note(cli, "%s: %s", made.is_reused ? "already preprocessed" : "preprocessed", made.reason);
    out_printf("%s/preprocessed\n", o.out != NULL ? o.out : cli->positional[0]);
    return 0;
}

int cmd_graph_verify(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph *g = NULL;
    struct problems problems;
    size_t n_errors = 0;
    if (grebe_graph_open(cli->ctx, cli->positional[0], &g, &err) != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    problems_begin(&problems, cli);
    o.allow_row_mismatch = opt_has(cli, "allow-row-mismatch");
    o.on_problem = tell;
    o.call = &cli->call;
    o.problem_arg = &problems;
    grebe_status st = grebe_graph_verify(g, &o, &n_errors, &err);
    grebe_graph_close(g);
    if (st != GREBE_OK) {
        problems_drop(&problems);
        return out_error(cli, cli->cmd->name, &err);
    }
    return problems_end(&problems, n_errors);
}
