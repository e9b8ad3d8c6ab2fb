/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/csc_build.h"

#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "graph/csc_columns.h"
#include "graph/csc_count.h"
#include "graph/csc_decode.h"

int csc_type_of_types(size_t n)
{
    return n <= 256 ? ARRAY_U8 : n <= 32768 ? ARRAY_I16 : n <= (size_t)INT32_MAX ? ARRAY_I32 : ARRAY_I64;
}

void csc_put_ends(const struct csc_build *b, int64_t begin, int64_t n, unsigned char *dst)
{
    for (int64_t i = 0; i < n; i++) {
        if (b->indptr_type == ARRAY_I32) {
            store_le32(dst + i * 4, (uint32_t)b->ends[begin + i]);
        } else {
            store_le64(dst + i * 8, (uint64_t)b->ends[begin + i]);
        }
    }
}

/* ---- types in order ---- */

/* Few: insertion is enough up to some thousands, so merge runs. */
static void sort_names(size_t *order, size_t *other, size_t n, const char *const *names)
{
    for (size_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * width) {
            size_t middle = min_size(begin + width, n), end = min_size(begin + 2 * width, n), x = begin, y = middle;
            for (size_t k = begin; k < end; k++) {
                bool is_first = y == end || (x < middle && strcmp(names[order[x]], names[order[y]]) <= 0);
                other[k] = is_first ? order[x++] : order[y++];
            }
        }
        memcpy(order, other, n * sizeof *order);
    }
}

static grebe_status order_types(struct csc_build *b, grebe_error *err)
{
    struct graph_metadata *m = b->m;
    size_t n = m->n_nodes > m->n_edges ? m->n_nodes : m->n_edges;
    const char **names = arena_array(&m->arena, n, sizeof *names);
    size_t *other = arena_array(&m->arena, n, sizeof *other);
    b->node_order = arena_array(&m->arena, m->n_nodes, sizeof *b->node_order);
    b->edge_order = arena_array(&m->arena, m->n_edges, sizeof *b->edge_order);
    b->node_offset = arena_array(&m->arena, m->n_nodes + 1, sizeof *b->node_offset);
    b->edges_of = arena_array(&m->arena, m->n_edges, sizeof *b->edges_of);
    b->source_offset = arena_array(&m->arena, m->n_edges, sizeof *b->source_offset);
    b->destination_offset = arena_array(&m->arena, m->n_edges, sizeof *b->destination_offset);
    if (names == NULL || other == NULL || b->node_order == NULL || b->edge_order == NULL || b->node_offset == NULL ||
        b->edges_of == NULL || b->source_offset == NULL || b->destination_offset == NULL) {
        return mem_fail(err, n * sizeof *names, m->shown);
    }
    for (size_t i = 0; i < m->n_nodes; i++) {
        names[i] = m->nodes[i].type != NULL ? m->nodes[i].type : "";
    }
    sort_names(b->node_order, other, m->n_nodes, names);
    for (size_t i = 0; i < m->n_edges; i++) {
        names[i] = m->edges[i].type != NULL ? m->edges[i].type : "";
    }
    sort_names(b->edge_order, other, m->n_edges, names);
    for (size_t i = 0; i < m->n_nodes; i++) {
        if (!checked_add_i64(b->node_offset[i], m->nodes[b->node_order[i]].num, &b->node_offset[i + 1])) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "%s: more nodes than 2^63 - 1", m->shown);
        }
    }
    b->n_nodes = b->node_offset[m->n_nodes];
    for (size_t i = 0; i < m->n_nodes; i++) {
        other[b->node_order[i]] = i; /* id by entry */
    }
    for (size_t i = 0; i < m->n_edges; i++) {
        const struct graph_edge_spec *e = &m->edges[b->edge_order[i]];
        b->source_offset[i] = b->node_offset[other[e->source]];
        b->destination_offset[i] = b->node_offset[other[e->destination]];
    }
    return GREBE_OK;
}


/* ---- files ---- */

