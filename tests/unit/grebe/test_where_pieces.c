/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row group that is longer than a piece: what a scan with a predicate gives must not tell how it
 * was cut, nor how many threads took part. Of a table of two column groups, and of a Parquet file.
 */
#include "table_fixture.h"

#include "table/table_of_files.h"
#include "table/table_scan.h"

enum { N = 3000, GROUP_ROWS = 2000 }; /* the second group is shorter */

struct fixture {
    grebe_context *ctx;
    struct io_store *store;
    struct table_store *shared;
    grebe_table *tables[2]; /* a table, and a file */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    const struct file_format *format = NULL;
    grebe_table *single = NULL;
    char path[256];
    w.row_group_rows = GROUP_ROWS;
    w.page_rows = 130;
    f->ctx = fixture_context(NULL);
    assert_ok(io_memory_new(f->ctx, &f->store, &err));
    assert_ok(create_in(f->store, "t", N, &w, &f->tables[0], &err));
    w.policy = GREBE_POLICY_SINGLE;
    assert_ok(create_in(f->store, "s", N, &w, &single, &err));
    const struct manifest *m = &single->snapshot->manifest;
    assert_int_equal(m->groups.n, 1);
    snprintf(path, sizeof path, "s/_data/%s", manifest_file_at(manifest_group_at(m, 0), 0)->path.data);
    grebe_table_close(single);
    const char *const paths[] = { path };
    assert_ok(format_find(f->ctx, "parquet", &format, &err));
    assert_ok(table_store_new(f->ctx, f->store, false, &f->shared, &err));
    assert_ok(table_of_files(f->shared, paths, 1, format, false, &f->tables[1], &err));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    grebe_table_close(f->tables[0]);
    grebe_table_close(f->tables[1]);
    table_store_drop(f->shared);
    io_store_free(f->store);
    grebe_context_free(f->ctx);
    free(f);
    return 0;
}

struct way {
    const char *where;
    uint32_t threads;
    uint64_t memory;
    int64_t piece_rows, batch_rows, limit;
    grebe_cancel *cancel;
};

/* What came out: ids, where batches end, and how it ended. */
struct result {
    int64_t ids[N];
    size_t n;
    size_t ends[N];
    size_t n_batches;
    size_t most_ahead; /* pieces under way at once */
    int64_t row_reached; /* candidates are in pieces up to this row of the table */
    grebe_status st;
    grebe_error err;
};

static struct scan *open_scan(const grebe_table *t, const struct way *w)
{
    static const char *const columns[] = { "id", "v", "name" };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    struct scan *s = NULL;
    call.threads = w->threads;
    call.memory_limit_bytes = w->memory;
    call.cancel = w->cancel;
    o.call = &call;
    o.where = w->where;
    o.columns = columns;
    o.n_columns = 3;
    o.batch_rows = w->batch_rows;
    o.limit = w->limit;
    assert_ok(scan_new(t, &o, false, &s, &err));
    s->piece_rows = w->piece_rows;
    return s;
}

static void keep_batch(struct result *r, const struct ArrowArray *b)
{
    const struct ArrowArray *id = b->children[0], *v = b->children[1], *name = b->children[2];
    const float *floats = (const float *)v->children[0]->buffers[1] + v->children[0]->offset;
    const int32_t *at = (const int32_t *)name->buffers[1] + name->offset;
    for (int64_t i = 0; i < b->length; i++) {
        int64_t row = ((const int64_t *)id->buffers[1])[id->offset + i];
        char text[32];
        int len = row % 7 == 6 ? 0 : snprintf(text, sizeof text, "name_%lld", (long long)row);
        assert_true(floats[(v->offset + i) * 4 + 3] == (float)(row * 4 + 3));
        assert_int_equal(at[i + 1] - at[i], len);
        assert_memory_equal((const char *)name->buffers[2] + at[i], text, (size_t)len);
        assert_true(r->n < N);
        r->ids[r->n++] = row;
    }
    r->ends[r->n_batches++] = r->n;
}

/* Until the end, a failure, or n_batches. */
static void read_on(struct scan *s, struct result *r, size_t n_batches)
{
    r->st = GREBE_OK;
    while (r->st == GREBE_OK && r->n_batches < n_batches && s->n_left > 0) {
        struct ArrowArray b = { 0 };
        r->st = scan_filtered_next(s, &b, &r->err);
        r->most_ahead = s->n_ahead > r->most_ahead ? s->n_ahead : r->most_ahead;
        if (r->st == GREBE_OK) {
            keep_batch(r, &b);
            s->n_left -= b.length;
            array_release(&b);
        }
    }
    bool is_in_one = s->next_segment < s->n_segments;
    r->row_reached = is_in_one ? s->segments[s->next_segment].begin : s->pruned_to;
}

static struct result *read_all(const grebe_table *t, const struct way *w)
{
    struct result *r = calloc(1, sizeof *r);
    struct scan *s = open_scan(t, w);
    read_on(s, r, SIZE_MAX);
    scan_free(s);
    return r;
}

static const char *const conditions[] = {
    "id % 3 = 1",   "id >= 0",
    "id between 700 and 2300", "id % 500 = 1",
    "name = 'name_1999' or name = 'name_2000'", "id < 0 or id = 2999",
};

static bool keeps(size_t c, int64_t i)
{
    switch (c) {
    case 0: return i % 3 == 1;
    case 1: return true;
    case 2: return i >= 700 && i <= 2300;
    case 3: return i % 500 == 1;
    case 4: return i == 1999 || i == 2000;
    default: return i == 2999;
    }
}

