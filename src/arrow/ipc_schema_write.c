/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc_internal.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"

/* One encoding of a schema. */
struct encode {
    struct flatbuf_writer *w;
    int64_t next_id; /* of dictionaries, in the order of the walk */
    grebe_error *err;
};

size_t ipc_dictionary_count(const struct ArrowSchema *schema)
{
    const struct ArrowSchema *values = schema->dictionary != NULL ? schema->dictionary : schema;
    size_t n = schema->dictionary != NULL;
    for (int64_t i = 0; i < values->n_children; i++) {
        n += ipc_dictionary_count(values->children[i]);
    }
    return n;
}

grebe_status ipc_message_begin(struct ipc_message *m, struct buf *dst, enum ipc_header header,
                               int64_t body_len, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    static const unsigned char prefix[8] = { 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0 };
    struct flatbuf_field fields[] = {
        { MESSAGE_VERSION, 2, IPC_VERSION_V5 },
        { MESSAGE_HEADER_TYPE, 1, (uint64_t)header },
        { MESSAGE_HEADER, FLATBUF_OFFSET, 0 },
        { MESSAGE_BODY_LEN, 8, (uint64_t)body_len },
    };
    size_t at[4];
    size_t pos = 0;

    m->begin = dst->len;
    GREBE_TRY(buf_put(dst, prefix, sizeof prefix, err));
    GREBE_TRY(flatbuf_writer_begin(&m->w, dst, err));
    GREBE_TRY(flatbuf_put_table(&m->w, fields, 4, at, &pos, err));
    flatbuf_link(&m->w, 0, pos);
    m->header_at = at[2];
out:
    return st;
}

grebe_status ipc_message_end(struct ipc_message *m, grebe_error *err)
{
    struct buf *dst = m->w.out;
    size_t len = dst->len - m->w.base;
    grebe_status st = buf_put_zero(dst, (8 - len % 8) % 8, err);
    if (st == GREBE_OK) {
        store_le32(dst->data + m->begin + 4, (uint32_t)(dst->len - m->w.base));
    }
    return st;
}

static grebe_status put_int_type(struct encode *e, const struct arrow_type *t, size_t *pos)
{
    bool is_signed = t->kind >= ARROW_INT8 && t->kind <= ARROW_INT64;
    struct flatbuf_field fields[] = {
        { 0, 4, (uint64_t)t->byte_width * 8 },
        { 1, 1, is_signed },
    };
    size_t at[2];
    return flatbuf_put_table(e->w, fields, 2, at, pos, e->err);
}

static grebe_status put_timestamp_type(struct encode *e, const struct arrow_type *t, size_t *pos)
{
    struct flatbuf_field fields[] = {
        { 0, 2, (uint64_t)t->unit },
        { 1, FLATBUF_OFFSET, 0 },
    };
    size_t at[2];
    size_t n = t->timezone[0] != '\0' ? 2 : 1;
    grebe_status st = flatbuf_put_table(e->w, fields, n, at, pos, e->err);
    if (st == GREBE_OK && n == 2) {
        size_t zone = 0;
        st = flatbuf_put_string(e->w, t->timezone, strlen(t->timezone), &zone, e->err);
        if (st == GREBE_OK) {
            flatbuf_link(e->w, at[1], zone);
        }
    }
    return st;
}

static grebe_status put_union_type(struct encode *e, const struct ArrowSchema *schema,
                                   const struct arrow_type *t, size_t *pos)
{
    grebe_status st = GREBE_OK;
    int8_t ids[128];
    int8_t index[128];
    unsigned char words[128 * 4];
    size_t at[2];
    size_t vector = 0;
    struct flatbuf_field fields[] = {
        { 0, 2, t->kind == ARROW_DENSE_UNION },
        { 1, FLATBUF_OFFSET, 0 },
    };

    GREBE_TRY(arrow_union_ids(schema, ids, index, e->err));
    GREBE_TRY(flatbuf_put_table(e->w, fields, 2, at, pos, e->err));
    for (int64_t i = 0; i < schema->n_children; i++) {
        store_le32(words + 4 * i, (uint32_t)ids[i]);
    }
    GREBE_TRY(flatbuf_put_vector(e->w, words, (size_t)schema->n_children, 4, 4, &vector, e->err));
    flatbuf_link(e->w, at[1], vector);
out:
    return st;
}

