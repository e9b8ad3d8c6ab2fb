/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns, usual names, loaders and the split grammar, against what the library `datasets` gives. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load/load_card.h"
#include "load/load_module.h"
#include "load/load_patterns.h"
#include "load/load_split.h"
#include "test_support.h"
#include "wire/json.h"

static grebe_error err;

struct goldens {
    struct arena ar;
    const struct json_value *tree;
    grebe_context *ctx;
    struct io_store *store;
    char *folder;
};

static void open_goldens(struct goldens *g, const char *name)
{
    size_t len;
    char path[512];
    snprintf(path, sizeof path, "%s/data/hfdatasets/load/%s", TEST_DATA, name);
    unsigned char *text = test_read_file(path, &len);
    g->ar = ARENA_INIT(mem_system());
    assert_ok(json_parse(&g->ar, (char *)text, len, &g->tree, &err));
    free(text);
    assert_ok(context_new(NULL, &g->ctx, &err));
    assert_ok(io_local_new(g->ctx, &g->store, &err));
    g->folder = test_folder_new();
}

static void close_goldens(struct goldens *g)
{
    test_folder_remove(g->folder);
    io_store_free(g->store);
    context_free(g->ctx);
    arena_release(&g->ar);
}

/* A file of one row below the folder, with the folders above it. */
static void put_file(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *p = path + strlen(folder) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(path, 0777);
        *p = '/';
    }
    test_write_file(path, "x", 1);
}

static void assert_files(const char *what, const char *folder, const struct json_value *expected, const struct load_files *found)
{
    if (expected->n != found->n) {
        fail_msg("%s: expected %zu files, found %zu", what, expected->n, found->n);
    }
    for (size_t i = 0; i < expected->n; i++) {
        const char *rest = found->items[i].path + strlen(folder) + 1;
        if (strcmp(rest, expected->items[i].text) != 0) {
            fail_msg("%s: file %zu: expected %s, found %s", what, i, expected->items[i].text, rest);
        }
    }
}

static void test_patterns__stored_tree__files_of_the_library(void **state)
{
    struct goldens g;
    (void)state;
    open_goldens(&g, "split_inference.json");
    const struct json_value *tree = json_get(g.tree, "pattern_tree"), *patterns = json_get(g.tree, "patterns");
    for (size_t i = 0; i < tree->n; i++) {
        put_file(g.folder, tree->items[i].text);
    }
    assert_true(patterns->n >= 25);
    for (size_t i = 0; i < patterns->n; i++) {
        const struct json_value *p = json_get(&patterns->items[i], "pattern"), *files = json_get(&patterns->items[i], "files");
        struct load_pattern_set set;
        struct load_file_set found = { NULL, 0 };
        assert_ok(load_patterns_of(&g.ar, p, &set, &err));
        grebe_status st = load_patterns_resolve(&g.ar, g.store, g.folder, &set, NULL, &found, &err);
        if (files == NULL || files->n == 0) {
            if (st != GREBE_ENOTFOUND && st != GREBE_EINVAL) {
                fail_msg("%s: expected no files", p->text);
            }
        } else {
            if (st != GREBE_OK) {
                fail_msg("%s: %s", p->text, err.message);
            }
            assert_files(p->text, g.folder, files, &found.splits[0].files);
        }
    }
    close_goldens(&g);
}

static void check_inference(struct goldens *g, const struct json_value *c, const char *folder)
{
    const struct json_value *files = json_get(c, "files"), *splits = json_get(c, "splits"), *loader = json_get(c, "loader");
    const char *what = files->n > 0 ? files->items[0].text : "(nothing)";
    struct load_pattern_set set;
    struct load_file_set found = { NULL, 0 };
    struct load_module module;
    for (size_t i = 0; i < files->n; i++) {
        put_file(folder, files->items[i].text);
    }
    grebe_status st = load_patterns_default(&g->ar, g->store, folder, &set, &err);
    if (st == GREBE_OK) {
        st = load_patterns_resolve(&g->ar, g->store, folder, &set, load_is_any_extension, &found, &err);
    }
    if (st == GREBE_OK) {
        st = load_module_infer(&g->ar, g->store, folder, &found, &module, &err);
    }
    if (loader == NULL) {
        bool is_value = strcmp(json_get(c, "error")->text, "ValueError") == 0;
        if (st != (is_value ? GREBE_EINVAL : GREBE_ENOTFOUND)) {
            fail_msg("%s: expected %s, found %d", what, json_get(c, "error")->text, (int)st);
        }
        return;
    }
    if (st != GREBE_OK) {
        fail_msg("%s: %s", what, err.message);
    }
    load_module_filter(module.name, &found);
    assert_string_equal(module.name, loader->text);
    if (found.n != splits->n) {
        fail_msg("%s: expected %zu splits, found %zu", what, splits->n, found.n);
    }
    for (size_t i = 0; i < found.n; i++) {
        assert_string_equal(found.splits[i].split, splits->members[i].key);
        assert_files(what, folder, &splits->members[i].value, &found.splits[i].files);
    }
}

