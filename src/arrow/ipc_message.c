/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc_message.h"

const char ipc_file_magic[8] = "ARROW1\0";

grebe_status ipc_message_decode(struct ipc_incoming *m, int64_t *body_len, grebe_error *err)
{
    struct flatbuf_table t = flatbuf_root(&m->fb);
    int16_t version = flatbuf_i16(&m->fb, &t, MESSAGE_VERSION, 0);
    m->type = (enum ipc_header)flatbuf_u8(&m->fb, &t, MESSAGE_HEADER_TYPE, 0);
    m->header = flatbuf_child(&m->fb, &t, MESSAGE_HEADER);
    *body_len = flatbuf_i64(&m->fb, &t, MESSAGE_BODY_LEN, 0);
    m->body.version = version;
    grebe_status st = flatbuf_status(&m->fb, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (version < IPC_VERSION_V4 || version > IPC_VERSION_V5) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "Arrow metadata of version V%d: V4 and V5 are known",
                          version + 1);
    }
    if (*body_len < 0 || m->header.pos == 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "message with a body of %lld bytes and %s header",
                          (long long)*body_len, m->header.pos == 0 ? "no" : "a");
    }
    return GREBE_OK;
}
