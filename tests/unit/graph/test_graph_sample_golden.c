/* SPDX-License-Identifier: Apache-2.0 */
/* What GraphBolt samples where no chance is involved, or where its numbers are known (cases of samples.jsonl and pipelines.jsonl). */

#include "graph_case.h"

struct request {
    struct graph_hops hops;
    struct graph_array fanouts;
    struct graph_weights weights;
    struct graph_times times;
    struct graph_blend blend;
};

static bool is_true(const struct json_value *v) { return v != NULL && v->type == JSON_BOOL && v->boolean; }

static const int64_t *times_of(const struct json_value *name, const struct graph_attribute *a)
{
    if (name == NULL || name->type != JSON_STRING) {
        return NULL;
    }
    assert_non_null(a);
    assert_int_equal(a->values.type, ARRAY_I64);
    return (const int64_t *)(const void *)a->values.data;
}

static void read_request(const struct graph_csc *g, const struct json_value *args, struct request *q)
{
    const struct json_value *prob = json_get(args, "prob"), *seed = json_get(args, "random_seed");
    const struct json_value *node_time = json_get(args, "node_timestamp_attr_name");
    const struct json_value *edge_time = json_get(args, "edge_timestamp_attr_name");
    *q = (struct request){ .hops.n_layers = 1 };
    q->fanouts = ints(json_get(args, "fanouts"));
    if (q->fanouts.n == 0) {
        q->fanouts.v[0] = GRAPH_FANOUT_ALL;
        q->fanouts.n = 1;
    }
    q->hops.hop.fanouts = q->fanouts.v;
    q->hops.hop.n_fanouts = (size_t)q->fanouts.n;
    q->hops.hop.with_replacement = is_true(json_get(args, "replace"));
    if (prob != NULL && prob->type == JSON_STRING) {
        const struct graph_attribute *a = graph_edge_attribute(g, prob->text);
        assert_non_null(a);
        assert_ok(graph_weights_of(g, &a->values, true, &q->weights, &err));
        q->hops.hop.weights = &q->weights;
    }
    if (seed != NULL && seed->type == JSON_ARRAY) {
        struct graph_array keys = ints(seed);
        double contribution;
        assert_true(json_double(json_get(args, "seed2_contribution"), &contribution));
        q->blend = graph_blend_of((uint64_t)keys.v[0], (uint64_t)keys.v[keys.n - 1], (float)contribution);
        q->hops.hop.blend = &q->blend;
        free_ints(&keys);
    } else if (seed != NULL) {
        int64_t key;
        assert_true(json_i64(seed, &key));
        q->hops.hop.key = (uint64_t)key;
    }
    if (node_time != NULL || edge_time != NULL) {
        q->times.of_nodes = times_of(node_time, node_time == NULL ? NULL : node_attribute(g, node_time->text));
        q->times.of_edges = times_of(edge_time, edge_time == NULL ? NULL : graph_edge_attribute(g, edge_time->text));
        q->hops.hop.times = &q->times;
        q->hops.keeps_duplicates = true;
    }
}

