/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc_write_internal.h"

#include <assert.h>
#include <string.h>

#include "arrow/arrow_internal.h"
#include "arrow/array_select.h"
#include "base/endian.h"

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

/* ---- dictionaries ---- */

/* Rows [begin, begin + n) of a node: shallow, never released. */
static struct ArrowArray part_of(const struct ArrowArray *array, int64_t begin, int64_t n)
{
    struct ArrowArray part = *array;
    part.offset += begin;
    part.length = n;
    part.null_count = part.null_count == 0 ? 0 : -1;
    return part;
}

/* The values behind those that were written before, which must be the first of the new ones. */
static grebe_status put_delta(struct ipc_writer *w, const struct ArrowSchema *values,
                              const struct ArrowArray *array, size_t id, grebe_error *err)
{
    struct written *last = &w->dictionaries[id];
    int64_t n_old = last->values.length;
    struct ArrowArray head = part_of(array, 0, n_old < array->length ? n_old : array->length);
    if (array->length < n_old || !array_equal(values, &head, &last->values)) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                          "dictionary %zu changes between batches: in an Arrow file it can only grow", id);
    }
    struct ArrowArray tail = part_of(array, n_old, array->length - n_old), copy;
    const struct ArrowArray *column = &tail;
    grebe_status st = array_concat(w->a, values, &column, 1, &copy, err);
    if (st == GREBE_OK) {
        column = &copy;
        st = ipc_put_message(w, &values, &column, 1, copy.length,
                         (struct message_kind){ (int64_t)id, true }, err);
        array_release(&copy);
    }
    return st;
}

static grebe_status put_dictionary(struct ipc_writer *w, const struct ArrowSchema *values,
                                   const struct ArrowArray *array, size_t id, grebe_error *err)
{
    struct written *last = &w->dictionaries[id];
    bool is_known = last->values.release != NULL;
    if (is_known && array_equal(values, array, &last->values)) {
        return GREBE_OK;
    }
    struct ArrowArray copy;
    grebe_status st = array_concat(w->a, values, &array, 1, &copy, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (is_known && w->options.is_file) {
        st = put_delta(w, values, &copy, id, err);
    } else {
        const struct ArrowArray *column = &copy;
        st = ipc_put_message(w, &values, &column, 1, column->length,
                         (struct message_kind){ (int64_t)id, false }, err);
    }
    if (st == GREBE_OK) {
        array_release(&last->values);
        array_move(&last->values, &copy);
    }
    array_release(&copy);
    return st;
}

/* A column of a file whose dictionary begins with what was written before; *out is empty when the
 * column is good as it is. */
static grebe_status follow_dictionary(struct ipc_writer *w, const struct ArrowSchema *schema,
                                      const struct ArrowArray *column, size_t id,
                                      struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray before = { 0 }, values = { 0 };
    const struct ArrowArray *last = &w->dictionaries[id].values;
    memset(out, 0, sizeof *out);
    if (schema->dictionary == NULL || last->release == NULL || !w->options.is_file ||
        array_equal(schema->dictionary, column->dictionary, last)) {
        return GREBE_OK;
    }
    /* No rows, but the old values: joined with the column they come first. */
    GREBE_TRY(array_new(w->a, 0, 2, 0, &before, err));
    GREBE_TRY(array_concat(w->a, schema->dictionary, &last, 1, &values, err));
    GREBE_TRY(array_set_dictionary(w->a, &before, &values, err));
    const struct ArrowArray *both[2] = { &before, column };
    GREBE_TRY(array_concat(w->a, schema, both, 2, out, err));
out:
    array_release(&values);
    array_release(&before);
    return st;
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
                            const struct ipc_write_options *options, ipc_sink_fn sink,
                            void *sink_ctx, struct ipc_writer **out, grebe_error *err)
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
    w->options = options != NULL
                     ? *options
                     : (struct ipc_write_options){ IPC_UNCOMPRESSED, CODEC_LEVEL_DEFAULT, false };
    w->ws = CODEC_WORKSPACE_INIT(a);
    w->metadata = w->nodes = w->buffers = w->variadic = w->segments = BUF_INIT(a);
    w->packed = w->dictionary_blocks = w->record_blocks = BUF_INIT(a);
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
    if (w->options.is_file) {
        GREBE_TRY(ipc_emit(w, ipc_file_magic, sizeof ipc_file_magic, err));
    }
    GREBE_TRY(ipc_emit(w, w->metadata.data, w->metadata.len, err));
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
    buf_release(&w->packed);
    buf_release(&w->dictionary_blocks);
    buf_release(&w->record_blocks);
    codec_workspace_release(&w->ws);
    mem_free(w->a, w, sizeof *w);
}

