/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets from vectors: load, split, and find the true neighbours. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ann/ann_truth.h"
#include "base/checked.h"
#include "base/rng.h"
#include "grebe/ann_data.h"
#include "grebe/ann_load.h"

enum { K_DEFAULT = 100, RATIOS_MAX = 1 << 20 };

static void tell(const grebe_ann_make_options *o, grebe_ann_level level, const char *place, const char *fmt, ...)
    GREBE_PRINTF(4, 5);

static void tell(const grebe_ann_make_options *o, grebe_ann_level level, const char *place, const char *fmt, ...)
{
    char text[256];
    va_list args;
    if (o->finding == NULL) {
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    o->finding(o->finding_ctx, level, place, text);
}

/* ---- splitting ---- */

/* Whether each row goes to the queries: n_wanted of n, each set of rows as likely (Knuth, 3.4.2 S). */
struct drawing {
    uint64_t state, n_left, n_wanted;
};

static bool draw(struct drawing *s)
{
    bool is_drawn = rng_next(&s->state) % s->n_left < s->n_wanted;
    s->n_left--;
    s->n_wanted -= is_drawn;
    return is_drawn;
}

static void split_dense(struct ann_vectors *base, struct ann_vectors *queries, struct drawing s)
{
    size_t row = vector_row_bytes(base->elem, base->dim);
    unsigned char *p = base->dense, *to = p, *q = queries->dense;
    for (uint64_t i = 0; i < base->n; i++, p += row) {
        if (draw(&s)) {
            memcpy(q, p, row);
            q += row;
        } else {
            memmove(to, p, row);
            to += row;
        }
    }
}

/* Rows of several elements of `size` bytes; offsets stay, they are moved at last. */
static void split_elements(void *base, void *queries, size_t size, const int64_t *offsets, uint64_t n, struct drawing s)
{
    unsigned char *p = base, *to = p, *q = queries;
    for (uint64_t i = 0; base != NULL && i < n; i++) {
        size_t bytes = (size_t)(offsets[i + 1] - offsets[i]) * size;
        const unsigned char *from = p + (size_t)offsets[i] * size;
        if (draw(&s)) {
            memcpy(q, from, bytes);
            q += bytes;
        } else {
            memmove(to, from, bytes);
            to += bytes;
        }
    }
}

static void split_offsets(int64_t *base, int64_t *queries, uint64_t n, struct drawing s)
{
    int64_t begin = base[0];
    uint64_t b = 0, q = 0;
    for (uint64_t i = 0; i < n; i++) {
        int64_t end = base[i + 1], len = end - begin;
        if (draw(&s)) {
            queries[q + 1] = queries[q] + len;
            q++;
        } else {
            base[b + 1] = base[b] + len;
            b++;
        }
        begin = end;
    }
}

/* Rows that stay where they are: the drawn ones are read, and passed over from now on. */
static grebe_status split_left(struct ann_dataset *d, struct drawing s, grebe_error *err)
{
    struct ann_rows rows = ann_rows_of(&d->train);
    uint64_t n = 0;
    void *p = NULL;
    grebe_status st = ann_array(d, d->test.n, sizeof(uint64_t), "queries", &p, err);
    uint64_t *drawn = p;
    if (st != GREBE_OK) {
        return st;
    }
    for (uint64_t i = 0; i < rows.n; i++) {
        if (draw(&s)) {
            drawn[n++] = i;
        }
    }
    st = ann_rows_gather(d->ctx, &rows, (const int64_t *)p, (size_t)n, d->test.dense, err);
    if (st == GREBE_OK) {
        ann_load_leave_out(&d->train, drawn, n);
    }
    return st;
}

static grebe_status split_rows(struct ann_dataset *d, uint64_t n, uint64_t seed, grebe_error *err)
{
    struct ann_vectors *b = &d->train, *q = &d->test;
    struct drawing s = { seed, b->n, n };
    grebe_status st = GREBE_OK;
    uint64_t n_all = b->n;
    void *p = NULL;
    if (n == 0 || n >= b->n) {
        return GREBE_FAIL(err, GREBE_EINVAL, "split: expected from 1 to %llu rows, found %llu",
                          (unsigned long long)b->n - 1, (unsigned long long)n);
    }
    *q = (struct ann_vectors){ .n = n, .dim = b->dim, .elem = b->elem };
    if (d->layout == ANN_DENSE) {
        GREBE_TRY(ann_array(d, n, vector_row_bytes(b->elem, b->dim), "queries", &q->dense, err));
        if (b->rows.read == NULL) {
            split_dense(b, q, s);
        } else {
            GREBE_TRY(split_left(d, s, err));
        }
    } else {
        uint64_t total = (uint64_t)b->offsets[b->n]; /* as much would do if all rows were drawn */
        size_t row = (size_t)b->dim * sizeof(float);
        GREBE_TRY(ann_array(d, n + 1, sizeof(int64_t), "queries", &p, err));
        q->offsets = p;
        if (d->layout == ANN_MULTI) {
            GREBE_TRY(ann_array(d, total, row, "queries", &q->dense, err));
            split_elements(b->dense, q->dense, row, b->offsets, b->n, s);
        } else {
            GREBE_TRY(ann_array(d, total, sizeof(uint32_t), "queries", &p, err));
            q->terms = p;
            GREBE_TRY(ann_array(d, total, sizeof(float), "queries", &p, err));
            q->values = p;
            split_elements(b->terms, q->terms, sizeof(uint32_t), b->offsets, b->n, s);
            split_elements(b->values, q->values, sizeof(float), b->offsets, b->n, s);
        }
        split_offsets(b->offsets, q->offsets, b->n, s);
    }
    if (b->labels != NULL) {
        GREBE_TRY(ann_array(d, n, sizeof(int64_t), "labels", &p, err));
        q->labels = p;
        struct drawing again = s;
        for (uint64_t i = 0, to = 0, at = 0; i < n_all; i++) {
            if (draw(&again)) {
                q->labels[at++] = b->labels[i];
            } else {
                b->labels[to++] = b->labels[i];
            }
        }
    }
    b->n = n_all - n;
out:
    return st;
}

/* ---- labels ---- */

/* Share of each label, so that VSAG knows how selective a filter is. */
static grebe_status count_ratios(struct ann_dataset *d, grebe_error *err)
{
    int64_t most = 0;
    void *p = NULL;
    grebe_status st = GREBE_OK;
    struct buf counts = BUF_INIT(d->ctx->a);
    for (uint64_t i = 0; i < d->train.n; i++) {
        most = max_i64(most, d->train.labels[i]);
    }
    for (uint64_t i = 0; i < d->test.n; i++) {
        most = max_i64(most, d->test.labels[i]);
    }
    if (most >= RATIOS_MAX) { /* labels that are names of things rather than numbers from 0 */
        return GREBE_OK;
    }
    d->n_valid_ratios = (uint64_t)most + 1;
    GREBE_TRY(ann_array(d, d->n_valid_ratios, sizeof(float), "valid_ratios", &p, err));
    d->valid_ratios = p;
    GREBE_TRY(buf_put_zero(&counts, (size_t)d->n_valid_ratios * 8, err));
    uint64_t *n = (uint64_t *)(void *)counts.data;
    for (uint64_t i = 0; i < d->train.n; i++) {
        n[d->train.labels[i]]++;
    }
    for (uint64_t l = 0; l < d->n_valid_ratios; l++) {
        d->valid_ratios[l] = (float)((double)n[l] / (double)d->train.n);
    }
out:
    buf_release(&counts);
    return st;
}

/* Rows without padding are as long as the query with the fewest matches allows. */
static grebe_status handle_short(struct ann_dataset *d, const grebe_ann_make_options *o, grebe_error *err)
{
    uint64_t fewest = d->k, query = 0, n_short = 0;
    for (uint64_t q = 0; q < d->test.n; q++) {
        uint64_t n = d->k;
        while (n > 0 && d->neighbors[q * d->k + n - 1] < 0) {
            n--;
        }
        n_short += n < d->k;
        query = n < fewest ? q : query;
        fewest = n < fewest ? n : fewest;
    }
    if (n_short == 0) {
        return GREBE_OK;
    }
    if (o->short_rows == GREBE_ANN_SHORT_PAD) {
        tell(o, GREBE_ANN_WARNING, "neighbors", "%llu queries have fewer than %llu matches (query %llu has %llu): their rows end in -1, which VSAG refuses",
             (unsigned long long)n_short, (unsigned long long)d->k, (unsigned long long)query, (unsigned long long)fewest);
        return GREBE_OK;
    }
    if (o->short_rows == GREBE_ANN_SHORT_FAIL || fewest == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "query %llu: expected %llu base rows with its label, found %llu",
                          (unsigned long long)query, (unsigned long long)d->k, (unsigned long long)fewest);
    }
    for (uint64_t q = 0; q < d->test.n; q++) {
        memmove(d->neighbors + q * fewest, d->neighbors + q * d->k, (size_t)fewest * sizeof *d->neighbors);
        memmove(d->distances + q * fewest, d->distances + q * d->k, (size_t)fewest * sizeof *d->distances);
    }
    tell(o, GREBE_ANN_NOTICE, "neighbors", "k is %llu instead of %llu: query %llu has no more matches",
         (unsigned long long)fewest, (unsigned long long)d->k, (unsigned long long)query);
    d->k = fewest;
    return GREBE_OK;
}

