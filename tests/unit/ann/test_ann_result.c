/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hdf5/hdf5_file.h"
#include "test_support.h"

static const struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };

static void fill(struct ann_result *r)
{
    for (uint64_t i = 0; i < r->n * r->width; i++) {
        r->ids[i] = i % 5 == 4 ? -1 : (int64_t)i * 3;
        if (r->distances != NULL) {
            r->distances[i] = i % 5 == 4 ? INFINITY : (float)i / 2;
        }
    }
    for (uint64_t i = 0; r->times != NULL && i < r->n; i++) {
        r->times[i] = (double)(float)(0.001 * (double)(i + 1));
    }
}

static void test_result__written_and_read__the_same(void **state)
{
    static const char *const names[] = { "x.hdf5", "x.npy", "x.ivecs", "x.ibin" };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    char *folder = test_folder_new(), path[600];
    struct ann_result r, s;
    (void)state;
    assert_ok(context_new(NULL, &ctx, &err));
    ann_result_init(&r, ctx);
    assert_ok(ann_result_alloc(&r, 7, 5, true, true, &err));
    fill(&r);
    strcpy(r.algo, "grebe");
    strcpy(r.distance, "angular");
    r.build_seconds = 1.25;
    r.index_kb = 17.5;
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_ok(ann_result_write(&r, path, &err));
        assert_ok(ann_result_read(ctx, path, &call, &s, &err));
        assert_true(s.n == 7 && s.width == 5);
        assert_memory_equal(s.ids, r.ids, 35 * sizeof *r.ids);
        assert_true((s.times != NULL) == (i == 0) && (s.distances != NULL) == (i == 0));
        if (i == 0) {
            assert_memory_equal(s.distances, r.distances, 35 * sizeof *r.distances);
            assert_memory_equal(s.times, r.times, 7 * sizeof *r.times);
            assert_string_equal(s.algo, "grebe");
            assert_string_equal(s.distance, "angular");
            assert_true(s.build_seconds == 1.25 && s.index_kb == 17.5 && s.count == 5 && isnan(s.candidates));
        }
        ann_result_release(&s);
        ann_result_release(&s);
    }
    for (size_t i = 0; i < 3; i++) {
        r.times[4] = (const double[]){ -0.5, (double)NAN, (double)INFINITY }[i];
        snprintf(path, sizeof path, "%s/x.hdf5", folder);
        assert_ok(ann_result_write(&r, path, &err));
        assert_fails(ann_result_read(ctx, path, &call, &s, &err), GREBE_ECORRUPT, "times[4]: expected seconds, found");
        ann_result_release(&s);
    }
    snprintf(path, sizeof path, "%s/x.csv", folder);
    assert_fails(ann_result_write(&r, path, &err), GREBE_EUNSUPPORTED, ".npy");
    r.ids[0] = (int64_t)1 << 31;
    snprintf(path, sizeof path, "%s/x.ivecs", folder);
    assert_fails(ann_result_write(&r, path, &err), GREBE_EINVAL, "2147483648");
    ann_result_release(&r);
    context_free(ctx);
    test_folder_remove(folder);
}

/* Attributes in the forms that h5py writes, and data sets that do not fit each other. */
static void put(struct hdf5_writer *w, const char *name, enum hdf5_class cls, uint64_t rows, uint64_t columns, const void *p)
{
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(hdf5_write_begin(w, name, cls, 4, rows, columns, &err));
    assert_ok(hdf5_write_rows(w, 0, rows, p, &err));
    assert_ok(hdf5_write_end(w, &err));
}

static void write_file(grebe_context *ctx, const char *path, uint64_t rows, uint64_t times, uint64_t columns, bool is_float)
{
    static const int32_t ids[24] = { 1, 2, 3 };
    static const float floats[24] = { 1, 2, 3 };
    grebe_error err = GREBE_ERROR_INIT;
    struct hdf5_writer *w = NULL;
    assert_ok(hdf5_writer_open(ctx, path, &w, &err));
    assert_ok(hdf5_write_int(w, "best_search_time", 2, false, &err)); /* an integer where a float is usual */
    assert_ok(hdf5_write_real(w, "count", 3.0, &err));
    assert_ok(hdf5_write_text(w, "build_time", "long", &err)); /* no number: not known */
    put(w, "neighbors", is_float ? HDF5_FLOAT : HDF5_INT, 4, 3, is_float ? (const void *)floats : ids);
    put(w, "distances", HDF5_FLOAT, rows, columns, floats);
    put(w, "times", HDF5_FLOAT, times, 0, floats);
    assert_ok(hdf5_writer_finish(w, false, &err));
    hdf5_writer_close(w);
}

