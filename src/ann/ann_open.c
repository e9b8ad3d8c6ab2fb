/* SPDX-License-Identifier: Apache-2.0 */
/* An HDF5 file into a data set: what it says of itself first, then vectors, truth and labels (docs/format/ann.md). */
#include <stdio.h>
#include <string.h>

#include "ann/ann_internal.h"
#include "base/checked.h"

void ann_find(const struct ann_reader *r, enum ann_level level, const char *place, const char *fmt, ...)
{
    char text[384];
    va_list args;
    if (r->o.finding == NULL) {
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->o.finding(r->o.finding_arg, level, place, text);
}

grebe_status ann_need(struct ann_reader *r, const char *name, const struct hdf5_data **out, grebe_error *err)
{
    *out = hdf5_find(r->f, name);
    return *out != NULL ? GREBE_OK : GREBE_FAIL(err, GREBE_ECORRUPT, "data set %s is missing", name);
}

grebe_status ann_need_rank(const struct hdf5_data *h, unsigned rank, grebe_error *err)
{
    if (h->trouble_status != GREBE_OK) {
        return GREBE_FAIL(err, h->trouble_status, "%s %s", h->name, h->trouble);
    }
    if (rank == 0 ? h->rank != 1 && h->rank != 2 : h->rank != rank) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected rank %s, found rank %u", h->name,
                          rank == 0 ? "1 or 2" : rank == 1 ? "1" : "2", h->rank);
    }
    return GREBE_OK;
}

grebe_status ann_need_memory(const struct ann_reader *r, const struct hdf5_data *h, uint64_t n, uint64_t bytes,
                             grebe_error *err)
{
    uint64_t need = 0;
    if (checked_mul_u64(n, bytes, &need) && need <= r->call->memory_limit_bytes) {
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %llu x %llu bytes are above the memory limit of %llu", h->name,
                      (unsigned long long)n, (unsigned long long)bytes,
                      (unsigned long long)r->call->memory_limit_bytes);
}

grebe_status ann_read_ints(struct ann_reader *r, const struct hdf5_data *h, int64_t **out, grebe_error *err)
{
    void *p = NULL;
    grebe_status st = ann_need_rank(h, 1, err);
    if (st == GREBE_OK) {
        st = ann_array(r->d, h->shape[0], sizeof **out, h->name, &p, err);
    }
    if (st == GREBE_OK) {
        st = hdf5_read(r->f, h, 0, h->shape[0], HDF5_AS_I64, p, err);
    }
    *out = st == GREBE_OK ? p : NULL;
    return st;
}

/* ---- what the file says of itself ---- */

/* A root attribute as text; "" when it is not there. */
static grebe_status text_attribute(struct ann_reader *r, const char *name, bool is_needed, char *dst, size_t n,
                                   grebe_error *err)
{
    struct buf text = BUF_INIT(r->ctx->a);
    enum hdf5_text_form form = HDF5_TEXT_PLAIN;
    char place[64], shown[64];
    grebe_status st = hdf5_text(r->f, name, &text, &form, err);
    dst[0] = '\0';
    if (st == GREBE_ENOTFOUND) {
        buf_release(&text);
        return is_needed ? GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s is missing", name) : GREBE_OK;
    }
    if (st == GREBE_OK && text.len >= n) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "attribute %s: found \"%s\"", name,
                        error_quote(shown, sizeof shown, text.data, text.len));
    }
    if (st == GREBE_OK && text.len > 0) {
        memcpy(dst, text.data, text.len);
        dst[text.len] = '\0';
    }
    if (st == GREBE_OK && form == HDF5_TEXT_SPACE_PADDED) {
        snprintf(place, sizeof place, "attribute %s", name);
        ann_find(r, ANN_WARNING, place, "is padded by blanks, which VSAG does not remove");
    }
    buf_release(&text);
    return st;
}

static const char *const multi_sets[] = { "train_multi_vectors", "test_multi_vectors", "train_vector_counts",
                                          "test_vector_counts" };

