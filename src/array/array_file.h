/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARRAY_ARRAY_FILE_H
#define GREBE_ARRAY_ARRAY_FILE_H

/*
 * Files that are one array: npy; fvecs, ivecs, bvecs; fbin, ibin, u8bin, i8bin and their kin; knn results; csr.
 * Read by blocks of rows; the kind is found by content where it can be, else by the name; a file that fits another
 * kind better is named in the message (docs/format/arrays.md).
 */

#include "base/context_internal.h"
#include "io/io.h"
#include "vector/vector_types.h"

enum array_kind {
    ARRAY_UNKNOWN = 0, ARRAY_NPY, ARRAY_FVECS, ARRAY_IVECS, ARRAY_BVECS,
    ARRAY_BIN,    /* u32 (or u64) rows and columns, then values; the type from the name */
    ARRAY_KNN,    /* u32 queries, k; all ids i32; all distances f32 */
    ARRAY_CSR,    /* sparse rows */
    ARRAY_MULTI,  /* big-ann caselaw: documents of several vectors */
    ARRAY_RANGE   /* .rangeres */
};

/** Types beyond those of vectors, of ids and labels. */
enum array_type { ARRAY_F32, ARRAY_F16, ARRAY_BF16, ARRAY_F64, ARRAY_I8, ARRAY_U8, ARRAY_I16, ARRAY_U16, ARRAY_I32,
                  ARRAY_U32, ARRAY_I64, ARRAY_U64, ARRAY_BOOL };
size_t array_type_bytes(enum array_type t);
const char *array_type_name(enum array_type t);

struct array_file;

struct array_info {
    enum array_kind kind;
    enum array_type type;
    uint64_t rows, columns; /* one dimension: columns 1 and rank 1 */
    unsigned rank;
    uint64_t n_values;      /* csr: values; multi: sub-vectors; range: results */
};

/** "npy", "fvecs", …; BIN by type: "fbin", "u8bin", … */
const char *array_kind_name(enum array_kind kind, enum array_type type);
/** Whether the bytes at the beginning are those of a npy file. */
bool array_is_npy(const unsigned char *head, size_t n);
/** What the ending of a name stands for; false: none. *type is set for BIN where the name tells. */
bool array_kind_of_name(const char *path, enum array_kind *kind, enum array_type *type);

/** @param kind UNKNOWN: find out. GREBE_ECORRUPT names the expected and the found size, and the kind that would fit. */
grebe_status array_open(grebe_context *ctx, const char *path, enum array_kind kind, struct array_file **out,
                        grebe_error *err);
/** The same in another store, which is borrowed until array_close(). */
grebe_status array_open_in(struct io_store *store, const char *path, enum array_kind kind, struct array_file **out,
                           grebe_error *err);
void array_close(struct array_file *f); /* NULL accepted */
const struct array_info *array_info(const struct array_file *f);
/** Rows [begin, begin + n), packed, little endian, of the file's type. fvecs: without the lengths. */
grebe_status array_read(struct array_file *f, uint64_t begin, uint64_t n, void *dst, grebe_error *err);
/** knn: ids and distances of rows; range: of results [begin, begin + n) in the order of the file. Either may be NULL. */
grebe_status array_read_knn(struct array_file *f, uint64_t begin, uint64_t n, int32_t *ids, float *distances,
                            grebe_error *err);
/** csr: offsets (shape [n + 1], from 0 of the rows asked), then their terms and values. Offsets alone with NULLs. */
grebe_status array_read_csr(struct array_file *f, uint64_t begin, uint64_t n, int64_t *offsets, uint32_t *terms,
                            float *values, grebe_error *err);
/** multi: counts of documents [begin, begin + n); the vectors are read by array_read (rows of `columns`, below n_values).
 *  range: results of queries. */
grebe_status array_read_counts(struct array_file *f, uint64_t begin, uint64_t n, uint32_t *counts, grebe_error *err);

/** The file's own map, or NULL: where row 0 begins at *row_0 and rows are packed, little endian. Borrowed. */
const struct region *array_map(const struct array_file *f, const unsigned char **row_0);

struct array_writer;
/**
 * NPY, FVECS, IVECS, BVECS, BIN. Rows need not be known (UINT64_MAX) for fvecs, ivecs, bvecs. columns 0: npy of one
 * dimension. KNN takes 2 * rows: all ids (i32), then all distances (f32).
 */
grebe_status array_writer_open(grebe_context *ctx, const char *path, enum array_kind kind, enum array_type type,
                               uint64_t rows, uint64_t columns, struct array_writer **out, grebe_error *err);
grebe_status array_write(struct array_writer *w, const void *rows, uint64_t n, grebe_error *err);
grebe_status array_writer_finish(struct array_writer *w, bool is_durable, grebe_error *err);
void array_writer_close(struct array_writer *w); /* without finish: nothing stays. NULL accepted */

/** A whole csr file. @param offsets Shape [n + 1], from 0. @param n_terms Columns; every term is below it. */
grebe_status array_write_csr(grebe_context *ctx, const char *path, uint64_t n, uint64_t n_terms, const int64_t *offsets,
                             const uint32_t *terms, const float *values, bool is_durable, grebe_error *err);
/** A whole file of documents. @param offsets Shape [n + 1]. @param vectors Shape [offsets[n]][dim]. */
grebe_status array_write_multi(grebe_context *ctx, const char *path, uint64_t n, uint32_t dim, const int64_t *offsets,
                               const float *vectors, bool is_durable, grebe_error *err);

#endif
