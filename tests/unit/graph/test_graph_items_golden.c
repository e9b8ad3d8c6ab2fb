/* SPDX-License-Identifier: Apache-2.0 */
/* Orders, batches and seeds of item sets, and rows of features, as GraphBolt has them. */

#include <math.h>

#include "base/half.h"
#include "graph/graph_minibatch.h"
#include "graph_case.h"

/* ---- item sets of info.json ---- */

struct test_set {
    struct graph_items items;
    struct graph_item_part parts[8];
    const char *names[8];
    struct tensor columns[8][8];
};

static int type_named(const char *name)
{
    return strcmp(name, "int32") == 0 ? ARRAY_I32 : strcmp(name, "int64") == 0 ? ARRAY_I64
         : strcmp(name, "float32") == 0 ? ARRAY_F32 : ARRAY_F64;
}

static void put_values(const struct json_value *v, int type, unsigned char *dst, size_t *at)
{
    if (v->type == JSON_ARRAY) {
        for (size_t i = 0; i < v->n; i++) {
            put_values(&v->items[i], type, dst, at);
        }
        return;
    }
    double d;
    assert_true(json_double(v, &d));
    if (type == ARRAY_I32) {
        ((int32_t *)(void *)dst)[*at] = (int32_t)d;
    } else if (type == ARRAY_I64) {
        ((int64_t *)(void *)dst)[*at] = (int64_t)d;
    } else if (type == ARRAY_F32) {
        ((float *)(void *)dst)[*at] = (float)d;
    } else {
        ((double *)(void *)dst)[*at] = d;
    }
    ++*at;
}

static struct tensor tensor_of(struct arena *ar, const struct json_value *array)
{
    struct graph_array shape = ints(json_get(array, "shape"));
    struct tensor t = { .type = type_named(json_get(array, "dtype")->text), .rank = (unsigned)shape.n, .n_values = 1, .is_packed = true };
    for (unsigned i = t.rank; i-- > 0;) {
        t.shape[i] = (uint64_t)shape.v[i];
        t.strides[i] = (int64_t)t.n_values;
        t.n_values *= t.shape[i];
    }
    free_ints(&shape);
    size_t at = 0;
    unsigned char *data = arena_alloc_zero(ar, (size_t)t.n_values * 8 + 8);
    put_values(json_get(array, "values"), t.type, data, &at);
    assert_int_equal(at, t.n_values);
    t.data = data;
    return t;
}

static void add_test_part(struct test_set *s, struct arena *ar, const char *type, const struct json_value *arrays)
{
    size_t p = s->items.n_parts++;
    for (size_t i = 0; i < arrays->n; i++) {
        s->columns[p][i] = tensor_of(ar, &arrays->items[i]);
    }
    s->parts[p] = (struct graph_item_part){ type, (int64_t)s->columns[p][0].shape[0], s->columns[p] };
}

static void read_set(struct graph_case *c, const struct json_value *info, const struct json_value *args, struct test_set *s)
{
    const struct json_value *tasks = json_get(info, "tasks"), *set = NULL;
    for (size_t i = 0; i < tasks->n; i++) {
        if (json_is_text(json_get(json_get(&tasks->items[i], "metadata"), "name"), json_get(args, "task")->text)) {
            set = json_get(&tasks->items[i], json_get(args, "set")->text);
        }
    }
    assert_non_null(set);
    memset(s, 0, sizeof *s);
    const struct json_value *names = json_get(set, "names"), *types = json_get(set, "types");
    s->items = (struct graph_items){ s->names, names->n, s->parts, 0 };
    for (size_t i = 0; i < names->n; i++) {
        s->names[i] = names->items[i].text;
    }
    if (types != NULL) {
        for (size_t i = 0; i < types->n; i++) {
            add_test_part(s, &c->arena, types->members[i].key, &types->members[i].value);
        }
    } else {
        add_test_part(s, &c->arena, NULL, json_get(set, "arrays"));
    }
    assert_ok(graph_items_check(&s->items, &err));
}

