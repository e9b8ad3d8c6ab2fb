/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of media: labels, metadata of three kinds, names that lead out, archives. */
#include "builder/builder.h"

#include "builder_case.h"

struct opened {
    struct arena arena;
    struct builder_files splits[3];
    struct builder_request request;
    const struct json_value *options;
    struct builder *b;
};

static char *write_text(const char *folder, const char *name, const char *text)
{
    char *path = malloc(1024);
    snprintf(path, 1024, "%s/%s", folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    char command[1100];
    snprintf(command, sizeof command, "mkdir -p '%s'", path);
    assert_int_equal(system(command), 0);
    *slash = '/';
    test_write_file(path, text, strlen(text));
    return path;
}

/* Names are "SPLIT:PATH" and end with NULL; files are made by the caller. */
static grebe_status open_folder(struct fixture *f, struct opened *o, const char *kind, const char *options,
                                const char *const *names, grebe_error *failure)
{
    grebe_error err;
    memset(o, 0, sizeof *o);
    o->arena = ARENA_INIT(mem_system());
    f->ctx->registry = &case_registry;
    o->request = (struct builder_request){ .splits = o->splits, .base = f->folder };
    for (; *names != NULL; names++) {
        const char *colon = strchr(*names, ':');
        char *split = arena_str(&o->arena, *names, (size_t)(colon - *names));
        size_t k = 0;
        while (k < o->request.n_splits && strcmp(o->splits[k].split, split) != 0) {
            k++;
        }
        if (k == o->request.n_splits) {
            o->splits[o->request.n_splits++] = (struct builder_files){ split, arena_array(&o->arena, 16, sizeof(char *)), 0 };
        }
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", f->folder, colon + 1);
        ((const char **)(uintptr_t)o->splits[k].paths)[o->splits[k].n++] = arena_str(&o->arena, path, strlen(path));
    }
    if (options != NULL) {
        assert_ok(json_parse(&o->arena, options, strlen(options), &o->options, &err));
    }
    o->request.options = o->options;
    grebe_status st = builder_open(f->ctx, builder_find(kind), &o->request, &o->b, failure);
    return st == GREBE_OK ? builder_infer(o->b, failure) : st;
}

static void close_folder(struct opened *o)
{
    builder_free(o->b);
    arena_release(&o->arena);
}

static void check_features(const struct opened *o, const char *expected)
{
    struct buf text = BUF_INIT(mem_system());
    grebe_error err;
    assert_ok(features_to_json(o->b->features, -1, 0, &text, &err));
    assert_string_equal(buf_text(&text), expected);
    buf_release(&text);
}

/* Rows of all files of a split, the folder's name written as "~". */
static grebe_status all_rows(struct fixture *f, struct opened *o, size_t split, struct buf *out, grebe_error *failure)
{
    grebe_status st = GREBE_OK;
    struct case_rows rows = CASE_ROWS_INIT;
    grebe_error err;
    for (size_t i = 0; i < o->splits[split].n && st == GREBE_OK; i++) {
        struct shard_reader reader = { 0 };
        st = o->b->ops->read(o->b, split, i, -1, (struct shard_place){ 0 }, &reader, failure);
        st = st == GREBE_OK ? rows_of_reader(&reader, 0, &rows, failure) : st;
        if (st == GREBE_OK) {
            check_places(o->b, split, i);
        }
    }
    const size_t n = strlen(f->folder);
    for (size_t i = 0; i < rows.text.len; i++) {
        bool is_folder = i + n <= rows.text.len && memcmp(rows.text.data + i, f->folder, n) == 0;
        assert_ok(buf_put_byte(out, is_folder ? '~' : rows.text.data[i], &err));
        i += is_folder ? n - 1 : 0;
    }
    assert_non_null(buf_text(out));
    rows_release(&rows);
    return st;
}

static void check_rows(struct fixture *f, struct opened *o, size_t split, const char *expected)
{
    struct buf text = BUF_INIT(mem_system());
    grebe_error err;
    assert_ok(all_rows(f, o, split, &text, &err));
    assert_string_equal(buf_text(&text), expected);
    buf_release(&text);
}

static void labels_of_folders(void **state)
{
    struct fixture *f = *state;
    struct opened o;
    grebe_error err;
    static const char *const names[] = { "train:dog/1.jpg", "train:cat/2.PNG", "train:cat/x.jpg.gz", "test:dog/3.jpg", NULL };
    static const char *const one[] = { "train:cat/1.jpg", "train:cat/2.png", NULL };
    static const char *const levels[] = { "train:cat/1.jpg", "train:dog/deep/2.png", NULL };
    assert_ok(open_folder(f, &o, "imagefolder", NULL, names, &err));
    check_features(&o, "{\"image\": {\"_type\": \"Image\"}, \"label\": {\"names\": [\"cat\", \"dog\"], \"_type\": \"ClassLabel\"}}");
    check_rows(f, &o, 0,
               "{\"image\": {\"bytes\": null, \"path\": \"~/dog/1.jpg\"}, \"label\": 1}\n"
               "{\"image\": {\"bytes\": null, \"path\": \"~/cat/2.PNG\"}, \"label\": 0}\n"
               "{\"image\": {\"bytes\": null, \"path\": \"~/cat/x.jpg.gz\"}, \"label\": 0}\n");
    /* decided for all splits together: the second has one class */
    check_rows(f, &o, 1, "{\"image\": {\"bytes\": null, \"path\": \"~/dog/3.jpg\"}, \"label\": 1}\n");
    close_folder(&o);
    assert_ok(open_folder(f, &o, "imagefolder", NULL, one, &err));
    check_features(&o, "{\"image\": {\"_type\": \"Image\"}}");
    close_folder(&o);
    assert_ok(open_folder(f, &o, "imagefolder", "{\"drop_labels\": false}", one, &err));
    check_features(&o, "{\"image\": {\"_type\": \"Image\"}, \"label\": {\"names\": [\"cat\"], \"_type\": \"ClassLabel\"}}");
    close_folder(&o);
    assert_ok(open_folder(f, &o, "imagefolder", "{\"drop_labels\": true}", names, &err));
    check_features(&o, "{\"image\": {\"_type\": \"Image\"}}");
    close_folder(&o);
    assert_ok(open_folder(f, &o, "imagefolder", NULL, levels, &err));
    check_features(&o, "{\"image\": {\"_type\": \"Image\"}}");
    close_folder(&o);
}

static void metadata_files(void **state)
{
    struct fixture *f = *state;
    struct opened o;
    grebe_error err;
    static const char *const csv[] = { "train:m/a.jpg", "train:m/b.jpg", "train:m/metadata.csv", NULL };
    static const char *const lines[] = { "train:n/metadata.jsonl", "train:n/a.wav", NULL };
    static const char *const two[] = { "train:m/metadata.csv", "train:n/metadata.jsonl", NULL };
    free(write_text(f->folder, "m/a.jpg", "A"));
    free(write_text(f->folder, "m/b.jpg", "B"));
    free(write_text(f->folder, "n/a.wav", "W"));
    free(write_text(f->folder, "m/metadata.csv", "id,file_name,mask_file_name\n7,b.jpg,./a.jpg\n8,x/../a.jpg,\n"));
    free(write_text(f->folder, "n/metadata.jsonl",
                    "{\"file_name\": \"a.wav\", \"t\": \"one\", \"other_file_names\": [\"a.wav\", \"a.wav\"]}\n"
                    "{\"file_name\": null, \"t\": \"two\", \"other_file_names\": []}\n"));
    assert_ok(open_folder(f, &o, "imagefolder", NULL, csv, &err));
    check_features(&o, "{\"id\": {\"dtype\": \"int64\", \"_type\": \"Value\"}, \"image\": {\"_type\": \"Image\"}, "
                       "\"mask\": {\"_type\": \"Image\"}}");
    check_rows(f, &o, 0,
               "{\"id\": 7, \"image\": {\"bytes\": null, \"path\": \"~/m/b.jpg\"}, \"mask\": {\"bytes\": null, \"path\": \"~/m/a.jpg\"}}\n"
               "{\"id\": 8, \"image\": {\"bytes\": null, \"path\": \"~/m/a.jpg\"}, \"mask\": null}\n");
    close_folder(&o);
    assert_ok(open_folder(f, &o, "imagefolder", "{\"filters\": [[\"id\", \">\", 7]]}", csv, &err));
    check_rows(f, &o, 0, "{\"id\": 8, \"image\": {\"bytes\": null, \"path\": \"~/m/a.jpg\"}, \"mask\": null}\n");
    close_folder(&o);
    assert_ok(open_folder(f, &o, "imagefolder", "{\"drop_metadata\": true}", csv, &err));
    check_features(&o, "{\"image\": {\"_type\": \"Image\"}}");
    check_rows(f, &o, 0, "{\"image\": {\"bytes\": null, \"path\": \"~/m/a.jpg\"}}\n"
                         "{\"image\": {\"bytes\": null, \"path\": \"~/m/b.jpg\"}}\n");
    close_folder(&o);
    assert_ok(open_folder(f, &o, "audiofolder", NULL, lines, &err));
    check_features(&o, "{\"audio\": {\"_type\": \"Audio\"}, \"t\": {\"dtype\": \"string\", \"_type\": \"Value\"}, "
                       "\"other\": {\"feature\": {\"_type\": \"Audio\"}, \"_type\": \"List\"}}");
    check_rows(f, &o, 0,
               "{\"audio\": {\"bytes\": null, \"path\": \"~/n/a.wav\"}, \"t\": \"one\", \"other\": [{\"bytes\": null, \"path\": "
               "\"~/n/a.wav\"}, {\"bytes\": null, \"path\": \"~/n/a.wav\"}]}\n"
               "{\"audio\": null, \"t\": \"two\", \"other\": []}\n");
    close_folder(&o);
    assert_fails(open_folder(f, &o, "imagefolder", NULL, two, &err), GREBE_EINVAL, "one kind");
    close_folder(&o);
}

static void names_that_lead_out(void **state)
{
    static const char *const bad[] = { "../a.jpg", "/etc/passwd", "x/../../a.jpg", "file:///etc/passwd", "..", "", "C:/a.jpg" };
    static const char *const names[] = { "train:m/metadata.jsonl", NULL };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct opened o;
        struct buf text = BUF_INIT(mem_system());
        grebe_error err;
        char line[256];
        snprintf(line, sizeof line, "{\"file_name\": \"%s\"}\n", bad[i]);
        free(write_text(f->folder, "m/metadata.jsonl", line));
        assert_ok(open_folder(f, &o, "imagefolder", NULL, names, &err));
        assert_fails(all_rows(f, &o, 0, &text, &err), GREBE_EINVAL, "row 0");
        close_folder(&o);
        buf_release(&text);
    }
    struct opened o;
    struct buf text = BUF_INIT(mem_system());
    grebe_error err;
    free(write_text(f->folder, "m/metadata.jsonl", "{\"file_name\": \"there.jpg\"}\n{\"file_name\": \"missing.jpg\"}\n"));
    free(write_text(f->folder, "m/there.jpg", "x"));
    assert_ok(open_folder(f, &o, "imagefolder", NULL, names, &err));
    assert_fails(all_rows(f, &o, 0, &text, &err), GREBE_ENOTFOUND, "row 1");
    close_folder(&o);
    buf_release(&text);
    free(write_text(f->folder, "m/metadata.jsonl", "{\"name\": \"there.jpg\"}\n"));
    assert_fails(open_folder(f, &o, "imagefolder", NULL, names, &err), GREBE_EINVAL, "file_name");
    close_folder(&o);
}

