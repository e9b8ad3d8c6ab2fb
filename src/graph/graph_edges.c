/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_edges.h"

#include <string.h>

#include "base/checked.h"
#include "graph/graph_edges_csv.h"
#include "graph/graph_edges_parquet.h"
#include "io/io.h"

/* Offsets of blocks of text, each from the beginning of a line to that of another. */
static grebe_status cut_text(struct graph_edges *e, grebe_error *err)
{
    const unsigned char *s = e->text->data;
    size_t len = e->text->len, n_max = len / GRAPH_BLOCK_BYTES + 1;
    size_t at = len >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    e->text_begin = mem_alloc(e->ctx->a, (n_max + 1) * sizeof *e->text_begin);
    if (e->text_begin == NULL) {
        return mem_fail(err, (n_max + 1) * sizeof *e->text_begin, e->path);
    }
    if (e->csv.has_header) {
        at = graph_csv_line_end(s, len, at);
    }
    e->text_begin[0] = at;
    while (at < len) {
        if (len - at >
            GRAPH_BLOCK_BYTES) { /* the last line that ends inside; a line of more is not one of two numbers */
            size_t end = at + GRAPH_BLOCK_BYTES;
            while (end > at && s[end - 1] != '\n' && (s[end - 1] != '\r' || s[end] == '\n')) {
                end--;
            }
            at = end > at ? end : graph_csv_line_end(s, len, at);
        } else {
            at = len;
        }
        if (e->n_blocks == n_max) { /* lines longer than a block make more of them than were counted */
            size_t more = n_max * 2 + 16;
            size_t *grown =
                mem_resize(e->ctx->a, e->text_begin, (n_max + 1) * sizeof *grown, (more + 1) * sizeof *grown);
            if (grown == NULL) {
                e->n_blocks_room = n_max;
                return mem_fail(err, (more + 1) * sizeof *grown, e->path);
            }
            e->text_begin = grown;
            n_max = more;
        }
        e->text_begin[++e->n_blocks] = at;
    }
    e->n_blocks_room = n_max;
    return GREBE_OK;
}

static grebe_status map_text(struct graph_edges *e, const char *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = NULL;
    struct io_file *file = NULL;
    GREBE_TRY(io_local_new(e->ctx, &store, err));
    GREBE_TRY(io_open(store, path, &file, err));
    st = file->id.size_bytes > 0 && file->ops->map != NULL ? file->ops->map(file, &e->text, err)
                                                           : region_new(e->ctx->a, 0, &e->text, err);
out:
    io_close(file);
    io_store_free(store);
    return st;
}

/*
 * A process has room for some 65,000 maps (vm.max_map_count), and all files of a graph are open at once: small ones are copied, so that
 * there may be more types than that.
 */
static grebe_status unmap_small(const grebe_allocator *a, struct region **r, const unsigned char **data, grebe_error *err)
{
    enum { SMALL_BYTES = 16384 };
    struct region *copy = NULL;
    if (!(*r)->is_file || (*r)->len > SMALL_BYTES) {
        return GREBE_OK;
    }
    grebe_status st = region_new(a, (*r)->len, &copy, err);
    if (st == GREBE_OK) {
        memcpy(copy->data, (*r)->data, (*r)->len);
        *data = copy->data + (*data - (*r)->data);
        region_drop(*r);
        *r = copy;
    }
    return st;
}

