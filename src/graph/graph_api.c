/* SPDX-License-Identifier: Apache-2.0 */
/* What an opened data set tells (grebe/graph.h). */
#include <string.h>

#include "graph/graph_dataset.h"
#include "graph/graph_degrees.h"

static grebe_graph_array array_of(const struct tensor *t)
{
    return (grebe_graph_array){ tensor_type_name(t->type), tensor_type_bytes(t->type), t->rank, t->shape, t->data };
}

static grebe_graph_array array_of_ids(const struct graph_ids *x, const uint64_t *n)
{
    return (grebe_graph_array){ x->is_wide ? "int64" : "int32", x->is_wide ? 8 : 4, 1, n, x->data };
}

void grebe_graph_get_info(const grebe_graph *g, grebe_graph_info *out)
{
    const struct graph_csc *c = &g->csc;
    *out = (grebe_graph_info){ .name = g->metadata->dataset_name,
                               .has_graph = c->ctx != NULL,
                               .n_features = g->metadata->n_features,
                               .n_tasks = g->metadata->n_tasks };
    if (c->ctx == NULL) {
        return;
    }
    out->n_nodes = c->n_nodes;
    out->n_edges = c->n_edges;
    out->n_node_types = c->n_node_types;
    out->n_edge_types = c->n_edge_types;
    out->n_node_attributes = c->n_node_attributes;
    out->n_edge_attributes = c->n_edge_attributes;
    out->indptr = array_of_ids(&c->indptr, &g->lengths[0]);
    out->indices = array_of_ids(&c->indices, &g->lengths[1]);
    if (c->n_node_types > 0) {
        out->node_type_offset = (grebe_graph_array){ "int64", 8, 1, &g->lengths[2], c->node_type_offset };
        out->type_per_edge = array_of(&c->type_per_edge);
    }
}

const char *grebe_graph_node_type(const grebe_graph *g, size_t id)
{
    return id < g->csc.n_node_types ? g->csc.node_types[id] : NULL;
}
const char *grebe_graph_edge_type(const grebe_graph *g, size_t id)
{
    return id < g->csc.n_edge_types ? g->csc.edge_types[id] : NULL;
}

int64_t grebe_graph_num_nodes(const grebe_graph *g, size_t id)
{
    const struct graph_csc *c = &g->csc;
    if (c->n_node_types == 0) {
        return id == 0 ? c->n_nodes : -1;
    }
    return id < c->n_node_types ? c->node_type_offset[id + 1] - c->node_type_offset[id] : -1;
}

grebe_status grebe_graph_num_edges(const grebe_graph *g, const grebe_call_options *options, int64_t *counts, grebe_error *err)
{
    GREBE_CHECK_ARG(err, g != NULL && counts != NULL);
    const struct call call = call_options_resolve(g->ctx, options);
    return graph_edges_count(&g->csc, &call, counts, err);
}

const char *grebe_graph_attribute(const grebe_graph *g, bool is_edge, size_t i, grebe_graph_array *out)
{
    const struct graph_csc *c = &g->csc;
    if (i >= (is_edge ? c->n_edge_attributes : c->n_node_attributes)) {
        return NULL;
    }
    const struct graph_attribute *x = is_edge ? &c->edge_attributes[i] : &c->node_attributes[i];
    if (out != NULL) {
        *out = array_of(&x->values);
    }
    return x->name;
}

grebe_status grebe_graph_get_feature(const grebe_graph *g, size_t i, grebe_graph_feature *out, grebe_error *err)
{
    static const char *const domains[] = { "node", "edge", "graph" };
    GREBE_CHECK_ARG(err, i < g->metadata->n_features);
    const struct graph_feature_spec *f = &g->metadata->features[i];
    *out = (grebe_graph_feature){ domains[f->domain], f->type,          f->name, f->file.is_in_memory,
                                  g->feature_json[i], f->file.real_path };
    return GREBE_OK;
}

grebe_status grebe_graph_feature_values(const grebe_graph *g, size_t i, grebe_graph_array *out, grebe_error *err)
{
    const struct tensor *t = NULL;
    grebe_status st = graph_dataset_feature(g, i, &t, err);
    if (st == GREBE_OK) {
        *out = array_of(t);
    }
    return st;
}

const char *grebe_graph_task_metadata(const grebe_graph *g, size_t task)
{
    return task < g->metadata->n_tasks ? g->task_json[task] : NULL;
}

size_t grebe_graph_set_parts(const grebe_graph *g, size_t task, grebe_graph_set set)
{
    return task < g->metadata->n_tasks && (unsigned)set < GRAPH_SETS ? g->metadata->tasks[task].n_sets[set] : 0;
}

size_t grebe_graph_set_part(const grebe_graph *g, size_t task, grebe_graph_set set, size_t part, const char **type)
{
    if (part >= grebe_graph_set_parts(g, task, set)) {
        return 0;
    }
    const struct graph_set_spec *s = &g->metadata->tasks[task].sets[set][part];
    *type = s->type;
    return s->n_items;
}

grebe_status grebe_graph_set_values(const grebe_graph *g, size_t task, grebe_graph_set set, size_t part, size_t i,
                                    const char **name, grebe_graph_array *out, grebe_error *err)
{
    const struct tensor *t = NULL;
    grebe_status st = graph_dataset_set_array(g, task, (size_t)set, part, i, &t, err);
    if (st == GREBE_OK) {
        *out = array_of(t);
        *name = g->metadata->tasks[task].sets[set][part].items[i].name;
    }
    return st;
}
