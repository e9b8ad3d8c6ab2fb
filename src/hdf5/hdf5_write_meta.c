/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structure of a file in the oldest format, which every reader knows: superblock 0, object headers 1, the root group as a
 * symbol table: a tree node, nodes of eight entries, a heap of names; texts of attributes in one global heap.
 * (HDF5 File Format Specification 3.0: II.A, III.A.1, III.B to III.E, IV.A)
 */
#include <string.h>

#include "base/endian.h"
#include "hdf5/hdf5_write_internal.h"

enum {
    LEAF_K = 4, TREE_K = 16, /* twice as many entries fit a node: the library's own numbers */
    ENTRY_BYTES = 40, SYMBOLS_BYTES = 8 + 2 * LEAF_K * ENTRY_BYTES,
    TREE_BYTES = 24 + (2 * TREE_K + 1) * 8 + 2 * TREE_K * 8,
    GLOBAL_HEAP_MIN = 4096,
    SPACE = 0x01, TYPE = 0x03, FILL = 0x05, LAYOUT = 0x08, ATTRIBUTE = 0x0c, SYMBOL_TABLE = 0x11
};

/* ---- numbers into a buffer ---- */

static grebe_status put(struct buf *b, uint64_t v, size_t n, grebe_error *err)
{
    unsigned char bytes[8];
    store_le64(bytes, v);
    return buf_put(b, bytes, n, err);
}

static grebe_status pad8(struct buf *b, size_t from, grebe_error *err)
{
    return buf_put_zero(b, (8 - (b->len - from) % 8) % 8, err);
}

/* ---- types and shapes ---- */

static grebe_status put_int_type(struct buf *b, unsigned size, bool is_signed, grebe_error *err)
{
    grebe_status st = put(b, is_signed ? 0x0810 : 0x0010, 4, err); /* class 0, version 1; little endian */
    st = st == GREBE_OK ? put(b, size, 4, err) : st;
    st = st == GREBE_OK ? put(b, 0, 2, err) : st; /* bit offset */
    return st == GREBE_OK ? put(b, (uint64_t)size * 8, 2, err) : st;
}

static grebe_status put_float_type(struct buf *b, unsigned size, grebe_error *err)
{
    static const struct {
        unsigned size, exponent_at, exponent, bias;
    } floats[] = { { 2, 10, 5, 15 }, { 4, 23, 8, 127 }, { 8, 52, 11, 1023 } };
    size_t i = size == 2 ? 0 : size == 4 ? 1 : 2;
    /* class 1, version 1; little endian, the first bit of the mantissa not stored; place of the sign */
    grebe_status st = put(b, 0x2011 | (uint64_t)(size * 8 - 1) << 16, 4, err);
    st = st == GREBE_OK ? put(b, size, 4, err) : st;
    st = st == GREBE_OK ? put(b, (uint64_t)size * 8 << 16, 4, err) : st; /* bit offset, precision */
    st = st == GREBE_OK ? put(b, floats[i].exponent_at | floats[i].exponent << 8 | floats[i].exponent_at << 24, 4, err) : st;
    return st == GREBE_OK ? put(b, floats[i].bias, 4, err) : st;
}

/* As h5py writes bool: an enumeration over int8. */
static grebe_status put_bool_type(struct buf *b, grebe_error *err)
{
    static const unsigned char names[16] = { 'F', 'A', 'L', 'S', 'E', 0, 0, 0, 'T', 'R', 'U', 'E' };
    grebe_status st = put(b, 0x0218, 4, err); /* class 8, version 1; two members */
    st = st == GREBE_OK ? put(b, 1, 4, err) : st;
    st = st == GREBE_OK ? put_int_type(b, 1, true, err) : st;
    st = st == GREBE_OK ? buf_put(b, names, sizeof names, err) : st;
    return st == GREBE_OK ? put(b, 0x0100, 2, err) : st; /* the values 0 and 1 */
}

/* Text of any length: ASCII, ended by zero, over unsigned bytes. */
static grebe_status put_text_type(struct buf *b, grebe_error *err)
{
    grebe_status st = put(b, 0x0119, 4, err); /* class 9, version 1; a string */
    st = st == GREBE_OK ? put(b, 16, 4, err) : st;
    return st == GREBE_OK ? put_int_type(b, 1, false, err) : st;
}

