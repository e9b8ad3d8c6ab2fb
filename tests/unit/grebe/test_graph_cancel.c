/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graphs take long for can be cancelled in the midst of it: the token is looked at for every block that is read or written. By the
 * linker's --wrap a test is the token's owner: it sets it at the n-th look.
 */
#include "grebe/graph_files.h"

#include <sys/stat.h>

#include "../graph/graph_data.h"
#include "arrow/arrow_stream.h"
#include "graph/graph_edges.h"
#include "grebe/source.h"

enum { N_NODES = 300000, N_EDGES = 3 * GRAPH_BLOCK_EDGES + 1, N_SEEDS = 3 << 17, WIDTH = 4, MB = 1 << 20 };

static grebe_error err;
static atomic_size_t n_looks;
static size_t cancel_at; /* 0: never */

grebe_status __real_call_check(const struct call *call, grebe_error *e);
grebe_status __wrap_call_check(const struct call *call, grebe_error *e);
grebe_status __wrap_call_check(const struct call *call, grebe_error *e)
{
    if (call->cancel != NULL && atomic_fetch_add(&n_looks, 1) + 1 == cancel_at) {
        grebe_cancel_set((grebe_cancel *)(uintptr_t)call->cancel);
    }
    return __real_call_check(call, e);
}

/* A context that opens sources of rows, too. */
static int set_up(void **state)
{
    const int failed = fixture_set_up(state);
    struct fixture *f = *state;
    context_free(f->ctx);
    f->ctx = NULL;
    return failed != 0 || grebe_context_new(NULL, &f->ctx, &err) != GREBE_OK ? -1 : 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    grebe_context_free(f->ctx);
    f->ctx = NULL;
    return fixture_tear_down(state);
}

/* ---- an operation, cancelled at each of its looks ---- */

typedef grebe_status (*operation)(struct fixture *f, const grebe_call_options *call);
typedef void (*check)(struct fixture *f, grebe_status st);

/* How often it looks until it ends with `last`; before, each time it is cancelled, nothing but what it is to leave is there. */
static size_t cancel_each(struct fixture *f, operation run, check after, grebe_status last)
{
    grebe_status st = GREBE_ECANCELLED;
    for (cancel_at = 1; st == GREBE_ECANCELLED; cancel_at++) {
        grebe_cancel *cancel = NULL;
        grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
        assert_ok(grebe_cancel_new(f->ctx, &cancel, &err));
        call.cancel = cancel;
        call.threads = 1;
        atomic_store(&n_looks, 0);
        st = run(f, &call);
        if (st != last && st != GREBE_ECANCELLED) {
            fail_msg("at look %zu: %s: %s", cancel_at, grebe_status_name(st), err.message);
        }
        if (after != NULL) {
            after(f, st);
        }
        grebe_cancel_free(cancel);
    }
    cancel_at = 0;
    return atomic_load(&n_looks);
}

static bool is_there(struct fixture *f, const char *name)
{
    char path[700];
    struct stat info;
    path_in(f, name, path, sizeof path);
    return stat(path, &info) == 0;
}

/* ---- data: one block of ids more than three of each kind ---- */

/* Columns first, so that the rows cannot be copied as they are. */
static void put_columns_first(struct fixture *f, const char *name, uint64_t rows)
{
    char head[128];
    const size_t n = (size_t)rows * WIDTH * sizeof(float);
    float *values = calloc(1, n);
    const int used = snprintf(head, sizeof head, "{'descr': '<f4', 'fortran_order': True, 'shape': (%llu, %d), }", (unsigned long long)rows, WIDTH);
    struct buf b = BUF_INIT(f->ctx->a);
    assert_ok(buf_put(&b, "\x93NUMPY\x01\x00\x76\x00", 10, &err));
    memset(head + used, ' ', 117 - (size_t)used);
    head[117] = '\n';
    assert_ok(buf_put(&b, head, 118, &err));
    assert_ok(buf_put(&b, values, n, &err));
    put(f, name, b.data, b.len);
    buf_release(&b);
    free(values);
}

