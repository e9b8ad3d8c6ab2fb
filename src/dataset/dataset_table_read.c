/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_table.h"

#include <string.h>

#include "base/checked.h"
#include "dataset/dataset_part.h"

/* Arrays that come one after another in a column. */
struct pieces {
    const grebe_allocator *a;
    struct buf items; /* struct ArrowArray, owned */
};

static void pieces_release(struct pieces *p)
{
    struct ArrowArray *items = (struct ArrowArray *)(void *)p->items.data;
    for (size_t i = 0; i < p->items.len / sizeof *items; i++) {
        array_release(&items[i]);
    }
    buf_release(&p->items);
}

static grebe_status pieces_put(struct pieces *p, struct ArrowArray *array, grebe_error *err)
{
    grebe_status st = buf_put(&p->items, array, sizeof *array, err);
    if (st != GREBE_OK) {
        array_release(array);
    }
    return st;
}

/* Rows [begin, end) of a block's column, batch by batch. */
static grebe_status read_source(struct pieces *p, const struct ArrowSchema *schema, const struct table_source *s,
                                int64_t begin, int64_t end, grebe_error *err)
{
    struct ArrowArray array;
    if (s->part == NULL) {
        grebe_status st = array_nulls(p->a, schema, end - begin, &array, err);
        return st == GREBE_OK ? pieces_put(p, &array, err) : st;
    }
    int64_t row = begin + s->first_row, last = end + s->first_row;
    size_t batch = part_batch_of(s->part, row);
    for (; row < last; batch++) {
        int64_t n = min_i64(last, s->part->batch_begin[batch + 1]) - row;
        grebe_status st = source_read(s, batch, row - s->part->batch_begin[batch], n, &array, err);
        if (st == GREBE_OK) {
            st = pieces_put(p, &array, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        row += n;
    }
    return GREBE_OK;
}

static grebe_status join_pieces(struct pieces *p, const struct ArrowSchema *schema, struct ArrowArray *out,
                                grebe_error *err)
{
    struct ArrowArray *items = (struct ArrowArray *)(void *)p->items.data;
    size_t n = p->items.len / sizeof *items;
    if (n == 1) {
        array_move(out, &items[0]);
        return GREBE_OK;
    }
    if (n == 0) {
        return array_nulls(p->a, schema, 0, out, err);
    }
    const struct ArrowArray **pointers = mem_alloc(p->a, n * sizeof *pointers);
    if (pointers == NULL) {
        return mem_fail(err, n * sizeof *pointers, "pieces of a column");
    }
    for (size_t i = 0; i < n; i++) {
        pointers[i] = &items[i];
    }
    grebe_status st = array_concat(p->a, schema, pointers, n, out, err);
    mem_free(p->a, pointers, n * sizeof *pointers);
    return st;
}

/* Rows that lie in one batch: a view. *is_one false: they do not. */
static grebe_status read_one_batch(const struct dataset_table *t, size_t column, int64_t begin, int64_t end,
                                   struct ArrowArray *out, bool *is_one, grebe_error *err)
{
    size_t i = table_block_of(t, begin);
    const struct table_source *s = &t->blocks[i].sources[column];
    *is_one = false;
    if (end > t->block_begin[i + 1] || s->part == NULL) {
        return GREBE_OK;
    }
    int64_t row = begin - t->block_begin[i] + s->first_row;
    size_t batch = part_batch_of(s->part, row);
    *is_one = end - begin <= s->part->batch_begin[batch + 1] - row;
    return *is_one ? source_read(s, batch, row - s->part->batch_begin[batch], end - begin, out, err) : GREBE_OK;
}

static grebe_status read_column(const struct dataset_table *t, size_t column, int64_t begin, int64_t end,
                                struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct pieces p = { t->ctx->a, BUF_INIT(t->ctx->a) };
    bool is_one = false;
    if (begin < end) {
        st = read_one_batch(t, column, begin, end, out, &is_one, err);
    }
    if (is_one || st != GREBE_OK) {
        return st == GREBE_OK ? st : error_wrap(err, st, "column \"%.64s\"", t->schema.children[column]->name);
    }
    for (int64_t row = begin; row < end && st == GREBE_OK;) {
        size_t i = table_block_of(t, row);
        int64_t stop = min_i64(end, t->block_begin[i + 1]);
        st = read_source(&p, t->schema.children[column], &t->blocks[i].sources[column], row - t->block_begin[i],
                         stop - t->block_begin[i], err);
        row = stop;
    }
    if (st == GREBE_OK) {
        st = join_pieces(&p, t->schema.children[column], out, err);
    }
    pieces_release(&p);
    return st == GREBE_OK ? st : error_wrap(err, st, "column \"%.64s\"", t->schema.children[column]->name);
}

grebe_status dataset_table_read(const struct dataset_table *t, int64_t begin, int64_t end, const int *columns,
                                size_t n_columns, struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = t->ctx->a;
    size_t n = columns != NULL ? n_columns : (size_t)t->schema.n_children;
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    struct ArrowArray *made = mem_alloc_zero(a, n * sizeof *made);
    if (made == NULL) {
        return mem_fail(err, n * sizeof *made, "columns");
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = read_column(t, columns != NULL ? (size_t)columns[i] : i, begin, end, &made[i], err);
    }
    if (st == GREBE_OK) {
        st = array_struct(a, end - begin, made, n, out, err);
    }
    for (size_t i = 0; st != GREBE_OK && i < n; i++) {
        array_release(&made[i]);
    }
    mem_free(a, made, n * sizeof *made);
    return st;
}

grebe_status dataset_table_num_bytes(const struct dataset_table *t, int64_t *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = 0;
    for (int64_t row = 0, total = dataset_table_num_rows(t); row < total && st == GREBE_OK;) {
        struct ArrowArray rows;
        int64_t end = dataset_table_batch_end(t, row);
        st = dataset_table_read(t, row, end, NULL, 0, &rows, err);
        if (st == GREBE_OK) {
            *out += array_bytes(&t->schema, &rows, 0, rows.length);
            array_release(&rows);
        }
        row = end;
    }
    return st;
}
