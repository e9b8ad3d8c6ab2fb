/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_edges_parquet.h"

#include <string.h>

#include "arrow/arrow_array.h"
#include "arrow/arrow_schema.h"
#include "base/checked.h"
#include "io/io.h"
#include "parquet/parquet_format.h"
#include "source/source.h"

struct graph_edge_rows {
    grebe_context *ctx;
    const char *shown;
    struct io_store *store;
    struct format_reader *reader;
    enum arrow_kind kinds[2];
    size_t n_blocks;
    int64_t *begin; /* shape [n_blocks + 1]: rows; a block lies in one chunk */
};

static bool is_integer(enum arrow_kind k)
{
    return k == ARROW_INT8 || k == ARROW_UINT8 || k == ARROW_INT16 || k == ARROW_UINT16 || k == ARROW_INT32 ||
           k == ARROW_UINT32 || k == ARROW_INT64 || k == ARROW_UINT64;
}

static grebe_status check_columns(struct graph_edge_rows *r, grebe_error *err)
{
    const struct ArrowSchema *s = &r->reader->schema;
    bool is_right = s->n_children == 2;
    for (int64_t i = 0; is_right && i < 2; i++) {
        struct arrow_type t;
        grebe_status st = arrow_type_of(s->children[i], &t, err);
        if (st != GREBE_OK) {
            return st;
        }
        is_right = is_integer(t.kind) && !t.is_dictionary;
        r->kinds[i] = t.kind;
    }
    return is_right ? GREBE_OK
                    : GREBE_FAIL(err, GREBE_ESCHEMA,
                                 "%s: expected two columns of integers, sources and destinations, found %lld columns%s",
                                 r->shown, (long long)s->n_children, s->n_children == 2 ? " of other types" : "");
}

static grebe_status cut(struct graph_edge_rows *r, grebe_error *err)
{
    const struct format_reader *f = r->reader;
    size_t n = 0;
    for (size_t c = 0; c < f->n_chunks; c++) {
        n += (size_t)((f->chunk_begin[c + 1] - f->chunk_begin[c] + GRAPH_BLOCK_EDGES - 1) / GRAPH_BLOCK_EDGES);
    }
    r->begin = mem_alloc(r->ctx->a, (n + 1) * sizeof *r->begin);
    if (r->begin == NULL) {
        return mem_fail(err, (n + 1) * sizeof *r->begin, r->shown);
    }
    for (size_t c = 0; c < f->n_chunks; c++) {
        for (int64_t row = f->chunk_begin[c]; row < f->chunk_begin[c + 1]; row += GRAPH_BLOCK_EDGES) {
            r->begin[r->n_blocks++] = row;
        }
    }
    r->begin[r->n_blocks] = f->n_rows;
    return GREBE_OK;
}

grebe_status graph_edge_rows_open(grebe_context *ctx, const char *path, const char *shown, struct graph_edge_rows **out,
                                  grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_edge_rows *r = mem_alloc_zero(ctx->a, sizeof *r);
    *out = NULL;
    if (r == NULL) {
        return mem_fail(err, sizeof *r, shown);
    }
    r->ctx = ctx;
    r->shown = shown;
    GREBE_TRY(io_local_new(ctx, &r->store, err));
    GREBE_TRY(parquet_format.open(r->store, path, NULL, &r->reader, err));
    GREBE_TRY(check_columns(r, err));
    GREBE_TRY(cut(r, err));
    *out = r;
    r = NULL;
out:
    graph_edge_rows_close(r);
    return st;
}

void graph_edge_rows_close(struct graph_edge_rows *r)
{
    if (r == NULL) {
        return;
    }
    const grebe_allocator *a = r->ctx->a;
    mem_free(a, r->begin, r->begin != NULL ? (r->n_blocks + 1) * sizeof *r->begin : 0);
    if (r->reader != NULL) {
        r->reader->ops->close(r->reader);
    }
    io_store_free(r->store);
    mem_free(a, r, sizeof *r);
}

int64_t graph_edge_rows_count(const struct graph_edge_rows *r)
{
    return r->reader->n_rows;
}
size_t graph_edge_rows_blocks(const struct graph_edge_rows *r)
{
    return r->n_blocks;
}

static int64_t value_at(const void *values, enum arrow_kind kind, int64_t i)
{
    switch (kind) {
    case ARROW_INT8: return ((const int8_t *)values)[i];
    case ARROW_UINT8: return ((const uint8_t *)values)[i];
    case ARROW_INT16: return ((const int16_t *)values)[i];
    case ARROW_UINT16: return ((const uint16_t *)values)[i];
    case ARROW_INT32: return ((const int32_t *)values)[i];
    case ARROW_UINT32: return ((const uint32_t *)values)[i];
    default: return ((const int64_t *)values)[i]; /* uint64 beyond 2^63 is negative: out of every range */
    }
}

static grebe_status copy_column(const struct graph_edge_rows *r, const struct ArrowArray *a, size_t column, int64_t row,
                                int64_t *dst, grebe_error *err)
{
    for (int64_t i = 0; i < a->length; i++) {
        if (a->null_count != 0 && a->buffers[0] != NULL && !bit_get(a->buffers[0], a->offset + i)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: row %lld: the %s is null", r->shown, (long long)(row + i),
                              column == 0 ? "source" : "destination");
        }
        dst[i] = value_at(a->buffers[1], r->kinds[column], a->offset + i);
    }
    return GREBE_OK;
}

grebe_status graph_edge_rows_read(const struct graph_edge_rows *r, size_t block, int64_t *ends[2], size_t *n,
                                  uint64_t *begin, grebe_error *err)
{
    struct ArrowArray rows = { 0 };
    const struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    int64_t from = r->begin[block], to = r->begin[block + 1];
    grebe_status st = r->reader->ops->read(r->reader, NULL, 0, from, to, &call, &rows, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "%s", r->shown);
    }
    for (size_t i = 0; i < 2 && st == GREBE_OK; i++) {
        st = copy_column(r, rows.children[i], i, from, ends[i], err);
    }
    *n = (size_t)(to - from);
    *begin = (uint64_t)from;
    rows.release(&rows);
    return st;
}