static grebe_status open_files(struct csc_build *b, grebe_error *err)
{
    for (size_t i = 0; i < b->m->n_edges; i++) {
        grebe_status st = graph_edges_open(b->m, b->edge_order[i], &b->options.csv, &b->files[i], err);
        if (st != GREBE_OK) {
            return st;
        }
        b->edges_of[i] = graph_edges_are_plain(&b->files[i]) ? (int64_t)b->files[i].array.shape[1] : 0;
    }
    return GREBE_OK;
}

/* How many there are is known now, of text too: rows that are not so many are problems. */
static grebe_status number_edges(struct csc_build *b, grebe_error *err)
{
    for (size_t i = 0; i < b->m->n_edges; i++) {
        b->m->edges[b->edge_order[i]].n_edges = b->edges_of[i];
        if (!checked_add_i64(b->n_edges, b->edges_of[i], &b->n_edges)) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "%s: more edges than 2^63 - 1", b->m->shown);
        }
        grebe_status st = b->options.allows_row_mismatch ? GREBE_OK : graph_metadata_check_rows(b->m, b->edge_order[i], err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return b->options.allows_row_mismatch ? GREBE_OK : graph_problems_status(b->m, err);
}

/* ---- types of the arrays ---- */

static void choose_types(struct csc_build *b)
{
    const struct graph_metadata *m = b->m;
    bool is_narrow = m->n_edges > 0;
    for (size_t i = 0; i < m->n_edges; i++) {
        is_narrow =
            is_narrow && b->files[i].text == NULL && b->files[i].rows == NULL && b->files[i].array.type == ARRAY_I32;
    }
    bool edges_fit = b->n_edges <= INT32_MAX, nodes_fit = b->n_nodes <= INT32_MAX;
    if (b->options.is_cast) {
        b->indptr_type = edges_fit ? ARRAY_I32 : ARRAY_I64;
        b->indices_type = nodes_fit ? ARRAY_I32 : ARRAY_I64;
    } else { /* the type of the files */
        b->indptr_type = is_narrow && edges_fit ? ARRAY_I32 : ARRAY_I64;
        b->indices_type = is_narrow && nodes_fit ? ARRAY_I32 : ARRAY_I64;
    }
    b->type_type = m->is_homogeneous ? -1 : b->options.is_cast ? csc_type_of_types(m->n_edges) : ARRAY_I64;
}

grebe_status csc_build_begin(struct graph_metadata *m, const struct csc_options *options, struct csc_build **out,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t bytes = 0;
    *out = NULL;
    struct csc_build *b = mem_alloc_zero(m->ctx->a, sizeof *b);
    if (b == NULL) {
        return mem_fail(err, sizeof *b, m->shown);
    }
    b->m = m;
    b->options = *options;
    GREBE_TRY(order_types(b, err));
    if ((uint64_t)b->n_nodes >= SIZE_MAX / sizeof *b->ends ||
        !checked_mul_size((size_t)b->n_nodes + 1, sizeof *b->ends, &bytes)) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%s: %lld nodes are more than memory can have", m->shown,
                        (long long)b->n_nodes);
        goto out;
    }
    b->ends = mem_alloc(m->ctx->a, bytes);
    b->files = arena_array(&m->arena, m->n_edges, sizeof *b->files);
    if (b->ends == NULL || b->files == NULL) {
        st = mem_fail(err, bytes, m->shown);
        goto out;
    }
    mem_wish_large_pages(b->ends, bytes);
    memset(b->ends, 0, bytes);
    GREBE_TRY(open_files(b, err));
    GREBE_TRY(csc_decode(b, err));
    GREBE_TRY(number_edges(b, err));
    GREBE_TRY(csc_count(b, err));
    choose_types(b);
    GREBE_TRY(csc_columns_open(b, err));
    *out = b;
    b = NULL;
out:
    csc_build_free(b);
    return st;
}

void csc_build_free(struct csc_build *b)
{
    if (b == NULL) {
        return;
    }
    const grebe_allocator *a = b->m->ctx->a;
    for (size_t i = 0; b->files != NULL && i < b->m->n_edges; i++) {
        graph_edges_close(&b->files[i]);
    }
    csc_columns_close(b);
    mem_free(a, b->ends, b->ends != NULL ? ((size_t)b->n_nodes + 1) * sizeof *b->ends : 0);
    mem_free(a, b, sizeof *b);
}
