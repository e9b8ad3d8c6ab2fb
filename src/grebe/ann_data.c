/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls on benchmark data sets. */
#include "grebe/ann_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct grebe_ann_data {
    struct ann_dataset *d;
};

/* A finding of the room to the caller's function. */
struct listener {
    grebe_ann_finding_fn finding;
    void *ctx;
};

static void pass_on(void *arg, enum ann_level level, const char *place, const char *message)
{
    const struct listener *l = arg;
    if (l->finding != NULL) {
        l->finding(l->ctx, (grebe_ann_level)level, place, message);
    }
}

grebe_status ann_data_new(struct ann_dataset *d, grebe_ann_data **out, grebe_error *err)
{
    *out = mem_alloc_zero(d->ctx->a, sizeof **out);
    if (*out == NULL) {
        return mem_fail(err, sizeof **out, "a data set");
    }
    (*out)->d = d;
    return GREBE_OK;
}

struct ann_dataset *ann_data_get(grebe_ann_data *data) { return data->d; }

grebe_status grebe_ann_open(grebe_context *ctx, const char *path, const grebe_ann_read_options *options,
                            grebe_ann_data **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && out != NULL);
    grebe_ann_read_options o = GREBE_ANN_READ_OPTIONS_INIT;
    struct ann_dataset *d = NULL;
    *out = NULL;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_CHECK_ARG(err, (unsigned)o.profile <= GREBE_ANN_ANNB);
    struct call call = call_options_resolve(ctx, o.call);
    struct listener l = { o.finding, o.finding_ctx };
    struct ann_open_options open = { .profile = (enum ann_profile)o.profile, .is_without_vectors = o.is_without_vectors,
                                     .is_base_by_rows = o.is_base_by_rows, .allow_padding = o.allow_padding,
                                     .finding = pass_on, .finding_arg = &l };
    GREBE_TRY(ann_dataset_open(ctx, path, &open, &call, &d, err));
    GREBE_TRY(ann_data_new(d, out, err));
    d = NULL;
out:
    ann_dataset_free(d);
    return st;
}

void grebe_ann_close(grebe_ann_data *data)
{
    if (data != NULL) {
        const grebe_allocator *a = data->d->ctx->a;
        ann_dataset_free(data->d);
        mem_free(a, data, sizeof *data);
    }
}

static void side_of(const struct ann_vectors *v, grebe_ann_side *out)
{
    *out = (grebe_ann_side){ v->n, v->dim, (grebe_elem)v->elem, v->dense, v->offsets, v->terms, v->values,
                             v->token_offsets, v->tokens, v->labels };
}

grebe_status grebe_ann_content_of(const grebe_ann_data *data, grebe_ann_content *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, data != NULL && out != NULL);
    const struct ann_dataset *d = data->d;
    grebe_ann_content c = GREBE_ANN_CONTENT_INIT;
    uint32_t size = out->struct_size;
    GREBE_CHECK_ARG(err, size >= sizeof size);
    c.layout = (grebe_ann_layout)d->layout;
    c.distance = d->distance;
    side_of(&d->train, &c.base);
    side_of(&d->test, &c.queries);
    c.k = d->k;
    c.neighbors = d->neighbors;
    c.distances = d->distances;
    c.valid_ratios = d->valid_ratios;
    c.n_valid_ratios = d->n_valid_ratios;
    c.is_int8_negated_ip = d->is_int8_negated_ip;
    c.is_maxsim_plain_l2 = !d->is_maxsim_squared;
    c.base_rows_of = d->train.rows.read != NULL ? data : NULL;
    c.struct_size = size;
    memcpy(out, &c, size < sizeof c ? size : sizeof c);
    return GREBE_OK;
}

grebe_status grebe_ann_check(grebe_context *ctx, const char *path, const grebe_ann_read_options *options,
                             uint64_t *n_errors, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && n_errors != NULL);
    grebe_ann_read_options o = GREBE_ANN_READ_OPTIONS_INIT;
    *n_errors = 0;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_CHECK_ARG(err, (unsigned)o.profile <= GREBE_ANN_ANNB);
    struct call call = call_options_resolve(ctx, o.call);
    struct listener l = { o.finding, o.finding_ctx };
    return ann_check(ctx, path, (enum ann_profile)o.profile, o.allow_padding, &call, pass_on, &l, n_errors, err);
}

/* ---- writing ---- */

