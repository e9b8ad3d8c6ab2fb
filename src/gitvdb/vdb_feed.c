/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_feed.h"

#include <string.h>

#include "gitvdb/vdb_points_internal.h"

/* ---- texts ---- */

grebe_status vdb_feed_begin_text(struct vdb_feed *f, size_t i, bool is_again, grebe_error *err)
{
    const grebe_vdb_text *t = &f->texts[i];
    const char *name = t->name == NULL ? f->name : t->name;
    int sys = is_again ? t->rewind(t->read_ctx) : 0;
    vdb_lines_release(&f->lines);
    vdb_unpack_release(&f->unpack);
    f->text_at = i;
    if (f->form != NULL) {
        vdb_unpack_init(&f->unpack, f->a, t->read, t->read_ctx);
        vdb_lines_init(&f->lines, f->a, vdb_unpack_read, &f->unpack, name);
    } else {
        vdb_lines_init(&f->lines, f->a, t->read, t->read_ctx, name);
    }
    return sys == 0 ? GREBE_OK : GREBE_FAIL_SYS(err, GREBE_EIO, sys, "%s: reading it again", name);
}

grebe_status vdb_feed_line(struct vdb_feed *f, const char **line, size_t *len, grebe_error *err)
{
    grebe_status st = vdb_lines_next(&f->lines, line, len, err);
    if (st != GREBE_OK && f->form != NULL && f->unpack.failure.status != GREBE_OK) {
        st = f->unpack.failure.status;
        if (err != NULL) {
            *err = f->unpack.failure;
        }
        error_wrap(err, st, "%s", f->lines.name);
    }
    return st;
}

grebe_status vdb_feed_parse(const struct vdb_feed *f, struct vdb_points *p, const char *line, size_t len, grebe_error *err)
{
    grebe_status st = f->form != NULL ? vdb_points_add_row_line(p, f->form, line, len, err)
                                      : vdb_points_add_line(p, line, len, err);
    if (st == GREBE_OK && p->dim == 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected a vector with components, found an empty one");
    }
    return st;
}

/* One more point into p. *got false: the end of all texts. */
static grebe_status next_line(struct vdb_feed *f, struct vdb_points *p, bool *got, grebe_error *err)
{
    const char *line;
    size_t len;
    grebe_status st = vdb_feed_line(f, &line, &len, err);
    while (st == GREBE_OK && line == NULL && f->text_at + 1 < f->n_texts) {
        st = vdb_feed_begin_text(f, f->text_at + 1, true, err);
        st = st == GREBE_OK ? vdb_feed_line(f, &line, &len, err) : st;
    }
    *got = st == GREBE_OK && line != NULL;
    if (!*got) {
        return st;
    }
    st = vdb_feed_parse(f, p, line, len, err);
    return error_wrap(err, st, "%s line %llu", f->lines.name, (unsigned long long)f->lines.line);
}

/* ---- points ---- */

/* Points that vdb_feed_next() moved come back. */
static void take_back(struct vdb_feed *f)
{
    if (f->lent != NULL) {
        struct vdb_points p = *f->lent;
        *f->lent = f->kept;
        f->kept = p;
        f->lent = NULL;
    }
}

grebe_status vdb_feed_rewind(struct vdb_feed *f, grebe_error *err)
{
    f->at = 0;
    take_back(f);
    return f->is_kept ? GREBE_OK : vdb_feed_begin_text(f, 0, true, err);
}

static grebe_status copy_point(struct vdb_points *batch, const struct vdb_points *all, size_t i, grebe_error *err)
{
    struct vdb_id id = vdb_points_id(all, i);
    size_t len;
    const char *payload = vdb_points_payload(all, i, &len);
    return vdb_points_add(batch, &id, all->vectors + i * all->dim, all->dim, payload, len, err);
}

grebe_status vdb_feed_next(struct vdb_feed *f, uint64_t most, struct vdb_points *batch, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool got = true;
    take_back(f);
    vdb_points_clear(batch);
    vdb_points_set_dim(batch, f->dim);
    if (f->is_kept && f->at == 0 && most >= f->n) {
        struct vdb_points p = *batch;
        *batch = f->kept;
        f->kept = p;
        f->lent = batch;
        f->at = f->n;
        return st;
    }
    for (uint64_t i = 0; i < most && f->at < f->n && got && st == GREBE_OK; i++) {
        st = f->is_kept ? copy_point(batch, &f->kept, (size_t)f->at, err) : next_line(f, batch, &got, err);
        f->at += got && st == GREBE_OK;
    }
    if (st == GREBE_OK && !got) {
        st = GREBE_FAIL(err, GREBE_EIO, "%s: expected %llu points as at the first reading, found %llu", f->name,
                        (unsigned long long)f->n, (unsigned long long)f->at);
    }
    return st;
}

void vdb_feed_release(struct vdb_feed *f)
{
    vdb_points_release(&f->kept);
    vdb_lines_release(&f->lines);
    vdb_unpack_release(&f->unpack);
}
