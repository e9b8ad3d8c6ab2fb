/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow rows as points: id and vector are columns of those names, everything else becomes the payload. */
#include <string.h>

#include "arrow/arrow_stream.h"
#include "gitvdb/vdb_feed.h"
#include "text/text_print.h"

struct row_reader {
    struct vdb_feed *f;
    struct ArrowSchema schema;
    int id, vector;
    bool id_is_text;
    const char *id_format;          /* what ids are widened to */
    struct ArrowSchema id_type, vector_type, rest_type;
    struct buf text;                /* the rest of a batch as lines of JSON */
    struct text_sink sink;
    uint64_t row;                   /* for messages */
};

static grebe_status collect(struct text_sink *sink, const void *bytes, size_t len, grebe_error *err)
{
    struct row_reader *r = (struct row_reader *)(void *)((char *)sink - offsetof(struct row_reader, sink));
    return buf_put(&r->text, bytes, len, err);
}

/* ---- types ---- */

static grebe_status find_column(const struct ArrowSchema *schema, const char *name, int *out, grebe_error *err)
{
    grebe_status st = schema_find(schema, name, out, err);
    return st == GREBE_ENOTFOUND ? GREBE_FAIL(err, GREBE_ESCHEMA, "expected columns \"id\" and \"vector\", found no \"%s\"", name)
                                 : st;
}

static grebe_status choose_types(struct row_reader *r, grebe_error *err)
{
    const grebe_allocator *a = r->f->a;
    struct arrow_type id;
    grebe_status st;
    GREBE_TRY(find_column(&r->schema, "id", &r->id, err));
    GREBE_TRY(find_column(&r->schema, "vector", &r->vector, err));
    const struct ArrowSchema *id_schema = r->schema.children[r->id];
    id_schema = id_schema->dictionary != NULL ? id_schema->dictionary : id_schema;
    GREBE_TRY(arrow_type_of(id_schema, &id, err));
    r->id_is_text = arrow_kind_is_text(id.kind);
    r->id_format = r->id_is_text ? "U" : strchr("CSIL", id_schema->format[0]) != NULL ? "L" : "l";
    GREBE_TRY(schema_new(a, r->id_format, "id", true, 0, &r->id_type, err));
    GREBE_TRY(schema_new(a, "+L", "vector", true, 1, &r->vector_type, err));
    GREBE_TRY(schema_new(a, "g", "item", true, 0, r->vector_type.children[0], err));
    GREBE_TRY(schema_widens(id_schema, &r->id_type, err));
    GREBE_TRY(schema_widens(r->schema.children[r->vector], &r->vector_type, err));
    const struct ArrowSchema **rest = mem_alloc(a, (size_t)r->schema.n_children * sizeof *rest);
    if (rest == NULL) {
        return mem_fail(err, (size_t)r->schema.n_children * sizeof *rest, "columns");
    }
    size_t n = 0;
    for (int i = 0; i < r->schema.n_children; i++) {
        if (i != r->id && i != r->vector) {
            rest[n++] = r->schema.children[i];
        }
    }
    st = schema_struct(a, rest, n, &r->rest_type, err);
    mem_free(a, rest, (size_t)r->schema.n_children * sizeof *rest);
out:
    return st;
}

/* ---- payloads ---- */

static grebe_status print_rest(struct row_reader *r, struct ArrowArray *batch, grebe_error *err)
{
    const grebe_allocator *a = r->f->a;
    size_t n = (size_t)r->rest_type.n_children, at = 0;
    struct ArrowArray rest = { 0 };
    struct ArrowArrayStream stream = { 0 };
    struct ArrowArray *columns = mem_alloc_zero(a, (n + 1) * sizeof *columns);
    grebe_status st = GREBE_OK;
    if (columns == NULL) {
        return mem_fail(err, (n + 1) * sizeof *columns, "columns");
    }
    for (int i = 0; i < r->schema.n_children; i++) {
        if (i != r->id && i != r->vector) {
            array_move(&columns[at++], batch->children[i]);
        }
    }
    buf_clear(&r->text);
    GREBE_TRY(array_struct(a, batch->length, columns, n, &rest, err));
    GREBE_TRY(stream_from_batches(a, &r->rest_type, &rest, 1, &stream, err));
    struct text_print print = { .a = a, .sink = &r->sink };
    GREBE_TRY(text_print_json(&print, &stream, true, err));
out:
    stream_release(&stream);
    array_release(&rest);
    for (size_t i = 0; i < n; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, (n + 1) * sizeof *columns);
    return st;
}

