/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a chunk of edges those of the range are picked first, without branches; then the places of all are taken; then
 * records are made of them, field by field; then these are dealt out. A piece gets some records at a time, so that
 * memory is written to by the line.
 */
#include "graph/csc_gather.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/checked.h"

enum {
    BATCH_BYTES = 16 << 10, /* stay in the first cache */
    STAGE_BYTES = 64        /* a line */
};

/*
 * Copies what is not looked at again soon: lines that are written past the caches need not be read first. Only this
 * thread reads them, so there is no fence.
 */
static inline void copy_away(unsigned char *dst, const unsigned char *src, size_t n)
{
#ifdef __SSE2__
    if (n % 16 == 0 && (uintptr_t)dst % 16 == 0 && (uintptr_t)src % 16 == 0) {
        for (size_t i = 0; i < n; i += 16) {
            _mm_stream_si128((__m128i *)(void *)(dst + i), _mm_load_si128((const __m128i *)(const void *)(src + i)));
        }
        return;
    }
#endif
    memcpy(dst, src, n);
}

/* ---- a chunk ---- */

/* A chunk of edges of one file. */
struct chunk {
    const unsigned char *sources, *destinations;
    size_t n, type;
    uint64_t low, n_low; /* destinations that are of the range: [low, low + n_low) */
    int64_t row;         /* of the first in the file */
};

static inline int64_t id_at(const unsigned char *ids, size_t i, size_t width)
{
    return width == 4 ? ((const int32_t *)(const void *)ids)[i] : ((const int64_t *)(const void *)ids)[i];
}

static inline size_t pick(const struct chunk *c, size_t width, uint32_t *picked)
{
    size_t n = 0;
    for (size_t k = 0; k < c->n; k++) {
        picked[n] = (uint32_t)k;
        n += (uint64_t)id_at(c->destinations, k, width) - c->low < c->n_low;
    }
    return n;
}

/* Takes the places of picked edges. False: more edges than were counted. */
static inline bool take_places(struct csc_gather *g, const struct chunk *c, size_t width, size_t n)
{
    const uint64_t begin = (uint64_t)g->range.edge_begin, all = (uint64_t)g->range.edge_end - begin;
    int64_t *ends = g->b->ends + g->b->destination_offset[c->type];
    uint64_t sum = 0;
    bool is_inside = true;
    for (size_t k = 0; k < n; k++) {
        uint64_t v = (uint64_t)id_at(c->destinations, g->picked[k], width);
        if (v - c->low >= c->n_low) { /* the file is being written to */
            return false;
        }
        uint64_t at = (uint64_t)ends[v]++ - begin;
        is_inside &= at < all;
        sum += at;
        g->places[k] = (size_t)at;
    }
    g->sum += sum;
    return is_inside;
}

/* ---- records of picked edges [begin, begin + n) ---- */

static inline void put_number(unsigned char *dst, uint64_t v, size_t width)
{
    if (width == 4) {
        memcpy(dst, &(uint32_t){ (uint32_t)v }, 4);
    } else {
        memcpy(dst, &v, 8);
    }
}

static void put_words(const struct csc_gather *g, const struct chunk *c, size_t begin, size_t n)
{
    const struct csc_field f = g->b->fields[CSC_TYPES];
    const size_t mask = ((size_t)1 << g->b->piece_shift) - 1, bytes = g->b->record_bytes;
    const size_t type = f.made > 0 && f.width == 0 ? c->type << CSC_PLACE_BITS : 0;
    for (size_t k = 0; k < n; k++) {
        put_number(g->batch + k * bytes, (g->places[begin + k] & mask) | type, 4);
    }
}

/* False: one is not a node of the type. */
static inline bool put_sources(const struct csc_gather *g, const struct chunk *c, size_t width, size_t begin, size_t n)
{
    const struct csc_build *b = g->b;
    const struct csc_field f = b->fields[CSC_INDICES];
    const uint64_t bound = (uint64_t)b->files[c->type].n_sources, offset = (uint64_t)b->source_offset[c->type];
    unsigned char *dst = g->batch + f.at;
    bool is_inside = true;
    for (size_t k = 0; k < n; k++, dst += b->record_bytes) {
        uint64_t v = (uint64_t)id_at(c->sources, g->picked[begin + k], width);
        is_inside &= v < bound;
        put_number(dst, v + offset, f.width);
    }
    return is_inside;
}

static void put_rows(const struct csc_gather *g, const struct chunk *c, size_t begin, size_t n)
{
    const struct csc_field f = g->b->fields[CSC_EDGE_IDS];
    unsigned char *dst = g->batch + f.at;
    for (size_t k = 0; k < n; k++, dst += g->b->record_bytes) {
        put_number(dst, (uint64_t)c->row + g->picked[begin + k], f.width);
    }
}

static void put_type(const struct csc_gather *g, const struct chunk *c, size_t n)
{
    unsigned char *dst = g->batch + g->b->fields[CSC_TYPES].at;
    for (size_t k = 0; k < n; k++, dst += g->b->record_bytes) {
        put_number(dst, c->type, 4);
    }
}

