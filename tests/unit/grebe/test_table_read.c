/* SPDX-License-Identifier: Apache-2.0 */
#include "table_fixture.h"

#include "table/manifest.h"

struct fixture {
    grebe_context *ctx;
    struct io_store *store;
    grebe_table *t; /* 230 rows: 120 + 110, row groups of 50 rows */
};

enum { N = 230 };

static int set_up(void **state)
{
    struct fixture *f = malloc(sizeof *f);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *first = NULL;
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    w.row_group_rows = 50;
    f->ctx = fixture_context(NULL);
    assert_ok(io_memory_new(f->ctx, &f->store, &err));
    assert_ok(create_in(f->store, "t", 120, &w, &first, &err));
    assert_ok(append_to(first, 120, 110, 0, &f->t, &err));
    grebe_table_close(first);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    grebe_table_close(f->t);
    io_store_free(f->store);
    grebe_context_free(f->ctx);
    free(f);
    return 0;
}

/* Sum of rows; checks batch sizes, and ids and vectors against row ids. */
static int64_t drain(struct ArrowArrayStream *stream, int64_t batch_max, int64_t first_id)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema;
    int64_t n = 0;
    int id = -1;
    int v = -1;
    int row_id = -1;
    assert_ok(stream_schema(stream, &schema, &err));
    (void)!schema_find(&schema, "id", &id, NULL);
    (void)!schema_find(&schema, "v", &v, NULL);
    (void)!schema_find(&schema, "_rowid", &row_id, NULL);
    for (;;) {
        struct ArrowArray b;
        grebe_status st = stream_next(stream, &b, &err);
        if (st == GREBE_END) {
            break;
        }
        assert_ok(st);
        assert_true(b.length > 0 && b.length <= batch_max);
        for (int64_t i = 0; i < b.length; i++) {
            int64_t expected = first_id + n + i;
            if (id >= 0) {
                const struct ArrowArray *c = b.children[id];
                assert_int_equal(((const int64_t *)c->buffers[1])[c->offset + i], expected);
            }
            if (row_id >= 0) {
                const struct ArrowArray *c = b.children[row_id];
                assert_int_equal(((const int64_t *)c->buffers[1])[c->offset + i], expected);
            }
            if (v >= 0) {
                const struct ArrowArray *c = b.children[v];
                const struct ArrowArray *items = c->children[0];
                const float *values = (const float *)items->buffers[1] + items->offset;
                assert_true(values[(c->offset + i) * 4 + 3] == (float)(expected * 4 + 3));
            }
        }
        n += b.length;
        array_release(&b);
    }
    schema_release(&schema);
    stream_release(stream);
    return n;
}

static void test_scan__any_batch_size_threads_and_memory__same_rows(void **state)
{
    struct fixture *f = *state;
    static const int64_t sizes[] = { 1, 7, 50, 8192 };
    static const uint64_t limits[] = { 0, 1, 4096, UINT64_C(4) << 30 };
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 4; k++) {
            for (uint32_t threads = 1; threads <= 4; threads += 3) {
                grebe_error err = GREBE_ERROR_INIT;
                grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
                grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
                struct ArrowArrayStream s;
                call.threads = threads;
                call.memory_limit_bytes = limits[k];
                o.batch_rows = sizes[i];
                o.call = &call;
                assert_ok(grebe_table_scan(f->t, &o, &s, &err));
                assert_int_equal(drain(&s, sizes[i], 0), N);
            }
        }
    }
}

