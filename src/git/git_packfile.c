/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_packfile.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "git/git_delta.h"
#include "git/git_zlib.h"

enum { OID = 20, FAN_OUT = 256 * 4, INDEX_TRAILER = 2 * OID, PACK_HEADER = 12, OFS_DELTA = 6, REF_DELTA = 7 };

/* RFC 1951: a byte of deflate stands for at most 1032. A length beyond that is a lie, found before memory is asked for.
 */
enum { INFLATE_RATIO = 1032 };

/* ---- the index ---- */

static grebe_status check_index(struct repo_packfile *p, const unsigned char *bytes, size_t len, grebe_error *err)
{
    static const unsigned char magic[8] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
    bool is_v2 = len >= 8 && memcmp(bytes, magic, 4) == 0;
    size_t head = is_v2 ? 8 : 0;
    size_t per_object = is_v2 ? OID + 4 + 4 : 4 + OID;
    if (len < head + FAN_OUT + INDEX_TRAILER || (is_v2 && memcmp(bytes, magic, 8) != 0)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%s.idx: expected a pack index of version 1 or 2, found %zu bytes of something else", p->stem,
                          len);
    }
    p->fan_out = bytes + head;
    uint32_t before = 0;
    for (size_t i = 0; i < 256; i++) {
        uint32_t n = load_be32(p->fan_out + 4 * i);
        if (n < before) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s.idx: expected ascending counts, found %u after %u", p->stem, n,
                              before);
        }
        before = n;
    }
    p->n = before;
    size_t rest = len - head - FAN_OUT - INDEX_TRAILER;
    if (p->n > rest / per_object || (!is_v2 && rest != p->n * per_object) || (rest - p->n * per_object) % 8 != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s.idx: expected %zu bytes for each of %u objects, found %zu bytes",
                          p->stem, per_object, p->n, rest);
    }
    const unsigned char *at = p->fan_out + FAN_OUT;
    p->stride = is_v2 ? OID : 4 + OID;
    p->names = is_v2 ? at : at + 4;
    p->offsets = is_v2 ? at + (size_t)p->n * (OID + 4) : NULL;
    p->large = is_v2 ? p->offsets + (size_t)p->n * 4 : NULL;
    p->n_large = (rest - p->n * per_object) / 8;
    return GREBE_OK;
}

/* Packs are used in place. */
static grebe_status need_map(const struct io_shared_file *f, grebe_error *err)
{
    if (f->map != NULL || f->file->id.size_bytes == 0) {
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_ENOMEM, "%s: cannot map %llu bytes", f->file->path,
                      (unsigned long long)f->file->id.size_bytes);
}

grebe_status repo_packfile_open(struct io_store *files, const char *stem, size_t len, struct repo_packfile **out,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = files->ctx->a;
    struct buf path = BUF_INIT(a);
    *out = NULL;
    struct repo_packfile *p = mem_alloc_zero(a, sizeof *p);
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "a pack");
    }
    atomic_init(&p->refs, 1);
    pthread_mutex_init(&p->mutex, NULL);
    p->a = a;
    p->stem = str_copy_len(a, stem, len);
    if (p->stem == NULL) {
        st = mem_fail(err, len, "a path");
        goto out;
    }
    GREBE_TRY(buf_printf(&path, err, "%s.idx", p->stem));
    GREBE_TRY(io_open_shared(files, (const char *)path.data, &p->index, err));
    GREBE_TRY(need_map(p->index, err));
    if (p->index->map == NULL) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s.idx: expected a pack index, found an empty file", p->stem);
        goto out;
    }
    GREBE_TRY(check_index(p, p->index->map->data, p->index->map->len, err));
    *out = p;
    p = NULL;
out:
    buf_release(&path);
    repo_packfile_drop(p);
    return st;
}

void repo_packfile_drop(struct repo_packfile *p)
{
    if (p == NULL || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    io_shared_drop(p->index);
    io_shared_drop(p->pack);
    pthread_mutex_destroy(&p->mutex);
    str_free(p->a, p->stem);
    mem_free(p->a, p, sizeof *p);
}

bool repo_packfile_find(const struct repo_packfile *p, const struct repo_oid *oid, uint32_t *at)
{
    unsigned first = oid->bytes[0];
    uint32_t begin = first == 0 ? 0 : load_be32(p->fan_out + 4 * (first - 1));
    uint32_t end = load_be32(p->fan_out + 4 * first);
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        int c = memcmp(p->names + (size_t)middle * p->stride, oid->bytes, OID);
        if (c == 0) {
            *at = middle;
            return true;
        }
        if (c < 0) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return false;
}

static grebe_status offset_of(const struct repo_packfile *p, uint32_t at, uint64_t *out, grebe_error *err)
{
    assert(at < p->n);
    uint32_t v =
        p->offsets != NULL ? load_be32(p->offsets + (size_t)at * 4) : load_be32(p->names + (size_t)at * p->stride - 4);
    *out = v;
    if (p->offsets == NULL || v >> 31 == 0) {
        return GREBE_OK;
    }
    v &= 0x7fffffffu;
    if (v >= p->n_large) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s.idx: expected one of %zu large offsets, found number %u", p->stem,
                          p->n_large, v);
    }
    *out = (uint64_t)load_be32(p->large + (size_t)v * 8) << 32 | load_be32(p->large + (size_t)v * 8 + 4);
    return GREBE_OK;
}