grebe_status graph_edges_open(struct graph_metadata *m, size_t edge, const struct graph_csv_options *csv,
                              struct graph_edges *out, grebe_error *err)
{
    const struct graph_edge_spec *spec = &m->edges[edge];
    const struct graph_node_spec *source = &m->nodes[spec->source], *destination = &m->nodes[spec->destination];
    grebe_status st = GREBE_OK;
    *out = (struct graph_edges){ .ctx = m->ctx,
                                 .path = spec->file.path,
                                 .n_sources = source->num,
                                 .n_destinations = destination->num,
                                 .source_type = source->type,
                                 .destination_type = destination->type,
                                 .csv = *csv };
    out->csv.separator = csv->separator != '\0' ? csv->separator : ',';
    if (spec->file.format == GRAPH_CSV) {
        GREBE_TRY(map_text(out, spec->file.real_path, err));
        const unsigned char *begin = out->text->data;
        GREBE_TRY(unmap_small(m->ctx->a, &out->text, &begin, err));
        GREBE_TRY(cut_text(out, err));
    } else if (spec->file.format == GRAPH_PARQUET) {
        GREBE_TRY(graph_edge_rows_open(m->ctx, spec->file.real_path, spec->file.path, &out->rows, err));
        out->n_blocks = graph_edge_rows_blocks(out->rows);
    } else {
        GREBE_TRY(graph_file_open(m, &spec->file, &out->array, err));
        GREBE_TRY(unmap_small(m->ctx->a, &out->array.region, &out->array.data, err));
        if (out->array.rank != 2 || out->array.shape[0] != 2 || !graph_type_is_integer(out->array.type)) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: changed while it was read", out->path);
            goto out;
        }
        out->n_blocks = (size_t)((out->array.shape[1] + GRAPH_BLOCK_EDGES - 1) / GRAPH_BLOCK_EDGES);
    }
out:
    return st;
}

void graph_edges_close(struct graph_edges *e)
{
    if (e->ctx != NULL) {
        mem_free(e->ctx->a, e->text_begin, e->text_begin != NULL ? (e->n_blocks_room + 1) * sizeof *e->text_begin : 0);
        mem_free(e->ctx->a, e->views, e->views != NULL ? e->n_blocks * sizeof *e->views : 0);
        region_drop(e->decoded);
        region_drop(e->text);
        graph_edge_rows_close(e->rows);
        tensor_release(&e->array);
        memset(e, 0, sizeof *e);
    }
}

/* ---- arrays ---- */

/* n integers of a row of the array, from column begin on. */
static grebe_status read_row(const struct graph_edges *e, uint64_t row, uint64_t begin, size_t n, int64_t *dst,
                             grebe_error *err)
{
    struct tensor part = e->array;
    part.rank = 1;
    part.shape[0] = n;
    part.n_values = n;
    part.strides[0] = e->array.strides[1];
    part.is_packed = part.strides[0] == 1;
    part.data +=
        (row * (uint64_t)e->array.strides[0] + begin * (uint64_t)e->array.strides[1]) * tensor_type_bytes(part.type);
    grebe_status st = GREBE_OK;
    if (part.type == ARRAY_I64 && part.is_packed && !part.is_big_endian) {
        memcpy(dst, part.data, n * sizeof *dst);
    } else {
        st = tensor_read_i64(&part, 0, n, dst, err);
    }
    if (n > 0) {
        region_forget(e->array.region, part.data,
                      ((n - 1) * (size_t)part.strides[0] + 1) * tensor_type_bytes(part.type));
    }
    return st == GREBE_OK ? st
                          : error_wrap(err, st, "%s: row %u, from edge %llu on", e->path, (unsigned)row,
                                       (unsigned long long)begin);
}