/* The members of a column "payload", which is JSON text or a struct, in one object with the other columns. */
static grebe_status merge_payload(struct arena *ar, const struct vdb_value *line, struct buf *out, grebe_error *err)
{
    const struct vdb_value *payload = vdb_json_get(line, "payload", 7), *inner = payload;
    grebe_status st = GREBE_OK;
    if (payload != NULL && payload->type == VDB_STRING) {
        GREBE_TRY(error_wrap(err, vdb_json_parse(ar, payload->s.text, payload->s.len, &inner, err), "payload"));
    }
    if (payload == NULL || payload->type == VDB_NULL) {
        inner = NULL;
    } else if (inner->type != VDB_OBJECT) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "payload: expected a JSON object");
        goto out;
    }
    /* the canonical order comes from reading the joined text again, in which keys of both must not meet */
    struct buf text = BUF_INIT(out->a);
    bool is_first = true;
    st = buf_put_byte(&text, '{', err);
    for (size_t i = 0; st == GREBE_OK && i < line->object.n; i++) {
        const struct vdb_member *m = &line->object.members[i];
        if (&m->value == payload) {
            continue;
        }
        if (inner != NULL && vdb_json_get(inner, m->key, m->key_len) != NULL) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "payload: expected no member with the name of a column, found one");
            break;
        }
        struct vdb_value one = { .type = VDB_OBJECT, .object = { m, 1 } };
        size_t start = text.len;
        st = vdb_json_put(&text, &one, err);
        if (st == GREBE_OK) { /* "{…}" becomes a member among others */
            text.data[start] = is_first ? ' ' : ',';
            text.len--;
            is_first = false;
        }
    }
    for (size_t i = 0; st == GREBE_OK && inner != NULL && i < inner->object.n; i++) {
        struct vdb_value one = { .type = VDB_OBJECT, .object = { &inner->object.members[i], 1 } };
        size_t start = text.len;
        st = vdb_json_put(&text, &one, err);
        if (st == GREBE_OK) {
            text.data[start] = is_first ? ' ' : ',';
            text.len--;
            is_first = false;
        }
    }
    st = st == GREBE_OK ? buf_put_byte(&text, '}', err) : st;
    const struct vdb_value *joined;
    st = st == GREBE_OK ? vdb_json_parse(ar, (const char *)text.data, text.len, &joined, err) : st;
    st = st == GREBE_OK ? vdb_json_put(out, joined, err) : st;
    buf_release(&text);
out:
    return st;
}

/* ---- rows ---- */

static grebe_status id_of_row(const struct row_reader *r, const struct ArrowArray *ids, int64_t row, struct vdb_id *out,
                              grebe_error *err)
{
    if (array_is_null(ids, row)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "id: expected a value, found null");
    }
    int64_t at = row + ids->offset;
    if (r->id_is_text) {
        const int64_t *ends = ids->buffers[1];
        *out = (struct vdb_id){ .text = (const char *)ids->buffers[2] + ends[at], .len = (size_t)(ends[at + 1] - ends[at]) };
        return GREBE_OK;
    }
    uint64_t v;
    memcpy(&v, (const unsigned char *)ids->buffers[1] + (size_t)at * 8, 8);
    *out = (struct vdb_id){ .is_number = true, .number = v };
    if (r->id_format[0] == 'l' && (int64_t)v < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "id: expected a number from 0, found %lld", (long long)(int64_t)v);
    }
    return GREBE_OK;
}

