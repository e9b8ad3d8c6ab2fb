/* SPDX-License-Identifier: Apache-2.0 */
/* The door to all indexes: ids, filters, what is refused, and saving. */
#include "test_support.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/context_internal.h"
#include "grebe/ann_index.h"
#include "index/index_ids.h"

enum { DIM = 7, ROWS = 300 };

struct fixture {
    grebe_context *ctx;
    char *folder;
    char path[500];
    float rows[ROWS][DIM];
};

static int set_up(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct fixture *f = calloc(1, sizeof *f);
    uint32_t x = 1;
    assert_ok(context_new(NULL, &f->ctx, &err));
    f->folder = test_folder_new();
    snprintf(f->path, sizeof f->path, "%s/x.index", f->folder);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < DIM; j++) {
            x = x * 1664525 + 1013904223;
            f->rows[i][j] = (float)(int)(x >> 20) / 512.0f - 4.0f;
        }
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    context_free(f->ctx);
    test_folder_remove(f->folder);
    free(f);
    return 0;
}

static grebe_vectors some_rows(const struct fixture *f, size_t begin, size_t n)
{
    grebe_vectors v = GREBE_VECTORS_INIT;
    v.rows = n;
    v.dim = DIM;
    v.data = f->rows[begin];
    return v;
}

static grebe_ann_index *flat(struct fixture *f, grebe_metric metric)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = NULL;
    assert_ok(grebe_ann_index_new(f->ctx, GREBE_ANN_INDEX_FLAT, metric, GREBE_ELEM_F32, NULL, 0, 0, &x, &err));
    return x;
}

static void ids_are_the_positions_or_the_callers(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = flat(f, GREBE_METRIC_EUCLIDEAN);
    grebe_vectors first = some_rows(f, 0, 100), second = some_rows(f, 100, 100), query = some_rows(f, 150, 1);
    int64_t given[100], found[2];
    float distances[2];
    for (int i = 0; i < 100; i++) {
        given[i] = INT64_MIN + 1000 * i;
    }
    assert_ok(grebe_ann_index_add(x, &first, NULL, NULL, &err));
    assert_ok(grebe_ann_index_add(x, &second, given, NULL, &err));
    assert_ok(grebe_ann_index_search(x, &query, 2, NULL, found, distances, &err));
    assert_int_equal(found[0], given[50]);
    assert_true(distances[0] == 0);
    query = some_rows(f, 7, 1);
    assert_ok(grebe_ann_index_search(x, &query, 1, NULL, found, distances, &err));
    assert_int_equal(found[0], 7);
    grebe_ann_index_close(x);
}

static void an_id_comes_once_and_is_free_after_removal(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = flat(f, GREBE_METRIC_L2);
    grebe_vectors rows = some_rows(f, 0, 2), more = some_rows(f, 10, 2), query = some_rows(f, 11, 1);
    int64_t twice[2] = { 5, 5 }, a[2] = { 5, 6 }, b[2] = { 9, 6 }, c[2] = { 6, 7 }, found[1], gone[3] = { 6, 77, 6 };
    float distance[1];
    size_t n = 0;
    grebe_ann_index_stats stats = GREBE_ANN_INDEX_STATS_INIT;
    assert_int_equal(grebe_ann_index_add(x, &rows, twice, NULL, &err), GREBE_EEXISTS);
    assert_non_null(strstr(err.message, "ids[1]"));
    assert_ok(grebe_ann_index_get_stats(x, &stats, &err));
    assert_int_equal(stats.rows, 0); /* nothing stays of what failed */
    assert_ok(grebe_ann_index_add(x, &rows, a, NULL, &err));
    assert_int_equal(grebe_ann_index_add(x, &more, b, NULL, &err), GREBE_EEXISTS);
    assert_ok(grebe_ann_index_remove(x, gone, 3, &n, &err));
    assert_int_equal(n, 1);
    assert_ok(grebe_ann_index_add(x, &more, c, NULL, &err));
    query = some_rows(f, 10, 1);
    assert_ok(grebe_ann_index_search(x, &query, 1, NULL, found, distance, &err));
    assert_int_equal(found[0], 6);
    assert_true(distance[0] == 0);
    /* the id now means the new row: removing it again takes that one */
    assert_ok(grebe_ann_index_remove(x, gone, 1, &n, &err));
    assert_int_equal(n, 1);
    assert_ok(grebe_ann_index_search(x, &query, 1, NULL, found, distance, &err));
    assert_true(found[0] != 6);
    assert_ok(grebe_ann_index_get_stats(x, &stats, &err));
    assert_int_equal(stats.rows, 2);
    assert_int_equal(stats.removed, 2);
    grebe_ann_index_close(x);
}

