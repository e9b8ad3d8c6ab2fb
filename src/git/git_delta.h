/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_DELTA_H
#define GREBE_GIT_GIT_DELTA_H

/*
 * Git's delta instructions (gitformat-pack, "Deltified representation"): an object as pieces of another one and new bytes.
 *
 *   base length, result length    7 bits a byte, lowest first, the top bit says that more follow
 *   1sss oooo [offset] [size]     copy: which of 4 offset and 3 size bytes follow (little-endian); size 0 means 65536
 *   0nnn nnnn bytes               insert 1 to 127 bytes; 0 is reserved
 */

#include "base/buf.h"

/** Builds one delta; pieces that follow each other are joined. */
struct repo_delta {
    struct buf bytes;
    uint64_t base_len, result_len; /* as announced */
    uint64_t n_made;               /* bytes of the result so far */
    uint64_t copy_offset, copy_len; /* not written yet */
    size_t insert_at;               /* place of the length byte of an open insert; 0: none */
};

void repo_delta_init(struct repo_delta *d, const grebe_allocator *a);
/** Start one; what was there before is forgotten. Lengths below 2^32. GREBE_OK; GREBE_ELIMIT; GREBE_ENOMEM. */
grebe_status repo_delta_begin(struct repo_delta *d, uint64_t base_len, uint64_t result_len, grebe_error *err);
/** [offset, offset + len) of the base, which must lie inside. */
grebe_status repo_delta_copy(struct repo_delta *d, uint64_t offset, uint64_t len, grebe_error *err);
grebe_status repo_delta_insert(struct repo_delta *d, const void *bytes, size_t len, grebe_error *err);
/** The instructions, borrowed until the next begin. Exactly result_len bytes must have been made (else GREBE_EINVAL). */
grebe_status repo_delta_end(struct repo_delta *d, const unsigned char **bytes, size_t *len, grebe_error *err);
void repo_delta_release(struct repo_delta *d);

/**
 * The object that a delta makes of its base. Every length and offset of the delta is checked.
 *
 * @param out Written, shape [out_len], out_len as repo_delta_lengths() gives it.
 * @return GREBE_OK; GREBE_ECORRUPT.
 */
grebe_status repo_delta_apply(const unsigned char *delta, size_t len, const unsigned char *base, size_t base_len,
                             unsigned char *out, size_t out_len, grebe_error *err);
/** What a delta announces. *at is where its instructions begin. GREBE_OK; GREBE_ECORRUPT. */
grebe_status repo_delta_lengths(const unsigned char *delta, size_t len, uint64_t *base_len, uint64_t *result_len,
                               size_t *at, grebe_error *err);

#endif
