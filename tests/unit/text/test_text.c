/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <math.h>

#include "text/text_print.h"
#include "text/text_value.h"

static void test_timestamp__far_and_near__rfc3339(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        enum arrow_unit unit;
        bool is_utc;
        const char *text;
    } cases[] = {
        { 0, ARROW_SECOND, true, "1970-01-01T00:00:00Z" },
        { -1, ARROW_NANO, false, "1969-12-31T23:59:59.999999999" },
        { 951782400, ARROW_SECOND, true, "2000-02-29T00:00:00Z" },
        { 1764417600123, ARROW_MILLI, true, "2025-11-29T12:00:00.123Z" },
        { -62135596801, ARROW_SECOND, true, "0000-12-31T23:59:59Z" },
        { -62198755200, ARROW_SECOND, true, "-0001-01-01T00:00:00Z" },
        { INT64_MIN, ARROW_MICRO, false, "-290308-12-21T19:59:05.224192" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[TEXT_TIME_MAX];
        size_t n = text_timestamp(text, cases[i].value, cases[i].unit, cases[i].is_utc);
        text[n] = '\0';
        assert_string_equal(text, cases[i].text);
    }
    /* No int64 may run past the buffer. */
    char text[TEXT_TIME_MAX];
    assert_true(text_date(text, INT64_MAX) < TEXT_TIME_MAX);
    assert_true(text_timestamp(text, INT64_MIN, ARROW_SECOND, true) < TEXT_TIME_MAX);
    assert_true(text_timestamp(text, INT64_MAX, ARROW_SECOND, true) < TEXT_TIME_MAX);
}

static void test_decimal__all_widths__exact(void **state)
{
    (void)state;
    char text[TEXT_DECIMAL_MAX];
    unsigned char b[32];
    memset(b, 0xff, sizeof b);
    size_t n = text_decimal(text, b, 32, 2);
    assert_int_equal(n, 5);
    assert_memory_equal(text, "-0.01", 5);
    memset(b, 0, sizeof b);
    b[15] = 0x80; /* -2^127 */
    n = text_decimal(text, b, 16, 0);
    assert_int_equal(n, 40);
    assert_memory_equal(text, "-170141183460469231731687303715884105728", 40);
    int64_t v = 1234567;
    n = text_decimal(text, &v, 8, 3);
    assert_memory_equal(text, "1234.567", 8);
    assert_int_equal(n, 8);
    n = text_decimal(text, &v, 8, -2);
    assert_memory_equal(text, "123456700", n);
    v = 0;
    n = text_decimal(text, &v, 8, 4);
    assert_memory_equal(text, "0.0000", n);
}

/* ---- a small batch: i int64 {1, null}, s string, f float, v fixed_size_list<float>[2] ---- */

static void make_stream(struct ArrowArrayStream *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();
    struct ArrowSchema schema, *c;
    struct ArrowArray batch, columns[4];
    void *p = NULL;
    assert_ok(schema_new(a, "+s", "", false, 4, &schema, &err));
    c = schema.children[0];
    assert_ok(schema_new(a, "l", "i", true, 0, c, &err));
    assert_ok(schema_new(a, "u", "s \"q\"", true, 0, schema.children[1], &err));
    assert_ok(schema_new(a, "f", "f", true, 0, schema.children[2], &err));
    assert_ok(schema_new(a, "+w:2", "v", true, 1, schema.children[3], &err));
    assert_ok(schema_new(a, "f", "item", true, 0, schema.children[3]->children[0], &err));

    assert_ok(array_new(a, 2, 2, 0, &columns[0], &err));
    assert_ok(array_alloc_buffer(a, &columns[0], 0, 1, &p, &err));
    *(uint8_t *)p = 1;
    columns[0].null_count = 1;
    assert_ok(array_alloc_buffer(a, &columns[0], 1, 16, &p, &err));
    memcpy(p, (int64_t[]){ INT64_MIN, 7 }, 16);
    assert_ok(array_new(a, 2, 3, 0, &columns[1], &err));
    assert_ok(array_alloc_buffer(a, &columns[1], 1, 12, &p, &err));
    memcpy(p, (int32_t[]){ 0, 4, 4 }, 12);
    assert_ok(array_alloc_buffer(a, &columns[1], 2, 4, &p, &err));
    memcpy(p, "a\"\n\xff", 4);
    assert_ok(array_new(a, 2, 2, 0, &columns[2], &err));
    assert_ok(array_alloc_buffer(a, &columns[2], 1, 8, &p, &err));
    memcpy(p, (float[]){ 0.1f, NAN }, 8);
    assert_ok(array_new(a, 2, 1, 1, &columns[3], &err));
    assert_ok(array_new(a, 4, 2, 0, columns[3].children[0], &err));
    assert_ok(array_alloc_buffer(a, columns[3].children[0], 1, 16, &p, &err));
    memcpy(p, (float[]){ 1, -2.5f, 1e20f, 3 }, 16);
    assert_ok(array_struct(a, 2, columns, 4, &batch, &err));
    assert_ok(stream_from_batches(a, &schema, &batch, 1, out, &err));
    schema_release(&schema);
}

