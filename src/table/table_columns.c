/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_internal.h"

#include <assert.h>
#include <stdlib.h>

/* Metadata of a field in the stored schema: its name in the files, where a rename made the two
 * differ. */
#define STORED_NAME "grebe.stored"

struct place {
    const char *name;
    int32_t group, at;
};

/* Scratch of one building. */
struct builder {
    struct snapshot *snapshot;
    struct io_store *store;
    struct columns *columns;
    struct place *places; /* sorted by name, then by place */
    size_t n_places;
    bool *is_used; /* shape [n_places] */
    struct ArrowSchema *fields; /* shape [n_fields]; become the schema's children */
    size_t n_fields;
};

void columns_free(const grebe_allocator *a, struct columns *c)
{
    if (c != NULL) {
        schema_release(&c->schema);
        arena_release(&c->arena);
        mem_free(a, c, sizeof *c);
    }
}

static int compare_place(const void *x, const void *y)
{
    const struct place *p = x;
    const struct place *q = y;
    int order = strcmp(p->name, q->name);
    if (order != 0) {
        return order;
    }
    return p->group != q->group ? (p->group > q->group) - (p->group < q->group)
                                : (p->at > q->at) - (p->at < q->at);
}

/* The first place of a name: of columns that occur twice the first one counts. */
static struct place *find_place(const struct builder *b, const char *name)
{
    size_t lo = 0;
    size_t hi = b->n_places;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(b->places[mid].name, name) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < b->n_places && strcmp(b->places[lo].name, name) == 0 ? &b->places[lo] : NULL;
}

static grebe_status list_places(struct builder *b, grebe_error *err)
{
    const struct manifest *m = &b->snapshot->manifest;
    struct arena *arena = &b->columns->arena;
    size_t n = 0;
    for (size_t g = 0; g < m->groups.n; g++) {
        n += manifest_group_at(m, g)->columns.n;
    }
    if (n > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%zu columns, at most %d are read", n, INT32_MAX);
    }
    b->places = arena_array(arena, n, sizeof *b->places);
    b->is_used = arena_array(arena, n, sizeof *b->is_used);
    b->fields = arena_array(arena, n, sizeof *b->fields);
    b->columns->items = arena_array(arena, n, sizeof *b->columns->items);
    if (b->places == NULL || b->is_used == NULL || b->fields == NULL || b->columns->items == NULL) {
        return mem_fail(err, n * sizeof *b->places, "columns");
    }
    for (size_t g = 0; g < m->groups.n; g++) {
        const struct manifest_group *group = manifest_group_at(m, g);
        for (size_t c = 0; c < group->columns.n; c++) {
            b->places[b->n_places++] =
                (struct place){ manifest_column_at(group, c), (int32_t)g, (int32_t)c };
        }
    }
    if (n > 1) {
        qsort(b->places, n, sizeof *b->places, compare_place);
    }
    return GREBE_OK;
}

/* Take over a field as the next column. */
static void add_column(struct builder *b, struct place *place, struct ArrowSchema *field)
{
    struct columns *c = b->columns;
    assert(b->n_fields < b->n_places);
    c->items[b->n_fields] = (struct column){ place->name, place->group, place->at };
    schema_move(&b->fields[b->n_fields++], field);
    b->is_used[place - b->places] = true;
}

/* ---- from the stored schema ---- */

/* The field without the metadata key of ours; *stored: name in the files, in the arena. */
static grebe_status split_stored_name(struct builder *b, struct ArrowSchema *field,
                                      const char **stored, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct key_value found;
    const grebe_allocator *a = b->columns->arena.a;
    const char *name = field->name;
    size_t len = strlen(field->name);
    bool is_renamed = schema_metadata_find(field, STORED_NAME, &found);
    if (is_renamed) {
        name = found.value;
        len = found.value_len;
    }
    *stored = arena_str(&b->columns->arena, name, len);
    if (*stored == NULL) {
        return mem_fail(err, len, "a name");
    }
    if (!is_renamed) {
        return GREBE_OK;
    }
    size_t n = schema_metadata_count(field);
    struct key_value *pairs = arena_array(&b->columns->arena, n, sizeof *pairs);
    if (pairs == NULL) {
        return mem_fail(err, n * sizeof *pairs, "metadata");
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct key_value pair = schema_metadata_at(field, i);
        if (pair.key_len != strlen(STORED_NAME) ||
            memcmp(pair.key, STORED_NAME, pair.key_len) != 0) {
            pairs[kept++] = pair;
        }
    }
    st = schema_set_metadata(a, field, pairs, kept, err);
    return st;
}

