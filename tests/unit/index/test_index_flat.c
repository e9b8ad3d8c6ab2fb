/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "index/index_store.h"
#include "test_fixture.h"
#include "test_support.h"

/* Every element type and metric against a plain loop with the row kernels: one query, many queries, any number of
 * threads, filtered, with removed rows, within a radius, and from a file. */

/* Few different values, so that many distances are equal. */
static void *random_rows(enum vector_elem elem, size_t n, uint32_t dim, unsigned values, uint64_t *seed)
{
    const size_t bytes = vector_row_bytes(elem, dim);
    unsigned char *rows = malloc(n * bytes + 1);

    for (size_t i = 0; i < n * (elem == VECTOR_BIT ? bytes : dim); i++) {
        const int v = (int)(test_random(seed) % values) - (elem == VECTOR_U8 || elem == VECTOR_BIT ? 0 : (int)values / 2);
        const float f = (float)v * 0.125f;
        uint32_t bits;

        memcpy(&bits, &f, 4);
        if (elem == VECTOR_F32) {
            memcpy(rows + i * 4, &f, 4);
        } else if (elem == VECTOR_BF16) {
            const uint16_t h = (uint16_t)(bits >> 16);

            memcpy(rows + i * 2, &h, 2);
        } else if (elem == VECTOR_F16) {
            const uint16_t h = (uint16_t)(0x3000 + v);

            memcpy(rows + i * 2, &h, 2);
        } else {
            rows[i] = elem == VECTOR_BIT ? (unsigned char)test_random(seed) : (unsigned char)v;
        }
    }
    return rows;
}

struct expected {
    float distance;
    uint32_t position;
};

static int compare(const void *a, const void *b)
{
    const struct expected *x = a, *y = b;

    if (x->distance != y->distance) {
        return x->distance < y->distance ? -1 : 1;
    }
    return x->position < y->position ? -1 : 1;
}

/* The rows that pass, nearest first. */
static size_t plain_search(const struct index_store *s, const void *query, const struct index_filter *filter,
                           const bool *gone, struct expected *out)
{
    size_t n = 0;

    for (uint32_t r = 0; r < s->n; r++) {
        const bool passes = filter->words == NULL || (filter->words[r / 64] >> (r % 64) & 1) != 0;

        if (passes && !gone[r]) {
            s->ops->many(query, index_store_row(s, r), s->stride, 1, s->dim, &out[n].distance);
            out[n].distance = vector_metric_finish(s->metric, s->dim, out[n].distance);
            out[n++].position = r;
        }
    }
    qsort(out, n, sizeof *out, compare);
    return n;
}

struct set {
    struct index *ix;
    struct index_store twin; /* the same rows, for the plain search */
    struct vector_rows queries;
    bool *gone;
};

static void make_set(struct fixture *f, enum vector_metric metric, enum vector_elem elem, size_t n, size_t n_queries,
                     uint32_t dim, unsigned values, struct set *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct index_config config = {.kind = INDEX_FLAT, .metric = metric, .elem = elem};
    void *rows = random_rows(elem, n, dim, values, &f->seed);
    const size_t bytes = vector_row_bytes(elem, dim);
    const struct index_rows first = {.dense = {rows, bytes, n / 3, dim, elem}};
    const struct index_rows rest = {.dense = {(char *)rows + n / 3 * bytes, bytes, n - n / 3, dim, elem}};
    const struct call call = {.threads = 1};

    assert_ok(index_flat_ops.create(f->ctx, &config, &out->ix, &err));
    assert_ok(index_flat_ops.add(out->ix, &first, &call, &err));
    assert_ok(index_flat_ops.add(out->ix, &rest, &call, &err));
    assert_ok(index_store_init(&out->twin, f->ctx->a, metric, elem, dim, &err));
    assert_ok(index_store_append(&out->twin, &first.dense, &err));
    assert_ok(index_store_append(&out->twin, &rest.dense, &err));
    out->queries = (struct vector_rows){random_rows(elem, n_queries, dim, values, &f->seed), bytes, n_queries, dim, elem};
    out->gone = calloc(n + 1, sizeof *out->gone);
    free(rows);
}

