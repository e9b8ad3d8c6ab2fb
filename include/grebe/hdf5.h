/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_HDF5_H
#define GREBE_HDF5_H

/* What an HDF5 file holds in its root group (docs/format/hdf5.md). The rows of a data set are a source: FILE#NAME. */

#include "grebe/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A data set. Texts are valid during the call that gives it. */
typedef struct grebe_hdf5_data {
    const char *name;
    const char *type;       /**< "float32", "uint8", "enumeration (bool)", "compound", … */
    uint32_t rank;
    uint64_t rows, columns; /**< columns: product of all dimensions but the first; 1 for rank 0 and 1 */
    bool is_big_endian, is_chunked;
    const char *trouble;    /**< why its values cannot be read; NULL: they can */
} grebe_hdf5_data;

typedef void (*grebe_hdf5_data_fn)(void *data_ctx, const grebe_hdf5_data *data);

/**
 * Tell each data set of the root group, in name order.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT (no HDF5, cut, damaged); GREBE_EUNSUPPORTED (a structure that is not
 *         read, named); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_hdf5_list(grebe_context *ctx, const char *path, grebe_hdf5_data_fn fn,
                                                        void *data_ctx, grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
