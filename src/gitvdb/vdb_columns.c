/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_columns.h"

#include <stdio.h>
#include <string.h>

grebe_status vdb_field(const grebe_allocator *a, const char *name, const char *format, const char *key,
                       const char *value, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(a, format, name, false, 0, out, err);
    if (st == GREBE_OK && key != NULL) {
        struct key_value pair = { key, strlen(key), value, strlen(value) };
        st = schema_set_metadata(a, out, &pair, 1, err);
    }
    return st;
}

grebe_status vdb_id_field(const grebe_allocator *a, enum vdb_id_kinds kinds, struct ArrowSchema *out, grebe_error *err)
{
    const char *format = kinds == VDB_IDS_NUMBERS ? "L" : "U";
    return vdb_field(a, "id", format, kinds == VDB_IDS_MIXED ? "grebe.id" : NULL, "json", out, err);
}

grebe_status vdb_vector_field(const grebe_allocator *a, size_t dim, struct ArrowSchema *out, grebe_error *err)
{
    char format[32];
    snprintf(format, sizeof format, "+w:%zu", dim);
    grebe_status st = schema_new(a, format, "vector", false, 1, out, err);
    return st == GREBE_OK ? schema_new(a, "f", "item", false, 0, out->children[0], err) : st;
}

grebe_status vdb_payload_field(const grebe_allocator *a, struct ArrowSchema *out, grebe_error *err)
{
    return vdb_field(a, "payload", "U", "ARROW:extension:name", "arrow.json", out, err);
}
