/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata.yaml of files: types, formats, numbers of nodes (grebe/graph_files.h). */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "graph/graph_edges.h"
#include "graph/graph_preprocess.h"
#include "grebe/graph_init_internal.h"
#include "grebe/source_internal.h"
#include "io/io_lock.h"

/* ---- paths ---- */

/* The whole path of a folder, without a '/' at its end. */
static grebe_status absolute_folder(const char *path, struct buf *dst, grebe_error *err)
{
    grebe_status st = path_absolute(dst, path, err);
    while (st == GREBE_OK && dst->len > 1 && dst->data[dst->len - 1] == '/') {
        dst->len--;
    }
    return st == GREBE_OK && buf_text(dst) == NULL ? mem_fail(err, dst->len, path) : st;
}

/* A file as the metadata names it: from the folder, where it is in it. */
static grebe_status shown_path(struct graph_initing *k, const char *path, const char **out, grebe_error *err)
{
    struct buf dir = BUF_INIT(k->ctx->a), file = BUF_INIT(k->ctx->a);
    grebe_status st = GREBE_OK;
    GREBE_TRY(absolute_folder(k->dir, &dir, err));
    GREBE_TRY(path_absolute(&file, path, err));
    const char *text = buf_text(&file);
    if (text != NULL && file.len > dir.len && memcmp(text, dir.data, dir.len) == 0 && text[dir.len] == '/') {
        text += dir.len + 1;
    }
    *out = text != NULL ? arena_str(&k->ar, text, strlen(text)) : NULL;
    st = *out != NULL ? GREBE_OK : mem_fail(err, file.len, path);
out:
    buf_release(&dir);
    buf_release(&file);
    return st;
}

grebe_status graph_init_array(struct graph_initing *k, const char *path, const char **format, const char **shown, grebe_error *err)
{
    const struct file_format *found = NULL;
    grebe_status st = source_format_of(k->ctx, k->store, path, NULL, &found, err);
    if (st != GREBE_OK) {
        return st;
    }
    const bool is_npy = found != NULL && strcmp(found->name, "npy") == 0;
    if (!is_npy && (found == NULL || strcmp(found->name, "torch") != 0)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected rows as npy or torch", path);
    }
    *format = is_npy ? "numpy" : "torch";
    return shown_path(k, path, shown, err);
}

/* ---- what is named ---- */

static struct graph_init_nodes *find_node(struct graph_initing *k, const char *name, size_t len)
{
    for (size_t i = 0; i < k->n_nodes; i++) {
        const char *other = k->nodes[i].name;
        if (other == NULL ? name == NULL : name != NULL && strlen(other) == len && memcmp(other, name, len) == 0) {
            return &k->nodes[i];
        }
    }
    return NULL;
}

static grebe_status add_node(struct graph_initing *k, const char *name, size_t len, grebe_error *err)
{
    if (find_node(k, name, len) == NULL) {
        const char *copy = name == NULL ? NULL : arena_str(&k->ar, name, len);
        if (name != NULL && copy == NULL) {
            return mem_fail(err, len, "types");
        }
        k->nodes[k->n_nodes++] = (struct graph_init_nodes){ copy, 0, false };
    }
    return GREBE_OK;
}

