/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_GRAPH_TREE_H
#define GREBE_GREBE_GRAPH_TREE_H

/*
 * Metadata as trees that are made key by key, in an arena. A map that is NULL stays NULL, and NULL means that there is no memory, so
 * that a chain of calls is looked at once, at its end. Texts are borrowed.
 */

#include "graph/graph_yaml.h"

const struct yaml_tree *graph_tree_map(struct arena *ar);
const struct yaml_tree *graph_tree_text(struct arena *ar, const struct yaml_tree *map, const char *key, const char *text);
const struct yaml_tree *graph_tree_int(struct arena *ar, const struct yaml_tree *map, const char *key, int64_t number);
/** @param items Shape [n], borrowed, the array too. */
const struct yaml_tree *graph_tree_list(struct arena *ar, const struct yaml_tree *map, const char *key,
                                        const struct yaml_tree *const *items, size_t n);

#endif
