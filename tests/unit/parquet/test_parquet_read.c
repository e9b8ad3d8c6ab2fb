/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_format.h"

#include <stdlib.h>

#include "io/io_fault.h"
#include "parquet/parquet_file.h"
#include "parquet_formula.h"

#define GOLDEN TEST_DATA "/golden/parquet/"

struct fixture {
    grebe_context *ctx;
    struct io_store *store;
    struct call call;
};

static void open_fixture(struct fixture *f, uint32_t threads)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    assert_ok(context_new(&options, &f->ctx, &err));
    assert_ok(io_local_new(f->ctx, &f->store, &err));
    f->call = (struct call){ .threads = threads, .memory_limit_bytes = UINT64_MAX };
}

static void close_fixture(struct fixture *f)
{
    io_store_free(f->store);
    context_free(f->ctx);
}

static struct format_reader *open_file(struct fixture *f, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct format_reader *r = NULL;
    assert_ok(parquet_format.open(f->store, path, NULL, &r, &err));
    return r;
}

/* ---- files whose values are formulas ---- */

static const char *const formula_files[] = {
    "pa_default",      "pa_plain",           "pa_v2_zstd", "pa_small_pages", "pa_small_pages_v1_lz4",
    "pa_format_1_0_gzip", "pa_delta",        "pa_delta_v2", "duck_default",  "duck_v2_zstd",
    "pl_default",
};

static void assert_rows(const struct format_reader *r, const struct ArrowArray *rows,
                        const int64_t *ids, int64_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(array_check(&r->schema, rows, true, &err));
    assert_int_equal(rows->length, n);
    assert_int_equal(rows->n_children, r->schema.n_children);
    for (int64_t c = 0; c < rows->n_children; c++) {
        for (int64_t k = 0; k < n; k++) {
            assert_row(&r->schema, rows, c, k, ids[k]);
        }
    }
}

static void check_range(struct fixture *f, struct format_reader *r, int64_t begin, int64_t end)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows;
    int64_t ids[FORMULA_ROWS];
    for (int64_t i = begin; i < end; i++) {
        ids[i - begin] = i;
    }
    assert_ok(r->ops->read(r, NULL, 0, begin, end, &f->call, &rows, &err));
    assert_rows(r, &rows, ids, end - begin);
    array_release(&rows);
}

static int ascending(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void check_takes(struct fixture *f, struct format_reader *r, uint64_t *seed)
{
    static const int counts[] = { 0, 1, 2, 7, 40, 300, 900 };
    for (size_t t = 0; t < sizeof counts / sizeof *counts; t++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct ArrowArray rows;
        int64_t ids[900];
        int64_t n = counts[t];
        for (int64_t i = 0; i < n; i++) {
            ids[i] = (int64_t)(test_random(seed) % FORMULA_ROWS);
        }
        qsort(ids, (size_t)n, sizeof *ids, ascending);
        assert_ok(r->ops->take(r, NULL, 0, ids, n, &f->call, &rows, &err));
        assert_rows(r, &rows, ids, n);
        array_release(&rows);
    }
}

static void check_formula_file(struct fixture *f, const char *path, uint64_t *seed)
{
    struct format_reader *r = open_file(f, path);
    assert_int_equal(r->n_rows, FORMULA_ROWS);
    for (size_t i = 0; i < r->n_chunks; i++) {
        check_range(f, r, r->chunk_begin[i], r->chunk_begin[i + 1]);
    }
    check_takes(f, r, seed);
    for (int i = 0; i < 20; i++) {
        size_t chunk = (size_t)(test_random(seed) % r->n_chunks);
        int64_t n = r->chunk_begin[chunk + 1] - r->chunk_begin[chunk];
        int64_t begin = r->chunk_begin[chunk] + (int64_t)(test_random(seed) % (uint64_t)n);
        int64_t left = r->chunk_begin[chunk + 1] - begin;
        check_range(f, r, begin, begin + (int64_t)(test_random(seed) % (uint64_t)(left + 1)));
    }
    r->ops->close(r);
}

static void test_read__formula_files__values_by_formula(void **state)
{
    (void)state;
    struct fixture f;
    uint64_t seed = test_seed();
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        open_fixture(&f, threads);
        for (size_t i = 0; i < sizeof formula_files / sizeof *formula_files; i++) {
            char path[512];
            snprintf(path, sizeof path, GOLDEN "%s.parquet", formula_files[i]);
            check_formula_file(&f, path, &seed);
        }
        close_fixture(&f);
    }
}

