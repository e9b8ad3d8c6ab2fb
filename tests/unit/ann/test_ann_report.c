/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "test_support.h"

struct fixture {
    grebe_context *ctx;
    struct ann_report r;
    grebe_error e;
};

#define err (f->e)

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    err = (grebe_error)GREBE_ERROR_INIT;
    assert_ok(context_new(NULL, &f->ctx, &err));
    ann_report_init(&f->r, f->ctx);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    ann_report_release(&f->r);
    context_free(f->ctx);
    free(f);
    return 0;
}

static struct ann_case *add_case(struct fixture *f, const char *name)
{
    struct ann_case *c = NULL;
    assert_ok(ann_report_add(&f->r, &c, &err));
    assert_ok(ann_report_text(&f->r, c, ANN_TEXT_NAME, name, &err));
    return c;
}

static const char *print(struct fixture *f, struct buf *b, enum ann_form form, int64_t now)
{
    buf_clear(b);
    assert_ok(ann_report_print(&f->r, form, now, b, &err));
    return buf_text(b);
}

/* Every key that eval_performance writes. */
static void test_report__json__every_key_and_null(void **state)
{
    static const char *const keys[] = {
        "duration(s)", "tps", "qps", "latency_avg(ms)", "latency_detail(ms)", "recall_avg", "recall_detail",
        "memory_peak(build)", "memory_peak(search)", "index_memory(B)", "memory_detail(B)", "measurement_method",
        "measurement_sample_count", "measurement_successful_query_count", "measurement_duration(s)",
        "statistics_query_count", "statistics_total", "statistics_avg_per_query", "dataset_info", "index_info",
        "search_param", "index", "action", "search_mode",
    };
    struct fixture *f = *state;
    const struct json_value *v = NULL;
    struct buf b = BUF_INIT(f->ctx->a);
    struct arena ar = ARENA_INIT(f->ctx->a);
    struct ann_case *c = add_case(f, "a \"b\"");
    c->number[ANN_QPS] = 1234.5;
    c->number[ANN_BUILD_MEMORY] = 1.25 * 1073741824;
    assert_ok(ann_report_text(&f->r, c, ANN_TEXT_INDEX_INFO, "{\"degree\":32}", &err));
    const char *text = print(f, &b, ANN_FORM_JSON, 0);
    assert_ok(json_parse(&ar, text, strlen(text), &v, &err));
    const struct json_value *one = json_get(v, "a \"b\"");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (json_get(one, keys[i]) == NULL) {
            fail_msg("no key %s", keys[i]);
        }
    }
    assert_int_equal(json_get(one, "latency_avg(ms)")->type, JSON_NULL);
    assert_int_equal(json_get(json_get(one, "recall_detail"), "p0")->type, JSON_NULL);
    assert_true(json_is_text(json_get(one, "memory_peak(build)"), "1.25 GB"));
    assert_int_equal(json_get(json_get(one, "index_info"), "degree")->type, JSON_NUMBER);
    arena_release(&ar);
    buf_release(&b);
}

static void test_report__json_read_again__same_bytes(void **state)
{
    struct fixture *f = *state;
    struct buf b = BUF_INIT(f->ctx->a), again = BUF_INIT(f->ctx->a);
    for (int n = 0; n < 3; n++) {
        struct ann_case *c = add_case(f, "same");
        for (int i = 0; i < ANN_N_NUMBERS; i++) {
            c->number[i] = i % 3 == n ? (double)NAN : i * 7 + n;
        }
        for (int i = 1; i < ANN_N_TEXTS; i++) {
            assert_ok(ann_report_textf(&f->r, c, (enum ann_text)i, &err, i == ANN_TEXT_INDEX_INFO ? "{\"a\":%d}" : "text %d", i));
        }
    }
    print(f, &b, ANN_FORM_JSON, 0);
    ann_report_release(&f->r);
    assert_ok(ann_report_parse(&f->r, (const char *)b.data, b.len, &err));
    assert_int_equal(f->r.n, 3);
    assert_string_equal(f->r.cases[2].text[ANN_TEXT_NAME], "same #3");
    print(f, &again, ANN_FORM_JSON, 0);
    assert_int_equal(b.len, again.len);
    assert_memory_equal(b.data, again.data, b.len);
    buf_release(&b);
    buf_release(&again);
}

