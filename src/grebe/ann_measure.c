/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of measurement. */
#include "grebe/ann_measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ann/ann_eval.h"
#include "ann/ann_plot.h"
#include "ann/ann_run.h"
#include "ann/ann_suite.h"
#include "base/checked.h"
#include "grebe/ann_data.h"
#include "io/io.h"

struct grebe_ann_report {
    struct ann_report r;
};

enum { DEFAULT_K = 10 };
#define REPORT_BYTES_MAX ((uint64_t)256 << 20)

/* ---- reports ---- */

grebe_status grebe_ann_report_new(grebe_context *ctx, grebe_ann_report **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && out != NULL);
    *out = mem_alloc_zero(ctx->a, sizeof **out);
    if (*out == NULL) {
        return mem_fail(err, sizeof **out, "a report");
    }
    ann_report_init(&(*out)->r, ctx);
    return GREBE_OK;
}

void grebe_ann_report_free(grebe_ann_report *report)
{
    if (report != NULL) {
        const grebe_allocator *a = report->r.ctx->a;
        ann_report_release(&report->r);
        mem_free(a, report, sizeof *report);
    }
}

grebe_status grebe_ann_report_load(grebe_ann_report *report, const char *path, grebe_error *err)
{
    GREBE_CHECK_ARG(err, report != NULL && path != NULL);
    struct io_store *store = NULL;
    struct region *text = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(io_local_new(report->r.ctx, &store, err));
    GREBE_TRY(io_read_all(store, path, REPORT_BYTES_MAX, &text, NULL, err));
    st = ann_report_parse(&report->r, (const char *)text->data, text->len, err);
    st = st == GREBE_OK ? st : error_wrap(err, st, "%s", path);
out:
    region_drop(text);
    io_store_free(store);
    return st;
}

uint64_t grebe_ann_report_count(const grebe_ann_report *report)
{
    return report->r.n;
}

const char *grebe_ann_report_name(const grebe_ann_report *report, uint64_t i)
{
    return i < report->r.n ? report->r.cases[i].text[ANN_TEXT_NAME] : NULL;
}

double grebe_ann_report_number(const grebe_ann_report *report, uint64_t i, const char *key)
{
    const double *v = i < report->r.n ? ann_case_number(&report->r.cases[i], key) : NULL;
    return v == NULL ? NAN : *v;
}

static grebe_status give(const struct buf *text, grebe_write_fn write, void *write_ctx, grebe_error *err)
{
    int failed = text->len == 0 ? 0 : write(write_ctx, text->data, text->len);
    return failed == 0 ? GREBE_OK : GREBE_FAIL_SYS(err, GREBE_EIO, failed, "cannot write the report");
}

static grebe_status print_report(const grebe_ann_report *report, const char *form, struct buf *text, grebe_error *err)
{
    enum ann_form which = ANN_FORM_TABLE;
    grebe_status st = ann_form_parse(form, &which, err);
    return st == GREBE_OK ? ann_report_print(&report->r, which, context_now_us(report->r.ctx) * 1000, text, err) : st;
}

grebe_status grebe_ann_report_print(const grebe_ann_report *report, const char *form, grebe_write_fn write, void *write_ctx,
                                    grebe_error *err)
{
    GREBE_CHECK_ARG(err, report != NULL && form != NULL && write != NULL);
    struct buf text = BUF_INIT(report->r.ctx->a);
    grebe_status st = print_report(report, form, &text, err);
    st = st == GREBE_OK ? give(&text, write, write_ctx, err) : st;
    buf_release(&text);
    return st;
}

grebe_status grebe_ann_sink_check(const char *form, const char *sink, grebe_error *err)
{
    GREBE_CHECK_ARG(err, form != NULL && sink != NULL);
    enum ann_form which = ANN_FORM_TABLE;
    const char *path = NULL;
    bool is_append = false;
    grebe_status st = ann_form_parse(form, &which, err);
    return st == GREBE_OK ? ann_sink_parse(sink, &path, &is_append, err) : st;
}

