/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_dataset.h"

#include <stdio.h>
#include <string.h>

#include "base/context_internal.h"
#include "graph/graph_manifest.h"
#include "io/io.h"

/* ---- opening ---- */

struct places {
    const char *metadata, *folder; /* of the metadata file; where relative paths begin */
    struct io_identity id;         /* of the metadata file */
};

static grebe_status join(struct grebe_graph *g, const char *folder, const char *rest, const char **out,
                         grebe_error *err)
{
    struct buf b = BUF_INIT(g->ctx->a);
    grebe_status st = path_join(&b, folder, rest, err);
    if (st == GREBE_OK) {
        *out = arena_str(&g->arena, (const char *)b.data, b.len);
        st = *out != NULL ? GREBE_OK : mem_fail(err, b.len, folder);
    }
    buf_release(&b);
    return st;
}

/* PATH/preprocessed/metadata.yaml, else PATH/metadata.yaml, where PATH is what preprocessing made. */
static grebe_status find_metadata(struct grebe_graph *g, struct io_store *store, const char *path, struct places *out,
                                  grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_info info;
    GREBE_TRY(join(g, path, "preprocessed/metadata.yaml", &out->metadata, err));
    out->folder = path;
    st = io_stat(store, out->metadata, &info, err);
    if (st != GREBE_ENOTFOUND) {
        goto out;
    }
    GREBE_TRY(join(g, path, "metadata.yaml", &out->metadata, err));
    GREBE_TRY(join(g, path, "..", &out->folder, err));
    st = io_stat(store, out->metadata, &info, err);
    if (st == GREBE_ENOTFOUND) {
        st = GREBE_FAIL(err, st, "%s: expected a preprocessed data set: there is no preprocessed/metadata.yaml", path);
    }
out:
    if (st == GREBE_OK) {
        out->id = info.id;
    }
    return st;
}

/* To be called after a file of the folder has been opened. */
static grebe_status check_made(const struct grebe_graph *g, grebe_error *err)
{
    struct io_store *store = NULL;
    struct io_info info;
    grebe_status st = io_local_new(g->ctx, &store, err);
    st = st == GREBE_OK ? io_stat(store, g->made_path, &info, err) : st;
    io_store_free(store);
    if (st == GREBE_OK && !io_identity_equal(&info.id, &g->made)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: has been made again since the data set was opened", g->made_path);
    }
    return st;
}

static grebe_status make_sets(struct grebe_graph *g, grebe_error *err)
{
    const struct graph_metadata *m = g->metadata;
    g->features = arena_array(&g->arena, m->n_features, sizeof *g->features);
    g->sets = arena_array(&g->arena, m->n_tasks, sizeof *g->sets);
    g->feature_json = arena_array(&g->arena, m->n_features, sizeof *g->feature_json);
    g->task_json = arena_array(&g->arena, m->n_tasks, sizeof *g->task_json);
    bool is_made = g->features != NULL && g->sets != NULL && g->feature_json != NULL && g->task_json != NULL;
    for (size_t i = 0; is_made && i < m->n_features; i++) {
        g->features[i] = (struct graph_lazy){ .file = &m->features[i].file, .is_bfloat16 = m->features[i].is_bfloat16 };
    }
    for (size_t i = 0; is_made && i < m->n_tasks; i++) {
        g->sets[i] = arena_array(&g->arena, GRAPH_SETS, sizeof *g->sets[i]);
        is_made = g->sets[i] != NULL;
        for (size_t s = 0; is_made && s < GRAPH_SETS; s++) {
            size_t n = m->tasks[i].n_sets[s];
            g->sets[i][s] = arena_array(&g->arena, n, sizeof *g->sets[i][s]);
            is_made = g->sets[i][s] != NULL;
            for (size_t p = 0; is_made && p < n; p++) {
                const struct graph_set_spec *spec = &m->tasks[i].sets[s][p];
                g->sets[i][s][p] = arena_array(&g->arena, spec->n_items, sizeof *g->sets[i][s][p]);
                is_made = g->sets[i][s][p] != NULL;
                for (size_t k = 0; is_made && k < spec->n_items; k++) {
                    g->sets[i][s][p][k] =
                        (struct graph_lazy){ .file = &spec->items[k].file, .is_bfloat16 = spec->items[k].is_bfloat16 };
                }
            }
        }
    }
    return is_made ? GREBE_OK : mem_fail(err, m->n_features * sizeof *g->features, m->shown);
}

