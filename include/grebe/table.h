/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_H
#define GREBE_TABLE_H

/*
 * A versioned table: a folder with column groups in `_data`, one immutable manifest per version
 * in `_metadata` and tags in `_refs` (docs/format/table.md). A grebe_table is one version,
 * opened: it never changes, whatever is committed meanwhile. Rows are read with grebe/scan.h,
 * new versions are made with grebe/txn.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grebe/arrow.h"
#include "grebe/context.h"
#include "grebe/status.h"
#include "grebe/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One version of a table, opened for reading. */
typedef struct grebe_table grebe_table;

/** Whose semantics a table is read with. */
typedef enum grebe_compat {
    GREBE_COMPAT_NONE = 0,  /**< Grebe's own */
    GREBE_COMPAT_MILVUS = 1 /**< the reference's: body entries `grebe.*` are not looked at, row ids
                                 are positions, take wants strictly ascending ids, predicates
                                 on Parquet are checked but not applied, deletes do not apply */
} grebe_compat;

/** What the files of a table are written like. */
typedef enum grebe_profile {
    GREBE_PROFILE_OPEN = 0,  /**< everything that Grebe can do */
    GREBE_PROFILE_MILVUS = 1 /**< exactly the reference's shapes: one group unless groups are
                                  named, no `grebe.*` entries, no ARROW:schema */
} grebe_profile;

enum {
    GREBE_VERSION_LATEST = -1 /**< the newest version there is */
};

/** How a table is opened. Fields beyond struct_size take their defaults. */
typedef struct grebe_table_open_options {
    uint32_t struct_size;

    /** grebe_compat. */
    int32_t compat;

    /**
     * GREBE_VERSION_LATEST, a version >= 1, or 0: the empty table before the first commit
     * (also where no table is yet), from which a first transaction starts.
     */
    int64_t version;

    /** Instead of `version`: "5", a tag, or a time "2026-11-29T12:00:00Z" (the newest version
     *  committed up to then). NULL: `version` counts. Borrowed. */
    const char *at;

    /** Options of an object store, shape [n_storage_options] each. Borrowed. */
    const char *const *storage_keys;
    const char *const *storage_values;
    size_t n_storage_options;

    /** To look at, not to read: a version whose rows cannot be read (data files that are missing or
     *  of a format that is not built in, groups of unequal length) opens too. Its log, tags, info
     *  and check work as ever; its schema, scan, take and transactions fail with the reason. */
    bool is_for_inspection;

    /** Checksums of pages are not compared while rows are read (grebe_table_check() compares them all the
     *  same): a damaged page is then noticed only where it cannot be decoded. */
    bool skip_checksums;
} grebe_table_open_options;

#define GREBE_TABLE_OPEN_OPTIONS_INIT                                                         \
    {                                                                                         \
        sizeof(grebe_table_open_options), GREBE_COMPAT_NONE, GREBE_VERSION_LATEST, 0, 0, 0, 0, \
            false, false                                                                      \
    }

/**
 * Open a version of a table.
 *
 * @param ctx     Borrowed; must outlive the table and every stream of it.
 * @param uri     Folder of the table. A folder of exactly this name comes first; if there is
 *                none, "NAME@AT" is NAME opened at AT (see grebe_table_open_options.at).
 *                "file:///abs/path" is a folder too. Borrowed.
 * @param options Borrowed; NULL: latest version, Grebe's semantics.
 * @param out     Owned by the caller, close with grebe_table_close(); NULL on failure.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOTFOUND (no table, no such version or tag); GREBE_ECORRUPT (manifest;
 *         groups of unequal length); GREBE_EUNSUPPORTED (scheme of an object store, named in
 *         the message); GREBE_EINVAL; GREBE_EIO; GREBE_ENOMEM.
 *
 * Threads: every function that takes a const grebe_table may run on one table from many threads.
 * Cost:    one listing of `_metadata`, one stat, and a read of the manifest when the context
 *          does not know it yet. No data file is opened unless the table has no stored schema.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_open(grebe_context *ctx, const char *uri,
                                                         const grebe_table_open_options *options,
                                                         grebe_table **out, grebe_error *err);

/**
 * Open another version of the same table, with the same compatibility.
 *
 * @param table Borrowed.
 * @param at    As grebe_table_open_options.at; NULL: latest. Borrowed.
 * @param out   Owned by the caller; NULL on failure.
 * @param err   Details on failure; may be NULL.
 * @return As grebe_table_open().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_open_at(const grebe_table *table,
                                                            const char *at, grebe_table **out,
                                                            grebe_error *err);

/** One more owner of an open table: each owner closes it once. @return table. */
GREBE_API grebe_table *grebe_table_keep(grebe_table *table);

