/* SPDX-License-Identifier: Apache-2.0 */
/* Preprocessing against what DGL made of the same data sets, byte for byte. */
#include "grebe/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive.h"
#include "graph/graph_dataset.h"
#include "graph_json.h"
#include "io/io.h"
#include "test_fixture.h"
#include "test_support.h"

static void path_of(char *dst, size_t room, const char *name)
{
    snprintf(dst, room, "%s/data/graphbolt/%s", TEST_DATA, name);
}

static grebe_graph *make_and_open(struct fixture *f, const char *data, const grebe_graph_options *given,
                                  const char *out)
{
    char raw[600], folder[700];
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_options o = *given;
    grebe_graph *g = NULL;
    path_of(raw, sizeof raw, data);
    snprintf(folder, sizeof folder, "%s/%s", f->folder, out);
    mkdir(folder, 0777);
    o.out = folder;
    assert_ok(grebe_graph_preprocess(f->ctx, raw, &o, NULL, &err));
    assert_ok(grebe_graph_open(f->ctx, folder, &g, &err));
    return g;
}

/* The array of a npy file, type and bytes. */
static void assert_same_array(struct fixture *f, const char *folder, const char *name, const char *type,
                              uint64_t n_values, const void *data)
{
    char path[900];
    grebe_error err = GREBE_ERROR_INIT;
    struct tensor t;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(tensor_open(f->ctx, path, &t, &err));
    assert_string_equal(type, tensor_type_name(t.type));
    assert_int_equal(n_values, t.n_values);
    size_t bytes = (size_t)t.n_values * tensor_type_bytes(t.type);
    void *values = malloc(bytes + 1);
    assert_ok(tensor_read(&t, 0, t.rank > 0 ? t.shape[0] : 1, values, &err));
    assert_memory_equal(values, data, bytes);
    free(values);
    tensor_release(&t);
}

static void assert_same_ids(struct fixture *f, const char *folder, const char *name, const grebe_graph_array *x)
{
    assert_same_array(f, folder, name, x->type, x->shape[0], x->data);
}

static void assert_same_attributes(struct fixture *f, const char *folder, const char *sub, const grebe_graph *g,
                                   bool is_edge)
{
    grebe_graph_array a;
    char name[300];
    const char *attribute;
    for (size_t i = 0; (attribute = grebe_graph_attribute(g, is_edge, i, &a)) != NULL; i++) {
        uint64_t n = 1;
        for (uint32_t d = 0; d < a.rank; d++) {
            n *= a.shape[d];
        }
        bool is_id = strcmp(attribute, "_ORIGINAL_EDGE_ID") == 0;
        snprintf(name, sizeof name, "%s/%s.npy", is_id ? "edge_attr" : sub, attribute);
        assert_same_array(f, folder, name, a.type, n, a.data);
    }
}

static const struct json_value *read_json(struct arena *ar, const char *folder, const char *name)
{
    char path[900];
    static char text[1 << 20];
    grebe_error err = GREBE_ERROR_INIT;
    const struct json_value *v = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_ok(json_parse(ar, text, n, &v, &err));
    return v;
}

static size_t length_of(const struct json_value *v)
{
    return v != NULL && v->type == JSON_ARRAY ? v->n : 0;
}

static void assert_same_features(struct fixture *f, struct arena *ar, const char *folder, const struct json_value *info,
                                 const grebe_graph *g)
{
    const struct json_value *features = json_get(info, "features");
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph_info about;
    grebe_graph_get_info(g, &about);
    assert_int_equal(about.n_features, length_of(features));
    for (size_t i = 0; i < about.n_features; i++) {
        const struct json_value *want = &features->items[i], *shape = json_get(want, "shape");
        grebe_graph_feature x;
        grebe_graph_array a;
        uint64_t n = 1;
        assert_ok(grebe_graph_get_feature(g, i, &x, &err));
        assert_ok(grebe_graph_feature_values(g, i, &a, &err));
        assert_string_equal(x.domain, json_get(want, "domain")->text);
        assert_string_equal(x.name, json_get(want, "name")->text);
        assert_int_equal(json_get(want, "type")->type == JSON_NULL, x.type == NULL);
        assert_json_text(ar, x.metadata, json_get(want, "metadata"));
        assert_int_equal(a.rank, shape->n);
        for (uint32_t d = 0; d < a.rank; d++) {
            uint64_t size = 0;
            assert_true(json_u64(&shape->items[d], &size));
            assert_int_equal(a.shape[d], size);
            n *= size;
        }
        assert_same_array(f, folder, json_get(want, "file")->text, a.type, n, a.data);
    }
}

