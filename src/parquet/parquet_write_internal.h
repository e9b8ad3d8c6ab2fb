/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_WRITE_INTERNAL_H
#define GREBE_PARQUET_PARQUET_WRITE_INTERNAL_H

/*
 * The writer's inside. Rows of a batch are shredded into one pw_chunk per leaf (levels and
 * dense physical values), a full row group's chunks are encoded to pages in memory, on several
 * threads, and written one after another by the calling thread. What a chunk's bytes are
 * depends on its values and the options alone, so the file is the same for any thread count.
 */

#include <assert.h>
#include <pthread.h>

#include "arrow/arrow_array.h"
#include "codec/codec_compress.h"
#include "parquet/parquet_meta.h"
#include "source/source.h"

enum {
    PW_ROWS_MULTIPLE = 64,          /* row groups are multiples of it, but the last */
    PW_GROUP_BYTES = 1 << 20,       /* in-memory bytes: one vector page a group */
    PW_GROUP_BYTES_BULK = 16 << 20, /* for files of many groups: keeps the footer small */
    PW_GROUP_BYTES_WHOLE = 8 << 20, /* for whole files, until they have many groups */
    PW_GROUP_BYTES_MAX = 1 << 30,   /* most that may be asked for; pages count in 32 bits */
    PW_GROUPS_BEFORE_BULK = 256,
    PW_GROUP_GROWTH_MAX = 4,        /* a group beyond so many times its target ends early */
    PW_PAGE_ROWS = 4096,            /* scalar pages: what a lookup decodes */
    PW_PAGE_BYTES = 64 << 10,
    PW_PAGE_ROWS_BULK = 20480,      /* where whole columns are read: fewer headers, better ratios */
    PW_PAGE_BYTES_BULK = 256 << 10,
    PW_PAGE_BYTES_MAX = 1 << 30,    /* most that may be asked for */
    PW_SPLIT_PAGE_BYTES = 256 << 10, /* vectors as packed byte streams; a stream to a block or more … */
    PW_SPLIT_PAGE_BYTES_BULK = 1 << 20, /* … is what makes them small */
    PW_VECTOR_PAGE_BYTES = 1 << 20,
    PW_VECTOR_PAGE_BYTES_BULK = 16 << 20, /* a page a chunk: read without a copy */
    PW_ALIGN = 64,                  /* of the values of an uncompressed vector page */
    PW_DICT_BYTES_MAX = 64 << 10,
    PW_DICT_BYTES_MAX_BULK = 512 << 10,
    PW_DICT_ASKED_BYTES_MAX = 1 << 20, /* where the input has a dictionary, or one is asked for */
    PW_DICT_SAMPLE = 1024,
    PW_SAMPLE_BYTES = 64 << 10,     /* of vectors that a codec is tried on */
    PW_BOUND_BYTES = 64,            /* strings in statistics are cut here */
    PW_LEVELS_MAX = 2 * ARROW_DEPTH_MAX + 2
};

/**
 * A codec is used only where it saves a quarter of the chunk: a page that can be addressed or
 * decoded at memory speed is worth more than the 18 % that zstd takes off typical columns. Of
 * the ways to store numbers the fastest to read is taken that needs at most 1.75 times the
 * bytes of the smallest (docs/decisions/0003).
 */
enum { PW_SAVING_PCT = 25, PW_SAVING_ASKED_PCT = 5, PW_NEAR_SMALLEST_PCT = 175 };

enum { PQ_ENCODING_ANY = -1 };

/* ---- schema: parquet_write_schema.c ---- */

enum pw_shape { PW_VALUE, PW_LIST, PW_STRUCT };

/** How a leaf's values lie in a chunk. */
enum pw_store {
    PW_BOOL,  /* one byte each */
    PW_FIXED, /* width bytes each, as PLAIN has them */
    PW_BYTES  /* end offsets (int64) and bytes */
};

/** Order of statistics. */
enum pw_order {
    PW_UNORDERED, PW_ORDER_BOOL, PW_ORDER_I32, PW_ORDER_U32, PW_ORDER_I64, PW_ORDER_U64,
    PW_ORDER_F16, PW_ORDER_F32, PW_ORDER_F64, PW_ORDER_BYTES, PW_ORDER_DECIMAL
};

