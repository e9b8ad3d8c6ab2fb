/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the queries. */
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ann/ann_run.h"
#include "base/checked.h"
#include "base/pool.h"

/* One pass: lanes take query after query. */
struct pass {
    struct ann_searcher *s;
    const struct ann_search_spec *spec;
    atomic_uint_fast64_t next;
    uint64_t n;                /* queries */
    double *seconds;           /* shape [n]; NULL: not timed */
    int64_t *ids;              /* shape [n_distinct][k] */
    float *distances;
    grebe_ann_index_range *ranges; /* shape [n_distinct]; NULL: not kept */
};

static grebe_ann_index_search_options search_options(const struct pass *p, uint32_t threads)
{
    grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    o.params = p->spec->params;
    o.n_params = p->spec->n_params;
    o.call.threads = threads;
    return o;
}

/* What a lane finds when it asks a query again: the first answer is kept, and two lanes never write to one place. */
struct scratch {
    int64_t *ids;
    float *distances;
};

static grebe_status ask(struct pass *p, uint64_t i, const struct scratch *again, grebe_error *err)
{
    const struct ann_searcher *s = p->s;
    uint64_t q = i % s->d->test.n;
    grebe_ann_index_search_options o = search_options(p, 1);
    grebe_ann_index_range range = { 0 };
    grebe_vectors v;
    grebe_status st = ann_side_vectors(s->d, &s->d->test, q, 1, &v, err);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_first = i < s->n_distinct;
    uint64_t k = ann_run_is_ranged(s->o) ? 0 : s->o->k;
    int64_t *ids = is_first ? p->ids + q * k : again->ids;
    float *distances = is_first ? p->distances + q * k : again->distances;
    ann_searcher_filter(s, q, &o);
    double t = ann_seconds();
    if (ann_run_is_ranged(s->o)) {
        st = grebe_ann_index_range_search(s->index, &v, (float)s->o->range, &o, &range, err);
    } else {
        st = grebe_ann_index_search(s->index, &v, (size_t)k, &o, ids, distances, err);
    }
    t = ann_seconds() - t;
    if (p->seconds != NULL) {
        p->seconds[i] = t;
    }
    if (p->ranges != NULL && is_first) {
        grebe_ann_index_range_free(&p->ranges[q]);
        p->ranges[q] = range;
    } else {
        grebe_ann_index_range_free(&range);
    }
    return st == GREBE_OK ? GREBE_OK : error_wrap(err, st, "query %" PRIu64, q);
}

static grebe_status run_lane(void *arg, size_t lane, grebe_error *err)
{
    struct pass *p = arg;
    const struct call *call = p->s->o->call;
    const grebe_allocator *a = p->s->d->ctx->a;
    size_t k = ann_run_is_ranged(p->s->o) ? 0 : (size_t)p->s->o->k;
    grebe_progress progress = { "search", 0, p->n, 0, 0 };
    struct scratch again = { mem_alloc(a, k * sizeof *again.ids), mem_alloc(a, k * sizeof *again.distances) };
    grebe_status st = again.ids == NULL || again.distances == NULL ? mem_fail(err, k * sizeof *again.ids, "searches") : GREBE_OK;
    for (uint64_t i = atomic_fetch_add(&p->next, 1); st == GREBE_OK && i < p->n; i = atomic_fetch_add(&p->next, 1)) {
        st = ask(p, i, &again, err);
        if (lane == 0 && i % 64 == 0 && call->progress != NULL) {
            progress.rows_done = i;
            call->progress(call->progress_ctx, &progress);
        }
        st = st == GREBE_OK && i % 16 == 0 ? call_check(call, err) : st;
    }
    mem_free(a, again.ids, k * sizeof *again.ids);
    mem_free(a, again.distances, k * sizeof *again.distances);
    return st;
}

/* All queries in one call, as often as it takes to make n of them. */
static grebe_status run_batch(struct pass *p, grebe_error *err)
{
    const struct ann_searcher *s = p->s;
    grebe_status st = GREBE_OK;
    for (uint64_t done = 0; st == GREBE_OK && done < p->n;) {
        uint64_t n = min_u64(s->d->test.n, p->n - done);
        grebe_ann_index_search_options o = search_options(p, s->o->search_threads == 0 ? 1 : s->o->search_threads);
        grebe_vectors v;
        st = ann_side_vectors(s->d, &s->d->test, 0, n, &v, err);
        st = st == GREBE_OK ? grebe_ann_index_search(s->index, &v, (size_t)s->o->k, &o, p->ids, p->distances, err) : st;
        st = st == GREBE_OK ? call_check(s->o->call, err) : st;
        done += n;
    }
    return st;
}

