/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/ann_load.h"

#include <string.h>

#include "array/array_file.h"
#include "arrow/arrow_array.h"
#include "arrow/arrow_stream.h"
#include "base/checked.h"
#include "base/half.h"
#include "grebe/source.h"

/* Vectors of a source, batch after batch. */
struct loader {
    struct ann_dataset *d;
    struct ann_vectors *v;
    const char *uri;
    enum arrow_kind list, item; /* types of the column and of its elements */
    size_t in_bytes, row_bytes; /* of an element as it comes; of a row as it is kept */
    struct buf rows;            /* when their number is not known before */
    unsigned char *dst;         /* when it is */
    uint64_t n, n_known;        /* UINT64_MAX: not known */
};

static grebe_status open_source(grebe_context *ctx, const char *uri, const grebe_call_options *call, grebe_source **out,
                                grebe_error *err)
{
    grebe_source_options o = GREBE_SOURCE_OPTIONS_INIT;
    o.call = call;
    return grebe_source_open(ctx, uri, &o, out, err);
}

static bool is_list_kind(enum arrow_kind k)
{
    return k == ARROW_FIXED_LIST || k == ARROW_LIST || k == ARROW_LARGE_LIST;
}

/* The named column, or the only one of lists; scalars when is_scalar. */
static grebe_status find_column(const struct ArrowSchema *schema, const char *uri, const char *name, bool is_scalar,
                                int *out, grebe_error *err)
{
    int n = 0;
    if (name != NULL) {
        return schema_find(schema, name, out, err);
    }
    for (int i = 0; i < (int)schema->n_children; i++) {
        struct arrow_type t;
        if (arrow_type_of(schema->children[i], &t, err) != GREBE_OK) {
            return GREBE_ESCHEMA;
        }
        if (is_list_kind(t.kind) != is_scalar) {
            *out = i;
            n++;
        }
    }
    return n == 1 ? GREBE_OK
                  : GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected one column of %s, found %d (name it)", uri,
                               is_scalar ? "numbers" : "vectors", n);
}

static grebe_status scan(grebe_source *source, const char *column, const grebe_call_options *call,
                         struct ArrowArrayStream *rows, grebe_error *err)
{
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    o.columns = &column;
    o.n_columns = 1;
    o.call = call;
    return grebe_source_scan(source, &o, rows, err);
}

/* ---- vectors ---- */

static grebe_status choose_elem(struct loader *l, bool is_uint8_kept, grebe_error *err)
{
    switch (l->item) {
    case ARROW_FLOAT32:
    case ARROW_FLOAT16:
    case ARROW_FLOAT64:
    case ARROW_INT16:
    case ARROW_UINT16: l->v->elem = VECTOR_F32; return GREBE_OK;
    case ARROW_UINT8: l->v->elem = is_uint8_kept ? VECTOR_U8 : VECTOR_F32; return GREBE_OK;
    case ARROW_INT8: l->v->elem = VECTOR_I8; return GREBE_OK;
    case ARROW_BOOL: l->v->elem = VECTOR_BIT; return GREBE_OK;
    default:
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected vectors of float, int8, uint8, int16, uint16 or bool", l->uri);
    }
}

static size_t item_bytes(enum arrow_kind k)
{
    return k == ARROW_FLOAT64 ? 8 : k == ARROW_FLOAT32 ? 4 : k == ARROW_INT8 || k == ARROW_UINT8 ? 1 : k == ARROW_BOOL ? 0 : 2;
}

/* dim elements from the array's slot `at` as a row in memory. */
static void convert_row(const struct loader *l, const struct ArrowArray *items, int64_t at, unsigned char *dst)
{
    const unsigned char *p = items->buffers[1];
    float *f = (float *)(void *)dst;
    uint32_t dim = l->v->dim;
    if (l->item == ARROW_BOOL) {
        memset(dst, 0, l->row_bytes);
        for (uint32_t j = 0; j < dim; j++) {
            dst[j / 8] |= (unsigned char)(bit_get(p, at + j) << (7 - j % 8));
        }
        return;
    }
    p += (size_t)at * l->in_bytes;
    for (uint32_t j = 0; j < dim && l->item != ARROW_FLOAT32 && l->v->elem == VECTOR_F32; j++) {
        uint16_t half = 0;
        double wide = 0;
        memcpy(&half, p + (size_t)j * l->in_bytes, l->in_bytes == 2 ? 2 : 0);
        switch (l->item) {
        case ARROW_FLOAT64: memcpy(&wide, p + 8 * (size_t)j, 8); f[j] = (float)wide; break;
        case ARROW_FLOAT16: f[j] = half_to_float(half); break;
        case ARROW_INT16: f[j] = (float)(int16_t)half; break;
        case ARROW_UINT16: f[j] = (float)half; break;
        default: f[j] = (float)p[j]; break;
        }
    }
    if (l->item == ARROW_FLOAT32 || l->v->elem != VECTOR_F32) {
        memcpy(dst, p, l->row_bytes);
    }
}

