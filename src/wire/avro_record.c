/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/avro_schema.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

/*
 * Invariant: a list never has more memory than twice what its items that were really read need
 * (a count in the input reserves nothing beyond LIST_START items).
 */
enum { LIST_START = 16 };

static grebe_status read_value(struct avro_reader *r, struct avro_type *type,
                               const struct avro_member *m, struct arena *arena, void *dst,
                               unsigned depth, grebe_error *err);

static const char *const kind_names[] = { "null",   "boolean", "int",   "long", "float",
                                          "double", "bytes",   "string", "record", "enum",
                                          "array",  "map",     "union", "fixed" };

static grebe_status fail_type(const struct avro_member *m, const struct avro_type *type,
                              const char *expected, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "schema: field \"%s\": expected %s, found %s", m->name,
                      expected, kind_names[type->kind]);
}

static grebe_status copy_bytes(struct arena *arena, struct avro_bytes *b, grebe_error *err)
{
    char *copy = arena_str(arena, b->data, b->len);
    if (copy == NULL) {
        return mem_fail(err, b->len + 1, "a string");
    }
    b->data = copy;
    return GREBE_OK;
}

/* A slot behind the last item, zeroed; NULL: no memory. */
static void *list_push(struct arena *arena, struct avro_list *list, size_t *capacity, size_t size)
{
    if (list->n == *capacity) {
        size_t grown_capacity = *capacity == 0 ? LIST_START : *capacity * 2;
        void *grown = arena_array(arena, grown_capacity, size);
        if (grown == NULL) {
            return NULL;
        }
        if (list->n > 0) {
            memcpy(grown, list->items, list->n * size);
        }
        list->items = grown;
        *capacity = grown_capacity;
    }
    return (char *)list->items + size * list->n++;
}

static size_t item_size(const struct avro_member *m)
{
    switch (m->kind) {
    case AVRO_MEMBER_STRINGS: return sizeof(struct avro_bytes);
    case AVRO_MEMBER_STRING_MAP: return sizeof(struct avro_pair);
    default: return m->record->size;
    }
}

/* The branch of a union that is written here; any other type as it is. */
static grebe_status resolve_union(struct avro_reader *r, struct avro_type **type,
                                  grebe_error *err)
{
    unsigned depth = 0;
    while (*type != NULL && (*type)->kind == AVRO_UNION) {
        int64_t branch = 0;
        grebe_status st = avro_read_long(r, &branch, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (branch < 0 || (uint64_t)branch >= (*type)->n || ++depth > AVRO_DEPTH_MAX) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "expected a union branch below %zu, found %lld",
                              (*type)->n, (long long)branch);
        }
        *type = (*type)->fields[branch].type;
    }
    return GREBE_OK;
}

