/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder_csv.h"

#include <string.h>

struct csv_builder {
    struct builder_base base;
    struct arena arena;
    struct csv_options options;
};

struct csv_rows {
    struct csv_builder *b;
    struct csv_file file;
};

static grebe_status csv_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct csv_rows *r = self;
    struct ArrowSchema type = { 0 };
    struct ArrowArray rows = { 0 };
    const int64_t first = r->file.row;
    grebe_status st = csv_file_chunk(&r->file, err);
    st = st == GREBE_OK ? csv_file_rows(&r->file, NULL, &type, &rows, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    return builder_emit(&r->b->base, r->file.reader.name, &type, &rows, r->b->base.is_given, first, schema, out, err);
}

static struct shard_place csv_place(void *self)
{
    const struct csv_rows *r = self;
    return r->file.is_plain ? (struct shard_place){ r->file.row, r->file.reader.at } : (struct shard_place){ 0, 0 };
}

static int64_t csv_next_row(void *self) { return ((struct csv_rows *)self)->file.row; }

static void csv_rows_free(void *self)
{
    struct csv_rows *r = self;
    const grebe_allocator *a = r->b->base.b.ctx->a;
    csv_file_release(&r->file);
    mem_free(a, r, sizeof *r);
}

static const struct shard_reader_ops csv_rows_ops = { csv_next, csv_place, csv_next_row, csv_rows_free, NULL };

static grebe_status open_unit(struct builder_base *base, struct region *bytes, const char *name, struct shard_place place,
                              struct shard_reader *out, grebe_error *err)
{
    struct csv_builder *b = (struct csv_builder *)base;
    struct csv_rows *r = mem_alloc_zero(base->b.ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, name);
    }
    r->b = b;
    grebe_status st = csv_file_open(base, &b->options, bytes, name, place, &r->file, err);
    if (st != GREBE_OK) {
        csv_rows_free(r);
        return st;
    }
    *out = (struct shard_reader){ &csv_rows_ops, r };
    return GREBE_OK;
}

/* ---- types ---- */

/* Columns found, and which of them had no value yet: their type is a guess. */
struct found {
    struct ArrowSchema schema;
    struct buf is_guess; /* bool each */
};

static bool has_guess(const struct found *f)
{
    return f->is_guess.len > 0 && memchr(f->is_guess.data, 1, f->is_guess.len) != NULL;
}

/* A column without values so far takes the type of those that come: numbers as floats, which nulls made of it. */
static grebe_status settle_guess(struct found *f, const struct ArrowSchema *more, const enum csv_type *types,
                                 grebe_error *err)
{
    const grebe_allocator *a = f->is_guess.a;
    grebe_status st = GREBE_OK;
    for (int64_t i = 0; i < more->n_children && st == GREBE_OK; i++) {
        for (int64_t k = 0; k < f->schema.n_children && st == GREBE_OK; k++) {
            bool *guess = (bool *)f->is_guess.data + k;
            if (!*guess || strcmp(f->schema.children[k]->name, more->children[i]->name) != 0 || types[i] == CSV_ALL_NA) {
                continue;
            }
            *guess = false;
            if (types[i] == CSV_TEXT || types[i] == CSV_BOOL) {
                struct ArrowSchema typed = { 0 };
                st = schema_new(a, csv_type_format(types[i]), more->children[i]->name, true, 0, &typed, err);
                if (st == GREBE_OK) {
                    schema_release(f->schema.children[k]);
                    schema_move(f->schema.children[k], &typed);
                }
            }
        }
    }
    return st;
}

static grebe_status see_rows(struct csv_file *file, struct found *f, grebe_error *err)
{
    const grebe_allocator *a = f->is_guess.a;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray rows = { 0 };
    const size_t bytes = (file->n + 1) * sizeof(enum csv_type);
    enum csv_type *types = mem_alloc_zero(a, bytes);
    grebe_status st = types != NULL ? csv_file_rows(file, types, &schema, &rows, err) : mem_fail(err, bytes, "types");
    if (st == GREBE_OK && f->schema.release == NULL) {
        schema_move(&f->schema, &schema);
        for (size_t i = 0; i < file->n && st == GREBE_OK; i++) {
            bool is_guess = types[i] == CSV_ALL_NA;
            st = buf_put(&f->is_guess, &is_guess, sizeof is_guess, err);
        }
    } else if (st == GREBE_OK) {
        st = settle_guess(f, &schema, types, err);
    }
    schema_release(&schema);
    array_release(&rows);
    mem_free(a, types, types != NULL ? bytes : 0);
    return st;
}

