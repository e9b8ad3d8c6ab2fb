/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the parts of a graph, row by row. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "array/tensor_rows.h"
#include "base/checked.h"
#include "graph/graph_types.h"
#include "grebe/graph_parts.h"

enum { CHECK_EVERY = 1 << 20 }; /* edges between looks at a token to cancel */

enum column_kind { COLUMN_TENSOR, COLUMN_SOURCE, COLUMN_TARGET, COLUMN_EDGE, COLUMN_NODE };

/* What a matrix reads. */
struct part_rows {
    grebe_graph *graph;
    bool owns_graph;
    size_t edge_type;
    int64_t n_rows;
    int64_t first;       /* row i is this + i of the tensors */
    bool has_positions;  /* row i is positions[i] instead */
    bool is_file_order;  /* attributes of edges stand as in the files: row i is attribute_first + i of them */
    int64_t attribute_first;
    pthread_mutex_t lock;
    atomic_bool is_placed;
    int64_t *positions;  /* shape [n_rows]; made when rows are read, under the lock, and from then on (is_placed) not changed */
    struct part_column {
        enum column_kind kind;
        const struct tensor *tensor; /* borrowed from graph */
    } columns[MATRIX_COLUMNS_MAX];
};

static void part_close(void *file)
{
    struct part_rows *p = file;
    const grebe_allocator *a = p->graph->ctx->a;
    mem_free(a, p->positions, p->positions != NULL ? (size_t)p->n_rows * sizeof *p->positions : 0);
    pthread_mutex_destroy(&p->lock);
    if (p->owns_graph) {
        grebe_graph_close(p->graph);
    }
    mem_free(a, p, sizeof *p);
}

const struct tensor *graph_part_tensor(const struct matrix *m, size_t column)
{
    return ((const struct part_rows *)m->file)->columns[column].tensor;
}

/* ---- edges ---- */

/* The node whose list holds the edge: the last one that begins at or before it. */
static int64_t target_of(const struct graph_csc *g, int64_t edge, int64_t guess)
{
    if (guess < g->n_nodes && graph_id(&g->indptr, guess) <= edge && edge < graph_id(&g->indptr, guess + 1)) {
        return guess;
    }
    int64_t low = 0, end = g->n_nodes;
    while (end - low > 1) {
        const int64_t middle = low + (end - low) / 2;
        if (graph_id(&g->indptr, middle) <= edge) {
            low = middle;
        } else {
            end = middle;
        }
    }
    return low;
}

static grebe_status read_ends(const struct part_rows *p, enum column_kind kind, int64_t begin, int64_t n, int64_t *dst,
                              grebe_error *err)
{
    const struct graph_csc *g = &p->graph->csc;
    const bool is_source = kind == COLUMN_SOURCE;
    const size_t type = is_source ? graph_edge_source_type(g, p->edge_type) : graph_edge_target_type(g, p->edge_type);
    const int64_t first = graph_type_begin(g, type), count = graph_type_count(g, type);
    int64_t node = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t edge = p->positions != NULL ? p->positions[begin + i] : p->first + begin + i;
        node = is_source ? graph_id(&g->indices, edge) : target_of(g, edge, node);
        dst[i] = node - first;
        if (dst[i] < 0 || dst[i] >= count) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "edge %lld: expected a %s in [%lld, %lld), found %lld", (long long)edge,
                              is_source ? "source" : "target", (long long)first, (long long)(first + count), (long long)node);
        }
    }
    return GREBE_OK;
}

static grebe_status read_tensor(const struct part_rows *p, const struct tensor *t, int64_t begin, int64_t n, unsigned char *dst,
                                grebe_error *err)
{
    struct matrix_column c;
    grebe_status st = tensor_column(t, NULL, &c, err);
    if (st != GREBE_OK || p->positions == NULL || p->is_file_order) {
        const int64_t first = p->is_file_order ? p->attribute_first : p->first;
        return st != GREBE_OK ? st : tensor_read_rows(t, (uint64_t)(first + begin), (uint64_t)n, dst, err);
    }
    const size_t row = (size_t)c.width * matrix_element_bytes(c.format);
    for (int64_t i = 0; i < n && st == GREBE_OK; i++) {
        st = tensor_read_rows(t, (uint64_t)p->positions[begin + i], 1, dst + (size_t)i * row, err);
    }
    return st;
}

