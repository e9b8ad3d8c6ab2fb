/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_truth.h"

#include <math.h>
#include <stdlib.h>

#include "test_support.h"
#include "vector/distance.h"
#include "vector/sparse_dot.h"

/* Every metric and type against a plain float64 loop and a full sort: whole, in blocks, filtered, any thread count. */

struct fixture {
    grebe_context *ctx;
    uint64_t seed;
};

static int set_up(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct fixture *f = calloc(1, sizeof *f);

    assert_ok(context_new(NULL, &f->ctx, &err));
    f->seed = test_seed();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    context_free(f->ctx);
    free(f);
    return 0;
}

/* values: how many different components; 0: any float. */
static unsigned char *random_rows(enum vector_elem elem, size_t n, uint32_t dim, unsigned values, uint64_t *seed)
{
    const size_t bytes = vector_row_bytes(elem, dim);
    unsigned char *rows = calloc(n * bytes + 1, 1);

    for (size_t i = 0; i < n * (elem == VECTOR_BIT ? bytes : dim); i++) {
        const uint64_t r = test_random(seed);
        const int v = values == 0 ? (int)(r % 200) - 100 : (int)(r % values) - (int)values / 2;
        const float f = values == 0 ? (float)((int64_t)(r >> 40) - (1 << 23)) * 0x1p-22f : (float)v;
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
            rows[i] = elem == VECTOR_BIT ? (unsigned char)(r >> 8 & r >> 16) : (unsigned char)v;
        }
    }
    return rows;
}

struct pair {
    double distance;
    int64_t row;
};

static int compare(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->distance != y->distance) {
        return x->distance < y->distance ? -1 : 1;
    }
    return x->row < y->row ? -1 : 1;
}

static bool is_zero(enum vector_elem elem, const unsigned char *row, uint32_t dim)
{
    float *v = malloc(dim * sizeof *v);
    bool zero = true;

    vector_to_f32(elem, row, dim, v);
    for (uint32_t i = 0; i < dim; i++) {
        zero = zero && v[i] == 0;
    }
    free(v);
    return zero;
}

static double plain_distance(enum vector_metric metric, enum vector_elem elem, const unsigned char *q,
                             const unsigned char *row, uint32_t dim)
{
    double d = vector_distance_exact(metric, elem, q, row, dim);

    if (metric == VECTOR_COSINE && (is_zero(elem, q, dim) || is_zero(elem, row, dim))) {
        d = INFINITY;
    }
    return isnan(d) ? INFINITY : d;
}

struct blocks {
    const unsigned char *rows;
    size_t bytes, calls;
};

static grebe_status read_block(void *arg, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    struct blocks *b = arg;

    (void)err;
    b->calls++;
    memcpy(dst, b->rows + begin * b->bytes, n * b->bytes);
    return GREBE_OK;
}

static size_t n_progress;
static uint64_t last_done, last_total;

static void on_progress(void *arg, const grebe_progress *p)
{
    (void)arg;
    n_progress++;
    assert_true(p->rows_done > last_done || n_progress == 1);
    last_done = p->rows_done;
    last_total = p->rows_total;
}

struct task_case {
    enum vector_metric metric;
    enum vector_elem elem;
    size_t n, q, k;
    uint32_t dim;
    const unsigned char *rows, *queries;
    const int64_t *row_labels, *query_labels;
    bool is_negated;
};

static void check_results(const struct task_case *c, const int64_t *ids, const float *distances)
{
    const size_t bytes = vector_row_bytes(c->elem, c->dim);
    struct pair *all = calloc(c->n + 1, sizeof *all);

    for (size_t q = 0; q < c->q; q++) {
        size_t n = 0;

        for (size_t r = 0; r < c->n; r++) {
            if (c->row_labels == NULL || c->row_labels[r] == c->query_labels[q]) {
                all[n].distance = plain_distance(c->metric, c->elem, c->queries + q * bytes, c->rows + r * bytes, c->dim);
                all[n++].row = (int64_t)r;
            }
        }
        qsort(all, n, sizeof *all, compare);
        for (size_t i = 0; i < c->k; i++) {
            const int64_t row = i < n ? all[i].row : -1;
            const float d = i < n ? (float)(all[i].distance - (c->is_negated ? 1 : 0)) : INFINITY;

            if (ids[q * c->k + i] != row || distances[q * c->k + i] != d) {
                fail_msg("metric %d elem %d query %zu place %zu: expected %lld at %.9g, found %lld at %.9g",
                         (int)c->metric, (int)c->elem, q, i, (long long)row, (double)d,
                         (long long)ids[q * c->k + i], (double)distances[q * c->k + i]);
            }
        }
    }
    free(all);
}

