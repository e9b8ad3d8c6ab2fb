/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffer of a shuffle. In rounds: rows are taken in until the buffer is full, all are permuted, the first go out
 * and half a buffer stays in the new order. A state names the rows that stay by their number in the child's stream,
 * with the places of the child from which they can be read again: what the buffer holds, nothing of what went before.
 */
#include "iterable/iterable_buffer.h"

#include <string.h>

#include "base/checked.h"

/* node: rows: of the buffer; rng */

static void drop_sources(struct buffer_reader *b)
{
    for (size_t i = 0; i < n_sources(b); i++) {
        rows_release(&sources_of(b)[i]);
    }
    buf_clear(&b->sources);
}

static void drop_all(struct buffer_reader *b)
{
    drop_sources(b);
    for (size_t i = 0; i < n_segments(b); i++) {
        place_release(&segments_of(b)[i].place);
    }
    buf_clear(&b->segments);
    buf_clear(&b->entries);
    mark_drop(b->round);
    b->round = NULL;
    b->given = b->end = b->next_number = 0;
}

/* ---- a round ---- */

/* rows is moved in, also on failure; entries for all of them. */
static grebe_status take_in(struct buffer_reader *b, struct rows *rows, grebe_error *err)
{
    int32_t source = (int32_t)n_sources(b);
    int64_t n = rows->n;
    grebe_status st = buf_put(&b->sources, rows, sizeof *rows, err);
    if (st != GREBE_OK) {
        rows_release(rows);
        return st;
    }
    if (n > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%lld rows in one batch", (long long)n);
    }
    st = buf_reserve(&b->entries, (size_t)n * sizeof(struct entry), err);
    if (st == GREBE_OK) {
        struct entry *e = entries_of(b) + n_entries(b);
        for (int64_t i = 0; i < n; i++) {
            e[i] = (struct entry){ b->next_number + i, (int32_t)i, source };
        }
        b->entries.len += (size_t)n * sizeof(struct entry);
    }
    b->next_number += n;
    return st;
}

/* Units of the child until the buffer is full, or the child at its end. */
static grebe_status fill_buffer(struct buffer_reader *b, grebe_error *err)
{
    struct segment s = { b->next_number, 0, { 0 } };
    grebe_status st = reader_place(b->kid, &s.place, err);
    int64_t left = 0; /* of a unit that has begun */
    while (st == GREBE_OK && (left > 0 || n_entries(b) < b->node->rows)) {
        int64_t need = left > 0 ? left : b->node->rows - n_entries(b);
        if (left == 0 && need % b->unit != 0) {
            int64_t more = b->unit - need % b->unit;
            need = more > INT64_MAX - need ? INT64_MAX : need + more;
        }
        struct rows in = { 0 };
        st = reader_next(b->kid, min_i64(need, READ_ROWS_MAX), b->are_whole ? INT64_MAX : need, &in, err);
        if (st == GREBE_OK) {
            left = b->are_whole ? 0 : need - in.n;
            s.n += in.n;
            st = take_in(b, &in, err);
        }
    }
    st = st == GREBE_END ? GREBE_OK : st;
    if (st == GREBE_OK && s.n > 0) {
        st = buf_put(&b->segments, &s, sizeof s, err);
        if (st == GREBE_OK) {
            return st;
        }
    }
    place_release(&s.place);
    return st;
}

/* The kept rows alone, copied: what they were taken from is let go. */
static grebe_status copy_kept(struct buffer_reader *b, grebe_error *err)
{
    const grebe_allocator *a = b->base.env.ctx->a;
    size_t n = (size_t)n_entries(b);
    struct pick *picks = NULL;
    struct rows all = { 0 };
    grebe_status st = GREBE_OK;
    GREBE_TRY(mem_alloc_bounded(a, n, sizeof *picks, n, "rows", (void **)&picks, err));
    for (size_t i = 0; i < n; i++) {
        picks[i] = (struct pick){ entries_of(b)[i].source, 1, entries_of(b)[i].begin };
    }
    GREBE_TRY(rows_pick(a, sources_of(b), n_sources(b), picks, n, &all, err));
    drop_sources(b);
    GREBE_TRY(buf_put(&b->sources, &all, sizeof all, err));
    memset(&all, 0, sizeof all);
    for (size_t i = 0; i < n; i++) {
        entries_of(b)[i].source = 0;
        entries_of(b)[i].begin = (int32_t)i;
    }
out:
    mem_free(a, picks, n * sizeof *picks);
    rows_release(&all);
    return st;
}

