/* SPDX-License-Identifier: Apache-2.0 */
#include "table/manifest.h"

#include <assert.h>

#include "base/endian.h"
#include "base/hash.h"

grebe_status manifest_encode(struct buf *dst, const struct manifest *m, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf body = BUF_INIT(dst->a);
    unsigned char sync[16];
    for (size_t i = 1; i < m->stats.n; i++) { /* what manifest_decode makes true on reading */
        assert(!text_is(&manifest_stat_at(m, i)->key, manifest_stat_at(m, i - 1)->key.data));
    }
    GREBE_TRY(avro_record_write(&body, &manifest_record, m, err));
    if (body.len > MANIFEST_BYTES_MAX / 2) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "manifest of %zu bytes, at most %d are written",
                        body.len, MANIFEST_BYTES_MAX / 2);
        goto out;
    }
    /* Any 16 bytes will do; taken from the body so that equal manifests are equal files. */
    store_le64(sync, hash_bytes(body.data, body.len, 0));
    store_le64(sync + 8, hash_bytes(body.data, body.len, 1));
    GREBE_TRY(avro_ocf_write(dst, manifest_schema_text, strlen(manifest_schema_text),
                             m->header.items, m->header.n, sync, 1, body.data, body.len, err));
out:
    buf_release(&body);
    return st;
}
