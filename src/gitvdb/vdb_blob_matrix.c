/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_blob.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"

/*
 * Matrices: magic[8] | dim: u32 | n: u32 | n * dim floats. Postings: magic[8] | n: u32 | n * (shard: u16 | row: u32).
 * docs/format/gitvdb.md. Floats are read in place, so the host is little-endian, as the file is.
 */
enum { MAGIC = 8, POSTING_HEADER = 12, ENTRY = 6 };

static const char magics[][MAGIC] = { "GTV2VEC", "GTV2IVF" };
static const char posting_magic[MAGIC] = "GTV2PST";
static const char *const names[] = { "vectors", "a codebook" };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "vectors are used as they stand in the blob");

/* Index of the first value that is NaN or infinite; n: none. */
static size_t find_not_finite(const float *values, size_t n)
{
    enum { BLOCK = 4096 };
    const uint32_t exponent = UINT32_C(0x7f800000);

    for (size_t begin = 0; begin < n; begin += BLOCK) {
        const size_t end = min_size(n, begin + BLOCK);
        uint32_t carry = 0; /* the sum reaches the top bit only when all bits of the exponent are set */
        for (size_t i = begin; i < end; i++) {
            uint32_t bits;
            memcpy(&bits, values + i, sizeof bits);
            carry |= (bits & exponent) + UINT32_C(0x00800000);
        }
        for (size_t i = begin; carry >> 31 != 0 && i < end; i++) {
            uint32_t bits;
            memcpy(&bits, values + i, sizeof bits);
            if ((bits & exponent) == exponent) {
                return i;
            }
        }
    }
    return n;
}

grebe_status vdb_matrix_open(enum vdb_matrix_kind kind, const void *bytes, size_t len, uint32_t dim,
                             struct vdb_matrix *out, grebe_error *err)
{
    const unsigned char *b = bytes;
    char found[40];

    *out = (struct vdb_matrix){ NULL, 0, 0 };
    if (len < VDB_MATRIX_HEADER) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected %s of at least %d bytes, found %zu", names[kind],
                          VDB_MATRIX_HEADER, len);
    }
    if (memcmp(b, magics[kind], MAGIC) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected the magic %s, found %s", magics[kind],
                          error_quote(found, sizeof found, b, MAGIC));
    }
    if (load_le32(b + MAGIC) != dim || dim == 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected dimension %" PRIu32 ", found %" PRIu32, dim,
                          load_le32(b + MAGIC));
    }
    const uint32_t n = load_le32(b + MAGIC + 4);
    const uint64_t n_values = (uint64_t)n * dim;
    if (n_values > UINT64_MAX / 8 || len - VDB_MATRIX_HEADER != n_values * 4) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "expected %" PRIu32 " rows of %" PRIu32 " floats, found %zu bytes", n, dim,
                          len - VDB_MATRIX_HEADER);
    }
    if (((uintptr_t)b & 3) != 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected %s at an address that 4 divides", names[kind]);
    }
    const float *values = (const float *)(const void *)(b + VDB_MATRIX_HEADER);
    const size_t bad = find_not_finite(values, (size_t)n_values);
    if (bad < n_values) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "row %zu, component %zu: expected a finite number, found %g", bad / dim, bad % dim,
                          (double)values[bad]);
    }
    *out = (struct vdb_matrix){ values, n, dim };
    return GREBE_OK;
}

void vdb_matrix_header(enum vdb_matrix_kind kind, uint32_t n, uint32_t dim, unsigned char out[VDB_MATRIX_HEADER])
{
    memcpy(out, magics[kind], MAGIC);
    store_le32(out + MAGIC, dim);
    store_le32(out + MAGIC + 4, n);
}

grebe_status vdb_matrix_encode(enum vdb_matrix_kind kind, const float *values, uint32_t n, uint32_t dim,
                               struct buf *out, grebe_error *err)
{
    unsigned char head[VDB_MATRIX_HEADER];
    const uint64_t n_values = (uint64_t)n * dim;

    assert(dim > 0);
    if (n_values > SIZE_MAX / 8) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%" PRIu32 " rows of %" PRIu32 " floats do not fit in memory", n,
                          dim);
    }
    vdb_matrix_header(kind, n, dim, head);
    grebe_status st = buf_reserve(out, sizeof head + (size_t)n_values * 4, err);
    if (st == GREBE_OK) {
        st = buf_put(out, head, sizeof head, err);
    }
    if (st == GREBE_OK) {
        st = buf_put(out, values, (size_t)n_values * 4, err);
    }
    return st;
}

grebe_status vdb_posting_open(const void *bytes, size_t len, struct vdb_posting *out, grebe_error *err)
{
    const unsigned char *b = bytes;
    char found[40];

    *out = (struct vdb_posting){ NULL, 0 };
    if (len < POSTING_HEADER) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected a posting of at least %d bytes, found %zu",
                          POSTING_HEADER, len);
    }
    if (memcmp(b, posting_magic, MAGIC) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected the magic %s, found %s", posting_magic,
                          error_quote(found, sizeof found, b, MAGIC));
    }
    struct vdb_posting p = { b + POSTING_HEADER, load_le32(b + MAGIC) };
    if ((len - POSTING_HEADER) / ENTRY != p.n || (len - POSTING_HEADER) % ENTRY != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected %" PRIu32 " entries of %d bytes, found %zu bytes", p.n,
                          ENTRY, len - POSTING_HEADER);
    }
    uint64_t above = 0; /* one more than the place before */
    for (uint32_t i = 0; i < p.n; i++) {
        const struct vdb_place at = vdb_posting_get(&p, i);
        const uint64_t place = (uint64_t)at.shard << 32 | at.row;
        if (at.shard >= VDB_SHARDS) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "entry %" PRIu32 ": expected a shard below %d, found %" PRIu32,
                              i, VDB_SHARDS, at.shard);
        }
        if (place < above) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "entry %" PRIu32 ": expected a place above the one before, found shard %" PRIu32
                              " row %" PRIu32, i, at.shard, at.row);
        }
        above = place + 1;
    }
    *out = p;
    return GREBE_OK;
}
