/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARCHIVE_ARCHIVE_INTERNAL_H
#define GREBE_ARCHIVE_ARCHIVE_INTERNAL_H

#include "archive/archive.h"
#include "base/arena.h"

enum { ARCHIVE_MEMBERS_MAX = 1 << 24 };

/** struct archive and what it owns. */
struct archive_owner {
    struct archive base;
    struct arena arena; /* of names */
    size_t members_bytes;
};

/** Members being found. */
struct archive_list {
    struct archive_owner *z;
    struct buf members; /* struct archive_member */
};

/** A member, its name copied. GREBE_ELIMIT. */
grebe_status archive_add(struct archive_list *list, const struct archive_member *m, const char *name, size_t len,
                         grebe_error *err);
/** Bytes of the archive as a region that keeps it. */
grebe_status archive_view(const struct archive *z, uint64_t at, uint64_t len, struct region **out, grebe_error *err);

grebe_status zip_list(struct archive_list *list, grebe_error *err);
grebe_status zip_read(const struct archive *z, const struct archive_member *m, struct region **out, grebe_error *err);
grebe_status tar_list(struct archive_list *list, grebe_error *err);

#endif
