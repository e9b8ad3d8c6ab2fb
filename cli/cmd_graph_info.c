/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe graph info`: what a preprocessed data set holds, degrees of its nodes, and their picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "opt.h"
#include "out.h"
#include "picture.h"
#include "rows.h"

static const char *const columns_of_info[] = { "kind:text",  "name:text",     "rows:int", "type:text",
                                               "shape:text", "metadata:text", NULL };

static void shape_text(const grebe_graph_array *a, char *dst, size_t room)
{
    size_t len = 0;
    dst[0] = '\0';
    for (uint32_t i = 0; i < a->rank && len + 24 < room; i++) {
        len += (size_t)snprintf(dst + len, room - len, i == 0 ? "%llu" : "x%llu", (unsigned long long)a->shape[i]);
    }
}

static void add(struct rows *rows, const char *kind, const char *name, int64_t n, const grebe_graph_array *a,
                const char *metadata)
{
    char shape[240] = "";
    if (a != NULL) {
        shape_text(a, shape, sizeof shape);
    }
    rows_text(rows, kind);
    rows_text(rows, name);
    rows_int(rows, n);
    rows_text(rows, a != NULL ? a->type : NULL);
    rows_text(rows, a != NULL ? shape : NULL);
    rows_text(rows, metadata);
}

/* A number with the fewest digits that read back to the same bits. */
static void number_text(double v, char dst[32])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(dst, 32, "%.*g", digits, v);
        if (strtod(dst, NULL) == v) {
            return;
        }
    }
}

static void add_degrees(struct rows *rows, const char *kind, const char *name, const grebe_graph_degrees *d)
{
    char mean[32], text[320];
    number_text(d->mean, mean);
    snprintf(text, sizeof text,
             "{\"min\":%lld,\"p50\":%lld,\"p90\":%lld,\"p99\":%lld,\"max\":%lld,\"zero\":%lld,\"mean\":%s}", (long long)d->min,
             (long long)d->p50, (long long)d->p90, (long long)d->p99, (long long)d->max, (long long)d->n_zero, mean);
    add(rows, kind, name, d->n_nodes, NULL, text);
}

/* What needs all edges to be read. */
static int add_stats(struct cli *cli, struct rows *rows, const grebe_graph *g, const grebe_graph_info *info)
{
    grebe_error err = GREBE_ERROR_INIT;
    const size_t n_node_types = info->n_node_types > 0 ? info->n_node_types : 1;
    const size_t n_edge_types = info->n_edge_types > 0 || info->n_node_types > 0 ? info->n_edge_types : 1;
    int64_t *isolated = cli_alloc(cli, n_node_types, sizeof *isolated);
    if (grebe_graph_isolated_nodes(g, &cli->call, isolated, &err) != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    for (size_t i = 0; i < n_node_types; i++) {
        add(rows, "isolated nodes", grebe_graph_node_type(g, i), isolated[i], NULL, NULL);
    }
    for (size_t i = 0; i < n_edge_types; i++) {
        grebe_graph_edge_stats s;
        const char *name = grebe_graph_edge_type(g, i);
        if (grebe_graph_get_edge_stats(g, i, &cli->call, &s, &err) != GREBE_OK) {
            return out_error(cli, cli->cmd->name, &err);
        }
        if (name != NULL) {
            add(rows, "edge type", name, s.n_edges, NULL, NULL);
        }
        add(rows, "self loops", name, s.n_self_loops, NULL, NULL);
        add_degrees(rows, "in-degree", name, &s.in);
        add_degrees(rows, "out-degree", name, &s.out);
    }
    return 0;
}

static int add_graph(struct cli *cli, struct rows *rows, const grebe_graph *g, const grebe_graph_info *info)
{
    const char *name;
    grebe_graph_array a;
    int code = 0;
    add(rows, "dataset", info->name, INT64_MIN, NULL, NULL);
    if (!info->has_graph) {
        return 0;
    }
    add(rows, "nodes", NULL, info->n_nodes, &info->indptr, NULL);
    add(rows, "edges", NULL, info->n_edges, &info->indices, NULL);
    for (size_t i = 0; i < info->n_node_types; i++) {
        add(rows, "node type", grebe_graph_node_type(g, i), grebe_graph_num_nodes(g, i), NULL, NULL);
    }
    if (opt_has(cli, "quick")) {
        for (size_t i = 0; i < info->n_edge_types; i++) {
            add(rows, "edge type", grebe_graph_edge_type(g, i), INT64_MIN, NULL, NULL);
        }
    } else {
        code = add_stats(cli, rows, g, info);
    }
    for (int is_edge = 0; is_edge < 2; is_edge++) {
        for (size_t i = 0; (name = grebe_graph_attribute(g, is_edge == 1, i, &a)) != NULL; i++) {
            add(rows, is_edge == 1 ? "edge attribute" : "node attribute", name, (int64_t)a.shape[0], &a, NULL);
        }
    }
    return code;
}

static int add_features(struct cli *cli, struct rows *rows, const grebe_graph *g, size_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    for (size_t i = 0; i < n; i++) {
        grebe_graph_feature f;
        grebe_graph_array a;
        char name[600];
        if (grebe_graph_get_feature(g, i, &f, &err) != GREBE_OK ||
            grebe_graph_feature_values(g, i, &a, &err) != GREBE_OK) {
            return out_error(cli, cli->cmd->name, &err);
        }
        snprintf(name, sizeof name, "%s:%s:%s", f.domain, f.type != NULL ? f.type : "", f.name);
        add(rows, f.is_in_memory ? "feature" : "feature on disk", name, a.rank > 0 ? (int64_t)a.shape[0] : INT64_MIN,
            &a, strcmp(f.metadata, "{}") != 0 ? f.metadata : NULL);
    }
    return 0;
}

static int add_set(struct cli *cli, struct rows *rows, const grebe_graph *g, size_t task, grebe_graph_set set)
{
    static const char *const names[] = { "train set", "validation set", "test set" };
    grebe_error err = GREBE_ERROR_INIT;
    for (size_t p = 0; p < grebe_graph_set_parts(g, task, set); p++) {
        const char *type = NULL, *array = NULL;
        size_t n = grebe_graph_set_part(g, task, set, p, &type);
        for (size_t i = 0; i < n; i++) {
            grebe_graph_array a;
            char name[600];
            if (grebe_graph_set_values(g, task, set, p, i, &array, &a, &err) != GREBE_OK) {
                return out_error(cli, cli->cmd->name, &err);
            }
            snprintf(name, sizeof name, "%zu:%s:%s", task, type != NULL ? type : "", array != NULL ? array : "");
            add(rows, names[set], name, a.rank > 0 ? (int64_t)a.shape[0] : INT64_MIN, &a, NULL);
        }
    }
    return 0;
}

static int draw_degrees(struct cli *cli, const grebe_graph *g, bool is_html)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_plot_options o = GREBE_GRAPH_PLOT_OPTIONS_INIT;
    struct picture p = { NULL, 0, 0 };
    o.is_html = is_html;
    o.call = &cli->call;
    grebe_status st = grebe_graph_plot_degrees(g, &o, picture_take, &p, &err);
    int code = st != GREBE_OK ? out_error(cli, cli->cmd->name, &err) : picture_write(cli, opt_get(cli, "plot"), &p);
    picture_drop(&p);
    return code;
}

int cmd_graph_info(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    grebe_graph_info info;
    bool is_html = false;
    int code = picture_kind(cli, "plot", &is_html);
    if (code != 0) {
        return code;
    }
    if (grebe_graph_open(cli->ctx, cli->positional[0], &g, &err) != GREBE_OK) {
        return out_error(cli, cli->cmd->name, &err);
    }
    struct rows *rows = rows_new(columns_of_info);
    grebe_graph_get_info(g, &info);
    code = add_graph(cli, rows, g, &info);
    code = code != 0 ? code : add_features(cli, rows, g, info.n_features);
    for (size_t i = 0; i < info.n_tasks && code == 0; i++) {
        char name[40];
        snprintf(name, sizeof name, "%zu", i);
        add(rows, "task", name, INT64_MIN, NULL, grebe_graph_task_metadata(g, i));
        for (int s = 0; s < 3 && code == 0; s++) {
            code = add_set(cli, rows, g, i, (grebe_graph_set)s);
        }
    }
    if (code != 0) {
        rows_drop(rows);
    } else {
        code = rows_print(cli, rows);
    }
    if (code == 0 && opt_has(cli, "plot")) {
        code = draw_degrees(cli, g, is_html);
    }
    grebe_graph_close(g);
    return code;
}
