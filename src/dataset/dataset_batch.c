/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "dataset/row_key.h"
#include "dataset/rows_sink.h"
#include "dataset/transform.h"
#include "wire/json.h"
#include "wire/json_python.h"

enum { PIECE_ROWS = 1 << 14 };

/* Ends of the runs of rows that are equal in the column: int64 appended. */
static grebe_status find_runs(struct transform *t, int column, struct buf *ends, grebe_error *err)
{
    const grebe_dataset *ds = t->ds;
    grebe_status st = GREBE_OK;
    struct buf key = BUF_INIT(ds->ctx->a), before = BUF_INIT(ds->ctx->a);
    for (int64_t row = 0; row < ds->n_rows && st == GREBE_OK;) {
        struct ArrowArray rows = { 0 };
        int64_t end = dataset_batch_end(ds, row, PIECE_ROWS);
        st = transform_check(t, err);
        st = st == GREBE_OK ? dataset_read_some(ds, row, &end, &column, 1, &rows, err) : st;
        for (int64_t i = row; i < end && st == GREBE_OK; i++) {
            buf_clear(&key);
            st = row_key_put(ds->schema.children[column], rows.children[0], i - row, &key, err);
            if (st == GREBE_OK && i > 0 && (key.len != before.len || memcmp(key.data, before.data, key.len) != 0)) {
                st = buf_put(ends, &i, sizeof i, err);
            }
            struct buf swap = before;
            before = key;
            key = swap;
        }
        array_release(&rows);
        row = end;
    }
    st = st == GREBE_OK && ds->n_rows > 0 ? buf_put(ends, &ds->n_rows, sizeof ds->n_rows, err) : st;
    buf_release(&key);
    buf_release(&before);
    return st;
}

static grebe_status find_batches(const grebe_dataset *ds, int64_t batch_rows, bool drop_last, struct buf *ends,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (int64_t row = 0; row < ds->n_rows && st == GREBE_OK;) {
        int64_t end = row + min_i64(batch_rows, ds->n_rows - row);
        if (drop_last && end - row < batch_rows) {
            break;
        }
        st = buf_put(ends, &end, sizeof end, err);
        row = end;
    }
    return st;
}

/* Each column as a list of what it was. */
static grebe_status list_features(const grebe_dataset *ds, struct features **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ds->ctx->a;
    struct arena ar = ARENA_INIT(a);
    struct buf json = BUF_INIT(a);
    const struct json_value *v = NULL;
    GREBE_TRY(json_parse(&ar, ds->features_json, strlen(ds->features_json), &v, err));
    GREBE_TRY(json_python_open(&json, '{', err));
    for (size_t i = 0; i < v->n; i++) {
        GREBE_TRY(json_python_key(&json, v->members[i].key, i, -1, 0, err));
        GREBE_TRY(buf_put_text(&json, "{\"feature\": ", err));
        GREBE_TRY(json_python_value(&json, &v->members[i].value, -1, 0, err));
        GREBE_TRY(buf_put_text(&json, ", \"_type\": \"List\"}", err));
    }
    GREBE_TRY(buf_put_byte(&json, '}', err));
    GREBE_TRY(features_from_json(a, (const char *)json.data, json.len, out, err));
out:
    buf_release(&json);
    arena_release(&ar);
    return st;
}

/* Lists [begin, end) of the groups as one batch: the rows read at once, offsets over them. */
static grebe_status make_lists(const grebe_dataset *ds, const int64_t *ends, size_t begin, size_t end,
                               struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ds->ctx->a;
    size_t n_columns = ds->features->top.n_fields;
    int64_t first = begin > 0 ? ends[begin - 1] : 0, n = (int64_t)(end - begin);
    struct ArrowArray rows = { 0 };
    struct ArrowArray *lists = mem_alloc_zero(a, n_columns * sizeof *lists);
    memset(out, 0, sizeof *out);
    if (lists == NULL) {
        return mem_fail(err, n_columns * sizeof *lists, "lists");
    }
    if (ends[end - 1] - first > INT32_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "a batch of %lld rows: 32-bit offsets count 2^31 - 1",
                        (long long)(ends[end - 1] - first));
        goto out;
    }
    GREBE_TRY(dataset_read_rows(ds, first, ends[end - 1], NULL, 0, &rows, err));
    for (size_t c = 0; c < n_columns; c++) {
        void *p = NULL;
        GREBE_TRY(array_new(a, n, 2, 1, &lists[c], err));
        GREBE_TRY(array_alloc_buffer(a, &lists[c], 1, (size_t)(n + 1) * 4, &p, err));
        ((int32_t *)p)[0] = 0;
        for (int64_t i = 0; i < n; i++) {
            ((int32_t *)p)[i + 1] = (int32_t)(ends[begin + (size_t)i] - first);
        }
        array_move(lists[c].children[0], rows.children[c]);
    }
    GREBE_TRY(array_struct(a, n, lists, n_columns, out, err));
