/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_ivf.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gitvdb/vdb_kernels.h"
#include "test_support.h"

/* ---- the plain loops that everything is compared with ---- */

static void assign_plainly(const float *centroids, uint32_t k, uint32_t dim, const float *vectors, size_t n,
                           uint16_t *out)
{
    for (size_t i = 0; i < n; i++) {
        double best_score = -INFINITY;
        out[i] = 0;
        for (uint32_t c = 0; c < k; c++) {
            double score = vdb_cosine(vectors + i * dim, centroids + (size_t)c * dim, dim);
            if (score > best_score) {
                best_score = score;
                out[i] = (uint16_t)c;
            }
        }
    }
}

static void train_plainly(const float *vectors, size_t m, uint32_t dim, uint32_t k, float *centroids)
{
    uint16_t *nearest = malloc(m * sizeof *nearest);
    double *sums = malloc((size_t)k * dim * sizeof *sums);
    size_t *counts = malloc(k * sizeof *counts);
    for (uint32_t c = 0; c < k; c++) {
        size_t at = k == 1 ? 0 : (size_t)c * (m - 1) / (k - 1);
        memcpy(centroids + (size_t)c * dim, vectors + at * dim, dim * sizeof(float));
    }
    for (int round = 0; round < 4; round++) {
        assign_plainly(centroids, k, dim, vectors, m, nearest);
        memset(sums, 0, (size_t)k * dim * sizeof *sums);
        memset(counts, 0, k * sizeof *counts);
        for (size_t i = 0; i < m; i++) {
            counts[nearest[i]]++;
            for (uint32_t d = 0; d < dim; d++) {
                sums[(size_t)nearest[i] * dim + d] += (double)vectors[i * dim + d];
            }
        }
        for (uint32_t c = 0; c < k; c++) {
            for (uint32_t d = 0; counts[c] > 0 && d < dim; d++) {
                centroids[(size_t)c * dim + d] = (float)(sums[(size_t)c * dim + d] / (double)counts[c]);
            }
        }
    }
    free(nearest);
    free(sums);
    free(counts);
}

/* ---- data: how hard it is ---- */

enum data { UNIFORM, SMALL_WHOLE, NEAR_EACH_OTHER, ALL_SCALES, EDGES, MULTIPLES, ALL_ZERO, N_DATA };

static float uniform(uint64_t *seed) { return (float)(test_random(seed) >> 40) / 8388608.0F - 1.0F; }

static float edge(uint64_t *seed)
{
    static const float edges[] = { 0.0F, -0.0F, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45F, -1e-45F, 3e-42F, 1.0F, -1.0F, 1e30F,
                                   1e-30F, 1e19F };
    return edges[test_random(seed) % (sizeof edges / sizeof edges[0])];
}

static void fill(enum data data, float *v, size_t n, uint32_t dim, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        float *row = v + i * dim;
        float scale = data == ALL_SCALES ? ldexpf(1.0F, (int)(test_random(seed) % 270) - 149) : 1.0F;
        for (uint32_t d = 0; d < dim; d++) {
            switch (data) {
            case UNIFORM: row[d] = uniform(seed); break;
            case SMALL_WHOLE: row[d] = (float)(test_random(seed) % 3) - 1.0F; break;
            case NEAR_EACH_OTHER: row[d] = 1.0F + ldexpf(uniform(seed), -20); break;
            case ALL_SCALES: row[d] = uniform(seed) * scale; break;
            case EDGES: row[d] = test_random(seed) % 4 != 0 ? 0.0F : edge(seed); break;
            case MULTIPLES: row[d] = (float)(1 + d % 3) * ldexpf(1.0F, (int)(i % 7)) * (i % 5 == 4 ? 3.0F : 1.0F); break;
            default: row[d] = i % 2 == 0 ? 0.0F : -0.0F; break;
            }
        }
    }
}


static void compare_assignment(const struct vdb_work *w, const float *centroids, uint32_t k, uint32_t dim,
                               const float *vectors, size_t n, const char *what)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_assigner *s = NULL;
    uint16_t *expected = malloc(n * sizeof *expected);
    uint16_t *found = malloc(n * sizeof *found);
    assign_plainly(centroids, k, dim, vectors, n, expected);
    assert_ok(vdb_assigner_new(w, centroids, k, dim, &s, &err));
    assert_ok(vdb_assign(s, vectors, n, found, &err));
    for (size_t i = 0; i < n; i++) {
        if (found[i] != expected[i]) {
            fail_msg("%s, k %u, dim %u: point %zu: expected %u, found %u", what, k, dim, i, expected[i], found[i]);
        }
    }
    vdb_assigner_free(s);
    free(expected);
    free(found);
}

