/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"

const struct index_ops *index_ops_of(enum index_kind kind)
{
    switch (kind) {
    case INDEX_FLAT: return &index_flat_ops;
    case INDEX_HNSW: return &index_hnsw_ops;
    case INDEX_GRAPH: return &index_graph_ops;
    case INDEX_IVF: return &index_ivf_ops;
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
