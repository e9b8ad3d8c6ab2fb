/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "out.h"

int picture_kind(struct cli *cli, const char *option, bool *is_html)
{
    const char *path = opt_get(cli, option), *dot = path == NULL ? NULL : strrchr(path, '.');
    *is_html = dot != NULL && (strcmp(dot, ".html") == 0 || strcmp(dot, ".htm") == 0);
    if (path != NULL && !*is_html && (dot == NULL || strcmp(dot, ".svg") != 0)) {
        return out_usage(cli, "--%s: expected a name that ends in .svg or .html, found \"%s\"", option, path);
    }
    return 0;
}

int picture_take(void *arg, const void *bytes, size_t len)
{
    struct picture *p = arg;
    if (p->len + len > p->capacity) {
        size_t more = 2 * p->capacity + len;
        char *grown = realloc(p->bytes, more);
        if (grown == NULL) {
            return ENOMEM;
        }
        p->bytes = grown;
        p->capacity = more;
    }
    memcpy(p->bytes + p->len, bytes, len);
    p->len += len;
    return 0;
}

int picture_write(struct cli *cli, const char *path, const struct picture *p)
{
    FILE *f = fopen(path, "wb");
    bool is_done = f != NULL && fwrite(p->bytes, 1, p->len, f) == p->len;
    is_done = f != NULL && fclose(f) == 0 && is_done;
    if (!is_done) {
        grebe_error err = GREBE_ERROR_INIT;
        err.status = GREBE_EIO;
        snprintf(err.message, sizeof err.message, "%.400s: cannot be written", path);
        return out_error(cli, cli->cmd->name, &err);
    }
    return 0;
}

void picture_drop(struct picture *p)
{
    free(p->bytes);
    *p = (struct picture){ NULL, 0, 0 };
}
