/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_TABLE_INTERNAL_H
#define GREBE_TABLE_TABLE_INTERNAL_H

/* The open table as the files of this room see it. */

#include "grebe/scan.h"
#include "grebe/table.h"
#include "source/source.h"
#include "table/snapshot.h"

/** Name of the column that with_row_id adds. */
#define ROW_ID_COLUMN "_rowid"

/** A store that tables, streams and transactions share. */
struct table_store {
    atomic_uint refs;
    struct io_store *store;
    bool is_owned; /* freed with the last reference */
};

grebe_status table_store_new(grebe_context *ctx, struct io_store *store, bool is_owned,
                             struct table_store **out, grebe_error *err);
struct table_store *table_store_keep(struct table_store *s);
void table_store_drop(struct table_store *s);

enum { TABLE_FILES_KEPT = 256 };

struct data_file;

/*
 * Invariants: snapshot, columns, store and path never change. `files` is a cache that may
 * forget anything at any time; it is entered only with a try-lock, so that a lock that some
 * thread held during fork() costs the child speed and nothing else.
 */
struct grebe_table {
    atomic_uint refs;
    grebe_context *ctx;
    struct table_store *store;
    char *path;
    int32_t compat;
    bool skip_checksums; /* set before the table is given away */
    bool is_packed; /* columns are stored under the numbers of fields, not under names */
    struct snapshot *snapshot;
    const struct columns *columns; /* of the snapshot */
    /* Why there are no columns, in a table opened for inspection: reading is refused with this. */
    grebe_status columns_status;
    grebe_error columns_error;
    atomic_flag files_lock;
    struct data_file *files[TABLE_FILES_KEPT]; /* one reference each; NULL: free */
};

static inline bool table_is_milvus(const struct grebe_table *t)
{
    return t->compat == GREBE_COMPAT_MILVUS;
}

/**
 * Open a version in a store of the caller's: what grebe_table_open does with a local one.
 *
 * @param store Borrowed, must outlive everything made of the table.
 */
grebe_status table_open_in(struct io_store *store, const char *path,
                           const grebe_table_open_options *options, grebe_table **out,
                           grebe_error *err);

/** A table over a snapshot. store: one more reference is taken; snapshot: moved in on success. */
grebe_status table_new(grebe_context *ctx, struct table_store *store, const char *path,
                       int32_t compat, struct snapshot *snapshot, grebe_table **out,
                       grebe_error *err);

/** The same for a look at a version that may not be readable: columns_status says whether it is. */
grebe_status table_new_for_inspection(grebe_context *ctx, struct table_store *store,
                                      const char *path, int32_t compat, struct snapshot *snapshot,
                                      grebe_table **out, grebe_error *err);

/**
 * "5", a tag, a time or NULL (latest) to a version.
 *
 * @param latest The newest version, where the caller has it; -1: it is listed when needed.
 */
grebe_status table_resolve_at(struct io_store *store, const char *path, const char *at,
                              int64_t *out, grebe_error *err);

/** GREBE_EUNSUPPORTED naming the scheme for URIs of object stores; "file://" is cut off. */
grebe_status table_uri_path(const char *uri, const char **path, grebe_error *err);

/** GREBE_EINVAL for a range, limit or batch size that makes no sense of any source. */
grebe_status scan_options_check(const grebe_scan_options *options, grebe_error *err);

/** Open the store that a uri and its options name. */
grebe_status table_store_open(grebe_context *ctx, size_t n_storage_options,
                              struct table_store **out, grebe_error *err);

/* ---- data files: table_file.c ---- */

/** An open data file with its columns brought in line with the table's. Immutable. */
struct data_file {
    atomic_uint refs;
    const grebe_allocator *a;
    struct format_reader *reader;
    size_t group;
    size_t file;
    int64_t file_row_begin; /* rows of the file that belong to the table: [begin, end) */
    int64_t file_row_end;
    int64_t row_begin;      /* table row of file_row_begin */
    int *field_of;          /* shape [columns of the group]: field in reader->schema; -1: none */
    bool *widens;           /* shape [columns of the group]: another type than the table's */
    size_t n_columns;
};

