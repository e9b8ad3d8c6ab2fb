/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_PAGE_H
#define GREBE_PARQUET_PARQUET_PAGE_H

/* The pages of one column chunk: directory, checksums, decompression, parts. */

#include "codec/codec_compress.h"
#include "parquet/parquet_file.h"
#include "parquet/parquet_levels.h"

/** Memory that a worker uses again and again; content is lost when it grows. */
struct pq_space {
    void *p;
    size_t capacity;
};

/** Working memory of one thread. */
struct pq_scratch {
    const grebe_allocator *a;
    struct codec_workspace codec;
    struct pq_space body, rep, def, bits, index, values, offsets, rows, runs, value_runs;
};

void pq_scratch_init(struct pq_scratch *s, const grebe_allocator *a);
void pq_scratch_release(struct pq_scratch *s);
/** Bytes held. */
size_t pq_scratch_bytes(const struct pq_scratch *s);
/** size bytes (64 more are readable behind them); NULL: no memory, err is filled. */
void *pq_space_get(struct pq_scratch *s, struct pq_space *space, size_t size, grebe_error *err);

/** A chunk whose bytes are at hand. */
struct pq_chunk_data {
    struct pq_reader *reader;
    size_t chunk;
    const struct pq_leaf *leaf;
    const struct pq_chunk *meta;
    enum codec_id codec;
    uint64_t start;             /* file offset of bytes[0] */
    const unsigned char *bytes; /* shape [len] */
    size_t len;
    struct region *owner;
    struct pq_pages *pages;
};

/**
 * @param out Released with pq_chunk_close(), also after a failure.
 * @return GREBE_OK; GREBE_EUNSUPPORTED (encrypted, unknown codec, …); GREBE_ECORRUPT.
 */
grebe_status pq_chunk_open(struct pq_reader *r, size_t chunk, uint32_t leaf,
                           struct pq_scratch *s, struct pq_chunk_data *out, grebe_error *err);
void pq_chunk_close(struct pq_chunk_data *c);

/** Put "page at <offset>" in front of a message. */
grebe_status pq_page_wrap(const struct pq_chunk_data *c, const struct pq_page *page,
                          grebe_status st, grebe_error *err);

/** The parts of a page's body, decompressed. */
struct pq_page_view {
    struct pq_levels rep, def;
    const unsigned char *values;
    size_t values_len;
};

/** Check the page's checksum unless that was done before. */
grebe_status pq_page_verify(const struct pq_chunk_data *c, struct pq_page *page,
                            grebe_error *err);

/** @param view Valid until the scratch is used for the next page. */
grebe_status pq_page_open(const struct pq_chunk_data *c, struct pq_page *page,
                          struct pq_scratch *s, struct pq_page_view *view, grebe_error *err);

/** The bytes of the dictionary page, decompressed into dst, shape [raw_len]. */
grebe_status pq_dictionary_read(const struct pq_chunk_data *c, struct pq_scratch *s,
                                const unsigned char **bytes, size_t *len, grebe_error *err);

/**
 * Whether the page's values lie in the stored bytes as they are: PLAIN, not compressed, no
 * nulls, fixed width; for a list: all of one length. Found out once, remembered in the page.
 *
 * @param values Where they begin; NULL when the answer is no.
 */
grebe_status pq_page_dense(const struct pq_chunk_data *c, struct pq_page *page,
                           const unsigned char **values, grebe_error *err);

/** Page that holds the row (of the row group): the last one with first_row <= row that begins a row. */
uint32_t pq_page_of_row(const struct pq_pages *p, int64_t row);

/** With what is kept of its pages. NULL is accepted: parquet_file.c. */
void pq_pages_free(const grebe_allocator *a, struct pq_pages *p);

/** Directory from the page headers: parquet_pages.c. */
grebe_status pq_pages_build(const struct pq_chunk_data *c, struct pq_scratch *s,
                            struct pq_pages **out, grebe_error *err);

/** The chunk's offset index, checked against itself; out->n is 0 when there is none to use. */
grebe_status pq_offset_index_read(struct pq_reader *r, const struct pq_chunk *meta,
                                  struct arena *ar, struct pq_offset_index *out,
                                  grebe_error *err);

#endif
