/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nested columns off their levels: each node of the tree is read off the levels of its first leaf
 * (Dremel's record assembly, one pass per node).
 */
#include "parquet/parquet_assemble.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

enum { VIEW_BYTES = 16 }; /* a string or a level of a list takes about as much */

static grebe_status corrupt(const struct pq_assembler *as, const char *what)
{
    return GREBE_FAIL(as->err, GREBE_ECORRUPT, "%s", what);
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
static grebe_status find_slots(const struct pq_assembler *as, const struct pq_node *node,
                               struct pq_block *bits, int64_t *n_slots, int64_t *n_nulls)
{
    struct levels l = levels_of(pq_assembler_out(as, node));
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

/* ---- nodes ---- */

static grebe_status build_node(const struct pq_assembler *as, const struct pq_node *node,
                               const struct ArrowSchema *schema, int64_t n_expected,
                               struct ArrowArray *out);

static grebe_status set_validity(const struct pq_assembler *as, const struct pq_node *node,
                                 int64_t n_nulls, struct pq_block *bits, struct ArrowArray *out)
{
    if (bits->region == NULL || !node->is_nullable) {
        return GREBE_OK;
    }
    out->null_count = n_nulls;
    return pq_assemble_hand_over(as, bits, out, 0);
}

/* Two leaves of a struct must tell the same of the struct and of the lists around it: equal
 * counts alone would let damaged levels pair values of different rows. */
static grebe_status check_siblings(const struct pq_assembler *as, const struct pq_node *node,
                                   const struct pq_node *child)
{
    struct levels x = levels_of(pq_assembler_out(as, node));
    struct levels y = levels_of(pq_assembler_out(as, child));
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

static grebe_status build_struct(const struct pq_assembler *as, const struct pq_node *node,
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

grebe_status pq_assemble_list_bytes(const struct pq_assembler *as, const struct pq_node *node,
                                    int64_t n, size_t element_bytes, uint64_t *out)
{
    uint64_t limit = pq_assembler_out(as, node)->limit_bytes;
    if (!checked_mul_u64((uint64_t)n, (uint64_t)node->list_size, out) ||
        !checked_mul_u64(*out, element_bytes, out) || *out > limit) {
        return GREBE_FAIL(as->err, GREBE_ELIMIT,
                          "room for %lld lists of %d elements, the limit is %llu bytes",
                          (long long)n, (int)node->list_size, (unsigned long long)limit);
    }
    return GREBE_OK;
}

/* A list of fixed size stores nothing for a null list; Arrow wants room for its elements. */
static grebe_status pad_fixed_list(const struct pq_assembler *as, const struct pq_node *node,
                                   const struct ArrowSchema *item, const struct levels *l,
                                   int64_t n, struct ArrowArray *child)
{
    struct ArrowArray padded = { 0 };
    struct pq_out *o = pq_assembler_out(as, node);
    size_t width = (size_t)(o->node->width_out > 0 ? o->node->width_out : VIEW_BYTES);
    uint64_t bytes = 0;
    grebe_status st = pq_assemble_list_bytes(as, node, n, sizeof(int64_t) + width, &bytes);
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

static grebe_status check_fixed_lengths(const struct pq_assembler *as, const struct pq_node *node,
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

static grebe_status build_fixed_list(const struct pq_assembler *as, const struct pq_node *node,
                                     const struct ArrowSchema *schema, int64_t n, int64_t n_nulls,
                                     struct pq_block *bits, struct ArrowArray *out)
{
    struct levels l = levels_of(pq_assembler_out(as, node));
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

static grebe_status build_offsets(const struct pq_assembler *as, const struct pq_node *node,
                                  int64_t n, struct ArrowArray *out, int64_t *n_elements)
{
    struct levels l = levels_of(pq_assembler_out(as, node));
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

static grebe_status build_list(const struct pq_assembler *as, const struct pq_node *node,
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
static grebe_status build_node(const struct pq_assembler *as, const struct pq_node *node,
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
        case PQ_NODE_LEAF: st = pq_assemble_leaf(as, node, n, &bits, out); break;
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

/*
 * An element that goes on with a list needs that list to be open: in its row, the entry before
 * has reached at least as deep. Otherwise it would end up in a list of the row before. Entries
 * that go on with a list and are no elements (DuckDB writes them in null arrays) are left out
 * everywhere and do no harm.
 */
static grebe_status check_levels(const struct pq_assembler *as, const struct pq_node *top,
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

grebe_status pq_assemble_nested(const struct pq_assembler *as, const struct pq_node *node,
                                const struct ArrowSchema *schema, int64_t n_rows,
                                struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    for (uint32_t i = 0; i < node->leaf_end - node->leaf_begin && st == GREBE_OK; i++) {
        st = check_levels(as, node, &as->outs[i]);
    }
    return st == GREBE_OK ? build_node(as, node, schema, n_rows, out) : st;
}
