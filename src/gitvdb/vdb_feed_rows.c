/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow rows as points: one column is the id, one the vector, everything else becomes the payload. */
#include "gitvdb/vdb_feed.h"

#include <string.h>

#include "gitvdb/vdb_feed_payload.h"

struct row_reader {
    struct vdb_feed *f;
    struct ArrowSchema schema;
    int id, vector;
    bool id_is_text, id_is_json; /* json: texts that are ids as JSON, which rows of both kinds have */
    char component;              /* 'f': given as they lie; 'g', 'l': doubles, integers: rounded to float; 't': text */
    const char *id_format;       /* what ids are widened to */
    struct ArrowSchema id_type, vector_type;
    struct vdb_payloads payloads;
    struct buf vector_buf;       /* components rounded to float */
    uint64_t row;                /* for messages */
};

/* ---- types ---- */

static grebe_status find_columns(struct row_reader *r, const char *id, const char *vector, grebe_error *err)
{
    grebe_status st = schema_find(&r->schema, id, &r->id, err);
    const char *missing = st == GREBE_ENOTFOUND ? id : vector;
    st = st == GREBE_OK ? schema_find(&r->schema, vector, &r->vector, err) : st;
    if (st == GREBE_ENOTFOUND) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "expected columns \"%s\" and \"%s\", found no \"%s\"", id, vector, missing);
    }
    return st;
}

static bool has_json_ids(const struct ArrowSchema *field)
{
    struct key_value pair;
    return schema_metadata_find(field, "grebe.id", &pair) && pair.value_len == 4 && memcmp(pair.value, "json", 4) == 0;
}

/* Lists of numbers, or text as it is typed on a command line, which CSV has. */
static grebe_status choose_vector_type(struct row_reader *r, const struct ArrowSchema *vector, grebe_error *err)
{
    const grebe_allocator *a = r->f->a;
    const struct ArrowSchema *plain = vector->dictionary != NULL ? vector->dictionary : vector;
    struct arrow_type type;
    grebe_status st;
    GREBE_TRY(arrow_type_of(plain, &type, err));
    if (arrow_kind_is_text(type.kind)) {
        r->component = 't';
        GREBE_TRY(schema_new(a, "U", vector->name, true, 0, &r->vector_type, err));
    } else {
        const char *component = vector->n_children == 1 ? vector->children[0]->format : "g";
        r->component = component[1] != '\0' ? 'g' : strchr("fe", component[0]) != NULL ? 'f'
                       : strchr("cCsSiIl", component[0]) != NULL ? 'l' : 'g';
        GREBE_TRY(schema_new(a, "+L", vector->name, true, 1, &r->vector_type, err));
        GREBE_TRY(schema_new(a, (char[]){ r->component, '\0' }, "item", true, 0, r->vector_type.children[0], err));
    }
    st = schema_widens(plain, &r->vector_type, err);
out:
    return st;
}

static grebe_status choose_types(struct row_reader *r, grebe_error *err)
{
    const grebe_allocator *a = r->f->a;
    struct arrow_type id;
    grebe_status st;
    const struct ArrowSchema *id_field = r->schema.children[r->id];
    const struct ArrowSchema *id_schema = id_field->dictionary != NULL ? id_field->dictionary : id_field;
    GREBE_TRY(arrow_type_of(id_schema, &id, err));
    r->id_is_text = arrow_kind_is_text(id.kind);
    r->id_is_json = r->id_is_text && (r->id_is_json || has_json_ids(id_field));
    r->id_format = r->id_is_text ? "U" : strchr("CSIL", id_schema->format[0]) != NULL ? "L" : "l";
    GREBE_TRY(schema_new(a, r->id_format, id_field->name, true, 0, &r->id_type, err));
    GREBE_TRY(schema_widens(id_schema, &r->id_type, err));
    GREBE_TRY(choose_vector_type(r, r->schema.children[r->vector], err));
    GREBE_TRY(vdb_payloads_init(&r->payloads, a, &r->schema, r->id, r->vector, err));
out:
    return st;
}

/* ---- rows ---- */

static grebe_status id_of_row(struct row_reader *r, struct arena *ar, const struct ArrowArray *ids, int64_t row,
                              struct vdb_id *out, grebe_error *err)
{
    if (array_is_null(ids, row)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "id: expected a value, found null");
    }
    int64_t at = row + ids->offset;
    if (r->id_is_text) {
        const int64_t *ends = ids->buffers[1];
        size_t len = (size_t)(ends[at + 1] - ends[at]);
        const char *text = len == 0 ? "" : (const char *)ids->buffers[2] + ends[at];
        *out = (struct vdb_id){ .text = text, .len = len };
        if (!r->id_is_json) {
            return GREBE_OK;
        }
        const struct vdb_value *v;
        grebe_status st = vdb_json_parse(ar, text, len, &v, err);
        return error_wrap(err, st == GREBE_OK ? vdb_id_from_json(v, out, err) : st, "id");
    }
    uint64_t v;
    memcpy(&v, (const unsigned char *)ids->buffers[1] + (size_t)at * 8, 8);
    *out = (struct vdb_id){ .is_number = true, .number = v };
    if (r->id_format[0] == 'l' && (int64_t)v < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "id: expected a number from 0, found %lld", (long long)(int64_t)v);
    }
    return GREBE_OK;
}