static grebe_status put_type(struct buf *b, enum hdf5_class cls, unsigned size, grebe_error *err)
{
    return cls == HDF5_FLOAT  ? put_float_type(b, size, err)
           : cls == HDF5_BOOL ? put_bool_type(b, err)
                              : put_int_type(b, size, cls == HDF5_INT, err);
}

static grebe_status put_space(struct buf *b, unsigned rank, const uint64_t *shape, grebe_error *err)
{
    grebe_status st = put(b, 1 | (uint64_t)rank << 8, 8, err);
    for (unsigned i = 0; i < rank && st == GREBE_OK; i++) {
        st = put(b, shape[i], 8, err);
    }
    return st;
}

/* ---- object headers ---- */

/* A message; its bytes are padded to 8. */
static grebe_status put_message(struct buf *b, unsigned type, struct buf *body, unsigned *n_messages, grebe_error *err)
{
    grebe_status st = pad8(body, 0, err);
    st = st == GREBE_OK ? put(b, type | (uint64_t)body->len << 16, 8, err) : st;
    st = st == GREBE_OK ? buf_put(b, body->data, body->len, err) : st;
    ++*n_messages;
    buf_clear(body);
    return st;
}

/* A header with its messages. *at is where it stands. */
static grebe_status put_header(struct buf *dst, uint64_t base, const struct buf *messages, unsigned n_messages, uint64_t *at,
                               grebe_error *err)
{
    *at = base + dst->len;
    grebe_status st = put(dst, 1 | (uint64_t)n_messages << 16 | (uint64_t)1 << 32, 8, err); /* version, messages, one link */
    st = st == GREBE_OK ? put(dst, messages->len, 8, err) : st;
    return st == GREBE_OK ? buf_put(dst, messages->data, messages->len, err) : st;
}

static grebe_status put_data_header(const struct hdf5_member *m, uint64_t base, struct buf *dst, struct buf *messages,
                                    struct buf *body, uint64_t *at, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    unsigned n = 0;
    buf_clear(messages);
    GREBE_TRY(put_space(body, m->rank, m->shape, err));
    GREBE_TRY(put_message(messages, SPACE, body, &n, err));
    GREBE_TRY(put_type(body, m->cls, m->size, err));
    GREBE_TRY(put_message(messages, TYPE, body, &n, err));
    GREBE_TRY(put(body, 0x01020202, 8, err)); /* version 2, room given late, written if set; the default value */
    GREBE_TRY(put_message(messages, FILL, body, &n, err));
    GREBE_TRY(put(body, 0x0103, 2, err)); /* version 3, in one piece */
    GREBE_TRY(put(body, m->at, 8, err));
    GREBE_TRY(put(body, m->bytes, 8, err));
    GREBE_TRY(put_message(messages, LAYOUT, body, &n, err));
    st = put_header(dst, base, messages, n, at, err);
out:
    return st;
}

/* ---- attributes ---- */

static const struct hdf5_attribute *attribute_at(const struct hdf5_writer *w, size_t i)
{
    return (const struct hdf5_attribute *)(const void *)w->attributes.data + i;
}

/* One collection for all texts: objects 1, 2, …, and what is left as object 0. */
static grebe_status put_global_heap(const struct hdf5_writer *w, uint64_t base, struct buf *dst, uint64_t *at, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    uint64_t size = 16, index = 0;
    size_t from = dst->len, n = w->attributes.len / sizeof(struct hdf5_attribute);
    *at = base + from;
    for (size_t i = 0; i < n; i++) {
        size_t len = attribute_at(w, i)->text_len;
        size += len > 0 ? 16 + (len + 7) / 8 * 8 : 0;
    }
    size += 16; /* the free object */
    size = size < GLOBAL_HEAP_MIN ? GLOBAL_HEAP_MIN : size;
    GREBE_TRY(buf_put(dst, "GCOL\1\0\0\0", 8, err));
    GREBE_TRY(put(dst, size, 8, err));
    for (size_t i = 0; i < n; i++) {
        const struct hdf5_attribute *a = attribute_at(w, i);
        if (a->text_len > 0) {
            GREBE_TRY(put(dst, ++index | 1 << 16, 8, err)); /* index, one reference */
            GREBE_TRY(put(dst, a->text_len, 8, err));
            GREBE_TRY(buf_put(dst, w->texts.data + a->text_at, a->text_len, err));
            GREBE_TRY(pad8(dst, from, err));
        }
    }
    uint64_t left = size - (dst->len - from);
    GREBE_TRY(put(dst, 0, 8, err));
    GREBE_TRY(put(dst, left, 8, err));
    st = buf_put_zero(dst, (size_t)left - 16, err);
out:
    return st;
}