/* The model's arrays are not const, and nothing that takes a model to write it changes them. */
static void *borrow(const void *p)
{
    void *out = NULL;
    memcpy(&out, &p, sizeof out);
    return out;
}

static void side_from(const grebe_ann_side *s, struct ann_vectors *out)
{
    *out = (struct ann_vectors){ .n = s->n, .dim = s->dim, .elem = (enum vector_elem)s->elem, .dense = borrow(s->vectors),
                                 .offsets = borrow(s->offsets), .terms = borrow(s->terms), .values = borrow(s->values),
                                 .token_offsets = borrow(s->token_offsets), .tokens = borrow(s->tokens),
                                 .labels = borrow(s->labels) };
}

static grebe_status check_side(const char *name, enum ann_layout layout, const struct ann_vectors *v, grebe_error *err)
{
    bool has_offsets = layout != ANN_DENSE;
    bool has_vectors = layout == ANN_DENSE || layout == ANN_MULTI;
    if (v->n == 0 || (has_vectors && (!ann_has_rows(v) || v->dim == 0)) || (has_offsets && v->offsets == NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected rows with components", name);
    }
    for (uint64_t i = 0; has_offsets && i <= v->n; i++) {
        if (i == 0 ? v->offsets[0] != 0 : v->offsets[i] < v->offsets[i - 1]) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected offsets that ascend from 0, found %lld at %llu", name,
                              (long long)v->offsets[i], (unsigned long long)i);
        }
    }
    if (!has_vectors && v->offsets[v->n] > 0 && (v->terms == NULL || (layout == ANN_SPARSE && v->values == NULL))) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected terms%s", name, layout == ANN_SPARSE ? " and values" : "");
    }
    return GREBE_OK;
}

/* Components of vectors in memory. */
static grebe_status check_finite(const char *name, enum ann_layout layout, const struct ann_vectors *v, grebe_error *err)
{
    enum { PIECE = 1024 };
    float wide[PIECE];
    bool is_whole = v->elem == VECTOR_I8 || v->elem == VECTOR_U8 || v->elem == VECTOR_BIT;
    if (is_whole || v->dense == NULL || (layout != ANN_DENSE && layout != ANN_MULTI)) {
        return GREBE_OK;
    }
    size_t row = vector_row_bytes(v->elem, v->dim), unit = vector_row_bytes(v->elem, 1);
    uint64_t n = layout == ANN_MULTI ? (uint64_t)v->offsets[v->n] : v->n;
    for (uint64_t i = 0; i < n; i++) {
        for (uint32_t begin = 0; begin < v->dim; begin += PIECE) {
            uint32_t len = v->dim - begin < PIECE ? v->dim - begin : PIECE;
            vector_to_f32(v->elem, (const unsigned char *)v->dense + i * row + begin * unit, len, wide);
            for (uint32_t j = 0; j < len; j++) {
                if (!isfinite(wide[j])) {
                    return GREBE_FAIL(err, GREBE_EINVAL, "%s: vector %llu, component %u: expected a finite number, found %s",
                                      name, (unsigned long long)i, begin + j, isnan(wide[j]) ? "NaN" : "infinity");
                }
            }
        }
    }
    return GREBE_OK;
}

/* What follows offsets that are in order: terms, each once and ascending, of finite values; sequences of tokens. */
static grebe_status check_terms(const char *name, enum ann_layout layout, const struct ann_vectors *v, grebe_error *err)
{
    for (uint64_t i = 0; (layout == ANN_SPARSE || layout == ANN_SETS) && i < v->n; i++) {
        for (int64_t j = v->offsets[i]; j < v->offsets[i + 1]; j++) {
            if (j > v->offsets[i] && v->terms[j] <= v->terms[j - 1]) {
                return GREBE_FAIL(err, GREBE_EINVAL, "%s: row %llu: expected ascending terms, found %u after %u", name,
                                  (unsigned long long)i, v->terms[j], v->terms[j - 1]);
            }
            if (layout == ANN_SPARSE && !isfinite(v->values[j])) {
                return GREBE_FAIL(err, GREBE_EINVAL, "%s: row %llu, term %u: expected a finite number", name,
                                  (unsigned long long)i, v->terms[j]);
            }
        }
    }
    for (uint64_t i = 0; v->token_offsets != NULL && i <= v->n; i++) {
        if (i == 0 ? v->token_offsets[0] != 0 : v->token_offsets[i] < v->token_offsets[i - 1]) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected offsets of tokens that ascend from 0, found %lld at %llu", name,
                              (long long)v->token_offsets[i], (unsigned long long)i);
        }
    }
    if (v->token_offsets != NULL && v->token_offsets[v->n] > 0 && v->tokens == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected tokens", name);
    }
    return GREBE_OK;
}

