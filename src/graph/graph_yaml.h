/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_YAML_H
#define GREBE_GRAPH_GRAPH_YAML_H

/*
 * YAML 1.1 as Python's yaml.safe_load takes it and yaml.dump writes it: metadata of graphs goes through both, so that a
 * plain 010 is eight, 1e3 is a text, and what is written is read back as what it was.
 */

#include "base/buf.h"
#include "wire/yaml_tree.h"

enum graph_yaml_kind {
    GRAPH_YAML_NULL,
    GRAPH_YAML_BOOL,
    GRAPH_YAML_INT,
    GRAPH_YAML_FLOAT,
    GRAPH_YAML_TEXT,
    GRAPH_YAML_OTHER
};

/** What a scalar is. */
struct graph_yaml_scalar {
    enum graph_yaml_kind kind;
    bool boolean;
    int64_t integer; /* one of more than 64 bits is a text */
    double real;
};

/** OTHER: a list or map. NULL is taken as null. */
struct graph_yaml_scalar graph_yaml_scalar_of(const struct yaml_tree *t);

/**
 * The tree with what "<<" names put into its map; a part without any is the part itself.
 *
 * @return GREBE_OK; GREBE_ENOMEM; GREBE_ECORRUPT (merging what is no map); GREBE_ELIMIT (more names in a map than YAML_TREE_KEYS_MAX).
 */
grebe_status graph_yaml_merge(struct arena *ar, const char *name, const struct yaml_tree *t, const struct yaml_tree **out,
                              grebe_error *err);

/** As JSON, types kept. */
grebe_status graph_yaml_to_json(struct buf *dst, const struct yaml_tree *t, grebe_error *err);

/** As yaml.dump(): block style, sorted keys, texts quoted where they would be read as something else. */
grebe_status graph_yaml_dump(struct buf *dst, const struct yaml_tree *map, grebe_error *err);

/* ---- making trees ---- */

/** A text that is read back as a text. Borrowed. */
struct yaml_tree graph_yaml_text(const char *text);
/** A plain scalar: "true", "null". */
struct yaml_tree graph_yaml_plain(const char *text);
/** The map with a key set to a copy of value (or added; value NULL: taken away). NULL: no memory. */
const struct yaml_tree *graph_yaml_set(struct arena *ar, const struct yaml_tree *map, const char *key,
                                       const struct yaml_tree *value);
/** The map with all pairs of another in the place of its own of that name. NULL: no memory. */
const struct yaml_tree *graph_yaml_set_all(struct arena *ar, const struct yaml_tree *map, const struct yaml_tree *more);

#endif
