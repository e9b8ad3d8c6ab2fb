/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc_write_internal.h"

#include <string.h>

#include "arrow/arrow_internal.h"
#include "base/endian.h"
#include "codec/codec_lz4_frame.h"

enum { BODY_ALIGN = 64 };

/* A run of bytes of the body. */
struct segment {
    const void *p; /* NULL: at `at` of the packed ones, which may still move */
    size_t at, len;
};

grebe_status ipc_emit(struct ipc_writer *w, const void *bytes, size_t len, grebe_error *err)
{
    w->pos += len;
    return w->sink(w->sink_ctx, bytes, len, err);
}

static grebe_status put_i64(struct buf *b, int64_t v, grebe_error *err)
{
    unsigned char bytes[8];
    store_le64(bytes, (uint64_t)v);
    return buf_put(b, bytes, sizeof bytes, err);
}

/* Into w->packed: the length, and the compressed bytes, or -1 and the bytes when these are fewer. */
static grebe_status pack(struct ipc_writer *w, const void *p, size_t len, grebe_error *err)
{
    size_t begin = w->packed.len;
    grebe_status st = put_i64(&w->packed, (int64_t)len, err);
    if (st == GREBE_OK) {
        st = w->options.compression == IPC_ZSTD
                 ? codec_compress(CODEC_ZSTD, w->options.level, p, len, &w->packed, &w->ws, err)
                 : codec_lz4_frame_compress(w->options.level, p, len, &w->packed, err);
    }
    if (st == GREBE_OK && w->packed.len - begin >= len + 8) {
        w->packed.len = begin;
        st = put_i64(&w->packed, -1, err);
        if (st == GREBE_OK) {
            st = buf_put(&w->packed, p, len, err);
        }
    }
    return st;
}

/* A buffer of the body: its place is noted, its bytes follow when the metadata is out. */
static grebe_status put_buffer(struct ipc_writer *w, int64_t *body_len, const void *p, size_t len,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct segment s = { p, 0, p != NULL ? len : 0 };
    if (w->options.compression != IPC_UNCOMPRESSED && s.len > 0) {
        s.at = w->packed.len;
        GREBE_TRY(pack(w, p, len, err));
        s.p = NULL;
        s.len = w->packed.len - s.at;
    }
    GREBE_TRY(put_i64(&w->buffers, *body_len, err));
    GREBE_TRY(put_i64(&w->buffers, (int64_t)s.len, err));
    GREBE_TRY(buf_put(&w->segments, &s, sizeof s, err));
    *body_len += (int64_t)((s.len + BODY_ALIGN - 1) / BODY_ALIGN * BODY_ALIGN);
out:
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
        { BATCH_COMPRESSION, FLATBUF_OFFSET, 0 },
        { BATCH_VARIADIC, FLATBUF_OFFSET, 0 },
    };
    /* BodyCompression: codec; its method is the only one there is. */
    const struct flatbuf_field codec = { 0, 1, (uint64_t)w->options.compression };
    struct flatbuf_field used[5];
    size_t at[5], at_codec[1];
    size_t pos = 0, n = 0;
    bool has_views = w->variadic.len > 0;
    bool is_packed = w->options.compression != IPC_UNCOMPRESSED;

    for (size_t i = 0; i < 5; i++) {
        if ((i != 3 || is_packed) && (i != 4 || has_views)) {
            used[n++] = fields[i];
        }
    }
    GREBE_TRY(flatbuf_put_table(fw, used, n, at, &pos, err));
    flatbuf_link(fw, link_at, pos);
    GREBE_TRY(flatbuf_put_vector(fw, w->nodes.data, w->nodes.len / 16, 16, 8, &pos, err));
    flatbuf_link(fw, at[1], pos);
    GREBE_TRY(flatbuf_put_vector(fw, w->buffers.data, w->buffers.len / 16, 16, 8, &pos, err));
    flatbuf_link(fw, at[2], pos);
    if (is_packed) {
        GREBE_TRY(flatbuf_put_table(fw, &codec, 1, at_codec, &pos, err));
        flatbuf_link(fw, at[3], pos);
    }
    if (has_views) {
        GREBE_TRY(flatbuf_put_vector(fw, w->variadic.data, w->variadic.len / 8, 8, 8, &pos, err));
        flatbuf_link(fw, at[n - 1], pos);
    }
out:
    return st;
}

static grebe_status put_dictionary_table(struct flatbuf_writer *fw, int64_t id, bool is_delta,
                                         size_t *link_at, grebe_error *err)
{
    const struct flatbuf_field fields[] = {
        { DICTIONARY_ID, 8, (uint64_t)id },
        { DICTIONARY_DATA, FLATBUF_OFFSET, 0 },
        { DICTIONARY_IS_DELTA, 1, is_delta },
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
        st = ipc_emit(w, s[i].p != NULL ? s[i].p : w->packed.data + s[i].at, s[i].len, err);
        size_t pad = (BODY_ALIGN - s[i].len % BODY_ALIGN) % BODY_ALIGN;
        if (st == GREBE_OK && pad > 0) {
            st = ipc_emit(w, zeros, pad, err);
        }
    }
    return st;
}

/* Where a message lies, for the footer. */
static grebe_status note_block(struct ipc_writer *w, bool is_records, int64_t body_len,
                               grebe_error *err)
{
    unsigned char block[BLOCK_BYTES] = { 0 };
    store_le64(block, w->pos);
    store_le32(block + 8, (uint32_t)w->metadata.len);
    store_le64(block + 16, (uint64_t)body_len);
    return buf_put(is_records ? &w->record_blocks : &w->dictionary_blocks, block, sizeof block,
                   err);
}

/* A message of columns (children of rows, n_columns of them) of `length` rows. */
grebe_status ipc_put_message(struct ipc_writer *w, const struct ArrowSchema *const *fields,
                             const struct ArrowArray *const *columns, int64_t n_columns,
                             int64_t length, struct message_kind kind, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ipc_message m;
    int64_t body_len = 0;
    bool is_records = kind.dictionary_id < 0;

    buf_clear(&w->metadata);
    buf_clear(&w->nodes);
    buf_clear(&w->buffers);
    buf_clear(&w->variadic);
    buf_clear(&w->segments);
    buf_clear(&w->packed);
    for (int64_t i = 0; i < n_columns; i++) {
        GREBE_TRY(put_node(w, fields[i], columns[i], length, &body_len, err));
    }
    GREBE_TRY(ipc_message_begin(&m, &w->metadata, is_records ? IPC_RECORDS : IPC_DICTIONARY,
                                body_len, err));
    if (!is_records) {
        GREBE_TRY(put_dictionary_table(&m.w, kind.dictionary_id, kind.is_delta, &m.header_at, err));
    }
    GREBE_TRY(put_batch_table(w, &m.w, length, m.header_at, err));
    GREBE_TRY(ipc_message_end(&m, err));
    /* The body begins at a multiple of 64 of the file, so that buffers of a map are aligned as those in memory are. */
    size_t end = (size_t)(w->pos % BODY_ALIGN) + w->metadata.len;
    GREBE_TRY(buf_put_zero(&w->metadata, (BODY_ALIGN - end % BODY_ALIGN) % BODY_ALIGN, err));
    store_le32(w->metadata.data + 4, (uint32_t)(w->metadata.len - 8));
    GREBE_TRY(note_block(w, is_records, body_len, err));
    GREBE_TRY(ipc_emit(w, w->metadata.data, w->metadata.len, err));
    GREBE_TRY(put_body(w, err));
out:
    return st;
}