/** A field on the way from a column to a leaf. */
struct pw_node {
    struct arrow_type type; /* of a dictionary-encoded field: of its values */
    enum pw_shape shape;
    bool is_dictionary;
    enum arrow_kind index_kind; /* is_dictionary */
    bool is_optional;
    uint8_t def;       /* level of a slot that is present here (list: not yet the elements) */
    uint8_t rep;       /* PW_LIST: repetition level of its elements */
    int32_t child;     /* which child of the Arrow field is next on the way */
    const char *name;  /* for messages */
};

struct pw_leaf {
    int32_t column; /* top-level field */
    uint8_t n_nodes;
    struct pw_node *nodes; /* shape [n_nodes]; the last one is the value */
    uint8_t max_def, max_rep;
    int32_t type;          /* enum pq_type */
    uint32_t width;        /* PW_FIXED: bytes of a value */
    enum pw_store store;
    enum pw_order order;
    bool is_utf8;
    bool is_dictionary;    /* the Arrow field is dictionary-encoded */
    bool is_integer;       /* DELTA_BINARY_PACKED is possible */
    bool is_number_list;   /* top-level list of numbers: may be vectors */
    bool is_blob;          /* fixed-size binary: addressed, not decoded */
    bool is_plain_binary;  /* milvus keeps no statistics of it */
    int32_t encoding;      /* asked for; PQ_ENCODING_ANY: chosen per chunk */
    bool has_bloom;        /* a bloom filter is asked for */
    struct pq_bytes *path; /* path_in_schema, shape [n_path] */
    int32_t n_path;
};

struct pw_schema {
    struct ArrowSchema arrow; /* owned copy */
    struct pw_leaf *leaves;
    uint32_t n_leaves;
    struct pq_schema_element *elements; /* depth first, root first */
    uint32_t n_elements;
};

/**
 * Arrays go to the arena; release frees the Arrow copy.
 *
 * @param is_milvus Decimals are fixed-length bytes as Arrow C++ writes them; else integers where
 *                  18 digits suffice, which every reader decodes faster.
 */
grebe_status pw_schema_build(const grebe_allocator *a, struct arena *ar,
                             const struct ArrowSchema *schema, bool is_milvus,
                             struct pw_schema *out, grebe_error *err);
void pw_schema_release(struct pw_schema *s);

/**
 * parquet_write_columns.c: what the options say of single columns goes to the leaves.
 *
 * @return GREBE_OK; GREBE_EINVAL (no such encoding or column; a type that the encoding or a bloom
 *         filter cannot hold: message names column, type and encoding).
 */
grebe_status pw_apply_columns(struct pw_schema *schema,
                              const struct format_write_options *options, grebe_error *err);

/* ---- input: parquet_write_input.c ---- */

/** Batches as they are given; columns that are written as another Arrow type are made anew. */
struct pw_input {
    const grebe_allocator *a;
    struct ArrowSchema given;     /* owned copy */
    bool *has_runs;               /* shape [given.n_children], as the others */
    struct ArrowArray *made;      /* values of such columns; empty between calls */
    struct ArrowArray **children; /* of the view */
    struct ArrowArray view;       /* of a batch with such columns */
    bool is_changed;              /* there is one */
};

/** The schema as it is written: values instead of runs. */
grebe_status pw_schema_written(const grebe_allocator *a, const struct ArrowSchema *given,
                               struct ArrowSchema *out, grebe_error *err);
/** The schema as ARROW:schema keeps it: less what readers cannot follow. */
grebe_status pw_schema_kept(const grebe_allocator *a, const struct pw_schema *schema,
                            struct ArrowSchema *out, grebe_error *err);
/** *in is zeroed before; release it on failure too. @param given Checked. */
grebe_status pw_input_init(struct pw_input *in, const grebe_allocator *a, struct arena *ar,
                           const struct ArrowSchema *given, grebe_error *err);
void pw_input_release(struct pw_input *in);
/** The batch, checked, in the written schema. @param out Valid until pw_input_end(). */
grebe_status pw_input_begin(struct pw_input *in, const struct ArrowSchema *written,
                            const struct ArrowArray *batch, const struct ArrowArray **out,
                            grebe_error *err);