/* The number in the union Type, and its table's fields when they are plain numbers. */
static enum ipc_type type_number(const struct ArrowSchema *schema, const struct arrow_type *t,
                                 struct flatbuf_field *fields, size_t *n)
{
    *n = 1;
    fields[0] = (struct flatbuf_field){ 0, 2, 0 };
    switch (t->kind) {
    case ARROW_FLOAT16:
    case ARROW_FLOAT32:
    case ARROW_FLOAT64: fields[0].value = (uint64_t)(t->kind - ARROW_FLOAT16); return IPC_TYPE_FLOAT;
    case ARROW_DATE32:
    case ARROW_DATE64: fields[0].value = t->kind == ARROW_DATE64; return IPC_TYPE_DATE;
    case ARROW_TIME32:
    case ARROW_TIME64:
        fields[0].value = (uint64_t)t->unit;
        fields[1] = (struct flatbuf_field){ 1, 4, (uint64_t)t->byte_width * 8 };
        *n = 2;
        return IPC_TYPE_TIME;
    case ARROW_DURATION: fields[0].value = (uint64_t)t->unit; return IPC_TYPE_DURATION;
    case ARROW_INTERVAL_MONTHS:
    case ARROW_INTERVAL_DAY_TIME:
    case ARROW_INTERVAL_MONTH_DAY_NANO:
        fields[0].value = (uint64_t)(t->kind - ARROW_INTERVAL_MONTHS);
        return IPC_TYPE_INTERVAL;
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256:
        fields[0] = (struct flatbuf_field){ 0, 4, (uint32_t)t->precision };
        fields[1] = (struct flatbuf_field){ 1, 4, (uint32_t)t->scale };
        fields[2] = (struct flatbuf_field){ 2, 4, (uint64_t)t->byte_width * 8 };
        *n = 3;
        return IPC_TYPE_DECIMAL;
    case ARROW_FIXED_BINARY:
        fields[0] = (struct flatbuf_field){ 0, 4, (uint32_t)t->byte_width };
        return IPC_TYPE_FIXED_BINARY;
    case ARROW_FIXED_LIST:
        fields[0] = (struct flatbuf_field){ 0, 4, (uint32_t)t->list_size };
        return IPC_TYPE_FIXED_LIST;
    case ARROW_MAP:
        fields[0] = (struct flatbuf_field){ 0, 1,
                                            (schema->flags & ARROW_FLAG_MAP_KEYS_SORTED) != 0 };
        return IPC_TYPE_MAP;
    default: break;
    }
    *n = 0;
    switch (t->kind) {
    case ARROW_NULL: return IPC_TYPE_NULL;
    case ARROW_BOOL: return IPC_TYPE_BOOL;
    case ARROW_STRING: return IPC_TYPE_UTF8;
    case ARROW_LARGE_STRING: return IPC_TYPE_LARGE_UTF8;
    case ARROW_STRING_VIEW: return IPC_TYPE_UTF8_VIEW;
    case ARROW_BINARY: return IPC_TYPE_BINARY;
    case ARROW_LARGE_BINARY: return IPC_TYPE_LARGE_BINARY;
    case ARROW_BINARY_VIEW: return IPC_TYPE_BINARY_VIEW;
    case ARROW_TIMESTAMP: return IPC_TYPE_TIMESTAMP;
    case ARROW_LIST: return IPC_TYPE_LIST;
    case ARROW_LARGE_LIST: return IPC_TYPE_LARGE_LIST;
    case ARROW_LIST_VIEW: return IPC_TYPE_LIST_VIEW;
    case ARROW_LARGE_LIST_VIEW: return IPC_TYPE_LARGE_LIST_VIEW;
    case ARROW_STRUCT: return IPC_TYPE_STRUCT;
    case ARROW_DENSE_UNION:
    case ARROW_SPARSE_UNION: return IPC_TYPE_UNION;
    case ARROW_RUN_END_ENCODED: return IPC_TYPE_RUN_END;
    default: return IPC_TYPE_INT;
    }
}

