/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_schema.h"
#include "arrow/type_text.h"

#include <string.h>

static const char *const plain_names[] = {
    [ARROW_NULL] = "null",
    [ARROW_BOOL] = "bool",
    [ARROW_INT8] = "int8",
    [ARROW_INT16] = "int16",
    [ARROW_INT32] = "int32",
    [ARROW_INT64] = "int64",
    [ARROW_UINT8] = "uint8",
    [ARROW_UINT16] = "uint16",
    [ARROW_UINT32] = "uint32",
    [ARROW_UINT64] = "uint64",
    [ARROW_FLOAT16] = "halffloat",
    [ARROW_FLOAT32] = "float",
    [ARROW_FLOAT64] = "double",
    [ARROW_STRING] = "string",
    [ARROW_LARGE_STRING] = "large_string",
    [ARROW_STRING_VIEW] = "string_view",
    [ARROW_BINARY] = "binary",
    [ARROW_LARGE_BINARY] = "large_binary",
    [ARROW_BINARY_VIEW] = "binary_view",
    [ARROW_FIXED_BINARY] = "fixed_size_binary",
    [ARROW_DATE32] = "date32",
    [ARROW_DATE64] = "date64",
    [ARROW_TIME32] = "time32",
    [ARROW_TIME64] = "time64",
    [ARROW_TIMESTAMP] = "timestamp",
    [ARROW_DURATION] = "duration",
    [ARROW_INTERVAL_MONTHS] = "month_interval",
    [ARROW_INTERVAL_DAY_TIME] = "day_time_interval",
    [ARROW_INTERVAL_MONTH_DAY_NANO] = "month_day_nano_interval",
    [ARROW_DECIMAL32] = "decimal32",
    [ARROW_DECIMAL64] = "decimal64",
    [ARROW_DECIMAL128] = "decimal128",
    [ARROW_DECIMAL256] = "decimal256",
    [ARROW_LIST] = "list",
    [ARROW_LARGE_LIST] = "large_list",
    [ARROW_LIST_VIEW] = "list_view",
    [ARROW_LARGE_LIST_VIEW] = "large_list_view",
    [ARROW_FIXED_LIST] = "fixed_size_list",
    [ARROW_STRUCT] = "struct",
    [ARROW_MAP] = "map",
    [ARROW_DENSE_UNION] = "dense_union",
    [ARROW_SPARSE_UNION] = "sparse_union",
    [ARROW_RUN_END_ENCODED] = "run_end_encoded",
};

const char *arrow_kind_name(enum arrow_kind kind) { return plain_names[kind]; }

bool type_text_is_plain_name(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                         (unsigned char)c >= 0x80;
        if (!is_letter && !(i > 0 && c >= '0' && c <= '9')) {
            return false;
        }
    }
    return len > 0;
}

static grebe_status put_name(struct buf *dst, const char *name, grebe_error *err)
{
    size_t len = strlen(name);
    if (type_text_is_plain_name(name, len)) {
        return buf_put(dst, name, len, err);
    }
    grebe_status st = buf_put_byte(dst, '"', err);
    for (size_t i = 0; i < len && st == GREBE_OK; i++) {
        if (name[i] == '"' || name[i] == '\\') {
            st = buf_put_byte(dst, '\\', err);
        }
        if (st == GREBE_OK) {
            st = buf_put_byte(dst, (uint8_t)name[i], err);
        }
    }
    return st != GREBE_OK ? st : buf_put_byte(dst, '"', err);
}

static grebe_status print_node(struct buf *dst, const struct ArrowSchema *schema, int depth,
                               grebe_error *err);

/* "name: type" and " not null" where it is so. */
static grebe_status print_field(struct buf *dst, const struct ArrowSchema *field, int depth,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(put_name(dst, field->name != NULL ? field->name : "", err));
    GREBE_TRY(buf_put_text(dst, ": ", err));
    GREBE_TRY(print_node(dst, field, depth + 1, err));
    if ((field->flags & ARROW_FLAG_NULLABLE) == 0) {
        GREBE_TRY(buf_put_text(dst, " not null", err));
    }
out:
    return st;
}

static bool is_named(const struct ArrowSchema *field, const char *name, bool is_nullable)
{
    return field->name != NULL && strcmp(field->name, name) == 0 &&
           ((field->flags & ARROW_FLAG_NULLABLE) != 0) == is_nullable;
}

/* "<T>" for the usual element, "<name: T not null>" for any other. */
static grebe_status print_element(struct buf *dst, const struct ArrowSchema *schema, int depth,
                                  grebe_error *err)
{
    const struct ArrowSchema *element = schema->children[0];
    grebe_status st = buf_put_byte(dst, '<', err);
    if (st == GREBE_OK) {
        st = is_named(element, "item", true) ? print_node(dst, element, depth + 1, err)
                                             : print_field(dst, element, depth, err);
    }
    return st != GREBE_OK ? st : buf_put_byte(dst, '>', err);
}

static grebe_status print_fields(struct buf *dst, const struct ArrowSchema *schema, int depth,
                                 const int8_t *ids, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_put_byte(dst, '<', err));
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (i > 0) {
            GREBE_TRY(buf_put_text(dst, ", ", err));
        }
        GREBE_TRY(print_field(dst, schema->children[i], depth, err));
        if (ids != NULL) {
            GREBE_TRY(buf_printf(dst, err, "=%d", ids[i]));
        }
    }
    GREBE_TRY(buf_put_byte(dst, '>', err));
