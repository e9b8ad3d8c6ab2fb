/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_HDF5_HDF5_INTERNAL_H
#define GREBE_HDF5_HDF5_INTERNAL_H

#include "hdf5/hdf5_api.h"
#include "hdf5/hdf5_file.h"
#include "io/io.h"

enum { HDF5_DATA_MAX = 4096 /* data sets of a root group that are listed */ };

struct hdf5_file {
    grebe_context *ctx;
    struct io_store *store;
    struct io_file *bytes; /* contiguous data sets are read from here, by any thread, without the library */
    struct hdf5_api api;
    hid_t id;
    struct buf data; /* struct hdf5_data, in name order */
};

/** Signature, version, sizes and end of the file, before the library sees it. */
grebe_status hdf5_superblock_check(struct io_file *f, grebe_error *err);

/** Class, size, order and name of a stored type; between enter and leave. Never fails: what is unknown is HDF5_OTHER. */
void hdf5_describe_type(struct hdf5_api *api, hid_t type, struct hdf5_data *out);

/** n stored elements in place to little endian. */
void hdf5_swap(void *p, size_t n, unsigned size);
/** n little-endian elements of the stored type as the memory type; GREBE_ELIMIT: a value does not fit, *bad is its place. */
grebe_status hdf5_convert(const struct hdf5_data *d, const void *src, size_t n, enum hdf5_memory memory, void *dst,
                          size_t *bad, grebe_error *err);

#endif