static grebe_status read_layout(struct ann_reader *r, grebe_error *err)
{
    char type[32], shown[64];
    size_t n_multi = 0;
    grebe_status st = text_attribute(r, "type", false, type, sizeof type, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; i < 4; i++) {
        n_multi += hdf5_find(r->f, multi_sets[i]) != NULL;
    }
    if (n_multi == 4 && strcmp(type, "multi_vector") != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "attribute type: all four data sets of documents are there, but type is not multi_vector: found \"%s\"",
                          error_quote(shown, sizeof shown, type, strlen(type)));
    }
    if (strcmp(type, "multi_vector") == 0) {
        r->d->layout = ANN_MULTI;
    } else if (strcmp(type, "sparse") == 0) {
        r->d->layout = hdf5_find(r->f, "size_train") != NULL ? ANN_SETS : ANN_SPARSE;
    } else if (type[0] == '\0' || strcmp(type, "dense") == 0) {
        r->d->layout = ANN_DENSE;
    } else {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "attribute type: expected dense, sparse or multi_vector, found \"%s\"",
                          error_quote(shown, sizeof shown, type, strlen(type)));
    }
    return GREBE_OK;
}

/* The legal distances of a layout; those with `profile` bits: 1 read, 2 vsag, 4 ann-benchmarks. */
static const struct {
    enum ann_layout layout;
    const char *name;
    enum vector_metric metric;
    unsigned profiles;
} distances[] = { { ANN_DENSE, "euclidean", VECTOR_EUCLIDEAN, 7 }, { ANN_DENSE, "ip", VECTOR_IP, 3 },
                  { ANN_DENSE, "angular", VECTOR_COSINE, 7 },      { ANN_DENSE, "hamming", VECTOR_HAMMING, 5 },
                  { ANN_SPARSE, "ip", VECTOR_IP, 3 },              { ANN_MULTI, "euclidean", VECTOR_EUCLIDEAN, 3 },
                  { ANN_MULTI, "ip", VECTOR_IP, 3 },               { ANN_MULTI, "angular", VECTOR_COSINE, 3 },
                  { ANN_SETS, "jaccard", VECTOR_JACCARD, 5 } };

static const char *const layout_names[] = { "dense", "sparse", "multi_vector", "sets (ann-benchmarks)" };

static grebe_status read_distance(struct ann_reader *r, grebe_error *err)
{
    char known[96] = "", shown[64];
    size_t len = 0;
    unsigned bit = 1u << r->o.profile;
    grebe_status st = text_attribute(r, "distance", true, r->d->distance, sizeof r->d->distance, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
        if (distances[i].layout != r->d->layout || (distances[i].profiles & bit) == 0) {
            continue;
        }
        if (strcmp(distances[i].name, r->d->distance) == 0) {
            r->d->metric = distances[i].metric;
            return GREBE_OK;
        }
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", len == 0 ? "" : ", ", distances[i].name);
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "attribute distance: \"%s\" is not legal for %s: expected %s (case matters)",
                      error_quote(shown, sizeof shown, r->d->distance, strlen(r->d->distance)),
                      layout_names[r->d->layout], len == 0 ? "another type" : known);
}

/* ---- truth and labels ---- */

static grebe_status check_ids(struct ann_reader *r, grebe_error *err)
{
    const struct ann_dataset *d = r->d;
    uint64_t n_padded = 0, first_row = 0;
    for (uint64_t q = 0; q < d->test.n; q++) {
        const int64_t *ids = d->neighbors + q * d->k;
        for (uint64_t j = 0; j < d->k; j++) {
            bool is_padding = ids[j] == -1 && r->o.allow_padding;
            for (uint64_t t = j; t < d->k && is_padding; t++) {
                is_padding = ids[t] == -1;
            }
            if (is_padding) {
                first_row = n_padded == 0 ? q : first_row;
                n_padded++;
                break;
            }
            if (ids[j] < 0 || (uint64_t)ids[j] >= d->train.n) {
                return GREBE_FAIL(err, GREBE_ECORRUPT, "neighbors[%llu,%llu] = %lld: expected an id from 0, must be below %llu",
                                  (unsigned long long)q, (unsigned long long)j, (long long)ids[j],
                                  (unsigned long long)d->train.n);
            }
        }
    }
    if (n_padded > 0) {
        char place[48];
        snprintf(place, sizeof place, "neighbors[%llu]", (unsigned long long)first_row);
        ann_find(r, ANN_WARNING, place, "%llu rows end in -1: they have fewer than %llu neighbours",
                 (unsigned long long)n_padded, (unsigned long long)d->k);
    }
    return GREBE_OK;
}

