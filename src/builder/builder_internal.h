/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_INTERNAL_H
#define GREBE_BUILDER_BUILDER_INTERNAL_H

/* What the loaders of all kinds have in common: options, the bytes of files, and rows that become those of the features. */

#include "archive/archive.h"
#include "builder/builder.h"

/** Head of every loader. Immutable once features are known, so that readers may be on many threads. */
struct builder_base {
    struct builder b;
    const struct builder_request *request; /* borrowed */
    struct io_store *store;
    struct call call;
    struct ArrowSchema storage; /* of b.features; none while these are unknown */
    bool is_given;              /* features came from the caller */
    size_t block_bytes;         /* option chunksize, where it counts bytes */
};

extern const struct builder_kind builder_csv, builder_json, builder_text, builder_parquet, builder_arrow, builder_conll,
    builder_xml, builder_imagefolder, builder_audiofolder, builder_videofolder, builder_webdataset;

/** As builder_ops.free: the head, and the memory of the whole. The last thing that the free of a kind does. */
void builder_base_free(struct builder *b);

/** Files come from this store, which is taken over, and not from the machine's disk. */
void builder_use_store(struct builder *b, struct io_store *store);

/** Takes the features over, also on failure. */
grebe_status builder_set_features(struct builder_base *b, struct features *f, grebe_error *err);
/** Features by the types of rows, and what metadata says of them. */
grebe_status builder_set_schema(struct builder_base *b, const struct ArrowSchema *schema, bool with_metadata,
                                grebe_error *err);

/* ---- files ---- */

/** Files of all splits, one after another. */
size_t builder_n_files(const struct builder_base *b);
const char *builder_file(const struct builder_base *b, size_t i);
const char *builder_path(const struct builder_base *b, size_t split, size_t file);

/** All bytes of a file: mapped where that is possible. */
grebe_status builder_map(struct builder_base *b, const char *path, struct region **out, grebe_error *err);
/** The content of bytes that may be compressed (one member): gzip, zstd, bzip2, xz, LZ4. */
grebe_status builder_expand(grebe_context *ctx, const char *name, struct region *bytes, struct region **out,
                            grebe_error *err);

/** A file as one unit of rows, or, for a zip archive, each of its members in sorted order. */
struct builder_units {
    struct builder_base *b;
    const char *path;
    struct region *bytes;  /* of the file */
    struct archive *zip;   /* NULL: none */
    size_t *order;         /* shape [n]: members */
    size_t n;
    struct buf name;       /* of the unit in hand */
};
grebe_status builder_units_open(struct builder_base *b, const char *path, struct builder_units *out, grebe_error *err);
/** @param bytes One reference. @param name For messages; borrowed until the next call. */
grebe_status builder_units_get(struct builder_units *u, size_t i, struct region **bytes, const char **name,
                               grebe_error *err);
void builder_units_close(struct builder_units *u);

/** As builder_ops.read: the rows of all units of a file, by builder_ops.open_unit. */
grebe_status builder_read_units(struct builder *b, size_t split, size_t file, int64_t part, struct shard_place place,
                                struct shard_reader *out, grebe_error *err);
/** As builder_ops.parts_of_file: none. */
grebe_status builder_one_part(struct builder *b, size_t split, size_t file, int64_t *n, grebe_error *err);

/* ---- options ---- */

/** The option; NULL: not given. */
const struct json_value *builder_option(const struct builder_base *b, const char *name);
/** As builder_option, where null counts as not given. */
const struct json_value *builder_option_set(const struct builder_base *b, const char *name);
/* Each leaves *out alone when the option is not given; GREBE_EINVAL naming option, expected and found. */
grebe_status builder_option_bool(const struct builder_base *b, const char *name, bool *out, grebe_error *err);
grebe_status builder_option_i64(const struct builder_base *b, const char *name, int64_t min, int64_t *out,
                                grebe_error *err);
grebe_status builder_option_text(const struct builder_base *b, const char *name, const char **out, grebe_error *err);
grebe_status builder_option_fail(const char *name, const char *expected, const struct json_value *found, grebe_error *err);

/* ---- rows ---- */

/**
 * Rows as found become rows of the features, where these are known.
 *
 * @param schema, rows Moved in, also on failure.
 * @param is_extra_dropped Columns that the features lack are left out; else they are an error.
 */
grebe_status builder_emit(const struct builder_base *b, const char *name, struct ArrowSchema *schema,
                          struct ArrowArray *rows, bool is_extra_dropped, int64_t first_row, struct ArrowSchema *out_schema,
                          struct ArrowArray *out, grebe_error *err);
/** Null types of `schema` become what `more` has in the same place. */
grebe_status builder_widen_nulls(const grebe_allocator *a, struct ArrowSchema *schema, const struct ArrowSchema *more,
                                 grebe_error *err);
/** Whether a null type is anywhere in it. */
bool builder_has_nulls(const struct ArrowSchema *schema);

#endif
