/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_table.h"

#include <string.h>

#include "base/checked.h"
#include "dataset/dataset_part.h"

int64_t dataset_table_num_rows(const struct dataset_table *t)
{
    return t->block_begin[t->n_blocks];
}
const struct ArrowSchema *dataset_table_schema(const struct dataset_table *t)
{
    return &t->schema;
}

struct dataset_table *dataset_table_keep(struct dataset_table *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void dataset_table_drop(struct dataset_table *t)
{
    if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    const grebe_allocator *a = t->ctx->a;
    size_t n = t->schema.release != NULL ? (size_t)t->schema.n_children : 0;
    for (size_t i = 0; t->blocks != NULL && i < t->n_blocks; i++) {
        for (size_t c = 0; t->blocks[i].sources != NULL && c < n; c++) {
            part_drop(t->blocks[i].sources[c].part);
        }
        mem_free(a, t->blocks[i].sources, n * sizeof *t->blocks[i].sources);
    }
    mem_free(a, t->blocks, t->n_blocks * sizeof *t->blocks);
    mem_free(a, t->block_begin, (t->n_blocks + 1) * sizeof *t->block_begin);
    mem_free(a, t->alike, n * sizeof *t->alike);
    schema_release(&t->schema);
    mem_free(a, t, sizeof *t);
}

grebe_status dataset_table_make(grebe_context *ctx, const struct ArrowSchema *schema, size_t n_blocks,
                                struct dataset_table **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ctx->a;
    size_t n = (size_t)schema->n_children;
    struct dataset_table *t = mem_alloc_zero(a, sizeof *t);
    *out = NULL;
    if (t == NULL) {
        return mem_fail(err, sizeof *t, "a table");
    }
    atomic_init(&t->refs, 1);
    t->ctx = ctx;
    t->n_blocks = n_blocks;
    t->blocks = mem_alloc_zero(a, n_blocks * sizeof *t->blocks);
    t->block_begin = mem_alloc_zero(a, (n_blocks + 1) * sizeof *t->block_begin);
    if (t->blocks == NULL || t->block_begin == NULL) {
        st = mem_fail(err, n_blocks * sizeof *t->blocks, "blocks");
        goto out;
    }
    GREBE_TRY(schema_copy(a, schema, &t->schema, err));
    t->alike = mem_alloc_zero(a, n * sizeof *t->alike);
    if (t->alike == NULL) {
        st = mem_fail(err, n * sizeof *t->alike, "columns");
        goto out;
    }
    for (size_t i = 0; i < n_blocks; i++) {
        t->blocks[i].sources = mem_alloc_zero(a, n * sizeof *t->blocks[i].sources);
        if (t->blocks[i].sources == NULL) {
            st = mem_fail(err, n * sizeof *t->blocks[i].sources, "columns of a block");
            goto out;
        }
    }
    *out = t;
    t = NULL;
out:
    dataset_table_drop(t);
    return st;
}

static bool is_placed_alike(const struct dataset_table *t, int64_t x, int64_t y)
{
    for (size_t i = 0; i < t->n_blocks; i++) {
        const struct table_source *p = &t->blocks[i].sources[x], *q = &t->blocks[i].sources[y];
        if (p->part != q->part || p->first_row != q->first_row) {
            return false;
        }
    }
    return true;
}

/* Columns mostly lie as the one before, or as the first. */
static void find_alike(struct dataset_table *t)
{
    for (int64_t c = 0; c < t->schema.n_children; c++) {
        t->alike[c] = (int32_t)c;
        if (c > 0 && is_placed_alike(t, c, t->alike[c - 1])) {
            t->alike[c] = t->alike[c - 1];
        } else if (c > 0 && is_placed_alike(t, c, 0)) {
            t->alike[c] = 0;
        }
    }
}

grebe_status table_seal(struct dataset_table *t, grebe_error *err)
{
    for (size_t i = 0; i < t->n_blocks; i++) {
        if (!checked_add_i64(t->block_begin[i], t->blocks[i].n_rows, &t->block_begin[i + 1])) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "more rows than can be counted");
        }
    }
    find_alike(t);
    return GREBE_OK;
}

size_t table_block_of(const struct dataset_table *t, int64_t row)
{
    size_t low = 0, high = t->n_blocks - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row >= t->block_begin[middle + 1]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- from files and memory ---- */

/* A block of all rows of a part, column by column. */
static void block_of_part(struct table_block *b, struct table_part *p, size_t n_columns)
{
    b->n_rows = part_rows(p);
    for (size_t c = 0; c < n_columns; c++) {
        b->sources[c] = (struct table_source){ part_keep(p), 0, (int32_t)c, 0, { 0 } };
    }
}

static grebe_status check_types(const struct ArrowSchema *first, const struct rows_file *file, grebe_error *err)
{
    const struct ArrowSchema *s = &file->schema;
    if (s->n_children != first->n_children) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: %lld columns, the first file has %lld", file->path,
                          (long long)s->n_children, (long long)first->n_children);
    }
    for (int64_t i = 0; i < s->n_children; i++) {
        if (!schema_equal(s->children[i], first->children[i],
                          SCHEMA_EQUAL_IGNORE_NULLABLE | SCHEMA_EQUAL_IGNORE_METADATA |
                              SCHEMA_EQUAL_IGNORE_CHILD_NAMES)) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: column %lld \"%.64s\" is not as in the first file (\"%.64s\")",
                              file->path, (long long)i, s->children[i]->name, first->children[i]->name);
        }
    }
    return GREBE_OK;
}

