/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_blob.h"

#include <string.h>

#include "base/endian.h"
#include "base/utf8.h"
#include "gitvdb/vdb_ivf.h"

/* An id in its canonical bytes. */
static bool id_of_bytes(const unsigned char *bytes, size_t len, struct vdb_id *out)
{
    if (len < 2 || bytes[1] != 0) {
        return false;
    }
    if (bytes[0] == 'u') {
        *out = (struct vdb_id){ .is_number = true, .number = len == 10 ? load_be64(bytes + 2) : 0 };
        return len == 10;
    }
    *out = (struct vdb_id){ .text = (const char *)bytes + 2, .len = len - 2 };
    return bytes[0] == 's' && utf8_is_valid(bytes + 2, len - 2);
}

grebe_status vdb_sample_check(const void *blob, size_t len, uint64_t n_points, grebe_error *err)
{
    const unsigned char *bytes = blob;
    uint64_t expected = n_points < VDB_SAMPLE_MAX ? n_points : VDB_SAMPLE_MAX;
    unsigned char last[VDB_DIGEST_BYTES], digest[VDB_DIGEST_BYTES];
    struct vdb_id last_id = { 0 };
    if (len < 12 || memcmp(bytes, "GTV2SMP\0", 8) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected the magic GTV2SMP and a count, found %zu other bytes", len);
    }
    uint32_t m = load_le32(bytes + 8);
    if (m != expected) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected %llu points, found %u", (unsigned long long)expected, (unsigned)m);
    }
    size_t at = 12;
    for (uint32_t i = 0; i < m; i++) {
        struct vdb_id id;
        size_t left = len - at;
        uint32_t id_len = left < 4 ? 0 : load_le32(bytes + at);
        if (left < 4 + VDB_DIGEST_BYTES || id_len > left - 4 - VDB_DIGEST_BYTES) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "entry %u at byte %zu: expected an id and a hash, found %zu bytes",
                              (unsigned)i, at, left);
        }
        if (!id_of_bytes(bytes + at + 4, id_len, &id)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "entry %u at byte %zu: expected the canonical bytes of an id, found others",
                              (unsigned)i, at);
        }
        vdb_id_digest(&id, digest);
        int order = i == 0 ? 1 : memcmp(digest, last, sizeof digest);
        if (order < 0 || (order == 0 && vdb_id_compare(&id, &last_id) <= 0)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "entry %u at byte %zu: expected ids in the order of their digests",
                              (unsigned)i, at);
        }
        memcpy(last, digest, sizeof last);
        last_id = id;
        at += 4 + id_len + VDB_DIGEST_BYTES;
    }
    return at == len ? GREBE_OK
                     : GREBE_FAIL(err, GREBE_ECORRUPT, "expected the end at byte %zu, found %zu more bytes", at, len - at);
}