static void check(struct fixture *f, const struct task_case *c, uint32_t threads, bool is_blocked)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct blocks blocks = {c->rows, vector_row_bytes(c->elem, c->dim), 0};
    const struct ann_rows base = {.n = c->n, .dim = c->dim, .elem = c->elem, .read = read_block, .arg = &blocks,
                                  .data = is_blocked ? NULL : c->rows};
    const struct ann_rows queries = {.n = c->q, .dim = c->dim, .elem = c->elem, .data = c->queries};
    const struct ann_truth_options options = {c->row_labels, c->query_labels, c->is_negated};
    const struct call call = {.threads = threads, .memory_limit_bytes = is_blocked ? 4 * 100 * blocks.bytes : UINT64_MAX,
                              .progress = on_progress};
    int64_t *ids = calloc(c->q * c->k, sizeof *ids);
    float *distances = calloc(c->q * c->k, sizeof *distances);

    n_progress = 0;
    last_done = 0;
    assert_ok(ann_truth_dense(f->ctx, c->metric, &base, &queries, c->k, &options, &call, ids, distances, &err));
    assert_true(n_progress > 0 && last_done == last_total);
    assert_true(!is_blocked || blocks.calls > 1);
    check_results(c, ids, distances);
    free(ids);
    free(distances);
}

static void check_ways(struct fixture *f, struct task_case c)
{
    int64_t *row_labels = calloc(c.n, sizeof *row_labels), *query_labels = calloc(c.q, sizeof *query_labels);

    for (uint32_t threads = 1; threads <= 3; threads++) {
        check(f, &c, threads, false);
    }
    check(f, &c, 2, true);
    for (size_t i = 0; i < c.n; i++) {
        row_labels[i] = (int64_t)(test_random(&f->seed) % 5) - 2;
    }
    for (size_t i = 0; i < c.q; i++) {
        query_labels[i] = (int64_t)(test_random(&f->seed) % 6) - 2; /* 3: no row has it */
    }
    c.row_labels = row_labels;
    c.query_labels = query_labels;
    check(f, &c, 1, false);
    check(f, &c, 2, true);
    free(row_labels);
    free(query_labels);
}

static void test_truth__every_metric_and_type__float64_loop(void **state)
{
    struct fixture *f = *state;

    for (int metric = VECTOR_EUCLIDEAN; metric <= VECTOR_JACCARD; metric++) {
        for (int elem = VECTOR_F32; elem <= VECTOR_BIT; elem++) {
            for (unsigned values = 0; values <= 6; values += 3) { /* 3 and 6: many equal distances */
                struct task_case c = {(enum vector_metric)metric, (enum vector_elem)elem, 900, 33, 12, 19, NULL, NULL,
                                      NULL, NULL, false};
                unsigned char *rows, *queries;

                if (vector_distance_ops(c.metric, c.elem) == NULL) {
                    continue;
                }
                c.rows = rows = random_rows(c.elem, c.n, c.dim, values, &f->seed);
                c.queries = queries = random_rows(c.elem, c.q, c.dim, values, &f->seed);
                memcpy(rows + 500 * vector_row_bytes(c.elem, c.dim), rows, 300 * vector_row_bytes(c.elem, c.dim));
                memset(rows + 50 * vector_row_bytes(c.elem, c.dim), 0, 3 * vector_row_bytes(c.elem, c.dim));
                memset(queries, 0, vector_row_bytes(c.elem, c.dim));
                check_ways(f, c);
                if (c.elem == VECTOR_I8 && c.metric == VECTOR_IP) {
                    c.is_negated = true;
                    check(f, &c, 2, false);
                }
                free(rows);
                free(queries);
            }
        }
    }
}

