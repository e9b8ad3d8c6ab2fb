/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_codes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- kernels: the definition ---- */

static int32_t value_sq8_dot(const void *query, const unsigned char *row, uint32_t blocks)
{
    size_t n = (size_t)blocks * GRAPH_CODE_BLOCK;
    const signed char *q = (const signed char *)query + n; /* behind the absolute values */
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum -= q[i] * (signed char)row[i];
    }
    return sum;
}

static int32_t value_sq8_l2(const void *query, const unsigned char *row, uint32_t blocks)
{
    const signed char *q = query;
    int32_t sum = 0;
    for (size_t i = 0; i < (size_t)blocks * GRAPH_CODE_BLOCK; i++) {
        int32_t d = q[i] - (signed char)row[i];
        sum += d * d;
    }
    return sum;
}

static int32_t value_sq4_dot(const void *query, const unsigned char *row, uint32_t blocks)
{
    const signed char *q = query;
    int32_t sum = 0;
    for (size_t i = 0; i < (size_t)blocks * GRAPH_CODE_BLOCK; i++) {
        size_t at = i / GRAPH_CODE_BLOCK * (2 * GRAPH_CODE_BLOCK) + i % GRAPH_CODE_BLOCK;
        sum -= q[at] * (row[i] & 15) + q[at + GRAPH_CODE_BLOCK] * (row[i] >> 4);
    }
    return sum;
}

static int32_t value_sq4_l2(const void *query, const unsigned char *row, uint32_t blocks)
{
    const unsigned char *q = query;
    int32_t sum = 0;
    for (size_t i = 0; i < (size_t)blocks * GRAPH_CODE_BLOCK; i++) {
        size_t at = i / GRAPH_CODE_BLOCK * (2 * GRAPH_CODE_BLOCK) + i % GRAPH_CODE_BLOCK;
        int32_t low = q[at] - 8 * (row[i] & 15);
        int32_t high = q[at + GRAPH_CODE_BLOCK] - 8 * (row[i] >> 4);
        sum += low * low + high * high;
    }
    return sum;
}

#define SCALAR_FORMS(name)                                                                                             \
    static void gather_##name(const void *query, const void *rows, size_t stride, const uint32_t *ids, size_t n,       \
                              uint32_t blocks, float *out)                                                             \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            out[i] = (float)value_##name(query, (const unsigned char *)rows + ids[i] * stride, blocks);                \
        }                                                                                                              \
    }                                                                                                                  \
    static void many_##name(const void *query, const void *rows, size_t stride, size_t n, uint32_t blocks, float *out) \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            out[i] = (float)value_##name(query, (const unsigned char *)rows + i * stride, blocks);                     \
        }                                                                                                              \
    }

SCALAR_FORMS(sq8_dot)
SCALAR_FORMS(sq8_l2)
SCALAR_FORMS(sq4_dot)
SCALAR_FORMS(sq4_l2)

bool graph_code_kernels_of(enum cpu_simd level, enum graph_quant quant, bool is_l2, struct graph_code_kernels *out)
{
    assert(quant != GRAPH_QUANT_NONE);
    if (!cpu_simd_has(level)) {
        return false;
    }
    if (level >= CPU_AVX2) {
        return graph_code_kernels_avx2(quant, is_l2, out);
    }
    if (quant == GRAPH_QUANT_SQ8) {
        *out = is_l2 ? (struct graph_code_kernels){ gather_sq8_l2, many_sq8_l2 }
                     : (struct graph_code_kernels){ gather_sq8_dot, many_sq8_dot };
    } else {
        *out = is_l2 ? (struct graph_code_kernels){ gather_sq4_l2, many_sq4_l2 }
                     : (struct graph_code_kernels){ gather_sq4_dot, many_sq4_dot };
    }
    return true;
}

/* ---- codes ---- */

