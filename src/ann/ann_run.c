/* SPDX-License-Identifier: Apache-2.0 */
/* One index: built or opened, described, handed to the searches. */
#include "ann/ann_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "io/io.h"

static const char *const modes[] = { "knn", "range", "knn_filter", "range_filter" };

const char *ann_mode_name(enum ann_mode mode)
{
    return modes[mode];
}

grebe_status ann_mode_parse(const char *name, enum ann_mode *out, grebe_error *err)
{
    char quoted[64];
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i], name) == 0) {
            *out = (enum ann_mode)i;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "search mode: expected knn, range, knn_filter or range_filter, found \"%s\"",
                      error_quote(quoted, sizeof quoted, name, strlen(name)));
}

grebe_status ann_index_parse(struct arena *words, const char *text, grebe_ann_index_kind *kind, const char ***params,
                             size_t *n_params, grebe_error *err)
{
    static const char gaps[] = " \t\r\n";
    size_t most = strlen(text) / 2 + 1;
    *n_params = 0;
    *params = arena_array(words, most, sizeof **params);
    const char *p = text + strspn(text, gaps);
    char *name = arena_str(words, p, strcspn(p, gaps));
    if (*params == NULL || name == NULL) {
        return mem_fail(err, most, text);
    }
    grebe_status st = grebe_ann_index_kind_parse(name, kind, err);
    for (p += strlen(name); st == GREBE_OK;) {
        p += strspn(p, gaps);
        size_t n = strcspn(p, gaps);
        if (n == 0) {
            break;
        }
        char *word = arena_str(words, p, n);
        if (word == NULL) {
            return mem_fail(err, n, text);
        }
        (*params)[(*n_params)++] = word;
        p += n;
    }
    return st;
}

/* ---- names ---- */

static grebe_status join(struct buf *b, const char *first, const char *const *params, size_t n, grebe_error *err)
{
    grebe_status st = buf_put_text(b, first, err);
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        st = b->len > 0 ? buf_put_byte(b, ' ', err) : GREBE_OK;
        st = st == GREBE_OK ? buf_put_text(b, params[i], err) : st;
    }
    return st;
}

/* Parameters as an object: {"kind":"graph","M":"16"} with numbers as numbers. */
static grebe_status params_json(struct buf *b, const struct ann_job *job, grebe_error *err)
{
    struct json_writer w;
    double v = 0;
    json_begin(&w, b, 0, err);
    json_open_object(&w);
    json_key(&w, "kind");
    json_text(&w, grebe_ann_index_kind_name(job->kind));
    for (size_t i = 0; i < job->n_params; i++) {
        const char *equals = strchr(job->params[i], '=');
        if (equals == NULL) {
            continue;
        }
        json_key_len(&w, job->params[i], (size_t)(equals - job->params[i]));
        if (number_parse_double(equals + 1, strlen(equals + 1), &v) && isfinite(v) && v == floor(v) && fabs(v) < 1e15) {
            json_int(&w, (int64_t)v);
        } else if (number_parse_double(equals + 1, strlen(equals + 1), &v) && isfinite(v)) {
            json_real(&w, v);
        } else {
            json_text(&w, equals + 1);
        }
    }
    json_close_object(&w);
    return json_end(&w);
}

static grebe_status name_case(struct ann_report *r, struct ann_case *c, const struct ann_job *job,
                              const struct ann_search_spec *spec, grebe_error *err)
{
    struct buf text = BUF_INIT(r->ctx->a);
    grebe_status st = GREBE_OK;
    GREBE_TRY(join(&text, grebe_ann_index_kind_name(job->kind), job->params, job->n_params, err));
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_SERIES, job->series != NULL ? job->series : buf_text(&text), err));
    if (spec != NULL && spec->n_params > 0) {
        GREBE_TRY(join(&text, "", spec->params, spec->n_params, err));
    }
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_NAME, job->name != NULL ? job->name : buf_text(&text), err));
    buf_clear(&text);
    if (spec != NULL) {
        GREBE_TRY(join(&text, "", spec->params, spec->n_params, err));
        GREBE_TRY(ann_report_text(r, c, ANN_TEXT_SEARCH_PARAM, spec->text != NULL ? spec->text : buf_text(&text), err));
    }
    buf_clear(&text);
    GREBE_TRY(params_json(&text, job, err));
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_INDEX_INFO, job->index_info != NULL ? job->index_info : buf_text(&text), err));
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_INDEX,
                              job->index_name != NULL ? job->index_name : grebe_ann_index_kind_name(job->kind), err));
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_ACTION,
                              !job->has_build ? "search" : spec == NULL ? "build" : "build,search", err));
