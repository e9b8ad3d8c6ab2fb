/* SPDX-License-Identifier: Apache-2.0 */
#include "vdb_fake.h"

#include <float.h>

#include "gitvdb/vdb_codes.h"
#include "gitvdb/vdb_kernels.h"

/* ---- what is expected ---- */

struct expected {
    uint64_t key;
    const struct fake_point *p;
};

static int compare_expected(const void *a, const void *b)
{
    const struct expected *x = a, *y = b;
    if (x->key != y->key) {
        return x->key > y->key ? -1 : 1;
    }
    return vdb_id_compare(&x->p->id, &y->p->id);
}

/* Points that pass `modulus` (0: all) in final order. */
static struct expected *rank_plainly(const struct fake *f, const float *query, const bool *is_in, size_t *n)
{
    struct expected *e = calloc(f->n + 1, sizeof *e);
    *n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (is_in == NULL || is_in[i]) {
            e[(*n)++] = (struct expected){ vdb_score_key(vdb_cosine(query, f->points[i].vector, f->dim)), &f->points[i] };
        }
    }
    qsort(e, *n, sizeof *e, compare_expected);
    return e;
}

static void compare_hits(const struct expected *e, size_t n_expected, uint64_t limit, const struct vdb_hit *hits,
                         size_t n, const char *what)
{
    size_t wanted = limit < n_expected ? (size_t)limit : n_expected;
    if (n != wanted) {
        fail_msg("%s: expected %zu hits, found %zu", what, wanted, n);
    }
    for (size_t i = 0; i < n; i++) {
        if (hits[i].at.shard != e[i].p->at.shard || hits[i].at.row != e[i].p->at.row ||
            vdb_score_key(hits[i].score) != e[i].key) {
            fail_msg("%s: hit %zu: expected shard %u row %u score %.17g, found shard %u row %u score %.17g", what, i,
                     e[i].p->at.shard, e[i].p->at.row, vdb_key_score(e[i].key), hits[i].at.shard, hits[i].at.row,
                     hits[i].score);
        }
    }
}

/* ---- data ---- */

enum data { UNIFORM, SMALL_WHOLE, CLUSTERED, ALL_SCALES, EDGES, ALL_ZERO, N_DATA };

static float uniform(uint64_t *seed) { return (float)(test_random(seed) >> 40) / 8388608.0F - 1.0F; }

static void fill(enum data data, float *v, size_t n, uint32_t dim, uint64_t *seed)
{
    static const float edges[] = { 0.0F, -0.0F, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45F, -1e-45F, 1.0F, -1.0F, 1e30F, 1e-30F };
    for (size_t i = 0; i < n; i++) {
        float scale = ldexpf(1.0F, (int)(test_random(seed) % 270) - 149);
        for (uint32_t d = 0; d < dim; d++) {
            float x = uniform(seed);
            switch (data) {
            case UNIFORM: break;
            case SMALL_WHOLE: x = (float)(test_random(seed) % 3) - 1.0F; break;
            case CLUSTERED: x = (float)((i % 4 * 31 + d * 7) % 11) - 5.0F + ldexpf(x, -12); break;
            case ALL_SCALES: x *= scale; break;
            case EDGES: x = test_random(seed) % 3 != 0 ? 0.0F : edges[test_random(seed) % 11]; break;
            default: x = 0.0F; break;
            }
            v[i * dim + d] = x;
        }
    }
}

static const uint32_t thread_counts[] = { 1, 2, 5 };

