/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_WEBDATASET_DECODE_H
#define GREBE_BUILDER_BUILDER_WEBDATASET_DECODE_H

/* Payloads of members as JSON text: arrays of NumPy, MessagePack (msgpack.org spec), CBOR (RFC 8949). */

#include "base/buf.h"

/**
 * A .npy array (NEP 1) as nested lists, appended.
 *
 * @param dtype  Written: "float32", … of the elements. Static.
 * @param n_dims Written.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (pickles, big-endian numbers, records); GREBE_ELIMIT (dimensions).
 */
grebe_status webdataset_npy(const unsigned char *p, size_t len, struct buf *json, const char **dtype, int *n_dims,
                            grebe_error *err);
/** GREBE_EUNSUPPORTED for values that JSON has none for: binary, extensions, keys that are no strings. */
grebe_status webdataset_msgpack(const unsigned char *p, size_t len, struct buf *json, grebe_error *err);
grebe_status webdataset_cbor(const unsigned char *p, size_t len, struct buf *json, grebe_error *err);

#endif