grebe_status ann_data_of_content(grebe_context *ctx, const grebe_ann_content *content, struct ann_dataset *out,
                                 grebe_error *err)
{
    grebe_ann_content c = GREBE_ANN_CONTENT_INIT;
    grebe_status st = options_copy(&c, sizeof c, content, err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(out, 0, sizeof *out);
    out->ctx = ctx;
    out->layout = (enum ann_layout)c.layout;
    if (vector_elem_name((enum vector_elem)c.base.elem) == NULL || vector_elem_name((enum vector_elem)c.queries.elem) == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "elem: expected types of components, found %d and %d", (int)c.base.elem,
                          (int)c.queries.elem);
    }
    if ((unsigned)c.layout > GREBE_ANN_SETS) {
        return GREBE_FAIL(err, GREBE_EINVAL, "layout: expected 0 to %d, found %d", GREBE_ANN_SETS, (int)c.layout);
    }
    if (c.distance == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "distance: expected euclidean, ip, angular, hamming or jaccard");
    }
    GREBE_TRY(vector_metric_parse(c.distance, &out->metric, err));
    snprintf(out->distance, sizeof out->distance, "%s", vector_metric_name(out->metric));
    if (out->metric == VECTOR_L2SQ || (c.layout == GREBE_ANN_SPARSE && out->metric != VECTOR_IP) ||
        (c.layout == GREBE_ANN_SETS && out->metric != VECTOR_JACCARD) ||
        ((c.layout == GREBE_ANN_DENSE) && (out->metric == VECTOR_HAMMING) != (c.base.elem == GREBE_ELEM_BIT))) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "distance %s is not legal for this layout and these elements", c.distance);
        goto out;
    }
    side_from(&c.base, &out->train);
    side_from(&c.queries, &out->test);
    if (c.base_rows_of != NULL && c.base.vectors == NULL && c.layout == GREBE_ANN_DENSE) {
        out->train.rows = c.base_rows_of->d->train.rows; /* borrowed: close_rows is NULL */
        const struct ann_rows *r = &out->train.rows;
        if (r->n != c.base.n || r->dim != c.base.dim || r->elem != out->train.elem) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "base_rows_of: expected %llu rows of %u components, found %llu of %u",
                            (unsigned long long)c.base.n, c.base.dim, (unsigned long long)r->n, r->dim);
            goto out;
        }
    }
    GREBE_TRY(check_side("base", out->layout, &out->train, err));
    GREBE_TRY(check_side("queries", out->layout, &out->test, err));
    GREBE_TRY(check_finite("base", out->layout, &out->train, err));
    GREBE_TRY(check_finite("queries", out->layout, &out->test, err));
    GREBE_TRY(check_terms("base", out->layout, &out->train, err));
    GREBE_TRY(check_terms("queries", out->layout, &out->test, err));
    if ((out->layout == ANN_DENSE || out->layout == ANN_MULTI) &&
        (c.base.dim != c.queries.dim || c.base.elem != c.queries.elem)) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "queries: expected %u %s components, found %u %s", c.base.dim,
                        vector_elem_name(out->train.elem), c.queries.dim, vector_elem_name(out->test.elem));
        goto out;
    }
    out->k = c.k;
    out->neighbors = borrow(c.neighbors);
    out->distances = borrow(c.distances);
    out->valid_ratios = borrow(c.valid_ratios);
    out->n_valid_ratios = c.n_valid_ratios;
    out->is_int8_negated_ip = c.is_int8_negated_ip;
    out->is_maxsim_squared = !c.is_maxsim_plain_l2;
    out->distance_tolerance = 1e-4;
out:
    return st;
}

grebe_status grebe_ann_write(grebe_context *ctx, const char *path, const grebe_ann_content *content, bool is_durable,
                             const grebe_call_options *call, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && content != NULL);
    struct ann_dataset d;
    grebe_status st = ann_data_of_content(ctx, content, &d, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct call resolved = call_options_resolve(ctx, call);
    return ann_dataset_write(&d, path, is_durable, &resolved, err);
}
