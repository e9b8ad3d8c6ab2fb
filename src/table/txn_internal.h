/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_TXN_INTERNAL_H
#define GREBE_TABLE_TXN_INTERNAL_H

/*
 * A transaction is a list of operations against a base version. Applying them in their fixed
 * order to a version gives a draft: the manifest and the columns of the next one. Operations
 * are tried on the base as they come, and applied anew to whatever version is the latest when
 * the commit rebases.
 */

#include "grebe/txn.h"
#include "table/table_internal.h"

/** A column of a draft. */
struct draft_column {
    const char *name;   /* in the schema; borrowed */
    const char *stored; /* in groups and files; borrowed */
    struct ArrowSchema field; /* its type; empty: of existing files that nobody opened */
};

/** What the next version would be. Borrows from the base snapshot and from the transaction. */
struct draft {
    const grebe_allocator *a;
    struct snapshot *base; /* borrowed */
    struct manifest m; /* arrays in its own arena, elements shared with base and transaction */
    struct draft_column *columns; /* owned with their fields, shape [n_columns] */
    size_t n_columns, columns_capacity;
    int64_t n_rows;
    bool is_emptied; /* every column was dropped: rows that come now are new ones */
};

void draft_release(struct draft *d);

/** Column groups with files that are there: what one append or one add-column brings. Lives in
 *  the transaction's arena; the fields of the columns are owned. */
struct staged {
    struct manifest_group *groups; /* shape [n_groups] */
    size_t n_groups;
    struct draft_column *columns;  /* of all groups, in the order of the schema */
    size_t n_columns;
    int64_t n_rows;
};

struct rename_op {
    const char *old_name, *new_name;
};

/* Lists in the transaction's arena that grow by doubling. */
struct op_list {
    void *items;
    size_t n, capacity;
};

enum txn_state { TXN_OPEN = 0, TXN_DONE };

struct grebe_txn {
    grebe_context *ctx;
    grebe_table *base; /* one reference */
    enum txn_state state;
    int32_t on_conflict;
    int32_t retries_max;
    int32_t profile;
    bool is_durable;
    char *message;   /* NULL: none */
    char *operation; /* NULL: made from kinds */
    struct arena arena;

    struct op_list drops;        /* const char * */
    struct op_list renames;      /* struct rename_op */
    struct op_list deltas;       /* struct manifest_delta */
    struct op_list stats;        /* struct manifest_stat */
    struct op_list index_drops;  /* int64_t */
    struct op_list indexes;      /* struct manifest_index */
    struct op_list lobs;         /* struct manifest_lob */
    struct op_list appends;      /* struct staged * */
    struct op_list additions;    /* struct staged * */
    struct ArrowSchema schema;   /* set_schema; empty: not */
    struct op_list files;        /* const char *: data files that this transaction wrote */
    struct op_list folders;      /* const char *: that it made, the outer ones first */
    size_t n_imports;            /* of appends and additions: what grebe_txn_import made */
};

/** A zeroed slot at the end of a list. NULL: no memory. */
void *op_push(struct arena *arena, struct op_list *list, size_t size);
/** Copy of a text in the transaction's arena. */
grebe_status txn_text(struct grebe_txn *x, const char *text, manifest_text *out, grebe_error *err);
const char *txn_name(struct grebe_txn *x, const char *text);

/**
 * Add an append or an addition to its list. One that does not fit the base is taken back, with the
 * files that were written for it (those from number files_begin on).
 */
grebe_status txn_record(struct grebe_txn *x, struct op_list *list, struct staged *made,
                        size_t files_begin, grebe_error *err);

/** GREBE_EINVAL once the transaction was committed or given up. */
grebe_status txn_check_open(const struct grebe_txn *x, grebe_error *err);
/** Apply everything to the base; an operation that does not fit is taken back by the caller. */
grebe_status txn_try_on_base(const struct grebe_txn *x, grebe_error *err);

/** Whether anything was recorded. */
bool txn_has_changes(const struct grebe_txn *x);

/** Whether the next version of this base carries `grebe.*` body entries. */
bool txn_writes_entries(const struct grebe_txn *x, const struct snapshot *base);

/** Apply everything that is recorded to a version. draft.c */
grebe_status draft_apply(const struct grebe_txn *x, struct snapshot *base, struct draft *out,
                         grebe_error *err);
/** The column of this name; NULL: none. */
struct draft_column *draft_find(const struct draft *d, const char *name);
/** Every name that a column is stored under, in groups. @param out Owned; name_index_release(). */
grebe_status draft_index_stored(const struct draft *d, struct name_index *out, grebe_error *err);

