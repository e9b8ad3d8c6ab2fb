/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans with a predicate against the predicate applied to a plain scan: statistics, page indexes,
 * bloom filters and late reading may save work and nothing else.
 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/arrow_stream.h"
#include "expr/expr.h"
#include "grebe/source.h"

#define GOLDEN TEST_DATA "/golden/parquet/"

enum { ROWS_MAX = 8192 };

struct ids {
    int64_t id[ROWS_MAX];
    size_t n;
};

static void add_ids(struct ids *out, const struct ArrowArray *column, const uint8_t *keep)
{
    const int64_t *v = column->buffers[1];
    for (int64_t i = 0; i < column->length; i++) {
        if (keep == NULL || bit_get(keep, i)) {
            assert_true(out->n < ROWS_MAX);
            out->id[out->n++] = v[column->offset + i];
        }
    }
}

static grebe_source *open_source(grebe_context *ctx, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_source *s = NULL;
    assert_ok(grebe_source_open(ctx, path, NULL, &s, &err));
    return s;
}

/* Row ids that the expression keeps, found without any pruning. */
static void find_expected(grebe_source *source, const char *where, struct ids *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    struct expr *e = NULL;
    static uint8_t keep[ROWS_MAX / 8];
    o.with_row_id = true;
    out->n = 0;
    assert_ok(grebe_source_scan(source, &o, &s, &err));
    assert_ok(stream_schema(&s, &schema, &err));
    assert_ok(expr_parse(mem_system(), where, &e, &err));
    assert_ok(expr_bind(e, &schema, &err));
    for (;;) {
        struct ArrowArray b;
        grebe_status st = stream_next(&s, &b, &err);
        if (st == GREBE_END) {
            break;
        }
        assert_ok(st);
        assert_true(b.length <= ROWS_MAX);
        assert_ok(expr_eval_rows(e, &b, keep, NULL, &err));
        add_ids(out, b.children[0], keep);
        array_release(&b);
    }
    expr_free(e);
    schema_release(&schema);
    stream_release(&s);
}

struct way {
    uint32_t threads;
    int64_t batch_rows, limit;
    bool all_columns;
};

static void find_found(grebe_source *source, const char *where, const struct way *w, struct ids *out)
{
    static const char *const none[] = { NULL };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    call.threads = w->threads;
    o.call = &call;
    o.where = where;
    o.with_row_id = true;
    o.batch_rows = w->batch_rows;
    o.limit = w->limit;
    if (!w->all_columns) {
        o.columns = none;
    }
    out->n = 0;
    assert_ok(grebe_source_scan(source, &o, &s, &err));
    assert_ok(stream_schema(&s, &schema, &err));
    for (;;) {
        struct ArrowArray b;
        grebe_status st = stream_next(&s, &b, &err);
        if (st == GREBE_END) {
            break;
        }
        assert_ok(st);
        assert_true(b.length > 0 && (w->batch_rows == 0 || b.length <= w->batch_rows));
        assert_ok(array_check(&schema, &b, true, &err));
        add_ids(out, b.children[0], NULL);
        array_release(&b);
    }
    schema_release(&schema);
    stream_release(&s);
}

/* The same rows, with the values that a take of them gives. */
static void check_values(grebe_source *source, const char *where, const struct ids *expected)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    size_t at = 0;
    o.where = where;
    assert_ok(grebe_source_scan(source, &o, &s, &err));
    assert_ok(stream_schema(&s, &schema, &err));
    for (;;) {
        struct ArrowArray b, taken;
        grebe_status st = stream_next(&s, &b, &err);
        if (st == GREBE_END) {
            break;
        }
        assert_ok(st);
        assert_ok(grebe_source_take(source, expected->id + at, (size_t)b.length, NULL, &taken, NULL,
                                    &err));
        assert_true(array_equal(&schema, &b, &taken));
        at += (size_t)b.length;
        array_release(&b);
        array_release(&taken);
    }
    assert_int_equal(at, expected->n);
    schema_release(&schema);
    stream_release(&s);
}

