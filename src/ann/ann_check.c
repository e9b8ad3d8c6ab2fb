/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that can be wrong with a benchmark file beyond what keeps it from being loaded. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ann/ann_internal.h"
#include "base/checked.h"

enum { SHOWN_MAX = 5 /* findings of one kind that are told singly */ };

void ann_checker_find(struct ann_checker *c, enum ann_level level, const char *place, const char *fmt, ...)
{
    char text[384];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->n_errors += level == ANN_ERROR;
    if (c->finding != NULL) {
        c->finding(c->arg, level, place, text);
    }
}

/* What loading reported. */
static void pass_on(void *arg, enum ann_level level, const char *place, const char *message)
{
    ann_checker_find(arg, level, place, "%s", message);
}

static void tell_rest(struct ann_checker *c, enum ann_level level, const char *place, uint64_t n)
{
    if (n > SHOWN_MAX) {
        ann_checker_find(c, level, place, "and %llu more such", (unsigned long long)(n - SHOWN_MAX));
    }
}

/* ---- vectors ---- */

static void check_value(struct ann_checker *c, const char *name, uint64_t row, uint64_t column, float v, uint64_t *n)
{
    char place[64];
    if (isfinite(v) || (*n)++ >= SHOWN_MAX) {
        return;
    }
    snprintf(place, sizeof place, "%s[%llu,%llu]", name, (unsigned long long)row, (unsigned long long)column);
    ann_checker_find(c, ANN_ERROR, place, "%s is %s", place, isnan(v) ? "NaN" : "infinite");
}

/* Values of float rows that are no numbers, and rows of zeros. */
struct dense_check {
    struct ann_checker *c;
    const char *name;
    const struct ann_vectors *v;
    uint64_t n_bad, n_zero, first_zero;
};

static void check_row(struct dense_check *k, uint64_t i, const unsigned char *p)
{
    size_t row = vector_row_bytes(k->v->elem, k->v->dim);
    bool is_float = k->v->elem == VECTOR_F32, is_zero = true;
    for (size_t j = 0; j < row && is_zero; j++) {
        is_zero = p[j] == 0 || (is_float && j % 4 == 3 && p[j] == 0x80); /* -0 is zero */
    }
    for (uint32_t j = 0; is_float && j < k->v->dim && !is_zero; j++) {
        check_value(k->c, k->name, i, j, ((const float *)(const void *)p)[j], &k->n_bad);
    }
    k->first_zero = is_zero && k->n_zero == 0 ? i : k->first_zero;
    k->n_zero += is_zero;
}

static grebe_status check_dense(struct ann_checker *c, const char *name, const struct ann_vectors *v, uint64_t n_rows,
                                grebe_error *err)
{
    struct dense_check k = { .c = c, .name = name, .v = v };
    struct ann_rows rows = ann_rows_of(v);
    size_t row = vector_row_bytes(v->elem, v->dim), step = ann_block_rows(&rows, c->call);
    struct buf block = BUF_INIT(c->d->ctx->a);
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_reserve(&block, rows.read != NULL ? step * row : 1, err));
    for (uint64_t at = 0; at < n_rows && v->elem != VECTOR_BIT; at += step) {
        uint64_t n = min_u64(step, n_rows - at);
        const void *p = NULL;
        GREBE_TRY(ann_rows_get(&rows, at, n, block.data, &p, err));
        for (uint64_t i = 0; i < n; i++) {
            check_row(&k, at + i, (const unsigned char *)p + i * row);
        }
        GREBE_TRY(call_check(c->call, err));
    }
    tell_rest(c, ANN_ERROR, name, k.n_bad);
    if (k.n_zero > 0 && c->d->metric == VECTOR_COSINE) {
        ann_checker_find(c, ANN_WARNING, name, "%llu zero vectors in %s under angular, the first at row %llu: their distance is undefined",
                         (unsigned long long)k.n_zero, name, (unsigned long long)k.first_zero);
    }
out:
    buf_release(&block);
    return st;
}

static void check_sparse(struct ann_checker *c, const char *name, const struct ann_vectors *v)
{
    uint64_t n_bad = 0;
    for (uint64_t i = 0; i < v->n; i++) {
        for (int64_t j = v->offsets[i]; j < v->offsets[i + 1]; j++) {
            if (!isfinite(v->values[j]) && n_bad++ < SHOWN_MAX) {
                char place[64];
                snprintf(place, sizeof place, "%s[%llu]", name, (unsigned long long)i);
                ann_checker_find(c, ANN_ERROR, place, "%s: record %llu, id %u is %s", name, (unsigned long long)i,
                                 v->terms[j], isnan(v->values[j]) ? "NaN" : "infinite");
            }
        }
    }
    tell_rest(c, ANN_ERROR, name, n_bad);
}

