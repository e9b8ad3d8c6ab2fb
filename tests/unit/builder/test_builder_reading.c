/* SPDX-License-Identifier: Apache-2.0 */
/* Going on from places in small blocks, parts, filters, many files, options that are wrong, and no memory. */
#include "builder/builder.h"

#include <sys/resource.h>

#include "builder_case.h"
#include "codec/codec_compress.h"

#define FILES TEST_DATA "/data/builder_files/"
#define ARCHIVE TEST_DATA "/data/archive/"
#define LOAD TEST_DATA "/data/hfdatasets/load/"

struct opened {
    struct arena arena;
    const char *paths[1];
    struct builder_files files;
    struct builder_request request;
    const struct json_value *options;
    struct builder *b;
};

static grebe_status open_one(grebe_context *ctx, struct opened *o, const char *kind, const char *path, const char *options,
                             grebe_error *failure)
{
    grebe_error err;
    memset(o, 0, sizeof *o);
    o->arena = ARENA_INIT(mem_system());
    o->paths[0] = path;
    o->files = (struct builder_files){ "train", o->paths, 1 };
    o->request = (struct builder_request){ .splits = &o->files, .n_splits = 1 };
    if (options != NULL) {
        assert_ok(json_parse(&o->arena, options, strlen(options), &o->options, &err));
        o->request.options = o->options;
    }
    grebe_status st = builder_open(ctx, builder_find(kind), &o->request, &o->b, failure);
    return st == GREBE_OK ? builder_infer(o->b, failure) : st;
}

static void close_one(struct opened *o)
{
    builder_free(o->b);
    arena_release(&o->arena);
}

static void read_rows(struct opened *o, int64_t part, struct case_rows *rows)
{
    struct shard_reader reader = { 0 };
    grebe_error err;
    assert_ok(o->b->ops->read(o->b, 0, 0, part, (struct shard_place){ 0 }, &reader, &err));
    assert_ok(rows_of_reader(&reader, 0, rows, &err));
}

/* Number of batches of a file. */
static size_t batches_of(struct opened *o)
{
    struct shard_reader reader = { 0 };
    grebe_error err;
    size_t n = 0;
    assert_ok(o->b->ops->read(o->b, 0, 0, -1, (struct shard_place){ 0 }, &reader, &err));
    for (;; n++) {
        struct ArrowSchema schema = { 0 };
        struct ArrowArray rows = { 0 };
        grebe_status st = reader.ops->next(reader.self, &schema, &rows, &err);
        schema_release(&schema);
        array_release(&rows);
        if (st == GREBE_END) {
            break;
        }
        assert_int_equal(st, GREBE_OK);
    }
    shard_reader_free(&reader);
    return n;
}

/* ---- places ---- */

static char *make_csv(void)
{
    char *text = calloc(1, 16384);
    strcat(text, "a,b,c\n");
    for (int i = 0; i < 97; i++) {
        char line[96];
        snprintf(line, sizeof line, i % 5 == 0 ? "%d,\"q\n%d\",x\n" : "%d,%d.5,\n", i, i);
        strcat(text, line);
        strcat(text, i % 11 == 0 ? "\r\n" : "");
    }
    return text;
}

static char *make_json(const char *before, const char *between, const char *after)
{
    char *text = calloc(1, 32768);
    strcat(text, before);
    for (int i = 0; i < 97; i++) {
        char line[128];
        snprintf(line, sizeof line, "%s{\"a\": %d, \"s\": \"x,]}%d\", \"l\": [%d, {\"k\": null}]}", i > 0 ? between : "", i, i % 7, i);
        strcat(text, line);
    }
    strcat(text, after);
    return text;
}

static char *make_text(void)
{
    static const char *const breaks[] = { "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\n\n\n" };
    char *text = calloc(1, 8192);
    for (int i = 0; i < 97; i++) {
        char line[64];
        snprintf(line, sizeof line, "line %d%s", i, breaks[(i * 7) % 6]);
        strcat(text, line);
    }
    return text;
}

