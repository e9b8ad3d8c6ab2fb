/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of CSV, and types that are given. */
#include "text_case.h"

#include "text/text_csv.h"
#include "text/text_json.h"

static grebe_status open_csv(grebe_context *ctx, const struct text_input *in, const void *options,
                             struct ArrowArrayStream *out, grebe_error *err)
{
    return text_csv_open(ctx, in, options, out, err);
}

static grebe_status open_latin1(grebe_context *ctx, const struct text_input *in, const void *options,
                                struct ArrowArrayStream *out, grebe_error *err)
{
    struct text_input latin1 = *in;
    latin1.is_latin1 = true;
    return text_csv_open(ctx, &latin1, options, out, err);
}

static grebe_status open_json(grebe_context *ctx, const struct text_input *in, const void *options,
                              struct ArrowArrayStream *out, grebe_error *err)
{
    return text_json_open(ctx, in, options, out, err);
}

static void gives_from(case_open_fn open, struct text_csv_options o, const char *text,
                       const char *expected)
{
    struct text_csv_options small = o, tiny = o;
    small.sizes.block_bytes = 16;
    tiny.sizes.block_bytes = 1;
    const void *options[] = { &o, &small, &tiny };
    case_gives(open, options, 3, text, strlen(text), expected);
}

static void gives(struct text_csv_options o, const char *text, const char *expected)
{
    gives_from(open_csv, o, text, expected);
}

static void fails(struct text_csv_options o, const char *text, const char *fragment)
{
    case_fails(open_csv, &o, text, strlen(text), GREBE_ECORRUPT, fragment);
}

static void test_layout__quote_and_escape__as_told(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.quote = '\'';
    gives(o, "a,b\n'x,''y''',\"z\n", "a:string,b:string\n{\"a\":\"x,'y'\",\"b\":\"\\\"z\"}\n");
    o.quote = 0;
    gives(o, "a;b\n\"x;'y\n", "a:string,b:string\n{\"a\":\"\\\"x\",\"b\":\"'y\"}\n");
    o = TEXT_CSV_OPTIONS_INIT;
    o.escape = '\\';
    gives(o, "a,b\n\"x\\\"\\\\\",1\n\"\\q\"\"\",\\2\n\"two\\\nlines\",\"\"\n",
          "a:string,b:string\n{\"a\":\"x\\\"\\\\\",\"b\":\"1\"}\n{\"a\":\"q\\\"\",\"b\":\"2\"}\n"
          "{\"a\":\"two\\nlines\",\"b\":\"\"}\n");
    fails(o, "a,b\n\"x\\\",1\n", "x:2:1: expected a closing quote");
    o.escape = '^'; /* inside of quotes only, and no letters */
    gives(o, "a,b\n\"x^\"^n\",^N\n", "a:string,b:string\n{\"a\":\"x\\\"n\",\"b\":\"^N\"}\n");
    o.escape = '"'; /* as nothing */
    gives(o, "a,b\n\"x\"\"\",1\n", "a:string,b:int64\n{\"a\":\"x\\\"\",\"b\":1}\n");
}

/* As SELECT … INTO OUTFILE and COPY … TO write it. */
static void test_layout__backslash__as_databases_write_it(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    const char *rows = "a:int64,b:string\n{\"a\":1,\"b\":\"two\\nlines\\tand \\\\\"}\n"
                       "{\"a\":null,\"b\":null}\n{\"a\":3,\"b\":\"\\u0000\\r,5\\\" \"}\n"
                       "{\"a\":4,\"b\":\"N\"}\n{\"a\":5,\"b\":\"x\\ny\"}\n";
    o.escape = '\\';
    gives(o, "a,b\n1,two\\nlines\\tand \\\\\n\\N,\\N\n3,\\0\\r\\,5\" \n4,\"\\N\"\n5,x\\\ny\n", rows);
    gives(o, "a,b\n1,\"two\\nlines\\tand \\\\\"\n\\N,\n3,\"\\0\\r,5\\\" \"\n\"4\",\"N\"\n5,\"x\\\ny\"", rows);
    o.quote = 0;
    gives(o, "a,b\n1,two\\nlines\\tand \\\\\n\\N,\\N\n3,\\0\\r\\,5\" \n4,N\n5,x\\\ny\n", rows);
    gives(o, "a\\,b\nx\\", "a,b:string\n{\"a,b\":\"x\\\\\"}\n");
    fails(o, "a,b\n1,2\n\\N\n", "x:3:1: expected 2 fields, found 1"); /* no empty line */
    static const char *const nulls[] = { "NA" };
    o.nulls = nulls;
    o.n_nulls = 1;
    gives(o, "a,b\n\\N,\nNA,\\\\N\n", "a:null,b:string\n{\"a\":null,\"b\":\"\"}\n{\"a\":null,\"b\":\"\\\\N\"}\n");
    o.nulls = NULL;
    o.n_nulls = 0;
    o.quote = '\\'; /* no escape then */
    gives(o, "a,b\n\\x,\\\\n\\,1\n", "a:string,b:int64\n{\"a\":\"x,\\\\n\",\"b\":1}\n");
    static const char text[] = "a,b\n\\N,x\\,\n1,\"y\\\"\"\n\\,z,\\";
    o.quote = '"';
    case_truncations(open_csv, &o, text, sizeof text - 1);
    case_memory(open_csv, &o, text, sizeof text - 1);
}

