/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_H
#define GREBE_ARROW_H

/*
 * The Arrow C Data and C Stream interfaces: the only form in which rows enter and leave Grebe.
 * The structures are those of the Arrow specification ("The Arrow C data interface", "The Arrow
 * C stream interface"); the guards are the ones that the specification asks for, so that
 * several headers which define them can be included together.
 */

#include <stdbool.h>
#include <stdint.h>

#include "grebe/context.h"
#include "grebe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/**
 * A deep copy of a schema.
 *
 * @param schema Borrowed.
 * @param out    Owned by the caller (release callback); empty on failure.
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_schema_copy(grebe_context *ctx,
                                                          const struct ArrowSchema *schema,
                                                          struct ArrowSchema *out,
                                                          grebe_error *err);

/**
 * Put a schema together from its children.
 *
 * @param format      Arrow format string; NULL: a copy of children[0] with another name.
 * @param name        Name of the field. Borrowed.
 * @param is_nullable Whether values may be null.
 * @param children    Shape [n_children]; moved in on success.
 * @param out         Owned by the caller (release callback); empty on failure.
 * @return GREBE_OK; GREBE_ESCHEMA (format, number of children); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_schema_make(grebe_context *ctx, const char *format,
                                                          const char *name, bool is_nullable,
                                                          struct ArrowSchema *children,
                                                          size_t n_children,
                                                          struct ArrowSchema *out,
                                                          grebe_error *err);

/**
 * A second owner of an array's memory, without a copy: both are released on their own.
 *
 * @param array Any array; replaced by another owner of the same memory. Unchanged on failure.
 * @param out   Owned by the caller; empty on failure.
 * @return GREBE_OK; GREBE_ENOMEM.
 *
 * Threads: one at a time on one array.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_array_view(grebe_context *ctx,
                                                         struct ArrowArray *array,
                                                         struct ArrowArray *out,
                                                         grebe_error *err);

/** A column, and the type it shall have ("int32", "decimal128(12, 2)", docs/format/schema.md). Borrowed. */
typedef struct grebe_column_cast {
    const char *column;
    const char *type;
} grebe_column_cast;

/**
 * Other types for columns of a stream: between all numbers, times and texts. Nothing is rounded away:
 * an integer out of range, a fraction, digits or a part of a time that would be lost are errors of the
 * stream that name column, row and value. To floats the nearest value is taken; integers must be exact.
 * A zone is a label (values are UTC); text is what CSV has.
 *
 * @param rows    Moved in on success.
 * @param casts   Shape [n_casts]. Borrowed for the call.
 * @param out     Owned by the caller; empty on failure.
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_EINVAL (type); GREBE_ESCHEMA (no cast between the types);
 *         GREBE_ENOMEM. Later, from the stream: GREBE_ESCHEMA (a value that does not fit).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_rows_cast(grebe_context *ctx,
                                                        struct ArrowArrayStream *rows,
                                                        const grebe_column_cast *casts,
                                                        size_t n_casts,
                                                        struct ArrowArrayStream *out,
                                                        grebe_error *err);

/**
 * What a failed call on a stream means. For a stream of Grebe status and message are those of the
 * failure; for another one they are made from the errno value and get_last_error.
 *
 * @param stream Borrowed; not released.
 * @param code   What get_schema or get_next returned, not 0.
 * @param err    Filled.
 */
GREBE_API void grebe_stream_error(struct ArrowArrayStream *stream, int code, grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
