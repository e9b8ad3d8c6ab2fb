/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of a walk, compiled once for each level of instructions (graph_walk.c, graph_walk_avx2.c): all of it is
 * static, no guard on purpose.
 */

#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

static inline void fetch(const void *p)
{
    __builtin_prefetch(p, 0, 3);
}

static inline void fetch_links(const struct graph_view *g, uint32_t id)
{
    const uint32_t *l = g->links + (size_t)id * g->width;
    for (uint32_t i = 0; i < g->width; i += 16) {
        fetch(l + i);
    }
}

/* How many of the pool are not farther than d: where d has its place. Beyond n_pool stands +inf. */
static inline uint32_t place_of(const float *pool_d, uint32_t n_pool, float d)
{
    uint32_t n = 0;
#if defined(__AVX2__)
    const __m256 v = _mm256_set1_ps(d);
    for (uint32_t i = 0; i < n_pool; i += 8) {
        n += (uint32_t)__builtin_popcount(
            (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(pool_d + i), v, _CMP_LE_OQ)));
    }
#else
    for (uint32_t i = 0; i < n_pool; i++) {
        n += pool_d[i] <= d;
    }
#endif
    return n;
}

/* Move [at, n) up by one place. */
static inline void shift(float *d, uint32_t *id, uint32_t at, uint32_t n)
{
#if defined(__AVX2__)
    /* from the end, in eights; what is moved too early, below `at`, is written back by the last step's overlap */
    uint32_t i = n;
    while (i >= at + 8) {
        i -= 8;
        __m256 v = _mm256_loadu_ps(d + i);
        __m256i k = _mm256_loadu_si256((const __m256i *)(const void *)(id + i));
        _mm256_storeu_ps(d + i + 1, v);
        _mm256_storeu_si256((__m256i *)(void *)(id + i + 1), k);
    }
    for (; i > at; i--) {
        d[i] = d[i - 1];
        id[i] = id[i - 1];
    }
#else
    memmove(d + at + 1, d + at, (n - at) * sizeof *d);
    memmove(id + at + 1, id + at, (n - at) * sizeof *id);
#endif
}

static inline void insert(const struct graph_view *g, struct graph_walk *w, float d, uint32_t id)
{
    uint32_t n = w->n_pool;
    uint32_t at = place_of(w->pool_d, n, d);
    uint32_t kept = n < w->keep ? n : w->keep - 1; /* the last one falls out */
    shift(w->pool_d, w->pool_id, at, kept);
    w->pool_d[at] = d;
    w->pool_id[at] = id;
    w->n_pool = kept + 1;
    if (at <= w->cursor) {
        w->cursor = at;
        fetch_links(g, id);
    }
    if (at < w->watch) {
        w->n_at_change = w->n_expanded;
    }
}

/* First half: the current node's links; new ones are marked, listed and their rows fetched. */
static inline void gather_new(const struct graph_view *g, struct graph_walk *w)
{
    const uint32_t *l = g->links + (size_t)w->current * g->width;
    uint32_t *ids = w->seen + w->n_seen;
    uint64_t *visited = w->visited;
    const uint32_t n = g->n;
    uint32_t m = 0, i = 0;
    for (; i < g->width; i++) {
        uint32_t id = l[i];
        if (id >= n) {
            break;
        }
        uint64_t bit = (uint64_t)1 << (id & 63);
        uint64_t old = visited[id >> 6];
        visited[id >> 6] = old | bit;
        ids[m] = id;
        m += (old & bit) == 0;
    }
    if (i < g->width && l[i] != UINT32_MAX) {
        w->is_corrupt = true;
    }
    const unsigned char *rows = g->rows;
    if (g->row_lines == 1) {
        for (i = 0; i < m; i++) {
            fetch(rows + (size_t)ids[i] * g->stride);
        }
    } else {
        for (i = 0; i < m; i++) {
            const unsigned char *row = rows + (size_t)ids[i] * g->stride;
            for (uint32_t line = 0; line < g->row_lines; line++) {
                fetch(row + line * 64);
            }
        }
    }
    w->n_new = m;
}

static inline void measure_new(const struct graph_view *g, struct graph_walk *w)
{
    const uint32_t *ids = w->seen + w->n_seen;
    const uint32_t m = w->n_new;
    float *d = w->new_d;
    if (m == 0) {
        return;
    }
    g->gather(w->query, g->rows, g->stride, ids, m, g->blocks, d);
    const float *limit = w->pool_d + w->keep - 1;
#if defined(__AVX2__)
    for (uint32_t i = m; i < ((m + 7) & ~(uint32_t)7); i++) {
        d[i] = __builtin_inff();
    }
    for (uint32_t i = 0; i < m; i += 8) {
        unsigned hits =
            (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(d + i), _mm256_broadcast_ss(limit), _CMP_LT_OQ));
        for (; hits != 0; hits &= hits - 1) {
            uint32_t j = i + (uint32_t)__builtin_ctz(hits);
            if (d[j] < *limit) {
                insert(g, w, d[j], ids[j]);
            }
        }
    }
#else
    for (uint32_t i = 0; i < m; i++) {
        if (d[i] < *limit) {
            insert(g, w, d[i], ids[i]);
        }
    }
#endif
    w->n_seen += m;
    w->n_new = 0;
    if (w->n_seen > GRAPH_SEEN_MAX) {
        w->n_seen = 0;
        w->is_seen_cut = true;
    }
}

/* The next node to expand becomes the current one; none: ~0. */
static inline void choose(const struct graph_view *g, struct graph_walk *w)
{
    const uint32_t end = w->n_pool < w->ef ? w->n_pool : w->ef;
    uint32_t c = w->cursor;
    while (c < end && (w->pool_id[c] & GRAPH_EXPANDED) != 0) {
        c++;
    }
    if (c >= end || (w->patience != 0 && w->n_expanded - w->n_at_change > w->patience) || w->is_corrupt) {
        w->current = UINT32_MAX;
        return;
    }
    w->current = w->pool_id[c];
    w->pool_id[c] |= GRAPH_EXPANDED;
    w->n_expanded++;
    w->cursor = c + 1;
    /* the one that is expanded after it, unless something nearer is found */
    for (c = c + 1; c < end && (w->pool_id[c] & GRAPH_EXPANDED) != 0; c++) {
    }
    if (c < end) {
        fetch_links(g, w->pool_id[c]);
    }
}

static void run_walks(const struct graph_view *g, struct graph_walk *const *walks, size_t n_walks)
{
    struct graph_walk *active[GRAPH_WALK_LANES];
    size_t n = n_walks;
    for (size_t i = 0; i < n; i++) {
        active[i] = walks[i];
        measure_new(g, active[i]);
        choose(g, active[i]);
    }
    while (n > 0) {
        for (size_t i = 0; i < n;) {
            if (active[i]->current == UINT32_MAX) {
                active[i] = active[--n];
                continue;
            }
            gather_new(g, active[i]);
            i++;
        }
        for (size_t i = 0; i < n; i++) {
            measure_new(g, active[i]);
            choose(g, active[i]);
        }
    }
    for (size_t i = 0; i < n_walks; i++) {
        for (uint32_t j = 0; j < walks[i]->n_pool; j++) {
            walks[i]->pool_id[j] &= ~GRAPH_EXPANDED;
        }
    }
}
