/* SPDX-License-Identifier: Apache-2.0 */
/* Loading through the public calls, against what the library `datasets` gives for the same files (tests/data/hfdatasets/load). */

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arrow/arrow_stream.h"
#include "base/arena.h"
#include "feature/features.h"
#include "grebe/dataset_load.h"
#include "test_rows_json.h"
#include "test_sha256.h"
#include "test_support.h"
#include "wire/json_python.h"

#define LOAD TEST_DATA "/data/hfdatasets/load/"

struct suite {
    grebe_context *ctx;
    char *cache;
    char *start; /* current folder before the test */
    size_t n_streams; /* cases compared as streams, too */
};

static grebe_error err;

static int set_up(void **state)
{
    struct suite *s = calloc(1, sizeof *s);
    assert_non_null(s);
    assert_ok(grebe_context_new(NULL, &s->ctx, &err));
    s->cache = test_folder_new();
    s->start = getcwd(NULL, 0);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct suite *s = *state;
    assert_int_equal(chdir(s->start), 0);
    grebe_context_free(s->ctx);
    test_folder_remove(s->cache);
    free(s->start);
    free(s);
    return 0;
}

/* ---- one call ---- */

/* A member of the call as JSON text, in the arena; NULL: it is not given. */
static const char *tree_text(struct arena *ar, const struct json_value *v)
{
    struct buf b = BUF_INIT(mem_system());
    if (v == NULL) {
        return NULL;
    }
    assert_ok(json_python_value(&b, v, -1, 0, &err));
    const char *text = arena_str(ar, (const char *)b.data, b.len);
    buf_release(&b);
    return text;
}

static void read_call(struct arena *ar, const struct json_value *call, grebe_load_options *o)
{
    static const char *const own[] = { "path", "name", "data_files", "data_dir", "split", "features", NULL };
    const struct json_value *name = json_get(call, "name"), *dir = json_get(call, "data_dir"), *split = json_get(call, "split");
    struct json_member *members = arena_array(ar, call->n + 1, sizeof *members);
    struct json_value options = { .type = JSON_OBJECT, .members = members };
    for (size_t i = 0; i < call->n; i++) {
        bool is_own = false;
        for (size_t k = 0; own[k] != NULL; k++) {
            is_own = is_own || strcmp(own[k], call->members[i].key) == 0;
        }
        if (!is_own) {
            members[options.n++] = call->members[i];
        }
    }
    o->config = name != NULL ? name->text : NULL;
    o->data_dir = dir != NULL ? dir->text : NULL;
    o->split = split != NULL ? split->text : NULL;
    o->data_files = tree_text(ar, json_get(call, "data_files"));
    o->features = tree_text(ar, json_get(call, "features"));
    o->format_options = tree_text(ar, &options);
}

static void put_rows(struct buf *text, struct ArrowArrayStream *stream)
{
    struct ArrowSchema schema;
    struct ArrowArray rows;
    grebe_status st;
    assert_ok(stream_schema(stream, &schema, &err));
    while ((st = stream_next(stream, &rows, &err)) == GREBE_OK) {
        assert_ok(array_check(&schema, &rows, true, &err));
        for (int64_t i = 0; i < rows.length; i++) {
            put_value(text, &schema, &rows, i);
            assert_ok(buf_put_byte(text, '\n', &err));
        }
        array_release(&rows);
    }
    assert_int_equal(st, GREBE_END);
    schema_release(&schema);
    stream_release(stream);
}

/* As text, where a csv's large strings are strings. */
static char *features_text(const char *json, const struct json_value *tree)
{
    struct features *f = NULL;
    struct buf b = BUF_INIT(mem_system());
    char *found;
    assert_ok(tree != NULL ? features_from_tree(mem_system(), tree, &f, &err)
                           : features_from_json(mem_system(), json, strlen(json), &f, &err));
    assert_ok(features_to_json(f, -1, 0, &b, &err));
    char *copy = strdup(buf_text(&b));
    while ((found = strstr(copy, "large_string")) != NULL) {
        memmove(found, found + 6, strlen(found + 6) + 1);
    }
    buf_release(&b);
    features_free(f);
    return copy;
}

static bool split_agrees(const char *name, const grebe_dataset *ds, const struct json_value *e)
{
    grebe_dataset_info info;
    struct ArrowArrayStream stream;
    struct buf text = BUF_INIT(mem_system());
    char hex[65];
    int64_t n = 0;
    grebe_dataset_get_info(ds, &info);
    assert_true(json_i64(json_get(e, "num_rows"), &n));
    bool is_same = info.n_rows == n;
    if (!is_same) {
        print_message("%s: expected %lld rows, found %lld\n", name, (long long)n, (long long)info.n_rows);
    }
    if (json_get(e, "features") != NULL) {
        char *x = features_text(info.features, NULL), *y = features_text(NULL, json_get(e, "features"));
        if (strcmp(x, y) != 0) {
            print_message("%s: features: expected %s\n                    found %s\n", name, y, x);
            is_same = false;
        }
        free(x);
        free(y);
    }
    assert_ok(grebe_dataset_scan(ds, NULL, 0, 0, NULL, &stream, &err));
    put_rows(&text, &stream);
    test_sha256(text.data != NULL ? (const void *)text.data : "", text.len, hex);
    if (json_get(e, "sha256") != NULL && strcmp(hex, json_get(e, "sha256")->text) != 0) {
        print_message("%s: other rows: %.300s\n", name, buf_text(&text));
        is_same = false;
    }
    buf_release(&text);
    return is_same;
}

