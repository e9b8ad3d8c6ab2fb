/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_shape.h"

#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

/* Deeper values are kept as JSON text: an Arrow type has rows and list items on top. */
enum { DEPTH_MAX = ARROW_DEPTH_MAX - 8 };

void json_shape_init(struct json_shape *s)
{
    memset(s, 0, sizeof *s);
    s->types = TEXT_ANY;
}

/* Objects of more fields have a table. */
enum { FIELDS_FEW = 12 };

static bool is_named(const struct json_field *f, const char *name, size_t len)
{
    return f->len == len && memcmp(f->name, name, len) == 0;
}

static size_t slot_of(const struct json_shape *s, const char *name, size_t len)
{
    size_t slot = (size_t)hash_bytes(name, len, 0) & s->mask;
    while (s->table[slot] != NULL && !is_named(s->table[slot], name, len)) {
        slot = (slot + 1) & s->mask;
    }
    return slot;
}

struct json_field *json_shape_field(const struct json_shape *s, const char *name, size_t len,
                                    struct json_field *hint)
{
    if (hint != NULL && is_named(hint, name, len)) {
        return hint;
    }
    if (s->table != NULL) {
        return s->table[slot_of(s, name, len)];
    }
    for (struct json_field *f = s->first; f != NULL; f = f->next) {
        if (is_named(f, name, len)) {
            return f;
        }
    }
    return NULL;
}

/* A field that was added into the table, which is at most half full. */
static grebe_status put_in_table(struct arena *ar, struct json_shape *s, struct json_field *f,
                                 grebe_error *err)
{
    if (s->n_fields <= FIELDS_FEW) {
        return GREBE_OK;
    }
    if (s->table != NULL && 2 * s->n_fields <= s->mask + 1) {
        s->table[slot_of(s, f->name, f->len)] = f;
        return GREBE_OK;
    }
    size_t n = s->table == NULL ? 64 : 2 * (s->mask + 1);
    struct json_field **table = arena_array(ar, n, sizeof(void *));
    if (table == NULL) {
        return mem_fail(err, n * sizeof(void *), "names of fields");
    }
    s->table = table;
    s->mask = n - 1;
    for (struct json_field *g = s->first; g != NULL; g = g->next) {
        s->table[slot_of(s, g->name, g->len)] = g;
    }
    return GREBE_OK;
}

/* See json_field.head. */
static void set_head(struct json_field *f)
{
    char head[8] = { 0 };
    for (size_t i = 0; i < f->len; i++) {
        if (f->name[i] == '"' || f->name[i] == '\\' || (unsigned char)f->name[i] < 0x20) {
            return;
        }
    }
    size_t n = min_size(f->len, sizeof head);
    memcpy(head, f->name, n);
    if (n < sizeof head) {
        head[n++] = '"';
    }
    f->head = load_le64(head);
    f->head_mask = n == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * n)) - 1;
}

grebe_status json_shape_field_of(struct arena *ar, struct json_shape *s, const char *name,
                                 size_t len, struct json_field *hint, struct json_field **out,
                                 grebe_error *err)
{
    *out = json_shape_field(s, name, len, hint);
    if (*out != NULL) {
        return GREBE_OK;
    }
    if (s->n_fields == JSON_FIELDS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %d fields in an object, found more",
                          JSON_FIELDS_MAX);
    }
    if (memchr(name, '\0', len) != NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected the name of a field, found a NUL in it");
    }
    struct json_field *f = arena_alloc_zero(ar, sizeof *f);
    char *copy = arena_str(ar, name, len);
    if (f == NULL || copy == NULL) {
        return mem_fail(err, sizeof *f + len, "a field");
    }
    f->name = copy;
    f->len = len;
    f->index = s->n_fields;
    set_head(f);
    json_shape_init(&f->shape);
    *(s->last != NULL ? &s->last->next : &s->first) = f;
    s->last = f;
    s->n_fields++;
    *out = f;
    return put_in_table(ar, s, f, err);
}

grebe_status json_shape_need_item(struct arena *ar, struct json_shape *s, grebe_error *err)
{
    if (s->item == NULL) {
        s->item = arena_alloc(ar, sizeof *s->item);
        if (s->item == NULL) {
            return mem_fail(err, sizeof *s->item, "a list");
        }
        json_shape_init(s->item);
    }
    return GREBE_OK;
}

