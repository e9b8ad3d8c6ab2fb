/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_eval.h"

#include <assert.h>

#include "base/half.h"

/* Where the rows of a chunk are in an array on the way down to the leaf. */
struct place {
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    bool by_rows;  /* else: begin, begin + 1, … */
    int64_t begin; /* array->offset not added */
    int64_t *rows; /* -1: null */
};

static inline int64_t row_at(const struct place *p, int64_t i)
{
    return p->by_rows ? p->rows[i] : p->begin + i;
}

static bool is_null_at(const struct place *p, const uint8_t *bits, int64_t row)
{
    return row < 0 || (bits != NULL && !bit_get(bits, p->array->offset + row));
}

/* Dictionary indices and runs lead to the rows of their values. */
static grebe_status resolve_values(const struct eval *ev, struct place *p)
{
    while (p->schema->dictionary != NULL || strcmp(p->schema->format, "+r") == 0) {
        struct arrow_type t;
        const struct ArrowSchema *ends = p->schema->dictionary != NULL ? p->schema
                                                                       : p->schema->children[0];
        grebe_status st = arrow_type_of(ends, &t, ev->err);
        if (st != GREBE_OK) {
            return st;
        }
        const struct ArrowArray *a = p->array;
        bool is_dictionary = p->schema->dictionary != NULL;
        const uint8_t *bits = is_dictionary ? arrow_validity(a, t.kind) : NULL;
        for (int64_t i = 0; i < ev->n; i++) {
            int64_t row = row_at(p, i);
            if (is_null_at(p, bits, row)) {
                p->rows[i] = -1;
            } else {
                p->rows[i] = is_dictionary
                                 ? arrow_load_int(a->buffers[1], t.kind, a->offset + row)
                                 : arrow_run_of(a->children[0], t.kind, a->offset + row);
            }
        }
        p->by_rows = true;
        p->array = is_dictionary ? a->dictionary : a->children[1];
        p->schema = is_dictionary ? p->schema->dictionary : p->schema->children[1];
    }
    return GREBE_OK;
}

static void enter_field(const struct eval *ev, struct place *p, int child)
{
    const struct ArrowArray *a = p->array;
    const uint8_t *bits = arrow_validity(a, ARROW_STRUCT);
    if (bits == NULL && !p->by_rows) {
        p->begin += a->offset;
    } else {
        for (int64_t i = 0; i < ev->n; i++) {
            int64_t row = row_at(p, i);
            p->rows[i] = is_null_at(p, bits, row) ? -1 : a->offset + row;
        }
        p->by_rows = true;
    }
    p->array = a->children[child];
    p->schema = p->schema->children[child];
}

/* Elements of a list row: [*begin, *begin + *len) of the child. */
static void elements_of(const struct ArrowArray *a, const struct arrow_type *t, int64_t row,
                        int64_t *begin, int64_t *len)
{
    int width = arrow_offset_width(t->kind);
    row += a->offset;
    if (t->kind == ARROW_FIXED_LIST) {
        *begin = row * t->list_size;
        *len = t->list_size;
        return;
    }
    *begin = load_offset(a->buffers[1], width, row);
    *len = arrow_kind_is_list_view(t->kind)
               ? load_offset(a->buffers[2], width, row)
               : load_offset(a->buffers[1], width, row + 1) - *begin;
}

static grebe_status enter_element(const struct eval *ev, struct place *p, int64_t index)
{
    struct arrow_type t;
    grebe_status st = arrow_type_of(p->schema, &t, ev->err);
    if (st != GREBE_OK) {
        return st;
    }
    const uint8_t *bits = arrow_validity(p->array, t.kind);
    for (int64_t i = 0; i < ev->n; i++) {
        int64_t row = row_at(p, i);
        int64_t begin = 0;
        int64_t len = 0;
        if (!is_null_at(p, bits, row)) {
            elements_of(p->array, &t, row, &begin, &len);
        }
        int64_t at = index < 0 ? index + len : index;
        p->rows[i] = at >= 0 && at < len ? begin + at : -1;
    }
    p->by_rows = true;
    p->array = p->array->children[0];
    p->schema = p->schema->children[0];
    return GREBE_OK;
}

