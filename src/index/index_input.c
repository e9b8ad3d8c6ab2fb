/* SPDX-License-Identifier: Apache-2.0 */
/* What callers bring to an index, checked before anything is done with it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/half.h"
#include "index/index_api.h"

void index_input_release(struct index_input *in)
{
    mem_free(in->a, in->copy, in->copy_bytes);
    in->copy = NULL;
    in->copy_bytes = 0;
}

static grebe_status fail_component(const char *what, uint64_t row, uint32_t component, double found, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_EINVAL, "%s %" PRIu64 ", component %u: expected a finite number, found %s", what, row,
                      component, isnan(found) ? "NaN" : found > 0 ? "infinity" : "-infinity");
}

/* Exponents: of what is infinite or NaN; of 2^55, whose square fits into float32 as often as a row has components. */
enum { NOT_FINITE = 0x7f800000, LONG = (127 + 55) << 23 };

/* Each component below that. Adding is one vector instruction. */
static bool is_below_f32(const float *v, size_t n, uint32_t exponent)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = 0;
        memcpy(&bits, v + i, sizeof bits);
        sum |= (bits & 0x7f800000u) >= exponent ? 1u : 0u;
    }
    return sum == 0;
}

/*
 * Rows compared by inner product have squares that float32 can add up: then, by Cauchy and Schwarz, no product of two of
 * them overflows, wherever its sum is cut, and no distance is a difference of infinities.
 */
static grebe_status check_length(const char *what, uint64_t row, double squares, grebe_error *err)
{
    return squares < 3.4e38 ? GREBE_OK
                            : GREBE_FAIL(err, GREBE_EINVAL, "%s %" PRIu64 ": expected a length below 1.8e19, found %g", what,
                                         row, sqrt(squares));
}

static double component_of(enum vector_elem elem, const unsigned char *row, uint32_t i)
{
    float f = 0;
    double d = 0;
    if (elem == VECTOR_F64) {
        memcpy(&d, row + 8 * (size_t)i, sizeof d);
        return d;
    }
    vector_to_f32(elem, row + vector_row_bytes(elem, 1) * i, 1, &f);
    return (double)f;
}

static grebe_status check_finite(const struct vector_rows *rows, bool is_product, const char *what, grebe_error *err)
{
    uint32_t limit = is_product ? LONG : NOT_FINITE;
    grebe_status st = GREBE_OK;
    if (rows->elem == VECTOR_I8 || rows->elem == VECTOR_U8 || rows->elem == VECTOR_BIT) {
        return GREBE_OK;
    }
    for (uint64_t r = 0; st == GREBE_OK && r < rows->n; r++) {
        const unsigned char *row = (const unsigned char *)rows->data + r * rows->stride;
        double squares = 0;
        if (rows->elem == VECTOR_F32 && is_below_f32((const float *)(const void *)row, rows->dim, limit)) {
            continue;
        }
        for (uint32_t i = 0; i < rows->dim; i++) {
            double v = component_of(rows->elem, row, i);
            if (!isfinite((float)v)) {
                return fail_component(what, r, i, v, err);
            }
            squares += v * v;
        }
        st = is_product ? check_length(what, r, squares, err) : GREBE_OK;
    }
    return st;
}

static grebe_status take_dense(const grebe_ann_index *index, const grebe_vectors *v, const char *what,
                               struct index_input *out, grebe_error *err)
{
    enum vector_elem elem = (enum vector_elem)v->elem;
    size_t packed = vector_row_bytes(elem, v->dim), unit = vector_row_bytes(elem, elem == VECTOR_BIT ? 8 : 1);
    size_t stride = v->stride == 0 ? packed : (size_t)v->stride, bytes = 0;
    struct index_info info = { 0 };
    index->ix->ops->info(index->ix, &info);
    if (vector_elem_name(elem) == NULL || (elem == VECTOR_BIT) != (index->ix->config.elem == VECTOR_BIT)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected %s as %s, found %s", what,
                          vector_elem_name(index->ix->config.elem),
                          vector_elem_name(elem) != NULL ? vector_elem_name(elem) : "an unknown element type");
    }
    if (v->dim == 0 || (info.dim != 0 && v->dim != info.dim)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected %s%u components, found %u", what, info.dim == 0 ? "at least " : "",
                          info.dim == 0 ? 1 : info.dim, v->dim);
    }
    if (v->data == NULL && v->rows != 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected data of %" PRIu64 " rows, found NULL", what, v->rows);
    }
    if (stride < packed) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a stride of at least %zu bytes, found %zu", what, packed, stride);
    }
    out->rows.dense = (struct vector_rows){ v->data, stride, v->rows, v->dim, elem };
    if (v->rows != 0 && ((uintptr_t)v->data % unit != 0 || stride % unit != 0)) {
        if (!checked_mul_size((size_t)v->rows, packed, &bytes)) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %" PRIu64 " of %zu bytes do not fit in memory", what, v->rows, packed);
        }
        out->copy = mem_alloc(out->a, bytes);
        if (out->copy == NULL) {
            return mem_fail(err, bytes, "aligned rows");
        }
        out->copy_bytes = bytes;
        for (uint64_t i = 0; i < v->rows; i++) {
            memcpy((char *)out->copy + i * packed, (const char *)v->data + i * stride, packed);
        }
        out->rows.dense.data = out->copy;
        out->rows.dense.stride = packed;
    }
    return check_finite(&out->rows.dense, index->ix->config.metric == VECTOR_IP, what, err);
}

