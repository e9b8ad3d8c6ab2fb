/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_source.h"

/*
 * Logarithms, powers and erfc are those of the C library in float64, rounded to float32: where libraries differ in the last bit of
 * float64, next to none of the rounded numbers do. GraphBolt computes them in float32, which may differ in the last bit of float32.
 */

struct graph_blend graph_blend_of(uint64_t key, uint64_t other, float contribution)
{
    double angle = acos(-1.0) * (double)contribution / 2;
    return (struct graph_blend){ { key, other }, { (float)cos(angle), (float)sin(angle) } };
}

/* PCG32 (XSH-RR 64/32; O'Neill 2014), its numbers one after another in [0, 1). */
struct stream {
    uint64_t state, inc;
};

static struct stream stream_of(uint64_t seed, uint64_t stream)
{
    struct stream s = { 0, stream << 1 | 1 };
    s.state = (seed + s.inc) * GRAPH_PCG32_FACTOR + s.inc;
    return s;
}

static float stream_next(struct stream *s)
{
    uint32_t x = graph_pcg32_output(s->state);
    s->state = s->state * GRAPH_PCG32_FACTOR + s->inc;
    return graph_unit_float(x);
}

/* The first of a pair by the polar method (Marsaglia and Bray 1964) that libstdc++ gives out: that of the second coordinate. */
static float stream_normal(uint64_t seed, uint64_t id)
{
    struct stream s = stream_of(seed, id);
    float x, y, r2;
    do {
        x = 2.0f * stream_next(&s) - 1.0f;
        y = 2.0f * stream_next(&s) - 1.0f;
        float xx = x * x, yy = y * y;
        r2 = xx + yy;
    } while (r2 > 1.0f || r2 == 0.0f);
    float log_r2 = (float)log((double)r2);
    return y * sqrtf(-2.0f * log_r2 / r2);
}

float graph_blend_number(const struct graph_blend *b, uint64_t stream)
{
    if (!graph_is_blended(b)) {
        return graph_source_number(b->keys[0], (int64_t)stream);
    }
    float own = b->shares[0] * stream_normal(b->keys[0], stream), other = b->shares[1] * stream_normal(b->keys[1], stream);
    float x = -(own + other) * 0x1.6a09e6p-1f; /* sqrt(1/2) */
    return (float)erfc((double)x) / 2.0f;
}

void graph_race(const struct graph_blend *b, const struct graph_runner *r, int64_t i, int64_t n_nodes, struct graph_smallest *s)
{
    float remaining = 1.0f; /* 1 less the number before: those that follow lie in it */
    for (int64_t j = 0; j < s->k; j++) {
        float u = graph_blend_number(b, r->source + (uint64_t)j * (uint64_t)n_nodes);
        float exponent = 1.0f / (float)(s->k - j); /* the smallest of k - j uniform numbers */
        float step = remaining * (1.0f - (float)pow((double)(1.0f - u), (double)exponent));
        remaining -= step;
        float rank = graph_source_rank(1.0f - remaining, r->weight, r->is_double);
        uint64_t key = graph_rank_key(rank, i);
        if (!(rank < INFINITY) || key >= s->limit) {
            return;
        }
        graph_smallest_add(s, key);
    }
}