static grebe_status see_unit(struct csv_builder *b, struct region *bytes, const char *name, struct found *f,
                             struct ArrowSchema *empty, grebe_error *err)
{
    struct csv_file file;
    grebe_status st = csv_file_open(&b->base, &b->options, bytes, name, (struct shard_place){ 0 }, &file, err);
    if (st == GREBE_OK && empty->release == NULL) { /* should no file have a row */
        st = schema_new(b->base.b.ctx->a, "+s", "", false, (int64_t)file.n, empty, err);
        for (size_t i = 0; i < file.n && st == GREBE_OK; i++) {
            st = schema_new(b->base.b.ctx->a, "n", file.columns[i].name, true, 0, empty->children[i], err);
        }
    }
    while (st == GREBE_OK && (f->schema.release == NULL || has_guess(f))) {
        st = csv_file_chunk(&file, err);
        st = st == GREBE_OK ? see_rows(&file, f, err) : st;
    }
    csv_file_release(&file);
    return st == GREBE_END ? GREBE_OK : st;
}

static grebe_status see_file(struct csv_builder *b, const char *path, struct found *f, struct ArrowSchema *empty,
                             grebe_error *err)
{
    struct builder_units units;
    grebe_status st = builder_units_open(&b->base, path, &units, err);
    for (size_t i = 0; st == GREBE_OK && i < units.n; i++) {
        struct region *bytes = NULL;
        const char *name = NULL;
        st = builder_units_get(&units, i, &bytes, &name, err);
        st = st == GREBE_OK ? see_unit(b, bytes, name, f, empty, err) : st;
        region_drop(bytes);
    }
    builder_units_close(&units);
    return st;
}

static grebe_status csv_infer(struct builder *base, grebe_error *err)
{
    struct csv_builder *b = (struct csv_builder *)base;
    struct found f = { .is_guess = BUF_INIT(base->ctx->a) };
    struct ArrowSchema empty = { 0 };
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < builder_n_files(&b->base) && (f.schema.release == NULL || has_guess(&f)); i++) {
        bool is_first = f.schema.release == NULL;
        st = see_file(b, builder_file(&b->base, i), &f, &empty, err);
        if (st != GREBE_OK && st != GREBE_ENOMEM && !is_first) { /* whoever reads this file will say so */
            st = GREBE_OK;
            break;
        }
        GREBE_TRY(st);
    }
    if (f.schema.release == NULL && empty.release == NULL) {
        GREBE_TRY(schema_new(base->ctx->a, "+s", "", false, 0, &empty, err));
    }
    st = builder_set_schema(&b->base, f.schema.release != NULL ? &f.schema : &empty, false, err);
out:
    schema_release(&f.schema);
    schema_release(&empty);
    buf_release(&f.is_guess);
    return st;
}

/* ---- the builder ---- */

static void csv_free(struct builder *base)
{
    struct csv_builder *b = (struct csv_builder *)base;
    arena_release(&b->arena);
    builder_base_free(base);
}

static const struct builder_ops csv_ops = { csv_infer, builder_one_part, builder_read_units, csv_free, open_unit };

static grebe_status csv_set_up(struct builder *base, grebe_error *err)
{
    struct csv_builder *b = (struct csv_builder *)base;
    b->arena = ARENA_INIT(base->ctx->a);
    return csv_read_options(&b->base, &b->arena, &b->options, err);
}

static const char *const csv_extensions[] = { ".csv", ".tsv", NULL };
static const char *const csv_option_names[] = {
    "sep", "delimiter", "header", "names", "column_names", "index_col", "usecols", "prefix", "mangle_dupe_cols", "engine",
    "converters", "true_values", "false_values", "skipinitialspace", "skiprows", "nrows", "na_values", "keep_default_na",
    "na_filter", "verbose", "skip_blank_lines", "thousands", "decimal", "lineterminator", "quotechar", "quoting", "escapechar",
    "comment", "encoding", "dialect", "error_bad_lines", "warn_bad_lines", "skipfooter", "doublequote", "memory_map",
    "float_precision", "chunksize", "features", "encoding_errors", "on_bad_lines", "date_format", "low_memory", NULL
};

const struct builder_kind builder_csv = { .name = "csv",
                                          .extensions = csv_extensions,
                                          .options = csv_option_names,
                                          .size = sizeof(struct csv_builder),
                                          .ops = &csv_ops,
                                          .set_up = csv_set_up };