static void test_report__names_that_look_numbered__each_once(void **state)
{
    static const char text[] = "{\"a #2\":{},\"a\":{},\"a\":{},\"a\":{},\"a #4\":{}}";
    struct fixture *f = *state;
    struct buf b = BUF_INIT(f->ctx->a), again = BUF_INIT(f->ctx->a);
    assert_ok(ann_report_parse(&f->r, text, strlen(text), &err));
    const char *json = print(f, &b, ANN_FORM_JSON, 0);
    static const char *const names[] = { "\"a #2\":", "\"a\":", "\"a #3\":", "\"a #5\":", "\"a #4\":" };
    for (size_t i = 0; i < 5; i++) {
        const char *at = strstr(json, names[i]);
        assert_non_null(at);
        assert_null(strstr(at + 1, names[i]));
    }
    ann_report_release(&f->r);
    assert_ok(ann_report_parse(&f->r, (const char *)b.data, b.len, &err));
    print(f, &again, ANN_FORM_JSON, 0);
    assert_int_equal(b.len, again.len);
    assert_memory_equal(b.data, again.data, b.len);
    buf_release(&b);
    buf_release(&again);
}

static void test_report__bad_json__place_and_nothing_added(void **state)
{
    struct fixture *f = *state;
    static const struct { const char *text, *fragment; } bad[] = {
        { "[]", "expected an object" }, { "{\"a\":1}", "expected an object of measurements" },
        { "{\"a\":{\"qps\":\"x\"}}", "qps: expected a number" }, { "{\"ok\":{},\"a\":{\"dataset_info\":{\"dim\":true}}}", "dim" },
        { "{", "1:2" },
    };
    add_case(f, "before");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_fails(ann_report_parse(&f->r, bad[i].text, strlen(bad[i].text), &err), GREBE_ECORRUPT, bad[i].fragment);
        assert_int_equal(f->r.n, 1);
    }
}

static void test_report__line_protocol__escaped_and_missing_left_out(void **state)
{
    struct fixture *f = *state;
    struct buf b = BUF_INIT(f->ctx->a);
    struct ann_case *c = add_case(f, "a b,c=d\\\ne");
    assert_ok(ann_report_text(&f->r, c, ANN_TEXT_INDEX, "hgraph\\", &err));
    c->number[ANN_DIM] = 128;
    c->number[ANN_QPS] = 1000.5;
    add_case(f, "nothing measured");
    assert_string_equal(print(f, &b, ANN_FORM_LINE, 17),
                        "performance,case_name=a\\ b\\,c\\=d\\\\ e,index_name=hgraph/ dim=128,qps=1000.5 17\n");
    buf_release(&b);
}

static void test_report__table__aligned(void **state)
{
    struct fixture *f = *state;
    struct buf b = BUF_INIT(f->ctx->a);
    struct ann_case *c = add_case(f, "größer");
    c->number[ANN_QPS] = 12345.678;
    c = add_case(f, "a name that is far longer than the forty columns it may have");
    c->number[ANN_RECALL_AVG] = 0.999996;
    char *text = strdup(print(f, &b, ANN_FORM_TABLE, 0));
    char *lines[4] = { 0 };
    size_t n = 0;
    for (char *p = strtok(text, "\n"); p != NULL; p = strtok(NULL, "\n")) {
        lines[n++] = p;
    }
    assert_int_equal(n, 3);
    assert_non_null(strstr(lines[0], "NumVectors"));
    assert_non_null(strstr(lines[1], "12345.7"));
    assert_non_null(strstr(lines[1], "N/A"));
    assert_null(strstr(lines[1], "-1"));
    assert_non_null(strstr(lines[2], "a name that is far longer than the forty…"));
    /* columns begin below each other: in bytes beyond those that are no characters */
    assert_int_equal(strstr(lines[1], "N/A") - lines[1] - 2, strstr(lines[0], "Index") - lines[0]);
    free(text);
    buf_release(&b);
}

static void test_report__forms_and_sinks__unknown_ones_refused(void **state)
{
    struct fixture *f = *state;
    enum ann_form form;
    const char *path;
    bool is_append;
    assert_ok(ann_form_parse("text", &form, &err));
    assert_int_equal(form, ANN_FORM_TABLE);
    assert_fails(ann_form_parse("csv", &form, &err), GREBE_EINVAL, "found \"csv\"");
    assert_ok(ann_sink_parse("stdout", &path, &is_append, &err));
    assert_null(path);
    assert_ok(ann_sink_parse("file://x/y", &path, &is_append, &err));
    assert_string_equal(path, "x/y");
    assert_ok(ann_sink_parse("appendfile:///x", &path, &is_append, &err));
    assert_string_equal(path, "/x");
    assert_true(is_append);
    assert_fails(ann_sink_parse("influxdb://h:1/x", &path, &is_append, &err), GREBE_EINVAL, "influxdb");
    assert_fails(ann_sink_parse("file://", &path, &is_append, &err), GREBE_EINVAL, "stdout");
}