static int64_t list_at(const struct loader *l, const struct ArrowArray *list, int64_t i, int64_t *n)
{
    i += list->offset;
    if (l->list == ARROW_FIXED_LIST) {
        *n = l->v->dim;
        return i * *n;
    }
    if (l->list == ARROW_LARGE_LIST) {
        const int64_t *at = (const int64_t *)list->buffers[1] + i;
        *n = at[1] - at[0];
        return at[0];
    }
    const int32_t *at = (const int32_t *)list->buffers[1] + i;
    *n = at[1] - at[0];
    return at[0];
}

/* Room for the rows of a batch; *dst is where they go. */
static grebe_status make_room(struct loader *l, uint64_t n, unsigned char **dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (l->n_known != UINT64_MAX) {
        if (l->dst == NULL) {
            void *p = NULL;
            st = ann_array(l->d, l->n_known, l->row_bytes, l->uri, &p, err);
            l->dst = p;
        }
        if (st == GREBE_OK && l->n + n > l->n_known) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected %llu rows, found more", l->uri, (unsigned long long)l->n_known);
        }
        *dst = st == GREBE_OK ? l->dst + l->n * l->row_bytes : NULL;
        return st;
    }
    st = buf_put_zero(&l->rows, (size_t)n * l->row_bytes, err);
    *dst = st == GREBE_OK ? l->rows.data + l->n * l->row_bytes : NULL;
    return st;
}

static grebe_status add_batch(struct loader *l, const struct ArrowArray *list, int64_t begin, int64_t n_rows,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    unsigned char *dst = NULL;
    const struct ArrowArray *items = list->children[0];
    for (int64_t i = 0; i < n_rows && st == GREBE_OK; i++) {
        int64_t n = 0, at = list_at(l, list, begin + i, &n);
        if (l->v->dim == 0 && n > 0 && n <= UINT32_MAX) { /* the first row decides */
            l->v->dim = (uint32_t)n;
        }
        l->row_bytes = vector_row_bytes(l->v->elem, l->v->dim);
        if (i == 0) {
            st = make_room(l, (uint64_t)n_rows, &dst, err);
        }
        if (st == GREBE_OK && (n != l->v->dim || n == 0 || array_is_null(list, begin + i))) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %llu: expected %u components, found %lld%s", l->uri,
                            (unsigned long long)l->n + (uint64_t)i, l->v->dim, (long long)n,
                            array_is_null(list, begin + i) ? " (null)" : "");
        }
        for (int64_t j = 0; items->null_count != 0 && j < n && st == GREBE_OK; j++) {
            if (array_is_null(items, at + j)) {
                st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %llu: component %lld is null", l->uri,
                                (unsigned long long)l->n + (uint64_t)i, (long long)j);
            }
        }
        if (st == GREBE_OK) {
            convert_row(l, items, at + items->offset, dst + (size_t)i * l->row_bytes);
        }
    }
    l->n += (uint64_t)n_rows;
    return st;
}

