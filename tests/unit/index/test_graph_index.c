/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "base/half.h"
#include "base/hash.h"
#include "index/index.h"
#include "index/index_layout.h"
#include "vector/distance.h"

enum { DIM = 24, N = 3000, QUERIES = 40, K = 10 };

struct fixture {
    grebe_context *ctx;
    char *folder;
    char path[500];
    float *rows, *queries;
    uint64_t seed;
};

/* 40 loose clusters. */
static float *make_rows(size_t n, uint64_t *seed)
{
    float *x = malloc(n * DIM * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        uint64_t centre = 1000 + test_random(seed) % 40;
        for (size_t d = 0; d < DIM; d++) {
            double c = (double)(test_random(&centre) % 1000) / 500 - 1;
            x[i * DIM + d] = (float)(c + (double)(test_random(seed) % 1000) / 700 - 0.7);
        }
    }
    return x;
}

static int set_up(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct fixture *f = calloc(1, sizeof *f);
    assert_ok(context_new(NULL, &f->ctx, &err));
    f->folder = test_folder_new();
    snprintf(f->path, sizeof f->path, "%s/x.index", f->folder);
    f->seed = test_seed();
    f->rows = make_rows(N, &f->seed);
    f->queries = make_rows(QUERIES, &f->seed);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    context_free(f->ctx);
    test_folder_remove(f->folder);
    free(f->rows);
    free(f->queries);
    free(f);
    return 0;
}

static struct index_rows rows_of(const float *x, size_t n)
{
    return (struct index_rows){ .dense = { x, DIM * sizeof *x, n, DIM, VECTOR_F32 } };
}

static const struct call one_thread = { .threads = 1, .memory_limit_bytes = UINT64_MAX };

static struct index *build(const struct fixture *f, enum index_kind kind, enum vector_metric metric, const char *param,
                           const float *x, size_t n, uint32_t threads)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct index *ix = NULL;
    struct index_rows r = rows_of(x, n);
    struct call call = { .threads = threads, .memory_limit_bytes = UINT64_MAX };
    struct index_config c = { .kind = kind,
                              .metric = metric,
                              .elem = VECTOR_F32,
                              .dim = DIM,
                              .params = &param,
                              .n_params = param == NULL ? 0 : 1 };
    const struct index_ops *ops = index_ops_of(kind);
    assert_non_null(ops);
    assert_ok(ops->create(f->ctx, &c, &ix, &err));
    if (n > 0) {
        assert_ok(ops->add(ix, &r, &call, &err));
    }
    return ix;
}

static void search(struct index *ix, const float *q, size_t n, size_t k, const char *param, struct index_filter filter,
                   uint32_t *positions, float *distances)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct index_rows r = rows_of(q, n);
    struct index_search s = {
        .k = k, .params = &param, .n_params = param == NULL ? 0 : 1, .filter = filter, .call = one_thread
    };
    assert_ok(ix->ops->search(ix, &r, &s, positions, distances, &err));
}

static const struct index_filter no_filter;

static bool passes(struct index_filter f, size_t i)
{
    return f.words == NULL || (i < f.n_bits && (f.words[i / 64] >> (i % 64) & 1) != 0);
}

/* Share of the true k nearest (by distance) that were found; checks order, doubles and the filter on the way. */
static double recall(struct index *ix, enum vector_metric metric, const float *x, size_t n, const float *q, size_t n_q,
                     const char *param, struct index_filter filter)
{
    uint32_t positions[K];
    float distances[K];
    double *d = malloc((n + 1) * sizeof *d);
    size_t hits = 0, wanted = 0;
    for (size_t i = 0; i < n_q; i++) {
        double best[K];
        size_t n_best = 0;
        for (size_t r = 0; r < n; r++) {
            d[r] = vector_distance_exact(metric, VECTOR_F32, q + i * DIM, x + r * DIM, DIM);
            if (!passes(filter, r) || (n_best == K && d[r] >= best[K - 1])) {
                continue;
            }
            size_t at = n_best < K ? n_best++ : K - 1;
            for (; at > 0 && d[r] < best[at - 1]; at--) {
                best[at] = best[at - 1];
            }
            best[at] = d[r];
        }
        search(ix, q + i * DIM, 1, K, param, filter, positions, distances);
        wanted += n_best;
        for (size_t j = 0; j < K; j++) {
            if (positions[j] == UINT32_MAX) {
                assert_true(isinf(distances[j]));
                continue;
            }
            assert_true(positions[j] < n && passes(filter, positions[j]));
            assert_true(fabs((double)distances[j] - d[positions[j]]) <= 1e-4 * (1 + fabs(d[positions[j]])));
            assert_true(j == 0 || distances[j] > distances[j - 1] ||
                        (distances[j] == distances[j - 1] && positions[j] > positions[j - 1]));
            hits += d[positions[j]] <= best[n_best - 1] + 1e-6 * (1 + fabs(best[n_best - 1]));
        }
    }
    free(d);
    return (double)hits / (double)wanted;
}

