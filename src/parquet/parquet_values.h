/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_VALUES_H
#define GREBE_PARQUET_PARQUET_VALUES_H

/* What the decoders of value sections share: parquet_values.c, parquet_values_bytes.c. */

#include "parquet/parquet_column.h"

/** The value section of one page, and what is wanted of it. */
struct pq_source {
    const struct pq_chunk_data *c;
    const struct pq_page *page;
    const unsigned char *bytes;
    size_t len;
    uint32_t n_present;
    const struct pq_run *runs;
    size_t n_runs;
    size_t n_wanted; /* values in the runs */
    size_t n_head;   /* values up to the end of the last run */
    struct pq_scratch *s;
    grebe_error *err;
};

grebe_status pq_source_wrong_encoding(const struct pq_source *in);

/** The first n_head indices, each checked against the dictionary, which is loaded when it is not yet. */
grebe_status pq_source_indices(const struct pq_source *in, struct pq_out *out,
                               struct pq_dictionary *d, uint32_t **index);

/** DELTA_BYTE_ARRAY: the first n_head values with their offsets. bytes: buf_release(). */
grebe_status pq_source_delta_strings(const struct pq_source *in, const struct pq_out *out,
                                     size_t fixed_len, int32_t **offsets, struct buf *bytes);

/** Byte strings of any encoding. */
grebe_status pq_values_read_strings(const struct pq_source *in, struct pq_out *out,
                                    struct pq_dictionary *d);

#endif