static grebe_status vector_of_text(struct row_reader *r, const struct ArrowArray *texts, int64_t row, const float **out,
                                   uint32_t *dim, grebe_error *err)
{
    const int64_t *ends = (const int64_t *)texts->buffers[1] + texts->offset + row;
    float *values = NULL;
    size_t n = 0;
    if (array_is_null(texts, row)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "vector: expected numbers, found null");
    }
    const char *text = ends[0] == ends[1] ? "" : (const char *)texts->buffers[2] + ends[0];
    grebe_status st = vdb_vector_from_text(r->f->a, text, (size_t)(ends[1] - ends[0]), &values, &n, err);
    if (st == GREBE_OK && (n == 0 || n > UINT32_MAX)) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "vector: expected 1 to %u components, found %zu", UINT32_MAX, n);
    }
    buf_clear(&r->vector_buf);
    st = st == GREBE_OK ? buf_put(&r->vector_buf, values, n * sizeof *values, err) : st;
    mem_free(r->f->a, values, n * sizeof *values);
    *out = (const float *)(const void *)r->vector_buf.data;
    *dim = (uint32_t)n;
    return st;
}

/* @param out Borrowed from the array or from the reader. */
static grebe_status vector_of_row(struct row_reader *r, const struct ArrowArray *vectors, int64_t row,
                                  const float **out, uint32_t *dim, grebe_error *err)
{
    const int64_t *ends = (const int64_t *)vectors->buffers[1] + vectors->offset + row;
    const struct ArrowArray *items = vectors->children[0];
    bool is_null = array_is_null(vectors, row);
    int64_t n = ends[1] - ends[0];
    if (is_null || n <= 0 || n > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_EINVAL, "vector: expected 1 to %u components, found %s", UINT32_MAX,
                          is_null ? "null" : n == 0 ? "none" : "another number");
    }
    for (int64_t i = ends[0]; items->null_count != 0 && i < ends[1]; i++) {
        if (array_is_null(items, i)) {
            return GREBE_FAIL(err, GREBE_EINVAL, "vector: expected numbers, found null");
        }
    }
    size_t first = (size_t)(items->offset + ends[0]);
    *dim = (uint32_t)n;
    if (r->component == 'f') {
        *out = (const float *)items->buffers[1] + first;
        return GREBE_OK;
    }
    buf_clear(&r->vector_buf);
    grebe_status st = buf_reserve(&r->vector_buf, (size_t)n * sizeof(float), err);
    if (st != GREBE_OK) {
        return st;
    }
    float *to = (float *)(void *)r->vector_buf.data;
    for (size_t i = 0; i < (size_t)n; i++) {
        double d;
        int64_t whole;
        const void *from = (const unsigned char *)items->buffers[1] + (first + i) * 8;
        memcpy(&d, from, 8);
        memcpy(&whole, from, 8);
        to[i] = (float)(r->component == 'l' ? (double)whole : d);
    }
    *out = to;
    return GREBE_OK;
}

static grebe_status add_row(struct row_reader *r, const struct ArrowArray *ids, const struct ArrowArray *vectors,
                            int64_t row, grebe_error *err)
{
    struct arena ar = ARENA_INIT(r->f->a);
    struct vdb_id id;
    const float *vector = NULL;
    uint32_t dim = 0;
    const char *payload;
    size_t len;
    grebe_status st;
    GREBE_TRY(id_of_row(r, &ar, ids, row, &id, err));
    GREBE_TRY(r->component == 't' ? vector_of_text(r, vectors, row, &vector, &dim, err)
                                  : vector_of_row(r, vectors, row, &vector, &dim, err));
    GREBE_TRY(vdb_payloads_next(&r->payloads, &payload, &len, err));
    GREBE_TRY(vdb_points_add(&r->f->kept, &id, vector, dim, payload, len, err));
out:
    arena_release(&ar);
    return st;
}

static grebe_status add_batch(struct row_reader *r, struct ArrowArray *given, grebe_error *err)
{
    const grebe_allocator *a = r->f->a;
    struct ArrowArray batch = { 0 }, ids = { 0 }, vectors = { 0 };
    grebe_status st;
    GREBE_TRY(array_import_rows(a, &r->schema, given, &batch, err));
    GREBE_TRY(array_check(&r->schema, &batch, true, err));
    GREBE_TRY(array_widen(a, r->schema.children[r->id], &r->id_type, batch.children[r->id], &ids, err));
    GREBE_TRY(array_widen(a, r->schema.children[r->vector], &r->vector_type, batch.children[r->vector], &vectors, err));
    GREBE_TRY(vdb_payloads_begin(&r->payloads, &batch, err));
    for (int64_t row = 0; row < batch.length; row++, r->row++) {
        st = add_row(r, &ids, &vectors, row, err);
        if (st != GREBE_OK) {
            error_wrap(err, st, "%s: row %llu", r->f->name, (unsigned long long)r->row);
            goto out;
        }
    }
out:
    array_release(&ids);
    array_release(&vectors);
    array_release(&batch);
    return st;
}

grebe_status vdb_feed_rows(struct vdb_feed *f, const grebe_allocator *a, struct ArrowArrayStream *rows,
                           const grebe_vdb_write_options *o, grebe_error *err)
{
    struct row_reader r = { .f = f, .id_is_json = o->ids_are_json, .vector_buf = BUF_INIT(a) };
    struct ArrowArray batch = { 0 };
    grebe_status st;
    const char *name = o->name;
    *f = (struct vdb_feed){ .a = a, .name = name, .is_kept = true };
    vdb_points_init(&f->kept, a);
    GREBE_TRY(stream_schema(rows, &r.schema, err));
    GREBE_TRY(schema_check(&r.schema, err));
    GREBE_TRY(error_wrap(err, find_columns(&r, o->id_column, o->vector_column, err), "%s", name));
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
    vdb_payloads_release(&r.payloads);
    buf_release(&r.vector_buf);
    schema_release(&r.schema);
    schema_release(&r.id_type);
    schema_release(&r.vector_type);
    stream_release(rows);
    return st;
}
