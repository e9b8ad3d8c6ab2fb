/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

/* Where row groups end. */

/* A group of rows without bytes still ends. */
enum { GROUP_ROWS_MAX = 1 << 20 };

/* ---- bytes that rows take in memory ---- */

static int64_t array_bytes(const struct ArrowSchema *f, const struct ArrowArray *array,
                           int64_t begin, int64_t n);

/* What offsets span; nothing when they make no sense, which the writing of the values finds. */
static int64_t offsets_between(const struct ArrowArray *array, bool is_large, int64_t begin,
                               int64_t n, int64_t limit, int64_t *first)
{
    const int32_t *o32 = array->buffers[1];
    const int64_t *o64 = array->buffers[1];

    *first = 0;
    if (n == 0 || o32 == NULL) {
        return 0;
    }
    const int64_t from = is_large ? o64[begin] : o32[begin];
    const int64_t to = is_large ? o64[begin + n] : o32[begin + n];
    if (from < 0 || to < from || to > limit) {
        return 0;
    }
    *first = from;
    return to - from;
}

static int64_t value_bytes(const struct arrow_type *t, const struct ArrowSchema *f,
                           const struct ArrowArray *array, int64_t begin, int64_t n)
{
    const bool is_large = t->kind == ARROW_LARGE_STRING || t->kind == ARROW_LARGE_BINARY ||
                          t->kind == ARROW_LARGE_LIST;
    int64_t first = 0;
    int64_t between = 0;

    switch (t->kind) {
    case ARROW_NULL: return 0;
    case ARROW_BOOL: return (n + 7) / 8;
    case ARROW_STRING:
    case ARROW_BINARY:
    case ARROW_LARGE_STRING:
    case ARROW_LARGE_BINARY:
        between = offsets_between(array, is_large, begin, n, INT64_MAX / 2, &first);
        return between + (n + 1) * (is_large ? 8 : 4);
    case ARROW_STRING_VIEW:
    case ARROW_BINARY_VIEW: {
        int64_t total = 16 * n;

        for (int64_t i = begin; i < begin + n; i++) {
            total += ((const uint32_t *)array->buffers[1])[4 * i];
        }
        return total;
    }
    case ARROW_LIST:
    case ARROW_MAP:
    case ARROW_LARGE_LIST:
        between = offsets_between(array, is_large, begin, n, array->children[0]->length, &first);
        return (n + 1) * (is_large ? 8 : 4) +
               array_bytes(f->children[0], array->children[0], first, between);
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW: /* elements may be shared: an even share of them */
        return array->length == 0
                   ? 0
                   : n * 16 + array_bytes(f->children[0], array->children[0], 0,
                                          array->children[0]->length) /
                                  array->length * n;
    case ARROW_FIXED_LIST:
        return array_bytes(f->children[0], array->children[0], begin * t->list_size,
                           n * t->list_size);
    default: return n * t->byte_width;
    }
}

/* Rows [begin, begin + n) of the array, its offset not yet added. */
static int64_t array_bytes(const struct ArrowSchema *f, const struct ArrowArray *array,
                           int64_t begin, int64_t n)
{
    struct arrow_type t;
    const int64_t at = array->offset + begin;
    int64_t total = 0;

    if (arrow_type_of(f, &t, NULL) != GREBE_OK) {
        return 0; /* the schema was checked; only a size estimate is at stake */
    }
    if (array->n_buffers > 0 && array->buffers[0] != NULL && t.kind != ARROW_NULL) {
        total += (n + 7) / 8;
    }
    if (t.kind != ARROW_STRUCT) {
        return total + value_bytes(&t, f, array, at, n);
    }
    for (int64_t i = 0; i < f->n_children; i++) {
        total += array_bytes(f->children[i], array->children[i], at, n);
    }
    return total;
}

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
