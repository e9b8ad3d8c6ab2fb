/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_BASE64_H
#define GREBE_BASE_BASE64_H

/* Standard base64 (RFC 4648, section 4) with padding. */

#include <stdbool.h>

#include "base/buf.h"

/** Append the text for len bytes, padded. */
grebe_status base64_encode(struct buf *dst, const void *bytes, size_t len, grebe_error *err);

/**
 * Append the bytes that the text stands for. Padding may be missing; nothing else may.
 *
 * @return GREBE_OK; GREBE_ECORRUPT naming the place of the first character that does not fit.
 */
grebe_status base64_decode(struct buf *dst, const char *text, size_t len, grebe_error *err);

#endif
