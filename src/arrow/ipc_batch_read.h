/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_IPC_BATCH_READ_H
#define GREBE_ARROW_IPC_BATCH_READ_H

/* Record and dictionary batches as arrays. */

#include "arrow/ipc_dictionary.h"
#include "arrow/ipc_internal.h"

/**
 * Whether a batch, or an array in it, may have that many rows. Nulls and empty structs need no bytes: without
 * a limit a small file could ask for any amount of memory where rows are chosen or printed.
 *
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_ELIMIT (more than 2^28 rows, and not a bit for each).
 */
grebe_status ipc_check_length(int64_t length, uint64_t body_len, bool is_compressed, grebe_error *err);

/** The bytes of one message. */
struct ipc_body {
    struct region *region; /* one reference is taken by every buffer */
    const unsigned char *data;
    size_t len;
    int16_t version; /* of the metadata */
};

/**
 * Columns of a RecordBatch table.
 *
 * @param schema Struct type: its children are the columns.
 * @param out    Checked to the last offset. Owned.
 */
grebe_status ipc_read_batch(const grebe_allocator *a, const struct ArrowSchema *schema,
                            const struct ipc_dictionaries *dictionaries, struct flatbuf *fb,
                            const struct flatbuf_table *table, const struct ipc_body *body,
                            struct ArrowArray *out, grebe_error *err);

/** Which columns of a batch are made; arrays of shape [columns]. */
struct ipc_wanted {
    const bool *is_wanted;
    const bool *is_checked; /* every offset, index and text of it was found good before */
};

/**
 * As ipc_read_batch, one array a column.
 *
 * @param wanted  NULL: all.
 * @param columns Shape [schema->n_children]; those not wanted are left empty. Owned.
 * @param length  Rows of the batch.
 */
grebe_status ipc_read_columns(const grebe_allocator *a, const struct ArrowSchema *schema,
                              const struct ipc_dictionaries *dictionaries, struct flatbuf *fb,
                              const struct flatbuf_table *table, const struct ipc_body *body,
                              const struct ipc_wanted *wanted, struct ArrowArray *columns,
                              int64_t *length, grebe_error *err);

/** A DictionaryBatch table: the dictionary with its id is set, or grown. */
grebe_status ipc_read_dictionary(const grebe_allocator *a, struct ipc_dictionaries *dictionaries,
                                 struct flatbuf *fb, const struct flatbuf_table *table,
                                 const struct ipc_body *body, grebe_error *err);

#endif