static void removed_default_ids_are_not_found(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = flat(f, GREBE_METRIC_L2), *y = NULL;
    grebe_vectors rows = some_rows(f, 0, 100), query = some_rows(f, 42, 1);
    int64_t gone[1] = { 42 }, found[1];
    float distance[1];
    size_t n = 9;
    assert_ok(grebe_ann_index_add(x, &rows, NULL, NULL, &err));
    assert_ok(grebe_ann_index_remove(x, gone, 1, &n, &err));
    assert_int_equal(n, 1);
    assert_ok(grebe_ann_index_remove(x, gone, 1, &n, &err));
    assert_int_equal(n, 0);
    assert_ok(grebe_ann_index_save(x, f->path, false, &err));
    assert_ok(grebe_ann_index_open(f->ctx, f->path, false, &y, &err));
    assert_ok(grebe_ann_index_search(y, &query, 1, NULL, found, distance, &err));
    assert_true(found[0] != 42 && distance[0] > 0);
    assert_ok(grebe_ann_index_remove(y, gone, 1, &n, &err));
    assert_int_equal(n, 0); /* remembered by the file */
    grebe_ann_index_close(x);
    grebe_ann_index_close(y);
}

static void filters_by_bits_and_by_ids_agree(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = flat(f, GREBE_METRIC_EUCLIDEAN);
    grebe_vectors rows = some_rows(f, 0, ROWS), queries = some_rows(f, 20, 9);
    grebe_ann_index_search_options by_bits = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT, by_ids = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    uint64_t bits[2] = { 0, 0 };
    int64_t only[3] = { 3, 69, 1000000 }, a[9 * 4], b[9 * 4];
    float d[9 * 4], e[9 * 4];
    assert_ok(grebe_ann_index_add(x, &rows, NULL, NULL, &err));
    bits[0] = 1u << 3;
    bits[1] = 1u << 5 | UINT64_C(1) << 60; /* bit 124 is not covered below */
    by_bits.allow = bits;
    by_bits.allow_bits = 100;
    by_ids.ids = only;
    by_ids.n_ids = 3;
    assert_ok(grebe_ann_index_search(x, &queries, 4, &by_bits, a, d, &err));
    assert_ok(grebe_ann_index_search(x, &queries, 4, &by_ids, b, e, &err));
    for (int i = 0; i < 9; i++) {
        assert_true((a[4 * i] == 3 && a[4 * i + 1] == 69) || (a[4 * i] == 69 && a[4 * i + 1] == 3));
        assert_int_equal(a[4 * i + 2], -1);
        assert_true(isinf(d[4 * i + 2]));
    }
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(d, e, sizeof d);
    by_ids.n_ids = 0; /* an empty list allows nothing */
    assert_ok(grebe_ann_index_search(x, &queries, 4, &by_ids, b, e, &err));
    assert_int_equal(b[0], -1);
    by_ids.allow = bits;
    assert_int_equal(grebe_ann_index_search(x, &queries, 4, &by_ids, b, e, &err), GREBE_EINVAL);
    grebe_ann_index_close(x);
}

