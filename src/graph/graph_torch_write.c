/* SPDX-License-Identifier: Apache-2.0 */
/* The zip archive around the tensors of a graph: members stored as they are, sizes beyond 4 GiB in zip64 fields. */
#include "graph/graph_torch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/hash.h"

#define FOLDER "fused_csc_sampling_graph"

enum { LOCAL = 30, CENTRAL = 46, ALIGN = 64, VERSION = 6199 };

struct member {
    char name[64];
    uint64_t at, data_at, size, done; /* done: bytes that were put or patched */
    uint32_t crc;
};

struct graph_torch_writer {
    grebe_context *ctx;
    struct io_writer *file;
    struct member *members;
    size_t n_members, n_tensors, members_bytes;
    struct member *open; /* whose bytes graph_torch_put() writes */
};

static bool is_large(uint64_t v)
{
    return v >= UINT32_MAX;
}

/* The header before a member's bytes: its size is in a zip64 field where it is large, and a field of padding follows.
 */
static grebe_status put_local(struct graph_torch_writer *w, struct member *m, grebe_error *err)
{
    unsigned char head[LOCAL + 64 + 20 + 4 + ALIGN] = { 0 };
    size_t name = strlen(m->name), at = LOCAL + name, extra = 0;
    m->at = w->file->n_written;
    store_le32(head, 0x04034b50);
    store_le16(head + 4, is_large(m->size) ? 45 : 20);
    store_le16(head + 6, 0x0800); /* names are UTF-8 */
    store_le16(head + 12, 0x21);  /* 1980-01-01: the same bytes every day */
    store_le32(head + 18, is_large(m->size) ? UINT32_MAX : (uint32_t)m->size);
    store_le32(head + 22, is_large(m->size) ? UINT32_MAX : (uint32_t)m->size);
    store_le16(head + 26, (uint16_t)name);
    memcpy(head + LOCAL, m->name, name);
    if (is_large(m->size)) {
        store_le16(head + at, 1);
        store_le16(head + at + 2, 16);
        store_le64(head + at + 4, m->size);
        store_le64(head + at + 12, m->size);
        extra = 20;
    }
    size_t pad = (ALIGN - (m->at + at + extra + 4) % ALIGN) % ALIGN;
    memcpy(head + at + extra, "FB", 2);
    store_le16(head + at + extra + 2, (uint16_t)pad);
    memset(head + at + extra + 4, 'Z', pad);
    extra += 4 + pad;
    store_le16(head + 28, (uint16_t)extra);
    m->data_at = m->at + at + extra;
    return io_write(w->file, head, at + extra, err);
}

grebe_status graph_torch_put(struct graph_torch_writer *w, const void *bytes, size_t n, grebe_error *err)
{
    struct member *m = w->open;
    if (m == NULL || n > m->size - m->done) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: more bytes than the tensor has", w->file->path);
    }
    m->crc = hash_crc32(m->crc, bytes, n);
    m->done += n;
    return io_write(w->file, bytes, n, err);
}

static struct member *add_member(struct graph_torch_writer *w, const char *name, uint64_t size)
{
    struct member *m = &w->members[w->n_members++];
    snprintf(m->name, sizeof m->name, FOLDER "/%s", name);
    m->size = size;
    return m;
}

static grebe_status put_bytes(struct graph_torch_writer *w, const char *name, const void *bytes, size_t n,
                              grebe_error *err)
{
    struct member *m = add_member(w, name, n);
    grebe_status st = put_local(w, m, err);
    w->open = m;
    return st == GREBE_OK ? graph_torch_put(w, bytes, n, err) : st;
}

static grebe_status put_tensor(struct graph_torch_writer *w, const struct graph_torch_tensor *t, grebe_error *err)
{
    char name[32];
    snprintf(name, sizeof name, "data/%zu", w->n_tensors++);
    struct member *m = add_member(w, name, t->n_bytes);
    grebe_status st = put_local(w, m, err);
    w->open = m;
    if (st != GREBE_OK || t->n_bytes == 0) {
        return st;
    }
    if (t->data != NULL) {
        return graph_torch_put(w, t->data, (size_t)t->n_bytes, err);
    }
    if (t->fn == NULL) {
        return io_writer_skip(w->file, t->n_bytes, err);
    }
    st = t->fn(t->arg, w, err);
    return st == GREBE_OK && m->done != m->size
               ? GREBE_FAIL(err, GREBE_EINVAL, "%s: fewer bytes than the tensor has", w->file->path)
               : st;
}

static grebe_status put_ids(struct graph_torch_writer *w, size_t n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        unsigned char bytes[8];
        const struct graph_torch_tensor t = { .type = ARRAY_I64, .n_bytes = 8, .data = bytes };
        store_le64(bytes, i);
        st = put_tensor(w, &t, err);
    }
    return st;
}

static grebe_status put_entries(struct graph_torch_writer *w, const struct graph_torch_entry *entries, size_t n,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = put_tensor(w, &entries[i].tensor, err);
    }
    return st;
}

