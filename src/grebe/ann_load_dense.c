/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/ann_load_dense.h"

#include <math.h>
#include <string.h>

#include "arrow/arrow_array.h"
#include "base/checked.h"
#include "base/half.h"

/* How rows of a source become rows in memory. */
struct conversion {
    const char *uri;
    enum arrow_kind list, item; /* types of the column and of its elements */
    enum vector_elem elem;
    uint32_t dim;               /* 0: the first row decides */
    size_t in_bytes, row_bytes; /* of an element as it comes; of a row as it is kept */
};

static grebe_status choose_elem(struct conversion *l, bool is_uint8_kept, grebe_error *err)
{
    switch (l->item) {
    case ARROW_FLOAT32:
    case ARROW_FLOAT16:
    case ARROW_FLOAT64:
    case ARROW_INT16:
    case ARROW_UINT16: l->elem = VECTOR_F32; return GREBE_OK;
    case ARROW_UINT8: l->elem = is_uint8_kept ? VECTOR_U8 : VECTOR_F32; return GREBE_OK;
    case ARROW_INT8: l->elem = VECTOR_I8; return GREBE_OK;
    case ARROW_BOOL: l->elem = VECTOR_BIT; return GREBE_OK;
    default:
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected vectors of float, int8, uint8, int16, uint16 or bool", l->uri);
    }
}

static size_t item_bytes(enum arrow_kind k)
{
    return k == ARROW_FLOAT64 ? 8 : k == ARROW_FLOAT32 ? 4 : k == ARROW_INT8 || k == ARROW_UINT8 ? 1 : k == ARROW_BOOL ? 0 : 2;
}

/* dim elements from the array's slot `at` as a row in memory. */
static void convert_row(const struct conversion *l, const struct ArrowArray *items, int64_t at, unsigned char *dst)
{
    const unsigned char *p = items->buffers[1];
    float *f = (float *)(void *)dst;
    uint32_t dim = l->dim;
    if (l->item == ARROW_BOOL) {
        memset(dst, 0, l->row_bytes);
        for (uint32_t j = 0; j < dim; j++) {
            dst[j / 8] |= (unsigned char)(bit_get(p, at + j) << (7 - j % 8));
        }
        return;
    }
    p += (size_t)at * l->in_bytes;
    for (uint32_t j = 0; j < dim && l->item != ARROW_FLOAT32 && l->elem == VECTOR_F32; j++) {
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
    if (l->item == ARROW_FLOAT32 || l->elem != VECTOR_F32) {
        memcpy(dst, p, l->row_bytes);
    }
}

int64_t load_list_at(enum arrow_kind kind, uint32_t width, const struct ArrowArray *list, int64_t i, int64_t *n)
{
    i += list->offset;
    if (kind == ARROW_FIXED_LIST) {
        *n = width;
        return i * *n;
    }
    if (kind == ARROW_LARGE_LIST) {
        const int64_t *at = (const int64_t *)list->buffers[1] + i;
        *n = at[1] - at[0];
        return at[0];
    }
    const int32_t *at = (const int32_t *)list->buffers[1] + i;
    *n = at[1] - at[0];
    return at[0];
}

grebe_status load_check_finite(const char *uri, uint64_t row, const float *values, uint64_t n, grebe_error *err)
{
    float none = 0; /* NaN as soon as a product is none of nothing: one instruction for several components */
    for (uint64_t i = 0; i < n; i++) {
        none += values[i] * 0;
    }
    for (uint64_t i = 0; isnan(none) && i < n; i++) {
        if (!isfinite(values[i])) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %llu, component %llu: expected a finite number, found %s", uri,
                              (unsigned long long)row, (unsigned long long)i, isnan(values[i]) ? "NaN" : "infinity");
        }
    }
    return GREBE_OK;
}

