/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_FILE_H
#define GREBE_PARQUET_PARQUET_FILE_H

/*
 * An open Parquet file: what is known of it, shared through the context's cache, and the
 * reader that one user holds.
 *
 * Invariants
 *  1. A struct pq_file is immutable after it is made, except for page directories (set once by
 *     compare-and-swap), the facts of pages (bits that are only ever set), their ranks and the
 *     sizes of row groups (both set once).
 *  2. It holds no file and no map: those belong to the reader. What it says is true of the
 *     bytes with its identity only, and the identity is compared at each open.
 *  3. What the metadata says of a chunk is checked when the chunk is opened, not before: one
 *     bad column leaves the others readable.
 */

#include <stdatomic.h>

#include "parquet/parquet_schema.h"
#include "source/source.h"

enum pq_application { PQ_APP_OTHER = 0, PQ_APP_MR, PQ_APP_CPP };

/** Who wrote the file, for the bug table of spec 8.2. */
struct pq_writer_version {
    enum pq_application application;
    int32_t major, minor, patch;
};

/** Facts of a page that were found out when it was first touched. */
enum {
    PQ_PAGE_CRC_IS_RIGHT = 1, /* or there is none */
    PQ_PAGE_IS_DENSE = 2,     /* values lie one after another in the stored bytes, none is null */
    PQ_PAGE_IS_NOT_DENSE = 4,
    PQ_PAGE_IS_NOT_RANKED = 8, /* no struct pq_rank can be made of it */
    PQ_PAGE_FACT_SHIFT = 8    /* above: offset of the values in the page's body, if dense */
};

struct pq_rank;

/** One data page. Everything but `facts` and `rank` comes from its header. */
struct pq_page {
    uint64_t offset; /* of the header, in the chunk's bytes */
    uint32_t header_len;
    uint32_t body_len; /* stored */
    uint32_t raw_len;  /* decompressed */
    uint32_t crc;
    uint32_t n_values;
    uint32_t n_rows;   /* rows that begin in it */
    int64_t first_row; /* of the row group */
    uint32_t def_len, rep_len; /* v2 */
    uint8_t encoding;          /* 255: a number that is none */
    uint8_t def_encoding, rep_encoding; /* v1 */
    bool has_crc, is_v2, is_compressed;
    bool begins_inside_row; /* its first entries go on with the row before */
    atomic_uint_fast64_t facts;
    _Atomic(struct pq_rank *) rank; /* set once: parquet_rank.h */
};

/** The pages of one chunk in their order. */
struct pq_pages {
    size_t size_bytes;
    uint32_t n;
    bool has_dictionary;
    struct pq_page dictionary;
    struct pq_page pages[];
};

struct pq_group {
    uint32_t index; /* of footer.row_groups */
    int64_t row_begin, n_rows;
    /* Directories by leaf, made when a chunk is first touched. */
    _Atomic(_Atomic(struct pq_pages *) *) pages;
};

struct pq_file {
    struct cache_value cached;
    const grebe_allocator *a;
    struct io_identity id;
    struct arena arena;
    unsigned char *footer_bytes; /* in the arena */
    uint64_t footer_start, footer_len;
    struct pq_footer footer;
    struct pq_schema schema;
    struct pq_writer_version writer;
    int64_t n_rows;
    size_t n_chunks;
    struct pq_group *groups; /* those with rows, shape [n_chunks] */
    int64_t *chunk_begin;    /* shape [n_chunks + 1] */
    const struct pq_bytes *group_sizes_text; /* value of row_group_metadata; NULL: not there */
    _Atomic(uint64_t *) group_sizes; /* what it says, shape [footer.n_row_groups]; NULL: not read yet */
};

struct pq_scratch;

struct pq_reader {
    struct format_reader base;
    struct pq_file *file; /* one reference */
    struct io_shared_file *io;
    _Atomic(struct pq_scratch *) spare; /* working memory that the next call may use */
};

/** The value of the first key-value pair of this key; NULL: none. parquet_loon.c */
const struct pq_bytes *pq_file_value(const struct pq_file *f, const char *key);

/** file_format.open of Parquet. */
grebe_status pq_open(struct io_store *store, const char *path, const struct file_hints *hints,
                     struct format_reader **out, grebe_error *err);

static inline const struct pq_chunk *pq_chunk_of(const struct pq_file *f, size_t chunk,
                                                 uint32_t leaf)
{
    return &f->footer.row_groups[f->groups[chunk].index].columns[leaf];
}

/** Stored bytes of a chunk, [start, start + len). len 0: it has none. */
struct pq_range {
    uint64_t start, len;
};
struct pq_range pq_chunk_range(const struct pq_file *f, const struct pq_chunk *c);

/**
 * Whether the chunk of the leaf in g can be read at all: not encrypted, not elsewhere, and its
 * metadata makes sense (spec 12.2). Messages do not name the column.
 */
grebe_status pq_chunk_check(const struct pq_file *f, const struct pq_row_group *g,
                            const struct pq_leaf *leaf, grebe_error *err);

/** Whether the writer is `application` before major.minor.patch. */
bool pq_writer_is_before(const struct pq_writer_version *v, enum pq_application application,
                         int32_t major, int32_t minor, int32_t patch);

/**
 * len bytes at offset: of the map, or read into a heap block.
 *
 * @param owner One reference, keeps *bytes; region_drop().
 */
grebe_status pq_bytes_get(struct pq_reader *r, uint64_t offset, uint64_t len,
                          const unsigned char **bytes, struct region **owner, grebe_error *err);

#endif