/* Rows of an attribute; `rows` begins with that of the chunk's first edge. */
static inline void put_values(unsigned char *dst, size_t record_bytes, const unsigned char *rows,
                              const uint32_t *picked, size_t n, size_t width)
{
    for (size_t k = 0; k < n; k++, dst += record_bytes) {
        memcpy(dst, rows + (size_t)picked[k] * width, width);
    }
}

static void put_column(const struct csc_gather *g, const struct chunk *c, size_t i, size_t begin, size_t n)
{
    const struct csc_column *x = &g->b->columns[i];
    const unsigned char *rows = x->parts[c->type].data + (size_t)c->row * x->width;
    const uint32_t *picked = g->picked + begin;
    const size_t bytes = g->b->record_bytes;
    unsigned char *dst = g->batch + g->b->fields[CSC_COLUMNS + i].at;
    switch (x->width) { /* widths that are known make copies that are one instruction */
    case 1: put_values(dst, bytes, rows, picked, n, 1); break;
    case 2: put_values(dst, bytes, rows, picked, n, 2); break;
    case 4: put_values(dst, bytes, rows, picked, n, 4); break;
    case 8: put_values(dst, bytes, rows, picked, n, 8); break;
    default: put_values(dst, bytes, rows, picked, n, x->width); break;
    }
}

static inline bool put_batch(const struct csc_gather *g, const struct chunk *c, size_t width, size_t begin, size_t n)
{
    put_words(g, c, begin, n);
    bool is_right = put_sources(g, c, width, begin, n);
    if (g->b->fields[CSC_TYPES].width > 0) {
        put_type(g, c, n);
    }
    if (g->b->fields[CSC_EDGE_IDS].width > 0) {
        put_rows(g, c, begin, n);
    }
    for (size_t i = 0; i < g->b->n_moved; i++) {
        put_column(g, c, i, begin, n);
    }
    return is_right;
}

/* ---- dealt out ---- */

static size_t piece_edges(const struct csc_gather *g, size_t piece)
{
    return (size_t)csc_piece_edges(g->b, &g->range, g->range.edge_begin + (int64_t)(piece << g->b->piece_shift));
}

/* The last n records of a piece go from its stage to their place. False: these are more than were counted. */
static inline bool unload(const struct csc_gather *g, size_t piece, size_t n, size_t bytes, size_t room)
{
    size_t end = g->counts[piece];
    if (end > piece_edges(g, piece)) {
        return false;
    }
    copy_away(g->records->data + ((piece << g->b->piece_shift) + end - n) * bytes,
              g->stages->data + piece * room * bytes, n * bytes);
    return true;
}

/* @param room Records of a stage. */
static inline bool deal(const struct csc_gather *g, size_t begin, size_t n, size_t bytes, size_t room)
{
    const unsigned char *record = g->batch;
    for (size_t k = 0; k < n; k++, record += bytes) {
        size_t piece = g->places[begin + k] >> g->b->piece_shift, at = g->counts[piece]++ % room;
        memcpy(g->stages->data + (piece * room + at) * bytes, record, bytes);
        if (at == room - 1 && !unload(g, piece, room, bytes, room)) {
            return false;
        }
    }
    return true;
}

/* Records of which a stage would hold one go to their place at once: as many stages as pieces are as much memory as the records. */
static bool deal_large(const struct csc_gather *g, size_t begin, size_t n)
{
    const size_t bytes = g->b->record_bytes;
    const unsigned char *record = g->batch;
    for (size_t k = 0; k < n; k++, record += bytes) {
        const size_t piece = g->places[begin + k] >> g->b->piece_shift, at = g->counts[piece]++;
        if (at >= piece_edges(g, piece)) {
            return false;
        }
        memcpy(g->records->data + ((piece << g->b->piece_shift) + at) * bytes, record, bytes);
    }
    return true;
}

/* A power of two of records that are not more than STAGE_BYTES, one at least. */
static size_t stage_records(size_t record_bytes)
{
    size_t n = 1;
    while (n * 2 * record_bytes <= STAGE_BYTES) {
        n *= 2;
    }
    return n;
}

static bool deal_batch(const struct csc_gather *g, size_t begin, size_t n)
{
    switch (g->b->record_bytes) { /* those of the usual arrays: copies without a call */
    case 8: return deal(g, begin, n, 8, STAGE_BYTES / 8);
    case 12: return deal(g, begin, n, 12, STAGE_BYTES / 16);
    case 16: return deal(g, begin, n, 16, STAGE_BYTES / 16);
    case 20: return deal(g, begin, n, 20, STAGE_BYTES / 32);
    default:
        return g->stage_records > 1 ? deal(g, begin, n, g->b->record_bytes, g->stage_records) : deal_large(g, begin, n);
    }
}

