/* SPDX-License-Identifier: Apache-2.0 */
/* Features as JSON or YAML: whatever the text, features or a message; what is written reads back to the same in all three forms. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "feature/features.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static void check_forms(const struct features *f)
{
    const grebe_allocator *a = mem_system();
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(a);
    struct buf b = BUF_INIT(a);
    struct features *again = NULL;
    struct ArrowSchema schema = { 0 };
    const struct yaml_tree *tree = NULL;

    must(features_to_json(f, -1, 0, &b, &err) == GREBE_OK);
    must(features_from_json(a, (const char *)b.data, b.len, &again, &err) == GREBE_OK);
    must(feature_equal(&f->top, &again->top));
    features_free(again);
    buf_clear(&b);

    must(features_to_yaml(f, 0, &b, &err) == GREBE_OK);
    grebe_status st = yaml_tree_parse(&ar, "again", (const char *)b.data, b.len, &tree, &err);
    if (st == GREBE_OK && tree->type == YAML_TREE_LIST && features_from_yaml(a, tree, &again, &err) == GREBE_OK) {
        must(again->top.n_fields == f->top.n_fields);
        features_free(again);
    }

    if (features_to_file_schema(a, f, "0123456789abcdef", &schema, &err) == GREBE_OK) {
        must(schema_check(&schema, &err) == GREBE_OK);
        if (features_from_schema(a, &schema, true, &again, &err) == GREBE_OK) {
            must(again->top.n_fields == f->top.n_fields);
            features_free(again);
        }
        schema_release(&schema);
    }
    buf_release(&b);
    arena_release(&ar);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const grebe_allocator *a = mem_system();
    grebe_error err = GREBE_ERROR_INIT;
    struct features *f = NULL;
    struct arena ar = ARENA_INIT(a);
    const struct yaml_tree *tree = NULL;
    if (features_from_json(a, (const char *)data, size, &f, &err) == GREBE_OK) {
        check_forms(f);
        features_free(f);
    } else if (err.message[0] == '\0') {
        abort();
    }
    if (yaml_tree_parse(&ar, "x", (const char *)data, size, &tree, &err) == GREBE_OK &&
        features_from_yaml(a, tree, &f, &err) == GREBE_OK) {
        check_forms(f);
        features_free(f);
    }
    arena_release(&ar);
    return 0;
}