static void bad_input_is_refused_by_name(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = flat(f, GREBE_METRIC_ANGULAR), *y = NULL;
    grebe_vectors rows = some_rows(f, 0, 10), bad = some_rows(f, 0, 10), query = some_rows(f, 0, 1);
    float broken[2][DIM] = { { 0 } };
    int64_t found[20];
    float distances[20];
    assert_int_equal(grebe_ann_index_search(x, &query, 3, NULL, found, distances, &err), GREBE_OK); /* empty */
    assert_int_equal(found[2], -1);
    assert_ok(grebe_ann_index_add(x, &rows, NULL, NULL, &err));
    bad.dim = DIM - 1;
    assert_int_equal(grebe_ann_index_add(x, &bad, NULL, NULL, &err), GREBE_EINVAL);
    assert_non_null(strstr(err.message, "expected 7 components, found 6"));
    bad = some_rows(f, 0, 2);
    bad.data = broken;
    broken[1][3] = NAN;
    assert_int_equal(grebe_ann_index_add(x, &bad, NULL, NULL, &err), GREBE_EINVAL);
    assert_non_null(strstr(err.message, "row 1, component 3"));
    broken[1][3] = -INFINITY;
    assert_int_equal(grebe_ann_index_search(x, &bad, 1, NULL, found, distances, &err), GREBE_EINVAL);
    assert_non_null(strstr(err.message, "query 1, component 3: expected a finite number, found -infinity"));
    bad = some_rows(f, 0, 1);
    bad.elem = (grebe_elem)77;
    assert_int_equal(grebe_ann_index_add(x, &bad, NULL, NULL, &err), GREBE_EINVAL);
    bad = some_rows(f, 0, 2);
    bad.stride = 8;
    assert_int_equal(grebe_ann_index_add(x, &bad, NULL, NULL, &err), GREBE_EINVAL);
    bad = some_rows(f, 0, 1);
    bad.rows = (uint64_t)1 << 32;
    assert_int_equal(grebe_ann_index_add(x, &bad, NULL, NULL, &err), GREBE_ELIMIT);
    assert_int_equal(grebe_ann_index_search(x, &query, SIZE_MAX, NULL, found, distances, &err), GREBE_ELIMIT);
    assert_ok(grebe_ann_index_search(x, &query, 0, NULL, NULL, NULL, &err)); /* k = 0 */
    assert_ok(grebe_ann_index_search(x, &query, 20, NULL, found, distances, &err)); /* k > n */
    assert_int_equal(found[10], -1);
    assert_int_equal(grebe_ann_index_new(f->ctx, GREBE_ANN_INDEX_SPARSE, GREBE_METRIC_L2, GREBE_ELEM_F32, NULL, 0, 0, &y, &err), GREBE_EINVAL);
    assert_int_equal(grebe_ann_index_new(f->ctx, GREBE_ANN_INDEX_FLAT, GREBE_METRIC_HAMMING, GREBE_ELEM_F32, NULL, 0, 0, &y, &err), GREBE_EINVAL);
    assert_int_equal(grebe_ann_index_new(f->ctx, (grebe_ann_index_kind)9, GREBE_METRIC_L2, GREBE_ELEM_F32, NULL, 0, 0, &y, &err), GREBE_EINVAL);
    const char *params[1] = { "eff=10" };
    assert_int_equal(grebe_ann_index_new(f->ctx, GREBE_ANN_INDEX_FLAT, GREBE_METRIC_L2, GREBE_ELEM_F32, params, 1, 0, &y, &err), GREBE_EINVAL);
    assert_null(y);
    grebe_ann_index_close(x);
}

static void unaligned_rows_and_other_types_are_taken(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = flat(f, GREBE_METRIC_EUCLIDEAN);
    unsigned char *bytes = malloc(sizeof f->rows + 1);
    double wide[DIM];
    grebe_vectors rows = some_rows(f, 0, ROWS), query = some_rows(f, 0, 1);
    int64_t found[1];
    float distance[1];
    memcpy(bytes + 1, f->rows, sizeof f->rows);
    rows.data = bytes + 1;
    assert_ok(grebe_ann_index_add(x, &rows, NULL, NULL, &err));
    for (int j = 0; j < DIM; j++) {
        wide[j] = (double)f->rows[123][j];
    }
    query.elem = GREBE_ELEM_F64;
    query.data = wide;
    assert_ok(grebe_ann_index_search(x, &query, 1, NULL, found, distance, &err));
    assert_int_equal(found[0], 123);
    assert_true(distance[0] == 0);
    free(bytes);
    grebe_ann_index_close(x);
}