grebe_status dataset_table_of_files(grebe_context *ctx, const char *const *paths, size_t n, bool in_memory,
                                    struct dataset_table **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct dataset_table *t = NULL;
    struct rows_file *file = NULL;
    *out = NULL;
    if (n == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "a table of no files");
    }
    for (size_t i = 0; i < n; i++) {
        struct table_part *p = NULL;
        GREBE_TRY(rows_file_open(ctx, paths[i], in_memory, &file, err));
        if (i == 0) {
            GREBE_TRY(dataset_table_make(ctx, &file->schema, n, &t, err));
        }
        GREBE_TRY(check_types(&t->schema, file, err));
        GREBE_TRY(part_of_file(ctx, file, &p, err));
        file = NULL;
        block_of_part(&t->blocks[i], p, (size_t)t->schema.n_children);
        part_drop(p);
    }
    GREBE_TRY(table_seal(t, err));
    *out = t;
    t = NULL;
out:
    rows_file_drop(file);
    dataset_table_drop(t);
    return st;
}

grebe_status dataset_table_of_batches(grebe_context *ctx, const struct ArrowSchema *schema, struct ArrowArray *batches,
                                      size_t n, struct dataset_table **out, grebe_error *err)
{
    struct table_part *p = NULL;
    struct dataset_table *t = NULL;
    *out = NULL;
    grebe_status st = dataset_table_make(ctx, schema, 1, &t, err);
    if (st == GREBE_OK) {
        st = part_of_batches(ctx, schema, batches, n, &p, err);
    }
    if (st == GREBE_OK) {
        block_of_part(&t->blocks[0], p, (size_t)schema->n_children);
        st = table_seal(t, err);
    }
    part_drop(p);
    if (st != GREBE_OK) {
        dataset_table_drop(t);
        return st;
    }
    *out = t;
    return GREBE_OK;
}

/* ---- tables of tables ---- */

grebe_status dataset_table_slice(const struct dataset_table *t, int64_t begin, int64_t end, struct dataset_table **out,
                                 grebe_error *err)
{
    size_t n = (size_t)t->schema.n_children;
    size_t first = begin < end ? table_block_of(t, begin) : 0;
    size_t last = begin < end ? table_block_of(t, end - 1) : 0;
    size_t n_blocks = begin < end ? last - first + 1 : 0;
    grebe_status st = dataset_table_make(t->ctx, &t->schema, n_blocks, out, err);
    for (size_t i = 0; i < n_blocks && st == GREBE_OK; i++) {
        const struct table_block *src = &t->blocks[first + i];
        int64_t skip = max_i64(begin - t->block_begin[first + i], 0);
        struct table_block *b = &(*out)->blocks[i];
        b->n_rows = min_i64(end, t->block_begin[first + i + 1]) - t->block_begin[first + i] - skip;
        for (size_t c = 0; c < n; c++) {
            source_copy(&b->sources[c], &src->sources[c]);
            b->sources[c].first_row += skip;
        }
    }
    return st == GREBE_OK ? table_seal(*out, err) : st;
}

grebe_status dataset_table_flatten(const struct dataset_table *t, const int *columns, const int *steps,
                                   const struct ArrowSchema *schema, struct dataset_table **out, grebe_error *err)
{
    size_t n = (size_t)schema->n_children;
    grebe_status st = dataset_table_make(t->ctx, schema, t->n_blocks, out, err);
    for (size_t i = 0; i < t->n_blocks && st == GREBE_OK; i++) {
        struct table_block *b = &(*out)->blocks[i];
        b->n_rows = t->blocks[i].n_rows;
        for (size_t c = 0; c < n && st == GREBE_OK; c++) {
            if (columns[c] < 0) {
                continue;
            }
            struct table_source *s = &b->sources[c];
            source_copy(s, &t->blocks[i].sources[columns[c]]);
            if (steps != NULL && steps[c] >= 0 && s->part != NULL) {
                if (s->n_steps == SOURCE_STEPS_MAX || steps[c] > INT16_MAX) {
                    st = GREBE_FAIL(err, GREBE_ELIMIT, "column \"%.64s\": structs nested too deep, or too wide",
                                    schema->children[c]->name);
                    break;
                }
                s->steps[s->n_steps++] = (int16_t)steps[c];
            }
        }
    }
    if (st == GREBE_OK) {
        st = table_seal(*out, err);
    }
    if (st != GREBE_OK) {
        dataset_table_drop(*out);
        *out = NULL;
    }
    return st;
}

