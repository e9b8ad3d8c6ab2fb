/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of components: dense files, and documents of several rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ann/ann_internal.h"
#include "base/checked.h"

enum { BLOCK_BYTES = 4 << 20 };

/* How a stored type is held in memory. GREBE_ECORRUPT: the profile has no such vectors. */
static grebe_status choose_elem(const struct ann_reader *r, const struct hdf5_data *h, enum vector_elem *elem,
                                grebe_error *err)
{
    bool is_vsag = r->o.profile == ANN_VSAG;
    if (h->cls == HDF5_FLOAT || h->cls == HDF5_BFLOAT) {
        *elem = VECTOR_F32;
        if (h->size != 4 || h->cls == HDF5_BFLOAT) {
            ann_find(r, ANN_NOTICE, h->name, "%s vectors are read as float32", h->type_name);
        }
        return GREBE_OK;
    }
    if (h->cls == HDF5_BOOL && r->d->metric == VECTOR_HAMMING) {
        *elem = VECTOR_BIT;
        return GREBE_OK;
    }
    if (h->cls == HDF5_INT && h->size == 1) {
        *elem = VECTOR_I8;
        return GREBE_OK;
    }
    if (h->cls == HDF5_UINT && h->size == 1 && !is_vsag) {
        *elem = VECTOR_U8;
        ann_find(r, ANN_WARNING, h->name, "is stored as uint8, which VSAG turns into int8 with 127 for all above");
        return GREBE_OK;
    }
    if ((h->cls == HDF5_INT || h->cls == HDF5_UINT) && !is_vsag) {
        *elem = VECTOR_F32;
        ann_find(r, ANN_NOTICE, h->name, "%s vectors are read as float32", h->type_name);
        return GREBE_OK;
    }
    bool is_int = h->cls == HDF5_INT || h->cls == HDF5_UINT;
    char what[64];
    snprintf(what, sizeof what, "%s of %u byte%s", is_int ? "integer" : "elements", h->size, h->size == 1 ? "" : "s");
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected float or int8%s, found %s (%s)", h->name,
                      r->d->metric == VECTOR_HAMMING ? " or bool" : "", h->type_name, what);
}

/* ---- rows of a data set of the file ---- */

struct file_rows {
    grebe_context *ctx;
    struct hdf5_file *f; /* closed with the rows when is_owner */
    bool is_owner;
    const struct hdf5_data *h;
    enum vector_elem elem;
};

/* Integers wider than a float's 24 bits must come out as they were. */
static grebe_status read_exact(const struct file_rows *r, uint64_t begin, uint64_t n_rows, float *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct hdf5_data *h = r->h;
    struct buf block = BUF_INIT(r->ctx->a);
    uint64_t row = h->shape[1] * sizeof(double), step = max_size(BLOCK_BYTES / (size_t)row, 1);
    GREBE_TRY(buf_reserve(&block, (size_t)(min_u64(step, n_rows) * row), err));
    for (uint64_t at = 0; at < n_rows; at += step) {
        uint64_t n = min_u64(step, n_rows - at);
        const double *x = (const double *)(void *)block.data;
        GREBE_TRY(hdf5_read(r->f, h, begin + at, n, HDF5_AS_F64, block.data, err));
        for (uint64_t i = 0; i < n * h->shape[1]; i++, dst++) {
            *dst = (float)x[i];
            if ((double)*dst != x[i] || fabs(x[i]) > 9007199254740992.0) {
                uint64_t place = (begin + at) * h->shape[1] + i;
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s[%llu,%llu] = %.17g: expected %s values that float32 holds exactly",
                                h->name, (unsigned long long)(place / h->shape[1]),
                                (unsigned long long)(place % h->shape[1]), x[i], h->type_name);
                goto out;
            }
        }
    }
out:
    buf_release(&block);
    return st;
}

static grebe_status read_bits(const struct file_rows *r, uint64_t begin, uint64_t n_rows, unsigned char *dst,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf block = BUF_INIT(r->ctx->a);
    size_t columns = (size_t)r->h->shape[1], packed = vector_row_bytes(VECTOR_BIT, (uint32_t)columns);
    uint64_t step = max_size(BLOCK_BYTES / columns, 1);
    GREBE_TRY(buf_reserve(&block, (size_t)min_u64(step, n_rows) * columns, err));
    memset(dst, 0, (size_t)n_rows * packed);
    for (uint64_t at = 0; at < n_rows; at += step) {
        uint64_t n = min_u64(step, n_rows - at);
        GREBE_TRY(hdf5_read(r->f, r->h, begin + at, n, HDF5_RAW, block.data, err));
        for (size_t i = 0; i < n; i++, dst += packed) {
            for (size_t j = 0; j < columns; j++) {
                dst[j / 8] |= (unsigned char)((block.data[i * columns + j] != 0) << (7 - j % 8));
            }
        }
    }
out:
    buf_release(&block);
    return st;
}

