/* SPDX-License-Identifier: Apache-2.0 */
/* The first reading of lines: all threads parse, and a mistake is named by parsing again from the line before it. */
#include "gitvdb/vdb_feed.h"

#include <string.h>

#include "base/pool.h"
#include "gitvdb/vdb_points_internal.h"

enum {
    PIECES = 8,             /* that are parsed at a time */
    PIECE_BYTES = 128 << 10 /* of text */
};

struct text_line {
    size_t start, len; /* in the text of the wave */
    uint64_t number;
};

struct wave {
    const struct vdb_feed *feed;
    struct buf text;
    struct buf lines; /* struct text_line */
    size_t first[PIECES + 1];
    size_t n;
    struct vdb_points points[PIECES];
};

static size_t n_lines(const struct wave *w) { return w->lines.len / sizeof(struct text_line); }

static const struct text_line *line_at(const struct wave *w, size_t i)
{
    return (const struct text_line *)(const void *)w->lines.data + i;
}

/* The next lines, as many as the pieces hold; none: the end. */
static grebe_status read_wave(struct wave *w, struct vdb_feed *f, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t piece_start = 0;
    buf_clear(&w->text);
    buf_clear(&w->lines);
    w->first[0] = 0;
    w->n = 0;
    while (w->n < PIECES) {
        const char *line;
        struct text_line l = { w->text.len, 0, 0 };
        st = vdb_feed_line(f, &line, &l.len, err);
        if (st != GREBE_OK || line == NULL) {
            break;
        }
        l.number = f->lines.line;
        GREBE_TRY(buf_put(&w->text, line, l.len, err));
        GREBE_TRY(buf_put(&w->lines, &l, sizeof l, err));
        if (w->text.len - piece_start >= PIECE_BYTES) {
            w->first[++w->n] = n_lines(w);
            piece_start = w->text.len;
        }
    }
    if (w->first[w->n] < n_lines(w)) {
        w->first[w->n + 1] = n_lines(w);
        w->n++;
    }
out:
    return st;
}

static grebe_status parse_line(struct vdb_points *p, const struct wave *w, const struct text_line *l, grebe_error *err)
{
    return vdb_feed_parse(w->feed, p, (const char *)w->text.data + l->start, l->len, err);
}

static grebe_status parse_piece(void *arg, size_t i, grebe_error *err)
{
    struct wave *w = arg;
    grebe_status st = GREBE_OK;
    for (size_t k = w->first[i]; k < w->first[i + 1] && st == GREBE_OK; k++) {
        st = parse_line(&w->points[i], w, line_at(w, k), err);
    }
    return st;
}

/* The same on one thread, as if there were no pieces. */
static grebe_status parse_in_order(struct vdb_feed *f, const struct wave *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t k = 0; k < n_lines(w) && st == GREBE_OK; k++) {
        st = error_wrap(err, parse_line(&f->kept, w, line_at(w, k), err), "%s line %llu", f->lines.name,
                        (unsigned long long)line_at(w, k)->number);
    }
    return st;
}

static grebe_status parse_wave(struct vdb_feed *f, struct wave *w, const struct vdb_work *work, grebe_error *err)
{
    grebe_error first = GREBE_ERROR_INIT;
    uint32_t dim = f->kept.dim;
    for (size_t i = 0; i < w->n; i++) {
        vdb_points_clear(&w->points[i]);
        vdb_points_set_dim(&w->points[i], dim);
    }
    grebe_status st = parallel_for(work->pool, work->threads, w->n, parse_piece, w, work->cancel, &first);
    bool is_one_dim = st == GREBE_OK;
    for (size_t i = 0; i < w->n && is_one_dim; i++) {
        dim = dim == 0 ? w->points[i].dim : dim;
        is_one_dim = w->points[i].dim == dim;
    }
    if (st == GREBE_EINVAL || (st == GREBE_OK && !is_one_dim)) {
        return parse_in_order(f, w, err);
    }
    if (st != GREBE_OK) {
        if (err != NULL) {
            *err = first;
        }
        return st;
    }
    if (!f->is_kept) {
        vdb_points_set_dim(&f->kept, dim);
    }
    for (size_t i = 0; i < w->n && f->is_kept && st == GREBE_OK; i++) {
        st = vdb_points_append(&f->kept, &w->points[i], err);
    }
    return st;
}

static uint64_t points_bytes(const struct vdb_points *p)
{
    return (uint64_t)p->n * p->dim * sizeof(float) + p->ids.len + p->payloads.len + p->n * 16;
}

/* All lines of the text that was begun. */
static grebe_status read_text(struct vdb_feed *f, struct wave *w, const struct vdb_work *work, uint64_t batch_size,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    do {
        grebe_error late = GREBE_ERROR_INIT;
        grebe_status read_st = read_wave(w, f, &late);
        GREBE_TRY(parse_wave(f, w, work, err)); /* a mistake in a line comes before one behind it */
        if (read_st != GREBE_OK) {
            st = read_st;
            if (err != NULL) {
                *err = late;
            }
            goto out;
        }
        f->n += n_lines(w);
        if (!f->is_kept || (f->n > batch_size && points_bytes(&f->kept) > VDB_FEED_KEEP)) {
            f->is_kept = false;
            vdb_points_clear(&f->kept);
        }
    } while (n_lines(w) != 0);
out:
    return st;
}

grebe_status vdb_feed_texts(struct vdb_feed *f, const struct vdb_work *work, const grebe_vdb_text *texts, size_t n_texts,
                            const struct vdb_line_form *form, const char *name, uint64_t batch_size, grebe_error *err)
{
    struct wave w = { .feed = f, .text = BUF_INIT(work->a), .lines = BUF_INIT(work->a) };
    grebe_status st = GREBE_OK;
    *f = (struct vdb_feed){ .a = work->a, .name = name, .texts = texts, .n_texts = n_texts, .form = form, .is_kept = true };
    vdb_points_init(&f->kept, f->a);
    for (size_t i = 0; i < PIECES; i++) {
        vdb_points_init(&w.points[i], work->a);
    }
    for (size_t i = 0; i < n_texts; i++) {
        GREBE_TRY(vdb_feed_begin_text(f, i, false, err));
        GREBE_TRY(read_text(f, &w, work, batch_size, err));
    }
    f->dim = f->kept.dim;
    if (f->n == 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected points, found none", name);
        goto out;
    }
    if (!f->is_kept) {
        vdb_points_release(&f->kept);
        GREBE_TRY(vdb_feed_rewind(f, err));
    }
out:
    for (size_t i = 0; i < PIECES; i++) {
        vdb_points_release(&w.points[i]);
    }
    buf_release(&w.text);
    buf_release(&w.lines);
    return st;
}

grebe_status vdb_feed_lines(struct vdb_feed *f, const struct vdb_work *work, grebe_read_fn read,
                            int (*rewind)(void *read_ctx), void *read_ctx, const char *name, uint64_t batch_size,
                            grebe_error *err)
{
    const grebe_vdb_text one = { name, read, rewind, read_ctx };
    grebe_status st = vdb_feed_texts(f, work, &one, 1, NULL, name, batch_size, err);
    f->one = one;
    f->texts = &f->one;
    return st;
}
