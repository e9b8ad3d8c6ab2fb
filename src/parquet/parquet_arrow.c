/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parquet types as Arrow types. First what the file itself says (spec 3.2), then what the key
 * ARROW:schema adds to it: a hint is followed only where the stored bytes bear it out.
 */
#include "parquet/parquet_schema.h"

#include <stdio.h>
#include <string.h>

#include "arrow/ipc.h"
#include "base/base64.h"

enum { HINT_BYTES_MAX = 64 << 20 };

struct builder {
    const grebe_allocator *a;
    struct arena *ar;
    const struct pq_footer *footer;
    struct pq_schema *schema;
    grebe_error *err;
};

/* An Arrow type being chosen for a leaf. */
struct choice {
    char format[64];
    const char *long_format; /* instead of `format` when set */
    enum arrow_kind kind;
    enum arrow_unit unit;
    enum pq_convert convert;
    int32_t width_out;
    int32_t precision, scale;
};

static void choose(struct choice *c, const char *format, enum arrow_kind kind,
                   enum pq_convert convert, int32_t width_out)
{
    snprintf(c->format, sizeof c->format, "%s", format);
    c->kind = kind;
    c->convert = convert;
    c->width_out = width_out;
}

/* ---- what the file says ---- */

/* The converted type in the terms of the logical one; an unknown member counts as none. */
static struct pq_logical logical_of(const struct pq_schema_element *e)
{
    struct pq_logical l = e->logical;
    bool is_known = l.kind != 0 && l.kind <= PQ_LOGICAL_FILE && l.kind != 9;
    if (is_known) {
        return l;
    }
    memset(&l, 0, sizeof l);
    if (e->logical.kind != 0) {
        return l;
    }
    switch (e->converted) {
    case PQ_CONV_UTF8: l.kind = PQ_LOGICAL_STRING; break;
    case PQ_CONV_ENUM: l.kind = PQ_LOGICAL_ENUM; break;
    case PQ_CONV_JSON: l.kind = PQ_LOGICAL_JSON; break;
    case PQ_CONV_BSON: l.kind = PQ_LOGICAL_BSON; break;
    case PQ_CONV_DATE: l.kind = PQ_LOGICAL_DATE; break;
    case PQ_CONV_DECIMAL:
        l.kind = PQ_LOGICAL_DECIMAL;
        l.precision = e->precision;
        l.scale = e->scale < 0 ? 0 : e->scale;
        break;
    case PQ_CONV_TIME_MILLIS:
    case PQ_CONV_TIME_MICROS:
    case PQ_CONV_TIMESTAMP_MILLIS:
    case PQ_CONV_TIMESTAMP_MICROS:
        l.kind = e->converted <= PQ_CONV_TIME_MICROS ? PQ_LOGICAL_TIME : PQ_LOGICAL_TIMESTAMP;
        l.is_utc = true;
        l.unit = e->converted == PQ_CONV_TIME_MILLIS || e->converted == PQ_CONV_TIMESTAMP_MILLIS
                     ? PQ_MILLIS
                     : PQ_MICROS;
        break;
    default:
        if (e->converted >= PQ_CONV_UINT_8 && e->converted <= PQ_CONV_INT_64) {
            l.kind = PQ_LOGICAL_INTEGER;
            l.is_signed = e->converted >= PQ_CONV_INT_8;
            l.bit_width = (int8_t)(8 << ((e->converted - PQ_CONV_UINT_8) % 4));
        }
        break;
    }
    return l;
}

static void choose_decimal(struct choice *c, struct pq_leaf *leaf, const struct pq_logical *l)
{
    enum pq_convert convert = leaf->type == PQ_FIXED        ? PQ_CONVERT_DECIMAL_BE
                              : leaf->type == PQ_BYTE_ARRAY ? PQ_CONVERT_DECIMAL_BYTES
                                                            : PQ_CONVERT_SIGN_EXTEND;
    if (l->precision < 1 || l->precision > 76 || l->scale < 0 || l->scale > l->precision) {
        leaf->unreadable = "its decimal precision or scale is impossible";
        return;
    }
    bool is_256 = l->precision > 38;
    choose(c, "", is_256 ? ARROW_DECIMAL256 : ARROW_DECIMAL128, convert, is_256 ? 32 : 16);
    snprintf(c->format, sizeof c->format, is_256 ? "d:%d,%d,256" : "d:%d,%d", l->precision,
             l->scale);
    c->precision = l->precision;
    c->scale = l->scale;
}

