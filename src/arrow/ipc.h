/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_IPC_H
#define GREBE_ARROW_IPC_H

/*
 * Arrow IPC: schema messages (also the ARROW:schema key of Parquet) and streams.
 * Source: "Arrow Columnar Format", Serialization and Interprocess Communication;
 * format/Schema.fbs, format/Message.fbs.
 */

#include "arrow/arrow_stream.h"

/**
 * Append the encapsulated Schema message: FF FF FF FF, i32 metadata length (a multiple of 8),
 * flatbuffer Message of version V5 with bodyLength 0.
 *
 * @param schema Struct type; its children are the fields. dst->len must be a multiple of 8 for
 *               the message to be aligned (not required).
 * @return GREBE_OK; GREBE_ESCHEMA (no struct, unknown format); GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status ipc_schema_encode(struct buf *dst, const struct ArrowSchema *schema,
                               grebe_error *err);

/**
 * The reverse, for bytes of anybody; messages from before Arrow 0.15 (without FF FF FF FF) too.
 * Bytes behind the message are ignored.
 *
 * @param out Owned struct type. Empty on failure.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (big-endian data, unknown type);
 *         GREBE_ELIMIT (nesting).
 */
grebe_status ipc_schema_decode(const grebe_allocator *a, const void *bytes, size_t len,
                               struct ArrowSchema *out, grebe_error *err);

#endif
