/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_SOURCE_H
#define GREBE_SOURCE_H

/*
 * Anything that can be read as rows: a version of a table, a file of a known format, a stream
 * of Arrow IPC or of text (CSV, JSON; docs/format/text.md). What a name is, is found by looking at the content.
 */

#include "grebe/print.h"
#include "grebe/scan.h"
#include "grebe/table.h"
#include "grebe/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An opened source. */
typedef struct grebe_source grebe_source;

/** What a source turned out to be. */
typedef enum grebe_source_kind {
    GREBE_SOURCE_TABLE = 0, /**< a version of a table */
    GREBE_SOURCE_FILE = 1,  /**< a file with random access (Parquet) */
    GREBE_SOURCE_STREAM = 2, /**< read once, in order (Arrow IPC, text, standard input) */
    GREBE_SOURCE_MANY = 3    /**< several of these, one after the other */
} grebe_source_kind;

/** Reads up to len bytes of a stream. Returns 0 with *got (0 only at the end), or an errno value;
 *  EINTR ends the call that reads with GREBE_ECANCELLED. */
typedef int (*grebe_read_fn)(void *read_ctx, void *dst, size_t len, size_t *got);

/** How a source is opened. Fields beyond struct_size take their defaults. */
typedef struct grebe_source_options {
    uint32_t struct_size;

    /**
     * Format of a file or of standard input ("parquet", "arrow", "csv", "tsv", "json", "jsonl"); NULL: by
     * content, for text by the ending of the name. Borrowed.
     */
    const char *format;

    /** Called for the source "-"; NULL: "-" is refused. Used until the source is closed. */
    grebe_read_fn read;
    void *read_ctx;

    /** For tables (skip_checksums: also for files); NULL: defaults. Borrowed for the call. */
    const grebe_table_open_options *table;

    /** For text; NULL: defaults. Borrowed for the call. */
    const grebe_text_options *text;

    /** Token and threads while types are inferred; NULL: defaults. Borrowed for the call. */
    const grebe_call_options *call;

    /** Times that old Parquet files store in 96 bits: microseconds, rounded down, instead of nanoseconds
     *  (which hold 1677 to 2262 only; a time beyond fails the read). Files only. */
    bool is_int96_us;
} grebe_source_options;

#define GREBE_SOURCE_OPTIONS_INIT                       \
    {                                                   \
        sizeof(grebe_source_options), 0, 0, 0, 0, 0, 0, false \
    }

/**
 * Open a source.
 *
 * @param ctx     Borrowed; must outlive the source and its streams.
 * @param uri     A table's folder ("t", "t@5", "t@tag", "t@2026-11-29T12:00:00Z"), a file, "-",
 *                FORMAT:PATH ("parquet:data.bin"), a collection of vectors in a Git repository
 *                ("words.git#words", "words.git#words@REVISION"; grebe/gitvdb.h), a part of a preprocessed graph
 *                ("g#node:paper:feat", "g#edges"; docs/guide/graph.md), "packed:" with files or a folder (grebe/packed.h),
 *                or a pattern (grebe_source_open_many). Borrowed.
 * @param options Borrowed; NULL: defaults.
 * @param out     Owned by the caller, close with grebe_source_close(); NULL on failure.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EUNSUPPORTED (no format of this build fits; object
 *         stores); GREBE_ECORRUPT; GREBE_EINVAL; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_source_open(grebe_context *ctx, const char *uri,
                                                          const grebe_source_options *options,
                                                          grebe_source **out, grebe_error *err);

/**
 * Open several sources as one: the rows of the first, then those of the second, …. Columns are
 * matched by name: a column that a source lacks is null there, and a column has the type to which the
 * types of all sources widen without loss. Files of one format and schema are read as one table
 * (grebe_source_table() gives it).
 *
 * @param uris  Shape [n], n >= 1: as for grebe_source_open(), or patterns ("data/part-*.parquet",
 *              "logs/[0-9]?.csv"; a part of two stars is any number of folders), each standing for the
 *              names that it matches, in the order of their bytes; a name that exists is no pattern. Borrowed.
 * @param options, out, err As for grebe_source_open().
 * @return As grebe_source_open(); GREBE_ENOTFOUND (nothing matches a pattern); GREBE_ESCHEMA (types of
 *         a column that do not meet; the source and the column are named).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_source_open_many(grebe_context *ctx,
                                                               const char *const *uris, size_t n,
                                                               const grebe_source_options *options,
                                                               grebe_source **out, grebe_error *err);

/** @param source NULL is accepted. Streams and arrays that came from it stay valid. */
GREBE_API void grebe_source_close(grebe_source *source);

