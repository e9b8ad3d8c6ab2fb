/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that become points, and points that become rows again. */
#include "../git/git_test.h"

#include "arrow/arrow_stream.h"
#include "gitvdb/vdb_feed.h"
#include "text/text_csv.h"
#include "text/text_json.h"

/* ---- rows from text ---- */

struct input {
    const char *text;
    size_t at;
};

static grebe_status read_text(void *arg, void *dst, size_t len, size_t *got, grebe_error *err)
{
    struct input *in = arg;
    size_t left = strlen(in->text) - in->at;
    (void)err;
    *got = left < len ? left : len;
    memcpy(dst, in->text + in->at, *got);
    in->at += *got;
    return GREBE_OK;
}

/* Lines of JSON, or CSV when the text begins otherwise. */
static void rows_of(grebe_context *ctx, struct input *in, const char *text, struct ArrowArrayStream *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    *in = (struct input){ text, 0 };
    struct text_input input = { .name = "rows", .read = read_text, .arg = in };
    struct text_json_options json = TEXT_JSON_OPTIONS_INIT;
    struct text_csv_options csv = TEXT_CSV_OPTIONS_INIT;
    if (*text == '{') {
        assert_ok(text_json_open(ctx, &input, &json, out, &err));
    } else {
        assert_ok(text_csv_open(ctx, &input, &csv, out, &err));
    }
}

static grebe_status feed_with(const grebe_allocator *a, const char *text, const grebe_vdb_write_options *o,
                              struct vdb_feed *f, grebe_error *err)
{
    grebe_context *ctx;
    struct input in;
    struct ArrowArrayStream rows;
    if (context_new(NULL, &ctx, err) != GREBE_OK) {
        fail_msg("%s", err->message);
    }
    rows_of(ctx, &in, text, &rows);
    grebe_status st = vdb_feed_rows(f, a, &rows, o, err);
    assert_null(rows.release);
    context_free(ctx);
    return st;
}

static const grebe_vdb_write_options plain = { .name = "rows", .id_column = "id", .vector_column = "vector" };

static void assert_payload(const struct vdb_feed *f, size_t i, const char *expected)
{
    size_t len;
    const char *text = vdb_points_payload(&f->kept, i, &len);
    char *found = strndup(text, len);
    assert_string_equal(found, expected);
    free(found);
}

/* Every row of the text has this payload. */
static void assert_payloads(const char *text, const char *expected)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_feed f;
    assert_ok(feed_with(mem_system(), text, &plain, &f, &err));
    for (size_t i = 0; i < f.n; i++) {
        assert_payload(&f, i, expected);
    }
    vdb_feed_release(&f);
}

static void assert_refused(const char *text, grebe_status expected, const char *fragment)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_feed f;
    assert_fails(feed_with(mem_system(), text, &plain, &f, &err), expected, fragment);
    vdb_feed_release(&f);
}

static void test_feed__columns_and_payloads__one_canonical_object(void **state)
{
    (void)state;
    assert_payloads("{\"id\":1,\"vector\":[0.5]}", "{}");
    assert_payloads("{\"z\":1,\"id\":1,\"vector\":[0.5],\"a\":\"\\u00e9\\n\"}", "{\"a\":\"é\\n\",\"z\":1}");
    assert_payloads("{\"id\":1,\"vector\":[0.5],\"payload\":{\"b\":1,\"a\":[true,null]}}", "{\"a\":[true,null],\"b\":1}");
    assert_payloads("{\"id\":1,\"vector\":[0.5],\"payload\":\"{\\\"b\\\":1,\\\"a\\\":2}\"}", "{\"a\":2,\"b\":1}");
    assert_payloads("{\"id\":1,\"vector\":[0.5],\"payload\":\"{\\\"a\\\": 1.50}\"}", "{\"a\":1.5}");
    /* members of both, in order */
    assert_payloads("{\"id\":1,\"vector\":[0.5],\"payload\":{\"b\":1,\"d\":2},\"a\":3,\"c\":4,\"e\":5}",
                    "{\"a\":3,\"b\":1,\"c\":4,\"d\":2,\"e\":5}");
    assert_payloads("{\"id\":1,\"vector\":[0.5],\"payload\":\"{\\\"b\\\":1}\",\"a\":3,\"bb\":4}", "{\"a\":3,\"b\":1,\"bb\":4}");
    assert_payloads("{\"id\":1,\"vector\":[0.5],\"payload\":null}", "{}");
    assert_payloads("{\"id\":1,\"vector\":[0.5],\"payload\":null,\"a\":1}", "{\"a\":1}");
}

