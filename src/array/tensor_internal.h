/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARRAY_TENSOR_INTERNAL_H
#define GREBE_ARRAY_TENSOR_INTERNAL_H

#include "array/tensor.h"

enum { NPY_DIMS_MAX = TENSOR_DIMS_MAX };

/** What the header of a npy file says. */
struct npy_header {
    char descr[32];
    bool is_fortran, is_big_endian;
    int type; /* as of a tensor */
    uint64_t shape[NPY_DIMS_MAX];
    unsigned rank;
    unsigned seen;    /* bits: descr, fortran_order, shape */
    uint64_t data_at; /* offset of the values */
};
/** bytes: the beginning of the file, all of its header at least; len of them. */
grebe_status npy_header_read(const char *path, const unsigned char *bytes, uint64_t len, struct npy_header *h, grebe_error *err);

/** n_values of shape and rank, is_packed of strides. GREBE_ECORRUPT: the product overflows. */
grebe_status tensor_settle(struct tensor *t, const char *path, grebe_error *err);
/** Whether strides are those of row-major order. */
bool tensor_is_packed(const struct tensor *t);
/** Row-major (or column-major) strides. */
void tensor_strides(struct tensor *t, bool is_fortran);
/** GREBE_ECORRUPT when values lie outside of `room` bytes from t->data on. */
grebe_status tensor_check_room(const struct tensor *t, uint64_t room, const char *path, grebe_error *err);

/** A whole file, mapped. @param out Owned. */
grebe_status tensor_map_file(grebe_context *ctx, const char *path, struct region **out, grebe_error *err);
/** The array of a npy file whose bytes are `r`. @param path For messages. @param out tensor_release() on success. */
grebe_status tensor_of_npy(const char *path, struct region *r, struct tensor *out, grebe_error *err);

#endif