static void test_scan__columns__order_asked_unknown_and_twice_refused(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    static const char *const order[] = { "v", "id" };
    static const char *const unknown[] = { "nmae" };
    static const char *const twice[] = { "id", "v", "id" };
    o.columns = order;
    o.n_columns = 2;
    assert_ok(grebe_table_scan(f->t, &o, &s, &err));
    assert_ok(stream_schema(&s, &schema, &err));
    assert_string_equal(schema.children[0]->name, "v");
    assert_string_equal(schema.children[0]->format, "+w:4");
    assert_string_equal(schema.children[1]->name, "id");
    schema_release(&schema);
    assert_int_equal(drain(&s, 65536, 0), N);
    o.columns = unknown;
    o.n_columns = 1;
    assert_fails(grebe_table_scan(f->t, &o, &s, &err), GREBE_ENOTFOUND, "name");
    o.columns = twice;
    o.n_columns = 3;
    assert_fails(grebe_table_scan(f->t, &o, &s, &err), GREBE_EINVAL, "twice");
    o.n_columns = 0; /* no column: only how many rows there are */
    o.batch_rows = 100;
    assert_ok(grebe_table_scan(f->t, &o, &s, &err));
    assert_int_equal(drain(&s, 100, 0), N);
    o.with_row_id = true;
    assert_ok(grebe_table_scan(f->t, &o, &s, &err));
    assert_int_equal(drain(&s, 100, 0), N);
}

static void test_scan__row_range_and_limit__cut(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    static const int64_t cases[][4] = {
        /* begin, end, limit, rows expected */
        { 0, 230, -1, 230 }, { 0, 10, -1, 10 },   { 45, 55, -1, 10 },  { 110, 130, -1, 20 },
        { 229, 400, -1, 1 }, { 300, 400, -1, 0 }, { 7, 7, -1, 0 },     { 0, INT64_MAX, 60, 60 },
        { 100, 230, 0, 0 },  { 100, 230, 500, 130 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
        struct ArrowArrayStream s;
        o.row_begin = cases[i][0];
        o.row_end = cases[i][1];
        o.limit = cases[i][2];
        o.with_row_id = i % 2 == 0;
        assert_ok(grebe_table_scan(f->t, &o, &s, &err));
        assert_int_equal(drain(&s, 65536, cases[i][0]), cases[i][3]);
        int64_t count = 0;
        assert_ok(grebe_table_count(f->t, &o, &count, &err));
        assert_int_equal(count, cases[i][2] < 0 ? cases[i][3] : count);
    }
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream s;
    o.row_begin = -1;
    assert_int_equal(grebe_table_scan(f->t, &o, &s, &err), GREBE_EINVAL);
    o.row_begin = 5;
    o.row_end = 4;
    assert_int_equal(grebe_table_scan(f->t, &o, &s, &err), GREBE_EINVAL);
}

static void test_scan__cancelled__stops(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_cancel *cancel = NULL;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    struct ArrowArrayStream s;
    struct ArrowArray b = { 0 };
    assert_ok(grebe_cancel_new(f->ctx, &cancel, &err));
    call.cancel = cancel;
    o.call = &call;
    o.batch_rows = 10;
    assert_ok(grebe_table_scan(f->t, &o, &s, &err));
    assert_ok(stream_next(&s, &b, &err));
    array_release(&b);
    grebe_cancel_set(cancel);
    assert_fails(stream_next(&s, &b, &err), GREBE_ECANCELLED, "cancelled");
    stream_release(&s);
    grebe_cancel_free(cancel);
}

static void test_count__without_predicate__opens_no_file(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    int64_t count = 0;
    grebe_table_info *info = NULL;
    assert_ok(grebe_table_info_get(f->t, &info, &err));
    for (size_t g = 0; g < info->n_groups; g++) { /* nothing there to open */
        for (size_t i = 0; i < info->groups[g].n_files; i++) {
            assert_ok(io_remove(f->store, info->groups[g].files[i].path, &err));
        }
    }
    grebe_table_info_free(info);
    grebe_table *t = NULL;
    assert_ok(table_open_in(f->store, "t", NULL, &t, &err));
    assert_ok(grebe_table_count(t, NULL, &count, &err));
    assert_int_equal(count, N);
    struct ArrowArrayStream s;
    struct ArrowArray b;
    assert_ok(grebe_table_scan(t, NULL, &s, &err));
    assert_fails(stream_next(&s, &b, &err), GREBE_ECORRUPT, "missing");
    stream_release(&s);
    size_t n_errors = 0;
    assert_ok(grebe_table_check(t, NULL, &n_errors, &err));
    assert_int_equal(n_errors, 4);
    grebe_table_close(t);
}

/* ---- predicates ---- */

/* Ids of the rows that a predicate keeps. */
static size_t where_ids(const struct fixture *f, const char *where, int64_t limit, uint32_t threads,
                        int64_t ids[N])
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    struct ArrowArrayStream s;
    static const char *const columns[] = { "v", "id" };
    size_t n = 0;
    call.threads = threads;
    o.call = &call;
    o.columns = columns;
    o.n_columns = 2;
    o.with_row_id = true;
    o.where = where;
    o.limit = limit;
    assert_ok(grebe_table_scan(f->t, &o, &s, &err));
    for (;;) {
        struct ArrowArray b;
        grebe_status st = stream_next(&s, &b, &err);
        if (st == GREBE_END) {
            break;
        }
        assert_ok(st);
        assert_true(b.length > 0);
        for (int64_t i = 0; i < b.length; i++) {
            const struct ArrowArray *id = b.children[2];
            const struct ArrowArray *row = b.children[0];
            const struct ArrowArray *items = b.children[1]->children[0];
            const float *v = (const float *)items->buffers[1] + items->offset;
            ids[n] = ((const int64_t *)id->buffers[1])[id->offset + i];
            assert_int_equal(((const int64_t *)row->buffers[1])[row->offset + i], ids[n]);
            assert_true(v[(b.children[1]->offset + i) * 4] == (float)(ids[n] * 4));
            n++;
        }
        array_release(&b);
    }
    stream_release(&s);
    return n;
}

