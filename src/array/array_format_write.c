/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow rows as array files. The number of rows stands in front of npy and bin files and is not known before the end:
 * the header is written again then, over itself.
 */
#include "array/array_format_write.h"

#include <stdio.h>
#include <string.h>

#include "array/array_internal.h"
#include "base/checked.h"
#include "base/endian.h"

struct array_format_writer {
    struct format_writer base;
    grebe_context *ctx;
    struct io_writer *to;
    enum array_kind kind;
    enum array_type type;
    bool is_list, is_fixed;
    enum arrow_kind list_kind;
    uint64_t columns; /* of a list; 0: not yet known, or no list */
    int64_t n_rows;
    struct buf row;
};

static const struct {
    enum arrow_kind kind;
    enum array_type type;
} types[] = { { ARROW_FLOAT32, ARRAY_F32 }, { ARROW_FLOAT16, ARRAY_F16 }, { ARROW_FLOAT64, ARRAY_F64 },
              { ARROW_INT8, ARRAY_I8 },     { ARROW_UINT8, ARRAY_U8 },    { ARROW_INT16, ARRAY_I16 },
              { ARROW_UINT16, ARRAY_U16 },  { ARROW_INT32, ARRAY_I32 },   { ARROW_UINT32, ARRAY_U32 },
              { ARROW_INT64, ARRAY_I64 },   { ARROW_UINT64, ARRAY_U64 },  { ARROW_BOOL, ARRAY_BOOL } };

static bool find_type(enum arrow_kind kind, enum array_type *out)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].kind == kind) {
            *out = types[i].type;
            return true;
        }
    }
    return false;
}

static void writer_free(struct format_writer *base)
{
    struct array_format_writer *w = (struct array_format_writer *)base;
    buf_release(&w->row);
    mem_free(w->ctx->a, w, sizeof *w);
}

/* ---- header ---- */

static bool is_vecs(enum array_kind kind) { return kind == ARRAY_FVECS || kind == ARRAY_IVECS || kind == ARRAY_BVECS; }

static grebe_status make_head(struct array_format_writer *w, struct buf *dst, grebe_error *err)
{
    unsigned char b[8];
    if (w->kind == ARRAY_NPY) {
        return array_npy_header(dst, w->type, (uint64_t)w->n_rows, w->is_list ? w->columns : 0, err);
    }
    if (w->n_rows > (int64_t)UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most 2^32 rows, found %lld", w->to->path, (long long)w->n_rows);
    }
    store_le32(b, (uint32_t)w->n_rows);
    store_le32(b + 4, (uint32_t)w->columns);
    return buf_put(dst, b, sizeof b, err);
}

static grebe_status put_head(struct array_format_writer *w, bool is_first, grebe_error *err)
{
    struct buf head = BUF_INIT(w->ctx->a);
    grebe_status st = GREBE_OK;
    if (!is_vecs(w->kind)) {
        st = make_head(w, &head, err);
        if (st == GREBE_OK) {
            st = is_first ? io_write(w->to, head.data, head.len, err) : io_writer_patch(w->to, 0, head.data, head.len, err);
        }
    }
    buf_release(&head);
    return st;
}

/* ---- rows ---- */

/* Elements [begin, begin + n) of an array of numbers, packed. */
static grebe_status put_elements(struct array_format_writer *w, const struct ArrowArray *e, int64_t begin, int64_t n,
                                 grebe_error *err)
{
    size_t size = array_type_bytes(w->type);
    begin += e->offset;
    if (w->type != ARRAY_BOOL) {
        return io_write(w->to, (const unsigned char *)e->buffers[1] + (size_t)begin * size, (size_t)n * size, err);
    }
    buf_clear(&w->row);
    grebe_status st = buf_reserve(&w->row, (size_t)n, err);
    for (int64_t i = 0; i < n && st == GREBE_OK; i++) {
        st = buf_put_byte(&w->row, bit_get(e->buffers[1], begin + i), err);
    }
    return st == GREBE_OK ? io_write(w->to, w->row.data, w->row.len, err) : st;
}

static grebe_status no_nulls(struct array_format_writer *w, const struct ArrowArray *array, int64_t begin, int64_t n,
                             grebe_error *err)
{
    for (int64_t i = 0; array->null_count != 0 && i < n; i++) {
        if (array_is_null(array, begin + i)) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %lld: an array file has no nulls", w->to->path,
                              (long long)(w->n_rows + i));
        }
    }
    return GREBE_OK;
}

/* Where the elements of list i begin and how many there are. */
static int64_t list_at(const struct array_format_writer *w, const struct ArrowArray *list, int64_t i, int64_t *n)
{
    i += list->offset;
    if (w->is_fixed) {
        *n = (int64_t)w->columns;
        return i * *n;
    }
    if (w->list_kind == ARROW_LARGE_LIST) {
        const int64_t *at = (const int64_t *)list->buffers[1] + i;
        *n = at[1] - at[0];
        return at[0];
    }
    const int32_t *at = (const int32_t *)list->buffers[1] + i;
    *n = at[1] - at[0];
    return at[0];
}

