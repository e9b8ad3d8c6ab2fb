/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_H
#define GREBE_BUILDER_BUILDER_H

/*
 * A loader of one kind of files ("csv", "json", …) behind one table of functions: which options it takes, what columns the files
 * have, and the rows of each file from any place on. builder.c has the list of all; builder_KIND.c one each.
 */

#include "feature/features.h"
#include "io/io.h"
#include "wire/json.h"

/** Files of one split. */
struct builder_files {
    const char *split;
    const char *const *paths; /* absolute; shape [n] */
    size_t n;
};

/** What a builder is made for. Borrowed until builder_free(). */
struct builder_request {
    const struct json_value *options; /* object; NULL: none */
    const struct features *features;  /* given by the caller; NULL: from the files */
    const struct builder_files *splits;
    size_t n_splits;
    const char *base; /* folder that paths in metadata are relative to */
    const grebe_call_options *call;
};

struct builder;
struct builder_base; /* what all loaders begin with: builder_internal.h */

/** Where a shard is read from: rows before it, and a place of the format's own (bytes, row group, batch). {0, 0}: the start. */
struct shard_place {
    int64_t row;
    uint64_t at;
};

struct shard_reader_ops {
    /** Next rows, of the builder's features' storage types (when those are known) or as found. GREBE_END. */
    grebe_status (*next)(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err);
    /** A place at or before the row that comes next: reading goes on from there after place.row rows, and (next row - place.row) to skip. */
    struct shard_place (*place)(void *self);
    int64_t (*next_row)(void *self); /* rows given out so far, counted from the start of the shard */
    void (*free)(void *self);
    /** Up to n rows left out without being read: how many. NULL: they are read and thrown away. */
    int64_t (*skip)(void *self, int64_t n);
};
struct shard_reader {
    const struct shard_reader_ops *ops;
    void *self;
};

struct builder_kind {
    const char *name;              /* "csv" */
    const char *const *extensions; /* ".csv", lower case, NULL-ended */
    const char *const *options;    /* names that it takes, NULL-ended */
    bool is_metadata_filtered;     /* folder modules: metadata files are among the data files */
    bool knows_features;           /* before rows are read (json, parquet, arrow): decides the unit of shuffling */
    size_t size; /* of its builder, which begins with a struct builder_base */
    const struct builder_ops *ops;
    /** What its options ask for; what comes before is zero. Also when it fails, ops->free is called. NULL: no options, all zero. */
    grebe_status (*set_up)(struct builder *b, grebe_error *err);
};

/** Head of every builder. */
struct builder_ops {
    /** Features from the first rows. NULL: they are known when the builder is opened. */
    grebe_status (*infer)(struct builder *b, grebe_error *err);
    /** Row groups and the like of a file that can be shards of their own; 1: none. */
    grebe_status (*parts_of_file)(struct builder *b, size_t split, size_t file, int64_t *n, grebe_error *err);
    /** part -1: the whole file. place: where to begin. */
    grebe_status (*read)(struct builder *b, size_t split, size_t file, int64_t part, struct shard_place place,
                         struct shard_reader *out, grebe_error *err);
    void (*free)(struct builder *b);
    /** Rows of one unit, a file or a member of a zip archive, from a place on: for builder_read_units. NULL: no kind of units. */
    grebe_status (*open_unit)(struct builder_base *b, struct region *bytes, const char *name, struct shard_place place,
                              struct shard_reader *out, grebe_error *err);
};
struct builder {
    const struct builder_ops *ops;
    const struct builder_kind *kind;
    grebe_context *ctx;
    /** Of the rows; NULL while they are not known before rows are read: then builder_infer() reads what it takes. */
    struct features *features;
};

const struct builder_kind *builder_find(const char *name); /* NULL: none */
/** GREBE_EINVAL for an option that the kind does not have (the nearest is named). */
grebe_status builder_open(grebe_context *ctx, const struct builder_kind *kind, const struct builder_request *request,
                          struct builder **out, grebe_error *err);
/** Features from the first rows, where they are not known yet. */
grebe_status builder_infer(struct builder *b, grebe_error *err);
void builder_free(struct builder *b); /* NULL accepted */
void shard_reader_free(struct shard_reader *r);

#endif
