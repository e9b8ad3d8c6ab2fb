/* SPDX-License-Identifier: Apache-2.0 */
#include "index/sparse_query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { SUMS_SPARE = 64, SUM_MAX = 32000, SUM_MAX_SIGNED = 16000, SLOT_BITS_MIN = 10, SLOT_BITS_MAX = 28 };

grebe_status sparse_query_init(struct sparse_query *q, const grebe_allocator *a, grebe_error *err)
{
    memset(q, 0, sizeof *q);
    q->a = a;
    q->kernels = sparse_kernels();
    q->sums = mem_alloc_aligned(a, (SPARSE_WINDOW_ROWS + SUMS_SPARE) * sizeof *q->sums, MEM_ALIGN_VECTOR);
    q->hits = mem_alloc(a, (SPARSE_HITS + 16) * sizeof *q->hits);
    if (q->sums == NULL || q->hits == NULL) {
        sparse_query_release(q);
        return mem_fail(err, SPARSE_WINDOW_ROWS * sizeof *q->sums, "sums of a sparse query");
    }
    return GREBE_OK;
}

void sparse_query_release(struct sparse_query *q)
{
    if (q->a == NULL) {
        return;
    }
    mem_free_aligned(q->a, q->sums, (SPARSE_WINDOW_ROWS + SUMS_SPARE) * sizeof *q->sums, MEM_ALIGN_VECTOR);
    mem_free(q->a, q->hits, (SPARSE_HITS + 16) * sizeof *q->hits);
    mem_free(q->a, q->lists, q->list_capacity * sizeof *q->lists);
    mem_free(q->a, q->slots, q->slots != NULL ? sizeof *q->slots << q->room_bits : 0);
    memset(q, 0, sizeof *q);
}

/* ---- the query by term ---- */

static size_t slot_of(const struct sparse_query *q, uint32_t term)
{
    return (size_t)((term * q->multiplier) >> (32 - q->slot_bits));
}

/* Put every term into its slot or the next free one; false: one did not get its own. */
static bool place(struct sparse_query *q)
{
    size_t mask = ((size_t)1 << q->slot_bits) - 1;
    bool is_perfect = true;
    for (size_t i = 0; i < q->n; i++) {
        size_t s = slot_of(q, q->terms[i]);
        for (; q->weights[i] != 0 && q->slots[s].weight != 0; s = (s + 1) & mask) {
            is_perfect = false;
        }
        if (q->weights[i] != 0) {
            q->slots[s] = (struct sparse_slot){ q->terms[i], q->weights[i] };
        }
    }
    return is_perfect;
}

static void clear_slots(struct sparse_query *q)
{
    memset(q->slots, 0, sizeof *q->slots << q->slot_bits);
}

/*
 * A table that is 1/32 full, and a hash without collisions where one of some is: then a row's terms are looked up
 * without a branch that depends on them.
 */
static grebe_status fill_slots(struct sparse_query *q, grebe_error *err)
{
    enum { TRIES = 12, PERFECT_BITS_MAX = 15 };
    unsigned bits = SLOT_BITS_MIN;
    while (bits < SLOT_BITS_MAX && ((size_t)1 << bits) < 32 * q->n) {
        bits++;
    }
    if (q->slots == NULL || q->room_bits < bits) {
        mem_free(q->a, q->slots, q->slots != NULL ? sizeof *q->slots << q->room_bits : 0);
        q->room_bits = bits;
        q->slots = mem_alloc_zero(q->a, sizeof *q->slots << bits);
        if (q->slots == NULL) {
            return mem_fail(err, sizeof *q->slots << bits, "terms of a query");
        }
    }
    q->slot_bits = bits;
    q->multiplier = UINT32_C(2654435769);
    q->is_perfect = place(q);
    for (unsigned i = 0; !q->is_perfect && bits <= PERFECT_BITS_MAX && i < TRIES; i++) {
        clear_slots(q);
        q->multiplier = q->multiplier * UINT32_C(1664525) + UINT32_C(1013904224); /* stays odd */
        q->is_perfect = place(q);
    }
    return GREBE_OK;
}

grebe_status sparse_query_set(struct sparse_query *q, const struct vector_sparse *queries, uint64_t i, grebe_error *err)
{
    if (q->slots != NULL) {
        clear_slots(q);
    }
    q->terms = queries->terms + queries->offsets[i];
    q->weights = queries->values + queries->offsets[i];
    q->n = (size_t)(queries->offsets[i + 1] - queries->offsets[i]);
    if (q->n > ((size_t)1 << SLOT_BITS_MAX) / 2) {
        q->n = 0;
        return GREBE_FAIL(err, GREBE_ELIMIT, "query: expected at most 2^27 terms");
    }
    if (q->list_capacity < q->n) {
        struct sparse_list *lists = mem_resize(q->a, q->lists, q->list_capacity * sizeof *lists, q->n * sizeof *lists);
        if (lists == NULL) {
            q->n = 0;
            return mem_fail(err, queries->n * sizeof *lists, "lists of a query");
        }
        q->lists = lists;
        q->list_capacity = q->n;
    }
    return fill_slots(q, err);
}

