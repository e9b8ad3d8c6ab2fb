/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_GRAPH_CASE_H
#define GREBE_TEST_GRAPH_CASE_H

/* Graphs of tests/data/graphbolt/cases, and small ones by hand. */

#include <stdio.h>
#include <stdlib.h>

#include "graph/graph_batch.h"
#include "graph/graph_types.h"
#include "test_support.h"
#include "wire/json.h"

struct graph_case {
    struct graph_csc g;
    struct arena arena;
    struct tensor tensors[16];
    size_t n_tensors;
};

static grebe_error err;
static grebe_context *ctx;

static inline int set_up(void **state)
{
    (void)state;
    grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
    options.threads = 4;
    return context_new(&options, &ctx, &err) == GREBE_OK ? 0 : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    context_free(ctx);
    return 0;
}

static inline const struct json_value *read_json(struct arena *ar, const char *path)
{
    size_t len;
    const struct json_value *tree;
    unsigned char *text = test_read_file(path, &len);
    assert_ok(json_parse(ar, (char *)text, len, &tree, &err));
    free(text);
    return tree;
}

/* Integers of a list, nested ones one after another. */
static inline void flatten(const struct json_value *v, struct graph_array *out)
{
    if (v->type == JSON_ARRAY) {
        for (size_t i = 0; i < v->n; i++) {
            flatten(&v->items[i], out);
        }
        return;
    }
    int64_t x;
    assert_true(json_i64(v, &x));
    assert_ok(graph_array_room(mem_system(), out, out->n + 1, &err));
    out->v[out->n++] = x;
}

static inline struct graph_array ints(const struct json_value *v)
{
    struct graph_array out = { 0 };
    assert_ok(graph_array_room(mem_system(), &out, 1, &err));
    if (v != NULL) {
        flatten(v, &out);
    }
    return out;
}

static inline void free_ints(struct graph_array *x) { graph_array_release(mem_system(), x); }

