/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_codes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "gitvdb/vdb_kernels.h"

enum { CODE_MAX = 127, QUERY_MAX = 32767 };

/* Sums over lanes, which compilers turn into vectors; these need no certain order. */
static double sum_lanes(const double sums[VDB_LANES])
{
    double sum = 0.0;

    for (uint32_t l = 0; l < VDB_LANES; l++) {
        sum += sums[l];
    }
    return sum;
}

static void measure(const float *row, uint32_t dim, float *largest, double *norm2)
{
    double sums[VDB_LANES] = { 0 };
    float most[VDB_LANES] = { 0 };

    for (uint32_t d = 0; d < dim; d += VDB_LANES) {
        const uint32_t n = dim - d < VDB_LANES ? dim - d : VDB_LANES;
        for (uint32_t l = 0; l < n; l++) {
            const float x = row[d + l];
            most[l] = fabsf(x) > most[l] ? fabsf(x) : most[l];
            sums[l] += (double)x * (double)x;
        }
    }
    *largest = 0.0F;
    for (uint32_t l = 0; l < VDB_LANES; l++) {
        *largest = most[l] > *largest ? most[l] : *largest;
    }
    *norm2 = sum_lanes(sums);
}

/* Codes of one row, and the square of the distance between the row and what they stand for. */
static double encode(const float *row, uint32_t dim, double scale, int8_t *codes)
{
    double sums[VDB_LANES] = { 0 };
    const double inverse = 1.0 / scale;

    for (uint32_t d = 0; d < dim; d += VDB_LANES) {
        const uint32_t n = dim - d < VDB_LANES ? dim - d : VDB_LANES;
        for (uint32_t l = 0; l < n; l++) {
            const double x = (double)row[d + l];
            /* |x * inverse| <= 127 and a last bit, so adding a half and cutting stays in range. */
            const int32_t code = (int32_t)(x * inverse + (x < 0 ? -0.5 : 0.5));
            const double gap = x - scale * (double)code;
            codes[d + l] = (int8_t)code;
            sums[l] += gap * gap;
        }
    }
    return sum_lanes(sums);
}

struct making {
    const struct vdb_snapshot *s;
    struct vdb_coded *coded;
};

static grebe_status make_shard(void *arg, size_t i, grebe_error *err)
{
    const struct making *m = arg;
    const struct vdb_matrix *from = &m->s->shards[i].vectors;
    struct vdb_codes *to = m->coded->shards + i;
    const grebe_allocator *a = m->coded->a;
    size_t bytes = 0;

    if (from->n == 0) {
        return GREBE_OK;
    }
    if (!checked_mul_size(from->n, m->coded->width, &bytes)) {
        return mem_fail(err, SIZE_MAX, "codes of vectors");
    }
    to->n = from->n;
    to->codes = mem_alloc_aligned(a, bytes, MEM_ALIGN_VECTOR);
    to->factor = mem_alloc(a, from->n * sizeof *to->factor);
    to->error = mem_alloc(a, from->n * sizeof *to->error);
    if (to->codes == NULL || to->factor == NULL || to->error == NULL) {
        return mem_fail(err, bytes, "codes of vectors");
    }
    for (uint32_t r = 0; r < from->n; r++) {
        const float *row = from->values + (size_t)r * from->dim;
        int8_t *codes = to->codes + r * m->coded->width;
        float largest = 0.0F;
        double norm2 = 0.0;
        memset(codes, 0, m->coded->width);
        measure(row, from->dim, &largest, &norm2);
        to->factor[r] = to->error[r] = 0.0F;
        if (norm2 > 0.0) {
            const double scale = (double)largest / CODE_MAX;
            const double gap2 = encode(row, from->dim, scale, codes);
            to->factor[r] = (float)(scale / sqrt(norm2));
            to->error[r] = (float)(sqrt(gap2 / norm2) * 1.000001);
        }
    }
    return GREBE_OK;
}

grebe_status vdb_coded_new(const struct vdb_snapshot *s, const struct vdb_work *work, struct vdb_coded **out,
                          grebe_error *err)
{
    struct making m = { s, NULL };

    *out = NULL;
    m.coded = mem_alloc_zero(s->a, sizeof *m.coded);
    if (m.coded == NULL) {
        return mem_fail(err, sizeof *m.coded, "codes of vectors");
    }
    m.coded->a = s->a;
    m.coded->dim = s->meta.config.dimension;
    m.coded->width = ((size_t)m.coded->dim + VDB_CODE_RUN - 1) / VDB_CODE_RUN * VDB_CODE_RUN;
    grebe_status st = parallel_for(work->pool, work->threads, VDB_SHARDS, make_shard, &m, work->cancel, err);
    if (st != GREBE_OK) {
        vdb_coded_free(m.coded);
        return st;
    }
    *out = m.coded;
    return GREBE_OK;
}

void vdb_coded_free(struct vdb_coded *coded)
{
    if (coded == NULL) {
        return;
    }
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        const struct vdb_codes *c = coded->shards + i;
        mem_free_aligned(coded->a, c->codes, c->n * coded->width, MEM_ALIGN_VECTOR);
        mem_free(coded->a, c->factor, c->n * sizeof *c->factor);
        mem_free(coded->a, c->error, c->n * sizeof *c->error);
    }
    mem_free(coded->a, coded, sizeof *coded);
}

grebe_status vdb_query_codes_make(const struct vdb_coded *coded, struct arena *ar, const float *query, double root,
                                  struct vdb_query_codes *out, grebe_error *err)
{
    double sum = 0.0, largest = 0.0, gap2 = 0.0;

    assert(root > 0.0);
    out->codes = arena_array(ar, coded->width, sizeof *out->codes);
    if (out->codes == NULL) {
        return mem_fail(err, coded->width * sizeof *out->codes, "a query");
    }
    for (uint32_t d = 0; d < coded->dim; d++) {
        const double x = fabs((double)query[d]);
        sum += x;
        largest = x > largest ? x : largest;
    }
    /* No component beyond 16 bits, and sums of products with rows (127 at most each) below 2^31. */
    const double step = fmax(largest / QUERY_MAX, sum * CODE_MAX / 2.0e9);
    for (uint32_t d = 0; d < coded->dim; d++) {
        const double x = (double)query[d];
        const int32_t code = (int32_t)(x / step + (x < 0 ? -0.5 : 0.5));
        const double gap = x - step * (double)code;
        assert(code >= -QUERY_MAX && code <= QUERY_MAX);
        out->codes[d] = (int16_t)code;
        gap2 += gap * gap;
    }
    out->factor = (float)(step / root);
    out->error = (float)(sqrt(gap2) / root * 1.000001);
    return GREBE_OK;
}
