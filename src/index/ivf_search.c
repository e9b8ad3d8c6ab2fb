/* SPDX-License-Identifier: Apache-2.0 */
#include "index/ivf_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

/*
 * A chunk of queries at a time: lists are chosen by tiles; the pairs of query and list are sorted by list, so that a
 * list's codes are read once for all of its queries; candidates are ranked by the row kernels.
 */

enum {
    CHUNK_MAX = 1024,
    COARSE_CHUNK = 48,
    COARSE_SAMPLE = 128,
    COARSE_SORTED = 32, /* so few lists are kept in order as they come */
    GROUPED_MIN = 16 /* queries from which sorting by list pays */
};
#define CHUNK_BYTES ((size_t)24 << 20)

/* ---- one chunk ---- */

struct chunk {
    struct ivf *x;
    const struct index_search *s;
    size_t n, k, n_probe, n_candidates, room, form_stride, coarse_room;
    unsigned char *forms;       /* of the store, shape [n][stride] */
    float *queries;             /* shape [n][dim] */
    unsigned char *codes;       /* code forms, shape [n][form_stride] */
    struct ivf_query *coded;    /* shape [n] */
    float *common;
    struct topk *tops;
    struct topk_item *items;    /* shape [n][room] */
    struct topk_item *coarse;   /* shape [COARSE_CHUNK][coarse_room] */
    uint32_t *lists, *order;    /* pairs, shape [n][n_probe] */
    float *bases;
    size_t *begin;              /* pairs by list, shape [lists + 1] */
    size_t bytes;
    unsigned char *memory;
};

/* Place of one array in the chunk's memory, which is counted first (memory NULL) and cut up afterwards. */
static void *carve(struct chunk *c, size_t bytes)
{
    unsigned char *at = c->memory == NULL ? NULL : c->memory + c->bytes;

    c->bytes += (bytes + MEM_ALIGN_VECTOR - 1) / MEM_ALIGN_VECTOR * MEM_ALIGN_VECTOR;
    return at;
}

static void carve_all(struct chunk *c)
{
    const struct ivf *x = c->x;
    const size_t pairs = c->n * c->n_probe;

    c->bytes = 0;
    c->forms = carve(c, c->n * x->store.stride);
    c->queries = carve(c, c->n * x->store.dim * sizeof *c->queries);
    c->codes = carve(c, c->n * c->form_stride);
    c->coded = carve(c, c->n * sizeof *c->coded);
    c->common = carve(c, c->n * sizeof *c->common);
    c->tops = carve(c, c->n * sizeof *c->tops);
    c->items = carve(c, c->n * c->room * sizeof *c->items);
    c->coarse = carve(c, min_size(COARSE_CHUNK, c->n) * c->coarse_room * sizeof *c->coarse);
    c->lists = carve(c, pairs * sizeof *c->lists);
    c->order = carve(c, pairs * sizeof *c->order);
    c->bases = carve(c, pairs * sizeof *c->bases);
    c->begin = carve(c, ((size_t)x->lists.n_lists + 1) * sizeof *c->begin);
}

static void chunk_shape(struct chunk *c, struct ivf *x, const struct index_search *s, const struct ivf_search_params *p,
                        size_t n)
{
    c->x = x;
    c->s = s;
    c->n = n;
    c->k = min_size(s->k, (size_t)x->store.n);
    c->n_probe = min_size(p->nprobe, x->lists.n_lists);
    c->n_candidates = ivf_candidates(x, p, c->k);
    c->room = topk_capacity(c->n_candidates);
    c->coarse_room = topk_capacity(c->n_probe);
    c->form_stride = (x->codes.form_bytes + 31) / 32 * 32;
    c->memory = NULL;
    carve_all(c);
}

/*
 * A limit for selections of many lists: centroids stand in no order, so the first ones are a sample of all, and a place
 * well behind the expected one in the sample is behind the last list wanted. Where it is not, all are looked at again.
 */
