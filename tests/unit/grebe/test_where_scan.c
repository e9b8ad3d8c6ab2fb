/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans with a predicate over files and column groups whose chunks do not line up: rows, values,
 * order, edges of batches, limits and small memory.
 */
#include "table_fixture.h"

#include "table/table_scan.h"

enum { N_FIRST = 3000, N_MORE = 3000, N = N_FIRST + 2 * N_MORE };

struct fixture {
    grebe_context *ctx;
    struct io_store *store;
    grebe_table *t;
};

static grebe_table *append_rows(const grebe_table *t, int64_t begin, int64_t n, int64_t group_bytes)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream rows;
    grebe_txn *x = NULL;
    grebe_table *out = NULL;
    grebe_txn_options o = GREBE_TXN_OPTIONS_INIT;
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    o.is_not_durable = true;
    w.row_group_bytes = group_bytes;
    assert_ok(grebe_txn_new(t, &o, &x, &err));
    rows_stream(begin, n, &rows);
    assert_ok(grebe_txn_append(x, &rows, &w, &err));
    assert_ok(grebe_txn_commit(x, NULL, &out, &err));
    grebe_txn_free(x);
    return out;
}

static int set_up(void **state)
{
    struct fixture *f = malloc(sizeof *f);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *first = NULL;
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    w.row_group_rows = 700;
    f->ctx = fixture_context(NULL);
    assert_ok(io_memory_new(f->ctx, &f->store, &err));
    assert_ok(create_in(f->store, "t", N_FIRST, &w, &first, &err));
    grebe_table *second = append_rows(first, N_FIRST, N_MORE, 4096);
    f->t = append_rows(second, N_FIRST + N_MORE, N_MORE, 0);
    grebe_table_close(second);
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

/* First row behind the chunk of the group that holds the row. */
static int64_t edge_behind(const grebe_table *t, size_t group, int64_t row)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct data_file *file = NULL;
    assert_ok(table_file_open(t, group, snapshot_file_of(&t->snapshot->groups[group], row), &file,
                              &err));
    int64_t end = scan_chunk_end(file, row, INT64_MAX);
    data_file_drop(file);
    return end;
}

struct way {
    uint32_t threads;
    uint64_t memory;
    int64_t batch_rows, limit;
    bool with_names; /* the columns of the predicate are among the output */
};

static bool is_name_null(int64_t i) { return i % 7 == 6; }

/* Reads with the predicate; every row must be what its id says, and ids[0, *n) are given. */
static size_t read_where(const grebe_table *t, const char *where, const struct way *w, int64_t *ids)
{
    static const char *const columns[] = { "v", "id", "name" };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    struct ArrowArrayStream s;
    size_t n = 0;
    call.threads = w->threads;
    call.memory_limit_bytes = w->memory;
    o.call = &call;
    o.where = where;
    o.with_row_id = true;
    o.columns = columns;
    o.n_columns = w->with_names ? 3 : 1;
    o.batch_rows = w->batch_rows;
    o.limit = w->limit;
    assert_ok(grebe_table_scan(t, &o, &s, &err));
    for (;;) {
        struct ArrowArray b;
        grebe_status st = stream_next(&s, &b, &err);
        if (st == GREBE_END) {
            break;
        }
        assert_ok(st);
        assert_true(b.length > 0 && (w->batch_rows == 0 || b.length <= w->batch_rows));
        const struct ArrowArray *row = b.children[0], *v = b.children[1];
        const struct ArrowArray *items = v->children[0];
        const float *floats = (const float *)items->buffers[1] + items->offset;
        size_t first = n;
        for (int64_t i = 0; i < b.length; i++) {
            int64_t id = ((const int64_t *)row->buffers[1])[row->offset + i];
            ids[n++] = id;
            assert_true(floats[(v->offset + i) * 4] == (float)(id * 4));
            if (w->with_names) {
                const struct ArrowArray *x = b.children[2], *name = b.children[3];
                const int32_t *at = (const int32_t *)name->buffers[1] + name->offset + i;
                char text[32];
                int len = is_name_null(id) ? 0 : snprintf(text, sizeof text, "name_%lld", (long long)id);
                assert_int_equal(((const int64_t *)x->buffers[1])[x->offset + i], id);
                assert_int_equal(at[1] - at[0], len);
                assert_true(len == 0 ||
                            memcmp((const char *)name->buffers[2] + at[0], text, (size_t)len) == 0);
            }
        }
        bool is_first_read = w->with_names || strstr(where, "id") != NULL || strstr(where, "name");
        for (size_t g = is_first_read ? 0 : 1; g < t->snapshot->manifest.groups.n; g++) {
            assert_true(ids[n - 1] < edge_behind(t, g, ids[first]));
        }
        array_release(&b);
    }
    stream_release(&s);
    return n;
}

