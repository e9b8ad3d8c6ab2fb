/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_FILTER_H
#define GREBE_BUILDER_BUILDER_FILTER_H

/* Filters as lists of (column, operator, value), as pyarrow takes them, in the filter language. */

#include "base/buf.h"
#include "wire/json.h"

/** A list of triples is "and"; a list of such lists "or". GREBE_EINVAL. */
grebe_status builder_filter_text(const struct json_value *filters, struct buf *dst, grebe_error *err);

#endif
