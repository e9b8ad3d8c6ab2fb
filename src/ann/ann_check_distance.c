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

enum { SHOWN_MAX = 5, PAIRS_MAX = 2000000, EXACT_QUERIES = 64, NEAR_BYTES = 256 << 20, BATCH_PAIRS = 1 << 20,
       BLOCK_ROWS = 4096 };
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
    const void *row; /* DENSE: row r */
};

/* Rows of train by id, a batch of them in memory: all that is looked at of sets above the memory limit. */
struct near_rows {
    struct ann_rows rows;
    struct buf gathered;
    size_t row_bytes, n_most;
};

static void near_init(struct near_rows *n, const struct ann_checker *c)
{
    size_t bytes = vector_row_bytes(c->d->train.elem, c->d->train.dim);
    n->rows = ann_rows_of(&c->d->train);
    n->gathered = BUF_INIT(c->d->ctx->a);
    n->row_bytes = max_size(bytes, 1);
    n->n_most = max_size((size_t)min_u64(c->call->memory_limit_bytes / 4, NEAR_BYTES) / n->row_bytes, 1);
}

/* The rows of ids, so that near_row() has them. Nothing to do for sets in memory. */
static grebe_status near_take(struct near_rows *n, const struct ann_checker *c, const int64_t *ids, size_t n_ids,
                              grebe_error *err)
{
    if (n->rows.read == NULL) {
        return GREBE_OK;
    }
    buf_clear(&n->gathered);
    grebe_status st = buf_reserve(&n->gathered, n_ids * n->row_bytes, err);
    return st == GREBE_OK ? ann_rows_gather(c->d->ctx, &n->rows, ids, n_ids, n->gathered.data, err) : st;
}

/* Row `r`, which is the i-th of those taken. Other layouts: NULL. */
static const void *near_row(const struct near_rows *n, const struct ann_dataset *d, size_t i, uint64_t r)
{
    if (d->layout != ANN_DENSE) {
        return NULL;
    }
    return n->rows.read != NULL ? n->gathered.data + i * n->row_bytes
                                : (const unsigned char *)n->rows.data + r * n->row_bytes;
}

static double distance_of(const struct ann_dataset *d, uint64_t q, uint64_t r, const void *row)
{
    return row != NULL ? ann_distance_to(d, q, row) : ann_distance(d, q, r);
}

static double dense_distance(const struct ann_dataset *d, const struct pair *p, enum vector_metric metric)
{
    size_t row = vector_row_bytes(d->train.elem, d->train.dim);
    return vector_distance_exact(metric, d->train.elem, (const unsigned char *)d->test.dense + p->q * row,
                                 p->row, d->train.dim);
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

static void count_pair(struct tally *t, const struct ann_dataset *d, uint64_t i, const void *row)
{
    struct pair p = { (double)d->distances[i], 0, i / d->k, (uint64_t)d->neighbors[i], row };
    p.exact = distance_of(d, p.q, p.r, row);
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

/* Pairs begin, begin + stride, …, n of them. */
static grebe_status count_pairs(struct tally *t, struct ann_checker *c, struct near_rows *near, uint64_t begin,
                                uint64_t stride, size_t n, grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    struct buf ids = BUF_INIT(d->ctx->a);
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && near->rows.read != NULL; i++) {
        GREBE_TRY(buf_put(&ids, &d->neighbors[begin + i * stride], sizeof *d->neighbors, err));
    }
    GREBE_TRY(near_take(near, c, (const int64_t *)(const void *)ids.data, n, err));
    for (size_t i = 0; i < n; i++) {
        int64_t id = d->neighbors[begin + i * stride];
        if (id >= 0) {
            count_pair(t, d, begin + i * stride, near_row(near, d, i, (uint64_t)id));
        }
        if (i % 4096 == 0) {
            GREBE_TRY(call_check(c->call, err));
        }
    }
out:
    buf_release(&ids);
    return st;
}

grebe_status ann_check_distances(struct ann_checker *c, grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    struct tally t;
    struct near_rows near;
    uint64_t n_all = d->test.n * d->k, stride = n_all / PAIRS_MAX + 1, n = (n_all + stride - 1) / stride, step = BATCH_PAIRS;
    grebe_status st = GREBE_OK;
    memset(&t, 0, sizeof t);
    near_init(&near, c);
    step = near.rows.read != NULL ? min_u64(step, near.n_most) : step;
    for (uint64_t at = 0; at < n && st == GREBE_OK; at += step) {
        st = count_pairs(&t, c, &near, at * stride, stride, (size_t)min_u64(step, n - at), err);
    }
    buf_release(&near.gathered);
    if (st != GREBE_OK) {
        return st;
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

/* A query whose neighbours are searched anew. */
struct anew {
    uint64_t q;
    double far, limit; /* the largest distance of its neighbours; what is nearer than that by more than rounding */
    uint64_t n, first; /* rows below the limit */
    uint64_t in_row;   /* of these its neighbours */
};

/* A zero row under angular is no neighbour: its distance is undefined. */
static bool is_nearer(const struct ann_dataset *d, const struct anew *a, uint64_t r, const void *row)
{
    if (d->train.labels != NULL && d->train.labels[r] != d->test.labels[a->q]) {
        return false;
    }
    double x = distance_of(d, a->q, r, row);
    return x < a->limit && !(d->metric == VECTOR_COSINE && x == 1.0);
}

/* One look at neighbours [begin, begin + n) of all queries, k of each: their largest distance, or which are below the limit. */
static void look_at(struct anew *queries, const struct ann_dataset *d, const struct near_rows *near, const int64_t *ids,
                    uint64_t begin, size_t n, bool is_second)
{
    for (size_t i = 0; i < n; i++) {
        struct anew *a = &queries[(begin + i) / d->k];
        int64_t id = ids[begin + i];
        if (id < 0) {
            continue;
        }
        const void *row = near_row(near, d, i, (uint64_t)id);
        if (is_second) {
            a->in_row += is_nearer(d, a, (uint64_t)id, row);
        } else {
            a->far = fmax(a->far, distance_of(d, a->q, (uint64_t)id, row));
        }
    }
}

/* What the neighbours of the queries are: twice over them, so that many of large rows need not be in memory together. */
static grebe_status take_limits(struct anew *queries, size_t n, struct ann_checker *c, struct near_rows *near,
                                grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    struct buf all = BUF_INIT(d->ctx->a);
    grebe_status st = GREBE_OK;
    uint64_t n_all = n * d->k, step = near->rows.read != NULL ? near->n_most : n_all;
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(buf_put(&all, d->neighbors + queries[i].q * d->k, (size_t)d->k * sizeof(int64_t), err));
        queries[i].far = -INFINITY;
    }
    int64_t *ids = (int64_t *)(void *)all.data;
    for (uint64_t i = 0; i < n_all; i++) { /* the first that is none ends a row */
        ids[i] = i % d->k > 0 && ids[i - 1] < 0 ? -1 : ids[i];
    }
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t at = 0; at < n_all; at += step) {
            size_t m = (size_t)min_u64(step, n_all - at);
            if (pass == 0 || step < n_all) {
                GREBE_TRY(near_take(near, c, ids + at, m, err));
            }
            look_at(queries, d, near, ids, at, m, pass == 1);
            GREBE_TRY(call_check(c->call, err));
        }
        for (size_t i = 0; i < n; i++) {
            /* of the rows with its label a short row has all; what else may have shortened it nobody tells */
            bool is_short = ids[(i + 1) * d->k - 1] < 0;
            double far = queries[i].far;
            queries[i].limit = is_short && d->train.labels != NULL ? INFINITY : far - 1e-6 * fmax(1, fabs(far));
        }
    }
out:
    buf_release(&all);
    return st;
}

