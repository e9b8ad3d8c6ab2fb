/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of rows against the stored orders (tests/data/hfdatasets/order/map_style.json). */
#include "dataset_case.h"
#include "test_sha256.h"

struct run {
    grebe_context *ctx;
    const struct json_value *c;
    const struct json_value *sort_table;
};

static const char *text_of(const struct json_value *c, const char *key)
{
    const struct json_value *v = json_get(c, key);
    return v != NULL && v->type == JSON_STRING ? v->text : NULL;
}

static int64_t int_of(const struct json_value *c, const char *key, int64_t otherwise)
{
    int64_t v = otherwise;
    const struct json_value *j = json_get(c, key);
    return j != NULL && json_i64(j, &v) ? v : otherwise;
}

/* The order that ours must give; NULL: refused. */
static const struct json_value *expected_of(const struct json_value *c)
{
    const struct json_value *ours = json_get(c, "ours");
    const struct json_value *from = ours != NULL ? ours : c;
    return json_get(from, "error") != NULL ? NULL : from;
}

static void check(const struct run *r, const struct json_value *expected, grebe_status st, const grebe_dataset *ds)
{
    char hex[65];
    grebe_dataset_info info;
    if (expected == NULL) {
        if (st == GREBE_OK) {
            fail_msg("op %s n %lld was to be refused", text_of(r->c, "op"), (long long)int_of(r->c, "n", -1));
        }
        return;
    }
    if (st != GREBE_OK) {
        fail_msg("case of op %s n %lld failed", text_of(r->c, "op"), (long long)int_of(r->c, "n", -1));
    }
    grebe_dataset_get_info(ds, &info);
    int64_t *ids = ids_of(ds, "id");
    const struct json_value *order = json_get(expected, "order");
    if (order == NULL) {
        for (int64_t i = 0; text_of(r->c, "id_rule") != NULL && i < info.n_rows; i++) {
            ids[i] = ids[i] % 100 + (ids[i] < 700 ? 0 : 1000);
        }
        test_sha256(ids, (size_t)info.n_rows * 8, hex);
        assert_string_equal(hex, text_of(expected, "sha256_i64le"));
        free(ids);
        return;
    }
    assert_int_equal(info.n_rows, order->n);
    for (size_t i = 0; i < order->n; i++) {
        int64_t want = 0;
        assert_true(json_i64(&order->items[i], &want));
        if (want != ids[i]) {
            fail_msg("op %s n %lld row %zu: %lld, expected %lld", text_of(r->c, "op"), (long long)int_of(r->c, "n", -1),
                     i, (long long)ids[i], (long long)want);
        }
    }
    free(ids);
}

static grebe_seed seed_of(uint32_t words[2], int64_t seed)
{
    words[0] = (uint32_t)seed;
    words[1] = (uint32_t)((uint64_t)seed >> 32);
    return (grebe_seed){ words, words[1] != 0 ? 2 : 1 };
}

/* A seed of any size, as it is written. */
static grebe_seed seed_of_json(uint32_t words[8], const struct json_value *v)
{
    size_t n = 1;
    memset(words, 0, 8 * sizeof *words);
    for (size_t i = 0; i < v->n; i++) {
        uint64_t carry = (uint64_t)(v->text[i] - '0');
        for (size_t k = 0; k < 8; k++) {
            carry += (uint64_t)words[k] * 10;
            words[k] = (uint32_t)carry;
            carry >>= 32;
            n = words[k] != 0 && k >= n ? k + 1 : n;
        }
    }
    return (grebe_seed){ words, n };
}

static grebe_dataset *shuffled(const grebe_dataset *ds, int64_t seed)
{
    grebe_error err;
    uint32_t words[2];
    grebe_dataset *out = NULL;
    assert_ok(grebe_dataset_shuffle(ds, seed_of(words, seed), NULL, &out, &err));
    return out;
}