static void check_kind(struct fixture *f, const char *kind, const char *name, char *text, const char *options, size_t n_rows,
                       size_t n_batches)
{
    struct opened o;
    struct case_rows rows = CASE_ROWS_INIT;
    grebe_error err;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    test_write_file(path, text, strlen(text));
    assert_ok(open_one(f->ctx, &o, kind, path, options, &err));
    read_rows(&o, -1, &rows);
    assert_int_equal(rows_n(&rows), n_rows);
    size_t n = batches_of(&o);
    if (n < n_batches) {
        fail_msg("%s %s: %zu batches, at least %zu expected", kind, options, n, n_batches);
    }
    check_places(o.b, 0, 0);
    rows_release(&rows);
    close_one(&o);
    free(text);
}

static void places_of_text_kinds(void **state)
{
    struct fixture *f = *state;
    check_kind(f, "csv", "a.csv", make_csv(), "{\"chunksize\": 3}", 97, 32);
    check_kind(f, "csv", "a.csv", make_csv(), "{\"chunksize\": 5, \"nrows\": 83}", 83, 17);
    check_kind(f, "csv", "a.csv", make_csv(), "{\"chunksize\": 5, \"skiprows\": [4, 9]}", 95, 19);
    check_kind(f, "json", "a.jsonl", make_json("", "\n", "\n"), "{\"chunksize\": 64}", 97, 40);
    check_kind(f, "json", "a.json", make_json("[", ",\n", "]\n"), "{\"chunksize\": 64}", 97, 40);
    check_kind(f, "json", "a.json", make_json("[", ",", "]"), "{\"chunksize\": 300}", 97, 10);
    check_kind(f, "json", "a.json", make_json("{\"u\": 1, \"data\": [", ", ", "]}"), "{\"chunksize\": 64, \"field\": \"data\"}", 97, 40);
    check_kind(f, "json", "a.jsonl", make_json("", "\r\n", ""), "{\"chunksize\": 64, \"encoding\": \"latin-1\"}", 97, 40);
    check_kind(f, "text", "a.txt", make_text(), "{\"chunksize\": 7}", 161, 90);
    check_kind(f, "text", "a.txt", make_text(), "{\"chunksize\": 16, \"keep_linebreaks\": true}", 161, 60);
    check_kind(f, "text", "a.txt", make_text(), "{\"chunksize\": 16, \"sample_by\": \"paragraph\"}", 49, 20);
    check_kind(f, "text", "a.txt", make_text(), "{\"sample_by\": \"document\"}", 1, 1);
    check_kind(f, "conll", "a.conll", make_text(), NULL, 49, 1);
    check_kind(f, "xml", "a.xml", make_text(), NULL, 1, 1);
}

/* Labels as numbers, which no block is expected to have: all blocks are read by their own types, and the next ones as those. */
static void blocks_of_other_types(void **state)
{
    struct fixture *f = *state;
    struct features *features = NULL;
    struct case_rows rows = CASE_ROWS_INIT;
    struct opened o;
    grebe_error err;
    char path[1024];
    static const char json[] = "{\"a\": {\"names\": [\"n0\", \"n1\", \"n2\"], \"_type\": \"ClassLabel\"}, "
                               "\"b\": {\"dtype\": \"int8\", \"_type\": \"Value\"}}";
    char *text = calloc(1, 16384);
    for (int i = 0; i < 200; i++) {
        char line[64];
        snprintf(line, sizeof line, i == 90 ? "{\"a\": \"n2\", \"b\": %d}\n" : "{\"a\": 2, \"b\": %d}\n", i % 100);
        strcat(text, line);
    }
    snprintf(path, sizeof path, "%s/a.jsonl", f->folder);
    test_write_file(path, text, strlen(text));
    free(text);
    assert_ok(features_from_json(mem_system(), json, strlen(json), &features, &err));
    memset(&o, 0, sizeof o);
    o.arena = ARENA_INIT(mem_system());
    o.paths[0] = path;
    o.files = (struct builder_files){ "train", o.paths, 1 };
    static const char options[] = "{\"chunksize\": 24}"; /* a line each */
    assert_ok(json_parse(&o.arena, options, strlen(options), &o.options, &err));
    o.request = (struct builder_request){ .splits = &o.files, .n_splits = 1, .options = o.options, .features = features };
    assert_ok(builder_open(f->ctx, builder_find("json"), &o.request, &o.b, &err));
    read_rows(&o, -1, &rows);
    assert_int_equal(rows_n(&rows), 200);
    for (int i = 0; i < 200; i++) {
        char line[64];
        snprintf(line, sizeof line, "{\"a\": 2, \"b\": %d}\n", i % 100);
        assert_memory_equal(rows_from(&rows, (size_t)i), line, strlen(line));
    }
    check_places(o.b, 0, 0);
    rows_release(&rows);
    close_one(&o);
    features_free(features);
}

