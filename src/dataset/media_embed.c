/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/media_embed.h"

#include <string.h>

#include "arrow/arrow_internal.h"
#include "base/checked.h"

bool media_are_in(const struct feature *f)
{
    switch (f->kind) {
    case FEATURE_MEDIA: return true;
    case FEATURE_LIST:
    case FEATURE_LARGE_LIST: return media_are_in(f->child);
    case FEATURE_STRUCT:
        for (size_t i = 0; i < f->n_fields; i++) {
            if (media_are_in(&f->fields[i])) {
                return true;
            }
        }
        return false;
    default: return false;
    }
}

/* One media value. */
struct medium {
    bool has_bytes, has_path;
    struct arrow_bytes bytes, path;
};

static struct medium medium_at(const struct ArrowArray *array, int64_t i)
{
    const struct ArrowArray *bytes = array->children[0], *path = array->children[1];
    struct medium m = { false, false, { NULL, 0 }, { NULL, 0 } };
    if (array_is_null(array, i)) {
        return m;
    }
    int64_t at = array->offset + i;
    m.has_bytes = !array_is_null(bytes, at);
    m.has_path = !array_is_null(path, at);
    if (m.has_bytes) {
        m.bytes = arrow_bytes_at(bytes, ARROW_BINARY, 0, at);
    }
    if (m.has_path) {
        m.path = arrow_bytes_at(path, ARROW_STRING, 0, at);
    }
    return m;
}

/* The path of a medium that is a file of this machine and has no bytes; NULL with GREBE_OK: it is none. */
static grebe_status local_file(const grebe_allocator *a, const struct medium *m, char **path, grebe_error *err)
{
    *path = NULL;
    if (m->has_bytes || !m->has_path || m->path.len == 0) {
        return GREBE_OK;
    }
    *path = str_copy_len(a, m->path.p, (size_t)m->path.len);
    if (*path == NULL) {
        return mem_fail(err, (size_t)m->path.len, "a path");
    }
    if (path_scheme_len(*path) != 0) {
        str_free(a, *path);
        *path = NULL;
    }
    return GREBE_OK;
}

/* ---- new columns ---- */

/* Offsets, bytes and validity of a column being made. */
struct made_column {
    struct buf offsets, bytes, valid; /* valid: a byte a row */
    int64_t n_null;
};

static void made_release(struct made_column *c)
{
    buf_release(&c->offsets);
    buf_release(&c->bytes);
    buf_release(&c->valid);
}

static grebe_status made_put(struct made_column *c, bool is_valid, const void *bytes, size_t len, grebe_error *err)
{
    grebe_status st = is_valid ? buf_put(&c->bytes, bytes, len, err) : GREBE_OK;
    int32_t end = (int32_t)c->bytes.len;
    if (st == GREBE_OK && c->bytes.len > INT32_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "media of more than 2^31 - 1 bytes in one batch: ask for smaller ones");
    }
    st = st == GREBE_OK ? buf_put(&c->offsets, &end, sizeof end, err) : st;
    c->n_null += !is_valid;
    return st == GREBE_OK ? buf_put_byte(&c->valid, is_valid, err) : st;
}