static void check_exact(struct fake *f, struct pool *pool, const float *query, const char *what)
{
    grebe_error err = GREBE_ERROR_INIT;
    size_t n_expected = 0;
    struct expected *e = rank_plainly(f, query, NULL, &n_expected);
    const uint64_t limits[] = { 10, 1, 0, 100, f->n / 2 + 1, UINT64_MAX };
    for (size_t l = 0; l < sizeof limits / sizeof limits[0]; l++) {
        const struct vdb_work w = { mem_system(), pool, thread_counts[l % 3], NULL };
        const struct vdb_query q = { .vector = query, .limit = limits[l], .mode = VDB_SEARCH_EXACT };
        struct vdb_search_stats stats;
        struct vdb_hit *hits = NULL;
        size_t n = 0;
        assert_ok(vdb_search(f->s, &w, &q, &hits, &n, &stats, &err));
        compare_hits(e, n_expected, limits[l], hits, n, what);
        assert_true(stats.is_exact && !stats.probe_limit_exhausted && !stats.candidate_limit_exhausted);
        assert_int_equal(stats.collection_points, f->n);
        assert_int_equal(stats.candidates_discovered, f->n);
        assert_int_equal(stats.vectors_scored, f->n);
        assert_int_equal(stats.buckets_probed, 0);
        mem_free(f->s->a, hits, n * sizeof *hits);
    }
    free(e);
}

/* The walk through the postings by the book. */
static void check_approximate(struct fake *f, struct pool *pool, const float *query, uint64_t probes,
                              uint64_t candidate_limit, const char *what)
{
    grebe_error err = GREBE_ERROR_INIT;
    const uint32_t k = f->s->codebook.n;
    const uint64_t wanted = probes == 0 ? 96 : probes, limit = candidate_limit == 0 ? 10000 : candidate_limit;
    const uint32_t visited = wanted < k ? (uint32_t)wanted : k;
    struct vdb_search_stats expected = { .collection_points = f->n }, stats;
    bool *is_in = calloc(f->n + 1, sizeof *is_in);
    bool *is_done = calloc(k + 1, sizeof *is_done);
    for (uint32_t v = 0; v < visited && !expected.candidate_limit_exhausted; v++) {
        uint32_t best = k;
        double best_score = -2.0;
        for (uint32_t c = 0; c < k; c++) {
            double score = vdb_cosine(query, f->s->codebook.values + (size_t)c * f->dim, f->dim);
            if (!is_done[c] && score > best_score) {
                best_score = score;
                best = c;
            }
        }
        is_done[best] = true;
        expected.buckets_probed++;
        for (uint32_t i = 0; i < f->s->postings[best].n && !expected.candidate_limit_exhausted; i++) {
            struct vdb_place at = vdb_posting_get(&f->s->postings[best], i);
            expected.candidates_discovered++;
            if (expected.vectors_scored >= limit) {
                expected.candidate_limit_exhausted = true;
                break;
            }
            expected.vectors_scored++;
            for (size_t p = 0; p < f->n; p++) {
                is_in[p] |= f->points[p].at.shard == at.shard && f->points[p].at.row == at.row;
            }
        }
    }
    expected.probe_limit_exhausted = expected.buckets_probed == visited && visited < k;
    size_t n_expected = 0;
    struct expected *e = rank_plainly(f, query, is_in, &n_expected);
    for (size_t t = 0; t < 3; t++) {
        const struct vdb_work w = { mem_system(), pool, thread_counts[t], NULL };
        const struct vdb_query q = { query, 10, VDB_SEARCH_APPROXIMATE, probes, candidate_limit, NULL };
        struct vdb_hit *hits = NULL;
        size_t n = 0;
        memset(&stats, 0x55, sizeof stats);
        assert_ok(vdb_search(f->s, &w, &q, &hits, &n, &stats, &err));
        compare_hits(e, n_expected, 10, hits, n, what);
        assert_false(stats.is_exact);
        assert_int_equal(stats.collection_points, expected.collection_points);
        assert_int_equal(stats.buckets_probed, expected.buckets_probed);
        assert_int_equal(stats.candidates_discovered, expected.candidates_discovered);
        assert_int_equal(stats.vectors_scored, expected.vectors_scored);
        assert_int_equal(stats.probe_limit_exhausted, expected.probe_limit_exhausted);
        assert_int_equal(stats.candidate_limit_exhausted, expected.candidate_limit_exhausted);
        mem_free(f->s->a, hits, n * sizeof *hits);
    }
    free(e);
    free(is_in);
    free(is_done);
}

