/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "arrow/arrow_schema_internal.h"
#include "base/endian.h"
#include "base/utf8.h"

/* One decoding of a schema. */
struct decode {
    const grebe_allocator *a;
    struct flatbuf *fb;
    struct ipc_ids *ids;
    /* Vectors and strings may be shared inside a flatbuffer, so that few bytes can stand for
     * very many; what is made of them is held near the size of the message. */
    size_t fields_left, text_left;
    grebe_error *err;
};

enum { TEXT_SHARING_MAX = 16 }; /* how often equal names or metadata may be shared */

static void spend(struct decode *d, size_t *left, size_t n, size_t at)
{
    if (n > *left) {
        flatbuf_set_bad(d->fb, at, "declares more than its bytes can hold");
    } else {
        *left -= n;
    }
}

void ipc_ids_release(struct ipc_ids *ids)
{
    mem_free(ids->a, ids->ids, ids->capacity * sizeof *ids->ids);
    ids->ids = NULL;
    ids->n = ids->capacity = 0;
}

static grebe_status put_id(struct ipc_ids *ids, int64_t id, grebe_error *err)
{
    if (ids->n == ids->capacity) {
        size_t capacity = ids->capacity * 2 + 8;
        int64_t *p = mem_resize(ids->a, ids->ids, ids->capacity * sizeof *p, capacity * sizeof *p);
        if (p == NULL) {
            return mem_fail(err, capacity * sizeof *p, "dictionary ids");
        }
        ids->ids = p;
        ids->capacity = capacity;
    }
    ids->ids[ids->n++] = id;
    return GREBE_OK;
}

static const char *const unit_letters = "smun";

static const char *int_format(struct decode *d, const struct flatbuf_table *t)
{
    int32_t bits = flatbuf_i32(d->fb, t, 0, 0);
    bool is_signed = flatbuf_u8(d->fb, t, 1, 0) != 0;
    switch (bits) {
    case 8: return is_signed ? "c" : "C";
    case 16: return is_signed ? "s" : "S";
    case 32: return is_signed ? "i" : "I";
    case 64: return is_signed ? "l" : "L";
    default: flatbuf_set_bad(d->fb, t->pos, "integer of an impossible width"); return "n";
    }
}

static char unit_letter(struct decode *d, const struct flatbuf_table *t, int16_t missing)
{
    int16_t unit = flatbuf_i16(d->fb, t, 0, missing);
    if (unit < 0 || unit > 3) {
        flatbuf_set_bad(d->fb, t->pos, "unknown unit of time");
        return 's';
    }
    return unit_letters[unit];
}

static grebe_status put_time(struct decode *d, const struct flatbuf_table *t, struct buf *format)
{
    char unit = unit_letter(d, t, 1);
    int32_t bits = flatbuf_i32(d->fb, t, 1, 32);
    if (bits != (unit == 's' || unit == 'm' ? 32 : 64)) {
        flatbuf_set_bad(d->fb, t->pos, "time of a width that does not fit its unit");
    }
    return buf_printf(format, d->err, "tt%c", unit);
}

static grebe_status put_timestamp(struct decode *d, const struct flatbuf_table *t,
                                  struct buf *format)
{
    size_t len = 0;
    char unit = unit_letter(d, t, 0);
    const char *zone = flatbuf_string(d->fb, t, 1, &len);
    if (zone != NULL && (memchr(zone, 0, len) != NULL || !utf8_is_valid(zone, len))) {
        flatbuf_set_bad(d->fb, t->pos, "time zone is no text");
    }
    grebe_status st = buf_printf(format, d->err, "ts%c:", unit);
    return st != GREBE_OK || zone == NULL ? st : buf_put(format, zone, len, d->err);
}

static grebe_status put_decimal(struct decode *d, const struct flatbuf_table *t,
                                struct buf *format)
{
    int32_t precision = flatbuf_i32(d->fb, t, 0, 0);
    int32_t scale = flatbuf_i32(d->fb, t, 1, 0);
    int32_t bits = flatbuf_i32(d->fb, t, 2, 128);
    if (bits == 128) {
        return buf_printf(format, d->err, "d:%d,%d", (int)precision, (int)scale);
    }
    return buf_printf(format, d->err, "d:%d,%d,%d", (int)precision, (int)scale, (int)bits);
}

