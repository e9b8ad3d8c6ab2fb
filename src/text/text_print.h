/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_PRINT_H
#define GREBE_TEXT_TEXT_PRINT_H

/* Streams of rows as JSON, JSON lines, CSV, and tables for people. */

#include "arrow/arrow_stream.h"

/** Takes bytes; anything but GREBE_OK ends the printing. */
struct text_sink {
    grebe_status (*write)(struct text_sink *sink, const void *bytes, size_t len, grebe_error *err);
};

/** Called after each batch with the rows so far; may end the printing. */
typedef grebe_status (*text_step_fn)(void *arg, int64_t n_rows, grebe_error *err);

struct text_print {
    const grebe_allocator *a;
    struct text_sink *sink;
    text_step_fn step; /* NULL: nothing */
    void *step_arg;
    int64_t n_rows; /* printed */
};

/** @param is_lines One object a line; else one array. */
grebe_status text_print_json(struct text_print *p, struct ArrowArrayStream *rows, bool is_lines,
                             grebe_error *err);

/** How CSV is written. */
struct text_csv_layout {
    char delimiter;
    char quote;            /* 0: a field that would need quotes is an error */
    bool has_no_header;
    const char *null_text; /* a string of this text is quoted */
};

#define TEXT_CSV_LAYOUT_INIT         \
    (struct text_csv_layout)         \
    {                                \
        ',', '"', false, ""          \
    }

/** RFC 4180 in the layout. Also GREBE_EINVAL (a field that needs quotes where there are none). */
grebe_status text_print_csv(struct text_print *p, struct ArrowArrayStream *rows,
                            const struct text_csv_layout *layout, grebe_error *err);
/** @param width Columns of the screen, 0: no limit. */
grebe_status text_print_table(struct text_print *p, struct ArrowArrayStream *rows, uint32_t width,
                              bool is_colored, grebe_error *err);

/* ---- shared by the three ---- */

struct text_columns {
    struct ArrowSchema schema;
    struct text_column *items;
    size_t n;
};

grebe_status text_columns_init(const grebe_allocator *a, struct ArrowArrayStream *rows,
                               struct text_columns *out, grebe_error *err);
void text_columns_release(const grebe_allocator *a, struct text_columns *c);
/** Row i of a batch, put wherever arg says. */
typedef grebe_status (*text_put_row_fn)(void *arg, const struct ArrowArray *batch, int64_t i, grebe_error *err);
/** All rows, one after the other; counted in p, and with a step behind each batch. */
grebe_status text_print_rows(struct text_print *p, struct ArrowArrayStream *rows, text_put_row_fn put,
                             void *arg, grebe_error *err);
/** Write out what is in b when it is large, or when is_last. */
grebe_status text_flush(struct text_print *p, struct buf *b, bool is_last, grebe_error *err);

#endif
