/* SPDX-License-Identifier: Apache-2.0 */
/* Saved folders: what the library wrote is read equal, and written again byte for byte. */
#include "dataset_case.h"
#include "test_sha256.h"
#include "wire/json.h"

#include <sys/stat.h>
#include <unistd.h>

struct golden {
    struct arena arena;
    const struct json_value *cases;
};

static struct golden read_golden(const char *path)
{
    grebe_error err;
    size_t len = 0;
    struct golden g = { ARENA_INIT(mem_system()), NULL };
    const struct json_value *v = NULL;
    unsigned char *text = test_read_file(path, &len);
    assert_ok(json_parse(&g.arena, (const char *)text, len, &v, &err));
    free(text);
    g.cases = json_get(v, "cases");
    assert_non_null(g.cases);
    return g;
}

static grebe_dataset *load(grebe_context *ctx, const char *path, bool in_memory)
{
    grebe_error err;
    grebe_dataset_dict *dict = NULL;
    grebe_dataset_open_options o = GREBE_DATASET_OPEN_OPTIONS_INIT;
    o.keep_in_memory = in_memory;
    assert_ok(grebe_dataset_load_from_disk(ctx, path, &o, &dict, &err));
    assert_int_equal(grebe_dataset_dict_len(dict), 1);
    grebe_dataset *ds = grebe_dataset_keep(grebe_dataset_dict_get(dict, 0));
    grebe_dataset_dict_free(dict);
    return ds;
}

static void assert_same_file(const char *x, const char *y)
{
    size_t n = 0, m = 0;
    unsigned char *a = test_read_file(x, &n), *b = test_read_file(y, &m);
    if (n != m || memcmp(a, b, n) != 0) {
        fail_msg("%s and %s differ:\n%.*s\n%.*s", x, y, (int)n, a, (int)m, b);
    }
    free(a);
    free(b);
}

static const char *text_of(const struct json_value *c, const char *key)
{
    const struct json_value *v = json_get(c, key);
    return v != NULL && v->type == JSON_STRING ? v->text : NULL;
}

static void check_content(const grebe_dataset *ds, const struct json_value *c)
{
    char hex[65];
    struct buf text = lines_of(ds, 0), again = lines_of(ds, 5);
    test_sha256(text.data != NULL ? (const void *)text.data : "", text.len, hex);
    if (strcmp(hex, text_of(c, "sha256")) != 0) {
        fail_msg("case %s: other rows:\n%.2000s", text_of(c, "case"), buf_text(&text));
    }
    assert_string_equal(buf_text(&text), buf_text(&again));
    buf_release(&text);
    buf_release(&again);
}

static void loads_what_the_library_saved(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    struct golden g = read_golden(CASES "saved/expected.json");
    int n_loaded = 0, n_refused = 0;
    for (size_t i = 0; i < g.cases->n; i++) {
        const struct json_value *c = &g.cases->items[i];
        const char *name = text_of(c, "case"), *kind = text_of(c, "kind");
#ifndef GREBE_HAVE_LZ4
        if (strcmp(name, "alt_lz4") == 0) {
            continue;
        }
#endif
        char path[512];
        const char *folder = text_of(c, "path") != NULL ? text_of(c, "path") : name;
        snprintf(path, sizeof path, "%s%s", CASES "saved/", folder);
        struct stat info;
        if (stat(path, &info) != 0) {
            continue; /* the library could not save it */
        }
        grebe_dataset_dict *dict = NULL;
        if (text_of(c, "load_error") != NULL && text_of(c, "ours") == NULL) {
            grebe_status st = grebe_dataset_load_from_disk(f->ctx, path, NULL, &dict, &err);
            assert_int_not_equal(st, GREBE_OK);
            n_refused++;
            continue;
        }
        if (kind != NULL && strcmp(kind, "dict") == 0) {
            assert_ok(grebe_dataset_load_from_disk(f->ctx, path, NULL, &dict, &err));
            assert_int_equal(grebe_dataset_dict_len(dict), 3);
            assert_string_equal(grebe_dataset_dict_name(dict, 0), "train");
            assert_string_equal(grebe_dataset_dict_name(dict, 2), "validation");
            grebe_dataset_dict_free(dict);
            continue;
        }
        if (kind == NULL) {
            continue;
        }
        for (int in_memory = 0; in_memory < 2; in_memory++) {
            grebe_dataset *ds = load(f->ctx, path, in_memory != 0);
            grebe_dataset_info d;
            int64_t n_rows = 0;
            grebe_dataset_get_info(ds, &d);
            assert_true(json_i64(json_get(c, "num_rows"), &n_rows));
            assert_int_equal(d.n_rows, n_rows);
            assert_string_equal(d.fingerprint, text_of(json_get(c, "state"), "_fingerprint"));
            assert_true((d.split == NULL) == (text_of(c, "split") == NULL));
            const struct json_value *columns = json_get(c, "columns");
            for (size_t k = 0; k < columns->n; k++) {
                assert_string_equal(d.columns[k], columns->items[k].text);
            }
            check_content(ds, c);
            grebe_dataset_free(ds);
            n_loaded++;
        }
    }
    print_message("%d loaded, %d refused\n", n_loaded, n_refused);
    assert_true(n_loaded >= 40 && n_refused >= 4);
    arena_release(&g.arena);
}

