/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_TEXT_LAYOUT_H
#define GREBE_GREBE_TEXT_LAYOUT_H

/* What callers say about the layout of text, checked. */

#include "base/arena.h"
#include "grebe/text.h"
#include "text/text_print.h"

/** The caller's options over the defaults. GREBE_OK; GREBE_EINVAL naming the field. */
grebe_status text_layout_options(grebe_text_options *dst, const grebe_text_options *options,
                                 grebe_error *err);

/**
 * A copy that does not borrow.
 *
 * @param ar     Its texts live here.
 * @param schema Its schema, owned by the caller; empty when there is none.
 */
grebe_status text_layout_keep(struct arena *ar, const grebe_text_options *options,
                              grebe_text_options *dst, struct ArrowSchema *schema, grebe_error *err);

/** One printable ASCII character, or tab; NULL leaves *out alone. */
grebe_status text_layout_char(const char *text, const char *name, char *out, grebe_error *err);

/** Delimiter, quote, header and null; the text of the null is borrowed from o. */
grebe_status text_layout_of(const grebe_text_options *o, struct text_csv_layout *out,
                            grebe_error *err);

#endif
