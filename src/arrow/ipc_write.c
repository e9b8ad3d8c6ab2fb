/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc.h"

#include <assert.h>
#include <string.h>

#include "arrow/arrow_internal.h"
#include "arrow/array_select.h"
#include "arrow/ipc_internal.h"
#include "base/endian.h"

enum { BODY_ALIGN = 64 };

/* A dictionary as it was written last. */
struct written {
    struct ArrowArray values;
};

struct ipc_writer {
    const grebe_allocator *a;
    struct ArrowSchema schema;
    ipc_sink_fn sink;
    void *sink_ctx;
    struct written *dictionaries; /* by id: the order of a walk; shape [n_dictionaries] */
    size_t n_dictionaries;
    struct buf metadata, nodes, buffers, variadic;
    struct buf segments; /* struct segment */
    bool is_finished;
};

/* A run of bytes of the body. */
struct segment {
    const void *p;
    size_t len;
};

grebe_status ipc_sink_buf(void *buf, const void *bytes, size_t len, grebe_error *err)
{
    return buf_put(buf, bytes, len, err);
}

/* ---- what can be written as it lies in memory ---- */

/* Offsets are zero from the root to the leaves, and lists begin at their child's first row. */
static bool is_plain(const struct ArrowSchema *schema, const struct ArrowArray *array, int depth)
{
    struct arrow_type t;
    if (array->offset != 0 || depth > ARROW_DEPTH_MAX ||
        arrow_type_of(schema, &t, NULL) != GREBE_OK) {
        return false;
    }
    int width = arrow_offset_width(t.kind);
    if (width > 0 && !arrow_kind_is_list_view(t.kind) && array->length > 0 &&
        load_offset(array->buffers[1], width, 0) != 0) {
        return false;
    }
    if (t.kind == ARROW_RUN_END_ENCODED && array->length > 0) {
        struct arrow_type ends;
        const struct ArrowArray *e = array->children[0];
        if (arrow_type_of(schema->children[0], &ends, NULL) != GREBE_OK ||
            arrow_load_int(e->buffers[1], ends.kind, e->offset + e->length - 1) != array->length) {
            return false;
        }
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        if (!is_plain(schema->children[i], array->children[i], depth + 1)) {
            return false;
        }
    }
    return array->dictionary == NULL || is_plain(schema->dictionary, array->dictionary, depth + 1);
}

/* ---- one batch ---- */

static grebe_status put_i64(struct buf *b, int64_t v, grebe_error *err)
{
    unsigned char bytes[8];
    store_le64(bytes, (uint64_t)v);
    return buf_put(b, bytes, sizeof bytes, err);
}

/* A buffer of the body: its place is noted, its bytes follow when the metadata is out. */
static grebe_status put_buffer(struct ipc_writer *w, int64_t *body_len, const void *p, size_t len,
                               grebe_error *err)
{
    struct segment s = { p, p != NULL ? len : 0 };
    grebe_status st = put_i64(&w->buffers, *body_len, err);
    if (st == GREBE_OK) {
        st = put_i64(&w->buffers, (int64_t)s.len, err);
    }
    if (st == GREBE_OK) {
        st = buf_put(&w->segments, &s, sizeof s, err);
    }
    *body_len += (int64_t)((s.len + BODY_ALIGN - 1) / BODY_ALIGN * BODY_ALIGN);
    return st;
}

static grebe_status put_view_buffers(struct ipc_writer *w, const struct ArrowArray *array,
                                     int64_t n, int64_t *body_len, grebe_error *err)
{
    int64_t n_variadic = array->n_buffers - 3;
    grebe_status st = put_i64(&w->variadic, n_variadic, err);
    if (st == GREBE_OK) {
        st = put_buffer(w, body_len, array->buffers[1], (size_t)n * 16, err);
    }
    for (int64_t i = 0; i < n_variadic && st == GREBE_OK; i++) {
        size_t len = (size_t)load_i64_at(array->buffers[array->n_buffers - 1], i);
        st = put_buffer(w, body_len, array->buffers[2 + i], len, err);
    }
    return st;
}

static grebe_status put_node(struct ipc_writer *w, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, int64_t n, int64_t *body_len,
                             grebe_error *err);

