/* SPDX-License-Identifier: Apache-2.0 */
/* A data set's header: shape, type, where its values stand and through which filters. (IV.A.2) */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "hdf5/hdf5_internal.h"

enum {
    MESSAGE_SPACE = 0x01, MESSAGE_TYPE = 0x03, MESSAGE_FILL_OLD = 0x04, MESSAGE_FILL = 0x05, MESSAGE_EXTERNAL = 0x07,
    MESSAGE_LAYOUT = 0x08, MESSAGE_FILTERS = 0x0b,
    COMPACT = 0, CONTIGUOUS = 1, CHUNKED = 2, VIRTUAL = 3,
    SMALL_BYTES = 1 << 20,
    GROWTH_MAX = 1040 /* what a byte of a deflated chunk can grow to (RFC 1951: 258 bytes for two bits), rounded up */
};

/* What the messages say, before all of it is known. */
struct header {
    struct hdf5_file *f;
    struct hdf5_entry *e;
    uint64_t dims[32];
    bool has_space, has_type, has_layout, is_null;
    int layout;
    unsigned chunk_rank;    /* with the element as last dimension */
    uint64_t chunk[33];
    uint64_t place_bytes;   /* CONTIGUOUS, COMPACT: as stated */
};

static void cannot_read(struct hdf5_data *d, grebe_status status, const char *text)
{
    if (d->trouble_status == GREBE_OK) {
        d->trouble_status = status;
        snprintf(d->trouble, sizeof d->trouble, "%s", text);
    }
}

/* ---- filters ---- */

static void read_filters(struct header *h, const unsigned char *p, size_t n)
{
    struct hdf5_stored *s = &h->e->s;
    size_t at = n > 0 && p[0] == 1 ? 8 : 2;
    unsigned count = n > 1 ? p[1] : 0;
    bool is_old = n > 0 && p[0] == 1;
    if (n < at || (p[0] != 1 && p[0] != 2) || count > HDF5_FILTERS_MAX) {
        cannot_read(&h->e->d, GREBE_ECORRUPT, "its list of filters is damaged");
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        size_t left = n - at;
        unsigned id = left >= 2 ? load_le16(p + at) : 0;
        bool has_name = is_old || id >= 256;
        size_t head = has_name ? 8 : 6;
        if (left < head) {
            cannot_read(&h->e->d, GREBE_ECORRUPT, "its list of filters is damaged");
            return;
        }
        size_t name = has_name ? load_le16(p + at + 2) : 0, values = load_le16(p + at + head - 2);
        name = is_old ? (name + 7) / 8 * 8 : name;
        size_t bytes = name + values * 4 + (is_old && values % 2 == 1 ? 4 : 0);
        if (bytes > left - head) {
            cannot_read(&h->e->d, GREBE_ECORRUPT, "its list of filters is damaged");
            return;
        }
        s->filters[s->n_filters++] = (uint16_t)id;
        const char *unknown = hdf5_filter_unknown((uint16_t)id);
        if (unknown != NULL) {
            char text[96];
            snprintf(text, sizeof text, "filter %u (%s) is not available", id, unknown);
            cannot_read(&h->e->d, GREBE_EUNSUPPORTED, text);
        }
        at += head + bytes;
    }
}

/* ---- layout ---- */

static bool read_chunk_index(struct header *h, const unsigned char *p, size_t n)
{
    struct hdf5_file *f = h->f;
    struct hdf5_stored *s = &h->e->s;
    size_t width = p[4], at = 5;
    if (width == 0 || width > 8 || n - at < width * h->chunk_rank + 1) {
        return false;
    }
    for (unsigned i = 0; i < h->chunk_rank; i++, at += width) {
        for (size_t j = 0; j < width; j++) {
            h->chunk[i] |= (uint64_t)p[at + j] << (8 * j);
        }
    }
    unsigned type = p[at++];
    size_t info = type == 1 ? ((p[2] & 2) != 0 ? f->n_length + 4u : 0) : type == 3 ? 1 : 0;
    if (n - at < info + f->n_offset) {
        return false;
    }
    if (type == 1 && info > 0) {
        uint64_t size = hdf5_number(p + at, f->n_length);
        s->single.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
        s->single.mask = load_le32(p + at + f->n_length);
    }
    s->page_bits = type == 3 ? p[at] : 0;
    s->index_at = hdf5_number(p + at + info, f->n_offset);
    s->index = type == 1 ? HDF5_SINGLE : type == 2 ? HDF5_IMPLICIT : type == 3 ? HDF5_FIXED_ARRAY : HDF5_NO_CHUNKS;
    if (type == 4 || type == 5) {
        cannot_read(&h->e->d, GREBE_EUNSUPPORTED,
                    type == 4
                        ? "its chunks are found by an extensible array (newest format, one dimension without a limit)"
                        : "its chunks are found by a B-tree of version 2 (newest format, several dimensions without a "
                          "limit)");
    }
    return type >= 1 && type <= 5;
}

