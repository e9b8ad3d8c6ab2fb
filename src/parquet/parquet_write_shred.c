/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"

/*
 * Rows into levels and dense values. A column of one leaf without nesting keeps a bitmap (flat);
 * a list of numbers whose rows all have the same length keeps the length (vector) until a row
 * says otherwise; everything else gets a byte of each level per slot (nested).
 */

void pw_chunk_init(struct pw_chunk *c, const grebe_allocator *a, const struct pw_leaf *leaf)
{
    memset(c, 0, sizeof *c);
    c->a = a;
    c->leaf = leaf;
    c->valid = BUF_INIT(a);
    c->rep = BUF_INIT(a);
    c->def = BUF_INIT(a);
    c->values = BUF_INIT(a);
    c->ends = BUF_INIT(a);
    c->scratch = BUF_INIT(a);
    c->pages = BUF_INIT(a);
    c->out = BUF_INIT(a);
    c->min = BUF_INIT(a);
    c->max = BUF_INIT(a);
    c->column_index = BUF_INIT(a);
    c->bloom = BUF_INIT(a);
    pw_chunk_clear(c);
}

void pw_chunk_release(struct pw_chunk *c)
{
    struct buf *all[] = {&c->valid, &c->rep, &c->def, &c->values, &c->ends,         &c->scratch,
                         &c->pages, &c->out, &c->min, &c->max,    &c->column_index, &c->bloom};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        buf_release(all[i]);
    }
}

void pw_chunk_clear(struct pw_chunk *c)
{
    struct buf *all[] = {&c->valid, &c->rep, &c->def, &c->values, &c->ends,         &c->scratch,
                         &c->pages, &c->out, &c->min, &c->max,    &c->column_index, &c->bloom};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        buf_clear(all[i]);
    }
    c->n_rows = c->n_slots = c->n_values = c->n_null_rows = 0;
    c->dim = 0;
    c->mode = c->leaf->is_number_list ? PW_VECTOR : c->leaf->n_nodes == 1 ? PW_FLAT : PW_NESTED;
}

/* ---- validity ---- */

/* First position in [i, end) whose bit differs from bit i. */
static int64_t run_end(const uint8_t *bits, int64_t i, int64_t end)
{
    const bool value = bit_get(bits, i);
    const uint64_t same = value ? UINT64_MAX : 0;

    for (i++; i < end && i % 8 != 0; i++) {
        if (bit_get(bits, i) != value) {
            return i;
        }
    }
    while (end - i >= 64 && load_le64(bits + i / 8) == same) {
        i += 64;
    }
    for (; i < end; i++) {
        if (bit_get(bits, i) != value) {
            return i;
        }
    }
    return end;
}

/* Bits of slots from `begin` (offset not added); *bits NULL: all are valid. */
struct validity {
    const uint8_t *bits;
    int64_t begin;  /* bit of the first slot */
    int64_t n_null;
};

/* A dictionary may hold nulls: a bitmap of what the slots are in the end. */
static grebe_status dictionary_validity(struct pw_chunk *c, const struct pw_node *node,
                                        const struct ArrowArray *array, int64_t begin, int64_t n,
                                        struct validity *out, grebe_error *err)
{
    const struct ArrowArray *dict = array->dictionary;
    const uint8_t *bits = out->bits;
    uint8_t *merged = NULL;
    grebe_status st = GREBE_OK;

    buf_clear(&c->scratch);
    st = buf_put_zero(&c->scratch, bitmap_bytes(n), err);
    if (st != GREBE_OK) {
        return st;
    }
    merged = c->scratch.data;
    for (int64_t i = 0; i < n; i++) {
        if (bits == NULL || bit_get(bits, begin + i)) {
            const int64_t at = pw_index_at(node->index_kind, array, begin + i);

            if (at < 0 || at >= dict->length) {
                return GREBE_FAIL(err, GREBE_ECORRUPT,
                                  "column \"%s\": dictionary index: expected less than %lld, found %lld",
                                  node->name, (long long)dict->length, (long long)at);
            }
            if (!array_is_null(dict, at)) {
                bit_set(merged, i);
            }
        }
    }
    *out = (struct validity){merged, 0, n - bitmap_count(merged, 0, n)};
    return GREBE_OK;
}

static grebe_status validity_of(struct pw_chunk *c, const struct pw_node *node,
                                const struct ArrowArray *array, int64_t begin, int64_t n,
                                struct validity *out, grebe_error *err)
{
    const bool has_bits = array->n_buffers > 0 && array->buffers[0] != NULL &&
                          array->null_count != 0 && node->type.kind != ARROW_NULL;
    grebe_status st = GREBE_OK;