/* ---- sparse ---- */

struct term_value {
    uint32_t term;
    float value;
};

static int by_term(const void *a, const void *b)
{
    uint32_t x = ((const struct term_value *)a)->term, y = ((const struct term_value *)b)->term;
    return x < y ? -1 : x > y;
}

static bool is_ascending(const uint32_t *terms, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (terms[i] <= terms[i - 1]) {
            return false;
        }
    }
    return true;
}

/* All terms and values once more, each row in the order of its terms. */
static grebe_status sort_rows(const grebe_vectors *v, const char *what, struct index_input *out, grebe_error *err)
{
    size_t total = (size_t)(v->offsets[v->rows] - v->offsets[0]), bytes = 0;
    size_t n_offsets = (size_t)v->rows + 1;
    if (!checked_mul_size(total, 2 * sizeof(struct term_value), &bytes) ||
        !checked_add_size(bytes, n_offsets * sizeof(int64_t), &bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %zu values do not fit in memory", what, total);
    }
    out->copy = mem_alloc(out->a, bytes);
    if (out->copy == NULL) {
        return mem_fail(err, bytes, "sorted rows");
    }
    out->copy_bytes = bytes;
    int64_t *offsets = out->copy;
    struct term_value *pairs = (struct term_value *)(void *)(offsets + n_offsets);
    uint32_t *terms = (uint32_t *)(pairs + total);
    float *values = (float *)(void *)(terms + total);
    for (uint64_t r = 0; r < v->rows; r++) {
        size_t begin = (size_t)(v->offsets[r] - v->offsets[0]), n = (size_t)(v->offsets[r + 1] - v->offsets[r]);
        offsets[r] = (int64_t)begin;
        for (size_t i = 0; i < n; i++) {
            pairs[i] = (struct term_value){ v->terms[v->offsets[r] + (int64_t)i], v->values[v->offsets[r] + (int64_t)i] };
        }
        qsort(pairs, n, sizeof *pairs, by_term);
        for (size_t i = 0; i < n; i++) {
            if (i > 0 && pairs[i].term == pairs[i - 1].term) {
                return GREBE_FAIL(err, GREBE_EINVAL, "%s %" PRIu64 ": expected each term once, found %u twice", what, r,
                                  pairs[i].term);
            }
            terms[begin + i] = pairs[i].term;
            values[begin + i] = pairs[i].value;
        }
    }
    offsets[v->rows] = (int64_t)total;
    out->rows.sparse = (struct vector_sparse){ offsets, terms, values, v->rows };
    return GREBE_OK;
}

static grebe_status take_sparse(const grebe_vectors *v, const char *what, struct index_input *out, grebe_error *err)
{
    bool is_sorted = true;
    out->rows.is_sparse = true;
    out->rows.sparse = (struct vector_sparse){ v->offsets, v->terms, v->values, v->rows };
    if (v->offsets[0] < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s offsets[0]: expected at least 0, found %" PRId64, what, v->offsets[0]);
    }
    for (uint64_t r = 0; r < v->rows; r++) {
        if (v->offsets[r + 1] < v->offsets[r]) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%s offsets[%" PRIu64 "]: expected at least %" PRId64 ", found %" PRId64,
                              what, r + 1, v->offsets[r], v->offsets[r + 1]);
        }
    }
    if (v->offsets[v->rows] > v->offsets[0] && (v->terms == NULL || v->values == NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected terms and values, found NULL", what);
    }
    for (uint64_t r = 0; r < v->rows; r++) {
        size_t n = (size_t)(v->offsets[r + 1] - v->offsets[r]);
        const float *values = v->values + v->offsets[r];
        if (n != 0 && !is_below_f32(values, n, LONG)) {
            double squares = 0;
            for (uint32_t i = 0; i < n; i++) {
                if (!isfinite(values[i])) {
                    return fail_component(what, r, i, (double)values[i], err);
                }
                squares += (double)values[i] * (double)values[i];
            }
            grebe_status st = check_length(what, r, squares, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        is_sorted = is_sorted && (n == 0 || is_ascending(v->terms + v->offsets[r], n));
    }
    return is_sorted ? GREBE_OK : sort_rows(v, what, out, err);
}

grebe_status index_input_take(const grebe_ann_index *index, const grebe_vectors *v, const char *what,
                              struct index_input *out, grebe_error *err)
{
    bool is_sparse = index->ix->config.kind == INDEX_SPARSE;
    grebe_vectors full = GREBE_VECTORS_INIT;
    grebe_status st = options_copy(&full, sizeof full, v, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (is_sparse != (full.offsets != NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected %s rows, found %s ones", what, is_sparse ? "sparse" : "dense",
                          is_sparse ? "dense" : "sparse");
    }
    return is_sparse ? take_sparse(&full, what, out, err) : take_dense(index, &full, what, out, err);
}
