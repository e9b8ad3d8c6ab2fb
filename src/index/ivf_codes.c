/* SPDX-License-Identifier: Apache-2.0 */
#include "index/ivf_codes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "index/ivf_kmeans.h"
#include "index/ivf_signs.h"
#include "vector/tile.h"

enum { BYTE_CODE_MAX = 127, NIBBLE_CODE_MAX = 15, TABLE_ENTRY_MAX = 127, PQ_DIM = 2, PQ_ROWS = 16 };

/* Half of the range of codes in standard deviations: for 16 levels the best uniform quantiser of a normal
 * distribution (Max 1960), for 128 levels wide enough that few components are cut. */
static const double nibble_reach = 2.68, byte_reach = 4.2;

grebe_status ivf_codes_init(struct ivf_codes *c, const grebe_allocator *a, enum index_quant quant, bool is_l2,
                            uint32_t dim, uint64_t seed, grebe_error *err)
{
    const struct ivf_kernels *k = ivf_kernels();
    const uint32_t eights = (dim + 7) / 8, pairs = (dim + 2 * PQ_DIM - 1) / (2 * PQ_DIM);

    *c = (struct ivf_codes){.a = a, .quant = quant, .is_l2 = is_l2, .dim = dim, .steps = eights};
    switch (quant) {
    case INDEX_QUANT_NONE:
        c->block_bytes = (size_t)IVF_BLOCK * dim * sizeof(float);
        c->form_bytes = dim * sizeof(float);
        return GREBE_OK;
    case INDEX_QUANT_SQ8:
        c->block = k->byte;
        c->block_bytes = (size_t)IVF_BLOCK * eights * 8;
        c->form_bytes = (size_t)eights * 8;
        break;
    case INDEX_QUANT_SQ4:
        c->block = k->nibble;
        c->block_bytes = (size_t)IVF_BLOCK * eights * 4;
        c->form_bytes = (size_t)eights * 8;
        break;
    case INDEX_QUANT_PQ4:
        c->block = k->table;
        c->steps = pairs;
        c->block_bytes = (size_t)IVF_BLOCK * pairs;
        c->form_bytes = (size_t)pairs * 32;
        c->tables = mem_alloc_zero(a, (size_t)pairs * 2 * PQ_ROWS * PQ_DIM * sizeof *c->tables);
        return c->tables == NULL ? mem_fail(err, (size_t)pairs * 256, "tables of codes") : GREBE_OK;
    case INDEX_QUANT_RABITQ:
        c->block = k->signs;
        c->steps = ivf_rotation_dim(dim) / 8;
        c->block_bytes = (size_t)IVF_BLOCK * (c->steps + sizeof(float));
        c->form_bytes = (size_t)c->steps * 32;
        return ivf_rotation_new(a, dim, seed, &c->rotation, err);
    }
    c->low = mem_alloc_zero(a, (size_t)eights * 8 * sizeof *c->low);
    c->step = mem_alloc_zero(a, (size_t)eights * 8 * sizeof *c->step);
    if (c->low == NULL || c->step == NULL) {
        ivf_codes_release(c);
        return mem_fail(err, (size_t)eights * 64, "scales of codes");
    }
    return GREBE_OK;
}

void ivf_codes_release(struct ivf_codes *c)
{
    if (c->a != NULL) {
        mem_free(c->a, c->low, (size_t)c->steps * 8 * sizeof *c->low);
        mem_free(c->a, c->step, (size_t)c->steps * 8 * sizeof *c->step);
        mem_free(c->a, c->tables, (size_t)c->steps * 2 * PQ_ROWS * PQ_DIM * sizeof *c->tables);
        ivf_rotation_free(c->rotation);
    }
    *c = (struct ivf_codes){0};
}

/* ---- training ---- */

