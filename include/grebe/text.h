/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_H
#define GREBE_TEXT_H

/*
 * How text is laid out: CSV and TSV read and written, JSON and JSON lines read
 * (docs/format/text.md).
 */

#include "grebe/arrow.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the first line of CSV is. */
typedef enum grebe_header {
    GREBE_HEADER_YES = 0, /**< has the names of the columns */
    GREBE_HEADER_NO = 1,  /**< is a row; columns are column_1, column_2, … */
    GREBE_HEADER_AUTO = 2 /**< has names, unless a field of it is a number, a date or a truth value */
} grebe_header;

/** Rows of CSV that have another number of fields than the first line. */
typedef enum grebe_ragged {
    GREBE_RAGGED_ERROR = 0, /**< end the reading with their place */
    GREBE_RAGGED_FILL = 1,  /**< missing fields are null, fields too many are left out */
    GREBE_RAGGED_DROP = 2   /**< are left out, and counted in the log */
} grebe_ragged;

/** What bytes of text stand for. */
typedef enum grebe_encoding {
    GREBE_ENCODING_UTF8 = 0,
    GREBE_ENCODING_LATIN1 = 1 /**< ISO 8859-1 */
} grebe_encoding;

/** The layout of text. Fields beyond struct_size take their defaults. All pointers are borrowed for the call. */
typedef struct grebe_text_options {
    uint32_t struct_size;

    /** Between fields: one ASCII character. NULL: tab for TSV, else told by the first lines (written: a comma). */
    const char *delimiter;

    /** Around fields: one ASCII character, "": no field is quoted. NULL: ". */
    const char *quote;

    /** Inside quotes, makes the character behind it itself; "\\" also outside, with \n, \t and \N (null) as databases
     *  write them. NULL: only the doubled quote. Read only. */
    const char *escape;

    /** Lines that begin with this ASCII character are left out. NULL: none. Read only. */
    const char *comment;

    /** grebe_header. Written: GREBE_HEADER_NO leaves the names out. */
    int32_t header;

    /** grebe_ragged. Read only. */
    int32_t ragged;

    /** grebe_encoding. Read only. */
    int32_t encoding;

    /** Unquoted fields that are null, shape [n_nulls]; NULL: the empty one. Written: the first is used for null. */
    const char *const *nulls;
    size_t n_nulls;

    /** 1,5 and 1.234,5 are numbers and 1.5 is none. Read only. */
    bool is_decimal_comma;

    /** Blanks around unquoted fields do not belong to them. Read only. */
    bool is_trimmed;

    /** Lines in front that are not looked at. Read only. */
    uint64_t skip_lines;

    /** Struct schema: columns that it names have its types, others are inferred. With GREBE_HEADER_NO its columns name
     *  the first columns. NULL: all are inferred. Read only. */
    const struct ArrowSchema *schema;

    /** Lines that types are inferred from; 0: all of the input, which is kept in memory unless it is a file that is not
     *  compressed; -1: all of such a file, else the first 16 MiB. A value beyond that does not fit is an error. */
    int64_t sample_rows;

    /** The schema is of a table that the rows go to: its columns that the text lacks, and those of types that text cannot
     *  have, are passed over, and none names a column. Read only. */
    bool is_schema_loose;
} grebe_text_options;

#define GREBE_TEXT_OPTIONS_INIT                                                           \
    {                                                                                     \
        sizeof(grebe_text_options), 0, 0, 0, 0, GREBE_HEADER_YES, GREBE_RAGGED_ERROR,     \
            GREBE_ENCODING_UTF8, 0, 0, false, false, 0, 0, -1, false                          \
    }

#ifdef __cplusplus
}
#endif
#endif
