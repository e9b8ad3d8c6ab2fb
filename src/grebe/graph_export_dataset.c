/* SPDX-License-Identifier: Apache-2.0 */
/* A preprocessed graph as the data set that it could have been made of: npy files, and the metadata that names them. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "array/tensor_rows.h"
#include "base/checked.h"
#include "graph/graph_types.h"
#include "graph/graph_yaml.h"
#include "grebe/graph_export_internal.h"
#include "grebe/graph_tree.h"

enum { BLOCK_BYTES = 1 << 20 };

/* ---- npy files ---- */

/* n_rows of a column, or of a tensor where m is NULL, to the end of a file. */
static grebe_status write_rows(struct graph_exporting *e, struct matrix *m, size_t column, const struct tensor *t, uint64_t n_rows,
                               size_t row_bytes, struct io_writer *w, grebe_error *err)
{
    const uint64_t rows_max = max_size(BLOCK_BYTES / max_size(row_bytes, 1), 1);
    grebe_status st = GREBE_OK;
    if (row_bytes == 0) {
        return GREBE_OK;
    }
    unsigned char *block = mem_alloc(e->ctx->a, (size_t)rows_max * row_bytes);
    if (block == NULL) {
        return mem_fail(err, (size_t)rows_max * row_bytes, "rows");
    }
    for (uint64_t begin = 0; begin < n_rows; begin += rows_max) {
        const uint64_t n = min_u64(n_rows - begin, rows_max);
        GREBE_TRY(call_check(&e->call, err));
        GREBE_TRY(m != NULL ? m->read(m->file, column, begin, n, block, err) : tensor_read_rows(t, begin, n, block, err));
        GREBE_TRY(io_write(w, block, (size_t)n * row_bytes, err));
    }
out:
    mem_free(e->ctx->a, block, (size_t)rows_max * row_bytes);
    return st;
}

static grebe_status create_npy(struct graph_exporting *e, const char *name, int type, const uint64_t *shape, unsigned rank,
                               struct io_writer **w, grebe_error *err)
{
    struct buf head = BUF_INIT(e->ctx->a);
    *w = NULL;
    grebe_status st = tensor_npy_header(&head, type, shape, rank, err);
    st = st == GREBE_OK ? graph_export_create(e, name, w, err) : st;
    st = st == GREBE_OK ? io_write(*w, head.data, head.len, err) : st;
    buf_release(&head);
    return st;
}

/* Columns of one type: the rows of each as one of the array, (n, rows). */
static grebe_status write_columns(struct graph_exporting *e, struct matrix *m, size_t n, const char *name, grebe_error *err)
{
    const uint64_t shape[2] = { n, m->n_rows };
    struct io_writer *w = NULL;
    grebe_status st = create_npy(e, name, ARRAY_I64, shape, 2, &w, err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        assert(m->columns[i].format == 'l' && m->columns[i].width == 1);
        st = write_rows(e, m, i, NULL, m->n_rows, sizeof(int64_t), w, err);
    }
    st = st == GREBE_OK ? io_writer_publish(w, false, err) : st;
    io_writer_free(w);
    return st;
}

/* A tensor in its shape, or with a matrix its rows in the order of the matrix. bfloat16, which npy has not, as float32. */
static grebe_status write_tensor(struct graph_exporting *e, const struct tensor *t, struct matrix *m, size_t column, const char *name,
                                 grebe_error *err)
{
    const int type = t->type == ARRAY_BF16 ? ARRAY_F32 : t->type;
    uint64_t shape[TENSOR_DIMS_MAX], n = 1;
    struct io_writer *w = NULL;
    memcpy(shape, t->shape, sizeof shape);
    if (m != NULL) {
        shape[0] = m->n_rows;
    }
    for (unsigned i = 1; i < t->rank; i++) {
        n *= t->shape[i]; /* no overflow: the tensor was checked */
    }
    grebe_status st = create_npy(e, name, type, shape, t->rank, &w, err);
    st = st == GREBE_OK ? write_rows(e, m, column, t, m != NULL ? m->n_rows : tensor_rows(t), (size_t)n * tensor_type_bytes(type), w, err) : st;
    st = st == GREBE_OK ? io_writer_publish(w, false, err) : st;
    io_writer_free(w);
    return st;
}

/* ---- parts ---- */

static grebe_status keep(const struct yaml_tree *t, const struct yaml_tree **out, grebe_error *err)
{
    *out = t;
    return t != NULL ? GREBE_OK : mem_fail(err, sizeof *t, "metadata.yaml");
}

static const struct yaml_tree **new_list(struct graph_exporting *e, size_t n)
{
    return arena_array(&e->ar, n, sizeof(struct yaml_tree *));
}

