/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_internal.h"

#include "base/name_index.h"

struct info_result {
    grebe_table_info info; /* first */
    struct arena arena;
};

static const char *copy_text(struct arena *arena, const manifest_text *t)
{
    return arena_str(arena, t->data, t->len);
}

static const char *copy_path(struct arena *arena, const grebe_table *t, enum manifest_folder folder,
                             const char *stored, grebe_error *err)
{
    const char *copy = NULL;
    struct buf path = BUF_INIT(arena->a);
    if (manifest_path_resolve(&path, t->snapshot->base, folder, stored, err) == GREBE_OK &&
        buf_text(&path) != NULL) {
        copy = arena_str(arena, buf_text(&path), path.len);
    }
    buf_release(&path);
    return copy;
}

static bool copy_texts(struct arena *arena, const struct avro_list *list, const char *const **out)
{
    const char **copies = arena_array(arena, list->n, sizeof *copies);
    bool is_ok = copies != NULL;
    for (size_t i = 0; i < list->n && is_ok; i++) {
        copies[i] = copy_text(arena, (const manifest_text *)list->items + i);
        is_ok = copies[i] != NULL;
    }
    *out = copies;
    return is_ok;
}

static bool fill_group(struct arena *arena, const grebe_table *t, size_t g, grebe_group_info *out,
                       grebe_error *err)
{
    const struct snapshot_group *group = &t->snapshot->groups[g];
    grebe_file_info *files = arena_array(arena, group->n_files, sizeof *files);
    out->format = copy_text(arena, &group->manifest->format);
    out->n_columns = group->manifest->columns.n;
    out->n_files = group->n_files;
    out->files = files;
    out->n_rows = group->row_begin[group->n_files];
    if (files == NULL || out->format == NULL ||
        !copy_texts(arena, &group->manifest->columns, &out->columns)) {
        return false;
    }
    for (size_t f = 0; f < group->n_files; f++) {
        const struct manifest_file *file = manifest_file_at(group->manifest, f);
        files[f].path = copy_path(arena, t, FOLDER_DATA, file->path.data, err);
        files[f].row_begin = group->row_begin[f];
        files[f].row_end = group->row_begin[f + 1];
        files[f].file_row_begin = file->row_begin;
        files[f].size_bytes = manifest_file_size(file, "file_size");
        out->size_bytes += files[f].size_bytes;
        if (files[f].path == NULL) {
            return false;
        }
    }
    return true;
}

static bool fill_indexes(struct info_result *r, const grebe_table *t, grebe_error *err)
{
    const struct manifest *m = &t->snapshot->manifest;
    struct arena *arena = &r->arena;
    grebe_index_info *indexes = arena_array(arena, m->indexes.n, sizeof *indexes);
    grebe_delta_info *deltas = arena_array(arena, m->delta_logs.n, sizeof *deltas);
    bool is_ok = indexes != NULL && deltas != NULL;
    for (size_t i = 0; i < m->indexes.n && is_ok; i++) {
        const struct manifest_index *x = manifest_index_at(m, i);
        indexes[i].column_name = copy_text(arena, &x->column_name);
        indexes[i].index_name = copy_text(arena, &x->index_name);
        indexes[i].index_type = copy_text(arena, &x->index_type);
        indexes[i].path = copy_path(arena, t, FOLDER_INDEX, x->path.data, err);
        indexes[i].index_id = x->index_id;
        indexes[i].n_rows = x->n_rows;
        indexes[i].size_bytes = x->serialized_size > 0 ? (uint64_t)x->serialized_size : 0;
        is_ok = indexes[i].column_name != NULL && indexes[i].index_name != NULL &&
                indexes[i].index_type != NULL && indexes[i].path != NULL;
    }
    for (size_t i = 0; i < m->delta_logs.n && is_ok; i++) {
        const struct manifest_delta *d = manifest_delta_at(m, i);
        deltas[i].path = copy_path(arena, t, FOLDER_DELTA, d->path.data, err);
        deltas[i].type = d->type;
        deltas[i].n_entries = d->n_entries;
        is_ok = deltas[i].path != NULL;
    }
    r->info.n_indexes = m->indexes.n;
    r->info.indexes = indexes;
    r->info.n_delta_logs = m->delta_logs.n;
    r->info.delta_logs = deltas;
    return is_ok;
}