static void test_read__store_without_map__same_values(void **state)
{
    (void)state;
    struct fixture f;
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    struct io_fault_store *fault = NULL;
    open_fixture(&f, 1);
    assert_ok(io_fault_new(f.ctx, f.store, &fault, &err));
    fault->plan.no_map = true;
    fault->plan.read_bytes_max = 1000;
    f.store = &fault->store;
    check_formula_file(&f, GOLDEN "pa_default.parquet", &seed);
    check_formula_file(&f, GOLDEN "pa_small_pages.parquet", &seed);
    close_fixture(&f);
}

static void collect(void *arg, bool is_error, const char *place, const char *message)
{
    if (is_error) {
        fail_msg("%s: %s", place, message);
    }
    ++*(int *)arg;
}

static void test_check__formula_files__no_errors(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    for (size_t i = 0; i < sizeof formula_files / sizeof *formula_files; i++) {
        char path[512];
        grebe_error err = GREBE_ERROR_INIT;
        int n_warnings = 0;
        snprintf(path, sizeof path, GOLDEN "%s.parquet", formula_files[i]);
        struct format_reader *r = open_file(&f, path);
        assert_ok(r->ops->check(r, true, &f.call, collect, &n_warnings, &err));
        struct buf json = BUF_INIT(f.ctx->a);
        assert_ok(r->ops->inspect(r, &json, &err));
        assert_non_null(strstr(buf_text(&json), "\"format\":\"parquet\""));
        assert_non_null(strstr(buf_text(&json), "\"pages\":[{"));
        buf_release(&json);
        r->ops->close(r);
    }
    close_fixture(&f);
}

/* ---- the cache ---- */

static void test_open__unchanged_file__one_stat_no_reads(void **state)
{
    (void)state;
    struct fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    struct io_fault_store *fault = NULL;
    open_fixture(&f, 1);
    assert_ok(io_fault_new(f.ctx, f.store, &fault, &err));
    f.store = &fault->store;
    struct format_reader *r = open_file(&f, GOLDEN "pa_plain.parquet");
    struct pq_file *file = ((struct pq_reader *)r)->file;
    r->ops->close(r);
    uint64_t calls = atomic_load(&fault->counts.calls);
    r = open_file(&f, GOLDEN "pa_plain.parquet");
    assert_ptr_equal(((struct pq_reader *)r)->file, file);
    assert_int_equal(atomic_load(&fault->counts.calls) - calls, 1);
    r->ops->close(r);
    close_fixture(&f);
}

static void test_open__file_replaced__new_content_read(void **state)
{
    (void)state;
    struct fixture f;
    char *folder = test_folder_new();
    char path[512];
    size_t len = 0;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows;
    open_fixture(&f, 1);
    snprintf(path, sizeof path, "%s/x.parquet", folder);
    unsigned char *bytes = test_read_file(GOLDEN "testing/nan_in_stats.parquet", &len);
    test_write_file(path, bytes, len);
    free(bytes);
    struct format_reader *r = open_file(&f, path);
    assert_int_equal(r->n_rows, 2);
    r->ops->close(r);
    bytes = test_read_file(GOLDEN "testing/null_list.parquet", &len);
    assert_int_equal(remove(path), 0);
    test_write_file(path, bytes, len);
    free(bytes);
    r = open_file(&f, path);
    assert_int_equal(r->n_rows, 1);
    assert_ok(r->ops->read(r, NULL, 0, 0, 1, &f.call, &rows, &err));
    r->ops->close(r);
    array_release(&rows); /* may outlive its reader */
    close_fixture(&f);
    test_folder_remove(folder);
}