static void load_validity(const struct eval *ev, const struct place *p, enum arrow_kind kind,
                          struct vec *v)
{
    const uint8_t *bits = arrow_validity(p->array, kind);
    v->valid = NULL;
    if (kind == ARROW_NULL) {
        memset(v->valid_bytes, 0, (size_t)ev->n);
        v->valid = v->valid_bytes;
        return;
    }
    if (bits == NULL && !p->by_rows) {
        return;
    }
    if (!p->by_rows) {
        int64_t begin = p->array->offset + p->begin;
        if (bitmap_count(bits, begin, ev->n) == ev->n) {
            return;
        }
        for (int64_t i = 0; i < ev->n; i++) {
            v->valid_bytes[i] = bit_get(bits, begin + i);
        }
        v->valid = v->valid_bytes;
        return;
    }
    for (int64_t i = 0; i < ev->n; i++) {
        v->valid_bytes[i] = !is_null_at(p, bits, row_at(p, i));
    }
    v->valid = v->valid_bytes;
}

/* dst[i] = (to)value of type `from` in row i; 0 for rows at -1. */
#define LOAD(from, to, convert)                                                  \
    do {                                                                         \
        const char *src = (const char *)p->array->buffers[1];                    \
        int64_t base = p->array->offset + (p->by_rows ? 0 : p->begin);           \
        to *dst = v->own;                                                        \
        src += base * (int64_t)sizeof(from);                                     \
        for (int64_t i = 0; !p->by_rows && i < ev->n; i++) {                     \
            from x;                                                              \
            memcpy(&x, src + i * (int64_t)sizeof x, sizeof x);                   \
            dst[i] = (to)convert(x);                                             \
        }                                                                        \
        for (int64_t i = 0; p->by_rows && i < ev->n; i++) {                      \
            from x = 0;                                                          \
            if (p->rows[i] >= 0) {                                               \
                memcpy(&x, src + p->rows[i] * (int64_t)sizeof x, sizeof x);      \
            }                                                                    \
            dst[i] = (to)convert(x);                                             \
        }                                                                        \
    } while (0)
#define AS_IT_IS(x) (x)

/* Values of 8 bytes are used where they lie. */
static bool use_in_place(const struct place *p, struct vec *v)
{
    const char *src = p->array->buffers[1];
    src += (p->array->offset + p->begin) * 8;
    if (p->by_rows || (uintptr_t)src % 8 != 0) {
        v->data = v->own;
        return false;
    }
    v->data = src;
    return true;
}

static void load_text(const struct eval *ev, const struct place *p, const struct arrow_type *t,
                      struct vec *v)
{
    struct arrow_bytes *dst = v->own;
    int width = arrow_offset_width(t->kind);
    if (width > 0 && !p->by_rows && p->array->buffers[2] != NULL) {
        /* The common case; a null's offsets are in order too, so its bytes may be pointed at. */
        const char *data = p->array->buffers[2];
        int64_t row = p->array->offset + p->begin;
        int64_t begin = load_offset(p->array->buffers[1], width, row);
        for (int64_t i = 0; i < ev->n; i++) {
            int64_t end = load_offset(p->array->buffers[1], width, row + i + 1);
            dst[i] = (struct arrow_bytes){ data + begin, end - begin };
            begin = end;
        }
        return;
    }
    for (int64_t i = 0; i < ev->n; i++) {
        bool is_null = v->valid != NULL && !v->valid[i];
        dst[i] = is_null ? (struct arrow_bytes){ "", 0 }
                         : arrow_bytes_at(p->array, t->kind, t->byte_width, row_at(p, i));
    }
}

static void load_bools(const struct eval *ev, const struct place *p, struct vec *v)
{
    uint8_t *dst = v->own;
    const uint8_t *bits = p->array->buffers[1];
    for (int64_t i = 0; i < ev->n; i++) {
        bool is_null = v->valid != NULL && !v->valid[i];
        dst[i] = is_null                                        ? TRI_NULL
                 : bit_get(bits, p->array->offset + row_at(p, i)) ? TRI_TRUE
                                                                  : TRI_FALSE;
    }
    v->valid = NULL;
}

