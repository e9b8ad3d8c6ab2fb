/* SPDX-License-Identifier: Apache-2.0 */
/* Columns, types, computed columns, concatenations, packing: what the other tests of data sets leave out. */
#include "dataset_case.h"

#include <errno.h>
#include <fcntl.h>

static const char three[] = "[{\"id\": 0, \"a\": 2, \"s\": \"xY\"}, {\"id\": 1, \"a\": null, \"s\": null}, {\"id\": 2, "
                            "\"a\": 5, \"s\": \"é\"}]";

static void computes_columns(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *ds = set_of_text(f->ctx, three), *out = NULL;
    static const grebe_computed_column columns[] = {
        { "b", "a + id * 2" }, { "n", "length(s)" }, { "a", "upper(s)" },   { "big", "a > 2" },    { "c", "id" },
        { "half", "a / 2" },   { "lit", "'k'" },     { "low", "lower(s)" }, { "is", "s is null" }, { "none", "null" },
    };
    assert_ok(grebe_dataset_map_expr(ds, columns, 10, NULL, &out, &err));
    assert_lines(out, "{\"id\": 0, \"a\": \"XY\", \"s\": \"xY\", \"b\": 2, \"n\": 2, \"big\": false, \"c\": 0, "
                      "\"half\": 1.0, \"lit\": \"k\", "
                      "\"low\": \"xy\", \"is\": false, \"none\": null}\n"
                      "{\"id\": 1, \"a\": null, \"s\": null, \"b\": null, \"n\": null, \"big\": null, \"c\": 1, "
                      "\"half\": null, \"lit\": \"k\", "
                      "\"low\": null, \"is\": true, \"none\": null}\n"
                      "{\"id\": 2, \"a\": \"é\", \"s\": \"é\", \"b\": 9, \"n\": 1, \"big\": true, \"c\": 2, \"half\": "
                      "2.5, \"lit\": \"k\", "
                      "\"low\": \"é\", \"is\": false, \"none\": null}\n");
    assert_string_equal(features_find(out->features, "b")->dtype, "int64");
    assert_string_equal(features_find(out->features, "big")->dtype, "bool");
    grebe_dataset_free(out);
    static const grebe_computed_column bad[] = { { "b", "none + 1" }, { "b", "s + 1" }, { "b", "a +" } };
    static const grebe_status expected[] = { GREBE_ENOTFOUND, GREBE_ESCHEMA, GREBE_EINVAL };
    for (int i = 0; i < 3; i++) {
        assert_fails(grebe_dataset_map_expr(ds, &bad[i], 1, NULL, &out, &err), expected[i], "column \"b\"");
        assert_null(out);
    }
    grebe_dataset_free(ds);
}

static void renames_and_removes(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *ds = set_of_text(f->ctx, three), *out = NULL;
    static const grebe_column_rename names[] = { { "a", "s" }, { "s", "a" } }, clash = { "a", "s" },
                                     empty = { "a", "" }, none = { "x", "y" };
    static const char *const b[] = { "s", "id" }, *const x[] = { "x" }, *const twice[] = { "s", "s" };
    assert_ok(grebe_dataset_rename_columns(ds, names, 2, NULL, &out, &err)); /* both at once */
    assert_string_equal(out->columns[1], "s");
    assert_string_equal(features_find(out->features, "s")->dtype, "int64");
    grebe_dataset_free(out);
    assert_fails(grebe_dataset_rename_columns(ds, &clash, 1, NULL, &out, &err), GREBE_EINVAL, "two columns");
    assert_fails(grebe_dataset_rename_columns(ds, &empty, 1, NULL, &out, &err), GREBE_EINVAL, "empty");
    assert_fails(grebe_dataset_rename_columns(ds, &none, 1, NULL, &out, &err), GREBE_ENOTFOUND, "\"id\", \"a\", \"s\"");
    assert_ok(grebe_dataset_select_columns(ds, b, 2, NULL, &out, &err));
    assert_lines(out, "{\"s\": \"xY\", \"id\": 0}\n{\"s\": null, \"id\": 1}\n{\"s\": \"é\", \"id\": 2}\n");
    grebe_dataset_free(out);
    assert_ok(grebe_dataset_remove_columns(ds, b, 2, NULL, &out, &err));
    assert_lines(out, "{\"a\": 2}\n{\"a\": null}\n{\"a\": 5}\n");
    grebe_dataset_free(out);
    assert_fails(grebe_dataset_remove_columns(ds, x, 1, NULL, &out, &err), GREBE_ENOTFOUND, "x");
    assert_fails(grebe_dataset_select_columns(ds, twice, 2, NULL, &out, &err), GREBE_EINVAL, "twice");
    /* a format goes along */
    static const char *const formatted[] = { "a" };
    grebe_dataset_format format = { "numpy", formatted, 1, "{\"k\": 1}", false };
    grebe_dataset_labels labels = { .format = &format };
    grebe_dataset *with = NULL;
    assert_ok(grebe_dataset_with(ds, &labels, &with, &err));
    assert_ok(grebe_dataset_rename_columns(with, &(grebe_column_rename){ "a", "z" }, 1, NULL, &out, &err));
    assert_int_equal(out->format.n_columns, 1);
    assert_string_equal(out->format.columns[0], "z");
    assert_string_equal(out->format.type, "numpy");
    grebe_dataset_free(out);
    static const grebe_computed_column more = { "m", "id" };
    assert_ok(grebe_dataset_map_expr(with, &more, 1, NULL, &out, &err));
    assert_int_equal(out->format.n_columns, 2); /* what came is formatted, too */
    grebe_dataset_free(out);
    grebe_dataset_free(with);
    grebe_dataset_free(ds);
}