static bool splits_agree(const char *name, const grebe_dataset_dict *dict, const struct json_value *splits)
{
    bool is_same = grebe_dataset_dict_len(dict) == splits->n;
    for (size_t i = 0; is_same && i < splits->n; i++) {
        is_same = strcmp(grebe_dataset_dict_name(dict, i), splits->members[i].key) == 0;
    }
    if (!is_same) {
        print_message("%s: other splits\n", name);
    }
    for (size_t i = 0; is_same && i < splits->n; i++) {
        is_same = split_agrees(name, grebe_dataset_dict_get(dict, i), &splits->members[i].value);
    }
    return is_same;
}

/* Types of csv are not known before rows are read, so a stream gives rows as each file has them: equal to the library's as values of
 * Python (2 and 2.0, members in any order, or missing where null), not as text. */
static bool is_as_found(const char *name)
{
    static const char *const names[] = { "csv_chunk_null_then_int", "csv_two_files_reordered", "csv_two_files_missing",
                                         "csv_two_files_types" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The same files as streams: the same rows, if the library says so. */
static bool streams_agree(struct suite *s, const char *name, const char *path, const grebe_load_options *o,
                          const struct json_value *splits)
{
    grebe_iterable_dict *dict = NULL;
    bool is_same = true;
    grebe_status st = grebe_iterable_load(s->ctx, path, o, &dict, &err);
    for (size_t i = 0; st == GREBE_OK && i < splits->n; i++) {
        struct buf text = BUF_INIT(mem_system());
        grebe_iterator *iter = NULL;
        const struct json_value *sha = json_get(&splits->members[i].value, "sha256");
        char hex[65];
        assert_string_equal(grebe_iterable_dict_name(dict, i), splits->members[i].key);
        st = grebe_iterator_new(grebe_iterable_dict_get(dict, i), NULL, NULL, &iter, &err);
        while (st == GREBE_OK) {
            struct ArrowArray rows = { 0 };
            struct ArrowSchema schema = { 0 };
            st = grebe_iterator_next(iter, 0, &rows, &schema, &err);
            bool is_end = rows.release == NULL;
            for (int64_t k = 0; !is_end && k < rows.length; k++) {
                put_value(&text, &schema, &rows, k);
                assert_ok(buf_put_byte(&text, '\n', &err));
            }
            array_release(&rows);
            schema_release(&schema);
            if (is_end) {
                break;
            }
        }
        test_sha256(text.data != NULL ? (const void *)text.data : "", text.len, hex);
        if (st == GREBE_OK && sha != NULL && strcmp(hex, sha->text) != 0) {
            print_message("%s: other rows as a stream: %.300s\n", name, buf_text(&text));
            is_same = false;
        }
        grebe_iterator_free(iter);
        buf_release(&text);
    }
    grebe_iterable_dict_free(dict);
    if (st != GREBE_OK) {
        print_message("%s: as a stream: %s\n", name, err.message);
    }
    return is_same && st == GREBE_OK;
}

/* Whether the case is as the library has it; cases with `ours` are told in words and tested with the loaders. */
static bool run_case(struct suite *s, const struct json_value *c)
{
    struct arena ar = ARENA_INIT(mem_system());
    const char *name = json_get(c, "case")->text, *path = json_get(json_get(c, "call"), "path")->text;
    char folder[600];
    grebe_load_options o = GREBE_LOAD_OPTIONS_INIT;
    grebe_dataset_dict *dict = NULL;
    bool is_right = true;
    snprintf(folder, sizeof folder, LOAD "%s", json_get(c, "dir")->text);
    assert_int_equal(chdir(folder), 0);
    read_call(&ar, json_get(c, "call"), &o);
    o.cache_dir = s->cache;
    grebe_status st = grebe_dataset_load(s->ctx, path, &o, &dict, &err);
    if (json_get(c, "error") != NULL) {
        is_right = st != GREBE_OK;
    } else if (st == GREBE_EUNSUPPORTED && strstr(err.message, "is not built in") != NULL) {
        print_message("%s: left out: %s\n", name, err.message); /* a build without a codec, or without YAML */
    } else if (st != GREBE_OK) {
        print_message("%s: %s\n", name, err.message);
        is_right = false;
    } else {
        is_right = splits_agree(name, dict, json_get(c, "splits"));
    }
    if (is_right && st == GREBE_OK) { /* found again in the cache, the same */
        grebe_dataset_dict *again = NULL;
        assert_ok(grebe_dataset_load(s->ctx, path, &o, &again, &err));
        is_right = splits_agree(name, again, json_get(c, "splits"));
        grebe_dataset_dict_free(again);
        if (is_right && json_is_text(json_get(c, "streaming"), "same") && !is_as_found(name)) {
            s->n_streams++;
            is_right = streams_agree(s, name, path, &o, json_get(c, "splits"));
        }
    }
    grebe_dataset_dict_free(dict);
    arena_release(&ar);
    return is_right;
}

static void test_load__stored_cases__as_the_library(void **state)
{
    struct suite *s = *state;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *tree;
    size_t len, n = 0, n_wrong = 0;
    unsigned char *text = test_read_file(LOAD "expected.json", &len);
    assert_ok(json_parse(&ar, (char *)text, len, &tree, &err));
    const struct json_value *cases = json_get(tree, "cases");
    for (size_t i = 0; i < cases->n; i++) {
        const struct json_value *c = &cases->items[i];
        if (json_get(c, "ours") == NULL && strcmp(json_get(c, "case")->text, "parquet_types") != 0) {
            n++;
            n_wrong += !run_case(s, c);
        }
    }
    print_message("%zu cases, %zu wrong\n", n, n_wrong);
    assert_true(n > 180);
    assert_int_equal(n_wrong, 0);
    assert_true(s->n_streams > 140);
    arena_release(&ar);
    free(text);
}

/* ---- small folders of our own ---- */

/* Rows {"a": first … first + n - 1} as lines of JSON. */
static void put_lines(const char *folder, const char *name, int first, int n)
{
    char path[700], *text = malloc((size_t)n * 32 + 1);
    size_t len = 0;
    assert_non_null(text);
    for (int i = 0; i < n; i++) {
        len += (size_t)sprintf(text + len, "{\"a\": %d}\n", first + i);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, text, len);
    free(text);
}

static void put_text(const char *folder, const char *name, const char *text)
{
    char path[1300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
}

static grebe_dataset_dict *load(struct suite *s, const char *path, const grebe_load_options *o)
{
    grebe_dataset_dict *dict = NULL;
    assert_ok(grebe_dataset_load(s->ctx, path, o, &dict, &err));
    return dict;
}

static grebe_load_options options_of(const struct suite *s)
{
    grebe_load_options o = GREBE_LOAD_OPTIONS_INIT;
    o.cache_dir = s->cache;
    return o;
}

/* Column "a" of the one data set is first, first + 1, … */
static void assert_numbers(const grebe_dataset *ds, int64_t first, int64_t n)
{
    grebe_dataset_info info;
    struct ArrowArray rows;
    const char *column = "a";
    grebe_dataset_get_info(ds, &info);
    assert_int_equal(info.n_rows, n);
    if (n > 0) {
        assert_ok(grebe_dataset_read(ds, 0, n, &column, 1, &rows, &err));
        for (int64_t i = 0; i < n; i++) {
            const struct ArrowArray *a = rows.children[0];
            assert_int_equal(((const int64_t *)a->buffers[1])[a->offset + i], first + i);
        }
        array_release(&rows);
    }
}

static char *run(const char *command)
{
    static char line[4096];
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(line, 1, sizeof line - 1, f);
    pclose(f);
    line[n] = '\0';
    return line;
}

/* Files below the cache that are no locks. */
static int n_files(const struct suite *s)
{
    char command[900];
    snprintf(command, sizeof command, "find %s -type f ! -name '*.lock' | wc -l", s->cache);
    return atoi(run(command));
}

static void test_load__second_time__nothing_is_made_again(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new(), fingerprint[80];
    grebe_load_options o = options_of(s);
    grebe_dataset_info info;
    put_lines(folder, "train.jsonl", 0, 10);
    grebe_dataset_dict *dict = load(s, folder, &o);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    snprintf(fingerprint, sizeof fingerprint, "%s", info.fingerprint);
    assert_string_equal(info.split, "train");
    assert_int_equal(n_files(s), 2);
    struct stat before, after;
    assert_int_equal(stat(info.files[0], &before), 0);
    char *file = strdup(info.files[0]);
    grebe_dataset_dict_free(dict);

    dict = load(s, folder, &o);
    assert_int_equal(stat(file, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    assert_string_equal(info.fingerprint, fingerprint);
    grebe_dataset_dict_free(dict);

    o.mode = GREBE_LOAD_AGAIN;
    dict = load(s, folder, &o);
    assert_int_equal(stat(file, &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino);
    assert_int_equal(n_files(s), 2);
    grebe_dataset_dict_free(dict);
    o.mode = GREBE_LOAD_REUSE;

    /* another size or time: another entry */
    put_lines(folder, "train.jsonl", 0, 11);
    dict = load(s, folder, &o);
    assert_numbers(grebe_dataset_dict_get(dict, 0), 0, 11);
    assert_int_equal(n_files(s), 4);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    snprintf(fingerprint, sizeof fingerprint, "%s", info.fingerprint);
    grebe_dataset_dict_free(dict);

    /* the cache under another name: the same entries */
    char moved[700];
    snprintf(moved, sizeof moved, "%s.moved", s->cache);
    assert_int_equal(rename(s->cache, moved), 0);
    o.cache_dir = moved;
    dict = load(s, folder, &o);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    assert_string_equal(info.fingerprint, fingerprint);
    grebe_dataset_dict_free(dict);
    assert_int_equal(rename(moved, s->cache), 0);
    assert_int_equal(n_files(s), 4);
    free(file);
    test_folder_remove(folder);
}

static void test_load__damaged_entry__made_again(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new(), command[900];
    grebe_load_options o = options_of(s);
    put_lines(folder, "train.jsonl", 5, 4);
    grebe_dataset_dict_free(load(s, folder, &o));
    snprintf(command, sizeof command, "find %s -name '*.arrow' -delete; find %s -name dataset_info.json | wc -l", s->cache, s->cache);
    assert_int_equal(atoi(run(command)), 1);
    grebe_dataset_dict *dict = load(s, folder, &o);
    assert_numbers(grebe_dataset_dict_get(dict, 0), 5, 4);
    grebe_dataset_dict_free(dict);
    snprintf(command, sizeof command, "for f in $(find %s -name dataset_info.json); do echo '{' > $f; done", s->cache);
    run(command);
    dict = load(s, folder, &o);
    assert_numbers(grebe_dataset_dict_get(dict, 0), 5, 4);
    grebe_dataset_dict_free(dict);
    test_folder_remove(folder);
}

static void test_load__shards_and_threads__rows_in_order(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new(), name[40];
    grebe_dataset_info info;
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "part-%d.jsonl", i);
        put_lines(folder, name, i * 100, 100);
    }
    for (int32_t jobs = 0; jobs <= 9; jobs += 3) {
        grebe_load_options o = options_of(s);
        o.mode = GREBE_LOAD_AGAIN;
        o.n_jobs = jobs;
        o.max_shard_bytes = jobs == 3 ? 1 : 0; /* each block of rows is more than that */
        grebe_dataset_dict *dict = load(s, folder, &o);
        assert_numbers(grebe_dataset_dict_get(dict, 0), 0, 700);
        grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
        assert_int_equal(info.n_files, jobs == 0 ? 1 : jobs == 6 ? 6 : 7);
        grebe_dataset_dict_free(dict);
    }
    /* a part of the split opens only the files that it needs */
    grebe_load_options o = options_of(s);
    o.split = "train[250:320]";
    grebe_dataset_dict *dict = load(s, folder, &o);
    assert_numbers(grebe_dataset_dict_get(dict, 0), 250, 70);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    assert_int_equal(info.n_files, 2);
    assert_string_equal(info.split, "train[250:320]");
    grebe_dataset_dict_free(dict);
    test_folder_remove(folder);
}

static void test_load__split_expressions__rows_and_names(void **state)
{
    struct suite *s = *state;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *tree;
    size_t len;
    unsigned char *text = test_read_file(LOAD "split_grammar.json", &len);
    assert_ok(json_parse(&ar, (char *)text, len, &tree, &err));
    assert_int_equal(chdir(LOAD "_split_grammar"), 0);
    const struct json_value *cases = json_get(tree, "cases");
    for (size_t i = 0; i < cases->n; i++) {
        const struct json_value *ids = json_get(&cases->items[i], "ids");
        grebe_load_options o = options_of(s);
        grebe_dataset_dict *dict = NULL;
        grebe_dataset_info info;
        struct ArrowArray rows;
        read_call(&ar, json_get(tree, "call"), &o);
        o.split = json_get(&cases->items[i], "split")->text;
        grebe_status st = grebe_dataset_load(s->ctx, "csv", &o, &dict, &err);
        if (ids == NULL || ids->n == 0) {
            assert_true(st == GREBE_EINVAL || st == GREBE_ENOTFOUND);
            continue;
        }
        if (st != GREBE_OK) {
            fail_msg("%s: %s", o.split, err.message);
        }
        assert_int_equal(grebe_dataset_dict_len(dict), 1);
        const grebe_dataset *ds = grebe_dataset_dict_get(dict, 0);
        grebe_dataset_get_info(ds, &info);
        assert_string_equal(info.split, json_get(&cases->items[i], "name")->text);
        assert_string_equal(grebe_dataset_dict_name(dict, 0), info.split);
        assert_int_equal(info.n_rows, ids->n);
        assert_ok(grebe_dataset_read(ds, 0, info.n_rows, NULL, 0, &rows, &err));
        for (size_t k = 0; k < ids->n; k++) {
            int64_t id;
            const struct ArrowArray *a = rows.children[0];
            assert_true(json_i64(&ids->items[k], &id));
            assert_int_equal(((const int64_t *)a->buffers[1])[a->offset + (int64_t)k], id);
        }
        array_release(&rows);
        grebe_dataset_dict_free(dict);
    }
    arena_release(&ar);
    free(text);
}

/* ---- what goes wrong ---- */

static void test_load__null_before_type__widened(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new();
    grebe_load_options o = options_of(s);
    grebe_dataset_info info;
    put_text(folder, "a.jsonl", "{\"x\": null, \"l\": []}\n{\"x\": null, \"l\": []}\n");
    put_text(folder, "b.jsonl", "{\"x\": \"text\", \"l\": [{\"y\": 1}]}\n");
    put_text(folder, "c.jsonl", "{\"x\": \"more\", \"l\": null}\n");
    grebe_dataset_dict *dict = load(s, folder, &o);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    assert_int_equal(info.n_rows, 4);
    assert_non_null(strstr(info.features, "\"x\": {\"dtype\": \"string\""));
    assert_non_null(strstr(info.features, "\"y\": {\"dtype\": \"int64\""));
    grebe_dataset_dict_free(dict);
    test_folder_remove(folder);
}

static void test_load__files_of_other_columns__error_names_file_and_column(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new();
    grebe_load_options o = options_of(s);
    grebe_dataset_dict *dict = NULL;
    put_text(folder, "a.csv", "x,y\n1,2\n3,4\n");
    put_text(folder, "b.csv", "x,z\n1,2\n3,4\n");
    assert_fails(grebe_dataset_load(s->ctx, folder, &o, &dict, &err), GREBE_ESCHEMA, "b.csv");
    assert_non_null(strstr(err.message, "\"z\""));
    assert_null(dict);
    assert_int_equal(n_files(s), 0);
    put_text(folder, "b.csv", "x,y\n1,two\n3,4\n");
    assert_fails(grebe_dataset_load(s->ctx, folder, &o, &dict, &err), GREBE_ESCHEMA, "b.csv");
    assert_int_equal(n_files(s), 0);
    test_folder_remove(folder);
}

static void test_load__recorded_rows__verified_or_not(void **state)
{
    struct suite *s = *state;
    grebe_load_options o = options_of(s);
    grebe_dataset_dict *dict = NULL;
    if (!GREBE_HAVE_YAML) {
        skip();
    }
    assert_fails(grebe_dataset_load(s->ctx, LOAD "folder_info_wrong_size", &o, &dict, &err), GREBE_ESCHEMA,
                 "recorded with 3 rows, found 1");
    assert_int_equal(n_files(s), 0);
    o.skip_verification = true;
    grebe_dataset_dict_free(load(s, LOAD "folder_info_wrong_size", &o));
}

static void refuse(struct suite *s, const char *path, const grebe_load_options *o, grebe_status status, const char *fragment)
{
    grebe_dataset_dict *dict = NULL;
    assert_fails(grebe_dataset_load(s->ctx, path, o, &dict, &err), status, fragment);
    assert_null(dict);
}

static void test_load__wrong_calls__refused(void **state)
{
    struct suite *s = *state;
    grebe_load_options o = options_of(s);
    refuse(s, "csv", &o, GREBE_EINVAL, "data_files or data_dir");
    refuse(s, "lance", &o, GREBE_EUNSUPPORTED, "lance");
    refuse(s, "nobody/nothing", &o, GREBE_ENOTFOUND, "hub");
    refuse(s, "/no/such/folder", &o, GREBE_ENOTFOUND, "/no/such/folder");
    refuse(s, "x.py", &o, GREBE_EUNSUPPORTED, "scripts");
    refuse(s, LOAD "folder_state", &o, GREBE_EINVAL, "load_from_disk");
    o.data_files = "[]";
    refuse(s, "csv", &o, GREBE_EINVAL, "empty");
    o.data_files = "{";
    refuse(s, "csv", &o, GREBE_EINVAL, "data_files");
    o.data_files = "\"https://example.org/x.csv\"";
    refuse(s, "csv", &o, GREBE_EUNSUPPORTED, "this machine");
    o.data_files = "\"no/such.csv\"";
    refuse(s, "csv", &o, GREBE_ENOTFOUND, "no/such.csv");
    o.data_files = "\"" LOAD "folder_glob/a1.csv\"";
    o.split = "train[";
    refuse(s, "csv", &o, GREBE_EINVAL, "expected name");
    o.split = "nope";
    refuse(s, "csv", &o, GREBE_ENOTFOUND, "one of train");
    o.split = NULL;
    o.format_options = "{\"seperator\": \";\"}";
    refuse(s, "csv", &o, GREBE_EINVAL, "nearest");
    o.format_options = "[]";
    refuse(s, "csv", &o, GREBE_EINVAL, "expected an object");
    o.format_options = NULL;
    o.features = "{\"a\": 1}";
    refuse(s, "csv", &o, GREBE_EINVAL, "features");
}

/* What the library prepared lies in the cache under its hub's name. */
static void test_load__hub_name__prepared_before_is_opened(void **state)
{
    struct suite *s = *state;
    char command[1500];
    grebe_load_options o = options_of(s);
    grebe_dataset_info info;
    snprintf(command, sizeof command, "cp -r %s/data/hfdatasets/cache/many_shards/csv %s/owner___name", TEST_DATA, s->cache);
    run(command);
    grebe_dataset_dict *dict = load(s, "owner/name", &o);
    assert_int_equal(grebe_dataset_dict_len(dict), 2);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    assert_int_equal(info.n_rows, 25);
    grebe_dataset_dict_free(dict);
    o.split = "train[4:11]+test";
    dict = load(s, "owner/name", &o);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    assert_int_equal(info.n_rows, 14);
    grebe_dataset_dict_free(dict);
    o.config = "other";
    refuse(s, "owner/name", &o, GREBE_ENOTFOUND, "config other");
    o.config = NULL;
    refuse(s, "owner/else", &o, GREBE_ENOTFOUND, "hub");
}

/* ---- processes ---- */

struct watcher {
    int n_calls;
    bool dies, waits;
};

static void see_progress(void *ctx, const grebe_progress *p)
{
    struct watcher *w = ctx;
    (void)p;
    w->n_calls++;
    if (w->waits) {
        usleep(20000);
    }
    if (w->dies) {
        raise(SIGKILL);
    }
}

/* In a process of its own; 0: it found the data set, 1: it made it, others: failures. */
static pid_t load_in_child(const struct suite *s, const char *folder, bool dies, rlim_t file_bytes)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid != 0) {
        return pid;
    }
    struct watcher w = { 0, dies, true };
    grebe_context *ctx = NULL;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_load_options o = options_of(s);
    grebe_dataset_dict *dict = NULL;
    grebe_dataset_info info = { 0 };
    call.progress = see_progress;
    call.progress_ctx = &w;
    o.call = &call;
    if (file_bytes > 0) {
        struct rlimit limit = { file_bytes, file_bytes };
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (grebe_context_new(NULL, &ctx, &err) != GREBE_OK) {
        _exit(10);
    }
    grebe_status st = grebe_dataset_load(ctx, folder, &o, &dict, &err);
    if (st == GREBE_OK) {
        grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    }
    _exit(st != GREBE_OK ? 20 : info.n_rows != 5000 ? 30 : w.n_calls > 0 ? 1 : 0);
}

static void test_load__processes_at_once__one_makes_it(void **state)
{
    struct suite *s = *state;
    enum { N = 6 };
    char *folder = test_folder_new();
    pid_t pids[N];
    int n_made = 0;
    put_lines(folder, "train.jsonl", 0, 5000);
    for (int i = 0; i < N; i++) {
        pids[i] = load_in_child(s, folder, false, 0);
    }
    for (int i = 0; i < N; i++) {
        int status = 0;
        waitpid(pids[i], &status, 0);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) <= 1);
        n_made += WEXITSTATUS(status);
    }
    assert_int_equal(n_made, 1);
    test_folder_remove(folder);
}

static void test_load__killed_preparer__nothing_of_it_is_trusted(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new(), command[900];
    grebe_load_options o = options_of(s);
    int status = 0;
    put_lines(folder, "train.jsonl", 0, 5000);
    waitpid(load_in_child(s, folder, true, 0), &status, 0);
    assert_true(WIFSIGNALED(status));
    snprintf(command, sizeof command, "find %s -name '*.incomplete' | wc -l", s->cache);
    assert_int_equal(atoi(run(command)), 1);
    snprintf(command, sizeof command, "find %s -name dataset_info.json | wc -l", s->cache);
    assert_int_equal(atoi(run(command)), 0);
    grebe_dataset_dict *dict = load(s, folder, &o);
    assert_numbers(grebe_dataset_dict_get(dict, 0), 0, 5000);
    grebe_dataset_dict_free(dict);
    snprintf(command, sizeof command, "find %s -name '*.incomplete' -o -name '.tmp*' | wc -l", s->cache);
    assert_int_equal(atoi(run(command)), 0);
    test_folder_remove(folder);
}

static void test_load__no_space__fails_and_leaves_nothing(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new();
    int status = 0;
    put_lines(folder, "train.jsonl", 0, 5000);
    waitpid(load_in_child(s, folder, false, 4096), &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 20);
    assert_int_equal(n_files(s), 0);
    waitpid(load_in_child(s, folder, false, 0), &status, 0);
    assert_int_equal(WEXITSTATUS(status), 1);
    test_folder_remove(folder);
}

static void cancel_at_once(void *ctx, const grebe_progress *p)
{
    (void)p;
    grebe_cancel_set(ctx);
}

static void test_load__cancelled__nothing_is_left(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new();
    grebe_load_options o = options_of(s);
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    put_lines(folder, "a.jsonl", 0, 5000);
    put_lines(folder, "b.jsonl", 5000, 5000);
    assert_ok(grebe_cancel_new(s->ctx, &call.cancel, &err));
    call.progress = cancel_at_once;
    call.progress_ctx = call.cancel;
    o.call = &call;
    refuse(s, folder, &o, GREBE_ECANCELLED, "");
    assert_int_equal(n_files(s), 0);
    grebe_cancel_free(call.cancel);
    test_folder_remove(folder);
}

static void test_load__every_allocation_fails_in_turn__nothing_left(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new();
    const char *readme = "---\nconfigs:\n- config_name: a\n  data_files:\n  - split: train\n    path: '*.jsonl'\n"
                         "dataset_info:\n  config_name: a\n  features:\n  - name: a\n    dtype: int32\n---\n";
    bool is_done = false;
    if (!GREBE_HAVE_YAML) {
        test_folder_remove(folder);
        skip();
    }
    put_lines(folder, "x.jsonl", 0, 20);
    put_text(folder, "README.md", readme);
    for (size_t at = 1; !is_done; at += at < 400 ? 1 : 7) {
        struct test_allocator t;
        grebe_context_options c = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *ctx = NULL;
        grebe_load_options o = options_of(s);
        grebe_dataset_dict *dict = NULL;
        test_allocator_init(&t);
        c.allocator = &t.a;
        c.threads = 1;
        assert_ok(grebe_context_new(&c, &ctx, &err));
        t.fail_at = t.n_calls + at;
        o.mode = GREBE_LOAD_AGAIN;
        o.split = "train[2:15]";
        grebe_status st = grebe_dataset_load(ctx, folder, &o, &dict, &err);
        t.fail_at = 0;
        if (st == GREBE_OK) {
            grebe_dataset_info info;
            grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
            assert_int_equal(info.n_rows, 13);
            is_done = t.n_calls < at;
        } else {
            assert_null(dict);
        }
        grebe_dataset_dict_free(dict);
        grebe_context_free(ctx);
        assert_int_equal(t.n_live, 0);
        is_done = is_done || (st == GREBE_OK && at > 3000);
    }
    char command[900];
    snprintf(command, sizeof command, "find %s -name '*.incomplete' | wc -l", s->cache);
    assert_int_equal(atoi(run(command)), 0);
    test_folder_remove(folder);
}

/* ---- streams ---- */

static int64_t sum_of_stream(const grebe_iterable *it, int64_t *n)
{
    grebe_iterator *iter = NULL;
    int64_t sum = 0;
    *n = 0;
    assert_ok(grebe_iterator_new(it, NULL, NULL, &iter, &err));
    for (;;) {
        struct ArrowArray rows = { 0 };
        struct ArrowSchema schema = { 0 };
        assert_ok(grebe_iterator_next(iter, 0, &rows, &schema, &err));
        if (rows.release == NULL) {
            schema_release(&schema);
            break;
        }
        const struct ArrowArray *a = rows.children[0];
        for (int64_t i = 0; i < rows.length; i++, ++*n) {
            sum += ((const int64_t *)a->buffers[1])[a->offset + i];
        }
        array_release(&rows);
        schema_release(&schema);
    }
    grebe_iterator_free(iter);
    return sum;
}

static void test_iterable_load__splits__rows_without_a_cache(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new();
    grebe_load_options o = options_of(s);
    grebe_iterable_dict *dict = NULL;
    int64_t n;
    put_lines(folder, "train-0.jsonl", 0, 10);
    put_lines(folder, "train-1.jsonl", 10, 10);
    put_lines(folder, "test.jsonl", 100, 3);
    assert_ok(grebe_iterable_load(s->ctx, folder, &o, &dict, &err));
    assert_int_equal(grebe_iterable_dict_len(dict), 2);
    assert_string_equal(grebe_iterable_dict_name(dict, 0), "train");
    assert_int_equal(grebe_iterable_num_shards(grebe_iterable_dict_get(dict, 0)), 2);
    assert_int_equal(sum_of_stream(grebe_iterable_dict_get(dict, 0), &n), 190);
    assert_int_equal(n, 20);
    assert_int_equal(sum_of_stream(grebe_iterable_dict_get(dict, 1), &n), 303);
    grebe_iterable_dict_free(dict);
    o.split = "test+train";
    assert_ok(grebe_iterable_load(s->ctx, folder, &o, &dict, &err));
    assert_int_equal(grebe_iterable_dict_len(dict), 1);
    assert_int_equal(sum_of_stream(grebe_iterable_dict_get(dict, 0), &n), 493);
    grebe_iterable *kept = grebe_iterable_keep(grebe_iterable_dict_get(dict, 0));
    grebe_iterable_dict_free(dict);
    assert_int_equal(sum_of_stream(kept, &n), 493); /* the stream owns what it needs */
    grebe_iterable_free(kept);
    o.split = "train[:5]";
    assert_fails(grebe_iterable_load(s->ctx, folder, &o, &dict, &err), GREBE_EINVAL, "whole splits");
    o.split = "nope";
    assert_fails(grebe_iterable_load(s->ctx, folder, &o, &dict, &err), GREBE_ENOTFOUND, "train, test");
    assert_null(dict);
    assert_int_equal(n_files(s), 0);
    test_folder_remove(folder);
}

static void test_iterable_load__recorded_rows__compared_at_the_end(void **state)
{
    struct suite *s = *state;
    grebe_load_options o = options_of(s);
    if (!GREBE_HAVE_YAML) {
        skip();
    }
    for (int skips = 0; skips < 2; skips++) {
        grebe_iterable_dict *dict = NULL;
        grebe_iterator *iter = NULL;
        struct ArrowArray rows = { 0 };
        struct ArrowSchema schema = { 0 };
        o.skip_verification = skips == 1;
        assert_ok(grebe_iterable_load(s->ctx, LOAD "folder_info_wrong_size", &o, &dict, &err));
        assert_ok(grebe_iterator_new(grebe_iterable_dict_get(dict, 0), NULL, NULL, &iter, &err));
        grebe_status st = grebe_iterator_next(iter, 1, &rows, &schema, &err);
        if (st == GREBE_OK) {
            assert_int_equal(rows.length, 1);
            array_release(&rows);
            schema_release(&schema);
            st = grebe_iterator_next(iter, 1, &rows, &schema, &err);
        }
        assert_int_equal(st, skips == 1 ? GREBE_OK : GREBE_ESCHEMA);
        if (skips == 0) {
            assert_non_null(strstr(err.message, "recorded with 3 rows, found 1"));
        }
        schema_release(&schema);
        grebe_iterator_free(iter);
        grebe_iterable_dict_free(dict);
    }
}

static void test_load__zip__loader_by_its_members(void **state)
{
    struct suite *s = *state;
    grebe_load_options o = options_of(s);
    grebe_dataset_info info;
    grebe_dataset_dict *dict = load(s, TEST_DATA "/data/hfdatasets/load_more/zip", &o);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    assert_int_equal(info.n_rows, 3);
    assert_non_null(strstr(info.info, "\"builder_name\": \"json\""));
    grebe_dataset_dict_free(dict);
}

/* ---- the cache ---- */

/* Rows of a stream of one batch as lines of JSON. */
static void lines_of(struct ArrowArrayStream *stream, struct buf *text)
{
    buf_clear(text);
    put_rows(text, stream);
    assert_non_null(buf_text(text));
}

static size_t count_of(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word)) {
        n++;
    }
    return n;
}

