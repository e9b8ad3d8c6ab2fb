/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zip by its central directory (APPNOTE.TXT 6.3, 4.3.12-4.3.16): what the local headers say of sizes is not looked at. The
 * end record is searched from the end, its comment may be 65535 bytes.
 */
#include <string.h>

#include "archive/archive_internal.h"
#include "base/checked.h"
#include "base/endian.h"
#include "base/error.h"
#include "base/hash.h"
#include "codec/codec_compress.h"

enum {
    END_LEN = 22, END64_LEN = 56, LOCATOR_LEN = 20, ENTRY_LEN = 46, LOCAL_LEN = 30,
    METHOD_STORED = 0, METHOD_DEFLATE = 8, METHOD_ZSTD = 93
};

struct directory {
    uint64_t at, len, n;
};

static grebe_status fail_at(uint64_t at, const char *expected, grebe_error *err)
{
    return error_at(err, GREBE_FAIL(err, GREBE_ECORRUPT, "zip, byte %llu: expected %s", (unsigned long long)at, expected),
                    at);
}

static bool is_signature(const struct region *r, uint64_t at, size_t len, const char signature[4])
{
    return range_fits_u64(at, len, r->len) && memcmp(r->data + at, signature, 4) == 0;
}

/* Where the end record begins; false: there is none. */
static bool find_end(const struct region *r, uint64_t *at)
{
    if (r->len < END_LEN) {
        return false;
    }
    uint64_t first = r->len > END_LEN + 65535 ? r->len - END_LEN - 65535 : 0;
    for (uint64_t i = r->len - END_LEN + 1; i-- > first;) {
        if (memcmp(r->data + i, "PK\5\6", 4) == 0 && i + END_LEN + load_le16(r->data + i + 20) == r->len) {
            *at = i;
            return true;
        }
    }
    return false;
}

static grebe_status read_end(const struct region *r, struct directory *d, grebe_error *err)
{
    uint64_t at = 0;
    if (!find_end(r, &at)) {
        return fail_at(r->len, "an end of the central directory, found none", err);
    }
    const unsigned char *p = r->data + at;
    uint32_t disk = load_le16(p + 4), directory_disk = load_le16(p + 6);
    *d = (struct directory){ load_le32(p + 16), load_le32(p + 12), load_le16(p + 10) };
    bool is_64 = d->n == 0xffff || d->len == 0xffffffff || d->at == 0xffffffff;
    if (is_64 && at >= LOCATOR_LEN && is_signature(r, at - LOCATOR_LEN, LOCATOR_LEN, "PK\6\7")) {
        uint64_t end = load_le64(r->data + at - LOCATOR_LEN + 8);
        if (!is_signature(r, end, END64_LEN, "PK\6\6")) {
            return fail_at(end, "a zip64 end record", err);
        }
        p = r->data + end;
        disk = load_le32(p + 16);
        directory_disk = load_le32(p + 20);
        *d = (struct directory){ load_le64(p + 48), load_le64(p + 40), load_le64(p + 32) };
        at = end;
    }
    if (disk != 0 || directory_disk != 0) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "zip of several disks is not read");
    }
    if (!range_fits_u64(d->at, d->len, at) || d->n > d->len / ENTRY_LEN) {
        return fail_at(at, "a central directory inside the file", err);
    }
    return GREBE_OK;
}

/* Sizes that need 64 bits are in an extra field, in this order, those only that are all ones (4.5.3). */
static bool read_zip64(const unsigned char *p, size_t len, struct archive_member *m)
{
    while (len >= 4) {
        size_t id = load_le16(p), n = load_le16(p + 2);
        if (n > len - 4) {
            return false;
        }
        if (id == 1) {
            uint64_t *const fields[] = { &m->size, &m->stored, &m->at };
            size_t at = 0;
            for (size_t i = 0; i < 3; i++) {
                if (*fields[i] != 0xffffffff) {
                    continue;
                }
                if (at + 8 > n) {
                    return false;
                }
                *fields[i] = load_le64(p + 4 + at);
                at += 8;
            }
            return true;
        }
        p += 4 + n;
        len -= 4 + n;
    }
    return true;
}

/* From the local header, which has a name and an extra field of its own. */
static grebe_status find_content(const struct region *r, struct archive_member *m, grebe_error *err)
{
    uint64_t local = m->at;
    if (!is_signature(r, local, LOCAL_LEN, "PK\3\4")) {
        return fail_at(local, "a local header", err);
    }
    m->at = local + LOCAL_LEN + load_le16(r->data + local + 26) + load_le16(r->data + local + 28);
    if (!range_fits_u64(m->at, m->stored, r->len)) {
        return fail_at(m->at, "the content of a member, found the end", err);
    }
    return GREBE_OK;
}

