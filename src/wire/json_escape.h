/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_JSON_ESCAPE_H
#define GREBE_WIRE_JSON_ESCAPE_H

/* The one escape of JSON strings that is more than a letter; every reader of JSON has its own loop around it. */

#include <stdint.h>

/**
 * What stands behind "\u": four hexadecimal digits, of a surrogate also its other half.
 *
 * @param p Moved behind it; on failure to where it is wrong.
 * @return NULL, or what was expected there.
 */
const char *json_unicode_escape(const char **p, const char *end, uint32_t *code_point);

#endif
