/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc_batch_read.h"

#include <assert.h>
#include <string.h>

#include "arrow/arrow_internal.h"
#include "base/checked.h"
#include "base/endian.h"
#include "codec/codec_compress.h"
#include "codec/codec_lz4_frame.h"

enum { COMPRESSION_NONE = -1, COMPRESSION_LZ4 = 0, COMPRESSION_ZSTD = 1 };

/* What the buffers of a batch may take when decompressed, or 256 bytes per byte if that is more. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static const uint64_t LIMIT_BYTES = 64 << 20;
#else
static const uint64_t LIMIT_BYTES = (uint64_t)2 << 30;
#endif

/* A batch being read: field nodes, buffers and variadic counts are used up in the order of the
 * schema. */
struct batch {
    const grebe_allocator *a;
    const struct ipc_dictionaries *dictionaries;
    struct flatbuf *fb;
    const struct ipc_body *body;
    struct flatbuf_vector nodes, buffers, variadic;
    uint32_t next_node, next_buffer, next_variadic;
    int compression;
    uint64_t copied;   /* bytes of the body that were decompressed or copied */
    uint64_t expanded; /* bytes that became of them */
    struct codec_workspace ws;
    grebe_error *err;
};

/* ---- buffers ---- */

/* The next buffer of the body as the bytes of the file, compressed or not. */
static grebe_status next_bytes(struct batch *b, const unsigned char **data, size_t *len)
{
    *data = NULL;
    *len = 0;
    if (b->next_buffer >= b->buffers.n) {
        return GREBE_FAIL(b->err, GREBE_ECORRUPT, "%u buffers are too few for the schema",
                          b->buffers.n);
    }
    const unsigned char *p = b->fb->data + b->buffers.pos + 16 * (size_t)b->next_buffer++;
    uint64_t offset = load_le64(p);
    uint64_t n = load_le64(p + 8);
    if (!range_fits_u64(offset, n, b->body->len)) {
        return GREBE_FAIL(b->err, GREBE_ECORRUPT,
                          "buffer %u: %lld bytes at %lld of a body of %zu", b->next_buffer - 1,
                          (long long)n, (long long)offset, b->body->len);
    }
    *data = b->body->data + offset;
    *len = (size_t)n;
    return GREBE_OK;
}

/*
 * Len bytes of the body become `expanded` bytes of memory. What lies in the body once costs its memory once,
 * however many buffers are said to be there.
 */
static grebe_status charge(struct batch *b, size_t len, uint64_t expanded)
{
    uint64_t limit = b->body->len > LIMIT_BYTES / 256 ? (uint64_t)b->body->len * 256 : LIMIT_BYTES;
    b->copied += len;
    if (b->copied > b->body->len) {
        return GREBE_FAIL(b->err, GREBE_ECORRUPT, "buffer %u overlaps another one",
                          b->next_buffer - 1);
    }
    if (expanded > limit - b->expanded) {
        return GREBE_FAIL(b->err, GREBE_ELIMIT,
                          "buffer %u: %llu bytes when decompressed, the limit of a batch is %llu",
                          b->next_buffer - 1, (unsigned long long)expanded,
                          (unsigned long long)limit);
    }
    b->expanded += expanded;
    return GREBE_OK;
}

static grebe_status decompress(struct batch *b, const unsigned char *data, size_t len,
                               struct region **out)
{
    enum codec_id codec = b->compression == COMPRESSION_ZSTD ? CODEC_ZSTD : CODEC_LZ4_RAW;
    int64_t declared = (int64_t)load_le64(data);
    *out = NULL;
    if (declared < -1 || (declared >= 0 && (uint64_t)declared > codec_expand_max(codec, len))) {
        return GREBE_FAIL(b->err, GREBE_ECORRUPT, "buffer %u: %zu bytes declare %lld uncompressed",
                          b->next_buffer - 1, len, (long long)declared);
    }
    grebe_status st = charge(b, len, declared == -1 ? len - 8 : (uint64_t)declared);
    if (st != GREBE_OK) {
        return st;
    }
    if (declared == -1) {
        st = region_new(b->a, len - 8, out, b->err);
        if (st == GREBE_OK && len > 8) {
            memcpy((*out)->data, data + 8, len - 8);
        }
        return st;
    }
    st = region_new(b->a, (size_t)declared, out, b->err);
    if (st == GREBE_OK) {
        st = b->compression == COMPRESSION_ZSTD
                 ? codec_decompress(CODEC_ZSTD, data + 8, len - 8, (*out)->data,
                                    (size_t)declared, &b->ws, b->err)
                 : codec_lz4_frame_decompress(data + 8, len - 8, (*out)->data, (size_t)declared,
                                              b->err);
        if (st != GREBE_OK) {
            region_drop(*out);
            *out = NULL;
        }
    }
    return st;
}

