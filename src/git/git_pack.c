/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pack of version 2 and its index (gitformat-pack), written once from front to back.
 *
 *  1 Nothing of it has a name that git looks at before repo_pack_publish().
 *  2 The index gets its name last: a pack without one is not seen by anybody.
 *  3 Every base of a delta lies in the same pack when it is published.
 *  4 A ".keep" file stands beside it until repo_pack_free(): a git gc that began before the reference moved leaves the pack alone.
 */
#define OPENSSL_SUPPRESS_DEPRECATED /* as in git_oid.c */
#include "git/git_repo.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/hash.h"
#include "git/git_library.h"
#include "git/git_pack_raw.h"
#include "git/git_temp.h"
#include "git/git_zlib.h"

enum { HEADER = 12, BLOCK = 1 << 20, DELTA_MIN = 4, REF_DELTA = 7, NO_ENTRY = 0 };

struct entry {
    struct repo_oid oid;
    uint32_t crc;
    uint64_t offset;
};

struct repo_pack {
    struct repo *repo;
    const grebe_allocator *a;
    struct repo_temp file;
    struct buf pending; /* not written yet */
    struct buf entries; /* struct entry each, in the order of the file */
    struct buf bases;   /* struct repo_oid of each delta's base */
    uint32_t *slots;    /* of `entries`, number + 1; 0: free. Shape [n_slots], a power of two */
    size_t n_slots;
    struct repo_deflater deflater;
    char *keep; /* path of our ".keep" file; NULL: none */
    bool is_published;
    bool is_broken; /* a write failed: the file lacks bytes */
};

static size_t n_entries(const struct repo_pack *p) { return p->entries.len / sizeof(struct entry); }
static struct entry *entry_at(const struct repo_pack *p, size_t i)
{
    return (struct entry *)(void *)p->entries.data + i;
}

/* ---- which objects are in ---- */

static size_t slot_of(const struct repo_pack *p, const struct repo_oid *oid)
{
    uint64_t h = 0;
    memcpy(&h, oid->bytes, sizeof h); /* a hash already */
    size_t i = (size_t)h & (p->n_slots - 1);
    while (p->slots[i] != NO_ENTRY && !repo_oid_equal(&entry_at(p, p->slots[i] - 1)->oid, oid)) {
        i = (i + 1) & (p->n_slots - 1);
    }
    return i;
}

static bool has_entry(const struct repo_pack *p, const struct repo_oid *oid)
{
    return p->n_slots > 0 && p->slots[slot_of(p, oid)] != NO_ENTRY;
}

static grebe_status grow_slots(struct repo_pack *p, grebe_error *err)
{
    size_t n = p->n_slots == 0 ? 1024 : p->n_slots * 2;
    uint32_t *slots = mem_alloc_zero(p->a, n * sizeof *slots);
    if (slots == NULL) {
        return mem_fail(err, n * sizeof *slots, "objects of a pack");
    }
    if (p->slots != NULL) {
        mem_free(p->a, p->slots, p->n_slots * sizeof *p->slots);
    }
    p->slots = slots;
    p->n_slots = n;
    for (size_t i = 0; i < n_entries(p); i++) {
        p->slots[slot_of(p, &entry_at(p, i)->oid)] = (uint32_t)i + 1;
    }
    return GREBE_OK;
}

/* ---- begin ---- */

grebe_status repo_pack_begin(struct repo *r, struct repo_pack **out, grebe_error *err)
{
    static const unsigned char header[HEADER] = { 'P', 'A', 'C', 'K', 0, 0, 0, 2, 0, 0, 0, 0 };
    *out = NULL;
    struct repo_pack *p = mem_alloc_zero(r->a, sizeof *p);
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "a pack");
    }
    p->repo = r;
    p->a = r->a;
    p->file = (struct repo_temp)REPO_TEMP_INIT;
    p->pending = BUF_INIT(r->a);
    p->entries = BUF_INIT(r->a);
    p->bases = BUF_INIT(r->a);
    repo_deflater_init(&p->deflater, r->a);
    repo_store_begin(r->store);
    grebe_status st = buf_put(&p->pending, header, sizeof header, err);
    if (st == GREBE_OK) {
        st = grow_slots(p, err);
    }
    if (st != GREBE_OK) {
        repo_pack_free(p);
        return st;
    }
    *out = p;
    return GREBE_OK;
}