static bool keeps_range(int64_t i) { return i >= 60 && i < 75; }
static bool keeps_name(int64_t i) { return i % 7 != 6 && i == 121; }
static bool keeps_nulls(int64_t i) { return i % 7 == 6; }
static bool keeps_both(int64_t i) { return i % 7 != 6 && i > 200; }
static bool keeps_none(int64_t i) { return i < 0; }
static bool keeps_all(int64_t i) { return i >= 0; }

static void test_where__rows_that_match_and_no_others(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *where;
        bool (*keeps)(int64_t);
    } cases[] = {
        { "id between 60 and 74", keeps_range },
        { "name = 'name_121'", keeps_name },
        { "name is null", keeps_nulls },
        { "name is not null and id > 200", keeps_both },
        { "id < 0", keeps_none },
        { "id >= 0", keeps_all },
        { "id > 1000 or name = 'x'", keeps_none },
        { "not (id < 60 or id >= 75)", keeps_range },
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            grebe_error err = GREBE_ERROR_INIT;
            int64_t ids[N];
            int64_t count = 0;
            size_t expected = 0;
            size_t n = where_ids(f, cases[c].where, -1, threads, ids);
            for (int64_t i = 0; i < N; i++) {
                if (cases[c].keeps(i)) {
                    assert_true(expected < n);
                    assert_int_equal(ids[expected++], i);
                }
            }
            assert_int_equal(n, expected);
            grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
            o.where = cases[c].where;
            assert_ok(grebe_table_count(f->t, &o, &count, &err));
            assert_int_equal(count, expected);
            if (n > 3) {
                assert_int_equal(where_ids(f, cases[c].where, 3, threads, ids), 3);
            }
            assert_int_equal(where_ids(f, cases[c].where, 0, threads, ids), 0);
        }
    }
}

static void test_where__mistakes__refused(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream s;
    o.where = "nmae = 'x'";
    assert_fails(grebe_table_scan(f->t, &o, &s, &err), GREBE_ENOTFOUND, "name");
    o.where = "id >";
    assert_int_equal(grebe_table_scan(f->t, &o, &s, &err), GREBE_EINVAL);
    o.where = "v > 1";
    assert_int_equal(grebe_table_scan(f->t, &o, &s, &err), GREBE_ESCHEMA);
    /* the reference checks a predicate on Parquet and does not apply it */
    grebe_table_open_options to = GREBE_TABLE_OPEN_OPTIONS_INIT;
    grebe_table *t = NULL;
    int64_t count = 0;
    to.compat = GREBE_COMPAT_MILVUS;
    assert_ok(table_open_in(f->store, "t", &to, &t, &err));
    assert_ok(grebe_table_count(t, &o, &count, &err)); /* types that do not compare: dropped, as there */
    o.where = "nmae = 'x'";
    assert_fails(grebe_table_count(t, &o, &count, &err), GREBE_ENOTFOUND, "name");
    o.where = "id < 3";
    assert_ok(grebe_table_count(t, &o, &count, &err));
    assert_int_equal(count, N);
    grebe_table_close(t);
}

