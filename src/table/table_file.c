/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_internal.h"

#include <assert.h>
#include <inttypes.h>

#include "table/packed.h"

/* Types that differ only in these read alike: arrays carry neither. */
enum {
    SAME_TYPE = SCHEMA_EQUAL_IGNORE_NULLABLE | SCHEMA_EQUAL_IGNORE_METADATA |
                SCHEMA_EQUAL_IGNORE_CHILD_NAMES
};

/* A version names a file that is gone, or something that is no file: the table is damaged. */
static grebe_status as_damage(grebe_status st, grebe_error *err)
{
    if (st != GREBE_ENOTFOUND && st != GREBE_EINVAL) {
        return st;
    }
    if (err != NULL) {
        err->status = GREBE_ECORRUPT;
    }
    return error_wrap(err, GREBE_ECORRUPT,
                      st == GREBE_ENOTFOUND ? "data file is missing" : "data file");
}

grebe_status data_reader_open(grebe_context *ctx, struct io_store *store, const char *base,
                              const struct manifest_group *group,
                              const struct manifest_file *file, struct format_reader **out,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct file_format *format = NULL;
    struct buf path = BUF_INIT(ctx->a);
    struct file_hints hints = { manifest_file_size(file, "file_size"),
                                manifest_file_size(file, "footer_size"),
                                manifest_file_size(file, FILE_INT96_US) != 0 };
    *out = NULL;
    GREBE_TRY(format_find(ctx, group->format.data, &format, err));
    GREBE_TRY(manifest_path_resolve(&path, base, FOLDER_DATA, file->path.data, err));
    if (buf_text(&path) == NULL) {
        GREBE_TRY(mem_fail(err, path.len, "a path"));
    }
    if (path_scheme_len(buf_text(&path)) > 0) {
        const char *local = NULL;
        GREBE_TRY(table_uri_path(buf_text(&path), &local, err));
        st = as_damage(format->open(store, local, &hints, out, err), err);
        goto out;
    }
    st = format->open(store, buf_text(&path), &hints, out, err);
    if (st == GREBE_ENOTFOUND) { /* the first days' "_data/…", loon.md 1.8 */
        buf_clear(&path);
        if (manifest_path_old(&path, base, FOLDER_DATA, file->path.data, NULL) == GREBE_OK &&
            path.len > 0 && buf_text(&path) != NULL) {
            grebe_error again = GREBE_ERROR_INIT;
            if (format->open(store, buf_text(&path), &hints, out, &again) == GREBE_OK) {
                st = GREBE_OK;
            }
        }
    }
    st = as_damage(st, err);
out:
    buf_release(&path);
    return st;
}

