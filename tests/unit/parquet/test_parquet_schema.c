/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_schema.h"

#include "arrow/ipc.h"
#include "base/base64.h"
#include "test_support.h"

enum { MAX = 300 };

/* Hand-made schemas: one element a line. */
struct draft {
    struct pq_schema_element e[MAX];
    uint32_t n;
    struct pq_key_value kv[1];
    struct arena ar;
    struct pq_footer footer;
    struct pq_schema schema;
};

static struct pq_schema_element *put(struct draft *d, const char *name, int repetition, int type,
                                     int n_children)
{
    struct pq_schema_element *e = &d->e[d->n++];
    pq_schema_element_init(e);
    e->name = (struct pq_bytes){ (const unsigned char *)name, strlen(name) };
    e->repetition = repetition;
    e->type = type;
    e->n_children = n_children;
    return e;
}

static void begin(struct draft *d)
{
    memset(d, 0, sizeof *d);
    d->ar = ARENA_INIT(mem_system());
    put(d, "schema", -1, -1, 1);
}

static grebe_status resolve(struct draft *d, grebe_error *err)
{
    d->footer.schema = d->e;
    d->footer.n_schema = d->n;
    return pq_schema_resolve(mem_system(), &d->ar, &d->footer, &d->schema, err);
}

static void assert_type(struct draft *d, const char *expected)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    assert_ok(resolve(d, &err));
    assert_ok(type_print(&b, d->schema.arrow.children[0], &err));
    assert_string_equal(buf_text(&b), expected);
    buf_release(&b);
}

static void end(struct draft *d)
{
    pq_schema_release(&d->schema);
    arena_release(&d->ar);
}

static void list(struct pq_schema_element *e) { e->logical.kind = PQ_LOGICAL_LIST; }

/* Rules of spec 4.1, in their order. */

static void test_list__repeated_primitive__element_itself(void **state)
{
    (void)state;
    struct draft d;
    begin(&d);
    list(put(&d, "my_list", PQ_OPTIONAL, -1, 1));
    put(&d, "element", PQ_REPEATED, PQ_INT32, -1);
    assert_type(&d, "list<element: int32 not null>");
    assert_int_equal(d.schema.leaves[0].max_def, 2);
    assert_int_equal(d.schema.leaves[0].max_rep, 1);
    assert_true(d.schema.leaves[0].is_list_element);
    assert_string_equal(d.schema.leaves[0].name, "my_list.element");
    end(&d);
}

static void test_list__repeated_group_of_two__struct(void **state)
{
    (void)state;
    struct draft d;
    begin(&d);
    list(put(&d, "my_list", PQ_OPTIONAL, -1, 1));
    put(&d, "element", PQ_REPEATED, -1, 2);
    put(&d, "str", PQ_REQUIRED, PQ_BYTE_ARRAY, -1);
    put(&d, "num", PQ_OPTIONAL, PQ_INT32, -1);
    assert_type(&d, "list<element: struct<str: binary not null, num: int32> not null>");
    end(&d);
}

static void test_list__repeated_group_around_repeated__list_of_lists(void **state)
{
    (void)state;
    struct draft d;
    begin(&d);
    list(put(&d, "a", PQ_OPTIONAL, -1, 1));
    list(put(&d, "array", PQ_REPEATED, -1, 1));
    put(&d, "array", PQ_REPEATED, PQ_INT32, -1);
    assert_type(&d, "list<array: list<array: int32 not null> not null>");
    assert_int_equal(d.schema.leaves[0].max_rep, 2);
    end(&d);
}

static void test_list__named_array_or_tuple__struct_of_one(void **state)
{
    (void)state;
    static const char *const names[] = { "array", "my_list_tuple" };
    for (int i = 0; i < 2; i++) {
        struct draft d;
        begin(&d);
        list(put(&d, "my_list", PQ_OPTIONAL, -1, 1));
        put(&d, names[i], PQ_REPEATED, -1, 1);
        put(&d, "str", PQ_REQUIRED, PQ_BYTE_ARRAY, -1);
        assert_type(&d, i == 0 ? "list<array: struct<str: binary not null> not null>"
                               : "list<my_list_tuple: struct<str: binary not null> not null>");
        end(&d);
    }
}

