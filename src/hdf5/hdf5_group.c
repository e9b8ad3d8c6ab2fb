/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of the root group: a B-tree of symbol table nodes whose names stand in a heap (old files), or link messages in the
 * header (new ones). Links to other files, and soft ones, are passed over. (III.A.1, III.B, III.C, IV.A.2.g)
 */
#include <string.h>

#include "hdf5/hdf5_internal.h"

#include "base/checked.h"
#include "base/endian.h"

enum { LINK_INFO = 0x02, LINK = 0x06, SYMBOL_TABLE = 0x11, NODES_MAX = 65536, HEAP_BYTES_MAX = 64 << 20, SOFT_LINK = 2 };

struct walk {
    struct hdf5_file *f;
    hdf5_link_fn fn;
    void *arg;
    struct buf heap; /* names */
    size_t n_nodes;  /* a tree cannot have more nodes than this; one that goes round would */
};

/* ---- symbol tables ---- */

static grebe_status read_heap(struct walk *w, uint64_t at, grebe_error *err)
{
    struct hdf5_file *f = w->f;
    unsigned char h[32];
    size_t n = 8 + (size_t)2 * f->n_length + f->n_offset;
    grebe_status st = hdf5_at(f, at, h, n, "local heap", err);
    if (st != GREBE_OK) {
        return st;
    }
    uint64_t len = hdf5_number(h + 8, f->n_length), data = hdf5_number(h + 8 + 2 * f->n_length, f->n_offset);
    if (memcmp(h, "HEAP", 4) != 0 || len > HEAP_BYTES_MAX || len > f->bytes->id.size_bytes) {
        return hdf5_damaged(err, "local heap", at);
    }
    st = buf_put_zero(&w->heap, (size_t)len + 1, err); /* names end, whatever the file says */
    return st == GREBE_OK ? hdf5_at(f, data, w->heap.data, len, "local heap", err) : st;
}

static grebe_status read_symbols(struct walk *w, uint64_t at, grebe_error *err)
{
    struct hdf5_file *f = w->f;
    unsigned char h[8], e[2 * 8 + 24];
    size_t entry = (size_t)2 * f->n_offset + 24;
    grebe_status st = hdf5_at(f, at, h, sizeof h, "symbol table node", err);
    if (st == GREBE_OK && memcmp(h, "SNOD", 4) != 0) {
        st = hdf5_damaged(err, "symbol table node", at);
    }
    for (unsigned i = 0; st == GREBE_OK && i < load_le16(h + 6); i++) {
        st = hdf5_at(f, at + sizeof h + i * entry, e, entry, "symbol table entry", err);
        if (st != GREBE_OK) {
            break;
        }
        uint64_t name = hdf5_number(e, f->n_offset);
        if (name >= w->heap.len) {
            st = hdf5_damaged(err, "name of a member", at);
        } else if (load_le32(e + 2 * f->n_offset) != SOFT_LINK) {
            st = w->fn(w->arg, (const char *)w->heap.data + name, hdf5_number(e + f->n_offset, f->n_offset), err);
        }
    }
    return st;
}

/* Depth first, level by level down, so that no tree is deeper than its root says. */
static grebe_status read_tree(struct walk *w, uint64_t at, int level, grebe_error *err)
{
    struct hdf5_file *f = w->f;
    unsigned char h[24], p[16];
    size_t head = 8 + (size_t)2 * f->n_offset, step = (size_t)f->n_length + f->n_offset;
    grebe_status st = hdf5_at(f, at, h, head, "group tree", err);
    if (st != GREBE_OK) {
        return st;
    }
    if (memcmp(h, "TREE", 4) != 0 || h[4] != 0 || (level >= 0 && h[5] != level) || h[5] > 16 || ++w->n_nodes > NODES_MAX) {
        return hdf5_damaged(err, "group tree", at);
    }
    for (unsigned i = 0; st == GREBE_OK && i < load_le16(h + 6); i++) {
        st = hdf5_at(f, at + head + i * step, p, step, "group tree", err);
        uint64_t child = hdf5_number(p + f->n_length, f->n_offset);
        if (st == GREBE_OK) {
            st = h[5] == 0 ? read_symbols(w, child, err) : read_tree(w, child, h[5] - 1, err);
        }
    }
    return st;
}

/* ---- link messages ---- */

static grebe_status read_link(struct walk *w, const unsigned char *p, size_t n, uint64_t at, grebe_error *err)
{
    char name[256];
    size_t i = 2, width = n < 2 ? 1 : (size_t)1 << (p[1] & 3);
    unsigned type = 0;
    if (n < 2 || p[0] != 1) {
        return hdf5_damaged(err, "link message", at);
    }
    if ((p[1] & 8) != 0) {
        type = i < n ? p[i] : 0;
        i++;
    }
    i += ((p[1] & 4) != 0 ? 8u : 0) + ((p[1] & 0x10) != 0 ? 1u : 0);
    if (i > n || width > n - i) {
        return hdf5_damaged(err, "link message", at);
    }
    uint64_t len = width == 1 ? p[i] : hdf5_number(p + i, (unsigned)width);
    i += width;
    if (len > n - i || (type == 0 && n - i - len < w->f->n_offset)) {
        return hdf5_damaged(err, "link message", at);
    }
    if (type != 0 || len >= sizeof name) {
        return GREBE_OK;
    }
    memcpy(name, p + i, (size_t)len);
    name[len] = '\0';
    return w->fn(w->arg, name, hdf5_number(p + i + len, w->f->n_offset), err);
}

static grebe_status read_message(void *arg, unsigned type, bool is_shared, const unsigned char *p, size_t n, uint64_t at,
                                 grebe_error *err)
{
    struct walk *w = arg;
    struct hdf5_file *f = w->f;
    (void)is_shared;
    if (type == LINK) {
        return read_link(w, p, n, at, err);
    }
    if (type == LINK_INFO && n >= 2) {
        size_t i = 2 + ((p[1] & 1) != 0 ? 8u : 0);
        if (i + f->n_offset <= n && hdf5_number(p + i, f->n_offset) != HDF5_NOWHERE) {
            return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "the root group stores its links in a fractal heap (more than 8 members "
                              "in the newest format): write the file anew in the default format");
        }
    }
    if (type == SYMBOL_TABLE) {
        if (n < (size_t)2 * f->n_offset) {
            return hdf5_damaged(err, "symbol table message", at);
        }
        grebe_status st = read_heap(w, hdf5_number(p + f->n_offset, f->n_offset), err);
        return st == GREBE_OK ? read_tree(w, hdf5_number(p, f->n_offset), -1, err) : st;
    }
    return GREBE_OK;
}

grebe_status hdf5_links(struct hdf5_file *f, hdf5_link_fn fn, void *arg, grebe_error *err)
{
    struct walk w = { f, fn, arg, BUF_INIT(f->ctx->a), 0 };
    grebe_status st = hdf5_messages(f, f->root, read_message, &w, err);
    buf_release(&w.heap);
    return st;
}