static void test_usual_names__stored_cases__splits_and_loader_of_the_library(void **state)
{
    struct goldens g;
    (void)state;
    open_goldens(&g, "split_inference.json");
    const struct json_value *cases = json_get(g.tree, "cases");
    assert_true(cases->n >= 45);
    for (size_t i = 0; i < cases->n; i++) {
        char folder[600];
        snprintf(folder, sizeof folder, "%s/%zu", g.folder, i);
        mkdir(folder, 0777);
        check_inference(&g, &cases->items[i], folder);
    }
    close_goldens(&g);
}

static void test_split_grammar__stored_cases__rows_of_the_library(void **state)
{
    struct goldens g;
    (void)state;
    open_goldens(&g, "split_grammar.json");
    const struct split_size splits[] = { { "train", 99 }, { "test", 7 }, { "unseen.part", 5 } };
    const int64_t first_id[] = { 0, 99, 106 };
    const struct json_value *cases = json_get(g.tree, "cases");
    assert_true(cases->n >= 50);
    for (size_t i = 0; i < cases->n; i++) {
        const char *text = json_get(&cases->items[i], "split")->text;
        const struct json_value *ids = json_get(&cases->items[i], "ids");
        struct split_spec spec;
        struct buf name = BUF_INIT(mem_system());
        size_t n = 0;
        grebe_status st = split_parse(&g.ar, text, &spec, &err);
        for (size_t t = 0; st == GREBE_OK && t < (spec.is_all ? 3 : spec.n); t++) {
            struct split_range r = { t, 0, splits[t < 3 ? t : 0].n_rows };
            st = spec.is_all ? GREBE_OK : split_resolve(&spec.terms[t], splits, 3, &r, &err);
            for (int64_t row = r.begin; st == GREBE_OK && row < r.end; row++, n++) {
                int64_t id;
                assert_true(ids != NULL && n < ids->n && json_i64(&ids->items[n], &id));
                assert_int_equal(id, first_id[r.split] + row);
            }
        }
        if (ids == NULL || ids->n == 0) { /* from behind to is an error of ours, an empty split of the caller of split_resolve */
            assert_true(st == GREBE_EINVAL || st == GREBE_ENOTFOUND || n == 0);
        } else {
            if (st != GREBE_OK) {
                fail_msg("%s: %s", text, err.message);
            }
            assert_int_equal(n, ids->n);
            assert_ok(split_print(&spec, splits, 3, &name, &err));
            assert_string_equal(buf_text(&name), json_get(&cases->items[i], "name")->text);
        }
        buf_release(&name);
    }
    close_goldens(&g);
}

static void refuse_split(const char *text, grebe_status status, const char *fragment)
{
    struct arena ar = ARENA_INIT(mem_system());
    const struct split_size splits[] = { { "train", 99 } };
    struct split_spec spec;
    struct split_range r;
    grebe_status st = split_parse(&ar, text, &spec, &err);
    for (size_t t = 0; st == GREBE_OK && t < spec.n; t++) {
        st = split_resolve(&spec.terms[t], splits, 1, &r, &err);
    }
    assert_int_equal(st, status);
    assert_non_null(strstr(err.message, fragment));
    arena_release(&ar);
}

static void test_split_grammar__wrong__refused(void **state)
{
    (void)state;
    refuse_split("train[:3.%]", GREBE_EINVAL, "expected name");
    refuse_split("train[99999999999999999999:]", GREBE_EINVAL, "expected name");
    refuse_split("train[:5%](pct1_dropremainder)", GREBE_EINVAL, "100 rows");
    refuse_split("train[:5](closest)", GREBE_EINVAL, "percents alone");
    refuse_split("train[:5%](closest)+train[:5%](pct1_dropremainder)", GREBE_EINVAL, "different rounding");
    refuse_split("train[7:3]", GREBE_EINVAL, "behind");
    refuse_split("nope", GREBE_ENOTFOUND, "one of train");
    refuse_split("train+", GREBE_EINVAL, "expected name");
    refuse_split("train[1_:2]", GREBE_EINVAL, "expected name");
}