/* Rows of a batch, of which the first is row `first` of the source. */
static grebe_status convert_rows(const struct conversion *l, const struct ArrowArray *list, int64_t begin, int64_t n_rows,
                                 uint64_t first, unsigned char *dst, grebe_error *err)
{
    const struct ArrowArray *items = list->children[0];
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t n = 0, at = load_list_at(l->list, l->dim, list, begin + i, &n);
        if (n != l->dim || n == 0 || array_is_null(list, begin + i)) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %llu: expected %u components, found %lld%s", l->uri,
                              (unsigned long long)first + (uint64_t)i, l->dim != 0 ? l->dim : 1, (long long)n,
                              array_is_null(list, begin + i) ? " (null)" : "");
        }
        for (int64_t j = 0; items->null_count != 0 && j < n; j++) {
            if (array_is_null(items, at + j)) {
                return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %llu: component %lld is null", l->uri,
                                  (unsigned long long)first + (uint64_t)i, (long long)j);
            }
        }
        convert_row(l, items, at + items->offset, dst + (size_t)i * l->row_bytes);
        const float *row = (const float *)(const void *)(dst + (size_t)i * l->row_bytes);
        grebe_status st = l->elem == VECTOR_F32 ? load_check_finite(l->uri, first + (uint64_t)i, row, l->dim, err) : GREBE_OK;
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* ---- rows that are left in their source ---- */

struct source_rows {
    grebe_context *ctx;
    struct conversion c;
    char *uri, *column;
    grebe_call_options call;
    grebe_source *source;
    struct ArrowArrayStream rows; /* released: the next read begins anew */
    struct ArrowArray batch;
    int64_t batch_at;
    uint64_t next, raw;    /* the row that comes next: of those that are left, and of the source */
    const uint64_t *drawn; /* shape [n_drawn]: rows of the source that are passed over */
    uint64_t n_drawn, drawn_at;
};

static void stop_scan(struct source_rows *r)
{
    array_release(&r->batch);
    stream_release(&r->rows);
}

static void close_source_rows(void *arg)
{
    struct source_rows *r = arg;
    stop_scan(r);
    grebe_source_close(r->source);
    str_free(r->ctx->a, r->uri);
    str_free(r->ctx->a, r->column);
    mem_free(r->ctx->a, r, sizeof *r);
}

/* Scan from row `begin` on of those that are left. */
static grebe_status start_scan(struct source_rows *r, uint64_t begin, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    stop_scan(r);
    if (r->source != NULL && grebe_source_kind_of(r->source) != GREBE_SOURCE_TABLE &&
        grebe_source_kind_of(r->source) != GREBE_SOURCE_FILE) { /* is read once */
        grebe_source_close(r->source);
        r->source = NULL;
    }
    if (r->source == NULL) {
        GREBE_TRY(load_open_source(r->ctx, r->uri, &r->call, &r->source, err));
    }
    r->next = begin;
    r->raw = begin;
    for (r->drawn_at = 0; r->drawn_at < r->n_drawn && r->drawn[r->drawn_at] <= r->raw; r->drawn_at++) {
        r->raw++;
    }
    st = load_scan(r->source, r->column, (int64_t)r->raw, &r->call, &r->rows, err);
out:
    return st;
}

/* The next n rows; dst NULL: they are passed over. */
static grebe_status next_rows(struct source_rows *r, uint64_t n, unsigned char *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    while (n > 0) {
        if (r->batch.release == NULL || r->batch_at == r->batch.length) {
            array_release(&r->batch);
            r->batch_at = 0;
            st = stream_next(&r->rows, &r->batch, err);
            if (st == GREBE_END) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected more than %llu rows, as before", r->uri,
                                (unsigned long long)r->raw);
            }
            GREBE_TRY(st);
            continue;
        }
        uint64_t m = min_u64(n, (uint64_t)(r->batch.length - r->batch_at));
        bool is_drawn = r->drawn_at < r->n_drawn && r->drawn[r->drawn_at] == r->raw;
        if (!is_drawn && r->drawn_at < r->n_drawn) {
            m = min_u64(m, r->drawn[r->drawn_at] - r->raw);
        }
        m = is_drawn ? 1 : m;
        if (!is_drawn && dst != NULL) {
            GREBE_TRY(convert_rows(&r->c, r->batch.children[0], r->batch.offset + r->batch_at, (int64_t)m, r->raw, dst, err));
            dst += m * r->c.row_bytes;
        }
        r->batch_at += (int64_t)m;
        r->raw += m;
        r->drawn_at += is_drawn;
        r->next += is_drawn ? 0 : m;
        n -= is_drawn ? 0 : m;
    }