grebe_status graph_codes_init(struct graph_codes *c, const struct index_store *s, enum graph_quant quant,
                              grebe_error *err)
{
    *c = (struct graph_codes){ .a = s->a, .quant = quant, .dim = s->dim, .scale = 1 };
    c->is_l2 = s->metric == VECTOR_EUCLIDEAN || s->metric == VECTOR_L2SQ;
    if (quant == GRAPH_QUANT_NONE) {
        c->blocks = s->dim;
        c->stride = s->stride;
        c->kernels = (struct graph_code_kernels){ s->ops->gather, s->ops->many };
        return GREBE_OK;
    }
    enum cpu_simd level = cpu_simd_level();
    while (!graph_code_kernels_of(level, quant, c->is_l2, &c->kernels)) {
        level--;
    }
    size_t bytes = quant == GRAPH_QUANT_SQ8 ? s->dim : ((size_t)s->dim + 1) / 2;
    c->blocks = (uint32_t)((bytes + GRAPH_CODE_BLOCK - 1) / GRAPH_CODE_BLOCK);
    if (quant == GRAPH_QUANT_SQ4) { /* a block holds two runs of 32 components */
        c->blocks = (s->dim + 2 * GRAPH_CODE_BLOCK - 1) / (2 * GRAPH_CODE_BLOCK);
    }
    c->stride = (size_t)c->blocks * GRAPH_CODE_BLOCK;
    c->query_bytes = 2 * c->stride;
    c->mean = mem_alloc_zero(c->a, c->dim * sizeof *c->mean);
    return c->mean == NULL ? mem_fail(err, c->dim * sizeof *c->mean, "the means of codes") : GREBE_OK;
}

void graph_codes_release(struct graph_codes *c)
{
    if (c->owned != NULL) {
        mem_free_aligned(c->a, c->owned, c->owned_bytes, MEM_ALIGN_VECTOR);
    }
    if (c->mean != NULL) {
        mem_free(c->a, c->mean, c->dim * sizeof *c->mean);
    }
    c->owned = NULL;
    c->owned_bytes = 0;
    c->mean = NULL;
    c->rows = NULL;
    c->n = 0;
}

enum { TRAIN_ROWS = 16384, TRAIN_BINS = 4096 };
/* A clipped component spoils its whole row, finer steps gain little: 0.9995 lost 0.3 % of recall to clipping. */
#define SHARE_SQ8 0.99999
#define SHARE_SQ4 0.99

/* What bounds the codes: of |x - mean| the share `share` lies below. `bins` has TRAIN_BINS counters, zeroed. */
static float clip_of(const struct graph_codes *c, const struct index_store *s, uint64_t step, double share, float *wide,
                     uint32_t *bins)
{
    float max = 0;
    uint64_t total = 0, seen = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t r = 0; r < s->n; r += step) {
            vector_to_f32(s->elem, index_store_row(s, (uint32_t)r), s->dim, wide);
            for (uint32_t i = 0; i < s->dim; i++) {
                float v = fabsf(wide[i] - c->mean[i]);
                if (pass == 0) {
                    max = v > max ? v : max;
                } else {
                    float part = v / max; /* rows of a file may hold NaN */
                    bins[part < 1 ? (size_t)(part * (TRAIN_BINS - 1)) : TRAIN_BINS - 1]++;
                    total++;
                }
            }
        }
        if (!(max > 0) || !isfinite(max)) {
            return 1;
        }
    }
    size_t bin = 0;
    for (; bin < TRAIN_BINS; bin++) {
        seen += bins[bin];
        if ((double)seen >= share * (double)total) {
            break;
        }
    }
    return max * (float)(bin + 1) / TRAIN_BINS;
}

/* Beyond it squares of components are nothing, or infinite, in float32; within it steps squared are neither. */
#define SCALE_MAX 1e18f

/* Means and scale. sum: room for dim float64, wide for dim floats, bins for TRAIN_BINS counters; zeroed but for wide.
 */
static void train(struct graph_codes *c, const struct index_store *s, double *sum, float *wide, uint32_t *bins)
{
    uint64_t step = (s->n + TRAIN_ROWS - 1) / TRAIN_ROWS;
    uint64_t n = 0;
    for (uint64_t r = 0; r < s->n; r += step, n++) {
        vector_to_f32(s->elem, index_store_row(s, (uint32_t)r), s->dim, wide);
        for (uint32_t i = 0; i < s->dim; i++) {
            sum[i] += (double)wide[i];
        }
    }
    for (uint32_t i = 0; i < s->dim; i++) {
        float mean = (float)(sum[i] / (double)n);
        c->mean[i] = isfinite(mean) ? mean : 0;
    }
    float clip = clip_of(c, s, step, c->quant == GRAPH_QUANT_SQ8 ? SHARE_SQ8 : SHARE_SQ4, wide, bins);
    c->scale = (c->quant == GRAPH_QUANT_SQ4 ? 7.5f : c->is_l2 ? 63.0f : 127.0f) / clip;
    c->scale = fmaxf(1.0f / SCALE_MAX, fminf(c->scale, SCALE_MAX));
    c->n_trained = s->n;
}