/* Buffers behind the validity; *n_child is the number of rows that children have. */
static grebe_status put_values(struct ipc_writer *w, const struct arrow_type *t,
                               const struct ArrowArray *array, int64_t n, int64_t *n_child,
                               int64_t *body_len, grebe_error *err)
{
    int width = arrow_offset_width(t->kind);
    *n_child = n;
    if (t->kind == ARROW_STRUCT) {
        return GREBE_OK;
    }
    if (t->kind == ARROW_FIXED_LIST) {
        *n_child = n * t->list_size;
        return GREBE_OK;
    }
    if (t->kind == ARROW_BOOL) {
        return put_buffer(w, body_len, array->buffers[1], bitmap_bytes(n), err);
    }
    if (arrow_kind_is_view(t->kind)) {
        return put_view_buffers(w, array, n, body_len, err);
    }
    if (arrow_kind_is_list_view(t->kind)) {
        *n_child = array->children[0]->length;
        grebe_status st = put_buffer(w, body_len, array->buffers[1], (size_t)(n * width), err);
        return st != GREBE_OK
                   ? st
                   : put_buffer(w, body_len, array->buffers[2], (size_t)(n * width), err);
    }
    if (width > 0) {
        /* No rows: the one offset may be missing in memory, and may be left out here. */
        size_t len = n > 0 ? (size_t)(n + 1) * (size_t)width : 0;
        *n_child = n > 0 ? load_offset(array->buffers[1], width, n) : 0;
        grebe_status st = put_buffer(w, body_len, array->buffers[1], len, err);
        return st != GREBE_OK || !arrow_kind_is_bytes(t->kind)
                   ? st
                   : put_buffer(w, body_len, array->buffers[2], (size_t)*n_child, err);
    }
    return put_buffer(w, body_len, array->buffers[1], (size_t)n * (size_t)t->byte_width, err);
}

static grebe_status put_union_buffers(struct ipc_writer *w, const struct arrow_type *t,
                                      const struct ArrowArray *array, int64_t n,
                                      int64_t *body_len, grebe_error *err)
{
    grebe_status st = put_buffer(w, body_len, array->buffers[0], (size_t)n, err);
    if (st == GREBE_OK && t->kind == ARROW_DENSE_UNION) {
        st = put_buffer(w, body_len, array->buffers[1], (size_t)n * 4, err);
    }
    return st;
}

static int64_t nulls_in(const struct arrow_type *t, const struct ArrowArray *array, int64_t n)
{
    const uint8_t *bits = arrow_validity(array, t->kind);
    if (t->kind == ARROW_NULL) {
        return n;
    }
    return bits != NULL ? n - bitmap_count(bits, array->offset, n) : 0;
}

static grebe_status put_node(struct ipc_writer *w, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, int64_t n, int64_t *body_len,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arrow_type t;
    int64_t n_child = n;

    GREBE_TRY(arrow_type_of(schema, &t, err));
    int64_t n_nulls = nulls_in(&t, array, n);
    GREBE_TRY(put_i64(&w->nodes, n, err));
    GREBE_TRY(put_i64(&w->nodes, n_nulls, err));
    if (arrow_kind_is_union(t.kind)) {
        GREBE_TRY(put_union_buffers(w, &t, array, n, body_len, err));
    } else if (t.kind != ARROW_NULL && t.kind != ARROW_RUN_END_ENCODED) {
        GREBE_TRY(put_buffer(w, body_len, n_nulls > 0 ? array->buffers[0] : NULL, bitmap_bytes(n),
                             err));
        GREBE_TRY(put_values(w, &t, array, n, &n_child, body_len, err));
    }
    bool is_own_length = t.kind == ARROW_DENSE_UNION || t.kind == ARROW_RUN_END_ENCODED;
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowArray *child = array->children[i];
        GREBE_TRY(put_node(w, schema->children[i], child, is_own_length ? child->length : n_child,
                           body_len, err));
    }
out:
    return st;
}

