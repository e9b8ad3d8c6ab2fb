/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARRAY_ARRAY_INTERNAL_H
#define GREBE_ARRAY_ARRAY_INTERNAL_H

#include "array/array_file.h"

enum { ARRAY_COLUMNS_MAX = 1 << 20 /* more is no vector but a file of another kind */ };

struct array_file {
    grebe_context *ctx;
    struct io_store *store; /* owned; NULL: the caller's */
    struct io_shared_file *shared;
    struct io_file *bytes; /* of `shared` */
    struct array_info info;
    uint64_t offset;   /* of row 0 (csr: of the offsets; multi, range: of the counts) */
    size_t row_head;   /* bytes before each row: the length in fvecs and their kin */
    bool is_big_endian;
    bool is_by_column; /* npy in Fortran order */
    uint64_t n_terms;  /* csr: columns */
};

/** Header of a npy file into f. */
grebe_status array_npy_open(struct array_file *f, grebe_error *err);

/** Whether a file of this size, beginning with these bytes, can be of the kind; fills info and places. */
bool array_fits(struct array_file *f, const unsigned char *head, size_t n_head, enum array_kind kind,
                enum array_type type);

/** Header of a npy file, padded to 64. @param columns 0: one dimension. */
grebe_status array_npy_header(struct buf *dst, enum array_type type, uint64_t rows, uint64_t columns, grebe_error *err);

#endif
