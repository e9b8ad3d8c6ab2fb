/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "parquet/parquet_schema.h"

/* The Arrow schema as Parquet schema elements and as leaves with the way to each. */

struct builder {
    struct arena *ar;
    struct pw_schema *out;
    uint32_t elements_max, leaves_max;
    struct pw_node nodes[ARROW_DEPTH_MAX + 1]; /* the way to the field in hand */
    uint8_t n_nodes;
    struct pq_bytes path[2 * ARROW_DEPTH_MAX + 2];
    int32_t n_path;
    uint8_t def, rep;
    int32_t column;
    bool is_milvus;
    grebe_error *err;
};

static struct pq_bytes bytes_of(const char *s)
{
    return (struct pq_bytes){(const unsigned char *)s, strlen(s)};
}

static grebe_status fail_field(const struct builder *b, const struct ArrowSchema *f,
                               grebe_status code, const char *what)
{
    const char *name = f->name != NULL ? f->name : "";
    char quoted[80];

    return GREBE_FAIL(b->err, code, "column \"%s\": %s (type %s)",
                      error_quote(quoted, sizeof quoted, name, strlen(name)), what,
                      f->format);
}

/* ---- counting: how large the arrays become ---- */

static void count_fields(const struct ArrowSchema *f, uint32_t *n_elements, uint32_t *n_leaves)
{
    *n_elements += 2; /* a list has a middle group */
    if (f->n_children == 0) {
        (*n_leaves)++;
    }
    for (int64_t i = 0; i < f->n_children; i++) {
        count_fields(f->children[i], n_elements, n_leaves);
    }
}

/* ---- elements ---- */

static struct pq_schema_element *new_element(struct builder *b, const char *name,
                                             int32_t repetition)
{
    struct pq_schema_element *e = &b->out->elements[b->out->n_elements++];

    assert(b->out->n_elements <= b->elements_max);
    pq_schema_element_init(e);
    e->name = bytes_of(name);
    e->repetition = repetition;
    return e;
}

static void set_field_id(struct pq_schema_element *e, const struct ArrowSchema *f)
{
    struct key_value kv;
    char text[16];
    char *end = NULL;
    long id = 0;

    if (!schema_metadata_find(f, "PARQUET:field_id", &kv) || kv.value_len == 0 ||
        kv.value_len >= sizeof text) {
        return;
    }
    memcpy(text, kv.value, kv.value_len);
    text[kv.value_len] = '\0';
    id = strtol(text, &end, 10);
    if (*end == '\0' && id >= INT32_MIN && id <= INT32_MAX) {
        e->has_field_id = true;
        e->field_id = (int32_t)id;
    }
}

static bool has_extension(const struct ArrowSchema *f, const char *name)
{
    struct key_value kv;

    return schema_metadata_find(f, "ARROW:extension:name", &kv) &&
           kv.value_len == strlen(name) && memcmp(kv.value, name, kv.value_len) == 0;
}

/* ---- types ---- */

/* Physical type, annotation and statistics order of an Arrow type. */
struct mapping {
    int32_t type;
    uint32_t width;
    enum pw_store store;
    enum pw_order order;
    int32_t converted;
    struct pq_logical logical;
};

static struct mapping integer(int32_t type, int8_t bits, bool is_signed)
{
    static const int32_t converted[2][4] = {
        {PQ_CONV_UINT_8, PQ_CONV_UINT_16, PQ_CONV_UINT_32, PQ_CONV_UINT_64},
        {PQ_CONV_INT_8, PQ_CONV_INT_16, -1, -1} /* the physical types say it all */
    };
    const int log = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    struct mapping m = {.type = type, .width = type == PQ_INT32 ? 4 : 8, .store = PW_FIXED};

    m.order = type == PQ_INT32 ? (is_signed ? PW_ORDER_I32 : PW_ORDER_U32)
                               : (is_signed ? PW_ORDER_I64 : PW_ORDER_U64);
    m.converted = converted[is_signed][log];
    if (m.converted >= 0) {
        m.logical.kind = PQ_LOGICAL_INTEGER;
        m.logical.bit_width = bits;
        m.logical.is_signed = is_signed;
    }
    return m;
}