static void check_collection(struct pool *pool, enum data data, size_t n, uint32_t dim, uint64_t *seed)
{
    struct fake f;
    char what[64];
    float *vectors = malloc(n * dim * sizeof *vectors + 1);
    float *query = malloc(dim * sizeof *query);
    fill(data, vectors, n, dim, seed);
    fake_open(&f, vectors, n, dim);
    for (int kind = 0; kind < 5; kind++) {
        fill(kind == 1 ? UNIFORM : data, query, 1, dim, seed);
        if (kind == 2 && n > 0) {
            memcpy(query, f.points[n / 2].vector, dim * sizeof *query); /* a point itself */
        }
        if (kind == 3) {
            memset(query, 0, dim * sizeof *query);
        }
        snprintf(what, sizeof what, "data %d, n %zu, dim %u, query %d", (int)data, n, dim, kind);
        check_exact(&f, pool, query, what);
        if (n <= 1000) {
            check_approximate(&f, pool, query, 0, 0, what);
            check_approximate(&f, pool, query, 3, 0, what);
            check_approximate(&f, pool, query, 0, n / 3, what);
            check_approximate(&f, pool, query, UINT64_MAX, 1, what);
        }
    }
    if (n >= 4096) {
        assert_non_null(f.s->coded); /* the rough copy took part */
        check_approximate(&f, pool, query, 5, 300, what);
    }
    fake_close(&f);
    free(vectors);
    free(query);
}

static void test_search__all_data__as_plain_loops(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct pool *pool = NULL;
    assert_int_equal(pool_new(mem_system(), &pool, NULL), GREBE_OK);
    for (int data = 0; data < N_DATA; data++) {
        check_collection(pool, (enum data)data, 0, 3, &seed);
        check_collection(pool, (enum data)data, 1, 1, &seed);
        check_collection(pool, (enum data)data, 2, 5, &seed);
        check_collection(pool, (enum data)data, 300, 8, &seed);
        check_collection(pool, (enum data)data, 900, 51, &seed);
        check_collection(pool, (enum data)data, 4200, 2, &seed);
        check_collection(pool, (enum data)data, 5000, 50, &seed);
        check_collection(pool, (enum data)data, 4100, 129, &seed);
    }
    pool_free(pool);
}

static void test_search__automatic__by_threshold(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    float vectors[40 * 3];
    struct fake f;
    const struct vdb_work w = { mem_system(), NULL, 1, NULL };
    fill(UNIFORM, vectors, 40, 3, &seed);
    fake_open(&f, vectors, 40, 3);
    for (uint64_t threshold = 39; threshold <= 40; threshold++) {
        const struct vdb_query q = { .vector = vectors, .limit = 3, .mode = VDB_SEARCH_AUTO };
        struct vdb_search_stats stats;
        struct vdb_hit *hits = NULL;
        size_t n = 0;
        f.s->meta.config.full_scan_threshold = threshold;
        assert_ok(vdb_search(f.s, &w, &q, &hits, &n, &stats, &err));
        assert_int_equal(stats.is_exact, threshold == 40);
        assert_int_equal(n, 3);
        mem_free(f.s->a, hits, n * sizeof *hits);
    }
    fake_close(&f);
}

