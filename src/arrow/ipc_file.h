/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_IPC_FILE_H
#define GREBE_ARROW_IPC_FILE_H

/*
 * An Arrow IPC file whose bytes are at hand (mapped, say): its footer says where the batches lie,
 * so any of them is read without the others. Source: "Arrow Columnar Format", IPC File Format.
 */

#include <stdatomic.h>

#include "arrow/ipc_message.h"

struct ipc_file_batch {
    uint64_t offset; /* of the message in the file */
    uint32_t metadata_len;
    uint64_t body_len;
    int64_t n_rows;
    int compression; /* enum ipc_compression */
};

/** Immutable after ipc_file_open, except that columns once found good are remembered as such. */
struct ipc_file {
    const grebe_allocator *a;
    struct region *region; /* the whole file; one reference */
    struct ArrowSchema schema;
    struct ipc_dictionaries dictionaries; /* with their values */
    struct ipc_file_batch *batches;       /* shape [n_batches] */
    size_t n_batches, n_dictionary_batches;
    uint64_t footer_start, footer_len;
    int16_t version;
    atomic_uchar *is_checked; /* shape [n_batches * columns] */
};

/** Whether bytes begin as an Arrow file does. */
bool ipc_file_sniff(const unsigned char *head, size_t head_len);

/**
 * @param region The whole file; a reference is taken.
 * @param out    Owned; ipc_file_close().
 * @return GREBE_OK; GREBE_ECORRUPT (cut, no footer, places outside of the file, …); GREBE_EUNSUPPORTED
 *         (big-endian data, a replaced dictionary, compression); GREBE_ENOMEM.
 */
grebe_status ipc_file_open(const grebe_allocator *a, struct region *region, struct ipc_file **out,
                           grebe_error *err);
/**
 * The same for an Arrow stream whose bytes are at hand: its messages are walked once, and no body is read.
 *
 * @return also GREBE_EUNSUPPORTED with *is_replaced set: a dictionary changes on the way, so that batches make sense in
 *         their order only (ipc_stream_of_region).
 */
grebe_status ipc_file_open_stream(const grebe_allocator *a, struct region *region, bool *is_replaced, struct ipc_file **out,
                                  grebe_error *err);
/** Bytes of the region read another way than through it: at most len at offset, *got of them. */
struct ipc_heads {
    grebe_status (*read)(void *arg, uint64_t offset, void *dst, size_t len, size_t *got, grebe_error *err);
    void *arg;
};
/**
 * The same where the region is a mapped file: heads of messages are read, which costs less than a page of each that is
 * touched for the first time. heads NULL: as above.
 */
grebe_status ipc_file_open_mapped(const grebe_allocator *a, struct region *region, const struct ipc_heads *heads,
                                  bool *is_replaced, struct ipc_file **out, grebe_error *err);
void ipc_file_close(struct ipc_file *f); /* NULL accepted; arrays stay valid */

/**
 * Columns of batch i; each is checked to the last offset when it is read for the first time.
 *
 * @param fields Indices of columns, shape [n_fields], each once; NULL: all.
 * @param out    Struct array of these columns. Views of the region where nothing is compressed.
 * Threads: safe from many.
 */
grebe_status ipc_file_read(struct ipc_file *f, size_t i, const int *fields, size_t n_fields,
                           struct ArrowArray *out, grebe_error *err);

/**
 * As ipc_file_read of one column, but offsets, indices and texts in it are not looked at: what is given out of it is the
 * caller's to check. *is_checked: they were found good before.
 */
grebe_status ipc_file_look(struct ipc_file *f, size_t i, int field, struct ArrowArray *out, bool *is_checked,
                           grebe_error *err);

/* ---- what opening a file and opening a stream share ---- */

/** The message at a place of the region; its type is the caller's to check. */
grebe_status ipc_file_message(const struct ipc_file *f, const struct ipc_file_batch *b, struct ipc_incoming *m,
                              grebe_error *err);
/** Rows and compression of a batch, from its message; offset and lengths of b are set already. */
grebe_status ipc_file_describe(struct ipc_incoming *m, struct ipc_file_batch *b, grebe_error *err);
/** All batches are known: room for what is found out about their columns. */
grebe_status ipc_file_seal(struct ipc_file *f, grebe_error *err);

#endif
