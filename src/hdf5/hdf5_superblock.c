/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of an HDF5 file: enough to say what is wrong with one that is cut, newer, or something else.
 *
 *   0        signature 89 "HDF" 0d 0a 1a 0a, at byte 0, 512, 1024, 2048, … (a user block stands before it)
 *   8        version
 *   0 and 1: 13 bytes of an offset, 14 of a length, 24 (28) base, free space, end, driver, root entry
 *   2 and 3: 9 bytes of an offset, 10 of a length, 12 base, extension, end, root header
 *
 * (HDF5 File Format Specification 3.0, II.A)
 */
#include "hdf5/hdf5_internal.h"

#include "base/checked.h"
#include "base/endian.h"

enum { SUPERBLOCK_BYTES = 64, VERSION_MAX = 3 };

static const unsigned char signature[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };

bool hdf5_has_signature(const unsigned char *head, size_t n)
{
    return n >= sizeof signature && memcmp(head, signature, sizeof signature) == 0;
}

/* Where the signature stands; UINT64_MAX: nowhere. */
static grebe_status find_signature(struct io_file *f, uint64_t *out, grebe_error *err)
{
    unsigned char head[sizeof signature];
    *out = UINT64_MAX;
    for (uint64_t at = 0; range_fits_u64(at, sizeof head, f->id.size_bytes); at = at == 0 ? 512 : at * 2) {
        grebe_status st = io_read(f, at, head, sizeof head, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (hdf5_has_signature(head, sizeof head)) {
            *out = at;
            return GREBE_OK;
        }
        if (at > (uint64_t)1 << 40) {
            break;
        }
    }
    return GREBE_OK;
}

static uint64_t load_address(const unsigned char *p, unsigned size)
{
    return size == 8 ? load_le64(p) : size == 4 ? load_le32(p) : load_le16(p);
}

grebe_status hdf5_superblock_check(struct io_file *f, grebe_error *err)
{
    unsigned char b[SUPERBLOCK_BYTES] = { 0 };
    uint64_t at = 0, size = f->id.size_bytes;
    grebe_status st = find_signature(f, &at, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (at == UINT64_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected an HDF5 file, found no signature in %llu bytes: not HDF5",
                          (unsigned long long)size);
    }
    size_t n = (size_t)min_u64(sizeof b, size - at);
    st = io_read(f, at, b, n, err);
    if (st != GREBE_OK) {
        return st;
    }
    unsigned version = b[8], o = version < 2 ? b[13] : b[9];
    size_t addresses = version == 0 ? 24 : version == 1 ? 28 : 12;
    if (version > VERSION_MAX) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "superblock: expected version 0 to %d, found %u", VERSION_MAX, version);
    }
    if (n < sizeof b && n < addresses + (size_t)4 * (o > 8 ? 8 : o)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "truncated file: the superblock needs %zu bytes, found %zu",
                          addresses + (size_t)4 * 8, n);
    }
    if (o != 2 && o != 4 && o != 8) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "superblock: expected offsets of 2, 4 or 8 bytes, found %u", o);
    }
    uint64_t end = load_address(b + addresses + (size_t)2 * o, o);
    if (end > size) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "truncated file: the superblock tells of %llu bytes, found %llu",
                          (unsigned long long)end, (unsigned long long)size);
    }
    return GREBE_OK;
}