static void test_search__filter__counts_and_hits(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    static const char json[] = "{\"must\":[{\"key\":\"n\",\"range\":{\"lt\":3}}]}";
    enum { N = 700, DIM = 9 };
    float vectors[N * DIM], query[DIM];
    bool is_in[N];
    struct fake f;
    struct vdb_filter *filter = NULL;
    struct pool *pool = NULL;
    size_t n_in = 0, n_expected = 0;
    assert_int_equal(pool_new(mem_system(), &pool, NULL), GREBE_OK);
    fill(UNIFORM, vectors, N, DIM, &seed);
    fill(UNIFORM, query, 1, DIM, &seed);
    fake_open(&f, vectors, N, DIM);
    for (size_t i = 0; i < N; i++) {
        is_in[i] = i % 7 < 3;
        n_in += is_in[i];
    }
    struct expected *e = rank_plainly(&f, query, is_in, &n_expected);
    assert_ok(vdb_filter_parse(mem_system(), json, strlen(json), false, &filter, &err));
    for (size_t t = 0; t < 6; t++) {
        const struct vdb_work w = { mem_system(), pool, thread_counts[t % 3], NULL };
        const uint64_t limit = t == 5 ? 0 : 20;
        const struct vdb_query q = { query, limit, t < 3 ? VDB_SEARCH_EXACT : VDB_SEARCH_APPROXIMATE, 0, 0, filter };
        struct vdb_search_stats stats;
        struct vdb_hit *hits = NULL;
        size_t n = 0;
        assert_ok(vdb_search(f.s, &w, &q, &hits, &n, &stats, &err));
        compare_hits(e, n_expected, limit, hits, n, "filter"); /* all centroids are visited when there is a filter */
        assert_int_equal(stats.candidates_discovered, N);
        assert_int_equal(stats.vectors_scored, n_in);
        assert_false(stats.probe_limit_exhausted);
        mem_free(f.s->a, hits, n * sizeof *hits);
    }
    /* Entries that do not pass are discovered, but do not fill the limit of candidates. */
    const struct vdb_work w = { mem_system(), NULL, 1, NULL };
    const struct vdb_query q = { query, 5, VDB_SEARCH_APPROXIMATE, 0, 4, filter };
    struct vdb_search_stats stats;
    struct vdb_hit *hits = NULL;
    size_t n = 0;
    assert_ok(vdb_search(f.s, &w, &q, &hits, &n, &stats, &err));
    assert_int_equal(n, 4);
    assert_int_equal(stats.vectors_scored, 4);
    assert_true(stats.candidate_limit_exhausted && stats.candidates_discovered > 4);
    mem_free(f.s->a, hits, n * sizeof *hits);
    vdb_filter_free(filter);
    free(e);
    fake_close(&f);
    pool_free(pool);
}

static void test_search__posting_of_no_row__corrupt(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    float vectors[30 * 4];
    struct fake f;
    const struct vdb_work w = { mem_system(), NULL, 1, NULL };
    const struct vdb_query q = { .vector = vectors, .limit = 3, .mode = VDB_SEARCH_APPROXIMATE };
    struct vdb_search_stats stats;
    struct vdb_hit *hits = NULL;
    size_t n = 0;
    fill(UNIFORM, vectors, 30, 4, &seed);
    fake_open(&f, vectors, 30, 4);
    for (uint32_t c = 0; c < f.s->codebook.n; c++) {
        if (f.s->postings[c].n > 0) {
            store_le32(f.s->posting_regions[c]->data + 12 + 2 + 6 * (f.s->postings[c].n - 1), 1000);
            break;
        }
    }
    assert_fails(vdb_search(f.s, &w, &q, &hits, &n, &stats, &err), GREBE_ECORRUPT, "row 1000");
    assert_null(hits);
    fake_close(&f);
}

static void test_search__no_memory__fails_and_frees(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    enum { N = 4200, DIM = 3 };
    float *vectors = malloc(N * DIM * sizeof *vectors);
    struct fake f;
    fill(UNIFORM, vectors, N, DIM, &seed);
    for (int mode = VDB_SEARCH_EXACT; mode <= VDB_SEARCH_APPROXIMATE; mode++) {
        fake_open(&f, vectors, N, DIM);
        grebe_status st = GREBE_ENOMEM;
        for (size_t fail_at = 1; st != GREBE_OK; fail_at++) {
            struct test_allocator a;
            test_allocator_init(&a);
            a.fail_at = fail_at;
            const struct vdb_work w = { &a.a, NULL, 1, NULL };
            const struct vdb_query q = { .vector = vectors, .limit = 40, .mode = (enum vdb_search_mode)mode };
            struct vdb_search_stats stats;
            struct vdb_hit *hits = NULL;
            size_t n = 0;
            st = vdb_search(f.s, &w, &q, &hits, &n, &stats, &err);
            assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
            assert_true(st == GREBE_OK || (hits == NULL && n == 0));
            assert_int_equal(a.n_live, 0);
            mem_free(f.s->a, hits, n * sizeof *hits);
            assert_true(fail_at < 2000);
        }
        fake_close(&f);
    }
    free(vectors);
}

