/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pcg64.h"

#include <math.h>
#include <string.h>

/* ---- 128 bits ---- */

struct wide {
    uint64_t high, low;
};

/* a * b, all 128 bits. GREBE_NO_INT128 tells that the compiler's own wide numbers are not to be used (tests). */
#if defined(__SIZEOF_INT128__) && !defined(GREBE_NO_INT128)
static inline struct wide wide_mul(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    u128 p = (u128)a * b;
    return (struct wide){ (uint64_t)(p >> 64), (uint64_t)p };
}
#else
static inline struct wide wide_mul(uint64_t a, uint64_t b)
{
    uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
    uint64_t ll = al * bl, lh = al * bh, hl = ah * bl;
    uint64_t middle = (ll >> 32) + (lh & 0xffffffffu) + (hl & 0xffffffffu);
    return (struct wide){ ah * bh + (lh >> 32) + (hl >> 32) + (middle >> 32), middle << 32 | (ll & 0xffffffffu) };
}
#endif

/* ---- seeding: numpy's SeedSequence ---- */

#define HASH_A UINT32_C(0x43b0d7e5)
#define MULTIPLIER_A UINT32_C(0x931e8875)
#define HASH_B UINT32_C(0x8b51f9dd)
#define MULTIPLIER_B UINT32_C(0x58f38ded)

static uint32_t seed_hash(uint32_t value, uint32_t *constant, uint32_t multiplier)
{
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ value >> 16;
}

static uint32_t seed_mix(uint32_t x, uint32_t y)
{
    uint32_t r = UINT32_C(0xca01f9dd) * x - UINT32_C(0x4973f715) * y;
    return r ^ r >> 16;
}

#define STEP_HIGH UINT64_C(0x2360ED051FC65DA4)
#define STEP_LOW UINT64_C(0x4385DF649FCCF645)

static inline void step(struct pcg64 *g)
{
    struct wide p = wide_mul(g->state_low, STEP_LOW);
    p.high += g->state_low * STEP_HIGH + g->state_high * STEP_LOW;
    uint64_t low = p.low + g->inc_low;
    g->state_high = p.high + g->inc_high + (low < p.low);
    g->state_low = low;
}

grebe_status pcg64_seed(const grebe_allocator *a, const uint32_t *words, size_t n, struct pcg64 *out, grebe_error *err)
{
    (void)a;
    (void)err;
    uint32_t pool[4], constant = HASH_A;
    for (size_t i = 0; i < 4; i++) {
        pool[i] = seed_hash(i < n ? words[i] : 0, &constant, MULTIPLIER_A);
    }
    for (size_t s = 0; s < 4; s++) {
        for (size_t d = 0; d < 4; d++) {
            if (s != d) {
                pool[d] = seed_mix(pool[d], seed_hash(pool[s], &constant, MULTIPLIER_A));
            }
        }
    }
    for (size_t s = 4; s < n; s++) {
        for (size_t d = 0; d < 4; d++) {
            pool[d] = seed_mix(pool[d], seed_hash(words[s], &constant, MULTIPLIER_A));
        }
    }
    uint64_t q[4];
    constant = HASH_B;
    for (size_t i = 0; i < 4; i++) {
        uint64_t low = seed_hash(pool[2 * i % 4], &constant, MULTIPLIER_B);
        uint64_t high = seed_hash(pool[(2 * i + 1) % 4], &constant, MULTIPLIER_B);
        q[i] = high << 32 | low;
    }
    memset(out, 0, sizeof *out);
    out->inc_high = q[2] << 1 | q[3] >> 63;
    out->inc_low = q[3] << 1 | 1;
    step(out);
    out->state_low += q[1];
    out->state_high += q[0] + (out->state_low < q[1]);
    step(out);
    return GREBE_OK;
}

