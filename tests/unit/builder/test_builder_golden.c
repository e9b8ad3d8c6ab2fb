/* SPDX-License-Identifier: Apache-2.0 */
/* Every stored result of loading csv, json, text, parquet and arrow files: rows, features, errors; and going on from places. */
#include "builder/builder.h"

#include "builder_case.h"

#define LOAD TEST_DATA "/data/hfdatasets/load"
#define MORE TEST_DATA "/data/builder"

/* ---- SHA-256 (FIPS 180-4), of the lines ---- */

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha_block(uint32_t h[8], const unsigned char *p)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
        0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
        0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
        0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
        0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
        0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
    };
    uint32_t w[64], v[8];
    for (int i = 0; i < 64; i++) {
        w[i] = i < 16 ? (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3]
                      : w[i - 16] + w[i - 7] + (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
                            (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25), ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + ch + k[i] + w[i];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) {
        h[i] += v[i];
    }
}

static void sha256_hex(const void *bytes, size_t len, char hex[65])
{
    uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    unsigned char tail[128] = { 0 };
    size_t whole = len / 64 * 64, rest = len - whole, n = rest + 9 > 64 ? 128 : 64;
    for (size_t i = 0; i < whole; i += 64) {
        sha_block(h, (const unsigned char *)bytes + i);
    }
    if (rest > 0) {
        memcpy(tail, (const unsigned char *)bytes + whole, rest);
    }
    tail[rest] = 0x80;
    for (int i = 0; i < 8; i++) {
        tail[n - 1 - (size_t)i] = (unsigned char)((uint64_t)len * 8 >> (8 * i));
    }
    for (size_t i = 0; i < n; i += 64) {
        sha_block(h, tail + i);
    }
    for (int i = 0; i < 8; i++) {
        snprintf(hex + 8 * i, 9, "%08x", h[i]);
    }
}

/* ---- a case ---- */

enum { SPLITS_MAX = 4, FILES_MAX = 8 };

struct loaded {
    struct arena arena;
    struct json_value options;
    struct builder_files splits[SPLITS_MAX];
    size_t n_splits;
    struct features *given;
    struct builder_request request;
    struct builder *b;
    struct case_rows rows[SPLITS_MAX];
    const char *root;
};

static const char *path_of(struct loaded *l, const char *dir, const struct json_value *file)
{
    char *path = arena_alloc(&l->arena, 1024);
    snprintf(path, 1024, "%s/%s/%s", l->root, dir, file->text);
    return path;
}

static void add_split(struct loaded *l, const char *dir, const char *split, const struct json_value *files)
{
    const char **paths = arena_array(&l->arena, FILES_MAX, sizeof *paths);
    struct builder_files *s = &l->splits[l->n_splits++];
    *s = (struct builder_files){ split, paths, 0 };
    if (files->type == JSON_STRING) {
        paths[s->n++] = path_of(l, dir, files);
    }
    for (size_t i = 0; files->type == JSON_ARRAY && i < files->n; i++) {
        paths[s->n++] = path_of(l, dir, &files->items[i]);
    }
}

static void read_call(struct loaded *l, const struct json_value *c)
{
    static const char *const others[] = { "path", "data_files", "features", "name", "split", NULL };
    const struct json_value *call = json_get(c, "call"), *files = json_get(call, "data_files");
    const char *dir = json_get(c, "dir")->text;
    struct json_member *members = arena_array(&l->arena, call->n + 1, sizeof *members);
    l->options = (struct json_value){ .type = JSON_OBJECT, .members = members };
    for (size_t i = 0; i < call->n; i++) {
        bool is_other = false;
        for (size_t k = 0; others[k] != NULL; k++) {
            is_other = is_other || strcmp(others[k], call->members[i].key) == 0;
        }
        if (!is_other) {
            members[l->options.n++] = call->members[i];
        }
    }
    if (files->type == JSON_OBJECT) {
        for (size_t i = 0; i < files->n; i++) {
            add_split(l, dir, files->members[i].key, &files->members[i].value);
        }
    } else {
        add_split(l, dir, "train", files);
    }
    const struct json_value *features = json_get(call, "features");
    grebe_error err;
    if (features != NULL) {
        assert_ok(features_from_tree(mem_system(), features, &l->given, &err));
    }
    l->request = (struct builder_request){ .options = &l->options, .features = l->given, .splits = l->splits,
                                           .n_splits = l->n_splits, .base = l->root };
}

static grebe_status load(struct loaded *l, grebe_context *ctx, const char *root, const struct json_value *c,
                         grebe_error *err)
{
    memset(l, 0, sizeof *l);
    l->root = root;
    l->arena = ARENA_INIT(mem_system());
    for (size_t i = 0; i < SPLITS_MAX; i++) {
        l->rows[i] = CASE_ROWS_INIT;
    }
    read_call(l, c);
    const struct builder_kind *kind = builder_find(json_get(json_get(c, "call"), "path")->text);
    assert_non_null(kind);
    grebe_status st = builder_open(ctx, kind, &l->request, &l->b, err);
    st = st == GREBE_OK ? builder_infer(l->b, err) : st;
    for (size_t s = 0; s < l->n_splits && st == GREBE_OK; s++) {
        for (size_t f = 0; f < l->splits[s].n && st == GREBE_OK; f++) {
            struct shard_reader reader = { 0 };
            st = l->b->ops->read(l->b, s, f, -1, (struct shard_place){ 0 }, &reader, err);
            st = st == GREBE_OK ? rows_of_reader(&reader, 0, &l->rows[s], err) : st;
        }
    }
    return st;
}