static void check_where(grebe_source *source, const char *name, const char *where)
{
    static struct ids expected, found;
    static const struct way ways[] = {
        { 1, 0, -1, true }, { 4, 0, -1, true }, { 1, 7, -1, false }, { 4, 100, -1, false },
        { 1, 0, 3, true },  { 2, 5, 1, false }, { 1, 0, 0, true },
    };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    int64_t count = 0;
    find_expected(source, where, &expected);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        size_t n = expected.n;
        if (ways[i].limit >= 0 && (size_t)ways[i].limit < n) {
            n = (size_t)ways[i].limit;
        }
        find_found(source, where, &ways[i], &found);
        if (found.n != n || memcmp(found.id, expected.id, n * sizeof *found.id) != 0) {
            fail_msg("%s where %s, way %zu: %zu rows, expected %zu", name, where, i, found.n, n);
        }
    }
    o.where = where;
    assert_ok(grebe_source_count(source, &o, &count, &err));
    assert_int_equal(count, expected.n);
    check_values(source, where, &expected);
}

static void check_all(grebe_context *ctx, const char *name, const char *const *where)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s", name);
    grebe_source *source = open_source(ctx, path);
    for (size_t i = 0; where[i] != NULL; i++) {
        check_where(source, name, where[i]);
    }
    grebe_source_close(source);
}

static int set_up(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    assert_ok(grebe_context_new(NULL, &ctx, &err));
    *state = ctx;
    return 0;
}

static int tear_down(void **state)
{
    grebe_context_free(*state);
    return 0;
}

/* ---- floats ---- */

static void test_where__floats_with_nan_and_zeros__no_row_lost(void **state)
{
    static const char *const columns[] = { "float_ieee754",  "float_typedef",   "double_ieee754",
                                           "double_typedef", "float16_ieee754", "float16_typedef" };
    static const char *const forms[] = {
        "%s = 0.0", "%s = -0.0", "%s < 0", "%s > 0", "%s >= 0.0", "%s <= -0.0", "%s < 3.5",
        "%s > 2", "is_nan(%s)", "not is_nan(%s)", "%s <> 0", "%s in (0.0, 5)", "not (%s > 1)",
        "%s is null", "%s between -1 and 1",
    };
    grebe_source *source =
        open_source(*state, GOLDEN "testing/floating_orders_nan_count.parquet");
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
            char where[128];
            int n = snprintf(where, sizeof where, forms[k], columns[c]);
            assert_true(n > 0 && (size_t)n < sizeof where);
            check_where(source, "floating_orders_nan_count", where);
        }
    }
    grebe_source_close(source);
    check_all(*state, "testing/nan_in_stats.parquet",
              (const char *const[]){ "x > 0", "x = 1", "is_nan(x)", "x > 1e300", NULL });
    check_all(*state, "testing/float16_nonzeros_and_nans.parquet",
              (const char *const[]){ "x = 0.0", "x = -0.0", "x < 0", "is_nan(x)", "x is null", NULL });
}

/* ---- indexes ---- */

static void test_where__page_indexes__same_rows(void **state)
{
    check_all(*state, "pa_small_pages.parquet",
              (const char *const[]){ "id between 100 and 130", "id < 40 or id > 590",
                                     "id between 100 and 300 and i8 > 50", "s = 'row-77'",
                                     "s like 'row-1%'", "not (id >= 20)", "i8 is null",
                                     "id in (3, 300, 599) or i32 is null", "id + 1 = 7", NULL });
    check_all(*state, "peers/pa_page_index.parquet",
              (const char *const[]){ "sorted < 100", "sorted > 500 and sorted < 520",
                                     "sorted = 77 or key is null", "sparse is null",
                                     "sparse is not null and sorted > 300", "price > 0.5", NULL });
    check_all(*state, "peers/pa_page_index_null_pages.parquet",
              (const char *const[]){ "v is null", "v is not null", "v > 5", "v < 100 or t is null",
                                     "v = 3", "t is not null and v is null", NULL });
    check_all(*state, "peers/pl_row_groups_pages.parquet",
              (const char *const[]){ "id < 50", "id between 70 and 160", "id = 200 or id = 3", NULL });
    check_all(*state, "testing/alltypes_tiny_pages.parquet",
              (const char *const[]){ "id < 300", "id between 1000 and 1100 and int_col = 3",
                                     "id = 7299 or id = 5", "month = 6 and id % 7 = 0", NULL });
    check_all(*state, "testing/int32_with_null_pages.parquet",
              (const char *const[]){ "int32_field is null", "int32_field > 0",
                                     "int32_field < -1000000000", "int32_field is not null", NULL });
    check_all(*state, "testing/datapage_v1-uncompressed-checksum.parquet",
              (const char *const[]){ "a is null", "a is not null", "a > 0 and b < 0", NULL });
    check_all(*state, "testing/datapage_v1-snappy-compressed-checksum.parquet",
              (const char *const[]){ "a is not null", "a > 0 and b < 0", NULL });
}