static void sample_limits(const struct chunk *c, const float *queries, size_t n, struct topk *tops)
{
    const struct ivf *x = c->x;
    const size_t sample = min_size(COARSE_SAMPLE, x->lists.n_lists);
    const double expected = (double)sample * (double)c->n_probe / (double)x->lists.n_lists;
    const size_t place = (size_t)(expected + 2.5 * sqrt(expected)) + 2;
    struct topk_item items[COARSE_CHUNK][COARSE_SAMPLE];
    struct topk first[COARSE_CHUNK];

    if (c->n_probe <= COARSE_SORTED || place >= sample * 3 / 4) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        topk_init(&first[i], place, items[i], COARSE_SAMPLE);
    }
    tile_search(&x->panels, 0, sample, 0, queries, n, ivf_is_l2(x), first);
    for (size_t i = 0; i < n; i++) {
        float farthest = -INFINITY;

        topk_select(&first[i]);
        for (size_t j = 0; j < first[i].n; j++) {
            farthest = items[i][j].distance > farthest ? items[i][j].distance : farthest;
        }
        tops[i].limit = farthest;
    }
}

static void choose_lists(struct chunk *c)
{
    const struct ivf *x = c->x;
    const bool is_sorted = c->n < GROUPED_MIN; /* nearest first */
    struct topk tops[COARSE_CHUNK];

    for (size_t at = 0; at < c->n; at += COARSE_CHUNK) {
        const size_t n = min_size(COARSE_CHUNK, c->n - at);
        const float *queries = c->queries + at * x->store.dim;

        for (size_t i = 0; i < n; i++) {
            topk_init(&tops[i], c->n_probe, c->coarse + i * c->coarse_room, c->coarse_room);
        }
        sample_limits(c, queries, n, tops);
        tile_search(&x->panels, 0, x->panels.n, 0, queries, n, ivf_is_l2(x), tops);
        for (size_t i = 0; i < n; i++) {
            if ((is_sorted ? topk_finish(&tops[i]) : topk_select(&tops[i])) < c->n_probe) {
                topk_init(&tops[i], c->n_probe, c->coarse + i * c->coarse_room, c->coarse_room);
                tile_search(&x->panels, 0, x->panels.n, 0, queries + i * x->store.dim, 1, ivf_is_l2(x), &tops[i]);
                topk_finish(&tops[i]);
            }
            for (size_t j = 0; j < c->n_probe; j++) {
                c->lists[(at + i) * c->n_probe + j] = tops[i].items[j].id;
                c->bases[(at + i) * c->n_probe + j] = tops[i].items[j].distance;
            }
        }
    }
}

static void sort_pairs(struct chunk *c)
{
    const size_t n = c->n * c->n_probe;
    const uint32_t n_lists = c->x->lists.n_lists;

    memset(c->begin, 0, ((size_t)n_lists + 1) * sizeof *c->begin);
    for (size_t i = 0; i < n; i++) {
        c->begin[c->lists[i]]++;
    }
    for (size_t l = 0, at = 0; l < n_lists; l++) {
        const size_t here = c->begin[l];

        c->begin[l] = at;
        at += here;
    }
    for (size_t i = 0; i < n; i++) {
        c->order[c->begin[c->lists[i]]++] = (uint32_t)i;
    }
}

static bool may_give(const struct chunk *c, size_t slot)
{
    const uint32_t position = c->x->lists.positions[slot];

    return !index_bits_has(&c->x->removed, position) && index_filter_has(&c->s->filter, position);
}

static void scan_pair(struct chunk *c, size_t pair, bool is_filtered)
{
    const struct ivf *x = c->x;
    const struct ivf_lists *l = &x->lists;
    const size_t q = pair / c->n_probe;
    const uint32_t list = c->lists[pair], size = l->sizes[list];
    const float base = x->codes.quant == INDEX_QUANT_NONE ? 0 : c->bases[pair] + c->common[q];
    struct topk *top = &c->tops[q];
    float values[IVF_BLOCK];

    for (size_t block = l->begin[list], done = 0; done < size; block++, done += IVF_BLOCK) {
        uint32_t mask = ivf_codes_block(&x->codes, l->codes + block * l->block_bytes, l->bias + block * IVF_BLOCK,
                                        &c->coded[q], base, top->limit, values);

        mask &= size - done < IVF_BLOCK ? ((uint32_t)1 << (size - done)) - 1 : UINT32_MAX;
        for (; mask != 0; mask &= mask - 1) {
            const unsigned r = (unsigned)__builtin_ctz(mask);
            const size_t slot = block * IVF_BLOCK + r;

            if (!is_filtered || may_give(c, slot)) {
                topk_push(top, values[r], (uint32_t)slot);
            }
        }
    }
}

