/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads on one reader, and on readers of one file. Meant for ThreadSanitizer as well. */
#include "parquet/parquet_format.h"

#include <pthread.h>
#include <stdlib.h>

#include "parquet_formula.h"

#define GOLDEN TEST_DATA "/golden/parquet/"

enum { N_THREADS = 8, N_ROUNDS = 12, N_TAKE = 20 };

struct work {
    struct io_store *store;
    const char *path;
    struct format_reader *shared;
    uint64_t seed;
    int n_failed; /* cmocka's asserts belong to the main thread */
};

static bool row_is_right(const struct format_reader *r, const struct ArrowArray *rows, int64_t c,
                         int64_t k, int64_t i)
{
    struct text found = { .len = 0 };
    struct text expected = { .len = 0 };
    add_value(&found, r->schema.children[c], rows->children[c], k);
    formula_value(&expected, r->schema.children[c]->name, i);
    return strcmp(found.s, expected.s) == 0;
}

static int ascending(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void use(struct work *w, struct format_reader *r)
{
    struct call call = { .threads = 2, .memory_limit_bytes = UINT64_MAX };
    struct ArrowArray rows;
    int64_t ids[N_TAKE];
    for (int i = 0; i < N_TAKE; i++) {
        ids[i] = (int64_t)(test_random(&w->seed) % FORMULA_ROWS);
    }
    qsort(ids, N_TAKE, sizeof *ids, ascending);
    if (r->ops->take(r, NULL, 0, ids, N_TAKE, &call, &rows, NULL) != GREBE_OK) {
        w->n_failed++;
        return;
    }
    for (int64_t c = 0; c < rows.n_children; c++) {
        int k = (int)(test_random(&w->seed) % N_TAKE);
        w->n_failed += !row_is_right(r, &rows, c, k, ids[k]);
    }
    array_release(&rows);
    size_t chunk = (size_t)(test_random(&w->seed) % r->n_chunks);
    if (r->ops->read(r, NULL, 0, r->chunk_begin[chunk], r->chunk_begin[chunk + 1], &call, &rows,
                     NULL) != GREBE_OK) {
        w->n_failed++;
        return;
    }
    for (int64_t c = 0; c < rows.n_children; c++) {
        int64_t k = (int64_t)(test_random(&w->seed) % (uint64_t)rows.length);
        w->n_failed += !row_is_right(r, &rows, c, k, r->chunk_begin[chunk] + k);
    }
    array_release(&rows);
}

static void *run(void *arg)
{
    struct work *w = arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        use(w, w->shared);
        struct format_reader *own = NULL;
        if (parquet_format.open(w->store, w->path, NULL, &own, NULL) != GREBE_OK) {
            w->n_failed++;
            continue;
        }
        use(w, own);
        own->ops->close(own);
    }
    return NULL;
}

static void run_file(const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct format_reader *r = NULL;
    struct work works[N_THREADS];
    pthread_t threads[N_THREADS];
    uint64_t seed = test_seed();
    assert_ok(context_new(NULL, &ctx, &err));
    assert_ok(io_local_new(ctx, &store, &err));
    assert_ok(parquet_format.open(store, path, NULL, &r, &err));
    for (int i = 0; i < N_THREADS; i++) {
        works[i] = (struct work){ store, path, r, seed + (uint64_t)i, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, run, &works[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(works[i].n_failed, 0);
    }
    r->ops->close(r);
    io_store_free(store);
    context_free(ctx);
}

static void test_threads__take_and_read__right_rows(void **state)
{
    (void)state;
    run_file(GOLDEN "pa_plain.parquet");
    run_file(GOLDEN "pa_small_pages_v1_lz4.parquet");
    run_file(GOLDEN "duck_v2_zstd.parquet");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads__take_and_read__right_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
