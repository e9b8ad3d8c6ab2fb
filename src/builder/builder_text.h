/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_TEXT_H
#define GREBE_BUILDER_BUILDER_TEXT_H

/* Text as lines, for the kinds that have them: text, xml, conll. */

#include "builder/builder_internal.h"
#include "text/text_input.h"

/** Options that all kinds of text have. */
struct builder_encoding {
    const char *name, *errors; /* NULL: UTF-8, strict */
};
grebe_status builder_encoding_options(const struct builder_base *b, struct builder_encoding *out, grebe_error *err);

/**
 * Text of a unit from a byte on. Places are bytes of the file only where nothing has to be expanded or decoded.
 *
 * @param is_plain Written: whether places are bytes.
 * @return GREBE_EINVAL when `at` is not 0 and no place of the file.
 */
grebe_status builder_text_reader(struct builder_base *b, const struct builder_encoding *e, struct region *bytes,
                                 const char *name, uint64_t at, struct text_reader *out, bool *is_plain, grebe_error *err);
/** GREBE_ECORRUPT with the place of what is no UTF-8. */
grebe_status builder_text_check(const char *name, const struct text_block *block, grebe_error *err);

/** CR LF and CR become LF. @param out Borrows `scratch` or the text. */
struct text_span {
    const char *p;
    size_t len;
};
grebe_status builder_text_unify(const char *p, size_t len, struct buf *scratch, struct text_span *out, grebe_error *err);

/** A struct schema of n nullable columns of one format. */
grebe_status builder_text_schema(const grebe_allocator *a, const char *const *names, size_t n, const char *format,
                                 struct ArrowSchema *out, grebe_error *err);

#endif
