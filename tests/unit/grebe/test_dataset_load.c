/* SPDX-License-Identifier: Apache-2.0 */
/* Loading through the public calls, against what the library `datasets` gives for the same files (tests/data/hfdatasets/load). */

#include <stdlib.h>
#include <sys/stat.h>
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
    arena_release(&ar);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_load__stored_cases__as_the_library, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
