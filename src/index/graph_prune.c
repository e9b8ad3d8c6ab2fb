/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_prune.h"

#include <assert.h>
#include <string.h>

#include "index/graph_walk.h"

static inline bool is_before(const struct graph_candidate *x, const struct graph_candidate *y)
{
    return x->d < y->d || (x->d == y->d && x->id < y->id);
}

/* Lists are short and mostly in order: they come out of sorted pools. */
void graph_candidates_sort(struct graph_candidate *c, size_t n)
{
    for (size_t gap = n / 3; gap > 1; gap = gap / 3) { /* Shell's sort for those that are not */
        for (size_t i = gap; i < n; i++) {
            struct graph_candidate v = c[i];
            size_t at = i;
            for (; at >= gap && is_before(&v, &c[at - gap]); at -= gap) {
                c[at] = c[at - gap];
            }
            c[at] = v;
        }
    }
    for (size_t i = 1; i < n; i++) {
        struct graph_candidate v = c[i];
        size_t at = i;
        for (; at > 0 && is_before(&v, &c[at - 1]); at--) {
            c[at] = c[at - 1];
        }
        c[at] = v;
    }
}

/* Whether one of the kept nodes stands nearer to c than the node in the middle does. */
static bool is_shadowed(const struct index_store *s, float alpha, const struct graph_candidate *c, const uint32_t *kept,
                        size_t n_kept)
{
    enum { STEP = 8 };
    float d[STEP];
    for (size_t i = 0; i < n_kept; i += STEP) {
        size_t len = n_kept - i < STEP ? n_kept - i : STEP;
        s->ops->gather(index_store_row(s, c->id), s->rows, s->stride, kept + i, len, s->dim, d);
        for (size_t j = 0; j < len; j++) {
            if (alpha * graph_prune_distance(s->metric, d[j]) < c->d) {
                return true;
            }
        }
    }
    return false;
}

size_t graph_prune(const struct index_store *s, float alpha, const struct graph_candidate *c, size_t n, size_t keep,
                   size_t fill, uint32_t *out)
{
    uint32_t dropped[GRAPH_WIDTH_MAX];
    size_t n_kept = 0, n_dropped = 0;
    assert(keep <= GRAPH_WIDTH_MAX && fill <= keep);
    for (size_t i = 0; i < n && n_kept < keep; i++) {
        if (!is_shadowed(s, alpha, &c[i], out, n_kept)) {
            out[n_kept++] = c[i].id;
        } else if (n_dropped < fill) {
            dropped[n_dropped++] = c[i].id;
        }
    }
    for (size_t i = 0; i < n_dropped && n_kept < fill; i++) {
        out[n_kept++] = dropped[i];
    }
    return n_kept;
}
