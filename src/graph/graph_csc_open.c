/* SPDX-License-Identifier: Apache-2.0 */
/* fused_csc_sampling_graph.pt as a graph: what the pickle says of types and tensors, and the tensors as views of the
 * map. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "graph/graph_dataset.h"

enum { VERSION_NUMBER = 6199, TYPES_MAX = 1 << 20 };

struct opening {
    struct grebe_graph *g;
    const char *path;
};

static bool allows(void *arg, const char *module, size_t module_len, const char *name, size_t name_len)
{
    static const struct {
        const char *module, *name;
    } known[] = {
        { "dgl.graphbolt.impl.fused_csc_sampling_graph", "FusedCSCSamplingGraph" },
        { "torch", "ScriptObject" },
        { "torch._C", "ScriptObject" },
    };
    (void)arg;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i].module) == module_len && memcmp(known[i].module, module, module_len) == 0 &&
            strlen(known[i].name) == name_len && memcmp(known[i].name, name, name_len) == 0) {
            return true;
        }
    }
    return false;
}

/* What the file says of the graph: the dict in the state of the script object in the state of the Python object. */
static grebe_status find_state(struct opening *o, const struct pickle_value **out, grebe_error *err)
{
    const struct pickle_value *root = torch_root(o->g->torch);
    const struct pickle_value *script = root->type == PICKLE_CALL ? pickle_get(root->state, "_c_csc_graph") : NULL;
    const struct pickle_value *pair = script != NULL && script->type == PICKLE_CALL ? script->state : NULL;
    if (pair == NULL || pair->type != PICKLE_TUPLE || pair->n != 2 || pair->items[0]->type != PICKLE_DICT) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: expected a graph of GraphBolt, found a %s", o->path,
                          pickle_type_name(root->type));
    }
    *out = pair->items[0];
    return GREBE_OK;
}

/* Keeps a copy until the graph is closed. Room is doubled, so that what the arena has of it is bounded by what there is. */
static grebe_status keep_copy(struct opening *o, struct region *copy, grebe_error *err)
{
    struct grebe_graph *g = o->g;
    if ((g->n_copies & (g->n_copies - 1)) == 0) { /* full: none, or a power of two */
        const size_t room = g->n_copies > 0 ? 2 * g->n_copies : 1;
        struct region **more = arena_array(&g->arena, room, sizeof *more);
        if (more == NULL) {
            return mem_fail(err, room * sizeof *more, o->path);
        }
        if (g->n_copies > 0) {
            memcpy(more, g->copies, g->n_copies * sizeof *more);
        }
        g->copies = more;
    }
    g->copies[g->n_copies++] = copy;
    return GREBE_OK;
}

/* A tensor in native order whose values lie one after another, at a multiple of their width. */
static grebe_status read_tensor(struct opening *o, const struct pickle_value *v, const char *name, struct tensor *out,
                                grebe_error *err)
{
    grebe_status st = torch_tensor(o->g->torch, v, out, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "%s", name);
    }
    if (!tensor_is_stored(out)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: %llu values of which the file has but some, shown many times", o->path, name,
                        (unsigned long long)out->n_values);
        tensor_release(out);
        return st;
    }
    size_t width = tensor_type_bytes(out->type), align = out->type >= TENSOR_C64 ? width / 2 : width;
    region_drop(out->region); /* the map lives as long as the torch file */
    out->region = NULL;
    if (out->is_packed && (uintptr_t)out->data % align == 0) {
        return GREBE_OK;
    }
    struct region *copy = NULL;
    st = region_new(o->g->ctx->a, (size_t)out->n_values * width, &copy, err);
    st = st == GREBE_OK ? tensor_read(out, 0, out->rank > 0 ? out->shape[0] : 1, copy->data, err) : st;
    st = st == GREBE_OK ? keep_copy(o, copy, err) : st;
    if (st != GREBE_OK) {
        region_drop(copy);
        return st;
    }
    out->data = copy->data;
    out->is_packed = true;
    uint64_t step = 1;
    for (unsigned i = out->rank; i-- > 0;) {
        out->strides[i] = (int64_t)step;
        step *= out->shape[i] > 0 ? out->shape[i] : 1;
    }
    return GREBE_OK;
}

static grebe_status read_ids(struct opening *o, const struct pickle_value *tensors, const char *name,
                             struct graph_ids *out, int64_t *n, grebe_error *err)
{
    struct tensor t;
    const struct pickle_value *v = pickle_get(tensors, name);
    if (v == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: there is no %s", o->path, name);
    }
    grebe_status st = read_tensor(o, v, name, &t, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (t.rank != 1 || (t.type != ARRAY_I32 && t.type != ARRAY_I64)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected one dimension of int32 or int64, found %u of %s",
                          o->path, name, t.rank, tensor_type_name(t.type));
    }
    out->data = t.data;
    out->is_wide = t.type == ARRAY_I64;
    *n = (int64_t)t.n_values;
    return GREBE_OK;
}