static grebe_status read_truth(struct ann_reader *r, const struct hdf5_data *ids, const struct hdf5_data *far,
                               grebe_error *err)
{
    struct ann_dataset *d = r->d;
    void *p = NULL;
    grebe_status st = GREBE_OK;
    if (ids->shape[0] != d->test.n) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "neighbors has %llu rows, test %llu", (unsigned long long)ids->shape[0],
                          (unsigned long long)d->test.n);
    }
    d->k = ids->shape[1];
    uint64_t n = d->test.n * d->k; /* as many elements are in the file */
    GREBE_TRY(ann_array(d, n, sizeof(int64_t), "neighbors", &p, err));
    d->neighbors = p;
    GREBE_TRY(hdf5_read(r->f, ids, 0, d->test.n, HDF5_AS_I64, p, err));
    GREBE_TRY(ann_array(d, n, sizeof(float), "distances", &p, err));
    d->distances = p;
    GREBE_TRY(hdf5_read(r->f, far, 0, d->test.n, HDF5_AS_F32, p, err));
    d->distance_tolerance = far->size == 2 ? 4e-3 : 1e-4;
    st = check_ids(r, err);
out:
    return st;
}

/* Shapes of the truth, before vectors are read. */
static grebe_status check_truth(const struct hdf5_data *ids, const struct hdf5_data *far, grebe_error *err)
{
    grebe_status st = ann_need_rank(ids, 2, err);
    if (st == GREBE_OK) {
        st = ann_need_rank(far, 2, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (ids->cls != HDF5_INT && ids->cls != HDF5_UINT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "neighbors: expected integers, found %s", ids->type_name);
    }
    if (far->cls != HDF5_INT && far->cls != HDF5_UINT && far->cls != HDF5_FLOAT && far->cls != HDF5_BFLOAT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "distances: expected numbers, found %s", far->type_name);
    }
    if (ids->shape[0] == 0 || ids->shape[1] == 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "neighbors: expected rows and columns, found %llu rows, %llu columns",
                          (unsigned long long)ids->shape[0], (unsigned long long)ids->shape[1]);
    }
    if (far->shape[0] != ids->shape[0] || far->shape[1] != ids->shape[1]) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "distances has shape (%llu, %llu), neighbors (%llu, %llu)",
                          (unsigned long long)far->shape[0], (unsigned long long)far->shape[1],
                          (unsigned long long)ids->shape[0], (unsigned long long)ids->shape[1]);
    }
    return GREBE_OK;
}

static grebe_status check_label_sets(struct ann_reader *r, grebe_error *err)
{
    const struct hdf5_data *train = hdf5_find(r->f, "train_labels"), *test = hdf5_find(r->f, "test_labels");
    if ((train == NULL) != (test == NULL)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s without %s", train != NULL ? "train_labels" : "test_labels",
                          train != NULL ? "test_labels" : "train_labels");
    }
    if (train == NULL && hdf5_find(r->f, "valid_ratios") != NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "valid_ratios without labels");
    }
    return GREBE_OK;
}

static grebe_status read_labels_of(struct ann_reader *r, const char *name, const char *of, struct ann_vectors *v,
                                   grebe_error *err)
{
    const struct hdf5_data *h = hdf5_find(r->f, name);
    grebe_status st = ann_need_rank(h, 1, err);
    if (st == GREBE_OK && h->shape[0] != v->n) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s has %llu elements, %s %llu rows", name, (unsigned long long)h->shape[0],
                        of, (unsigned long long)v->n);
    }
    if (st == GREBE_OK) {
        st = ann_read_ints(r, h, &v->labels, err);
    }
    for (uint64_t i = 0; i < v->n && st == GREBE_OK; i++) {
        if (v->labels[i] < 0) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s[%llu] = %lld: expected a label from 0", name, (unsigned long long)i,
                            (long long)v->labels[i]);
        }
    }
    return st;
}

static grebe_status read_labels(struct ann_reader *r, grebe_error *err)
{
    struct ann_dataset *d = r->d;
    const struct hdf5_data *ratios = hdf5_find(r->f, "valid_ratios");
    grebe_status st = GREBE_OK;
    void *p = NULL;
    if (hdf5_find(r->f, "train_labels") == NULL) {
        return GREBE_OK;
    }
    GREBE_TRY(read_labels_of(r, "train_labels", "train", &d->train, err));
    GREBE_TRY(read_labels_of(r, "test_labels", "test", &d->test, err));
    if (ratios == NULL) {
        goto out;
    }
    GREBE_TRY(ann_need_rank(ratios, 1, err));
    if (ratios->shape[0] == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "valid_ratios is empty");
        goto out;
    }
    GREBE_TRY(ann_array(d, ratios->shape[0], sizeof(float), "valid_ratios", &p, err));
    d->valid_ratios = p;
    d->n_valid_ratios = ratios->shape[0];
    GREBE_TRY(hdf5_read(r->f, ratios, 0, ratios->shape[0], HDF5_AS_F32, p, err));
    for (uint64_t q = 0; q < d->test.n; q++) {
        if ((uint64_t)d->test.labels[q] >= d->n_valid_ratios) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "test_labels[%llu] = %lld, valid_ratios has %llu elements",
                            (unsigned long long)q, (long long)d->test.labels[q], (unsigned long long)d->n_valid_ratios);
            goto out;
        }
    }
