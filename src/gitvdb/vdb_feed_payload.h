/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_FEED_PAYLOAD_H
#define GREBE_GITVDB_VDB_FEED_PAYLOAD_H

/* The columns of rows that are neither id nor vector, as one canonical JSON object a row. */

#include "arrow/arrow_stream.h"
#include "base/arena.h"
#include "base/buf.h"
#include "text/text_print.h"

/** A reader of payloads; batch after batch. */
struct vdb_payloads {
    const grebe_allocator *a;
    const struct ArrowSchema *schema; /* of the rows; borrowed */
    int id, vector;                   /* columns left out */
    int payload;                      /* a column "payload" of text, which is JSON; -1: none */
    bool is_nested;                   /* a column "payload" is no text: its members are brought up */
    struct ArrowSchema payload_type, rest_type;
    /* the batch */
    struct ArrowArray payload_texts;
    struct buf lines;                 /* the rest as lines of JSON */
    struct text_sink sink;
    size_t at;                        /* the next line */
    int64_t row;
    /* the row */
    struct arena ar;
    struct buf object;
};

/** @param p Zero. Released by vdb_payloads_release() also on failure. */
grebe_status vdb_payloads_init(struct vdb_payloads *p, const grebe_allocator *a, const struct ArrowSchema *schema,
                               int id, int vector, grebe_error *err);
/** @param batch Checked; columns that payloads are made of are moved out of it. */
grebe_status vdb_payloads_begin(struct vdb_payloads *p, struct ArrowArray *batch, grebe_error *err);
/** The next row's payload: a column is a member of its name, a column "payload" (JSON text or a struct) gives its own
 *  members. @param text Borrowed until the next call. */
grebe_status vdb_payloads_next(struct vdb_payloads *p, const char **text, size_t *len, grebe_error *err);
void vdb_payloads_release(struct vdb_payloads *p);

#endif
