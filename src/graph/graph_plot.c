/* SPDX-License-Identifier: Apache-2.0 */
/* Degrees as curves: how many nodes have at least so many edges (grebe/graph_stats.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_dataset.h"
#include "graph/graph_degrees.h"
#include "graph/graph_types.h"
#include "grebe/graph_stats.h"
#include "plot/plot.h"

enum { TYPES_MAX = 6, POINTS_MAX = 1024 };
static const double STEP = 1.04; /* degrees nearer to each other than that are one point */

struct picture {
    struct arena ar;
    struct plot_series series[2 * TYPES_MAX];
    size_t n_series;
};

static char *format_text(struct arena *ar, const char *before, const char *type)
{
    char text[300];
    int n = snprintf(text, sizeof text, type == NULL ? "%s-degree" : "%s %s", before, type);
    return arena_str(ar, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static grebe_status add_curve(struct picture *p, const char *before, const char *type, const struct graph_histogram *h,
                              grebe_error *err)
{
    struct plot_point *points = arena_array(&p->ar, POINTS_MAX, sizeof *points);
    char *name = format_text(&p->ar, before, type);
    int64_t degree = 0, n_here = 0, n_left = h->n_nodes - h->dense[0];
    size_t n = 0;
    if (points == NULL || name == NULL) {
        return mem_fail(err, POINTS_MAX * sizeof *points, "a picture");
    }
    while (graph_histogram_next(h, degree, &degree, &n_here)) {
        const bool is_near = n > 0 && (double)degree < points[n - 1].x * STEP;
        if ((!is_near || n_left == n_here) && n < POINTS_MAX) {
            points[n++] = (struct plot_point){ .x = (double)degree, .y = (double)n_left };
        }
        n_left -= n_here;
    }
    if (n > 0) {
        p->series[p->n_series++] = (struct plot_series){ name, points, n };
    }
    return GREBE_OK;
}

/* Ids of the types with most edges, at most TYPES_MAX, in the order of the ids. */
static grebe_status largest_types(const grebe_graph *graph, const struct call *call, size_t *types, size_t *n, grebe_error *err)
{
    const size_t n_types = graph_n_edge_types(&graph->csc);
    grebe_status st = GREBE_OK;
    int64_t *counts = mem_alloc_zero(graph->ctx->a, n_types * sizeof *counts);
    *n = 0;
    if (counts == NULL) {
        return mem_fail(err, n_types * sizeof *counts, "types");
    }
    if (n_types > TYPES_MAX) {
        GREBE_TRY(graph_edges_count(&graph->csc, call, counts, err));
    }
    for (size_t k = 0; k < TYPES_MAX && k < n_types; k++) {
        size_t best = 0;
        for (size_t t = 1; t < n_types; t++) {
            best = counts[t] > counts[best] ? t : best;
        }
        counts[best] = -1;
    }
    for (size_t t = 0; t < n_types; t++) {
        if (counts[t] == -1) {
            types[(*n)++] = t;
        }
    }
out:
    mem_free(graph->ctx->a, counts, n_types * sizeof *counts);
    return st;
}

static grebe_status add_types(const grebe_graph *graph, const struct call *call, struct picture *p, grebe_error *err)
{
    const struct graph_csc *g = &graph->csc;
    size_t types[TYPES_MAX], n = 0;
    grebe_status st = largest_types(graph, call, types, &n, err);
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        struct graph_degree_counts counts;
        const char *type = grebe_graph_edge_type(graph, types[i]);
        st = graph_degrees_count(g, types[i], call, &counts, err);
        st = st == GREBE_OK ? add_curve(p, "in", type, &counts.in, err) : st;
        st = st == GREBE_OK ? add_curve(p, "out", type, &counts.out, err) : st;
        graph_degrees_release(g->ctx->a, &counts);
    }
    return st;
}

grebe_status grebe_graph_plot_degrees(const grebe_graph *graph, const grebe_graph_plot_options *options, grebe_write_fn write,
                                      void *write_ctx, grebe_error *err)
{
    GREBE_CHECK_ARG(err, graph != NULL && write != NULL);
    grebe_graph_plot_options o = GREBE_GRAPH_PLOT_OPTIONS_INIT;
    struct buf text = BUF_INIT(graph->ctx->a);
    struct picture p = { .ar = ARENA_INIT(graph->ctx->a) };
    char subtitle[160];
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st != GREBE_OK) {
        return st;
    }
    const struct graph_csc *g = graph_dataset_csc(graph);
    if (g == NULL || g->n_edges == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "there is no edge to draw");
    }
    const struct call call = call_options_resolve(graph->ctx, o.call);
    const size_t n_types = graph_n_edge_types(g);
    int n = snprintf(subtitle, sizeof subtitle, "%lld nodes, %lld edges", (long long)g->n_nodes, (long long)g->n_edges);
    if (n_types > TYPES_MAX) {
        snprintf(subtitle + n, sizeof subtitle - (size_t)n, "; the %d of %zu types with most edges", TYPES_MAX, n_types);
    }
    GREBE_TRY(add_types(graph, &call, &p, err));
    const char *title = o.title != NULL ? o.title : graph->metadata->dataset_name;
    struct plot_chart chart = { .title = title != NULL ? title : "Degrees",
                                .subtitle = subtitle,
                                .x = { "degree", PLOT_LOG, 0 },
                                .y = { "nodes of at least that degree", PLOT_LOG, 0 },
                                .series = p.series,
                                .n = p.n_series };
    GREBE_TRY(o.is_html ? plot_chart_html(&chart, &text, err) : plot_chart_svg(&chart, &text, err));
    int failed = write(write_ctx, text.data, text.len);
    if (failed != 0) {
        st = GREBE_FAIL(err, GREBE_EIO, "the picture cannot be written: %s", strerror(failed));
    }
out:
    arena_release(&p.ar);
    buf_release(&text);
    return st;
}
