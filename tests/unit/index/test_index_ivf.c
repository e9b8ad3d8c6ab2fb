/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "index/ivf_kernels.h"
#include "index/ivf_internal.h"
#include "test_fixture.h"
#include "test_support.h"

/* With all lists and all candidates an index of lists is exact: the same results as kind flat, for every type, metric
 * and quantiser; otherwise its recall, and that neither batches nor threads change a bit. */

enum { DIM = 21 };

static float uniform(uint64_t *seed) { return (float)((int64_t)(test_random(seed) >> 40) - (1 << 23)) * 0x1p-23f; }

/* Rows around 20 centres, as any type. */
static void *clustered(enum vector_elem elem, size_t n, uint32_t dim, uint64_t seed)
{
    const size_t bytes = vector_row_bytes(elem, dim);
    unsigned char *rows = malloc(n * bytes + 1);
    float *centres = malloc(20 * dim * sizeof *centres);
    uint64_t fixed = 5;

    for (size_t i = 0; i < 20 * dim; i++) {
        centres[i] = 60 * uniform(&fixed);
    }
    for (size_t r = 0; r < n; r++) {
        const size_t c = test_random(&seed) % 20;

        for (size_t d = 0; d < dim; d++) {
            const float v = centres[c * dim + d] + 15 * uniform(&seed);
            uint32_t bits;
            uint16_t half;

            memcpy(&bits, &v, 4);
            switch (elem) {
            case VECTOR_F32:
                memcpy(rows + r * bytes + d * 4, &v, 4);
                break;
            case VECTOR_BF16:
                half = (uint16_t)(bits >> 16);
                memcpy(rows + r * bytes + d * 2, &half, 2);
                break;
            case VECTOR_F16:
                half = (uint16_t)(0x3c00 + (int)v * 4);
                memcpy(rows + r * bytes + d * 2, &half, 2);
                break;
            default:
                rows[r * bytes + d] = (unsigned char)(int8_t)v;
                break;
            }
        }
    }
    free(centres);
    return rows;
}

static struct index *make(struct fixture *f, const struct index_ops *ops, enum vector_metric metric,
                          enum vector_elem elem, const char *const *params, size_t n_params, const void *rows, size_t n,
                          uint32_t threads)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct index_config config = {.kind = ops->kind, .metric = metric, .elem = elem, .params = params,
                                        .n_params = n_params};
    const size_t bytes = vector_row_bytes(elem, DIM), first = n * 2 / 3;
    const struct index_rows some = {.dense = {rows, bytes, first, DIM, elem}};
    const struct index_rows rest = {.dense = {(const char *)rows + first * bytes, bytes, n - first, DIM, elem}};
    const struct call call = {.threads = threads};
    struct index *ix = NULL;

    assert_ok(ops->create(f->ctx, &config, &ix, &err));
    assert_ok(ops->add(ix, &some, &call, &err));
    assert_ok(ops->add(ix, &rest, &call, &err));
    return ix;
}

struct results {
    uint32_t *positions;
    float *distances;
    size_t n;
};

static struct results search(struct index *ix, struct vector_rows queries, size_t k, const char *const *params,
                             size_t n_params, uint32_t threads, struct index_filter filter)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct index_search s = {.k = k, .params = params, .n_params = n_params, .filter = filter,
                                   .call = {.threads = threads}};
    const struct index_rows q = {.dense = queries};
    struct results r = {NULL, NULL, (size_t)queries.n * k};

    r.positions = calloc(r.n, sizeof *r.positions);
    r.distances = calloc(r.n, sizeof *r.distances);
    assert_ok(ix->ops->search(ix, &q, &s, r.positions, r.distances, &err));
    return r;
}

static void free_results(struct results r)
{
    free(r.positions);
    free(r.distances);
}

static void assert_same(struct results a, struct results b)
{
    assert_int_equal(a.n, b.n);
    for (size_t i = 0; i < a.n; i++) {
        if (a.positions[i] != b.positions[i] || a.distances[i] != b.distances[i]) {
            fail_msg("place %zu: expected %u at %.9g, found %u at %.9g", i, a.positions[i], (double)a.distances[i],
                     b.positions[i], (double)b.distances[i]);
        }
    }
    free_results(a);
    free_results(b);
}

static const char *const quants[] = {"quant=none", "quant=sq8", "quant=sq4", "quant=pq4", "quant=rabitq"};
static const char *const everything[] = {"nprobe=4000000", "k_factor=100000"};

