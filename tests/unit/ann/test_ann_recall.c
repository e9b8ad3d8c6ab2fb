/* SPDX-License-Identifier: Apache-2.0 */
/* Result files of another program, and the recalls that it computed from them, rule by rule and query by query. */
#include "ann/ann_eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "test_support.h"

static const char *const results[] = { "angular_near", "nearest_ten_times", "short_rows", "some_wrong", "ties_other_order" };
static const char *const endings[] = { "hdf5", "npy", "ivecs" };

static double number_of(const struct json_value *v)
{
    double x = NAN;
    assert_true(json_double(v, &x));
    return x;
}

static struct ann_dataset *open_truth(grebe_context *ctx, const char *name)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct ann_open_options options = { 0 };
    const struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    struct ann_dataset *d = NULL;
    char path[600];
    snprintf(path, sizeof path, TEST_DATA "/data/ann/%s", name);
    assert_ok(ann_dataset_open(ctx, path, &options, &call, &d, &err));
    return d;
}

static void check_rule(struct ann_report *r, const struct ann_dataset *d, const struct ann_result *result, const char *what,
                       uint64_t k, const char *rule, const struct json_value *want)
{
    static const char *const details[] = { "p0", "p10", "p30", "p50", "p70", "p90" };
    grebe_error err = GREBE_ERROR_INIT;
    const struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    double per_query[64];
    struct ann_eval_options o = { k, ANN_RULE_TIES, &call, per_query };
    struct ann_case *c = NULL;
    struct ann_found found = ann_result_found(result);
    const struct json_value *list = json_get(want, "per_query");
    assert_ok(ann_rule_parse(rule, &o.rule, &err));
    assert_ok(ann_report_add(r, &c, &err));
    assert_ok(ann_eval_recall(r, c, d, &found, &o, &err));
    assert_int_equal(list->n, result->n);
    for (size_t q = 0; q < list->n; q++) {
        if (fabs(per_query[q] - number_of(&list->items[q])) > 1e-12) {
            fail_msg("%s, k %d, %s, query %zu: expected %g, found %g", what, (int)k, rule, q, number_of(&list->items[q]),
                     per_query[q]);
        }
    }
    assert_true(fabs(c->number[ANN_RECALL_AVG] - number_of(json_get(want, "mean"))) < 1e-12);
    assert_true(fabs(c->number[ANN_RECALL_STD] - number_of(json_get(want, "std"))) < 1e-12);
    assert_true(c->number[ANN_RECALL_BY_RULE + o.rule] == c->number[ANN_RECALL_AVG]);
    for (size_t i = 0; i < 6; i++) {
        double expected = number_of(json_get(json_get(want, "percentiles"), details[i]));
        assert_true(fabs(c->number[ANN_R0 + (int)i] - expected) < 1e-12);
    }
}

static size_t check_result(grebe_context *ctx, const struct json_value *files, const char *name, const char *ending)
{
    static const char *const ks[] = { "1", "5", "10" };
    grebe_error err = GREBE_ERROR_INIT;
    const struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    struct ann_report r;
    struct ann_result result;
    char path[600], key[64];
    size_t n = 0;
    snprintf(key, sizeof key, "result/%s.hdf5", name);
    const struct json_value *entry = json_get(files, key);
    assert_non_null(entry);
    struct ann_dataset *d = open_truth(ctx, json_get(entry, "truth")->text);
    snprintf(path, sizeof path, TEST_DATA "/data/ann/result/%s.%s", name, ending);
    assert_ok(ann_result_read(ctx, path, &call, &result, &err));
    assert_true((strcmp(ending, "hdf5") == 0) == (result.times != NULL && result.distances != NULL));
    ann_report_init(&r, ctx);
    for (size_t i = 0; i < 3; i++) {
        const struct json_value *rules = json_get(json_get(entry, "k_values"), ks[i]);
        assert_true(rules != NULL && rules->n >= 6);
        for (size_t j = 0; j < rules->n; j++) {
            check_rule(&r, d, &result, path, strtoull(ks[i], NULL, 10), rules->members[j].key, &rules->members[j].value);
            n++;
        }
    }
    ann_report_release(&r);
    ann_result_release(&result);
    ann_dataset_free(d);
    return n;
}

static void test_recall__result_files__other_programs_numbers(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    size_t len = 0, n = 0;
    const struct json_value *v = NULL;
    (void)state;
    assert_ok(context_new(NULL, &ctx, &err));
    struct arena ar = ARENA_INIT(ctx->a);
    unsigned char *text = test_read_file(TEST_DATA "/data/ann/expected.json", &len);
    assert_ok(json_parse(&ar, (const char *)text, len, &v, &err));
    free(text);
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        for (size_t j = 0; j < sizeof endings / sizeof endings[0]; j++) {
            n += check_result(ctx, json_get(v, "files"), results[i], endings[j]);
        }
    }
    assert_true(n >= 5 * 3 * 3 * 6);
    arena_release(&ar);
    context_free(ctx);
}

/* Ten copies of the nearest: rules disagree as their docstrings say. */
static void test_recall__copies_of_the_nearest__rules_disagree(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    double v[64];
    (void)state;
    assert_ok(context_new(NULL, &ctx, &err));
    struct ann_dataset *d = open_truth(ctx, "good/dense_l2_f32.hdf5");
    int64_t ids[10];
    for (size_t i = 0; i < 10; i++) {
        ids[i] = d->neighbors[0];
    }
    struct ann_found found = { 1, 10, ids, NULL };
    assert_ok(ann_recall(d, ANN_RULE_VSAG, 10, &found, NULL, v, &err));
    assert_true(v[0] == 1.0);
    assert_ok(ann_recall(d, ANN_RULE_ID, 10, &found, NULL, v, &err));
    assert_true(v[0] == 0.1);
    assert_ok(ann_recall(d, ANN_RULE_TIES, 10, &found, NULL, v, &err));
    assert_true(v[0] == 0.1);
    for (int rule = 0; rule < ANN_N_RULES; rule++) { /* one right id came back, ten were asked for */
        found.width = 1;
        assert_ok(ann_recall(d, (enum ann_rule)rule, 10, &found, NULL, v, &err));
        assert_true(v[0] == 0.1);
    }
    assert_fails(ann_recall(d, ANN_RULE_ID, 21, &found, NULL, v, &err), GREBE_EINVAL, "1 to 20");
    assert_fails(ann_recall(d, ANN_RULE_ID, 0, &found, NULL, v, &err), GREBE_EINVAL, "found 0");
    ann_dataset_free(d);
    context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recall__result_files__other_programs_numbers),
        cmocka_unit_test(test_recall__copies_of_the_nearest__rules_disagree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