/* A tensor as a file, and the item that names it. */
static grebe_status put_tensor(struct graph_exporting *e, const struct tensor *t, struct matrix *m, size_t column, const char *group,
                               const char *part, const struct yaml_tree *item, const struct yaml_tree **out, grebe_error *err)
{
    const char *name = NULL;
    grebe_status st = graph_export_name(e, group, part, "npy", &name, err);
    st = st == GREBE_OK ? write_tensor(e, t, m, column, name, err) : st;
    if (st != GREBE_OK) {
        return error_wrap(err, st, "%s", part);
    }
    const struct yaml_tree *tree = graph_tree_text(&e->ar, graph_tree_text(&e->ar, item, "format", "numpy"), "path", name);
    if (tree != NULL && t->type == ARRAY_BF16) {
        tree = graph_yaml_set(&e->ar, tree, "torch_dtype", NULL); /* the file has float32 */
    }
    return keep(tree, out, err);
}

static grebe_status put_attributes(struct graph_exporting *e, struct matrix *m, size_t first, const char *domain, const char *type,
                                   const struct yaml_tree **items, size_t *n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t c = first; c < m->n_columns && st == GREBE_OK; c++) {
        char part[GRAPH_PART_ROOM];
        snprintf(part, sizeof part, "%s:%s%s%s", domain, type != NULL ? type : "", type != NULL ? ":" : "", m->columns[c].name);
        const struct yaml_tree *t = graph_tree_text(&e->ar, graph_tree_text(&e->ar, graph_tree_map(&e->ar), "domain", domain), "name", m->columns[c].name);
        t = type != NULL ? graph_tree_text(&e->ar, t, "type", type) : t;
        st = put_tensor(e, graph_part_tensor(m, c), m, c, "attributes", part, t, &items[*n], err);
        *n += 1;
    }
    return st;
}

static grebe_status put_edges(struct graph_exporting *e, size_t type, const struct yaml_tree **out, const struct yaml_tree **attributes, size_t *n,
                              grebe_error *err)
{
    const char *name = grebe_graph_edge_type(e->g, type), *file = NULL;
    const struct graph_part part = { .kind = GRAPH_PART_EDGES, .i = type };
    struct matrix m;
    grebe_status st = graph_part_matrix(e->g, false, &part, &e->call, &m, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "edges %s", name != NULL ? name : "");
    }
    GREBE_TRY(m.prepare(m.file, &e->call, err));
    GREBE_TRY(graph_export_name(e, "edges", name != NULL ? name : "edges", "npy", &file, err));
    GREBE_TRY(write_columns(e, &m, 2, file, err)); /* sources, targets */
    const struct yaml_tree *t = graph_tree_text(&e->ar, graph_tree_text(&e->ar, graph_tree_map(&e->ar), "format", "numpy"), "path", file);
    GREBE_TRY(keep(name != NULL ? graph_tree_text(&e->ar, t, "type", name) : t, out, err));
    GREBE_TRY(put_attributes(e, &m, 3, "edge", name, attributes, n, err));
out:
    m.close(m.file);
    return st;
}

static grebe_status put_nodes(struct graph_exporting *e, size_t type, const struct yaml_tree **out, const struct yaml_tree **attributes, size_t *n,
                              grebe_error *err)
{
    const char *name = grebe_graph_node_type(e->g, type);
    const struct graph_part part = { .kind = GRAPH_PART_NODES, .i = type };
    struct matrix m;
    grebe_status st = graph_part_matrix(e->g, false, &part, &e->call, &m, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "nodes %s", name != NULL ? name : "");
    }
    GREBE_TRY(m.prepare(m.file, &e->call, err));
    const struct yaml_tree *t = graph_tree_int(&e->ar, graph_tree_map(&e->ar), "num", (int64_t)m.n_rows);
    GREBE_TRY(keep(name != NULL ? graph_tree_text(&e->ar, t, "type", name) : t, out, err));
    GREBE_TRY(put_attributes(e, &m, 1, "node", name, attributes, n, err));
out:
    m.close(m.file);
    return st;
}

static grebe_status put_graph(struct graph_exporting *e, const struct yaml_tree **out, grebe_error *err)
{
    const struct graph_csc *g = graph_dataset_csc(e->g);
    const size_t n_node_types = g == NULL ? 0 : graph_n_node_types(g), n_edge_types = g == NULL ? 0 : graph_n_edge_types(g);
    grebe_status st = GREBE_OK;
    size_t n = 0;
    *out = NULL;
    if (g == NULL) {
        return GREBE_OK;
    }
    const struct yaml_tree **nodes = new_list(e, n_node_types), **edges = new_list(e, n_edge_types);
    const struct yaml_tree **attributes = new_list(e, n_node_types * g->n_node_attributes + n_edge_types * g->n_edge_attributes);
    if (nodes == NULL || edges == NULL || attributes == NULL) {
        return mem_fail(err, (n_node_types + n_edge_types) * sizeof *nodes, "metadata.yaml");
    }
    for (size_t i = 0; i < n_node_types; i++) {
        GREBE_TRY(put_nodes(e, i, &nodes[i], attributes, &n, err));
    }
    for (size_t i = 0; i < n_edge_types; i++) {
        GREBE_TRY(put_edges(e, i, &edges[i], attributes, &n, err));
    }
    const struct yaml_tree *t = graph_tree_list(&e->ar, graph_tree_list(&e->ar, graph_tree_map(&e->ar), "nodes", nodes, n_node_types), "edges", edges, n_edge_types);
    *out = n > 0 ? graph_tree_list(&e->ar, t, "feature_data", attributes, n) : t;
    st = *out != NULL ? GREBE_OK : mem_fail(err, sizeof *t, "metadata.yaml");
out:
    return st;
}

