/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoded leaves become Arrow arrays. Flat columns and lists of one length need no levels; for
 * all else each node of the tree is read off the levels of its first leaf (Dremel's record
 * assembly, one pass per node).
 */
#include "parquet/parquet_column.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

enum { VIEW_BYTES = 16 }; /* a string or a level of a list takes about as much */

struct assembler {
    const grebe_allocator *a;
    struct pq_out *outs; /* by leaf */
    uint32_t leaf_begin; /* of outs[0] */
    grebe_error *err;
};

static struct pq_out *out_of(const struct assembler *as, const struct pq_node *node)
{
    return &as->outs[node->leaf_begin - as->leaf_begin];
}

static grebe_status corrupt(const struct assembler *as, const char *what)
{
    return GREBE_FAIL(as->err, GREBE_ECORRUPT, "%s", what);
}

/* Give the block to an array; an empty one becomes a buffer of its own. */
static grebe_status hand_over(const struct assembler *as, struct pq_block *b,
                              struct ArrowArray *array, int64_t i)
{
    void *none;
    if (b->region == NULL) {
        return array_alloc_buffer(as->a, array, i, 0, &none, as->err);
    }
    array_set_buffer(array, i, b->region->data, b->region);
    *b = (struct pq_block){ NULL, 0 };
    return GREBE_OK;
}

/* ---- room for nulls ---- */

static void spread(unsigned char *values, size_t width, const uint8_t *bits, int64_t n,
                   int64_t n_values)
{
    int64_t from = n_values;
    for (int64_t i = n - 1; i >= 0 && from <= i; i--) {
        unsigned char *to = values + (size_t)i * width;
        if (bit_get(bits, i)) {
            from--;
            memmove(to, values + (size_t)from * width, width);
        } else {
            memset(to, 0, width);
        }
    }
}

static grebe_status spread_fixed(const struct assembler *as, struct pq_out *o, const uint8_t *bits,
                                 int64_t n)
{
    size_t width = (size_t)o->node->width_out;
    size_t wanted = (size_t)n * width;
    grebe_status st = pq_block_reserve(o, &o->values, wanted - o->values.len, as->err);
    if (st == GREBE_OK) {
        spread(o->values.region->data, width, bits, n, o->n_values);
        o->values.len = wanted;
    }
    return st;
}

static grebe_status spread_bits(const struct assembler *as, struct pq_out *o, const uint8_t *bits,
                                int64_t n)
{
    struct region *r = NULL;
    grebe_status st = region_new(as->a, bitmap_bytes(n), &r, as->err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(r->data, 0, bitmap_bytes(n));
    const uint8_t *from = o->values.region == NULL ? NULL : o->values.region->data;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (bit_get(bits, i)) {
            if (bit_get(from, at)) {
                bit_set(r->data, i);
            }
            at++;
        }
    }
    region_drop(o->values.region);
    o->values = (struct pq_block){ r, bitmap_bytes(n) };
    return GREBE_OK;
}

static grebe_status spread_offsets(const struct assembler *as, struct pq_out *o,
                                   const uint8_t *bits, int64_t n)
{
    struct region *r = NULL;
    size_t w = (size_t)o->offset_width;
    grebe_status st = region_new(as->a, ((size_t)n + 1) * w, &r, as->err);
    if (st != GREBE_OK) {
        return st;
    }
    const unsigned char *from = o->offsets.region == NULL ? NULL : o->offsets.region->data;
    memset(r->data, 0, w);
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (bit_get(bits, i)) {
            at++;
        }
        if (from == NULL) {
            memset(r->data + (size_t)(i + 1) * w, 0, w);
        } else {
            memcpy(r->data + (size_t)(i + 1) * w, from + (size_t)at * w, w);
        }
    }
    region_drop(o->offsets.region);
    o->offsets = (struct pq_block){ r, ((size_t)n + 1) * w };
    return GREBE_OK;
}

/* ---- leaves ---- */

