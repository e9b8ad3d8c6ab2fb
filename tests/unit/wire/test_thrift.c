/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/thrift.h"

#include "test_support.h"

static void put_all(struct thrift_writer *w)
{
    thrift_put_bool(w, 1, true);
    thrift_put_bool(w, 2, false);
    thrift_put_i8(w, 3, -5);
    thrift_put_i16(w, 4, -300);
    thrift_put_i32(w, 5, INT32_MIN);
    thrift_put_i64(w, 6, INT64_MAX);
    thrift_put_double(w, 7, -0.5);
    thrift_put_bytes(w, 8, "abc", 3);
    thrift_put_struct(w, 40); /* a long jump in ids */
    thrift_put_i32(w, 1, 7);
    thrift_end_struct(w);
    thrift_put_list(w, 41, THRIFT_I64, 20); /* more than fits the short list head */
    for (int i = 0; i < 20; i++) {
        thrift_add_i64(w, (int64_t)i * i - 50);
    }
    thrift_put_list(w, 42, THRIFT_TRUE, 3);
    thrift_add_bool(w, true);
    thrift_add_bool(w, false);
    thrift_add_bool(w, true);
    thrift_put_list(w, 43, THRIFT_STRUCT, 2);
    for (int i = 0; i < 2; i++) {
        thrift_add_struct(w);
        thrift_put_bytes(w, 2, "x", (size_t)i);
        thrift_end_struct(w);
    }
    thrift_put_bytes(w, INT16_MAX, "tail", 4);
}

static void read_all(struct thrift_reader *r)
{
    struct thrift_field f = { 0 };
    bool b = false;
    int8_t i8 = 0;
    int32_t i32 = 0;
    int64_t i64 = 0;
    double d = 0;
    const unsigned char *p = NULL;
    size_t len = 0;
    uint8_t elem;
    uint32_t n = 0;
    int seen = 0;
    while (thrift_field_next(r, &f)) {
        seen++;
        switch (f.id) {
        case 1: assert_true(thrift_get_bool(r, &f, &b) && b); break;
        case 2: assert_true(thrift_get_bool(r, &f, &b) && !b); break;
        case 3: assert_true(thrift_get_i8(r, &f, &i8) && i8 == -5); break;
        case 4: assert_true(thrift_get_i32(r, &f, &i32) && i32 == -300); break;
        case 5: assert_true(thrift_get_i64(r, &f, &i64) && i64 == INT32_MIN); break;
        case 6: assert_true(thrift_get_i64(r, &f, &i64) && i64 == INT64_MAX); break;
        case 7: assert_true(thrift_get_double(r, &f, &d) && d == -0.5); break;
        case 8:
            assert_true(thrift_get_bytes(r, &f, &p, &len) && len == 3);
            assert_memory_equal(p, "abc", 3);
            break;
        case 40: {
            struct thrift_field in = { 0 };
            assert_true(thrift_get_struct(r, &f));
            assert_true(thrift_field_next(r, &in) && in.id == 1);
            assert_true(thrift_get_i32(r, &in, &i32) && i32 == 7);
            assert_false(thrift_field_next(r, &in));
            break;
        }
        case 41:
            elem = THRIFT_I32; /* integers are one another's */
            assert_true(thrift_get_list(r, &f, &elem, &n) && n == 20);
            for (int i = 0; i < 20; i++) {
                assert_int_equal(thrift_elem_int(r, elem), (int64_t)i * i - 50);
            }
            break;
        case 42:
            elem = THRIFT_FALSE;
            assert_true(thrift_get_list(r, &f, &elem, &n) && n == 3);
            assert_true(thrift_elem_bool(r));
            assert_false(thrift_elem_bool(r));
            assert_true(thrift_elem_bool(r));
            break;
        default: thrift_skip(r, f.type); break;
        }
    }
    assert_int_equal(seen, 13);
}

static void test_thrift__all_types__come_back(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    struct thrift_writer w;
    struct thrift_reader r;
    thrift_writer_init(&w, &b, &err);
    put_all(&w);
    assert_ok(thrift_writer_finish(&w));
    thrift_reader_init(&r, b.data, b.len);
    read_all(&r);
    assert_ok(thrift_reader_check(&r, "x", &err));
    assert_int_equal(thrift_consumed(&r), b.len);
    /* and as one value to pass over */
    thrift_reader_init(&r, b.data, b.len);
    thrift_skip(&r, THRIFT_STRUCT);
    assert_ok(thrift_reader_check(&r, "x", &err));
    assert_int_equal(thrift_consumed(&r), b.len);
    buf_release(&b);
}