static void places_of_files(void **state)
{
    static const struct {
        const char *kind, *path, *options;
        size_t n_rows;
    } files[] = { { "parquet", FILES "groups.parquet", NULL, 100 },
                  { "parquet", FILES "groups.parquet", "{\"batch_size\": 7}", 100 },
                  { "parquet", FILES "groups.parquet", "{\"filters\": [[\"x\", \">=\", 33], [\"n\", \"!=\", 40]], \"batch_size\": 3}", 56 },
                  { "arrow", FILES "batches.arrow", NULL, 100 },
                  { "arrow", FILES "file.arrow", NULL, 100 },
                  { "arrow", FILES "replaced.arrow", NULL, 6 },
                  { "csv", LOAD "csv_gz/a.csv.gz", "{\"chunksize\": 4}", 14 },
                  { "csv", LOAD "csv_zip/a.zip", "{\"chunksize\": 4}", 15 },
                  { "json", LOAD "json_gz/a.jsonl.gz", "{\"chunksize\": 50}", 14 } };
    struct fixture *f = *state;
    f->ctx->registry = &case_registry;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct opened o;
        struct case_rows rows = CASE_ROWS_INIT;
        grebe_error err;
        assert_ok(open_one(f->ctx, &o, files[i].kind, files[i].path, files[i].options, &err));
        read_rows(&o, -1, &rows);
        assert_int_equal(rows_n(&rows), files[i].n_rows);
        assert_true(batches_of(&o) > 1);
        check_places(o.b, 0, 0);
        rows_release(&rows);
        close_one(&o);
    }
}

/* A byte order mark in front of each file, and objects over the borders of blocks and of the bytes that types come from. */
static void marks_and_long_lines(void **state)
{
    enum { N = 12, LEN = 1000000 };
    struct fixture *f = *state;
    struct opened o;
    struct case_rows rows = CASE_ROWS_INIT;
    struct builder *b = NULL;
    grebe_error err;
    char first[1024], second[1024];
    snprintf(first, sizeof first, "%s/1.jsonl", f->folder);
    snprintf(second, sizeof second, "%s/2.jsonl", f->folder);
    test_write_file(first, "\xef\xbb\xbf{\"a\": 1}\n", 12);
    test_write_file(second, "\xef\xbb\xbf[{\"a\": 2}]\n", 14);
    const char *paths[] = { first, second };
    struct builder_files files = { "train", paths, 2 };
    struct builder_request request = { .splits = &files, .n_splits = 1 };
    assert_ok(builder_open(f->ctx, builder_find("json"), &request, &b, &err));
    assert_ok(builder_infer(b, &err));
    for (size_t i = 0; i < 2; i++) {
        struct shard_reader reader = { 0 };
        assert_ok(b->ops->read(b, 0, i, -1, (struct shard_place){ 0 }, &reader, &err));
        assert_ok(rows_of_reader(&reader, 0, &rows, &err));
        check_places(b, 0, i);
    }
    assert_string_equal(rows_from(&rows, 0), "{\"a\": 1}\n{\"a\": 2}\n");
    rows_release(&rows);
    builder_free(b);
    char *text = malloc((size_t)N * (LEN + 64)), *end = text;
    for (int i = 0; i < N; i++) {
        end += sprintf(end, "{\"i\": %d, \"s\": \"", i);
        memset(end, 'a' + i, LEN);
        end += LEN;
        end += sprintf(end, "\"}\n");
    }
    test_write_file(first, text, (size_t)(end - text));
    free(text);
    rows = CASE_ROWS_INIT;
    assert_ok(open_one(f->ctx, &o, "json", first, NULL, &err));
    read_rows(&o, -1, &rows);
    assert_int_equal(rows_n(&rows), N);
    assert_memory_equal(rows_from(&rows, N - 1), "{\"i\": 11, \"s\": \"lll", 19);
    rows_release(&rows);
    close_one(&o);
}