static grebe_status columns_from_entry(struct builder *b, const manifest_text *json,
                                       grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema schema = { 0 };
    st = schema_from_json(b->columns->arena.a, json->data, json->len, &schema, err);
    if (st == GREBE_EINVAL) { /* nobody's argument: it was read from a manifest */
        st = GREBE_ECORRUPT;
        if (err != NULL) {
            err->status = st;
        }
    }
    if (st != GREBE_OK) {
        goto out;
    }
    for (int64_t i = 0; i < schema.n_children; i++) {
        const char *stored = NULL;
        GREBE_TRY(split_stored_name(b, schema.children[i], &stored, err));
        struct place *place = find_place(b, stored);
        /* A column that a foreign commit dropped is in no group any more. */
        if (place != NULL && !b->is_used[place - b->places]) {
            add_column(b, place, schema.children[i]);
        }
    }
    b->columns->is_stored = true;
out:
    schema_release(&schema);
    return error_wrap(err, st, "entry %s", STAT_SCHEMA);
}

/* ---- from files ---- */

/* Types of the group's columns that this file has and no file before. */
static grebe_status types_of_file(const struct manifest_group *group,
                                  const struct format_reader *reader, const grebe_allocator *a,
                                  struct ArrowSchema *types, size_t *n_missing, grebe_error *err)
{
    struct name_index index;
    grebe_status st = schema_index(a, &reader->schema, &index, err);
    for (size_t c = 0; c < group->columns.n && st == GREBE_OK; c++) {
        const size_t *field = name_index_find(&index, manifest_column_at(group, c));
        if (types[c].release == NULL && field != NULL && *field != SIZE_MAX) {
            st = schema_copy(a, reader->schema.children[*field], &types[c], err);
            *n_missing -= 1;
        }
    }
    name_index_release(&index);
    return st;
}

/* Columns of the group that no schema told of: types from the first file that has them. */
static grebe_status columns_from_files(struct builder *b, size_t g, struct ArrowSchema *types,
                                       size_t n_missing, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct manifest_group *group = manifest_group_at(&b->snapshot->manifest, g);
    for (size_t f = 0; f < group->files.n && n_missing > 0 && st == GREBE_OK; f++) {
        struct format_reader *reader = NULL;
        st = data_reader_open(b->snapshot->ctx, b->store, b->snapshot->base, group,
                              manifest_file_at(group, f), &reader, err);
        if (st == GREBE_OK) {
            st = types_of_file(group, reader, b->columns->arena.a, types, &n_missing, err);
            reader->ops->close(reader);
        }
    }
    return st;
}

static grebe_status add_group_columns(struct builder *b, size_t g, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct manifest_group *group = manifest_group_at(&b->snapshot->manifest, g);
    const grebe_allocator *a = b->columns->arena.a;
    size_t n = group->columns.n;
    size_t n_missing = 0;
    struct ArrowSchema *types = arena_array(&b->columns->arena, n, sizeof *types);
    if (types == NULL) {
        return mem_fail(err, n * sizeof *types, "column types");
    }
    for (size_t c = 0; c < n; c++) {
        struct place *place = find_place(b, manifest_column_at(group, c));
        bool is_here = place->group == (int32_t)g && place->at == (int32_t)c;
        n_missing += is_here && !b->is_used[place - b->places];
    }
    if (n_missing > 0) {
        GREBE_TRY(columns_from_files(b, g, types, n, err));
    }
    for (size_t c = 0; c < n && n_missing > 0; c++) {
        struct place *place = find_place(b, manifest_column_at(group, c));
        if (place->group != (int32_t)g || place->at != (int32_t)c ||
            b->is_used[place - b->places]) {
            continue;
        }
        if (types[c].release == NULL) { /* no file has it: nothing but nulls */
            GREBE_TRY(schema_new(a, "n", place->name, true, 0, &types[c], err));
        }
        add_column(b, place, &types[c]);
    }
out:
    for (size_t c = 0; c < n; c++) {
        schema_release(&types[c]);
    }
    return st;
}

