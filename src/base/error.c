/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *grebe_status_name(grebe_status status)
{
    switch (status) {
    case GREBE_OK: return "ok";
    case GREBE_END: return "end";
    case GREBE_EINVAL: return "invalid_argument";
    case GREBE_ENOMEM: return "no_memory";
    case GREBE_ENOTFOUND: return "not_found";
    case GREBE_EEXISTS: return "exists";
    case GREBE_ECORRUPT: return "corrupt";
    case GREBE_EUNSUPPORTED: return "unsupported";
    case GREBE_ELIMIT: return "limit";
    case GREBE_EIO: return "io";
    case GREBE_ENETWORK: return "network";
    case GREBE_EAUTH: return "auth";
    case GREBE_ECONFLICT: return "conflict";
    case GREBE_EUNKNOWN_OUTCOME: return "unknown_outcome";
    case GREBE_ECANCELLED: return "cancelled";
    case GREBE_ESCHEMA: return "schema";
    }
    return "unknown";
}

/* One line of valid UTF-8: control characters become spaces, a character cut in two goes. */
static void tidy_message(grebe_error *err)
{
    size_t len = strlen(err->message);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)err->message[i] < 0x20 || err->message[i] == 0x7f) {
            err->message[i] = ' ';
        }
    }
    size_t valid = utf8_valid_prefix(err->message, len);
    if (valid < len) {
        if (len - valid < 4 && len == sizeof err->message - 1) {
            err->message[valid] = '\0';
        } else {
            for (size_t i = valid; i < len; i++) {
                if ((unsigned char)err->message[i] >= 0x80) {
                    err->message[i] = '?';
                }
            }
        }
    }
    if (err->message[0] == '\0') {
        snprintf(err->message, sizeof err->message, "%s", grebe_status_name(err->status));
    }
}

static void fill(grebe_error *err, grebe_status code, int sys, const char *file, int line,
                 const char *fmt, va_list args)
{
    memset(err, 0, offsetof(grebe_error, message));
    err->status = code;
    err->sys = sys;
    err->file = file;
    err->line = (uint32_t)line;
    int n = vsnprintf(err->message, sizeof err->message, fmt, args);
    if (n >= (int)sizeof err->message) {
        err->flags |= GREBE_ERROR_TRUNCATED;
    } else if (n < 0) {
        err->message[0] = '\0';
    }
    tidy_message(err);
}

grebe_status error_set(grebe_error *err, grebe_status code, const char *file, int line,
                       const char *fmt, ...)
{
    assert(code < 0);
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        fill(err, code, 0, file, line, fmt, args);
        va_end(args);
    }
    return code;
}

grebe_status error_set_sys(grebe_error *err, grebe_status code, int sys, const char *file,
                           int line, const char *fmt, ...)
{
    assert(code < 0);
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        fill(err, code, sys, file, line, fmt, args);
        va_end(args);
        char text[96];
        /* GNU strerror_r would need a feature test; the XSI one fills the buffer. */
        if (strerror_r(sys, text, sizeof text) != 0) {
            snprintf(text, sizeof text, "errno %d", sys);
        }
        size_t len = strlen(err->message);
        snprintf(err->message + len, sizeof err->message - len, ": %s", text);
        tidy_message(err);
    }
    return code;
}

grebe_status error_wrap(grebe_error *err, grebe_status st, const char *fmt, ...)
{
    if (err == NULL || st == GREBE_OK || st == GREBE_END) {
        return st;
    }
    char place[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(place, sizeof place, fmt, args);
    va_end(args);
    char old[sizeof err->message];
    memcpy(old, err->message, sizeof old);
    size_t room = sizeof err->message;
    size_t n = strlen(place);
    assert(n < room - 2);
    memcpy(err->message, place, n);
    memcpy(err->message + n, ": ", 2);
    n += 2;
    size_t old_len = strlen(old);
    if (old_len > room - 1 - n) {
        old_len = room - 1 - n;
        err->flags |= GREBE_ERROR_TRUNCATED;
    }
    memcpy(err->message + n, old, old_len);
    err->message[n + old_len] = '\0';
    tidy_message(err);
    return st;
}

grebe_status error_copy(grebe_error *err, grebe_status st, const grebe_error *from)
{
    if (err != NULL) {
        *err = *from;
    }
    return st;
}

grebe_status error_at(grebe_error *err, grebe_status st, uint64_t offset)
{
    if (err != NULL && st < 0) {
        err->offset = offset;
        err->flags |= GREBE_ERROR_HAS_OFFSET;
    }
    return st;
}

const char *error_quote(char *dst, size_t dst_len, const void *bytes, size_t len)
{
    assert(dst_len >= 8);
    const unsigned char *p = bytes;
    size_t out = 0;
    size_t i = 0;
    while (i < len) {
        size_t n = utf8_char_len(p + i, len - i);
        bool is_plain = n > 0 && !(n == 1 && (p[i] < 0x20 || p[i] == 0x7f));
        size_t need = is_plain ? n : 4;
        if (out + need + 4 > dst_len) {
            memcpy(dst + out, "...", 3);
            out += 3;
            break;
        }
        if (is_plain) {
            memcpy(dst + out, p + i, n);
            i += n;
        } else {
            snprintf(dst + out, 5, "\\x%02x", p[i]);
            i += 1;
        }
        out += need;
    }
    dst[out] = '\0';
    return dst;
}

grebe_status status_from_errno(int sys)
{
    switch (sys) {
    case ENOENT:
    case ENOTDIR: return GREBE_ENOTFOUND;
    case EEXIST: return GREBE_EEXISTS;
    case ENOMEM: return GREBE_ENOMEM;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE: return GREBE_ELIMIT;
    case EINVAL:
    case ENAMETOOLONG: return GREBE_EINVAL;
    default: return GREBE_EIO;
    }
}