/* Times of day are nobody's UTC: the others write them so, and DuckDB sees TIME then. Their
 * converted types would say UTC. */
static struct mapping timed(int32_t type, int32_t kind, enum arrow_unit unit, bool is_utc)
{
    struct mapping m = integer(type, type == PQ_INT32 ? 32 : 64, true);

    m.logical.kind = kind;
    m.logical.is_utc = is_utc;
    m.logical.unit = unit == ARROW_NANO    ? PQ_NANOS
                     : unit == ARROW_MICRO ? PQ_MICROS
                                           : PQ_MILLIS; /* seconds become milliseconds */
    if (kind == PQ_LOGICAL_TIME) {
        m.converted = unit == ARROW_NANO || !is_utc ? -1
                      : unit == ARROW_MICRO         ? PQ_CONV_TIME_MICROS
                                                    : PQ_CONV_TIME_MILLIS;
    } else {
        m.converted = unit == ARROW_NANO    ? -1
                      : unit == ARROW_MICRO ? PQ_CONV_TIMESTAMP_MICROS
                                            : PQ_CONV_TIMESTAMP_MILLIS;
    }
    return m;
}

static struct mapping fixed(uint32_t width, enum pw_order order, int32_t logical)
{
    return (struct mapping){.type = PQ_FIXED, .width = width, .store = PW_FIXED, .order = order,
                            .converted = -1, .logical = {.kind = logical}};
}

static struct mapping byte_strings(int32_t converted, int32_t logical)
{
    return (struct mapping){.type = PQ_BYTE_ARRAY, .store = PW_BYTES, .order = PW_ORDER_BYTES,
                            .converted = converted, .logical = {.kind = logical}};
}

/* Bytes that a big-endian two's complement number of `precision` digits needs:
 * ceil((log2(10) * precision + 1) / 8), in integers (log2(10) < 3.32193). */
static uint32_t decimal_width(int32_t precision)
{
    const int64_t bits = ((int64_t)precision * 332193 + 99999) / 100000 + 1;

    return (uint32_t)((bits + 7) / 8);
}

/* Integers where they can hold it (9 and 18 digits), else big-endian bytes. */
static struct mapping decimal(const struct arrow_type *t, bool is_bytes)
{
    struct mapping m =
        is_bytes || t->precision > 18
            ? fixed(decimal_width(t->precision), PW_ORDER_DECIMAL, PQ_LOGICAL_DECIMAL)
        : t->precision > 9 ? integer(PQ_INT64, 64, true)
                           : integer(PQ_INT32, 32, true);

    m.logical.kind = PQ_LOGICAL_DECIMAL;

    m.converted = PQ_CONV_DECIMAL;
    m.logical.precision = t->precision;
    m.logical.scale = t->scale;
    return m;
}

