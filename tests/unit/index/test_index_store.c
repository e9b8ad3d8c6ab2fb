/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/half.h"
#include "index/index_store.h"

static grebe_status append(struct index_store *s, enum vector_elem elem, const void *rows, uint64_t n, uint32_t dim,
                           grebe_error *err)
{
    struct vector_rows r = { rows, vector_row_bytes(elem, dim), n, dim, elem };
    return index_store_append(s, &r, err);
}

static void test_index_store__rows_of_one_type__kept_and_padded(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_store s;
    float x[7 * 5];
    for (size_t i = 0; i < 35; i++) {
        x[i] = (float)i;
    }
    assert_ok(index_store_init(&s, mem_system(), VECTOR_L2SQ, VECTOR_F32, 5, &err));
    assert_int_equal(s.stride, 64);
    for (uint32_t i = 0; i < 7; i++) { /* grows by doubling */
        assert_ok(append(&s, VECTOR_F32, x + i * 5, 1, 5, &err));
    }
    assert_int_equal(s.n, 7);
    for (uint32_t i = 0; i < 7; i++) {
        const float *row = index_store_row(&s, i);
        assert_int_equal((uintptr_t)row % 64, 0);
        assert_memory_equal(row, x + i * 5, 20);
        for (size_t c = 5; c < 16; c++) {
            assert_true(row[c] == 0);
        }
    }
    index_store_release(&s);
    index_store_release(&s);
}

static void test_index_store__angular__unit_rows(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_store s;
    static const float x[6] = { 3, 4, 0, 0, 0, 2 };
    static const int8_t i8[4] = { 3, -4, 0, 0 };
    _Alignas(64) float q[16];
    assert_ok(index_store_init(&s, mem_system(), VECTOR_COSINE, VECTOR_F32, 2, &err));
    assert_ok(append(&s, VECTOR_F32, x, 3, 2, &err));
    const float *row = index_store_row(&s, 0);
    assert_true(row[0] == 0.6f && row[1] == 0.8f);
    row = index_store_row(&s, 1);
    assert_true(row[0] == 0 && row[1] == 0);
    struct vector_rows r = { x, 8, 3, 2, VECTOR_F32 };
    assert_ok(index_store_query(&s, &r, 2, q, &err));
    assert_true(q[0] == 0 && q[1] == 1 && q[2] == 0);
    static const float far[2] = { 3e38f, 3e38f };
    assert_fails(append(&s, VECTOR_F32, far, 1, 2, &err), GREBE_EINVAL, "finite length");
    assert_int_equal(s.n, 3);
    index_store_release(&s);
    /* integers cannot be unit length: kept as floats */
    assert_ok(index_store_init(&s, mem_system(), VECTOR_COSINE, VECTOR_I8, 2, &err));
    assert_int_equal(s.elem, VECTOR_F32);
    assert_ok(append(&s, VECTOR_I8, i8, 2, 2, &err));
    row = index_store_row(&s, 0);
    assert_true(row[0] == 0.6f && row[1] == -0.8f);
    index_store_release(&s);
}

static void test_index_store__other_types__converted_or_refused(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_store s;
    static const float whole[2] = { -128, 127 }, half[2] = { 0.5f, 1 }, large[2] = { 128, 1 }, huge[2] = { 70000, 1 };
    static const double wide[2] = { 0.25, -3 };
    assert_ok(index_store_init(&s, mem_system(), VECTOR_IP, VECTOR_I8, 2, &err));
    assert_ok(append(&s, VECTOR_F32, whole, 1, 2, &err));
    assert_int_equal(((const int8_t *)index_store_row(&s, 0))[0], -128);
    assert_fails(append(&s, VECTOR_F32, half, 1, 2, &err), GREBE_EINVAL, "component 0: 0.5 has no place in");
    assert_fails(append(&s, VECTOR_F32, large, 1, 2, &err), GREBE_EINVAL, "128");
    assert_int_equal(s.n, 1);
    index_store_release(&s);
    assert_ok(index_store_init(&s, mem_system(), VECTOR_L2SQ, VECTOR_U8, 2, &err));
    assert_fails(append(&s, VECTOR_F32, whole, 1, 2, &err), GREBE_EINVAL, "-128");
    index_store_release(&s);
    assert_ok(index_store_init(&s, mem_system(), VECTOR_L2SQ, VECTOR_F16, 2, &err));
    assert_ok(append(&s, VECTOR_F32, half, 1, 2, &err));
    assert_int_equal(((const uint16_t *)index_store_row(&s, 0))[0], half_from_float(0.5f));
    assert_fails(append(&s, VECTOR_F32, huge, 1, 2, &err), GREBE_EINVAL, "70000");
    index_store_release(&s);
    assert_ok(index_store_init(&s, mem_system(), VECTOR_IP, VECTOR_F32, 2, &err));
    assert_ok(append(&s, VECTOR_F64, wide, 1, 2, &err));
    assert_true(((const float *)index_store_row(&s, 0))[1] == -3);
    assert_fails(append(&s, VECTOR_F32, whole, 1, 1, &err), GREBE_ESCHEMA, "1 components: expected 2");
    assert_fails(append(&s, VECTOR_BIT, whole, 1, 2, &err), GREBE_ESCHEMA, "expected float32");
    index_store_release(&s);
}

