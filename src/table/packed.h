/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_PACKED_H
#define GREBE_TABLE_PACKED_H

#include <stdbool.h>

#include "grebe/packed.h"

/** Key of a field's metadata: its number, decimal. */
#define PACKED_FIELD_ID "PARQUET:field_id"

/** Whether the field has a number. */
bool packed_field_id(const struct ArrowSchema *field, int64_t *out);

#endif