static void test_report__file_sinks__replaced_and_appended(void **state)
{
    struct fixture *f = *state;
    char *folder = test_folder_new(), path[600];
    size_t len = 0;
    snprintf(path, sizeof path, "%s/new/folder/x", folder);
    for (int i = 0; i < 2; i++) {
        assert_ok(ann_sink_write(f->ctx, path, false, "one", 3, &err));
    }
    assert_ok(ann_sink_write(f->ctx, path, true, "two", 3, &err));
    unsigned char *bytes = test_read_file(path, &len);
    assert_int_equal(len, 6);
    assert_memory_equal(bytes, "onetwo", 6);
    free(bytes);
    test_folder_remove(folder);
}

/* ---- numbers ---- */

static void test_eval__latency__percentiles_by_floor(void **state)
{
    struct fixture *f = *state;
    double seconds[] = { 0.005, 0.001, NAN, 0.004, 0.002, 0.003 };
    struct ann_case *c = add_case(f, "x");
    ann_eval_latency(c, seconds, 6);
    assert_true(c->number[ANN_P50] == 3 && c->number[ANN_P99] == 4 && c->number[ANN_P90] == 4 && c->number[ANN_P80] == 4);
    assert_true(fabs(c->number[ANN_LATENCY_AVG] - 3) < 1e-12);
}

static struct ann_case *ranges(struct fixture *f, const int64_t *to, const int64_t *t, const int64_t *fo, const int64_t *fi,
                               const float *fd, uint64_t n)
{
    struct ann_case *c = add_case(f, "range");
    struct ann_ranges truth = { n, to, t, NULL }, found = { n, fo, fi, fd };
    assert_ok(ann_eval_ranges(&f->r, c, &truth, &found, &err));
    return c;
}

static void test_eval__ranges__recall_precision_average_precision(void **state)
{
    struct fixture *f = *state;
    static const int64_t to[] = { 0, 2, 2, 4 }, t[] = { 7, 1, 5, 6 };
    static const int64_t all[] = { 0, 2, 2, 4 };
    static const int64_t ids[] = { 1, 7, 6, 5 };
    static const float d[] = { 0, 1, 0.5f, 1 };
    struct ann_case *c = ranges(f, to, t, all, ids, d, 3);
    assert_true(c->number[ANN_RECALL_AVG] == 1 && c->number[ANN_PRECISION] == 1);
    assert_true(fabs(c->number[ANN_AVERAGE_PRECISION] - 1) < 1e-12);
    assert_true(c->number[ANN_RECALL_QUERIES] == 2); /* the second query has no true neighbour */
    assert_true(c->number[ANN_RESULTS] == 4);
    /* One of two, and one that is wrong: recall 1/2 and 1; precision 3/4. */
    static const int64_t fo[] = { 0, 1, 2, 4 }, fi[] = { 1, 3, 6, 5 };
    static const float fd[] = { 0, 0.25f, 0.5f, 1 };
    c = ranges(f, to, t, fo, fi, fd, 3);
    assert_true(c->number[ANN_RECALL_AVG] == 0.75 && c->number[ANN_PRECISION] == 0.75);
    /* (recall, precision) by growing distance: (0,1) (1/4,1) (1/4,1/2) (1/2,2/3) (3/4,3/4) */
    double area = 0.25 * 1 + 0.25 * (0.5 + 2.0 / 3) / 2 + 0.25 * (2.0 / 3 + 0.75) / 2;
    assert_true(fabs(c->number[ANN_AVERAGE_PRECISION] - area) < 1e-12);
    /* nothing found */
    static const int64_t none[] = { 0, 0, 0, 0 };
    c = ranges(f, to, t, none, NULL, NULL, 3);
    assert_true(c->number[ANN_RECALL_AVG] == 0 && c->number[ANN_AVERAGE_PRECISION] == 0);
    /* a result that comes twice counts once */
    static const int64_t twice[] = { 1, 1, 6, 5 };
    c = ranges(f, to, t, all, twice, d, 3);
    assert_true(c->number[ANN_RECALL_AVG] == 0.75);
}