void pw_input_end(struct pw_input *in);

/* ---- one column of one row group ---- */

enum pw_mode {
    PW_FLAT,   /* one slot a row; `valid` holds the nulls */
    PW_VECTOR, /* every row null or a list of `dim` non-null elements */
    PW_NESTED  /* levels spelled out */
};

/** Smallest and largest value of a range; positions are indices of values. */
struct pw_bounds {
    bool has;
    union pw_number {
        int64_t i;
        uint64_t u;
        double f;
    } min, max;
    int64_t min_at, max_at; /* orders by bytes */
    int64_t n_nan;
};

struct pw_page {
    int64_t row_begin, n_rows;
    int64_t slot_begin, n_slots;
    int64_t value_begin, n_values;
    int64_t unencoded_bytes; /* PW_BYTES: content without lengths */
    int32_t encoding;
    size_t body_begin, body_len;     /* raw levels and values in the scratch body */
    size_t rep_len, def_len;         /* of the levels without their lengths; v2: never compressed */
    size_t stored_begin, stored_len; /* what is written of it: there, or in the scratch packed */
    size_t head_len;             /* in-place chunks: header and levels at stored_begin of `out` */
    uint32_t crc;                /* of what is written */
    size_t offset, size;         /* with header, from the chunk's begin; known after assembly */
    struct pw_bounds bounds;
};

struct pw_chunk {
    const grebe_allocator *a;
    const struct pw_leaf *leaf;
    enum pw_mode mode;
    int64_t n_rows, n_slots, n_values, n_null_rows;
    int64_t dim;           /* PW_VECTOR; 0 until the first non-null row */
    struct buf valid;      /* PW_FLAT, PW_VECTOR: bitmap of rows; empty while there is no null */
    struct buf rep, def;   /* PW_NESTED: a byte a slot */
    struct buf values;     /* by leaf->store */
    struct buf ends;       /* PW_BYTES: int64_t [n_values] */
    struct buf scratch;    /* validity of dictionary-encoded input */
    /* Result of pw_chunk_encode. */
    struct buf pages;      /* struct pw_page */
    struct buf out;        /* bytes of the chunk; in place: without the values */
    bool is_in_place;      /* the values of the pages are written from `values` */
    size_t align_at;       /* offset in the chunk that must come to lie on a multiple of 64; */
    bool is_aligned;       /*   meant only if set */
    bool has_dictionary;   /* the chunk begins with a dictionary page of dictionary_size bytes */
    size_t dictionary_size;
    enum codec_id codec;
    int64_t uncompressed_size; /* headers included */
    struct pw_bounds bounds;
    bool has_min, has_max; /* min and max hold the chunk's bounds */
    bool is_min_exact, is_max_exact;
    struct buf min, max;
    struct buf column_index; /* encoded; empty: none */
    struct buf bloom;        /* header and bits; empty: none */
    int64_t unencoded_bytes;
};

static inline struct pw_page *pw_page_at(const struct pw_chunk *c, size_t i)
{
    return (struct pw_page *)(void *)c->pages.data + i;
}
static inline size_t pw_page_count(const struct pw_chunk *c)
{
    return c->pages.len / sizeof(struct pw_page);
}

void pw_chunk_init(struct pw_chunk *c, const grebe_allocator *a, const struct pw_leaf *leaf);
void pw_chunk_release(struct pw_chunk *c);
/** Forget the rows, keep the memory. */
void pw_chunk_clear(struct pw_chunk *c);

/* ---- shredding: parquet_write_shred.c ---- */

/** Rows [begin, begin + n) of the leaf's top-level column are added to the chunk. */
grebe_status pw_chunk_add(struct pw_chunk *c, const struct ArrowArray *column, int64_t begin,
                          int64_t n, grebe_error *err);

/* ---- values: parquet_write_values.c ---- */

/** Add n values from slot `begin` (offset already added), none of them null. */
grebe_status pw_values_add(struct pw_chunk *c, const struct pw_node *node,
                           const struct ArrowArray *array, int64_t begin, int64_t n,
                           grebe_error *err);