/* The types of nodes: those that are counted, then those of edges, then of features. */
static grebe_status list_nodes(struct graph_initing *k, grebe_error *err)
{
    const grebe_graph_init_options *o = &k->options;
    grebe_status st = GREBE_OK;
    k->nodes = arena_array(&k->ar, o->n_nodes + 2 * o->n_edges + o->n_features, sizeof *k->nodes);
    if (k->nodes == NULL) {
        return mem_fail(err, o->n_edges * sizeof *k->nodes, "types");
    }
    for (size_t i = 0; i < o->n_nodes; i++) {
        const char *type = o->nodes[i].type;
        GREBE_TRY(add_node(k, type, type == NULL ? 0 : strlen(type), err));
        *find_node(k, type, type == NULL ? 0 : strlen(type)) = (struct graph_init_nodes){ type, o->nodes[i].num, true };
    }
    for (size_t i = 0; i < o->n_edges; i++) {
        const char *type = o->edges[i].type, *first = type == NULL ? NULL : strchr(type, ':');
        const char *last = type == NULL ? NULL : strrchr(type, ':');
        if (type == NULL) {
            GREBE_TRY(add_node(k, NULL, 0, err));
        } else if (first == NULL || first == last) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "type of edges: expected SOURCE:RELATION:DESTINATION, found \"%.100s\"", type);
            goto out;
        } else {
            GREBE_TRY(add_node(k, type, (size_t)(first - type), err));
            GREBE_TRY(add_node(k, last + 1, strlen(last + 1), err));
        }
    }
    for (size_t i = 0; i < o->n_features; i++) {
        const char *type = o->features[i].type;
        if (strcmp(o->features[i].domain, "node") == 0) {
            GREBE_TRY(add_node(k, type, type == NULL ? 0 : strlen(type), err));
        }
    }
    for (size_t i = 0; i < k->n_nodes && k->n_nodes > 1; i++) {
        if (k->nodes[i].name == NULL) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "expected types for all or for none of nodes, edges and features");
            goto out;
        }
    }
out:
    return st;
}

/* What the metadata calls the format of a file of edges. */
static grebe_status edge_format(struct graph_initing *k, const char *path, const char **out, grebe_error *err)
{
    const struct file_format *format = NULL;
    const char *text = source_text_format_of(path);
    grebe_status st = source_format_of(k->ctx, k->store, path, NULL, &format, err);
    const char *name = format != NULL ? format->name : text;
    if (st != GREBE_OK) {
        return st;
    }
    *out = name == NULL                   ? NULL
           : strcmp(name, "npy") == 0     ? "numpy"
           : strcmp(name, "csv") == 0     ? "csv"
           : strcmp(name, "torch") == 0   ? "torch"
           : strcmp(name, "parquet") == 0 ? "parquet"
                                          : NULL;
    return *out != NULL ? GREBE_OK
                        : GREBE_FAIL(err, GREBE_EINVAL, "%s: expected edges as csv, npy, torch or Parquet; of other sources two columns", path);
}

static grebe_status place_edges(struct graph_initing *k, grebe_error *err)
{
    const grebe_graph_init_options *o = &k->options;
    grebe_status st = GREBE_OK;
    k->edge_paths = arena_array(&k->ar, o->n_edges, sizeof *k->edge_paths);
    k->edge_formats = arena_array(&k->ar, o->n_edges, sizeof *k->edge_formats);
    if (k->edge_paths == NULL || k->edge_formats == NULL) {
        return mem_fail(err, o->n_edges * sizeof *k->edge_paths, "edges");
    }
    for (size_t i = 0; i < o->n_edges; i++) {
        const grebe_graph_edge_file *e = &o->edges[i];
        struct io_writer *file = NULL;
        if (e->source == NULL) {
            GREBE_TRY(edge_format(k, e->path, &k->edge_formats[i], err));
            GREBE_TRY(shown_path(k, e->path, &k->edge_paths[i], err));
            continue;
        }
        const char *const ends[] = { e->source, e->target };
        k->edge_formats[i] = "numpy";
        GREBE_TRY(graph_init_draft(k, "edges", i, &k->edge_paths[i], &file, err));
        GREBE_TRY(graph_init_columns(k, e->path, ends, 2, false, file, err));
    }
out:
    return st;
}

/* ---- metadata ---- */

static grebe_status feature_item(struct graph_initing *k, const grebe_graph_feature_file *f, const struct yaml_tree **out, grebe_error *err)
{
    struct arena *ar = &k->ar;
    const char *path = NULL, *format = NULL;
    grebe_status st = graph_init_array(k, f->path, &format, &path, err);
    if (st != GREBE_OK) {
        return st;
    }
    const struct yaml_tree *t = graph_tree_text(ar, graph_tree_map(ar), "domain", f->domain);
    t = f->type != NULL ? graph_tree_text(ar, t, "type", f->type) : t;
    t = graph_tree_text(ar, graph_tree_text(ar, t, "name", f->name), "format", format);
    t = graph_tree_text(ar, t, "path", path);
    if (t == NULL) {
        return mem_fail(err, sizeof *t, "metadata.yaml");
    }
    *out = t;
    return GREBE_OK;
}