/**
 * @param table NULL is accepted. Streams and arrays that came from it stay valid.
 */
GREBE_API void grebe_table_close(grebe_table *table);

/** @return The version opened; 0 for the empty table before the first commit. */
GREBE_API int64_t grebe_table_version(const grebe_table *table);

/** @return Folder of the table as the caller named it, without "@…". Borrowed from table. */
GREBE_API const char *grebe_table_path(const grebe_table *table);

/** @return Rows of this version. */
GREBE_API int64_t grebe_table_num_rows(const grebe_table *table);

/** @return The id that the next appended row gets: ids given out so far are 0 … next - 1. */
GREBE_API int64_t grebe_table_next_row_id(const grebe_table *table);

/**
 * The columns of this version.
 *
 * @param table Borrowed.
 * @param out   Struct schema, one child per column. Owned by the caller, released by its
 *              release callback; empty on failure.
 * @param err   Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOMEM; for a table without a stored schema whatever opening the first
 *         file of a group gives.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_schema(const grebe_table *table,
                                                           struct ArrowSchema *out,
                                                           grebe_error *err);

/**
 * The newest version in the folder now.
 *
 * @param table Borrowed.
 * @param out   Version; 0: none.
 * @param err   Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EIO.
 * Cost: one listing.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_latest_version(const grebe_table *table,
                                                                   int64_t *out,
                                                                   grebe_error *err);

/* ---- making a table ---- */

/** Columns that share files. */
typedef struct grebe_group_spec {
    const char *const *columns; /**< names, shape [n_columns]. Borrowed. */
    size_t n_columns;
} grebe_group_spec;

/** How one column of a Parquet file is encoded. */
typedef struct grebe_column_encoding {
    /** A column, or a path with dots below one ("address.street"); NULL: every column that the
     *  encoding can hold. Borrowed. */
    const char *column;

    /** "plain", "dictionary", "rle" (booleans), "delta_binary_packed" (integers, dates, times),
     *  "delta_length_byte_array" and "delta_byte_array" (strings, binary), "byte_stream_split"
     *  (integers, floats). Borrowed. */
    const char *encoding;
} grebe_column_encoding;

/** How columns that no group names are split into groups. The last three are the reference's. */
typedef enum grebe_policy {
    GREBE_POLICY_DEFAULT = 0,      /**< all scalars share a group, each vector or large binary column
                                        has its own; profile milvus: single */
    GREBE_POLICY_SINGLE = 1,       /**< one group */
    GREBE_POLICY_SCHEMA_BASED = 2, /**< by the first pattern that the name matches */
    GREBE_POLICY_SIZE_BASED = 3    /**< small columns together, by the bytes of the first rows */
} grebe_policy;

/** Key and value, both UTF-8 (a value may hold any byte but NUL). */
typedef struct grebe_property {
    const char *key;
    const char *value;
} grebe_property;