static void test_centroid_count__table__as_published(void **state)
{
    (void)state;
    static const struct { uint64_t first; uint32_t k; } rows[] = {
        { 1, 1 }, { 3, 2 }, { 7, 4 }, { 31, 8 }, { 133, 16 }, { 553, 32 }, { 2257, 64 }, { 9121, 128 },
        { 36673, 256 }, { 147073, 512 }, { 589057, 1024 }, { 2357761, 2048 }, { 9434113, 4096 } };
    assert_int_equal(vdb_centroid_count(0), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(vdb_centroid_count(rows[i].first), rows[i].k);
        assert_int_equal(vdb_centroid_count(rows[i].first - 1), i == 0 ? 0 : rows[i - 1].k);
    }
    assert_int_equal(vdb_centroid_count(UINT64_MAX), 4096);
    assert_int_equal(vdb_centroid_count(UINT64_C(1) << 62), 4096);
}

static void test_cosine__edges__exact(void **state)
{
    (void)state;
    const float zero[2] = { 0.0F, -0.0F }, one[2] = { 1.0F, 0.0F }, big[2] = { FLT_MAX, FLT_MAX };
    const float tiny[2] = { 1e-45F, 0.0F };
    assert_true(vdb_cosine(zero, one, 2) == 0.0);
    assert_true(vdb_cosine(one, tiny, 2) == 1.0);
    assert_true(vdb_cosine(big, big, 2) > 0.999999);
    assert_true(vdb_norm2(one, 2) == 1.0);
}

static void test_assign__hard_data__as_plain_loops(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    static const uint32_t dims[] = { 1, 2, 3, 7, 8, 9, 16, 25, 50, 64, 100, 511, 512 };
    static const uint32_t counts[] = { 1, 2, 4, 8, 15, 16, 17, 33, 64, 256 };
    const struct vdb_work w = { mem_system(), NULL, 1, NULL };
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++) {
            for (int data = 0; data < N_DATA; data++) {
                uint32_t k = counts[c], dim = dims[d];
                size_t n = k * dim > 20000 ? 20 : 97;
                float *centroids = malloc((size_t)k * dim * sizeof *centroids);
                float *vectors = malloc(n * dim * sizeof *vectors);
                fill((enum data)data, centroids, k, dim, &seed);
                fill((enum data)data, vectors, n, dim, &seed);
                char what[32];
                snprintf(what, sizeof what, "data %d", data);
                compare_assignment(&w, centroids, k, dim, vectors, n, what);
                free(centroids);
                free(vectors);
            }
        }
    }
}

/* Centroids are points and multiples of points, so that cosines tie or differ in the last bits; some repeat, some are zero. */
static void test_assign__ties__lowest_wins(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    enum { K = 300, N = 300 };
    const struct vdb_work w = { mem_system(), NULL, 1, NULL };
    for (uint32_t dim = 1; dim <= 60; dim += 7) {
        float *centroids = malloc((size_t)K * dim * sizeof *centroids);
        float *vectors = malloc((size_t)N * dim * sizeof *vectors);
        fill(UNIFORM, vectors, N, dim, &seed);
        for (uint32_t c = 0; c < K; c++) {
            const float *v = vectors + (test_random(&seed) % 40) * dim;
            float scale = c % 3 == 0 ? 1.0F : c % 3 == 1 ? ldexpf(1.0F, (int)(c % 50)) : uniform(&seed);
            for (uint32_t d = 0; d < dim; d++) {
                centroids[c * dim + d] = c % 29 == 28 ? 0.0F : v[d] * scale;
            }
        }
        for (size_t i = 40; i < N; i++) {
            for (uint32_t d = 0; d < dim; d++) {
                vectors[i * dim + d] = i % 5 == 0 ? -vectors[i % 40 * dim + d] : vectors[i % 40 * dim + d] * 3.0F;
            }
        }
        compare_assignment(&w, centroids, K, dim, vectors, N, "ties");
        free(centroids);
        free(vectors);
    }
}

