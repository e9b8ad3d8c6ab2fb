/* SPDX-License-Identifier: Apache-2.0 */
/* The feature language: three forms, each against what the library `datasets` writes (tests/data/hfdatasets/features). */

#include <stdlib.h>

#include "feature/features.h"
#include "test_support.h"

static grebe_error err;

struct goldens {
    struct arena ar;
    const struct json_value *cases;
};

static void open_goldens(struct goldens *g)
{
    size_t len;
    const struct json_value *tree;
    unsigned char *text = test_read_file(TEST_DATA "/data/hfdatasets/features/cases.json", &len);
    g->ar = ARENA_INIT(mem_system());
    assert_ok(json_parse(&g->ar, (char *)text, len, &tree, &err));
    g->cases = json_get(tree, "cases");
    assert_non_null(g->cases);
    assert_true(g->cases->n >= 9);
    free(text);
}

static const char *member(const struct json_value *c, const char *key)
{
    const struct json_value *v = json_get(c, key);
    return v != NULL ? v->text : NULL;
}

static struct features *read_json(const char *text)
{
    struct features *f = NULL;
    assert_ok(features_from_json(mem_system(), text, strlen(text), &f, &err));
    return f;
}

static void assert_text(struct buf *b, const char *expected)
{
    assert_string_equal(buf_text(b), expected);
    buf_clear(b);
}

static void test_features__stored_json__written_again_byte_for_byte(void **state)
{
    struct goldens g;
    struct buf b = BUF_INIT(mem_system());
    (void)state;
    open_goldens(&g);
    for (size_t i = 0; i < g.cases->n; i++) {
        const struct json_value *c = &g.cases->items[i];
        struct features *f = read_json(member(c, "json"));
        assert_ok(features_to_json(f, -1, 0, &b, &err));
        assert_text(&b, member(c, "json"));
        assert_ok(features_to_json(f, 2, 0, &b, &err));
        assert_text(&b, member(c, "indented"));
        assert_ok(features_metadata(f, NULL, &b, &err));
        assert_text(&b, member(c, "metadata"));
        features_free(f);
    }
    buf_release(&b);
    arena_release(&g.ar);
}

static void test_features__stored_yaml__same_features_and_same_text(void **state)
{
    struct goldens g;
    struct buf b = BUF_INIT(mem_system());
    size_t n_read = 0;
    (void)state;
    if (!GREBE_HAVE_YAML) {
        skip();
    }
    open_goldens(&g);
    for (size_t i = 0; i < g.cases->n; i++) {
        const struct json_value *c = &g.cases->items[i];
        const char *yaml = member(c, "yaml");
        const struct yaml_tree *tree;
        struct features *f = read_json(member(c, "json")), *again = NULL;
        if (yaml == NULL) {
            assert_ok(features_to_yaml(f, 0, &b, &err)); /* a column "_type": the library cannot */
            yaml = buf_text(&b);
        }
        assert_ok(yaml_tree_parse(&g.ar, "cases", yaml, strlen(yaml), &tree, &err));
        assert_ok(features_from_yaml(mem_system(), tree, &again, &err));
        assert_true(feature_equal(&f->top, &again->top));
        features_free(again);
        buf_clear(&b);

        /* what is written reads back to the same, whatever quotes it has */
        assert_ok(features_to_yaml(f, 0, &b, &err));
        assert_ok(yaml_tree_parse(&g.ar, "again", buf_text(&b), b.len, &tree, &err));
        assert_ok(features_from_yaml(mem_system(), tree, &again, &err));
        assert_true(feature_equal(&f->top, &again->top));
        if (member(c, "yaml") != NULL && strcmp(member(c, "name"), "names") != 0 &&
            strcmp(member(c, "name"), "labels") != 0) {
            assert_text(&b, member(c, "yaml"));
            n_read++;
        }
        buf_clear(&b);
        features_free(again);
        features_free(f);
    }
    assert_true(n_read >= 6);
    buf_release(&b);
    arena_release(&g.ar);
}

