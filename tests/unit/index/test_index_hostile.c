/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of every kind whose sections were changed and whose checksums were made to fit again: what is read from a file
 * is checked where it is used. Any status is right, a read out of bounds (sanitizers) or a hang is not.
 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/context_internal.h"
#include "base/endian.h"
#include "base/hash.h"
#include "grebe/ann_index.h"
#include "index/index_layout.h"

enum { DIM = 9, ROWS = 120, K = 5 };

struct fixture {
    grebe_context *ctx;
    char *folder;
    char path[500], bad[500];
};

static int set_up(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct fixture *f = calloc(1, sizeof *f);
    assert_ok(context_new(NULL, &f->ctx, &err));
    f->folder = test_folder_new();
    snprintf(f->path, sizeof f->path, "%s/x.index", f->folder);
    snprintf(f->bad, sizeof f->bad, "%s/bad.index", f->folder);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    context_free(f->ctx);
    test_folder_remove(f->folder);
    free(f);
    return 0;
}

static float values[ROWS * DIM];
static int64_t offsets[ROWS + 1];
static uint32_t terms[ROWS * DIM];

static grebe_vectors example(bool is_sparse, size_t rows)
{
    grebe_vectors v = GREBE_VECTORS_INIT;
    uint64_t seed = 11;
    v.rows = rows;
    for (size_t i = 0; i < ROWS * DIM; i++) {
        values[i] = (float)(test_random(&seed) % 2000) / 100.0f;
        terms[i] = (uint32_t)(i % DIM * 7 + test_random(&seed) % 7);
    }
    for (size_t i = 0; i <= ROWS; i++) {
        offsets[i] = (int64_t)(i * DIM);
    }
    if (is_sparse) {
        v.offsets = offsets;
        v.terms = terms;
        v.values = values;
    } else {
        v.dim = DIM;
        v.data = values;
    }
    return v;
}

/* Make the checksums of a file fit what stands in it. */
static void seal(unsigned char *bytes, size_t len)
{
    unsigned char *table = bytes + len - INDEX_FILE_ALIGN;
    uint32_t n = load_le32(table + INDEX_TABLE_N_SECTIONS);
    for (uint32_t i = 0; i < n && i < INDEX_SECTIONS_MAX; i++) {
        unsigned char *entry = table + INDEX_TABLE_SECTIONS + i * INDEX_SECTION_BYTES;
        uint64_t at = load_le64(entry + 8), size = load_le64(entry + 16);
        if (at <= len && size <= len - at) {
            store_le64(entry + 24, hash_xxh3(bytes + at, (size_t)size));
        }
    }
    store_le64(table + INDEX_TABLE_CHECKSUM, hash_xxh3(table, INDEX_TABLE_CHECKSUM));
}

/* Open and use. @return Whether it opened. */
static bool use(struct fixture *f, bool is_sparse, const unsigned char *bytes, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = NULL;
    grebe_vectors q = example(is_sparse, 3);
    int64_t found[3 * K];
    float distances[3 * K];
    grebe_ann_index_range r = { 0 };
    grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
    uint64_t bits[2] = { 0x5555, 0xffff };
    test_write_file(f->bad, bytes, len);
    o.allow = bits;
    o.allow_bits = ROWS;
    if (grebe_ann_index_open(f->ctx, f->bad, false, &x, &err) != GREBE_OK) {
        assert_true(err.message[0] != '\0');
        return false;
    }
    grebe_status st = grebe_ann_index_search(x, &q, K, NULL, found, distances, &err);
    st = grebe_ann_index_search(x, &q, K, &o, found, distances, &err);
    st = grebe_ann_index_range_search(x, &q, 8.0f, NULL, &r, &err);
    grebe_ann_index_range_free(&r);
    int64_t gone[1] = { 4 };
    st = grebe_ann_index_remove(x, gone, 1, NULL, &err);
    q = example(is_sparse, 8);
    int64_t ids[8] = { 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007 };
    st = grebe_ann_index_add(x, &q, ids, NULL, &err);
    (void)st; /* whatever it is */
    grebe_ann_index_close(x);
    return true;
}

