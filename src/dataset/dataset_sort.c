/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "dataset/sort_rows.h"
#include "dataset/transform.h"

enum { PIECE_ROWS = 1 << 16 };

static void release_arrays(struct buf *arrays)
{
    struct ArrowArray *items = (struct ArrowArray *)(void *)arrays->data;
    for (size_t i = 0; i < arrays->len / sizeof *items; i++) {
        array_release(&items[i]);
    }
    buf_release(arrays);
}

/* The column as it is seen, in pieces that 32-bit offsets count. */
static grebe_status read_column(struct transform *t, int column, struct buf *arrays, grebe_error *err)
{
    const grebe_dataset *ds = t->ds;
    grebe_status st = GREBE_OK;
    for (int64_t row = 0; row < ds->n_rows && st == GREBE_OK;) {
        struct ArrowArray rows = { 0 };
        int64_t end = dataset_batch_end(ds, row, PIECE_ROWS);
        st = transform_check(t, err);
        st = st == GREBE_OK ? dataset_read_some(ds, row, &end, &column, 1, &rows, err) : st;
        if (st == GREBE_OK) {
            st = buf_put(arrays, rows.children[0], sizeof rows, err);
            if (st == GREBE_OK) {
                memset(rows.children[0], 0, sizeof rows); /* moved */
            }
            array_release(&rows);
        }
        row = end;
    }
    return st;
}

static grebe_status order_by(struct transform *t, const grebe_sort_key *keys, size_t n, bool are_nulls_first,
                             int64_t *order, grebe_error *err)
{
    const grebe_dataset *ds = t->ds;
    grebe_status st = GREBE_OK;
    for (int64_t i = 0; i < ds->n_rows; i++) {
        order[i] = i;
    }
    for (size_t i = n; i-- > 0 && st == GREBE_OK;) { /* the least significant key first */
        struct buf arrays = BUF_INIT(ds->ctx->a);
        int column = dataset_find_column(ds, keys[i].column);
        st = read_column(t, column, &arrays, err);
        struct sort_column c = { ds->schema.children[column],
                                 (const struct ArrowArray *)(const void *)arrays.data,
                                 arrays.len / sizeof(struct ArrowArray),
                                 ds->n_rows,
                                 keys[i].is_descending,
                                 are_nulls_first };
        st = st == GREBE_OK ? sort_rows(ds->ctx->a, &c, order, err) : st;
        release_arrays(&arrays);
    }
    return st;
}

/* One column is absorbed as a text, several as a list; directions as the first, or a list. */
static grebe_status absorb(struct transform *t, const grebe_sort_key *keys, size_t n, bool are_nulls_first,
                           grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = t->ds->ctx->a;
    const char **names = mem_alloc(a, n * sizeof *names);
    struct buf directions = BUF_INIT(a);
    bool is_any_descending = false;
    if (names == NULL) {
        return mem_fail(err, n * sizeof *names, "columns");
    }
    GREBE_TRY(buf_put_text(&directions, "[", err));
    for (size_t i = 0; i < n; i++) {
        names[i] = keys[i].column;
        is_any_descending = is_any_descending || keys[i].is_descending;
        GREBE_TRY(buf_printf(&directions, err, "%s%s", i > 0 ? ", " : "", keys[i].is_descending ? "true" : "false"));
    }
    GREBE_TRY(buf_put(&directions, "]", 2, err));
    GREBE_TRY(n == 1 ? fingerprint_arg_text(&t->f, "column_names", names[0], err)
                     : fingerprint_arg_texts(&t->f, "column_names", names, n, err));
    GREBE_TRY(transform_arg_name(t, err));
    GREBE_TRY(transform_arg_memory(t, err));
    if (are_nulls_first) {
        GREBE_TRY(fingerprint_arg_text(&t->f, "null_placement", "at_start", err));
    }
    if (is_any_descending) {
        GREBE_TRY(n == 1 ? fingerprint_arg_bool(&t->f, "reverse", true, err)
                         : fingerprint_arg_json(&t->f, "reverse", (const char *)directions.data, err));
    }
    GREBE_TRY(transform_arg_batch(t, err));
out:
    buf_release(&directions);
    mem_free(a, names, n * sizeof *names);
    return st;
}

grebe_status grebe_dataset_sort(const grebe_dataset *ds, const grebe_sort_key *keys, size_t n, bool are_nulls_first,
                                const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && keys != NULL && n > 0 && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    int64_t *order = NULL;
    size_t len = (size_t)ds->n_rows * sizeof *order;
    const char *path = NULL;
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "sort", err));
    for (size_t i = 0; i < n; i++) {
        int column = 0;
        GREBE_TRY(dataset_find_columns(ds, &keys[i].column, 1, &column, err));
        GREBE_TRY(sort_check_type(ds->schema.children[column], err));
    }
    GREBE_TRY(absorb(&t, keys, n, are_nulls_first, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(transform_path(&t, NULL, "", &path, err));
    if (transform_finds(&t, path)) {
        st = dataset_with_indices_file(&t, path, out, err);
        goto out;
    }
    order = mem_alloc(ds->ctx->a, len);
    if (order == NULL) {
        st = mem_fail(err, len, "an order");
        goto out;
    }
    GREBE_TRY(order_by(&t, keys, n, are_nulls_first, order, err));
    st = dataset_select_order(&t, order, ds->n_rows, path, out, err);
    order = NULL;
out:
    mem_free(ds->ctx->a, order, order != NULL ? len : 0);
    transform_end(&t);
    return st;
}
