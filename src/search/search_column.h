/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_SEARCH_SEARCH_COLUMN_H
#define GREBE_SEARCH_SEARCH_COLUMN_H

/* A vector column of Arrow rows as one matrix. */

#include "arrow/arrow_stream.h"
#include "base/context_internal.h"
#include "vector/vector_types.h"

struct search_column {
    const grebe_allocator *a;
    enum vector_elem elem; /* F64 is kept as F32 */
    uint32_t dim;          /* 0: not known yet (a list without a row) */
    unsigned char *rows;   /* shape [n][dim], packed */
    int64_t *ids;          /* shape [n]; NULL: not asked for */
    size_t n, row_capacity, id_capacity;
};

void search_column_release(struct search_column *c); /* idempotent */
/** Element type and (fixed-size lists) components of a field. GREBE_ESCHEMA: no vectors. */
grebe_status search_column_type(const struct ArrowSchema *field, enum vector_elem *elem, uint32_t *dim, grebe_error *err);
/** A stream whose vectors are taken batch by batch. */
struct search_reader {
    struct ArrowArrayStream *rows; /* borrowed */
    struct ArrowSchema schema;
    int at, id_at;                 /* columns; id_at -1: none */
    enum vector_elem elem;         /* as stored */
    uint32_t dim;
    int64_t n_read;                /* rows */
};
/**
 * @param column Name; NULL: the only vector column.
 * @param id     Name of an int64 column of ids; NULL: none. With ids rows without a vector are passed over, without
 *               they are GREBE_ESCHEMA.
 * @param out    search_reader_close(), also after a failure.
 */
grebe_status search_reader_open(struct ArrowArrayStream *rows, const char *column, const char *id,
                                struct search_reader *out, grebe_error *err);
void search_reader_close(struct search_reader *r);
/** Append the next batch; GREBE_END after the last. @param expected Rows that will come in all; 0: unknown. */
grebe_status search_reader_next(struct search_reader *r, size_t expected, struct search_column *c, grebe_error *err);
/** Every row. @param out search_column_release(), also after a failure. */
grebe_status search_column_read(const grebe_allocator *a, struct ArrowArrayStream *rows, const char *column,
                                const char *id, size_t expected, const struct call *call, struct search_column *out,
                                grebe_error *err);

#endif