static grebe_status put_type(struct encode *e, const struct ArrowSchema *schema,
                             const struct arrow_type *t, size_t link_at)
{
    struct flatbuf_field fields[3];
    size_t n = 0;
    size_t at[3];
    size_t pos = 0;
    grebe_status st = GREBE_OK;
    enum ipc_type number = type_number(schema, t, fields, &n);
    if (number == IPC_TYPE_INT) {
        st = put_int_type(e, t, &pos);
    } else if (number == IPC_TYPE_TIMESTAMP) {
        st = put_timestamp_type(e, t, &pos);
    } else if (number == IPC_TYPE_UNION) {
        st = put_union_type(e, schema, t, &pos);
    } else {
        st = flatbuf_put_table(e->w, fields, n, at, &pos, e->err);
    }
    if (st == GREBE_OK) {
        flatbuf_link(e->w, link_at, pos);
    }
    return st;
}

static grebe_status put_metadata(struct encode *e, const struct ArrowSchema *schema,
                                 size_t link_at)
{
    grebe_status st = GREBE_OK;
    size_t n = schema_metadata_count(schema);
    size_t vector = 0;

    GREBE_TRY(flatbuf_put_offsets(e->w, n, &vector, e->err));
    flatbuf_link(e->w, link_at, vector);
    for (size_t i = 0; i < n; i++) {
        static const struct flatbuf_field fields[] = {
            { 0, FLATBUF_OFFSET, 0 },
            { 1, FLATBUF_OFFSET, 0 },
        };
        struct key_value pair = schema_metadata_at(schema, i);
        size_t at[2];
        size_t pos = 0;
        size_t text = 0;
        GREBE_TRY(flatbuf_put_table(e->w, fields, 2, at, &pos, e->err));
        flatbuf_link(e->w, vector + 4 + 4 * i, pos);
        GREBE_TRY(flatbuf_put_string(e->w, pair.key, pair.key_len, &text, e->err));
        flatbuf_link(e->w, at[0], text);
        GREBE_TRY(flatbuf_put_string(e->w, pair.value, pair.value_len, &text, e->err));
        flatbuf_link(e->w, at[1], text);
    }
out:
    return st;
}