/* The edges that lead to nodes of the destination type: [*begin, *end). */
static grebe_status range_of(const struct part_rows *p, int64_t *begin, int64_t *end, grebe_error *err)
{
    const struct graph_csc *g = &p->graph->csc;
    const size_t to = graph_edge_target_type(g, p->edge_type);
    *begin = graph_id(&g->indptr, graph_type_begin(g, to));
    *end = graph_id(&g->indptr, graph_type_begin(g, to) + graph_type_count(g, to));
    if (*begin < 0 || *begin > *end || *end > g->n_edges) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "edges [%lld, %lld) of %lld", (long long)*begin, (long long)*end, (long long)g->n_edges);
    }
    return GREBE_OK;
}

/* How many edges of p's type there are, and whether they stand as they are to be read. call NULL: it cannot be cancelled. */
static grebe_status count_edges(struct part_rows *p, const struct call *call, grebe_error *err)
{
    int64_t begin, end;
    grebe_status st = range_of(p, &begin, &end, err);
    if (st != GREBE_OK) {
        return st;
    }
    const struct graph_csc *g = &p->graph->csc;
    p->n_rows = g->n_node_types == 0 ? end - begin : 0;
    for (int64_t e = begin; g->n_node_types > 0 && e < end; e++) {
        if ((e - begin) % CHECK_EVERY == 0 && call != NULL) {
            st = call_check(call, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        p->n_rows += (size_t)graph_edge_type_at(g, e) == p->edge_type;
    }
    p->first = begin;
    p->has_positions = p->n_rows > 0 && (graph_edge_ids(&p->graph->csc) != NULL || p->n_rows != end - begin);
    return GREBE_OK;
}

/* Where attributes that stand as in the files begin for p's type: after those of the types before it. */
static grebe_status find_attributes(struct part_rows *p, const struct call *call, grebe_error *err)
{
    const struct graph_csc *g = &p->graph->csc;
    grebe_status st = GREBE_OK;
    p->attribute_first = 0;
    for (int64_t e = 0; p->edge_type > 0 && e < g->n_edges && st == GREBE_OK; e++) {
        st = e % CHECK_EVERY == 0 ? call_check(call, err) : st;
        p->attribute_first += (size_t)graph_edge_type_at(g, e) < p->edge_type;
    }
    return st;
}

/* Positions of the edges of p's type: by kept id where there are ids, else as they stand. */
static grebe_status find_positions(struct part_rows *p, const struct call *call, int64_t *positions, grebe_error *err)
{
    const struct graph_csc *g = &p->graph->csc;
    const struct tensor *ids = graph_edge_ids(g);
    int64_t begin, end, i = 0;
    grebe_status st = range_of(p, &begin, &end, err);
    st = st == GREBE_OK && p->is_file_order ? find_attributes(p, call, err) : st;
    memset(positions, 0xff, (size_t)p->n_rows * sizeof *positions);
    for (int64_t e = begin; st == GREBE_OK && e < end; e++) {
        int64_t row = i;
        if ((e - begin) % CHECK_EVERY == 0) {
            GREBE_TRY(call_check(call, err));
        }
        if ((size_t)graph_edge_type_at(g, e) != p->edge_type) {
            continue;
        }
        i++;
        st = ids == NULL ? GREBE_OK : tensor_read_i64(ids, (uint64_t)e, 1, &row, err);
        if (st == GREBE_OK && (row < 0 || row >= p->n_rows || positions[row] != -1)) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "edge %lld: expected ids 0 to %lld, each once, found %lld%s", (long long)e,
                            (long long)(p->n_rows - 1), (long long)row, row >= 0 && row < p->n_rows ? " again" : "");
        } else if (st == GREBE_OK) {
            positions[row] = e;
        }
    }
out:
    return st;
}

