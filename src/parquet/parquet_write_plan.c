/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

/* Where row groups end. */

/* A group of rows without bytes still ends. */
enum { GROUP_ROWS_MAX = 1 << 20 };

/* ---- what rows take in memory ---- */

/*
 * In bits. As Arrow C++ counts (is_arrow): the buffers of a batch, which the milvus profile
 * needs; or values alone, whose parts add up wherever a batch is cut.
 */
struct measure {
    bool is_arrow;
};

static int64_t array_bits(const struct measure *m, const struct ArrowSchema *f,
                          const struct ArrowArray *array, int64_t begin, int64_t n);

static int64_t bitmap_bits(const struct measure *m, int64_t n)
{
    return m->is_arrow ? (n + 7) / 8 * 8 : n;
}

static int64_t offset_bits(const struct measure *m, int64_t n, bool is_large)
{
    return (n + m->is_arrow) * (is_large ? 64 : 32);
}

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

/* Elements that list views name, shared ones as often as they are named. */
static int64_t list_view_bits(const struct measure *m, const struct ArrowSchema *f,
                              const struct ArrowArray *array, bool is_large, int64_t begin,
                              int64_t n)
{
    const struct ArrowArray *child = array->children[0];
    int64_t total = n * (is_large ? 128 : 64);

    for (int64_t i = begin; i < begin + n; i++) {
        const int64_t at = is_large ? ((const int64_t *)array->buffers[1])[i]
                                    : ((const int32_t *)array->buffers[1])[i];
        const int64_t len = is_large ? ((const int64_t *)array->buffers[2])[i]
                                     : ((const int32_t *)array->buffers[2])[i];

        if (at >= 0 && len > 0 && len <= child->length && at <= child->length - len) {
            total += array_bits(m, f->children[0], child, at, len);
        }
    }
    return total;
}

static int64_t value_bits(const struct measure *m, const struct arrow_type *t,
                          const struct ArrowSchema *f, const struct ArrowArray *array,
                          int64_t begin, int64_t n)
{
    const bool is_large = arrow_offset_width(t->kind) == 8;
    int64_t first = 0;
    int64_t between = 0;

    switch (t->kind) {
    case ARROW_NULL: return 0;
    case ARROW_BOOL: return bitmap_bits(m, n);
    case ARROW_STRING:
    case ARROW_BINARY:
    case ARROW_LARGE_STRING:
    case ARROW_LARGE_BINARY:
        between = offsets_between(array, is_large, begin, n, INT64_MAX / 16, &first);
        return between * 8 + offset_bits(m, n, is_large);
    case ARROW_STRING_VIEW:
    case ARROW_BINARY_VIEW: {
        int64_t total = 16 * n;

        for (int64_t i = begin; i < begin + n; i++) {
            total += ((const uint32_t *)array->buffers[1])[4 * i];
        }
        return total * 8;
    }
    case ARROW_LIST:
    case ARROW_MAP:
    case ARROW_LARGE_LIST:
        between = offsets_between(array, is_large, begin, n, array->children[0]->length, &first);
        return offset_bits(m, n, is_large) +
               array_bits(m, f->children[0], array->children[0], first, between);
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW: return list_view_bits(m, f, array, is_large, begin, n);
    case ARROW_FIXED_LIST:
        return array_bits(m, f->children[0], array->children[0], begin * t->list_size,
                          n * t->list_size);
    default: return n * t->byte_width * 8;
    }
}

/* Rows [begin, begin + n) of the array, its offset not yet added. */
static int64_t array_bits(const struct measure *m, const struct ArrowSchema *f,
                          const struct ArrowArray *array, int64_t begin, int64_t n)
{
    struct arrow_type t;
    const int64_t at = array->offset + begin;
    int64_t total = 0;

    if (arrow_type_of(f, &t, NULL) != GREBE_OK) {
        return 0; /* the schema was checked; only a size estimate is at stake */
    }
    if (m->is_arrow && array->n_buffers > 0 && array->buffers[0] != NULL &&
        t.kind != ARROW_NULL) {
        total += bitmap_bits(m, n);
    }
    if (t.kind != ARROW_STRUCT) {
        return total + value_bits(m, &t, f, array, at, n);
    }
    for (int64_t i = 0; i < f->n_children; i++) {
        total += array_bits(m, f->children[i], array->children[i], at, n);
    }
    return total;
}

static int64_t batch_bits(const struct pw_writer *w, bool is_arrow, int64_t begin, int64_t n)
{
    const struct ArrowSchema *schema = &w->schema.arrow;
    const struct measure m = {is_arrow};
    int64_t total = 0;

    for (int64_t i = 0; i < schema->n_children; i++) {
        total += array_bits(&m, schema->children[i], w->batch->children[i],
                            w->batch->offset + begin, n);
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
