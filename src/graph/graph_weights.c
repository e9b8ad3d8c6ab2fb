/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_weights.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

static float from_bfloat16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &wide, sizeof f);
    return f;
}

/* Packed values as they are needed, borrowed where their type is read directly. */
static grebe_status values_of(const struct tensor *t, int64_t n, struct graph_weights *out, grebe_error *err)
{
    bool is_half = t->type == ARRAY_F16 || t->type == ARRAY_BF16;
    size_t width = tensor_type_bytes(t->type);
    out->type = t->type == ARRAY_F64 ? GRAPH_WEIGHTS_F64 : width == 1 ? GRAPH_WEIGHTS_U8 : GRAPH_WEIGHTS_F32;
    if (t->is_packed && !t->is_big_endian && !is_half && (uintptr_t)t->data % width == 0) {
        out->values = t->data;
        return GREBE_OK;
    }
    size_t size = (size_t)n * (is_half ? sizeof(float) : width);
    out->owned = mem_alloc(out->a, size);
    if (out->owned == NULL) {
        return mem_fail(err, size, "weights of edges");
    }
    out->owned_bytes = size;
    out->values = out->owned;
    /* halves are read into the upper end and widened from the front, which never overtakes */
    unsigned char *at = (unsigned char *)out->owned + (is_half ? (size_t)n * 2 : 0);
    grebe_status st = tensor_read(t, 0, (uint64_t)n, at, err);
    if (st == GREBE_OK && is_half) {
        float *dst = out->owned;
        for (int64_t i = 0; i < n; i++) {
            uint16_t bits;
            memcpy(&bits, at + i * 2, sizeof bits);
            dst[i] = t->type == ARRAY_F16 ? half_to_float(bits) : from_bfloat16(bits);
        }
    }
    return st;
}

grebe_status graph_weights_of(const struct graph_csc *g, const struct tensor *values, bool checked, struct graph_weights *out,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = (struct graph_weights){ .a = g->ctx->a };
    switch (values->type) {
    case ARRAY_BOOL: case ARRAY_U8: case ARRAY_F16: case ARRAY_BF16: case ARRAY_F32: case ARRAY_F64:
        break;
    default:
        return GREBE_FAIL(err, GREBE_ESCHEMA, "weights of edges are bool, uint8, float16, bfloat16, float32 or float64, not %s",
                          tensor_type_name(values->type));
    }
    if (values->rank != 1 || values->shape[0] != (uint64_t)g->n_edges) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "weights of edges: expected shape [%lld], found rank %u with %llu values",
                          (long long)g->n_edges, values->rank, (unsigned long long)values->n_values);
    }
    GREBE_TRY(values_of(values, g->n_edges, out, err));
    if (checked && out->type != GRAPH_WEIGHTS_U8) {
        for (int64_t i = 0; i < g->n_edges; i++) {
            double w = graph_weight(out, i);
            if (!(w >= 0.0 && w < INFINITY)) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "weight of edge %lld is %g: weights are finite and not below 0", (long long)i, w);
                goto out;
            }
        }
    }
out:
    if (st != GREBE_OK) {
        graph_weights_release(out);
    }
    return st;
}

void graph_weights_release(struct graph_weights *w)
{
    if (w->owned != NULL) {
        mem_free(w->a, w->owned, w->owned_bytes);
    }
    *w = (struct graph_weights){ 0 };
}
