/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_eval.h"

#include <assert.h>

#include "base/checked.h"
#include "base/endian.h"

static size_t width_of(enum domain d)
{
    switch (d) {
    case D_BOOL: return 1;
    case D_DECIMAL: return sizeof(struct decimal256);
    case D_BYTES: return sizeof(struct arrow_bytes);
    default: return 8;
    }
}

void vec_scalar(const struct eval *ev, const struct expr_node *node, int64_t i,
                struct scalar *out)
{
    const struct vec *v = vec_of(ev, node);
    memset(out, 0, sizeof *out);
    out->domain = node->domain;
    out->time = node->time;
    out->scale = node->scale;
    out->is_null = node->domain == D_NULL || (v->valid != NULL && !v->valid[i]);
    if (out->is_null) {
        return;
    }
    switch (node->domain) {
    case D_BOOL:
        out->is_null = ((const uint8_t *)v->data)[i] == TRI_NULL;
        out->boolean = ((const uint8_t *)v->data)[i] == TRI_TRUE;
        break;
    case D_UINT: out->u = ((const uint64_t *)v->data)[i]; break;
    case D_DOUBLE: out->d = ((const double *)v->data)[i]; break;
    case D_DECIMAL: out->decimal = ((const struct decimal256 *)v->data)[i]; break;
    case D_BYTES: out->bytes = ((const struct arrow_bytes *)v->data)[i]; break;
    default: out->i = ((const int64_t *)v->data)[i]; break;
    }
}

/* ---- literals ---- */

static void fill_literal(const struct eval *ev, const struct expr_node *node)
{
    struct vec *v = vec_of(ev, node);
    const struct scalar *s = &node->value;
    if (v->is_filled) {
        return;
    }
    v->is_filled = true;
    for (size_t i = 0; i < ev->chunk; i++) {
        switch (node->domain) {
        case D_BOOL: ((uint8_t *)v->own)[i] = s->boolean ? TRI_TRUE : TRI_FALSE; break;
        case D_UINT: ((uint64_t *)v->own)[i] = s->u; break;
        case D_DOUBLE: ((double *)v->own)[i] = s->d; break;
        case D_DECIMAL: ((struct decimal256 *)v->own)[i] = s->decimal; break;
        case D_BYTES: ((struct arrow_bytes *)v->own)[i] = s->bytes; break;
        default: ((int64_t *)v->own)[i] = s->i; break;
        }
    }
    if (node->domain == D_NULL) {
        memset(v->valid_bytes, 0, ev->chunk);
        v->valid = v->valid_bytes;
    }
}

/* ---- logic: false 0, null 1, true 2 ---- */

/* Tri-states of a kid: a literal null has none of its own. */
static const uint8_t *tri_of(const struct eval *ev, const struct expr_node *kid, uint8_t *nulls)
{
    if (kid->domain != D_NULL) {
        return vec_of(ev, kid)->data;
    }
    memset(nulls, TRI_NULL, (size_t)ev->n);
    return nulls;
}

static void eval_logic(const struct eval *ev, const struct expr_node *node)
{
    uint8_t nulls[EVAL_CHUNK];
    uint8_t *dst = vec_of(ev, node)->own;
    size_t n = (size_t)ev->n;
    for (size_t k = 0; k < node->n_kids; k++) {
        const uint8_t *x = tri_of(ev, node->kids[k], nulls);
        switch (node->op) {
        case OP_NOT:
            for (size_t i = 0; i < n; i++) {
                dst[i] = (uint8_t)(TRI_TRUE - x[i]);
            }
            break;
        case OP_IS_TRUE:
        case OP_IS_FALSE:
            for (size_t i = 0; i < n; i++) {
                dst[i] = x[i] == (node->op == OP_IS_TRUE ? TRI_TRUE : TRI_FALSE) ? TRI_TRUE
                                                                                : TRI_FALSE;
            }
            break;
        case OP_AND:
            for (size_t i = 0; i < n; i++) {
                dst[i] = k > 0 && dst[i] < x[i] ? dst[i] : x[i];
            }
            break;
        default:
            for (size_t i = 0; i < n; i++) {
                dst[i] = k > 0 && dst[i] > x[i] ? dst[i] : x[i];
            }
        }
    }
}

static void eval_is_null(const struct eval *ev, const struct expr_node *node)
{
    const struct expr_node *kid = node->kids[0];
    const struct vec *x = vec_of(ev, kid);
    uint8_t *dst = vec_of(ev, node)->own;
    for (int64_t i = 0; i < ev->n; i++) {
        bool is_null = kid->domain == D_NULL ||
                       (kid->domain == D_BOOL ? ((const uint8_t *)x->data)[i] == TRI_NULL
                                              : x->valid != NULL && !x->valid[i]);
        dst[i] = is_null ? TRI_TRUE : TRI_FALSE;
    }
}

