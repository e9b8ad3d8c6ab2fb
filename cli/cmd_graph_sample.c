/* SPDX-License-Identifier: Apache-2.0 */
/* `grebe graph sample`: neighbours of seeds, hop by hop, as rows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "ids.h"
#include "opt.h"
#include "out.h"
#include "rows.h"

static const char *const columns_of_edges[] = { "hop:int", "type:text", "source:int", "target:int", "edge:int", NULL };
static const char *const columns_of_positions[] = { "hop:int", "type:text", "source:int", "target:int", "position:int", NULL };
static const char *const columns_of_nodes[] = { "type:text", "row:int", "node:int", "hop:int", NULL };

/* ---- options ---- */

/* "15,10,5"; with a number for each type of edges "15/10,5/5". "all" and -1: all neighbours. */
static int parse_fanouts(struct cli *cli, const char *text, grebe_graph_sampling *o)
{
    int64_t *fanouts = cli_alloc(cli, strlen(text) / 2 + 2, sizeof *fanouts);
    size_t n = 0, n_here = 0;
    for (const char *p = text;;) {
        char *end = NULL;
        errno = 0;
        long long v = strncmp(p, "all", 3) == 0 ? GREBE_GRAPH_ALL : strtoll(p, &end, 10);
        end = strncmp(p, "all", 3) == 0 ? (char *)(uintptr_t)p + 3 : end;
        if (errno != 0 || end == p || v < GREBE_GRAPH_ALL || (*end != '\0' && *end != ',' && *end != '/')) {
            return out_usage(cli, "--fanouts: expected numbers from -1, or all, such as 15,10,5, found \"%s\"", text);
        }
        fanouts[n++] = v;
        n_here++;
        if (*end != '/') {
            if (o->n_fanouts != 0 && o->n_fanouts != n_here) {
                return out_usage(cli, "--fanouts: expected as many numbers in each layer, found \"%s\"", text);
            }
            o->n_fanouts = n_here;
            o->n_layers++;
            n_here = 0;
        }
        if (*end == '\0') {
            break;
        }
        p = end + 1;
    }
    o->fanouts = fanouts;
    return 0;
}

static int sampling_from(struct cli *cli, grebe_graph_sampling *o)
{
    if (!opt_has(cli, "fanouts")) {
        return out_usage(cli, "expected --fanouts, a number for each hop, the outermost first");
    }
    o->method = opt_has(cli, "labor") ? GREBE_GRAPH_LAYER : GREBE_GRAPH_NEIGHBORS;
    o->with_replacement = opt_has(cli, "replace");
    o->weights = opt_get(cli, "weight");
    return parse_fanouts(cli, opt_get(cli, "fanouts"), o);
}

/* The type of the seeds: --type, or the only one that there is. */
static int seed_type(struct cli *cli, const grebe_graph *g, const char **out)
{
    const char *names[OPT_VALUES_MAX], *given = opt_get(cli, "type");
    char known[300] = "";
    size_t n = 0, len = 0;
    for (; n < OPT_VALUES_MAX && (names[n] = grebe_graph_node_type(g, n)) != NULL; n++) {
        if (len + strlen(names[n]) + 3 < sizeof known) {
            len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", n > 0 ? ", " : "", names[n]);
        }
    }
    *out = given != NULL ? given : n == 1 ? names[0] : NULL;
    if (n > 1 && given == NULL) {
        return out_usage(cli, "expected --type, the type of the seeds, one of: %s", known);
    }
    for (size_t i = 0; given != NULL && i < n; i++) {
        if (strcmp(names[i], given) == 0) {
            return 0;
        }
    }
    if (given != NULL) {
        grebe_error err = GREBE_ERROR_INIT;
        const char *nearest = nearest_word(given, names, n);
        err.status = n == 0 ? GREBE_EINVAL : GREBE_ENOTFOUND;
        snprintf(err.message, sizeof err.message, n == 0 ? "--type: the graph has no types, found %.100s%s%.100s"
                                                         : "--type: no node type \"%.100s\"%s%.100s%s%.300s",
                 given, nearest != NULL ? ": did you mean " : "", nearest != NULL ? nearest : "", "; there are: ", known);
        return out_error(cli, cli->cmd->name, &err);
    }
    return 0;
}

/* ---- rows ---- */

/* Where node types of an edge type are among those of the graph. */
static void ends_of(const grebe_graph *g, size_t edge_type, size_t *from, size_t *to)
{
    const char *name = grebe_graph_edge_type(g, edge_type), *node;
    *from = *to = 0;
    if (name == NULL) {
        return;
    }
    const size_t source_len = strcspn(name, ":");
    const char *target = strrchr(name, ':') + 1;
    for (size_t i = 0; (node = grebe_graph_node_type(g, i)) != NULL; i++) {
        if (strlen(node) == source_len && strncmp(node, name, source_len) == 0) {
            *from = i;
        }
        if (strcmp(node, target) == 0) {
            *to = i;
        }
    }
}