static void choose_integer(struct choice *c, const struct pq_logical *l)
{
    static const char formats[2][4] = { "CSI", "csi" };
    static const enum arrow_kind kinds[2][3] = { { ARROW_UINT8, ARROW_UINT16, ARROW_UINT32 },
                                                 { ARROW_INT8, ARROW_INT16, ARROW_INT32 } };
    int i = l->bit_width == 8 ? 0 : l->bit_width == 16 ? 1 : l->bit_width == 32 ? 2 : -1;
    if (i >= 0) {
        char format[2] = { formats[l->is_signed][i], 0 };
        choose(c, format, kinds[l->is_signed][i], i == 2 ? PQ_CONVERT_COPY : PQ_CONVERT_NARROW,
               1 << i);
    }
}

static void choose_int32(struct choice *c, struct pq_leaf *leaf, const struct pq_logical *l)
{
    choose(c, "i", ARROW_INT32, PQ_CONVERT_COPY, 4);
    switch (l->kind) {
    case PQ_LOGICAL_INTEGER: choose_integer(c, l); break;
    case PQ_LOGICAL_DATE: choose(c, "tdD", ARROW_DATE32, PQ_CONVERT_COPY, 4); break;
    case PQ_LOGICAL_TIME:
        if (l->unit == PQ_MILLIS) {
            choose(c, "ttm", ARROW_TIME32, PQ_CONVERT_COPY, 4);
            c->unit = ARROW_MILLI;
        }
        break;
    case PQ_LOGICAL_DECIMAL: choose_decimal(c, leaf, l); break;
    default: break;
    }
}

static void choose_int64(struct choice *c, struct pq_leaf *leaf, const struct pq_logical *l)
{
    static const char *const timestamps[2][4] = { { NULL, "tsm:", "tsu:", "tsn:" },
                                                  { NULL, "tsm:UTC", "tsu:UTC", "tsn:UTC" } };
    bool has_unit = l->unit >= PQ_MILLIS && l->unit <= PQ_NANOS;
    choose(c, "l", ARROW_INT64, PQ_CONVERT_COPY, 8);
    if (l->kind == PQ_LOGICAL_INTEGER && l->bit_width == 64 && !l->is_signed) {
        choose(c, "L", ARROW_UINT64, PQ_CONVERT_COPY, 8);
    } else if (l->kind == PQ_LOGICAL_TIME && has_unit && l->unit != PQ_MILLIS) {
        choose(c, l->unit == PQ_MICROS ? "ttu" : "ttn", ARROW_TIME64, PQ_CONVERT_COPY, 8);
        c->unit = l->unit == PQ_MICROS ? ARROW_MICRO : ARROW_NANO;
    } else if (l->kind == PQ_LOGICAL_TIMESTAMP && has_unit) {
        choose(c, timestamps[l->is_utc][l->unit], ARROW_TIMESTAMP, PQ_CONVERT_COPY, 8);
        c->unit = (enum arrow_unit)l->unit; /* both count from milli = 1 */
    } else if (l->kind == PQ_LOGICAL_DECIMAL) {
        choose_decimal(c, leaf, l);
    }
}

static void choose_fixed(struct choice *c, struct pq_leaf *leaf, const struct pq_logical *l)
{
    choose(c, "", ARROW_FIXED_BINARY, PQ_CONVERT_COPY, leaf->type_length);
    snprintf(c->format, sizeof c->format, "w:%d", leaf->type_length);
    if (l->kind == PQ_LOGICAL_DECIMAL) {
        choose_decimal(c, leaf, l);
    } else if (l->kind == PQ_LOGICAL_FLOAT16 && leaf->type_length == 2) {
        choose(c, "e", ARROW_FLOAT16, PQ_CONVERT_COPY, 2);
    }
}

