/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include <stdio.h>

#include "arrow/schema_union.h"

/* A struct schema from "name", "type", "name", "type", …, NULL; names that end in '!' are not null. */
static void make(struct ArrowSchema *out, const char *const *words)
{
    grebe_error err = GREBE_ERROR_INIT;
    int64_t n = 0;
    while (words[2 * n] != NULL) {
        n++;
    }
    assert_ok(schema_new(mem_system(), "+s", "", false, n, out, &err));
    for (int64_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s", words[2 * i]);
        size_t len = strlen(name);
        bool is_nullable = name[len - 1] != '!';
        name[len - (is_nullable ? 0 : 1)] = '\0';
        assert_ok(type_parse(mem_system(), words[2 * i + 1], name, is_nullable, out->children[i],
                             &err));
    }
}

#define SCHEMA(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void assert_union(const char *const *x, const char *const *y, const char *const *expected)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema all, more, wanted;
    make(&all, x);
    make(&more, y);
    make(&wanted, expected);
    assert_ok(schema_unite(mem_system(), &all, &more, &err));
    if (!schema_equal(&all, &wanted, 0)) {
        struct buf text = BUF_INIT(mem_system());
        assert_ok(schema_to_json(&text, &all, &err));
        fail_msg("found %s", buf_text(&text));
    }
    schema_release(&all);
    schema_release(&more);
    schema_release(&wanted);
}

static void test_unite__fields__by_name_and_nullable_where_missing(void **state)
{
    (void)state;
    assert_union(SCHEMA("a!", "int64", "b", "string"), SCHEMA("b", "string", "c!", "float"),
                 SCHEMA("a", "int64", "b", "string", "c", "float"));
    assert_union(SCHEMA("a!", "int64"), SCHEMA("a!", "int64"), SCHEMA("a!", "int64"));
    assert_union(SCHEMA("a!", "int64"), SCHEMA("a", "int64"), SCHEMA("a", "int64"));
}

static void test_unite__types__meet_where_nothing_is_lost(void **state)
{
    (void)state;
    assert_union(SCHEMA("a", "int8"), SCHEMA("a", "int64"), SCHEMA("a", "int64"));
    assert_union(SCHEMA("a", "int64"), SCHEMA("a", "int8"), SCHEMA("a", "int64"));
    assert_union(SCHEMA("a", "int8"), SCHEMA("a", "uint8"), SCHEMA("a", "int16"));
    assert_union(SCHEMA("a", "int32"), SCHEMA("a", "float"), SCHEMA("a", "double"));
    assert_union(SCHEMA("a", "null"), SCHEMA("a", "list<item: string>"),
                 SCHEMA("a", "list<item: string>"));
    assert_union(SCHEMA("a", "list<item: int32>"), SCHEMA("a", "list<item: int64>"),
                 SCHEMA("a", "list<item: int64>"));
    assert_union(SCHEMA("a", "struct<x: int32, y: string>"), SCHEMA("a", "struct<z: bool, x: int64>"),
                 SCHEMA("a", "struct<x: int64, y: string, z: bool>"));
    assert_union(SCHEMA("a", "fixed_size_list<item: float>[2]"), SCHEMA("a", "list<item: float>"),
                 SCHEMA("a", "list<item: float>"));
    assert_union(SCHEMA("a", "list<item: float>"), SCHEMA("a", "fixed_size_list<item: double>[2]"),
                 SCHEMA("a", "list<item: double>"));
    assert_union(SCHEMA("a", "fixed_size_list<item: float>[2]"),
                 SCHEMA("a", "fixed_size_list<item: float>[3]"), SCHEMA("a", "list<item: float>"));
    assert_union(SCHEMA("a", "fixed_size_list<item: float>[2]"),
                 SCHEMA("a", "fixed_size_list<item: float>[2]"),
                 SCHEMA("a", "fixed_size_list<item: float>[2]"));
    assert_union(SCHEMA("a", "timestamp[s]"), SCHEMA("a", "timestamp[us]"),
                 SCHEMA("a", "timestamp[us]"));
}

static void test_unite__types_that_do_not_meet__named_and_unchanged(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema all, more;
    make(&all, SCHEMA("k", "int64", "a", "struct<x: int64>"));
    make(&more, SCHEMA("a", "struct<x: string>"));
    assert_fails(schema_unite(mem_system(), &all, &more, &err), GREBE_ESCHEMA,
                 "column \"a\": column \"x\": expected int64, found string");
    assert_int_equal(all.n_children, 2);
    schema_release(&more);
    make(&more, SCHEMA("k", "double"));
    assert_fails(schema_unite(mem_system(), &all, &more, &err), GREBE_ESCHEMA, "no type holds both");
    schema_release(&more);
    schema_release(&all);
}

static void test_unite__no_memory__no_leak(void **state)
{
    (void)state;
    grebe_status st = GREBE_ENOMEM;
    for (size_t n = 1; st == GREBE_ENOMEM; n++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct test_allocator t;
        struct ArrowSchema all, more, copy = { 0 };
        test_allocator_init(&t);
        make(&all, SCHEMA("a", "struct<x: int32, y: string>", "m", "map<string, int32>"));
        make(&more, SCHEMA("a", "struct<z: bool>", "b", "int8", "m", "map<string, int64>"));
        assert_ok(schema_copy(&t.a, &all, &copy, &err));
        t.fail_at = t.n_calls + n;
        st = schema_unite(&t.a, &copy, &more, &err);
        assert_int_equal(copy.n_children, st == GREBE_OK ? 3 : 2);
        schema_release(&copy);
        schema_release(&all);
        schema_release(&more);
        assert_int_equal(t.n_live, 0);
    }
    assert_int_equal(st, GREBE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unite__fields__by_name_and_nullable_where_missing),
        cmocka_unit_test(test_unite__types__meet_where_nothing_is_lost),
        cmocka_unit_test(test_unite__types_that_do_not_meet__named_and_unchanged),
        cmocka_unit_test(test_unite__no_memory__no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
