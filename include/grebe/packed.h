/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PACKED_H
#define GREBE_PACKED_H

/*
 * Packed files: rows of Milvus's second storage format. One Parquet file a column group, no
 * manifest; fields are known by their number (the metadata key "PARQUET:field_id"), and every
 * file's footer tells the numbers of all groups (docs/format/packed.md).
 */

#include "grebe/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which fields of packed files. Fields beyond struct_size take their defaults. */
typedef struct grebe_packed_options {
    uint32_t struct_size;

    /** Struct schema of the fields wanted, in this order, each with its number; a field that no file
     *  has is null in every row. NULL: as field_ids says. Borrowed. */
    const struct ArrowSchema *schema;

    /** Numbers wanted, in this order, when there is no schema; one that no file has gives a column of
     *  type null. NULL: every field of the files, in the order of their groups. Shape
     *  [n_field_ids]. Borrowed. */
    const int64_t *field_ids;
    size_t n_field_ids;
} grebe_packed_options;

#define GREBE_PACKED_OPTIONS_INIT                          \
    {                                                      \
        sizeof(grebe_packed_options), 0, 0, 0              \
    }

/**
 * Open packed files as if they were a table (of version 0).
 *
 * @param ctx     Borrowed; must outlive the table.
 * @param paths   A file of each group, in any order; groups may be left out. Files with the same fields
 *                are one group, their rows follow one another. Shape [n_paths]. Borrowed.
 * @param options Borrowed; NULL: every field.
 * @param out     Owned by the caller, close with grebe_table_close(); NULL on failure. Columns are
 *                called as in the files; by the number where a name is empty or there twice.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT (no Parquet file; the keys group_field_id_list,
 *         row_group_metadata, storage_version missing or wrong; fields without a number; groups of
 *         unequal length); GREBE_ESCHEMA (types of one field); GREBE_EINVAL (number asked for twice,
 *         schema without numbers); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_packed_open(grebe_context *ctx,
                                                          const char *const *paths,
                                                          size_t n_paths,
                                                          const grebe_packed_options *options,
                                                          grebe_table **out, grebe_error *err);

/**
 * Write rows as packed files.
 *
 * @param paths      One file for each group. Shape [n_paths]. Borrowed. Files of these names are
 *                   replaced.
 * @param rows       Every field has its number in the metadata key "PARQUET:field_id". Read to its end
 *                   and released, on failure too.
 * @param groups     Names of the columns of each file; together all columns, each once. NULL: one
 *                   file with all of them. Shape [n_paths]. Borrowed.
 * @param options    Compression and row groups; NULL: defaults. Borrowed.
 * @param is_durable Synced to disk before the names appear.
 * @param n_rows     Rows written. May be NULL.
 * @param err        Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ESCHEMA (number missing, no number, or there twice); GREBE_EINVAL (groups);
 *         GREBE_ENOTFOUND (column); GREBE_EIO; GREBE_ELIMIT; or what the stream failed with. No file
 *         is left behind, but for those that had their name already when a later one failed to get its.
 */
GREBE_API GREBE_MUST_CHECK grebe_status
grebe_packed_write(grebe_context *ctx, const char *const *paths, size_t n_paths,
                   struct ArrowArrayStream *rows, const grebe_group_spec *groups,
                   const grebe_write_options *options, bool is_durable, int64_t *n_rows,
                   grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
