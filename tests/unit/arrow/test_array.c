/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_test_data.h"

static struct ArrowArray int_array(const int32_t *values, int64_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray a;
    void *p = NULL;
    assert_ok(array_new(mem_system(), n, 2, 0, &a, &err));
    assert_ok(array_alloc_buffer(mem_system(), &a, 1, (size_t)n * 4, &p, &err));
    memcpy(p, values, (size_t)n * 4);
    return a;
}

static void test_array__slice__outlives_its_source(void **state)
{
    (void)state;
    static const int32_t values[] = { 0, 1, 2, 3, 4, 5 };
    grebe_error err = GREBE_ERROR_INIT;
    struct test_allocator t;
    test_allocator_init(&t);
    struct ArrowArray columns[2] = { int_array(values, 6), int_array(values, 6) };
    struct ArrowArray rows;
    struct ArrowArray slice;
    struct ArrowArray child;
    struct array_shared *s = NULL;
    assert_ok(array_struct(&t.a, 6, columns, 2, &rows, &err));
    assert_null(columns[0].release);
    assert_ok(array_share(&t.a, &rows, &s, &err));
    assert_ok(array_slice(s, 2, 3, &slice, &err));
    array_shared_drop(s);
    assert_int_equal(slice.length, 3);
    assert_int_equal(slice.offset, 0);
    assert_int_equal(slice.children[1]->offset, 2);
    /* A child moved out lives on without its parent. */
    array_move(&child, slice.children[1]);
    array_release(&slice);
    array_release(&slice);
    assert_int_equal(((const int32_t *)child.buffers[1])[child.offset], 2);
    assert_true(t.n_live > 0);
    array_release(&child);
    assert_int_equal(t.n_live, 0);
}

static void test_array__check__faults_named(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    int string_at = -1;
    int dict_at = -1;
    int vec_at = -1;
    read_golden("all_types.arrows", &schema, &batch);
    assert_ok(array_check(&schema, &batch, true, &err));
    assert_ok(schema_find(&schema, "string", &string_at, &err));
    assert_ok(schema_find(&schema, "dict", &dict_at, &err));
    assert_ok(schema_find(&schema, "vec", &vec_at, &err));

    struct ArrowArray *a = batch.children[string_at];
    int32_t *offsets = (int32_t *)(uintptr_t)a->buffers[1];
    int32_t old = offsets[3];
    offsets[3] = offsets[2] - 1;
    assert_ok(array_check(&schema, &batch, false, &err));
    assert_fails(array_check(&schema, &batch, true, &err), GREBE_ECORRUPT, "string: row 2");
    offsets[3] = old;
    old = offsets[0];
    offsets[0] = -1;
    assert_fails(array_check(&schema, &batch, false, &err), GREBE_ECORRUPT, "offsets run from -1");
    offsets[0] = old;
    char *bytes = (char *)(uintptr_t)a->buffers[2];
    char first = bytes[0];
    bytes[0] = (char)0xff;
    assert_fails(array_check(&schema, &batch, true, &err), GREBE_ECORRUPT, "no UTF-8");
    bytes[0] = first;

    a = batch.children[dict_at];
    int8_t *indices = (int8_t *)(uintptr_t)a->buffers[1];
    int8_t index = indices[0];
    indices[0] = 99;
    assert_fails(array_check(&schema, &batch, true, &err), GREBE_ECORRUPT, "dict: row 0: index 99");
    indices[0] = index;

    a = batch.children[vec_at];
    a->children[0]->length--;
    assert_fails(array_check(&schema, &batch, false, &err), GREBE_ECORRUPT, "vec: child 0");
    a->children[0]->length++;
    a->null_count = a->length + 1;
    assert_fails(array_check(&schema, &batch, false, &err), GREBE_ECORRUPT, "null count");
    a->null_count = 1;
    assert_fails(array_check(&schema, &batch, true, &err), GREBE_ECORRUPT, "null count 1, but");
    array_release(&batch);
    schema_release(&schema);
}

/* ---- streams ---- */

static void test_stream__batches__ended_and_released(void **state)
{
    (void)state;
    static const int32_t values[] = { 7, 8 };
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema schema;
    struct ArrowSchema copy;
    struct ArrowArray batches[2];
    struct ArrowArray got;
    struct ArrowArrayStream stream;
    assert_ok(schema_new(mem_system(), "+s", "", false, 1, &schema, &err));
    assert_ok(schema_new(mem_system(), "i", "x", false, 0, schema.children[0], &err));
    for (int i = 0; i < 2; i++) {
        struct ArrowArray column = int_array(values, 2);
        assert_ok(array_struct(mem_system(), 2, &column, 1, &batches[i], &err));
    }
    assert_ok(stream_from_batches(mem_system(), &schema, batches, 2, &stream, &err));
    assert_null(batches[0].release);
    assert_int_equal(stream.get_schema(&stream, &copy), 0);
    assert_true(schema_equal(&schema, &copy, 0));
    schema_release(&copy);
    assert_int_equal(stream.get_next(&stream, &got), 0);
    array_release(&got);
    assert_null(stream.get_last_error(&stream));
    assert_null(stream_last_error(&stream));
    stream_release(&stream); /* with one batch left */
    assert_fails(stream_next(&stream, &got, &err), GREBE_EINVAL, "released");
    schema_release(&schema);
}

static grebe_status fail_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    (void)self;
    (void)out;
    return GREBE_FAIL(err, GREBE_ECONFLICT, "somebody was faster");
}

static grebe_status fail_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    (void)self;
    (void)out;
    return GREBE_FAIL(err, GREBE_ECORRUPT, "page 3 is bad");
}

static void fail_free(void *self) { *(bool *)self = true; }

static int foreign_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    (void)stream;
    (void)out;
    return 12; /* ENOMEM */
}

static const char *foreign_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of it";
}

static void foreign_release(struct ArrowArrayStream *stream) { stream->release = NULL; }

static void test_stream__failures__keep_their_status(void **state)
{
    (void)state;
    static const struct stream_ops ops = { fail_schema, fail_next, fail_free };
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    bool is_freed = false;
    assert_ok(stream_export(mem_system(), &ops, &is_freed, &stream, &err));
    assert_fails(stream_schema(&stream, &schema, &err), GREBE_ECONFLICT, "faster");
    assert_fails(stream_next(&stream, &batch, &err), GREBE_ECORRUPT, "page 3");
    assert_int_not_equal(stream.get_next(&stream, &batch), 0);
    assert_string_equal(stream.get_last_error(&stream), "page 3 is bad");
    assert_int_equal(stream_last_error(&stream)->status, GREBE_ECORRUPT);
    stream_release(&stream);
    assert_true(is_freed);
    memset(&stream, 0, sizeof stream);
    stream.get_next = foreign_next;
    stream.get_last_error = foreign_error;
    stream.release = foreign_release;
    assert_fails(stream_next(&stream, &batch, &err), GREBE_ENOMEM, "out of it");
    assert_null(stream_last_error(&stream));
    stream_release(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array__slice__outlives_its_source),
        cmocka_unit_test(test_array__check__faults_named),
        cmocka_unit_test(test_stream__batches__ended_and_released),
        cmocka_unit_test(test_stream__failures__keep_their_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
