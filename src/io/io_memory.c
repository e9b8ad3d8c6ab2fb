/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in memory. One lock guards the list; contents are immutable regions, so readers share
 * them. A store is not a folder tree: a folder is there while some path lies below it, or
 * after make_folders.
 */
#include "io/io.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/checked.h"

struct entry {
    struct entry *next;
    char *path;
    struct region *bytes; /* NULL: a folder */
    uint64_t number;      /* never used twice, so that identities differ */
};

struct memory_store {
    struct io_store store;
    pthread_mutex_t lock;
    struct entry *first;
    uint64_t n_made;
};

struct memory_file {
    struct io_file file;
    struct region *bytes;
};

struct memory_writer {
    struct io_writer writer;
    struct memory_store *store;
    struct buf bytes;
};

static struct entry *find(struct memory_store *m, const char *path)
{
    for (struct entry *e = m->first; e != NULL; e = e->next) {
        if (strcmp(e->path, path) == 0) {
            return e;
        }
    }
    return NULL;
}

static void fill_identity(const struct memory_store *m, const struct entry *e,
                          struct io_identity *id)
{
    memset(id, 0, sizeof *id);
    id->device = (uint64_t)(uintptr_t)m;
    id->inode = e->number;
    id->size_bytes = e->bytes == NULL ? 0 : e->bytes->len;
}

static grebe_status memory_read_some(struct io_file *f, uint64_t offset, void *dst, size_t len,
                                     size_t *got, grebe_error *err)
{
    struct memory_file *mf = (struct memory_file *)f;
    (void)err;
    *got = offset >= mf->bytes->len ? 0 : min_size(len, mf->bytes->len - (size_t)offset);
    memcpy(dst, mf->bytes->data + offset, *got);
    return GREBE_OK;
}

static grebe_status memory_map(struct io_file *f, struct region **out, grebe_error *err)
{
    (void)err;
    *out = region_keep(((struct memory_file *)f)->bytes);
    return GREBE_OK;
}

static void memory_close(struct io_file *f)
{
    struct memory_file *mf = (struct memory_file *)f;
    region_drop(mf->bytes);
    str_free(f->a, f->path);
    mem_free(f->a, mf, sizeof *mf);
}

static const struct io_file_ops memory_file_ops = { memory_read_some, memory_map, memory_close };

static grebe_status memory_open(struct io_store *s, const char *path, struct io_file **out,
                                grebe_error *err)
{
    struct memory_store *m = (struct memory_store *)s;
    const grebe_allocator *a = s->ctx->a;
    struct memory_file *f = mem_alloc_zero(a, sizeof *f);
    char *copy = str_copy(a, path);
    grebe_status st = GREBE_OK;
    if (f == NULL || copy == NULL) {
        st = mem_fail(err, sizeof *f, path);
    } else {
        pthread_mutex_lock(&m->lock);
        struct entry *e = find(m, path);
        if (e != NULL && e->bytes != NULL) {
            f->bytes = region_keep(e->bytes);
            fill_identity(m, e, &f->file.id);
        }
        pthread_mutex_unlock(&m->lock);
        if (f->bytes == NULL) {
            st = GREBE_FAIL(err, e == NULL ? GREBE_ENOTFOUND : GREBE_EINVAL, "%s: %s", path,
                            e == NULL ? "no such file" : "expected a file, found a folder");
        }
    }
    if (st != GREBE_OK) {
        str_free(a, copy);
        mem_free(a, f, sizeof *f);
        return st;
    }
    f->file.ops = &memory_file_ops;
    f->file.a = a;
    f->file.path = copy;
    *out = &f->file;
    return GREBE_OK;
}

/* Whether path lies below the folder; *name is its first part below it. */
static bool is_below(const char *path, const char *folder, const char **name)
{
    size_t n = strlen(folder);
    while (n > 0 && folder[n - 1] == '/') {
        n--;
    }
    if (strncmp(path, folder, n) != 0 || path[n] != '/' || path[n + 1] == '\0') {
        return false;
    }
    *name = path + n + 1;
    return true;
}

