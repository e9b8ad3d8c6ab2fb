/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_feed_payload.h"

#include <string.h>

#include "gitvdb/vdb_json.h"
#include "gitvdb/vdb_scan.h"

static grebe_status collect(struct text_sink *sink, const void *bytes, size_t len, grebe_error *err)
{
    struct vdb_payloads *p = (struct vdb_payloads *)(void *)((char *)sink - offsetof(struct vdb_payloads, sink));
    return buf_put(&p->lines, bytes, len, err);
}

static bool is_rest(const struct vdb_payloads *p, int column)
{
    return column != p->id && column != p->vector && column != p->payload;
}

/* A column "payload" whose values, those of a dictionary too, are text. */
static grebe_status find_payload(struct vdb_payloads *p, grebe_error *err)
{
    struct arrow_type type;
    grebe_status st = GREBE_OK;
    p->payload = -1;
    for (int i = 0; i < p->schema->n_children && st == GREBE_OK; i++) {
        const struct ArrowSchema *field = p->schema->children[i];
        if (strcmp(field->name, "payload") == 0 && is_rest(p, i)) {
            st = arrow_type_of(field->dictionary != NULL ? field->dictionary : field, &type, err);
            if (st == GREBE_OK && arrow_kind_is_text(type.kind)) {
                p->payload = i;
                st = schema_new(p->a, "U", "payload", true, 0, &p->payload_type, err);
            }
        }
    }
    return st;
}

grebe_status vdb_payloads_init(struct vdb_payloads *p, const grebe_allocator *a, const struct ArrowSchema *schema,
                               int id, int vector, grebe_error *err)
{
    size_t n = 0, size = ((size_t)schema->n_children + 1) * sizeof(const struct ArrowSchema *);
    grebe_status st;
    *p = (struct vdb_payloads){ .a = a, .schema = schema, .id = id, .vector = vector, .lines = BUF_INIT(a),
                                .sink = { collect }, .ar = ARENA_INIT(a), .object = BUF_INIT(a) };
    const struct ArrowSchema **rest = mem_alloc(a, size);
    if (rest == NULL) {
        return mem_fail(err, size, "columns");
    }
    GREBE_TRY(find_payload(p, err));
    for (int i = 0; i < schema->n_children; i++) {
        if (is_rest(p, i)) {
            p->is_nested = p->is_nested || strcmp(schema->children[i]->name, "payload") == 0;
            rest[n++] = schema->children[i];
        }
    }
    st = schema_struct(a, rest, n, &p->rest_type, err);
out:
    mem_free(a, rest, size);
    return st;
}

static grebe_status print_rest(struct vdb_payloads *p, struct ArrowArray *batch, grebe_error *err)
{
    size_t n = (size_t)p->rest_type.n_children, at = 0;
    struct ArrowArray rest = { 0 };
    struct ArrowArrayStream stream = { 0 };
    struct ArrowArray *columns = mem_alloc_zero(p->a, n * sizeof *columns);
    grebe_status st = GREBE_OK;
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    for (int i = 0; i < p->schema->n_children; i++) {
        if (is_rest(p, i)) {
            array_move(&columns[at++], batch->children[i]);
        }
    }
    GREBE_TRY(array_struct(p->a, batch->length, columns, n, &rest, err));
    GREBE_TRY(stream_from_batches(p->a, &p->rest_type, &rest, 1, &stream, err));
    struct text_print print = { .a = p->a, .sink = &p->sink };
    GREBE_TRY(text_print_json(&print, &stream, true, err));
out:
    stream_release(&stream);
    array_release(&rest);
    for (size_t i = 0; i < n; i++) {
        array_release(&columns[i]);
    }
    mem_free(p->a, columns, n * sizeof *columns);
    return st;
}

grebe_status vdb_payloads_begin(struct vdb_payloads *p, struct ArrowArray *batch, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    buf_clear(&p->lines);
    p->at = 0;
    p->row = 0;
    array_release(&p->payload_texts);
    if (p->payload >= 0) {
        GREBE_TRY(array_widen(p->a, p->schema->children[p->payload], &p->payload_type, batch->children[p->payload],
                              &p->payload_texts, err));
    }
    if (p->rest_type.n_children != 0) {
        GREBE_TRY(print_rest(p, batch, err));
    }
out:
    return st;
}

/* ---- one row ---- */

/* Canonical objects, which is what most are, are taken as they stand; not those with floats that the format reads as others. */
static bool is_canonical(const char *text, size_t len)
{
    bool is_unstable = false;
    const char *end = text + len;
    return len >= 2 && *text == '{' && vdb_scan_canonical(text, end, 0, &is_unstable) == end && !is_unstable;
}