static void unload(struct loaded *l)
{
    builder_free(l->b);
    features_free(l->given);
    for (size_t i = 0; i < SPLITS_MAX; i++) {
        rows_release(&l->rows[i]);
    }
    arena_release(&l->arena);
}

static char *features_text(const struct features *f)
{
    struct buf text = BUF_INIT(mem_system());
    grebe_error err;
    assert_ok(features_to_json(f, -1, 0, &text, &err));
    char *copy = strdup(buf_text(&text));
    buf_release(&text);
    return copy;
}

/* Both as this library writes them; csv's large strings are strings here. */
static bool features_agree(const struct features *f, const struct json_value *expected, bool is_csv)
{
    struct features *e = NULL;
    grebe_error err;
    assert_ok(features_from_tree(mem_system(), expected, &e, &err));
    char *x = features_text(f), *y = features_text(e), *found = NULL;
    while (is_csv && (found = strstr(y, "large_string")) != NULL) {
        memmove(found, found + 6, strlen(found + 6) + 1);
    }
    while (is_csv && (found = strstr(x, "large_string")) != NULL) {
        memmove(found, found + 6, strlen(found + 6) + 1);
    }
    bool is_same = strcmp(x, y) == 0;
    if (!is_same) {
        print_message("  features: expected %s\n  found              %s\n", y, x);
    }
    free(x);
    free(y);
    features_free(e);
    return is_same;
}

static bool splits_agree(struct loaded *l, const struct json_value *c)
{
    const struct json_value *splits = json_get(c, "splits");
    bool is_csv = strcmp(json_get(json_get(c, "call"), "path")->text, "csv") == 0, is_same = true;
    for (size_t s = 0; s < splits->n; s++) {
        const struct json_value *e = &splits->members[s].value;
        int64_t n = 0;
        char hex[65];
        assert_true(json_i64(json_get(e, "num_rows"), &n));
        if (rows_n(&l->rows[s]) != (size_t)n) {
            print_message("  rows: expected %lld, found %zu\n", (long long)n, rows_n(&l->rows[s]));
            return false;
        }
        if (json_get(e, "features") != NULL) {
            is_same = features_agree(l->b->features, json_get(e, "features"), is_csv) && is_same;
        }
        sha256_hex(l->rows[s].text.data, l->rows[s].text.len, hex);
        if (json_get(e, "sha256") != NULL && strcmp(hex, json_get(e, "sha256")->text) != 0) {
            print_message("  other rows: %.600s\n", rows_from(&l->rows[s], 0));
            is_same = false;
        }
    }
    return is_same;
}

/* What `ours` says in words. */
static bool is_as_ours(struct loaded *l, const char *name, grebe_status st)
{
    static const struct {
        const char *name, *rows; /* NULL: an error */
    } known[] = {
        { "csv_index_longer_rows",
          "{\"a\": 2, \"b\": \"ocean\", \"__index_level_0__\": 1}\n{\"a\": 4, \"b\": \"cedar\", \"__index_level_0__\": 3}\n" },
        { "csv_chunk_conflict", NULL },
        { "csv_chunk_int_float", NULL },
        { "csv_two_files_conflict", NULL },
        { "csv_two_files_conflict_one_row", NULL },
        { "csv_two_files_reordered_one_row", "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2, \"b\": \"y\"}\n" },
        { "csv_two_files_missing_one_row", "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2, \"b\": null}\n" },
        { "csv_two_files_types_one_row", "{\"a\": 1}\n{\"a\": 2}\n{\"a\": 5}\n" },
        { "json_empty_objects", "" },
        { "csv_index_col_int", "{\"a\": 1, \"b\": \"x\", \"k\": 5}\n{\"a\": 2, \"b\": \"y\", \"k\": 6}\n" },
        { "json_text_forms", "{\"a\": \"{\\\"k\\\":1.50,\\\"u\\\":\\\"\xc3\xa9/\xc3\xa9\\\",\\\"e\\\":1e2,\\\"n\\\":[null,true,1],\\\"d\\\":{\\\"x\\\":-0.0,"
                             "\\\"big\\\":123456789012345678901}}\"}\n{\"a\": \"\\\"q\\\\\\\"\\\\n/\xe6\x9d\xb1\\\"\"}\n" },
        { "json_text_floats", "{\"a\": \"[1.0,2]\"}\n{\"a\": \"1e-7\"}\n{\"a\": \"1E+30\"}\n{\"a\": \"0.1\"}\n{\"a\": \"12345678.125\"}\n" },
        { "json_text_keys", "{\"a\": \"{\\\"xA\\\":1}\"}\n{\"a\": \"{\\\"\xc3\xa9\\\":{\\\"y\\\":[]}}\"}\n" },
        { "csv_nrows_zero", "" },
        { "csv_skipfooter", "{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n" },
        { "csv_chunk_null_then_text",
          "{\"a\": null, \"b\": 1}\n{\"a\": null, \"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n{\"a\": \"y\", \"b\": 4}\n" },
        { "csv_uint64_na", "{\"a\": \"18446744073709551615\"}\n{\"a\": null}\n" },
        { "parquet_null_then_int", "{\"x\": null}\n{\"x\": null}\n{\"x\": 3}\n" },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0) {
            return known[i].rows == NULL ? st != GREBE_OK
                                         : st == GREBE_OK && strcmp(rows_from(&l->rows[0], 0), known[i].rows) == 0;
        }
    }
    if (strcmp(name, "parquet_types") == 0) { /* a map comes as a list of structs here */
        return st == GREBE_OK && rows_n(&l->rows[0]) == 4;
    }
    if (strcmp(name, "json_null_then_int_block") == 0) {
        return st == GREBE_OK && rows_n(&l->rows[0]) == 13 &&
               strcmp(features_find(l->b->features, "a")->dtype, "int64") == 0;
    }
    fail_msg("%s: `ours` is not known", name);
    return false;
}

