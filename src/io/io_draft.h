/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_IO_IO_DRAFT_H
#define GREBE_IO_IO_DRAFT_H

/*
 * A folder of the machine's file system that is being made beside its place, PATH.tmp-<16 hex digits>, and gets its name when it is
 * whole. Whoever makes it holds flock(2) on it, which the kernel gives back however its holder ends: so what a killed process left is
 * known, and swept by the next one that makes a folder for the same place. Where folders cannot be locked nothing is swept.
 */

#include "io/io.h"

struct io_draft {
    struct io_store *store; /* borrowed */
    char *folder;           /* NULL: there is none */
    int fd;                 /* holds the lock; -1: none */
};
#define IO_DRAFT_INIT { NULL, NULL, -1 }

/**
 * Sweep what is left beside path, and make an empty folder there. Folders above it are made where they are missing.
 *
 * @param path Without '/' at its end. Borrowed for the call.
 * @param out  io_draft_end(), after a failure too.
 */
grebe_status io_draft_begin(struct io_store *store, const char *path, struct io_draft *out, grebe_error *err);
/** Give the folder the name `path`, and remove what had it. What cannot be removed is logged. */
grebe_status io_draft_publish(struct io_draft *d, const char *path, bool is_durable, grebe_error *err);
/** The same, but only an empty folder is removed: GREBE_EEXISTS where something else has come to `path` meanwhile. */
grebe_status io_draft_publish_new(struct io_draft *d, const char *path, bool is_durable, grebe_error *err);
/** A folder that was not published is removed. Idempotent. */
void io_draft_end(struct io_draft *d);

#endif
