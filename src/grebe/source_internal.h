/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_SOURCE_INTERNAL_H
#define GREBE_GREBE_SOURCE_INTERNAL_H

#include "arrow/ipc.h"
#include "grebe/source.h"
#include "table/table_of_files.h"

struct source_many;
struct source_vdb;
struct source_dataset;

/** A table (a file is one, too), a stream that can be read once, or several of these, or a collection. */
struct grebe_source {
    grebe_context *ctx;
    grebe_source_kind kind;
    const char *format;
    grebe_table *table;             /* NULL for streams and many */
    struct source_many *many;       /* NULL: one source */
    struct source_vdb *vdb;         /* a collection of vectors; NULL: none */
    struct source_dataset *dataset; /* a saved data set; NULL: none */
    const struct file_format *file_format; /* of a file; NULL for others */
    struct buf path;                /* of a file */
    struct ArrowArrayStream stream; /* released once it was given away */
};

/* ---- streams: source_stream.c ---- */

grebe_status source_stream_of_file(struct grebe_source *s, struct io_store *store,
                                   const char *path, grebe_error *err);
grebe_status source_stream_of_callback(struct grebe_source *s, grebe_read_fn read, void *read_ctx,
                                       grebe_error *err);
/** The callback's bytes, up to the length asked for unless they end. @param out Owned: out->free(). */
grebe_status source_callback_bytes(struct grebe_source *s, grebe_read_fn read, void *read_ctx,
                                   struct ipc_source *out, grebe_error *err);
grebe_status source_stream_schema(struct grebe_source *s, struct ArrowSchema *out,
                                  grebe_error *err);
grebe_status source_stream_scan(struct grebe_source *s, const grebe_scan_options *options,
                                struct ArrowArrayStream *out, grebe_error *err);
/**
 * A file of a format read front to back, its columns by place: for files that a table cannot hold, because
 * two of their columns have one name. source_chunks.c
 *
 * @param reader Moved in on success.
 */
grebe_status source_stream_of_reader(struct grebe_source *s, struct format_reader *reader,
                                     grebe_error *err);

/* ---- rows out of a stream ---- */

/**
 * Columns, predicate, range and limit over the rows of a stream: source_select.c
 *
 * @param input Moved in on success.
 */
grebe_status select_stream(grebe_context *ctx, struct ArrowArrayStream *input,
                           const grebe_scan_options *options, struct ArrowArrayStream *out,
                           grebe_error *err);

/** A take that scans the source up to the last row asked for: source_take.c */
grebe_status source_take_from_scan(struct grebe_source *s, const int64_t *row_ids, size_t n,
                                   const grebe_take_options *options, struct ArrowArray *out,
                                   struct ArrowSchema *out_schema, grebe_error *err);

/* ---- packed files: source_packed.c ---- */

/** What follows "packed:"; NULL: the name has no such beginning. */
const char *source_packed_paths(const char *uri);
/** @param paths Files separated by commas, or a folder with files that end in .parquet. */
grebe_status source_packed_open(struct grebe_source *s, struct io_store *store, const char *paths,
                                grebe_error *err);

/** The format with random access that a file is of; NULL: none (text, streams, unknown). source_open.c */
grebe_status source_format_of(grebe_context *ctx, struct io_store *store, const char *path,
                              const char *format_name, const struct file_format **out,
                              grebe_error *err);

/* ---- text: source_text.c ---- */

/** The text format of that name ("csv", "tsv", "json", "jsonl", "ndjson"), static; NULL: none. */
const char *source_text_format(const char *name);
/** The text format that the ending of a path stands for, .gz and .zst left out; NULL: none. */
const char *source_text_format_of(const char *path);
/** @param format As source_text_format gave it. */
grebe_status source_text_of_file(struct grebe_source *s, const char *path, const char *format,
                                 const grebe_source_options *o, grebe_error *err);
/** o->read gives the bytes. */
grebe_status source_text_of_callback(struct grebe_source *s, const char *format,
                                     const grebe_source_options *o, grebe_error *err);

#endif
