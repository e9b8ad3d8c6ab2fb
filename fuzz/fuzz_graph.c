/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets of graphs of anybody (the first byte says which file): metadata.yaml of either kind, a text of edges, the
 * file of a graph. Whatever the bytes, problems with their places, or a graph that can be verified, read and sampled; in allocations that
 * the size of the file bounds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tests/support/graph_use.h"
#include "base/context_internal.h"
#include "bounded_memory.h"
#include "fuzz_require.h"
#include "graph/graph_edges.h"
#include "graph/graph_metadata.h"
#include "grebe/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_file(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    require(f != NULL && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

static void read_metadata(grebe_context *ctx, const char *folder, enum graph_dialect dialect)
{
    struct graph_metadata *m = NULL;
    struct buf b = BUF_INIT(ctx->a);
    char path[300];
    snprintf(path, sizeof path, "%s/metadata.yaml", folder);
    if (graph_metadata_read(ctx, path, folder, dialect, false, &m, NULL) == GREBE_OK) {
        if (m->n_errors == 0 && graph_metadata_check_files(m, false, NULL) == GREBE_OK && m->root != NULL) {
            bounded_memory()->most_bytes = SIZE_MAX; /* a text with its aliases written out */
            (void)!graph_yaml_dump(&b, m->root, NULL);
        }
        graph_metadata_free(m);
    }
    buf_release(&b);
}

static void read_edges(grebe_context *ctx, const char *folder)
{
    static const char text[] = "graph:\n  nodes: [{num: 100}]\n  edges: [{format: csv, path: e.csv}]\n";
    static int64_t ends[2][GRAPH_BLOCK_EDGES + 1];
    struct graph_metadata *m = NULL;
    struct graph_edges e = { 0 };
    const struct graph_csv_options csv = { 0 };
    char path[300];
    put_file(folder, "metadata.yaml", text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/metadata.yaml", folder);
    if (graph_metadata_read(ctx, path, folder, GRAPH_RAW, false, &m, NULL) != GREBE_OK) {
        return;
    }
    if (m->n_errors == 0 && graph_edges_open(m, 0, &csv, &e, NULL) == GREBE_OK) { /* without YAML nothing is read */
        grebe_error err = GREBE_ERROR_INIT;
        for (size_t i = 0; i < e.n_blocks; i++) {
            size_t n = 0;
            if (graph_edges_read(&e, i, ends[0], ends[1], &n, &err) == GREBE_OK) {
                for (size_t k = 0; k < n; k++) {
                    require((uint64_t)ends[0][k] < 100 && (uint64_t)ends[1][k] < 100);
                }
            }
        }
    }
    graph_edges_close(&e);
    graph_metadata_free(m);
}

static void read_graph(grebe_context *ctx, const char *folder)
{
    static const char text[] = "graph_topology: {type: FusedCSCSamplingGraph, path: preprocessed/g.pt}\n";
    grebe_graph *g = NULL;
    put_file(folder, "metadata.yaml", text, sizeof text - 1);
    if (grebe_graph_open(ctx, folder, &g, NULL) == GREBE_OK) {
        (void)!grebe_graph_verify(g, NULL, NULL, NULL);
        bounded_memory()->most_bytes = SIZE_MAX; /* samplers take as much as the graph has nodes, however few bytes tell of these */
        graph_use(g);
        grebe_graph_close(g);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[200];
    static grebe_context *ctx;
    if (folder[0] == '\0') {
        const char *temp = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/fuzz_graph.%ld", temp != NULL ? temp : "/tmp", (long)getpid());
        grebe_context_options o = { .struct_size = sizeof o, .threads = 1, .open_files_max = UINT32_MAX, .allocator = &bounded_memory()->allocator };
        require(mkdir(folder, 0700) == 0 && context_new(&o, &ctx, NULL) == GREBE_OK);
    }
    if (size == 0) {
        return 0;
    }
    bounded_memory()->most_bytes = bounded_bytes(size);
    switch (data[0]) {
    case 'm':
    case 'p':
        put_file(folder, "metadata.yaml", data + 1, size - 1);
        read_metadata(ctx, folder, data[0] == 'm' ? GRAPH_RAW : GRAPH_PREPROCESSED);
        break;
    case 'e':
        put_file(folder, "e.csv", data + 1, size - 1);
        read_edges(ctx, folder);
        break;
    default:
        put_file(folder, "g.pt", data + 1, size - 1);
        read_graph(ctx, folder);
        break;
    }
    bounded_memory()->most_bytes = SIZE_MAX;
    return 0;
}
