/* SPDX-License-Identifier: Apache-2.0 */
/* Media columns: by path where they are files, by their bytes where they are members of an archive. */
#include <string.h>

#include "base/name_index.h"
#include "builder/builder_folder.h"
#include "text/text_builder.h"

struct media_builder {
    const grebe_allocator *a;
    struct text_builder top, bytes, path;
};

grebe_status media_builder_new(const grebe_allocator *a, struct media_builder **out, grebe_error *err)
{
    struct media_builder *m = mem_alloc_zero(a, sizeof *m);
    *out = m;
    if (m == NULL) {
        return mem_fail(err, sizeof *m, "media");
    }
    m->a = a;
    text_builder_init(&m->top, a, TEXT_BUILDER_STRUCT, 0);
    text_builder_init(&m->bytes, a, TEXT_BUILDER_TEXT, 0);
    text_builder_init(&m->path, a, TEXT_BUILDER_TEXT, 0);
    return GREBE_OK;
}

void media_builder_free(struct media_builder *m)
{
    if (m != NULL) {
        text_builder_release(&m->top);
        text_builder_release(&m->bytes);
        text_builder_release(&m->path);
        mem_free(m->a, m, sizeof *m);
    }
}

static grebe_status put_top(struct media_builder *m, grebe_error *err)
{
    grebe_status st = text_builder_reserve(&m->top, 1, err);
    if (st == GREBE_OK) {
        text_builder_took(&m->top);
    }
    return st;
}

grebe_status media_put_path(struct media_builder *m, const char *path, size_t len, grebe_error *err)
{
    grebe_status st = put_top(m, err);
    st = st == GREBE_OK ? text_builder_put_nulls(&m->bytes, 1, err) : st;
    return st == GREBE_OK ? text_builder_put_text(&m->path, path, len, err) : st;
}

grebe_status media_put_bytes(struct media_builder *m, const void *bytes, size_t len, const char *path, grebe_error *err)
{
    grebe_status st = put_top(m, err);
    st = st == GREBE_OK ? text_builder_put_text(&m->bytes, bytes, len, err) : st;
    return st == GREBE_OK ? text_builder_put_text(&m->path, path, strlen(path), err) : st;
}

grebe_status media_put_null(struct media_builder *m, grebe_error *err)
{
    grebe_status st = text_builder_put_nulls(&m->top, 1, err);
    st = st == GREBE_OK ? text_builder_put_nulls(&m->bytes, 1, err) : st;
    return st == GREBE_OK ? text_builder_put_nulls(&m->path, 1, err) : st;
}

grebe_status media_finish(struct media_builder *m, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = text_builder_finish(&m->top, 2, out, err);
    st = st == GREBE_OK ? text_builder_finish(&m->bytes, 0, out->children[0], err) : st;
    st = st == GREBE_OK ? text_builder_finish(&m->path, 0, out->children[1], err) : st;
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

grebe_status media_schema(const grebe_allocator *a, const char *name, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(a, "+s", name, true, 2, out, err);
    st = st == GREBE_OK ? schema_new(a, "z", "bytes", true, 0, out->children[0], err) : st;
    st = st == GREBE_OK ? schema_new(a, "u", "path", true, 0, out->children[1], err) : st;
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

/* ---- names in metadata ---- */

grebe_status folder_check_name(const char *name, size_t len, struct buf *dst, grebe_error *err)
{
    const size_t begin = dst->len;
    size_t n = 0;
    bool is_bad = len == 0 || memchr(name, '\0', len) != NULL || name[0] == '/' || name[0] == '\\' ||
                  (len > 1 && name[1] == ':');
    for (size_t i = 0; i + 2 < len && !is_bad; i++) {
        is_bad = memcmp(name + i, "://", 3) == 0;
    }
    grebe_status st = GREBE_OK;
    for (size_t at = 0; at < len && !is_bad && st == GREBE_OK;) {
        size_t end = at;
        while (end < len && name[end] != '/' && name[end] != '\\') {
            end++;
        }
        if (end - at == 2 && memcmp(name + at, "..", 2) == 0) {
            is_bad = n == 0;
            n -= n > 0;
            while (dst->len > begin && dst->data[dst->len - 1] != '/') {
                dst->len--;
            }
            dst->len -= dst->len > begin;
        } else if (end > at && !(end - at == 1 && name[at] == '.')) {
            st = dst->len > begin ? buf_put_byte(dst, '/', err) : GREBE_OK;
            st = st == GREBE_OK ? buf_put(dst, name + at, end - at, err) : st;
            n++;
        }
        at = end + 1;
    }
    if (st == GREBE_OK && (is_bad || n == 0)) {
        char quoted[128];
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected a relative path inside the folder of the metadata, found \"%s\"",
                        error_quote(quoted, sizeof quoted, name, len));
    }
    return st;
}

/* ---- conversion ---- */

static grebe_status find_member(const struct folder_files *f, const char *name, size_t *out, grebe_error *err)
{
    const size_t *at = name_index_find(f->members, name);
    if (at != NULL) {
        *out = *at;
        return GREBE_OK;
    }
    char quoted[128];
    return GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: expected the member \"%s\", found none", f->zip_path,
                      error_quote(quoted, sizeof quoted, name, strlen(name)));
}

