/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_API_H
#define GREBE_INDEX_INDEX_API_H

/* The public handle, and the checked form of what callers bring. */

#include <pthread.h>

#include "grebe/ann_index.h"
#include "index/index.h"
#include "index/index_ids.h"

struct grebe_ann_index {
    grebe_context *ctx;
    struct index *ix;
    struct index_ids ids;
    struct index_file *file; /* NULL: not opened from a file */
    uint32_t threads;        /* of adding; 0: the context's */
    pthread_mutex_t lock;    /* of the table from ids to positions, which the first search by ids makes */
};

/** Rows or queries of a caller: checked, aligned to their components, terms in order. */
struct index_input {
    const grebe_allocator *a;
    struct index_rows rows;
    void *copy; /* what could not be used where it was */
    size_t copy_bytes;
};
#define INDEX_INPUT_INIT(allocator) \
    {                               \
        .a = (allocator)            \
    }

/**
 * @param what "row" or "query", for messages.
 * @param out  index_input_release(), also after a failure; borrows from v.
 * @return GREBE_OK; GREBE_EINVAL (form, components, NaN or infinite, a term twice); GREBE_ENOMEM.
 */
grebe_status index_input_take(const grebe_ann_index *index, const grebe_vectors *v, const char *what,
                              struct index_input *out, grebe_error *err);
void index_input_release(struct index_input *in); /* idempotent */

#endif
