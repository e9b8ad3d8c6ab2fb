/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_HDF5_HDF5_WRITE_INTERNAL_H
#define GREBE_HDF5_HDF5_WRITE_INTERNAL_H

#include "hdf5/hdf5_file.h"
#include "io/io.h"

enum {
    HDF5_SUPERBLOCK_BYTES = 96,
    HDF5_MEMBERS_MAX = 256 /* 32 symbol table nodes, which one tree node has room for, of 8 */
};

/** A data set that was written. */
struct hdf5_member {
    char name[64];
    enum hdf5_class cls;
    unsigned size, rank;
    uint64_t shape[2];
    uint64_t at, bytes; /* of its values; at UINT64_MAX: none */
};

struct hdf5_attribute {
    char name[64];
    bool is_text, is_real, is_array;
    size_t text_at, text_len; /* in the writer's texts */
    uint64_t value; /* bits of an int64, or of a float64 */
};

struct hdf5_writer {
    grebe_context *ctx;
    struct io_store *store;
    struct io_writer *to;
    struct buf members;    /* struct hdf5_member */
    struct buf attributes; /* struct hdf5_attribute, in the order of the calls */
    struct buf texts;
    bool is_open; /* a data set was begun */
    bool is_finished;
    uint64_t n_done; /* rows of it */
};

/**
 * Everything but values, as bytes that will stand at `base` (a multiple of 8), and the superblock.
 * @param superblock Shape [HDF5_SUPERBLOCK_BYTES].
 */
grebe_status hdf5_write_meta(const struct hdf5_writer *w, uint64_t base, struct buf *dst, unsigned char *superblock,
                             grebe_error *err);

#endif