/* All rows of train, block by block, for all of these queries. */
static grebe_status count_nearer(struct ann_checker *c, const struct near_rows *near, struct anew *queries, size_t n,
                                 grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    struct buf block = BUF_INIT(d->ctx->a);
    size_t step = near->rows.read != NULL ? ann_block_rows(&near->rows, c->call) : BLOCK_ROWS;
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_reserve(&block, near->rows.read != NULL ? step * near->row_bytes : 1, err));
    for (uint64_t at = 0; at < d->train.n; at += step) {
        size_t n_rows = (size_t)min_u64(step, d->train.n - at);
        const void *rows = NULL;
        if (d->layout == ANN_DENSE) {
            GREBE_TRY(ann_rows_get(&near->rows, at, n_rows, block.data, &rows, err));
        }
        for (size_t i = 0; i < n; i++) {
            struct anew *a = &queries[i];
            for (size_t r = 0; r < n_rows; r++) {
                if (is_nearer(d, a, at + r, rows == NULL ? NULL : (const unsigned char *)rows + r * near->row_bytes)) {
                    a->first = a->n++ == 0 ? at + r : a->first;
                }
            }
            GREBE_TRY(call_check(c->call, err));
        }
    }
out:
    buf_release(&block);
    return st;
}

grebe_status ann_check_nearest(struct ann_checker *c, grebe_error *err)
{
    const struct ann_dataset *d = c->d;
    double n_may = EXACT_WORK / fmax(work_of_query(d), 1);
    size_t n = n_may >= EXACT_QUERIES ? EXACT_QUERIES : n_may < 1 ? 1 : (size_t)n_may;
    struct anew queries[EXACT_QUERIES], *wrong = NULL;
    struct near_rows near;
    uint64_t n_wrong = 0;
    grebe_status st = GREBE_OK;
    n = (size_t)min_u64(n, d->test.n);
    memset(queries, 0, sizeof queries);
    near_init(&near, c);
    for (size_t i = 0; i < n; i++) {
        queries[i].q = i * d->test.n / n;
    }
    GREBE_TRY(take_limits(queries, n, c, &near, err));
    GREBE_TRY(count_nearer(c, &near, queries, n, err));
    for (size_t i = n; i-- > 0;) {
        if (queries[i].n > queries[i].in_row) {
            wrong = &queries[i];
            n_wrong++;
        }
    }
    if (wrong != NULL) {
        char place[64];
        snprintf(place, sizeof place, "neighbors[%llu]", (unsigned long long)wrong->q);
        ann_checker_find(c, ANN_ERROR, place,
                         "neighbours are not the nearest: recomputed ground truth differs for %llu of %llu queries; "
                         "%llu rows such as %llu are nearer than %.9g",
                         (unsigned long long)n_wrong, (unsigned long long)n,
                         (unsigned long long)(wrong->n - wrong->in_row), (unsigned long long)wrong->first, wrong->far);
    }
out:
    buf_release(&near.gathered);
    return st;
}
