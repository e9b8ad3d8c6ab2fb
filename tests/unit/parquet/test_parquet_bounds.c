/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_format.h"

#include <math.h>
#include <stdio.h>

#include "test_support.h"

#define GOLDEN TEST_DATA "/golden/parquet/"

struct fixture {
    grebe_context *ctx;
    struct io_store *store;
    struct call call;
};

static void open_fixture(struct fixture *f)
{
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(context_new(NULL, &f->ctx, &err));
    assert_ok(io_local_new(f->ctx, &f->store, &err));
    f->call = (struct call){ .threads = 1, .memory_limit_bytes = UINT64_MAX };
}

static void close_fixture(struct fixture *f)
{
    io_store_free(f->store);
    context_free(f->ctx);
}

static struct format_reader *open_file(struct fixture *f, const char *name)
{
    char path[512];
    grebe_error err = GREBE_ERROR_INIT;
    struct format_reader *r = NULL;
    snprintf(path, sizeof path, GOLDEN "%s", name);
    assert_ok(parquet_format.open(f->store, path, NULL, &r, &err));
    return r;
}

/* Bounds lie in the footer, where nothing is aligned. */
static int64_t load_i64(const void *p)
{
    int64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static double load_real(bool is_float, const void *p)
{
    float f;
    double d;
    if (is_float) {
        memcpy(&f, p, sizeof f);
        return (double)f;
    }
    memcpy(&d, p, sizeof d);
    return d;
}

static struct column_bounds bounds_of(struct format_reader *r, const char *column, size_t chunk)
{
    struct column_bounds b;
    grebe_error err = GREBE_ERROR_INIT;
    int c = -1;
    assert_ok(schema_find(&r->schema, column, &c, &err));
    assert_ok(r->ops->bounds(r, c, chunk, &b, &err));
    return b;
}

static void test_bounds__formula_file__of_the_arrow_type(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    struct format_reader *r = open_file(&f, "pa_default.parquet");
    struct column_bounds b = bounds_of(r, "id", 1); /* rows 250 … 499 */
    assert_true(b.has_min && b.has_max && b.has_null_count && b.null_count == 0);
    assert_int_equal(b.n_values, 250);
    assert_int_equal(load_i64(b.min), 250);
    assert_int_equal(load_i64(b.max), 997);
    b = bounds_of(r, "i8", 0); /* stored in 32 bits, one byte here */
    assert_int_equal(b.min_len, 1);
    assert_int_equal(*(const int8_t *)b.min, -100);
    assert_int_equal(*(const int8_t *)b.max, 98);
    assert_int_equal(b.null_count, 36);
    b = bounds_of(r, "u64", 0);
    assert_true(load_i64(b.max) == -1);
    b = bounds_of(r, "b", 0);
    assert_int_equal(b.max_len, 1);
    assert_int_equal(*(const uint8_t *)b.min, 0);
    assert_int_equal(*(const uint8_t *)b.max, 1);
    b = bounds_of(r, "s", 0);
    assert_int_equal(b.min_len, 5);
    assert_memory_equal(b.min, "row-0", 5);
    b = bounds_of(r, "dec", 0); /* big-endian: no bound of the Arrow form lies anywhere */
    assert_false(b.has_min || b.has_max);
    b = bounds_of(r, "li", 0);
    assert_false(b.has_min || b.has_max || b.has_null_count);
    b = bounds_of(r, "none", 0);
    assert_int_equal(b.null_count, 250);
    assert_false(b.has_min);
    r->ops->close(r);
    close_fixture(&f);
}

static void test_bounds__nan__no_bound(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    struct format_reader *r = open_file(&f, "testing/nan_in_stats.parquet");
    struct column_bounds b = bounds_of(r, "x", 0);
    assert_false(b.has_max); /* the file says NaN */
    r->ops->close(r);
    close_fixture(&f);
}

static void test_bounds__floats__zeros_widened_and_no_value_lost(void **state)
{
    (void)state;
    static const char *const columns[] = { "float_ieee754", "float_typedef", "double_ieee754",
                                           "double_typedef" };
    struct fixture f;
    open_fixture(&f);
    struct format_reader *r = open_file(&f, "testing/floating_orders_nan_count.parquet");
    for (size_t i = 0; i < 4; i++) {
        bool is_float = i < 2;
        int c = -1;
        grebe_error err = GREBE_ERROR_INIT;
        assert_ok(schema_find(&r->schema, columns[i], &c, &err));
        for (size_t chunk = 0; chunk < r->n_chunks; chunk++) {
            struct column_bounds b = bounds_of(r, columns[i], chunk);
            struct ArrowArray rows;
            assert_ok(r->ops->read(r, &c, 1, r->chunk_begin[chunk], r->chunk_begin[chunk + 1],
                                   &f.call, &rows, &err));
            const void *values = rows.children[0]->buffers[1];
            double min = b.has_min ? load_real(is_float, b.min) : -INFINITY;
            double max = b.has_max ? load_real(is_float, b.max) : INFINITY;
            int64_t n_nans = 0;
            for (int64_t k = 0; k < rows.length; k++) {
                double v = is_float ? (double)((const float *)values)[k] : ((const double *)values)[k];
                n_nans += isnan(v) != 0;
                assert_true(isnan(v) || (v >= min && v <= max));
                /* -0 == +0 to C: by sign, a zero bound must lie outside both */
                assert_false(v == 0 && b.has_min && min == 0 && !signbit(min));
                assert_false(v == 0 && b.has_max && max == 0 && signbit(max));
            }
            if (b.has_nan_count) {
                assert_int_equal(b.nan_count, n_nans);
            }
            array_release(&rows);
        }
    }
    r->ops->close(r);
    close_fixture(&f);
}

static void test_bounds__truncated__flags_tell(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    struct format_reader *r = open_file(&f, "testing/binary_truncated_min_max.parquet");
    struct column_bounds b = bounds_of(r, "utf8_full_truncation", 0);
    assert_true(b.has_min && b.has_max);
    assert_false(b.is_min_exact || b.is_max_exact);
    b = bounds_of(r, "utf8_partial_truncation", 0);
    assert_true(b.is_max_exact && !b.is_min_exact);
    b = bounds_of(r, "utf8_no_truncation", 0);
    assert_true(b.is_max_exact && b.is_min_exact);
    r->ops->close(r);
    close_fixture(&f);
}

static void test_bounds__old_files__byte_strings_have_none(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    /* unknown logical type: its order is unknown too */
    struct format_reader *r = open_file(&f, "testing/unknown-logical-type.parquet");
    struct column_bounds b = bounds_of(r, "column with unknown type", 0);
    assert_false(b.has_min || b.has_max);
    r->ops->close(r);
    /* parquet-mr without column orders */
    r = open_file(&f, "testing/nation.dict-malformed.parquet");
    b = bounds_of(r, "name", 0);
    assert_false(b.has_min || b.has_max);
    r->ops->close(r);
    close_fixture(&f);
}

static void count_errors(void *arg, bool is_error, const char *place, const char *message)
{
    assert_true(place[0] != 0 && message[0] != 0);
    *(int *)arg += is_error;
}

static void test_check__bad_files__findings(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int n_errors;
    } cases[] = { { "testing/datapage_v1-corrupt-checksum.parquet", 2 },
                  { "testing/rle-dict-uncompressed-corrupt-checksum.parquet", 2 },
                  { "testing/ARROW-GH-45185.parquet", 1 },
                  { "testing/ARROW-GH-47662.parquet", 1 },
                  { "testing/list_columns.parquet", 0 },
                  { "testing/encrypt_columns_plaintext_footer.parquet.encrypted", 0 } };
    struct fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        int n_errors = 0;
        struct format_reader *r = open_file(&f, cases[i].name);
        assert_ok(r->ops->check(r, true, &f.call, count_errors, &n_errors, &err));
        if (n_errors != cases[i].n_errors) {
            fail_msg("%s: %d errors, expected %d", cases[i].name, n_errors, cases[i].n_errors);
        }
        r->ops->close(r);
    }
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds__formula_file__of_the_arrow_type),
        cmocka_unit_test(test_bounds__nan__no_bound),
        cmocka_unit_test(test_bounds__floats__zeros_widened_and_no_value_lost),
        cmocka_unit_test(test_bounds__truncated__flags_tell),
        cmocka_unit_test(test_bounds__old_files__byte_strings_have_none),
        cmocka_unit_test(test_check__bad_files__findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
