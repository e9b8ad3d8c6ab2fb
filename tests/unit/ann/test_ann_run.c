/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ann/ann_plot.h"
#include "ann/ann_suite.h"
#include "test_support.h"

struct fixture {
    grebe_context *ctx;
    struct ann_report r;
    struct ann_dataset *d;
    struct call call;
    grebe_error e;
};

#define err (f->e)

static void open_data(struct fixture *f, const char *name)
{
    const struct ann_open_options options = { 0 };
    char path[600];
    snprintf(path, sizeof path, TEST_DATA "/data/ann/%s", name);
    ann_dataset_free(f->d);
    assert_ok(ann_dataset_open(f->ctx, path, &options, &f->call, &f->d, &err));
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    err = (grebe_error)GREBE_ERROR_INIT;
    f->call = (struct call){ .threads = 2, .memory_limit_bytes = UINT64_MAX };
    assert_ok(context_new(NULL, &f->ctx, &err));
    ann_report_init(&f->r, f->ctx);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    ann_dataset_free(f->d);
    ann_report_release(&f->r);
    context_free(f->ctx);
    free(f);
    return 0;
}

static struct ann_run_options options_of(struct fixture *f)
{
    return (struct ann_run_options){ .k = 5, .search_threads = 1, .build_threads = 1, .call = &f->call };
}

static grebe_status run(struct fixture *f, const char *index, const char *sweep, const struct ann_run_options *o)
{
    return ann_run_indexes(f->d, &index, 1, &sweep, sweep != NULL, NULL, o, &f->r, &err);
}

static void test_run__sweep__a_case_for_each_combination(void **state)
{
    struct fixture *f = *state;
    struct ann_run_options o = options_of(f);
    static const char *const indexes[] = { "flat", "graph  degree=16\tquant=sq8" };
    static const char *const sweeps[] = { "graph:ef=10,40", "graph:rerank=0,20" };
    open_data(f, "good/dense_l2_f32.hdf5");
    assert_ok(ann_run_indexes(f->d, indexes, 2, sweeps, 2, NULL, &o, &f->r, &err));
    assert_int_equal(f->r.n, 5);
    assert_string_equal(f->r.cases[1].text[ANN_TEXT_NAME], "graph degree=16 quant=sq8 ef=10 rerank=0");
    assert_string_equal(f->r.cases[4].text[ANN_TEXT_SEARCH_PARAM], "ef=40 rerank=20");
    assert_string_equal(f->r.cases[4].text[ANN_TEXT_INDEX_INFO], "{\"kind\":\"graph\",\"degree\":16,\"quant\":\"sq8\"}");
    assert_string_equal(f->r.cases[4].text[ANN_TEXT_SERIES], "graph degree=16 quant=sq8");
    assert_true(f->r.cases[0].number[ANN_RECALL_AVG] == 1);
    for (size_t i = 0; i < f->r.n; i++) {
        const double *v = f->r.cases[i].number;
        assert_true(v[ANN_SAMPLES] == 24 && v[ANN_QPS] > 0 && v[ANN_BUILD_SECONDS] > 0 && v[ANN_TPS] > 0);
        assert_true(v[ANN_LATENCY_AVG] > 0 && v[ANN_P50] <= v[ANN_P99] && v[ANN_WARMUP_QUERIES] == 24);
        assert_true(v[ANN_BUILD_MEMORY] >= 0 && v[ANN_SEARCH_MEMORY] >= 0 && v[ANN_INDEX_BYTES] >= 600 * 32 * 4);
        assert_true(v[ANN_RECALL_AVG] > 0.5 && v[ANN_TOPK] == 5);
    }
}

static void test_run__query_count__exactly_as_asked(void **state)
{
    struct fixture *f = *state;
    struct ann_run_options o = options_of(f);
    open_data(f, "good/sparse_ip.hdf5");
    for (uint64_t n = 7; n < 200; n += 93) {
        for (uint32_t threads = 1; threads < 4; threads++) {
            o.n_queries = n;
            o.search_threads = threads;
            o.is_batch = threads == 3;
            o.is_without_warmup = threads == 2;
            o.runs = threads;
            assert_ok(run(f, "sparse", NULL, &o));
            const struct ann_case *c = &f->r.cases[f->r.n - 1];
            assert_true(c->number[ANN_SAMPLES] == (double)n);
            assert_true(c->number[ANN_RECALL_QUERIES] == (n < 24 ? (double)n : 24));
            assert_true(c->number[ANN_RECALL_AVG] == 1);
            assert_true(isnan(c->number[ANN_LATENCY_AVG]) == (threads == 3));
        }
    }
}

