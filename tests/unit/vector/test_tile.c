/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/tile.h"

#include <math.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "test_support.h"
#include "vector/distance.h"
#include "vector/tile_internal.h"

static float random_component(uint64_t *seed)
{
    return (float)((int64_t)(test_random(seed) >> 40) - (1 << 23)) * 0x1p-22f;
}

static float *random_rows(size_t n, uint32_t dim, uint64_t *seed)
{
    float *rows = malloc(n * dim * sizeof *rows + 1);

    for (size_t i = 0; i < n * dim; i++) {
        rows[i] = random_component(seed);
    }
    return rows;
}

static double exact_value(const float *q, const float *row, uint32_t dim, bool is_l2)
{
    double dot = 0, norm = 0;

    for (uint32_t i = 0; i < dim; i++) {
        dot += (double)q[i] * (double)row[i];
        norm += (double)row[i] * (double)row[i];
    }
    return is_l2 ? norm - 2 * dot : -dot;
}

static double length(const float *row, uint32_t dim)
{
    double sum = 0;

    for (uint32_t i = 0; i < dim; i++) {
        sum += (double)row[i] * (double)row[i];
    }
    return sqrt(sum);
}

/* All rows in [begin, end), each once, within the stated error; and the same bits whatever the group of queries. */
static void check(size_t n, size_t begin, size_t end, size_t n_queries, uint32_t dim, bool is_l2, uint64_t *seed)
{
    grebe_error err = {0};
    float *rows = random_rows(n, dim, seed), *queries = random_rows(n_queries, dim, seed);
    const struct vector_rows view = {rows, dim * sizeof(float), n, dim, VECTOR_F32};
    const size_t room = topk_capacity(n + 1);
    struct topk_item *items = calloc(n_queries * room, sizeof *items), *one_items = calloc(room, sizeof *items);
    struct topk *tops = calloc(n_queries, sizeof *tops), one;
    float *values = calloc(n + 2 * TILE_PANEL, sizeof *values);
    struct tile_rows t;

    assert_ok(tile_rows_pack(mem_system(), &view, &t, &err));
    for (size_t q = 0; q < n_queries; q++) {
        topk_init(tops + q, n + 1, items + q * room, room);
    }
    tile_search(&t, begin, end, 1000, queries, n_queries, is_l2, tops);
    for (size_t q = 0; q < n_queries; q++) {
        const float *query = queries + q * dim;
        size_t found;

        topk_init(&one, n + 1, one_items, room);
        tile_search(&t, begin, end, 1000, query, 1, is_l2, &one);
        tile_values(t.panels, is_l2 ? t.norms : NULL, n, dim, query, values);
        found = topk_finish(tops + q);
        assert_int_equal(found, end - begin);
        assert_int_equal(topk_finish(&one), found);
        assert_memory_equal(tops[q].items, one.items, found * sizeof *one.items);
        for (size_t i = 0; i < found; i++) {
            const size_t row = tops[q].items[i].id - 1000;
            const double exact = exact_value(query, rows + row * dim, dim, is_l2);

            assert_in_range(row, begin, end - 1);
            assert_true(fabs((double)tops[q].items[i].distance - exact) <=
                        tile_error(dim, length(query, dim), (double)t.norm_max, is_l2));
            assert_true(tops[q].items[i].distance == values[row]);
        }
    }
    tile_rows_release(&t);
    tile_rows_release(&t);
    free(rows);
    free(queries);
    free(items);
    free(one_items);
    free(tops);
    free(values);
}

static void test_tile_search__shapes__all_rows_within_error(void **state)
{
    uint64_t seed = test_seed();

    (void)state;
    for (uint32_t dim = 1; dim < 40; dim += 1 + dim / 4) {
        for (size_t queries = 1; queries < 20; queries += 1 + queries / 6) {
            check(77, 0, 77, queries, dim, queries % 2 == 0, &seed);
            check(64, 5, 50, queries, dim, queries % 2 == 1, &seed);
            check(9, 3, 7, queries, dim, true, &seed);
        }
    }
    check(3000, 11, 2995, 7, 130, true, &seed);
    check(40, 0, 40, 13, 1536, false, &seed);
}

static void test_tile_search__k_nearest__same_as_exact_order(void **state)
{
    enum { N = 5000, DIM = 24, Q = 20, K = 10 };
    uint64_t seed = test_seed();
    grebe_error err = {0};
    float *rows = random_rows(N, DIM, &seed), *queries = random_rows(Q, DIM, &seed);
    const struct vector_rows view = {rows, DIM * sizeof(float), N, DIM, VECTOR_F32};
    struct topk_item items[Q][2 * K + 64], expected_items[2 * K + 64];
    struct topk tops[Q], expected;
    struct tile_rows t;

    (void)state;
    assert_ok(tile_rows_pack(mem_system(), &view, &t, &err));
    for (size_t q = 0; q < Q; q++) {
        topk_init(tops + q, K, items[q], 2 * K + 64);
    }
    for (size_t at = 0; at < N; at += 1000) { /* piece by piece: the limits go on */
        tile_search(&t, at, at + 1000, 0, queries, Q, true, tops);
    }
    for (size_t q = 0; q < Q; q++) {
        topk_init(&expected, K, expected_items, 2 * K + 64);
        for (uint32_t r = 0; r < N; r++) {
            topk_push(&expected, (float)exact_value(queries + q * DIM, rows + r * DIM, DIM, true), r);
        }
        assert_int_equal(topk_finish(tops + q), K);
        topk_finish(&expected);
        for (size_t i = 0; i < K; i++) {
            assert_int_equal(tops[q].items[i].id, expected.items[i].id);
        }
    }
    tile_rows_release(&t);
    free(rows);
    free(queries);
}