out:
    if (st != GREBE_OK) {
        stop_scan(r);
    }
    return st;
}

static grebe_status read_source_rows(void *arg, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    struct source_rows *r = arg;
    grebe_status st = GREBE_OK;
    /* what lies between is passed over in a stream, which has no other way */
    bool is_ahead = r->rows.release != NULL && begin > r->next && grebe_source_kind_of(r->source) != GREBE_SOURCE_TABLE &&
                    grebe_source_kind_of(r->source) != GREBE_SOURCE_FILE;
    if (is_ahead) {
        GREBE_TRY(next_rows(r, begin - r->next, NULL, err));
    } else if (r->rows.release == NULL || begin != r->next) {
        GREBE_TRY(start_scan(r, begin, err));
    }
    st = next_rows(r, n, dst, err);
out:
    return st;
}

static grebe_status leave_rows(struct ann_dataset *d, struct ann_vectors *v, const struct conversion *c, const char *column,
                               const struct ann_load *o, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct call call = call_options_resolve(d->ctx, o->call);
    struct source_rows *r = mem_alloc_zero(d->ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, o->uri);
    }
    r->ctx = d->ctx;
    r->c = *c;
    r->uri = str_copy(d->ctx->a, o->uri);
    r->column = str_copy(d->ctx->a, column);
    r->call = (grebe_call_options)GREBE_CALL_OPTIONS_INIT; /* what else the caller gave is borrowed for one call */
    r->call.threads = call.threads;
    r->call.memory_limit_bytes = call.memory_limit_bytes / 4 + 1;
    if (r->uri == NULL || r->column == NULL) {
        st = mem_fail(err, strlen(o->uri), "a name");
        close_source_rows(r);
        return st;
    }
    r->c.uri = r->uri;
    v->rows = (struct ann_rows){ .n = v->n, .dim = v->dim, .elem = v->elem, .read = read_source_rows, .arg = r,
                                 .is_in_order = true };
    d->close_rows = close_source_rows;
    return GREBE_OK;
}

void ann_load_leave_out(struct ann_vectors *v, const uint64_t *drawn, uint64_t n)
{
    struct source_rows *r = v->rows.arg;
    stop_scan(r);
    r->drawn = drawn;
    r->n_drawn = n;
    v->n -= n;
    v->rows.n -= n;
}

/* ---- loading ---- */

/* Vectors of a source, batch after batch. */
struct loader {
    struct ann_dataset *d;
    struct ann_vectors *v;
    const struct ann_load *o;
    struct call call;
    struct conversion c;
    struct buf rows;     /* when their number is not known before */
    unsigned char *dst;  /* when it is */
    uint64_t n, n_known; /* UINT64_MAX: not known */
    bool is_left;        /* they are too many for the memory: rows are counted alone */
};

/* Room for the rows of a batch; *dst is where they go, NULL: nowhere. */
static grebe_status make_room(struct loader *l, uint64_t n, unsigned char **dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_known = l->n_known != UINT64_MAX;
    *dst = NULL;
    if (l->o->is_by_rows && !ann_fits_memory(&l->call, is_known ? l->n_known : l->n + n, l->c.row_bytes)) {
        l->is_left = true;
        buf_release(&l->rows);
        return GREBE_OK;
    }
    if (!is_known) {
        st = buf_put_zero(&l->rows, (size_t)n * l->c.row_bytes, err);
        *dst = st == GREBE_OK ? l->rows.data + l->n * l->c.row_bytes : NULL;
        return st;
    }
    if (l->dst == NULL) {
        void *p = NULL;
        st = ann_array(l->d, l->n_known, l->c.row_bytes, l->o->uri, &p, err);
        l->dst = p;
    }
    if (st == GREBE_OK && l->n + n > l->n_known) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected %llu rows, found more", l->o->uri, (unsigned long long)l->n_known);
    }
    *dst = st == GREBE_OK ? l->dst + l->n * l->c.row_bytes : NULL;
    return st;
}

