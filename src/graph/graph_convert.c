/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_convert.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/utf8.h"
#include "io/io.h"

enum { CHUNK = 1 << 20, PART = 4 << 20, PENDING_MAX = 64 };

/* ---- names ---- */

static bool is_taken(const struct graph_outputs *o, const char *name)
{
    for (size_t i = 0; i < o->n; i++) {
        if (strcmp(o->items[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* "set/train.pt" becomes "set/train.npy"; a path that leads out of the folder gives its last part alone. What is too long for a file is cut. */
static grebe_status choose_name(struct graph_outputs *o, const char *path, const char **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf clean = BUF_INIT(o->m->ctx->a), name = BUF_INIT(o->m->ctx->a);
    GREBE_TRY(path_normalize(&clean, path, err));
    const char *p = buf_text(&clean);
    if (p == NULL) {
        st = mem_fail(err, clean.len, path);
        goto out;
    }
    p += strncmp(p, "./", 2) == 0 ? 2 : 0;
    bool is_outside = p[0] == '/' || strncmp(p, "..", 2) == 0 || p[0] == '\0';
    const char *base = path_base_name(p), *dot = strrchr(base, '.');
    size_t stem =
        dot != NULL && dot != base && (strcmp(dot, ".npy") == 0 || strcmp(dot, ".pt") == 0 || strcmp(dot, ".pth") == 0)
            ? (size_t)(dot - p)
            : strlen(p);
    const size_t before = (size_t)(base - p), skip = is_outside ? before : 0;
    for (unsigned i = 1;; i++) {
        char ending[24];
        const int n = i > 1 ? snprintf(ending, sizeof ending, "-%u.npy", i) : snprintf(ending, sizeof ending, ".npy");
        const size_t len = stem - before, most = NAME_MAX - (size_t)n;
        buf_clear(&name);
        GREBE_TRY(is_outside ? buf_put_text(&name, "data/", err) : GREBE_OK);
        GREBE_TRY(buf_put(&name, p + skip, before - skip, err));
        GREBE_TRY(buf_put(&name, base, len <= most ? len : utf8_valid_prefix(base, most), err));
        GREBE_TRY(buf_put_text(&name, ending, err));
        const char *text = buf_text(&name);
        if (text == NULL) {
            st = mem_fail(err, name.len, path);
            goto out;
        }
        if (!is_taken(o, text)) {
            *out = arena_str(&o->m->arena, text, name.len);
            st = *out != NULL ? GREBE_OK : mem_fail(err, name.len, path);
            goto out;
        }
    }
out:
    buf_release(&clean);
    buf_release(&name);
    return st;
}

/* ---- values ---- */

struct copying {
    struct io_writer *w;
    const struct tensor *t;
    uint64_t begin, n_bytes; /* begin: of the values in the file that is written */
};

static grebe_status copy_part(void *arg, size_t i, grebe_error *err)
{
    const struct copying *c = arg;
    uint64_t at = (uint64_t)i * PART;
    size_t n = (size_t)min_u64(PART, c->n_bytes - at);
    grebe_status st = io_writer_patch(c->w, c->begin + at, c->t->data + at, n, err);
    region_forget(c->t->region, c->t->data + at, n);
    return st;
}

/* Values that stand in the source as they shall in the file. */
static grebe_status copy_values(const struct graph_outputs *o, struct io_writer *w, const struct tensor *t,
                                grebe_error *err)
{
    const struct copying c = { w, t, w->n_written, t->n_values * tensor_type_bytes(t->type) };
    grebe_status st = io_writer_skip(w, c.n_bytes, err);
    size_t n = (size_t)((c.n_bytes + PART - 1) / PART);
    return st == GREBE_OK ? parallel_for(o->m->ctx->pool, o->call.threads, n, copy_part, (void *)&c, o->call.cancel, err)
                          : st;
}

static grebe_status put_values(const struct graph_outputs *o, struct io_writer *w, const struct tensor *t,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t width = tensor_type_bytes(t->type);
    if (t->is_packed && !t->is_big_endian && t->n_values * width >= CHUNK && io_writer_local_path(w) != NULL) {
        return copy_values(o, w, t, err);
    }
    uint64_t rows = t->rank > 0 ? t->shape[0] : 1, each = rows > 0 ? t->n_values / rows : 0;
    uint64_t some = each > 0 && each * width < CHUNK ? CHUNK / (each * width) : 1;
    struct region *r = NULL;
    st = region_new(w->a, (size_t)(some * each * width), &r, err);
    for (uint64_t i = 0; i < rows && each > 0 && st == GREBE_OK; i += some) {
        uint64_t n = min_u64(some, rows - i);
        st = call_check(&o->call, err);
        st = st == GREBE_OK ? tensor_read(t, i, n, r->data, err) : st;
        st = st == GREBE_OK ? io_write(w, r->data, (size_t)(n * each * width), err) : st;
    }
    region_drop(r);
    return st;
}

static grebe_status put_int32(const struct graph_outputs *o, struct io_writer *w, const struct tensor *t, const char *path,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    uint64_t rows = t->shape[0], each = rows > 0 ? t->n_values / rows : 0;
    uint64_t some = each > 0 && each * 8 < CHUNK ? CHUNK / (each * 8) : 1;
    struct region *r = NULL;
    GREBE_TRY(region_new(w->a, (size_t)(some * each * 12), &r, err));
    int64_t *wide = (int64_t *)(void *)r->data;
    int32_t *narrow = (int32_t *)(void *)(r->data + some * each * 8);
    for (uint64_t i = 0; i < rows && each > 0; i += some) {
        uint64_t n = min_u64(some, rows - i) * each;
        GREBE_TRY(call_check(&o->call, err));
        GREBE_TRY(tensor_read_i64(t, i, n / each, wide, err));
        for (uint64_t k = 0; k < n; k++) {
            if (wide[k] < INT32_MIN || wide[k] > INT32_MAX) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT,
                                "%s: item %llu: id %lld does not fit the 32 bits that the graph's ids have", path,
                                (unsigned long long)(i + k / each), (long long)wide[k]);
                goto out;
            }
            narrow[k] = (int32_t)wide[k];
        }
        GREBE_TRY(io_write(w, narrow, (size_t)n * 4, err));
    }
out:
    region_drop(r);
    return st;
}

static grebe_status make_folder_of(struct graph_outputs *o, const char *path, grebe_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = str_copy_len(o->m->ctx->a, path, (size_t)(slash - path));
    if (folder == NULL) {
        return mem_fail(err, strlen(path), path);
    }
    grebe_status st = io_make_folders(o->store, folder, o->is_durable, err);
    str_free(o->m->ctx->a, folder);
    return st;
}

/* Small files are not worth an open one. */
grebe_status graph_outputs_add(struct graph_outputs *o, struct io_writer **w, grebe_error *err)
{
    if (!o->is_durable || o->n_pending == PENDING_MAX || (*w)->n_written < CHUNK) {
        return io_writer_publish(*w, false, err);
    }
    if (o->pending == NULL) {
        o->pending = arena_array(&o->m->arena, PENDING_MAX, sizeof(struct io_writer *));
    }
    if (o->pending == NULL) {
        return mem_fail(err, PENDING_MAX * sizeof(struct io_writer *), (*w)->path);
    }
    o->pending[o->n_pending++] = *w;
    *w = NULL;
    return GREBE_OK;
}

grebe_status graph_outputs_publish(struct graph_outputs *o, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < o->n_pending && st == GREBE_OK; i++) {
        st = io_writer_publish(o->pending[i], false, err);
    }
    graph_outputs_release(o);
    return st;
}

void graph_outputs_release(struct graph_outputs *o)
{
    for (size_t i = 0; i < o->n_pending; i++) {
        io_writer_free(o->pending[i]);
    }
    o->n_pending = 0;
}

static grebe_status write_npy(struct graph_outputs *o, const struct graph_file *f, struct tensor *t,
                              struct graph_output *x, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_writer *w = NULL;
    struct buf head = BUF_INIT(o->m->ctx->a), path = BUF_INIT(o->m->ctx->a);
    uint64_t shape[TENSOR_DIMS_MAX + 1];
    unsigned rank = t->rank;
    memcpy(shape, t->shape, sizeof t->shape);
    if (x->conversion == GRAPH_AS_ROWS && rank == 1) {
        shape[rank++] = 1;
    }
    x->is_bfloat16 = t->type == ARRAY_BF16;
    int type = x->is_bfloat16 ? ARRAY_U16 : x->conversion == GRAPH_AS_INT32 ? ARRAY_I32 : t->type;
    GREBE_TRY(tensor_npy_header(&head, type, shape, rank, err));
    GREBE_TRY(path_join(&path, o->folder, x->name, err));
    if (buf_text(&path) == NULL) {
        st = mem_fail(err, path.len, x->name);
        goto out;
    }
    GREBE_TRY(make_folder_of(o, buf_text(&path), err));
    GREBE_TRY(io_create(o->store, buf_text(&path), o->is_durable, &w, err));
    GREBE_TRY(io_write(w, head.data, head.len, err));
    GREBE_TRY(x->conversion == GRAPH_AS_INT32 ? put_int32(o, w, t, f->path, err) : put_values(o, w, t, err));
    x->n_bytes = w->n_written;
    GREBE_TRY(graph_outputs_add(o, &w, err));
out:
    io_writer_free(w);
    buf_release(&head);
    buf_release(&path);
    return st;
}

grebe_status graph_convert(struct graph_outputs *o, const struct graph_file *f, enum graph_conversion conversion,
                           struct graph_output *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct tensor t = { 0 };
    GREBE_TRY(graph_file_open(o->m, f, &t, err));
    bool is_id = graph_type_is_integer(t.type) && t.type != ARRAY_I32 && t.rank > 0;
    conversion = (conversion == GRAPH_AS_INT32 && !is_id) || (conversion == GRAPH_AS_ROWS && t.rank != 1) ? GRAPH_AS_IS
                                                                                                          : conversion;
    for (size_t i = 0; i < o->n; i++) {
        if (strcmp(o->items[i].real_path, f->real_path) == 0 && o->items[i].conversion == conversion) {
            *out = o->items[i];
            goto out;
        }
    }
    *out = (struct graph_output){ .real_path = f->real_path, .conversion = conversion };
    if (t.rank == TENSOR_DIMS_MAX && conversion == GRAPH_AS_ROWS) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: more dimensions than 8", f->path);
        goto out;
    }
    GREBE_TRY(choose_name(o, f->path, &out->name, err));
    GREBE_TRY(write_npy(o, f, &t, out, err));
    if (o->n == o->capacity) {
        size_t capacity = o->capacity * 2 + 16;
        struct graph_output *more = arena_array(&o->m->arena, capacity, sizeof *more);
        if (more == NULL) {
            st = mem_fail(err, capacity * sizeof *more, f->path);
            goto out;
        }
        if (o->n > 0) {
            memcpy(more, o->items, o->n * sizeof *more);
        }
        o->items = more;
        o->capacity = capacity;
    }
    o->items[o->n++] = *out;
out:
    tensor_release(&t);
    return st;
}