/* Loaded and saved with as many shards, the JSON files are the same bytes and the rows the same. */
static void writes_the_same_bytes(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    struct golden g = read_golden(CASES "saved/expected.json");
    int n = 0;
    for (size_t i = 0; i < g.cases->n; i++) {
        const struct json_value *c = &g.cases->items[i], *files = json_get(json_get(c, "state"), "_data_files");
        const char *kind = text_of(c, "kind");
        if (kind == NULL || strcmp(kind, "dataset") != 0 || files == NULL || text_of(c, "note") != NULL) {
            continue;
        }
        char from[512], to[512], x[600], y[600];
        snprintf(from, sizeof from, "%s%s", CASES "saved/",
                 text_of(c, "path") != NULL ? text_of(c, "path") : text_of(c, "case"));
        snprintf(to, sizeof to, "%s/%s", f->folder, text_of(c, "case"));
        grebe_dataset *ds = load(f->ctx, from, false);
        grebe_save_options o = GREBE_SAVE_OPTIONS_INIT;
        o.n_shards = (int64_t)files->n;
        assert_ok(grebe_dataset_save_to_disk(ds, to, &o, &err));
        static const char *const names[] = { "state.json", "dataset_info.json" };
        for (int k = 0; k < 2; k++) {
            snprintf(x, sizeof x, "%s/%s", from, names[k]);
            snprintf(y, sizeof y, "%s/%s", to, names[k]);
            assert_same_file(x, y);
        }
        grebe_dataset *again = load(f->ctx, to, false);
        check_content(again, c);
        /* batches as the library cut them */
        const struct json_value *batches = json_get(c, "batches");
        for (size_t k = 0; k < batches->n; k++) {
            struct rows_file *file = NULL;
            snprintf(x, sizeof x, "%s/%s", to, batches->members[k].key);
            assert_ok(rows_file_open(f->ctx, x, false, &file, &err));
            assert_int_equal(file->n_batches, batches->members[k].value.n);
            for (size_t b = 0; b < file->n_batches; b++) {
                int64_t rows = 0;
                assert_true(json_i64(&batches->members[k].value.items[b], &rows));
                assert_int_equal(file->batch_begin[b + 1] - file->batch_begin[b], rows);
            }
            rows_file_drop(file);
        }
        grebe_dataset_free(again);
        grebe_dataset_free(ds);
        n++;
    }
    assert_true(n >= 20);
    arena_release(&g.arena);
}

static void put_mine(void *folder, const grebe_progress *progress)
{
    char path[700];
    (void)progress;
    snprintf(path, sizeof path, "%s/mine", (const char *)folder);
    mkdir(folder, 0777);
    test_write_file(path, "x", 1);
}

static void replaces_whole_folders(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[512], other[600];
    grebe_dataset *ds = made_set(f->ctx, 10, 4);
    grebe_save_options o = GREBE_SAVE_OPTIONS_INIT;
    o.n_shards = 3;
    snprintf(path, sizeof path, "%s/set", f->folder);
    assert_ok(grebe_dataset_save_to_disk(ds, path, &o, &err));
    grebe_dataset *ten = load(f->ctx, path, false);
    grebe_dataset_info d;
    grebe_dataset_get_info(ten, &d);
    assert_int_equal(d.n_files, 3);
    assert_true(strstr(d.files[1], "/data-00001-of-00003.arrow") != NULL);
    assert_same_rows(ten, ds);
    /* over its own files: refused */
    assert_fails(grebe_dataset_save_to_disk(ten, path, NULL, &err), GREBE_EINVAL, "reads");
    /* another one in its place; the old rows stay readable */
    grebe_dataset *five = made_set(f->ctx, 5, 5);
    assert_ok(grebe_dataset_save_to_disk(five, path, NULL, &err));
    assert_same_rows(ten, ds);
    grebe_dataset *loaded = load(f->ctx, path, false);
    assert_same_rows(loaded, five);
    snprintf(other, sizeof other, "%s/data-00001-of-00003.arrow", path);
    assert_int_not_equal(stat(other, &(struct stat){ 0 }), 0);
    /* a folder of something else: refused */
    snprintf(other, sizeof other, "%s/else", f->folder);
    assert_int_equal(mkdir(other, 0777), 0);
    assert_ok(grebe_dataset_save_to_disk(five, other, NULL, &err)); /* empty: allowed */
    snprintf(other, sizeof other, "%s/full", f->folder);
    assert_int_equal(mkdir(other, 0777), 0);
    snprintf(other, sizeof other, "%s/full/notes.txt", f->folder);
    test_write_file(other, "x", 1);
    snprintf(other, sizeof other, "%s/full", f->folder);
    assert_fails(grebe_dataset_save_to_disk(five, other, NULL, &err), GREBE_EEXISTS, "other things");
    /* through a link: the folder that it leads to is replaced, the link stays */
    char link[600];
    struct stat info;
    snprintf(link, sizeof link, "%s/link", f->folder);
    assert_int_equal(symlink(path, link), 0);
    assert_ok(grebe_dataset_save_to_disk(ds, link, NULL, &err));
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    grebe_dataset *linked = load(f->ctx, path, false);
    assert_same_rows(linked, ds);
    grebe_dataset_free(linked);
    o.max_shard_bytes = 10;
    assert_fails(grebe_dataset_save_to_disk(five, other, &o, &err), GREBE_EINVAL, "one of them");

    /* what comes to the place while it is saved */
    char meanwhile[600], mine[700];
    snprintf(meanwhile, sizeof meanwhile, "%s/meanwhile", f->folder);
    snprintf(mine, sizeof mine, "%s/mine", meanwhile);
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_save_options watched = GREBE_SAVE_OPTIONS_INIT;
    call.progress = put_mine;
    call.progress_ctx = meanwhile;
    watched.call = &call;
    assert_fails(grebe_dataset_save_to_disk(five, meanwhile, &watched, &err), GREBE_EEXISTS, "other things");
    assert_int_equal(access(mine, R_OK), 0);
    grebe_dataset_free(ten);
    grebe_dataset_free(five);
    grebe_dataset_free(loaded);
    grebe_dataset_free(ds);
}

