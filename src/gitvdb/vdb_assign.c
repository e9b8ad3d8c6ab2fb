/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_ivf.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct vdb_assigner {
    const grebe_allocator *a;
    struct arena ar;
    uint32_t k, dim;
    const float *centroids; /* shape [k, dim] */
    double *roots;          /* shape [k]: lengths */
};

grebe_status vdb_assigner_new(const struct vdb_work *work, const float *centroids, uint32_t k, uint32_t dim,
                              struct vdb_assigner **out, grebe_error *err)
{
    struct vdb_assigner *s = NULL;
    float *copy = NULL;

    assert(k >= 1 && k <= VDB_CENTROIDS_MAX && dim >= 1);
    *out = NULL;
    s = mem_alloc_zero(work->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "an assigner");
    }
    s->a = work->a;
    s->ar = ARENA_INIT(work->a);
    s->k = k;
    s->dim = dim;
    copy = arena_array(&s->ar, k, (size_t)dim * sizeof *copy);
    s->roots = arena_array(&s->ar, k, sizeof *s->roots);
    if (copy == NULL || s->roots == NULL) {
        vdb_assigner_free(s);
        return mem_fail(err, (size_t)dim * sizeof *copy, "a codebook");
    }
    memcpy(copy, centroids, (size_t)k * dim * sizeof *copy);
    s->centroids = copy;
    for (uint32_t c = 0; c < k; c++) {
        s->roots[c] = sqrt(vdb_norm2(centroids + (size_t)c * dim, dim));
    }
    *out = s;
    return GREBE_OK;
}

static uint16_t nearest_of(const struct vdb_assigner *s, const float *v)
{
    const double root = sqrt(vdb_norm2(v, s->dim));
    double best_score = -INFINITY;
    uint32_t best = 0;

    for (uint32_t c = 0; c < s->k; c++) {
        const float *w = s->centroids + (size_t)c * s->dim;
        double dot = 0.0;
        for (uint32_t d = 0; d < s->dim; d++) {
            dot += (double)v[d] * (double)w[d];
        }
        const double score = root == 0.0 || s->roots[c] == 0.0 ? 0.0 : dot / (root * s->roots[c]);
        if (score > best_score) {
            best_score = score;
            best = c;
        }
    }
    return (uint16_t)best;
}

grebe_status vdb_assign(const struct vdb_assigner *s, const float *vectors, size_t n, uint16_t *out, grebe_error *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++) {
        out[i] = nearest_of(s, vectors + i * s->dim);
    }
    return GREBE_OK;
}

void vdb_assigner_free(struct vdb_assigner *s)
{
    if (s != NULL) {
        arena_release(&s->ar);
        mem_free(s->a, s, sizeof *s);
    }
}