static grebe_status read_block(void *arg, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    const struct file_rows *r = arg;
    if (r->elem == VECTOR_BIT) {
        return read_bits(r, begin, n, dst, err);
    }
    if (r->elem == VECTOR_F32 && (r->h->cls == HDF5_INT || r->h->cls == HDF5_UINT)) {
        return read_exact(r, begin, n, dst, err);
    }
    return hdf5_read(r->f, r->h, begin, n, r->elem == VECTOR_F32 ? HDF5_AS_F32 : HDF5_RAW, dst, err);
}

static void close_rows(void *arg)
{
    struct file_rows *r = arg;
    hdf5_close(r->is_owner ? r->f : NULL);
    mem_free(r->ctx->a, r, sizeof *r);
}

/* The rows stay in the file. */
static grebe_status leave_rows(struct ann_reader *r, const struct file_rows *rows, struct ann_vectors *v, grebe_error *err)
{
    struct file_rows *kept = mem_alloc(r->ctx->a, sizeof *kept);
    if (kept == NULL) {
        return mem_fail(err, sizeof *kept, rows->h->name);
    }
    *kept = *rows;
    v->rows = (struct ann_rows){ .n = v->n, .dim = v->dim, .elem = v->elem, .read = read_block, .arg = kept,
                                 .is_in_order = rows->h->chunk_rows > 0 };
    r->d->close_rows = close_rows;
    return GREBE_OK;
}

void ann_own_file(struct ann_reader *r)
{
    if (r->d->close_rows == close_rows) {
        ((struct file_rows *)r->d->train.rows.arg)->is_owner = true;
        r->f = NULL;
    }
}

static grebe_status read_rows(struct ann_reader *r, const struct hdf5_data *h, struct ann_vectors *v, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t row = vector_row_bytes(v->elem, v->dim);
    struct file_rows rows = { .ctx = r->ctx, .f = r->f, .h = h, .elem = v->elem };
    uint64_t step = max_size(BLOCK_BYTES / max_size(row, (size_t)h->shape[1]), 1); /* bits are bytes in the file */
    if (r->o.is_without_vectors) {
        return GREBE_OK;
    }
    if (r->o.is_base_by_rows && v == &r->d->train && !ann_fits_memory(r->call, v->n, row)) {
        return leave_rows(r, &rows, v, err);
    }
    GREBE_TRY(ann_need_memory(r, h, v->n, row, err));
    GREBE_TRY(ann_array(r->d, v->n, row, h->name, &v->dense, err));
    for (uint64_t at = 0; at < v->n; at += step) {
        GREBE_TRY(read_block(&rows, at, min_u64(step, v->n - at), (unsigned char *)v->dense + at * row, err));
        GREBE_TRY(call_check(r->call, err));
    }
out:
    return st;
}

static grebe_status check_shape(const struct hdf5_data *h, grebe_error *err)
{
    grebe_status st = ann_need_rank(h, 2, err);
    if (st == GREBE_OK && (h->shape[0] == 0 || h->shape[1] == 0)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected rows and components, found %llu rows, %llu components", h->name,
                        (unsigned long long)h->shape[0], (unsigned long long)h->shape[1]);
    }
    if (st == GREBE_OK && h->shape[1] > UINT32_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most 2^32 components, found %llu", h->name,
                        (unsigned long long)h->shape[1]);
    }
    return st;
}

grebe_status ann_read_dense(struct ann_reader *r, grebe_error *err)
{
    const struct hdf5_data *train = hdf5_find(r->f, "train"), *test = hdf5_find(r->f, "test");
    struct ann_dataset *d = r->d;
    grebe_status st = GREBE_OK;
    GREBE_TRY(check_shape(train, err));
    GREBE_TRY(check_shape(test, err));
    if (test->shape[1] != train->shape[1]) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "test has %llu components, train %llu", (unsigned long long)test->shape[1],
                        (unsigned long long)train->shape[1]);
        goto out;
    }
    GREBE_TRY(choose_elem(r, train, &d->train.elem, err));
    GREBE_TRY(choose_elem(r, test, &d->test.elem, err));
    if (d->train.elem != d->test.elem) {
        ann_find(r, ANN_ERROR, "test", "test and train have different element types: %s and %s", test->type_name,
                 train->type_name);
        d->train.elem = d->test.elem = VECTOR_F32;
    }
    d->train.n = train->shape[0];
    d->test.n = test->shape[0];
    d->train.dim = d->test.dim = (uint32_t)train->shape[1];
    GREBE_TRY(read_rows(r, train, &d->train, err));
    GREBE_TRY(read_rows(r, test, &d->test, err));