static void free_set(struct set *s)
{
    s->ix->ops->free(s->ix);
    index_store_release(&s->twin);
    free((void *)(uintptr_t)s->queries.data);
    free(s->gone);
}

static void check_search(struct fixture *f, struct set *set, size_t k, uint32_t threads, struct index_filter filter)
{
    grebe_error err = GREBE_ERROR_INIT;
    const size_t n = (size_t)set->queries.n;
    struct index_search s = {.k = k, .filter = filter, .call = {.threads = threads}};
    const struct index_rows queries = {.dense = set->queries};
    uint32_t *positions = calloc(n * k, sizeof *positions);
    float *distances = calloc(n * k, sizeof *distances);
    struct expected *all = calloc((size_t)set->twin.n + 1, sizeof *all);
    unsigned char *form = aligned_alloc(64, set->twin.stride);

    (void)f;
    assert_ok(set->ix->ops->search(set->ix, &queries, &s, positions, distances, &err));
    for (size_t q = 0; q < n; q++) {
        size_t found;

        assert_ok(index_store_query(&set->twin, &set->queries, q, form, &err));
        found = plain_search(&set->twin, form, &filter, set->gone, all);
        for (size_t i = 0; i < k; i++) {
            const uint32_t position = i < found ? all[i].position : UINT32_MAX;
            const float distance = i < found ? all[i].distance : INFINITY;

            if (positions[q * k + i] != position || distances[q * k + i] != distance) {
                fail_msg("query %zu of %zu, place %zu of %zu: expected %u at %.9g, found %u at %.9g", q, n, i, k,
                         position, (double)distance, positions[q * k + i], (double)distances[q * k + i]);
            }
        }
    }
    free(positions);
    free(distances);
    free(all);
    free(form);
}

static void check_all_ways(struct fixture *f, struct set *set, size_t k)
{
    const size_t words = (size_t)set->twin.n / 64 + 1;
    uint64_t *bits = calloc(words, sizeof *bits);
    struct index_filter filter = {bits, set->twin.n, 0};
    const struct index_filter none = {NULL, 0, 0};
    grebe_error err = GREBE_ERROR_INIT;

    for (uint32_t threads = 1; threads <= 3; threads++) {
        check_search(f, set, k, threads, none);
    }
    for (size_t r = 0; r < set->twin.n; r++) {
        const uint64_t bit = test_random(&f->seed) % 3 == 0;

        bits[r / 64] |= bit << (r % 64);
        filter.n_set += bit;
    }
    check_search(f, set, k, 2, filter);
    for (size_t i = 0; i < set->twin.n / 5; i++) {
        const uint32_t r = (uint32_t)(test_random(&f->seed) % set->twin.n);

        if (!set->gone[r]) {
            assert_ok(set->ix->ops->remove(set->ix, r, &err));
            set->gone[r] = true;
        }
    }
    check_search(f, set, k, 2, none);
    check_search(f, set, k, 1, filter);
    memset(bits, 0, words * sizeof *bits);
    filter.n_set = 0;
    check_search(f, set, k, 1, filter);
    free(bits);
}

static void test_flat__every_type_and_metric__plain_loop(void **state)
{
    struct fixture *f = *state;

    for (int metric = VECTOR_EUCLIDEAN; metric <= VECTOR_JACCARD; metric++) {
        for (int elem = VECTOR_F32; elem <= VECTOR_BIT; elem++) {
            if (vector_distance_ops((enum vector_metric)metric, (enum vector_elem)elem) == NULL) {
                continue;
            }
            for (size_t queries = 1; queries <= 19; queries += 6) {
                struct set set;

                make_set(f, (enum vector_metric)metric, (enum vector_elem)elem, 700, queries, 21, 4, &set);
                check_all_ways(f, &set, 10);
                free_set(&set);
            }
        }
    }
}