static void check_exact(struct fixture *f, enum vector_metric metric, enum vector_elem elem, size_t quant)
{
    enum { N = 900, Q = 19, K = 10 };
    grebe_error err = GREBE_ERROR_INIT;
    void *rows = clustered(elem, N, DIM, f->seed), *queries = clustered(elem, Q, DIM, f->seed + 1);
    const char *params[] = {quants[quant], "lists=13", "iterations=4"};
    struct index *ivf = make(f, &index_ivf_ops, metric, elem, params, 3, rows, N, 2);
    struct index *flat = make(f, &index_flat_ops, metric, elem, NULL, 0, rows, N, 1);
    struct vector_rows q = {queries, vector_row_bytes(elem, DIM), Q, DIM, elem};
    uint64_t bits[N / 64 + 1] = {0};
    struct index_filter none = {NULL, 0, 0}, filter = {bits, N, 0};

    assert_same(search(flat, q, K, NULL, 0, 1, none), search(ivf, q, K, everything, 2, 2, none));
    q.n = 3; /* not sorted by list */
    assert_same(search(flat, q, K, NULL, 0, 1, none), search(ivf, q, K, everything, 2, 1, none));
    q.n = Q;
    for (uint32_t r = 0; r < N; r++) {
        const uint64_t bit = r % 3 == 0;

        bits[r / 64] |= bit << (r % 64);
        filter.n_set += bit;
        if (r % 7 == 0) {
            assert_ok(ivf->ops->remove(ivf, r, &err));
            assert_ok(flat->ops->remove(flat, r, &err));
        }
    }
    assert_same(search(flat, q, K, NULL, 0, 1, none), search(ivf, q, K, everything, 2, 1, none));
    assert_same(search(flat, q, K, NULL, 0, 1, filter), search(ivf, q, K, everything, 2, 2, filter));
    ivf->ops->free(ivf);
    flat->ops->free(flat);
    free(rows);
    free(queries);
}

static void test_ivf__all_lists_and_candidates__same_as_flat(void **state)
{
    struct fixture *f = *state;

    for (size_t quant = 0; quant < 5; quant++) {
        for (int metric = VECTOR_EUCLIDEAN; metric <= VECTOR_COSINE; metric++) {
            for (int elem = VECTOR_F32; elem <= VECTOR_I8; elem++) {
                check_exact(f, (enum vector_metric)metric, (enum vector_elem)elem, quant);
            }
        }
    }
}

static double recall(struct results truth, struct results found, size_t k)
{
    size_t hits = 0;

    for (size_t i = 0; i < truth.n; i += k) {
        for (size_t j = 0; j < k; j++) {
            for (size_t m = 0; m < k; m++) {
                hits += truth.positions[i + j] == found.positions[i + m];
            }
        }
    }
    hits = hits * 1000 / truth.n;
    free_results(truth);
    free_results(found);
    return (double)hits / 1000;
}

static void test_ivf__few_lists__recall(void **state)
{
    enum { N = 6000, Q = 60, K = 10 };
    static const double least[] = {0.97, 0.97, 0.95, 0.85, 0.75};
    struct fixture *f = *state;
    const struct index_filter none = {NULL, 0, 0};

    for (int metric = VECTOR_L2SQ; metric <= VECTOR_COSINE; metric++) {
        void *rows = clustered(VECTOR_F32, N, DIM, 77), *queries = clustered(VECTOR_F32, Q, DIM, 78);
        const struct vector_rows q = {queries, DIM * 4, Q, DIM, VECTOR_F32};
        struct index *flat = make(f, &index_flat_ops, (enum vector_metric)metric, VECTOR_F32, NULL, 0, rows, N, 1);

        for (size_t quant = 0; quant < 5; quant++) {
            const char *params[] = {quants[quant], "lists=40"}, *probe[] = {"nprobe=12"};
            struct index *ivf = make(f, &index_ivf_ops, (enum vector_metric)metric, VECTOR_F32, params, 2, rows, N, 2);
            const double found = recall(search(flat, q, K, NULL, 0, 1, none), search(ivf, q, K, probe, 1, 1, none), K);

            if (found < least[quant]) {
                fail_msg("metric %d, %s: recall %g, expected %g", metric, quants[quant], found, least[quant]);
            }
            ivf->ops->free(ivf);
        }
        flat->ops->free(flat);
        free(rows);
        free(queries);
    }
}