static void concatenates(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *x = set_of_text(f->ctx, "[{\"a\": 1, \"b\": \"p\"}, {\"a\": 2, \"b\": \"q\"}]");
    grebe_dataset *y = set_of_text(f->ctx, "[{\"b\": \"r\", \"c\": true}]"),
                  *z = set_of_text(f->ctx, "[{\"a\": \"t\"}]");
    grebe_dataset *none = set_of_text(f->ctx, "[]"), *out = NULL, *more = NULL;
    const grebe_dataset *sets[] = { x, none, y }, *bad[] = { x, z }, *wide[] = { x, y };
    assert_ok(grebe_dataset_concatenate(sets, 3, 0, &out, &err));
    assert_lines(out, "{\"a\": 1, \"b\": \"p\", \"c\": null}\n{\"a\": 2, \"b\": \"q\", \"c\": null}\n{\"a\": null, "
                      "\"b\": \"r\", \"c\": true}\n");
    struct buf text = lines_of(out, 2); /* taken one by one, too */
    buf_release(&text);
    static const int64_t rows[] = { 2, 0, 2, -1, 1 };
    assert_ok(grebe_dataset_select(out, rows, 5, NULL, &more, &err));
    assert_lines(more, "{\"a\": null, \"b\": \"r\", \"c\": true}\n{\"a\": 1, \"b\": \"p\", \"c\": null}\n{\"a\": null, "
                       "\"b\": \"r\", \"c\": true}\n"
                       "{\"a\": null, \"b\": \"r\", \"c\": true}\n{\"a\": 2, \"b\": \"q\", \"c\": null}\n");
    grebe_dataset_free(more);
    grebe_dataset_free(out);
    assert_fails(grebe_dataset_concatenate(bad, 2, 0, &out, &err), GREBE_ESCHEMA, "\"a\"");
    assert_fails(grebe_dataset_concatenate(wide, 2, 1, &out, &err), GREBE_EINVAL, "rows");
    assert_fails(grebe_dataset_concatenate((const grebe_dataset *[]){ x, x }, 2, 1, &out, &err), GREBE_EINVAL, "\"a\"");
    grebe_dataset_free(x);
    grebe_dataset_free(y);
    grebe_dataset_free(z);
    grebe_dataset_free(none);
}