/* The stored truth of this file is filtered; plain searches need another one, which is computed. */
static void test_run__filters__truth_of_the_mode(void **state)
{
    struct fixture *f = *state;
    struct ann_run_options o = options_of(f);
    open_data(f, "good/dense_l2_labels.hdf5");
    for (int mode = 0; mode < 4; mode++) {
        o.mode = (enum ann_mode)mode;
        o.range = 6;
        o.is_without_warmup = mode == 1;
        o.runs = 2;
        assert_ok(run(f, "flat", NULL, &o));
        const struct ann_case *c = &f->r.cases[f->r.n - 1];
        assert_true(c->number[ANN_RECALL_AVG] == 1);
        assert_true(isnan(c->number[ANN_PRECISION]) == (mode == ANN_MODE_KNN || mode == ANN_MODE_KNN_FILTER));
        assert_string_equal(c->text[ANN_TEXT_SEARCH_MODE], ann_mode_name((enum ann_mode)mode));
    }
    assert_true(f->r.cases[1].number[ANN_RESULTS] > f->r.cases[3].number[ANN_RESULTS]);
    open_data(f, "good/dense_l2_f32.hdf5");
    assert_fails(run(f, "flat", NULL, &o), GREBE_ESCHEMA, "labels");
}

static void test_run__what_cannot_be__refused_before_building(void **state)
{
    struct fixture *f = *state;
    struct ann_run_options o = options_of(f);
    static const char *const good_then_bad[] = { "flat", "hnsw m=3" };
    open_data(f, "good/dense_l2_f32.hdf5");
    assert_fails(ann_run_indexes(f->d, good_then_bad, 2, NULL, 0, NULL, &o, &f->r, &err), GREBE_EINVAL, "\"m\"");
    assert_int_equal(f->r.n, 0);
    assert_fails(run(f, "tree", NULL, &o), GREBE_EINVAL, "tree");
    assert_fails(run(f, "sparse", NULL, &o), GREBE_EINVAL, "sparse");
    assert_fails(run(f, "graph", "ef", &o), GREBE_EINVAL, "NAME=VALUE");
    assert_fails(run(f, "graph", "ef=,", &o), GREBE_EINVAL, "values");
    assert_fails(run(f, "graph", "ef=1,x", &o), GREBE_EINVAL, "\"x\"");
    assert_int_equal(f->r.n, 0); /* nothing was built */
    o.k = 21;
    assert_fails(run(f, "flat", NULL, &o), GREBE_EINVAL, "1 to 20");
    open_data(f, "good/multi_vector_ip.hdf5");
    assert_fails(run(f, "flat", NULL, &o), GREBE_EUNSUPPORTED, "documents");
    open_data(f, "storage/annb_jaccard.hdf5");
    assert_fails(run(f, "flat", NULL, &o), GREBE_EUNSUPPORTED, "sets");
}

static void test_run__cancelled__told(void **state)
{
    struct fixture *f = *state;
    struct ann_run_options o = options_of(f);
    grebe_cancel *cancel = NULL;
    assert_ok(grebe_cancel_new(f->ctx, &cancel, &err));
    open_data(f, "good/dense_l2_f32.hdf5");
    grebe_cancel_set(cancel);
    f->call.cancel = cancel;
    assert_fails(run(f, "flat", NULL, &o), GREBE_ECANCELLED, "");
    assert_int_equal(f->r.n, 0);
    grebe_cancel_free(cancel);
}

/* ---- suites ---- */