static void test_where__chunks_that_cannot_match__not_read(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_explain *e = NULL;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    static const char *const columns[] = { "v" };
    o.where = "id between 60 and 74";
    o.columns = columns;
    o.n_columns = 1;
    assert_ok(grebe_table_explain(f->t, &o, &e, &err));
    assert_int_equal(e->n_groups_read, 2);
    assert_true(e->n_chunks_read < e->n_chunks);
    assert_true(e->bytes_read < e->bytes_total);
    assert_true(e->n_rows < N && e->n_rows >= 15);
    assert_true(e->where[0] != '\0');
    grebe_explain_free(e);
}

/* ---- take ---- */

static void test_take__order_and_duplicates_kept(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    static const int64_t ids[] = { 229, 0, 119, 120, 0, 50, 229 };
    struct ArrowArray got;
    struct ArrowSchema schema;
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    o.with_row_id = true;
    assert_ok(grebe_table_take(f->t, ids, 7, &o, &got, &schema, &err));
    assert_int_equal(got.length, 7);
    assert_string_equal(schema.children[0]->name, "_rowid");
    assert_ok(array_check(&schema, &got, true, &err));
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(((const int64_t *)got.children[0]->buffers[1])[i], ids[i]);
        const struct ArrowArray *id = got.children[1];
        assert_int_equal(((const int64_t *)id->buffers[1])[id->offset + (int64_t)i], ids[i]);
        assert_int_equal(array_is_null(got.children[2], (int64_t)i), ids[i] % 7 == 6);
    }
    array_release(&got);
    schema_release(&schema);
    assert_ok(grebe_table_take(f->t, NULL, 0, NULL, &got, NULL, &err));
    assert_int_equal(got.length, 0);
    assert_int_equal(got.n_children, 3);
    array_release(&got);
}

static void test_take__ids_out_of_range__named_or_null(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray got;
    struct ArrowSchema schema;
    static const int64_t negative[] = { 1, -5 };
    static const int64_t beyond[] = { 1, 2, 230 };
    static const int64_t extreme[] = { INT64_MAX };
    assert_fails(grebe_table_take(f->t, negative, 2, NULL, &got, NULL, &err), GREBE_EINVAL,
                 "rows[1]: expected 0 <= id < 230, found -5");
    assert_fails(grebe_table_take(f->t, beyond, 3, NULL, &got, NULL, &err), GREBE_EINVAL,
                 "rows[2]: expected 0 <= id < 230, found 230");
    assert_int_equal(grebe_table_take(f->t, extreme, 1, NULL, &got, NULL, &err), GREBE_EINVAL);
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    o.missing = GREBE_MISSING_NULL;
    assert_ok(grebe_table_take(f->t, beyond, 3, &o, &got, &schema, &err));
    assert_ok(array_check(&schema, &got, true, &err));
    assert_true((schema.children[0]->flags & ARROW_FLAG_NULLABLE) != 0);
    assert_false(array_is_null(got.children[0], 1));
    assert_true(array_is_null(got.children[0], 2));
    assert_true(array_is_null(got.children[2], 2));
    array_release(&got);
    schema_release(&schema);
}

static void test_take__random_ids__as_the_scan(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 20; round++) {
        grebe_error err = GREBE_ERROR_INIT;
        int64_t ids[1000];
        struct ArrowArray got;
        size_t n = (size_t)(test_random(&seed) % 1000) + 1;
        for (size_t i = 0; i < n; i++) {
            ids[i] = (int64_t)(test_random(&seed) % N);
        }
        assert_ok(grebe_table_take(f->t, ids, n, NULL, &got, NULL, &err));
        for (size_t i = 0; i < n; i++) {
            const struct ArrowArray *id = got.children[0];
            const struct ArrowArray *items = got.children[2]->children[0];
            int64_t row = (int64_t)i + got.children[2]->offset;
            assert_int_equal(((const int64_t *)id->buffers[1])[id->offset + (int64_t)i], ids[i]);
            const float *values = (const float *)items->buffers[1] + items->offset;
            assert_true(values[row * 4] == (float)(ids[i] * 4));
        }
        array_release(&got);
    }
}

