/* SPDX-License-Identifier: Apache-2.0 */
#include "text_case.h"

#include "text/text_csv.h"
#include "text/text_type.h"

static grebe_status open_csv(grebe_context *ctx, const struct text_input *in, const void *options,
                             struct ArrowArrayStream *out, grebe_error *err)
{
    return text_csv_open(ctx, in, options, out, err);
}

static void gives_with(struct text_csv_options o, const char *text, const char *expected)
{
    struct text_csv_options small = o, tiny = o;
    small.sizes.block_bytes = 16;
    tiny.sizes.block_bytes = 1;
    const void *options[] = { &o, &small, &tiny };
    case_gives(open_csv, options, 3, text, strlen(text), expected);
}

static void gives(const char *text, const char *expected)
{
    gives_with(TEXT_CSV_OPTIONS_INIT, text, expected);
}

static void fails(const char *text, const char *fragment)
{
    case_fails(open_csv, NULL, text, strlen(text), GREBE_ECORRUPT, fragment);
}

static void test_csv__quotes_and_line_ends__as_rfc_4180(void **state)
{
    (void)state;
    const char *rows = "a:int64,b:string\n{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n";
    gives("a,b\n1,x\n2,y\n", rows);
    gives("a,b\n1,x\n2,y", rows);
    gives("a,b\r\n1,x\r\n2,y\r\n", rows);
    gives("a,b\r1,x\r2,y\r", rows);
    gives("a,b\r1,x\r2,y", rows);
    gives("\xef\xbb\xbf" "a,b\n1,x\n2,y\n", rows);
    gives("\n\r\na,b\n\n1,x\n\r\n2,y\n\n", rows);
    gives("\"a\",\"b\"\n\"1\",\"x\"\n\"2\",y\n", rows);
    gives("a,b\n1,\"p,q\"\n2,\"say \"\"hi\"\"\"\n3,\"\"\"\"\n4,\"one\ntwo\r\nthree\"\n5,\"\"\n6,\n7,5\" disk\n",
          "a:int64,b:string\n{\"a\":1,\"b\":\"p,q\"}\n{\"a\":2,\"b\":\"say \\\"hi\\\"\"}\n"
          "{\"a\":3,\"b\":\"\\\"\"}\n{\"a\":4,\"b\":\"one\\ntwo\\r\\nthree\"}\n{\"a\":5,\"b\":\"\"}\n"
          "{\"a\":6,\"b\":null}\n{\"a\":7,\"b\":\"5\\\" disk\"}\n");
    gives("a,b\n", "a:null,b:null\n");
    gives("a", "a:null\n");
    /* With one column an empty line is a row, as the writer has it. */
    gives("a\n1\n\n2\n", "a:int64\n{\"a\":1}\n{\"a\":null}\n{\"a\":2}\n");
    gives("a,a,,a_2,a\n1,2,3,4,5\n",
          "a:int64,a_2:int64,column_3:int64,a_2_2:int64,a_3:int64\n"
          "{\"a\":1,\"a_2\":2,\"column_3\":3,\"a_2_2\":4,\"a_3\":5}\n");
}

static void test_csv__delimiter__sniffed(void **state)
{
    (void)state;
    const char *rows = "a:string,b:int64\n{\"a\":\"1,5\",\"b\":2}\n{\"a\":\"x\",\"b\":3}\n";
    gives("a;b\n1,5;2\nx;3\n", rows);
    gives("a|b\n1,5|2\nx|3\n", rows);
    gives("a\tb\n1,5\t2\nx\t3\n", rows);
    gives("a,b\n\"1,5\",2\nx,3\n", rows);
    gives("a;b\n\"1,5\";2\n\"x\";3\n", rows);
    gives("a,b;c\n1;2,x\n\n3;4,y\n", "a:string,b;c:string\n{\"a\":\"1;2\",\"b;c\":\"x\"}\n"
                                      "{\"a\":\"3;4\",\"b;c\":\"y\"}\n");
    fails("a,b\n1,2\n3\n", "x:3:2: expected 2 fields, found 1");
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.delimiter = ',';
    case_fails(open_csv, &o, "a\n1,2\n", 6, GREBE_ECORRUPT, "x:2:3: expected 1 field, found 2");
    o.delimiter = '\t';
    gives_with(o, "a,b\tc\n1,2\t3\n", "a,b:string,c:int64\n{\"a,b\":\"1,2\",\"c\":3}\n");
}

