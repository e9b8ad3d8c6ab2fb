/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"

#include "index/index_exact.h"
#include "index/index_params.h"

/* Kind flat: the rows as they are, searched exactly. It has no parameters. */

struct flat {
    struct index base;
    struct index_store store; /* dim 0: no row was added yet */
    struct index_bits removed;
};

static void flat_free(struct index *ix)
{
    struct flat *f = (struct flat *)ix;

    if (f != NULL) {
        index_store_release(&f->store);
        index_bits_release(&f->removed);
        mem_free(ix->ctx->a, f, sizeof *f);
    }
}

static grebe_status flat_create(grebe_context *ctx, const struct index_config *config, struct index **out,
                                grebe_error *err)
{
    struct flat *f = NULL;
    grebe_status st = index_params_fill(NULL, 0, config->params, config->n_params, NULL, err);

    *out = NULL;
    if (st != GREBE_OK) {
        return st;
    }
    f = mem_alloc_zero(ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, "a flat index");
    }
    f->base = (struct index){&index_flat_ops, ctx, *config};
    f->base.config.params = NULL;
    f->base.config.n_params = 0;
    f->removed.a = ctx->a;
    if (config->dim != 0) {
        st = index_store_init(&f->store, ctx->a, config->metric, config->elem, config->dim, err);
    }
    if (st != GREBE_OK) {
        flat_free(&f->base);
        return st;
    }
    *out = &f->base;
    return GREBE_OK;
}

static grebe_status flat_add(struct index *ix, const struct index_rows *rows, const struct call *call, grebe_error *err)
{
    struct flat *f = (struct flat *)ix;
    grebe_status st = call_check(call, err);

    if (st == GREBE_OK && f->store.n == 0 && f->store.dim != rows->dense.dim && ix->config.dim == 0) {
        index_store_release(&f->store);
        st = index_store_init(&f->store, ix->ctx->a, ix->config.metric, ix->config.elem, rows->dense.dim, err);
    }
    return st == GREBE_OK ? index_store_append(&f->store, &rows->dense, err) : st;
}

static grebe_status flat_remove(struct index *ix, uint32_t position, grebe_error *err)
{
    return index_bits_set(&((struct flat *)ix)->removed, position, err);
}

static grebe_status flat_search(struct index *ix, const struct index_rows *queries, const struct index_search *s,
                                uint32_t *positions, float *distances, grebe_error *err)
{
    struct flat *f = (struct flat *)ix;
    grebe_status st = index_params_fill(NULL, 0, s->params, s->n_params, NULL, err);

    return st == GREBE_OK ? index_exact_search(ix->ctx, &f->store, &f->removed, &queries->dense, s, positions,
                                               distances, err)
                          : st;
}

static grebe_status flat_range(struct index *ix, const struct index_rows *queries, float radius,
                               const struct index_search *s, struct index_ranges *out, grebe_error *err)
{
    struct flat *f = (struct flat *)ix;
    grebe_status st = index_params_fill(NULL, 0, s->params, s->n_params, NULL, err);

    return st == GREBE_OK ? index_exact_range(ix->ctx, &f->store, &f->removed, &queries->dense, radius, s, out, err) : st;
}

static grebe_status flat_save(struct index *ix, struct index_writer *w, grebe_error *err)
{
    struct flat *f = (struct flat *)ix;
    grebe_status st = GREBE_OK;

    GREBE_TRY(index_writer_uint(w, "rows", f->store.n, err));
    GREBE_TRY(index_bits_save(&f->removed, "removed", w, err));
    if (f->store.n > 0) {
        st = index_store_save(&f->store, w, err);
    }
out:
    return st;
}

static grebe_status flat_load(grebe_context *ctx, const struct index_config *config, struct index_file *file,
                              struct index **out, grebe_error *err)
{
    struct index *ix = NULL;
    struct flat *f;
    uint64_t n = 0;
    grebe_status st = GREBE_OK;

    *out = NULL;
    GREBE_TRY(index_file_uint(file, "rows", 0, INDEX_ROWS_MAX, &n, err));
    GREBE_TRY(flat_create(ctx, config, &ix, err));
    f = (struct flat *)ix;
    if (n > 0) {
        index_store_release(&f->store);
        GREBE_TRY(index_store_load(&f->store, ctx->a, config, file, n, err));
    }
    GREBE_TRY(index_bits_load(&f->removed, "removed", file, n, err));
    *out = ix;
    ix = NULL;
out:
    flat_free(ix);
    return st;
}

static void flat_info(const struct index *ix, struct index_info *out)
{
    const struct flat *f = (const struct flat *)ix;

    *out = (struct index_info){.rows = f->store.n - f->removed.n_set,
                               .removed = f->removed.n_set,
                               .bytes_vectors = f->store.n * f->store.stride,
                               .bytes_other = f->removed.n_words * sizeof *f->removed.words,
                               .dim = f->store.dim};
}

static const struct index_bits *flat_removed(const struct index *ix) { return &((const struct flat *)ix)->removed; }

const struct index_ops index_flat_ops = {"flat",      INDEX_FLAT,  flat_create, flat_free, flat_add, flat_remove,
                                         flat_search, flat_range,  flat_save,   flat_load, flat_info, flat_removed};