static bool map_type(const struct arrow_type *t, const struct ArrowSchema *f, bool is_milvus,
                     struct mapping *m)
{
    switch (t->kind) {
    case ARROW_NULL: *m = integer(PQ_INT32, 32, true); m->order = PW_UNORDERED;
        m->logical.kind = PQ_LOGICAL_UNKNOWN; return true;
    case ARROW_BOOL:
        *m = (struct mapping){.type = PQ_BOOLEAN, .store = PW_BOOL, .order = PW_ORDER_BOOL,
                              .converted = -1};
        return true;
    case ARROW_INT8: *m = integer(PQ_INT32, 8, true); return true;
    case ARROW_INT16: *m = integer(PQ_INT32, 16, true); return true;
    case ARROW_INT32: *m = integer(PQ_INT32, 32, true); return true;
    case ARROW_INT64:
    case ARROW_DURATION: *m = integer(PQ_INT64, 64, true); return true;
    case ARROW_UINT8: *m = integer(PQ_INT32, 8, false); return true;
    case ARROW_UINT16: *m = integer(PQ_INT32, 16, false); return true;
    case ARROW_UINT32: *m = integer(PQ_INT32, 32, false); return true;
    case ARROW_UINT64: *m = integer(PQ_INT64, 64, false); return true;
    case ARROW_FLOAT16: *m = fixed(2, PW_ORDER_F16, PQ_LOGICAL_FLOAT16); return true;
    case ARROW_FLOAT32:
        *m = fixed(4, PW_ORDER_F32, PQ_LOGICAL_NONE);
        m->type = PQ_FLOAT;
        return true;
    case ARROW_FLOAT64:
        *m = fixed(8, PW_ORDER_F64, PQ_LOGICAL_NONE);
        m->type = PQ_DOUBLE;
        return true;
    case ARROW_STRING:
    case ARROW_LARGE_STRING:
    case ARROW_STRING_VIEW:
        *m = has_extension(f, "arrow.json") ? byte_strings(PQ_CONV_JSON, PQ_LOGICAL_JSON)
                                            : byte_strings(PQ_CONV_UTF8, PQ_LOGICAL_STRING);
        return true;
    case ARROW_BINARY:
    case ARROW_LARGE_BINARY:
    case ARROW_BINARY_VIEW: *m = byte_strings(-1, PQ_LOGICAL_NONE); return true;
    case ARROW_FIXED_BINARY:
        *m = fixed((uint32_t)t->byte_width, PW_ORDER_BYTES,
                   t->byte_width == 16 && has_extension(f, "arrow.uuid") ? PQ_LOGICAL_UUID
                                                                         : PQ_LOGICAL_NONE);
        return t->byte_width > 0;
    case ARROW_DATE32:
    case ARROW_DATE64:
        *m = integer(PQ_INT32, 32, true);
        m->converted = PQ_CONV_DATE;
        m->logical.kind = PQ_LOGICAL_DATE;
        return true;
    case ARROW_TIME32: *m = timed(PQ_INT32, PQ_LOGICAL_TIME, t->unit, is_milvus); return true;
    case ARROW_TIME64: *m = timed(PQ_INT64, PQ_LOGICAL_TIME, t->unit, is_milvus); return true;
    case ARROW_TIMESTAMP:
        *m = timed(PQ_INT64, PQ_LOGICAL_TIMESTAMP, t->unit,
                   t->timezone != NULL && t->timezone[0] != '\0');
        return true;
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256:
        /* The format knows no negative scale and none beyond the precision. */
        if (t->scale < 0 || t->scale > t->precision) {
            return false;
        }
        *m = decimal(t, is_milvus);
        return true;
    default: return false;
    }
}

/* ---- the tree ---- */

static bool is_number(enum arrow_kind kind)
{
    return (kind >= ARROW_INT8 && kind <= ARROW_FLOAT64);
}

static grebe_status add_leaf(struct builder *b, const struct ArrowSchema *f,
                             const struct arrow_type *t, int32_t repetition, const char *name)
{
    struct pw_leaf *leaf = &b->out->leaves[b->out->n_leaves++];
    struct pq_schema_element *e = new_element(b, name, repetition);
    struct mapping m;

    assert(b->out->n_leaves <= b->leaves_max);
    if (!map_type(t, f, b->is_milvus, &m)) {
        return fail_field(b, f, GREBE_EUNSUPPORTED, "Parquet has no such type");
    }
    e->type = m.type;
    e->type_length = m.type == PQ_FIXED ? (int32_t)m.width : 0;
    e->converted = m.converted;
    e->logical = m.logical;
    if (m.logical.kind == PQ_LOGICAL_DECIMAL) {
        e->precision = m.logical.precision;
        e->scale = m.logical.scale;
    }
    set_field_id(e, f);
    leaf->column = b->column;
    leaf->n_nodes = b->n_nodes;
    leaf->nodes = arena_array(b->ar, b->n_nodes, sizeof *leaf->nodes);
    leaf->n_path = b->n_path;
    leaf->path = arena_array(b->ar, (size_t)b->n_path, sizeof *leaf->path);
    if (leaf->nodes == NULL || leaf->path == NULL) {
        return mem_fail(b->err, 0, "Parquet schema");
    }
    memcpy(leaf->nodes, b->nodes, b->n_nodes * sizeof *leaf->nodes);
    memcpy(leaf->path, b->path, (size_t)b->n_path * sizeof *leaf->path);
    leaf->max_def = b->def;
    leaf->max_rep = b->rep;
    leaf->type = m.type;
    leaf->width = m.width;
    leaf->store = m.store;
    leaf->order = m.order;
    leaf->encoding = PQ_ENCODING_ANY;
    leaf->is_utf8 = m.logical.kind == PQ_LOGICAL_STRING || m.logical.kind == PQ_LOGICAL_JSON;
    leaf->is_dictionary = b->nodes[b->n_nodes - 1].is_dictionary;
    leaf->is_integer = m.type == PQ_INT32 || m.type == PQ_INT64;
    leaf->is_number_list = b->n_nodes == 2 && b->nodes[0].shape == PW_LIST &&
                           !b->nodes[1].is_dictionary && is_number(t->kind);
    leaf->is_blob = t->kind == ARROW_FIXED_BINARY && b->n_nodes == 1;
    leaf->is_plain_binary = t->kind == ARROW_BINARY || t->kind == ARROW_BINARY_VIEW;
    return GREBE_OK;
}