/** How rows are written. Fields beyond struct_size take their defaults. */
typedef struct grebe_write_options {
    uint32_t struct_size;

    /** grebe_profile. */
    int32_t profile;

    /** "parquet", …; NULL: the table's own format, else "parquet". Borrowed. */
    const char *file_format;

    /** "zstd", "lz4", "snappy", "gzip", "brotli", "none"; NULL: the format's default. Borrowed. */
    const char *compression;

    /** INT32_MIN: the codec's default. */
    int32_t compression_level;

    /** Column groups; columns that none of them names are grouped by default. NULL: all are.
     *  Shape [n_groups]. Borrowed. Default: all scalars share a group, each vector or large
     *  binary column has its own; profile milvus: one group. */
    const grebe_group_spec *groups;
    size_t n_groups;

    /** One group for everything that `groups` does not name. */
    bool is_single_group;

    /** In-memory bytes and most rows of a row group; 0: the format's default. */
    int64_t row_group_bytes;
    int64_t row_group_rows;

    /** Rows that will come, where known; -1: not known. */
    int64_t expected_rows;

    /** Threads, memory, cancel, progress. NULL: defaults. Borrowed. */
    const grebe_call_options *call;

    /** Parquet files, profile open only, from here on. Columns whose encoding the writer shall not
     *  choose itself. Shape [n_encodings]. Borrowed. */
    const grebe_column_encoding *encodings;
    size_t n_encodings;

    /** Columns (or paths) whose chunks get a bloom filter, shape [n_bloom_columns], and the share of
     *  false positives, between 0 and 1; 0: 0.01. Borrowed. */
    const char *const *bloom_columns;
    size_t n_bloom_columns;
    double bloom_rate;

    /** Most bytes before compression and most rows of a page that is not of vectors; 0: default. */
    int64_t page_bytes;
    int64_t page_rows;

    /** 1 or 2; 0: 1, which every reader knows. */
    int32_t data_page_version;

    /** Left out: min, max and null counts; where pages lie and what is in them; CRC-32 of pages. */
    bool is_without_statistics;
    bool is_without_page_index;
    bool is_without_checksums;

    /** grebe_policy, for new columns that `groups` does not name. */
    int32_t policy;

    /** GREBE_POLICY_SCHEMA_BASED: regular expressions (of ECMAScript) for whole names; a column
     *  belongs to the group of the first that matches, those that none matches share the last group.
     *  Shape [n_policy_patterns]. Borrowed. */
    const char *const *policy_patterns;
    size_t n_policy_patterns;

    /** File format of each pattern's group; NULL: file_format for all. Shape [n_policy_formats],
     *  as many as patterns or none. Borrowed. */
    const char *const *policy_formats;
    size_t n_policy_formats;

    /** GREBE_POLICY_SIZE_BASED: a column joins the group before it when its values take fewer bytes
     *  than this a row, and the group has fewer columns than max_columns_in_group. */
    int64_t max_column_bytes;
    int64_t max_columns_in_group;

    /** A file ends once it holds this many bytes of rows, as they lie in memory; each group for
     *  itself. 0: files do not end before the rows (profile milvus: 2 GiB). */
    int64_t file_bytes;

    /** The same and more by the names of the reference ("writer.policy", …: docs/guide/policies.md),
     *  shape [n_properties]. An invalid value is GREBE_EINVAL; a key that is not known is not
     *  looked at; a field above that is set counts for more. Borrowed. */
    const grebe_property *properties;
    size_t n_properties;

    /** Of files of CSV and TSV, as in grebe_print_options. NULL: defaults. Borrowed. */
    const grebe_text_options *text;
} grebe_write_options;

#define GREBE_WRITE_OPTIONS_INIT                                                             \
    {                                                                                        \
        sizeof(grebe_write_options), GREBE_PROFILE_OPEN, 0, 0, INT32_MIN, 0, 0, false, 0, 0, \
            -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, false, false, false, GREBE_POLICY_DEFAULT, 0, 0, 0,  \
            0, 0, 0, 0, 0, 0, 0                                                               \
    }

/** How a table is made. Fields beyond struct_size take their defaults. */
typedef struct grebe_table_create_options {
    uint32_t struct_size;

    /** Not synced to disk (order and exclusiveness are kept). Default false: synced. */
    bool is_not_durable;

    /** Kept in the version's log. NULL: none. Borrowed. */
    const char *message;

    /** NULL: defaults. Borrowed. */
    const grebe_write_options *write;

    /** As in grebe_table_open_options. */
    const char *const *storage_keys;
    const char *const *storage_values;
    size_t n_storage_options;
} grebe_table_create_options;

#define GREBE_TABLE_CREATE_OPTIONS_INIT                                     \
    {                                                                       \
        sizeof(grebe_table_create_options), false, 0, 0, 0, 0, 0            \
    }

/**
 * Make a new table, version 1, from a stream of rows (none is fine: the schema is kept).
 *
 * @param ctx     Borrowed; must outlive the table.
 * @param uri     Folder of the table; made if missing. Not parsed for "@". Borrowed.
 * @param rows    Read to its end and released, on failure too.
 * @param options Borrowed; NULL: defaults.
 * @param out     The new version, owned by the caller; NULL on failure. May be NULL.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EEXISTS (the folder holds a table already); GREBE_ESCHEMA (a column that
 *         cannot be stored, two columns of one name); GREBE_ENOTFOUND (a group names no column);
 *         GREBE_EUNKNOWN_OUTCOME (see grebe_txn_commit()); GREBE_ELIMIT; GREBE_EIO; or what
 *         the stream failed with. Nothing is left behind on failure.
 */
