/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_HDF5_HDF5_INTERNAL_H
#define GREBE_HDF5_HDF5_INTERNAL_H

/*
 * Reading is ours, from the bytes: libhdf5 1.10 crashes on files that were made to harm it, and its state belongs to the
 * process (docs/decisions/). What is read here is what programs write: every superblock, both kinds of object headers,
 * groups as symbol tables or compact links, contiguous, compact and chunked data. What else the format has is refused by name.
 * (HDF5 File Format Specification 3.0; docs/format/hdf5.md)
 */

#include <pthread.h>

#include "hdf5/hdf5_file.h"
#include "io/io.h"

enum {
    HDF5_DATA_MAX = 4096,   /* data sets of a root group */
    HDF5_FILTERS_MAX = 8,
    HDF5_FILL_MAX = 16
};
static const uint64_t HDF5_NOWHERE = UINT64_MAX; /* the undefined address */

enum hdf5_index { HDF5_NO_CHUNKS = 0, HDF5_BTREE_1, HDF5_SINGLE, HDF5_IMPLICIT, HDF5_FIXED_ARRAY };

struct hdf5_chunk {
    uint64_t at;   /* in the file; HDF5_NOWHERE: never written */
    uint32_t size; /* as stored */
    uint32_t mask; /* filters that were left out */
};

/** How the values of a data set are stored. */
struct hdf5_stored {
    enum hdf5_index index;
    uint64_t index_at;        /* chunks; HDF5_NOWHERE: none was written */
    uint64_t chunk[2];        /* rows and columns of a chunk; 1 where there is no second dimension */
    unsigned page_bits;       /* FIXED_ARRAY */
    struct hdf5_chunk single; /* SINGLE */
    unsigned n_filters;
    uint16_t filters[HDF5_FILTERS_MAX];
    unsigned char fill[HDF5_FILL_MAX]; /* zero unless the file says otherwise */
    struct hdf5_chunk *chunks; /* shape [grid[0]][grid[1]]; NULL: not yet read. Guarded by the file's lock */
    uint64_t grid[2];
};

struct hdf5_entry {
    struct hdf5_data d; /* first: what callers hold is a pointer to it */
    struct hdf5_stored s;
};

struct hdf5_file {
    grebe_context *ctx;
    struct io_store *store; /* owned; NULL: the caller's */
    struct io_file *bytes;
    uint64_t base;        /* addresses count from here */
    uint64_t root;        /* object header of the root group */
    unsigned n_offset, n_length; /* bytes of an address and of a length */
    struct buf data;      /* struct hdf5_entry, in name order */
    pthread_mutex_t lock;
};

/* ---- bytes: hdf5_meta.c ---- */

/** n bytes at an address of the file; GREBE_ECORRUPT beyond its end. */
grebe_status hdf5_at(struct hdf5_file *f, uint64_t address, void *dst, uint64_t n, const char *what, grebe_error *err);
/** An address or a length: its bytes, all ones as HDF5_NOWHERE. */
uint64_t hdf5_number(const unsigned char *p, unsigned n);
grebe_status hdf5_damaged(grebe_error *err, const char *what, uint64_t address);

/** Signature, version, sizes, end: fills base, root, n_offset, n_length. */
grebe_status hdf5_superblock_read(struct hdf5_file *f, grebe_error *err);

/** A message of an object header: its bytes, and where in the file they stand. GREBE_END ends the walk well. */
typedef grebe_status (*hdf5_message_fn)(void *arg, unsigned type, bool is_shared, const unsigned char *p, size_t n,
                                        uint64_t file_offset, grebe_error *err);
grebe_status hdf5_messages(struct hdf5_file *f, uint64_t header, hdf5_message_fn fn, void *arg, grebe_error *err);

/* ---- groups: hdf5_group.c ---- */

/** A hard link of the root group; name is NUL-terminated. */
typedef grebe_status (*hdf5_link_fn)(void *arg, const char *name, uint64_t header, grebe_error *err);
grebe_status hdf5_links(struct hdf5_file *f, hdf5_link_fn fn, void *arg, grebe_error *err);

/* ---- types: hdf5_type.c ---- */

struct hdf5_type {
    struct hdf5_data d;       /* cls, type_name, size, is_big_endian alone */
    bool is_variable;         /* text of any length */
    bool is_space_padded;
};
/** What is unknown is HDF5_OTHER. false: no type at all. */
bool hdf5_type_read(const unsigned char *p, size_t n, struct hdf5_type *out);

/** Rank and dimensions. false: damaged. @param dims Shape [32]. *is_null: a space without any element. */
bool hdf5_space_read(const struct hdf5_file *f, const unsigned char *p, size_t n, unsigned *rank, uint64_t *dims,
                     bool *is_null);

/* ---- data sets: hdf5_layout.c, hdf5_chunks.c ---- */

/** Fill e from the object header. *is_data false: it is no data set. */
grebe_status hdf5_describe(struct hdf5_file *f, const char *name, uint64_t header, struct hdf5_entry *e, bool *is_data,
                           grebe_error *err);
/** The index of the chunks into s->chunks; under the lock. */
grebe_status hdf5_chunks_load(struct hdf5_file *f, struct hdf5_entry *e, grebe_error *err);
/** A chunk's values as stored in memory. @param dst Shape [bytes]. */
grebe_status hdf5_chunk_read(struct hdf5_file *f, const struct hdf5_entry *e, const struct hdf5_chunk *c, size_t bytes,
                             unsigned char *dst, struct buf *scratch, grebe_error *err);
/** NULL: this filter can be undone; else its name. */
const char *hdf5_filter_unknown(uint16_t id);

/** n little-endian elements of the stored type as the memory type; GREBE_ELIMIT: a value does not fit, *bad is its place. */
grebe_status hdf5_convert(const struct hdf5_data *d, const void *src, size_t n, enum hdf5_memory memory, void *dst,
                          size_t *bad, grebe_error *err);

#endif