static grebe_status add_field(struct builder *b, const struct ArrowSchema *f, const char *name,
                              unsigned depth);

static grebe_status add_children(struct builder *b, const struct ArrowSchema *f, unsigned depth)
{
    struct pw_node *node = &b->nodes[b->n_nodes - 1];
    grebe_status st = GREBE_OK;

    for (int64_t i = 0; i < f->n_children && st == GREBE_OK; i++) {
        node->child = (int32_t)i;
        st = add_field(b, f->children[i], f->children[i]->name, depth + 1);
    }
    return st;
}

/* LIST: group (LIST) { repeated group list { element } }; MAP: … key_value { key, value }. */
static grebe_status add_list(struct builder *b, const struct ArrowSchema *f,
                             struct pq_schema_element *group, bool is_map, unsigned depth)
{
    struct pw_node *node = &b->nodes[b->n_nodes - 1];
    struct pq_schema_element *middle = NULL;
    const char *middle_name = is_map ? "key_value" : "list";
    grebe_status st = GREBE_OK;

    group->n_children = 1;
    group->converted = is_map ? PQ_CONV_MAP : PQ_CONV_LIST;
    group->logical.kind = is_map ? PQ_LOGICAL_MAP : PQ_LOGICAL_LIST;
    middle = new_element(b, middle_name, PQ_REPEATED);
    middle->n_children = is_map ? 2 : 1;
    b->path[b->n_path++] = bytes_of(middle_name);
    b->def++;
    b->rep++;
    node->rep = b->rep;
    node->child = 0;
    if (!is_map) {
        st = add_field(b, f->children[0], "element", depth + 1);
    } else {
        /* The entries of a map are a struct that cannot be null: it has no level of its own. */
        const struct ArrowSchema *entries = f->children[0];
        struct pw_node *inner = &b->nodes[b->n_nodes++];

        memset(inner, 0, sizeof *inner);
        inner->shape = PW_STRUCT;
        inner->type.kind = ARROW_STRUCT;
        inner->name = "key_value";
        inner->def = b->def;
        for (int32_t i = 0; i < 2 && st == GREBE_OK; i++) {
            inner->child = i;
            st = add_field(b, entries->children[i], i == 0 ? "key" : "value", depth + 2);
        }
        b->n_nodes--;
    }
    b->def--;
    b->rep--;
    b->n_path--;
    return st;
}

static grebe_status describe(struct builder *b, const struct ArrowSchema *f,
                             struct arrow_type *t, struct pw_node *node)
{
    grebe_status st = arrow_type_of(f, t, b->err);

    memset(node, 0, sizeof *node);
    if (st != GREBE_OK) {
        return st;
    }
    node->is_optional = t->is_nullable || t->kind == ARROW_NULL;
    node->name = f->name;
    if (t->is_dictionary) {
        const bool is_nullable = t->is_nullable;

        node->is_dictionary = true;
        node->index_kind = t->kind;
        st = arrow_type_of(f->dictionary, t, b->err);
        if (st != GREBE_OK) {
            return st;
        }
        if (t->is_dictionary || f->dictionary->n_children > 0) {
            return fail_field(b, f, GREBE_EUNSUPPORTED, "dictionaries of nested values are not written");
        }
        t->is_nullable = is_nullable;
    }
    node->type = *t;
    return GREBE_OK;
}

