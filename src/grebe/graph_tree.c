/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/graph_tree.h"

#include <stdio.h>
#include <string.h>

static const struct yaml_tree *put(struct arena *ar, const struct yaml_tree *map, const char *key, struct yaml_tree value)
{
    return map == NULL ? NULL : graph_yaml_set(ar, map, key, &value);
}

const struct yaml_tree *graph_tree_map(struct arena *ar)
{
    struct yaml_tree *v = arena_alloc(ar, sizeof *v);
    if (v != NULL) {
        *v = (struct yaml_tree){ .type = YAML_TREE_MAP };
    }
    return v;
}

const struct yaml_tree *graph_tree_text(struct arena *ar, const struct yaml_tree *map, const char *key, const char *text)
{
    return put(ar, map, key, graph_yaml_text(text));
}

const struct yaml_tree *graph_tree_int(struct arena *ar, const struct yaml_tree *map, const char *key, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    const char *copy = arena_str(ar, text, strlen(text));
    return copy == NULL ? NULL : put(ar, map, key, graph_yaml_plain(copy));
}

const struct yaml_tree *graph_tree_list(struct arena *ar, const struct yaml_tree *map, const char *key,
                                        const struct yaml_tree *const *items, size_t n)
{
    return put(ar, map, key, (struct yaml_tree){ .type = YAML_TREE_LIST, .n = n, .items = items });
}
