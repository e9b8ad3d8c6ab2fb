/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hdf5/hdf5_file.h"
#include "test_support.h"

static grebe_context *ctx;
static grebe_error err;
static char *folder;

static int setup(void **state)
{
    (void)state;
    folder = test_folder_new();
    return context_new(NULL, &ctx, &err) == GREBE_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    context_free(ctx);
    test_folder_remove(folder);
    return 0;
}

static const char *data_path(const char *name)
{
    static char path[2][512];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[0], TEST_DATA "/data/ann/%s", name);
    return path[turn];
}

/* All findings of a check as one text. */
struct findings {
    char text[16384];
    size_t len, n_errors;
};

static void add_finding(void *arg, enum ann_level level, const char *place, const char *message)
{
    struct findings *f = arg;
    assert_true(place[0] != '\0' && message[0] != '\0' && strchr(message, '\n') == NULL);
    f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len, "%s: %s\n", place, message);
    f->n_errors += level == ANN_ERROR;
    assert_true(f->len < sizeof f->text);
}

/*
 * findings.txt, a file a line: path, profile, good or bad, whether loading alone refuses it, and what the findings must
 * name. The facts are those of expected.json.
 */
static void test_check__golden_files__as_expected(void **state)
{
    (void)state;
    size_t len = 0, n = 0;
    char *lines = (char *)test_read_file(data_path("findings.txt"), &len);
    for (char *line = lines; line < lines + len; n++) {
        char *end = memchr(line, '\n', (size_t)(lines + len - line)), *word[16];
        size_t n_words = 0;
        assert_non_null(end);
        *end = '\0';
        for (char *p = line; p != NULL && n_words < 16;) {
            word[n_words++] = p;
            p = strchr(p, '\t');
            if (p != NULL) {
                *p++ = '\0';
            }
        }
        assert_true(n_words >= 4);
        struct findings f = { .len = 0 };
        uint64_t n_errors = 0;
        bool is_padding = strcmp(word[1], "padding") == 0, is_good = strcmp(word[2], "good") == 0;
        enum ann_profile profile = strcmp(word[1], "vsag") == 0 ? ANN_VSAG : strcmp(word[1], "annb") == 0 ? ANN_ANNB : ANN_READ;
        assert_ok(ann_check(ctx, data_path(word[0]), profile, is_padding, NULL, add_finding, &f, &n_errors, &err));
        if ((n_errors == 0) != is_good || n_errors != f.n_errors) {
            fail_msg("%s: expected %s, found: %s", word[0], word[2], f.text);
        }
        for (size_t i = 4; i < n_words; i++) {
            if (strstr(f.text, word[i]) == NULL) {
                fail_msg("%s: expected \"%s\" in: %s", word[0], word[i], f.text);
            }
        }
        struct ann_dataset *d = NULL;
        struct ann_open_options o = { .profile = profile, .allow_padding = is_padding };
        grebe_status st = ann_dataset_open(ctx, data_path(word[0]), &o, NULL, &d, &err);
        if ((st != GREBE_OK) != (strcmp(word[3], "load") == 0)) {
            fail_msg("%s: loading gave %s: %s", word[0], grebe_status_name(st), err.message);
        }
        ann_dataset_free(d);
        line = end + 1;
    }
    assert_true(n >= 133);
    free(lines);
}

static grebe_status open_by_rows(grebe_context *c, const char *name, uint64_t limit, struct ann_dataset **d)
{
    struct ann_open_options o = { .is_base_by_rows = true, .allow_padding = true };
    struct call call = call_options_resolve(c, NULL);
    call.memory_limit_bytes = limit;
    return ann_dataset_open(c, name, &o, &call, d, &err);
}