static void check_batches(struct fixture *f, const char *lists, const char *nprobe)
{
    enum { N = 3000, Q = 50, K = 7 };
    const struct index_filter none = {NULL, 0, 0};
    const char *params[] = {"quant=sq4", lists}, *probe[] = {nprobe};
    float *rows = clustered(VECTOR_F32, N, DIM, f->seed), *queries = clustered(VECTOR_F32, Q, DIM, f->seed + 9);
    struct vector_rows q = {queries, DIM * 4, Q, DIM, VECTOR_F32};
    struct index *one = make(f, &index_ivf_ops, VECTOR_L2SQ, VECTOR_F32, params, 2, rows, N, 1);
    struct index *three = make(f, &index_ivf_ops, VECTOR_L2SQ, VECTOR_F32, params, 2, rows, N, 3);
    struct results all = search(one, q, K, probe, 1, 1, none);

    for (size_t i = 0; i < Q; i++) { /* one by one */
        struct results r;

        q.data = queries + i * DIM;
        q.n = 1;
        r = search(three, q, K, probe, 1, 1, none);
        assert_memory_equal(r.positions, all.positions + i * K, K * sizeof *r.positions);
        assert_memory_equal(r.distances, all.distances + i * K, K * sizeof *r.distances);
        free_results(r);
    }
    q.data = queries;
    q.n = Q;
    assert_same(all, search(three, q, K, probe, 1, 3, none));
    one->ops->free(one);
    three->ops->free(three);
    free(rows);
    free(queries);
}

static void test_ivf__batches_and_threads__same_bits(void **state)
{
    check_batches(*state, "lists=30", "nprobe=5");
    check_batches(*state, "lists=300", "nprobe=60"); /* chosen with a limit from a sample */
    check_batches(*state, "lists=300", "nprobe=200");
}

static void test_ivf__narrow_filter_far_away__still_found(void **state)
{
    enum { N = 3000 };
    struct fixture *f = *state;
    uint64_t bits[N / 64 + 1] = {0};
    struct index_filter filter = {bits, N, 0};
    const char *params[] = {"lists=64"}, *probe[] = {"nprobe=1"};
    float *rows = clustered(VECTOR_F32, N, DIM, f->seed);
    const struct vector_rows q = {rows, DIM * 4, 20, DIM, VECTOR_F32};
    struct index *ivf = make(f, &index_ivf_ops, VECTOR_EUCLIDEAN, VECTOR_F32, params, 1, rows, N, 1);
    struct index *flat = make(f, &index_flat_ops, VECTOR_EUCLIDEAN, VECTOR_F32, NULL, 0, rows, N, 1);

    assert_same(search(flat, q, 5, NULL, 0, 1, filter), search(ivf, q, 5, probe, 1, 1, filter)); /* nothing passes */
    for (uint32_t r = 500; r < 560; r++) {
        bits[r / 64] |= UINT64_C(1) << (r % 64);
        filter.n_set++;
    }
    assert_same(search(flat, q, 60, NULL, 0, 1, filter), search(ivf, q, 60, probe, 1, 2, filter));
    ivf->ops->free(ivf);
    flat->ops->free(flat);
    free(rows);
}

static void test_ivf__range__all_lists_same_as_flat(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    float *rows = clustered(VECTOR_F32, 1000, DIM, f->seed);
    const char *params[] = {"lists=16"};
    struct index *ivf = make(f, &index_ivf_ops, VECTOR_EUCLIDEAN, VECTOR_F32, params, 1, rows, 1000, 1);
    struct index *flat = make(f, &index_flat_ops, VECTOR_EUCLIDEAN, VECTOR_F32, NULL, 0, rows, 1000, 1);
    struct index_search s = {.params = everything, .n_params = 1, .call = {.threads = 2}};
    const struct index_rows q = {.dense = {rows, DIM * 4, 9, DIM, VECTOR_F32}};
    struct index_ranges a = {0}, b = {0};

    assert_ok(ivf->ops->remove(ivf, 3, &err));
    assert_ok(flat->ops->remove(flat, 3, &err));
    assert_ok(ivf->ops->range(ivf, &q, 70, &s, &a, &err));
    s.n_params = 0;
    assert_ok(flat->ops->range(flat, &q, 70, &s, &b, &err));
    assert_int_equal(a.total, b.total);
    assert_true(a.total > 50);
    assert_memory_equal(a.offsets, b.offsets, 10 * sizeof *a.offsets);
    assert_memory_equal(a.positions, b.positions, a.total * sizeof *a.positions);
    assert_memory_equal(a.distances, b.distances, a.total * sizeof *a.distances);
    index_ranges_release(&a);
    index_ranges_release(&b);
    ivf->ops->free(ivf);
    flat->ops->free(flat);
    free(rows);
}

