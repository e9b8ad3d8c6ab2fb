/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_PICKLE_H
#define GREBE_WIRE_PICKLE_H

/*
 * Pickles (Python's serialisation, protocols 2 to 5) as a tree of what they say, with nothing of it done: a call is a node that
 * names the function and its arguments, and names that the caller does not know end the reading. What is needed for tensors is
 * understood; whatever else is refused by opcode and offset. Source: Python's pickletools (behaviour).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum { PICKLE_DEPTH_MAX = 64, PICKLE_NODES_MAX = 1 << 22 };

enum pickle_type {
    PICKLE_NONE, PICKLE_BOOL, PICKLE_INT, PICKLE_FLOAT, PICKLE_TEXT, PICKLE_BYTES, PICKLE_TUPLE, PICKLE_LIST,
    PICKLE_DICT,    /* items: key, value, key, value, … */
    PICKLE_GLOBAL,  /* text: "module name" */
    PICKLE_PERSID,  /* items[0]: the id of what is kept elsewhere */
    PICKLE_CALL     /* items: function or class, tuple of arguments; state set by BUILD */
};

struct pickle_value {
    enum pickle_type type;
    bool boolean;
    int64_t integer;
    double real;
    size_t n;         /* bytes of text, items (of a dict: twice its pairs) */
    const char *text; /* UTF-8, NUL-terminated, may hold NULs */
    const struct pickle_value **items;
    size_t capacity;
    const struct pickle_value *state;
    uint64_t offset; /* of the opcode that began it */
};

/** Whether a name may stand in the pickle. */
typedef bool (*pickle_allows_fn)(void *arg, const char *module, size_t module_len, const char *name, size_t name_len);

/**
 * @param name   For messages.
 * @param out    In the arena. Values that the pickle uses twice are one; there are no cycles.
 * @return GREBE_OK; GREBE_ECORRUPT, GREBE_EUNSUPPORTED (an opcode, a name that is not allowed, an integer of more than 64 bits),
 *         GREBE_ELIMIT, each with the offset in the pickle; GREBE_ENOMEM.
 *
 * Memory: a bounded multiple of len, in pieces of at most four times len (or ARENA_BLOCK_MAX).
 */
grebe_status pickle_parse(struct arena *ar, const char *name, const void *bytes, size_t len, pickle_allows_fn allows, void *arg,
                          const struct pickle_value **out, grebe_error *err);

/** Whether v is the global "module name". */
bool pickle_is_global(const struct pickle_value *v, const char *module_name);
/** A call of the function with n arguments; its arguments' items, or NULL. */
const struct pickle_value **pickle_call(const struct pickle_value *v, const char *module_name, size_t n);
/** The value of a text key of a dict; NULL: there is none, or v is no dict (or NULL). */
const struct pickle_value *pickle_get(const struct pickle_value *v, const char *key);
/** "int", "dict", … */
const char *pickle_type_name(enum pickle_type type);

#endif
