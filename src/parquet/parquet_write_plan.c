/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

/* Where row groups end. */

/* A group of rows without bytes still ends. */
enum { GROUP_ROWS_MAX = 1 << 20 };

static int64_t batch_bits(const struct pw_writer *w, bool is_arrow, int64_t begin, int64_t n)
{
    const struct ArrowSchema *schema = &w->schema.arrow;
    int64_t total = 0;

    for (int64_t i = 0; i < schema->n_children; i++) {
        total += array_bits(schema->children[i], w->batch->children[i],
                            w->batch->offset + begin, n, is_arrow);
    }
    return total;
}

/* ---- the open profile: equal groups ---- */

static size_t groups_written(const struct pw_writer *w)
{
    return w->row_groups.len / sizeof(struct pq_row_group);
}

/* Rows that tell how large a group becomes. */
enum { FIRST_ROWS = 1024 };

/* Rows of a group, from the average size of its first rows. */
static void choose_group_rows(struct pw_writer *w, int64_t n, int64_t n_bits)
{
    const int64_t row_bits = max_i64(8, n_bits / n);
    int64_t rows = min_i64(w->group_bytes * 8 / row_bits, GROUP_ROWS_MAX);

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
    w->group_rows = max_i64(rows, n);
}

/* Rows and bits of group `number`: many groups make the footer large, so late ones grow. */
static int64_t group_target(const struct pw_writer *w, size_t number, int64_t *bits_max)
{
    const bool is_late = number >= PW_GROUPS_BEFORE_BULK && !w->is_group_bytes_given &&
                         w->group_rows_max == 0;
    const int64_t factor = is_late ? PW_GROUP_BYTES_BULK / w->group_bytes : 1;

    *bits_max = w->group_bytes * factor * PW_GROUP_GROWTH_MAX * 8;
    return min_i64(w->group_rows * factor, max_i64(w->group_rows, GROUP_ROWS_MAX));
}

static void add_rows(struct pw_group *g, int64_t n, int64_t n_bits)
{
    g->n_rows += n;
    g->n_bits += n_bits;
    g->n_bytes = g->n_bits / 8;
}

/* Rows up to the group's next multiple of 64. Where groups end is decided there alone, so that it
 * does not matter how the rows were cut into batches. */
static int64_t add_step(struct pw_writer *w, struct pw_group *g, int64_t begin, int64_t n)
{
    n = min_i64(n, PW_ROWS_MULTIPLE - g->n_rows % PW_ROWS_MULTIPLE);
    add_rows(g, n, batch_bits(w, false, begin, n));
    return n;
}

/* The first rows of the file, until they tell how many make a group. */
static void plan_first(struct pw_writer *w, struct pw_group *g, int64_t left,
                       struct pw_piece *piece)
{
    const int64_t rows_max = w->group_rows_max > 0 ? min_i64(w->group_rows_max, FIRST_ROWS)
                                                   : FIRST_ROWS;

    piece->n = add_step(w, g, piece->begin, min_i64(left, rows_max - g->n_rows));
    if (g->n_rows == rows_max ||
        (g->n_rows % PW_ROWS_MULTIPLE == 0 && g->n_bits >= w->group_bytes * 8)) {
        choose_group_rows(w, g->n_rows, g->n_bits);
        g->is_full = g->n_rows >= w->group_rows;
    }
}

static void plan_open(struct pw_writer *w, struct pw_group *g, size_t number, int64_t left,
                      struct pw_piece *piece)
{
    int64_t bits_max = 0;
    const int64_t target = group_target(w, number, &bits_max);
    const int64_t n = min_i64(left, target - g->n_rows);
    const int64_t bits = batch_bits(w, false, piece->begin, n);

    if (g->n_bits + bits < bits_max) {
        add_rows(g, n, bits);
        piece->n = n;
        g->is_full = g->n_rows >= target;
        return;
    }
    /* Rows far beyond the first ones' size: the group ends early, memory stays bounded. */
    while (piece->n < n && !g->is_full) {
        piece->n += add_step(w, g, piece->begin + piece->n, n - piece->n);
        g->is_full = g->n_rows >= target ||
                     (g->n_rows % PW_ROWS_MULTIPLE == 0 && g->n_bits >= bits_max);
    }
}

/* ---- the milvus profile (loon.md 5.6) ---- */

static void plan_milvus(struct pw_writer *w, struct pw_group *g, int64_t left,
                        struct pw_piece *piece)
{
    const int64_t limit = w->group_bytes;
    const double average =
        (double)(batch_bits(w, true, 0, w->batch->length) / 8) / (double)w->batch->length;
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
    while (*begin < end && g < w->n_groups_max) {
        struct pw_group *group = &w->groups[g];
        struct pw_piece piece = {group, *begin, 0};
        struct pw_piece *last = w->n_pieces > 0 ? &w->pieces[w->n_pieces - 1] : NULL;

        if (w->config.is_milvus) {
            plan_milvus(w, group, end - *begin, &piece);
        } else if (w->group_rows == 0) {
            plan_first(w, group, end - *begin, &piece);
        } else {
            plan_open(w, group, groups_written(w) + g, end - *begin, &piece);
        }
        if (piece.n <= 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "row group: expected at least 1 row, found %lld",
                              (long long)piece.n);
        }
        *begin += piece.n;
        if (last != NULL && last->group == group) {
            last->n += piece.n; /* groups are added to in steps */
        } else {
            w->pieces[w->n_pieces++] = piece;
        }
        g += group->is_full;
    }
    return GREBE_OK;
}
