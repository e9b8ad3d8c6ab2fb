/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_FORMAT_H
#define GREBE_PARQUET_PARQUET_FORMAT_H

#include "source/source.h"

/** Parquet as the rest of the library knows it. */
extern const struct file_format parquet_format;

/* The reader's operations; struct format_reader is the head of struct pq_reader. */

extern const struct format_reader_ops pq_reader_ops;

void pq_reader_close(struct format_reader *base);
grebe_status pq_read(struct format_reader *base, const int *columns, size_t n_columns,
                     int64_t row_begin, int64_t row_end, const struct call *call,
                     struct ArrowArray *out, grebe_error *err);
grebe_status pq_take(struct format_reader *base, const int *columns, size_t n_columns,
                     const int64_t *rows, int64_t n, const struct call *call,
                     struct ArrowArray *out, grebe_error *err);
grebe_status pq_bounds(struct format_reader *base, int column, size_t chunk,
                       struct column_bounds *out, grebe_error *err);
grebe_status pq_page_bounds(struct format_reader *base, int column, size_t chunk,
                            struct page_bounds *out, grebe_error *err);
grebe_status pq_may_contain(struct format_reader *base, int column, size_t chunk,
                            const void *value, size_t len, bool *may, grebe_error *err);
uint64_t pq_stored_bytes(struct format_reader *base, const int *columns, size_t n_columns,
                         size_t chunk);
grebe_status pq_memory_bytes(struct format_reader *base, const int *columns, size_t n_columns,
                             size_t chunk, uint64_t *out, grebe_error *err);
bool pq_find_metadata(struct format_reader *base, const char *key, const char **value,
                      size_t *len);
grebe_status pq_check(struct format_reader *base, bool is_deep, const struct call *call,
                      check_fn fn, void *arg, grebe_error *err);
grebe_status pq_inspect(struct format_reader *base, struct buf *dst, grebe_error *err);

#endif