static void test_where__truncated_bounds__prune_right(void **state)
{
    check_all(*state, "testing/binary_truncated_min_max.parquet",
              (const char *const[]){ "utf8_full_truncation = 'Kevin Bacon'",
                                     "utf8_full_truncation < 'B'", "utf8_full_truncation > 'Z'",
                                     "utf8_partial_truncation >= 'Alice'",
                                     "utf8_no_truncation = 'Blart Versenwald III'",
                                     "utf8_full_truncation like '%son'", NULL });
}

/* The plan knows of fewer rows than the chunks have. */
static void test_explain__page_index__rows_of_pages_that_remain(void **state)
{
    static const struct {
        const char *name, *where;
        int64_t n_rows, most;
    } cases[] = {
        { "pa_small_pages.parquet", "id between 100 and 130", 600, 599 },
        { "testing/alltypes_tiny_pages.parquet", "id = 7299", 7300, 400 },
        { "testing/int32_with_null_pages.parquet", "int32_field is not null", 1000, 999 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
        grebe_explain *e = NULL;
        char path[512];
        snprintf(path, sizeof path, GOLDEN "%s", cases[i].name);
        grebe_source *source = open_source(*state, path);
        const grebe_table *t = grebe_source_table(source);
        assert_ok(grebe_table_explain(t, &o, &e, &err));
        assert_int_equal(e->n_rows, cases[i].n_rows);
        grebe_explain_free(e);
        o.where = cases[i].where;
        assert_ok(grebe_table_explain(t, &o, &e, &err));
        assert_true(e->n_rows > 0 && e->n_rows <= cases[i].most);
        grebe_explain_free(e);
        grebe_source_close(source);
    }
}

/* ---- bloom filters ---- */

static void test_where__bloom_filters__same_rows_and_chunks_left_out(void **state)
{
    check_all(*state, "peers/pa_bloom_filter.parquet",
              (const char *const[]){ "key = 'nothing like it'", "sorted = 3", "sorted in (5, 6)",
                                     "price = 0.0", "price = 0.1234", "url = ''",
                                     "not (key <> 'x')", NULL });
    check_all(*state, "peers/duck_bloom_filter.parquet",
              (const char *const[]){ "s = 'zz'", "s in ('a', 'b')", "s is null", NULL });
    check_all(*state, "testing/data_index_bloom_encoding_stats.parquet",
              (const char *const[]){ "String = 'Hello'", "String = 'dog'",
                                     "String in ('dog', 'Hello_Not_Exists')", NULL });
    static const char *const files[] = { "testing/data_index_bloom_encoding_stats.parquet",
                                         "testing/data_index_bloom_encoding_with_length.parquet" };
    for (size_t i = 0; i < 2; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
        grebe_explain *e = NULL;
        char path[512];
        snprintf(path, sizeof path, GOLDEN "%s", files[i]);
        grebe_source *source = open_source(*state, path);
        const grebe_table *t = grebe_source_table(source);
        o.where = "String = 'Hello_Not_Exists'"; /* within the bounds: "Hello" to "dog" */
        assert_ok(grebe_table_explain(t, &o, &e, &err));
        assert_int_equal(e->n_chunks_read, 0);
        grebe_explain_free(e);
        o.where = "String in ('dog', 'Hello_Not_Exists')";
        assert_ok(grebe_table_explain(t, &o, &e, &err));
        assert_int_equal(e->n_chunks_read, 1);
        grebe_explain_free(e);
        grebe_source_close(source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_where__floats_with_nan_and_zeros__no_row_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where__page_indexes__same_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where__truncated_bounds__prune_right, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_explain__page_index__rows_of_pages_that_remain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where__bloom_filters__same_rows_and_chunks_left_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