static grebe_status read_string(struct avro_reader *r, struct avro_type *type,
                                const struct avro_member *m, struct arena *arena,
                                struct avro_bytes *out, grebe_error *err)
{
    grebe_status st = resolve_union(r, &type, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (type != NULL && type->kind == AVRO_NULL) {
        return GREBE_OK;
    }
    if (type != NULL && type->kind != AVRO_STRING && type->kind != AVRO_BYTES) {
        return fail_type(m, type, "string", err);
    }
    st = avro_read_bytes(r, out, err);
    return st == GREBE_OK ? copy_bytes(arena, out, err) : st;
}

static grebe_status read_number(struct avro_reader *r, struct avro_type *type,
                                const struct avro_member *m, void *at, grebe_error *err)
{
    bool is_int = m->kind == AVRO_MEMBER_INT;
    if (type != NULL && type->kind != AVRO_INT && type->kind != AVRO_LONG) {
        return fail_type(m, type, is_int ? "int" : "long", err);
    }
    if (!is_int) {
        return avro_read_long(r, at, err);
    }
    return avro_read_int(r, at, err);
}

static grebe_status read_fields(struct avro_reader *r, struct avro_type *type,
                                const struct avro_record *record, struct arena *arena, void *dst,
                                unsigned depth, grebe_error *err);

static grebe_status read_item(struct avro_reader *r, struct avro_type *items,
                              const struct avro_member *m, struct arena *arena, void *item,
                              unsigned depth, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_map = m->kind == AVRO_MEMBER_STRING_MAP || m->kind == AVRO_MEMBER_RECORD_MAP;
    struct avro_bytes *key = item;
    if (is_map) {
        st = avro_read_bytes(r, key, err);
        if (st == GREBE_OK) {
            st = copy_bytes(arena, key, err);
        }
    }
    if (st != GREBE_OK) {
        return st;
    }
    switch (m->kind) {
    case AVRO_MEMBER_STRINGS: return read_string(r, items, m, arena, item, err);
    case AVRO_MEMBER_STRING_MAP:
        return read_string(r, items, m, arena, &((struct avro_pair *)item)->value, err);
    default: return read_fields(r, items, m->record, arena, item, depth, err);
    }
}

static grebe_status read_list(struct avro_reader *r, struct avro_type *type,
                              const struct avro_member *m, struct arena *arena,
                              struct avro_list *list, unsigned depth, grebe_error *err)
{
    bool is_map = m->kind == AVRO_MEMBER_STRING_MAP || m->kind == AVRO_MEMBER_RECORD_MAP;
    if (type != NULL && type->kind != (is_map ? AVRO_MAP : AVRO_ARRAY)) {
        return fail_type(m, type, is_map ? "map" : "array", err);
    }
    struct avro_type *items = type == NULL ? NULL : type->items;
    size_t capacity = 0;
    for (;;) {
        size_t n = 0;
        grebe_status st = avro_read_block(r, &n, err);
        if (st != GREBE_OK || n == 0) {
            return st;
        }
        for (size_t i = 0; i < n; i++) {
            void *item = list_push(arena, list, &capacity, item_size(m));
            if (item == NULL) {
                return mem_fail(err, item_size(m), m->name);
            }
            size_t before = r->at;
            st = read_item(r, items, m, arena, item, depth, err);
            if (st == GREBE_OK && r->at == before) { /* memory for which no byte was paid */
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "field \"%s\": item %zu of %zu takes no byte",
                                m->name, i, n);
            }
            if (st != GREBE_OK) {
                return st;
            }
        }
    }
}

/* type NULL: exactly the member's own type was written. */
static grebe_status read_value(struct avro_reader *r, struct avro_type *type,
                               const struct avro_member *m, struct arena *arena, void *dst,
                               unsigned depth, grebe_error *err)
{
    void *at = (char *)dst + m->offset;
    if (m->kind == AVRO_MEMBER_STRING) {
        return read_string(r, type, m, arena, at, err);
    }
    grebe_status st = resolve_union(r, &type, err);
    if (st != GREBE_OK || (type != NULL && type->kind == AVRO_NULL)) {
        return st;
    }
    if (m->kind == AVRO_MEMBER_INT || m->kind == AVRO_MEMBER_LONG) {
        return read_number(r, type, m, at, err);
    }
    struct avro_list *list = at;
    list->n = 0;
    return read_list(r, type, m, arena, list, depth + 1, err);
}

static const struct avro_member *member_find(const struct avro_record *record, const char *name)
{
    for (size_t i = 0; i < record->n; i++) {
        if (strcmp(record->members[i].name, name) == 0) {
            return &record->members[i];
        }
    }
    return NULL;
}

/* Find, once for a type, which member each of its fields belongs to. A type serves one record: one
 * that holds itself would have its members exchanged while it is being read. */
static grebe_status resolve_members(struct avro_type *type, const struct avro_record *record,
                                    grebe_error *err)
{
    if (type->resolved_for == record) {
        return GREBE_OK;
    }
    if (type->resolved_for != NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "schema: expected a record type of its own for %s, found that of %s",
                          record->name, type->resolved_for->name);
    }
    for (size_t f = 0; f < type->n; f++) {
        type->fields[f].member = member_find(record, type->fields[f].name);
    }
    for (size_t i = 0; i < record->n; i++) {
        bool is_there = !record->members[i].is_required;
        for (size_t f = 0; f < type->n && !is_there; f++) {
            is_there = type->fields[f].member == &record->members[i];
        }
        if (!is_there) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "schema: %s: expected a field \"%s\", found none", record->name,
                              record->members[i].name);
        }
    }
    type->resolved_for = record;
    return GREBE_OK;
}