/* The next buffer into place i; *out_len is its length. Too short: corrupt. */
static grebe_status take_buffer(struct batch *b, struct ArrowArray *array, int64_t i,
                                uint64_t need, size_t *out_len)
{
    grebe_status st = GREBE_OK;
    const unsigned char *data = NULL;
    size_t len = 0;
    struct region *owner = NULL;

    GREBE_TRY(next_bytes(b, &data, &len));
    if (b->compression != COMPRESSION_NONE && len > 0) {
        if (len < 8) {
            st = GREBE_FAIL(b->err, GREBE_ECORRUPT, "buffer %u: no room for its length",
                            b->next_buffer - 1);
            goto out;
        }
        GREBE_TRY(decompress(b, data, len, &owner));
        data = owner->data;
        len = owner->len;
    } else if (len > 0 && (uintptr_t)data % 8 != 0) {
        GREBE_TRY(charge(b, len, len));
        GREBE_TRY(region_new(b->a, len, &owner, b->err));
        memcpy(owner->data, data, len);
        data = owner->data;
    } else if (len > 0) {
        owner = region_keep(b->body->region);
    }
    if (len < need) {
        region_drop(owner);
        st = GREBE_FAIL(b->err, GREBE_ECORRUPT, "buffer %u: %zu bytes, at least %llu are needed",
                        b->next_buffer - 1, len, (unsigned long long)need);
        goto out;
    }
    if (len > 0) {
        array_set_buffer(array, i, data, owner);
    } else {
        region_drop(owner); /* compressed nothing */
    }
    if (out_len != NULL) {
        *out_len = len;
    }
out:
    return st;
}

/* Validity: dropped when nothing is null. */
static grebe_status take_validity(struct batch *b, struct ArrowArray *array)
{
    uint64_t need = array->null_count != 0 ? bitmap_bytes(array->length) : 0;
    grebe_status st = take_buffer(b, array, 0, need, NULL);
    if (st == GREBE_OK && array->null_count == 0) {
        array_set_buffer(array, 0, NULL, NULL);
    }
    return st;
}

/* A buffer that must be there even for no rows. */
static grebe_status or_zeros(struct batch *b, struct ArrowArray *array, int64_t i, size_t len)
{
    void *p = NULL;
    if (array->buffers[i] != NULL) {
        return GREBE_OK;
    }
    grebe_status st = array_alloc_buffer(b->a, array, i, len, &p, b->err);
    if (st == GREBE_OK) {
        memset(p, 0, len);
    }
    return st;
}

static grebe_status take_offsets(struct batch *b, struct ArrowArray *array, int width)
{
    uint64_t need = array->length == 0 ? 0
                                       : ((uint64_t)array->length + 1) * (uint64_t)width;
    grebe_status st = take_buffer(b, array, 1, need, NULL);
    return st != GREBE_OK ? st : or_zeros(b, array, 1, 8);
}

static grebe_status take_text(struct batch *b, struct ArrowArray *array, int width)
{
    size_t len = 0;
    grebe_status st = take_offsets(b, array, width);
    if (st == GREBE_OK) {
        st = take_buffer(b, array, 2, 0, &len);
    }
    if (st == GREBE_OK && array->length > 0) {
        int64_t last = load_offset(array->buffers[1], width, array->length);
        if (last < 0 || (uint64_t)last > len) {
            return GREBE_FAIL(b->err, GREBE_ECORRUPT, "offsets end at %lld, %zu bytes are there",
                              (long long)last, len);
        }
    }
    return st != GREBE_OK ? st : or_zeros(b, array, 2, 1);
}

static grebe_status next_variadic(struct batch *b, int64_t *out)
{
    if (b->next_variadic >= b->variadic.n) {
        return GREBE_FAIL(b->err, GREBE_ECORRUPT, "counts of variadic buffers are missing");
    }
    *out = (int64_t)load_le64(b->fb->data + b->variadic.pos + 8 * (size_t)b->next_variadic++);
    if (*out < 0 || *out > (int64_t)b->buffers.n) {
        return GREBE_FAIL(b->err, GREBE_ECORRUPT, "%lld variadic buffers, the batch has %u",
                          (long long)*out, b->buffers.n);
    }
    return GREBE_OK;
}