/* Sources without rows in the buffer go; *held: rows of the arrays that are kept alive. */
static grebe_status drop_unused(struct buffer_reader *b, int64_t *held, grebe_error *err)
{
    const grebe_allocator *a = b->base.env.ctx->a;
    size_t n = n_sources(b), kept = 0;
    int32_t *moved = mem_alloc(a, n * sizeof *moved);
    if (moved == NULL) {
        return mem_fail(err, n * sizeof *moved, "sources");
    }
    for (size_t i = 0; i < n; i++) {
        moved[i] = -1;
    }
    for (int64_t i = 0; i < n_entries(b); i++) {
        moved[entries_of(b)[i].source] = 0;
    }
    *held = 0;
    for (size_t i = 0; i < n; i++) {
        if (moved[i] < 0) {
            rows_release(&sources_of(b)[i]);
            continue;
        }
        const struct array_shared *before = kept > 0 ? sources_of(b)[kept - 1].data : NULL;
        *held += sources_of(b)[i].data == before ? 0 : array_shared_get(sources_of(b)[i].data)->length;
        moved[i] = (int32_t)kept;
        if (kept < i) {
            rows_move(&sources_of(b)[kept], &sources_of(b)[i]);
        }
        kept++;
    }
    b->sources.len = kept * sizeof(struct rows);
    for (int64_t i = 0; i < n_entries(b); i++) {
        entries_of(b)[i].source = moved[entries_of(b)[i].source];
    }
    mem_free(a, moved, n * sizeof *moved);
    return GREBE_OK;
}

/* Segments of which no row is in the buffer go. */
static grebe_status drop_segments(struct buffer_reader *b, grebe_error *err)
{
    const grebe_allocator *a = b->base.env.ctx->a;
    size_t n = n_segments(b), kept = 0;
    bool *is_used = mem_alloc_zero(a, n * sizeof *is_used);
    if (is_used == NULL) {
        return mem_fail(err, n, "segments");
    }
    struct segment *s = segments_of(b);
    for (int64_t i = 0; i < n_entries(b); i++) {
        int64_t number = entries_of(b)[i].number;
        size_t low = 0;
        for (size_t len = n; len > 1;) { /* the last one that begins at or before it; without branches to be guessed */
            size_t half = len / 2;
            low += s[low + half].first <= number ? half : 0;
            len -= half;
        }
        is_used[low] = true;
    }
    for (size_t i = 0; i < n; i++) {
        if (is_used[i]) {
            s[kept++] = s[i];
        } else {
            place_release(&s[i].place);
        }
    }
    b->segments.len = kept * sizeof *s;
    mem_free(a, is_used, n * sizeof *is_used);
    return GREBE_OK;
}

/* Behind a round: the rows that stay are the first ones. */
static grebe_status end_round(struct buffer_reader *b, grebe_error *err)
{
    if (b->end == 0) {
        return GREBE_OK;
    }
    int64_t held = 0, kept = n_entries(b) - b->end;
    memmove(entries_of(b), entries_of(b) + b->end, (size_t)kept * sizeof(struct entry));
    b->entries.len = (size_t)kept * sizeof(struct entry);
    b->given = b->end = 0;
    mark_drop(b->round);
    b->round = NULL;
    grebe_status st = drop_unused(b, &held, err);
    if (st == GREBE_OK) {
        st = drop_segments(b, err);
    }
    if (st == GREBE_OK && kept > 0 && kept <= INT32_MAX && held / 4 > max_i64(kept, READ_ROWS)) {
        st = copy_kept(b, err);
    }
    return st;
}

/* Rows in, permutation, and which of them go out. */
static grebe_status begin_round(struct buffer_reader *b, grebe_error *err)
{
    const grebe_allocator *a = b->base.env.ctx->a;
    grebe_status st = fill_buffer(b, err);
    int64_t n = n_entries(b);
    if (st != GREBE_OK || n == 0) {
        return st;
    }
    int64_t *order = NULL;
    struct entry *before = NULL;
    GREBE_TRY(mem_alloc_bounded(a, (uint64_t)n, sizeof *order, (uint64_t)n, "a permutation", (void **)&order, err));
    GREBE_TRY(mem_alloc_bounded(a, (uint64_t)n, sizeof *before, (uint64_t)n, "a permutation", (void **)&before, err));
    pcg64_permutation(&b->rng, n, order);
    memcpy(before, entries_of(b), (size_t)n * sizeof *before);
    for (int64_t i = 0; i < n; i++) {
        entries_of(b)[i] = before[order[i]];
    }
    b->given = 0;
    b->end = n >= b->node->rows ? n - b->node->rows / 2 : n;
out:
    mem_free(a, order, (size_t)n * sizeof *order);
    mem_free(a, before, (size_t)n * sizeof *before);
    return st;
}

/* ---- state ---- */

static grebe_status buffer_save(struct reader *r, struct mark **out, grebe_error *err)
{
    struct buffer_reader *b = (struct buffer_reader *)r;
    struct mark_builder m = MARK_BUILDER_INIT(r->env.ctx->a);
    grebe_status st = GREBE_OK;
    if (b->given == b->end) {
        GREBE_TRY(end_round(b, err));
        if (b->round == NULL) {
            GREBE_TRY(buffer_save_boundary(b, &b->round, err));
        }
    }
    GREBE_TRY(mark_put(&m, b->given, err));
    GREBE_TRY(mark_put_kid(&m, mark_keep(b->round), err));
    st = mark_finish(&m, out, err);
out:
    mark_builder_release(&m);
    return st;
}

