/* SPDX-License-Identifier: Apache-2.0 */
/* Points as Arrow rows: id, vector, payload; with a score and the number of the query for searches. */
#include "gitvdb/vdb_api.h"

#include <string.h>

#include "gitvdb/vdb_columns.h"
#include "gitvdb/vdb_rows_any.h"

/* What all points of a result have in common. */
struct shape {
    int64_t n;
    bool all_numbers, all_texts, has_score, has_payload, has_vector;
    size_t dim;
};

static struct shape shape_of(const grebe_vdb_result *r)
{
    struct shape s = { 0, true, true, false, false, false, 0 };
    for (size_t l = 0; l < r->n_lists; l++) {
        for (size_t i = 0; i < r->points[l].array.n; i++, s.n++) {
            const struct vdb_value *p = &r->points[l].array.items[i];
            const struct vdb_value *v = vdb_json_get(p, "vector", 6);
            bool is_text = p->object.members[0].value.type == VDB_STRING;
            s.all_numbers = s.all_numbers && !is_text;
            s.all_texts = s.all_texts && is_text;
            s.has_score = s.has_score || vdb_json_get(p, "score", 5) != NULL;
            s.has_payload = s.has_payload || vdb_json_get(p, "payload", 7) != NULL;
            s.has_vector = s.has_vector || v != NULL;
            s.dim = v != NULL ? v->array.n : s.dim;
        }
    }
    return s;
}

typedef grebe_status (*text_fn)(const struct vdb_value *point, bool is_json, struct buf *out, grebe_error *err);

static grebe_status id_text(const struct vdb_value *p, bool is_json, struct buf *out, grebe_error *err)
{
    const struct vdb_value *id = &p->object.members[0].value;
    return is_json ? vdb_json_put(out, id, err) : buf_put(out, id->s.text, id->s.len, err);
}

static grebe_status payload_text(const struct vdb_value *p, bool is_json, struct buf *out, grebe_error *err)
{
    (void)is_json;
    return vdb_json_put(out, vdb_json_get(p, "payload", 7), err);
}