static grebe_status check_vectors(struct ann_checker *c, grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    const struct ann_vectors *sides[2] = { &d->train, &d->test };
    static const char *const names[2][2] = { { "train", "test" }, { "train_multi_vectors", "test_multi_vectors" } };
    grebe_status st = GREBE_OK;
    for (int i = 0; i < 2 && st == GREBE_OK; i++) {
        if (d->layout == ANN_DENSE) {
            st = check_dense(c, names[0][i], sides[i], sides[i]->n, err);
        } else if (d->layout == ANN_MULTI) {
            st = check_dense(c, names[1][i], sides[i], (uint64_t)sides[i]->offsets[sides[i]->n], err);
        } else if (d->layout == ANN_SPARSE) {
            check_sparse(c, names[0][i], sides[i]);
        }
    }
    if (d->layout == ANN_DENSE && d->train.elem == VECTOR_I8 && d->metric != VECTOR_IP) {
        ann_checker_find(c, c->profile == ANN_VSAG ? ANN_WARNING : ANN_NOTICE, "train",
                         "int8 with %s is not evaluated correctly by VSAG", d->distance);
    }
    return st;
}

/* ---- truth ---- */

/* The ids of a row: none twice. Rows are short: a count of earlier equals would do, were K not up to thousands. */
static grebe_status check_ids(struct ann_checker *c, grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    grebe_status st = GREBE_OK;
    uint64_t n_bad = 0;
    struct buf seen = BUF_INIT(d->ctx->a); /* the query that saw the id last, from 1 */
    GREBE_TRY(buf_put_zero(&seen, (size_t)d->train.n * sizeof(uint64_t), err));
    uint64_t *last = (uint64_t *)(void *)seen.data;
    for (uint64_t q = 0; q < d->test.n; q++) {
        const int64_t *ids = d->neighbors + q * d->k;
        for (uint64_t j = 0; j < d->k && ids[j] >= 0; j++) {
            if (last[ids[j]] == q + 1) {
                if (n_bad++ < SHOWN_MAX) {
                    char place[64];
                    snprintf(place, sizeof place, "neighbors[%llu,%llu]", (unsigned long long)q, (unsigned long long)j);
                    ann_checker_find(c, ANN_ERROR, place, "neighbors row %llu holds an id twice: %lld",
                                     (unsigned long long)q, (long long)ids[j]);
                }
                break;
            }
            last[ids[j]] = q + 1;
        }
        if (q % 1024 == 0) {
            GREBE_TRY(call_check(c->call, err));
        }
    }
    tell_rest(c, ANN_ERROR, "neighbors", n_bad);
out:
    buf_release(&seen);
    return st;
}

static void check_order(struct ann_checker *c)
{
    const struct ann_dataset *d = c->d;
    uint64_t n_bad = 0, n_nan = 0;
    for (uint64_t q = 0; q < d->test.n; q++) {
        const float *far = d->distances + q * d->k;
        for (uint64_t j = 0; j < d->k && d->neighbors[q * d->k + j] >= 0; j++) {
            char place[64];
            snprintf(place, sizeof place, "distances[%llu,%llu]", (unsigned long long)q, (unsigned long long)j);
            if (!isfinite(far[j]) && n_nan++ < SHOWN_MAX) {
                ann_checker_find(c, d->metric == VECTOR_COSINE || d->layout == ANN_MULTI ? ANN_WARNING : ANN_ERROR, place,
                                 "is %s: expected a finite distance", isnan(far[j]) ? "NaN" : "infinite");
            }
            if (j > 0 && far[j] < far[j - 1]) {
                if (n_bad++ < SHOWN_MAX) {
                    ann_checker_find(c, ANN_ERROR, place, "distances of row %llu are not ascending: %.9g after %.9g",
                                     (unsigned long long)q, (double)far[j], (double)far[j - 1]);
                }
                break;
            }
        }
    }
    tell_rest(c, ANN_ERROR, "distances", n_bad);
}

/* ---- labels ---- */