static void test_graph__every_metric_and_code__found(void **state)
{
    struct fixture *f = *state;
    static const enum vector_metric metrics[] = { VECTOR_EUCLIDEAN, VECTOR_L2SQ, VECTOR_IP, VECTOR_COSINE };
    static const char *const quants[] = { "quant=none", "quant=sq8", "quant=sq4" };
    for (size_t m = 0; m < 4; m++) {
        for (size_t q = 0; q < 3; q++) {
            struct index *ix = build(f, INDEX_GRAPH, metrics[m], quants[q], f->rows, N, 1);
            double found = recall(ix, metrics[m], f->rows, N, f->queries, QUERIES, NULL, no_filter);
            assert_true(found >= 0.98);
            ix->ops->free(ix);
        }
        struct index *ix = build(f, INDEX_HNSW, metrics[m], NULL, f->rows, N, 1);
        assert_true(recall(ix, metrics[m], f->rows, N, f->queries, QUERIES, NULL, no_filter) >= 0.98);
        ix->ops->free(ix);
    }
}

/* Rows of every element type against all distances in float64. */
static void check_elem(const struct fixture *f, enum index_kind kind, enum vector_metric metric, enum vector_elem elem,
                       const void *x, const void *q)
{
    grebe_error err = GREBE_ERROR_INIT;
    enum { ROWS = 2000, TESTS = 20 };
    const uint32_t dim = elem == VECTOR_BIT ? 96 : DIM;
    const size_t bytes = vector_row_bytes(elem, dim);
    const struct index_ops *ops = index_ops_of(kind);
    struct index_config c = { .kind = kind, .metric = metric, .elem = elem }; /* dim of the first rows */
    struct index_rows rows = { .dense = { x, bytes, ROWS, dim, elem } };
    struct index_rows tests = { .dense = { q, bytes, TESTS, dim, elem } };
    struct index_search s = { .k = K, .call = one_thread };
    struct index *ix = NULL;
    static uint32_t positions[TESTS * K];
    static float distances[TESTS * K];
    size_t hits = 0;
    assert_ok(ops->create(f->ctx, &c, &ix, &err));
    assert_ok(ops->add(ix, &rows, &one_thread, &err));
    assert_ok(ops->search(ix, &tests, &s, positions, distances, &err));
    for (size_t i = 0; i < TESTS; i++) {
        const char *query = (const char *)q + i * bytes;
        size_t nearer = 0;
        double last =
            vector_distance_exact(metric, elem, query, (const char *)x + positions[i * K + K - 1] * bytes, dim);
        for (size_t r = 0; r < ROWS; r++) {
            nearer += vector_distance_exact(metric, elem, query, (const char *)x + r * bytes, dim) < last - 1e-5;
        }
        hits += nearer < K ? K : nearer < 2 * K ? 2 * K - nearer : 0;
        for (size_t j = 0; j < K; j++) {
            double d = vector_distance_exact(metric, elem, query, (const char *)x + positions[i * K + j] * bytes, dim);
            assert_true(fabs((double)distances[i * K + j] - d) <= 2e-3 * (1 + fabs(d)));
        }
    }
    assert_true(hits >= TESTS * K * 95 / 100);
    ops->free(ix);
}

static void test_graph__every_element_type__found(void **state)
{
    struct fixture *f = *state;
    static uint16_t half[2][2000 * DIM];
    static int8_t i8[2][2000 * DIM];
    static uint8_t u8[2][2000 * DIM], bits[2][2000 * 12];
    for (int p = 0; p < 2; p++) {
        for (size_t i = 0; i < (p == 0 ? (size_t)2000 : (size_t)QUERIES) * DIM; i++) {
            float v = p == 0 ? f->rows[i] : f->queries[i];
            half[p][i] = half_from_float(v);
            i8[p][i] = (int8_t)(v * 50);
            u8[p][i] = (uint8_t)(v * 50 + 100);
        }
        for (size_t i = 0; i < sizeof bits[p]; i++) {
            bits[p][i] = (uint8_t)(test_random(&f->seed) & test_random(&f->seed));
        }
    }
    for (int kind = INDEX_HNSW; kind <= INDEX_GRAPH; kind++) {
        check_elem(f, (enum index_kind)kind, VECTOR_EUCLIDEAN, VECTOR_F16, half[0], half[1]);
        check_elem(f, (enum index_kind)kind, VECTOR_COSINE, VECTOR_F16, half[0], half[1]);
        check_elem(f, (enum index_kind)kind, VECTOR_IP, VECTOR_I8, i8[0], i8[1]);
        check_elem(f, (enum index_kind)kind, VECTOR_COSINE, VECTOR_I8, i8[0], i8[1]);
        check_elem(f, (enum index_kind)kind, VECTOR_L2SQ, VECTOR_U8, u8[0], u8[1]);
        check_elem(f, (enum index_kind)kind, VECTOR_HAMMING, VECTOR_BIT, bits[0], bits[1]);
        check_elem(f, (enum index_kind)kind, VECTOR_JACCARD, VECTOR_BIT, bits[0], bits[1]);
    }
}

