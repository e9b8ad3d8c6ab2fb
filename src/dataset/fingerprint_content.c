/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/fingerprint_content.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "dataset/dataset_part.h"
#include "dataset/row_key.h"

/* What is known of a column so far: streams that do not depend on where batches end. */
struct content {
    struct hash_stream *values, *lengths, *nulls;
    struct buf scratch;
    int64_t first_row; /* of the batch */
};

static grebe_status content_new(const grebe_allocator *a, struct content *c, grebe_error *err)
{
    *c = (struct content){ .scratch = BUF_INIT(a) };
    grebe_status st = hash_stream_new(a, &c->values, err);
    st = st == GREBE_OK ? hash_stream_new(a, &c->lengths, err) : st;
    return st == GREBE_OK ? hash_stream_new(a, &c->nulls, err) : st;
}

static void content_release(struct content *c)
{
    hash_stream_free(c->values);
    hash_stream_free(c->lengths);
    hash_stream_free(c->nulls);
    buf_release(&c->scratch);
}

static void put_nulls(struct content *c, const struct ArrowArray *array)
{
    for (int64_t i = 0; array->null_count != 0 && i < array->length; i++) {
        if (array_is_null(array, i)) {
            int64_t row = c->first_row + i;
            hash_stream_put(c->nulls, &row, sizeof row);
        }
    }
}

static void put_fixed(struct content *c, const struct ArrowArray *array, int width)
{
    static const char zeros[32] = { 0 };
    const char *p = (const char *)array->buffers[1] + array->offset * width;
    if (array_null_count(array) == 0) {
        hash_stream_put(c->values, p, (size_t)(array->length * width));
        return;
    }
    for (int64_t i = 0; i < array->length; i++) {
        for (int at = 0; at < width; at += 32) { /* a fixed binary may be wider */
            size_t n = (size_t)(width - at < 32 ? width - at : 32);
            hash_stream_put(c->values, array_is_null(array, i) ? zeros : p + i * width + at, n);
        }
    }
}

static grebe_status put_bools(struct content *c, const struct ArrowArray *array, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    buf_clear(&c->scratch);
    for (int64_t i = 0; i < array->length && st == GREBE_OK; i++) {
        bool value = !array_is_null(array, i) && bit_get(array->buffers[1], array->offset + i);
        st = buf_put_byte(&c->scratch, value, err);
    }
    hash_stream_put(c->values, c->scratch.data, c->scratch.len);
    return st;
}

static grebe_status put_texts(struct content *c, const struct ArrowArray *array, int width, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char *bytes = array->buffers[2];
    bool has_nulls = array_null_count(array) != 0;
    buf_clear(&c->scratch);
    for (int64_t i = 0; i < array->length && st == GREBE_OK; i++) {
        int64_t begin = load_offset(array->buffers[1], width, array->offset + i);
        int64_t len = load_offset(array->buffers[1], width, array->offset + i + 1) - begin;
        len = has_nulls && array_is_null(array, i) ? 0 : len;
        st = buf_put(&c->scratch, &len, sizeof len, err);
        if (has_nulls && len > 0) {
            hash_stream_put(c->values, bytes + begin, (size_t)len);
        }
    }
    hash_stream_put(c->lengths, c->scratch.data, c->scratch.len);
    if (!has_nulls && array->length > 0) {
        int64_t begin = load_offset(array->buffers[1], width, array->offset);
        int64_t end = load_offset(array->buffers[1], width, array->offset + array->length);
        if (end > begin) {
            hash_stream_put(c->values, bytes + begin, (size_t)(end - begin));
        }
    }
    return st;
}

static grebe_status put_keys(struct content *c, const struct ArrowSchema *schema, const struct ArrowArray *array,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (int64_t i = 0; i < array->length && st == GREBE_OK; i++) {
        buf_clear(&c->scratch);
        st = row_key_put(schema, array, i, &c->scratch, err);
        hash_stream_put(c->values, c->scratch.data, c->scratch.len);
    }
    return st;
}

static grebe_status put_batch(struct content *c, const struct ArrowSchema *schema, const struct ArrowArray *array,
                              grebe_error *err)
{
    int width = 0;
    enum column_layout layout = column_layout_of(schema, &width);
    if (layout == LAYOUT_NESTED) {
        return put_keys(c, schema, array, err);
    }
    put_nulls(c, array);
    switch (layout) {
    case LAYOUT_FIXED: put_fixed(c, array, width); return GREBE_OK;
    case LAYOUT_BOOL: return put_bools(c, array, err);
    default: return put_texts(c, array, layout == LAYOUT_BYTES32 ? 4 : 8, err);
    }
}

static grebe_status put_column(const struct dataset_table *t, int column, struct buf *text, grebe_error *err)
{
    struct content c;
    int64_t n = dataset_table_num_rows(t);
    grebe_status st = content_new(t->ctx->a, &c, err);
    for (int64_t row = 0; row < n && st == GREBE_OK;) {
        struct ArrowArray rows = { 0 };
        int64_t end = dataset_table_batch_end(t, row);
        st = dataset_table_read(t, row, end, &column, 1, &rows, err);
        c.first_row = row;
        st = st == GREBE_OK ? put_batch(&c, t->schema.children[column], rows.children[0], err) : st;
        array_release(&rows);
        row = end;
    }
    if (st == GREBE_OK) {
        st = buf_printf(text, err, "\n%016" PRIx64 " %016" PRIx64 " %016" PRIx64, hash_stream_get(c.values),
                        hash_stream_get(c.lengths), hash_stream_get(c.nulls));
    }
    content_release(&c);
    return st;
}

grebe_status fingerprint_of_rows(const struct dataset_table *t, const char *features, char out[17], grebe_error *err)
{
    struct buf text = BUF_INIT(t->ctx->a);
    grebe_status st = buf_printf(&text, err, "%s\n%" PRId64, features, dataset_table_num_rows(t));
    for (int i = 0; i < (int)t->schema.n_children && st == GREBE_OK; i++) {
        st = put_column(t, i, &text, err);
    }
    if (st == GREBE_OK) {
        snprintf(out, 17, "%016" PRIx64, hash_bytes(text.data, text.len, 0));
    }
    buf_release(&text);
    return st;
}