/* ---- comparisons ---- */

static void nulls_over(const struct vec *v, size_t n, uint8_t *dst)
{
    if (v->valid != NULL) {
        for (size_t i = 0; i < n; i++) {
            dst[i] = v->valid[i] ? dst[i] : TRI_NULL;
        }
    }
}

static void compare_generic(const struct eval *ev, const struct expr_node *x,
                            const struct expr_node *y, enum compare_op op, uint8_t *dst)
{
    for (int64_t i = 0; i < ev->n; i++) {
        struct scalar a;
        struct scalar b;
        vec_scalar(ev, x, i, &a);
        vec_scalar(ev, y, i, &b);
        dst[i] = a.is_null || b.is_null ? TRI_NULL : compare_outcome(op, scalar_compare(&a, &b));
    }
}

static void compare_bytes(const struct eval *ev, const struct vec *x, const struct vec *y,
                          enum compare_op op, uint8_t *dst)
{
    const struct arrow_bytes *a = x->data;
    const struct arrow_bytes *b = y->data;
    if (op == CMP_EQ || op == CMP_NE) {
        for (int64_t i = 0; i < ev->n; i++) {
            bool is_equal = a[i].len == b[i].len &&
                            memcmp(a[i].p, b[i].p, (size_t)a[i].len) == 0;
            dst[i] = is_equal == (op == CMP_EQ) ? TRI_TRUE : TRI_FALSE;
        }
        nulls_over(x, (size_t)ev->n, dst);
        nulls_over(y, (size_t)ev->n, dst);
        return;
    }
    for (int64_t i = 0; i < ev->n; i++) {
        if ((x->valid != NULL && !x->valid[i]) || (y->valid != NULL && !y->valid[i])) {
            dst[i] = TRI_NULL;
        } else {
            dst[i] = compare_outcome(op, bytes_compare(a[i], b[i]));
        }
    }
}

static void compare_nodes(const struct eval *ev, const struct expr_node *xn,
                          const struct expr_node *yn, enum compare_op op, uint8_t *dst)
{
    const struct vec *x = vec_of(ev, xn);
    const struct vec *y = vec_of(ev, yn);
    size_t n = (size_t)ev->n;
    bool is_same_unit = xn->domain != D_TIME || xn->time.ns_per_unit == yn->time.ns_per_unit;
    if (xn->domain != yn->domain || !is_same_unit) {
        compare_generic(ev, xn, yn, op, dst);
        return;
    }
    switch (xn->domain) {
    case D_INT:
    case D_TIME: ev->compare->i64(op, x->data, y->data, n, dst); break;
    case D_UINT: ev->compare->u64(op, x->data, y->data, n, dst); break;
    case D_DOUBLE: ev->compare->f64(op, x->data, y->data, n, dst); break;
    case D_BYTES: compare_bytes(ev, x, y, op, dst); return;
    default: compare_generic(ev, xn, yn, op, dst); return;
    }
    nulls_over(x, n, dst);
    nulls_over(y, n, dst);
}

static bool in_ints(const struct value_set *set, int64_t v)
{
    size_t low = 0;
    size_t high = set->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->ints[middle] < v) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < set->n && set->ints[low] == v;
}