static void test_feed__wrong_rows__refused_with_their_number(void **state)
{
    (void)state;
    assert_refused("{\"id\":1,\"vector\":[1]}\n{\"id\":2,\"vector\":[1],\"payload\":\"[1]\"}", GREBE_EINVAL,
                   "rows: row 1: payload: expected a JSON object, found an array");
    assert_refused("{\"id\":1,\"vector\":[1],\"payload\":\"{\"}", GREBE_EINVAL, "rows: row 0: payload: line 1");
    assert_refused("{\"id\":1,\"vector\":[1],\"payload\":7}", GREBE_EINVAL, "expected a JSON object");
    assert_refused("{\"id\":1,\"vector\":[1],\"payload\":{\"a\":1},\"a\":2}", GREBE_EINVAL, "found \"a\"");
    assert_refused("{\"id\":-1,\"vector\":[1]}", GREBE_EINVAL, "expected a number from 0, found -1");
    assert_refused("{\"id\":null,\"vector\":[1]}\n{\"id\":1,\"vector\":[1]}", GREBE_EINVAL, "row 0: id: expected a value");
    assert_refused("{\"id\":1,\"vector\":[1,null]}", GREBE_EINVAL, "expected numbers, found null");
    assert_refused("{\"id\":1,\"vector\":[]}\n{\"id\":2,\"vector\":[1.5]}", GREBE_EINVAL, "row 0: vector: expected 1 to");
    assert_refused("{\"id\":1,\"vector\":null}\n{\"id\":2,\"vector\":[1.5]}", GREBE_EINVAL, "found null");
    assert_refused("{\"id\":1,\"vector\":[1]}\n{\"id\":2,\"vector\":[1,2]}", GREBE_EINVAL, "row 1");
    assert_refused("{\"id\":1,\"vector\":[1e300]}", GREBE_EINVAL, "row 0");
    assert_refused("{\"id\":1,\"x\":[1]}", GREBE_ESCHEMA, "found no \"vector\"");
    assert_refused("{\"key\":1,\"vector\":[1]}", GREBE_ESCHEMA, "found no \"id\"");
    assert_refused("{\"id\":1.5,\"vector\":[1]}", GREBE_ESCHEMA, "int64");
    assert_refused("id,vector\n1,\"2,x\"\n", GREBE_EINVAL, "row 0: vector: component 1");
}

static void test_feed__kinds_of_vectors__same_floats(void **state)
{
    (void)state;
    static const char *const texts[] = { "{\"id\":3,\"vector\":[1,-2]}", "{\"id\":3,\"vector\":[1.0,-2e0]}",
                                         "id,vector\n3,\"1,-2\"\n", "id,vector\n3,\"[1,-2.0]\"\n" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct vdb_feed f;
        assert_ok(feed_with(mem_system(), texts[i], &plain, &f, &err));
        assert_int_equal(f.n, 1);
        assert_int_equal(f.dim, 2);
        assert_true(f.kept.vectors[0] == 1.0f && f.kept.vectors[1] == -2.0f);
        struct vdb_id id = vdb_points_id(&f.kept, 0);
        assert_true(id.is_number && id.number == 3);
        vdb_feed_release(&f);
    }
}

