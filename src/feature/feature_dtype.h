/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_FEATURE_FEATURE_DTYPE_H
#define GREBE_FEATURE_FEATURE_DTYPE_H

/* Names of value types ("int64", "timestamp[us, tz=UTC]", "decimal128(10, 2)") and Arrow's format strings. */

#include "arrow/arrow_schema.h"
#include "base/arena.h"

enum { DTYPE_FORMAT_MAX = 96 };

/**
 * @param format    Arrow format string, written, shape [DTYPE_FORMAT_MAX].
 * @param canonical Set where the name has a canonical spelling that is another ("float": "float32"); else NULL. Static.
 * @return GREBE_OK; GREBE_EINVAL naming the text.
 */
grebe_status dtype_format(const char *dtype, char *format, const char **canonical, grebe_error *err);

/** The name of a leaf type, in the arena. GREBE_EUNSUPPORTED: a type that has none. */
grebe_status dtype_of_type(struct arena *ar, const struct arrow_type *t, const char **out, grebe_error *err);

#endif
