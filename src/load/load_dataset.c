/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/dataset_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "dataset/dataset_internal.h"
#include "load/load_cached.h"
#include "load/load_split.h"

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, 64, "a loaded data set"); }

/* Where the cache lies does not count, so it may be moved. */
static grebe_status fingerprint_of(const struct load_plan *p, const char *split, char out[17], grebe_error *err)
{
    struct buf b = BUF_INIT(p->ctx->a);
    grebe_status st = buf_printf(&b, err, "%s/%s/0.0.0/%s/%s", p->dataset_name, p->config_id, p->hash, split);
    if (st == GREBE_OK) {
        snprintf(out, 17, "%016" PRIx64, hash_bytes(b.data, b.len, 0));
    }
    buf_release(&b);
    return st;
}

static grebe_status open_shards(const struct load_plan *p, const struct prepared *made, const struct prepared_split *s,
                                size_t begin, size_t end, const char *label, grebe_dataset **out, grebe_error *err)
{
    char fingerprint[17];
    grebe_status st = fingerprint_of(p, label, fingerprint, err);
    return st == GREBE_OK ? dataset_open_files(p->ctx, s->paths + begin, end - begin, made->features, p->options.keep_in_memory,
                                               made->info, label, fingerprint, out, err)
                          : st;
}

/* Rows [begin, end) of a split; files that have none of them are not opened. */
static grebe_status open_range(const struct load_plan *p, const struct prepared *made, const struct split_range *r,
                               const char *label, grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct prepared_split *s = &made->splits[r->split];
    grebe_dataset *whole = NULL;
    size_t first = 0, last;
    int64_t before = 0;
    while (first + 1 < s->n_shards && before + s->shard_rows[first] <= r->begin) {
        before += s->shard_rows[first++];
    }
    int64_t at = before + s->shard_rows[first];
    for (last = first + 1; last < s->n_shards && at < r->end; last++) {
        at += s->shard_rows[last];
    }
    GREBE_TRY(open_shards(p, made, s, first, last, label, &whole, err));
    if (r->begin == before && r->end == at) {
        *out = whole;
        return GREBE_OK;
    }
    st = grebe_dataset_slice(whole, r->begin - before, r->end - before, NULL, out, err);
out:
    grebe_dataset_free(whole);
    return st;
}

/* The set is nobody else's yet: what it is called is ours to say. */
static grebe_status relabel(const struct load_plan *p, grebe_dataset *ds, const char *label, grebe_error *err)
{
    const grebe_allocator *a = p->ctx->a;
    char fingerprint[17];
    grebe_status st = fingerprint_of(p, label, fingerprint, err);
    char *split = str_copy(a, label), *own = st == GREBE_OK ? str_copy(a, fingerprint) : NULL;
    if (split == NULL || own == NULL) {
        str_free(a, split);
        str_free(a, own);
        return st != GREBE_OK ? st : no_memory(err);
    }
    str_free(a, ds->split);
    str_free(a, ds->fingerprint);
    ds->split = split;
    ds->fingerprint = own;
    return GREBE_OK;
}

static grebe_status sizes_of(struct arena *ar, const struct prepared *made, struct split_size **out, grebe_error *err)
{
    *out = arena_array(ar, made->n, sizeof **out);
    if (*out == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < made->n; i++) {
        (*out)[i] = (struct split_size){ made->splits[i].name, made->splits[i].n_rows };
    }
    return GREBE_OK;
}

static grebe_status ranges_of(struct arena *ar, const struct split_spec *spec, const struct split_size *sizes, size_t n_sizes,
                              struct split_range **out, size_t *n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t n_rows = 0;
    bool is_sliced = false;
    *n = spec->is_all ? n_sizes : spec->n;
    *out = arena_array(ar, *n, sizeof **out);
    if (*out == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < *n && st == GREBE_OK; i++) {
        (*out)[i] = (struct split_range){ i, 0, spec->is_all ? sizes[i].n_rows : 0 };
        if (!spec->is_all) {
            st = split_resolve(&spec->terms[i], sizes, n_sizes, &(*out)[i], err);
            is_sliced = is_sliced || spec->terms[i].is_sliced;
        }
        n_rows += (*out)[i].end - (*out)[i].begin;
    }
    if (st == GREBE_OK && n_rows == 0 && is_sliced) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "split \"%s\" has no rows", spec->text);
    }
    return st;
}