static void test_index_store__no_such_distance__refused(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_store s;
    assert_fails(index_store_init(&s, mem_system(), VECTOR_IP, VECTOR_F32, 0, &err), GREBE_EINVAL, "0 components");
    assert_fails(index_store_init(&s, mem_system(), VECTOR_IP, VECTOR_F32, INDEX_DIM_MAX + 1, &err), GREBE_EINVAL,
                 "65537");
    assert_fails(index_store_init(&s, mem_system(), VECTOR_L2SQ, VECTOR_I8, VECTOR_INT_DIM_MAX + 1, &err), GREBE_EINVAL,
                 "33001");
    assert_fails(index_store_init(&s, mem_system(), VECTOR_HAMMING, VECTOR_F32, 8, &err), GREBE_EINVAL, "hamming");
    assert_fails(index_store_init(&s, mem_system(), VECTOR_L2SQ, VECTOR_BIT, 8, &err), GREBE_EINVAL, "no distance");
    assert_fails(index_store_init(&s, mem_system(), (enum vector_metric)77, VECTOR_F32, 8, &err), GREBE_EINVAL,
                 "unknown");
}

static void test_index_store__saved__loaded_and_grown(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    struct index_store s, t;
    struct index_writer *w = NULL;
    struct index_file *f = NULL;
    char *folder = test_folder_new(), path[500];
    static const float x[6] = { 1, 2, 3, 4, 5, 6 };
    struct index_config c = { .metric = VECTOR_L2SQ, .elem = VECTOR_F32, .dim = 3 };
    snprintf(path, sizeof path, "%s/x", folder);
    assert_ok(context_new(NULL, &ctx, &err));
    assert_ok(index_store_init(&s, ctx->a, VECTOR_L2SQ, VECTOR_F32, 3, &err));
    assert_ok(append(&s, VECTOR_F32, x, 2, 3, &err));
    assert_ok(index_writer_open(ctx, path, false, &w, &err));
    assert_ok(index_store_save(&s, w, &err));
    assert_ok(index_writer_finish(w, &err));
    index_writer_close(w);
    index_store_release(&s);
    assert_ok(index_file_open(ctx, path, true, &f, &err));
    assert_fails(index_store_load(&t, ctx->a, &c, f, 3, &err), GREBE_ECORRUPT, "expected 192 bytes, found 128");
    struct index_config wide = c;
    wide.dim = INDEX_DIM_MAX + 1;
    assert_fails(index_store_load(&t, ctx->a, &wide, f, 2, &err), GREBE_ECORRUPT, "65537 components");
    assert_ok(index_store_load(&t, ctx->a, &c, f, 2, &err));
    assert_memory_equal(index_store_row(&t, 1), x + 3, 12);
    assert_null(t.owned);
    assert_ok(append(&t, VECTOR_F32, x, 1, 3, &err)); /* into memory of its own */
    assert_non_null(t.owned);
    index_file_close(f);
    assert_memory_equal(index_store_row(&t, 1), x + 3, 12);
    assert_memory_equal(index_store_row(&t, 2), x, 12);
    index_store_release(&t);
    context_free(ctx);
    test_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_store__rows_of_one_type__kept_and_padded),
        cmocka_unit_test(test_index_store__angular__unit_rows),
        cmocka_unit_test(test_index_store__other_types__converted_or_refused),
        cmocka_unit_test(test_index_store__no_such_distance__refused),
        cmocka_unit_test(test_index_store__saved__loaded_and_grown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