grebe_status grebe_ann_report_send(const grebe_ann_report *report, const char *form, const char *sink, grebe_write_fn write,
                                   void *write_ctx, grebe_error *err)
{
    GREBE_CHECK_ARG(err, report != NULL && form != NULL && sink != NULL);
    struct buf text = BUF_INIT(report->r.ctx->a);
    const char *path = NULL;
    bool is_append = false;
    grebe_status st = ann_sink_parse(sink, &path, &is_append, err);
    st = st == GREBE_OK && path == NULL && write == NULL
             ? GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a function that writes to standard output", __func__) : st;
    st = st == GREBE_OK ? print_report(report, form, &text, err) : st;
    if (st == GREBE_OK) {
        st = path == NULL ? give(&text, write, write_ctx, err)
                          : ann_sink_write(report->r.ctx, path, is_append, text.data, text.len, err);
    }
    buf_release(&text);
    return st;
}

grebe_status grebe_ann_report_plot(const grebe_ann_report *report, const grebe_ann_plot_options *options,
                                   grebe_write_fn write, void *write_ctx, grebe_error *err)
{
    GREBE_CHECK_ARG(err, report != NULL && write != NULL);
    struct buf text = BUF_INIT(report->r.ctx->a);
    grebe_ann_plot_options o = GREBE_ANN_PLOT_OPTIONS_INIT;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    struct ann_plot plot = { o.x, o.y, o.x_scale, o.y_scale, o.title, o.is_html, o.is_all, o.is_bars };
    st = st == GREBE_OK ? ann_plot(&report->r, &plot, &text, err) : st;
    st = st == GREBE_OK ? give(&text, write, write_ctx, err) : st;
    buf_release(&text);
    return st;
}

/* ---- evaluation ---- */

static grebe_status eval_options(grebe_context *ctx, const grebe_ann_eval_options *given, uint64_t truth_k,
                                 grebe_ann_eval_options *o, struct call *call, struct ann_eval_options *out,
                                 grebe_error *err)
{
    *o = (grebe_ann_eval_options)GREBE_ANN_EVAL_OPTIONS_INIT;
    grebe_status st = options_copy(o, sizeof *o, given, err);
    *call = call_options_resolve(ctx, st == GREBE_OK ? o->call : NULL);
    *out = (struct ann_eval_options){ o->k != 0 ? o->k : min_u64(DEFAULT_K, truth_k), ANN_RULE_TIES, call, o->per_query };
    return st == GREBE_OK && o->rule != NULL ? ann_rule_parse(o->rule, &out->rule, err) : st;
}

grebe_status grebe_ann_evaluate(grebe_context *ctx, const grebe_ann_content *content, const grebe_ann_found *found,
                                const grebe_ann_eval_options *options, grebe_ann_report *report, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && content != NULL && found != NULL && report != NULL);
    struct ann_dataset d;
    struct call call;
    grebe_ann_eval_options o;
    struct ann_eval_options eval;
    grebe_ann_found f = GREBE_ANN_FOUND_INIT;
    struct ann_result result;
    grebe_status st = options_copy(&f, sizeof f, found, err);
    GREBE_TRY(st);
    GREBE_CHECK_ARG(err, content->neighbors != NULL && f.ids != NULL);
    GREBE_TRY(ann_data_of_content(ctx, content, &d, err));
    GREBE_TRY(eval_options(ctx, options, d.k, &o, &call, &eval, err));
    ann_result_init(&result, ctx);
    result.n = f.n;
    result.width = f.width;
    memcpy(&result.ids, &f.ids, sizeof f.ids); /* only read */
    memcpy(&result.distances, &f.distances, sizeof f.distances);
    memcpy(&result.times, &f.seconds, sizeof f.seconds);
    st = ann_eval_result(&report->r, &d, o.name != NULL ? o.name : "results", &result, &eval, err);