static void make_set(struct fixture *f, int64_t last)
{
    int64_t *ids = malloc(N_SEEDS * sizeof *ids);
    for (int64_t i = 0; i < N_SEEDS; i++) {
        ids[i] = i % N_NODES;
    }
    ids[N_SEEDS - 1] = last;
    put_npy(f, "seeds.npy", ARRAY_I64, (uint64_t[]){ N_SEEDS }, 1, ids, N_SEEDS * sizeof *ids);
    free(ids);
}

static void make_edges(struct fixture *f, int32_t last)
{
    int32_t *ends = malloc(2 * N_EDGES * sizeof *ends);
    for (int32_t i = 0; i < 2 * N_EDGES; i++) {
        ends[i] = i % N_NODES;
    }
    ends[2 * N_EDGES - 1] = last;
    put_npy(f, "e.npy", ARRAY_I32, (uint64_t[]){ 2, N_EDGES }, 2, ends, 2 * N_EDGES * sizeof *ends);
    free(ends);
}

static void make_all(struct fixture *f)
{
    static const char text[] = "graph:\n  nodes: [{type: n, num: 300000}]\n  edges: [{type: 'n:r:n', format: numpy, path: e.npy}]\n"
                               "  feature_data:\n  - {domain: node, type: n, name: x, format: numpy, path: x.npy}\n"
                               "feature_data:\n- {domain: node, type: n, name: y, format: numpy, path: x.npy}\n"
                               "tasks:\n- train_set:\n  - type: n\n    data: [{name: seeds, format: numpy, path: seeds.npy}]\n";
    put_columns_first(f, "x.npy", N_NODES);
    make_set(f, 0);
    make_edges(f, 1);
    put(f, "metadata.yaml", text, sizeof text - 1);
}

static grebe_status preprocess(struct fixture *f, const grebe_call_options *call)
{
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    o.call = call;
    return grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err);
}

static void preprocess_now(struct fixture *f)
{
    make_all(f);
    assert_ok(preprocess(f, NULL));
}

/* ---- checking ---- */

static grebe_status check_deep(struct fixture *f, const grebe_call_options *call)
{
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    size_t n_errors = 0;
    o.call = call;
    o.is_deep = true;
    grebe_status st = grebe_graph_check(f->ctx, f->folder, &o, &n_errors, &err);
    assert_true(st != GREBE_OK || n_errors == 0);
    return st;
}

static void test_check__deep__looks_at_each_block_of_edges_and_seeds(void **state)
{
    struct fixture *f = *state;
    make_all(f);
    assert_true(cancel_each(f, check_deep, NULL, GREBE_OK) >= 4 + 3);
}

/* ---- preprocessing ---- */

/* Inputs by the MB: edges, seeds, rows, metadata. */
enum { DIGESTS = (2 * N_EDGES * 4 / MB + 1) + (N_SEEDS * 8 / MB + 1) + (N_NODES * WIDTH * 4 / MB + 1) + 1 };

static void after_preprocess(struct fixture *f, grebe_status st) { assert_int_equal(is_there(f, "preprocessed"), st == GREBE_OK); }

static void test_preprocess__cancelled_at_each_look__nothing_stays(void **state)
{
    struct fixture *f = *state;
    make_all(f);
    const size_t seeds = 3 + 3; /* compared, written as int32 */
    const size_t feature = N_NODES * WIDTH * 4 / MB + 1, attribute = N_NODES * WIDTH * 4 / (4 * MB) + 1 + feature; /* packed, written */
    const size_t edges = 4 + 4, lists = N_NODES / (1 << 16) + 1; /* counted, gathered; their ends */
    assert_true(cancel_each(f, preprocess, after_preprocess, GREBE_OK) >= DIGESTS + seeds + feature + attribute + edges + lists);
}

