/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of a data set: where each stands, and its values behind the filters. (III.A.1, VII) */
#include <string.h>

#include "hdf5/hdf5_internal.h"

#include "base/checked.h"
#include "base/endian.h"
#include "codec/codec_compress.h"
#include "hdf5/hdf5_lzf.h"

enum { FILTER_DEFLATE = 1, FILTER_SHUFFLE = 2, FILTER_FLETCHER32 = 3, FILTER_LZF = 32000, FILTER_ZSTD = 32015 };

const char *hdf5_filter_unknown(uint16_t id)
{
    static const struct {
        uint16_t id;
        const char *name;
    } others[] = { { 4, "szip" },        { 5, "nbit" },      { 6, "scaleoffset" }, { 305, "lzo" },       { 307, "bzip2" },
                   { 32001, "blosc" },   { 32004, "lz4" },   { 32008, "bitshuffle" }, { 32013, "zfp" },  { 32026, "blosc2" } };
    if ((id >= FILTER_DEFLATE && id <= FILTER_FLETCHER32) || id == FILTER_LZF || id == FILTER_ZSTD) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (others[i].id == id) {
            return others[i].name;
        }
    }
    return "unknown";
}

/* ---- where ---- */

struct index_walk {
    struct hdf5_file *f;
    struct hdf5_entry *e;
    uint64_t n_nodes, n_chunks; /* a tree that goes round would have more than there can be */
};

static grebe_status put_chunk(struct index_walk *w, uint64_t row, uint64_t column, const struct hdf5_chunk *c, uint64_t place,
                              grebe_error *err)
{
    struct hdf5_stored *s = &w->e->s;
    uint64_t i = row / s->chunk[0], j = column / s->chunk[1];
    if (++w->n_chunks > 2 * s->grid[0] * s->grid[1] + 64) {
        return hdf5_damaged(err, "more chunks than there are places for", place);
    }
    if (i < s->grid[0] && j < s->grid[1]) { /* a data set that was made smaller may keep the others */
        s->chunks[i * s->grid[1] + j] = *c;
    }
    return GREBE_OK;
}

static grebe_status read_tree(struct index_walk *w, uint64_t at, int level, grebe_error *err)
{
    struct hdf5_file *f = w->f;
    unsigned rank = w->e->d.rank;
    unsigned char h[24], k[8 + 8 * 3 + 8];
    size_t head = 8 + (size_t)2 * f->n_offset, key = 8 + (size_t)8 * (rank + 1), step = key + f->n_offset;
    grebe_status st = hdf5_at(f, at, h, head, "chunk tree", err);
    if (st != GREBE_OK) {
        return st;
    }
    if (memcmp(h, "TREE", 4) != 0 || h[4] != 1 || (level >= 0 && h[5] != level) || h[5] > 16 ||
        ++w->n_nodes > f->bytes->id.size_bytes / 24) {
        return hdf5_damaged(err, "chunk tree", at);
    }
    for (unsigned i = 0; st == GREBE_OK && i < load_le16(h + 6); i++) {
        st = hdf5_at(f, at + head + i * step, k, step, "chunk tree", err);
        if (st != GREBE_OK) {
            break;
        }
        struct hdf5_chunk c = { hdf5_number(k + key, f->n_offset), load_le32(k), load_le32(k + 4) };
        st = h[5] > 0 ? read_tree(w, c.at, h[5] - 1, err)
                      : put_chunk(w, load_le64(k + 8), rank > 1 ? load_le64(k + 16) : 0, &c, at, err);
    }
    return st;
}

/* Elements of a fixed array, in pages when there are many: behind each page, and behind the bits that tell which were
 * made, stand checksums of four bytes. */