static const struct json_value *info_of(struct graph_case *c, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, TEST_DATA "/data/graphbolt/cases/%s/expect/ids_cast/info.json", name);
    return read_json(&c->arena, path);
}

/* ---- comparing ---- */

static double value_at(const unsigned char *p, int type, int64_t i)
{
    switch (type) {
    case ARRAY_I32: return ((const int32_t *)(const void *)p)[i];
    case ARRAY_I64: return (double)((const int64_t *)(const void *)p)[i];
    case ARRAY_F32: return (double)((const float *)(const void *)p)[i];
    case ARRAY_F64: return ((const double *)(const void *)p)[i];
    case ARRAY_F16: return (double)half_to_float(((const uint16_t *)(const void *)p)[i]);
    case ARRAY_I8: return ((const int8_t *)p)[i];
    case ARRAY_I16: return ((const int16_t *)(const void *)p)[i];
    case ARRAY_U8: case ARRAY_BOOL: return p[i];
    case TENSOR_C64: return (double)((const float *)(const void *)p)[i];
    default: fail_msg("type %d", type); return 0;
    }
}

static void check_values(const char *where, const struct json_value *v, const unsigned char *p, int type, int64_t *at)
{
    if (v->type == JSON_ARRAY) {
        for (size_t i = 0; i < v->n; i++) {
            check_values(where, &v->items[i], p, type, at);
        }
        return;
    }
    double d = 0;
    if (v->type == JSON_BOOL) {
        d = v->boolean;
    } else {
        assert_true(json_double(v, &d));
    }
    double found = value_at(p, type, *at);
    if (d != found && fabs(d - found) > 1e-6 * fabs(d)) {
        fail_msg("%s[%lld]: expected %g, found %g", where, (long long)*at, d, found);
    }
    ++*at;
}

/* Rows of a column of a batch against nested lists. */
static void check_column(const struct test_set *s, size_t part, size_t column, const struct graph_array *rows,
                         const struct json_value *expected)
{
    const struct tensor *t = &s->columns[part][column];
    unsigned char *bytes = calloc((size_t)rows->n + 1, graph_row_bytes(t));
    int64_t at = 0;
    assert_ok(graph_rows_gather(ctx, t, rows->v, rows->n, false, 2, bytes, &err));
    check_values(s->names[column], expected, bytes, t->type, &at);
    assert_int_equal(at, rows->n * (int64_t)(graph_row_bytes(t) / tensor_type_bytes(t->type)));
    free(bytes);
}

static const struct json_value *info;
static size_t n_checked;

/* ---- batches as they stand, and by shuffled orders ---- */

static bool is_true(const struct json_value *v) { return v != NULL && v->type == JSON_BOOL && v->boolean; }

static int64_t number(const struct json_value *args, const char *key)
{
    int64_t x;
    assert_true(json_i64(json_get(args, key), &x));
    return x;
}

/* expected: a list of columns, or such lists by type */
static void check_listed_batch(const struct test_set *s, const struct graph_item_batch *b, const struct json_value *expected)
{
    for (size_t p = 0; p < s->items.n_parts; p++) {
        const struct json_value *columns = s->parts[p].type == NULL ? expected : json_get(expected, s->parts[p].type);
        assert_true((columns == NULL) == (b->rows[p].n == 0));
        for (size_t i = 0; columns != NULL && i < s->items.n_columns; i++) {
            /* the only column stands for itself */
            check_column(s, p, i, &b->rows[p], s->items.n_columns == 1 ? columns : &columns->items[i]);
        }
    }
}