static double value_of(const grebe_graph_array *a, uint64_t i)
{
    const char *p = (const char *)a->data + i * a->type_bytes;
    double d;
    float s;
    int64_t w;
    int32_t n;
    if (strcmp(a->type, "float64") == 0) {
        memcpy(&d, p, 8);
        return d;
    }
    if (strcmp(a->type, "float32") == 0) {
        memcpy(&s, p, 4);
        return (double)s;
    }
    if (strcmp(a->type, "int64") == 0) {
        memcpy(&w, p, 8);
        return (double)w;
    }
    if (strcmp(a->type, "bool") == 0 || strcmp(a->type, "uint8") == 0) {
        return (double)*(const unsigned char *)p;
    }
    assert_string_equal(a->type, "int32");
    memcpy(&n, p, 4);
    return (double)n;
}

/* Nested lists of values in row-major order. */
static void assert_values(const struct json_value *v, const grebe_graph_array *a, uint64_t *at)
{
    double want = 0;
    if (v->type == JSON_ARRAY) {
        for (size_t i = 0; i < v->n; i++) {
            assert_values(&v->items[i], a, at);
        }
        return;
    }
    if (v->type == JSON_BOOL) {
        want = v->boolean;
    } else {
        assert_true(json_double(v, &want));
    }
    assert_true(value_of(a, (*at)++) == want);
}

static void assert_same_part(const struct json_value *arrays, const grebe_graph *g, size_t task, grebe_graph_set set,
                             size_t part)
{
    grebe_error err = GREBE_ERROR_INIT;
    const char *type, *name;
    assert_int_equal(length_of(arrays), grebe_graph_set_part(g, task, set, part, &type));
    for (size_t i = 0; i < arrays->n; i++) {
        const struct json_value *want = &arrays->items[i], *shape = json_get(want, "shape"),
                                *want_name = json_get(want, "name");
        grebe_graph_array a;
        uint64_t at = 0;
        assert_ok(grebe_graph_set_values(g, task, set, part, i, &name, &a, &err));
        assert_string_equal(a.type, json_get(want, "dtype")->text);
        assert_int_equal(a.rank, shape->n);
        if (want_name->type == JSON_STRING) {
            assert_string_equal(name, want_name->text);
        } else {
            assert_null(name);
        }
        assert_values(json_get(want, "values"), &a, &at);
    }
}

static void assert_same_tasks(struct arena *ar, const struct json_value *info, const grebe_graph *g)
{
    const struct json_value *tasks = json_get(info, "tasks");
    for (size_t i = 0; i < length_of(tasks); i++) {
        assert_json_text(ar, grebe_graph_task_metadata(g, i), json_get(&tasks->items[i], "metadata"));
        for (size_t s = 0; s < GRAPH_SETS; s++) {
            const struct json_value *want = json_get(&tasks->items[i], graph_set_names[s]);
            grebe_graph_set set = (grebe_graph_set)s;
            if (want == NULL || want->type == JSON_NULL) {
                assert_int_equal(grebe_graph_set_parts(g, i, set), 0);
                continue;
            }
            const struct json_value *types = json_get(want, "types");
            if (types == NULL) {
                assert_same_part(json_get(want, "arrays"), g, i, set, 0);
                continue;
            }
            assert_int_equal(grebe_graph_set_parts(g, i, set), types->n);
            for (size_t p = 0; p < types->n; p++) {
                const char *type = NULL;
                grebe_graph_set_part(g, i, set, p, &type);
                assert_string_equal(type, types->members[p].key);
                assert_same_part(&types->members[p].value, g, i, set, p);
            }
        }
    }
}