static void test_pieces__any_length_threads_and_memory__same_rows(void **state)
{
    struct fixture *f = *state;
    static const struct way ways[] = {
        { NULL, 1, 0, 100, 40, -1, NULL }, { NULL, 2, 0, 100, 40, -1, NULL },
        { NULL, 8, 0, 33, 1, -1, NULL },   { NULL, 4, 1, 100, 100, -1, NULL },
        { NULL, 2, 0, 1, 0, -1, NULL },    { NULL, 3, 5000, 250, 250, 150, NULL },
        { NULL, 2, 0, 1 << 19, 7, 600, NULL },
    };
    for (size_t k = 0; k < 2 * (sizeof ways / sizeof *ways); k++) {
        for (size_t c = 0; c < sizeof conditions / sizeof *conditions; c++) {
            struct way w = ways[k / 2];
            w.where = conditions[c];
            struct result *r = read_all(f->tables[k % 2], &w);
            size_t n = 0;
            for (int64_t i = 0; i < N && (w.limit < 0 || n < (size_t)w.limit); i++) {
                if (keeps(c, i)) {
                    assert_true(n < r->n);
                    assert_int_equal(r->ids[n++], i);
                }
            }
            assert_int_equal(r->n, n);
            assert_int_equal(r->st, w.limit == (int64_t)n ? GREBE_OK : GREBE_END);
            free(r);
        }
    }
}

/* Cuts are between batches, and the same for any number of threads. */
static void test_pieces__threads__same_batches_as_without_cuts(void **state)
{
    struct fixture *f = *state;
    struct way w = { "id % 3 = 1", 1, 0, INT64_MAX, 50, -1, NULL };
    struct result *whole = read_all(f->tables[0], &w);
    assert_int_equal(whole->n_batches, N / 50);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        w.threads = threads;
        w.piece_rows = 120; /* two batches */
        struct result *cut = read_all(f->tables[0], &w);
        assert_int_equal(cut->n_batches, whole->n_batches);
        assert_memory_equal(cut->ends, whole->ends, whole->n_batches * sizeof *whole->ends);
        assert_int_equal(cut->most_ahead, 1 + (threads > 1 ? threads : 0));
        free(cut);
    }
    free(whole);
}

/* Nothing behind the pieces under way is begun: neither by a limit nor by who stops. */
static void test_pieces__limit_and_memory__little_is_begun(void **state)
{
    struct fixture *f = *state;
    struct way w = { "id >= 0", 4, 0, 100, 100, -1, NULL };
    for (size_t k = 0; k < 2; k++) {
        struct result *r = calloc(1, sizeof *r);
        w.memory = k == 0 ? 0 : 1;
        struct scan *s = open_scan(f->tables[1], &w);
        read_on(s, r, 1);
        assert_int_equal(r->n, 100);
        assert_int_equal(r->row_reached, k == 0 ? 500 : 100);
        scan_free(s);
        free(r);
    }
}

static void test_pieces__failures__first_in_row_order(void **state)
{
    struct fixture *f = *state;
    /* Too large from row 1300 on: the rows before its piece, then its failure, and never a later one. */
    struct way w = { "id + 9223372036854774508 > 0", 1, 0, 100, 100, -1, NULL };
    struct result *first = read_all(f->tables[1], &w);
    assert_int_equal(first->st, GREBE_EINVAL);
    assert_int_equal(first->n, 1300);
    assert_non_null(strstr(first->err.message, "rows [1300, 1400): condition"));
    for (uint32_t round = 0; round < 40; round++) {
        w.threads = 2 + round % 6;
        struct result *r = read_all(f->tables[1], &w);
        assert_int_equal(r->st, GREBE_EINVAL);
        assert_int_equal(r->n, first->n);
        assert_string_equal(r->err.message, first->err.message);
        free(r);
    }
    free(first);
}

static void test_pieces__cancelled__stops(void **state)
{
    struct fixture *f = *state;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_cancel *cancel = NULL;
        assert_ok(grebe_cancel_new(f->ctx, &cancel, &err));
        struct way w = { "id >= 0", threads, 0, 100, 100, -1, cancel };
        struct result *r = calloc(1, sizeof *r);
        struct scan *s = open_scan(f->tables[1], &w);
        read_on(s, r, 2);
        grebe_cancel_set(cancel);
        read_on(s, r, SIZE_MAX);
        assert_int_equal(r->st, GREBE_ECANCELLED);
        assert_int_equal(r->n, 200);
        scan_free(s);
        free(r);
        grebe_cancel_free(cancel);
    }
}

static void test_pieces__count__of_all(void **state)
{
    struct fixture *f = *state;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct way w = { "id % 3 = 1", threads, 0, 70, 10, -1, NULL };
        struct scan *s = open_scan(f->tables[1], &w);
        int64_t n = 0;
        assert_ok(scan_filtered_count(s, &n, &err));
        assert_int_equal(n, N / 3);
        scan_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces__any_length_threads_and_memory__same_rows),
        cmocka_unit_test(test_pieces__threads__same_batches_as_without_cuts),
        cmocka_unit_test(test_pieces__limit_and_memory__little_is_begun),
        cmocka_unit_test(test_pieces__failures__first_in_row_order),
        cmocka_unit_test(test_pieces__cancelled__stops),
        cmocka_unit_test(test_pieces__count__of_all),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