static grebe_status add_batch(struct loader *l, const struct ArrowArray *list, int64_t begin, int64_t n_rows,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    unsigned char *dst = NULL;
    int64_t dim = 0;
    if (n_rows == 0) {
        return GREBE_OK;
    }
    if (l->c.dim == 0) { /* the first row decides */
        load_list_at(l->c.list, 0, list, begin, &dim);
        l->c.dim = dim > 0 && dim <= UINT32_MAX ? (uint32_t)dim : 0;
    }
    l->c.row_bytes = vector_row_bytes(l->c.elem, l->c.dim);
    if (!l->is_left && l->c.dim > 0) {
        st = make_room(l, (uint64_t)n_rows, &dst, err);
    }
    if (st == GREBE_OK && !l->is_left) {
        st = convert_rows(&l->c, list, begin, n_rows, l->n, dst, err);
    }
    l->n += (uint64_t)n_rows;
    return st;
}

static grebe_status add_rows(struct loader *l, struct ArrowArrayStream *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    while (st == GREBE_OK && !(l->is_left && l->n_known != UINT64_MAX)) {
        struct ArrowArray batch = { 0 };
        st = stream_next(rows, &batch, err);
        if (st == GREBE_OK) {
            st = add_batch(l, batch.children[0], batch.offset, batch.length, err);
        }
        array_release(&batch);
    }
    l->n = l->is_left && l->n_known != UINT64_MAX ? l->n_known : l->n;
    return st == GREBE_END ? GREBE_OK : st;
}

static grebe_status load_rows(struct loader *l, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source *source = NULL;
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayStream rows = { 0 };
    struct arrow_type type;
    const struct ann_load *o = l->o;
    int at = 0;
    GREBE_TRY(load_open_source(l->d->ctx, o->uri, o->call, &source, err));
    GREBE_TRY(grebe_source_schema(source, &schema, err));
    GREBE_TRY(load_find_column(&schema, o->uri, o->column, false, &at, err));
    const char *column = schema.children[at]->name;
    GREBE_TRY(arrow_type_of(schema.children[at], &type, err));
    if (!load_is_list(type.kind) || type.is_dictionary) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: column %.64s: expected vectors", o->uri, column);
        goto out;
    }
    l->c.list = type.kind;
    l->c.dim = type.kind == ARROW_FIXED_LIST ? (uint32_t)type.list_size : 0;
    GREBE_TRY(arrow_type_of(schema.children[at]->children[0], &type, err));
    l->c.item = type.kind;
    l->c.in_bytes = item_bytes(type.kind);
    GREBE_TRY(choose_elem(&l->c, o->is_uint8_kept, err));
    int64_t n = grebe_source_num_rows(source);
    l->n_known = n < 0 ? UINT64_MAX : (uint64_t)n;
    GREBE_TRY(load_scan(source, column, 0, o->call, &rows, err));
    GREBE_TRY(add_rows(l, &rows, err));
    l->v->n = l->n;
    l->v->dim = l->c.dim;
    l->v->elem = l->c.elem;
    if (l->is_left) {
        st = leave_rows(l->d, l->v, &l->c, column, o, err);
    }
out:
    stream_release(&rows);
    schema_release(&schema);
    grebe_source_close(source);
    return st;
}

grebe_status ann_load_dense(struct ann_dataset *d, struct ann_vectors *v, const struct ann_load *o, grebe_error *err)
{
    struct loader l = { .d = d, .v = v, .o = o, .call = call_options_resolve(d->ctx, o->call), .c = { .uri = o->uri },
                        .rows = BUF_INIT(d->ctx->a), .n_known = UINT64_MAX };
    grebe_status st = load_rows(&l, err);
    void *p = NULL;
    if (st == GREBE_OK && !l.is_left && l.dst == NULL && l.n > 0) {
        st = ann_array(d, l.n, l.c.row_bytes, o->uri, &p, err);
        if (st == GREBE_OK) {
            memcpy(p, l.rows.data, l.rows.len);
            l.dst = p;
        }
    }
    if (st == GREBE_OK && l.n == 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected vectors, found no row", o->uri);
    }
    v->dense = l.dst;
    buf_release(&l.rows);
    return st;
}
