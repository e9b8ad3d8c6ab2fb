/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <math.h>
#include <stdlib.h>

#include "index/graph_codes.h"

enum { N = 61 };

static float *random_rows(size_t n, uint32_t dim, uint64_t *seed)
{
    float *x = malloc(n * dim * sizeof *x);
    for (size_t i = 0; i < n * dim; i++) {
        x[i] = (float)((double)(test_random(seed) % 2000001) / 1e6 - 1.0) + (float)(i % dim % 3) * 0.3f;
    }
    return x;
}

static void make(struct index_store *s, struct graph_codes *c, enum vector_metric metric, enum graph_quant quant,
                 const float *x, uint32_t dim)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct vector_rows rows = { x, dim * sizeof *x, N, dim, VECTOR_F32 };
    assert_ok(index_store_init(s, mem_system(), metric, VECTOR_F32, dim, &err));
    assert_ok(index_store_append(s, &rows, &err));
    assert_ok(graph_codes_init(c, s, quant, &err));
    bool is_anew = true;
    assert_ok(graph_codes_append(c, s, &is_anew, &err));
    assert_false(is_anew);
    assert_int_equal(c->n, N);
}

/* Every variant gives the bits of the scalar one, in both forms, for every number of rows and blocks. */
static void test_graph_codes__variants__equal(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    static const uint32_t dims[] = { 1, 31, 32, 33, 50, 64, 65, 96, 100, 128, 129, 200, 768 };
    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++) {
        float *x = random_rows(N, dims[d], &seed);
        float *wide = malloc(dims[d] * sizeof *wide);
        for (int m = 0; m < 4; m++) {
            struct index_store s;
            struct graph_codes c;
            struct graph_code_kernels scalar, fast;
            enum graph_quant quant = m / 2 == 0 ? GRAPH_QUANT_SQ8 : GRAPH_QUANT_SQ4;
            make(&s, &c, m % 2 == 0 ? VECTOR_L2SQ : VECTOR_IP, quant, x, dims[d]);
            assert_true(graph_code_kernels_of(CPU_SCALAR, quant, m % 2 == 0, &scalar));
            if (graph_code_kernels_of(CPU_AVX2, quant, m % 2 == 0, &fast)) {
                unsigned char *q = aligned_alloc(64, (c.query_bytes + 63) / 64 * 64);
                graph_codes_query(&c, VECTOR_F32, index_store_row(&s, 3), wide, q);
                for (size_t n = 0; n <= N; n += n < 9 ? 1 : 13) {
                    float a[N], b[N];
                    uint32_t ids[N];
                    for (uint32_t i = 0; i < n; i++) {
                        ids[i] = (uint32_t)(test_random(&seed) % N);
                    }
                    scalar.gather(q, c.rows, c.stride, ids, n, c.blocks, a);
                    fast.gather(q, c.rows, c.stride, ids, n, c.blocks, b);
                    assert_memory_equal(a, b, n * sizeof *a);
                    scalar.many(q, c.rows, c.stride, n, c.blocks, a);
                    fast.many(q, c.rows, c.stride, n, c.blocks, b);
                    assert_memory_equal(a, b, n * sizeof *a);
                }
                free(q);
            }
            graph_codes_release(&c);
            index_store_release(&s);
        }
        free(wide);
        free(x);
    }
}

/* A value is worth nearly the store's own distance; decoded rows are near the rows. */
static void test_graph_codes__worth__near_the_distance(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    const uint32_t dim = 70;
    float *x = random_rows(N, dim, &seed);
    float wide[70], decoded[70], exact[N], value[N];
    uint32_t ids[N];
    static const enum vector_metric metrics[] = { VECTOR_L2SQ, VECTOR_IP, VECTOR_COSINE };
    for (uint32_t i = 0; i < N; i++) {
        ids[i] = i;
    }
    for (int m = 0; m < 6; m++) {
        struct index_store s;
        struct graph_codes c;
        enum graph_quant quant = m < 3 ? GRAPH_QUANT_SQ8 : GRAPH_QUANT_SQ4;
        float factor = 0, offset = 0, bound = quant == GRAPH_QUANT_SQ8 ? 0.02f : 0.25f;
        make(&s, &c, metrics[m % 3], quant, x, dim);
        unsigned char *q = aligned_alloc(64, (c.query_bytes + 63) / 64 * 64);
        const void *row = index_store_row(&s, 5);
        graph_codes_query(&c, VECTOR_F32, row, wide, q);
        graph_codes_worth(&c, wide, &factor, &offset);
        c.kernels.gather(q, c.rows, c.stride, ids, N, c.blocks, value);
        s.ops->gather(row, s.rows, s.stride, ids, N, dim, exact);
        float span = 0;
        for (uint32_t i = 0; i < N; i++) {
            span = fabsf(exact[i]) > span ? fabsf(exact[i]) : span;
        }
        for (uint32_t i = 0; i < N; i++) {
            assert_true(fabsf(value[i] * factor + offset - exact[i]) <= bound * span);
        }
        graph_codes_decode(&c, c.rows + 7 * c.stride, decoded);
        const float *kept = index_store_row(&s, 7);
        for (uint32_t i = 0; i < dim; i++) {
            assert_true(fabsf(decoded[i] - kept[i]) <= 1.01f * 0.5f / c.scale ||
                        fabsf(decoded[i] - c.mean[i]) * c.scale > 6);
        }
        free(q);
        graph_codes_release(&c);
        index_store_release(&s);
    }
    free(x);
}

/* One value for every component: nothing to scale by. */
static void test_graph_codes__constant_rows__finite(void **state)
{
    (void)state;
    float x[N * 8], wide[8];
    for (int m = 0; m < 4; m++) {
        struct index_store s;
        struct graph_codes c;
        _Alignas(64) unsigned char q[256];
        float v = 0, factor, offset;
        uint32_t id = 1;
        for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
            x[i] = m < 2 ? 0.0f : 3.5f;
        }
        make(&s, &c, m % 2 == 0 ? VECTOR_EUCLIDEAN : VECTOR_COSINE, GRAPH_QUANT_SQ8, x, 8);
        assert_true(c.scale > 0 && isfinite(c.scale));
        assert_true(c.query_bytes <= sizeof q);
        graph_codes_query(&c, VECTOR_F32, index_store_row(&s, 0), wide, q);
        graph_codes_worth(&c, wide, &factor, &offset);
        c.kernels.gather(q, c.rows, c.stride, &id, 1, c.blocks, &v);
        assert_true(isfinite(v * factor + offset));
        graph_codes_release(&c);
        index_store_release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_codes__variants__equal),
        cmocka_unit_test(test_graph_codes__worth__near_the_distance),
        cmocka_unit_test(test_graph_codes__constant_rows__finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