/** Index of dictionary-encoded slot i (offset added). */
int64_t pw_index_at(enum arrow_kind kind, const struct ArrowArray *array, int64_t i);
/** Bytes of value i of a PW_BYTES chunk, and its length. */
static inline const unsigned char *pw_bytes_at(const struct pw_chunk *c, int64_t i, size_t *len)
{
    const int64_t *ends = (const int64_t *)(const void *)c->ends.data;
    const int64_t begin = i > 0 ? ends[i - 1] : 0;

    assert(i < c->n_values);
    *len = (size_t)(ends[i] - begin);
    return c->values.data + begin;
}
/** The same of any chunk but one of booleans. */
static inline const unsigned char *pw_value_at(const struct pw_chunk *c, int64_t i, size_t *len)
{
    if (c->leaf->store == PW_BYTES) {
        return pw_bytes_at(c, i, len);
    }
    *len = c->leaf->width;
    return c->values.data + (size_t)i * c->leaf->width;
}
/** Content of values [begin, end) of a PW_BYTES chunk in bytes. */
int64_t pw_bytes_between(const struct pw_chunk *c, int64_t begin, int64_t end);

/* ---- encoding ---- */

/** What is the same for all chunks. */
struct pw_config {
    enum codec_id codec;  /* CODEC_NONE: nothing is compressed */
    int level;
    bool is_codec_asked;  /* the caller named it */
    bool is_milvus;
    bool is_v2;           /* data pages */
    bool is_without_statistics, is_without_page_index, is_without_checksums;
    int64_t page_rows, page_bytes; /* of scalar pages */
    int64_t split_page_rows, split_page_bytes; /* of vectors in packed byte streams */
    int64_t vector_page_bytes;
    size_t dictionary_bytes_max; /* 0: no dictionary */
    double bloom_rate;
};

/** Whether a codec pays for values, and on which form of them. */
enum pw_packing { PW_NOT_PACKED, PW_PACKED, PW_PACKED_SPLIT };

/** Memory of one worker; everything is empty between chunks. */
struct pw_scratch {
    struct pw_scratch *next;
    struct codec_workspace ws;
    struct buf body;   /* raw pages */
    struct buf packed; /* compressed pages */
    struct buf piece;  /* one encoded part */
    struct buf entries; /* dictionary: value numbers (int64_t) in order of their first appearance */
    struct buf index;   /* dictionary: uint32_t per value */
    struct buf table;   /* dictionary: hash table */
};

void pw_scratch_init(struct pw_scratch *s, const grebe_allocator *a);
void pw_scratch_release(struct pw_scratch *s);

/** Pages, statistics and column index of a full chunk. */
grebe_status pw_chunk_encode(struct pw_chunk *c, const struct pw_config *config,
                             struct pw_scratch *s, grebe_error *err);

/** parquet_write_page.c: one more page of n_rows rows after the last one. */
grebe_status pw_page_add(struct pw_chunk *c, int64_t n_rows, int32_t encoding, grebe_error *err);
/** Header of a data page whose lengths and checksum are set; padding as pq_page_header has it. */
grebe_status pw_page_header_put(const struct pw_page *p, const struct pw_config *config,
                                bool is_packed, uint32_t padding, struct buf *dst,
                                grebe_error *err);

/**
 * parquet_write_codec.c: decide how the raw pages in s->body are stored, and do it. Sets c->codec,
 * where each page is stored, and the encoding of pages that were split into byte streams.
 *
 * @param dictionary_stored Bytes of the dictionary page as stored.
 */
grebe_status pw_choose_codec(struct pw_chunk *c, const struct pw_config *config,
                             struct pw_scratch *s, size_t *dictionary_stored, grebe_error *err);

/**
 * parquet_write_codec.c: what the codec that was asked for makes of some values of a PW_FIXED chunk; floats
 * are tried as byte streams too.
 */
grebe_status pw_try_codec(const struct pw_chunk *c, const struct pw_config *config,
                          const unsigned char *values, size_t len, struct pw_scratch *s,
                          enum pw_packing *out, grebe_error *err);

