/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files of every kind, cut everywhere and with every byte changed: read or refused with a place, and the same from a map on one thread
 * and on three, from single bytes, and (JSON) in place and by trees.
 */
#include "text_case.h"

#include "text/text_csv.h"
#include "text/text_json.h"

static grebe_status open_csv(grebe_context *ctx, const struct text_input *in, const void *options,
                             struct ArrowArrayStream *out, grebe_error *err)
{
    return text_csv_open(ctx, in, options, out, err);
}

static grebe_status open_json(grebe_context *ctx, const struct text_input *in, const void *options,
                              struct ArrowArrayStream *out, grebe_error *err)
{
    return text_json_open(ctx, in, options, out, err);
}

static const char *const csv_files[] = {
    "a,b,c\n1,2,3\n4,5,6\n7,8,9\n",
    "id,when,ok\r\n1,2024-01-01,true\r\n2,2024-02-29 01:02:03,false\r\n3,,TRUE\r\n",
    "\"q\"\"\",\"x\ny\"\n\"a,b\",1.5\n\"\",-2e10\n",
    "\xef\xbb\xbfn\xc3\xa4me;v\n\xe2\x82\xac;1,5\nx;2\n",
    "a|b\r1|2\r3|4",
    "x\n\n1\n18446744073709551615\n",
    "t,u\n2024-01-01T00:00:00Z,12345678901234567890123\n2024-01-01T00:00:00+01:00,7\n",
    "a,a,,a_2\n,,,\nNaN,inf,.5,1e400\n",
    "only\n",
    "l,m\n\"[1,2]\",007\n\"[]\",+5\n",
};

static const char *const tsv_files[] = {
    "a\tb\n1\t2\n3\t4\n",
    "a,b\tc\n1,2\t\"x\ty\"\n",
    "k\tv\r\n\t\r\n1\t2024-01-01\r\n",
    "n\xc3\xa4me\tv\n\xf0\x9f\x98\x80\t-1\n",
    "x\ty\n\"two\nlines\"\t\n\"\"\t\"\"\n",
    "i\tj\n9223372036854775807\t-9223372036854775808\n9223372036854775808\t0\n",
    "b\tc\ntrue\tTrue\nFALSE\tx\n",
    "d\te\n0.1\t1e-300\n123456789.987654321\t-0\n",
    "one\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
    "p\tq\tr\n\t\t\n\"\"\"\"\t'\t5\" disk\n",
};

static const char *const json_files[] = {
    "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n",
    "{\"s\":{\"x\":1.5,\"y\":[1,2]}}\n{\"s\":null}\n{\"s\":{\"y\":[]}}\n",
    "{\"u\":\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\"}\n{\"u\":\"\xc3\xa4\"}\n",
    "{\"n\":18446744073709551615}\n{\"n\":-1}\n{\"n\":1e400}\n",
    "{\"m\":1}\n{\"m\":\"x\"}\n{\"m\":[true,{\"k\":null}]}\n{\"m\":{}}\n",
    "[{\"a\":1},{\"a\":2.5} , {\"b\":[]}]\n",
    "{\"f\":\"NaN\"}\n{\"f\":0.1}\n{\"f\":\"-Infinity\"}\n",
    "{\"k\":1,\"k\":2}\n\n  {\"z\":0}\r\n",
    "{\"deep\":[[[[{\"x\":[1]}]]]]}\n{\"deep\":[]}\n",
    "{\"e\":{},\"l\":[{},{\"q\":false}]}\n{\"e\":{\"late\":1}}\n",
};

static grebe_status run(grebe_context *ctx, case_open_fn open, const void *options,
                        const char *text, size_t len, size_t step, struct buf *got)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct text_case c = { text, len, 0, step, 0 };
    buf_clear(got);
    grebe_status st = case_run(ctx, &c, open, options, got, &err);
    if (st != GREBE_OK) {
        assert_true(err.message[0] != '\0');
        assert_true(strncmp(err.message, "x:", 2) == 0 || st == GREBE_ELIMIT);
    }
    return st;
}

struct ways {
    grebe_context *one, *three;
    case_open_fn open;
    const void *options, *others; /* others: another way to the same rows */
    struct buf first, other;
};

/* All ways agree; case_print gives nothing where reading failed in the middle, so only whole readings compare rows. */
static void agree(struct ways *w, const char *text, size_t len)
{
    char *exact = malloc(len + 1); /* of its exact size, for the sanitizers */
    assert_non_null(exact);
    memcpy(exact, text, len);
    grebe_status st = run(w->one, w->open, w->options, exact, len, 0, &w->first);
    const struct {
        grebe_context *ctx;
        const void *options;
        size_t step;
    } ways[] = { { w->three, w->options, 0 }, { w->one, w->options, 1 }, { w->three, w->others, 0 } };
    for (size_t i = 0; i < 3; i++) {
        grebe_status other = run(ways[i].ctx, w->open, ways[i].options, exact, len, ways[i].step,
                                 &w->other);
        if (other != st) {
            fail_msg("way %zu: %s, not %s, of \"%.*s\"", i, grebe_status_name(other),
                     grebe_status_name(st), (int)len, exact);
        }
        if (st == GREBE_OK) {
            assert_string_equal(buf_text(&w->other), buf_text(&w->first));
        }
    }
    free(exact);
}

