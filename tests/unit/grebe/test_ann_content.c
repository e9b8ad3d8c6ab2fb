/* SPDX-License-Identifier: Apache-2.0 */
/* What callers of grebe/ann.h bring: refused by name before anything is read, or written, beyond it. */
#include "test_support.h"

#include <math.h>
#include <stdio.h>

#include "base/context_internal.h"
#include "grebe/ann.h"

enum { N = 20, DIM = 4 };

static float rows[N][DIM];

static grebe_ann_content dense(void)
{
    grebe_ann_content c = GREBE_ANN_CONTENT_INIT;
    for (int i = 0; i < N * DIM; i++) {
        rows[i / DIM][i % DIM] = (float)(i * 7 % 11);
    }
    c.distance = "ip";
    c.base.n = N;
    c.queries.n = 1;
    c.base.dim = c.queries.dim = DIM;
    c.base.vectors = c.queries.vectors = rows;
    return c;
}

static grebe_context *new_context(void)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    assert_ok(context_new(NULL, &ctx, &err));
    return ctx;
}

static void refused(grebe_context *ctx, const grebe_ann_content *c, uint64_t k, const char *message)
{
    grebe_error err = GREBE_ERROR_INIT;
    int64_t ids[4] = { -7, -7, -7, -7 };
    float distances[4] = { 0 };
    assert_fails(grebe_ann_groundtruth(ctx, c, k, false, NULL, ids, distances, &err), GREBE_EINVAL, message);
    assert_true(ids[0] == -7 && ids[3] == -7);
}

static void test_truth__no_columns_or_unknown_numbers__refused(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = new_context();
    grebe_ann_content c = dense();
    int64_t ids[2] = { -7, -7 };
    float distances[2];
    refused(ctx, &c, 0, "k != 0"); /* the arrays of the caller have k columns: no default for none */
    c.base.elem = c.queries.elem = (grebe_elem)99;
    refused(ctx, &c, 1, "elem: expected");
    c = dense();
    c.layout = (grebe_ann_layout)99;
    refused(ctx, &c, 1, "layout: expected");
    c = dense();
    assert_ok(grebe_ann_groundtruth(ctx, &c, 1, false, NULL, ids, distances, &err));
    assert_true(ids[0] >= 0 && ids[1] == -7);
    rows[7][3] = NAN;
    refused(ctx, &c, 1, "base: vector 7, component 3: expected a finite number, found NaN");
    context_free(ctx);
}

static void test_truth__terms_and_tokens_out_of_order__refused(void **state)
{
    (void)state;
    static const int64_t offsets[] = { 0, 2, 3 }, mid_beyond[] = { 0, 900000, 3 };
    static const uint32_t terms[] = { 1, 5, 2 }, twice[] = { 5, 5, 2 };
    static const float values[] = { 1, 2, 3 }, infinite[] = { 1, 2, INFINITY };
    grebe_context *ctx = new_context();
    grebe_ann_content good = GREBE_ANN_CONTENT_INIT;
    good.layout = GREBE_ANN_SPARSE;
    good.distance = "ip";
    good.base = (grebe_ann_side){ .n = 2, .offsets = offsets, .terms = terms, .values = values };
    good.queries = good.base;
    grebe_ann_content c = good;
    c.base.terms = twice;
    refused(ctx, &c, 1, "base: row 0: expected ascending terms, found 5 after 5");
    c = good;
    c.queries.values = infinite;
    refused(ctx, &c, 1, "queries: row 1, term 2: expected a finite number");
    c = good;
    c.base.offsets = mid_beyond;
    refused(ctx, &c, 1, "base: expected offsets that ascend from 0, found 3 at 2");
    c = good;
    c.base.token_offsets = mid_beyond;
    c.base.tokens = terms;
    refused(ctx, &c, 1, "base: expected offsets of tokens that ascend from 0, found 3 at 2");
    c.base.token_offsets = offsets;
    c.base.tokens = NULL;
    refused(ctx, &c, 1, "base: expected tokens");
    context_free(ctx);
}

static void test_open__unknown_profile__refused(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = new_context();
    grebe_ann_read_options o = GREBE_ANN_READ_OPTIONS_INIT;
    grebe_ann_data *data = NULL;
    uint64_t n_errors = 0;
    const char *path = TEST_DATA "/data/ann/good/small_l2.hdf5";
    o.profile = (grebe_ann_profile)99;
    assert_fails(grebe_ann_open(ctx, path, &o, &data, &err), GREBE_EINVAL, "profile");
    assert_fails(grebe_ann_check(ctx, path, &o, &n_errors, &err), GREBE_EINVAL, "profile");
    o.profile = GREBE_ANN_VSAG;
    assert_ok(grebe_ann_open(ctx, path, &o, &data, &err));
    grebe_ann_close(data);
    context_free(ctx);
}

static void test_make__by_rows__content_goes_on(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = new_context();
    char path[512], *folder = test_folder_new();
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_ann_content c = dense(), in_file = GREBE_ANN_CONTENT_INIT;
    grebe_ann_read_options o = GREBE_ANN_READ_OPTIONS_INIT;
    grebe_ann_data *data = NULL;
    int64_t ids[2] = { -7, -7 }, other[2];
    float distances[2], far[2];
    call.memory_limit_bytes = 2 * sizeof rows - 1;
    assert_ok(grebe_ann_groundtruth(ctx, &c, 2, false, NULL, ids, distances, &err));
    c.k = 2;
    c.neighbors = ids;
    c.distances = distances;
    snprintf(path, sizeof path, "%s/x-ip.hdf5", folder);
    assert_ok(grebe_ann_write(ctx, path, &c, false, NULL, &err));
    o.call = &call;
    assert_ok(grebe_ann_open(ctx, path, &o, &data, &err)); /* not asked for: in memory as long as it fits the limit */
    assert_ok(grebe_ann_content_of(data, &in_file, &err));
    assert_true(in_file.base.vectors != NULL && in_file.base_rows_of == NULL);
    grebe_ann_close(data);
    o.is_base_by_rows = true;
    assert_ok(grebe_ann_open(ctx, path, &o, &data, &err));
    assert_ok(grebe_ann_content_of(data, &in_file, &err));
    assert_true(in_file.base.vectors == NULL && in_file.base_rows_of == data && in_file.base.n == N);
    assert_ok(grebe_ann_groundtruth(ctx, &in_file, 2, false, &call, other, far, &err));
    assert_memory_equal(ids, other, sizeof ids);
    assert_memory_equal(distances, far, sizeof far);
    in_file.base.n--;
    assert_fails(grebe_ann_groundtruth(ctx, &in_file, 2, false, &call, other, far, &err), GREBE_EINVAL,
                 "base_rows_of: expected 19 rows of 4 components, found 20 of 4");
    in_file.base.n++;
    in_file.base_rows_of = NULL;
    assert_fails(grebe_ann_groundtruth(ctx, &in_file, 2, false, &call, other, far, &err), GREBE_EINVAL, "base: expected rows");
    grebe_ann_close(data);
    test_folder_remove(folder);
    context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truth__no_columns_or_unknown_numbers__refused),
        cmocka_unit_test(test_open__unknown_profile__refused),
        cmocka_unit_test(test_make__by_rows__content_goes_on),
        cmocka_unit_test(test_truth__terms_and_tokens_out_of_order__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