static void zero_rows_under_angular_have_distance_one(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = flat(f, GREBE_METRIC_ANGULAR);
    float rows[2][DIM] = { { 0 }, { -1, 0, 0, 0, 0, 0, 0 } }, query[DIM] = { 2, 0, 0, 0, 0, 0, 0 };
    grebe_vectors v = some_rows(f, 0, 2), q = some_rows(f, 0, 1);
    int64_t found[2];
    float distances[2];
    v.data = rows;
    q.data = query;
    assert_ok(grebe_ann_index_add(x, &v, NULL, NULL, &err));
    assert_ok(grebe_ann_index_search(x, &q, 2, NULL, found, distances, &err));
    assert_int_equal(found[0], 0);
    assert_true(distances[0] == 1.0f && distances[1] == 2.0f);
    q.data = rows[0];
    assert_ok(grebe_ann_index_search(x, &q, 2, NULL, found, distances, &err));
    assert_int_equal(found[0], 0); /* both at distance 1: the one added first */
    assert_true(distances[0] == 1.0f && distances[1] == 1.0f);
    grebe_ann_index_close(x);
}

static void a_range_has_what_an_exact_search_has(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = flat(f, GREBE_METRIC_EUCLIDEAN);
    grebe_vectors rows = some_rows(f, 0, ROWS), queries = some_rows(f, 0, 5);
    static int64_t found[5 * ROWS];
    static float distances[5 * ROWS];
    grebe_ann_index_range r = { 0 };
    assert_ok(grebe_ann_index_add(x, &rows, NULL, NULL, &err));
    assert_ok(grebe_ann_index_search(x, &queries, ROWS, NULL, found, distances, &err));
    float radius = distances[40];
    assert_ok(grebe_ann_index_range_search(x, &queries, radius, NULL, &r, &err));
    assert_int_equal(r.queries, 5);
    assert_int_equal(r.offsets[1], 41);
    for (int q = 0; q < 5; q++) {
        for (int64_t i = r.offsets[q]; i < r.offsets[q + 1]; i++) {
            assert_int_equal(r.ids[i], found[q * ROWS + (i - r.offsets[q])]);
        }
        assert_true(distances[q * ROWS + (r.offsets[q + 1] - r.offsets[q])] > radius);
    }
    grebe_ann_index_range_free(&r);
    grebe_ann_index_range_free(&r);
    assert_int_equal(grebe_ann_index_range_search(x, &queries, NAN, NULL, &r, &err), GREBE_EINVAL);
    grebe_ann_index_close(x);
}

