/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the second pass is cut: what a record holds, which destinations one thread gathers at a time, and how many edges
 * are a piece.
 */
#include "base/checked.h"
#include "graph/csc_build.h"
#include "graph/csc_count.h"

enum {
    WORD_BYTES = 4,
    PIECE_BYTES = 256 << 10,      /* of all arrays: fits the second cache of a core */
    PIECE_BYTES_MAX = 2 << 20,    /* its share of the third, where there would be too many pieces */
    PIECES_MAX = 4096,            /* of a range: each is written to somewhere else */
    RANGE_EDGES_MIN = 1 << 16     /* fewer are not worth a thread */
};

static grebe_status lay_out(struct csc_build *b, grebe_error *err)
{
    size_t at = WORD_BYTES;
    b->n_fields = CSC_COLUMNS + b->n_moved;
    b->fields = arena_array(&b->m->arena, b->n_fields, sizeof *b->fields);
    if (b->fields == NULL) {
        return mem_fail(err, b->n_fields * sizeof *b->fields, b->m->shown);
    }
    b->fields[CSC_INDICES] = (struct csc_field){ .width = b->n_nodes <= (int64_t)UINT32_MAX ? 4 : 8,
                                                 .made = tensor_type_bytes(b->indices_type) };
    if (b->type_type >= 0) {
        b->fields[CSC_TYPES] = (struct csc_field){ .width = b->m->n_edges <= (size_t)1 << CSC_PLACE_BITS ? 0 : 4,
                                                   .made = tensor_type_bytes(b->type_type) };
    }
    if (b->options.has_edge_ids) {
        b->fields[CSC_EDGE_IDS] = (struct csc_field){ .width = b->n_edges <= (int64_t)UINT32_MAX ? 4 : 8,
                                                      .made = tensor_type_bytes(b->indptr_type) };
    }
    for (size_t i = 0; i < b->n_moved; i++) {
        size_t width = b->columns[i].width;
        b->fields[CSC_COLUMNS + i] = (struct csc_field){ .width = width, .made = width };
    }
    for (size_t i = 0; i < b->n_fields; i++) {
        b->fields[i].at = at;
        if (!checked_add_size(at, b->fields[i].width, &at) || at > SIZE_MAX / 4) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "%s: the attributes of one edge are more bytes than memory can have",
                              b->m->shown);
        }
    }
    b->record_bytes = at;
    return GREBE_OK;
}

/* Edges of a range, one at least. */
static int64_t choose_room(const struct csc_build *b, uint64_t made)
{
    const uint64_t threads = b->options.call.threads > 0 ? b->options.call.threads : 1;
    uint64_t all = 0, share = ((uint64_t)b->n_edges + threads - 1) / threads;
    bool is_large = !checked_mul_u64((uint64_t)b->n_edges, made, &all);
    uint64_t bytes = csc_budget(b, is_large ? UINT64_MAX : all) / threads;
    /* the piece itself, and what is on its way: one record of each at least */
    bytes -= min_u64(bytes / 2, 2 * (b->record_bytes > PIECE_BYTES ? b->record_bytes : PIECE_BYTES));
    uint64_t room = min_u64(bytes / b->record_bytes, share > RANGE_EDGES_MIN ? share : RANGE_EDGES_MIN);
    return room < 1 ? 1 : (int64_t)min_u64(room, INT64_MAX / 2);
}

static unsigned choose_shift(uint64_t made, int64_t room)
{
    unsigned shift = 0;
    while (shift < CSC_PLACE_BITS && made <= (uint64_t)(PIECE_BYTES >> 1) >> shift) {
        shift++;
    }
    while (shift < CSC_PLACE_BITS && room >> shift > PIECES_MAX && made <= (uint64_t)(PIECE_BYTES_MAX >> 1) >> shift) {
        shift++;
    }
    return shift;
}

/* The end of the range that begins at a node: as many lists as fit, one at least. */
static int64_t range_end(const struct csc_build *b, int64_t begin, int64_t room)
{
    int64_t low = begin + 1, high = b->n_nodes; /* the last end whose lists fit */
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (b->ends[middle] - b->ends[begin] <= room) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Ranges and pieces; `ranges` NULL: they are counted. */
static void cut(struct csc_build *b)
{
    b->n_ranges = b->n_pieces = 0;
    for (int64_t v = 0, end = 0; v < b->n_nodes; v = end) {
        end = range_end(b, v, b->range_edges);
        if (b->ranges != NULL) {
            b->ranges[b->n_ranges] = (struct csc_bounds){ v, end, b->ends[v], b->ends[end], b->n_pieces };
        }
        b->n_ranges++;
        uint64_t n = (uint64_t)(b->ends[end] - b->ends[v]);
        b->n_pieces += (size_t)((n + ((uint64_t)1 << b->piece_shift) - 1) >> b->piece_shift);
    }
}

grebe_status csc_plan(struct csc_build *b, grebe_error *err)
{
    uint64_t made = 0;
    if (b->n_edges == 0) { /* then rows of any number of bytes can be said to be there */
        b->n_fields = CSC_COLUMNS + b->n_moved;
        b->fields = arena_array(&b->m->arena, b->n_fields, sizeof *b->fields);
        return b->fields != NULL ? GREBE_OK : mem_fail(err, b->n_fields * sizeof *b->fields, b->m->shown);
    }
    grebe_status st = lay_out(b, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; i < b->n_fields; i++) {
        made += b->fields[i].made; /* no more than twice what is in the record */
    }
    b->range_edges = choose_room(b, made);
    b->piece_shift = choose_shift(made, b->range_edges);
    cut(b);
    b->ranges = arena_array(&b->m->arena, b->n_ranges, sizeof *b->ranges);
    if (b->ranges == NULL) {
        return mem_fail(err, b->n_ranges * sizeof *b->ranges, b->m->shown);
    }
    cut(b);
    return GREBE_OK;
}
