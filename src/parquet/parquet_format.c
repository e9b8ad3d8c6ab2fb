/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_format.h"

#include <string.h>

#include "parquet/parquet_file.h"
#include "parquet/parquet_write.h"

static bool sniff(const unsigned char *head, size_t head_len, const unsigned char *tail,
                  size_t tail_len)
{
    (void)tail; /* one that was cut is a damaged Parquet file, not one of an unknown format */
    (void)tail_len;
    bool is_plain = head_len >= 4 && memcmp(head, "PAR1", 4) == 0;
    /* An encrypted footer is refused by name, not taken for another format. */
    bool is_encrypted = head_len >= 4 && memcmp(head, "PARE", 4) == 0;
    return is_plain || is_encrypted;
}

static const char *const extensions[] = { "parquet", "parq", NULL };

const struct file_format parquet_format = {
    .name = "parquet",
    .extensions = extensions,
    .is_for_tables = true,
    .sniff = sniff,
    .open = pq_open,
    .create = parquet_writer_create,
};

const struct format_reader_ops pq_reader_ops = {
    .close = pq_reader_close,
    .read = pq_read,
    .take = pq_take,
    .bounds = pq_bounds,
    .page_bounds = pq_page_bounds,
    .may_contain = pq_may_contain,
    .stored_bytes = pq_stored_bytes,
    .check = pq_check,
    .inspect = pq_inspect,
    .memory_bytes = pq_memory_bytes,
    .find_metadata = pq_find_metadata,
};
