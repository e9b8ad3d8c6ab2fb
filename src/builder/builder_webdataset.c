/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder_webdataset.h"

#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "text/json_table.h"
#include "text/text_builder.h"

enum { BATCH_ROWS = 100 };

/* ---- rows ---- */

struct column {
    struct text_builder plain;
    struct media_builder *media;
    struct json_table table;
    bool has_table;
    size_t n; /* values */
};

struct webdataset_rows {
    struct webdataset_builder *b;
    const char *path;
    struct archive *z;
    size_t at; /* the next member */
    int64_t row;
    struct column *columns; /* shape [fields + 2] */
    struct buf scratch;
};

static void release_columns(struct webdataset_rows *r)
{
    for (size_t i = 0; r->columns != NULL && i < r->b->n + 2; i++) {
        text_builder_release(&r->columns[i].plain);
        media_builder_free(r->columns[i].media);
        if (r->columns[i].has_table) {
            json_table_release(&r->columns[i].table);
        }
        r->columns[i] = (struct column){ 0 };
    }
}

static grebe_status begin_columns(struct webdataset_rows *r, grebe_error *err)
{
    const grebe_allocator *a = r->b->base.b.ctx->a;
    grebe_status st = GREBE_OK;
    release_columns(r);
    for (size_t i = 0; i < r->b->n + 2 && st == GREBE_OK; i++) {
        const struct field *f = i < r->b->n ? &r->b->fields[i] : NULL;
        struct column *c = &r->columns[i];
        text_builder_init(&c->plain, a, f != NULL && f->kind == FIELD_INT ? TEXT_BUILDER_FIXED : TEXT_BUILDER_TEXT,
                          sizeof(int64_t));
        if (f != NULL && f->kind == FIELD_MEDIA) {
            st = media_builder_new(a, &c->media, err);
        } else if (f != NULL && webdataset_is_tree(f->kind)) {
            st = json_table_init(&c->table, a, f->shape, f->n_leaves, err);
            c->has_table = true;
        }
    }
    return st;
}

static grebe_status put_int(struct text_builder *t, const char *p, size_t len, grebe_error *err)
{
    int64_t v = 0;
    char quoted[48];
    while (len > 0 && (*p == ' ' || (*p >= '\t' && *p <= '\r'))) {
        p++;
        len--;
    }
    while (len > 0 && (p[len - 1] == ' ' || (p[len - 1] >= '\t' && p[len - 1] <= '\r'))) {
        len--;
    }
    size_t plus = len > 1 && p[0] == '+';
    if (!number_parse_i64(p + plus, len - plus, &v)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected an integer, found \"%s\"",
                          error_quote(quoted, sizeof quoted, p, len));
    }
    grebe_status st = text_builder_reserve(t, 1, err);
    if (st == GREBE_OK) {
        memcpy(t->data + t->n * sizeof v, &v, sizeof v);
        text_builder_took(t);
    }
    return st;
}

static grebe_status put_tree(struct webdataset_rows *r, const struct field *f, struct column *c, const struct region *bytes,
                             grebe_error *err)
{
    struct json_cursor text;
    const char *dtype = f->dtype;
    int n_dims = f->n_dims;
    grebe_status st = webdataset_tree_text(f, bytes, &r->scratch, &text, &dtype, &n_dims, err);
    if (st != GREBE_OK) {
        return st;
    }
    const bool is_other = f->kind == FIELD_NPY && (strcmp(dtype, f->dtype) != 0 || n_dims != f->n_dims);
    st = is_other ? JSON_ODD : json_table_put_text(&c->table, text.p, (size_t)(text.end - text.p), err);
    return st == JSON_ODD
               ? GREBE_FAIL(err, GREBE_ESCHEMA, "expected a value like those of the first examples, found another")
               : st;
}

