/* SPDX-License-Identifier: Apache-2.0 */
/* feature_data and tasks of metadata.yaml. */
#include <stdio.h>
#include <string.h>

#include "base/context_internal.h"
#include "graph/graph_attribute_keys.h"
#include "graph/graph_metadata_internal.h"

static const char *const formats[] = { "numpy", "torch", NULL };

/* ---- features ---- */

static bool is_bfloat16(const struct yaml_tree *item)
{
    const struct yaml_tree *t = yaml_tree_get(item, "torch_dtype");
    return t != NULL && t->type == YAML_TREE_SCALAR && strcmp(t->text, "bfloat16") == 0;
}

/* Whether the type is one of the graph; a preprocessed metadata file does not tell which there are. */
static grebe_status check_type(const struct graph_section *map, const struct graph_feature_spec *f, grebe_error *err)
{
    const struct graph_metadata *m = map->m;
    if (m->n_nodes == 0 || f->domain == GRAPH_WHOLE) {
        return GREBE_OK;
    }
    if (m->is_homogeneous) {
        return f->type == NULL ? GREBE_OK
                               : graph_section_fail(map, "type", err, "the graph has no types, found %s", f->type);
    }
    if (f->type == NULL) {
        return graph_section_fail(map, "type", err, "a type is needed because the graph has types");
    }
    bool is_known = f->domain == GRAPH_NODE ? graph_node_type_find(m, f->type) < m->n_nodes
                                            : graph_edge_type_find(m, f->type) < m->n_edges;
    return is_known ? GREBE_OK
                    : graph_section_fail(map, "type", err, "%s type %s is not declared",
                                     f->domain == GRAPH_NODE ? "node" : "edge", f->type);
}