/* With little memory, base vectors are read by blocks: the same findings. */
static void test_check__by_rows__same_findings(void **state)
{
    (void)state;
    static const uint64_t limits[] = { 400, 800, 2000, 8000, 20000 }; /* queries must fit, base vectors must not */
    size_t len = 0, n_by_rows = 0, n_bits = 0, n_wide = 0;
    char *lines = (char *)test_read_file(data_path("findings.txt"), &len);
    for (char *line = lines; line < lines + len;) {
        char *end = memchr(line, '\n', (size_t)(lines + len - line));
        *strchr(line, '\t') = '\0';
        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            struct ann_dataset *d = NULL;
            struct findings f = { .len = 0 }, g = { .len = 0 };
            uint64_t n_errors = 0;
            bool is_by_rows = open_by_rows(ctx, data_path(line), limits[i], &d) == GREBE_OK && d->train.rows.read != NULL;
            n_bits += is_by_rows && d->train.elem == VECTOR_BIT;
            n_wide += is_by_rows && strstr(line, "int64") != NULL;
            ann_dataset_free(d);
            if (is_by_rows) {
                struct call call = call_options_resolve(ctx, NULL);
                call.memory_limit_bytes = limits[i];
                assert_ok(ann_check(ctx, data_path(line), ANN_READ, true, NULL, add_finding, &f, &n_errors, &err));
                assert_ok(ann_check(ctx, data_path(line), ANN_READ, true, &call, add_finding, &g, &n_errors, &err));
                assert_string_equal(f.text, g.text);
                n_by_rows++;
            }
        }
        line = end + 1;
    }
    assert_true(n_by_rows > 30 && n_bits > 0 && n_wide > 0);
    free(lines);
}

static void test_gather__some_rows__as_in_memory(void **state)
{
    (void)state;
    struct ann_dataset *d = NULL, *whole = NULL;
    float rows[7][32];
    static const int64_t ids[7] = { 599, 0, -1, 17, 17, 16, 300 };
    assert_ok(open_by_rows(ctx, data_path("good/dense_l2_f32.hdf5"), 20000, &d));
    assert_ok(ann_dataset_open(ctx, data_path("good/dense_l2_f32.hdf5"), NULL, NULL, &whole, &err));
    assert_true(d->train.dense == NULL && ann_has_rows(&d->train) && d->test.dense != NULL);
    for (int by = 0; by < 3; by++) {
        struct ann_rows r = ann_rows_of(by == 2 ? &whole->train : &d->train);
        r.is_in_order = by == 1;
        memset(rows, 7, sizeof rows);
        assert_ok(ann_rows_gather(ctx, &r, ids, 7, rows, &err));
        for (int i = 0; i < 7; i++) {
            float untouched[32];
            memset(untouched, 7, sizeof untouched);
            assert_memory_equal(rows[i], ids[i] < 0 ? untouched : (const float *)whole->train.dense + ids[i] * 32, 128);
        }
    }
    struct ann_rows r = ann_rows_of(&d->train);
    assert_fails(r.read(r.arg, 590, 11, rows, &err), GREBE_EINVAL, "600");
    ann_dataset_free(d);
    ann_dataset_free(whole);
}

static struct ann_dataset *open_good(const char *name)
{
    struct ann_dataset *d = NULL;
    err.message[0] = '\0';
    assert_ok(ann_dataset_open(ctx, name[0] == '/' ? name : data_path(name), NULL, NULL, &d, &err));
    return d;
}

/* The same values, whatever they were stored as. */
static void assert_same_data(const struct ann_dataset *x, const struct ann_dataset *y)
{
    const struct ann_vectors *a[2] = { &x->train, &x->test }, *b[2] = { &y->train, &y->test };
    assert_int_equal(x->layout, y->layout);
    assert_int_equal(x->metric, y->metric);
    assert_int_equal(x->k, y->k);
    assert_memory_equal(x->neighbors, y->neighbors, x->test.n * x->k * 8);
    assert_memory_equal(x->distances, y->distances, x->test.n * x->k * 4);
    assert_int_equal(x->n_valid_ratios, y->n_valid_ratios);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(a[i]->n, b[i]->n);
        assert_int_equal(a[i]->dim, b[i]->dim);
        assert_int_equal(a[i]->elem, b[i]->elem);
        size_t rows = a[i]->offsets == NULL ? a[i]->n : (size_t)a[i]->offsets[a[i]->n];
        if (a[i]->dense != NULL) {
            assert_memory_equal(a[i]->dense, b[i]->dense, rows * vector_row_bytes(a[i]->elem, a[i]->dim));
        }
        if (a[i]->terms != NULL) {
            assert_memory_equal(a[i]->offsets, b[i]->offsets, (a[i]->n + 1) * 8);
            assert_memory_equal(a[i]->terms, b[i]->terms, rows * 4);
        }
        if (a[i]->values != NULL) {
            assert_memory_equal(a[i]->values, b[i]->values, rows * 4);
        }
        if (a[i]->token_offsets != NULL && a[i]->token_offsets[a[i]->n] > 0) {
            assert_memory_equal(a[i]->token_offsets, b[i]->token_offsets, (a[i]->n + 1) * 8);
            assert_memory_equal(a[i]->tokens, b[i]->tokens, (size_t)a[i]->token_offsets[a[i]->n] * 4);
        }
        if (a[i]->labels != NULL) {
            assert_memory_equal(a[i]->labels, b[i]->labels, a[i]->n * 8);
        }
    }
}

