/* SPDX-License-Identifier: Apache-2.0 */
/* What of a set in metadata.yaml can be read but never sampled: that is a warning, for reading is all that some sets are for. */
#include <stdio.h>
#include <string.h>

#include "graph/graph_items.h"
#include "graph/graph_metadata_internal.h"
#include "graph/graph_minibatch.h"

/* ---- names ---- */

enum { NAMES_MAX = 64 }; /* so many arrays of a set are compared with each other; sets have a handful */

bool graph_set_is_seeds(const char *name)
{
    return name != NULL && (strcmp(name, "seeds") == 0 || strcmp(name, "seed_nodes") == 0 || strcmp(name, "node_pairs") == 0);
}

/* Whether one of the first n arrays has the name. */
static bool has_name(const struct graph_set_spec *s, size_t n, const char *name)
{
    for (size_t i = 0; i < n && i < NAMES_MAX; i++) {
        if (strcmp(s->items[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static grebe_status warn_item(const struct graph_section *map, const struct graph_set_spec *s, size_t i, const char *text, grebe_error *err)
{
    char field[200];
    snprintf(field, sizeof field, "%s.data[%zu].name", map->field, i);
    return graph_problem_add(map->m, yaml_tree_get(s->items[i].item, "name"), field, false, GREBE_ESCHEMA, err, "%s", text);
}

/* Names that are there twice, or nearly one that means something and is not there. */
static grebe_status check_names(const struct graph_section *map, const struct graph_set_spec *s, bool *has_near, grebe_error *err)
{
    static const char *const known[] = { "seeds",      "labels",     "indexes",       "timestamp",
                                         "seed_nodes", "node_pairs", "negative_srcs", "negative_dsts", NULL };
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < s->n_items; i++) {
        const char *name = s->items[i].name, *near = graph_section_near(known, name);
        char text[200];
        if (has_name(s, i, name)) {
            snprintf(text, sizeof text, "%.100s is there already: only one of them is handed on", name);
            GREBE_TRY(warn_item(map, s, i, text, err));
        } else if (near != NULL && !has_name(s, s->n_items, near)) {
            snprintf(text, sizeof text, "did you mean %s? Arrays of other names are handed on as they are.", near);
            GREBE_TRY(warn_item(map, s, i, text, err));
            *has_near = *has_near || graph_set_is_seeds(near);
        }
    }
out:
    return st;
}

grebe_status graph_set_check_names(const struct graph_section *map, const struct graph_set_spec *s, grebe_error *err)
{
    bool has_seeds = false, has_near = false;
    if (s->n_items == 0 || map->m->n_nodes == 0) {
        return GREBE_OK; /* what is preprocessed does not tell its types */
    }
    for (size_t i = 0; i < s->n_items; i++) {
        if (s->items[i].name == NULL) {
            return GREBE_OK; /* arrays without names are told by their places */
        }
        has_seeds = has_seeds || graph_set_is_seeds(s->items[i].name);
    }
    grebe_status st = check_names(map, s, &has_near, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!has_seeds && !has_near) {
        st = graph_problem_add(map->m, s->at, map->field, false, GREBE_ESCHEMA, err,
                               "there are no seeds: such a set can be read, but not be sampled");
    } else if (has_seeds && s->type == NULL && !map->m->is_homogeneous) {
        st = graph_problem_add(map->m, s->at, map->field, false, GREBE_ESCHEMA, err,
                               "seeds without a type in a graph with types can be read, but not be sampled");
    }
    return st;
}

/* ---- shapes ---- */

/* Why nobody can sample seeds of that shape; empty: nothing speaks against it. */
static void say_why_not(const struct graph_metadata *m, const char *type, int64_t arity, char *dst, size_t room)
{
    dst[0] = '\0';
    if (arity < 1 || arity > GRAPH_ARITY_MAX) {
        snprintf(dst, room, "seeds of %lld nodes, expected 1 to %d", (long long)arity, GRAPH_ARITY_MAX);
        return;
    }
    for (int64_t i = 0; i < arity && type != NULL && !m->is_homogeneous; i++) {
        char node[GRAPH_TYPE_ROOM];
        size_t len = 0;
        const char *end = graph_seed_type_of(type, arity, i, &len);
        if (end == NULL) {
            snprintf(dst, room, "seeds of %lld nodes, which type %.150s does not have", (long long)arity, type);
            return;
        }
        snprintf(node, sizeof node, "%.*s", (int)(len < sizeof node ? len : sizeof node - 1), end);
        if (graph_node_type_find(m, node) >= m->n_nodes) {
            snprintf(dst, room, "seeds of %lld node%s, of which %.150s is no type", (long long)arity, arity == 1 ? "" : "s", node);
            return;
        }
    }
}

grebe_status graph_set_check_seeds(struct graph_metadata *m, const struct graph_set_spec *s, const struct graph_set_item *x,
                                   const struct tensor *t, grebe_error *err)
{
    char why[300], field[200];
    int64_t arity = 1;
    if (!graph_set_is_seeds(x->name) || m->n_nodes == 0) {
        return GREBE_OK;
    }
    for (unsigned i = 1; i < t->rank; i++) {
        arity = t->shape[i] > GRAPH_ARITY_MAX || arity > GRAPH_ARITY_MAX ? GRAPH_ARITY_MAX + 1 : arity * (int64_t)t->shape[i];
    }
    say_why_not(m, s->type, arity, why, sizeof why);
    if (why[0] == '\0') {
        return GREBE_OK;
    }
    snprintf(field, sizeof field, "%s.path", x->file.field);
    return graph_problem_add(m, x->file.path_at, field, false, GREBE_ESCHEMA, err, "%.300s: %s: such a set can be read, but not be sampled",
                             x->file.path, why);
}
