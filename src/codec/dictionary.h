/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_DICTIONARY_H
#define GREBE_CODEC_DICTIONARY_H

/* Values by dictionary index. */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** GREBE_ECORRUPT unless every index is below n_entries. */
grebe_status dictionary_check(const uint32_t *index, size_t n, size_t n_entries,
                              grebe_error *err);

/**
 * dst[i] = entry index[i] of `width` bytes; indices must have been checked.
 *
 * @param entries Any alignment; shape [n_entries, width].
 */
void dictionary_gather(const void *entries, size_t width, const uint32_t *index, size_t n,
                       void *dst);

#endif