static const char *const good[] = {
    "good/dense_angular_f32.hdf5", "good/dense_ip_i8.hdf5", "good/dense_ip_i8_negated.hdf5", "good/dense_l2_f32.hdf5",
    "good/dense_l2_labels.hdf5", "good/labels_small.hdf5", "good/multi_vector_euclidean.hdf5", "good/multi_vector_ip.hdf5",
    "good/small_l2.hdf5", "good/sparse_36_bytes.hdf5", "good/sparse_ip.hdf5", "good/sparse_tokens.hdf5",
    "good/sparse_tokens_train_only.hdf5", "good/sparse_unsorted_ids.hdf5", "storage/annb_hamming_bit.hdf5",
    "storage/annb_jaccard.hdf5", "storage/float16_train.hdf5"
};

static void test_write__read_again__same_and_equal_bytes(void **state)
{
    (void)state;
    char path[2][600];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct ann_dataset *d = open_good(good[i]);
        unsigned char *bytes[2];
        size_t len[2];
        for (int j = 0; j < 2; j++) {
            snprintf(path[j], sizeof path[j], "%s/w%d.hdf5", folder, j);
            assert_ok(ann_dataset_write(d, path[j], false, NULL, &err));
            struct ann_dataset *again = open_good(path[j]);
            assert_same_data(d, again);
            ann_dataset_free(d);
            d = again; /* what was read is written: a fixed point */
            bytes[j] = test_read_file(path[j], &len[j]);
        }
        assert_int_equal(len[0], len[1]);
        assert_memory_equal(bytes[0], bytes[1], len[0]);
        uint64_t n_errors = 0;
        struct findings f = { .len = 0 };
        assert_ok(ann_check(ctx, path[0], d->metric == VECTOR_HAMMING || d->layout == ANN_SETS ? ANN_ANNB : ANN_VSAG, false, NULL,
                            add_finding, &f, &n_errors, &err));
        if (n_errors > 0) {
            fail_msg("%s: %s", good[i], f.text);
        }
        free(bytes[0]);
        free(bytes[1]);
        ann_dataset_free(d);
    }
}

static void test_open__storage_forms__same_data(void **state)
{
    (void)state;
    static const char *const pairs[][2] = { { "good/dense_l2_f32.hdf5", "storage/big_endian.hdf5" },
                                            { "good/dense_l2_f32.hdf5", "storage/chunked_gzip_shuffle.hdf5" },
                                            { "good/dense_l2_f32.hdf5", "storage/chunked_lzf.hdf5" },
                                            { "good/dense_l2_f32.hdf5", "storage/latest.hdf5" },
                                            { "good/dense_l2_f32.hdf5", "storage/user_block.hdf5" },
                                            { "good/dense_l2_f32.hdf5", "storage/float16_train.hdf5" },
                                            { "good/dense_l2_f32.hdf5", "storage/attr_one_element.hdf5" },
                                            { "good/sparse_ip.hdf5", "good/sparse_no_offsets.hdf5" },
                                            { "good/sparse_ip.hdf5", "good/sparse_unsorted_ids.hdf5" },
                                            { "storage/annb_hosted_style.hdf5", "storage/annb_fresh_style.hdf5" } };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct ann_dataset *x = open_good(pairs[i][0]), *y = open_good(pairs[i][1]);
        assert_same_data(x, y);
        ann_dataset_free(x);
        ann_dataset_free(y);
    }
}

