/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_UNPACK_H
#define GREBE_GITVDB_VDB_UNPACK_H

/* Text that may be packed: what its first bytes say, gzip, zstd or neither, is what is read. */

#include "codec/codec_stream.h"
#include "grebe/source.h"

struct vdb_unpack {
    const grebe_allocator *a;
    grebe_read_fn read; /* of the packed bytes */
    void *read_ctx;
    unsigned char head[4]; /* what was looked at, given again */
    size_t n_head, head_at;
    bool is_begun;
    struct codec_stream *codec; /* NULL: plain */
    grebe_error failure;        /* of the last vdb_unpack_read(); status GREBE_OK: an errno value says all */
};

/** Nothing is read yet. @param u End with vdb_unpack_release(); its address is kept. */
void vdb_unpack_init(struct vdb_unpack *u, const grebe_allocator *a, grebe_read_fn read, void *read_ctx);
/** A grebe_read_fn; read_ctx is the struct. EIO with u->failure: the packed bytes are no good. */
int vdb_unpack_read(void *read_ctx, void *dst, size_t len, size_t *got);
void vdb_unpack_release(struct vdb_unpack *u);

#endif
