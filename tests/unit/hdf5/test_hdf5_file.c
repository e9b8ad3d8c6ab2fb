/* SPDX-License-Identifier: Apache-2.0 */
#include "hdf5/hdf5_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/endian.h"
#include "hdf5/hdf5_lzf.h"
#include "test_support.h"

static grebe_context *ctx;
static grebe_error err;

static int setup(void **state)
{
    (void)state;
    return context_new(NULL, &ctx, &err) == GREBE_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    context_free(ctx);
    return 0;
}

static const char *data_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, TEST_DATA "/data/ann/%s", name);
    return path;
}

/* The values of a data set as the memory type. Free with free(). */
static void *values(const char *file, const char *name, enum hdf5_memory memory, size_t *n)
{
    struct hdf5_file *f = NULL;
    assert_ok(hdf5_open(ctx, data_path(file), &f, &err));
    const struct hdf5_data *d = hdf5_find(f, name);
    assert_non_null(d);
    *n = (size_t)(d->shape[0] * d->shape[1]);
    void *dst = malloc(*n * 8 + 1);
    assert_non_null(dst);
    assert_ok(hdf5_read(f, d, 0, d->shape[0], memory, dst, &err));
    hdf5_close(f);
    return dst;
}

static void test_read__same_content_stored_otherwise__same_values(void **state)
{
    (void)state;
    static const char *const files[] = { "attr_fixed_nullpad", "attr_fixed_nullterm", "attr_fixed_spacepad",
                                         "attr_one_element",   "attr_utf8",           "big_endian",
                                         "chunked_gzip_shuffle", "chunked_lzf",       "extra_members",
                                         "float16_train",      "latest",              "user_block" };
    static const char *const names[] = { "train", "test", "distances", "neighbors" };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "storage/%s.hdf5", files[i]);
        for (size_t j = 0; j < 4; j++) {
            size_t n = 0, m = 0;
            enum hdf5_memory memory = j == 3 ? HDF5_AS_I64 : HDF5_AS_F32;
            void *x = values("good/dense_l2_f32.hdf5", names[j], memory, &n), *y = values(path, names[j], memory, &m);
            assert_int_equal(n, m);
            assert_memory_equal(x, y, n * (j == 3 ? 8 : 4));
            free(x);
            free(y);
        }
        struct hdf5_file *f = NULL;
        struct buf text = BUF_INIT(ctx->a);
        enum hdf5_text_form form;
        assert_ok(hdf5_open(ctx, data_path(path), &f, &err));
        assert_ok(hdf5_text(f, "distance", &text, &form, &err));
        assert_string_equal(buf_text(&text), "euclidean");
        assert_int_equal(form, strstr(path, "spacepad") != NULL ? HDF5_TEXT_SPACE_PADDED : HDF5_TEXT_PLAIN);
        assert_fails(hdf5_text(f, "nothing", &text, &form, &err), GREBE_ENOTFOUND, "attribute nothing is missing");
        hdf5_close(f);
        buf_release(&text);
    }
}

static void test_read__blocks_of_rows__same_as_whole(void **state)
{
    (void)state;
    static const char *const files[] = { "good/dense_l2_f32.hdf5", "storage/chunked_gzip_shuffle.hdf5",
                                         "storage/big_endian.hdf5", "storage/float16_train.hdf5" };
    for (size_t i = 0; i < 4; i++) {
        struct hdf5_file *f = NULL;
        assert_ok(hdf5_open(ctx, data_path(files[i]), &f, &err));
        const struct hdf5_data *d = hdf5_find(f, "train");
        float whole[600 * 32], part[600 * 32];
        assert_int_equal(d->shape[0] * d->shape[1], 600 * 32);
        assert_ok(hdf5_read(f, d, 0, 600, HDF5_AS_F32, whole, &err));
        for (uint64_t at = 0; at < 600; at += 7) {
            uint64_t n = at + 7 > 600 ? 600 - at : 7;
            assert_ok(hdf5_read(f, d, at, n, HDF5_AS_F32, part + at * 32, &err));
        }
        assert_memory_equal(whole, part, sizeof whole);
        assert_fails(hdf5_read(f, d, 599, 2, HDF5_AS_F32, part, &err), GREBE_EINVAL, "below 600");
        assert_fails(hdf5_read(f, d, 0, 1, HDF5_AS_I64, part, &err), GREBE_ESCHEMA, "expected integers");
        hdf5_close(f);
    }
}