static grebe_status build_schema(struct builder *b, grebe_error *err)
{
    struct columns *c = b->columns;
    const grebe_allocator *a = c->arena.a;
    grebe_status st = schema_new(a, "+s", "", false, (int64_t)b->n_fields, &c->schema, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; i < b->n_fields; i++) {
        schema_move(c->schema.children[i], &b->fields[i]);
    }
    c->n = b->n_fields;
    return GREBE_OK;
}

static grebe_status columns_new(struct snapshot *s, struct io_store *store, bool is_milvus,
                                struct columns **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    struct builder b = { s, store, NULL, NULL, 0, NULL, NULL, 0 };
    *out = NULL;
    b.columns = mem_alloc_zero(a, sizeof *b.columns);
    if (b.columns == NULL) {
        return mem_fail(err, sizeof *b.columns, "columns");
    }
    b.columns->arena = ARENA_INIT(a);
    GREBE_TRY(list_places(&b, err));
    const struct manifest_stat *stat = manifest_stat_find(&s->manifest, STAT_SCHEMA);
    const manifest_text *json = stat == NULL || is_milvus ? NULL
                                                          : pairs_find(&stat->metadata, "schema");
    if (json != NULL && json->len > 0) {
        GREBE_TRY(columns_from_entry(&b, json, err));
    }
    for (size_t g = 0; g < s->manifest.groups.n; g++) {
        GREBE_TRY(add_group_columns(&b, g, err));
    }
    GREBE_TRY(build_schema(&b, err));
    *out = b.columns;
    b.columns = NULL;
out:
    for (size_t i = 0; i < b.n_fields; i++) {
        schema_release(&b.fields[i]);
    }
    columns_free(a, b.columns);
    return st;
}

grebe_status snapshot_columns(struct snapshot *s, struct io_store *store, bool is_milvus,
                              const struct columns **out, grebe_error *err)
{
    struct columns *known = atomic_load_explicit(&s->columns[is_milvus], memory_order_acquire);
    *out = known;
    if (known != NULL) {
        return GREBE_OK;
    }
    struct columns *made = NULL;
    grebe_status st = columns_new(s, store, is_milvus, &made, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!atomic_compare_exchange_strong(&s->columns[is_milvus], &known, made)) {
        columns_free(s->ctx->a, made); /* another thread was faster */
        made = known;
    }
    *out = made;
    return GREBE_OK;
}

grebe_status columns_to_json(struct buf *dst, const struct columns *c, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema schema = { 0 };
    struct key_value *pairs = NULL;
    size_t n_pairs = 0;
    const grebe_allocator *a = dst->a;
    GREBE_TRY(schema_copy(a, &c->schema, &schema, err));
    for (size_t i = 0; i < c->n; i++) {
        struct ArrowSchema *field = schema.children[i];
        if (strcmp(field->name, c->items[i].stored) == 0) {
            continue;
        }
        mem_free(a, pairs, n_pairs * sizeof *pairs);
        n_pairs = schema_metadata_count(field) + 1;
        pairs = mem_alloc_zero(a, n_pairs * sizeof *pairs);
        if (pairs == NULL) {
            st = mem_fail(err, n_pairs * sizeof *pairs, "metadata");
            goto out;
        }
        for (size_t k = 0; k + 1 < n_pairs; k++) {
            pairs[k] = schema_metadata_at(field, k);
        }
        pairs[n_pairs - 1] = (struct key_value){ STORED_NAME, strlen(STORED_NAME),
                                                 c->items[i].stored,
                                                 strlen(c->items[i].stored) };
        GREBE_TRY(schema_set_metadata(a, field, pairs, n_pairs, err));
    }
    GREBE_TRY(schema_to_json(dst, &schema, err));
out:
    mem_free(a, pairs, n_pairs * sizeof *pairs);
    schema_release(&schema);
    return st;
}
