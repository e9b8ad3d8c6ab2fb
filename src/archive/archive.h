/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARCHIVE_ARCHIVE_H
#define GREBE_ARCHIVE_ARCHIVE_H

/*
 * Members of zip and tar archives. Names are untrusted: absolute ones, "..", and doubles are named as they are, whoever uses
 * them as paths asks archive_name_is_safe(). Sizes that an archive declares are checked against what is there, and against a limit.
 * Sources: APPNOTE.TXT 6.3 (zip, zip64), POSIX.1-2001 pax, GNU tar.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/region.h"

struct archive_member {
    const char *name;    /* UTF-8 or bytes as stored; borrowed from the archive */
    uint64_t size;       /* content */
    uint64_t at, stored; /* bytes in the archive: where, how many */
    int method;          /* zip: 0 stored, 8 deflate, 93 zstd, …; tar: 0 */
    uint32_t crc;        /* zip */
    bool is_folder, is_other; /* is_other: links, devices, sparse files */
};

struct archive {
    const grebe_allocator *a;
    struct region *region; /* whole archive; one reference */
    bool is_zip;
    struct archive_member *members; /* shape [n], in the order stored */
    size_t n;
};

bool archive_is_zip(const unsigned char *head, size_t len);
bool archive_is_tar(const unsigned char *head, size_t len); /* len >= 512 for an answer */

/** GREBE_ECORRUPT naming offset; GREBE_ELIMIT (2^24 members); GREBE_EUNSUPPORTED (encrypted, several disks). */
grebe_status archive_open(const grebe_allocator *a, struct region *region, struct archive **out, grebe_error *err);
void archive_free(struct archive *z); /* NULL accepted */

/** The content, checked (zip: CRC). @param max_bytes More is GREBE_ELIMIT. A stored member is a view without a copy. */
grebe_status archive_read(const struct archive *z, size_t i, uint64_t max_bytes, struct region **out, grebe_error *err);
bool archive_name_is_safe(const char *name);

#endif
