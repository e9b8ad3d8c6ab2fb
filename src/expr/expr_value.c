/* SPDX-License-Identifier: Apache-2.0 */
/* Values of an expression as an Arrow column. */
#include <assert.h>
#include <stdio.h>

#include "base/checked.h"
#include "expr/expr_eval.h"

/* A column as a whole, whatever its type. */
static bool is_whole_column(const struct expr_node *root)
{
    return root->op == OP_COLUMN && root->first_step == root->n_steps;
}

static const char *time_format(const struct expr_node *root, char *dst, size_t dst_len)
{
    static const char units[] = "smun";
    int64_t ns = root->time.ns_per_unit;
    int unit = ns == 1000000000 ? 0 : ns == 1000000 ? 1 : ns == 1000 ? 2 : 3;
    if (root->op == OP_COLUMN) {
        return root->leaf->format;
    }
    if (root->time.kind == TIME_DATE && ns == INT64_C(86400000000000)) {
        return "tdD";
    }
    if (root->time.kind == TIME_STAMP && (ns == 1000000000 || ns == 1000000 || ns == 1000 || ns == 1)) {
        snprintf(dst, dst_len, "ts%c:%s", units[unit], root->time.zone == ZONE_NONE ? "" : "UTC");
        return dst;
    }
    return NULL;
}

/* NULL: no type of its own. */
static const char *format_of(const struct expr_node *root, char *dst, size_t dst_len)
{
    switch (root->domain) {
    case D_NULL: return "n";
    case D_BOOL: return "b";
    case D_INT: return "l";
    case D_UINT: return "L";
    case D_DOUBLE: return "g";
    case D_DECIMAL: snprintf(dst, dst_len, "d:76,%d,256", (int)root->scale); return dst;
    case D_BYTES: return root->is_text ? "u" : "z";
    case D_TIME: return time_format(root, dst, dst_len);
    default: return NULL;
    }
}

grebe_status expr_value_type(const struct expr *e, const char *name, struct ArrowSchema *out, grebe_error *err)
{
    char text[48], found[96];
    const struct expr_node *root = e->root;
    assert(e->is_bound);
    if (is_whole_column(root)) {
        grebe_status st = schema_copy_plain(e->a, e->schema.children[root->column], out, err);
        return st == GREBE_OK ? schema_set_name(e->a, out, name, err) : st;
    }
    const char *format = format_of(root, text, sizeof text);
    if (format == NULL) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "expression: %s makes no column",
                          expr_describe(found, sizeof found, root));
    }
    return schema_new(e->a, format, name, true, 0, out, err);
}

/* ---- columns being made ---- */

struct column {
    const struct expr_node *root;
    struct ArrowArray *out;
    uint8_t *bits;    /* validity */
    char *values;     /* fixed width */
    int width;        /* bytes of a stored value; 0: bits */
    struct buf bytes; /* of texts */
};

static grebe_status column_new(struct column *c, const struct expr *e, int64_t length, int byte_width, grebe_error *err)
{
    bool is_bytes = c->root->domain == D_BYTES;
    void *p = NULL;
    grebe_status st = array_new(e->a, length, is_bytes ? 3 : 2, 0, c->out, err);
    if (st == GREBE_OK) {
        st = array_alloc_buffer(e->a, c->out, 0, bitmap_bytes(length), &p, err);
        c->bits = p;
    }
    if (st != GREBE_OK) {
        return st;
    }
    memset(p, 0, bitmap_bytes(length));
    c->width = byte_width;
    size_t len = is_bytes                    ? ((size_t)length + 1) * 4
                 : c->root->domain == D_BOOL ? bitmap_bytes(length)
                                             : (size_t)length * (size_t)byte_width;
    st = array_alloc_buffer(e->a, c->out, 1, len, &p, err);
    if (st == GREBE_OK) {
        memset(p, 0, len);
        c->values = p;
    }
    return st;
}

static grebe_status put_text(struct column *c, const struct arrow_bytes *b, bool is_valid, int64_t row,
                             grebe_error *err)
{
    grebe_status st = is_valid ? buf_put(&c->bytes, b->p, (size_t)b->len, err) : GREBE_OK;
    if (st == GREBE_OK && c->bytes.len > INT32_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "row %lld: more than 2^31 - 1 bytes of text in one column", (long long)row);
    }
    if (st == GREBE_OK) {
        store_offset(c->values, 4, row + 1, (int64_t)c->bytes.len);
    }
    return st;
}