static void test_flat__many_rows_and_queries__plain_loop(void **state)
{
    struct fixture *f = *state;
    const struct index_filter none = {NULL, 0, 0};
    struct set set;

    make_set(f, VECTOR_EUCLIDEAN, VECTOR_F32, 30000, 120, 50, 1000, &set);
    check_search(f, &set, 10, 2, none);
    check_search(f, &set, 100, 1, none);
    set.queries.n = 1;
    check_search(f, &set, 10, 3, none);
    free_set(&set);
    make_set(f, VECTOR_COSINE, VECTOR_F32, 9000, 50, 50, 1000, &set);
    check_search(f, &set, 10, 2, none);
    free_set(&set);
}

static void test_flat__k_above_rows__padded(void **state)
{
    struct fixture *f = *state;
    const struct index_filter none = {NULL, 0, 0};
    struct set set;

    make_set(f, VECTOR_L2SQ, VECTOR_F32, 5, 9, 3, 10, &set);
    check_search(f, &set, 8, 2, none);
    set.queries.n = 1;
    check_search(f, &set, 8, 2, none);
    free_set(&set);
}

static void test_flat__far_from_origin__still_exact(void **state)
{
    struct fixture *f = *state;
    const struct index_filter none = {NULL, 0, 0};
    struct set set;
    float *rows = random_rows(VECTOR_F32, 400, 16, 1000, &f->seed);
    grebe_error err = GREBE_ERROR_INIT;
    const struct index_rows more = {.dense = {rows, 64, 400, 16, VECTOR_F32}};
    const struct call call = {.threads = 1};

    make_set(f, VECTOR_L2SQ, VECTOR_F32, 100, 20, 16, 1000, &set);
    for (size_t i = 0; i < 400 * 16; i++) {
        rows[i] = rows[i] * 1e-3f + 1e4f; /* tiles cannot tell these apart */
    }
    assert_ok(set.ix->ops->add(set.ix, &more, &call, &err));
    assert_ok(index_store_append(&set.twin, &more.dense, &err));
    free((void *)(uintptr_t)set.queries.data);
    free(set.gone);
    set.gone = calloc(501, sizeof *set.gone);
    set.queries.data = rows;
    check_search(f, &set, 10, 2, none);
    for (size_t i = 0; i < 400 * 16; i++) {
        rows[i] = i % 3 == 0 ? 3e38f : rows[i] * 1e30f; /* squares overflow */
    }
    check_search(f, &set, 10, 2, none);
    free_set(&set);
}

static void check_range(struct set *set, float radius, uint32_t threads)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct index_search s = {.call = {.threads = threads}};
    const struct index_rows queries = {.dense = set->queries};
    const struct index_filter none = {NULL, 0, 0};
    struct index_ranges r = {0};
    struct expected *all = calloc((size_t)set->twin.n + 1, sizeof *all);
    unsigned char *form = aligned_alloc(64, set->twin.stride);

    assert_ok(set->ix->ops->range(set->ix, &queries, radius, &s, &r, &err));
    for (size_t q = 0; q < set->queries.n; q++) {
        size_t n = 0;

        assert_ok(index_store_query(&set->twin, &set->queries, q, form, &err));
        plain_search(&set->twin, form, &none, set->gone, all);
        while (n < set->twin.n && all[n].distance <= radius) {
            n++;
        }
        assert_int_equal(r.offsets[q + 1] - r.offsets[q], n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(r.positions[(size_t)r.offsets[q] + i], all[i].position);
            assert_true(r.distances[(size_t)r.offsets[q] + i] == all[i].distance);
        }
    }
    assert_int_equal(r.offsets[set->queries.n], r.total);
    index_ranges_release(&r);
    index_ranges_release(&r);
    free(all);
    free(form);
}

static void test_flat__range__all_rows_within(void **state)
{
    struct fixture *f = *state;
    struct set set;

    make_set(f, VECTOR_EUCLIDEAN, VECTOR_F32, 1500, 5, 8, 16, &set);
    check_range(&set, 1.5f, 2);
    check_range(&set, 0, 1);
    check_range(&set, -1, 1);
    free_set(&set);
}