static grebe_status put_union(struct decode *d, const struct flatbuf_table *t, uint32_t n_children,
                              struct buf *format)
{
    grebe_status st = buf_put_text(format, flatbuf_i16(d->fb, t, 0, 0) == 1 ? "+ud:" : "+us:",
                                   d->err);
    struct flatbuf_vector ids = flatbuf_vector(d->fb, t, 1, 4);
    uint32_t n = ids.pos != 0 ? ids.n : n_children;
    if (n > 128) {
        flatbuf_set_bad(d->fb, t->pos, "union of more than 128 members");
        n = 0;
    }
    for (uint32_t i = 0; i < n && st == GREBE_OK; i++) {
        int32_t id = ids.pos != 0 ? (int32_t)load_le32(d->fb->data + ids.pos + 4 * i) : (int32_t)i;
        st = buf_printf(format, d->err, i == 0 ? "%d" : ",%d", (int)id);
    }
    return st;
}

static grebe_status put_simple(struct decode *d, enum ipc_type type, const struct flatbuf_table *t,
                               struct buf *format)
{
    static const char *const intervals[] = { "tiM", "tiD", "tin" };
    static const char *const floats[] = { "e", "f", "g" };
    const char *f = NULL;
    int16_t which = 0;
    switch (type) {
    case IPC_TYPE_NULL: f = "n"; break;
    case IPC_TYPE_INT: f = int_format(d, t); break;
    case IPC_TYPE_BINARY: f = "z"; break;
    case IPC_TYPE_UTF8: f = "u"; break;
    case IPC_TYPE_BOOL: f = "b"; break;
    case IPC_TYPE_DATE: f = flatbuf_i16(d->fb, t, 0, 1) == 0 ? "tdD" : "tdm"; break;
    case IPC_TYPE_LIST: f = "+l"; break;
    case IPC_TYPE_STRUCT: f = "+s"; break;
    case IPC_TYPE_MAP: f = "+m"; break;
    case IPC_TYPE_LARGE_BINARY: f = "Z"; break;
    case IPC_TYPE_LARGE_UTF8: f = "U"; break;
    case IPC_TYPE_LARGE_LIST: f = "+L"; break;
    case IPC_TYPE_RUN_END: f = "+r"; break;
    case IPC_TYPE_BINARY_VIEW: f = "vz"; break;
    case IPC_TYPE_UTF8_VIEW: f = "vu"; break;
    case IPC_TYPE_LIST_VIEW: f = "+vl"; break;
    case IPC_TYPE_LARGE_LIST_VIEW: f = "+vL"; break;
    case IPC_TYPE_FLOAT:
    case IPC_TYPE_INTERVAL:
        which = flatbuf_i16(d->fb, t, 0, 0);
        if (which < 0 || which > 2) {
            flatbuf_set_bad(d->fb, t->pos, "unknown precision or unit");
            which = 0;
        }
        f = type == IPC_TYPE_FLOAT ? floats[which] : intervals[which];
        break;
    default:
        return GREBE_FAIL(d->err, GREBE_EUNSUPPORTED, "Arrow type number %d is not known",
                          (int)type);
    }
    return buf_put_text(format, f, d->err);
}

static grebe_status put_format(struct decode *d, enum ipc_type type, const struct flatbuf_table *t,
                               uint32_t n_children, struct buf *format)
{
    switch (type) {
    case IPC_TYPE_TIME: return put_time(d, t, format);
    case IPC_TYPE_TIMESTAMP: return put_timestamp(d, t, format);
    case IPC_TYPE_DECIMAL: return put_decimal(d, t, format);
    case IPC_TYPE_UNION: return put_union(d, t, n_children, format);
    case IPC_TYPE_DURATION: return buf_printf(format, d->err, "tD%c", unit_letter(d, t, 1));
    case IPC_TYPE_FIXED_BINARY:
        return buf_printf(format, d->err, "w:%d", (int)flatbuf_i32(d->fb, t, 0, 0));
    case IPC_TYPE_FIXED_LIST:
        return buf_printf(format, d->err, "+w:%d", (int)flatbuf_i32(d->fb, t, 0, 0));
    default: return put_simple(d, type, t, format);
    }
}

