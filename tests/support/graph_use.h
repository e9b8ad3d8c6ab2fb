/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_GRAPH_USE_H
#define GREBE_TEST_GRAPH_USE_H

/*
 * All that can be asked of a graph, whose file may be anybody's: no status is wrong, no byte may be touched that is not the
 * graph's. For tests of damaged files and for the fuzzer.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/graph_types.h"
#include "grebe/graph_stats.h"
#include "grebe/graph_parts.h"
#include "grebe/graph_sample.h"

enum { GRAPH_USE_ROWS = 100, GRAPH_USE_BYTES = 1 << 20, GRAPH_USE_MOST = 1 << 16 };

/* The first rows and the last of each column, into memory that has room for these alone. */
static inline void graph_use_part(grebe_graph *g, const struct graph_part *part)
{
    struct matrix m;
    const struct call call = call_options_resolve(g->ctx, NULL);
    if (graph_part_matrix(g, false, part, &call, &m, NULL) != GREBE_OK) {
        return;
    }
    const uint64_t n = m.n_rows < GRAPH_USE_ROWS ? m.n_rows : GRAPH_USE_ROWS;
    const bool is_ready = m.prepare(m.file, &call, NULL) == GREBE_OK;
    for (size_t i = 0; i < m.n_columns && n > 0 && is_ready; i++) {
        const uint64_t width = m.columns[i].width, bytes = width <= GRAPH_USE_BYTES ? n * width * matrix_element_bytes(m.columns[i].format) : 0;
        if (bytes > 0 && bytes <= GRAPH_USE_BYTES) {
            unsigned char *rows = malloc((size_t)bytes);
            (void)!m.read(m.file, i, 0, n, rows, NULL);
            (void)!m.read(m.file, i, m.n_rows - n, n, rows, NULL);
            free(rows);
        }
    }
    m.close(m.file);
}

static inline void graph_use_sampler(const grebe_graph *g, const grebe_graph_sampling *how)
{
    const struct graph_csc *c = graph_dataset_csc(g);
    int64_t ids[GRAPH_USE_ROWS];
    grebe_graph_sampler *s = NULL;
    for (int64_t i = 0; i < GRAPH_USE_ROWS; i++) {
        ids[i] = i;
    }
    if (grebe_graph_sampler_new(g, how, 1, &s, NULL) != GREBE_OK) {
        return;
    }
    for (size_t t = 0; t < graph_n_node_types(c); t++) {
        const grebe_graph_batch *b = NULL;
        const int64_t n = graph_type_count(c, t);
        const grebe_graph_seeds seeds = { grebe_graph_node_type(g, t), ids, n < GRAPH_USE_ROWS ? n : GRAPH_USE_ROWS, NULL };
        (void)!grebe_graph_sampler_run(s, &seeds, 1, 1, &b, NULL);
    }
    grebe_graph_sampler_free(s);
}

static inline void graph_use(grebe_graph *g)
{
    static const int64_t all[] = { GREBE_GRAPH_ALL, GREBE_GRAPH_ALL }, some[] = { 2, 2 };
    const struct graph_csc *c = graph_dataset_csc(g);
    struct graph_part part;
    char name[GRAPH_PART_ROOM];
    (void)!grebe_graph_verify(g, NULL, NULL, NULL);
    if (c == NULL || c->n_nodes > GRAPH_USE_MOST || c->n_edges > GRAPH_USE_MOST) {
        return;
    }
    for (size_t k = 0; graph_part_at(g, k, &part, name); k++) {
        graph_use_part(g, &part);
    }
    for (size_t t = 0; t < graph_n_edge_types(c); t++) {
        grebe_graph_edge_stats stats;
        (void)!grebe_graph_get_edge_stats(g, t, NULL, &stats, NULL);
    }
    int64_t *counts = malloc((graph_n_node_types(c) + graph_n_edge_types(c)) * sizeof *counts);
    (void)!grebe_graph_isolated_nodes(g, NULL, counts, NULL);
    (void)!grebe_graph_num_edges(g, NULL, counts, NULL);
    free(counts);
    for (size_t i = 0; i < 4; i++) {
        grebe_graph_sampling how = GREBE_GRAPH_SAMPLING_INIT;
        how.fanouts = i == 0 ? all : some;
        how.n_layers = 2;
        how.method = i == 2 ? GREBE_GRAPH_LAYER : GREBE_GRAPH_NEIGHBORS;
        how.with_replacement = i == 3;
        graph_use_sampler(g, &how);
    }
}

#endif