static grebe_status put_file(const struct folder_files *f, struct media_builder *m, const char *name, size_t len,
                             struct buf *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_info info;
    buf_clear(path);
    GREBE_TRY(buf_put_text(path, f->zip != NULL ? f->in_zip : f->folder, err));
    struct buf rest = BUF_INIT(path->a);
    st = folder_check_name(name, len, &rest, err);
    st = st == GREBE_OK ? buf_put(path, rest.data, rest.len, err) : st;
    buf_release(&rest);
    GREBE_TRY(st);
    const char *text = buf_text(path);
    if (text == NULL) {
        return mem_fail(err, path->len, "a path");
    }
    if (f->zip != NULL) {
        struct region *bytes = NULL;
        size_t i = 0;
        GREBE_TRY(find_member(f, text, &i, err));
        st = archive_read(f->zip, i, UINT32_MAX / 2, &bytes, err);
        st = st == GREBE_OK ? media_put_bytes(m, bytes->data, bytes->len, text, err) : st;
        region_drop(bytes);
        goto out;
    }
    GREBE_TRY(io_stat(f->b->base.store, text, &info, err)); /* now, not when somebody looks at the picture */
    st = media_put_path(m, text, path->len, err);
out:
    return st;
}

/* Rows [begin, end) of a column of names. */
static grebe_status put_names(const struct folder_files *f, struct media_builder *m, const struct ArrowSchema *schema,
                              const struct ArrowArray *names, int64_t begin, int64_t end, int64_t first_row,
                              grebe_error *err)
{
    struct buf path = BUF_INIT(f->b->base.b.ctx->a);
    struct arrow_type t;
    grebe_status st = arrow_type_of(schema, &t, err);
    for (int64_t i = begin; i < end && st == GREBE_OK; i++) {
        if (array_is_null(names, i)) {
            st = media_put_null(m, err);
            continue;
        }
        const int64_t at = i + names->offset;
        int64_t from = 0, to = 0;
        if (t.kind == ARROW_LARGE_STRING) {
            from = ((const int64_t *)names->buffers[1])[at];
            to = ((const int64_t *)names->buffers[1])[at + 1];
        } else {
            from = ((const int32_t *)names->buffers[1])[at];
            to = ((const int32_t *)names->buffers[1])[at + 1];
        }
        st = put_file(f, m, (const char *)names->buffers[2] + from, (size_t)(to - from), &path, err);
        if (st != GREBE_OK) {
            error_wrap(err, st, "row %lld", (long long)(first_row + i - begin));
        }
    }
    buf_release(&path);
    return st;
}