#if GREBE_HAVE_YAML
static const char suite_text[] =
    "global:\n"
    "  exporters:\n"
    "    one: {format: json, to: \"file://%s/out.json\"}\n"
    "    two: {format: line_protocol, to: \"appendfile://%s/out.lp\"}\n"
    "  num_threads_building: 2\n"
    "a/hgraph:\n"
    "  datapath: \"" TEST_DATA "/data/ann/good/dense_l2_f32.hdf5\"\n"
    "  type: build,search\n"
    "  index_name: hgraph\n"
    "  index_path: \"%s/ix/a\"\n"
    "  create_params: '{\"dim\":32,\"dtype\":\"float32\",\"metric_type\":\"l2\",\"index_param\":{\"base_quantization_type\":\"sq8\",\"max_degree\":16,\"ef_construction\":60,\"build_thread_count\":4}}'\n"
    "  search_params: '{\"hgraph\":{\"ef_search\":5}}'\n"
    "  topk: 10\n"
    "  search_query_count: 30\n"
    "  num_threads_searching: 2\n"
    "  disable_percent_latency: true\n"
    "  something_unknown: 1\n"
    "b again:\n"
    "  datapath: \"" TEST_DATA "/data/ann/good/dense_l2_f32.hdf5\"\n"
    "  type: search\n"
    "  index_name: hgraph\n"
    "  index_path: \"%s/ix/a\"\n"
    "  create_params: '{\"metric_type\":\"l2\",\"index_param\":{}}'\n"
    "  search_params: '{\"hgraph\":{\"ef_search\":50}}'\n"
    "  search_mode: range\n"
    "  range: 36\n"
    "  delete_index_after_search: true\n";

static void test_suite__build_and_search__as_its_file_says(void **state)
{
    struct fixture *f = *state;
    struct ann_suite s;
    struct ann_run_options o = options_of(f);
    char *folder = test_folder_new(), text[4096], path[600];
    struct io_store *store = NULL;
    struct io_info info;
    snprintf(text, sizeof text, suite_text, folder, folder, folder, folder);
    ann_suite_init(&s, f->ctx);
    assert_ok(ann_suite_parse(&s, "x.yaml", text, strlen(text), &err));
    assert_int_equal(s.n_cases, 2);
    assert_int_equal(s.n_exports, 2);
    assert_int_equal(s.cases[0].job.n_params, 4);
    assert_string_equal(s.cases[0].job.params[3], "rerank=none"); /* codes without use_reorder */
    assert_int_equal(s.cases[1].job.n_params, 3);
    assert_string_equal(s.cases[1].job.params[1], "degree=64"); /* their default */
    assert_string_equal(s.cases[0].job.params[0], "quant=sq8");
    assert_string_equal(s.cases[0].job.params[1], "degree=16");
    assert_string_equal(s.cases[0].search.params[0], "ef=10"); /* raised to topk, as hgraph does */
    assert_true(s.cases[0].build_threads == 2 && s.cases[0].search_threads == 2 && s.cases[1].search_threads == 1);
    assert_ok(ann_suite_run(&s, &o, &f->r, &err));
    assert_int_equal(f->r.n, 2);
    const struct ann_case *a = &f->r.cases[0], *b = &f->r.cases[1];
    assert_string_equal(a->text[ANN_TEXT_NAME], "a/hgraph");
    assert_string_equal(a->text[ANN_TEXT_ACTION], "build,search");
    assert_string_equal(a->text[ANN_TEXT_INDEX], "hgraph");
    assert_string_equal(a->text[ANN_TEXT_SEARCH_PARAM], "{\"hgraph\":{\"ef_search\":5}}");
    assert_non_null(strstr(a->text[ANN_TEXT_INDEX_INFO], "\"build_thread_count\":4"));
    assert_true(a->number[ANN_SAMPLES] == 30 && a->number[ANN_TOPK] == 10 && a->number[ANN_FILE_BYTES] > 0);
    assert_true(isnan(a->number[ANN_P50]) && a->number[ANN_LATENCY_AVG] > 0);
    assert_string_equal(b->text[ANN_TEXT_ACTION], "search");
    assert_true(isnan(b->number[ANN_BUILD_SECONDS]) && b->number[ANN_RANGE] == 6); /* 36 is of squares */
    assert_ok(io_local_new(f->ctx, &store, &err));
    snprintf(path, sizeof path, "%s/ix/a", folder);
    assert_int_equal(io_stat(store, path, &info, &err), GREBE_ENOTFOUND);
    io_store_free(store);
    ann_suite_release(&s);
    test_folder_remove(folder);
}

