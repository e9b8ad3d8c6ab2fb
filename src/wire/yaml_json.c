/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml_json.h"

#include <math.h>

#include "base/number.h"

/* A number as JSON spells it: YAML has 08, +1, 1_000 and .5 besides. */
static grebe_status number_of(struct arena *ar, const char *text, size_t len, struct json_value *out, grebe_error *err)
{
    out->type = JSON_NUMBER;
    out->text = arena_str(ar, text, len);
    out->n = len;
    return out->text != NULL ? GREBE_OK : mem_fail(err, len, "a number");
}

static grebe_status scalar_of(struct arena *ar, const struct yaml_tree *y, struct json_value *out, grebe_error *err)
{
    int64_t i;
    double d;
    bool is_true = false;
    char text[NUMBER_TEXT_MAX];
    out->type = JSON_STRING;
    out->n = y->n;
    out->text = y->text;
    if (!y->is_plain) {
        return GREBE_OK;
    }
    if (yaml_tree_is_null(y)) {
        *out = (struct json_value){ .type = JSON_NULL, .line = y->line, .column = y->column };
    } else if (yaml_tree_bool(y, &is_true)) {
        *out = (struct json_value){ .type = JSON_BOOL, .boolean = is_true, .line = y->line, .column = y->column };
    } else if (yaml_tree_i64(y, &i)) {
        return number_of(ar, text, number_put_i64(text, i), out, err);
    } else if (yaml_tree_double(y, &d) && isfinite(d)) {
        return number_of(ar, text, number_put_double(text, d, &number_style_json), out, err);
    }
    return GREBE_OK;
}

static grebe_status list_of(struct arena *ar, const struct yaml_tree *y, struct json_value *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct json_value *items = arena_array(ar, y->n, sizeof *items);
    if (items == NULL) {
        return mem_fail(err, y->n * sizeof *items, "a list");
    }
    out->type = JSON_ARRAY;
    out->items = items;
    for (size_t i = 0; st == GREBE_OK && i < y->n; i++) {
        st = yaml_tree_to_json(ar, y->items[i], &items[i], err);
    }
    out->n = y->n;
    return st;
}

static grebe_status map_of(struct arena *ar, const struct yaml_tree *y, struct json_value *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct json_member *members = arena_array(ar, y->n, sizeof *members);
    if (members == NULL) {
        return mem_fail(err, y->n * sizeof *members, "a map");
    }
    out->type = JSON_OBJECT;
    out->members = members;
    for (size_t i = 0; st == GREBE_OK && i < y->n; i++) {
        members[i].key = y->pairs[i].key->text;
        members[i].key_len = y->pairs[i].key->n;
        st = yaml_tree_to_json(ar, y->pairs[i].value, &members[i].value, err);
    }
    out->n = y->n;
    return st;
}

/* Depth is bounded by YAML_TREE_DEPTH_MAX. */
grebe_status yaml_tree_to_json(struct arena *ar, const struct yaml_tree *y, struct json_value *out, grebe_error *err)
{
    *out = (struct json_value){ .type = JSON_NULL, .line = y->line, .column = y->column };
    switch (y->type) {
    case YAML_TREE_LIST: return list_of(ar, y, out, err);
    case YAML_TREE_MAP: return map_of(ar, y, out, err);
    default: return scalar_of(ar, y, out, err);
    }
}
