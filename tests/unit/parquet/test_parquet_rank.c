/* SPDX-License-Identifier: Apache-2.0 */
/* Rows among nulls by arithmetic: the counts, what is kept of a page, and no memory. */
#include "parquet/parquet_rank.h"

#include <stdlib.h>

#include "parquet/parquet_format.h"
#include "parquet_formula.h"

#define PLAIN TEST_DATA "/golden/parquet/pa_plain.parquet"

static void test_before__every_row__counted(void **state)
{
    enum { N = 2500, N_BLOCKS = N / PQ_RANK_BLOCK + 1 };
    uint64_t seed = test_seed();
    static uint8_t bits[(N + 7) / 8];
    struct pq_rank *r = calloc(1, sizeof *r + N_BLOCKS * sizeof *r->before);
    uint32_t n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof bits; i++) {
        bits[i] = (uint8_t)test_random(&seed);
    }
    r->bits = bits;
    for (uint32_t i = 0; i < N; i++) {
        if (i % PQ_RANK_BLOCK == 0) {
            r->before[i / PQ_RANK_BLOCK] = n;
        }
        n += bit_get(bits, i);
    }
    n = 0;
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(pq_rank_before(r, i), n);
        n += bit_get(bits, i);
    }
    free(r);
}

static int column_of(const struct format_reader *r, const char *name)
{
    for (int64_t i = 0; i < r->schema.n_children; i++) {
        if (strcmp(r->schema.children[i]->name, name) == 0) {
            return (int)i;
        }
    }
    fail_msg("no column %s", name);
    return -1;
}

/* First page of a top-level column's first leaf in the first row group; NULL: not touched. */
static struct pq_page *first_page(struct format_reader *base, int column)
{
    struct pq_reader *r = (struct pq_reader *)base;
    uint32_t leaf = r->file->schema.columns[column].leaf_begin;
    _Atomic(struct pq_pages *) *by_leaf = atomic_load(&r->file->groups[0].pages);
    struct pq_pages *p = by_leaf == NULL ? NULL : atomic_load(&by_leaf[leaf]);
    return p == NULL ? NULL : &p->pages[0];
}

static grebe_status take_some(struct format_reader *r, const int *columns, size_t n_columns,
                              grebe_error *err)
{
    const int64_t ids[] = { 1, 3, 3, 40, 41, 77, 130 };
    const int64_t n = (int64_t)(sizeof ids / sizeof *ids);
    struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    struct ArrowArray rows;
    grebe_status st = r->ops->take(r, columns, n_columns, ids, n, &call, &rows, err);

    if (st != GREBE_OK) {
        return st;
    }
    assert_int_equal(rows.length, n);
    for (size_t c = 0; c < n_columns; c++) {
        for (int64_t k = 0; k < n; k++) {
            struct text found = { .len = 0 };
            struct text expected = { .len = 0 };
            add_value(&found, r->schema.children[columns[c]], rows.children[c], k);
            formula_value(&expected, r->schema.children[columns[c]]->name, ids[k]);
            assert_string_equal(found.s, expected.s);
        }
    }
    array_release(&rows);
    return GREBE_OK;
}

static void test_take__nulls_in_open_pages__kept_with_the_file(void **state)
{
    static const char *const ranked[] = { "vn", "f64", "fsb", "i32" };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct format_reader *r = NULL;

    (void)state;
    assert_ok(context_new(NULL, &ctx, &err));
    assert_ok(io_local_new(ctx, &store, &err));
    assert_ok(parquet_format.open(store, PLAIN, NULL, &r, &err));
    for (size_t i = 0; i < sizeof ranked / sizeof *ranked; i++) {
        const int column = column_of(r, ranked[i]);
        assert_ok(take_some(r, &column, 1, &err));
        struct pq_rank *rank = atomic_load(&first_page(r, column)->rank);
        assert_non_null(rank);
        assert_int_equal(rank->n_rows, first_page(r, column)->n_rows);
        assert_int_equal(rank->per_row, strcmp(ranked[i], "vn") == 0 ? 3 : 1);
        assert_true(rank->n_present < rank->n_rows);
        assert_ok(take_some(r, &column, 1, &err)); /* from what was kept */
        assert_ptr_equal(atomic_load(&first_page(r, column)->rank), rank);
    }
    const int uneven = column_of(r, "li");
    assert_ok(take_some(r, &uneven, 1, &err));
    assert_null(atomic_load(&first_page(r, uneven)->rank));
    assert_true((atomic_load(&first_page(r, uneven)->facts) & PQ_PAGE_IS_NOT_RANKED) != 0);
    r->ops->close(r);
    io_store_free(store);
    context_free(ctx);
}

static grebe_status use(const grebe_allocator *a, grebe_error *err)
{
    grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct format_reader *r = NULL;
    grebe_status st = GREBE_OK;

    options.threads = 1;
    options.allocator = a;
    GREBE_TRY(context_new(&options, &ctx, err));
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(parquet_format.open(store, PLAIN, NULL, &r, err));
    const int columns[] = { column_of(r, "vn"), column_of(r, "f64") };
    GREBE_TRY(take_some(r, columns, 2, err));
    GREBE_TRY(take_some(r, columns, 2, err));
out:
    if (r != NULL) {
        r->ops->close(r);
    }
    io_store_free(store);
    context_free(ctx);
    return st;
}

static void test_take__no_memory__reported(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        struct test_allocator t;
        grebe_error err = GREBE_ERROR_INIT;

        test_allocator_init(&t);
        t.fail_at = n;
        grebe_status st = use(&t.a, &err);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK && t.n_calls < n) {
            break;
        }
        assert_true(st == GREBE_ENOMEM || st == GREBE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before__every_row__counted),
        cmocka_unit_test(test_take__nulls_in_open_pages__kept_with_the_file),
        cmocka_unit_test(test_take__no_memory__reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
