/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_IPC_H
#define GREBE_ARROW_IPC_H

/*
 * Arrow IPC: schema messages (also the ARROW:schema key of Parquet) and streams.
 * Source: "Arrow Columnar Format", Serialization and Interprocess Communication;
 * format/Schema.fbs, format/Message.fbs.
 */

#include "arrow/arrow_stream.h"

/**
 * Append the encapsulated Schema message: FF FF FF FF, i32 metadata length (a multiple of 8),
 * flatbuffer Message of version V5 with bodyLength 0.
 *
 * @param schema Struct type; its children are the fields. dst->len must be a multiple of 8 for
 *               the message to be aligned (not required).
 * @return GREBE_OK; GREBE_ESCHEMA (no struct, unknown format); GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status ipc_schema_encode(struct buf *dst, const struct ArrowSchema *schema,
                               grebe_error *err);

/**
 * The reverse, for bytes of anybody; messages from before Arrow 0.15 (without FF FF FF FF) too.
 * Bytes behind the message are ignored.
 *
 * @param out Owned struct type. Empty on failure.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (big-endian data, unknown type);
 *         GREBE_ELIMIT (nesting).
 */
grebe_status ipc_schema_decode(const grebe_allocator *a, const void *bytes, size_t len,
                               struct ArrowSchema *out, grebe_error *err);

/* ---- writing a stream ---- */

struct ipc_writer;

/** Takes all of the bytes, or fails. */
typedef grebe_status (*ipc_sink_fn)(void *sink, const void *bytes, size_t len, grebe_error *err);

/** A sink that appends to a struct buf. */
grebe_status ipc_sink_buf(void *buf, const void *bytes, size_t len, grebe_error *err);

/** Compression of the bodies' buffers; each is stored as it is where that is smaller. */
enum ipc_compression { IPC_UNCOMPRESSED = -1, IPC_LZ4_FRAME = 0, IPC_ZSTD = 1 };

struct ipc_write_options {
    enum ipc_compression compression;
    int level;    /* CODEC_LEVEL_DEFAULT or the codec's own scale */
    bool is_file; /* magic and footer around the stream: batches can be found without reading the others */
};

/**
 * Begin a stream: the schema message is written.
 *
 * @param schema  Struct type. Copied.
 * @param options NULL: an uncompressed stream.
 * @param out     Owned; ipc_writer_free().
 */
grebe_status ipc_writer_new(const grebe_allocator *a, const struct ArrowSchema *schema,
                            const struct ipc_write_options *options, ipc_sink_fn sink,
                            void *sink_ctx, struct ipc_writer **out, grebe_error *err);

/**
 * A batch of the schema: a struct array of offset 0 without top-level nulls. Dictionaries are
 * written when they differ from those before; in a file, where none may be replaced, they grow:
 * indices of later batches are renumbered (GREBE_EUNSUPPORTED inside of nested columns). Borrowed
 * for the call. Buffers are aligned to 64.
 */
grebe_status ipc_writer_write(struct ipc_writer *w, const struct ArrowArray *batch,
                              grebe_error *err);

/** The end-of-stream mark, in a file the footer; nothing may follow. */
grebe_status ipc_writer_finish(struct ipc_writer *w, grebe_error *err);
void ipc_writer_free(struct ipc_writer *w); /* NULL accepted */

/* ---- reading a stream ---- */

/** Fills dst; *got < len only at the end of the bytes. */
typedef grebe_status (*ipc_read_fn)(void *from, void *dst, size_t len, size_t *got,
                                    grebe_error *err);

/** Where a stream comes from; moved in by ipc_stream_open on success. */
struct ipc_source {
    ipc_read_fn read;
    void (*free)(void *from); /* NULL: nothing to free */
    void *from;
};

/**
 * An Arrow IPC stream (or an IPC file, read front to back) as a stream of batches. Nothing is
 * trusted: every offset, index and text is checked. The schema is read here.
 *
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (big-endian data, codecs not built in).
 */
grebe_status ipc_stream_open(const grebe_allocator *a, const struct ipc_source *source,
                             struct ArrowArrayStream *out, grebe_error *err);

/** As ipc_stream_open on bytes in memory; arrays are views of the region and keep it alive. */
grebe_status ipc_stream_of_region(const grebe_allocator *a, struct region *region,
                                  struct ArrowArrayStream *out, grebe_error *err);

/** Whether bytes look like an IPC stream or file. head_len >= 16 gives a good answer. */
bool ipc_sniff(const unsigned char *head, size_t head_len);

#endif
