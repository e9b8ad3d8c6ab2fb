/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_order.h"

enum { WORDS = 624, MIDDLE = 397 };

/* MT19937 */
struct twister {
    uint32_t words[WORDS];
    unsigned at;
};

static void twister_seed(struct twister *t, uint32_t seed)
{
    t->words[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        t->words[i] = UINT32_C(1812433253) * (t->words[i - 1] ^ t->words[i - 1] >> 30) + i;
    }
    t->at = WORDS;
}

static uint32_t twist(uint32_t high, uint32_t low)
{
    return ((high & UINT32_C(0x80000000)) | (low & UINT32_C(0x7fffffff))) >> 1 ^ (-(low & 1) & UINT32_C(0x9908b0df));
}

static void twister_refill(struct twister *t)
{
    uint32_t *w = t->words;
    unsigned i = 0;
    for (; i < WORDS - MIDDLE; i++) {
        w[i] = w[i + MIDDLE] ^ twist(w[i], w[i + 1]);
    }
    for (; i < WORDS - 1; i++) {
        w[i] = w[i + MIDDLE - WORDS] ^ twist(w[i], w[i + 1]);
    }
    w[WORDS - 1] = w[MIDDLE - 1] ^ twist(w[WORDS - 1], w[0]);
    t->at = 0;
}

static inline uint32_t temper(uint32_t x)
{
    x ^= x >> 11;
    x ^= x << 7 & UINT32_C(0x9d2c5680);
    x ^= x << 15 & UINT32_C(0xefc60000);
    return x ^ x >> 18;
}

static inline uint32_t twister_next(struct twister *t)
{
    if (t->at == WORDS) {
        twister_refill(t);
    }
    return temper(t->words[t->at++]);
}

/* All words of the next state as they are given out. */
static void twister_block(struct twister *t, uint32_t *out)
{
    twister_refill(t);
    for (unsigned i = 0; i < WORDS; i++) {
        out[i] = temper(t->words[i]);
    }
    t->at = WORDS;
}

/* n is below 2^28: a block of numbers at a time, each step a loop that the compiler can widen. */
static void shuffle_blocks(struct twister *t, int32_t n, int32_t *order)
{
    uint32_t x[WORDS];
    for (int32_t first = 0; first < n - 1; first += WORDS) {
        int32_t count = n - 1 - first < WORDS ? n - 1 - first : WORDS;
        twister_block(t, x);
        for (int32_t i = 0; i < count; i++) {
            /* x % left. The quotient is exact when cut: it misses the next whole number by at least 1 / left, and float64 by less */
            uint32_t left = (uint32_t)(n - first - i);
            x[i] -= (uint32_t)((double)x[i] / (double)left) * left;
        }
        for (int32_t i = 0; i < count; i++) {
            int32_t at = first + i, j = at + (int32_t)x[i], moved = order[at];
            order[at] = order[j];
            order[j] = moved;
        }
    }
}

void graph_order_shuffled_32(uint64_t seed, int32_t n, int32_t *order)
{
    struct twister t;
    twister_seed(&t, (uint32_t)seed);
    for (int32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    if ((uint32_t)n < UINT32_MAX / 20) {
        shuffle_blocks(&t, n, order);
        return;
    }
    for (int32_t i = 0; i < n - 1; i++) {
        uint64_t x = twister_next(&t);
        x = x << 32 | twister_next(&t);
        int32_t j = i + (int32_t)(x % (uint64_t)(n - i)), moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

void graph_order_shuffled(uint64_t seed, int64_t n, int64_t *order)
{
    struct twister t;
    twister_seed(&t, (uint32_t)seed);
    bool is_wide = (uint64_t)n >= UINT32_MAX / 20;
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (int64_t i = 0; i < n - 1; i++) {
        uint64_t x = twister_next(&t);
        if (is_wide) {
            x = x << 32 | twister_next(&t);
        }
        int64_t j = i + (int64_t)(x % (uint64_t)(n - i)), moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

/* What one of several gets of a total that is dealt out in batches, and what those before it get. */
struct split {
    int64_t assigned, before;
};

static struct split split_of(int64_t total, int64_t n_parts, int64_t part, int64_t batch)
{
    int64_t q = total / (n_parts * batch), r = total % (n_parts * batch);
    struct split s;
    if (batch == 1) {
        s.assigned = q + (part < r ? 1 : 0);
    } else {
        int64_t full = r / batch, last = r % batch;
        s.assigned = q * batch + (part < full ? batch : part == full ? last : 0);
    }
    s.before = q * part * batch + (part * batch < r ? part * batch : r);
    return s;
}

struct graph_range graph_range_of(const struct graph_share *s)
{
    struct graph_range out = { 0, s->total, s->total };
    int64_t batch = s->batch_size;
    if (!s->is_distributed) {
        out.output = s->drop_last ? s->total / batch * batch : s->total;
    } else {
        struct split mine = split_of(s->total, s->n_replicas, s->rank, batch);
        out.begin = mine.before;
        out.assigned = mine.assigned;
        if (!s->drop_uneven) {
            out.output = s->drop_last ? mine.assigned / batch * batch : mine.assigned;
        } else if (!s->drop_last) {
            int64_t least = split_of(s->total, s->n_replicas, s->n_replicas - 1, batch).assigned;
            least = (least + batch - 1) / batch * batch;
            out.output = least < mine.assigned ? least : mine.assigned;
        } else {
            out.output = s->total / (batch * s->n_replicas) * batch;
        }
    }
    if (s->n_workers > 1) {
        struct split dropped = split_of(out.assigned - out.output, s->n_workers, s->worker, 1);
        struct split given = split_of(out.output, s->n_workers, s->worker, batch);
        out.begin += dropped.before + given.before;
        out.output = given.assigned;
        out.assigned = given.assigned + dropped.assigned;
    }
    return out;
}
