/* SPDX-License-Identifier: Apache-2.0 */
/* Ids in the sets of a data set that is to be preprocessed: each is one of the nodes of its type. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "graph/graph_items.h"
#include "graph/graph_preprocess.h"

enum { CHUNK_VALUES = 1 << 13 };

/* Which ends of a seed a column has. */
struct ends {
    int64_t first, arity; /* of the ends of a seed that has so many; ids of a row stand for them in turn */
    bool is_one;          /* all of them are end `first` */
};

static bool ends_of(const char *name, uint64_t width, struct ends *out)
{
    *out = (struct ends){ 0, (int64_t)width, false };
    if (name == NULL) {
        return false;
    }
    if (strcmp(name, "negative_srcs") == 0 || strcmp(name, "negative_dsts") == 0) {
        *out = (struct ends){ strcmp(name, "negative_dsts") == 0, 2, true };
        return true;
    }
    return strcmp(name, "seeds") == 0 || strcmp(name, "seed_nodes") == 0 || strcmp(name, "node_pairs") == 0;
}

/* The nodes that an end may be; NULL: the type does not tell. */
static const struct graph_node_spec *nodes_of(const struct graph_metadata *m, const char *type, int64_t arity, int64_t end)
{
    size_t len = 0;
    if (m->is_homogeneous) {
        return m->n_nodes > 0 ? &m->nodes[0] : NULL;
    }
    const char *name = type != NULL ? graph_seed_type_of(type, arity, end, &len) : NULL;
    for (size_t i = 0; name != NULL && i < m->n_nodes; i++) {
        const char *x = m->nodes[i].type;
        if (x != NULL && strlen(x) == len && memcmp(x, name, len) == 0) {
            return &m->nodes[i];
        }
    }
    return NULL;
}

struct checking {
    struct graph_metadata *m;
    const struct call *call;
    const char *set, *type;
    int64_t *ids; /* shape [CHUNK_VALUES] */
};

/* Values of every width-th id of a chunk, from `at` on; SIZE_MAX: all are below the bound. */
static size_t first_outside(const int64_t *ids, size_t n, size_t at, size_t width, int64_t bound)
{
    for (size_t i = at; i < n; i += width) {
        if ((uint64_t)ids[i] >= (uint64_t)bound) {
            return i;
        }
    }
    return SIZE_MAX;
}

static grebe_status check_rows(const struct checking *c, const struct graph_set_item *x, const struct tensor *t,
                               const struct ends *ends, uint64_t width, grebe_error *err)
{
    const uint64_t rows = t->shape[0], some = CHUNK_VALUES / width;
    for (uint64_t begin = 0; begin < rows; begin += some) {
        const size_t n = (size_t)(min_u64(some, rows - begin) * width);
        grebe_status st = call_check(c->call, err);
        if (st != GREBE_OK) {
            return st;
        }
        st = tensor_read_i64(t, begin, n / width, c->ids, err);
        if (st != GREBE_OK) {
            return error_wrap(err, st, "%s: from row %llu on", x->file.path, (unsigned long long)begin);
        }
        const struct graph_node_spec *nodes = NULL;
        size_t found = SIZE_MAX;
        for (size_t k = 0; k < width; k++) {
            const struct graph_node_spec *of = nodes_of(c->m, c->type, ends->arity, ends->is_one ? ends->first : (int64_t)k);
            size_t at = of != NULL ? first_outside(c->ids, n, k, (size_t)width, of->num) : SIZE_MAX;
            nodes = at < found ? of : nodes;
            found = at < found ? at : found;
        }
        if (found != SIZE_MAX) {
            char column[40] = "";
            if (t->rank > 1) {
                snprintf(column, sizeof column, ", column %llu", (unsigned long long)(found % width));
            }
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: %s, %s, row %llu%s: node %lld, the bound is %lld%s%s", x->file.path,
                              c->set, x->name, (unsigned long long)(begin + found / width), column, (long long)c->ids[found],
                              (long long)nodes->num, nodes->type != NULL ? ", the nodes of type " : "",
                              nodes->type != NULL ? nodes->type : "");
        }
    }
    return GREBE_OK;
}

static grebe_status check_item(const struct checking *c, const struct graph_set_item *x, grebe_error *err)
{
    grebe_error failed = GREBE_ERROR_INIT;
    struct tensor t = { 0 };
    struct ends ends;
    grebe_status st = graph_file_open(c->m, &x->file, &t, &failed);
    uint64_t rows = st == GREBE_OK && t.rank > 0 ? t.shape[0] : 0, width = rows > 0 ? t.n_values / rows : 0;
    if (st == GREBE_OK && width > 0 && graph_type_is_integer(t.type) && ends_of(x->name, width, &ends)) {
        st = width <= CHUNK_VALUES ? check_rows(c, x, &t, &ends, width, &failed)
                                   : GREBE_FAIL(&failed, GREBE_ELIMIT, "%s: %llu ids in a row, expected at most %d", x->file.path,
                                                (unsigned long long)width, CHUNK_VALUES);
    }
    tensor_release(&t);
    if (st == GREBE_ENOMEM || st == GREBE_ECANCELLED) {
        return error_copy(err, st, &failed);
    }
    return st == GREBE_OK ? st : graph_problem_add_file(c->m, &x->file, st, failed.message, err);
}

grebe_status graph_seeds_check(struct graph_metadata *m, const struct call *call, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const size_t bytes = CHUNK_VALUES * sizeof(int64_t);
    struct checking c = { .m = m, .call = call, .ids = mem_alloc(m->ctx->a, bytes) };
    if (c.ids == NULL) {
        return mem_fail(err, bytes, m->shown);
    }
    for (size_t i = 0; i < m->n_tasks; i++) {
        for (size_t kind = 0; kind < GRAPH_SETS; kind++) {
            for (size_t p = 0; p < m->tasks[i].n_sets[kind]; p++) {
                const struct graph_set_spec *s = &m->tasks[i].sets[kind][p];
                c.set = graph_set_names[kind];
                c.type = s->type;
                for (size_t k = 0; k < s->n_items; k++) {
                    GREBE_TRY(graph_file_is_told(m, &s->items[k].file) ? GREBE_OK : check_item(&c, &s->items[k], err));
                }
            }
        }
    }
out:
    mem_free(m->ctx->a, c.ids, bytes);
    return st;
}