    begin += array->offset;
    *out = (struct validity){has_bits ? array->buffers[0] : NULL, begin, 0};
    if (node->type.kind == ARROW_NULL) {
        out->n_null = n;
    } else if (node->is_dictionary && array_null_count(array->dictionary) > 0) {
        st = dictionary_validity(c, node, array, begin, n, out, err);
    } else if (has_bits) {
        out->n_null = n - bitmap_count(out->bits, begin, n);
    }
    if (out->n_null == 0) {
        out->bits = NULL;
    }
    if (st == GREBE_OK && out->n_null > 0 && !node->is_optional) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%s\": expected no nulls, found %lld",
                          node->name, (long long)out->n_null);
    }
    return st;
}

/* Whether slot `i` of the range is valid, and where its run of equal slots ends. */
static bool validity_run(const struct validity *v, int64_t i, int64_t n, int64_t *end)
{
    if (v->bits == NULL) {
        *end = n;
        return v->n_null == 0;
    }
    *end = run_end(v->bits, v->begin + i, v->begin + n) - v->begin;
    return bit_get(v->bits, v->begin + i);
}

/* ---- flat ---- */

/* The bitmap of rows gets n more bits. */
static grebe_status add_row_bits(struct pw_chunk *c, const struct validity *v, int64_t n,
                                 grebe_error *err)
{
    const size_t need = bitmap_bytes(c->n_rows + n);
    const bool is_first = c->valid.len == 0;
    grebe_status st = GREBE_OK;

    if (v->n_null == 0 && is_first) {
        return GREBE_OK;
    }
    st = buf_put_zero(&c->valid, need - c->valid.len, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (is_first) {
        bitmap_fill(c->valid.data, 0, c->n_rows, true);
    }
    if (v->bits != NULL) {
        bitmap_copy(c->valid.data, c->n_rows, v->bits, v->begin, n);
    } else {
        bitmap_fill(c->valid.data, c->n_rows, n, v->n_null == 0);
    }
    return GREBE_OK;
}

static grebe_status add_flat(struct pw_chunk *c, const struct ArrowArray *array, int64_t begin,
                             int64_t n, grebe_error *err)
{
    const struct pw_node *node = &c->leaf->nodes[0];
    struct validity v;
    int64_t end = 0;
    grebe_status st = validity_of(c, node, array, begin, n, &v, err);

    if (st == GREBE_OK) {
        st = add_row_bits(c, &v, n, err);
    }
    for (int64_t i = 0; i < n && st == GREBE_OK; i = end) {
        if (validity_run(&v, i, n, &end)) {
            st = pw_values_add(c, node, array, array->offset + begin + i, end - i, err);
        }
    }
    c->n_rows += n;
    c->n_slots += n;
    c->n_null_rows += v.n_null;
    return st;
}

/* ---- nested ---- */

static grebe_status put_levels(struct pw_chunk *c, int64_t n, uint8_t rep_first, uint8_t rep_rest,
                               uint8_t def, grebe_error *err)
{
    grebe_status st = buf_reserve(&c->def, (size_t)n, err);

    if (st == GREBE_OK) {
        memset(c->def.data + c->def.len, def, (size_t)n);
        c->def.len += (size_t)n;
        c->n_slots += n;
    }
    if (st == GREBE_OK && c->leaf->max_rep > 0) {
        st = buf_reserve(&c->rep, (size_t)n, err);
        if (st == GREBE_OK) {
            memset(c->rep.data + c->rep.len, rep_rest, (size_t)n);
            c->rep.data[c->rep.len] = rep_first;
            c->rep.len += (size_t)n;
        }
    }
    return st;
}

/* Child slots of list slot i (offset added). */
static void list_range(enum arrow_kind kind, int32_t list_size, const struct ArrowArray *array,
                       int64_t i, int64_t *begin, int64_t *end)
{
    const int32_t *o32 = array->n_buffers > 1 ? array->buffers[1] : NULL;
    const int64_t *o64 = array->n_buffers > 1 ? array->buffers[1] : NULL;

    switch (kind) {
    case ARROW_FIXED_LIST:
        *begin = i * list_size;
        *end = *begin + list_size;
        break;
    case ARROW_LARGE_LIST:
        *begin = o64[i];
        *end = o64[i + 1];
        break;
    case ARROW_LIST_VIEW:
        *begin = o32[i];
        *end = *begin + ((const int32_t *)array->buffers[2])[i];
        break;
    case ARROW_LARGE_LIST_VIEW:
        *begin = o64[i];
        *end = *begin + ((const int64_t *)array->buffers[2])[i];
        break;
    default:
        *begin = o32[i];
        *end = o32[i + 1];
        break;
    }
}

/*
 * Slots [begin, begin + n) of the array at nodes[at]. The first slot repeats at rep_first, the
 * others at rep_rest. Depth of the recursion: the nodes of the leaf, at most ARROW_DEPTH_MAX.
 */
static grebe_status add_nested(struct pw_chunk *c, unsigned at, const struct ArrowArray *array,
                               int64_t begin, int64_t n, uint8_t rep_first, uint8_t rep_rest,
                               grebe_error *err);

static grebe_status add_lists(struct pw_chunk *c, unsigned at, const struct ArrowArray *array,
                              int64_t begin, int64_t n, uint8_t rep_first, uint8_t rep_rest,
                              grebe_error *err)
{
    const struct pw_node *node = &c->leaf->nodes[at];
    grebe_status st = GREBE_OK;

    for (int64_t i = 0; i < n && st == GREBE_OK; i++) {
        const uint8_t rep = i == 0 ? rep_first : rep_rest;
        int64_t from = 0;
        int64_t to = 0;

        list_range(node->type.kind, node->type.list_size, array, array->offset + begin + i, &from,
                   &to);
        if (from < 0 || to < from || to > array->children[0]->length) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "column \"%s\": list of elements %lld to %lld of %lld", node->name,
                              (long long)from, (long long)to,
                              (long long)array->children[0]->length);
        }
        st = from == to ? put_levels(c, 1, rep, rep, node->def, err)
                        : add_nested(c, at + 1, array->children[0], from, to - from, rep,
                                     node->rep, err);
    }
    return st;
}

