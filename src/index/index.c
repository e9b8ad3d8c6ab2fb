/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"

/* A kind whose file is not in the tree is not built in. */
#if __has_include("index/index_hnsw.c")
#define HNSW_OPS &index_hnsw_ops
#else
#define HNSW_OPS NULL
#endif
#if __has_include("index/index_graph.c")
#define GRAPH_OPS &index_graph_ops
#else
#define GRAPH_OPS NULL
#endif
#define IVF_OPS &index_ivf_ops

const struct index_ops *index_ops_of(enum index_kind kind)
{
    switch (kind) {
    case INDEX_FLAT: return &index_flat_ops;
    case INDEX_HNSW: return HNSW_OPS;
    case INDEX_GRAPH: return GRAPH_OPS;
    case INDEX_IVF: return IVF_OPS;
    case INDEX_SPARSE: return &index_sparse_ops;
    }
    return NULL;
}

void index_ranges_release(struct index_ranges *r)
{
    if (r->a != NULL) {
        mem_free(r->a, r->offsets, (r->n + 1) * sizeof *r->offsets);
        mem_free(r->a, r->positions, r->capacity * sizeof *r->positions);
        mem_free(r->a, r->distances, r->capacity * sizeof *r->distances);
    }
    *r = (struct index_ranges){ 0 };
}
