/* SPDX-License-Identifier: Apache-2.0 */
#include "iterable/iterable_internal.h"
#include "iterable_fixture.h"
#include "parquet/parquet_format.h"
#include "source/source.h"

/* What steps do to columns and rows, what they refuse, and where rows come from. */

static grebe_context *context(uint32_t threads)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_context *ctx;
    o.threads = threads;
    assert_ok(context_new(&o, &ctx, &err));
    return ctx;
}

static grebe_iterable *numbers(grebe_context *ctx, int64_t n, bool is_typed)
{
    return id_iterable(ctx, &n, 1, 3, true, is_typed);
}

/* ---- columns ---- */

static void test_iterable_rename__column__new_name_and_features(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    for (int is_typed = 0; is_typed < 2; is_typed++) {
        grebe_iterable *it = numbers(ctx, 5, is_typed == 1), *renamed, *next;
        grebe_column_rename names[] = { { "id", "key" } };
        assert_ok(grebe_iterable_rename_columns(it, names, 1, &renamed, &err));
        grebe_iterator *iter;
        struct ArrowArray rows;
        struct ArrowSchema schema;
        assert_ok(grebe_iterator_new(renamed, NULL, NULL, &iter, &err));
        assert_ok(grebe_iterator_next(iter, 0, &rows, &schema, &err));
        assert_string_equal(schema.children[0]->name, "key");
        rows.release(&rows);
        schema.release(&schema);
        grebe_iterator_free(iter);
        if (is_typed == 1) {
            assert_non_null(strstr(grebe_iterable_features(renamed), "\"key\""));
            const char *wrong[] = { "id" };
            assert_fails(grebe_iterable_select_columns(renamed, wrong, 1, &next, &err), GREBE_ENOTFOUND, "id");
            assert_fails(grebe_iterable_remove_columns(renamed, wrong, 1, &next, &err), GREBE_ENOTFOUND, "id");
            assert_fails(grebe_iterable_filter(renamed, "id = 1", &next, &err), GREBE_ENOTFOUND, "id");
        } else {
            assert_null(grebe_iterable_features(renamed));
        }
        grebe_iterable_free(renamed);
        grebe_iterable_free(it);
    }
    context_free(ctx);
}

static void test_iterable_cast__text__and_what_does_not_fit(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *it = numbers(ctx, 400, true), *cast, *small;
    assert_ok(grebe_iterable_cast(it, "{\"id\": {\"dtype\": \"string\", \"_type\": \"Value\"}}", false, &cast, &err));
    assert_ok(grebe_iterable_cast(it, "{\"id\": {\"dtype\": \"int8\", \"_type\": \"Value\"}}", true, &small, &err));
    grebe_iterator *iter;
    struct ArrowArray rows;
    struct ArrowSchema schema;
    assert_ok(grebe_iterator_new(cast, NULL, NULL, &iter, &err));
    assert_ok(grebe_iterator_next(iter, 12, &rows, &schema, &err));
    assert_string_equal(schema.children[0]->format, "u");
    assert_int_equal(rows.length, 12);
    assert_memory_equal((const char *)rows.children[0]->buffers[2], "01234567891011", 14);
    rows.release(&rows);
    schema.release(&schema);
    grebe_iterator_free(iter);
    assert_ok(grebe_iterator_new(small, NULL, NULL, &iter, &err));
    grebe_status st = GREBE_OK;
    while (st == GREBE_OK) {
        st = grebe_iterator_next(iter, 0, &rows, &schema, &err);
        if (st == GREBE_OK) {
            assert_non_null(rows.release);
            rows.release(&rows);
            schema.release(&schema);
        }
    }
    assert_int_equal(st, GREBE_ESCHEMA);
    assert_non_null(strstr(err.message, "128"));
    assert_fails(grebe_iterator_next(iter, 0, &rows, &schema, &err), GREBE_ESCHEMA, "failed before");
    grebe_iterator_free(iter);
    grebe_iterable_free(cast);
    grebe_iterable_free(small);
    grebe_iterable_free(it);
    context_free(ctx);
}