/* A list of names becomes a list of media: its offsets stay. */
static grebe_status convert_list(const struct folder_files *f, struct media_builder *m, const struct ArrowSchema *schema,
                                 const struct ArrowArray *lists, int64_t n, int64_t first_row, struct ArrowArray *out,
                                 grebe_error *err)
{
    const grebe_allocator *a = f->b->base.b.ctx->a;
    struct text_builder t;
    grebe_status st = GREBE_OK;
    text_builder_init(&t, a, TEXT_BUILDER_LIST, 0);
    const int32_t *offsets = lists->buffers[1];
    int32_t n_items = 0;
    for (int64_t i = 0; i < n && st == GREBE_OK; i++) {
        const int64_t at = i + lists->offset;
        if (array_is_null(lists, i)) {
            st = text_builder_put_nulls(&t, 1, err);
            continue;
        }
        st = put_names(f, m, schema->children[0], lists->children[0], offsets[at], offsets[at + 1], first_row + i, err);
        n_items += offsets[at + 1] - offsets[at];
        st = st == GREBE_OK ? text_builder_reserve(&t, 1, err) : st;
        if (st == GREBE_OK) {
            ((int32_t *)(void *)t.data)[t.n + 1] = n_items;
            text_builder_took(&t);
        }
    }
    st = st == GREBE_OK ? text_builder_finish(&t, 1, out, err) : st;
    if (st == GREBE_OK) {
        st = media_finish(m, out->children[0], err);
    }
    text_builder_release(&t);
    return st;
}

static grebe_status convert_column(const struct folder_files *f, const char *name, bool is_list, int64_t n,
                                   int64_t first_row, struct ArrowSchema *schema, struct ArrowArray *column,
                                   grebe_error *err)
{
    const grebe_allocator *a = f->b->base.b.ctx->a;
    struct media_builder *m = NULL;
    struct ArrowArray out = { 0 };
    struct ArrowSchema type = { 0 };
    grebe_status st = media_builder_new(a, &m, err);
    if (st == GREBE_OK && is_list) {
        st = convert_list(f, m, schema, column, n, first_row, &out, err);
        st = st == GREBE_OK ? schema_new(a, "+l", name, true, 1, &type, err) : st;
        st = st == GREBE_OK ? media_schema(a, "item", type.children[0], err) : st;
    } else if (st == GREBE_OK) {
        st = put_names(f, m, schema, column, 0, n, first_row, err);
        st = st == GREBE_OK ? media_finish(m, &out, err) : st;
        st = st == GREBE_OK ? media_schema(a, name, &type, err) : st;
    }
    if (st == GREBE_OK) {
        array_release(column);
        array_move(column, &out);
        schema_release(schema);
        schema_move(schema, &type);
    }
    array_release(&out);
    schema_release(&type);
    media_builder_free(m);
    return st;
}

grebe_status folder_convert(const struct folder_files *files, struct ArrowSchema *schema, struct ArrowArray *rows,
                            int64_t first_row, struct ArrowSchema *out_schema, struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = files->b->base.b.ctx->a;
    const int64_t n_rows = rows->length;
    const size_t n = (size_t)schema->n_children;
    struct array_shared *shared = NULL;
    struct ArrowArray *columns = mem_alloc_zero(a, (n + 1) * sizeof *columns);
    grebe_status st = columns != NULL ? array_share(a, rows, &shared, err) : mem_fail(err, n * sizeof *columns, "columns");
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        const struct ArrowArray *all = array_shared_get(shared);
        const struct folder_column *media = folder_media_column(files->b, schema->children[i]->name);
        st = array_view(shared, all->children[i], all->offset, n_rows, &columns[i], err);
        if (st == GREBE_OK && media != NULL) {
            st = convert_column(files, media->media, media->is_list, n_rows, first_row, schema->children[i], &columns[i], err);
        }
    }
    if (st == GREBE_OK) {
        st = array_struct(a, n_rows, columns, n, out, err);
    }
    if (st == GREBE_OK) {
        schema_move(out_schema, schema);
    }
    for (size_t i = 0; columns != NULL && i < n; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, columns != NULL ? (n + 1) * sizeof *columns : 0);
    array_shared_drop(shared);
    schema_release(schema);
    array_release(rows);
    return st;
}