static void test_assign__many_centroids__as_plain_loops(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    const struct vdb_work w = { mem_system(), NULL, 1, NULL };
    enum { K = 4096, DIM = 10, N = 200 };
    float *centroids = malloc((size_t)K * DIM * sizeof *centroids);
    float *vectors = malloc((size_t)N * DIM * sizeof *vectors);
    fill(UNIFORM, centroids, K, DIM, &seed);
    fill(UNIFORM, vectors, N, DIM, &seed);
    compare_assignment(&w, centroids, K, DIM, vectors, N, "4096");
    fill(SMALL_WHOLE, centroids, K, DIM, &seed);
    fill(SMALL_WHOLE, vectors, N, DIM, &seed);
    compare_assignment(&w, centroids, K, DIM, vectors, N, "4096 with ties");
    free(centroids);
    free(vectors);
}

/* Of 16 scores the best two and where the best stands. */
static void check_winner(const struct vdb_best *b, const struct vdb_winner *w)
{
    int n_above_second = 0, n_first = 0;
    for (uint32_t l = 0; l < VDB_LANES; l++) {
        assert_true(b->first[l] <= w->first && b->second[l] <= w->second);
        n_above_second += (b->first[l] > w->second) + (b->second[l] > w->second);
        n_first += (b->first[l] == w->first) + (b->second[l] == w->first);
    }
    assert_int_equal(n_above_second, n_first == 1);
    assert_true(b->first[w->centroid % VDB_LANES] == w->first);
    assert_int_equal(w->centroid / VDB_LANES, b->index[w->centroid % VDB_LANES]);
}

static void test_winners__equal_scores__second_is_first(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 2000; round++) {
        struct vdb_best b;
        for (uint32_t l = 0; l < VDB_LANES; l++) {
            float x = (float)(test_random(&seed) % 9) - 4.0F, y = (float)(test_random(&seed) % 9) - 4.0F;
            b.first[l] = x > y ? x : y;
            b.second[l] = test_random(&seed) % 3 == 0 ? -INFINITY : x > y ? y : x;
            b.index[l] = (int32_t)(test_random(&seed) % 512);
        }
        for (int level = CPU_SCALAR; level <= CPU_AVX2; level++) {
            const struct vdb_kernels *k = vdb_kernels_of((enum cpu_simd)level);
            struct vdb_winner w;
            if (k != NULL) {
                k->find_winners(&b, 1, &w);
                check_winner(&b, &w);
            }
        }
    }
}

/* Both variants find every product within the bound that callers rely on. */
static void test_kernels__all_levels__within_bound(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (uint32_t dim = 1; dim <= 600; dim += 1 + dim / 3) {
        float *rows = malloc((size_t)VDB_GROUP * dim * sizeof *rows);
        float *panel = aligned_alloc(64, (size_t)dim * VDB_PANEL * sizeof *panel);
        const float *pointers[VDB_GROUP];
        fill(UNIFORM, rows, VDB_GROUP, dim, &seed);
        fill(UNIFORM, panel, VDB_PANEL, dim, &seed);
        for (int p = 0; p < VDB_GROUP; p++) {
            pointers[p] = rows + (size_t)p * dim;
        }
        for (int level = CPU_SCALAR; level <= CPU_AVX2; level++) {
            const struct vdb_kernels *k = vdb_kernels_of((enum cpu_simd)level);
            struct vdb_best best[VDB_GROUP];
            if (k == NULL) {
                continue;
            }
            for (int p = 0; p < VDB_GROUP; p++) {
                for (uint32_t l = 0; l < VDB_LANES; l++) {
                    best[p].first[l] = best[p].second[l] = -INFINITY;
                    best[p].index[l] = -1;
                }
            }
            k->score_group(pointers, dim, panel, 6, best);
            float norms2[VDB_ROWS];
            struct vdb_winner winners[VDB_GROUP];
            k->norms2(pointers, VDB_ROWS, dim, norms2);
            k->find_winners(best, VDB_GROUP, winners);
            for (int p = 0; p < VDB_GROUP; p++) {
                double length = sqrt(vdb_norm2(pointers[p], dim));
                assert_true(p >= VDB_ROWS || fabs((double)norms2[p] - length * length) <=
                                                 vdb_dot_error(dim, 0) * length * length);
                check_winner(&best[p], &winners[p]);
                for (uint32_t l = 0; l < VDB_LANES; l++) {
                    double dot[2] = { 0, 0 }, size[2] = { 0, 0 };
                    for (uint32_t d = 0; d < dim; d++) {
                        for (uint32_t h = 0; h < 2; h++) {
                            double c = (double)panel[d * VDB_PANEL + h * VDB_LANES + l];
                            dot[h] += c * (double)pointers[p][d];
                            size[h] += c * c;
                        }
                    }
                    int high = dot[1] > dot[0];
                    double e0 = vdb_dot_error(dim, 0) * length * sqrt(size[high]);
                    double e1 = vdb_dot_error(dim, 0) * length * sqrt(size[!high]);
                    assert_true(fabs((double)best[p].first[l] - dot[high]) <= e0);
                    assert_true(fabs((double)best[p].second[l] - dot[!high]) <= e1);
                    assert_true(best[p].index[l] == 6 + high || fabs(dot[0] - dot[1]) <= e0 + e1);
                }
            }
        }
        free(rows);
        free(panel);
    }
}