static void test_truth__nan_inf_and_huge__last_or_exact(void **state)
{
    struct fixture *f = *state;

    for (int metric = VECTOR_EUCLIDEAN; metric <= VECTOR_COSINE; metric++) {
        struct task_case c = {(enum vector_metric)metric, VECTOR_F32, 200, 9, 200, 7, NULL, NULL, NULL, NULL, false};
        unsigned char *rows = random_rows(c.elem, c.n, c.dim, 0, &f->seed);
        unsigned char *queries = random_rows(c.elem, c.q, c.dim, 0, &f->seed);
        float *x = (float *)(void *)rows;

        x[5 * 7 + 3] = NAN;
        x[6 * 7 + 6] = INFINITY;
        x[9 * 7] = -INFINITY;
        memset(x + 11 * 7, 0, 7 * sizeof *x);
        for (size_t i = 0; i < 7; i++) {
            x[20 * 7 + i] = 1e30f;  /* squares overflow float32 */
            x[21 * 7 + i] = 1e-30f; /* and underflow */
            x[22 * 7 + i] = 1e-42f;
        }
        c.rows = rows;
        c.queries = queries;
        check(f, &c, 2, false);
        c.k = 10;
        check(f, &c, 1, false);
        memcpy(queries, rows + 20 * 28, 3 * 28);
        check(f, &c, 1, false);
        free(rows);
        free(queries);
    }
}

static void test_truth__far_from_origin__exact(void **state)
{
    struct fixture *f = *state;
    struct task_case c = {VECTOR_EUCLIDEAN, VECTOR_F32, 3000, 20, 10, 16, NULL, NULL, NULL, NULL, false};
    unsigned char *rows = random_rows(c.elem, c.n, c.dim, 0, &f->seed);
    float *x = (float *)(void *)rows;

    for (size_t i = 0; i < c.n * c.dim; i++) {
        x[i] = x[i] * 1e-3f + 1e3f; /* tiles cannot tell these apart */
    }
    c.rows = c.queries = rows;
    check(f, &c, 2, false);
    free(rows);
}

static void test_truth__many_rows__all_pieces(void **state)
{
    struct fixture *f = *state;
    struct task_case c = {VECTOR_L2SQ, VECTOR_F32, 60000, 7, 100, 129, NULL, NULL, NULL, NULL, false};
    unsigned char *rows = random_rows(c.elem, c.n, c.dim, 0, &f->seed);
    unsigned char *queries = random_rows(c.elem, c.q, c.dim, 0, &f->seed);

    c.rows = rows;
    c.queries = queries;
    check(f, &c, 2, false); /* 31 MB of panels: several fillings */
    free(rows);
    free(queries);
}

static void test_truth__wrong_calls__named(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct ann_rows base = {.n = 4, .dim = 2, .elem = VECTOR_F32, .data = x}, queries = base;
    const int64_t labels[4] = {0};
    const struct ann_truth_options half = {labels, NULL, false};
    struct call call = {.threads = 1};
    int64_t ids[20];
    float d[20];

    assert_fails(ann_truth_dense(f->ctx, VECTOR_IP, &base, &queries, 0, NULL, &call, ids, d, &err), GREBE_EINVAL, "1 to the 4");
    assert_fails(ann_truth_dense(f->ctx, VECTOR_IP, &base, &queries, 5, NULL, &call, ids, d, &err), GREBE_EINVAL, "found 5");
    assert_fails(ann_truth_dense(f->ctx, VECTOR_HAMMING, &base, &queries, 1, NULL, &call, ids, d, &err), GREBE_EINVAL, "hamming");
    assert_fails(ann_truth_dense(f->ctx, VECTOR_IP, &base, &queries, 1, &half, &call, ids, d, &err), GREBE_EINVAL, "labels");
    queries.dim = 3;
    assert_fails(ann_truth_dense(f->ctx, VECTOR_IP, &base, &queries, 1, NULL, &call, ids, d, &err), GREBE_EINVAL, "queries of 3");
    queries.dim = 2;
    grebe_cancel *cancel = NULL;
    assert_ok(grebe_cancel_new(f->ctx, &cancel, &err));
    grebe_cancel_set(cancel);
    call.cancel = cancel;
    assert_fails(ann_truth_dense(f->ctx, VECTOR_IP, &base, &queries, 1, NULL, &call, ids, d, &err), GREBE_ECANCELLED, "");
    grebe_cancel_free(cancel);
}

