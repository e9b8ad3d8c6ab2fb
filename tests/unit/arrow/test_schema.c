/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include "arrow/arrow_schema.h"

static void make(struct ArrowSchema *out)
{
    static const char *const fields[][2] = { { "id", "int64" }, { "Name", "string" },
                                             { "vec", "fixed_size_list<float>[4]" } };
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(schema_new(mem_system(), "+s", "", false, 3, out, &err));
    for (int i = 0; i < 3; i++) {
        assert_ok(type_parse(mem_system(), fields[i][1], fields[i][0], i > 0, out->children[i],
                             &err));
    }
}

static void test_schema__find__nearest_and_doubles(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema s;
    int at = -1;
    make(&s);
    assert_ok(schema_find(&s, "vec", &at, &err));
    assert_int_equal(at, 2);
    assert_fails(schema_find(&s, "name", &at, &err), GREBE_ENOTFOUND, "nearest: \"Name\"");
    assert_fails(schema_find(&s, "zzzzzz", &at, &err), GREBE_ENOTFOUND, "no field \"zzzzzz\"");
    assert_null(strstr(err.message, "nearest"));
    assert_ok(schema_set_name(mem_system(), s.children[0], "vec", &err));
    assert_fails(schema_find(&s, "vec", &at, &err), GREBE_EINVAL, "more than once: 0 and 2");
    schema_release(&s);
    schema_release(&s);
}

static void test_schema__metadata__set_found_replaced(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema s;
    struct ArrowSchema copy;
    struct key_value pairs[] = { { "a", 1, "1", 1 }, { "b", 1, "\0\xff", 2 }, { "", 0, "", 0 } };
    struct key_value swapped[] = { pairs[1], pairs[2], pairs[0] };
    struct key_value found;
    make(&s);
    assert_int_equal(schema_metadata_count(&s), 0);
    assert_ok(schema_set_metadata(mem_system(), &s, pairs, 3, &err));
    assert_int_equal(schema_metadata_count(&s), 3);
    assert_true(schema_metadata_find(&s, "b", &found));
    assert_int_equal(found.value_len, 2);
    assert_memory_equal(found.value, "\0\xff", 2);
    assert_false(schema_metadata_find(&s, "c", &found));
    assert_ok(schema_copy(mem_system(), &s, &copy, &err));
    assert_ok(schema_set_metadata(mem_system(), &copy, swapped, 3, &err));
    assert_true(schema_equal(&s, &copy, 0));
    assert_ok(schema_set_metadata(mem_system(), &copy, swapped, 2, &err));
    assert_false(schema_equal(&s, &copy, 0));
    assert_true(schema_equal(&s, &copy, SCHEMA_EQUAL_IGNORE_METADATA));
    assert_ok(schema_set_metadata(mem_system(), &copy, NULL, 0, &err));
    assert_null(copy.metadata);
    schema_release(&s);
    schema_release(&copy);
}

static void test_schema__equal__flags(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema x;
    struct ArrowSchema y;
    assert_ok(type_parse(mem_system(), "list<item: int8>", "c", true, &x, &err));
    assert_ok(type_parse(mem_system(), "list<element: int8>", "c", false, &y, &err));
    assert_false(schema_equal(&x, &y, 0));
    assert_false(schema_equal(&x, &y, SCHEMA_EQUAL_IGNORE_NULLABLE));
    assert_true(schema_equal(&x, &y,
                             SCHEMA_EQUAL_IGNORE_NULLABLE | SCHEMA_EQUAL_IGNORE_CHILD_NAMES));
    schema_release(&y);
    assert_ok(type_parse(mem_system(), "struct<element: int8>", "c", true, &y, &err));
    assert_false(schema_equal(&x, &y, ~0u));
    schema_release(&x);
    schema_release(&y);
}

static void test_schema__project__fields_in_order(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema s;
    struct ArrowSchema p;
    static const int columns[] = { 2, 0 };
    make(&s);
    assert_ok(schema_project(mem_system(), &s, columns, 2, &p, &err));
    assert_int_equal(p.n_children, 2);
    assert_string_equal(p.children[0]->name, "vec");
    assert_string_equal(p.children[1]->name, "id");
    schema_release(&s);
    schema_release(&p);
}

static void test_schema__check__faults_named(void **state)
{
    (void)state;
    static const char *const bad[] = { "q", "", "w:", "w:-1", "d:0,1", "d:10", "d:40,0", "ts:",
                                       "tsx:", "+w:x", "+ud:1,1", "+us:", "tdx", "+l", "ii" };
    grebe_error err = GREBE_ERROR_INIT;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ArrowSchema s;
        assert_ok(schema_new(mem_system(), bad[i], "c", true, bad[i][0] == '+' && bad[i][1] == 'u',
                             &s, &err));
        if (s.n_children == 1) {
            assert_ok(schema_new(mem_system(), "i", "m", true, 0, s.children[0], &err));
        }
        if (schema_check(&s, &err) != GREBE_ESCHEMA) {
            fail_msg("\"%s\" was taken for a format", bad[i]);
        }
        schema_release(&s);
    }
    /* A consumer may move a child out; what is left is no whole schema. */
    struct ArrowSchema s;
    struct ArrowSchema child;
    make(&s);
    schema_move(&child, s.children[1]);
    assert_fails(schema_check(&s, &err), GREBE_ESCHEMA, "child 1");
    assert_string_equal(child.name, "Name");
    schema_release(&s);
    assert_string_equal(child.name, "Name");
    schema_release(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema__find__nearest_and_doubles),
        cmocka_unit_test(test_schema__metadata__set_found_replaced),
        cmocka_unit_test(test_schema__equal__flags),
        cmocka_unit_test(test_schema__project__fields_in_order),
        cmocka_unit_test(test_schema__check__faults_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
