/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_H
#define GREBE_INDEX_INDEX_H

/*
 * What an index is: a table of functions over rows of vectors. It knows no table and no file format but its own
 * (index_file.h). Rows have positions 0, 1, … in the order they were added; callers' ids (int64, unique, default: the
 * position) are translated at the door (index_ids.h), so an index speaks of positions (uint32) alone.
 *
 * At most INDEX_ROWS_MAX rows (GREBE_ELIMIT). Searches may run from many threads at once; adding, removing and saving
 * need the index alone.
 */

#include "base/context_internal.h"
#include "index/index_file.h"
#include "vector/vector_types.h"

enum { INDEX_ROWS_MAX = 0x7fffffff };

/** What is given when an index is made. Numbers of kinds are written to files. */
enum index_kind { INDEX_FLAT = 0, INDEX_HNSW = 1, INDEX_GRAPH = 2, INDEX_IVF = 3, INDEX_SPARSE = 4 };
#define INDEX_N_KINDS 5

/** Codes of the first pass. */
enum index_quant { INDEX_QUANT_NONE = 0, INDEX_QUANT_SQ8, INDEX_QUANT_SQ4, INDEX_QUANT_PQ4, INDEX_QUANT_RABITQ };

struct index_config {
    enum index_kind kind;
    enum vector_metric metric;
    enum vector_elem elem; /* as rows are stored for ranking; sparse: F32 */
    uint32_t dim;          /* 0: of the first rows; sparse: 0 */
    const char *const *params; /* "name=value", of the kind's table; borrowed for the call */
    size_t n_params;
    uint32_t threads; /* of building; 0: the context's */
};

/** Dense or sparse rows; of sparse ones `dense.n` is 0 and `is_sparse` set. */
struct index_rows {
    bool is_sparse;
    struct vector_rows dense;
    struct vector_sparse sparse;
};

/** Which positions a search may give: bit i of words[i / 64]; NULL words: all. `n_bits` covers every row. */
struct index_filter {
    const uint64_t *words;
    uint64_t n_bits, n_set;
};

/** How to search. Parameters are "name=value" of the kind's table. */
struct index_search {
    size_t k;
    const char *const *params;
    size_t n_params;
    struct index_filter filter;
    struct call call; /* threads share the queries; cancel */
};

/** What range search gives: of query i, [offsets[i], offsets[i + 1]), nearest first. Owned: index_ranges_release(). */
struct index_ranges {
    const grebe_allocator *a;
    int64_t *offsets; /* shape [n + 1] */
    uint32_t *positions;
    float *distances;
    size_t n, total, capacity;
};
void index_ranges_release(struct index_ranges *r); /* idempotent */

struct index_info {
    uint64_t rows, removed;   /* rows: those that can be found */
    uint64_t bytes_vectors;   /* as stored for ranking */
    uint64_t bytes_codes, bytes_links, bytes_other;
    uint32_t dim;
};

struct index;
struct index_bits; /* index_bits.h */

struct index_ops {
    const char *name;
    enum index_kind kind;
    /** Make an empty one. `config` is checked already but for params. @param out ops->free() */
    grebe_status (*create)(grebe_context *ctx, const struct index_config *config, struct index **out, grebe_error *err);
    void (*free)(struct index *ix);
    /** Append rows; on failure none of them can be found. The first call trains what has to be trained. Components
     *  are finite: the door checks. */
    grebe_status (*add)(struct index *ix, const struct index_rows *rows, const struct call *call, grebe_error *err);
    /** Make a row unfindable; it was findable. */
    grebe_status (*remove)(struct index *ix, uint32_t position, grebe_error *err);
    /**
     * The k nearest of each query, equal distances by lower position.
     *
     * @param positions, distances Shape [n][k]; padded with UINT32_MAX and +inf. Distances are those of callers.
     */
    grebe_status (*search)(struct index *ix, const struct index_rows *queries, const struct index_search *s,
                           uint32_t *positions, float *distances, grebe_error *err);
    /** All rows with distance <= radius (as callers see distances); NULL: the kind has no such search. */
    grebe_status (*range)(struct index *ix, const struct index_rows *queries, float radius,
                          const struct index_search *s, struct index_ranges *out, grebe_error *err);
    /** Put sections and header fields into a file that the door has begun. */
    grebe_status (*save)(struct index *ix, struct index_writer *w, grebe_error *err);
    /** Open over a mapped file that has been verified as far as index_file.h says. The file stays open with the index. */
    grebe_status (*load)(grebe_context *ctx, const struct index_config *config, struct index_file *file,
                         struct index **out, grebe_error *err);
    void (*info)(const struct index *ix, struct index_info *out);
    /** Which rows were removed. */
    const struct index_bits *(*removed)(const struct index *ix);
};

/** Head of every index. */
struct index {
    const struct index_ops *ops;
    grebe_context *ctx;
    struct index_config config; /* params: NULL after create */
};

/** The table of a kind; NULL: not built in. */
const struct index_ops *index_ops_of(enum index_kind kind);
extern const struct index_ops index_flat_ops, index_hnsw_ops, index_graph_ops, index_ivf_ops, index_sparse_ops;

#endif