static grebe_status put_feature(struct graph_exporting *e, size_t i, const struct yaml_tree **out, grebe_error *err)
{
    const struct tensor *t = NULL;
    struct graph_part part;
    char name[GRAPH_PART_ROOM];
    (void)graph_part_at(e->g, i, &part, name); /* features come first */
    grebe_status st = graph_dataset_feature(e->g, i, &t, err);
    return st == GREBE_OK ? put_tensor(e, t, NULL, 0, "features", name, e->g->metadata->features[i].item, out, err) : st;
}

static grebe_status put_set(struct graph_exporting *e, size_t task, size_t set, size_t member, const struct yaml_tree **out, grebe_error *err)
{
    const struct graph_set_spec *s = &e->g->metadata->tasks[task].sets[set][member];
    grebe_status st = GREBE_OK;
    const struct yaml_tree **items = new_list(e, s->n_items);
    for (size_t c = 0; c < s->n_items && items != NULL && st == GREBE_OK; c++) {
        const struct tensor *t = NULL;
        char name[GRAPH_PART_ROOM];
        snprintf(name, sizeof name, "%zu:%s:%s%s%s", task, graph_set_names[set], s->type != NULL ? s->type : "", s->type != NULL ? ":" : "",
                 s->items[c].name != NULL ? s->items[c].name : "values");
        st = graph_dataset_set_array(e->g, task, set, member, c, &t, err);
        st = st == GREBE_OK ? put_tensor(e, t, NULL, 0, "sets", name, s->items[c].item, &items[c], err) : st;
    }
    return st != GREBE_OK ? st : keep(items == NULL ? NULL : graph_tree_list(&e->ar, s->at, "data", items, s->n_items), out, err);
}

static grebe_status put_task(struct graph_exporting *e, size_t task, const struct yaml_tree **out, grebe_error *err)
{
    const struct graph_task_spec *t = &e->g->metadata->tasks[task];
    const struct yaml_tree *tree = t->item;
    for (size_t s = 0; s < GRAPH_SETS; s++) {
        const struct yaml_tree **members = new_list(e, t->n_sets[s]);
        for (size_t i = 0; i < t->n_sets[s] && members != NULL; i++) {
            grebe_status st = put_set(e, task, s, i, &members[i], err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        tree = t->n_sets[s] == 0 ? tree : members == NULL ? NULL : graph_tree_list(&e->ar, tree, graph_set_names[s], members, t->n_sets[s]);
    }
    return keep(tree, out, err);
}

grebe_status graph_export_dataset(struct graph_exporting *e, grebe_error *err)
{
    const struct graph_metadata *m = e->g->metadata;
    grebe_status st = GREBE_OK;
    const struct yaml_tree *graph = NULL;
    const struct yaml_tree **features = new_list(e, m->n_features), **tasks = new_list(e, m->n_tasks);
    struct buf text = BUF_INIT(e->ctx->a);
    struct io_writer *w = NULL;
    if (features == NULL || tasks == NULL) {
        st = mem_fail(err, (m->n_features + m->n_tasks) * sizeof *features, "metadata.yaml");
        goto out;
    }
    GREBE_TRY(put_graph(e, &graph, err));
    for (size_t i = 0; i < m->n_features; i++) {
        GREBE_TRY(put_feature(e, i, &features[i], err));
    }
    for (size_t i = 0; i < m->n_tasks; i++) {
        GREBE_TRY(put_task(e, i, &tasks[i], err));
    }
    const struct yaml_tree *root = graph_yaml_set(&e->ar, m->root, "graph_topology", NULL);
    root = root != NULL ? graph_yaml_set(&e->ar, root, "include_original_edge_id", NULL) : NULL;
    root = root != NULL && graph != NULL ? graph_yaml_set(&e->ar, root, "graph", graph) : root;
    root = root != NULL && m->n_features > 0 ? graph_tree_list(&e->ar, root, "feature_data", features, m->n_features) : root;
    root = root != NULL && m->n_tasks > 0 ? graph_tree_list(&e->ar, root, "tasks", tasks, m->n_tasks) : root;
    if (root == NULL) {
        st = mem_fail(err, sizeof *root, "metadata.yaml");
        goto out;
    }
    GREBE_TRY(graph_yaml_dump(&text, root, err));
    GREBE_TRY(graph_export_create(e, "metadata.yaml", &w, err));
    GREBE_TRY(io_write(w, text.data, text.len, err));
    GREBE_TRY(io_writer_publish(w, false, err));
out:
    io_writer_free(w);
    buf_release(&text);
    return st;
}