static grebe_status check_version(struct opening *o, const struct pickle_value *tensors, grebe_error *err)
{
    struct tensor t;
    int64_t version = 0;
    const struct pickle_value *v = pickle_get(tensors, "version_number");
    grebe_status st = v != NULL ? read_tensor(o, v, "version_number", &t, err) : GREBE_OK;
    st = st == GREBE_OK && v != NULL && t.n_values == 1 ? tensor_read_i64(&t, 0, 1, &version, err) : st;
    if (st == GREBE_OK && version != VERSION_NUMBER) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: expected a graph of version %d, found %lld", o->path,
                        VERSION_NUMBER, (long long)version);
    }
    return st;
}

/* ---- types ---- */

/* Names by id of a dict from name to id; ids are 0 … n-1, each once. */
static grebe_status read_types(struct opening *o, const struct pickle_value *dict, const char *what,
                               const char *const **out, size_t *n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (dict->type != PICKLE_DICT || dict->n / 2 > TYPES_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected at most %d names", o->path, what, TYPES_MAX);
    }
    size_t n_types = dict->n / 2;
    const char **names = arena_array(&o->g->arena, n_types, sizeof *names);
    if (names == NULL) {
        return mem_fail(err, n_types * sizeof *names, o->path);
    }
    for (size_t i = 0; i < n_types; i++) {
        struct tensor t;
        int64_t id = -1;
        const struct pickle_value *key = dict->items[2 * i];
        GREBE_TRY(read_tensor(o, dict->items[2 * i + 1], what, &t, err));
        if (t.n_values == 1) {
            GREBE_TRY(tensor_read_i64(&t, 0, 1, &id, err));
        }
        if (key->type != PICKLE_TEXT || strlen(key->text) != key->n || id < 0 || (uint64_t)id >= n_types ||
            names[id] != NULL) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected names with the ids 0 to %zu, each once", o->path,
                            what, n_types - 1);
            goto out;
        }
        names[id] = arena_str(&o->g->arena, key->text, key->n);
        if (names[id] == NULL) {
            return mem_fail(err, key->n, o->path);
        }
    }
    *out = names;
    *n = n_types;
out:
    return st;
}

static grebe_status read_ends(struct opening *o, grebe_error *err)
{
    struct graph_csc *c = &o->g->csc;
    char name[GRAPH_TYPE_ROOM];
    int32_t(*ends)[2] = arena_array(&o->g->arena, c->n_edge_types, sizeof *ends);
    if (ends == NULL) {
        return mem_fail(err, c->n_edge_types * sizeof *ends, o->path);
    }
    for (size_t i = 0; i < c->n_edge_types; i++) {
        for (unsigned end = 0; end < 2; end++) {
            size_t k = c->n_node_types;
            if (graph_edge_type_part(c->edge_types[i], end == 0 ? 0 : 2, name, sizeof name)) {
                for (k = 0; k < c->n_node_types && strcmp(c->node_types[k], name) != 0; k++) {
                }
            }
            if (k == c->n_node_types) {
                return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: edge type %.200s is not of two node types of the graph",
                                  o->path, c->edge_types[i]);
            }
            ends[i][end] = (int32_t)k;
        }
    }
    c->edge_ends = (const int32_t(*)[2])ends;
    return GREBE_OK;
}

static grebe_status read_offsets(struct opening *o, const struct pickle_value *tensors, grebe_error *err)
{
    struct graph_csc *c = &o->g->csc;
    struct graph_ids ids;
    int64_t n = 0;
    grebe_status st = read_ids(o, tensors, "node_type_offset", &ids, &n, err);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t *offset = arena_array(&o->g->arena, c->n_node_types + 1, sizeof *offset);
    if (offset == NULL) {
        return mem_fail(err, c->n_node_types * sizeof *offset, o->path);
    }
    bool is_right = n == (int64_t)c->n_node_types + 1 && graph_id(&ids, 0) == 0 && graph_id(&ids, n - 1) == c->n_nodes;
    for (int64_t i = 0; i < n && is_right; i++) {
        offset[i] = graph_id(&ids, i);
        is_right = i == 0 || offset[i] >= offset[i - 1];
    }
    c->node_type_offset = offset;
    return is_right ? GREBE_OK
                    : GREBE_FAIL(err, GREBE_ECORRUPT,
                                 "%s: node_type_offset: expected %zu numbers that ascend from 0 to %lld", o->path,
                                 c->n_node_types + 1, (long long)c->n_nodes);
}