/* Nearest whole number in [low, high]; NaN gives low. */
static inline int round_clip(float v, float low, float high)
{
    v = v > low ? v : low;
    return (int)lrintf(v < high ? v : high);
}

static void encode_row(const struct graph_codes *c, const float *wide, unsigned char *dst)
{
    const float limit = c->is_l2 ? 63.0f : 127.0f;
    if (c->quant == GRAPH_QUANT_SQ8) {
        for (uint32_t i = 0; i < c->dim; i++) {
            dst[i] = (unsigned char)(signed char)round_clip((wide[i] - c->mean[i]) * c->scale, -limit, limit);
        }
        memset(dst + c->dim, 0, c->stride - c->dim);
        return;
    }
    memset(dst, 0, c->stride);
    for (uint32_t i = 0; i < c->dim; i++) {
        unsigned v = (unsigned)round_clip((wide[i] - c->mean[i]) * c->scale + 7.5f, 0, 15);
        uint32_t in = i % (2 * GRAPH_CODE_BLOCK);
        unsigned char *p = dst + i / (2 * GRAPH_CODE_BLOCK) * GRAPH_CODE_BLOCK + in % GRAPH_CODE_BLOCK;
        *p = (unsigned char)(*p | (in < GRAPH_CODE_BLOCK ? v : v << 4));
    }
}

static grebe_status reserve(struct graph_codes *c, uint64_t n, grebe_error *err)
{
    size_t needed = (size_t)n * c->stride;
    if (needed <= c->owned_bytes) {
        return GREBE_OK;
    }
    size_t room = c->owned != NULL && needed < 2 * c->owned_bytes ? 2 * c->owned_bytes : needed;
    unsigned char *fresh = mem_alloc_aligned(c->a, room, MEM_ALIGN_VECTOR);
    if (fresh == NULL) {
        return mem_fail(err, room, "the codes of an index");
    }
    if (c->n > 0) {
        memcpy(fresh, c->rows, (size_t)c->n * c->stride);
    }
    if (c->owned != NULL) {
        mem_free_aligned(c->a, c->owned, c->owned_bytes, MEM_ALIGN_VECTOR);
    }
    c->owned = fresh;
    c->owned_bytes = room;
    c->rows = fresh;
    return GREBE_OK;
}

grebe_status graph_codes_append(struct graph_codes *c, const struct index_store *s, bool *is_anew, grebe_error *err)
{
    *is_anew = false;
    if (c->quant == GRAPH_QUANT_NONE) {
        c->rows = s->rows;
        c->n = s->n;
        return GREBE_OK;
    }
    size_t bytes = s->dim * (sizeof(double) + sizeof(float)) + TRAIN_BINS * sizeof(uint32_t);
    double *sum = mem_alloc_zero(c->a, bytes);
    if (sum == NULL) {
        return mem_fail(err, bytes, "training of codes");
    }
    float *wide = (float *)(void *)(sum + s->dim);
    grebe_status st = reserve(c, s->n, err);
    if (st == GREBE_OK) { /* nothing fails from here on */
        if (c->n_trained < TRAIN_ROWS && s->n >= 2 * c->n_trained) {
            train(c, s, sum, wide, (uint32_t *)(void *)(wide + s->dim));
            *is_anew = c->n > 0;
            c->n = 0;
        }
        for (; c->n < s->n; c->n++) {
            vector_to_f32(s->elem, index_store_row(s, (uint32_t)c->n), s->dim, wide);
            encode_row(c, wide, c->owned + (size_t)c->n * c->stride);
        }
    }
    mem_free(c->a, sum, bytes);
    return st;
}

/* Of a query of products: its largest component becomes 127. */
static float query_scale(const struct graph_codes *c, const float *wide)
{
    float max = 0;
    for (uint32_t i = 0; i < c->dim; i++) {
        float v = fabsf(wide[i]);
        max = v > max ? v : max;
    }
    float scale = 127.0f / max;
    return isfinite(scale) ? scale : 0;
}

