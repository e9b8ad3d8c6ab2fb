/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_RANK_H
#define GREBE_PARQUET_PARQUET_RANK_H

/*
 * Rows among nulls, found by arithmetic. The values of an open page (PLAIN, not compressed, of
 * fixed width) lie one after another, the nulls left out: where a row's are follows from how
 * many rows before it hold something. A bitmap with counts tells that; it is made when single
 * rows of a page are first taken, and kept with what is known of the file: some 1.1 bits a row.
 */

#include "parquet/parquet_page.h"

enum { PQ_RANK_BLOCK = 512 }; /* rows between two counts */

struct pq_rank {
    size_t size_bytes;
    uint32_t n_rows;
    uint32_t n_present;    /* rows that are not null */
    uint32_t per_row;      /* values of a row that is not null; 0: there is none */
    uint32_t value_offset; /* in the page's body */
    const uint8_t *bits;   /* shape [(n_rows + 7) / 8] */
    uint32_t before[];     /* rows that are not null before each block */
};

/**
 * Which rows hold a list, when all lists have one length and no null elements.
 *
 * @param rep, def Shape [page->n_values].
 * @param bits     Written, shape [(n_rows + 7) / 8].
 * @param len      In: the length to test for, 0: any; out: what was found.
 * @return false: the page holds something else.
 */
bool pq_find_lists(const struct pq_leaf *leaf, const struct pq_page *page, const uint8_t *rep,
                   const uint8_t *def, uint8_t *bits, uint32_t *len, uint32_t *n_lists);

/**
 * What is known of the page, or found out now.
 *
 * @param may_make false: only if it is there.
 * @param out      Borrowed from the file; NULL: the page is not of that kind.
 * @return GREBE_OK; GREBE_ECORRUPT (checksum, levels); GREBE_ENOMEM.
 */
grebe_status pq_rank_get(const struct pq_chunk_data *c, struct pq_page *page,
                         struct pq_scratch *s, bool may_make, const struct pq_rank **out,
                         grebe_error *err);

/** Rows before `row` that are not null. */
uint32_t pq_rank_before(const struct pq_rank *r, int64_t row);

#endif