out:
    buf_release(&text);
    return st;
}

/* ---- building ---- */

struct built {
    grebe_ann_index *index;
    double seconds, cpu, file_bytes, memory;
    uint32_t threads;
    grebe_ann_index_stats stats;
};

/* Growth since `before`, by what is there now or by a new peak; what was handed back meanwhile makes no negative. */
static double growth(uint64_t before, uint64_t peak_before)
{
    uint64_t now = 0, peak = 0;
    ann_memory(&now, &peak);
    uint64_t most = peak > peak_before && peak > now ? peak : now;
    return before == 0 ? NAN : most > before ? (double)(most - before) : 0;
}

static grebe_status build(struct ann_dataset *d, const struct ann_job *job, const struct ann_run_options *o,
                          struct built *out, grebe_error *err)
{
    grebe_vectors rows = GREBE_VECTORS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_metric metric = GREBE_METRIC_L2;
    uint64_t before = 0, peak = 0;
    grebe_status st = GREBE_OK;
    call.threads = o->build_threads;
    call.memory_limit_bytes = o->call->memory_limit_bytes == UINT64_MAX ? 0 : o->call->memory_limit_bytes;
    call.progress = o->call->progress;
    call.progress_ctx = o->call->progress_ctx;
    memcpy(&call.cancel, &o->call->cancel, sizeof call.cancel);
    GREBE_TRY(grebe_metric_parse(d->distance, &metric, err));
    GREBE_TRY(ann_side_vectors(d, &d->train, 0, d->train.n, &rows, err));
    ann_memory(&before, &peak);
    double t = ann_seconds(), cpu = ann_cpu_seconds();
    GREBE_TRY(grebe_ann_index_new(d->ctx, job->kind, metric, rows.elem, job->params, job->n_params, o->build_threads,
                              &out->index, err));
    GREBE_TRY(grebe_ann_index_add(out->index, &rows, NULL, &call, err));
    out->seconds = ann_seconds() - t;
    out->cpu = ann_cpu_seconds() - cpu;
    out->memory = growth(before, peak);
out:
    return st;
}

static grebe_status open_saved(struct ann_dataset *d, const struct ann_job *job, struct built *out, grebe_error *err)
{
    grebe_metric metric = GREBE_METRIC_L2;
    grebe_status st = GREBE_OK;
    GREBE_TRY(grebe_metric_parse(d->distance, &metric, err));
    GREBE_TRY(grebe_ann_index_open(d->ctx, job->open_path, false, &out->index, err));
    GREBE_TRY(grebe_ann_index_get_stats(out->index, &out->stats, err));
    if (out->stats.metric != metric || out->stats.rows + out->stats.removed != d->train.n) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected an index of %llu rows by %s, found %llu rows by %s", job->open_path,
                        (unsigned long long)d->train.n, d->distance, (unsigned long long)out->stats.rows,
                        grebe_metric_name(out->stats.metric));
    }
out:
    return st;
}