const void *graph_codes_query(const struct graph_codes *c, enum vector_elem elem, const void *row, float *wide,
                              void *dst)
{
    if (c->quant == GRAPH_QUANT_NONE) {
        return row;
    }
    signed char *q = dst;
    memset(q, 0, c->query_bytes);
    vector_to_f32(elem, row, c->dim, wide);
    if (c->is_l2) {
        for (uint32_t i = 0; i < c->dim; i++) {
            float v = (wide[i] - c->mean[i]) * c->scale;
            q[i] = (signed char)(c->quant == GRAPH_QUANT_SQ8 ? round_clip(v, -63, 63)
                                                             : round_clip((v + 7.5f) * 8, 0, 127));
        }
        return dst;
    }
    float scale = query_scale(c, wide);
    signed char *signed_q = c->quant == GRAPH_QUANT_SQ8 ? q + c->stride : q;
    for (uint32_t i = 0; i < c->dim; i++) {
        int v = round_clip(wide[i] * scale, -127, 127);
        signed_q[i] = (signed char)v;
        if (c->quant == GRAPH_QUANT_SQ8) {
            q[i] = (signed char)(v < 0 ? -v : v);
        }
    }
    return dst;
}

void graph_codes_worth(const struct graph_codes *c, const float *wide, float *factor, float *offset)
{
    const float step = c->quant == GRAPH_QUANT_SQ4 ? 8 * c->scale : c->scale;
    *offset = 0;
    if (c->is_l2) {
        *factor = 1.0f / (step * step);
        return;
    }
    float scale = query_scale(c, wide);
    double dot = 0, middle = 0; /* of the query with the means; of its code with what codes of zero stand for */
    for (uint32_t i = 0; i < c->dim; i++) {
        dot += (double)wide[i] * (double)c->mean[i];
        middle += round_clip(wide[i] * scale, -127, 127);
    }
    *factor = scale > 0 ? 1.0f / (scale * c->scale) : 0;
    *offset = -(float)dot;
    if (c->quant == GRAPH_QUANT_SQ4) {
        *offset += 7.5f * (float)middle * *factor;
    }
}

void graph_codes_decode(const struct graph_codes *c, const unsigned char *row, float *dst)
{
    for (uint32_t k = 0; k < c->dim; k++) {
        float v;
        if (c->quant == GRAPH_QUANT_SQ8) {
            v = (float)(signed char)row[k];
        } else {
            uint32_t in = k % (2 * GRAPH_CODE_BLOCK);
            unsigned byte = row[k / (2 * GRAPH_CODE_BLOCK) * GRAPH_CODE_BLOCK + in % GRAPH_CODE_BLOCK];
            v = (float)(in < GRAPH_CODE_BLOCK ? byte & 15 : byte >> 4) - 7.5f;
        }
        dst[k] = c->mean[k] + v / c->scale;
    }
}

/* ---- files ---- */

grebe_status graph_codes_save(const struct graph_codes *c, struct index_writer *w, grebe_error *err)
{
    if (c->quant == GRAPH_QUANT_NONE) {
        return GREBE_OK;
    }
    grebe_status st = index_writer_real(w, "scale", (double)c->scale, err);
    if (st == GREBE_OK) {
        st = index_writer_uint(w, "trained", c->n_trained, err);
    }
    if (st == GREBE_OK) {
        st = index_writer_section(w, "codemean", c->mean, c->dim * sizeof *c->mean, err);
    }
    return st == GREBE_OK ? index_writer_section(w, "codes", c->rows, c->n * c->stride, err) : st;
}

grebe_status graph_codes_load(struct graph_codes *c, const struct index_file *f, uint64_t n, grebe_error *err)
{
    const void *mean = NULL, *rows = NULL;
    double scale = 0;
    grebe_status st = GREBE_OK;
    assert(c->quant != GRAPH_QUANT_NONE);
    GREBE_TRY(index_file_real(f, "scale", &scale, err));
    GREBE_TRY(index_file_uint(f, "trained", 1, INDEX_ROWS_MAX, &c->n_trained, err));
    GREBE_TRY(index_file_section(f, "codemean", c->dim * sizeof *c->mean, &mean, NULL, err));
    GREBE_TRY(index_file_section(f, "codes", n * c->stride, &rows, NULL, err));
    memcpy(c->mean, mean, c->dim * sizeof *c->mean);
    c->scale = (float)scale;
    if (!(scale > 0) || !(c->scale > 0) || !isfinite(c->scale)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: field scale: expected a float above 0, found %g",
                          index_file_path(f), scale);
    }
    for (uint32_t i = 0; i < c->dim; i++) {
        if (!isfinite(c->mean[i])) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: section codemean: expected finite numbers, found another at %u",
                              index_file_path(f), i);
        }
    }
    c->rows = rows;
    c->n = n;
out:
    return st;
}
