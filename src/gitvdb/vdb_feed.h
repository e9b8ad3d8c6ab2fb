/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_FEED_H
#define GREBE_GITVDB_VDB_FEED_H

/* Where an import's points come from: lines of JSON or Arrow rows, checked as a whole before the first batch is given. */

#include "gitvdb/vdb_api.h"
#include "gitvdb/vdb_ivf.h"
#include "gitvdb/vdb_points.h"

struct vdb_feed {
    const grebe_allocator *a;
    const char *name;       /* of the input; borrowed */
    uint64_t n;             /* points */
    uint32_t dim;
    struct vdb_points kept; /* all of them while memory allows */
    bool is_kept;
    uint64_t at;            /* points given */
    struct vdb_points *lent; /* the batch that has `kept`'s points; NULL: none */
    /* lines that are read again because they are too many to keep */
    struct vdb_lines lines;
    int (*rewind)(void *read_ctx);
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
