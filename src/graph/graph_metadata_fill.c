/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of metadata.yaml: nodes and edges, features, tasks. */
#include <stdio.h>
#include <string.h>

#include "graph/graph_metadata_internal.h"

/* ---- nodes ---- */

static grebe_status fill_node(const struct graph_section *map, struct graph_node_spec *out, grebe_error *err)
{
    static const char *const known[] = { "type", "num", NULL };
    grebe_status st = GREBE_OK;
    const struct yaml_tree *num = yaml_tree_get(map->tree, "num");
    struct graph_yaml_scalar x = graph_yaml_scalar_of(num);
    out->at = map->tree;
    GREBE_TRY(graph_section_text(map, "type", false, &out->type, err));
    if (num == NULL) {
        GREBE_TRY(graph_section_fail(map, "num", err, "num is required"));
    } else if (x.kind != GRAPH_YAML_INT) {
        GREBE_TRY(graph_section_fail(map, "num", err, "num must be an integer; %s is %s in YAML 1.1",
                                 num->type == YAML_TREE_SCALAR ? num->text : "this",
                                 x.kind == GRAPH_YAML_TEXT    ? "a text"
                                 : x.kind == GRAPH_YAML_FLOAT ? "a number with a fraction"
                                 : x.kind == GRAPH_YAML_BOOL  ? "a truth value"
                                 : x.kind == GRAPH_YAML_NULL  ? "nothing"
                                                              : "a list or map"));
    } else if (x.integer < 0) {
        GREBE_TRY(graph_section_fail(map, "num", err, "num must not be negative, found %lld", (long long)x.integer));
    } else {
        out->num = x.integer;
    }
    GREBE_TRY(graph_section_typos(map, known, true, "It is not looked at.", err));
out:
    return st;
}

static grebe_status fill_nodes(const struct graph_section *graph, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = graph->m;
    const struct yaml_tree *list = NULL;
    void *entries = NULL;
    size_t n = 0;
    GREBE_TRY(graph_section_list(graph, "nodes", sizeof *m->nodes, &list, &n, &entries, err));
    m->nodes = entries;
    if (n == 0 && (list == NULL || list->type != YAML_TREE_SCALAR)) {
        GREBE_TRY(graph_section_fail(graph, "nodes", err, "at least one entry of nodes is needed"));
    }
    for (size_t i = 0; i < n; i++) {
        struct graph_section map;
        bool is_map = false;
        GREBE_TRY(graph_section_item(graph, "nodes", list, i, &map, &is_map, err));
        if (!is_map) {
            continue;
        }
        struct graph_node_spec node = { 0 };
        GREBE_TRY(fill_node(&map, &node, err));
        if (node.type != NULL) {
            size_t first = graph_node_type_find(m, node.type);
            if (first == m->n_nodes && !name_chain_add(&m->node_names, &m->arena, node.type, m->n_nodes)) {
                return mem_fail(err, sizeof node, m->shown);
            }
            if (first < m->n_nodes) {
                m->nodes[first].is_twice = true;
                GREBE_TRY(graph_section_fail(&map, "type", err, "node type %s is declared twice, first on line %u",
                                         node.type, (unsigned)m->nodes[first].at->line));
            }
            if (strchr(node.type, ':') != NULL) {
                GREBE_TRY(graph_section_fail(&map, "type", err, "a node type must not have a colon: %s", node.type));
            }
        }
        m->nodes[m->n_nodes++] = node;
    }
out:
    return st;
}

/* ---- edges ---- */

static grebe_status known_types(const struct graph_metadata *m, char *dst, size_t room)
{
    size_t len = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < m->n_nodes; i++) {
        int n = snprintf(dst + len, room - len, "%s%s", i > 0 ? ", " : "",
                         m->nodes[i].type != NULL ? m->nodes[i].type : "(none)");
        len += n > 0 ? (size_t)n : 0;
        if (len + 8 >= room) {
            break;
        }
    }
    return GREBE_OK;
}