/* ---- zero copy ---- */

/* id int64 and v fixed_size_list<float>[16], n rows, written by this library into memory. */
static void write_vectors(struct fixture *f, const char *path, int64_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = f->ctx->a;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct io_writer *to = NULL;
    struct format_writer *w = NULL;
    struct file_summary summary;
    struct format_write_options options = FORMAT_WRITE_OPTIONS_INIT;
    void *p;
    options.call = f->call;
    options.row_group_rows = 1024;
    assert_ok(schema_new(a, "+s", "", false, 2, &schema, &err));
    assert_ok(schema_new(a, "l", "id", false, 0, schema.children[0], &err));
    assert_ok(schema_new(a, "+w:16", "v", false, 1, schema.children[1], &err));
    assert_ok(schema_new(a, "f", "item", false, 0, schema.children[1]->children[0], &err));
    assert_ok(array_new(a, n, 1, 2, &batch, &err));
    assert_ok(array_new(a, n, 2, 0, batch.children[0], &err));
    assert_ok(array_alloc_buffer(a, batch.children[0], 1, (size_t)n * 8, &p, &err));
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)p)[i] = i * 7;
    }
    assert_ok(array_new(a, n, 1, 1, batch.children[1], &err));
    assert_ok(array_new(a, n * 16, 2, 0, batch.children[1]->children[0], &err));
    assert_ok(array_alloc_buffer(a, batch.children[1]->children[0], 1, (size_t)n * 64, &p, &err));
    for (int64_t i = 0; i < n * 16; i++) {
        ((float *)p)[i] = (float)i;
    }
    assert_ok(io_create(f->store, path, false, &to, &err));
    assert_ok(parquet_format.create(f->ctx, to, &schema, &options, &w, &err));
    assert_ok(w->ops->write(w, &batch, &err));
    assert_ok(w->ops->finish(w, &summary, &err));
    assert_ok(io_writer_publish(to, true, &err));
    w->ops->free(w);
    io_writer_free(to);
    array_release(&batch);
    schema_release(&schema);
}

static void test_read__vectors_of_our_writer__views_of_the_map(void **state)
{
    (void)state;
    enum { N = 5000 };
    struct fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows;
    int column = 1;
    open_fixture(&f, 2);
    io_store_free(f.store);
    assert_ok(io_memory_new(f.ctx, &f.store, &err));
    write_vectors(&f, "v.parquet", N);
    struct format_reader *r = open_file(&f, "v.parquet");
    const struct region *map = ((struct pq_reader *)r)->io->map;
    assert_non_null(map);
    assert_int_equal(r->n_rows, N);
    assert_string_equal(r->schema.children[column]->format, "+w:16");
    for (size_t i = 0; i < r->n_chunks; i++) {
        int64_t begin = r->chunk_begin[i] + 3;
        assert_ok(r->ops->read(r, &column, 1, begin, r->chunk_begin[i + 1], &f.call, &rows, &err));
        const unsigned char *p = rows.children[0]->children[0]->buffers[1];
        assert_true(p >= map->data && p < map->data + map->len);
        assert_int_equal((uintptr_t)p % 8, 0);
        assert_true(((const float *)(const void *)p)[16] == (float)((begin + 1) * 16));
        array_release(&rows);
    }
    int64_t ids[1000];
    uint64_t seed = test_seed();
    for (int i = 0; i < 1000; i++) {
        ids[i] = (int64_t)(test_random(&seed) % N);
    }
    qsort(ids, 1000, sizeof *ids, ascending);
    assert_ok(r->ops->take(r, NULL, 0, ids, 1000, &f.call, &rows, &err));
    r->ops->close(r);
    for (int i = 0; i < 1000; i++) {
        const int64_t *id = rows.children[0]->buffers[1];
        const float *v = rows.children[1]->children[0]->buffers[1];
        assert_int_equal(id[i], ids[i] * 7);
        assert_true(v[16 * i + 5] == (float)(ids[i] * 16 + 5));
    }
    array_release(&rows);
    close_fixture(&f);
}

