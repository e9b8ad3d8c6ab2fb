/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_truth_internal.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "vector/distance.h"

/*
 * Rows of a block for a group of queries. Tiles give float32 values; a row can enter the list of a query only if its
 * value is at most `bound`: the value of the k-th distance so far and the largest error. Each query keeps k and some
 * candidates by value and ranks them in float64; if the last candidate lies within the bound of what was found, rows
 * may be missing, and all rows within the bound are ranked (many equal distances: rare).
 */

enum { RUN_ROWS = 256 };

static bool is_by_tiles(const struct truth_work *w) { return w->elem != VECTOR_BIT; }

/* Row i of the group in the block. */
static size_t position_of(const struct truth_group *g, size_t i)
{
    return g->positions == NULL ? i : g->positions[i];
}

static bool is_zero_row(const struct truth_work *w, const unsigned char *row)
{
    const size_t unit = vector_row_bytes(w->elem, 1);

    for (uint32_t c = 0; c < w->dim; c++) {
        float v;

        vector_to_f32(w->elem, row + c * unit, 1, &v);
        if (v != 0) {
            return false;
        }
    }
    return true;
}

static void push_exact(const struct truth_group *g, size_t query, size_t i)
{
    const struct truth_work *w = g->w;
    const size_t bytes = vector_row_bytes(w->elem, w->dim), at = position_of(g, i);
    const unsigned char *row = g->rows + at * bytes;
    double d = vector_distance_exact(w->metric, w->elem, w->stored + w->order[query] * bytes, row, w->dim);

    /* a zero row is exactly 1 away in an index; here it is no neighbour: docs/internals/ann_flat.md */
    if (w->metric == VECTOR_COSINE && d == 1.0 && (w->norms[query] == 0 || is_zero_row(w, row))) {
        d = INFINITY;
    }
    truth_list_push(&w->lists[query], d, g->first_row + at);
}

/* Largest value that can still enter the list of a query. */
static float bound_of(const struct truth_group *g, size_t query)
{
    const struct truth_work *w = g->w;
    const struct truth_list *l = &w->lists[query];
    const double q = w->norms[query], r = (double)g->norm_max, unit = 0x1p-24;
    double d, error, value;

    if (l->n < l->k || l->items[l->n - 1].distance == INFINITY) {
        return INFINITY;
    }
    d = l->items[l->n - 1].distance;
    switch (w->metric) {
    case VECTOR_EUCLIDEAN:
    case VECTOR_L2SQ:
        d = w->metric == VECTOR_EUCLIDEAN ? d * d : d;
        error = g->is_exact ? 0 : tile_error(w->dim, q, r, true) + 1e-14 * (d + q * q);
        value = g->is_exact ? rint(d - q * q) : d - q * q + error;
        break;
    case VECTOR_IP:
        error = g->is_exact ? 0 : tile_error(w->dim, q, r, false) + 1e-14 * (fabs(d) + 1);
        value = d - 1 + error;
        break;
    case VECTOR_COSINE: /* -2 cos of rows whose rounding to unit length costs a unit each */
        value = 2 * (d - 1) + 2 * tile_error(w->dim, 1.001, 1.001, false) + 8 * unit;
        break;
    case VECTOR_HAMMING:
        value = rint(d * (double)w->dim);
        break;
    default:
        value = d + 2 * unit;
        break;
    }
    return isnan(value) || value >= (double)INFINITY ? INFINITY : nextafterf((float)value, INFINITY);
}

/* ---- filling pieces ---- */

static void fill_unit_rows(struct truth_group *g, struct tile_rows *t, size_t first, size_t n)
{
    const struct truth_work *w = g->w;
    const size_t bytes = vector_row_bytes(w->elem, w->dim);

    for (size_t i = 0; i < n; i += TILE_PANEL) {
        const size_t here = min_size(TILE_PANEL, n - i);
        const float *from[TILE_PANEL];
        float norms[TILE_PANEL] = {0};

        for (size_t r = 0; r < here; r++) {
            float *row = t->scratch + r * w->dim;

            vector_to_f32(w->elem, g->rows + position_of(g, first + i + r) * bytes, w->dim, row);
            norms[r] = vector_normalise(row, w->dim, row);
            from[r] = row;
        }
        tile_pack_panel(from, here, w->dim, t->panels + i * w->dim, t->norms + i);
        for (size_t r = 0; r < TILE_PANEL; r++) { /* zero rows come last */
            t->norms[i + r] = r < here && norms[r] == 0 ? INFINITY : 0;
        }
    }
    t->n = n;
    t->norm_max = 1;
}