static void test_glob_escape__path__fits_itself_alone(void **state)
{
    struct buf b = BUF_INIT(mem_system());
    (void)state;
    assert_ok(load_glob_escape(&b, "/a[1]/b*?[", &err));
    assert_string_equal(buf_text(&b), "/a[[]1]/b[*][?][[]");
    assert_true(load_glob_matches(buf_text(&b), "/a[1]/b*?["));
    assert_false(load_glob_matches(buf_text(&b), "/a1/bxyz"));
    buf_release(&b);
}

static void refuse_files(const char *json, const char *fragment)
{
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *v;
    struct load_pattern_set set;
    assert_ok(json_parse(&ar, json, strlen(json), &v, &err));
    assert_fails(load_patterns_of(&ar, v, &set, &err), GREBE_EINVAL, fragment);
    arena_release(&ar);
}

static void test_data_files__wrong_forms__refused(void **state)
{
    (void)state;
    refuse_files("\"\"", "empty");
    refuse_files("[]", "empty");
    refuse_files("{}", "empty");
    refuse_files("3", "expected a path");
    refuse_files("{\"a b\": \"x\"}", "no name of a split");
    refuse_files("{\"all\": \"x\"}", "all splits");
    refuse_files("[{\"split\": \"a\", \"path\": \"x\"}, {\"split\": \"a\", \"path\": \"y\"}]", "twice");
    refuse_files("[{\"split\": \"a\", \"path\": \"x\", \"more\": 1}]", "entry 0");
    refuse_files("[{\"split\": \"a\", \"path\": {}}]", "entry 0");
    refuse_files("[1]", "expected a path");
}

static void test_glob__sets_and_stars__as_fnmatch(void **state)
{
    (void)state;
    assert_true(load_glob_matches("/a/[a-c]x", "/a/bx"));
    assert_false(load_glob_matches("/a/[!a-c]x", "/a/bx"));
    assert_true(load_glob_matches("/a/[!a-c]x", "/a/dx"));
    assert_true(load_glob_matches("/a/[]]", "/a/]"));
    assert_true(load_glob_matches("/a/[", "/a/["));
    assert_true(load_glob_matches("/a/[-._ 0-9]*", "/a/7z"));
    assert_true(load_glob_matches("/a/[-._ 0-9]*", "/a/-"));
    assert_false(load_glob_matches("/a/?", "/a/xy"));
    assert_true(load_glob_matches("/a/?", "/a/\xc3\xa9"));
    assert_true(load_glob_matches("/**/x/**", "/x/y"));
    assert_true(load_glob_matches("/**/x/**", "/a/b/x/c/y"));
    assert_false(load_glob_matches("/**/x/*", "/a/b/x/c/y"));
    assert_true(load_glob_matches("/**/a*/**/b", "/a/ac/d/b"));
    /* no more than the product of both lengths, whatever stars stand there */
    char pattern[200] = "/", path[200] = "/";
    for (int i = 0; i < 60; i++) {
        strcat(pattern, "a*");
    }
    strcat(pattern, "b");
    memset(path + 1, 'a', 150);
    assert_false(load_glob_matches(pattern, path));
}

/* ---- cards ---- */

static struct load_card *read_card(struct goldens *g, const char *readme, const char *yaml, grebe_status expected)
{
    char path[600];
    struct load_card *card = NULL;
    snprintf(path, sizeof path, "%s/README.md", g->folder);
    test_write_file(path, readme, strlen(readme));
    snprintf(path, sizeof path, "%s/.huggingface.yaml", g->folder);
    if (yaml != NULL) {
        test_write_file(path, yaml, strlen(yaml));
    } else {
        unlink(path);
    }
    grebe_status st = load_card_read(mem_system(), g->store, g->folder, &card, &err);
    if (st != expected) {
        fail_msg("expected %d, found %d: %s", (int)expected, (int)st, err.message);
    }
    return card;
}