static grebe_status read_metadata(struct decode *d, const struct flatbuf_table *t, int slot,
                                  struct ArrowSchema *schema)
{
    struct flatbuf_vector v = flatbuf_vector(d->fb, t, slot, 4);
    if (v.n == 0) {
        return GREBE_OK;
    }
    struct key_value *pairs = NULL;
    grebe_status st = mem_alloc_bounded(d->a, v.n, sizeof *pairs, d->fb->len / 4, "metadata",
                                        (void **)&pairs, d->err);
    if (st != GREBE_OK) {
        return st;
    }
    for (uint32_t i = 0; i < v.n; i++) {
        struct flatbuf_table pair = flatbuf_vector_table(d->fb, &v, i);
        pairs[i].key = flatbuf_string(d->fb, &pair, 0, &pairs[i].key_len);
        pairs[i].value = flatbuf_string(d->fb, &pair, 1, &pairs[i].value_len);
        spend(d, &d->text_left, pairs[i].key_len + pairs[i].value_len, pair.pos);
    }
    st = flatbuf_status(d->fb, d->err);
    if (st == GREBE_OK) {
        st = schema_set_metadata(d->a, schema, pairs, v.n, d->err);
    }
    mem_free(d->a, pairs, v.n * sizeof *pairs);
    return st;
}

static grebe_status read_field(struct decode *d, const struct flatbuf_table *t, int depth,
                               struct ArrowSchema *out);

static grebe_status read_children(struct decode *d, const struct flatbuf_vector *v, int depth,
                                  struct ArrowSchema *out)
{
    for (uint32_t i = 0; i < v->n; i++) {
        struct flatbuf_table child = flatbuf_vector_table(d->fb, v, i);
        grebe_status st = read_field(d, &child, depth + 1, out->children[i]);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* Make out, a field of the values, the field of the indices. */
static grebe_status encode_as_dictionary(struct decode *d, const struct flatbuf_table *t,
                                         struct ArrowSchema *out)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema indices;
    memset(&indices, 0, sizeof indices);
    struct flatbuf_table index_type = flatbuf_child(d->fb, t, 1);
    const char *format = index_type.pos != 0 ? int_format(d, &index_type) : "i";

    GREBE_TRY(schema_new(d->a, format, out->name, false, 0, &indices, d->err));
    indices.flags = (out->flags & ARROW_FLAG_NULLABLE) |
                    (flatbuf_u8(d->fb, t, 2, 0) != 0 ? ARROW_FLAG_DICTIONARY_ORDERED : 0);
    GREBE_TRY(schema_copy_metadata(d->a, out, &indices, d->err));
    GREBE_TRY(schema_set_metadata(d->a, out, NULL, 0, d->err));
    GREBE_TRY(schema_set_name(d->a, out, "", d->err));
    out->flags |= ARROW_FLAG_NULLABLE;
    GREBE_TRY(schema_set_dictionary(d->a, &indices, out, d->err));
    schema_move(out, &indices);
out:
    schema_release(&indices);
    return st;
}

static grebe_status read_field(struct decode *d, const struct flatbuf_table *t, int depth,
                               struct ArrowSchema *out)
{
    grebe_status st = GREBE_OK;
    struct buf text = BUF_INIT(d->a);
    struct buf format = BUF_INIT(d->a);
    size_t name_len = 0;

    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(d->err, GREBE_ELIMIT, "types are nested deeper than %d",
                          ARROW_DEPTH_MAX);
    }
    const char *name = flatbuf_string(d->fb, t, FIELD_NAME, &name_len);
    if (name != NULL && (memchr(name, 0, name_len) != NULL || !utf8_is_valid(name, name_len))) {
        flatbuf_set_bad(d->fb, t->pos, "the name of a field is no text");
    }
    enum ipc_type type = (enum ipc_type)flatbuf_u8(d->fb, t, FIELD_TYPE_TYPE, 0);
    struct flatbuf_table type_table = flatbuf_child(d->fb, t, FIELD_TYPE);
    struct flatbuf_vector children = flatbuf_vector(d->fb, t, FIELD_CHILDREN, 4);
    struct flatbuf_table dictionary = flatbuf_child(d->fb, t, FIELD_DICTIONARY);
    if (type == IPC_TYPE_NONE || type_table.pos == 0) {
        flatbuf_set_bad(d->fb, t->pos, "a field without a type");
    }
    spend(d, &d->fields_left, children.n, t->pos);
    spend(d, &d->text_left, name_len, t->pos);
    GREBE_TRY(flatbuf_status(d->fb, d->err));
    GREBE_TRY(put_format(d, type, &type_table, children.n, &format));
    GREBE_TRY(flatbuf_status(d->fb, d->err));
    GREBE_TRY(buf_put(&text, name, name_len, d->err));
    if (buf_text(&text) == NULL || buf_text(&format) == NULL) {
        st = mem_fail(d->err, text.len + 1, "a name");
        goto out;
    }
    GREBE_TRY(schema_new(d->a, buf_text(&format), buf_text(&text),
                         flatbuf_u8(d->fb, t, FIELD_NULLABLE, 0) != 0, children.n, out, d->err));
    if (type == IPC_TYPE_MAP && flatbuf_u8(d->fb, &type_table, 0, 0) != 0) {
        out->flags |= ARROW_FLAG_MAP_KEYS_SORTED;
    }
    GREBE_TRY(read_metadata(d, t, FIELD_METADATA, out));
    if (dictionary.pos != 0 && d->ids != NULL) {
        GREBE_TRY(put_id(d->ids, flatbuf_i64(d->fb, &dictionary, 0, 0), d->err));
    }
    GREBE_TRY(read_children(d, &children, depth, out));
    if (dictionary.pos != 0) {
        GREBE_TRY(encode_as_dictionary(d, &dictionary, out));
    }
    GREBE_TRY(flatbuf_status(d->fb, d->err));
out:
    buf_release(&text);
    buf_release(&format);
    return st;
}