/* Ten thousand blocks: a row is found by halves. */
static void finds_rows_in_many_blocks(void **state)
{
    enum { N = 10000 };
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *one = made_set(f->ctx, 3, 2), *out = NULL;
    const grebe_dataset **sets = malloc(N * sizeof *sets);
    for (int i = 0; i < N; i++) {
        sets[i] = one;
    }
    assert_ok(grebe_dataset_concatenate(sets, N, 0, &out, &err));
    assert_int_equal(out->n_rows, 3 * N);
    for (int i = 0; i < 1000; i++) {
        struct ArrowArray rows;
        int64_t row = (int64_t)(test_random(&f->seed) % (3 * N));
        const char *const id = "id";
        assert_ok(grebe_dataset_take(out, &row, 1, &id, 1, &rows, &err));
        assert_int_equal(((const int64_t *)rows.children[0]->buffers[1])[rows.children[0]->offset], row % 3);
        array_release(&rows);
    }
    grebe_dataset_free(out);
    grebe_dataset_free(one);
    free(sets);
}

static void casts(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *ds = set_of_text(f->ctx, three), *out = NULL;
    assert_ok(grebe_dataset_cast(
        ds,
        "{\"s\": {\"dtype\": \"string\", \"_type\": \"Value\"}, \"a\": {\"dtype\": \"string\", \"_type\": \"Value\"}, "
        "\"id\": {\"names\": [\"n\", \"p\", \"q\"], \"_type\": \"ClassLabel\"}}",
        NULL, &out, &err));
    assert_lines(out, "{\"s\": \"xY\", \"a\": \"2\", \"id\": 0}\n{\"s\": null, \"a\": null, \"id\": 1}\n{\"s\": \"é\", "
                      "\"a\": \"5\", \"id\": 2}\n");
    assert_int_equal(features_find(out->features, "id")->n_names, 3);
    grebe_dataset *aligned = NULL, *rows = NULL;
    assert_ok(grebe_dataset_align_labels(out, "id", "{\"Q\": 0, \"N\": 2, \"P\": 1}", NULL, &aligned, &err));
    assert_ok(grebe_dataset_select_columns(aligned, (const char *[]){ "id" }, 1, NULL, &rows, &err));
    assert_lines(rows, "{\"id\": 2}\n{\"id\": 1}\n{\"id\": 0}\n");
    assert_string_equal(features_find(rows->features, "id")->names[0], "Q");
    grebe_dataset_free(rows);
    grebe_dataset_free(aligned);
    assert_fails(grebe_dataset_align_labels(out, "id", "{\"Q\": 0}", NULL, &aligned, &err), GREBE_EINVAL, "\"n\"");
    grebe_dataset_free(out);
    assert_fails(grebe_dataset_cast(ds, "{\"a\": {\"dtype\": \"int8\", \"_type\": \"Value\"}}", NULL, &out, &err),
                 GREBE_EINVAL, "features");
    assert_fails(grebe_dataset_cast(ds,
                                    "{\"id\": {\"dtype\": \"int64\", \"_type\": \"Value\"}, \"a\": {\"dtype\": "
                                    "\"int64\", \"_type\": \"Value\"}, "
                                    "\"s\": {\"dtype\": \"int64\", \"_type\": \"Value\"}}",
                                    NULL, &out, &err),
                 GREBE_ESCHEMA, "\"s\"");
    grebe_dataset_free(ds);
}

static void flattens_structs(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset_dict *dict = NULL;
    grebe_dataset *out = NULL, *nested = NULL, *mixed = NULL;
    uint32_t seed = 3;
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    o.keep_in_memory = true; /* nothing is written beside the stored files */
    assert_ok(grebe_dataset_load_from_disk(f->ctx, CASES "saved/nested", NULL, &dict, &err));
    const grebe_dataset *ds = grebe_dataset_dict_get(dict, 0);
    assert_ok(grebe_dataset_flatten(ds, 0, NULL, &out, &err));
    grebe_dataset_info d;
    grebe_dataset_get_info(out, &d);
    bool has_dot = false;
    for (size_t i = 0; i < d.n_columns; i++) {
        has_dot = has_dot || strchr(d.columns[i], '.') != NULL;
        assert_int_not_equal(out->features->top.fields[i].kind, FEATURE_STRUCT);
    }
    assert_true(has_dot);
    struct buf text = lines_of(out, 0), again = lines_of(out, 2);
    assert_string_equal(buf_text(&text), buf_text(&again));
    buf_release(&again);
    /* in another order and back: the same rows */
    assert_ok(grebe_dataset_shuffle(out, (grebe_seed){ &seed, 1 }, &o, &mixed, &err));
    assert_ok(grebe_dataset_flatten_indices(mixed, &o, &nested, &err));
    assert_same_rows(mixed, nested);
    buf_release(&text);
    grebe_dataset_free(mixed);
    grebe_dataset_free(nested);
    grebe_dataset_free(out);
    grebe_dataset_dict_free(dict);
}

