/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_GRAPH_DATA_H
#define GREBE_TEST_GRAPH_DATA_H

/* Data sets that tests of preprocessing make. */

#include <stdio.h>
#include <stdlib.h>

#include "array/tensor.h"
#include "grebe/graph.h"
#include "test_fixture.h"
#include "test_support.h"

static inline void path_in(struct fixture *f, const char *name, char *dst, size_t room)
{
    snprintf(dst, room, "%s/%s", f->folder, name);
}

static inline void put(struct fixture *f, const char *name, const void *bytes, size_t n)
{
    char path[700];
    path_in(f, name, path, sizeof path);
    test_write_file(path, bytes, n);
}

static inline void put_npy(struct fixture *f, const char *name, int type, const uint64_t *shape, unsigned rank,
                    const void *values, size_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(f->ctx->a);
    assert_ok(tensor_npy_header(&b, type, shape, rank, &err));
    assert_ok(buf_put(&b, values, n, &err));
    put(f, name, b.data, b.len);
    buf_release(&b);
}

/* Two node types, three edge types, weights whose value tells the row; n edges each. */
static inline void make_data(struct fixture *f, uint64_t n, int32_t n_a, int32_t n_b)
{
    static const char *const ends[] = { "ab", "ba", "aa" };
    char text[3000], *p = text, name[40];
    p += sprintf(p, "graph:\n  nodes: [{type: b, num: %d}, {type: a, num: %d}]\n  edges:\n", n_b, n_a);
    for (int i = 0; i < 3; i++) {
        p += sprintf(p, "  - {type: '%c:r%d:%c', format: numpy, path: e%d.npy}\n", ends[i][0], i, ends[i][1], i);
    }
    p += sprintf(p, "  feature_data:\n");
    int32_t *e = malloc(n * 8);
    int64_t *w = malloc(n * 8);
    uint64_t seed = f->seed | 1;
    for (int i = 0; i < 3; i++) {
        int32_t from = ends[i][0] == 'a' ? n_a : n_b, to = ends[i][1] == 'a' ? n_a : n_b;
        p += sprintf(p, "  - {domain: edge, type: '%c:r%d:%c', name: w, format: numpy, path: w%d.npy}\n", ends[i][0], i,
                     ends[i][1], i);
        for (uint64_t k = 0; k < n; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            e[k] = (int32_t)((seed >> 33) % (uint64_t)from);
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t x = (seed >> 33) % (uint64_t)to; /* many edges of few nodes */
            e[n + k] = (int32_t)(k % 3 == 0 ? x % 3 : x);
            w[k] = i * 100000000 + (int64_t)k;
        }
        sprintf(name, "e%d.npy", i);
        put_npy(f, name, ARRAY_I32, (uint64_t[]){ 2, n }, 2, e, n * 8);
        sprintf(name, "w%d.npy", i);
        put_npy(f, name, ARRAY_I64, (uint64_t[]){ n }, 1, w, n * 8);
    }
    free(e);
    free(w);
    put(f, "metadata.yaml", text, (size_t)(p - text));
}

#endif