static void test_write__sparse_sample__golden_bytes(void **state)
{
    (void)state;
    static const unsigned char golden[36] = { 2, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0x3f, 0, 0, 0x80, 0x3f,
                                              1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0x80, 0x3e, 0, 0, 0, 0 };
    int64_t offsets[4] = { 0, 2, 3, 3 }, q_offsets[2] = { 0, 1 }, neighbors[1] = { 1 }, at[4];
    uint32_t terms[3] = { 1, 5, 3 }, q_terms[1] = { 3 };
    float values[3] = { 0.5f, 1, 0.25f }, q_values[1] = { 4 }, distances[1] = { 0 };
    unsigned char bytes[36];
    char path[600];
    struct ann_dataset d = { .ctx = ctx, .layout = ANN_SPARSE, .metric = VECTOR_IP, .distance = "ip", .k = 1,
                             .neighbors = neighbors, .distances = distances };
    d.train = (struct ann_vectors){ .n = 3, .offsets = offsets, .terms = terms, .values = values };
    d.test = (struct ann_vectors){ .n = 1, .offsets = q_offsets, .terms = q_terms, .values = q_values };
    snprintf(path, sizeof path, "%s/sparse.hdf5", folder);
    assert_ok(ann_dataset_write(&d, path, false, NULL, &err));
    struct hdf5_file *f = NULL;
    assert_ok(hdf5_open(ctx, path, &f, &err));
    const struct hdf5_data *h = hdf5_find(f, "train");
    assert_true(h->cls == HDF5_INT && h->size == 1 && h->rank == 1 && h->shape[0] == 36);
    assert_ok(hdf5_read(f, h, 0, 36, HDF5_RAW, bytes, &err));
    assert_memory_equal(bytes, golden, 36);
    assert_ok(hdf5_read(f, hdf5_find(f, "train_offsets"), 0, 4, HDF5_AS_I64, at, &err));
    assert_true(at[0] == 0 && at[1] == 20 && at[2] == 32 && at[3] == 36);
    assert_null(hdf5_find(f, "train_token_sequences")); /* tokens only where some record has one */
    hdf5_close(f);
    terms[1] = 1;
    assert_fails(ann_dataset_write(&d, path, false, NULL, &err), GREBE_EINVAL, "record 0: expected ascending ids, found 1 after 1");
    struct ann_dataset *still = open_good(path); /* what was there is there */
    assert_int_equal(still->train.terms[1], 5);
    ann_dataset_free(still);
}

static void test_distance__known_values(void **state)
{
    (void)state;
    float q[4] = { 1, 0, 0, 1 }, doc[4] = { 1, 0, 0.6f, 0.8f };
    int64_t two[2] = { 0, 2 };
    struct ann_dataset d = { .ctx = ctx, .layout = ANN_MULTI, .metric = VECTOR_IP };
    d.train = (struct ann_vectors){ .n = 1, .dim = 2, .dense = doc, .offsets = two };
    d.test = (struct ann_vectors){ .n = 1, .dim = 2, .dense = q, .offsets = two };
    assert_true(fabs(ann_distance(&d, 0, 0) - 0.2) < 1e-7); /* MaxSim of the specification's example */
    d.metric = VECTOR_EUCLIDEAN;
    d.is_maxsim_squared = true;
    assert_true(fabs(ann_distance(&d, 0, 0) - 0.4) < 1e-6);
    d.is_maxsim_squared = false;
    assert_true(fabs(ann_distance(&d, 0, 0) - sqrt(0.4)) < 1e-6);
    struct ann_dataset *sparse = open_good("good/sparse_36_bytes.hdf5");
    assert_true(ann_distance(sparse, 0, 0) == -1 && ann_distance(sparse, 0, 1) == 0 && ann_distance(sparse, 0, 2) == 1);
    ann_dataset_free(sparse);
    struct ann_dataset *negated = open_good("good/dense_ip_i8_negated.hdf5");
    assert_true(negated->is_int8_negated_ip);
    assert_true((float)ann_distance(negated, 0, (uint64_t)negated->neighbors[0]) == negated->distances[0]);
    ann_dataset_free(negated);
}

