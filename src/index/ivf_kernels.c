/* SPDX-License-Identifier: Apache-2.0 */
#include "index/ivf_kernels.h"

#include <stddef.h>
#include <string.h>

static uint32_t finish(const int32_t *sums, const float *bias, const struct ivf_query *q, float base, float limit,
                       float *values)
{
    uint32_t mask = 0;

    for (uint32_t r = 0; r < IVF_BLOCK; r++) {
        values[r] = (base + bias[r]) - q->scale * (float)sums[r];
        mask |= (uint32_t)!(values[r] > limit) << r;
    }
    return mask;
}

static uint32_t block_byte(const uint8_t *codes, const float *bias, const struct ivf_query *q, float base, float limit,
                           float *values)
{
    const int8_t *form = q->form;
    int32_t sums[IVF_BLOCK] = {0};

    for (size_t s = 0; s < (size_t)q->steps * 2; s++) {
        for (size_t r = 0; r < IVF_BLOCK; r++) {
            for (size_t c = 0; c < 4; c++) {
                sums[r] += codes[s * 4 * IVF_BLOCK + r * 4 + c] * form[s * 4 + c];
            }
        }
    }
    return finish(sums, bias, q, base, limit, values);
}

static uint32_t block_nibble(const uint8_t *codes, const float *bias, const struct ivf_query *q, float base,
                             float limit, float *values)
{
    const int8_t *form = q->form;
    int32_t sums[IVF_BLOCK] = {0};

    for (size_t s = 0; s < q->steps; s++) {
        for (size_t r = 0; r < IVF_BLOCK; r++) {
            for (size_t c = 0; c < 4; c++) {
                const uint8_t code = codes[s * 4 * IVF_BLOCK + r * 4 + c];

                sums[r] += (code & 15) * form[s * 8 + c] + (code >> 4) * form[s * 8 + 4 + c];
            }
        }
    }
    return finish(sums, bias, q, base, limit, values);
}

static void table_sums(const uint8_t *codes, const struct ivf_query *q, int32_t sums[IVF_BLOCK])
{
    const uint8_t *tables = q->form;

    memset(sums, 0, IVF_BLOCK * sizeof *sums);
    for (size_t s = 0; s < q->steps; s++) {
        for (size_t r = 0; r < IVF_BLOCK; r++) {
            const uint8_t code = codes[s * IVF_BLOCK + r];

            sums[r] += tables[s * 32 + (code & 15)] + tables[s * 32 + 16 + (code >> 4)];
        }
    }
}

static uint32_t block_table(const uint8_t *codes, const float *bias, const struct ivf_query *q, float base,
                            float limit, float *values)
{
    int32_t sums[IVF_BLOCK];

    table_sums(codes, q, sums);
    return finish(sums, bias, q, base, limit, values);
}

static uint32_t block_signs(const uint8_t *codes, const float *bias, const struct ivf_query *q, float base,
                            float limit, float *values)
{
    float factors[IVF_BLOCK];
    int32_t sums[IVF_BLOCK];
    uint32_t mask = 0;

    memcpy(factors, codes + (size_t)q->steps * IVF_BLOCK, sizeof factors);
    table_sums(codes, q, sums);
    for (uint32_t r = 0; r < IVF_BLOCK; r++) {
        values[r] = (base + bias[r]) - factors[r] * (q->scale * (float)sums[r] + q->offset);
        mask |= (uint32_t)!(values[r] > limit) << r;
    }
    return mask;
}

const struct ivf_kernels ivf_kernels_scalar = {block_byte, block_nibble, block_table, block_signs};

const struct ivf_kernels *ivf_kernels_of(enum cpu_simd level)
{
    if (!cpu_simd_has(level)) {
        return NULL;
    }
    return level == CPU_SCALAR ? &ivf_kernels_scalar : ivf_kernels_avx2();
}

const struct ivf_kernels *ivf_kernels(void)
{
    const struct ivf_kernels *k = ivf_kernels_of(cpu_simd_level());

    return k != NULL ? k : &ivf_kernels_scalar;
}