static void test_tile_rows__types_positions_and_padding(void **state)
{
    grebe_error err = {0};
    const int8_t bytes[3][3] = {{1, 2, 2}, {-4, 0, 3}, {9, 9, 9}};
    const struct vector_rows view = {bytes, 3, 3, 3, VECTOR_I8};
    const uint32_t positions[3] = {2, 1, 0};
    struct tile_rows t;

    (void)state;
    assert_ok(tile_rows_init(mem_system(), 3, 2, &t, &err));
    assert_int_equal(t.capacity, TILE_PANEL);
    tile_rows_fill(&t, &view, positions, 1, 2);
    assert_true(t.norms[0] == 25 && t.norms[1] == 9 && t.norms[2] == 0);
    assert_true(t.panels[0] == -4 && t.panels[1] == 1 && t.panels[2] == 0);
    assert_true(t.panels[2 * TILE_PANEL] == 3 && t.panels[2 * TILE_PANEL + 1] == 2);
    assert_true(t.norm_max >= 5 && t.norm_max < 5.001f);
    tile_rows_release(&t);
    assert_fails(tile_rows_init(mem_system(), 0, 2, &t, &err), GREBE_ELIMIT, "0 components");
    assert_fails(tile_rows_init(mem_system(), UINT32_MAX, UINT64_MAX / 2, &t, &err), GREBE_ELIMIT, "panels");
}

static void test_tile_rows__no_memory__nothing_kept(void **state)
{
    (void)state;
    for (size_t fail_at = 1; fail_at <= 4; fail_at++) {
        struct test_allocator a;
        struct tile_rows t;
        grebe_error err = {0};

        test_allocator_init(&a);
        a.fail_at = fail_at;
        if (tile_rows_init(&a.a, 8, 100, &t, &err) == GREBE_OK) {
            assert_int_equal(fail_at, 4);
            tile_rows_release(&t);
        } else {
            assert_int_equal(err.status, GREBE_ENOMEM);
        }
        assert_int_equal(a.live_bytes, 0);
    }
}

static void test_tile_kernels__variants__same_hits(void **state)
{
    enum { DIM = 37 };
    uint64_t seed = test_seed();
    const struct tile_kernels *fast = tile_kernels_of(CPU_AVX2);
    float *panel = random_rows(TILE_PANEL, DIM, &seed), *queries = random_rows(TILE_QUERIES, DIM, &seed);
    float norms[TILE_PANEL], limits[TILE_QUERIES], x[TILE_QUERIES * TILE_PANEL] = {0}, y[TILE_QUERIES * TILE_PANEL] = {0};
    const float *group[TILE_QUERIES];
    uint16_t mx[TILE_QUERIES], my[TILE_QUERIES];

    (void)state;
    if (fast == NULL) {
        skip();
    }
    for (size_t r = 0; r < TILE_PANEL; r++) {
        norms[r] = random_component(&seed);
    }
    for (size_t n = 1; n <= TILE_QUERIES; n++) {
        for (size_t q = 0; q < n; q++) {
            group[q] = queries + q * DIM;
            limits[q] = q == 2 ? INFINITY : q == 3 ? -INFINITY : 0.3f;
        }
        panel[5] = NAN;
        assert_true(tile_kernels_scalar.panel(panel, norms, DIM, group, n, limits, x, mx) ==
                    fast->panel(panel, norms, DIM, group, n, limits, y, my));
        assert_memory_equal(mx, my, n * sizeof *mx);
        for (size_t q = 0; q < n; q++) {
            assert_int_equal(mx[q] >> 5 & 1, 1); /* NaN is not above a limit */
            for (size_t r = 0; r < TILE_PANEL; r++) {
                if (mx[q] != 0 && r != 5) {
                    assert_true(fabsf(x[q * TILE_PANEL + r] - y[q * TILE_PANEL + r]) < 1e-4f);
                }
            }
        }
    }
    free(panel);
    free(queries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tile_search__shapes__all_rows_within_error),
        cmocka_unit_test(test_tile_search__k_nearest__same_as_exact_order),
        cmocka_unit_test(test_tile_rows__types_positions_and_padding),
        cmocka_unit_test(test_tile_rows__no_memory__nothing_kept),
        cmocka_unit_test(test_tile_kernels__variants__same_hits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
