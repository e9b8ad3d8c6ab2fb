/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/ipc_format.h"

#include <string.h>

bool ipc_is_feather_v1(const unsigned char *head, size_t head_len)
{
    return head_len >= 4 && memcmp(head, "FEA1", 4) == 0;
}

static bool sniff(const unsigned char *head, size_t head_len, const unsigned char *tail,
                  size_t tail_len)
{
    (void)tail; /* one that was cut is a damaged file, not one of an unknown format */
    (void)tail_len;
    return ipc_file_sniff(head, head_len) || ipc_is_feather_v1(head, head_len);
}

static const char *const extensions[] = { "arrow", "feather", NULL };

const struct file_format ipc_format = {
    .name = "arrow",
    .extensions = extensions,
    .sniff = sniff,
    .open = ipc_format_open,
    .create = ipc_format_create,
};

static const char *const stream_extensions[] = { "arrows", NULL };

const struct file_format ipc_stream_format = {
    .name = "arrow stream",
    .extensions = stream_extensions,
    .create = ipc_stream_create,
};