static void test_graph__odd_requests__defined(void **state)
{
    struct fixture *f = *state;
    uint32_t positions[2 * N];
    float distances[2 * N];
    /* no rows */
    struct index *ix = build(f, INDEX_GRAPH, VECTOR_EUCLIDEAN, NULL, f->rows, 0, 1);
    search(ix, f->queries, 1, 5, NULL, no_filter, positions, distances);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(positions[i], UINT32_MAX);
        assert_true(isinf(distances[i]));
    }
    ix->ops->free(ix);
    /* one row, and k above the number of rows */
    ix = build(f, INDEX_GRAPH, VECTOR_EUCLIDEAN, NULL, f->rows, 1, 1);
    search(ix, f->queries, 1, 3, NULL, no_filter, positions, distances);
    assert_int_equal(positions[0], 0);
    assert_int_equal(positions[1], UINT32_MAX);
    ix->ops->free(ix);
    ix = build(f, INDEX_GRAPH, VECTOR_EUCLIDEAN, NULL, f->rows, N, 1);
    positions[0] = 7;
    search(ix, f->queries, 1, 0, NULL, no_filter, positions, distances);
    assert_int_equal(positions[0], 7);
    search(ix, f->queries, 1, 2 * N, NULL, no_filter, positions, distances);
    for (size_t i = 0; i < N; i++) {
        assert_true(positions[i] < N && (i == 0 || distances[i] >= distances[i - 1]));
    }
    for (size_t i = N; i < 2 * N; i++) {
        assert_int_equal(positions[i], UINT32_MAX);
    }
    /* ef below k */
    search(ix, f->queries, 1, 50, "ef=1", no_filter, positions, distances);
    for (size_t i = 0; i < 50; i++) {
        assert_true(positions[i] < N);
    }
    ix->ops->free(ix);
}

static void test_graph__equal_rows__all_found_in_order(void **state)
{
    struct fixture *f = *state;
    uint32_t positions[100];
    float distances[100];
    for (size_t i = 1000; i < 1070; i++) {
        memcpy(f->rows + i * DIM, f->rows, DIM * sizeof(float));
    }
    for (int kind = 0; kind < 2; kind++) {
        struct index *ix = build(f, kind == 0 ? INDEX_HNSW : INDEX_GRAPH, VECTOR_L2SQ, NULL, f->rows, N, 1);
        search(ix, f->rows, 1, 71, "ef=200", no_filter, positions, distances);
        for (uint32_t i = 0; i < 71; i++) {
            assert_true(distances[i] == 0);
            assert_int_equal(positions[i], i == 0 ? 0 : 999 + i);
        }
        ix->ops->free(ix);
    }
    /* nothing but equal rows */
    for (size_t i = 0; i < N; i++) {
        memcpy(f->rows + i * DIM, f->queries, DIM * sizeof(float));
    }
    struct index *ix = build(f, INDEX_GRAPH, VECTOR_COSINE, NULL, f->rows, N, 1);
    search(ix, f->queries, 1, 100, NULL, no_filter, positions, distances);
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(positions[i] < N && fabsf(distances[i]) < 1e-6f);
    }
    ix->ops->free(ix);
}

static void test_graph__zero_rows_angular__distance_one(void **state)
{
    struct fixture *f = *state;
    uint32_t positions[N];
    float distances[N];
    memset(f->rows + 5 * DIM, 0, DIM * sizeof(float));
    struct index *ix = build(f, INDEX_GRAPH, VECTOR_COSINE, NULL, f->rows, 500, 1);
    search(ix, f->queries, 1, 500, NULL, no_filter, positions, distances);
    bool is_seen = false;
    for (size_t i = 0; i < 500; i++) {
        is_seen |= positions[i] == 5 && distances[i] == 1.0f;
    }
    assert_true(is_seen);
    ix->ops->free(ix);
}