/* Strings as decimals: what BYTE_ARRAY decimals are decoded to first. */
static grebe_status strings_to_decimals(const struct assembler *as, struct pq_out *o)
{
    size_t width = (size_t)o->node->width_out;
    const int32_t *offsets =
        o->offsets.region == NULL ? NULL : (const int32_t *)(const void *)o->offsets.region->data;
    struct region *r = NULL;
    grebe_status st = region_new(as->a, (size_t)o->n_values * width, &r, as->err);
    for (int64_t i = 0; i < o->n_values && st == GREBE_OK; i++) {
        st = pq_convert_decimal(o->values.region->data + offsets[i],
                                (size_t)(offsets[i + 1] - offsets[i]), r->data + (size_t)i * width,
                                width, as->err);
    }
    if (st != GREBE_OK) {
        region_drop(r);
        return st;
    }
    region_drop(o->values.region);
    region_drop(o->offsets.region);
    o->values = (struct pq_block){ r, (size_t)o->n_values * width };
    o->offsets = (struct pq_block){ NULL, 0 };
    o->offset_width = 0;
    return GREBE_OK;
}

/* Views over one data buffer: "Variable-size Binary View Layout". */
static grebe_status make_views(const struct assembler *as, struct pq_out *o, int64_t n,
                               struct ArrowArray *out)
{
    const int32_t *offsets = (const int32_t *)(const void *)o->offsets.region->data;
    const unsigned char *data = o->values.region == NULL ? NULL : o->values.region->data;
    unsigned char *views;
    int64_t *sizes;
    void *p;
    grebe_status st = array_alloc_buffer(as->a, out, 1, (size_t)n * 16, &p, as->err);
    if (st != GREBE_OK) {
        return st;
    }
    views = p;
    memset(views, 0, (size_t)n * 16);
    for (int64_t i = 0; i < n; i++, views += 16) {
        int32_t len = offsets[i + 1] - offsets[i];
        memcpy(views, &len, 4);
        if (len == 0) {
            continue;
        }
        if (len <= 12) {
            memcpy(views + 4, data + offsets[i], (size_t)len);
        } else {
            memcpy(views + 4, data + offsets[i], 4);
            memcpy(views + 12, &offsets[i], 4);
        }
    }
    int64_t data_len = (int64_t)o->values.len;
    st = hand_over(as, &o->values, out, 2);
    if (st == GREBE_OK) {
        st = array_alloc_buffer(as->a, out, 3, sizeof *sizes, &p, as->err);
    }
    if (st == GREBE_OK) {
        sizes = p;
        *sizes = data_len;
    }
    return st;
}