static grebe_status read_array(const struct graph_edges *e, size_t block, int64_t *ends[2], size_t *n, uint64_t *begin,
                               grebe_error *err)
{
    *begin = (uint64_t)block * GRAPH_BLOCK_EDGES;
    *n = (size_t)min_u64(GRAPH_BLOCK_EDGES, e->array.shape[1] - *begin);
    for (unsigned row = 0; row < 2; row++) {
        grebe_status st = read_row(e, row, *begin, *n, ends[row], err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* Each end is one of the nodes of its type. */
static grebe_status check_ends(const struct graph_edges *e, int64_t *const ends[2], size_t n, uint64_t begin,
                               grebe_error *err)
{
    uint64_t bounds[2] = { (uint64_t)e->n_sources, (uint64_t)e->n_destinations };
    bool is_inside = true;
    for (size_t i = 0; i < n; i++) {
        is_inside &= ((uint64_t)ends[0][i] < bounds[0]) & ((uint64_t)ends[1][i] < bounds[1]);
    }
    for (size_t i = 0; !is_inside && i < n; i++) {
        for (unsigned row = 0; row < 2; row++) {
            if ((uint64_t)ends[row][i] >= bounds[row]) {
                const char *type = row == 0 ? e->source_type : e->destination_type;
                return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s %u, edge %llu: node %lld, the bound is %llu%s%s",
                                  e->path, e->rows != NULL ? "column" : "row", row + (e->rows != NULL ? 1 : 0),
                                  (unsigned long long)(begin + i), (long long)ends[row][i],
                                  (unsigned long long)bounds[row], type != NULL ? ", the nodes of type " : "",
                                  type != NULL ? type : "");
            }
        }
    }
    return GREBE_OK;
}

grebe_status graph_edges_read(const struct graph_edges *e, size_t block, int64_t *sources, int64_t *destinations,
                              size_t *n, grebe_error *err)
{
    int64_t *ends[2] = { sources, destinations };
    uint64_t begin = 0;
    if (e->text != NULL) {
        grebe_status read = graph_csv_read(e, block, sources, destinations, n, err);
        region_forget(e->text, e->text->data + e->text_begin[block], e->text_begin[block + 1] - e->text_begin[block]);
        return read;
    }
    grebe_status st = e->rows != NULL ? graph_edge_rows_read(e->rows, block, ends, n, &begin, err)
                                      : read_array(e, block, ends, n, &begin, err);
    return st == GREBE_OK ? check_ends(e, ends, *n, begin, err) : st;
}

/* ---- blocks as they lie in memory ---- */

bool graph_edges_are_plain(const struct graph_edges *e)
{
    const struct tensor *t = &e->array;
    const uint16_t one = 1;
    bool is_little = *(const unsigned char *)&one == 1;
    size_t width = tensor_type_bytes(t->type);
    return e->text == NULL && e->rows == NULL && (t->type == ARRAY_I64 || t->type == ARRAY_I32) &&
           (is_little != t->is_big_endian || t->n_values == 0) && t->is_packed && (uintptr_t)t->data % width == 0;
}

struct graph_edge_view graph_edges_view(const struct graph_edges *e, size_t block)
{
    if (e->views != NULL) {
        return e->views[block];
    }
    const struct tensor *t = &e->array;
    size_t width = tensor_type_bytes(t->type);
    uint64_t begin = (uint64_t)block * GRAPH_BLOCK_EDGES, all = t->shape[1];
    return (struct graph_edge_view){ t->data + begin * width, t->data + (all + begin) * width, width,
                                     (size_t)min_u64(GRAPH_BLOCK_EDGES, all - begin) };
}

void graph_edges_forget(const struct graph_edges *e, const struct graph_edge_view *v)
{
    const struct region *r = e->views != NULL ? e->decoded : e->array.region;
    if (r != NULL) {
        region_forget(r, v->sources, v->n * v->width);
        region_forget(r, v->destinations, v->n * v->width);
    }
}

grebe_status graph_edges_check(const struct graph_edges *e, const struct call *call, grebe_error *err)
{
    const size_t room = GRAPH_BLOCK_EDGES + 1, bytes = 2 * room * sizeof(int64_t);
    grebe_status st = GREBE_OK;
    int64_t *ends = mem_alloc(e->ctx->a, bytes);
    if (ends == NULL) {
        return mem_fail(err, bytes, e->path);
    }
    for (size_t i = 0; i < e->n_blocks && st == GREBE_OK; i++) {
        size_t n = 0;
        st = call_check(call, err);
        st = st == GREBE_OK ? graph_edges_read(e, i, ends, ends + room, &n, err) : st;
    }
    mem_free(e->ctx->a, ends, bytes);
    return st;
}