/* n rows, shuffled where the case says so. */
static grebe_dataset *source(const struct run *r)
{
    int64_t seed = int_of(r->c, "after_shuffle_seed", -1);
    grebe_dataset *ds = made_set(r->ctx, int_of(r->c, "n", 0), 7);
    if (seed >= 0) {
        grebe_dataset *all = ds;
        ds = shuffled(all, seed);
        grebe_dataset_free(all);
    }
    return ds;
}

static int64_t *ints_of(const struct json_value *v)
{
    int64_t *out = malloc((v->n + 1) * sizeof *out);
    for (size_t i = 0; i < v->n; i++) {
        assert_true(json_i64(&v->items[i], &out[i]));
    }
    return out;
}

static bool is_keep_third(const struct json_value *step)
{
    return strcmp(step->items[0].text, "filter") == 0;
}

static void run_chain(const struct run *r)
{
    grebe_error err;
    const struct json_value *steps = json_get(r->c, "steps");
    grebe_dataset *ds = source(r);
    for (size_t i = 0; i < steps->n; i++) {
        const struct json_value *step = &steps->items[i], *args = &step->items[1];
        grebe_dataset *next = NULL;
        if (strcmp(step->items[0].text, "shuffle") == 0) {
            next = shuffled(ds, int_of(args, "seed", 0));
        } else if (strcmp(step->items[0].text, "select") == 0) {
            int64_t *rows = ints_of(json_get(args, "indices"));
            assert_ok(grebe_dataset_select(ds, rows, json_get(args, "indices")->n, NULL, &next, &err));
            free(rows);
        } else if (strcmp(step->items[0].text, "shard") == 0) {
            assert_ok(grebe_dataset_shard(ds, int_of(args, "num_shards", 1), int_of(args, "index", 0), true, NULL,
                                          &next, &err));
        } else {
            assert_true(is_keep_third(step));
            assert_ok(grebe_dataset_filter(ds, "id % 3 = 0", NULL, &next, &err));
        }
        grebe_dataset_free(ds);
        ds = next;
    }
    check(r, expected_of(r->c), GREBE_OK, ds);
    grebe_dataset_free(ds);
}

static void set_size(const struct json_value *args, const char *key, double *fraction, int64_t *rows)
{
    const struct json_value *v = json_get(args, key);
    if (v != NULL && v->type == JSON_NUMBER && strpbrk(v->text, ".eE") != NULL) {
        json_double(v, fraction);
    } else if (v != NULL && v->type == JSON_NUMBER) {
        json_i64(v, rows);
    }
}

static void run_split(const struct run *r)
{
    grebe_error err;
    const struct json_value *args = json_get(r->c, "args"), *labels = json_get(r->c, "labels"),
                            *shuffle = json_get(args, "shuffle");
    grebe_split_options o = GREBE_SPLIT_OPTIONS_INIT;
    uint32_t words[2];
    const struct json_value *size = json_get(args, "test_size");
    if (size != NULL && (size->type != JSON_NUMBER || size->text[0] == '-')) {
        return; /* below zero means "not given" in C */
    }
    grebe_dataset *ds = source(r), *train = NULL, *test = NULL;
    set_size(args, "test_size", &o.test_fraction, &o.test_rows);
    set_size(args, "train_size", &o.train_fraction, &o.train_rows);
    o.is_in_order = shuffle != NULL && !shuffle->boolean;
    o.stratify_by = text_of(args, "stratify_by_column");
    o.seed = seed_of(words, int_of(args, "seed", 0));
    if (labels != NULL) {
        struct ArrowSchema schema;
        struct ArrowArray column, batch;
        struct ArrowArrayStream stream;
        grebe_dataset *more = NULL;
        int64_t most = 0;
        for (size_t i = 0; i < labels->n; i++) {
            int64_t v = 0;
            json_i64(&labels->items[i], &v);
            most = v > most ? v : most;
        }
        made_column(labels->items, labels->n, NULL, &schema, &column);
        const struct ArrowSchema *field = &schema;
        struct ArrowSchema rows;
        assert_ok(schema_struct(mem_system(), &field, 1, &rows, &err));
        assert_ok(array_struct(mem_system(), (int64_t)labels->n, &column, 1, &batch, &err));
        assert_ok(stream_from_batches(mem_system(), &rows, &batch, 1, &stream, &err));
        char feature[256] = "{\"names\": [";
        for (int64_t i = 0; i <= most; i++) {
            snprintf(feature + strlen(feature), 32, "%s\"c%lld\"", i > 0 ? ", " : "", (long long)i);
        }
        strcat(feature, "], \"_type\": \"ClassLabel\"}");
        assert_ok(grebe_dataset_add_column(ds, "y", &stream, feature, NULL, &more, &err));
        schema_release(&schema);
        schema_release(&rows);
        grebe_dataset_free(ds);
        ds = more;
    }
    grebe_status st = grebe_dataset_train_test_split(ds, &o, NULL, &train, &test, &err);
    const struct json_value *expected = expected_of(r->c);
    check(r, expected != NULL ? json_get(expected, "train") : NULL, st, train);
    check(r, expected != NULL ? json_get(expected, "test") : NULL, st, test);
    grebe_dataset_free(ds);
    grebe_dataset_free(train);
    grebe_dataset_free(test);
}