static void choose_type(struct choice *c, struct pq_leaf *leaf, const struct pq_schema_element *e,
                        bool is_int96_us)
{
    struct pq_logical l = logical_of(e);
    memset(c, 0, sizeof *c);
    if (l.kind == PQ_LOGICAL_UNKNOWN) {
        choose(c, "n", ARROW_NULL, PQ_CONVERT_NULL, 0);
        return;
    }
    switch (leaf->type) {
    case PQ_BOOLEAN: choose(c, "b", ARROW_BOOL, PQ_CONVERT_BOOL, 0); break;
    case PQ_INT32: choose_int32(c, leaf, &l); break;
    case PQ_INT64: choose_int64(c, leaf, &l); break;
    case PQ_INT96:
        choose(c, is_int96_us ? "tsu:" : "tsn:", ARROW_TIMESTAMP,
               is_int96_us ? PQ_CONVERT_INT96_US : PQ_CONVERT_INT96, 8);
        c->unit = is_int96_us ? ARROW_MICRO : ARROW_NANO;
        break;
    case PQ_FLOAT: choose(c, "f", ARROW_FLOAT32, PQ_CONVERT_COPY, 4); break;
    case PQ_DOUBLE: choose(c, "g", ARROW_FLOAT64, PQ_CONVERT_COPY, 8); break;
    case PQ_BYTE_ARRAY:
        choose(c, "z", ARROW_BINARY, PQ_CONVERT_BYTES, 0);
        if (l.kind == PQ_LOGICAL_STRING || l.kind == PQ_LOGICAL_ENUM || l.kind == PQ_LOGICAL_JSON) {
            choose(c, "u", ARROW_STRING, PQ_CONVERT_BYTES, 0);
        } else if (l.kind == PQ_LOGICAL_DECIMAL) {
            choose_decimal(c, leaf, &l);
        }
        break;
    default: choose_fixed(c, leaf, &l); break;
    }
}

static int32_t stored_width(const struct pq_leaf *leaf)
{
    static const int32_t widths[] = { 0, 4, 8, 12, 4, 8, 0 };
    return leaf->type == PQ_FIXED ? leaf->type_length : widths[leaf->type];
}

/* ---- what ARROW:schema adds ---- */

static bool is_integer(enum arrow_kind kind)
{
    return kind >= ARROW_INT8 && kind <= ARROW_UINT64;
}

static bool is_byte_string(enum arrow_kind kind)
{
    return kind >= ARROW_STRING && kind <= ARROW_BINARY_VIEW;
}

static bool is_decimal(enum arrow_kind kind)
{
    return kind >= ARROW_DECIMAL32 && kind <= ARROW_DECIMAL256;
}

static void follow(struct choice *c, const struct ArrowSchema *hint, const struct arrow_type *t,
                   enum pq_convert convert)
{
    c->long_format = hint->format;
    c->kind = t->kind;
    c->unit = t->unit;
    c->convert = convert;
    c->width_out = t->byte_width;
}

static void follow_timestamp(struct choice *c, const struct ArrowSchema *hint,
                             const struct arrow_type *t, struct builder *b)
{
    static const char units[] = "smun";
    bool has_zone = t->timezone[0] != 0;
    if (c->convert == PQ_CONVERT_COPY && c->unit == t->unit) {
        follow(c, hint, t, PQ_CONVERT_COPY);
    } else if (c->convert == PQ_CONVERT_COPY && c->unit == ARROW_MILLI && t->unit == ARROW_SECOND) {
        follow(c, hint, t, PQ_CONVERT_MS_TO_S_64);
    } else if (has_zone) {
        /* Stored in a unit that Arrow's writer chose: the zone is all that is missing. */
        size_t len = strlen(t->timezone);
        char *format = arena_alloc(b->ar, len + 5);
        if (format != NULL) {
            snprintf(format, len + 5, "ts%c:%s", units[c->unit], t->timezone);
            c->long_format = format;
        }
    }
}

static void follow_leaf(struct builder *b, const struct ArrowSchema *hint,
                        const struct pq_leaf *leaf, struct choice *c)
{
    struct arrow_type t;
    if (hint->dictionary != NULL) {
        hint = hint->dictionary;
    }
    if (arrow_type_of(hint, &t, NULL) != GREBE_OK || leaf->unreadable != NULL) {
        return;
    }
    int32_t width = stored_width(leaf);
    bool is_plain_int64 = leaf->type == PQ_INT64 && c->kind == ARROW_INT64;
    if (is_integer(t.kind) && is_integer(c->kind) && t.byte_width <= width) {
        follow(c, hint, &t, t.byte_width == width ? PQ_CONVERT_COPY : PQ_CONVERT_NARROW);
    } else if (is_byte_string(t.kind) && is_byte_string(c->kind)) {
        follow(c, hint, &t, PQ_CONVERT_BYTES);
    } else if (t.kind == ARROW_FLOAT16 && leaf->type == PQ_FIXED && width == 2) {
        follow(c, hint, &t, PQ_CONVERT_COPY);
    } else if (t.kind == ARROW_DATE64 && c->kind == ARROW_DATE32) {
        follow(c, hint, &t, PQ_CONVERT_DAYS_TO_MS);
    } else if (t.kind == ARROW_TIME32 && c->kind == ARROW_TIME32 && t.unit == ARROW_SECOND) {
        follow(c, hint, &t, PQ_CONVERT_MS_TO_S_32);
    } else if (t.kind == ARROW_TIMESTAMP && c->kind == ARROW_TIMESTAMP) {
        follow_timestamp(c, hint, &t, b);
    } else if (t.kind == ARROW_DURATION && is_plain_int64) {
        follow(c, hint, &t, PQ_CONVERT_COPY);
    } else if (is_decimal(t.kind) && is_decimal(c->kind) && t.precision == c->precision &&
               t.scale == c->scale) {
        follow(c, hint, &t, c->convert);
    }
}

