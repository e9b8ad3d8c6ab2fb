/* SPDX-License-Identifier: Apache-2.0 */
#include "io/io.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

void io_store_free(struct io_store *s)
{
    if (s != NULL) {
        s->ops->free(s);
    }
}

grebe_status io_open(struct io_store *s, const char *path, struct io_file **out,
                     grebe_error *err)
{
    *out = NULL;
    return s->ops->open(s, path, out, err);
}

void io_close(struct io_file *f)
{
    if (f != NULL) {
        f->ops->close(f);
    }
}

grebe_status io_stat(struct io_store *s, const char *path, struct io_info *out, grebe_error *err)
{
    memset(out, 0, sizeof *out);
    return s->ops->stat(s, path, out, err);
}

grebe_status io_list(struct io_store *s, const char *path, io_list_fn fn, void *arg,
                     grebe_error *err)
{
    return s->ops->list(s, path, fn, arg, err);
}

grebe_status io_make_folders(struct io_store *s, const char *path, bool is_durable,
                             grebe_error *err)
{
    return s->ops->make_folders(s, path, is_durable, err);
}

grebe_status io_remove(struct io_store *s, const char *path, grebe_error *err)
{
    return s->ops->remove(s, path, err);
}

grebe_status io_read(struct io_file *f, uint64_t offset, void *dst, size_t len, grebe_error *err)
{
    unsigned char *p = dst;
    size_t done = 0;
    if (!range_fits_u64(offset, len, f->id.size_bytes)) {
        return error_at(err,
                        GREBE_FAIL(err, GREBE_ECORRUPT,
                                   "%s: expected %zu bytes at offset %llu, file has %llu",
                                   f->path, len, (unsigned long long)offset,
                                   (unsigned long long)f->id.size_bytes),
                        offset);
    }
    while (done < len) {
        size_t got = 0;
        grebe_status st = f->ops->read_some(f, offset + done, p + done, len - done, &got, err);
        if (st != GREBE_OK) {
            return st;
        }
        assert(got <= len - done);
        if (got == 0) {
            return error_at(err,
                            GREBE_FAIL(err, GREBE_ECORRUPT,
                                       "%s: expected %zu bytes at offset %llu, found %zu: the "
                                       "file became shorter",
                                       f->path, len, (unsigned long long)offset, done),
                            offset + done);
        }
        done += got;
    }
    return GREBE_OK;
}

static int by_offset(const void *x, const void *y)
{
    const struct io_range *a = x;
    const struct io_range *b = y;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Ranges [first, last) in one read through a scratch block, then copied out. */
static grebe_status read_merged(struct io_file *f, const struct io_range *r, size_t n,
                                uint64_t end, grebe_error *err)
{
    uint64_t begin = r[0].offset;
    size_t len = (size_t)(end - begin);
    unsigned char *block = mem_alloc(f->a, len);
    if (block == NULL) {
        return mem_fail(err, len, "a merged read");
    }
    grebe_status st = io_read(f, begin, block, len, err);
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        memcpy(r[i].dst, block + (r[i].offset - begin), r[i].len);
    }
    mem_free(f->a, block, len);
    return st;
}

grebe_status io_read_ranges(struct io_file *f, struct io_range *ranges, size_t n,
                            size_t gap_bytes, grebe_error *err)
{
    qsort(ranges, n, sizeof *ranges, by_offset);
    for (size_t i = 0; i < n;) {
        uint64_t end = 0;
        if (!checked_add_u64(ranges[i].offset, ranges[i].len, &end)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: offset %llu plus %zu bytes overflows",
                              f->path, (unsigned long long)ranges[i].offset, ranges[i].len);
        }
        size_t next = i + 1;
        for (; next < n; next++) {
            uint64_t next_end = 0;
            if (!checked_add_u64(ranges[next].offset, ranges[next].len, &next_end)) {
                break; /* refused when its turn comes */
            }
            bool is_near = ranges[next].offset <= end || ranges[next].offset - end <= gap_bytes;
            uint64_t merged_end = next_end > end ? next_end : end;
            if (!is_near || merged_end - ranges[i].offset > IO_MERGE_MAX) {
                break;
            }
            end = merged_end;
        }
        grebe_status st = next == i + 1
                              ? io_read(f, ranges[i].offset, ranges[i].dst, ranges[i].len, err)
                              : read_merged(f, ranges + i, next - i, end, err);
        if (st != GREBE_OK) {
            return st;
        }
        i = next;
    }
    return GREBE_OK;
}

