/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TXN_H
#define GREBE_TXN_H

/*
 * Transactions: operations are collected against one version of a table, data files are
 * written at once, and the commit publishes one new manifest by put-if-absent: all of it or
 * nothing. The order in which the operations of a transaction apply is fixed (docs/format/
 * transactions.md): drops and renames, indexes, delete logs, statistics, LOB files, appends,
 * new columns.
 */

#include "grebe/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A transaction that is being put together. One thread at a time. */
typedef struct grebe_txn grebe_txn;

/** What a commit does when somebody else committed since the version it was begun at. */
typedef enum grebe_on_conflict {
    GREBE_ON_CONFLICT_REBASE = 0,   /**< apply on top of theirs when the two commute, else fail */
    GREBE_ON_CONFLICT_FAIL = 1,     /**< GREBE_ECONFLICT */
    GREBE_ON_CONFLICT_OVERWRITE = 2 /**< commit old version + own changes: theirs are not part
                                         of the new version */
} grebe_on_conflict;

/** How a transaction commits. Fields beyond struct_size take their defaults. */
typedef struct grebe_txn_options {
    uint32_t struct_size;

    /** grebe_on_conflict. */
    int32_t on_conflict;

    /** Attempts after the first that lost a race; -1: 100. */
    int32_t retries_max;

    /** Not synced to disk (order and exclusiveness are kept). Default false: synced. */
    bool is_not_durable;

    /** Kept in the version's log; NULL: none. Borrowed for the call. */
    const char *message;

    /** Name of the operation in the log; NULL: made from what was done. Borrowed for the call. */
    const char *operation;

    /** grebe_profile: GREBE_PROFILE_MILVUS writes no `grebe.*` entries. A table that has none is
     *  treated so in any case, except by operations that need them (rename). */
    int32_t profile;
} grebe_txn_options;

#define GREBE_TXN_OPTIONS_INIT                                                              \
    {                                                                                       \
        sizeof(grebe_txn_options), GREBE_ON_CONFLICT_REBASE, -1, false, 0, 0,               \
            GREBE_PROFILE_OPEN                                                              \
    }

/**
 * Begin a transaction on the version that the table is open at.
 *
 * @param table   Borrowed; may be closed before the transaction is freed.
 * @param options Borrowed; NULL: defaults.
 * @param out     Owned by the caller, free with grebe_txn_free(); NULL on failure.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EINVAL; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_new(const grebe_table *table,
                                                      const grebe_txn_options *options,
                                                      grebe_txn **out, grebe_error *err);

/* ---- operations on rows and columns ---- */

/**
 * Append rows. They fit by column name: a missing nullable column becomes null, lossless
 * widening is cast; the order of columns is free. On a table without columns the stream's
 * schema becomes the table's. Data files are written now.
 *
 * @param txn     Borrowed.
 * @param rows    Read to its end and released, on failure too.
 * @param options Borrowed; NULL: defaults. Groups count only where the table has no columns yet.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ESCHEMA (message: column, expected and found type); GREBE_EIO;
 *         GREBE_ELIMIT; or what the stream failed with. The transaction is then as before.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_append(grebe_txn *txn,
                                                         struct ArrowArrayStream *rows,
                                                         const grebe_write_options *options,
                                                         grebe_error *err);

/**
 * Add columns for the rows that the table has, in row order.
 *
 * @param txn       Borrowed.
 * @param rows      As many rows as the table; read to its end and released, on failure too.
 * @param row_begin 0 and
 * @param row_end   INT64_MAX (or the row count): the rows of the table that the values belong to.
 *                  A part of them is GREBE_EUNSUPPORTED for now.
 * @param options   Borrowed; NULL: defaults.
 * @param err       Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EEXISTS (column); GREBE_ESCHEMA (row counts differ, both in the
 *         message); otherwise as grebe_txn_append().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_add_columns(grebe_txn *txn,
                                                              struct ArrowArrayStream *rows,
                                                              int64_t row_begin, int64_t row_end,
                                                              const grebe_write_options *options,
                                                              grebe_error *err);

/**
 * Drop a column: it is in no later version; files stay. Together with grebe_txn_add_columns()
 * in one transaction it replaces the column.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND (the nearest name is in the message; also for a column that the
 *         transaction dropped or renamed); GREBE_EINVAL after rows or a schema that have the column;
 *         GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_drop_column(grebe_txn *txn, const char *name,
                                                              grebe_error *err);

/**
 * Give a column another name; no data file changes.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EEXISTS (new_name); GREBE_EUNSUPPORTED (profile
 *         milvus, whose column names are those in the files); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_rename_column(grebe_txn *txn,
                                                                const char *old_name,
                                                                const char *new_name,
                                                                grebe_error *err);

/**
 * Replace the stored schema: nullability widened, metadata, order of columns. Names and types
 * of the columns must be the table's.
 *
 * @param schema Struct schema. Borrowed.
 * @return GREBE_OK; GREBE_ESCHEMA; GREBE_EUNSUPPORTED (profile milvus); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_set_schema(grebe_txn *txn,
                                                             const struct ArrowSchema *schema,
                                                             grebe_error *err);

/* ---- operations on what lies in files already ---- */