static grebe_status take_views(struct batch *b, struct ArrowArray *array)
{
    grebe_status st = GREBE_OK;
    int64_t n_variadic = array->n_buffers - 3;
    void *p = NULL;

    GREBE_TRY(take_buffer(b, array, 1, (uint64_t)array->length * sizeof(struct arrow_view), NULL));
    GREBE_TRY(or_zeros(b, array, 1, 16));
    GREBE_TRY(array_alloc_buffer(b->a, array, array->n_buffers - 1, (size_t)n_variadic * 8, &p,
                                 b->err));
    int64_t *sizes = p;
    for (int64_t i = 0; i < n_variadic; i++) {
        size_t len = 0;
        GREBE_TRY(take_buffer(b, array, 2 + i, 0, &len));
        GREBE_TRY(or_zeros(b, array, 2 + i, 8));
        sizes[i] = (int64_t)len;
    }
out:
    return st;
}

static grebe_status take_values(struct batch *b, const struct arrow_type *t,
                                struct ArrowArray *array)
{
    int width = arrow_offset_width(t->kind);
    uint64_t n = (uint64_t)array->length;
    switch (t->kind) {
    case ARROW_BOOL: return take_buffer(b, array, 1, bitmap_bytes(array->length), NULL);
    case ARROW_STRUCT:
    case ARROW_FIXED_LIST: return GREBE_OK;
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_MAP: return take_offsets(b, array, width);
    case ARROW_STRING:
    case ARROW_LARGE_STRING:
    case ARROW_BINARY:
    case ARROW_LARGE_BINARY: return take_text(b, array, width);
    case ARROW_STRING_VIEW:
    case ARROW_BINARY_VIEW: return take_views(b, array);
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW: {
        grebe_status st = take_buffer(b, array, 1, n * (uint64_t)width, NULL);
        return st != GREBE_OK ? st : take_buffer(b, array, 2, n * (uint64_t)width, NULL);
    }
    default: {
        /* Both factors are the file's: a product that wraps would ask for no byte at all. */
        uint64_t need = 0;
        if (!checked_mul_u64(n, (uint64_t)t->byte_width, &need)) {
            return GREBE_FAIL(b->err, GREBE_ECORRUPT, "%llu values of %d bytes",
                              (unsigned long long)n, (int)t->byte_width);
        }
        grebe_status st = take_buffer(b, array, 1, need, NULL);
        return st != GREBE_OK ? st : or_zeros(b, array, 1, 8);
    }
    }
}

static grebe_status take_union(struct batch *b, const struct arrow_type *t,
                               struct ArrowArray *array)
{
    const unsigned char *data = NULL;
    size_t len = 0;
    grebe_status st = GREBE_OK;
    array->null_count = 0;
    if (b->body->version < IPC_VERSION_V5) {
        st = next_bytes(b, &data, &len); /* unions had a validity bitmap until V5 */
    }
    if (st == GREBE_OK) {
        st = take_buffer(b, array, 0, (uint64_t)array->length, NULL);
    }
    if (st == GREBE_OK && t->kind == ARROW_DENSE_UNION) {
        st = take_buffer(b, array, 1, (uint64_t)array->length * 4, NULL);
    }
    return st;
}

/* ---- nodes ---- */

static grebe_status attach_dictionary(struct batch *b, const struct ArrowSchema *schema,
                                      struct ArrowArray *out)
{
    struct ArrowArray values;
    grebe_status st = ipc_dictionary_values(b->a, b->dictionaries, schema, &values, b->err);
    if (st == GREBE_OK) {
        st = array_set_dictionary(b->a, out, &values, b->err);
        if (st != GREBE_OK) {
            array_release(&values);
        }
    }
    return st;
}

grebe_status ipc_check_length(int64_t length, uint64_t body_len, bool is_compressed, grebe_error *err)
{
    uint64_t bits = 0;
    uint64_t bytes = is_compressed ? codec_expand_max(CODEC_ZSTD, (size_t)body_len) : body_len;
    if (length < 0 || length > INT64_MAX / 64) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%lld rows", (long long)length);
    }
    uint64_t limit = LIMIT_BYTES / sizeof(int64_t);
    if ((uint64_t)length > limit && checked_mul_u64(bytes, 8, &bits) && (uint64_t)length > bits) {
        return GREBE_FAIL(err, GREBE_ELIMIT,
                          "%lld rows in a batch of %llu bytes, the limit is %llu where most rows have none",
                          (long long)length, (unsigned long long)body_len, (unsigned long long)limit);
    }
    return GREBE_OK;
}