static void test_truth__no_memory__status_and_no_leak(void **state)
{
    struct fixture *f = *state;
    const grebe_allocator *kept = f->ctx->a;
    unsigned char *rows = random_rows(VECTOR_F32, 300, 8, 0, &f->seed);
    const int64_t labels[300] = {0};

    for (int is_filtered = 0; is_filtered < 2; is_filtered++) {
        for (size_t fail_at = 1;; fail_at++) {
            struct blocks blocks = {rows, 32, 0};
            const struct ann_rows base = {.n = 300, .dim = 8, .elem = VECTOR_F32, .read = read_block, .arg = &blocks};
            const struct ann_rows queries = {.n = 20, .dim = 8, .elem = VECTOR_F32, .data = rows};
            const struct ann_truth_options options = {is_filtered ? labels : NULL, is_filtered ? labels : NULL, false};
            const struct call call = {.threads = 1, .memory_limit_bytes = 12800};
            struct test_allocator a;
            grebe_error err = GREBE_ERROR_INIT;
            int64_t ids[60];
            float d[60];
            grebe_status st;

            test_allocator_init(&a);
            a.fail_at = fail_at;
            f->ctx->a = &a.a;
            st = ann_truth_dense(f->ctx, VECTOR_L2SQ, &base, &queries, 3, &options, &call, ids, d, &err);
            f->ctx->a = kept;
            assert_int_equal(a.live_bytes, 0);
            if (st == GREBE_OK) {
                assert_true(fail_at > 6);
                break;
            }
            assert_int_equal(st, GREBE_ENOMEM);
        }
    }
    free(rows);
}

/* ---- data sets of other layouts ---- */

static void fill_terms(struct ann_dataset *d, struct ann_vectors *v, uint64_t n, bool is_twice, uint64_t *seed)
{
    grebe_error err = GREBE_ERROR_INIT;
    void *offsets = NULL, *terms = NULL, *values = NULL;

    assert_ok(ann_array(d, n + 1, sizeof(int64_t), "offsets", &offsets, &err));
    assert_ok(ann_array(d, n * 30, sizeof(uint32_t), "terms", &terms, &err));
    assert_ok(ann_array(d, n * 30, sizeof(float), "values", &values, &err));
    v->n = n;
    v->offsets = offsets;
    v->terms = terms;
    v->values = values;
    for (uint64_t r = 0; r < n; r++) {
        int64_t at = v->offsets[r];
        uint32_t term = 0;

        for (uint64_t i = test_random(seed) % 20; i > 0; i--) {
            term += (uint32_t)(test_random(seed) % 9) + !is_twice;
            v->terms[at] = term == 170 ? 4000000000u : term;
            v->values[at++] = (float)(test_random(seed) % 16) * 0.25f;
            if (term == 170) {
                break;
            }
        }
        v->offsets[r + 1] = at;
    }
}

static double terms_distance(const struct ann_dataset *d, uint64_t q, uint64_t r)
{
    const struct ann_vectors *a = &d->test, *b = &d->train;
    int64_t i = a->offsets[q], j = b->offsets[r];
    double sum = 0, both = 0, either;

    while (i < a->offsets[q + 1] && j < b->offsets[r + 1]) {
        if (a->terms[i] == b->terms[j]) {
            sum += (double)a->values[i++] * (double)b->values[j++];
            both++;
        } else if (a->terms[i] < b->terms[j]) {
            i++;
        } else {
            j++;
        }
    }
    if (d->layout == ANN_SPARSE) {
        return 1 - sum;
    }
    either = (double)(a->offsets[q + 1] - a->offsets[q] + b->offsets[r + 1] - b->offsets[r]) - both;
    return either <= 0 ? 1 : 1 - both / either;
}

static void check_dataset(struct ann_dataset *d, double (*distance)(const struct ann_dataset *, uint64_t, uint64_t),
                          size_t k, bool is_filtered)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct call call = {.threads = 2};
    struct pair *all = calloc((size_t)d->train.n, sizeof *all);

    assert_ok(ann_truth_fill(d, k, is_filtered, &call, &err));
    assert_int_equal(d->k, k);
    for (uint64_t q = 0; q < d->test.n; q++) {
        size_t n = 0;

        for (uint64_t r = 0; r < d->train.n; r++) {
            if (!is_filtered || d->train.labels[r] == d->test.labels[q]) {
                const double distance_found = distance(d, q, r);

                all[n++] = (struct pair){isnan(distance_found) ? INFINITY : distance_found, (int64_t)r};
            }
        }
        qsort(all, n, sizeof *all, compare);
        for (size_t i = 0; i < k; i++) {
            assert_int_equal(d->neighbors[q * k + i], i < n ? all[i].row : -1);
            assert_true(d->distances[q * k + i] == (i < n ? (float)all[i].distance : INFINITY));
        }
    }
    free(all);
}