static void damage(struct ways *w, const char *const *files, size_t n)
{
    static const unsigned char flips[] = { 0x01, 0x20, 0x80, 0xff };
    w->one = case_context(NULL, 1);
    w->three = case_context(NULL, 3);
    w->first = w->other = BUF_INIT(mem_system());
    for (size_t i = 0; i < n; i++) {
        char text[256];
        size_t len = strlen(files[i]);
        assert_true(len < sizeof text);
        for (size_t k = 0; k <= len; k++) {
            agree(w, files[i], k);
        }
        for (size_t k = 0; k < len; k++) {
            for (size_t f = 0; f < sizeof flips; f++) {
                memcpy(text, files[i], len);
                text[k] = (char)(text[k] ^ flips[f]);
                agree(w, text, len);
            }
            text[k] = '\n';
            agree(w, text, len);
        }
    }
    buf_release(&w->first);
    buf_release(&w->other);
    context_free(w->one);
    context_free(w->three);
}

static void test_damage__csv__same_every_way(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT, small = TEXT_CSV_OPTIONS_INIT;
    small.sizes.block_bytes = 8;
    struct ways w = { .open = open_csv, .options = &o, .others = &small };
    damage(&w, csv_files, 10);
}

static void test_damage__tsv__same_every_way(void **state)
{
    (void)state;
    struct text_csv_options o = TEXT_CSV_OPTIONS_INIT, small;
    o.delimiter = '\t';
    small = o;
    small.sizes.block_bytes = 8;
    struct ways w = { .open = open_csv, .options = &o, .others = &small };
    damage(&w, tsv_files, 10);
}

static void test_damage__json_lines__same_every_way(void **state)
{
    (void)state;
    struct text_json_options o = { .is_lines = true }, by_tree = { .is_lines = true, .is_by_tree = true };
    struct ways w = { .open = open_json, .options = &o, .others = &by_tree };
    damage(&w, json_files, 10);
}

static void test_damage__json__same_every_way(void **state)
{
    (void)state;
    struct text_json_options o = { .sizes = { .block_bytes = 8 } };
    struct text_json_options by_tree = { .is_by_tree = true };
    struct ways w = { .open = open_json, .options = &o, .others = &by_tree };
    damage(&w, json_files, 10);
}

/* ---- one pass or two ---- */

/* Types that the first 256 KiB show and something later contradicts: as if all had been looked at first. */
static void test_damage__late_surprise__as_if_known(void **state)
{
    (void)state;
    static const struct {
        bool is_json;
        const char *head, *row, *late, *types;
    } cases[] = {
        { false, "a,b\n", "1,2024-01-01\n", "1.5,x\n", "a:double,b:string\n" },
        { false, "a,b\n", "1,\n", "18446744073709551615,true\n", "a:uint64,b:bool\n" },
        { true, "", "{\"a\":1,\"e\":{}}\n", "{\"a\":\"x\",\"e\":{\"k\":1},\"new\":[1]}\n",
          "a:string,e:struct<k: int64>,new:list<int64>\n" },
        { true, "", "{\"a\":[1,null],\"s\":{\"x\":null}}\n", "{\"a\":[{}],\"s\":{\"x\":1}}\n",
          "a:list<string>,s:struct<x: int64>\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct buf text = BUF_INIT(mem_system()), got = BUF_INIT(mem_system());
        grebe_context *ctx = case_context(NULL, 2);
        struct text_json_options json = { .is_lines = true };
        struct text_csv_options csv = TEXT_CSV_OPTIONS_INIT;
        assert_ok(buf_put_text(&text, cases[i].head, &err));
        while (text.len < 3 << 20) {
            assert_ok(buf_put_text(&text, cases[i].row, &err));
        }
        assert_ok(buf_put_text(&text, cases[i].late, &err));
        struct text_case c = { (char *)text.data, text.len, 0, 0, 0 };
        assert_ok(case_run(ctx, &c, cases[i].is_json ? open_json : open_csv,
                           cases[i].is_json ? (const void *)&json : &csv, &got, &err));
        *strchr((char *)got.data, '\n') = '\0';
        assert_int_equal(strncmp((char *)got.data, cases[i].types, strlen(cases[i].types) - 1), 0);
        buf_release(&text);
        buf_release(&got);
        context_free(ctx);
    }
}

/* A set token ends the opening. */
static void test_damage__cancelled_while_types_are_inferred__ends(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_cancel *cancel = NULL;
    struct ArrowArrayStream out = { 0 };
    grebe_context *ctx = case_context(NULL, 2);
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    assert_ok(grebe_cancel_new(ctx, &cancel, &err));
    grebe_cancel_set(cancel);
    call.cancel = cancel;
    struct text_input in = { .name = "x", .call = &call };
    assert_ok(region_wrap(ctx->a, "a,b\n1,2\n", 8, case_end, NULL, &in.map, &err));
    assert_fails(text_csv_open(ctx, &in, NULL, &out, &err), GREBE_ECANCELLED, "cancel");
    region_drop(in.map);
    assert_ok(region_wrap(ctx->a, "{\"a\":1}\n", 8, case_end, NULL, &in.map, &err));
    assert_fails(text_json_open(ctx, &in, NULL, &out, &err), GREBE_ECANCELLED, "cancel");
    region_drop(in.map);
    grebe_cancel_free(cancel);
    context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage__csv__same_every_way),
        cmocka_unit_test(test_damage__tsv__same_every_way),
        cmocka_unit_test(test_damage__json_lines__same_every_way),
        cmocka_unit_test(test_damage__json__same_every_way),
        cmocka_unit_test(test_damage__late_surprise__as_if_known),
        cmocka_unit_test(test_damage__cancelled_while_types_are_inferred__ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