static grebe_status read_fields(struct avro_reader *r, struct avro_type *type,
                                const struct avro_record *record, struct arena *arena, void *dst,
                                unsigned depth, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (depth > AVRO_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: nested deeper than %d", record->name,
                          AVRO_DEPTH_MAX);
    }
    if (type == NULL) {
        for (size_t i = 0; i < record->n && st == GREBE_OK; i++) {
            st = read_value(r, NULL, &record->members[i], arena, dst, depth, err);
        }
        return st;
    }
    st = resolve_union(r, &type, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (type->kind != AVRO_RECORD) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "schema: %s: expected record, found %s",
                          record->name, kind_names[type->kind]);
    }
    st = resolve_members(type, record, err);
    for (size_t i = 0; i < type->n && st == GREBE_OK; i++) {
        const struct avro_member *m = type->fields[i].member;
        st = m != NULL ? read_value(r, type->fields[i].type, m, arena, dst, depth, err)
                       : avro_skip(r, type->fields[i].type, err);
    }
    return st;
}

grebe_status avro_record_resolve(struct avro_reader *r, struct avro_type *type,
                                 const struct avro_record *record, struct arena *arena,
                                 void *dst, grebe_error *err)
{
    assert(type != NULL);
    return read_fields(r, type, record, arena, dst, 0, err);
}

grebe_status avro_record_read(struct avro_reader *r, const struct avro_record *record,
                              struct arena *arena, void *dst, grebe_error *err)
{
    return read_fields(r, NULL, record, arena, dst, 0, err);
}

grebe_status avro_member_read(struct avro_reader *r, const struct avro_member *member,
                              struct arena *arena, void *dst, grebe_error *err)
{
    return read_value(r, NULL, member, arena, dst, 0, err);
}

/* ---- writing ---- */

static grebe_status write_item(struct buf *dst, const struct avro_member *m, const void *item,
                               grebe_error *err)
{
    const struct avro_bytes *text = item;
    const struct avro_pair *pair = item;
    grebe_status st = GREBE_OK;
    switch (m->kind) {
    case AVRO_MEMBER_STRINGS: return avro_write_bytes(dst, text->data, text->len, err);
    case AVRO_MEMBER_STRING_MAP:
        st = avro_write_bytes(dst, pair->key.data, pair->key.len, err);
        return st != GREBE_OK ? st : avro_write_bytes(dst, pair->value.data, pair->value.len, err);
    case AVRO_MEMBER_RECORD_MAP:
        st = avro_write_bytes(dst, text->data, text->len, err);
        return st != GREBE_OK ? st : avro_record_write(dst, m->record, item, err);
    default: return avro_record_write(dst, m->record, item, err);
    }
}

/* One block of a positive count, then 0: as the reference writes collections. */
static grebe_status write_list(struct buf *dst, const struct avro_member *m,
                               const struct avro_list *list, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (list->n > 0) {
        st = avro_write_long(dst, (int64_t)list->n, err);
        for (size_t i = 0; i < list->n && st == GREBE_OK; i++) {
            st = write_item(dst, m, (const char *)list->items + i * item_size(m), err);
        }
    }
    return st == GREBE_OK ? buf_put_byte(dst, 0, err) : st;
}

grebe_status avro_record_write(struct buf *dst, const struct avro_record *record, const void *src,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < record->n && st == GREBE_OK; i++) {
        const struct avro_member *m = &record->members[i];
        const void *at = (const char *)src + m->offset;
        switch (m->kind) {
        case AVRO_MEMBER_STRING: {
            const struct avro_bytes *b = at;
            st = avro_write_bytes(dst, b->data, b->len, err);
            break;
        }
        case AVRO_MEMBER_INT: st = avro_write_long(dst, *(const int32_t *)at, err); break;
        case AVRO_MEMBER_LONG: st = avro_write_long(dst, *(const int64_t *)at, err); break;
        default: st = write_list(dst, m, at, err); break;
        }
    }
    return st;
}