static bool is_same_text(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

static grebe_status fill_feature(const struct graph_section *map, bool is_attribute, struct graph_feature_spec *f,
                                 grebe_error *err)
{
    static const char *const known[] = { "domain", "type",         "name",        "format", "in_memory",
                                         "path",   "extra_fields", "torch_dtype", NULL };
    grebe_status st = GREBE_OK;
    const char *domain = NULL;
    f->item = map->tree;
    GREBE_TRY(graph_section_text(map, "domain", true, &domain, err));
    bool is_node = domain != NULL && strcmp(domain, "node") == 0,
         is_edge = domain != NULL && strcmp(domain, "edge") == 0;
    f->domain = is_node ? GRAPH_NODE : is_edge ? GRAPH_EDGE : GRAPH_WHOLE;
    if (domain != NULL && !is_node && !is_edge && (is_attribute || strcmp(domain, "graph") != 0)) {
        GREBE_TRY(graph_section_fail(map, "domain", err, "domain is node or edge, found %s", domain));
    }
    GREBE_TRY(graph_section_text(map, "type", false, &f->type, err));
    GREBE_TRY(graph_section_text(map, "name", true, &f->name, err));
    GREBE_TRY(graph_section_file(map, formats, &f->file, err));
    GREBE_TRY(check_type(map, f, err));
    GREBE_TRY(
        graph_section_typos(map, known, is_attribute, is_attribute ? "It is not looked at." : "Kept as metadata.", err));
    f->is_bfloat16 = is_bfloat16(map->tree);
    GREBE_TRY(graph_section_extra(map, known, &f->extra, err));
    const struct yaml_tree *more = yaml_tree_get(map->tree, "extra_fields");
    if (more != NULL && more->type == YAML_TREE_MAP) { /* both are metadata */
        f->extra = graph_yaml_set_all(&map->m->arena, f->extra, more);
        st = f->extra != NULL ? GREBE_OK : mem_fail(err, more->n * sizeof *more->pairs, map->field);
    }
out:
    return st;
}

grebe_status graph_features_fill(const struct graph_section *map, bool is_attributes, struct graph_feature_spec **out,
                                 size_t *n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct yaml_tree *list = NULL;
    struct graph_attribute_keys keys = { 0 };
    void *entries = NULL;
    size_t n_items = 0;
    GREBE_TRY(graph_section_list(map, "feature_data", sizeof **out, &list, &n_items, &entries, err));
    *out = entries;
    GREBE_TRY(graph_attribute_keys_new(map->m->ctx->a, n_items, &keys, err));
    for (size_t i = 0; i < n_items; i++) {
        struct graph_section item;
        bool is_map = false;
        GREBE_TRY(graph_section_item(map, "feature_data", list, i, &item, &is_map, err));
        if (is_map) {
            struct graph_feature_spec *f = &(*out)[*n];
            size_t first;
            GREBE_TRY(fill_feature(&item, is_attributes, f, err));
            GREBE_TRY(graph_attribute_keys_add(&keys, f, *n, &first, err));
            if (first != *n) {
                GREBE_TRY(graph_section_fail(&item, "name", err, "%s is there already, on line %u", f->name,
                                             (unsigned)(*out)[first].item->line));
            }
            *n += 1;
        }
    }
out:
    graph_attribute_keys_release(&keys);
    return st;
}

/* ---- tasks ---- */

/* Node types, or an edge type, or a hyper-edge: parts that are node types, with or without relations between them. */
static grebe_status check_set_type(const struct graph_section *map, const char *type, grebe_error *err)
{
    const struct graph_metadata *m = map->m;
    if (m->n_nodes == 0 || type == NULL) {
        return GREBE_OK;
    }
    if (m->is_homogeneous) {
        return graph_section_fail(map, "type", err, "the graph has no types, found %s", type);
    }
    size_t n_parts = 0, n_known = 0;
    bool is_alternating = true;
    char part[GRAPH_TYPE_ROOM];
    for (const char *p = type; p != NULL; n_parts++) {
        const char *colon = strchr(p, ':');
        snprintf(part, sizeof part, "%.*s", (int)(colon != NULL ? colon - p : (ptrdiff_t)strlen(p)), p);
        bool is_node = graph_node_type_find(m, part) < m->n_nodes;
        n_known += is_node ? 1 : 0;
        is_alternating = is_alternating && (n_parts % 2 == 1 || is_node);
        p = colon != NULL ? colon + 1 : NULL;
    }
    bool is_right = n_known == n_parts || (is_alternating && n_parts % 2 == 1);
    return is_right ? GREBE_OK : graph_section_fail(map, "type", err, "%s names node types that are not declared", type);
}

static grebe_status fill_set(const struct graph_section *map, struct graph_set_spec *out, grebe_error *err)
{
    static const char *const known[] = { "type", "data", NULL };
    static const char *const known_of_items[] = { "name", "format", "in_memory", "path", "torch_dtype", NULL };
    grebe_status st = GREBE_OK;
    const struct yaml_tree *list = NULL;
    void *entries = NULL;
    size_t n = 0;
    out->at = map->tree;
    GREBE_TRY(graph_section_text(map, "type", false, &out->type, err));
    GREBE_TRY(check_set_type(map, out->type, err));
    GREBE_TRY(graph_section_list(map, "data", sizeof *out->items, &list, &n, &entries, err));
    out->items = entries;
    GREBE_TRY(graph_section_typos(map, known, true, "It is not looked at.", err));
    if (list == NULL || graph_yaml_scalar_of(list).kind == GRAPH_YAML_NULL) {
        return graph_section_fail(map, "data", err, "data is required");
    }
    for (size_t i = 0; i < n; i++) {
        struct graph_section item;
        bool is_map = false;
        GREBE_TRY(graph_section_item(map, "data", list, i, &item, &is_map, err));
        if (!is_map) {
            continue;
        }
        struct graph_set_item *x = &out->items[out->n_items++];
        x->item = item.tree;
        x->is_bfloat16 = is_bfloat16(item.tree);
        GREBE_TRY(graph_section_text(&item, "name", false, &x->name, err));
        GREBE_TRY(graph_section_file(&item, formats, &x->file, err));
        GREBE_TRY(graph_section_typos(&item, known_of_items, true, "It is not looked at.", err));
    }
    st = graph_set_check_names(map, out, err);
out:
    return st;
}

/* Without types there is one set; the sets of one kind have the same names. */
static grebe_status check_sets(const struct graph_section *task, size_t kind, const struct graph_task_spec *t,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct graph_set_spec *sets = t->sets[kind];
    struct name_chain types = { 0 };
    if (t->n_sets[kind] > 1 && sets[0].type != NULL && !name_chain_add(&types, &task->m->arena, sets[0].type, 0)) {
        return mem_fail(err, sizeof *sets, task->m->shown);
    }
    for (size_t i = 1; i < t->n_sets[kind] && st == GREBE_OK; i++) {
        struct graph_section map = { .m = task->m, .tree = sets[i].at };
        snprintf(map.field, sizeof map.field, "%.80s.%s[%zu]", task->field, graph_set_names[kind], i);
        if (sets[0].type == NULL || sets[i].type == NULL) {
            st = graph_section_fail(&map, NULL, err, "only one set may be there, and alone, when it has no type");
            continue;
        }
        size_t first = name_chain_find(&types, sets[i].type);
        if (first < i) {
            st = graph_section_fail(&map, "type", err, "a set of type %s is there already, on line %u", sets[i].type,
                                    (unsigned)sets[first].at->line);
        } else if (!name_chain_add(&types, &task->m->arena, sets[i].type, i)) {
            st = mem_fail(err, sizeof *sets, task->m->shown);
        }
        bool is_same = sets[i].n_items == sets[0].n_items;
        for (size_t k = 0; k < sets[i].n_items && is_same; k++) {
            is_same = is_same_text(sets[i].items[k].name, sets[0].items[k].name);
        }
        if (!is_same && st == GREBE_OK) {
            st = graph_section_fail(&map, "data", err,
                                "the names of its items differ from those of the first set, on line %u",
                                (unsigned)sets[0].at->line);
        }
    }
    return st;
}

grebe_status graph_tasks_fill(const struct graph_section *root, grebe_error *err)
{
    static const char *const known[] = { "train_set", "validation_set", "test_set", NULL };
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = root->m;
    const struct yaml_tree *list = NULL;
    void *entries = NULL;
    size_t n = 0;
    GREBE_TRY(graph_section_list(root, "tasks", sizeof *m->tasks, &list, &n, &entries, err));
    m->tasks = entries;
    for (size_t i = 0; i < n; i++) {
        struct graph_section task;
        bool is_map = false;
        GREBE_TRY(graph_section_item(root, "tasks", list, i, &task, &is_map, err));
        if (!is_map) {
            continue;
        }
        struct graph_task_spec *t = &m->tasks[m->n_tasks++];
        t->item = task.tree;
        for (size_t kind = 0; kind < GRAPH_SETS; kind++) {
            const struct yaml_tree *sets = NULL;
            size_t n_sets = 0;
            GREBE_TRY(graph_section_list(&task, graph_set_names[kind], sizeof *t->sets[kind], &sets, &n_sets, &entries, err));
            t->sets[kind] = entries;
            for (size_t k = 0; k < n_sets; k++) {
                struct graph_section map;
                GREBE_TRY(graph_section_item(&task, graph_set_names[kind], sets, k, &map, &is_map, err));
                if (is_map) {
                    GREBE_TRY(fill_set(&map, &t->sets[kind][t->n_sets[kind]++], err));
                }
            }
            GREBE_TRY(check_sets(&task, kind, t, err));
        }
        GREBE_TRY(graph_section_typos(&task, known, false, "Kept as metadata.", err));
        GREBE_TRY(graph_section_extra(&task, known, &t->extra, err));
    }
out:
    return st;
}