static double dot_perfect(const struct sparse_query *q, const uint32_t *terms, const float *values, int64_t n)
{
    const struct sparse_slot *slots = q->slots;
    const uint32_t multiplier = q->multiplier;
    const unsigned shift = 32 - q->slot_bits;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        struct sparse_slot s = slots[(terms[i] * multiplier) >> shift];
        float weight = s.term == terms[i] ? s.weight : 0;
        sum += (double)values[i] * (double)weight;
    }
    return sum;
}

static double dot_probing(const struct sparse_query *q, const uint32_t *terms, const float *values, int64_t n)
{
    size_t mask = ((size_t)1 << q->slot_bits) - 1;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        for (size_t s = slot_of(q, terms[i]); q->slots[s].weight != 0; s = (s + 1) & mask) {
            if (q->slots[s].term == terms[i]) {
                sum += (double)values[i] * (double)q->slots[s].weight;
                break;
            }
        }
    }
    return sum;
}

float sparse_query_rank(const struct sparse_query *q, const struct vector_sparse *rows, uint32_t r)
{
    int64_t begin = rows->offsets[r], end = rows->offsets[r + 1], total = rows->offsets[rows->n];
    if (begin < 0 || begin > end || end > total) {
        return NAN;
    }
    double sum = q->is_perfect ? dot_perfect(q, rows->terms + begin, rows->values + begin, end - begin)
                               : dot_probing(q, rows->terms + begin, rows->values + begin, end - begin);
    return (float)-sum;
}

void sparse_query_prefetch(const struct vector_sparse *rows, uint32_t r)
{
    int64_t begin = rows->offsets[r], end = rows->offsets[r + 1];
    if (begin < 0 || begin > end || end > rows->offsets[rows->n]) {
        return;
    }
    for (int64_t i = begin; i < end; i += 16) {
        __builtin_prefetch(rows->terms + i);
        __builtin_prefetch(rows->values + i);
    }
}

/* ---- sums of a window ---- */

static float mass_of(const struct sparse_list *l)
{
    return fabsf(l->weight) * l->scale;
}

/* Cheapest to leave out first: least mass for each posting that need not be read. */
static int by_use(const void *a, const void *b)
{
    const struct sparse_list *x = a, *y = b;
    double u = (double)mass_of(x) * (y->end - y->begin), v = (double)mass_of(y) * (x->end - x->begin);
    if (u != v) {
        return u < v ? -1 : 1;
    }
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The lists of the query in the window, those to leave out gone. @return The mass that was left out. */
static float choose_lists(struct sparse_query *q, const struct sparse_window *w, double prune, float *kept)
{
    uint32_t from = 0;
    float total = 0, dropped = 0;
    size_t drop = 0;
    q->n_lists = 0;
    for (size_t i = 0; i < q->n; i++) {
        struct sparse_list l = { .weight = q->weights[i] };
        if (l.weight != 0 && sparse_window_find(w, q->terms[i], &from, &l.begin, &l.end, &q->is_bad)) {
            l.scale = w->scale[from];
            total += mass_of(&l);
            q->lists[q->n_lists++] = l;
        }
    }
    if (prune > 0) {
        qsort(q->lists, q->n_lists, sizeof *q->lists, by_use);
        while (drop < q->n_lists && (double)(dropped + mass_of(&q->lists[drop])) <= prune * (double)total) {
            dropped += mass_of(&q->lists[drop++]);
        }
        q->n_lists -= drop;
        memmove(q->lists, q->lists + drop, q->n_lists * sizeof *q->lists);
    }
    *kept = total - dropped;
    return dropped;
}

void sparse_query_add(struct sparse_query *q, const struct sparse_window *w, double prune)
{
    float kept = 0, codes = w->is_signed ? 127.0f : 255.0f, half_codes = 0;
    float dropped = choose_lists(q, w, prune, &kept);
    memset(q->sums, 0, (min_size(w->n_rows, SPARSE_WINDOW_ROWS) + SUMS_SPARE) * sizeof *q->sums);
    q->unit = kept > 0 && isfinite(kept) ? (float)(w->is_signed ? SUM_MAX_SIGNED : SUM_MAX) / kept : 0;
    if (!isfinite(q->unit)) {
        q->unit = 0;
    }
    for (size_t i = 0; i < q->n_lists && q->unit > 0; i++) {
        const struct sparse_list *l = &q->lists[i];
        float weight = l->weight * l->scale / codes * q->unit * 256.0f;
        q->kernels->add(q->sums, w->rows + l->begin, w->codes + l->begin, l->end - l->begin, (int32_t)weight,
                        w->is_signed);
        half_codes += mass_of(l) / codes * 0.5f;
    }
    /* a posting is off by half a code, by the cut weight (below one unit) and by the cut product (below one) */
    q->error = (dropped + half_codes) * 1.001f + (q->unit > 0 ? 2.0f * (float)q->n_lists / q->unit : 0);
}
