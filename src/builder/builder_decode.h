/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_DECODE_H
#define GREBE_BUILDER_BUILDER_DECODE_H

/* Text of other encodings, and text with bad bytes, as UTF-8. */

#include <stdbool.h>

#include "base/buf.h"
#include "base/region.h"

/** Whether bytes have to be decoded before they are read: another encoding than UTF-8, or errors that are not failures. */
bool builder_decode_is_needed(const char *encoding, const char *errors);
/** GREBE_EINVAL for an encoding or a way with errors that is not known. NULL: defaults. */
grebe_status builder_decode_check(const char *encoding, const char *errors, grebe_error *err);
/**
 * @param encoding As Python names it: utf-8, utf-8-sig, ascii, latin-1, cp1252, utf-16, utf-16-le, utf-16-be, utf-32 …;
 * NULL: UTF-8.
 * @param errors   strict, ignore, replace, backslashreplace, surrogateescape (as replace); NULL: strict.
 * @return also GREBE_ECORRUPT naming the byte that fits not.
 */
grebe_status builder_decode(const grebe_allocator *a, const char *encoding, const char *errors, struct region *bytes,
                            struct region **out, grebe_error *err);
/** The buffer's memory becomes the region's, with readable bytes behind it. */
grebe_status region_of_buf(struct buf *b, struct region **out, grebe_error *err);
/** [at, at + len) of a region, which is kept. */
grebe_status region_slice(const grebe_allocator *a, struct region *of, size_t at, size_t len, struct region **out,
                          grebe_error *err);

#endif