static void saves_nothing_and_loads_it(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[512];
    grebe_dataset *ds = made_set(f->ctx, 0, 4);
    snprintf(path, sizeof path, "%s/none", f->folder);
    assert_ok(grebe_dataset_save_to_disk(ds, path, NULL, &err));
    grebe_dataset *again = load(f->ctx, path, false);
    grebe_dataset_info d;
    grebe_dataset_get_info(again, &d);
    assert_int_equal(d.n_rows, 0);
    assert_int_equal(d.n_columns, 3);
    assert_int_equal(d.n_files, 1);
    grebe_dataset_free(again);
    grebe_dataset_free(ds);
}

/* dataset_info.json names columns and fields in another order than the file: the file's counts. */
static void follows_the_order_of_files(void **state)
{
    struct fixture *f = *state;
    grebe_dataset *ds = load(f->ctx, TEST_DATA "/data/dataset/struct_order", false);
    assert_lines(ds, "{\"s\": {\"x\": 1, \"y\": \"a\"}, \"l\": [{\"p\": 1.5, \"q\": true}]}\n"
                     "{\"s\": {\"x\": 2, \"y\": \"b\"}, \"l\": []}\n");
    assert_string_equal(ds->columns[0], "s");
    assert_string_equal(ds->features->top.fields[0].fields[0].name, "x");
    grebe_dataset_free(ds);
}

/* Without columns there are still so many rows. */
static void saves_rows_without_columns(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[512];
    static const char *const all[] = { "id", "text", "label" };
    grebe_dataset *ds = made_set(f->ctx, 7, 4), *none = NULL;
    assert_ok(grebe_dataset_remove_columns(ds, all, 3, NULL, &none, &err));
    snprintf(path, sizeof path, "%s/bare", f->folder);
    assert_ok(grebe_dataset_save_to_disk(none, path, NULL, &err));
    grebe_dataset *again = load(f->ctx, path, false);
    assert_int_equal(again->n_rows, 7);
    assert_int_equal(again->features->top.n_fields, 0);
    grebe_dataset_free(again);
    grebe_dataset_free(none);
    grebe_dataset_free(ds);
}

static void saves_splits(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[512];
    grebe_dataset *sets[2] = { made_set(f->ctx, 6, 4), made_set(f->ctx, 3, 4) };
    static const char *const names[] = { "train", "test" }, *const bad[] = { "train", "../test" };
    snprintf(path, sizeof path, "%s/splits", f->folder);
    assert_fails(grebe_dataset_save_dict(bad, (const grebe_dataset *const *)sets, 2, path, NULL, &err), GREBE_EINVAL,
                 "../test");
    assert_ok(grebe_dataset_save_dict(names, (const grebe_dataset *const *)sets, 2, path, NULL, &err));
    size_t len = 0;
    char file[600];
    snprintf(file, sizeof file, "%s/dataset_dict.json", path);
    unsigned char *text = test_read_file(file, &len);
    assert_int_equal(len, strlen("{\"splits\": [\"train\", \"test\"]}"));
    assert_memory_equal(text, "{\"splits\": [\"train\", \"test\"]}", len);
    free(text);
    grebe_dataset_dict *dict = NULL;
    assert_ok(grebe_dataset_load_from_disk(f->ctx, path, NULL, &dict, &err));
    assert_int_equal(grebe_dataset_dict_len(dict), 2);
    assert_same_rows(grebe_dataset_dict_get(dict, 1), sets[1]);
    grebe_dataset_dict_free(dict);
    grebe_dataset_free(sets[0]);
    grebe_dataset_free(sets[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loads_what_the_library_saved, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(writes_the_same_bytes, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(replaces_whole_folders, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(saves_nothing_and_loads_it, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(follows_the_order_of_files, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(saves_rows_without_columns, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(saves_splits, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