static void assert_same(struct fixture *f, const char *folder, const grebe_graph *g, const char *edge_attributes)
{
    grebe_graph_info info;
    struct arena ar = ARENA_INIT(f->ctx->a);
    int64_t n = 0;
    grebe_graph_get_info(g, &info);
    const struct json_value *want = read_json(&ar, folder, "info.json"), *types = json_get(want, "edge_type_to_id");
    assert_true(json_i64(json_get(want, "total_num_nodes"), &n) && n == info.n_nodes);
    assert_true(json_i64(json_get(want, "total_num_edges"), &n) && n == info.n_edges);
    assert_same_ids(f, folder, "indptr.npy", &info.indptr);
    assert_same_ids(f, folder, "indices.npy", &info.indices);
    if (info.n_node_types > 0) {
        assert_same_ids(f, folder, "type_per_edge.npy", &info.type_per_edge);
        for (size_t i = 0; i < info.n_edge_types; i++) {
            assert_true(json_i64(json_get(types, grebe_graph_edge_type(g, i)), &n) && (size_t)n == i);
        }
    } else {
        assert_true(types == NULL || types->type == JSON_NULL);
    }
    assert_same_attributes(f, folder, "node_attr", g, false);
    assert_same_attributes(f, folder, edge_attributes, g, true);
    if (json_get(want, "features") != NULL && strstr(folder, "ids_cast") != NULL) {
        assert_same_features(f, &ar, folder, want, g);
        assert_same_tasks(&ar, want, g);
    }
    arena_release(&ar);
}

static const char *const cases[] = { "homo_csv",    "homo_attr",      "homo_no_edges", "hetero_mix",
                                     "hetero_attr", "one_named_type", "dtypes",        "many_types" };
enum { N_CASES = sizeof cases / sizeof cases[0] };

static void test_preprocess__every_case__is_what_dgl_made(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < N_CASES; i++) {
        char raw[100], expect[700], out[100];
        grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
        snprintf(raw, sizeof raw, "cases/%s/raw", cases[i]);
        for (int variant = 0; variant < 2; variant++) {
            const char *name = variant == 0 ? "ids_cast" : "noids_nocast";
            o.without_cast = variant == 1;
            o.edge_ids = variant == 1 ? GREBE_GRAPH_EDGE_IDS_DROPPED : GREBE_GRAPH_EDGE_IDS_KEPT;
            snprintf(expect, sizeof expect, "%s/data/graphbolt/cases/%s/expect/%s", TEST_DATA, cases[i], name);
            for (int threads = 1; threads <= 4; threads += 3) {
                for (uint64_t memory = 0; memory <= 3000; memory += 1500) {
                    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
                    call.threads = (uint32_t)threads;
                    call.memory_limit_bytes = memory;
                    o.call = &call;
                    snprintf(out, sizeof out, "%s-%d-%d-%d", cases[i], variant, threads, (int)memory);
                    grebe_graph *g = make_and_open(f, raw, &o, out);
                    assert_same(f, expect, g,
                                variant == 0 ? "edge_attr" : "../ids_cast/edge_attr" /* the same values */);
                    grebe_graph_close(g);
                }
            }
        }
    }
}

static void test_preprocess__attributes_in_file_order__are_where_dgl_leaves_them(void **state)
{
    struct fixture *f = *state;
    static const char *const with[] = { "homo_attr", "hetero_attr" };
    for (size_t i = 0; i < 2; i++) {
        char raw[100], expect[700];
        grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
        o.keep_attribute_order = true;
        snprintf(raw, sizeof raw, "cases/%s/raw", with[i]);
        snprintf(expect, sizeof expect, "%s/data/graphbolt/cases/%s/expect/ids_cast", TEST_DATA, with[i]);
        grebe_graph *g = make_and_open(f, raw, &o, with[i]);
        assert_same(f, expect, g, "edge_attr_dgl_order");
        grebe_graph_close(g);
    }
}

