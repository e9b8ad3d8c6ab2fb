/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_TORCH_H
#define GREBE_GRAPH_GRAPH_TORCH_H

/*
 * fused_csc_sampling_graph.pt: the file of torch.save that DGL keeps a graph in. A zip archive of stored members: the
 * pickle that names the tensors, in the very sequence of opcodes that torch writes, and a member of raw values for
 * each, at a multiple of 64 bytes, so that whoever maps the file has the arrays (docs/format/graph.md).
 */

#include "graph/graph_csc.h"
#include "io/io.h"

struct graph_torch_writer;

/** One tensor of the file. */
struct graph_torch_tensor {
    int type;
    unsigned rank;
    uint64_t shape[TENSOR_DIMS_MAX];
    uint64_t n_bytes;
    const void *data; /* NULL: made by fn, or left out for graph_torch_patch() when fn is NULL too */
    /** Write all n_bytes by graph_torch_put(). */
    grebe_status (*fn)(void *arg, struct graph_torch_writer *w, grebe_error *err);
    void *arg;
};

/** A name, and its tensor or its id. */
struct graph_torch_entry {
    const char *name;
    struct graph_torch_tensor tensor;
};

/** What the file says, in the order it is written. */
struct graph_torch_state {
    struct graph_torch_entry tensors[4]; /* indptr, indices, node_type_offset, type_per_edge */
    size_t n_tensors;
    const char *const *node_types, *const *edge_types; /* by id */
    size_t n_node_types, n_edge_types;                 /* 0: the graph has none */
    struct graph_torch_entry *node_attributes, *edge_attributes;
    size_t n_node_attributes, n_edge_attributes;
};

/** The pickle alone. Appends to dst. */
grebe_status graph_torch_pickle(const struct graph_torch_state *state, struct buf *dst, grebe_error *err);

/**
 * Begin the file: everything but what is left out for graph_torch_patch().
 *
 * @param file Borrowed until graph_torch_free().
 * @param out  Owned, graph_torch_free().
 */
grebe_status graph_torch_begin(grebe_context *ctx, struct io_writer *file, const struct graph_torch_state *state,
                               struct graph_torch_writer **out, grebe_error *err);
/** Bytes of a tensor that fn makes. */
grebe_status graph_torch_put(struct graph_torch_writer *w, const void *bytes, size_t n, grebe_error *err);
/**
 * Bytes of a tensor that was left out, number `tensor` in the order of the pickle (0: the version number), from `at` on.
 * Safe from many threads between graph_torch_begin() and graph_torch_join().
 *
 * @param crc Written: of these bytes, for graph_torch_join().
 */
grebe_status graph_torch_patch(struct graph_torch_writer *w, size_t tensor, uint64_t at, const void *bytes, size_t n,
                               uint32_t *crc, grebe_error *err);
/** The next n bytes of a tensor that was left out, in their order, have been patched, and have this checksum. */
void graph_torch_join(struct graph_torch_writer *w, size_t tensor, uint32_t crc, uint64_t n);
/** Checksums and the directory. */
grebe_status graph_torch_finish(struct graph_torch_writer *w, grebe_error *err);
void graph_torch_free(struct graph_torch_writer *w); /* NULL accepted */

#endif