static grebe_status read_much(void *arg, size_t number, grebe_error *err)
{
    const struct fixture *f = arg;
    uint64_t seed = number + 1;
    for (int round = 0; round < 20; round++) {
        int64_t ids[20];
        struct ArrowArray got = { 0 };
        struct ArrowArrayStream s;
        int64_t n = 0;
        for (size_t i = 0; i < 20; i++) {
            ids[i] = (int64_t)(test_random(&seed) % N);
        }
        grebe_status st = grebe_table_take(f->t, ids, 20, NULL, &got, NULL, err);
        if (st != GREBE_OK) {
            return st;
        }
        const struct ArrowArray *id = got.children[0];
        for (size_t i = 0; i < 20; i++) {
            if (((const int64_t *)id->buffers[1])[id->offset + (int64_t)i] != ids[i]) {
                return GREBE_FAIL(err, GREBE_ECORRUPT, "row %zu is another one", i);
            }
        }
        array_release(&got);
        st = grebe_table_scan(f->t, NULL, &s, err);
        while (st == GREBE_OK) {
            st = stream_next(&s, &got, err);
            n += st == GREBE_OK ? got.length : 0;
            array_release(&got);
        }
        stream_release(&s);
        if (st != GREBE_END || n != N) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%lld rows", (long long)n);
        }
    }
    return GREBE_OK;
}

static void test_table__many_threads_on_one_handle__same_rows(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(parallel_for(f->ctx->pool, 4, 4, read_much, f, NULL, &err));
}

/* ---- versions made by hand ---- */

/* Version 3: version 2 changed by fn, written as another program would. */
static void write_version_3(struct fixture *f, void (*fn)(struct manifest *m))
{
    grebe_error err = GREBE_ERROR_INIT;
    struct region *bytes = NULL;
    struct io_identity id;
    struct manifest m;
    struct buf out = BUF_INIT(mem_system());
    struct io_writer *w = NULL;
    assert_ok(io_read_all(f->store, "t/_metadata/manifest-2.avro", 1 << 20, &bytes, &id, &err));
    manifest_init(&m, mem_system());
    assert_ok(manifest_decode(&m, bytes->data, bytes->len, &err));
    fn(&m);
    m.header.n = 0;
    assert_ok(manifest_encode(&out, &m, &err));
    assert_ok(io_create(f->store, "t/_metadata/manifest-3.avro", false, &w, &err));
    assert_ok(io_write(w, out.data, out.len, &err));
    assert_ok(io_writer_publish(w, false, &err));
    io_writer_free(w);
    buf_release(&out);
    manifest_release(&m);
    region_drop(bytes);
}

static void list_ranges(struct manifest *m)
{
    for (size_t g = 0; g < m->groups.n; g++) {
        struct manifest_group *group = manifest_group_at(m, g);
        *manifest_file_at(group, 1) = *manifest_file_at(group, 0);
        manifest_file_at(group, 0)->row_begin = 10;
        manifest_file_at(group, 0)->row_end = 20;
        manifest_file_at(group, 1)->row_begin = 5;
        manifest_file_at(group, 1)->row_end = 8;
        for (size_t i = 0; i < 2; i++) { /* hints are not needed */
            manifest_file_at(group, i)->properties.n = 0;
        }
    }
    m->stats.n = 0;
}

