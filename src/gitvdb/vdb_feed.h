/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_FEED_H
#define GREBE_GITVDB_VDB_FEED_H

/* Where an import's points come from: lines of JSON or Arrow rows, checked as a whole before the first batch is given. */

#include "gitvdb/vdb_api.h"
#include "gitvdb/vdb_ivf.h"
#include "gitvdb/vdb_points.h"
#include "gitvdb/vdb_unpack.h"

struct vdb_feed {
    const grebe_allocator *a;
    const char *name;       /* of the input; borrowed */
    uint64_t n;             /* points */
    uint32_t dim;
    struct vdb_points kept; /* all of them while memory allows */
    bool is_kept;
    uint64_t at;            /* points given */
    struct vdb_points *lent; /* the batch that has `kept`'s points; NULL: none */
    /* lines, that are read again when they are too many to keep */
    const grebe_vdb_text *texts; /* borrowed, or `one`; shape [n_texts] */
    size_t n_texts, text_at;
    const struct vdb_line_form *form; /* NULL: that of git-vdb */
    struct vdb_lines lines;           /* of texts[text_at] */
    struct vdb_unpack unpack;         /* what they are read through, with a form */
    grebe_vdb_text one;
};

/** Points of which so many bytes are kept between the check and the writing; larger inputs are read twice, unless they are one
 *  batch. */
enum { VDB_FEED_KEEP = 8 << 20 };

/**
 * Read and check all lines: JSON, vectors that are not empty and of one dimension. GREBE_EINVAL with name and line; no points.
 *
 * @param batch_size The most that vdb_feed_next() will be asked for.
 */
grebe_status vdb_feed_lines(struct vdb_feed *f, const struct vdb_work *work, grebe_read_fn read,
                            int (*rewind)(void *read_ctx), void *read_ctx, const char *name, uint64_t batch_size,
                            grebe_error *err);
/**
 * The same for several texts, one after the other.
 *
 * @param texts Borrowed until vdb_feed_release(). A name of NULL is `name`.
 * @param form  How lines are read, which then may be packed; NULL: as vdb_points_add_line(). Borrowed as long.
 * @param name  Of all of them together.
 */
grebe_status vdb_feed_texts(struct vdb_feed *f, const struct vdb_work *work, const grebe_vdb_text *texts, size_t n_texts,
                            const struct vdb_line_form *form, const char *name, uint64_t batch_size, grebe_error *err);
/** Read text i, from its beginning; again: it was read before. */
grebe_status vdb_feed_begin_text(struct vdb_feed *f, size_t i, bool is_again, grebe_error *err);
/** The next line of the text; *line NULL: its end. */
grebe_status vdb_feed_line(struct vdb_feed *f, const char **line, size_t *len, grebe_error *err);
/** A line that vdb_feed_line() gave as a point. */
grebe_status vdb_feed_parse(const struct vdb_feed *f, struct vdb_points *p, const char *line, size_t len, grebe_error *err);
/** Read all rows (columns of id and vector, others as members of the payload). They are kept whatever their size. */
grebe_status vdb_feed_rows(struct vdb_feed *f, const grebe_allocator *a, struct ArrowArrayStream *rows,
                           const grebe_vdb_write_options *o, grebe_error *err);
/** Start again from the first point. */
grebe_status vdb_feed_rewind(struct vdb_feed *f, grebe_error *err);
/** The next `most` points or fewer; none: the end. @param batch Cleared and filled; all points at once are moved, not
 *  copied: it then must be there, unchanged, until the next call. */
grebe_status vdb_feed_next(struct vdb_feed *f, uint64_t most, struct vdb_points *batch, grebe_error *err);
void vdb_feed_release(struct vdb_feed *f);

#endif
