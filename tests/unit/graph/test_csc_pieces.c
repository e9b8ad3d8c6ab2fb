/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that are made in several pieces, against a plain counting sort; and files that change between the passes. */
#include "graph/csc_build.h"

#include <fcntl.h>
#include <unistd.h>

#include "graph/graph_dataset.h"
#include "graph_data.h"

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct attribute {
    int type;
    size_t per_row; /* values */
};

/* Byte j of row r of attribute i. */
static unsigned char byte_of(size_t i, size_t r, size_t j) { return (unsigned char)mixed((i << 60) + (r << 20) + j); }

/* Node 1 has a third of the edges, nodes from `busy` on none. */
static void make_graph(struct fixture *f, int64_t *edges, size_t n, int64_t n_nodes, int64_t busy,
                       const struct attribute *attributes, size_t n_attributes)
{
    char text[2000], *p = text, name[40];
    p += sprintf(p, "graph:\n  nodes: [{num: %lld}]\n  edges: [{format: numpy, path: e.npy}]\n%s",
                 (long long)n_nodes, n_attributes > 0 ? "  feature_data:\n" : "");
    for (size_t k = 0; k < n; k++) {
        edges[k] = (int64_t)(mixed(k) % (uint64_t)n_nodes);
        edges[n + k] = k % 3 == 0 ? 1 : (int64_t)(mixed(k + n) % (uint64_t)busy);
    }
    put_npy(f, "e.npy", ARRAY_I64, (uint64_t[]){ 2, n }, 2, edges, n * 16);
    for (size_t i = 0; i < n_attributes; i++) {
        size_t width = tensor_type_bytes(attributes[i].type) * attributes[i].per_row;
        unsigned char *rows = malloc(n * width);
        for (size_t r = 0; r < n; r++) {
            for (size_t j = 0; j < width; j++) {
                rows[r * width + j] = byte_of(i, r, j);
            }
        }
        snprintf(name, sizeof name, "x%zu.npy", i);
        put_npy(f, name, attributes[i].type, (uint64_t[]){ n, attributes[i].per_row }, 2, rows, n * width);
        free(rows);
        p += sprintf(p, "  - {domain: edge, name: x%zu, format: numpy, path: x%zu.npy}\n", i, i);
    }
    put(f, "metadata.yaml", text, (size_t)(p - text));
}

/* The rows of edges in the order of the lists, and where each list ends. */
static void sort_plainly(const int64_t *edges, size_t n, int64_t n_nodes, int64_t *indptr, size_t *rows)
{
    memset(indptr, 0, ((size_t)n_nodes + 1) * sizeof *indptr);
    for (size_t k = 0; k < n; k++) {
        indptr[edges[n + k] + 1]++;
    }
    for (int64_t v = 0; v < n_nodes; v++) {
        indptr[v + 1] += indptr[v];
    }
    int64_t *next = malloc(((size_t)n_nodes + 1) * sizeof *next);
    memcpy(next, indptr, ((size_t)n_nodes + 1) * sizeof *next);
    for (size_t k = 0; k < n; k++) {
        rows[next[edges[n + k]]++] = k;
    }
    free(next);
}

static void assert_sorted(struct fixture *f, const int64_t *edges, size_t n, int64_t n_nodes, bool has_ids,
                          const struct attribute *attributes, size_t n_attributes)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_graph *g = NULL;
    size_t n_errors = 1;
    int64_t *indptr = malloc(((size_t)n_nodes + 1) * sizeof *indptr);
    size_t *rows = malloc(n * sizeof *rows);
    sort_plainly(edges, n, n_nodes, indptr, rows);
    assert_ok(grebe_graph_open(f->ctx, f->folder, &g, &err));
    const struct graph_csc *c = graph_dataset_csc(g);
    assert_true(c->n_edges == (int64_t)n);
    for (int64_t v = 0; v <= n_nodes; v++) {
        assert_int_equal(graph_id(&c->indptr, v), indptr[v]);
    }
    const struct graph_attribute *ids = graph_edge_attribute(c, "_ORIGINAL_EDGE_ID");
    assert_int_equal(ids != NULL, has_ids);
    for (size_t k = 0; k < n; k++) {
        int64_t id = (int64_t)rows[k];
        assert_int_equal(graph_id(&c->indices, (int64_t)k), edges[rows[k]]);
        if (has_ids) {
            assert_ok(tensor_read_i64(&ids->values, k, 1, &id, &err));
        }
        assert_int_equal(id, rows[k]);
    }
    for (size_t i = 0; i < n_attributes; i++) {
        char name[40];
        snprintf(name, sizeof name, "x%zu", i);
        const struct graph_attribute *x = graph_edge_attribute(c, name);
        size_t width = tensor_type_bytes(attributes[i].type) * attributes[i].per_row;
        for (size_t k = 0; k < n; k++) {
            for (size_t j = 0; j < width; j++) {
                assert_int_equal(x->values.data[k * width + j], byte_of(i, rows[k], j));
            }
        }
    }
    assert_ok(grebe_graph_verify(g, NULL, &n_errors, &err));
    assert_int_equal(n_errors, 0);
    grebe_graph_close(g);
    free(indptr);
    free(rows);
}

