/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored distances and neighbours against exact ones. A file whose whole column is off follows another convention
 * nearly always; all of those that occur are tried, and the one that fits is named.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ann/ann_internal.h"
#include "base/checked.h"
#include "vector/distance.h"

enum { SHOWN_MAX = 5, PAIRS_MAX = 2000000, EXACT_QUERIES = 64 };
static const double EXACT_WORK = 4e9; /* multiplications that a search for true neighbours may cost */

static bool is_near(const struct ann_dataset *d, double stored, double exact)
{
    double scale = fabs(exact) > 1 ? fabs(exact) : 1;
    return fabs(stored - exact) <= d->distance_tolerance * scale || stored == exact;
}

/* ---- conventions ---- */

struct pair {
    double stored, exact; /* exact: of the file's metric */
    uint64_t q, r;
};

static double dense_distance(const struct ann_dataset *d, const struct pair *p, enum vector_metric metric)
{
    size_t row = vector_row_bytes(d->train.elem, d->train.dim);
    return vector_distance_exact(metric, d->train.elem, (const unsigned char *)d->test.dense + p->q * row,
                                 (const unsigned char *)d->train.dense + p->r * row, d->train.dim);
}

/* What a convention would have stored; NaN: it does not apply. */
static double squared(const struct ann_dataset *d, const struct pair *p)
{
    return d->metric == VECTOR_EUCLIDEAN && d->layout == ANN_DENSE ? p->exact * p->exact : NAN;
}
static double minus_ip(const struct ann_dataset *d, const struct pair *p)
{
    return d->metric == VECTOR_IP ? p->exact - 1 : NAN;
}
static double plain_ip(const struct ann_dataset *d, const struct pair *p)
{
    return d->metric == VECTOR_IP && !d->is_int8_negated_ip ? p->exact : d->metric == VECTOR_IP ? p->exact + 1 : NAN;
}
static double raw_ip(const struct ann_dataset *d, const struct pair *p)
{
    return d->metric == VECTOR_IP ? 1 - p->exact : NAN;
}
static double normalised_l2(const struct ann_dataset *d, const struct pair *p)
{
    return d->metric == VECTOR_COSINE ? sqrt(fmax(0, 2 * p->exact)) : NAN;
}
static double normalised_l2_squared(const struct ann_dataset *d, const struct pair *p)
{
    return d->metric == VECTOR_COSINE ? 2 * p->exact : NAN;
}
static double cosine(const struct ann_dataset *d, const struct pair *p)
{
    return d->metric == VECTOR_COSINE ? 1 - p->exact : NAN;
}
static double count_of_bits(const struct ann_dataset *d, const struct pair *p)
{
    return d->metric == VECTOR_HAMMING ? p->exact * d->train.dim : NAN;
}
static double similarity(const struct ann_dataset *d, const struct pair *p)
{
    return d->metric == VECTOR_JACCARD ? 1 - p->exact : NAN;
}
static double other_metric(const struct ann_dataset *d, const struct pair *p, enum vector_metric metric)
{
    return d->layout == ANN_DENSE && d->train.elem != VECTOR_BIT && d->metric != metric ? dense_distance(d, p, metric) : NAN;
}
static double is_euclidean(const struct ann_dataset *d, const struct pair *p) { return other_metric(d, p, VECTOR_EUCLIDEAN); }
static double is_ip(const struct ann_dataset *d, const struct pair *p) { return other_metric(d, p, VECTOR_IP); }
static double is_angular(const struct ann_dataset *d, const struct pair *p) { return other_metric(d, p, VECTOR_COSINE); }

static const struct convention {
    const char *text;
    double (*value)(const struct ann_dataset *d, const struct pair *p);
} conventions[] = { { "squared L2 instead of L2", squared },
                    { "-ip instead of 1-ip", minus_ip },
                    { "1-ip instead of -ip", plain_ip },
                    { "raw inner product instead of 1-ip", raw_ip },
                    { "L2 of normalised vectors instead of 1-cos", normalised_l2 },
                    { "squared L2 of normalised vectors instead of 1-cos", normalised_l2_squared },
                    { "cosine instead of 1-cos", cosine },
                    { "count of differing bits instead of their share", count_of_bits },
                    { "similarity instead of 1-similarity", similarity },
                    { "euclidean", is_euclidean },
                    { "ip", is_ip },
                    { "angular", is_angular } };

enum { N_CONVENTIONS = sizeof conventions / sizeof conventions[0], FIRST_METRIC = 9 };

struct tally {
    uint64_t n, n_wrong;
    uint64_t n_fit[N_CONVENTIONS];
    char shown[SHOWN_MAX][2][96]; /* place and message of the first */
};

static void count_pair(struct tally *t, const struct ann_dataset *d, uint64_t i)
{
    struct pair p = { (double)d->distances[i], 0, i / d->k, (uint64_t)d->neighbors[i] };
    p.exact = ann_distance(d, p.q, p.r);
    t->n++;
    if (is_near(d, p.stored, p.exact) || (isnan(p.stored) && isnan(p.exact))) {
        for (size_t j = 0; j < N_CONVENTIONS && t->n_wrong > 0; j++) { /* near zero several agree */
            t->n_fit[j] += is_near(d, p.stored, conventions[j].value(d, &p));
        }
        return;
    }
    if (t->n_wrong < SHOWN_MAX) {
        snprintf(t->shown[t->n_wrong][0], sizeof t->shown[0][0], "distances[%llu,%llu]", (unsigned long long)p.q,
                 (unsigned long long)(i % d->k));
        snprintf(t->shown[t->n_wrong][1], sizeof t->shown[0][1], "expected %.9g, found %.9g", p.exact, p.stored);
    }
    t->n_wrong++;
    for (size_t j = 0; j < N_CONVENTIONS; j++) {
        t->n_fit[j] += is_near(d, p.stored, conventions[j].value(d, &p));
    }
}