static grebe_status put_field(struct webdataset_rows *r, const struct example *e, const struct field *f, struct column *c,
                              size_t member, grebe_error *err)
{
    struct region *bytes = NULL;
    grebe_status st = webdataset_payload(&r->b->base, r->z, member, &bytes, err);
    if (st != GREBE_OK) {
        return st;
    }
    const char *p = (const char *)bytes->data;
    switch (f->kind) {
    case FIELD_BYTES: st = text_builder_put_text(&c->plain, p, bytes->len, err); break;
    case FIELD_TEXT:
        st = utf8_is_valid(p, bytes->len) ? text_builder_put_text(&c->plain, p, bytes->len, err)
                                          : GREBE_FAIL(err, GREBE_ECORRUPT, "expected UTF-8");
        break;
    case FIELD_INT: st = put_int(&c->plain, p, bytes->len, err); break;
    case FIELD_MEDIA:
        buf_clear(&r->scratch);
        st = buf_put(&r->scratch, e->key, e->key_len, err);
        st = st == GREBE_OK ? buf_printf(&r->scratch, err, ".%s", f->name) : st;
        st = st == GREBE_OK ? media_put_bytes(c->media, p, bytes->len, (const char *)r->scratch.data, err) : st;
        break;
    default: st = put_tree(r, f, c, bytes, err);
    }
    region_drop(bytes);
    c->n++;
    return st;
}

static grebe_status put_missing(const struct field *f, struct column *c, grebe_error *err)
{
    c->n++;
    return f->kind == FIELD_MEDIA ? media_put_null(c->media, err)
           : webdataset_is_tree(f->kind)     ? json_table_put_null(&c->table, err)
                                  : text_builder_put_nulls(&c->plain, 1, err);
}

static grebe_status put_example(struct webdataset_rows *r, const struct example *e, size_t n_before, grebe_error *err)
{
    struct webdataset_builder *b = r->b;
    grebe_status st = GREBE_OK;
    for (size_t i = e->begin; i < e->end && st == GREBE_OK; i++) {
        const char *name = webdataset_member_field(r->z, e, i);
        const struct field *f = name != NULL ? webdataset_find_field(b, name) : NULL;
        if (name == NULL) {
            continue;
        }
        struct column *c = f != NULL ? &r->columns[f - b->fields] : NULL;
        if (c == NULL) {
            continue; /* the first examples have no such field */
        }
        if (c->n > n_before) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "a field is there twice");
        } else {
            st = put_field(r, e, f, c, i, err);
        }
        st = st == GREBE_OK ? st : error_wrap(err, st, "%s, member \"%.200s\"", r->path, r->z->members[i].name);
    }
    for (size_t i = 0; i < b->n && st == GREBE_OK; i++) {
        st = r->columns[i].n == n_before ? put_missing(&b->fields[i], &r->columns[i], err) : GREBE_OK;
    }
    st = st == GREBE_OK ? text_builder_put_text(&r->columns[b->n].plain, e->key, e->key_len, err) : st;
    return st == GREBE_OK ? text_builder_put_text(&r->columns[b->n + 1].plain, r->path, strlen(r->path), err) : st;
}

static grebe_status finish_rows(struct webdataset_rows *r, int64_t n_rows, struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = r->b->base.b.ctx->a;
    const size_t n = r->b->n + 2;
    struct ArrowArray *arrays = mem_alloc_zero(a, n * sizeof *arrays);
    grebe_status st = arrays != NULL ? GREBE_OK : mem_fail(err, n * sizeof *arrays, "columns");
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        struct column *c = &r->columns[i];
        st = c->has_table      ? json_table_finish(&c->table, r->path, &arrays[i], err)
             : c->media != NULL ? media_finish(c->media, &arrays[i], err)
                                : text_builder_finish(&c->plain, 0, &arrays[i], err);
    }
    st = st == GREBE_OK ? array_struct(a, n_rows, arrays, n, out, err) : st;
    for (size_t i = 0; arrays != NULL && i < n; i++) {
        array_release(&arrays[i]);
    }
    mem_free(a, arrays, arrays != NULL ? n * sizeof *arrays : 0);
    return st;
}