static void test_layout__comments_and_skipped_lines__left_out(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.comment = '#';
    gives(o, "# one \"quote\n#two,\"\na,b\n1,#2\n#,,,\r\n3,\"x\n#y\"\n#end",
          "a:int64,b:string\n{\"a\":1,\"b\":\"#2\"}\n{\"a\":3,\"b\":\"x\\n#y\"}\n");
    o.skip_lines = 2;
    gives(o, "\"open\nb,c\na,b\n1,2\n", "a:int64,b:int64\n{\"a\":1,\"b\":2}\n");
    fails(o, "a,b\n", "expected a line with the names of the columns, found nothing");
    fails(o, "x\ny\na,b\n1,2\n3\n", "x:5:2: expected 2 fields, found 1");
}

static void test_layout__header__yes_no_auto(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.header = TEXT_HEADER_AUTO;
    gives(o, "a,b\n1,x\n", "a:int64,b:string\n{\"a\":1,\"b\":\"x\"}\n");
    gives(o, "1,x\n2,y\n", "column_1:int64,column_2:string\n{\"column_1\":1,\"column_2\":\"x\"}\n"
                           "{\"column_1\":2,\"column_2\":\"y\"}\n");
    gives(o, "x,2024-01-01\n", "column_1:string,column_2:date32\n"
                               "{\"column_1\":\"x\",\"column_2\":\"2024-01-01\"}\n");
    gives(o, "\"1\",x\n2,y\n", "1:int64,x:string\n{\"1\":2,\"x\":\"y\"}\n");
}

static void test_layout__numbers_with_comma__read(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.is_decimal_comma = true;
    gives(o, "a;b;c;d\n1,5;1.5;2024-01-01;-,5\n-2;x;2024-01-02;1e3\n",
          "a:double,b:string,c:date32,d:double\n{\"a\":1.5,\"b\":\"1.5\",\"c\":\"2024-01-01\",\"d\":-0.5}\n"
          "{\"a\":-2.0,\"b\":\"x\",\"c\":\"2024-01-02\",\"d\":1000.0}\n");
    gives(o, "a\n1\n2\n", "a:int64\n{\"a\":1}\n{\"a\":2}\n");
    gives(o, "a;b\n1.234,56;1.234.567\n-12.345,5;-1\n,5;100.200\n",
          "a:double,b:int64\n{\"a\":1234.56,\"b\":1234567}\n{\"a\":-12345.5,\"b\":-1}\n"
          "{\"a\":0.5,\"b\":100200}\n");
    static const char *const others[] = { "12.34", "0.123", "1.23,4", "1234.567", "1.234,5.678", "1..234", ".123",
                                          "1.234.", "-.123", "1.2345", "01.12.2026" };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[64], rows[96];
        snprintf(text, sizeof text, "a\n%s\n", others[i]);
        snprintf(rows, sizeof rows, "a:string\n{\"a\":\"%s\"}\n", others[i]);
        gives(o, text, rows);
    }
}

