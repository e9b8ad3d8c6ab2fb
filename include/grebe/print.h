/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PRINT_H
#define GREBE_PRINT_H

/*
 * Rows as text or as an Arrow IPC stream, and files of rows written by name.
 */

#include "grebe/arrow.h"
#include "grebe/context.h"
#include "grebe/table.h"
#include "grebe/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Forms of output. */
typedef enum grebe_print_format {
    GREBE_PRINT_TABLE = 0, /**< for people: aligned columns, long values cut */
    GREBE_PRINT_JSON = 1,  /**< one array of objects */
    GREBE_PRINT_JSONL = 2, /**< one object a line */
    GREBE_PRINT_CSV = 3,   /**< RFC 4180 with a header line; null is empty */
    GREBE_PRINT_ARROW = 4  /**< an Arrow IPC stream */
} grebe_print_format;

/** Takes len bytes. Returns 0, or an errno value that ends the printing. */
typedef int (*grebe_write_fn)(void *write_ctx, const void *bytes, size_t len);

/** How rows are printed. Fields beyond struct_size take their defaults. */
typedef struct grebe_print_options {
    uint32_t struct_size;

    /** grebe_print_format. */
    int32_t format;

    /** Columns of the screen for GREBE_PRINT_TABLE; 0: no limit. */
    uint32_t width;

    /** Escape sequences that colour the header of GREBE_PRINT_TABLE. */
    bool is_colored;

    /** NULL: defaults. Borrowed for the call. */
    const grebe_call_options *call;

    /** Of GREBE_PRINT_CSV: delimiter, quote, header and the text of a null. NULL: defaults. Borrowed for the call. */
    const grebe_text_options *text;
} grebe_print_options;

#define GREBE_PRINT_OPTIONS_INIT                                              \
    {                                                                         \
        sizeof(grebe_print_options), GREBE_PRINT_TABLE, 0, false, 0, 0        \
    }

/**
 * Print a stream to its end. Vectors are JSON arrays; 64-bit integers print exactly; floats
 * with the fewest digits that read back to the same bits; binary as base64 in JSON and as
 * hexadecimal digits elsewhere; times as RFC 3339.
 *
 * @param ctx     Borrowed.
 * @param rows    Read to its end and released, on failure too.
 * @param options Borrowed; NULL: defaults.
 * @param write   Called on the caller's thread.
 * @param n_rows  Rows printed; may be NULL.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EIO (write failed: err->sys is its errno value); GREBE_EUNSUPPORTED (a type
 *         that the form cannot show); what the stream failed with.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_print_rows(grebe_context *ctx,
                                                         struct ArrowArrayStream *rows,
                                                         const grebe_print_options *options,
                                                         grebe_write_fn write, void *write_ctx,
                                                         int64_t *n_rows, grebe_error *err);

/**
 * A schema as the JSON of a schema file (docs/format/schema.md), or its reverse.
 *
 * @param schema Struct schema. Borrowed.
 * @param write  Called on the caller's thread, any number of times.
 * @return GREBE_OK; GREBE_EIO; GREBE_ESCHEMA; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_schema_print_json(grebe_context *ctx,
                                                                const struct ArrowSchema *schema,
                                                                grebe_write_fn write,
                                                                void *write_ctx,
                                                                grebe_error *err);

/**
 * @param json Text of a schema file, shape [len]. Borrowed.
 * @param out  Struct schema, owned by the caller; empty on failure.
 * @return GREBE_OK; GREBE_EINVAL (place in the text, expected, found); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_schema_parse_json(grebe_context *ctx,
                                                                const char *json, size_t len,
                                                                struct ArrowSchema *out,
                                                                grebe_error *err);

/**
 * The type of a field as one types it: "int64", "fixed_size_list<float>[128]".
 *
 * @param dst Filled with NUL-terminated UTF-8, cut when it does not fit. Shape [dst_len].
 * @return Bytes that the whole text has, without the NUL; 0 for a type that is not known.
 */
GREBE_API size_t grebe_type_name(grebe_context *ctx, const struct ArrowSchema *field, char *dst,
                                 size_t dst_len);

/**
 * Write a stream to one file, in the format that its name ends in (".parquet", ".arrows", ".csv",
 * ".json", ".jsonl").
 *
 * @param ctx        Borrowed.
 * @param path       Replaced in one step when all is written. Borrowed.
 * @param rows       Read to its end and released, on failure too.
 * @param options    Borrowed; NULL: defaults. Groups are not looked at.
 * @param is_durable Synced to disk before the name changes.
 * @param n_rows     Rows written; may be NULL.
 * @param err        Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EUNSUPPORTED (ending); GREBE_ESCHEMA; GREBE_ELIMIT (no space); GREBE_EIO; or
 *         what the stream failed with. On failure the file that was there is untouched.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_write_file(grebe_context *ctx, const char *path,
                                                         struct ArrowArrayStream *rows,
                                                         const grebe_write_options *options,
                                                         bool is_durable, int64_t *n_rows,
                                                         grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