static void test_feed__other_names_and_json_ids__as_asked(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct vdb_feed f;
    grebe_vdb_write_options o = { .name = "rows", .id_column = "key", .vector_column = "v", .ids_are_json = true };
    assert_ok(feed_with(mem_system(), "{\"key\":\"5\",\"v\":[1],\"id\":9}\n{\"key\":\"\\\"5\\\"\",\"v\":[2],\"id\":9}", &o, &f, &err));
    struct vdb_id number = vdb_points_id(&f.kept, 0), text = vdb_points_id(&f.kept, 1);
    assert_true(number.is_number && number.number == 5);
    assert_true(!text.is_number && text.len == 1 && *text.text == '5');
    assert_payload(&f, 1, "{\"id\":9}");
    vdb_feed_release(&f);
    assert_fails(feed_with(mem_system(), "{\"key\":\"x\",\"v\":[1]}", &o, &f, &err), GREBE_EINVAL, "row 0: id: line 1");
    vdb_feed_release(&f);
    assert_fails(feed_with(mem_system(), "{\"key\":\"1.5\",\"v\":[1]}", &o, &f, &err), GREBE_EINVAL, "id");
    vdb_feed_release(&f);
}

static void test_feed__no_memory_at_any_place__error_and_no_leak(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"id\":\"a\",\"vector\":[1,2],\"payload\":{\"b\":1},\"a\":3}\n{\"id\":\"b\",\"vector\":[1,3],\"payload\":{\"b\":2},\"a\":4}",
        "{\"id\":1,\"vector\":[1.5],\"payload\":\"{\\\"b\\\": 1}\",\"a\":3}",
        "id,vector,x\n1,\"2,3\",y\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t n = 1;; n++) {
            grebe_error err = GREBE_ERROR_INIT;
            struct test_allocator t;
            struct vdb_feed f;
            test_allocator_init(&t);
            t.fail_at = n;
            grebe_status st = feed_with(&t.a, texts[i], &plain, &f, &err);
            vdb_feed_release(&f);
            assert_int_equal(t.live_bytes, 0);
            if (st == GREBE_OK) {
                assert_true(n > 10);
                break;
            }
            assert_int_equal(st, GREBE_ENOMEM);
            assert_true(n < 2000);
        }
    }
}

/* ---- rows of collections ---- */

struct database {
    grebe_context *ctx;
    char *folder;
    grebe_vdb *vdb;
};

static void database_open(struct database *d)
{
    grebe_error err = GREBE_ERROR_INIT;
    char path[512];
    assert_ok(context_new(NULL, &d->ctx, &err));
    d->folder = test_folder_new();
    snprintf(path, sizeof path, "%s/r.git", d->folder);
    assert_ok(grebe_vdb_open(d->ctx, path, GREBE_VDB_CREATE, &d->vdb, &err));
}

static void database_close(struct database *d)
{
    grebe_vdb_close(d->vdb);
    test_folder_remove(d->folder);
    context_free(d->ctx);
}

static void upsert(struct database *d, const char *name, const char *text, const grebe_vdb_write_options *o, char root[64])
{
    grebe_error err = GREBE_ERROR_INIT;
    struct input in;
    struct ArrowArrayStream rows;
    grebe_vdb_result *r;
    rows_of(d->ctx, &in, text, &rows);
    assert_ok(grebe_vdb_upsert_rows(d->vdb, name, &rows, o, &r, &err));
    snprintf(root, 64, "%s", grebe_vdb_result_root(r));
    grebe_vdb_result_free(r);
}

/* The rows of a collection put into another give the same root. */
static void assert_round_trip(const char *text, bool is_json, const char *id_type)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct database d;
    char root[64];
    grebe_vdb_read_options all = GREBE_VDB_READ_OPTIONS_INIT;
    struct ArrowArrayStream rows;
    struct ArrowSchema schema;
    grebe_vdb_result *r;
    grebe_vdb_write_options o = GREBE_VDB_WRITE_OPTIONS_INIT;
    o.ids_are_json = is_json;
    database_open(&d);
    upsert(&d, "a", text, &o, root);
    all.with_payload = all.with_vector = true;
    assert_ok(grebe_vdb_scan(d.vdb, "a", NULL, &all, &rows, &err));
    assert_ok(stream_schema(&rows, &schema, &err));
    assert_string_equal(schema.children[0]->format, id_type);
    schema_release(&schema);
    assert_ok(grebe_vdb_upsert_rows(d.vdb, "b", &rows, NULL, &r, &err));
    assert_string_equal(grebe_vdb_result_root(r), root);
    grebe_vdb_result_free(r);
    database_close(&d);
}