static grebe_status next_node(struct batch *b, int64_t *length, int64_t *null_count)
{
    if (b->next_node >= b->nodes.n) {
        return GREBE_FAIL(b->err, GREBE_ECORRUPT, "%u field nodes are too few for the schema",
                          b->nodes.n);
    }
    const unsigned char *p = b->fb->data + b->nodes.pos + 16 * (size_t)b->next_node++;
    *length = (int64_t)load_le64(p);
    *null_count = (int64_t)load_le64(p + 8);
    if (*length < 0 || *null_count < 0 || *null_count > *length) {
        return GREBE_FAIL(b->err, GREBE_ECORRUPT, "a field node of %lld rows, %lld of them null",
                          (long long)*length, (long long)*null_count);
    }
    return ipc_check_length(*length, b->body->len, b->compression != COMPRESSION_NONE, b->err);
}

static grebe_status read_node(struct batch *b, const struct ArrowSchema *schema,
                              struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct arrow_type t;
    int64_t length = 0;
    int64_t null_count = 0;
    int64_t n_buffers = 0;

    memset(out, 0, sizeof *out);
    GREBE_TRY(arrow_type_of(schema, &t, b->err));
    GREBE_TRY(next_node(b, &length, &null_count));
    if (arrow_kind_is_view(t.kind)) {
        GREBE_TRY(next_variadic(b, &n_buffers));
    }
    n_buffers += arrow_buffer_count(t.kind);
    GREBE_TRY(array_new(b->a, length, n_buffers, schema->n_children, out, b->err));
    out->null_count = t.kind == ARROW_NULL              ? length
                      : t.kind == ARROW_RUN_END_ENCODED ? 0
                                                        : null_count;
    if (arrow_kind_is_union(t.kind)) {
        GREBE_TRY(take_union(b, &t, out));
    } else if (n_buffers > 0) {
        GREBE_TRY(take_validity(b, out));
        GREBE_TRY(take_values(b, &t, out));
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        GREBE_TRY(read_node(b, schema->children[i], out->children[i]));
    }
    if (t.is_dictionary) {
        GREBE_TRY(attach_dictionary(b, schema, out));
    }
out:
    if (st != GREBE_OK) {
        char name[64];
        array_release(out);
        if (schema->name != NULL && schema->name[0] != '\0') {
            st = error_wrap(b->err, st, "field \"%s\"", field_label(name, sizeof name, schema));
        }
    }
    return st;
}

static grebe_status open_batch(struct batch *b, const struct flatbuf_table *table)
{
    struct flatbuf_table compression = flatbuf_child(b->fb, table, BATCH_COMPRESSION);
    b->nodes = flatbuf_vector(b->fb, table, BATCH_NODES, 16);
    b->buffers = flatbuf_vector(b->fb, table, BATCH_BUFFERS, 16);
    b->variadic = flatbuf_vector(b->fb, table, BATCH_VARIADIC, 8);
    b->compression = COMPRESSION_NONE;
    if (compression.pos != 0) {
        b->compression = (int8_t)flatbuf_u8(b->fb, &compression, 0, COMPRESSION_LZ4);
        if (b->compression != COMPRESSION_LZ4 && b->compression != COMPRESSION_ZSTD) {
            return GREBE_FAIL(b->err, GREBE_EUNSUPPORTED, "compression number %d is not known",
                              b->compression);
        }
    }
    return flatbuf_status(b->fb, b->err);
}

/* Pass over the nodes and buffers of a field that nobody wants. */
static grebe_status skip_node(struct batch *b, const struct ArrowSchema *schema)
{
    struct arrow_type t;
    int64_t length = 0, null_count = 0, n_buffers = 0;
    grebe_status st = arrow_type_of(schema, &t, b->err);
    if (st == GREBE_OK) {
        st = next_node(b, &length, &null_count);
    }
    if (st == GREBE_OK && arrow_kind_is_view(t.kind)) {
        st = next_variadic(b, &n_buffers);
        n_buffers -= 1; /* the array's last buffer, of sizes, is not in the body */
    }
    n_buffers += arrow_buffer_count(t.kind);
    n_buffers += arrow_kind_is_union(t.kind) && b->body->version < IPC_VERSION_V5;
    if (st == GREBE_OK && n_buffers > (int64_t)(b->buffers.n - b->next_buffer)) {
        return GREBE_FAIL(b->err, GREBE_ECORRUPT, "%u buffers are too few for the schema",
                          b->buffers.n);
    }
    b->next_buffer += (uint32_t)n_buffers;
    for (int64_t i = 0; i < schema->n_children && st == GREBE_OK; i++) {
        st = skip_node(b, schema->children[i]);
    }
    return st;
}