static void test_cache__list_and_remove__by_kind_age_and_bytes(void **state)
{
    struct suite *s = *state;
    char *folder = test_folder_new(), path[1100];
    struct buf text = BUF_INIT(mem_system());
    struct ArrowArrayStream stream;
    grebe_load_options o = options_of(s);
    grebe_cache_remove_options r = GREBE_CACHE_REMOVE_OPTIONS_INIT;
    grebe_dataset_info info;
    put_lines(folder, "train.jsonl", 0, 10);
    grebe_dataset_dict *dict = load(s, folder, &o);
    grebe_dataset_get_info(grebe_dataset_dict_get(dict, 0), &info);
    snprintf(path, sizeof path, "cp %s %.*s/cache-0123456789abcdef.arrow", info.files[0],
             (int)(strrchr(info.files[0], '/') - info.files[0]), info.files[0]);
    run(path);
    snprintf(path, sizeof path, "%.*s.incomplete", (int)(strrchr(info.files[0], '/') - info.files[0]), info.files[0]);
    mkdir(path, 0777);
    put_text(path, "x.arrow", "half");
    grebe_dataset_dict_free(dict);

    assert_ok(grebe_cache_list(s->ctx, s->cache, &stream, &err));
    lines_of(&stream, &text);
    assert_int_equal(count_of(buf_text(&text), "\n"), 3);
    assert_int_equal(count_of(buf_text(&text), "\"kind\": \"prepared\""), 1);
    assert_int_equal(count_of(buf_text(&text), "\"kind\": \"map\""), 1);
    assert_int_equal(count_of(buf_text(&text), "\"kind\": \"unfinished\""), 1);
    assert_int_equal(count_of(buf_text(&text), "\"rows\": 10"), 2);

    r.is_unfinished_only = true;
    r.is_dry_run = true;
    assert_ok(grebe_cache_remove(s->ctx, s->cache, &r, &stream, &err));
    lines_of(&stream, &text);
    assert_int_equal(count_of(buf_text(&text), "\"reason\": \"unfinished\""), 1);
    assert_int_equal(n_files(s), 4);
    r.is_dry_run = false;
    assert_ok(grebe_cache_remove(s->ctx, s->cache, &r, &stream, &err));
    stream_release(&stream);
    assert_int_equal(n_files(s), 3);

    r = (grebe_cache_remove_options)GREBE_CACHE_REMOVE_OPTIONS_INIT;
    r.older_than_us = INT64_C(3600) * 1000000;
    assert_ok(grebe_cache_remove(s->ctx, s->cache, &r, &stream, &err));
    lines_of(&stream, &text);
    assert_int_equal(text.len, 0);
    r.older_than_us = -1;
    r.path = "/";
    assert_fails(grebe_cache_remove(s->ctx, s->cache, &r, &stream, &err), GREBE_EINVAL, "does not lie");
    r.path = "";
    assert_fails(grebe_cache_remove(s->ctx, s->cache, &r, &stream, &err), GREBE_EINVAL, "is empty");
    r.path = NULL;
    assert_fails(grebe_cache_remove(s->ctx, "", &r, &stream, &err), GREBE_EINVAL, "empty text");
    r.max_bytes = 0;
    assert_ok(grebe_cache_remove(s->ctx, s->cache, &r, &stream, &err));
    lines_of(&stream, &text);
    assert_int_equal(count_of(buf_text(&text), "too many bytes"), 2);
    assert_int_equal(n_files(s), 0);
    dict = load(s, folder, &o);
    assert_numbers(grebe_dataset_dict_get(dict, 0), 0, 10);
    grebe_dataset_dict_free(dict);
    buf_release(&text);
    test_folder_remove(folder);
}

