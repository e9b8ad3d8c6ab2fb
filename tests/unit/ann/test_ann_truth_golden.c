/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "test_support.h"

/* Ground truth of files whose neighbours were computed by numpy in float64: the same rows, the same float32. */

static const char *const files[] = {
    "good/dense_angular_f32.hdf5",     "good/dense_angular_zero_rows.hdf5", "good/dense_ip_f32.hdf5",
    "good/dense_ip_i8.hdf5",           "good/dense_ip_i8_negated.hdf5",     "good/dense_l2_f32.hdf5",
    "good/dense_l2_i8.hdf5",           "good/dense_l2_labels.hdf5",         "good/labels_small.hdf5",
    "good/multi_vector_euclidean.hdf5", "good/multi_vector_ip.hdf5",        "good/sparse_ip.hdf5",
    "good/sparse_unsorted_ids.hdf5",   "storage/annb_hamming_bit.hdf5",     "storage/annb_jaccard.hdf5",
    "storage/float16_train.hdf5",
};

static void check_file(grebe_context *ctx, const char *name, uint32_t threads)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct ann_open_options options = {0};
    const struct call call = {.threads = threads, .memory_limit_bytes = UINT64_MAX};
    struct ann_dataset *d = NULL;
    int64_t *ids;
    float *distances;
    char path[600];
    size_t n;

    snprintf(path, sizeof path, TEST_DATA "/data/ann/%s", name);
    assert_ok(ann_dataset_open(ctx, path, &options, &call, &d, &err));
    n = (size_t)(d->test.n * d->k);
    ids = malloc(n * sizeof *ids);
    distances = malloc(n * sizeof *distances);
    memcpy(ids, d->neighbors, n * sizeof *ids);
    memcpy(distances, d->distances, n * sizeof *distances);
    assert_ok(ann_truth_fill(d, d->k, d->train.labels != NULL, &call, &err));
    for (size_t i = 0; i < n; i++) {
        if (ids[i] != d->neighbors[i] || distances[i] != d->distances[i]) {
            fail_msg("%s: query %zu, place %zu: expected %lld at %.9g, found %lld at %.9g", name, i / (size_t)d->k,
                     i % (size_t)d->k, (long long)ids[i], (double)distances[i], (long long)d->neighbors[i],
                     (double)d->distances[i]);
        }
    }
    free(ids);
    free(distances);
    ann_dataset_free(d);
}

static void test_truth__golden_files__numpy(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;

    (void)state;
    assert_ok(context_new(NULL, &ctx, &err));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        check_file(ctx, files[i], 1 + (uint32_t)(i % 3));
    }
    context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_truth__golden_files__numpy)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
