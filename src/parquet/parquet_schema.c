/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_schema.h"

#include <assert.h>
#include <string.h>

/* Where an element stands in the tree; filled by one walk with an explicit stack. */
struct place {
    uint32_t end; /* one past its last descendant */
    uint32_t n_children;
    uint32_t leaf_begin; /* leaves before it */
};

struct resolver {
    const struct pq_footer *footer;
    struct arena *ar;
    struct place *places;
    struct pq_schema *out;
    uint32_t column; /* top-level field being resolved */
    grebe_error *err;
};

static const struct pq_schema_element *element(const struct resolver *r, uint32_t e)
{
    return &r->footer->schema[e];
}

static bool is_leaf(const struct resolver *r, uint32_t e)
{
    return element(r, e)->type >= 0;
}

static grebe_status no_memory(grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ENOMEM, "no memory for the schema");
}

static bool name_is(const struct pq_schema_element *e, const char *name, size_t len)
{
    return e->name.len == len && memcmp(e->name.data, name, len) == 0;
}

/* ---- first walk: shape, levels, leaves ---- */

struct open_group {
    uint32_t e;
    uint32_t n_left;
    uint8_t max_rep, max_def;
};

static grebe_status add_leaf(struct resolver *r, uint32_t e, const struct open_group *stack,
                             uint32_t depth, uint8_t max_rep, uint8_t max_def)
{
    const struct pq_schema_element *el = element(r, e);
    struct pq_leaf *leaf = &r->out->leaves[r->out->n_leaves];
    size_t name_len = 0;

    if (el->type == PQ_FIXED && (el->type_length < 1 || el->type_length > 1 << 28)) {
        return GREBE_FAIL(r->err, GREBE_ECORRUPT,
                          "schema element %u: length %d of FIXED_LEN_BYTE_ARRAY, expected 1 … %d",
                          e, el->type_length, 1 << 28);
    }
    /* stack[0] is the root, which is no part of a path */
    struct pq_bytes *path = arena_array(r->ar, depth, sizeof *path);
    if (path == NULL) {
        return no_memory(r->err);
    }
    for (uint32_t i = 1; i < depth; i++) {
        path[i - 1] = element(r, stack[i].e)->name;
        name_len += path[i - 1].len + 1;
    }
    path[depth - 1] = el->name;
    name_len += el->name.len;
    char *name = arena_alloc(r->ar, name_len + 1);
    if (name == NULL) {
        return no_memory(r->err);
    }
    size_t at = 0;
    for (uint32_t i = 0; i < depth; i++) {
        if (i > 0) {
            name[at++] = '.';
        }
        memcpy(name + at, path[i].data, path[i].len);
        at += path[i].len;
    }
    name[at] = 0;
    *leaf = (struct pq_leaf){ .element = e,
                              .type = el->type,
                              .type_length = el->type == PQ_FIXED ? el->type_length : 0,
                              .max_rep = max_rep,
                              .max_def = max_def,
                              .name = name,
                              .path = path,
                              .n_path = (int32_t)depth };
    r->out->n_leaves++;
    return GREBE_OK;
}

static grebe_status check_element(struct resolver *r, uint32_t e)
{
    const struct pq_schema_element *el = element(r, e);
    if (el->repetition < 0 && e > 0) {
        return GREBE_FAIL(r->err, GREBE_ECORRUPT, "schema element %u has no repetition", e);
    }
    if (el->type >= 0 && el->n_children > 0) {
        return GREBE_FAIL(r->err, GREBE_ECORRUPT, "schema element %u has a type and %d children", e,
                          el->n_children);
    }
    if (el->n_children >= 0 && (uint32_t)el->n_children > r->footer->n_schema) {
        return GREBE_FAIL(r->err, GREBE_ECORRUPT,
                          "schema element %u claims %d children of %u elements", e, el->n_children,
                          r->footer->n_schema);
    }
    return GREBE_OK;
}