GREBE_API GREBE_MUST_CHECK grebe_status
grebe_table_create(grebe_context *ctx, const char *uri, struct ArrowArrayStream *rows,
                   const grebe_table_create_options *options, grebe_table **out, grebe_error *err);

/* ---- tags ---- */

/** A name for a version. */
typedef struct grebe_tag {
    const char *name;    /**< UTF-8 */
    int64_t version;
    int64_t time_us;     /**< since the epoch; INT64_MIN: not known */
    const char *message; /**< "" when none */
} grebe_tag;

/** A list of tags, sorted by name. */
typedef struct grebe_tag_list {
    size_t n;
    const grebe_tag *tags; /**< shape [n] */
} grebe_tag_list;

/**
 * Name a version. A tag is made once (put-if-absent) and never moved.
 *
 * @param table   Borrowed.
 * @param name    1 … 200 bytes of UTF-8 without '/', '@', control characters, not starting with
 *                '.', not all digits. Borrowed.
 * @param version GREBE_VERSION_LATEST: the newest in the folder; else a version that exists.
 * @param message NULL: none. Borrowed.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EINVAL (name); GREBE_EEXISTS; GREBE_ENOTFOUND (version); GREBE_EIO.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_tag(const grebe_table *table, const char *name,
                                                        int64_t version, const char *message,
                                                        grebe_error *err);

/** @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EINVAL (name); GREBE_EIO. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_tag_delete(const grebe_table *table,
                                                               const char *name, grebe_error *err);

/**
 * @param table Borrowed.
 * @param out   Owned by the caller, free with grebe_tag_list_free(); NULL on failure.
 * @param err   Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ECORRUPT (a tag file); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_tags(const grebe_table *table,
                                                         grebe_tag_list **out, grebe_error *err);

/** @param list NULL is accepted. */
GREBE_API void grebe_tag_list_free(grebe_tag_list *list);

/* ---- log ---- */

/** What is known of one version. Strings are "" where a foreign program committed it. */
typedef struct grebe_log_entry {
    int64_t version;
    int64_t time_us; /**< of the commit, since the epoch; the manifest's file time when the
                          manifest does not say (is_time_of_file) */
    bool is_time_of_file;
    const char *operation; /**< "create", "append", "add-column", …; several joined by "+" */
    const char *message;
    const char *writer;    /**< "grebe 0.1.0" */
    int64_t n_rows;        /**< -1: groups disagree */
    size_t n_groups;
    size_t n_files;
    size_t n_delta_logs;
    size_t n_indexes;
} grebe_log_entry;

/** Versions, newest first. */
typedef struct grebe_log {
    size_t n;
    const grebe_log_entry *entries; /**< shape [n] */
} grebe_log;

/**
 * The versions in the folder, newest first.
 *
 * @param table Borrowed.
 * @param limit Most entries; 0: all.
 * @param out   Owned by the caller, free with grebe_log_free(); NULL on failure.
 * @param err   Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ECORRUPT (a manifest); GREBE_EIO; GREBE_ENOMEM.
 * Cost: one listing and a read of each manifest.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_log(const grebe_table *table, size_t limit,
                                                        grebe_log **out, grebe_error *err);

/** @param log NULL is accepted. */
GREBE_API void grebe_log_free(grebe_log *log);

/**
 * The version numbers in the folder, ascending.
 *
 * @param table Borrowed.
 * @param out   Shape [*n], owned by the caller, free with grebe_versions_free(); NULL when *n is 0.
 * @param n     Number of versions.
 * @param err   Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EIO; GREBE_ENOMEM.
 * Cost: one listing.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_versions(const grebe_table *table,
                                                             int64_t **out, size_t *n,
                                                             grebe_error *err);

/** @param versions From grebe_table_versions() of this table, with its n; NULL is accepted. */
GREBE_API void grebe_versions_free(const grebe_table *table, int64_t *versions, size_t n);