static void test_open__what_dgl_preprocessed__is_the_same(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < N_CASES; i++) {
        char path[600], expect[700];
        grebe_error err = GREBE_ERROR_INIT;
        grebe_graph *g = NULL;
        snprintf(path, sizeof path, "%s/data/graphbolt/cases/%s/dgl_preprocessed", TEST_DATA, cases[i]);
        snprintf(expect, sizeof expect, "%s/data/graphbolt/cases/%s/expect/ids_cast", TEST_DATA, cases[i]);
        if (access(path, R_OK) != 0) {
            continue; /* DGL fails where there are no edges */
        }
        assert_ok(grebe_graph_open(f->ctx, path, &g, &err));
        assert_same(f, expect, g, "edge_attr_dgl_order");
        grebe_graph_close(g);
    }
}

/* ---- the file of the graph, against one that torch wrote ---- */

static void read_member(struct fixture *f, const char *path, const char *name, struct region **out)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct io_store *store = NULL;
    struct region *whole = NULL;
    struct archive *zip = NULL;
    assert_ok(io_local_new(f->ctx, &store, &err));
    assert_ok(io_read_all(store, path, UINT64_MAX, &whole, NULL, &err));
    assert_ok(archive_open(f->ctx->a, whole, &zip, &err));
    *out = NULL;
    for (size_t i = 0; i < zip->n; i++) {
        const char *slash = strchr(zip->members[i].name, '/');
        if (slash != NULL && strcmp(slash + 1, name) == 0) {
            assert_ok(archive_read(zip, i, UINT64_MAX, out, &err)); /* checks the CRC */
            assert_int_equal(zip->members[i].at % 64, 0);
        }
    }
    archive_free(zip);
    region_drop(whole);
    io_store_free(store);
}

static void assert_same_file(struct fixture *f, const char *data, bool is_cast)
{
    char theirs[700], ours[700], name[40];
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    o.keep_attribute_order = true;
    o.without_cast = !is_cast;
    grebe_graph_close(make_and_open(f, data, &o, data));
    snprintf(theirs, sizeof theirs, "%s/data/graphbolt/%s/preprocessed/fused_csc_sampling_graph.pt", TEST_DATA, data);
    snprintf(ours, sizeof ours, "%s/%s/preprocessed/fused_csc_sampling_graph.pt", f->folder, data);
    for (int i = -2; i < 40; i++) {
        struct region *x = NULL, *y = NULL;
        snprintf(name, sizeof name, i == -2 ? "data.pkl" : i == -1 ? "version" : "data/%d", i);
        read_member(f, theirs, name, &x);
        read_member(f, ours, name, &y);
        assert_int_equal(x != NULL, y != NULL);
        if (x != NULL) {
            assert_int_equal(x->len, y->len);
            assert_memory_equal(x->data, y->data, x->len);
        }
        region_drop(x);
        region_drop(y);
    }
}

static void test_preprocess__graph_file__has_the_bytes_that_torch_wrote(void **state)
{
    assert_same_file(*state, "homo", true);
    assert_same_file(*state, "hetero", true);
    assert_same_file(*state, "hetero_nocast", false);
}

static void test_preprocess__metadata__is_what_dgl_wrote(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = { "homo", "hetero" };
    for (size_t i = 0; i < 2; i++) {
        char theirs[700], ours[700];
        grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
        grebe_error err = GREBE_ERROR_INIT;
        struct io_store *store = NULL;
        struct region *x = NULL, *y = NULL;
        grebe_graph_close(make_and_open(f, names[i], &o, names[i]));
        snprintf(theirs, sizeof theirs, "%s/data/graphbolt/%s/preprocessed/metadata.yaml", TEST_DATA, names[i]);
        snprintf(ours, sizeof ours, "%s/%s/preprocessed/metadata.yaml", f->folder, names[i]);
        assert_ok(io_local_new(f->ctx, &store, &err));
        assert_ok(io_read_all(store, theirs, 1 << 20, &x, NULL, &err));
        assert_ok(io_read_all(store, ours, 1 << 20, &y, NULL, &err));
        assert_int_equal(x->len, y->len);
        assert_memory_equal(x->data, y->data, x->len);
        region_drop(x);
        region_drop(y);
        io_store_free(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_preprocess__every_case__is_what_dgl_made, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__attributes_in_file_order__are_where_dgl_leaves_them,
                                        fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_open__what_dgl_preprocessed__is_the_same, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__graph_file__has_the_bytes_that_torch_wrote, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_preprocess__metadata__is_what_dgl_wrote, fixture_set_up,
                                        fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
