/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_PACK_RAW_H
#define GREBE_GIT_GIT_PACK_RAW_H

/* Entries of a pack that are made outside of it: for threads that compress at the same time. */

#include "git/git_repo.h"

/** Neither the pack nor the repository has it; what the repository has is made young. Not while the pack grows. */
bool repo_pack_lacks(const struct repo_pack *p, const struct repo_oid *oid);
/** Head of an entry: type and length of what is compressed behind it. */
grebe_status repo_pack_put_head(struct buf *b, unsigned type, uint64_t len, grebe_error *err);
/** Append an entry as it will stand in the file. The object must not be in. */
grebe_status repo_pack_put_entry(struct repo_pack *p, const struct repo_oid *oid, const void *entry, size_t len,
                                uint32_t crc, grebe_error *err);

#endif
