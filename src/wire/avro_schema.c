/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/avro_schema.h"

#include <assert.h>
#include <inttypes.h>

#include "wire/json.h"

/* Named types seen so far: a name may be used again after its definition (and inside it). */
struct names {
    struct avro_type **types;
    size_t n, capacity;
};

struct parser {
    struct arena *arena;
    struct names names;
};

static grebe_status parse_type(struct parser *p, const struct json_value *v, const char *space,
                               unsigned depth, struct avro_type **out, grebe_error *err);

static grebe_status fail_schema(const struct json_value *v, const char *what, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "schema: %u:%u: expected %s, found %s", v->line,
                      v->column, what, json_type_name(v->type));
}

static grebe_status new_type(struct parser *p, enum avro_kind kind, struct avro_type **out,
                             grebe_error *err)
{
    *out = arena_alloc_zero(p->arena, sizeof **out);
    if (*out == NULL) {
        return mem_fail(err, sizeof **out, "a type");
    }
    (*out)->kind = kind;
    return GREBE_OK;
}

static bool primitive(const char *name, enum avro_kind *out)
{
    static const char *const names[] = { "null",  "boolean", "int",   "long",
                                         "float", "double",  "bytes", "string" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum avro_kind)i; /* the enum begins with these, in this order */
            return true;
        }
    }
    return false;
}

/* "space.name", or the name where it has a dot or there is no space. */
static const char *full_name(struct parser *p, const char *name, const char *space)
{
    size_t n = strlen(name);
    size_t m = space == NULL ? 0 : strlen(space);
    if (m == 0 || strchr(name, '.') != NULL) {
        return arena_str(p->arena, name, n);
    }
    char *full = arena_alloc(p->arena, m + n + 2);
    if (full != NULL) {
        memcpy(full, space, m);
        full[m] = '.';
        memcpy(full + m + 1, name, n + 1);
    }
    return full;
}

static struct avro_type *find_name(const struct parser *p, const char *full)
{
    for (size_t i = 0; i < p->names.n; i++) {
        if (strcmp(p->names.types[i]->name, full) == 0) {
            return p->names.types[i];
        }
    }
    return NULL;
}

static grebe_status parse_name(struct parser *p, const struct json_value *v, const char *space,
                               struct avro_type **out, grebe_error *err)
{
    enum avro_kind kind;
    char quoted[64];
    if (strlen(v->text) == v->n && primitive(v->text, &kind)) {
        return new_type(p, kind, out, err);
    }
    const char *full = full_name(p, v->text, space);
    if (full == NULL) {
        return mem_fail(err, v->n, "a name");
    }
    *out = find_name(p, full);
    if (*out == NULL) {
        *out = find_name(p, v->text);
    }
    if (*out == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "schema: %u:%u: no type \"%s\"", v->line, v->column,
                          error_quote(quoted, sizeof quoted, v->text, v->n));
    }
    return GREBE_OK;
}

/* A named type gets its name before its content is read: it may hold itself. */
static grebe_status define_name(struct parser *p, const struct json_value *v, const char *space,
                                struct avro_type *type, const char **inner_space,
                                grebe_error *err)
{
    const struct json_value *name = NULL;
    const struct json_value *own = json_get(v, "namespace");
    grebe_status st = json_expect(v, "name", JSON_STRING, &name, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "schema");
    }
    *inner_space = own != NULL && own->type == JSON_STRING ? own->text : space;
    type->name = full_name(p, name->text, *inner_space);
    if (type->name == NULL) {
        return mem_fail(err, name->n, "a name");
    }
    if (p->names.n >= AVRO_FIELDS_MAX) { /* they are searched one by one */
        return GREBE_FAIL(err, GREBE_ELIMIT, "schema: more than %d named types", AVRO_FIELDS_MAX);
    }
    if (p->names.n == p->names.capacity) {
        size_t capacity = p->names.capacity == 0 ? 16 : p->names.capacity * 2;
        struct avro_type **grown = arena_array(p->arena, capacity, sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, capacity * sizeof *grown, "names");
        }
        if (p->names.n > 0) {
            memcpy(grown, p->names.types, p->names.n * sizeof *grown);
        }
        p->names.types = grown;
        p->names.capacity = capacity;
    }
    p->names.types[p->names.n++] = type;
    return GREBE_OK;
}

