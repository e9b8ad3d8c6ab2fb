/* SPDX-License-Identifier: Apache-2.0 */
#include "io/io.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

size_t path_scheme_len(const char *path)
{
    const char *mark = strstr(path, "://");
    if (mark == NULL || mark == path || !isalpha((unsigned char)path[0])) {
        return 0;
    }
    for (const char *p = path; p < mark; p++) {
        if (!isalnum((unsigned char)*p) && *p != '+' && *p != '-' && *p != '.') {
            return 0;
        }
    }
    return (size_t)(mark - path);
}

const char *path_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

grebe_status path_normalize(struct buf *dst, const char *path, grebe_error *err)
{
    bool is_absolute = path[0] == '/';
    size_t start = dst->len;
    size_t floor = start + (is_absolute ? 1 : 0); /* ".." never removes what lies before */
    grebe_status st = buf_reserve(dst, strlen(path) + 2, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (is_absolute) {
        dst->data[dst->len++] = '/';
    }
    bool ends_in_slash = false;
    for (const char *p = path; *p != '\0';) {
        while (*p == '/') {
            p++;
        }
        size_t n = strcspn(p, "/");
        if (n == 0) {
            break;
        }
        ends_in_slash = p[n] == '/';
        if (n == 1 && p[0] == '.') {
            ends_in_slash = true;
        } else if (n == 2 && p[0] == '.' && p[1] == '.') {
            ends_in_slash = true;
            if (dst->len > floor) {
                dst->len--; /* the '/' behind the last part */
                while (dst->len > floor && dst->data[dst->len - 1] != '/') {
                    dst->len--;
                }
            } else if (!is_absolute) {
                memcpy(dst->data + dst->len, "../", 3);
                dst->len += 3;
                floor = dst->len;
            }
        } else {
            memcpy(dst->data + dst->len, p, n);
            dst->len += n;
            dst->data[dst->len++] = '/';
        }
        p += n;
    }
    if (!ends_in_slash && dst->len > start + (is_absolute ? 1 : 0)) {
        dst->len--;
    }
    if (dst->len == start) {
        dst->data[dst->len++] = '.';
    }
    return GREBE_OK;
}

grebe_status path_join(struct buf *dst, const char *base, const char *rest, grebe_error *err)
{
    grebe_status st = buf_put_text(dst, base, err);
    if (st != GREBE_OK || rest[0] == '\0') {
        return st;
    }
    if (base[0] != '\0' && base[strlen(base) - 1] != '/') {
        st = buf_put_byte(dst, '/', err);
    }
    if (st == GREBE_OK) {
        st = buf_put_text(dst, rest, err);
    }
    return st;
}

grebe_status path_absolute(struct buf *dst, const char *path, grebe_error *err)
{
    char here[PATH_MAX];
    if (path[0] == '/') {
        return path_normalize(dst, path, err);
    }
    if (getcwd(here, sizeof here) == NULL) {
        return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "the current folder");
    }
    grebe_status st = GREBE_OK;
    struct buf joined = BUF_INIT(dst->a);
    GREBE_TRY(path_join(&joined, here, path, err));
    if (buf_text(&joined) == NULL) {
        GREBE_TRY(mem_fail(err, joined.len, "a path"));
    }
    GREBE_TRY(path_normalize(dst, buf_text(&joined), err));
out:
    buf_release(&joined);
    return st;
}