static grebe_status walk(struct resolver *r)
{
    struct open_group stack[PQ_DEPTH_MAX + 1];
    uint32_t n = r->footer->n_schema;
    uint32_t depth = 0;

    if (is_leaf(r, 0)) {
        return GREBE_FAIL(r->err, GREBE_ECORRUPT, "the schema's root is no group");
    }
    for (uint32_t e = 0; e < n; e++) {
        const struct pq_schema_element *el = element(r, e);
        struct open_group g = { .e = e };
        grebe_status st = check_element(r, e);
        if (st != GREBE_OK) {
            return st;
        }
        if (e > 0) {
            /* Close what is complete; the parent is then on top. */
            while (depth > 0 && stack[depth - 1].n_left == 0) {
                r->places[stack[depth - 1].e].end = e;
                depth--;
            }
            if (depth == 0) {
                return GREBE_FAIL(r->err, GREBE_ECORRUPT,
                                  "the schema's tree ends at element %u of %u", e, n);
            }
            struct open_group *parent = &stack[depth - 1];
            parent->n_left--;
            g.max_rep = (uint8_t)(parent->max_rep + (el->repetition == PQ_REPEATED));
            g.max_def = (uint8_t)(parent->max_def + (el->repetition != PQ_REQUIRED));
        }
        r->places[e] = (struct place){ .end = e + 1, .leaf_begin = r->out->n_leaves };
        if (is_leaf(r, e)) {
            st = add_leaf(r, e, stack, depth, g.max_rep, g.max_def);
            if (st != GREBE_OK) {
                return st;
            }
            continue;
        }
        if (depth > PQ_DEPTH_MAX) {
            return GREBE_FAIL(r->err, GREBE_ELIMIT, "the schema is nested deeper than %d",
                              PQ_DEPTH_MAX);
        }
        g.n_left = el->n_children > 0 ? (uint32_t)el->n_children : 0;
        r->places[e].n_children = g.n_left;
        stack[depth++] = g;
    }
    while (depth > 0 && stack[depth - 1].n_left == 0) {
        r->places[stack[depth - 1].e].end = n;
        depth--;
    }
    if (depth > 0) {
        return GREBE_FAIL(r->err, GREBE_ECORRUPT,
                          "schema element %u lacks %u children: the schema ends too early",
                          stack[depth - 1].e, stack[depth - 1].n_left);
    }
    return GREBE_OK;
}

/* ---- second walk: fields, lists, maps, structs ---- */

static bool is_list(const struct pq_schema_element *el)
{
    return el->logical.kind == PQ_LOGICAL_LIST ||
           (el->logical.kind == PQ_LOGICAL_NONE && el->converted == PQ_CONV_LIST);
}

static bool is_map(const struct pq_schema_element *el)
{
    return el->logical.kind == PQ_LOGICAL_MAP ||
           (el->logical.kind == PQ_LOGICAL_NONE &&
            (el->converted == PQ_CONV_MAP || el->converted == PQ_CONV_MAP_KEY_VALUE));
}

/* Whether the group's only child is REPEATED: the child's element then, else 0. */
static uint32_t only_repeated_child(const struct resolver *r, uint32_t e)
{
    if (is_leaf(r, e) || r->places[e].n_children != 1 ||
        element(r, e + 1)->repetition != PQ_REPEATED) {
        return 0;
    }
    return e + 1;
}

/* def_slot, def: levels at which a slot of the parent exists, and is not null. */
static grebe_status resolve_field(struct resolver *r, uint32_t e, uint8_t def_slot, uint8_t def,
                                  uint8_t rep, unsigned depth, struct pq_node *out);

static void node_init(struct resolver *r, struct pq_node *n, enum pq_node_kind kind, uint32_t e,
                      uint8_t def_slot, uint8_t def, uint8_t rep)
{
    memset(n, 0, sizeof *n);
    n->kind = kind;
    n->element = e;
    n->def_slot = def_slot;
    n->def = def;
    n->rep = rep;
    n->leaf_begin = r->places[e].leaf_begin;
    uint32_t end = r->places[e].end;
    n->leaf_end = end < r->footer->n_schema ? r->places[end].leaf_begin : r->out->n_leaves;
}

