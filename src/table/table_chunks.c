/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/chunk.h"

#include <assert.h>
#include <inttypes.h>

#include "base/checked.h"
#include "base/pool.h"
#include "table/table_internal.h"

/* A chunk of a file, cut to the rows of the file that belong to the table. */
struct chunk_place {
    size_t file;
    int64_t row_begin, n_rows; /* of the table */
    int64_t file_row;          /* the first of them in the file */
    uint64_t memory_bytes;
};

struct grebe_chunks {
    grebe_table *table; /* one reference */
    size_t group;
    int *columns; /* of the table, shape [n_columns] */
    size_t n_columns, n_columns_max;
    struct chunk_place *items; /* ascending in row_begin, adjacent; shape [n] */
    size_t n, capacity;
    int64_t n_rows;
};

/* ---- which columns ---- */

static grebe_status add_column(struct grebe_chunks *c, int column, grebe_error *err)
{
    for (size_t i = 0; i < c->n_columns; i++) {
        if (c->columns[i] == column) {
            return GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" is asked for twice",
                              c->table->columns->schema.children[column]->name);
        }
    }
    c->columns[c->n_columns++] = column;
    return GREBE_OK;
}

static grebe_status choose_columns(struct grebe_chunks *c, const char *const *names, size_t n,
                                   grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct columns *all = c->table->columns;
    struct name_index index = { 0 };
    c->n_columns_max = min_size(names == NULL ? all->n : n, all->n);
    c->columns = mem_alloc_zero(c->table->ctx->a, c->n_columns_max * sizeof *c->columns);
    if (c->columns == NULL) {
        return mem_fail(err, c->n_columns_max * sizeof *c->columns, "columns");
    }
    if (names == NULL) {
        for (size_t i = 0; i < all->n; i++) {
            if (all->items[i].group == (int32_t)c->group) {
                c->columns[c->n_columns++] = (int)i;
            }
        }
    } else {
        GREBE_TRY(schema_index(c->table->ctx->a, &all->schema, &index, err));
    }
    for (size_t i = 0; names != NULL && i < n; i++) {
        int column = 0;
        if (schema_find_indexed(&all->schema, &index, names[i], &column, NULL) == GREBE_OK &&
            all->items[column].group == (int32_t)c->group) {
            GREBE_TRY(add_column(c, column, err));
        }
    }
    if (c->n_columns == 0) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "group %zu has none of the columns", c->group);
    }
out:
    name_index_release(&index);
    return st;
}

/* ---- which chunks ---- */

static grebe_status push_chunk(struct grebe_chunks *c, struct chunk_place place, grebe_error *err)
{
    if (c->n == c->capacity) {
        size_t capacity = c->capacity == 0 ? 16 : c->capacity * 2;
        struct chunk_place *grown = mem_resize(c->table->ctx->a, c->items,
                                               c->capacity * sizeof *grown,
                                               capacity * sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, capacity * sizeof *grown, "chunks");
        }
        c->items = grown;
        c->capacity = capacity;
    }
    c->items[c->n++] = place;
    return GREBE_OK;
}

/* What the chunk takes in memory, by the share of its rows that is asked for. */
static grebe_status estimate(const struct grebe_chunks *c, const struct data_file *f, size_t chunk,
                             int64_t n_rows, uint64_t *out, grebe_error *err)
{
    struct format_reader *r = f->reader;
    size_t n = 0;
    *out = 0;
    if (r->ops->memory_bytes == NULL) {
        return GREBE_OK;
    }
    int *fields = mem_alloc(f->a, c->n_columns * sizeof *fields);
    if (fields == NULL) {
        return mem_fail(err, c->n_columns * sizeof *fields, "columns");
    }
    for (size_t i = 0; i < c->n_columns; i++) {
        int field = f->field_of[c->table->columns->items[c->columns[i]].at];
        if (field >= 0) {
            fields[n++] = field;
        }
    }
    bool is_all = n == (size_t)r->schema.n_children;
    grebe_status st = r->ops->memory_bytes(r, is_all ? NULL : fields, n, chunk, out, err);
    int64_t all = r->chunk_begin[chunk + 1] - r->chunk_begin[chunk];
    if (st == GREBE_OK && n_rows < all) {
        *out = (uint64_t)((double)(*out >> 1) * ((double)n_rows / (double)all)) << 1;
    }
    mem_free(f->a, fields, c->n_columns * sizeof *fields);
    return st;
}