static grebe_status load_rows(struct loader *l, const char *column, bool is_uint8_kept, const grebe_call_options *call,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source *source = NULL;
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayStream rows = { 0 };
    struct arrow_type type;
    int at = 0;
    GREBE_TRY(open_source(l->d->ctx, l->uri, call, &source, err));
    GREBE_TRY(grebe_source_schema(source, &schema, err));
    GREBE_TRY(find_column(&schema, l->uri, column, false, &at, err));
    GREBE_TRY(arrow_type_of(schema.children[at], &type, err));
    if (!is_list_kind(type.kind) || type.is_dictionary) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: column %.64s: expected vectors", l->uri, schema.children[at]->name);
        goto out;
    }
    l->list = type.kind;
    l->v->dim = type.kind == ARROW_FIXED_LIST ? (uint32_t)type.list_size : 0;
    GREBE_TRY(arrow_type_of(schema.children[at]->children[0], &type, err));
    l->item = type.kind;
    l->in_bytes = item_bytes(type.kind);
    GREBE_TRY(choose_elem(l, is_uint8_kept, err));
    int64_t n = grebe_source_num_rows(source);
    l->n_known = n < 0 ? UINT64_MAX : (uint64_t)n;
    GREBE_TRY(scan(source, schema.children[at]->name, call, &rows, err));
    for (;;) {
        struct ArrowArray batch = { 0 };
        st = stream_next(&rows, &batch, err);
        if (st == GREBE_OK) {
            st = add_batch(l, batch.children[0], batch.offset, batch.length, err);
        }
        array_release(&batch);
        if (st != GREBE_OK) {
            break;
        }
    }
    st = st == GREBE_END ? GREBE_OK : st;
out:
    stream_release(&rows);
    schema_release(&schema);
    grebe_source_close(source);
    return st;
}

static grebe_status load_dense(struct ann_dataset *d, struct ann_vectors *v, const char *uri, const char *column,
                               bool is_uint8_kept, const grebe_call_options *call, grebe_error *err)
{
    struct loader l = { .d = d, .v = v, .uri = uri, .rows = BUF_INIT(d->ctx->a), .n_known = UINT64_MAX };
    grebe_status st = load_rows(&l, column, is_uint8_kept, call, err);
    void *p = NULL;
    if (st == GREBE_OK && l.dst == NULL && l.n > 0) {
        st = ann_array(d, l.n, l.row_bytes, uri, &p, err);
        if (st == GREBE_OK) {
            memcpy(p, l.rows.data, l.rows.len);
            l.dst = p;
        }
    }
    if (st == GREBE_OK && l.n == 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected vectors, found no row", uri);
    }
    v->n = l.n;
    v->dense = l.dst;
    buf_release(&l.rows);
    return st;
}

/* ---- csr and documents ---- */

static grebe_status load_csr(struct ann_dataset *d, struct ann_vectors *v, struct array_file *f, const char *uri,
                             grebe_error *err)
{
    const struct array_info *info = array_info(f);
    void *p = NULL;
    grebe_status st = GREBE_OK;
    v->n = info->rows;
    v->elem = VECTOR_F32;
    GREBE_TRY(ann_array(d, v->n + 1, sizeof(int64_t), uri, &p, err));
    v->offsets = p;
    GREBE_TRY(ann_array(d, info->n_values, sizeof(uint32_t), uri, &p, err));
    v->terms = p;
    GREBE_TRY(ann_array(d, info->n_values, sizeof(float), uri, &p, err));
    v->values = p;
    GREBE_TRY(array_read_csr(f, 0, v->n, v->offsets, v->terms, v->values, err));
    for (uint64_t i = 0; i < v->n; i++) {
        uint64_t n = (uint64_t)(v->offsets[i + 1] - v->offsets[i]);
        v->dim = n > v->dim ? (uint32_t)n : v->dim;
    }
    struct ann_order order;
    GREBE_TRY(ann_sort_terms(v, d->ctx->a, &order, err));
    if (order.n_twice > 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: row %llu has column %u twice", uri,
                        (unsigned long long)order.first_twice, order.term_twice);
    }
out:
    return st;
}

static grebe_status load_multi(struct ann_dataset *d, struct ann_vectors *v, struct array_file *f, const char *uri,
                               grebe_error *err)
{
    const struct array_info *info = array_info(f);
    struct buf counts = BUF_INIT(d->ctx->a);
    void *p = NULL;
    grebe_status st = GREBE_OK;
    v->n = info->rows;
    v->dim = (uint32_t)info->columns;
    v->elem = VECTOR_F32;
    GREBE_TRY(ann_array(d, v->n + 1, sizeof(int64_t), uri, &p, err));
    v->offsets = p;
    GREBE_TRY(buf_reserve(&counts, (size_t)v->n * 4, err));
    GREBE_TRY(array_read_counts(f, 0, v->n, (uint32_t *)(void *)counts.data, err));
    for (uint64_t i = 0; i < v->n; i++) {
        v->offsets[i + 1] = v->offsets[i] + ((const uint32_t *)(const void *)counts.data)[i];
    }
    GREBE_TRY(ann_array(d, info->n_values * info->columns, sizeof(float), uri, &v->dense, err));
    st = array_read(f, 0, info->n_values, v->dense, err);
out:
    buf_release(&counts);
    return st;
}