static int to_buf(void *ctx, const void *bytes, size_t len)
{
    return buf_put(ctx, bytes, len, NULL) == GREBE_OK ? 0 : ENOMEM;
}

static void packs(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset_dict *dict = NULL;
    static const char *const folders[] = { "single", "nested", "format_split_info", "media" };
    uint32_t seed = 5;
    for (size_t i = 0; i < 4; i++) {
        char path[300];
        snprintf(path, sizeof path, "%ssaved/%s", CASES, folders[i]);
        assert_ok(grebe_dataset_load_from_disk(f->ctx, path, NULL, &dict, &err));
        const grebe_dataset *file = grebe_dataset_dict_get(dict, 0);
        grebe_dataset *shuffled = NULL, *memory = NULL;
        grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
        o.keep_in_memory = true;
        assert_ok(grebe_dataset_shuffle(file, (grebe_seed){ &seed, 1 }, &o, &shuffled, &err));
        assert_ok(grebe_dataset_flatten_indices(shuffled, &o, &memory, &err));
        const grebe_dataset *sets[3] = { file, shuffled, memory };
        for (int k = 0; k < 3; k++) {
            struct buf bytes = BUF_INIT(mem_system());
            grebe_dataset *out = NULL;
            assert_ok(grebe_dataset_pack(sets[k], to_buf, &bytes, &err));
            assert_ok(grebe_dataset_unpack(f->ctx, bytes.data, bytes.len, &out, &err));
            assert_same_rows(out, sets[k]);
            assert_string_equal(out->fingerprint, sets[k]->fingerprint);
            assert_string_equal(out->features_json, sets[k]->features_json);
            assert_true((out->split == NULL) == (sets[k]->split == NULL));
            assert_true((out->format.type == NULL) == (sets[k]->format.type == NULL));
            grebe_dataset_free(out);
            for (int round = 0; round < 200; round++) { /* damaged ones are refused, or give something whole */
                struct buf copy = BUF_INIT(mem_system());
                assert_ok(buf_put(&copy, bytes.data, bytes.len, &err));
                size_t len = round % 3 == 0 ? (size_t)(test_random(&f->seed) % copy.len) : copy.len;
                if (round % 3 != 0) {
                    copy.data[test_random(&f->seed) % copy.len] = (unsigned char)test_random(&f->seed);
                }
                if (grebe_dataset_unpack(f->ctx, copy.data, len, &out, &err) == GREBE_OK) {
                    struct ArrowArray rows;
                    if (grebe_dataset_read(out, 0, out->n_rows, NULL, 0, &rows, &err) == GREBE_OK) {
                        array_release(&rows);
                    }
                    grebe_dataset_free(out);
                }
                buf_release(&copy);
            }
            buf_release(&bytes);
        }
        grebe_dataset_free(shuffled);
        grebe_dataset_free(memory);
        grebe_dataset_dict_free(dict);
    }
}

/* Paths only: bytes and the base name in what is saved; a value with neither stays. */
static void embeds_media(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300], json[900], saved[300];
    snprintf(path, sizeof path, "%s/picture.png", f->folder);
    test_write_file(path, "PNG!", 4);
    snprintf(json, sizeof json, "[{\"image\": \"%s\"}, {\"image\": null}, {\"image\": \"https://example.org/p.png\"}]",
             path);
    grebe_dataset *text = set_of_text(f->ctx, json), *ds = NULL;
    assert_ok(grebe_dataset_cast(text, "{\"image\": {\"_type\": \"Image\"}}", NULL, &ds, &err));
    snprintf(saved, sizeof saved, "%s/media", f->folder);
    assert_ok(grebe_dataset_save_to_disk(ds, saved, NULL, &err));
    grebe_dataset_dict *dict = NULL;
    assert_ok(grebe_dataset_load_from_disk(f->ctx, saved, NULL, &dict, &err));
    assert_lines(grebe_dataset_dict_get(dict, 0),
                 "{\"image\": {\"bytes\": {\"$b64\": \"UE5HIQ==\"}, \"path\": \"picture.png\"}}\n"
                 "{\"image\": null}\n"
                 "{\"image\": {\"bytes\": null, \"path\": \"https://example.org/p.png\"}}\n");
    grebe_dataset_dict_free(dict);
    grebe_dataset_free(ds);
    grebe_dataset_free(text);
}