/* Each component has a range of its own, around its mean; the query takes the widths into its weights. */
static void train_scales(struct ivf_codes *c, const float *residuals, size_t n)
{
    const double reach = c->quant == INDEX_QUANT_SQ8 ? byte_reach : nibble_reach;
    const double levels = c->quant == INDEX_QUANT_SQ8 ? BYTE_CODE_MAX : NIBBLE_CODE_MAX;

    for (uint32_t d = 0; d < c->dim; d++) {
        double sum = 0, square = 0, low = (double)residuals[d], high = low, mean, spread;

        for (size_t i = 0; i < n; i++) {
            const double v = (double)residuals[i * c->dim + d];

            sum += v;
            square += v * v;
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        mean = sum / (double)n;
        spread = reach * sqrt(fmax(square / (double)n - mean * mean, 0));
        low = fmax(low, mean - spread);
        high = fmin(high, mean + spread);
        c->low[d] = (float)low;
        c->step[d] = (float)((high - low) / levels);
        c->step[d] = c->step[d] > 0 ? c->step[d] : 0;
    }
}

/* The 16 rows of each pair of components by k-means. */
static grebe_status train_tables(struct ivf_codes *c, grebe_context *ctx, const float *residuals, size_t n,
                                 const struct call *call, uint64_t seed, grebe_error *err)
{
    const struct kmeans_options options = {(uint32_t)min_size(PQ_ROWS, n), 10, seed, call};
    float *pairs = mem_alloc(ctx->a, n * PQ_DIM * sizeof *pairs);
    grebe_status st = GREBE_OK;

    if (pairs == NULL) {
        return mem_fail(err, n * PQ_DIM * sizeof *pairs, "training of codes");
    }
    for (uint32_t t = 0; t * PQ_DIM < c->dim; t++) {
        for (size_t i = 0; i < n; i++) {
            for (uint32_t j = 0; j < PQ_DIM; j++) {
                const uint32_t d = t * PQ_DIM + j;

                pairs[i * PQ_DIM + j] = d < c->dim ? residuals[i * c->dim + d] : 0;
            }
        }
        GREBE_TRY(kmeans_train(ctx, pairs, n, PQ_DIM, &options, c->tables + (size_t)t * PQ_ROWS * PQ_DIM, err));
    }
out:
    mem_free(ctx->a, pairs, n * PQ_DIM * sizeof *pairs);
    return st;
}

grebe_status ivf_codes_train(struct ivf_codes *c, grebe_context *ctx, const float *residuals, size_t n,
                             const struct call *call, uint64_t seed, grebe_error *err)
{
    if (c->quant == INDEX_QUANT_PQ4) {
        return train_tables(c, ctx, residuals, n, call, seed, err);
    }
    if (c->quant == INDEX_QUANT_SQ8 || c->quant == INDEX_QUANT_SQ4) {
        train_scales(c, residuals, n);
    }
    return GREBE_OK;
}

/* ---- encoding ---- */

static float put_panel(const struct ivf_codes *c, const float *row, uint8_t *block, uint32_t r)
{
    float *panel = (float *)(void *)block + (size_t)(r / TILE_PANEL) * TILE_PANEL * c->dim;
    double square = 0;

    for (uint32_t d = 0; d < c->dim; d++) {
        panel[(size_t)d * TILE_PANEL + r % TILE_PANEL] = row[d];
        square += (double)row[d] * (double)row[d];
    }
    return c->is_l2 ? (float)square : 0;
}

static float put_scalar(const struct ivf_codes *c, const float *row, const float *centroid, uint8_t *block, uint32_t r)
{
    const bool is_byte = c->quant == INDEX_QUANT_SQ8;
    const float levels = is_byte ? BYTE_CODE_MAX : NIBBLE_CODE_MAX;
    double bias = 0, lost = 0;

    for (uint32_t d = 0; d < c->dim; d++) {
        const float p = row[d] - centroid[d];
        const float at = c->step[d] > 0 ? roundf((p - c->low[d]) / c->step[d]) : 0;
        const uint8_t code = (uint8_t)(at > 0 ? (at < levels ? at : levels) : 0); /* NaN of a damaged file: 0 */
        const double decoded = (double)c->low[d] + (double)c->step[d] * code;

        bias += decoded * decoded + 2 * decoded * (double)centroid[d];
        lost += (decoded - (double)p) * (double)centroid[d];
        if (is_byte) {
            block[(size_t)(d / 4) * 4 * IVF_BLOCK + r * 4 + d % 4] = code;
        } else {
            uint8_t *byte = block + (size_t)(d / 8) * 4 * IVF_BLOCK + r * 4 + d % 4;

            *byte = (uint8_t)(*byte | code << (d % 8 < 4 ? 0 : 4)); /* blocks begin as zeros */
        }
    }
    return (float)(c->is_l2 ? bias : lost);
}

static float put_tables(const struct ivf_codes *c, const float *row, const float *centroid, uint8_t *block, uint32_t r)
{
    double bias = 0, lost = 0;

    for (uint32_t t = 0; t * PQ_DIM < c->dim; t++) {
        const uint32_t d = t * PQ_DIM;
        const float p0 = row[d] - centroid[d], p1 = d + 1 < c->dim ? row[d + 1] - centroid[d + 1] : 0;
        const float *table = c->tables + (size_t)t * PQ_ROWS * PQ_DIM, c1 = d + 1 < c->dim ? centroid[d + 1] : 0;
        uint32_t best = 0;
        float nearest = INFINITY;

        for (uint32_t j = 0; j < PQ_ROWS; j++) {
            const float x = p0 - table[j * 2], y = p1 - table[j * 2 + 1];

            if (x * x + y * y < nearest) {
                nearest = x * x + y * y;
                best = j;
            }
        }
        const double x = (double)table[best * 2], y = (double)table[best * 2 + 1];

        bias += x * x + y * y + 2 * (x * (double)centroid[d] + y * (double)c1);
        lost += (x - (double)p0) * (double)centroid[d] + (y - (double)p1) * (double)c1;
        block[(size_t)(t / 2) * IVF_BLOCK + r] =
            (uint8_t)(block[(size_t)(t / 2) * IVF_BLOCK + r] | best << (t % 2 == 0 ? 0 : 4));
    }
    return (float)(c->is_l2 ? bias : lost);
}

float ivf_codes_put(const struct ivf_codes *c, const float *row, const float *centroid, uint8_t *block, uint32_t r)
{
    switch (c->quant) {
    case INDEX_QUANT_NONE:
        return put_panel(c, row, block, r);
    case INDEX_QUANT_PQ4:
        return put_tables(c, row, centroid, block, r);
    case INDEX_QUANT_RABITQ:
        return ivf_signs_put(c->rotation, c->is_l2, row, centroid, block, r);
    default:
        return put_scalar(c, row, centroid, block, r);
    }
}

/* ---- queries ---- */

enum { LANES = 8 };

/* Whole numbers by the float's own rounding: 1.5 * 2^23 added puts them into the low bits. */
static int32_t round_small(float v)
{
    const float shifted = v + 0x1.8p23f;
    uint32_t bits;

    memcpy(&bits, &shifted, sizeof bits);
    return (int32_t)(bits - 0x4b400000u);
}

/* Components [d, d + 8), zeros beyond the last. */
static void load_lanes(const float *row, uint32_t d, uint32_t dim, float dst[LANES])
{
    if (d + LANES <= dim) {
        memcpy(dst, row + d, LANES * sizeof *dst);
        return;
    }
    for (uint32_t j = 0; j < LANES; j++) {
        dst[j] = d + j < dim ? row[d + j] : 0;
    }
}

static float query_scalar(const struct ivf_codes *c, const float *query, int8_t *form, struct ivf_query *out)
{
    const float levels = c->quant == INDEX_QUANT_SQ8 ? IVF_BYTE_QUERY_MAX : IVF_NIBBLE_QUERY_MAX;
    float largest[LANES] = {0}, common[LANES] = {0}, lanes[LANES], unit, inverse;

    for (uint32_t d = 0; d < c->dim; d += LANES) {
        load_lanes(query, d, c->dim, lanes);
        for (uint32_t j = 0; j < LANES; j++) {
            const float w = fabsf(lanes[j] * c->step[d + j]);

            largest[j] = w > largest[j] ? w : largest[j];
            common[j] += lanes[j] * c->low[d + j];
        }
    }
    for (uint32_t j = 1; j < LANES; j++) {
        largest[0] = largest[j] > largest[0] ? largest[j] : largest[0];
        common[0] += common[j];
    }
    unit = largest[0] > 0 ? largest[0] / levels : 1;
    inverse = 1 / unit;
    inverse = isfinite(inverse) ? inverse : 0;
    for (uint32_t d = 0; d < c->dim; d += LANES) {
        load_lanes(query, d, c->dim, lanes);
        for (uint32_t j = 0; j < LANES; j++) {
            form[d + j] = (int8_t)round_small(lanes[j] * c->step[d + j] * inverse);
        }
    }
    out->scale = c->is_l2 ? 2 * unit : unit;
    return c->is_l2 ? -2 * common[0] : -common[0];
}

static float query_tables(const struct ivf_codes *c, const float *query, uint8_t *form, struct ivf_query *out)
{
    const uint32_t n = c->steps * 2;
    float widest = 0, common = 0, unit;

    for (int pass = 0; pass < 2; pass++) {
        unit = widest > 0 ? widest / TABLE_ENTRY_MAX : 1;
        for (uint32_t t = 0; t < n; t++) {
            const float *table = c->tables + (size_t)t * PQ_ROWS * PQ_DIM;
            const float q0 = t * PQ_DIM < c->dim ? query[t * PQ_DIM] : 0;
            const float q1 = t * PQ_DIM + 1 < c->dim ? query[t * PQ_DIM + 1] : 0;
            float dots[PQ_ROWS], low = INFINITY, high = -INFINITY;

            for (uint32_t j = 0; j < PQ_ROWS; j++) {
                dots[j] = q0 * table[j * 2] + q1 * table[j * 2 + 1];
                low = dots[j] < low ? dots[j] : low;
                high = dots[j] > high ? dots[j] : high;
            }
            widest = high - low > widest ? high - low : widest;
            for (uint32_t j = 0; pass == 1 && j < PQ_ROWS; j++) {
                const float entry = (dots[j] - low) / unit + 0.5f;

                form[t * PQ_ROWS + j] = (uint8_t)(entry > 0 ? (entry < TABLE_ENTRY_MAX ? entry : TABLE_ENTRY_MAX) : 0);
            }
            common += pass == 1 ? low : 0;
        }
        out->scale = c->is_l2 ? 2 * unit : unit;
    }
    return c->is_l2 ? -2 * common : -common;
}

float ivf_codes_query(const struct ivf_codes *c, const float *query, void *form, struct ivf_query *out)
{
    *out = (struct ivf_query){form, 1, 0, c->steps};
    switch (c->quant) {
    case INDEX_QUANT_NONE:
        memcpy(form, query, c->dim * sizeof *query);
        return 0;
    case INDEX_QUANT_PQ4:
        return query_tables(c, query, form, out);
    case INDEX_QUANT_RABITQ:
        ivf_signs_query(c->rotation, c->is_l2, query, form, out);
        return 0;
    default:
        return query_scalar(c, query, form, out);
    }
}

uint32_t ivf_codes_panels(const struct ivf_codes *c, const uint8_t *block, const float *bias, const struct ivf_query *q,
                          float limit, float *values)
{
    uint32_t mask = 0;

    tile_values((const float *)(const void *)block, c->is_l2 ? bias : NULL, IVF_BLOCK, c->dim, q->form, values);
    for (uint32_t r = 0; r < IVF_BLOCK; r++) {
        mask |= (uint32_t)!(values[r] > limit) << r;
    }
    return mask;
}

/* ---- files ---- */

grebe_status ivf_codes_save(const struct ivf_codes *c, struct index_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    if (c->low != NULL) {
        GREBE_TRY(index_writer_section(w, "lows", c->low, (uint64_t)c->steps * 8 * sizeof *c->low, err));
        GREBE_TRY(index_writer_section(w, "steps", c->step, (uint64_t)c->steps * 8 * sizeof *c->step, err));
    }
    if (c->tables != NULL) {
        GREBE_TRY(index_writer_section(w, "tables", c->tables,
                                       (uint64_t)c->steps * 2 * PQ_ROWS * PQ_DIM * sizeof *c->tables, err));
    }
out:
    return st;
}

static grebe_status load_floats(const struct index_file *f, const char *tag, float *dst, size_t n, grebe_error *err)
{
    const void *data = NULL;
    grebe_status st = index_file_section(f, tag, n * sizeof *dst, &data, NULL, err);

    if (st == GREBE_OK) {
        memcpy(dst, data, n * sizeof *dst);
    }
    return st;
}

grebe_status ivf_codes_load(struct ivf_codes *c, const struct index_file *f, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    if (c->low != NULL) {
        GREBE_TRY(load_floats(f, "lows", c->low, (size_t)c->steps * 8, err));
        GREBE_TRY(load_floats(f, "steps", c->step, (size_t)c->steps * 8, err));
    }
    if (c->tables != NULL) {
        GREBE_TRY(load_floats(f, "tables", c->tables, (size_t)c->steps * 2 * PQ_ROWS * PQ_DIM, err));
    }
out:
    return st;
}