/* The file is made when there is something to write: a write that changes nothing leaves the folder alone. */
static grebe_status flush(struct repo_pack *p, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (p->file.path == NULL) {
        struct buf folder = BUF_INIT(p->a);
        st = buf_printf(&folder, err, "%s/pack", p->repo->objects);
        if (st == GREBE_OK) {
            st = repo_temp_create(p->repo->ctx, buf_text(&folder), "tmp_pack_", &p->file, err);
        }
        buf_release(&folder);
    }
    if (st == GREBE_OK) {
        st = repo_temp_write(&p->file, p->pending.data, p->pending.len, err);
        buf_clear(&p->pending);
    }
    p->is_broken |= st != GREBE_OK;
    return st;
}

bool repo_pack_has(const struct repo_pack *p, const struct repo_oid *oid) { return has_entry(p, oid); }

struct repo *repo_pack_repo(const struct repo_pack *p) { return p->repo; }

uint64_t repo_pack_bytes(const struct repo_pack *p) { return p->file.len + p->pending.len; }

/* ---- add ---- */

grebe_status repo_pack_put_head(struct buf *b, unsigned type, uint64_t len, grebe_error *err)
{
    unsigned char bytes[12];
    size_t n = 0;
    unsigned char c = (unsigned char)(type << 4 | (len & 15));
    for (len >>= 4; len > 0; len >>= 7) {
        bytes[n++] = c | 128;
        c = len & 127;
    }
    bytes[n++] = c;
    return buf_put(b, bytes, n, err);
}

static grebe_status make_room(struct repo_pack *p, grebe_error *err)
{
    if (n_entries(p) >= UINT32_MAX - 1) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "a pack has at most %u objects", UINT32_MAX - 1);
    }
    return (n_entries(p) + 1) * 2 > p->n_slots ? grow_slots(p, err) : GREBE_OK;
}

/* What lies in `pending` behind `start` becomes an entry. Nothing is changed on failure, but for a failing disk. */
static grebe_status end_entry(struct repo_pack *p, size_t start, const struct repo_oid *oid, uint32_t crc,
                              grebe_error *err)
{
    struct entry e = { *oid, crc, p->file.len + start };
    grebe_status st = buf_put(&p->entries, &e, sizeof e, err);
    if (st != GREBE_OK) {
        p->pending.len = start;
        return st;
    }
    p->slots[slot_of(p, oid)] = (uint32_t)n_entries(p);
    return p->pending.len >= BLOCK ? flush(p, err) : GREBE_OK;
}

/* Head, base of a delta, stream. `oid` is known not to be in. Nothing is changed on failure, but for a failing disk. */
static grebe_status append(struct repo_pack *p, unsigned type, const struct repo_oid *oid, const struct repo_oid *base,
                           const void *bytes, size_t len, int level, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t start = p->pending.len;
    GREBE_TRY(make_room(p, err));
    GREBE_TRY(repo_pack_put_head(&p->pending, type, len, err));
    if (base != NULL) {
        GREBE_TRY(buf_put(&p->pending, base->bytes, sizeof base->bytes, err));
    }
    GREBE_TRY(repo_deflate(&p->deflater, bytes, len, level, &p->pending, err));
    if (base != NULL) {
        GREBE_TRY(buf_put(&p->bases, base, sizeof *base, err));
    }
    return end_entry(p, start, oid, hash_crc32(0, p->pending.data + start, p->pending.len - start), err);
out:
    p->pending.len = start;
    return st;
}

bool repo_pack_lacks(const struct repo_pack *p, const struct repo_oid *oid)
{
    return !has_entry(p, oid) && !repo_store_touch(p->repo->store, oid);
}

grebe_status repo_pack_put_entry(struct repo_pack *p, const struct repo_oid *oid, const void *entry, size_t len,
                                uint32_t crc, grebe_error *err)
{
    size_t start = p->pending.len;
    assert(!p->is_published && !has_entry(p, oid));
    grebe_status st = make_room(p, err);
    st = st == GREBE_OK ? buf_put(&p->pending, entry, len, err) : st;
    return st == GREBE_OK ? end_entry(p, start, oid, crc, err) : st;
}

grebe_status repo_pack_add(struct repo_pack *p, enum repo_object type, const void *bytes, size_t len, int level,
                          struct repo_oid *out, grebe_error *err)
{
    assert(!p->is_published);
    repo_oid_of(type, bytes, len, out);
    if (!repo_pack_lacks(p, out)) {
        return GREBE_OK;
    }
    return append(p, (unsigned)type, out, NULL, bytes, len, level, err);
}

grebe_status repo_pack_add_delta(struct repo_pack *p, const struct repo_oid *oid, const struct repo_oid *base,
                                const void *delta, size_t len, grebe_error *err)
{
    assert(!p->is_published);
    if (len < DELTA_MIN || repo_oid_equal(oid, base)) { /* git reads no shorter ones */
        return GREBE_FAIL(err, GREBE_EINVAL, "expected a delta of at least %d bytes against another object, found %zu",
                          DELTA_MIN, len);
    }
    if (!repo_pack_lacks(p, oid)) {
        return GREBE_OK;
    }
    return append(p, REF_DELTA, oid, base, delta, len, REPO_RECORDS(0), err);
}

