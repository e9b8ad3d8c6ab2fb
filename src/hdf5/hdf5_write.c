/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing, front to back: room for the superblock, the values of each data set as they come, all structure behind them
 * (hdf5_write_meta.c), and last the superblock over its room. What is the same is the same bytes: no times, no order but
 * that of the calls and of names.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "hdf5/hdf5_write_internal.h"

/* Large data sets begin at a page, so that they can be read in place. */
enum { ALIGN_FROM = 65536, ALIGN_LARGE = 4096, ALIGN_SMALL = 8, TEXT_MAX = 65535 };

grebe_status hdf5_writer_open(grebe_context *ctx, const char *path, struct hdf5_writer **out, grebe_error *err)
{
    static const unsigned char room[HDF5_SUPERBLOCK_BYTES];
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct hdf5_writer *w = mem_alloc_zero(ctx->a, sizeof *w);
    if (w == NULL) {
        return mem_fail(err, sizeof *w, path);
    }
    w->ctx = ctx;
    w->members = BUF_INIT(ctx->a);
    w->attributes = BUF_INIT(ctx->a);
    w->texts = BUF_INIT(ctx->a);
    GREBE_TRY(io_local_new(ctx, &w->store, err));
    GREBE_TRY(io_create(w->store, path, false, &w->to, err));
    GREBE_TRY(io_write(w->to, room, sizeof room, err));
    *out = w;
    w = NULL;
out:
    hdf5_writer_close(w);
    return st;
}

void hdf5_writer_close(struct hdf5_writer *w)
{
    if (w != NULL) {
        io_writer_free(w->to);
        io_store_free(w->store);
        buf_release(&w->members);
        buf_release(&w->attributes);
        buf_release(&w->texts);
        mem_free(w->ctx->a, w, sizeof *w);
    }
}

/* ---- attributes ---- */

static grebe_status add_attribute(struct hdf5_writer *w, const char *name, struct hdf5_attribute *a, grebe_error *err)
{
    if (strlen(name) >= sizeof a->name) {
        return GREBE_FAIL(err, GREBE_EINVAL, "attribute %.80s: its name is too long", name);
    }
    memcpy(a->name, name, strlen(name) + 1);
    return buf_put(&w->attributes, a, sizeof *a, err);
}

grebe_status hdf5_write_text(struct hdf5_writer *w, const char *name, const char *value, grebe_error *err)
{
    struct hdf5_attribute a = { .is_text = true, .text_at = w->texts.len, .text_len = strlen(value) };
    if (a.text_len > TEXT_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "attribute %s: expected at most %d bytes, found %zu", name, TEXT_MAX, a.text_len);
    }
    grebe_status st = buf_put_text(&w->texts, value, err);
    return st == GREBE_OK ? add_attribute(w, name, &a, err) : st;
}

grebe_status hdf5_write_int(struct hdf5_writer *w, const char *name, int64_t value, bool is_array, grebe_error *err)
{
    struct hdf5_attribute a = { .value = (uint64_t)value, .is_array = is_array };
    return add_attribute(w, name, &a, err);
}

grebe_status hdf5_write_real(struct hdf5_writer *w, const char *name, double value, grebe_error *err)
{
    struct hdf5_attribute a = { .is_real = true };
    memcpy(&a.value, &value, sizeof value);
    return add_attribute(w, name, &a, err);
}

/* ---- data sets ---- */

static bool is_known_type(enum hdf5_class cls, unsigned size)
{
    bool is_int = cls == HDF5_INT || cls == HDF5_UINT;
    return (is_int && (size == 1 || size == 2 || size == 4 || size == 8)) ||
           (cls == HDF5_FLOAT && (size == 2 || size == 4 || size == 8)) || (cls == HDF5_BOOL && size == 1);
}

static grebe_status pad_to(struct hdf5_writer *w, size_t align, grebe_error *err)
{
    static const unsigned char zeros[ALIGN_LARGE];
    size_t n = (size_t)((align - w->to->n_written % align) % align);
    return n == 0 ? GREBE_OK : io_write(w->to, zeros, n, err);
}