static void test_card__configs__default_and_errors(void **state)
{
    struct goldens g;
    const struct load_config *config;
    (void)state;
    if (!GREBE_HAVE_YAML) {
        skip();
    }
    open_goldens(&g, "split_grammar.json");
    struct load_card *card = read_card(&g, "---\nconfigs:\n- config_name: a\n  data_files: x.csv\n  sep: ';'\n- config_name: b\n---\ntext\n",
                                       NULL, GREBE_OK);
    assert_fails(load_card_config(card, NULL, &config, &err), GREBE_EINVAL, "one of a, b");
    assert_fails(load_card_config(card, "c", &config, &err), GREBE_ENOTFOUND, "\"c\"");
    assert_ok(load_card_config(card, "a", &config, &err));
    assert_string_equal(json_get(config->options, "sep")->text, ";");
    assert_string_equal(config->data_files->text, "x.csv");
    load_card_free(card);

    card = read_card(&g, "---\nconfigs:\n- config_name: a\n  default: true\n- config_name: default\n---\n", NULL, GREBE_OK);
    assert_fails(load_card_config(card, NULL, &config, &err), GREBE_EINVAL, "several default configs: \"a\" and \"default\"");
    load_card_free(card);

    card = read_card(&g, "---\nconfigs:\n- config_name: a\n---\n", "configs:\n- config_name: z\n  features:\n  - name: q\n    dtype: int8\n",
                     GREBE_OK);
    assert_ok(load_card_config(card, NULL, &config, &err));
    assert_string_equal(config->name, "z");
    assert_non_null(features_find(config->features, "q"));
    load_card_free(card);

    card = read_card(&g, "no head\n---\nconfigs: 3\n---\n", NULL, GREBE_OK);
    assert_ok(load_card_config(card, NULL, &config, &err));
    assert_null(config);
    assert_fails(load_card_config(card, "x", &config, &err), GREBE_ENOTFOUND, "default");
    load_card_free(card);
    close_goldens(&g);
}

static void test_card__wrong__refused(void **state)
{
    struct goldens g;
    (void)state;
    if (!GREBE_HAVE_YAML) {
        skip();
    }
    open_goldens(&g, "split_grammar.json");
    static const char *const wrong[] = { "---\nconfigs: 3\n---\n",
                                         "---\nconfigs:\n- data_files: x\n---\n",
                                         "---\nconfigs:\n- config_name: a/b\n---\n",
                                         "---\nconfigs:\n- config_name: a\n  data_files: {x: y}\n---\n",
                                         "---\nconfigs:\n- config_name: a\n  data_files:\n  - split: a b\n    path: x\n---\n",
                                         "---\nconfigs:\n- config_name: a\n  data_files:\n  - {split: a, path: x, more: y}\n---\n",
                                         "---\nconfigs:\n- config_name: a\n  default: maybe\n---\n",
                                         "---\ndataset_info: 3\n---\n",
                                         "---\ndataset_info:\n  splits: 3\n---\n",
                                         "---\ndataset_info:\n  features:\n  - name: x\n    dtype: nothing\n---\n",
                                         "---\ndataset_info:\n  splits:\n  - name: x\n    num_examples: many\n---\n" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(read_card(&g, wrong[i], NULL, GREBE_EINVAL));
        assert_non_null(strstr(err.message, g.folder));
    }
    assert_null(read_card(&g, "---\na: [\n---\n", NULL, GREBE_ECORRUPT));
    close_goldens(&g);
}

static void test_card__info__newer_head_over_older_file(void **state)
{
    struct goldens g;
    char path[600];
    (void)state;
    if (!GREBE_HAVE_YAML) {
        skip();
    }
    open_goldens(&g, "split_grammar.json");
    const char *legacy = "{\"user--x\": {\"features\": {\"a\": {\"dtype\": \"int8\", \"_type\": \"Value\"}}, \"splits\": {\"train\": "
                         "{\"name\": \"train\", \"num_examples\": 7}}}}";
    snprintf(path, sizeof path, "%s/dataset_infos.json", g.folder);
    test_write_file(path, legacy, strlen(legacy));
    struct load_card *card = read_card(&g, "nothing", NULL, GREBE_OK);
    const struct load_info *info = load_card_info(card, "default");
    assert_non_null(info);
    assert_int_equal(info->splits[0].n_rows, 7);
    assert_string_equal(features_find(info->features, "a")->dtype, "int8");
    load_card_free(card);
    card = read_card(&g, "---\ndataset_info:\n  splits:\n  - name: train\n    num_examples: 8\n---\n", NULL, GREBE_OK);
    info = load_card_info(card, "default");
    assert_int_equal(info->splits[0].n_rows, 8);
    assert_null(info->features);
    assert_null(load_card_info(card, "other"));
    load_card_free(card);
    close_goldens(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns__stored_tree__files_of_the_library),
        cmocka_unit_test(test_usual_names__stored_cases__splits_and_loader_of_the_library),
        cmocka_unit_test(test_split_grammar__stored_cases__rows_of_the_library),
        cmocka_unit_test(test_split_grammar__wrong__refused),
        cmocka_unit_test(test_data_files__wrong_forms__refused),
        cmocka_unit_test(test_glob__sets_and_stars__as_fnmatch),
        cmocka_unit_test(test_glob_escape__path__fits_itself_alone),
        cmocka_unit_test(test_card__configs__default_and_errors),
        cmocka_unit_test(test_card__wrong__refused),
        cmocka_unit_test(test_card__info__newer_head_over_older_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
