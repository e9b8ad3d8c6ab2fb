/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second pass: each edge to its place in the list of its destination. Ranges of destinations are independent: a
 * worker takes one, goes over all files and gathers the edges of the range, so that no two threads write to one list
 * and a list is filled in the order of the files. Then it makes the arrays of the range, piece by piece.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/checked.h"
#include "graph/csc_build.h"
#include "graph/csc_count.h"
#include "graph/csc_gather.h"
#include "graph/csc_place.h"

/* What one thread works with. */
struct worker {
    struct csc_gather gather;
    struct region *arrays;  /* of a piece, one after another */
    unsigned char **values; /* where each begins; shape [n_fields] */
    struct scatter *scatter;
    /* of a range that is one list: the piece that is being filled, and what came of it */
    struct csc_piece piece;
    grebe_status st;
    grebe_error err;
};

struct scatter {
    struct csc_build *b;
    csc_piece_fn fn;
    void *arg;
    struct worker *workers;
    size_t n_workers;
    atomic_size_t next; /* range */
    atomic_bool is_wrong;
};

/* ---- a range ---- */

/* Records of one list come in the order of their places: they go to the arrays at once. */
static bool put_list(void *arg, const unsigned char *records, size_t n)
{
    struct worker *w = arg;
    const struct csc_build *b = w->scatter->b;
    while (n > 0) {
        size_t all = (size_t)csc_piece_edges(b, &w->gather.range, w->piece.edge_begin), some = min_size(n, all - w->piece.n);
        csc_place(b, records, some, w->values);
        w->piece.n += some;
        records += some * b->record_bytes;
        n -= some;
        if (w->piece.n == all) {
            w->st = w->scatter->fn(w->scatter->arg, &w->piece, &w->err);
            w->piece.index++;
            w->piece.edge_begin += (int64_t)all;
            w->piece.n = 0;
        }
        if (w->st != GREBE_OK) {
            return false;
        }
    }
    return true;
}

static void forget_columns(const struct csc_build *b, size_t type, int64_t row, size_t n)
{
    for (size_t i = 0; i < b->n_moved; i++) {
        const struct csc_column *x = &b->columns[i];
        if (x->copies[type] == NULL) {
            region_forget(x->parts[type].region, x->parts[type].data + (size_t)row * x->width, n * x->width);
        }
    }
}

/* The edges of one file that are of the range. */
static grebe_status gather_file(struct scatter *s, struct worker *w, size_t type, grebe_error *err)
{
    const struct csc_build *b = s->b;
    const struct graph_edges *e = &b->files[type];
    const struct csc_bounds *r = &w->gather.range;
    int64_t offset = b->destination_offset[type], row = 0;
    bool is_of_range = r->node_begin < offset + e->n_destinations && r->node_end > offset;
    for (size_t i = 0; is_of_range && i < e->n_blocks; i++) {
        struct graph_edge_view v = graph_edges_view(e, i);
        if (!csc_gather_block(&w->gather, type, &v, row)) {
            if (w->st != GREBE_OK) {
                return error_copy(err, w->st, &w->err);
            }
            atomic_store(&s->is_wrong, true);
            return GREBE_OK; /* what is wrong is told by who started the workers */
        }
        graph_edges_forget(e, &v);
        forget_columns(b, type, row, v.n);
        row += (int64_t)v.n;
        grebe_status st = call_check(&b->options.call, err);
        if (st != GREBE_OK || atomic_load(&s->is_wrong)) {
            return st;
        }
    }
    return GREBE_OK;
}

/* The arrays of the range. */
static grebe_status make_pieces(struct scatter *s, struct worker *w, grebe_error *err)
{
    const struct csc_build *b = s->b;
    const struct csc_bounds *r = &w->gather.range;
    struct csc_piece piece = { r->piece_begin, r->edge_begin, 0, w->values };
    while (piece.edge_begin < r->edge_end) {
        piece.n = (size_t)csc_piece_edges(b, r, piece.edge_begin);
        csc_place(b, w->gather.records->data + (size_t)(piece.edge_begin - r->edge_begin) * b->record_bytes, piece.n,
                  w->values);
        grebe_status st = s->fn(s->arg, &piece, err);
        if (st != GREBE_OK) {
            return st;
        }
        piece.index++;
        piece.edge_begin += (int64_t)piece.n;
    }
    return GREBE_OK;
}