/* What a decompressor has given so far may end anywhere. */
static void compressed_blocks(void **state)
{
    enum { N = 30000 };
    static const struct {
        const char *kind, *options;
        enum codec_id id;
    } kinds[] = { { "json", "{\"chunksize\": 262144}", CODEC_GZIP }, { "json", "{\"chunksize\": 100000}", CODEC_ZSTD },
                  { "json", NULL, CODEC_GZIP },                       { "csv", "{\"chunksize\": 9000}", CODEC_GZIP },
                  { "text", "{\"chunksize\": 262144}", CODEC_ZSTD }, { "conll", NULL, CODEC_GZIP } };
    struct fixture *f = *state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct codec_workspace ws = CODEC_WORKSPACE_INIT(mem_system());
        struct buf text = BUF_INIT(mem_system()), packed = BUF_INIT(mem_system());
        struct case_rows rows = CASE_ROWS_INIT;
        struct opened o;
        grebe_error err;
        char path[1024];
        bool is_json = strcmp(kinds[k].kind, "json") == 0, is_conll = strcmp(kinds[k].kind, "conll") == 0;
        if (strcmp(kinds[k].kind, "csv") == 0) {
            assert_ok(buf_put_text(&text, "a,b\n", &err));
        }
        for (int i = 0; i < N; i++) {
            assert_ok(buf_printf(&text, &err, is_json ? "{\"a\": %d, \"b\": \"xxxxxxxxxxxxxxxxxx\"}\n" : "%d,xxxxxxxxxxxxxxxxxx\n%s", i,
                                 is_conll ? "\n" : ""));
        }
        assert_ok(codec_compress(kinds[k].id, CODEC_LEVEL_DEFAULT, text.data, text.len, &packed, &ws, &err));
        snprintf(path, sizeof path, "%s/packed", f->folder);
        test_write_file(path, packed.data, packed.len);
        assert_ok(open_one(f->ctx, &o, kinds[k].kind, path, kinds[k].options, &err));
        read_rows(&o, -1, &rows);
        assert_int_equal(rows_n(&rows), N);
        assert_non_null(strstr(rows_from(&rows, N - 1), "29999"));
        assert_true(rows_n(&rows) == N && strstr(rows_from(&rows, 12345), "12345") < rows_from(&rows, 12346));
        close_one(&o);
        rows_release(&rows);
        buf_release(&text);
        buf_release(&packed);
        codec_workspace_release(&ws);
    }
}