static grebe_status memory_stat(struct io_store *s, const char *path, struct io_info *out,
                                grebe_error *err)
{
    struct memory_store *m = (struct memory_store *)s;
    const char *name = NULL;
    bool is_there = false;
    pthread_mutex_lock(&m->lock);
    struct entry *e = find(m, path);
    if (e != NULL) {
        fill_identity(m, e, &out->id);
        out->kind = e->bytes == NULL ? IO_FOLDER : IO_FILE;
        is_there = true;
    }
    for (e = m->first; !is_there && e != NULL; e = e->next) {
        is_there = is_below(e->path, path, &name);
        out->kind = IO_FOLDER;
    }
    pthread_mutex_unlock(&m->lock);
    return is_there ? GREBE_OK : GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no such file", path);
}

static grebe_status memory_list(struct io_store *s, const char *path, io_list_fn fn, void *arg,
                                grebe_error *err)
{
    struct memory_store *m = (struct memory_store *)s;
    struct buf names = BUF_INIT(s->ctx->a); /* kind byte, name, NUL: called without the lock */
    grebe_status st = GREBE_OK;
    bool is_there = false;
    pthread_mutex_lock(&m->lock);
    is_there = find(m, path) != NULL;
    for (struct entry *e = m->first; st == GREBE_OK && e != NULL; e = e->next) {
        const char *name = NULL;
        if (!is_below(e->path, path, &name)) {
            continue;
        }
        is_there = true;
        if (strchr(name, '/') == NULL) {
            st = buf_put_byte(&names, e->bytes == NULL ? IO_FOLDER : IO_FILE, err);
            if (st == GREBE_OK) {
                st = buf_put(&names, name, strlen(name) + 1, err);
            }
        }
    }
    pthread_mutex_unlock(&m->lock);
    if (st == GREBE_OK && !is_there) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no such folder", path);
    }
    for (size_t i = 0; st == GREBE_OK && i < names.len;) {
        const char *name = (const char *)names.data + i + 1;
        st = fn(arg, name, (enum io_kind)names.data[i], err);
        i += 2 + strlen(name);
    }
    buf_release(&names);
    return st;
}

/* bytes (one reference) is moved in on success. */
static grebe_status put(struct memory_store *m, const char *path, struct region *bytes,
                        bool is_replace, grebe_error *err)
{
    const grebe_allocator *a = m->store.ctx->a;
    struct entry *e = mem_alloc_zero(a, sizeof *e);
    char *copy = str_copy(a, path);
    grebe_status st = GREBE_OK;
    struct region *old = NULL;
    if (e == NULL || copy == NULL) {
        st = mem_fail(err, sizeof *e, path);
        goto out;
    }
    pthread_mutex_lock(&m->lock);
    struct entry *there = find(m, path);
    if (there != NULL && !is_replace) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "%s: exists already", path);
    } else if (there != NULL) {
        old = there->bytes;
        there->bytes = bytes;
        there->number = ++m->n_made;
    } else {
        e->path = copy;
        e->bytes = bytes;
        e->number = ++m->n_made;
        e->next = m->first;
        m->first = e;
        e = NULL;
        copy = NULL;
    }
    pthread_mutex_unlock(&m->lock);
out:
    region_drop(old);
    mem_free(a, e, sizeof *e);
    str_free(a, copy);
    return st;
}

static grebe_status memory_make_folders(struct io_store *s, const char *path, bool is_durable,
                                        grebe_error *err)
{
    (void)is_durable;
    grebe_error ignored = GREBE_ERROR_INIT;
    grebe_status st = put((struct memory_store *)s, path, NULL, false, &ignored);
    if (st == GREBE_EEXISTS) {
        return GREBE_OK;
    }
    if (st != GREBE_OK && err != NULL) {
        *err = ignored;
    }
    return st;
}

