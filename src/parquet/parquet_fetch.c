/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_fetch.h"

#include <assert.h>
#include <string.h>

enum {
    SPARE_BYTES_MAX = 8 << 20,   /* a reader keeps no more working memory between calls */
    THREAD_WORK_MIN = 128 << 10, /* bytes to decode below which waking a thread costs more */
    SLICE_WORK_MIN = 1 << 20     /* of a cut inside a chunk: a page at each end is decoded twice */
};

/* ---- working memory ---- */

struct pq_scratch *pq_scratch_borrow(struct pq_reader *r, grebe_error *err)
{
    struct pq_scratch *s = atomic_exchange(&r->spare, NULL);
    if (s == NULL) {
        s = mem_alloc(r->base.ctx->a, sizeof *s);
        if (s == NULL) {
            (void)mem_fail(err, sizeof *s, "working memory");
            return NULL;
        }
        pq_scratch_init(s, r->base.ctx->a);
    }
    return s;
}

void pq_scratch_free(struct pq_scratch *s)
{
    if (s != NULL) {
        const grebe_allocator *a = s->a;
        pq_scratch_release(s);
        mem_free(a, s, sizeof *s);
    }
}

void pq_scratch_return(struct pq_reader *r, struct pq_scratch *s)
{
    struct pq_scratch *none = NULL;
    if (pq_scratch_bytes(s) > SPARE_BYTES_MAX ||
        !atomic_compare_exchange_strong(&r->spare, &none, s)) {
        pq_scratch_free(s);
    }
}

/* ---- work ---- */

/* A leaf's rows, or a piece of them. */
struct unit {
    uint32_t leaf;
    uint32_t piece; /* of the leaf; the first one takes in the others afterwards */
    size_t part_begin, part_end;
    struct pq_run slice; /* n > 0: these rows of the only part's only run */
    size_t run_begin, run_end; /* run_end > 0: these of the only part's runs */
    uint64_t cost;
    struct pq_out out;
};

struct fetch {
    struct pq_reader *r;
    const struct pq_part *parts;
    size_t n_parts;
    int64_t n_rows;
    bool may_view;
    const struct call *call;
    struct unit *units;
    size_t n_units;
    uint32_t *order; /* of running: the costly ones first, shape [n_units] */
    struct pq_budget budget;
};

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static const uint64_t LIMIT_BYTES = 64 << 20;
#else
static const uint64_t LIMIT_BYTES = (uint64_t)2 << 30;
#endif

/*
 * The same for all columns of a call: twice as much, for pieces that are joined. A caller who allows more
 * gets more.
 */
static uint64_t call_limit(const struct pq_reader *r, const struct call *call)
{
    uint64_t size = r->base.file_size_bytes;
    uint64_t limit = size > LIMIT_BYTES / 128 ? size * 256 : 2 * LIMIT_BYTES;
    bool is_given = call->memory_limit_bytes != UINT64_MAX;
    return is_given && call->memory_limit_bytes > limit ? call->memory_limit_bytes : limit;
}

uint64_t pq_limit_bytes(const struct pq_reader *r, uint32_t leaf, const struct pq_part *parts,
                        size_t n_parts)
{
    uint64_t stored = 0;
    for (size_t i = 0; i < n_parts; i++) {
        stored += pq_chunk_range(r->file, pq_chunk_of(r->file, parts[i].chunk, leaf)).len;
        stored = stored < r->base.file_size_bytes ? stored : r->base.file_size_bytes;
    }
    return stored > LIMIT_BYTES / 256 ? stored * 256 : LIMIT_BYTES;
}

/* Whether rows of the chunk are likely to be found by arithmetic. */
static bool is_addressable(const struct pq_chunk *c)
{
    for (int32_t i = 0; i < c->n_encodings; i++) {
        int32_t e = c->encodings[i];
        if (e != PQ_PLAIN && e != PQ_RLE && e != PQ_BIT_PACKED) {
            return false;
        }
    }
    return c->codec == PQ_UNCOMPRESSED && c->type != PQ_BYTE_ARRAY;
}

