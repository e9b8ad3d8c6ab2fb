/* SPDX-License-Identifier: Apache-2.0 */
/* Points of a collection as a stream of batches, in the order of their ids. */
#include "gitvdb/vdb_api.h"

#include <string.h>

#include "gitvdb/vdb_columns.h"
#include "gitvdb/vdb_select.h"

enum { BATCH_ROWS = 4096, BATCH_BYTES = 1 << 24, COLUMNS_MAX = 3 }; /* bytes: of vectors */

struct scan {
    grebe_vdb *vdb;          /* a reference: the stream may outlive the caller's */
    struct vdb_view *view;
    struct arena ar;         /* names of fields; ids of a selection */
    const char **fields;
    size_t n_fields;
    bool with_payload, with_vector;
    struct vdb_place *places; /* shape [n_places] */
    size_t n_places, at, end; /* rows that are still to be given */
    enum vdb_id_kinds kinds;
};

static void scan_free(void *self)
{
    struct scan *s = self;
    const grebe_allocator *a = s->vdb->a;
    mem_free(a, s->places, s->n_places * sizeof *s->places);
    arena_release(&s->ar);
    vdb_view_drop(s->view);
    grebe_vdb_close(s->vdb);
    mem_free(a, s, sizeof *s);
}

static grebe_status scan_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct scan *s = self;
    const grebe_allocator *a = s->vdb->a;
    struct ArrowSchema fields[COLUMNS_MAX] = { { 0 } };
    const struct ArrowSchema *list[COLUMNS_MAX] = { &fields[0], &fields[1], &fields[2] };
    size_t n = 0;
    grebe_status st;
    GREBE_TRY(vdb_id_field(a, s->kinds, &fields[n++], err));
    if (s->with_vector) {
        GREBE_TRY(vdb_vector_field(a, s->view->snapshot->meta.config.dimension, &fields[n++], err));
    }
    if (s->with_payload) {
        GREBE_TRY(vdb_payload_field(a, &fields[n++], err));
    }
    st = schema_struct(a, list, n, out, err);
out:
    for (size_t i = 0; i < COLUMNS_MAX; i++) {
        schema_release(&fields[i]);
    }
    return st;
}

/* ---- columns of a batch of n rows ---- */

static const struct vdb_shard *shard_at(const struct scan *s, size_t row)
{
    return &s->view->snapshot->shards[s->places[row].shard];
}

static grebe_status number_column(const struct scan *s, size_t n, struct ArrowArray *out, grebe_error *err)
{
    void *data;
    grebe_status st;
    GREBE_TRY(array_new(s->vdb->a, (int64_t)n, 2, 0, out, err));
    GREBE_TRY(array_alloc_buffer(s->vdb->a, out, 1, n * sizeof(uint64_t), &data, err));
    uint64_t *to = data;
    for (size_t i = 0; i < n; i++) {
        to[i] = vdb_rows_id(&shard_at(s, s->at + i)->ids, s->places[s->at + i].row).number;
    }
out:
    return st;
}

static grebe_status put_id(const struct scan *s, size_t row, struct buf *text, grebe_error *err)
{
    struct vdb_id id = vdb_rows_id(&shard_at(s, row)->ids, s->places[row].row);
    if (s->kinds == VDB_IDS_TEXTS) {
        return buf_put(text, id.text, id.len, err);
    }
    struct vdb_value v = vdb_id_to_json(&id);
    return vdb_json_put(text, &v, err);
}

static grebe_status put_payload(const struct scan *s, size_t row, struct buf *text, grebe_error *err)
{
    size_t len;
    const char *payload = (const char *)vdb_rows_get(&shard_at(s, row)->payloads, s->places[row].row, &len);
    if (s->n_fields == 0) {
        return buf_put(text, payload, len, err);
    }
    struct arena ar = ARENA_INIT(s->vdb->a);
    struct vdb_value v;
    grebe_status st = vdb_project(&ar, payload, len, s->fields, s->n_fields, &v, err);
    st = st == GREBE_OK ? vdb_json_put(text, &v, err) : st;
    arena_release(&ar);
    return st;
}

static grebe_status text_column(const struct scan *s, size_t n,
                                grebe_status (*put)(const struct scan *, size_t, struct buf *, grebe_error *),
                                struct ArrowArray *out, grebe_error *err)
{
    struct buf text = BUF_INIT(s->vdb->a);
    void *offsets, *bytes;
    grebe_status st;
    GREBE_TRY(array_new(s->vdb->a, (int64_t)n, 3, 0, out, err));
    GREBE_TRY(array_alloc_buffer(s->vdb->a, out, 1, (n + 1) * sizeof(int64_t), &offsets, err));
    int64_t *ends = offsets;
    ends[0] = 0;
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(put(s, s->at + i, &text, err));
        ends[i + 1] = (int64_t)text.len;
    }
    GREBE_TRY(array_alloc_buffer(s->vdb->a, out, 2, text.len, &bytes, err));
    if (text.len != 0) {
        memcpy(bytes, text.data, text.len);
    }
out:
    buf_release(&text);
    return st;
}