static void test_ranges__one_file_twice__rows_of_the_file(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = NULL;
    write_version_3(f, list_ranges);
    assert_ok(table_open_in(f->store, "t", NULL, &t, &err));
    assert_int_equal(grebe_table_num_rows(t), 13);
    int64_t n = 0;
    int64_t *ids = all_ids(t, &n);
    static const int64_t expected[] = { 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 5, 6, 7 };
    assert_memory_equal(ids, expected, sizeof expected);
    free(ids);
    struct ArrowArray got;
    static const int64_t wanted[] = { 12, 0, 10 };
    assert_ok(grebe_table_take(t, wanted, 3, NULL, &got, NULL, &err));
    const struct ArrowArray *id = got.children[0];
    const int64_t *values = (const int64_t *)id->buffers[1] + id->offset;
    assert_true(values[0] == 7 && values[1] == 10 && values[2] == 5);
    array_release(&got);
    grebe_table_close(t);
}

static void drop_a_file(struct manifest *m) { manifest_group_at(m, 1)->files.n--; }
static void empty_a_group(struct manifest *m) { manifest_group_at(m, 1)->files.n = 0; }
static void turn_a_range(struct manifest *m)
{
    manifest_file_at(manifest_group_at(m, 0), 1)->row_begin = 70;
    manifest_file_at(manifest_group_at(m, 0), 1)->row_end = 60;
}
static void negative_range(struct manifest *m)
{
    manifest_file_at(manifest_group_at(m, 0), 1)->row_begin = -1;
}
static void huge_range(struct manifest *m)
{
    for (size_t g = 0; g < 2; g++) {
        manifest_file_at(manifest_group_at(m, g), 0)->row_end = INT64_MAX;
    }
}
static void long_range(struct manifest *m)
{
    for (size_t g = 0; g < 2; g++) {
        manifest_file_at(manifest_group_at(m, g), 1)->row_end += 1;
    }
    m->stats.n = 0;
}

static void test_layout__unequal_or_impossible__corrupt(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    void (*const cases[])(struct manifest *) = { drop_a_file, empty_a_group, turn_a_range,
                                                 negative_range, huge_range };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        grebe_table *t = NULL;
        grebe_table_open_options o = GREBE_TABLE_OPEN_OPTIONS_INIT;
        struct ArrowArrayStream s;
        write_version_3(f, cases[i]);
        assert_fails(table_open_in(f->store, "t", NULL, &t, &err), GREBE_ECORRUPT, "version 3");
        o.compat = GREBE_COMPAT_MILVUS; /* opens there, and the scan fails */
        assert_ok(table_open_in(f->store, "t", &o, &t, &err));
        assert_fails(grebe_table_scan(t, NULL, &s, &err), GREBE_ECORRUPT, "");
        grebe_table_close(t);
        assert_ok(io_remove(f->store, "t/_metadata/manifest-3.avro", &err));
    }
}

static void test_layout__file_shorter_than_its_range__corrupt_when_read(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = NULL;
    struct ArrowArrayStream s;
    struct ArrowArray b;
    size_t n_errors = 0;
    write_version_3(f, long_range);
    assert_ok(table_open_in(f->store, "t", NULL, &t, &err));
    assert_ok(grebe_table_scan(t, NULL, &s, &err));
    grebe_status st = GREBE_OK;
    while ((st = stream_next(&s, &b, &err)) == GREBE_OK) {
        array_release(&b);
    }
    assert_int_equal(st, GREBE_ECORRUPT);
    assert_non_null(strstr(err.message, "111"));
    stream_release(&s);
    assert_ok(grebe_table_check(t, NULL, &n_errors, &err));
    assert_true(n_errors >= 2);
    grebe_table_close(t);
}

static void repeat_columns(struct manifest *m)
{
    assert_true(m->groups.n >= 2);
    manifest_group_at(m, 1)->columns = manifest_group_at(m, 0)->columns;
}

static void count_repeated(void *arg, bool is_error, const char *place, const char *message)
{
    (void)place;
    *(size_t *)arg += is_error && strstr(message, "is in groups 0 and 1") != NULL;
}

