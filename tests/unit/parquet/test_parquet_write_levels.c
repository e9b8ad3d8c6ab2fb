/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <stdlib.h>

#include "codec/rle_hybrid.h"
#include "test_support.h"

static void check_levels(int64_t n, int64_t dim, const void *period, size_t period_len)
{
    struct buf b = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    uint32_t *levels = malloc((size_t)(n * dim) * 4 + 4);

    assert_ok(pw_vector_levels(&b, n, dim, &err));
    if (period != NULL) {
        assert_int_equal(b.len, (size_t)n * period_len);
        for (int64_t i = 0; i < n; i++) {
            assert_memory_equal(b.data + (size_t)i * period_len, period, period_len);
        }
    }
    assert_ok(rle_decode_u32(b.data, b.len, 1, 1, levels, (size_t)(n * dim), NULL, &err));
    for (int64_t i = 0; i < n * dim; i++) {
        assert_int_equal(levels[i], i % dim != 0);
    }
    free(levels);
    buf_release(&b);
}

static void test_vector_levels__closed_form__bytes_of_the_specification(void **state)
{
    (void)state;
    check_levels(3, 2, "\x02\x00\x02\x01", 4);
    check_levels(2, 15, "\x02\x00\x1c\x01", 4);
    check_levels(5, 16, "\x03\xfe\x10\x01", 4);
    check_levels(5, 71, "\x03\xfe\x7e\x01", 4);
    check_levels(5, 72, "\x03\xfe\x80\x01\x01", 5);
    check_levels(1000, 128, "\x03\xfe\xf0\x01\x01", 5);
    check_levels(2, 8199, "\x03\xfe\xfe\x7f\x01", 5);
    check_levels(2, 8200, "\x03\xfe\x80\x80\x01\x01", 6);
    for (int64_t dim = 1; dim < 40; dim++) {
        for (int64_t n = 1; n < 5; n++) {
            check_levels(n, dim, NULL, 0);
        }
    }
    check_levels(0, 1, "", 0);
    check_levels(0, 20, "", 0);
}

/* A list<float> array over one region: lengths[i] < 0 is a null list. */
static void make_lists(const int *lengths, int64_t n, struct ArrowArray *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    void *bits = NULL, *offsets = NULL, *values = NULL;
    int32_t at = 0;

    assert_ok(array_new(mem_system(), n, 2, 1, out, &err));
    assert_ok(array_alloc_buffer(mem_system(), out, 0, bitmap_bytes(n), &bits, &err));
    assert_ok(array_alloc_buffer(mem_system(), out, 1, (size_t)(n + 1) * 4, &offsets, &err));
    memset(bits, 0, bitmap_bytes(n));
    for (int64_t i = 0; i < n; i++) {
        ((int32_t *)offsets)[i] = at;
        if (lengths[i] >= 0) {
            bit_set(bits, i);
            at += lengths[i];
        }
    }
    ((int32_t *)offsets)[n] = at;
    out->null_count = -1;
    assert_ok(array_new(mem_system(), at, 2, 0, out->children[0], &err));
    assert_ok(array_alloc_buffer(mem_system(), out->children[0], 1, (size_t)at * 4, &values, &err));
    for (int32_t i = 0; i < at; i++) {
        ((float *)values)[i] = (float)i;
    }
}

static void make_schema(struct pw_schema *schema, struct arena *ar, const char *list_format)
{
    struct ArrowSchema s = {0};
    grebe_error err = GREBE_ERROR_INIT;

    assert_ok(schema_new(mem_system(), "+s", "", false, 1, &s, &err));
    assert_ok(schema_new(mem_system(), list_format, "v", true, 1, s.children[0], &err));
    assert_ok(schema_new(mem_system(), "f", "item", true, 0, s.children[0]->children[0], &err));
    assert_ok(pw_schema_build(mem_system(), ar, &s, false, schema, &err));
    schema_release(&s);
}

