/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_TYPE_TEXT_H
#define GREBE_ARROW_TYPE_TEXT_H

/* Names of types in text (docs/format/schema.md), for this room and for messages. */

#include "arrow/arrow_schema.h"

/** "int32", "list", … without parameters. Static string. */
const char *arrow_kind_name(enum arrow_kind kind);
/** "s", "ms", "us", "ns". Static string. */
const char *arrow_unit_name(enum arrow_unit unit);
/** Whether a field name is written without quotes. */
bool type_text_is_plain_name(const char *name, size_t len);
/** The type as type_print gives it, cut to dst_len, for a message. Returns dst. */
const char *type_quote(char *dst, size_t dst_len, const struct ArrowSchema *schema);

#endif
