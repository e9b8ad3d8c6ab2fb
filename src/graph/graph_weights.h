/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_WEIGHTS_H
#define GREBE_GRAPH_GRAPH_WEIGHTS_H

/* Weights of edges, looked at once: no number that is negative, infinite or none. Masks are weights of 0 and 1. */

#include "graph/graph_csc.h"

struct graph_weights {
    enum { GRAPH_WEIGHTS_U8, GRAPH_WEIGHTS_F32, GRAPH_WEIGHTS_F64 } type;
    const void *values; /* shape [n_edges], of the tensor or of `owned` */
    void *owned;
    size_t owned_bytes;
    const grebe_allocator *a;
};

/**
 * @param values  bool, u8, f16, bf16, f32 or f64, shape [n_edges], in the order of the CSC; must outlive `out`.
 * @param checked Whether values are looked at.
 * @param out     graph_weights_release().
 * @return GREBE_OK; GREBE_ESCHEMA (type, shape); GREBE_EINVAL names the first edge whose weight is none; GREBE_ENOMEM.
 */
grebe_status graph_weights_of(const struct graph_csc *g, const struct tensor *values, bool checked, struct graph_weights *out,
                              grebe_error *err);
void graph_weights_release(struct graph_weights *w);

static inline size_t graph_weights_width(const struct graph_weights *w)
{
    return w->type == GRAPH_WEIGHTS_F64 ? 8 : w->type == GRAPH_WEIGHTS_F32 ? 4 : 1;
}

static inline double graph_weight(const struct graph_weights *w, int64_t edge)
{
    switch (w->type) {
    case GRAPH_WEIGHTS_U8:
        return ((const uint8_t *)w->values)[edge];
    case GRAPH_WEIGHTS_F32:
        return (double)((const float *)w->values)[edge];
    default:
        return ((const double *)w->values)[edge];
    }
}

#endif