static grebe_status put_dictionary(struct encode *e, const struct ArrowSchema *schema,
                                   const struct arrow_type *t, size_t link_at)
{
    grebe_status st = GREBE_OK;
    struct flatbuf_field fields[] = {
        { 0, 8, (uint64_t)e->next_id++ },
        { 1, FLATBUF_OFFSET, 0 },
        { 2, 1, (schema->flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0 },
    };
    size_t at[3];
    size_t pos = 0;
    size_t index_type = 0;

    GREBE_TRY(flatbuf_put_table(e->w, fields, 3, at, &pos, e->err));
    flatbuf_link(e->w, link_at, pos);
    GREBE_TRY(put_int_type(e, t, &index_type));
    flatbuf_link(e->w, at[1], index_type);
out:
    return st;
}

static grebe_status put_fields(struct encode *e, const struct ArrowSchema *parent, int depth,
                               size_t link_at);

static grebe_status put_field(struct encode *e, const struct ArrowSchema *schema, int depth,
                              size_t link_at)
{
    grebe_status st = GREBE_OK;
    struct arrow_type t;
    struct arrow_type value_type;
    /* For a dictionary the field's type and children are those of the values. */
    const struct ArrowSchema *values = schema->dictionary != NULL ? schema->dictionary : schema;
    struct flatbuf_field number_fields[3];
    size_t n_ignored = 0;
    size_t at[7];
    size_t pos = 0;
    size_t name = 0;

    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(e->err, GREBE_ELIMIT, "types are nested deeper than %d",
                          ARROW_DEPTH_MAX);
    }
    GREBE_TRY(arrow_type_of(schema, &t, e->err));
    GREBE_TRY(arrow_type_of(values, &value_type, e->err));
    struct flatbuf_field fields[7];
    size_t n = 0;
    fields[n++] = (struct flatbuf_field){ FIELD_NAME, FLATBUF_OFFSET, 0 };
    fields[n++] = (struct flatbuf_field){ FIELD_NULLABLE, 1, t.is_nullable };
    fields[n++] = (struct flatbuf_field){
        FIELD_TYPE_TYPE, 1, (uint64_t)type_number(values, &value_type, number_fields, &n_ignored)
    };
    fields[n++] = (struct flatbuf_field){ FIELD_TYPE, FLATBUF_OFFSET, 0 };
    if (schema->dictionary != NULL) {
        fields[n++] = (struct flatbuf_field){ FIELD_DICTIONARY, FLATBUF_OFFSET, 0 };
    }
    fields[n++] = (struct flatbuf_field){ FIELD_CHILDREN, FLATBUF_OFFSET, 0 };
    bool has_metadata = schema_metadata_count(schema) > 0;
    if (has_metadata) {
        fields[n++] = (struct flatbuf_field){ FIELD_METADATA, FLATBUF_OFFSET, 0 };
    }
    GREBE_TRY(flatbuf_put_table(e->w, fields, n, at, &pos, e->err));
    flatbuf_link(e->w, link_at, pos);
    const char *text = schema->name != NULL ? schema->name : "";
    GREBE_TRY(flatbuf_put_string(e->w, text, strlen(text), &name, e->err));
    flatbuf_link(e->w, at[0], name);
    GREBE_TRY(put_type(e, values, &value_type, at[3]));
    if (schema->dictionary != NULL) {
        GREBE_TRY(put_dictionary(e, schema, &t, at[4]));
    }
    GREBE_TRY(put_fields(e, values, depth, at[has_metadata ? n - 2 : n - 1]));
    if (has_metadata) {
        GREBE_TRY(put_metadata(e, schema, at[n - 1]));
    }
out:
    return st;
}

static grebe_status put_fields(struct encode *e, const struct ArrowSchema *parent, int depth,
                               size_t link_at)
{
    size_t vector = 0;
    grebe_status st = flatbuf_put_offsets(e->w, (size_t)parent->n_children, &vector, e->err);
    if (st != GREBE_OK) {
        return st;
    }
    flatbuf_link(e->w, link_at, vector);
    for (int64_t i = 0; i < parent->n_children && st == GREBE_OK; i++) {
        st = put_field(e, parent->children[i], depth + 1, vector + 4 + 4 * (size_t)i);
    }
    return st;
}

grebe_status ipc_schema_put(struct flatbuf_writer *w, const struct ArrowSchema *schema,
                            size_t link_at, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct encode e = { w, 0, err };
    bool has_metadata = schema_metadata_count(schema) > 0;
    const struct flatbuf_field fields[] = {
        { SCHEMA_ENDIANNESS, 2, 0 },
        { SCHEMA_FIELDS, FLATBUF_OFFSET, 0 },
        { SCHEMA_METADATA, FLATBUF_OFFSET, 0 },
    };
    size_t at[3];
    size_t pos = 0;
    GREBE_TRY(flatbuf_put_table(w, fields, has_metadata ? 3 : 2, at, &pos, err));
    flatbuf_link(w, link_at, pos);
    GREBE_TRY(put_fields(&e, schema, 0, at[1]));
    if (has_metadata) {
        GREBE_TRY(put_metadata(&e, schema, at[2]));
    }
out:
    return st;
}

grebe_status ipc_schema_encode(struct buf *dst, const struct ArrowSchema *schema,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ipc_message m;
    size_t start = dst->len;

    if (schema->release == NULL || strcmp(schema->format, "+s") != 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "rows: expected a struct type, found \"%.32s\"",
                          schema->release != NULL ? schema->format : "");
    }
    GREBE_TRY(schema_check(schema, err));
    GREBE_TRY(ipc_message_begin(&m, dst, IPC_SCHEMA, 0, err));
    GREBE_TRY(ipc_schema_put(&m.w, schema, m.header_at, err));
    GREBE_TRY(ipc_message_end(&m, err));
out:
    if (st != GREBE_OK) {
        dst->len = start;
    }
    return st;
}