static grebe_status fill_piece(void *arg, size_t i, grebe_error *err)
{
    struct truth_group *g = arg;
    struct truth_work *w = g->w;
    const size_t bytes = vector_row_bytes(w->elem, w->dim), first = g->at + i * w->piece_rows;
    const struct vector_rows rows = {g->rows, bytes, UINT64_MAX, w->dim, w->elem};
    const size_t n = min_size(w->piece_rows, g->at + g->n_here - first);

    (void)err;
    if (w->metric == VECTOR_COSINE) {
        fill_unit_rows(g, &w->pieces[i], first, n);
    } else {
        tile_rows_fill(&w->pieces[i], &rows, g->positions, first, n);
    }
    return GREBE_OK;
}

static bool has_whole_rows(const struct truth_group *g)
{
    const struct truth_work *w = g->w;

    if (w->elem == VECTOR_I8 || w->elem == VECTOR_U8) {
        return true;
    }
    for (size_t p = 0; p < g->n_pieces; p++) {
        const struct tile_rows *t = &w->pieces[p];
        const size_t n = (size_t)((t->n + TILE_PANEL - 1) / TILE_PANEL) * TILE_PANEL * w->dim;

        for (size_t i = 0; i < n; i++) {
            if (t->panels[i] != truncf(t->panels[i])) {
                return false;
            }
        }
    }
    return true;
}

/* Sums of whole numbers below 2^24 have no rounding at all. */
static bool is_exact(const struct truth_group *g)
{
    const struct truth_work *w = g->w;
    double q = 0;

    if (!w->is_integral) {
        return false;
    }
    for (size_t i = g->query_begin; i < g->query_end; i++) {
        q = w->norms[i] > q || isnan(w->norms[i]) ? w->norms[i] : q;
    }
    return (double)g->norm_max * (double)g->norm_max + 2 * q * (double)g->norm_max < 0x1p24 && has_whole_rows(g);
}

/* ---- searching ---- */

/* Whether a row comes after the last candidate in the order of selections. */
static bool is_after(float value, uint32_t i, struct topk_item last)
{
    if (isnan(value) || isnan(last.distance)) {
        return isnan(value) && (!isnan(last.distance) || i > last.id);
    }
    return value > last.distance || (value == last.distance && i > last.id);
}

/* Values of rows [first, first + n) of the group, n <= RUN_ROWS, first at a whole run of its piece. */
static void values_of(const struct truth_group *g, size_t query, size_t first, size_t n, float *values)
{
    const struct truth_work *w = g->w;
    const size_t bytes = vector_row_bytes(w->elem, w->dim);

    if (is_by_tiles(w)) {
        const struct tile_rows *t = &w->pieces[(first - g->at) / w->piece_rows];
        const size_t in = (first - g->at) % w->piece_rows;

        tile_values(t->panels + in * w->dim,
                    w->metric <= VECTOR_L2SQ || w->metric == VECTOR_COSINE ? t->norms + in : NULL, n, w->dim,
                    w->queries + query * w->dim, values);
        return;
    }
    const struct vector_distance_ops *ops = vector_distance_ops(w->metric, w->elem);
    const unsigned char *stored = w->stored + w->order[query] * bytes;

    if (g->positions == NULL) {
        ops->many(stored, g->rows + first * bytes, bytes, n, w->dim, values);
    } else {
        ops->gather(stored, g->rows, bytes, g->positions + first, n, w->dim, values);
    }
}