/* Components next to nothing, or whose squares are infinite: built, saved and found again, never a NaN. */
static void the_ends_of_float_are_legal_where_they_can_be(void **state)
{
    static const struct {
        grebe_ann_index_kind kind;
        const char *param;
    } kinds[] = { { GREBE_ANN_INDEX_FLAT, NULL },           { GREBE_ANN_INDEX_HNSW, NULL },
                  { GREBE_ANN_INDEX_GRAPH, "quant=sq8" },   { GREBE_ANN_INDEX_GRAPH, "quant=sq4" },
                  { GREBE_ANN_INDEX_IVF, "quant=none" },    { GREBE_ANN_INDEX_IVF, "quant=sq8" },
                  { GREBE_ANN_INDEX_IVF, "quant=sq4" },     { GREBE_ANN_INDEX_IVF, "quant=pq4" },
                  { GREBE_ANN_INDEX_IVF, "quant=rabitq" } };
    static const float ends[] = { 1e-42f, 0, 1e25f };
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    int64_t before[3], after[3];
    float distances[3], again[3];
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        for (int i = 0; i < ROWS * DIM; i++) {
            f->rows[i / DIM][i % DIM] = (float)(i % 13 - 6) * ends[e];
        }
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            for (grebe_metric metric = GREBE_METRIC_EUCLIDEAN; metric <= GREBE_METRIC_IP; metric++) {
                grebe_ann_index *x = NULL, *opened = NULL;
                grebe_vectors rows = some_rows(f, 0, ROWS), query = some_rows(f, 5, 1);
                assert_ok(grebe_ann_index_new(f->ctx, kinds[i].kind, metric, GREBE_ELEM_F32, &kinds[i].param,
                                              kinds[i].param != NULL, 1, &x, &err));
                if (metric == GREBE_METRIC_IP && ends[e] > 1) { /* inf - inf would be a distance */
                    assert_int_equal(grebe_ann_index_add(x, &rows, NULL, NULL, &err), GREBE_EINVAL);
                    assert_non_null(strstr(err.message, "row 0: expected a length below 1.8e19"));
                    grebe_ann_index_close(x);
                    continue;
                }
                assert_ok(grebe_ann_index_add(x, &rows, NULL, NULL, &err));
                assert_ok(grebe_ann_index_search(x, &query, 3, NULL, before, distances, &err));
                assert_ok(grebe_ann_index_save(x, f->path, false, &err));
                grebe_ann_index_close(x);
                assert_ok(grebe_ann_index_open(f->ctx, f->path, true, &opened, &err));
                assert_ok(grebe_ann_index_search(opened, &query, 3, NULL, after, again, &err));
                grebe_ann_index_close(opened);
                for (int k = 0; k < 3; k++) {
                    assert_true(before[k] >= 0 && before[k] == after[k]);
                    assert_true(distances[k] == again[k] && (k == 0 || distances[k] >= distances[k - 1]));
                }
            }
        }
    }
}

static void lengths_of_sparse_rows_and_queries_are_bounded(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = NULL;
    grebe_vectors v = GREBE_VECTORS_INIT;
    static const int64_t offsets[] = { 0, 2, 4 };
    static const uint32_t terms[] = { 1, 2, 1, 2 };
    static const float values[] = { 1e18f, 1e18f, 1e20f, -1e20f };
    int64_t id;
    float distance;
    assert_ok(grebe_ann_index_new(f->ctx, GREBE_ANN_INDEX_SPARSE, GREBE_METRIC_IP, GREBE_ELEM_F32, NULL, 0, 0, &x, &err));
    v.rows = 2;
    v.offsets = offsets;
    v.terms = terms;
    v.values = values;
    assert_int_equal(grebe_ann_index_add(x, &v, NULL, NULL, &err), GREBE_EINVAL);
    assert_non_null(strstr(err.message, "row 1: expected a length below 1.8e19, found 1.41421e+20"));
    v.rows = 1;
    assert_ok(grebe_ann_index_add(x, &v, NULL, NULL, &err));
    assert_ok(grebe_ann_index_search(x, &v, 1, NULL, &id, &distance, &err));
    assert_true(id == 0 && distance < -1e36f);
    v.offsets = offsets + 1;
    assert_int_equal(grebe_ann_index_search(x, &v, 1, NULL, &id, &distance, &err), GREBE_EINVAL);
    grebe_ann_index_close(x);
}

/* struct_size that ends before the rows: there are none, for ids too. */
static void rows_beyond_struct_size_are_not_there(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index_stats stats = GREBE_ANN_INDEX_STATS_INIT;
    grebe_ann_index *x = flat(f, GREBE_METRIC_L2);
    grebe_vectors v = some_rows(f, 0, 9);
    int64_t found;
    float distance;
    v.struct_size = offsetof(grebe_vectors, rows);
    assert_int_equal(grebe_ann_index_add(x, &v, NULL, NULL, &err), GREBE_EINVAL); /* no component either */
    v.struct_size = 2;
    assert_int_equal(grebe_ann_index_add(x, &v, NULL, NULL, &err), GREBE_EINVAL);
    assert_ok(grebe_ann_index_get_stats(x, &stats, &err));
    assert_int_equal(stats.rows, 0);
    v.struct_size = sizeof v;
    assert_ok(grebe_ann_index_add(x, &v, NULL, NULL, &err));
    v = some_rows(f, 3, 1);
    assert_ok(grebe_ann_index_search(x, &v, 1, NULL, &found, &distance, &err));
    assert_int_equal(found, 3);
    grebe_ann_index_close(x);
}