static bool read_layout(struct header *h, const unsigned char *p, size_t n, uint64_t file_offset)
{
    struct hdf5_file *f = h->f;
    struct hdf5_data *d = &h->e->d;
    struct hdf5_stored *s = &h->e->s;
    bool is_v4 = n > 4 && p[0] >= 4; /* 5, since HDF5 2.0: stored sizes of chunks may take eight bytes */
    if (n < 4 || p[0] < 3 || p[0] > 5) {
        cannot_read(d, GREBE_EUNSUPPORTED, "its layout is of a version before HDF5 1.6 or after 2.0");
        return n >= 4;
    }
    h->layout = p[1];
    switch (p[1]) {
    case COMPACT:
        h->place_bytes = load_le16(p + 2);
        d->offset = file_offset + 4;
        return h->place_bytes <= n - 4;
    case CONTIGUOUS:
        if (n < 2 + (size_t)f->n_offset + f->n_length) {
            return false;
        }
        d->offset = hdf5_number(p + 2, f->n_offset);
        h->place_bytes = hdf5_number(p + 2 + f->n_offset, f->n_length);
        if (d->offset != HDF5_NOWHERE && !checked_add_u64(d->offset, f->base, &d->offset)) {
            return false;
        }
        return true;
    case CHUNKED:
        h->chunk_rank = is_v4 ? p[3] : p[2];
        if (h->chunk_rank < 2 || h->chunk_rank > 32 || n < 5) {
            return false;
        }
        if (is_v4) {
            return read_chunk_index(h, p, n);
        }
        if (n < 3 + (size_t)f->n_offset + (size_t)4 * h->chunk_rank) {
            return false;
        }
        s->index = HDF5_BTREE_1;
        s->index_at = hdf5_number(p + 3, f->n_offset);
        for (unsigned i = 0; i < h->chunk_rank; i++) {
            h->chunk[i] = load_le32(p + 3 + f->n_offset + 4 * (size_t)i);
        }
        return true;
    default: cannot_read(d, GREBE_EUNSUPPORTED, "its values are in other files"); return true;
    }
}

/* Values of places that were never written. */
static void read_fill(struct header *h, const unsigned char *p, size_t n)
{
    struct hdf5_stored *s = &h->e->s;
    size_t at = 0;
    bool is_defined = false;
    if (n >= 4 && (p[0] == 1 || p[0] == 2)) {
        is_defined = p[3] != 0;
        at = 4;
    } else if (n >= 2 && p[0] == 3) {
        is_defined = (p[1] & 0x20) != 0;
        at = 2;
    }
    if (is_defined && n >= at + 4) {
        uint64_t size = load_le32(p + at);
        if (size <= sizeof s->fill && size <= n - at - 4) {
            memcpy(s->fill, p + at + 4, (size_t)size);
        }
    }
}

static grebe_status read_message(void *arg, unsigned type, bool is_shared, const unsigned char *p, size_t n, uint64_t at,
                                 grebe_error *err)
{
    struct header *h = arg;
    struct hdf5_data *d = &h->e->d;
    struct hdf5_type t;
    bool is_good = true;
    if (is_shared && (type == MESSAGE_TYPE || type == MESSAGE_SPACE || type == MESSAGE_FILTERS)) {
        cannot_read(d, GREBE_EUNSUPPORTED, "its type or shape stands in another object (a named type)");
        h->has_type = h->has_type || type == MESSAGE_TYPE;
        h->has_space = h->has_space || type == MESSAGE_SPACE;
        return GREBE_OK;
    }
    switch (type) {
    case MESSAGE_SPACE:
        is_good = hdf5_space_read(h->f, p, n, &d->rank, h->dims, &h->is_null);
        h->has_space = true;
        break;
    case MESSAGE_TYPE:
        is_good = hdf5_type_read(p, n, &t);
        d->cls = t.d.cls;
        d->size = t.d.size;
        d->is_big_endian = t.d.is_big_endian;
        memcpy(d->type_name, t.d.type_name, sizeof d->type_name);
        h->has_type = true;
        break;
    case MESSAGE_LAYOUT:
        is_good = read_layout(h, p, n, at);
        h->has_layout = true;
        break;
    case MESSAGE_FILTERS: read_filters(h, p, n); break;
    case MESSAGE_FILL: read_fill(h, p, n); break;
    case MESSAGE_EXTERNAL: cannot_read(d, GREBE_EUNSUPPORTED, "its values are in other files"); break;
    default: break;
    }
    return is_good ? GREBE_OK : hdf5_damaged(err, "message of a data set", at);
}

/* ---- what can be true ---- */

