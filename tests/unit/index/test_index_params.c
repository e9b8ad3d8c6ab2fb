/* SPDX-License-Identifier: Apache-2.0 */
#include "test_support.h"

#include "index/index_params.h"

struct target {
    uint32_t ef, quant;
    double alpha;
};

static const char *const quants[] = { "none", "sq8", "sq4", NULL };
static const struct index_param table[] = {
    { "ef", INDEX_PARAM_UINT, offsetof(struct target, ef), 1, 4096, 64, NULL, "width" },
    { "quant", INDEX_PARAM_CHOICE, offsetof(struct target, quant), 0, 2, 1, quants, "codes" },
    { "alpha", INDEX_PARAM_REAL, offsetof(struct target, alpha), 1, 2, 1.2, NULL, "pruning" },
};

static grebe_status fill(struct target *t, const char *a, const char *b, grebe_error *err)
{
    const char *params[2] = { a, b };
    return index_params_fill(table, 3, params, (size_t)(a != NULL) + (size_t)(b != NULL), t, err);
}

static void test_index_params__none__defaults(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct target t = { 9, 9, 9 };
    assert_ok(fill(&t, NULL, NULL, &err));
    assert_int_equal(t.ef, 64);
    assert_int_equal(t.quant, 1);
    assert_true(t.alpha == 1.2);
}

static void test_index_params__given__taken(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct target t;
    assert_ok(fill(&t, "ef=4096", "alpha=1.5", &err));
    assert_int_equal(t.ef, 4096);
    assert_true(t.alpha == 1.5);
    assert_ok(fill(&t, "quant=sq4", "quant=none", &err)); /* the last one counts */
    assert_int_equal(t.quant, 0);
}

static void test_index_params__wrong__message_tells(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct target t;
    assert_fails(fill(&t, "alhpa=1", NULL, &err), GREBE_EINVAL, "\"alhpa\": the nearest is \"alpha\"");
    assert_fails(fill(&t, "ef", NULL, &err), GREBE_EINVAL, "name=value, found \"ef\"");
    assert_fails(fill(&t, "ef=0", NULL, &err), GREBE_EINVAL, "from 1 to 4096, found \"0\"");
    assert_fails(fill(&t, "ef=4097", NULL, &err), GREBE_EINVAL, "found \"4097\"");
    assert_fails(fill(&t, "ef=", NULL, &err), GREBE_EINVAL, "whole number");
    assert_fails(fill(&t, "ef=1x", NULL, &err), GREBE_EINVAL, "whole number");
    assert_fails(fill(&t, "ef=-1", NULL, &err), GREBE_EINVAL, "whole number");
    assert_fails(fill(&t, "ef=4294967297", NULL, &err), GREBE_EINVAL, "found \"4294967297\"");
    assert_fails(fill(&t, "ef=1.5", NULL, &err), GREBE_EINVAL, "whole number");
    assert_fails(fill(&t, "alpha=nan", NULL, &err), GREBE_EINVAL, "1.0 to 2.0");
    assert_fails(fill(&t, "alpha=inf", NULL, &err), GREBE_EINVAL, "1.0 to 2.0");
    assert_fails(fill(&t, "quant=sq9", NULL, &err), GREBE_EINVAL, "one of none, sq8, sq4, found \"sq9\"");
    assert_fails(fill(&t, "quant=1", NULL, &err), GREBE_EINVAL, "one of");
    assert_fails(fill(&t, "=1", NULL, &err), GREBE_EINVAL, "unknown parameter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_params__none__defaults),
        cmocka_unit_test(test_index_params__given__taken),
        cmocka_unit_test(test_index_params__wrong__message_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
