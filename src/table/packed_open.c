/* SPDX-License-Identifier: Apache-2.0 */
#include "table/packed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/number.h"
#include "table/table_of_files.h"

/*
 * The files become the groups of a manifest in memory. Columns are stored "under" their numbers:
 * that is what groups and files are matched by (table_internal.h, is_packed), names are only shown.
 */

struct packed_field {
    int64_t id;
    size_t group; /* SIZE_MAX: in no file */
    struct ArrowSchema field;
    bool is_wanted;
};

struct packed_group {
    size_t field_begin, field_end; /* of fields: those of its files */
    struct manifest_file *files;
    size_t n_files;
    int64_t n_rows;
};

struct packed {
    grebe_context *ctx;
    struct table_store *store;
    struct manifest m;
    struct packed_field *fields; /* in the manifest's arena, shape [n_fields] */
    size_t n_fields, fields_capacity;
    struct packed_group *groups; /* shape [n_groups]; as many as paths at most */
    size_t n_groups, n_paths;
    const struct file_format *format;
};

/* ---- numbers ---- */

bool packed_field_id(const struct ArrowSchema *field, int64_t *out)
{
    struct key_value id;
    return schema_metadata_find(field, PACKED_FIELD_ID, &id) &&
           number_parse_i64(id.value, id.value_len, out) && *out >= 0;
}

static struct packed_field *find_field(const struct packed *p, int64_t id)
{
    for (size_t i = 0; i < p->n_fields; i++) {
        if (p->fields[i].id == id) {
            return &p->fields[i];
        }
    }
    return NULL;
}

static grebe_status add_field(struct packed *p, int64_t id, size_t group,
                              const struct ArrowSchema *type, grebe_error *err)
{
    if (p->n_fields == p->fields_capacity) {
        size_t capacity = p->fields_capacity == 0 ? 16 : p->fields_capacity * 2;
        struct packed_field *grown = arena_array(&p->m.arena, capacity, sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, capacity * sizeof *grown, "fields");
        }
        if (p->n_fields > 0) {
            memcpy(grown, p->fields, p->n_fields * sizeof *grown);
        }
        p->fields = grown;
        p->fields_capacity = capacity;
    }
    struct packed_field *f = &p->fields[p->n_fields];
    *f = (struct packed_field){ .id = id, .group = group };
    grebe_status st = type != NULL ? schema_copy(p->ctx->a, type, &f->field, err)
                                   : schema_new(p->ctx->a, "n", "", true, 0, &f->field, err);
    p->n_fields += st == GREBE_OK;
    return st;
}

/* ---- files ---- */

static int compare_ids(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* Whether the list of one group, "100,102", says exactly these numbers. */
static bool is_id_list(const char *text, size_t len, const int64_t *sorted, int64_t *scratch,
                       size_t n)
{
    size_t n_found = 0;
    for (size_t i = 0; i <= len;) {
        const char *comma = memchr(text + i, ',', len - i);
        size_t m = comma == NULL ? len - i : (size_t)(comma - (text + i));
        if (n_found == n || !number_parse_i64(text + i, m, &scratch[n_found++])) {
            return false;
        }
        i += m + 1;
    }
    if (n_found != n) {
        return false;
    }
    qsort(scratch, n, sizeof *scratch, compare_ids);
    return memcmp(scratch, sorted, n * sizeof *scratch) == 0;
}

/* One of the groups that the file lists, "100,102;101", is the file's own fields. */
static grebe_status check_group_list(struct format_reader *r, const char *value, size_t len,
                                     grebe_error *err)
{
    const grebe_allocator *a = r->ctx->a;
    size_t n = (size_t)r->schema.n_children;
    int64_t *ids = mem_alloc(a, 2 * n * sizeof *ids); /* the file's, then one group's */
    bool has_ids = true, is_found = false;
    if (ids == NULL) {
        return mem_fail(err, 2 * n * sizeof *ids, "numbers of fields");
    }
    for (size_t i = 0; i < n && has_ids; i++) {
        has_ids = packed_field_id(r->schema.children[i], &ids[i]);
    }
    if (has_ids) {
        qsort(ids, n, sizeof *ids, compare_ids);
    }
    for (size_t at = 0; at <= len && has_ids && !is_found;) {
        const char *end = memchr(value + at, ';', len - at);
        size_t m = end == NULL ? len - at : (size_t)(end - (value + at));
        is_found = is_id_list(value + at, m, ids, ids + n, n);
        at += m + 1;
    }
    mem_free(a, ids, 2 * n * sizeof *ids);
    char quoted[160];
    return is_found ? GREBE_OK
                    : GREBE_FAIL(err, GREBE_ECORRUPT,
                                 "group_field_id_list: expected a group with the fields of the "
                                 "file, found \"%s\"",
                                 error_quote(quoted, sizeof quoted, value, len));
}

/* The keys that make a Parquet file a packed one, and that its fields are one of the groups. */
static grebe_status check_keys(struct format_reader *r, grebe_error *err)
{
    static const char *const keys[] = { "group_field_id_list", "row_group_metadata",
                                        "storage_version" };
    const char *value = NULL;
    size_t len = 0;
    uint64_t unused = 0;
    for (size_t i = 3; i-- > 0;) { /* the list last: its value is looked at below */
        if (!r->ops->find_metadata(r, keys[i], &value, &len)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "no packed file: expected the key %s", keys[i]);
        }
    }
    grebe_status st = r->ops->memory_bytes(r, NULL, 0, SIZE_MAX, &unused, err);
    return st == GREBE_OK ? check_group_list(r, value, len, err) : st;
}

