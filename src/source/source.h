/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_SOURCE_SOURCE_H
#define GREBE_SOURCE_SOURCE_H

/*
 * What a file format is to the rest of the library: "opens as rows, takes rows". A format
 * room (parquet, …) fills in these tables of functions; the list of all of them is put into
 * the context by src/grebe/. Tables and the command know formats only through this page.
 */

#include "arrow/arrow_stream.h"
#include "base/arena.h"
#include "expr/bounds.h"
#include "grebe/table.h"
#include "io/io.h"

/** What the opener already knows of a file; 0: unknown. Wrong hints cost time, never truth. */
struct file_hints {
    uint64_t file_size_bytes;
    uint64_t footer_size_bytes;
    bool is_int96_us; /* no hint but a wish: Parquet's INT96 as timestamp[us] instead of [ns] */
};

/** A finding of a check; `is_error` false: a warning. Text is borrowed for the call. */
typedef void (*check_fn)(void *arg, bool is_error, const char *place, const char *message);

/** What a file tells of the pages of a column in one chunk. */
struct page_bounds {
    struct arena arena; /* owns the arrays and what the bounds point to */
    size_t n;           /* pages; 0: nothing is told */
    const int64_t *row_begin; /* shape [n + 1]: rows of the chunk, from 0 to all of them */
    const struct column_bounds *bounds; /* shape [n] */
};

void page_bounds_release(struct page_bounds *p);

struct format_reader;

struct format_reader_ops {
    void (*close)(struct format_reader *r);

    /**
     * Columns `columns[0..n_columns)` (indices into r->schema; NULL: all) of the rows
     * [row_begin, row_end), which lie inside one chunk.
     *
     * @param out Struct array of row_end - row_begin rows, fields in the order asked. Buffers
     *            may be views of the mapped file. Owned by the caller; may outlive the reader.
     * Threads: safe from many threads on one reader. Uses only the caller's thread unless
     *          call->threads > 1.
     */
    grebe_status (*read)(struct format_reader *r, const int *columns, size_t n_columns,
                         int64_t row_begin, int64_t row_end, const struct call *call,
                         struct ArrowArray *out, grebe_error *err);

    /**
     * Rows by position. `rows` ascends (equal neighbours allowed), each in [0, n_rows).
     * Otherwise as read.
     */
    grebe_status (*take)(struct format_reader *r, const int *columns, size_t n_columns,
                         const int64_t *rows, int64_t n, const struct call *call,
                         struct ArrowArray *out, grebe_error *err);

    /** Bounds of a top-level column in a chunk; everything unset when the file does not tell. */
    grebe_status (*bounds)(struct format_reader *r, int column, size_t chunk,
                           struct column_bounds *out, grebe_error *err);

    /**
     * Bounds of the pages of a top-level column in a chunk; out->n is 0 when the file does not tell,
     * tells what cannot be true, or has one page. NULL: the format has no such bounds.
     *
     * @param out page_bounds_release(); also after a failure.
     */
    grebe_status (*page_bounds)(struct format_reader *r, int column, size_t chunk,
                                struct page_bounds *out, grebe_error *err);

    /**
     * Whether a filter of the file leaves it possible that a top-level column holds the value in the
     * chunk. *may is true when nothing is known. NULL: the format has no such filters.
     *
     * @param value As in struct column_bounds, shape [len].
     */
    grebe_status (*may_contain)(struct format_reader *r, int column, size_t chunk,
                                const void *value, size_t len, bool *may, grebe_error *err);

    /** Stored bytes of the columns in the chunk: what reading it costs. */
    uint64_t (*stored_bytes)(struct format_reader *r, const int *columns, size_t n_columns,
                             size_t chunk);

    /** Verify the file: structure, checksums, statistics; deep: every value is decoded. */
    grebe_status (*check)(struct format_reader *r, bool is_deep, const struct call *call,
                          check_fn fn, void *arg, grebe_error *err);

    /** The file's anatomy as one JSON object, appended to dst (docs/json/inspect.md). */
    grebe_status (*inspect)(struct format_reader *r, struct buf *dst, grebe_error *err);

    /**
     * Bytes that the columns (NULL: all) of the chunk take in memory, as the file tells. NULL op:
     * the format does not know. A chunk beyond the end gives 0, after what the file says of its
     * chunks was verified.
     */
    grebe_status (*memory_bytes)(struct format_reader *r, const int *columns, size_t n_columns,
                                 size_t chunk, uint64_t *out, grebe_error *err);

    /** The value of a key of the file's own metadata, borrowed from the reader; false: not there.
     *  NULL op: the format has no such pairs. */
    bool (*find_metadata)(struct format_reader *r, const char *key, const char **value,
                          size_t *len);
};