static void test_list__three_levels__element_with_its_repetition(void **state)
{
    (void)state;
    struct draft d;
    begin(&d);
    put(&d, "my_list", PQ_REQUIRED, -1, 1)->converted = PQ_CONV_LIST;
    put(&d, "bag", PQ_REPEATED, -1, 1);
    put(&d, "x", PQ_OPTIONAL, PQ_FLOAT, -1);
    assert_type(&d, "list<x: float>");
    assert_int_equal(d.schema.leaves[0].max_def, 2);
    assert_int_equal(d.schema.arrow.children[0]->flags & ARROW_FLAG_NULLABLE, 0);
    end(&d);
}

static void test_list__repeated_without_annotation__list_of_required(void **state)
{
    (void)state;
    struct draft d;
    begin(&d);
    put(&d, "p", PQ_REPEATED, -1, 2);
    put(&d, "n", PQ_REQUIRED, PQ_INT64, -1);
    put(&d, "k", PQ_OPTIONAL, PQ_BYTE_ARRAY, -1)->converted = PQ_CONV_UTF8;
    assert_type(&d, "list<p: struct<n: int64 not null, k: string> not null>");
    end(&d);
}

static void test_list__annotation_on_no_list__struct(void **state)
{
    (void)state;
    struct draft d;
    begin(&d);
    list(put(&d, "a", PQ_OPTIONAL, -1, 2));
    put(&d, "x", PQ_REQUIRED, PQ_INT32, -1);
    put(&d, "y", PQ_REQUIRED, PQ_INT32, -1);
    assert_type(&d, "struct<x: int32 not null, y: int32 not null>");
    end(&d);
}

static void test_map__forms__map_or_list_of_keys(void **state)
{
    (void)state;
    for (int form = 0; form < 3; form++) {
        struct draft d;
        begin(&d);
        put(&d, "m", PQ_OPTIONAL, -1, 1)->converted =
            form == 0 ? PQ_CONV_MAP : PQ_CONV_MAP_KEY_VALUE;
        put(&d, "map", PQ_REPEATED, -1, form == 2 ? 1 : 2);
        put(&d, "key", form == 1 ? PQ_OPTIONAL : PQ_REQUIRED, PQ_INT32, -1);
        if (form < 2) {
            put(&d, "value", PQ_OPTIONAL, PQ_DOUBLE, -1);
        }
        assert_type(&d, form < 2 ? "map<int32, double>" : "list<key: int32 not null>");
        end(&d);
    }
}