grebe_status dataset_table_project(const struct dataset_table *t, const int *columns, const struct ArrowSchema *schema,
                                   struct dataset_table **out, grebe_error *err)
{
    return dataset_table_flatten(t, columns, NULL, schema, out, err);
}

grebe_status dataset_table_stack(grebe_context *ctx, const struct dataset_table *const *tables, size_t n,
                                 const struct ArrowSchema *schema, struct dataset_table **out, grebe_error *err)
{
    size_t n_columns = (size_t)schema->n_children, n_blocks = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        n_blocks += tables[i]->n_blocks;
    }
    grebe_status st = dataset_table_make(ctx, schema, n_blocks, out, err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        for (size_t k = 0; k < tables[i]->n_blocks; k++, at++) {
            struct table_block *b = &(*out)->blocks[at];
            b->n_rows = tables[i]->blocks[k].n_rows;
            for (size_t c = 0; c < n_columns; c++) {
                source_copy(&b->sources[c], &tables[i]->blocks[k].sources[c]);
            }
        }
    }
    if (st == GREBE_OK) {
        st = table_seal(*out, err);
        if (st != GREBE_OK) {
            dataset_table_drop(*out);
            *out = NULL;
        }
    }
    return st;
}

/* Where the blocks of all tables have to be cut: their ends together, ascending, each once. */
static grebe_status join_cuts(const grebe_allocator *a, const struct dataset_table *const *tables, size_t n,
                              struct buf *cuts, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t at = 0, total = dataset_table_num_rows(tables[0]);
    size_t *block = mem_alloc_zero(a, n * sizeof *block);
    if (block == NULL) {
        return mem_fail(err, n * sizeof *block, "blocks");
    }
    while (at < total && st == GREBE_OK) {
        int64_t next = total;
        for (size_t i = 0; i < n; i++) {
            while (tables[i]->block_begin[block[i] + 1] <= at) {
                block[i]++;
            }
            next = min_i64(next, tables[i]->block_begin[block[i] + 1]);
        }
        st = buf_put(cuts, &next, sizeof next, err);
        at = next;
    }
    mem_free(a, block, n * sizeof *block);
    return st;
}

grebe_status dataset_table_join(grebe_context *ctx, const struct dataset_table *const *tables, size_t n,
                                const struct ArrowSchema *schema, struct dataset_table **out, grebe_error *err)
{
    struct buf cuts = BUF_INIT(ctx->a);
    *out = NULL;
    grebe_status st = join_cuts(ctx->a, tables, n, &cuts, err);
    size_t n_blocks = cuts.len / sizeof(int64_t);
    if (st == GREBE_OK) {
        st = dataset_table_make(ctx, schema, n_blocks, out, err);
    }
    int64_t begin = 0;
    for (size_t i = 0; i < n_blocks && st == GREBE_OK; i++) {
        struct table_block *b = &(*out)->blocks[i];
        int64_t end = 0;
        memcpy(&end, cuts.data + i * sizeof end, sizeof end);
        size_t column = 0;
        b->n_rows = end - begin;
        for (size_t k = 0; k < n; k++) {
            size_t block = table_block_of(tables[k], begin);
            for (int64_t c = 0; c < tables[k]->schema.n_children; c++, column++) {
                source_copy(&b->sources[column], &tables[k]->blocks[block].sources[c]);
                b->sources[column].first_row += begin - tables[k]->block_begin[block];
            }
        }
        begin = end;
    }
    if (st == GREBE_OK) {
        st = table_seal(*out, err);
    }
    buf_release(&cuts);
    if (st != GREBE_OK) {
        dataset_table_drop(*out);
        *out = NULL;
    }
    return st;
}

/* ---- what is below ---- */

int64_t dataset_table_batch_end(const struct dataset_table *t, int64_t row)
{
    size_t i = table_block_of(t, row);
    const struct table_block *b = &t->blocks[i];
    int64_t end = t->block_begin[i + 1];
    const struct table_source *s = NULL;
    for (int64_t c = 0; c < t->schema.n_children && s == NULL; c++) {
        s = b->sources[c].part != NULL ? &b->sources[c] : NULL;
    }
    if (s == NULL) {
        return end;
    }
    int64_t local = row - t->block_begin[i] + s->first_row;
    int64_t batch_end = s->part->batch_begin[part_batch_of(s->part, local) + 1];
    return min_i64(end, row + (batch_end - local));
}

grebe_status dataset_table_each_file(const struct dataset_table *t,
                                     grebe_status (*fn)(void *arg, const char *path, grebe_error *err), void *arg,
                                     grebe_error *err)
{
    size_t n = (size_t)t->schema.n_children;
    const struct table_part *before = NULL;
    grebe_status st = GREBE_OK;
    /* parts are told once where blocks follow each other; who collects them leaves out what it has */
    for (size_t i = 0; i < t->n_blocks && st == GREBE_OK; i++) {
        for (size_t c = 0; c < n && st == GREBE_OK; c++) {
            const struct table_part *p = t->blocks[i].sources[c].part;
            if (p != NULL && p != before && p->file != NULL) {
                st = fn(arg, p->file->path, err);
            }
            before = p;
        }
    }
    return st;
}
