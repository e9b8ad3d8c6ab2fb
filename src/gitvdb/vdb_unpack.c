/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_unpack.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

void vdb_unpack_init(struct vdb_unpack *u, const grebe_allocator *a, grebe_read_fn read, void *read_ctx)
{
    memset(u, 0, sizeof *u);
    u->a = a;
    u->read = read;
    u->read_ctx = read_ctx;
    u->failure = (grebe_error)GREBE_ERROR_INIT;
}

void vdb_unpack_release(struct vdb_unpack *u)
{
    codec_stream_free(u->codec);
    u->codec = NULL;
}

static int read_raw(struct vdb_unpack *u, void *dst, size_t len, size_t *got)
{
    size_t left = u->n_head - u->head_at;
    if (left == 0) {
        return u->read(u->read_ctx, dst, len, got);
    }
    *got = left < len ? left : len;
    memcpy(dst, u->head + u->head_at, *got);
    u->head_at += *got;
    return 0;
}

static grebe_status read_packed(void *arg, void *dst, size_t len, size_t *got, grebe_error *err)
{
    int sys = read_raw(arg, dst, len, got);
    return sys == 0 ? GREBE_OK : GREBE_FAIL_SYS(err, sys == EINTR ? GREBE_ECANCELLED : GREBE_EIO, sys, "cannot read");
}

/* A pipe may give its first bytes one by one. */
static int look(struct vdb_unpack *u)
{
    u->is_begun = true;
    while (u->n_head < sizeof u->head) {
        size_t got = 0;
        int sys = u->read(u->read_ctx, u->head + u->n_head, sizeof u->head - u->n_head, &got);
        if (sys != 0) {
            return sys;
        }
        if (got == 0) {
            break;
        }
        u->n_head += got;
    }
    enum codec_id id = codec_stream_sniff(u->head, u->n_head);
    if (id != CODEC_NONE && codec_stream_new(u->a, id, read_packed, u, &u->codec, &u->failure) != GREBE_OK) {
        return EIO;
    }
    return 0;
}

int vdb_unpack_read(void *read_ctx, void *dst, size_t len, size_t *got)
{
    struct vdb_unpack *u = read_ctx;
    int sys = u->is_begun ? 0 : look(u);
    *got = 0;
    if (sys == 0 && u->codec != NULL) {
        return codec_stream_read(u->codec, dst, len, got, &u->failure) == GREBE_OK ? 0 : EIO;
    }
    return sys != 0 ? sys : read_raw(u, dst, len, got);
}