/* What the first line does not have is no delimiter: later lines have it in their texts. */
static void test_csv__one_column__keeps_its_texts(void **state)
{
    (void)state;
    static const char others[] = ",;|\t";
    for (size_t i = 0; others[i] != '\0'; i++) {
        char text[96], rows[128], word[3] = { others[i], '\0', '\0' };
        const char *json = others[i] == '\t' ? "\\t" : word;
        snprintf(text, sizeof text, "text\nhello%c world\nfoo%c bar\n", others[i], others[i]);
        snprintf(rows, sizeof rows,
                 "text:string\n{\"text\":\"hello%s world\"}\n{\"text\":\"foo%s bar\"}\n", json, json);
        gives(text, rows);
    }
    gives("text\na,b;c|d\n\n\"x, y\"\n",
          "text:string\n{\"text\":\"a,b;c|d\"}\n{\"text\":null}\n{\"text\":\"x, y\"}\n");
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.is_decimal_comma = true;
    gives_with(o, "n\n1,5\n2\n", "n:double\n{\"n\":1.5}\n{\"n\":2.0}\n");
}

static void test_csv__sep_line__tells_the_delimiter(void **state)
{
    (void)state;
    const char *rows = "a:string,b:int64\n{\"a\":\"x,y\",\"b\":2}\n";
    gives("sep=;\na;b\nx,y;2\n", rows);
    gives("\xef\xbb\xbfsep=:\r\na:b\r\nx,y:2\r\n", rows);
    gives("sep=\t\ra\tb\rx,y\t2\r", rows);
    gives("sep=a\n1\n", "sep=a:int64\n{\"sep=a\":1}\n");
    fails("sep=;\na;b\nx;2\ny\n", "x:4:2: expected 2 fields, found 1");
    fails("sep=;\n", "found nothing");
}

static void test_csv__other_encodings__named(void **state)
{
    (void)state;
    static const char little[] = "\xff\xfe" "a\0,\0b\0\n\0", big[] = "\xfe\xff\0a\0\n";
    static const char bare[] = "a\0\n\0001\0\n", bare_big[] = "\0a\0\n";
    const char *why = "x: UTF-16 is not read: convert it to UTF-8";
    case_fails(open_csv, NULL, little, sizeof little - 1, GREBE_EUNSUPPORTED, why);
    case_fails(open_csv, NULL, big, sizeof big - 1, GREBE_EUNSUPPORTED, why);
    case_fails(open_csv, NULL, bare, sizeof bare, GREBE_EUNSUPPORTED, why);
    case_fails(open_csv, NULL, bare_big, sizeof bare_big - 1, GREBE_EUNSUPPORTED, why);
    gives("a\nx\ny\n", "a:string\n{\"a\":\"x\"}\n{\"a\":\"y\"}\n");
    fails("a\nx\n\xe4\n", "x:3:1: expected UTF-8, found byte 0xe4 (encoding latin1 reads ISO 8859-1)");
    fails("\xe4\nx\n", "found bytes that are no UTF-8 (encoding latin1");
}