static void parts_of_parquet(void **state)
{
    struct fixture *f = *state;
    struct opened o;
    struct case_rows all = CASE_ROWS_INIT, parts = CASE_ROWS_INIT;
    grebe_error err;
    int64_t n = 0;
    f->ctx->registry = &case_registry;
    assert_ok(open_one(f->ctx, &o, "parquet", FILES "groups.parquet", NULL, &err));
    assert_ok(o.b->ops->parts_of_file(o.b, 0, 0, &n, &err));
    assert_int_equal(n, 5);
    read_rows(&o, -1, &all);
    for (int64_t i = 0; i < n; i++) {
        read_rows(&o, i, &parts);
        assert_int_equal(rows_n(&parts), 20 * (i + 1));
    }
    assert_string_equal(rows_from(&all, 0), rows_from(&parts, 0));
    rows_release(&all);
    rows_release(&parts);
    close_one(&o);
}

/* Row groups that the statistics rule out are not read: theirs may be damaged. */
static void filters_skip_groups(void **state)
{
    struct fixture *f = *state;
    struct opened o;
    struct case_rows rows = CASE_ROWS_INIT;
    grebe_error err;
    char path[1024];
    size_t len = 0;
    unsigned char *bytes = test_read_file(FILES "groups.parquet", &len);
    memset(bytes + 175, 0xff, 60);  /* of the first group */
    memset(bytes + 2533, 0xff, 60); /* of the last */
    snprintf(path, sizeof path, "%s/groups.parquet", f->folder);
    test_write_file(path, bytes, len);
    free(bytes);
    f->ctx->registry = &case_registry;
    assert_ok(open_one(f->ctx, &o, "parquet", path, "{\"filters\": [[\"x\", \">=\", 20], [\"x\", \"<\", 70]]}", &err));
    read_rows(&o, -1, &rows);
    assert_int_equal(rows_n(&rows), 50);
    rows_release(&rows);
    close_one(&o);
    assert_ok(open_one(f->ctx, &o, "parquet", path, "{\"filters\": [[[\"x\", \"==\", 20]], [[\"x\", \"in\", [41, 45]]]], \"columns\": [\"s\"]}", &err));
    rows = CASE_ROWS_INIT;
    read_rows(&o, -1, &rows);
    assert_string_equal(rows_from(&rows, 0), "{\"s\": \"text 20 abcdefghabcdefgh\"}\n{\"s\": \"text 41 abcdefghabcdefgh\"}\n"
                                             "{\"s\": \"text 45 \"}\n");
    rows_release(&rows);
    close_one(&o);
    struct shard_reader reader = { 0 };
    rows = CASE_ROWS_INIT;
    assert_ok(open_one(f->ctx, &o, "parquet", path, NULL, &err));
    assert_ok(o.b->ops->read(o.b, 0, 0, -1, (struct shard_place){ 0 }, &reader, &err));
    assert_true(rows_of_reader(&reader, 0, &rows, &err) != GREBE_OK);
    rows_release(&rows);
    close_one(&o);
}

/* Null is in a list that has null, and not in one that has none; it compares with nothing. */
static void filters_and_nulls(void **state)
{
    static const struct {
        const char *options;
        size_t n_rows;
    } filters[] = { { "{\"filters\": [[\"x\", \"<\", 10]]}", 10 },
                    { "{\"filters\": [[\"x\", \"<\", 10], [\"n\", \"not in\", [0.5]]]}", 9 },
                    { "{\"filters\": [[\"x\", \"<\", 10], [\"n\", \"not in\", [0.5, null]]]}", 7 },
                    { "{\"filters\": [[\"x\", \"<\", 10], [\"n\", \"in\", [0.5]]]}", 1 },
                    { "{\"filters\": [[\"x\", \"<\", 10], [\"n\", \"in\", [0.5, null]]]}", 3 },
                    { "{\"filters\": [[\"x\", \"<\", 10], [\"n\", \"in\", [null]]]}", 2 },
                    { "{\"filters\": [[\"x\", \"<\", 10], [\"n\", \"not in\", [null]]]}", 8 },
                    { "{\"filters\": [[\"x\", \"<\", 10], [\"n\", \"!=\", 0.5]]}", 7 },
                    { "{\"filters\": [[\"x\", \"in\", []]]}", 0 },
                    { "{\"filters\": [[[\"x\", \"not in\", []]]]}", 100 } };
    struct fixture *f = *state;
    f->ctx->registry = &case_registry;
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        struct opened o;
        struct case_rows rows = CASE_ROWS_INIT;
        grebe_error err;
        assert_ok(open_one(f->ctx, &o, "parquet", FILES "groups.parquet", filters[i].options, &err));
        read_rows(&o, -1, &rows);
        assert_int_equal(rows_n(&rows), filters[i].n_rows);
        rows_release(&rows);
        close_one(&o);
    }
}

