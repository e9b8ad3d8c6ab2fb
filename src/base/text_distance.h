/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_TEXT_DISTANCE_H
#define GREBE_BASE_TEXT_DISTANCE_H

#include <stddef.h>

/**
 * Fewest changes of one character that make one name of the other, letters of either case alike (Levenshtein 1966). Of y the
 * first 48 bytes count.
 */
size_t text_distance(const char *x, const char *y);

#endif