static grebe_status check_column(const struct ArrowSchema *schema, const struct ArrowArray *column,
                                 int64_t i, int64_t length, bool is_deep, grebe_error *err)
{
    if (column->length != length) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "column %lld has %lld rows, the batch %lld",
                          (long long)i, (long long)column->length, (long long)length);
    }
    return array_check(schema, column, is_deep, err);
}

grebe_status ipc_read_columns(const grebe_allocator *a, const struct ArrowSchema *schema,
                              const struct ipc_dictionaries *dictionaries, struct flatbuf *fb,
                              const struct flatbuf_table *table, const struct ipc_body *body,
                              const struct ipc_wanted *wanted, struct ArrowArray *columns,
                              int64_t *length, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct batch b;

    memset(&b, 0, sizeof b);
    memset(columns, 0, (size_t)schema->n_children * sizeof *columns);
    b.a = a;
    b.dictionaries = dictionaries;
    b.fb = fb;
    b.body = body;
    b.ws = CODEC_WORKSPACE_INIT(a);
    b.err = err;
    *length = flatbuf_i64(fb, table, BATCH_LENGTH, 0);
    GREBE_TRY(open_batch(&b, table));
    GREBE_TRY(ipc_check_length(*length, body->len, b.compression != COMPRESSION_NONE, err));
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (wanted != NULL && !wanted->is_wanted[i]) {
            GREBE_TRY(skip_node(&b, schema->children[i]));
            continue;
        }
        GREBE_TRY(read_node(&b, schema->children[i], &columns[i]));
        GREBE_TRY(check_column(schema->children[i], &columns[i], i, *length,
                               wanted == NULL || !wanted->is_checked[i], err));
    }
out:
    codec_workspace_release(&b.ws);
    for (int64_t i = 0; st != GREBE_OK && i < schema->n_children; i++) {
        array_release(&columns[i]);
    }
    return st;
}

grebe_status ipc_read_batch(const grebe_allocator *a, const struct ArrowSchema *schema,
                            const struct ipc_dictionaries *dictionaries, struct flatbuf *fb,
                            const struct flatbuf_table *table, const struct ipc_body *body,
                            struct ArrowArray *out, grebe_error *err)
{
    int64_t length = 0;
    size_t n = (size_t)schema->n_children;
    memset(out, 0, sizeof *out);
    struct ArrowArray *columns = mem_alloc_zero(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    grebe_status st = ipc_read_columns(a, schema, dictionaries, fb, table, body, NULL, columns,
                                       &length, err);
    if (st == GREBE_OK) {
        st = array_struct(a, length, columns, n, out, err);
    }
    for (size_t i = 0; st != GREBE_OK && i < n; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, n * sizeof *columns);
    return st;
}

/* ---- dictionary batches ---- */

/* A struct type whose one column is the values: borrowed, nothing to release. */
static void wrap_values(const struct ArrowSchema *values, struct ArrowSchema *out,
                        struct ArrowSchema **slot, void (*release)(struct ArrowSchema *))
{
    memset(out, 0, sizeof *out);
    *slot = (struct ArrowSchema *)(uintptr_t)values;
    out->format = "+s";
    out->name = "";
    out->n_children = 1;
    out->children = slot;
    out->release = release;
}

static void release_nothing(struct ArrowSchema *schema) { schema->release = NULL; }

grebe_status ipc_read_dictionary(const grebe_allocator *a, struct ipc_dictionaries *dictionaries,
                                 struct flatbuf *fb, const struct flatbuf_table *table,
                                 const struct ipc_body *body, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema rows;
    struct ArrowSchema *slot = NULL;
    struct ArrowArray batch;

    memset(&batch, 0, sizeof batch);
    int64_t id = flatbuf_i64(fb, table, DICTIONARY_ID, 0);
    struct flatbuf_table data = flatbuf_child(fb, table, DICTIONARY_DATA);
    bool is_delta = flatbuf_u8(fb, table, DICTIONARY_IS_DELTA, 0) != 0;
    GREBE_TRY(flatbuf_status(fb, err));
    struct ipc_dictionary *d = ipc_dictionary_find(dictionaries, id);
    if (d == NULL || data.pos == 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "dictionary %lld: %s", (long long)id,
                          d == NULL ? "no field uses it" : "it has no data");
    }
    wrap_values(d->field->dictionary, &rows, &slot, release_nothing);
    st = ipc_read_batch(a, &rows, dictionaries, fb, &data, body, &batch, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "dictionary %lld", (long long)id);
        goto out;
    }
    st = ipc_dictionary_take(a, d, is_delta, batch.children[0], err);
out:
    array_release(&batch);
    return st;
}
