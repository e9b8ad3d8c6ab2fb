/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_of_files.h"

#include <stdio.h>
#include <string.h>

#include "base/name_index.h"

/* The manifest resolves a relative path below base/_data: one step up leads back to base ".". */
grebe_status table_file_stored_path(struct arena *arena, const char *path, manifest_text *out,
                                    grebe_error *err)
{
    const char *prefix = path[0] == '/' ? "" : "../";
    size_t n = strlen(prefix) + strlen(path);
    char *text = arena_alloc(arena, n + 1);
    if (text == NULL) {
        return mem_fail(err, n + 1, "a path");
    }
    memcpy(text, prefix, strlen(prefix));
    memcpy(text + strlen(prefix), path, strlen(path) + 1);
    *out = (manifest_text){ text, n };
    return GREBE_OK;
}

static grebe_status text_of(struct arena *arena, const char *s, manifest_text *out,
                            grebe_error *err)
{
    char *copy = arena_str(arena, s, strlen(s));
    if (copy == NULL) {
        return mem_fail(err, strlen(s), "a name");
    }
    *out = (manifest_text){ copy, strlen(s) };
    return GREBE_OK;
}

/* Column names of the group; and, because a file without rows does not enter the manifest, the
 * schema itself as a stored one where the first file is such. */
static grebe_status describe(struct manifest *m, struct manifest_group *g,
                             const struct ArrowSchema *schema, bool is_stored, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf json = BUF_INIT(m->arena.a);
    size_t n = (size_t)schema->n_children;
    manifest_text *names = arena_array(&m->arena, n, sizeof *names);
    struct manifest_stat *stat = arena_array(&m->arena, 1, sizeof *stat);
    struct avro_pair *pair = arena_array(&m->arena, 1, sizeof *pair);
    if (names == NULL || stat == NULL || pair == NULL) {
        return mem_fail(err, n * sizeof *names, "column names");
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(text_of(&m->arena, schema->children[i]->name, &names[i], err));
    }
    g->columns = (struct avro_list){ names, n };
    if (is_stored) {
        GREBE_TRY(schema_to_json(&json, schema, err));
        GREBE_TRY(buf_put_byte(&json, '\0', err));
        GREBE_TRY(text_of(&m->arena, STAT_SCHEMA, &stat->key, err));
        GREBE_TRY(text_of(&m->arena, "schema", &pair->key, err));
        GREBE_TRY(text_of(&m->arena, (const char *)json.data, &pair->value, err));
        stat->metadata = (struct avro_list){ pair, 1 };
        m->stats = (struct avro_list){ stat, 1 };
    }
out:
    buf_release(&json);
    return st;
}

/* Columns of a table are known by their names. */
static grebe_status check_names(const grebe_allocator *a, const struct ArrowSchema *schema,
                                const char *path, grebe_error *err)
{
    struct name_index names;
    bool is_there = false;
    grebe_status st = name_index_new(a, (size_t)schema->n_children, &names, err);
    for (int64_t i = 0; i < schema->n_children && st == GREBE_OK; i++) {
        const char *name = schema->children[i]->name;
        st = name_index_add(&names, name, (size_t)i, &is_there, err);
        if (st == GREBE_OK && is_there) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "%s: two columns are named \"%.64s\"", path, name);
        }
    }
    name_index_release(&names);
    return st;
}

/* Its size, and the wish, which travels with the file's entry so that every opener of it follows. */
static grebe_status put_properties(struct arena *arena, struct manifest_file *file, uint64_t size,
                                   bool is_int96_us, grebe_error *err)
{
    char digits[24];
    grebe_status st = GREBE_OK;
    struct avro_pair *pairs = arena_array(arena, 2, sizeof *pairs);
    if (pairs == NULL) {
        return mem_fail(err, 2 * sizeof *pairs, "properties");
    }
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)size);
    GREBE_TRY(text_of(arena, "file_size", &pairs[0].key, err));
    GREBE_TRY(text_of(arena, digits, &pairs[0].value, err));
    GREBE_TRY(text_of(arena, FILE_INT96_US, &pairs[1].key, err)); /* keys ascend */
    GREBE_TRY(text_of(arena, "1", &pairs[1].value, err));
    file->properties = (struct avro_list){ pairs, is_int96_us ? 2 : 1 };
out:
    return st;
}

static grebe_status add_files(struct table_store *store, const char *const *paths, size_t n,
                              const struct file_format *format, bool is_int96_us,
                              struct manifest *m, struct manifest_group *g, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct format_reader *reader = NULL;
    struct ArrowSchema first = { 0 };
    size_t n_files = 0;
    const grebe_allocator *a = m->arena.a;
    struct manifest_file *files = arena_array(&m->arena, n, sizeof *files);
    if (files == NULL) {
        return mem_fail(err, n * sizeof *files, "files");
    }
    for (size_t i = 0; i < n; i++) {
        struct file_hints hints = { 0, 0, is_int96_us };
        GREBE_TRY(format->open(store->store, paths[i], &hints, &reader, err));
        if (i == 0) {
            GREBE_TRY(schema_copy(a, &reader->schema, &first, err));
            GREBE_TRY(check_names(a, &first, paths[0], err));
        } else if (!schema_equal(&first, &reader->schema,
                                 SCHEMA_EQUAL_IGNORE_NULLABLE | SCHEMA_EQUAL_IGNORE_METADATA)) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected the columns of %s", paths[i], paths[0]);
            goto out;
        }
        if (reader->n_rows > 0) {
            GREBE_TRY(table_file_stored_path(&m->arena, paths[i], &files[n_files].path, err));
            GREBE_TRY(put_properties(&m->arena, &files[n_files], reader->file_size_bytes,
                                     is_int96_us, err));
            files[n_files++].row_end = reader->n_rows;
        }
        reader->ops->close(reader);
        reader = NULL;
    }
    g->files = (struct avro_list){ files, n_files };
    st = describe(m, g, &first, n_files == 0, err);
out:
    if (reader != NULL) {
        reader->ops->close(reader);
    }
    schema_release(&first);
    return st;
}

grebe_status table_of_files(struct table_store *store, const char *const *paths, size_t n,
                            const struct file_format *format, bool is_int96_us, grebe_table **out,
                            grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = store->store->ctx;
    struct snapshot *snapshot = NULL;
    struct manifest m;
    *out = NULL;
    manifest_init(&m, ctx->a);
    struct manifest_group *g = arena_array(&m.arena, 1, sizeof *g);
    if (g == NULL) {
        st = mem_fail(err, sizeof *g, "a column group");
        goto out;
    }
    m.groups = (struct avro_list){ g, 1 };
    GREBE_TRY(text_of(&m.arena, format->name, &g->format, err));
    GREBE_TRY(add_files(store, paths, n, format, is_int96_us, &m, g, err));
    GREBE_TRY(snapshot_new(ctx, ".", 0, &m, &snapshot, err));
    GREBE_TRY(table_new(ctx, store, paths[0], GREBE_COMPAT_NONE, snapshot, out, err));
    snapshot = NULL;
out:
    snapshot_drop(snapshot);
    manifest_release(&m);
    return st;
}
