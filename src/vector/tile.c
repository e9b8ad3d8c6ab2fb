/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/tile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/cpu.h"
#include "vector/tile_internal.h"

enum { BLOCK_BYTES = 160 << 10 }; /* of panels, while all queries pass over them: a part of the second-level cache */

/* ---- packing ---- */

grebe_status tile_rows_init(const grebe_allocator *a, uint32_t dim, uint64_t capacity, struct tile_rows *out,
                            grebe_error *err)
{
    const uint64_t rows = (capacity + TILE_PANEL - 1) / TILE_PANEL * TILE_PANEL;
    size_t bytes = 0;
    grebe_status st = GREBE_OK;

    *out = (struct tile_rows){.a = a, .dim = dim, .panel = TILE_PANEL};
    if (dim == 0 || rows > SIZE_MAX / 64 || !checked_mul_size((size_t)rows * sizeof(float), dim, &bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "panels of %llu rows of %u components: expected to fit in memory",
                          (unsigned long long)capacity, dim);
    }
    out->panels = mem_alloc_aligned(a, bytes, MEM_ALIGN_VECTOR);
    out->norms = mem_alloc_aligned(a, (size_t)rows * sizeof(float), MEM_ALIGN_VECTOR);
    out->scratch = mem_alloc_aligned(a, TILE_PANEL * sizeof(float) * dim, MEM_ALIGN_VECTOR);
    out->bytes = bytes;
    out->capacity = rows;
    if (out->panels == NULL || out->norms == NULL || out->scratch == NULL) {
        st = mem_fail(err, bytes, "panels of rows");
        tile_rows_release(out);
    }
    return st;
}

void tile_rows_release(struct tile_rows *t)
{
    if (t->a != NULL) {
        mem_free_aligned(t->a, t->panels, t->bytes, MEM_ALIGN_VECTOR);
        mem_free_aligned(t->a, t->norms, (size_t)t->capacity * sizeof(float), MEM_ALIGN_VECTOR);
        mem_free_aligned(t->a, t->scratch, TILE_PANEL * sizeof(float) * t->dim, MEM_ALIGN_VECTOR);
    }
    *t = (struct tile_rows){0};
}

