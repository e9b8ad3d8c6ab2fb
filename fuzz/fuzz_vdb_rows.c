/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of any Arrow stream as points of a vector collection; the first byte says whether ids are JSON. What was accepted are
 * canonical payloads and vectors of one dimension.
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/ipc.h"
#include "fuzz_require.h"
#include "gitvdb/vdb_feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct region *r = NULL;
    struct ArrowArrayStream rows = { 0 };
    struct vdb_feed f;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_write_options o = { .name = "rows", .id_column = "id", .vector_column = "vector" };
    if (size < 1) {
        return 0;
    }
    o.ids_are_json = data[0] & 1;
    require(region_new(mem_system(), size, &r, NULL) == GREBE_OK);
    memcpy(r->data, data + 1, size - 1);
    r->len = size - 1;
    (void)!ipc_stream_of_region(mem_system(), r, &rows, NULL);
    region_drop(r);
    if (rows.release == NULL) {
        return 0;
    }
    grebe_status st = vdb_feed_rows(&f, mem_system(), &rows, &o, &err);
    require(rows.release == NULL);
    require(st == GREBE_OK || err.message[0] != 0);
    require(st != GREBE_OK || (f.n > 0 && f.n == f.kept.n && f.dim > 0));
    for (size_t i = 0; st == GREBE_OK && i < f.n; i++) {
        size_t len;
        const char *payload = vdb_points_payload(&f.kept, i, &len);
        struct vdb_id id = vdb_points_id(&f.kept, i);
        require(vdb_json_is_canonical_object(payload, len));
        require(id.is_number || id.len == 0 || id.text != NULL);
    }
    vdb_feed_release(&f);
    return 0;
}
