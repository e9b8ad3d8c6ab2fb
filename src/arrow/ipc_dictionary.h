/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_IPC_DICTIONARY_H
#define GREBE_ARROW_IPC_DICTIONARY_H

/* The dictionaries of a stream or file: which field has which, and the values that came so far. */

#include "arrow/ipc_internal.h"

/** One dictionary-encoded field of the schema, in the order of a walk. */
struct ipc_dictionary {
    const struct ArrowSchema *field; /* in the schema of the stream */
    int64_t id;
    struct array_shared *values; /* NULL: none came yet. Of the first field with this id only */
    struct buf deltas;           /* struct ArrowArray: values behind these, joined when they are used */
};

struct ipc_dictionaries {
    struct ipc_dictionary *items; /* owned, shape [n] */
    size_t n;
};

/** Pair the dictionary fields of the schema with the ids met while it was decoded. */
grebe_status ipc_dictionaries_new(const grebe_allocator *a, const struct ArrowSchema *schema,
                                  const struct ipc_ids *ids, struct ipc_dictionaries *out,
                                  grebe_error *err);
void ipc_dictionaries_release(const grebe_allocator *a, struct ipc_dictionaries *d);

/** Join what deltas brought, of all dictionaries: from then on batches may be read by many threads. */
grebe_status ipc_dictionaries_settle(const grebe_allocator *a, struct ipc_dictionaries *d,
                                     grebe_error *err);

/** Whether the dictionary of that id has values already. */
bool ipc_dictionary_is_set(const struct ipc_dictionaries *d, int64_t id);

/** The entry that holds the values of the id; NULL: no field has it. */
struct ipc_dictionary *ipc_dictionary_find(const struct ipc_dictionaries *d, int64_t id);

/**
 * Values that came for the dictionary: they replace what it had, or stand behind it.
 *
 * @param values Moved in on success.
 */
grebe_status ipc_dictionary_take(const grebe_allocator *a, struct ipc_dictionary *d, bool is_delta,
                                 struct ArrowArray *values, grebe_error *err);

/**
 * All values of the field's dictionary; none came: an empty array. Deltas are joined first.
 *
 * @param field In the schema of the stream.
 * @param out   Shares what the dictionary holds. Owned.
 * @return GREBE_OK; GREBE_ECORRUPT (fields of two types share it); GREBE_ENOMEM.
 */
grebe_status ipc_dictionary_values(const grebe_allocator *a, const struct ipc_dictionaries *d,
                                   const struct ArrowSchema *field, struct ArrowArray *out,
                                   grebe_error *err);

#endif