/* A column of large strings. */
static grebe_status text_column(const grebe_vdb_result *r, const struct shape *s, text_fn put, bool is_json,
                                struct ArrowArray *out, grebe_error *err)
{
    struct buf text = BUF_INIT(r->a);
    void *offsets, *bytes;
    int64_t at = 0;
    grebe_status st;
    GREBE_TRY(array_new(r->a, s->n, 3, 0, out, err));
    GREBE_TRY(array_alloc_buffer(r->a, out, 1, ((size_t)s->n + 1) * sizeof(int64_t), &offsets, err));
    int64_t *ends = offsets;
    ends[0] = 0;
    for (size_t l = 0; l < r->n_lists; l++) {
        for (size_t i = 0; i < r->points[l].array.n; i++) {
            GREBE_TRY(put(&r->points[l].array.items[i], is_json, &text, err));
            ends[++at] = (int64_t)text.len;
        }
    }
    GREBE_TRY(array_alloc_buffer(r->a, out, 2, text.len, &bytes, err));
    if (text.len != 0) {
        memcpy(bytes, text.data, text.len);
    }
out:
    buf_release(&text);
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

enum value_column { COLUMN_QUERY, COLUMN_ID, COLUMN_SCORE };

static grebe_status value_column(const grebe_vdb_result *r, const struct shape *s, enum value_column which,
                                 struct ArrowArray *out, grebe_error *err)
{
    size_t width = which == COLUMN_ID ? 8 : 4;
    void *data;
    grebe_status st;
    GREBE_TRY(array_new(r->a, s->n, 2, 0, out, err));
    GREBE_TRY(array_alloc_buffer(r->a, out, 1, (size_t)s->n * width, &data, err));
    unsigned char *to = data;
    for (size_t l = 0; l < r->n_lists; l++) {
        for (size_t i = 0; i < r->points[l].array.n; i++, to += width) {
            const struct vdb_value *p = &r->points[l].array.items[i];
            int32_t query = (int32_t)l;
            float score = which == COLUMN_SCORE ? (float)vdb_json_get(p, "score", 5)->f : 0;
            const void *from = which == COLUMN_QUERY ? (const void *)&query
                               : which == COLUMN_ID  ? (const void *)&p->object.members[0].value.u
                                                     : (const void *)&score;
            memcpy(to, from, width);
        }
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static grebe_status vector_column(const grebe_vdb_result *r, const struct shape *s, struct ArrowArray *out, grebe_error *err)
{
    struct ArrowArray items = { 0 };
    void *data;
    grebe_status st;
    GREBE_TRY(array_new(r->a, s->n * (int64_t)s->dim, 2, 0, &items, err));
    GREBE_TRY(array_alloc_buffer(r->a, &items, 1, (size_t)s->n * s->dim * sizeof(float), &data, err));
    float *to = data;
    for (size_t l = 0; l < r->n_lists; l++) {
        for (size_t i = 0; i < r->points[l].array.n; i++) {
            const struct vdb_value *v = vdb_json_get(&r->points[l].array.items[i], "vector", 6);
            for (size_t d = 0; d < s->dim; d++) {
                *to++ = (float)v->array.items[d].f;
            }
        }
    }
    GREBE_TRY(array_new(r->a, s->n, 1, 1, out, err));
    array_move(out->children[0], &items);
out:
    array_release(&items);
    return st;
}

/* ---- all columns ---- */

grebe_status grebe_vdb_result_rows(const grebe_vdb_result *r, struct ArrowArray *out, struct ArrowSchema *out_schema,
                                   grebe_error *err)
{
    enum { MOST = 5 };
    struct ArrowArray columns[MOST] = { { 0 } };
    struct ArrowSchema fields[MOST] = { { 0 } };
    const struct ArrowSchema *list[MOST];
    size_t n = 0;
    grebe_status st = GREBE_OK;
    GREBE_CHECK_ARG(err, r != NULL && out != NULL && out_schema != NULL);
    *out = (struct ArrowArray){ 0 };
    *out_schema = (struct ArrowSchema){ 0 };
    if (r->points == NULL) {
        return vdb_rows_of_any(r, out, out_schema, err);
    }
    struct shape s = shape_of(r);
    if (r->n_lists > 1) {
        GREBE_TRY(vdb_field(r->a, "query", "i", NULL, NULL, &fields[n], err));
        GREBE_TRY(value_column(r, &s, COLUMN_QUERY, &columns[n++], err));
    }
    enum vdb_id_kinds kinds = r->ids_are_json ? VDB_IDS_MIXED
                              : s.all_numbers ? VDB_IDS_NUMBERS
                              : s.all_texts   ? VDB_IDS_TEXTS
                                              : VDB_IDS_MIXED;
    GREBE_TRY(vdb_id_field(r->a, kinds, &fields[n], err));
    GREBE_TRY(kinds == VDB_IDS_NUMBERS ? value_column(r, &s, COLUMN_ID, &columns[n], err)
                                       : text_column(r, &s, id_text, kinds == VDB_IDS_MIXED, &columns[n], err));
    n++;
    if (s.has_score) {
        GREBE_TRY(vdb_field(r->a, "score", "f", NULL, NULL, &fields[n], err));
        GREBE_TRY(value_column(r, &s, COLUMN_SCORE, &columns[n++], err));
    }
    if (s.has_vector) {
        GREBE_TRY(vdb_vector_field(r->a, s.dim, &fields[n], err));
        GREBE_TRY(vector_column(r, &s, &columns[n++], err));
    }
    if (s.has_payload) {
        GREBE_TRY(vdb_payload_field(r->a, &fields[n], err));
        GREBE_TRY(text_column(r, &s, payload_text, true, &columns[n++], err));
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = &fields[i];
    }
    GREBE_TRY(schema_struct(r->a, list, n, out_schema, err));
    GREBE_TRY(array_struct(r->a, s.n, columns, n, out, err));
out:
    for (size_t i = 0; i < MOST; i++) {
        array_release(&columns[i]);
        schema_release(&fields[i]);
    }
    if (st != GREBE_OK) {
        schema_release(out_schema);
    }
    return st;
}

grebe_status grebe_vdb_result_stream(const grebe_vdb_result *r, struct ArrowArrayStream *out, grebe_error *err)
{
    struct ArrowArray rows;
    struct ArrowSchema schema;
    *out = (struct ArrowArrayStream){ 0 };
    grebe_status st = grebe_vdb_result_rows(r, &rows, &schema, err);
    if (st == GREBE_OK) {
        st = stream_from_batches(r->a, &schema, &rows, 1, out, err);
        schema_release(&schema);
        if (st != GREBE_OK) {
            array_release(&rows);
        }
    }
    return st;
}
