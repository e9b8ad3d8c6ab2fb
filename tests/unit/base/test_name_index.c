/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name_index.h"

#include "test_support.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 5000 };

static void test_name_index__many_names__each_found_with_its_number(void **state)
{
    (void)state;
    static char names[NAMES][16];
    struct name_index x;
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(name_index_new(mem_system(), 3, &x, &err));
    assert_null(name_index_find(&x, "c0"));
    for (size_t i = 0; i < NAMES; i++) {
        bool is_there = true;
        snprintf(names[i], sizeof names[i], "c%zu", i);
        assert_ok(name_index_add(&x, names[i], i, &is_there, &err));
        assert_false(is_there);
    }
    for (size_t i = 0; i < NAMES; i++) {
        bool is_there = false;
        size_t *value = name_index_find(&x, names[i]);
        assert_non_null(value);
        assert_int_equal(*value, i);
        assert_ok(name_index_add(&x, names[i], 0, &is_there, &err));
        assert_true(is_there);
    }
    assert_int_equal(x.n, NAMES);
    assert_null(name_index_find(&x, "c"));
    assert_null(name_index_find(&x, ""));
    name_index_release(&x);
    assert_null(name_index_find(&x, "c0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_index__many_names__each_found_with_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