static grebe_status parse_fields(struct parser *p, const struct json_value *v, const char *space,
                                 unsigned depth, struct avro_type *type, grebe_error *err)
{
    const struct json_value *fields = NULL;
    grebe_status st = json_expect(v, "fields", JSON_ARRAY, &fields, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "schema");
    }
    if (fields->n > AVRO_FIELDS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "schema: %zu fields, at most %d are read", fields->n,
                          AVRO_FIELDS_MAX);
    }
    type->fields = arena_array(p->arena, fields->n, sizeof *type->fields);
    if (type->fields == NULL) {
        return mem_fail(err, fields->n * sizeof *type->fields, "fields");
    }
    for (size_t i = 0; i < fields->n; i++) {
        const struct json_value *name = NULL;
        const struct json_value *field = &fields->items[i];
        const struct json_value *t = json_get(field, "type");
        st = json_expect(field, "name", JSON_STRING, &name, err);
        if (st == GREBE_OK && t == NULL) {
            st = fail_schema(field, "a field with a type", err);
        }
        if (st == GREBE_OK) {
            type->fields[i].name = arena_str(p->arena, name->text, name->n);
            st = type->fields[i].name == NULL ? mem_fail(err, name->n, "a name")
                                              : parse_type(p, t, space, depth + 1,
                                                           &type->fields[i].type, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        type->n++;
    }
    return GREBE_OK;
}

static grebe_status parse_union(struct parser *p, const struct json_value *v, const char *space,
                                unsigned depth, struct avro_type **out, grebe_error *err)
{
    if (v->n == 0 || v->n > AVRO_FIELDS_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "schema: %u:%u: union of %zu branches", v->line,
                          v->column, v->n);
    }
    grebe_status st = new_type(p, AVRO_UNION, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    (*out)->fields = arena_array(p->arena, v->n, sizeof *(*out)->fields);
    if ((*out)->fields == NULL) {
        return mem_fail(err, v->n * sizeof *(*out)->fields, "branches");
    }
    (*out)->n = v->n;
    for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
        st = parse_type(p, &v->items[i], space, depth + 1, &(*out)->fields[i].type, err);
    }
    return st;
}

static grebe_status parse_object(struct parser *p, const struct json_value *v, const char *space,
                                 unsigned depth, struct avro_type **out, grebe_error *err)
{
    const struct json_value *kind = json_get(v, "type");
    const char *inner = space;
    if (kind == NULL) {
        return fail_schema(v, "an object with a type", err);
    }
    if (kind->type != JSON_STRING) { /* {"type": {…}}: one more wrapping */
        return parse_type(p, kind, space, depth + 1, out, err);
    }
    bool is_record = json_is_text(kind, "record") || json_is_text(kind, "error");
    bool is_enum = json_is_text(kind, "enum");
    bool is_fixed = json_is_text(kind, "fixed");
    bool is_array = json_is_text(kind, "array");
    if (is_record || is_enum || is_fixed) {
        enum avro_kind k = is_record ? AVRO_RECORD : is_enum ? AVRO_ENUM : AVRO_FIXED;
        grebe_status st = new_type(p, k, out, err);
        if (st == GREBE_OK) {
            st = define_name(p, v, space, *out, &inner, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        if (is_record) {
            return parse_fields(p, v, inner, depth, *out, err);
        }
        int64_t size = 0;
        if (is_fixed && (!json_i64(json_get(v, "size"), &size) || size < 0)) {
            return fail_schema(v, "a fixed type with a size", err);
        }
        (*out)->fixed_len = (size_t)size;
        return GREBE_OK;
    }
    if (is_array || json_is_text(kind, "map")) {
        const struct json_value *items = json_get(v, is_array ? "items" : "values");
        grebe_status st = new_type(p, is_array ? AVRO_ARRAY : AVRO_MAP, out, err);
        if (st == GREBE_OK && items == NULL) {
            st = fail_schema(v, is_array ? "items" : "values", err);
        }
        return st == GREBE_OK ? parse_type(p, items, space, depth + 1, &(*out)->items, err) : st;
    }
    return parse_name(p, kind, space, out, err); /* {"type":"string", …}: attributes ignored */
}

static grebe_status parse_type(struct parser *p, const struct json_value *v, const char *space,
                               unsigned depth, struct avro_type **out, grebe_error *err)
{
    if (depth > AVRO_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "schema: nested deeper than %d", AVRO_DEPTH_MAX);
    }
    switch (v->type) {
    case JSON_STRING: return parse_name(p, v, space, out, err);
    case JSON_ARRAY: return parse_union(p, v, space, depth, out, err);
    case JSON_OBJECT: return parse_object(p, v, space, depth, out, err);
    default: return fail_schema(v, "a type", err);
    }
}

grebe_status avro_schema_parse(struct arena *arena, const char *json, size_t len,
                               struct avro_type **out, grebe_error *err)
{
    struct parser p = { arena, { NULL, 0, 0 } };
    const struct json_value *v = NULL;
    *out = NULL;
    grebe_status st = json_parse(arena, json, len, &v, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "schema");
    }
    return parse_type(&p, v, NULL, 0, out, err);
}

