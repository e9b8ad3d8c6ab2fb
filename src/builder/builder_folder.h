/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BUILDER_BUILDER_FOLDER_H
#define GREBE_BUILDER_BUILDER_FOLDER_H

/*
 * Folders of images, sounds and films: a row is a file, with the name of its folder as label, or a row of a metadata file
 * that names files. Decided once for all splits.
 */

#include "builder/builder_internal.h"
#include "expr/expr.h"

struct folder_media {
    const char *column, *type; /* "image", "Image" */
};

/** A metadata file: of a folder, or inside a zip archive. */
struct folder_metadata {
    size_t split;
    size_t file;      /* among the split's files: itself, or the archive */
    const char *path; /* of the file; inside an archive "ARCHIVE/MEMBER" */
    const char *in_zip; /* folder inside the archive with '/' behind, "" for its top; NULL: no archive */
};

/** What a column of metadata becomes. */
struct folder_column {
    const char *name, *media; /* "file_name", "image"; NULL: it stays */
    bool is_list;             /* "file_names" */
};

struct folder_builder {
    struct builder_base base;
    const struct folder_media *media;
    struct arena arena;
    bool has_labels, has_metadata;
    const char **labels; /* sorted; shape [n_labels] */
    size_t n_labels;
    struct folder_metadata *metadata; /* shape [n_metadata], by split and path */
    size_t n_metadata;
    struct builder *inner;         /* of the metadata files */
    struct builder_request request; /* the inner one's */
    struct json_value no_options;
    struct builder_files *inner_splits;
    struct io_store *memory;       /* metadata of archives; NULL: the files are read where they are */
    struct buf where;
    struct folder_column *columns; /* of the metadata; shape [n_columns] */
    size_t n_columns;
};

extern const struct folder_media folder_image, folder_audio, folder_video;

/** Whether the name, or the name without a last suffix, ends as files of the kind do. */
bool folder_is_media(const struct folder_media *m, const char *path);
bool folder_is_metadata(const struct folder_builder *b, const char *path);

/** Labels and metadata files of all splits: builder_folder_scan.c. */
grebe_status folder_scan(struct folder_builder *b, grebe_error *err);
/** The loader of the metadata files, and the features. */
grebe_status folder_open_metadata(struct folder_builder *b, grebe_error *err);

/** A path in metadata: relative, and inside of its folder; appended, normalised, to dst. GREBE_EINVAL. */
grebe_status folder_check_name(const char *name, size_t len, struct buf *dst, grebe_error *err);

/** The column of that name; NULL: it stays as it is. */
const struct folder_column *folder_media_column(const struct folder_builder *b, const char *name);

/** builder_ops.read. */
grebe_status folder_read(struct builder *base, size_t split, size_t file, int64_t part, struct shard_place place,
                         struct shard_reader *out, grebe_error *err);

/* ---- media as arrays: builder_folder_media.c ---- */

struct text_builder;
struct folder_files {
    struct folder_builder *b;
    const char *folder;        /* of the metadata, with '/' behind, or "" */
    const struct archive *zip; /* NULL: none */
    const struct name_index *members; /* of it, by name */
    const char *in_zip;
    const char *zip_path;
};
/** struct<bytes, path>, one value after another. */
struct media_builder;
grebe_status media_builder_new(const grebe_allocator *a, struct media_builder **out, grebe_error *err);
void media_builder_free(struct media_builder *m); /* NULL accepted */
grebe_status media_put_path(struct media_builder *m, const char *path, size_t len, grebe_error *err);
grebe_status media_put_bytes(struct media_builder *m, const void *bytes, size_t len, const char *path, grebe_error *err);
grebe_status media_put_null(struct media_builder *m, grebe_error *err);
grebe_status media_finish(struct media_builder *m, struct ArrowArray *out, grebe_error *err);
grebe_status media_schema(const grebe_allocator *a, const char *name, struct ArrowSchema *out, grebe_error *err);

/** Rows of metadata: file names become media. @param schema, rows Moved in, also on failure. */
grebe_status folder_convert(const struct folder_files *files, struct ArrowSchema *schema, struct ArrowArray *rows,
                            int64_t first_row, struct ArrowSchema *out_schema, struct ArrowArray *out, grebe_error *err);

#endif
