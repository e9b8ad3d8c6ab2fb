/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_MADE_ROWS_H
#define GREBE_GREBE_MADE_ROWS_H

/* Small tables that the library makes itself (statistics, anatomies), as an Arrow stream. */

#include "arrow/arrow_stream.h"

/** A column: format "u" (text), "l" (int64) or "g" (double). Static data. */
struct made_layout {
    const char *name, *format;
    bool is_nullable;
};

struct made_column {
    struct buf values, ends, valid; /* valid: one byte a row */
};

struct made_rows {
    const grebe_allocator *a;
    const struct made_layout *layout; /* shape [n_columns] */
    struct made_column *columns;
    size_t n_columns;
    size_t at; /* the column that the next value belongs to */
};

grebe_status made_rows_init(const grebe_allocator *a, const struct made_layout *layout, size_t n,
                            struct made_rows *out, grebe_error *err);
void made_rows_release(struct made_rows *m); /* idempotent */

/* The value of the next column of the row; after the last one a new row begins. NULL text: null. */
grebe_status made_text(struct made_rows *m, const char *text, size_t len, grebe_error *err);
grebe_status made_int(struct made_rows *m, int64_t v, bool is_valid, grebe_error *err);
grebe_status made_real(struct made_rows *m, double v, bool is_valid, grebe_error *err);

/** All rows as one batch. @param out Owned; empty on failure. */
grebe_status made_rows_finish(struct made_rows *m, struct ArrowArrayStream *out, grebe_error *err);

#endif