static void check_item_sampler(struct graph_case *c, const struct json_value *line)
{
    const struct json_value *args = json_get(line, "args"), *batches = json_get(json_get(line, "expect"), "batches");
    struct test_set s;
    struct graph_epoch e;
    struct graph_item_batch b;
    if (!json_is_text(json_get(line, "op"), "item_sampler")) {
        return;
    }
    struct graph_share share = { .batch_size = number(args, "batch_size"), .drop_last = is_true(json_get(args, "drop_last")) };
    n_checked++;
    read_set(c, info, args, &s);
    assert_ok(graph_epoch_begin(ctx, &s.items, share, false, 0, &e, &err));
    assert_ok(graph_item_batch_new(ctx, s.items.n_parts, &b, &err));
    if (batches != NULL) {
        assert_int_equal(e.n_batches, batches->n);
    }
    for (int64_t i = 0; batches != NULL && i < e.n_batches; i++) {
        assert_ok(graph_epoch_batch(&e, i, &b, &err));
        check_listed_batch(&s, &b, &batches->items[i]);
    }
    graph_item_batch_release(ctx, &b);
    graph_epoch_end(&e);
}

static void test_graph_items__recorded_batches__equal(void **state)
{
    static const char *const names[] = { "hetero_mix", "homo_attr", "homo_csv" };
    (void)state;
    n_checked = 0;
    for (size_t i = 0; i < 3; i++) {
        struct graph_case c;
        open_case(names[i], &c);
        info = info_of(&c, names[i]);
        each_line(names[i], "samples.jsonl", check_item_sampler);
        close_case(&c);
    }
    assert_int_equal(n_checked, 40);
}

/* ---- mini-batches ---- */

static const struct json_value *of_part(const struct test_set *s, size_t p, const struct json_value *v)
{
    return v == NULL || s->parts[p].type == NULL ? v : json_get(v, s->parts[p].type);
}

static void check_labels(const struct test_set *s, const struct graph_minibatch *m, size_t p, const struct json_value *batch)
{
    const struct graph_seeds *seeds = &m->seeds[p];
    const struct json_value *labels = of_part(s, p, json_get(batch, "labels")), *indexes = of_part(s, p, json_get(batch, "indexes"));
    if (seeds->ratio > 0) {
        float *l = calloc((size_t)seeds->n, sizeof *l);
        int64_t *x = calloc((size_t)seeds->n, sizeof *x), at = 0;
        graph_negative_labels(seeds->n_positives, seeds->ratio, l, x);
        check_values("labels", labels, (unsigned char *)l, ARRAY_F32, &at);
        assert_ints("indexes", x, seeds->n, indexes);
        free(l);
        free(x);
        return;
    }
    struct graph_item_roles roles = graph_items_roles(&s->items);
    if (labels != NULL && roles.labels != SIZE_MAX) {
        check_column(s, p, roles.labels, &m->items.rows[p], labels);
    }
    if (indexes != NULL && roles.indexes != SIZE_MAX) {
        check_column(s, p, roles.indexes, &m->items.rows[p], indexes);
    }
}

static void check_negative_batch(const struct test_set *s, const struct graph_minibatch *m, const struct json_value *batch)
{
    for (size_t p = 0; p < s->items.n_parts; p++) {
        const struct graph_seeds *seeds = &m->seeds[p];
        const struct json_value *pairs = json_get(json_get(batch, "pairs"), s->parts[p].type == NULL ? "all" : s->parts[p].type);
        if (pairs == NULL) {
            assert_int_equal(seeds->n, 0);
            continue;
        }
        struct graph_array sources = { 0 };
        int64_t below = number(pairs, "negative_destinations_below");
        assert_ints("positives", seeds->ids.v, 2 * seeds->n_positives, json_get(pairs, "positives"));
        assert_ok(graph_array_room(mem_system(), &sources, seeds->n, &err));
        for (int64_t i = seeds->n_positives; i < seeds->n; i++) {
            sources.v[sources.n++] = seeds->ids.v[2 * i];
            assert_true(seeds->ids.v[2 * i + 1] >= 0 && seeds->ids.v[2 * i + 1] < below);
        }
        assert_ints("negative_sources", sources.v, sources.n, json_get(pairs, "negative_sources"));
        free_ints(&sources);
        check_labels(s, m, p, batch);
    }
}

