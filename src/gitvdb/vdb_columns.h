/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_COLUMNS_H
#define GREBE_GITVDB_VDB_COLUMNS_H

/* The columns that points are given in: "id", "score", "vector", "payload". */

#include "arrow/arrow_stream.h"

/** A field that is never null. @param key Metadata of it; NULL: none. */
grebe_status vdb_field(const grebe_allocator *a, const char *name, const char *format, const char *key,
                       const char *value, struct ArrowSchema *out, grebe_error *err);

enum vdb_id_kinds { VDB_IDS_NUMBERS, VDB_IDS_TEXTS, VDB_IDS_MIXED };
/** uint64; text; text that is each id as JSON, which its metadata says. */
grebe_status vdb_id_field(const grebe_allocator *a, enum vdb_id_kinds kinds, struct ArrowSchema *out, grebe_error *err);
/** fixed_size_list<float>[dim]. */
grebe_status vdb_vector_field(const grebe_allocator *a, size_t dim, struct ArrowSchema *out, grebe_error *err);
/** Text that is JSON. */
grebe_status vdb_payload_field(const grebe_allocator *a, struct ArrowSchema *out, grebe_error *err);

#endif
