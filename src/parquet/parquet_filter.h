/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_FILTER_H
#define GREBE_PARQUET_PARQUET_FILTER_H

/* The bloom filter of a chunk, found in the file. */

#include "parquet/parquet_file.h"

struct pq_filter {
    uint64_t offset; /* of the bits in the file */
    size_t n_bytes;  /* 0: there is none that can be used */
};

/** Where the chunk's filter is: by its header, whether the chunk tells its length or not. */
grebe_status pq_filter_find(struct pq_reader *r, const struct pq_chunk *c, struct pq_filter *out,
                            grebe_error *err);

#endif
