/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_store.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/half.h"

/* Integers cannot be made unit length: angular rows of them are kept as floats. */
static enum vector_elem elem_kept(enum vector_metric metric, enum vector_elem elem)
{
    bool is_integer = elem == VECTOR_I8 || elem == VECTOR_U8;
    return metric == VECTOR_COSINE && is_integer ? VECTOR_F32 : elem;
}

uint32_t index_dim_max(enum vector_elem elem)
{
    return elem == VECTOR_I8 || elem == VECTOR_U8 ? VECTOR_INT_DIM_MAX : INDEX_DIM_MAX;
}

grebe_status index_store_init(struct index_store *s, const grebe_allocator *a, enum vector_metric metric,
                              enum vector_elem elem, uint32_t dim, grebe_error *err)
{
    *s = (struct index_store){ .a = a, .metric = metric, .elem = elem_kept(metric, elem), .dim = dim };
    const char *metric_name = vector_metric_name(metric);
    const char *elem_name = vector_elem_name(elem);
    uint32_t dim_max = index_dim_max(elem);
    if (dim == 0 || dim > dim_max) {
        return GREBE_FAIL(err, GREBE_EINVAL, "rows of %u components: expected 1 to %u", dim, dim_max);
    }
    s->ops = vector_distance_ops(metric, s->elem);
    if (metric_name == NULL || elem_name == NULL || s->ops == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "no distance \"%s\" between rows of %s",
                          metric_name == NULL ? "unknown" : metric_name, elem_name == NULL ? "unknown" : elem_name);
    }
    s->stride = (vector_row_bytes(s->elem, dim) + INDEX_ROW_ALIGN - 1) / INDEX_ROW_ALIGN * INDEX_ROW_ALIGN;
    return GREBE_OK;
}

void index_store_release(struct index_store *s)
{
    if (s->owned != NULL) {
        mem_free_aligned(s->a, s->owned, s->owned_bytes, MEM_ALIGN_VECTOR);
    }
    s->owned = NULL;
    s->owned_bytes = 0;
    s->rows = NULL;
    s->n = 0;
}

grebe_status index_store_reserve(struct index_store *s, uint64_t n, grebe_error *err)
{
    size_t needed = (size_t)n * s->stride; /* 2^31 rows of at most 2^18 bytes */
    assert(n <= INDEX_ROWS_MAX);
    if (needed <= s->owned_bytes) {
        return GREBE_OK;
    }
    size_t room = s->owned != NULL ? max_size(needed, 2 * s->owned_bytes) : needed;
    unsigned char *fresh = mem_alloc_aligned(s->a, room, MEM_ALIGN_VECTOR);
    if (fresh == NULL) {
        return mem_fail(err, room, "the rows of an index");
    }
    if (s->n > 0) {
        memcpy(fresh, s->rows, (size_t)s->n * s->stride);
    }
    if (s->owned != NULL) {
        mem_free_aligned(s->a, s->owned, s->owned_bytes, MEM_ALIGN_VECTOR);
    }
    s->owned = fresh;
    s->owned_bytes = room;
    s->rows = fresh;
    return GREBE_OK;
}

static uint16_t bf16_from_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16); /* nearest, ties to even; components are finite */
}

/* One component in the store's type; false: it does not fit. */
static bool narrow(enum vector_elem elem, float v, unsigned char *dst)
{
    uint16_t half;
    switch (elem) {
    case VECTOR_F16:
        half = half_from_float(v);
        memcpy(dst, &half, sizeof half);
        return (half & 0x7c00u) != 0x7c00u;
    case VECTOR_BF16:
        half = bf16_from_float(v);
        memcpy(dst, &half, sizeof half);
        return (half & 0x7f80u) != 0x7f80u;
    case VECTOR_I8:
        *dst = v >= -128 && v <= 127 ? (unsigned char)(int8_t)v : 0;
        return v >= -128 && v <= 127 && v == floorf(v);
    case VECTOR_U8: *dst = v >= 0 && v <= 255 ? (unsigned char)v : 0; return v >= 0 && v <= 255 && v == floorf(v);
    default: return false;
    }
}

