/* SPDX-License-Identifier: Apache-2.0 */
#include "array/array_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "test_support.h"

static grebe_context *ctx;
static grebe_error err;
static char *folder;

static int setup(void **state)
{
    (void)state;
    folder = test_folder_new();
    return context_new(NULL, &ctx, &err) == GREBE_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    context_free(ctx);
    test_folder_remove(folder);
    return 0;
}

/* A file of the folder. Each call's name is another buffer, eight in turn. */
static const char *file(const char *name)
{
    static char names[8][512];
    static unsigned turn;
    char *dst = names[turn++ % 8];
    snprintf(dst, sizeof names[0], "%s/%s", folder, name);
    return dst;
}

static const char *put(const char *name, const void *bytes, size_t len)
{
    const char *path = file(name);
    test_write_file(path, bytes, len);
    return path;
}

/* A npy file of version `major` with this dictionary and these values. */
static const char *put_npy(const char *name, int major, const char *dictionary, const void *values, size_t len)
{
    unsigned char bytes[4096] = { 0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)major, 0 };
    size_t fixed = major == 1 ? 10 : 12, n = strlen(dictionary);
    if (major == 1) {
        store_le16(bytes + 8, (uint16_t)(n + 1));
    } else {
        store_le32(bytes + 8, (uint32_t)(n + 1));
    }
    memcpy(bytes + fixed, dictionary, n);
    bytes[fixed + n] = '\n';
    memcpy(bytes + fixed + n + 1, values, len);
    return put(name, bytes, fixed + n + 1 + len);
}

static void test_write__every_kind__reads_back(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum array_kind kind;
        enum array_type type;
    } cases[] = { { "a.npy", ARRAY_NPY, ARRAY_F32 },     { "a.npy", ARRAY_NPY, ARRAY_F64 },   { "a.npy", ARRAY_NPY, ARRAY_F16 },
                  { "a.npy", ARRAY_NPY, ARRAY_I8 },      { "a.npy", ARRAY_NPY, ARRAY_U8 },    { "a.npy", ARRAY_NPY, ARRAY_I16 },
                  { "a.npy", ARRAY_NPY, ARRAY_U16 },     { "a.npy", ARRAY_NPY, ARRAY_I32 },   { "a.npy", ARRAY_NPY, ARRAY_U32 },
                  { "a.npy", ARRAY_NPY, ARRAY_I64 },     { "a.npy", ARRAY_NPY, ARRAY_U64 },   { "a.npy", ARRAY_NPY, ARRAY_BOOL },
                  { "a.fvecs", ARRAY_FVECS, ARRAY_F32 }, { "a.ivecs", ARRAY_IVECS, ARRAY_I32 }, { "a.bvecs", ARRAY_BVECS, ARRAY_U8 },
                  { "a.fbin", ARRAY_BIN, ARRAY_F32 },    { "a.u8bin", ARRAY_BIN, ARRAY_U8 },  { "a.i8bin", ARRAY_BIN, ARRAY_I8 },
                  { "a.ibin", ARRAY_BIN, ARRAY_I32 },    { "a.f16bin", ARRAY_BIN, ARRAY_F16 }, { "a.dbin", ARRAY_BIN, ARRAY_F64 } };
    unsigned char values[11 * 7 * 8], back[sizeof values];
    uint64_t seed = test_seed();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct array_writer *w = NULL;
        struct array_file *f = NULL;
        size_t row = 7 * array_type_bytes(cases[i].type);
        for (size_t j = 0; j < sizeof values; j++) {
            values[j] = (unsigned char)test_random(&seed);
        }
        assert_ok(array_writer_open(ctx, file(cases[i].name), cases[i].kind, cases[i].type, 11, 7, &w, &err));
        assert_ok(array_write(w, values, 4, &err));
        assert_ok(array_write(w, values + 4 * row, 7, &err));
        assert_ok(array_writer_finish(w, false, &err));
        array_writer_close(w);
        assert_ok(array_open(ctx, file(cases[i].name), ARRAY_UNKNOWN, &f, &err));
        const struct array_info *info = array_info(f);
        assert_int_equal(info->kind, cases[i].kind);
        assert_int_equal(info->type, cases[i].type);
        assert_int_equal(info->rows, 11);
        assert_int_equal(info->columns, 7);
        assert_ok(array_read(f, 0, 11, back, &err));
        assert_memory_equal(back, values, 11 * row);
        assert_ok(array_read(f, 5, 3, back, &err));
        assert_memory_equal(back, values + 5 * row, 3 * row);
        assert_fails(array_read(f, 9, 3, back, &err), GREBE_EINVAL, "below 11");
        const unsigned char *at = NULL;
        if (array_map(f, &at) != NULL) {
            assert_memory_equal(at, values, 11 * row);
        }
        array_close(f);
    }
}