static void test_open__bad_files__named(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        grebe_status status;
        const char *fragment;
    } cases[] = { { "bad/empty_file.hdf5", GREBE_ECORRUPT, "not HDF5" },
                  { "bad/not_hdf5.hdf5", GREBE_ECORRUPT, "not HDF5" },
                  { "bad/signature_flipped.hdf5", GREBE_ECORRUPT, "not HDF5" },
                  { "bad/superblock_version_9.hdf5", GREBE_EUNSUPPORTED, "superblock" },
                  { "bad/truncated_64.hdf5", GREBE_ECORRUPT, "truncated file" },
                  { "bad/truncated_half.hdf5", GREBE_ECORRUPT, "truncated file" },
                  { "bad/truncated_last_byte.hdf5", GREBE_ECORRUPT, "truncated file" },
                  { "bad/group_tree_broken.hdf5", GREBE_ECORRUPT, "HDF5 structure damaged" },
                  { "bad/nowhere.hdf5", GREBE_ENOTFOUND, "nowhere" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hdf5_file *f = NULL;
        assert_fails(hdf5_open(ctx, data_path(cases[i].name), &f, &err), cases[i].status, cases[i].fragment);
        assert_null(f);
    }
}

static void test_attributes__wrong_forms__named(void **state)
{
    (void)state;
    struct hdf5_file *f = NULL;
    struct buf text = BUF_INIT(ctx->a);
    int64_t n = 0;
    assert_ok(hdf5_open(ctx, data_path("bad/distance_is_integer.hdf5"), &f, &err));
    assert_fails(hdf5_text(f, "distance", &text, NULL, &err), GREBE_ECORRUPT, "attribute distance is not a string");
    hdf5_close(f);
    assert_ok(hdf5_open(ctx, data_path("bad/distance_two_strings.hdf5"), &f, &err));
    assert_fails(hdf5_text(f, "distance", &text, NULL, &err), GREBE_ECORRUPT, "has 2 elements");
    assert_fails(hdf5_int(f, "distance", &n, &err), GREBE_ECORRUPT, "has 2 elements");
    hdf5_close(f);
    assert_ok(hdf5_open(ctx, data_path("good/multi_vector_ip.hdf5"), &f, &err));
    assert_ok(hdf5_int(f, "multi_vector_dim", &n, &err));
    assert_int_equal(n, 16);
    assert_fails(hdf5_int(f, "distance", &n, &err), GREBE_ECORRUPT, "not an integer");
    hdf5_close(f);
    buf_release(&text);
}

static void test_types__unusual__named_and_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file, *type;
        enum hdf5_class cls;
    } cases[] = { { "bad/train_compound.hdf5", "compound", HDF5_OTHER },
                  { "bad/train_string.hdf5", "string", HDF5_STRING },
                  { "bad/train_bool.hdf5", "enumeration (bool)", HDF5_BOOL },
                  { "bad/train_uint8.hdf5", "uint8", HDF5_UINT },
                  { "bad/train_int16.hdf5", "int16", HDF5_INT },
                  { "storage/float16_train.hdf5", "float16", HDF5_FLOAT } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hdf5_file *f = NULL;
        unsigned char row[4096];
        assert_ok(hdf5_open(ctx, data_path(cases[i].file), &f, &err));
        const struct hdf5_data *d = hdf5_find(f, "train");
        assert_non_null(d);
        assert_string_equal(d->type_name, cases[i].type);
        assert_int_equal(d->cls, cases[i].cls);
        if (d->cls == HDF5_OTHER || d->cls == HDF5_STRING) {
            assert_fails(hdf5_read(f, d, 0, 1, HDF5_RAW, row, &err), GREBE_ESCHEMA, cases[i].type);
        } else {
            assert_ok(hdf5_read(f, d, 0, 1, HDF5_RAW, row, &err));
        }
        if (strcmp(cases[i].type, "uint8") == 0) {
            assert_int_equal(row[0], 200);
            int64_t wide[64];
            assert_ok(hdf5_read(f, d, 0, 1, HDF5_AS_I64, wide, &err));
            assert_int_equal(wide[0], 200);
        }
        hdf5_close(f);
    }
}

