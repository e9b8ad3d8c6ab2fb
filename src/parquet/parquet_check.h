/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_CHECK_H
#define GREBE_PARQUET_PARQUET_CHECK_H

#include "parquet/parquet_fetch.h"

/** Where the findings of a check go. */
struct pq_findings {
    check_fn fn;
    void *arg;
    char place[160];
};

/** Report under findings->place. */
void pq_find(const struct pq_findings *f, bool is_error, const char *fmt, ...) GREBE_PRINTF(3, 4);

/**
 * Decode the whole chunk of a leaf and hold statistics and column index against the values.
 *
 * @return GREBE_OK also with findings; GREBE_ENOMEM, GREBE_EIO, GREBE_ECANCELLED.
 */
grebe_status pq_check_values(const struct pq_chunk_data *c, const struct call *call,
                             struct pq_findings *f, grebe_error *err);

#endif