static void test_result__hdf5_forms__read_or_named(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    char *folder = test_folder_new(), path[600];
    struct ann_result r;
    (void)state;
    assert_ok(context_new(NULL, &ctx, &err));
    snprintf(path, sizeof path, "%s/x.hdf5", folder);
    write_file(ctx, path, 4, 4, 3, false);
    assert_ok(ann_result_read(ctx, path, &call, &r, &err));
    assert_true(r.best_search_seconds == 2 && r.count == 3 && isnan(r.build_seconds));
    ann_result_release(&r);
    const struct call small = { .threads = 1, .memory_limit_bytes = 100 };
    assert_fails(ann_result_read(ctx, path, &small, &r, &err), GREBE_ELIMIT, "the limit is 100");
    ann_result_release(&r);
    write_file(ctx, path, 3, 4, 3, false);
    assert_fails(ann_result_read(ctx, path, &call, &r, &err), GREBE_ECORRUPT, "distances: expected 4 x 3, found 3 x 3");
    ann_result_release(&r);
    write_file(ctx, path, 4, 5, 3, false);
    assert_fails(ann_result_read(ctx, path, &call, &r, &err), GREBE_ECORRUPT, "times");
    ann_result_release(&r);
    write_file(ctx, path, 4, 4, 3, true);
    assert_fails(ann_result_read(ctx, path, &call, &r, &err), GREBE_ESCHEMA, "neighbors: expected integers");
    ann_result_release(&r);
    assert_fails(ann_result_read(ctx, TEST_DATA "/data/ann/bad/missing_neighbors.hdf5", &call, &r, &err), GREBE_ECORRUPT, "neighbors");
    ann_result_release(&r);
    test_write_file(path, "no HDF5 at all", 14);
    assert_fails(ann_result_read(ctx, path, &call, &r, &err), GREBE_ECORRUPT, "");
    ann_result_release(&r);
    snprintf(path, sizeof path, "%s/x.fvecs", folder);
    test_write_file(path, "\1\0\0\0\0\0\0\0", 8);
    assert_fails(ann_result_read(ctx, path, &call, &r, &err), GREBE_ECORRUPT, "expected ids of neighbours, found fvecs");
    ann_result_release(&r);
    snprintf(path, sizeof path, "%s/none.npy", folder);
    assert_fails(ann_result_read(ctx, path, &call, &r, &err), GREBE_ENOTFOUND, "none.npy");
    ann_result_release(&r);
    context_free(ctx);
    test_folder_remove(folder);
}

static void test_result__every_allocation_fails__told(void **state)
{
    static const char *const names[] = { "hdf5", "npy", "ivecs" };
    grebe_error err = GREBE_ERROR_INIT;
    char path[600];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, TEST_DATA "/data/ann/result/some_wrong.%s", names[i]);
        grebe_status st = GREBE_ENOMEM;
        for (size_t at = 1; st != GREBE_OK; at++) {
            struct test_allocator t;
            grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
            grebe_context *ctx = NULL;
            struct ann_result r;
            test_allocator_init(&t);
            o.allocator = &t.a;
            assert_ok(context_new(&o, &ctx, &err));
            t.fail_at = t.n_calls + at;
            st = ann_result_read(ctx, path, &call, &r, &err);
            t.fail_at = 0;
            ann_result_release(&r);
            context_free(ctx);
            assert_int_equal(t.n_live, 0);
            if (st != GREBE_OK) {
                assert_int_equal(st, GREBE_ENOMEM);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result__written_and_read__the_same),
        cmocka_unit_test(test_result__hdf5_forms__read_or_named),
        cmocka_unit_test(test_result__every_allocation_fails__told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