static void many_files(void **state)
{
    enum { N = 2000 };
    struct fixture *f = *state;
    struct builder_request request = { 0 };
    struct builder_files files = { "train", NULL, N };
    struct builder *b = NULL;
    struct rlimit before, few;
    struct case_rows rows = CASE_ROWS_INIT;
    grebe_error err;
    char **paths = calloc(N, sizeof *paths);
    for (size_t i = 0; i < N; i++) {
        char text[32];
        paths[i] = malloc(256);
        snprintf(paths[i], 256, "%s/%zu.csv", f->folder, i);
        snprintf(text, sizeof text, "a\n%zu\n", i);
        test_write_file(paths[i], text, strlen(text));
    }
    files.paths = (const char *const *)paths;
    request.splits = &files;
    request.n_splits = 1;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    grebe_context *ctx = NULL;
    assert_ok(context_new(NULL, &ctx, &err));
    assert_ok(builder_open(ctx, builder_find("csv"), &request, &b, &err));
    assert_ok(builder_infer(b, &err));
    for (size_t i = 0; i < N; i++) {
        struct shard_reader reader = { 0 };
        assert_ok(b->ops->read(b, 0, i, -1, (struct shard_place){ 0 }, &reader, &err));
        assert_ok(rows_of_reader(&reader, 0, &rows, &err));
    }
    assert_int_equal(rows_n(&rows), N);
    assert_string_equal(rows_from(&rows, N - 1), "{\"a\": 1999}\n");
    builder_free(b);
    context_free(ctx);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < N; i++) {
        free(paths[i]);
    }
    free(paths);
    rows_release(&rows);
}

/* ---- options ---- */

static void wrong_options(void **state)
{
    static const struct {
        const char *kind, *options, *message;
    } bad[] = {
        { "csv", "{\"seperator\": \";\"}", "" },
        { "csv", "{\"delimeter\": \";\"}", "nearest is \"delimiter\"" },
        { "csv", "{\"sep\": 3}", "option \"sep\": expected one character" },
        { "csv", "{\"header\": -2}", "option \"header\"" },
        { "csv", "{\"on_bad_lines\": \"drop\"}", "error, warn or skip, found drop" },
        { "csv", "{\"usecols\": \"a\"}", "usecols" },
        { "csv", "{\"nrows\": -1}", "nrows" },
        { "csv", "{\"encoding\": \"klingon\"}", "unknown encoding \"klingon\"" },
        { "csv", "{\"encoding_errors\": \"panic\"}", "encoding_errors" },
        { "json", "{\"chunksize\": 0}", "chunksize" },
        { "json", "{\"on_mixed_types\": \"drop\"}", "use_json" },
        { "json", "{\"newlines_in_values\": true}", "newlines_in_values" },
        { "text", "{\"sample_by\": \"word\"}", "line, paragraph or document" },
        { "text", "{\"keep_linebreaks\": 1}", "true or false" },
        { "parquet", "{\"filters\": [[\"a\", \"~\", 1]]}", "found \"~\"" },
        { "parquet", "{\"filters\": []}", "not empty" },
        { "parquet", "{\"columns\": \"a\"}", "columns" },
        { "parquet", "{\"on_bad_files\": \"x\"}", "on_bad_files" },
        { "conll", "{\"column_names\": []}", "column_names" },
        { "arrow", "{\"columns\": []}", "no option \"columns\"" },
    };
    struct fixture *f = *state;
    f->ctx->registry = &case_registry;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct opened o;
        grebe_error err;
        assert_fails(open_one(f->ctx, &o, bad[i].kind, "/nowhere", bad[i].options, &err), GREBE_EINVAL, bad[i].message);
        close_one(&o);
    }
    assert_null(builder_find("nothing"));
    assert_ptr_equal(builder_find("webdataset"), builder_find("webdataset"));
}