struct capture {
    struct text_sink sink;
    struct buf b;
};

static grebe_status capture_write(struct text_sink *sink, const void *bytes, size_t len,
                                  grebe_error *err)
{
    return buf_put(&((struct capture *)sink)->b, bytes, len, err);
}

static void expect(int form, const char *text)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct capture c = { { capture_write }, BUF_INIT(mem_system()) };
    struct text_print p = { mem_system(), &c.sink, NULL, NULL, 0 };
    struct ArrowArrayStream rows;
    make_stream(&rows);
    if (form == 0) {
        assert_ok(text_print_json(&p, &rows, true, &err));
    } else if (form == 1) {
        assert_ok(text_print_json(&p, &rows, false, &err));
    } else if (form == 2) {
        assert_ok(text_print_csv(&p, &rows, &TEXT_CSV_LAYOUT_INIT, &err));
    } else {
        assert_ok(text_print_table(&p, &rows, 0, false, &err));
    }
    assert_string_equal(buf_text(&c.b), text);
    assert_int_equal(p.n_rows, 2);
    buf_release(&c.b);
    stream_release(&rows);
}

static void test_print__json__strict_text(void **state)
{
    (void)state;
    expect(0, "{\"i\":-9223372036854775808,\"s \\\"q\\\"\":\"a\\\"\\n\xef\xbf\xbd\",\"f\":0.1,\"v\":[1.0,-2.5]}\n"
              "{\"i\":null,\"s \\\"q\\\"\":\"\",\"f\":\"NaN\",\"v\":[1e20,3.0]}\n");
    expect(1, "[\n{\"i\":-9223372036854775808,\"s \\\"q\\\"\":\"a\\\"\\n\xef\xbf\xbd\",\"f\":0.1,\"v\":[1.0,-2.5]},\n"
              "{\"i\":null,\"s \\\"q\\\"\":\"\",\"f\":\"NaN\",\"v\":[1e20,3.0]}\n]\n");
}

static void test_print__csv__null_and_empty_differ(void **state)
{
    (void)state;
    expect(2, "i,\"s \"\"q\"\"\",f,v\n"
              "-9223372036854775808,\"a\"\"\n\xff\",0.1,\"[1.0,-2.5]\"\n"
              ",\"\",NaN,\"[1e20,3.0]\"\n");
}

static void test_print__csv__null_text_that_would_need_quotes__refused(void **state)
{
    (void)state;
    static const char *const texts[] = { "a,b", "a\"b", "a\nb", "\r" };
    for (size_t i = 0; i < 4; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct capture c = { { capture_write }, BUF_INIT(mem_system()) };
        struct text_print p = { mem_system(), &c.sink, NULL, NULL, 0 };
        struct text_csv_layout layout = TEXT_CSV_LAYOUT_INIT;
        struct ArrowArrayStream rows;
        make_stream(&rows);
        layout.null_text = texts[i];
        assert_fails(text_print_csv(&p, &rows, &layout, &err), GREBE_EINVAL,
                     "null: expected a text without delimiter, quote and end of line");
        assert_int_equal(c.b.len, 0);
        buf_release(&c.b);
        stream_release(&rows);
    }
}

/* Of two fields of one name most readers keep the last alone. */
static void test_print__json__names_that_are_there_twice__refused(void **state)
{
    (void)state;
    for (int is_nested = 0; is_nested < 2; is_nested++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct capture c = { { capture_write }, BUF_INIT(mem_system()) };
        struct text_print p = { mem_system(), &c.sink, NULL, NULL, 0 };
        struct ArrowSchema schema, *fields = &schema;
        struct ArrowArrayStream rows;
        assert_ok(schema_new(mem_system(), "+s", "", false, is_nested ? 1 : 2, &schema, &err));
        if (is_nested) {
            fields = schema.children[0];
            assert_ok(schema_new(mem_system(), "+s", "s", true, 2, fields, &err));
        }
        assert_ok(schema_new(mem_system(), "l", "a", true, 0, fields->children[0], &err));
        assert_ok(schema_new(mem_system(), "u", "a", true, 0, fields->children[1], &err));
        assert_ok(stream_from_batches(mem_system(), &schema, NULL, 0, &rows, &err));
        assert_fails(text_print_json(&p, &rows, true, &err), GREBE_EINVAL,
                     is_nested ? "field \"a\" is there more than once" : "column \"a\" is there more than once");
        assert_int_equal(c.b.len, 0);
        buf_release(&c.b);
        stream_release(&rows);
        schema_release(&schema);
    }
}