/** @return What the source is. */
GREBE_API grebe_source_kind grebe_source_kind_of(const grebe_source *source);

/** @return "table", "parquet", "arrow", …. Static string. */
GREBE_API const char *grebe_source_format(const grebe_source *source);

/** @return Whether the types of the columns were told from text (CSV, TSV, JSON, JSON lines). */
GREBE_API bool grebe_source_is_text(const grebe_source *source);

/** @return The table of a GREBE_SOURCE_TABLE (a file is one, too: a table of one file and no
 *          versions), borrowed from the source; NULL for a stream. */
GREBE_API const grebe_table *grebe_source_table(const grebe_source *source);

/**
 * @param source Borrowed.
 * @param out    Struct schema, owned by the caller; empty on failure.
 * @param err    Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOMEM; GREBE_ECORRUPT; GREBE_EIO.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_source_schema(grebe_source *source,
                                                            struct ArrowSchema *out,
                                                            grebe_error *err);

/**
 * Rows, where they are known without reading the source.
 *
 * @return The number of rows; -1 for a stream.
 */
GREBE_API int64_t grebe_source_num_rows(const grebe_source *source);

/** As grebe_table_scan(). A stream can be scanned once, a collection again and again; the row id is the position. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_source_scan(grebe_source *source,
                                                          const grebe_scan_options *options,
                                                          struct ArrowArrayStream *out,
                                                          grebe_error *err);

/** As grebe_table_take(). A stream is read through once. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_source_take(grebe_source *source,
                                                          const int64_t *row_ids, size_t n,
                                                          const grebe_take_options *options,
                                                          struct ArrowArray *out,
                                                          struct ArrowSchema *out_schema,
                                                          grebe_error *err);

/** As grebe_table_count(). A stream is read through once. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_source_count(grebe_source *source,
                                                           const grebe_scan_options *options,
                                                           int64_t *out, grebe_error *err);

/**
 * What the values of each column are like: one row a column of the scan, with
 *   column, type  text
 *   rows, nulls   int64
 *   nans          int64, null for types that have none
 *   distinct      int64, an estimate (about 1.6 % off), null where values have no order
 *   min, max      the values as text, null where there are none
 *   mean, std     double, of numbers and bools; std is that of a sample
 * Of lists and vectors, everything behind nulls is of their elements. NaN counts only as such.
 *
 * @param options As for grebe_source_scan().
 * @param out     Owned by the caller; empty on failure.
 * @return What grebe_source_scan() and its stream give.
 *
 * Cost: reads the columns asked for once, in constant memory.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_source_stats(grebe_source *source,
                                                           const grebe_scan_options *options,
                                                           struct ArrowArrayStream *out,
                                                           grebe_error *err);

/**
 * The anatomy of a file: footer, schema, chunks, encodings, sizes, page index, as one JSON object
 * (docs/json/inspect.md).
 *
 * @param ctx    Borrowed.
 * @param path   A file: Parquet, Arrow; of text and Arrow streams there are only the columns to tell. Borrowed.
 * @param format NULL: by content. Borrowed.
 * @param write  Called on the caller's thread, any number of times.
 * @param err    Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EUNSUPPORTED (other content); GREBE_ECORRUPT; GREBE_EIO;
 *         GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_file_inspect(grebe_context *ctx, const char *path,
                                                           const char *format,
                                                           grebe_write_fn write, void *write_ctx,
                                                           grebe_error *err);

/**
 * The same as rows: for Parquet one a column of a row group (row_group, column, type, codec, encodings,
 * values, nulls, stored_bytes, raw_bytes, pages, index, min, max), for Arrow files one a batch (batch, offset,
 * rows, metadata_bytes, body_bytes, compression), for text and streams one a column (column, type).
 *
 * @param ctx, path, format As for grebe_file_inspect().
 * @param out Owned by the caller; empty on failure.
 * @param err Details on failure; may be NULL.
 * @return As grebe_file_inspect().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_file_inspect_rows(grebe_context *ctx,
                                                                const char *path,
                                                                const char *format,
                                                                struct ArrowArrayStream *out,
                                                                grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