struct data_file *data_file_keep(struct data_file *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void data_file_drop(struct data_file *f)
{
    if (f == NULL || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (f->reader != NULL) {
        f->reader->ops->close(f->reader);
    }
    mem_free(f->a, f->field_of, f->n_columns * sizeof *f->field_of);
    mem_free(f->a, f->widens, f->n_columns * sizeof *f->widens);
    mem_free(f->a, f, sizeof *f);
}

/* Up to so many fields names are compared one by one. */
enum { FEW_FIELDS = 64 };

grebe_status table_find_field(const grebe_table *t, const struct ArrowSchema *file,
                              const struct name_index *index, const char *stored, int *out,
                              grebe_error *err)
{
    if (!t->is_packed) {
        return index != NULL ? schema_find_indexed(file, index, stored, out, err)
                             : schema_find(file, stored, out, err);
    }
    for (int64_t i = 0; i < file->n_children; i++) {
        struct key_value id;
        if (schema_metadata_find(file->children[i], PACKED_FIELD_ID, &id) &&
            id.value_len == strlen(stored) && memcmp(id.value, stored, id.value_len) == 0) {
            *out = (int)i;
            return GREBE_OK;
        }
    }
    *out = -1;
    return GREBE_ENOTFOUND;
}

/* Find the table's columns of this group in the file and see whether types are the same. */
static grebe_status match_column(const grebe_table *t, struct data_file *f, size_t column,
                                 const struct name_index *index, grebe_error *err)
{
    const struct columns *c = t->columns;
    int32_t at = c->items[column].at;
    int field = 0;
    grebe_status st = table_find_field(t, &f->reader->schema, index, c->items[column].stored, &field,
                                       err);
    if (st == GREBE_ENOTFOUND) {
        return GREBE_OK; /* read as null */
    }
    if (st != GREBE_OK) {
        return st;
    }
    const struct ArrowSchema *found = f->reader->schema.children[field];
    struct ArrowSchema expected = *c->schema.children[column];
    expected.name = found->name; /* a shallow view: a rename is no difference */
    f->field_of[at] = field;
    f->widens[at] = !schema_equal(found, &expected, SAME_TYPE);
    return f->widens[at] ? schema_widens(found, &expected, err) : GREBE_OK;
}

static grebe_status match_columns(const grebe_table *t, struct data_file *f, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct name_index index = { 0 };
    bool is_wide = f->reader->schema.n_children > FEW_FIELDS;
    for (size_t i = 0; i < f->n_columns; i++) {
        f->field_of[i] = -1;
    }
    if (is_wide) {
        st = schema_index(t->ctx->a, &f->reader->schema, &index, err);
    }
    for (size_t i = 0; i < t->columns->n && st == GREBE_OK; i++) {
        if (t->columns->items[i].group == (int32_t)f->group) {
            st = match_column(t, f, i, is_wide ? &index : NULL, err);
        }
    }
    name_index_release(&index);
    return st;
}

static grebe_status file_new(const grebe_table *t, size_t group, size_t file,
                             struct data_file **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct snapshot_group *g = &t->snapshot->groups[group];
    const struct manifest_file *entry = manifest_file_at(g->manifest, file);
    const grebe_allocator *a = t->ctx->a;
    struct data_file *f = mem_alloc_zero(a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, "a data file");
    }
    atomic_init(&f->refs, 1);
    f->a = a;
    f->group = group;
    f->file = file;
    f->row_begin = g->row_begin[file];
    f->file_row_begin = entry->row_begin;
    f->file_row_end = entry->row_end;
    f->n_columns = g->manifest->columns.n;
    f->field_of = mem_alloc_zero(a, f->n_columns * sizeof *f->field_of);
    f->widens = mem_alloc_zero(a, f->n_columns * sizeof *f->widens);
    if (f->field_of == NULL || f->widens == NULL) {
        st = mem_fail(err, f->n_columns * sizeof *f->field_of, "columns of a file");
        goto out;
    }
    GREBE_TRY(data_reader_open(t->ctx, t->store->store, t->snapshot->base, g->manifest, entry,
                               &f->reader, err));
    f->reader->skip_checksums = t->skip_checksums;
    st = match_columns(t, f, err);
    if (st == GREBE_OK && t->snapshot->version > 0 && f->reader->ops->memory_bytes != NULL) {
        uint64_t unused = 0; /* what a file tells of its chunks is a part of the table: it must be true */
        st = f->reader->ops->memory_bytes(f->reader, NULL, 0, SIZE_MAX, &unused, err);
    }
    if (st == GREBE_OK && f->file_row_end > f->reader->n_rows) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT,
                        "expected rows [%" PRId64 ", %" PRId64 "), found a file of %" PRId64
                        " rows", f->file_row_begin, f->file_row_end, f->reader->n_rows);
    }
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s", entry->path.data);
        goto out;
    }
    *out = f;
    f = NULL;
out:
    data_file_drop(f);
    return st;
}

grebe_status table_file_open(const grebe_table *table, size_t group, size_t file,
                             struct data_file **out, grebe_error *err)
{
    grebe_table *t = (grebe_table *)table; /* only its cache is touched, under the flag */
    size_t slot = (group * 31 + file) % TABLE_FILES_KEPT;
    *out = NULL;
    if (!atomic_flag_test_and_set_explicit(&t->files_lock, memory_order_acquire)) {
        struct data_file *known = t->files[slot];
        if (known != NULL && known->group == group && known->file == file) {
            *out = data_file_keep(known);
        }
        atomic_flag_clear_explicit(&t->files_lock, memory_order_release);
    }
    if (*out != NULL) {
        return GREBE_OK;
    }
    grebe_status st = file_new(t, group, file, out, err);
    if (st == GREBE_OK &&
        !atomic_flag_test_and_set_explicit(&t->files_lock, memory_order_acquire)) {
        struct data_file *old = t->files[slot];
        t->files[slot] = data_file_keep(*out);
        atomic_flag_clear_explicit(&t->files_lock, memory_order_release);
        data_file_drop(old);
    }
    return st;
}

