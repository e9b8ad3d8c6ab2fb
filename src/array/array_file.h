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

/** @param kind UNKNOWN: find out. GREBE_ECORRUPT names the expected and the found size. */
grebe_status array_open(grebe_context *ctx, const char *path, enum array_kind kind, struct array_file **out,
                        grebe_error *err);
void array_close(struct array_file *f); /* NULL accepted */
const struct array_info *array_info(const struct array_file *f);
/** Rows [begin, begin + n), packed, little endian, of the file's type. fvecs: without the lengths. */
grebe_status array_read(struct array_file *f, uint64_t begin, uint64_t n, void *dst, grebe_error *err);
/** knn: ids and distances of rows (either may be NULL). */
grebe_status array_read_knn(struct array_file *f, uint64_t begin, uint64_t n, int32_t *ids, float *distances,
                            grebe_error *err);
/** csr: offsets (shape [n + 1], from 0 of the rows asked), then their terms and values. Offsets alone with NULLs. */
grebe_status array_read_csr(struct array_file *f, uint64_t begin, uint64_t n, int64_t *offsets, uint32_t *terms,
                            float *values, grebe_error *err);
/** multi: counts of documents [begin, begin + n). The vectors are read by array_read (rows of `columns`). */
grebe_status array_read_counts(struct array_file *f, uint64_t begin, uint64_t n, uint32_t *counts, grebe_error *err);

struct array_writer;
/** Kind by the arguments; rows need not be known for fvecs, ivecs, bvecs. */
grebe_status array_writer_open(grebe_context *ctx, const char *path, enum array_kind kind, enum array_type type,
                               uint64_t rows, uint64_t columns, struct array_writer **out, grebe_error *err);
grebe_status array_write(struct array_writer *w, const void *rows, uint64_t n, grebe_error *err);
grebe_status array_writer_finish(struct array_writer *w, bool is_durable, grebe_error *err);
void array_writer_close(struct array_writer *w); /* without finish: nothing stays */

#endif