grebe_status ipc_schema_of_table(const grebe_allocator *a, struct flatbuf *fb,
                                 const struct flatbuf_table *table, struct ArrowSchema *out,
                                 struct ipc_ids *ids, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct decode d = { a, fb, ids, fb->len / 4, fb->len * TEXT_SHARING_MAX, err };

    memset(out, 0, sizeof *out);
    int16_t endianness = flatbuf_i16(fb, table, SCHEMA_ENDIANNESS, 0);
    struct flatbuf_vector fields = flatbuf_vector(fb, table, SCHEMA_FIELDS, 4);
    spend(&d, &d.fields_left, fields.n, table->pos);
    GREBE_TRY(flatbuf_status(fb, err));
    if (endianness != 0) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "big-endian Arrow data");
    }
    GREBE_TRY(schema_new(a, "+s", "", false, fields.n, out, err));
    GREBE_TRY(read_children(&d, &fields, 0, out));
    GREBE_TRY(read_metadata(&d, table, SCHEMA_METADATA, out));
    GREBE_TRY(flatbuf_status(fb, err));
    st = schema_check(out, err);
    if (st == GREBE_ESCHEMA) {
        st = GREBE_ECORRUPT; /* the bytes, not the caller's types, are at fault */
        if (err != NULL) {
            err->status = st;
        }
    }
out:
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

grebe_status ipc_schema_decode(const grebe_allocator *a, const void *bytes, size_t len,
                               struct ArrowSchema *out, grebe_error *err)
{
    const unsigned char *p = bytes;
    memset(out, 0, sizeof *out);
    size_t head = len >= 8 && load_le32(p) == UINT32_MAX ? 8 : 4;
    if (len < head || load_le32(p + head - 4) > len - head) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "schema message: %u bytes declared, %zu are there",
                          len < head ? 0 : (unsigned)load_le32(p + head - 4), len);
    }
    struct flatbuf fb;
    flatbuf_init(&fb, p + head, load_le32(p + head - 4));
    struct flatbuf_table message = flatbuf_root(&fb);
    uint8_t header_type = flatbuf_u8(&fb, &message, MESSAGE_HEADER_TYPE, 0);
    struct flatbuf_table schema = flatbuf_child(&fb, &message, MESSAGE_HEADER);
    grebe_status st = flatbuf_status(&fb, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (header_type != IPC_SCHEMA || schema.pos == 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "message: expected a schema (1), found header %d",
                          header_type);
    }
    return ipc_schema_of_table(a, &fb, &schema, out, NULL, err);
}