static void test_graph__filters_of_any_share__found(void **state)
{
    struct fixture *f = *state;
    uint64_t words[N / 64 + 1];
    static const unsigned every[] = { 1, 2, 10, 100, 1000 };
    for (int kind = 0; kind < 2; kind++) {
        struct index *ix = build(f, kind == 0 ? INDEX_HNSW : INDEX_GRAPH, VECTOR_EUCLIDEAN, NULL, f->rows, N, 1);
        for (size_t e = 0; e < 5; e++) {
            struct index_filter filter = { words, N, 0 };
            memset(words, 0, sizeof words);
            for (size_t i = 0; i < N; i++) {
                if (test_random(&f->seed) % every[e] == 0) {
                    words[i / 64] |= (uint64_t)1 << (i % 64);
                    filter.n_set++;
                }
            }
            if (filter.n_set > 0) {
                assert_true(recall(ix, VECTOR_EUCLIDEAN, f->rows, N, f->queries, QUERIES, NULL, filter) >= 0.95);
            }
        }
        /* nothing */
        uint32_t position = 1;
        float distance = 1;
        memset(words, 0, sizeof words);
        search(ix, f->queries, 1, 1, NULL, (struct index_filter){ words, N, 0 }, &position, &distance);
        assert_int_equal(position, UINT32_MAX);
        /* the half that lies far away */
        struct index_filter filter = { words, N, 0 };
        for (size_t i = 0; i < N; i++) {
            double d = vector_distance_exact(VECTOR_EUCLIDEAN, VECTOR_F32, f->queries, f->rows + i * DIM, DIM);
            if (d > 4.5) {
                words[i / 64] |= (uint64_t)1 << (i % 64);
                filter.n_set++;
            }
        }
        assert_true(recall(ix, VECTOR_EUCLIDEAN, f->rows, N, f->queries, 1, "ef=10", filter) >= 0.9);
        ix->ops->free(ix);
    }
}

static void test_graph__removed_rows__never_found(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t left[N / 64 + 1];
    struct index_info info;
    struct index_filter filter = { left, N, N };
    memset(left, 0xff, sizeof left);
    struct index *ix = build(f, INDEX_GRAPH, VECTOR_EUCLIDEAN, NULL, f->rows, N, 1);
    for (uint32_t i = 0; i < N; i += i % 3 == 0 ? 1 : 2) {
        assert_ok(ix->ops->remove(ix, i, &err));
        left[i / 64] &= ~((uint64_t)1 << (i % 64));
        filter.n_set--;
    }
    ix->ops->info(ix, &info);
    assert_int_equal(info.rows, filter.n_set);
    assert_int_equal(info.removed, N - filter.n_set);
    assert_true(recall(ix, VECTOR_EUCLIDEAN, f->rows, N, f->queries, QUERIES, NULL, filter) >= 0.97);
    /* without naming the filter: the same */
    uint32_t a[K], b[K];
    float da[K], db[K];
    for (size_t i = 0; i < QUERIES; i++) {
        search(ix, f->queries + i * DIM, 1, K, "ef=300", filter, a, da);
        search(ix, f->queries + i * DIM, 1, K, "ef=300", no_filter, b, db);
        assert_true(da[0] == db[0] && a[0] == b[0]);
        for (size_t j = 0; j < K; j++) {
            assert_true(passes(filter, b[j]));
        }
    }
    for (uint32_t i = 0; i < N; i++) {
        if (passes(filter, i)) {
            assert_ok(ix->ops->remove(ix, i, &err));
        }
    }
    search(ix, f->queries, 1, 1, NULL, no_filter, a, da);
    assert_int_equal(a[0], UINT32_MAX);
    ix->ops->free(ix);
}

static void test_graph__added_in_parts__found(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    for (int kind = 0; kind < 2; kind++) {
        struct index *ix = build(f, kind == 0 ? INDEX_HNSW : INDEX_GRAPH, VECTOR_IP, NULL, f->rows, 1, 1);
        size_t at = 1;
        while (at < N) {
            size_t n = at < 40 ? 1 : at < 1000 ? 77 : 900;
            n = N - at < n ? N - at : n;
            struct index_rows r = rows_of(f->rows + at * DIM, n);
            assert_ok(ix->ops->add(ix, &r, &one_thread, &err));
            at += n;
        }
        assert_true(recall(ix, VECTOR_IP, f->rows, N, f->queries, QUERIES, NULL, no_filter) >= 0.97);
        ix->ops->free(ix);
    }
}