/* Records of 8 to 20 bytes, of odd widths, and of more than a line. */
static void test_preprocess__several_pieces__are_what_a_plain_sort_makes(void **state)
{
    static const struct {
        size_t n;
        struct attribute attributes[3];
    } cases[] = {
        { 150001, { { 0 } } },
        { 60000, { { ARRAY_F32, 1 } } },
        { 60001, { { ARRAY_F64, 1 } } },
        { 60002, { { ARRAY_U8, 1 }, { ARRAY_I16, 1 }, { ARRAY_F32, 3 } } },
        { 9999, { { ARRAY_U8, 61 }, { ARRAY_I32, 25 } } },
        { 203, { { ARRAY_F64, 3001 }, { ARRAY_I32, 1 } } },
        { 11, { { ARRAY_U8, 400000 } } }, /* a row is more than a piece should be */
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t n_nodes = 3000;
        size_t n = cases[i].n, n_attributes = 0;
        int64_t *edges = malloc(n * 16);
        while (n_attributes < 3 && cases[i].attributes[n_attributes].per_row > 0) {
            n_attributes++;
        }
        make_graph(f, edges, n, n_nodes, 2500, cases[i].attributes, n_attributes);
        for (unsigned way = 0; way < 4; way++) {
            grebe_error err = GREBE_ERROR_INIT;
            grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
            grebe_graph_options o = GREBE_GRAPH_OPTIONS_INIT;
            call.threads = way % 2 == 0 ? 1 : 3;
            call.memory_limit_bytes = way < 2 ? 0 : 500000;
            o.call = &call;
            o.force = GREBE_GRAPH_ALWAYS;
            o.without_cast = way == 1;
            o.edge_ids = way == 2 ? GREBE_GRAPH_EDGE_IDS_DROPPED : GREBE_GRAPH_EDGE_IDS_KEPT;
            assert_ok(grebe_graph_preprocess(f->ctx, f->folder, &o, NULL, &err));
            assert_sorted(f, edges, n, n_nodes, way != 2, cases[i].attributes, n_attributes);
        }
        free(edges);
    }
}

/* ---- a file that changes ---- */

static grebe_status count_piece(void *arg, const struct csc_piece *piece, grebe_error *err)
{
    (void)err;
    *(int64_t *)arg += (int64_t)piece->n;
    return GREBE_OK;
}

/* The second pass after edge `edge` of row `row` became `value`. */
static grebe_status build_changed(struct fixture *f, size_t n, unsigned row, size_t edge, int64_t value,
                                  grebe_error *out)
{
    char path[700];
    grebe_error err = GREBE_ERROR_INIT;
    struct graph_metadata *m = NULL;
    struct csc_build *b = NULL;
    struct csc_options o = { .has_edge_ids = true };
    int64_t n_made = 0;
    o.call = call_options_resolve(f->ctx, NULL);
    o.folder = f->folder;
    path_in(f, "metadata.yaml", path, sizeof path);
    assert_ok(graph_metadata_read(f->ctx, path, f->folder, GRAPH_RAW, false, &m, &err));
    assert_ok(graph_metadata_check_files(m, false, &err));
    assert_ok(csc_build_begin(m, &o, &b, &err));
    assert_ok(csc_plan(b, &err));
    assert_true(b->n_pieces > 2);
    if (edge < n) {
        path_in(f, "e.npy", path, sizeof path);
        int fd = open(path, O_RDWR);
        assert_int_equal(pwrite(fd, &value, 8, lseek(fd, 0, SEEK_END) - (off_t)n * 16 + (off_t)(row * n + edge) * 8), 8);
        close(fd);
    }
    grebe_status st = csc_build_pieces(b, count_piece, &n_made, out);
    assert_true(st != GREBE_OK || n_made == (int64_t)n);
    csc_build_free(b);
    graph_metadata_free(m);
    return st;
}

static void test_csc__a_file_that_changes_between_the_passes__is_refused(void **state)
{
    enum { N = 60000, NODES = 300 };
    static const struct {
        unsigned row;
        size_t edge;
        int64_t value;
        const char *wanted;
    } cases[] = {
        { 0, 7, NODES, "row 0, edge 7: node 300, the bound is 300" },
        { 0, N - 1, -1, "row 0, edge 59999: node -1" },
        { 1, 7, NODES, "row 1, edge 7: node 300, the bound is 300" },
        { 1, 8, INT64_MIN, "row 1, edge 8" },
        { 1, 0, 0, "changed while it was read" },         /* of node 1: a list of the same piece gets one too many */
        { 1, 0, NODES - 60, "changed while it was read" }, /* of another piece */
        { 1, 0, NODES - 1, "changed while it was read" },  /* beyond all lists */
    };
    struct fixture *f = *state;
    int64_t *edges = malloc(N * 16);
    grebe_error err = GREBE_ERROR_INIT;
    make_graph(f, edges, N, NODES, NODES - 50, &(struct attribute){ ARRAY_I32, 1 }, 1);
    assert_ok(build_changed(f, N, 0, N, 0, &err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_npy(f, "e.npy", ARRAY_I64, (uint64_t[]){ 2, N }, 2, edges, N * 16);
        assert_fails(build_changed(f, N, cases[i].row, cases[i].edge, cases[i].value, &err), GREBE_ECORRUPT,
                     cases[i].wanted);
    }
    free(edges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_preprocess__several_pieces__are_what_a_plain_sort_makes, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_csc__a_file_that_changes_between_the_passes__is_refused, fixture_set_up,
                                        fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
