/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"

grebe_status buf_reserve(struct buf *b, size_t extra, grebe_error *err)
{
    size_t need = 0;
    if (!checked_add_size(b->len, extra, &need) || need > SIZE_MAX / 2) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "buffer of %zu bytes cannot grow by %zu", b->len,
                          extra);
    }
    if (need <= b->capacity) {
        return GREBE_OK;
    }
    size_t capacity = max_size(64, b->capacity + b->capacity / 2);
    capacity = max_size(capacity, need);
    unsigned char *data = mem_resize(b->a, b->data, b->capacity, capacity);
    if (data == NULL) {
        return mem_fail(err, capacity, "a buffer");
    }
    b->data = data;
    b->capacity = capacity;
    return GREBE_OK;
}

grebe_status buf_put(struct buf *b, const void *bytes, size_t n, grebe_error *err)
{
    grebe_status st = buf_reserve(b, n, err);
    if (st == GREBE_OK && n > 0) {
        memcpy(b->data + b->len, bytes, n);
        b->len += n;
    }
    return st;
}

grebe_status buf_put_byte(struct buf *b, uint8_t byte, grebe_error *err)
{
    if (b->len == b->capacity) {
        grebe_status st = buf_reserve(b, 1, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    b->data[b->len++] = byte;
    return GREBE_OK;
}

grebe_status buf_put_text(struct buf *b, const char *text, grebe_error *err)
{
    return buf_put(b, text, strlen(text), err);
}

grebe_status buf_put_zero(struct buf *b, size_t n, grebe_error *err)
{
    grebe_status st = buf_reserve(b, n, err);
    if (st == GREBE_OK && n > 0) {
        memset(b->data + b->len, 0, n);
        b->len += n;
    }
    return st;
}

grebe_status buf_printf(struct buf *b, grebe_error *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    assert(n >= 0);
    grebe_status st = buf_reserve(b, (size_t)n + 1, err);
    if (st == GREBE_OK) {
        va_start(args, fmt);
        vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, args);
        va_end(args);
        b->len += (size_t)n;
    }
    return st;
}

const char *buf_text(struct buf *b)
{
    if (buf_reserve(b, 1, NULL) != GREBE_OK) {
        return NULL;
    }
    b->data[b->len] = '\0';
    return (const char *)b->data;
}

void buf_clear(struct buf *b) { b->len = 0; }

void buf_release(struct buf *b)
{
    mem_free(b->a, b->data, b->capacity);
    b->data = NULL;
    b->len = 0;
    b->capacity = 0;
}