grebe_status graph_torch_begin(grebe_context *ctx, struct io_writer *file, const struct graph_torch_state *s,
                               struct graph_torch_writer **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf pickle = BUF_INIT(ctx->a);
    unsigned char version[8];
    const struct graph_torch_tensor number = { .type = ARRAY_I64, .n_bytes = 8, .data = version };
    size_t n = 3 + s->n_tensors + s->n_node_types + s->n_edge_types + s->n_node_attributes + s->n_edge_attributes;
    store_le64(version, VERSION);
    *out = NULL;
    struct graph_torch_writer *w = mem_alloc_zero(ctx->a, sizeof *w);
    if (w == NULL) {
        return mem_fail(err, sizeof *w, file->path);
    }
    w->ctx = ctx;
    w->file = file;
    w->members = mem_alloc_zero(ctx->a, n * sizeof *w->members);
    if (w->members == NULL) {
        st = mem_fail(err, n * sizeof *w->members, file->path);
        mem_free(ctx->a, w, sizeof *w);
        return st;
    }
    w->members_bytes = n * sizeof *w->members;
    GREBE_TRY(graph_torch_pickle(s, &pickle, err));
    GREBE_TRY(put_bytes(w, "data.pkl", pickle.data, pickle.len, err));
    GREBE_TRY(put_tensor(w, &number, err));
    GREBE_TRY(put_entries(w, s->tensors, s->n_tensors, err));
    GREBE_TRY(put_ids(w, s->n_node_types, err));
    GREBE_TRY(put_ids(w, s->n_edge_types, err));
    GREBE_TRY(put_entries(w, s->node_attributes, s->n_node_attributes, err));
    GREBE_TRY(put_entries(w, s->edge_attributes, s->n_edge_attributes, err));
    GREBE_TRY(put_bytes(w, "version", "3\n", 2, err));
    *out = w;
    w = NULL;
out:
    graph_torch_free(w);
    buf_release(&pickle);
    return st;
}

grebe_status graph_torch_patch(struct graph_torch_writer *w, size_t tensor, uint64_t at, const void *bytes, size_t n,
                               uint32_t *crc, grebe_error *err)
{
    const struct member *m = &w->members[1 + tensor];
    if (tensor >= w->n_tensors || !range_fits_u64(at, n, m->size)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: more bytes than the tensor has", w->file->path);
    }
    *crc = hash_crc32(0, bytes, n);
    return n > 0 ? io_writer_patch(w->file, m->data_at + at, bytes, n, err) : GREBE_OK;
}

void graph_torch_join(struct graph_torch_writer *w, size_t tensor, uint32_t crc, uint64_t n)
{
    assert(tensor < w->n_tensors);
    struct member *m = &w->members[1 + tensor];
    m->crc = hash_crc32_join(m->crc, crc, n);
    m->done += n;
}

static grebe_status put_central(struct graph_torch_writer *w, const struct member *m, grebe_error *err)
{
    unsigned char head[CENTRAL + 64 + 4 + 24] = { 0 };
    size_t name = strlen(m->name), at = CENTRAL + name, n = 0;
    store_le32(head, 0x02014b50);
    store_le16(head + 4, 45);
    store_le16(head + 6, is_large(m->size) || is_large(m->at) ? 45 : 20);
    store_le16(head + 8, 0x0800);
    store_le16(head + 14, 0x21);
    store_le32(head + 16, m->crc);
    store_le32(head + 20, is_large(m->size) ? UINT32_MAX : (uint32_t)m->size);
    store_le32(head + 24, is_large(m->size) ? UINT32_MAX : (uint32_t)m->size);
    store_le16(head + 28, (uint16_t)name);
    store_le32(head + 42, is_large(m->at) ? UINT32_MAX : (uint32_t)m->at);
    memcpy(head + CENTRAL, m->name, name);
    if (is_large(m->size)) {
        store_le64(head + at + 4, m->size);
        store_le64(head + at + 12, m->size);
        n = 16;
    }
    if (is_large(m->at)) {
        store_le64(head + at + 4 + n, m->at);
        n += 8;
    }
    if (n > 0) {
        store_le16(head + at, 1);
        store_le16(head + at + 2, (uint16_t)n);
        store_le16(head + 30, (uint16_t)(n + 4));
    }
    return io_write(w->file, head, at + (n > 0 ? n + 4 : 0), err);
}

grebe_status graph_torch_finish(struct graph_torch_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    unsigned char end[56 + 20 + 22] = { 0 }, crc[4];
    uint64_t at = w->file->n_written;
    for (size_t i = 0; i < w->n_members; i++) {
        const struct member *m = &w->members[i];
        if (m->done != m->size) {
            return GREBE_FAIL(err, GREBE_EINVAL, "%s: fewer bytes than %s has", w->file->path, m->name);
        }
        store_le32(crc, m->crc);
        GREBE_TRY(io_writer_patch(w->file, m->at + 14, crc, 4, err));
    }
    for (size_t i = 0; i < w->n_members; i++) {
        GREBE_TRY(put_central(w, &w->members[i], err));
    }
    uint64_t len = w->file->n_written - at, n = w->n_members;
    bool is_64 = is_large(at) || is_large(len) || n >= UINT16_MAX;
    unsigned char *e = end;
    if (is_64) {
        store_le32(e, 0x06064b50);
        store_le64(e + 4, 44);
        store_le16(e + 12, 45);
        store_le16(e + 14, 45);
        store_le64(e + 24, n);
        store_le64(e + 32, n);
        store_le64(e + 40, len);
        store_le64(e + 48, at);
        store_le32(e + 56, 0x07064b50);
        store_le64(e + 64, w->file->n_written);
        store_le32(e + 72, 1);
        e += 76;
    }
    store_le32(e, 0x06054b50);
    store_le16(e + 8, n >= UINT16_MAX ? UINT16_MAX : (uint16_t)n);
    store_le16(e + 10, n >= UINT16_MAX ? UINT16_MAX : (uint16_t)n);
    store_le32(e + 12, is_large(len) ? UINT32_MAX : (uint32_t)len);
    store_le32(e + 16, is_large(at) ? UINT32_MAX : (uint32_t)at);
    GREBE_TRY(io_write(w->file, end, (size_t)(e + 22 - end), err));
out:
    return st;
}

void graph_torch_free(struct graph_torch_writer *w)
{
    if (w != NULL) {
        mem_free(w->ctx->a, w->members, w->members_bytes);
        mem_free(w->ctx->a, w, sizeof *w);
    }
}
