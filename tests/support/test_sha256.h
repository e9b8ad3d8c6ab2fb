/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_SHA256_H
#define GREBE_TEST_SHA256_H

/* SHA-256 (FIPS 180-4), for long results that goldens have as digests. */

#include <stddef.h>

/** @param hex Written: 64 digits and NUL. */
void test_sha256(const void *bytes, size_t len, char hex[65]);

#endif
