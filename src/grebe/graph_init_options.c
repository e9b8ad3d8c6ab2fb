/* SPDX-License-Identifier: Apache-2.0 */
/* What init is asked for, before a file is looked at: a count, a name or a key that is given twice would be lost without a word. */
#include <string.h>

#include "graph/graph_metadata.h"
#include "grebe/graph_init_internal.h"

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static grebe_status check_edges(const grebe_graph_init_options *o, grebe_error *err)
{
    GREBE_CHECK_ARG(err, o->n_edges > 0 && o->edges != NULL);
    for (size_t i = 0; i < o->n_edges; i++) {
        GREBE_CHECK_ARG(err, o->edges[i].path != NULL && (o->edges[i].source == NULL) == (o->edges[i].target == NULL));
    }
    return GREBE_OK;
}

static grebe_status check_nodes(const grebe_graph_init_options *o, grebe_error *err)
{
    GREBE_CHECK_ARG(err, o->n_nodes == 0 || o->nodes != NULL);
    for (size_t i = 0; i < o->n_nodes; i++) {
        const grebe_graph_node_count *n = &o->nodes[i];
        const char *of = n->type != NULL ? " of type " : "", *type = n->type != NULL ? n->type : "";
        if (n->num < 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "nodes%s%.100s: expected a number from 0, found %lld", of, type, (long long)n->num);
        }
        for (size_t j = 0; j < i; j++) {
            if (is_same(o->nodes[j].type, n->type)) {
                return GREBE_FAIL(err, GREBE_EINVAL, "nodes%s%.100s: given twice, %lld and %lld", of, type, (long long)o->nodes[j].num,
                                  (long long)n->num);
            }
        }
    }
    return GREBE_OK;
}

static grebe_status check_features(const grebe_graph_init_options *o, grebe_error *err)
{
    GREBE_CHECK_ARG(err, o->n_features == 0 || o->features != NULL);
    for (size_t i = 0; i < o->n_features; i++) {
        const grebe_graph_feature_file *f = &o->features[i];
        GREBE_CHECK_ARG(err, f->path != NULL && f->name != NULL && f->domain != NULL);
        if (strcmp(f->domain, "node") != 0 && strcmp(f->domain, "edge") != 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "domain: expected node or edge, found \"%.40s\"", f->domain);
        }
        if (f->name[0] == '\0') {
            return GREBE_FAIL(err, GREBE_EINVAL, "%.300s: the name of a feature is empty", f->path);
        }
    }
    return GREBE_OK;
}

static grebe_status check_sets(const grebe_graph_init_options *o, grebe_error *err)
{
    GREBE_CHECK_ARG(err, o->n_sets == 0 || o->sets != NULL);
    for (size_t i = 0; i < o->n_sets; i++) {
        const grebe_graph_set_file *f = &o->sets[i];
        GREBE_CHECK_ARG(err, (unsigned)f->set < GRAPH_SETS && f->name != NULL && f->path != NULL);
        GREBE_CHECK_ARG(err, (f->columns == NULL) == (f->n_columns == 0) && f->n_columns <= GRAPH_INIT_COLUMNS_MAX);
        if (f->name[0] == '\0' || (f->type != NULL && f->type[0] == '\0')) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%s: the %s of an array is empty: %.300s", graph_set_names[f->set],
                              f->name[0] == '\0' ? "name" : "type", f->path);
        }
        for (size_t j = 0; j < i; j++) {
            const grebe_graph_set_file *x = &o->sets[j];
            if (x->set == f->set && is_same(x->type, f->type) && strcmp(x->name, f->name) == 0) {
                return GREBE_FAIL(err, GREBE_EINVAL, "%s: \"%s%s%.100s\" is given twice", graph_set_names[f->set],
                                  f->type != NULL ? f->type : "", f->type != NULL ? ":" : "", f->name);
            }
        }
    }
    return GREBE_OK;
}

static grebe_status check_task_keys(const grebe_graph_init_options *o, grebe_error *err)
{
    GREBE_CHECK_ARG(err, o->n_task_keys == 0 || o->task_keys != NULL);
    if (o->n_task_keys > 0 && o->n_sets == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "task: expected sets (train, validation, test) of the task that has these keys, found none");
    }
    for (size_t i = 0; i < o->n_task_keys; i++) {
        const char *key = o->task_keys[i].key;
        GREBE_CHECK_ARG(err, key != NULL && o->task_keys[i].value != NULL);
        for (size_t kind = 0; kind < GRAPH_SETS; kind++) {
            if (strcmp(key, graph_set_names[kind]) == 0) {
                return GREBE_FAIL(err, GREBE_EINVAL, "task: \"%s\" is the key of a set, which is made of files", key);
            }
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(o->task_keys[j].key, key) == 0) {
                return GREBE_FAIL(err, GREBE_EINVAL, "task: \"%.100s\" is given twice, \"%.100s\" and \"%.100s\"", key, o->task_keys[j].value,
                                  o->task_keys[i].value);
            }
        }
    }
    return GREBE_OK;
}

grebe_status graph_init_check(const grebe_graph_init_options *o, grebe_error *err)
{
    grebe_status st = check_edges(o, err);
    st = st == GREBE_OK ? check_nodes(o, err) : st;
    st = st == GREBE_OK ? check_features(o, err) : st;
    st = st == GREBE_OK ? check_sets(o, err) : st;
    return st == GREBE_OK ? check_task_keys(o, err) : st;
}
