/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe ann run`, `eval` and `plot`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ann.h"
#include "opt.h"
#include "out.h"
#include "picture.h"

/* ---- reports ---- */

/* "json:file://x.json": form and sink. Exit code. */
static int split_export(struct cli *cli, const char *text, const char **form, const char **sink)
{
    grebe_error err = GREBE_ERROR_INIT;
    const char *colon = strchr(text, ':');
    if (colon == NULL) {
        return out_usage(cli, "--export: expected FORM:SINK, such as json:file://results.json, found \"%s\"", text);
    }
    char *copy = cli_copy(cli, text);
    copy[colon - text] = '\0';
    *form = copy;
    *sink = copy + (colon - text) + 1;
    return grebe_ann_sink_check(*form, *sink, &err) == GREBE_OK ? 0 : out_error(cli, "ann", &err);
}

/* Everything that is wrong with where results go is found before anything is run. */
static int check_exports(struct cli *cli)
{
    const char *form, *sink;
    if (cli->format != GREBE_PRINT_TABLE && cli->format != GREBE_PRINT_JSON) {
        return out_usage(cli, "--format: expected table or json here; --export has line_protocol");
    }
    for (size_t i = 0; opt_nth(cli, "export", i) != NULL; i++) {
        int code = split_export(cli, opt_nth(cli, "export", i), &form, &sink);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

/* To --out, to each --export, and to standard output where neither takes it. */
static int give_report(struct cli *cli, const char *what, const grebe_ann_report *report)
{
    grebe_error err = GREBE_ERROR_INIT;
    const char *path = opt_get(cli, "out"), *form, *sink;
    grebe_status st = GREBE_OK;
    if (path != NULL) {
        char *to = cli_alloc(cli, strlen(path) + 8, 1);
        snprintf(to, strlen(path) + 8, "file://%s", path);
        st = grebe_ann_report_send(report, "json", to, out_write, cli, &err);
    }
    for (size_t i = 0; st == GREBE_OK && opt_nth(cli, "export", i) != NULL; i++) {
        int code = split_export(cli, opt_nth(cli, "export", i), &form, &sink);
        if (code != 0) {
            return code;
        }
        st = grebe_ann_report_send(report, form, sink, out_write, cli, &err);
    }
    if (st == GREBE_OK && opt_nth(cli, "export", 0) == NULL && !(cli->is_quiet && path != NULL)) {
        st = grebe_ann_report_print(report, cli->format == GREBE_PRINT_JSON ? "json" : "table", out_write, cli, &err);
    }
    return st == GREBE_OK || cli->is_pipe_closed ? 0 : out_error(cli, what, &err);
}

static const char **all_values(struct cli *cli, const char *name, size_t *n)
{
    *n = 0;
    while (opt_nth(cli, name, *n) != NULL) {
        (*n)++;
    }
    const char **values = cli_alloc(cli, *n + 1, sizeof *values);
    for (size_t i = 0; i < *n; i++) {
        values[i] = opt_nth(cli, name, i);
    }
    return values;
}

/* ---- run ---- */

static int count_option(struct cli *cli, const char *name, int64_t max, uint64_t *out)
{
    int64_t v = 0;
    int code = opt_int(cli, name, 1, max, &v);
    if (code == 0 && v > 0) {
        *out = (uint64_t)v;
    }
    return code;
}

static int run_options(struct cli *cli, grebe_ann_run_options *o)
{
    uint64_t threads = 1, runs = 1;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t building = cores > 0 ? (uint64_t)cores : 1;
    const char *range = opt_get(cli, "range");
    char *end = NULL;
    int code = check_exports(cli);
    code = code == 0 ? count_option(cli, "threads", 1024, &threads) : code;
    code = code == 0 ? count_option(cli, "build-threads", 1024, &building) : code;
    code = code == 0 ? count_option(cli, "runs", 1000, &runs) : code;
    code = code == 0 ? count_option(cli, "k", INT32_MAX, &o->k) : code;
    code = code == 0 ? count_option(cli, "queries", INT64_MAX, &o->n_queries) : code;
    if (code == 0 && range != NULL) {
        o->range = strtod(range, &end);
        if (end == range || *end != '\0' || !isfinite(o->range)) {
            code = out_usage(cli, "--range: expected a radius, found \"%s\"", range);
        }
    }
    o->mode = opt_get(cli, "mode");
    if (code == 0 && range == NULL && o->mode != NULL && strncmp(o->mode, "range", 5) == 0) {
        code = out_usage(cli, "--mode %s: expected --range with a radius", o->mode);
    }
    o->search_threads = (uint32_t)threads;
    o->build_threads = (uint32_t)building;
    o->runs = (uint32_t)runs;
    o->rule = opt_get(cli, "recall");
    o->is_without_warmup = opt_has(cli, "no-warmup");
    o->is_batch = opt_has(cli, "batch");
    o->save_folder = opt_get(cli, "save");
    o->results_path = opt_get(cli, "results");
    o->call = &cli->call;
    o->indexes = all_values(cli, "index", &o->n_indexes);
    o->sweeps = all_values(cli, "sweep", &o->n_sweeps);
    return code;
}

static bool is_yaml(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static grebe_status run_data(struct cli *cli, const grebe_ann_run_options *o, grebe_ann_report *report, grebe_error *err)
{
    grebe_ann_data *data = NULL;
    grebe_ann_read_options read = GREBE_ANN_READ_OPTIONS_INIT;
    read.allow_padding = true;
    read.call = &cli->call;
    grebe_status st = grebe_ann_open(cli->ctx, cli->positional[0], &read, &data, err);
    st = st == GREBE_OK ? grebe_ann_run(cli->ctx, data, o, report, err) : st;
    grebe_ann_close(data);
    return st;
}

int cmd_ann_run(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_run_options o = GREBE_ANN_RUN_OPTIONS_INIT;
    grebe_ann_report *report = NULL;
    bool is_suite = is_yaml(cli->positional[0]);
    int code = run_options(cli, &o);
    if (code == 0 && is_suite != (o.n_indexes == 0)) {
        code = out_usage(cli, is_suite ? "a YAML file has indexes of its own" : "--index: expected at least one");
    }
    if (code != 0) {
        return code;
    }
    grebe_status st = grebe_ann_report_new(cli->ctx, &report, &err);
    if (st == GREBE_OK) {
        st = is_suite ? grebe_ann_run_suite(cli->ctx, cli->positional[0], &o, report, out_write, cli, &err)
                      : run_data(cli, &o, report, &err);
    }
    /* What was measured before a failure is not lost; a suite has told its results where it says. */
    if (grebe_ann_report_count(report) > 0 && (!is_suite || opt_has(cli, "out") || opt_has(cli, "export"))) {
        cli->is_quiet = cli->is_quiet || is_suite;
        code = give_report(cli, "ann run", report);
    }
    grebe_ann_report_free(report);
    return st == GREBE_OK ? code : out_error(cli, "ann run", &err);
}

/* ---- eval ---- */

int cmd_ann_eval(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_read_options read = GREBE_ANN_READ_OPTIONS_INIT;
    grebe_ann_eval_options o = GREBE_ANN_EVAL_OPTIONS_INIT;
    grebe_ann_data *data = NULL;
    grebe_ann_report *report = NULL;
    int code = check_exports(cli);
    code = code == 0 ? count_option(cli, "k", INT32_MAX, &o.k) : code;
    if (code != 0) {
        return code;
    }
    o.rule = opt_get(cli, "recall");
    o.call = &cli->call;
    read.allow_padding = true;
    read.call = &cli->call;
    grebe_status st = grebe_ann_report_new(cli->ctx, &report, &err);
    st = st == GREBE_OK ? grebe_ann_open(cli->ctx, cli->positional[0], &read, &data, &err) : st;
    for (size_t i = 1; st == GREBE_OK && i < cli->n_positional; i++) {
        st = grebe_ann_evaluate_file(cli->ctx, data, cli->positional[i], &o, report, &err);
    }
    code = st == GREBE_OK ? give_report(cli, "ann eval", report) : out_error(cli, "ann eval", &err);
    grebe_ann_report_free(report);
    grebe_ann_close(data);
    return code;
}

/* ---- plot ---- */

int cmd_ann_plot(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_plot_options o = GREBE_ANN_PLOT_OPTIONS_INIT;
    grebe_ann_report *report = NULL;
    struct picture p = { NULL, 0, 0 };
    const char *path = opt_get(cli, "out");
    int code = picture_kind(cli, "out", &o.is_html);
    if (code != 0) {
        return code;
    }
    o.x = opt_get(cli, "x");
    o.y = opt_get(cli, "y");
    o.x_scale = opt_get(cli, "x-scale");
    o.y_scale = opt_get(cli, "y-scale");
    o.title = opt_get(cli, "title");
    o.is_all = opt_has(cli, "all");
    o.is_bars = opt_has(cli, "bars");
    grebe_status st = grebe_ann_report_new(cli->ctx, &report, &err);
    for (size_t i = 0; st == GREBE_OK && i < cli->n_positional; i++) {
        st = grebe_ann_report_load(report, cli->positional[i], &err);
    }
    st = st == GREBE_OK ? grebe_ann_report_plot(report, &o, picture_take, &p, &err) : st;
    if (st != GREBE_OK) {
        code = out_error(cli, "ann plot", &err);
    } else if (path != NULL) {
        code = picture_write(cli, path, &p);
    } else {
        out_write(cli, p.bytes, p.len);
    }
    picture_drop(&p);
    grebe_ann_report_free(report);
    return code;
}
