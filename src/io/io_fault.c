/* SPDX-License-Identifier: Apache-2.0 */
#include "io/io_fault.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"

struct fault_file {
    struct io_file file;
    struct io_fault_store *owner;
    struct io_file *inner;
};

struct fault_writer {
    struct io_writer writer;
    struct io_fault_store *owner;
    struct io_writer *inner;
};

static void count(atomic_uint_fast64_t *n) { atomic_fetch_add(n, 1); }

/* One call more: waits, dies or fails as the plan says. */
static grebe_status step(struct io_fault_store *s, const char *what, const char *path,
                         grebe_error *err)
{
    uint64_t n = atomic_fetch_add(&s->counts.calls, 1) + 1;
    const struct io_fault_plan *plan = &s->plan;
    if (plan->delay_us > 0) {
        struct timespec pause = { plan->delay_us / 1000000, (long)(plan->delay_us % 1000000) * 1000 };
        nanosleep(&pause, NULL);
    }
    if (plan->kill_at != 0 && n == plan->kill_at) {
        _exit(137);
    }
    if (plan->fail_at != 0 && (n == plan->fail_at || (plan->fail_all_after && n > plan->fail_at))) {
        grebe_status st = plan->fail_status == GREBE_OK ? GREBE_EIO : plan->fail_status;
        return GREBE_FAIL(err, st, "%s: injected failure of call %llu (%s)", path,
                          (unsigned long long)n, what);
    }
    return GREBE_OK;
}