static void add_edges(struct rows *rows, const grebe_graph *g, const grebe_graph_batch *b, size_t n_edge_types)
{
    const size_t n_layers = grebe_graph_batch_n_layers(b);
    for (size_t hop = 1; hop <= n_layers; hop++) {
        for (size_t t = 0; t < n_edge_types; t++) {
            grebe_graph_relation r;
            size_t from, to;
            int64_t n;
            ends_of(g, t, &from, &to);
            const int64_t *sources = grebe_graph_batch_nodes(b, from, &n), *targets = grebe_graph_batch_nodes(b, to, &n);
            grebe_graph_batch_relation(b, n_layers - hop, t, &r);
            for (int64_t c = 0; c < r.n_columns; c++) {
                for (int64_t e = r.indptr[c]; e < r.indptr[c + 1]; e++) {
                    rows_int(rows, (int64_t)hop);
                    rows_text(rows, grebe_graph_edge_type(g, t));
                    rows_int(rows, sources[r.indices[e]]);
                    rows_int(rows, targets[c]);
                    rows_int(rows, r.edges[e]);
                }
            }
        }
    }
}

static void add_nodes(struct cli *cli, struct rows *rows, const grebe_graph *g, const grebe_graph_batch *b, size_t n_node_types)
{
    const size_t n_hops = grebe_graph_batch_n_layers(b) + 1;
    int64_t *per_hop = cli_alloc(cli, n_hops, sizeof *per_hop);
    for (size_t t = 0; t < n_node_types; t++) {
        int64_t n = 0, row = 0;
        const int64_t *ids = grebe_graph_batch_nodes(b, t, &n);
        grebe_graph_batch_nodes_per_hop(b, t, per_hop);
        for (size_t hop = 0; hop < n_hops; hop++) {
            for (int64_t i = 0; i < per_hop[hop] && row < n; i++, row++) {
                rows_text(rows, grebe_graph_node_type(g, t));
                rows_int(rows, row);
                rows_int(rows, ids[row]);
                rows_int(rows, (int64_t)hop);
            }
        }
    }
}

/* Whether edges are known by their numbers in the edge file; else by where they stand in the graph. */
static bool has_edge_ids(const grebe_graph *g)
{
    grebe_graph_array values;
    const char *name;
    for (size_t i = 0; (name = grebe_graph_attribute(g, true, i, &values)) != NULL; i++) {
        if (strcmp(name, "_ORIGINAL_EDGE_ID") == 0) {
            return true;
        }
    }
    return false;
}

static int print_batch(struct cli *cli, const grebe_graph *g, const grebe_graph_batch *b)
{
    grebe_graph_info info;
    const bool is_nodes = opt_has(cli, "nodes");
    struct rows *rows = rows_new(is_nodes ? columns_of_nodes : has_edge_ids(g) ? columns_of_edges : columns_of_positions);
    grebe_graph_get_info(g, &info);
    if (is_nodes) {
        add_nodes(cli, rows, g, b, info.n_node_types > 0 ? info.n_node_types : 1);
    } else {
        add_edges(rows, g, b, info.n_node_types > 0 ? info.n_edge_types : 1);
    }
    return rows_print(cli, rows);
}

static int sample(struct cli *cli, const grebe_graph *g, const grebe_graph_sampling *o, const struct ids *ids)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_sampler *sampler = NULL;
    const grebe_graph_batch *batch = NULL;
    grebe_graph_seeds seeds = { .ids = ids->data, .n = (int64_t)ids->n };
    int64_t seed = 0;
    int code = seed_type(cli, g, &seeds.type);
    code = code != 0 ? code : opt_int(cli, "seed", 0, INT64_MAX, &seed);
    if (code != 0) {
        return code;
    }
    grebe_status st = grebe_graph_sampler_new(g, o, cli->call.threads, &sampler, &err);
    st = st == GREBE_OK ? grebe_graph_sampler_run(sampler, &seeds, 1, (uint64_t)seed, &batch, &err) : st;
    code = st == GREBE_OK ? print_batch(cli, g, batch) : out_error(cli, cli->cmd->name, &err);
    grebe_graph_sampler_free(sampler);
    return code;
}

int cmd_graph_sample(struct cli *cli)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_sampling o = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph *g = NULL;
    struct ids ids = { 0 };
    if (opt_has(cli, "seeds") == opt_has(cli, "seeds-from")) {
        return out_usage(cli, "expected one of --seeds LIST and --seeds-from FILE");
    }
    int code = sampling_from(cli, &o);
    code = code != 0                ? code
           : opt_has(cli, "seeds") ? ids_parse(cli, opt_get(cli, "seeds"), &ids)
                                   : ids_read(cli, opt_get(cli, "seeds-from"), &ids);
    if (code == 0 && grebe_graph_open(cli->ctx, cli->positional[0], &g, &err) != GREBE_OK) {
        code = out_error(cli, cli->cmd->name, &err);
    }
    code = code != 0 ? code : sample(cli, g, &o, &ids);
    ids_drop(&ids);
    grebe_graph_close(g);
    return code;
}