static grebe_status read_entry(struct archive_list *list, uint64_t *at, uint64_t end, grebe_error *err)
{
    const struct region *r = list->z->base.region;
    const unsigned char *p = r->data + *at;
    if (end - *at < ENTRY_LEN || memcmp(p, "PK\1\2", 4) != 0) {
        return fail_at(*at, "an entry of the central directory", err);
    }
    size_t name_len = load_le16(p + 28), extra_len = load_le16(p + 30), comment_len = load_le16(p + 32);
    if (name_len + extra_len + comment_len > end - *at - ENTRY_LEN) {
        return fail_at(*at, "an entry inside the central directory", err);
    }
    struct archive_member m = { .size = load_le32(p + 24), .stored = load_le32(p + 20), .at = load_le32(p + 42),
                                .method = load_le16(p + 10), .crc = load_le32(p + 16) };
    const char *name = (const char *)p + ENTRY_LEN;
    if ((load_le16(p + 8) & 1) != 0) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "zip: encrypted members are not read");
    }
    if (!read_zip64(p + ENTRY_LEN + name_len, extra_len, &m)) {
        return fail_at(*at, "an extra field that is whole", err);
    }
    uint32_t mode = load_le32(p + 38) >> 16;
    m.is_folder = name_len > 0 && name[name_len - 1] == '/';
    m.is_other = (p[5] == 3 && (mode & 0170000) == 0120000) || memchr(name, '\0', name_len) != NULL; /* links of Unix */
    *at += ENTRY_LEN + name_len + extra_len + comment_len;
    grebe_status st = find_content(r, &m, err);
    if (st == GREBE_OK && m.method == METHOD_STORED && m.size != m.stored) {
        st = fail_at(m.at, "a stored member whose sizes agree", err);
    }
    return st == GREBE_OK ? archive_add(list, &m, name, name_len, err) : st;
}

grebe_status zip_list(struct archive_list *list, grebe_error *err)
{
    struct directory d = { 0 };
    grebe_status st = read_end(list->z->base.region, &d, err);
    if (st == GREBE_OK && d.n > ARCHIVE_MEMBERS_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "zip: expected at most %d members, found %llu", ARCHIVE_MEMBERS_MAX,
                        (unsigned long long)d.n);
    }
    uint64_t at = d.at, end = d.at + d.len;
    for (uint64_t i = 0; st == GREBE_OK && i < d.n; i++) {
        st = read_entry(list, &at, end, err);
    }
    return st;
}

static grebe_status expand(const struct archive *z, const struct archive_member *m, enum codec_id id, struct region **out,
                           grebe_error *err)
{
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(z->a);
    struct region *content = NULL;
    if (m->size > codec_expand_max(id, (size_t)m->stored)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%llu bytes are said to stand for %llu", (unsigned long long)m->stored,
                          (unsigned long long)m->size);
    }
    grebe_status st = region_new(z->a, (size_t)m->size, &content, err);
    if (st == GREBE_OK) {
        st = codec_decompress(id, z->region->data + m->at, (size_t)m->stored, content->data, (size_t)m->size, &ws, err);
    }
    codec_workspace_release(&ws);
    if (st != GREBE_OK) {
        region_drop(content);
        return st;
    }
    *out = content;
    return GREBE_OK;
}

/* In pieces: the length of crc32 of zlib has 32 bits. */
static uint32_t crc_of(const unsigned char *p, size_t len)
{
    enum { PIECE = 1 << 30 };
    uint32_t crc = 0;
    while (len > 0) {
        size_t n = min_size(len, PIECE);
        crc = hash_crc32(crc, p, n);
        p += n;
        len -= n;
    }
    return crc;
}

grebe_status zip_read(const struct archive *z, const struct archive_member *m, struct region **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    switch (m->method) {
    case METHOD_STORED: st = archive_view(z, m->at, m->size, out, err); break;
    case METHOD_DEFLATE: st = expand(z, m, CODEC_DEFLATE, out, err); break;
    case METHOD_ZSTD: st = expand(z, m, CODEC_ZSTD, out, err); break;
    default: return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "zip: compression method %d is not read", m->method);
    }
    if (st == GREBE_OK && crc_of((*out)->data, (*out)->len) != m->crc) {
        region_drop(*out);
        *out = NULL;
        st = error_at(err, GREBE_FAIL(err, GREBE_ECORRUPT, "byte %llu: the checksum does not fit the content",
                                      (unsigned long long)m->at), m->at);
    }
    return st;
}