static grebe_status put_attribute(const struct hdf5_attribute *a, uint64_t heap, uint64_t index, struct buf *body,
                                  struct buf *part, grebe_error *err)
{
    static const uint64_t one = 1;
    grebe_status st = GREBE_OK;
    size_t name = strlen(a->name) + 1;
    buf_clear(part);
    GREBE_TRY(a->is_text ? put_text_type(part, err) : a->is_real ? put_float_type(part, 8, err) : put_int_type(part, 8, true, err));
    size_t type = part->len;
    unsigned rank = a->is_array ? 1 : 0;
    GREBE_TRY(put(body, 1 | (uint64_t)name << 16 | (uint64_t)type << 32 | (uint64_t)(8 + 8 * rank) << 48, 8, err));
    GREBE_TRY(buf_put(body, a->name, name, err));
    GREBE_TRY(pad8(body, 0, err));
    GREBE_TRY(buf_put(body, part->data, part->len, err));
    GREBE_TRY(pad8(body, 0, err));
    GREBE_TRY(put_space(body, rank, &one, err));
    if (a->is_text) {
        bool is_empty = a->text_len == 0; /* stands nowhere */
        GREBE_TRY(put(body, a->text_len, 4, err));
        GREBE_TRY(put(body, is_empty ? 0 : heap, 8, err));
        st = put(body, is_empty ? 0 : index, 4, err);
    } else {
        st = put(body, a->value, 8, err);
    }
out:
    return st;
}

/* ---- the group ---- */

/* Places of the group's parts, known before they are written. */
struct group {
    uint64_t headers[HDF5_MEMBERS_MAX], names[HDF5_MEMBERS_MAX];
    size_t n;
    uint64_t tree, heap;
};

static const struct hdf5_member *member_at(const struct hdf5_writer *w, size_t i)
{
    return (const struct hdf5_member *)(const void *)w->members.data + i;
}

static grebe_status put_names(const struct hdf5_writer *w, uint64_t base, struct group *g, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t from = dst->len;
    GREBE_TRY(put(dst, 0, 8, err)); /* the empty name */
    for (size_t i = 0; i < g->n; i++) {
        g->names[i] = dst->len - from;
        GREBE_TRY(buf_put(dst, member_at(w, i)->name, strlen(member_at(w, i)->name) + 1, err));
        GREBE_TRY(pad8(dst, from, err));
    }
    size_t len = dst->len - from;
    g->heap = base + dst->len;
    GREBE_TRY(buf_put(dst, "HEAP\0\0\0\0", 8, err));
    GREBE_TRY(put(dst, len, 8, err));
    GREBE_TRY(put(dst, 1, 8, err)); /* nothing is free */
    st = put(dst, base + from, 8, err);
out:
    return st;
}

static grebe_status put_symbols(const struct group *g, uint64_t base, struct buf *dst, uint64_t *nodes, size_t *n_nodes,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < g->n; i += 2 * LEAF_K) {
        size_t n = g->n - i < 2 * LEAF_K ? g->n - i : 2 * LEAF_K, from = dst->len;
        nodes[(*n_nodes)++] = base + from;
        GREBE_TRY(buf_put(dst, "SNOD\1\0", 6, err));
        GREBE_TRY(put(dst, n, 2, err));
        for (size_t j = i; j < i + n; j++) {
            GREBE_TRY(put(dst, g->names[j], 8, err));
            GREBE_TRY(put(dst, g->headers[j], 8, err));
            GREBE_TRY(buf_put_zero(dst, ENTRY_BYTES - 16, err)); /* nothing cached */
        }
        GREBE_TRY(buf_put_zero(dst, SYMBOLS_BYTES - (dst->len - from), err));
    }