static const char *human(double bytes, char *dst, size_t n)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    size_t u = 0;
    for (; bytes >= 1024 && u + 1 < sizeof units / sizeof units[0]; u++) {
        bytes /= 1024;
    }
    bool is_whole = bytes < 1e15 && bytes == (double)(uint64_t)bytes;
    snprintf(dst, n, "%.*f %s", is_whole ? 0 : 1, bytes, units[u]);
    return dst;
}

/* Nothing is allocated for what the file cannot hold: `most` bytes of values. */
static void check_claim(struct hdf5_data *d, const char *what, uint64_t rows, uint64_t columns, uint64_t file_bytes,
                        uint64_t most)
{
    uint64_t n = 0;
    bool fits = checked_mul_u64(rows, columns, &n) && checked_mul_u64(n, d->size, &n);
    if (!fits || n > most) {
        char size[32], text[sizeof d->trouble];
        snprintf(text, sizeof text, "%sclaims %llu x %llu %.24s (%s), the file has %llu bytes", what,
                 (unsigned long long)rows, (unsigned long long)columns, d->type_name,
                 human((double)rows * (double)columns * d->size, size, sizeof size), (unsigned long long)file_bytes);
        cannot_read(d, GREBE_ECORRUPT, text);
    }
}

static void check_chunks(struct header *h, uint64_t file_bytes)
{
    struct hdf5_data *d = &h->e->d;
    struct hdf5_stored *s = &h->e->s;
    uint64_t most = 0, n = 0, places = file_bytes < SMALL_BYTES ? SMALL_BYTES : file_bytes;
    if (!checked_mul_u64(file_bytes, s->n_filters > 0 ? GROWTH_MAX : 1, &most)) {
        most = UINT64_MAX;
    }
    most = most < SMALL_BYTES ? SMALL_BYTES : most; /* of a small one most may never have been written */
    bool is_known = d->rank >= 1 && d->rank <= 2;
    if (h->chunk_rank != d->rank + 1) {
        cannot_read(d, GREBE_ECORRUPT, "its chunks have another number of dimensions");
        return;
    }
    s->chunk[0] = h->chunk[0];
    s->chunk[1] = d->rank > 1 ? h->chunk[1] : 1;
    if (s->chunk[0] == 0 || s->chunk[1] == 0) {
        cannot_read(d, GREBE_ECORRUPT, "its chunks have no rows or columns");
        return;
    }
    d->chunk_rows = s->chunk[0];
    for (int i = 0; i < 2; i++) {
        s->grid[i] = d->shape[i] / s->chunk[i] + (d->shape[i] % s->chunk[i] != 0);
    }
    if (!is_known) { /* never read */
        return;
    }
    check_claim(d, "", d->shape[0], d->shape[1], file_bytes, most);
    check_claim(d, "a chunk ", s->chunk[0], s->chunk[1], file_bytes, most);
    if (d->trouble_status == GREBE_OK && (!checked_mul_u64(s->grid[0], s->grid[1], &n) || n > places)) {
        cannot_read(d, GREBE_ECORRUPT, "claims more chunks than the file has bytes");
    }
}

grebe_status hdf5_describe(struct hdf5_file *f, const char *name, uint64_t header, struct hdf5_entry *e, bool *is_data,
                           grebe_error *err)
{
    struct header h = { .f = f, .e = e, .layout = -1 };
    struct hdf5_data *d = &e->d;
    uint64_t file_bytes = f->bytes->id.size_bytes;
    memset(e, 0, sizeof *e);
    *is_data = false;
    snprintf(d->name, sizeof d->name, "%s", name);
    d->offset = e->s.index_at = HDF5_NOWHERE;
    d->cls = HDF5_OTHER;
    grebe_status st = hdf5_messages(f, header, read_message, &h, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "data set %s", d->name);
    }
    if (!h.has_space || !h.has_type || !h.has_layout) { /* a group, a named type */
        return GREBE_OK;
    }
    *is_data = true;
    d->shape[0] = d->rank > 0 ? h.dims[0] : (uint64_t)!h.is_null;
    d->shape[1] = 1;
    for (unsigned i = 1; i < d->rank; i++) {
        if (!checked_mul_u64(d->shape[1], h.dims[i], &d->shape[1])) {
            d->shape[1] = UINT64_MAX;
        }
    }
    if (h.layout == CHUNKED) {
        d->offset = HDF5_NOWHERE;
        check_chunks(&h, file_bytes);
        return GREBE_OK;
    }
    check_claim(d, "", d->shape[0], d->shape[1], file_bytes, file_bytes);
    if (d->trouble_status == GREBE_OK) {
        uint64_t bytes = d->shape[0] * d->shape[1] * d->size;
        d->storage_bytes = d->offset == HDF5_NOWHERE ? 0 : bytes;
        if (d->offset != HDF5_NOWHERE && (bytes > h.place_bytes || !range_fits_u64(d->offset, bytes, file_bytes))) {
            cannot_read(d, GREBE_ECORRUPT, "its values stand beyond their place or the end of the file");
        }
    }
    return GREBE_OK;
}
