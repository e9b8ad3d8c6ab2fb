/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "index/index_params.h"
#include "index/ivf_internal.h"
#include "index/ivf_kmeans.h"

/* Kind ivf: rows in lists around centroids, first-pass codes, ranking by the rows themselves. */

static const char *const quant_names[] = {"none", "sq8", "sq4", "pq4", "rabitq", NULL};
static const char *const rerank_names[] = {"f32", NULL};

static const struct index_param build_table[] = {
    {"lists", INDEX_PARAM_UINT, offsetof(struct ivf_build_params, lists), 0, 1 << 22, 0, NULL,
     "lists; 0: twice the root of the rows"},
    {"quant", INDEX_PARAM_CHOICE, offsetof(struct ivf_build_params, quant), 0, 0, INDEX_QUANT_SQ8, quant_names,
     "codes of the first pass"},
    {"rerank", INDEX_PARAM_CHOICE, offsetof(struct ivf_build_params, rerank), 0, 0, 0, rerank_names,
     "what candidates are ranked by"},
    {"train_rows", INDEX_PARAM_UINT, offsetof(struct ivf_build_params, train_rows), 0, UINT32_MAX, 0, NULL,
     "rows that train the centroids; 0: 128 for each list"},
    {"iterations", INDEX_PARAM_UINT, offsetof(struct ivf_build_params, iterations), 1, 1000, 10, NULL,
     "rounds of k-means"},
    {"seed", INDEX_PARAM_UINT, offsetof(struct ivf_build_params, seed), 0, UINT32_MAX, 1, NULL, "choice of rows"},
};

static const struct index_param search_table[] = {
    {"nprobe", INDEX_PARAM_UINT, offsetof(struct ivf_search_params, nprobe), 0, 1 << 22, 0, NULL,
     "lists to look into, more under a filter; 0: a twelfth of them, at least those of 4,096 rows"},
    {"k_factor", INDEX_PARAM_REAL, offsetof(struct ivf_search_params, k_factor), 0, 1e6, 0, NULL,
     "candidates ranked for each result; 0: by the codes"},
};

#define N_PARAMS(table) (sizeof(table) / sizeof *(table))

/* ---- making ---- */

static void ivf_free(struct index *ix)
{
    struct ivf *x = (struct ivf *)ix;

    if (x != NULL) {
        index_store_release(&x->store);
        index_bits_release(&x->removed);
        tile_rows_release(&x->panels);
        ivf_codes_release(&x->codes);
        ivf_lists_release(&x->lists);
        mem_free(ix->ctx->a, x->centroids, x->centroid_bytes);
        mem_free(ix->ctx->a, x, sizeof *x);
    }
}

static grebe_status ivf_create(grebe_context *ctx, const struct index_config *config, struct index **out,
                               grebe_error *err)
{
    struct ivf_build_params params;
    struct ivf *x = NULL;
    grebe_status st =
        index_params_fill(build_table, N_PARAMS(build_table), config->params, config->n_params, &params, err);

    *out = NULL;
    if (st != GREBE_OK) {
        return st;
    }
    if (config->elem == VECTOR_BIT) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "index of kind ivf: expected rows of numbers, found bits");
    }
    x = mem_alloc_zero(ctx->a, sizeof *x);
    if (x == NULL) {
        return mem_fail(err, sizeof *x, "an index of lists");
    }
    x->base = (struct index){&index_ivf_ops, ctx, *config};
    x->base.config.params = NULL;
    x->base.config.n_params = 0;
    x->params = params;
    x->removed.a = ctx->a;
    *out = &x->base;
    return GREBE_OK;
}