/* The ends of a typed edge, and that each is one node type. */
static grebe_status fill_ends(const struct graph_section *map, struct graph_edge_spec *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = map->m;
    char name[GRAPH_TYPE_ROOM], known[256];
    for (unsigned part = 0; part <= 2; part += 2) {
        if (!graph_edge_type_part(out->type, part, name, sizeof name)) {
            const char *second = strchr(out->type, ':') != NULL ? strchr(strchr(out->type, ':') + 1, ':') : NULL;
            return second != NULL && strchr(second + 1, ':') == NULL
                       ? graph_section_fail(map, "type", err, "a name of a node type has at most %d bytes", GRAPH_TYPE_ROOM - 1)
                       : graph_section_fail(map, "type", err, "an edge type is source:relation:destination, found %s", out->type);
        }
        size_t i = graph_node_type_find(m, name);
        if (i == m->n_nodes) {
            known_types(m, known, sizeof known);
            GREBE_TRY(graph_section_fail(map, "type", err, "node type %s is not declared; known are %s", name, known));
        } else if (m->nodes[i].is_twice && part == 0) {
            GREBE_TRY(graph_section_fail(map, "type", err, "node type %s of %s is declared twice", name, out->type));
        }
        *(part == 0 ? &out->source : &out->destination) = i;
    }
out:
    return st;
}

static grebe_status fill_edge(const struct graph_section *map, bool has_node_types, struct graph_edge_spec *out,
                              grebe_error *err)
{
    static const char *const known[] = { "type", "format", "path", "in_memory", NULL };
    static const char *const formats[] = { "csv", "numpy", "torch", "parquet", NULL };
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = map->m;
    out->at = map->tree;
    GREBE_TRY(graph_section_text(map, "type", false, &out->type, err));
    GREBE_TRY(graph_section_file(map, formats, &out->file, err));
    GREBE_TRY(graph_section_typos(map, known, true, "It is not looked at.", err));
    if (out->type == NULL) {
        return has_node_types ? graph_section_fail(map, NULL, err, "an edge type is needed because nodes have types")
                              : GREBE_OK;
    }
    if (!has_node_types) {
        return graph_section_fail(map, "type", err, "nodes have no types, so edges must have none; found %s", out->type);
    }
    size_t first = graph_edge_type_find(m, out->type);
    if (first < m->n_edges) {
        GREBE_TRY(graph_section_fail(map, "type", err, "edge type %s is declared twice, first on line %u", out->type,
                                 (unsigned)m->edges[first].at->line));
    }
    GREBE_TRY(fill_ends(map, out, err));
out:
    return st;
}

static grebe_status fill_edges(const struct graph_section *graph, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = graph->m;
    const struct yaml_tree *list = NULL;
    void *entries = NULL;
    size_t n = 0;
    bool has_types = false;
    for (size_t i = 0; i < m->n_nodes; i++) {
        has_types = has_types || m->nodes[i].type != NULL;
    }
    GREBE_TRY(graph_section_list(graph, "edges", sizeof *m->edges, &list, &n, &entries, err));
    m->edges = entries;
    if (n == 0) {
        GREBE_TRY(graph_section_fail(graph, "edges", err, "at least one entry of edges is needed"));
    }
    m->is_homogeneous = !has_types && m->n_nodes <= 1 && n <= 1;
    for (size_t i = 0; i < m->n_nodes && !m->is_homogeneous; i++) {
        if (m->nodes[i].type == NULL) {
            struct graph_section map = { .m = m, .tree = m->nodes[i].at };
            snprintf(map.field, sizeof map.field, "graph.nodes[%zu]", i);
            GREBE_TRY(graph_section_fail(&map, NULL, err,
                                     "a node type is needed because there are several entries, or others have types"));
        }
    }
    GREBE_TRY(name_index_new(m->ctx->a, n, &m->edge_names, err));
    for (size_t i = 0; i < n; i++) {
        struct graph_section map;
        bool is_map = false;
        GREBE_TRY(graph_section_item(graph, "edges", list, i, &map, &is_map, err));
        if (is_map) {
            struct graph_edge_spec edge = { 0 };
            GREBE_TRY(fill_edge(&map, has_types, &edge, err));
            m->edges[m->n_edges] = edge;
            if (edge.type != NULL) {
                GREBE_TRY(name_index_add(&m->edge_names, edge.type, m->n_edges, NULL, err));
            }
            m->n_edges++;
        }
    }
out:
    return st;
}