/* Before rows are read: what it takes is not taken from those who only count. */
static grebe_status part_prepare(void *file, const struct call *call, grebe_error *err)
{
    struct part_rows *p = file;
    const grebe_allocator *a = p->graph->ctx->a;
    size_t bytes = 0;
    grebe_status st = GREBE_OK;
    if (!p->has_positions || atomic_load(&p->is_placed)) {
        return GREBE_OK;
    }
    pthread_mutex_lock(&p->lock);
    if (!atomic_load(&p->is_placed)) {
        int64_t *positions = checked_mul_size((size_t)p->n_rows, sizeof *positions, &bytes) ? mem_alloc(a, bytes) : NULL;
        st = positions != NULL ? find_positions(p, call, positions, err) : mem_fail(err, bytes, "edges");
        if (st == GREBE_OK) {
            p->positions = positions;
            atomic_store(&p->is_placed, true);
        } else {
            mem_free(a, positions, positions != NULL ? bytes : 0);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return st;
}

static grebe_status part_read(void *file, size_t column, uint64_t begin, uint64_t n, void *dst, grebe_error *err)
{
    struct part_rows *p = file;
    const struct part_column *c = &p->columns[column];
    int64_t *ids = dst;
    assert(!p->has_positions || p->positions != NULL); /* prepared */
    switch (c->kind) {
    case COLUMN_TENSOR: return read_tensor(p, c->tensor, (int64_t)begin, (int64_t)n, dst, err);
    case COLUMN_SOURCE:
    case COLUMN_TARGET: return read_ends(p, c->kind, (int64_t)begin, (int64_t)n, dst, err);
    case COLUMN_EDGE: /* without kept ids */
        for (uint64_t i = 0; i < n; i++) {
            ids[i] = p->positions != NULL ? p->positions[begin + i] : p->first + (int64_t)(begin + i);
        }
        return GREBE_OK;
    default:
        for (uint64_t i = 0; i < n; i++) {
            ids[i] = (int64_t)(begin + i);
        }
        return GREBE_OK;
    }
}

/* ---- columns ---- */

static grebe_status add_tensor(struct part_rows *p, struct matrix *m, const char *name, const struct tensor *t, grebe_error *err)
{
    if (m->n_columns == MATRIX_COLUMNS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "more than %d columns", MATRIX_COLUMNS_MAX);
    }
    grebe_status st = tensor_column(t, name, &m->columns[m->n_columns], err);
    if (st == GREBE_OK && (p->has_positions || p->first != 0 || m->map != t->region)) {
        m->columns[m->n_columns].row_0 = NULL;
    }
    p->columns[m->n_columns++] = (struct part_column){ COLUMN_TENSOR, t };
    return st;
}

static void add_ids(struct part_rows *p, struct matrix *m, const char *name, enum column_kind kind)
{
    p->columns[m->n_columns] = (struct part_column){ kind, NULL };
    m->columns[m->n_columns++] = (struct matrix_column){ name, 'l', false, 1, NULL };
}

static grebe_status add_attributes(struct part_rows *p, struct matrix *m, const struct graph_attribute *list, size_t n,
                                   const struct tensor *but, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        if (&list[i].values != but) {
            st = error_wrap(err, add_tensor(p, m, list[i].name, &list[i].values, err), "attribute \"%s\"", list[i].name);
        }
    }
    return st;
}

