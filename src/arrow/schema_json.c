/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_schema.h"

#include <string.h>

#include "arrow/arrow_schema_internal.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "wire/json.h"

/*
 * docs/format/schema.md. The type text says everything about a nested field but its metadata;
 * where a nested field has some, "children" repeats the fields below as objects.
 */

/* Metadata that is no UTF-8 is base64 behind this mark; a text that begins with it gets a second. */
static const char binary_mark[] = "base64:";

static bool has_nested_metadata(const struct ArrowSchema *schema, int depth)
{
    for (int64_t i = 0; i < schema->n_children && depth <= ARROW_DEPTH_MAX; i++) {
        if (schema_metadata_count(schema->children[i]) > 0 ||
            has_nested_metadata(schema->children[i], depth + 1)) {
            return true;
        }
    }
    return false;
}

static grebe_status put_metadata_text(struct json_writer *w, const char *s, size_t len, bool is_key)
{
    size_t mark = sizeof binary_mark - 1;
    bool is_text = utf8_is_valid(s, len) && !(len >= mark && memcmp(s, binary_mark, mark) == 0);
    if (is_text) {
        if (is_key) {
            json_key_len(w, s, len);
        } else {
            json_text_len(w, s, len);
        }
        return GREBE_OK;
    }
    struct buf text = BUF_INIT(w->dst->a);
    grebe_status st = buf_put(&text, binary_mark, mark, w->err);
    if (st == GREBE_OK) {
        st = base64_encode(&text, s, len, w->err);
    }
    if (st == GREBE_OK && is_key) {
        json_key_len(w, (const char *)text.data, text.len);
    } else if (st == GREBE_OK) {
        json_text_len(w, (const char *)text.data, text.len);
    }
    buf_release(&text);
    return st;
}

static grebe_status put_metadata(struct json_writer *w, const struct ArrowSchema *schema)
{
    grebe_status st = GREBE_OK;
    size_t n = schema_metadata_count(schema);
    json_key(w, "metadata");
    json_open_object(w);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        struct key_value pair = schema_metadata_at(schema, i);
        st = put_metadata_text(w, pair.key, pair.key_len, true);
        if (st == GREBE_OK) {
            st = put_metadata_text(w, pair.value, pair.value_len, false);
        }
    }
    json_close_object(w);
    return st;
}

static grebe_status put_fields(struct json_writer *w, const struct ArrowSchema *parent, int depth,
                               struct buf *text);

static grebe_status put_field(struct json_writer *w, const struct ArrowSchema *field, int depth,
                              struct buf *text)
{
    grebe_status st = GREBE_OK;
    buf_clear(text);
    GREBE_TRY(type_print(text, field, w->err));
    json_open_object(w);
    json_key(w, "name");
    json_text(w, field->name != NULL ? field->name : "");
    json_key(w, "type");
    json_text_len(w, (const char *)text->data, text->len);
    json_key(w, "nullable");
    json_bool(w, (field->flags & ARROW_FLAG_NULLABLE) != 0);
    GREBE_TRY(put_metadata(w, field));
    if (has_nested_metadata(field, 0)) {
        json_key(w, "children");
        GREBE_TRY(put_fields(w, field, depth + 1, text));
    }
    json_close_object(w);
out:
    return st;
}

static grebe_status put_fields(struct json_writer *w, const struct ArrowSchema *parent, int depth,
                               struct buf *text)
{
    grebe_status st = GREBE_OK;
    if (depth > JSON_DEPTH_MAX / 2 - 2) {
        return GREBE_FAIL(w->err, GREBE_ELIMIT, "fields with metadata nested deeper than %d",
                          JSON_DEPTH_MAX / 2 - 2);
    }
    json_open_array(w);
    for (int64_t i = 0; i < parent->n_children && st == GREBE_OK; i++) {
        st = put_field(w, parent->children[i], depth, text);
    }
    json_close_array(w);
    return st;
}

grebe_status schema_to_json(struct buf *dst, const struct ArrowSchema *schema, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct json_writer w;
    struct buf text = BUF_INIT(dst->a);
    size_t begin = dst->len;

    json_begin(&w, dst, 0, err);
    json_open_object(&w);
    json_key(&w, "fields");
    GREBE_TRY(put_fields(&w, schema, 0, &text));
    if (schema_metadata_count(schema) > 0) {
        GREBE_TRY(put_metadata(&w, schema));
    }
    json_close_object(&w);
    GREBE_TRY(json_end(&w));
out:
    buf_release(&text);
    if (st != GREBE_OK) {
        dst->len = begin;
    }
    return st;
}

/* ---- back ---- */