/* ---- files of other hands ---- */

static void expect_column(struct fixture *f, const char *file, const char *column,
                          const char *expected)
{
    char path[512];
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows;
    int c = -1;
    snprintf(path, sizeof path, GOLDEN "%s", file);
    struct format_reader *r = open_file(f, path);
    assert_ok(schema_find(&r->schema, column, &c, &err));
    struct text t = { .len = 0 };
    for (size_t i = 0; i < r->n_chunks; i++) {
        assert_ok(r->ops->read(r, &c, 1, r->chunk_begin[i], r->chunk_begin[i + 1], &f->call, &rows,
                               &err));
        for (int64_t k = 0; k < rows.length && t.len < 1800; k++) {
            add(&t, t.len == 0 ? "%s" : " %s", "");
            add_value(&t, r->schema.children[c], rows.children[0], k);
        }
        array_release(&rows);
    }
    t.s[strlen(expected) < t.len ? strlen(expected) : t.len] = 0;
    assert_string_equal(t.s, expected);
    r->ops->close(r);
}

static void test_read__odd_files__known_values(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    expect_column(&f, "testing/old_list_structure.parquet", "a", "[[1,2],[3,4]]");
    expect_column(&f, "testing/null_list.parquet", "emptylist", "[]");
    expect_column(&f, "testing/list_columns.parquet", "int64_list", "[1,2,3] [null,1] [4]");
    expect_column(&f, "testing/list_columns.parquet", "utf8_list",
                  "[\"abc\",\"efg\",\"hij\"] null [\"efg\",null,\"hij\",\"xyz\"]");
    expect_column(&f, "testing/nested_lists.snappy.parquet", "a",
                  "[[[\"a\",\"b\"],[\"c\"]],[null,[\"d\"]]]");
    expect_column(&f, "testing/nested_maps.snappy.parquet", "a",
                  "[{\"a\",[{1,true},{2,false}]}] [{\"b\",[{1,true}]}]");
    expect_column(&f, "testing/repeated_primitive_no_list.parquet", "Int32_list",
                  "[0,1,2,3] [] [4] [5,6,7,8]");
    expect_column(&f, "testing/repeated_no_annotation.parquet", "phoneNumbers",
                  "null null {[]} {[{5555555555,null}]} {[{1111111111,\"home\"}]} "
                  "{[{1111111111,\"home\"},{2222222222,null},{3333333333,\"mobile\"}]}");
    expect_column(&f, "testing/incorrect_map_schema.parquet", "my_map",
                  "[{\"parent\",\"another\"},{\"name\",\"report\"}]");
    expect_column(&f, "testing/map_no_value.parquet", "my_map_no_v", "[1,2,3] [4,5,6] [7,8,9]");
    expect_column(&f, "testing/dict-page-offset-zero.parquet", "l_partkey", "1552 1552 1552");
    expect_column(&f, "testing/nation.dict-malformed.parquet", "name",
                  "x414c4745524941 x415247454e54494e41");
    expect_column(&f, "testing/concatenated_gzip_members.parquet", "long_col", "1 2 3 4 5 6 7");
    expect_column(&f, "testing/datapage_v2_empty_datapage.snappy.parquet", "value", "null");
    expect_column(&f, "testing/page_v2_empty_compressed.parquet", "integer_column",
                  "null null null null null null null null null null");
    expect_column(&f, "testing/hadoop_lz4_compressed.parquet", "c0",
                  "1593604800 1593604800 1593604801 1593604801");
    expect_column(&f, "testing/byte_array_decimal.parquet", "value", "100 200 300 400 500");
    expect_column(&f, "testing/fixed_length_decimal_legacy.parquet", "value", "100 200 300 400");
    expect_column(&f, "testing/ARROW-GH-43605.parquet", "min_fl", "0 0 0 0");
    expect_column(&f, "milvus/column_group_0.parquet", "id", "0 1 2 3 4 5 6 7");
    close_fixture(&f);
}

