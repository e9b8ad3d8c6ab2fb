/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a buffer named in a state, and read again. */
#include "iterable/iterable_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

grebe_status buffer_save_boundary(struct buffer_reader *b, struct mark **out, grebe_error *err)
{
    struct mark_builder m = MARK_BUILDER_INIT(b->base.env.ctx->a);
    grebe_status st = GREBE_OK;
    GREBE_TRY(mark_put(&m, n_entries(b), err));
    GREBE_TRY(mark_put(&m, (int64_t)n_segments(b), err));
    GREBE_TRY(mark_put(&m, b->next_number, err));
    GREBE_TRY(place_put(&m, b->kid, err));
    GREBE_TRY(mark_put_rng(&m, &b->rng, err));
    for (size_t i = 0; i < n_segments(b); i++) {
        const struct segment *s = &segments_of(b)[i];
        GREBE_TRY(mark_put(&m, s->first, err));
        GREBE_TRY(mark_put(&m, s->n, err));
        GREBE_TRY(mark_put(&m, s->place.given, err));
        GREBE_TRY(mark_put_kid(&m, mark_keep(s->place.mark), err));
    }
    GREBE_TRY(buf_reserve(&m.words, (size_t)n_entries(b) * sizeof(int64_t), err));
    for (int64_t i = 0; i < n_entries(b); i++) {
        GREBE_TRY(mark_put(&m, entries_of(b)[i].number, err));
    }
    st = mark_finish(&m, out, err);
out:
    mark_builder_release(&m);
    return st;
}

static int compare_numbers(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* Rows of one segment again: those whose numbers are in numbers[0 .. n) (ascending) become a source. */
static grebe_status read_segment(struct buffer_reader *b, const struct segment *s, const int64_t *numbers, int64_t n,
                                 grebe_error *err)
{
    const grebe_allocator *a = b->base.env.ctx->a;
    struct rows all = { 0 }, chosen = { 0 };
    struct pick *picks = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(reader_load(b->kid, s->place.mark, s->place.given, err));
    st = reader_read(b->kid, s->n, &all, err);
    if (st == GREBE_END || (st == GREBE_OK && all.n < s->n)) {
        st = mark_fail(err, "the source has fewer rows than were read");
    }
    GREBE_TRY(st);
    GREBE_TRY(mem_alloc_bounded(a, (uint64_t)n, sizeof *picks, (uint64_t)n, "rows", (void **)&picks, err));
    for (int64_t i = 0; i < n; i++) {
        picks[i] = (struct pick){ 0, 1, numbers[i] - s->first };
    }
    GREBE_TRY(rows_pick(a, &all, 1, picks, (size_t)n, &chosen, err));
    st = buf_put(&b->sources, &chosen, sizeof chosen, err);
    if (st == GREBE_OK) {
        memset(&chosen, 0, sizeof chosen);
    }
out:
    rows_release(&all);
    rows_release(&chosen);
    mem_free(a, picks, (size_t)n * sizeof *picks);
    return st;
}

/* Segments of the mark; their rows are read again, in the order of their numbers. */
static grebe_status load_segments(struct buffer_reader *b, const struct mark *m, const int64_t *sorted, int64_t n,
                                  grebe_error *err)
{
    int64_t used = 0, behind = 0;
    for (int64_t i = 0; i < m->words[1]; i++) {
        const int64_t *w = m->words + BOUNDARY_WORDS + i * SEGMENT_WORDS;
        if (w[0] < behind || w[1] <= 0 || w[1] > MARK_ROWS_MAX || w[0] > m->words[2] - w[1]) {
            return mark_fail(err, "rows of a buffer that are not there");
        }
        behind = w[0] + w[1];
        struct segment s = { w[0], w[1], { mark_keep(m->kids[1 + i]), w[2] } };
        grebe_status st = buf_put(&b->segments, &s, sizeof s, err);
        if (st != GREBE_OK) {
            place_release(&s.place);
            return st;
        }
        int64_t count = 0;
        while (used + count < n && sorted[used + count] < behind) {
            count++;
        }
        if (count == 0 || count > INT32_MAX || sorted[used] < s.first) {
            return mark_fail(err, "rows of a buffer that are not there");
        }
        st = read_segment(b, &s, sorted + used, count, err);
        if (st != GREBE_OK) {
            return st;
        }
        for (int64_t k = 0; k < count; k++) {
            struct entry e = { sorted[used + k], (int32_t)k, (int32_t)i };
            st = buf_put(&b->entries, &e, sizeof e, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        used += count;
    }
    return used == n ? GREBE_OK : mark_fail(err, "rows of a buffer that are not there");
}

/* The rows that stayed, in their order. */
grebe_status buffer_load_entries(struct buffer_reader *b, const struct mark *m, grebe_error *err)
{
    const grebe_allocator *a = b->base.env.ctx->a;
    int64_t n = m->words[0];
    const int64_t *numbers = m->words + BOUNDARY_WORDS + m->words[1] * SEGMENT_WORDS;
    int64_t *sorted = NULL;
    struct entry *found = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(mem_alloc_bounded(a, (uint64_t)n, sizeof *sorted, (uint64_t)n, "rows", (void **)&sorted, err));
    GREBE_TRY(mem_alloc_bounded(a, (uint64_t)n, sizeof *found, (uint64_t)n, "rows", (void **)&found, err));
    memcpy(sorted, numbers, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_numbers);
    for (int64_t i = 0; i < n; i++) {
        if (sorted[i] < 0 || (i > 0 && sorted[i] == sorted[i - 1])) {
            st = mark_fail(err, "a row that is in the buffer twice");
            goto out;
        }
    }
    GREBE_TRY(load_segments(b, m, sorted, n, err));
    memcpy(found, entries_of(b), (size_t)n * sizeof *found);
    for (int64_t i = 0; i < n; i++) {
        const int64_t *at = bsearch(&numbers[i], sorted, (size_t)n, sizeof *sorted, compare_numbers);
        entries_of(b)[i] = found[at - sorted];
    }
out:
    mem_free(a, sorted, (size_t)n * sizeof *sorted);
    mem_free(a, found, (size_t)n * sizeof *found);
    return st;
}