static void what_is_null_is_named(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    static const char *const names[] = { NULL, "M=8" };
    grebe_ann_index *x = flat(f, GREBE_METRIC_L2), *y = NULL;
    grebe_vectors v = some_rows(f, 0, 9);
    grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    int64_t ids[9];
    float distances[9];
    assert_int_equal(grebe_ann_index_new(f->ctx, GREBE_ANN_INDEX_HNSW, GREBE_METRIC_L2, GREBE_ELEM_F32, names, 2, 0, &y, &err),
                     GREBE_EINVAL);
    assert_non_null(strstr(err.message, "parameter 0: expected name=value, found \"NULL\""));
    assert_null(y);
    assert_ok(grebe_ann_index_add(x, &v, NULL, NULL, &err));
    o.n_params = 2;
    assert_int_equal(grebe_ann_index_search(x, &v, 1, &o, ids, distances, &err), GREBE_EINVAL);
    o.params = names;
    assert_int_equal(grebe_ann_index_search(x, &v, 1, &o, ids, distances, &err), GREBE_EINVAL);
    v.data = NULL;
    assert_int_equal(grebe_ann_index_search(x, &v, 1, NULL, ids, distances, &err), GREBE_EINVAL);
    assert_non_null(strstr(err.message, "query: expected data of 9 rows, found NULL"));
    grebe_ann_index_close(x);
}

static void ids_of_a_file_are_checked(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct index_ids t;
    int64_t twice[4] = { 1, 2, 1, 3 };
    index_ids_init(&t, mem_system());
    index_ids_map(&t, twice, 4);
    assert_int_equal(index_ids_prepare(&t, &err), GREBE_ECORRUPT);
    index_ids_release(&t);
}

struct searcher {
    struct fixture *f;
    grebe_ann_index *x;
    int64_t wanted, found;
    grebe_status st;
};

static void *search_by_id(void *arg)
{
    struct searcher *s = arg;
    float distance = 0;
    grebe_vectors query = some_rows(s->f, 0, 1);
    grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    o.ids = &s->wanted;
    o.n_ids = 1;
    o.call.threads = 1;
    s->st = grebe_ann_index_search(s->x, &query, 1, &o, &s->found, &distance, NULL);
    return NULL;
}

/* The table of ids is made by the first search that needs it; here several are the first. */
static void searches_by_id_may_run_at_once(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vectors rows = some_rows(f, 0, ROWS);
    int64_t given[ROWS];
    for (int i = 0; i < ROWS; i++) {
        given[i] = 1000 + i;
    }
    grebe_ann_index *x = flat(f, GREBE_METRIC_EUCLIDEAN);
    assert_ok(grebe_ann_index_add(x, &rows, given, NULL, &err));
    assert_ok(grebe_ann_index_save(x, f->path, false, &err));
    grebe_ann_index_close(x);
    for (int round = 0; round < 20; round++) {
        struct searcher s[4];
        pthread_t threads[4];
        assert_ok(grebe_ann_index_open(f->ctx, f->path, false, &x, &err)); /* without a table */
        for (int i = 0; i < 4; i++) {
            s[i] = (struct searcher){ f, x, 1000 + 7 * (i + 4 * round) % ROWS, -1, GREBE_EINVAL };
            assert_int_equal(pthread_create(&threads[i], NULL, search_by_id, &s[i]), 0);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(s[i].st, GREBE_OK);
            assert_int_equal(s[i].found, s[i].wanted);
        }
        grebe_ann_index_close(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ids_are_the_positions_or_the_callers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_id_comes_once_and_is_free_after_removal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(removed_default_ids_are_not_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filters_by_bits_and_by_ids_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_input_is_refused_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unaligned_rows_and_other_types_are_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zero_rows_under_angular_have_distance_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_range_has_what_an_exact_search_has, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_ends_of_float_are_legal_where_they_can_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lengths_of_sparse_rows_and_queries_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_beyond_struct_size_are_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_null_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(searches_by_id_may_run_at_once, set_up, tear_down),
        cmocka_unit_test(ids_of_a_file_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