static void test_iterable_concatenate__side_by_side__columns_of_both(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *it = numbers(ctx, 7, true), *other, *both, *shorter, *wrong;
    grebe_column_rename names[] = { { "id", "b" } };
    assert_ok(grebe_iterable_rename_columns(it, names, 1, &other, &err));
    const grebe_iterable *pair[] = { it, other };
    assert_ok(grebe_iterable_concatenate(pair, 2, 1, &both, &err));
    assert_int_equal(grebe_iterable_num_shards(both), 1);
    grebe_iterator *iter;
    struct ArrowArray rows;
    struct ArrowSchema schema;
    assert_ok(grebe_iterator_new(both, NULL, NULL, &iter, &err));
    assert_ok(grebe_iterator_next(iter, 5, &rows, &schema, &err));
    assert_int_equal(rows.length, 5);
    assert_int_equal(rows.n_children, 2);
    assert_string_equal(schema.children[1]->name, "b");
    rows.release(&rows);
    schema.release(&schema);
    grebe_iterator_free(iter);
    const grebe_iterable *same[] = { it, it };
    assert_fails(grebe_iterable_concatenate(same, 2, 1, &wrong, &err), GREBE_EINVAL, "\"id\"");
    assert_ok(grebe_iterable_take(other, 3, &shorter, &err));
    const grebe_iterable *uneven[] = { it, shorter };
    assert_ok(grebe_iterable_concatenate(uneven, 2, 1, &wrong, &err));
    assert_ok(grebe_iterator_new(wrong, NULL, NULL, &iter, &err));
    assert_ok(grebe_iterator_next(iter, 3, &rows, &schema, &err));
    rows.release(&rows);
    schema.release(&schema);
    assert_fails(grebe_iterator_next(iter, 3, &rows, &schema, &err), GREBE_ESCHEMA, "fewer rows");
    grebe_iterator_free(iter);
    grebe_iterable_free(it);
    grebe_iterable_free(other);
    grebe_iterable_free(both);
    grebe_iterable_free(shorter);
    grebe_iterable_free(wrong);
    context_free(ctx);
}

/* Columns that one of the streams lacks are null. */
static void test_iterable_interleave__other_columns__null(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *it = numbers(ctx, 4, true), *other, *both;
    grebe_column_rename names[] = { { "id", "b" } };
    assert_ok(grebe_iterable_rename_columns(it, names, 1, &other, &err));
    const grebe_iterable *pair[] = { it, other };
    assert_ok(grebe_iterable_interleave(pair, 2, NULL, (grebe_seed){ 0 }, GREBE_STOP_ALL_EXHAUSTED, &both, &err));
    grebe_iterator *iter;
    struct ArrowArray rows;
    struct ArrowSchema schema;
    assert_ok(grebe_iterator_new(both, NULL, NULL, &iter, &err));
    assert_ok(grebe_iterator_next(iter, 100, &rows, &schema, &err));
    assert_int_equal(rows.n_children, 2);
    assert_int_equal(rows.length, 8);
    for (int64_t i = 0; i < 8; i++) {
        assert_int_equal(array_is_null(rows.children[0], i), i % 2 == 1);
        assert_int_equal(array_is_null(rows.children[1], i), i % 2 == 0);
    }
    rows.release(&rows);
    schema.release(&schema);
    grebe_iterator_free(iter);
    grebe_iterable_free(it);
    grebe_iterable_free(other);
    grebe_iterable_free(both);
    context_free(ctx);
}

/* ---- lists ---- */

static grebe_status map_group(void *fn_ctx, const grebe_map_input *in, grebe_map_output *out, grebe_error *err)
{
    static const int64_t groups[] = { 0, 0, 1, 1, 1, 0, 2, 2, 2, 2, 3 };
    int64_t values[64];
    (void)fn_ctx;
    (void)err;
    for (int64_t i = 0; i < in->rows->length; i++) {
        values[i] = groups[ids_of(in->rows)[i]];
    }
    id_schema(&out->schema);
    id_array(values, in->rows->length, &out->rows);
    return schema_set_name(mem_system(), out->schema.children[0], "g", err);
}