static void save(struct fixture *f, struct index *ix, const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct index_writer *w = NULL;

    assert_ok(index_writer_open(f->ctx, path, false, &w, &err));
    assert_ok(ix->ops->save(ix, w, &err));
    assert_ok(index_writer_finish(w, &err));
    index_writer_close(w);
}

static void test_ivf__saved_and_loaded__same_results_and_bytes(void **state)
{
    enum { N = 2000, Q = 20 };
    struct fixture *f = *state;
    const struct index_filter none = {NULL, 0, 0};
    float *rows = clustered(VECTOR_F32, N, DIM, f->seed);
    const struct vector_rows q = {rows, DIM * 4, Q, DIM, VECTOR_F32};

    for (size_t quant = 0; quant < 5; quant++) {
        grebe_error err = GREBE_ERROR_INIT;
        const struct index_config config = {.kind = INDEX_IVF, .metric = VECTOR_COSINE, .elem = VECTOR_F32, .dim = DIM};
        const char *params[] = {quants[quant], "lists=20"}, *probe[] = {"nprobe=3"};
        struct index *ix = make(f, &index_ivf_ops, VECTOR_COSINE, VECTOR_F32, params, 2, rows, N, 1), *loaded = NULL;
        struct index *again = make(f, &index_ivf_ops, VECTOR_COSINE, VECTOR_F32, params, 2, rows, N, 3);
        const struct index_rows more = {.dense = {rows, DIM * 4, 33, DIM, VECTOR_F32}};
        const struct call call = {.threads = 1};
        struct index_file *file = NULL;
        struct index_info info;
        char path[500], other[500];
        size_t len, other_len;
        unsigned char *bytes, *other_bytes;

        snprintf(path, sizeof path, "%s/x.index", f->folder);
        snprintf(other, sizeof other, "%s/y.index", f->folder);
        assert_ok(ix->ops->remove(ix, 5, &err));
        assert_ok(again->ops->remove(again, 5, &err));
        save(f, ix, path);
        save(f, again, other);
        bytes = test_read_file(path, &len);
        other_bytes = test_read_file(other, &other_len);
        assert_int_equal(len, other_len);
        assert_memory_equal(bytes, other_bytes, len);
        free(bytes);
        free(other_bytes);
        assert_ok(index_file_open(f->ctx, path, true, &file, &err));
        assert_ok(index_ivf_ops.load(f->ctx, &config, file, &loaded, &err));
        assert_same(search(ix, q, 10, probe, 1, 1, none), search(loaded, q, 10, probe, 1, 1, none));
        assert_ok(ix->ops->add(ix, &more, &call, &err)); /* the mapped one is copied */
        assert_ok(loaded->ops->add(loaded, &more, &call, &err));
        assert_same(search(ix, q, 10, probe, 1, 1, none), search(loaded, q, 10, probe, 1, 2, none));
        loaded->ops->info(loaded, &info);
        assert_int_equal(info.rows, N + 32);
        assert_int_equal(info.removed, 1);
        ix->ops->free(ix);
        again->ops->free(again);
        loaded->ops->free(loaded);
        index_file_close(file);
    }
    free(rows);
}

