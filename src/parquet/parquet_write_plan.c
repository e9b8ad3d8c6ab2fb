/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

/* Where row groups end. */

/* A group of rows without bytes still ends. */
enum { GROUP_ROWS_MAX = 1 << 20 };

static int64_t batch_bytes(const struct pw_writer *w, int64_t begin, int64_t n)
{
    const struct ArrowSchema *schema = &w->schema.arrow;
    int64_t total = 0;

    for (int64_t i = 0; i < schema->n_children; i++) {
        total += array_bytes(schema->children[i], w->batch->children[i],
                             w->batch->offset + begin, n);
    }
    return total;
}

/* ---- the open profile: equal groups ---- */

static size_t groups_written(const struct pw_writer *w)
{
    return w->row_groups.len / sizeof(struct pq_row_group);
}

/* Rows of a group, from the average size of the first rows that came. */
static void choose_group_rows(struct pw_writer *w)
{
    const int64_t n = w->batch->length;
    const int64_t row_bytes = max_i64(1, batch_bytes(w, 0, n) / n);
    int64_t rows = min_i64(w->group_bytes / row_bytes, GROUP_ROWS_MAX);

    rows = max_i64(PW_ROWS_MULTIPLE, rows / PW_ROWS_MULTIPLE * PW_ROWS_MULTIPLE);
    if (!w->is_group_bytes_given && w->group_rows_max == 0 &&
        w->expected_rows / PW_GROUPS_BEFORE_BULK >= rows) {
        rows = min_i64(rows * (PW_GROUP_BYTES_BULK / w->group_bytes), GROUP_ROWS_MAX);
        w->group_bytes = PW_GROUP_BYTES_BULK;
        w->is_group_bytes_given = true; /* all groups stay equal */
    }
    if (w->group_rows_max > 0) {
        rows = w->is_group_bytes_given ? min_i64(rows, w->group_rows_max) : w->group_rows_max;
    }
    w->group_rows = rows;
}

/* Rows and bytes of group `number`: many groups make the footer large, so late ones grow. */
static int64_t group_target(const struct pw_writer *w, size_t number, int64_t *bytes_max)
{
    const bool is_late = number >= PW_GROUPS_BEFORE_BULK && !w->is_group_bytes_given &&
                         w->group_rows_max == 0;
    const int64_t factor = is_late ? PW_GROUP_BYTES_BULK / w->group_bytes : 1;

    *bytes_max = w->group_bytes * factor * PW_GROUP_GROWTH_MAX;
    return min_i64(w->group_rows * factor, max_i64(w->group_rows, GROUP_ROWS_MAX));
}

static void plan_open(struct pw_writer *w, struct pw_group *g, size_t number, int64_t left,
                      struct pw_piece *piece)
{
    int64_t bytes_max = 0;
    const int64_t target = group_target(w, number, &bytes_max);
    int64_t n = min_i64(left, target - g->n_rows);
    int64_t bytes = batch_bytes(w, piece->begin, n);
    bool is_large = false;

    /* Rows far beyond the first ones' size: the group ends early, memory stays bounded. */
    while (g->n_bytes + bytes > bytes_max && n > PW_ROWS_MULTIPLE) {
        n = max_i64(PW_ROWS_MULTIPLE, n / 2 / PW_ROWS_MULTIPLE * PW_ROWS_MULTIPLE);
        bytes = batch_bytes(w, piece->begin, n);
        is_large = true;
    }
    piece->n = n;
    g->n_rows += n;
    g->n_bytes += bytes;
    g->is_full = g->n_rows >= target || is_large || g->n_bytes > bytes_max;
}

/* ---- the milvus profile (loon.md 5.6) ---- */

static void plan_milvus(struct pw_writer *w, struct pw_group *g, int64_t left,
                        struct pw_piece *piece)
{
    const int64_t limit = w->group_bytes;
    const double average =
        (double)batch_bytes(w, 0, w->batch->length) / (double)w->batch->length;
    const double fit = average > 0 ? floor((double)(limit - g->n_bytes) / average)
                                   : (double)left;

    piece->n = fit >= (double)left ? left : max_i64(1, (int64_t)fit);
    g->n_rows += piece->n;
    g->n_bytes += (int64_t)(average * (double)piece->n);
    g->is_full = g->n_bytes >= limit || (w->group_rows_max > 0 && g->n_rows >= w->group_rows_max);
}

grebe_status pw_plan(struct pw_writer *w, int64_t *begin, grebe_error *err)
{
    const int64_t end = w->batch->length;
    size_t g = 0;

    w->n_pieces = 0;
    if (w->group_rows == 0 && end > 0) {
        choose_group_rows(w);
    }
    while (*begin < end && g < w->n_groups_max) {
        struct pw_group *group = &w->groups[g];
        struct pw_piece piece = {group, *begin, 0};
        struct pw_piece *last = w->n_pieces > 0 ? &w->pieces[w->n_pieces - 1] : NULL;

        if (w->config.is_milvus) {
            plan_milvus(w, group, end - *begin, &piece);
        } else {
            plan_open(w, group, groups_written(w) + g, end - *begin, &piece);
        }
        if (piece.n <= 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "row group: expected at least 1 row, found %lld",
                              (long long)piece.n);
        }
        *begin += piece.n;
        if (last != NULL && last->group == group) {
            last->n += piece.n; /* the milvus rule adds to a group in steps */
        } else {
            w->pieces[w->n_pieces++] = piece;
        }
        g += group->is_full;
    }
    return GREBE_OK;
}