static void test_npy__versions_orders_and_forms(void **state)
{
    (void)state;
    struct array_file *f = NULL;
    float rows[6];
    static const unsigned char big[24] = { 0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0x40, 0x40, 0, 0,
                                           0x40, 0x80, 0, 0, 0x40, 0xa0, 0, 0, 0x40, 0xc0, 0, 0 }; /* 1 to 6 */
    const float by_column[6] = { 1, 4, 2, 5, 3, 6 };
    for (int major = 1; major <= 3; major++) {
        assert_ok(array_open(ctx, put_npy("v.npy", major, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", big, 24),
                             ARRAY_UNKNOWN, &f, &err));
        assert_ok(array_read(f, 0, 2, rows, &err));
        for (int i = 0; i < 6; i++) {
            assert_true(rows[i] == (float)(i + 1));
        }
        array_close(f);
    }
    assert_ok(array_open(ctx, put_npy("v.npy", 1, "{\"shape\": (2L, 3L), 'fortran_order': True, 'descr': '<f4'}", by_column, 24),
                         ARRAY_UNKNOWN, &f, &err));
    assert_ok(array_read(f, 0, 2, rows, &err));
    for (int i = 0; i < 6; i++) {
        assert_true(rows[i] == (float)(i + 1));
    }
    assert_ok(array_read(f, 1, 1, rows, &err));
    assert_true(rows[0] == 4 && rows[2] == 6);
    array_close(f);
    assert_ok(array_open(ctx, put_npy("v.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (24,), }", big, 24),
                         ARRAY_UNKNOWN, &f, &err));
    assert_int_equal(array_info(f)->rank, 1);
    assert_int_equal(array_info(f)->rows, 24);
    array_close(f);
}

static void test_npy__what_is_no_array_of_numbers__refused(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary;
        grebe_status status;
        const char *fragment;
    } cases[] = {
        { "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", GREBE_EUNSUPPORTED, "'|O'" },
        { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", GREBE_EUNSUPPORTED, "records" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", GREBE_EUNSUPPORTED, "'<c8'" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", GREBE_EUNSUPPORTED, "found 3" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99, 3), }", GREBE_ECORRUPT, "99 x 3 float32" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }", GREBE_ECORRUPT, "float32" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3), }", GREBE_ECORRUPT, "npy header" },
        { "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1, 3), }", GREBE_ECORRUPT, "npy header" },
        { "{'descr': '<f4', 'shape': (1, 3), }", GREBE_ECORRUPT, "npy header" },
        { "{'descr': '<f4", GREBE_ECORRUPT, "npy header" },
        { "", GREBE_ECORRUPT, "npy header" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct array_file *f = NULL;
        const char *path = put_npy("h.npy", 1, cases[i].dictionary, "0123456789ab", 12);
        assert_fails(array_open(ctx, path, ARRAY_UNKNOWN, &f, &err), cases[i].status, cases[i].fragment);
        assert_null(f);
    }
    struct array_file *f = NULL;
    assert_fails(array_open(ctx, put("x.npy", "hello world", 11), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "hello");
    assert_fails(array_open(ctx, put("x.npy", "\x93NUMPY\x01\0\xff\xff", 10), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "claims 65535");
    assert_fails(array_open(ctx, put("x.npy", "\x93NUMPY\x04\0\1\0", 10), ARRAY_UNKNOWN, &f, &err), GREBE_EUNSUPPORTED, "found 4");
}

/* n vectors of d floats as fvecs; as fbin. */
static size_t make_fvecs(unsigned char *dst, uint32_t n, uint32_t d)
{
    size_t len = 0;
    for (uint32_t i = 0; i < n; i++) {
        store_le32(dst + len, d);
        len += 4;
        for (uint32_t j = 0; j < d; j++, len += 4) {
            float v = (float)(i * d + j) + 0.5f;
            memcpy(dst + len, &v, 4);
        }
    }
    return len;
}

static size_t make_fbin(unsigned char *dst, uint32_t n, uint32_t d, bool is_wide)
{
    size_t len = is_wide ? 16 : 8;
    memset(dst, 0, 16);
    store_le32(dst, n);
    store_le32(dst + len / 2, d);
    for (uint32_t i = 0; i < n * d; i++, len += 4) {
        float v = (float)i + 0.5f;
        memcpy(dst + len, &v, 4);
    }
    return len;
}

static void test_open__another_kind__named(void **state)
{
    (void)state;
    static unsigned char bytes[65536];
    struct array_file *f = NULL;
    size_t len = make_fvecs(bytes, 50, 12);
    assert_fails(array_open(ctx, put("x.fbin", bytes, len), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "fits fvecs or ivecs (50 x 12)");
    store_le32(bytes + 7 * 52, 11); /* ragged */
    assert_fails(array_open(ctx, put("x.fvecs", bytes, len - 4), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT,
                 "vector 7: expected 12 components, found 11");
    assert_ok(array_open(ctx, put("x.fvecs", bytes, len), ARRAY_UNKNOWN, &f, &err));
    float rows[12 * 50];
    assert_ok(array_read(f, 0, 7, rows, &err));
    assert_fails(array_read(f, 5, 4, rows, &err), GREBE_ECORRUPT, "vector 7: expected 12 components, found 11");
    array_close(f);
    len = make_fbin(bytes, 50, 12, false);
    assert_fails(array_open(ctx, put("x.fvecs", bytes, len), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "fits fbin or ibin (50 x 12)");
    assert_fails(array_open(ctx, put("x.fbin", bytes, len - 48), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT,
                 "expected 2408 bytes for 50 x 12 float32, found 2360");
    len = make_fbin(bytes, 50, 12, true);
    assert_ok(array_open(ctx, put("x.fbin", bytes, len), ARRAY_UNKNOWN, &f, &err));
    assert_int_equal(array_info(f)->rows, 50);
    assert_ok(array_read(f, 49, 1, rows, &err));
    assert_true(rows[11] == 599.5f);
    array_close(f);
    assert_fails(array_open(ctx, put("x.fvecs", "", 0), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "found 0");
    assert_fails(array_open(ctx, put("x.fbin", "", 0), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "found 0");
    store_le32(bytes, 0xffffffff);
    store_le32(bytes + 4, 0xffffffff);
    assert_fails(array_open(ctx, put("x.dbin", bytes, 64), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "found 64");
    assert_fails(array_open(ctx, put("x.fvecs", bytes, 64), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "found -1");
    len = make_fbin(bytes, 50, 12, false);
    assert_fails(array_open(ctx, put("x.bin", bytes, len), ARRAY_UNKNOWN, &f, &err), GREBE_EUNSUPPORTED, "fbin or ibin (50 x 12)");
}

static void test_knn__ids_alone_or_with_distances__by_size(void **state)
{
    (void)state;
    struct array_writer *w = NULL;
    struct array_file *f = NULL;
    int32_t ids[6] = { 5, 4, 3, 2, 1, 0 }, back[6];
    float distances[6] = { 0, 1, 2, 3, 4, 5 }, far[6];
    assert_ok(array_writer_open(ctx, file("gt.ibin"), ARRAY_KNN, ARRAY_I32, 3, 2, &w, &err));
    assert_ok(array_write(w, ids, 3, &err));
    assert_fails(array_writer_finish(w, false, &err), GREBE_EINVAL, "expected 6 rows, found 3");
    assert_ok(array_write(w, distances, 3, &err));
    assert_ok(array_writer_finish(w, false, &err));
    array_writer_close(w);
    assert_ok(array_open(ctx, file("gt.ibin"), ARRAY_UNKNOWN, &f, &err));
    assert_int_equal(array_info(f)->kind, ARRAY_KNN);
    assert_ok(array_read_knn(f, 1, 2, back, far, &err));
    assert_int_equal(back[0], 3);
    assert_true(far[3] == 5);
    array_close(f);
    assert_ok(array_writer_open(ctx, file("ids.ibin"), ARRAY_BIN, ARRAY_I32, 3, 2, &w, &err));
    assert_ok(array_write(w, ids, 3, &err));
    assert_ok(array_writer_finish(w, false, &err));
    array_writer_close(w);
    assert_ok(array_open(ctx, file("ids.ibin"), ARRAY_UNKNOWN, &f, &err));
    assert_int_equal(array_info(f)->kind, ARRAY_BIN);
    assert_fails(array_read_knn(f, 0, 1, back, far, &err), GREBE_EINVAL, "no ids with distances");
    array_close(f);
}

static void test_csr__rows_and_damage(void **state)
{
    (void)state;
    struct array_file *f = NULL;
    const int64_t offsets[4] = { 0, 2, 2, 3 };
    const uint32_t terms[3] = { 1, 5, 3 };
    const float values[3] = { 0.5f, 1, 0.25f };
    int64_t o[4];
    uint32_t t[3];
    float v[3];
    assert_ok(array_write_csr(ctx, file("a.csr"), 3, 6, offsets, terms, values, false, &err));
    assert_ok(array_open(ctx, file("a.csr"), ARRAY_UNKNOWN, &f, &err));
    assert_int_equal(array_info(f)->rows, 3);
    assert_int_equal(array_info(f)->columns, 6);
    assert_int_equal(array_info(f)->n_values, 3);
    assert_ok(array_read_csr(f, 0, 3, o, t, v, &err));
    assert_memory_equal(o, offsets, sizeof o);
    assert_memory_equal(t, terms, sizeof t);
    assert_ok(array_read_csr(f, 1, 2, o, t, v, &err));
    assert_true(o[0] == 0 && o[1] == 0 && o[2] == 1 && t[0] == 3 && v[0] == 0.25f);
    array_close(f);
    size_t len = 0;
    unsigned char *bytes = test_read_file(file("a.csr"), &len);
    store_le64(bytes + 24 + 8, 9); /* beyond the values */
    assert_ok(array_open(ctx, put("b.csr", bytes, len), ARRAY_UNKNOWN, &f, &err));
    assert_fails(array_read_csr(f, 0, 3, o, t, v, &err), GREBE_ECORRUPT, "row 0 ends at 9");
    array_close(f);
    store_le64(bytes + 24 + 8, 2);
    store_le64(bytes + 24 + 16, 1); /* back */
    assert_ok(array_open(ctx, put("b.csr", bytes, len), ARRAY_UNKNOWN, &f, &err));
    assert_fails(array_read_csr(f, 0, 3, o, t, v, &err), GREBE_ECORRUPT, "row 1 ends at 1, expected 2");
    array_close(f);
    store_le64(bytes + 24 + 16, UINT64_C(1) << 63); /* read from row 1 on: taking its begin off would overflow */
    assert_ok(array_open(ctx, put("b.csr", bytes, len), ARRAY_UNKNOWN, &f, &err));
    assert_fails(array_read_csr(f, 1, 2, o, t, v, &err), GREBE_ECORRUPT, "row 1 ends at -9223372036854775808");
    array_close(f);
    store_le64(bytes + 24 + 16, 2);
    store_le32(bytes + 24 + 32, 6); /* a column that is not there */
    assert_ok(array_open(ctx, put("b.csr", bytes, len), ARRAY_UNKNOWN, &f, &err));
    assert_fails(array_read_csr(f, 0, 3, o, t, v, &err), GREBE_ECORRUPT, "below 6, found 6");
    array_close(f);
    assert_fails(array_open(ctx, put("b.csr", bytes, len - 1), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "does not fit");
    store_le64(bytes + 24, 1);
    assert_fails(array_open(ctx, put("b.csr", bytes, len), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "expected the offset 0 at row 0");
    free(bytes);
}

static void test_multi_and_range__counts_add_up(void **state)
{
    (void)state;
    struct array_file *f = NULL;
    const int64_t offsets[4] = { 0, 2, 2, 5 };
    float vectors[15], back[15];
    uint32_t counts[3];
    for (int i = 0; i < 15; i++) {
        vectors[i] = (float)i;
    }
    assert_ok(array_write_multi(ctx, file("a.multi"), 3, 3, offsets, vectors, false, &err));
    assert_ok(array_open(ctx, file("a.multi"), ARRAY_UNKNOWN, &f, &err));
    assert_int_equal(array_info(f)->n_values, 5);
    assert_ok(array_read_counts(f, 0, 3, counts, &err));
    assert_true(counts[0] == 2 && counts[1] == 0 && counts[2] == 3);
    assert_ok(array_read(f, 0, 5, back, &err));
    assert_memory_equal(vectors, back, sizeof back);
    array_close(f);
    size_t len = 0;
    unsigned char *bytes = test_read_file(file("a.multi"), &len);
    store_le32(bytes + 12, 3);
    assert_fails(array_open(ctx, put("b.multi", bytes, len), ARRAY_UNKNOWN, &f, &err), GREBE_ECORRUPT, "sum to 5, found 6");
    free(bytes);
    unsigned char range[8 + 8 + 12 + 12] = { 2, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9 };
    int32_t ids[3];
    float far[3];
    assert_ok(array_open(ctx, put("r.rangeres", range, sizeof range), ARRAY_UNKNOWN, &f, &err));
    assert_ok(array_read_knn(f, 1, 2, ids, far, &err));
    assert_true(ids[0] == 8 && ids[1] == 9);
    array_close(f);
}

static void test_open__no_memory__clean(void **state)
{
    (void)state;
    static unsigned char bytes[4096];
    float rows[12 * 50];
    const char *const paths[] = { put("m.fvecs", bytes, make_fvecs(bytes, 50, 12)),
                                  put_npy("m.npy", 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", bytes, 24) };
    for (size_t i = 0; i < 2; i++) {
        bool is_done = false;
        for (size_t at = 1; at < 500 && !is_done; at++) {
            struct test_allocator t;
            grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
            grebe_context *small = NULL;
            struct array_file *f = NULL;
            test_allocator_init(&t);
            o.allocator = &t.a;
            assert_ok(context_new(&o, &small, &err));
            t.fail_at = t.n_calls + at;
            grebe_status st = array_open(small, paths[i], ARRAY_UNKNOWN, &f, &err);
            if (st == GREBE_OK) {
                st = array_read(f, 0, array_info(f)->rows, rows, &err);
            }
            array_close(f);
            is_done = st == GREBE_OK;
            assert_true(is_done || st == GREBE_ENOMEM);
            context_free(small);
            assert_int_equal(t.n_live, 0);
        }
        assert_true(is_done);
    }
}

/* Any bytes under any name: a status, and reads inside. */
static void test_open__random_headers__status_only(void **state)
{
    (void)state;
    static const char *const names[] = { "r.fvecs", "r.bvecs", "r.fbin", "r.ibin", "r.csr", "r.multi", "r.rangeres", "r.npy", "r.bin" };
    uint64_t seed = test_seed();
    unsigned char bytes[256];
    for (int i = 0; i < 3000; i++) {
        struct array_file *f = NULL;
        for (size_t j = 0; j < sizeof bytes; j++) {
            bytes[j] = test_random(&seed) % 3 == 0 ? (unsigned char)(test_random(&seed) % 24) : 0;
        }
        size_t len = (size_t)(test_random(&seed) % sizeof bytes);
        grebe_status st = array_open(ctx, put(names[i % 9], bytes, len), ARRAY_UNKNOWN, &f, &err);
        assert_true(st == GREBE_OK || st == GREBE_ECORRUPT || st == GREBE_EUNSUPPORTED);
        assert_int_equal(st == GREBE_OK, f != NULL);
        if (st == GREBE_OK) {
            const struct array_info *info = array_info(f);
            int64_t o[300];
            uint32_t t[300];
            float v[300], d[600];
            if (info->kind == ARRAY_CSR) {
                (void)!array_read_csr(f, 0, info->rows, o, t, v, &err);
            } else if (info->kind == ARRAY_KNN || info->kind == ARRAY_RANGE) {
                (void)!array_read_knn(f, 0, info->kind == ARRAY_KNN ? info->rows : info->n_values, (int32_t *)(void *)t, v, &err);
            } else if (info->columns > 0 && info->rows < 300) {
                (void)!array_read(f, 0, info->rows, d, &err);
            }
        }
        array_close(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write__every_kind__reads_back),
        cmocka_unit_test(test_npy__versions_orders_and_forms),
        cmocka_unit_test(test_npy__what_is_no_array_of_numbers__refused),
        cmocka_unit_test(test_open__another_kind__named),
        cmocka_unit_test(test_knn__ids_alone_or_with_distances__by_size),
        cmocka_unit_test(test_csr__rows_and_damage),
        cmocka_unit_test(test_multi_and_range__counts_add_up),
        cmocka_unit_test(test_open__no_memory__clean),
        cmocka_unit_test(test_open__random_headers__status_only),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
