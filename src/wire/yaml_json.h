/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_YAML_JSON_H
#define GREBE_WIRE_YAML_JSON_H

/* A tree of YAML as one of JSON: plain scalars that are null, a truth value or a number become those, others texts. */

#include "wire/json.h"
#include "wire/yaml_tree.h"

/** @param out Nodes and texts in the arena, or borrowed from the tree's. */
grebe_status yaml_tree_to_json(struct arena *ar, const struct yaml_tree *y, struct json_value *out, grebe_error *err);

#endif