static void expect_failure(struct fixture *f, const char *file, const char *column,
                           grebe_status status, const char *fragment)
{
    char path[512];
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows;
    struct format_reader *r = NULL;
    int c = -1;
    snprintf(path, sizeof path, GOLDEN "testing/%s", file);
    if (column == NULL) {
        assert_fails(parquet_format.open(f->store, path, NULL, &r, &err), status, fragment);
        return;
    }
    r = open_file(f, path);
    assert_ok(schema_find(&r->schema, column, &c, &err));
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < r->n_chunks && st == GREBE_OK; i++) {
        st = r->ops->read(r, &c, 1, r->chunk_begin[i], r->chunk_begin[i + 1], &f->call, &rows, &err);
        assert_true(st != GREBE_OK || rows.release != NULL);
        if (st == GREBE_OK) {
            array_release(&rows);
        } else {
            assert_null(rows.release);
        }
    }
    assert_int_equal(st, status);
    if (strstr(err.message, fragment) == NULL || strstr(err.message, column) == NULL) {
        fail_msg("%s: message \"%s\" lacks \"%s\"", file, err.message, fragment);
    }
    r->ops->close(r);
}

static void test_read__bad_files__named_errors(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    expect_failure(&f, "PARQUET-1481.parquet", NULL, GREBE_ECORRUPT, "physical type");
    expect_failure(&f, "uniform_encryption.parquet.encrypted", NULL, GREBE_EUNSUPPORTED,
                   "footer is encrypted");
    expect_failure(&f, "encrypt_columns_plaintext_footer.parquet.encrypted", "double_field",
                   GREBE_EUNSUPPORTED, "encrypted");
    expect_column(&f, "testing/encrypt_columns_plaintext_footer.parquet.encrypted", "boolean_field",
                  "true false true false true");
    expect_failure(&f, "ARROW-RS-GH-6229-DICTHEADER.parquet", "name", GREBE_ECORRUPT, "-26 values");
    expect_column(&f, "testing/ARROW-RS-GH-6229-DICTHEADER.parquet", "nation_key", "0 1 2 3");
    expect_failure(&f, "ARROW-RS-GH-6229-LEVELS.parquet", "outer", GREBE_ECORRUPT, "21 values");
    expect_failure(&f, "ARROW-GH-41317.parquet", "timestamp_us_no_tz", GREBE_ECORRUPT, "0 of 3");
    expect_failure(&f, "ARROW-GH-41321.parquet", "int64", GREBE_ECORRUPT, "page at 1313");
    expect_failure(&f, "ARROW-GH-45185.parquet", "x", GREBE_ECORRUPT, "first repetition level");
    expect_failure(&f, "ARROW-GH-47662.parquet", "flba_field", GREBE_ECORRUPT, "100 values need 400");
    expect_failure(&f, "datapage_v1-corrupt-checksum.parquet", "a", GREBE_ECORRUPT, "checksum");
    expect_failure(&f, "rle-dict-uncompressed-corrupt-checksum.parquet", "long_field",
                   GREBE_ECORRUPT, "dictionary at 4: checksum");
    expect_failure(&f, "int96_from_spark.parquet", "a", GREBE_ESCHEMA, "INT96");
    close_fixture(&f);
}