static void test_truth_fill__sparse_and_sets__merged_rows(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 4; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct ann_dataset *d = NULL;
        void *labels = NULL;

        assert_ok(ann_dataset_new(f->ctx, &d, &err));
        d->layout = i < 2 ? ANN_SPARSE : ANN_SETS;
        d->metric = i < 2 ? VECTOR_IP : VECTOR_JACCARD;
        fill_terms(d, &d->train, 300, i % 2 == 1, &f->seed);
        fill_terms(d, &d->test, 21, i % 2 == 1, &f->seed);
        check_dataset(d, terms_distance, 10, false);
        assert_ok(ann_array(d, 300, sizeof(int64_t), "labels", &labels, &err));
        d->train.labels = labels;
        d->test.labels = (int64_t *)labels + 100;
        for (size_t r = 0; r < 300; r++) {
            d->train.labels[r] = (int64_t)(r % 40);
        }
        check_dataset(d, terms_distance, 10, true); /* rows of 8: padded */
        ann_dataset_free(d);
    }
}

static double multi_distance(const struct ann_dataset *d, uint64_t q, uint64_t r)
{
    const struct ann_vectors *a = &d->test, *b = &d->train;

    return vector_maxsim(d->metric == VECTOR_EUCLIDEAN && d->is_maxsim_squared ? VECTOR_L2SQ : d->metric,
                         (const float *)a->dense + a->offsets[q] * a->dim, (size_t)(a->offsets[q + 1] - a->offsets[q]),
                         (const float *)b->dense + b->offsets[r] * b->dim, (size_t)(b->offsets[r + 1] - b->offsets[r]),
                         b->dim);
}

static void fill_documents(struct ann_dataset *d, struct ann_vectors *v, uint64_t n, bool is_whole, uint64_t *seed)
{
    grebe_error err = GREBE_ERROR_INIT;
    void *offsets = NULL, *dense = NULL;

    assert_ok(ann_array(d, n + 1, sizeof(int64_t), "offsets", &offsets, &err));
    assert_ok(ann_array(d, n * 4 * 5, sizeof(float), "vectors", &dense, &err)); /* up to 4 of 5 components */
    v->n = n;
    v->dim = 5;
    v->offsets = offsets;
    v->dense = dense;
    for (uint64_t r = 0; r < n; r++) {
        v->offsets[r + 1] = v->offsets[r] + (int64_t)(test_random(seed) % 5);
    }
    for (uint64_t i = 0; i < n * 4 * 5; i++) {
        ((float *)dense)[i] = (float)(test_random(seed) % 7) - 3 +
                              (is_whole ? 0 : (float)((int64_t)(test_random(seed) >> 40) - (1 << 23)) * 0x1p-24f);
    }
}

static void test_truth_fill__documents__maxsim(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 8; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct ann_dataset *d = NULL;
        const struct call call = {.threads = 1};
        void *labels = NULL;

        assert_ok(ann_dataset_new(f->ctx, &d, &err));
        d->layout = ANN_MULTI;
        d->metric = i % 4 == 0 ? VECTOR_IP : i % 4 == 3 ? VECTOR_COSINE : VECTOR_EUCLIDEAN;
        d->is_maxsim_squared = i % 4 == 1;
        fill_documents(d, &d->train, 60, i < 4, &f->seed);
        fill_documents(d, &d->test, 9, i < 4, &f->seed);
        check_dataset(d, multi_distance, 60, false);
        check_dataset(d, multi_distance, 7, false);
        assert_ok(ann_array(d, 60, sizeof(int64_t), "labels", &labels, &err));
        for (int64_t r = 0; r < 60; r++) {
            ((int64_t *)labels)[r] = r % 6;
        }
        d->train.labels = d->test.labels = labels;
        check_dataset(d, multi_distance, 7, true);
        check_dataset(d, multi_distance, 12, true); /* 10 have the label */
        if (i % 4 != 3) {
            ((float *)d->train.dense)[33] = NAN;
            ((float *)d->train.dense)[77] = 3e38f;
            check_dataset(d, multi_distance, 20, false);
        }
        d->train.labels = d->test.labels = NULL;
        assert_fails(ann_truth_fill(d, 61, false, &call, &err), GREBE_EINVAL, "found 61");
        assert_fails(ann_truth_fill(d, 1, true, &call, &err), GREBE_EINVAL, "labels");
        ann_dataset_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_truth__every_metric_and_type__float64_loop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truth__nan_inf_and_huge__last_or_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truth__far_from_origin__exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truth__many_rows__all_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truth__wrong_calls__named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truth__no_memory__status_and_no_leak, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truth_fill__sparse_and_sets__merged_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truth_fill__documents__maxsim, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