static void test_open__limits_and_uint8(void **state)
{
    (void)state;
    struct ann_dataset *d = NULL;
    struct call call = call_options_resolve(ctx, NULL);
    call.memory_limit_bytes = 1000;
    assert_fails(ann_dataset_open(ctx, data_path("good/dense_l2_f32.hdf5"), NULL, &call, &d, &err), GREBE_ELIMIT, "memory limit of 1000");
    d = open_good("bad/train_uint8.hdf5");
    assert_int_equal(d->train.elem, VECTOR_U8);
    assert_int_equal(((unsigned char *)d->train.dense)[0], 200);
    ann_dataset_free(d);
    d = open_good("bad/train_int64.hdf5");
    assert_int_equal(d->train.elem, VECTOR_F32);
    ann_dataset_free(d);
    struct ann_open_options o = { .is_without_vectors = true };
    assert_ok(ann_dataset_open(ctx, data_path("good/dense_l2_f32.hdf5"), &o, &call, &d, &err));
    assert_true(d->train.n == 600 && d->train.dim == 32 && d->train.dense == NULL && d->k == 20);
    ann_dataset_free(d);
}

static void test_open__no_memory__clean(void **state)
{
    (void)state;
    static const char *const files[] = { "good/sparse_tokens_train_only.hdf5", "good/multi_vector_small.hdf5",
                                         "good/labels_small.hdf5", "storage/annb_hamming_bit.hdf5" };
    char path[512];
    snprintf(path, sizeof path, "%s/rows.hdf5", folder);
    for (size_t i = 0; i < 4; i++) {
        bool is_done = false;
        for (size_t at = 1; at < 2000 && !is_done; at++) {
            struct test_allocator t;
            grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
            grebe_context *small = NULL;
            struct ann_dataset *d = NULL;
            uint64_t n_errors = 0;
            test_allocator_init(&t);
            o.allocator = &t.a;
            assert_ok(context_new(&o, &small, &err));
            t.fail_at = t.n_calls + at;
            grebe_status st = ann_check(small, data_path(files[i]), ANN_READ, false, NULL, NULL, NULL, &n_errors, &err);
            if (st == GREBE_OK) {
                st = ann_dataset_open(small, data_path(files[i]), NULL, NULL, &d, &err);
            }
            ann_dataset_free(d);
            if (st == GREBE_OK && i >= 2) { /* dense: base vectors stay in the file */
                uint64_t limit = i == 2 ? 800 : 400;
                struct call call = call_options_resolve(small, NULL);
                call.memory_limit_bytes = limit;
                st = ann_check(small, data_path(files[i]), ANN_READ, false, &call, NULL, NULL, &n_errors, &err);
                d = NULL;
                st = st == GREBE_OK ? open_by_rows(small, data_path(files[i]), limit, &d) : st;
                assert_true(st != GREBE_OK || d->train.rows.read != NULL);
                st = st == GREBE_OK ? ann_dataset_write(d, path, false, NULL, &err) : st;
                ann_dataset_free(d);
            }
            is_done = st == GREBE_OK;
            assert_true(is_done || st == GREBE_ENOMEM);
            context_free(small);
            assert_int_equal(t.n_live, 0);
        }
        assert_true(is_done);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check__golden_files__as_expected),
        cmocka_unit_test(test_check__by_rows__same_findings),
        cmocka_unit_test(test_gather__some_rows__as_in_memory),
        cmocka_unit_test(test_write__read_again__same_and_equal_bytes),
        cmocka_unit_test(test_open__storage_forms__same_data),
        cmocka_unit_test(test_write__sparse_sample__golden_bytes),
        cmocka_unit_test(test_distance__known_values),
        cmocka_unit_test(test_open__limits_and_uint8),
        cmocka_unit_test(test_open__no_memory__clean),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