static void test_check__column_in_two_groups__error_for_each(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = NULL;
    size_t n_repeated = 0;
    grebe_check_options o = GREBE_CHECK_OPTIONS_INIT;
    o.on_finding = count_repeated;
    o.arg = &n_repeated;
    write_version_3(f, repeat_columns);
    assert_ok(table_open_in(f->store, "t", NULL, &t, &err));
    assert_ok(grebe_table_check(t, &o, NULL, &err));
    struct manifest m;
    struct region *bytes = NULL;
    struct io_identity id;
    assert_ok(io_read_all(f->store, "t/_metadata/manifest-3.avro", 1 << 20, &bytes, &id, &err));
    manifest_init(&m, mem_system());
    assert_ok(manifest_decode(&m, bytes->data, bytes->len, &err));
    assert_int_equal(n_repeated, manifest_group_at(&m, 0)->columns.n);
    manifest_release(&m);
    region_drop(bytes);
    grebe_table_close(t);
}

/* What a compaction that removed ids 50 … 99 and 220 … 229 would have written, on these rows. */
static void compacted_ids(struct manifest *m)
{
    static struct avro_pair pairs[3] = {
        { { "next", 4 }, { "290", 3 } },
        { { "rows", 4 }, { "230", 3 } },
        { { "runs", 4 }, { "0:50,100:120,230:60", 19 } },
    };
    for (size_t i = 0; i < m->stats.n; i++) {
        if (text_is(&manifest_stat_at(m, i)->key, STAT_ROW_IDS)) {
            manifest_stat_at(m, i)->metadata = (struct avro_list){ pairs, 3 };
        }
    }
}

static void test_row_ids__runs__translate(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = NULL;
    struct ArrowArray got;
    write_version_3(f, compacted_ids);
    assert_ok(table_open_in(f->store, "t", NULL, &t, &err));
    assert_int_equal(grebe_table_next_row_id(t), 290);
    static const int64_t ids[] = { 289, 0, 100, 49, 230 };
    static const int64_t rows[] = { 229, 0, 50, 49, 170 };
    static const int64_t gone[] = { 60 };
    assert_ok(grebe_table_take(t, ids, 5, NULL, &got, NULL, &err));
    for (size_t i = 0; i < 5; i++) {
        const struct ArrowArray *id = got.children[0];
        assert_int_equal(((const int64_t *)id->buffers[1])[id->offset + (int64_t)i], rows[i]);
    }
    array_release(&got);
    assert_fails(grebe_table_take(t, gone, 1, NULL, &got, NULL, &err), GREBE_ENOTFOUND,
                 "60 is deleted");
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream s;
    int64_t count = 0;
    o.row_begin = 40;
    o.row_end = 110; /* ids 40 … 49 and 100 … 109 */
    assert_ok(grebe_table_count(t, &o, &count, &err));
    assert_int_equal(count, 20);
    o.with_row_id = true;
    assert_ok(grebe_table_scan(t, &o, &s, &err));
    int64_t n = 0;
    for (;;) {
        struct ArrowArray b;
        grebe_status st = stream_next(&s, &b, &err);
        if (st == GREBE_END) {
            break;
        }
        assert_ok(st);
        for (int64_t i = 0; i < b.length; i++, n++) {
            int64_t expected = n < 10 ? 40 + n : 90 + n;
            assert_int_equal(((const int64_t *)b.children[0]->buffers[1])[i], expected);
        }
        array_release(&b);
    }
    assert_int_equal(n, 20);
    stream_release(&s);
    grebe_table *more = NULL;
    assert_ok(append_to(t, 230, 5, 0, &more, &err)); /* new rows take the next ids */
    assert_int_equal(grebe_table_next_row_id(more), 295);
    static const int64_t last[] = { 294 };
    assert_ok(grebe_table_take(more, last, 1, NULL, &got, NULL, &err));
    array_release(&got);
    grebe_table_close(more);
    grebe_table_close(t);
}

static void wrong_ids(struct manifest *m)
{
    compacted_ids(m);
    for (size_t i = 0; i < m->stats.n; i++) {
        struct manifest_stat *s = manifest_stat_at(m, i);
        static struct avro_pair pairs[3] = {
            { { "next", 4 }, { "290", 3 } },
            { { "rows", 4 }, { "230", 3 } },
            { { "runs", 4 }, { "0:50,40:180", 11 } },
        };
        if (text_is(&s->key, STAT_ROW_IDS)) {
            s->metadata = (struct avro_list){ pairs, 3 };
        }
    }
}