static grebe_status make_range(struct scatter *s, struct worker *w, size_t index, grebe_error *err)
{
    const struct csc_build *b = s->b;
    const struct csc_bounds *r = &b->ranges[index];
    grebe_status st = csc_gather_begin(&w->gather, r, err);
    w->piece = (struct csc_piece){ r->piece_begin, r->edge_begin, 0, w->values };
    w->st = GREBE_OK;
    for (size_t type = 0; st == GREBE_OK && type < b->m->n_edges && !atomic_load(&s->is_wrong); type++) {
        st = gather_file(s, w, type, err);
    }
    if (st != GREBE_OK || atomic_load(&s->is_wrong)) {
        return st;
    }
    if (!csc_gather_end(&w->gather) || (csc_is_list(r) && w->piece.edge_begin != r->edge_end)) {
        atomic_store(&s->is_wrong, true);
        return GREBE_OK;
    }
    return csc_is_list(r) ? GREBE_OK : make_pieces(s, w, err);
}

static grebe_status work(void *arg, size_t i, grebe_error *err)
{
    struct scatter *s = arg;
    for (;;) {
        size_t index = atomic_fetch_add(&s->next, 1);
        if (index >= s->b->n_ranges || atomic_load(&s->is_wrong)) {
            return GREBE_OK;
        }
        grebe_status st = make_range(s, &s->workers[i], index, err);
        if (st != GREBE_OK) {
            atomic_store(&s->next, s->b->n_ranges);
            return st;
        }
    }
}

/* ---- all ---- */

/* Room for the arrays of a piece. */
static grebe_status make_room(const struct csc_build *b, struct worker *w, grebe_error *err)
{
    const size_t n = (size_t)min_i64((int64_t)1 << b->piece_shift, b->n_edges);
    size_t all = 0, bytes = 0;
    w->values = arena_array(&b->m->arena, b->n_fields, sizeof *w->values);
    if (w->values == NULL) {
        return mem_fail(err, b->n_fields * sizeof *w->values, b->m->shown);
    }
    for (size_t i = 0; i < b->n_fields; i++) {
        if (!checked_mul_size(n, b->fields[i].made, &bytes) || !checked_add_size(all, bytes + MEM_ALIGN_VECTOR, &all)) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %zu edges are more bytes than memory can have", b->m->shown, n);
        }
    }
    grebe_status st = region_new(b->m->ctx->a, all, &w->arrays, err);
    for (size_t i = 0, at = 0; st == GREBE_OK && i < b->n_fields; i++) {
        w->values[i] = w->arrays->data + at;
        at += (n * b->fields[i].made + MEM_ALIGN_VECTOR - 1) / MEM_ALIGN_VECTOR * MEM_ALIGN_VECTOR;
    }
    return st;
}

static grebe_status make_workers(struct scatter *s, grebe_error *err)
{
    struct csc_build *b = s->b;
    size_t n = min_size(b->options.call.threads > 0 ? b->options.call.threads : 1, b->n_ranges);
    s->workers = arena_array(&b->m->arena, n, sizeof *s->workers);
    if (s->workers == NULL) {
        return mem_fail(err, n * sizeof *s->workers, b->m->shown);
    }
    while (s->n_workers < n) {
        struct worker *w = &s->workers[s->n_workers++];
        grebe_status st = csc_gather_open(b, &w->gather, err);
        w->gather.list = put_list;
        w->gather.list_arg = w;
        w->scatter = s;
        st = st == GREBE_OK ? make_room(b, w, err) : st;
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

grebe_status csc_build_pieces(struct csc_build *b, csc_piece_fn fn, void *arg, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct scatter s = { .b = b, .fn = fn, .arg = arg };
    GREBE_TRY(make_workers(&s, err));
    st = parallel_for(b->m->ctx->pool, (uint32_t)s.n_workers, s.n_workers, work, &s, b->options.call.cancel, err);
    st = st == GREBE_OK && s.is_wrong ? csc_explain(b, err) : st;
out:
    for (size_t i = 0; i < s.n_workers; i++) {
        csc_gather_close(&s.workers[i].gather);
        region_drop(s.workers[i].arrays);
    }
    return st;
}
