/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_SUPPORT_H
#define GREBE_TEST_SUPPORT_H

/* What every test program includes: cmocka in its required order, and a few helpers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/context_internal.h"
#include "base/error.h"
#include "io/io.h"

/** Fail the test with the error's message unless the call gave GREBE_OK. */
#define assert_ok(call_with_err)                                                          \
    do {                                                                                  \
        grebe_status st_ = (call_with_err);                                               \
        if (st_ != GREBE_OK) {                                                            \
            fail_msg("%s: %s: %s", #call_with_err, grebe_status_name(st_), err.message);  \
        }                                                                                 \
    } while (0)

/** The call fails with this status and a message that holds the fragment. */
#define assert_fails(call_with_err, expected, fragment)                                       \
    do {                                                                                      \
        grebe_status st_ = (call_with_err);                                                   \
        if (st_ != (expected)) {                                                              \
            fail_msg("%s: expected %s, found %s (%s)", #call_with_err,                        \
                     grebe_status_name(expected), grebe_status_name(st_), err.message);       \
        }                                                                                     \
        if (strstr(err.message, (fragment)) == NULL) {                                        \
            fail_msg("message \"%s\" does not hold \"%s\"", err.message, (fragment));         \
        }                                                                                     \
    } while (0)

/**
 * An allocator that counts what is alive and can fail the n-th call (from 1; 0: never) and
 * every later one. Not for several threads.
 */
struct test_allocator {
    grebe_allocator a;
    size_t n_calls, fail_at;
    size_t live_bytes, n_live, peak_bytes;
    size_t largest_bytes; /* of one call */
};
void test_allocator_init(struct test_allocator *t);

/** A fresh folder under TMPDIR, removed by test_folder_remove. Path is in the returned string. */
char *test_folder_new(void);
void test_folder_remove(char *path);

/** Whole file; fails the test when it cannot be read. Free with free(). */
unsigned char *test_read_file(const char *path, size_t *len);
void test_write_file(const char *path, const void *bytes, size_t len);

/** A seed that the environment may fix (GREBE_TEST_SEED); printed, so that a run can be repeated. */
uint64_t test_seed(void);
/** Next number of a splitmix64 sequence. */
uint64_t test_random(uint64_t *state);

#endif