static void test_layout__blanks_and_latin1__read(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.is_trimmed = true;
    gives(o, "a , b\n 1,\tx y \n2  ,\" z \"\n , \n",
          "a:int64,b:string\n{\"a\":1,\"b\":\"x y\"}\n{\"a\":2,\"b\":\" z \"}\n{\"a\":null,\"b\":null}\n");
    o = TEXT_CSV_OPTIONS_INIT;
    gives_from(open_latin1, o, "n\xe4me,b\n\xff\xa0,1\n",
               "n\xc3\xa4me:string,b:int64\n{\"n\xc3\xa4me\":\"\xc3\xbf\xc2\xa0\",\"b\":1}\n");
}

static void test_layout__ragged__refused_filled_or_dropped(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    const char *text = "a,b\n1\n2,3,4\n5,6\n";
    fails(o, text, "x:2:2: expected 2 fields, found 1");
    o.ragged = TEXT_RAGGED_FILL;
    gives(o, text, "a:int64,b:int64\n{\"a\":1,\"b\":null}\n{\"a\":2,\"b\":3}\n{\"a\":5,\"b\":6}\n");
    static const char *const nulls[] = { "NA" };
    o.nulls = nulls;
    o.n_nulls = 1;
    gives(o, "a,b\nNA\nx,\n", "a:string,b:string\n{\"a\":null,\"b\":null}\n{\"a\":\"x\",\"b\":\"\"}\n");
    o.nulls = NULL;
    o.ragged = TEXT_RAGGED_DROP;
    gives(o, text, "a:int64,b:int64\n{\"a\":5,\"b\":6}\n");
}

/* Rows of a wide file that have next to nothing of it must not take memory without end. */
/* Nothing but empty strings: there is no text to write to. */
static void test_layout__empty_strings__kept(void **state)
{
    (void)state;
    char text[512] = "a,b\n", expected[512] = "a:string,b:string\n";
    for (int i = 0; i < 20; i++) {
        strcat(text, "\"\",x\n");
        strcat(expected, "{\"a\":\"\",\"b\":\"x\"}\n");
    }
    gives(TEXT_CSV_OPTIONS_INIT, text, expected);
}

static void test_layout__sparse_rows__limited(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    struct buf text = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    o.ragged = TEXT_RAGGED_FILL;
    o.sizes.block_bytes = 1 << 20;
    for (int i = 0; i < 20000; i++) {
        assert_ok(buf_put_text(&text, "c,", &err));
    }
    for (int i = 0; i < 1000; i++) {
        assert_ok(buf_put_text(&text, "\n1", &err));
    }
    case_fails(open_csv, &o, (char *)text.data, text.len, GREBE_ELIMIT,
               "expected rows that have most of the 20001 fields");
    buf_release(&text);
}

static void test_layout__sample__what_is_behind_must_fit(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.sizes.sample_lines = 2;
    fails(o, "a,b\n1,2\n3,\"\n\"\nx,2\n", "x:5:1: column \"a\": expected int64, as the first rows are, found \"x\"");
    gives(o, "a,b\n1,2\n3,4\n5,6\n", "a:int64,b:int64\n{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}\n{\"a\":5,\"b\":6}\n");
    fails(o, "a,b\n1,2\n3,4\n\"\",2\n", "found \"\"");
    o.sizes = (struct text_sizes){ .is_sample_all = true, .sample_bytes = 1 };
    gives(o, "a,b\n1,2\n3,4\nx,6\n", "a:string,b:int64\n{\"a\":\"1\",\"b\":2}\n{\"a\":\"3\",\"b\":4}\n{\"a\":\"x\",\"b\":6}\n");
}

/* ---- given types ---- */

/* "name:format" …; a format of '+w:N' is a list of floats. */
static void make_schema(struct ArrowSchema *out, const char *const *fields, size_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(schema_new(mem_system(), "+s", "", false, (int64_t)n, out, &err));
    for (size_t i = 0; i < n; i++) {
        char name[32];
        const char *format = strchr(fields[i], ':') + 1;
        snprintf(name, sizeof name, "%.*s", (int)(format - 1 - fields[i]), fields[i]);
        assert_ok(schema_new(mem_system(), format, name, true, format[0] == '+', out->children[i],
                             &err));
        if (format[0] == '+') {
            assert_ok(schema_new(mem_system(), "f", "item", true, 0, out->children[i]->children[0],
                                 &err));
        }
    }
}

