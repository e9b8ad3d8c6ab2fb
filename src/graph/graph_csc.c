/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_csc.h"

#include <string.h>

#include "base/endian.h"

int graph_type_of_edge(const struct graph_csc *g, int64_t edge)
{
    const struct tensor *t = &g->type_per_edge;
    if (t->rank == 0)
        return 0;
    const unsigned char *p = t->data + (size_t)edge * (size_t)t->strides[0] * tensor_type_bytes(t->type);
    switch (tensor_type_bytes(t->type)) {
    case 1:
        return *p;
    case 2:
        return (int16_t)load_le16(p);
    case 4:
        return (int32_t)load_le32(p);
    default:
        return (int)(int64_t)load_le64(p);
    }
}

const struct graph_attribute *graph_edge_attribute(const struct graph_csc *g, const char *name)
{
    for (size_t i = 0; i < g->n_edge_attributes; i++)
        if (strcmp(g->edge_attributes[i].name, name) == 0)
            return &g->edge_attributes[i];
    return NULL;
}
