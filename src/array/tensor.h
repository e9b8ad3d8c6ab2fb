/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARRAY_TENSOR_H
#define GREBE_ARRAY_TENSOR_H

/*
 * Arrays of any number of dimensions as they lie in a file: npy, members of npz, tensors of torch (.pt). The values are a view of the
 * mapped file; nothing is read before it is looked at, and nothing that a file holds is run (docs/format/arrays.md).
 */

#include "array/array_file.h"
#include "base/region.h"
#include "wire/pickle.h"

enum { TENSOR_DIMS_MAX = 8 };

/** enum array_type, and what only tensors have. */
enum { TENSOR_C64 = ARRAY_BOOL + 1, TENSOR_C128 };

struct tensor {
    int type;                     /* enum array_type, TENSOR_C64, TENSOR_C128 */
    unsigned rank;                /* 0: a scalar */
    uint64_t shape[TENSOR_DIMS_MAX];
    int64_t strides[TENSOR_DIMS_MAX]; /* in values, not below 0 */
    uint64_t n_values;            /* product of shape; 1 for a scalar */
    const unsigned char *data;    /* first value; little endian unless is_big_endian */
    bool is_big_endian;
    bool is_packed;               /* row-major without gaps */
    struct region *region;        /* one reference; data lies in it */
};
void tensor_release(struct tensor *t); /* idempotent */
/** Whether the file has a value for each that the shape counts; not so where strides of 0 show one in many places (torch's expand()). */
bool tensor_is_stored(const struct tensor *t);
size_t tensor_type_bytes(int type);
const char *tensor_type_name(int type); /* "float32", … */

/** By content: npy 1 to 3, or a .pt that holds one tensor. GREBE_EUNSUPPORTED (what it is instead is named), GREBE_ECORRUPT. */
grebe_status tensor_open(grebe_context *ctx, const char *path, struct tensor *out, grebe_error *err);

/** A torch file: its pickle, and the storages that it refers to. */
struct torch_file;
/** @param allows More names than those of tensors; NULL: none. GREBE_EUNSUPPORTED names a file of the old form, a deflated member, … */
grebe_status torch_open(grebe_context *ctx, const char *path, pickle_allows_fn allows, void *arg, struct torch_file **out,
                        grebe_error *err);
void torch_close(struct torch_file *f); /* NULL accepted; tensors stay valid */
const struct pickle_value *torch_root(const struct torch_file *f);
/** The tensor that a value of the pickle stands for, checked against its storage. */
grebe_status torch_tensor(struct torch_file *f, const struct pickle_value *v, struct tensor *out, grebe_error *err);

/** Values of integers as int64 (of any integer type and byte order), rows [begin, begin + n) of the first dimension, packed. */
grebe_status tensor_read_i64(const struct tensor *t, uint64_t begin, uint64_t n, int64_t *dst, grebe_error *err);
/** Values in row-major order, native byte order, of the tensor's own type: rows [begin, begin + n). */
grebe_status tensor_read(const struct tensor *t, uint64_t begin, uint64_t n, void *dst, grebe_error *err);

/** A npy file whose values begin at a multiple of 4096, as GraphBolt writes it. */
grebe_status tensor_npy_header(struct buf *dst, int type, const uint64_t *shape, unsigned rank, grebe_error *err);

#endif
