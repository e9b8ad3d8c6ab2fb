/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml_tree.h"

#include <stdio.h>
#include <stdlib.h>

#include "test_support.h"

static const struct yaml_tree *parse(struct arena *ar, const char *text)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct yaml_tree *t = NULL;
    assert_ok(yaml_tree_parse(ar, "x.yaml", text, strlen(text), &t, &err));
    return t;
}

static void test_yaml__maps_lists_scalars__places(void **state)
{
    struct arena ar = ARENA_INIT(mem_system());
    int64_t i = 0;
    double x = 0;
    bool b = false;
    (void)state;
    const struct yaml_tree *t = parse(&ar, "a: 12\nb:\n  - yes\n  - 'yes'\n  - [1.5, ~]\nc/d: {e: \"x\\ty\"}\nf: |\n  one\n  two\n");
    assert_int_equal(t->type, YAML_TREE_MAP);
    assert_int_equal(t->n, 4);
    assert_true(yaml_tree_i64(yaml_tree_get(t, "a"), &i) && i == 12);
    const struct yaml_tree *list = yaml_tree_get(t, "b");
    assert_int_equal(list->type, YAML_TREE_LIST);
    assert_int_equal(list->n, 3);
    assert_int_equal(list->line, 3);
    assert_int_equal(list->column, 3);
    assert_true(yaml_tree_bool(list->items[0], &b) && b);
    assert_false(yaml_tree_bool(list->items[1], &b)); /* quoted: a text */
    assert_true(yaml_tree_double(list->items[2]->items[0], &x) && x == 1.5);
    assert_true(yaml_tree_is_null(list->items[2]->items[1]));
    assert_string_equal(yaml_tree_get(yaml_tree_get(t, "c/d"), "e")->text, "x\ty");
    assert_string_equal(yaml_tree_get(t, "f")->text, "one\ntwo\n");
    assert_null(yaml_tree_get(t, "g"));
    assert_null(yaml_tree_get(NULL, "g"));
    assert_int_equal(parse(&ar, "")->n, 0);
    assert_int_equal(parse(&ar, "# nothing\n")->type, YAML_TREE_MAP);
    arena_release(&ar);
}

static void test_yaml__aliases__followed(void **state)
{
    struct arena ar = ARENA_INIT(mem_system());
    (void)state;
    const struct yaml_tree *t = parse(&ar, "a: &x {k: v}\nb: *x\nc: &y text\nd: [*y, *x]\n");
    assert_string_equal(yaml_tree_get(yaml_tree_get(t, "b"), "k")->text, "v");
    assert_string_equal(yaml_tree_get(t, "d")->items[0]->text, "text");
    assert_string_equal(yaml_tree_get(yaml_tree_get(t, "d")->items[1], "k")->text, "v");
    arena_release(&ar);
}

static void test_yaml__what_is_wrong__named_with_its_place(void **state)
{
    static const struct { const char *text; grebe_status st; const char *fragment; } bad[] = {
        { "a: [1, 2\nb: 3", GREBE_ECORRUPT, "x.yaml:2:" },
        { "a: 1\na: 2\n", GREBE_ECORRUPT, "x.yaml:2:1: a key that is there already: a, on line 1" },
        { "a: !!python/name:x 1\n", GREBE_EUNSUPPORTED, "x.yaml:1:4: a tag that is not read: tag:yaml.org,2002:python/name:x" },
        { "a: !new []\n", GREBE_EUNSUPPORTED, "x.yaml:1:4: a tag that is not read: !new" },
        { "? [a]\n: 1\n", GREBE_ECORRUPT, "expected a name as key" },
        { "a: *x\n", GREBE_ECORRUPT, "x.yaml:1:4: an alias" },
        { "a: &x [*x]\n", GREBE_ECORRUPT, "an alias" },
        { "a: 1\n---\nb: 2\n", GREBE_ECORRUPT, "a second" },
        { "a: \x01\n", GREBE_ECORRUPT, "x.yaml" },
        { "a: \xff\xff", GREBE_ECORRUPT, "x.yaml" },
        { "\tx: 1\n", GREBE_ECORRUPT, "x.yaml:1:1" },
    };
    grebe_error err = GREBE_ERROR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena ar = ARENA_INIT(mem_system());
        const struct yaml_tree *t = NULL;
        assert_fails(yaml_tree_parse(&ar, "x.yaml", bad[i].text, strlen(bad[i].text), &t, &err), bad[i].st, bad[i].fragment);
        assert_null(t);
        arena_release(&ar);
    }
}

/* Nine lists of nine aliases each: 9^9 values when written out. */
static void test_yaml__aliases_of_aliases__bounded(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    char text[4096] = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n", line[256];
    const struct yaml_tree *t = NULL;
    struct arena ar = ARENA_INIT(mem_system());
    (void)state;
    for (int i = 1; i < 10; i++) {
        snprintf(line, sizeof line, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1,
                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        strcat(text, line);
    }
    assert_fails(yaml_tree_parse(&ar, "x.yaml", text, strlen(text), &t, &err), GREBE_ELIMIT, "limit of 1048576");
    memset(text, '[', 100);
    text[100] = '\0';
    assert_fails(yaml_tree_parse(&ar, "x.yaml", text, strlen(text), &t, &err), GREBE_ELIMIT, "limit of 64");
    arena_release(&ar);
}

static void test_yaml__every_allocation_fails__told(void **state)
{
    static const char text[] = "a: &x {k: [1, 2, {b: c}]}\nb: *x\n";
    grebe_error err = GREBE_ERROR_INIT;
    struct test_allocator t;
    (void)state;
    for (size_t at = 1;; at++) {
        const struct yaml_tree *tree = NULL;
        test_allocator_init(&t);
        t.fail_at = at;
        struct arena ar = ARENA_INIT(&t.a);
        grebe_status st = yaml_tree_parse(&ar, "x", text, strlen(text), &tree, &err);
        arena_release(&ar);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            assert_true(at > 1);
            break;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml__maps_lists_scalars__places),
        cmocka_unit_test(test_yaml__aliases__followed),
        cmocka_unit_test(test_yaml__what_is_wrong__named_with_its_place),
        cmocka_unit_test(test_yaml__aliases_of_aliases__bounded),
        cmocka_unit_test(test_yaml__every_allocation_fails__told),
    };
#if GREBE_HAVE_YAML
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    (void)tests;
    return 0;
#endif
}