/* Members of two objects, both in order, as one object in order. */
static grebe_status merge(struct vdb_payloads *p, const struct vdb_value *x, const struct vdb_value *y,
                          struct vdb_value *out, grebe_error *err)
{
    size_t i = 0, j = 0, n = x->object.n + y->object.n, at = 0;
    struct vdb_member *members = arena_array(&p->ar, n, sizeof *members);
    if (members == NULL) {
        return mem_fail(err, n * sizeof *members, "a payload");
    }
    while (i < x->object.n || j < y->object.n) {
        const struct vdb_member *a = &x->object.members[i], *b = &y->object.members[j];
        int order = i == x->object.n ? 1 : j == y->object.n ? -1 : 0;
        if (order == 0) {
            size_t least = a->key_len < b->key_len ? a->key_len : b->key_len;
            order = memcmp(a->key, b->key, least);
            order = order != 0 ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
        }
        if (order == 0) {
            char key[64];
            return GREBE_FAIL(err, GREBE_EINVAL, "payload: expected no member with the name of a column, found \"%s\"",
                              error_quote(key, sizeof key, a->key, a->key_len));
        }
        members[at++] = order < 0 ? x->object.members[i++] : y->object.members[j++];
    }
    *out = (struct vdb_value){ .type = VDB_OBJECT, .object = { members, at } };
    return GREBE_OK;
}

/* Everything of a line but the member "payload", which is given apart (NULL: none, or null). */
static grebe_status take_payload(struct vdb_payloads *p, const struct vdb_value *line, struct vdb_value *rest,
                                 const struct vdb_value **payload, grebe_error *err)
{
    const struct vdb_value *found = vdb_json_get(line, "payload", 7);
    *rest = *line;
    if (found == NULL) {
        return GREBE_OK;
    }
    struct vdb_member *members = arena_array(&p->ar, line->object.n, sizeof *members);
    if (members == NULL) {
        return mem_fail(err, line->object.n * sizeof *members, "a payload");
    }
    size_t n = 0;
    for (size_t i = 0; i < line->object.n; i++) {
        if (&line->object.members[i].value != found) {
            members[n++] = line->object.members[i];
        }
    }
    rest->object.members = members;
    rest->object.n = n;
    *payload = found->type == VDB_NULL ? NULL : found;
    return GREBE_OK;
}

/* @param line NULL: no other columns. @param text NULL: no column "payload" of text, or null there. */
static grebe_status join(struct vdb_payloads *p, const char *line, size_t line_len, const char *text, size_t text_len,
                         grebe_error *err)
{
    const struct vdb_value *columns = NULL, *payload = NULL;
    struct vdb_value object = { .type = VDB_OBJECT, .object = { NULL, 0 } };
    grebe_status st = GREBE_OK;
    if (line != NULL) {
        GREBE_TRY(vdb_json_parse(&p->ar, line, line_len, &columns, err));
        GREBE_TRY(take_payload(p, columns, &object, &payload, err));
    }
    if (text != NULL) {
        GREBE_TRY(error_wrap(err, vdb_json_parse(&p->ar, text, text_len, &payload, err), "payload"));
    }
    if (payload != NULL && payload->type != VDB_OBJECT) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "payload: expected a JSON object, found %s",
                        vdb_json_type_name(payload->type));
        goto out;
    }
    if (payload != NULL) {
        GREBE_TRY(merge(p, &object, payload, &object, err));
    }
    GREBE_TRY(vdb_json_put(&p->object, &object, err));
out:
    return st;
}

grebe_status vdb_payloads_next(struct vdb_payloads *p, const char **text, size_t *len, grebe_error *err)
{
    const char *line = NULL, *payload = NULL;
    size_t line_len = 0, payload_len = 0;
    int64_t row = p->row++;
    if (p->rest_type.n_children != 0) {
        line = (const char *)p->lines.data + p->at;
        const char *stop = memchr(line, '\n', p->lines.len - p->at);
        line_len = stop == NULL ? p->lines.len - p->at : (size_t)(stop - line);
        p->at += line_len + (stop != NULL);
    }
    if (p->payload >= 0 && !array_is_null(&p->payload_texts, row)) {
        const int64_t *ends = (const int64_t *)p->payload_texts.buffers[1] + p->payload_texts.offset + row;
        payload_len = (size_t)(ends[1] - ends[0]);
        payload = payload_len == 0 ? "" : (const char *)p->payload_texts.buffers[2] + ends[0];
    }
    *text = line != NULL ? line : payload != NULL ? payload : "{}";
    *len = line != NULL ? line_len : payload != NULL ? payload_len : 2;
    if ((line == NULL || payload == NULL) && !p->is_nested && is_canonical(*text, *len)) {
        return GREBE_OK;
    }
    arena_release(&p->ar);
    p->ar = ARENA_INIT(p->a);
    buf_clear(&p->object);
    grebe_status st = join(p, line, line_len, payload, payload_len, err);
    *text = (const char *)p->object.data;
    *len = p->object.len;
    return st;
}

void vdb_payloads_release(struct vdb_payloads *p)
{
    if (p->a == NULL) {
        return;
    }
    schema_release(&p->payload_type);
    schema_release(&p->rest_type);
    array_release(&p->payload_texts);
    buf_release(&p->lines);
    buf_release(&p->object);
    arena_release(&p->ar);
}