static bool fill_stats(struct info_result *r, const grebe_table *t)
{
    const struct manifest *m = &t->snapshot->manifest;
    struct arena *arena = &r->arena;
    grebe_stat_info *stats = arena_array(arena, m->stats.n, sizeof *stats);
    bool is_ok = stats != NULL;
    for (size_t i = 0; i < m->stats.n && is_ok; i++) {
        const struct manifest_stat *s = manifest_stat_at(m, i);
        size_t n = s->metadata.n;
        const char **keys = arena_array(arena, n, sizeof *keys);
        const char **values = arena_array(arena, n, sizeof *values);
        stats[i].key = copy_text(arena, &s->key);
        stats[i].n_paths = s->paths.n;
        stats[i].n_metadata = n;
        stats[i].metadata_keys = keys;
        stats[i].metadata_values = values;
        is_ok = keys != NULL && values != NULL && stats[i].key != NULL &&
                copy_texts(arena, &s->paths, &stats[i].paths);
        for (size_t k = 0; k < n && is_ok; k++) {
            const struct avro_pair *pair = (const struct avro_pair *)s->metadata.items + k;
            keys[k] = copy_text(arena, &pair->key);
            values[k] = copy_text(arena, &pair->value);
            is_ok = keys[k] != NULL && values[k] != NULL;
        }
    }
    r->info.n_stats = m->stats.n;
    r->info.stats = stats;
    return is_ok;
}

/* Bytes of the data files, each counted once however often it is listed. */
static grebe_status sum_files(struct info_result *r, const grebe_table *table, grebe_error *err)
{
    struct name_index seen;
    grebe_status st = name_index_new(table->ctx->a, 0, &seen, err);
    for (size_t g = 0; g < r->info.n_groups; g++) {
        const grebe_group_info *group = &r->info.groups[g];
        for (size_t f = 0; f < group->n_files && st == GREBE_OK; f++) {
            bool is_there = false;
            st = name_index_add(&seen, group->files[f].path, 0, &is_there, err);
            r->info.data_bytes += is_there ? 0 : group->files[f].size_bytes;
        }
    }
    name_index_release(&seen);
    return st;
}

grebe_status grebe_table_info_get(const grebe_table *table, grebe_table_info **out,
                                  grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    const struct snapshot *s = table->snapshot;
    const struct manifest *m = &s->manifest;
    *out = NULL;
    struct info_result *r = mem_alloc_zero(table->ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "table info");
    }
    r->arena = ARENA_INIT(table->ctx->a);
    static const char *const encodings[] = { "avro", "raw-v1", "raw-v2", "raw-v3" };
    r->info.version = s->version;
    r->info.n_rows = s->n_rows;
    r->info.next_row_id = grebe_table_next_row_id(table);
    r->info.has_stored_schema = table->columns->is_stored;
    r->info.encoding = encodings[m->encoding == MANIFEST_RAW ? m->raw_version : 0];
    r->info.manifest_bytes = m->size_bytes;
    r->info.n_groups = m->groups.n;
    grebe_group_info *groups = arena_array(&r->arena, m->groups.n, sizeof *groups);
    bool is_ok = groups != NULL;
    for (size_t g = 0; g < m->groups.n && is_ok; g++) {
        is_ok = fill_group(&r->arena, table, g, &groups[g], err);
    }
    r->info.groups = groups;
    is_ok = is_ok && sum_files(r, table, err) == GREBE_OK;
    is_ok = is_ok && fill_indexes(r, table, err) && fill_stats(r, table);
    if (!is_ok) {
        grebe_table_info_free(&r->info);
        return mem_fail(err, m->size_bytes, "table info");
    }
    *out = &r->info;
    return GREBE_OK;
}

void grebe_table_info_free(grebe_table_info *info)
{
    if (info != NULL) {
        struct info_result *r = (struct info_result *)info;
        const grebe_allocator *a = r->arena.a;
        arena_release(&r->arena);
        mem_free(a, r, sizeof *r);
    }
}
