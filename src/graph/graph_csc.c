/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_csc.h"

#include <string.h>

const struct graph_attribute *graph_edge_attribute(const struct graph_csc *g, const char *name)
{
    for (size_t i = 0; i < g->n_edge_attributes; i++)
        if (strcmp(g->edge_attributes[i].name, name) == 0)
            return &g->edge_attributes[i];
    return NULL;
}

const struct tensor *graph_edge_ids(const struct graph_csc *g)
{
    const struct graph_attribute *kept = graph_edge_attribute(g, GRAPH_EDGE_IDS);
    return kept != NULL ? &kept->values : NULL;
}