/* The rows of a chunk, of which the first is `begin`. */
static grebe_status put_chunk(struct column *c, const struct eval *ev, grebe_error *err)
{
    const struct vec *v = vec_of(ev, c->root);
    grebe_status st = GREBE_OK;
    for (int64_t i = 0; i < ev->n && st == GREBE_OK; i++) {
        int64_t row = ev->begin + i;
        bool is_valid = v->valid == NULL || v->valid[i];
        switch (c->root->domain) {
        case D_BOOL: {
            uint8_t tri = ((const uint8_t *)v->data)[i];
            is_valid = tri != TRI_NULL;
            if (tri == TRI_TRUE) {
                bit_set((uint8_t *)c->values, row);
            }
            break;
        }
        case D_BYTES: st = put_text(c, (const struct arrow_bytes *)v->data + i, is_valid, row, err); break;
        case D_DECIMAL: memcpy(c->values + row * 32, (const struct decimal256 *)v->data + i, 32); break;
        default:
            if (is_valid && c->width == 4) {
                int32_t narrow = (int32_t)((const int64_t *)v->data)[i];
                memcpy(c->values + row * 4, &narrow, 4);
            } else if (is_valid) {
                memcpy(c->values + row * 8, (const int64_t *)v->data + i, 8);
            }
        }
        if (is_valid) {
            bit_set(c->bits, row);
        }
    }
    return st;
}

static grebe_status finish(struct column *c, const struct expr *e, grebe_error *err)
{
    struct ArrowArray *out = c->out;
    out->null_count = out->length - bitmap_count(c->bits, 0, out->length);
    if (out->null_count == 0) {
        array_set_buffer(out, 0, NULL, NULL);
    }
    if (c->root->domain != D_BYTES) {
        return GREBE_OK;
    }
    void *p = NULL;
    grebe_status st = array_alloc_buffer(e->a, out, 2, c->bytes.len, &p, err);
    if (st == GREBE_OK && c->bytes.len > 0) {
        memcpy(p, c->bytes.data, c->bytes.len);
    }
    return st;
}

static grebe_status copy_column(const struct expr *e, const struct ArrowArray *const *columns, struct ArrowArray *out,
                                grebe_error *err)
{
    const struct ArrowSchema *from = e->schema.children[e->root->column];
    struct ArrowSchema plain = { 0 };
    grebe_status st = schema_copy_plain(e->a, from, &plain, err);
    st = st == GREBE_OK ? array_widen(e->a, from, &plain, columns[e->positions[e->root->column]], out, err) : st;
    schema_release(&plain);
    return st;
}

grebe_status expr_eval_value(const struct expr *e, const struct ArrowArray *const *columns, int64_t length,
                             struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct eval ev = { .e = e, .columns = columns, .compare = compare_kernels(), .err = err };
    struct column c = { .root = e->root, .out = out, .bytes = BUF_INIT(e->a) };
    struct ArrowSchema type = { 0 };
    struct arrow_type t;
    assert(e->is_bound);
    memset(out, 0, sizeof *out);
    if (is_whole_column(e->root)) {
        return copy_column(e, columns, out, err);
    }
    GREBE_TRY(expr_value_type(e, "", &type, err));
    if (e->root->domain == D_NULL) {
        st = array_nulls(e->a, &type, length, out, err);
        goto out;
    }
    GREBE_TRY(arrow_type_of(&type, &t, err));
    GREBE_TRY(column_new(&c, e, length, t.byte_width, err));
    GREBE_TRY(eval_begin(&ev, length));
    for (ev.begin = 0; ev.begin < length; ev.begin += (int64_t)ev.chunk) {
        ev.n = min_i64((int64_t)ev.chunk, length - ev.begin);
        GREBE_TRY(eval_node(&ev, e->root));
        GREBE_TRY(put_chunk(&c, &ev, err));
    }
    GREBE_TRY(finish(&c, e, err));
out:
    eval_end(&ev);
    buf_release(&c.bytes);
    schema_release(&type);
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}