/** Set a statistics entry of a draft, in its sorted place. */
grebe_status draft_set_stat(struct draft *d, const struct manifest_stat *stat, grebe_error *err);

/** Body entries and header keys of a finished draft. draft_entries.c */
grebe_status draft_entries(const struct grebe_txn *x, struct draft *d, int64_t read_version,
                           grebe_error *err);

/** Whether what happened between two versions allows the transaction on top of the later one:
 *  GREBE_ECONFLICT with the reason. txn_rebase.c */
grebe_status rebase_check(const struct grebe_txn *x, struct snapshot *from, struct snapshot *to,
                          grebe_error *err);

/* ---- writing data files: table_stage.c ---- */

/** A group to be written. */
struct stage_group {
    int *columns; /* into stage.schema, shape [n_columns] */
    size_t n_columns;
    size_t n_filled; /* while the plan is made: columns that are set */
    size_t number; /* in file names */
    const char *format;
};

/** Rows of a stream written as column groups. */
struct stage {
    struct grebe_txn *txn;
    const grebe_write_options *options; /* of the plan */
    const struct write_plan *plan;
    struct call call;
    struct ArrowSchema schema;      /* what is written: names as in the table, its types */
    const char **stored;            /* shape [columns]: names in the files; borrowed */
    struct stage_group *groups;     /* shape [n_groups] */
    size_t n_groups;
};

/**
 * Write the stream.
 *
 * @param rows_schema Schema of the stream.
 * @param first First batch of the stream, already read; may be empty. Released here.
 * @param out   In the transaction's arena; files are recorded in the transaction, and removed
 *              again on failure.
 */
grebe_status stage_write(struct stage *s, struct ArrowArrayStream *rows,
                         const struct ArrowSchema *rows_schema, struct ArrowArray *first,
                         struct staged **out, grebe_error *err);

/* ---- grouping: table_group.c, table_policy.c ---- */

/**
 * Column groups for new columns.
 *
 * @param first   First batch, or empty: sizes of columns are looked up there.
 * @param out     Shape [schema columns]: number of the group of each column; dense from 0.
 * @param formats Shape [schema columns]: file format of the column's group; NULL: the default.
 */
grebe_status group_columns(const grebe_allocator *a, const struct ArrowSchema *schema,
                           const struct ArrowArray *first, const grebe_write_options *options,
                           int *out, const char **formats, size_t *n_groups, grebe_error *err);

/** GREBE_EINVAL for options of a policy that contradict each other. */
grebe_status policy_check(const grebe_write_options *o, grebe_error *err);

/* Columns whose `out` is -1 get a group; *next: the first free number. */
grebe_status policy_schema_based(const grebe_allocator *a, const struct ArrowSchema *schema,
                                 const grebe_write_options *o, int *out, const char **formats,
                                 int *next, grebe_error *err);
grebe_status policy_size_based(const struct ArrowSchema *schema, const struct ArrowArray *first,
                               const grebe_write_options *o, int *out, int *next,
                               grebe_error *err);

/* ---- options by the reference's names: write_properties.c ---- */

/** What the options of one write come to. */
struct write_plan {
    grebe_write_options o; /* properties are in the fields; texts in the arena, or the caller's */
    int64_t buffer_bytes;  /* rows that are written before a file may end */
    bool is_without_dictionary;
};

/** @return GREBE_OK; GREBE_EINVAL naming key, expected and found value; GREBE_EUNSUPPORTED. */
grebe_status write_plan_new(struct arena *arena, const grebe_write_options *options,
                            struct write_plan *out, grebe_error *err);

/** What grebe_table_create does, in a store of the caller's. rows is released or left as it is. */
grebe_status table_create_in(struct table_store *store, const char *path,
                             struct ArrowArrayStream *rows, const grebe_table_create_options *o,
                             grebe_table **out, grebe_error *err);

/** Make a folder, and remember what of it was not there. */
grebe_status txn_make_folders(struct grebe_txn *x, const char *path, grebe_error *err);

/**
 * A file in a folder that txn_make_folders() made. Another transaction that fails takes the folders
 * along which it made, as long as nothing is in them: they are made once more.
 */
grebe_status txn_create_file(struct grebe_txn *x, const char *folder, const char *path,
                             struct io_writer **out, grebe_error *err);

/** Remove the data files that the transaction wrote, from number `begin` on; from the first on also the
 *  folders that it made, as far as they are empty. */
void txn_remove_files(struct grebe_txn *x, size_t begin);

#endif