/* ---- the pack ---- */

static grebe_status check_pack(const struct repo_packfile *p, const struct region *map, grebe_error *err)
{
    const unsigned char *index_end = p->index->map->data + p->index->map->len;
    if (map == NULL || map->len < PACK_HEADER + OID || memcmp(map->data, "PACK", 4) != 0 ||
        (load_be32(map->data + 4) != 2 && load_be32(map->data + 4) != 3)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%s.pack: expected a pack of version 2, found %zu bytes of something else", p->stem,
                          map == NULL ? 0 : map->len);
    }
    if (load_be32(map->data + 8) != p->n || memcmp(map->data + map->len - OID, index_end - INDEX_TRAILER, OID) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "%s.pack: expected the pack of its index (%u objects), found another or a cut one (%u)",
                          p->stem, p->n, load_be32(map->data + 8));
    }
    return GREBE_OK;
}

static grebe_status open_pack(struct repo_packfile *p, struct io_store *files, const struct region **out,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_shared_file *f = NULL;
    pthread_mutex_lock(&p->mutex);
    if (p->pack == NULL) {
        struct buf path = BUF_INIT(p->a);
        st = buf_printf(&path, err, "%s.pack", p->stem);
        if (st == GREBE_OK) {
            st = io_open_shared(files, (const char *)path.data, &f, err);
        }
        buf_release(&path);
        if (st == GREBE_OK) {
            st = need_map(f, err);
        }
        if (st == GREBE_OK) {
            st = check_pack(p, f->map, err);
        }
        if (st == GREBE_OK) {
            p->pack = f;
            f = NULL;
        }
        io_shared_drop(f);
    }
    *out = st == GREBE_OK ? p->pack->map : NULL;
    pthread_mutex_unlock(&p->mutex);
    return st;
}

/* One object as it is stored. */
struct item {
    uint64_t offset;
    unsigned type;
    uint64_t size;           /* of what is inflated: the object or the delta */
    size_t stream;           /* where the zlib stream begins */
    uint64_t base;           /* OFS_DELTA: offset of the base */
    struct repo_oid base_oid; /* REF_DELTA */
};

static grebe_status fail_at(const struct repo_packfile *p, uint64_t offset, const char *what, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s.pack: byte %llu: %s", p->stem, (unsigned long long)offset, what);
}

static grebe_status read_item(const struct repo_packfile *p, const struct region *map, uint64_t offset, struct item *out,
                              grebe_error *err)
{
    const unsigned char *b = map->data;
    size_t end = map->len - OID;
    if (offset < PACK_HEADER || offset >= end) {
        return fail_at(p, offset, "expected an offset inside the pack", err);
    }
    size_t at = (size_t)offset;
    unsigned char c = b[at++];
    memset(out, 0, sizeof *out);
    out->offset = offset;
    out->type = c >> 4 & 7;
    out->size = c & 15;
    for (unsigned shift = 4; c >= 128; shift += 7) {
        if (at >= end || shift > 56) {
            return fail_at(p, offset, "expected the length of an object", err);
        }
        c = b[at++];
        out->size |= (uint64_t)(c & 127) << shift;
    }
    if (out->type == OFS_DELTA) {
        uint64_t back = 0;
        do {
            if (at >= end || back > UINT64_MAX >> 9) {
                return fail_at(p, offset, "expected the distance of a base", err);
            }
            c = b[at++];
            back = (back << 7) + (c & 127) + (c >= 128 ? 1 : 0); /* each further byte counts from one higher */
        } while (c >= 128);
        if (back == 0 || back > offset) {
            return fail_at(p, offset, "expected a base before the delta", err);
        }
        out->base = offset - back;
    } else if (out->type == REF_DELTA) {
        if (end - at < OID) {
            return fail_at(p, offset, "expected the id of a base", err);
        }
        memcpy(out->base_oid.bytes, b + at, OID);
        at += OID;
    } else if (out->type < REPO_COMMIT || out->type > REPO_TAG) {
        return fail_at(p, offset, "expected an object or a delta", err);
    }
    if (out->size / INFLATE_RATIO > end - at) {
        return fail_at(p, offset, "expected a length that the rest of the pack can hold", err);
    }
    out->stream = at;
    return GREBE_OK;
}