/* `wide` is room for dim floats. */
static grebe_status convert_row(const struct index_store *s, enum vector_elem from, const void *src, uint64_t i,
                                float *wide, unsigned char *dst, grebe_error *err)
{
    size_t bytes = vector_row_bytes(s->elem, s->dim);
    memset(dst + bytes, 0, s->stride - bytes);
    if (from == s->elem && s->metric != VECTOR_COSINE) {
        memcpy(dst, src, bytes);
        return GREBE_OK;
    }
    vector_to_f32(from, src, s->dim, wide);
    if (s->metric == VECTOR_COSINE) {
        float *unit = s->elem == VECTOR_F32 ? (float *)(void *)dst : wide;
        float norm = vector_normalise(wide, s->dim, unit);
        if (!isfinite(norm)) {
            return GREBE_FAIL(err, GREBE_EINVAL, "row %llu: expected a finite length", (unsigned long long)i);
        }
    }
    if (s->elem == VECTOR_F32) {
        if (s->metric != VECTOR_COSINE) {
            memcpy(dst, wide, bytes);
        }
        return GREBE_OK;
    }
    for (uint32_t c = 0; c < s->dim; c++) {
        if (!narrow(s->elem, wide[c], dst + (size_t)c * (bytes / s->dim))) {
            return GREBE_FAIL(err, GREBE_EINVAL, "row %llu, component %u: %g has no place in %s", (unsigned long long)i,
                              c, (double)wide[c], vector_elem_name(s->elem));
        }
    }
    return GREBE_OK;
}

static grebe_status check_shape(const struct index_store *s, const struct vector_rows *rows, grebe_error *err)
{
    if (rows->dim != s->dim) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "rows of %u components: expected %u", rows->dim, s->dim);
    }
    if ((rows->elem == VECTOR_BIT) != (s->elem == VECTOR_BIT) || vector_elem_name(rows->elem) == NULL) {
        const char *name = vector_elem_name(rows->elem);
        return GREBE_FAIL(err, GREBE_ESCHEMA, "rows of %s: expected %s", name == NULL ? "an unknown type" : name,
                          vector_elem_name(s->elem));
    }
    return GREBE_OK;
}

grebe_status index_store_append(struct index_store *s, const struct vector_rows *rows, grebe_error *err)
{
    if (rows->n == 0) {
        return GREBE_OK;
    }
    grebe_status st = check_shape(s, rows, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (rows->n > INDEX_ROWS_MAX - s->n) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%llu rows and %llu more: expected at most %d", (unsigned long long)s->n,
                          (unsigned long long)rows->n, INDEX_ROWS_MAX);
    }
    st = index_store_reserve(s, s->n + rows->n, err);
    float *wide = mem_alloc(s->a, s->dim * sizeof *wide);
    if (st == GREBE_OK && wide == NULL) {
        st = mem_fail(err, s->dim * sizeof *wide, "a row");
    }
    for (uint64_t i = 0; st == GREBE_OK && i < rows->n; i++) {
        const void *src = (const char *)rows->data + (size_t)i * rows->stride;
        st = convert_row(s, rows->elem, src, i, wide, s->owned + (size_t)(s->n + i) * s->stride, err);
    }
    mem_free(s->a, wide, s->dim * sizeof *wide);
    if (st == GREBE_OK) {
        s->n += rows->n;
    }
    return st;
}

grebe_status index_store_query(const struct index_store *s, const struct vector_rows *queries, uint64_t i, void *dst,
                               grebe_error *err)
{
    float few[512];
    float *wide = few;
    assert(i < queries->n);
    grebe_status st = check_shape(s, queries, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (s->dim > sizeof few / sizeof *few) {
        wide = mem_alloc(s->a, s->dim * sizeof *wide);
        if (wide == NULL) {
            return mem_fail(err, s->dim * sizeof *wide, "a query");
        }
    }
    st = convert_row(s, queries->elem, (const char *)queries->data + (size_t)i * queries->stride, i, wide, dst, err);
    if (wide != few) {
        mem_free(s->a, wide, s->dim * sizeof *wide);
    }
    return st;
}

grebe_status index_store_save(const struct index_store *s, struct index_writer *w, grebe_error *err)
{
    return index_writer_section(w, "vectors", s->rows, s->n * s->stride, err);
}

grebe_status index_store_load(struct index_store *s, const grebe_allocator *a, const struct index_config *config,
                              const struct index_file *f, uint64_t n, grebe_error *err)
{
    const void *rows = NULL;
    uint32_t dim_max = index_dim_max(config->elem);
    if (config->dim == 0 || config->dim > dim_max) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: rows of %u components: expected 1 to %u", index_file_path(f),
                          config->dim, dim_max);
    }
    grebe_status st = index_store_init(s, a, config->metric, config->elem, config->dim, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "%s", index_file_path(f));
    }
    if (n > INDEX_ROWS_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %llu rows: expected at most %d", index_file_path(f),
                          (unsigned long long)n, INDEX_ROWS_MAX);
    }
    st = index_file_section(f, "vectors", n * s->stride, &rows, NULL, err);
    if (st == GREBE_OK) {
        s->rows = rows;
        s->n = n;
    }
    return st;
}