static const struct yaml_tree *node_item(struct graph_initing *k, const struct graph_init_nodes *n)
{
    const struct yaml_tree *t = graph_tree_int(&k->ar, graph_tree_map(&k->ar), "num", n->num);
    return n->name != NULL ? graph_tree_text(&k->ar, t, "type", n->name) : t;
}

static const struct yaml_tree *edge_item(struct graph_initing *k, size_t i)
{
    struct arena *ar = &k->ar;
    const struct yaml_tree *t = graph_tree_text(ar, graph_tree_map(ar), "format", k->edge_formats[i]);
    t = graph_tree_text(ar, t, "path", k->edge_paths[i]);
    return k->options.edges[i].type != NULL ? graph_tree_text(ar, t, "type", k->options.edges[i].type) : t;
}

/* The whole as text, with the numbers of nodes as they are known. */
static grebe_status print_metadata(struct graph_initing *k, struct buf *dst, grebe_error *err)
{
    const grebe_graph_init_options *o = &k->options;
    struct arena *ar = &k->ar;
    grebe_status st = GREBE_OK;
    size_t counts[2] = { 0, 0 }; /* features, attributes */
    const struct yaml_tree **nodes = arena_array(ar, k->n_nodes, sizeof *nodes), **edges = arena_array(ar, o->n_edges, sizeof *edges);
    const struct yaml_tree **items[2] = { arena_array(ar, o->n_features, sizeof *nodes), arena_array(ar, o->n_features, sizeof *nodes) };
    if (nodes == NULL || edges == NULL || items[0] == NULL || items[1] == NULL) {
        return mem_fail(err, o->n_edges * sizeof *edges, "metadata.yaml");
    }
    for (size_t i = 0; i < k->n_nodes + o->n_edges; i++) {
        const struct yaml_tree *t = i < k->n_nodes ? node_item(k, &k->nodes[i]) : edge_item(k, i - k->n_nodes);
        if (t == NULL) {
            return mem_fail(err, sizeof *t, "metadata.yaml");
        }
        *(i < k->n_nodes ? &nodes[i] : &edges[i - k->n_nodes]) = t;
    }
    for (size_t i = 0; i < o->n_features; i++) {
        const size_t which = o->features[i].is_attribute ? 1 : 0;
        GREBE_TRY(feature_item(k, &o->features[i], &items[which][counts[which]++], err));
    }
    const struct yaml_tree *graph = graph_tree_list(ar, graph_tree_map(ar), "nodes", nodes, k->n_nodes);
    graph = graph_tree_list(ar, graph, "edges", edges, o->n_edges);
    graph = counts[1] > 0 ? graph_tree_list(ar, graph, "feature_data", items[1], counts[1]) : graph;
    const struct yaml_tree *root = graph_tree_text(ar, graph_tree_map(ar), "dataset_name", o->name);
    root = root != NULL && graph != NULL ? graph_yaml_set(ar, root, "graph", graph) : NULL;
    root = graph_tree_list(ar, root, "feature_data", items[0], counts[0]);
    const struct yaml_tree *task = o->n_sets > 0 ? graph_init_task(k) : NULL;
    root = o->n_sets == 0 ? root : task != NULL ? graph_tree_list(ar, root, "tasks", &task, 1) : NULL;
    GREBE_TRY(root != NULL ? GREBE_OK : mem_fail(err, sizeof *root, "metadata.yaml"));
    dst->len = 0;
    st = graph_yaml_dump(dst, root, err);
out:
    return st;
}

static grebe_status write_text(struct graph_initing *k, const char *path, const struct buf *text, bool is_replaced, grebe_error *err)
{
    struct io_writer *w = NULL;
    grebe_status st = io_create(k->store, path, false, &w, err);
    st = st == GREBE_OK ? io_write(w, text->data, text->len, err) : st;
    st = st == GREBE_OK ? io_writer_publish(w, is_replaced, err) : st;
    io_writer_free(w);
    return st;
}

/* ---- numbers ---- */