static void test_thrift__every_truncation__fault_says_short(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    struct thrift_writer w;
    thrift_writer_init(&w, &b, &err);
    put_all(&w);
    assert_ok(thrift_writer_finish(&w));
    for (size_t n = 0; n < b.len; n++) {
        struct thrift_reader r;
        unsigned char *cut = mem_alloc(mem_system(), n);
        memcpy(cut, b.data, n);
        thrift_reader_init(&r, cut, n);
        thrift_skip(&r, THRIFT_STRUCT);
        assert_true(r.is_short);
        assert_fails(thrift_reader_check(&r, "x", &err), GREBE_ECORRUPT, "end inside");
        mem_free(mem_system(), cut, n);
    }
    buf_release(&b);
}

static void test_thrift__wrong_type__skipped_in_step(void **state)
{
    (void)state;
    /* field 1: list<struct> of 2, field 2: i32 = 9 (Dremio's private list where an i32 is expected) */
    static const unsigned char bytes[] = { 0x19, 0x2c, 0x15, 0x02, 0x00, 0x15, 0x04, 0x00,
                                           0x15, 0x12, 0x00 };
    struct thrift_reader r;
    struct thrift_field f = { 0 };
    int32_t v = -1;
    thrift_reader_init(&r, bytes, sizeof bytes);
    assert_true(thrift_field_next(&r, &f) && f.id == 1);
    assert_false(thrift_get_i32(&r, &f, &v));
    assert_int_equal(v, -1);
    assert_true(thrift_field_next(&r, &f) && f.id == 2);
    assert_true(thrift_get_i32(&r, &f, &v));
    assert_int_equal(v, 9);
    assert_false(thrift_field_next(&r, &f));
    assert_null(r.fault);
}

static void expect_fault(const unsigned char *bytes, size_t len, const char *fragment)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct thrift_reader r;
    thrift_reader_init(&r, bytes, len);
    thrift_skip(&r, THRIFT_STRUCT);
    assert_fails(thrift_reader_check(&r, "place", &err), GREBE_ECORRUPT, fragment);
    assert_non_null(strstr(err.message, "place"));
}

static void test_thrift__hostile__fault(void **state)
{
    (void)state;
    static const unsigned char huge_list[] = { 0x19, 0xf6, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00 };
    static const unsigned char huge_binary[] = { 0x18, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00 };
    static const unsigned char long_varint[] = { 0x16, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                                 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x00 };
    static const unsigned char bad_type[] = { 0x1e, 0x00 };
    static const unsigned char bad_elem[] = { 0x19, 0x1f, 0x00, 0x00 };
    static const unsigned char huge_map[] = { 0x1b, 0xff, 0xff, 0x7f, 0x55, 0x00 };
    unsigned char deep[200];
    expect_fault(huge_list, sizeof huge_list, "end inside");
    expect_fault(huge_binary, sizeof huge_binary, "end inside");
    expect_fault(long_varint, sizeof long_varint, "varint");
    expect_fault(bad_type, sizeof bad_type, "unknown type");
    expect_fault(bad_elem, sizeof bad_elem, "unknown element");
    expect_fault(huge_map, sizeof huge_map, "end inside");
    memset(deep, 0x1c, sizeof deep); /* struct in struct in struct */
    expect_fault(deep, sizeof deep, "deeper");
    memset(deep, 0x19, sizeof deep); /* list in list */
    expect_fault(deep, sizeof deep, "deeper");
}

static void test_thrift__writer_without_memory__status_kept(void **state)
{
    (void)state;
    struct test_allocator t;
    grebe_error err = GREBE_ERROR_INIT;
    test_allocator_init(&t);
    for (size_t n = 1;; n++) {
        struct buf b = BUF_INIT(&t.a);
        struct thrift_writer w;
        t.n_calls = 0;
        t.fail_at = n;
        thrift_writer_init(&w, &b, &err);
        put_all(&w);
        grebe_status st = thrift_writer_finish(&w);
        bool is_done = st == GREBE_OK;
        assert_true(is_done || st == GREBE_ENOMEM);
        buf_release(&b);
        assert_int_equal(t.live_bytes, 0);
        if (is_done) {
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thrift__all_types__come_back),
        cmocka_unit_test(test_thrift__every_truncation__fault_says_short),
        cmocka_unit_test(test_thrift__wrong_type__skipped_in_step),
        cmocka_unit_test(test_thrift__hostile__fault),
        cmocka_unit_test(test_thrift__writer_without_memory__status_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
