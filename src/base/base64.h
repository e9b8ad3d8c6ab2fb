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

/** How many bytes the text stands for, its characters unseen; SIZE_MAX: it is none of whole bytes. */
size_t base64_decoded_len(const char *text, size_t len);
/** Decode text that has a base64_decoded_len into that many bytes; len, or the place of a character that does not fit. */
size_t base64_decode_to(void *dst, const char *text, size_t len);

#endif