static void test_scan__any_ids__rows_give_the_same_root(void **state)
{
    (void)state;
    assert_round_trip("{\"id\":1,\"vector\":[1,2],\"payload\":{\"x\":0.1}}\n{\"id\":0,\"vector\":[3,-0.0]}", false, "L");
    assert_round_trip("{\"id\":\"1\",\"vector\":[1,2],\"a\":null}\n{\"id\":\"\",\"vector\":[3,4],\"a\":\"\\u0000\"}", false, "U");
    assert_round_trip("{\"id\":\"1\",\"vector\":[1,2]}\n{\"id\":\"\\\"1\\\"\",\"vector\":[3,4]}\n"
                      "{\"id\":\"18446744073709551615\",\"vector\":[5,6]}", true, "U");
}

static void assert_id_format(const struct ArrowSchema *schema, const char *format, bool is_json)
{
    assert_string_equal(schema->children[0]->format, format);
    assert_int_equal(schema->children[0]->metadata != NULL, is_json);
}

/* The type of ids that is asked for stands in every answer; a list of no ids names no point. */
static void test_rows__ids_as_json_and_no_ids__one_type_always(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct database d;
    char root[64];
    grebe_vdb_read_options o = GREBE_VDB_READ_OPTIONS_INIT;
    grebe_vdb_select select = GREBE_VDB_SELECT_INIT;
    grebe_vdb_query query = GREBE_VDB_QUERY_INIT;
    static const float vector[] = { 1, 2 };
    static const char *const words[] = { "7" };
    struct ArrowArrayStream rows;
    struct ArrowArray array;
    struct ArrowSchema schema;
    grebe_vdb_result *r;
    database_open(&d);
    upsert(&d, "a", "{\"id\":7,\"vector\":[1,2]}\n{\"id\":8,\"vector\":[2,1]}", NULL, root);
    query.vectors = vector;
    query.n_vectors = 1;
    query.dimension = 2;
    select.ids = words;
    for (int is_json = 0; is_json < 2; is_json++) {
        for (size_t n = 0; n < 2; n++) {
            o.ids_are_json = is_json != 0;
            select.n_ids = n;
            assert_ok(grebe_vdb_scan(d.vdb, "a", &select, &o, &rows, &err));
            assert_ok(stream_schema(&rows, &schema, &err));
            assert_id_format(&schema, is_json ? "U" : "L", is_json);
            schema_release(&schema);
            assert_int_equal(stream_next(&rows, &array, &err), n == 0 ? GREBE_END : GREBE_OK);
            array_release(&array);
            stream_release(&rows);
            assert_ok(grebe_vdb_get(d.vdb, "a", &select, &o, &r, &err));
            assert_int_equal(grebe_vdb_result_count(r), n);
            assert_ok(grebe_vdb_result_rows(r, &array, &schema, &err));
            assert_int_equal(array.length, n);
            assert_id_format(&schema, is_json ? "U" : "L", is_json);
            if (is_json && n == 1) {
                assert_memory_equal(array.children[0]->buffers[2], "7", 1);
            }
            array_release(&array);
            schema_release(&schema);
            grebe_vdb_result_free(r);
        }
        assert_ok(grebe_vdb_search(d.vdb, "a", &query, &o, &r, &err));
        assert_ok(grebe_vdb_result_rows(r, &array, &schema, &err));
        assert_id_format(&schema, is_json ? "U" : "L", is_json);
        array_release(&array);
        schema_release(&schema);
        grebe_vdb_result_free(r);
    }
    select.n_ids = 0;
    assert_ok(grebe_vdb_count(d.vdb, "a", &select, NULL, &r, &err));
    assert_int_equal(grebe_vdb_result_count(r), 0);
    grebe_vdb_result_free(r);
    assert_ok(grebe_vdb_delete(d.vdb, "a", &select, NULL, &r, &err));
    assert_int_equal(grebe_vdb_result_count(r), 0);
    assert_string_equal(grebe_vdb_result_root(r), root);
    grebe_vdb_result_free(r);
    select.ids = NULL;
    assert_ok(grebe_vdb_count(d.vdb, "a", &select, NULL, &r, &err));
    assert_int_equal(grebe_vdb_result_count(r), 2);
    grebe_vdb_result_free(r);
    database_close(&d);
}