/* Products of rows are within the bounds; whole numbers are exact, at the ends of their range too. */
static void test_kernels__rows__within_bound(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (uint32_t dim = 1; dim <= 200; dim++) {
        float *rows = malloc((size_t)VDB_ROWS * dim * sizeof *rows);
        float *query = malloc(dim * sizeof *query);
        const size_t width = (dim + VDB_CODE_RUN - 1) / VDB_CODE_RUN * VDB_CODE_RUN;
        int8_t *codes = malloc(VDB_ROWS * width);
        int16_t *query_codes = malloc(width * sizeof *query_codes);
        const float *pointers[VDB_ROWS];
        const int8_t *code_pointers[VDB_ROWS];
        fill(UNIFORM, rows, VDB_ROWS, dim, &seed);
        fill(UNIFORM, query, 1, dim, &seed);
        for (size_t i = 0; i < width; i++) {
            query_codes[i] = (int16_t)((int)(test_random(&seed) % 65535) - 32767);
            for (size_t r = 0; r < VDB_ROWS; r++) {
                codes[r * width + i] = (int8_t)(r == 0 ? -127 : (int)(test_random(&seed) % 255) - 127);
            }
        }
        for (size_t r = 0; r < VDB_ROWS; r++) {
            pointers[r] = rows + r * dim;
            code_pointers[r] = codes + r * width;
        }
        for (int level = CPU_SCALAR; level <= CPU_AVX2; level++) {
            const struct vdb_kernels *k = vdb_kernels_of((enum cpu_simd)level);
            float dots[VDB_ROWS], norms2[VDB_ROWS];
            int32_t sums[VDB_ROWS];
            if (k == NULL) {
                continue;
            }
            k->dots_f32(pointers, VDB_ROWS, query, dim, dots, norms2);
            k->dots_i8(code_pointers, VDB_ROWS, query_codes, width, sums);
            for (size_t r = 0; r < VDB_ROWS; r++) {
                double dot = 0.0, n2 = vdb_norm2(pointers[r], dim), e = vdb_dot_error(dim, 0);
                int64_t sum = 0;
                for (uint32_t d = 0; d < dim; d++) {
                    dot += (double)query[d] * (double)pointers[r][d];
                }
                for (size_t i = 0; i < width; i++) {
                    sum += (int64_t)codes[r * width + i] * query_codes[i];
                }
                assert_true(fabs((double)dots[r] - dot) <= e * sqrt(n2 * vdb_norm2(query, dim)));
                assert_true(fabs((double)norms2[r] - n2) <= e * n2);
                assert_true(sums[r] == sum);
            }
        }
        free(rows);
        free(query);
        free(codes);
        free(query_codes);
    }
}

/* Searches from several threads on one snapshot, the first ones among them, find the same. */
struct crowd {
    struct fake *f;
    struct pool *pool;
    const float *queries; /* shape [8, dim] */
    struct expected *expected[8];
    size_t n_expected[8];
};

static grebe_status search_in_crowd(void *arg, size_t i, grebe_error *err)
{
    const struct crowd *c = arg;
    const struct vdb_work w = { mem_system(), c->pool, 1 + (uint32_t)(i % 3), NULL };
    const struct vdb_query q = { .vector = c->queries + i % 8 * c->f->dim, .limit = 10, .mode = VDB_SEARCH_EXACT };
    const struct expected *e = c->expected[i % 8];
    struct vdb_search_stats stats;
    struct vdb_hit *hits = NULL;
    size_t n = 0;
    grebe_status st = vdb_search(c->f->s, &w, &q, &hits, &n, &stats, err);
    for (size_t k = 0; st == GREBE_OK && k < n; k++) {
        if (n != 10 || hits[k].at.shard != e[k].p->at.shard || hits[k].at.row != e[k].p->at.row) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "search %zu: another hit %zu", i, k);
        }
    }
    mem_free(mem_system(), hits, n * sizeof *hits);
    return st;
}