grebe_status ann_check_distances(struct ann_checker *c, grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    struct tally t;
    uint64_t n = d->test.n * d->k, stride = n / PAIRS_MAX + 1;
    memset(&t, 0, sizeof t);
    for (uint64_t i = 0; i < n; i += stride) {
        if (d->neighbors[i] >= 0) {
            count_pair(&t, d, i);
        }
        if (i / stride % 4096 == 0) {
            grebe_status st = call_check(c->call, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
    }
    if (t.n_wrong == 0) {
        return GREBE_OK;
    }
    size_t best = 0;
    for (size_t j = 1; j < N_CONVENTIONS; j++) {
        best = t.n_fit[j] > t.n_fit[best] ? j : best;
    }
    /* a convention that explains nearly all that is wrong */
    if (t.n_wrong * 2 > t.n && t.n_fit[best] >= t.n_wrong - t.n_wrong / 100) {
        ann_checker_find(c, ANN_ERROR, "distances", "distances do not fit %s; they %s %s (%s: %s)", d->distance,
                         best >= FIRST_METRIC ? "fit" : "are", conventions[best].text, t.shown[0][0], t.shown[0][1]);
        return GREBE_OK;
    }
    for (uint64_t i = 0; i < t.n_wrong && i < SHOWN_MAX; i++) {
        ann_checker_find(c, ANN_ERROR, t.shown[i][0], "%s", t.shown[i][1]);
    }
    if (t.n_wrong > SHOWN_MAX) {
        ann_checker_find(c, ANN_ERROR, "distances", "%llu of %llu distances do not fit %s",
                         (unsigned long long)t.n_wrong, (unsigned long long)t.n, d->distance);
    }
    return GREBE_OK;
}

/* ---- true neighbours ---- */

static double work_of_query(const struct ann_dataset *d)
{
    switch (d->layout) {
    case ANN_DENSE: return (double)d->train.n * d->train.dim;
    case ANN_MULTI:
        return (double)d->train.offsets[d->train.n] * d->train.dim * (double)d->test.offsets[d->test.n] / (double)d->test.n;
    default: return (double)d->train.offsets[d->train.n] * 4 + (double)d->train.n * 16;
    }
}

/*
 * The largest distance of the row's neighbours, and how many other rows are nearer than that by more than rounding.
 * A zero row under angular is no neighbour: its distance is undefined.
 */
static grebe_status count_nearer(struct ann_checker *c, uint64_t q, uint64_t *n_nearer, uint64_t *first, double *far,
                                 grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    const int64_t *ids = d->neighbors + q * d->k;
    double most = -INFINITY;
    uint64_t n = 0, in_row = 0, k = 0;
    *n_nearer = 0;
    for (; k < d->k && ids[k] >= 0; k++) {
        most = fmax(most, ann_distance(d, q, (uint64_t)ids[k]));
    }
    /* of the rows with its label a short row has all; what else may have shortened it nobody tells */
    double limit = k < d->k && d->train.labels != NULL ? INFINITY : most - 1e-6 * fmax(1, fabs(most));
    for (uint64_t r = 0; r < d->train.n; r++) {
        bool is_passed = d->train.labels == NULL || d->train.labels[r] == d->test.labels[q];
        double x = is_passed ? ann_distance(d, q, r) : INFINITY;
        if (x < limit && !(d->metric == VECTOR_COSINE && x == 1.0)) {
            *first = n == 0 ? r : *first;
            n++;
        }
        if (r % 65536 == 0) {
            grebe_status st = call_check(c->call, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
    }
    for (uint64_t j = 0; j < k; j++) {
        double x = ann_distance(d, q, (uint64_t)ids[j]);
        in_row += x < limit && !(d->metric == VECTOR_COSINE && x == 1.0) &&
                  (d->train.labels == NULL || d->train.labels[ids[j]] == d->test.labels[q]);
    }
    *n_nearer = n > in_row ? n - in_row : 0;
    *far = most;
    return GREBE_OK;
}

grebe_status ann_check_nearest(struct ann_checker *c, grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    double n_may = EXACT_WORK / fmax(work_of_query(d), 1);
    uint64_t n = n_may >= EXACT_QUERIES ? EXACT_QUERIES : n_may < 1 ? 1 : (uint64_t)n_may;
    n = min_u64(n, d->test.n);
    uint64_t n_wrong = 0, wrong_q = 0, wrong_n = 0, wrong_first = 0;
    double wrong_far = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t q = i * d->test.n / n, n_nearer = 0, first = 0;
        double far = 0;
        grebe_status st = count_nearer(c, q, &n_nearer, &first, &far, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (n_nearer > 0 && n_wrong++ == 0) {
            wrong_q = q;
            wrong_n = n_nearer;
            wrong_first = first;
            wrong_far = far;
        }
    }
    if (n_wrong > 0) {
        char place[64];
        snprintf(place, sizeof place, "neighbors[%llu]", (unsigned long long)wrong_q);
        ann_checker_find(c, ANN_ERROR, place,
                         "neighbours are not the nearest: recomputed ground truth differs for %llu of %llu queries; "
                         "%llu rows such as %llu are nearer than %.9g",
                         (unsigned long long)n_wrong, (unsigned long long)n, (unsigned long long)wrong_n,
                         (unsigned long long)wrong_first, wrong_far);
    }
    return GREBE_OK;
}