static void files_that_are_missing_or_empty(void **state)
{
    static const char *const kinds[] = { "csv", "json", "text", "parquet", "arrow", "conll", "xml", "webdataset" };
    struct fixture *f = *state;
    char path[1024];
    f->ctx->registry = &case_registry;
    snprintf(path, sizeof path, "%s/empty", f->folder);
    test_write_file(path, "", 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct opened o;
        struct shard_reader reader = { 0 };
        struct case_rows rows = CASE_ROWS_INIT;
        grebe_error err;
        grebe_status st = open_one(f->ctx, &o, kinds[i], "/nowhere/at/all", NULL, &err);
        st = st == GREBE_OK ? o.b->ops->read(o.b, 0, 0, -1, (struct shard_place){ 0 }, &reader, &err) : st;
        st = st == GREBE_OK ? rows_of_reader(&reader, 0, &rows, &err) : st;
        assert_int_equal(st, GREBE_ENOTFOUND);
        assert_non_null(strstr(err.message, "/nowhere/at/all"));
        close_one(&o);
        st = open_one(f->ctx, &o, kinds[i], path, NULL, &err);
        st = st == GREBE_OK ? o.b->ops->read(o.b, 0, 0, -1, (struct shard_place){ 0 }, &reader, &err) : st;
        st = st == GREBE_OK ? rows_of_reader(&reader, 0, &rows, &err) : st;
        bool has_zero = i == 1 || i == 2 || i == 5; /* json, text, conll: no rows */
        assert_int_equal(st, has_zero || i == 6 ? GREBE_OK : GREBE_ECORRUPT);
        assert_int_equal(rows_n(&rows), i == 6 ? 1 : 0);
        rows_release(&rows);
        close_one(&o);
    }
}

/* ---- bad input ---- */

static grebe_status read_all(grebe_context *ctx, const char *kind, const char *path, const char *options, grebe_error *err)
{
    struct opened o;
    struct shard_reader reader = { 0 };
    struct case_rows rows = CASE_ROWS_INIT;
    grebe_status st = open_one(ctx, &o, kind, path, options, err);
    st = st == GREBE_OK ? o.b->ops->read(o.b, 0, 0, -1, (struct shard_place){ 0 }, &reader, err) : st;
    st = st == GREBE_OK ? rows_of_reader(&reader, 0, &rows, err) : st;
    rows_release(&rows);
    close_one(&o);
    return st;
}