static void copy_archive(struct fixture *f, const char *name)
{
    char from[512], to[1024];
    size_t len = 0;
    snprintf(from, sizeof from, TEST_DATA "/data/archive/%s", name);
    snprintf(to, sizeof to, "%s/%s", f->folder, name);
    unsigned char *bytes = test_read_file(from, &len);
    test_write_file(to, bytes, len);
    free(bytes);
}

static void archives(void **state)
{
    struct fixture *f = *state;
    struct opened o;
    grebe_error err;
    static const char *const labels[] = { "train:media.zip", NULL };
    static const char *const metadata[] = { "train:metadata.zip", NULL };
    copy_archive(f, "media.zip");
    copy_archive(f, "metadata.zip");
    assert_ok(open_folder(f, &o, "imagefolder", NULL, labels, &err));
    check_features(&o, "{\"image\": {\"_type\": \"Image\"}, \"label\": {\"names\": [\"cat\", \"dog\"], \"_type\": \"ClassLabel\"}}");
    check_rows(f, &o, 0,
               "{\"image\": {\"bytes\": {\"$b64\": \"QzE=\"}, \"path\": \"cat/1.png\"}, \"label\": 0}\n"
               "{\"image\": {\"bytes\": {\"$b64\": \"QzI=\"}, \"path\": \"cat/2.png\"}, \"label\": 0}\n"
               "{\"image\": {\"bytes\": {\"$b64\": \"RDE=\"}, \"path\": \"dog/1.png\"}, \"label\": 1}\n");
    close_folder(&o);
    assert_ok(open_folder(f, &o, "imagefolder", NULL, metadata, &err));
    check_features(&o, "{\"image\": {\"_type\": \"Image\"}, \"n\": {\"dtype\": \"int64\", \"_type\": \"Value\"}}");
    check_rows(f, &o, 0, "{\"image\": {\"bytes\": {\"$b64\": \"Qg==\"}, \"path\": \"in/b.png\"}, \"n\": 1}\n"
                         "{\"image\": {\"bytes\": {\"$b64\": \"QQ==\"}, \"path\": \"in/a.png\"}, \"n\": 2}\n");
    close_folder(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(labels_of_folders, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(metadata_files, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(names_that_lead_out, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(archives, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests_name("builder folder", tests, NULL, NULL);
}