static void test_take__page_with_right_checksum__not_hurt_by_the_bad_one(void **state)
{
    (void)state;
    struct fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows;
    int column = 0;
    open_fixture(&f, 1);
    struct format_reader *r = open_file(&f, GOLDEN "testing/datapage_v1-corrupt-checksum.parquet");
    const int64_t good[] = { 2560, 5119 };
    const int64_t bad[] = { 0 };
    assert_ok(r->ops->take(r, &column, 1, good, 2, &f.call, &rows, &err));
    array_release(&rows);
    for (int i = 0; i < 2; i++) { /* and the second time too */
        assert_fails(r->ops->take(r, &column, 1, bad, 1, &f.call, &rows, &err), GREBE_ECORRUPT,
                     "checksum");
    }
    r->ops->close(r);
    close_fixture(&f);
}

static void test_open__milvus_sample__field_ids(void **state)
{
    (void)state;
    struct fixture f;
    struct key_value kv;
    open_fixture(&f, 1);
    struct format_reader *r = open_file(&f, GOLDEN "milvus/column_group_0.parquet");
    assert_true(schema_metadata_find(r->schema.children[1], "PARQUET:field_id", &kv));
    assert_int_equal(kv.value_len, 3);
    assert_memory_equal(kv.value, "102", 3);
    /* What describes this file's own layout is no property of the rows. */
    assert_false(schema_metadata_find(&r->schema, "row_group_metadata", &kv));
    r->ops->close(r);
    close_fixture(&f);
}

/* ---- arguments ---- */

static void test_read__bad_arguments__einval(void **state)
{
    (void)state;
    struct fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows;
    int column = 99;
    open_fixture(&f, 1);
    struct format_reader *r = open_file(&f, GOLDEN "pa_default.parquet");
    assert_fails(r->ops->read(r, NULL, 0, 0, 251, &f.call, &rows, &err), GREBE_EINVAL, "beyond");
    assert_fails(r->ops->read(r, NULL, 0, -1, 2, &f.call, &rows, &err), GREBE_EINVAL, "rows -1");
    assert_fails(r->ops->read(r, NULL, 0, 0, 601, &f.call, &rows, &err), GREBE_EINVAL, "601");
    assert_fails(r->ops->read(r, &column, 1, 0, 1, &f.call, &rows, &err), GREBE_EINVAL, "column 99");
    const int64_t beyond[] = { 600 };
    const int64_t falling[] = { 5, 4 };
    assert_fails(r->ops->take(r, NULL, 0, beyond, 1, &f.call, &rows, &err), GREBE_EINVAL, "row 600");
    assert_fails(r->ops->take(r, NULL, 0, falling, 2, &f.call, &rows, &err), GREBE_EINVAL, "row 4");
    assert_ok(r->ops->read(r, NULL, 0, 600, 600, &f.call, &rows, &err));
    assert_int_equal(rows.length, 0);
    array_release(&rows);
    int none = 0;
    assert_ok(r->ops->read(r, &none, 0, 0, 10, &f.call, &rows, &err));
    assert_int_equal(rows.length, 10);
    assert_int_equal(rows.n_children, 0);
    array_release(&rows);
    r->ops->close(r);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read__formula_files__values_by_formula),
        cmocka_unit_test(test_read__store_without_map__same_values),
        cmocka_unit_test(test_check__formula_files__no_errors),
        cmocka_unit_test(test_open__unchanged_file__one_stat_no_reads),
        cmocka_unit_test(test_open__file_replaced__new_content_read),
        cmocka_unit_test(test_read__vectors_of_our_writer__views_of_the_map),
        cmocka_unit_test(test_read__odd_files__known_values),
        cmocka_unit_test(test_read__bad_files__named_errors),
        cmocka_unit_test(test_take__page_with_right_checksum__not_hurt_by_the_bad_one),
        cmocka_unit_test(test_open__milvus_sample__field_ids),
        cmocka_unit_test(test_read__bad_arguments__einval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