static grebe_status put_batch_table(struct ipc_writer *w, struct flatbuf_writer *fw,
                                    int64_t length, size_t link_at, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct flatbuf_field fields[] = {
        { BATCH_LENGTH, 8, (uint64_t)length },
        { BATCH_NODES, FLATBUF_OFFSET, 0 },
        { BATCH_BUFFERS, FLATBUF_OFFSET, 0 },
        { BATCH_VARIADIC, FLATBUF_OFFSET, 0 },
    };
    size_t at[4];
    size_t pos = 0;
    bool has_views = w->variadic.len > 0;

    GREBE_TRY(flatbuf_put_table(fw, fields, has_views ? 4 : 3, at, &pos, err));
    flatbuf_link(fw, link_at, pos);
    GREBE_TRY(flatbuf_put_vector(fw, w->nodes.data, w->nodes.len / 16, 16, 8, &pos, err));
    flatbuf_link(fw, at[1], pos);
    GREBE_TRY(flatbuf_put_vector(fw, w->buffers.data, w->buffers.len / 16, 16, 8, &pos, err));
    flatbuf_link(fw, at[2], pos);
    if (has_views) {
        GREBE_TRY(flatbuf_put_vector(fw, w->variadic.data, w->variadic.len / 8, 8, 8, &pos, err));
        flatbuf_link(fw, at[3], pos);
    }
out:
    return st;
}

static grebe_status put_dictionary_table(struct flatbuf_writer *fw, int64_t id, size_t *link_at,
                                         grebe_error *err)
{
    const struct flatbuf_field fields[] = {
        { DICTIONARY_ID, 8, (uint64_t)id },
        { DICTIONARY_DATA, FLATBUF_OFFSET, 0 },
        { DICTIONARY_IS_DELTA, 1, 0 },
    };
    size_t at[3];
    size_t pos = 0;
    grebe_status st = flatbuf_put_table(fw, fields, 3, at, &pos, err);
    if (st == GREBE_OK) {
        flatbuf_link(fw, *link_at, pos);
        *link_at = at[1];
    }
    return st;
}

static grebe_status put_body(struct ipc_writer *w, grebe_error *err)
{
    static const unsigned char zeros[BODY_ALIGN] = { 0 };
    const struct segment *s = (const struct segment *)(void *)w->segments.data;
    size_t n = w->segments.len / sizeof *s;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        if (s[i].len == 0) {
            continue;
        }
        st = w->sink(w->sink_ctx, s[i].p, s[i].len, err);
        size_t pad = (BODY_ALIGN - s[i].len % BODY_ALIGN) % BODY_ALIGN;
        if (st == GREBE_OK && pad > 0) {
            st = w->sink(w->sink_ctx, zeros, pad, err);
        }
    }
    return st;
}

/* A message of columns (children of rows, n_columns of them) of `length` rows. id < 0: records. */
static grebe_status put_message(struct ipc_writer *w, const struct ArrowSchema *const *fields,
                                const struct ArrowArray *const *columns, int64_t n_columns,
                                int64_t length, int64_t id, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ipc_message m;
    int64_t body_len = 0;

    buf_clear(&w->metadata);
    buf_clear(&w->nodes);
    buf_clear(&w->buffers);
    buf_clear(&w->variadic);
    buf_clear(&w->segments);
    for (int64_t i = 0; i < n_columns; i++) {
        GREBE_TRY(put_node(w, fields[i], columns[i], length, &body_len, err));
    }
    GREBE_TRY(ipc_message_begin(&m, &w->metadata, id < 0 ? IPC_RECORDS : IPC_DICTIONARY, body_len,
                                err));
    if (id >= 0) {
        GREBE_TRY(put_dictionary_table(&m.w, id, &m.header_at, err));
    }
    GREBE_TRY(put_batch_table(w, &m.w, length, m.header_at, err));
    GREBE_TRY(ipc_message_end(&m, err));
    GREBE_TRY(w->sink(w->sink_ctx, w->metadata.data, w->metadata.len, err));
    GREBE_TRY(put_body(w, err));
out:
    return st;
}

/* ---- dictionaries ---- */

static grebe_status put_dictionary(struct ipc_writer *w, const struct ArrowSchema *values,
                                   const struct ArrowArray *array, size_t id, grebe_error *err)
{
    struct written *last = &w->dictionaries[id];
    if (last->values.release != NULL && array_equal(values, array, &last->values)) {
        return GREBE_OK;
    }
    struct ArrowArray copy;
    grebe_status st = array_concat(w->a, values, &array, 1, &copy, err);
    if (st != GREBE_OK) {
        return st;
    }
    array_release(&last->values);
    array_move(&last->values, &copy);
    const struct ArrowArray *column = &last->values;
    return put_message(w, &values, &column, 1, column->length, (int64_t)id, err);
}