static void attack(struct fixture *f, grebe_ann_index_kind kind, const char *const *params, size_t n_params)
{
    bool is_sparse = kind == GREBE_ANN_INDEX_SPARSE;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = NULL;
    grebe_vectors rows = example(is_sparse, ROWS);
    size_t len = 0;
    uint64_t seed = test_seed();
    assert_ok(grebe_ann_index_new(f->ctx, kind, is_sparse ? GREBE_METRIC_IP : GREBE_METRIC_L2, GREBE_ELEM_F32, params,
                              n_params, 1, &x, &err));
    int64_t ids[ROWS];
    for (int i = 0; i < ROWS; i++) {
        ids[i] = 3 * i;
    }
    assert_ok(grebe_ann_index_add(x, &rows, ids, NULL, &err));
    int64_t gone[1] = { 6 };
    assert_ok(grebe_ann_index_remove(x, gone, 1, NULL, &err));
    assert_ok(grebe_ann_index_save(x, f->path, false, &err));
    grebe_ann_index_close(x);
    unsigned char *good = test_read_file(f->path, &len), *bad = malloc(len);
    memcpy(bad, good, len);
    seal(bad, len);
    assert_memory_equal(bad, good, len); /* seal() knows the format */
    assert_true(use(f, is_sparse, bad, len));
    unsigned char *table = good + len - INDEX_FILE_ALIGN;
    uint32_t n_fields = load_le32(table + INDEX_TABLE_N_FIELDS), n_sections = load_le32(table + INDEX_TABLE_N_SECTIONS);
    const uint64_t odd[6] = { 0, UINT64_MAX, 0x7fffffff, 0x80000000, 1, (uint64_t)1 << 40 };
    for (uint32_t i = 0; i < n_fields; i++) {
        for (int v = 0; v < 6; v++) {
            memcpy(bad, good, len);
            store_le64(bad + len - INDEX_FILE_ALIGN + INDEX_TABLE_FIELDS + i * INDEX_FIELD_BYTES + 8, odd[v]);
            seal(bad, len);
            use(f, is_sparse, bad, len);
        }
    }
    for (uint32_t s = 0; s < n_sections; s++) {
        unsigned char *entry = table + INDEX_TABLE_SECTIONS + s * INDEX_SECTION_BYTES;
        uint64_t at = load_le64(entry + 8), size = load_le64(entry + 16);
        for (int round = 0; size >= 4 && round < 60; round++) {
            memcpy(bad, good, len);
            uint64_t where = round < 16 ? (uint64_t)round * 4 : test_random(&seed) % (size / 4) * 4;
            uint32_t what = (uint32_t)odd[round % 6];
            if (where + 4 <= size) {
                store_le32(bad + at + where, round % 7 == 6 ? (uint32_t)test_random(&seed) : what);
            }
            seal(bad, len);
            use(f, is_sparse, bad, len);
        }
        memcpy(bad, good, len);
        memset(bad + at, 0xff, (size_t)size);
        seal(bad, len);
        use(f, is_sparse, bad, len);
        for (int v = 0; v < 6; v++) { /* a section that is longer or shorter than it should be */
            memcpy(bad, good, len);
            store_le64(bad + len - INDEX_FILE_ALIGN + INDEX_TABLE_SECTIONS + s * INDEX_SECTION_BYTES + 16,
                         v < 3 ? size - (uint64_t)(1 + v * 3) : odd[v]);
            seal(bad, len);
            use(f, is_sparse, bad, len);
        }
    }
    for (size_t cut = 0; cut < len; cut += cut < 64 || len - cut < 64 ? 1 : 509) {
        assert_false(use(f, is_sparse, good, cut));
    }
    free(good);
    free(bad);
}

static void flat(void **state) { attack(*state, GREBE_ANN_INDEX_FLAT, NULL, 0); }
static void sparse(void **state) { attack(*state, GREBE_ANN_INDEX_SPARSE, NULL, 0); }

static void hnsw(void **state)
{
    const char *params[2] = { "M=4", "quant=sq8" };
    attack(*state, GREBE_ANN_INDEX_HNSW, params, 1);
    attack(*state, GREBE_ANN_INDEX_HNSW, params, 2);
}

static void graph(void **state)
{
    const char *params[2] = { "degree=8", "quant=sq8" };
    attack(*state, GREBE_ANN_INDEX_GRAPH, params, 1);
    attack(*state, GREBE_ANN_INDEX_GRAPH, params, 2);
}

static void ivf(void **state)
{
    static const char *const quants[] = { "quant=none", "quant=sq8", "quant=sq4", "quant=pq4", "quant=rabitq" };
    grebe_error err = GREBE_ERROR_INIT;
    grebe_ann_index *x = NULL;
    struct fixture *f = *state;
    if (grebe_ann_index_new(f->ctx, GREBE_ANN_INDEX_IVF, GREBE_METRIC_L2, GREBE_ELEM_F32, NULL, 0, 0, &x, &err) != GREBE_OK) {
        skip();
    }
    grebe_ann_index_close(x);
    for (int i = 0; i < 5; i++) {
        const char *params[2] = { "lists=6", quants[i] };
        attack(*state, GREBE_ANN_INDEX_IVF, params, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sparse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hnsw, set_up, tear_down),
        cmocka_unit_test_setup_teardown(graph, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ivf, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