static grebe_status add_object(struct arena *ar, struct json_shape *s, const struct json_value *v,
                               grebe_error *err)
{
    struct json_field *f = NULL;
    s->seen |= JSON_SEEN_OBJECT;
    for (size_t i = 0; i < v->n; i++) {
        const struct json_member *m = &v->members[i];
        grebe_status st = json_shape_field_of(ar, s, m->key, m->key_len, f != NULL ? f->next : s->first, &f,
                                      err);
        if (st == GREBE_OK) {
            st = json_shape_add(ar, &f->shape, &m->value, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

grebe_status json_shape_add(struct arena *ar, struct json_shape *s, const struct json_value *v,
                            grebe_error *err)
{
    grebe_status st = GREBE_OK;
    switch (v->type) {
    case JSON_NULL: break;
    case JSON_BOOL:
        s->seen |= JSON_SEEN_SCALAR;
        s->types &= TEXT_BOOL;
        break;
    case JSON_NUMBER:
        s->seen |= JSON_SEEN_SCALAR;
        s->types &= text_types_of(v->text, v->n);
        break;
    case JSON_STRING:
        s->seen |= json_is_text(v, "NaN") || json_is_text(v, "Infinity") ||
                           json_is_text(v, "-Infinity")
                       ? JSON_SEEN_SPECIAL
                       : JSON_SEEN_STRING;
        break;
    case JSON_ARRAY:
        s->seen |= JSON_SEEN_ARRAY;
        st = json_shape_need_item(ar, s, err);
        for (size_t i = 0; st == GREBE_OK && i < v->n; i++) {
            st = json_shape_add(ar, s->item, &v->items[i], err);
        }
        break;
    case JSON_OBJECT: st = add_object(ar, s, v, err); break;
    }
    return st;
}

grebe_status json_shape_merge(struct arena *ar, struct json_shape *s, const struct json_shape *from,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct json_field *f = NULL;
    s->seen |= from->seen;
    s->types &= from->types;
    if (from->item != NULL) {
        GREBE_TRY(json_shape_need_item(ar, s, err));
        GREBE_TRY(json_shape_merge(ar, s->item, from->item, err));
    }
    for (const struct json_field *g = from->first; g != NULL; g = g->next) {
        GREBE_TRY(json_shape_field_of(ar, s, g->name, g->len, f != NULL ? f->next : s->first, &f, err));
        GREBE_TRY(json_shape_merge(ar, &f->shape, &g->shape, err));
    }
out:
    return st;
}

grebe_status json_shape_give_fields(struct arena *ar, struct json_shape *s,
                                    const struct ArrowSchema *fields, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (int64_t i = 0; i < fields->n_children && st == GREBE_OK; i++) {
        const struct ArrowSchema *type = fields->children[i];
        struct json_field *f = NULL;
        st = json_shape_field_of(ar, s, type->name, strlen(type->name), NULL, &f, err);
        if (st == GREBE_OK) {
            st = json_shape_give(ar, &f->shape, type, err);
        }
    }
    return st;
}

/* The format of the type, and what it is called in messages. */
static grebe_status name_type(struct arena *ar, struct json_shape *s, const struct ArrowSchema *type,
                              grebe_error *err)
{
    struct buf text = BUF_INIT(ar->a);
    grebe_status st = type_print(&text, type, err);
    if (st == GREBE_OK) {
        s->format = arena_str(ar, type->format, strlen(type->format));
        s->type_name = arena_str(ar, (char *)text.data, text.len);
        st = s->format != NULL && s->type_name != NULL ? GREBE_OK : mem_fail(err, text.len, "a type");
    }
    buf_release(&text);
    return st;
}

grebe_status json_shape_give(struct arena *ar, struct json_shape *s, const struct ArrowSchema *type,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    json_shape_init(s);
    s->is_given = true;
    s->form = JSON_FORM_VALUE;
    GREBE_TRY(arrow_type_of(type, &s->given, err));
    GREBE_TRY(name_type(ar, s, type, err));
    s->given.timezone = s->given.timezone[0] != '\0' ? "UTC" : ""; /* the schema may go; that there is one counts */
    switch (s->given.kind) {
    case ARROW_NULL: s->form = JSON_FORM_NULL; break;
    case ARROW_STRING: s->type = 0; break;
    case ARROW_BINARY: s->is_bytes = true; break;
    case ARROW_BOOL: s->type = TEXT_BOOL; break;
    case ARROW_INT64: s->type = TEXT_INT64; break;
    case ARROW_UINT64: s->type = TEXT_UINT64; break;
    case ARROW_FLOAT64: s->type = TEXT_DOUBLE; break;
    case ARROW_LIST:
        s->form = JSON_FORM_LIST;
        GREBE_TRY(json_shape_need_item(ar, s, err));
        st = json_shape_give(ar, s->item, type->children[0], err);
        break;
    case ARROW_STRUCT:
        s->form = JSON_FORM_STRUCT;
        st = json_shape_give_fields(ar, s, type, err);
        break;
    default: s->type = TEXT_GIVEN;
    }
out:
    return st;
}

static void resolve_given(const struct json_shape *s, size_t *n_leaves)
{
    for (struct json_field *f = s->first; f != NULL; f = f->next) {
        resolve_given(&f->shape, n_leaves);
    }
    if (s->item != NULL) {
        resolve_given(s->item, n_leaves);
    }
    ++*n_leaves;
}

void json_shape_resolve(struct json_shape *s, int depth, size_t *n_leaves)
{
    const unsigned scalar = JSON_SEEN_SCALAR, special = JSON_SEEN_SPECIAL;
    if (s->is_given) {
        resolve_given(s, n_leaves);
        return;
    }
    s->form = JSON_FORM_TEXT;
    s->type = 0;
    if (s->seen == 0) {
        s->form = JSON_FORM_NULL;
    } else if (s->seen == scalar && text_type_narrowest(s->types) != 0) {
        s->form = JSON_FORM_VALUE;
        s->type = text_type_narrowest(s->types);
    } else if (s->seen == (scalar | special) && (s->types & TEXT_DOUBLE) != 0) {
        s->form = JSON_FORM_VALUE;
        s->type = TEXT_DOUBLE;
    } else if ((s->seen & ~(unsigned)(JSON_SEEN_STRING | special)) == 0) {
        s->form = JSON_FORM_VALUE;
    } else if (s->seen == JSON_SEEN_OBJECT && s->n_fields > 0 && depth < DEPTH_MAX) {
        s->form = JSON_FORM_STRUCT;
        for (struct json_field *f = s->first; f != NULL; f = f->next) {
            json_shape_resolve(&f->shape, depth + 1, n_leaves);
        }
    } else if (s->seen == JSON_SEEN_ARRAY && depth < DEPTH_MAX) {
        s->form = JSON_FORM_LIST;
        json_shape_resolve(s->item, depth + 1, n_leaves);
    }
    ++*n_leaves;
}

size_t json_shape_slot_bytes(const struct json_shape *s)
{
    switch (s->form) {
    case JSON_FORM_NULL: return 0;
    case JSON_FORM_STRUCT: return 1; /* a bit, to be exact */
    case JSON_FORM_VALUE:
        return s->type == 0           ? sizeof(int32_t)
               : s->type == TEXT_BOOL ? 1
               : s->is_given          ? (size_t)s->given.byte_width
                                      : sizeof(int64_t);
    default: return sizeof(int32_t);
    }
}

bool json_shape_has_empty(const struct json_shape *s)
{
    bool has = s->form == JSON_FORM_TEXT && s->seen == JSON_SEEN_OBJECT && s->n_fields == 0;
    if (s->form == JSON_FORM_LIST) {
        has = json_shape_has_empty(s->item);
    }
    for (const struct json_field *f = s->first; s->form == JSON_FORM_STRUCT && f != NULL && !has;
         f = f->next) {
        has = json_shape_has_empty(&f->shape);
    }
    return has;
}

grebe_status json_shape_schema(const grebe_allocator *a, const struct json_shape *s,
                               const char *name, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t k = 0;
    switch (s->form) {
    case JSON_FORM_NULL: return schema_new(a, "n", name, true, 0, out, err);
    case JSON_FORM_VALUE:
        return schema_new(a, s->is_given ? s->format : text_type_format(s->type), name, true, 0, out,
                          err);
    case JSON_FORM_TEXT: return schema_new(a, "u", name, true, 0, out, err);
    case JSON_FORM_LIST:
        GREBE_TRY(schema_new(a, "+l", name, true, 1, out, err));
        st = json_shape_schema(a, s->item, "item", out->children[0], err);
        break;
    case JSON_FORM_STRUCT:
        GREBE_TRY(schema_new(a, "+s", name, true, (int64_t)s->n_fields, out, err));
        for (const struct json_field *f = s->first; f != NULL; f = f->next) {
            GREBE_TRY(json_shape_schema(a, &f->shape, f->name, out->children[k++], err));
        }
        break;
    }
out:
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}