static void save(struct index *ix, const struct fixture *f)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct index_writer *w = NULL;
    assert_ok(index_writer_open(f->ctx, f->path, false, &w, &err));
    assert_ok(ix->ops->save(ix, w, &err));
    assert_ok(index_writer_finish(w, &err));
    index_writer_close(w);
}

static grebe_status load(const struct fixture *f, enum index_kind kind, enum vector_metric metric,
                         struct index_file **file, struct index **ix, grebe_error *err)
{
    struct index_config c = { .kind = kind, .metric = metric, .elem = VECTOR_F32, .dim = DIM };
    *ix = NULL;
    grebe_status st = index_file_open(f->ctx, f->path, false, file, err);
    return st == GREBE_OK ? index_ops_of(kind)->load(f->ctx, &c, *file, ix, err) : st;
}

static void test_graph__any_number_of_threads__same_bytes(void **state)
{
    struct fixture *f = *state;
    unsigned char *first = NULL;
    size_t first_len = 0;
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        size_t len = 0;
        struct index *ix = build(f, INDEX_GRAPH, VECTOR_COSINE, NULL, f->rows, N, threads);
        save(ix, f);
        ix->ops->free(ix);
        unsigned char *bytes = test_read_file(f->path, &len);
        if (first == NULL) {
            first = bytes;
            first_len = len;
            continue;
        }
        assert_int_equal(len, first_len);
        assert_memory_equal(bytes, first, len);
        free(bytes);
    }
    free(first);
}

static void test_graph__saved_and_loaded__same_answers(void **state)
{
    struct fixture *f = *state;
    static const char *const quants[] = { NULL, "quant=none", "quant=sq4", "rerank=none" };
    for (int q = 0; q < 5; q++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct index_file *file = NULL;
        struct index *ix = NULL;
        uint32_t a[QUERIES * K], b[QUERIES * K];
        float da[QUERIES * K], db[QUERIES * K];
        enum index_kind kind = q == 4 ? INDEX_HNSW : INDEX_GRAPH;
        struct index *made = build(f, kind, VECTOR_COSINE, q == 4 ? NULL : quants[q], f->rows, N - 500, 1);
        assert_ok(made->ops->remove(made, 17, &err));
        search(made, f->queries, QUERIES, K, NULL, no_filter, a, da);
        save(made, f);
        assert_ok(load(f, kind, VECTOR_COSINE, &file, &ix, &err));
        search(ix, f->queries, QUERIES, K, NULL, no_filter, b, db);
        assert_memory_equal(a, b, sizeof a);
        assert_memory_equal(da, db, sizeof da);
        /* more rows, in the loaded one and in the one that made it */
        struct index_rows more = rows_of(f->rows + (N - 500) * DIM, 500);
        assert_ok(ix->ops->add(ix, &more, &one_thread, &err));
        if (q == 3) { /* of codes alone: near the truth only */
            search(ix, f->rows + (N - 1) * DIM, 1, 1, NULL, no_filter, b, db);
            assert_int_equal(b[0], N - 1);
        } else {
            uint64_t left[N / 64 + 1];
            memset(left, 0xff, sizeof left);
            left[0] &= ~((uint64_t)1 << 17);
            assert_true(recall(ix, VECTOR_COSINE, f->rows, N, f->queries, QUERIES, NULL,
                               (struct index_filter){ left, N, N - 1 }) >= 0.97);
        }
        save(ix, f); /* over the file that is still mapped */
        ix->ops->free(ix);
        index_file_close(file);
        made->ops->free(made);
        assert_ok(load(f, kind, VECTOR_COSINE, &file, &ix, &err));
        struct index_info info;
        ix->ops->info(ix, &info);
        assert_int_equal(info.rows, N - 1);
        ix->ops->free(ix);
        index_file_close(file);
    }
}

static void test_graph__without_rows__nearly_as_good(void **state)
{
    struct fixture *f = *state;
    uint32_t positions[K];
    float distances[K];
    for (int m = 0; m < 2; m++) {
        enum vector_metric metric = m == 0 ? VECTOR_L2SQ : VECTOR_IP;
        struct index *ix = build(f, INDEX_GRAPH, metric, "rerank=none", f->rows, N, 1);
        struct index_info info;
        ix->ops->info(ix, &info);
        assert_int_equal(info.bytes_vectors, 0);
        for (size_t i = 0; i < QUERIES; i++) {
            search(ix, f->queries + i * DIM, 1, K, NULL, no_filter, positions, distances);
            for (size_t j = 0; j < K; j++) {
                double d =
                    vector_distance_exact(metric, VECTOR_F32, f->queries + i * DIM, f->rows + positions[j] * DIM, DIM);
                assert_true(fabs((double)distances[j] - d) <= 0.05 * (1 + fabs(d)));
            }
        }
        ix->ops->free(ix);
    }
}

