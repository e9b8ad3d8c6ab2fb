/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_ID_H
#define GREBE_GITVDB_VDB_ID_H

/*
 * Ids of points: a string or an unsigned number. Canonical bytes are "s\0" + UTF-8, or "u\0" + 8 bytes big-endian;
 * ids are ordered by them, and SHA-256 of them says in which of the 64 shards a point lies.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gitvdb/vdb_json.h"

enum { VDB_SHARDS = 64, VDB_DIGEST_BYTES = 32 };

/** Borrowed text; plain value. */
struct vdb_id {
    bool is_number;
    uint64_t number;
    const char *text; /* UTF-8, not NUL-terminated */
    size_t len;
};

/** <0, 0, >0 in canonical order: all strings by bytes, then all numbers. */
int vdb_id_compare(const struct vdb_id *a, const struct vdb_id *b);
/** SHA-256 of the canonical bytes. Cost: ~0.15 us. */
void vdb_id_digest(const struct vdb_id *id, unsigned char digest[VDB_DIGEST_BYTES]);
static inline uint32_t vdb_shard_of(const unsigned char *digest)
{
    return digest[0] >> 2;
}

/** A JSON string or an integer from 0 to 2^64-1. GREBE_OK; GREBE_EINVAL. The text is borrowed from v. */
grebe_status vdb_id_from_json(const struct vdb_value *v, struct vdb_id *out, grebe_error *err);
/** As typed on a command line: what parses as a JSON string or as such an integer is that, anything else is itself. */
grebe_status vdb_id_from_word(struct arena *ar, const char *word, size_t len, struct vdb_id *out, grebe_error *err);
/** A node for output. */
struct vdb_value vdb_id_to_json(const struct vdb_id *id);

/** SHA-256 of any bytes (libcrypto). */
void vdb_sha256(const void *bytes, size_t len, unsigned char digest[VDB_DIGEST_BYTES]);

#endif
