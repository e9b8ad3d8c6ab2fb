/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of npy and torch files: those that torch wrote, and those that must be refused with nothing run. */
#include "array/tensor.h"

#include <stdio.h>
#include <stdlib.h>

#include "test_support.h"

static grebe_context *ctx;

static const char *file(const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/data/graphbolt/pt/%s", TEST_DATA, name);
    return path;
}

static void check(const char *name, int type, unsigned rank, const uint64_t *shape, const double *values, size_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct tensor t;
    assert_ok(tensor_open(ctx, file(name), &t, &err));
    assert_int_equal(t.type, type);
    assert_int_equal(t.rank, rank);
    for (unsigned i = 0; i < rank; i++) {
        assert_int_equal(t.shape[i], shape[i]);
    }
    assert_int_equal(t.n_values, n);
    unsigned char bytes[256];
    assert_ok(tensor_read(&t, 0, rank > 0 ? shape[0] : 1, bytes, &err));
    for (size_t i = 0; i < n; i++) {
        double found = -1;
        if (type == ARRAY_F32 || type == TENSOR_C64) {
            float x;
            memcpy(&x, bytes + i * tensor_type_bytes(type), 4);
            found = (double)x;
        } else if (type == ARRAY_F64) {
            memcpy(&found, bytes + i * 8, 8);
        } else if (type == ARRAY_BOOL) {
            found = bytes[i];
        } else {
            int64_t x[16];
            assert_ok(tensor_read_i64(&t, 0, rank > 0 ? shape[0] : 1, x, &err));
            found = (double)x[i];
        }
        assert_true(found == values[i]);
    }
    tensor_release(&t);
}

static void test_tensor__what_torch_wrote__is_read(void **state)
{
    const uint64_t shape[] = { 2, 3 }, three_two[] = { 3, 2 }, four[] = { 4 }, empty[] = { 0, 3 };
    const double zero_to_five[] = { 0, 1, 2, 3, 4, 5 }, bools[] = { 0, 1, 1, 1, 1, 1 }, turned[] = { 0, 3, 1, 4, 2, 5 };
    const double view[] = { 3, 4, 5, 6 }, seven[] = { 7 };
    static const struct { const char *name; int type; } files[] = {
        { "i8.pt", ARRAY_I8 }, { "u8.pt", ARRAY_U8 }, { "i16.pt", ARRAY_I16 }, { "i32.pt", ARRAY_I32 }, { "i64.pt", ARRAY_I64 },
        { "f32.pt", ARRAY_F32 }, { "f64.pt", ARRAY_F64 }, { "c64.pt", TENSOR_C64 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        check(files[i].name, files[i].type, 2, shape, zero_to_five, 6);
    }
    check("bool.pt", ARRAY_BOOL, 2, shape, bools, 6);
    check("empty_0x3.pt", ARRAY_F32, 2, empty, NULL, 0);
    grebe_error err = GREBE_ERROR_INIT;
    struct tensor t;
    static const struct { const char *name; double first; } halves[] = { { "f16.pt", 0 }, { "bf16.pt", 0 } };
    for (size_t i = 0; i < 2; i++) {
        uint16_t bits[6];
        assert_ok(tensor_open(ctx, file(halves[i].name), &t, &err));
        assert_ok(tensor_read(&t, 0, 2, bits, &err));
        assert_int_equal(bits[0], 0);
        assert_int_equal(bits[1], t.type == ARRAY_F16 ? 0x3c00 : 0x3f80);
        tensor_release(&t);
    }
    assert_ok(tensor_open(ctx, file("transposed_3x2.pt"), &t, &err));
    assert_false(t.is_packed);
    int type = t.type;
    tensor_release(&t);
    check("transposed_3x2.pt", type, 2, three_two, turned, 6);
    assert_ok(tensor_open(ctx, file("view_off3_len4.pt"), &t, &err));
    type = t.type;
    tensor_release(&t);
    check("view_off3_len4.pt", type, 1, four, view, 4);
    assert_ok(tensor_open(ctx, file("scalar.pt"), &t, &err));
    type = t.type;
    tensor_release(&t);
    check("scalar.pt", type, 0, NULL, seven, 1);
    assert_ok(tensor_open(ctx, file("parameter.pt"), &t, &err));
    tensor_release(&t);
}

static void test_tensor__what_is_no_tensor__refused_by_name(void **state)
{
    static const struct { const char *name; grebe_status st; const char *words; } bad[] = {
        { "forbidden_global.pt", GREBE_EUNSUPPORTED, "builtins print" },
        { "legacy_nonzip.pt", GREBE_EUNSUPPORTED, "before torch 1.6" },
        { "deflated.pt", GREBE_EUNSUPPORTED, "compressed" },
        { "numpy_object.pt", GREBE_EUNSUPPORTED, "numpy.core.multiarray _reconstruct" },
        { "dict.pt", GREBE_EUNSUPPORTED, "found a dict" },
        { "list.pt", GREBE_EUNSUPPORTED, "found a list" },
        { "none.pt", GREBE_ENOTFOUND, "none.pt" },
    };
    grebe_error err = GREBE_ERROR_INIT;
    struct tensor t;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_fails(tensor_open(ctx, file(bad[i].name), &t, &err), bad[i].st, bad[i].words);
        assert_null(t.region);
    }
}

/* Every byte of a good file changed, every length cut: an error or a tensor inside of the file. */
static void test_tensor__damaged_files__no_crash(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    unsigned char *good = test_read_file(file("i64.pt"), &len);
    char path[600];
    (void)state;
    char *folder = test_folder_new();
    snprintf(path, sizeof path, "%s/damaged.pt", folder);
    for (size_t i = 0; i < len; i++) {
        for (int kind = 0; kind < 3; kind++) {
            struct tensor t;
            unsigned char before = good[i];
            good[i] = (unsigned char)(kind == 0 ? before ^ 0xff : kind == 1 ? before + 1 : before);
            test_write_file(path, good, kind == 2 ? i : len);
            good[i] = before;
            if (tensor_open(ctx, path, &t, &err) == GREBE_OK) {
                assert_true(t.data >= t.region->data && t.data <= t.region->data + t.region->len);
                tensor_release(&t);
            }
        }
    }
    free(good);
    test_folder_remove(folder);
}

static void test_tensor__npy_header__begins_at_4096(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    const uint64_t shape[] = { 3, 4 };
    (void)state;
    assert_ok(tensor_npy_header(&b, ARRAY_F32, shape, 2, &err));
    assert_int_equal(b.len, 4096);
    assert_memory_equal(b.data + 8, "\xf6\x0f", 2);
    assert_non_null(strstr((const char *)b.data + 10, "'shape': (3, 4), }"));
    buf_release(&b);
    assert_fails(tensor_npy_header(&b, ARRAY_BF16, shape, 2, &err), GREBE_EUNSUPPORTED, "bfloat16");
    buf_release(&b);
}

int main(void)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor__what_torch_wrote__is_read),
        cmocka_unit_test(test_tensor__what_is_no_tensor__refused_by_name),
        cmocka_unit_test(test_tensor__damaged_files__no_crash),
        cmocka_unit_test(test_tensor__npy_header__begins_at_4096),
    };
    if (context_new(NULL, &ctx, &err) != GREBE_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    context_free(ctx);
    return failed;
}