static grebe_status new_children(struct resolver *r, struct pq_node *n, uint32_t n_children)
{
    n->children = arena_array(r->ar, n_children, sizeof *n->children);
    n->n_children = n_children;
    return n->children == NULL ? no_memory(r->err) : GREBE_OK;
}

static grebe_status resolve_struct(struct resolver *r, uint32_t e, unsigned depth,
                                   struct pq_node *n)
{
    grebe_status st = new_children(r, n, r->places[e].n_children);
    uint32_t child = e + 1;
    for (uint32_t i = 0; i < n->n_children && st == GREBE_OK; i++) {
        st = resolve_field(r, child, n->def_slot, n->def, n->rep, depth + 1, &n->children[i]);
        child = r->places[child].end;
    }
    return st;
}

/* The group or leaf e without regard to its own repetition. */
static grebe_status resolve_type(struct resolver *r, uint32_t e, uint8_t def_slot, uint8_t def,
                                 uint8_t rep, unsigned depth, struct pq_node *out);

/* The backward-compatibility rules of LogicalTypes.md, in the order of spec 4.1. */
static grebe_status resolve_list(struct resolver *r, uint32_t e, uint32_t repeated, unsigned depth,
                                 struct pq_node *n)
{
    const struct pq_schema_element *rep_el = element(r, repeated);
    uint8_t def = (uint8_t)(n->def + 1);
    uint8_t rep = (uint8_t)(n->rep + 1);
    bool is_element = is_leaf(r, repeated) || r->places[repeated].n_children != 1 ||
                      only_repeated_child(r, repeated) != 0 || name_is(rep_el, "array", 5);
    const struct pq_bytes *name = &element(r, e)->name;
    if (!is_element && rep_el->name.len == name->len + 6 &&
        memcmp(rep_el->name.data, name->data, name->len) == 0 &&
        memcmp(rep_el->name.data + name->len, "_tuple", 6) == 0) {
        is_element = true;
    }
    n->kind = PQ_NODE_LIST;
    grebe_status st = new_children(r, n, 1);
    if (st != GREBE_OK) {
        return st;
    }
    return is_element ? resolve_type(r, repeated, def, def, rep, depth + 1, &n->children[0])
                      : resolve_field(r, repeated + 1, def, def, rep, depth + 1, &n->children[0]);
}

static grebe_status resolve_map(struct resolver *r, uint32_t repeated, unsigned depth,
                                struct pq_node *n)
{
    uint8_t def = (uint8_t)(n->def + 1);
    uint8_t rep = (uint8_t)(n->rep + 1);
    grebe_status st = new_children(r, n, 1);
    if (st != GREBE_OK) {
        return st;
    }
    if (r->places[repeated].n_children == 1) {
        /* A map without values is the list of its keys. */
        n->kind = PQ_NODE_LIST;
        return resolve_field(r, repeated + 1, def, def, rep, depth + 1, &n->children[0]);
    }
    n->kind = PQ_NODE_MAP;
    node_init(r, &n->children[0], PQ_NODE_STRUCT, repeated, def, def, rep);
    return resolve_struct(r, repeated, depth + 1, &n->children[0]);
}

static grebe_status resolve_type(struct resolver *r, uint32_t e, uint8_t def_slot, uint8_t def,
                                 uint8_t rep, unsigned depth, struct pq_node *out)
{
    const struct pq_schema_element *el = element(r, e);
    if (depth > PQ_DEPTH_MAX) {
        return GREBE_FAIL(r->err, GREBE_ELIMIT, "the schema is nested deeper than %d",
                          PQ_DEPTH_MAX);
    }
    node_init(r, out, PQ_NODE_STRUCT, e, def_slot, def, rep);
    if (is_leaf(r, e)) {
        out->kind = PQ_NODE_LEAF;
        out->leaf = out->leaf_begin;
        struct pq_leaf *leaf = &r->out->leaves[out->leaf];
        leaf->node = out;
        leaf->column = r->column;
        assert(leaf->max_def == def && leaf->max_rep == rep);
        return GREBE_OK;
    }
    uint32_t repeated = only_repeated_child(r, e);
    if (repeated != 0 && is_list(el)) {
        return resolve_list(r, e, repeated, depth, out);
    }
    if (repeated != 0 && is_map(el) && !is_leaf(r, repeated)) {
        uint32_t n = r->places[repeated].n_children;
        bool has_key = n >= 1 && n <= 2 && element(r, repeated + 1)->repetition != PQ_REPEATED;
        if (has_key) {
            return resolve_map(r, repeated, depth, out);
        }
    }
    return resolve_struct(r, e, depth, out);
}

