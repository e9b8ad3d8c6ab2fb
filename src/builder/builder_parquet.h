/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_PARQUET_H
#define GREBE_BUILDER_BUILDER_PARQUET_H

#include "builder/builder_internal.h"
#include "expr/expr.h"
#include "source/source.h"

enum bad_files { BAD_ERROR, BAD_WARN, BAD_SKIP };

struct parquet_builder {
    struct builder_base base;
    enum bad_files on_bad;
    int64_t batch_rows; /* 0: a row group */
    struct buf where;   /* "": every row */
    const struct json_value *columns; /* NULL: all */
};

/** A file open for reading, the columns wanted and the filter bound to it. */
struct parquet_input {
    struct format_reader *r;
    struct ArrowSchema schema; /* of `columns` */
    int *columns, *wanted;     /* shape [n]: those read (of the filter, too, behind the wanted), indices */
    size_t n, n_wanted, capacity;
    struct expr *filter;
};

/** The file, its columns as the options or the features have them, and what its metadata says of them. */
grebe_status parquet_input_open(struct parquet_builder *b, const char *path, struct parquet_input *out, grebe_error *err);
void parquet_input_close(const grebe_allocator *a, struct parquet_input *in);
/** Which rows of a row group the filter can be true for, by what the file knows of them. Without a filter: all. */
grebe_status parquet_input_prune(const struct parquet_input *in, size_t group, enum expr_answer *out, grebe_error *err);
/** Rows for which the filter is true, the wanted columns of them. @param rows All columns read; released, also on failure. */
grebe_status parquet_input_filter(const grebe_allocator *a, const struct parquet_input *in, struct ArrowArray *rows,
                                  struct ArrowArray *out, grebe_error *err);

#endif