static inline void assert_ints(const char *where, const int64_t *found, int64_t n, const struct json_value *expected)
{
    struct graph_array e = ints(expected);
    if (e.n != n) {
        fail_msg("%s: expected %lld values, found %lld", where, (long long)e.n, (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        if (e.v[i] != found[i]) {
            fail_msg("%s[%lld]: expected %lld, found %lld", where, (long long)i, (long long)e.v[i], (long long)found[i]);
        }
    }
    free_ints(&e);
}

static inline struct tensor *open_tensor(struct graph_case *c, const char *folder, const char *name)
{
    char path[1024];
    struct tensor *t = &c->tensors[c->n_tensors++];
    snprintf(path, sizeof path, "%.700s/%.300s.npy", folder, name);
    assert_ok(tensor_open(ctx, path, t, &err));
    return t;
}

static inline struct graph_ids ids_of(const struct tensor *t)
{
    assert_true(t->type == ARRAY_I32 || t->type == ARRAY_I64);
    return (struct graph_ids){ t->data, t->type == ARRAY_I64 };
}

static inline void open_attributes(struct graph_case *c, const char *folder, const char *kind, const struct json_value *names,
                                   struct graph_attribute **out, size_t *n)
{
    char path[600];
    *n = names == NULL || names->type != JSON_OBJECT ? 0 : names->n;
    *out = *n == 0 ? NULL : arena_array(&c->arena, *n, sizeof **out);
    snprintf(path, sizeof path, "%.500s/%.50s", folder, kind);
    for (size_t i = 0; i < *n; i++) {
        (*out)[i].name = names->members[i].key;
        (*out)[i].values = *open_tensor(c, path, names->members[i].key);
    }
}

static inline void open_types(struct graph_case *c, const char *folder, const struct json_value *info)
{
    struct graph_csc *g = &c->g;
    const struct json_value *nodes = json_get(info, "node_type_to_id"), *edges = json_get(info, "edge_type_to_id");
    g->n_node_types = nodes->n;
    g->n_edge_types = edges->n;
    const char **node_types = arena_array(&c->arena, nodes->n, sizeof *node_types);
    const char **edge_types = arena_array(&c->arena, edges->n, sizeof *edge_types);
    int32_t (*ends)[2] = arena_array(&c->arena, edges->n, sizeof *ends);
    int64_t id, *offsets = arena_array(&c->arena, nodes->n + 1, sizeof *offsets);
    for (size_t i = 0; i < nodes->n; i++) {
        assert_true(json_i64(&nodes->members[i].value, &id));
        node_types[id] = nodes->members[i].key;
    }
    for (size_t i = 0; i < edges->n; i++) {
        const char *name = edges->members[i].key, *first = strchr(name, ':'), *second = strrchr(name, ':');
        assert_true(json_i64(&edges->members[i].value, &id));
        edge_types[id] = name;
        for (size_t t = 0; t < nodes->n; t++) {
            size_t len = strlen(node_types[t]);
            if (len == (size_t)(first - name) && memcmp(node_types[t], name, len) == 0) {
                ends[id][0] = (int32_t)t;
            }
            if (strcmp(second + 1, node_types[t]) == 0) {
                ends[id][1] = (int32_t)t;
            }
        }
    }
    assert_ok(tensor_read_i64(open_tensor(c, folder, "node_type_offset"), 0, nodes->n + 1, offsets, &err));
    g->node_types = node_types;
    g->edge_types = edge_types;
    g->edge_ends = (const int32_t (*)[2])ends;
    g->node_type_offset = offsets;
    g->type_per_edge = *open_tensor(c, folder, "type_per_edge");
}

/* Variant "ids_cast" of a case. */
static inline void open_case(const char *name, struct graph_case *c)
{
    char folder[512], path[600];
    *c = (struct graph_case){ .arena = ARENA_INIT(mem_system()) };
    snprintf(folder, sizeof folder, TEST_DATA "/data/graphbolt/cases/%s/expect/ids_cast", name);
    snprintf(path, sizeof path, "%s/info.json", folder);
    const struct json_value *info = read_json(&c->arena, path), *types = json_get(info, "node_type_to_id");
    c->g.ctx = ctx;
    struct tensor *indptr = open_tensor(c, folder, "indptr"), *indices = open_tensor(c, folder, "indices");
    c->g.n_nodes = (int64_t)indptr->n_values - 1;
    c->g.n_edges = (int64_t)indices->n_values;
    c->g.indptr = ids_of(indptr);
    c->g.indices = ids_of(indices);
    if (types != NULL && types->type == JSON_OBJECT) {
        open_types(c, folder, info);
    }
    open_attributes(c, folder, "node_attr", json_get(info, "node_attributes"), &c->g.node_attributes, &c->g.n_node_attributes);
    open_attributes(c, folder, "edge_attr", json_get(info, "edge_attributes"), &c->g.edge_attributes, &c->g.n_edge_attributes);
}

static inline void close_case(struct graph_case *c)
{
    for (size_t i = 0; i < c->n_tensors; i++) {
        tensor_release(&c->tensors[i]);
    }
    arena_release(&c->arena);
}

/* A graph without types over arrays of int64. */
static inline struct graph_csc small_graph(const int64_t *indptr, int64_t n_nodes, const int64_t *indices)
{
    return (struct graph_csc){ .ctx = ctx, .n_nodes = n_nodes, .n_edges = indptr[n_nodes], .indptr = { indptr, true },
                               .indices = { indices, true } };
}

/* Calls fn for each line of a file of a case. */
static inline size_t each_line(const char *name, const char *file, void (*fn)(struct graph_case *c, const struct json_value *line))
{
    char path[600];
    size_t len, n = 0;
    struct graph_case c;
    open_case(name, &c);
    snprintf(path, sizeof path, TEST_DATA "/data/graphbolt/cases/%s/expect/%s", name, file);
    unsigned char *text = test_read_file(path, &len);
    for (size_t at = 0; at < len;) {
        unsigned char *end = memchr(text + at, '\n', len - at);
        size_t size = end == NULL ? len - at : (size_t)(end - (text + at));
        struct arena ar = ARENA_INIT(mem_system());
        const struct json_value *line;
        assert_ok(json_parse(&ar, (char *)text + at, size, &line, &err));
        fn(&c, line);
        arena_release(&ar);
        at += size + 1;
        n++;
    }
    free(text);
    close_case(&c);
    return n;
}

/* ids of each type of a seed dictionary (or the list itself) to a batch */
static inline void add_seeds(struct graph_batch *b, struct graph_scratch *s, const struct json_value *seeds,
                             const struct json_value *times)
{
    for (size_t t = 0; t < b->n_node_types; t++) {
        const char *name = b->g->n_node_types == 0 ? NULL : b->g->node_types[t];
        struct graph_array ids = ints(name == NULL ? seeds : json_get(seeds, name));
        struct graph_array at = ints(times == NULL ? NULL : name == NULL ? times : json_get(times, name));
        assert_ok(graph_batch_add(b, s, t, ids.v, times == NULL ? NULL : at.v, ids.n, false, NULL, &err));
        free_ints(&ids);
        free_ints(&at);
    }
}

/* rows of a relation as ids of the source's type */
static inline struct graph_array source_ids(const struct graph_batch *b, size_t layer, size_t type)
{
    const struct graph_relation *r = &b->layers[layer].relations[type];
    struct graph_array out = { 0 };
    assert_ok(graph_array_room(mem_system(), &out, r->indices.n, &err));
    for (int64_t i = 0; i < r->indices.n; i++) {
        out.v[i] = b->nodes[graph_edge_source_type(b->g, type)].v[r->indices.v[i]];
    }
    out.n = r->indices.n;
    return out;
}

/* The member of an edge (node) type, or the value itself. */
static inline const struct json_value *of_edge_type(const struct graph_csc *g, const struct json_value *v, size_t type)
{
    return v == NULL || g->n_node_types == 0 ? v : json_get(v, g->edge_types[type]);
}
static inline const struct json_value *of_node_type(const struct graph_csc *g, const struct json_value *v, size_t type)
{
    return v == NULL || g->n_node_types == 0 ? v : json_get(v, g->node_types[type]);
}

static inline const struct graph_attribute *node_attribute(const struct graph_csc *g, const char *name)
{
    for (size_t i = 0; i < g->n_node_attributes; i++) {
        if (strcmp(g->node_attributes[i].name, name) == 0) {
            return &g->node_attributes[i];
        }
    }
    return NULL;
}

/* ---- small graphs: what was sampled against lists ---- */

static inline struct tensor tensor_1d(int type, const void *data, int64_t n)
{
    return (struct tensor){ .type = type, .rank = 1, .shape = { (uint64_t)n }, .strides = { 1 }, .n_values = (uint64_t)n, .data = data,
                            .is_packed = true };
}

struct run {
    struct graph_batch *b;
    struct graph_scratch *s;
};

static inline struct run run_new(const struct graph_csc *g)
{
    struct run r;
    assert_ok(graph_batch_new(g, &r.b, &err));
    assert_ok(graph_scratch_new(g, &r.s, &err));
    graph_batch_begin(r.b, r.s);
    return r;
}

static inline void run_free(struct run *r)
{
    graph_batch_free(r->b);
    graph_scratch_free(r->s);
}

static inline void assert_list(const char *where, const int64_t *found, int64_t n, const int64_t *expected, size_t n_expected)
{
    if (n != (int64_t)n_expected) {
        fail_msg("%s: %lld values, expected %zu", where, (long long)n, n_expected);
    }
    for (int64_t i = 0; i < n; i++) {
        if (found[i] != expected[i]) {
            fail_msg("%s[%lld]: found %lld, expected %lld", where, (long long)i, (long long)found[i], (long long)expected[i]);
        }
    }
}
#define LIST(where, found, n, ...) \
    assert_list(where, found, n, (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
#define RELATION(b, layer, type, indptr_, indices_)                                                                 \
    do {                                                                                                            \
        const struct graph_relation *r_ = &(b)->layers[layer].relations[type];                                      \
        const int64_t p_[] = indptr_, i_[] = indices_;                                                              \
        assert_list("indptr", r_->indptr.v, r_->indptr.n, p_, sizeof p_ / sizeof *p_);                              \
        assert_list("indices", r_->indices.v, r_->indices.n, i_, sizeof i_ / sizeof *i_);                           \
    } while (0)
#define V(...) { __VA_ARGS__ }

static const char *const case_names[] = { "dtypes", "hetero_attr", "hetero_mix", "homo_attr", "homo_csv", "homo_no_edges",
                                          "one_named_type" };

#endif