static void test_iterable_batch__stored_groups__equal(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_map_options o = GREBE_MAP_OPTIONS_INIT;
    grebe_iterable *it = numbers(ctx, 11, true), *grouped, *lists;
    assert_ok(grebe_iterable_map(it, map_group, NULL, NULL, &o, false, &grouped, &err));
    static const struct {
        int64_t rows;
        const char *by;
        bool drop;
        int64_t sizes[6], n;
    } cases[] = {
        { 4, NULL, false, { 4, 4, 3 }, 3 },
        { 4, NULL, true, { 4, 4 }, 2 },
        { 0, "g", false, { 2, 3, 1, 4, 1 }, 5 },
        { 3, "g", false, { 2, 3, 1, 4, 1 }, 5 },
    };
    for (size_t i = 0; i < 4; i++) {
        grebe_iterator *iter;
        struct ArrowArray rows;
        struct ArrowSchema schema;
        assert_ok(grebe_iterable_batch(grouped, cases[i].rows, cases[i].by, cases[i].drop, &lists, &err));
        assert_ok(grebe_iterator_new(lists, NULL, NULL, &iter, &err));
        assert_ok(grebe_iterator_next(iter, 100, &rows, &schema, &err));
        assert_int_equal(rows.length, cases[i].n);
        const int32_t *offsets = (const int32_t *)rows.children[1]->buffers[1] + rows.children[1]->offset;
        for (int64_t k = 0; k < cases[i].n; k++) {
            assert_int_equal(offsets[k + 1] - offsets[k], cases[i].sizes[k]);
        }
        rows.release(&rows);
        schema.release(&schema);
        grebe_iterator_free(iter);
        grebe_iterable_free(lists);
    }
    assert_ok(grebe_iterable_batch(it, 2, NULL, false, &lists, &err));
    assert_string_equal(grebe_iterable_features(lists),
                        "{\"id\": {\"feature\": {\"dtype\": \"int64\", \"_type\": \"Value\"}, \"_type\": \"List\"}}");
    grebe_iterable_free(lists);
    assert_fails(grebe_iterable_batch(it, 0, NULL, false, &lists, &err), GREBE_EINVAL, "batches of 0");
    assert_fails(grebe_iterable_batch(it, 0, "x", false, &lists, &err), GREBE_ENOTFOUND, "x");
    grebe_iterable_free(grouped);
    grebe_iterable_free(it);
    context_free(ctx);
}

/* ---- computed columns ---- */

static void test_iterable_map_expr__columns__computed_and_refused(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    for (int is_typed = 0; is_typed < 2; is_typed++) {
        grebe_iterable *it = numbers(ctx, 10, is_typed == 1), *mapped, *wrong = NULL;
        grebe_computed_column columns[] = { { "id", "id * 3" }, { "small", "id < 2" } };
        struct ids got = { 0 };
        static const int64_t expected[] = { 0, 3, 6, 9, 12, 15, 18, 21, 24, 27 };
        assert_ok(grebe_iterable_map_expr(it, columns, 2, &mapped, &err));
        assert_int_equal(grebe_iterable_features(mapped) != NULL, is_typed);
        ids_all(mapped, NULL, 4, &got);
        assert_ids("computed", &got, expected, 10);
        free(got.ids);
        grebe_iterable_free(mapped);
        columns[1] = (grebe_computed_column){ "x", "nope + 1" };
        if (is_typed == 1) {
            assert_fails(grebe_iterable_map_expr(it, columns, 2, &wrong, &err), GREBE_ENOTFOUND, "nope");
        }
        columns[1].name = "id";
        assert_fails(grebe_iterable_map_expr(it, columns, 2, &wrong, &err), GREBE_EINVAL, "computed twice");
        assert_null(wrong);
        grebe_iterable_free(it);
    }
    context_free(ctx);
}