/* Rows in memory: the same values have the same name, however they are cut; other values, types, nulls another. */
static void names_rows_by_their_values(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *x = made_set(f->ctx, 100, 7), *y = made_set(f->ctx, 100, 64), *z = made_set(f->ctx, 99, 7);
    assert_string_equal(x->fingerprint, y->fingerprint);
    assert_string_not_equal(x->fingerprint, z->fingerprint);
    grebe_dataset_free(x);
    grebe_dataset_free(y);
    grebe_dataset_free(z);
    static const char *const different[] = {
        "[{\"a\": 0, \"s\": \"ab\"}, {\"a\": 1, \"s\": \"c\"}]",  "[{\"a\": 0, \"s\": \"a\"}, {\"a\": 1, \"s\": \"bc\"}]",
        "[{\"a\": null, \"s\": \"ab\"}, {\"a\": 1, \"s\": \"c\"}]", "[{\"a\": 0.0, \"s\": \"ab\"}, {\"a\": 1.0, \"s\": \"c\"}]",
        "[{\"a\": 0, \"s\": \"\"}, {\"a\": 1, \"s\": null}]",     "[{\"a\": 0, \"s\": null}, {\"a\": 1, \"s\": \"\"}]",
        "[{\"b\": 0, \"s\": \"ab\"}, {\"b\": 1, \"s\": \"c\"}]",
    };
    enum { N = sizeof different / sizeof *different };
    char seen[N][17];
    for (int i = 0; i < N; i++) {
        grebe_dataset *ds = set_of_text(f->ctx, different[i]), *same = set_of_text(f->ctx, different[i]);
        assert_string_equal(ds->fingerprint, same->fingerprint);
        snprintf(seen[i], 17, "%s", ds->fingerprint);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(seen[i], seen[k]);
        }
        grebe_dataset_free(ds);
        grebe_dataset_free(same);
    }
    /* nested ones, cut otherwise */
    grebe_dataset_dict *dict = NULL;
    struct ArrowArrayStream stream;
    char names[2][17];
    assert_ok(grebe_dataset_load_from_disk(f->ctx, CASES "saved/nested", NULL, &dict, &err));
    for (int i = 0; i < 2; i++) {
        grebe_dataset *copy = NULL;
        assert_ok(grebe_dataset_scan(grebe_dataset_dict_get(dict, 0), NULL, 0, i == 0 ? 3 : 5, NULL, &stream, &err));
        assert_ok(grebe_dataset_of_rows(f->ctx, &stream, NULL, &copy, &err));
        snprintf(names[i], 17, "%s", copy->fingerprint);
        grebe_dataset_free(copy);
    }
    assert_string_equal(names[0], names[1]);
    grebe_dataset_dict_free(dict);
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 512; fd++) {
        n += fcntl(fd, F_GETFD) != -1;
    }
    return n;
}

static void gives_files_back(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    int before = 0;
    for (int round = 0; round < 300; round++) {
        grebe_dataset_dict *dict = NULL;
        grebe_dataset *out = NULL;
        grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
        static const grebe_computed_column column = { "n", "length(text)" };
        o.keep_in_memory = true;
        assert_ok(grebe_dataset_load_from_disk(f->ctx, CASES "saved/shards4", NULL, &dict, &err));
        assert_ok(grebe_dataset_map_expr(grebe_dataset_dict_get(dict, 0), &column, 1, &o, &out, &err));
        grebe_dataset_free(out);
        grebe_dataset_dict_free(dict);
        before = round == 2 ? open_files() : before;
    }
    assert_int_equal(open_files(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(computes_columns, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(renames_and_removes, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(concatenates, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(finds_rows_in_many_blocks, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(casts, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(flattens_structs, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(packs, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(embeds_media, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(names_rows_by_their_values, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(gives_files_back, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