static grebe_status metadata_bytes(struct arena *ar, const char *s, size_t len, const char **out,
                                   size_t *out_len, grebe_error *err)
{
    size_t mark = sizeof binary_mark - 1;
    *out = s;
    *out_len = len;
    if (len < mark || memcmp(s, binary_mark, mark) != 0) {
        return GREBE_OK;
    }
    struct buf bytes = BUF_INIT(ar->a);
    grebe_status st = base64_decode(&bytes, s + mark, len - mark, err);
    if (st == GREBE_OK) {
        *out_len = bytes.len;
        *out = arena_str(ar, (const char *)bytes.data, bytes.len);
        if (*out == NULL) {
            st = mem_fail(err, bytes.len, "metadata");
        }
    }
    buf_release(&bytes);
    return st;
}

static grebe_status read_metadata(const grebe_allocator *a, struct arena *ar,
                                  const struct json_value *field, struct ArrowSchema *out,
                                  grebe_error *err)
{
    const struct json_value *metadata = json_get(field, "metadata");
    if (metadata == NULL || metadata->type == JSON_NULL) {
        return GREBE_OK;
    }
    if (metadata->type != JSON_OBJECT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "JSON at %u:%u: metadata: expected object, found %s",
                          metadata->line, metadata->column, json_type_name(metadata->type));
    }
    struct key_value *pairs = arena_array(ar, metadata->n, sizeof *pairs);
    if (pairs == NULL) {
        return mem_fail(err, metadata->n * sizeof *pairs, "metadata");
    }
    for (size_t i = 0; i < metadata->n; i++) {
        const struct json_member *m = &metadata->members[i];
        if (m->value.type != JSON_STRING) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "JSON at %u:%u: metadata \"%.64s\": expected string, found %s",
                              m->value.line, m->value.column, m->key,
                              json_type_name(m->value.type));
        }
        grebe_status st = metadata_bytes(ar, m->key, m->key_len, &pairs[i].key, &pairs[i].key_len,
                                         err);
        if (st == GREBE_OK) {
            st = metadata_bytes(ar, m->value.text, m->value.n, &pairs[i].value,
                                &pairs[i].value_len, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    return schema_set_metadata(a, out, pairs, metadata->n, err);
}

/* Metadata of the fields below a field whose type text is read already. */
static grebe_status read_children(const grebe_allocator *a, struct arena *ar,
                                  const struct json_value *field, struct ArrowSchema *out,
                                  int depth, grebe_error *err)
{
    const struct json_value *children = json_get(field, "children");
    if (children == NULL) {
        return GREBE_OK;
    }
    if (children->type != JSON_ARRAY || (int64_t)children->n != out->n_children ||
        depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "JSON at %u:%u: children: expected an array of %lld fields",
                          children->line, children->column, (long long)out->n_children);
    }
    for (size_t i = 0; i < children->n; i++) {
        grebe_status st = read_metadata(a, ar, &children->items[i], out->children[i], err);
        if (st == GREBE_OK) {
            st = read_children(a, ar, &children->items[i], out->children[i], depth + 1, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

static grebe_status read_field(const grebe_allocator *a, struct arena *ar,
                               const struct json_value *field, struct ArrowSchema *out,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct json_value *name = NULL;
    const struct json_value *type = NULL;
    const struct json_value *nullable = json_get(field, "nullable");

    GREBE_TRY(json_expect(field, "name", JSON_STRING, &name, err));
    GREBE_TRY(json_expect(field, "type", JSON_STRING, &type, err));
    if (nullable != NULL && nullable->type != JSON_BOOL) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT,
                        "JSON at %u:%u: nullable: expected true or false, found %s",
                        nullable->line, nullable->column, json_type_name(nullable->type));
        goto out;
    }
    if (strlen(name->text) != name->n || strlen(type->text) != type->n) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "JSON at %u:%u: a name or type holds a NUL",
                        name->line, name->column);
        goto out;
    }
    st = type_parse(a, type->text, name->text, nullable == NULL || nullable->boolean, out, err);
    if (st != GREBE_OK) {
        char quoted[96];
        st = error_wrap(err, st, "JSON at %u:%u: field \"%s\"", type->line, type->column,
                        error_quote(quoted, sizeof quoted, name->text, name->n));
        goto out;
    }
    GREBE_TRY(read_metadata(a, ar, field, out, err));
    GREBE_TRY(read_children(a, ar, field, out, 0, err));
out:
    return st;
}

grebe_status schema_from_json(const grebe_allocator *a, const char *json, size_t len,
                              struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arena ar = ARENA_INIT(a);
    const struct json_value *root = NULL;
    const struct json_value *fields = NULL;

    memset(out, 0, sizeof *out);
    GREBE_TRY(json_parse(&ar, json, len, &root, err));
    GREBE_TRY(json_expect(root, "fields", JSON_ARRAY, &fields, err));
    GREBE_TRY(schema_new(a, "+s", "", false, (int64_t)fields->n, out, err));
    for (size_t i = 0; i < fields->n; i++) {
        GREBE_TRY(read_field(a, &ar, &fields->items[i], out->children[i], err));
    }
    GREBE_TRY(read_metadata(a, &ar, root, out, err));
out:
    arena_release(&ar);
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}