static grebe_status fill_graph(const struct graph_section *root, grebe_error *err)
{
    static const char *const known[] = { "nodes", "edges", "feature_data", NULL };
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = root->m;
    struct graph_section graph = { .m = m, .tree = yaml_tree_get(root->tree, "graph"), .field = "graph" };
    if (graph.tree == NULL || graph_yaml_scalar_of(graph.tree).kind == GRAPH_YAML_NULL) {
        return graph_problem_add(m, NULL, "graph", true, GREBE_ESCHEMA, err, "the section \"graph\" is missing");
    }
    if (graph.tree->type != YAML_TREE_MAP) {
        return graph_section_fail(root, "graph", err, "expected a map, found a %s", yaml_tree_type_name(graph.tree));
    }
    GREBE_TRY(fill_nodes(&graph, err));
    GREBE_TRY(fill_edges(&graph, err));
    GREBE_TRY(graph_section_typos(&graph, known, true, "It is not looked at.", err));
    GREBE_TRY(graph_features_fill(&graph, true, &m->attributes, &m->n_attributes, err));
out:
    return st;
}

/* ---- what preprocessing made ---- */

static grebe_status fill_topology(const struct graph_section *root, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = root->m;
    struct graph_section map = { .m = m, .tree = yaml_tree_get(root->tree, "graph_topology"), .field = "graph_topology" };
    struct graph_yaml_scalar x = graph_yaml_scalar_of(yaml_tree_get(root->tree, "include_original_edge_id"));
    const char *type = NULL;
    m->has_edge_ids = x.kind == GRAPH_YAML_BOOL && x.boolean;
    if (map.tree == NULL || graph_yaml_scalar_of(map.tree).kind == GRAPH_YAML_NULL) {
        return GREBE_OK;
    }
    if (map.tree->type != YAML_TREE_MAP) {
        return graph_section_fail(root, "graph_topology", err, "expected a map, found a %s", yaml_tree_type_name(map.tree));
    }
    GREBE_TRY(graph_section_text(&map, "type", true, &type, err));
    GREBE_TRY(graph_section_text(&map, "path", true, &m->topology, err));
    if (type != NULL && strcmp(type, "FusedCSCSamplingGraph") != 0) {
        GREBE_TRY(graph_section_fail(&map, "type", err, "expected FusedCSCSamplingGraph, found %s", type));
    }
out:
    return st;
}

/* Features of edges to their types; from the end, so that each list is in the order of the file. */
static void link_features(struct graph_metadata *m, struct graph_feature_spec *list, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        size_t edge = list[i].domain != GRAPH_EDGE ? m->n_edges
                      : m->is_homogeneous          ? 0
                      : list[i].type == NULL       ? m->n_edges
                                                   : graph_edge_type_find(m, list[i].type);
        if (edge < m->n_edges) {
            list[i].next_of_edge = m->edges[edge].features;
            m->edges[edge].features = &list[i];
        }
    }
}

grebe_status graph_metadata_fill(struct graph_metadata *m, enum graph_dialect dialect, grebe_error *err)
{
    static const char *const raw[] = { "dataset_name", "graph", "feature_data", "tasks", NULL };
    static const char *const made[] = { "dataset_name", "graph_topology",           "feature_data",
                                        "tasks",        "include_original_edge_id", NULL };
    grebe_status st = GREBE_OK;
    struct graph_section root = { .m = m, .tree = m->root };
    GREBE_TRY(graph_section_text(&root, "dataset_name", false, &m->dataset_name, err));
    if (dialect == GRAPH_RAW) {
        GREBE_TRY(fill_graph(&root, err));
    } else {
        GREBE_TRY(fill_topology(&root, err));
    }
    GREBE_TRY(graph_features_fill(&root, false, &m->features, &m->n_features, err));
    link_features(m, m->features, m->n_features);
    link_features(m, m->attributes, m->n_attributes);
    GREBE_TRY(graph_tasks_fill(&root, err));
    GREBE_TRY(graph_section_typos(&root, dialect == GRAPH_RAW ? raw : made, false, "Kept as it is.", err));
out:
    return st;
}