static void reach(struct graph_init_nodes *n, int64_t num) { n->num = !n->is_given && num > n->num ? num : n->num; }

/* All edges of a file: how many, and the largest ids of its two types. */
static grebe_status count_edges(struct graph_initing *k, struct graph_metadata *m, size_t i, int64_t *ends, grebe_error *err)
{
    const struct graph_csv_options csv = { false, 0 };
    struct graph_init_nodes *types[2] = { &k->nodes[m->edges[i].source], &k->nodes[m->edges[i].destination] };
    struct graph_edges e = { 0 };
    grebe_status st = graph_edges_open(m, i, &csv, &e, err);
    int64_t n_all = 0;
    e.n_sources = types[0]->is_given ? types[0]->num : INT64_MAX;
    e.n_destinations = types[1]->is_given ? types[1]->num : INT64_MAX;
    for (size_t b = 0; st == GREBE_OK && b < e.n_blocks; b++) {
        int64_t *targets = ends + GRAPH_BLOCK_EDGES + 1;
        size_t n = 0;
        st = call_check(&k->call, err);
        st = st == GREBE_OK ? graph_edges_read(&e, b, ends, targets, &n, err) : st;
        for (size_t j = 0; st == GREBE_OK && j < n; j++) {
            reach(types[0], ends[j] + 1);
            reach(types[1], targets[j] + 1);
        }
        n_all += (int64_t)n;
    }
    graph_edges_close(&e);
    m->edges[i].n_edges = n_all;
    return st;
}

static grebe_status count_all(struct graph_initing *k, struct graph_metadata *m, grebe_error *err)
{
    const size_t bytes = 2 * (GRAPH_BLOCK_EDGES + 1) * sizeof(int64_t);
    grebe_status st = GREBE_OK;
    int64_t *ends = mem_alloc(k->ctx->a, bytes);
    if (ends == NULL) {
        return mem_fail(err, bytes, "edges");
    }
    for (size_t i = 0; i < m->n_edges; i++) {
        GREBE_TRY(count_edges(k, m, i, ends, err));
    }
    for (size_t i = 0; i < k->options.n_features; i++) {
        const grebe_graph_feature_file *f = &k->options.features[i];
        struct tensor t;
        if (strcmp(f->domain, "node") == 0) {
            GREBE_TRY(tensor_open(k->ctx, f->path, &t, err));
            const uint64_t n = t.rank > 0 ? t.shape[0] : 1;
            tensor_release(&t);
            reach(find_node(k, f->type, f->type == NULL ? 0 : strlen(f->type)), (int64_t)n);
        }
    }
    for (size_t i = 0; i < m->n_nodes; i++) {
        m->nodes[i].num = k->nodes[i].num;
    }
    GREBE_TRY(graph_metadata_check_files(m, false, err));
    for (size_t i = 0; i < m->n_edges; i++) {
        GREBE_TRY(graph_metadata_check_rows(m, i, err));
    }
    GREBE_TRY(m->n_errors == 0 ? graph_seeds_check(m, &k->call, err) : GREBE_OK);
    st = graph_problems_status(m, err);
out:
    mem_free(k->ctx->a, ends, bytes);
    return st;
}

static void use_draft(const struct graph_initing *k, struct graph_file *f)
{
    const char *draft = f->path != NULL ? graph_init_draft_of(k, f->path) : NULL;
    f->real_path = draft != NULL ? draft : f->real_path;
}

/* Files that have no names yet are read where they are, and told by the names that they will have. */
static void read_drafts(const struct graph_initing *k, struct graph_metadata *m)
{
    for (size_t i = 0; i < m->n_edges; i++) {
        use_draft(k, &m->edges[i].file);
    }
    for (size_t i = 0; i < m->n_tasks; i++) {
        for (size_t kind = 0; kind < GRAPH_SETS; kind++) {
            for (size_t p = 0; p < m->tasks[i].n_sets[kind]; p++) {
                const struct graph_set_spec *s = &m->tasks[i].sets[kind][p];
                for (size_t x = 0; x < s->n_items; x++) {
                    use_draft(k, &s->items[x].file);
                }
            }
        }
    }
}