void pcg64_seed_u64(uint64_t seed, struct pcg64 *out)
{
    uint32_t words[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    grebe_status st = pcg64_seed(NULL, words, words[1] != 0 ? 2 : 1, out, NULL);
    (void)st; /* needs no memory */
}

/* ---- draws ---- */

uint64_t pcg64_next64(struct pcg64 *g)
{
    step(g);
    uint64_t x = g->state_high ^ g->state_low;
    unsigned r = (unsigned)(g->state_high >> 58);
    return x >> r | x << (-r & 63u);
}

uint32_t pcg64_next32(struct pcg64 *g)
{
    if (g->has_half) {
        g->has_half = false;
        return g->half;
    }
    uint64_t x = pcg64_next64(g);
    g->has_half = true;
    g->half = (uint32_t)(x >> 32);
    return (uint32_t)x;
}

double pcg64_double(struct pcg64 *g)
{
    return (double)(pcg64_next64(g) >> 11) * 0x1p-53;
}

uint64_t pcg64_integer(struct pcg64 *g, uint64_t last)
{
    if (last == 0) {
        return 0;
    }
    if (last == UINT32_MAX) {
        return pcg64_next32(g);
    }
    if (last == UINT64_MAX) {
        return pcg64_next64(g);
    }
    if (last < UINT32_MAX) {
        uint32_t n = (uint32_t)last + 1, threshold = (UINT32_MAX - (uint32_t)last) % n;
        uint64_t m = (uint64_t)pcg64_next32(g) * n;
        while ((uint32_t)m < threshold) {
            m = (uint64_t)pcg64_next32(g) * n;
        }
        return m >> 32;
    }
    uint64_t n = last + 1, threshold = (UINT64_MAX - last) % n;
    struct wide m = wide_mul(pcg64_next64(g), n);
    while (m.low < threshold) {
        m = wide_mul(pcg64_next64(g), n);
    }
    return m.high;
}

/* ---- orders ---- */

/* Swap partners are drawn so many at a time and asked for ahead: which they are does not depend on the rows, and rows
 * far from each other are waited for together instead of one after the other. */
#define PARTNERS 128

static uint64_t mask_of(uint64_t last)
{
    return last == 0 ? 0 : UINT64_MAX >> __builtin_clzll(last);
}

/* Partners of rows i, i - 1, …: n of them, all with the same mask. */
static void draw_partners(struct pcg64 *shared, uint64_t i, size_t n, uint64_t mask, const int64_t *rows, uint64_t *out)
{
    struct pcg64 g = *shared;
    for (size_t k = 0; k < n;) {
        uint64_t v = (i > UINT32_MAX ? pcg64_next64(&g) : pcg64_next32(&g)) & mask;
        out[k] = v;
        __builtin_prefetch(&rows[v <= i ? v : 0], 1);
        bool is_taken =
            v <= i - k; /* else drawn again; without a branch, which would be guessed wrong half of the time */
        k += is_taken;
    }
    *shared = g;
}

void pcg64_shuffle(struct pcg64 *g, int64_t *rows, int64_t n)
{
    uint64_t partner[PARTNERS];
    for (uint64_t i = n > 1 ? (uint64_t)n - 1 : 0; i > 0;) {
        uint64_t mask = mask_of(i), smallest = mask / 2 + 1; /* with this mask */
        uint64_t left = i - smallest + 1;
        size_t count = left < PARTNERS ? (size_t)left : PARTNERS;
        draw_partners(g, i, count, mask, rows, partner);
        for (size_t k = 0; k < count; k++, i--) {
            int64_t t = rows[i];
            rows[i] = rows[partner[k]];
            rows[partner[k]] = t;
        }
    }
}

void pcg64_permutation(struct pcg64 *g, int64_t n, int64_t *rows)
{
    for (int64_t i = 0; i < n; i++) {
        rows[i] = i;
    }
    pcg64_shuffle(g, rows, n);
}

/* ---- choices ---- */

size_t pcg64_choose(struct pcg64 *g, const double *cdf, size_t n)
{
    double u = pcg64_double(g);
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cdf[middle] <= u) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n ? low : n - 1;
}