static grebe_status base_offset(const struct repo_packfile *p, const struct item *e, uint64_t *out, grebe_error *err)
{
    uint32_t at = 0;
    if (e->type == OFS_DELTA) {
        *out = e->base;
        return GREBE_OK;
    }
    if (!repo_packfile_find(p, &e->base_oid, &at)) {
        char hex[REPO_OID_HEX + 1];
        repo_oid_hex(&e->base_oid, hex);
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s.pack: byte %llu: the base %s of a delta is not in the pack", p->stem,
                          (unsigned long long)e->offset, hex);
    }
    return offset_of(p, at, out, err);
}

/* The object at `offset` and all bases below it, the last of which is whole. Appended to chain as struct item. */
static grebe_status collect_chain(const struct repo_packfile *p, const struct region *map, uint64_t offset,
                                  struct buf *chain, grebe_error *err)
{
    for (uint32_t depth = 0; depth <= p->n; depth++) {
        struct item e;
        grebe_status st = read_item(p, map, offset, &e, err);
        if (st == GREBE_OK) {
            st = buf_put(chain, &e, sizeof e, err);
        }
        if (st != GREBE_OK || e.type < OFS_DELTA) {
            return st;
        }
        st = base_offset(p, &e, &offset, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return fail_at(p, offset, "the bases of a delta go round in a circle", err);
}

static grebe_status inflate_item(const struct repo_packfile *p, const struct region *map, const struct item *e,
                                 struct region **out, grebe_error *err)
{
    grebe_status st = region_new(p->a, (size_t)e->size, out, err);
    if (st == GREBE_OK) {
        st = repo_inflate(p->a, map->data + e->stream, map->len - OID - e->stream, (*out)->data, (size_t)e->size, NULL,
                         err);
    }
    if (st != GREBE_OK) {
        region_drop(*out);
        *out = NULL;
        return error_wrap(err, st, "%s.pack: byte %llu", p->stem, (unsigned long long)e->offset);
    }
    return GREBE_OK;
}

/* *object becomes what the delta makes of it. */
static grebe_status apply_item(const struct repo_packfile *p, const struct region *map, const struct item *e,
                               struct region **object, grebe_error *err)
{
    struct region *delta = NULL, *made = NULL;
    uint64_t base_len = 0, len = 0;
    size_t at = 0;
    grebe_status st = inflate_item(p, map, e, &delta, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_TRY(repo_delta_lengths(delta->data, delta->len, &base_len, &len, &at, err));
    if (len / 0xffffff > delta->len) { /* an instruction makes at most 2^24 - 1 bytes */
        st = fail_at(p, e->offset, "expected a length that the delta can make", err);
        goto out;
    }
    GREBE_TRY(region_new(p->a, (size_t)len, &made, err));
    GREBE_TRY(repo_delta_apply(delta->data, delta->len, (*object)->data, (*object)->len, made->data, made->len, err));
    region_drop(*object);
    *object = made;
    made = NULL;
out:
    region_drop(made);
    region_drop(delta);
    return st;
}

/* Size of the object that a delta makes: it stands in the first bytes of the delta. */
static grebe_status delta_size(const struct repo_packfile *p, const struct region *map, const struct item *e,
                               uint64_t *size, grebe_error *err)
{
    unsigned char head[24];
    size_t got = 0, at = 0;
    uint64_t base_len = 0;
    grebe_status st =
        repo_inflate_head(p->a, map->data + e->stream, map->len - OID - e->stream, head, sizeof head, &got, err);
    if (st == GREBE_OK) {
        st = repo_delta_lengths(head, got, &base_len, size, &at, err);
    }
    return st == GREBE_OK ? st : error_wrap(err, st, "%s.pack: byte %llu", p->stem, (unsigned long long)e->offset);
}

grebe_status repo_packfile_read(struct repo_packfile *p, struct io_store *files, uint32_t at, enum repo_object *type,
                               uint64_t *size, struct region **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct region *map = NULL;
    struct region *object = NULL;
    struct buf chain = BUF_INIT(p->a);
    uint64_t offset = 0;
    if (out != NULL) {
        *out = NULL;
    }
    GREBE_TRY(open_pack(p, files, &map, err));
    GREBE_TRY(offset_of(p, at, &offset, err));
    GREBE_TRY(collect_chain(p, map, offset, &chain, err));
    const struct item *items = (const struct item *)(const void *)chain.data;
    size_t n = chain.len / sizeof *items;
    *type = (enum repo_object)items[n - 1].type;
    *size = items[0].size;
    if (out == NULL) {
        if (n > 1) {
            st = delta_size(p, map, &items[0], size, err);
        }
        goto out;
    }
    GREBE_TRY(inflate_item(p, map, &items[n - 1], &object, err));
    for (size_t i = n - 1; i-- > 0;) {
        GREBE_TRY(apply_item(p, map, &items[i], &object, err));
    }
    *size = object->len;
    *out = object;
    object = NULL;
out:
    region_drop(object);
    buf_release(&chain);
    return st;
}