static void test_search__many_at_once__same_hits(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    enum { N = 5000, DIM = 20 };
    float *vectors = malloc(N * DIM * sizeof *vectors), queries[8 * DIM];
    struct fake f;
    struct crowd c = { .f = &f, .queries = queries };
    assert_int_equal(pool_new(mem_system(), &c.pool, NULL), GREBE_OK);
    fill(UNIFORM, vectors, N, DIM, &seed);
    fill(UNIFORM, queries, 8, DIM, &seed);
    fake_open(&f, vectors, N, DIM);
    for (size_t i = 0; i < 8; i++) {
        c.expected[i] = rank_plainly(&f, queries + i * DIM, NULL, &c.n_expected[i]);
    }
    assert_ok(parallel_for(c.pool, 5, 64, search_in_crowd, &c, NULL, &err));
    assert_non_null(f.s->coded);
    for (size_t i = 0; i < 8; i++) {
        free(c.expected[i]);
    }
    fake_close(&f);
    pool_free(c.pool);
    free(vectors);
}

/* Codes stand for their rows within the error that they tell, and scores made of them are within it too. */
static void test_codes__all_data__within_error(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    static const uint32_t dims[] = { 1, 2, 7, 8, 9, 16, 17, 50, 333 };
    grebe_error err = GREBE_ERROR_INIT;
    const struct vdb_work w = { mem_system(), NULL, 1, NULL };
    for (int data = 0; data < N_DATA; data++) {
        for (size_t k = 0; k < sizeof dims / sizeof dims[0]; k++) {
            enum { N = 150 };
            const uint32_t dim = dims[k];
            float *vectors = malloc(N * dim * sizeof *vectors), *query = malloc(dim * sizeof *query);
            struct fake f;
            struct vdb_coded *coded = NULL;
            struct arena ar = ARENA_INIT(mem_system());
            struct vdb_query_codes q;
            fill((enum data)data, vectors, N, dim, &seed);
            fill(UNIFORM, query, 1, dim, &seed);
            fake_open(&f, vectors, N, dim);
            assert_ok(vdb_coded_new(f.s, &w, &coded, &err));
            assert_ok(vdb_query_codes_make(coded, &ar, query, sqrt(vdb_norm2(query, dim)), &q, &err));
            for (size_t i = 0; i < N; i++) {
                const struct vdb_codes *c = &coded->shards[f.points[i].at.shard];
                const uint32_t row = f.points[i].at.row;
                const int8_t *codes = c->codes + row * coded->width;
                const double length = sqrt(vdb_norm2(f.points[i].vector, dim));
                double gap2 = 0.0;
                int64_t dot = 0;
                for (uint32_t d = 0; d < dim; d++) {
                    const double x = length == 0.0 ? 0.0 : (double)f.points[i].vector[d] / length;
                    const double gap = x - (double)c->factor[row] * codes[d];
                    gap2 += gap * gap;
                    dot += codes[d] * q.codes[d];
                }
                for (size_t d = dim; d < coded->width; d++) {
                    assert_int_equal(codes[d], 0);
                }
                const double off = (double)c->error[row], score = vdb_cosine(query, f.points[i].vector, dim);
                assert_true(sqrt(gap2) <= off + 1e-6 && off < 0.1);
                assert_true(fabs((double)c->factor[row] * (double)q.factor * (double)dot - score) <=
                            off + (1 + off) * (double)q.error + 1e-6); /* the sieve adds as much for f32 */
            }
            arena_release(&ar);
            vdb_coded_free(coded);
            fake_close(&f);
            free(vectors);
            free(query);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels__rows__within_bound),
        cmocka_unit_test(test_codes__all_data__within_error),
        cmocka_unit_test(test_search__all_data__as_plain_loops),
        cmocka_unit_test(test_search__many_at_once__same_hits),
        cmocka_unit_test(test_search__automatic__by_threshold),
        cmocka_unit_test(test_search__filter__counts_and_hits),
        cmocka_unit_test(test_search__posting_of_no_row__corrupt),
        cmocka_unit_test(test_search__no_memory__fails_and_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
