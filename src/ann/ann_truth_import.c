/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours that another program found: their distances anew, and everything that ann_check() would say of them. */
#include "ann/ann_truth.h"

#include <math.h>
#include <stdlib.h>

#include "ann/ann_internal.h"
#include "base/checked.h"

enum { GATHER_BYTES = 64 << 20 };
static const double ROUNDING = 1e-6; /* of float32 arithmetic, relative above 1 */

/* Distances of the file are replaced: what is wrong with them is no error of the data set. */
static void as_notice(void *arg, enum ann_level level, const char *place, const char *message)
{
    struct ann_checker *c = arg;
    c->finding(c->arg, level == ANN_ERROR ? ANN_NOTICE : level, place, message);
}

static grebe_status check_range(const struct ann_dataset *d, grebe_error *err)
{
    for (uint64_t i = 0; i < d->test.n * d->k; i++) {
        bool is_end = d->neighbors[i] == -1;
        if (!is_end && (d->neighbors[i] < 0 || (uint64_t)d->neighbors[i] >= d->train.n || (i % d->k > 0 && d->neighbors[i - 1] < 0))) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "neighbors[%llu,%llu] = %lld: expected an id from 0, must be below %llu",
                              (unsigned long long)(i / d->k), (unsigned long long)(i % d->k), (long long)d->neighbors[i],
                              (unsigned long long)d->train.n);
        }
    }
    return GREBE_OK;
}

/* Exact distances of all pairs, those of dense rows from as many rows as memory may hold. */
static grebe_status take_exact(const struct ann_dataset *d, const struct call *call, double *exact, grebe_error *err)
{
    struct ann_rows rows = ann_rows_of(&d->train);
    struct buf near = BUF_INIT(d->ctx->a);
    size_t row = max_size(vector_row_bytes(d->train.elem, d->train.dim), 1);
    uint64_t n = d->test.n * d->k;
    size_t step = max_size((size_t)min_u64(GATHER_BYTES, call->memory_limit_bytes / 4) / row, 1);
    bool is_gathered = d->layout == ANN_DENSE;
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_reserve(&near, is_gathered ? (size_t)min_u64(step, n) * row : 1, err));
    for (uint64_t at = 0; at < n; at += step) {
        size_t m = (size_t)min_u64(step, n - at);
        GREBE_TRY(call_check(call, err));
        if (is_gathered) {
            GREBE_TRY(ann_rows_gather(d->ctx, &rows, d->neighbors + at, m, near.data, err));
        }
        for (size_t i = 0; i < m; i++) {
            int64_t id = d->neighbors[at + i];
            uint64_t q = (at + i) / d->k;
            exact[at + i] = id < 0         ? INFINITY
                            : is_gathered ? ann_distance_to(d, q, near.data + i * row)
                                          : ann_distance(d, q, (uint64_t)id);
        }
    }
out:
    buf_release(&near);
    return st;
}

struct near {
    double distance;
    int64_t id;
    uint64_t at;
};

static int by_distance(const void *a, const void *b)
{
    const struct near *x = a, *y = b;
    return x->distance < y->distance ? -1 : x->distance > y->distance ? 1 : (x->at > y->at) - (x->at < y->at);
}

/* Neighbours whose order float32 arithmetic did not see are put in it. Whether some were. `row`: shape [k], scratch. */
static bool order_row(int64_t *ids, double *exact, uint64_t k, struct near *row)
{
    bool is_apart = false;
    uint64_t n = 0;
    for (; n < k && ids[n] >= 0; n++) {
        row[n] = (struct near){ exact[n], ids[n], n };
        double descent = n > 0 ? exact[n - 1] - exact[n] : 0;
        if (isnan(exact[n]) || descent > ROUNDING * fmax(1, fabs(exact[n]))) {
            return false; /* in another order altogether, which is told and kept */
        }
        is_apart |= descent > 0;
    }
    if (is_apart) {
        qsort(row, (size_t)n, sizeof *row, by_distance);
        for (uint64_t j = 0; j < n; j++) {
            exact[j] = row[j].distance;
            ids[j] = row[j].id;
        }
    }
    return is_apart;
}

static grebe_status replace_distances(struct ann_dataset *d, struct ann_checker *c, grebe_error *err)
{
    struct buf exact = BUF_INIT(d->ctx->a), row = BUF_INIT(d->ctx->a);
    uint64_t n_moved = 0;
    grebe_status st = GREBE_OK;
    GREBE_TRY(buf_put_zero(&exact, (size_t)(d->test.n * d->k) * sizeof(double), err));
    GREBE_TRY(buf_reserve(&row, (size_t)d->k * sizeof(struct near), err));
    double *x = (double *)(void *)exact.data;
    GREBE_TRY(take_exact(d, c->call, x, err));
    for (uint64_t q = 0; q < d->test.n; q++) {
        n_moved += order_row(d->neighbors + q * d->k, x + q * d->k, d->k, (struct near *)(void *)row.data);
    }
    for (uint64_t i = 0; i < d->test.n * d->k; i++) {
        d->distances[i] = (float)x[i];
    }
    if (n_moved > 0) {
        ann_checker_find(c, ANN_NOTICE, "neighbors", "%llu rows had neighbours in another order by rounding: they are ordered anew",
                         (unsigned long long)n_moved);
    }
out:
    buf_release(&exact);
    buf_release(&row);
    return st;
}

grebe_status ann_truth_import(struct ann_dataset *d, bool has_distances, const struct call *call, ann_finding_fn finding,
                              void *arg, grebe_error *err)
{
    struct ann_checker c = { .d = d, .call = call, .allow_padding = true, .finding = finding, .arg = arg };
    struct ann_checker told = { .d = d, .call = call, .finding = as_notice, .arg = &c };
    grebe_status st = GREBE_OK;
    GREBE_TRY(check_range(d, err));
    if (has_distances && finding != NULL) {
        GREBE_TRY(ann_check_distances(&told, err));
    }
    GREBE_TRY(replace_distances(d, &c, err));
    st = ann_check_content(&c, err);
out:
    return st;
}