/* ---- schemas ---- */

static grebe_status build_field(struct builder *b, struct pq_node *n,
                                const struct ArrowSchema *hint, struct ArrowSchema *out);

/* The canonical extension type that the annotation stands for, as pyarrow reads it; NULL: none. */
static const char *extension_of(const struct pq_schema_element *e, const struct ArrowSchema *out)
{
    const struct pq_logical l = logical_of(e);
    if (l.kind == PQ_LOGICAL_UUID && strcmp(out->format, "w:16") == 0) {
        return "arrow.uuid";
    }
    bool is_string = strcmp(out->format, "u") == 0 || strcmp(out->format, "U") == 0 ||
                     strcmp(out->format, "vu") == 0;
    return l.kind == PQ_LOGICAL_JSON && is_string ? "arrow.json" : NULL;
}

static grebe_status set_metadata(struct builder *b, const struct pq_node *n,
                                 const struct ArrowSchema *hint, struct ArrowSchema *out)
{
    const struct pq_schema_element *e = &b->footer->schema[n->element];
    static const char id_key[] = "PARQUET:field_id";
    char id[16];
    static const char name_key[] = "ARROW:extension:name", data_key[] = "ARROW:extension:metadata";
    struct key_value known;
    size_t n_hint = hint == NULL ? 0 : schema_metadata_count(hint);
    const char *extension = n->n_children == 0 ? extension_of(e, out) : NULL;
    if (n_hint > 0 && schema_metadata_find(hint, name_key, &known)) {
        extension = NULL; /* the writer's word */
    }
    if (n_hint == 0 && !e->has_field_id && extension == NULL) {
        return GREBE_OK;
    }
    struct key_value *pairs = arena_array(b->ar, n_hint + 3, sizeof *pairs);
    if (pairs == NULL) {
        return GREBE_FAIL(b->err, GREBE_ENOMEM, "no memory for field metadata");
    }
    size_t count = 0;
    for (size_t i = 0; i < n_hint; i++) {
        struct key_value kv = schema_metadata_at(hint, i);
        bool is_id = kv.key_len == sizeof id_key - 1 && memcmp(kv.key, id_key, kv.key_len) == 0;
        if (!is_id) {
            pairs[count++] = kv;
        }
    }
    if (e->has_field_id) {
        int len = snprintf(id, sizeof id, "%d", e->field_id);
        pairs[count++] = (struct key_value){ id_key, sizeof id_key - 1, id, (size_t)len };
    }
    if (extension != NULL) {
        pairs[count++] = (struct key_value){ name_key, sizeof name_key - 1, extension, strlen(extension) };
        pairs[count++] = (struct key_value){ data_key, sizeof data_key - 1, "", 0 };
    }
    return schema_set_metadata(b->a, out, pairs, count, b->err);
}

static grebe_status build_leaf(struct builder *b, struct pq_node *n, const char *name,
                               const struct ArrowSchema *hint, struct ArrowSchema *out)
{
    struct pq_leaf *leaf = &b->schema->leaves[n->leaf];
    struct choice c;
    choose_type(&c, leaf, &b->footer->schema[n->element], b->footer->is_int96_us);
    if (leaf->unreadable != NULL) {
        choose(&c, leaf->type == PQ_BYTE_ARRAY ? "z" : "", ARROW_BINARY, PQ_CONVERT_BYTES, 0);
        if (leaf->type != PQ_BYTE_ARRAY) {
            snprintf(c.format, sizeof c.format, "w:%d", stored_width(leaf));
            c.kind = ARROW_FIXED_BINARY;
            c.convert = PQ_CONVERT_COPY;
            c.width_out = stored_width(leaf);
        }
    }
    if (hint != NULL) {
        follow_leaf(b, hint, leaf, &c);
    }
    n->arrow = c.kind;
    n->convert = c.convert;
    n->width_in = stored_width(leaf);
    n->width_out = c.width_out;
    return schema_new(b->a, c.long_format != NULL ? c.long_format : c.format, name,
                      n->is_nullable || n->convert == PQ_CONVERT_NULL, 0, out, b->err);
}