static grebe_status fault_read_some(struct io_file *f, uint64_t offset, void *dst, size_t len,
                                    size_t *got, grebe_error *err)
{
    struct fault_file *ff = (struct fault_file *)f;
    struct io_fault_store *s = ff->owner;
    grebe_status st = step(s, "read", f->path, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (s->plan.read_bytes_max > 0) {
        len = min_size(len, s->plan.read_bytes_max);
    }
    st = ff->inner->ops->read_some(ff->inner, offset, dst, len, got, err);
    if (st == GREBE_OK) {
        count(&s->counts.reads);
        atomic_fetch_add(&s->counts.read_bytes, *got);
    }
    return st;
}

static grebe_status fault_map(struct io_file *f, struct region **out, grebe_error *err)
{
    struct fault_file *ff = (struct fault_file *)f;
    grebe_status st = step(ff->owner, "map", f->path, err);
    return st == GREBE_OK ? ff->inner->ops->map(ff->inner, out, err) : st;
}

static void fault_close(struct io_file *f)
{
    struct fault_file *ff = (struct fault_file *)f;
    io_close(ff->inner);
    str_free(f->a, f->path);
    mem_free(f->a, ff, sizeof *ff);
}

static const struct io_file_ops fault_file_ops = { fault_read_some, fault_map, fault_close };
static const struct io_file_ops fault_file_ops_no_map = { fault_read_some, NULL, fault_close };

static grebe_status fault_open(struct io_store *store, const char *path, struct io_file **out,
                               grebe_error *err)
{
    struct io_fault_store *s = (struct io_fault_store *)store;
    const grebe_allocator *a = store->ctx->a;
    grebe_status st = step(s, "open", path, err);
    if (st != GREBE_OK) {
        return st;
    }
    count(&s->counts.opens);
    struct fault_file *f = mem_alloc_zero(a, sizeof *f);
    char *copy = str_copy(a, path);
    if (f == NULL || copy == NULL) {
        st = mem_fail(err, sizeof *f, path);
    } else {
        st = io_open(s->inner, path, &f->inner, err);
    }
    if (st != GREBE_OK) {
        str_free(a, copy);
        mem_free(a, f, sizeof *f);
        return st;
    }
    bool can_map = f->inner->ops->map != NULL && !s->plan.no_map;
    f->file.ops = can_map ? &fault_file_ops : &fault_file_ops_no_map;
    f->file.a = a;
    f->file.id = f->inner->id;
    f->file.path = copy;
    f->owner = s;
    *out = &f->file;
    return GREBE_OK;
}

static grebe_status fault_stat(struct io_store *store, const char *path, struct io_info *out,
                               grebe_error *err)
{
    struct io_fault_store *s = (struct io_fault_store *)store;
    grebe_status st = step(s, "stat", path, err);
    count(&s->counts.stats);
    return st == GREBE_OK ? io_stat(s->inner, path, out, err) : st;
}

static grebe_status fault_list(struct io_store *store, const char *path, io_list_fn fn, void *arg,
                               grebe_error *err)
{
    struct io_fault_store *s = (struct io_fault_store *)store;
    grebe_status st = step(s, "list", path, err);
    count(&s->counts.lists);
    return st == GREBE_OK ? io_list(s->inner, path, fn, arg, err) : st;
}

static grebe_status fault_make_folders(struct io_store *store, const char *path, bool is_durable,
                                       grebe_error *err)
{
    struct io_fault_store *s = (struct io_fault_store *)store;
    grebe_status st = step(s, "make folder", path, err);
    return st == GREBE_OK ? io_make_folders(s->inner, path, is_durable, err) : st;
}

static grebe_status fault_remove(struct io_store *store, const char *path, grebe_error *err)
{
    struct io_fault_store *s = (struct io_fault_store *)store;
    grebe_status st = step(s, "remove", path, err);
    count(&s->counts.removes);
    return st == GREBE_OK ? io_remove(s->inner, path, err) : st;
}

static grebe_status fault_write(struct io_writer *iw, const void *bytes, size_t len,
                                grebe_error *err)
{
    struct fault_writer *w = (struct fault_writer *)iw;
    grebe_status st = step(w->owner, "write", iw->path, err);
    if (st == GREBE_OK) {
        st = io_write(w->inner, bytes, len, err);
    }
    if (st == GREBE_OK) {
        count(&w->owner->counts.writes);
        atomic_fetch_add(&w->owner->counts.write_bytes, len);
    }
    return st;
}

static grebe_status fault_publish(struct io_writer *iw, bool is_replace, grebe_error *err)
{
    struct fault_writer *w = (struct fault_writer *)iw;
    grebe_status st = step(w->owner, "publish", iw->path, err);
    if (st != GREBE_OK) {
        return st;
    }
    count(&w->owner->counts.publishes);
    st = io_writer_publish(w->inner, is_replace, err);
    iw->is_published = w->inner->is_published;
    if (st == GREBE_OK) {
        /* The name is there: a failure from here on is an outcome that nobody knows. */
        grebe_status after = step(w->owner, "sync folder", iw->path, err);
        if (after != GREBE_OK) {
            if (err != NULL) {
                err->status = GREBE_EUNKNOWN_OUTCOME;
            }
            st = GREBE_EUNKNOWN_OUTCOME;
        }
    }
    return st;
}

static void fault_writer_free(struct io_writer *iw)
{
    struct fault_writer *w = (struct fault_writer *)iw;
    io_writer_free(w->inner);
    str_free(iw->a, iw->path);
    mem_free(iw->a, w, sizeof *w);
}

static const struct io_writer_ops fault_writer_ops = { fault_write, fault_publish,
                                                       fault_writer_free };

static grebe_status fault_create(struct io_store *store, const char *path, bool is_durable,
                                 struct io_writer **out, grebe_error *err)
{
    struct io_fault_store *s = (struct io_fault_store *)store;
    const grebe_allocator *a = store->ctx->a;
    grebe_status st = step(s, "create", path, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct fault_writer *w = mem_alloc_zero(a, sizeof *w);
    char *copy = str_copy(a, path);
    if (w == NULL || copy == NULL) {
        st = mem_fail(err, sizeof *w, path);
    } else {
        st = io_create(s->inner, path, is_durable, &w->inner, err);
    }
    if (st != GREBE_OK) {
        str_free(a, copy);
        mem_free(a, w, sizeof *w);
        return st;
    }
    w->writer.ops = &fault_writer_ops;
    w->writer.a = a;
    w->writer.path = copy;
    w->writer.is_durable = is_durable;
    w->owner = s;
    *out = &w->writer;
    return GREBE_OK;
}

static void fault_free(struct io_store *store)
{
    struct io_fault_store *s = (struct io_fault_store *)store;
    io_store_free(s->inner);
    mem_free(store->ctx->a, s, sizeof *s);
}

static const struct io_store_ops fault_store_ops = { fault_open,   fault_stat,   fault_list,
                                                     fault_make_folders, fault_remove,
                                                     fault_create, fault_free };

grebe_status io_fault_new(grebe_context *ctx, struct io_store *inner, struct io_fault_store **out,
                          grebe_error *err)
{
    struct io_fault_store *s = mem_alloc_zero(ctx->a, sizeof *s);
    *out = s;
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a store");
    }
    s->store.ops = &fault_store_ops;
    s->store.ctx = ctx;
    s->store.cache_scope = s;
    s->inner = inner;
    return GREBE_OK;
}