static void run_getitem(const struct run *r)
{
    grebe_error err;
    const struct json_value *key = json_get(r->c, "key");
    int64_t one = 0;
    if (key->type == JSON_ARRAY && key->n > 0 && key->items[0].type == JSON_STRING) {
        return; /* slices are cut by the callers */
    }
    grebe_dataset *ds = source(r);
    struct ArrowArray rows;
    size_t n = key->type == JSON_ARRAY ? key->n : 1;
    int64_t *positions = key->type == JSON_ARRAY ? ints_of(key) : &one;
    if (key->type != JSON_ARRAY) {
        assert_true(json_i64(key, &one));
    }
    grebe_status st = grebe_dataset_take(ds, positions, n, NULL, 0, &rows, &err);
    const struct json_value *expected = expected_of(r->c);
    if (expected == NULL) {
        assert_int_equal(st, GREBE_EINVAL);
    } else {
        const struct json_value *order = json_get(expected, "order");
        assert_int_equal(st, GREBE_OK);
        assert_int_equal(rows.length, order->n);
        assert_int_equal(rows.n_children, 3);
        for (size_t i = 0; i < order->n; i++) {
            int64_t want = 0;
            json_i64(&order->items[i], &want);
            assert_int_equal(((const int64_t *)rows.children[0]->buffers[1])[rows.children[0]->offset + (int64_t)i],
                             want);
        }
        array_release(&rows);
    }
    if (positions != &one) {
        free(positions);
    }
    grebe_dataset_free(ds);
}

/* Sources with ids 100 k + i (with a rule: one after another). */
static void run_interleave(const struct run *r)
{
    grebe_error err;
    const struct json_value *lens = json_get(r->c, "lens"), *p = json_get(r->c, "probabilities");
    grebe_dataset *sets[8], *out = NULL;
    double probabilities[8];
    uint32_t words[2];
    bool has_rule = text_of(r->c, "id_rule") != NULL;
    int64_t before = 0;
    for (size_t k = 0; k < lens->n; k++) {
        int64_t n = 0, base = (int64_t)k * 100;
        json_i64(&lens->items[k], &n);
        grebe_dataset *all = made_set(r->ctx, (has_rule ? before : base) + n, 64);
        assert_ok(
            grebe_dataset_slice(all, has_rule ? before : base, (has_rule ? before : base) + n, NULL, &sets[k], &err));
        grebe_dataset_free(all);
        before += n;
    }
    bool has_p = p != NULL && p->type == JSON_ARRAY;
    for (size_t k = 0; has_p && k < p->n; k++) {
        json_double(&p->items[k], &probabilities[k]);
    }
    const char *stop = text_of(r->c, "stopping_strategy");
    grebe_stop rule = strcmp(stop, "first_exhausted") == 0 ? GREBE_STOP_FIRST_EXHAUSTED
                      : strcmp(stop, "all_exhausted") == 0 ? GREBE_STOP_ALL_EXHAUSTED
                                                           : GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT;
    if (!has_p || p->n == lens->n) { /* the number of probabilities is the caller's to count */
        grebe_status st =
            grebe_dataset_interleave((const grebe_dataset *const *)sets, lens->n, has_p ? probabilities : NULL,
                                     seed_of(words, int_of(r->c, "seed", 0)), rule, &out, &err);
        check(r, expected_of(r->c), st, out);
        grebe_dataset_free(out);
    }
    for (size_t k = 0; k < lens->n; k++) {
        grebe_dataset_free(sets[k]);
    }
}

