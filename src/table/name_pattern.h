/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_NAME_PATTERN_H
#define GREBE_TABLE_NAME_PATTERN_H

/* Regular expressions for column names: the syntax of ECMAScript, as far as PCRE2 shares it. */

#include <stdbool.h>
#include <stddef.h>

#include "grebe/status.h"

struct name_pattern;

/**
 * @param out Owned; name_pattern_free(). NULL on failure.
 * @return GREBE_OK; GREBE_EINVAL with the place in the text; GREBE_EUNSUPPORTED (a build without
 *         PCRE2); GREBE_ENOMEM.
 */
grebe_status name_pattern_new(const char *text, struct name_pattern **out, grebe_error *err);
void name_pattern_free(struct name_pattern *p); /* NULL accepted */

/**
 * Whether the whole name matches.
 *
 * @return GREBE_OK; GREBE_ELIMIT (the pattern tries too many ways); GREBE_ENOMEM.
 */
grebe_status name_pattern_match(const struct name_pattern *p, const char *name, bool *out,
                                grebe_error *err);

#endif