static void test_ivf__hostile_file__corrupt(void **state)
{
    struct fixture *f = *state;
    const struct index_config config = {.kind = INDEX_IVF, .metric = VECTOR_L2SQ, .elem = VECTOR_F32, .dim = DIM};
    const char *params[] = {"lists=8"};
    float *rows = clustered(VECTOR_F32, 500, DIM, f->seed);
    const struct index_rows q = {.dense = {rows, DIM * 4, 3, DIM, VECTOR_F32}};
    char path[500];

    snprintf(path, sizeof path, "%s/bad.index", f->folder);
    for (int what = 0; what < 3; what++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct index *ix = make(f, &index_ivf_ops, VECTOR_L2SQ, VECTOR_F32, params, 1, rows, 500, 1), *loaded = NULL;
        struct ivf *x = (struct ivf *)ix;
        struct index_file *file = NULL;
        const struct index_search s = {.k = 5, .params = everything, .n_params = 2, .call = {.threads = 1}};
        struct index_ranges ranges = {0};
        uint32_t positions[15];
        float distances[15];

        if (what == 0) {
            x->lists.sizes[3]++;
        } else if (what == 1) {
            ((uint32_t *)(uintptr_t)x->lists.positions)[x->lists.begin[2] * IVF_BLOCK] = 500;
        } else {
            x->lists.sizes[0] = UINT32_MAX;
        }
        save(f, ix, path);
        assert_ok(index_file_open(f->ctx, path, true, &file, &err));
        if (what == 1) {
            assert_ok(index_ivf_ops.load(f->ctx, &config, file, &loaded, &err));
            assert_fails(loaded->ops->search(loaded, &q, &s, positions, distances, &err), GREBE_ECORRUPT, "found 500");
            assert_fails(loaded->ops->range(loaded, &q, 1e9f, &(struct index_search){.params = everything, .n_params = 1,
                         .call = {.threads = 1}}, &ranges, &err), GREBE_ECORRUPT, "found 500");
            index_ranges_release(&ranges);
            loaded->ops->free(loaded);
        } else {
            assert_fails(index_ivf_ops.load(f->ctx, &config, file, &loaded, &err), GREBE_ECORRUPT, "sizes");
            assert_null(loaded);
        }
        index_file_close(file);
        ix->ops->free(ix);
    }
    free(rows);
}

static void test_ivf__few_rows_or_equal_ones__found(void **state)
{
    struct fixture *f = *state;
    const struct index_filter none = {NULL, 0, 0};
    float rows[40 * DIM] = {0}; /* all the same: no list can be split */
    const struct vector_rows q = {rows, DIM * 4, 17, DIM, VECTOR_F32};

    for (size_t quant = 0; quant < 5; quant++) {
        for (size_t n = 3; n <= 40; n += 37) {
            const char *params[] = {quants[quant], "lists=16"};
            struct index *ix = make(f, &index_ivf_ops, VECTOR_COSINE, VECTOR_F32, params, 2, rows, n, 1);
            struct results r = search(ix, q, 50, everything, 1, 1, none);

            for (size_t i = 0; i < 50; i++) {
                assert_int_equal(r.positions[i], i < n ? i : UINT32_MAX);
                assert_true(r.distances[i] == (i < n ? 1 : INFINITY));
            }
            free_results(r);
            ix->ops->free(ix);
        }
    }
}

static void test_ivf__params__checked(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    const char *const bad[] = {"quant=bits"}, *const unknown[] = {"list=4"};
    struct index_config config = {.kind = INDEX_IVF, .metric = VECTOR_L2SQ, .params = bad, .n_params = 1};
    struct index *ix = NULL;

    assert_fails(index_ivf_ops.create(f->ctx, &config, &ix, &err), GREBE_EINVAL, "sq8");
    config.params = unknown;
    assert_fails(index_ivf_ops.create(f->ctx, &config, &ix, &err), GREBE_EINVAL, "lists");
    config.n_params = 0;
    config.elem = VECTOR_BIT;
    config.metric = VECTOR_HAMMING;
    assert_fails(index_ivf_ops.create(f->ctx, &config, &ix, &err), GREBE_EUNSUPPORTED, "bits");
    assert_null(ix);
}

static void test_ivf__no_memory__nothing_changes(void **state)
{
    enum { N = 200 };
    struct fixture *f = *state;
    const grebe_allocator *kept = f->ctx->a;
    float *rows = clustered(VECTOR_F32, N, DIM, f->seed);
    const struct index_rows some = {.dense = {rows, DIM * 4, N, DIM, VECTOR_F32}};
    const struct call call = {.threads = 1};

    for (size_t quant = 0; quant < 5; quant++) {
        for (size_t fail_at = 1;; fail_at++) {
            const char *params[] = {quants[quant], "lists=5", "iterations=2"};
            const struct index_config config = {.kind = INDEX_IVF, .metric = VECTOR_L2SQ, .params = params, .n_params = 3};
            const struct index_search s = {.k = 3, .call = {.threads = 1}};
            struct test_allocator a;
            grebe_error err = GREBE_ERROR_INIT;
            struct index *ix = NULL;
            uint32_t positions[3 * N];
            float distances[3 * N];
            grebe_status st;

            test_allocator_init(&a);
            a.fail_at = fail_at;
            f->ctx->a = &a.a;
            st = index_ivf_ops.create(f->ctx, &config, &ix, &err);
            for (int i = 0; st == GREBE_OK && i < 2; i++) {
                st = ix->ops->add(ix, &some, &call, &err);
                if (st != GREBE_OK) {
                    struct index_info info;

                    ix->ops->info(ix, &info);
                    assert_int_equal(info.rows, i * N);
                }
            }
            if (st == GREBE_OK) {
                st = ix->ops->search(ix, &some, &s, positions, distances, &err);
            }
            if (ix != NULL) {
                ix->ops->free(ix);
            }
            f->ctx->a = kept;
            assert_int_equal(a.live_bytes, 0);
            if (st == GREBE_OK) {
                assert_true(fail_at > 15);
                break;
            }
            assert_int_equal(st, GREBE_ENOMEM);
        }
    }
    free(rows);
}

