/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_PACKFILE_H
#define GREBE_GIT_GIT_PACKFILE_H

/*
 * One pack and its index, mapped (gitformat-pack; index versions 1 and 2). libgit2 reads packs too; this reader
 * inflates straight into the memory that is handed out, copies stored streams, and needs none of libgit2's start (5 ms:
 * certificates for TLS).
 */

#include "git/git_repo.h"
#include "io/io.h"

struct repo_packfile {
    atomic_uint refs;
    const grebe_allocator *a;
    char *stem; /* path without ".idx" or ".pack" */
    struct io_shared_file *index;
    uint32_t n;                   /* objects */
    const unsigned char *fan_out; /* 256 numbers, big-endian */
    const unsigned char *names;   /* n ids, stride bytes apart */
    size_t stride;
    const unsigned char *offsets; /* version 2: n of 4 bytes; version 1: NULL, they stand before the ids */
    const unsigned char *large;   /* version 2: n_large of 8 bytes */
    size_t n_large;
    pthread_mutex_t mutex;       /* of `pack` */
    struct io_shared_file *pack; /* NULL: not opened yet */
    atomic_uint touched_in;      /* the writing in which repo_store_touch() made it young; 0: none */
};

/** Map and check the index. @param stem Copied. @param out One reference. GREBE_OK; GREBE_ECORRUPT; GREBE_EIO;
 * GREBE_ENOMEM. */
grebe_status repo_packfile_open(struct io_store *files, const char *stem, size_t len, struct repo_packfile **out,
                               grebe_error *err);
void repo_packfile_drop(struct repo_packfile *p); /* NULL accepted */

/** Number of an object in the index; false: the pack does not have it. */
bool repo_packfile_find(const struct repo_packfile *p, const struct repo_oid *oid, uint32_t *at);

/**
 * An object, deltas applied; its hash is not checked here.
 *
 * @param out Owned region; NULL when only type and size are wanted.
 * @return GREBE_OK; GREBE_ENOTFOUND (the pack is gone since); GREBE_ECORRUPT; GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status repo_packfile_read(struct repo_packfile *p, struct io_store *files, uint32_t at, enum repo_object *type,
                               uint64_t *size, struct region **out, grebe_error *err);

#endif