static grebe_status webdataset_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    enum { BATCH_BYTES = 256 << 20 };
    struct webdataset_rows *r = self;
    struct ArrowSchema type = { 0 };
    struct ArrowArray rows = { 0 };
    struct example e;
    uint64_t bytes = 0;
    size_t n = 0;
    grebe_status st = begin_columns(r, err);
    while (st == GREBE_OK && n < BATCH_ROWS && bytes < BATCH_BYTES && webdataset_next_example(r->z, r->at, &e)) {
        st = put_example(r, &e, n++, err);
        for (size_t i = e.begin; i < e.end; i++) {
            bytes += r->z->members[i].size;
        }
        r->at = e.end;
    }
    if (st != GREBE_OK || n == 0) {
        return st != GREBE_OK ? st : GREBE_END;
    }
    st = finish_rows(r, (int64_t)n, &rows, err);
    st = st == GREBE_OK ? webdataset_rows_schema(r->b, &type, err) : st;
    if (st != GREBE_OK) {
        array_release(&rows);
        return st;
    }
    st = builder_emit(&r->b->base, r->path, &type, &rows, r->b->base.is_given, r->row, schema, out, err);
    r->row += (int64_t)n;
    return st;
}

static struct shard_place webdataset_place(void *self)
{
    const struct webdataset_rows *r = self;
    return (struct shard_place){ r->row, r->at };
}

static int64_t webdataset_next_row(void *self) { return ((struct webdataset_rows *)self)->row; }

static void webdataset_rows_free(void *self)
{
    struct webdataset_rows *r = self;
    const grebe_allocator *a = r->b->base.b.ctx->a;
    release_columns(r);
    mem_free(a, r->columns, r->columns != NULL ? (r->b->n + 2) * sizeof *r->columns : 0);
    archive_free(r->z);
    buf_release(&r->scratch);
    mem_free(a, r, sizeof *r);
}

static const struct shard_reader_ops webdataset_rows_ops = { webdataset_next, webdataset_place, webdataset_next_row,
                                                             webdataset_rows_free, NULL };

static grebe_status webdataset_read(struct builder *base, size_t split, size_t file, int64_t part, struct shard_place place,
                                    struct shard_reader *out, grebe_error *err)
{
    struct webdataset_builder *b = (struct webdataset_builder *)base;
    const grebe_allocator *a = base->ctx->a;
    const char *path = builder_path(&b->base, split, file);
    (void)part;
    grebe_status st = webdataset_infer(base, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct webdataset_rows *r = mem_alloc_zero(a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, path);
    }
    r->b = b;
    r->path = path;
    r->row = place.row;
    r->at = (size_t)place.at;
    r->scratch = BUF_INIT(a);
    r->columns = mem_alloc_zero(a, (b->n + 2) * sizeof *r->columns);
    st = r->columns != NULL ? webdataset_open_tar(&b->base, path, &r->z, err)
                            : mem_fail(err, b->n * sizeof *r->columns, "columns");
    if (st == GREBE_OK && place.at > r->z->n) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a place among %zu members, found %llu", path, r->z->n,
                        (unsigned long long)place.at);
    }
    if (st != GREBE_OK) {
        webdataset_rows_free(r);
        return st;
    }
    *out = (struct shard_reader){ &webdataset_rows_ops, r };
    return GREBE_OK;
}

/* ---- the builder ---- */

static void webdataset_free(struct builder *base)
{
    struct webdataset_builder *b = (struct webdataset_builder *)base;
    arena_release(&b->arena);
    builder_base_free(base);
}

static const struct builder_ops webdataset_ops = { webdataset_infer, builder_one_part, webdataset_read, webdataset_free, NULL };

static grebe_status webdataset_set_up(struct builder *base, grebe_error *err)
{
    struct webdataset_builder *b = (struct webdataset_builder *)base;
    b->arena = ARENA_INIT(base->ctx->a);
    /* with given features nobody asks for them, and readers may be on many threads */
    return b->base.is_given ? webdataset_infer(base, err) : GREBE_OK;
}

static const char *const webdataset_extensions[] = { ".tar", NULL };
static const char *const webdataset_options[] = { "features", NULL };

const struct builder_kind builder_webdataset = { .name = "webdataset",
                                                 .extensions = webdataset_extensions,
                                                 .options = webdataset_options,
                                                 .knows_features = true,
                                                 .size = sizeof(struct webdataset_builder),
                                                 .ops = &webdataset_ops,
                                                 .set_up = webdataset_set_up };
