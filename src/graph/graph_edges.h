/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_EDGES_H
#define GREBE_GRAPH_GRAPH_EDGES_H

/*
 * The edges of one file, in blocks that several threads read side by side: text of two integers a line, an array of
 * shape (2, edges), or a table of two columns. Every end is compared with the number of nodes of its type. The file is
 * mapped and never written to.
 */

#include "array/tensor.h"
#include "graph/graph_metadata.h"

enum {
    GRAPH_BLOCK_EDGES = 1 << 18,
    GRAPH_BLOCK_BYTES = 1 << 20 /* of text: at least three bytes an edge and one between */
};

struct graph_edge_rows;

/** A block as it lies in memory: integers of the machine's byte order, one after another. */
struct graph_edge_view {
    const unsigned char *sources, *destinations; /* shape [n]; aligned to width */
    size_t width;                                /* 4 or 8 */
    size_t n;
};

/** How text is read. */
struct graph_csv_options {
    bool has_header; /* the first line is passed over */
    char separator;  /* 0: ',' */
};

struct graph_edges {
    grebe_context *ctx;
    const char *path;                           /* as messages name it */
    int64_t n_sources, n_destinations;          /* ids are below */
    const char *source_type, *destination_type; /* NULL: none */
    struct graph_csv_options csv;
    struct tensor array;          /* npy */
    struct region *text;          /* csv */
    struct graph_edge_rows *rows; /* Parquet; both NULL: an array */
    size_t n_blocks;
    size_t *text_begin; /* shape [n_blocks + 1]: offsets in text; room for n_blocks_room + 1 */
    size_t n_blocks_room;
    /* What cannot be looked at as it lies in the file, decoded: each block's sources, then its destinations. */
    struct region *decoded;
    struct graph_edge_view *views; /* shape [n_blocks]; NULL: blocks are parts of `array` */
};

/** A file of edge type `edge`. Its header was checked. @param out graph_edges_close(), after a failure too. */
grebe_status graph_edges_open(struct graph_metadata *m, size_t edge, const struct graph_csv_options *csv,
                              struct graph_edges *out, grebe_error *err);
void graph_edges_close(struct graph_edges *e); /* idempotent */

/**
 * Read a block. Safe from many threads.
 *
 * @param sources,destinations Written, shape [GRAPH_BLOCK_EDGES + 1].
 * @return GREBE_OK; GREBE_ECORRUPT with file and line, or file, row and edge.
 */
grebe_status graph_edges_read(const struct graph_edges *e, size_t block, int64_t *sources, int64_t *destinations,
                              size_t *n, grebe_error *err);

/** Whether the file holds what graph_edges_view() gives; else it is decoded first (csc_decode.h). */
bool graph_edges_are_plain(const struct graph_edges *e);
/** A block of a plain or decoded file. Nothing is compared with any bound. */
struct graph_edge_view graph_edges_view(const struct graph_edges *e, size_t block);
/** The pages of the block no longer count as memory of the process. */
void graph_edges_forget(const struct graph_edges *e, const struct graph_edge_view *v);
/** Read all of the file, from the beginning, for what it fails with first. */
grebe_status graph_edges_check(const struct graph_edges *e, const struct call *call, grebe_error *err);

#endif
