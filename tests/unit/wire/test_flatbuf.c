/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include "base/endian.h"
#include "wire/flatbuf.h"

/* A table { 0: u8, 1: i64, 2: string, 4: [child], 5: [i64] }, the children { 0: i32 }. */
static void write_sample(struct buf *b)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct flatbuf_writer w;
    const struct flatbuf_field fields[] = { { 0, 1, 7 },
                                            { 1, 8, (uint64_t)INT64_MIN },
                                            { 2, FLATBUF_OFFSET, 0 },
                                            { 4, FLATBUF_OFFSET, 0 },
                                            { 5, FLATBUF_OFFSET, 0 } };
    const struct flatbuf_field child[] = { { 0, 4, (uint64_t)(uint32_t)-5 } };
    size_t at[5];
    size_t child_at[1];
    size_t pos = 0;
    size_t list = 0;
    unsigned char words[16];
    assert_ok(flatbuf_writer_begin(&w, b, &err));
    assert_ok(flatbuf_put_table(&w, fields, 5, at, &pos, &err));
    flatbuf_link(&w, 0, pos);
    assert_ok(flatbuf_put_string(&w, "text", 4, &pos, &err));
    flatbuf_link(&w, at[2], pos);
    assert_ok(flatbuf_put_offsets(&w, 2, &list, &err));
    flatbuf_link(&w, at[3], list);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(flatbuf_put_table(&w, child, 1, child_at, &pos, &err));
        flatbuf_link(&w, list + 4 + 4 * i, pos);
    }
    store_le64(words, 1);
    store_le64(words + 8, UINT64_MAX);
    assert_ok(flatbuf_put_vector(&w, words, 2, 8, 8, &pos, &err));
    assert_int_equal((pos + 4) % 8, 0);
    flatbuf_link(&w, at[4], pos);
}

/* Whether the sample reads back whole; every fault must end in a status. */
static grebe_status read_sample(const unsigned char *data, size_t len, bool *is_whole,
                                grebe_error *err)
{
    struct flatbuf fb;
    size_t n = 0;
    flatbuf_init(&fb, data, len);
    struct flatbuf_table t = flatbuf_root(&fb);
    const char *text = flatbuf_string(&fb, &t, 2, &n);
    struct flatbuf_vector children = flatbuf_vector(&fb, &t, 4, 4);
    struct flatbuf_vector words = flatbuf_vector(&fb, &t, 5, 8);
    *is_whole = flatbuf_u8(&fb, &t, 0, 0) == 7 && flatbuf_i64(&fb, &t, 1, 0) == INT64_MIN &&
                text != NULL && n == 4 && memcmp(text, "text", 4) == 0 && children.n == 2 &&
                words.n == 2 && flatbuf_u32(&fb, &t, 3, 99) == 99 && !flatbuf_has(&fb, &t, 3) &&
                flatbuf_u16(&fb, &t, 30, 5) == 5;
    for (uint32_t i = 0; i < children.n && i < 1000; i++) {
        struct flatbuf_table child = flatbuf_vector_table(&fb, &children, i);
        *is_whole = *is_whole && flatbuf_i32(&fb, &child, 0, 0) == -5;
    }
    return flatbuf_status(&fb, err);
}

static void test_flatbuf__written__reads_back(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    bool is_whole = false;
    write_sample(&b);
    assert_ok(read_sample(b.data, b.len, &is_whole, &err));
    assert_true(is_whole);
    buf_release(&b);
}

static void test_flatbuf__damaged__status_or_values(void **state)
{
    (void)state;
    static const uint32_t nasty[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    bool is_whole = false;
    write_sample(&b);
    for (size_t n = 0; n < b.len; n++) {
        struct buf cut = BUF_INIT(mem_system());
        assert_ok(buf_put(&cut, b.data, n, &err));
        (void)!read_sample(cut.data, n, &is_whole, &err);
        buf_release(&cut);
    }
    for (size_t at = 0; at + 4 <= b.len; at++) {
        for (size_t k = 0; k < sizeof nasty / sizeof nasty[0]; k++) {
            struct buf bad = BUF_INIT(mem_system());
            assert_ok(buf_put(&bad, b.data, b.len, &err));
            store_le32(bad.data + at, nasty[k]);
            grebe_status st = read_sample(bad.data, bad.len, &is_whole, &err);
            assert_true(st == GREBE_OK || st == GREBE_ECORRUPT);
            buf_release(&bad);
        }
    }
    buf_release(&b);
}

static void test_flatbuf__same_table_for_ever__budget_ends_it(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    struct flatbuf fb;
    write_sample(&b);
    flatbuf_init(&fb, b.data, b.len);
    for (size_t i = 0; i <= b.len; i++) {
        flatbuf_root(&fb);
    }
    assert_fails(flatbuf_status(&fb, &err), GREBE_ECORRUPT, "more tables than bytes");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flatbuf__written__reads_back),
        cmocka_unit_test(test_flatbuf__damaged__status_or_values),
        cmocka_unit_test(test_flatbuf__same_table_for_ever__budget_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