static void test_claims__beyond_the_file__nothing_allocated(void **state)
{
    (void)state;
    struct hdf5_file *f = NULL;
    float row[8];
    int64_t id[64];
    assert_ok(hdf5_open(ctx, data_path("bad/claims_a_lot.hdf5"), &f, &err));
    assert_fails(hdf5_read(f, hdf5_find(f, "train"), 0, 1, HDF5_AS_F32, row, &err), GREBE_ECORRUPT,
                 "claims 68719476736 x 8 float32 (2 TiB)");
    hdf5_close(f);
    assert_ok(hdf5_open(ctx, data_path("bad/neighbor_uint64_huge.hdf5"), &f, &err));
    const struct hdf5_data *d = hdf5_find(f, "neighbors");
    assert_fails(hdf5_read(f, d, 0, d->shape[0], HDF5_AS_I64, id, &err), GREBE_ECORRUPT, "neighbors[3,0]");
    assert_non_null(strstr(err.message, "9223372036854775813"));
    hdf5_close(f);
}

/* Everything that the writer can write. */
static grebe_status write_sample(const char *path, bool is_finished)
{
    static const unsigned char small[6] = { 0, 1, 1, 0, 200, 255 };
    static const uint16_t half[2] = { 0x3c00, 0xc000 }; /* 1, -2 */
    struct hdf5_writer *w = NULL;
    float rows[12];
    grebe_status st = GREBE_OK;
    for (int i = 0; i < 12; i++) {
        rows[i] = (float)i / 8;
    }
    GREBE_TRY(hdf5_writer_open(ctx, path, &w, &err));
    GREBE_TRY(hdf5_write_text(w, "type", "dense", &err));
    GREBE_TRY(hdf5_write_text(w, "distance", "ip", &err));
    GREBE_TRY(hdf5_write_int(w, "multi_vector_dim", 3, true, &err));
    GREBE_TRY(hdf5_write_int(w, "dimension", -7, false, &err));
    GREBE_TRY(hdf5_write_begin(w, "train", HDF5_FLOAT, 4, 4, 3, &err));
    GREBE_TRY(hdf5_write_rows(w, 0, 1, rows, &err));
    GREBE_TRY(hdf5_write_rows(w, 1, 3, rows + 3, &err));
    GREBE_TRY(hdf5_write_end(w, &err));
    GREBE_TRY(hdf5_write_begin(w, "bytes", HDF5_UINT, 1, 6, 0, &err));
    GREBE_TRY(hdf5_write_rows(w, 0, 6, small, &err));
    GREBE_TRY(hdf5_write_end(w, &err));
    GREBE_TRY(hdf5_write_begin(w, "bits", HDF5_BOOL, 1, 2, 2, &err));
    GREBE_TRY(hdf5_write_rows(w, 0, 2, small, &err));
    GREBE_TRY(hdf5_write_end(w, &err));
    GREBE_TRY(hdf5_write_begin(w, "halves", HDF5_FLOAT, 2, 2, 0, &err));
    GREBE_TRY(hdf5_write_rows(w, 0, 2, half, &err));
    GREBE_TRY(hdf5_write_end(w, &err));
    GREBE_TRY(hdf5_write_begin(w, "none", HDF5_INT, 8, 0, 0, &err));
    GREBE_TRY(hdf5_write_end(w, &err));
    if (is_finished) {
        GREBE_TRY(hdf5_writer_finish(w, false, &err));
    }
out:
    hdf5_writer_close(w);
    return st;
}

