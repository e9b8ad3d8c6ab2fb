/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_ivf.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "gitvdb/vdb_kernels.h"

/*
 * The nearest centroid of each point, the same as a loop in f64 over all of them finds it.
 *
 * The order of cosines of one point x is the order of the products x . c/|c|. These are computed in f32 from centroids that
 * were divided by their lengths; each is off by at most e = vdb_dot_error() * |x|. A centroid whose product stands more than 2 e
 * below the best product cannot win: its cosine in f64 is smaller. So when the second best is that far away the best is the
 * answer, and else f64 decides among those that are not. Centroids that are equal bit by bit have equal cosines, of which the
 * lowest wins: only it is kept.
 */

enum { BLOCK = 8 * VDB_GROUP };

struct vdb_assigner {
    const grebe_allocator *a;
    const struct vdb_kernels *kernels;
    uint32_t k, dim;        /* k: without repeated centroids */
    double error;           /* of a product, as a share of the point's length */
    float *centroids;       /* shape [k, dim] */
    double *roots;          /* shape [k]: lengths */
    uint16_t *numbers;      /* shape [k]: of the caller's centroids, ascending */
    float *panels;          /* shape [n_panels, dim, VDB_PANEL], centroids of length 1; NULL: f64 for all */
    size_t n_panels, panels_bytes;
    struct arena ar;
};

/* ---- making it ---- */

struct numbered {
    const float *centroid;
    size_t bytes;
    uint32_t number;
};

static int compare_centroids(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    const int order = memcmp(x->centroid, y->centroid, x->bytes);

    return order != 0 ? order : x->number < y->number ? -1 : x->number > y->number;
}

/* Marks centroids that repeat one with a lower number. */
static grebe_status find_repeats(const grebe_allocator *a, const float *centroids, uint32_t k, uint32_t dim,
                                 bool *is_repeat, grebe_error *err)
{
    struct numbered *sorted = mem_alloc(a, k * sizeof *sorted);

    if (sorted == NULL) {
        return mem_fail(err, k * sizeof *sorted, "a codebook");
    }
    for (uint32_t c = 0; c < k; c++) {
        sorted[c] = (struct numbered){ centroids + (size_t)c * dim, dim * sizeof(float), c };
    }
    qsort(sorted, k, sizeof *sorted, compare_centroids);
    for (uint32_t i = 1; i < k; i++) {
        if (memcmp(sorted[i - 1].centroid, sorted[i].centroid, sorted[i].bytes) == 0) {
            is_repeat[sorted[i].number] = true;
        }
    }
    mem_free(a, sorted, k * sizeof *sorted);
    return GREBE_OK;
}

/* Centroids of length 1, VDB_PANEL of them side by side; columns without a centroid are NaN, which wins nowhere. */
static void pack(struct vdb_assigner *s)
{
    for (size_t c = 0; c < s->n_panels * VDB_PANEL; c++) {
        float *column = s->panels + c / VDB_PANEL * s->dim * VDB_PANEL + c % VDB_PANEL;
        const float *centroid = s->centroids + c * s->dim;
        for (size_t d = 0; d < s->dim; d++) {
            float x = 0.0F; /* a centroid that is zero scores 0 */
            if (c >= s->k) {
                x = NAN;
            } else if (s->roots[c] > 0.0) {
                x = (float)((double)centroid[d] / s->roots[c]);
            }
            column[d * VDB_PANEL] = x;
        }
    }
}

