/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_DECODER_H
#define GREBE_PARQUET_PARQUET_DECODER_H

/* What the decoders of Parquet's Thrift structs share. */

#include "parquet/parquet_meta.h"
#include "wire/thrift.h"

struct pq_decoder {
    struct thrift_reader r;
    struct arena *ar;
    bool is_out_of_memory;
    const char *limit; /* what was too many; NULL: nothing */
    uint32_t limit_value, limit_found;
    uint32_t n_schema;
};

/** n * elem_size zeroed bytes of the arena; NULL after a fault that says so. */
void *pq_decode_array(struct pq_decoder *d, size_t n, size_t elem_size);
/** Whether n <= limit; a fault otherwise. `what` is plural. */
bool pq_decode_within(struct pq_decoder *d, uint32_t n, uint32_t limit, const char *what);
/** The status that fits what happened. */
grebe_status pq_decode_finish(struct pq_decoder *d, const char *what, grebe_error *err);
bool pq_decode_bytes(struct pq_decoder *d, const struct thrift_field *f, struct pq_bytes *out);
/** NULL, and *n 0, when the field is no list of integers. */
const int64_t *pq_decode_i64_list(struct pq_decoder *d, const struct thrift_field *f,
                                  uint32_t *n);

/** Statistics of a chunk or of a page; bytes are borrowed. *s begins as pq_statistics_init() leaves it. */
void pq_decode_statistics(struct pq_decoder *d, struct pq_statistics *s);

/* A struct's required fields by bits of their ids. */
static inline uint32_t pq_field_bit(int32_t id) { return id >= 0 && id < 32 ? 1u << id : 0; }
void pq_decode_require(struct pq_decoder *d, uint32_t seen, uint32_t wanted, const char *fault);

#endif
