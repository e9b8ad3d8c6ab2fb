/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static grebe_status put_row(struct buf *b, int64_t row, grebe_error *err)
{
    return buf_put(b, &row, sizeof row, err);
}

/* Room for n rows at the end of b, which then counts as filled. */
static grebe_status add_rows(struct buf *b, int64_t n, int64_t **out, grebe_error *err)
{
    size_t size = (size_t)n * sizeof(int64_t);
    grebe_status st = buf_reserve(b, size + 1, err);
    if (st == GREBE_OK) {
        *out = (int64_t *)(void *)(b->data + b->len);
        b->len += size;
    }
    return st;
}

/* ---- splits ---- */

/* What was asked for of one side: rows, a fraction, or nothing. */
static grebe_status check_size(const char *name, double fraction, int64_t rows, int64_t n, grebe_error *err)
{
    if (fraction >= 0 && rows >= 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s is given as a fraction and as rows", name);
    }
    if (isnan(fraction) || (fraction >= 0 && !(fraction > 0 && fraction < 1))) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s=%g is neither in (0, 1) nor a number of rows from 1 to %lld", name,
                          fraction, (long long)n - 1);
    }
    if (rows >= 0 && (rows == 0 || rows >= n)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s=%lld is neither a number of rows from 1 to %lld nor in (0, 1)", name,
                          (long long)rows, (long long)n - 1);
    }
    return GREBE_OK;
}

