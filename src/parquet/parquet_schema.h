/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_SCHEMA_H
#define GREBE_PARQUET_PARQUET_SCHEMA_H

/*
 * The schema of a file as a tree of fields, lists, maps and structs with their levels, and as
 * an Arrow schema.
 *
 * Levels. A node's slots are those of its parent; for the content of a list they are the list's
 * elements. With definition level dl and repetition level rl of an entry:
 *   - an entry begins a slot of a node when rl <= node->rep and dl >= node->def_slot;
 *   - the slot is not null when dl >= node->def;
 *   - a list has elements when dl > node->def; entries with rl > node->rep go on with it.
 *
 * Source: LogicalTypes.md (nested types, backward-compatibility rules), spec section 4.
 */

#include "arrow/arrow_schema.h"
#include "parquet/parquet_meta.h"

enum pq_node_kind { PQ_NODE_LEAF, PQ_NODE_STRUCT, PQ_NODE_LIST, PQ_NODE_MAP };

/** How a stored value becomes an Arrow value. */
enum pq_convert {
    PQ_CONVERT_COPY = 0,     /* the same bytes */
    PQ_CONVERT_BOOL,         /* bits */
    PQ_CONVERT_NULL,         /* no values at all */
    PQ_CONVERT_NARROW,       /* the low bytes of an integer */
    PQ_CONVERT_DAYS_TO_MS,   /* DATE, read as date64 */
    PQ_CONVERT_MS_TO_S_32,   /* stored in milliseconds, the Arrow schema says seconds */
    PQ_CONVERT_MS_TO_S_64,
    PQ_CONVERT_INT96,        /* nanoseconds */
    PQ_CONVERT_INT96_US,     /* microseconds, rounded down */
    PQ_CONVERT_SIGN_EXTEND,  /* decimal in an integer */
    PQ_CONVERT_DECIMAL_BE,   /* decimal in fixed bytes, big-endian */
    PQ_CONVERT_BYTES,        /* offsets and data */
    PQ_CONVERT_DECIMAL_BYTES /* decimal in BYTE_ARRAY */
};

struct pq_node {
    enum pq_node_kind kind;
    uint32_t element; /* of footer->schema: the field that names it */
    bool is_nullable;
    bool is_row_field; /* its slots are the rows */
    uint8_t rep, def_slot, def;
    uint32_t leaf_begin, leaf_end;
    uint32_t n_children;
    struct pq_node *children; /* LIST: 1; MAP: the entries struct; STRUCT: any number */
    /* The Arrow type. */
    enum arrow_kind arrow;
    int32_t list_size; /* ARROW_FIXED_LIST */
    /* Leaves. */
    uint32_t leaf;
    enum pq_convert convert;
    int32_t width_in, width_out; /* bytes; 0: variable (in) or bits (out) */
};

struct pq_leaf {
    uint32_t element;
    int32_t type, type_length;
    uint8_t max_rep, max_def;
    const struct pq_node *node;
    uint32_t column;         /* top-level field it belongs to */
    bool is_list_element;    /* right below a list that is a top-level field */
    const char *name;        /* dotted path, for messages */
    const char *unreadable;  /* why no value of it can be read; NULL: it can */
    const struct pq_bytes *path; /* shape [n_path] */
    int32_t n_path;
};

struct pq_schema {
    struct pq_leaf *leaves;
    uint32_t n_leaves;
    struct pq_node *columns; /* top-level fields */
    uint32_t n_columns;
    struct ArrowSchema arrow; /* owned; pq_schema_release() */
};

/**
 * @param footer Borrowed; *out points into it.
 * @param ar     Owns the nodes.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_ELIMIT (depth); GREBE_ENOMEM.
 */
grebe_status pq_schema_resolve(const grebe_allocator *a, struct arena *ar,
                               const struct pq_footer *footer, struct pq_schema *out,
                               grebe_error *err);
void pq_schema_release(struct pq_schema *s);

/**
 * Arrow types of all nodes and out->arrow; pq_schema_resolve() calls it.
 *
 * The key ARROW:schema restores what Parquet cannot say; what does not fit the stored types is
 * passed over in silence.
 */
grebe_status pq_schema_to_arrow(const grebe_allocator *a, struct arena *ar,
                                const struct pq_footer *footer, struct pq_schema *s,
                                grebe_error *err);

/** The leaf when the node is a list of leaves with nothing in between; NULL otherwise. */
const struct pq_node *pq_list_leaf(const struct pq_node *node);

enum { PQ_DEPTH_MAX = 64 };

#endif
