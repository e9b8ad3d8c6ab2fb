/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_points.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

enum { READ_BYTES = 256 << 10 };

void vdb_lines_init(struct vdb_lines *l, const grebe_allocator *a, grebe_read_fn read, void *read_ctx, const char *name)
{
    memset(l, 0, sizeof *l);
    l->read = read;
    l->read_ctx = read_ctx;
    l->name = name;
    l->buf = BUF_INIT(a);
}

void vdb_lines_release(struct vdb_lines *l)
{
    buf_release(&l->buf);
}

/* More text behind what is there; what was given already makes room. */
static grebe_status fill(struct vdb_lines *l, grebe_error *err)
{
    size_t got = 0;
    if (l->at > 0) {
        memmove(l->buf.data, l->buf.data + l->at, l->buf.len - l->at);
        l->buf.len -= l->at;
        l->at = 0;
    }
    grebe_status st = buf_reserve(&l->buf, READ_BYTES, err);
    if (st != GREBE_OK) {
        return st;
    }
    int sys = l->read(l->read_ctx, l->buf.data + l->buf.len, l->buf.capacity - l->buf.len, &got);
    if (sys != 0) {
        return GREBE_FAIL_SYS(err, sys == EINTR ? GREBE_ECANCELLED : GREBE_EIO, sys, "%s: cannot read", l->name);
    }
    l->buf.len += got;
    l->is_end = got == 0;
    return GREBE_OK;
}

/* Bytes of one character of white space at p (Unicode, White_Space); 0: it is none. */
static size_t space_len(const char *p, size_t len)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
    };
    if (len == 0) {
        return 0;
    }
    if (*p == ' ' || (*p >= '\t' && *p <= '\r')) {
        return 1;
    }
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        size_t n = strlen(wide[i]);
        if (len >= n && memcmp(p, wide[i], n) == 0) {
            return n;
        }
    }
    bool is_quad = len >= 3 && memcmp(p, "\xe2\x80", 2) == 0 && (unsigned char)p[2] >= 0x80 &&
                   (unsigned char)p[2] <= 0x8a; /* U+2000 to U+200A */
    return is_quad ? 3 : 0;
}

static bool is_blank(const char *p, size_t len)
{
    while (len > 0) {
        size_t n = space_len(p, len);
        if (n == 0) {
            return false;
        }
        p += n;
        len -= n;
    }
    return true;
}

/* The next line without its end, blank or not; *line NULL: there is none. */
static grebe_status take_line(struct vdb_lines *l, const char **line, size_t *len, grebe_error *err)
{
    size_t seen = 0; /* bytes from l->at on without a line feed */
    *line = NULL;
    *len = 0;
    for (;;) {
        size_t n = l->buf.len - l->at;
        const char *begin = n > 0 ? (const char *)l->buf.data + l->at : NULL;
        const char *feed = n > seen ? memchr(begin + seen, '\n', n - seen) : NULL;
        if (feed == NULL && !l->is_end) {
            seen = n;
            grebe_status st = fill(l, err);
            if (st != GREBE_OK) {
                return st;
            }
            continue;
        }
        if (feed == NULL && n == 0) {
            return GREBE_OK;
        }
        *line = begin;
        *len = feed != NULL ? (size_t)(feed - begin) : n;
        l->at += *len + (feed != NULL);
        l->line++;
        *len -= feed != NULL && *len > 0 && begin[*len - 1] == '\r';
        return GREBE_OK;
    }
}

grebe_status vdb_lines_next(struct vdb_lines *l, const char **line, size_t *len, grebe_error *err)
{
    for (;;) {
        grebe_status st = take_line(l, line, len, err);
        if (st != GREBE_OK || *line == NULL) {
            return st;
        }
        size_t valid = utf8_valid_prefix(*line, *len);
        if (valid < *len) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%s:%" PRIu64 ": byte %zu: expected UTF-8", l->name, l->line,
                              valid + 1);
        }
        if (!is_blank(*line, *len)) {
            return GREBE_OK;
        }
    }
}