/* The checksums of the table and of the section that begins at `offset` made right. */
static void close_file(unsigned char *bytes, size_t len, uint64_t offset)
{
    unsigned char *table = bytes + len - INDEX_FILE_ALIGN;
    for (size_t i = 0; i < INDEX_SECTIONS_MAX; i++) {
        unsigned char *e = table + INDEX_TABLE_SECTIONS + i * INDEX_SECTION_BYTES;
        if (load_le64(e + 8) == offset) {
            store_le64(e + 24, hash_xxh3(bytes + offset, (size_t)load_le64(e + 16)));
        }
    }
    store_le64(table + INDEX_TABLE_CHECKSUM, hash_xxh3(table, INDEX_TABLE_CHECKSUM));
}

static void test_graph__links_of_a_file_lead_outside__noticed(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_file *file = NULL;
    struct index *ix = build(f, INDEX_GRAPH, VECTOR_EUCLIDEAN, NULL, f->rows, N, 1);
    uint32_t p[K];
    float d[K];
    size_t len = 0;
    save(ix, f);
    ix->ops->free(ix);
    assert_ok(index_file_open(f->ctx, f->path, true, &file, &err));
    uint64_t at = index_file_offset(file, "links");
    index_file_close(file);
    unsigned char *bytes = test_read_file(f->path, &len);
    static const uint32_t values[] = { N, 0x7fffffff, 0xfffffffe, 0x80000000u };
    for (size_t v = 0; v < 4; v++) {
        for (size_t i = 3; i < (size_t)N * 32; i += 32) {
            store_le32(bytes + at + 4 * i, values[v]);
        }
        close_file(bytes, len, at);
        test_write_file(f->path, bytes, len);
        assert_ok(load(f, INDEX_GRAPH, VECTOR_EUCLIDEAN, &file, &ix, &err));
        struct index_rows q = rows_of(f->queries, 1);
        struct index_search s = { .k = K, .call = one_thread };
        struct index_ranges ranges = { 0 };
        assert_fails(ix->ops->search(ix, &q, &s, p, d, &err), GREBE_ECORRUPT, "leads out of the graph");
        assert_fails(ix->ops->range(ix, &q, 1.0f, &s, &ranges, &err), GREBE_ECORRUPT, "leads out of the graph");
        assert_fails(ix->ops->add(ix, &q, &one_thread, &err), GREBE_ECORRUPT, "expected a link below 3000");
        ix->ops->free(ix);
        index_file_close(file);
    }
    free(bytes);
}

static void test_graph__file_of_impossible_rows__refused(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_file *file = NULL;
    struct index *ix = build(f, INDEX_HNSW, VECTOR_EUCLIDEAN, NULL, f->rows, 100, 1);
    save(ix, f);
    ix->ops->free(ix);
    assert_ok(index_file_open(f->ctx, f->path, true, &file, &err));
    struct index_config c = { .kind = INDEX_HNSW, .metric = VECTOR_EUCLIDEAN, .elem = VECTOR_F32 };
    assert_fails(index_hnsw_ops.load(f->ctx, &c, file, &ix, &err), GREBE_ECORRUPT, "at least 1 component");
    c.dim = UINT32_MAX;
    assert_fails(index_hnsw_ops.load(f->ctx, &c, file, &ix, &err), GREBE_ECORRUPT, "at most 65536");
    c.dim = DIM + 16;
    assert_fails(index_hnsw_ops.load(f->ctx, &c, file, &ix, &err), GREBE_ECORRUPT, "section vectors");
    c.dim = DIM;
    c.metric = VECTOR_HAMMING;
    assert_fails(index_hnsw_ops.load(f->ctx, &c, file, &ix, &err), GREBE_ECORRUPT, "no distance");
    assert_null(ix);
    index_file_close(file);
}

