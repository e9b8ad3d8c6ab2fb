/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_FILTER_READER_H
#define GREBE_GITVDB_VDB_FILTER_READER_H

/* From JSON to conditions: what the kinds of conditions and the groups around them share. */

#include <string.h>

#include "gitvdb/vdb_filter_internal.h"

/* A place in the filter, from the inside out. */
struct vdb_filter_place {
    const struct vdb_filter_place *up;
    const char *name; /* NULL: an element */
    size_t index;
};

struct vdb_filter_reader {
    struct vdb_filter *f;
    bool is_lenient;
    bool has_mismatch; /* an operand of the condition at hand has a wrong type: what is reported if it is no other
                          condition either */
    grebe_error mismatch;
    grebe_status status; /* what ends the reading: no memory, an operand that makes no sense */
    struct buf scratch;
    grebe_error *err;
};

/* Reads the operands of one kind. false: it is another kind, or r->status says what is wrong. */
typedef bool vdb_filter_read_fn(struct vdb_filter_reader *r, const struct vdb_value *v,
                                const struct vdb_filter_place *at, struct vdb_condition *out);

/** The kinds in the order in which they are tried; a nested filter is what is none of them. */
enum { VDB_FILTER_KINDS = 8 };
extern vdb_filter_read_fn *const vdb_filter_kinds[VDB_FILTER_KINDS];

/* Each gives false. */

/** An operand that makes no sense; the filter is refused. */
bool vdb_filter_refuse(struct vdb_filter_reader *r, const struct vdb_filter_place *at, const char *why);
/** An operand of another type than expected (found NULL: it is missing). Only the first is kept, as kinds are tried in
 * order. */
bool vdb_filter_mismatch(struct vdb_filter_reader *r, const struct vdb_filter_place *at, const char *name,
                         const char *expected, const struct vdb_value *found);
bool vdb_filter_no_memory(struct vdb_filter_reader *r, size_t size);

/** "must[0].range.gte", or "filter" for the whole. */
const char *vdb_filter_place_text(char *dst, size_t size, const struct vdb_filter_place *at);

static inline const struct vdb_value *vdb_filter_member(const struct vdb_value *v, const char *name)
{
    return vdb_json_get(v, name, strlen(name));
}

#endif