static void test_given__csv__every_type(void **state)
{
    (void)state;
    static const struct {
        const char *type, *values, *expected; /* expected NULL: the last value is refused */
    } cases[] = {
        { "c", "127\n-128\n+07\n", "int8\n{\"x\":127}\n{\"x\":-128}\n{\"x\":7}\n" },
        { "c", "128\n", NULL },
        { "c", "-129\n", NULL },
        { "S", "65535\n0\n", "uint16\n{\"x\":65535}\n{\"x\":0}\n" },
        { "S", "65536\n", NULL },
        { "S", "-1\n", NULL },
        { "l", "-9223372036854775808\n", "int64\n{\"x\":-9223372036854775808}\n" },
        { "l", "9223372036854775808\n", NULL },
        { "l", "1.0\n", NULL },
        { "L", "18446744073709551615\n", "uint64\n{\"x\":18446744073709551615}\n" },
        { "f", "0.1\nnan\n-inf\n", "float\n{\"x\":0.1}\n{\"x\":\"NaN\"}\n{\"x\":\"-Infinity\"}\n" },
        { "f", "1e39\n", NULL },
        { "g", "9007199254740993\n007\n", "double\n{\"x\":9007199254740992.0}\n{\"x\":7.0}\n" },
        { "g", "1e999\n", NULL },
        { "g", "x\n", NULL },
        { "b", "1\n0\nTrue\n", "bool\n{\"x\":true}\n{\"x\":false}\n{\"x\":true}\n" },
        { "b", "2\n", NULL },
        { "u", "1\n\"\"\n", "string\n{\"x\":\"1\"}\n{\"x\":\"\"}\n" },
        { "U", "1\nx\n", "large_string\n{\"x\":\"1\"}\n{\"x\":\"x\"}\n" },
        { "tdD", "1969-12-31\n", "date32\n{\"x\":\"1969-12-31\"}\n" },
        { "tdD", "1969-13-31\n", NULL },
        { "tss:", "2024-01-01 00:00:01\n", "timestamp[s]\n{\"x\":\"2024-01-01T00:00:01\"}\n" },
        { "tss:", "2024-01-01 00:00:01.5\n", NULL },
        { "tsn:", "2024-01-01 00:00:01.000000001\n",
          "timestamp[ns]\n{\"x\":\"2024-01-01T00:00:01.000000001\"}\n" },
        { "tsn:", "9999-01-01\n", NULL },
        { "tsm:UTC", "2024-01-01T01:00:00+01:00\n",
          "timestamp[ms, tz=UTC]\n{\"x\":\"2024-01-01T00:00:00Z\"}\n" },
        { "tsm:UTC", "2024-01-01T01:00:00\n", NULL },
        { "ttu", "12:00:00.000001\n23:59\n",
          "time64[us]\n{\"x\":\"12:00:00.000001\"}\n{\"x\":\"23:59:00\"}\n" },
        { "tts", "24:00\n", NULL },
        { "d:5,2", "123.45\n-0.1\n+7\n100.000\n", "decimal128(5, 2)\n{\"x\":123.45}\n{\"x\":-0.10}\n{\"x\":7.00}\n{\"x\":100.00}\n" },
        { "d:5,2", "1000\n", NULL },
        { "d:5,2", "0.001\n", NULL },
        { "d:5,2", "1.2.3\n", NULL },
        { "d:5,2", ".\n", NULL },
        { "d:38,0", "-99999999999999999999999999999999999999\n",
          "decimal128(38, 0)\n{\"x\":-99999999999999999999999999999999999999}\n" },
        { "+w:2", "\"[1, 2.5]\"\n\n\"[null,-0.0]\"\n",
          "fixed_size_list<float>[2]\n{\"x\":[1.0,2.5]}\n{\"x\":null}\n{\"x\":[null,-0.0]}\n" },
        { "+w:2", "\"[1]\"\n", NULL },
        { "+l", "\"[1\"\n", NULL },
        { "+l", "\"[]\"\n\"[0.1]\"\n", "list<float>\n{\"x\":[]}\n{\"x\":[0.1]}\n" },
        { "n", "\n", "null\n{\"x\":null}\n" },
        { "n", "x\n", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ArrowSchema schema = { 0 };
        struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
        char field[16], text[256], expected[512];
        const char *fields[] = { field };
        snprintf(field, sizeof field, "x:%s", cases[i].type);
        snprintf(text, sizeof text, "x\n%s", cases[i].values);
        make_schema(&schema, fields, 1);
        o.schema = &schema;
        if (cases[i].expected == NULL) {
            grebe_context *ctx = case_context(NULL, 2);
            grebe_error err = GREBE_ERROR_INIT;
            struct buf got = BUF_INIT(mem_system());
            struct text_case c = { text, strlen(text), 0, 0, 0 };
            grebe_status st = case_run(ctx, &c, open_csv, &o, &got, &err);
            if (st != GREBE_ECORRUPT && st != GREBE_ESCHEMA) {
                fail_msg("%s: %s: %s", cases[i].type, cases[i].values, buf_text(&got));
            }
            buf_release(&got);
            context_free(ctx);
        } else {
            snprintf(expected, sizeof expected, "x:%s", cases[i].expected);
            gives(o, text, expected);
        }
        schema_release(&schema);
    }
}

static void test_given__csv__columns_by_name_or_place(void **state)
{
    (void)state;
    static const char *const fields[] = { "b:c", "a:u" };
    struct ArrowSchema schema = { 0 };
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    make_schema(&schema, fields, 2);
    o.schema = &schema;
    gives(o, "a,b,c\n1,2,3\n", "a:string,b:int8,c:int64\n{\"a\":\"1\",\"b\":2,\"c\":3}\n");
    o.header = TEXT_HEADER_NO;
    gives(o, "1,2,3\n", "b:int8,a:string,column_3:int64\n{\"b\":1,\"a\":\"2\",\"column_3\":3}\n");
    o.header = TEXT_HEADER_YES;
    fails(o, "a,b\n1,2\n3,x\n", "x:3:3: column \"b\": expected int8, as the schema has it, found \"x\"");
    case_fails(open_csv, &o, "a,c\n1,2\n", 8, GREBE_ENOTFOUND, "expected the columns of the schema");
    /* what was given non-null is held to it */
    schema.children[0]->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    case_fails(open_csv, &o, "a,b\n1,\n", 7, GREBE_ESCHEMA, "x: rows from line 2 on");
    schema_release(&schema);
    static const char *const binary[] = { "a:z" };
    make_schema(&schema, binary, 1);
    case_fails(open_csv, &o, "a\n1\n", 4, GREBE_EUNSUPPORTED, "field \"a\": expected a type that text can have, found binary");
    schema_release(&schema);
    (void)err;
}

/* Of a table's types those count that the text can use, and absent columns are not made. */
static void test_given__loose__only_what_is_there(void **state)
{
    (void)state;
    static const char *const fields[] = { "gone:l", "zip:u", "raw:z", "f:f" };
    struct ArrowSchema schema = { 0 };
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    make_schema(&schema, fields, 4);
    o.schema = &schema;
    o.is_schema_loose = true;
    gives(o, "id,zip,f\n1,90210,0.1\n", "id:int64,zip:string,f:float\n{\"id\":1,\"zip\":\"90210\",\"f\":0.1}\n");
    gives(o, "raw,f\nx,\n", "raw:string,f:float\n{\"raw\":\"x\",\"f\":null}\n");
    gives(o, "id\n1\n", "id:int64\n{\"id\":1}\n");
    fails(o, "f,zip\n1,2\nx,y\n", "x:3:1: column \"f\": expected float, as the schema has it, found \"x\"");
    o.header = TEXT_HEADER_NO;
    gives(o, "1,2\n", "column_1:int64,column_2:int64\n{\"column_1\":1,\"column_2\":2}\n");
    o.header = TEXT_HEADER_YES;
    case_memory(open_csv, &o, "zip,f\n1,2\n", 10);
    struct text_json_options json = TEXT_JSON_OPTIONS_INIT;
    json.schema = &schema;
    json.is_schema_loose = true;
    const void *options[] = { &json };
    const char *text = "{\"zip\":90210,\"id\":1}\n{\"f\":\"0.5\"}\n";
    case_gives(open_json, options, 1, text, strlen(text),
               "zip:string,id:int64,f:float\n{\"zip\":\"90210\",\"id\":1,\"f\":null}\n"
               "{\"zip\":null,\"id\":null,\"f\":0.5}\n");
    case_gives(open_json, options, 1, "[]", 2, "\n");
    case_fails(open_json, &json, "{\"f\":1}\n{\"f\":\"x\"}\n", 18, GREBE_ECORRUPT,
               "expected float, as the schema has it");
    case_memory(open_json, &json, text, strlen(text));
    schema_release(&schema);
}

static void test_given__json__fields_have_their_types(void **state)
{
    (void)state;
    static const char *const fields[] = { "d:tdD", "m:d:9,2", "v:+w:2", "s:u", "late:c" };
    struct ArrowSchema schema = { 0 };
    make_schema(&schema, fields, 5);
    const char *text = "{\"d\":\"2024-01-01\",\"m\":1.5,\"v\":[1,2],\"s\":1,\"x\":true}\n"
                       "{\"m\":\"2.25\",\"s\":{\"k\": [1]}}\n{\"s\":\"text\",\"v\":null}\n";
    for (int is_by_tree = 0; is_by_tree < 2; is_by_tree++) {
        struct text_json_options o = { .is_lines = true, .schema = &schema,
                                       .is_by_tree = is_by_tree != 0 };
        struct text_json_options tiny = o;
        tiny.sizes.block_bytes = 1;
        const void *options[] = { &o, &tiny };
        case_gives(open_json, options, 2, text, strlen(text),
                   "d:date32,m:decimal128(9, 2),v:fixed_size_list<float>[2],s:string,x:bool,late:int8\n"
                   "{\"d\":\"2024-01-01\",\"m\":1.50,\"v\":[1.0,2.0],\"s\":\"1\",\"x\":true,\"late\":null}\n"
                   "{\"d\":null,\"m\":2.25,\"v\":null,\"s\":\"{\\\"k\\\":[1]}\",\"x\":null,\"late\":null}\n"
                   "{\"d\":null,\"m\":null,\"v\":null,\"s\":\"text\",\"x\":null,\"late\":null}\n");
        case_fails(open_json, &o, "{\"d\":1}", 7, GREBE_ECORRUPT,
                   "x:1:6: expected date32, as the schema has it, found 1");
        case_fails(open_json, &o, "{\"v\":[1,\"x\"]}", 13, GREBE_ECORRUPT,
                   "x:1:9: expected float, as the schema has it, found x");
        case_fails(open_json, &o, "{\"v\":[1]}", 9, GREBE_ESCHEMA, "rows from line 1 on");
    }
    schema_release(&schema);
}

static void test_given__no_memory__nothing_leaks(void **state)
{
    (void)state;
    static const char *const fields[] = { "a:+w:2", "b:U", "c:d:9,2" };
    struct ArrowSchema schema = { 0 };
    static const char *const nulls[] = { "NA" };
    make_schema(&schema, fields, 3);
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT;
    o.schema = &schema;
    o.nulls = nulls;
    o.n_nulls = 1;
    o.sizes.block_bytes = 16;
    const char *csv = "a,b,c,d\n\"[1,2]\",x,1.5,1\nNA,y,NA,2\n\"[3,4]\",\"\",2,x\n";
    case_memory(open_csv, &o, csv, strlen(csv));
    struct text_json_options json = { .is_lines = true, .schema = &schema,
                                      .sizes = { .block_bytes = 16 } };
    const char *lines = "{\"a\":[1,2],\"b\":\"\\u00e9\"}\n{\"c\":1,\"m\":[1,\"x\"]}\n{\"e\":{}}\n";
    case_memory(open_json, &json, lines, strlen(lines));
    schema_release(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout__quote_and_escape__as_told),
        cmocka_unit_test(test_layout__backslash__as_databases_write_it),
        cmocka_unit_test(test_layout__comments_and_skipped_lines__left_out),
        cmocka_unit_test(test_layout__header__yes_no_auto),
        cmocka_unit_test(test_layout__numbers_with_comma__read),
        cmocka_unit_test(test_layout__blanks_and_latin1__read),
        cmocka_unit_test(test_layout__ragged__refused_filled_or_dropped),
        cmocka_unit_test(test_layout__empty_strings__kept),
        cmocka_unit_test(test_layout__sparse_rows__limited),
        cmocka_unit_test(test_layout__sample__what_is_behind_must_fit),
        cmocka_unit_test(test_given__csv__every_type),
        cmocka_unit_test(test_given__csv__columns_by_name_or_place),
        cmocka_unit_test(test_given__loose__only_what_is_there),
        cmocka_unit_test(test_given__json__fields_have_their_types),
        cmocka_unit_test(test_given__no_memory__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