/** Head of every open file of rows. Immutable after open. */
struct format_reader {
    const struct format_reader_ops *ops;
    const struct file_format *format;
    grebe_context *ctx;
    struct ArrowSchema schema;   /* struct type; released by close */
    int64_t n_rows;
    size_t n_chunks;             /* units of reading (row groups) with at least one row each */
    const int64_t *chunk_begin;  /* shape [n_chunks + 1], ascending from 0 to n_rows */
    uint64_t file_size_bytes;
    bool skip_checksums; /* by the opener's wish, set before anything is read: they are not compared */
};

/** Chunk that holds the row: binary search. */
size_t format_chunk_of(const struct format_reader *r, int64_t row);

/** How files are written; every format takes what means something to it. */
struct format_write_options {
    const char *compression;       /* NULL: the format's default; "zstd", "lz4", "snappy", "gzip", "none" */
    int compression_level;         /* INT32_MIN: the codec's default */
    int64_t row_group_bytes;       /* in-memory bytes per row group; 0: default */
    int64_t row_group_rows;        /* most rows per group; 0: no such limit */
    int64_t expected_rows;         /* -1: unknown; lets the writer choose its group size */
    bool is_bulk;                  /* whole columns will be read: larger groups and pages */
    bool is_part;                  /* columns that are named below may be in another file */
    int32_t data_page_version;     /* 1 or 2; 0: default */
    int64_t page_bytes, page_rows; /* most of a scalar page; 0: default */
    bool is_without_statistics, is_without_page_index, is_without_checksums;
    const grebe_column_encoding *encodings; /* as in grebe_write_options */
    size_t n_encodings;
    const char *const *bloom_columns;
    size_t n_bloom_columns;
    double bloom_rate;             /* false positives; 0: default */
    bool is_without_dictionary;    /* values stand in pages as they are */
    bool is_profile_milvus;        /* exactly the reference's shapes (loon.md 5.6) */
    const struct key_value *metadata; /* written to the footer as given */
    size_t n_metadata;
    struct call call;
};

#define FORMAT_WRITE_OPTIONS_INIT \
    (struct format_write_options) { .compression_level = INT32_MIN, .expected_rows = -1 }

/** What the two have in common goes from one to the other; the rest of `out` stays. */
void format_write_options_from(const grebe_write_options *options,
                               struct format_write_options *out);

/** What a finished file is like. */
struct file_summary {
    int64_t n_rows;
    uint64_t file_size_bytes;
    uint64_t footer_size_bytes; /* as the Loon property footer_size counts; 0: none */
};

struct format_writer;

struct format_writer_ops {
    /** A batch of the writer's schema. Borrowed: not released, not kept. */
    grebe_status (*write)(struct format_writer *w, const struct ArrowArray *batch,
                          grebe_error *err);
    /** All that remains, and the footer. The io_writer is not published. */
    grebe_status (*finish)(struct format_writer *w, struct file_summary *out, grebe_error *err);
    void (*free)(struct format_writer *w);
};

struct format_writer {
    const struct format_writer_ops *ops;
};

/** A file format. Static data. */
struct file_format {
    const char *name;              /* "parquet": --file-format, manifest, uri prefix */
    const char *const *extensions; /* NULL-ended, without the dot */
    bool is_known_by_name; /* no signature: the ending of the name decides, before what the bytes might look like */
    bool is_for_tables; /* data files of tables may be of it: other programs that read tables know it */

    /** Whether the bytes look like this format: the first head_len and the last tail_len. */
    bool (*sniff)(const unsigned char *head, size_t head_len, const unsigned char *tail,
                  size_t tail_len);

    /** @param out Owned; out->ops->close(). */
    grebe_status (*open)(struct io_store *store, const char *path, const struct file_hints *hints,
                         struct format_reader **out, grebe_error *err);

    /** NULL: this format cannot be written. @param to Borrowed until the writer is freed. */
    grebe_status (*create)(grebe_context *ctx, struct io_writer *to,
                           const struct ArrowSchema *schema,
                           const struct format_write_options *options,
                           struct format_writer **out, grebe_error *err);
};

/** All that this build can open. Static data, set once by src/grebe/. */
struct source_registry {
    const struct file_format *const *formats; /* NULL-ended, in the order of sniffing */
};

/**
 * The format of a file by its first and last bytes; GREBE_EUNSUPPORTED when none fits (the
 * ending of the name is not looked at).
 */
grebe_status format_of_file(struct io_store *store, const char *path,
                            const struct file_format **out, grebe_error *err);

/** The format of that name; GREBE_EUNSUPPORTED naming what there is. */
grebe_status format_find(const grebe_context *ctx, const char *name,
                         const struct file_format **out, grebe_error *err);

#endif