/* fixed_size_list<item: float>[3] as pyarrow says, a type as we print it otherwise */
static void test_features__arrow_schema__back_to_the_same_features(void **state)
{
    struct goldens g;
    (void)state;
    open_goldens(&g);
    for (size_t i = 0; i < g.cases->n; i++) {
        const struct json_value *c = &g.cases->items[i];
        struct features *f = read_json(member(c, "json")), *again = NULL;
        struct ArrowSchema schema;
        assert_ok(features_to_file_schema(mem_system(), f, "0123456789abcdef", &schema, &err));
        assert_ok(schema_check(&schema, &err));
        const struct json_value *arrow = json_get(c, "arrow");
        assert_int_equal((int64_t)arrow->n, schema.n_children);
        for (size_t k = 0; k < arrow->n; k++) {
            const struct json_value *pair = &arrow->items[k];
            struct ArrowSchema *column = schema.children[k];
            assert_string_equal(column->name, pair->items[0].text);
            assert_true(column->flags & ARROW_FLAG_NULLABLE);
        }
        assert_ok(features_from_schema(mem_system(), &schema, true, &again, &err));
        assert_true(feature_equal(&f->top, &again->top));
        features_free(again);
        schema_release(&schema);
        features_free(f);
    }
    arena_release(&g.ar);
}

static void test_features__extensions_without_metadata__kept(void **state)
{
    (void)state;
    struct features *f = read_json("{\"a\": {\"shape\": [null, 3], \"dtype\": \"int32\", \"_type\": \"Array2D\"}, "
                                   "\"j\": {\"_type\": \"Json\"}, \"l\": {\"names\": [\"x\"], \"_type\": \"ClassLabel\"}}");
    struct features *again = NULL;
    struct ArrowSchema schema;
    assert_ok(features_to_schema(mem_system(), f, &schema, &err));
    assert_string_equal(schema.children[0]->format, "+l");
    assert_string_equal(schema.children[0]->children[0]->children[0]->format, "i");
    assert_ok(features_from_schema(mem_system(), &schema, true, &again, &err));
    assert_true(feature_equal(features_find(f, "a"), features_find(again, "a")));
    assert_int_equal(features_find(again, "j")->kind, FEATURE_JSON);
    assert_int_equal(features_find(again, "l")->kind, FEATURE_VALUE);
    assert_string_equal(features_find(again, "l")->dtype, "int64");
    features_free(again);
    features_free(f);
    schema_release(&schema);
}

static void test_features__metadata_of_other_types__fallback_per_column(void **state)
{
    (void)state;
    struct features *f = read_json("{\"a\": {\"dtype\": \"int64\", \"_type\": \"Value\"}, \"l\": {\"names\": [\"x\"], \"_type\": "
                                   "\"ClassLabel\"}, \"m\": {\"_type\": \"Image\"}}");
    struct features *again = NULL;
    struct ArrowSchema schema, other;
    assert_ok(features_to_file_schema(mem_system(), f, NULL, &schema, &err));
    assert_ok(type_parse(mem_system(), "float", "a", true, &other, &err));
    schema_release(schema.children[0]);
    schema_move(schema.children[0], &other);
    assert_ok(features_from_schema(mem_system(), &schema, true, &again, &err));
    assert_string_equal(features_find(again, "a")->dtype, "float32");
    assert_int_equal(features_find(again, "l")->kind, FEATURE_CLASS_LABEL);
    assert_int_equal(features_find(again, "m")->kind, FEATURE_MEDIA);
    features_free(again);
    assert_ok(features_from_schema(mem_system(), &schema, false, &again, &err));
    assert_int_equal(features_find(again, "l")->kind, FEATURE_VALUE);
    assert_int_equal(features_find(again, "m")->kind, FEATURE_STRUCT);
    features_free(again);
    features_free(f);
    schema_release(&schema);
}

static void read_twice(const char *text, const char *expected)
{
    struct buf b = BUF_INIT(mem_system());
    struct features *f = read_json(text);
    assert_ok(features_to_json(f, -1, 0, &b, &err));
    assert_text(&b, expected);
    features_free(f);
    buf_release(&b);
}

static void test_features__legacy_forms__read(void **state)
{
    (void)state;
    read_twice("{\"a\": [{\"dtype\": \"int32\", \"id\": null, \"_type\": \"Value\"}]}",
               "{\"a\": {\"feature\": {\"dtype\": \"int32\", \"_type\": \"Value\"}, \"_type\": \"List\"}}");
    read_twice("{\"a\": {\"feature\": {\"x\": {\"dtype\": \"int32\", \"_type\": \"Value\"}}, \"length\": 2, \"_type\": \"Sequence\"}}",
               "{\"a\": {\"x\": {\"feature\": {\"dtype\": \"int32\", \"_type\": \"Value\"}, \"length\": 2, \"_type\": \"List\"}}}");
    read_twice("{\"a\": {\"feature\": {\"dtype\": \"float\", \"_type\": \"Value\"}, \"length\": -1, \"_type\": \"Sequence\"}}",
               "{\"a\": {\"feature\": {\"dtype\": \"float32\", \"_type\": \"Value\"}, \"_type\": \"List\"}}");
    read_twice("{\"a\": {\"num_classes\": 2, \"names\": [\"0\", \"1\"], \"names_file\": null, \"id\": null, \"_type\": \"ClassLabel\"}}",
               "{\"a\": {\"names\": [\"0\", \"1\"], \"_type\": \"ClassLabel\"}}");
    read_twice("{\"a\": {\"num_classes\": 2, \"_type\": \"ClassLabel\"}}", "{\"a\": {\"names\": [\"0\", \"1\"], \"_type\": \"ClassLabel\"}}");
}