/* Dictionaries of a column, inner ones first; ids count in the order of the schema's encoding. */
static grebe_status put_dictionaries(struct ipc_writer *w, const struct ArrowSchema *schema,
                                     const struct ArrowArray *array, size_t *next_id,
                                     grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct ArrowSchema *values = schema;
    const struct ArrowArray *inner = array;
    size_t id = *next_id;
    if (schema->dictionary != NULL) {
        ++*next_id;
        values = schema->dictionary;
        inner = array->dictionary;
    }
    for (int64_t i = 0; i < values->n_children && st == GREBE_OK; i++) {
        st = put_dictionaries(w, values->children[i], inner->children[i], next_id, err);
    }
    if (st == GREBE_OK && schema->dictionary != NULL) {
        st = put_dictionary(w, values, inner, id, err);
    }
    return st;
}

/* ---- the writer ---- */

grebe_status ipc_writer_new(const grebe_allocator *a, const struct ArrowSchema *schema,
                            ipc_sink_fn sink, void *sink_ctx, struct ipc_writer **out,
                            grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct ipc_writer *w = mem_alloc_zero(a, sizeof *w);
    if (w == NULL) {
        return mem_fail(err, sizeof *w, "a writer");
    }
    w->a = a;
    w->sink = sink;
    w->sink_ctx = sink_ctx;
    w->metadata = w->nodes = w->buffers = w->variadic = w->segments = BUF_INIT(a);
    GREBE_TRY(schema_copy(a, schema, &w->schema, err));
    GREBE_TRY(ipc_schema_encode(&w->metadata, &w->schema, err));
    size_t n = ipc_dictionary_count(&w->schema);
    if (n > 0) {
        w->dictionaries = mem_alloc_zero(a, n * sizeof *w->dictionaries);
        if (w->dictionaries == NULL) {
            st = mem_fail(err, n * sizeof *w->dictionaries, "dictionaries");
            goto out;
        }
        w->n_dictionaries = n;
    }
    GREBE_TRY(sink(sink_ctx, w->metadata.data, w->metadata.len, err));
    *out = w;
    w = NULL;
out:
    ipc_writer_free(w);
    return st;
}

void ipc_writer_free(struct ipc_writer *w)
{
    if (w == NULL) {
        return;
    }
    for (size_t i = 0; i < w->n_dictionaries; i++) {
        array_release(&w->dictionaries[i].values);
    }
    mem_free(w->a, w->dictionaries, w->n_dictionaries * sizeof *w->dictionaries);
    schema_release(&w->schema);
    buf_release(&w->metadata);
    buf_release(&w->nodes);
    buf_release(&w->buffers);
    buf_release(&w->variadic);
    buf_release(&w->segments);
    mem_free(w->a, w, sizeof *w);
}

grebe_status ipc_writer_write(struct ipc_writer *w, const struct ArrowArray *batch,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray copy;
    const struct ArrowArray *rows = batch;
    size_t next_id = 0;

    assert(!w->is_finished && batch->n_children == w->schema.n_children);
    memset(&copy, 0, sizeof copy);
    GREBE_TRY(array_check(&w->schema, batch, false, err));
    if (array_null_count(batch) != 0) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%lld rows are null as a whole",
                        (long long)array_null_count(batch));
        goto out;
    }
    if (!is_plain(&w->schema, batch, 0)) {
        GREBE_TRY(array_concat(w->a, &w->schema, &batch, 1, &copy, err));
        rows = &copy;
    }
    for (int64_t i = 0; i < rows->n_children; i++) {
        GREBE_TRY(put_dictionaries(w, w->schema.children[i], rows->children[i], &next_id, err));
    }
    GREBE_TRY(put_message(w, (const struct ArrowSchema *const *)w->schema.children,
                          (const struct ArrowArray *const *)rows->children, rows->n_children,
                          rows->length, -1, err));
out:
    array_release(&copy);
    return st;
}

grebe_status ipc_writer_finish(struct ipc_writer *w, grebe_error *err)
{
    static const unsigned char end[8] = { 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0 };
    w->is_finished = true;
    return w->sink(w->sink_ctx, end, sizeof end, err);
}