/* Largest distance of the sum of probabilities from 1, numpy's: the square root of what doubles tell apart. */
#define SUM_TOLERANCE 1.4901161193847656e-08

grebe_status pcg64_cdf(const double *p, size_t n, double *cdf, grebe_error *err)
{
    double sum = 0, lost = 0, running = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(p[i])) {
            return GREBE_FAIL(err, GREBE_EINVAL, "probability %zu is not a number", i);
        }
        if (p[i] < 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "probability %zu is negative: %g", i, p[i]);
        }
        double more = p[i] - lost, next = sum + more; /* Kahan */
        lost = (next - sum) - more;
        sum = next;
        running += p[i];
        cdf[i] = running;
    }
    if (n == 0 || !(fabs(sum - 1) <= SUM_TOLERANCE)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "probabilities sum to %.17g, not to 1", sum);
    }
    for (size_t i = 0; i < n; i++) {
        cdf[i] /= running;
    }
    return GREBE_OK;
}

/* Floyd's method: for each j of the last `size` numbers, a draw in 0 … j, or j itself when that was drawn before. */
static grebe_status choose_few(const grebe_allocator *a, struct pcg64 *g, int64_t n, int64_t size, int64_t *out,
                               grebe_error *err)
{
    uint64_t slots = 2;
    while (slots < (uint64_t)size * 2) {
        slots *= 2;
    }
    int64_t *set = NULL; /* open addressing; number + 1, 0: free */
    grebe_status st = mem_alloc_bounded(a, slots, sizeof *set, slots, "numbers to choose from", (void **)&set, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (int64_t k = 0; k < size; k++) {
        int64_t last = n - size + k, value = (int64_t)pcg64_integer(g, (uint64_t)last);
        for (int pass = 0; pass < 2; pass++) {
            uint64_t at = (uint64_t)value * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (slots - 1);
            while (set[at] != 0 && set[at] != value + 1) {
                at = (at + 1) & (slots - 1);
            }
            if (set[at] == 0) {
                set[at] = value + 1;
                break;
            }
            value = last; /* new: no draw before this one could give it */
        }
        out[k] = value;
    }
    mem_free(a, set, (size_t)slots * sizeof *set);
    for (int64_t i = size - 1; i > 0; i--) {
        int64_t j = (int64_t)pcg64_integer(g, (uint64_t)i), t = out[i];
        out[i] = out[j];
        out[j] = t;
    }
    return GREBE_OK;
}

/* The end of a permutation. */
static grebe_status choose_many(const grebe_allocator *a, struct pcg64 *g, int64_t n, int64_t size, int64_t *out,
                                grebe_error *err)
{
    int64_t *all = NULL;
    grebe_status st =
        mem_alloc_bounded(a, (uint64_t)n, sizeof *all, (uint64_t)n, "numbers to choose from", (void **)&all, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (int64_t i = 0; i < n; i++) {
        all[i] = i;
    }
    int64_t first = n - size > 1 ? n - size : 1;
    for (int64_t i = n - 1; i >= first; i--) {
        int64_t j = (int64_t)pcg64_integer(g, (uint64_t)i), t = all[i];
        all[i] = all[j];
        all[j] = t;
    }
    memcpy(out, all + (n - size), (size_t)size * sizeof *out);
    mem_free(a, all, (size_t)n * sizeof *all);
    return GREBE_OK;
}

grebe_status pcg64_choose_distinct(const grebe_allocator *a, struct pcg64 *g, int64_t n, int64_t size, int64_t *out,
                                   grebe_error *err)
{
    if (size < 0 || size > n) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%lld of %lld things cannot be chosen without repeating one",
                          (long long)size, (long long)n);
    }
    if (size == 0) {
        return GREBE_OK;
    }
    bool are_many = n > 10000 && size > n / 50; /* numpy's border between its two methods */
    return are_many ? choose_many(a, g, n, size, out, err) : choose_few(a, g, n, size, out, err);
}