static void refuse(const char *text, const char *fragment)
{
    struct features *f = NULL;
    assert_fails(features_from_json(mem_system(), text, strlen(text), &f, &err), GREBE_EINVAL, fragment);
    assert_null(f);
}

static void test_features__wrong__refused_with_place(void **state)
{
    (void)state;
    refuse("{\"a\": {\"feature\": {\"_type\": \"X\"}, \"_type\": \"List\"}}", "a.feature: unknown _type \"X\"");
    refuse("{\"a\": {\"dtype\": \"int65\", \"_type\": \"Value\"}}", "a: \"int65\" is no data type");
    refuse("{\"a\": {\"dtype\": \"json\", \"_type\": \"Value\"}}", "expected the feature Json");
    refuse("{\"a\": {\"dtype\": \"time32[us]\", \"_type\": \"Value\"}}", "no data type");
    refuse("{\"a\": {\"dtype\": \"time64[s]\", \"_type\": \"Value\"}}", "no data type");
    refuse("{\"a\": {\"dtype\": \"timestamp[us, tz=a b]\", \"_type\": \"Value\"}}", "no data type");
    refuse("{\"a\": {\"dtype\": \"decimal128(39, 2)\", \"_type\": \"Value\"}}", "no data type");
    refuse("{\"a\": {\"names\": [\"x\", \"x\"], \"_type\": \"ClassLabel\"}}", "twice");
    refuse("{\"a\": {\"names\": [\"x\"], \"num_classes\": 2, \"_type\": \"ClassLabel\"}}", "there are 1 names");
    refuse("{\"a\": {\"_type\": \"ClassLabel\"}}", "without names");
    refuse("{\"a\": {\"shape\": [2], \"dtype\": \"int8\", \"_type\": \"Array2D\"}}", "list of 2");
    refuse("{\"a\": {\"shape\": [2, null], \"dtype\": \"int8\", \"_type\": \"Array2D\"}}", "dimension 1");
    refuse("{\"a\": {\"_type\": \"List\"}}", "List without feature");
    refuse("{\"a\": {\"x\": 3}}", "a.x: expected an object");
    refuse("{\"a\": {\"x\": {\"_type\": \"Json\"}, \"x\": {\"_type\": \"Json\"}}}", "a.x: the name stands there twice");
    refuse("[]", "expected an object of columns");
}

static void refuse_yaml(const char *text, const char *fragment)
{
    struct arena ar = ARENA_INIT(mem_system());
    const struct yaml_tree *tree;
    struct features *f = NULL;
    assert_ok(yaml_tree_parse(&ar, "t", text, strlen(text), &tree, &err));
    assert_fails(features_from_yaml(mem_system(), tree, &f, &err), GREBE_EINVAL, fragment);
    arena_release(&ar);
}

static void test_features__wrong_yaml__refused_with_place(void **state)
{
    (void)state;
    if (!GREBE_HAVE_YAML) {
        skip();
    }
    refuse_yaml("- name: a\n  dtype:\n    class_label:\n      names:\n        '0': x\n        '2': y\n", "6:9");
    refuse_yaml("- dtype: int32\n", "entry with a name");
    refuse_yaml("- name: a\n", "expected dtype");
    refuse_yaml("a: int32\n", "list of entries");
    refuse_yaml("- name: a\n  dtype: foo\n", "unknown _type \"Foo\"");
}

