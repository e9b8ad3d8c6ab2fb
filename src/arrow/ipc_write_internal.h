/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_IPC_WRITE_INTERNAL_H
#define GREBE_ARROW_IPC_WRITE_INTERNAL_H

/* The writer of streams and files: life and dictionaries in ipc_write.c, messages in ipc_write_batch.c. */

#include "arrow/ipc_message.h"
#include "codec/codec_compress.h"

/* A dictionary as it was written last. */
struct written {
    struct ArrowArray values;
};

struct ipc_writer {
    const grebe_allocator *a;
    struct ArrowSchema schema;
    struct ipc_write_options options;
    ipc_sink_fn sink;
    void *sink_ctx;
    uint64_t pos; /* bytes written so far */
    struct codec_workspace ws;
    struct written *dictionaries; /* by id: the order of a walk; shape [n_dictionaries] */
    size_t n_dictionaries;
    struct buf metadata, nodes, buffers, variadic;
    struct buf segments; /* struct segment */
    struct buf packed;   /* compressed buffers of the message */
    struct buf dictionary_blocks, record_blocks; /* of a file: Block structs as stored */
    bool is_finished;
};

/* What kind of message. */
struct message_kind {
    int64_t dictionary_id; /* negative: records */
    bool is_delta;
};

/** Bytes to the sink. */
grebe_status ipc_emit(struct ipc_writer *w, const void *bytes, size_t len, grebe_error *err);

/** A message of columns, shape [n_columns], of `length` rows; its place is noted for the footer. */
grebe_status ipc_put_message(struct ipc_writer *w, const struct ArrowSchema *const *fields,
                             const struct ArrowArray *const *columns, int64_t n_columns,
                             int64_t length, struct message_kind kind, grebe_error *err);

#endif