out:
    return st;
}

grebe_status grebe_ann_evaluate_file(grebe_context *ctx, grebe_ann_data *data, const char *results_path,
                                     const grebe_ann_eval_options *options, grebe_ann_report *report, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && data != NULL && results_path != NULL && report != NULL);
    const struct ann_dataset *d = ann_data_get(data);
    struct call call;
    grebe_ann_eval_options o;
    struct ann_eval_options eval;
    struct ann_result result;
    const char *slash = strrchr(results_path, '/');
    ann_result_init(&result, ctx);
    grebe_status st = eval_options(ctx, options, d->k, &o, &call, &eval, err);
    GREBE_TRY(st);
    if (o.per_query != NULL) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "per_query: expected NULL, the number of queries is the file's");
        goto out;
    }
    GREBE_TRY(ann_result_read(ctx, results_path, &call, &result, err));
    st = ann_eval_result(&report->r, d, o.name != NULL ? o.name : slash != NULL ? slash + 1 : results_path, &result, &eval,
                         err);
    st = st == GREBE_OK ? st : error_wrap(err, st, "%s", results_path);
out:
    ann_result_release(&result);
    return st;
}

/* ---- running ---- */

static grebe_status run_options(grebe_context *ctx, const grebe_ann_run_options *given, grebe_ann_run_options *o,
                                struct call *call, struct ann_run_options *out, grebe_error *err)
{
    *o = (grebe_ann_run_options)GREBE_ANN_RUN_OPTIONS_INIT;
    grebe_status st = options_copy(o, sizeof *o, given, err);
    GREBE_TRY(st);
    *call = call_options_resolve(ctx, o->call);
    *out = (struct ann_run_options){ .k = o->k, .range = o->range, .n_queries = o->n_queries,
                                     .search_threads = o->search_threads, .build_threads = o->build_threads,
                                     .runs = o->runs, .is_without_warmup = o->is_without_warmup, .is_batch = o->is_batch,
                                     .results_path = o->results_path, .call = call };
    GREBE_TRY(o->mode == NULL ? GREBE_OK : ann_mode_parse(o->mode, &out->mode, err));
    GREBE_TRY(o->rule == NULL ? GREBE_OK : ann_rule_parse(o->rule, &out->rule, err));
out:
    return st;
}

grebe_status grebe_ann_run(grebe_context *ctx, grebe_ann_data *data, const grebe_ann_run_options *options,
                           grebe_ann_report *report, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && data != NULL && report != NULL);
    struct ann_dataset *d = ann_data_get(data);
    grebe_ann_run_options o;
    struct call call;
    struct ann_run_options run;
    grebe_status st = run_options(ctx, options, &o, &call, &run, err);
    if (st != GREBE_OK) {
        return st;
    }
    run.k = run.k != 0 ? run.k : min_u64(DEFAULT_K, d->k);
    return ann_run_indexes(d, o.indexes, o.n_indexes, o.sweeps, o.n_sweeps, o.save_folder, &run, &report->r, err);
}

grebe_status grebe_ann_run_suite(grebe_context *ctx, const char *path, const grebe_ann_run_options *options,
                                 grebe_ann_report *report, grebe_write_fn write, void *write_ctx, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && report != NULL && write != NULL);
    grebe_ann_run_options o;
    struct call call;
    struct ann_run_options run;
    struct ann_suite suite;
    ann_suite_init(&suite, ctx);
    grebe_status st = run_options(ctx, options, &o, &call, &run, err);
    GREBE_TRY(st);
    GREBE_TRY(ann_suite_read(&suite, path, err));
    st = ann_suite_run(&suite, &run, &report->r, err);
    for (size_t i = 0; st == GREBE_OK && i < suite.n_exports; i++) {
        st = grebe_ann_report_send(report, suite.exports[i].form, suite.exports[i].sink, write, write_ctx, err);
    }
out:
    ann_suite_release(&suite);
    return st;
}