static grebe_status fill(struct ann_dataset *d, const grebe_ann_make_options *o, const struct call *call, grebe_error *err)
{
    uint64_t k = o->k != 0 ? o->k : min_u64(K_DEFAULT, d->train.n);
    if (k > d->train.n) {
        return GREBE_FAIL(err, GREBE_EINVAL, "k: expected at most %llu, the number of base rows, found %llu",
                          (unsigned long long)d->train.n, (unsigned long long)k);
    }
    if (o->is_filtered && d->train.labels == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "filtered: expected labels of base and queries");
    }
    grebe_status st = ann_truth_fill(d, k, o->is_filtered, call, err);
    return st == GREBE_OK ? handle_short(d, o, err) : st;
}

/* A finding of the room to the caller's function. */
static void pass_on(void *arg, enum ann_level level, const char *place, const char *message)
{
    const grebe_ann_make_options *o = arg;
    if (o->finding != NULL) {
        o->finding(o->finding_ctx, (grebe_ann_level)level, place, message);
    }
}

/* Neighbours that others found. */
static grebe_status import_truth(struct ann_dataset *d, grebe_ann_make_options *o, const struct call *call, grebe_error *err)
{
    bool has_distances = false;
    grebe_status st = GREBE_OK;
    GREBE_TRY(ann_load_truth(d, o->neighbors, o->distances, o->k, o->call, &has_distances, err));
    GREBE_TRY(handle_short(d, o, err));
    st = ann_truth_import(d, has_distances, call, pass_on, o, err);
    st = st == GREBE_ECORRUPT ? error_wrap(err, st, "%s", o->neighbors) : st;
out:
    return st;
}