static void test_scan__many_points__bounded_batches_that_outlive_the_repository(void **state)
{
    (void)state;
    enum { N = 9000 };
    grebe_error err = GREBE_ERROR_INIT;
    struct database d;
    char root[64];
    char *text = malloc(N * 48), *to = text;
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    grebe_vdb_read_options o = GREBE_VDB_READ_OPTIONS_INIT;
    grebe_vdb_select select = GREBE_VDB_SELECT_INIT;
    grebe_vdb_write_options write = GREBE_VDB_WRITE_OPTIONS_INIT;
    assert_non_null(text);
    for (int i = 0; i < N; i++) {
        to += sprintf(to, "{\"id\":%d,\"vector\":[%d,1],\"i\":%d}\n", i, i, i);
    }
    write.batch_size = UINT64_MAX;
    database_open(&d);
    upsert(&d, "a", text, &write, root);
    o.with_vector = true;
    assert_ok(grebe_vdb_scan(d.vdb, "a", NULL, &o, &rows, &err));
    grebe_vdb_close(d.vdb); /* the stream has what it needs */
    d.vdb = NULL;
    int64_t n = 0;
    grebe_status st;
    while ((st = stream_next(&rows, &batch, &err)) == GREBE_OK) {
        assert_true(batch.length <= 4096 && batch.n_children == 2);
        const uint64_t *ids = batch.children[0]->buffers[1];
        const float *vectors = batch.children[1]->children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++, n++) {
            assert_int_equal(ids[i], n);
            assert_true(vectors[2 * i] == (float)n && vectors[2 * i + 1] == 1.0f);
        }
        array_release(&batch);
    }
    assert_int_equal(st, GREBE_END);
    assert_int_equal(n, N);
    stream_release(&rows);
    free(text);
    /* a part of them */
    char path[512];
    snprintf(path, sizeof path, "%s/r.git", d.folder);
    assert_ok(grebe_vdb_open(d.ctx, path, GREBE_VDB_EXISTING, &d.vdb, &err));
    select.filter = "{\"must\":[{\"key\":\"i\",\"range\":{\"gte\":100}}]}";
    select.filter_len = strlen(select.filter);
    o.offset = 7;
    o.limit = 3;
    o.at = root;
    assert_ok(grebe_vdb_scan(d.vdb, "a", &select, &o, &rows, &err));
    assert_ok(stream_next(&rows, &batch, &err));
    assert_int_equal(batch.length, 3);
    assert_int_equal(((const uint64_t *)batch.children[0]->buffers[1])[0], 107);
    array_release(&batch);
    assert_int_equal(stream_next(&rows, &batch, &err), GREBE_END);
    stream_release(&rows);
    assert_fails(grebe_vdb_scan(d.vdb, "b", NULL, NULL, &rows, &err), GREBE_ENOTFOUND, "no collection \"b\"");
    assert_null(rows.release);
    database_close(&d);
}

static void test_scan__long_vectors__batches_of_bounded_bytes(void **state)
{
    (void)state;
    enum { N = 30, DIM = 200000 };
    grebe_error err = GREBE_ERROR_INIT;
    struct database d;
    char root[64], *text = malloc(N * (DIM * 2 + 64)), *to = text;
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    grebe_vdb_read_options o = GREBE_VDB_READ_OPTIONS_INIT;
    assert_non_null(text);
    for (int i = 0; i < N; i++) {
        to += sprintf(to, "{\"id\":%d,\"vector\":[%d", i, i % 10);
        for (int j = 1; j < DIM; j++) {
            to += sprintf(to, ",1");
        }
        to += sprintf(to, "]}\n");
    }
    database_open(&d);
    upsert(&d, "a", text, NULL, root);
    o.with_vector = true;
    assert_ok(grebe_vdb_scan(d.vdb, "a", NULL, &o, &rows, &err));
    int64_t n = 0;
    grebe_status st;
    while ((st = stream_next(&rows, &batch, &err)) == GREBE_OK) {
        assert_true(batch.length * DIM * 4 <= 1 << 24);
        assert_true(((const float *)batch.children[1]->children[0]->buffers[1])[0] == (float)(n % 10));
        n += batch.length;
        array_release(&batch);
    }
    assert_int_equal(st, GREBE_END);
    assert_int_equal(n, N);
    stream_release(&rows);
    free(text);
    database_close(&d);
}

