/* SPDX-License-Identifier: Apache-2.0 */
#include "index/ivf_signs.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

enum { ROUNDS = 4, ALIGN = 64, TABLE_ROWS = 16, TABLE_ENTRY_MAX = 127 };

struct ivf_rotation {
    const grebe_allocator *a;
    uint32_t dim, full, power; /* full: padded; power: the largest power of two in it */
    float *signs;              /* of each round, times the transform's 1 / sqrt(power); shape [ROUNDS][full] */
};

uint32_t ivf_rotation_dim(uint32_t dim) { return (dim + ALIGN - 1) / ALIGN * ALIGN; }

void ivf_rotation_free(struct ivf_rotation *r)
{
    if (r != NULL) {
        mem_free(r->a, r->signs, (size_t)ROUNDS * r->full * sizeof *r->signs);
        mem_free(r->a, r, sizeof *r);
    }
}

/* Where the transform of a round stands: at the start and at the end in turn, so that all components are mixed. */
static uint32_t round_begin(const struct ivf_rotation *r, uint32_t round)
{
    return round % 2 == 0 ? 0 : r->full - r->power;
}

grebe_status ivf_rotation_new(const grebe_allocator *a, uint32_t dim, uint64_t seed, struct ivf_rotation **out,
                              grebe_error *err)
{
    struct ivf_rotation *r = NULL;

    *out = NULL;
    if (dim > IVF_SIGNS_DIM_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "quant rabitq: expected at most %d components, found %u", IVF_SIGNS_DIM_MAX, dim);
    }
    r = mem_alloc_zero(a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "a rotation");
    }
    *r = (struct ivf_rotation){.a = a, .dim = dim, .full = ivf_rotation_dim(dim), .power = ALIGN};
    while (r->power * 2 <= r->full) {
        r->power *= 2;
    }
    r->signs = mem_alloc(a, (size_t)ROUNDS * r->full * sizeof *r->signs);
    if (r->signs == NULL) {
        const size_t size = (size_t)ROUNDS * r->full * sizeof *r->signs;

        ivf_rotation_free(r);
        return mem_fail(err, size, "a rotation");
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t begin = round_begin(r, round);

        for (uint32_t i = 0; i < r->full; i++) {
            const float unit = i >= begin && i - begin < r->power ? 1 / sqrtf((float)r->power) : 1;

            r->signs[(size_t)round * r->full + i] = rng_next(&seed) >> 63 != 0 ? unit : -unit;
        }
    }
    *out = r;
    return GREBE_OK;
}

static void hadamard(float *x, uint32_t n)
{
    for (uint32_t half = 1; half < n; half *= 2) {
        for (uint32_t i = 0; i < n; i += 2 * half) {
            for (uint32_t j = i; j < i + half; j++) {
                const float a = x[j], b = x[j + half];

                x[j] = a + b;
                x[j + half] = a - b;
            }
        }
    }
}

void ivf_rotate(const struct ivf_rotation *r, const float *a, const float *b, float *dst)
{
    for (uint32_t i = 0; i < r->full; i++) {
        dst[i] = i < r->dim ? (b == NULL ? a[i] : a[i] - b[i]) : 0;
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const float *signs = r->signs + (size_t)round * r->full;

        for (uint32_t i = 0; i < r->full; i++) {
            dst[i] *= signs[i];
        }
        hadamard(dst + round_begin(r, round), r->power);
    }
}

float ivf_signs_put(const struct ivf_rotation *r, bool is_l2, const float *row, const float *centroid, uint8_t *block,
                    uint32_t place)
{
    float rotated[IVF_SIGNS_DIM_MAX], centre[IVF_SIGNS_DIM_MAX];
    double square = 0, sum = 0, dot = 0, signed_dot = 0;
    float factor;

    ivf_rotate(r, row, centroid, rotated);
    ivf_rotate(r, centroid, NULL, centre);
    for (uint32_t i = 0; i < r->full; i++) {
        const unsigned bit = rotated[i] >= 0;
        uint8_t *byte = block + (size_t)(i / 8) * IVF_BLOCK + place;

        square += (double)rotated[i] * (double)rotated[i];
        sum += fabs((double)rotated[i]);
        dot += (double)rotated[i] * (double)centre[i];
        signed_dot += bit ? (double)centre[i] : -(double)centre[i];
        *byte = (uint8_t)(*byte | bit << (i % 8));
    }
    factor = sum > 0 ? (float)(square / sum) : 0;
    memcpy(block + (size_t)r->full / 8 * IVF_BLOCK + place * sizeof factor, &factor, sizeof factor);
    /* of <q - c, p>, not of <q, p>: the part of the centroid is taken by the same signs, its error cancels */
    return (float)(is_l2 ? square + 2 * (double)factor * signed_dot : (double)factor * signed_dot - dot);
}

void ivf_signs_query(const struct ivf_rotation *r, bool is_l2, const float *query, uint8_t *form, struct ivf_query *out)
{
    float rotated[IVF_SIGNS_DIM_MAX];
    float widest = 0, low = 0, unit;

    ivf_rotate(r, query, NULL, rotated);
    for (uint32_t t = 0; t < r->full / 4; t++) {
        const float *x = rotated + (size_t)t * 4;
        const float half = (fabsf(x[0]) + fabsf(x[1])) + (fabsf(x[2]) + fabsf(x[3]));

        widest = half > widest ? half : widest;
        low -= half;
    }
    unit = widest > 0 ? 2 * widest / TABLE_ENTRY_MAX : 1;
    for (uint32_t t = 0; t < r->full / 4; t++) {
        const float *x = rotated + (size_t)t * 4;
        const float half = (fabsf(x[0]) + fabsf(x[1])) + (fabsf(x[2]) + fabsf(x[3]));
        const float first[4] = {-x[0] - x[1], x[0] - x[1], -x[0] + x[1], x[0] + x[1]};
        const float second[4] = {-x[2] - x[3], x[2] - x[3], -x[2] + x[3], x[2] + x[3]};

        for (uint32_t j = 0; j < TABLE_ROWS; j++) {
            const float entry = (first[j % 4] + second[j / 4] + half) / unit + 0.5f;

            form[t * TABLE_ROWS + j] = (uint8_t)(entry > 0 ? (entry < TABLE_ENTRY_MAX ? entry : TABLE_ENTRY_MAX) : 0);
        }
    }
    out->scale = is_l2 ? 2 * unit : unit;
    out->offset = is_l2 ? 2 * low : low;
}
