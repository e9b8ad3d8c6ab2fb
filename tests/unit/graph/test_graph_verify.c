/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying on any number of threads: the same is told, in the same order. */
#include "graph/graph_dataset.h"
#include "graph_data.h"

enum { EDGES = 60000, A = 30000, B = 9000 }; /* three relations, ten blocks of nodes */

struct told {
    char text[2000];
    size_t n;
    grebe_cancel *cancel; /* set by the first problem; NULL: never */
};

static void note(void *arg, const grebe_graph_problem *p)
{
    struct told *t = arg;
    t->n += (size_t)snprintf(t->text + t->n, sizeof t->text - t->n, "%s: %s: %s\n", grebe_status_name(p->status), p->field, p->message);
    assert_true(t->n < sizeof t->text);
    if (t->cancel != NULL) {
        grebe_cancel_set(t->cancel);
    }
}

static grebe_error err;

static grebe_status verify(struct fixture *f, uint32_t threads, struct told *t, size_t *n_errors)
{
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    grebe_graph *g = NULL;
    call.threads = threads;
    call.cancel = t->cancel;
    o.call = &call;
    o.on_problem = note;
    o.problem_arg = t;
    t->n = 0;
    t->text[0] = '\0';
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    grebe_status st = grebe_graph_verify(g, &o, n_errors, &err);
    grebe_graph_close(g);
    return st;
}

/* The graph file, and where a member of it with these first bytes lies. */
struct graph_bytes {
    char path[700];
    unsigned char *all;
    size_t n, indptr, indices, types;
};

static size_t find(const struct graph_bytes *b, const void *what, size_t n)
{
    for (size_t at = 0; at + n <= b->n; at += 4) {
        if (memcmp(b->all + at, what, n) == 0) {
            return at;
        }
    }
    fail_msg("an array of the graph is not in its file");
    return 0;
}

static struct graph_bytes make_graph(struct fixture *f)
{
    struct graph_bytes b = { .all = NULL };
    grebe_graph *g = NULL;
    make_data(f, EDGES, A, B);
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err));
    path_in(f, "preprocessed/fused_csc_sampling_graph.pt", b.path, sizeof b.path);
    b.all = test_read_file(b.path, &b.n);
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    const struct graph_csc *c = graph_dataset_csc(g);
    assert_true(!c->indptr.is_wide && !c->indices.is_wide && c->type_per_edge.type == ARRAY_U8);
    b.indptr = find(&b, c->indptr.data, 40000);
    b.indices = find(&b, c->indices.data, 40000);
    b.types = find(&b, c->type_per_edge.data, 40000);
    grebe_graph_close(g);
    return b;
}

static void set_id(const struct graph_bytes *b, size_t array, size_t i, int32_t value) { memcpy(b->all + array + 4 * i, &value, 4); }

/* Fragments that the problems hold, in this order; nothing else is told. */
static void assert_told(struct fixture *f, const struct graph_bytes *b, const char *const *expected, size_t n)
{
    static const uint32_t threads[] = { 1, 2, 3, 8 };
    char first[sizeof((struct told *)0)->text] = "";
    test_write_file(b->path, b->all, b->n);
    for (size_t i = 0; i < 4; i++) {
        for (int round = 0; round < 5; round++) {
            struct told t = { .cancel = NULL };
            size_t n_errors = 0;
            assert_ok(verify(f, threads[i], &t, &n_errors));
            const char *at = t.text;
            for (size_t k = 0; k < n; k++) {
                const char *found = strstr(at, expected[k]);
                if (found == NULL) {
                    fail_msg("\"%s\" is not in \"%s\"", expected[k], at);
                }
                at = found + 1;
            }
            assert_int_equal(n_errors, n);
            if (i == 0 && round == 0) {
                memcpy(first, t.text, sizeof first);
            }
            assert_string_equal(t.text, first);
        }
    }
}

static void test_verify__values_in_many_blocks__the_first_is_told(void **state)
{
    struct fixture *f = *state;
    struct graph_bytes b = make_graph(f);
    unsigned char *good = malloc(b.n);
    assert_non_null(good);
    memcpy(good, b.all, b.n);
    assert_told(f, &b, NULL, 0);

    /* a source, in the lists of a block in the middle and of each behind it */
    for (size_t edge = 100001; edge < 3 * EDGES; edge += 7000) {
        set_id(&b, b.indices, edge, edge == 100001 ? -5 : 1 << 30);
    }
    static const char *const sources[] = { "checksum", "edge 100001: source -5" };
    assert_told(f, &b, sources, 2);

    /* the end of a list far in front of them, and types */
    b.all[b.types + 90000] = 77;
    static const char *const types[] = { "checksum", "checksum", "edge 90000: type 77" };
    assert_told(f, &b, types, 3);

    /* where blocks begin: the list in front of each ends there, and that of block 2 is the first that cannot */
    memcpy(b.all, good, b.n);
    for (size_t block = 2; block < 9; block++) {
        set_id(&b, b.indptr, block * 4096, block % 2 == 0 ? -1 : 1 << 30);
    }
    static const char *const ends[] = { "checksum", "node 8191: its list ends at -1" };
    assert_told(f, &b, ends, 2);
    free(good);
    free(b.all);
}