/* All rows within the bound that are no candidates. */
static void search_rest(const struct truth_group *g, size_t query, float bound, struct topk_item last)
{
    const size_t end = g->at + g->n_here;
    float values[RUN_ROWS];

    for (size_t first = g->at; first < end;) {
        const size_t in_piece = is_by_tiles(g->w) ? g->w->piece_rows - (first - g->at) % g->w->piece_rows : RUN_ROWS;
        const size_t n = min_size(min_size(RUN_ROWS, in_piece), end - first);

        values_of(g, query, first, n, values);
        for (size_t i = 0; i < n; i++) {
            if (!(values[i] > bound) && is_after(values[i], (uint32_t)(first + i), last)) {
                push_exact(g, query, first + i);
            }
        }
        first += n;
    }
}

static void rank(const struct truth_group *g, size_t query, struct topk *t)
{
    const size_t found = topk_finish(t);
    float bound;

    for (size_t i = 0; i < found; i++) {
        push_exact(g, query, t->items[i].id);
    }
    if (g->is_exact || found < t->k || found == g->n_here) {
        return;
    }
    bound = bound_of(g, query);
    if (!(t->items[found - 1].distance > bound)) {
        search_rest(g, query, bound, t->items[found - 1]);
    }
}

static grebe_status search_chunk(void *arg, size_t chunk, grebe_error *err)
{
    struct truth_group *g = arg;
    struct truth_work *w = g->w;
    const size_t begin = g->query_begin + chunk * g->chunk, n = min_size(g->chunk, g->query_end - begin);
    struct topk tops[TRUTH_CHUNK_MAX];
    float values[RUN_ROWS];

    (void)err;
    for (size_t q = 0; q < n; q++) {
        topk_init(&tops[q], min_size(g->is_exact ? w->k : w->n_candidates, g->n_here),
                  w->candidates + (begin + q) * w->room, w->room);
        tops[q].limit = bound_of(g, begin + q);
    }
    for (size_t p = 0; is_by_tiles(w) && p < g->n_pieces; p++) {
        tile_search(&w->pieces[p], 0, w->pieces[p].n, (uint32_t)(g->at + p * w->piece_rows), w->queries + begin * w->dim,
                    n, w->metric <= VECTOR_L2SQ || w->metric == VECTOR_COSINE, tops);
    }
    for (size_t at = 0; !is_by_tiles(w) && at < g->n_here; at += RUN_ROWS) {
        const size_t here = min_size(RUN_ROWS, g->n_here - at);

        for (size_t q = 0; q < n; q++) {
            values_of(g, begin + q, g->at + at, here, values);
            topk_push_many(&tops[q], values, here, (uint32_t)(g->at + at));
        }
    }
    for (size_t q = 0; q < n; q++) {
        rank(g, begin + q, &tops[q]);
    }
    return GREBE_OK;
}

grebe_status truth_search_group(struct truth_group *g, grebe_error *err)
{
    struct truth_work *w = g->w;
    const uint32_t threads = w->call->threads;
    const size_t n = g->query_end - g->query_begin;
    grebe_status st = GREBE_OK;

    g->chunk = min_size((n / (threads == 0 ? 1 : threads) + 6) / 6 * 6, TRUTH_CHUNK_MAX);
    for (g->at = 0; g->at < g->n_rows && n > 0; g->at += g->n_here) {
        g->n_here = g->n_rows - g->at;
        g->is_exact = w->metric == VECTOR_HAMMING;
        if (is_by_tiles(w)) {
            g->n_here = min_size(g->n_here, TRUTH_PIECES * w->piece_rows);
            g->n_pieces = (g->n_here + w->piece_rows - 1) / w->piece_rows;
            GREBE_TRY(parallel_for(w->ctx->pool, threads, g->n_pieces, fill_piece, g, w->call->cancel, err));
            g->norm_max = 0;
            for (size_t p = 0; p < g->n_pieces; p++) {
                const float norm = w->pieces[p].norm_max;

                g->norm_max = norm > g->norm_max || isnan(norm) ? norm : g->norm_max;
            }
            g->is_exact = is_exact(g);
        }
        GREBE_TRY(parallel_for(w->ctx->pool, threads, (n + g->chunk - 1) / g->chunk, search_chunk, g, w->call->cancel,
                               err));
    }
out:
    return st;
}
