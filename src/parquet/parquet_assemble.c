/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded leaves become Arrow arrays. Flat columns and lists of one length need no levels. */
#include "parquet/parquet_assemble.h"

#include <assert.h>
#include <string.h>

/* Offsets of lists that are null or have list_len elements. */
static grebe_status build_even_offsets(const struct pq_assembler *as, const struct pq_out *o,
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

static grebe_status build_even_lists(const struct pq_assembler *as, const struct pq_node *node,
                                     int64_t n_rows, struct ArrowArray *out)
{
    struct pq_out *o = pq_assembler_out(as, node);
    struct pq_block no_bits = { NULL, 0 };
    bool is_fixed = node->arrow == ARROW_FIXED_LIST;
    bool is_large = node->arrow == ARROW_LARGE_LIST;
    int64_t n_items = o->n_values;
    if (is_fixed && o->list_len != 0 && o->list_len != (uint32_t)node->list_size) {
        return GREBE_FAIL(as->err, GREBE_ECORRUPT, "a list has another length than its type says");
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
            size_t width = (size_t)o->node->width_out;
            uint64_t bytes = 0;
            st = pq_assemble_list_bytes(as, node, n_rows - n_lists, width, &bytes);
            if (st == GREBE_OK) {
                st = pq_assemble_spread(as, o, (size_t)node->list_size * width, bits, n_rows,
                                        n_lists);
            }
            if (st == GREBE_OK) {
                n_items = n_rows * node->list_size;
                o->n_values = n_items;
            }
        }
        out->null_count = n_rows - n_lists;
        if (st == GREBE_OK) {
            st = pq_assemble_hand_over(as, &o->validity, out, 0);
        }
    }
    return st == GREBE_OK
               ? pq_assemble_leaf(as, &node->children[0], n_items, &no_bits, out->children[0])
               : st;
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
static grebe_status build_empty_struct(const struct pq_assembler *as, const struct pq_node *node,
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
    struct pq_assembler as = { .a = a, .outs = outs, .leaf_begin = node->leaf_begin, .err = err };
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    if (node->leaf_begin == node->leaf_end) {
        return build_empty_struct(&as, node, n_rows, out);
    }
    struct pq_out *first = &outs[0];
    assert(first->n_rows == n_rows);
    if (first->mode == PQ_OUT_FLAT) {
        st = pq_assemble_leaf(&as, node, n_rows, &first->validity, out);
    } else if (first->mode == PQ_OUT_LISTS && can_build_even(node, first)) {
        st = build_even_lists(&as, node, n_rows, out);
    } else {
        st = pq_out_to_levels(first, err);
        if (st == GREBE_OK) {
            st = pq_assemble_nested(&as, node, schema, n_rows, out);
        }
    }
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}