/* Bytes that will be decoded or copied, by the file's word: decides about threads, nothing else. */
static uint64_t estimate(const struct fetch *f, uint32_t leaf, size_t part_begin, size_t part_end)
{
    enum { PAGE_BYTES = 64 << 10 };
    uint64_t total = 0;
    for (size_t i = part_begin; i < part_end; i++) {
        const struct pq_part *part = &f->parts[i];
        const struct pq_chunk *c = pq_chunk_of(f->r->file, part->chunk, leaf);
        int64_t raw = c->total_uncompressed_size > 0 ? c->total_uncompressed_size : 0;
        int64_t group_rows = f->r->file->groups[part->chunk].n_rows;
        double share = (double)part->n_rows / (double)group_rows;
        double bytes = (double)raw * (share < 1 ? share : 1);
        if (!is_addressable(c) && part->n_runs > 1) {
            double pages = (double)part->n_runs * PAGE_BYTES;
            bytes = pages < (double)raw ? pages : (double)raw;
        }
        total += (uint64_t)bytes;
    }
    return total;
}

static grebe_status run_unit(struct fetch *f, struct unit *u, struct pq_scratch *s,
                             grebe_error *err)
{
    int64_t n_rows = u->slice.n;
    bool is_whole = u->slice.n == 0 && u->run_end == 0;
    for (size_t i = u->part_begin; i < u->part_end && is_whole; i++) {
        n_rows += f->parts[i].n_rows;
    }
    for (size_t i = u->run_begin; i < u->run_end; i++) {
        n_rows += f->parts[0].runs[i].n;
    }
    pq_out_init(
        &u->out, f->r->base.ctx->a, &f->r->file->schema.leaves[u->leaf], n_rows,
        pq_limit_bytes(f->r, u->leaf, f->parts + u->part_begin, u->part_end - u->part_begin),
        &f->budget);
    bool may_view = f->may_view && f->n_parts == 1 && is_whole;
    for (size_t i = u->part_begin; i < u->part_end; i++) {
        const struct pq_part *part = &f->parts[i];
        const struct pq_run *runs = u->slice.n > 0 ? &u->slice : part->runs + u->run_begin;
        size_t n_runs = u->slice.n > 0    ? 1
                        : u->run_end > 0 ? u->run_end - u->run_begin
                                         : part->n_runs;
        grebe_status st = call_check(f->call, err);
        if (st == GREBE_OK) {
            st = pq_column_append(f->r, part->chunk, u->leaf, runs, n_runs, may_view, s, &u->out,
                                  err);
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

static grebe_status run_unit_in_pool(void *arg, size_t i, grebe_error *err)
{
    struct fetch *f = arg;
    struct pq_scratch *s = pq_scratch_borrow(f->r, err);
    if (s == NULL) {
        return GREBE_ENOMEM;
    }
    grebe_status st = run_unit(f, &f->units[f->order[i]], s, err);
    pq_scratch_return(f->r, s);
    return st;
}

static grebe_status run_all(struct fetch *f, bool is_parallel, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (is_parallel && f->n_units > 1) {
        return parallel_for(f->r->base.ctx->pool, f->call->threads, f->n_units, run_unit_in_pool, f,
                            f->call->cancel, err);
    }
    struct pq_scratch *s = pq_scratch_borrow(f->r, err);
    if (s == NULL) {
        return GREBE_ENOMEM;
    }
    for (size_t i = 0; i < f->n_units && st == GREBE_OK; i++) {
        st = run_unit(f, &f->units[i], s, err);
    }
    pq_scratch_return(f->r, s);
    return st;
}

/* ---- the whole ---- */

static const struct pq_node *column_node(const struct pq_reader *r, const int *columns, size_t i)
{
    return &r->file->schema.columns[columns == NULL ? (size_t)i : (size_t)columns[i]];
}

/* How many units a leaf's rows are cut into. */
static size_t n_pieces(const struct fetch *f, uint32_t leaf, uint64_t total, bool is_parallel)
{
    if (!is_parallel) {
        return 1;
    }
    uint64_t own = estimate(f, leaf, 0, f->n_parts);
    if (f->n_parts == 1) {
        /* A range of one chunk: cut by rows where decoding costs far more than the copy that
         * joins the pieces, that is, for strings. */
        const struct pq_part *part = &f->parts[0];
        bool is_bytes = f->r->file->schema.leaves[leaf].type == PQ_BYTE_ARRAY;
        if (part->n_runs == 1 ? !is_bytes
                              : is_addressable(pq_chunk_of(f->r->file, part->chunk, leaf))) {
            return 1;
        }
        uint64_t slice = total / (2 * (uint64_t)f->call->threads) + SLICE_WORK_MIN;
        uint64_t n = own / slice + 1;
        uint64_t most = part->n_runs == 1 ? (uint64_t)part->n_rows : part->n_runs;
        return n < most ? (size_t)n : 1;
    }
    uint64_t piece = total / (2 * (uint64_t)f->call->threads) + THREAD_WORK_MIN;
    uint64_t n = own / piece + 1;
    return n < f->n_parts ? (size_t)n : f->n_parts;
}

static void fill_units(const struct fetch *f, uint32_t leaf, struct unit *units, size_t pieces)
{
    for (size_t k = 0; k < pieces; k++) {
        struct unit *u = &units[k];
        u->leaf = leaf;
        u->piece = (uint32_t)k;
        u->part_begin = f->n_parts * k / pieces;
        u->part_end = f->n_parts * (k + 1) / pieces;
        if (f->n_parts == 1 && pieces > 1 && f->parts[0].n_runs > 1) {
            u->part_begin = 0;
            u->part_end = 1;
            u->run_begin = f->parts[0].n_runs * k / pieces;
            u->run_end = f->parts[0].n_runs * (k + 1) / pieces;
        } else if (f->n_parts == 1 && pieces > 1) {
            const struct pq_run *run = &f->parts[0].runs[0];
            int64_t begin = (int64_t)((uint64_t)run->n * k / pieces);
            int64_t end = (int64_t)((uint64_t)run->n * (k + 1) / pieces);
            u->part_begin = 0;
            u->part_end = 1;
            u->slice = (struct pq_run){ run->begin + begin, end - begin };
        }
        u->cost = estimate(f, leaf, 0, f->n_parts) / pieces;
        u->out.a = f->r->base.ctx->a; /* releasable even if it is never run */
    }
}

/* Insertion sort: a few dozen units. */
static void order_units(struct fetch *f)
{
    for (size_t i = 0; i < f->n_units; i++) {
        size_t k = i;
        for (; k > 0 && f->units[f->order[k - 1]].cost < f->units[i].cost; k--) {
            f->order[k] = f->order[k - 1];
        }
        f->order[k] = (uint32_t)i;
    }
}

static grebe_status make_units(struct fetch *f, const int *columns, size_t n_columns,
                               bool is_parallel, uint64_t total, grebe_error *err)
{
    const grebe_allocator *a = f->r->base.ctx->a;
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        size_t n = 0;
        for (size_t i = 0; i < n_columns; i++) {
            const struct pq_node *node = column_node(f->r, columns, i);
            for (uint32_t leaf = node->leaf_begin; leaf < node->leaf_end; leaf++) {
                size_t pieces = n_pieces(f, leaf, total, is_parallel);
                if (pass == 1) {
                    fill_units(f, leaf, &f->units[n], pieces);
                }
                n += pieces;
            }
        }
        if (pass == 0) {
            size_t bytes = n * (sizeof *f->units + sizeof *f->order);
            f->units = mem_alloc_zero(a, bytes);
            if (f->units == NULL) {
                return mem_fail(err, bytes, "columns");
            }
            f->n_units = n;
            f->order = (uint32_t *)(void *)(f->units + n);
        }
    }
    if (is_parallel) {
        order_units(f);
    }
    return GREBE_OK;
}

/* Pieces of one leaf become one. */
static grebe_status join_pieces(struct fetch *f, grebe_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_units; i++) {
        struct unit *u = &f->units[i];
        if (u->piece == 0) {
            if (n != i) {
                f->units[n] = *u;
                memset(&u->out, 0, sizeof u->out);
            }
            n++;
            continue;
        }
        struct unit *to = &f->units[n - 1];
        to->out.rows_expected = f->n_rows;
        grebe_status st = pq_out_append(&to->out, &u->out, err);
        pq_budget_return(&f->budget, pq_out_bytes(&u->out));
        pq_out_release(&u->out);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

static grebe_status assemble(struct fetch *f, const int *columns, size_t n_columns,
                             struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = f->r->base.ctx->a;
    size_t unit = 0;
    uint32_t leaves_max = 1;
    for (size_t i = 0; i < n_columns; i++) {
        const struct pq_node *node = column_node(f->r, columns, i);
        uint32_t n = node->leaf_end - node->leaf_begin;
        leaves_max = n > leaves_max ? n : leaves_max;
    }
    struct pq_out *outs = mem_alloc(a, leaves_max * sizeof *outs);
    if (outs == NULL) {
        return mem_fail(err, leaves_max * sizeof *outs, "columns");
    }
    grebe_status st = array_new(a, f->n_rows, 1, (int64_t)n_columns, out, err);
    for (size_t i = 0; i < n_columns && st == GREBE_OK; i++) {
        const struct pq_node *node = column_node(f->r, columns, i);
        uint32_t n = node->leaf_end - node->leaf_begin;
        for (uint32_t k = 0; k < n; k++) {
            assert(f->units[unit + k].leaf == node->leaf_begin + k);
            outs[k] = f->units[unit + k].out;
            memset(&f->units[unit + k].out, 0, sizeof outs[k]);
        }
        unit += n;
        const struct ArrowSchema *schema =
            f->r->base.schema.children[node - f->r->file->schema.columns];
        st = pq_assemble(a, node, schema, outs, f->n_rows, out->children[i], err);
        if (st != GREBE_OK) {
            error_wrap(err, st, "column %s", schema->name);
        }
        for (uint32_t k = 0; k < n; k++) {
            pq_out_release(&outs[k]);
        }
    }
    mem_free(a, outs, leaves_max * sizeof *outs);
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

grebe_status pq_fetch(struct pq_reader *r, const int *columns, size_t n_columns,
                      const struct pq_part *parts, size_t n_parts, bool may_view,
                      const struct call *call, struct ArrowArray *out, grebe_error *err)
{
    struct fetch f = {
        .r = r, .parts = parts, .n_parts = n_parts, .may_view = may_view, .call = call
    };
    f.budget.limit_bytes = call_limit(r, call);
    grebe_status st = GREBE_OK;
    uint64_t total = 0;

    memset(out, 0, sizeof *out);
    if (columns == NULL) {
        n_columns = r->file->schema.n_columns;
    }
    for (size_t i = 0; i < n_columns && columns != NULL; i++) {
        if (columns[i] < 0 || (uint32_t)columns[i] >= r->file->schema.n_columns) {
            return GREBE_FAIL(err, GREBE_EINVAL, "column %d of %u", columns[i],
                              r->file->schema.n_columns);
        }
    }
    for (size_t i = 0; i < n_parts; i++) {
        f.n_rows += parts[i].n_rows;
    }
    bool is_parallel = call->threads > 1 && f.n_rows > 0;
    for (size_t i = 0; i < n_columns && is_parallel; i++) {
        const struct pq_node *node = column_node(r, columns, i);
        for (uint32_t leaf = node->leaf_begin; leaf < node->leaf_end; leaf++) {
            total += estimate(&f, leaf, 0, n_parts);
        }
    }
    is_parallel = is_parallel && total >= 2 * THREAD_WORK_MIN;
    GREBE_TRY(make_units(&f, columns, n_columns, is_parallel, total, err));
    GREBE_TRY(run_all(&f, is_parallel, err));
    GREBE_TRY(join_pieces(&f, err));
    st = assemble(&f, columns, n_columns, out, err);
out:
    for (size_t i = 0; i < f.n_units && f.units != NULL; i++) {
        pq_out_release(&f.units[i].out);
    }
    mem_free(r->base.ctx->a, f.units, f.n_units * (sizeof *f.units + sizeof *f.order));
    return st;
}