/* A run of slots that are valid at nodes[at]. */
static grebe_status add_valid(struct pw_chunk *c, unsigned at, const struct ArrowArray *array,
                              int64_t begin, int64_t n, uint8_t rep_first, uint8_t rep_rest,
                              grebe_error *err)
{
    const struct pw_node *node = &c->leaf->nodes[at];
    grebe_status st = GREBE_OK;

    switch (node->shape) {
    case PW_LIST: return add_lists(c, at, array, begin, n, rep_first, rep_rest, err);
    case PW_STRUCT:
        return add_nested(c, at + 1, array->children[node->child], array->offset + begin, n,
                          rep_first, rep_rest, err);
    case PW_VALUE:
        st = put_levels(c, n, rep_first, rep_rest, node->def, err);
        return st != GREBE_OK ? st
                              : pw_values_add(c, node, array, array->offset + begin, n, err);
    }
    return st;
}

static grebe_status add_nested(struct pw_chunk *c, unsigned at, const struct ArrowArray *array,
                               int64_t begin, int64_t n, uint8_t rep_first, uint8_t rep_rest,
                               grebe_error *err)
{
    const struct pw_node *node = &c->leaf->nodes[at];
    struct validity v;
    int64_t end = 0;
    grebe_status st = validity_of(c, node, array, begin, n, &v, err);

    /* Only a leaf has a dictionary, so the scratch bitmap is not overwritten below. */
    for (int64_t i = 0; i < n && st == GREBE_OK; i = end) {
        const uint8_t rep = i == 0 ? rep_first : rep_rest;

        if (validity_run(&v, i, n, &end)) {
            st = add_valid(c, at, array, begin + i, end - i, rep, rep_rest, err);
        } else {
            st = put_levels(c, end - i, rep, rep_rest, (uint8_t)(node->def - 1), err);
        }
    }
    return st;
}

/* ---- vectors ---- */

/* Spell out the levels of the rows so far. */
static grebe_status make_nested(struct pw_chunk *c, grebe_error *err)
{
    const uint8_t max_def = c->leaf->max_def;
    grebe_status st = GREBE_OK;

    assert(c->mode == PW_VECTOR);
    c->n_slots = 0;
    for (int64_t i = 0; i < c->n_rows && st == GREBE_OK; i++) {
        if (c->valid.len > 0 && !bit_get(c->valid.data, i)) {
            st = put_levels(c, 1, 0, 0, 0, err);
        } else {
            st = put_levels(c, c->dim, 0, 1, max_def, err);
        }
    }
    c->mode = PW_NESTED;
    buf_clear(&c->valid);
    return st;
}