static grebe_status memory_remove(struct io_store *s, const char *path, grebe_error *err)
{
    struct memory_store *m = (struct memory_store *)s;
    struct entry *e = NULL;
    pthread_mutex_lock(&m->lock);
    for (struct entry **at = &m->first; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->path, path) == 0) {
            e = *at;
            *at = e->next;
            break;
        }
    }
    pthread_mutex_unlock(&m->lock);
    if (e == NULL) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no such file", path);
    }
    region_drop(e->bytes);
    str_free(s->ctx->a, e->path);
    mem_free(s->ctx->a, e, sizeof *e);
    return GREBE_OK;
}

static grebe_status memory_write(struct io_writer *iw, const void *bytes, size_t len,
                                 grebe_error *err)
{
    return buf_put(&((struct memory_writer *)iw)->bytes, bytes, len, err);
}

static grebe_status memory_publish(struct io_writer *iw, bool is_replace, grebe_error *err)
{
    struct memory_writer *w = (struct memory_writer *)iw;
    struct region *r = NULL;
    grebe_status st = region_new(iw->a, w->bytes.len, &r, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (w->bytes.len > 0) {
        memcpy(r->data, w->bytes.data, w->bytes.len);
    }
    st = put(w->store, iw->path, r, is_replace, err);
    if (st != GREBE_OK) {
        region_drop(r);
        return st;
    }
    iw->is_published = true;
    return GREBE_OK;
}

static void memory_writer_free(struct io_writer *iw)
{
    struct memory_writer *w = (struct memory_writer *)iw;
    buf_release(&w->bytes);
    str_free(iw->a, iw->path);
    mem_free(iw->a, w, sizeof *w);
}

static const struct io_writer_ops memory_writer_ops = { memory_write, memory_publish,
                                                        memory_writer_free };

static grebe_status memory_create(struct io_store *s, const char *path, bool is_durable,
                                  struct io_writer **out, grebe_error *err)
{
    const grebe_allocator *a = s->ctx->a;
    struct memory_writer *w = mem_alloc_zero(a, sizeof *w);
    char *copy = str_copy(a, path);
    if (w == NULL || copy == NULL) {
        mem_free(a, w, sizeof *w);
        str_free(a, copy);
        return mem_fail(err, sizeof *w, path);
    }
    w->writer.ops = &memory_writer_ops;
    w->writer.a = a;
    w->writer.is_durable = is_durable;
    w->writer.path = copy;
    w->store = (struct memory_store *)s;
    w->bytes = BUF_INIT(a);
    *out = &w->writer;
    return GREBE_OK;
}

static void memory_free(struct io_store *s)
{
    struct memory_store *m = (struct memory_store *)s;
    const grebe_allocator *a = s->ctx->a;
    while (m->first != NULL) {
        struct entry *e = m->first;
        m->first = e->next;
        region_drop(e->bytes);
        str_free(a, e->path);
        mem_free(a, e, sizeof *e);
    }
    pthread_mutex_destroy(&m->lock);
    mem_free(a, m, sizeof *m);
}

static const struct io_store_ops memory_store_ops = {
    memory_open,   memory_stat,   memory_list, memory_make_folders,
    memory_remove, memory_create, memory_free
};

grebe_status io_memory_new(grebe_context *ctx, struct io_store **out, grebe_error *err)
{
    struct memory_store *m = mem_alloc_zero(ctx->a, sizeof *m);
    *out = NULL;
    if (m == NULL) {
        return mem_fail(err, sizeof *m, "a store");
    }
    m->store.ops = &memory_store_ops;
    m->store.ctx = ctx;
    m->store.cache_scope = m;
    pthread_mutex_init(&m->lock, NULL);
    *out = &m->store;
    return GREBE_OK;
}