/* Reads everything; the status of what failed. */
static grebe_status scan_all(const grebe_allocator *a, const char *path, grebe_error *err)
{
    static const char *const fields[] = { "x" };
    grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_context *ctx;
    grebe_vdb *vdb = NULL;
    struct ArrowArrayStream rows = { 0 };
    struct ArrowArray batch;
    struct ArrowSchema schema = { 0 };
    grebe_vdb_read_options o = GREBE_VDB_READ_OPTIONS_INIT;
    options.allocator = a;
    options.threads = 1;
    grebe_status st = context_new(&options, &ctx, err);
    if (st != GREBE_OK) {
        return st;
    }
    o.with_payload = o.with_vector = true;
    o.fields = fields;
    o.n_fields = 1;
    st = grebe_vdb_open(ctx, path, GREBE_VDB_EXISTING, &vdb, err);
    st = st == GREBE_OK ? grebe_vdb_scan(vdb, "a", NULL, &o, &rows, err) : st;
    st = st == GREBE_OK ? stream_schema(&rows, &schema, err) : st;
    while (st == GREBE_OK && (st = stream_next(&rows, &batch, err)) == GREBE_OK) {
        array_release(&batch);
    }
    schema_release(&schema);
    stream_release(&rows);
    grebe_vdb_close(vdb);
    context_free(ctx);
    return st;
}

static void test_scan__no_memory_at_any_place__error_and_no_leak(void **state)
{
    (void)state;
    grebe_vdb_write_options o = GREBE_VDB_WRITE_OPTIONS_INIT;
    struct database d;
    char root[64], path[512];
    o.ids_are_json = true;
    database_open(&d);
    upsert(&d, "a", "{\"id\":\"1\",\"vector\":[1,2],\"x\":1,\"y\":2}\n{\"id\":\"\\\"1\\\"\",\"vector\":[3,4],\"x\":2,\"y\":2}", &o, root);
    snprintf(path, sizeof path, "%s/r.git", d.folder);
    for (size_t n = 1;; n++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct test_allocator t;
        test_allocator_init(&t);
        t.fail_at = n;
        grebe_status st = scan_all(&t.a, path, &err);
        assert_int_equal(t.live_bytes, 0);
        if (st == GREBE_END) {
            assert_true(n > 20);
            break;
        }
        assert_int_equal(st, GREBE_ENOMEM);
        assert_true(n < 5000);
    }
    database_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feed__columns_and_payloads__one_canonical_object),
        cmocka_unit_test(test_feed__wrong_rows__refused_with_their_number),
        cmocka_unit_test(test_feed__kinds_of_vectors__same_floats),
        cmocka_unit_test(test_feed__other_names_and_json_ids__as_asked),
        cmocka_unit_test(test_feed__no_memory_at_any_place__error_and_no_leak),
        cmocka_unit_test(test_scan__any_ids__rows_give_the_same_root),
        cmocka_unit_test(test_rows__ids_as_json_and_no_ids__one_type_always),
        cmocka_unit_test(test_scan__many_points__bounded_batches_that_outlive_the_repository),
        cmocka_unit_test(test_scan__long_vectors__batches_of_bounded_bytes),
        cmocka_unit_test(test_scan__no_memory_at_any_place__error_and_no_leak),
    };
    return cmocka_run_group_tests_name("vdb_rows", tests, NULL, NULL);
}
