/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdlib.h>

#include "index/graph_entries.h"

enum { N = 40000, DIM = 8 };

struct fixture {
    struct index_store store;
    struct graph_codes codes;
    uint32_t *ids; /* a shuffle of 0…N */
    uint64_t seed;
};

static int set_up(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct fixture *f = calloc(1, sizeof *f);
    float *x = malloc((size_t)N * DIM * sizeof *x);
    bool is_anew;
    f->seed = test_seed();
    f->ids = malloc(N * sizeof *f->ids);
    for (size_t i = 0; i < (size_t)N * DIM; i++) {
        x[i] = (float)(test_random(&f->seed) % 1000) / 500 - 1;
    }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t at = (uint32_t)(test_random(&f->seed) % (i + 1));
        f->ids[i] = i;
        uint32_t kept = f->ids[at];
        f->ids[at] = i;
        f->ids[i] = kept;
    }
    struct vector_rows rows = { x, DIM * sizeof *x, N, DIM, VECTOR_F32 };
    assert_ok(index_store_init(&f->store, mem_system(), VECTOR_L2SQ, VECTOR_F32, DIM, &err));
    assert_ok(index_store_append(&f->store, &rows, &err));
    assert_ok(graph_codes_init(&f->codes, &f->store, GRAPH_QUANT_SQ8, &err));
    assert_ok(graph_codes_append(&f->codes, &f->store, &is_anew, &err));
    free(x);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    graph_codes_release(&f->codes);
    index_store_release(&f->store);
    free(f->ids);
    free(f);
    return 0;
}

static void check(const struct graph_entries *e, const struct graph_codes *c)
{
    assert_true(e->n <= e->room && e->n_groups <= GRAPH_PIVOTS_MAX && e->first[0] == 0);
    for (uint32_t g = 0; g < e->n_groups; g++) {
        assert_true(e->first[g] <= e->first[g + 1]);
    }
    assert_true(e->first[e->n_groups] <= e->n);
    for (uint32_t i = 0; i < e->n; i++) {
        assert_memory_equal(e->rows + (size_t)i * e->stride, c->rows + (size_t)e->ids[i] * e->stride, e->stride);
    }
}

/* Mean place, among all entries, of the first start. */
static double mean_place(struct fixture *f, const struct graph_entries *e)
{
    _Alignas(64) unsigned char code[64];
    float wide[DIM], d[1024];
    uint32_t starts[GRAPH_STARTS];
    size_t places = 0;
    assert_true(f->codes.query_bytes <= sizeof code && e->n <= 1024);
    for (uint32_t q = 0; q < 200; q++) {
        const void *query = graph_codes_query(&f->codes, VECTOR_F32, index_store_row(&f->store, q * 7), wide, code);
        uint32_t n = graph_entries_nearest(e, &f->codes, query, starts);
        assert_int_equal(n, e->n < GRAPH_STARTS ? e->n : GRAPH_STARTS);
        f->codes.kernels.many(query, e->rows, e->stride, e->n, f->codes.blocks, d);
        float best = 0;
        for (uint32_t i = 0; i < e->n; i++) {
            best = e->ids[i] == starts[0] ? d[i] : best;
        }
        for (uint32_t i = 0; i < e->n; i++) {
            places += d[i] < best;
        }
        for (uint32_t i = 1; i < n; i++) {
            assert_true(starts[i] < N && starts[i] != starts[i - 1]);
        }
    }
    return (double)places / 200;
}

static void test_graph_entries__grouped__nearly_the_nearest(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct graph_entries e = { 0 };
    assert_ok(graph_entries_reserve(&e, &f->codes, N, &err));
    graph_entries_add(&e, &f->codes, f->ids, N, N);
    assert_int_equal(e.n, 400);
    assert_true(graph_entries_are_loose(&e));
    check(&e, &f->codes);
    assert_true(mean_place(f, &e) == 0); /* no groups: all are measured */
    graph_entries_group(&e, &f->codes);
    check(&e, &f->codes);
    assert_int_equal(e.n_groups, 20);
    assert_int_equal(e.first[20], 400);
    assert_false(graph_entries_are_loose(&e));
    assert_true(mean_place(f, &e) < 1);
    graph_entries_release(&e, f->codes.a);
    graph_entries_release(&e, f->codes.a);
}

static void test_graph_entries__any_order__same_groups(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct graph_entries a = { 0 }, b = { 0 };
    assert_ok(graph_entries_reserve(&a, &f->codes, N, &err));
    assert_ok(graph_entries_reserve(&b, &f->codes, N, &err));
    graph_entries_add(&a, &f->codes, f->ids, 400, N);
    for (uint32_t i = 0; i < 400; i++) {
        graph_entries_add(&b, &f->codes, f->ids + 399 - i, 1, N);
        if (i == 300) {
            graph_entries_group(&b, &f->codes);
        }
    }
    assert_true(mean_place(f, &b) < 1); /* some in groups, some behind */
    graph_entries_group(&a, &f->codes);
    graph_entries_group(&b, &f->codes);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.ids, b.ids, a.n * sizeof *a.ids);
    assert_memory_equal(a.first, b.first, (a.n_groups + 1) * sizeof *a.first);
    graph_entries_cut(&a, &f->codes, N / 2);
    check(&a, &f->codes);
    assert_true(a.n > 100 && a.n < 300);
    for (uint32_t i = 0; i < a.n; i++) {
        assert_true(a.ids[i] < N / 2);
    }
    graph_entries_copy(&b, &f->codes, &a);
    check(&b, &f->codes);
    assert_int_equal(b.n, a.n);
    graph_entries_release(&a, f->codes.a);
    graph_entries_release(&b, f->codes.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_graph_entries__grouped__nearly_the_nearest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_graph_entries__any_order__same_groups, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