grebe_status hdf5_write_begin(struct hdf5_writer *w, const char *name, enum hdf5_class cls, unsigned size,
                              uint64_t rows, uint64_t columns, grebe_error *err)
{
    struct hdf5_member m = { .cls = cls, .size = size, .rank = columns == 0 ? 1 : 2, .shape = { rows, columns == 0 ? 1 : columns } };
    size_t n_members = w->members.len / sizeof m;
    if (w->is_open || w->is_finished || strlen(name) >= sizeof m.name || name[0] == '\0' || !is_known_type(cls, size) ||
        n_members == HDF5_MEMBERS_MAX) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%.64s: the data set before it is not finished, or its name or type is none", name);
    }
    for (size_t i = 0; i < n_members; i++) {
        if (strcmp(((const struct hdf5_member *)(const void *)w->members.data)[i].name, name) == 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%s: two data sets of one name", name);
        }
    }
    if (!checked_mul_u64(m.shape[0], m.shape[1], &m.bytes) || !checked_mul_u64(m.bytes, size, &m.bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %llu x %llu are too many", name, (unsigned long long)rows,
                          (unsigned long long)columns);
    }
    memcpy(m.name, name, strlen(name) + 1);
    grebe_status st = pad_to(w, m.bytes >= ALIGN_FROM ? ALIGN_LARGE : ALIGN_SMALL, err);
    m.at = m.bytes == 0 ? UINT64_MAX : w->to->n_written;
    if (st == GREBE_OK) {
        st = buf_put(&w->members, &m, sizeof m, err);
    }
    w->is_open = st == GREBE_OK;
    w->n_done = 0;
    return st;
}

/* The data set that is being written. */
static const struct hdf5_member *current(const struct hdf5_writer *w)
{
    return (const struct hdf5_member *)(const void *)(w->members.data + w->members.len - sizeof(struct hdf5_member));
}

grebe_status hdf5_write_rows(struct hdf5_writer *w, uint64_t begin, uint64_t n, const void *src, grebe_error *err)
{
    if (!w->is_open) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: rows without a data set", w->to->path);
    }
    const struct hdf5_member *m = current(w);
    if (begin != w->n_done || !range_fits_u64(begin, n, m->shape[0])) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected row %llu of %llu next, found %llu rows from %llu", m->name,
                          (unsigned long long)w->n_done, (unsigned long long)m->shape[0], (unsigned long long)n,
                          (unsigned long long)begin);
    }
    w->n_done += n;
    return n == 0 ? GREBE_OK : io_write(w->to, src, (size_t)(n * m->shape[1] * m->size), err);
}

grebe_status hdf5_write_end(struct hdf5_writer *w, grebe_error *err)
{
    if (!w->is_open) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: no data set was begun", w->to->path);
    }
    const struct hdf5_member *m = current(w);
    if (w->n_done != m->shape[0]) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected %llu rows, found %llu", m->name, (unsigned long long)m->shape[0],
                          (unsigned long long)w->n_done);
    }
    w->is_open = false;
    return GREBE_OK;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct hdf5_member *)x)->name, ((const struct hdf5_member *)y)->name);
}

grebe_status hdf5_writer_finish(struct hdf5_writer *w, bool is_durable, grebe_error *err)
{
    struct buf meta = BUF_INIT(w->ctx->a);
    unsigned char superblock[HDF5_SUPERBLOCK_BYTES];
    grebe_status st = GREBE_OK;
    if (w->is_open || w->is_finished) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected every data set finished, and one finish", w->to->path);
    }
    w->is_finished = true;
    if (w->members.len > 0) {
        qsort(w->members.data, w->members.len / sizeof(struct hdf5_member), sizeof(struct hdf5_member), by_name);
    }
    GREBE_TRY(pad_to(w, ALIGN_SMALL, err));
    GREBE_TRY(hdf5_write_meta(w, w->to->n_written, &meta, superblock, err));
    GREBE_TRY(io_write(w->to, meta.data, meta.len, err));
    GREBE_TRY(io_writer_patch(w->to, 0, superblock, sizeof superblock, err));
    w->to->is_durable = is_durable;
    st = io_writer_publish(w->to, true, err);
out:
    buf_release(&meta);
    return st;
}