#define CASE(rest) "c:\n  datapath: d\n  index_name: hgraph\n  create_params: '{}'\n" rest
static void test_suite__what_is_wrong__named_before_running(void **state)
{
    static const struct { const char *text; grebe_status st; const char *fragment; } bad[] = {
        { "[]", GREBE_EINVAL, "x.yaml:1:1: expected a map of cases" },
        { "global: {}\n", GREBE_EINVAL, "expected a case" },
        { "c: 1\n", GREBE_EINVAL, "x.yaml:1:4: case \"c\"" },
        { CASE(""), GREBE_EINVAL, "type is missing" },
        { CASE("  type: bench\n"), GREBE_EINVAL, "x.yaml:5:9: type: expected build, search or build,search, found \"bench\"" },
        { CASE("  type: search\n"), GREBE_EINVAL, "search_params is missing" },
        { CASE("  type: build\n  topk: 0\n"), GREBE_EINVAL, "topk: expected a number from 1" },
        { CASE("  type: build\n  search_mode: nn\n"), GREBE_EINVAL, "range_filter, found \"nn\"" },
        { CASE("  type: build\n  range: x\n"), GREBE_EINVAL, "x.yaml:6:10: range" },
        { CASE("  type: build\n  disable_qps: 3\n"), GREBE_EINVAL, "disable_qps: expected true or false" },
        { "global: {exporters: {a: {format: csv}}}\n" CASE("  type: build\n"), GREBE_EINVAL, "found \"csv\"" },
        { "global: {exporters: {a: {to: 'influxdb://h'}}}\n" CASE("  type: build\n"), GREBE_EINVAL, "influxdb" },
        { "global: {exporters: [{to: 'ftp://h'}]}\n" CASE("  type: build\n"), GREBE_EINVAL, "ftp" },
        { "global: {http_server: {enabled: true}}\n" CASE("  type: build\n"), GREBE_EUNSUPPORTED, "http_server" },
        { "c: {datapath: d, type: build, index_name: diskann, create_params: '{}'}", GREBE_EUNSUPPORTED, "\"diskann\"" },
        { "c: {datapath: d, type: build, index_name: hgraph, create_params: '{'}", GREBE_ECORRUPT, "create_params" },
        { "c: {datapath: d, type: build, index_name: hgraph, create_params: '{\"index_param\":{\"base_quantization_type\":\"tq\"}}'}",
          GREBE_EUNSUPPORTED, "base_quantization_type \"tq\"" },
        { "c: {datapath: d, type: build, index_name: hgraph, create_params: '{\"index_param\":{\"magic\":1}}'}", GREBE_EUNSUPPORTED,
          "parameter \"magic\"" },
        { "c: {datapath: d, type: build, index_name: hgraph, create_params: '{\"index_param\":{\"base_quantization_type\":\"rabitq\"}}'}",
          GREBE_EINVAL, "hgraph: parameter quant: expected one of" },
        { "c: {datapath: d, type: 'build,search', index_name: sindi, create_params: '{}', search_params: '{\"sindi\":{\"term_prune_ratio\":0.1}}'}",
          GREBE_EUNSUPPORTED, "term_prune_ratio" },
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ann_suite s;
        ann_suite_init(&s, f->ctx);
        assert_fails(ann_suite_parse(&s, "x.yaml", bad[i].text, strlen(bad[i].text), &err), bad[i].st, bad[i].fragment);
        ann_suite_release(&s);
    }
}

static void test_suite__every_allocation_fails__told(void **state)
{
    struct fixture *f = *state;
    grebe_status st = GREBE_ENOMEM;
    char text[4096];
    snprintf(text, sizeof text, suite_text, "x", "x", "x", "x");
    for (size_t at = 1; st != GREBE_OK; at++) {
        struct test_allocator t;
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *ctx = NULL;
        struct ann_suite s;
        test_allocator_init(&t);
        o.allocator = &t.a;
        assert_ok(context_new(&o, &ctx, &err));
        t.fail_at = t.n_calls + at;
        ann_suite_init(&s, ctx);
        st = ann_suite_parse(&s, "x.yaml", text, strlen(text), &err);
        t.fail_at = 0;
        ann_suite_release(&s);
        context_free(ctx);
        assert_int_equal(t.n_live, 0);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
    }
}

