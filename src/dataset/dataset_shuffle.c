/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "dataset/order.h"
#include "dataset/transform.h"

/* The caller's seed, or one of 32 bits drawn into *drawn. */
static grebe_status seed_or_drawn(grebe_context *ctx, grebe_seed seed, uint32_t *drawn, grebe_seed *out,
                                  grebe_error *err)
{
    *out = seed;
    if (seed.n > 0) {
        return GREBE_OK;
    }
    *out = (grebe_seed){ drawn, 1 };
    return context_random(ctx, drawn, sizeof *drawn, err);
}

grebe_status grebe_dataset_shuffle(const grebe_dataset *ds, grebe_seed seed, const grebe_transform_options *options,
                                   grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL && (seed.words != NULL || seed.n == 0));
    grebe_status st = GREBE_OK;
    struct transform t;
    struct pcg64 g;
    uint32_t drawn = 0;
    int64_t *rows = NULL;
    size_t len = (size_t)ds->n_rows * sizeof *rows;
    const char *path = NULL;
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "shuffle", err));
    GREBE_TRY(seed_or_drawn(ds->ctx, seed, &drawn, &seed, err));
    GREBE_TRY(transform_arg_name(&t, err));
    GREBE_TRY(transform_arg_memory(&t, err));
    GREBE_TRY(fingerprint_arg_seed(&t.f, "seed", seed, err));
    GREBE_TRY(transform_arg_batch(&t, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(transform_path(&t, NULL, "", &path, err));
    if (ds->n_rows > 1 && transform_finds(&t, path)) {
        st = dataset_with_indices_file(&t, path, out, err);
        goto out;
    }
    rows = mem_alloc(ds->ctx->a, len);
    if (rows == NULL) {
        st = mem_fail(err, len, "a permutation");
        goto out;
    }
    mem_wish_large_pages(rows, len); /* visited in no order at all */
    GREBE_TRY(pcg64_seed(ds->ctx->a, seed.words, seed.n, &g, err));
    pcg64_permutation(&g, ds->n_rows, rows);
    st = dataset_select_order(&t, rows, ds->n_rows, path, out, err);
    rows = NULL;
out:
    mem_free(ds->ctx->a, rows, rows != NULL ? len : 0);
    transform_end(&t);
    return st;
}

/* ---- train and test ---- */

struct split {
    const grebe_dataset *ds;
    grebe_split_options o;
    const grebe_transform_options *options;
    grebe_seed seed;
    int64_t n_train, n_test;
    struct buf train, test; /* int64 rows */
};

/* The labels by which rows are divided: a ClassLabel column without nulls. */
static grebe_status read_labels(const grebe_dataset *ds, const char *name, int64_t **out, grebe_error *err)
{
    struct ArrowArray rows = { 0 };
    int column = 0;
    size_t len = (size_t)ds->n_rows * sizeof **out;
    grebe_status st = dataset_find_columns(ds, &name, 1, &column, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (ds->features->top.fields[column].kind != FEATURE_CLASS_LABEL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": expected a ClassLabel to stratify by, found %s", name,
                          ds->features->top.fields[column].type_name);
    }
    int64_t *labels = mem_alloc(ds->ctx->a, len);
    if (labels == NULL) {
        return mem_fail(err, len, "labels");
    }
    for (int64_t row = 0; row < ds->n_rows && st == GREBE_OK;) {
        enum { PIECE = 1 << 16 };
        int64_t end = dataset_batch_end(ds, row, PIECE);
        st = dataset_read_some(ds, row, &end, &column, 1, &rows, err);
        if (st == GREBE_OK && array_null_count(rows.children[0]) > 0) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": nulls belong to no class", name);
        }
        if (st == GREBE_OK) {
            memcpy(labels + row, (const int64_t *)rows.children[0]->buffers[1] + rows.children[0]->offset,
                   (size_t)(end - row) * sizeof *labels);
        }
        array_release(&rows);
        row = end;
    }
    if (st != GREBE_OK) {
        mem_free(ds->ctx->a, labels, len);
        return st;
    }
    *out = labels;
    return GREBE_OK;
}

static grebe_status draw(struct split *s, grebe_error *err)
{
    const grebe_dataset *ds = s->ds;
    struct pcg64 g;
    int64_t *labels = NULL;
    grebe_status st = pcg64_seed(ds->ctx->a, s->seed.words, s->seed.n, &g, err);
    if (st == GREBE_OK && s->o.stratify_by == NULL) {
        return order_split(&g, ds->n_rows, s->n_train, s->n_test, &s->train, &s->test, err);
    }
    st = st == GREBE_OK ? read_labels(ds, s->o.stratify_by, &labels, err) : st;
    if (st == GREBE_OK) {
        st =
            order_split_stratified(ds->ctx->a, &g, labels, ds->n_rows, s->n_train, s->n_test, &s->train, &s->test, err);
        mem_free(ds->ctx->a, labels, (size_t)ds->n_rows * sizeof *labels);
    }
    return st;
}