/** Open a file of a group, or take it from the table's cache. One reference; data_file_drop. */
grebe_status table_file_open(const grebe_table *t, size_t group, size_t file,
                             struct data_file **out, grebe_error *err);
void data_file_drop(struct data_file *f); /* NULL accepted */
struct data_file *data_file_keep(struct data_file *f);

/**
 * The field of a file in which a column is stored.
 *
 * @param index Of the file's schema; NULL: it is small.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EINVAL (two fields have the name).
 */
grebe_status table_find_field(const grebe_table *t, const struct ArrowSchema *file,
                              const struct name_index *index, const char *stored, int *out,
                              grebe_error *err);

/** Open a data file of a manifest by its path and properties, whatever place it lies in. */
grebe_status data_reader_open(grebe_context *ctx, struct io_store *store, const char *base,
                              const struct manifest_group *group,
                              const struct manifest_file *file, struct format_reader **out,
                              grebe_error *err);

/**
 * Rows of a file for columns of the table.
 *
 * @param columns Shape [n_columns]: numbers of columns of the table that lie in the file's group.
 * @param rows    NULL: the range [begin, end) inside one chunk; else file rows, ascending, shape
 *                [end] (begin is 0).
 * @param out     Struct array, one child per column, types as the table's schema.
 */
grebe_status data_file_read(const grebe_table *t, const struct data_file *f, const int *columns,
                            size_t n_columns, const int64_t *rows, int64_t begin, int64_t end,
                            const struct call *call, struct ArrowArray *out, grebe_error *err);

/* ---- which columns from where: table_plan.c ---- */

struct plan_group {
    size_t group;
    int *columns; /* columns of the table, shape [n_columns] */
    size_t n_columns;
};

/** Where an output column comes from. */
struct plan_column {
    int column;     /* of the table; -1: the row id */
    int plan_group; /* into plan.groups; -1: in no group (all null), or the row id */
    int at;         /* child of what the group gives */
};

/** Columns wanted, sorted by where they lie. */
struct plan {
    const grebe_allocator *a;
    struct plan_column *columns; /* shape [n_columns]: output, then extra columns */
    size_t n_columns;
    size_t n_output; /* the first n_output are given to the caller */
    struct plan_group *groups;
    size_t n_groups;
    size_t n_max;              /* what the arrays above were allocated for */
    struct ArrowSchema schema; /* of the output */
};

/**
 * @param names NULL: every column.
 * @param extra Columns of the table that are needed besides, shape [n_extra]; those that are
 *              in the output already are not read twice.
 */
grebe_status plan_new(const grebe_table *t, const char *const *names, size_t n_names,
                      bool with_row_id, const int *extra, size_t n_extra, struct plan *out,
                      grebe_error *err);
void plan_release(struct plan *p);

/** int64 array of the ids of rows [begin, begin + n). */
grebe_status plan_row_ids(const grebe_table *t, int64_t begin, int64_t n, struct ArrowArray *out,
                          grebe_error *err);

/** Row of the id that stands at place i of what the caller asked for. GREBE_EINVAL; GREBE_ENOTFOUND. */
grebe_status table_row_of(const grebe_table *t, size_t i, int64_t id, int64_t *row,
                          grebe_error *err);

/** Type of the row id column. */
grebe_status row_id_schema(const grebe_allocator *a, bool is_nullable, struct ArrowSchema *out,
                           grebe_error *err);

/** Why the columns of a table opened for inspection are not known; else GREBE_OK. */
grebe_status table_check_columns(const grebe_table *t, grebe_error *err);

/** GREBE_ECORRUPT when the layout of the version cannot be read; as table_check_columns. */
grebe_status table_check_layout(const grebe_table *t, grebe_error *err);

#endif