out:
    return st;
}

static grebe_status print_map(struct buf *dst, const struct ArrowSchema *schema, int depth,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct ArrowSchema *entries = schema->children[0];
    bool is_usual = is_named(entries, "entries", false) && entries->n_children == 2 &&
                    is_named(entries->children[0], "key", false) &&
                    strcmp(entries->children[1]->name != NULL ? entries->children[1]->name : "",
                           "value") == 0;
    GREBE_TRY(buf_put_byte(dst, '<', err));
    if (is_usual) {
        GREBE_TRY(print_node(dst, entries->children[0], depth + 2, err));
        GREBE_TRY(buf_put_text(dst, ", ", err));
        GREBE_TRY(print_node(dst, entries->children[1], depth + 2, err));
        if ((entries->children[1]->flags & ARROW_FLAG_NULLABLE) == 0) {
            GREBE_TRY(buf_put_text(dst, " not null", err));
        }
    } else {
        GREBE_TRY(print_field(dst, entries, depth, err));
    }
    if ((schema->flags & ARROW_FLAG_MAP_KEYS_SORTED) != 0) {
        GREBE_TRY(buf_put_text(dst, ", keys_sorted", err));
    }
    GREBE_TRY(buf_put_byte(dst, '>', err));
out:
    return st;
}

static grebe_status print_dictionary(struct buf *dst, const struct ArrowSchema *schema,
                                     const struct arrow_type *t, int depth, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_put_text(dst, "dictionary<values=", err));
    GREBE_TRY(print_node(dst, schema->dictionary, depth + 1, err));
    GREBE_TRY(buf_printf(dst, err, ", indices=%s, ordered=%d>", plain_names[t->kind],
                         (schema->flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0));
out:
    return st;
}

static grebe_status print_timestamp(struct buf *dst, const struct arrow_type *t, grebe_error *err)
{
    const char *unit = arrow_unit_name(t->unit);
    if (t->timezone[0] == '\0') {
        return buf_printf(dst, err, "timestamp[%s]", unit);
    }
    bool is_plain = strpbrk(t->timezone, "\"\\], ") == NULL;
    if (is_plain) {
        return buf_printf(dst, err, "timestamp[%s, tz=%s]", unit, t->timezone);
    }
    grebe_status st = buf_printf(dst, err, "timestamp[%s, tz=", unit);
    if (st == GREBE_OK) {
        st = put_name(dst, t->timezone, err);
    }
    return st != GREBE_OK ? st : buf_put_byte(dst, ']', err);
}

const char *arrow_unit_name(enum arrow_unit unit)
{
    static const char *const names[] = { "s", "ms", "us", "ns" };
    return names[unit];
}

static grebe_status print_node(struct buf *dst, const struct ArrowSchema *schema, int depth,
                               grebe_error *err)
{
    struct arrow_type t;
    int8_t ids[128];
    int8_t index[128];
    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "types are nested deeper than %d", ARROW_DEPTH_MAX);
    }
    grebe_status st = arrow_type_of(schema, &t, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (t.is_dictionary) {
        return print_dictionary(dst, schema, &t, depth, err);
    }
    const char *name = plain_names[t.kind];
    switch (t.kind) {
    case ARROW_FIXED_BINARY:
        return buf_printf(dst, err, "%s[%d]", name, (int)t.byte_width);
    case ARROW_TIME32:
    case ARROW_TIME64:
    case ARROW_DURATION:
        return buf_printf(dst, err, "%s[%s]", name, arrow_unit_name(t.unit));
    case ARROW_TIMESTAMP: return print_timestamp(dst, &t, err);
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256:
        return buf_printf(dst, err, "%s(%d, %d)", name, (int)t.precision, (int)t.scale);
    default: break;
    }
    st = buf_put_text(dst, name, err);
    if (st != GREBE_OK) {
        return st;
    }
    switch (t.kind) {
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW: return print_element(dst, schema, depth, err);
    case ARROW_FIXED_LIST:
        st = print_element(dst, schema, depth, err);
        return st != GREBE_OK ? st : buf_printf(dst, err, "[%d]", (int)t.list_size);
    case ARROW_STRUCT:
    case ARROW_RUN_END_ENCODED: return print_fields(dst, schema, depth, NULL, err);
    case ARROW_MAP: return print_map(dst, schema, depth, err);
    case ARROW_DENSE_UNION:
    case ARROW_SPARSE_UNION:
        st = arrow_union_ids(schema, ids, index, err);
        return st != GREBE_OK ? st : print_fields(dst, schema, depth, ids, err);
    default: return GREBE_OK;
    }
}

grebe_status type_print(struct buf *dst, const struct ArrowSchema *schema, grebe_error *err)
{
    return print_node(dst, schema, 0, err);
}

const char *type_quote(char *dst, size_t dst_len, const struct ArrowSchema *schema)
{
    struct buf text = BUF_INIT(mem_system());
    if (type_print(&text, schema, NULL) == GREBE_OK) {
        error_quote(dst, dst_len, text.data, text.len);
    } else {
        const char *format = schema->format != NULL ? schema->format : "";
        error_quote(dst, dst_len, format, strlen(format));
    }
    buf_release(&text);
    return dst;
}