static grebe_status resolve_field(struct resolver *r, uint32_t e, uint8_t def_slot, uint8_t def,
                                  uint8_t rep, unsigned depth, struct pq_node *out)
{
    int32_t repetition = element(r, e)->repetition;
    if (repetition != PQ_REPEATED) {
        uint8_t own = (uint8_t)(def + (repetition == PQ_OPTIONAL));
        grebe_status st = resolve_type(r, e, def_slot, own, rep, depth, out);
        out->is_nullable = repetition == PQ_OPTIONAL;
        return st;
    }
    /* A repeated field outside LIST and MAP: a list, never null, of required elements. */
    if (depth > PQ_DEPTH_MAX) {
        return GREBE_FAIL(r->err, GREBE_ELIMIT, "the schema is nested deeper than %d",
                          PQ_DEPTH_MAX);
    }
    node_init(r, out, PQ_NODE_LIST, e, def_slot, def, rep);
    grebe_status st = new_children(r, out, 1);
    if (st != GREBE_OK) {
        return st;
    }
    uint8_t in = (uint8_t)(def + 1);
    return resolve_type(r, e, in, in, (uint8_t)(rep + 1), depth + 1, &out->children[0]);
}

const struct pq_node *pq_list_leaf(const struct pq_node *node)
{
    return node->kind == PQ_NODE_LIST && node->children[0].kind == PQ_NODE_LEAF ? &node->children[0]
                                                                                : NULL;
}

grebe_status pq_schema_resolve(const grebe_allocator *a, struct arena *ar,
                               const struct pq_footer *footer, struct pq_schema *out,
                               grebe_error *err)
{
    struct resolver r = { .footer = footer, .ar = ar, .out = out, .err = err };
    uint32_t n = footer->n_schema;
    uint32_t n_leaves = 0;

    memset(out, 0, sizeof *out);
    for (uint32_t e = 0; e < n; e++) {
        n_leaves += footer->schema[e].type >= 0;
    }
    r.places = arena_array(ar, n, sizeof *r.places);
    out->leaves = arena_array(ar, n_leaves, sizeof *out->leaves);
    if (r.places == NULL || out->leaves == NULL) {
        return no_memory(err);
    }
    grebe_status st = walk(&r);
    if (st != GREBE_OK) {
        return st;
    }
    out->n_columns = r.places[0].n_children;
    out->columns = arena_array(ar, out->n_columns, sizeof *out->columns);
    if (out->columns == NULL) {
        return no_memory(err);
    }
    uint32_t e = 1;
    for (uint32_t i = 0; i < out->n_columns; i++) {
        r.column = i;
        st = resolve_field(&r, e, 0, 0, 0, 1, &out->columns[i]);
        if (st != GREBE_OK) {
            return st;
        }
        out->columns[i].is_row_field = true;
        const struct pq_node *item = pq_list_leaf(&out->columns[i]);
        if (item != NULL) {
            out->leaves[item->leaf].is_list_element = true;
        }
        e = r.places[e].end;
    }
    st = pq_schema_to_arrow(a, ar, footer, out, err);
    if (st != GREBE_OK) {
        pq_schema_release(out);
    }
    return st;
}

void pq_schema_release(struct pq_schema *s)
{
    schema_release(&s->arrow);
}