/* The group whose fields these are; a new one when none of them is known. */
static grebe_status group_of(struct packed *p, const struct ArrowSchema *schema, size_t *out,
                             grebe_error *err)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        int64_t id = 0;
        const struct ArrowSchema *field = schema->children[i];
        if (!packed_field_id(field, &id)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "field \"%.64s\": expected a number in %s",
                              field->name, PACKED_FIELD_ID);
        }
        const struct packed_field *known = find_field(p, id);
        if (i == 0) {
            *out = known == NULL ? p->n_groups : known->group;
        }
        bool is_new = *out == p->n_groups;
        if (known == NULL && is_new) {
            grebe_status st = add_field(p, id, *out, field, err);
            if (st != GREBE_OK) {
                return st;
            }
        } else if (known == NULL || known->group != *out || is_new) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "field %" PRId64 " is in two groups", id);
        } else if (!schema_equal(&known->field, field, SCHEMA_EQUAL_IGNORE_NULLABLE |
                                                           SCHEMA_EQUAL_IGNORE_METADATA)) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "field %" PRId64 " has another type in another file",
                              id);
        }
    }
    return GREBE_OK;
}

static grebe_status add_file(struct packed *p, const char *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct file_hints hints = { 0, 0, false };
    struct format_reader *r = NULL;
    size_t g = 0;
    size_t field_begin = p->n_fields;
    GREBE_TRY(p->format->open(p->store->store, path, &hints, &r, err));
    GREBE_TRY(check_keys(r, err));
    if (r->schema.n_children == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected fields, found none");
        goto out;
    }
    GREBE_TRY(group_of(p, &r->schema, &g, err));
    struct packed_group *group = &p->groups[g];
    if (g == p->n_groups) {
        *group = (struct packed_group){ .field_begin = field_begin, .field_end = p->n_fields };
        group->files = arena_array(&p->m.arena, p->n_paths, sizeof *group->files);
        if (group->files == NULL) {
            st = mem_fail(err, p->n_paths * sizeof *group->files, "files");
            goto out;
        }
        p->n_groups++;
    } else if (r->schema.n_children != (int64_t)(group->field_end - group->field_begin)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected the %zu fields of another file of the group, "
                        "found %" PRId64, group->field_end - group->field_begin, r->schema.n_children);
        goto out;
    }
    if (r->n_rows > 0) {
        struct manifest_file *file = &group->files[group->n_files++];
        GREBE_TRY(table_file_stored_path(&p->m.arena, path, &file->path, err));
        file->blob = (manifest_text){ "", 0 };
        file->row_end = r->n_rows;
        if (!checked_add_i64(group->n_rows, r->n_rows, &group->n_rows)) {
            st = GREBE_FAIL(err, GREBE_ELIMIT, "more than 2^63 rows with the files before");
        }
    }
out:
    if (r != NULL) {
        r->ops->close(r);
    }
    return error_wrap(err, st, "%.300s", path);
}

/* ---- what is shown ---- */