static grebe_status made_finish(const grebe_allocator *a, struct made_column *c, struct ArrowArray *out,
                                grebe_error *err)
{
    int64_t n = (int64_t)c->valid.len;
    void *p = NULL;
    grebe_status st = array_new(a, n, 3, 0, out, err);
    st = st == GREBE_OK ? array_alloc_buffer(a, out, 1, (size_t)(n + 1) * 4, &p, err) : st;
    if (st == GREBE_OK) {
        memset(p, 0, 4);
        memcpy((char *)p + 4, c->offsets.data, c->offsets.len);
        st = array_alloc_buffer(a, out, 2, c->bytes.len, &p, err);
    }
    if (st == GREBE_OK && c->bytes.len > 0) {
        memcpy(p, c->bytes.data, c->bytes.len);
    }
    if (st == GREBE_OK && c->n_null > 0) {
        st = array_alloc_buffer(a, out, 0, bitmap_bytes(n), &p, err);
        if (st == GREBE_OK) {
            memset(p, 0, bitmap_bytes(n));
            for (int64_t i = 0; i < n; i++) {
                if (c->valid.data[i]) {
                    bit_set(p, i);
                }
            }
            out->null_count = c->n_null;
        }
    }
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static const char *base_of(const struct medium *m, size_t *len)
{
    const char *p = m->path.p;
    size_t n = (size_t)m->path.len, begin = n;
    while (begin > 0 && p[begin - 1] != '/') {
        begin--;
    }
    *len = n - begin;
    return p + begin;
}

static grebe_status put_medium(struct io_store *store, const struct medium *m, struct made_column *bytes,
                               struct made_column *path, grebe_error *err)
{
    const grebe_allocator *a = store->ctx->a;
    char *name = NULL;
    grebe_status st = local_file(a, m, &name, err);
    bool is_read = name != NULL;
    if (st != GREBE_OK) {
        return st;
    }
    if (is_read) {
        struct region *content = NULL;
        st = io_read_all(store, name, INT32_MAX, &content, NULL, err);
        st = st == GREBE_OK ? made_put(bytes, true, content->data, content->len, err) : st;
        region_drop(content);
        str_free(a, name);
    } else {
        st = made_put(bytes, m->has_bytes, m->bytes.p, (size_t)m->bytes.len, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    size_t len = (size_t)m->path.len;
    const char *kept = m->path.p;
    if (m->has_path && (is_read || m->has_bytes)) {
        kept = base_of(m, &len);
    }
    return made_put(path, m->has_path, kept, len, err);
}

/* A struct<bytes, path> whose rows are those of the old one. */
static grebe_status embed_values(struct io_store *store, struct ArrowArray *array, grebe_error *err)
{
    const grebe_allocator *a = store->ctx->a;
    grebe_status st = GREBE_OK;
    struct made_column bytes = { BUF_INIT(a), BUF_INIT(a), BUF_INIT(a), 0 };
    struct made_column path = { BUF_INIT(a), BUF_INIT(a), BUF_INIT(a), 0 };
    struct ArrowArray columns[2] = { { 0 }, { 0 } }, out = { 0 };
    for (int64_t i = 0; i < array->length; i++) {
        struct medium m = medium_at(array, i);
        GREBE_TRY(put_medium(store, &m, &bytes, &path, err));
    }
    GREBE_TRY(made_finish(a, &bytes, &columns[0], err));
    GREBE_TRY(made_finish(a, &path, &columns[1], err));
    GREBE_TRY(array_struct(a, array->length, columns, 2, &out, err));
    if (array->null_count != 0 && array->buffers[0] != NULL) {
        void *bits = NULL;
        GREBE_TRY(array_alloc_buffer(a, &out, 0, bitmap_bytes(array->length), &bits, err));
        memset(bits, 0, bitmap_bytes(array->length));
        bitmap_copy(bits, 0, array->buffers[0], array->offset, array->length);
        out.null_count = array->length - bitmap_count(bits, 0, array->length);
    }
    array_release(array);
    array_move(array, &out);
out:
    made_release(&bytes);
    made_release(&path);
    array_release(&columns[0]);
    array_release(&columns[1]);
    array_release(&out);
    return st;
}

/* A node is replaced in place by one of its own length; children are looked at as a whole. */
static grebe_status embed_node(struct io_store *store, const struct feature *f, struct ArrowArray *array,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (!media_are_in(f)) {
        return GREBE_OK;
    }
    if (f->kind == FEATURE_MEDIA) {
        st = embed_values(store, array, err);
    } else if (f->kind == FEATURE_STRUCT) {
        for (size_t i = 0; i < f->n_fields && st == GREBE_OK; i++) {
            st = embed_node(store, &f->fields[i], array->children[i], err);
        }
    } else {
        st = embed_node(store, f->child, array->children[0], err);
    }
    return st;
}

grebe_status media_embed(struct io_store *store, const struct features *f, struct ArrowArray *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < f->top.n_fields && st == GREBE_OK; i++) {
        st = embed_node(store, &f->top.fields[i], rows->children[i], err);
        st = st == GREBE_OK ? st : error_wrap(err, st, "column \"%.64s\"", f->top.fields[i].name);
    }
    return st;
}

static grebe_status count_node(struct io_store *store, const struct feature *f, const struct ArrowArray *array,
                               int64_t *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (!media_are_in(f)) {
        return GREBE_OK;
    }
    if (f->kind == FEATURE_STRUCT) {
        for (size_t i = 0; i < f->n_fields && st == GREBE_OK; i++) {
            st = count_node(store, &f->fields[i], array->children[i], out, err);
        }
        return st;
    }
    if (f->kind != FEATURE_MEDIA) {
        return count_node(store, f->child, array->children[0], out, err);
    }
    for (int64_t i = 0; i < array->length; i++) {
        struct medium m = medium_at(array, i);
        struct io_info info;
        char *name = NULL;
        st = local_file(store->ctx->a, &m, &name, err);
        if (st != GREBE_OK) {
            return st;
        }
        /* a file that is not there is named when it is read */
        if (name != NULL && io_stat(store, name, &info, NULL) == GREBE_OK &&
            info.id.size_bytes < (uint64_t)INT64_MAX / 2 - (uint64_t)*out) {
            *out += (int64_t)info.id.size_bytes;
        }
        str_free(store->ctx->a, name);
    }
    return st;
}

grebe_status media_file_bytes(struct io_store *store, const struct features *f, const struct ArrowArray *rows,
                              int64_t *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = 0;
    for (size_t i = 0; i < f->top.n_fields && st == GREBE_OK; i++) {
        st = count_node(store, &f->top.fields[i], rows->children[i], out, err);
    }
    return st;
}