static void test_verify__cancelled__stops(void **state)
{
    struct fixture *f = *state;
    struct graph_bytes b = make_graph(f);
    struct told t = { .cancel = NULL };
    size_t n_errors = 0;
    set_id(&b, b.indices, 100001, -5);
    test_write_file(b.path, b.all, b.n);
    for (uint32_t threads = 1; threads < 9; threads += 7) {
        assert_ok(grebe_cancel_new(f->ctx, &t.cancel, &err));
        assert_fails(verify(f, threads, &t, &n_errors), GREBE_ECANCELLED, "cancelled"); /* by the checksum that is told */
        assert_non_null(strstr(t.text, "checksum"));
        assert_null(strstr(t.text, "source -5"));
        assert_fails(verify(f, threads, &t, &n_errors), GREBE_ECANCELLED, "cancelled"); /* before anything */
        assert_int_equal(t.n, 0);
        grebe_cancel_free(t.cancel);
    }
    free(b.all);
}

static void test_verify__allocations_fail__no_leak(void **state)
{
    struct fixture *f = *state;
    struct graph_bytes b = make_graph(f);
    set_id(&b, b.indices, 100001, -5);
    test_write_file(b.path, b.all, b.n);
    for (size_t at = 1, n_failed = 0;; at++) {
        struct test_allocator ta;
        grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *ctx = NULL;
        grebe_graph *g = NULL;
        size_t n_errors = 0;
        test_allocator_init(&ta);
        options.allocator = &ta.a;
        options.threads = 1;
        assert_ok(context_new(&options, &ctx, &err));
        assert_ok(grebe_graph_open(ctx, f->folder, &g, &err));
        ta.fail_at = ta.n_calls + at;
        grebe_status st = grebe_graph_verify(g, NULL, &n_errors, &err);
        assert_true(st == GREBE_OK || st == GREBE_ENOMEM);
        grebe_graph_close(g);
        ta.fail_at = 0;
        context_free(ctx);
        assert_int_equal(ta.n_live, 0);
        if (st == GREBE_OK) {
            assert_int_equal(n_errors, 2);
            assert_true(n_failed > 3);
            break;
        }
        n_failed++;
    }
    free(b.all);
}

static size_t verify_open(grebe_graph *g, struct told *t)
{
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    size_t n = 0;
    o.on_problem = note;
    o.problem_arg = t;
    t->n = 0;
    t->text[0] = '\0';
    assert_ok(grebe_graph_verify(g, &o, &n, &err));
    return n;
}

static void put_in(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, bytes, n);
}

/* A ring of four; its edge ids and seeds, each as it should not be. */
static void test_verify__edge_ids_and_seeds__what_is_none_is_told(void **state)
{
    static const char metadata[] = "graph:\n  nodes: [{num: 4}]\n  edges: [{format: csv, path: e.csv}]\n"
                                   "tasks: [{train_set: [{data: [{name: seeds, format: numpy, path: s.npy}]}]}]\n";
    static const struct {
        int64_t ids[4];
        const char *told; /* NULL: nothing */
    } cases[] = { { { 3, 0, 1, 2 }, NULL }, { { 0, 1, 2, 2 }, "edge 3: row 2 of its file, which another edge has" },
                  { { 0, 1, 4, 2 }, "edge 2: row 4 of its file, the bound is 4" }, { { -1, 1, 2, 3 }, "edge 0: row -1" } };
    static const char head[] = "\x93NUMPY\x01\0\x76\0{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
    struct fixture *f = *state;
    unsigned char npy[128 + 16];
    const int64_t seeds[2] = { 0, 3 };
    struct told t = { 0 };
    grebe_graph *g = NULL;
    memset(npy, ' ', 128);
    memcpy(npy, head, sizeof head - 1);
    npy[127] = '\n';
    memcpy(npy + 128, seeds, sizeof seeds);
    put_in(f->folder, "metadata.yaml", metadata, sizeof metadata - 1);
    put_in(f->folder, "e.csv", "0,1\n1,2\n2,3\n3,0\n", 16);
    put_in(f->folder, "s.npy", npy, sizeof npy);
    assert_ok(grebe_graph_preprocess(f->ctx, f->folder, NULL, NULL, &err));
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    struct tensor *ids = (struct tensor *)(uintptr_t)graph_edge_ids(graph_dataset_csc(g));
    assert_non_null(ids);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tensor before = *ids;
        ids->type = ARRAY_I64;
        ids->data = (const unsigned char *)cases[i].ids;
        size_t n = verify_open(g, &t);
        *ids = before;
        assert_int_equal(n, cases[i].told != NULL);
        assert_true(cases[i].told == NULL || strstr(t.text, cases[i].told) != NULL);
    }
    grebe_graph_close(g);
    char path[700];
    size_t len = 0;
    const int32_t wrong = 4; /* ids are narrow where they fit */
    snprintf(path, sizeof path, "%s/preprocessed/s.npy", f->folder);
    unsigned char *made = test_read_file(path, &len);
    memcpy(made + len - 4, &wrong, 4);
    test_write_file(path, made, len);
    free(made);
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    assert_int_equal(verify_open(g, &t), 1);
    if (strstr(t.text, "train_set, seeds, row 1: node 4, the bound is 4") == NULL) {
        fail_msg("%s", t.text);
    }
    grebe_graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_verify__values_in_many_blocks__the_first_is_told, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_verify__edge_ids_and_seeds__what_is_none_is_told, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_verify__cancelled__stops, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_verify__allocations_fail__no_leak, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