/* A whole run: nothing leaks, and what was finished stays. */
static void test_run__every_allocation_fails__told(void **state)
{
    struct fixture *f = *state;
    static const char *const indexes[] = { "flat" };
    grebe_status st = GREBE_ENOMEM;
    for (size_t at = 1; st != GREBE_OK; at += at < 200 ? 1 : 97) {
        struct test_allocator t;
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *ctx = NULL;
        struct ann_report r;
        struct ann_dataset *d = NULL;
        const struct ann_open_options open = { 0 };
        struct ann_run_options run_o = { .k = 5, .search_threads = 1, .build_threads = 1, .n_queries = 3, .call = &f->call };
        test_allocator_init(&t);
        o.allocator = &t.a;
        o.threads = 1;
        f->call.threads = 1;
        assert_ok(context_new(&o, &ctx, &err));
        assert_ok(ann_dataset_open(ctx, TEST_DATA "/data/ann/good/small_l2.hdf5", &open, &f->call, &d, &err));
        ann_report_init(&r, ctx);
        run_o.k = d->k < 5 ? d->k : 5;
        t.fail_at = t.n_calls + at;
        st = ann_run_indexes(d, indexes, 1, NULL, 0, NULL, &run_o, &r, &err);
        t.fail_at = 0;
        ann_report_release(&r);
        ann_dataset_free(d);
        context_free(ctx);
        assert_int_equal(t.n_live, 0);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
    }
}
#endif

/* ---- plots of reports ---- */

static void test_plot__cases__curves_by_series(void **state)
{
    struct fixture *f = *state;
    struct buf b = BUF_INIT(f->ctx->a);
    struct ann_plot plot = { 0 };
    for (int i = 0; i < 6; i++) {
        struct ann_case *c = NULL;
        assert_ok(ann_report_add(&f->r, &c, &err));
        assert_ok(ann_report_textf(&f->r, c, ANN_TEXT_NAME, &err, "case %d", i));
        assert_ok(ann_report_textf(&f->r, c, ANN_TEXT_SERIES, &err, "series %d", i / 3));
        assert_ok(ann_report_text(&f->r, c, ANN_TEXT_PATH, "a/b/data.hdf5", &err));
        c->number[ANN_RECALL_AVG] = 0.5 + 0.1 * i;
        c->number[ANN_QPS] = i == 1 ? 1 : 1000 - i;
        c->number[ANN_TOPK] = 10;
        c->number[ANN_BUILD_SECONDS] = i;
    }
    assert_ok(ann_plot(&f->r, &plot, &b, &err));
    const char *text = buf_text(&b);
    assert_non_null(strstr(text, "recall@10"));
    assert_non_null(strstr(text, "data.hdf5"));
    assert_null(strstr(text, "case 1\n")); /* beaten */
    plot.is_all = true;
    buf_clear(&b);
    assert_ok(ann_plot(&f->r, &plot, &b, &err));
    assert_non_null(strstr(buf_text(&b), "case 1\n"));
    plot.x = "latency";
    assert_fails(ann_plot(&f->r, &plot, &b, &err), GREBE_EINVAL, "found \"latency\"");
    plot.x = "latency_detail(ms).p99";
    assert_fails(ann_plot(&f->r, &plot, &b, &err), GREBE_EINVAL, "no point");
    plot.is_bars = true;
    buf_clear(&b);
    assert_ok(ann_plot(&f->r, &plot, &b, &err));
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_run__sweep__a_case_for_each_combination, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run__query_count__exactly_as_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run__filters__truth_of_the_mode, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run__what_cannot_be__refused_before_building, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run__cancelled__told, setup, teardown),
#if GREBE_HAVE_YAML
        cmocka_unit_test_setup_teardown(test_suite__build_and_search__as_its_file_says, setup, teardown),
        cmocka_unit_test_setup_teardown(test_suite__what_is_wrong__named_before_running, setup, teardown),
        cmocka_unit_test_setup_teardown(test_suite__every_allocation_fails__told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run__every_allocation_fails__told, setup, teardown),
#endif
        cmocka_unit_test_setup_teardown(test_plot__cases__curves_by_series, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