/* The order in which fields are shown: numbers into p->fields. */
static grebe_status choose_fields(struct packed *p, const grebe_packed_options *o, size_t **out,
                                  size_t *n_out, grebe_error *err)
{
    size_t n = o->schema != NULL ? (size_t)o->schema->n_children
                                 : o->field_ids != NULL ? o->n_field_ids : p->n_fields;
    size_t *shown = arena_array(&p->m.arena, n, sizeof *shown);
    if (shown == NULL) {
        return mem_fail(err, n * sizeof *shown, "fields");
    }
    for (size_t i = 0; i < n; i++) {
        int64_t id = o->schema == NULL && o->field_ids == NULL ? p->fields[i].id : 0;
        const struct ArrowSchema *type = o->schema != NULL ? o->schema->children[i] : NULL;
        if (o->schema == NULL && o->field_ids != NULL) {
            id = o->field_ids[i];
        }
        if (type != NULL && !packed_field_id(type, &id)) {
            return GREBE_FAIL(err, GREBE_EINVAL, "field \"%.64s\": expected a number in %s",
                              type->name, PACKED_FIELD_ID);
        }
        struct packed_field *f = find_field(p, id);
        if (f == NULL) {
            grebe_status st = add_field(p, id, SIZE_MAX, type, err);
            if (st != GREBE_OK) {
                return st;
            }
            f = &p->fields[p->n_fields - 1];
            f->field.flags |= ARROW_FLAG_NULLABLE;
        } else if (type != NULL) {
            schema_release(&f->field);
            grebe_status st = schema_copy(p->ctx->a, type, &f->field, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        if (f->is_wanted) {
            return GREBE_FAIL(err, GREBE_EINVAL, "field %" PRId64 " is asked for twice", id);
        }
        f->is_wanted = true;
        shown[i] = (size_t)(f - p->fields);
    }
    *out = shown;
    *n_out = n;
    return GREBE_OK;
}

static grebe_status number_text(struct packed *p, int64_t id, manifest_text *out, grebe_error *err)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRId64, id);
    out->len = (size_t)n;
    out->data = arena_str(&p->m.arena, text, out->len);
    return out->data == NULL ? mem_fail(err, out->len, "a number") : GREBE_OK;
}

/* The schema entry of the manifest in memory: names as shown, stored under the numbers. */
static grebe_status store_schema(struct packed *p, const size_t *shown, size_t n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct columns c = { 0 };
    struct name_index names = { 0 };
    struct buf json = BUF_INIT(p->ctx->a);
    manifest_text text;
    struct manifest_stat *stat = arena_array(&p->m.arena, 1, sizeof *stat);
    struct avro_pair *pair = arena_array(&p->m.arena, 1, sizeof *pair);
    c.items = arena_array(&p->m.arena, n, sizeof *c.items);
    if (stat == NULL || pair == NULL || c.items == NULL) {
        return mem_fail(err, n * sizeof *c.items, "columns");
    }
    GREBE_TRY(schema_new(p->ctx->a, "+s", "", false, (int64_t)n, &c.schema, err));
    GREBE_TRY(name_index_new(p->ctx->a, n, &names, err));
    for (; c.n < n; c.n++) {
        const struct packed_field *f = &p->fields[shown[c.n]];
        struct ArrowSchema *field = c.schema.children[c.n];
        bool is_there = false;
        GREBE_TRY(number_text(p, f->id, &text, err));
        c.items[c.n].stored = text.data;
        GREBE_TRY(schema_copy_plain(p->ctx->a, &f->field, field, err));
        if (field->name[0] != '\0') {
            GREBE_TRY(name_index_add(&names, field->name, 0, &is_there, err));
        }
        if (field->name[0] == '\0' || is_there) {
            GREBE_TRY(schema_set_name(p->ctx->a, field, text.data, err));
        }
    }
    GREBE_TRY(columns_to_json(&json, &c, err));
    GREBE_TRY(buf_put_byte(&json, '\0', err));
    stat->key = (manifest_text){ STAT_SCHEMA, strlen(STAT_SCHEMA) };
    pair->key = (manifest_text){ "schema", strlen("schema") };
    pair->value.len = json.len - 1;
    pair->value.data = arena_str(&p->m.arena, (const char *)json.data, pair->value.len);
    if (pair->value.data == NULL) {
        st = mem_fail(err, json.len, "a schema");
        goto out;
    }
    stat->metadata = (struct avro_list){ pair, 1 };
    p->m.stats = (struct avro_list){ stat, 1 };
out:
    name_index_release(&names);
    schema_release(&c.schema);
    buf_release(&json);
    return st;
}

