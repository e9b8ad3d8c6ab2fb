/* SPDX-License-Identifier: Apache-2.0 */
#include "iterable/iterable_mark.h"

#include <string.h>

#include "base/checked.h"

enum { MARK_DEPTH_MAX = 1000 };

struct mark *mark_keep(const struct mark *m)
{
    struct mark *shared = (struct mark *)(uintptr_t)m; /* only the count changes */
    if (shared != NULL) {
        atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    }
    return shared;
}

static size_t mark_size(size_t n_words, size_t n_kids)
{
    return sizeof(struct mark) + n_words * sizeof(int64_t) + n_kids * sizeof(struct mark *);
}

void mark_drop(struct mark *m)
{
    if (m == NULL || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < m->n_kids; i++) {
        mark_drop(m->kids[i]);
    }
    mem_free(m->a, m, mark_size(m->n_words, m->n_kids));
}

static grebe_status mark_new(const grebe_allocator *a, size_t n_words, size_t n_kids, struct mark **out,
                             grebe_error *err)
{
    size_t size = mark_size(n_words, n_kids);
    struct mark *m = mem_alloc_zero(a, size);
    if (m == NULL) {
        return mem_fail(err, size, "the state of a stream");
    }
    atomic_init(&m->refs, 1);
    m->a = a;
    m->n_words = n_words;
    m->n_kids = n_kids;
    m->kids = (struct mark **)(void *)(m->words + n_words);
    *out = m;
    return GREBE_OK;
}

/* ---- making ---- */

grebe_status mark_put(struct mark_builder *b, int64_t word, grebe_error *err)
{
    return buf_put(&b->words, &word, sizeof word, err);
}

grebe_status mark_put_rng(struct mark_builder *b, const struct pcg64 *g, grebe_error *err)
{
    int64_t words[MARK_RNG_WORDS] = {
        (int64_t)g->state_high, (int64_t)g->state_low, (int64_t)g->inc_high, (int64_t)g->inc_low, g->half, g->has_half
    };
    return buf_put(&b->words, words, sizeof words, err);
}

grebe_status mark_put_kid(struct mark_builder *b, struct mark *kid, grebe_error *err)
{
    grebe_status st = buf_put(&b->kids, &kid, sizeof kid, err);
    if (st != GREBE_OK) {
        mark_drop(kid);
    }
    return st;
}

grebe_status mark_finish(struct mark_builder *b, struct mark **out, grebe_error *err)
{
    struct mark *m = NULL;
    grebe_status st = mark_new(b->words.a, b->words.len / sizeof(int64_t), b->kids.len / sizeof m, &m, err);
    if (st == GREBE_OK) {
        if (b->words.len > 0) {
            memcpy(m->words, b->words.data, b->words.len);
        }
        if (b->kids.len > 0) {
            memcpy(m->kids, b->kids.data, b->kids.len);
        }
        buf_clear(&b->kids);
        *out = m;
    }
    mark_builder_release(b);
    return st;
}

void mark_builder_release(struct mark_builder *b)
{
    struct mark **kids = (struct mark **)(void *)b->kids.data;
    for (size_t i = 0; i < b->kids.len / sizeof *kids; i++) {
        mark_drop(kids[i]);
    }
    buf_release(&b->words);
    buf_release(&b->kids);
}

/* ---- looking ---- */

grebe_status mark_fail(grebe_error *err, const char *what)
{
    return GREBE_FAIL(err, GREBE_EINVAL, "the state does not fit this stream: %s", what);
}

grebe_status mark_expect(const struct mark *m, size_t n_words, size_t n_kids, grebe_error *err)
{
    if (m->n_words < n_words || m->n_kids != n_kids) {
        return mark_fail(err, "another number of words");
    }
    return GREBE_OK;
}

grebe_status mark_get_rng(const struct mark *m, size_t w, struct pcg64 *out, grebe_error *err)
{
    const int64_t *x = m->words + w;
    if (w + MARK_RNG_WORDS > m->n_words || x[4] < 0 || x[4] > UINT32_MAX || x[5] < 0 || x[5] > 1 || (x[3] & 1) == 0) {
        return mark_fail(err, "no generator of random numbers");
    }
    *out = (struct pcg64){ (uint64_t)x[0], (uint64_t)x[1], (uint64_t)x[2], (uint64_t)x[3], (uint32_t)x[4], x[5] == 1 };
    return GREBE_OK;
}

/* ---- text ---- */

static grebe_status print_number(struct buf *dst, int64_t v, grebe_error *err)
{
    return buf_printf(dst, err, "%s%lld", dst->len > 0 && dst->data[dst->len - 1] != '[' ? "," : "", (long long)v);
}

grebe_status mark_print(const struct mark *m, struct buf *dst, grebe_error *err)
{
    grebe_status st = print_number(dst, (int64_t)m->n_words, err);
    if (st == GREBE_OK) {
        st = print_number(dst, (int64_t)m->n_kids, err);
    }
    for (size_t i = 0; i < m->n_words && st == GREBE_OK; i++) {
        st = print_number(dst, m->words[i], err);
    }
    for (size_t i = 0; i < m->n_kids && st == GREBE_OK; i++) {
        st = mark_print(m->kids[i], dst, err);
    }
    return st;
}

static grebe_status next_count(const struct json_value *numbers, size_t *at, size_t *out, grebe_error *err)
{
    int64_t v = 0;
    if (*at >= numbers->n || !json_i64(&numbers->items[*at], &v) || v < 0 || (uint64_t)v > numbers->n - *at) {
        return mark_fail(err, "a count of words that are not there");
    }
    (*at)++;
    *out = (size_t)v;
    return GREBE_OK;
}

static grebe_status read_one(const grebe_allocator *a, const struct json_value *numbers, size_t *at, int depth,
                             struct mark **out, grebe_error *err)
{
    size_t n_words = 0, n_kids = 0;
    struct mark *m = NULL;
    grebe_status st = depth > MARK_DEPTH_MAX ? mark_fail(err, "too deep") : next_count(numbers, at, &n_words, err);
    if (st == GREBE_OK) {
        st = next_count(numbers, at, &n_kids, err);
    }
    if (st == GREBE_OK && (n_words > numbers->n - *at || n_kids > numbers->n - *at - n_words)) {
        st = mark_fail(err, "a count of words that are not there");
    }
    GREBE_TRY(st);
    GREBE_TRY(mark_new(a, n_words, n_kids, &m, err));
    for (size_t i = 0; i < n_words; i++, (*at)++) {
        if (!json_i64(&numbers->items[*at], &m->words[i])) {
            st = mark_fail(err, "a word that is no 64-bit number");
            goto out;
        }
    }
    for (size_t i = 0; i < n_kids; i++) {
        GREBE_TRY(read_one(a, numbers, at, depth + 1, &m->kids[i], err));
    }
    *out = m;
    m = NULL;
out:
    mark_drop(m);
    return st;
}

grebe_status mark_read(const grebe_allocator *a, const struct json_value *numbers, struct mark **out, grebe_error *err)
{
    size_t at = 0;
    *out = NULL;
    if (numbers == NULL || numbers->type != JSON_ARRAY) {
        return mark_fail(err, "no array of words");
    }
    grebe_status st = read_one(a, numbers, &at, 0, out, err);
    if (st == GREBE_OK && at != numbers->n) {
        mark_drop(*out);
        *out = NULL;
        st = mark_fail(err, "words behind the end");
    }
    return st;
}
