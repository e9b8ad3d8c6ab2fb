/* SPDX-License-Identifier: Apache-2.0 */
/* Examples of tar archives: keys, decoders, missing fields, and what is refused. Features and rows as the library gives them. */
#include "builder/builder.h"

#include "builder_case.h"

#define ARCHIVE TEST_DATA "/data/archive/"

static grebe_status read_tar(struct fixture *f, const char *path, struct builder **b, struct case_rows *rows, grebe_error *failure)
{
    static struct builder_files files; /* borrowed by the builder of one test at a time */
    static struct builder_request request;
    static const char *paths[1];
    struct shard_reader reader = { 0 };
    paths[0] = path;
    files = (struct builder_files){ "train", paths, 1 };
    request = (struct builder_request){ .splits = &files, .n_splits = 1 };
    *b = NULL;
    grebe_status st = builder_open(f->ctx, builder_find("webdataset"), &request, b, failure);
    st = st == GREBE_OK ? builder_infer(*b, failure) : st;
    st = st == GREBE_OK ? (*b)->ops->read(*b, 0, 0, -1, (struct shard_place){ 0 }, &reader, failure) : st;
    return st == GREBE_OK ? rows_of_reader(&reader, 0, rows, failure) : st;
}

static void examples(void **state)
{
    struct fixture *f = *state;
    struct builder *b = NULL;
    struct case_rows rows = CASE_ROWS_INIT;
    struct buf text = BUF_INIT(mem_system());
    grebe_error err;
    char expected[2048];
    assert_ok(read_tar(f, ARCHIVE "examples.tar", &b, &rows, &err));
    assert_ok(features_to_json(b->features, -1, 0, &text, &err));
    assert_string_equal(
        buf_text(&text),
        "{\"jpg\": {\"_type\": \"Image\"}, \"cls\": {\"dtype\": \"int64\", \"_type\": \"Value\"}, "
        "\"json\": {\"a\": {\"dtype\": \"int64\", \"_type\": \"Value\"}, \"b\": {\"t\": {\"dtype\": \"string\", \"_type\": "
        "\"Value\"}, \"l\": {\"feature\": {\"dtype\": \"float64\", \"_type\": \"Value\"}, \"_type\": \"List\"}}, \"n\": {\"dtype\": "
        "\"null\", \"_type\": \"Value\"}}, \"long.txt.gz\": {\"dtype\": \"string\", \"_type\": \"Value\"}, "
        "\"emb.npy\": {\"feature\": {\"feature\": {\"dtype\": \"float32\", \"_type\": \"Value\"}, \"_type\": \"List\"}, \"_type\": "
        "\"List\"}, \"ids.npy\": {\"feature\": {\"feature\": {\"dtype\": \"int16\", \"_type\": \"Value\"}, \"_type\": \"List\"}, "
        "\"_type\": \"List\"}, \"seg.bin\": {\"dtype\": \"binary\", \"_type\": \"Value\"}, "
        "\"__key__\": {\"dtype\": \"string\", \"_type\": \"Value\"}, \"__url__\": {\"dtype\": \"string\", \"_type\": \"Value\"}}");
    assert_int_equal(rows_n(&rows), 7);
    snprintf(expected, sizeof expected,
             "{\"jpg\": {\"bytes\": {\"$b64\": \"SjU=\"}, \"path\": \"d.x/s5.jpg\"}, \"cls\": 5, \"json\": {\"a\": 5, \"b\": {\"t\": "
             "\"2024-01-01\", \"l\": [5.0, 5.5]}, \"n\": null}, \"long.txt.gz\": null, \"emb.npy\": [[5.0, 0.10000000149011612], "
             "[2.0, 3.0]], \"ids.npy\": [[5, 6, 7], [8, 9, 10]], \"seg.bin\": {\"$b64\": \"Bf8=\"}, \"__key__\": \"d.x/s5\", "
             "\"__url__\": \"%s\"}\n", ARCHIVE "examples.tar");
    assert_memory_equal(rows_from(&rows, 5), expected, strlen(expected));
    assert_non_null(strstr(rows_from(&rows, 1), "\"long.txt.gz\": \"text 1 \xc3\xbc\""));
    check_places(b, 0, 0);
    builder_free(b);
    buf_release(&text);
    rows_release(&rows);
}

static void packed_values(void **state)
{
    struct fixture *f = *state;
    struct builder *b = NULL;
    struct case_rows rows = CASE_ROWS_INIT;
    grebe_error err;
    assert_ok(read_tar(f, ARCHIVE "packed.tar", &b, &rows, &err));
    static const char expected[] = "{\"mp\": {\"a\": 1, \"b\": [1.5, null], \"c\": -256}, \"cbor\": {\"x\": [100, -1], \"y\": 1.0}, ";
    assert_memory_equal(rows_from(&rows, 0), expected, sizeof expected - 1);
    builder_free(b);
    rows_release(&rows);
}

static void refused(void **state)
{
    static const struct {
        const char *name;
        grebe_status st;
        const char *message;
    } bad[] = { { "uneven.tar", GREBE_EINVAL, "expected the 2 fields" },
                { "twice.tar", GREBE_ECORRUPT, "twice" },
                { "empty.zip", GREBE_ENOTFOUND, "" } };
    struct fixture *f = *state;
    for (size_t i = 0; i < 3; i++) {
        struct builder *b = NULL;
        struct case_rows rows = CASE_ROWS_INIT;
        grebe_error err;
        char path[512];
        snprintf(path, sizeof path, ARCHIVE "%s", bad[i].name);
        assert_fails(read_tar(f, path, &b, &rows, &err), bad[i].st, bad[i].message);
        builder_free(b);
        rows_release(&rows);
    }
}

/* A field that the first examples do not have is left out, as the library does. */
static void further_fields(void **state)
{
    struct fixture *f = *state;
    struct builder *b = NULL;
    struct case_rows rows = CASE_ROWS_INIT;
    grebe_error err;
    assert_ok(read_tar(f, ARCHIVE "extra.tar", &b, &rows, &err));
    assert_int_equal(rows_n(&rows), 6);
    assert_memory_equal(rows_from(&rows, 5), "{\"txt\": \"y\", \"__key__\": \"9\"", 27);
    builder_free(b);
    rows_release(&rows);
}

/* Every byte of the archive changed: rows or an error. */
static void damaged(void **state)
{
    struct fixture *f = *state;
    char path[512];
    size_t len = 0;
    unsigned char *bytes = test_read_file(ARCHIVE "packed.tar", &len);
    snprintf(path, sizeof path, "%s/x.tar", f->folder);
    for (size_t i = 0; i < len; i++) {
        struct builder *b = NULL;
        struct case_rows rows = CASE_ROWS_INIT;
        grebe_error err;
        if (i % 512 > 100 && i % 512 < 345 && (i / 512) % 2 == 0) {
            continue; /* checked by a sum */
        }
        bytes[i] ^= 0x24;
        test_write_file(path, bytes, len);
        bytes[i] ^= 0x24;
        grebe_status st = read_tar(f, path, &b, &rows, &err);
        assert_true(st != GREBE_ENOMEM);
        builder_free(b);
        rows_release(&rows);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(examples, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(packed_values, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(refused, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(further_fields, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(damaged, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests_name("builder webdataset", tests, NULL, NULL);
}