static grebe_status save(struct ann_dataset *d, const char *path, struct built *b, grebe_error *err)
{
    struct io_store *store = NULL;
    struct io_info info;
    char *folder = NULL;
    grebe_status st = GREBE_OK;
    const char *slash = strrchr(path, '/');
    GREBE_TRY(io_local_new(d->ctx, &store, err));
    if (slash != NULL && slash != path) {
        folder = str_copy_len(d->ctx->a, path, (size_t)(slash - path));
        GREBE_TRY(folder == NULL ? mem_fail(err, (size_t)(slash - path), path) : GREBE_OK);
        GREBE_TRY(io_make_folders(store, folder, false, err));
    }
    GREBE_TRY(grebe_ann_index_save(b->index, path, false, err));
    GREBE_TRY(io_stat(store, path, &info, err));
    b->file_bytes = (double)info.id.size_bytes;
out:
    str_free(d->ctx->a, folder);
    io_store_free(store);
    return st;
}

static void set_built(struct ann_case *c, const struct ann_job *job, const struct ann_run_options *o, const struct built *b,
                      uint64_t rows)
{
    if (job->has_build) {
        c->number[ANN_BUILD_SECONDS] = b->seconds;
        c->number[ANN_BUILD_CPU_SECONDS] = b->cpu;
        c->number[ANN_TPS] = b->seconds > 0 ? (double)rows / b->seconds : NAN;
        c->number[ANN_BUILD_MEMORY] = b->memory;
        c->number[ANN_BUILD_THREADS] = b->threads;
    }
    c->number[ANN_SEARCH_THREADS] = o->search_threads == 0 ? 1 : o->search_threads;
    c->number[ANN_FILE_BYTES] = b->file_bytes;
    c->number[ANN_VECTOR_BYTES] = (double)b->stats.bytes_vectors;
    c->number[ANN_CODE_BYTES] = (double)b->stats.bytes_codes;
    c->number[ANN_LINK_BYTES] = (double)b->stats.bytes_links;
    c->number[ANN_OTHER_BYTES] = (double)b->stats.bytes_other;
    c->number[ANN_INDEX_BYTES] = (double)(b->stats.bytes_vectors + b->stats.bytes_codes + b->stats.bytes_links +
                                          b->stats.bytes_other);
}

static grebe_status add_case(struct ann_dataset *d, const struct ann_job *job, const struct ann_search_spec *spec,
                             const struct ann_run_options *o, const struct built *b, struct ann_report *report,
                             struct ann_case **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(ann_report_add(report, out, err));
    GREBE_TRY(name_case(report, *out, job, spec, err));
    GREBE_TRY(ann_eval_describe(report, *out, d, err));
    set_built(*out, job, o, b, d->train.n);
out:
    return st;
}

grebe_status ann_run_job(struct ann_dataset *d, const struct ann_job *job, const struct ann_run_options *o,
                         struct ann_report *report, grebe_error *err)
{
    struct built b = { NULL, NAN, NAN, NAN, NAN, o->build_threads != 0 ? o->build_threads : grebe_context_threads(d->ctx),
                       GREBE_ANN_INDEX_STATS_INIT };
    struct ann_searcher s = { 0 };
    struct ann_case *c = NULL;
    grebe_status st = GREBE_OK;
    size_t done = report->n;
    GREBE_TRY(job->has_build ? build(d, job, o, &b, err) : open_saved(d, job, &b, err));
    GREBE_TRY(grebe_ann_index_get_stats(b.index, &b.stats, err));
    if (job->save_path != NULL) {
        GREBE_TRY(save(d, job->save_path, &b, err));
    }
    if (job->n_searches == 0) {
        GREBE_TRY(add_case(d, job, NULL, o, &b, report, &c, err));
        done = report->n;
        goto out;
    }
    s.index = b.index;
    GREBE_TRY(ann_searcher_open(&s, d, o, err));
    for (size_t i = 0; i < job->n_searches; i++) {
        GREBE_TRY(add_case(d, job, &job->searches[i], o, &b, report, &c, err));
        GREBE_TRY(ann_searcher_measure(&s, &job->searches[i], report, c, err));
        done = report->n;
    }
out:
    report->n = done;
    ann_searcher_close(&s);
    grebe_ann_index_close(b.index);
    return st;
}