static grebe_status put_json(struct grebe_graph *g, const struct yaml_tree *t, char **out, grebe_error *err)
{
    struct buf b = BUF_INIT(g->ctx->a);
    grebe_status st = graph_yaml_to_json(&b, t, err);
    if (st == GREBE_OK) {
        *out = arena_str(&g->arena, (const char *)b.data, b.len);
        st = *out != NULL ? GREBE_OK : mem_fail(err, b.len, "metadata");
    }
    buf_release(&b);
    return st;
}

static grebe_status make_json(struct grebe_graph *g, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct graph_metadata *m = g->metadata;
    for (size_t i = 0; i < m->n_features; i++) {
        GREBE_TRY(put_json(g, m->features[i].extra, &g->feature_json[i], err));
    }
    for (size_t i = 0; i < m->n_tasks; i++) {
        GREBE_TRY(put_json(g, m->tasks[i].extra, &g->task_json[i], err));
    }
out:
    return st;
}

grebe_status grebe_graph_open(grebe_context *ctx, const char *path, grebe_graph **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    struct io_store *store = NULL;
    struct places places;
    const char *topology = NULL;
    *out = NULL;
    if (path[0] == '\0') {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected the folder of a data set, found an empty path");
    }
    struct grebe_graph *g = mem_alloc_zero(ctx->a, sizeof *g);
    if (g == NULL) {
        return mem_fail(err, sizeof *g, path);
    }
    g->ctx = ctx;
    g->arena = ARENA_INIT(ctx->a);
    pthread_mutex_init(&g->lock, NULL);
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(find_metadata(g, store, path, &places, err));
    g->made_path = places.metadata;
    g->made = places.id;
    GREBE_TRY(graph_metadata_read(ctx, places.metadata, places.folder, GRAPH_PREPROCESSED, false, &g->metadata, err));
    if (g->metadata->root != NULL && yaml_tree_get(g->metadata->root, "graph") != NULL) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: not preprocessed: run grebe graph preprocess", path);
        goto out;
    }
    GREBE_TRY(graph_problems_status(g->metadata, err));
    if (g->metadata->topology != NULL) {
        GREBE_TRY(graph_metadata_path(g->metadata, g->metadata->topology, &topology, err));
        g->path = topology;
        GREBE_TRY(graph_csc_open(g, topology, err));
        GREBE_TRY(check_made(g, err));
    }
    GREBE_TRY(make_sets(g, err));
    GREBE_TRY(make_json(g, err));
    *out = g;
    g = NULL;
out:
    io_store_free(store);
    grebe_graph_close(g);
    return st;
}

static void close_lazy(struct graph_lazy *x)
{
    tensor_release(&x->values);
    region_drop(x->copy);
}

void grebe_graph_close(grebe_graph *g)
{
    if (g == NULL) {
        return;
    }
    const grebe_allocator *a = g->ctx->a;
    const struct graph_metadata *m = g->metadata;
    for (size_t i = 0; g->features != NULL && i < m->n_features; i++) {
        close_lazy(&g->features[i]);
    }
    for (size_t i = 0; g->sets != NULL && i < m->n_tasks; i++) {
        for (size_t s = 0; g->sets[i] != NULL && s < GRAPH_SETS; s++) {
            for (size_t p = 0; g->sets[i][s] != NULL && p < m->tasks[i].n_sets[s]; p++) {
                for (size_t k = 0; g->sets[i][s][p] != NULL && k < m->tasks[i].sets[s][p].n_items; k++) {
                    close_lazy(&g->sets[i][s][p][k]);
                }
            }
        }
    }
    for (size_t i = 0; i < g->n_copies; i++) {
        region_drop(g->copies[i]);
    }
    torch_close(g->torch);
    graph_metadata_free(g->metadata);
    arena_release(&g->arena);
    pthread_mutex_destroy(&g->lock);
    mem_free(a, g, sizeof *g);
}

/* ---- arrays of files ---- */

