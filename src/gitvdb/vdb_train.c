/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_ivf.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

/*
 * Training: k vectors of the sample at equal steps, then four rounds of assigning and averaging. The sums of a centroid run in the
 * order of the sample from +0.0, so threads share the centroids and never one sum.
 */

enum { ASSIGN_BLOCK = 480, SUM_BLOCK = 16 };

struct training {
    const struct vdb_work *work;
    uint32_t dim, k;
    size_t m;
    float *vectors;    /* shape [m, dim]: the sample side by side */
    float *next;       /* shape [k, dim] */
    float *centroids;  /* the caller's */
    uint16_t *nearest; /* shape [m] */
    uint32_t *order;   /* shape [m]: rows of the sample by centroid, ascending in each */
    uint32_t *begin;   /* shape [k + 1]: range of each centroid in order */
    double *sums;      /* shape [k, dim] */
    const struct vdb_assigner *assigner;
};

static grebe_status assign_block(void *arg, size_t i, grebe_error *err)
{
    struct training *t = arg;
    const size_t begin = i * ASSIGN_BLOCK;
    const size_t n = min_size(ASSIGN_BLOCK, t->m - begin);
    return vdb_assign(t->assigner, t->vectors + begin * t->dim, n, t->nearest + begin, err);
}

static grebe_status average_block(void *arg, size_t i, grebe_error *err)
{
    struct training *t = arg;
    const size_t dim = t->dim;
    const size_t end = min_size(t->k, (i + 1) * SUM_BLOCK);

    (void)err;
    for (size_t c = i * SUM_BLOCK; c < end; c++) {
        double *sum = t->sums + c * dim;
        float *mean = t->next + c * dim;
        const double count = (double)(t->begin[c + 1] - t->begin[c]);
        if (t->begin[c + 1] == t->begin[c]) {
            memcpy(mean, t->centroids + c * dim, dim * sizeof *mean); /* an empty centroid keeps its bits */
            continue;
        }
        memset(sum, 0, dim * sizeof *sum);
        for (uint32_t o = t->begin[c]; o < t->begin[c + 1]; o++) {
            const float *v = t->vectors + (size_t)t->order[o] * dim;
            for (size_t d = 0; d < dim; d++) {
                sum[d] += (double)v[d];
            }
        }
        for (size_t d = 0; d < dim; d++) {
            mean[d] = (float)(sum[d] / count);
        }
    }
    return GREBE_OK;
}

/* Rows of each centroid side by side, in the order of the sample. */
static void sort_by_centroid(struct training *t)
{
    memset(t->begin, 0, ((size_t)t->k + 1) * sizeof *t->begin);
    for (size_t i = 0; i < t->m; i++) {
        t->begin[t->nearest[i] + 1]++;
    }
    for (uint32_t c = 0; c < t->k; c++) {
        t->begin[c + 1] += t->begin[c];
    }
    for (size_t i = 0; i < t->m; i++) {
        t->order[t->begin[t->nearest[i]]++] = (uint32_t)i;
    }
    for (uint32_t c = t->k; c > 0; c--) { /* each begin has become the end of its range */
        t->begin[c] = t->begin[c - 1];
    }
    t->begin[0] = 0;
}

/* One round; *is_stable when no bit changed, after which no later round can change any. */
static grebe_status run_round(struct training *t, bool *is_stable, grebe_error *err)
{
    const struct vdb_work *w = t->work;
    const size_t bytes = (size_t)t->k * t->dim * sizeof *t->centroids;
    struct vdb_assigner *assigner = NULL;

    grebe_status st = vdb_assigner_new(w, t->centroids, t->k, t->dim, &assigner, err);
    if (st == GREBE_OK) {
        t->assigner = assigner;
        st = parallel_for(w->pool, w->threads, (t->m + ASSIGN_BLOCK - 1) / ASSIGN_BLOCK, assign_block, t, w->cancel,
                          err);
    }
    if (st == GREBE_OK) {
        sort_by_centroid(t);
        st = parallel_for(w->pool, w->threads, ((size_t)t->k + SUM_BLOCK - 1) / SUM_BLOCK, average_block, t,
                          w->cancel, err);
    }
    vdb_assigner_free(assigner);
    if (st == GREBE_OK) {
        *is_stable = memcmp(t->centroids, t->next, bytes) == 0;
        memcpy(t->centroids, t->next, bytes);
    }
    return st;
}

grebe_status vdb_train(const struct vdb_work *work, const float *const *sample, size_t m, uint32_t dim, uint32_t k,
                       float *centroids, grebe_error *err)
{
    struct training t = { .work = work, .dim = dim, .k = k, .m = m, .centroids = centroids };
    struct arena ar = ARENA_INIT(work->a);
    const size_t row = (size_t)dim * sizeof(float);
    grebe_status st = GREBE_OK;
    bool is_stable = false;

    assert(k >= 1 && k <= VDB_CENTROIDS_MAX && m >= 1 && m <= UINT32_MAX);
    t.vectors = arena_array(&ar, m, row);
    t.next = arena_array(&ar, k, row);
    t.sums = arena_array(&ar, k, 2 * row);
    t.nearest = arena_array(&ar, m, sizeof *t.nearest);
    t.order = arena_array(&ar, m, sizeof *t.order);
    t.begin = arena_array(&ar, (size_t)k + 1, sizeof *t.begin);
    if (t.vectors == NULL || t.next == NULL || t.sums == NULL || t.nearest == NULL || t.order == NULL ||
        t.begin == NULL) {
        st = mem_fail(err, row, "training");
        goto out;
    }
    for (size_t i = 0; i < m; i++) {
        memcpy(t.vectors + i * dim, sample[i], row);
    }
    for (uint32_t c = 0; c < k; c++) {
        const size_t at = k == 1 ? 0 : (size_t)((uint64_t)c * (m - 1) / (k - 1));
        memcpy(centroids + (size_t)c * dim, sample[at], row);
    }
    for (uint32_t round = 0; round < VDB_ROUNDS && !is_stable; round++) {
        GREBE_TRY(run_round(&t, &is_stable, err));
    }
out:
    arena_release(&ar);
    return st;
}