static grebe_status read_array(struct index_walk *w, grebe_error *err)
{
    struct hdf5_file *f = w->f;
    struct hdf5_stored *s = &w->e->s;
    unsigned char h[32], e[24];
    uint64_t n = s->grid[0] * s->grid[1];
    grebe_status st = hdf5_at(f, s->index_at, h, 8 + (size_t)f->n_length + f->n_offset, "fixed array", err);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_filtered = h[5] == 1;
    unsigned size = h[6], page_bits = h[7];
    uint64_t stated = hdf5_number(h + 8, f->n_length), block = hdf5_number(h + 8 + f->n_length, f->n_offset);
    unsigned width = size - f->n_offset - 4; /* of the stored size; filtered only */
    if (memcmp(h, "FAHD", 4) != 0 || h[5] > 1 || stated < n || page_bits > 31 ||
        (is_filtered ? size < f->n_offset + 5 || width > 8 : size != f->n_offset)) {
        return hdf5_damaged(err, "fixed array", s->index_at);
    }
    if (block == HDF5_NOWHERE) {
        return GREBE_OK;
    }
    uint64_t page = (uint64_t)1 << page_bits, n_pages = stated / page + (stated % page != 0);
    bool is_paged = stated > page;
    uint64_t at = block + 6 + f->n_offset; /* "FADB", version, client, address of the head */
    uint64_t bits = at, first = is_paged ? at + n_pages / 8 + (n_pages % 8 != 0) + 4 : at;
    st = hdf5_at(f, block, h, 4, "fixed array block", err);
    if (st == GREBE_OK && memcmp(h, "FADB", 4) != 0) {
        st = hdf5_damaged(err, "fixed array block", block);
    }
    for (uint64_t i = 0; i < n && st == GREBE_OK; i++) {
        uint64_t p = i / page, place = first + i * size + (is_paged ? p * 4 : 0);
        if (is_paged && i % page == 0) {
            unsigned char byte = 0;
            st = hdf5_at(f, bits + p / 8, &byte, 1, "fixed array pages", err);
            if (st == GREBE_OK && (byte >> (7 - p % 8) & 1) == 0) { /* the page was never made */
                i += page - 1;
                continue;
            }
        }
        if (st == GREBE_OK) {
            st = hdf5_at(f, place, e, size, "fixed array element", err);
        }
        if (st == GREBE_OK) {
            uint64_t bytes = 0;
            for (unsigned j = 0; is_filtered && j < width; j++) {
                bytes |= (uint64_t)e[f->n_offset + j] << (8 * j);
            }
            s->chunks[i] = (struct hdf5_chunk){ hdf5_number(e, f->n_offset), bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes,
                                                is_filtered ? load_le32(e + f->n_offset + width) : 0 };
        }
    }
    return st;
}

/* Bytes of a chunk in memory; they fit: check_claim. */
static uint64_t chunk_bytes(const struct hdf5_entry *e) { return e->s.chunk[0] * e->s.chunk[1] * e->d.size; }

grebe_status hdf5_chunks_load(struct hdf5_file *f, struct hdf5_entry *e, grebe_error *err)
{
    struct hdf5_stored *s = &e->s;
    struct index_walk w = { f, e, 0, 0 };
    uint64_t n = s->grid[0] * s->grid[1], bytes = chunk_bytes(e); /* n is not above the file's size */
    grebe_status st = GREBE_OK;
    if (s->chunks != NULL) {
        return GREBE_OK;
    }
    struct hdf5_chunk *chunks = mem_alloc(f->ctx->a, (size_t)n * sizeof *chunks);
    if (chunks == NULL) {
        return mem_fail(err, (size_t)n * sizeof *chunks, "chunks");
    }
    for (uint64_t i = 0; i < n; i++) {
        chunks[i] = (struct hdf5_chunk){ HDF5_NOWHERE, bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes, 0 };
    }
    s->chunks = chunks;
    if (s->index_at != HDF5_NOWHERE && n > 0) {
        switch (s->index) {
        case HDF5_BTREE_1: st = read_tree(&w, s->index_at, -1, err); break;
        case HDF5_FIXED_ARRAY: st = read_array(&w, err); break;
        case HDF5_SINGLE:
            chunks[0].at = s->index_at;
            chunks[0].size = s->single.size != 0 ? s->single.size : chunks[0].size;
            chunks[0].mask = s->single.mask;
            break;
        default: /* implicit: one after another, unfiltered */
            for (uint64_t i = 0; i < n; i++) {
                chunks[i].at = s->index_at + i * bytes;
            }
            break;
        }
    }
    for (uint64_t i = 0; i < n && s->n_filters == 0; i++) { /* some indexes do not say */
        chunks[i].size = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    }
    if (st != GREBE_OK) {
        mem_free(f->ctx->a, chunks, (size_t)n * sizeof *chunks);
        s->chunks = NULL;
    }
    return st;
}

/* ---- filters ---- */