static grebe_status run_pass(struct pass *p, uint64_t n, grebe_error *err)
{
    const struct ann_run_options *o = p->s->o;
    uint32_t threads = o->search_threads == 0 ? 1 : o->search_threads;
    p->n = n;
    atomic_store(&p->next, 0);
    if (o->is_batch) {
        return run_batch(p, err);
    }
    return parallel_for(p->s->d->ctx->pool, threads, threads, run_lane, p, o->call->cancel, err);
}

/* Timed passes; the times of the fastest stay. */
static grebe_status time_passes(struct pass *p, struct ann_case *c, double *best, size_t bytes, grebe_error *err)
{
    uint32_t runs = p->s->o->runs == 0 ? 1 : p->s->o->runs;
    double least = INFINITY;
    for (uint32_t run = 0; run < runs; run++) {
        double t = ann_seconds(), cpu = ann_cpu_seconds();
        grebe_status st = run_pass(p, p->s->n, err);
        t = ann_seconds() - t;
        cpu = ann_cpu_seconds() - cpu;
        if (st != GREBE_OK) {
            return st;
        }
        if (t < least) {
            least = t;
            memcpy(best, p->seconds, bytes);
            c->number[ANN_SEARCH_SECONDS] = t;
            c->number[ANN_SEARCH_CPU_SECONDS] = cpu;
            c->number[ANN_QPS_CPU] = cpu > 0 ? (double)p->s->n / cpu : NAN;
        }
    }
    c->number[ANN_SAMPLES] = c->number[ANN_SUCCESSES] = (double)p->s->n;
    c->number[ANN_QPS] = least > 0 ? (double)p->s->n / least : NAN;
    return GREBE_OK;
}

static grebe_status judge_ranges(struct pass *p, struct ann_report *report, struct ann_case *c, grebe_error *err)
{
    const struct ann_searcher *s = p->s;
    const grebe_allocator *a = s->d->ctx->a;
    struct buf ids = BUF_INIT(a), distances = BUF_INIT(a);
    size_t bytes = (size_t)(s->n_distinct + 1) * sizeof(int64_t);
    int64_t *offsets = mem_alloc_zero(a, bytes);
    grebe_status st = offsets == NULL ? mem_fail(err, bytes, "range results") : GREBE_OK;
    for (uint64_t q = 0; st == GREBE_OK && q < s->n_distinct; q++) {
        int64_t n = p->ranges[q].offsets == NULL ? 0 : p->ranges[q].offsets[1];
        offsets[q + 1] = offsets[q] + n;
        st = buf_put(&ids, p->ranges[q].ids, (size_t)n * sizeof(int64_t), err);
        st = st == GREBE_OK ? buf_put(&distances, p->ranges[q].distances, (size_t)n * sizeof(float), err) : st;
    }
    if (st == GREBE_OK) {
        struct ann_ranges truth = { s->n_distinct, s->range_offsets, (const void *)s->range_ids.data, NULL };
        struct ann_ranges found = { s->n_distinct, offsets, (const void *)ids.data, (const void *)distances.data };
        c->number[ANN_RANGE] = s->o->range;
        st = ann_eval_ranges(report, c, &truth, &found, err);
    }
    buf_release(&ids);
    buf_release(&distances);
    mem_free(a, offsets, bytes);
    return st;
}

static grebe_status keep_results(const struct pass *p, const struct ann_case *c, double *seconds, grebe_error *err)
{
    const struct ann_searcher *s = p->s;
    struct ann_result r;
    ann_result_init(&r, s->d->ctx);
    r.n = s->n_distinct;
    r.width = s->o->k;
    r.ids = p->ids;
    r.distances = p->distances;
    r.times = s->o->is_batch ? NULL : seconds;
    r.count = (double)s->o->k;
    r.build_seconds = c->number[ANN_BUILD_SECONDS];
    r.best_search_seconds = 1 / c->number[ANN_QPS];
    r.index_kb = c->number[ANN_INDEX_BYTES] / 1024;
    r.is_batch = s->o->is_batch;
    r.run_count = s->o->runs;
    const char *slash = strrchr(s->d->path, '/');
    snprintf(r.algo, sizeof r.algo, "%s", "grebe");
    snprintf(r.name, sizeof r.name, "%s", c->text[ANN_TEXT_NAME]);
    snprintf(r.dataset, sizeof r.dataset, "%.*s", (int)sizeof r.dataset - 1, slash == NULL ? s->d->path : slash + 1);
    snprintf(r.distance, sizeof r.distance, "%s", s->d->distance);
    return ann_result_write(&r, s->o->results_path, err);
}