static void test_iterator_scan__limit__stands_behind_what_was_given(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_iterable *it = numbers(ctx, 10, true), *none;
    grebe_iterator *iter;
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    int64_t n = 0;
    assert_ok(grebe_iterator_new(it, NULL, NULL, &iter, &err));
    assert_ok(grebe_iterator_scan(iter, 4, 6, &rows, &err));
    while (stream_next(&rows, &batch, &err) == GREBE_OK) {
        n += batch.length;
        batch.release(&batch);
    }
    stream_release(&rows);
    assert_int_equal(n, 6);
    struct ids rest = { 0 };
    while (ids_next(iter, 0, &rest, &err)) {
    }
    assert_ids("the rest", &rest, (int64_t[]){ 6, 7, 8, 9 }, 4);
    free(rest.ids);
    grebe_iterator_free(iter);
    assert_ok(grebe_iterable_take(it, 0, &none, &err));
    assert_ok(grebe_iterator_new(none, NULL, NULL, &iter, &err));
    assert_ok(grebe_iterator_scan(iter, 4, -1, &rows, &err));
    struct ArrowSchema schema;
    assert_ok(stream_schema(&rows, &schema, &err));
    assert_int_equal(schema.n_children, 1);
    assert_int_equal(stream_next(&rows, &batch, &err), GREBE_END);
    schema_release(&schema);
    stream_release(&rows);
    grebe_iterator_free(iter);
    grebe_iterable_free(none);
    grebe_iterable_free(it);
    context_free(ctx);
}

/* ---- functions that fail ---- */

static grebe_status map_nothing(void *fn_ctx, const grebe_map_input *in, grebe_map_output *out, grebe_error *err)
{
    (void)fn_ctx;
    (void)err;
    if (in->first_row >= 4) {
        out->kind = GREBE_MAP_NOTHING;
        return GREBE_OK;
    }
    id_schema(&out->schema);
    id_array(ids_of(in->rows), 1, &out->rows);
    return schema_set_name(mem_system(), out->schema.children[0], "first", err);
}

static void count_free(void *n)
{
    (*(int *)n)++;
}

static void test_iterable_map__nothing_or_other_length__refused(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_map_options o = GREBE_MAP_OPTIONS_INIT;
    grebe_iterable *it = numbers(ctx, 10, true), *mapped;
    grebe_iterator *iter;
    struct ArrowArray rows;
    struct ArrowSchema schema;
    int n_freed = 0;
    o.batch_rows = 2;
    o.is_rows_fixed = false;
    assert_ok(grebe_iterable_map(it, map_nothing, &n_freed, count_free, &o, true, &mapped, &err));
    assert_null(grebe_iterable_features(mapped));
    assert_ok(grebe_iterator_new(mapped, NULL, NULL, &iter, &err));
    assert_fails(grebe_iterator_next(iter, 0, &rows, &schema, &err), GREBE_ESCHEMA, "gave 1 rows for 2");
    grebe_iterator_free(iter);
    grebe_iterable_free(mapped);
    assert_int_equal(n_freed, 1);
    const char *removed[] = { "id" };
    o.remove_columns = removed;
    o.n_remove_columns = 1;
    assert_ok(grebe_iterable_map(it, map_nothing, &n_freed, count_free, &o, true, &mapped, &err));
    assert_ok(grebe_iterator_new(mapped, NULL, NULL, &iter, &err));
    for (int i = 0; i < 2; i++) {
        assert_ok(grebe_iterator_next(iter, 0, &rows, &schema, &err));
        assert_int_equal(rows.length, 1);
        rows.release(&rows);
        schema.release(&schema);
    }
    assert_fails(grebe_iterator_next(iter, 0, &rows, &schema, &err), GREBE_ESCHEMA, "rows 4 to 5");
    grebe_iterator_free(iter);
    grebe_iterable_free(mapped);
    removed[0] = "nope";
    assert_fails(grebe_iterable_map(it, map_nothing, &n_freed, count_free, &o, true, &mapped, &err), GREBE_ENOTFOUND,
                 "nope");
    assert_int_equal(n_freed, 3);
    grebe_iterable_free(it);
    context_free(ctx);
}

/* ---- reading ahead ---- */