static void run_concatenate(const struct run *r)
{
    grebe_error err;
    const struct json_value *lens = json_get(r->c, "lens");
    grebe_dataset *sets[8], *out = NULL;
    size_t n = lens != NULL ? lens->n : 3;
    for (size_t k = 0; k < n; k++) {
        static const int64_t own[] = { 6, 5, 8 }, chosen[] = { 7, 0, 3 };
        int64_t len = own[k], base = (int64_t)k * 100;
        if (lens != NULL) {
            json_i64(&lens->items[k], &len);
        }
        grebe_dataset *all = made_set(r->ctx, base + len, 64);
        assert_ok(grebe_dataset_slice(all, base, base + len, NULL, &sets[k], &err));
        grebe_dataset_free(all);
        if (lens == NULL && k != 1) {
            grebe_dataset *plain = sets[k];
            if (k == 0) {
                sets[k] = shuffled(plain, 1);
            } else {
                assert_ok(grebe_dataset_select(plain, chosen, 3, NULL, &sets[k], &err));
            }
            grebe_dataset_free(plain);
        }
    }
    assert_ok(grebe_dataset_concatenate((const grebe_dataset *const *)sets, n, 0, &out, &err));
    check(r, expected_of(r->c), GREBE_OK, out);
    grebe_dataset_free(out);
    for (size_t k = 0; k < n; k++) {
        grebe_dataset_free(sets[k]);
    }
}

static void run_sort(const struct run *r)
{
    grebe_error err;
    const struct json_value *by = json_get(r->c, "by"), *reverse = json_get(r->c, "reverse");
    grebe_sort_key keys[4];
    size_t n = by->type == JSON_ARRAY ? by->n : 1;
    int64_t seed = int_of(r->c, "after_shuffle_seed", -1);
    if (reverse->type == JSON_ARRAY && reverse->n != n) {
        return; /* no such call in C */
    }
    for (size_t i = 0; i < n; i++) {
        keys[i].column = by->type == JSON_ARRAY ? by->items[i].text : by->text;
        keys[i].is_descending = reverse->type == JSON_ARRAY ? reverse->items[i].boolean : reverse->boolean;
    }
    grebe_dataset *ds = set_of_json(r->ctx, r->sort_table), *out = NULL;
    if (seed >= 0) {
        grebe_dataset *plain = ds;
        ds = shuffled(plain, seed);
        grebe_dataset_free(plain);
    }
    grebe_status st =
        grebe_dataset_sort(ds, keys, n, strcmp(text_of(r->c, "null_placement"), "at_start") == 0, NULL, &out, &err);
    check(r, expected_of(r->c), st, out);
    grebe_dataset_free(out);
    grebe_dataset_free(ds);
}