#define LOAD_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOAD_TEST(test_load__stored_cases__as_the_library),
        LOAD_TEST(test_load__second_time__nothing_is_made_again),
        LOAD_TEST(test_load__damaged_entry__made_again),
        LOAD_TEST(test_load__shards_and_threads__rows_in_order),
        LOAD_TEST(test_load__split_expressions__rows_and_names),
        LOAD_TEST(test_load__null_before_type__widened),
        LOAD_TEST(test_load__files_of_other_columns__error_names_file_and_column),
        LOAD_TEST(test_load__recorded_rows__verified_or_not),
        LOAD_TEST(test_load__wrong_calls__refused),
        LOAD_TEST(test_load__hub_name__prepared_before_is_opened),
        LOAD_TEST(test_load__processes_at_once__one_makes_it),
        LOAD_TEST(test_load__killed_preparer__nothing_of_it_is_trusted),
        LOAD_TEST(test_load__no_space__fails_and_leaves_nothing),
        LOAD_TEST(test_load__cancelled__nothing_is_left),
        LOAD_TEST(test_load__every_allocation_fails_in_turn__nothing_left),
        LOAD_TEST(test_iterable_load__splits__rows_without_a_cache),
        LOAD_TEST(test_iterable_load__recorded_rows__compared_at_the_end),
        LOAD_TEST(test_load__zip__loader_by_its_members),
        LOAD_TEST(test_cache__list_and_remove__by_kind_age_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