static void test_shred__lists_of_one_length__vector_until_one_differs(void **state)
{
    const int same[] = {4, -1, 4, 4}, other[] = {4, 3};
    struct arena ar = ARENA_INIT(mem_system());
    struct pw_schema schema;
    struct pw_chunk c;
    struct ArrowArray x = {0}, y = {0};
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    make_schema(&schema, &ar, "+l");
    make_lists(same, 4, &x);
    make_lists(other, 2, &y);
    pw_chunk_init(&c, mem_system(), &schema.leaves[0]);
    assert_int_equal(schema.leaves[0].max_def, 3);
    assert_int_equal(schema.leaves[0].max_rep, 1);
    assert_ok(pw_chunk_add(&c, &x, 0, 4, &err));
    assert_int_equal(c.mode, PW_VECTOR);
    assert_int_equal(c.dim, 4);
    assert_int_equal(c.n_slots, 13);
    assert_int_equal(c.n_values, 12);
    assert_ok(pw_chunk_add(&c, &y, 0, 2, &err));
    assert_int_equal(c.mode, PW_NESTED);
    assert_int_equal(c.n_slots, 20);
    assert_int_equal(c.n_values, 19);
    const uint8_t rep[20] = {0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1};
    const uint8_t def[20] = {3, 3, 3, 3, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    assert_int_equal(c.rep.len, 20);
    assert_memory_equal(c.rep.data, rep, 20);
    assert_memory_equal(c.def.data, def, 20);
    /* rows 1 to 3: the slots and values that belong to them */
    struct pw_page first, second;
    pw_page_range(&c, NULL, 1, &first);
    pw_page_range(&c, &first, 3, &second);
    assert_int_equal(second.slot_begin, 4);
    assert_int_equal(second.n_slots, 9);
    assert_int_equal(second.value_begin, 4);
    assert_int_equal(second.n_values, 8);
    pw_chunk_release(&c);
    array_release(&x);
    array_release(&y);
    pw_schema_release(&schema);
    arena_release(&ar);
}

static void test_schema__all_shapes__elements_and_levels(void **state)
{
    struct arena ar = ARENA_INIT(mem_system());
    struct ArrowSchema s = {0};
    struct pw_schema schema;
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    assert_ok(schema_new(mem_system(), "+s", "", false, 3, &s, &err));
    assert_ok(schema_new(mem_system(), "l", "id", false, 0, s.children[0], &err));
    assert_ok(schema_new(mem_system(), "+w:8", "v", false, 1, s.children[1], &err));
    assert_ok(schema_new(mem_system(), "f", "item", false, 0, s.children[1]->children[0], &err));
    assert_ok(schema_new(mem_system(), "tss:", "t", true, 0, s.children[2], &err));
    assert_ok(pw_schema_build(mem_system(), &ar, &s, false, &schema, &err));
    assert_int_equal(schema.n_leaves, 3);
    assert_int_equal(schema.n_elements, 6);
    assert_int_equal(schema.leaves[0].max_def, 0);
    assert_int_equal(schema.leaves[1].max_def, 1);
    assert_int_equal(schema.leaves[1].max_rep, 1);
    assert_true(schema.leaves[1].is_number_list);
    assert_int_equal(schema.leaves[1].n_path, 3);
    assert_memory_equal(schema.leaves[1].path[1].data, "list", 4);
    assert_memory_equal(schema.elements[4].name.data, "element", 7);
    assert_int_equal(schema.elements[4].repetition, PQ_REQUIRED);
    assert_int_equal(schema.elements[5].logical.kind, PQ_LOGICAL_TIMESTAMP);
    assert_int_equal(schema.elements[5].logical.unit, PQ_MILLIS);
    assert_false(schema.elements[5].logical.is_utc);
    pw_schema_release(&schema);
    schema_release(&s);
    arena_release(&ar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector_levels__closed_form__bytes_of_the_specification),
        cmocka_unit_test(test_shred__lists_of_one_length__vector_until_one_differs),
        cmocka_unit_test(test_schema__all_shapes__elements_and_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
