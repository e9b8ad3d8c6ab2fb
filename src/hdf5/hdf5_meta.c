/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Superblocks and object headers.
 *
 *   0        signature 89 "HDF" 0d 0a 1a 0a, at byte 0, 512, 1024, 2048, … (a user block stands before it)
 *   8        version
 *   0 and 1: 13 bytes of an address, 14 of a length, 24 (28) base, free space, end, driver, root entry (name, header, …)
 *   2 and 3: 9 bytes of an address, 10 of a length, 12 base, extension, end, root header
 *
 * (II.A, IV.A)
 */
#include <string.h>

#include "hdf5/hdf5_internal.h"

#include "base/checked.h"
#include "base/endian.h"

enum { SUPERBLOCK_BYTES = 96, VERSION_MAX = 3, BLOCKS_MAX = 256, BLOCK_BYTES_MAX = 16 << 20, CONTINUATION = 0x10 };

static const unsigned char signature[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };

bool hdf5_has_signature(const unsigned char *head, size_t n)
{
    return n >= sizeof signature && memcmp(head, signature, sizeof signature) == 0;
}

uint64_t hdf5_number(const unsigned char *p, unsigned n)
{
    switch (n) {
    case 2: return load_le16(p) == UINT16_MAX ? HDF5_NOWHERE : load_le16(p);
    case 4: return load_le32(p) == UINT32_MAX ? HDF5_NOWHERE : load_le32(p);
    default: return load_le64(p);
    }
}

grebe_status hdf5_damaged(grebe_error *err, const char *what, uint64_t address)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "HDF5 structure damaged: %s at %llu", what, (unsigned long long)address);
}

grebe_status hdf5_at(struct hdf5_file *f, uint64_t address, void *dst, uint64_t n, const char *what, grebe_error *err)
{
    uint64_t at = 0, size = f->bytes->id.size_bytes;
    if (!checked_add_u64(address, f->base, &at) || !range_fits_u64(at, n, size)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "HDF5 structure damaged: %s: %llu bytes at %llu, the file has %llu", what,
                          (unsigned long long)n, (unsigned long long)address, (unsigned long long)size);
    }
    return io_read(f->bytes, at, dst, (size_t)n, err);
}

/* ---- superblock ---- */

static grebe_status find_signature(struct hdf5_file *f, uint64_t *out, grebe_error *err)
{
    unsigned char head[sizeof signature];
    uint64_t size = f->bytes->id.size_bytes;
    for (uint64_t at = 0; range_fits_u64(at, sizeof head, size) && at < (uint64_t)1 << 40; at = at == 0 ? 512 : at * 2) {
        grebe_status st = io_read(f->bytes, at, head, sizeof head, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (hdf5_has_signature(head, sizeof head)) {
            *out = at;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "expected an HDF5 file, found no signature in %llu bytes: not HDF5",
                      (unsigned long long)size);
}

grebe_status hdf5_superblock_read(struct hdf5_file *f, grebe_error *err)
{
    unsigned char b[SUPERBLOCK_BYTES] = { 0 };
    uint64_t at = 0, size = f->bytes->id.size_bytes;
    grebe_status st = find_signature(f, &at, err);
    if (st != GREBE_OK) {
        return st;
    }
    size_t n = (size_t)min_u64(sizeof b, size - at);
    st = io_read(f->bytes, at, b, n, err);
    if (st != GREBE_OK) {
        return st;
    }
    unsigned version = b[8];
    bool is_old = version < 2;
    f->n_offset = is_old ? b[13] : b[9];
    f->n_length = is_old ? b[14] : b[10];
    size_t places = version == 0 ? 24 : version == 1 ? 28 : 12, o = f->n_offset;
    if (version > VERSION_MAX) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "superblock: expected version 0 to %d, found %u", VERSION_MAX, version);
    }
    if ((f->n_offset != 2 && f->n_offset != 4 && f->n_offset != 8) ||
        (f->n_length != 2 && f->n_length != 4 && f->n_length != 8)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "superblock: expected numbers of 2, 4 or 8 bytes, found %u and %u",
                          f->n_offset, f->n_length);
    }
    size_t needed = places + (is_old ? 6 : 4) * o;
    uint64_t end = n < places + 3 * o ? 0 : hdf5_number(b + places + 2 * o, f->n_offset);
    if (n < needed || end > size) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "truncated file: the superblock tells of %llu bytes, found %llu",
                          (unsigned long long)(n < needed ? at + needed : end), (unsigned long long)size);
    }
    f->base = hdf5_number(b + places, f->n_offset);
    /* old: the root group's symbol table entry, whose header address follows a name's offset of as many bytes */
    f->root = hdf5_number(b + places + (is_old ? 5 : 3) * o, f->n_offset);
    if (f->base > size) {
        return hdf5_damaged(err, "base address", at);
    }
    return GREBE_OK;
}

