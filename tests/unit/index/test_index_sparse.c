/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse rows: kernels of all levels agree, results equal a float64 oracle, lists survive being taken apart. */
#include "test_support.h"

#include <math.h>
#include <stdlib.h>

#include "base/context_internal.h"
#include "grebe/ann_index.h"
#include "index/sparse_lists.h"
#include "index/sparse_scan.h"

static void kernels_agree(void **state)
{
    (void)state;
    const struct sparse_kernels *scalar = sparse_kernels_of(CPU_SCALAR), *avx2 = sparse_kernels_of(CPU_AVX2);
    static int16_t a[SPARSE_WINDOW_ROWS + 64], b[SPARSE_WINDOW_ROWS + 64];
    static uint16_t rows[1000];
    static uint8_t codes[1000];
    uint64_t seed = 5;
    if (avx2 == NULL) {
        skip();
    }
    for (size_t n = 0; n < 1000; n = n < 40 ? n + 1 : n * 2) {
        for (int w = 0; w < 6; w++) {
            const int32_t weights[6] = { 0, 1, 32000, -32000, 300, -77 };
            for (size_t i = 0; i < n; i++) {
                rows[i] = (uint16_t)test_random(&seed);
                codes[i] = (uint8_t)test_random(&seed);
            }
            for (int is_signed = 0; is_signed < 2; is_signed++) {
                scalar->add(a, rows, codes, n, weights[w], is_signed != 0);
                avx2->add(b, rows, codes, n, weights[w], is_signed != 0);
                assert_memory_equal(a, b, sizeof a);
            }
        }
    }
    const int16_t limits[4] = { -32768, 0, 50, 32767 };
    for (int l = 0; l < 4; l++) {
        static uint32_t p[2][SPARSE_WINDOW_ROWS + 16];
        for (size_t n = 65000; n < 65536; n += 37) { /* 16 results at a time and all at once */
            size_t at = 3, total = 0, next = 0;
            size_t all = scalar->above(a, 3, n, limits[l], p[0], SPARSE_WINDOW_ROWS, &next);
            assert_int_equal(next, n);
            while (at < n) {
                total += avx2->above(a, at, n, limits[l], p[1] + total, 16, &at);
            }
            assert_int_equal(all, total);
            assert_memory_equal(p[0], p[1], all * sizeof p[0][0]);
        }
    }
}

struct rows {
    int64_t *offsets;
    uint32_t *terms;
    float *values;
    size_t n;
};

/* n rows with up to 12 terms of `vocabulary`, ascending, some rows empty. */
static struct rows random_rows(size_t n, uint32_t vocabulary, bool has_negative, uint64_t *seed)
{
    struct rows r = { calloc(n + 1, 8), calloc(n * 12 + 1, 4), calloc(n * 12 + 1, 4), n };
    for (size_t i = 0; i < n; i++) {
        size_t m = test_random(seed) % 13, at = (size_t)r.offsets[i];
        uint32_t term = 0;
        for (size_t j = 0; j < m; j++) {
            term += 1 + (uint32_t)(test_random(seed) % (vocabulary / 13));
            r.terms[at + j] = term;
            r.values[at + j] = (float)(1 + test_random(seed) % 1000) / 256.0f;
            if (has_negative && test_random(seed) % 3 == 0) {
                r.values[at + j] = -r.values[at + j];
            }
        }
        r.offsets[i + 1] = (int64_t)(at + m);
    }
    return r;
}

static void free_rows(struct rows *r)
{
    free(r->offsets);
    free(r->terms);
    free(r->values);
}

static double dot(const struct rows *a, size_t i, const struct rows *b, size_t j)
{
    double sum = 0;
    for (int64_t x = a->offsets[i]; x < a->offsets[i + 1]; x++) {
        for (int64_t y = b->offsets[j]; y < b->offsets[j + 1]; y++) {
            if (a->terms[x] == b->terms[y]) {
                sum += (double)a->values[x] * (double)b->values[y];
            }
        }
    }
    return sum;
}

static grebe_vectors vectors_of(const struct rows *r)
{
    grebe_vectors v = GREBE_VECTORS_INIT;
    v.rows = r->n;
    v.offsets = r->offsets;
    v.terms = r->terms;
    v.values = r->values;
    return v;
}

/* Whether (ids, distances) are the k nearest by the oracle, ties by lower row. */
static void check_exact(const struct rows *base, const struct rows *queries, size_t q, size_t k, const int64_t *ids,
                        const float *distances)
{
    unsigned char *used = calloc(base->n + 1, 1);
    for (size_t i = 0; i < k; i++) {
        float best = INFINITY;
        int64_t best_id = -1;
        for (size_t r = 0; r < base->n; r++) {
            float d = 1.0f + (float)-dot(base, r, queries, q);
            if (!used[r] && d < best) {
                best = d;
                best_id = (int64_t)r;
            }
        }
        if (best_id >= 0) {
            used[best_id] = 1;
        }
        assert_int_equal(ids[i], best_id);
        assert_true(distances[i] == best);
    }
    free(used);
}

