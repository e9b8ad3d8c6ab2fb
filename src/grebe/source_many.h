/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_SOURCE_MANY_H
#define GREBE_GREBE_SOURCE_MANY_H

/*
 * Several sources read as one: the rows of the first, then those of the second, …; columns by
 * name. The first files with random access stay open; the others, and streams, are opened again when
 * it is their turn.
 */

#include <stdatomic.h>

#include "base/arena.h"
#include "grebe/source_internal.h"

struct source_part {
    const char *uri;
    const char *path;     /* without a format's name before it */
    const char *format;   /* its name */
    const struct file_format *file_format; /* NULL: none that a table reads */
    struct ArrowSchema text_schema; /* of a text file: what its own lines say; else empty */
    grebe_source *source; /* NULL: opened again for each scan and take */
    int64_t n_rows;       /* -1: unknown */
};

struct source_many {
    atomic_uint refs;
    grebe_context *ctx;
    struct arena arena;
    struct source_part *parts; /* shape [n_parts] */
    size_t n_parts;
    bool is_one_schema;           /* all parts have the schema, but for metadata */
    struct ArrowSchema schema;    /* union of all parts */
    struct buf is_text;           /* bool, one a column of the union: only text files have it */
    grebe_source_options options; /* with which parts are opened; texts are in the arena */
    grebe_text_options text;      /* of the options, if any; texts are in the arena */
    struct ArrowSchema text_schema; /* of the text options; perhaps none */
};

/**
 * @param uris  Shape [n], n >= 1; no patterns. Copied.
 * @param out   One reference; source_many_drop().
 * @return GREBE_OK; GREBE_ESCHEMA (a column whose types do not meet, the source is named); what opening gives.
 */
grebe_status source_many_new(grebe_context *ctx, const char *const *uris, size_t n,
                             const grebe_source_options *options, struct source_many **out,
                             grebe_error *err);
void source_many_drop(struct source_many *m); /* NULL accepted */

/* ---- types that meet: source_many_types.c ---- */

/**
 * Before the schema of a part is united: columns whose types no type holds. Integers and floats become double
 * (each integer exactly, or the scan fails at it); what only text files have becomes string and is read
 * as such. In the union and in *schema.
 */
grebe_status many_meet(struct source_many *m, struct ArrowSchema *schema, bool is_text,
                            grebe_error *err);

/** Open a part that is not open; texts that the union has as strings are read as such. */
grebe_status many_reopen(const struct source_many *m, const struct source_part *part,
                         grebe_source **out, grebe_error *err);

/** Columns of the part's rows that do not widen to what is wanted are cast. rows is replaced. */
grebe_status many_cast(const struct source_many *m, const struct ArrowSchema *wanted,
                       struct ArrowArrayStream *rows, grebe_error *err);

/** Sum of all parts; -1: unknown. */
int64_t source_many_rows(const struct source_many *m);

/** The stream holds a reference of its own. */
grebe_status source_many_scan(struct source_many *m, const grebe_scan_options *options,
                              struct ArrowArrayStream *out, grebe_error *err);

/** Rows by position when the rows of all parts are counted: source_many_take.c */
grebe_status source_many_take(struct source_many *m, const int64_t *row_ids, size_t n,
                              const grebe_take_options *options, struct ArrowArray *out,
                              struct ArrowSchema *out_schema, grebe_error *err);

/** "parquet:PATH": the format's name and the rest; NULL when the uri has no such beginning. source_open.c */
const char *source_forced_format(const grebe_context *ctx, const char *uri, char *name,
                                 size_t name_len);

/** One source without patterns: source_open.c */
grebe_status source_open_one(grebe_context *ctx, const char *uri,
                             const grebe_source_options *options, grebe_source **out,
                             grebe_error *err);

#endif