/* ---- what a version consists of ---- */

/** A data file's part in a column group. */
typedef struct grebe_file_info {
    const char *path;      /**< where it lies */
    int64_t row_begin;     /**< rows of the table that it gives: [row_begin, row_end) */
    int64_t row_end;
    int64_t file_row_begin; /**< and the same rows inside the file */
    uint64_t size_bytes;   /**< as the manifest says; 0: it does not */
} grebe_file_info;

/** A column group. */
typedef struct grebe_group_info {
    const char *format;
    const char *const *columns; /**< names as stored, shape [n_columns] */
    size_t n_columns;
    const grebe_file_info *files; /**< shape [n_files] */
    size_t n_files;
    int64_t n_rows;
    uint64_t size_bytes; /**< sum over files whose size the manifest gives */
} grebe_group_info;

/** An index artifact named by the version. */
typedef struct grebe_index_info {
    const char *column_name;
    const char *index_name;
    const char *index_type;
    const char *path;
    int64_t index_id;
    int64_t n_rows;
    uint64_t size_bytes;
} grebe_index_info;

/** A delete log named by the version. */
typedef struct grebe_delta_info {
    const char *path;
    int32_t type; /**< 0 primary key, 1 positional, 2 equality */
    int64_t n_entries;
} grebe_delta_info;

/** A statistics entry. */
typedef struct grebe_stat_info {
    const char *key;
    const char *const *paths; /**< shape [n_paths] */
    size_t n_paths;
    const char *const *metadata_keys; /**< shape [n_metadata] each */
    const char *const *metadata_values;
    size_t n_metadata;
} grebe_stat_info;

/** Everything that belongs to a version. */
typedef struct grebe_table_info {
    int64_t version;
    int64_t n_rows;
    int64_t next_row_id;
    bool has_stored_schema; /**< has a body entry `grebe.schema` */
    const char *encoding;   /**< of the manifest: "avro" or "raw-v1" … */
    uint64_t manifest_bytes;
    uint64_t data_bytes;    /**< of the data files, each counted once */
    size_t n_groups;
    const grebe_group_info *groups; /**< shape [n_groups] */
    size_t n_indexes;
    const grebe_index_info *indexes;
    size_t n_delta_logs;
    const grebe_delta_info *delta_logs;
    size_t n_stats;
    const grebe_stat_info *stats;
} grebe_table_info;

/**
 * What the version consists of. No data file is opened.
 *
 * @param table Borrowed.
 * @param out   Owned by the caller, free with grebe_table_info_free(); independent of the table's
 *              lifetime; NULL on failure.
 * @param err   Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_info_get(const grebe_table *table,
                                                             grebe_table_info **out,
                                                             grebe_error *err);

/** @param info NULL is accepted. */
GREBE_API void grebe_table_info_free(grebe_table_info *info);

/* ---- check ---- */

/** Called for each finding. Strings are borrowed for the call. */
typedef void (*grebe_finding_fn)(void *arg, bool is_error, const char *place, const char *message);

/** How far a check goes. Fields beyond struct_size take their defaults. */
typedef struct grebe_check_options {
    uint32_t struct_size;

    /** Decode every value of every file, not only footers. */
    bool is_deep;

    /** Called on the caller's thread. NULL: only the count is wanted. */
    grebe_finding_fn on_finding;
    void *arg;

    /** NULL: defaults. Borrowed. */
    const grebe_call_options *call;
} grebe_check_options;

#define GREBE_CHECK_OPTIONS_INIT                          \
    {                                                     \
        sizeof(grebe_check_options), false, 0, 0, 0       \
    }

/**
 * Verify a version: groups of equal length, every file there with its size, footers readable,
 * rows and columns as the manifest says, row ids and stored schema consistent.
 *
 * @param table    Borrowed.
 * @param options  Borrowed; NULL: defaults.
 * @param n_errors Findings that are errors. May be NULL.
 * @param err      Details on failure; may be NULL.
 * @return GREBE_OK (also with findings); GREBE_ECANCELLED; GREBE_ENOMEM. A table that cannot even
 *         be opened fails in grebe_table_open() with GREBE_ECORRUPT.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_check(const grebe_table *table,
                                                          const grebe_check_options *options,
                                                          size_t *n_errors, grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