static void check_neighbor_labels(struct ann_checker *c)
{
    const struct ann_dataset *d = c->d;
    uint64_t n_bad = 0, n = 0;
    char place[64] = "neighbors", first[160] = "";
    for (uint64_t i = 0; i < d->test.n * d->k; i++) {
        int64_t id = d->neighbors[i], label = d->test.labels[i / d->k];
        if (id < 0) {
            continue;
        }
        n++;
        if (d->train.labels[id] != label && n_bad++ == 0) {
            snprintf(place, sizeof place, "neighbors[%llu,%llu]", (unsigned long long)(i / d->k),
                     (unsigned long long)(i % d->k));
            snprintf(first, sizeof first, "%s = %lld has label %lld, the query %lld", place, (long long)id,
                     (long long)d->train.labels[id], (long long)label);
        }
    }
    if (n_bad > n / 4) { /* with labels as frequent as chance */
        ann_checker_find(c, ANN_ERROR, place, "neighbours do not respect the labels (%llu of %llu): unfiltered ground truth; %s",
                         (unsigned long long)n_bad, (unsigned long long)n, first);
    } else if (n_bad > 0) {
        ann_checker_find(c, ANN_ERROR, place, "%s (%llu such)", first, (unsigned long long)n_bad);
    }
}

static grebe_status check_labels(struct ann_checker *c, grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    struct buf counts = BUF_INIT(d->ctx->a);
    uint64_t n_bad = 0;
    grebe_status st = GREBE_OK;
    if (d->train.labels == NULL) {
        return GREBE_OK;
    }
    check_neighbor_labels(c);
    GREBE_TRY(buf_put_zero(&counts, (size_t)d->n_valid_ratios * sizeof(uint64_t), err)); /* as many are in the file */
    uint64_t *n = (uint64_t *)(void *)counts.data;
    for (uint64_t i = 0; i < d->train.n; i++) {
        if ((uint64_t)d->train.labels[i] < d->n_valid_ratios) {
            n[d->train.labels[i]]++;
        }
    }
    for (uint64_t l = 0; l < d->n_valid_ratios; l++) {
        double counted = (double)n[l] / (double)d->train.n;
        if (!(fabs(counted - (double)d->valid_ratios[l]) <= 1e-6) && n_bad++ < SHOWN_MAX) {
            char place[64];
            snprintf(place, sizeof place, "valid_ratios[%llu]", (unsigned long long)l);
            ann_checker_find(c, ANN_WARNING, place, "%s = %.9g, %.9g counted", place, (double)d->valid_ratios[l], counted);
        }
    }
    tell_rest(c, ANN_WARNING, "valid_ratios", n_bad);
out:
    buf_release(&counts);
    return st;
}

grebe_status ann_check_content(struct ann_checker *c, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(check_vectors(c, err));
    GREBE_TRY(check_ids(c, err));
    check_order(c);
    GREBE_TRY(check_labels(c, err));
    GREBE_TRY(ann_check_distances(c, err));
    st = ann_check_nearest(c, err);
out:
    return st;
}

grebe_status ann_check(grebe_context *ctx, const char *path, enum ann_profile profile, bool allow_padding,
                       const struct call *call, ann_finding_fn finding, void *arg, uint64_t *n_errors,
                       grebe_error *err)
{
    struct call defaults = call_options_resolve(ctx, NULL);
    struct ann_dataset *d = NULL;
    struct ann_checker c = { .call = call != NULL ? call : &defaults, .profile = profile, .allow_padding = allow_padding,
                             .finding = finding, .arg = arg };
    struct ann_open_options o = { .profile = profile, .is_base_by_rows = true, .allow_padding = allow_padding,
                                  .finding = pass_on, .finding_arg = &c };
    grebe_error failure = GREBE_ERROR_INIT;
    *n_errors = 0;
    grebe_status st = ann_dataset_open(ctx, path, &o, c.call, &d, &failure);
    c.d = d;
    st = st == GREBE_OK ? ann_check_content(&c, &failure) : st; /* reads rows that are not in memory */
    if (st == GREBE_ECORRUPT || st == GREBE_ESCHEMA || st == GREBE_EUNSUPPORTED) {
        size_t n = strlen(path);
        const char *text = failure.message;
        if (strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0) {
            text += n + 2;
        }
        ann_checker_find(&c, ANN_ERROR, "file", "%s", text);
        st = GREBE_OK;
    } else if (st != GREBE_OK && err != NULL) {
        *err = failure;
    }
    *n_errors = c.n_errors;
    ann_dataset_free(d);
    return st;
}