out:
    return st;
}

/* ---- documents ---- */

static grebe_status read_documents(struct ann_reader *r, const char *vectors, const char *counts, int64_t dim,
                                   struct ann_vectors *v, grebe_error *err)
{
    const struct hdf5_data *h = hdf5_find(r->f, vectors), *c = hdf5_find(r->f, counts);
    grebe_status st = GREBE_OK;
    int64_t *n_of = NULL;
    uint64_t sum = 0, n_empty = 0, first_empty = 0;
    void *p = NULL;
    GREBE_TRY(ann_need_rank(h, 2, err));
    if (h->cls == HDF5_STRING || h->cls == HDF5_OTHER || h->cls == HDF5_BOOL) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected numbers, found %s", h->name, h->type_name);
        goto out;
    }
    if (h->shape[1] != (uint64_t)dim) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "multi_vector_dim %lld, %s has %llu columns", (long long)dim, vectors,
                        (unsigned long long)h->shape[1]);
        goto out;
    }
    GREBE_TRY(ann_read_ints(r, c, &n_of, err));
    v->n = c->shape[0];
    v->dim = (uint32_t)dim;
    v->elem = VECTOR_F32;
    GREBE_TRY(ann_array(r->d, v->n + 1, sizeof(int64_t), counts, &p, err));
    v->offsets = p;
    for (uint64_t i = 0; i < v->n; i++) {
        if (n_of[i] < 0 || !checked_add_u64(sum, (uint64_t)n_of[i], &sum) || sum > INT64_MAX) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s[%llu] = %lld: expected a number of vectors", counts,
                            (unsigned long long)i, (long long)n_of[i]);
            goto out;
        }
        first_empty = n_of[i] == 0 && n_empty == 0 ? i : first_empty;
        n_empty += n_of[i] == 0;
        v->offsets[i + 1] = (int64_t)sum;
    }
    if (sum != h->shape[0]) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s sums to %llu, %s has %llu rows", counts, (unsigned long long)sum, vectors,
                        (unsigned long long)h->shape[0]);
        goto out;
    }
    if (v->n == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s is empty: 0 rows", counts);
        goto out;
    }
    if (n_empty > 0) {
        ann_find(r, ANN_WARNING, counts, "document %llu has no vectors (%llu such): its distance is undefined",
                 (unsigned long long)first_empty, (unsigned long long)n_empty);
    }
    if (!r->o.is_without_vectors) {
        GREBE_TRY(ann_need_memory(r, h, sum, (uint64_t)dim * 4, err));
        GREBE_TRY(ann_array(r->d, sum * (uint64_t)dim, sizeof(float), vectors, &v->dense, err));
        GREBE_TRY(hdf5_read(r->f, h, 0, sum, HDF5_AS_F32, v->dense, err));
    }
out:
    return st;
}

grebe_status ann_read_multi(struct ann_reader *r, grebe_error *err)
{
    const struct hdf5_data *train = hdf5_find(r->f, "train_multi_vectors");
    int64_t dim = 0, squared = 1;
    grebe_status st = ann_need_rank(train, 2, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = hdf5_int(r->f, "multi_vector_dim", &dim, err);
    if (st == GREBE_ENOTFOUND) {
        dim = train->shape[1] > UINT32_MAX ? 0 : (int64_t)train->shape[1];
        st = GREBE_OK;
        ann_find(r, ANN_NOTICE, "attribute multi_vector_dim", "is missing: %lld columns of train_multi_vectors are taken",
                 (long long)dim);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (dim <= 0 || dim > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "multi_vector_dim %lld: expected a number of components", (long long)dim);
    }
    if (hdf5_int(r->f, "l2_squared", &squared, NULL) == GREBE_OK) {
        r->d->is_maxsim_squared = squared != 0;
    }
    st = read_documents(r, "train_multi_vectors", "train_vector_counts", dim, &r->d->train, err);
    return st != GREBE_OK ? st : read_documents(r, "test_multi_vectors", "test_vector_counts", dim, &r->d->test, err);
}
