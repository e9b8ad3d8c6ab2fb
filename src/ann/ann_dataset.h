/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_DATASET_H
#define GREBE_ANN_ANN_DATASET_H

/*
 * A benchmark data set: base and query vectors, true neighbours and their distances, labels. One model for VSAG's and
 * ann-benchmarks' HDF5 files (docs/format/ann.md) and for what is made from other files. Read whole into memory by
 * ann_dataset_open(), but for base vectors of dense sets above the memory limit, where the caller can use those by rows.
 */

#include "base/buf.h"
#include "base/context_internal.h"
#include "io/io.h"
#include "vector/vector_types.h"

enum ann_layout { ANN_DENSE, ANN_SPARSE /* VSAG's packed records */, ANN_MULTI /* documents of several vectors */,
                  ANN_SETS /* ann-benchmarks' jaccard files */ };

/** Rows that are in memory, or come block by block. */
struct ann_rows {
    uint64_t n;
    uint32_t dim;
    enum vector_elem elem;
    /** Rows [begin, begin + n) packed into dst; fastest in order. NULL: `data` has them all. One thread at a time. */
    grebe_status (*read)(void *arg, uint64_t begin, uint64_t n, void *dst, grebe_error *err);
    void *arg;
    bool is_in_order; /* a jump is dear: what lies between rows that are wanted is better read */
    const void *data;
};

/** Vectors of one side, in memory. Shapes by layout; what does not apply is NULL. Owned by the data set. */
struct ann_vectors {
    uint64_t n;             /* vectors; MULTI: documents */
    uint32_t dim;           /* SPARSE: most terms of a record; SETS: 0 */
    enum vector_elem elem;
    void *dense;            /* DENSE: shape [n][dim]; MULTI: float32 [offsets[n]][dim] */
    struct ann_rows rows;   /* DENSE, train alone, where read is not NULL: vectors that are not in memory */
    int64_t *offsets;       /* SPARSE, SETS, MULTI: shape [n + 1] */
    uint32_t *terms;        /* SPARSE, SETS: ascending in a record */
    float *values;          /* SPARSE */
    int64_t *token_offsets; /* SPARSE, optional: token sequences; shape [n + 1] */
    uint32_t *tokens;
    int64_t *labels;        /* shape [n]; NULL: none */
};

struct ann_dataset {
    grebe_context *ctx;
    enum ann_layout layout;
    enum vector_metric metric;
    char distance[32];      /* the attribute's text */
    bool is_int8_negated_ip; /* distances of int8 ip are -dot, not 1 - dot */
    bool is_maxsim_squared;  /* MULTI euclidean: squares are summed */
    struct ann_vectors train, test;
    uint64_t k;             /* columns of the truth */
    int64_t *neighbors;     /* shape [test.n][k] */
    float *distances;       /* shape [test.n][k]; NULL in a file being made */
    float *valid_ratios;    /* shape [n_valid_ratios] */
    uint64_t n_valid_ratios;
    double distance_tolerance; /* of stored distances against exact ones, relative above 1: by their stored type */
    char path[512];
    struct ann_block *blocks; /* what ann_array() gave */
    void (*close_rows)(void *arg); /* of train.rows, with its arg; NULL: they are borrowed */
};

/** What a reader accepts. */
enum ann_profile { ANN_READ /* the world */, ANN_VSAG /* what eval_performance takes and survives */, ANN_ANNB };

/** A finding: `level` error, warning or notice; place is "dataset[row,column]" or "attribute distance". */
enum ann_level { ANN_NOTICE, ANN_WARNING, ANN_ERROR };
typedef void (*ann_finding_fn)(void *arg, enum ann_level level, const char *place, const char *message);

struct ann_open_options {
    enum ann_profile profile;
    bool is_without_vectors; /* truth and labels only (DENSE and MULTI: with n and dim) */
    bool is_base_by_rows;    /* DENSE: base vectors above half of the memory limit stay in the file (train.rows) */
    bool allow_padding;      /* ids of -1 at the end of a row of neighbors: it has fewer matches */
    ann_finding_fn finding;  /* NULL: notices are dropped */
    void *finding_arg;
    struct io_store *store;  /* where the path is; NULL: this machine. Borrowed for the call */
};

/** @param out ann_dataset_free(); NULL on failure. The message names dataset, row, expected, found. */
grebe_status ann_dataset_open(grebe_context *ctx, const char *path, const struct ann_open_options *options,
                              const struct call *call, struct ann_dataset **out, grebe_error *err);
/** An empty one, to be filled and written. Arrays are the context allocator's: ann_array(). */
grebe_status ann_dataset_new(grebe_context *ctx, struct ann_dataset **out, grebe_error *err);
void ann_dataset_free(struct ann_dataset *d); /* NULL accepted */
/** Zeroed memory that the data set frees with itself. */
grebe_status ann_array(struct ann_dataset *d, uint64_t n, size_t elem_bytes, const char *what, void **out,
                       grebe_error *err);
/** Write as HDF5 in VSAG's layout: equal content, equal bytes. */
grebe_status ann_dataset_write(const struct ann_dataset *d, const char *path, bool is_durable, const struct call *call,
                               grebe_error *err);
/** Check a file by every rule of docs/format/ann.md. GREBE_OK also with findings; *n_errors counts them. */
grebe_status ann_check(grebe_context *ctx, const char *path, enum ann_profile profile, bool allow_padding,
                       const struct call *call, ann_finding_fn finding, void *arg, uint64_t *n_errors,
                       grebe_error *err);

/** Terms of each record ascending, values with them; *n_unsorted and *n_twice count records, `first_*` name one. */
struct ann_order {
    uint64_t n_unsorted, first_unsorted, n_twice, first_twice;
    uint32_t term_twice;
};
grebe_status ann_sort_terms(struct ann_vectors *v, const grebe_allocator *a, struct ann_order *out, grebe_error *err);

/**
 * The distance by which the data set orders row `r` of train for query `q`, float64 on the stored values. Vectors are in
 * memory.
 */
double ann_distance(const struct ann_dataset *d, uint64_t q, uint64_t r);
/** DENSE: the same for a row of base vectors that the caller has. */
double ann_distance_to(const struct ann_dataset *d, uint64_t q, const void *row);

/* ---- rows, wherever they are (DENSE) ---- */

/** Whether there are vectors at all. */
bool ann_has_rows(const struct ann_vectors *v);
/** Whether rows of that many bytes may be in memory; above half of the limit they are better read by blocks. */
bool ann_fits_memory(const struct call *call, uint64_t n, size_t row_bytes);
struct ann_rows ann_rows_of(const struct ann_vectors *v);
/** Rows that a block should have, 1 at least: some MiB, less under a low limit, not above the rows there are. */
size_t ann_block_rows(const struct ann_rows *rows, const struct call *call);
/** Rows [begin, begin + n): where they are in memory, or read into block (shape [n] rows). */
grebe_status ann_rows_get(const struct ann_rows *rows, uint64_t begin, uint64_t n, void *block, const void **out,
                          grebe_error *err);
/**
 * The rows of some ids, in their order.
 * @param ids Shape [n], each below rows->n; -1: its row is left as it is.
 * @param dst Shape [n] rows.
 */
grebe_status ann_rows_gather(grebe_context *ctx, const struct ann_rows *rows, const int64_t *ids, size_t n, void *dst,
                             grebe_error *err);

#endif