/* What eval_performance prints: no series, keys that are not ours, null where nothing was measured. */
static void test_report__json_of_eval_performance__read(void **state)
{
    static const char text[] =
        "{\"q_build\":{\"action\":\"build\",\"dataset_info\":{\"base_count\":1000000,\"data_type\":\"float32\",\"dim\":128,\"filepath\":\"d/sift.hdf5\","
        "\"query_count\":10000},\"duration(s)\":39.09,\"index\":\"hgraph\",\"index_info\":{\"dim\":128,\"index_param\":{\"base_quantization_type\":\"sq8\","
        "\"build_thread_count\":16,\"max_degree\":32,\"use_reorder\":false},\"metric_type\":\"l2\"},\"index_memory(B)\":357011768,\"latency_avg(ms)\":null,"
        "\"memory_detail(B)\":{\"pool\":5006280},\"memory_peak(build)\":\"116.22 MB\",\"qps\":null,\"recall_avg\":null,\"search_param\":null,\"tps\":25581.2},"
        "\"q_ef40\":{\"action\":\"search\",\"dataset_info\":{\"dim\":128,\"filepath\":\"d/sift.hdf5\"},\"index\":\"hgraph\",\"index_info\":{},"
        "\"latency_detail(ms)\":{\"p99\":0.28},\"qps\":102210.39,\"recall_avg\":0.82598,\"search_param\":\"{\\\"hgraph\\\":{}}\","
        "\"statistics_total\":{\"dist_cmp\":9497135}}}";
    struct fixture *f = *state;
    assert_ok(ann_report_parse(&f->r, text, strlen(text), &err));
    const struct ann_case *b = &f->r.cases[0], *s = &f->r.cases[1];
    assert_string_equal(b->text[ANN_TEXT_SERIES], "hgraph base_quantization_type=sq8 max_degree=32 use_reorder=false");
    assert_true(b->number[ANN_BUILD_SECONDS] == 39.09 && isnan(b->number[ANN_QPS]) && isnan(b->number[ANN_BUILD_MEMORY]));
    assert_string_equal(s->text[ANN_TEXT_SEARCH_PARAM], "{\"hgraph\":{}}");
    assert_true(s->number[ANN_QPS] == 102210.39 && s->number[ANN_P99] == 0.28 && s->number[ANN_RECALL_AVG] == 0.82598);
    assert_string_equal(s->text[ANN_TEXT_SERIES], "hgraph");
}

/* Reading, printing and reading again, with each allocation failing in turn. */
static void test_report__every_allocation_fails__told(void **state)
{
    static const char text[] = "{\"a\":{\"qps\":1,\"index_info\":{\"x\":[1,\"y\"]},\"index\":\"flat\"},\"b\":{\"recall_avg\":0.5}}";
    struct fixture *f = *state;
    grebe_status st = GREBE_ENOMEM;
    for (size_t at = 1; st != GREBE_OK; at++) {
        struct test_allocator t;
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *ctx = NULL;
        struct ann_report r;
        test_allocator_init(&t);
        o.allocator = &t.a;
        assert_ok(context_new(&o, &ctx, &err));
        struct buf b = BUF_INIT(ctx->a);
        ann_report_init(&r, ctx);
        t.fail_at = t.n_calls + at;
        st = ann_report_parse(&r, text, strlen(text), &err);
        assert_int_equal(r.n, st == GREBE_OK ? 2 : 0);
        st = st == GREBE_OK ? ann_report_print(&r, ANN_FORM_JSON, 0, &b, &err) : st;
        st = st == GREBE_OK ? ann_report_print(&r, ANN_FORM_TABLE, 0, &b, &err) : st;
        t.fail_at = 0;
        buf_release(&b);
        ann_report_release(&r);
        context_free(ctx);
        assert_int_equal(t.n_live, 0);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_report__json__every_key_and_null, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report__json_read_again__same_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report__names_that_look_numbered__each_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report__bad_json__place_and_nothing_added, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report__line_protocol__escaped_and_missing_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report__table__aligned, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report__forms_and_sinks__unknown_ones_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report__file_sinks__replaced_and_appended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report__json_of_eval_performance__read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report__every_allocation_fails__told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_eval__latency__percentiles_by_floor, setup, teardown),
        cmocka_unit_test_setup_teardown(test_eval__ranges__recall_precision_average_precision, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