static grebe_status read_typed(struct opening *o, const struct pickle_value *state, const struct pickle_value *tensors,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_csc *c = &o->g->csc;
    const struct pickle_value *nodes = pickle_get(state, "node_type_to_id"),
                              *edges = pickle_get(state, "edge_type_to_id");
    const struct pickle_value *types = pickle_get(tensors, "type_per_edge");
    if (nodes == NULL && edges == NULL) {
        return GREBE_OK;
    }
    if (nodes == NULL || edges == NULL || types == NULL || pickle_get(tensors, "node_type_offset") == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%s: expected types of nodes, of edges, offsets and the type of each edge, or none of them",
                          o->path);
    }
    GREBE_TRY(read_types(o, nodes, "node_type_to_id", &c->node_types, &c->n_node_types, err));
    GREBE_TRY(read_types(o, edges, "edge_type_to_id", &c->edge_types, &c->n_edge_types, err));
    if (c->n_edges > 0 && c->n_edge_types == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: edge_type_to_id: expected the types of %lld edges, found none", o->path,
                        (long long)c->n_edges);
        goto out;
    }
    GREBE_TRY(read_ends(o, err));
    GREBE_TRY(read_offsets(o, tensors, err));
    GREBE_TRY(read_tensor(o, types, "type_per_edge", &c->type_per_edge, err));
    const struct tensor *t = &c->type_per_edge;
    bool is_type = t->type == ARRAY_U8 || t->type == ARRAY_I16 || t->type == ARRAY_I32 || t->type == ARRAY_I64;
    if (!is_type || t->rank != 1 || t->n_values != (uint64_t)c->n_edges) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: type_per_edge: expected %lld integers, found %llu of %s", o->path,
                        (long long)c->n_edges, (unsigned long long)t->n_values, tensor_type_name(t->type));
    }
out:
    return st;
}

/* How edges are found by the number that they had in their file: one number each. */
static grebe_status check_edge_ids(const struct opening *o, grebe_error *err)
{
    const struct tensor *ids = graph_edge_ids(&o->g->csc);
    if (ids != NULL && (ids->rank != 1 || (ids->type != ARRAY_I32 && ids->type != ARRAY_I64))) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected one dimension of int32 or int64, found %u of %s", o->path,
                          GRAPH_EDGE_IDS, ids->rank, tensor_type_name(ids->type));
    }
    return GREBE_OK;
}

static grebe_status read_attributes(struct opening *o, const struct pickle_value *dict, const char *what, int64_t rows,
                                    struct graph_attribute **out, size_t *n, grebe_error *err)
{
    if (dict == NULL || dict->type == PICKLE_NONE) {
        return GREBE_OK;
    }
    if (dict->type != PICKLE_DICT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected a dict", o->path, what);
    }
    *out = arena_array(&o->g->arena, dict->n / 2, sizeof **out);
    if (*out == NULL) {
        return mem_fail(err, dict->n * sizeof **out, o->path);
    }
    for (size_t i = 0; i < dict->n / 2; i++) {
        struct graph_attribute *x = &(*out)[i];
        const struct pickle_value *key = dict->items[2 * i];
        if (key->type != PICKLE_TEXT) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s: expected names", o->path, what);
        }
        x->name = arena_str(&o->g->arena, key->text, key->n);
        if (x->name == NULL) {
            return mem_fail(err, key->n, o->path);
        }
        grebe_status st = read_tensor(o, dict->items[2 * i + 1], x->name, &x->values, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (x->values.rank == 0 || x->values.shape[0] != (uint64_t)rows) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s %.100s: expected %lld rows, found %llu", o->path, what,
                              x->name, (long long)rows,
                              (unsigned long long)(x->values.rank > 0 ? x->values.shape[0] : 1));
        }
        *n = i + 1;
    }
    return GREBE_OK;
}

grebe_status graph_csc_open(struct grebe_graph *g, const char *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct opening o = { g, path };
    struct graph_csc *c = &g->csc;
    const struct pickle_value *state = NULL;
    int64_t n = 0;
    GREBE_TRY(torch_open(g->ctx, path, allows, NULL, &g->torch, err));
    GREBE_TRY(find_state(&o, &state, err));
    const struct pickle_value *tensors = pickle_get(state, "independent_tensors");
    GREBE_TRY(check_version(&o, tensors, err));
    GREBE_TRY(read_ids(&o, tensors, "indptr", &c->indptr, &n, err));
    GREBE_TRY(read_ids(&o, tensors, "indices", &c->indices, &c->n_edges, err));
    if (n < 1 || graph_id(&c->indptr, 0) != 0 || graph_id(&c->indptr, n - 1) != c->n_edges) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: indptr: expected numbers from 0 to %lld, the number of edges", path,
                        (long long)c->n_edges);
        goto out;
    }
    c->n_nodes = n - 1;
    GREBE_TRY(read_typed(&o, state, tensors, err));
    GREBE_TRY(read_attributes(&o, pickle_get(state, "node_attributes"), "node_attributes", c->n_nodes,
                              &c->node_attributes, &c->n_node_attributes, err));
    GREBE_TRY(read_attributes(&o, pickle_get(state, "edge_attributes"), "edge_attributes", c->n_edges,
                              &c->edge_attributes, &c->n_edge_attributes, err));
    GREBE_TRY(check_edge_ids(&o, err));
    c->ctx = g->ctx;
    g->lengths[0] = (uint64_t)c->n_nodes + 1;
    g->lengths[1] = (uint64_t)c->n_edges;
    g->lengths[2] = c->n_node_types + 1;
out:
    return st;
}