static bool in_bytes(const struct value_set *set, struct arrow_bytes v)
{
    size_t low = 0;
    size_t high = set->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = bytes_compare(set->bytes[middle], v);
        if (c == 0) {
            return true;
        }
        if (c < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

static void eval_in_set(const struct eval *ev, const struct expr_node *node)
{
    const struct value_set *set = node->set;
    const struct vec *x = vec_of(ev, node->kids[0]);
    uint8_t *dst = vec_of(ev, node)->own;
    uint8_t other = set->has_null ? TRI_NULL : TRI_FALSE;
    for (int64_t i = 0; i < ev->n; i++) {
        if (x->valid != NULL && !x->valid[i]) {
            dst[i] = TRI_NULL;
            continue;
        }
        bool is_in = set->ints != NULL ? in_ints(set, ((const int64_t *)x->data)[i])
                                       : in_bytes(set, ((const struct arrow_bytes *)x->data)[i]);
        dst[i] = is_in ? TRI_TRUE : other;
    }
}

/* between: and of two; in: or of equalities */
static void eval_list(const struct eval *ev, const struct expr_node *node)
{
    uint8_t one[EVAL_CHUNK];
    uint8_t *dst = vec_of(ev, node)->own;
    size_t n = (size_t)ev->n;
    memset(dst, node->op == OP_BETWEEN ? TRI_TRUE : TRI_FALSE, n);
    for (size_t k = 1; k < node->n_kids; k++) {
        enum compare_op op = node->op == OP_IN ? CMP_EQ : k == 1 ? CMP_GE : CMP_LE;
        compare_nodes(ev, node->kids[0], node->kids[k], op, one);
        for (size_t i = 0; i < n; i++) {
            bool is_less = one[i] < dst[i];
            dst[i] = is_less == (node->op == OP_BETWEEN) ? one[i] : dst[i];
        }
    }
}

/* A pattern whose only wildcards are % at its ends, as the text between them. */
struct plain_like {
    bool is_plain, open_begin, open_end;
    struct arrow_bytes part;
};

static struct plain_like plain_pattern(const struct expr_node *node)
{
    const struct expr_node *pattern = node->kids[1];
    struct plain_like l = { false, false, false, { "", 0 } };
    if (pattern->op != OP_LITERAL || pattern->domain != D_BYTES || node->len == 1) {
        return l;
    }
    struct arrow_bytes p = pattern->value.bytes;
    l.open_begin = p.len > 0 && p.p[0] == '%';
    p.p += l.open_begin;
    p.len -= l.open_begin;
    l.open_end = p.len > 0 && p.p[p.len - 1] == '%';
    p.len -= l.open_end;
    l.part = p;
    l.is_plain = p.len > 0 && memchr(p.p, '%', (size_t)p.len) == NULL &&
                 memchr(p.p, '_', (size_t)p.len) == NULL;
    return l;
}

static bool matches_plain(const struct plain_like *l, struct arrow_bytes text)
{
    if (l->open_begin && l->open_end) {
        return bytes_contain(text, l->part);
    }
    if (text.len < l->part.len || (!l->open_begin && !l->open_end && text.len != l->part.len)) {
        return false;
    }
    const char *from = l->open_begin ? text.p + (text.len - l->part.len) : text.p;
    return memcmp(from, l->part.p, (size_t)l->part.len) == 0;
}

static void eval_like(const struct eval *ev, const struct expr_node *node)
{
    struct plain_like plain = plain_pattern(node);
    const struct vec *x = vec_of(ev, node->kids[0]);
    const struct vec *y = vec_of(ev, node->kids[1]);
    uint8_t *dst = vec_of(ev, node)->own;
    int escape = node->len == 1 ? (unsigned char)node->text[0] : -1;
    bool is_null = node->kids[0]->domain == D_NULL || node->kids[1]->domain == D_NULL;
    for (int64_t i = 0; i < ev->n; i++) {
        if (is_null || (x->valid != NULL && !x->valid[i]) || (y->valid != NULL && !y->valid[i])) {
            dst[i] = TRI_NULL;
        } else if (plain.is_plain) {
            dst[i] = matches_plain(&plain, ((const struct arrow_bytes *)x->data)[i]) ? TRI_TRUE
                                                                                   : TRI_FALSE;
        } else {
            dst[i] = expr_like(((const struct arrow_bytes *)x->data)[i],
                               ((const struct arrow_bytes *)y->data)[i], escape)
                         ? TRI_TRUE
                         : TRI_FALSE;
        }
    }
}

grebe_status eval_node(struct eval *ev, const struct expr_node *node)
{
    bool by_set = node->op == OP_IN && node->set != NULL;
    for (size_t i = 0; i < node->n_kids && (i == 0 || !by_set); i++) {
        grebe_status st = eval_node(ev, node->kids[i]);
        if (st != GREBE_OK) {
            return st;
        }
    }
    switch (node->op) {
    case OP_LITERAL: fill_literal(ev, node); break;
    case OP_COLUMN: return eval_column(ev, node);
    case OP_AND:
    case OP_OR:
    case OP_NOT:
    case OP_IS_TRUE:
    case OP_IS_FALSE: eval_logic(ev, node); break;
    case OP_IS_NULL: eval_is_null(ev, node); break;
    case OP_COMPARE:
        compare_nodes(ev, node->kids[0], node->kids[1], (enum compare_op)node->sub,
                      vec_of(ev, node)->own);
        break;
    case OP_BETWEEN:
    case OP_IN:
        if (by_set) {
            eval_in_set(ev, node);
        } else {
            eval_list(ev, node);
        }
        break;
    case OP_LIKE: eval_like(ev, node); break;
    case OP_ARITH:
    case OP_NEGATE: return eval_arith(ev, node);
    case OP_CALL: return eval_call(ev, node);
    }
    return GREBE_OK;
}

/* ---- the whole ---- */

/* Bytes that all vectors take for each row of a chunk. */
static size_t bytes_per_row(const struct expr_node *node)
{
    size_t size = width_of(node->domain) + 1;
    bool by_set = node->op == OP_IN && node->set != NULL;
    for (size_t i = 0; i < node->n_kids && (i == 0 || !by_set); i++) {
        size += bytes_per_row(node->kids[i]);
    }
    return size;
}

static char *place_vectors(struct eval *ev, const struct expr_node *node, char *p)
{
    struct vec *v = vec_of(ev, node);
    bool by_set = node->op == OP_IN && node->set != NULL;
    v->data = v->own = p;
    p += ev->chunk * width_of(node->domain);
    v->valid_bytes = (uint8_t *)p;
    p += ev->chunk;
    for (size_t i = 0; i < node->n_kids && (i == 0 || !by_set); i++) {
        p = place_vectors(ev, node->kids[i], p);
    }
    return p;
}

grebe_status eval_begin(struct eval *ev, int64_t length)
{
    const struct expr *e = ev->e;
    size_t row_len = bytes_per_row(e->root);
    ev->chunk = EVAL_CHUNK;
    while (ev->chunk > EVAL_CHUNK_MIN &&
           (ev->chunk * row_len > EVAL_BLOCK_AIM || ev->chunk / 2 >= (uint64_t)length)) {
        ev->chunk /= 2;
    }
    size_t rows_len = ev->chunk * sizeof(int64_t);
    ev->block_len = rows_len + ev->chunk * row_len;
    ev->block = mem_alloc(e->a, ev->block_len);
    ev->vecs = mem_alloc_zero(e->a, e->n_slots * sizeof *ev->vecs);
    if (ev->block == NULL || ev->vecs == NULL) {
        return mem_fail(ev->err, ev->block_len, "the evaluation of a condition");
    }
    ev->rows = ev->block;
    place_vectors(ev, e->root, (char *)ev->block + rows_len);
    return GREBE_OK;
}

void eval_end(struct eval *ev)
{
    const struct expr *e = ev->e;
    for (size_t i = 0; ev->vecs != NULL && i < e->n_slots; i++) {
        mem_free(e->a, ev->vecs[i].text, ev->vecs[i].text_capacity);
    }
    mem_free(e->a, ev->vecs, e->n_slots * sizeof *ev->vecs);
    mem_free(e->a, ev->block, ev->block_len);
}

/* The chunk's tri-states into keep; chunks begin at a multiple of 8. */
static void put_bits(const uint8_t *tri, int64_t n, uint8_t *keep)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        /* Byte k is 2 when true: bit 1 of it moves to bit k of the product's top byte. */
        uint64_t ones = load_le64(tri + i) >> 1 & UINT64_C(0x0101010101010101);
        keep[i >> 3] = (uint8_t)(ones * UINT64_C(0x0102040810204080) >> 56);
    }
    for (; i < n; i++) {
        if (tri[i] == TRI_TRUE) {
            bit_set(keep, i);
        }
    }
}