/* A size as it was given: a fraction or a number of rows. */
static grebe_status arg_size(struct transform *t, const char *name, double fraction, int64_t rows, grebe_error *err)
{
    if (fraction >= 0) {
        return fingerprint_arg_double(&t->f, name, fraction, err);
    }
    return rows >= 0 ? fingerprint_arg_int(&t->f, name, rows, err) : GREBE_OK;
}

static grebe_status absorb(struct split *s, struct transform *t, bool is_test, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(fingerprint_arg_text(&t->f, "fingerprint_name",
                                   is_test ? "test_new_fingerprint" : "train_new_fingerprint", err));
    GREBE_TRY(transform_arg_memory(t, err));
    if (!s->o.is_in_order) {
        GREBE_TRY(fingerprint_arg_seed(&t->f, "seed", s->seed, err));
    } else {
        GREBE_TRY(fingerprint_arg_bool(&t->f, "shuffle", false, err));
    }
    if (s->o.stratify_by != NULL) {
        GREBE_TRY(fingerprint_arg_text(&t->f, "stratify_by_column", s->o.stratify_by, err));
    }
    GREBE_TRY(arg_size(t, "test_size", s->o.test_fraction, s->o.test_rows, err));
    GREBE_TRY(arg_size(t, "train_size", s->o.train_fraction, s->o.train_rows, err));
    GREBE_TRY(transform_arg_batch(t, err));
out:
    return st;
}

/* One of the two. Rows are drawn when the first of them needs them. */
static grebe_status make_side(struct split *s, bool is_test, grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct transform t;
    const char *path = NULL;
    GREBE_TRY(transform_begin(&t, s->ds, s->options, "train_test_split", err));
    GREBE_TRY(absorb(s, &t, is_test, err));
    GREBE_TRY(transform_seal(&t, is_test ? s->o.test_fingerprint : s->o.train_fingerprint, err));
    if (s->o.is_in_order) {
        int64_t begin = is_test ? s->n_train : 0;
        st = dataset_slice_rows(&t, begin, begin + (is_test ? s->n_test : s->n_train), out, err);
        goto out;
    }
    GREBE_TRY(transform_path(&t, is_test ? s->o.test_cache_file : s->o.train_cache_file, "", &path, err));
    if (transform_finds(&t, path)) {
        st = dataset_with_indices_file(&t, path, out, err);
        goto out;
    }
    if (s->train.len == 0 && s->test.len == 0) {
        GREBE_TRY(draw(s, err));
    }
    const struct buf *rows = is_test ? &s->test : &s->train;
    GREBE_TRY(dataset_select_rows(&t, (const int64_t *)(const void *)rows->data, (int64_t)(rows->len / sizeof(int64_t)),
                                  path, out, err));
out:
    transform_end(&t);
    return st;
}

grebe_status grebe_dataset_train_test_split(const grebe_dataset *ds, const grebe_split_options *split,
                                            const grebe_transform_options *options, grebe_dataset **train,
                                            grebe_dataset **test, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && train != NULL && test != NULL);
    grebe_status st = GREBE_OK;
    uint32_t drawn = 0;
    struct split s = { .ds = ds, .o = GREBE_SPLIT_OPTIONS_INIT, .options = options };
    s.train = BUF_INIT(ds->ctx->a);
    s.test = BUF_INIT(ds->ctx->a);
    *train = *test = NULL;
    GREBE_TRY(options_copy(&s.o, sizeof s.o, split, err));
    if (s.o.is_in_order && s.o.stratify_by != NULL) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "stratify_by: rows in order cannot be stratified");
        goto out;
    }
    if (ds->n_rows == 0) {
        *train = grebe_dataset_keep(ds);
        *test = grebe_dataset_keep(ds);
        goto out;
    }
    GREBE_TRY(order_split_sizes(&s.o, ds->n_rows, &s.n_train, &s.n_test, err));
    GREBE_TRY(seed_or_drawn(ds->ctx, s.o.seed, &drawn, &s.seed, err));
    GREBE_TRY(make_side(&s, false, train, err));
    GREBE_TRY(make_side(&s, true, test, err));
out:
    buf_release(&s.train);
    buf_release(&s.test);
    if (st != GREBE_OK) {
        grebe_dataset_free(*train);
        *train = NULL;
    }
    return st;
}