static bool run_case(grebe_context *ctx, const char *root, const struct json_value *c)
{
    struct loaded l;
    grebe_error err = { 0 };
    const char *name = json_get(c, "case")->text;
    const struct json_value *ours = json_get(c, "ours");
    grebe_status st = load(&l, ctx, root, c, &err);
    bool is_right = false;
    if (st == GREBE_EUNSUPPORTED && strstr(err.message, "is not built in") != NULL) {
        print_message("%s: left out: %s\n", name, err.message); /* a build without a codec */
        unload(&l);
        return true;
    }
    if (strcmp(name, "parquet_types") == 0 || (ours != NULL && (ours->type == JSON_STRING || json_get(ours, "rows") != NULL))) {
        is_right = is_as_ours(&l, name, st);
    } else if (ours != NULL) {
        is_right = st == GREBE_OK && splits_agree(&l, ours != NULL && json_get(ours, "splits") != NULL
                                                          ? &(struct json_value){ .type = JSON_OBJECT, .n = 2,
                                                                                  .members = (struct json_member[]){
                                                                                      { "splits", 6, *json_get(ours, "splits") },
                                                                                      { "call", 4, *json_get(c, "call") } } }
                                                          : c);
    } else if (json_get(c, "error") != NULL) {
        is_right = st != GREBE_OK;
    } else {
        is_right = st == GREBE_OK && splits_agree(&l, c);
    }
    if (!is_right) {
        print_message("%s: %s%s\n", name, st != GREBE_OK ? err.message : "other than expected",
                      st == GREBE_OK ? rows_from(&l.rows[0], 0) : "");
    }
    for (size_t s = 0; s < l.n_splits && is_right && st == GREBE_OK; s++) {
        for (size_t f = 0; f < l.splits[s].n; f++) {
            check_places(l.b, s, f);
        }
    }
    unload(&l);
    return is_right;
}

static void run_kind(void **state, const char *root, const char *kind, size_t expected)
{
    struct fixture *f = *state;
    f->ctx->registry = &case_registry;
    struct arena arena = ARENA_INIT(mem_system());
    const struct json_value *tree = NULL;
    grebe_error err;
    size_t len = 0, n = 0, n_wrong = 0;
    char path[512];
    snprintf(path, sizeof path, "%s/expected.json", root);
    unsigned char *text = test_read_file(path, &len);
    assert_ok(json_parse(&arena, (const char *)text, len, &tree, &err));
    const struct json_value *cases = json_get(tree, "cases");
    for (size_t i = 0; i < cases->n; i++) {
        const char *name = json_get(&cases->items[i], "case")->text;
        if (strncmp(name, kind, strlen(kind)) == 0) {
            n++;
            n_wrong += !run_case(f->ctx, root, &cases->items[i]);
        }
    }
    free(text);
    arena_release(&arena);
    print_message("%s: %zu cases, %zu wrong\n", kind, n, n_wrong);
    assert_int_equal(n, expected);
    assert_int_equal(n_wrong, 0);
}

static void golden_csv(void **state) { run_kind(state, LOAD, "csv_", 74); }
static void golden_json(void **state) { run_kind(state, LOAD, "json_", 51); }
static void golden_text(void **state) { run_kind(state, LOAD, "text_", 42); }
static void golden_parquet(void **state) { run_kind(state, LOAD, "parquet_", 14); }
static void golden_arrow(void **state) { run_kind(state, LOAD, "arrow_", 9); }

/* Made by tests/tools/make_builder_cases.py. */
static void more_csv(void **state) { run_kind(state, MORE, "csv_", 78); }
static void more_json(void **state) { run_kind(state, MORE, "json_", 44); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(golden_csv, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(golden_json, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(golden_text, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(golden_parquet, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(golden_arrow, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(more_csv, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(more_json, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests_name("builder golden", tests, NULL, NULL);
}
