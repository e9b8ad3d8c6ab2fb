/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/ipc_file.h"

#include <string.h>

#include "base/checked.h"
#include "base/endian.h"

enum { HEAD_MIN = 512, HEAD_MAX = 4096 };

/* A walk from message to message. */
struct walk {
    struct ipc_file *f;
    const struct ipc_heads *heads; /* NULL: heads are looked at where they lie */
    size_t head_len;               /* so many bytes of a head are read: as the last one had */
    unsigned char head[HEAD_MAX];
    uint64_t pos;
    size_t capacity; /* of f->batches */
    int64_t n_rows;
};

static grebe_status cut_off(const struct walk *w, const char *what, uint64_t need, grebe_error *err)
{
    grebe_status st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s of %llu bytes at byte %llu, the stream ends at %zu", what,
                                 (unsigned long long)need, (unsigned long long)w->pos, w->f->region->len);
    return error_at(err, st, w->pos);
}

/* The head at w->pos, of which `left` bytes are there: read, or, a long one, where it lies. */
static grebe_status find_head(struct walk *w, uint64_t left, const unsigned char **out, grebe_error *err)
{
    *out = (const unsigned char *)w->f->region->data + w->pos;
    size_t len = w->head_len < left ? w->head_len : (size_t)left, got = 0;
    if (w->heads == NULL || w->pos == 0 || len < 8 || len > HEAD_MAX) {
        return GREBE_OK;
    }
    grebe_status st = w->heads->read(w->heads->arg, w->pos, w->head, len, &got, err);
    uint32_t need = st == GREBE_OK && got == len ? load_le32(w->head + 4) : UINT32_MAX;
    if (load_le32(w->head) == UINT32_MAX && need <= len - 8) {
        *out = w->head;
    }
    if (need <= HEAD_MAX - 8) {
        w->head_len = need + 8; /* heads of a stream are mostly of one length */
    }
    return st;
}

/* The next message, of which only the head is looked at. GREBE_END at the end. */
static grebe_status next_message(struct walk *w, struct ipc_file_batch *b, struct ipc_incoming *m, grebe_error *err)
{
    const unsigned char *p = NULL;
    uint64_t left = w->f->region->len - w->pos;
    size_t prefix = 4;
    if (left == 0) {
        return GREBE_END; /* a stream may end without its mark */
    }
    grebe_status st = find_head(w, left, &p, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (left >= 4 && load_le32(p) == UINT32_MAX) {
        prefix = 8;
    }
    if (left < prefix) {
        return cut_off(w, "length", prefix, err);
    }
    uint32_t len = load_le32(p + prefix - 4);
    if (len == 0) {
        return GREBE_END;
    }
    if (len > INT32_MAX || len > left - prefix) {
        return cut_off(w, "metadata", len, err);
    }
    *b = (struct ipc_file_batch){ w->pos, (uint32_t)(prefix + len), left - prefix - len, 0, IPC_UNCOMPRESSED };
    flatbuf_init(&m->fb, p + prefix, len);
    int64_t body_len = 0;
    st = ipc_message_decode(m, &body_len, err);
    if (st == GREBE_OK && (uint64_t)body_len > b->body_len) {
        st = cut_off(w, "body", (uint64_t)body_len, err);
    }
    if (st == GREBE_OK) {
        m->body.region = w->f->region;
        m->body.data = (const unsigned char *)w->f->region->data + b->offset + b->metadata_len;
        m->body.len = (size_t)body_len;
        b->body_len = (uint64_t)body_len;
        w->pos += b->metadata_len + (uint64_t)body_len;
    }
    return st;
}

static grebe_status read_schema(struct walk *w, grebe_error *err)
{
    struct ipc_file *f = w->f;
    struct ipc_file_batch b;
    struct ipc_incoming m;
    struct ipc_ids ids = { f->a, NULL, 0, 0 };
    memset(&m, 0, sizeof m);
    grebe_status st = next_message(w, &b, &m, err);
    if (st == GREBE_END) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "Arrow stream without a schema");
    }
    if (st == GREBE_OK && m.type != IPC_SCHEMA) {
        st =
            GREBE_FAIL(err, GREBE_ECORRUPT, "Arrow stream: expected a schema (1) first, found message type %d", m.type);
    }
    if (st == GREBE_OK) {
        f->version = m.body.version;
        st = ipc_schema_of_table(f->a, &m.fb, &m.header, &f->schema, &ids, err);
    }
    if (st == GREBE_OK) {
        st = ipc_dictionaries_new(f->a, &f->schema, &ids, &f->dictionaries, err);
    }
    ipc_ids_release(&ids);
    return error_wrap(err, st, "message at byte 0");
}