static void test_ivf_kernels__variants__same_bits(void **state)
{
    struct fixture *f = *state;
    const struct ivf_kernels *fast = ivf_kernels_of(CPU_AVX2);

    if (fast == NULL) {
        skip();
    }
    for (uint32_t steps = 1; steps < 1200; steps += 1 + steps / 4) {
        for (int kind = 0; kind < 4; kind++) {
            const size_t bytes = (size_t)steps * (kind == 0 ? 256 : kind == 1 ? 128 : 32) + (kind == 3 ? 128 : 0);
            const size_t form_bytes = (size_t)steps * (kind >= 2 ? 32 : 8);
            uint8_t *codes = malloc(bytes), *form = malloc(form_bytes);
            float bias[IVF_BLOCK], x[IVF_BLOCK] = {0}, y[IVF_BLOCK] = {0};
            const struct ivf_query q = {form, 0.37f, -2.5f, steps};
            const bool is_extreme = steps % 3 == 0;

            for (size_t i = 0; i < bytes; i++) {
                codes[i] = (uint8_t)(is_extreme ? (kind == 0 ? 127 : 255) : test_random(&f->seed) & (kind == 0 ? 127 : 255));
            }
            for (size_t i = 0; i < form_bytes; i++) {
                const int largest = kind == 0 ? IVF_BYTE_QUERY_MAX : IVF_NIBBLE_QUERY_MAX;
                const int v = is_extreme ? -largest : (int)(test_random(&f->seed) % (unsigned)(2 * largest + 1)) - largest;

                form[i] = kind >= 2 ? (uint8_t)(is_extreme ? 127 : test_random(&f->seed) % 128) : (uint8_t)(int8_t)v;
            }
            for (size_t i = 0; kind == 3 && i < IVF_BLOCK; i++) {
                const float factor = uniform(&f->seed);

                memcpy(codes + (size_t)steps * 32 + i * 4, &factor, 4);
            }
            for (size_t i = 0; i < IVF_BLOCK; i++) {
                bias[i] = i == 7 ? INFINITY : i == 9 ? NAN : 100 * uniform(&f->seed);
            }
            for (int limit = 0; limit < 3; limit++) {
                const float l = limit == 0 ? INFINITY : limit == 1 ? 50.0f : -1e6f;
                const ivf_block_fn slow = kind == 0 ? ivf_kernels_scalar.byte : kind == 1 ? ivf_kernels_scalar.nibble
                                          : kind == 2 ? ivf_kernels_scalar.table : ivf_kernels_scalar.signs;
                const ivf_block_fn quick = kind == 0 ? fast->byte : kind == 1 ? fast->nibble
                                           : kind == 2 ? fast->table : fast->signs;
                const uint32_t mask = slow(codes, bias, &q, 12.5f, l, x);

                assert_int_equal(quick(codes, bias, &q, 12.5f, l, y), mask);
                for (size_t i = 0; mask != 0 && i < IVF_BLOCK; i++) {
                    assert_true(isnan(x[i]) ? isnan(y[i]) : x[i] == y[i]);
                }
            }
            free(codes);
            free(form);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ivf__all_lists_and_candidates__same_as_flat, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf__few_lists__recall, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf__batches_and_threads__same_bits, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf__narrow_filter_far_away__still_found, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf__range__all_lists_same_as_flat, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf__saved_and_loaded__same_results_and_bytes, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf__hostile_file__corrupt, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf__few_rows_or_equal_ones__found, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf__params__checked, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf__no_memory__nothing_changes, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ivf_kernels__variants__same_bits, fixture_set_up, fixture_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