static bool keeps_all(int64_t i) { return i >= 0; }
static bool keeps_range(int64_t i) { return i >= 2500 && i < 7000; }
static bool keeps_few(int64_t i) { return i % 1000 == 3; }
static bool keeps_half(int64_t i) { return i % 2 == 0; }
static bool keeps_nulls(int64_t i) { return i % 7 == 6 && i > 4000; }
static bool keeps_one(int64_t i) { return i == 8999; }
static bool keeps_none(int64_t i) { return i < 0; }

static const struct {
    const char *where;
    bool (*keeps)(int64_t);
} cases[] = {
    { "id >= 0", keeps_all },
    { "true", keeps_all },
    { "1 = 2", keeps_none },
    { "id % 2 = 1 and id % 2 = 0", keeps_none },
    { "id between 2500 and 6999", keeps_range },
    { "id % 1000 = 3", keeps_few },
    { "id % 2 = 0", keeps_half },
    { "name is null and id > 4000", keeps_nulls },
    { "name = 'name_8999'", keeps_one },
    { "id > 8998 or id < 0", keeps_one },
};

static void test_where__chunks_that_do_not_line_up__same_rows(void **state)
{
    struct fixture *f = *state;
    static const struct way ways[] = {
        { 1, 0, 0, -1, true },    { 4, 0, 0, -1, true },     { 1, 1, 0, -1, false },
        { 4, 1, 100, -1, true },  { 2, 10000, 33, -1, false }, { 1, 0, 0, 5, true },
        { 4, 0, 10, 1700, false }, { 1, 1, 1, 2, true },      { 1, 0, 0, 0, true },
    };
    int64_t *ids = malloc(N * sizeof *ids);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            size_t n = read_where(f->t, cases[c].where, &ways[k], ids);
            size_t expected = 0;
            for (int64_t i = 0; i < N; i++) {
                if (cases[c].keeps(i) &&
                    (ways[k].limit < 0 || expected < (size_t)ways[k].limit)) {
                    assert_true(expected < n);
                    assert_int_equal(ids[expected++], i);
                }
            }
            assert_int_equal(n, expected);
        }
    }
    free(ids);
}

static void test_where__range_of_rows__only_within(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    static const int64_t ranges[][2] = { { 0, 1 }, { 699, 701 }, { 2999, 3001 }, { 100, 8000 } };
    for (size_t i = 0; i < 4; i++) {
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
            int64_t count = 0, expected = 0;
            o.where = cases[c].where;
            o.row_begin = ranges[i][0];
            o.row_end = ranges[i][1];
            for (int64_t row = o.row_begin; row < o.row_end; row++) {
                expected += cases[c].keeps(row);
            }
            assert_ok(grebe_table_count(f->t, &o, &count, &err));
            assert_int_equal(count, expected);
        }
    }
}

/* A stream that is dropped with pieces under way leaves nothing behind. */
static void test_where__stream_dropped_early__no_leak(void **state)
{
    struct fixture *f = *state;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
        grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
        struct ArrowArrayStream s;
        struct ArrowArray b;
        call.threads = threads;
        o.call = &call;
        o.where = "id % 2 = 0";
        assert_ok(grebe_table_scan(f->t, &o, &s, &err));
        assert_ok(stream_next(&s, &b, &err));
        stream_release(&s);
        array_release(&b); /* outlives its stream */
    }
}

/* Whatever allocation fails: a clean failure, or the right rows. */
static void test_where__no_memory__reported(void **state)
{
    (void)state;
    for (size_t fail_at = 1;; fail_at++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct test_allocator memory;
        struct io_store *store = NULL;
        grebe_table *t = NULL;
        grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
        struct ArrowArrayStream s = { 0 };
        static const char *const columns[] = { "v", "id" };
        int64_t n = 0;
        test_allocator_init(&memory);
        grebe_context *ctx = fixture_context(&memory.a);
        grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
        w.row_group_rows = 40;
        assert_ok(io_memory_new(ctx, &store, &err));
        assert_ok(create_in(store, "t", 100, &w, &t, &err));
        o.where = "id % 3 = 0 and name is not null";
        o.columns = columns;
        o.n_columns = 2;
        memory.fail_at = memory.n_calls + fail_at;
        grebe_status st = grebe_table_scan(t, &o, &s, &err);
        while (st == GREBE_OK) {
            struct ArrowArray b;
            st = stream_next(&s, &b, &err);
            if (st == GREBE_OK) {
                n += b.length;
                array_release(&b);
            }
        }
        bool is_over = st == GREBE_END;
        memory.fail_at = 0;
        assert_true(is_over || st == GREBE_ENOMEM);
        assert_true(!is_over || n == 29);
        stream_release(&s);
        grebe_table_close(t);
        io_store_free(store);
        grebe_context_free(ctx);
        assert_int_equal(memory.n_live, 0);
        if (is_over) {
            assert_true(fail_at > 20);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_where__chunks_that_do_not_line_up__same_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where__range_of_rows__only_within, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where__stream_dropped_early__no_leak, set_up, tear_down),
        cmocka_unit_test(test_where__no_memory__reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