/** parquet_write_vector.c: pages whose values can be addressed in the file. */
grebe_status pw_encode_addressable(struct pw_chunk *c, const struct pw_config *config,
                                   struct pw_scratch *s, grebe_error *err);
/** Bytes of such a chunk in order. */
typedef grebe_status (*pw_put_fn)(void *arg, const void *bytes, size_t len, grebe_error *err);
grebe_status pw_write_in_place(const struct pw_chunk *c, pw_put_fn put, void *arg,
                               grebe_error *err);
/** Append the repetition level bytes (without length) of n lists of dim elements. */
grebe_status pw_vector_levels(struct buf *dst, int64_t n, int64_t dim, grebe_error *err);

/** parquet_write_levels.c: level bytes of a page (v1: with their lengths); sets p->rep_len, def_len. */
grebe_status pw_levels_put(const struct pw_chunk *c, struct pw_page *p, bool is_v2,
                           struct buf *dst, struct buf *piece, grebe_error *err);
/** Add the page's levels to histograms of max level + 1 entries each. */
void pw_levels_count(const struct pw_chunk *c, const struct pw_page *p, int64_t *rep,
                     int64_t *def);
/** Nulls of the rows [begin, end) of a flat or vector chunk. */
int64_t pw_null_rows(const struct pw_chunk *c, int64_t begin, int64_t end);
/** The slots and values of rows [row_begin, row_begin + n_rows), which follow those of `before`
 *  (NULL: from the chunk's begin). */
void pw_page_range(const struct pw_chunk *c, const struct pw_page *before, int64_t n_rows,
                   struct pw_page *out);

/* parquet_write_encode.c: values of a page; append to dst. */
grebe_status pw_put_plain(const struct pw_chunk *c, int64_t begin, int64_t n, struct buf *dst,
                          grebe_error *err);
grebe_status pw_put_delta(const struct pw_chunk *c, int64_t begin, int64_t n, struct buf *dst,
                          grebe_error *err);
grebe_status pw_put_delta_length(const struct pw_chunk *c, int64_t begin, int64_t n,
                                 struct buf *dst, struct buf *piece, grebe_error *err);
grebe_status pw_put_delta_bytes(const struct pw_chunk *c, int64_t begin, int64_t n,
                                struct buf *dst, struct buf *piece, grebe_error *err);
grebe_status pw_put_split(const struct pw_chunk *c, int64_t begin, int64_t n, struct buf *dst,
                          grebe_error *err);
/** BOOLEAN as RLE, behind its length. */
grebe_status pw_put_rle_bools(const struct pw_chunk *c, int64_t begin, int64_t n, struct buf *dst,
                              struct buf *piece, grebe_error *err);
/** Bytes of values [begin, begin + n) in PLAIN. */
int64_t pw_plain_size(const struct pw_chunk *c, int64_t begin, int64_t n);

/* parquet_write_dictionary.c */
struct pw_dictionary {
    struct pw_scratch *s;
    const struct pw_chunk *c;
    size_t n_slots;
    int64_t n_values; /* how many were looked up */
    size_t size_bytes; /* PLAIN size of the entries */
};
grebe_status pw_dictionary_begin(struct pw_dictionary *d, const struct pw_chunk *c,
                                 struct pw_scratch *s, grebe_error *err);
/** Look up values [n_values, end). */
grebe_status pw_dictionary_add(struct pw_dictionary *d, int64_t end, grebe_error *err);
static inline size_t pw_dictionary_count(const struct pw_dictionary *d)
{
    return d->s->entries.len / sizeof(int64_t);
}
/** Bytes of the entries and of n indices. */
size_t pw_dictionary_size(const struct pw_dictionary *d, int64_t n);
/** The dictionary page's body; the body of index values [begin, begin + n). */
grebe_status pw_dictionary_put_entries(const struct pw_dictionary *d, struct buf *dst,
                                       grebe_error *err);
/** @param is_arrow In the runs that Arrow C++ writes. */
grebe_status pw_dictionary_put_index(const struct pw_dictionary *d, int64_t begin, int64_t n,
                                     bool is_arrow, struct buf *dst, grebe_error *err);

