/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_batch.h"

#include <string.h>

#include "base/rng.h"
#include "graph/graph_types.h"

/* Pairs of ids of 64 bits, hashed whole; a slot is empty while its source is -1. */
struct pair_set {
    int64_t (*slots)[2];
    size_t n_slots;
};

static size_t pair_find(const struct pair_set *set, int64_t source, int64_t target)
{
    size_t at = (size_t)rng_mix(rng_mix((uint64_t)source + 1) + (uint64_t)target) & (set->n_slots - 1);
    while (set->slots[at][0] != -1 && (set->slots[at][0] != source || set->slots[at][1] != target)) {
        at = (at + 1) & (set->n_slots - 1);
    }
    return at;
}

/* Those that are said of a type of edges. */
static grebe_status pair_set_of(const grebe_allocator *a, const struct graph_pairs *pairs, size_t n_pairs, size_t type,
                                struct pair_set *out, grebe_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        n += pairs[i].type == type || pairs[i].type == SIZE_MAX ? (size_t)pairs[i].n : 0;
    }
    *out = (struct pair_set){ NULL, n == 0 ? 0 : 16 };
    if (n == 0) {
        return GREBE_OK;
    }
    while (out->n_slots < 2 * n) {
        out->n_slots *= 2;
    }
    out->slots = mem_alloc(a, out->n_slots * sizeof *out->slots);
    if (out->slots == NULL) {
        return mem_fail(err, out->n_slots * sizeof *out->slots, "edges to leave out");
    }
    memset(out->slots, 0xff, out->n_slots * sizeof *out->slots);
    for (size_t i = 0; i < n_pairs; i++) {
        for (int64_t j = 0; (pairs[i].type == type || pairs[i].type == SIZE_MAX) && j < pairs[i].n; j++) {
            int64_t source = pairs[i].sources[j], target = pairs[i].targets[j];
            if (source >= 0 && target >= 0) {
                size_t at = pair_find(out, source, target);
                out->slots[at][0] = source;
                out->slots[at][1] = target;
            }
        }
    }
    return GREBE_OK;
}

static void leave_out(const struct pair_set *set, struct graph_relation *r, const int64_t *sources, const int64_t *targets)
{
    int64_t kept = 0, begin = 0;
    for (int64_t c = 0; c + 1 < r->indptr.n; c++) {
        int64_t end = r->indptr.v[c + 1];
        for (int64_t i = begin; i < end; i++) {
            size_t at = pair_find(set, sources[r->indices.v[i]], targets[c]);
            if (set->slots[at][0] == -1) {
                r->indices.v[kept] = r->indices.v[i];
                r->edges.v[kept++] = r->edges.v[i];
            }
        }
        begin = end;
        r->indptr.v[c + 1] = kept;
    }
    r->indices.n = kept;
    r->edges.n = kept;
}

grebe_status graph_batch_exclude(struct graph_batch *b, const struct graph_pairs *pairs, size_t n_pairs, grebe_error *err)
{
    for (size_t r = 0; r < b->n_edge_types; r++) {
        struct pair_set set;
        grebe_status st = pair_set_of(b->g->ctx->a, pairs, n_pairs, r, &set, err);
        if (st != GREBE_OK) {
            return st;
        }
        for (size_t i = 0; set.slots != NULL && i < b->n_layers; i++) {
            leave_out(&set, &b->layers[i].relations[r], b->nodes[graph_edge_source_type(b->g, r)].v,
                      b->nodes[graph_edge_target_type(b->g, r)].v);
        }
        mem_free(b->g->ctx->a, set.slots, set.n_slots * sizeof *set.slots);
    }
    return GREBE_OK;
}