static void exact_search_equals_the_oracle(void **state)
{
    (void)state;
    grebe_context *ctx = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t seed = test_seed();
    assert_ok(context_new(NULL, &ctx, &err));
    for (int round = 0; round < 8; round++) {
        struct rows base = random_rows(round == 0 ? 3 : 700, round < 4 ? 60 : 4000000, round % 2 != 0, &seed);
        struct rows queries = random_rows(20, round < 4 ? 60 : 4000000, round % 3 == 1, &seed);
        grebe_vectors b = vectors_of(&base), q = vectors_of(&queries);
        grebe_ann_index *x = NULL;
        enum { K = 11 };
        int64_t ids[20 * K], again[20 * K];
        float distances[20 * K], other[20 * K];
        const char *exact[1] = { "exact=1" };
        grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
        o.params = exact;
        o.n_params = 1;
        assert_ok(grebe_ann_index_new(ctx, GREBE_ANN_INDEX_SPARSE, GREBE_METRIC_IP, GREBE_ELEM_F32, NULL, 0, 0, &x, &err));
        assert_ok(grebe_ann_index_add(x, &b, NULL, NULL, &err));
        assert_ok(grebe_ann_index_search(x, &q, K, &o, ids, distances, &err));
        for (size_t i = 0; i < 20; i++) {
            check_exact(&base, &queries, i, K, ids + i * K, distances + i * K);
        }
        o.call.threads = 4;
        assert_ok(grebe_ann_index_search(x, &q, K, &o, again, other, &err));
        assert_memory_equal(ids, again, sizeof ids);
        grebe_ann_index_close(x);
        free_rows(&base);
        free_rows(&queries);
    }
    context_free(ctx);
}

static void a_term_twice_is_refused_and_any_order_taken(void **state)
{
    (void)state;
    grebe_context *ctx = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = NULL;
    int64_t offsets[3] = { 0, 3, 5 };
    uint32_t terms[5] = { 9, 0xffffffff, 4, 4, 9 };
    float values[5] = { 1, 2, 4, 1, 1 };
    grebe_vectors v = GREBE_VECTORS_INIT;
    int64_t found[2];
    float distances[2];
    assert_ok(context_new(NULL, &ctx, &err));
    assert_ok(grebe_ann_index_new(ctx, GREBE_ANN_INDEX_SPARSE, GREBE_METRIC_IP, GREBE_ELEM_F32, NULL, 0, 0, &x, &err));
    v.rows = 2;
    v.offsets = offsets;
    v.terms = terms;
    v.values = values;
    assert_ok(grebe_ann_index_add(x, &v, NULL, NULL, &err));
    grebe_vectors query = v;
    query.rows = 1;
    assert_ok(grebe_ann_index_search(x, &query, 2, NULL, found, distances, &err));
    assert_int_equal(found[0], 0);
    assert_true(distances[0] == 1.0f - (1 + 4 + 16));
    terms[1] = 9;
    assert_int_equal(grebe_ann_index_add(x, &v, NULL, NULL, &err), GREBE_EINVAL);
    assert_non_null(strstr(err.message, "found 9 twice"));
    offsets[1] = 6;
    assert_int_equal(grebe_ann_index_add(x, &v, NULL, NULL, &err), GREBE_EINVAL);
    assert_non_null(strstr(err.message, "offsets[2]"));
    grebe_ann_index_close(x);
    context_free(ctx);
}

static void every_failing_allocation_is_an_error(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct rows base = random_rows(300, 100, false, &seed), queries = random_rows(3, 100, false, &seed);
    grebe_vectors b = vectors_of(&base), q = vectors_of(&queries);
    bool is_through = false;
    for (int n = 1; !is_through && n < 2000; n++) {
        struct test_allocator t;
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *ctx = NULL;
        grebe_ann_index *x = NULL;
        grebe_error err = GREBE_ERROR_INIT;
        int64_t found[6];
        float distances[6];
        test_allocator_init(&t);
        o.allocator = &t.a;
        t.fail_at = (size_t)n;
        grebe_status st = context_new(&o, &ctx, &err);
        if (st == GREBE_OK) {
            st = grebe_ann_index_new(ctx, GREBE_ANN_INDEX_SPARSE, GREBE_METRIC_IP, GREBE_ELEM_F32, NULL, 0, 1, &x, &err);
        }
        st = st == GREBE_OK ? grebe_ann_index_add(x, &b, NULL, NULL, &err) : st;
        st = st == GREBE_OK ? grebe_ann_index_search(x, &q, 2, NULL, found, distances, &err) : st;
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        is_through = st == GREBE_OK;
        grebe_ann_index_close(x);
        context_free(ctx);
        assert_int_equal(t.n_live, 0);
    }
    assert_true(is_through);
    free_rows(&base);
    free_rows(&queries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree),
        cmocka_unit_test(exact_search_equals_the_oracle),
        cmocka_unit_test(a_term_twice_is_refused_and_any_order_taken),
        cmocka_unit_test(every_failing_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