static double square(const float *row, uint32_t dim)
{
    double s[4] = {0};
    uint32_t i = 0;

    for (; i + 4 <= dim; i += 4) {
        for (uint32_t j = 0; j < 4; j++) {
            s[j] += (double)row[i + j] * (double)row[i + j];
        }
    }
    for (; i < dim; i++) {
        s[0] += (double)row[i] * (double)row[i];
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

void tile_pack_panel(const float *const *rows, size_t n, uint32_t dim, float *panel, float *norms)
{
    if (n < TILE_PANEL) {
        memset(panel, 0, (size_t)dim * TILE_PANEL * sizeof *panel);
        memset(norms, 0, TILE_PANEL * sizeof *norms);
    }
    for (size_t r = 0; r < n; r++) {
        const float *row = rows[r];

        norms[r] = (float)square(row, dim);
        for (uint32_t d = 0; d < dim; d++) {
            panel[(size_t)d * TILE_PANEL + r] = row[d];
        }
    }
}

void tile_rows_fill(struct tile_rows *t, const struct vector_rows *rows, const uint32_t *positions, uint64_t first,
                    uint64_t n)
{
    const unsigned char *data = rows->data;
    float norm_max = 0;

    assert(n <= t->capacity && rows->dim == t->dim);
    for (uint64_t i = 0; i < n; i += TILE_PANEL) {
        const size_t here = (size_t)min_u64(TILE_PANEL, n - i);
        const float *from[TILE_PANEL];

        for (size_t r = 0; r < here; r++) {
            const uint64_t at = positions == NULL ? first + i + r : positions[first + i + r];
            const unsigned char *row = data + (size_t)at * rows->stride;

            from[r] = t->scratch + r * t->dim;
            if (rows->elem == VECTOR_F32 && (uintptr_t)row % sizeof(float) == 0) {
                from[r] = (const float *)(const void *)row;
            } else {
                vector_to_f32(rows->elem, row, t->dim, t->scratch + r * t->dim);
            }
        }
        tile_pack_panel(from, here, t->dim, t->panels + (size_t)i * t->dim, t->norms + i);
        for (size_t r = 0; r < here; r++) {
            norm_max = t->norms[i + r] > norm_max || isnan(t->norms[i + r]) ? t->norms[i + r] : norm_max;
        }
    }
    t->n = n;
    t->norm_max = sqrtf(norm_max) * (1 + 0x1p-22f);
}

grebe_status tile_rows_pack(const grebe_allocator *a, const struct vector_rows *rows, struct tile_rows *out,
                            grebe_error *err)
{
    grebe_status st = tile_rows_init(a, rows->dim, rows->n, out, err);

    if (st == GREBE_OK) {
        tile_rows_fill(out, rows, NULL, 0, rows->n);
    }
    return st;
}

double tile_error(uint32_t dim, double query_norm, double row_norm, bool is_l2)
{
    const double unit = 0x1p-24, product = query_norm * row_norm;
    /* a chain of `dim` fused steps; Higham, Accuracy and Stability, 3.1 */
    const double chain = 1.01 * dim * unit * product + dim * 0x1p-149;

    return is_l2 ? 2 * chain + 2 * unit * (row_norm * row_norm + 2 * product) : chain;
}

/* ---- kernels ---- */

static void values_scalar(const float *panels, const float *norms, uint32_t dim, const float *query, size_t n,
                          float *values)
{
    for (size_t p = 0; p < n; p++) {
        const float *panel = panels + p * TILE_PANEL * dim;
        float *out = values + p * TILE_PANEL;
        float dot[TILE_PANEL] = {0};

        for (uint32_t d = 0; d < dim; d++) {
            for (size_t r = 0; r < TILE_PANEL; r++) {
                dot[r] += query[d] * panel[(size_t)d * TILE_PANEL + r];
            }
        }
        for (size_t r = 0; r < TILE_PANEL; r++) {
            out[r] = norms == NULL ? -dot[r] : norms[p * TILE_PANEL + r] - 2 * dot[r];
        }
    }
}

static bool panel_scalar(const float *panel, const float *norms, uint32_t dim, const float *const *queries, size_t n,
                         const float *limits, float *values, uint16_t *masks)
{
    bool is_hit = false;

    for (size_t q = 0; q < n; q++) {
        masks[q] = 0;
        values_scalar(panel, norms, dim, queries[q], 1, values + q * TILE_PANEL);
        for (size_t r = 0; r < TILE_PANEL; r++) {
            masks[q] = (uint16_t)(masks[q] | (!(values[q * TILE_PANEL + r] > limits[q])) << r);
        }
        is_hit = is_hit || masks[q] != 0;
    }
    return is_hit;
}

const struct tile_kernels tile_kernels_scalar = {panel_scalar, values_scalar};

const struct tile_kernels *tile_kernels_of(int level)
{
    if (!cpu_simd_has((enum cpu_simd)level)) {
        return NULL;
    }
    return level == CPU_SCALAR ? &tile_kernels_scalar : tile_kernels_avx2();
}

static const struct tile_kernels *kernels(void)
{
    const struct tile_kernels *k = tile_kernels_of((int)cpu_simd_level());

    return k != NULL ? k : &tile_kernels_scalar;
}

/* ---- search ---- */

/* Rows [begin, end) of a panel are wanted. */
static void push_hits(const float *values, const uint16_t *masks, size_t n, uint32_t first_id, uint16_t wanted,
                      struct topk *const *tops)
{
    for (size_t q = 0; q < n; q++) {
        for (unsigned mask = masks[q] & wanted; mask != 0; mask &= mask - 1) {
            const unsigned r = (unsigned)__builtin_ctz(mask);

            topk_push(tops[q], values[q * TILE_PANEL + r], first_id + r);
        }
    }
}

/* Which rows of the panel that begins at `at` lie in [begin, end). */
static uint16_t rows_wanted(uint64_t at, uint64_t begin, uint64_t end)
{
    unsigned mask = 0xffff;

    if (at < begin) {
        mask &= 0xffffu << (begin - at);
    }
    if (at + TILE_PANEL > end) {
        mask &= 0xffffu >> (at + TILE_PANEL - end);
    }
    return (uint16_t)mask;
}

/* One query: whole runs of values, then a vector compare with the limit. */
static void scan_one(const struct tile_kernels *k, const float *panels, const float *norms, uint64_t begin,
                     uint64_t end, uint32_t dim, uint32_t first_id, const float *query, struct topk *top)
{
    enum { RUN = 8 };
    float values[RUN * TILE_PANEL];

    for (uint64_t at = begin / TILE_PANEL * TILE_PANEL; at < end; at += RUN * TILE_PANEL) {
        const size_t n = (size_t)min_u64(RUN, (end - at + TILE_PANEL - 1) / TILE_PANEL);
        const size_t skip = at < begin ? (size_t)(begin - at) : 0;
        const size_t stop = (size_t)min_u64(n * TILE_PANEL, end - at);

        k->values(panels + (size_t)at * dim, norms == NULL ? NULL : norms + at, dim, query, n, values);
        topk_push_many(top, values + skip, stop - skip, first_id + (uint32_t)(at + skip));
    }
}

static void scan_group(const struct tile_kernels *k, const float *panels, const float *norms, uint64_t begin,
                       uint64_t end, uint32_t dim, uint32_t first_id, const float *const *queries, size_t n,
                       struct topk *const *tops)
{
    float values[TILE_QUERIES * TILE_PANEL], limits[TILE_QUERIES];
    uint16_t masks[TILE_QUERIES];

    if (n == 1) {
        scan_one(k, panels, norms, begin, end, dim, first_id, queries[0], tops[0]);
        return;
    }
    for (size_t q = 0; q < n; q++) {
        limits[q] = tops[q]->limit;
    }
    for (uint64_t at = begin / TILE_PANEL * TILE_PANEL; at < end; at += TILE_PANEL) {
        if (k->panel(panels + (size_t)at * dim, norms == NULL ? NULL : norms + at, dim, queries, n, limits, values,
                     masks)) {
            push_hits(values, masks, n, first_id + (uint32_t)at, rows_wanted(at, begin, end), tops);
            for (size_t q = 0; q < n; q++) {
                limits[q] = tops[q]->limit;
            }
        }
    }
}

void tile_scan(const float *panels, const float *norms, size_t n_rows, uint32_t dim, uint32_t first_id,
               const float *const *queries, size_t n, struct topk *const *tops)
{
    const struct tile_kernels *k = kernels();

    for (size_t q = 0; q < n; q += TILE_QUERIES) {
        scan_group(k, panels, norms, 0, n_rows, dim, first_id, queries + q, min_size(TILE_QUERIES, n - q), tops + q);
    }
}

void tile_search(const struct tile_rows *rows, uint64_t begin, uint64_t end, uint32_t first_id, const float *queries,
                 size_t n, bool is_l2, struct topk *tops)
{
    const struct tile_kernels *k = kernels();
    const uint64_t panel_bytes = (uint64_t)TILE_PANEL * rows->dim * sizeof(float);
    const uint64_t block = (BLOCK_BYTES / panel_bytes + 1) * TILE_PANEL;

    assert(begin <= end && end <= rows->n);
    for (uint64_t at = begin / TILE_PANEL * TILE_PANEL; at < end; at += block) {
        const uint64_t from = at < begin ? begin : at, to = min_u64(end, at + block);

        for (size_t q = 0; q < n; q += TILE_QUERIES) {
            const size_t here = min_size(TILE_QUERIES, n - q);
            const float *group[TILE_QUERIES];
            struct topk *into[TILE_QUERIES];

            for (size_t i = 0; i < here; i++) {
                group[i] = queries + (q + i) * rows->dim;
                into[i] = tops + q + i;
            }
            scan_group(k, rows->panels, is_l2 ? rows->norms : NULL, from, to, rows->dim, first_id, group, here, into);
        }
    }
}

void tile_values(const float *panels, const float *norms, size_t n_rows, uint32_t dim, const float *query, float *out)
{
    kernels()->values(panels, norms, dim, query, (n_rows + TILE_PANEL - 1) / TILE_PANEL, out);
}
