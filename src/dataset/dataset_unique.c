/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_unique.h"

#include <string.h>

#include "dataset/row_key.h"
#include "dataset/row_set.h"

enum { PIECE_ROWS = 1 << 14 };

grebe_status dataset_distinct_rows(const grebe_dataset *ds, int column, struct buf *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct row_set set;
    struct buf key = BUF_INIT(ds->ctx->a);
    row_set_init(&set, ds->ctx->a);
    for (int64_t row = 0; row < ds->n_rows && st == GREBE_OK;) {
        struct ArrowArray batch = { 0 };
        int64_t end = dataset_batch_end(ds, row, PIECE_ROWS);
        st = dataset_read_some(ds, row, &end, &column, 1, &batch, err);
        for (int64_t i = 0; i < end - row && st == GREBE_OK; i++) {
            size_t at = 0;
            bool is_new = false;
            int64_t first = row + i;
            buf_clear(&key);
            st = row_key_put(ds->schema.children[column], batch.children[0], i, &key, err);
            st = st == GREBE_OK ? row_set_put(&set, key.data, key.len, &at, &is_new, err) : st;
            st = st == GREBE_OK && is_new ? buf_put(rows, &first, sizeof first, err) : st;
        }
        array_release(&batch);
        row = end;
    }
    row_set_release(&set);
    buf_release(&key);
    return st;
}

grebe_status dataset_distinct(const grebe_dataset *ds, int column, struct ArrowArray *out, grebe_error *err)
{
    struct buf rows = BUF_INIT(ds->ctx->a);
    struct ArrowArray taken = { 0 };
    const char *name = ds->columns[column];
    grebe_status st = dataset_distinct_rows(ds, column, &rows, err);
    st = st == GREBE_OK ? grebe_dataset_take(ds, (const int64_t *)(const void *)rows.data, rows.len / sizeof(int64_t),
                                             &name, 1, &taken, err)
                        : st;
    if (st == GREBE_OK) {
        array_move(out, taken.children[0]);
    }
    array_release(&taken);
    buf_release(&rows);
    return st;
}

grebe_status grebe_dataset_unique(const grebe_dataset *ds, const char *column, struct ArrowArray *out,
                                  struct ArrowSchema *out_schema, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && column != NULL && out != NULL && out_schema != NULL);
    int i = 0;
    memset(out, 0, sizeof *out);
    memset(out_schema, 0, sizeof *out_schema);
    grebe_status st = dataset_find_columns(ds, &column, 1, &i, err);
    st = st == GREBE_OK ? schema_copy(ds->ctx->a, ds->schema.children[i], out_schema, err) : st;
    st = st == GREBE_OK ? dataset_distinct(ds, i, out, err) : st;
    if (st != GREBE_OK) {
        schema_release(out_schema);
    }
    return st;
}