/* ---- all of it ---- */

static grebe_status choose_metric(struct ann_dataset *d, const char *name, grebe_error *err)
{
    if (name == NULL) {
        name = d->layout == ANN_SPARSE ? "ip" : d->train.elem == VECTOR_BIT ? "hamming" : NULL;
    }
    if (name == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "metric: expected one named, or as the last word of the output (as in words-50-angular.hdf5), found none");
    }
    grebe_status st = vector_metric_parse(name, &d->metric, err);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_bit = d->layout == ANN_DENSE && d->train.elem == VECTOR_BIT;
    bool is_legal = d->layout == ANN_SPARSE ? d->metric == VECTOR_IP
                    : is_bit               ? d->metric == VECTOR_HAMMING
                                           : d->metric == VECTOR_EUCLIDEAN || d->metric == VECTOR_IP || d->metric == VECTOR_COSINE;
    if (!is_legal) {
        return GREBE_FAIL(err, GREBE_EINVAL, "metric: \"%.32s\" is not legal for %s", name,
                          d->layout == ANN_SPARSE ? "sparse rows (ip alone)" : is_bit ? "bits (hamming alone)"
                                                                             : "vectors (euclidean, ip, angular)");
    }
    snprintf(d->distance, sizeof d->distance, "%s", vector_metric_name(d->metric));
    return GREBE_OK;
}