/* ---- object headers ---- */

/* Blocks of a header: the first, and those that continuation messages name. */
struct blocks {
    uint64_t at[BLOCKS_MAX], len[BLOCKS_MAX];
    size_t n;
    bool is_new; /* version 2: messages have short heads, further blocks signatures and checksums */
    unsigned flags;
};

static grebe_status add_block(struct blocks *b, uint64_t at, uint64_t len, grebe_error *err)
{
    if (b->n == BLOCKS_MAX || len > BLOCK_BYTES_MAX) {
        return hdf5_damaged(err, "object header of too many or too large blocks", at);
    }
    b->at[b->n] = at;
    b->len[b->n++] = len;
    return GREBE_OK;
}

static grebe_status first_block(struct hdf5_file *f, uint64_t header, struct blocks *b, grebe_error *err)
{
    unsigned char h[32] = { 0 };
    grebe_status st = hdf5_at(f, header, h, 16, "object header", err);
    b->n = 0;
    if (st != GREBE_OK) {
        return st;
    }
    b->is_new = memcmp(h, "OHDR", 4) == 0;
    if (!b->is_new) {
        return h[0] != 1 ? hdf5_damaged(err, "object header", header) : add_block(b, header + 16, load_le32(h + 8), err);
    }
    b->flags = h[5];
    size_t head = 6 + ((b->flags & 0x20) != 0 ? 16u : 0) + ((b->flags & 0x10) != 0 ? 4u : 0);
    size_t width = (size_t)1 << (b->flags & 3);
    if (h[4] != 2) {
        return hdf5_damaged(err, "version of an object header", header);
    }
    st = hdf5_at(f, header + head, h, width, "object header", err);
    if (st != GREBE_OK) {
        return st;
    }
    uint64_t len = width == 1 ? h[0] : hdf5_number(h, (unsigned)width);
    return add_block(b, header + head + width, len, err);
}

static grebe_status walk_block(struct hdf5_file *f, struct blocks *b, size_t i, const unsigned char *p, hdf5_message_fn fn,
                               void *arg, grebe_error *err)
{
    size_t n = (size_t)b->len[i], at = 0;
    size_t head = b->is_new ? 4 + ((b->flags & 4) != 0 ? 2u : 0) : 8;
    if (b->is_new && i > 0) { /* "OCHK" before, a checksum behind */
        if (n < 8 || memcmp(p, "OCHK", 4) != 0) {
            return hdf5_damaged(err, "continuation of an object header", b->at[i]);
        }
        at = 4;
        n -= 4;
    }
    while (at < n && n - at >= head) {
        unsigned type = b->is_new ? p[at] : load_le16(p + at);
        size_t size = b->is_new ? load_le16(p + at + 1) : load_le16(p + at + 2);
        unsigned flags = b->is_new ? p[at + 3] : p[at + 4];
        at += head;
        if (size > n - at) {
            return hdf5_damaged(err, "message of an object header", b->at[i] + at);
        }
        if (type == CONTINUATION) {
            if (size < f->n_offset + f->n_length) {
                return hdf5_damaged(err, "continuation message", b->at[i] + at);
            }
            grebe_status st = add_block(b, hdf5_number(p + at, f->n_offset), hdf5_number(p + at + f->n_offset, f->n_length), err);
            if (st != GREBE_OK) {
                return st;
            }
        } else if (type != 0) {
            grebe_status st = fn(arg, type, (flags & 2) != 0, p + at, size, f->base + b->at[i] + at, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        at += size;
    }
    return GREBE_OK;
}

grebe_status hdf5_messages(struct hdf5_file *f, uint64_t header, hdf5_message_fn fn, void *arg, grebe_error *err)
{
    struct blocks b = { .n = 0 };
    struct buf bytes = BUF_INIT(f->ctx->a);
    grebe_status st = first_block(f, header, &b, err);
    for (size_t i = 0; st == GREBE_OK && i < b.n; i++) {
        buf_clear(&bytes);
        if (!range_fits_u64(b.at[i], b.len[i], f->bytes->id.size_bytes)) {
            st = hdf5_damaged(err, "block of an object header", b.at[i]);
            break;
        }
        GREBE_TRY(buf_reserve(&bytes, (size_t)b.len[i] + 1, err));
        GREBE_TRY(hdf5_at(f, b.at[i], bytes.data, b.len[i], "object header", err));
        st = walk_block(f, &b, i, bytes.data, fn, arg, err);
    }
    st = st == GREBE_END ? GREBE_OK : st;
out:
    buf_release(&bytes);
    return st;
}
