/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_codes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "gitvdb/vdb_kernels.h"

enum { QUERY_MAX = 32767 };

/* A row in f64: for those whose length f32 cannot square. */
static void encode_exactly(const float *row, uint32_t dim, int8_t *codes, float *factor, float *error)
{
    double largest = 0.0, gap2 = 0.0;

    for (uint32_t d = 0; d < dim; d++) {
        largest = fmax(largest, fabs((double)row[d]));
    }
    *factor = *error = 0.0F; /* as a zero vector has them */
    if (largest == 0.0) {
        return;
    }
    const double norm2 = vdb_norm2(row, dim), scale = largest / VDB_CODE_MAX;
    for (uint32_t d = 0; d < dim; d++) {
        const double x = (double)row[d];
        const int32_t code = (int32_t)(x / scale + (x < 0 ? -0.5 : 0.5)); /* |x / scale| is 127 and a last bit at most */
        const double gap = x - scale * (double)code;
        codes[d] = (int8_t)code;
        gap2 += gap * gap;
    }
    *factor = (float)(scale / sqrt(norm2));
    *error = (float)(sqrt(gap2 / norm2) * 1.000001);
}

/* The error bounds the distance of the row from its codes, and covers that sums of squares in f32 are off by a share of
 * vdb_dot_error(): in the distance itself, and in the factor, by which a score of at most 1 is multiplied. */
static void encode(const struct vdb_kernels *k, const float *row, uint32_t dim, int8_t *codes, float *factor, float *error)
{
    struct vdb_encoded e;

    k->encode_i8(row, dim, codes, &e);
    if (!vdb_norm2_is_safe(e.norm2)) {
        encode_exactly(row, dim, codes, factor, error);
        return;
    }
    *factor = e.scale / sqrtf(e.norm2);
    *error = (sqrtf(e.gap2 / e.norm2) + (float)(2 * vdb_dot_error(dim, 3))) * 1.01F + 1e-6F;
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
    const struct vdb_kernels *kernels = vdb_kernels();
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
    memset(to->codes, 0, bytes);
    for (uint32_t r = 0; r < from->n; r++) {
        const float *row = from->values + (size_t)r * from->dim;
        int8_t *codes = to->codes + r * m->coded->width;
        encode(kernels, row, from->dim, codes, to->factor + r, to->error + r);
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
    const double step = fmax(largest / QUERY_MAX, sum * VDB_CODE_MAX / 2.0e9);
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
