/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/ann_load.h"

#include <string.h>

#include "array/array_file.h"
#include "arrow/arrow_array.h"
#include "arrow/arrow_stream.h"
#include "base/checked.h"
#include "grebe/ann_load_dense.h"

/* ---- sources ---- */

grebe_status load_open_source(grebe_context *ctx, const char *uri, const grebe_call_options *call, grebe_source **out,
                              grebe_error *err)
{
    grebe_source_options o = GREBE_SOURCE_OPTIONS_INIT;
    o.call = call;
    return grebe_source_open(ctx, uri, &o, out, err);
}

bool load_is_list(enum arrow_kind k)
{
    return k == ARROW_FIXED_LIST || k == ARROW_LIST || k == ARROW_LARGE_LIST;
}

grebe_status load_find_column(const struct ArrowSchema *schema, const char *uri, const char *name, bool is_scalar,
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
        if (load_is_list(t.kind) != is_scalar) {
            *out = i;
            n++;
        }
    }
    return n == 1 ? GREBE_OK
                  : GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected one column of %s, found %d (name it)", uri,
                               is_scalar ? "numbers" : "vectors", n);
}

grebe_status load_scan(grebe_source *source, const char *column, int64_t row_begin, const grebe_call_options *call,
                       struct ArrowArrayStream *rows, grebe_error *err)
{
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    o.columns = &column;
    o.n_columns = 1;
    o.row_begin = row_begin;
    o.call = call;
    return grebe_source_scan(source, &o, rows, err);
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
        GREBE_TRY(load_check_finite(uri, i, v->values + v->offsets[i], n, err));
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
    GREBE_TRY(array_read(f, 0, info->n_values, v->dense, err));
    for (uint64_t i = 0; i < v->n; i++) {
        GREBE_TRY(load_check_finite(uri, i, (const float *)v->dense + (uint64_t)v->offsets[i] * v->dim,
                                    (uint64_t)(v->offsets[i + 1] - v->offsets[i]) * v->dim, err));
    }
out:
    buf_release(&counts);
    return st;
}

grebe_status ann_load_side(struct ann_dataset *d, struct ann_vectors *v, const struct ann_load *o, bool is_first,
                           grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct array_file *f = NULL;
    enum array_kind kind = ARRAY_UNKNOWN;
    enum array_type type = ARRAY_F32;
    enum ann_layout layout = ANN_DENSE;
    const char *uri = o->uri;
    bool is_named = array_kind_of_name(uri, &kind, &type);
    if (is_named && (kind == ARRAY_CSR || kind == ARRAY_MULTI)) {
        GREBE_TRY(array_open(d->ctx, uri, kind, &f, err));
        layout = kind == ARRAY_CSR ? ANN_SPARSE : ANN_MULTI;
        if (array_info(f)->rows == 0) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected vectors, found no row", uri);
            goto out;
        }
        st = kind == ARRAY_CSR ? load_csr(d, v, f, uri, err) : load_multi(d, v, f, uri, err);
    } else {
        st = ann_load_dense(d, v, o, err);
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
    GREBE_TRY(load_open_source(d->ctx, uri, call, &source, err));
    GREBE_TRY(grebe_source_schema(source, &schema, err));
    GREBE_TRY(load_find_column(&schema, uri, NULL, true, &at, err));
    GREBE_TRY(arrow_type_of(schema.children[at], &type, err));
    GREBE_TRY(load_scan(source, schema.children[at]->name, 0, call, &rows, err));
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