static void test_graph__every_field_of_a_file_hostile__never_read_outside(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    static const uint64_t values[] = { 0, 1, 5, UINT64_MAX, 0x7fffffff, UINT64_C(0x7ff0000000000000) };
    struct index *ix = build(f, INDEX_GRAPH, VECTOR_EUCLIDEAN, NULL, f->rows, 300, 1);
    size_t len = 0, refused = 0;
    assert_ok(ix->ops->remove(ix, 3, &err));
    save(ix, f);
    ix->ops->free(ix);
    unsigned char *bytes = test_read_file(f->path, &len);
    unsigned char *table = bytes + len - INDEX_FILE_ALIGN;
    size_t n_fields = load_le32(table + INDEX_TABLE_N_FIELDS), n_sections = load_le32(table + INDEX_TABLE_N_SECTIONS);
    for (size_t i = 0; i < n_fields + n_sections; i++) {
        /* a field's value, or a section's length */
        unsigned char *at = i < n_fields ? table + INDEX_TABLE_FIELDS + i * INDEX_FIELD_BYTES + 8
                                         : table + INDEX_TABLE_SECTIONS + (i - n_fields) * INDEX_SECTION_BYTES + 16;
        uint64_t kept = load_le64(at);
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            struct index_file *file = NULL;
            uint32_t p[K];
            float d[K];
            store_le64(at, values[v]);
            if (i >= n_fields && values[v] < len) {
                uint64_t offset = load_le64(at - 8);
                close_file(bytes, len, offset);
            }
            close_file(bytes, len, 0);
            test_write_file(f->path, bytes, len);
            grebe_status st = load(f, INDEX_GRAPH, VECTOR_EUCLIDEAN, &file, &ix, &err);
            if (st == GREBE_OK) {
                search(ix, f->queries, 1, K, NULL, no_filter, p, d);
                ix->ops->free(ix);
            } else {
                assert_int_equal(st, GREBE_ECORRUPT);
                refused++;
            }
            index_file_close(file);
        }
        store_le64(at, kept);
        if (i >= n_fields) {
            close_file(bytes, len, load_le64(at - 8));
        }
    }
    assert_true(refused > 40);
    free(bytes);
}

static void test_graph__range__all_within(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    for (int kind = 0; kind < 2; kind++) {
        struct index *ix = build(f, kind == 0 ? INDEX_HNSW : INDEX_GRAPH, VECTOR_EUCLIDEAN, NULL, f->rows, N, 1);
        static const float radii[] = { 0.0f, 1.5f, 2.5f, 100.0f };
        for (size_t r = 0; r < 4; r++) {
            struct index_rows q = rows_of(f->queries, QUERIES);
            struct index_search s = { .call = one_thread };
            struct index_ranges out;
            size_t wanted = 0;
            assert_ok(ix->ops->range(ix, &q, radii[r], &s, &out, &err));
            for (size_t i = 0; i < QUERIES; i++) {
                for (size_t j = 0; j < N; j++) {
                    wanted += vector_distance_exact(VECTOR_EUCLIDEAN, VECTOR_F32, f->queries + i * DIM,
                                                    f->rows + j * DIM, DIM) <= (double)radii[r];
                }
                for (int64_t j = out.offsets[i]; j < out.offsets[i + 1]; j++) {
                    assert_true(out.distances[j] <= radii[r] && out.positions[j] < N);
                    assert_true(j == out.offsets[i] || out.distances[j] >= out.distances[j - 1]);
                }
            }
            assert_true(out.total <= wanted + 2 && (double)out.total >= 0.97 * (double)wanted);
            index_ranges_release(&out);
        }
        ix->ops->free(ix);
    }
}

static void test_graph__cancelled__nothing_changes(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_cancel *cancel = NULL;
    uint32_t a[K], b[K];
    float da[K], db[K];
    struct index_info info;
    struct index *ix = build(f, INDEX_GRAPH, VECTOR_EUCLIDEAN, NULL, f->rows, 1000, 1);
    assert_ok(grebe_cancel_new(f->ctx, &cancel, &err));
    search(ix, f->queries, 1, K, NULL, no_filter, a, da);
    grebe_cancel_set(cancel);
    struct call call = one_thread;
    call.cancel = cancel;
    struct index_rows more = rows_of(f->rows + 1000 * DIM, 500);
    assert_int_equal(ix->ops->add(ix, &more, &call, &err), GREBE_ECANCELLED);
    ix->ops->info(ix, &info);
    assert_int_equal(info.rows, 1000);
    search(ix, f->queries, 1, K, NULL, no_filter, b, db);
    assert_memory_equal(a, b, sizeof a);
    struct index_rows q = rows_of(f->queries, QUERIES);
    struct index_search s = { .k = K, .call = call };
    uint32_t many[QUERIES * K];
    float many_d[QUERIES * K];
    assert_int_equal(ix->ops->search(ix, &q, &s, many, many_d, &err), GREBE_ECANCELLED);
    assert_ok(ix->ops->add(ix, &more, &one_thread, &err));
    assert_true(recall(ix, VECTOR_EUCLIDEAN, f->rows, 1500, f->queries, QUERIES, NULL, no_filter) >= 0.97);
    ix->ops->free(ix);
    grebe_cancel_free(cancel);
}