static grebe_status judge(struct pass *p, struct ann_report *report, struct ann_case *c, double *seconds, grebe_error *err)
{
    const struct ann_searcher *s = p->s;
    grebe_status st = GREBE_OK;
    if (ann_run_is_ranged(s->o)) {
        GREBE_TRY(judge_ranges(p, report, c, err));
    } else {
        struct ann_found found = { s->n_distinct, s->o->k, p->ids, NULL };
        struct ann_eval_options eval = { s->o->k, s->o->rule, s->o->call, NULL };
        GREBE_TRY(ann_eval_recall(report, c, &s->truth, &found, &eval, err));
        if (s->o->results_path != NULL) {
            GREBE_TRY(keep_results(p, c, seconds, err));
        }
    }
    if (!s->o->is_batch) {
        ann_eval_latency(c, seconds, s->n);
        GREBE_TRY(ann_report_text(report, c, ANN_TEXT_HOW_LATENCY, "steady clock around each call", err));
    }
    GREBE_TRY(ann_report_text(report, c, ANN_TEXT_HOW_QPS,
                              s->o->is_batch ? "queries by wall seconds of the batch" : "queries by wall seconds of the pass",
                              err));
    GREBE_TRY(ann_report_text(report, c, ANN_TEXT_SEARCH_MODE, ann_mode_name(s->o->mode), err));
out:
    return st;
}

static double grown(uint64_t before)
{
    uint64_t now = 0, peak = 0;
    ann_memory(&now, &peak);
    return before == 0 ? NAN : now > before ? (double)(now - before) : 0;
}

grebe_status ann_searcher_measure(struct ann_searcher *s, const struct ann_search_spec *spec, struct ann_report *report,
                                  struct ann_case *c, grebe_error *err)
{
    const grebe_allocator *a = s->d->ctx->a;
    size_t seconds_bytes = (size_t)s->n * sizeof(double), width = ann_run_is_ranged(s->o) ? 0 : (size_t)s->o->k;
    size_t ids_bytes = (size_t)s->d->test.n * width * sizeof(int64_t), range_bytes = 0;
    double *seconds = mem_alloc_zero(a, seconds_bytes);
    uint64_t before = 0, peak = 0;
    grebe_status st = GREBE_OK;
    struct pass p = { .s = s, .spec = spec, .seconds = mem_alloc_zero(a, seconds_bytes), .ids = mem_alloc(a, ids_bytes),
                      .distances = mem_alloc(a, ids_bytes / 2) };
    if (ann_run_is_ranged(s->o)) {
        range_bytes = (size_t)s->n_distinct * sizeof *p.ranges;
        p.ranges = mem_alloc_zero(a, range_bytes);
    }
    if (seconds == NULL || p.seconds == NULL || p.ids == NULL || p.distances == NULL || (range_bytes > 0 && p.ranges == NULL)) {
        st = mem_fail(err, ids_bytes, "searches");
        goto out;
    }
    if (s->o->is_batch && s->o->mode != ANN_MODE_KNN) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "all queries in one call: only plain knn searches");
        goto out;
    }
    ann_memory(&before, &peak);
    grebe_ann_index_range *ranges = p.ranges;
    if (!s->o->is_without_warmup) {
        GREBE_TRY(run_pass(&p, s->n_distinct, err));
        p.ranges = NULL; /* kept from this pass */
    }
    c->number[ANN_WARMUP_QUERIES] = s->o->is_without_warmup ? 0 : (double)s->n_distinct;
    st = time_passes(&p, c, seconds, seconds_bytes, err);
    p.ranges = ranges;
    GREBE_TRY(st);
    c->number[ANN_SEARCH_MEMORY] = grown(before);
    GREBE_TRY(judge(&p, report, c, seconds, err));
out:
    for (uint64_t q = 0; p.ranges != NULL && q < s->n_distinct; q++) {
        grebe_ann_index_range_free(&p.ranges[q]);
    }
    mem_free(a, p.ranges, range_bytes);
    mem_free(a, p.distances, ids_bytes / 2);
    mem_free(a, p.ids, ids_bytes);
    mem_free(a, p.seconds, seconds_bytes);
    mem_free(a, seconds, seconds_bytes);
    return st;
}