static void test_features__yaml_sequence_of_entries__struct_of_lists(void **state)
{
    (void)state;
    if (!GREBE_HAVE_YAML) {
        skip();
    }
    struct arena ar = ARENA_INIT(mem_system());
    struct buf b = BUF_INIT(mem_system());
    const struct yaml_tree *tree;
    struct features *f = NULL;
    const char *text = "- name: a\n  sequence:\n  - name: x\n    dtype: int32\n- name: b\n  sequence: string\n- name: c\n"
                       "  dtype:\n    class_label:\n      names: [no, yes]\n";
    assert_ok(yaml_tree_parse(&ar, "t", text, strlen(text), &tree, &err));
    assert_ok(features_from_yaml(mem_system(), tree, &f, &err));
    assert_ok(features_to_json(f, -1, 0, &b, &err));
    assert_text(&b, "{\"a\": {\"x\": {\"feature\": {\"dtype\": \"int32\", \"_type\": \"Value\"}, \"_type\": \"List\"}}, \"b\": "
                    "{\"feature\": {\"dtype\": \"string\", \"_type\": \"Value\"}, \"_type\": \"List\"}, \"c\": {\"names\": [\"False\", "
                    "\"True\"], \"_type\": \"ClassLabel\"}}");
    features_free(f);
    buf_release(&b);
    arena_release(&ar);
}

static void test_features__project_and_merge__order_and_names(void **state)
{
    (void)state;
    const char *const names[] = { "b", "a" }, *const as[] = { "b", "c" };
    struct buf b = BUF_INIT(mem_system());
    struct features *f = read_json("{\"a\": {\"dtype\": \"int8\", \"_type\": \"Value\"}, \"b\": {\"mode\": \"L\", \"_type\": \"Image\"}}");
    struct features *more = read_json("{\"z\": {\"_type\": \"Json\"}, \"a\": {\"dtype\": \"bool\", \"_type\": \"Value\"}}");
    struct features *out = NULL;
    assert_ok(features_project(mem_system(), f, names, as, 2, &out, &err));
    assert_ok(features_to_json(out, -1, 0, &b, &err));
    assert_text(&b, "{\"b\": {\"mode\": \"L\", \"_type\": \"Image\"}, \"c\": {\"dtype\": \"int8\", \"_type\": \"Value\"}}");
    features_free(out);
    assert_ok(features_merge(mem_system(), f, more, &out, &err));
    assert_ok(features_to_json(out, -1, 0, &b, &err));
    assert_text(&b, "{\"a\": {\"dtype\": \"bool\", \"_type\": \"Value\"}, \"b\": {\"mode\": \"L\", \"_type\": \"Image\"}, \"z\": {\"_type\": \"Json\"}}");
    features_free(out);
    const char *const missing[] = { "x" };
    assert_fails(features_project(mem_system(), f, missing, NULL, 1, &out, &err), GREBE_ENOTFOUND, "\"x\"");
    assert_int_equal(features_writer_rows(f), 100);
    assert_int_equal(features_writer_rows(more), 1000);
    features_free(f);
    features_free(more);
    buf_release(&b);
}

static void test_features__every_allocation_fails_in_turn__no_leak(void **state)
{
    struct goldens g;
    (void)state;
    open_goldens(&g);
    for (size_t i = 0; i < g.cases->n; i++) {
        const char *text = member(&g.cases->items[i], "json");
        for (size_t at = 1;; at++) {
            struct test_allocator t;
            struct features *f = NULL, *again = NULL;
            struct ArrowSchema schema = { 0 };
            struct buf b;
            test_allocator_init(&t);
            t.fail_at = at;
            b = BUF_INIT(&t.a);
            grebe_status st = features_from_json(&t.a, text, strlen(text), &f, &err);
            if (st == GREBE_OK) {
                st = features_to_yaml(f, 0, &b, &err);
            }
            if (st == GREBE_OK) {
                st = features_to_file_schema(&t.a, f, NULL, &schema, &err);
            }
            if (st == GREBE_OK) {
                st = features_from_schema(&t.a, &schema, true, &again, &err);
            }
            features_free(f);
            features_free(again);
            schema_release(&schema);
            buf_release(&b);
            assert_int_equal(t.n_live, 0);
            if (st == GREBE_OK) {
                break;
            }
            assert_int_equal(st, GREBE_ENOMEM);
        }
    }
    arena_release(&g.ar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features__stored_json__written_again_byte_for_byte),
        cmocka_unit_test(test_features__stored_yaml__same_features_and_same_text),
        cmocka_unit_test(test_features__arrow_schema__back_to_the_same_features),
        cmocka_unit_test(test_features__extensions_without_metadata__kept),
        cmocka_unit_test(test_features__metadata_of_other_types__fallback_per_column),
        cmocka_unit_test(test_features__legacy_forms__read),
        cmocka_unit_test(test_features__wrong__refused_with_place),
        cmocka_unit_test(test_features__wrong_yaml__refused_with_place),
        cmocka_unit_test(test_features__yaml_sequence_of_entries__struct_of_lists),
        cmocka_unit_test(test_features__project_and_merge__order_and_names),
        cmocka_unit_test(test_features__every_allocation_fails_in_turn__no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
