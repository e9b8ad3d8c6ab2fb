/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_ROWS_FIT_H
#define GREBE_ARROW_ROWS_FIT_H

/* Batches of one schema as batches of another: columns by name, types widened. */

#include "arrow/arrow_array.h"

struct fit {
    const grebe_allocator *a;
    const struct ArrowSchema *from; /* borrowed */
    const struct ArrowSchema *to;   /* borrowed */
    int *source;     /* shape [to columns]: column of from; -1: null */
    bool *widens;    /* shape [to columns] */
};

/**
 * @param from, to Struct types; borrowed until fit_release().
 * @return GREBE_OK; GREBE_ESCHEMA: column, expected and found type; GREBE_ENOMEM.
 */
grebe_status fit_new(const grebe_allocator *a, const struct ArrowSchema *from,
                     const struct ArrowSchema *to, struct fit *out, grebe_error *err);
void fit_release(struct fit *f); /* idempotent */
/** batch is moved in, also on failure. */
grebe_status fit_batch(const struct fit *f, struct ArrowArray *batch, struct ArrowArray *out,
                       grebe_error *err);

#endif