/* ---- publish ---- */

/* Bases that the repository has, but not this pack, are put in whole: a pack that is stored must stand alone. */
static grebe_status complete_bases(struct repo_pack *p, grebe_error *err)
{
    for (size_t i = 0; i < p->bases.len / sizeof(struct repo_oid); i++) {
        struct repo_oid base;
        memcpy(&base, p->bases.data + i * sizeof base, sizeof base);
        if (has_entry(p, &base)) {
            continue;
        }
        enum repo_object type = REPO_BLOB;
        uint64_t size = 0;
        struct region *region = NULL;
        const unsigned char *bytes = NULL;
        size_t len = 0;
        grebe_status st = repo_object_stat(p->repo, &base, &type, &size, err);
        if (st == GREBE_OK) {
            st = repo_object_read(p->repo, &base, type, &region, &bytes, &len, err);
        }
        if (st == GREBE_OK) {
            st = append(p, (unsigned)type, &base, NULL, bytes, len, -1, err);
        }
        region_drop(region);
        if (st != GREBE_OK) {
            return error_wrap(err, st == GREBE_ENOTFOUND ? GREBE_EINVAL : st, "base of a delta");
        }
    }
    return GREBE_OK;
}

static grebe_status put_be32(struct buf *b, uint32_t v, grebe_error *err)
{
    unsigned char bytes[4];
    store_be32(bytes, v);
    return buf_put(b, bytes, sizeof bytes, err);
}

/* The number of objects goes into the header, then the hash of everything behind the last object. */
static grebe_status finish_pack(struct repo_pack *p, unsigned char sha_out[SHA_DIGEST_LENGTH], grebe_error *err)
{
    unsigned char count[4];
    SHA_CTX sha;
    grebe_status st = flush(p, err);
    if (st != GREBE_OK) {
        return st;
    }
    store_be32(count, (uint32_t)n_entries(p));
    GREBE_TRY(repo_temp_patch(&p->file, 8, count, sizeof count, err));
    GREBE_TRY(buf_reserve(&p->pending, BLOCK, err)); /* empty now: scratch */
    SHA1_Init(&sha);
    for (uint64_t at = 0; at < p->file.len;) {
        size_t n = (size_t)min_u64(BLOCK, p->file.len - at);
        GREBE_TRY(repo_temp_read(&p->file, at, p->pending.data, n, err));
        SHA1_Update(&sha, p->pending.data, n);
        at += n;
    }
    SHA1_Final(sha_out, &sha);
    GREBE_TRY(repo_temp_write(&p->file, sha_out, SHA_DIGEST_LENGTH, err));
    st = repo_temp_sync(&p->file, err);
out:
    return st;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return memcmp(x->oid.bytes, y->oid.bytes, sizeof x->oid.bytes);
}

/* Index of version 2: fan-out, ids, CRCs, offsets, and 64-bit ones for what lies beyond 2 GiB. Sorts the entries. */
static grebe_status encode_index(struct repo_pack *p, const unsigned char *pack_sha, struct buf *out, grebe_error *err)
{
    static const unsigned char magic[8] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
    grebe_status st = GREBE_OK;
    size_t n = n_entries(p);
    struct entry *e = entry_at(p, 0);
    uint32_t n_large = 0;
    unsigned char sha[SHA_DIGEST_LENGTH];

    qsort(e, n, sizeof *e, compare_entries);
    GREBE_TRY(buf_put(out, magic, sizeof magic, err));
    for (size_t first = 0, i = 0; first < 256; first++) {
        while (i < n && e[i].oid.bytes[0] <= first) {
            i++;
        }
        GREBE_TRY(put_be32(out, (uint32_t)i, err));
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(buf_put(out, e[i].oid.bytes, sizeof e[i].oid.bytes, err));
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(put_be32(out, e[i].crc, err));
    }
    for (size_t i = 0; i < n; i++) {
        bool is_large = e[i].offset >> 31 != 0;
        GREBE_TRY(put_be32(out, is_large ? 0x80000000u | n_large++ : (uint32_t)e[i].offset, err));
    }
    for (size_t i = 0; i < n; i++) {
        if (e[i].offset >> 31 != 0) {
            GREBE_TRY(put_be32(out, (uint32_t)(e[i].offset >> 32), err));
            GREBE_TRY(put_be32(out, (uint32_t)e[i].offset, err));
        }
    }
    GREBE_TRY(buf_put(out, pack_sha, SHA_DIGEST_LENGTH, err));
    SHA1(out->data, out->len, sha);
    st = buf_put(out, sha, sizeof sha, err);
out:
    return st;
}

