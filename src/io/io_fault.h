/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_IO_IO_FAULT_H
#define GREBE_IO_IO_FAULT_H

/*
 * A store around another one that counts, shortens, delays and fails calls: for tests of what
 * happens when the disk misbehaves, and for counting the requests that a read makes.
 */

#include <stdatomic.h>

#include "io/io.h"

struct io_fault_plan {
    uint64_t fail_at;         /* the n-th call (from 1) fails; 0: none */
    bool fail_all_after;      /* and every later one too */
    grebe_status fail_status; /* GREBE_OK means GREBE_EIO */
    size_t read_bytes_max;    /* a read gives at most so many bytes; 0: no limit */
    uint32_t delay_us;        /* before each call */
    uint64_t kill_at;         /* _exit(137) in place of the n-th call; 0: never */
    bool no_map;              /* files cannot be mapped: every byte goes through a read */
};

struct io_fault_counts {
    atomic_uint_fast64_t calls, reads, read_bytes, writes, write_bytes, opens, stats, lists,
        publishes, removes;
};

struct io_fault_store {
    struct io_store store; /* first: this is an io_store */
    struct io_store *inner;
    struct io_fault_plan plan;
    struct io_fault_counts counts;
};

/** @param inner Moved in on success. @param out Owned; io_store_free(&(*out)->store). */
grebe_status io_fault_new(grebe_context *ctx, struct io_store *inner, struct io_fault_store **out,
                          grebe_error *err);

#endif