/**
 * parquet_write_choose.c: the encoding of all data pages. Where it is RLE_DICTIONARY,
 * c->has_dictionary is set and *d (d->s set before) holds all values.
 */
grebe_status pw_choose_encoding(struct pw_chunk *c, const struct pw_config *config,
                                struct pw_dictionary *d, int32_t *encoding, grebe_error *err);

/** parquet_write_bloom.c: c->bloom from the chunk's values (the scratch's entries, if it has a
 *  dictionary). */
grebe_status pw_chunk_bloom(struct pw_chunk *c, const struct pw_config *config,
                            struct pw_scratch *s, grebe_error *err);

/* ---- statistics: parquet_write_bounds.c ---- */

void pw_bounds_of(const struct pw_chunk *c, int64_t begin, int64_t end, struct pw_bounds *out);
/** Order of one bound of two ranges of the chunk. */
int pw_bound_compare(const struct pw_chunk *c, const struct pw_bounds *x,
                     const struct pw_bounds *y, bool is_max);
/** Bounds of all pages and of the chunk; dictionary as in pw_chunk_statistics. */
grebe_status pw_page_bounds(struct pw_chunk *c, const struct pw_config *config,
                            struct pw_scratch *s, grebe_error *err);

/* parquet_write_stats.c */

/** Fill bounds of all pages and of the chunk; min, max and the column index of the chunk. The scratch
 *  still holds the dictionary of a chunk that has one. */
grebe_status pw_chunk_statistics(struct pw_chunk *c, const struct pw_config *config,
                                 struct pw_scratch *s, grebe_error *err);
/** The bytes of one bound. *has false: there is no legal bound of at most cut_len bytes. */
grebe_status pw_bound_bytes(const struct pw_chunk *c, const struct pw_bounds *b, bool is_max,
                            size_t cut_len, struct buf *dst, bool *is_exact, bool *has,
                            grebe_error *err);

/* ---- the file ---- */

/** One row group in the making. */
struct pw_group {
    struct pw_chunk *chunks; /* shape [n_leaves] */
    int64_t n_rows;
    int64_t n_bits;          /* in memory, as the plan counts; profile milvus: n_bytes alone */
    int64_t n_bytes;
    bool is_full;            /* encode and write */
};

/** A part of a batch that goes to one group. */
struct pw_piece {
    struct pw_group *group;
    int64_t begin, n;
};

struct pw_writer {
    struct format_writer base;
    grebe_context *ctx;
    const grebe_allocator *a;
    struct io_writer *to;
    struct call call;
    struct pw_config config;
    struct arena arena; /* schema and footer */
    struct pw_input input;
    struct pw_schema schema;
    int64_t group_bytes, group_rows_max, expected_rows;
    bool is_group_bytes_given;
    int64_t group_rows; /* 0 until the first rows came */
    struct pw_group *groups; /* shape [n_groups_max]; groups[0] is the one being filled */
    size_t n_groups_max;
    struct pw_piece *pieces; /* shape [n_groups_max] */
    size_t n_pieces;
    const struct ArrowArray *batch; /* during write */
    pthread_mutex_t lock;           /* guards `idle` */
    bool has_lock;
    struct pw_scratch *idle;
    int64_t n_rows;
    uint64_t position;
    struct buf row_groups;     /* struct pq_row_group */
    struct buf blooms;         /* headers and bits, one after another */
    struct buf column_indexes; /* encoded, one after another */
    struct buf offset_indexes;
    struct buf milvus_groups;  /* text of row_group_metadata */
    struct pq_key_value *metadata;
    size_t n_metadata;
    bool is_failed, is_finished;
};

/** parquet_write_plan.c: cut the rows of a batch from *begin on into pieces[0..n_pieces). */
grebe_status pw_plan(struct pw_writer *w, int64_t *begin, grebe_error *err);

/** parquet_write_footer.c: bytes of a full group go to the file, its metadata to the footer. */
grebe_status pw_group_write(struct pw_writer *w, struct pw_group *g, grebe_error *err);
grebe_status pw_footer_write(struct pw_writer *w, struct file_summary *out, grebe_error *err);
grebe_status pw_metadata_keep(struct pw_writer *w, const struct format_write_options *options,
                              grebe_error *err);

#endif