out:
    array_release(&rows);
    for (size_t c = 0; c < n_columns; c++) {
        array_release(&lists[c]);
    }
    mem_free(a, lists, n_columns * sizeof *lists);
    return st;
}

static grebe_status write_lists(struct transform *t, const struct buf *groups, const struct features *to,
                                struct dataset_table **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char *path = NULL;
    struct rows_sink *sink = NULL;
    const int64_t *ends = (const int64_t *)(const void *)groups->data;
    size_t n = groups->len / sizeof *ends;
    struct rows_writer_options o = { t->fingerprint, t->o.writer_batch_rows, false, false };
    GREBE_TRY(transform_path(t, NULL, "", &path, err));
    GREBE_TRY(rows_sink_new(t->ds->ctx, path, to, &o, &sink, err));
    for (size_t i = 0; i < n;) {
        struct ArrowArray rows;
        int64_t first = i > 0 ? ends[i - 1] : 0;
        size_t end = i + 1;
        while (end < n && ends[end] - first <= PIECE_ROWS) {
            end++;
        }
        GREBE_TRY(transform_check(t, err));
        GREBE_TRY(make_lists(t->ds, ends, i, end, &rows, err));
        GREBE_TRY(rows_sink_put(sink, &rows, err));
        i = end;
        transform_progress(t, "batch", ends[end - 1], t->ds->n_rows);
    }
    GREBE_TRY(rows_sink_finish(sink, out, err));
out:
    rows_sink_free(sink);
    return st;
}

grebe_status grebe_dataset_batch(const grebe_dataset *ds, int64_t batch_rows, const char *by_column,
                                 bool drop_last_batch, const grebe_transform_options *options, grebe_dataset **out,
                                 grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && (by_column != NULL || batch_rows > 0) && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct derived d = { .are_rows_new = true };
    struct buf groups = BUF_INIT(ds->ctx->a);
    int column = -1;
    const char *path = NULL;
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "batch", err));
    if (batch_rows > 0) {
        GREBE_TRY(fingerprint_arg_int(&t.f, "batch_size", batch_rows, err));
    }
    if (by_column != NULL) {
        GREBE_TRY(dataset_find_columns(ds, &by_column, 1, &column, err));
        GREBE_TRY(fingerprint_arg_text(&t.f, "by_column", by_column, err));
    }
    if (drop_last_batch) {
        GREBE_TRY(fingerprint_arg_bool(&t.f, "drop_last_batch", true, err));
    }
    GREBE_TRY(transform_arg_name(&t, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(list_features(ds, &d.features, err));
    GREBE_TRY(transform_path(&t, NULL, "", &path, err));
    if (transform_finds(&t, path)) {
        st = transform_take_file(&t, path, d.features, out, err);
        goto out;
    }
    st =
        column >= 0 ? find_runs(&t, column, &groups, err) : find_batches(ds, batch_rows, drop_last_batch, &groups, err);
    if (st != GREBE_OK) {
        goto out;
    }
    GREBE_TRY(write_lists(&t, &groups, d.features, &d.table, err));
    GREBE_TRY(dataset_derive(ds, &d, t.fingerprint, out, err));
out:
    features_free(d.features);
    dataset_table_drop(d.table);
    buf_release(&groups);
    transform_end(&t);
    return st;
}
