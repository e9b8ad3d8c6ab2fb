/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the parts of a graph. */
#include "grebe/graph_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/text_distance.h"
#include "base/utf8.h"
#include "graph/graph_types.h"

enum { NEAR_BYTES_MAX = 48 };

static const char *const set_names[GRAPH_SETS] = { "train", "validation", "test" };

/* "KIND", "KIND:TYPE", "KIND:TYPE:NAME": what is NULL is left out. */
static void put_name(char dst[GRAPH_PART_ROOM], const char *kind, const char *type, const char *name)
{
    snprintf(dst, GRAPH_PART_ROOM, "%s%s%s%s%s", kind, type != NULL ? ":" : "", type != NULL ? type : "", name != NULL ? ":" : "",
             name != NULL ? name : "");
    dst[utf8_valid_prefix(dst, strlen(dst))] = '\0'; /* cut after a whole character */
}

static bool set_at(const grebe_graph *g, size_t k, struct graph_part *part, char name[GRAPH_PART_ROOM])
{
    const struct graph_metadata *m = g->metadata;
    for (size_t t = 0; t < m->n_tasks; t++) {
        for (size_t s = 0; s < GRAPH_SETS; s++) {
            if (k < m->tasks[t].n_sets[s]) {
                char kind[64];
                *part = (struct graph_part){ GRAPH_PART_SET, t, s, k };
                snprintf(kind, sizeof kind, "set:%zu:%s", t, set_names[s]);
                put_name(name, kind, m->tasks[t].sets[s][k].type, NULL);
                return true;
            }
            k -= m->tasks[t].n_sets[s];
        }
    }
    return false;
}

void graph_part_feature_name(const struct graph_feature_spec *f, char name[GRAPH_PART_ROOM])
{
    static const char *const domains[] = { "node", "edge", "graph" };
    put_name(name, domains[f->domain], f->type, f->name);
}

bool graph_part_at(const grebe_graph *g, size_t k, struct graph_part *part, char name[GRAPH_PART_ROOM])
{
    const struct graph_metadata *m = g->metadata;
    const struct graph_csc *c = graph_dataset_csc(g);
    const size_t n_edges = c == NULL ? 0 : graph_n_edge_types(c), n_nodes = c == NULL ? 0 : graph_n_node_types(c);
    if (k < m->n_features) {
        *part = (struct graph_part){ .kind = GRAPH_PART_FEATURE, .i = k };
        graph_part_feature_name(&m->features[k], name);
        return true;
    }
    k -= m->n_features;
    if (k < n_edges) {
        *part = (struct graph_part){ .kind = GRAPH_PART_EDGES, .i = k };
        put_name(name, "edges", grebe_graph_edge_type(g, k), NULL);
        return true;
    }
    k -= n_edges;
    if (k < n_nodes) {
        *part = (struct graph_part){ .kind = GRAPH_PART_NODES, .i = k };
        put_name(name, "nodes", grebe_graph_node_type(g, k), NULL);
        return true;
    }
    return set_at(g, k - n_nodes, part, name);
}

bool graph_part_is(const char *name, const char *wanted)
{
    const size_t n = strcspn(wanted, ":");
    return strcmp(name, wanted) == 0 ||
           (strncmp(wanted + n, "::", 2) == 0 && strncmp(name, wanted, n + 1) == 0 && strcmp(name + n + 1, wanted + n + 2) == 0);
}

grebe_status graph_part_find(const grebe_graph *g, const char *path, const char *wanted, struct graph_part *out,
                             grebe_error *err)
{
    char name[GRAPH_PART_ROOM], nearest[GRAPH_PART_ROOM] = "", known[320] = "", quoted[100];
    size_t best = SIZE_MAX, len = 0;
    for (size_t k = 0; graph_part_at(g, k, out, name); k++) {
        if (wanted != NULL && graph_part_is(name, wanted)) {
            return GREBE_OK;
        }
        const size_t d = wanted == NULL ? 0 : text_distance(wanted, name);
        if (d < best) {
            best = d;
            memcpy(nearest, name, sizeof nearest);
        }
        if (len + strlen(name) + 6 < sizeof known) {
            len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", k == 0 ? "" : ", ", name);
        } else if (len == 0 || known[len - 1] != '.') { /* the first may be too long */
            len += (size_t)snprintf(known + len, sizeof known - len, " ...");
        }
    }
    if (wanted == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: a graph: expected %s#PART, one of: %s", path, path, known);
    }
    const bool is_near = strlen(wanted) <= NEAR_BYTES_MAX && best <= 1 + strlen(wanted) / 4;
    return GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: there is no \"%s\"%s%.60s; there are: %s", path,
                      error_quote(quoted, sizeof quoted, wanted, strlen(wanted)), is_near ? ": did you mean " : "",
                      is_near ? nearest : "", known);
}
