/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARRAY_TENSOR_ROWS_H
#define GREBE_ARRAY_TENSOR_ROWS_H

/* Tensors as columns: rows of the first dimension, each a number, or a list of all that the other dimensions hold. */

#include "array/tensor.h"
#include "source/matrix_reader.h"

/** Format of an element in the C interface, of a type of tensors; '\0': none (complex). bfloat16 comes as float32. */
char tensor_arrow_format(int type);

/**
 * The column that a tensor is. A scalar is one row.
 *
 * @param name Of the column; NULL: "value" for numbers, "vector" for lists.
 * @return GREBE_OK; GREBE_EUNSUPPORTED (complex); GREBE_ELIMIT (more in a row than a list holds).
 */
grebe_status tensor_column(const struct tensor *t, const char *name, struct matrix_column *out, grebe_error *err);
uint64_t tensor_rows(const struct tensor *t);
/** Rows [begin, begin + n) as the column has them, packed, little endian. */
grebe_status tensor_read_rows(const struct tensor *t, uint64_t begin, uint64_t n, void *dst, grebe_error *err);

/** A reader of one tensor. @param t Moved in on success. */
grebe_status tensor_reader_new(grebe_context *ctx, const struct file_format *format, struct tensor *t, uint64_t file_size_bytes,
                               struct format_reader **out, grebe_error *err);

extern const struct file_format torch_format; /* .pt of one tensor, known by its content */
extern const struct file_format npz_format;   /* members of .npz: "FILE#NAME", or the only one */

#endif