/* Candidates by the row kernels. */
static grebe_status rank_query(struct chunk *c, size_t q, uint32_t *positions, float *distances, grebe_error *err)
{
    const struct ivf *x = c->x;
    const struct index_store *s = &x->store;
    struct topk *t = &c->tops[q];
    const size_t n = topk_finish(t);

    for (size_t i = 0; i < n; i += 64) {
        const size_t here = min_size(64, n - i);
        uint32_t rows[64];
        float values[64];

        for (size_t j = 0; j < here; j++) {
            rows[j] = x->lists.positions[t->items[i + j].id];
            if (rows[j] >= s->n) {
                return GREBE_FAIL(err, GREBE_ECORRUPT, "lists: expected rows below %" PRIu64 ", found %u", s->n, rows[j]);
            }
        }
        s->ops->gather(c->forms + q * s->stride, s->rows, s->stride, rows, here, s->dim, values);
        index_exact_finish(s, values, here);
        for (size_t j = 0; j < here; j++) {
            t->items[i + j] = (struct topk_item){values[j], rows[j]};
        }
    }
    t->k = c->k;
    index_exact_write(t->items, topk_finish(t), c->s->k, positions, distances);
    return GREBE_OK;
}

static grebe_status take_query(struct chunk *c, const struct vector_rows *queries, size_t first, size_t i,
                               grebe_error *err)
{
    struct ivf *x = c->x;
    unsigned char *form = c->forms + i * x->store.stride;
    float *query = c->queries + i * x->store.dim;
    grebe_status st = index_store_query(&x->store, queries, first + i, form, err);

    if (st == GREBE_OK) {
        vector_to_f32(x->store.elem, form, x->store.dim, query);
        c->common[i] = ivf_codes_query(&x->codes, query, c->codes + i * c->form_stride, &c->coded[i]);
        topk_init(&c->tops[i], c->n_candidates, c->items + i * c->room, c->room);
    }
    return st;
}

static grebe_status search_chunk(struct chunk *c, const struct vector_rows *queries, size_t first, uint32_t *positions,
                                 float *distances, grebe_error *err)
{
    const bool is_filtered = c->x->removed.n_set > 0 || c->s->filter.words != NULL;
    const size_t pairs = c->n * c->n_probe;
    grebe_status st = GREBE_OK;

    c->memory = mem_alloc_aligned(c->x->base.ctx->a, c->bytes, MEM_ALIGN_VECTOR);
    if (c->memory == NULL) {
        return mem_fail(err, c->bytes, "queries");
    }
    carve_all(c);
    for (size_t i = 0; i < c->n; i++) {
        GREBE_TRY(take_query(c, queries, first, i, err));
    }
    choose_lists(c);
    if (c->n >= GROUPED_MIN) {
        sort_pairs(c);
    }
    for (size_t i = 0; i < pairs; i++) {
        scan_pair(c, c->n >= GROUPED_MIN ? c->order[i] : i, is_filtered);
    }
    for (size_t i = 0; i < c->n; i++) {
        GREBE_TRY(rank_query(c, i, positions + i * c->s->k, distances + i * c->s->k, err));
    }
out:
    mem_free_aligned(c->x->base.ctx->a, c->memory, c->bytes, MEM_ALIGN_VECTOR);
    return st;
}

/* ---- all chunks ---- */

struct search_work {
    struct ivf *x;
    const struct vector_rows *queries;
    const struct index_search *s;
    const struct ivf_search_params *p;
    size_t chunk;
    uint32_t *positions;
    float *distances;
};

static grebe_status search_piece(void *arg, size_t i, grebe_error *err)
{
    const struct search_work *w = arg;
    const size_t first = i * w->chunk;
    struct chunk c;

    chunk_shape(&c, w->x, w->s, w->p, min_size(w->chunk, (size_t)w->queries->n - first));
    return search_chunk(&c, w->queries, first, w->positions + first * w->s->k, w->distances + first * w->s->k, err);
}