static void load_decimals(const struct eval *ev, const struct place *p,
                          const struct arrow_type *t, struct vec *v)
{
    struct decimal256 *dst = v->own;
    const char *src = p->array->buffers[1];
    for (int64_t i = 0; i < ev->n; i++) {
        int64_t row = row_at(p, i);
        dst[i] = row < 0 ? decimal_from_i64(0)
                         : decimal_load(src + (p->array->offset + row) * t->byte_width,
                                        t->byte_width);
    }
}

static void load_lengths(const struct eval *ev, const struct place *p, const struct arrow_type *t,
                         struct vec *v)
{
    int64_t *dst = v->own;
    for (int64_t i = 0; i < ev->n; i++) {
        int64_t begin = 0;
        dst[i] = 0;
        if (v->valid == NULL || v->valid[i]) {
            elements_of(p->array, t, row_at(p, i), &begin, &dst[i]);
        }
    }
}

static void load_values(const struct eval *ev, const struct place *p, const struct arrow_type *t,
                        struct vec *v)
{
    bool is_wide = t->kind == ARROW_INT64 || t->kind == ARROW_DATE64 || t->kind == ARROW_TIME64 ||
                   t->kind == ARROW_TIMESTAMP || t->kind == ARROW_DURATION ||
                   t->kind == ARROW_UINT64 || t->kind == ARROW_FLOAT64;
    if (is_wide && use_in_place(p, v)) {
        return;
    }
    switch (t->kind) {
    case ARROW_BOOL: load_bools(ev, p, v); break;
    case ARROW_INT8: LOAD(int8_t, int64_t, AS_IT_IS); break;
    case ARROW_UINT8: LOAD(uint8_t, int64_t, AS_IT_IS); break;
    case ARROW_INT16: LOAD(int16_t, int64_t, AS_IT_IS); break;
    case ARROW_UINT16: LOAD(uint16_t, int64_t, AS_IT_IS); break;
    case ARROW_UINT32: LOAD(uint32_t, int64_t, AS_IT_IS); break;
    case ARROW_INT32:
    case ARROW_DATE32:
    case ARROW_TIME32: LOAD(int32_t, int64_t, AS_IT_IS); break;
    case ARROW_INT64:
    case ARROW_DATE64:
    case ARROW_TIME64:
    case ARROW_TIMESTAMP:
    case ARROW_DURATION: LOAD(int64_t, int64_t, AS_IT_IS); break;
    case ARROW_UINT64: LOAD(uint64_t, uint64_t, AS_IT_IS); break;
    case ARROW_FLOAT16: LOAD(uint16_t, double, half_to_float); break;
    case ARROW_FLOAT32: LOAD(float, double, AS_IT_IS); break;
    case ARROW_FLOAT64: LOAD(double, double, AS_IT_IS); break;
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256: load_decimals(ev, p, t, v); break;
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW:
    case ARROW_FIXED_LIST:
    case ARROW_MAP: load_lengths(ev, p, t, v); break;
    default:
        if (arrow_kind_is_bytes(t->kind) || arrow_kind_is_view(t->kind) ||
            t->kind == ARROW_FIXED_BINARY) {
            load_text(ev, p, t, v);
        }
    }
}

grebe_status eval_column(struct eval *ev, const struct expr_node *node)
{
    grebe_status st = GREBE_OK;
    struct place p = { ev->e->schema.children[node->column],
                       ev->columns[ev->e->positions[node->column]], false, ev->begin, ev->rows };
    struct vec *v = vec_of(ev, node);

    GREBE_TRY(resolve_values(ev, &p));
    for (size_t i = node->first_step; i < node->n_steps; i++) {
        const struct path_step *step = &node->steps[i];
        if (step->name != NULL) {
            enter_field(ev, &p, step->child);
        } else {
            GREBE_TRY(enter_element(ev, &p, step->index));
        }
        GREBE_TRY(resolve_values(ev, &p));
    }
    assert(p.schema == node->leaf);
    load_validity(ev, &p, node->leaf_type.kind, v);
    load_values(ev, &p, &node->leaf_type, v);
out:
    return st;
}
