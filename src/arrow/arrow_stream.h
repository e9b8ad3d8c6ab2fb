/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_ARROW_STREAM_H
#define GREBE_ARROW_ARROW_STREAM_H

/* ArrowArrayStream made from, and read with, the library's status and error. */

#include "arrow/arrow_array.h"

/** What a stream made here calls. */
struct stream_ops {
    /** Schema of the batches; `out` is owned by the caller. */
    grebe_status (*schema)(void *self, struct ArrowSchema *out, grebe_error *err);
    /** Next batch; GREBE_END (out left empty) after the last. */
    grebe_status (*next)(void *self, struct ArrowArray *out, grebe_error *err);
    void (*free)(void *self);
};

/** self is moved in on success. The stream keeps the grebe_error behind get_last_error. */
grebe_status stream_export(const grebe_allocator *a, const struct stream_ops *ops, void *self,
                           struct ArrowArrayStream *out, grebe_error *err);

/** Schema of any stream. */
grebe_status stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out,
                           grebe_error *err);
/** Next batch of any stream; GREBE_END at the end. A stream of ours gives its own status. */
grebe_status stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out,
                         grebe_error *err);
void stream_release(struct ArrowArrayStream *stream);
void stream_move(struct ArrowArrayStream *dst, struct ArrowArrayStream *src);

/** The status and error of the last failed call on a stream of ours; NULL for a foreign one. */
const grebe_error *stream_last_error(struct ArrowArrayStream *stream);

/** A stream of n batches, moved in on success (schema copied). */
grebe_status stream_from_batches(const grebe_allocator *a, const struct ArrowSchema *schema,
                                 struct ArrowArray *batches, size_t n,
                                 struct ArrowArrayStream *out, grebe_error *err);

#endif
