/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_IPC_IPC_FORMAT_H
#define GREBE_IPC_IPC_FORMAT_H

/* Arrow IPC files (Feather V2) as a file format: batches are its chunks. */

#include "arrow/ipc_file.h"
#include "source/source.h"

/** The format as the rest of the library knows it. */
extern const struct file_format ipc_format;
/** Streams, which are only written as files: they are read front to back, by arrow/ipc.h. */
extern const struct file_format ipc_stream_format;

/** struct format_reader is its head. */
struct ipc_reader {
    struct format_reader base;
    struct ipc_file *file;
    size_t *batch_of; /* shape [n_chunks]: batches with rows */
    int64_t *chunk_begin;
};

extern const struct format_reader_ops ipc_reader_ops;

/** Whether bytes begin as the first version of Feather does, which is refused by name. */
bool ipc_is_feather_v1(const unsigned char *head, size_t head_len);

grebe_status ipc_format_open(struct io_store *store, const char *path,
                             const struct file_hints *hints, struct format_reader **out,
                             grebe_error *err);
grebe_status ipc_format_inspect(struct format_reader *base, struct buf *dst, grebe_error *err);
grebe_status ipc_format_check(struct format_reader *base, bool is_deep, const struct call *call,
                              check_fn fn, void *arg, grebe_error *err);
grebe_status ipc_format_create(grebe_context *ctx, struct io_writer *to,
                               const struct ArrowSchema *schema,
                               const struct format_write_options *options,
                               struct format_writer **out, grebe_error *err);
grebe_status ipc_stream_create(grebe_context *ctx, struct io_writer *to,
                               const struct ArrowSchema *schema,
                               const struct format_write_options *options,
                               struct format_writer **out, grebe_error *err);

#endif
