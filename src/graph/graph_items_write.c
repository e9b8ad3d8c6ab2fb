/* SPDX-License-Identifier: Apache-2.0 */
/* Features and sets of a preprocessed data set, and the metadata.yaml that names them. */
#include <string.h>

#include "graph/graph_preprocess.h"

struct making {
    struct graph_outputs *o;
    struct graph_metadata *m;
    bool ids_are_narrow;
    grebe_error *err;
};

static const struct yaml_tree *set_text(struct making *k, const struct yaml_tree *map, const char *key,
                                        const char *text)
{
    struct yaml_tree value = graph_yaml_text(text);
    return map == NULL ? NULL : graph_yaml_set(&k->m->arena, map, key, &value);
}

/* The item with its file converted. */
static grebe_status convert_item(struct making *k, const struct yaml_tree *item, const struct graph_file *f,
                                 enum graph_conversion conversion, const struct yaml_tree **out)
{
    struct graph_output made;
    static const char prefix[] = "preprocessed/";
    grebe_status st = graph_convert(k->o, f, conversion, &made, k->err);
    if (st != GREBE_OK) {
        return st;
    }
    size_t n = strlen(made.name);
    char *path = arena_alloc(&k->m->arena, sizeof prefix + n);
    const struct yaml_tree *t = NULL;
    if (path != NULL) {
        memcpy(path, prefix, sizeof prefix - 1);
        memcpy(path + sizeof prefix - 1, made.name, n + 1);
        t = set_text(k, set_text(k, item, "format", "numpy"), "path", path);
        t = t != NULL && made.is_bfloat16 ? set_text(k, t, "torch_dtype", "bfloat16") : t;
    }
    if (t == NULL) {
        return mem_fail(k->err, n, made.name);
    }
    *out = t;
    return GREBE_OK;
}

static bool is_ids(const char *name)
{
    static const char *const names[] = { "seeds", "seed_nodes", "node_pairs", "negative_srcs", "negative_dsts" };
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static grebe_status list_of(struct making *k, size_t n, const struct yaml_tree ***items, struct yaml_tree *list)
{
    *items = arena_array(&k->m->arena, n, sizeof **items);
    *list = (struct yaml_tree){ .type = YAML_TREE_LIST, .n = n, .items = *items };
    return *items != NULL ? GREBE_OK : mem_fail(k->err, n * sizeof **items, k->m->shown);
}

static grebe_status make_set(struct making *k, const struct graph_set_spec *s, const struct yaml_tree **out)
{
    grebe_status st = GREBE_OK;
    const struct yaml_tree **items = NULL;
    struct yaml_tree list;
    GREBE_TRY(list_of(k, s->n_items, &items, &list));
    for (size_t i = 0; i < s->n_items; i++) {
        bool is_cast = k->ids_are_narrow && is_ids(s->items[i].name);
        GREBE_TRY(
            convert_item(k, s->items[i].item, &s->items[i].file, is_cast ? GRAPH_AS_INT32 : GRAPH_AS_IS, &items[i]));
    }
    const struct yaml_tree *t = graph_yaml_set(&k->m->arena, s->at, "data", &list);
    if (t == NULL) {
        return mem_fail(k->err, sizeof *t, k->m->shown);
    }
    *out = t;
out:
    return st;
}

static grebe_status make_task(struct making *k, const struct graph_task_spec *task, const struct yaml_tree **out)
{
    grebe_status st = GREBE_OK;
    const struct yaml_tree *t = task->item;
    for (size_t kind = 0; kind < GRAPH_SETS; kind++) {
        const struct yaml_tree **items = NULL;
        struct yaml_tree list;
        if (task->n_sets[kind] == 0) {
            continue;
        }
        GREBE_TRY(list_of(k, task->n_sets[kind], &items, &list));
        for (size_t i = 0; i < task->n_sets[kind]; i++) {
            GREBE_TRY(make_set(k, &task->sets[kind][i], &items[i]));
        }
        t = graph_yaml_set(&k->m->arena, t, graph_set_names[kind], &list);
        if (t == NULL) {
            return mem_fail(k->err, sizeof *t, k->m->shown);
        }
    }
    *out = t;
out:
    return st;
}

/* The input without its graph, with what was made of it. */
static grebe_status make_root(struct making *k, bool has_edge_ids, const struct yaml_tree *features,
                              const struct yaml_tree *tasks, const struct yaml_tree **out)
{
    struct arena *ar = &k->m->arena;
    struct yaml_tree ids = graph_yaml_plain(has_edge_ids ? "true" : "false");
    struct yaml_tree topology = { .type = YAML_TREE_MAP };
    const struct yaml_tree *t = set_text(k, &topology, "type", "FusedCSCSamplingGraph");
    t = set_text(k, t, "path", "preprocessed/fused_csc_sampling_graph.pt");
    const struct yaml_tree *root = t != NULL ? graph_yaml_set(ar, k->m->root, "graph", NULL) : NULL;
    root = root != NULL ? graph_yaml_set(ar, root, "graph_topology", t) : NULL;
    root = root != NULL ? graph_yaml_set(ar, root, "include_original_edge_id", &ids) : NULL;
    if (root != NULL && yaml_tree_get(root, "feature_data") != NULL) {
        root = graph_yaml_set(ar, root, "feature_data", features);
    }
    if (root != NULL && yaml_tree_get(root, "tasks") != NULL) {
        root = graph_yaml_set(ar, root, "tasks", tasks);
    }
    *out = root;
    return root != NULL ? GREBE_OK : mem_fail(k->err, sizeof *root, k->m->shown);
}

grebe_status graph_items_write(struct graph_outputs *o, const grebe_graph_options *options, bool ids_are_narrow,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = o->m;
    struct making k = { o, m, ids_are_narrow, err };
    const struct yaml_tree **features = NULL, **tasks = NULL;
    struct yaml_tree feature_list, task_list;
    const struct yaml_tree *root = NULL;
    struct buf text = BUF_INIT(m->ctx->a), path = BUF_INIT(m->ctx->a);
    struct io_writer *w = NULL;
    GREBE_TRY(list_of(&k, m->n_features, &features, &feature_list));
    GREBE_TRY(list_of(&k, m->n_tasks, &tasks, &task_list));
    for (size_t i = 0; i < m->n_features; i++) {
        GREBE_TRY(convert_item(&k, m->features[i].item, &m->features[i].file, GRAPH_AS_ROWS, &features[i]));
    }
    for (size_t i = 0; i < m->n_tasks; i++) {
        GREBE_TRY(make_task(&k, &m->tasks[i], &tasks[i]));
    }
    GREBE_TRY(make_root(&k, options->edge_ids == GREBE_GRAPH_EDGE_IDS_KEPT, &feature_list, &task_list, &root));
    GREBE_TRY(graph_yaml_dump(&text, root, err));
    GREBE_TRY(path_join(&path, o->folder, "metadata.yaml", err));
    if (buf_text(&path) == NULL) {
        st = mem_fail(err, path.len, "a path");
        goto out;
    }
    GREBE_TRY(io_create(o->store, buf_text(&path), o->is_durable, &w, err));
    GREBE_TRY(io_write(w, text.data, text.len, err));
    GREBE_TRY(io_writer_publish(w, false, err));
out:
    io_writer_free(w);
    buf_release(&text);
    buf_release(&path);
    return st;
}
