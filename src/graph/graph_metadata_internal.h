/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_METADATA_INTERNAL_H
#define GREBE_GRAPH_GRAPH_METADATA_INTERNAL_H

#include "graph/graph_metadata.h"

/** Read the sections of m->root. Only lack of memory fails. */
grebe_status graph_metadata_fill(struct graph_metadata *m, enum graph_dialect dialect, grebe_error *err);

/* ---- fields of a map ---- */

/** A map of the metadata with its place: "feature_data[2]". */
struct graph_section {
    struct graph_metadata *m;
    const struct yaml_tree *tree;
    char field[128];
};

/** A problem with a key's value, or, when the key is not there, with the map. */
grebe_status graph_section_fail(const struct graph_section *map, const char *key, grebe_error *err, const char *fmt, ...)
    GREBE_PRINTF(4, 5);
/** A text; *out NULL: not there (is_required: a problem), or not a text (a problem). Plain numbers are kept as written,
 * with a warning. */
grebe_status graph_section_text(const struct graph_section *map, const char *key, bool is_required, const char **out,
                            grebe_error *err);
/**
 * A list of maps; nothing or null: empty. More entries than the text could tell of (many aliases of one map) are a problem.
 *
 * @param entry_bytes Of what an entry becomes.
 * @param list        The value, NULL: none.
 * @param n           Its entries; 0 when a problem was added.
 * @param entries     Shape [n], zeroed, in the arena.
 */
grebe_status graph_section_list(const struct graph_section *map, const char *key, size_t entry_bytes, const struct yaml_tree **list,
                            size_t *n, void **entries, grebe_error *err);
/** Item i of the list under a key. *is_map false: a problem was added. */
grebe_status graph_section_item(const struct graph_section *map, const char *key, const struct yaml_tree *list, size_t i,
                            struct graph_section *out, bool *is_map, grebe_error *err);
/** format, path, in_memory. */
grebe_status graph_section_file(const struct graph_section *map, const char *const *formats, struct graph_file *out,
                            grebe_error *err);
/** Warn of keys that are not in `known` but nearly so (is_closed: of all of them). */
grebe_status graph_section_typos(const struct graph_section *map, const char *const *known, bool is_closed,
                             const char *consequence, grebe_error *err);
/** The name of `known` that a word is nearly; NULL: it is one of them, or near to none. */
const char *graph_section_near(const char *const *known, const char *word);
/** The map without the keys of `known`. */
grebe_status graph_section_extra(const struct graph_section *map, const char *const *known, const struct yaml_tree **out,
                             grebe_error *err);

/** feature_data and tasks, of both dialects. */
grebe_status graph_features_fill(const struct graph_section *map, bool is_attributes, struct graph_feature_spec **out,
                                 size_t *n, grebe_error *err);
grebe_status graph_tasks_fill(const struct graph_section *root, grebe_error *err);

/** Warn of names of arrays and of a type with which a set cannot be sampled. */
grebe_status graph_set_check_names(const struct graph_section *map, const struct graph_set_spec *s, grebe_error *err);
/** Whether arrays of that name (NULL: none) are seeds. */
bool graph_set_is_seeds(const char *name);
/** Warn of seeds whose shape does not fit the type of their set. @param t Opened. */
grebe_status graph_set_check_seeds(struct graph_metadata *m, const struct graph_set_spec *s, const struct graph_set_item *x,
                                   const struct tensor *t, grebe_error *err);

#endif