static bool same_name(struct builder *b, const struct pq_node *n, const char *name)
{
    const struct pq_bytes *own = &b->footer->schema[n->element].name;
    return name != NULL && strlen(name) == own->len && memcmp(name, own->data, own->len) == 0;
}

/* The hint for child i of a struct; NULL when the two do not agree on what it is. */
static const struct ArrowSchema *child_hint(struct builder *b, const struct pq_node *children,
                                            uint32_t n, uint32_t i, const struct ArrowSchema *hint)
{
    if (hint == NULL || hint->n_children != (int64_t)n ||
        !same_name(b, &children[i], hint->children[i]->name)) {
        return NULL;
    }
    return hint->children[i];
}

static grebe_status build_list(struct builder *b, struct pq_node *n, const char *name,
                               const struct ArrowSchema *hint, struct ArrowSchema *out)
{
    const char *format = "+l";
    const struct ArrowSchema *elem_hint = NULL;
    struct arrow_type t;
    n->arrow = ARROW_LIST;
    if (hint != NULL && arrow_type_of(hint, &t, NULL) == GREBE_OK) {
        bool is_list = t.kind == ARROW_LIST || t.kind == ARROW_LARGE_LIST ||
                       t.kind == ARROW_FIXED_LIST || t.kind == ARROW_LIST_VIEW ||
                       t.kind == ARROW_LARGE_LIST_VIEW;
        elem_hint = is_list ? hint->children[0] : NULL;
        if (t.kind == ARROW_LARGE_LIST || t.kind == ARROW_FIXED_LIST) {
            format = hint->format;
            n->arrow = t.kind;
            n->list_size = t.kind == ARROW_FIXED_LIST ? t.list_size : 0;
        }
    }
    grebe_status st = schema_new(b->a, format, name, n->is_nullable, 1, out, b->err);
    if (st == GREBE_OK) {
        st = build_field(b, &n->children[0], elem_hint, out->children[0]);
    }
    if (st == GREBE_OK && elem_hint != NULL && elem_hint->name != NULL) {
        st = schema_set_name(b->a, out->children[0], elem_hint->name, b->err);
    }
    return st;
}

static grebe_status build_struct(struct builder *b, struct pq_node *n, const char *name,
                                 const struct ArrowSchema *hint, struct ArrowSchema *out)
{
    n->arrow = ARROW_STRUCT;
    if (hint != NULL && (hint->format == NULL || strcmp(hint->format, "+s") != 0)) {
        hint = NULL;
    }
    grebe_status st =
        schema_new(b->a, "+s", name, n->is_nullable, (int64_t)n->n_children, out, b->err);
    for (uint32_t i = 0; i < n->n_children && st == GREBE_OK; i++) {
        st = build_field(b, &n->children[i], child_hint(b, n->children, n->n_children, i, hint),
                         out->children[i]);
    }
    return st;
}

static grebe_status build_map(struct builder *b, struct pq_node *n, const char *name,
                              const struct ArrowSchema *hint, struct ArrowSchema *out)
{
    struct pq_node *entries = &n->children[0];
    const struct ArrowSchema *entries_hint = NULL;
    n->arrow = ARROW_MAP;
    entries->arrow = ARROW_STRUCT;
    if (hint != NULL && strcmp(hint->format, "+m") == 0 && hint->n_children == 1 &&
        hint->children[0]->n_children == 2) {
        entries_hint = hint->children[0];
    }
    grebe_status st = schema_new(b->a, "+m", name, n->is_nullable, 1, out, b->err);
    if (st == GREBE_OK) {
        st = schema_new(b->a, "+s", "entries", false, 2, out->children[0], b->err);
    }
    for (uint32_t i = 0; i < 2 && st == GREBE_OK; i++) {
        /* The names inside a map are free: position decides. */
        st = build_field(b, &entries->children[i],
                         entries_hint == NULL ? NULL : entries_hint->children[i],
                         out->children[0]->children[i]);
    }
    if (st == GREBE_OK) {
        out->children[0]->children[0]->flags &= ~ARROW_FLAG_NULLABLE;
        out->flags |= hint == NULL ? 0 : hint->flags & ARROW_FLAG_MAP_KEYS_SORTED;
    }
    return st;
}