static grebe_status buffer_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct buffer_reader *b = (struct buffer_reader *)r;
    const grebe_allocator *a = r->env.ctx->a;
    grebe_status st = GREBE_OK;
    if (b->given == b->end) {
        GREBE_TRY(end_round(b, err));
        if (b->round == NULL) {
            GREBE_TRY(buffer_save_boundary(b, &b->round, err));
        }
        GREBE_TRY(begin_round(b, err));
        if (n_entries(b) == 0) {
            return GREBE_END;
        }
    }
    int64_t n = min_i64(min_i64(want, READ_ROWS_MAX), b->end - b->given);
    struct pick *picks = mem_alloc(a, (size_t)n * sizeof *picks);
    if (picks == NULL) {
        return mem_fail(err, (size_t)n * sizeof *picks, "rows");
    }
    for (int64_t i = 0; i < n; i++) {
        const struct entry *e = &entries_of(b)[b->given + i];
        picks[i] = (struct pick){ e->source, 1, e->begin };
    }
    st = rows_pick(a, sources_of(b), n_sources(b), picks, (size_t)n, out, err);
    mem_free(a, picks, (size_t)n * sizeof *picks);
    b->given += st == GREBE_OK ? n : 0;
out:
    return st;
}

static grebe_status buffer_load(struct reader *r, const struct mark *outer, grebe_error *err)
{
    struct buffer_reader *b = (struct buffer_reader *)r;
    grebe_status st = GREBE_OK;
    drop_all(b);
    b->rng = b->node->rng;
    if (outer == NULL) {
        return reader_load(b->kid, NULL, 0, err);
    }
    GREBE_TRY(mark_expect(outer, 1, 1, err));
    const struct mark *m = outer->kids[0];
    if (m->n_words < BOUNDARY_WORDS || m->words[0] < 0 || m->words[1] < 0 || m->words[2] < 0 ||
        m->words[2] > MARK_ROWS_MAX || (uint64_t)m->words[0] > m->n_words || (uint64_t)m->words[1] > m->n_kids ||
        m->n_kids != (size_t)m->words[1] + 1 ||
        m->n_words != BOUNDARY_WORDS + (size_t)m->words[1] * SEGMENT_WORDS + (size_t)m->words[0] ||
        m->words[0] > b->node->rows) {
        return mark_fail(err, "another number of words of a buffer");
    }
    GREBE_TRY(mark_get_rng(m, 4, &b->rng, err));
    if (m->words[0] > 0 || m->words[1] > 0) {
        GREBE_TRY(buffer_load_entries(b, m, err));
    }
    b->next_number = m->words[2];
    GREBE_TRY(place_get(b->kid, m, 0, 3, err));
    b->round = mark_keep(m);
    if (outer->words[0] != 0) {
        GREBE_TRY(begin_round(b, err));
        if (outer->words[0] < 0 || outer->words[0] > b->end) {
            return mark_fail(err, "more rows than the buffer gives out");
        }
        b->given = outer->words[0];
    }
out:
    return st;
}

/* ---- opening ---- */

static void buffer_free(struct reader *r)
{
    struct buffer_reader *b = (struct buffer_reader *)r;
    drop_all(b);
    buf_release(&b->entries);
    buf_release(&b->sources);
    buf_release(&b->segments);
    reader_free(b->kid);
    node_drop(b->node);
    reader_dealloc(r, sizeof *b);
}

static const struct reader_ops buffer_reader_ops = { buffer_produce, buffer_save, buffer_load, buffer_free };

static grebe_status buffer_open(const struct node *n, const struct reading *env, struct reader **out, grebe_error *err)
{
    if (n->rows == 1) {
        return node_open(n->kids[0], env, out, err); /* one row is in its order already, and nothing is drawn for it */
    }
    grebe_status st = reader_alloc(sizeof(struct buffer_reader), &buffer_reader_ops, env, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct buffer_reader *b = (struct buffer_reader *)*out;
    b->node = node_keep((struct node *)(uintptr_t)n);
    b->entries = b->sources = b->segments = BUF_INIT(env->ctx->a);
    b->rng = n->rng;
    b->unit = node_unit(n->kids[0], env);
    b->are_whole = env->are_tables && b->unit == 1; /* groups: units are theirs */
    st = node_open(n->kids[0], env, &b->kid, err);
    if (st != GREBE_OK) {
        reader_free(*out);
        *out = NULL;
    }
    return st;
}

static void buffer_shift(struct node *n, int64_t value)
{
    rng_shift(&n->rng, value);
}

static const struct node_ops buffer_ops = { .name = "buffer", .shift = buffer_shift, .open = buffer_open };

grebe_status buffer_new(struct node *kid, int64_t n, const struct pcg64 *g, struct node **out, grebe_error *err)
{
    grebe_status st = node_new(kid->ctx, &buffer_ops, &kid, 1, out, err);
    if (st == GREBE_OK) {
        (*out)->rows = n;
        (*out)->rng = *g;
    }
    return st;
}
