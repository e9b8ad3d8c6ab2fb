/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_ARROW_SCHEMA_INTERNAL_H
#define GREBE_ARROW_ARROW_SCHEMA_INTERNAL_H

/* What the files of this room that build schemas share. */

#include "arrow/arrow_schema.h"

/** Replace the format string of a schema that schema_new made. */
grebe_status schema_set_format(const grebe_allocator *a, struct ArrowSchema *schema,
                               const char *format, grebe_error *err);

/** Metadata in the C interface's encoding, `len` bytes allocated by the schema's allocator. Moved in. */
void schema_adopt_metadata(struct ArrowSchema *schema, char *metadata, size_t len);

/** Give dst (made by schema_new, no metadata yet) a copy of src's metadata. */
grebe_status schema_copy_metadata(const grebe_allocator *a, const struct ArrowSchema *src,
                                  struct ArrowSchema *dst, grebe_error *err);

#endif