static void check_layers(const struct graph_batch *b, const struct json_value *layers)
{
    const struct graph_csc *g = b->g;
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
            assert_ints("columns", b->nodes[t].v, b->layers[i].n_columns[t], of_node_type(g, json_get(layer, "columns"), t));
            if (rows != NULL && rows->n > 0) {
                assert_ints("rows", b->nodes[t].v, b->layers[i].n_rows[t], rows);
            }
        }
    }
}

static void check_batch(const struct test_set *s, const struct graph_minibatch *m, const struct json_value *batch)
{
    for (size_t p = 0; p < s->items.n_parts; p++) {
        const struct json_value *seeds = of_part(s, p, json_get(batch, "seeds"));
        if (seeds == NULL) {
            assert_int_equal(m->seeds[p].n, 0);
            continue;
        }
        assert_ints("seeds", m->seeds[p].ids.v, m->seeds[p].ids.n, seeds);
        check_labels(s, m, p, batch);
        const struct json_value *compacted = of_part(s, p, json_get(batch, "compacted_seeds"));
        const struct json_value *times = of_part(s, p, json_get(batch, "timestamp"));
        if (compacted != NULL) {
            assert_ints("compacted_seeds", m->compacted[p].v, m->compacted[p].n, compacted);
        }
        if (times != NULL) {
            assert_ints("timestamp", m->times[p].v, m->times[p].n, times);
        }
    }
    const struct json_value *layers = json_get(batch, "layers"), *inputs = json_get(batch, "input_nodes");
    if (layers != NULL) {
        assert_int_equal(layers->n, m->graph->n_layers);
        check_layers(m->graph, layers);
    }
    for (size_t t = 0; inputs != NULL && t < m->graph->n_node_types; t++) {
        const struct json_value *nodes = of_node_type(m->graph->g, inputs, t);
        if (nodes != NULL && nodes->n > 0) { /* a type that is only a destination is missing there */
            assert_ints("input_nodes", m->graph->nodes[t].v, m->graph->nodes[t].n, nodes);
        }
    }
}