static void end_request(struct request *q)
{
    free_ints(&q->fanouts);
    graph_weights_release(&q->weights);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Edge ids column by column, each sorted, on both sides. */
static void assert_sets(const char *where, const struct graph_relation *r, const struct json_value *expected)
{
    struct graph_array e = ints(expected);
    assert_int_equal(e.n, r->edges.n);
    for (int64_t c = 0; c + 1 < r->indptr.n; c++) {
        int64_t begin = r->indptr.v[c], n = r->indptr.v[c + 1] - begin;
        qsort(e.v + begin, (size_t)n, sizeof *e.v, by_value);
        qsort(r->edges.v + begin, (size_t)n, sizeof *e.v, by_value);
        for (int64_t i = begin; i < begin + n; i++) {
            if (e.v[i] != r->edges.v[i]) {
                fail_msg("%s, column %lld: expected edge %lld, found %lld", where, (long long)c, (long long)e.v[i],
                         (long long)r->edges.v[i]);
            }
        }
    }
    free_ints(&e);
}

static void check_one_hop(struct graph_case *c, const struct json_value *line)
{
    const struct json_value *args = json_get(line, "args"), *expect = json_get(line, "expect");
    const struct json_value *note = json_get(line, "note");
    bool as_sets = note != NULL && note->type == JSON_STRING && strstr(note->text, "as a set") != NULL;
    struct graph_batch *b;
    struct graph_scratch *s;
    struct request q;
    read_request(&c->g, args, &q);
    q.hops.hop.is_by_source = json_is_text(json_get(line, "op"), "sample_layer_neighbors");
    assert_ok(graph_batch_new(&c->g, &b, &err));
    assert_ok(graph_scratch_new(&c->g, &s, &err));
    graph_batch_begin(b, s);
    add_seeds(b, s, json_get(args, "seeds"), json_get(args, "timestamps"));
    assert_ok(graph_batch_sample(b, s, &q.hops, 1, &err));
    graph_batch_finish(b);
    for (size_t r = 0; r < b->n_edge_types; r++) {
        const struct json_value *csc = of_edge_type(&c->g, json_get(expect, "csc"), r);
        const struct graph_relation *found = &b->layers[0].relations[r];
        assert_ints("indptr", found->indptr.v, found->indptr.n, json_get(csc, "indptr"));
        if (as_sets) {
            assert_sets("edge_ids", found, of_edge_type(&c->g, json_get(expect, "edge_ids"), r));
        } else {
            struct graph_array ids = source_ids(b, 0, r);
            assert_ints("indices", ids.v, ids.n, json_get(csc, "indices"));
            assert_ints("edge_ids", found->edges.v, found->edges.n, of_edge_type(&c->g, json_get(expect, "edge_ids"), r));
            free_ints(&ids);
        }
    }
    graph_batch_free(b);
    graph_scratch_free(s);
    end_request(&q);
}

/* Layers as GraphBolt lists them; rows of a type that is only a destination are missing there (ours are its columns). */
static void check_layers(const struct graph_batch *b, const struct json_value *layers)
{
    const struct graph_csc *g = b->g;
    assert_int_equal(layers->n, b->n_layers);
    for (size_t i = 0; i < b->n_layers; i++) {
        const struct json_value *layer = &layers->items[i];
        for (size_t r = 0; r < b->n_edge_types; r++) {
            const struct json_value *csc = of_edge_type(g, json_get(layer, "csc"), r);
            const struct graph_relation *found = &b->layers[i].relations[r];
            assert_ints("indptr", found->indptr.v, found->indptr.n, json_get(csc, "indptr"));
            assert_ints("indices", found->indices.v, found->indices.n, json_get(csc, "indices"));
            assert_ints("edge_ids", found->edges.v, found->edges.n, of_edge_type(g, json_get(layer, "edge_ids"), r));
        }
        for (size_t t = 0; t < b->n_node_types; t++) {
            const struct json_value *rows = of_node_type(g, json_get(layer, "rows"), t);
            const struct json_value *columns = of_node_type(g, json_get(layer, "columns"), t);
            assert_ints("columns", b->nodes[t].v, b->layers[i].n_columns[t], columns);
            if (rows != NULL) {
                assert_ints("rows", b->nodes[t].v, b->layers[i].n_rows[t], rows);
            } else {
                assert_int_equal(b->layers[i].n_rows[t], b->layers[i].n_columns[t]);
            }
        }
    }
}

static void check_all_layers(struct graph_case *c, const struct json_value *line)
{
    const struct json_value *args = json_get(line, "args"), *expect = json_get(line, "expect");
    struct graph_batch *b;
    struct graph_scratch *s;
    struct request q;
    read_request(&c->g, args, &q);
    q.hops.n_layers = (size_t)q.fanouts.n;
    q.hops.hop.n_fanouts = 1;
    assert_ok(graph_batch_new(&c->g, &b, &err));
    assert_ok(graph_scratch_new(&c->g, &s, &err));
    for (int round = 0; round < 2; round++) { /* memory of the first is used again */
        graph_batch_begin(b, s);
        add_seeds(b, s, json_get(args, "seeds"), NULL);
        assert_ok(graph_batch_sample(b, s, &q.hops, 1, &err));
        graph_batch_finish(b);
        check_layers(b, json_get(expect, "layers"));
        for (size_t t = 0; t < b->n_node_types; t++) {
            const struct json_value *inputs = of_node_type(&c->g, json_get(expect, "input_nodes"), t);
            if (inputs != NULL) {
                assert_ints("input_nodes", b->nodes[t].v, b->nodes[t].n, inputs);
            }
        }
    }
    graph_batch_free(b);
    graph_scratch_free(s);
    end_request(&q);
}

static size_t n_checked;

static void check_line(struct graph_case *c, const struct json_value *line)
{
    const struct json_value *op = json_get(line, "op");
    if (json_is_text(op, "layers")) {
        check_all_layers(c, line);
    } else if (json_is_text(op, "in_subgraph") || json_is_text(op, "sample_neighbors") ||
               json_is_text(op, "temporal_sample_neighbors") || json_is_text(op, "sample_layer_neighbors")) {
        check_one_hop(c, line);
    } else {
        return;
    }
    n_checked++;
}

static void test_graph_sample__recorded_samples__as_graphbolt(void **state)
{
    (void)state;
    n_checked = 0;
    for (size_t i = 0; i < sizeof case_names / sizeof *case_names; i++) {
        each_line(case_names[i], "samples.jsonl", check_line);
    }
    assert_int_equal(n_checked, 231);
}

static void test_graph_sample__recorded_pipelines__same_edges_of_each_seed(void **state)
{
    static const char *const names[] = { "hetero_attr", "hetero_mix", "homo_attr", "homo_csv", "one_named_type" };
    (void)state;
    n_checked = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        each_line(names[i], "pipelines.jsonl", check_line);
    }
    assert_int_equal(n_checked, 184);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_sample__recorded_samples__as_graphbolt),
        cmocka_unit_test(test_graph_sample__recorded_pipelines__same_edges_of_each_seed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
