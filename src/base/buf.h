/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_BUF_H
#define GREBE_BASE_BUF_H

/* A growable run of bytes; text put into it stays NUL-terminated (buf_text). */

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

struct buf {
    const grebe_allocator *a;
    unsigned char *data; /* NULL while capacity is 0 */
    size_t len;
    size_t capacity;
};

#define BUF_INIT(allocator)      \
    (struct buf)                 \
    {                            \
        (allocator), NULL, 0, 0  \
    }

/** Room for extra more bytes; data may move. GREBE_OK; GREBE_ENOMEM. */
grebe_status buf_reserve(struct buf *b, size_t extra, grebe_error *err);
grebe_status buf_put(struct buf *b, const void *bytes, size_t n, grebe_error *err);
grebe_status buf_put_byte(struct buf *b, uint8_t byte, grebe_error *err);
grebe_status buf_put_text(struct buf *b, const char *text, grebe_error *err);
grebe_status buf_printf(struct buf *b, grebe_error *err, const char *fmt, ...)
    GREBE_PRINTF(3, 4);
/** n zero bytes. */
grebe_status buf_put_zero(struct buf *b, size_t n, grebe_error *err);
/** The content with a NUL behind it, borrowed until the next change; "" when empty. NULL: no memory. */
const char *buf_text(struct buf *b);
/** Forget the content, keep the memory. */
void buf_clear(struct buf *b);
/** Free the memory; the buffer is empty and may be used again. */
void buf_release(struct buf *b);

#endif