/* n slots of which n_values are not null; bits NULL: none is. `bits` is moved in. */
static grebe_status build_leaf(const struct assembler *as, const struct pq_node *node, int64_t n,
                               struct pq_block *bits, struct ArrowArray *out)
{
    struct pq_out *o = out_of(as, node);
    bool is_view = node->arrow == ARROW_STRING_VIEW || node->arrow == ARROW_BINARY_VIEW;
    grebe_status st = GREBE_OK;
    if (node->convert == PQ_CONVERT_NULL) {
        st = array_new(as->a, n, 0, 0, out, as->err);
        out->null_count = n;
        return st;
    }
    if (node->convert == PQ_CONVERT_DECIMAL_BYTES) {
        st = strings_to_decimals(as, o);
    }
    bool is_bytes = o->offset_width > 0;
    if (st == GREBE_OK && is_bytes && o->offsets.region == NULL) {
        st = pq_block_reserve(o, &o->offsets, (size_t)o->offset_width, as->err);
        if (st == GREBE_OK) {
            memset(o->offsets.region->data, 0, (size_t)o->offset_width);
            o->offsets.len = (size_t)o->offset_width;
        }
    }
    if (st == GREBE_OK && bits->region != NULL) {
        st = is_bytes                           ? spread_offsets(as, o, bits->region->data, n)
             : node->convert == PQ_CONVERT_BOOL ? spread_bits(as, o, bits->region->data, n)
                                                : spread_fixed(as, o, bits->region->data, n);
    }
    if (st == GREBE_OK) {
        st = array_new(as->a, n, is_view ? 4 : is_bytes ? 3 : 2, 0, out, as->err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (bits->region != NULL && node->is_nullable) {
        out->null_count = n - o->n_values;
        st = hand_over(as, bits, out, 0);
    }
    if (st == GREBE_OK && o->view != NULL) {
        array_set_buffer(out, 1, o->view, o->view_owner);
        o->view_owner = NULL;
        return GREBE_OK;
    }
    if (st == GREBE_OK && is_view) {
        return make_views(as, o, n, out);
    }
    if (st == GREBE_OK && is_bytes) {
        st = hand_over(as, &o->offsets, out, 1);
    }
    return st == GREBE_OK ? hand_over(as, &o->values, out, is_bytes ? 2 : 1) : st;
}

/* ---- levels ---- */

struct levels {
    const uint8_t *rep; /* NULL: all 0 */
    const uint8_t *def;
    int64_t n;
};

static struct levels levels_of(const struct pq_out *o)
{
    return (struct levels){ o->rep.region == NULL ? NULL : o->rep.region->data,
                            o->def.region == NULL ? NULL : o->def.region->data, o->n_entries };
}

static inline bool begins_slot(const struct levels *l, int64_t i, const struct pq_node *node)
{
    return (l->rep == NULL || l->rep[i] <= node->rep) && l->def[i] >= node->def_slot;
}

/* Slots of the node and which of them are not null; bits stay empty when all are. A node that
 * cannot be null has null slots all the same where its parent is null. */
static grebe_status find_slots(const struct assembler *as, const struct pq_node *node,
                               struct pq_block *bits, int64_t *n_slots, int64_t *n_nulls)
{
    struct levels l = levels_of(out_of(as, node));
    int64_t n = 0, nulls = 0;
    for (int64_t i = 0; i < l.n; i++) {
        bool is_slot = begins_slot(&l, i, node);
        n += is_slot;
        nulls += is_slot && l.def[i] < node->def;
    }
    *n_slots = n;
    *n_nulls = nulls;
    if (nulls == 0) {
        return GREBE_OK;
    }
    grebe_status st = region_new(as->a, bitmap_bytes(n), &bits->region, as->err);
    if (st != GREBE_OK) {
        return st;
    }
    bits->len = bitmap_bytes(n);
    memset(bits->region->data, 0, bits->len);
    int64_t at = 0;
    for (int64_t i = 0; i < l.n; i++) {
        if (begins_slot(&l, i, node)) {
            if (l.def[i] >= node->def) {
                bit_set(bits->region->data, at);
            }
            at++;
        }
    }
    return GREBE_OK;
}

static grebe_status build_node(const struct assembler *as, const struct pq_node *node,
                               const struct ArrowSchema *schema, int64_t n_expected,
                               struct ArrowArray *out);

static grebe_status set_validity(const struct assembler *as, const struct pq_node *node,
                                 int64_t n_nulls, struct pq_block *bits, struct ArrowArray *out)
{
    if (bits->region == NULL || !node->is_nullable) {
        return GREBE_OK;
    }
    out->null_count = n_nulls;
    return hand_over(as, bits, out, 0);
}

/* Two leaves of a struct must tell the same of the struct and of the lists around it: equal
 * counts alone would let damaged levels pair values of different rows. */
static grebe_status check_siblings(const struct assembler *as, const struct pq_node *node,
                                   const struct pq_node *child)
{
    struct levels x = levels_of(out_of(as, node));
    struct levels y = levels_of(out_of(as, child));
    int64_t k = 0;
    bool is_same = true;
    for (int64_t i = 0; i < x.n && is_same; i++) {
        if (!begins_slot(&x, i, node)) {
            continue;
        }
        while (k < y.n && !begins_slot(&y, k, node)) {
            k++;
        }
        if (k == y.n) {
            is_same = false;
            break;
        }
        uint8_t x_def = x.def[i] < node->def ? x.def[i] : node->def;
        uint8_t y_def = y.def[k] < node->def ? y.def[k] : node->def;
        is_same =
            x_def == y_def && (x.rep == NULL ? 0 : x.rep[i]) == (y.rep == NULL ? 0 : y.rep[k]);
        k++;
    }
    return is_same ? GREBE_OK : corrupt(as, "its levels do not fit those of its neighbours");
}

static grebe_status build_struct(const struct assembler *as, const struct pq_node *node,
                                 const struct ArrowSchema *schema, int64_t n, int64_t n_nulls,
                                 struct pq_block *bits, struct ArrowArray *out)
{
    grebe_status st = array_new(as->a, n, 1, (int64_t)node->n_children, out, as->err);
    if (st == GREBE_OK) {
        st = set_validity(as, node, n_nulls, bits, out);
    }
    for (uint32_t i = 0; i < node->n_children && st == GREBE_OK; i++) {
        const struct pq_node *child = &node->children[i];
        if (child->leaf_begin > node->leaf_begin && child->leaf_begin < child->leaf_end) {
            st = check_siblings(as, node, child);
        }
        if (st == GREBE_OK) {
            st = build_node(as, child, schema->children[i], n, out->children[i]);
        }
    }
    return st;
}

/*
 * Bytes for the elements of n lists of fixed size. Null lists take room too, of a length that the file may
 * claim with nothing standing behind it.
 */
static grebe_status fixed_list_bytes(const struct assembler *as, const struct pq_node *node,
                                     int64_t n, size_t element_bytes, uint64_t *out)
{
    uint64_t limit = out_of(as, node)->limit_bytes;
    if (!checked_mul_u64((uint64_t)n, (uint64_t)node->list_size, out) ||
        !checked_mul_u64(*out, element_bytes, out) || *out > limit) {
        return GREBE_FAIL(as->err, GREBE_ELIMIT,
                          "room for %lld lists of %d elements, the limit is %llu bytes",
                          (long long)n, (int)node->list_size, (unsigned long long)limit);
    }
    return GREBE_OK;
}

/* A list of fixed size stores nothing for a null list; Arrow wants room for its elements. */
static grebe_status pad_fixed_list(const struct assembler *as, const struct pq_node *node,
                                   const struct ArrowSchema *item, const struct levels *l,
                                   int64_t n, struct ArrowArray *child)
{
    struct ArrowArray padded = { 0 };
    struct pq_out *o = out_of(as, node);
    size_t width = (size_t)(o->node->width_out > 0 ? o->node->width_out : VIEW_BYTES);
    uint64_t bytes = 0;
    grebe_status st = fixed_list_bytes(as, node, n, sizeof(int64_t) + width, &bytes);
    if (st == GREBE_OK) {
        st = pq_budget_take(o->budget, bytes, as->err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    int64_t total = n * node->list_size;
    int64_t *rows = mem_alloc(as->a, (size_t)total * sizeof *rows);
    if (rows == NULL) {
        return mem_fail(as->err, (size_t)total * sizeof *rows, "lists of fixed size");
    }
    int64_t at = 0, slot = 0;
    for (int64_t i = 0; i < l->n; i++) {
        if (begins_slot(l, i, node)) {
            bool is_null = l->def[i] < node->def;
            for (int32_t k = 0; k < node->list_size; k++) {
                rows[slot++] = is_null ? -1 : at++;
            }
        }
    }
    assert(slot == total);
    st = array_gather(as->a, item, child, rows, total, &padded, as->err);
    mem_free(as->a, rows, (size_t)total * sizeof *rows);
    if (st == GREBE_OK) {
        array_release(child);
        array_move(child, &padded);
        if ((item->flags & ARROW_FLAG_NULLABLE) == 0) {
            /* The padding is zeros to whom the type promises that there are no nulls. */
            array_set_buffer(child, 0, NULL, NULL);
            child->null_count = 0;
        }
    }
    return st;
}

static grebe_status check_fixed_lengths(const struct assembler *as, const struct pq_node *node,
                                        const struct levels *l)
{
    int64_t count = node->list_size;
    for (int64_t i = 0; i < l->n; i++) {
        if (begins_slot(l, i, node)) {
            if (count != node->list_size) {
                return corrupt(as, "a list has another length than its type says");
            }
            count = l->def[i] < node->def ? node->list_size : 0;
        }
        count += (l->rep == NULL || l->rep[i] <= node->rep + 1) && l->def[i] > node->def;
    }
    return count == node->list_size ? GREBE_OK
                                    : corrupt(as, "a list has another length than its type says");
}

static grebe_status build_fixed_list(const struct assembler *as, const struct pq_node *node,
                                     const struct ArrowSchema *schema, int64_t n, int64_t n_nulls,
                                     struct pq_block *bits, struct ArrowArray *out)
{
    struct levels l = levels_of(out_of(as, node));
    grebe_status st = check_fixed_lengths(as, node, &l);
    if (st == GREBE_OK) {
        st = array_new(as->a, n, 1, 1, out, as->err);
    }
    if (st == GREBE_OK) {
        st = set_validity(as, node, n_nulls, bits, out);
    }
    if (st == GREBE_OK) {
        st = build_node(as, &node->children[0], schema->children[0],
                        (n - n_nulls) * node->list_size, out->children[0]);
    }
    if (st == GREBE_OK && n_nulls > 0) {
        st = pad_fixed_list(as, node, schema->children[0], &l, n, out->children[0]);
    }
    return st;
}

static grebe_status build_offsets(const struct assembler *as, const struct pq_node *node, int64_t n,
                                  struct ArrowArray *out, int64_t *n_elements)
{
    struct levels l = levels_of(out_of(as, node));
    bool is_large = node->arrow == ARROW_LARGE_LIST;
    size_t w = is_large ? 8 : 4;
    int64_t at = -1, total = 0;
    void *p;
    if (!is_large && l.n > INT32_MAX) {
        return GREBE_FAIL(as->err, GREBE_ELIMIT, "%lld list elements at once", (long long)l.n);
    }
    grebe_status st = array_alloc_buffer(as->a, out, 1, ((size_t)n + 1) * w, &p, as->err);
    if (st != GREBE_OK) {
        return st;
    }
    for (int64_t i = 0; i <= l.n; i++) {
        if (i == l.n || begins_slot(&l, i, node)) {
            at++;
            if (is_large) {
                ((int64_t *)p)[at] = total;
            } else {
                ((int32_t *)p)[at] = (int32_t)total;
            }
        }
        total += i < l.n && (l.rep == NULL || l.rep[i] <= node->rep + 1) && l.def[i] > node->def;
    }
    assert(at == n);
    *n_elements = total;
    return GREBE_OK;
}

static grebe_status build_list(const struct assembler *as, const struct pq_node *node,
                               const struct ArrowSchema *schema, int64_t n, int64_t n_nulls,
                               struct pq_block *bits, struct ArrowArray *out)
{
    int64_t n_elements = 0;
    grebe_status st = array_new(as->a, n, 2, 1, out, as->err);
    if (st == GREBE_OK) {
        st = set_validity(as, node, n_nulls, bits, out);
    }
    if (st == GREBE_OK) {
        st = build_offsets(as, node, n, out, &n_elements);
    }
    if (st == GREBE_OK) {
        st = build_node(as, &node->children[0], schema->children[0], n_elements, out->children[0]);
    }
    if (st == GREBE_OK && node->kind == PQ_NODE_MAP &&
        out->children[0]->children[0]->null_count > 0) {
        st = corrupt(as, "a map has a null key");
    }
    return st;
}

/* n_expected: what the parent has counted by another leaf; both must agree. */
static grebe_status build_node(const struct assembler *as, const struct pq_node *node,
                               const struct ArrowSchema *schema, int64_t n_expected,
                               struct ArrowArray *out)
{
    struct pq_block bits = { NULL, 0 };
    int64_t n = 0, n_nulls = 0;
    if (node->leaf_begin == node->leaf_end) {
        return GREBE_FAIL(as->err, GREBE_EUNSUPPORTED, "a group without columns");
    }
    grebe_status st = find_slots(as, node, &bits, &n, &n_nulls);
    if (st == GREBE_OK && n != n_expected) {
        st = corrupt(as, "its levels do not fit those of its neighbours");
    }
    if (st == GREBE_OK) {
        switch (node->kind) {
        case PQ_NODE_LEAF: st = build_leaf(as, node, n, &bits, out); break;
        case PQ_NODE_STRUCT: st = build_struct(as, node, schema, n, n_nulls, &bits, out); break;
        default:
            st = node->arrow == ARROW_FIXED_LIST
                     ? build_fixed_list(as, node, schema, n, n_nulls, &bits, out)
                     : build_list(as, node, schema, n, n_nulls, &bits, out);
            break;
        }
    }
    region_drop(bits.region);
    return st;
}

/* ---- lists of one length ---- */

/* Offsets of lists that are null or have list_len elements. */
static grebe_status build_even_offsets(const struct assembler *as, const struct pq_out *o,
                                       bool is_large, int64_t n_rows, struct ArrowArray *out)
{
    const uint8_t *bits = o->validity.region == NULL ? NULL : o->validity.region->data;
    int64_t at = 0;
    void *p;
    grebe_status st =
        array_alloc_buffer(as->a, out, 1, ((size_t)n_rows + 1) * (is_large ? 8 : 4), &p, as->err);
    for (int64_t i = 0; i <= n_rows && st == GREBE_OK; i++) {
        if (is_large) {
            ((int64_t *)p)[i] = at;
        } else {
            ((int32_t *)p)[i] = (int32_t)at;
        }
        at += i < n_rows && (bits == NULL || bit_get(bits, i)) ? o->list_len : 0;
    }
    return st;
}

static grebe_status build_even_lists(const struct assembler *as, const struct pq_node *node,
                                     int64_t n_rows, struct ArrowArray *out)
{
    struct pq_out *o = out_of(as, node);
    struct pq_block no_bits = { NULL, 0 };
    bool is_fixed = node->arrow == ARROW_FIXED_LIST;
    bool is_large = node->arrow == ARROW_LARGE_LIST;
    int64_t n_items = o->n_values;
    if (is_fixed && o->list_len != 0 && o->list_len != (uint32_t)node->list_size) {
        return corrupt(as, "a list has another length than its type says");
    }
    if (!is_fixed && !is_large && o->n_values > INT32_MAX) {
        return GREBE_FAIL(as->err, GREBE_ELIMIT, "%lld list elements at once",
                          (long long)o->n_values);
    }
    grebe_status st = array_new(as->a, n_rows, is_fixed ? 1 : 2, 1, out, as->err);
    if (st == GREBE_OK && !is_fixed) {
        st = build_even_offsets(as, o, is_large, n_rows, out);
    }
    if (st == GREBE_OK && o->validity.region != NULL) {
        const uint8_t *bits = o->validity.region->data;
        int64_t n_lists = bitmap_count(bits, 0, n_rows);
        if (is_fixed) {
            /* A null list of fixed size keeps the room for its elements. */
            uint64_t bytes = 0;
            st = fixed_list_bytes(as, node, n_rows - n_lists, (size_t)o->node->width_out, &bytes);
            if (st == GREBE_OK) {
                st = pq_block_reserve(o, &o->values, bytes, as->err);
            }
            if (st == GREBE_OK) {
                size_t width = (size_t)node->list_size * (size_t)o->node->width_out;
                spread(o->values.region->data, width, bits, n_rows, n_lists);
                o->values.len = (size_t)n_rows * width;
                n_items = n_rows * node->list_size;
                o->n_values = n_items;
            }
        }
        out->null_count = n_rows - n_lists;
        if (st == GREBE_OK) {
            st = hand_over(as, &o->validity, out, 0);
        }
    }
    return st == GREBE_OK ? build_leaf(as, &node->children[0], n_items, &no_bits, out->children[0])
                          : st;
}

/*
 * An element that goes on with a list needs that list to be open: in its row, the entry before
 * has reached at least as deep. Otherwise it would end up in a list of the row before. Entries
 * that go on with a list and are no elements (DuckDB writes them in null arrays) are left out
 * everywhere and do no harm.
 */
static grebe_status check_levels(const struct assembler *as, const struct pq_node *top,
                                 const struct pq_out *o)
{
    struct levels l = levels_of(o);
    uint8_t def_min[PQ_DEPTH_MAX + 2] = { 0 }; /* by repetition level */
    uint8_t open = 0;
    const struct pq_node *node = top;
    while (node->kind != PQ_NODE_LEAF) {
        const struct pq_node *next = NULL;
        if (node->kind == PQ_NODE_LIST || node->kind == PQ_NODE_MAP) {
            def_min[node->rep + 1] = (uint8_t)(node->def + 1);
        }
        for (uint32_t i = 0; i < node->n_children && next == NULL; i++) {
            const struct pq_node *child = &node->children[i];
            bool is_on_path = o->node->leaf >= child->leaf_begin && o->node->leaf < child->leaf_end;
            next = is_on_path ? child : NULL;
        }
        assert(next != NULL);
        node = next;
    }
    for (int64_t i = 0; i < l.n && l.rep != NULL; i++) {
        uint8_t needed = def_min[l.rep[i]];
        if (l.rep[i] > 0 && l.def[i] < needed) {
            continue;
        }
        if (l.rep[i] > 0 && open < needed) {
            return corrupt(as, "an element of a list that is null or empty");
        }
        open = l.def[i];
    }
    return GREBE_OK;
}

/* Whether what build_even_lists() does to null lists of fixed size can be done: room is made in
 * values of fixed width. */
static bool can_build_even(const struct pq_node *node, const struct pq_out *o)
{
    bool has_nulls = o->validity.region != NULL;
    return !has_nulls || node->arrow != ARROW_FIXED_LIST ||
           (o->node->width_out > 0 && o->offset_width == 0);
}

/* A struct without any column: only its length is known. */
static grebe_status build_empty_struct(const struct assembler *as, const struct pq_node *node,
                                       int64_t n_rows, struct ArrowArray *out)
{
    if (node->is_nullable || node->kind != PQ_NODE_STRUCT || node->n_children > 0) {
        return GREBE_FAIL(as->err, GREBE_EUNSUPPORTED, "a group without columns");
    }
    return array_new(as->a, n_rows, 1, 0, out, as->err);
}

grebe_status pq_assemble(const grebe_allocator *a, const struct pq_node *node,
                         const struct ArrowSchema *schema, struct pq_out *outs, int64_t n_rows,
                         struct ArrowArray *out, grebe_error *err)
{
    struct assembler as = { .a = a, .outs = outs, .leaf_begin = node->leaf_begin, .err = err };
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    if (node->leaf_begin == node->leaf_end) {
        return build_empty_struct(&as, node, n_rows, out);
    }
    struct pq_out *first = &outs[0];
    assert(first->n_rows == n_rows);
    if (first->mode == PQ_OUT_FLAT) {
        st = build_leaf(&as, node, n_rows, &first->validity, out);
    } else if (first->mode == PQ_OUT_LISTS && can_build_even(node, first)) {
        st = build_even_lists(&as, node, n_rows, out);
    } else {
        st = pq_out_to_levels(first, err);
        for (uint32_t i = 0; i < node->leaf_end - node->leaf_begin && st == GREBE_OK; i++) {
            st = check_levels(&as, node, &outs[i]);
        }
        if (st == GREBE_OK) {
            st = build_node(&as, node, schema, n_rows, out);
        }
    }
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}