static grebe_status list_file(struct grebe_chunks *c, const struct data_file *f, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct format_reader *r = f->reader;
    for (int64_t row = f->file_row_begin; row < f->file_row_end && st == GREBE_OK;) {
        size_t chunk = format_chunk_of(r, row);
        int64_t end = min_i64(r->chunk_begin[chunk + 1], f->file_row_end);
        struct chunk_place place = { f->file, f->row_begin + (row - f->file_row_begin), end - row,
                                     row, 0 };
        st = estimate(c, f, chunk, place.n_rows, &place.memory_bytes, err);
        if (st == GREBE_OK) {
            st = push_chunk(c, place, err);
        }
        row = end;
    }
    return st;
}

static grebe_status list_chunks(struct grebe_chunks *c, grebe_error *err)
{
    const struct snapshot_group *g = &c->table->snapshot->groups[c->group];
    c->n_rows = g->row_begin[g->n_files];
    for (size_t i = 0; i < g->n_files; i++) {
        struct data_file *f = NULL;
        const char *path = manifest_file_at(g->manifest, i)->path.data;
        if (g->row_begin[i] == g->row_begin[i + 1]) {
            if (!table_is_milvus(c->table)) {
                continue;
            }
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected rows, found none", path);
        }
        grebe_status st = table_file_open(c->table, c->group, i, &f, err);
        if (st != GREBE_OK) {
            return st;
        }
        st = list_file(c, f, err);
        data_file_drop(f);
        if (st != GREBE_OK) {
            return error_wrap(err, st, "%s", path);
        }
    }
    return GREBE_OK;
}

grebe_status grebe_chunks_open(const grebe_table *table, size_t group, const char *const *columns,
                               size_t n_columns, grebe_chunks **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL && (columns != NULL || n_columns == 0));
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct grebe_chunks *c = mem_alloc_zero(table->ctx->a, sizeof *c);
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "chunks");
    }
    c->table = grebe_table_keep((grebe_table *)table);
    c->group = group;
    /* The reference looks at one group here: another one may be of another length. */
    GREBE_TRY(table_is_milvus(table) ? table_check_columns(table, err)
                                     : table_check_layout(table, err));
    if (group >= table->snapshot->manifest.groups.n) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "group: expected less than %zu, found %zu",
                        table->snapshot->manifest.groups.n, group);
        goto out;
    }
    GREBE_TRY(choose_columns(c, columns, n_columns, err));
    GREBE_TRY(list_chunks(c, err));
    *out = c;
    c = NULL;
out:
    grebe_chunks_close(c);
    return st;
}

void grebe_chunks_close(grebe_chunks *c)
{
    if (c != NULL) {
        const grebe_allocator *a = c->table->ctx->a;
        mem_free(a, c->columns, c->n_columns_max * sizeof *c->columns);
        mem_free(a, c->items, c->capacity * sizeof *c->items);
        grebe_table_close(c->table);
        mem_free(a, c, sizeof *c);
    }
}

/* ---- what is known of them ---- */

size_t grebe_chunks_count(const grebe_chunks *chunks) { return chunks->n; }

static grebe_status check_number(const grebe_chunks *c, size_t number, grebe_error *err)
{
    return number < c->n ? GREBE_OK
                         : GREBE_FAIL(err, GREBE_EINVAL, "chunk: expected less than %zu, found %zu",
                                      c->n, number);
}

grebe_status grebe_chunks_info(const grebe_chunks *chunks, size_t chunk, grebe_chunk_info *out,
                               grebe_error *err)
{
    GREBE_CHECK_ARG(err, chunks != NULL && out != NULL);
    *out = (grebe_chunk_info){ 0 };
    grebe_status st = check_number(chunks, chunk, err);
    if (st == GREBE_OK) {
        const struct chunk_place *p = &chunks->items[chunk];
        *out = (grebe_chunk_info){ p->row_begin, p->n_rows, p->memory_bytes, p->file };
    }
    return st;
}