/* Groups with a field that is wanted; fields of no file go to the first one, which they have their
 * number of rows from. It is there without fields where none is wanted: rows are still counted. */
static grebe_status build_groups(struct packed *p, grebe_error *err)
{
    struct manifest_group *groups = arena_array(&p->m.arena, p->n_groups, sizeof *groups);
    size_t n = 0;
    if (groups == NULL) {
        return mem_fail(err, p->n_groups * sizeof *groups, "column groups");
    }
    for (size_t g = 0; g < p->n_groups; g++) {
        const struct packed_group *from = &p->groups[g];
        manifest_text *columns = arena_array(&p->m.arena, p->n_fields, sizeof *columns);
        size_t n_columns = 0;
        if (columns == NULL) {
            return mem_fail(err, p->n_fields * sizeof *columns, "columns");
        }
        if (from->n_rows != p->groups[0].n_rows) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "packed files: expected %" PRId64 " rows as the first group has, found %"
                              PRId64, p->groups[0].n_rows, from->n_rows);
        }
        for (size_t i = 0; i < p->n_fields; i++) {
            const struct packed_field *f = &p->fields[i];
            bool is_here = f->group == g || (f->group == SIZE_MAX && g == 0);
            grebe_status st = is_here && f->is_wanted
                                  ? number_text(p, f->id, &columns[n_columns++], err)
                                  : GREBE_OK;
            if (st != GREBE_OK) {
                return st;
            }
        }
        if (n_columns > 0) {
            groups[n++] = (struct manifest_group){
                .columns = { columns, n_columns },
                .files = { from->files, from->n_files },
                .format = { p->format->name, strlen(p->format->name) },
            };
        }
    }
    if (n == 0) {
        groups[n++] = (struct manifest_group){
            .files = { p->groups[0].files, p->groups[0].n_files },
            .format = { p->format->name, strlen(p->format->name) },
        };
    }
    p->m.groups = (struct avro_list){ groups, n };
    return GREBE_OK;
}

grebe_status grebe_packed_open(grebe_context *ctx, const char *const *paths, size_t n_paths,
                               const grebe_packed_options *options, grebe_table **out,
                               grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && paths != NULL && n_paths > 0 && out != NULL);
    grebe_status st = GREBE_OK;
    grebe_packed_options o = GREBE_PACKED_OPTIONS_INIT;
    struct packed p = { .ctx = ctx, .n_paths = n_paths };
    struct snapshot *snapshot = NULL;
    size_t *shown = NULL;
    size_t n_shown = 0;
    *out = NULL;
    manifest_init(&p.m, ctx->a);
    GREBE_TRY(options_copy(&o, sizeof o, options, err));
    if (o.schema != NULL) {
        GREBE_TRY(schema_check(o.schema, err));
    }
    GREBE_TRY(table_store_open(ctx, 0, &p.store, err));
    GREBE_TRY(format_find(ctx, "parquet", &p.format, err));
    p.groups = arena_array(&p.m.arena, n_paths, sizeof *p.groups);
    if (p.groups == NULL) {
        st = mem_fail(err, n_paths * sizeof *p.groups, "column groups");
        goto out;
    }
    for (size_t i = 0; i < n_paths; i++) {
        GREBE_TRY(add_file(&p, paths[i], err));
    }
    GREBE_TRY(choose_fields(&p, &o, &shown, &n_shown, err));
    GREBE_TRY(store_schema(&p, shown, n_shown, err));
    GREBE_TRY(build_groups(&p, err));
    GREBE_TRY(snapshot_new(ctx, ".", 0, &p.m, &snapshot, err));
    GREBE_TRY(table_new(ctx, p.store, paths[0], GREBE_COMPAT_NONE, snapshot, out, err));
    snapshot = NULL;
    (*out)->is_packed = true;
out:
    for (size_t i = 0; i < p.n_fields; i++) {
        schema_release(&p.fields[i].field);
    }
    snapshot_drop(snapshot);
    manifest_release(&p.m);
    table_store_drop(p.store);
    return st;
}