static void test_graph__wrong_input__message(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index *ix = NULL;
    const char *param = "degre=3";
    struct index_config c = {
        .kind = INDEX_GRAPH, .metric = VECTOR_IP, .elem = VECTOR_F32, .dim = DIM, .params = &param, .n_params = 1
    };
    assert_fails(index_graph_ops.create(f->ctx, &c, &ix, &err), GREBE_EINVAL, "\"degree\"");
    param = "M=1";
    assert_fails(index_hnsw_ops.create(f->ctx, &c, &ix, &err), GREBE_EINVAL, "parameter M");
    const char *both[] = { "quant=none", "rerank=none" };
    c.params = both;
    c.n_params = 2;
    assert_fails(index_graph_ops.create(f->ctx, &c, &ix, &err), GREBE_EINVAL, "rerank=none");
    ix = build(f, INDEX_GRAPH, VECTOR_IP, NULL, f->rows, 100, 1);
    struct index_rows wrong = rows_of(f->rows, 10);
    wrong.dense.dim = DIM - 1;
    assert_fails(ix->ops->add(ix, &wrong, &one_thread, &err), GREBE_ESCHEMA, "expected 24");
    uint32_t p[K];
    float d[K];
    struct index_search s = { .k = K, .call = one_thread };
    assert_fails(ix->ops->search(ix, &wrong, &s, p, d, &err), GREBE_ESCHEMA, "expected 24");
    param = "eff=3";
    s.params = &param;
    s.n_params = 1;
    assert_fails(ix->ops->search(ix, &wrong, &s, p, d, &err), GREBE_EINVAL, "\"ef\"");
    ix->ops->free(ix);
}

static void test_graph__nth_allocation_fails__nothing_leaks(void **state)
{
    struct fixture *f = *state;
    for (size_t n = 1, step = 1;; n += step) {
        grebe_error err = GREBE_ERROR_INIT;
        struct test_allocator t;
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        struct index_config c = { .kind = INDEX_GRAPH, .metric = VECTOR_L2SQ, .elem = VECTOR_F32, .dim = DIM };
        struct index *ix = NULL;
        uint32_t p[K];
        float d[K];
        struct index_rows first = rows_of(f->rows, 200), second = rows_of(f->rows + 200 * DIM, 100);
        struct index_rows q = rows_of(f->queries, 1);
        struct index_search s = { .k = K, .call = one_thread };
        struct index_ranges ranges = { 0 };
        grebe_context *ctx = NULL;
        test_allocator_init(&t);
        o.allocator = &t.a;
        o.threads = 1;
        assert_ok(context_new(&o, &ctx, &err));
        t.fail_at = t.n_calls + n;
        grebe_status st = index_graph_ops.create(ctx, &c, &ix, &err);
        st = st == GREBE_OK ? ix->ops->add(ix, &first, &one_thread, &err) : st;
        st = st == GREBE_OK ? ix->ops->add(ix, &second, &one_thread, &err) : st;
        st = st == GREBE_OK ? ix->ops->remove(ix, 3, &err) : st;
        st = st == GREBE_OK ? ix->ops->search(ix, &q, &s, p, d, &err) : st;
        st = st == GREBE_OK ? ix->ops->range(ix, &q, 1.0f, &s, &ranges, &err) : st;
        index_ranges_release(&ranges);
        if (ix != NULL) {
            t.fail_at = 0;
            index_graph_ops.free(ix);
        }
        context_free(ctx);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            assert_true(n > 20);
            break;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_graph__every_metric_and_code__found),
        TEST(test_graph__every_element_type__found),
        TEST(test_graph__odd_requests__defined),
        TEST(test_graph__equal_rows__all_found_in_order),
        TEST(test_graph__zero_rows_angular__distance_one),
        TEST(test_graph__filters_of_any_share__found),
        TEST(test_graph__removed_rows__never_found),
        TEST(test_graph__added_in_parts__found),
        TEST(test_graph__any_number_of_threads__same_bytes),
        TEST(test_graph__saved_and_loaded__same_answers),
        TEST(test_graph__without_rows__nearly_as_good),
        TEST(test_graph__links_of_a_file_lead_outside__noticed),
        TEST(test_graph__file_of_impossible_rows__refused),
        TEST(test_graph__every_field_of_a_file_hostile__never_read_outside),
        TEST(test_graph__range__all_within),
        TEST(test_graph__cancelled__nothing_changes),
        TEST(test_graph__wrong_input__message),
        TEST(test_graph__nth_allocation_fails__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