static grebe_status open_values(struct grebe_graph *g, struct graph_lazy *x, grebe_error *err)
{
    struct tensor *t = &x->values;
    grebe_status st = graph_file_open(g->metadata, x->file, t, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = check_made(g, err);
    if (st != GREBE_OK) {
        close_lazy(x);
        return st;
    }
    size_t width = tensor_type_bytes(t->type), align = t->type >= TENSOR_C64 ? width / 2 : width;
    if (!t->is_packed || t->is_big_endian || (uintptr_t)t->data % align != 0) {
        st = region_new(g->ctx->a, (size_t)t->n_values * width, &x->copy, err);
        st = st == GREBE_OK ? tensor_read(t, 0, t->rank > 0 ? t->shape[0] : 1, x->copy->data, err) : st;
        if (st != GREBE_OK) {
            close_lazy(x);
            x->copy = NULL;
            return st;
        }
        t->data = x->copy->data;
        t->is_packed = true;
        t->is_big_endian = false;
    }
    t->type = x->is_bfloat16 && t->type == ARRAY_U16 ? ARRAY_BF16 : t->type;
    x->is_open = true;
    return GREBE_OK;
}

static grebe_status lazy_values(const struct grebe_graph *g, struct graph_lazy *x, const struct tensor **out,
                                grebe_error *err)
{
    struct grebe_graph *inner = (struct grebe_graph *)(uintptr_t)g; /* the lock, and what it guards, may change */
    grebe_status st = GREBE_OK;
    pthread_mutex_lock(&inner->lock);
    if (!x->is_open) {
        st = open_values(inner, x, err);
    }
    pthread_mutex_unlock(&inner->lock);
    *out = st == GREBE_OK ? &x->values : NULL;
    return st;
}

const struct graph_csc *graph_dataset_csc(const struct grebe_graph *g)
{
    return g->csc.ctx != NULL ? &g->csc : NULL;
}

grebe_status graph_dataset_attribute_order(const struct grebe_graph *g, bool *is_of_files, grebe_error *err)
{
    const grebe_allocator *a = g->ctx->a;
    struct io_store *store = NULL;
    char *folder = str_copy_len(a, g->made_path, (size_t)(strrchr(g->made_path, '/') - g->made_path));
    *is_of_files = false;
    if (folder == NULL) {
        return mem_fail(err, strlen(g->made_path), g->made_path);
    }
    grebe_status st = io_local_new(g->ctx, &store, err);
    st = st == GREBE_OK ? graph_manifest_attribute_order(store, folder, is_of_files, err) : st;
    st = st == GREBE_OK ? check_made(g, err) : st;
    io_store_free(store);
    str_free(a, folder);
    return st;
}

grebe_status graph_dataset_feature(const struct grebe_graph *g, size_t i, const struct tensor **out, grebe_error *err)
{
    *out = NULL;
    if (i >= g->metadata->n_features) {
        return GREBE_FAIL(err, GREBE_EINVAL, "feature %zu of %zu", i, g->metadata->n_features);
    }
    return lazy_values(g, &g->features[i], out, err);
}

size_t graph_dataset_find_feature(const struct grebe_graph *g, enum graph_domain domain, const char *type,
                                  const char *name)
{
    const struct graph_metadata *m = g->metadata;
    for (size_t i = 0; i < m->n_features; i++) {
        const struct graph_feature_spec *f = &m->features[i];
        bool is_type = type == NULL ? f->type == NULL : f->type != NULL && strcmp(f->type, type) == 0;
        if (f->domain == domain && is_type && strcmp(f->name, name) == 0) {
            return i;
        }
    }
    return m->n_features;
}

grebe_status graph_dataset_set_array(const struct grebe_graph *g, size_t task, size_t set, size_t part, size_t i,
                                     const struct tensor **out, grebe_error *err)
{
    const struct graph_metadata *m = g->metadata;
    *out = NULL;
    if (task >= m->n_tasks || set >= GRAPH_SETS || part >= m->tasks[task].n_sets[set] ||
        i >= m->tasks[task].sets[set][part].n_items) {
        return GREBE_FAIL(err, GREBE_EINVAL, "there is no such array: task %zu, set %zu, part %zu, array %zu", task,
                          set, part, i);
    }
    return lazy_values(g, &g->sets[task][set][part][i], out, err);
}