static grebe_status add_row(struct row_reader *r, const struct ArrowArray *ids, const struct ArrowArray *vectors,
                            int64_t row, const char *line, size_t len, struct buf *vector, grebe_error *err)
{
    struct arena ar = ARENA_INIT(r->f->a);
    struct buf payload = BUF_INIT(r->f->a);
    const struct vdb_value *v;
    struct vdb_id id;
    grebe_status st;
    GREBE_TRY(id_of_row(r, ids, row, &id, err));
    const int64_t *ends = (const int64_t *)vectors->buffers[1] + vectors->offset;
    const struct ArrowArray *items = vectors->children[0];
    int64_t n = ends[row + 1] - ends[row];
    if (array_is_null(vectors, row) || n <= 0 || n > UINT32_MAX) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "vector: expected 1 to %u components, found %s", UINT32_MAX,
                        array_is_null(vectors, row) ? "null" : "another number");
        goto out;
    }
    buf_clear(vector);
    for (int64_t i = ends[row]; i < ends[row + 1]; i++) {
        double d;
        memcpy(&d, (const unsigned char *)items->buffers[1] + (size_t)(items->offset + i) * 8, 8);
        float f = (float)d;
        if (array_is_null(items, i)) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "vector: expected numbers, found null");
            goto out;
        }
        GREBE_TRY(buf_put(vector, &f, sizeof f, err));
    }
    GREBE_TRY(vdb_json_parse(&ar, line, len, &v, err));
    GREBE_TRY(merge_payload(&ar, v, &payload, err));
    GREBE_TRY(vdb_points_add(&r->f->kept, &id, (const float *)(const void *)vector->data, (uint32_t)n,
                             (const char *)payload.data, payload.len, err));
out:
    buf_release(&payload);
    arena_release(&ar);
    return st;
}

static grebe_status add_batch(struct row_reader *r, struct ArrowArray *given, grebe_error *err)
{
    const grebe_allocator *a = r->f->a;
    struct ArrowArray batch = { 0 }, ids = { 0 }, vectors = { 0 };
    struct buf vector = BUF_INIT(a);
    grebe_status st;
    GREBE_TRY(array_import_rows(a, &r->schema, given, &batch, err));
    GREBE_TRY(array_check(&r->schema, &batch, true, err));
    GREBE_TRY(array_widen(a, r->schema.children[r->id], &r->id_type, batch.children[r->id], &ids, err));
    GREBE_TRY(array_widen(a, r->schema.children[r->vector], &r->vector_type, batch.children[r->vector], &vectors, err));
    GREBE_TRY(print_rest(r, &batch, err));
    const char *line = (const char *)r->text.data, *end = line + r->text.len;
    for (int64_t row = 0; row < batch.length; row++, r->row++) {
        const char *stop = line == end ? NULL : memchr(line, '\n', (size_t)(end - line));
        size_t len = stop == NULL ? 0 : (size_t)(stop - line);
        st = add_row(r, &ids, &vectors, row, len == 0 ? "{}" : line, len == 0 ? 2 : len, &vector, err);
        if (st != GREBE_OK) {
            error_wrap(err, st, "%s: row %llu", r->f->name, (unsigned long long)r->row);
            goto out;
        }
        line += stop == NULL ? 0 : len + 1;
    }
out:
    buf_release(&vector);
    array_release(&ids);
    array_release(&vectors);
    array_release(&batch);
    return st;
}

grebe_status vdb_feed_rows(struct vdb_feed *f, const grebe_allocator *a, struct ArrowArrayStream *rows, const char *name,
                           grebe_error *err)
{
    struct row_reader r = { .f = f, .text = BUF_INIT(a), .sink = { collect } };
    struct ArrowArray batch = { 0 };
    grebe_status st;
    *f = (struct vdb_feed){ .a = a, .name = name, .is_kept = true };
    vdb_points_init(&f->kept, a);
    GREBE_TRY(stream_schema(rows, &r.schema, err));
    GREBE_TRY(schema_check(&r.schema, err));
    GREBE_TRY(error_wrap(err, choose_types(&r, err), "%s", name));
    while ((st = stream_next(rows, &batch, err)) == GREBE_OK) {
        st = add_batch(&r, &batch, err);
        array_release(&batch);
        if (st != GREBE_OK) {
            goto out;
        }
    }
    if (st == GREBE_END) {
        f->n = f->kept.n;
        f->dim = f->kept.dim;
        st = f->n != 0 ? GREBE_OK : GREBE_FAIL(err, GREBE_EINVAL, "%s: expected points, found none", name);
    }
out:
    buf_release(&r.text);
    schema_release(&r.schema);
    schema_release(&r.id_type);
    schema_release(&r.vector_type);
    schema_release(&r.rest_type);
    stream_release(rows);
    return st;
}