/** A file of a column group. */
typedef struct grebe_group_file {
    const char *path;      /**< absolute, a URI, or relative to the current folder as the table's
                                path is */
    int64_t row_begin;     /**< rows inside the file: [row_begin, row_end) */
    int64_t row_end;
    const grebe_property *properties; /**< "file_size", "footer_size", …; shape [n_properties] */
    size_t n_properties;
} grebe_group_file;

/** A column group made of existing files. */
typedef struct grebe_group {
    const char *const *columns; /**< names in the files, shape [n_columns] */
    size_t n_columns;
    const char *format;
    const grebe_group_file *files; /**< shape [n_files] */
    size_t n_files;
} grebe_group;

/**
 * Append files, group by group. A table without groups takes the groups as they are; otherwise
 * their number, and at each position format and set of columns, must be the table's.
 *
 * @param groups Shape [n_groups]. Borrowed for the call.
 * @return GREBE_OK; GREBE_ESCHEMA (layout; groups of unequal length); GREBE_EINVAL (row range);
 *         GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_append_files(grebe_txn *txn,
                                                               const grebe_group *groups,
                                                               size_t n_groups, grebe_error *err);

/**
 * Add a group of new columns for all rows of the table.
 *
 * @return GREBE_OK; GREBE_EEXISTS (column); GREBE_ESCHEMA (row count); GREBE_EINVAL; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_add_group(grebe_txn *txn,
                                                            const grebe_group *group,
                                                            grebe_error *err);

/** How existing files are taken into a table. Fields beyond struct_size take their defaults. */
typedef struct grebe_import_options {
    uint32_t struct_size;

    /** Decode every value first and hold it against checksums and statistics: a file with an error
     *  is GREBE_ECORRUPT and nothing is imported. */
    bool is_checked;

    /** Columns of the files that count, shape [n_columns]; NULL: all. Borrowed. */
    const char *const *columns;
    size_t n_columns;

    /** "parquet", …; NULL: by the content of each file. Borrowed. */
    const char *format;

    /** Threads (of the check), cancel, progress. NULL: defaults. Borrowed. */
    const grebe_call_options *call;
} grebe_import_options;

#define GREBE_IMPORT_OPTIONS_INIT                             \
    {                                                         \
        sizeof(grebe_import_options), false, 0, 0, 0, 0       \
    }

/**
 * Take existing files as they are, in the order given, without a copy.
 *
 * A table without columns gets those of the files, in one group. Files whose columns the table has
 * are rows behind its rows: they fit by name as appended rows do, except that nothing is rewritten
 * (a missing nullable column reads as null, a narrower type is widened when it is read). Files
 * whose columns the table does not have are a new group, when they have its rows together.
 *
 * The files stay where they are and must stay as they are. One below the table's `_data` is named by
 * what follows it, so that the table can be moved with it; any other by its absolute path.
 *
 * @param txn     Borrowed.
 * @param paths   Shape [n_paths]. Borrowed.
 * @param options Borrowed; NULL: defaults.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOTFOUND (file, column); GREBE_EUNSUPPORTED (not a data file of a known
 *         format); GREBE_ECORRUPT (file); GREBE_ESCHEMA (files that differ, columns of which the
 *         table has some and others not, types, nulls, row counts: message has file, column,
 *         expected and found); GREBE_EEXISTS (the table has the file already); GREBE_EIO;
 *         GREBE_ENOMEM. The transaction is then as before.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_import(grebe_txn *txn, const char *const *paths,
                                                         size_t n_paths,
                                                         const grebe_import_options *options,
                                                         grebe_error *err);

/**
 * One import as one new version: of the table in the folder, or of a new one.
 *
 * @param ctx     Borrowed; must outlive the table.
 * @param uri     Folder of the table; made if missing. Not parsed for "@". Borrowed.
 * @param txn     How to commit. Borrowed; NULL: defaults.
 * @param out     The new version, owned by the caller; NULL on failure. May be NULL.
 * @return As grebe_txn_import() and grebe_txn_commit().
 */