/* Whether every valid row has the chunk's length (which the first one sets). */
static bool lengths_fit(struct pw_chunk *c, const struct ArrowArray *array, int64_t begin,
                        int64_t n, const struct validity *v)
{
    const struct pw_node *node = &c->leaf->nodes[0];
    const int64_t child_len = array->children[0]->length;
    int64_t from = 0;
    int64_t to = 0;

    if (c->dim == 0 && node->type.kind == ARROW_FIXED_LIST) {
        c->dim = node->type.list_size;
    }
    if (node->type.kind == ARROW_FIXED_LIST) {
        return c->dim > 0 && (array->offset + begin + n) * c->dim <= child_len;
    }
    for (int64_t i = 0; i < n; i++) {
        if (v->bits != NULL && !bit_get(v->bits, v->begin + i)) {
            continue;
        }
        list_range(node->type.kind, 0, array, array->offset + begin + i, &from, &to);
        if (c->dim == 0) {
            c->dim = to - from;
        }
        /* A list of one element is a scalar in disguise: it is better off encoded. */
        if (to - from != c->dim || c->dim < 2 || from < 0 || to > child_len) {
            return false;
        }
    }
    return true;
}

/* Values of the valid rows [begin, end): one run of child slots where they lie together. */
static grebe_status add_vectors(struct pw_chunk *c, const struct ArrowArray *array, int64_t begin,
                                int64_t n, bool *is_vector, grebe_error *err)
{
    const struct pw_node *list = &c->leaf->nodes[0];
    const struct pw_node *item = &c->leaf->nodes[1];
    const struct ArrowArray *child = array->children[0];
    int64_t row = 0;
    grebe_status st = GREBE_OK;

    *is_vector = true;
    while (row < n && st == GREBE_OK) {
        int64_t from = 0;
        int64_t to = 0;
        int64_t n_together = 1;
        struct validity v;

        list_range(list->type.kind, list->type.list_size, array, array->offset + begin + row,
                   &from, &to);
        if (list->type.kind != ARROW_LIST_VIEW && list->type.kind != ARROW_LARGE_LIST_VIEW) {
            n_together = n - row; /* offsets ascend, and all lengths are the same */
        }
        to = from + n_together * c->dim;
        if (to > child->length) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "column \"%s\": expected %lld elements, found %lld",
                              list->name, (long long)to, (long long)child->length);
        }
        st = validity_of(c, item, child, from, to - from, &v, err);
        if (st == GREBE_OK && v.n_null > 0) {
            *is_vector = false;
            return GREBE_OK;
        }
        if (st == GREBE_OK) {
            st = pw_values_add(c, item, child, child->offset + from, to - from, err);
        }
        row += n_together;
    }
    return st;
}

/* Adds the rows, or finds that they are no vectors and leaves the chunk as it was. */
static grebe_status add_vector_rows(struct pw_chunk *c, const struct ArrowArray *array,
                                    int64_t begin, int64_t n, bool *is_vector, grebe_error *err)
{
    const int64_t n_values = c->n_values;
    const size_t values_len = c->values.len;
    struct validity v;
    int64_t end = 0;
    grebe_status st = validity_of(c, &c->leaf->nodes[0], array, begin, n, &v, err);

    *is_vector = false;
    if (st != GREBE_OK || !lengths_fit(c, array, begin, n, &v)) {
        return st;
    }
    *is_vector = true;
    for (int64_t i = 0; i < n && st == GREBE_OK && *is_vector; i = end) {
        if (validity_run(&v, i, n, &end)) {
            st = add_vectors(c, array, begin + i, end - i, is_vector, err);
        }
    }
    if (st != GREBE_OK || !*is_vector) {
        c->n_values = n_values;
        c->values.len = values_len;
        return st;
    }
    st = add_row_bits(c, &v, n, err);
    c->n_rows += n;
    c->n_null_rows += v.n_null;
    c->n_slots += v.n_null + (n - v.n_null) * c->dim;
    return st;
}

grebe_status pw_chunk_add(struct pw_chunk *c, const struct ArrowArray *column, int64_t begin,
                          int64_t n, grebe_error *err)
{
    bool is_vector = false;
    grebe_status st = GREBE_OK;

    if (n == 0) {
        return GREBE_OK;
    }
    if (c->mode == PW_FLAT) {
        return add_flat(c, column, begin, n, err);
    }
    if (c->mode == PW_VECTOR) {
        st = add_vector_rows(c, column, begin, n, &is_vector, err);
        if (st != GREBE_OK || is_vector) {
            return st;
        }
        st = make_nested(c, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    c->n_rows += n;
    return add_nested(c, 0, column, begin, n, 0, 0, err);
}