/* options->split: one data set. */
static grebe_status open_spec(struct load_plan *p, const struct prepared *made, grebe_dataset_dict **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct split_spec spec;
    struct split_size *sizes = NULL;
    struct split_range *ranges = NULL;
    size_t n = 0, n_open = 0;
    struct buf label = BUF_INIT(p->ctx->a);
    grebe_dataset **parts = NULL, *one = NULL;
    GREBE_TRY(split_parse(&p->arena, p->options.split, &spec, err));
    GREBE_TRY(sizes_of(&p->arena, made, &sizes, err));
    GREBE_TRY(ranges_of(&p->arena, &spec, sizes, made->n, &ranges, &n, err));
    GREBE_TRY(split_print(&spec, sizes, made->n, &label, err));
    parts = arena_array(&p->arena, n, sizeof *parts);
    const char *name = buf_text(&label);
    if (parts == NULL || name == NULL) {
        st = no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].begin < ranges[i].end || n == 1) { /* of several, parts without rows are left out */
            GREBE_TRY(open_range(p, made, &ranges[i], name, &parts[n_open], err));
            n_open++;
        }
    }
    if (n_open == 0) {
        GREBE_TRY(open_range(p, made, &ranges[0], name, &parts[0], err));
        n_open = 1;
    }
    if (n_open == 1) {
        one = parts[--n_open];
    } else {
        GREBE_TRY(grebe_dataset_concatenate((const grebe_dataset *const *)parts, n_open, 0, &one, err));
    }
    GREBE_TRY(relabel(p, one, name, err));
    GREBE_TRY(dataset_dict_new(p->ctx, &name, &one, 1, out, err));
    one = NULL;
out:
    for (size_t i = 0; i < n_open; i++) {
        grebe_dataset_free(parts[i]);
    }
    grebe_dataset_free(one);
    buf_release(&label);
    return st;
}

static grebe_status open_all(struct load_plan *p, const struct prepared *made, grebe_dataset_dict **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = 0;
    grebe_dataset **sets = arena_array(&p->arena, made->n, sizeof *sets);
    const char **names = arena_array(&p->arena, made->n, sizeof *names);
    if (sets == NULL || names == NULL) {
        return no_memory(err);
    }
    for (; n < made->n; n++) {
        const struct prepared_split *s = &made->splits[n];
        names[n] = s->name;
        GREBE_TRY(open_shards(p, made, s, 0, s->n_shards, s->name, &sets[n], err));
    }
    GREBE_TRY(dataset_dict_new(p->ctx, names, sets, n, out, err));
    n = 0;
out:
    for (size_t i = 0; i < n; i++) {
        grebe_dataset_free(sets[i]);
    }
    return st;
}

grebe_status grebe_dataset_load(grebe_context *ctx, const char *path, const grebe_load_options *options,
                                grebe_dataset_dict **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct load_plan *p = NULL;
    struct prepared *made = NULL;
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && out != NULL);
    *out = NULL;
    if (load_is_hub_name(ctx, path)) {
        GREBE_TRY(load_cached(ctx, path, options, &p, &made, err));
    } else {
        GREBE_TRY(load_plan_new(ctx, path, options, &p, err));
    }
    if (p->options.split != NULL) { /* nonsense is found before anything is converted */
        struct split_spec spec;
        GREBE_TRY(split_parse(&p->arena, p->options.split, &spec, err));
    }
    if (made == NULL) {
        GREBE_TRY(load_prepare(p, &made, err));
    }
    st = p->options.split != NULL ? open_spec(p, made, out, err) : open_all(p, made, out, err);
out:
    prepared_free(made);
    load_plan_free(p);
    return st;
}
