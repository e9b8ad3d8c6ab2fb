/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_CSC_BUILD_H
#define GREBE_GRAPH_CSC_BUILD_H

/*
 * Edges of files to lists by destination: a stable counting sort, in two passes over the files. The second one goes
 * over them once for each range of destinations, whose edges fit a thread's share of the memory that may be used, and
 * shares those out to pieces of the arrays, which are small enough for a core's own cache. The result is the same, bit
 * for bit, for any number of threads and any amount of memory.
 *
 * Memory: 8 bytes a node, and the budget.
 */

#include "graph/graph_edges.h"
#include "io/io.h"

enum {
    CSC_NODE_TYPES_MAX = 1 << 20,
    CSC_PLACE_BITS = 16,
    CSC_CHUNK_EDGES = 4096 /* of a block: what is noted about them stays in the first cache */
};

/** Rows of an edge attribute in the order of the files of all types; is moved along with its edges. */
struct csc_column {
    const char *name;
    int type;
    unsigned rank;
    uint64_t shape[TENSOR_DIMS_MAX]; /* first: edges */
    size_t width;                    /* bytes a row */
    struct tensor *parts;            /* shape [edge types]: by type id; packed, little endian */
    struct region **copies;          /* of parts that were not; shape [edge types] */
};

struct csc_options {
    bool has_edge_ids;
    bool is_cast;                 /* the smallest types that hold the values */
    bool is_attribute_order_kept; /* attributes stay in the order of the files, as DGL leaves them */
    bool allows_row_mismatch;     /* of features; attributes always have a row for each edge */
    struct graph_csv_options csv;
    struct call call;
    struct io_store *store; /* local */
    const char *folder;     /* for a temporary file; both are borrowed until csc_build_free() */
};

/** Destinations [node_begin, node_end), whose lists are edges [edge_begin, edge_end). */
struct csc_bounds {
    int64_t node_begin, node_end, edge_begin, edge_end;
    size_t piece_begin; /* its first */
};

/** What an edge brings: the arrays that are made, in this order. */
enum {
    CSC_INDICES,
    CSC_TYPES,
    CSC_EDGE_IDS,
    CSC_COLUMNS /* and on: those that are moved */
};

/**
 * A value of an edge on its way from its file to one of the arrays. Until then it is part of a record: a word of 32 bits
 * (the place in the piece, and from bit 16 on the type, where there are not more types than that), then all fields, one
 * after another.
 */
struct csc_field {
    size_t at;
    size_t width; /* in the record: 4 or 8; of a column as many as it has; 0: part of the word, or made is 0 too */
    size_t made;  /* in the array; 0: there is no such array, or it has no bytes */
};

struct csc_build {
    struct graph_metadata *m;
    struct csc_options options;
    /* ids of types are those of their names in order of bytes */
    size_t *node_order, *edge_order; /* by id: entries of the metadata */
    int64_t *node_offset;            /* shape [node types + 1] */
    struct graph_edges *files;       /* by id */
    int64_t *edges_of;               /* shape [edge types] */
    int64_t *source_offset, *destination_offset; /* of the nodes at the ends of each edge type; shape [edge types] */
    int64_t n_nodes, n_edges;
    int64_t *ends; /* shape [n_nodes + 1]: indptr; from the second pass on, where the next edge would go */
    int indptr_type, indices_type, type_type; /* ARRAY_I32, …; type_type -1: the graph has no types */
    struct csc_column *columns;
    size_t n_columns, n_moved; /* moved: those that the second pass puts in order; all or none */
    struct csc_field *fields;  /* shape [n_fields] */
    size_t n_fields, record_bytes;
    int64_t range_edges;       /* of all lists of a range, unless it is one list */
    struct csc_bounds *ranges; /* of the second pass, in order */
    size_t n_ranges;
    unsigned piece_shift; /* 2^piece_shift edges; the last of a range has what is left */
    size_t n_pieces;
};

/** What the second pass made: edges [edge_begin, edge_begin + n) of each array. */
struct csc_piece {
    size_t index;
    int64_t edge_begin;
    size_t n;
    unsigned char *const *values; /* shape [n_fields]; packed */
};

/** Types in order, offsets, numbers of edges by type (the first pass), types of the arrays. @param out
 * csc_build_free(). */
grebe_status csc_build_begin(struct graph_metadata *m, const struct csc_options *options, struct csc_build **out,
                             grebe_error *err);
void csc_build_free(struct csc_build *b); /* NULL accepted */

/** Records are laid out, destinations shared out to ranges and these to pieces. */
grebe_status csc_plan(struct csc_build *b, grebe_error *err);
/** Edges of the piece of a range that begins at edge `at`. */
static inline int64_t csc_piece_edges(const struct csc_build *b, const struct csc_bounds *range, int64_t at)
{
    int64_t all = (int64_t)1 << b->piece_shift, left = range->edge_end - at;
    return left < all ? left : all;
}
/** Called for each piece once, by several threads at once. Pieces of a range come in order. */
typedef grebe_status (*csc_piece_fn)(void *arg, const struct csc_piece *piece, grebe_error *err);
/** The second pass, once. `ends` is no longer indptr afterwards. */
grebe_status csc_build_pieces(struct csc_build *b, csc_piece_fn fn, void *arg, grebe_error *err);

/** The narrowest of u8, i16, i32, i64 for so many types. */
int csc_type_of_types(size_t n);
/** n values of `ends` from begin on, as they stand in the file. */
void csc_put_ends(const struct csc_build *b, int64_t begin, int64_t n, unsigned char *dst);

#endif
