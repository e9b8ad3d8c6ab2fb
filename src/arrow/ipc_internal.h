/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_IPC_INTERNAL_H
#define GREBE_ARROW_IPC_INTERNAL_H

/* Numbers of Schema.fbs and Message.fbs, and what the IPC files share. */

#include "arrow/ipc.h"
#include "wire/flatbuf.h"

enum { IPC_VERSION_V4 = 3, IPC_VERSION_V5 = 4 };

enum ipc_header { IPC_SCHEMA = 1, IPC_DICTIONARY = 2, IPC_RECORDS = 3 };

/* Slots of the tables. */
enum { MESSAGE_VERSION = 0, MESSAGE_HEADER_TYPE = 1, MESSAGE_HEADER = 2, MESSAGE_BODY_LEN = 3 };
enum { SCHEMA_ENDIANNESS = 0, SCHEMA_FIELDS = 1, SCHEMA_METADATA = 2 };
enum {
    FIELD_NAME = 0,
    FIELD_NULLABLE = 1,
    FIELD_TYPE_TYPE = 2,
    FIELD_TYPE = 3,
    FIELD_DICTIONARY = 4,
    FIELD_CHILDREN = 5,
    FIELD_METADATA = 6
};
enum { BATCH_LENGTH = 0, BATCH_NODES = 1, BATCH_BUFFERS = 2, BATCH_COMPRESSION = 3, BATCH_VARIADIC = 4 };
enum { FOOTER_VERSION = 0, FOOTER_SCHEMA = 1, FOOTER_DICTIONARIES = 2, FOOTER_RECORDS = 3 };
/* struct Block: int64 offset, int32 metadata length (prefix included), 4 bytes of nothing, int64 body length */
enum { BLOCK_BYTES = 24 };
enum { DICTIONARY_ID = 0, DICTIONARY_DATA = 1, DICTIONARY_IS_DELTA = 2 };

/* The union Type of Schema.fbs. */
enum ipc_type {
    IPC_TYPE_NONE = 0,
    IPC_TYPE_NULL,
    IPC_TYPE_INT,
    IPC_TYPE_FLOAT,
    IPC_TYPE_BINARY,
    IPC_TYPE_UTF8,
    IPC_TYPE_BOOL,
    IPC_TYPE_DECIMAL,
    IPC_TYPE_DATE,
    IPC_TYPE_TIME,
    IPC_TYPE_TIMESTAMP,
    IPC_TYPE_INTERVAL,
    IPC_TYPE_LIST,
    IPC_TYPE_STRUCT,
    IPC_TYPE_UNION,
    IPC_TYPE_FIXED_BINARY,
    IPC_TYPE_FIXED_LIST,
    IPC_TYPE_MAP,
    IPC_TYPE_DURATION,
    IPC_TYPE_LARGE_BINARY,
    IPC_TYPE_LARGE_UTF8,
    IPC_TYPE_LARGE_LIST,
    IPC_TYPE_RUN_END,
    IPC_TYPE_BINARY_VIEW,
    IPC_TYPE_UTF8_VIEW,
    IPC_TYPE_LIST_VIEW,
    IPC_TYPE_LARGE_LIST_VIEW
};

/** Dictionary fields of a schema, those inside of dictionaries' values included. */
size_t ipc_dictionary_count(const struct ArrowSchema *schema);

/** Dictionary ids in the order in which a walk down the schema meets dictionary fields. */
struct ipc_ids {
    const grebe_allocator *a;
    int64_t *ids;
    size_t n, capacity;
};
void ipc_ids_release(struct ipc_ids *ids);

/** A Schema table; the field at link_at points to it afterwards. */
grebe_status ipc_schema_put(struct flatbuf_writer *w, const struct ArrowSchema *schema,
                            size_t link_at, grebe_error *err);

/** A Schema table as a struct schema. ids may be NULL. Faults of fb are reported here. */
grebe_status ipc_schema_of_table(const grebe_allocator *a, struct flatbuf *fb,
                                 const struct flatbuf_table *table, struct ArrowSchema *out,
                                 struct ipc_ids *ids, grebe_error *err);

/**
 * Begin an encapsulated message: prefix, Message table with the body length; *header_at is the
 * field to link the header to. ipc_message_end pads it and writes its length.
 */
struct ipc_message {
    struct flatbuf_writer w;
    size_t begin;     /* of the prefix in the buffer */
    size_t header_at; /* to link */
};
grebe_status ipc_message_begin(struct ipc_message *m, struct buf *dst, enum ipc_header header,
                               int64_t body_len, grebe_error *err);
grebe_status ipc_message_end(struct ipc_message *m, grebe_error *err);

#endif