static grebe_status take_dictionary(struct walk *w, struct ipc_incoming *m, bool *is_replaced, grebe_error *err)
{
    struct ipc_file *f = w->f;
    int64_t id = flatbuf_i64(&m->fb, &m->header, DICTIONARY_ID, 0);
    if (flatbuf_u8(&m->fb, &m->header, DICTIONARY_IS_DELTA, 0) == 0 && ipc_dictionary_is_set(&f->dictionaries, id)) {
        *is_replaced = true;
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "dictionary %lld is replaced", (long long)id);
    }
    f->n_dictionary_batches++;
    return ipc_read_dictionary(f->a, &f->dictionaries, &m->fb, &m->header, &m->body, err);
}

static grebe_status take_batch(struct walk *w, struct ipc_incoming *m, struct ipc_file_batch *b, grebe_error *err)
{
    struct ipc_file *f = w->f;
    grebe_status st = ipc_file_describe(m, b, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!checked_add_i64(w->n_rows, b->n_rows, &w->n_rows)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "more rows than can be counted");
    }
    if (f->n_batches == w->capacity) {
        size_t grown = w->capacity * 2 + 16;
        struct ipc_file_batch *p = mem_resize(f->a, f->batches, w->capacity * sizeof *p, grown * sizeof *p);
        if (p == NULL) {
            return mem_fail(err, grown * sizeof *p, "batches");
        }
        f->batches = p;
        w->capacity = grown;
    }
    f->batches[f->n_batches++] = *b;
    return GREBE_OK;
}

static grebe_status walk_messages(struct walk *w, bool *is_replaced, grebe_error *err)
{
    for (;;) {
        struct ipc_file_batch b;
        struct ipc_incoming m;
        uint64_t at = w->pos;
        memset(&m, 0, sizeof m);
        grebe_status st = next_message(w, &b, &m, err);
        if (st == GREBE_END) {
            return GREBE_OK;
        }
        if (st == GREBE_OK && m.type == IPC_DICTIONARY) {
            st = take_dictionary(w, &m, is_replaced, err);
        } else if (st == GREBE_OK) {
            st = take_batch(w, &m, &b, err);
        }
        if (st != GREBE_OK) {
            return error_wrap(err, st, "message at byte %llu", (unsigned long long)at);
        }
    }
}

/* Batches are kept in a block of their number. */
static grebe_status fit_batches(struct walk *w, grebe_error *err)
{
    struct ipc_file *f = w->f;
    size_t len = f->n_batches * sizeof *f->batches;
    struct ipc_file_batch *p = mem_resize(f->a, f->batches, w->capacity * sizeof *p, len);
    if (p == NULL) {
        return mem_fail(err, len, "batches");
    }
    f->batches = p;
    w->capacity = f->n_batches;
    return GREBE_OK;
}

grebe_status ipc_file_open_stream(const grebe_allocator *a, struct region *region, bool *is_replaced,
                                  struct ipc_file **out, grebe_error *err)
{
    return ipc_file_open_mapped(a, region, NULL, is_replaced, out, err);
}

grebe_status ipc_file_open_mapped(const grebe_allocator *a, struct region *region, const struct ipc_heads *heads,
                                  bool *is_replaced, struct ipc_file **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    *is_replaced = false;
    struct ipc_file *f = mem_alloc_zero(a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, "an Arrow stream");
    }
    struct walk w;
    memset(&w, 0, sizeof w);
    w.f = f;
    w.heads = heads;
    w.head_len = HEAD_MIN;
    f->a = a;
    f->region = region_keep(region);
    f->footer_start = region->len;
    GREBE_TRY(read_schema(&w, err));
    GREBE_TRY(walk_messages(&w, is_replaced, err));
    GREBE_TRY(fit_batches(&w, err));
    GREBE_TRY(ipc_dictionaries_settle(a, &f->dictionaries, err));
    GREBE_TRY(ipc_file_seal(f, err));
    *out = f;
    f = NULL;
out:
    if (f != NULL) {
        if (w.capacity != f->n_batches) { /* the block is given back with its own size */
            mem_free(a, f->batches, w.capacity * sizeof *f->batches);
            f->batches = NULL;
            f->n_batches = 0;
        }
        ipc_file_close(f);
    }
    return st;
}
