/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_TXN_IMPORT_H
#define GREBE_TABLE_TXN_IMPORT_H

/* An import under way: txn_import.c takes files, import_fit.c says what they are to the table. */

#include "table/txn_internal.h"

enum import_kind { IMPORT_NEW = 0, IMPORT_ROWS, IMPORT_COLUMNS };

/* Types of one column in two files: arrays carry neither. */
enum { IMPORT_SAME_TYPE = SCHEMA_EQUAL_IGNORE_NULLABLE | SCHEMA_EQUAL_IGNORE_METADATA };

struct import {
    struct grebe_txn *x;
    const grebe_import_options *o;
    struct call call;
    struct draft d; /* the table as the transaction leaves it so far */
    bool has_draft;
    struct name_index names; /* of the draft's columns */
    enum import_kind kind;

    const char *first_path;    /* all files are held against the first one */
    const struct file_format *format;
    struct ArrowSchema schema; /* what counts of its columns; nullable where any file is */
    struct name_index listed;  /* stored paths of files that must not come again */

    struct manifest_file *files; /* in the transaction's arena, shape [n_files]: those with rows */
    size_t n_files;
    int64_t n_rows;
};

grebe_status import_fail_type(const char *name, const struct ArrowSchema *expected,
                              const struct ArrowSchema *found, grebe_error *err);

/** The columns that count of the first file. */
grebe_status import_take_schema(struct import *m, const struct ArrowSchema *all, grebe_error *err);

/** Whether its columns are the table's, new ones, or neither: GREBE_ESCHEMA. */
grebe_status import_choose_kind(struct import *m, grebe_error *err);

/** Whether the files can be rows of the table as they are. */
grebe_status import_fit_columns(struct import *m, grebe_error *err);

/** No nulls where the table allows none: the statistics tell, or the column is read. */
grebe_status import_check_nulls(struct import *m, struct format_reader *r, int64_t column,
                                int field, grebe_error *err);

#endif