grebe_status grebe_chunks_schema(const grebe_chunks *chunks, struct ArrowSchema *out,
                                 grebe_error *err)
{
    GREBE_CHECK_ARG(err, chunks != NULL && out != NULL);
    return schema_project(chunks->table->ctx->a, &chunks->table->columns->schema, chunks->columns,
                          chunks->n_columns, out, err);
}

/* The chunk that holds the row: they are adjacent from row 0 on. */
static size_t chunk_of_row(const grebe_chunks *c, int64_t row)
{
    size_t lo = 0;
    size_t hi = c->n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->items[mid].row_begin <= row) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return lo;
}

grebe_status grebe_chunks_of_rows(const grebe_chunks *chunks, const int64_t *row_ids, size_t n,
                                  size_t *out, size_t *n_out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, chunks != NULL && n_out != NULL &&
                             (n == 0 || (row_ids != NULL && out != NULL)));
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = chunks->table->ctx->a;
    size_t n_bits = bitmap_bytes((int64_t)chunks->n);
    uint8_t *seen = mem_alloc_zero(a, n_bits);
    *n_out = 0;
    if (seen == NULL) {
        return mem_fail(err, n_bits, "chunks");
    }
    for (size_t i = 0; i < n; i++) {
        int64_t row = 0;
        GREBE_TRY(table_row_of(chunks->table, i, row_ids[i], &row, err));
        if (row >= chunks->n_rows) { /* of a group that is shorter than the others */
            st = GREBE_FAIL(err, GREBE_EINVAL, "rows[%zu]: expected less than %" PRId64
                            ", found %" PRId64, i, chunks->n_rows, row);
            goto out;
        }
        size_t chunk = chunk_of_row(chunks, row);
        assert(row - chunks->items[chunk].row_begin < chunks->items[chunk].n_rows);
        if (!bit_get(seen, (int64_t)chunk)) {
            bit_set(seen, (int64_t)chunk);
            out[(*n_out)++] = chunk;
        }
    }
out:
    mem_free(a, seen, n_bits);
    return st;
}

/* ---- reading ---- */

struct chunks_read {
    const grebe_chunks *c;
    const size_t *numbers;
    struct ArrowArray *out;
    struct call call; /* of each chunk */
};

static grebe_status read_one(void *arg, size_t i, grebe_error *err)
{
    const struct chunks_read *r = arg;
    const grebe_chunks *c = r->c;
    const struct chunk_place *p = &c->items[r->numbers[i]];
    struct data_file *f = NULL;
    grebe_status st = table_file_open(c->table, c->group, p->file, &f, err);
    if (st == GREBE_OK) {
        st = data_file_read(c->table, f, c->columns, c->n_columns, NULL, p->file_row,
                            p->file_row + p->n_rows, &r->call, &r->out[i], err);
        data_file_drop(f);
    }
    return st == GREBE_OK ? st
                          : error_wrap(err, st, "group %zu, chunk %zu", c->group, r->numbers[i]);
}

grebe_status grebe_chunks_read(const grebe_chunks *chunks, const size_t *numbers, size_t n,
                               const grebe_call_options *call, struct ArrowArray *out,
                               grebe_error *err)
{
    GREBE_CHECK_ARG(err, chunks != NULL && (n == 0 || (numbers != NULL && out != NULL)));
    grebe_status st = GREBE_OK;
    grebe_context *ctx = chunks->table->ctx;
    struct call all = call_options_resolve(ctx, call);
    struct chunks_read r = { chunks, numbers, out, all };
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct ArrowArray){ 0 };
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = check_number(chunks, numbers[i], err);
    }
    if (st == GREBE_OK) {
        /* Many chunks: one thread each. One chunk: its columns on all threads. */
        r.call.threads = n > 1 ? 1 : all.threads;
        r.call.progress = NULL;
        st = parallel_for(all.threads > 1 ? ctx->pool : NULL, all.threads, n, read_one, &r,
                          all.cancel, err);
    }
    for (size_t i = 0; i < n && st != GREBE_OK; i++) {
        array_release(&out[i]);
    }
    return st;
}