static void test_row_ids__runs_that_overlap__corrupt(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = NULL;
    write_version_3(f, wrong_ids);
    assert_fails(table_open_in(f->store, "t", NULL, &t, &err), GREBE_ECORRUPT, "grebe.rowids");
}

/* A foreign commit that knows nothing of our entries: appends rows, adds a group, drops a column. */
static void foreign_commit(struct manifest *m)
{
    for (size_t g = 0; g < m->groups.n; g++) {
        struct manifest_group *group = manifest_group_at(m, g);
        struct manifest_file *files = arena_array(&m->arena, 3, sizeof *files);
        memcpy(files, group->files.items, 2 * sizeof *files);
        files[2] = files[1];
        group->files = (struct avro_list){ files, 3 };
    }
    manifest_group_at(m, 0)->columns.n = 1; /* name is gone */
}

static void test_foreign_commit__entries_carried_along__rest_derived(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = NULL;
    struct ArrowSchema schema;
    write_version_3(f, foreign_commit);
    assert_ok(table_open_in(f->store, "t", NULL, &t, &err));
    assert_int_equal(grebe_table_num_rows(t), 340);
    assert_int_equal(grebe_table_next_row_id(t), 340);
    assert_ok(grebe_table_schema(t, &schema, &err));
    assert_int_equal(schema.n_children, 2);
    assert_string_equal(schema.children[1]->format, "+w:4"); /* ours stays */
    schema_release(&schema);
    grebe_table_close(t);
}

/* ---- names ---- */

static void test_open__uris__object_stores_refused_by_name(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = NULL;
    static const char *const uris[] = { "s3://bucket/t", "gs://b/t", "az://c/t", "https://x/t" };
    for (size_t i = 0; i < 4; i++) {
        assert_fails(grebe_table_open(f->ctx, uris[i], NULL, &t, &err), GREBE_EUNSUPPORTED, uris[i]);
    }
    static const char *const keys[] = { "region" };
    grebe_table_open_options o = GREBE_TABLE_OPEN_OPTIONS_INIT;
    o.storage_keys = keys;
    o.storage_values = keys;
    o.n_storage_options = 1;
    assert_fails(grebe_table_open(f->ctx, "t", &o, &t, &err), GREBE_EUNSUPPORTED, "object stores");
    assert_fails(grebe_table_open(f->ctx, "file://relative", NULL, &t, &err), GREBE_EINVAL, "file:");
}

static void test_explain__columns_of_one_group__only_its_files(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_explain *e = NULL;
    static const char *const columns[] = { "v" };
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    o.columns = columns;
    o.n_columns = 1;
    o.row_begin = 60;
    o.row_end = 130;
    assert_ok(grebe_table_explain(f->t, &o, &e, &err));
    assert_int_equal(e->n_files, 2);
    assert_int_equal(e->n_groups, 2);
    assert_int_equal(e->n_groups_read, 1);
    assert_int_equal(e->n_rows, 70);
    assert_int_equal(e->n_chunks, e->n_chunks_read);
    assert_int_equal(e->files[1].row_begin, 120);
    assert_true(e->bytes_read > 0 && e->bytes_read == e->bytes_total);
    assert_string_equal(e->where, "");
    grebe_explain_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scan__any_batch_size_threads_and_memory__same_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scan__columns__order_asked_unknown_and_twice_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scan__row_range_and_limit__cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scan__cancelled__stops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_count__without_predicate__opens_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where__rows_that_match_and_no_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where__mistakes__refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where__chunks_that_cannot_match__not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_take__order_and_duplicates_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_take__ids_out_of_range__named_or_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_take__random_ids__as_the_scan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_table__many_threads_on_one_handle__same_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ranges__one_file_twice__rows_of_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_check__column_in_two_groups__error_for_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_layout__unequal_or_impossible__corrupt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_layout__file_shorter_than_its_range__corrupt_when_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_row_ids__runs__translate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_row_ids__runs_that_overlap__corrupt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_commit__entries_carried_along__rest_derived, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open__uris__object_stores_refused_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_explain__columns_of_one_group__only_its_files, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