static grebe_status make_edges(struct part_rows *p, struct matrix *m, size_t type, const struct call *call, grebe_error *err)
{
    const struct graph_csc *g = &p->graph->csc;
    p->edge_type = type;
    const struct tensor *ids = graph_edge_ids(&p->graph->csc);
    grebe_status st = count_edges(p, call, err);
    if (st == GREBE_OK && g->n_edge_attributes > (ids != NULL ? 1 : 0)) {
        st = graph_dataset_attribute_order(p->graph, &p->is_file_order, err);
    }
    m->n_rows = (uint64_t)p->n_rows;
    add_ids(p, m, "source", COLUMN_SOURCE);
    add_ids(p, m, "target", COLUMN_TARGET);
    add_ids(p, m, ids != NULL ? "edge" : "position", ids != NULL ? COLUMN_NODE : COLUMN_EDGE); /* kept ids count the rows */
    if (st != GREBE_OK || (p->is_file_order && ids == NULL)) { /* nothing tells which attribute is of which edge */
        return st;
    }
    return add_attributes(p, m, g->edge_attributes, g->n_edge_attributes, ids, err);
}

static grebe_status make_nodes(struct part_rows *p, struct matrix *m, size_t type, grebe_error *err)
{
    const struct graph_csc *g = &p->graph->csc;
    p->first = graph_type_begin(g, type);
    m->n_rows = (uint64_t)graph_type_count(g, type);
    add_ids(p, m, "node", COLUMN_NODE);
    return add_attributes(p, m, g->node_attributes, g->n_node_attributes, NULL, err);
}

static grebe_status make_feature(struct part_rows *p, struct matrix *m, size_t i, grebe_error *err)
{
    const struct tensor *t = NULL;
    grebe_status st = graph_dataset_feature(p->graph, i, &t, err);
    if (st == GREBE_OK) {
        m->n_rows = tensor_rows(t);
        m->map = t->region;
        st = add_tensor(p, m, NULL, t, err);
    }
    return st;
}

static grebe_status make_set(struct part_rows *p, struct matrix *m, const struct graph_part *part, grebe_error *err)
{
    const struct graph_set_spec *s = &p->graph->metadata->tasks[part->i].sets[part->set][part->member];
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < s->n_items && st == GREBE_OK; i++) {
        const struct tensor *t = NULL;
        st = graph_dataset_set_array(p->graph, part->i, part->set, part->member, i, &t, err);
        if (st == GREBE_OK && i > 0 && tensor_rows(t) != m->n_rows) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "arrays of a set: expected %llu rows in each, found %llu", (unsigned long long)m->n_rows,
                            (unsigned long long)tensor_rows(t));
        } else if (st == GREBE_OK) {
            m->n_rows = tensor_rows(t);
            st = add_tensor(p, m, s->items[i].name, t, err);
        }
    }
    return st == GREBE_OK && s->n_items == 0 ? GREBE_FAIL(err, GREBE_ESCHEMA, "the set has no arrays") : st;
}

grebe_status graph_part_matrix(grebe_graph *graph, bool takes_graph, const struct graph_part *part,
                               const struct call *call, struct matrix *m, grebe_error *err)
{
    const grebe_allocator *a = graph->ctx->a;
    grebe_status st = GREBE_OK;
    memset(m, 0, sizeof *m);
    struct part_rows *p = mem_alloc_zero(a, sizeof *p);
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "rows of a graph");
    }
    p->graph = graph;
    pthread_mutex_init(&p->lock, NULL);
    p->owns_graph = takes_graph;
    m->read = part_read;
    m->prepare = part_prepare;
    m->close = part_close;
    m->file = p;
    switch (part->kind) {
    case GRAPH_PART_FEATURE: st = make_feature(p, m, part->i, err); break;
    case GRAPH_PART_EDGES: st = make_edges(p, m, part->i, call, err); break;
    case GRAPH_PART_NODES: st = make_nodes(p, m, part->i, err); break;
    default: st = make_set(p, m, part, err); break;
    }
    if (st != GREBE_OK) {
        pthread_mutex_destroy(&p->lock);
        mem_free(a, p, sizeof *p);
        m->file = NULL;
    }
    return st;
}
