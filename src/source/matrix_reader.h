/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_SOURCE_MATRIX_READER_H
#define GREBE_SOURCE_MATRIX_READER_H

/*
 * Files whose rows are numbers of one type, as many in each row: arrays and data sets of HDF5. A column of several
 * numbers is a fixed-size list, one of a single number is that number.
 */

#include "source/source.h"

enum { MATRIX_COLUMNS_MAX = 32 };

struct matrix_column {
    const char *name;    /* borrowed until the reader is made */
    char format;         /* of an element: c C s S i I l L e f g as in the C interface; b: a byte for each, 0 or not */
    bool is_list;
    uint64_t width;      /* elements of a row */
    const unsigned char *row_0; /* in `map`, where rows are packed; NULL: not there */
};

struct matrix {
    size_t n_columns;
    struct matrix_column columns[MATRIX_COLUMNS_MAX];
    uint64_t n_rows;
    uint64_t chunk_rows; /* what is read together; 0: by size */
    uint64_t file_size_bytes;
    struct region *map; /* borrowed: the reader takes a reference; NULL */
    /** Rows [begin, begin + n) of a column, packed, little endian, into dst. Safe from several threads. */
    grebe_status (*read)(void *file, size_t column, uint64_t begin, uint64_t n, void *dst, grebe_error *err);
    /** Before rows are read: what takes long enough to be cancelled, once. Safe from several threads. NULL: nothing. */
    grebe_status (*prepare)(void *file, const struct call *call, grebe_error *err);
    void (*close)(void *file);
    void *file;
};

size_t matrix_element_bytes(char format);

/**
 * A reader over it.
 *
 * @param m   Copied; m->file is moved in on success.
 * @param out Owned; out->ops->close().
 * @return GREBE_OK; GREBE_ELIMIT (more rows or columns than Arrow counts); GREBE_ENOMEM.
 */
grebe_status matrix_reader_new(grebe_context *ctx, const struct file_format *format, const struct matrix *m,
                               struct format_reader **out, grebe_error *err);

#endif
