/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_IPC_MESSAGE_H
#define GREBE_ARROW_IPC_MESSAGE_H

/* One encapsulated message, from a stream or at its place in a file. */

#include "arrow/ipc_batch_read.h"

/** "ARROW1" and two zeros: how a file begins; it ends with the six letters. */
extern const char ipc_file_magic[8];

/** A message: metadata and body. */
struct ipc_incoming {
    struct flatbuf fb;
    struct flatbuf_table header;
    enum ipc_header type;
    struct ipc_body body; /* the holder has one reference on its region */
};

/** The Message table in m->fb: type, header and version are set. GREBE_ECORRUPT; GREBE_EUNSUPPORTED. */
grebe_status ipc_message_decode(struct ipc_incoming *m, int64_t *body_len, grebe_error *err);

#endif
