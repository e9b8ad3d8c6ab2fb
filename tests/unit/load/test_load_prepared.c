/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared folders that the library `datasets` left in its cache, and dataset_info.json as it writes it. */

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow/arrow_stream.h"
#include "load/load_cache.h"
#include "load/load_prepared.h"
#include "test_fixture.h"
#include "test_rows_json.h"

#define CACHE TEST_DATA "/data/hfdatasets/cache/"

static grebe_error err;

/* The one folder of a case. */
static void folder_of(const char *name, char *dst, size_t dst_len)
{
    char pattern[600];
    glob_t found;
    snprintf(pattern, sizeof pattern, CACHE "%s/csv/*/0.0.0/*", name);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(dst, dst_len, "%s", found.gl_pathv[0]);
    globfree(&found);
}

static struct prepared *read_folder(grebe_context *ctx, const char *name)
{
    char folder[700];
    struct io_store *store = NULL;
    struct prepared *p = NULL;
    folder_of(name, folder, sizeof folder);
    assert_ok(io_local_new(ctx, &store, &err));
    assert_ok(prepared_read(mem_system(), store, folder, &p, &err));
    for (size_t i = 0; i < p->n; i++) {
        for (size_t k = 0; k < p->splits[i].n_shards; k++) {
            struct io_info info;
            assert_ok(io_stat(store, p->splits[i].paths[k], &info, &err));
        }
    }
    io_store_free(store);
    return p;
}

static void test_prepared__folders_of_the_library__splits_shards_and_files(void **state)
{
    struct fixture *f = *state;
    struct prepared *p = read_folder(f->ctx, "plain");
    assert_int_equal(p->n, 2);
    assert_string_equal(p->splits[0].name, "train");
    assert_int_equal(p->splits[0].n_rows, 25);
    assert_int_equal(p->splits[0].n_shards, 1);
    assert_int_equal(p->splits[1].n_rows, 7);
    prepared_free(p);
    p = read_folder(f->ctx, "many_shards");
    assert_int_equal(p->splits[0].n_shards, 5);
    assert_int_equal(p->splits[0].shard_rows[4], 5);
    assert_int_equal(p->splits[1].n_shards, 2);
    assert_int_equal(p->splits[1].shard_rows[1], 2);
    prepared_free(p);
}

/* What is read of a stored dataset_info.json, written again: the same text. */
static void test_prepared__info__written_as_the_library_does(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = { "plain", "many_shards" };
    for (size_t i = 0; i < 2; i++) {
        struct prepared *p = read_folder(f->ctx, names[i]);
        struct buf text = BUF_INIT(mem_system());
        struct load_file source = { "x", 294, 0 };
        struct load_split_files split = { "train", { &source, 1, 1 } };
        struct builder_kind kind = { .name = "csv" };
        struct load_plan plan = { .ctx = f->ctx, .kind = &kind, .dataset_name = "csv", .config_name = "default",
                                  .files = { &split, 1 } };
        assert_ok(prepared_info_text(&plan, p->features, p->splits, p->n, &text, &err));
        assert_string_equal(buf_text(&text), p->info);
        buf_release(&text);
        prepared_free(p);
    }
}

static void refuse(grebe_context *ctx, const char *text, const char *fragment)
{
    struct io_store *store = NULL;
    struct io_writer *w = NULL;
    struct prepared *p = NULL;
    assert_ok(io_memory_new(ctx, &store, &err));
    assert_ok(io_create(store, "d/dataset_info.json", false, &w, &err));
    assert_ok(io_write(w, text, strlen(text), &err));
    assert_ok(io_writer_publish(w, true, &err));
    io_writer_free(w);
    assert_fails(prepared_read(mem_system(), store, "d", &p, &err), GREBE_ECORRUPT, fragment);
    assert_null(p);
    io_store_free(store);
}

#define INFO(splits) "{\"features\": {}, \"dataset_name\": \"x\", \"splits\": {" splits "}}"

static void test_prepared__hostile_info__refused(void **state)
{
    struct fixture *f = *state;
    refuse(f->ctx, "{", "dataset_info.json");
    refuse(f->ctx, "{\"features\": {}}", "splits");
    refuse(f->ctx, "{\"features\": {}, \"dataset_name\": \"../x\", \"splits\": {}}", "dataset_name");
    refuse(f->ctx, INFO("\"../a\": {\"num_examples\": 1, \"num_bytes\": 1}"), "expected name");
    refuse(f->ctx, INFO("\"a\": {\"num_examples\": -1, \"num_bytes\": 1}"), "num_examples");
    refuse(f->ctx, INFO("\"a\": {\"num_examples\": 1.5, \"num_bytes\": 1}"), "num_examples");
    refuse(f->ctx, INFO("\"a\": {\"num_examples\": 1, \"num_bytes\": 1, \"shard_lengths\": []}"), "shard_lengths");
    refuse(f->ctx, INFO("\"a\": {\"num_examples\": 1, \"num_bytes\": 1, \"shard_lengths\": [2, 3]}"), "add up");
    refuse(f->ctx,
           INFO("\"a\": {\"num_examples\": 1, \"num_bytes\": 1, \"shard_lengths\": [9223372036854775807, 9223372036854775807]}"),
           "numbers of rows");
}

static size_t count_of(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word)) {
        n++;
    }
    return n;
}

static void test_cache_list__cache_of_the_library__kinds_and_rows(void **state)
{
    struct fixture *f = *state;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray rows;
    struct buf text = BUF_INIT(mem_system());
    assert_ok(grebe_cache_list(f->ctx, CACHE "plain", &stream, &err));
    assert_ok(stream_schema(&stream, &schema, &err));
    assert_ok(stream_next(&stream, &rows, &err));
    for (int64_t i = 0; i < rows.length; i++) {
        put_value(&text, &schema, &rows, i);
        assert_ok(buf_put_byte(&text, '\n', &err));
    }
    const char *lines = buf_text(&text);
    assert_int_equal(rows.length, 8);
    assert_int_equal(count_of(lines, "\"kind\": \"prepared\""), 1);
    assert_int_equal(count_of(lines, "\"rows\": 32"), 1);
    assert_int_equal(count_of(lines, "\"kind\": \"map\"") + count_of(lines, "\"kind\": \"indices\""), 7);
    assert_true(count_of(lines, "\"kind\": \"indices\"") >= 1);
    assert_int_equal(count_of(lines, "\"dataset\": \"csv\""), 8);
    assert_int_equal(count_of(lines, "\"config\": \"default-"), 8);
    array_release(&rows);
    schema_release(&schema);
    stream_release(&stream);
    buf_release(&text);
}

#define CASE(t) cmocka_unit_test_setup_teardown(t, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_prepared__folders_of_the_library__splits_shards_and_files),
        CASE(test_prepared__info__written_as_the_library_does),
        CASE(test_prepared__hostile_info__refused),
        CASE(test_cache_list__cache_of_the_library__kinds_and_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