grebe_status expr_eval(const struct expr *e, const struct ArrowArray *const *columns,
                       int64_t length, uint8_t *keep, int64_t *n_true, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct eval ev = {
        .e = e, .columns = columns, .compare = compare_kernels(), .err = err
    };
    uint8_t nulls[EVAL_CHUNK];

    assert(e->is_bound);
    memset(keep, 0, bitmap_bytes(length));
    GREBE_TRY(eval_begin(&ev, length));
    for (ev.begin = 0; ev.begin < length; ev.begin += (int64_t)ev.chunk) {
        ev.n = min_i64((int64_t)ev.chunk, length - ev.begin);
        GREBE_TRY(eval_node(&ev, e->root));
        put_bits(tri_of(&ev, e->root, nulls), ev.n, keep + (ev.begin >> 3));
    }
    if (n_true != NULL) {
        *n_true = bitmap_count(keep, 0, length);
    }
out:
    eval_end(&ev);
    return st;
}

grebe_status expr_eval_rows(const struct expr *e, const struct ArrowArray *rows, uint8_t *keep,
                            int64_t *n_true, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t len = e->n_columns * sizeof(struct ArrowArray *) + 1;
    const struct ArrowArray **columns = mem_alloc(e->a, len);
    if (columns == NULL) {
        return mem_fail(err, len, "columns");
    }
    assert(rows->offset == 0 && rows->n_children == e->schema.n_children);
    for (size_t i = 0; i < e->n_columns; i++) {
        columns[i] = rows->children[e->columns[i]];
    }
    st = expr_eval(e, columns, rows->length, keep, n_true, err);
    mem_free(e->a, columns, len);
    return st;
}