static void test_write__then_read__same(void **state)
{
    (void)state;
    char *folder = test_folder_new(), path[2][512];
    unsigned char *bytes[2];
    size_t len[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/w%d.hdf5", folder, i);
        assert_ok(write_sample(path[i], true));
        bytes[i] = test_read_file(path[i], &len[i]);
        usleep(i == 0 ? 1100000 : 0); /* a time would differ */
    }
    assert_int_equal(len[0], len[1]);
    assert_memory_equal(bytes[0], bytes[1], len[0]);
    free(bytes[0]);
    free(bytes[1]);
    struct hdf5_file *f = NULL;
    struct buf text = BUF_INIT(ctx->a);
    float rows[12];
    int64_t n = 0;
    unsigned char raw[6];
    assert_ok(hdf5_open(ctx, path[0], &f, &err));
    assert_int_equal(hdf5_n_data(f), 5);
    assert_ok(hdf5_text(f, "distance", &text, NULL, &err));
    assert_string_equal(buf_text(&text), "ip");
    assert_ok(hdf5_int(f, "dimension", &n, &err));
    assert_int_equal(n, -7);
    assert_ok(hdf5_read(f, hdf5_find(f, "train"), 0, 4, HDF5_AS_F32, rows, &err));
    assert_true(rows[11] == 11.0f / 8);
    assert_ok(hdf5_read(f, hdf5_find(f, "bytes"), 0, 6, HDF5_RAW, raw, &err));
    assert_int_equal(raw[4], 200);
    assert_int_equal(hdf5_find(f, "bits")->cls, HDF5_BOOL);
    assert_ok(hdf5_read(f, hdf5_find(f, "halves"), 0, 2, HDF5_AS_F32, rows, &err));
    assert_true(rows[0] == 1.0f && rows[1] == -2.0f);
    assert_int_equal(hdf5_find(f, "none")->shape[0], 0);
    hdf5_close(f);
    buf_release(&text);
    test_folder_remove(folder);
}

static void test_write__not_finished__nothing_stays(void **state)
{
    (void)state;
    char *folder = test_folder_new(), path[512];
    snprintf(path, sizeof path, "%s/w.hdf5", folder);
    assert_ok(write_sample(path, false));
    assert_int_not_equal(access(path, F_OK), 0);
    struct hdf5_writer *w = NULL;
    assert_ok(hdf5_writer_open(ctx, path, &w, &err));
    assert_ok(hdf5_write_begin(w, "train", HDF5_FLOAT, 4, 4, 3, &err));
    assert_fails(hdf5_write_end(w, &err), GREBE_EINVAL, "expected 4 rows, found 0");
    assert_fails(hdf5_write_rows(w, 1, 1, path, &err), GREBE_EINVAL, "expected row 0");
    hdf5_writer_close(w);
    assert_int_equal(rmdir(folder), 0); /* empty: no temporary file is left */
    free(folder);
    snprintf(path, sizeof path, "/nonexistent/w.hdf5");
    assert_fails(hdf5_writer_open(ctx, path, &w, &err), GREBE_ENOTFOUND, "/nonexistent");
}

static void test_write__no_memory__clean_and_nothing_stays(void **state)
{
    (void)state;
    char *folder = test_folder_new(), path[512];
    grebe_context *usual = ctx;
    bool is_done = false;
    snprintf(path, sizeof path, "%s/w.hdf5", folder);
    for (size_t at = 1; at < 1000 && !is_done; at++) {
        struct test_allocator t;
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        test_allocator_init(&t);
        o.allocator = &t.a;
        assert_ok(context_new(&o, &ctx, &err));
        t.fail_at = t.n_calls + at;
        grebe_status st = write_sample(path, true);
        is_done = st == GREBE_OK;
        assert_true(is_done || st == GREBE_ENOMEM);
        assert_int_equal(access(path, F_OK) == 0, is_done);
        context_free(ctx);
        assert_int_equal(t.n_live, 0);
    }
    ctx = usual;
    assert_true(is_done);
    test_folder_remove(folder);
}

static void test_open__no_memory__clean(void **state)
{
    (void)state;
    struct test_allocator t;
    for (size_t at = 1; at < 1000; at++) {
        test_allocator_init(&t);
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *small = NULL;
        o.allocator = &t.a;
        assert_ok(context_new(&o, &small, &err));
        size_t before = t.n_live;
        t.fail_at = t.n_calls + at;
        struct hdf5_file *f = NULL;
        float rows[600 * 32];
        grebe_status st = hdf5_open(small, data_path("storage/float16_train.hdf5"), &f, &err);
        if (st == GREBE_OK) {
            st = hdf5_read(f, hdf5_find(f, "train"), 0, 600, HDF5_AS_F32, rows, &err);
        }
        hdf5_close(f);
        bool is_done = st == GREBE_OK;
        assert_true(is_done || st == GREBE_ENOMEM);
        t.fail_at = 0;
        (void)before;
        context_free(small);
        assert_int_equal(t.n_live, 0);
        if (is_done) {
            return;
        }
    }
    fail_msg("did not end");
}

