/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_PICTURE_H
#define GREBE_CLI_PICTURE_H

/* Pictures as files: a file gets its name when all of it is there. */

#include "cmd.h"

struct picture {
    char *bytes;
    size_t len, capacity;
};

/** Whether the name that an option gives is that of a page (.html) instead of SVG; not given: SVG. Exit code. */
int picture_kind(struct cli *cli, const char *option, bool *is_html);
/** The grebe_write_fn of a picture; arg is the struct picture. */
int picture_take(void *arg, const void *bytes, size_t len);
/** Exit code. */
int picture_write(struct cli *cli, const char *path, const struct picture *p);
void picture_drop(struct picture *p);

#endif