static void test_leaf__types__as_arrow(void **state)
{
    (void)state;
    static const struct {
        int type, length, converted;
        struct pq_logical logical;
        const char *expected;
    } cases[] = {
        { PQ_INT32, 0, PQ_CONV_UINT_8, { 0 }, "uint8" },
        { PQ_INT32, 0, -1, { .kind = PQ_LOGICAL_INTEGER, .bit_width = 16, .is_signed = true }, "int16" },
        { PQ_INT64, 0, PQ_CONV_UINT_64, { 0 }, "uint64" },
        { PQ_INT64, 0, -1, { .kind = PQ_LOGICAL_INTEGER, .bit_width = 16 }, "int64" },
        { PQ_INT32, 0, PQ_CONV_DATE, { 0 }, "date32" },
        { PQ_INT64, 0, PQ_CONV_TIMESTAMP_MICROS, { 0 }, "timestamp[us, tz=UTC]" },
        { PQ_INT64, 0, -1, { .kind = PQ_LOGICAL_TIMESTAMP, .unit = PQ_NANOS }, "timestamp[ns]" },
        { PQ_INT64, 0, -1, { .kind = PQ_LOGICAL_TIMESTAMP }, "int64" },
        { PQ_INT96, 0, -1, { 0 }, "timestamp[ns]" },
        { PQ_BYTE_ARRAY, 0, PQ_CONV_UTF8, { 0 }, "string" },
        { PQ_BYTE_ARRAY, 0, -1, { .kind = 2555 }, "binary" },
        { PQ_FIXED, 16, -1, { .kind = PQ_LOGICAL_UUID }, "fixed_size_binary[16]" },
        { PQ_FIXED, 2, -1, { .kind = PQ_LOGICAL_FLOAT16 }, "halffloat" },
        { PQ_FIXED, 3, -1, { .kind = PQ_LOGICAL_FLOAT16 }, "fixed_size_binary[3]" },
        { PQ_FIXED, 5, -1, { .kind = PQ_LOGICAL_DECIMAL, .precision = 11, .scale = 2 }, "decimal128(11, 2)" },
        { PQ_FIXED, 20, -1, { .kind = PQ_LOGICAL_DECIMAL, .precision = 40, .scale = 2 }, "decimal256(40, 2)" },
        { PQ_BOOLEAN, 0, PQ_CONV_UTF8, { 0 }, "bool" }, /* an annotation that does not fit */
        { PQ_INT32, 0, -1, { .kind = PQ_LOGICAL_UNKNOWN }, "null" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct draft d;
        begin(&d);
        struct pq_schema_element *e = put(&d, "x", PQ_OPTIONAL, cases[i].type, -1);
        e->type_length = cases[i].length;
        e->converted = cases[i].converted;
        e->logical = cases[i].logical;
        assert_type(&d, cases[i].expected);
        end(&d);
    }
}

static void test_leaf__impossible_decimal__only_that_column_unreadable(void **state)
{
    (void)state;
    struct draft d;
    begin(&d);
    struct pq_schema_element *e = put(&d, "x", PQ_OPTIONAL, PQ_INT32, -1);
    e->logical = (struct pq_logical){ .kind = PQ_LOGICAL_DECIMAL, .precision = 3, .scale = 7 };
    assert_type(&d, "fixed_size_binary[4]");
    assert_non_null(d.schema.leaves[0].unreadable);
    end(&d);
}

/* ---- ARROW:schema ---- */

static void test_hint__fixed_list_zone_metadata__restored(void **state)
{
    (void)state;
    struct draft d;
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();
    struct buf message = BUF_INIT(a), text = BUF_INIT(a);
    struct ArrowSchema hint;
    struct key_value pair = { "k", 1, "v", 1 }, found;
    assert_ok(schema_new(a, "+s", "", false, 1, &hint, &err));
    assert_ok(schema_new(a, "+w:4", "vec", true, 1, hint.children[0], &err));
    assert_ok(schema_new(a, "f", "item", true, 0, hint.children[0]->children[0], &err));
    assert_ok(schema_set_metadata(a, hint.children[0], &pair, 1, &err));
    assert_ok(ipc_schema_encode(&message, &hint, &err));
    assert_ok(base64_encode(&text, message.data, message.len, &err));
    for (size_t cut = 0; cut <= text.len; cut += cut == 0 ? 1 : 7) {
        begin(&d);
        list(put(&d, "vec", PQ_OPTIONAL, -1, 1));
        put(&d, "list", PQ_REPEATED, -1, 1);
        struct pq_schema_element *e = put(&d, "element", PQ_OPTIONAL, PQ_FLOAT, -1);
        e->has_field_id = true;
        e->field_id = 7;
        d.kv[0].key = (struct pq_bytes){ (const unsigned char *)"ARROW:schema", 12 };
        d.kv[0].value = (struct pq_bytes){ text.data, text.len - cut };
        d.footer.key_values = d.kv;
        d.footer.n_key_values = 1;
        if (cut == 0) {
            assert_type(&d, "fixed_size_list<float>[4]");
            assert_true(schema_metadata_find(d.schema.arrow.children[0], "k", &found));
            assert_true(schema_metadata_find(d.schema.arrow.children[0]->children[0],
                                             "PARQUET:field_id", &found));
        } else { /* a damaged hint is no hint, or still a right one */
            assert_ok(resolve(&d, &err));
        }
        end(&d);
    }
    buf_release(&message);
    buf_release(&text);
    schema_release(&hint);
}

static void test_hint__other_shape__ignored(void **state)
{
    (void)state;
    struct draft d;
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();
    struct buf message = BUF_INIT(a), text = BUF_INIT(a);
    struct ArrowSchema hint;
    assert_ok(schema_new(a, "+s", "", false, 1, &hint, &err));
    assert_ok(schema_new(a, "+w:4", "vec", true, 1, hint.children[0], &err));
    assert_ok(schema_new(a, "f", "item", true, 0, hint.children[0]->children[0], &err));
    assert_ok(ipc_schema_encode(&message, &hint, &err));
    assert_ok(base64_encode(&text, message.data, message.len, &err));
    begin(&d);
    put(&d, "vec", PQ_OPTIONAL, PQ_FIXED, -1)->type_length = 16; /* FixedSizeList over FLBA */
    d.kv[0].key = (struct pq_bytes){ (const unsigned char *)"ARROW:schema", 12 };
    d.kv[0].value = (struct pq_bytes){ text.data, text.len };
    d.footer.key_values = d.kv;
    d.footer.n_key_values = 1;
    assert_type(&d, "fixed_size_binary[16]");
    end(&d);
    buf_release(&message);
    buf_release(&text);
    schema_release(&hint);
}

/* ---- what is no tree ---- */

static void expect_corrupt(struct draft *d, grebe_status status, const char *fragment)
{
    grebe_error err = GREBE_ERROR_INIT;
    assert_fails(resolve(d, &err), status, fragment);
    end(d);
}

static void test_schema__no_tree__corrupt(void **state)
{
    (void)state;
    struct draft d;
    begin(&d); /* too few */
    put(&d, "a", PQ_OPTIONAL, -1, 2);
    put(&d, "b", PQ_OPTIONAL, PQ_INT32, -1);
    expect_corrupt(&d, GREBE_ECORRUPT, "lacks 1 children");
    begin(&d); /* too many */
    put(&d, "a", PQ_OPTIONAL, PQ_INT32, -1);
    put(&d, "b", PQ_OPTIONAL, PQ_INT32, -1);
    expect_corrupt(&d, GREBE_ECORRUPT, "ends at element 2");
    begin(&d);
    put(&d, "a", PQ_OPTIONAL, -1, INT32_MAX);
    expect_corrupt(&d, GREBE_ECORRUPT, "claims 2147483647 children");
    begin(&d);
    put(&d, "a", -1, PQ_INT32, -1);
    expect_corrupt(&d, GREBE_ECORRUPT, "no repetition");
    begin(&d);
    put(&d, "a", PQ_OPTIONAL, PQ_FIXED, -1)->type_length = 0;
    expect_corrupt(&d, GREBE_ECORRUPT, "length 0");
    begin(&d);
    d.e[0].type = PQ_INT32;
    expect_corrupt(&d, GREBE_ECORRUPT, "no group");
    begin(&d);
    for (int i = 0; i < 100; i++) {
        put(&d, "a", PQ_OPTIONAL, -1, 1);
    }
    put(&d, "b", PQ_OPTIONAL, PQ_INT32, -1);
    expect_corrupt(&d, GREBE_ELIMIT, "deeper than 64");
}

static void test_schema__no_memory__no_leak(void **state)
{
    (void)state;
    struct test_allocator t;
    grebe_error err = GREBE_ERROR_INIT;
    test_allocator_init(&t);
    for (size_t n = 1;; n++) {
        struct draft d;
        begin(&d);
        d.ar = ARENA_INIT(&t.a);
        list(put(&d, "my_list", PQ_OPTIONAL, -1, 1));
        put(&d, "element", PQ_REPEATED, -1, 2);
        put(&d, "str", PQ_REQUIRED, PQ_BYTE_ARRAY, -1)->has_field_id = true;
        put(&d, "num", PQ_OPTIONAL, PQ_INT32, -1);
        d.footer.schema = d.e;
        d.footer.n_schema = d.n;
        t.n_calls = 0;
        t.fail_at = n;
        grebe_status st = pq_schema_resolve(&t.a, &d.ar, &d.footer, &d.schema, &err);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        end(&d);
        assert_int_equal(t.live_bytes, 0);
        if (st == GREBE_OK) {
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list__repeated_primitive__element_itself),
        cmocka_unit_test(test_list__repeated_group_of_two__struct),
        cmocka_unit_test(test_list__repeated_group_around_repeated__list_of_lists),
        cmocka_unit_test(test_list__named_array_or_tuple__struct_of_one),
        cmocka_unit_test(test_list__three_levels__element_with_its_repetition),
        cmocka_unit_test(test_list__repeated_without_annotation__list_of_required),
        cmocka_unit_test(test_list__annotation_on_no_list__struct),
        cmocka_unit_test(test_map__forms__map_or_list_of_keys),
        cmocka_unit_test(test_leaf__types__as_arrow),
        cmocka_unit_test(test_leaf__impossible_decimal__only_that_column_unreadable),
        cmocka_unit_test(test_hint__fixed_list_zone_metadata__restored),
        cmocka_unit_test(test_hint__other_shape__ignored),
        cmocka_unit_test(test_schema__no_tree__corrupt),
        cmocka_unit_test(test_schema__no_memory__no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