static grebe_status add_field(struct builder *b, const struct ArrowSchema *f, const char *name,
                              unsigned depth)
{
    struct arrow_type t;
    struct pw_node *node = NULL;
    struct pq_schema_element *e = NULL;
    int32_t repetition = PQ_REQUIRED;
    grebe_status st = GREBE_OK;

    /* What is written can be read: a list is two levels in Parquet. */
    if (depth >= ARROW_DEPTH_MAX || b->n_path > PQ_DEPTH_MAX) {
        return GREBE_FAIL(b->err, GREBE_ELIMIT,
                          "schema: expected a depth of at most %d (a list or map counts twice)",
                          PQ_DEPTH_MAX);
    }
    node = &b->nodes[b->n_nodes];
    st = describe(b, f, &t, node);
    if (st != GREBE_OK) {
        return st;
    }
    repetition = node->is_optional ? PQ_OPTIONAL : PQ_REQUIRED;
    b->n_nodes++;
    b->def = (uint8_t)(b->def + node->is_optional);
    b->path[b->n_path++] = bytes_of(name);
    node->def = b->def;
    switch (t.kind) {
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW:
    case ARROW_FIXED_LIST:
    case ARROW_MAP:
        node->shape = PW_LIST;
        e = new_element(b, name, repetition);
        set_field_id(e, f);
        st = add_list(b, f, e, t.kind == ARROW_MAP, depth);
        break;
    case ARROW_STRUCT:
        node->shape = PW_STRUCT;
        if (f->n_children == 0) {
            st = fail_field(b, f, GREBE_EUNSUPPORTED, "Parquet has no struct without fields");
            break;
        }
        e = new_element(b, name, repetition);
        e->n_children = (int32_t)f->n_children;
        set_field_id(e, f);
        st = add_children(b, f, depth);
        break;
    default:
        node->shape = PW_VALUE;
        st = add_leaf(b, node->is_dictionary ? f->dictionary : f, &t, repetition, name);
        if (st == GREBE_OK && node->is_dictionary) {
            set_field_id(&b->out->elements[b->out->n_elements - 1], f);
        }
        break;
    }
    b->n_path--;
    b->def = (uint8_t)(b->def - node->is_optional);
    b->n_nodes--;
    return st;
}

grebe_status pw_schema_build(const grebe_allocator *a, struct arena *ar,
                             const struct ArrowSchema *schema, bool is_milvus,
                             struct pw_schema *out, grebe_error *err)
{
    struct builder *b = NULL;
    struct arrow_type t;
    struct pq_schema_element *root = NULL;
    grebe_status st = GREBE_OK;

    memset(out, 0, sizeof *out);
    b = mem_alloc_zero(a, sizeof *b);
    if (b == NULL) {
        return mem_fail(err, sizeof *b, "Parquet schema");
    }
    *b = (struct builder){.ar = ar, .out = out, .is_milvus = is_milvus, .err = err};
    GREBE_TRY(schema_check(schema, err));
    GREBE_TRY(arrow_type_of(schema, &t, err));
    if (t.kind != ARROW_STRUCT) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "schema of a file: expected a struct, found %s",
                        schema->format);
        goto out;
    }
    GREBE_TRY(schema_copy(a, schema, &out->arrow, err));
    count_fields(&out->arrow, &b->elements_max, &b->leaves_max);
    if (b->elements_max > PQ_SCHEMA_ELEMENTS_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "schema: expected at most %d elements, found up to %u",
                        PQ_SCHEMA_ELEMENTS_MAX, b->elements_max);
        goto out;
    }
    out->elements = arena_array(ar, b->elements_max, sizeof *out->elements);
    out->leaves = arena_array(ar, b->leaves_max, sizeof *out->leaves);
    if (out->elements == NULL || out->leaves == NULL) {
        st = mem_fail(err, b->elements_max * sizeof *out->elements, "Parquet schema");
        goto out;
    }
    root = new_element(b, "schema", PQ_REQUIRED);
    root->n_children = (int32_t)out->arrow.n_children;
    for (int64_t i = 0; i < out->arrow.n_children; i++) {
        b->column = (int32_t)i;
        GREBE_TRY(add_field(b, out->arrow.children[i], out->arrow.children[i]->name, 0));
    }
out:
    mem_free(a, b, sizeof *b);
    return st;
}

void pw_schema_release(struct pw_schema *s) { schema_release(&s->arrow); }