static void assert_values(const struct ArrowSchema *schema, const struct ArrowArray *array,
                          const struct json_value *expected)
{
    grebe_error err;
    assert_int_equal(array->length, expected->n);
    for (size_t i = 0; i < expected->n; i++) {
        struct buf text = BUF_INIT(mem_system()), want = BUF_INIT(mem_system());
        const struct json_value *v = &expected->items[i];
        put_value(&text, schema, array, (int64_t)i);
        if (v->type == JSON_STRING) {
            assert_ok(put_string(&want, v->text, v->n));
        } else {
            assert_ok(buf_put_text(&want, v->type == JSON_NULL ? "null" : v->text, &err));
        }
        assert_string_equal(buf_text(&text), buf_text(&want));
        buf_release(&text);
        buf_release(&want);
    }
}

static void run_unique(const struct run *r)
{
    grebe_error err;
    struct ArrowArray values;
    struct ArrowSchema schema;
    grebe_dataset *ds = set_of_json(r->ctx, r->sort_table);
    if (text_of(r->c, "after") != NULL) {
        grebe_dataset *all = ds;
        assert_ok(grebe_dataset_shard(all, 3, 0, false, NULL, &ds, &err));
        grebe_dataset_free(all);
    }
    assert_ok(grebe_dataset_unique(ds, text_of(r->c, "column"), &values, &schema, &err));
    assert_values(&schema, &values, json_get(r->c, "values"));
    array_release(&values);
    schema_release(&schema);
    grebe_dataset_free(ds);
}

static void run_class_encode(const struct run *r)
{
    grebe_error err;
    struct ArrowArray rows;
    const struct json_value *names = json_get(r->c, "names");
    grebe_dataset *ds = set_of_json(r->ctx, json_get(r->c, "values_in")), *out = NULL;
    assert_ok(grebe_dataset_class_encode_column(ds, "v", json_get(r->c, "include_nulls")->boolean, NULL, &out, &err));
    const struct feature *f = features_find(out->features, "v");
    assert_int_equal(f->n_names, names->n);
    for (size_t i = 0; i < names->n; i++) {
        assert_string_equal(f->names[i], names->items[i].text);
    }
    assert_ok(grebe_dataset_read(out, 0, out->n_rows, NULL, 0, &rows, &err));
    assert_values(out->schema.children[0], rows.children[0], json_get(r->c, "values"));
    array_release(&rows);
    grebe_dataset_free(out);
    grebe_dataset_free(ds);
}

static void run_batch(const struct run *r)
{
    grebe_error err;
    struct ArrowArray rows;
    const struct json_value *args = json_get(r->c, "args"), *batches = json_get(r->c, "batches");
    const struct json_value *drop = json_get(args, "drop_last_batch"), *g = json_get(r->c, "g");
    grebe_dataset *groups = set_of_json(r->ctx, g), *ids = made_set(r->ctx, (int64_t)g->n, 4), *ds = NULL, *out = NULL;
    const grebe_dataset *both[2] = { ids, groups };
    assert_ok(grebe_dataset_concatenate(both, 2, 1, &ds, &err));
    assert_ok(grebe_dataset_batch(ds, int_of(args, "batch_size", 0), text_of(args, "by_column") != NULL ? "v" : NULL,
                                  drop != NULL && drop->boolean, NULL, &out, &err));
    assert_int_equal(out->n_rows, batches->n);
    assert_ok(grebe_dataset_read(out, 0, out->n_rows, NULL, 0, &rows, &err));
    const int32_t *offsets = rows.children[0]->buffers[1];
    const int64_t *id = rows.children[0]->children[0]->buffers[1];
    for (size_t i = 0; i < batches->n; i++) {
        const struct json_value *want = &batches->items[i];
        assert_int_equal(offsets[i + 1] - offsets[i], want->n);
        for (size_t k = 0; k < want->n; k++) {
            int64_t v = 0;
            json_i64(&want->items[k], &v);
            assert_int_equal(id[rows.children[0]->children[0]->offset + offsets[i] + (int32_t)k], v);
        }
    }
    array_release(&rows);
    grebe_dataset_free(out);
    grebe_dataset_free(ds);
    grebe_dataset_free(ids);
    grebe_dataset_free(groups);
}