out:
    return st;
}

/* One leaf: between two nodes stands the name that ends the first. */
static grebe_status put_tree(const struct group *g, uint64_t base, struct buf *dst, const uint64_t *nodes, size_t n_nodes,
                             uint64_t *at, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t from = dst->len;
    *at = base + from;
    GREBE_TRY(buf_put(dst, "TREE\0\0", 6, err));
    GREBE_TRY(put(dst, n_nodes, 2, err));
    GREBE_TRY(put(dst, UINT64_MAX, 8, err));
    GREBE_TRY(put(dst, UINT64_MAX, 8, err));
    GREBE_TRY(put(dst, 0, 8, err));
    for (size_t i = 0; i < n_nodes; i++) {
        size_t last = (i + 1) * 2 * LEAF_K < g->n ? (i + 1) * 2 * LEAF_K - 1 : g->n - 1;
        GREBE_TRY(put(dst, nodes[i], 8, err));
        GREBE_TRY(put(dst, g->names[last], 8, err));
    }
    st = buf_put_zero(dst, TREE_BYTES - (dst->len - from), err);
out:
    return st;
}

static void make_superblock(const struct group *g, uint64_t root, uint64_t end, unsigned char *b)
{
    static const unsigned char head[24] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n', 0, 0, 0, 0, 0, 8, 8, 0,
                                            LEAF_K, 0, TREE_K, 0 };
    memset(b, 0, HDF5_SUPERBLOCK_BYTES);
    memcpy(b, head, sizeof head);
    store_le64(b + 32, UINT64_MAX); /* no free space is kept */
    store_le64(b + 40, end);
    store_le64(b + 48, UINT64_MAX); /* no driver */
    store_le64(b + 64, root);
    store_le32(b + 72, 1); /* the places of the group's parts stand here, too */
    store_le64(b + 80, g->tree);
    store_le64(b + 88, g->heap);
}

grebe_status hdf5_write_meta(const struct hdf5_writer *w, uint64_t base, struct buf *dst, unsigned char *superblock,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct group g = { .n = w->members.len / sizeof(struct hdf5_member) };
    struct buf messages = BUF_INIT(w->ctx->a), body = BUF_INIT(w->ctx->a), part = BUF_INIT(w->ctx->a);
    uint64_t nodes[HDF5_MEMBERS_MAX / (2 * LEAF_K)], global = 0, root = 0, index = 0;
    size_t n_nodes = 0, n_attributes = w->attributes.len / sizeof(struct hdf5_attribute);
    unsigned n = 0;
    for (size_t i = 0; i < g.n; i++) {
        GREBE_TRY(put_data_header(member_at(w, i), base, dst, &messages, &body, &g.headers[i], err));
    }
    GREBE_TRY(put_names(w, base, &g, dst, err));
    GREBE_TRY(put_symbols(&g, base, dst, nodes, &n_nodes, err));
    GREBE_TRY(put_tree(&g, base, dst, nodes, n_nodes, &g.tree, err));
    if (w->texts.len > 0) {
        GREBE_TRY(put_global_heap(w, base, dst, &global, err));
    }
    buf_clear(&messages);
    GREBE_TRY(put(&body, g.tree, 8, err));
    GREBE_TRY(put(&body, g.heap, 8, err));
    GREBE_TRY(put_message(&messages, SYMBOL_TABLE, &body, &n, err));
    for (size_t i = 0; i < n_attributes; i++) {
        const struct hdf5_attribute *a = attribute_at(w, i);
        index += a->text_len > 0;
        GREBE_TRY(put_attribute(a, global, index, &body, &part, err));
        GREBE_TRY(put_message(&messages, ATTRIBUTE, &body, &n, err));
    }
    GREBE_TRY(put_header(dst, base, &messages, n, &root, err));
    make_superblock(&g, root, base + dst->len, superblock);
out:
    buf_release(&messages);
    buf_release(&body);
    buf_release(&part);
    return st;
}