/* The first problem of the draft, without its name, which nobody has given. */
static grebe_status told_of(const struct graph_metadata *m, const char *path, grebe_error *err)
{
    for (const struct graph_problem *p = m->problems; p != NULL; p = p->next) {
        if (p->is_error) {
            return GREBE_FAIL(err, p->status, "%s, as it would be: %s%s%s", path, p->field, p->field[0] != '\0' ? ": " : "", p->message);
        }
    }
    return GREBE_OK;
}

/* A draft with the numbers that are given, read as any metadata is: so what is wrong has the words of a check of `path`. */
static grebe_status count_nodes(struct graph_initing *k, const char *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf text = BUF_INIT(k->ctx->a);
    struct graph_metadata *m = NULL;
    const char *draft = NULL;
    char uuid[37], name[64];
    bool is_written = false;
    GREBE_TRY(context_uuid(k->ctx, uuid, err));
    snprintf(name, sizeof name, ".metadata.yaml.tmp-%.8s", uuid);
    GREBE_TRY(graph_init_join(k, name, &draft, err));
    GREBE_TRY(print_metadata(k, &text, err));
    GREBE_TRY(write_text(k, draft, &text, false, err));
    is_written = true;
    GREBE_TRY(graph_metadata_read(k->ctx, draft, k->dir, GRAPH_RAW, false, &m, err));
    m->shown = path;
    read_drafts(k, m);
    GREBE_TRY(told_of(m, path, err));
    GREBE_TRY(count_all(k, m, err));
out:
    if (is_written && io_remove(k->store, draft, NULL) != GREBE_OK) {
        context_log(k->ctx, GREBE_LOG_WARNING, "%s: cannot be removed", draft);
    }
    graph_metadata_free(m);
    buf_release(&text);
    return st;
}

/* ---- the whole ---- */

grebe_status grebe_graph_init(grebe_context *ctx, const char *dir, const grebe_graph_init_options *options, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && dir != NULL && dir[0] != '\0' && options != NULL);
    grebe_status st = GREBE_OK;
    struct graph_initing k = { .ctx = ctx, .dir = dir, .options = GREBE_GRAPH_INIT_OPTIONS_INIT, .ar = ARENA_INIT(ctx->a) };
    struct buf text = BUF_INIT(ctx->a), absolute = BUF_INIT(ctx->a);
    struct io_lock lock = IO_LOCK_INIT;
    struct io_info info;
    const char *path = NULL;
    GREBE_TRY(options_copy(&k.options, sizeof k.options, options, err));
    GREBE_TRY(graph_init_check(&k.options, err));
    k.call = call_options_resolve(ctx, k.options.call);
    if (k.options.name == NULL) {
        GREBE_TRY(absolute_folder(dir, &absolute, err));
        k.options.name = path_base_name(buf_text(&absolute));
    }
    GREBE_TRY(io_local_new(ctx, &k.store, err));
    GREBE_TRY(graph_init_join(&k, "metadata.yaml", &path, err));
    if (!k.options.is_replaced && io_stat(k.store, path, &info, NULL) == GREBE_OK) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "%s: is there already", path);
        goto out;
    }
    GREBE_TRY(list_nodes(&k, err));
    GREBE_TRY(graph_init_folder(&k, dir, err));
    GREBE_TRY(place_edges(&k, err));
    GREBE_TRY(graph_init_place_sets(&k, err));
    GREBE_TRY(count_nodes(&k, path, err));
    GREBE_TRY(print_metadata(&k, &text, err));
    GREBE_TRY(call_check(&k.call, err));
    GREBE_TRY(io_lock_take_folder(&lock, dir, &k.call, err)); /* of several at once, files of one stand beside the metadata of that one */
    GREBE_TRY(graph_init_publish(&k, err));
    st = write_text(&k, path, &text, k.options.is_replaced, err); /* last: without it there is no data set */
out:
    graph_init_end(&k, st == GREBE_OK || st == GREBE_EUNKNOWN_OUTCOME);
    io_lock_drop(&lock);
    io_store_free(k.store);
    buf_release(&text);
    buf_release(&absolute);
    arena_release(&k.ar);
    return st;
}