/* One that is there is somebody else's, who removes it. */
static grebe_status put_keep(struct repo_pack *p, const char *path, grebe_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (fd < 0) {
        return errno == EEXIST ? GREBE_OK : GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot make a file", path);
    }
    p->keep = str_copy(p->a, path);
    if (p->keep == NULL) {
        unlink(path);
    }
    ssize_t n = write(fd, REPO_KEEP_TEXT, sizeof REPO_KEEP_TEXT - 1);
    int failed = n == (ssize_t)sizeof REPO_KEEP_TEXT - 1 ? 0 : n < 0 ? errno : ENOSPC;
    close(fd);
    if (p->keep == NULL) {
        return mem_fail(err, strlen(path), "a path");
    }
    return failed == 0 ? GREBE_OK : GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "%s: cannot write", path);
}

static grebe_status name_files(struct repo_pack *p, struct repo_temp *index, const unsigned char *sha, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(p->a);
    struct repo_oid name;
    char hex[REPO_OID_HEX + 1];
    size_t stem = 0;
    memcpy(name.bytes, sha, sizeof name.bytes);
    repo_oid_hex(&name, hex);
    GREBE_TRY(buf_printf(&path, err, "%s/pack/pack-%s", p->repo->objects, hex));
    stem = path.len;
    GREBE_TRY(buf_reserve(&path, 16, err)); /* later steps need no memory */
    GREBE_TRY(buf_put_text(&path, ".keep", err));
    GREBE_TRY(put_keep(p, buf_text(&path), err));
    path.len = stem;
    GREBE_TRY(buf_put_text(&path, ".idx", err));
    if (access(buf_text(&path), F_OK) == 0) {
        goto out; /* the same bytes stand there: releasing the files removes ours */
    }
    path.len = stem;
    GREBE_TRY(buf_put_text(&path, ".pack", err));
    GREBE_TRY(repo_temp_rename(&p->file, buf_text(&path), err));
    path.len = stem;
    st = buf_put_text(&path, ".idx", err);
    if (st == GREBE_OK) {
        st = repo_temp_rename(index, buf_text(&path), err);
    }
    if (st != GREBE_OK) {
        path.len = stem;
        if (buf_put_text(&path, ".pack", NULL) == GREBE_OK) {
            unlink(buf_text(&path));
        }
        goto out;
    }
    path.len = stem - sizeof "/pack-" + 1 - REPO_OID_HEX;
    st = repo_sync_folder(buf_text(&path), err);
out:
    buf_release(&path);
    return st;
}

grebe_status repo_pack_publish(struct repo_pack *p, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf index = BUF_INIT(p->a);
    struct repo_temp index_file = REPO_TEMP_INIT;
    unsigned char sha[SHA_DIGEST_LENGTH];
    assert(!p->is_published);

    if (p->is_broken) {
        return GREBE_FAIL(err, GREBE_EIO, "the pack could not be written");
    }
    p->is_published = true;
    if (n_entries(p) == 0) {
        return GREBE_OK;
    }
    GREBE_TRY(complete_bases(p, err));
    GREBE_TRY(finish_pack(p, sha, err));
    GREBE_TRY(encode_index(p, sha, &index, err));
    buf_clear(&p->pending);
    GREBE_TRY(buf_printf(&p->pending, err, "%s/pack", p->repo->objects));
    GREBE_TRY(repo_temp_create(p->repo->ctx, buf_text(&p->pending), "tmp_idx_", &index_file, err));
    GREBE_TRY(repo_temp_write(&index_file, index.data, index.len, err));
    GREBE_TRY(repo_temp_sync(&index_file, err));
    GREBE_TRY(name_files(p, &index_file, sha, err));
    st = repo_refresh(p->repo, err);
out:
    repo_temp_release(&index_file);
    buf_release(&index);
    return st;
}

void repo_pack_free(struct repo_pack *p)
{
    if (p == NULL) {
        return;
    }
    if (p->keep != NULL) {
        unlink(p->keep);
        str_free(p->a, p->keep);
    }
    repo_temp_release(&p->file);
    buf_release(&p->pending);
    buf_release(&p->entries);
    buf_release(&p->bases);
    repo_deflater_release(&p->deflater);
    if (p->slots != NULL) {
        mem_free(p->a, p->slots, p->n_slots * sizeof *p->slots);
    }
    mem_free(p->a, p, sizeof *p);
}