grebe_status ann_load_side(struct ann_dataset *d, struct ann_vectors *v, const char *uri, const char *column,
                           bool is_uint8_kept, bool is_first, const grebe_call_options *call, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct array_file *f = NULL;
    enum array_kind kind = ARRAY_UNKNOWN;
    enum array_type type = ARRAY_F32;
    enum ann_layout layout = ANN_DENSE;
    bool is_named = array_kind_of_name(uri, &kind, &type);
    if (is_named && (kind == ARRAY_CSR || kind == ARRAY_MULTI)) {
        GREBE_TRY(array_open(d->ctx, uri, kind, &f, err));
        layout = kind == ARRAY_CSR ? ANN_SPARSE : ANN_MULTI;
        st = kind == ARRAY_CSR ? load_csr(d, v, f, uri, err) : load_multi(d, v, f, uri, err);
    } else {
        st = load_dense(d, v, uri, column, is_uint8_kept, call, err);
    }
    if (st == GREBE_OK && !is_first && layout != d->layout) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected %s as in the base", uri,
                        d->layout == ANN_SPARSE ? "sparse rows" : d->layout == ANN_MULTI ? "documents" : "vectors");
    }
    d->layout = layout;
out:
    array_close(f);
    return st;
}

/* ---- labels ---- */

static bool int_at(const struct ArrowArray *a, enum arrow_kind kind, int64_t i, int64_t *out)
{
    i += a->offset;
    switch (kind) {
    case ARROW_INT8: *out = ((const int8_t *)a->buffers[1])[i]; return true;
    case ARROW_UINT8: *out = ((const uint8_t *)a->buffers[1])[i]; return true;
    case ARROW_INT16: *out = ((const int16_t *)a->buffers[1])[i]; return true;
    case ARROW_UINT16: *out = ((const uint16_t *)a->buffers[1])[i]; return true;
    case ARROW_INT32: *out = ((const int32_t *)a->buffers[1])[i]; return true;
    case ARROW_UINT32: *out = ((const uint32_t *)a->buffers[1])[i]; return true;
    case ARROW_INT64: *out = ((const int64_t *)a->buffers[1])[i]; return true;
    default: return false;
    }
}

grebe_status ann_load_labels(struct ann_dataset *d, const char *uri, uint64_t n, const grebe_call_options *call, int64_t **out,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source *source = NULL;
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayStream rows = { 0 };
    struct arrow_type type;
    int at = 0;
    uint64_t done = 0;
    void *p = NULL;
    *out = NULL;
    GREBE_TRY(ann_array(d, n, sizeof **out, uri, &p, err));
    int64_t *labels = p;
    GREBE_TRY(open_source(d->ctx, uri, call, &source, err));
    GREBE_TRY(grebe_source_schema(source, &schema, err));
    GREBE_TRY(find_column(&schema, uri, NULL, true, &at, err));
    GREBE_TRY(arrow_type_of(schema.children[at], &type, err));
    GREBE_TRY(scan(source, schema.children[at]->name, call, &rows, err));
    for (;;) {
        struct ArrowArray batch = { 0 };
        st = stream_next(&rows, &batch, err);
        for (int64_t i = 0; st == GREBE_OK && i < batch.length; i++, done++) {
            const struct ArrowArray *column = batch.children[0];
            if (done >= n || array_is_null(column, batch.offset + i) ||
                !int_at(column, type.kind, batch.offset + i, &labels[done]) || labels[done] < 0) {
                st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %llu: expected %llu labels, integers from 0", uri,
                                (unsigned long long)done, (unsigned long long)n);
            }
        }
        array_release(&batch);
        if (st != GREBE_OK) {
            break;
        }
    }
    st = st == GREBE_END ? GREBE_OK : st;
    if (st == GREBE_OK && done != n) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected %llu labels, found %llu", uri, (unsigned long long)n,
                        (unsigned long long)done);
    }
    *out = st == GREBE_OK ? labels : NULL;
out:
    stream_release(&rows);
    schema_release(&schema);
    grebe_source_close(source);
    return st;
}