static grebe_status build_field(struct builder *b, struct pq_node *n,
                                const struct ArrowSchema *hint, struct ArrowSchema *out)
{
    const struct pq_bytes *bytes = &b->footer->schema[n->element].name;
    const char *name = arena_str(b->ar, (const char *)bytes->data, bytes->len);
    grebe_status st = GREBE_OK;
    if (name == NULL) {
        return GREBE_FAIL(b->err, GREBE_ENOMEM, "no memory for a field name");
    }
    switch (n->kind) {
    case PQ_NODE_LEAF: st = build_leaf(b, n, name, hint, out); break;
    case PQ_NODE_LIST: st = build_list(b, n, name, hint, out); break;
    case PQ_NODE_MAP: st = build_map(b, n, name, hint, out); break;
    default: st = build_struct(b, n, name, hint, out); break;
    }
    return st == GREBE_OK ? set_metadata(b, n, hint, out) : st;
}

/* ---- the whole ---- */

static bool key_is(const struct pq_key_value *kv, const char *key)
{
    size_t len = strlen(key);
    return kv->key.len == len && memcmp(kv->key.data, key, len) == 0;
}

/* The schema under ARROW:schema; left empty when there is none or it makes no sense. */
static grebe_status decode_hint(struct builder *b, struct ArrowSchema *out)
{
    const struct pq_key_value *found = NULL;
    struct buf bytes = BUF_INIT(b->a);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < b->footer->n_key_values && found == NULL; i++) {
        found =
            key_is(&b->footer->key_values[i], "ARROW:schema") ? &b->footer->key_values[i] : NULL;
    }
    if (found == NULL || found->value.data == NULL || found->value.len > HINT_BYTES_MAX) {
        return GREBE_OK;
    }
    grebe_status st =
        base64_decode(&bytes, (const char *)found->value.data, found->value.len, b->err);
    if (st == GREBE_OK) {
        st = ipc_schema_decode(b->a, bytes.data, bytes.len, out, b->err);
    }
    buf_release(&bytes);
    return st == GREBE_ENOMEM ? st : GREBE_OK;
}

/* Key-value pairs of the file, without those that describe this file's own layout. */
static grebe_status set_root_metadata(struct builder *b, struct ArrowSchema *out)
{
    static const char *const own[] = { "ARROW:schema", "row_group_metadata", "storage_version",
                                       "group_field_id_list" };
    uint32_t n = b->footer->n_key_values;
    struct key_value *pairs = arena_array(b->ar, n, sizeof *pairs);
    size_t count = 0;
    if (pairs == NULL) {
        return GREBE_FAIL(b->err, GREBE_ENOMEM, "no memory for metadata");
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct pq_key_value *kv = &b->footer->key_values[i];
        bool is_own = false;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) {
            is_own = is_own || key_is(kv, own[k]);
        }
        if (!is_own) {
            pairs[count++] =
                (struct key_value){ (const char *)kv->key.data, kv->key.len,
                                    kv->value.data == NULL ? "" : (const char *)kv->value.data,
                                    kv->value.len };
        }
    }
    return count == 0 ? GREBE_OK : schema_set_metadata(b->a, out, pairs, count, b->err);
}

grebe_status pq_schema_to_arrow(const grebe_allocator *a, struct arena *ar,
                                const struct pq_footer *footer, struct pq_schema *s,
                                grebe_error *err)
{
    struct builder b = { .a = a, .ar = ar, .footer = footer, .schema = s, .err = err };
    struct ArrowSchema hint;
    grebe_status st = GREBE_OK;

    GREBE_TRY(decode_hint(&b, &hint));
    GREBE_TRY(schema_new(a, "+s", "", false, (int64_t)s->n_columns, &s->arrow, err));
    const struct ArrowSchema *root_hint =
        hint.release != NULL && hint.format != NULL && strcmp(hint.format, "+s") == 0 ? &hint
                                                                                      : NULL;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        GREBE_TRY(build_field(&b, &s->columns[i],
                              child_hint(&b, s->columns, s->n_columns, i, root_hint),
                              s->arrow.children[i]));
    }
    GREBE_TRY(set_root_metadata(&b, &s->arrow));
out:
    schema_release(&hint);
    if (st != GREBE_OK) {
        schema_release(&s->arrow);
    }
    return st;
}
