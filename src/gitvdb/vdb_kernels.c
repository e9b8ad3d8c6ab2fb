/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_kernels.h"

#include <math.h>

static void score_run(const float *row, uint32_t dim, const float *panel, int32_t index, struct vdb_best *best)
{
    float sum[VDB_LANES] = { 0 };

    for (uint32_t d = 0; d < dim; d++) {
        for (uint32_t l = 0; l < VDB_LANES; l++) {
            sum[l] += row[d] * panel[(size_t)d * VDB_PANEL + l];
        }
    }
    for (uint32_t l = 0; l < VDB_LANES; l++) {
        if (sum[l] > best->first[l]) {
            best->second[l] = best->first[l];
            best->first[l] = sum[l];
            best->index[l] = index;
        } else if (sum[l] > best->second[l]) {
            best->second[l] = sum[l];
        }
    }
}

static void score_group(const float *const *rows, uint32_t dim, const float *panel, int32_t first,
                        struct vdb_best *best)
{
    for (uint32_t p = 0; p < VDB_GROUP; p++) {
        score_run(rows[p], dim, panel, first, best + p);
        score_run(rows[p], dim, panel + VDB_LANES, first + 1, best + p);
    }
}

static void find_winners(const struct vdb_best *best, size_t n, struct vdb_winner *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct vdb_best *b = best + i;
        float first = b->first[0], second = b->second[0];
        uint32_t lane = 0;
        for (uint32_t l = 1; l < VDB_LANES; l++) {
            const float loser = b->first[l] > first ? first : b->first[l];
            const float other = b->second[l] > loser ? b->second[l] : loser;
            lane = b->first[l] > first ? l : lane;
            first = b->first[l] > first ? b->first[l] : first;
            second = other > second ? other : second;
        }
        out[i] = (struct vdb_winner){ first, second, (uint32_t)b->index[lane] * VDB_LANES + lane };
    }
}

static float norm2(const float *row, uint32_t dim)
{
    float sum[VDB_LANES] = { 0 };
    float total = 0.0F;
    uint32_t d = 0;

    for (; d + VDB_LANES <= dim; d += VDB_LANES) {
        for (uint32_t l = 0; l < VDB_LANES; l++) {
            sum[l] += row[d + l] * row[d + l];
        }
    }
    for (; d < dim; d++) {
        total += row[d] * row[d];
    }
    for (uint32_t l = 0; l < VDB_LANES; l++) {
        total += sum[l];
    }
    return total;
}

static void norms2_of(const float *const *rows, size_t n, uint32_t dim, float *norms2)
{
    for (size_t i = 0; i < n; i++) {
        norms2[i] = norm2(rows[i], dim);
    }
}

static void dots_f32(const float *const *rows, size_t n, const float *query, uint32_t dim, float *dots, float *norms2)
{
    for (size_t i = 0; i < n; i++) {
        float sum[VDB_LANES] = { 0 };
        float total = 0.0F;
        uint32_t d = 0;
        for (; d + VDB_LANES <= dim; d += VDB_LANES) {
            for (uint32_t l = 0; l < VDB_LANES; l++) {
                sum[l] += rows[i][d + l] * query[d + l];
            }
        }
        for (; d < dim; d++) {
            total += rows[i][d] * query[d];
        }
        for (uint32_t l = 0; l < VDB_LANES; l++) {
            total += sum[l];
        }
        dots[i] = total;
        norms2[i] = norm2(rows[i], dim);
    }
}

static void dots_i8(const int8_t *const *rows, size_t n, const int16_t *query, size_t width, int32_t *dots)
{
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 0;
        for (size_t d = 0; d < width; d++) {
            sum += (int32_t)rows[i][d] * (int32_t)query[d];
        }
        dots[i] = sum;
    }
}

static void encode_i8(const float *row, uint32_t dim, int8_t *codes, struct vdb_encoded *out)
{
    float largest = 0.0F;

    for (uint32_t d = 0; d < dim; d++) {
        largest = fabsf(row[d]) > largest ? fabsf(row[d]) : largest;
    }
    *out = (struct vdb_encoded){ largest / VDB_CODE_MAX, norm2(row, dim), 0.0F };
    if (!vdb_norm2_is_safe(out->norm2)) {
        return;
    }
    const float inverse = VDB_CODE_MAX / largest;
    for (uint32_t d = 0; d < dim; d++) {
        /* |row[d] * inverse| is 127 and a last bit at most, so a half more, cut, stays in range */
        const int32_t code = (int32_t)(row[d] * inverse + (row[d] < 0 ? -0.5F : 0.5F));
        const float gap = row[d] - out->scale * (float)code;
        codes[d] = (int8_t)code;
        out->gap2 += gap * gap;
    }
    for (uint32_t d = dim; d % VDB_CODE_RUN != 0; d++) {
        codes[d] = 0;
    }
}

const struct vdb_kernels vdb_kernels_scalar = { score_group, find_winners, norms2_of, dots_f32, dots_i8, encode_i8 };

const struct vdb_kernels *vdb_kernels_of(enum cpu_simd level)
{
    if (!cpu_simd_has(level)) {
        return NULL;
    }
    return level == CPU_SCALAR ? &vdb_kernels_scalar : level == CPU_AVX2 ? vdb_kernels_avx2() : NULL;
}

const struct vdb_kernels *vdb_kernels(void)
{
    const struct vdb_kernels *k = cpu_simd_level() >= CPU_AVX2 ? vdb_kernels_avx2() : NULL;
    return k != NULL ? k : &vdb_kernels_scalar;
}
