/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_FILTER_H
#define GREBE_GITVDB_VDB_FILTER_H

/* The filter language over payloads: must, should, must_not (docs/format/gitvdb.md, "filters"). */

#include "gitvdb/vdb_id.h"

struct vdb_filter;

/**
 * Read and check a filter. Objects that are no condition and have none of must, should, must_not are refused, where
 * git-vdb lets them match everything (docs/decisions).
 *
 * @param is_lenient As git-vdb 0.4: such objects match everything.
 * @param out Owned, free with vdb_filter_free().
 * @return GREBE_OK; GREBE_EINVAL with the path of the condition ("must[0].range.gte: expected a number, found a
 * string").
 */
grebe_status vdb_filter_parse(const grebe_allocator *a, const char *json, size_t len, bool is_lenient,
                              struct vdb_filter **out, grebe_error *err);
void vdb_filter_free(struct vdb_filter *f);

/** Whether payloads are looked at at all (false: ids only, or nothing). */
bool vdb_filter_needs_payload(const struct vdb_filter *f);

/** Scratch of one thread: parsed payload, regex match data. */
struct vdb_filter_state;
grebe_status vdb_filter_state_new(const struct vdb_filter *f, struct vdb_filter_state **out, grebe_error *err);
void vdb_filter_state_free(struct vdb_filter_state *s);

/**
 * @param payload Canonical JSON object, which the caller has checked (vdb_json_is_canonical_object); what is none gives
 *                GREBE_ECORRUPT or a wrong answer, never a read outside of it. NULL where no payload is needed.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_ELIMIT (regex); GREBE_ENOMEM.
 * Cost: the payload is passed over once for each condition, up to its field; no tree is made.
 */
grebe_status vdb_filter_matches(const struct vdb_filter *f, struct vdb_filter_state *s, const struct vdb_id *id,
                                const char *payload, size_t len, bool *out, grebe_error *err);

#endif