static grebe_status put_lists(struct array_format_writer *w, const struct ArrowArray *list, int64_t begin, int64_t n_rows,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    unsigned char length[4];
    for (int64_t i = 0; i < n_rows && st == GREBE_OK; i++) {
        int64_t n = 0, at = list_at(w, list, begin + i, &n);
        if (w->columns == 0 && w->n_rows == 0 && i == 0) { /* lists without a declared length: the first one's */
            w->columns = (uint64_t)n;
            st = n > 0 ? put_head(w, true, err)
                       : GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row 0: expected numbers, found an empty list", w->to->path);
        }
        if (st == GREBE_OK && (uint64_t)n != w->columns) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %lld: expected %llu numbers, found %lld", w->to->path,
                            (long long)(w->n_rows + i), (unsigned long long)w->columns, (long long)n);
        }
        if (st == GREBE_OK) {
            st = no_nulls(w, list->children[0], at, n, err);
        }
        if (st == GREBE_OK && is_vecs(w->kind)) {
            store_le32(length, (uint32_t)n);
            st = io_write(w->to, length, sizeof length, err);
        }
        if (st == GREBE_OK) {
            st = put_elements(w, list->children[0], at, n, err);
        }
    }
    return st;
}

static grebe_status writer_write(struct format_writer *base, const struct ArrowArray *batch, grebe_error *err)
{
    struct array_format_writer *w = (struct array_format_writer *)base;
    const struct ArrowArray *column = batch->children[0];
    grebe_status st = no_nulls(w, column, batch->offset, batch->length, err);
    if (st == GREBE_OK && batch->length > 0) {
        st = w->is_list ? put_lists(w, column, batch->offset, batch->length, err)
                        : put_elements(w, column, batch->offset, batch->length, err);
    }
    w->n_rows += batch->length;
    return st;
}

static grebe_status writer_finish(struct format_writer *base, struct file_summary *out, grebe_error *err)
{
    struct array_format_writer *w = (struct array_format_writer *)base;
    bool is_unknown = w->is_list && w->columns == 0;
    grebe_status st = is_unknown ? put_head(w, true, err) : put_head(w, false, err);
    *out = (struct file_summary){ w->n_rows, w->to->n_written, 0 };
    return st;
}

static const struct format_writer_ops writer_ops = { .write = writer_write, .finish = writer_finish, .free = writer_free };

/* ---- beginning ---- */

static grebe_status resolve(struct array_format_writer *w, const struct ArrowSchema *schema, grebe_error *err)
{
    struct arrow_type type, item;
    const char *path = w->to->path;
    enum array_type named = ARRAY_F32;
    if (!array_kind_of_name(path, &w->kind, &named) || (w->kind != ARRAY_NPY && w->kind != ARRAY_BIN && !is_vecs(w->kind))) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: expected a name that ends in .npy, .fvecs, .ivecs, .bvecs, .fbin, "
                          ".u8bin, .i8bin, .ibin, .f16bin or .dbin", path);
    }
    if (schema->n_children != 1) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected one column (--columns names it), found %lld", path,
                          (long long)schema->n_children);
    }
    const struct ArrowSchema *field = schema->children[0];
    grebe_status st = arrow_type_of(field, &type, err);
    if (st != GREBE_OK) {
        return st;
    }
    item = type;
    w->list_kind = type.kind;
    w->is_fixed = type.kind == ARROW_FIXED_LIST;
    w->is_list = w->is_fixed || type.kind == ARROW_LIST || type.kind == ARROW_LARGE_LIST;
    if (w->is_list) {
        w->columns = w->is_fixed ? (uint64_t)type.list_size : 0;
        st = arrow_type_of(field->children[0], &item, err);
    }
    if (st == GREBE_OK && (type.is_dictionary || item.is_dictionary || !find_type(item.kind, &w->type))) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: column %.64s: expected numbers or lists of numbers", path, field->name);
    }
    if (st == GREBE_OK && w->kind != ARRAY_NPY && (!w->is_list || named != w->type)) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: column %.64s: expected lists of %s, found %s%s", path, field->name,
                        array_type_name(named), w->is_list ? "lists of " : "", array_type_name(w->type));
    }
    return st;
}

grebe_status array_format_create(grebe_context *ctx, struct io_writer *to, const struct ArrowSchema *schema,
                                 const struct format_write_options *options, struct format_writer **out,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    if (options->compression != NULL && strcmp(options->compression, "none") != 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "compression: array files know none, found \"%.32s\"", options->compression);
    }
    struct array_format_writer *w = mem_alloc_zero(ctx->a, sizeof *w);
    if (w == NULL) {
        return mem_fail(err, sizeof *w, "a writer");
    }
    w->base.ops = &writer_ops;
    w->ctx = ctx;
    w->to = to;
    w->row = BUF_INIT(ctx->a);
    GREBE_TRY(resolve(w, schema, err));
    if (!w->is_list || w->columns > 0) {
        GREBE_TRY(put_head(w, true, err));
    }
    *out = &w->base;
    w = NULL;
out:
    if (w != NULL) {
        writer_free(&w->base);
    }
    return st;
}
