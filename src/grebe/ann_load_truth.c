/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours and distances that others found. */
#include "grebe/ann_load.h"

#include <string.h>

#include "arrow/arrow_array.h"
#include "base/checked.h"
#include "base/half.h"
#include "grebe/ann_load_dense.h"

struct truth_column {
    const char *uri;
    enum arrow_kind list, item;
    uint32_t width; /* of a fixed list */
    bool is_ids;
    uint64_t n, k, done; /* k 0: the first row decides */
    void *dst;           /* int64 or float, shape [n][k] */
};

/* Files of ids with distances have two columns of lists. */
static grebe_status choose_column(const struct ArrowSchema *schema, const struct truth_column *t, int *at, grebe_error *err)
{
    const char *name = t->is_ids ? "ids" : "distances";
    for (int i = 0; i < (int)schema->n_children; i++) {
        if (schema->children[i]->name != NULL && strcmp(schema->children[i]->name, name) == 0) {
            *at = i;
            return GREBE_OK;
        }
    }
    return load_find_column(schema, t->uri, NULL, false, at, err);
}

static bool id_at(const struct truth_column *t, const unsigned char *p, int64_t i, int64_t *out)
{
    switch (t->item) {
    case ARROW_INT32: *out = ((const int32_t *)(const void *)p)[i]; return true;
    case ARROW_UINT32: *out = ((const uint32_t *)(const void *)p)[i]; return true;
    case ARROW_INT64: *out = ((const int64_t *)(const void *)p)[i]; return true;
    case ARROW_UINT64: memcpy(out, p + 8 * i, 8); return *out >= 0;
    default: return false;
    }
}

static bool distance_at(const struct truth_column *t, const unsigned char *p, int64_t i, float *out)
{
    int64_t id = 0;
    switch (t->item) {
    case ARROW_FLOAT16: *out = half_to_float(((const uint16_t *)(const void *)p)[i]); return true;
    case ARROW_FLOAT32: *out = ((const float *)(const void *)p)[i]; return true;
    case ARROW_FLOAT64: *out = (float)((const double *)(const void *)p)[i]; return true;
    default:
        if (!id_at(t, p, i, &id)) {
            return false;
        }
        *out = (float)id;
        return true;
    }
}

static grebe_status add_row(struct ann_dataset *d, struct truth_column *t, const struct ArrowArray *list, int64_t i,
                            grebe_error *err)
{
    const struct ArrowArray *items = list->children[0];
    int64_t n = 0, at = load_list_at(t->list, t->width, list, i, &n);
    grebe_status st = GREBE_OK;
    if (t->k == 0 && n > 0) {
        t->k = (uint64_t)n;
    }
    if (t->k > 0 && t->dst == NULL) {
        if (t->n > UINT64_MAX / 64 / t->k) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %llu rows of %llu do not fit in memory", t->uri,
                              (unsigned long long)t->n, (unsigned long long)t->k);
        }
        st = ann_array(d, t->n * t->k, t->is_ids ? sizeof(int64_t) : sizeof(float), t->uri, &t->dst, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (t->done == t->n || array_is_null(list, i) || n < 1 || (uint64_t)n < t->k) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %llu: expected %llu rows of at least %llu, found %lld here", t->uri,
                          (unsigned long long)t->done, (unsigned long long)t->n, (unsigned long long)t->k, (long long)n);
    }
    for (uint64_t j = 0; j < t->k; j++) {
        const unsigned char *p = items->buffers[1];
        int64_t place = at + items->offset + (int64_t)j;
        uint64_t to = t->done * t->k + j;
        bool is_value = !array_is_null(items, at + (int64_t)j) &&
                        (t->is_ids ? id_at(t, p, place, (int64_t *)t->dst + to) : distance_at(t, p, place, (float *)t->dst + to));
        if (!is_value) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: row %llu, column %llu: expected %s", t->uri,
                              (unsigned long long)t->done, (unsigned long long)j,
                              t->is_ids ? "an id, an integer of 32 or 64 bits" : "a distance");
        }
    }
    t->done++;
    return GREBE_OK;
}

static grebe_status load_lists(struct ann_dataset *d, struct truth_column *t, const grebe_call_options *call,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source *source = NULL;
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayStream rows = { 0 };
    struct arrow_type type;
    int at = 0;
    GREBE_TRY(load_open_source(d->ctx, t->uri, call, &source, err));
    GREBE_TRY(grebe_source_schema(source, &schema, err));
    GREBE_TRY(choose_column(&schema, t, &at, err));
    GREBE_TRY(arrow_type_of(schema.children[at], &type, err));
    if (!load_is_list(type.kind) || type.is_dictionary) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected one list a row", t->uri);
        goto out;
    }
    t->list = type.kind;
    t->width = type.kind == ARROW_FIXED_LIST ? (uint32_t)type.list_size : 0;
    GREBE_TRY(arrow_type_of(schema.children[at]->children[0], &type, err));
    t->item = type.kind;
    GREBE_TRY(load_scan(source, schema.children[at]->name, 0, call, &rows, err));
    while (st == GREBE_OK) {
        struct ArrowArray batch = { 0 };
        st = stream_next(&rows, &batch, err);
        for (int64_t i = 0; st == GREBE_OK && i < batch.length; i++) {
            st = add_row(d, t, batch.children[0], batch.offset + i, err);
        }
        array_release(&batch);
    }
    st = st == GREBE_END ? GREBE_OK : st;
    if (st == GREBE_OK && t->done != t->n) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: expected %llu rows, as many as queries, found %llu", t->uri,
                        (unsigned long long)t->n, (unsigned long long)t->done);
    }
out:
    stream_release(&rows);
    schema_release(&schema);
    grebe_source_close(source);
    return st;
}

/* Whether the file has distances behind its ids. */
static bool has_both(const char *uri)
{
    const char *dot = strrchr(uri, '.');
    return dot != NULL && (strcmp(dot, ".gt") == 0 || strcmp(dot, ".knn") == 0);
}

grebe_status ann_load_truth(struct ann_dataset *d, const char *neighbors, const char *distances, uint64_t k,
                            const grebe_call_options *call, bool *has_distances, grebe_error *err)
{
    struct truth_column ids = { .uri = neighbors, .is_ids = true, .n = d->test.n, .k = k }, far = { .n = d->test.n };
    void *p = NULL;
    grebe_status st = GREBE_OK;
    far.uri = distances != NULL ? distances : has_both(neighbors) ? neighbors : NULL;
    GREBE_TRY(load_lists(d, &ids, call, err));
    if (far.uri != NULL) {
        far.k = ids.k;
        GREBE_TRY(load_lists(d, &far, call, err));
    } else {
        GREBE_TRY(ann_array(d, ids.n * ids.k, sizeof(float), "distances", &p, err));
    }
    d->k = ids.k;
    d->neighbors = ids.dst;
    d->distances = far.uri != NULL ? far.dst : p;
    *has_distances = far.uri != NULL;
out:
    return st;
}