/* Times of files that are the same: what is in them is compared. */
static void test_preprocess__again_of_touched_files__comparing_is_cancelled(void **state)
{
    struct fixture *f = *state;
    preprocess_now(f);
    make_all(f);
    assert_true(cancel_each(f, preprocess, NULL, GREBE_OK) >= DIGESTS);
}

/* The first wrong edge is found by reading all before it again. */
static void test_preprocess__wrong_edge__explaining_is_cancelled(void **state)
{
    struct fixture *f = *state;
    make_all(f);
    make_edges(f, N_NODES);
    const size_t n = cancel_each(f, preprocess, NULL, GREBE_ECORRUPT);
    assert_non_null(strstr(err.message, "300000"));
    assert_true(n >= 3 + 4 + 4); /* seeds; edges counted, and looked at again */
}

/* ---- what was made ---- */

static grebe_status count(struct fixture *f, const grebe_call_options *call)
{
    grebe_graph *g = NULL;
    int64_t n = 0;
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    grebe_status st = grebe_graph_num_edges(g, call, &n, &err);
    grebe_graph_close(g);
    assert_true(st != GREBE_OK || n == N_EDGES);
    return st;
}

static grebe_status verify(struct fixture *f, const grebe_call_options *call)
{
    grebe_graph *g = NULL;
    grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
    o.call = call;
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    grebe_status st = grebe_graph_verify(g, &o, NULL, &err);
    grebe_graph_close(g);
    return st;
}

static grebe_status export_all(struct fixture *f, const grebe_call_options *call)
{
    char path[700];
    grebe_graph_export_options o = GREBE_GRAPH_EXPORT_OPTIONS_INIT;
    o.call = call;
    path_in(f, "out", path, sizeof path);
    return grebe_graph_export(f->ctx, f->folder, path, &o, &err);
}

static void after_export(struct fixture *f, grebe_status st) { assert_int_equal(is_there(f, "out"), st == GREBE_OK); }

/* All rows of the part, which stand in another order than the edges do. */
static grebe_status scan_edges(struct fixture *f, const grebe_call_options *call)
{
    char uri[700];
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    grebe_source_options open = GREBE_SOURCE_OPTIONS_INIT;
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    open.call = scan.call = call;
    path_in(f, "preprocessed#edges:n:r:n", uri, sizeof uri);
    grebe_status st = grebe_source_open(f->ctx, uri, &open, &source, &err);
    st = st == GREBE_OK ? grebe_source_scan(source, &scan, &rows, &err) : st;
    int64_t n = 0;
    while (st == GREBE_OK) {
        struct ArrowArray batch = { 0 };
        st = stream_next(&rows, &batch, &err);
        n += st == GREBE_OK ? batch.length : 0;
        array_release(&batch);
    }
    stream_release(&rows);
    grebe_source_close(source);
    assert_true(st != GREBE_END || n == N_EDGES);
    return st == GREBE_END ? GREBE_OK : st;
}

static void test_made__each_use_is_cancelled_at_each_look(void **state)
{
    struct fixture *f = *state;
    preprocess_now(f);
    assert_int_equal(cancel_each(f, count, NULL, GREBE_OK), N_EDGES / (1 << 16) + 1);
    assert_true(cancel_each(f, verify, NULL, GREBE_OK) >= 2 + N_EDGES / (1 << 16) + 1);
    assert_true(cancel_each(f, export_all, after_export, GREBE_OK) >= 4);
    assert_true(cancel_each(f, scan_edges, NULL, GREBE_OK) >= 2);
}

#define CANCEL_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CANCEL_TEST(test_check__deep__looks_at_each_block_of_edges_and_seeds),
        CANCEL_TEST(test_preprocess__cancelled_at_each_look__nothing_stays),
        CANCEL_TEST(test_preprocess__again_of_touched_files__comparing_is_cancelled),
        CANCEL_TEST(test_preprocess__wrong_edge__explaining_is_cancelled),
        CANCEL_TEST(test_made__each_use_is_cancelled_at_each_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