static void test_iterable_prefetch__threads__same_rows_and_places(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        grebe_context *ctx = context(threads);
        grebe_iterable *it = with_function(numbers(ctx, 500, true), "x10", 10), *ahead;
        struct ids all = { 0 }, got = { 0 };
        ids_all(it, NULL, 0, &all);
        assert_ok(grebe_iterable_prefetch(it, 3, &ahead, &err));
        for (int64_t stop = 0; stop <= 50; stop += 10) {
            grebe_iterator *iter;
            got.n = 0;
            assert_ok(grebe_iterator_new(ahead, NULL, NULL, &iter, &err));
            for (int64_t i = 0; i < stop; i++) {
                assert_true(ids_next(iter, 9, &got, &err));
            }
            char *text = state_text(iter, stop > 0 ? 4 : 0);
            grebe_iterator_free(iter); /* while rows are read ahead */
            got.n -= stop > 0 ? 4 : 0;
            ids_all(ahead, text, 0, &got);
            assert_ids("ahead", &got, all.ids, all.n);
            free(text);
        }
        free(all.ids);
        free(got.ids);
        grebe_iterable_free(ahead);
        grebe_iterable_free(it);
        context_free(ctx);
    }
}

/* ---- sources ---- */

static void write_text(const char *folder, const char *name, const char *text, char *path, size_t room)
{
    snprintf(path, room, "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
}

static void free_builder(void *b)
{
    builder_free(b);
}

/* Two files of a kind, "id" in each. */
static grebe_iterable *files_of(grebe_context *ctx, const char *kind, const char *const *paths, bool *is_typed)
{
    static struct builder_files files;
    static struct builder_request request;
    grebe_error err = GREBE_ERROR_INIT;
    struct builder *b;
    grebe_iterable *it;
    files = (struct builder_files){ "train", paths, 2 };
    request = (struct builder_request){ .splits = &files, .n_splits = 1 };
    assert_ok(builder_open(ctx, builder_find(kind), &request, &b, &err));
    struct iterable_files f = { b, 0, 2, false, free_builder, b };
    assert_ok(iterable_of_files(&f, &it, &err));
    *is_typed = it->is_typed;
    return it;
}

static void test_iterable_of_files__csv_and_json__rows_places_units(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    char *folder = test_folder_new(), a[512], b[512];
    static const char *const kinds[] = { "csv", "json" };
    for (size_t k = 0; k < 2; k++) {
        char text[2][2048] = { "", "" };
        for (int i = 0; i < 60; i++) {
            char line[64];
            snprintf(line, sizeof line, k == 0 ? "%d\n" : "{\"id\": %d}\n", i);
            if (k == 0 && i % 30 == 0) {
                strcat(text[i / 30], "id\n");
            }
            strcat(text[i / 30], line);
        }
        write_text(folder, k == 0 ? "a.csv" : "a.jsonl", text[0], a, sizeof a);
        write_text(folder, k == 0 ? "b.csv" : "b.jsonl", text[1], b, sizeof b);
        const char *paths[] = { a, b };
        bool is_typed = false;
        grebe_iterable *it = files_of(ctx, kinds[k], paths, &is_typed);
        struct ids all = { 0 };
        assert_int_equal(is_typed, k == 1);
        assert_int_equal(grebe_iterable_num_shards(it), 2);
        ids_all(it, NULL, 0, &all);
        assert_int_equal(all.n, 60);
        for (int64_t at = 1; at < 60; at += 7) {
            grebe_iterator *iter;
            struct ids got = { 0 };
            assert_ok(grebe_iterator_new(it, NULL, NULL, &iter, &err));
            while ((int64_t)got.n < at) {
                assert_true(ids_next(iter, 1, &got, &err));
            }
            char *place = state_text(iter, 0);
            grebe_iterator_free(iter);
            ids_all(it, place, 0, &got);
            assert_ids(kinds[k], &got, all.ids, 60);
            free(place);
            free(got.ids);
        }
        free(all.ids);
        grebe_iterable_free(it);
    }
    test_folder_remove(folder);
    context_free(ctx);
}

/* Row groups as shards of their own; a place within one. */
static void test_iterable_reshard__parquet__row_groups_in_order(void **state)
{
    (void)state;
    static const char *const files[] = { TEST_DATA "/golden/parquet/pa_default.parquet",
                                         TEST_DATA "/golden/parquet/pa_plain.parquet" };
    static const struct file_format *const list[] = { &parquet_format, NULL };
    static const struct source_registry registry = { list };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = context(1);
    ctx->registry = &registry;
    bool is_typed = false;
    const char *id[] = { "id" };
    grebe_iterable *it = files_of(ctx, "parquet", files, &is_typed), *cut, *one, *part;
    struct ids all = { 0 }, got = { 0 };
    assert_true(is_typed);
    assert_ok(grebe_iterable_reshard(it, &cut, &err));
    assert_int_equal(grebe_iterable_num_shards(it), 2);
    assert_int_equal(grebe_iterable_num_shards(cut), 6);
    assert_ok(grebe_iterable_select_columns(it, id, 1, &one, &err));
    ids_all(one, NULL, 0, &all);
    assert_int_equal(all.n, 1200);
    assert_ok(grebe_iterable_select_columns(cut, id, 1, &part, &err));
    for (int64_t at = 0; at < 1200; at += 171) {
        grebe_iterator *iter;
        got.n = 0;
        assert_ok(grebe_iterator_new(part, NULL, NULL, &iter, &err));
        while ((int64_t)got.n < at) {
            assert_true(ids_next(iter, at - (int64_t)got.n, &got, &err));
        }
        char *place = state_text(iter, 0);
        grebe_iterator_free(iter);
        ids_all(part, place, 0, &got);
        assert_ids("row groups", &got, all.ids, all.n);
        free(place);
    }
    free(all.ids);
    free(got.ids);
    grebe_iterable_free(part);
    grebe_iterable_free(one);
    grebe_iterable_free(cut);
    grebe_iterable_free(it);
    context_free(ctx);
}

static void test_iterable_of_dataset__shards__rows_of_each(void **state)
{
    (void)state;
    grebe_context *ctx = context(1);
    grebe_error err = GREBE_ERROR_INIT;
    int64_t ids[17];
    struct ArrowSchema schema;
    struct ArrowArray rows;
    struct ArrowArrayStream stream;
    grebe_dataset *ds;
    grebe_iterable *it, *part;
    for (int64_t i = 0; i < 17; i++) {
        ids[i] = i;
    }
    id_schema(&schema);
    id_array(ids, 17, &rows);
    assert_ok(stream_from_batches(mem_system(), &schema, &rows, 1, &stream, &err));
    schema_release(&schema);
    assert_ok(grebe_dataset_of_rows(ctx, &stream, NULL, &ds, &err));
    assert_fails(grebe_iterable_of_dataset(ds, 18, &it, &err), GREBE_EINVAL, "18 shards");
    assert_fails(grebe_iterable_of_dataset(ds, 0, &it, &err), GREBE_EINVAL, "0 shards");
    assert_ok(grebe_iterable_of_dataset(ds, 3, &it, &err));
    static const int64_t sizes[] = { 6, 6, 5 };
    struct ids got = { 0 };
    for (int64_t i = 0; i < 3; i++) {
        size_t before = got.n;
        assert_ok(grebe_iterable_split_by_node(it, i, 3, GREBE_NODE_AUTO, &part, &err));
        ids_all(part, NULL, 0, &got);
        assert_int_equal(got.n - before, sizes[i]);
        grebe_iterable_free(part);
    }
    assert_ids("shards", &got, ids, 17);
    free(got.ids);
    grebe_dataset_free(ds);
    grebe_iterable_free(it);
    context_free(ctx);
}

/* ---- no memory ---- */

static grebe_status whole_life(grebe_context *ctx, grebe_error *err)
{
    static const int64_t lengths[] = { 6, 5, 7 };
    grebe_status st = GREBE_OK;
    grebe_iterable *it = NULL, *next = NULL;
    grebe_iterator *iter = NULL;
    struct buf text = BUF_INIT(mem_system());
    struct ArrowArray rows = { 0 };
    struct ArrowSchema schema = { 0 };
    struct id_source *s = calloc(1, sizeof *s);
    grebe_iterable_shuffle_options o = GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT;
    uint32_t seed = 5;
    o.seed = (grebe_seed){ &seed, 1 };
    o.buffer_rows = 4;
    *s = (struct id_source){ .rows = { 6, 5, 7 }, .first = { 0, 6, 11 }, .n = 3, .batch = 2 };
    (void)lengths;
    GREBE_TRY(grebe_iterable_of_function(ctx, id_shard, s, free, 3, true, ID_FEATURES, &it, err));
    const grebe_iterable *both[] = { it, it };
    GREBE_TRY(grebe_iterable_interleave(both, 2, (double[]){ 0.5, 0.5 }, o.seed, GREBE_STOP_ALL_EXHAUSTED, &next, err));
    it = then(it, next);
    next = NULL;
    GREBE_TRY(grebe_iterable_shuffle(it, &o, &next, err));
    it = then(it, next);
    next = NULL;
    GREBE_TRY(grebe_iterable_filter(it, "id < 12", &next, err));
    it = then(it, next);
    next = NULL;
    GREBE_TRY(grebe_iterable_set_epoch(it, 1, &next, err));
    it = then(it, next);
    next = NULL;
    GREBE_TRY(grebe_iterator_new(it, NULL, NULL, &iter, err));
    GREBE_TRY(grebe_iterator_next(iter, 9, &rows, &schema, err));
    GREBE_TRY(grebe_iterator_state(iter, 2, ids_write, &text, err));
    grebe_iterator_free(iter);
    iter = NULL;
    GREBE_TRY(grebe_iterator_new(it, buf_text(&text), NULL, &iter, err));
out:
    array_release(&rows);
    schema_release(&schema);
    grebe_iterator_free(iter);
    grebe_iterable_free(it);
    buf_release(&text);
    return st;
}

static void test_iterable__no_memory__fails_and_frees(void **state)
{
    (void)state;
    bool is_done = false;
    size_t fail_at = 1;
    for (; !is_done; fail_at++) {
        struct test_allocator t;
        test_allocator_init(&t);
        grebe_error err = GREBE_ERROR_INIT;
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        o.allocator = &t.a;
        o.threads = 1;
        t.fail_at = fail_at;
        grebe_context *ctx = NULL;
        grebe_status st = context_new(&o, &ctx, &err);
        if (st == GREBE_OK) {
            st = whole_life(ctx, &err);
            context_free(ctx);
        }
        is_done = st == GREBE_OK;
        if (!is_done && st != GREBE_ENOMEM) {
            fail_msg("allocation %zu: %s: %s", fail_at, grebe_status_name(st), err.message);
        }
        assert_int_equal(t.n_live, 0);
        assert_true(fail_at < 20000);
    }
    print_message("%zu allocations\n", fail_at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iterable_rename__column__new_name_and_features),
        cmocka_unit_test(test_iterable_cast__text__and_what_does_not_fit),
        cmocka_unit_test(test_iterable_concatenate__side_by_side__columns_of_both),
        cmocka_unit_test(test_iterable_interleave__other_columns__null),
        cmocka_unit_test(test_iterable_batch__stored_groups__equal),
        cmocka_unit_test(test_iterable_map_expr__columns__computed_and_refused),
        cmocka_unit_test(test_iterator_scan__limit__stands_behind_what_was_given),
        cmocka_unit_test(test_iterable_map__nothing_or_other_length__refused),
        cmocka_unit_test(test_iterable_prefetch__threads__same_rows_and_places),
        cmocka_unit_test(test_iterable_of_files__csv_and_json__rows_places_units),
        cmocka_unit_test(test_iterable_reshard__parquet__row_groups_in_order),
        cmocka_unit_test(test_iterable_of_dataset__shards__rows_of_each),
        cmocka_unit_test(test_iterable__no_memory__fails_and_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