GREBE_API GREBE_MUST_CHECK grebe_status
grebe_table_import(grebe_context *ctx, const char *uri, const char *const *paths, size_t n_paths,
                   const grebe_import_options *options, const grebe_txn_options *txn,
                   grebe_table **out, grebe_error *err);

/** @param type 0 primary key, 1 positional, 2 equality. @return GREBE_OK; GREBE_EINVAL; GREBE_ENOMEM. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_add_delta_log(grebe_txn *txn, const char *path,
                                                                int32_t type, int64_t n_entries,
                                                                grebe_error *err);

/**
 * Set the statistics entry `key` (replacing what is there; the last one in a transaction counts).
 *
 * @param key        Not starting with "grebe.".
 * @param paths      Shape [n_paths].
 * @param metadata   Shape [n_metadata].
 * @return GREBE_OK; GREBE_EINVAL; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_set_stat(grebe_txn *txn, const char *key,
                                                           const char *const *paths,
                                                           size_t n_paths,
                                                           const grebe_property *metadata,
                                                           size_t n_metadata, grebe_error *err);

/** A finished index artifact (loon.md 3.3). Zero and NULL are the defaults. */
typedef struct grebe_index {
    const char *column_name;
    const char *index_name;
    const char *index_type;
    const char *path; /**< a folder */
    int64_t field_id, index_id, build_id, index_version, n_rows, serialized_size, mem_size;
    int32_t current_index_version, current_scalar_index_version, index_store_path_version;
    const char *const *file_keys; /**< shape [n_file_keys] */
    size_t n_file_keys;
    const grebe_property *properties; /**< shape [n_properties] */
    size_t n_properties;
} grebe_index;

/**
 * Add an index entry; one of equal identity (index_id when not 0, else column and type among
 * entries with id 0) is replaced.
 *
 * @return GREBE_OK; GREBE_EINVAL (no column, type or path); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_add_index(grebe_txn *txn,
                                                            const grebe_index *index,
                                                            grebe_error *err);

/** Remove every index entry of this id, not 0. @return GREBE_OK; GREBE_EINVAL; GREBE_ENOMEM. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_drop_index(grebe_txn *txn, int64_t index_id,
                                                             grebe_error *err);

/** @return GREBE_OK; GREBE_EINVAL; GREBE_ENOMEM. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_add_lob_file(grebe_txn *txn, const char *path,
                                                               int64_t field_id,
                                                               int64_t total_rows,
                                                               int64_t valid_rows,
                                                               int64_t file_size_bytes,
                                                               grebe_error *err);

/* ---- end ---- */

/**
 * Publish a new version.
 *
 * @param txn     Borrowed. Whatever the result, only grebe_txn_free() may follow.
 * @param version The new version; 0 on failure. May be NULL.
 * @param out     The new version, opened; owned by the caller; NULL on failure. May be NULL.
 * @param err     Details on failure; may be NULL. Conflicts set read_version and latest_version.
 * @return GREBE_OK;
 *         GREBE_EINVAL: nothing was changed in the transaction: nothing is touched;
 *         GREBE_ECONFLICT: somebody committed since, and the strategy or the two sets of changes
 *         do not allow both; or every retry lost its race (message says which);
 *         GREBE_EUNKNOWN_OUTCOME: the new version may or may not be durable: its files stay;
 *         GREBE_ESCHEMA, GREBE_EEXISTS (operations that do not fit the version); GREBE_EIO;
 *         GREBE_ELIMIT; GREBE_ENOMEM.
 *         On every failure but the unknown outcome, data files that the transaction wrote are
 *         removed and the table is as it was.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_txn_commit(grebe_txn *txn, int64_t *version,
                                                         grebe_table **out, grebe_error *err);

/** Free a transaction; one that was not committed is given up and its data files are removed.
 *  @param txn NULL is accepted. */
GREBE_API void grebe_txn_free(grebe_txn *txn);

#ifdef __cplusplus
}
#endif
#endif