/* One byte of a file changed, or its end cut: whatever comes of it is a status. */
static void test_open__damaged__status_only(void **state)
{
    (void)state;
    static const char *const files[] = { "good/small_l2.hdf5", "good/sparse_small.hdf5", "storage/latest.hdf5",
                                         "storage/chunked_gzip_shuffle.hdf5", "storage/attr_utf8.hdf5" };
    char *folder = test_folder_new(), path[512];
    uint64_t seed = test_seed();
    snprintf(path, sizeof path, "%s/d.hdf5", folder);
    for (size_t i = 0; i < 1500; i++) {
        size_t len = 0;
        unsigned char *bytes = test_read_file(data_path(files[i % 5]), &len);
        size_t head = len < 6000 ? len : 6000; /* where the structure stands */
        if (i % 7 == 0) {
            len = (size_t)(test_random(&seed) % len);
        } else {
            bytes[test_random(&seed) % head] ^= (unsigned char)(1u << test_random(&seed) % 8);
        }
        test_write_file(path, bytes, len);
        free(bytes);
        struct hdf5_file *f = NULL;
        struct buf text = BUF_INIT(ctx->a);
        grebe_status st = hdf5_open(ctx, path, &f, &err);
        assert_true(st == GREBE_OK || st == GREBE_ECORRUPT || st == GREBE_EUNSUPPORTED || st == GREBE_ELIMIT);
        assert_int_equal(st == GREBE_OK, f != NULL);
        if (st == GREBE_OK) {
            (void)!hdf5_text(f, "distance", &text, NULL, &err);
            for (size_t j = 0; j < hdf5_n_data(f); j++) {
                const struct hdf5_data *d = hdf5_data_at(f, j);
                uint64_t n = d->shape[0] < 10 ? d->shape[0] : 10;
                if (d->trouble_status == GREBE_OK && d->shape[1] < 100000) {
                    double *dst = malloc((size_t)(n * d->shape[1]) * 8 + 1);
                    (void)!hdf5_read(f, d, 0, n, HDF5_AS_F64, dst, &err);
                    free(dst);
                }
            }
        }
        hdf5_close(f);
        buf_release(&text);
    }
    test_folder_remove(folder);
}

static void test_lzf__runs_and_damage(void **state)
{
    (void)state;
    unsigned char dst[32];
    const unsigned char run[] = { 0, 'a', 0xe0, 3, 0 }; /* "a", then 12 from one back */
    assert_int_equal(hdf5_lzf_decode(run, sizeof run, dst, sizeof dst), 13);
    assert_memory_equal(dst, "aaaaaaaaaaaaa", 13);
    assert_int_equal(hdf5_lzf_decode(run, sizeof run, dst, 12), 0);
    for (size_t n = 3; n < sizeof run; n++) {
        assert_int_equal(hdf5_lzf_decode(run, n, dst, sizeof dst), 0);
    }
    const unsigned char before[] = { 0, 'a', 0x20, 5 }; /* six back where one byte is */
    assert_int_equal(hdf5_lzf_decode(before, sizeof before, dst, sizeof dst), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read__same_content_stored_otherwise__same_values),
        cmocka_unit_test(test_read__blocks_of_rows__same_as_whole),
        cmocka_unit_test(test_open__bad_files__named),
        cmocka_unit_test(test_attributes__wrong_forms__named),
        cmocka_unit_test(test_types__unusual__named_and_refused),
        cmocka_unit_test(test_claims__beyond_the_file__nothing_allocated),
        cmocka_unit_test(test_write__then_read__same),
        cmocka_unit_test(test_write__not_finished__nothing_stays),
        cmocka_unit_test(test_write__no_memory__clean_and_nothing_stays),
        cmocka_unit_test(test_open__no_memory__clean),
        cmocka_unit_test(test_open__damaged__status_only),
        cmocka_unit_test(test_lzf__runs_and_damage),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