static void compare_training(struct pool *pool, enum data data, size_t m, uint32_t dim, uint32_t k, uint64_t *seed)
{
    grebe_error err = GREBE_ERROR_INIT;
    static const uint32_t threads[] = { 1, 2, 5 };
    float *vectors = malloc(m * dim * sizeof *vectors);
    const float **sample = malloc(m * sizeof *sample);
    float *expected = malloc((size_t)k * dim * sizeof *expected);
    float *found = malloc((size_t)k * dim * sizeof *found);
    fill(data, vectors, m, dim, seed);
    for (size_t i = 0; i < m; i++) {
        sample[i] = vectors + i * dim;
    }
    train_plainly(vectors, m, dim, k, expected);
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        const struct vdb_work w = { mem_system(), pool, threads[t], NULL };
        memset(found, 0x55, (size_t)k * dim * sizeof *found);
        assert_ok(vdb_train(&w, sample, m, dim, k, found, &err));
        if (memcmp(found, expected, (size_t)k * dim * sizeof *found) != 0) {
            fail_msg("data %d, m %zu, dim %u, k %u, %u threads: other centroids", (int)data, m, dim, k, threads[t]);
        }
    }
    free(vectors);
    free(sample);
    free(expected);
    free(found);
}

static void test_train__threads_and_data__bits_of_plain_loops(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct pool *pool = NULL;
    assert_int_equal(pool_new(mem_system(), &pool, NULL), GREBE_OK);
    for (int data = 0; data < N_DATA; data++) {
        compare_training(pool, (enum data)data, 1, 3, 1, &seed);
        compare_training(pool, (enum data)data, 2, 3, 1, &seed);
        compare_training(pool, (enum data)data, 3, 1, 2, &seed);
        compare_training(pool, (enum data)data, 40, 5, 8, &seed);
        compare_training(pool, (enum data)data, 600, 17, 32, &seed);
        compare_training(pool, (enum data)data, 2300, 50, 64, &seed);
    }
    pool_free(pool);
}

static void test_train__no_memory__fails_and_frees(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    grebe_error err = GREBE_ERROR_INIT;
    float vectors[40 * 5], centroids[8 * 5], expected[8 * 5];
    const float *sample[40];
    struct test_allocator a;
    grebe_status st = GREBE_ENOMEM;
    fill(UNIFORM, vectors, 40, 5, &seed);
    for (size_t i = 0; i < 40; i++) {
        sample[i] = vectors + i * 5;
    }
    train_plainly(vectors, 40, 5, 8, expected);
    for (size_t fail_at = 1; st != GREBE_OK; fail_at++) {
        test_allocator_init(&a);
        a.fail_at = fail_at;
        const struct vdb_work w = { &a.a, NULL, 1, NULL };
        st = vdb_train(&w, sample, 40, 5, 8, centroids, &err);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        assert_int_equal(a.n_live, 0);
        assert_true(fail_at < 1000);
    }
    assert_memory_equal(centroids, expected, sizeof expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_centroid_count__table__as_published),
        cmocka_unit_test(test_cosine__edges__exact),
        cmocka_unit_test(test_assign__hard_data__as_plain_loops),
        cmocka_unit_test(test_assign__ties__lowest_wins),
        cmocka_unit_test(test_assign__many_centroids__as_plain_loops),
        cmocka_unit_test(test_winners__equal_scores__second_is_first),
        cmocka_unit_test(test_kernels__all_levels__within_bound),
        cmocka_unit_test(test_train__threads_and_data__bits_of_plain_loops),
        cmocka_unit_test(test_train__no_memory__fails_and_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