/* ---- stepping over ---- */

enum { SKIPS_PER_BYTE = 8, SKIPS_FREE = 1 << 16 };

static grebe_status skip_value(struct avro_reader *r, const struct avro_type *type, unsigned depth,
                               grebe_error *err);

static grebe_status skip_items(struct avro_reader *r, const struct avro_type *type, unsigned depth,
                               grebe_error *err)
{
    for (;;) {
        size_t n = 0;
        struct avro_bytes key;
        grebe_status st = avro_read_block(r, &n, err);
        if (st != GREBE_OK || n == 0) {
            return st;
        }
        for (size_t i = 0; i < n && st == GREBE_OK; i++) {
            size_t before = r->at;
            st = type->kind == AVRO_MAP ? avro_read_bytes(r, &key, err) : GREBE_OK;
            if (st == GREBE_OK) {
                st = skip_value(r, type->items, depth + 1, err);
            }
            if (st == GREBE_OK && r->at == before) { /* no byte each: no need to count them out */
                break;
            }
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
}

static grebe_status skip_value(struct avro_reader *r, const struct avro_type *type, unsigned depth,
                               grebe_error *err)
{
    const unsigned char *raw = NULL;
    struct avro_bytes bytes;
    int64_t number = 0;
    grebe_status st = GREBE_OK;
    if (depth > AVRO_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "value nested deeper than %d", AVRO_DEPTH_MAX);
    }
    /* Records of records without fields grow by powers and take no byte: work is paid in bytes. */
    if (r->n_skipped / SKIPS_PER_BYTE >= r->len && r->n_skipped >= SKIPS_FREE) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%" PRIu64 " values passed over in %zu bytes",
                          r->n_skipped, r->len);
    }
    r->n_skipped++;
    switch (type->kind) {
    case AVRO_NULL: return GREBE_OK;
    case AVRO_BOOLEAN: return avro_read_raw(r, 1, &raw, err);
    case AVRO_INT:
    case AVRO_LONG:
    case AVRO_ENUM: return avro_read_long(r, &number, err);
    case AVRO_FLOAT: return avro_read_raw(r, 4, &raw, err);
    case AVRO_DOUBLE: return avro_read_raw(r, 8, &raw, err);
    case AVRO_BYTES:
    case AVRO_STRING: return avro_read_bytes(r, &bytes, err);
    case AVRO_FIXED: return avro_read_raw(r, type->fixed_len, &raw, err);
    case AVRO_RECORD:
        for (size_t i = 0; i < type->n && st == GREBE_OK; i++) {
            st = skip_value(r, type->fields[i].type, depth + 1, err);
        }
        return st;
    case AVRO_ARRAY:
    case AVRO_MAP: return skip_items(r, type, depth, err);
    case AVRO_UNION:
        st = avro_read_long(r, &number, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (number < 0 || (uint64_t)number >= type->n) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "expected a union branch below %zu, found %lld",
                              type->n, (long long)number);
        }
        return skip_value(r, type->fields[number].type, depth + 1, err);
    }
    assert(0);
    return GREBE_ECORRUPT;
}

grebe_status avro_skip(struct avro_reader *r, const struct avro_type *type, grebe_error *err)
{
    return skip_value(r, type, 0, err);
}