static void test_flat__saved_and_loaded__same_results(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_config config = {.kind = INDEX_FLAT, .metric = VECTOR_IP, .elem = VECTOR_F32, .dim = 12};
    const struct index_filter none = {NULL, 0, 0};
    struct index_writer *w = NULL;
    struct index_file *file = NULL;
    struct index *loaded = NULL;
    struct index_info before, after;
    struct set set;
    char path[500];

    snprintf(path, sizeof path, "%s/flat.index", f->folder);
    make_set(f, VECTOR_IP, VECTOR_F32, 300, 9, 12, 5, &set);
    for (uint32_t r = 0; r < 300; r += 7) {
        assert_ok(set.ix->ops->remove(set.ix, r, &err));
        set.gone[r] = true;
    }
    set.ix->ops->info(set.ix, &before);
    assert_ok(index_writer_open(f->ctx, path, false, &w, &err));
    assert_ok(set.ix->ops->save(set.ix, w, &err));
    assert_ok(index_writer_finish(w, &err));
    index_writer_close(w);
    assert_ok(index_file_open(f->ctx, path, true, &file, &err));
    assert_ok(index_flat_ops.load(f->ctx, &config, file, &loaded, &err));
    loaded->ops->info(loaded, &after);
    assert_int_equal(after.rows, before.rows);
    assert_int_equal(after.removed, 43);
    assert_int_equal(after.dim, 12);
    set.ix->ops->free(set.ix);
    set.ix = loaded;
    check_search(f, &set, 10, 2, none);
    config.dim = 200; /* the rows' section does not fit */
    assert_fails(index_flat_ops.load(f->ctx, &config, file, &loaded, &err), GREBE_ECORRUPT, "vectors");
    free_set(&set);
    index_file_close(file);
}

static void test_flat__params__unknown_named(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    const char *const params[] = {"lists=3"};
    const struct index_config config = {.kind = INDEX_FLAT, .metric = VECTOR_IP, .params = params, .n_params = 1};
    struct index *ix = NULL;

    assert_fails(index_flat_ops.create(f->ctx, &config, &ix, &err), GREBE_EINVAL, "lists");
    assert_null(ix);
}

static void test_flat__no_memory__status_and_no_leak(void **state)
{
    struct fixture *f = *state;
    struct set set;
    const grebe_allocator *kept = f->ctx->a;

    make_set(f, VECTOR_L2SQ, VECTOR_F32, 600, 9, 8, 9, &set);
    for (int n_queries = 1; n_queries <= 9; n_queries += 8) {
        size_t fail_at = 1;

        for (;; fail_at++) {
            struct test_allocator a;
            grebe_error err = GREBE_ERROR_INIT;
            const uint64_t word[10] = {5, 7, 9};
            struct index_search s = {.k = 3, .filter = {word, 600, 0}, .call = {.threads = 1}};
            struct index_rows queries = {.dense = set.queries};
            uint32_t positions[27];
            float distances[27];
            grebe_status st;

            queries.dense.n = (uint64_t)n_queries;
            test_allocator_init(&a);
            a.fail_at = fail_at;
            f->ctx->a = &a.a;
            st = set.ix->ops->search(set.ix, &queries, &s, positions, distances, &err);
            f->ctx->a = kept;
            assert_int_equal(a.live_bytes, 0);
            if (st == GREBE_OK) {
                break;
            }
            assert_int_equal(st, GREBE_ENOMEM);
        }
        assert_true(fail_at > 3);
    }
    free_set(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_flat__every_type_and_metric__plain_loop, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_flat__many_rows_and_queries__plain_loop, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_flat__k_above_rows__padded, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_flat__far_from_origin__still_exact, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_flat__range__all_rows_within, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_flat__saved_and_loaded__same_results, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_flat__params__unknown_named, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_flat__no_memory__status_and_no_leak, fixture_set_up, fixture_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