grebe_status io_read_all(struct io_store *s, const char *path, uint64_t limit,
                         struct region **out, struct io_identity *id, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_file *f = NULL;
    struct region *r = NULL;
    *out = NULL;
    GREBE_TRY(io_open(s, path, &f, err));
    if (f->id.size_bytes > limit) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most %llu bytes, file has %llu", path,
                        (unsigned long long)limit, (unsigned long long)f->id.size_bytes);
        goto out;
    }
    GREBE_TRY(region_new(s->ctx->a, (size_t)f->id.size_bytes, &r, err));
    GREBE_TRY(io_read(f, 0, r->data, r->len, err));
    if (id != NULL) {
        *id = f->id;
    }
    *out = r;
    r = NULL;
out:
    region_drop(r);
    io_close(f);
    return st;
}

grebe_status io_create(struct io_store *s, const char *path, bool is_durable,
                       struct io_writer **out, grebe_error *err)
{
    *out = NULL;
    return s->ops->create(s, path, is_durable, out, err);
}

grebe_status io_write(struct io_writer *w, const void *bytes, size_t len, grebe_error *err)
{
    assert(!w->is_published);
    if (len == 0) {
        return GREBE_OK;
    }
    grebe_status st = w->ops->write(w, bytes, len, err);
    if (st == GREBE_OK) {
        w->n_written += len;
    }
    return st;
}

grebe_status io_writer_publish(struct io_writer *w, bool is_replace, grebe_error *err)
{
    assert(!w->is_published);
    return w->ops->publish(w, is_replace, err);
}

void io_writer_free(struct io_writer *w)
{
    if (w != NULL) {
        w->ops->free(w);
    }
}

/* ---- shared files ---- */

static void shared_free(struct cache_value *v)
{
    struct io_shared_file *f = (struct io_shared_file *)v;
    const grebe_allocator *a = f->file->a;
    region_drop(f->map);
    io_close(f->file);
    mem_free(a, f, sizeof *f);
}

void io_shared_drop(struct io_shared_file *f)
{
    if (f != NULL) {
        cache_value_drop(&f->cached);
    }
}

static grebe_status open_anew(struct io_store *s, const char *path, struct io_shared_file **out,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_shared_file *f = mem_alloc_zero(s->ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, path);
    }
    GREBE_TRY(io_open(s, path, &f->file, err));
    if (f->file->ops->map != NULL && f->file->id.size_bytes > 0) {
        st = f->file->ops->map(f->file, &f->map, err);
        if (st != GREBE_ENOMEM) { /* beyond the address space (ulimit -v): it is read instead */
            GREBE_TRY(st);
        }
        st = GREBE_OK;
    }
    cache_value_init(&f->cached, sizeof *f, shared_free);
    *out = f;
    f = NULL;
out:
    if (f != NULL) {
        region_drop(f->map);
        io_close(f->file);
        mem_free(s->ctx->a, f, sizeof *f);
    }
    return st;
}

grebe_status io_open_shared(struct io_store *s, const char *path, struct io_shared_file **out,
                            grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_info info;
    /* Two stores of one context may hold the same path: the scope is in the key. */
    unsigned char key_space[512];
    size_t path_len = strlen(path);
    size_t key_len = sizeof s->cache_scope + path_len;
    unsigned char *key = key_len <= sizeof key_space ? key_space : mem_alloc(s->ctx->a, key_len);
    struct io_shared_file *f = NULL;

    *out = NULL;
    if (key == NULL) {
        return mem_fail(err, key_len, path);
    }
    memcpy(key, &s->cache_scope, sizeof s->cache_scope);
    memcpy(key + sizeof s->cache_scope, path, path_len);

    f = (struct io_shared_file *)cache_get(s->ctx->files, key, key_len);
    if (f != NULL) {
        st = io_stat(s, path, &info, err);
        if (st == GREBE_OK && io_identity_equal(&info.id, &f->file->id)) {
            *out = f;
            f = NULL;
            goto out;
        }
        io_shared_drop(f);
        f = NULL;
        cache_remove(s->ctx->files, key, key_len); /* a file that is gone gives its space back */
        if (st != GREBE_OK) {
            goto out;
        }
    }
    GREBE_TRY(open_anew(s, path, &f, err));
    cache_put(s->ctx->files, key, key_len, &f->cached);
    *out = f;
    f = NULL;
out:
    io_shared_drop(f);
    if (key != key_space) {
        mem_free(s->ctx->a, key, key_len);
    }
    return st;
}
