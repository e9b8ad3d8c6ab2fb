/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_GRAPH_JSON_H
#define GREBE_TEST_GRAPH_JSON_H

/* JSON that is the same but for the order of keys. */

#include "test_support.h"
#include "wire/json.h"

static inline void assert_same_json(const struct json_value *x, const struct json_value *y)
{
    assert_int_equal(x->type, y->type);
    if (x->type == JSON_ARRAY) {
        assert_int_equal(x->n, y->n);
        for (size_t i = 0; i < x->n; i++) {
            assert_same_json(&x->items[i], &y->items[i]);
        }
    } else if (x->type == JSON_OBJECT) {
        assert_int_equal(x->n, y->n);
        for (size_t i = 0; i < x->n; i++) {
            const struct json_value *other = json_get(y, x->members[i].key);
            assert_non_null(other);
            assert_same_json(&x->members[i].value, other);
        }
    } else if (x->type == JSON_BOOL) {
        assert_int_equal(x->boolean, y->boolean);
    } else if (x->type != JSON_NULL) {
        assert_string_equal(x->text, y->text);
    }
}

static inline void assert_json_text(struct arena *ar, const char *text, const struct json_value *want)
{
    grebe_error err = GREBE_ERROR_INIT;
    const struct json_value *v = NULL;
    assert_ok(json_parse(ar, text, strlen(text), &v, &err));
    assert_same_json(want, v);
}

#endif