static void test_csv__types__widen_without_loss(void **state)
{
    (void)state;
    static const struct {
        const char *values, *type;
    } cases[] = {
        { "true\nFALSE\n\n", "bool" },
        { "1\n-2\n\n", "int64" },
        { "\"1\"\n2\n", "int64" },
        { "9223372036854775807\n-9223372036854775808\n", "int64" },
        { "9223372036854775808\n1\n", "uint64" },
        { "18446744073709551615\n", "uint64" },
        { "18446744073709551616\n", "string" },
        { "9223372036854775808\n-1\n", "string" },
        { "1\n1.5\n", "double" },
        { "1.10\n-0\n1e5\n.5\n2.\nNaN\n-inf\nInfinity\n", "double" },
        { "9007199254740992\n1.5\n", "double" },
        { "9007199254740993\n1.5\n", "string" },
        { "1e999\n", "string" },
        { "007\n", "string" },
        { "+5\n", "string" },
        { "-01\n", "string" },
        { "00.5\n", "string" },
        { "1 \n", "string" },
        { "1_000\n", "string" },
        { "0x10\n", "string" },
        { "1e\n", "string" },
        { "-\n", "string" },
        { ".\n", "string" },
        { "true\n1\n", "string" },
        { "\"\"\n1\n", "string" },
        { "1\nx\n", "string" },
        { "2024-02-29\n0001-01-01\n9999-12-31\n", "date32" },
        { "2023-02-29\n", "string" },
        { "2024-13-01\n", "string" },
        { "0000-01-01\n", "string" },
        { "2024-1-01\n", "string" },
        { "2024-02-29\n2024-02-29T01:02\n", "timestamp[us]" },
        { "2024-02-29 01:02:03.123456\n", "timestamp[us]" },
        { "2024-02-29 01:02:03.123456000\n", "timestamp[us]" },
        { "2024-02-29 01:02:03.1234567\n", "string" },
        { "2024-02-29T24:00:00\n", "string" },
        { "2024-02-29T01:02:60\n", "string" },
        { "2024-02-29T01:02:03Z\n2024-02-29T01:02:03.5+01:30\n", "timestamp[us, tz=UTC]" },
        { "2024-02-29T01:02:03Z\n2024-02-29T01:02:03\n", "string" },
        { "2024-02-29T01:02:03.\n", "string" },
        { "2024-02-29T01:02:03+99:00\n", "string" },
        { "2024-02-29\n1\n", "string" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_context *ctx = case_context(NULL, 1);
        struct buf text = BUF_INIT(mem_system()), got = BUF_INIT(mem_system());
        assert_ok(buf_printf(&text, &err, "c\n%s", cases[i].values));
        struct text_case c = { (char *)text.data, text.len, 0, 0, 0 };
        assert_ok(case_run(ctx, &c, open_csv, NULL, &got, &err));
        assert_non_null(buf_text(&got));
        got.data[strcspn((char *)got.data, "\n")] = 0;
        if (strcmp((char *)got.data + 2, cases[i].type) != 0) {
            fail_msg("%s: expected %s, found %s", cases[i].values, cases[i].type,
                     (char *)got.data + 2);
        }
        buf_release(&text);
        buf_release(&got);
        context_free(ctx);
    }
}

static void test_csv__values__exact(void **state)
{
    (void)state;
    gives("b,i,u,d,s\nTrue,-9223372036854775808,18446744073709551615,0.1,007\nfalse,5,0,1,+5\n,,,,\n",
          "b:bool,i:int64,u:uint64,d:double,s:string\n"
          "{\"b\":true,\"i\":-9223372036854775808,\"u\":18446744073709551615,\"d\":0.1,\"s\":\"007\"}\n"
          "{\"b\":false,\"i\":5,\"u\":0,\"d\":1.0,\"s\":\"+5\"}\n"
          "{\"b\":null,\"i\":null,\"u\":null,\"d\":null,\"s\":null}\n");
    gives("d,t,z\n1969-12-31,1969-12-31T23:59:59.5,2024-03-01T00:30:00+01:00\n"
          "2000-02-29,2000-02-29,1970-01-01T00:00:00Z\n",
          "d:date32,t:timestamp[us],z:timestamp[us, tz=UTC]\n"
          "{\"d\":\"1969-12-31\",\"t\":\"1969-12-31T23:59:59.500000\",\"z\":\"2024-02-29T23:30:00Z\"}\n"
          "{\"d\":\"2000-02-29\",\"t\":\"2000-02-29T00:00:00\",\"z\":\"1970-01-01T00:00:00Z\"}\n");
}

static void test_csv__damage__named_with_its_place(void **state)
{
    (void)state;
    fails("", "x: expected a line with the names of the columns, found nothing");
    fails("\n\n", "found nothing");
    fails("a,b\n1,2\n3\n", "x:3:2: expected 2 fields, found 1");
    fails("a,b\n1,2\n\n3,4,5\n", "x:4:5: expected 2 fields, found 3");
    fails("a,b\r\n1,\"q\r\n\"\r\n\xc3\xa4,4,5\r\n", "x:4:5: expected 2 fields, found 3");
    fails("a,b\n1,\"2\n3,4\n", "x:2:3: expected a closing quote");
    fails("a,b\n1,\"2\"x\n", "x:2:6: expected a separator or the end of the line behind the closing quote, found \"x\"");
    fails("a,b\n1,\xff\n", "x:2:3: expected UTF-8, found byte 0xff");
    fails("\xff,b\n1,2\n", "expected the name of column 1");
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.sizes.sample_bytes = 4096;
    grebe_context *ctx = case_context(NULL, 2);
    struct buf text = BUF_INIT(mem_system()), got = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(buf_put_text(&text, "a,b\n", &err));
    for (int i = 0; i < 100000; i++) { /* more than the sample, which is at least one read */
        assert_ok(buf_put_text(&text, "1,\n22,\n", &err));
    }
    size_t good = text.len;
    assert_ok(buf_put_text(&text, "x,\n", &err));
    struct text_case c = { (char *)text.data, text.len, 0, 4096, 0 };
    o.sizes.block_bytes = 65536;
    assert_fails(case_run(ctx, &c, open_csv, &o, &got, &err), GREBE_ECORRUPT,
                 "x:200002:1: column \"a\": expected int64, as the first rows are, found \"x\"");
    text.len = good;
    assert_ok(buf_put_text(&text, "1,late\n", &err));
    c = (struct text_case){ (char *)text.data, text.len, 0, 4096, 0 };
    buf_clear(&got);
    assert_fails(case_run(ctx, &c, open_csv, &o, &got, &err), GREBE_ECORRUPT,
                 "x:200002:3: column \"b\": expected null");
    buf_release(&text);
    buf_release(&got);
    context_free(ctx);
}

static void test_csv__options__honoured(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.header = TEXT_HEADER_NO;
    gives_with(o, "1,x\n2,y\n", "column_1:int64,column_2:string\n{\"column_1\":1,\"column_2\":\"x\"}\n"
                                "{\"column_1\":2,\"column_2\":\"y\"}\n");
    o = TEXT_CSV_OPTIONS_INIT;
    o.ragged = TEXT_RAGGED_FILL;
    gives_with(o, "a,b\n1\n2,3,4\n", "a:int64,b:int64\n{\"a\":1,\"b\":null}\n{\"a\":2,\"b\":3}\n");
    static const char *const nulls[] = { "NA", "" };
    o.nulls = nulls;
    o.n_nulls = 2;
    gives_with(o, "a,b\n1,NA\nNA,\"NA\"\n", "a:int64,b:string\n{\"a\":1,\"b\":null}\n{\"a\":null,\"b\":\"NA\"}\n");
}

static const char TRICKY[] = "\xef\xbb\xbfid;name;\"no\"\"te\"\r\n1;\"a;b\";2024-01-01\r\n2;\"line\r\nbreak\";"
                             "\r\n3;\"\"\"q\"\"\";2024-01-02\r4;\xc3\xa4;x\n";

static void test_csv__every_truncation__read_or_refused(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.sizes.block_bytes = 4;
    case_truncations(open_csv, &o, TRICKY, sizeof TRICKY - 1);
    case_truncations(open_csv, NULL, TRICKY, sizeof TRICKY - 1);
}

static void test_csv__no_memory__nothing_leaks(void **state)
{
    (void)state;
    case_memory(open_csv, NULL, TRICKY, sizeof TRICKY - 1);
}

static void test_csv__compressed__as_plain(void **state)
{
    (void)state;
    static const char text[] = "a,b\n1,x\n2,y\n";
    static const enum codec_id ids[] = { CODEC_GZIP, CODEC_ZSTD };
    for (size_t i = 0; i < 2; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());
        struct buf packed = BUF_INIT(mem_system());
        const void *options[] = { NULL };
        /* Two members: the second goes on in the middle of a row. */
        assert_ok(codec_compress(ids[i], CODEC_LEVEL_DEFAULT, text, 5, &packed, &ws, &err));
        assert_ok(codec_compress(ids[i], CODEC_LEVEL_DEFAULT, text + 5, sizeof text - 6, &packed,
                                 &ws, &err));
        case_gives(open_csv, options, 1, (char *)packed.data, packed.len,
                   "a:int64,b:string\n{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n");
        case_truncations(open_csv, NULL, (char *)packed.data, packed.len);
        case_memory(open_csv, NULL, (char *)packed.data, packed.len);
        case_fails(open_csv, NULL, (char *)packed.data, packed.len - 1, GREBE_ECORRUPT,
                   "ends early");
        packed.data[packed.len / 2] ^= 0xff;
        case_fails(open_csv, NULL, (char *)packed.data, packed.len, GREBE_ECORRUPT, "stream at byte");
        buf_release(&packed);
        codec_workspace_release(&ws);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv__quotes_and_line_ends__as_rfc_4180),
        cmocka_unit_test(test_csv__delimiter__sniffed),
        cmocka_unit_test(test_csv__one_column__keeps_its_texts),
        cmocka_unit_test(test_csv__sep_line__tells_the_delimiter),
        cmocka_unit_test(test_csv__other_encodings__named),
        cmocka_unit_test(test_csv__types__widen_without_loss),
        cmocka_unit_test(test_csv__values__exact),
        cmocka_unit_test(test_csv__damage__named_with_its_place),
        cmocka_unit_test(test_csv__options__honoured),
        cmocka_unit_test(test_csv__every_truncation__read_or_refused),
        cmocka_unit_test(test_csv__no_memory__nothing_leaks),
        cmocka_unit_test(test_csv__compressed__as_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