/* Files with bytes changed, cut and doubled: rows that are whole, or an error. */
static void changed_bytes(void **state)
{
    static const struct {
        const char *kind, *path, *options;
    } files[] = { { "csv", LOAD "csv_quotes/a.csv", "{\"chunksize\": 2}" },
                  { "csv", LOAD "csv_na/a.csv", "{\"escapechar\": \"\\\\\", \"comment\": \"#\"}" },
                  { "json", LOAD "json_nested/a.jsonl", "{\"chunksize\": 100}" },
                  { "json", LOAD "json_array_pretty/a.json", NULL },
                  { "json", LOAD "json_field_columns/a.json", "{\"field\": \"data\"}" },
                  { "text", LOAD "text_mixed/a.txt", "{\"sample_by\": \"paragraph\", \"chunksize\": 5}" },
                  { "parquet", LOAD "parquet_plain/a.parquet", NULL },
                  { "arrow", LOAD "arrow_stream/a.arrow", NULL },
                  { "arrow", LOAD "arrow_file/a.arrow", NULL } };
    struct fixture *f = *state;
    char path[1024];
    uint64_t seed = f->seed;
    f->ctx->registry = &case_registry;
    snprintf(path, sizeof path, "%s/changed", f->folder);
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
        size_t len = 0;
        unsigned char *bytes = test_read_file(files[k].path, &len), *copy = malloc(len + 1);
        for (size_t i = 0; i < 300; i++) {
            size_t n = test_random(&seed) % 4 == 0 ? test_random(&seed) % (len + 1) : len;
            grebe_error err;
            memcpy(copy, bytes, len);
            for (uint64_t j = test_random(&seed) % 4; j-- > 0;) {
                static const char odd[] = "\"\"{}[],:\\\n\r\0\xff#-.eE0u ";
                copy[test_random(&seed) % len] = (unsigned char)odd[test_random(&seed) % (sizeof odd - 1)];
            }
            test_write_file(path, copy, n);
            grebe_status st = read_all(f->ctx, files[k].kind, path, files[k].options, &err);
            assert_true(st != GREBE_ENOMEM && st != GREBE_EIO);
        }
        free(bytes);
        free(copy);
    }
}

static void no_memory(void **state)
{
    static const struct {
        const char *kind, *path, *options;
    } files[] = { { "csv", LOAD "csv_quotes/a.csv", "{\"chunksize\": 2, \"na_values\": [\"-\", 7]}" },
                  { "csv", LOAD "csv_zip/a.zip", NULL },
                  { "csv", LOAD "csv_latin1/a.csv", "{\"encoding\": \"latin-1\"}" },
                  { "json", LOAD "json_nested/a.jsonl", "{\"chunksize\": 200}" },
                  { "json", LOAD "json_missing_keys/a.jsonl", NULL },
                  { "json", LOAD "json_timestamps/a.jsonl", NULL },
                  { "json", LOAD "json_field_columns/a.json", "{\"field\": \"data\"}" },
                  { "json", LOAD "json_nan/a.jsonl", NULL },
                  { "text", LOAD "text_mixed/a.txt", "{\"chunksize\": 10}" },
                  { "conll", LOAD "text_mixed/a.txt", NULL },
                  { "parquet", LOAD "parquet_filters/a.parquet", "{\"filters\": [[\"id\", \"<\", 5]]}" },
                  { "arrow", LOAD "arrow_stream/a.arrow", NULL },
                  { "webdataset", ARCHIVE "packed.tar", NULL },
                  { "imagefolder", ARCHIVE "metadata.zip", NULL } };
    (void)state;
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
        grebe_status st = GREBE_ENOMEM;
        for (size_t at = 1; st == GREBE_ENOMEM; at++) {
            struct test_allocator t;
            grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
            grebe_context *ctx = NULL;
            grebe_error err = { 0 };
            test_allocator_init(&t);
            options.allocator = &t.a;
            options.threads = 1;
            st = context_new(&options, &ctx, &err);
            assert_int_equal(st, GREBE_OK);
            ctx->registry = &case_registry;
            t.fail_at = t.n_calls + at;
            st = read_all(ctx, files[k].kind, files[k].path, files[k].options, &err);
            context_free(ctx);
            if (t.n_live != 0 || (st != GREBE_OK && st != GREBE_ENOMEM)) {
                fail_msg("%s %s: allocation %zu: %s %s, %zu alive", files[k].kind, files[k].path, at, grebe_status_name(st),
                         err.message, t.n_live);
            }
            assert_true(at < 20000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(places_of_text_kinds, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(blocks_of_other_types, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(places_of_files, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(marks_and_long_lines, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(compressed_blocks, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(parts_of_parquet, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(filters_skip_groups, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(filters_and_nulls, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(many_files, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(wrong_options, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(files_that_are_missing_or_empty, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(changed_bytes, fixture_set_up, fixture_tear_down),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("builder reading", tests, NULL, NULL);
}