static void run_simple(const struct run *r, const char *op)
{
    grebe_error err;
    grebe_dataset *ds = source(r), *out = NULL;
    grebe_status st = GREBE_OK;
    int64_t k = int_of(r->c, "k", 0);
    if (strcmp(op, "shuffle") == 0) {
        const struct json_value *seed = json_get(r->c, "seed");
        uint32_t words[8];
        for (size_t i = 0; seed->type == JSON_ARRAY && i < seed->n; i++) {
            words[i] = (uint32_t)atoi(seed->items[i].text);
        }
        if (seed->type == JSON_ARRAY || seed->text[0] != '-') { /* a negative one cannot be said in C */
            grebe_seed own = seed->type == JSON_ARRAY ? (grebe_seed){ words, seed->n } : seed_of_json(words, seed);
            assert_ok(grebe_dataset_shuffle(ds, own, NULL, &out, &err));
            check(r, expected_of(r->c), GREBE_OK, out);
        }
        grebe_dataset_free(out);
        grebe_dataset_free(ds);
        return;
    }
    if (strcmp(op, "shard") == 0) {
        st = grebe_dataset_shard(ds, int_of(r->c, "num_shards", 1), int_of(r->c, "index", 0),
                                 json_get(r->c, "contiguous")->boolean, NULL, &out, &err);
    } else if (strcmp(op, "take") == 0) {
        st = grebe_dataset_slice(ds, 0, k, NULL, &out, &err);
    } else if (strcmp(op, "skip") == 0) {
        st = grebe_dataset_slice(ds, k, INT64_MAX, NULL, &out, &err);
    } else if (strcmp(op, "repeat") == 0) {
        st = grebe_dataset_repeat(ds, k, NULL, &out, &err);
    } else {
        int64_t *rows = ints_of(json_get(r->c, "indices"));
        st = grebe_dataset_select(ds, rows, json_get(r->c, "indices")->n, NULL, &out, &err);
        free(rows);
    }
    check(r, expected_of(r->c), st, out);
    grebe_dataset_free(out);
    grebe_dataset_free(ds);
}

static void gives_the_stored_orders(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    size_t len = 0;
    struct arena ar = ARENA_INIT(mem_system());
    const struct json_value *v = NULL;
    unsigned char *text = test_read_file(CASES "order/map_style.json", &len);
    assert_ok(json_parse(&ar, (const char *)text, len, &v, &err));
    free(text);
    const struct json_value *cases = json_get(v, "cases");
    int n = 0;
    for (size_t i = 0; i < cases->n; i++) {
        struct run r = { f->ctx, &cases->items[i], json_get(v, "sort_table") };
        const char *op = text_of(r.c, "op");
        if (strcmp(op, "interleave_stream") == 0 || strcmp(op, "batch_stream") == 0) {
            continue;
        }
        if (strcmp(op, "chain") == 0) {
            run_chain(&r);
        } else if (strcmp(op, "train_test_split") == 0) {
            run_split(&r);
        } else if (strcmp(op, "getitem") == 0) {
            run_getitem(&r);
        } else if (strcmp(op, "interleave") == 0) {
            run_interleave(&r);
        } else if (strcmp(op, "concatenate") == 0) {
            run_concatenate(&r);
        } else if (strcmp(op, "sort") == 0) {
            run_sort(&r);
        } else if (strcmp(op, "unique") == 0) {
            run_unique(&r);
        } else if (strcmp(op, "class_encode_column") == 0) {
            run_class_encode(&r);
        } else if (strcmp(op, "batch") == 0) {
            run_batch(&r);
        } else {
            run_simple(&r, op);
        }
        n++;
    }
    print_message("%d cases\n", n);
    assert_true(n > 400);
    arena_release(&ar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gives_the_stored_orders, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