static size_t find_edge_type(const struct graph_csc *g, const char *name)
{
    for (size_t i = 0; i < g->n_edge_types; i++) {
        if (strcmp(g->edge_types[i], name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void check_pipeline(struct graph_case *c, const struct json_value *line)
{
    const struct json_value *op = json_get(line, "op"), *args = json_get(line, "args"), *expect = json_get(line, "expect");
    const struct json_value *mapping = json_get(args, "reverse_etypes_mapping"), *unique = json_get(args, "deduplicate");
    bool is_shuffled = json_is_text(op, "shuffled_items"), is_negative = json_is_text(op, "negative");
    struct test_set s;
    size_t reverse[16];
    if (!is_shuffled && !is_negative && !json_is_text(op, "minibatch") && !json_is_text(op, "minibatch_items")) {
        return;
    }
    n_checked++;
    read_set(c, info, args, &s);
    struct graph_array fanouts = ints(json_get(args, "fanouts"));
    for (size_t i = 0; i < 16; i++) {
        reverse[i] = SIZE_MAX;
    }
    for (size_t i = 0; mapping != NULL && i < mapping->n; i++) {
        reverse[find_edge_type(&c->g, mapping->members[i].key)] = find_edge_type(&c->g, mapping->members[i].value.text);
    }
    struct graph_recipe recipe = { .g = &c->g, .items = &s.items,
                                   .hops = { .n_layers = (size_t)fanouts.n, .hop = { .fanouts = fanouts.v, .n_fanouts = 1 },
                                             .keeps_duplicates = unique != NULL && !is_true(unique) },
                                   .negative_ratio = is_negative ? number(args, "ratio") : 0,
                                   .excludes_seeds = is_true(json_get(args, "exclude_seed_edges")),
                                   .excludes_reverse = is_true(json_get(args, "include_reverse_edges")), .reverse_types = reverse };
    struct graph_share share = { .batch_size = number(args, "batch_size") };
    struct graph_minibatch *m;
    assert_ok(graph_minibatch_new(&recipe, &m, &err));
    int64_t n_epochs = is_shuffled ? number(args, "epochs") : 1, seed = is_shuffled ? number(args, "seed") : 0;
    for (int64_t k = 0; k < n_epochs; k++) {
        const struct json_value *batches = is_shuffled ? &expect->items[k] : expect;
        struct graph_epoch e;
        assert_ok(graph_epoch_begin(ctx, &s.items, share, is_shuffled, (uint64_t)(seed + k), &e, &err));
        assert_int_equal(e.n_batches, batches->n);
        for (int64_t i = 0; i < e.n_batches; i++) {
            assert_ok(graph_minibatch_make(m, &e, (uint64_t)k, i, 1, &err));
            if (is_negative) {
                check_negative_batch(&s, m, &batches->items[i]);
            } else {
                check_batch(&s, m, &batches->items[i]);
            }
        }
        graph_epoch_end(&e);
    }
    graph_minibatch_free(m);
    free_ints(&fanouts);
}

static void test_graph_minibatch__recorded_pipelines__equal(void **state)
{
    static const char *const names[] = { "hetero_mix", "homo_attr", "homo_csv" };
    (void)state;
    n_checked = 0;
    for (size_t i = 0; i < 3; i++) {
        struct graph_case c;
        open_case(names[i], &c);
        info = info_of(&c, names[i]);
        each_line(names[i], "pipelines.jsonl", check_pipeline);
        close_case(&c);
    }
    assert_int_equal(n_checked, 114);
}

/* ---- features ---- */

static struct tensor *feature_of(struct graph_case *c, const struct json_value *args, const char *name)
{
    char folder[600], file[300], type[200] = "_null_";
    const struct json_value *t = json_get(args, "type");
    if (t->type == JSON_STRING) {
        size_t n = 0;
        for (const char *p = t->text; *p != '\0' && n + 3 < sizeof type; p++) {
            type[n++] = *p == ':' ? '_' : *p;
            if (*p == ':') {
                type[n++] = '_';
            }
        }
        type[n] = '\0';
    }
    snprintf(folder, sizeof folder, TEST_DATA "/data/graphbolt/cases/%s/expect/ids_cast/feature", name);
    snprintf(file, sizeof file, t->type == JSON_STRING ? "%.20s__%.100s__%.100s" : "%.20s_%.100s_%.100s",
             json_get(args, "domain")->text, type, json_get(args, "name")->text);
    return open_tensor(c, folder, file);
}

static const char *case_name;

static void check_feature(struct graph_case *c, const struct json_value *line)
{
    const struct json_value *args = json_get(line, "args"), *rows = json_get(json_get(line, "expect"), "rows");
    if (!json_is_text(json_get(line, "op"), "feature_read")) {
        return;
    }
    n_checked++;
    struct graph_array ids = ints(json_get(args, "ids"));
    struct tensor *t = feature_of(c, args, case_name);
    unsigned char *bytes = calloc((size_t)ids.n + 1, graph_row_bytes(t) + 8);
    struct graph_row_cache *cache;
    assert_ok(graph_row_cache_new(ctx, t, 3 * (graph_row_bytes(t) + 32), &cache, &err));
    for (int round = 0; round < 4; round++) {
        int64_t at = 0;
        if (round < 2) {
            assert_ok(graph_rows_gather(ctx, t, ids.v, ids.n, round == 1, 1, bytes, &err));
        } else {
            assert_ok(graph_row_cache_gather(cache, ids.v, ids.n, 1, bytes, &err));
        }
        check_values("rows", rows, bytes, t->type, &at);
    }
    struct graph_row_counts counts = graph_row_cache_counts(cache);
    assert_int_equal(counts.hits + counts.misses, 2 * (uint64_t)ids.n);
    graph_row_cache_free(cache);
    free(bytes);
    free_ints(&ids);
    tensor_release(&c->tensors[--c->n_tensors]);
}

static void test_graph_rows__recorded_features__equal(void **state)
{
    (void)state;
    n_checked = 0;
    for (size_t i = 0; i < sizeof case_names / sizeof *case_names; i++) {
        case_name = case_names[i];
        each_line(case_name, "samples.jsonl", check_feature);
    }
    assert_true(n_checked >= 43);
}

/* ---- orders and shares ---- */

static void test_graph_order__recorded_permutations_and_ranges__equal(void **state)
{
    (void)state;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *golden = read_json(&ar, TEST_DATA "/data/graphbolt/golden.json");
    const struct json_value *orders = json_get(golden, "randperm_mt19937"), *ranges = json_get(golden, "calculate_range");
    for (size_t i = 0; i < orders->n; i++) {
        int64_t order[64];
        int32_t narrow[64];
        int64_t n = number(&orders->items[i], "n"), seed = number(&orders->items[i], "seed");
        graph_order_shuffled((uint64_t)seed, n, order);
        assert_ints("perm", order, n, json_get(&orders->items[i], "perm"));
        graph_order_shuffled_32((uint64_t)seed, (int32_t)n, narrow);
        for (int64_t j = 0; j < n; j++) {
            assert_int_equal(narrow[j], order[j]);
        }
    }
    for (size_t i = 0; i < ranges->n; i++) {
        const struct json_value *args = json_get(&ranges->items[i], "args");
        int64_t v[9] = { 0 };
        for (size_t j = 0; j < 9; j++) {
            if (args->items[j].type == JSON_BOOL) {
                v[j] = args->items[j].boolean;
            } else {
                assert_true(json_i64(&args->items[j], &v[j]));
            }
        }
        struct graph_share share = { v[0] != 0, v[1], v[2], v[3], v[4], v[5], v[6], v[7] != 0, v[8] != 0 };
        struct graph_range r = graph_range_of(&share);
        int64_t found[3] = { r.begin, r.assigned, r.output };
        assert_ints("range", found, 3, json_get(&ranges->items[i], "out"));
    }
    assert_int_equal(orders->n, 6);
    assert_int_equal(ranges->n, 128);
    arena_release(&ar);
}

/* Whoever shares an epoch, each item is assigned once. */
static void test_graph_range__all_ranks_and_workers__partition(void **state)
{
    (void)state;
    for (int64_t total = 0; total < 70; total++) {
        for (int bits = 0; bits < 32; bits++) {
            int64_t replicas = 1 + bits % 4, workers = bits / 4 % 2 * 2, batch = bits / 8 % 2 == 0 ? 1 : 4, n = 0;
            int64_t next = 0;
            for (int64_t rank = 0; rank < replicas; rank++) {
                for (int64_t worker = 0; worker < (workers == 0 ? 1 : workers); worker++) {
                    struct graph_share share = { true, total, replicas, rank, workers, worker, batch, bits >= 16, false };
                    struct graph_range r = graph_range_of(&share);
                    assert_true(r.output <= r.assigned);
                    assert_int_equal(r.begin, next);
                    next = r.begin + r.assigned;
                    n += r.assigned;
                }
            }
            assert_int_equal(n, total);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_items__recorded_batches__equal),
        cmocka_unit_test(test_graph_minibatch__recorded_pipelines__equal),
        cmocka_unit_test(test_graph_rows__recorded_features__equal),
        cmocka_unit_test(test_graph_order__recorded_permutations_and_ranges__equal),
        cmocka_unit_test(test_graph_range__all_ranks_and_workers__partition),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