grebe_status order_split_sizes(const grebe_split_options *o, int64_t n, int64_t *n_train, int64_t *n_test,
                               grebe_error *err)
{
    *n_train = *n_test = 0;
    if (n == 0) {
        return GREBE_OK;
    }
    grebe_status st = check_size("test_size", o->test_fraction, o->test_rows, n, err);
    if (st == GREBE_OK) {
        st = check_size("train_size", o->train_fraction, o->train_rows, n, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    bool has_train = o->train_fraction >= 0 || o->train_rows >= 0,
         has_test = o->test_fraction >= 0 || o->test_rows >= 0;
    double test_fraction = has_test || has_train ? o->test_fraction : 0.25;
    has_test = has_test || !has_train;
    if (o->train_fraction >= 0 && o->test_fraction >= 0 && o->train_fraction + o->test_fraction > 1) {
        return GREBE_FAIL(err, GREBE_EINVAL, "test_size and train_size add up to %g, more than 1",
                          o->train_fraction + o->test_fraction);
    }
    int64_t test = o->test_rows, train = o->train_rows;
    if (test_fraction >= 0) {
        test = (int64_t)ceil(test_fraction * (double)n);
    }
    if (o->train_fraction >= 0) {
        train = (int64_t)floor(o->train_fraction * (double)n);
    }
    train = has_train ? train : n - test;
    test = has_test ? test : n - train;
    if (train + test > n) {
        return GREBE_FAIL(err, GREBE_EINVAL, "test_size and train_size add up to %lld rows, there are %lld",
                          (long long)(train + test), (long long)n);
    }
    if (train == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "of %lld rows none is left for the train split (test has %lld)",
                          (long long)n, (long long)test);
    }
    *n_train = train;
    *n_test = test;
    return GREBE_OK;
}

grebe_status order_split(struct pcg64 *g, int64_t n, int64_t n_train, int64_t n_test, struct buf *train,
                         struct buf *test, grebe_error *err)
{
    /* permuted where most of it stays */
    int64_t *all = NULL;
    grebe_status st = add_rows(train, n, &all, err);
    if (st != GREBE_OK) {
        return st;
    }
    pcg64_permutation(g, n, all);
    st = buf_put(test, all, (size_t)n_test * sizeof *all, err);
    memmove(all, all + n_test, (size_t)n_train * sizeof *all);
    train->len -= (size_t)(n - n_train) * sizeof *all;
    return st;
}

/* ---- stratified splits ---- */

/* One distinct label: its rows stand at [begin, begin + n) of the rows sorted by label. */
struct label_class {
    int64_t begin, n, n_train, n_test;
};

struct labelled_row {
    int64_t label, row;
};

static int compare_labels(const void *x, const void *y)
{
    const struct labelled_row *a = x, *b = y;
    if (a->label != b->label) {
        return a->label < b->label ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

/*
 * k things over classes of n_left things each, as near to their shares as whole numbers can be: the floors first, then
 * one more each for the largest remainders; among equal remainders the generator chooses, also where all of them get
 * one.
 */
static grebe_status allot(const grebe_allocator *a, struct pcg64 *g, const int64_t *n_left, size_t n_classes, int64_t k,
                          int64_t *out, grebe_error *err)
{
    double *remainder = mem_alloc(a, n_classes * sizeof *remainder);
    int64_t *equal = mem_alloc(a, n_classes * sizeof *equal), *chosen = mem_alloc(a, n_classes * sizeof *chosen);
    grebe_status st = GREBE_OK;
    if (remainder == NULL || equal == NULL || chosen == NULL) {
        st = mem_fail(err, n_classes * sizeof *chosen, "classes of a split");
        goto out;
    }
    int64_t total = 0, need = k;
    for (size_t i = 0; i < n_classes; i++) {
        total += n_left[i];
    }
    for (size_t i = 0; i < n_classes; i++) {
        double share = (double)k * (double)n_left[i] / (double)total;
        out[i] = (int64_t)floor(share);
        remainder[i] = share - floor(share);
        need -= out[i];
    }
    for (double below = 2; need > 0;) {
        double largest = -1;
        int64_t n_equal = 0;
        for (size_t i = 0; i < n_classes; i++) {
            if (remainder[i] < below && remainder[i] > largest) {
                largest = remainder[i];
                n_equal = 0;
            }
            if (remainder[i] == largest) {
                equal[n_equal++] = (int64_t)i;
            }
        }
        if (n_equal == 0) {
            break;
        }
        int64_t n = n_equal < need ? n_equal : need;
        GREBE_TRY(pcg64_choose_distinct(a, g, n_equal, n, chosen, err));
        for (int64_t i = 0; i < n; i++) {
            out[equal[chosen[i]]]++;
        }
        need -= n;
        below = largest;
    }
out:
    mem_free(a, remainder, n_classes * sizeof *remainder);
    mem_free(a, equal, n_classes * sizeof *equal);
    mem_free(a, chosen, n_classes * sizeof *chosen);
    return st;
}

/* Rows sorted by label and where each class begins. */
static grebe_status find_classes(const int64_t *labels, int64_t n, struct labelled_row *rows, struct buf *classes,
                                 grebe_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        rows[i] = (struct labelled_row){ labels[i], i };
    }
    qsort(rows, (size_t)n, sizeof *rows, compare_labels);
    for (int64_t i = 0; i < n;) {
        struct label_class c = { i, 0, 0, 0 };
        while (i < n && rows[i].label == rows[c.begin].label) {
            i++;
        }
        c.n = i - c.begin;
        if (c.n < 2) {
            return GREBE_FAIL(err, GREBE_EINVAL, "class %lld has one row only: a stratified split needs two",
                              (long long)rows[c.begin].label);
        }
        grebe_status st = buf_put(classes, &c, sizeof c, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* Train and test rows of every class. */
static grebe_status allot_classes(const grebe_allocator *a, struct pcg64 *g, struct label_class *classes,
                                  size_t n_classes, int64_t n_train, int64_t n_test, grebe_error *err)
{
    int64_t *n_left = mem_alloc(a, 2 * n_classes * sizeof *n_left);
    if (n_left == NULL) {
        return mem_fail(err, 2 * n_classes * sizeof *n_left, "classes of a split");
    }
    int64_t *share = n_left + n_classes;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n_classes; i++) {
        n_left[i] = classes[i].n;
    }
    GREBE_TRY(allot(a, g, n_left, n_classes, n_train, share, err));
    for (size_t i = 0; i < n_classes; i++) {
        classes[i].n_train = share[i];
        n_left[i] -= share[i];
    }
    GREBE_TRY(allot(a, g, n_left, n_classes, n_test, share, err));
    for (size_t i = 0; i < n_classes; i++) {
        classes[i].n_test = share[i];
    }
out:
    mem_free(a, n_left, 2 * n_classes * sizeof *n_left);
    return st;
}

grebe_status order_split_stratified(const grebe_allocator *a, struct pcg64 *g, const int64_t *labels, int64_t n,
                                    int64_t n_train, int64_t n_test, struct buf *train, struct buf *test,
                                    grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf classes = BUF_INIT(a);
    struct labelled_row *rows = NULL;
    int64_t *order = NULL;
    size_t train_begin = train->len, test_begin = test->len;
    GREBE_TRY(mem_alloc_bounded(a, (uint64_t)n, sizeof *rows, (uint64_t)n, "labels", (void **)&rows, err));
    GREBE_TRY(mem_alloc_bounded(a, (uint64_t)n, sizeof *order, (uint64_t)n, "labels", (void **)&order, err));
    GREBE_TRY(find_classes(labels, n, rows, &classes, err));
    struct label_class *c = (struct label_class *)(void *)classes.data;
    size_t n_classes = classes.len / sizeof *c;
    if (n_train < (int64_t)n_classes || n_test < (int64_t)n_classes) {
        bool is_train = n_train < (int64_t)n_classes;
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s rows: %lld, fewer than the %zu classes", is_train ? "train" : "test",
                        (long long)(is_train ? n_train : n_test), n_classes);
        goto out;
    }
    GREBE_TRY(allot_classes(a, g, c, n_classes, n_train, n_test, err));
    for (size_t i = 0; i < n_classes; i++) {
        pcg64_permutation(g, c[i].n, order);
        for (int64_t k = 0; k < c[i].n_train + c[i].n_test && k < c[i].n; k++) {
            GREBE_TRY(put_row(k < c[i].n_train ? train : test, rows[c[i].begin + order[k]].row, err));
        }
    }
    pcg64_shuffle(g, (int64_t *)(void *)(train->data + train_begin),
                  (int64_t)((train->len - train_begin) / sizeof *order));
    pcg64_shuffle(g, (int64_t *)(void *)(test->data + test_begin), (int64_t)((test->len - test_begin) / sizeof *order));
out:
    mem_free(a, rows, (size_t)n * sizeof *rows);
    mem_free(a, order, (size_t)n * sizeof *order);
    buf_release(&classes);
    return st;
}

/* ---- interleaving ---- */

/* Draws are made in blocks of so many: the generator stands at the end of a block afterwards. */
#define CHOICE_BLOCK 1000

struct source_rows {
    int64_t begin, n, next;
    bool is_exhausted, counts; /* whether its end counts for the rule of stopping */
};

static grebe_status interleave_in_turn(struct source_rows *s, size_t n, grebe_stop stop, struct buf *rows,
                                       grebe_error *err)
{
    int64_t rounds = stop == GREBE_STOP_FIRST_EXHAUSTED ? INT64_MAX : 0;
    for (size_t k = 0; k < n; k++) {
        bool is_further = stop == GREBE_STOP_FIRST_EXHAUSTED ? s[k].n < rounds : s[k].n > rounds;
        rounds = is_further ? s[k].n : rounds;
    }
    for (int64_t j = 0; j < rounds; j++) {
        for (size_t k = 0; k < n; k++) {
            if (s[k].n == 0 || (j >= s[k].n && stop != GREBE_STOP_ALL_EXHAUSTED)) {
                continue;
            }
            grebe_status st = put_row(rows, s[k].begin + j % s[k].n, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
    }
    return GREBE_OK;
}

static bool is_at_end(const struct source_rows *s, size_t n, grebe_stop stop)
{
    bool is_any = false, is_all = true;
    for (size_t k = 0; k < n; k++) {
        if (s[k].counts) {
            is_any = is_any || s[k].is_exhausted;
            is_all = is_all && s[k].is_exhausted;
        }
    }
    return stop == GREBE_STOP_FIRST_EXHAUSTED ? is_any : is_all;
}

static grebe_status check_chances(const struct source_rows *s, size_t n, const double *p, grebe_stop stop,
                                  grebe_error *err)
{
    for (size_t k = 0; k < n; k++) {
        if (p[k] > 0 && s[k].n == 0 && stop != GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT) {
            return GREBE_FAIL(err, GREBE_EINVAL, "source %zu is empty and has the probability %g", k, p[k]);
        }
        if (!(p[k] > 0) && stop == GREBE_STOP_ALL_EXHAUSTED) {
            return GREBE_FAIL(err, GREBE_EINVAL, "source %zu has the probability 0: it would never be exhausted", k);
        }
        if (!(p[k] > 0) && stop == GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT && s[k].n > 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "source %zu has the probability 0: it would never be exhausted", k);
        }
    }
    return GREBE_OK;
}

static grebe_status interleave_drawn(struct pcg64 *g, struct source_rows *s, size_t n, const double *cdf,
                                     grebe_stop stop, struct buf *rows, grebe_error *err)
{
    bool is_replaced = stop != GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT;
    while (!is_at_end(s, n, stop)) {
        size_t choices[CHOICE_BLOCK];
        for (size_t i = 0; i < CHOICE_BLOCK; i++) {
            choices[i] = pcg64_choose(g, cdf, n);
        }
        for (size_t i = 0; i < CHOICE_BLOCK; i++) {
            struct source_rows *one = &s[choices[i]];
            if (is_at_end(s, n, stop)) {
                return GREBE_OK;
            }
            if (one->n == 0 || (one->is_exhausted && !is_replaced)) {
                continue;
            }
            grebe_status st = put_row(rows, one->begin + one->next++, err);
            if (st != GREBE_OK) {
                return st;
            }
            if (one->next == one->n) {
                one->is_exhausted = true;
                one->next = 0;
            }
        }
    }
    return GREBE_OK;
}

grebe_status order_interleave(const grebe_allocator *a, struct pcg64 *g, const int64_t *lengths, size_t n,
                              const double *probabilities, grebe_stop stop, struct buf *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct source_rows *s = mem_alloc_zero(a, n * sizeof *s);
    double *cdf = mem_alloc(a, n * sizeof *cdf);
    if (s == NULL || cdf == NULL) {
        st = mem_fail(err, n * sizeof *s, "sources of an interleaving");
        goto out;
    }
    int64_t begin = 0;
    for (size_t k = 0; k < n; k++) {
        s[k] = (struct source_rows){ begin, lengths[k], 0, lengths[k] == 0, true };
        begin += lengths[k];
    }
    if (probabilities == NULL) {
        st = interleave_in_turn(s, n, stop, rows, err);
        goto out;
    }
    GREBE_TRY(pcg64_cdf(probabilities, n, cdf, err));
    GREBE_TRY(check_chances(s, n, probabilities, stop, err));
    for (size_t k = 0; k < n; k++) {
        s[k].counts = probabilities[k] > 0;
    }
    st = interleave_drawn(g, s, n, cdf, stop, rows, err);
out:
    mem_free(a, s, n * sizeof *s);
    mem_free(a, cdf, n * sizeof *cdf);
    return st;
}