/* As H5_checksum_fletcher32. */
static uint32_t fletcher32(const unsigned char *p, size_t n)
{
    uint32_t a = 0, b = 0;
    for (size_t len = n / 2; len > 0;) {
        size_t step = len > 360 ? 360 : len;
        len -= step;
        for (; step > 0; step--, p += 2) {
            a += (uint32_t)(p[0] << 8 | p[1]);
            b += a;
        }
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    if (n % 2 == 1) {
        a += (uint32_t)*p << 8;
        b += a;
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    return b << 16 | a;
}

static void unshuffle(const unsigned char *src, unsigned char *dst, size_t n, unsigned size)
{
    size_t count = n / size;
    for (size_t j = 0; j < size; j++) {
        for (size_t i = 0; i < count; i++) {
            dst[i * size + j] = src[j * count + i];
        }
    }
    memcpy(dst + count * size, src + count * size, n - count * size);
}

/* One filter undone: src to dst, which has `expected` bytes. */
static grebe_status undo(struct hdf5_file *f, const struct hdf5_entry *e, unsigned id, const unsigned char *src, size_t n,
                         unsigned char *dst, size_t expected, grebe_error *err)
{
    struct codec_workspace ws = CODEC_WORKSPACE_INIT(f->ctx->a);
    grebe_status st = GREBE_OK;
    switch (id) {
    case FILTER_DEFLATE:
    case FILTER_ZSTD:
        st = codec_decompress(id == FILTER_ZSTD ? CODEC_ZSTD : CODEC_GZIP, src, n, dst, expected, &ws, err);
        codec_workspace_release(&ws);
        break;
    case FILTER_LZF:
        st = hdf5_lzf_decode(src, n, dst, expected) == expected ? GREBE_OK : GREBE_FAIL(err, GREBE_ECORRUPT, "lzf: damaged");
        break;
    case FILTER_FLETCHER32:
        if (n != expected + 4 || fletcher32(src, expected) != load_le32(src + expected)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "fletcher32: the checksum does not fit");
        }
        memcpy(dst, src, expected);
        break;
    default:
        if (n != expected) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "shuffle: expected %zu bytes, found %zu", expected, n);
        }
        unshuffle(src, dst, n, e->d.size);
        break;
    }
    return st;
}

/* What went into filter i when the chunk was written; 0: nobody can tell, two of them compress. */
static size_t bytes_before(const struct hdf5_entry *e, const struct hdf5_chunk *c, unsigned i, size_t bytes)
{
    for (unsigned j = 0; j < i; j++) {
        bool is_used = (c->mask >> j & 1) == 0;
        unsigned id = e->s.filters[j];
        if (is_used && id != FILTER_SHUFFLE && id != FILTER_FLETCHER32) {
            return 0;
        }
        bytes += is_used && id == FILTER_FLETCHER32 ? 4 : 0;
    }
    return bytes;
}

grebe_status hdf5_chunk_read(struct hdf5_file *f, const struct hdf5_entry *e, const struct hdf5_chunk *c, size_t bytes,
                             unsigned char *dst, struct buf *scratch, grebe_error *err)
{
    size_t n = c->size, room = max_size(bytes + 4 * HDF5_FILTERS_MAX, n);
    grebe_status st = GREBE_OK;
    if (e->s.n_filters == 0) {
        return hdf5_at(f, c->at, dst, bytes, "chunk", err);
    }
    if (!range_fits_u64(0, n, f->bytes->id.size_bytes)) {
        return hdf5_damaged(err, "chunk", c->at);
    }
    buf_clear(scratch);
    st = buf_reserve(scratch, 2 * room, err);
    if (st == GREBE_OK) {
        st = hdf5_at(f, c->at, scratch->data, n, "chunk", err);
    }
    unsigned char *from = scratch->data, *to = scratch->data + room;
    for (unsigned i = e->s.n_filters; st == GREBE_OK && i-- > 0;) {
        if ((c->mask >> i & 1) != 0) {
            continue;
        }
        /* a compressor behind another: what is between them has no stated size, and nobody writes such */
        bool is_open = e->s.filters[i] == FILTER_FLETCHER32;
        size_t expected = is_open ? (n >= 4 ? n - 4 : 0) : bytes_before(e, c, i, bytes);
        if (expected == 0) {
            return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "two compressing filters one after the other");
        }
        st = undo(f, e, e->s.filters[i], from, n, to, expected, err);
        unsigned char *t = from;
        from = to;
        to = t;
        n = expected;
    }
    if (st == GREBE_OK && n != bytes) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "chunk: expected %zu bytes, found %zu", bytes, n);
    }
    if (st == GREBE_OK) {
        memcpy(dst, from, bytes);
    }
    return st;
}