static grebe_status fill(struct vdb_assigner *s, const float *centroids, uint32_t k, grebe_error *err)
{
    const size_t row = (size_t)s->dim * sizeof(float);
    bool *is_repeat = arena_array(&s->ar, k, sizeof *is_repeat);

    s->centroids = arena_array(&s->ar, k, row);
    s->roots = arena_array(&s->ar, k, sizeof *s->roots);
    s->numbers = arena_array(&s->ar, k, sizeof *s->numbers);
    if (is_repeat == NULL || s->centroids == NULL || s->roots == NULL || s->numbers == NULL) {
        return mem_fail(err, row, "a codebook");
    }
    grebe_status st = find_repeats(s->a, centroids, k, s->dim, is_repeat, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (uint32_t c = 0; c < k; c++) {
        if (!is_repeat[c]) {
            const float *centroid = centroids + (size_t)c * s->dim;
            memcpy(s->centroids + (size_t)s->k * s->dim, centroid, row);
            s->roots[s->k] = sqrt(vdb_norm2(centroid, s->dim));
            s->numbers[s->k++] = (uint16_t)c;
        }
    }
    if (s->dim > VDB_DIM_FAST || s->k == 1) {
        return GREBE_OK;
    }
    s->error = vdb_dot_error(s->dim, 1);
    s->n_panels = (s->k + VDB_PANEL - 1) / VDB_PANEL;
    s->panels_bytes = s->n_panels * VDB_PANEL * row;
    s->panels = mem_alloc_aligned(s->a, s->panels_bytes, MEM_ALIGN_VECTOR);
    if (s->panels == NULL) {
        return mem_fail(err, s->panels_bytes, "a codebook");
    }
    pack(s);
    return GREBE_OK;
}

grebe_status vdb_assigner_new(const struct vdb_work *work, const float *centroids, uint32_t k, uint32_t dim,
                              struct vdb_assigner **out, grebe_error *err)
{
    struct vdb_assigner *s = NULL;

    assert(k >= 1 && k <= VDB_CENTROIDS_MAX && dim >= 1);
    *out = NULL;
    s = mem_alloc_zero(work->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a codebook");
    }
    s->a = work->a;
    s->ar = ARENA_INIT(work->a);
    s->kernels = vdb_kernels();
    s->dim = dim;
    grebe_status st = fill(s, centroids, k, err);
    if (st != GREBE_OK) {
        vdb_assigner_free(s);
        return st;
    }
    *out = s;
    return GREBE_OK;
}

void vdb_assigner_free(struct vdb_assigner *s)
{
    if (s != NULL) {
        mem_free_aligned(s->a, s->panels, s->panels_bytes, MEM_ALIGN_VECTOR);
        arena_release(&s->ar);
        mem_free(s->a, s, sizeof *s);
    }
}

/* ---- using it ---- */

/* The format's rule: the first of those with the largest cosine in f64. scores NULL: all take part; else those >= bar. */
static uint32_t nearest_exact(const struct vdb_assigner *s, const float *v, const float *scores, float bar)
{
    const double root = sqrt(vdb_norm2(v, s->dim));
    double best_score = -INFINITY;
    uint32_t best = 0;

    for (uint32_t c = 0; c < s->k; c++) {
        if (scores != NULL && scores[c] < bar) {
            continue;
        }
        double score = 0.0;
        if (root != 0.0 && s->roots[c] != 0.0) {
            const float *w = s->centroids + (size_t)c * s->dim;
            double dot = 0.0;
            for (uint32_t d = 0; d < s->dim; d++) {
                dot += (double)v[d] * (double)w[d];
            }
            score = dot / (root * s->roots[c]);
        }
        if (score > best_score) {
            best_score = score;
            best = c;
        }
        if (root == 0.0) {
            break; /* all score 0 */
        }
    }
    return best;
}

/* Several centroids are too near to each other for f32: f64 among those that are near the best. */
static uint32_t nearest_close(const struct vdb_assigner *s, const float *v, double error)
{
    float scores[VDB_CENTROIDS_MAX + VDB_PANEL];
    float best = -INFINITY;

    assert(s->n_panels > 0 && s->k <= s->n_panels * VDB_PANEL);
    for (size_t p = 0; p < s->n_panels; p++) {
        const float *panel = s->panels + p * s->dim * VDB_PANEL;
        float *sums = scores + p * VDB_PANEL;
        memset(sums, 0, VDB_PANEL * sizeof *sums);
        for (size_t d = 0; d < s->dim; d++) {
            for (size_t l = 0; l < VDB_PANEL; l++) {
                sums[l] += v[d] * panel[d * VDB_PANEL + l];
            }
        }
    }
    for (uint32_t c = 0; c < s->k; c++) {
        best = scores[c] > best ? scores[c] : best;
    }
    /* The bar is rounded down, so that nothing within the bound falls below it. */
    return nearest_exact(s, v, scores, nextafterf((float)((double)best - 2 * error), -INFINITY));
}

/* One point, from what the kernels found. */
static uint32_t nearest_of(const struct vdb_assigner *s, const float *v, const struct vdb_winner *w, float norm2)
{
    if (!vdb_norm2_is_safe(norm2)) {
        return nearest_exact(s, v, NULL, 0.0F);
    }
    /* |x| from a sum in f32 is itself off by a little, which 1.01 covers. */
    const double error = s->error * 1.01 * sqrt((double)norm2);
    if ((double)w->first - (double)w->second <= 2 * error) {
        return nearest_close(s, v, error);
    }
    return w->centroid;
}

static void assign_block(const struct vdb_assigner *s, const float *vectors, size_t n, uint16_t *out)
{
    struct vdb_best best[BLOCK];
    struct vdb_winner winners[BLOCK];
    float norms2[BLOCK];
    const float *rows[BLOCK];
    const size_t n_groups = (n + VDB_GROUP - 1) / VDB_GROUP;

    assert(n >= 1 && n <= BLOCK);
    for (size_t i = 0; i < BLOCK; i++) {
        rows[i] = vectors + min_size(i, n - 1) * s->dim; /* a short group repeats its last point */
        for (uint32_t l = 0; l < VDB_LANES; l++) {
            best[i].first[l] = best[i].second[l] = -INFINITY;
            best[i].index[l] = 0;
        }
    }
    for (size_t p = 0; p < s->n_panels; p++) {
        const float *panel = s->panels + p * s->dim * VDB_PANEL;
        for (size_t g = 0; g < n_groups; g++) {
            s->kernels->score_group(rows + g * VDB_GROUP, s->dim, panel, (int32_t)(p * VDB_PANEL / VDB_LANES),
                                    best + g * VDB_GROUP);
        }
    }
    s->kernels->find_winners(best, n, winners);
    s->kernels->norms2(rows, (n + VDB_ROWS - 1) / VDB_ROWS * VDB_ROWS, s->dim, norms2);
    for (size_t i = 0; i < n; i++) {
        out[i] = s->numbers[nearest_of(s, rows[i], winners + i, norms2[i])];
    }
}

grebe_status vdb_assign(const struct vdb_assigner *s, const float *vectors, size_t n, uint16_t *out, grebe_error *err)
{
    (void)err;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t n_block = min_size(BLOCK, n - i);
        if (s->k == 1) {
            memset(out + i, 0, n_block * sizeof *out); /* the lowest of equals is number 0 */
        } else if (s->panels != NULL) {
            assign_block(s, vectors + i * s->dim, n_block, out + i);
        } else {
            for (size_t j = i; j < i + n_block; j++) {
                out[j] = s->numbers[nearest_exact(s, vectors + j * s->dim, NULL, 0.0F)];
            }
        }
    }
    return GREBE_OK;
}
