/* SPDX-License-Identifier: Apache-2.0 */
#include "index/sparse_lists.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"

enum { PART_ALIGN = 64, N_PARTS = 5 };

/* Where the parts begin, and (last) how long the block is. */
static bool layout(uint32_t n_terms, uint32_t n_postings, size_t at[N_PARTS + 1])
{
    const size_t unit[N_PARTS] = { 4, 4, 4, 2, 1 };
    const size_t count[N_PARTS] = { n_terms, (size_t)n_terms + 1, n_terms, n_postings, n_postings };
    at[0] = 0;
    for (int i = 0; i < N_PARTS; i++) {
        size_t bytes = 0;
        if (!checked_mul_size(count[i], unit[i], &bytes) || !checked_add_size(bytes, PART_ALIGN - 1, &bytes) ||
            !checked_add_size(at[i], bytes / PART_ALIGN * PART_ALIGN, &at[i + 1])) {
            return false;
        }
    }
    return checked_add_size(at[N_PARTS], PART_ALIGN, &at[N_PARTS]);
}

size_t sparse_window_bytes(uint32_t n_terms, uint32_t n_postings)
{
    size_t at[N_PARTS + 1];
    return layout(n_terms, n_postings, at) ? at[N_PARTS] : 0;
}

void sparse_window_attach(struct sparse_window *w, const void *block)
{
    size_t at[N_PARTS + 1] = { 0 };
    const unsigned char *b = block;
    layout(w->n_terms, w->n_postings, at);
    w->bytes = at[N_PARTS];
    w->terms = (const uint32_t *)(const void *)(b + at[0]);
    w->begin = (const uint32_t *)(const void *)(b + at[1]);
    w->scale = (const float *)(const void *)(b + at[2]);
    w->rows = (const uint16_t *)(const void *)(b + at[3]);
    w->codes = b + at[4];
}

/* ---- building: postings sorted by term, rows stay in order ---- */

struct posting {
    uint32_t term;
    float value;
    uint32_t row;
};

/* Least significant byte first; bytes that are the same in all are passed over. @return Where the sorted ones stand. */
static struct posting *sort_by_term(struct posting *p, struct posting *spare, size_t n)
{
    for (unsigned shift = 0; shift < 32; shift += 8) {
        size_t count[256] = { 0 }, at = 0;
        for (size_t i = 0; i < n; i++) {
            count[(p[i].term >> shift) & 255]++;
        }
        if (count[(p[0].term >> shift) & 255] == n) {
            continue;
        }
        for (size_t b = 0; b < 256; b++) {
            size_t c = count[b];
            count[b] = at;
            at += c;
        }
        for (size_t i = 0; i < n; i++) {
            spare[count[(p[i].term >> shift) & 255]++] = p[i];
        }
        struct posting *swap = p;
        p = spare;
        spare = swap;
    }
    return p;
}

static uint32_t count_terms(const struct posting *p, size_t n)
{
    uint32_t terms = 0;
    for (size_t i = 0; i < n; i++) {
        terms += i == 0 || p[i].term != p[i - 1].term;
    }
    return terms;
}

/* One term's postings [b, e) as codes. */
static void encode(const struct posting *p, size_t b, size_t e, bool is_signed, uint16_t *rows, uint8_t *codes,
                   float *scale)
{
    float largest = 0;
    for (size_t i = b; i < e; i++) {
        float v = fabsf(p[i].value);
        largest = v > largest ? v : largest;
    }
    double unit = largest > 0 ? (is_signed ? 127.0 : 255.0) / (double)largest : 0;
    for (size_t i = b; i < e; i++) {
        rows[i] = (uint16_t)p[i].row;
        codes[i] = (uint8_t)lrint((double)p[i].value * unit); /* a negative code as two's complement */
    }
    *scale = largest;
}

static void fill(struct sparse_window *w, const struct posting *p)
{
    uint32_t *terms = (uint32_t *)w->terms, *begin = (uint32_t *)w->begin, t = 0;
    for (size_t b = 0, e = 0; b < w->n_postings; b = e, t++) {
        while (e < w->n_postings && p[e].term == p[b].term) {
            e++;
        }
        terms[t] = p[b].term;
        begin[t] = (uint32_t)b;
        encode(p, b, e, w->is_signed, (uint16_t *)w->rows, (uint8_t *)w->codes, (float *)w->scale + t);
    }
    begin[t] = w->n_postings;
}

grebe_status sparse_window_build(const grebe_allocator *a, const struct vector_sparse *rows, struct sparse_window *out,
                                 grebe_error *err)
{
    size_t n = (size_t)(rows->offsets[rows->n] - rows->offsets[0]), bytes = 0;
    memset(out, 0, sizeof *out);
    out->n_rows = (uint32_t)rows->n;
    if (n > UINT32_MAX || !checked_mul_size(n, 2 * sizeof(struct posting), &bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "sparse rows: expected below 2^32 values in 65536 rows, found %zu", n);
    }
    struct posting *work = mem_alloc(a, bytes), *p = work;
    if (work == NULL) {
        return mem_fail(err, bytes, "lists of terms");
    }
    size_t at = 0;
    for (uint64_t r = 0; r < rows->n; r++) {
        for (int64_t i = rows->offsets[r]; i < rows->offsets[r + 1]; i++) {
            out->is_signed |= rows->values[i] < 0;
            work[at++] = (struct posting){ rows->terms[i], rows->values[i], (uint32_t)r };
        }
    }
    if (n != 0) {
        p = sort_by_term(work, work + n, n);
    }
    out->n_terms = count_terms(p, n);
    out->n_postings = (uint32_t)n;
    size_t block = sparse_window_bytes(out->n_terms, out->n_postings);
    out->owned = block != 0 ? mem_alloc_aligned(a, block, PART_ALIGN) : NULL;
    if (out->owned == NULL) {
        mem_free(a, work, bytes);
        return mem_fail(err, block, "lists of terms");
    }
    memset(out->owned, 0, block);
    sparse_window_attach(out, out->owned);
    fill(out, p);
    mem_free(a, work, bytes);
    return GREBE_OK;
}

void sparse_window_release(struct sparse_window *w, const grebe_allocator *a)
{
    if (w->owned != NULL) {
        mem_free_aligned(a, w->owned, w->bytes, PART_ALIGN);
    }
    memset(w, 0, sizeof *w);
}

bool sparse_window_find(const struct sparse_window *w, uint32_t term, uint32_t *from, uint32_t *begin, uint32_t *end,
                        bool *is_bad)
{
    uint32_t lo = *from, hi = w->n_terms;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (w->terms[mid] < term) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    *from = lo;
    if (lo == w->n_terms || w->terms[lo] != term) {
        return false;
    }
    *begin = w->begin[lo];
    *end = w->begin[lo + 1];
    if (*begin > *end || *end > w->n_postings) {
        *is_bad = true;
        return false;
    }
    return *begin < *end;
}