/* Columns as they are written, after their dictionaries. */
static grebe_status put_rows(struct ipc_writer *w, const struct ArrowArray *rows,
                             struct ArrowArray *changed, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = (size_t)rows->n_children, next_id = 0;
    const struct ArrowArray **columns = mem_alloc_zero(w->a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        const struct ArrowSchema *schema = w->schema.children[i];
        columns[i] = rows->children[i];
        if (w->n_dictionaries > next_id) {
            GREBE_TRY(follow_dictionary(w, schema, columns[i], next_id, &changed[i], err));
            columns[i] = changed[i].release != NULL ? &changed[i] : columns[i];
        }
        GREBE_TRY(put_dictionaries(w, schema, columns[i], &next_id, err));
    }
    st = ipc_put_message(w, (const struct ArrowSchema *const *)w->schema.children, columns,
                     rows->n_children, rows->length, (struct message_kind){ -1, false }, err);
out:
    mem_free(w->a, columns, n * sizeof *columns);
    return st;
}

grebe_status ipc_writer_write(struct ipc_writer *w, const struct ArrowArray *batch,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray copy;
    const struct ArrowArray *rows = batch;
    size_t n = (size_t)w->schema.n_children;

    assert(!w->is_finished && batch->n_children == w->schema.n_children);
    memset(&copy, 0, sizeof copy);
    struct ArrowArray *changed = mem_alloc_zero(w->a, n * sizeof *changed);
    if (changed == NULL) {
        return mem_fail(err, n * sizeof *changed, "columns");
    }
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
    st = put_rows(w, rows, changed, err);
out:
    for (size_t i = 0; i < n; i++) {
        array_release(&changed[i]);
    }
    mem_free(w->a, changed, n * sizeof *changed);
    array_release(&copy);
    return st;
}

static grebe_status put_footer(struct ipc_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct flatbuf_field fields[] = {
        { FOOTER_VERSION, 2, IPC_VERSION_V5 },
        { FOOTER_SCHEMA, FLATBUF_OFFSET, 0 },
        { FOOTER_DICTIONARIES, FLATBUF_OFFSET, 0 },
        { FOOTER_RECORDS, FLATBUF_OFFSET, 0 },
    };
    struct flatbuf_writer fw;
    unsigned char len[4];
    size_t at[4], pos = 0;
    const struct buf *d = &w->dictionary_blocks, *r = &w->record_blocks;

    buf_clear(&w->metadata);
    GREBE_TRY(flatbuf_writer_begin(&fw, &w->metadata, err));
    GREBE_TRY(flatbuf_put_table(&fw, fields, 4, at, &pos, err));
    flatbuf_link(&fw, 0, pos);
    GREBE_TRY(flatbuf_put_vector(&fw, d->data, d->len / BLOCK_BYTES, BLOCK_BYTES, 8, &pos, err));
    flatbuf_link(&fw, at[2], pos);
    GREBE_TRY(flatbuf_put_vector(&fw, r->data, r->len / BLOCK_BYTES, BLOCK_BYTES, 8, &pos, err));
    flatbuf_link(&fw, at[3], pos);
    GREBE_TRY(ipc_schema_put(&fw, &w->schema, at[1], err));
    store_le32(len, (uint32_t)w->metadata.len);
    GREBE_TRY(ipc_emit(w, w->metadata.data, w->metadata.len, err));
    GREBE_TRY(ipc_emit(w, len, sizeof len, err));
    GREBE_TRY(ipc_emit(w, ipc_file_magic, 6, err));
out:
    return st;
}

grebe_status ipc_writer_finish(struct ipc_writer *w, grebe_error *err)
{
    static const unsigned char end[8] = { 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0 };
    w->is_finished = true;
    grebe_status st = ipc_emit(w, end, sizeof end, err);
    return st == GREBE_OK && w->options.is_file ? put_footer(w, err) : st;
}
