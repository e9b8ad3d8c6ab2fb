/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_HDF5_HDF5_FORMAT_H
#define GREBE_HDF5_HDF5_FORMAT_H

/* A data set of an HDF5 file as a source of rows: FILE#NAME. Rank 2: a column "vector" of lists; rank 1: "value". */

#include "source/source.h"

extern const struct file_format hdf5_format;

#endif