out:
    return st;
}

/* ---- all of it ---- */

static grebe_status read_vectors(struct ann_reader *r, grebe_error *err)
{
    switch (r->d->layout) {
    case ANN_SPARSE: return ann_read_sparse(r, err);
    case ANN_MULTI: return ann_read_multi(r, err);
    case ANN_SETS: return ann_read_sets(r, err);
    default: return ann_read_dense(r, err);
    }
}

/* int8 under ip: the first pairs whose stored distance tells 1 - dot from -dot. */
static grebe_status find_int8_convention(struct ann_reader *r, grebe_error *err)
{
    struct ann_dataset *d = r->d;
    struct buf near = BUF_INIT(r->ctx->a);
    grebe_status st = GREBE_OK;
    if (d->layout != ANN_DENSE || d->metric != VECTOR_IP || d->train.elem != VECTOR_I8 || d->neighbors == NULL ||
        !ann_has_rows(&d->train)) {
        return GREBE_OK;
    }
    uint64_t plain = 0, negated = 0, n = min_u64(d->test.n * d->k, 1000);
    struct ann_rows rows = ann_rows_of(&d->train);
    GREBE_TRY(buf_reserve(&near, (size_t)n * d->train.dim, err));
    GREBE_TRY(ann_rows_gather(r->ctx, &rows, d->neighbors, (size_t)n, near.data, err));
    for (uint64_t i = 0; i < n; i++) {
        if (d->neighbors[i] >= 0) {
            double exact = ann_distance_to(d, i / d->k, near.data + i * d->train.dim);
            plain += (float)exact == d->distances[i];
            negated += (float)(exact - 1) == d->distances[i];
        }
    }
    d->is_int8_negated_ip = negated > plain;
    if (d->is_int8_negated_ip) {
        ann_find(r, ANN_NOTICE, "distances", "int8 inner products are stored as -ip, as VSAG's code computes them");
    }
out:
    buf_release(&near);
    return st;
}

static grebe_status read_all(struct ann_reader *r, grebe_error *err)
{
    static const char *const needed[] = { "train", "test" };
    const struct hdf5_data *ids = NULL, *far = NULL, *ignored = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(read_layout(r, err));
    for (size_t i = 0; i < (r->d->layout == ANN_MULTI ? 4 : 2); i++) {
        GREBE_TRY(ann_need(r, r->d->layout == ANN_MULTI ? multi_sets[i] : needed[i], &ignored, err));
    }
    GREBE_TRY(ann_need(r, "neighbors", &ids, err));
    GREBE_TRY(ann_need(r, "distances", &far, err));
    GREBE_TRY(check_label_sets(r, err));
    GREBE_TRY(read_distance(r, err));
    GREBE_TRY(check_truth(ids, far, err));
    GREBE_TRY(read_vectors(r, err));
    GREBE_TRY(call_check(r->call, err));
    GREBE_TRY(read_truth(r, ids, far, err));
    GREBE_TRY(read_labels(r, err));
    st = find_int8_convention(r, err);
out:
    return st;
}

grebe_status ann_dataset_open(grebe_context *ctx, const char *path, const struct ann_open_options *options,
                              const struct call *call, struct ann_dataset **out, grebe_error *err)
{
    struct call defaults = call_options_resolve(ctx, NULL);
    struct ann_reader r = { .ctx = ctx, .call = call != NULL ? call : &defaults };
    grebe_status st = GREBE_OK;
    *out = NULL;
    if (options != NULL) {
        r.o = *options;
        r.o.is_base_by_rows = options->is_base_by_rows && options->store == NULL; /* the store is the call's alone */
    }
    GREBE_TRY(r.o.store != NULL ? hdf5_open_in(r.o.store, path, &r.f, err) : hdf5_open(ctx, path, &r.f, err));
    GREBE_TRY(ann_dataset_new(ctx, &r.d, err));
    snprintf(r.d->path, sizeof r.d->path, "%s", path);
    st = read_all(&r, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s", path);
        goto out;
    }
    ann_own_file(&r);
    *out = r.d;
    r.d = NULL;
out:
    ann_dataset_free(r.d);
    hdf5_close(r.f);
    return st;
}