static void test_print__table__aligned_and_no_control_characters(void **state)
{
    (void)state;
    expect(3, "                   i  s \"q\"       f  v\n"
              "               int64  string  float  fixed_size_list<float>[2]\n"
              "-9223372036854775808  a\" \xff      0.1  [1.0, -2.5]\n"
              "                null            NaN  [1e20, 3.0]\n");
}

static void test_print__table__names_of_columns_are_no_escape_sequences(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct capture c = { { capture_write }, BUF_INIT(mem_system()) };
    struct text_print p = { mem_system(), &c.sink, NULL, NULL, 0 };
    struct ArrowSchema schema;
    struct ArrowArrayStream rows;
    assert_ok(schema_new(mem_system(), "+s", "", false, 1, &schema, &err));
    assert_ok(schema_new(mem_system(), "b", "\033]0;x\007\xc2\x9b" "2J", true, 0, schema.children[0],
                         &err));
    assert_ok(stream_from_batches(mem_system(), &schema, NULL, 0, &rows, &err));
    assert_ok(text_print_table(&p, &rows, 0, false, &err));
    for (size_t i = 0; i < c.b.len; i++) {
        assert_true(c.b.data[i] == '\n' || (c.b.data[i] >= 0x20 && c.b.data[i] < 0x7f));
    }
    assert_non_null(strstr(buf_text(&c.b), " ]0;x "));
    buf_release(&c.b);
    stream_release(&rows);
    schema_release(&schema);
}

/* A column that begins inside its buffers, as a slice of a larger batch does. */
static void test_print__slices__by_their_offset(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();
    struct ArrowSchema schema;
    struct ArrowArray batch, columns[3];
    struct ArrowArrayStream rows;
    void *p = NULL;
    assert_ok(schema_new(a, "+s", "", false, 3, &schema, &err));
    assert_ok(schema_new(a, "u", "s", true, 0, schema.children[0], &err));
    assert_ok(schema_new(a, "w:2", "w", true, 0, schema.children[1], &err));
    assert_ok(schema_new(a, "+l", "l", true, 1, schema.children[2], &err));
    assert_ok(schema_new(a, "i", "item", true, 0, schema.children[2]->children[0], &err));

    assert_ok(array_new(a, 2, 3, 0, &columns[0], &err));
    assert_ok(array_alloc_buffer(a, &columns[0], 1, 16, &p, &err));
    memcpy(p, (int32_t[]){ 0, 2, 3, 6 }, 16);
    assert_ok(array_alloc_buffer(a, &columns[0], 2, 6, &p, &err));
    memcpy(p, "abcdef", 6);
    assert_ok(array_new(a, 2, 2, 0, &columns[1], &err));
    assert_ok(array_alloc_buffer(a, &columns[1], 1, 6, &p, &err));
    memcpy(p, "\x01\x02\x03\x04\x05\x06", 6);
    assert_ok(array_new(a, 2, 2, 1, &columns[2], &err));
    assert_ok(array_alloc_buffer(a, &columns[2], 1, 16, &p, &err));
    memcpy(p, (int32_t[]){ 0, 1, 3, 3 }, 16);
    assert_ok(array_new(a, 3, 2, 0, columns[2].children[0], &err));
    assert_ok(array_alloc_buffer(a, columns[2].children[0], 1, 12, &p, &err));
    memcpy(p, (int32_t[]){ 7, 8, 9 }, 12);
    for (int i = 0; i < 3; i++) {
        columns[i].offset = 1;
    }
    assert_ok(array_struct(a, 2, columns, 3, &batch, &err));
    assert_ok(stream_from_batches(a, &schema, &batch, 1, &rows, &err));
    schema_release(&schema);

    struct capture c = { { capture_write }, BUF_INIT(a) };
    struct text_print print = { a, &c.sink, NULL, NULL, 0 };
    assert_ok(text_print_csv(&print, &rows, &TEXT_CSV_LAYOUT_INIT, &err));
    assert_string_equal(buf_text(&c.b), "s,w,l\nc,0304,\"[8,9]\"\ndef,0506,[]\n");
    buf_release(&c.b);
    stream_release(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timestamp__far_and_near__rfc3339),
        cmocka_unit_test(test_decimal__all_widths__exact),
        cmocka_unit_test(test_print__json__strict_text),
        cmocka_unit_test(test_print__csv__null_and_empty_differ),
        cmocka_unit_test(test_print__csv__null_text_that_would_need_quotes__refused),
        cmocka_unit_test(test_print__json__names_that_are_there_twice__refused),
        cmocka_unit_test(test_print__table__aligned_and_no_control_characters),
        cmocka_unit_test(test_print__table__names_of_columns_are_no_escape_sequences),
        cmocka_unit_test(test_print__slices__by_their_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