size_t ivf_candidates(const struct ivf *x, const struct ivf_search_params *p, size_t k)
{
    static const double factors[] = {[INDEX_QUANT_NONE] = 1, [INDEX_QUANT_SQ8] = 1.3, [INDEX_QUANT_SQ4] = 2,
                                     [INDEX_QUANT_PQ4] = 8, [INDEX_QUANT_RABITQ] = 16};
    const double factor = p->k_factor > 0 ? p->k_factor : factors[x->codes.quant];
    const double n = ceil((double)k * factor) + (p->k_factor > 0 ? 0 : 4);

    return n < (double)x->store.n ? max_size((size_t)n, k) : (size_t)x->store.n;
}

/* Where few rows pass, more lists hold as many of them. */
static uint32_t probes_under_filter(const struct ivf *x, const struct index_search *s, uint32_t nprobe)
{
    const double share = (double)s->filter.n_set / (double)x->store.n;
    const double wanted = share > 0 ? (double)nprobe / share : (double)x->lists.n_lists;

    if (s->filter.words == NULL || nprobe >= x->lists.n_lists) {
        return nprobe;
    }
    return wanted < (double)x->lists.n_lists ? (uint32_t)wanted : x->lists.n_lists;
}

/* A plain scan of the rows that pass costs less than the lists, and misses nothing. */
static bool is_exact_cheaper(const struct ivf *x, const struct index_search *s, uint64_t n_queries, uint32_t nprobe)
{
    const double code_ns = 2 + 0.03 * (double)x->store.dim;
    const double scanned = (double)x->store.n / x->lists.n_lists * (double)min_u64(nprobe, x->lists.n_lists);

    return s->filter.words != NULL &&
           index_exact_cost(&x->store, min_u64(s->filter.n_set, x->store.n), n_queries) <= scanned * code_ns;
}

/* Queries whose lists gave less than there is under the filter are searched exactly. */
static grebe_status fill_short(struct ivf *x, const struct vector_rows *queries, const struct index_search *s,
                               uint32_t *positions, float *distances, grebe_error *err)
{
    const uint64_t there = min_u64(s->filter.n_set, s->k);
    grebe_status st = GREBE_OK;

    for (size_t q = 0; st == GREBE_OK && q < queries->n; q++) {
        const struct vector_rows one = {(const char *)queries->data + q * queries->stride, queries->stride, 1,
                                        queries->dim, queries->elem};

        if (there > 0 && positions[q * s->k + there - 1] == UINT32_MAX) {
            st = index_exact_search(x->base.ctx, &x->store, &x->removed, &one, s, positions + q * s->k,
                                    distances + q * s->k, err);
        }
    }
    return st;
}

grebe_status ivf_search(struct ivf *x, const struct vector_rows *queries, const struct index_search *s,
                        const struct ivf_search_params *p, uint32_t *positions, float *distances, grebe_error *err)
{
    struct ivf_search_params filtered = *p;
    struct search_work w = {x, queries, s, &filtered, CHUNK_MAX, positions, distances};
    const size_t threads = max_size(s->call.threads, 1);
    struct chunk one;
    grebe_status st;

    filtered.nprobe = probes_under_filter(x, s, p->nprobe);
    if (p->nprobe < x->lists.n_lists && is_exact_cheaper(x, s, queries->n, filtered.nprobe)) {
        return index_exact_search(x->base.ctx, &x->store, &x->removed, queries, s, positions, distances, err);
    }
    chunk_shape(&one, x, s, &filtered, 1);
    w.chunk = min_size(min_size(CHUNK_MAX, max_size(CHUNK_BYTES / one.bytes, 1)),
                       ((size_t)queries->n + threads - 1) / threads);
    st = parallel_for(x->base.ctx->pool, s->call.threads, ((size_t)queries->n + w.chunk - 1) / w.chunk, search_piece, &w,
                      s->call.cancel, err);
    return st == GREBE_OK && s->filter.words != NULL ? fill_short(x, queries, s, positions, distances, err) : st;
}