/* False: the chunk holds what cannot be. */
static inline bool gather_chunk(struct csc_gather *g, const struct chunk *c, size_t width)
{
    size_t n = pick(c, width, g->picked);
    if (!take_places(g, c, width, n)) {
        return false;
    }
    for (size_t at = 0; at < n; at += g->batch_edges) {
        size_t some = min_size(g->batch_edges, n - at);
        if (!put_batch(g, c, width, at, some)) {
            return false;
        }
        if (!(csc_is_list(&g->range) ? g->list(g->list_arg, g->batch, some) : deal_batch(g, at, some))) {
            return false;
        }
    }
    return true;
}

bool csc_gather_block(struct csc_gather *g, size_t type, const struct graph_edge_view *v, int64_t row)
{
    const struct csc_build *b = g->b;
    int64_t offset = b->destination_offset[type];
    int64_t low = max_i64(g->range.node_begin - offset, 0),
            high = min_i64(g->range.node_end - offset, b->files[type].n_destinations);
    for (size_t at = 0; low < high && at < v->n; at += CSC_CHUNK_EDGES) {
        const struct chunk c = { v->sources + at * v->width, v->destinations + at * v->width,
                                 min_size(CSC_CHUNK_EDGES, v->n - at), type,
                                 (uint64_t)low, (uint64_t)(high - low),
                                 row + (int64_t)at };
        if (!(v->width == 4 ? gather_chunk(g, &c, 4) : gather_chunk(g, &c, 8))) {
            return false;
        }
    }
    return true;
}

/* ---- a range ---- */

static size_t n_pieces_of(const struct csc_build *b, const struct csc_bounds *r)
{
    uint64_t n = (uint64_t)(r->edge_end - r->edge_begin);
    return (size_t)((n + ((uint64_t)1 << b->piece_shift) - 1) >> b->piece_shift);
}

grebe_status csc_gather_open(const struct csc_build *b, struct csc_gather *out, grebe_error *err)
{
    struct arena *ar = &b->m->arena;
    size_t n_pieces = 0, bytes = 0;
    *out = (struct csc_gather){ .b = b, .stage_records = stage_records(b->record_bytes) };
    for (size_t i = 0; i < b->n_ranges; i++) {
        n_pieces = max_size(n_pieces, n_pieces_of(b, &b->ranges[i]));
    }
    out->batch_edges = max_size(1, min_size(CSC_CHUNK_EDGES, BATCH_BYTES / b->record_bytes));
    out->counts = arena_array(ar, n_pieces, sizeof *out->counts);
    out->picked = arena_array(ar, CSC_CHUNK_EDGES, sizeof *out->picked);
    out->places = arena_array(ar, CSC_CHUNK_EDGES, sizeof *out->places);
    out->batch = arena_array(ar, out->batch_edges, b->record_bytes);
    if (out->counts == NULL || out->picked == NULL || out->places == NULL || out->batch == NULL) {
        return mem_fail(err, CSC_CHUNK_EDGES * sizeof *out->places, b->m->shown);
    }
    if (out->stage_records == 1) {
        return GREBE_OK;
    }
    return checked_mul_size(n_pieces, out->stage_records * b->record_bytes, &bytes)
               ? region_new(b->m->ctx->a, bytes, &out->stages, err)
               : GREBE_FAIL(err, GREBE_ELIMIT, "%s: %zu pieces are more than memory can have", b->m->shown, n_pieces);
}

void csc_gather_close(struct csc_gather *g)
{
    region_drop(g->records);
    region_drop(g->stages);
    g->records = g->stages = NULL;
}

grebe_status csc_gather_begin(struct csc_gather *g, const struct csc_bounds *range, grebe_error *err)
{
    const struct csc_build *b = g->b;
    int64_t n = range->edge_end - range->edge_begin;
    size_t bytes = 0;
    g->range = *range;
    g->sum = 0;
    memset(g->counts, 0, n_pieces_of(b, range) * sizeof *g->counts);
    if (csc_is_list(range)) {
        return GREBE_OK;
    }
    n = max_i64(n, min_i64(b->range_edges, b->n_edges)); /* so that there is room for others too */
    if (!checked_mul_size((size_t)n, b->record_bytes, &bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %lld edges of one range are more bytes than memory can have",
                          b->m->shown, (long long)n);
    }
    if (g->records != NULL && g->records->len >= bytes) {
        return GREBE_OK;
    }
    region_drop(g->records);
    g->records = NULL;
    grebe_status st = region_new(b->m->ctx->a, bytes, &g->records, err);
    if (st == GREBE_OK) {
        mem_wish_large_pages(g->records->data, bytes);
    }
    return st;
}

bool csc_gather_end(struct csc_gather *g)
{
    const uint64_t n = (uint64_t)(g->range.edge_end - g->range.edge_begin);
    if (g->sum != (n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n)) { /* mod 2^64: 0 + 1 + … + n - 1 */
        return false; /* one place was taken twice, another was not */
    }
    for (size_t i = 0; !csc_is_list(&g->range) && i < n_pieces_of(g->b, &g->range); i++) {
        size_t left = g->counts[i] % g->stage_records;
        if (g->counts[i] != piece_edges(g, i) || (left > 0 && !unload(g, i, left, g->b->record_bytes, g->stage_records))) {
            return false;
        }
    }
    return true;
}
