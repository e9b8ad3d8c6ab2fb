/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_HDF5_HDF5_LZF_H
#define GREBE_HDF5_HDF5_LZF_H

#include <stddef.h>

/** @return Bytes written to dst, shape [room]; 0: damaged, or more than `room`. */
size_t hdf5_lzf_decode(const unsigned char *src, size_t n, unsigned char *dst, size_t room);

#endif