static grebe_status vector_column(const struct scan *s, size_t n, struct ArrowArray *out, grebe_error *err)
{
    size_t dim = s->view->snapshot->meta.config.dimension;
    void *data;
    grebe_status st;
    GREBE_TRY(array_new(s->vdb->a, (int64_t)n, 1, 1, out, err));
    GREBE_TRY(array_new(s->vdb->a, (int64_t)(n * dim), 2, 0, out->children[0], err));
    GREBE_TRY(array_alloc_buffer(s->vdb->a, out->children[0], 1, n * dim * sizeof(float), &data, err));
    float *to = data;
    for (size_t i = 0; i < n; i++) {
        memcpy(to + i * dim, shard_at(s, s->at + i)->vectors.values + (size_t)s->places[s->at + i].row * dim,
               dim * sizeof(float));
    }
out:
    return st;
}

static grebe_status scan_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct scan *s = self;
    struct ArrowArray columns[COLUMNS_MAX] = { { 0 } };
    size_t vector = s->view->snapshot->meta.config.dimension * sizeof(float), n = 0;
    size_t most = !s->with_vector || vector <= BATCH_BYTES / BATCH_ROWS ? BATCH_ROWS
                  : vector < BATCH_BYTES                                ? BATCH_BYTES / vector
                                                                        : 1;
    size_t rows = s->end - s->at < most ? s->end - s->at : most;
    struct vdb_work work = vdb_work_of(s->vdb, NULL);
    grebe_status st;
    *out = (struct ArrowArray){ 0 };
    if (rows == 0) {
        return GREBE_END;
    }
    /* neighbours by id stand in any shard; what is loaded stays */
    GREBE_TRY(vdb_snapshot_load_all(s->view->snapshot, &work, VDB_PART_IDS | (s->with_vector ? VDB_PART_VECTORS : 0) |
                                    (s->with_payload ? VDB_PART_PAYLOADS : 0), err));
    GREBE_TRY(s->kinds == VDB_IDS_NUMBERS ? number_column(s, rows, &columns[n], err)
                                          : text_column(s, rows, put_id, &columns[n], err));
    n++;
    if (s->with_vector) {
        GREBE_TRY(vector_column(s, rows, &columns[n++], err));
    }
    if (s->with_payload) {
        GREBE_TRY(text_column(s, rows, put_payload, &columns[n++], err));
    }
    GREBE_TRY(array_struct(s->vdb->a, (int64_t)rows, columns, n, out, err));
    s->at += rows;
out:
    for (size_t i = 0; i < COLUMNS_MAX; i++) {
        array_release(&columns[i]);
    }
    return st;
}

static const struct stream_ops scan_ops = { scan_schema, scan_next, scan_free };

/* ---- opening ---- */

static grebe_status copy_fields(struct scan *s, const grebe_vdb_read_options *o, grebe_error *err)
{
    s->fields = arena_array(&s->ar, o->n_fields, sizeof *s->fields);
    bool is_good = s->fields != NULL;
    for (size_t i = 0; is_good && i < o->n_fields; i++) {
        s->fields[i] = arena_str(&s->ar, o->fields[i], strlen(o->fields[i]));
        is_good = s->fields[i] != NULL;
    }
    s->n_fields = o->n_fields;
    return is_good ? GREBE_OK : mem_fail(err, o->n_fields * sizeof *s->fields, "names of fields");
}

static bool has_number(const struct scan *s, size_t row)
{
    return vdb_rows_id(&shard_at(s, row)->ids, s->places[row].row).is_number;
}

static grebe_status choose_rows(struct scan *s, const grebe_vdb_select *select, const grebe_vdb_read_options *o,
                                grebe_error *err)
{
    struct vdb_snapshot *snapshot = s->view->snapshot;
    struct vdb_work work = vdb_work_of(s->vdb, o->call);
    struct vdb_selection which;
    struct vdb_filter *filter = NULL;
    grebe_status st;
    GREBE_TRY(vdb_selection_of(s->vdb, select, &s->ar, &which, &filter, err));
    GREBE_TRY(vdb_select_rows(snapshot, &work, &which, &s->places, &s->n_places, err));
    GREBE_TRY(vdb_sort_places(snapshot, s->places, s->n_places, err));
    s->at = o->offset < s->n_places ? (size_t)o->offset : s->n_places;
    s->end = o->limit < s->n_places - s->at ? s->at + (size_t)o->limit : s->n_places;
    /* in the order of ids all texts come before all numbers */
    s->kinds = o->ids_are_json                           ? VDB_IDS_MIXED
               : s->at == s->end || has_number(s, s->at) ? VDB_IDS_NUMBERS
               : has_number(s, s->end - 1)               ? VDB_IDS_MIXED
                                                         : VDB_IDS_TEXTS;
out:
    vdb_filter_free(filter);
    return st;
}

grebe_status grebe_vdb_scan(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                            const grebe_vdb_read_options *options, struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_vdb_read_options o;
    grebe_status st;
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && out != NULL);
    *out = (struct ArrowArrayStream){ 0 };
    struct scan *s = mem_alloc_zero(vdb->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a scan");
    }
    s->vdb = vdb_retain(vdb);
    s->ar = ARENA_INIT(vdb->a);
    GREBE_TRY(vdb_read_options_of(options, &o, err));
    s->with_payload = o.with_payload;
    s->with_vector = o.with_vector;
    GREBE_TRY(copy_fields(s, &o, err));
    GREBE_TRY(vdb_view_of(vdb, name, o.at, &s->view, err));
    GREBE_TRY(error_wrap(err, choose_rows(s, select, &o, err), "collection %s", name));
    st = stream_export(vdb->a, &scan_ops, s, out, err);
out:
    if (st != GREBE_OK) {
        scan_free(s);
    }
    return st;
}