static grebe_status load(struct ann_dataset *d, const grebe_ann_make_options *o, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ann_load side = { o->base, o->column, o->is_uint8_kept, o->is_base_by_rows, o->call };
    GREBE_TRY(ann_load_side(d, &d->train, &side, true, err));
    GREBE_TRY(choose_metric(d, o->metric, err));
    if (o->base_labels != NULL) {
        GREBE_TRY(ann_load_labels(d, o->base_labels, d->train.n, o->call, &d->train.labels, err));
    }
    if (o->queries == NULL) {
        st = split_rows(d, o->split, o->seed, err);
        goto out;
    }
    side.uri = o->queries;
    side.is_by_rows = false;
    GREBE_TRY(ann_load_side(d, &d->test, &side, false, err));
    if (d->layout != ANN_SPARSE && (d->test.dim != d->train.dim || d->test.elem != d->train.elem)) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected %u %s components as in %s, found %u %s", o->queries, d->train.dim,
                        vector_elem_name(d->train.elem), o->base, d->test.dim, vector_elem_name(d->test.elem));
        goto out;
    }
    if (o->query_labels != NULL) {
        GREBE_TRY(ann_load_labels(d, o->query_labels, d->test.n, o->call, &d->test.labels, err));
    }
out:
    return st;
}

grebe_status grebe_ann_make(grebe_context *ctx, const grebe_ann_make_options *options, grebe_ann_data **out,
                            grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && options != NULL && out != NULL);
    grebe_ann_make_options o = GREBE_ANN_MAKE_OPTIONS_INIT;
    struct ann_dataset *d = NULL;
    *out = NULL;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_CHECK_ARG(err, o.base != NULL && (o.queries == NULL) != (o.split == 0));
    GREBE_CHECK_ARG(err, o.neighbors == NULL ? o.distances == NULL : o.queries != NULL);
    GREBE_CHECK_ARG(err, o.queries == NULL ? o.query_labels == NULL : (o.query_labels == NULL) == (o.base_labels == NULL));
    struct call call = call_options_resolve(ctx, o.call);
    GREBE_TRY(ann_dataset_new(ctx, &d, err));
    GREBE_TRY(load(d, &o, err));
    d->is_int8_negated_ip = o.is_int8_negated_ip && d->train.elem == VECTOR_I8 && d->metric == VECTOR_IP;
    d->is_maxsim_squared = !o.is_maxsim_plain_l2;
    if (d->train.labels != NULL) {
        GREBE_TRY(count_ratios(d, err));
    }
    GREBE_TRY(o.neighbors != NULL ? import_truth(d, &o, &call, err) : fill(d, &o, &call, err));
    GREBE_TRY(ann_data_new(d, out, err));
    d = NULL;
out:
    ann_dataset_free(d);
    return st;
}

grebe_status grebe_ann_refill(grebe_ann_data *data, const grebe_ann_make_options *options, grebe_error *err)
{
    GREBE_CHECK_ARG(err, data != NULL);
    grebe_ann_make_options o = GREBE_ANN_MAKE_OPTIONS_INIT;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct ann_dataset *d = ann_data_get(data);
    struct call call = call_options_resolve(d->ctx, o.call);
    GREBE_CHECK_ARG(err, ann_has_rows(&d->train) || d->train.offsets != NULL);
    return fill(d, &o, &call, err);
}

grebe_status grebe_ann_groundtruth(grebe_context *ctx, const grebe_ann_content *content, uint64_t k, bool is_filtered,
                                   const grebe_call_options *call, int64_t *ids, float *distances, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && content != NULL && ids != NULL && distances != NULL);
    GREBE_CHECK_ARG(err, k != 0); /* the caller's arrays have that many columns: no default */
    struct ann_dataset *d = NULL;
    struct ann_block *blocks = NULL;
    struct call resolved = call_options_resolve(ctx, call);
    grebe_ann_make_options o = GREBE_ANN_MAKE_OPTIONS_INIT;
    grebe_status st = ann_dataset_new(ctx, &d, err);
    if (st != GREBE_OK) {
        return st;
    }
    blocks = d->blocks;
    GREBE_TRY(ann_data_of_content(ctx, content, d, err));
    d->blocks = blocks;
    o.k = k;
    o.is_filtered = is_filtered;
    o.short_rows = GREBE_ANN_SHORT_PAD;
    GREBE_TRY(fill(d, &o, &resolved, err));
    memcpy(ids, d->neighbors, (size_t)(d->test.n * d->k) * sizeof *ids);
    memcpy(distances, d->distances, (size_t)(d->test.n * d->k) * sizeof *distances);
out:
    ann_dataset_free(d);
    return st;
}