/* ---- reading ---- */

static grebe_status finish_column(const grebe_table *t, const struct data_file *f, int column,
                                  struct ArrowArray *from, struct ArrowArray *to, grebe_error *err)
{
    const struct ArrowSchema *type = t->columns->schema.children[column];
    int32_t at = t->columns->items[column].at;
    const struct ArrowSchema *found = f->reader->schema.children[f->field_of[at]];
    if (f->widens[at]) {
        struct ArrowSchema expected = *type;
        expected.name = found->name;
        grebe_status st = array_widen(f->a, found, &expected, from, to, err);
        if (st != GREBE_OK) {
            return st;
        }
    } else {
        array_move(to, from);
    }
    bool was_nullable = (found->flags & ARROW_FLAG_NULLABLE) != 0;
    if (was_nullable && (type->flags & ARROW_FLAG_NULLABLE) == 0 && array_null_count(to) > 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%s: column \"%s\": expected no nulls, found %" PRId64,
                          manifest_file_at(t->snapshot->groups[f->group].manifest, f->file)
                              ->path.data, type->name, array_null_count(to));
    }
    return GREBE_OK;
}

static grebe_status null_column(const grebe_table *t, const struct data_file *f, int column,
                                int64_t length, struct ArrowArray *out, grebe_error *err)
{
    const struct ArrowSchema *type = t->columns->schema.children[column];
    if ((type->flags & ARROW_FLAG_NULLABLE) == 0 && !table_is_milvus(t) && length > 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: column \"%s\": expected it, found none",
                          manifest_file_at(t->snapshot->groups[f->group].manifest, f->file)
                              ->path.data, t->columns->items[column].stored);
    }
    return array_nulls(f->a, type, length, out, err);
}

grebe_status data_file_read(const grebe_table *t, const struct data_file *f, const int *columns,
                            size_t n_columns, const int64_t *rows, int64_t begin, int64_t end,
                            const struct call *call, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray got = { 0 };
    int few[32];
    size_t n_got = 0;
    int64_t length = rows != NULL ? end : end - begin;
    int *fields = n_columns <= 32 ? few : mem_alloc(f->a, n_columns * sizeof *fields);
    struct ArrowArray *made = mem_alloc_zero(f->a, n_columns * sizeof *made);
    out->release = NULL;
    if (fields == NULL || made == NULL) {
        st = mem_fail(err, n_columns * sizeof *made, "columns");
        goto out;
    }
    for (size_t i = 0; i < n_columns; i++) {
        int field = f->field_of[t->columns->items[columns[i]].at];
        if (field >= 0) {
            fields[n_got++] = field;
        }
    }
    if (n_got > 0 && rows != NULL) {
        GREBE_TRY(f->reader->ops->take(f->reader, fields, n_got, rows, length, call, &got, err));
    } else if (n_got > 0) {
        GREBE_TRY(f->reader->ops->read(f->reader, fields, n_got, begin, end, call, &got, err));
    }
    assert(n_got == 0 || (got.n_children == (int64_t)n_got && got.length == length));
    size_t next = 0;
    for (size_t i = 0; i < n_columns; i++) {
        if (f->field_of[t->columns->items[columns[i]].at] >= 0) {
            GREBE_TRY(finish_column(t, f, columns[i], got.children[next++], &made[i], err));
        } else {
            GREBE_TRY(null_column(t, f, columns[i], length, &made[i], err));
        }
    }
    st = array_struct(f->a, length, made, n_columns, out, err);
out:
    for (size_t i = 0; made != NULL && i < n_columns; i++) {
        array_release(&made[i]);
    }
    array_release(&got);
    mem_free(f->a, made, n_columns * sizeof *made);
    if (fields != few) {
        mem_free(f->a, fields, n_columns * sizeof *fields);
    }
    return st;
}
