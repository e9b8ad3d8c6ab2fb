/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_YAML_TREE_H
#define GREBE_WIRE_YAML_TREE_H

/*
 * YAML 1.1 (libyaml) as a tree with places. One document; scalars stay texts, and whoever asks decides what they are.
 * Aliases are followed, within a bound on what the whole tree is when they are written out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum {
    YAML_TREE_DEPTH_MAX = 64,
    YAML_TREE_NODES_MAX = 1 << 20,
    YAML_TREE_KEYS_MAX = 4096 /* of one map: each new one is compared with those before */
};

enum yaml_type { YAML_TREE_SCALAR, YAML_TREE_LIST, YAML_TREE_MAP };

struct yaml_pair;

struct yaml_tree {
    enum yaml_type type;
    uint32_t line, column; /* of its first character, from 1 */
    bool is_plain;         /* scalar without quotes: may be a number, a truth value or null */
    size_t n;              /* bytes of text, items, pairs */
    union {
        const char *text; /* NUL-terminated */
        const struct yaml_tree *const *items;
        const struct yaml_pair *pairs;
    };
};

/** Nodes are referred to, not copied: an alias is the node itself, and a list takes no more than four times its text. */
struct yaml_pair {
    const struct yaml_tree *key, *value; /* keys are scalars, each once in a map */
};

/**
 * @param name For messages.
 * @param out  In the arena, in pieces of at most four times len (or ARENA_BLOCK_MAX); a text without a document gives an empty map.
 * @return GREBE_OK; GREBE_ECORRUPT with "name:line:column"; GREBE_ELIMIT (depth, nodes); GREBE_EUNSUPPORTED (a build
 *         without libyaml); GREBE_ENOMEM.
 */
grebe_status yaml_tree_parse(struct arena *ar, const char *name, const char *text, size_t len, const struct yaml_tree **out,
                             grebe_error *err);

/** The value under a key; NULL: there is none, or t is no map (or NULL). */
const struct yaml_tree *yaml_tree_get(const struct yaml_tree *t, const char *key);
/** A plain scalar that is empty, ~ or null. */
bool yaml_tree_is_null(const struct yaml_tree *t);
/** A plain scalar: true, false, yes, no, on, off in the cases that YAML 1.1 has. */
bool yaml_tree_bool(const struct yaml_tree *t, bool *out);
/** A scalar that is an integer in decimal digits, or any number. */
bool yaml_tree_i64(const struct yaml_tree *t, int64_t *out);
bool yaml_tree_double(const struct yaml_tree *t, double *out);
/** "text", "list" or "map". */
const char *yaml_tree_type_name(const struct yaml_tree *t);

#endif