/* The rows of the store from `first`, as float32. */
static grebe_status floats_of(const struct ivf *x, uint64_t first, size_t n, size_t step, float **out, grebe_error *err)
{
    const uint32_t dim = x->store.dim;
    size_t bytes = 0;

    *out = NULL;
    if (!checked_mul_size(n, dim * sizeof **out, &bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%zu rows of %u components do not fit in memory", n, dim);
    }
    *out = mem_alloc_aligned(x->base.ctx->a, bytes, MEM_ALIGN_VECTOR);
    if (*out == NULL) {
        return mem_fail(err, bytes, "rows as floats");
    }
    for (size_t i = 0; i < n; i++) {
        vector_to_f32(x->store.elem, index_store_row(&x->store, (uint32_t)(first + i * step)), dim, *out + i * dim);
    }
    return GREBE_OK;
}

static void free_floats(const struct ivf *x, float *rows, size_t n)
{
    mem_free_aligned(x->base.ctx->a, rows, n * x->store.dim * sizeof *rows, MEM_ALIGN_VECTOR);
}

static grebe_status panels_of_centroids(struct ivf *x, uint32_t n_lists, grebe_error *err)
{
    const struct vector_rows view = {x->centroids, x->store.dim * sizeof(float), n_lists, x->store.dim, VECTOR_F32};

    return tile_rows_pack(x->base.ctx->a, &view, &x->panels, err);
}

/* Centroids from rows spread evenly over what there is, then codes from what is left of these rows. */
static grebe_status train(struct ivf *x, const struct call *call, grebe_error *err)
{
    grebe_context *ctx = x->base.ctx;
    const size_t n = (size_t)x->store.n;
    const uint32_t dim = x->store.dim;
    const uint32_t wanted = x->params.lists != 0 ? x->params.lists : (uint32_t)(2 * sqrt((double)n)) + 1;
    const uint32_t n_lists = (uint32_t)min_size(wanted, n);
    const size_t asked = x->params.train_rows != 0 ? x->params.train_rows : (size_t)n_lists * 128;
    const size_t n_train = max_size(min_size(asked, n), n_lists), step = n / n_train;
    const struct kmeans_options options = {n_lists, x->params.iterations, x->params.seed, call};
    float *rows = NULL;
    uint32_t *lists = NULL;
    grebe_status st = GREBE_OK;

    GREBE_TRY(floats_of(x, 0, n_train, step, &rows, err));
    x->centroid_bytes = (size_t)n_lists * dim * sizeof *x->centroids;
    x->centroids = mem_alloc(ctx->a, x->centroid_bytes);
    lists = mem_alloc(ctx->a, n_train * sizeof *lists);
    if (x->centroids == NULL || lists == NULL) {
        st = mem_fail(err, x->centroid_bytes, "centroids");
        goto out;
    }
    GREBE_TRY(kmeans_train(ctx, rows, n_train, dim, &options, x->centroids, err));
    GREBE_TRY(panels_of_centroids(x, n_lists, err));
    GREBE_TRY(ivf_codes_init(&x->codes, ctx->a, (enum index_quant)x->params.quant, ivf_is_l2(x), dim, x->params.seed, err));
    if (x->codes.quant != INDEX_QUANT_NONE) {
        const size_t n_codes = min_size(n_train, 20000);

        GREBE_TRY(kmeans_assign(ctx, &x->panels, rows, n_codes, call, lists, err));
        for (size_t i = 0; i < n_codes; i++) {
            for (uint32_t d = 0; d < dim; d++) {
                rows[i * dim + d] -= x->centroids[(size_t)lists[i] * dim + d];
            }
        }
        GREBE_TRY(ivf_codes_train(&x->codes, ctx, rows, n_codes, call, x->params.seed, err));
    }
    GREBE_TRY(ivf_lists_init(&x->lists, ctx->a, n_lists, x->codes.block_bytes, err));
out:
    mem_free(ctx->a, lists, n_train * sizeof *lists);
    free_floats(x, rows, n_train);
    return st;
}

static void untrain(struct ivf *x)
{
    tile_rows_release(&x->panels);
    ivf_codes_release(&x->codes);
    ivf_lists_release(&x->lists);
    mem_free(x->base.ctx->a, x->centroids, x->centroid_bytes);
    x->centroids = NULL;
    x->centroid_bytes = 0;
}

/* Lists of the rows from `first`, some at a time: only these are held as floats. */
static grebe_status assign_rows(struct ivf *x, uint64_t first, size_t n, const struct call *call, uint32_t *lists,
                                grebe_error *err)
{
    enum { STEP = 1 << 15 };
    grebe_status st = GREBE_OK;

    for (size_t at = 0; st == GREBE_OK && at < n; at += STEP) {
        const size_t here = min_size(STEP, n - at);
        float *rows = NULL;

        st = floats_of(x, first + at, here, 1, &rows, err);
        if (st == GREBE_OK) {
            st = kmeans_assign(x->base.ctx, &x->panels, rows, here, call, lists + at, err);
        }
        free_floats(x, rows, here);
        if (call->progress != NULL) {
            const grebe_progress p = {.phase = "add", .rows_done = at + here, .rows_total = n};

            call->progress(call->progress_ctx, &p);
        }
    }
    return st;
}

static grebe_status ivf_add(struct index *ix, const struct index_rows *rows, const struct call *call, grebe_error *err)
{
    struct ivf *x = (struct ivf *)ix;
    grebe_context *ctx = ix->ctx;
    const bool is_first = x->store.n == 0;
    const uint64_t before = x->store.n;
    const size_t n = (size_t)rows->dense.n;
    uint32_t *lists = NULL;
    grebe_status st = GREBE_OK;

    if (n == 0) {
        return GREBE_OK;
    }
    if (is_first) {
        index_store_release(&x->store);
        GREBE_TRY(index_store_init(&x->store, ctx->a, ix->config.metric, ix->config.elem, rows->dense.dim, err));
    }
    GREBE_TRY(index_store_append(&x->store, &rows->dense, err));
    if (is_first) {
        GREBE_TRY(train(x, call, err));
    }
    lists = mem_alloc(ctx->a, n * sizeof *lists);
    if (lists == NULL) {
        st = mem_fail(err, n * sizeof *lists, "lists of rows");
        goto out;
    }
    GREBE_TRY(assign_rows(x, before, n, call, lists, err));
    st = ivf_lists_append(&x->lists, ctx, &x->codes, x->centroids, &x->store, before, lists, n, call, err);
out:
    mem_free(ctx->a, lists, n * sizeof *lists);
    if (st != GREBE_OK) {
        x->store.n = before;
        if (is_first) {
            untrain(x);
        }
    }
    return st;
}

static grebe_status ivf_remove(struct index *ix, uint32_t position, grebe_error *err)
{
    return index_bits_set(&((struct ivf *)ix)->removed, position, err);
}

/* ---- searching ---- */

static grebe_status read_params(const struct ivf *x, const struct index_search *s, struct ivf_search_params *out,
                                grebe_error *err)
{
    enum { LISTS_PER_PROBE = 12, ROWS_MIN = 4096 };
    grebe_status st = index_params_fill(search_table, N_PARAMS(search_table), s->params, s->n_params, out, err);

    if (st == GREBE_OK && out->nprobe == 0) {
        const uint64_t few = x->store.n > ROWS_MIN ? (uint64_t)x->lists.n_lists * ROWS_MIN / x->store.n + 1 : x->lists.n_lists;

        out->nprobe = (uint32_t)max_size(x->lists.n_lists / LISTS_PER_PROBE, (size_t)few);
    }
    return st;
}

static grebe_status ivf_find(struct index *ix, const struct index_rows *queries, const struct index_search *s,
                             uint32_t *positions, float *distances, grebe_error *err)
{
    struct ivf_search_params p;
    grebe_status st = read_params((struct ivf *)ix, s, &p, err);

    return st == GREBE_OK ? ivf_search((struct ivf *)ix, &queries->dense, s, &p, positions, distances, err) : st;
}

static grebe_status ivf_find_range(struct index *ix, const struct index_rows *queries, float radius,
                                   const struct index_search *s, struct index_ranges *out, grebe_error *err)
{
    struct ivf_search_params p;
    grebe_status st = read_params((struct ivf *)ix, s, &p, err);

    return st == GREBE_OK ? ivf_range((struct ivf *)ix, &queries->dense, radius, s, &p, out, err) : st;
}

/* ---- files ---- */

static grebe_status ivf_save(struct index *ix, struct index_writer *w, grebe_error *err)
{
    struct ivf *x = (struct ivf *)ix;
    grebe_status st = GREBE_OK;

    GREBE_TRY(index_writer_uint(w, "rows", x->store.n, err));
    GREBE_TRY(index_writer_uint(w, "quant", x->params.quant, err));
    GREBE_TRY(index_writer_uint(w, "lists", x->lists.n_lists, err));
    GREBE_TRY(index_writer_uint(w, "wanted", x->params.lists, err));
    GREBE_TRY(index_writer_uint(w, "seed", x->params.seed, err));
    GREBE_TRY(index_bits_save(&x->removed, "removed", w, err));
    if (x->store.n > 0) {
        GREBE_TRY(index_writer_section(w, "centres", x->centroids, x->centroid_bytes, err));
        GREBE_TRY(ivf_codes_save(&x->codes, w, err));
        GREBE_TRY(ivf_lists_save(&x->lists, w, err));
        GREBE_TRY(index_store_save(&x->store, w, err));
    }
out:
    return st;
}

static grebe_status load_rows(struct ivf *x, const struct index_file *file, const struct index_config *config,
                              uint64_t n, uint32_t n_lists, grebe_error *err)
{
    grebe_context *ctx = x->base.ctx;
    const void *centroids = NULL;
    grebe_status st = GREBE_OK;

    GREBE_TRY(index_store_load(&x->store, ctx->a, config, file, n, err));
    x->centroid_bytes = (size_t)n_lists * x->store.dim * sizeof *x->centroids;
    GREBE_TRY(index_file_section(file, "centres", x->centroid_bytes, &centroids, NULL, err));
    x->centroids = mem_alloc(ctx->a, x->centroid_bytes);
    if (x->centroids == NULL) {
        st = mem_fail(err, x->centroid_bytes, "centroids");
        goto out;
    }
    memcpy(x->centroids, centroids, x->centroid_bytes);
    GREBE_TRY(panels_of_centroids(x, n_lists, err));
    GREBE_TRY(ivf_codes_init(&x->codes, ctx->a, (enum index_quant)x->params.quant, ivf_is_l2(x), x->store.dim,
                           x->params.seed, err));
    GREBE_TRY(ivf_codes_load(&x->codes, file, err));
    GREBE_TRY(ivf_lists_init(&x->lists, ctx->a, n_lists, x->codes.block_bytes, err));
    st = ivf_lists_load(&x->lists, file, n, err);
out:
    return st;
}

static grebe_status ivf_load(grebe_context *ctx, const struct index_config *config, struct index_file *file,
                             struct index **out, grebe_error *err)
{
    struct index *ix = NULL;
    struct ivf *x;
    uint64_t n = 0, quant = 0, lists = 0, wanted = 0, seed = 0;
    grebe_status st = GREBE_OK;

    *out = NULL;
    GREBE_TRY(index_file_uint(file, "rows", 0, INDEX_ROWS_MAX, &n, err));
    GREBE_TRY(index_file_uint(file, "quant", 0, INDEX_QUANT_RABITQ, &quant, err));
    GREBE_TRY(index_file_uint(file, "lists", n == 0 ? 0 : 1, n, &lists, err));
    GREBE_TRY(index_file_uint(file, "wanted", 0, 1 << 22, &wanted, err));
    GREBE_TRY(index_file_uint(file, "seed", 0, UINT32_MAX, &seed, err));
    GREBE_TRY(ivf_create(ctx, config, &ix, err));
    x = (struct ivf *)ix;
    x->params.quant = (uint32_t)quant;
    x->params.lists = (uint32_t)wanted;
    x->params.seed = (uint32_t)seed;
    if (n > 0) {
        GREBE_TRY(load_rows(x, file, config, n, (uint32_t)lists, err));
    }
    GREBE_TRY(index_bits_load(&x->removed, "removed", file, n, err));
    *out = ix;
    ix = NULL;
out:
    ivf_free(ix);
    return st;
}

static void ivf_info(const struct index *ix, struct index_info *out)
{
    const struct ivf *x = (const struct ivf *)ix;
    const size_t blocks = ivf_lists_blocks(&x->lists);

    *out = (struct index_info){.rows = x->store.n - x->removed.n_set,
                               .removed = x->removed.n_set,
                               .bytes_vectors = x->store.n * x->store.stride,
                               .bytes_codes = blocks * (x->lists.block_bytes + IVF_BLOCK * sizeof(float)),
                               .bytes_links = blocks * IVF_BLOCK * sizeof(uint32_t),
                               .bytes_other = x->centroid_bytes + x->panels.bytes + x->removed.n_words * 8,
                               .dim = x->store.dim};
}

static const struct index_bits *ivf_removed(const struct index *ix) { return &((const struct ivf *)ix)->removed; }

const struct index_ops index_ivf_ops = {"ivf",    INDEX_IVF,      ivf_create, ivf_free, ivf_add, ivf_remove,
                                        ivf_find, ivf_find_range, ivf_save,   ivf_load, ivf_info, ivf_removed};
